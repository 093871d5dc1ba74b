"""Volume meshes of tetrahedra or hexahedra."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core

__all__ = ["Mesh"]

_ELEMENT_NAMES = {4: "tet4", 8: "hex8"}


def _drop_unreferenced(
    nodes: ArrayLike, elements: ArrayLike
) -> tuple[ArrayLike, ArrayLike, NDArray[np.int32] | None]:
    """Renumber without the nodes that no element uses; leave odd input to the checks."""
    x, e = np.asarray(nodes), np.asarray(elements)
    if x.ndim != 2 or e.ndim != 2 or e.dtype.kind not in "iu" or not 0 < e.size:
        return nodes, elements, None
    if e.min() < 0 or e.max() >= len(x):
        return nodes, elements, None
    used = np.zeros(len(x), dtype=bool)
    used[e] = True
    place = np.cumsum(used) - 1
    return x[used], place[e], np.flatnonzero(used).astype(np.int32)


class Mesh:
    """A volume mesh of four-node tetrahedra or eight-node hexahedra.

    A mesh that exists is usable and does not change: the arrays are read-only.
    Node order within an element is that of VTK (``VTK_TETRA``,
    ``VTK_HEXAHEDRON``).

    Parameters
    ----------
    nodes
        Rest positions [m], shape (n, 3).
    elements
        0-based node indices, shape (e, 4) for tetrahedra or (e, 8) for hexahedra.
    regions
        An integer per element, shape (e,), for example to give each region its own
        material; default all 0.
    drop_unreferenced
        Leave out nodes that belong to no element, instead of refusing them. The
        others keep their order; `original_nodes` tells where they come from.

    Raises
    ------
    MeshError
        The mesh is empty, has inverted or degenerate elements, an element that uses a
        node twice, or nodes that belong to no element. The message names the element
        or node.
    InputError, InputTypeError
        An array has a wrong shape or dtype, a value that is not finite, or an index out
        of range.
    """

    __slots__ = ("__weakref__", "_core", "_original_nodes")

    _core: _core.Mesh
    _original_nodes: NDArray[np.int32]

    def __init__(
        self,
        nodes: ArrayLike,
        elements: ArrayLike,
        regions: ArrayLike | None = None,
        *,
        drop_unreferenced: bool = False,
    ) -> None:
        original = None
        if drop_unreferenced:
            nodes, elements, original = _drop_unreferenced(nodes, elements)
        self._core = _core.Mesh(nodes, elements, regions)
        if original is None:
            original = np.arange(self.n_nodes, dtype=np.int32)
        original.flags.writeable = False
        self._original_nodes = original

    @property
    def nodes(self) -> NDArray[np.float64]:
        """Rest positions [m], read-only, shape (n, 3)."""
        return self._core.nodes

    @property
    def elements(self) -> NDArray[np.int32]:
        """Node indices of each element in VTK order, read-only, shape (e, 4) or (e, 8)."""
        return self._core.elements

    @property
    def regions(self) -> NDArray[np.int32]:
        """Region of each element, read-only, shape (e,)."""
        return self._core.regions

    @property
    def original_nodes(self) -> NDArray[np.int32]:
        """Index of each node in the nodes this mesh was made from, shape (n,)."""
        return self._original_nodes

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self._core.nodes.shape[0]

    @property
    def n_elements(self) -> int:
        """Number of elements."""
        return self._core.elements.shape[0]

    @property
    def nodes_per_element(self) -> int:
        """4 for tetrahedra, 8 for hexahedra."""
        return self._core.elements.shape[1]

    def __repr__(self) -> str:
        name = _ELEMENT_NAMES[self.nodes_per_element]
        return f"<Mesh: {self.n_nodes} nodes, {self.n_elements} {name}>"
