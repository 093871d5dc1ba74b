"""Points of a solid that touch obstacles behind a barrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import node_indices
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.built import ON_SURFACE
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.refine import refined
from reducedfem.geometry.surface import Surface

__all__ = ["Touching", "indices", "touching"]

_NEAR = 0.5  # of the shortest edge of a cell: vertices farther outside are of another body

# nodes; or vertices with the nodes and weights that move them, and positions
_Points = (
    NDArray[np.int32]
    | tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
)


@dataclass(frozen=True)
class Touching:
    """Points that touch, as the core takes them, their number with fixed ones, their surface."""

    points: _Points
    n_all: int
    surface: Surface | None


def touching(
    mesh: Mesh, fixed: NDArray[np.int32], chosen: NDArray[Any] | None, parts: bool
) -> Touching:
    """Return the points of a mesh that touch: nodes, or vertices of the surface of cut cells.

    chosen: argument `nodes`; None: all. parts: parts of the mesh touch each other.
    """
    nodes = None if chosen is None else _selected(mesh, fixed, chosen)
    if not (mesh.fractions < 1.0).any():
        all_of = mesh.boundary_nodes
        own = np.setdiff1d(all_of, fixed) if nodes is None else nodes
        return Touching(own.astype(np.int32), len(all_of), None)
    stand_out = "the mesh has cut cells, whose nodes stand out of the body"
    if parts:
        raise InputError(f"parts or self_contact is True, but {stand_out}: {ON_SURFACE}")
    if mesh.source is None:
        raise InputError(
            f"{stand_out}, and Mesh.source, their surface, which could touch, is not known: keep "
            f"the mesh that voxelize returned, or {ON_SURFACE}"
        )
    return _on_surface(mesh, mesh.source, fixed, nodes)


def _on_surface(
    mesh: Mesh, source: Surface, fixed: NDArray[np.int32], nodes: NDArray[np.int32] | None
) -> Touching:
    """Return the vertices of the surface that move with the mesh, those at one place once.

    nodes: only those whose nearest node is among them; None: all.
    """
    edge = float(np.ptp(mesh.nodes[mesh.elements[0]], axis=0).min())
    surface = refined(source, edge / (2 if mesh.nodes_per_element == 20 else 1), np.inf)
    used = np.unique(surface.triangles)
    used = used[np.unique(surface.vertices[used], axis=0, return_index=True)[1]]
    used.sort()
    points = Embedding(mesh, surface.vertices[used])
    near = points.distance < _NEAR * edge
    free = np.ones(mesh.n_nodes, bool)
    free[fixed] = False
    taken = near & (free[points.nodes] & (points.weights != 0.0)).any(axis=1)
    if nodes is not None:
        nearest = points.weights.argmax(axis=1)[:, None]
        taken &= np.isin(np.take_along_axis(points.nodes, nearest, axis=1)[:, 0], nodes)
        if not taken.any():
            raise InputError(
                "nodes selects no vertex of the surface: select nodes of cells at the surface, or "
                "leave it out for all vertices"
            )
    own = points.nodes[taken], points.weights[taken], points.points[taken]
    return Touching((used[taken].astype(np.int32), *own), int(near.sum()), surface)


def _selected(mesh: Mesh, fixed: NDArray[np.int32], nodes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the nodes that a mask or indices select, ascending; refuse fixed ones."""
    chosen = node_indices(nodes, "nodes", mesh.n_nodes).astype(np.int32)
    if not chosen.size:
        raise InputError("nodes selects no node: leave it out for all nodes of the boundary")
    held = np.intersect1d(chosen, fixed)
    if held.size:
        raise InputError(
            f"nodes has node {held[0]}, which is fixed: no force moves it, so leave it out"
        )
    return chosen


def indices(nodes: ArrayLike) -> NDArray[Any]:
    """Return the argument `nodes` as an array; refuse what is no mask and no list of nodes."""
    try:
        array = np.asarray(nodes)
    except (TypeError, ValueError):
        raise InputTypeError("nodes must be a mask (n,) or a list of node indices") from None
    if array.ndim == 1 and not array.size:
        raise InputError("nodes is empty: leave it out for all nodes of the boundary")
    if array.dtype.kind not in "biu":
        raise InputTypeError(
            f"nodes must be a mask (n,) or a list of node indices, got {type(nodes).__name__} of "
            f"dtype {array.dtype}"
        )
    if array.ndim != 1:
        raise InputError(
            f"nodes must be a mask (n,) or a list of node indices, got shape {array.shape}"
        )
    return array
