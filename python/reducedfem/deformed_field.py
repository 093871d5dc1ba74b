"""Signed distances to objects that deform, from their distance fields at rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, as_array, count, integer, number, places, reals, require
from reducedfem._run import Progress, callback, threads
from reducedfem.embedding import Embedding, beside_mesh
from reducedfem.errors import GeometryWarning, InputError, InputTypeError
from reducedfem.field import DistanceField, Field
from reducedfem.mesh import Mesh
from reducedfem.pointshell import Pointshell
from reducedfem.reduced import ReducedSolid

__all__ = ["DeformedField"]

_Points = Pointshell | ArrayLike
_Domains = Sequence[tuple[Field, _Points]]

# RF_DEFORMED_MAX_PROXIES of csrc/deform/field.h
_MOST_PROXIES = 1000


class DeformedField:
    """The signed distance to a reduced deformable object (Barbic 2007, section 3.12).

    Some tens of points of the object, the proxies, follow its deformation. A place x is
    pulled back to the object at rest by each of the k proxies p_i nearest to it,
    X_i = P_i + F_i^-1 (x - p_i) with the deformation gradient F_i there, and its distance is the
    weighted mean of what the field at rest says at the X_i. Weights fall with the distance from
    the proxy and are zero for the farthest of the k (equation 3.16), so that the field is
    continuous in x and in q.

    It is an approximation, good where deformations vary slowly from proxy to proxy and strain
    is small: under stretch it counts distances at rest. It is no bound in either direction. The
    field at rest should have a box with room for what is pulled back, because beside it there
    are only lower bounds.

    If two parts of an object deform away from each other, a place near one may be pulled
    back into the other: a mirror image. `domains` cuts the object into parts that overlap, each
    with its own field and proxies; the distance is the smallest of theirs.

    Parameters
    ----------
    field
        The field of the object at rest, in the frame of the mesh of `reduced`. Automatic
        domains need a `DistanceField`.
    reduced
        The model that deforms it.
    proxies
        Number to fit to the surface (`Pointshell.from_field`), or the points themselves:
        a `Pointshell`, or an array [m], shape (m, 3).
    k
        Number of proxies that pull back a place, 1 to 16; all of a domain that has fewer.
        With less than 4 the field jumps somewhere.
    embedding
        Embedding of the proxies in the mesh, if these are given; None: made here.
    rng
        Seed or generator for fitting.
    domains
        None: one. A number: proxies far from each other along the object become seeds, and
        each part is what is nearest to one of them. Integer labels: parts that are given, by
        labels of the m proxies, from 0 on, or of the elements or nodes of the mesh, any integers
        (``reduced.mesh.regions``): then a proxy is of the element that carries it, or of the node
        next to it, and what has no proxy is no part; the lengths tell which. Or a sequence of
        pairs (field, proxies), the domains themselves; `field` and `proxies` are then not used for
        anything else.
    overlap
        By how much automatic domains go beyond their parts, along the object [m]. At rest
        values are those of `field` outside and down to a depth of overlap / 1.13 less a voxel;
        below that they may be nearer to zero, close to cuts. None: what is enough for the
        deepest place, but no more than a tenth of the longest side of the object. Two parts that
        are closer to each other than the overlap, along the object, see each other.
    safety
        In contact, a sphere is taken to be outside where the distance of its centre is more
        than this times its radius, 1 or more.
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
        Proxies lie farther outside of the solid's mesh than an element there is large, and than
        5 % of the mesh: the unit or the place of the field or of the mesh is likely to be wrong.

    Notes
    -----
    F_i that is flat or inverted, which large q can lead to, has its singular values raised to 0.1
    before it is inverted; see `flat`.
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
                raise InputError("embedding cannot be given with domains that bring their proxies")
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
            raise InputError("overlap is for automatic domains; there are none")
        self._make(parts, embedding)
        beside = beside_mesh(self._embedding, "field", "proxies")
        if beside:
            warnings.warn(beside, GeometryWarning, stacklevel=2)

    def _make(
        self, parts: Sequence[tuple[Field, NDArray[np.float64]]], embedding: Embedding | None
    ) -> None:
        """Put the domains together; an embedding of their proxies in another order is not used."""
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
        """The field of the whole object at rest."""
        return self._field

    @property
    def reduced(self) -> ReducedSolid:
        """The model that deforms it."""
        return self._reduced

    @property
    def r(self) -> int:
        """Number of reduced coordinates."""
        return self._reduced.r

    @property
    def k(self) -> int:
        """Number of nearest proxies that are used."""
        return self._k

    @property
    def safety(self) -> float:
        """Factor on radii of spheres in contact."""
        return self._safety

    @property
    def proxies(self) -> NDArray[np.float64]:
        """All proxies at rest [m], domain after domain, read-only, shape (m, 3)."""
        return self._points

    @property
    def domains(self) -> tuple[tuple[Field, NDArray[np.float64]], ...]:
        """Field at rest and proxies of each domain; one of them without `domains`."""
        return tuple(
            (field, self._points[a:b])
            for field, a, b in zip(self._domains, self._first[:-1], self._first[1:], strict=True)
        )

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """Domain of each proxy before the overlap, read-only; None: no automatic domains."""
        return self._labels

    @property
    def overlap(self) -> float | None:
        """Overlap of automatic domains [m]; None: there are none."""
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
            A wrong shape, a value that is not finite, or `q` so large that places are not.
        """
        rows, shape = places(points, "points")
        return self._core.evaluate(self._coordinates(q), rows, False, threads())[0].reshape(shape)

    def gradient(self, points: ArrayLike, q: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the gradient of what `distance` returns, by the place.

        The change of the weights is part of it. Where neighbours change, and where the field
        at rest has kinks, it is that of one side; at a proxy the weights count as constant.

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
        """Return the proxy nearest to points, of the domain that gives the distance.

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
        """Return the reduced force of forces near proxies, the sum of U_i^T f.

        Modes of the place where a force acts are taken to be those of the nearest proxy.

        Parameters
        ----------
        proxies
            Indices, as `nearest` returns them, shape (n,).
        forces
            On the object, in the frame of the mesh [N], shape (n, 3).

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
        """Return where the proxies are.

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
            A wrong shape, a value that is not finite, or `q` so large that places are not.
        """
        return self._core.pose(self._coordinates(q))[0]

    def flat(self, q: ArrayLike | None = None) -> int:
        """Return at how many proxies the deformation gradient is flat or inverted.

        Parameters
        ----------
        q
            Reduced coordinates [kg^1/2 m], shape (r,); None: at rest.

        Returns
        -------
        int
            Of proxies with a singular value less than 0.1, roughly, or a negative determinant.

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
        """Return one with the domains of another, of which nothing needs to be said twice."""
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
    """Return proxies that are given."""
    points = value.points if isinstance(value, Pointshell) else reals(value, name)  # type: ignore[arg-type]
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise InputError(f"{name} must have shape (m, 3), m at least 1, got {points.shape}")
    return np.array(points)


def _proxies(
    field: Field, proxies: int | _Points, rng: int | np.random.Generator
) -> NDArray[np.float64]:
    """Return the proxies, fitted to the field where only their number is given."""
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
    """Return domains that are given as pairs; None: they are something else."""
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
    """Return labels of proxies, from those of proxies, elements or nodes."""
    array = np.asarray(array_like(value, "domains", "integers"))
    n = len(points)
    if array.size == 0:
        raise InputError("domains must hold a label or a pair (field, proxies) at least, got none")
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
        raise InputError("embedding is in another mesh than that of reduced")
    if not np.array_equal(embedding.points, points):
        raise InputError("embedding is of other points than the proxies")
