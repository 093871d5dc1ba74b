"""Meshes of hexahedra from surfaces."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import flag, integer, number, require
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError
from reducedfem.geometry.constraints import constrained
from reducedfem.geometry.grading import Grading
from reducedfem.geometry.inside import warn_of_doubts, warn_of_first_order, warn_of_lost_volume
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface

__all__ = ["SKIN", "fitted", "voxelize"]

_ROUNDED = 1e-6  # relative excess of a length over whole cells that is treated as rounding
_THINNEST = 1.0 / 8.0  # thickness in cubes below which cells are cut but not flattened
# cells of 20 nodes whose factorization fits into common memory: about 60,000 nodes
_MOST_SECOND_ORDER = 15_000
SKIN = "pass fill=False for a skin of voxels along it"


def fitted(bounds: NDArray[np.float64], resolution: int) -> NDArray[np.float64]:
    """Return the scale along each axis at which the surface ends on cell boundaries."""
    size = np.ptp(bounds, axis=0)
    cube = size.max() / max(resolution, 1)
    scale = np.ones(3)
    fits = (size > _THINNEST * cube) & (size < size.max())
    cells = np.ceil(size[fits] / cube * (1.0 - _ROUNDED))
    cells += (cells - resolution) % 2  # grid and surface have the same centre
    scale[fits] = cells * cube / size[fits]
    return scale


def _order_of_graded(graded: object, order: int | None) -> Literal[1]:
    """Return the order of graded cells; refuse others than those of first order."""
    require(graded, Grading, "graded")
    if order not in (1, None):
        raise InputError(f"graded needs cubes of 8 nodes: order must be 1 or None, got {order!r}")
    return 1


def _scaled(core: _core.Mesh, scale: NDArray[np.float64]) -> _core.Mesh:
    """Return a mesh with the places of its nodes divided by a factor along each axis."""
    rule, ties = _core.mesh_rule(core), _core.mesh_constraints(core)
    made = constrained(_core.Mesh(core.nodes / scale, core.elements, core.regions), ties)
    return made if rule is None else _core.mesh_with_rule(made, *rule)


def voxelize(
    surface: Surface,
    resolution: int = 64,
    fill: bool = True,
    expand: float | None = None,
    *,
    cut: bool | None = None,
    order: Literal[1, 2] | None = None,
    graded: Grading | None = None,
    progress: Progress = None,
) -> Mesh:
    """Create a mesh of equal cubes or boxes from the volume that a surface encloses.

    The grid is a cube around the centre of the surface's bounding box. By default its cells are
    flattened along the shorter sides of that box, so that they end at the faces of the body and
    nodes lie in planes on which the body stands or is clamped. A voxel is included if its closed
    box meets a triangle, so a connected surface, even one thinner than a voxel, gives voxels
    connected through faces (Barbic 2007, section 2.5.2); and if its centre is inside, where the
    winding number (`Surface.winding`) exceeds 1/2, for open, self-crossing and inconsistently
    oriented surfaces too.

    Voxels that the surface meets are cut: mass, stiffness and derived quantities integrate their
    filled part, and voxels without filled part are removed. Nodes and boundary of the mesh are
    those of whole cells.

    Parameters
    ----------
    surface
        Any surface, including polygon soups.
    resolution
        Voxels along each side of the grid, 1 to 2048. The default suits slender bodies; 24 is
        enough for most compact bodies, whose number of voxels grows with its cube.
    fill
        False: only the voxels that the surface touches.
    expand
        Side of the grid divided by the longest side of the surface, at least 1; cells are cubes.
        None: 1 for cut cells, flattened along the shorter sides; 1.2 for whole cubes.
    cut
        Cut the cells at the surface; False: whole cubes. None: as `fill`.
    order
        2: hexahedra of 20 nodes, accurate in bending with two voxels across the thickness.
        1: hexahedra of 8 nodes, a quarter of the unknowns, which need about six. The cost at run
        time is the same. None: 2 if `fill` is True and there are at most 15,000 cells, else 1.
    graded
        Merge cubes away from the surface (`Mesh.graded`), with `order` 1 or None.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Mesh
        Hexahedra, ordered by z, then y, then x. Its parts may touch only along an edge or at a
        node, or not at all: see `Mesh.components`. `Mesh.fractions` are the filled fractions.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range or of a wrong type; `cut` is True without `fill`, or `order` 2
        with `graded`.
    MeshError
        The surface has no extent, or lies too far from the origin for its size.

    Warns
    -----
    GeometryWarning
        The inside is uncertain: holes are as large as the body, or most of it is a single sheet.
    PlausibilityWarning
        The volume of cut cells differs by more than 5 % from that of a closed surface, because
        most of the body is thinner than a tenth of a cell. Or 8-node cells were chosen because of
        their number, and parts are fewer than six cells thick.
    """
    require(surface, Surface, "surface")
    fill = flag(fill, "fill")
    cut = fill if cut is None else flag(cut, "cut")
    if graded is not None:
        order = _order_of_graded(graded, order)
    if cut and not fill:
        raise InputError("cut=True needs fill=True: only a filled body can be cut")
    if order is not None and integer(order, "order") not in (1, 2):
        raise InputError(f"order must be 1 or 2, got {order}")
    resolution = integer(resolution, "resolution")
    scale = fitted(surface.bounds, resolution) if cut and expand is None else np.ones(3)
    vertices = surface.vertices * scale
    if expand is None:
        expand = 1.0 if cut else 1.2
    with callback(progress, "voxelize") as call:
        core, touched, enclosed, doubtful, sheets = _core.voxelize(
            vertices,
            surface.triangles,
            resolution,
            fill,
            number(expand, "expand"),
            None if cut else call,
            threads(),
        )
        cubes, chosen = core, order or 2
        if order is None and (not fill or len(cubes.elements) > (1 + cut) * _MOST_SECOND_ORDER):
            chosen = 1
        if cut:
            core, _ = _core.cut(cubes, vertices, surface.triangles, chosen, call, threads())
            # cutting may remove many cells: half of the cubes of a plate may be empty
            if order is None and chosen == 2 and len(core.elements) > _MOST_SECOND_ORDER:
                chosen = 1
                core, _ = _core.cut(cubes, vertices, surface.triangles, 1, call, threads())
        elif chosen == 2:
            core = core.quadratic()
        if graded is not None:
            core, _ = _core.grade(core, graded.layers, graded.level, None)
    if (scale != 1.0).any():
        core = _scaled(core, scale)
    mesh = Mesh.__new__(Mesh)._adopt(core, source=surface)
    if fill:
        warn_of_doubts(surface, touched + enclosed, doubtful, sheets, SKIN, stacklevel=2)
    if fill and order is None and chosen == 1:
        edge = float(np.ptp(mesh.nodes[mesh.elements[0]], axis=0).max())
        warn_of_first_order(
            surface, mesh.n_elements, edge, resolution, _MOST_SECOND_ORDER, stacklevel=2
        )
    if cut:
        warn_of_lost_volume(surface, mesh.volume, resolution / float(expand), False, stacklevel=2)
    return mesh
