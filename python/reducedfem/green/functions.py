"""Green's functions of the surface of a solid: exact linear statics of its nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from reducedfem import _core
from reducedfem.base.check import finite_result, integer, positive, precision, reals
from reducedfem.base.quiet import warn
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, PlausibilityWarning
from reducedfem.green.arguments import (
    Ties,
    coefficients,
    distinct,
    error_of_blocks,
    held_directions,
    place_of,
    places_of,
    points_of,
    refuse_followers,
    refuse_repeated,
    released_of,
    require_memory,
    shares_of,
)
from reducedfem.green.contacts import GreenContacts
from reducedfem.green.contents import arrays_of, parts_of
from reducedfem.green.plausible import doubt_held, doubt_ways, warn_of_soft_nodes
from reducedfem.green.released_load import load_of, rows_of
from reducedfem.green.results import GreenContact, GreenSolution, states
from reducedfem.io import green_files
from reducedfem.io.saved import Saved
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["GreensFunctions"]

_ENDS = ("solved", "budget", "stalled", "infeasible")


class GreensFunctions(Saved):
    """Linear response of the surface of a solid to forces on it; immutable, shared by threads.

    G is the part of the inverse stiffness at rest that belongs to the nodes of the surface:
    ``u = G f`` is the linear static response of the solid with its fixed nodes, without modes and
    without error of reduction. It is computed once, by one factorization, and stored as one
    triangle: 18 s^2 bytes for s nodes in single precision, twice as much in double; or, with a
    `tolerance`, with far blocks of low rank. Contacts are small dense problems (James and Pai
    1999).

    A point force has no limit as a mesh is refined: the compliance of a node grows as one over the
    size of its elements. Spread contacts over a disc of a fixed radius
    (``docs/howto/greens_functions.md``).

    Without fixed nodes, u is the deformation under inertia relief: rigid motions are removed from
    loads and displacements in the metric of the mass. `solve` with held nodes adds the rigid
    motion.

    Fields over the surface have shape (s, 3) in the order of `nodes`.

    Parameters
    ----------
    solid
        The solid; materials count by their stiffness at rest.
    surface_nodes
        Nodes of the surface: a mask over the mesh or distinct node indices, none of them fixed.
        None: nodes of the boundary that are not fixed.
    releasable
        Fixed nodes that `solve`, `contact` and `released` may release, as `surface_nodes`. None:
        no nodes.
    dtype
        ``"float64"`` or ``"float32"``, also as NumPy types, for the entries of G. With the latter
        the products of one force are in single precision, their sum and all solutions in double.
    tolerance
        Largest error of the blocks of G between groups of up to 64 neighbouring nodes, relative to
        the block (Frobenius norm), from 1e-6 in float32 or 1e-12 in float64 to 0.5. Blocks inside
        of a group are exact, but softer by a `lift` in contacts that the error makes indefinite.
        None: all are exact.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value.
    MeshError
        A part of the solid can move rigidly, or a free solid is not connected.
    SingularMatrixError
        The stiffness is not positive definite.
    MemoryError
        G needs more memory than is available; the message gives both.

    Warns
    -----
    PlausibilityWarning
        A node in nearly empty cut cells moves more than five times as far as the surface beside.
    """

    __slots__ = ("__weakref__", "_core", "_held", "_positions", "_ties")

    _ties: Ties | None
    _held: NDArray[np.float64] | None  # rest positions of releasable nodes; None: not in the file

    def __init__(
        self,
        solid: Solid,
        surface_nodes: ArrayLike | None = None,
        releasable: ArrayLike | None = None,
        dtype: DTypeLike = "float64",
        *,
        tolerance: float | None = None,
        progress: Progress = None,
    ) -> None:
        require_solid(solid)
        n = solid.mesh.n_nodes
        kind = precision(dtype, "dtype")
        single = kind == "float32"
        nodes: NDArray[Any]
        if surface_nodes is None:
            nodes = np.setdiff1d(solid.mesh.boundary_nodes, solid.fixed)
        else:
            nodes = distinct(surface_nodes, "surface_nodes", n)
        freed = distinct(releasable, "releasable", n)
        size = len(nodes)
        error = 0.0 if tolerance is None else error_of_blocks(tolerance, kind)
        # packed blocks take a part that is not known before, and blocks of 192 columns in work
        share = 1.0 if not error else 0.25 if error >= 1e-3 else 0.5
        needed = 18.0 * share * size**2 * (1 if single else 2)
        needed += 8.0 * 3 * size * 192 * (threads() + 1) if error else 0.0
        needed += 72.0 * len(freed) * (len(freed) + size)
        require_memory(needed, f"Green's functions of {size} nodes in {kind}", _SMALLER[single])
        with callback(progress, "Green's functions") as tell:
            self._core = _core.Green(solid._core, nodes, freed, single, error, tell, threads())
        self._positions = solid.mesh.nodes[self._core.nodes]
        self._positions.flags.writeable = False
        self._held = solid.mesh.nodes[self._core.releasable]
        ties = solid.mesh.constraints
        self._ties = None if ties is None else (ties, frozenset(solid.fixed.tolist()))
        warn_of_soft_nodes(self._core, solid, "surface_nodes", 3)

    # --- attributes -------------------------------------------------------------------

    @property
    def nodes(self) -> NDArray[np.int32]:
        """Nodes of the surface, ascending, then those of `released`, read-only, shape (s,)."""
        return self._core.nodes

    @property
    def positions(self) -> NDArray[np.float64]:
        """Rest positions of the nodes of the surface [m], read-only, shape (s, 3)."""
        return self._positions

    @property
    def releasable(self) -> NDArray[np.int32]:
        """Fixed nodes that can be released, ascending, read-only, shape (r,)."""
        return self._core.releasable

    @property
    def dtype(self) -> str:
        """Type of the entries: ``"float64"`` or ``"float32"``."""
        return "float32" if self._core.single else "float64"

    @property
    def tolerance(self) -> float | None:
        """Largest relative error of a block of G; None: exact."""
        packed = self._core.packed
        return None if packed is None else packed[0]

    @property
    def bytes(self) -> int:
        """Memory of G, of static modes and of rigid motions [bytes]."""
        return self._core.bytes

    @property
    def is_free(self) -> bool:
        """True if the solid has no fixed nodes."""
        return self._core.rigid is not None

    @property
    def rigid_motions(self) -> NDArray[np.float64] | None:
        """Rigid motions of a free solid, orthonormal in its mass, (6, s, 3); or None.

        Translations along x, y, z, then rotations about the principal axes [kg^-1/2]. Read-only.
        """
        rigid = self._core.rigid
        return None if rigid is None else rigid[:, : len(self.nodes)]

    @property
    def matrix(self) -> NDArray[Any]:
        """Dense copy of G [m/N] in the type `dtype`, rows and columns 3 place + axis, (3s, 3s).

        Raises
        ------
        MemoryError
            The copy needs more memory than is available.
        """
        rows = 3.0 * len(self.nodes)
        needed = rows * rows * (4.0 if self._core.single else 8.0)
        require_memory(needed, "the dense matrix", "take its columns by column()")
        return self._core.matrix()

    def column(self, node: int, axis: int) -> NDArray[np.float64]:
        """Return the displacements of the surface by a unit force at a node.

        Parameters
        ----------
        node
            A node of the surface.
        axis
            Direction of the force: 0, 1 or 2.

        Returns
        -------
        (s, 3) float64 array
            Displacements per force [m/N].

        Raises
        ------
        InputError, InputTypeError
            `node` is not on the surface, or `axis` is not 0, 1 or 2.
        """
        place = place_of(self._core, integer(node, "node"), "node")
        along = integer(axis, "axis")
        if not 0 <= along <= 2:
            raise InputError(f"axis must be 0, 1 or 2, got {along}")
        return self._core.add([place], np.eye(3)[along : along + 1])

    def displacement(self, force: ArrayLike, nodes: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the displacements of the surface under forces on it.

        Parameters
        ----------
        force
            Forces [N] on all nodes of the surface, (s, 3) or (3s,), or on `nodes`, (m, 3).
        nodes
            Nodes of the surface on which `force` acts, (m,), or a mask over the mesh; forces on
            repeated nodes are added.

        Returns
        -------
        (s, 3) float64 array
            Displacements [m].

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape or a value that is not finite, or a node is not on the
            surface.
        """
        if nodes is None:
            load = load_of(self._core, force)
            places = np.flatnonzero(load.any(axis=1)).astype(np.int32)
            load = load[places]
        else:
            places = places_of(self._core, nodes, "nodes")
            load = rows_of(self._core, force, places)
        return finite_result(self._core.add(places, load), "displacement", "force")

    def point_compliance(self, nodes: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the displacement of a point of a triangle by a force there.

        Parameters
        ----------
        nodes
            Three different nodes of the surface, of a triangle or not; those with the weight zero
            may be repeated.
        weights
            Barycentric coordinates of the point, three numbers with the sum 1.

        Returns
        -------
        (3, 3) float64 array
            Compliance [m/N], symmetric.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a node is not on the surface, or the sum is not 1.
        """
        places = places_of(self._core, nodes, "nodes")
        if places.shape != (3,):
            raise InputError(f"nodes must have shape (3,), got {places.shape}")
        shares = shares_of(weights, (3,))
        refuse_repeated(self._core, places[None], shares[None], "nodes")
        return self._core.compliance(places.reshape(1, 3), shares.reshape(1, 3))

    def released(self, nodes: ArrayLike) -> GreensFunctions:
        """Return the Green's functions of the solid with some supports released for good.

        They equal those of a solid that was made without these fixed nodes, which become nodes of
        the surface. G is shared, also with a `tolerance`; the result takes 24 bytes more for each
        released node and each direction at the surface. `releasable` has the other nodes.

        Parameters
        ----------
        nodes
            Nodes among `releasable`, at least one, (k,), or a mask over the mesh.

        Returns
        -------
        GreensFunctions

        Raises
        ------
        InputError, InputTypeError
            There is no node, or one is not among `releasable`; a file that an earlier version
            wrote does not have their positions.
        SingularMatrixError
            The solid could move as a rigid body: too few fixed nodes are left.
        MemoryError
            They need more memory than is available.
        """
        freed = np.sort(released_of(self._core, nodes, "nodes"))
        if not len(freed):
            raise InputError("nodes selects no node; at least one of releasable is needed")
        if self._held is None:
            raise InputError(
                "the file of these Green's functions has no positions of releasable nodes, as an "
                "earlier version wrote it: make them again from the solid"
            )
        left = np.delete(np.arange(len(self.releasable)), freed)
        rows = 3.0 * (len(self.nodes) + len(freed) + 16)
        more = 0 if self._core.added is None else self._core.added.shape[1]
        needed = 8.0 * rows * (more + 6.0 * len(freed) + 3.0 * len(left)) + 72.0 * len(left) ** 2
        require_memory(needed, "Green's functions without these supports", "release fewer")
        made = GreensFunctions.__new__(GreensFunctions)
        made._core = _core.green_released(self._core, freed, threads())
        made._positions = np.concatenate([self._positions, self._held[freed]])
        made._positions.flags.writeable = False
        made._held, made._ties = self._held[left], None
        if self._ties is not None:
            gone = self.releasable[freed].tolist()
            made._ties = (self._ties[0], self._ties[1].difference(gone))
        return made

    # --- contacts --------------------------------------------------------------------

    def solve(
        self,
        held: Mapping[int, ArrayLike] | None = None,
        force: ArrayLike | None = None,
        released: ArrayLike | None = None,
    ) -> GreenSolution:
        """Return the response to prescribed displacements of some nodes, under a load.

        Held nodes support a free solid, or one whose fixed nodes are released: its rigid motion is
        included, and forces balance.

        Parameters
        ----------
        held
            Displacements [m] by node of the surface, (3,) each; nan: the node is free along that
            axis, one of three at least is held. None: no nodes.
        force
            Load [N], (s, 3) or (3s,). None: zero.
        released
            Nodes among `releasable` that are free here; the other fixed nodes or the held ones must
            still hold the solid. None: no nodes.

        Returns
        -------
        GreenSolution
            Displacements of the surface and forces on the held nodes: ``u, f = green.solve(...)``.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type, shape or value, or names a node that is not on the
            surface or not releasable.
        SingularMatrixError
            Too few fixed nodes are left by `released`, and held nodes do not replace them; held
            nodes do not support a free solid, or move alike (one may be constrained to follow
            others); `tolerance` is too coarse for them.
        MemoryError
            The dense problem needs more memory than is available.

        Warns
        -----
        PlausibilityWarning
            `tolerance` is coarse for the held nodes, which are softer by more than 5 %; or `held`
            is more than twice the size of the body, without the mean of a body that may follow it.
        """
        find = partial(place_of, self._core)
        order, rows, axes, targets = held_directions(find, held)
        places = np.array(order, dtype=np.int32)[rows]
        freed = released_of(self._core, released)
        loose = self.is_free or 0 < len(freed) == len(self.releasable)
        doubt_held(targets, axes, self._positions, loose, 2)
        load = None if force is None else load_of(self._core, force, freed)
        refuse_followers(self._ties, self.nodes[places], axes, self.releasable[freed])
        needed = 8.0 * (len(places) ** 2 + 9.0 * len(freed) ** 2)
        require_memory(needed, "held or released", "name fewer nodes")
        f, u, moved, lift = self._core.solve(places, axes, targets, load, freed, threads())
        out = np.zeros((len(order), 3))
        out[rows, axes] = f
        finite_result(u, "displacement", "held or force")
        self._doubt_lift(lift, "held nodes")
        return GreenSolution(u, finite_result(out, "force", "held or force"), moved, lift)

    def contact(
        self,
        points: ArrayLike | tuple[ArrayLike, ArrayLike],
        normals: ArrayLike,
        gaps: ArrayLike,
        friction: ArrayLike = 0.0,
        *,
        force: ArrayLike | None = None,
        released: ArrayLike | None = None,
        tol: float = 1e-10,
    ) -> GreenContact:
        """Return the response to contact with a rigid obstacle, with friction.

        Each contact obeys the laws of Signorini and Coulomb (`solve_friction`) with the compliance
        of its point. Contacts of a free solid act on its deformation: rigid motions are left out.
        Contacts may hold a solid whose fixed nodes are all released.

        Parameters
        ----------
        points
            Nodes of the surface, (m,), or a mask over the mesh; or a tuple of the nodes of
            triangles and of barycentric coordinates, both (m, 3): any three nodes, whose weighted
            mean moves and carries the force. Up to 1024 points.
        normals
            Directions from the obstacle to the body, any length, (m, 3).
        gaps
            Normal distances of the points from the obstacle without forces [m], (m,); negative:
            depth. Or places relative to the obstacle, (m, 3), whose tangential parts are slip
            that has taken place while the points stuck: minus the motion of a tool.
        friction
            Coefficient of friction, one number or (m,).
        force
            Load [N], (s, 3) or (3s,). None: zero.
        released
            Nodes among `releasable` that are free here, as in `solve`. None: no nodes.
        tol
            Tolerance of the residual, > 0, as of `solve_friction`; at most 1e-10 is used where
            contacts alone hold the solid.

        Returns
        -------
        GreenContact

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type, shape or value, or names a node that is not on the
            surface or not releasable.
        SingularMatrixError
            Too few fixed nodes are left by `released`, and the contacts do not balance the load, or
            barely; `tolerance` is too coarse for these contacts.

        Warns
        -----
        PlausibilityWarning
            The laws have no solution, or none was found; `friction` is above 5; the solid has no
            fixed nodes: a real one would evade the obstacle; `tolerance` is coarse for the
            contacts, whose nodes are softer by more than 5 %; a depth in `gaps` is more than twice
            the size of the body.
        """
        if self.is_free:
            warn(
                "the solid has no fixed nodes: its rigid motion is left out, and forces are those "
                "that deform it against its inertia. Name fixed nodes, or use solve",
                PlausibilityWarning,
                stacklevel=2,
            )
        places, shares = points_of(self._core, points)
        m = len(places)
        direction, apart = reals(normals, "normals"), reals(gaps, "gaps")
        mu = coefficients(friction, m)
        if direction.shape != (m, 3):
            raise InputError(f"normals must have shape ({m}, 3), got {direction.shape}")
        length = np.linalg.norm(direction, axis=1)
        if not (length > 0.0).all():
            raise InputError(f"normals[{np.argmin(length)}] is zero; it must have a direction")
        unit = direction / length[:, None]
        if apart.shape == (m,):
            apart = apart[:, None] * unit
        elif apart.shape != (m, 3):
            raise InputError(f"gaps must have shape ({m},) or ({m}, 3), got {apart.shape}")
        doubt_ways(-np.einsum("ij,ij->i", apart, unit), self._positions, "gaps", 2)
        freed = released_of(self._core, released)
        load = None if force is None else load_of(self._core, force, freed)
        f, place, state, u, moved, lift, (end, residual, *_) = self._core.contact(
            places, shares, unit, apart, mu, load, freed, positive(tol, "tol"), threads()
        )
        if _ENDS[end] != "solved":
            warn(
                f"no forces were found that obey the laws of contact ({_ENDS[end]}, residual "
                f"{residual:.2g}): those returned are bounded, no more. Points that are closer to "
                "each other than the size of elements, or named twice, may be the cause",
                PlausibilityWarning,
                stacklevel=2,
            )
        gap = np.einsum("ij,ij->i", place, unit)
        slip = place - gap[:, None] * unit
        finite_result(u, "displacement", "gaps or force")
        self._doubt_lift(lift, "contacts")
        return GreenContact(u, f, gap, slip, states(state), _ENDS[end], residual, moved, lift)

    def contacts(self, max_contacts: int = 64, released: ArrayLike | None = None) -> GreenContacts:
        """Return an empty set of contacts, added and removed one at a time, in real time.

        Parameters
        ----------
        max_contacts
            Largest number of contacts, 1 to 256.
        released
            Nodes among `releasable` that are free here; the others must still hold the solid.
            None: no nodes.

        Returns
        -------
        GreenContacts

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type or value; or the solid has no fixed nodes: its rigid
            motion, which these contacts leave out, is part of `solve` only.
        SingularMatrixError
            Too few fixed nodes are left by `released`.
        """
        if self.is_free:
            raise InputError(
                "contacts leave out the rigid motion of a solid without fixed nodes: name fixed "
                "nodes of the solid, or use solve, which includes it"
            )
        freed = released_of(self._core, released)
        return GreenContacts._of(self._core, integer(max_contacts, "max_contacts"), freed)

    def _doubt_lift(self, lift: float, what: str) -> None:
        if self.tolerance is not None and lift > _MOST_LIFT:
            warn(
                f"tolerance {self.tolerance:.3g} is coarse for these {what}: their nodes are "
                f"{100 * lift:.3g} % softer than by exact blocks, so that the compliance is "
                "definite. Make the Green's functions with a smaller one",
                PlausibilityWarning,
                stacklevel=3,
            )

    # --- files -----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file in the safetensors format, completely or not at all; see `load`.

        Parameters
        ----------
        path
            File name; ``.safetensors`` is added if there is no suffix, others are refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        green_files.save(path, self._arrays(), self._core.n_nodes)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return arrays_of(self._core, self._positions, self._held)

    @classmethod
    def _read(cls, stream: BinaryIO, size: int, name: str) -> GreensFunctions:
        return green_files.read(stream, size, name, _from_arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_arrays, (self._core.n_nodes, self._arrays())

    def __repr__(self) -> str:
        free = ", free" if self.is_free else ""
        error = "" if self.tolerance is None else f", tolerance {self.tolerance:.3g}"
        return (
            f"<GreensFunctions: {len(self.nodes)} nodes, {self.dtype}, "
            f"{self.bytes / 1e6:,.1f} MB{error}{free}>"
        )


_SMALLER = (
    'pass dtype="float32", a tolerance such as 1e-3, or fewer surface_nodes',
    "pass a tolerance such as 1e-3, or fewer surface_nodes",
)
_MOST_LIFT = 0.05  # without a warning


def _from_arrays(n_nodes: int, arrays: Mapping[str, NDArray[Any]]) -> GreensFunctions:
    """Return Green's functions of their arrays."""
    made = GreensFunctions.__new__(GreensFunctions)
    made._core, made._positions, made._held = parts_of(n_nodes, arrays)
    made._ties = None
    return made
