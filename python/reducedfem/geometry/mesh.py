"""Volume meshes of tetrahedra or hexahedra: topology, measures, regions."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._core import Mesh as _CoreMesh
from reducedfem.base.check import (
    array_like,
    as_array,
    choice,
    flag,
    node_indices,
)
from reducedfem.drawing.card import Card, CardContents, extent_text
from reducedfem.errors import GeometryWarning, InputError, InputTypeError, MeshError
from reducedfem.geometry.cut_cells import Rule, filled_fractions, rule_of
from reducedfem.geometry.elements import EDGES, NAMES, TRIANGLES, referenced
from reducedfem.geometry.surface import Surface, _with_hint
from reducedfem.io.atomic import as_path, replacing
from reducedfem.io.mesh_fields import Fields, checked_fields
from reducedfem.io.volume_data import ElasticData, VolumeData
from reducedfem.io.volume_files import write_volume
from reducedfem.material.laws import StVK

__all__ = ["Mesh"]


class Mesh(Card):
    """A volume mesh of tetrahedra (4 or 10 nodes) or hexahedra (8 or 20 nodes).

    Meshes are valid and immutable: the arrays are read-only. The node order within an element is
    that of VTK (``VTK_TETRA``, ``VTK_HEXAHEDRON``, ``VTK_QUADRATIC_TETRA``: corners, then the
    middles of the edges 01 12 02 03 13 23, ``VTK_QUADRATIC_HEXAHEDRON``: 01 12 23 30 45 56 67 74
    04 15 26 37). Hexahedra of eight nodes are checked at their corners and Gauss points; a strongly
    distorted one may still be inverted in between. Second-order elements, whose edges may be
    curved, are checked everywhere, by the Bernstein coefficients of the Jacobian.

    Parameters
    ----------
    nodes
        Rest positions [m], shape (n, 3).
    elements
        0-based node indices, shape (e, 4) or (e, 10) for tetrahedra, (e, 8) or (e, 20)
        for hexahedra.
    regions
        Region of each element, for example to assign materials, integers of shape (e,);
        None: all 0.
    drop_unreferenced
        True: remove nodes that belong to no element; the others keep their order, and
        `original_nodes` contains their original indices. False: refuse such nodes.

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
        "_weak",
    )

    _core: _CoreMesh
    _original_nodes: NDArray[np.int32]
    _boundary: tuple[NDArray[np.int32], NDArray[np.int32]] | None
    _region_names: dict[int, str]
    _materials: dict[int, ElasticData]
    _source: Surface | None
    _fit: tuple[float, float | None] | None
    _weak: tuple[NDArray[np.integer], NDArray[np.float64]] | None

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
            nodes, elements, original = referenced(nodes, elements)
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
        """Set the fields; every constructor calls this."""
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
        self._weak = None
        return self

    def _rule(self) -> Rule | None:
        """Return the quadrature of cut elements; None for a mesh without cut elements."""
        return _core.mesh_rule(self._core)

    def _cut_as(self, rule: Rule | None) -> None:
        """Set the quadrature of cut elements during construction."""
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
        """Index of each node in the nodes from which the mesh was made, read-only, shape (n,).

        -1 for mid-edge nodes that `quadratic` added.
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
        """Nodes per element: 4 or 10 for tetrahedra, 8 or 20 for hexahedra."""
        return int(self._core.elements.shape[1])

    @property
    def region_names(self) -> dict[int, str]:
        """Names of regions from the file, by region."""
        return dict(self._region_names)

    @property
    def source(self) -> Surface | None:
        """Surface from which the mesh was made, or None."""
        return self._source

    @property
    def materials(self) -> dict[int, StVK]:
        """Materials from the file, by region, in the form that `Solid` accepts.

        Only ``.veg`` files contain materials. Regions with a material other than ``ENU``
        (isotropic, by Young's modulus and Poisson's ratio) are omitted.

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
        """Filled fraction of each element, shape (e,): below 1 for cut cells (`voxelize`)."""
        return filled_fractions(self._rule(), self.n_elements)

    @property
    def element_volumes(self) -> NDArray[np.float64]:
        """Volume of each element, for cut cells that of the filled part [m^3], shape (e,)."""
        return self._core.volumes()

    @property
    def volume(self) -> float:
        """Volume of the mesh, for cut cells that of the filled part [m^3]."""
        return float(self._core.volumes().sum())

    @property
    def boundary_faces(self) -> NDArray[np.int32]:
        """Faces that belong to one element only, read-only, shape (f, 3), (f, 4), (f, 6) or (f, 8).

        Corners are counter-clockwise seen from outside. For second-order elements the mid-edge
        nodes of the edges 01 12 20 (``VTK_QUADRATIC_TRIANGLE``) or 01 12 23 30
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

        Quadrilaterals are split into two triangles, faces of ten-node tetrahedra into four, faces
        of 20-node hexahedra into six. The vertices are ``mesh.nodes[mesh.boundary_nodes]``, so
        ``u[mesh.boundary_nodes]`` is a field ``u`` of the mesh on the vertices of the surface.

        Returns
        -------
        Surface
            Triangles are counter-clockwise seen from outside.
        """
        kept, place = np.unique(self._faces()[0], return_inverse=True)
        # the shape of `place` depends on the NumPy release
        per_face = self._faces()[0].shape[1]
        place = place.reshape(-1, per_face)[:, TRIANGLES[per_face]]
        return Surface(self.nodes[kept], place.reshape(-1, 3))

    def components(self, by: Literal["node", "face"] = "node") -> NDArray[np.int32]:
        """Return the number of the connected part to which each element belongs.

        Parameters
        ----------
        by
            ``"node"``: elements that share a node are connected. ``"face"``: only elements that
            share a whole face are connected. Parts that touch along an edge or at a node are one
            part by node, but the hinge between them has no stiffness; the mesh has such hinges if
            it has more parts by face than by node.

        Returns
        -------
        (e,) int32 array
            Part of each element; parts are numbered from 0 in the order of their first elements.

        Raises
        ------
        InputError
            `by` is neither ``"node"`` nor ``"face"``.
        """
        return self._components(by)[1]

    def n_components(self, by: Literal["node", "face"] = "node") -> int:
        """Return the number of connected parts.

        Parameters
        ----------
        by
            Kind of connection, ``"node"`` or ``"face"``; see `components`.

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
        """Return a mesh of selected elements.

        Parameters
        ----------
        elements
            Mask of shape (e,), or element indices in any order without repetition.

        Returns
        -------
        Mesh
            Mesh whose nodes keep their order; its `original_nodes` are node indices of this mesh.

        Raises
        ------
        MeshError
            The selection is empty.
        InputError, InputTypeError
            A mask has another length, or an index is out of range or repeated.
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
            raise MeshError("elements selects nothing: a mesh needs one element at least")
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
        part._cut_as(rule_of(self._rule(), chosen))
        part._region_names, part._materials = dict(self._region_names), dict(self._materials)
        return part

    def largest_component(self, by: Literal["node", "face"] = "node") -> Mesh:
        """Return the connected part with the most elements; the first one in case of a tie.

        Parameters
        ----------
        by
            Kind of connection, ``"node"`` or ``"face"``; see `components`.

        Returns
        -------
        Mesh
            Mesh whose `original_nodes` are node indices of this mesh; this mesh itself if it has a
            single part.

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
        """Return this mesh with other regions; cut cells are kept.

        Parameters
        ----------
        regions
            Region of each element, integers of shape (e,).

        Returns
        -------
        Mesh
            Mesh without the names and materials of the old regions.

        Raises
        ------
        InputError, InputTypeError
            `regions` has another shape or values that are not integers.
        """
        chosen = as_array(regions, "regions", "integers")
        core = _core.Mesh(self.nodes, self.elements, chosen)
        mesh = Mesh.__new__(Mesh)._adopt(core, self._original_nodes, source=self._source)
        mesh._cut_as(self._rule())
        return mesh

    def quadratic(self) -> Mesh:
        """Return this mesh with second-order elements.

        A node is added in the middle of every edge: four-node tetrahedra get ten nodes,
        eight-node hexahedra 20. Second-order elements need far fewer nodes for the same accuracy
        in bending and for nearly incompressible materials, because they do not lock
        (``experiments/bending_convergence.py``).

        Returns
        -------
        Mesh
            The nodes of this mesh keep their indices; mid-edge nodes follow in the order of
            their ends, with -1 in `original_nodes`. `with_mid_edge_nodes` extends lists of nodes,
            such as fixed nodes. Regions and materials are kept.

        Raises
        ------
        InputError
            The elements already have mid-edge nodes, or are cut: ``voxelize(order=2)`` creates
            cut cells of second order.
        MeshError
            Elements are so small and so far from the origin that mid-edge nodes are displaced by
            rounding, or a hexahedron is inverted between the points at which eight-node hexahedra
            are checked.

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
        """Return nodes together with the mid-edge nodes of edges between two of them.

        Use it to extend a selection of corners, for example one made before `quadratic`, to whole
        edges and faces that are fixed or loaded.

        Parameters
        ----------
        nodes
            Node indices in any order, or a mask of shape (n,).

        Returns
        -------
        (m,) int32 array
            Node indices, ascending; for first-order elements the given nodes.

        Raises
        ------
        InputError, InputTypeError
            A mask has another length, or an index is out of range.
        """
        chosen = np.zeros(self.n_nodes, dtype=bool)
        chosen[node_indices(nodes, "nodes", self.n_nodes)] = True
        edges = EDGES.get(self.nodes_per_element)
        if edges is not None:
            ends = chosen[self.elements[:, edges]].all(axis=2)
            chosen[self.elements[:, -len(edges) :][ends]] = True
        return np.flatnonzero(chosen).astype(np.int32)

    def write(
        self,
        path: str | os.PathLike[str],
        point_data: Fields | None = None,
        cell_data: Fields | None = None,
    ) -> None:
        """Write the mesh to a ``.veg`` file, or to a format of meshio (``.vtu``, ``.msh``, ...).

        Regions are written if the format supports them. An existing file is replaced only when
        the new one is complete. TetGen meshes consist of two files (``.ele`` and ``.node``);
        `read_mesh` refuses a pair from two different saves. No format stores the quadrature of cut
        cells: these are written as whole cells, with `fractions` as cell data in ``.vtu``,
        ``.vtk`` and ``.xdmf`` files. `pickle` stores everything.

        Parameters
        ----------
        path
            Name of the file; its suffix selects the format.
        point_data
            Fields of the nodes by name, shape (n,) or (n, k), such as ``{"u": displacements}``,
            for ``.vtu``, ``.vtk`` and ``.xdmf`` files. None: no fields.
        cell_data
            Fields of the elements by name, shape (e,) or (e, k), likewise.

        Raises
        ------
        FileFormatError
            The format is unknown or does not support the mesh or the fields, or the file cannot be
            written.
        InputError, InputTypeError
            A field has a wrong shape or dtype, a value that is not finite, or a name that is taken.

        Warns
        -----
        GeometryWarning
            The mesh has cut cells.
        """
        data = self._data()
        data.point_data = checked_fields(point_data, "point_data", (self.n_nodes,), ())
        own = ("region", "fraction")
        data.cell_data = checked_fields(cell_data, "cell_data", (self.n_elements,), own)
        with replacing(path) as temporary:
            write_volume(temporary, data, as_path(path).suffix.lower())
        if data.fractions is not None:
            warnings.warn(
                f"{str(path)!r} has whole cells where this mesh has cut ones: no file of volume "
                "elements holds their quadrature; keep the mesh by pickle, or voxelize again",
                GeometryWarning,
                stacklevel=2,
            )

    def _data(self) -> VolumeData:
        """Return the contents of a file of the mesh."""
        return VolumeData(
            self.nodes,
            self.elements.astype(np.int64),
            self.regions.astype(np.int64),
            self._region_names,
            self._materials,
            None if self._rule() is None else self.fractions,
        )

    def _card(self) -> CardContents:
        boundary, regions = self.surface(), np.unique(self.regions)
        rows = [
            ("nodes", f"{self.n_nodes}"),
            ("elements", f"{self.n_elements} {NAMES[self.nodes_per_element]}"),
            ("size", extent_text(self.bounds)),
            ("volume", f"{self.volume:.4g} m³"),
            ("regions", f"{len(regions)}"),
        ]
        picture = (boundary.vertices, boundary.triangles, (0.55, 0.75, 0.85))
        return CardContents("Mesh", rows, picture)

    def __repr__(self) -> str:
        name = NAMES[self.nodes_per_element]
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
    rule: Rule | None = None,
) -> Mesh:
    """Recreate a pickled mesh."""
    core = _core.Mesh(nodes, elements, regions)
    mesh = Mesh.__new__(Mesh)._adopt(core, original_nodes, region_names, materials, source)
    mesh._cut_as(rule)
    return mesh
