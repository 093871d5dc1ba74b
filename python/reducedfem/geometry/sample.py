"""Samples of the triangles of a surface by area, and quantiles of what is measured on them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["DRAWN", "quantile", "sample"]

DRAWN = 8192  # triangles for a quantile of the thickness
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def quantile(values: NDArray[np.float64], weights: NDArray[np.float64], part: float) -> float:
    """Return the value that `part` of the weights do not exceed; values without weight are last."""
    order = np.argsort(np.where(weights > 0, values, np.inf), kind="stable")
    upto = np.cumsum(weights[order])
    at = np.searchsorted(upto, part * upto[-1])
    return float(values[order[min(at, len(order) - 1)]])


def sample(area: NDArray[np.float64], most: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return triangles that stand for all, and the areas for which they stand.

    All triangles of at least 1 / most of the area are among them. The others are drawn by area, one
    in each section of their cumulated area. Places in the sections follow multiples of the golden
    ratio: no rows of triangles can be in step with them.
    """
    section = area.sum() / most
    large = np.flatnonzero(area >= section)
    small = np.flatnonzero((area > 0) & (area < section))
    upto = np.cumsum(area[small])
    n = math.ceil(upto[-1] / section) if len(small) else 0
    if n == 0:
        return large.astype(np.int32), area[large]
    k = np.arange(n)
    places = (k + (k * _GOLDEN) % 1.0) * (upto[-1] / n)
    drawn = np.minimum(np.searchsorted(upto, places, "right"), len(small) - 1)
    found, times = np.unique(small[drawn], return_counts=True)
    return (
        np.concatenate([large, found]).astype(np.int32),
        np.concatenate([area[large], times * (upto[-1] / n)]),
    )
