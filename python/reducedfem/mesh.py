"""Volume meshes of tetrahedra or hexahedra: making, reading, writing, looking at them."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._atomic import as_path, replacing
from reducedfem._check import (
    array_like,
    as_array,
    choice,
    flag,
    integer,
    node_indices,
    number,
    require,
)
from reducedfem._core import Mesh as _CoreMesh
from reducedfem._inside import warn_of_doubts, warn_of_first_order, warn_of_lost_volume
from reducedfem._run import Progress, callback, threads
from reducedfem._volume_files import (
    ElasticData,
    VolumeData,
    read_indices,
    read_volume,
    write_volume,
)
from reducedfem.errors import (
    FileFormatError,
    GeometryWarning,
    InputError,
    InputTypeError,
    MeshError,
)
from reducedfem.material import StVK
from reducedfem.surface import Surface, _with_hint

__all__ = ["Mesh", "read_fixed", "read_mesh", "voxelize"]

_ROUNDED = 1e-6  # of a length: more than a number of cells by less needs no further cell
_THINNEST = 1.0 / 8.0  # cubes: cells are flattened for bodies thicker than this, else only cut
# cells of a solid body whose 20 nodes each make a factorization that fits: 60,000 nodes
_MOST_SECOND_ORDER = 15_000
_SKIN = "pass fill=False for a skin of voxels along it"
_ELEMENT_NAMES = {4: "tet4", 8: "hex8", 10: "tet10", 20: "hex20"}
# ends of the edges on whose middles the nodes after the corners lie, by nodes of an element
# (VTK_QUADRATIC_TETRA, VTK_QUADRATIC_HEXAHEDRON)
_EDGES = {
    10: np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]]),
    20: np.array(
        [
            *([0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]),
            *([0, 4], [1, 5], [2, 6], [3, 7]),
        ]
    ),
}
# triangles of a boundary face, by its number of nodes
_TRIANGLES = {
    3: [0, 1, 2],
    4: [0, 1, 2, 0, 2, 3],
    6: [0, 3, 5, 3, 1, 4, 5, 4, 2, 3, 4, 5],
    8: [0, 4, 7, 4, 1, 5, 5, 2, 6, 6, 3, 7, 4, 5, 6, 4, 6, 7],
}


# quadrature of cut cells: points of each element, their places, weights and products
_Rule = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _rule_of(rule: _Rule | None, chosen: NDArray[np.intp]) -> _Rule | None:
    """Return the rule of some elements."""
    if rule is None:
        return None
    counts, points, weights, products = rule
    ends, rows = np.cumsum(counts), np.cumsum(counts > 0)
    own = chosen[counts[chosen] > 0]
    at = np.concatenate([np.arange(ends[e] - counts[e], ends[e]) for e in own]) if len(own) else own
    return counts[chosen], points[at], weights[at], products[rows[own] - 1]


def _drop_unreferenced(
    nodes: ArrayLike, elements: ArrayLike
) -> tuple[ArrayLike, ArrayLike, NDArray[np.int32] | None]:
    """Renumber without the nodes that no element uses; leave odd input to the checks."""
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


class Mesh:
    """A volume mesh of tetrahedra (four or ten nodes) or hexahedra (eight or 20).

    A mesh that exists is usable and does not change: the arrays are read-only.
    Node order within an element is that of VTK (``VTK_TETRA``, ``VTK_HEXAHEDRON``,
    ``VTK_QUADRATIC_TETRA``: corners, then the middles of the edges 01 12 02 03 13 23,
    ``VTK_QUADRATIC_HEXAHEDRON``: 01 12 23 30 45 56 67 74 04 15 26 37). Hexahedra of eight
    nodes are checked at their corners and Gauss points; a strongly distorted one may still
    fold over in between. Second-order elements, whose edges may be curved, are checked
    everywhere: the Bernstein coefficients of the Jacobian bound it.

    Parameters
    ----------
    nodes
        Rest positions [m], shape (n, 3).
    elements
        0-based node indices, shape (e, 4) or (e, 10) for tetrahedra, (e, 8) or (e, 20)
        for hexahedra.
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
        node twice, nodes that belong to no element, or edges of second-order elements with
        more than one mid-edge node. The message names the element or node.
    InputError, InputTypeError
        An array has a wrong shape or dtype, a value that is not finite, or an index out
        of range.
    """

    __slots__ = (
        "__weakref__",
        "_boundary",
        "_core",
        "_fit",
        "_materials",
        "_original_nodes",
        "_region_names",
        "_source",
    )

    _core: _CoreMesh
    _original_nodes: NDArray[np.int32]
    _boundary: tuple[NDArray[np.int32], NDArray[np.int32]] | None
    _region_names: dict[int, str]
    _materials: dict[int, ElasticData]
    _source: Surface | None
    _fit: tuple[float, float | None] | None

    def __init__(
        self,
        nodes: ArrayLike,
        elements: ArrayLike,
        regions: ArrayLike | None = None,
        *,
        drop_unreferenced: bool = False,
    ) -> None:
        original = None
        array_like(nodes, "nodes")
        array_like(elements, "elements", "integers")
        array_like(regions, "regions", "integers")
        if flag(drop_unreferenced, "drop_unreferenced"):
            nodes, elements, original = _drop_unreferenced(nodes, elements)
        try:
            core = _core.Mesh(nodes, elements, regions)
        except InputError as error:
            if isinstance(error, MeshError) and "belong to no element" in str(error):
                raise MeshError(f"{error} (drop_unreferenced=True does that)") from None
            raise _with_hint(error, nodes, elements, "elements") from None
        self._adopt(core, original)

    def _adopt(
        self,
        core: _CoreMesh,
        original_nodes: NDArray[np.int32] | None = None,
        region_names: dict[int, str] | None = None,
        materials: dict[int, ElasticData] | None = None,
        source: Surface | None = None,
    ) -> Mesh:
        """Fill in the fields, which every way of making a mesh comes to."""
        self._core = core
        if original_nodes is None:
            original_nodes = np.arange(self.n_nodes, dtype=np.int32)
        original_nodes.flags.writeable = False
        self._original_nodes = original_nodes
        self._boundary = None
        self._region_names = dict(region_names or {})
        self._materials = dict(materials or {})
        self._source = source
        self._fit = None
        return self

    def _rule(self) -> _Rule | None:
        """Return the quadrature of cut elements, None where all are whole."""
        return _core.mesh_rule(self._core)

    def _cut_as(self, rule: _Rule | None) -> None:
        """Take over the quadrature of cut elements, while the mesh is being made."""
        if rule is not None and rule[0].any():
            self._core = _core.mesh_with_rule(self._core, *rule)

    @property
    def nodes(self) -> NDArray[np.float64]:
        """Rest positions [m], read-only, shape (n, 3)."""
        return self._core.nodes

    @property
    def elements(self) -> NDArray[np.int32]:
        """Node indices of each element in VTK order, read-only, shape (e, nodes_per_element)."""
        return self._core.elements

    @property
    def regions(self) -> NDArray[np.int32]:
        """Region of each element, read-only, shape (e,)."""
        return self._core.regions

    @property
    def original_nodes(self) -> NDArray[np.int32]:
        """Index of each node in the nodes this mesh was made from, read-only, shape (n,).

        -1 for mid-edge nodes that `quadratic` made.
        """
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
        """4 or 10 for tetrahedra, 8 or 20 for hexahedra."""
        return int(self._core.elements.shape[1])

    @property
    def region_names(self) -> dict[int, str]:
        """Names of regions that the file gave, by region."""
        return dict(self._region_names)

    @property
    def source(self) -> Surface | None:
        """The surface that the mesh was made from; None where there was none."""
        return self._source

    @property
    def materials(self) -> dict[int, StVK]:
        """Materials that the file gave, by region: what `Solid` takes.

        Only ``.veg`` files give materials. Regions whose material is of another kind than
        ``ENU`` (isotropic, by Young's modulus and Poisson's ratio) are left out.

        Raises
        ------
        InputError
            A value of the file is out of its range.
        """
        return {
            region: StVK(young=m.young, poisson=m.poisson, density=m.density)
            for region, m in self._materials.items()
        }

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lowest and highest corner [m], shape (2, 3)."""
        return np.array([self.nodes.min(axis=0), self.nodes.max(axis=0)])

    @property
    def fractions(self) -> NDArray[np.float64]:
        """Filled part of each element, shape (e,): 1, and less of cut cells (`voxelize`)."""
        filled = np.ones(self.n_elements)
        if (rule := self._rule()) is not None:
            counts, _, weights, _ = rule
            own = counts > 0
            first = (np.cumsum(counts) - counts)[own]
            filled[own] = np.add.reduceat(weights, first) / 8.0
        return filled

    @property
    def element_volumes(self) -> NDArray[np.float64]:
        """Volume of each element, of cut cells that of the filled part [m^3], shape (e,)."""
        return self._core.volumes()

    @property
    def volume(self) -> float:
        """Volume of the whole mesh, of cut cells the filled part [m^3]."""
        return float(self._core.volumes().sum())

    @property
    def boundary_faces(self) -> NDArray[np.int32]:
        """Faces that belong to one element only, read-only, shape (f, 3), (f, 4), (f, 6) or (f, 8).

        The corners run counter-clockwise seen from outside; of second-order elements the
        middles of the edges 01 12 20 (``VTK_QUADRATIC_TRIANGLE``) or 01 12 23 30
        (``VTK_QUADRATIC_QUAD``) follow.
        """
        return self._faces()[0]

    @property
    def boundary_nodes(self) -> NDArray[np.int32]:
        """Nodes of `boundary_faces`, ascending, read-only, shape (b,)."""
        return self._faces()[1]

    def _faces(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the faces of the boundary and their nodes."""
        if self._boundary is None:
            faces, _ = self._core.boundary()
            nodes = np.unique(faces)
            faces.flags.writeable = nodes.flags.writeable = False
            self._boundary = faces, nodes
        return self._boundary

    def surface(self) -> Surface:
        """Return the boundary of the mesh as a surface of triangles.

        Quadrilaterals are cut in two, faces of ten-node tetrahedra in four, of hexahedra of
        20 nodes in six.
        Its vertices are ``mesh.nodes[mesh.boundary_nodes]``, so ``u[mesh.boundary_nodes]``
        is a field ``u`` of the mesh on the vertices of the surface.

        Returns
        -------
        Surface
            Triangles run counter-clockwise seen from outside.
        """
        kept, place = np.unique(self._faces()[0], return_inverse=True)
        # NumPy releases differ in the shape of `place`
        per_face = self._faces()[0].shape[1]
        place = place.reshape(-1, per_face)[:, _TRIANGLES[per_face]]
        return Surface(self.nodes[kept], place.reshape(-1, 3))

    def components(self, by: Literal["node", "face"] = "node") -> NDArray[np.int32]:
        """Return the connected part to which each element belongs.

        Parameters
        ----------
        by
            ``"node"``: elements that share a node hang together. ``"face"``: only those that
            share a whole face do. Parts that touch along an edge or at a node are one by
            node, but hinges between them have no stiffness; more parts by face than by node
            tell of such hinges.

        Returns
        -------
        (e,) int32 array
            Parts are numbered from 0 in the order of their first elements.

        Raises
        ------
        InputError
            `by` is neither.
        """
        return self._components(by)[1]

    def n_components(self, by: Literal["node", "face"] = "node") -> int:
        """Return the number of connected parts.

        Parameters
        ----------
        by
            "node" or "face": the connection, as `components` says.

        Returns
        -------
        int

        Raises
        ------
        InputError
            `by` is neither ``"node"`` nor ``"face"``.
        """
        return self._components(by)[0]

    def _components(self, by: str) -> tuple[int, NDArray[np.int32]]:
        choice(by, "by", ("node", "face"))
        return self._core.components(by == "face")

    def submesh(self, elements: ArrayLike) -> Mesh:
        """Return a mesh of some elements of this one.

        Parameters
        ----------
        elements
            A mask of shape (e,) or indices in any order, each once.

        Returns
        -------
        Mesh
            Nodes keep their order; its `original_nodes` are indices of nodes of this mesh.

        Raises
        ------
        MeshError
            No element is left.
        InputError, InputTypeError
            A mask of another length, an index out of range or given twice.
        """
        try:
            chosen = np.asarray(array_like(elements, "elements", "integers"))
        except ValueError:
            raise InputTypeError(
                "elements must be a mask or a list of indices, got a list of uneven parts"
            ) from None
        if chosen.dtype == np.bool_:
            if chosen.shape != (self.n_elements,):
                raise InputError(
                    f"elements, as a mask, must have shape ({self.n_elements},), "
                    f"got {chosen.shape}"
                )
            chosen = np.flatnonzero(chosen)
        if chosen.size == 0:
            raise MeshError("elements chooses nothing: a mesh needs one element at least")
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise InputTypeError(
                "elements must be a mask or a list of indices, "
                f"got dtype {chosen.dtype} and shape {chosen.shape}"
            )
        if chosen.min() < 0 or chosen.max() >= self.n_elements:
            worst = chosen.min() if chosen.min() < 0 else chosen.max()
            raise InputError(f"elements has {worst}; allowed are 0 to {self.n_elements - 1}")
        if len(np.unique(chosen)) < len(chosen):
            raise InputError("elements has an index twice")
        part = Mesh(self.nodes, self.elements[chosen], self.regions[chosen], drop_unreferenced=True)
        part._cut_as(_rule_of(self._rule(), chosen))
        part._region_names, part._materials = dict(self._region_names), dict(self._materials)
        return part

    def largest_component(self, by: Literal["node", "face"] = "node") -> Mesh:
        """Return the connected part with the most elements (the first of equals).

        Parameters
        ----------
        by
            "node" or "face": the connection, as `components` says.

        Returns
        -------
        Mesh
            Its `original_nodes` are indices of nodes of this mesh; this mesh, if it has one
            part only.

        Raises
        ------
        InputError
            `by` is neither ``"node"`` nor ``"face"``.
        """
        count, label = self._components(by)
        if count == 1:
            return self
        part = self.submesh(label == np.bincount(label).argmax())
        part._source = self._source
        return part

    def with_regions(self, regions: ArrayLike) -> Mesh:
        """Return this mesh with other regions, cut cells included.

        Parameters
        ----------
        regions
            An integer per element, shape (e,), for example to give each region its own
            material.

        Returns
        -------
        Mesh
            Without the names and materials that a file gave to the old regions.

        Raises
        ------
        InputError, InputTypeError
            Not integers, or of another shape.
        """
        chosen = as_array(regions, "regions", "integers")
        core = _core.Mesh(self.nodes, self.elements, chosen)
        mesh = Mesh.__new__(Mesh)._adopt(core, self._original_nodes, source=self._source)
        mesh._cut_as(self._rule())
        return mesh

    def quadratic(self) -> Mesh:
        """Return this mesh with second-order elements.

        A node is put on the middle of every edge: four-node tetrahedra get ten nodes,
        eight-node hexahedra 20. Second-order elements bend and keep their volume where
        first-order ones lock: the same accuracy takes far fewer nodes
        (``experiments/bending_convergence.py``).

        Returns
        -------
        Mesh
            The nodes of this mesh keep their indices, the middles of edges follow, in the
            order of their ends; `original_nodes` is -1 there. `with_mid_edge_nodes` extends
            lists of nodes, such as those held fixed. Regions and materials are kept.

        Raises
        ------
        InputError
            The elements have mid-edge nodes already, or are cut: ``voxelize(order=2)`` makes
            cut cells of second order.
        MeshError
            Elements so far from the origin, for their size, that the middles of their edges
            are rounded to other places, or a hexahedron that folds over between the places
            at which those of eight nodes are checked.

        Examples
        --------
        >>> import reducedfem as rf
        >>> tet = rf.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
        >>> tet.quadratic()
        <Mesh: 10 nodes, 1 tet10>
        """
        if self._rule() is not None and self.nodes_per_element == 8:
            raise InputError(
                "the cut cells of this mesh have the quadrature of eight nodes; "
                "voxelize(surface, order=2) makes such of 20"
            )
        core = self._core.quadratic()
        original = np.full(len(core.nodes), -1, dtype=np.int32)
        original[: self.n_nodes] = self._original_nodes
        return Mesh.__new__(Mesh)._adopt(
            core, original, self._region_names, self._materials, self._source
        )

    def with_mid_edge_nodes(self, nodes: ArrayLike) -> NDArray[np.int32]:
        """Return nodes and the mid-edge nodes of the edges that run between two of them.

        Extends a selection of corners to whole edges, for example a list that belongs to the
        mesh before `quadratic`, so that whole faces are fixed or loaded.

        Parameters
        ----------
        nodes
            Node indices in any order, or a mask of shape (n,).

        Returns
        -------
        (m,) int32 array
            Ascending. Of first-order elements: the nodes themselves.

        Raises
        ------
        InputError, InputTypeError
            A mask of another length, or an index out of range.
        """
        chosen = np.zeros(self.n_nodes, dtype=bool)
        chosen[node_indices(nodes, "nodes", self.n_nodes)] = True
        edges = _EDGES.get(self.nodes_per_element)
        if edges is not None:
            ends = chosen[self.elements[:, edges]].all(axis=2)
            chosen[self.elements[:, -len(edges) :][ends]] = True
        return np.flatnonzero(chosen).astype(np.int32)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write to a ``.veg`` file, or to what meshio writes (``.vtu``, ``.msh``, ...).

        Regions are kept where the format can hold them. The file is written whole or not at
        all; so is each of the two of TetGen (``.ele`` and ``.node``), of which `read_mesh` refuses
        a pair that is of two saves. No format holds the quadrature of cut cells: they are written
        whole, ``.vtu``, ``.vtk`` and ``.xdmf`` with `fractions` as data of the cells; `pickle`
        keeps everything.

        Parameters
        ----------
        path
            The suffix chooses the format.

        Raises
        ------
        FileFormatError
            The format is unknown or cannot hold the mesh, or the file cannot be written.

        Warns
        -----
        GeometryWarning
            The mesh has cut cells.
        """
        cut = self._rule() is not None
        data = VolumeData(
            self.nodes,
            self.elements.astype(np.int64),
            self.regions.astype(np.int64),
            self._region_names,
            self._materials,
            self.fractions if cut else None,
        )
        with replacing(path) as temporary:
            write_volume(temporary, data, as_path(path).suffix.lower())
        if cut:
            warnings.warn(
                f"{str(path)!r} has whole cells where this mesh has cut ones: no file of volume "
                "elements holds their quadrature; keep the mesh by pickle, or voxelize again",
                GeometryWarning,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        name = _ELEMENT_NAMES[self.nodes_per_element]
        rule = self._rule()
        cut = "" if rule is None else f", {np.count_nonzero(rule[0])} cut"
        return f"<Mesh: {self.n_nodes} nodes, {self.n_elements} {name}{cut}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self.nodes,
            self.elements,
            self.regions,
            self._original_nodes,
            self._region_names,
            self._materials,
            self._source,
            self._rule(),
        )


def _restore(
    nodes: ArrayLike,
    elements: ArrayLike,
    regions: ArrayLike,
    original_nodes: NDArray[np.int32],
    region_names: dict[int, str],
    materials: dict[int, ElasticData],
    source: Surface | None = None,
    rule: _Rule | None = None,
) -> Mesh:
    """Make a mesh again from its pickle."""
    core = _core.Mesh(nodes, elements, regions)
    mesh = Mesh.__new__(Mesh)._adopt(core, original_nodes, region_names, materials, source)
    mesh._cut_as(rule)
    return mesh


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a volume mesh: a ``.veg`` file, or what meshio reads (Gmsh, VTK, Abaqus, ...).

    Surface, line and point cells of the file are passed over, and so are nodes that no
    element uses: `Mesh.original_nodes` tells which node of the file each node is.

    Regions are, for ``.veg``, numbered from 0 in the order of the file's ``*REGION``
    statements, and `Mesh.region_names` are the sets they name. Of other formats, the
    integer per element that the format provides is taken (Gmsh: physical groups; Medit
    and TetGen: references), else sets that do not overlap (Abaqus: ELSET), numbered from 1.

    ``*INCLUDE`` of a ``.veg`` or ``.inp`` file names a regular file in the same folder or below
    it; at most 1000 files of 256 MiB in all are included.

    Parameters
    ----------
    path
        The suffix tells the format.

    Returns
    -------
    Mesh

    Raises
    ------
    FileFormatError
        The file is missing, of an unknown format or damaged, or its volume elements are not
        all of one kind: tetrahedra with 4 or 10 nodes or hexahedra with 8 or 20.
    MeshError
        The mesh is not usable; see `Mesh`.
    """
    file = as_path(path)
    data = read_volume(file)
    try:
        mesh = Mesh(data.nodes, data.elements, data.regions, drop_unreferenced=True)
    except MeshError as error:
        raise MeshError(f"{str(file)!r}: {error}") from error
    except InputError as error:
        raise FileFormatError(f"{str(file)!r} is damaged: {error}") from error
    mesh._region_names, mesh._materials = data.region_names, data.materials
    return mesh


def read_fixed(path: str | os.PathLike[str]) -> NDArray[np.int32]:
    """Read the fixed nodes of a Vega ``.bou`` file.

    Parameters
    ----------
    path
        Text file of 1-based node numbers, separated by commas, blanks or line ends. It may
        ``*INCLUDE`` others as `read_mesh` allows.

    Returns
    -------
    (f,) int32 array
        0-based, ascending, each once: what ``Solid(..., fixed=...)`` takes.

    Raises
    ------
    FileFormatError
        The file is missing or holds something else.
    """
    numbers = read_indices(as_path(path))
    if numbers.size and not (numbers.min() >= 1 and numbers.max() < 2**31):
        raise FileFormatError(
            f"{str(path)!r} has node {numbers.min() if numbers.min() < 1 else numbers.max()}; "
            "numbers start at 1"
        )
    return np.unique(numbers - 1).astype(np.int32)


def _fitted(bounds: NDArray[np.float64], resolution: int) -> NDArray[np.float64]:
    """Return how far to stretch a surface along each axis so that cubes end where it does."""
    size = np.ptp(bounds, axis=0)
    cube = size.max() / max(resolution, 1)
    scale = np.ones(3)
    fits = (size > _THINNEST * cube) & (size < size.max())
    cells = np.ceil(size[fits] / cube * (1.0 - _ROUNDED))
    cells += (cells - resolution) % 2  # the grid has the centre of the surface
    scale[fits] = cells * cube / size[fits]
    return scale


def voxelize(
    surface: Surface,
    resolution: int = 64,
    fill: bool = True,
    expand: float | None = None,
    *,
    cut: bool | None = None,
    order: Literal[1, 2] | None = None,
    progress: Progress = None,
) -> Mesh:
    """Make a mesh of equal cubes, or boxes, of what a surface encloses.

    The grid is a cube around the centre of the surface's bounding box. With the defaults its
    cells are flattened along the shorter sides of that box so that they end where the body does:
    what stands on a plane or is clamped there is held by nodes in that plane. A voxel is taken
    when its closed box meets a triangle, so a connected surface, even one thinner than a
    voxel, gives voxels that are connected through faces (Barbic 2007, section 2.5.2); and
    when its centre is inside: where the winding number (`Surface.winding`) is above 1/2, of
    closed, open, self-crossing and inconsistently oriented surfaces alike.

    Voxels that the surface meets are cut: they count as far as they are inside, and those of
    which nothing is are left out. Mass, stiffness and everything made from these integrate the
    filled part; the mesh itself, its nodes and its boundary, is that of whole cubes.

    Parameters
    ----------
    surface
        Any surface; polygon soups are fine.
    resolution
        Voxels along each side of the grid, 1 to 2048. The default suits slender bodies. For stout
        ones, the number of voxels grows with the cube of it, and 24 is enough for most.
    fill
        False: only those that the surface touches, a skin of voxels.
    expand
        Side of the grid over the longest side of the surface, 1 or more; cells are cubes. None:
        1, so that `resolution` voxels lie along the longest side, flattened along the others;
        of whole cubes 1.2.
    cut
        False: whole cubes. None: as `fill`.
    order
        2: hexahedra of 20 nodes, which bend as they should with two voxels across, at the same
        cost at run time. 1: of eight nodes, which need about six, but make a quarter of the
        unknowns. None: 2 with `fill` where there are at most 15,000 cells, else 1.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Mesh
        Hexahedra, ordered by z, then y, then x. Parts of it may touch only along an edge
        or at a node, or not at all: see `Mesh.components`. `Mesh.fractions` are the filled
        parts of cut cells.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range or of a wrong type, or `cut` is asked for without `fill`.
    MeshError
        The surface has no size, or lies too far from the origin for its size.

    Warns
    -----
    GeometryWarning
        It is uncertain what is inside: the surface has holes as large as the body, which the
        warning names, or is in large part a single sheet.
    PlausibilityWarning
        Cut cells have a volume more than 5 % from what a closed surface encloses: the body, or
        most of it, is thinner than a tenth of a cell. Or cells of 8 nodes were taken because there
        are so many, and parts are fewer than six of them thick.
    """
    require(surface, Surface, "surface")
    fill = flag(fill, "fill")
    cut = fill if cut is None else flag(cut, "cut")
    if cut and not fill:
        raise InputError("cut=True needs fill=True: what a surface encloses can be cut, no skin")
    if order is not None and integer(order, "order") not in (1, 2):
        raise InputError(f"order must be 1 or 2, got {order}")
    resolution = integer(resolution, "resolution")
    scale = _fitted(surface.bounds, resolution) if cut and expand is None else np.ones(3)
    vertices = surface.vertices * scale
    if expand is None:
        expand = 1.0 if cut else 1.2
    with callback(progress, "voxelize") as call:
        core, touched, enclosed, doubtful, sheets = _core.voxelize(
            vertices,
            surface.triangles,
            resolution,
            fill,
            number(expand, "expand"),
            None if cut else call,
            threads(),
        )
        cubes, chosen = core, order or 2
        if order is None and (not fill or len(cubes.elements) > (1 + cut) * _MOST_SECOND_ORDER):
            chosen = 1
        if cut:
            core, _ = _core.cut(cubes, vertices, surface.triangles, chosen, call, threads())
            # half of the cubes of a plate may be empty
            if order is None and chosen == 2 and len(core.elements) > _MOST_SECOND_ORDER:
                chosen = 1
                core, _ = _core.cut(cubes, vertices, surface.triangles, 1, call, threads())
        elif chosen == 2:
            core = core.quadratic()
    if (scale != 1.0).any():
        rule = _core.mesh_rule(core)
        core = _core.Mesh(core.nodes / scale, core.elements, core.regions)
        if rule is not None:
            core = _core.mesh_with_rule(core, *rule)
    mesh = Mesh.__new__(Mesh)._adopt(core, source=surface)
    if fill:
        warn_of_doubts(surface, touched + enclosed, doubtful, sheets, _SKIN, stacklevel=2)
    if fill and order is None and chosen == 1:
        edge = float(np.ptp(mesh.nodes[mesh.elements[0]], axis=0).max())
        warn_of_first_order(
            surface, mesh.n_elements, edge, resolution, _MOST_SECOND_ORDER, stacklevel=2
        )
    if cut:
        warn_of_lost_volume(surface, mesh.volume, resolution / float(expand), stacklevel=2)
    return mesh
