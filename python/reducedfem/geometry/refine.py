"""Refinement of surfaces that deform."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.geometry.surface import Surface

__all__ = ["refined"]

Array = NDArray[np.float64]

# longest edge of a surface to draw, relative to its size, and maximum number of added triangles
_FINE = 0.02
_MAX_ADDED = 20_000


def _sides(faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ends of each side of each triangle, the lower vertex first, (t, 3, 2)."""
    return np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2), axis=2)


def refined(surface: Surface, edge: float | None = None, added: float = _MAX_ADDED) -> Surface:
    """Return a surface of the same shape with edges short enough for its deformation.

    The longest edges are halved first, in all adjacent triangles, until edges are at most `edge`
    [m] (None: a fiftieth of the size, to draw it) or `added` triangles have been added. Vertices
    keep their indices; new ones follow.
    """
    x, faces = surface.vertices, surface.triangles.astype(np.int64)
    finest = _FINE * float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
    finest = finest if edge is None else edge
    while True:
        sides, n = _sides(faces), len(x)
        length = np.linalg.norm(x[sides[..., 0]] - x[sides[..., 1]], axis=2)
        long = length > max(finest, 0.5 * float(length.max()))
        if not long.any() or len(faces) + long.sum() > surface.n_triangles + added:
            return surface if n == surface.n_vertices else Surface(x, faces)
        halved = np.unique(sides[long] @ [n, 1])
        x = np.concatenate([x, 0.5 * (x[halved // n] + x[halved % n])])
        faces = _cut(x, faces, halved, n)


def _cut(x: Array, faces: NDArray[np.int64], halved: NDArray[np.int64], n: int) -> Any:
    """Split triangles at the middles of sides, new vertices n, n + 1, ...; side a, b is a n + b."""
    while True:
        sides = _sides(faces)
        name = np.where(sides[..., 1] < n, sides @ [n, 1], -1)
        place = np.minimum(np.searchsorted(halved, name), len(halved) - 1)
        there = halved[place] == name
        cut = there.any(axis=1)
        if not cut.any():
            return faces
        # triangles with several halved sides are split at the longest first
        length = np.linalg.norm(x[sides[..., 0]] - x[sides[..., 1]], axis=2)
        side = np.where(there, length, -1.0).argmax(axis=1)[cut]
        turn = (side[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(faces[cut], turn, axis=1).T
        middle = n + place[cut, side]
        halves = [np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)]
        faces = np.concatenate([faces[~cut], *halves])
