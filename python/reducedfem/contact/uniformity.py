"""Uniformity of points on a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import number, require
from reducedfem.base.frozen import owned
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.field import Field
from reducedfem.contact.shell_sampling import RESOLUTION, outwards
from reducedfem.geometry.surface import Surface

__all__ = ["Uniformity", "measure"]

# samples of the surface for gaps, per point and at least
_GAP_SAMPLES = 8
_FEWEST_GAP_SAMPLES = 20_000


@dataclass(frozen=True, eq=False)
class Uniformity:
    """Uniformity of the points of a shell on a surface, level by level.

    Distances are Euclidean, between points on the same side of thin parts (angle between normals
    below 120 degrees), in multiples of `spacing`, the spacing of a hexagonal arrangement of n
    points on the area A, sqrt(2 A / (sqrt(3) n)). That arrangement has nearest distances 1,
    spread 0 and largest gap 0.58. Values that need neighbours are nan for a single point.

    Attributes
    ----------
    counts
        Number of points of all levels up to each, shape (levels,).
    spacing
        Spacing of a hexagonal arrangement [m], shape (levels,).
    nearest
        Mean distance from a point to the nearest other point, shape (levels,).
    spread
        Standard deviation of that distance over its mean, shape (levels,).
    least
        Smallest distance between two points, shape (levels,). At sharp edges repulsion may leave
        single pairs at a tenth of the spacing or less.
    gap
        Largest distance found from the surface to the nearest point, shape (levels,).
    """

    counts: NDArray[np.int64]
    spacing: NDArray[np.float64]
    nearest: NDArray[np.float64]
    spread: NDArray[np.float64]
    least: NDArray[np.float64]
    gap: NDArray[np.float64]


def measure(
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    counts: NDArray[np.int64],
    surface: Surface | Field,
    level_set: float,
    progress: Progress,
) -> Uniformity:
    """Return the uniformity for each level; counts: number of points up to that level."""
    value = number(level_set, "level_set")
    core = None
    if isinstance(surface, Field):
        core = surface._core
        vertices, triangles = _core.level_set(core, value, RESOLUTION, None, threads())
    else:
        require(surface, Surface, "surface", " or a Field")
        vertices, triangles = surface.vertices, outwards(surface)
    ends = np.cumsum(counts)
    found = []
    with callback(progress, "measuring a pointshell") as call:
        for n in ends.tolist():
            samples = max(_FEWEST_GAP_SAMPLES, _GAP_SAMPLES * n)
            found.append(
                _core.shell_uniformity(
                    vertices, triangles, core, value, points[:n], normals[:n],
                    samples, call, threads(),
                )
            )  # fmt: skip
    spacing, mean, deviation, least, gap = np.array(found).T
    # 0 / 0 if every point has a duplicate
    with np.errstate(invalid="ignore"):
        arrays = (spacing, mean, deviation / mean, least, gap)
    return Uniformity(ends, *(owned(array.copy()) for array in arrays))
