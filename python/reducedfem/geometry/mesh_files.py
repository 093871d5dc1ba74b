"""Volume meshes and fixed nodes from files."""

from __future__ import annotations

import os
import warnings

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import FileFormatError, GeometryWarning, InputError, MeshError
from reducedfem.geometry.constraints import Table, constrained_in_file, renumbered
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.transforms import metres_per_unit
from reducedfem.io.atomic import as_path
from reducedfem.io.text_lines import read_indices
from reducedfem.io.volume_data import VolumeData
from reducedfem.io.volume_files import read_volume

__all__ = ["read_fixed", "read_mesh"]


def read_mesh(path: str | os.PathLike[str], scale: float | str = 1.0) -> Mesh:
    """Read a volume mesh: a ``.veg`` file, or a format of meshio (Gmsh, VTK, Abaqus, ...).

    Surface, line and point cells are ignored, and nodes that no element uses are removed:
    `Mesh.original_nodes` contains the node numbers of the file, from 0.

    Regions of ``.veg`` files are numbered from 0 in the order of the ``*REGION`` statements, and
    `Mesh.region_names` contains the names of their sets. In other formats regions are the integer
    per element of the format (Gmsh: physical groups; Medit and TetGen: references), or else
    disjoint sets (Abaqus: ELSET), numbered from 1.

    ``*INCLUDE`` in ``.veg`` and ``.inp`` files is restricted to regular files in the same folder or
    below it, at most 1000 files of 256 MiB in total.

    Parameters
    ----------
    path
        Name of the file; its suffix selects the format.
    scale
        Metres per unit of the file, positive, or the unit: ``"m"``, ``"cm"``, ``"mm"``, ``"um"``
        or ``"inch"``. `Mesh.materials` are those of the file, unchanged.

    Returns
    -------
    Mesh

    Raises
    ------
    InputError, InputTypeError
        `scale` is neither a positive number nor a unit, or so large that nodes are not finite.
    FileFormatError
        The file is missing, of an unknown format or damaged, or its volume elements are not
        all of one kind: tetrahedra with 4 or 10 nodes or hexahedra with 8 or 20.
    MeshError
        The mesh is not usable; see `Mesh`.

    Warns
    -----
    GeometryWarning
        Constraints of a ``.vtu`` or ``.vtk`` file do not belong to its nodes, or one of their two
        fields is missing. Nodes at places of single precision move to where they follow.
    """
    factor = metres_per_unit(scale)
    file = as_path(path)
    data = read_volume(file)
    if factor != 1.0:
        with np.errstate(over="ignore"):
            data.nodes = data.nodes * factor
        if not np.isfinite(data.nodes).all():
            raise InputError(f"scale is {factor:g}, so large that nodes are not finite")
    try:
        mesh = Mesh(data.nodes, data.elements, data.regions, drop_unreferenced=True)
        moved = not _take_constraints(mesh, data)
    except MeshError as error:
        scaled = "" if factor == 1.0 else f"; scale is {factor:g}"
        raise MeshError(f"{str(file)!r}: {error}{scaled}") from error
    except InputError as error:
        raise FileFormatError(f"{str(file)!r} is damaged: {error}") from error
    mesh._region_names, mesh._materials = data.region_names, data.materials
    if data.constraints_lost or moved:
        why = (
            "rest apart from the mean of their masters, as a program has moved them"
            if moved
            else "have other numbers or lack a table, as a program has changed them"
        )
        warnings.warn(
            f"{str(file)!r} has constraints of nodes that {why}: they are "
            "left out; take with_constraints() of the mesh that is read, which finds hanging "
            "nodes again",
            GeometryWarning,
            stacklevel=2,
        )
    return mesh


def _take_constraints(mesh: Mesh, data: VolumeData) -> bool:
    """Give a mesh the constraints of its file; return False if nodes are not where they follow."""
    if data.constraints is None:
        return True
    table: Table = data.constraints
    if mesh.n_nodes < len(data.nodes):
        table = renumbered(table, mesh.original_nodes, len(data.nodes))
    core = constrained_in_file(mesh._core, table)
    if core is not None:
        mesh._adopt(core, mesh.original_nodes)
    return core is not None


def read_fixed(path: str | os.PathLike[str]) -> NDArray[np.int32]:
    """Read the fixed nodes of a Vega ``.bou`` file.

    Parameters
    ----------
    path
        Text file of 1-based node numbers, separated by commas, blanks or line ends. ``*INCLUDE``
        statements are restricted as in `read_mesh`.

    Returns
    -------
    (f,) int32 array
        Node indices for ``Solid(..., fixed=...)``, 0-based, ascending, without repetition.

    Raises
    ------
    FileFormatError
        The file is missing or contains other data.
    """
    numbers = read_indices(as_path(path))
    if numbers.size and not (numbers.min() >= 1 and numbers.max() < 2**31):
        raise FileFormatError(
            f"{str(path)!r} has node {numbers.min() if numbers.min() < 1 else numbers.max()}; "
            "numbers start at 1"
        )
    return np.unique(numbers - 1).astype(np.int32)
