"""Signed distances to deformable objects, from their distance fields at rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import (
    array_like,
    as_array,
    count,
    integer,
    number,
    places,
    reals,
    require,
)
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.field import DistanceField, Field
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import GeometryWarning, InputError, InputTypeError
from reducedfem.geometry.embedding import Embedding, beside_mesh
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["DeformedField"]

_Points = Pointshell | ArrayLike
_Domains = Sequence[tuple[Field, _Points]]

# RF_DEFORMED_MAX_PROXIES of csrc/deform/field.h
_MOST_PROXIES = 1000


class DeformedField:
    """Approximate signed distance to a reduced deformable object (Barbic 2007, section 3.12).

    Some tens of points of the object, the proxies, follow its deformation. Each of the k proxies
    nearest to a place pulls it back to the object at rest; the distance is the weighted mean of
    the distances at rest (3.16), continuous in place and q. It is accurate where deformations
    vary slowly from proxy to proxy and strain is small, and no bound in either direction. The box
    of the field at rest should have room for the places pulled back. See ``docs/contact.md``.

    Parameters
    ----------
    field
        Field of the object at rest, in the frame of the mesh of `reduced`. Automatic domains
        need a `DistanceField`.
    reduced
        Model of the deformation.
    proxies
        Number of proxies, 1 to 1000, to fit to the surface (`Pointshell.from_field`), or the
        proxies: a `Pointshell`, or points [m], shape (m, 3).
    k
        Number of proxies that pull back a place, 1 to 16, at most all of a domain. Below 4 the
        field is discontinuous.
    embedding
        Embedding of given proxies in the mesh; None: made here.
    rng
        Seed or generator for the fit.
    domains
        Overlapping parts of the object, each with its own field and proxies, whose distance is
        the smallest of theirs: avoids mirror images between parts that deform away from each
        other. None: one domain. A number of automatic domains. Labels, shape (m,), 0 to m - 1, of
        the proxies, or any integers of the elements or nodes of the mesh. Or a sequence of pairs
        (field, proxies), which replace `field` and `proxies`.
    overlap
        Extent of automatic domains beyond their parts, along the object [m], at least 0. None:
        enough for the deepest place, at most a tenth of the longest side.
    safety
        Factor, 1 or more: in contact a sphere counts as outside where the distance of its centre
        exceeds `safety` times its radius.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; the field has no inside; there are more
        domains than proxies.

    Warns
    -----
    GeometryWarning
        Proxies lie farther outside of the mesh than the nearest element is large, and than 5 % of
        the mesh: unit or position of the field or of the mesh is probably wrong.
    """

    __slots__ = (
        "__weakref__",
        "_core",
        "_domains",
        "_embedding",
        "_field",
        "_first",
        "_k",
        "_labels",
        "_overlap",
        "_points",
        "_reduced",
        "_safety",
    )

    def __init__(
        self,
        field: Field,
        reduced: ReducedSolid,
        proxies: int | _Points = 40,
        k: int = 5,
        embedding: Embedding | None = None,
        rng: int | np.random.Generator = 0,
        domains: int | ArrayLike | _Domains | None = None,
        *,
        overlap: float | None = None,
        safety: float = 1.5,
        progress: Progress = None,
    ) -> None:
        require(field, Field, "field")
        require(reduced, ReducedSolid, "reduced")
        self._field, self._reduced = field, reduced
        self._k, self._safety = integer(k, "k"), number(safety, "safety")
        self._labels: NDArray[np.int32] | None = None
        self._overlap: float | None = None
        given = _pairs(domains)
        if given is not None:
            parts = given
            if embedding is not None:
                raise InputError("embedding must be None if domains are pairs (field, proxies)")
            whole = np.concatenate([points for _, points in parts])
        else:
            whole = _proxies(field, proxies, rng)
            parts = [(field, whole)]
            if embedding is not None:
                _check_embedding(embedding, reduced, whole)
            if domains is not None:
                if np.ndim(domains) != 0:  # type: ignore[arg-type]
                    domains = _labels(domains, whole, embedding, reduced.mesh)
                parts = self._cut(field, whole, domains, overlap, progress)
        if overlap is not None and self._overlap is None:
            raise InputError("overlap needs automatic domains: leave it out")
        self._make(parts, embedding)
        beside = beside_mesh(self._embedding, "field", "proxies")
        if beside:
            warnings.warn(beside, GeometryWarning, stacklevel=2)

    def _make(
        self, parts: Sequence[tuple[Field, NDArray[np.float64]]], embedding: Embedding | None
    ) -> None:
        """Join the domains; an embedding of the proxies in another order is made again."""
        self._first = np.cumsum([0, *(len(points) for _, points in parts)]).astype(np.int32)
        self._points = np.concatenate([points for _, points in parts])
        self._points.flags.writeable = False
        self._domains = tuple(one for one, _ in parts)
        if embedding is None or not np.array_equal(self._points, embedding.points):
            embedding = Embedding(self._reduced.mesh, self._points)
        self._embedding = embedding
        self._core = _core.DeformedField(
            tuple(one._core for one in self._domains),
            self._first,
            self._reduced._core,
            self._reduced.mesh._core,
            embedding._core,
            self._points,
            self._k,
            self._safety,
            threads(),
        )

    def _cut(
        self,
        field: Field,
        points: NDArray[np.float64],
        domains: int | ArrayLike | _Domains,
        overlap: float | None,
        progress: Progress,
    ) -> list[tuple[Field, NDArray[np.float64]]]:
        """Return the fields and proxies of automatic domains."""
        if not isinstance(field, DistanceField):
            raise InputTypeError(
                f"automatic domains need a DistanceField, got {type(field).__name__}; make "
                "one with DistanceField.from_field(field), or give a sequence of (field, proxies)"
            )
        labels: NDArray[np.int32] | None = None
        if np.ndim(domains) == 0:  # type: ignore[arg-type]
            n = count(domains, "domains")
        else:
            labels = np.asarray(domains, dtype=np.int32)
            n = int(labels.max()) + 1
        grown = -1.0
        if overlap is not None:
            grown = number(overlap, "overlap")
            if not grown >= 0:
                raise InputError(f"overlap must not be negative, got {grown:g} m")
        with callback(progress, "domains") as tell:
            self._overlap, self._labels, parts = _core.field_domains(
                field._core, points, labels, n, grown, tell, threads()
            )
        self._labels.flags.writeable = False
        made: list[tuple[Field, NDArray[np.float64]]] = []
        for members, values, first in parts:
            origin = field.origin + np.array(first) * field.spacing
            made.append((DistanceField(values, origin, field.spacing), points[members]))
        return made

    @property
    def field(self) -> Field:
        """Field of the whole object at rest."""
        return self._field

    @property
    def reduced(self) -> ReducedSolid:
        """Model of the deformation."""
        return self._reduced

    @property
    def r(self) -> int:
        """Number of reduced coordinates."""
        return self._reduced.r

    @property
    def k(self) -> int:
        """Number of proxies that pull back a place."""
        return self._k

    @property
    def safety(self) -> float:
        """Factor on the radii of spheres in contact."""
        return self._safety

    @property
    def proxies(self) -> NDArray[np.float64]:
        """All proxies at rest [m], domain after domain, read-only, shape (m, 3)."""
        return self._points

    @property
    def domains(self) -> tuple[tuple[Field, NDArray[np.float64]], ...]:
        """Field at rest and proxies of each domain; one domain by default."""
        return tuple(
            (field, self._points[a:b])
            for field, a, b in zip(self._domains, self._first[:-1], self._first[1:], strict=True)
        )

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """Domain of each proxy before the overlap, read-only; None without automatic domains."""
        return self._labels

    @property
    def overlap(self) -> float | None:
        """Overlap of automatic domains [m]; None without them."""
        return self._overlap

    @property
    def embedding(self) -> Embedding:
        """Embedding of the proxies in the mesh."""
        return self._embedding

    def distance(self, points: ArrayLike, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the signed distance at points.

        Parameters
        ----------
        points
            Places in the frame of the mesh [m], shape (n, 3), or (3,) for one.
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (n,) array
            Signed distances [m], negative inside; for one point an array of shape ().

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, or `q` so large that results are not finite.
        """
        rows, shape = places(points, "points")
        return self._core.evaluate(self._coordinates(q), rows, False, threads())[0].reshape(shape)

    def gradient(self, points: ArrayLike, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the gradient of `distance` with respect to the place.

        It includes the change of the weights. Where the nearest proxies change, and at kinks of
        the field at rest, it is the gradient of one side; at a proxy the weights count as
        constant.

        Parameters
        ----------
        points
            Places in the frame of the mesh [m], shape (n, 3), or (3,) for one.
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (n, 3) or (3,) array
            Gradients.

        Raises
        ------
        InputError, InputTypeError
            As `distance`.
        """
        rows, shape = places(points, "points")
        slope = self._core.evaluate(self._coordinates(q), rows, True, threads())[1]
        assert slope is not None
        return slope.reshape(*shape, 3)

    def nearest(self, points: ArrayLike, q: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the proxies nearest to points, in the domains that give the distances.

        Parameters
        ----------
        points
            Places in the frame of the mesh [m], shape (n, 3), or (3,) for one.
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (n,) array
            Indices into `proxies`; for one point an array of shape ().

        Raises
        ------
        InputError, InputTypeError
            As `distance`.
        """
        rows, shape = places(points, "points")
        return self._core.evaluate(self._coordinates(q), rows, False, threads())[2].reshape(shape)

    def project(self, proxies: ArrayLike, forces: ArrayLike) -> NDArray[np.float64]:
        """Return the reduced force of forces at proxies, the sum of U_i^T f_i.

        The modes at the place of a force are approximated by those of its proxy.

        Parameters
        ----------
        proxies
            Indices of proxies, as of `nearest`, shape (n,).
        forces
            Forces on the object, in the frame of the mesh [N], shape (n, 3).

        Returns
        -------
        (r,) array
            Reduced force [N kg^-1/2].

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite or an index out of range.
        """
        return self._core.project(
            array_like(proxies, "proxies", "integers"), array_like(forces, "forces")
        )

    def positions(self, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the deformed positions of the proxies.

        Parameters
        ----------
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        (m, 3) array
            P + U q [m].

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, or `q` so large that results are not finite.
        """
        return self._core.pose(self._coordinates(q))[0]

    def flat(self, q: ArrayLike | None = None) -> int:
        """Return the number of proxies with a flat or inverted deformation gradient.

        Their gradients are inverted with singular values raised to at least 0.1.

        Parameters
        ----------
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        int
            Number of proxies with a singular value below about 0.1, or a negative determinant.

        Raises
        ------
        InputError, InputTypeError
            As `positions`.
        """
        return self._core.pose(self._coordinates(q))[2]

    def _coordinates(self, q: ArrayLike | None) -> ArrayLike:
        if q is None:
            return np.zeros(self.r)
        return array_like(q, "q")

    @classmethod
    def _again(
        cls,
        field: Field,
        reduced: ReducedSolid,
        k: int,
        safety: float,
        domains: Sequence[tuple[Field, NDArray[np.float64]]],
        labels: NDArray[np.int32] | None,
        overlap: float | None,
    ) -> DeformedField:
        """Return a field with the domains of another, without checks."""
        made = cls.__new__(cls)
        made._field, made._reduced, made._k, made._safety = field, reduced, k, safety
        made._overlap = overlap
        made._labels = None if labels is None else labels.copy()
        if made._labels is not None:
            made._labels.flags.writeable = False
        made._make(domains, None)
        return made

    def __repr__(self) -> str:
        n = len(self._domains)
        parts = "" if n == 1 else f" in {n} domains"
        proxies = "1 proxy" if len(self._points) == 1 else f"{len(self._points)} proxies"
        return f"<DeformedField: {proxies}{parts}, k = {self._k}, r = {self.r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return DeformedField._again, (
            self._field,
            self._reduced,
            self._k,
            self._safety,
            self.domains,
            self._labels,
            self._overlap,
        )


def _places(value: object, name: str) -> NDArray[np.float64]:
    """Return given proxies as an array."""
    points = value.points if isinstance(value, Pointshell) else reals(value, name)  # type: ignore[arg-type]
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise InputError(f"{name} must have shape (m, 3), m at least 1, got {points.shape}")
    return np.array(points)


def _proxies(
    field: Field, proxies: int | _Points, rng: int | np.random.Generator
) -> NDArray[np.float64]:
    """Return the proxies; fit them to the field if their number is given."""
    many = isinstance(proxies, list | tuple | np.ndarray) and as_array(proxies, "proxies").ndim > 0
    if many or isinstance(proxies, Pointshell):
        return _places(proxies, "proxies")
    try:
        n = count(proxies, "proxies", _MOST_PROXIES)
    except InputTypeError:
        raise InputTypeError(
            "proxies must be a number of proxies (an int), a Pointshell or an array of points "
            f"(m, 3), got {type(proxies).__name__}"
        ) from None
    return np.array(Pointshell.from_field(field, n, levels=1, rng=rng).points)


def _pairs(domains: object) -> list[tuple[Field, NDArray[np.float64]]] | None:
    """Return domains given as pairs (field, proxies); None for other forms."""
    if not isinstance(domains, Sequence) or isinstance(domains, str) or len(domains) == 0:
        return None
    if not any(isinstance(one, tuple | list) for one in domains):
        return None
    pairs = []
    for i, one in enumerate(domains):
        if not (isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], Field)):
            raise InputTypeError(f"domains[{i}] must be a pair (field, proxies)")
        pairs.append((one[0], _places(one[1], f"domains[{i}][1]")))
    return pairs


def _labels(
    value: object, points: NDArray[np.float64], embedding: Embedding | None, mesh: Mesh
) -> NDArray[np.int32]:
    """Return labels of the proxies, from labels of proxies, elements or nodes."""
    array = np.asarray(array_like(value, "domains", "integers"))
    n = len(points)
    if array.size == 0:
        raise InputError("domains must hold at least one label or pair (field, proxies), got none")
    if array.dtype.kind not in "iu":
        raise InputTypeError(
            "domains must be a number, integer labels of the proxies or of the mesh, or pairs "
            f"(field, proxies), got dtype {array.dtype}"
        )
    if array.shape not in ((n,), (mesh.n_elements,), (mesh.n_nodes,)):
        raise InputError(
            f"domains must have shape ({n},), a label for each proxy, ({mesh.n_elements},), for "
            f"each element, or ({mesh.n_nodes},), for each node, got {array.shape}"
        )
    if array.shape != (n,):
        embedding = Embedding(mesh, points) if embedding is None else embedding
        if len(array) == mesh.n_elements:
            of_proxies = array[embedding.elements]
        else:
            nearest = np.argmax(embedding.weights, axis=1)[:, None]
            of_proxies = array[np.take_along_axis(embedding.nodes, nearest, axis=1)[:, 0]]
        return np.unique(of_proxies, return_inverse=True)[1].reshape(-1).astype(np.int32)
    bad = np.flatnonzero((array < 0) | (array >= n))
    if bad.size:
        i = bad[0]
        raise InputError(f"labels in domains must be 0 to {n - 1}, got domains[{i}] = {array[i]}")
    return array.astype(np.int32)


def _check_embedding(embedding: object, reduced: ReducedSolid, points: NDArray[np.float64]) -> None:
    if not isinstance(embedding, Embedding):
        raise InputTypeError(
            f"embedding must be an Embedding or None, got {type(embedding).__name__}"
        )
    mesh, own = embedding.mesh, reduced.mesh
    if mesh is not own and not (
        np.array_equal(mesh.nodes, own.nodes) and np.array_equal(mesh.elements, own.elements)
    ):
        raise InputError("embedding belongs to another mesh than reduced: make it in reduced.mesh")
    if not np.array_equal(embedding.points, points):
        raise InputError("embedding belongs to other points than the proxies")
