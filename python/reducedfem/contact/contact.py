"""Contact of pointshells with distance fields, in bounded time, by any law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import (
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
from reducedfem.base.quiet import silenced, warn
from reducedfem.base.run import Progress, callback
from reducedfem.contact.barrier import BarrierContact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import Field
from reducedfem.contact.local import LocalCompliance
from reducedfem.contact.point_tree import PointTree
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.geometry.pose import Pose, pose_arguments, poses_arguments

__all__ = ["Contact", "ContactForce", "ContactPoints", "ContactTrajectory", "vector_text"]

_Kind = TypeVar("_Kind", bound="Contact")
_DIRECTIONS = ("gradient", "normal")
WARM_NODES = 2500  # default of `warm_nodes`


@dataclass(frozen=True, eq=False, repr=False)
class ContactPoints:
    """Touching points, in the order in which their forces were summed.

    Attributes
    ----------
    indices
        Indices in the shell, shape (k,).
    positions
        Positions in the world [m], shape (k, 3).
    distances
        Signed distances, all negative [m], shape (k,).
    normals
        Inward unit normals in the world, shape (k, 3).
    forces
        Scaled forces on the field object, in the world [N], shape (k, 3).
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
    """Result of `Contact.evaluate`.

    Attributes
    ----------
    force
        Force on the field object in the world [N], shape (3,); that on the shell is the opposite.
    torque
        Torque on the field object about its grasp point, in the world [N m], shape (3,).
    gradient
        Derivative of (force, torque) by a displacement [m] of the field object and a rotation
        [rad] about its grasp point, in fixed axes, shape (6, 6): quarters in [N/m], [N/rad],
        [N m/m] and [N m/rad]. Directions and lines of action of the forces are held constant:
        -sum c w w^T, c the stiffness of a point, with w = (e, (x - x_g) x e).
    reduced_force
        Reduced force on the shell, U^T f [N kg^-1/2], shape (r,); None for a rigid shell.
    visited
        Number of visited tree nodes, with `budget_us` including those of a level left out.
    skipped
        Number of nodes of rendered levels skipped by temporal coherence.
    touching
        Number of touching points.
    level
        Deepest rendered level of the shell, 0 to ``n_levels - 1``.
    depth
        Deepest penetration [m], 0 without contact.
    microseconds
        Computing time [us].
    contacts
        Touching points, if requested; else None.
    field_reduced_force
        Reduced force on a `DeformedField` [N kg^-1/2], shape (its r,); None for other fields.
        Forces act on the motion of the nearby proxies, by the weights of the distance; with
        ``direction="normal"`` on that of the nearest proxy (Barbic 2007).
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
        force, torque = vector_text(self.force, "N"), vector_text(self.torque, "N m")
        return (
            f"<ContactForce: {force}, {torque}, {_points(self.touching)} up to "
            f"{self.depth:.3g} m deep, {tail}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ContactTrajectory:
    """Result of `Contact.evaluate_many`: `ContactForce` as arrays over n cycles.

    Attributes
    ----------
    force, torque
        Force [N] and torque [N m] on the field object in the world, shape (n, 3).
    gradient
        Gradients as of `ContactForce`, shape (n, 6, 6).
    reduced_force
        Reduced forces on the shell [N kg^-1/2], shape (n, r); None for a rigid shell.
    visited, skipped, touching, level
        Numbers of nodes and points, and deepest rendered level, shape (n,).
    depth
        Deepest penetration [m], shape (n,).
    microseconds
        Computing time of each cycle [us], shape (n,).
    field_reduced_force
        Reduced forces on a `DeformedField` [N kg^-1/2], shape (n, its r); None for other fields.
    contacts
        Touching points, one `ContactPoints` per cycle, if requested; else None.
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
            f"finest level {self.level.min()} to {self.level.max()}>"
        )


