"""Meshes of equal cells: boxes, and parts of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf

CORNERS = np.array([(i ^ j, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1)])
# six tetrahedra of a cell about its diagonal
TETS = np.array(
    [(0, 1, 2, 6), (0, 3, 7, 6), (0, 4, 5, 6), (0, 5, 1, 6), (0, 7, 4, 6), (0, 2, 3, 6)]
)


def grid(cells: NDArray[np.bool_], spacing: ArrayLike = 1.0, tets: bool = False) -> rf.Mesh:
    """Return the hexahedra of the cells that are set, or six tetrahedra of each."""
    corner = np.argwhere(cells)[:, None] + CORNERS
    shape = np.array(cells.shape) + 1
    used, elements = np.unique(np.ravel_multi_index(corner.T, tuple(shape)).T, return_inverse=True)
    elements = elements.reshape(-1, 8)
    if tets:
        elements = np.concatenate([elements[:, one] for one in TETS])
    return rf.Mesh(np.argwhere(np.ones(shape, dtype=bool))[used] * spacing, elements)


def box(
    n: tuple[int, int, int], low: ArrayLike = 0.0, high: ArrayLike | None = None, tets: bool = False
) -> rf.Mesh:
    """Return n cells between two corners [m], by default cubes of 1 m."""
    size = np.asarray(n if high is None else high) - low
    mesh = grid(np.ones(n, dtype=bool), size / n, tets)
    return rf.Mesh(mesh.nodes + low, mesh.elements)
