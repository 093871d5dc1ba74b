"""Checks of the reach of a local compliance, the distance of points that soften each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.quiet import warn
from reducedfem.errors import InputError, PlausibilityWarning
from reducedfem.geometry.elements import EDGES
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import StVK
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid

__all__ = ["MOST_ENTRIES", "require_reach", "second_memory", "warn_of_reach", "warn_of_second"]

_Mask = NDArray[np.bool_]

MOST_ENTRIES = 50_000_000  # 200 MB
_DENSEST = 0.2  # distance of points, over the edges of elements around them
_LOOSE = 0.6  # likewise, from where a reach may leave out some of the points
_ROUNDING = 1e-6  # relative
_DENSE = 0.05  # share of the points that may be closer
_CUT = 1.5  # times the reach, from where elements are left out
_OFF = 0.2  # error of the entries by these
_CHUNK = 4_000_000  # distances at a time


def require_reach(
    reach: float, solid: Solid, model: ReducedSolid | None, embedding: Embedding, moves: _Mask
) -> None:
    """Refuse a reach for which there is no second order.

    Laws other than StVK, whose forces it makes worse; a model of other materials; and points so
    dense that forces would oscillate: denser ones than the elements, unless all are in reach.
    """
    others = sorted({type(one).__name__ for one in solid.materials.values()} - {StVK.__name__})
    if others:
        raise InputError(
            f"reach is {reach:g}, but solid has the material {others[0]}: the second order is for "
            "StVK alone, forces of other laws are more accurate without it; leave reach=0"
        )
    if model is not None and model.materials != solid.materials:
        raise InputError(
            "solid has other materials than tree.reduced: with a reach, pass the Solid that was "
            "reduced"
        )
    points = embedding.points[moves]
    nearest, farthest, entries, widest = _neighbours(points, reach)
    if entries > MOST_ENTRIES:
        raise InputError(
            f"reach {reach:g} m is too large for these {len(points)} points: up to {widest} of "
            f"them are near each other, which takes {4e-9 * entries:.3g} GB; take a smaller one, "
            "or fewer points"
        )
    edges = _edges(embedding)[moves].mean(axis=1)
    ratio = np.quantile(nearest / edges, _DENSE)
    if not ratio >= (1.0 - _ROUNDING) * _DENSEST:
        raise InputError(
            f"reach is {reach:g}, but points of tree are {ratio:.2g} of an edge of the elements "
            f"apart, {_DENSEST:g} is the least: forces would oscillate. Take fewer points, finer "
            "elements, or reach=0"
        )
    if ratio < (1.0 - _ROUNDING) * _LOOSE and reach < farthest:
        raise InputError(
            f"reach is {reach:g}, but points of tree are {ratio:.2g} of an edge of the elements "
            f"apart, and up to {farthest:.3g} m: forces would oscillate. Take fewer points, "
            f"{_LOOSE:g} of an edge apart, a reach of {farthest:.3g} m, or reach=0"
        )


def warn_of_reach(reach: float, embedding: Embedding, moves: _Mask, stacklevel: int) -> None:
    """Warn of a reach below the size of the elements."""
    longest = _edges(embedding)[moves].max()
    if reach < (1.0 - _ROUNDING) * longest:
        warn(
            f"reach is {reach:g} m, but elements that contain points have edges up to "
            f"{longest:.3g} m: points that soften each other are left out, and forces may be off "
            "with any sign. Take a reach of these edges and of the largest contact, or 0",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_second(off: float, stacklevel: int) -> None:
    """Warn of a second order that elements far from the points change; off: by how much."""
    if off > _OFF:
        warn(
            f"elements farther than {_CUT:g} times the reach from the points change its second "
            f"order by {off:.2g} of its largest entry: the body bends there. Take reach=0, or one "
            "that has all of the body",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )


def second_memory(reach: float, embedding: Embedding, moves: _Mask, modelled: bool) -> float:
    """Return the bytes, at most, while the second order is made."""
    margin = _CUT * reach + 4.0 * float(_edges(embedding)[moves].max())
    points, nodes = embedding.points[moves], embedding.mesh.nodes
    inside = ((nodes >= points.min(axis=0) - margin) & (nodes <= points.max(axis=0) + margin)).all(
        axis=1
    )
    return (24.0 if modelled else 12.0) * len(points) * float(inside.sum())


def _edges(embedding: Embedding) -> NDArray[np.float64]:
    """Return the lengths of the edges of the element around each point, (n, edges)."""
    mesh: Mesh = embedding.mesh
    elements = mesh.elements[embedding.elements]
    pairs = EDGES[10 if elements.shape[1] in (4, 10) else 20]
    ends = mesh.nodes[elements[:, pairs]]
    lengths: NDArray[np.float64] = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2)
    return lengths


def _neighbours(
    points: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.float64], float, int, int]:
    """Return distances of nearest points, the largest distance, and entries and most near points.

    The entries are those of the second order.
    """
    n = len(points)
    nearest, farthest, entries, widest = np.full(n, np.inf), 0.0, 0, 0
    step = max(1, _CHUNK // n)
    for first in range(0, n, step):
        some = np.arange(first, min(first + step, n))
        apart = np.linalg.norm(points[some, None] - points, axis=2)
        before = (apart <= reach) & (np.arange(n) <= some[:, None])
        count = before.sum(axis=1)
        entries += int((count * (count + 1) // 2).sum())
        widest = max(widest, int(count.max()))
        farthest = max(farthest, float(apart.max()))
        apart[np.arange(len(some)), some] = np.inf
        nearest[some] = apart.min(axis=1)
    return nearest, farthest, entries, widest
