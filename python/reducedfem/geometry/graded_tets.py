"""Graded meshes of tetrahedra from surfaces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import choice, flag, integer, number, require
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import GeometryWarning, InputError, MeshError
from reducedfem.geometry.inside import warn_of_doubts, warn_of_lost_volume
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.geometry.voxels import SKIN, fitted

__all__ = ["graded_tets"]


_TOUCH = 1e-6  # in edges: overlap with the surface that counts as none
# ends of the voxels, of the winding numbers and of the bisection [% of the work]
_VOXELS, _WINDING, _ALL = 60, 90, 100

_Call = Callable[[int, int], object]


def _phase(call: _Call | None, start: int, end: int) -> _Call | None:
    """Return a callable that reports one part of the work, in percent of all."""
    if call is None:
        return None
    return lambda done, total: call(start + (end - start) * done // max(total, 1), _ALL)


def _part(cubes: _core.Mesh, chosen: NDArray[np.bool_]) -> _core.Mesh:
    return cubes if chosen.all() else Mesh.__new__(Mesh)._adopt(cubes).submesh(chosen)._core


def _within(cubes: _core.Mesh, bounds: NDArray[np.float64]) -> _core.Mesh:
    """Return the voxels that are not merely beside the box around a surface."""
    low, high = cubes.nodes[cubes.elements[:, 0]], cubes.nodes[cubes.elements[:, 6]]
    inset = _TOUCH * (high - low)
    inside = ((high - inset > bounds[0]) & (low + inset < bounds[1])).all(axis=1)
    return _part(cubes, inside) if inside.any() else cubes


def _largest(cubes: _core.Mesh, inside: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], int, int]:
    """Return the voxels of the largest of the pieces that voxels of `cubes` join to one body.

    Also the number of these bodies, and that of the pieces.
    """
    joined = Mesh.__new__(Mesh)._adopt(cubes).components("face")[inside]
    piece = Mesh.__new__(Mesh)._adopt(_part(cubes, inside)).components("face")
    size = np.bincount(piece)  # voxels are equal
    home = np.zeros(len(size), dtype=int)
    home[piece] = joined
    order = np.lexsort((-np.arange(len(size)), size, home))
    last = np.append(home[order][1:] != home[order][:-1], True)  # the largest of each body
    whole = inside.copy()
    whole[inside] = np.isin(piece, order[last])
    return whole, int(last.sum()), len(size)


def _inside(
    cubes: _core.Mesh, surface: Surface, pieces: str, call: _Call | None, stacklevel: int
) -> _core.Mesh:
    """Return the voxels whose centre is inside the surface."""
    centres = cubes.nodes[cubes.elements[:, [0, 6]]].mean(axis=1)
    inside = surface.winding(centres, progress=False if call is None else call) > 0.5
    if not inside.any():
        raise MeshError(
            "no voxel has its centre inside the surface: raise the resolution, or pass cut=False, "
            "which takes all voxels that the surface meets"
        )
    whole, bodies, found = _largest(cubes, inside)
    if found > bodies:
        part = 100.0 * (1.0 - whole.sum() / inside.sum())
        done = "are left out: parts thinner than a voxel join them. A higher resolution keeps them"
        if pieces == "all":
            done = (
                "are in the mesh, but do not hold to the rest: pass pieces='largest', which leaves "
                "them out, or a higher resolution; or cut=False, which takes all voxels that the "
                "surface meets, for a larger and heavier body"
            )
        warnings.warn(
            f"the mesh comes apart: {found - bodies} smaller piece{'s' * (found > bodies + 1)}, "
            f"{part:.2g} % of the volume, without a common face with the rest, {done}",
            GeometryWarning,
            stacklevel=stacklevel + 1,
        )
    return _part(cubes, whole if pieces == "largest" else inside)


def graded_tets(
    surface: Surface,
    resolution: int = 64,
    layers: int = 1,
    *,
    fill: bool = True,
    expand: float | None = None,
    cut: bool | None = None,
    pieces: Literal["all", "largest"] = "all",
    progress: Progress = None,
) -> Mesh:
    """Create a mesh of tetrahedra, small at the surface and larger inside.

    Tetrahedra at the surface are sixths of a voxel, those inside are larger, and no node is
    constrained (Maubach's bisection). The boundary is that of the voxels, with steps: flat faces
    along the axes are exact, others rough. The volume is near that of the surface with `cut`, and
    larger without it. ``docs/howto/graded_meshes.md`` has volumes and stiffness; `voxelize`, whose
    cells end at the surface, is more accurate.

    Parameters
    ----------
    surface
        Any surface, including polygon soups.
    resolution
        Voxels along the longest side of the surface, 1 to 2048.
    layers
        Least number of layers of voxels at the surface with the smallest tetrahedra, at least 1.
    fill
        False: only the voxels that the surface touches, without `cut`.
    expand
        Side of the grid of `resolution` voxels divided by the longest side of the surface, at least
        1; voxels are cubes. None: 1, and voxels are flattened along the shorter sides so that they
        end at the faces of the body.
    cut
        True: of the voxels that the surface meets those with their centre inside, so that parts
        thinner than a voxel may be lost. False: all of these, as ``cut=False`` of `voxelize`.
        None: as `fill`.
    pieces
        With `cut`, of a body that comes apart where it is thinner than a voxel: ``"all"`` pieces,
        or the ``"largest"`` one. Separate bodies of the surface are kept in both cases.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Mesh
        Tetrahedra of four nodes, conforming; angles between their faces are 45 to 120 degrees
        where voxels are cubes.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range or of a wrong type.
    MeshError
        The surface has no extent, or lies too far from the origin for its size; or no voxel has its
        centre inside.

    Warns
    -----
    GeometryWarning
        The inside is uncertain: holes are as large as the body, or most of it is a single sheet.
        With `cut`: the body comes apart.
    PlausibilityWarning
        With `cut`, the volume differs by more than 5 % from that of a closed surface.
    """
    require(surface, Surface, "surface")
    fill = flag(fill, "fill")
    cut = fill if cut is None else flag(cut, "cut")
    choice(pieces, "pieces", ("all", "largest"))
    if pieces == "largest" and not cut:
        raise InputError(
            "pieces='largest' needs cut=True: with cut=False no piece comes loose; leave it out"
        )
    if cut and not fill:
        raise InputError("cut=True needs fill=True: only a filled body can be cut")
    resolution, layers = integer(resolution, "resolution"), integer(layers, "layers")
    if not 1 <= layers <= 1_000_000:
        raise InputError(f"layers must be 1 to 1000000, got {layers}")
    scale = fitted(surface.bounds, resolution) if expand is None else np.ones(3)
    side = 1.0 if expand is None else number(expand, "expand")
    with callback(progress, "graded_tets") as call:
        vertices = surface.vertices * scale
        cubes, touched, enclosed, doubtful, sheets = _core.voxelize(
            vertices,
            surface.triangles,
            resolution,
            fill,
            side,
            _phase(call, 0, _VOXELS),
            threads(),
        )
        cubes = _within(cubes, surface.bounds * scale)
        if cut:
            winding = _phase(call, _VOXELS, _WINDING)
            scaled = Surface(vertices, surface.triangles)
            cubes = _inside(cubes, scaled, pieces, winding, stacklevel=2)
        core, _ = _core.grade_tets(cubes, layers, _phase(call, _WINDING, _ALL))
        if call is not None:
            call(_ALL, _ALL)
    if (scale != 1.0).any():
        core = _core.Mesh(core.nodes / scale, core.elements, core.regions)
    if fill:
        warn_of_doubts(surface, touched + enclosed, doubtful, sheets, SKIN, stacklevel=2)
    mesh = Mesh.__new__(Mesh)._adopt(core, source=surface)
    if cut:
        warn_of_lost_volume(surface, mesh.volume, resolution / side, True, stacklevel=2)
    return mesh
