"""Graded meshes of tetrahedra from surfaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import flag, integer, number, require
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError
from reducedfem.geometry.inside import warn_of_doubts
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.geometry.voxels import SKIN, fitted

__all__ = ["graded_tets"]


_TOUCH = 1e-6  # in edges: overlap with the surface that counts as none


def _within(cubes: _core.Mesh, bounds: NDArray[np.float64]) -> _core.Mesh:
    """Return the voxels that are not merely beside the box around a surface."""
    low, high = cubes.nodes[cubes.elements[:, 0]], cubes.nodes[cubes.elements[:, 6]]
    inset = _TOUCH * (high - low)
    inside = ((high - inset > bounds[0]) & (low + inset < bounds[1])).all(axis=1)
    if inside.all() or not inside.any():
        return cubes
    return Mesh.__new__(Mesh)._adopt(cubes).submesh(inside)._core


def graded_tets(
    surface: Surface,
    resolution: int = 64,
    layers: int = 1,
    *,
    fill: bool = True,
    expand: float | None = None,
    progress: Progress = None,
) -> Mesh:
    """Create a mesh of tetrahedra, small at the surface and larger inside.

    The body is that of ``voxelize(cut=False)``: all voxels that the surface meets or encloses, so
    its boundary has steps, and its volume is larger than that of the surface, by half a voxel all
    around on average. Bodies with flat faces along the axes are exact. Tetrahedra at the surface are
    sixths of a voxel, those inside are larger, and no node is constrained (Maubach's bisection).
    ``docs/howto/graded_meshes.md`` has volumes and stiffness; `voxelize` cuts cells at the surface
    and is more accurate at equal resolution.

    Parameters
    ----------
    surface
        Any surface, including polygon soups.
    resolution
        Voxels along the longest side of the surface, 1 to 2048.
    layers
        Least number of layers of voxels at the surface with the smallest tetrahedra, at least 1.
    fill
        False: only the voxels that the surface touches.
    expand
        Side of the grid of `resolution` voxels divided by the longest side of the surface, at least
        1; voxels are cubes. None: 1, and voxels are flattened along the shorter sides so that they
        end at the faces of the body.
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
        The surface has no extent, or lies too far from the origin for its size.

    Warns
    -----
    GeometryWarning
        The inside is uncertain: holes are as large as the body, or most of it is a single sheet.
    """
    require(surface, Surface, "surface")
    fill = flag(fill, "fill")
    resolution, layers = integer(resolution, "resolution"), integer(layers, "layers")
    if not 1 <= layers <= 1_000_000:
        raise InputError(f"layers must be 1 to 1000000, got {layers}")
    scale = fitted(surface.bounds, resolution) if expand is None else np.ones(3)
    side = 1.0 if expand is None else number(expand, "expand")
    with callback(progress, "graded_tets") as call:
        cubes, touched, enclosed, doubtful, sheets = _core.voxelize(
            surface.vertices * scale, surface.triangles, resolution, fill, side, call, threads()
        )
        core, _ = _core.grade_tets(_within(cubes, surface.bounds * scale), layers, None)
    if (scale != 1.0).any():
        core = _core.Mesh(core.nodes / scale, core.elements, core.regions)
    if fill:
        warn_of_doubts(surface, touched + enclosed, doubtful, sheets, SKIN, stacklevel=2)
    return Mesh.__new__(Mesh)._adopt(core, source=surface)
