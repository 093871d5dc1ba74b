"""Virtual coupling: what ties the object in the simulation to the hand that holds it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, count, limit, number, rotations
from reducedfem.contact import ContactForce, PenaltyContact
from reducedfem.deformed_field import DeformedField
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.field import DistanceField, Field, SphereField, UnionField
from reducedfem.pose import Pose, pose_arguments

__all__ = ["CouplingStep", "CouplingWrench", "DynamicCoupling", "VirtualCoupling"]

_Hand: TypeAlias = tuple[ArrayLike, ArrayLike] | Pose
_Kind = TypeVar("_Kind", bound="_Coupling")


@dataclass(frozen=True, eq=False)
class CouplingWrench:
    """Force and torque of a coupling at two poses.

    Attributes
    ----------
    force, torque
        On the simulation object, torque about its grasp point, in the world [N], [N m],
        shape (3,). On the hand they are the opposite.
    linear_force, linear_torque
        The same without saturation, shape (3,): what a device renders, up to its own limits.
    gradient
        Of (force, torque) by a displacement [m] of the simulation object and a rotation of it
        [rad] about its grasp point, in fixed axes, shape (6, 6).
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    linear_force: NDArray[np.float64]
    linear_torque: NDArray[np.float64]
    gradient: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CouplingStep:
    """Pose of the simulation object after one cycle.

    Attributes
    ----------
    position, quaternion
        Grasp point in the world [m] and rotation (w, x, y, z), shapes (3,) and (4,).
    wrench
        Of the coupling there.
    move
        Displacement of the grasp point [m] and rotation [rad] of this cycle, shape (6,).
    rank
        Number of the six directions that resisted; the others follow the manipulandum.
    limited
        True if a largest speed cut the motion.
    share
        Which part of the coupling acted, in (0, 1]; below 1 where more than half of `max_depth`
        relieved it.
    velocity
        Of a dynamic coupling [m/s], [rad/s], shape (6,); None for a static one.
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    wrench: CouplingWrench
    move: NDArray[np.float64]
    rank: int
    limited: bool
    share: float
    velocity: NDArray[np.float64] | None = None


def _pose(pose: _Hand, name: str) -> tuple[ArrayLike, ArrayLike]:
    try:
        position, quaternion = pose
    except (TypeError, ValueError):
        raise InputTypeError(
            f"{name} must be a Pose or a pair (position, quaternion), got {type(pose).__name__}"
        ) from None
    return (
        array_like(position, f"position of {name}"),
        rotations(quaternion, f"quaternion of {name}"),
    )


def _load(contact: ContactForce | None) -> tuple[ArrayLike, ArrayLike, ArrayLike, float]:
    if contact is None:
        return np.zeros(3), np.zeros(3), np.zeros((6, 6)), 0.0
    if not isinstance(contact, ContactForce):
        hint = "; pass what its evaluate returns" if isinstance(contact, PenaltyContact) else ""
        raise InputTypeError(f"contact must be a ContactForce, got {type(contact).__name__}{hint}")
    return contact.force, contact.torque, contact.gradient, contact.depth


class _Coupling:
    """Base of both kinds of coupling, which are dataclasses with these fields."""

    stiffness: float
    torsional_stiffness: float
    max_force: float | None
    max_torque: float | None
    max_depth: float | None
    reach: float | None
    max_speed: float | None
    max_turn_rate: float | None

    def _settings(self, dt: float, damping: float, degenerate: float) -> dict[str, float]:
        """Return the settings as the core takes them."""
        return {
            "stiffness": self.stiffness,
            "torsional_stiffness": self.torsional_stiffness,
            "max_force": limit(self.max_force, "max_force"),
            "max_torque": limit(self.max_torque, "max_torque"),
            "max_depth": limit(self.max_depth, "max_depth"),
            "reach": 0.0 if self.reach is None else number(self.reach, "reach"),
            "damping": damping,
            "max_step": limit(self.max_speed, "max_speed") * dt,
            "max_turn": limit(self.max_turn_rate, "max_turn_rate") * dt,
            "degenerate": degenerate,
        }

    def _reaching(self: _Kind, contact: PenaltyContact) -> _Kind:
        """Return it with a reach, where it needs one: that of what the contact has a field of."""
        if self.max_depth is None or self.reach is not None:
            return self
        field = contact.field.field if isinstance(contact.field, DeformedField) else contact.field
        reach = _reach(field, contact.options["grasp"])
        if not math.isfinite(reach):
            raise InputError(
                "coupling has a max_depth and no reach, and the object that is held has no end: "
                "give the coupling a reach, 0 if rotations are not to be looked at"
            )
        return replace(self, reach=reach)  # type: ignore[type-var]

    def _warn_of_reach(self) -> None:
        """Tell that a step of its own knows of no object."""
        if self.max_depth is not None and self.reach is None:
            warnings.warn(
                "the coupling has a max_depth and no reach: step takes no rotation for a way that "
                "points travel; give it a reach, 0 if that is meant",
                PlausibilityWarning,
                stacklevel=3,
            )

    def _check(self, settings: tuple[float, ...]) -> None:
        _core.coupling_check(settings)

    def _numbers(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name != "substeps" and (value is not None or field.default is not None):
                taken = limit if field.name.startswith("max_") else number
                object.__setattr__(self, field.name, taken(value, field.name))


@dataclass(frozen=True)
class VirtualCoupling(_Coupling):
    """Static virtual coupling: springs without masses (Barbic 2007, chapter 4).

    The simulation object is pulled to the manipulandum by the force k e, e the way to its
    grasp point, and by the torque k_T p, where p has the axis of the rotation that is missing
    and the length sin(theta / 2) (4.13, 4.14). A cycle moves it to where, by the gradients of
    coupling and contact, no net force and torque are left (4.1, 4.2). The stiffness that the
    hand feels is never above k (theorem of section 4.7).

    Parameters
    ----------
    stiffness
        k [N/m]; the most that is felt. Where the coupling saturates this is so of what acts on
        the object; the whole spring, which a `HapticSession` renders unless told otherwise, was
        felt with up to 1.23 k, over planes at random about as soft as the coupling.
    torsional_stiffness
        k_T [N m]; for small rotations the spring has k_T / 2 a radian.
    max_force
        Force [N] at which the coupling saturates; linear up to half of it (4.40). With the
        stiffness of a contact point times a depth, no object is pushed deeper than that by a
        force (section 4.9). None: never. What deforms gives way to this force at most, though
        the hand of a `HapticSession` feels k e: give contacts with it a stiffness at which that
        is as much as the hand is to feel (see ``render`` there).
    max_torque
        The same of the torque [N m], which B07 leaves open; None: never. What a torque can do
        depends on lever arms: max_force times the shortest that contact may have is safe.
    max_depth
        Penetration D [m] that is allowed; None: not looked at. Beyond D / 2 the whole coupling is
        relieved until the object is no deeper, whatever levers and wedges multiply its force. In
        a session, moreover, no point of the object travels farther in a cycle than half of what
        is left, (D - depth) / 2, and in free space, where that is a largest speed of D / 2 a
        cycle, than that and a clearance that the contact search has found; and a pose deeper than
        3/4 D is left for the one before, from where shorter motions, and such straight to the
        manipulandum, are tried. No recorded depth is then above::

            3/4 D + (D - 3/4 D) / 2 = 7/8 D

        however fast, strong or well levered a hand is, if the shell is rigid, the first pose is
        not deeper than 3/4 D, `reach` is not too short, and distances change by no more than a
        point travels. Those of a grid can change sqrt(3) times as fast: 0.967 D at the very
        most. In ``experiments/b07_4_9_attacks.py``, of which that is the subject, it was 0.88 D;
        static couplings that only saturate came to 9.2 D there.

        Slides, too, are no faster than D / 2 a cycle: at 1 kHz 0.5 m/s for each mm of D; a hand
        that is faster feels the object lag. Slower ones that are less than D / 2 deep feel as
        without `max_depth`, to the bit. No clearance is known beside a `DeformedField`, nor where
        time does not allow all levels. What begins too deep, because a session begins there or D
        has been made smaller, gets at most D / 4 deeper on its way out; an object jammed between
        walls that it is too thick for may stay there: `HapticSession.recentre`.

        Not bounded are: points that are not there, as a spike passes between those of a
        coarse shell, or are left out for want of time; where an object is that is held and thinner
        than 3/2 D, in which nothing is deeper than half of that, so that it may come through; and
        what moves by itself. A plate of 10 kPa came up to 1.3 D into an object with a static
        coupling, in one of nine attacks on it (in the others up to 0.72 D), up to 1.0 D into one
        with a dynamic coupling, and up to 0.79 D into a coupled one. `step` alone bounds nothing:
        it knows of one cycle.
    damping
        Part of each motion that is not made, in [0, 1) (4.8): it calms contact, and the object
        follows a hand in free motion with a lag. Where bodies deform in coupled cycles it is the
        part of the last motion, as far as that goes with the hand, that is made again: a hand in
        steady motion feels no drag.
    max_speed, max_turn_rate
        Of the grasp point [m/s] and of the rotation [rad/s] of the simulation object (4.6);
        None: any.
    degenerate
        Directions in which the system resists less than this part of the most follow the
        manipulandum (4.10), unless every direction is known to resist by this part of k at least,
        as it does where contact does not pull, its force F is below sqrt(2 k k_T), the coupling
        does not saturate 1 / `degenerate` times farther away than where it begins to, and
        `max_depth` does not relieve it of so much. (A larger F on a single point turns the object
        more, as the grasp point moves aside, than both springs resist.) B07 has no exception;
        contact 1000 times as stiff as k then leaves out what the coupling does, and the object does
        not come to rest. With it, over two to six planes at random, nearly parallel ones among
        them, 2399 of 2400 runs came to rest under contact of up to 1000 k, and 792 of 800 under one
        of up to 10^6 k, where Newton's step may go round in a circle; in those no more than k was
        felt.
    reach
        Of the object from its grasp point [m]: how far a rotation of 1 rad may move a point of
        it, for `max_depth`. None: a `HapticSession` finds it, from the field of its contacts: how
        far what is inside of that is from the grasp point, at rest of a `DeformedField`. `step`,
        which knows of no object, takes it for 0 then, and warns where there is a `max_depth`. 0:
        rotations are not looked at.

    Raises
    ------
    InputError, InputTypeError
        A value that is not allowed or not a number.
    """

    stiffness: float
    torsional_stiffness: float
    max_force: float | None = None
    max_torque: float | None = None
    max_depth: float | None = None
    damping: float = 0.5
    max_speed: float | None = None
    max_turn_rate: float | None = None
    degenerate: float = 1e-3
    reach: float | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        self._numbers()
        self._check(self._core_settings(1.0))

    def _core_settings(self, dt: float) -> dict[str, float]:
        return self._settings(dt, self.damping, self.degenerate)

    @classmethod
    def for_contact(
        cls,
        contact: PenaltyContact,
        stiffness: float,
        *,
        depth: float | None = None,
        force: float = 10.0,
        dt: float = 1e-3,
        **options: Any,
    ) -> VirtualCoupling:
        """Return a coupling whose limits fit a contact.

        With l the radius of gyration of the object that is held about its grasp point, the
        torsional spring has 2 k l^2, so that a rotation meets what the displacements that it causes
        would meet, and no point at l moves farther than one spacing of the samples a cycle.
        Force and torque do not saturate. What bounds penetration is `max_depth`, 2 d: relief begins
        at d, to which one point takes twice the force that the device renders, 2 F / k_c; all that
        can be rendered is so felt as it is. k_c is the stiffness of a contact point, 20 k for
        "auto". Where 4 F / k_c is too deep, raise k, or give a depth: what is felt is then true up
        to k_c d.

        Parameters
        ----------
        contact
            Between the object that is held, a `DistanceField`, and another one.
        stiffness
            k [N/m].
        depth
            d [m]; None: 2 F / k_c, and no less than half the largest spacing of the samples.
        force
            F, the largest force that the device renders [N].
        dt
            Length of a cycle [s].
        **options
            Of `VirtualCoupling`, in place of what is chosen here.

        Returns
        -------
        VirtualCoupling

        Raises
        ------
        InputError, InputTypeError
            A wrong value, or a field without samples.
        """
        if not isinstance(contact, PenaltyContact):
            raise InputTypeError(f"contact must be a PenaltyContact, got {type(contact).__name__}")
        field = contact.field
        if not isinstance(field, DistanceField):
            raise InputTypeError(
                f"contact.field must be a DistanceField, got {type(field).__name__}: "
                "sample it with DistanceField.from_field(field), or choose stiffness, max_force "
                "and max_depth of a VirtualCoupling yourself"
            )
        k = _positive(stiffness, "stiffness")
        spacing = float(np.max(field.spacing))
        rendered = 2.0 * _positive(force, "force") / _of_point(contact, k)
        allowed = max(0.5 * spacing, rendered) if depth is None else _positive(depth, "depth")
        lever, reach = _levers(field, contact.options["grasp"])
        chosen: dict[str, Any] = {
            "torsional_stiffness": 2.0 * k * lever**2,
            "max_depth": 2.0 * allowed,
            "reach": reach,
            "max_speed": spacing / _positive(dt, "dt"),
            "max_turn_rate": spacing / lever / dt,
        }
        return cls(k, **(chosen | options))

    def wrench(
        self,
        manipulandum: _Hand,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
    ) -> CouplingWrench:
        """Return force and torque at two poses.

        Parameters
        ----------
        manipulandum
            The pose of the grasp frame in the hand: a `Pose`, or position [m] (3,) and quaternion
            (w, x, y, z).
        position, quaternion
            That of the simulation object; position may be a `Pose`.

        Returns
        -------
        CouplingWrench

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, a quaternion whose norm is not 1.
        """
        hand = _pose(manipulandum, "manipulandum")
        found = _core.coupling_wrench(
            self._core_settings(1.0), hand, _pose(pose_arguments(position, quaternion), "object")
        )
        return CouplingWrench(*found)

    def step(
        self,
        manipulandum: _Hand,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
        contact: ContactForce | None = None,
        *,
        share: float = 1.0,
        dt: float = 1e-3,
    ) -> CouplingStep:
        """Return where one cycle takes the simulation object.

        Parameters
        ----------
        manipulandum, position, quaternion
            As of `wrench`.
        contact
            Contact that acts on it there, about its grasp point; None: none.
        share
            That of the last cycle.
        dt
            Length of the cycle [s]; speeds are limited by it.

        Returns
        -------
        CouplingStep

        Raises
        ------
        InputError, InputTypeError
            As `wrench`.
        DivergedError
            Forces or gradients are so large that there is no finite step.
        """
        self._warn_of_reach()
        hand = _pose(manipulandum, "manipulandum")
        settings = self._core_settings(_positive(dt, "dt"))
        found = _core.coupling_step(
            settings,
            hand,
            _pose(pose_arguments(position, quaternion), "object"),
            _share(share),
            _load(contact),
        )
        return _step(found)


def _step(found: tuple[Any, ...], velocity: NDArray[np.float64] | None = None) -> CouplingStep:
    (position, quaternion), share, wrench, move, rank, limited = found
    return CouplingStep(
        position, quaternion, CouplingWrench(*wrench), move, rank, limited, share, velocity
    )


def _positive(value: float, name: str) -> float:
    result = number(value, name)
    if not result > 0.0:
        raise InputError(f"{name} must be positive, got {result:g}")
    return result


def _of_point(contact: PenaltyContact, k: float) -> float:
    """Return the stiffness of a contact point under a coupling of stiffness k."""
    given = contact.stiffness
    return _core.suited_stiffness(k) if isinstance(given, str) else given


def _levers(field: DistanceField, grasp: NDArray[np.float64]) -> tuple[float, float]:
    """Return root mean square and maximum of the distance of what is inside from the grasp."""
    inside = np.argwhere(np.asarray(field.values) < 0.0)
    if not len(inside):
        raise InputError("no sample of contact.field is inside: its resolution is too low")
    way = field.origin + field.spacing * inside - grasp
    square = np.sum(way * way, axis=1)
    # what is inside may reach up to the next sample
    farthest = np.sqrt(square.max()) + np.linalg.norm(field.spacing)
    return float(np.sqrt(np.mean(square))), float(farthest)


def _reach(field: Field, grasp: NDArray[np.float64]) -> float:
    """Return how far from the grasp point, at most, what is inside of a field is."""
    if isinstance(field, DistanceField):
        return _levers(field, grasp)[1]
    if isinstance(field, UnionField):
        return max(_reach(part, grasp) for part in field.fields)
    corners = field._core.bounds
    far = np.maximum(np.abs(corners[0] - grasp), np.abs(corners[1] - grasp))
    if isinstance(field, SphereField):
        # not that of the box around it
        half = 0.5 * (corners[1] - corners[0])
        return float(np.linalg.norm(corners.mean(axis=0) - grasp) + half.max())
    return float(np.linalg.norm(far))


def _share(value: float) -> float:
    share = number(value, "share")
    if not 0.0 < share <= 1.0:
        raise InputError(f"share must be above 0 and at most 1, got {share:g}")
    return share


@dataclass(frozen=True)
class DynamicCoupling(_Coupling):
    """Dynamic virtual coupling: the simulation object has a mass (McNeely et al. 1999).

    Springs as those of `VirtualCoupling`, with dampers beside them, pull an object of the given
    mass and inertia; a cycle makes linearly implicit Euler steps under the contact of its
    beginning and its gradient. It is what static coupling is compared with.

    Parameters
    ----------
    stiffness, torsional_stiffness, reach
        As of `VirtualCoupling`.
    max_force, max_torque, max_depth, max_speed, max_turn_rate
        As of `VirtualCoupling`. Neither dampers nor momentum saturate: without `max_depth` a fast
        hand drives the object through any contact.
    mass
        Of the simulation object [kg].
    inertia
        About the grasp point, the same about all axes [kg m^2].
    damping_ratio
        Of the springs with this mass and inertia; 1: critical. Where a spring saturates the
        damper is less, so that this is that of the stiffness that is left.
    substeps
        Steps a cycle, up to 64.

    Raises
    ------
    InputError, InputTypeError
        A value that is not allowed or not a number.
    """

    stiffness: float
    torsional_stiffness: float
    mass: float
    inertia: float
    damping_ratio: float = 1.0
    substeps: int = 1
    max_force: float | None = None
    max_torque: float | None = None
    max_depth: float | None = None
    max_speed: float | None = None
    max_turn_rate: float | None = None
    reach: float | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        self._numbers()
        object.__setattr__(self, "substeps", count(self.substeps, "substeps", 64))
        for name in ("stiffness", "torsional_stiffness", "mass", "inertia"):
            _positive(getattr(self, name), name)
        if not self.damping_ratio >= 0.0:
            raise InputError(f"damping_ratio must not be negative, got {self.damping_ratio:g}")
        self._check(self._core_settings(1.0)[0])

    def _core_settings(self, dt: float) -> tuple[dict[str, float], dict[str, float]]:
        twice = 2.0 * self.damping_ratio
        dynamics = {
            "mass": self.mass,
            "inertia": self.inertia,
            "viscosity": twice * math.sqrt(self.stiffness * self.mass),
            "torsional_viscosity": twice * math.sqrt(0.5 * self.torsional_stiffness * self.inertia),
            "dt": dt,
            "substeps": self.substeps,
        }
        return self._settings(dt, 0.0, 1e-3), dynamics

    def step(
        self,
        manipulandum: _Hand,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
        contact: ContactForce | None = None,
        *,
        velocity: ArrayLike | None = None,
        manipulandum_velocity: ArrayLike | None = None,
        share: float = 1.0,
        dt: float = 1e-3,
    ) -> CouplingStep:
        """Return where one cycle takes the simulation object.

        Parameters
        ----------
        manipulandum, position, quaternion, contact, share
            As of `VirtualCoupling.step`.
        velocity
            Of the simulation object's grasp point, and its angular velocity [m/s], [rad/s],
            shape (6,); None: at rest.
        manipulandum_velocity
            The same of the manipulandum.
        dt
            Length of the cycle [s].

        Returns
        -------
        CouplingStep

        Raises
        ------
        InputError, InputTypeError, DivergedError
            As `VirtualCoupling.step`.
        """
        self._warn_of_reach()
        settings, dynamics = self._core_settings(_positive(dt, "dt"))
        rest = np.zeros(6)
        found, after = _core.dynamic_step(
            settings,
            dynamics,
            _pose(manipulandum, "manipulandum"),
            rest if manipulandum_velocity is None else manipulandum_velocity,
            _pose(pose_arguments(position, quaternion), "object"),
            rest if velocity is None else velocity,
            _share(share),
            _load(contact),
        )
        return _step(found, after)
