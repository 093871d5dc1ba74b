"""Kinds of elements: names, and the nodes of edges and faces in VTK order."""

from __future__ import annotations

import numpy as np

__all__ = ["EDGES", "NAMES", "TRIANGLES"]

# by number of nodes
NAMES = {4: "tet4", 8: "hex8", 10: "tet10", 20: "hex20"}
# edges of the mid-edge nodes, by number of nodes of an element
# (VTK_QUADRATIC_TETRA, VTK_QUADRATIC_HEXAHEDRON)
EDGES = {
    10: np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]]),
    20: np.array(
        [
            *([0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]),
            *([0, 4], [1, 5], [2, 6], [3, 7]),
        ]
    ),
}
# triangles of a boundary face, by its number of nodes
TRIANGLES = {
    3: [0, 1, 2],
    4: [0, 1, 2, 0, 2, 3],
    6: [0, 3, 5, 3, 1, 4, 5, 4, 2, 3, 4, 5],
    8: [0, 4, 7, 4, 1, 5, 5, 2, 6, 6, 3, 7, 4, 5, 6, 4, 6, 7],
}
