"""Arrays, measures and boundary of volume meshes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem._core import Mesh as _CoreMesh
from reducedfem.base.check import choice
from reducedfem.drawing.card import Card, CardContents, extent_text
from reducedfem.geometry.constraints import Constraints
from reducedfem.geometry.cut_cells import Rule, filled_fractions
from reducedfem.geometry.elements import NAMES, TRIANGLES
from reducedfem.geometry.surface import Surface

__all__ = ["MeshArrays"]


class MeshArrays(Card):
    """The part of a `Mesh` that only reads it."""

    __slots__ = ("_boundary", "_core")

    _core: _CoreMesh
    _boundary: tuple[NDArray[np.int32], NDArray[np.int32]] | None

    def _rule(self) -> Rule | None:
        """Return the quadrature of cut elements; None for a mesh without cut elements."""
        return _core.mesh_rule(self._core)

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
    def constraints(self) -> Constraints | None:
        """Nodes that follow others, as in graded meshes; None if all are independent."""
        return None if _core.mesh_constraints(self._core) is None else Constraints(self._core)

    @property
    def constrained_nodes(self) -> NDArray[np.int32]:
        """Nodes that follow others (`constraints`), ascending, read-only, (k,); in most none."""
        table = _core.mesh_constraints(self._core)
        nodes = np.zeros(0, np.int32) if table is None else table[0]
        nodes.flags.writeable = False
        return nodes

    @property
    def levels(self) -> NDArray[np.int32]:
        """Level of each element of a graded mesh, 0 the smallest, (e,); all 0 for other meshes."""
        return _core.mesh_levels(self._core)

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
            ``"node"``: elements are connected if they share a node, or if a node of one follows
            nodes of the other. ``"face"``: only elements that share a whole face, or that
            of a smaller element on a larger one, are connected. Parts that touch along an edge or
            at a node are one part by node, but the hinge between them has no stiffness; the mesh
            has such hinges if it has more parts by face than by node.

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
