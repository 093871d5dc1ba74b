"""Points that move with a volume mesh."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._core import Embedding as _CoreEmbedding
from reducedfem.base.check import array_like, field, fields
from reducedfem.base.quiet import warn
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import GeometryWarning, InputTypeError
from reducedfem.geometry.mesh import Mesh

__all__ = ["Embedding", "beside_mesh"]

# distance from the mesh, relative to its size, above which points are taken for misplaced
_BESIDE = 0.05
# a point set with at least this many points is expected to be of the size of the mesh
_MANY = 100
_SMALLER = 500.0


class _HasVectors(Protocol):
    @property
    def vectors(self) -> NDArray[np.float64]: ...


class Embedding:
    """Points that move with a volume mesh, such as the vertices of a fine surface.

    Each point is a weighted sum of the nodes of one element. A field at the nodes gives a field at
    the points, and forces at the points give forces at the nodes that do the same work. Inside the
    mesh the weights are the shape functions of the element.

    A point outside belongs to the element of the nearest boundary face. Its weights are the
    barycentric coordinates of a four-node tetrahedron, or the first-order extrapolation from the
    nearest point of another element. For the search, curved faces of second-order elements are
    replaced by four or six flat triangles, so a neighbour of the nearest element may be selected
    if the curvature is strong; `distance` refers to these triangles. Weights sum to 1 and
    reproduce linear fields exactly, so rigid motion stays rigid. Far outside (by many elements)
    deformations are magnified in proportion to the distance.

    Parameters
    ----------
    mesh
        Mesh that moves the points.
    points
        Rest positions [m], shape (v, 3).
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        `points` has a wrong shape, is empty, or has a value that is not finite or whose square
        overflows; `mesh` is not a Mesh.
    """

    __slots__ = ("__weakref__", "_core", "_mesh", "_points")

    _core: _CoreEmbedding

    def __init__(self, mesh: Mesh, points: ArrayLike, *, progress: Progress = None) -> None:
        if not isinstance(mesh, Mesh):
            raise InputTypeError(f"mesh must be a Mesh, got {type(mesh).__name__}")
        with callback(progress, "embed") as call:
            self._core = _core.Embedding(mesh._core, array_like(points, "points"), call, threads())
        self._mesh = mesh
        self._points = np.array(points, dtype=np.float64, order="C")
        self._points.flags.writeable = False

    @property
    def mesh(self) -> Mesh:
        """Mesh that moves the points."""
        return self._mesh

    @property
    def points(self) -> NDArray[np.float64]:
        """Rest positions of the points [m], read-only, shape (v, 3)."""
        return self._points

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self._core.elements)

    @property
    def elements(self) -> NDArray[np.int32]:
        """Element of each point, read-only, shape (v,)."""
        return self._core.elements

    @property
    def nodes(self) -> NDArray[np.int32]:
        """Nodes of the element of each point, read-only, shape (v, nodes per element)."""
        return self._core.nodes

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of these nodes, read-only, shape (v, nodes per element)."""
        return self._core.weights

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance of each point to the mesh [m], 0 inside, read-only, shape (v,)."""
        return self._core.distance

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Mask of the points outside all elements, shape (v,)."""
        mask: NDArray[np.bool_] = self._core.distance > 0
        return mask

    def interpolate(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return the values at the points of a field at the nodes.

        Parameters
        ----------
        u
            Field at the nodes, such as displacements or velocities, shape (n, 3) or (3n,), in any
            unit.

        Returns
        -------
        (v, 3) array
            Field at the points, in the same unit.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape or a value that is not finite.
        """
        return self._core.interpolate(array_like(u, "u"), threads())

    def distribute(self, f: ArrayLike) -> NDArray[np.float64]:
        """Return the forces at the nodes that do the same work as forces at the points.

        This is the transpose of `interpolate`.

        Parameters
        ----------
        f
            Forces at the points [N], shape (v, 3) or (3v,).

        Returns
        -------
        (n, 3) array
            Forces at the nodes [N].

        Raises
        ------
        InputError, InputTypeError
            `f` has a wrong shape or a value that is not finite.

        Warns
        -----
        GeometryWarning
            A force acts at a point whose distance from the mesh exceeds the size of its element,
            so the nodal forces are magnified.
        """
        self._warn_of_levers(field(f, "f", self.n_points))
        return self._core.distribute(array_like(f, "f"))

    def _warn_of_levers(self, forces: NDArray[np.float64]) -> None:
        nodes = self._mesh.nodes
        loaded = np.flatnonzero(forces.any(axis=1) & self.outside)
        size = np.linalg.norm(np.ptp(nodes[self.nodes[loaded]], axis=1), axis=1)
        far = loaded[self.distance[loaded] > size]
        if not len(far):
            return
        k = int(far[np.argmax(self.distance[far])])
        warn(
            f"f[{k}] acts {self.distance[k]:.3g} m outside of the mesh, which reaches "
            f"{_reach(nodes)}: a force there loads the body by a lever of that length",
            GeometryWarning,
            stacklevel=3,
        )

    def transfer(self, basis: _HasVectors | ArrayLike) -> NDArray[np.float64]:
        """Return the vectors of a basis at the points.

        Parameters
        ----------
        basis
            A `Basis`, or an array of shape (r, n, 3).

        Returns
        -------
        (r, v, 3) array
            Basis vectors at the points, in the unit of `basis`.

        Raises
        ------
        InputError, InputTypeError
            `basis` has a wrong shape or a value that is not finite.
        """
        vectors: Any = getattr(basis, "vectors", basis)
        return self._core.transfer(fields(vectors, "basis", self._mesh.n_nodes), threads())

    def __repr__(self) -> str:
        return (
            f"<Embedding: {self.n_points} points ({int(self.outside.sum())} outside) in "
            f"{self._mesh!r}>"
        )

    def __reduce__(self) -> tuple[type[Embedding], tuple[Any, ...]]:
        return Embedding, (self._mesh, self._points)


def beside_mesh(embedding: Embedding, whole: str, points: str) -> str:
    """Return a text about points that do not match their mesh; empty if they do.

    `whole` names the object of the points, `points` their array.
    """
    nodes, x, distance = embedding.mesh.nodes, embedding.points, embedding.distance
    side, extent = np.linalg.norm(np.ptp(nodes, axis=0)), np.linalg.norm(np.ptp(x, axis=0))
    where = (
        f"The {whole} reaches {_reach(x)}, the mesh {_reach(nodes)}: check that both are in "
        "metres and in the same place"
    )
    suspects = np.flatnonzero(distance > _BESIDE * side)
    size = np.linalg.norm(np.ptp(nodes[embedding.nodes[suspects]], axis=1), axis=1)
    far = distance[suspects] > size
    if not far.any():
        if len(x) < _MANY or _SMALLER * extent > side:
            return ""
        return f"the {whole} is {extent:.3g} m large, the mesh of the solid {side:.3g} m. {where}"
    suspects, size = suspects[far], size[far]
    k = int(np.argmax(distance[suspects]))
    return (
        f"{len(suspects)} of {len(x)} {points} of the {whole} lie farther outside of the mesh of "
        f"the solid than its elements are large: {points}[{suspects[k]}] by "
        f"{distance[suspects[k]]:.3g} m, the element next to it is {size[k]:.3g} m large. {where}"
    )


def _reach(points: NDArray[np.float64]) -> str:
    low, high = (", ".join(f"{x:.3g}" for x in corner) for corner in (points.min(0), points.max(0)))
    return f"from ({low}) to ({high})"
