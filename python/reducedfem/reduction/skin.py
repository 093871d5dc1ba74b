"""Surfaces that move with a reduced model: rendering, picking, forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, as_array, finite_result, reals, require
from reducedfem.base.quiet import warn
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import GeometryWarning, InputError, InputTypeError
from reducedfem.geometry.embedding import Embedding, beside_mesh
from reducedfem.geometry.surface import Surface
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["Pick", "Skin"]


@dataclass(frozen=True, eq=False)
class Pick:
    """A point on a surface, returned by `Skin.pick`.

    Attributes
    ----------
    triangle
        Index of the triangle.
    vertices
        Indices of its vertices, int32, shape (3,).
    weights
        Barycentric coordinates of the point, shape (3,).
    point
        Position of the point in the deformed state [m], shape (3,).
    distance
        Distance from the origin of the ray [m].
    """

    triangle: int
    vertices: NDArray[np.int32]
    weights: NDArray[np.float64]
    point: NDArray[np.float64]
    distance: float


class Skin:
    """A triangle surface, with normals, that moves with a reduced model.

    Vertex X moves to X + U_X q, where the rows U_X of the basis are interpolated at X. Its normal
    N turns to the direction of N + T_X q, T_X q = (sum_j q_j grad U_j(X)) N: the normal
    pushed forward by the deformation gradient, exact for rotations and accurate for rotation
    with small strain (Barbic 2007, sections 2.12.1 and 3.6.2). The cost is proportional to r for
    each requested vertex (section 2.12.2).

    Parameters
    ----------
    reduced
        The reduced model.
    surface
        Surface at rest, inside the mesh or near it. None: the surface from which the mesh was
        made (`Mesh.source`).
    normals
        Unit normals of the vertices at rest, shape (v, 3); None: `Surface.normals`.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        `normals` has a wrong shape or is not of unit length; no surface was given and the mesh
        was not made from one.

    Warns
    -----
    GeometryWarning
        The surface lies beside the mesh or differs in size, so it probably belongs to another
        body.
    """

    __slots__ = ("__weakref__", "_core", "_embedding", "_normals", "_reduced", "_surface")

    def __init__(
        self,
        reduced: ReducedSolid,
        surface: Surface | None = None,
        normals: ArrayLike | None = None,
        *,
        progress: Progress = None,
    ) -> None:
        require(reduced, ReducedSolid, "reduced")
        if surface is None:
            surface = reduced.mesh.source
            if surface is None:
                raise InputError(
                    "surface must be given: the mesh of the model was not made from one; "
                    "pass reduced.mesh.surface(), its boundary"
                )
        require(surface, Surface, "surface")
        given: ArrayLike = surface.normals if normals is None else normals
        array_like(given, "normals")
        self._reduced, self._surface = reduced, surface
        self._embedding = Embedding(reduced.mesh, surface.vertices)
        beside = beside_mesh(self._embedding, "surface", "vertices")
        if beside:
            warn(beside, GeometryWarning, stacklevel=2)
        with callback(progress, "skin") as tell:
            self._core = _core.Skin(
                reduced._core,
                reduced.mesh._core,
                self._embedding._core,
                surface.vertices,
                given,
                tell,
                threads(),
            )
        self._normals = np.array(given, dtype=np.float64)
        self._normals.flags.writeable = False

    @property
    def reduced(self) -> ReducedSolid:
        """The reduced model."""
        return self._reduced

    @property
    def surface(self) -> Surface:
        """The surface at rest."""
        return self._surface

    @property
    def embedding(self) -> Embedding:
        """Embedding of the vertices in the mesh."""
        return self._embedding

    @property
    def rest_normals(self) -> NDArray[np.float64]:
        """Unit normals at rest, read-only, shape (v, 3)."""
        return self._normals

    @property
    def motion(self) -> NDArray[np.float64]:
        """Basis U at the vertices [kg^-1/2], read-only, shape (v, 3, r)."""
        return self._core.motion

    @property
    def tilt(self) -> NDArray[np.float64]:
        """Normal corrections T at the vertices [kg^-1/2 m^-1], read-only, shape (v, 3, r)."""
        tilt = self._core.tilt
        assert tilt is not None
        return tilt

    def positions(self, q: ArrayLike, vertices: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return positions of the surface at q.

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).
        vertices
            Indices of the requested vertices, shape (k,); None: all.

        Returns
        -------
        (k, 3) array
            Positions [m].

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape, a value that is not finite or an index out of range, or
            `q` is so large that a position is not finite.
        """
        return self._evaluate(self._core.positions, "position", q, vertices)

    def normals(self, q: ArrayLike, vertices: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return unit normals of the surface at q.

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).
        vertices
            Indices of the requested vertices, shape (k,); None: all.

        Returns
        -------
        (k, 3) array
            Unit normals; zero for vertices without a normal at rest.

        Raises
        ------
        InputError, InputTypeError
            As for `positions`.
        """
        return self._evaluate(self._core.normals, "normal", q, vertices)

    def _evaluate(
        self, method: object, what: str, q: ArrayLike, vertices: ArrayLike | None
    ) -> NDArray[np.float64]:
        wanted = None if vertices is None else array_like(vertices, "vertices")
        result: NDArray[np.float64] = method(array_like(q, "q"), wanted, threads())  # type: ignore[operator]
        return finite_result(result, what, "q")

    def pick(
        self, origin: ArrayLike, direction: ArrayLike, q: ArrayLike | None = None
    ) -> Pick | None:
        """Return the first intersection of a ray with the surface, from either side.

        Parameters
        ----------
        origin
            Origin of the ray [m], shape (3,).
        direction
            Direction of the ray, of any length except zero, shape (3,).
        q
            Reduced coordinates of the deformed state, shape (r,); None: at rest.

        Returns
        -------
        Pick or None
            None if the ray misses the surface.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape or a value that is not finite, or `direction` is zero.
        """
        along = reals(direction, "direction")
        if along.shape != (3,):
            raise InputError(f"direction must have shape (3,), got {along.shape}")
        largest = np.abs(along).max()
        if not largest > 0:
            raise InputError("direction must not be zero")
        along = along / largest  # squares cannot overflow
        length = float(np.linalg.norm(along))
        places = self._surface.vertices if q is None else self.positions(q)
        triangle, distance, *weights = _core.surface_cast(
            places, self._surface.triangles, array_like(origin, "origin"), along / length
        )
        if triangle < 0:
            return None
        corners = self._surface.triangles[triangle]
        share = np.array(weights)
        return Pick(triangle, corners, share, share @ places[corners], distance)

    def project(self, where: Pick | ArrayLike, force: ArrayLike) -> NDArray[np.float64]:
        """Return forces on the surface as a reduced force, U^T f.

        Parameters
        ----------
        where
            A `Pick`, or indices of vertices, shape (k,).
        force
            Force [N] at the pick, shape (3,), or one force per vertex, (k, 3).

        Returns
        -------
        (r,) array
            Reduced force [N kg^-1/2], for example for `ImplicitNewmark.step`.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape, a value that is not finite or an index out of range.
        """
        given = array_like(force, "force")
        if where is None:
            raise InputTypeError(
                "where must be a Pick or indices of vertices, got None: the ray of a pick that "
                "returned None met no triangle"
            )
        if isinstance(where, Pick):
            vector = reals(given, "force")
            if vector.shape != (3,):
                raise InputError(f"force must have shape (3,) at a pick, got {vector.shape}")
            return self._core.project(where.vertices, np.outer(where.weights, vector))
        vertices, forces = as_array(where, "where", "integers"), as_array(given, "force")
        integers = vertices.dtype.kind in "iu"
        if integers and vertices.ndim == 0:
            raise InputError(
                f"where must be a Pick or a list of vertices, got the number {vertices}: pass "
                f"[{vertices}], and force with shape (1, 3)"
            )
        if integers and vertices.ndim == 1 and forces.shape == (3,):
            raise InputError(
                f"force must have shape ({len(vertices)}, 3), one force [N] for each vertex of "
                "where, got (3,): pass np.tile(force, (len(where), 1)) for the same at each"
            )
        return self._core.project(vertices, forces)

    def __reduce__(self) -> tuple[type[Skin], tuple[Any, ...]]:
        return Skin, (self._reduced, self._surface, self._normals)

    def __repr__(self) -> str:
        outside = int(self._embedding.outside.sum())
        return f"<Skin: {self._surface!r} ({outside} outside) on {self._reduced!r}>"