class Contact:
    """Base class of contacts of a pointshell with a distance field. Users create its subclasses.

    A subclass is a law, which gives force and stiffness of each touching point. Everything else is
    common: the search by the tree, levels of detail, sums, copies.

    Calls from several threads wait for each other; contacts may share trees and fields. A contact
    remembers the last cycle; copies and pickles begin as after `reset`.

    Attributes
    ----------
    tree
        Tree of the points.
    field
        Signed distances of the other object.
    options
        Read-only settings by name: all arguments but tree and field.
    """

    # A subclass sets `_law`. Its constructor has the arguments of `_create` and those of its law,
    # whose types it checks (the core checks ranges), and calls `_create`. It overrides
    # `_law_settings` if the law's settings in the core differ from its arguments.
    __slots__ = ("__weakref__", "_core", "_field", "_options", "_tree")
    _law: ClassVar[str]
    _follows: ClassVar[str | None] = (
        None  # text of the setting, for advice, by which k follows the coupling
    )

    _in_steps: ClassVar[bool] = True  # steps of integrators take it as contact=

    def __init__(self) -> None:
        raise InputTypeError(f"a Contact is made by one of its subclasses: {_kinds()}")

    def _create(
        self,
        own: dict[str, Any],
        tree: PointTree,
        field: Field | DeformedField,
        *,
        warm_nodes: int | None,
        budget_us: float | None,
        cold_ratio: float,
        max_points: int | None,
        area_weights: bool,
        temporal_coherence: bool,
        grasp: ArrayLike | None,
        direction: str,
        local: LocalCompliance | None = None,
    ) -> None:
        """Check the common arguments and create the contact; own: options of the law, checked."""
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
            if warm_nodes not in (WARM_NODES, None):
                raise InputError(
                    f"warm_nodes is {warm_nodes} and budget_us is {budget_us:g}; a cycle ends by "
                    "nodes or by time: give one of them"
                )
            warm_nodes = None
        place = _frozen((0.0, 0.0, 0.0) if grasp is None else grasp)
        options: dict[str, Any] = {
            **own,
            "warm_nodes": warm_nodes,
            "budget_us": budget_us,
            "cold_ratio": number(cold_ratio, "cold_ratio"),
            "max_points": None if max_points is None else count(max_points, "max_points"),
            "area_weights": weights is not None,
            "temporal_coherence": flag(temporal_coherence, "temporal_coherence"),
            "grasp": place,
            "direction": direction,
        }
        self._tree, self._field, self._options = tree, field, MappingProxyType(options)
        self._core = _core.Contact(
            tree._core,
            field._core,
            weights,
            self._law,
            self._law_settings(own),
            {
                "warm_nodes": options["warm_nodes"] or 0,
                "cold_ratio": options["cold_ratio"],
                "budget_us": options["budget_us"] or 0.0,
                "max_points": options["max_points"] or 0,
                "coherence": options["temporal_coherence"],
                "along_normal": direction == "normal",
                "grasp": tuple(map(float, place)),
            },
            None if local is None else local._core,
        )

    def _law_settings(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of the law in the C core, by name."""
        return own

    @property
    def tree(self) -> PointTree:
        """Tree of the points."""
        return self._tree

    @property
    def field(self) -> Field | DeformedField:
        """Signed distances of the other object."""
        return self._field

    @property
    def options(self) -> Mapping[str, Any]:
        """Read-only settings by name: all arguments but tree and field.

        ``type(contact)(tree, field, **contact.options)`` makes a contact with the same settings.
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
            Origin of the field's frame in the world [m], shape (3,); or a `Pose`.
        quaternion
            Rotation (w, x, y, z), body to world; None with a `Pose`. Its norm must be 1 to within
            1e-6 and is normalised. A SciPy Rotation has another order:
            ``np.roll(rotation.as_quat(), 1, axis=-1)``.
        q
            Reduced coordinates of the shell [kg^1/2 m], shape (r,); None: at rest, with a warning
            for a deformable shell.
        field_q
            Reduced coordinates of a `DeformedField` [kg^1/2 m], shape (its r,); None: at rest.
        contacts
            True: return the touching points too.
        treeless
            True: test all points one by one, without the tree; slow, for comparison. Later cycles
            are not affected.
        level
            Deepest level of points to test with `treeless`; None: all.

        Returns
        -------
        ContactForce

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, a quaternion of another norm; `q` for a
            rigid shell; `field_q` for a rigid field, or too large; `level` out of range, or
            given without `treeless`.
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
        """Return derivatives of the forces by the shell's coordinates; a cycle, as `evaluate`.

        With `ContactForce.gradient` they give the joint system of the object's motion and q (end
        of Barbic 2007, section 4.2). With x = P + U q, and forces whose directions and lines of
        action are held constant, each point adds

        - d(F, T)/dq = k (e; (x - x_g) x e) (U^T e)^T, and its transpose to df/d(dx, dw),
        - df/dq = -k U^T e (U^T e)^T.

        Parameters
        ----------
        position, quaternion, q, treeless, level
            As of `evaluate`; a `DeformedField` is at rest.

        Returns
        -------
        tuple of ndarray
            Derivatives of (force, torque) by q, shape (6, r), of the reduced force by (dx, dw),
            shape (r, 6), and by q, shape (r, r).

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
        """Return the results of `evaluate` for the cycles of a trajectory.

        The memory of the last cycle (rendered levels, clear nodes, measured costs) persists
        between cycles and calls, so that the first cycle may render other levels than a new
        contact would; `reset` clears it. Poses and `qs` are checked before the first cycle.

        Parameters
        ----------
        positions
            Positions [m], shape (n, 3); or a sequence of `Pose`.
        quaternions
            Rotations (w, x, y, z) of norm 1, shape (n, 4), see `evaluate`; None with poses.
        qs
            Reduced coordinates of the shell [kg^1/2 m], shape (n, r); None: at rest.
        field_qs
            Those of a `DeformedField` [kg^1/2 m], shape (n, its r); None: at rest.
        contacts
            True: return the touching points of every cycle too, 84 bytes per point and cycle.
        treeless
            True: test all points one by one in every cycle, for comparison, independent of
            other cycles.
        level
            Deepest level of points to test with `treeless`; None: all.
        progress
            A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

        Returns
        -------
        ContactTrajectory

        Raises
        ------
        InputError, InputTypeError
            As `evaluate`; the message names the cycle.
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
            warn(
                f"{name} is None, so contact uses the shell at rest, although it can deform (r = "
                f"{self._tree.r}): pass state.q of the simulation, or zeros if that is meant",
                PlausibilityWarning,
                stacklevel=3,
            )

    def _all_of(self, treeless: bool, level: int | None) -> int:
        """Return the level up to which all points are tested one by one; -1: by the tree."""
        if not flag(treeless, "treeless"):
            if level is not None:
                raise InputError(
                    "level needs treeless=True: with the tree, levels follow from warm_nodes or "
                    "budget_us"
                )
            return -1
        deepest = self._tree.n_levels - 1
        chosen = deepest if level is None else integer(level, "level")
        if not 0 <= chosen <= deepest:
            raise InputError(f"level must be between 0 and {deepest}, got {chosen}")
        return chosen

    def reset(self) -> None:
        """Clear the memory of earlier cycles: rendered levels, clear nodes, measured costs."""
        self._core.reset()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._tree!r} on {self._field!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy has no memory of cycles: sharing it would mix two histories
        return _again, (type(self), self._tree, self._field, dict(self._options))


def _kinds() -> str:
    return ", ".join(kind.__name__ for kind in Contact.__subclasses__())


def any_contact() -> str:
    """Return the description of an argument that must be a contact, for messages."""
    return f"a contact ({_kinds()})"


def barrier_hint(value: object) -> str:
    """Return the advice for a `BarrierContact` in place of a contact; empty for other values."""
    if not isinstance(value, BarrierContact):
        return ""
    return (
        ", whose barrier only steps of many iterations do not cross: pass it as "
        "BackwardEuler(solid, dt, newton_max=50, contact=contact)"
    )


def require_contact(value: object) -> None:
    """Refuse an argument `contact` of another class."""
    if not isinstance(value, Contact):
        raise InputTypeError(
            f"contact must be {any_contact()}, got {type(value).__name__}{barrier_hint(value)}"
        )


def vector_text(vector: NDArray[np.float64], unit: str) -> str:
    """Return a vector as text with its unit, with a prefix if it is large."""
    largest = float(np.abs(vector).max())
    factor, prefix = (1e6, "M") if largest >= 1e6 else (1e3, "k") if largest >= 1e3 else (1.0, "")
    text = ", ".join(f"{x / factor + 0.0:.4g}" for x in vector)  # + 0.0: no -0
    return f"({text}) {prefix}{unit}"


def _points(n: int) -> str:
    return "1 point" if n == 1 else f"{n} points"


def _again(
    kind: Callable[..., _Kind],
    tree: PointTree,
    field: Field | DeformedField,
    options: dict[str, Any],
) -> _Kind:
    with silenced():
        return kind(tree, field, **options)


def _frozen(grasp: ArrayLike) -> NDArray[np.float64]:
    array: NDArray[np.float64] = reals(grasp, "grasp").copy()
    if array.shape != (3,):
        raise InputError(f"grasp must have shape (3,), got {array.shape}")
    array.flags.writeable = False
    return array
