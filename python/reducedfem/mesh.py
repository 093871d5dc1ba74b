"""Volume meshes of tetrahedra or hexahedra."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._core import Mesh as _CoreMesh
from reducedfem._run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.surface import Surface

__all__ = ["Mesh", "voxelize"]

_ELEMENT_NAMES = {4: "tet4", 8: "hex8"}


def _drop_unreferenced(
    nodes: ArrayLike, elements: ArrayLike
) -> tuple[ArrayLike, ArrayLike, NDArray[np.int32] | None]:
    """Renumber without the nodes that no element uses; leave odd input to the checks."""
    x, e = np.asarray(nodes), np.asarray(elements)
    if x.ndim != 2 or e.ndim != 2 or e.dtype.kind not in "iu" or e.size == 0:
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

    _core: _CoreMesh
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
        self._adopt(_core.Mesh(nodes, elements, regions), original)

    def _adopt(self, core: _CoreMesh, original_nodes: NDArray[np.int32] | None = None) -> Mesh:
        """Fill in the fields, which every way of making a mesh comes to."""
        self._core = core
        if original_nodes is None:
            original_nodes = np.arange(self.n_nodes, dtype=np.int32)
        original_nodes.flags.writeable = False
        self._original_nodes = original_nodes
        return self

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
        return len(self._core.nodes)

    @property
    def n_elements(self) -> int:
        """Number of elements."""
        return len(self._core.elements)

    @property
    def nodes_per_element(self) -> int:
        """4 for tetrahedra, 8 for hexahedra."""
        return int(self._core.elements.shape[1])

    def __repr__(self) -> str:
        name = _ELEMENT_NAMES[self.nodes_per_element]
        return f"<Mesh: {self.n_nodes} nodes, {self.n_elements} {name}>"


def voxelize(
    surface: Surface,
    resolution: int = 64,
    fill: bool = False,
    expand: float = 1.2,
    *,
    progress: Progress = False,
) -> Mesh:
    """Make a mesh of equal cubes from the voxels that a surface touches.

    The grid is a cube around the centre of the surface's bounding box. A voxel is taken
    when its closed box meets a triangle, so a connected surface, even one thinner than a
    voxel, gives voxels that are connected through faces (Barbic 2007, section 2.5.2).

    Parameters
    ----------
    surface
        Any surface; polygon soups are fine.
    resolution
        Voxels along each side of the grid, 1 to 2048.
    fill
        Take also the voxels that the taken ones enclose: all that cannot be reached from
        outside by going through faces of voxels. Where the surface has holes wider than
        a voxel it encloses nothing, and nothing is added.
    expand
        Side of the grid over the longest side of the surface, 1 or more.
    progress
        True for a progress bar, or a callable ``f(done, total)``.

    Returns
    -------
    Mesh
        Hexahedra, ordered by z, then y, then x. Parts of it may touch only along an edge
        or at a node, or not at all: see `Mesh.components`.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range or of a wrong type.
    MeshError
        The surface has no size, or lies too far from the origin for its size.
    """
    if not isinstance(surface, Surface):
        raise InputTypeError(
            f"surface must be a Surface, got {type(surface).__name__}; make one with "
            "Surface(vertices, triangles) or read_surface(path)"
        )
    with callback(progress, "voxelize") as call:
        core = _core.voxelize(
            surface.vertices,
            surface.triangles,
            _whole_number(resolution, "resolution"),
            bool(fill),
            _number(expand, "expand"),
            call,
            threads(),
        )
    return Mesh.__new__(Mesh)._adopt(core)


def _whole_number(value: object, name: str) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputTypeError(f"{name} must be an int, got {type(value).__name__}") from None
    if not -(2**31) <= number < 2**31:
        raise InputError(f"{name} is {number}, which is far out of range")
    return number


def _number(value: object, name: str) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be a number, got {type(value).__name__}") from None
