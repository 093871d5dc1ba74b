"""Volume meshes of tetrahedra or hexahedra: topology, measures, regions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence, Sized
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._core import Mesh as _CoreMesh
from reducedfem.base.check import (
    array_like,
    as_array,
    flag,
    node_indices,
    require,
)
from reducedfem.errors import GeometryWarning, InputError, MeshError
from reducedfem.geometry.constraints import (
    Constraints,
    Table,
    constrained,
    of_elements,
    renumbered,
    table_in,
)
from reducedfem.geometry.cut_cells import Rule, rule_of
from reducedfem.geometry.elements import EDGES, NAMES, chosen_elements, referenced, some_of
from reducedfem.geometry.grading import Grading
from reducedfem.geometry.mesh_arrays import MeshArrays
from reducedfem.geometry.surface import Surface, _with_hint
from reducedfem.io.atomic import as_path, replacing
from reducedfem.io.constraint_fields import NAMES as TIES
from reducedfem.io.mesh_fields import Fields, checked_fields
from reducedfem.io.volume_data import ElasticData, VolumeData
from reducedfem.io.volume_files import keeps_constraints, write_volume
from reducedfem.material.laws import StVK

__all__ = ["Mesh"]


class Mesh(MeshArrays):
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
    constraints
        Nodes that follow the weighted means of others, such as hanging nodes: `Constraints`, or
        (slaves, ptr, masters, weights) as described there. None: none.

    Raises
    ------
    MeshError
        The mesh is empty, has inverted or degenerate elements, an element that uses a
        node twice, nodes that belong to no element, edges of second-order elements with
        more than one mid-edge node, or constrained nodes that follow constrained ones, or rest
        elsewhere than at the mean of their masters. The message names the element or node.
    InputError, InputTypeError
        An array has a wrong shape or dtype, a value that is not finite, or an index out
        of range.
    """

    __slots__ = (
        "__weakref__",
        "_fit",
        "_materials",
        "_original_nodes",
        "_region_names",
        "_source",
        "_weak",
    )

    _original_nodes: NDArray[np.int32]
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
        constraints: Constraints | Sequence[ArrayLike] | None = None,
    ) -> None:
        original = None
        ties = table_in(constraints)
        array_like(nodes, "nodes")
        array_like(elements, "elements", "integers")
        array_like(regions, "regions", "integers")
        if flag(drop_unreferenced, "drop_unreferenced"):
            before = len(nodes) if isinstance(nodes, Sized) else 0
            nodes, elements, original = referenced(nodes, elements)
            if ties is not None and original is not None:
                ties = renumbered(ties, original, before)
        try:
            core = _core.Mesh(nodes, elements, regions)
        except InputError as error:
            if isinstance(error, MeshError) and "belong to no element" in str(error):
                raise MeshError(f"{error} (drop_unreferenced=True does that)") from None
            raise _with_hint(error, nodes, elements, "elements") from None
        self._adopt(constrained(core, ties), original)

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

    def _cut_as(self, rule: Rule | None) -> None:
        """Set the quadrature of cut elements during construction."""
        if rule is not None and rule[0].any():
            self._core = _core.mesh_with_rule(self._core, *rule)

    @property
    def original_nodes(self) -> NDArray[np.int32]:
        """Index of each node in the nodes from which the mesh was made, read-only, shape (n,).

        -1 for mid-edge nodes that `quadratic` added.
        """
        return self._original_nodes

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
            The selection is empty, or has only some of the smaller elements on a face of a larger
            one.
        InputError, InputTypeError
            A mask has another length, or an index is out of range or repeated.

        Warns
        -----
        GeometryWarning
            Constrained nodes lose masters outside of the selection, and with them their constraint.
        """
        chosen = chosen_elements(elements, self.n_elements)
        part = Mesh(self.nodes, self.elements[chosen], self.regions[chosen], drop_unreferenced=True)
        ties, lost = of_elements(
            _core.mesh_constraints(self._core), part.elements, part._original_nodes, self.elements
        )
        part._core = constrained(part._core, ties)
        part._cut_as(rule_of(self._rule(), chosen))
        if len(lost):
            warnings.warn(
                "nodes of the selection follow nodes that are not in it, and are independent "
                f"there: {some_of(lost)}. Select elements with their masters too, or "
                "constrain them anew (Mesh.with_constraints)",
                GeometryWarning,
                stacklevel=2,
            )
        partly = _core.mesh_partly_covered(part._core)
        if partly >= 0:
            raise MeshError(
                f"element {chosen[partly]} is larger than its neighbours, and the selection has "
                "some of those on a face of it: select all or none of them, or cut before grading"
            )
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
        core = constrained(
            _core.Mesh(self.nodes, self.elements, chosen), _core.mesh_constraints(self._core)
        )
        mesh = Mesh.__new__(Mesh)._adopt(core, self._original_nodes, source=self._source)
        mesh._cut_as(self._rule())
        return mesh

    @property
    def hanging_nodes(self) -> NDArray[np.int32]:
        """Hanging nodes without constraints, ascending, shape (k,); `with_constraints` mends them.

        They lie on an edge or a face of an element that does not have them, where elements meet
        others of another size, and faces of the surface join them to a corner of it. Elements come
        apart there, and statics of a `Solid` are wrong by any amount.
        """
        return _core.hanging_nodes(self._core)

    def with_constraints(
        self, constraints: Constraints | Sequence[ArrayLike] | None = None
    ) -> Mesh:
        """Return this mesh with constrained nodes, by default those that hang.

        Parameters
        ----------
        constraints
            Table in place of the one of this mesh, see `Mesh`. None: `hanging_nodes` follow the
            ends of their edge or the corners of their face by the shape functions, and are moved
            there, by rounding; constraints that the mesh has stay.

        Returns
        -------
        Mesh
            This mesh itself if nothing is to be constrained.

        Raises
        ------
        MeshError
            The elements are of second order, or the table does not fit the mesh.
        InputError, InputTypeError
            An array has a wrong shape or dtype, or an index is out of range.

        Examples
        --------
        >>> import reducedfem as rf
        >>> nodes = [[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2], [1, 0, 0], [0, -2, 0]]
        >>> mesh = rf.Mesh(nodes, [[0, 1, 2, 3], [0, 5, 4, 3], [4, 5, 1, 3]])
        >>> mesh.hanging_nodes, mesh.with_constraints()
        (array([4], dtype=int32), <Mesh: 6 nodes, 3 tet4, 1 nodes constrained>)
        """
        if constraints is None:
            if len(self.hanging_nodes) == 0:
                return self
            core = _core.constrain_hanging(self._core)
        else:
            core = constrained(self._core, table_in(constraints))
        return Mesh.__new__(Mesh)._adopt(
            core, self._original_nodes, self._region_names, self._materials, self._source
        )

    def graded(self, grading: Grading = Grading()) -> Mesh:  # noqa: B008 (immutable)
        """Return this mesh of equal cubes with larger cells away from its surface.

        The mesh is conforming by constrained nodes, see `constraints`; its volume is the same. Cut
        cells stay as they are, with a layer of whole cubes of their size beneath them.
        ``docs/howto/graded_meshes.md`` says when this pays.

        Parameters
        ----------
        grading
            Numbers of layers and levels.

        Returns
        -------
        Mesh
            Cells in the order of the cubes at their lowest corners; its `original_nodes` are node
            indices of this mesh. Cells of different regions stay apart.

        Raises
        ------
        MeshError
            An element is not one of equal cubes parallel to the axes.
        InputTypeError
            `grading` is not a `Grading`.
        """
        require(grading, Grading, "grading")
        core, original = _core.grade(self._core, grading.layers, grading.level, None)
        return Mesh.__new__(Mesh)._adopt(
            core, original, self._region_names, self._materials, self._source
        )

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
            The elements already have mid-edge nodes, are cut (``voxelize(order=2)`` creates cut
            cells of second order), or have constrained nodes.
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
        ``.vtk`` and ``.xdmf`` files. ``.vtu`` and ``.vtk`` files keep `constraints` of up to 64
        masters a node, which `read_mesh` restores. `pickle` stores everything.

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
            The mesh has cut cells, or constrained nodes that the format does not keep.
        """
        data = self._data()
        data.point_data = checked_fields(point_data, "point_data", (self.n_nodes,), TIES)
        own = ("region", "fraction", *TIES)
        suffix = as_path(path).suffix.lower()
        data.cell_data = checked_fields(cell_data, "cell_data", (self.n_elements,), own)
        with replacing(path) as temporary:
            write_volume(temporary, data, suffix)
        if data.fractions is not None:
            warnings.warn(
                f"{str(path)!r} has whole cells where this mesh has cut ones: no file of volume "
                "elements holds their quadrature; keep the mesh by pickle, or voxelize again",
                GeometryWarning,
                stacklevel=2,
            )
        if self.constraints is not None and not keeps_constraints(data, suffix):
            warnings.warn(
                f"{str(path)!r} lacks the constraints of {len(self.constraints)} nodes, without "
                "which cells come apart: keep the mesh by pickle, or take with_constraints() of "
                "the mesh that is read, which finds hanging nodes again",
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
            _core.mesh_constraints(self._core),
        )

    def __repr__(self) -> str:
        name = NAMES[self.nodes_per_element]
        rule = self._rule()
        cut = "" if rule is None else f", {np.count_nonzero(rule[0])} cut"
        ties = "" if self.constraints is None else f", {len(self.constraints)} nodes constrained"
        return f"<Mesh: {self.n_nodes} nodes, {self.n_elements} {name}{cut}{ties}>"

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
            _core.mesh_constraints(self._core),
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
    ties: Table | None = None,
) -> Mesh:
    """Recreate a pickled mesh."""
    core = constrained(_core.Mesh(nodes, elements, regions), ties)
    mesh = Mesh.__new__(Mesh)._adopt(core, original_nodes, region_names, materials, source)
    mesh._cut_as(rule)
    return mesh
