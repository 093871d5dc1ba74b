"""Boxes of hexahedra."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import reducedfem as rf


def box(*ticks: ArrayLike) -> rf.Mesh:
    """Return the cells between ticks along x, y and z [m]; nodes by x, then y, then z."""
    nodes = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1)
    number = np.arange(nodes.size // 3).reshape(nodes.shape[:3])
    a, b, c = (n - 1 for n in number.shape)
    corners = [(i, j, k) for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    cells = [number[i : i + a, j : j + b, k : k + c].ravel() for i, j, k in corners]
    return rf.Mesh(nodes.reshape(-1, 3), np.stack(cells, axis=1))
