"""Kinds of elements: names, and the nodes of edges and faces in VTK order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import array_like
from reducedfem.errors import InputError, InputTypeError, MeshError

__all__ = ["EDGES", "NAMES", "TRIANGLES", "chosen_elements", "referenced", "some_of"]

_NAMED = 5  # nodes listed in a message
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


def referenced(
    nodes: ArrayLike, elements: ArrayLike
) -> tuple[ArrayLike, ArrayLike, NDArray[np.int32] | None]:
    """Remove nodes that no element uses; leave malformed input to the checks."""
    try:
        x, e = np.asarray(nodes), np.asarray(elements)
    except ValueError:
        return nodes, elements, None
    if x.ndim != 2 or e.ndim != 2 or e.dtype.kind not in "iu" or e.size == 0:
        return nodes, elements, None
    if e.min() < 0 or e.max() >= len(x):
        return nodes, elements, None
    used = np.zeros(len(x), dtype=bool)
    used[e] = True
    place = np.cumsum(used) - 1
    return x[used], place[e], np.flatnonzero(used).astype(np.int32)


def some_of(nodes: NDArray[np.integer]) -> str:
    """Return the first few of a list of nodes as a text."""
    named = ", ".join(map(str, nodes[:_NAMED].tolist()))
    return f"{named} and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else named


def chosen_elements(elements: ArrayLike, n_elements: int) -> NDArray[np.intp]:
    """Return a selection of elements, a mask or indices, as indices."""
    try:
        chosen = np.asarray(array_like(elements, "elements", "integers"))
    except ValueError:
        raise InputTypeError(
            "elements must be a mask or a list of indices, got a list of uneven parts"
        ) from None
    if chosen.dtype == np.bool_:
        if chosen.shape != (n_elements,):
            raise InputError(
                f"elements, as a mask, must have shape ({n_elements},), " f"got {chosen.shape}"
            )
        chosen = np.flatnonzero(chosen)
    if chosen.size == 0:
        raise MeshError("elements selects nothing: a mesh needs one element at least")
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise InputTypeError(
            "elements must be a mask or a list of indices, "
            f"got dtype {chosen.dtype} and shape {chosen.shape}"
        )
    if chosen.min() < 0 or chosen.max() >= n_elements:
        worst = chosen.min() if chosen.min() < 0 else chosen.max()
        raise InputError(f"elements has {worst}; allowed are 0 to {n_elements - 1}")
    if len(np.unique(chosen)) < len(chosen):
        raise InputError("elements has an index twice")
    return chosen
