"""Penalty contact of pointshells with distance fields, in bounded time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import (
    array_like,
    choice,
    count,
    flag,
    integer,
    number,
    reals,
    require,
    rotations,
)
from reducedfem._run import Progress, callback
from reducedfem.deformed_field import DeformedField
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.field import Field
from reducedfem.point_tree import PointTree
from reducedfem.pose import Pose, pose_arguments, poses_arguments

__all__ = ["ContactForce", "ContactPoints", "ContactTrajectory", "PenaltyContact"]

_DIRECTIONS = ("gradient", "normal")
_WARM_NODES = 2500
# N/m, of a point where nothing that yields is known
_STIFFNESS = 1000.0


@dataclass(frozen=True, eq=False, repr=False)
class ContactPoints:
    """The points that touch, in the order in which their forces were added up.

    Attributes
    ----------
    indices
        Which points of the shell, shape (k,).
    positions
        Places in the world [m], shape (k, 3).
    distances
        Signed distances, all negative [m], shape (k,).
    normals
        Inward unit normals in the world, shape (k, 3).
    forces
        On the distance-field object, in the world, scaled [N], shape (k, 3).
    """

    indices: NDArray[np.int32]
    positions: NDArray[np.float64]
    distances: NDArray[np.float64]
    normals: NDArray[np.float64]
    forces: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<ContactPoints: {_points(len(self.indices))}>"


@dataclass(frozen=True, eq=False, repr=False)
class ContactForce:
    """Result of `PenaltyContact.evaluate`.

    Attributes
    ----------
    force
        On the distance-field object, in the world [N], shape (3,). On the shell it is the
        opposite.
    torque
        On the distance-field object about its grasp point, in the world [N m], shape (3,).
    gradient
        Of (force, torque) by a displacement [m] of the distance-field object and a rotation of
        it [rad] about its grasp point, in fixed axes, shape (6, 6): rows are force and torque,
        columns displacement and rotation, so that the quarters are in [N/m], [N/rad], [N m/m] and
        [N m/rad]. Directions of forces stay: see `PenaltyContact`.
    reduced_force
        On the shell, U^T f [N kg^-1/2], shape (r,); None for a rigid shell.
    visited
        Number of tree nodes that were looked at, with `budget_us` also on a level that was left
        out.
    skipped
        Number of nodes of rendered levels that needed no look, by temporal coherence.
    touching
        Number of points that touch.
    level
        Deepest level of the shell that was rendered, 0 to ``n_levels - 1``.
    depth
        Deepest penetration [m], 0 without contact.
    microseconds
        Computing time.
    contacts
        The points that touch, where they were asked for.
    field_reduced_force
        On a field that deforms [N kg^-1/2], shape (its r,); None for others. A force acts on the
        motion that the proxies near its point say the object has there, by the weights of the
        distance; with ``direction="normal"`` on the nearest proxy, as Barbic has it.
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    gradient: NDArray[np.float64]
    reduced_force: NDArray[np.float64] | None
    visited: int
    skipped: int
    touching: int
    level: int
    depth: float
    microseconds: float
    contacts: ContactPoints | None = None
    field_reduced_force: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        digits = 1 if self.microseconds < 100.0 else 0
        tail = f"levels 0 to {self.level}, {self.microseconds:,.{digits}f} us>"
        if self.touching == 0:
            return f"<ContactForce: no contact, {tail}"
        force, torque = _vector_text(self.force, "N"), _vector_text(self.torque, "N m")
        return (
            f"<ContactForce: {force}, {torque}, {_points(self.touching)} up to "
            f"{self.depth:.3g} m deep, {tail}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ContactTrajectory:
    """Result of `PenaltyContact.evaluate_many`: `ContactForce` as arrays over n cycles.

    Attributes
    ----------
    force, torque
        On the distance-field object, in the world [N], [N m], shape (n, 3).
    gradient
        As of `ContactForce`, shape (n, 6, 6).
    reduced_force
        On the shell [N kg^-1/2], shape (n, r); None for a rigid shell.
    visited, skipped, touching, level
        Numbers of nodes and points, and deepest level rendered, shape (n,).
    depth
        Deepest penetration [m], shape (n,).
    microseconds
        Computing time of each cycle, shape (n,).
    field_reduced_force
        On a field that deforms [N kg^-1/2], shape (n, its r); None for others.
    contacts
        The points that touch, one `ContactPoints` a cycle, where they were asked for.
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    gradient: NDArray[np.float64]
    reduced_force: NDArray[np.float64] | None
    visited: NDArray[np.int32]
    skipped: NDArray[np.int32]
    touching: NDArray[np.int32]
    level: NDArray[np.int32]
    depth: NDArray[np.float64]
    microseconds: NDArray[np.float64]
    field_reduced_force: NDArray[np.float64] | None = None
    contacts: tuple[ContactPoints, ...] | None = None

    def __repr__(self) -> str:
        n = len(self.level)
        if n == 0:
            return "<ContactTrajectory: 0 cycles>"
        cycles = "1 cycle" if n == 1 else f"{n} cycles"
        return (
            f"<ContactTrajectory: {cycles}, {int((self.touching > 0).sum())} with contact, of at "
            f"most {_points(int(self.touching.max()))}, up to {self.depth.max():.3g} m deep, "
            f"deepest level {self.level.min()} to {self.level.max()}>"
        )


class PenaltyContact:
    """Contact forces between a pointshell and a distance field, in bounded time.

    The shell is anchored in the world and may deform; the distance-field object moves, its
    pose maps its frame to the world. A point x of the shell at signed distance d < 0 puts on that
    object the force k d e and the torque r x F, r = x - x_g about the grasp point, and the opposite
    force on the shell (Barbic 2007, section 3.5). The direction e is that of the field's gradient,
    in a sampled field by central differences over a spacing: but for its resolution such a force
    has a potential. Where e and the point's inward normal N disagree by more than 73 degrees, deep
    in thin parts, it turns to N. Where more
    than L = `max_points` points touch, l of them, all forces are scaled by L / l, so that they
    converge under refinement of the shell (equation 3.2) and the contact does not get ever
    stiffer.

    The tree is traversed level by level, and a level is finished or left out (3.10.3): what
    comes out is what all points up to that level give, one by one. A level that was rendered
    in the last cycle begins while fewer than `warm_nodes` nodes have been counted, a deeper one
    while fewer than `cold_ratio` times that; level 0 is always rendered. With `budget_us` it is
    time that counts, and a level is left out if by the measured costs of nodes and touching points
    it would end late; levels, and so forces, then depend on the speed of the moment. What is left
    of the budget prepares the next level: a cycle may take all of it.
    With ``warm_nodes=None`` and no budget nothing is left out: all levels are rendered in every
    cycle, however long it takes.

    Nodes whose sphere is outside of the field are culled with a margin that holds for the
    interpolated field, rounding included, so that without degradation the points that touch
    and their distances are those of a search through all points, bit for bit. Temporal coherence
    does without looking at nodes that cannot have come into contact since, after all that may
    have moved: the field object, the shell's own deformation, the growth of the spheres. Jumps
    are covered; forces, levels and counts are the same bits with it and without.

    The gradient is that of forces whose directions and lines of action stay,
    ``-sum k w w^T`` with ``w = (e, r x e)``: symmetric, and it resists every motion.

    With a `DeformedField` both objects deform. Its distances are no bounds: nodes are culled
    where they exceed `DeformedField.safety` times the radius of the sphere, which a search
    through all points may contradict, and no node is skipped for what it was in an earlier
    cycle.

    A contact keeps what it knows of the last cycle, and may be shared by threads, which wait
    for each other. Contacts of different threads may share trees and fields. Copies and pickles
    begin anew, as after `reset`.

    Parameters
    ----------
    tree
        The points, rigid or deformable.
    field
        Signed distances of the other object, in its own frame: a `Field` or a `DeformedField`.
    stiffness
        Of one point, k [N/m], or "auto". In a `HapticSession` that is 20 times the stiffness of the
        coupling, whatever the bodies: coupling, body and contact are springs in series, so that so
        stiff a contact makes them feel softer by 1/21 at most, and a stiffer one only disturbs the
        solve. Elsewhere, and in sessions with ``auto_stiffness="contact"``, it is 30 / c for each
        point, c the compliance n^T U K^-1 U^T n at rest of what deforms (of free bodies their
        elastic coordinates), capped where hardly anything yields: see `stiffnesses`. Such contact
        is for `ImplicitNewmark.step` with ``contact=``, which steps implicitly; under forces that
        are handed over as constants light bodies may shake.
    warm_nodes
        Number of nodes below which levels rendered in the last cycle begin; None: nodes are not
        counted, and without `budget_us` every cycle renders all levels.
    budget_us
        Time of a cycle [us], in place of `warm_nodes`, of which no other value may be given then;
        None: time does not count. Level 0 is rendered whatever it takes. A cycle that the machine
        interrupts for longer than that finishes the levels of the last one, for the force not to
        jump.
    cold_ratio
        Above 0 and at most 1: which part of either deeper levels may use.
    max_points
        L, the number of touching points above which forces are scaled; None: never.
    area_weights
        True: weight the force of each point by its area, `Pointshell.areas`, over
        the mean of the areas; l is then the sum of these weights.
    temporal_coherence
        True: skip nodes that cannot have come into contact; not with a
        `DeformedField`.
    grasp
        The point about which torques are, in the frame of the field, shape (3,) [m]; None: its
        origin.
    direction
        Of the forces, e: "gradient", or "normal", e = N as Barbic has it (3.1). The latter has no
        potential; a hand may get energy from it.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or a value that is not allowed, both `warm_nodes` and
        `budget_us` are given, or areas are to be used and the shell has none.
    """

    __slots__ = ("__weakref__", "_core", "_each", "_field", "_options", "_tree")

    def __init__(
        self,
        tree: PointTree,
        field: Field | DeformedField,
        stiffness: float | str = "auto",
        warm_nodes: int | None = _WARM_NODES,
        *,
        budget_us: float | None = None,
        cold_ratio: float = 0.8,
        max_points: int | None = 10,
        area_weights: bool = False,
        temporal_coherence: bool = True,
        grasp: ArrayLike | None = None,
        direction: str = "gradient",
    ) -> None:
        require(tree, PointTree, "tree")
        if not isinstance(field, DeformedField):
            require(field, Field, "field", " or a DeformedField")
        choice(direction, "direction", _DIRECTIONS)
        weights = None
        if flag(area_weights, "area_weights"):
            weights = tree.shell.areas
            if weights is None:
                raise InputError(
                    "area_weights is set, but the pointshell has no areas; make it with areas=True "
                    "or give it areas"
                )
        if warm_nodes is not None:
            try:
                warm_nodes = count(warm_nodes, "warm_nodes", why="None: all levels")
            except InputTypeError as error:
                raise InputTypeError(f"{error}; None: all levels") from None
        if budget_us is not None:
            budget_us = number(budget_us, "budget_us")
            if not budget_us > 0.0:
                raise InputError(f"budget_us must be positive or None, got {budget_us:g}")
            if warm_nodes not in (_WARM_NODES, None):
                raise InputError(
                    f"warm_nodes is {warm_nodes} and budget_us is {budget_us:g}; a cycle ends by "
                    "nodes or by time: give one of them"
                )
            warm_nodes = None
        place = _frozen((0.0, 0.0, 0.0) if grasp is None else grasp)
        options: dict[str, Any] = {
            "stiffness": _stiffness(stiffness),
            "warm_nodes": warm_nodes,
            "budget_us": budget_us,
            "cold_ratio": number(cold_ratio, "cold_ratio"),
            "max_points": None if max_points is None else count(max_points, "max_points"),
            "area_weights": weights is not None,
            "temporal_coherence": flag(temporal_coherence, "temporal_coherence"),
            "grasp": place,
            "direction": direction,
        }
        automatic = options["stiffness"] == "auto"
        each = _fitted(tree, field) if automatic else None
        self._core = _core.Contact(
            tree._core,
            field._core,
            weights,
            _STIFFNESS if automatic else options["stiffness"],
            options["warm_nodes"] or 0,
            options["cold_ratio"],
            options["budget_us"] or 0.0,
            options["max_points"] or 0,
            options["temporal_coherence"],
            direction == "normal",
            place,
            each,
            automatic,
        )
        self._tree, self._field, self._options = tree, field, MappingProxyType(options)
        self._each = each

    @property
    def tree(self) -> PointTree:
        """The points."""
        return self._tree

    @property
    def field(self) -> Field | DeformedField:
        """The signed distances of the other object."""
        return self._field

    @property
    def stiffness(self) -> float | str:
        """Stiffness of one point, k [N/m], or "auto"."""
        stiffness: float | str = self._options["stiffness"]
        return stiffness

    @property
    def stiffnesses(self) -> NDArray[np.float64]:
        """Stiffness of each point outside of sessions [N/m], shape (n,), in the order of the shell.

        Of "auto" what the compliance of the bodies makes of it; 1000 N/m where nothing deforms.
        """
        if self._each is not None:
            each: NDArray[np.float64] = self._each.copy()
            return each
        k = self._options["stiffness"]
        return np.full(self._tree.shell.n_points, _STIFFNESS if k == "auto" else k)

    @property
    def options(self) -> Mapping[str, Any]:
        """Everything it was made with but tree and field, by name; it cannot be changed.

        ``PenaltyContact(tree, field, **contact.options)`` is another one of its kind.
        """
        return self._options

    def evaluate(
        self,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
        q: ArrayLike | None = None,
        field_q: ArrayLike | None = None,
        *,
        contacts: bool = False,
        treeless: bool = False,
        level: int | None = None,
    ) -> ContactForce:
        """Return forces and their gradient for one cycle.

        Parameters
        ----------
        position
            Of the origin of the field's frame in the world [m], shape (3,); or a `Pose`.
        quaternion
            Its rotation, (w, x, y, z), body to world; None beside a `Pose`. Its norm must be 1 to
            within 1e-6, and is made exactly 1. That of a SciPy Rotation is in another order:
            ``np.roll(rotation.as_quat(), 1, axis=-1)``.
        q
            Reduced coordinates of the shell [kg^1/2 m], shape (r,); None: at rest, with a warning
            for one that deforms.
        field_q
            Reduced coordinates of a field that deforms [kg^1/2 m]; None: at rest.
        contacts
            True: return the touching points too.
        treeless
            Look at all points one by one, without the tree: slow, to compare with. Nothing is
            remembered of it.
        level
            Without the tree: points of levels up to this one only; None: all.

        Returns
        -------
        ContactForce

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, a quaternion of another norm; `q` for a
            rigid shell; `field_q` for a rigid field, or too large; `level` out of range, or
            given with a tree.
        """
        self._warn_of_rest(q, "q")
        position, quaternion = pose_arguments(position, quaternion)
        found = self._core.evaluate(
            array_like(position, "position"),
            rotations(quaternion, "quaternion"),
            None if q is None else array_like(q, "q"),
            self._all_of(treeless, level),
            flag(contacts, "contacts"),
            None if field_q is None else array_like(field_q, "field_q"),
        )
        points = None if found[-1] is None else ContactPoints(*found[-1])
        return ContactForce(*(*found[:-2], points, found[-2]))

    def derivatives(
        self,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
        q: ArrayLike | None = None,
        *,
        treeless: bool = False,
        level: int | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return how forces change with the shell's coordinates; a cycle, as `evaluate`.

        A joint solve for the motion of the field object and q (end of Barbic 2007, section 4.2;
        `HapticSession`) needs these derivatives besides `ContactForce.gradient`. With
        x = P + U q and forces whose directions and lines of action stay, a point adds

        - d(F, T)/dq = k (e; r x e) (U^T e)^T, and transposed that of the reduced force by (dx, dw),
        - df/dq = -k U^T e (U^T e)^T.

        Parameters
        ----------
        position, quaternion, q, treeless, level
            As of `evaluate`; a field that deforms is at rest.

        Returns
        -------
        tuple of ndarray
            Of (force, torque) by q, shape (6, r), of the reduced force by (dx, dw), (r, 6), and
            by q, (r, r).

        Raises
        ------
        InputError, InputTypeError
            As `evaluate`; the shell is rigid.
        """
        result: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
        position, quaternion = pose_arguments(position, quaternion)
        result = self._core.derivatives(
            array_like(position, "position"),
            rotations(quaternion, "quaternion"),
            None if q is None else array_like(q, "q"),
            self._all_of(treeless, level),
        )
        return result

    def evaluate_many(
        self,
        positions: ArrayLike | Sequence[Pose],
        quaternions: ArrayLike | None = None,
        qs: ArrayLike | None = None,
        field_qs: ArrayLike | None = None,
        *,
        contacts: bool = False,
        treeless: bool = False,
        level: int | None = None,
        progress: Progress = None,
    ) -> ContactTrajectory:
        """Return what `evaluate` gives for a whole trajectory, cycle after cycle.

        The contact's memory of the last cycle (levels rendered, nodes that are clear, measured
        costs) is carried on from call to call, as from cycle to cycle: the first cycle goes on
        from whatever was evaluated before, and may for that render other levels than that of a
        new contact. `reset` begins anew. Poses and `qs` are checked before the first cycle.

        Parameters
        ----------
        positions
            Shape (n, 3) [m]; or a sequence of `Pose`.
        quaternions
            (w, x, y, z), each of norm 1, shape (n, 4), None beside poses; of SciPy as of
            `evaluate`.
        qs
            Shape (n, r) [kg^1/2 m]; None: at rest.
        field_qs
            Of a field that deforms, shape (n, its r) [kg^1/2 m]; None: at rest.
        contacts
            True: return the touching points of every cycle too, which takes 84 bytes a
            point and cycle.
        treeless
            Look at all points one by one in every cycle, to compare with; nothing is remembered
            of it, nor does it depend on earlier cycles.
        level
            Without the tree: points of levels up to this one only; None: all.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        ContactTrajectory

        Raises
        ------
        InputError, InputTypeError
            As `evaluate`; the message says of which cycle.
        """
        all_of = self._all_of(treeless, level)
        self._warn_of_rest(qs, "qs")
        positions, quaternions = poses_arguments(positions, quaternions)
        with callback(progress, "contact") as tell:
            found = self._core.evaluate_many(
                array_like(positions, "positions"),
                rotations(quaternions, "quaternions"),
                None if qs is None else array_like(qs, "qs"),
                all_of,
                flag(contacts, "contacts"),
                tell,
                None if field_qs is None else array_like(field_qs, "field_qs"),
            )
        points = None if found[-1] is None else tuple(ContactPoints(*one) for one in found[-1])
        return ContactTrajectory(*(*found[:-1], points))

    def _warn_of_rest(self, q: object, name: str) -> None:
        if q is None and self._tree.r:
            warnings.warn(
                f"{name} is None: contact sees the shell, which deforms (r = {self._tree.r}), at "
                "rest; pass the simulation's state.q, or zeros if that is meant",
                PlausibilityWarning,
                stacklevel=3,
            )

    def _all_of(self, treeless: bool, level: int | None) -> int:
        """Return the level up to which all points are looked at one by one; -1: by the tree."""
        if not flag(treeless, "treeless"):
            if level is not None:
                raise InputError("level is for treeless=True only; the tree chooses its own")
            return -1
        deepest = self._tree.n_levels - 1
        chosen = deepest if level is None else integer(level, "level")
        if not 0 <= chosen <= deepest:
            raise InputError(f"level must be between 0 and {deepest}, got {chosen}")
        return chosen

    def reset(self) -> None:
        """Forget all earlier cycles: levels rendered, clear nodes, measured costs."""
        self._core.reset()

    def __repr__(self) -> str:
        return f"<PenaltyContact: {self._tree!r} on {self._field!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy begins anew: two that share the memory of one would disturb each other
        return _again, (self._tree, self._field, dict(self._options))


def _stiffness(value: object) -> float | str:
    if isinstance(value, str):
        if value != "auto":
            raise InputError(f'stiffness must be a number or "auto", got {value!r}')
        return value
    return number(value, "stiffness")


def _fitted(tree: PointTree, field: Field | DeformedField) -> NDArray[np.float64] | None:
    """Return the stiffness of each point by the compliance of what deforms; None: nothing does."""
    soft = field if isinstance(field, DeformedField) else None
    return _core.fit_stiffness(
        tree._core,
        None if tree.reduced is None else tree.reduced._core,
        None if soft is None else soft._core,
        None if soft is None else soft.reduced._core,
    )


def _vector_text(vector: NDArray[np.float64], unit: str) -> str:
    """Return a vector with its unit, a large one with a prefix rather than powers of ten."""
    largest = float(np.abs(vector).max())
    factor, prefix = (1e6, "M") if largest >= 1e6 else (1e3, "k") if largest >= 1e3 else (1.0, "")
    text = ", ".join(f"{x / factor + 0.0:.4g}" for x in vector)  # + 0.0: no -0
    return f"({text}) {prefix}{unit}"


def _points(n: int) -> str:
    return "1 point" if n == 1 else f"{n} points"


def _again(
    tree: PointTree, field: Field | DeformedField, options: dict[str, Any]
) -> PenaltyContact:
    return PenaltyContact(tree, field, **options)


def _frozen(grasp: ArrayLike) -> NDArray[np.float64]:
    array: NDArray[np.float64] = reals(grasp, "grasp").copy()
    if array.shape != (3,):
        raise InputError(f"grasp must have shape (3,), got {array.shape}")
    array.flags.writeable = False
    return array
