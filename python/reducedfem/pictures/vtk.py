"""Export of motions to ParaView, and of meshes to PyVista."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import field, require
from reducedfem.base.run import Progress, callback
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import GeometryWarning, InputError, MissingPackageError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.io import vtk_files
from reducedfem.io.atomic import as_path
from reducedfem.io.constraint_fields import as_fields
from reducedfem.io.mesh_fields import Fields, checked_fields
from reducedfem.io.volume_files import keeps_constraints
from reducedfem.io.vtk_files import FieldsOfState
from reducedfem.pictures.subject import Model, check_motion, mesh_of, nodal_state, require_made_of
from reducedfem.pictures.worlds import check_world_motion, export_world
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid
from reducedfem.world.recorded import WorldMotion
from reducedfem.world.world import World

__all__ = ["export_vtk", "to_pyvista"]

Array = NDArray[np.float64]

_WITH_MESH = "a ReducedSolid, ProjectedSolid, Solid or Mesh"
_OF_BODIES = ("point_data", "cell_data", "stress")
_UNTIED = (
    "the constraints of nodes are left out, because one of them has more than 64 masters: elements "
    "come apart there in the result"
)
_CELLS = {4: 10, 8: 12, 10: 24, 20: 25}  # numbers of VTK by nodes per element


def _states(
    model: Model,
    motion: Motion,
    points: dict[str, Any],
    cells: dict[str, Any],
    stressed: Solid | None,
) -> Iterator[FieldsOfState]:
    """Yield the time and the fields of each state."""
    for k in range(len(motion)):
        u, v = nodal_state(model, motion, k)
        fields: dict[str, Any] = {"displacement": u.astype(np.float32)}
        if v is not None:
            fields["velocity"] = v.astype(np.float32)
        fields |= {name: values[k] for name, values in points.items()}
        own = {name: values[k] for name, values in cells.items()}
        if stressed is not None:
            own |= _stresses(stressed, u, k)
        yield float(motion.times[k]), fields, own


def _stresses(solid: Solid, u: Array, k: int) -> dict[str, Any]:
    """Return the stresses of state k in the axes of the world, at displacements (n, 3)."""
    try:
        stress = solid.stress(u).reshape(-1, 9)
        return {
            "stress": stress.astype(np.float32),
            "von_mises": solid.von_mises(u).astype(np.float32),
        }
    except InputError as error:
        raise InputError(f"stress of state {k} of motion: {error}") from None


def _stressed(solid: Solid | None, model: object, cells: dict[str, Any]) -> Solid | None:
    """Return the argument `stress`, the solid that the model was made of, or None."""
    if solid is None:
        return None
    require_made_of(require(solid, Solid, "stress"), model, "stress")
    for name in ("stress", "von_mises"):
        if name in cells:
            raise InputError(f"stress writes {name!r}, which cell_data has too: leave one out")
    return solid


def export_vtk(
    path: str | os.PathLike[str],
    model: ReducedSolid | ProjectedSolid | Solid | Mesh | World,
    motion: Motion | WorldMotion,
    *,
    point_data: Fields | None = None,
    cell_data: Fields | None = None,
    stress: Solid | None = None,
    progress: Progress = None,
) -> None:
    """Write a motion as a time series for ParaView.

    The file ``name.pvd`` lists the times, and ``name_0000.vtu``, ``name_0001.vtu``, ... beside it
    have the mesh at rest with the fields ``displacement`` [m] and, if the motion has rates,
    ``velocity`` [m/s] at its nodes, in single precision. In ParaView open the ``.pvd`` file and
    apply the filter Warp By Vector. PyVista reads it as well, and meshio reads each ``.vtu`` file.
    Elements have their ``region``, cut ones the filled ``fraction``; constraints of nodes are kept,
    see ``docs/export.md``. Of a `World` all bodies are one mesh, whose elements have the index of
    their ``body``; displacements have the dimples, at the nodes of the surface, and velocities do
    not. Existing files are replaced when all new ones are complete,
    ``name.pvd`` last.

    Parameters
    ----------
    path
        Name of the ``.pvd`` file.
    model
        The object of the motion.
    motion
        Motion of the model or world, see `record_motion`; ``motion[::10]`` has every tenth state.
    point_data
        Further fields of the nodes by name, with the values of all states, shape (s, n) or
        (s, n, k); none of worlds, as the next two.
    cell_data
        Further fields of the elements, shape (s, e) or (s, e, k).
    stress
        Solid from which the model was reduced. Adds the fields ``stress`` (nine numbers, row by
        row) and ``von_mises`` [Pa] of the elements, by its `Solid.stress` and `Solid.von_mises`.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Raises
    ------
    FileFormatError
        The suffix is another one, or a file cannot be written.
    InputError, InputTypeError
        An argument has a wrong type or shape, the motion is not one of the model, or it turns an
        element of `stress` inside out; or `stress` has another mesh or material than the model.

    Warns
    -----
    GeometryWarning
        A constrained node has more than 64 masters; the constraints are left out.
    """
    target = as_path(path)
    vtk_files.check_suffix(target)
    if isinstance(model, World):
        for name, given in zip(_OF_BODIES, (point_data, cell_data, stress), strict=True):
            if given is not None:
                raise InputError(
                    f"{name} is of a single body: leave it out, or write bodies one by one, as "
                    "export_vtk(path, world.bodies[0].reduced, motion.bodies[0])"
                )
        kept = export_world(target, model, check_world_motion(motion, model), progress)
        if not kept:
            warnings.warn(_UNTIED, GeometryWarning, stacklevel=2)
        return
    mesh = mesh_of(model, _WITH_MESH)
    data = mesh._data()
    motion = check_motion(motion, model)
    points = checked_fields(point_data, "point_data", (len(motion), mesh.n_nodes))
    cells = checked_fields(cell_data, "cell_data", (len(motion), mesh.n_elements))
    stressed = _stressed(stress, model, cells)
    with callback(progress, "states") as tell:

        def counted() -> Iterator[FieldsOfState]:
            for k, state in enumerate(_states(model, motion, points, cells, stressed)):
                yield state
                if tell is not None:
                    tell(k + 1, len(motion))

        vtk_files.write(target, [(data, counted())], len(motion))
    if not keeps_constraints(data, ".vtu"):
        warnings.warn(_UNTIED, GeometryWarning, stacklevel=2)


def to_pyvista(
    model: Surface | Mesh | Solid | ReducedSolid | ProjectedSolid, u: ArrayLike | None = None
) -> Any:
    """Return a surface or mesh as one of the package PyVista, which is optional.

    Parameters
    ----------
    model
        A `Surface`, or an object with a mesh.
    u
        Displacements of the vertices or nodes [m], shape (n, 3), stored as the point data
        ``displacement``; ``grid.warp_by_vector("displacement")`` is the deformed shape. None: no
        point data.

    Returns
    -------
    pyvista.PolyData or pyvista.UnstructuredGrid
        Of a surface its triangles; of others the elements, with the cell data ``region`` and, of
        cut cells, ``fraction``; the constraints of nodes are the point data ``constraint_nodes``
        and ``constraint_weights``, see ``docs/export.md``.

    Raises
    ------
    MissingPackageError
        PyVista is not installed.
    InputError, InputTypeError
        An argument has a wrong type or shape, or a value that is not finite.

    Warns
    -----
    GeometryWarning
        A constrained node has more than 64 masters; the constraints are left out.
    """
    points = model.vertices if isinstance(model, Surface) else None
    if points is None:
        points = mesh_of(model, f"a Surface, {_WITH_MESH.removeprefix('a ')}").nodes
    moved = None if u is None else field(u, "u", len(points))
    try:
        import pyvista
    except ImportError as error:
        raise MissingPackageError(
            "to_pyvista needs PyVista, which is not installed: pip install 'reducedfem[pyvista]'"
        ) from error
    if isinstance(model, Surface):
        made = pyvista.PolyData.from_regular_faces(points.copy(), model.triangles)
    else:
        mesh = mesh_of(model, _WITH_MESH)
        kind = _CELLS[mesh.nodes_per_element]
        made = pyvista.UnstructuredGrid({kind: mesh.elements}, points.copy())
        made.cell_data["region"] = mesh.regions.copy()
        if mesh._rule() is not None:
            made.cell_data["fraction"] = mesh.fractions
        data = mesh._data()
        for name, values in as_fields(data.constraints, mesh.n_nodes).items():
            made.point_data[name] = values
        if not keeps_constraints(data, ".vtu"):
            warnings.warn(_UNTIED, GeometryWarning, stacklevel=2)
    if moved is not None:
        made.point_data["displacement"] = moved.copy()
    return made
