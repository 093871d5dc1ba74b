"""Virtual coupling: springs between the simulation object and the hand that holds it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, count, limit, number, positive, rotations
from reducedfem.contact.contact import Contact, ContactForce, require_contact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import DistanceField, Field, SphereField, UnionField
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.geometry.pose import Pose, pose_arguments

__all__ = ["CouplingStep", "CouplingWrench", "DynamicCoupling", "VirtualCoupling"]

_DEPTHS = 20  # steps of a fixed-point iteration
_Hand: TypeAlias = tuple[ArrayLike, ArrayLike] | Pose
_Kind = TypeVar("_Kind", bound="_Coupling")


@dataclass(frozen=True, eq=False)
class CouplingWrench:
    """Force and torque of a coupling at two poses.

    Attributes
    ----------
    force, torque
        Force [N] and torque about the grasp point [N m] on the simulation object, in the world,
        shape (3,). Those on the hand are the opposite.
    linear_force, linear_torque
        The same without saturation, shape (3,); a device renders them up to its own limits.
    gradient
        Derivative of (force, torque) by a displacement [m] of the simulation object and a
        rotation [rad] about its grasp point, in fixed axes, shape (6, 6).
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
        Wrench of the coupling at that pose.
    move
        Displacement of the grasp point [m] and rotation [rad] of this cycle, shape (6,).
    rank
        Number of directions, of six, that resisted; the others follow the manipulandum.
    limited
        True if `max_speed` or `max_turn_rate` limited the motion.
    share
        Part of the coupling that acted, in (0, 1]; below 1 where a depth above half of
        `max_depth` relieved it.
    velocity
        Velocity of the object under a dynamic coupling [m/s], [rad/s], shape (6,); None for a
        static one.
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
        hint = "; pass what its evaluate returns" if isinstance(contact, Contact) else ""
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
        """Return the settings in the form of the core."""
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

    def _reaching(self: _Kind, contact: Contact) -> _Kind:
        """Return the coupling with the reach of the held object, if `max_depth` needs one."""
        if self.max_depth is None or self.reach is not None:
            return self
        field = contact.field.field if isinstance(contact.field, DeformedField) else contact.field
        reach = _reach(field, contact.options["grasp"])
        if not math.isfinite(reach):
            raise InputError(
                "coupling has a max_depth but no reach, and the held object, from which the reach "
                "would follow, is unbounded: give the coupling a reach [m], or reach=0 to ignore "
                "rotations"
            )
        return replace(self, reach=reach)  # type: ignore[type-var]

    def _warn_of_reach(self) -> None:
        """Warn that a single step has no object to find the reach from."""
        if self.max_depth is not None and self.reach is None:
            warnings.warn(
                "the coupling has a max_depth but no reach, so step ignores that rotations move "
                "points: give it a reach [m], or reach=0 if that is meant",
                PlausibilityWarning,
                stacklevel=3,
            )

    def _check(self, settings: dict[str, float]) -> None:
        _core.coupling_check(settings)

    def _numbers(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name != "substeps" and (value is not None or field.default is not None):
                taken = limit if field.name.startswith("max_") else number
                object.__setattr__(self, field.name, taken(value, field.name))


@dataclass(frozen=True)
class VirtualCoupling(_Coupling):
    """Static virtual coupling: massless springs between hand and object (Barbic 2007, chapter 4).

    The simulation object is pulled to the manipulandum by the force k e, with e the displacement
    of its grasp point, and by the torque k_T p, where p has the axis of the missing rotation and
    the length sin(theta / 2) (4.13, 4.14). A cycle moves it to the equilibrium of coupling and
    contact, by their gradients (4.1, 4.2). The stiffness that the hand feels is at most k
    (section 4.7). Saturation, depth limiter and exceptions: see ``docs/haptics.md``.

    Parameters
    ----------
    stiffness
        k [N/m], positive: bound of the stiffness felt. Where the coupling saturates the bound
        holds for the force on the object, not for ``render="linear"`` of a `HapticSession`.
    torsional_stiffness
        k_T [N m], positive; for small rotations k_T / 2 per radian.
    max_force
        Force at which the coupling saturates [N], linear up to half of it (4.40); None: never.
        No force then pushes an object deeper than `max_force` over the stiffness of one contact
        point (section 4.9).
    max_torque
        Torque at which the coupling saturates [N m], likewise; None: never. Safe is `max_force`
        times the shortest lever arm of contact.
    max_depth
        Largest allowed penetration D [m]; None: no limit. Beyond D / 2 the whole coupling is
        relieved. In a session, moreover, no point of the object travels farther per cycle than
        (D - depth) / 2, in free space D / 2 and the clearance, and poses deeper than 3/4 D are
        rejected. Recorded depths are then below 7/8 D, with sampled distances below 0.967 D, if
        the shell is rigid, the first pose at most 3/4 D deep and `reach` large enough. Sliding
        is limited to D / 2 per cycle. Not bounded: contact at points that are missing or left
        out, held objects thinner than 3/2 D, bodies that move by themselves, and `step` alone.
    damping
        Part of each motion that is left out, in [0, 1) (4.8). In coupled cycles with deformable
        bodies: part of the last motion, as far as it goes with the hand, that is repeated.
    max_speed, max_turn_rate
        Limits of the speed of the grasp point [m/s] and of the rotation [rad/s] (4.6); None:
        no limits.
    degenerate
        Directions that resist less than this fraction, in (0, 1), of the largest resistance
        follow the manipulandum (4.10), unless all directions resist by this fraction of k.
    reach
        Largest distance of the object from its grasp point [m]: displacement of its points per
        radian, for `max_depth`. 0: rotations do not count. None: a `HapticSession` finds it from
        the field of its contacts, at rest; `step` takes 0, with a warning if `max_depth` is set.

    Raises
    ------
    InputError, InputTypeError
        A value is not allowed or not a number.
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
        contact: Contact,
        stiffness: float,
        *,
        depth: float | None = None,
        force: float = 10.0,
        dt: float = 1e-3,
        **options: Any,
    ) -> VirtualCoupling:
        """Return a coupling with limits that fit a contact.

        The torsional stiffness is 2 k l^2, with l the radius of gyration of the held object about
        its grasp point; speeds are limited to one spacing of the samples per cycle at l; force
        and torque do not saturate. `max_depth` is 2 d. Forces up to k_c d are felt unreduced,
        with k_c the stiffness of a contact point at depth d, 20 k for "auto". See
        ``docs/haptics.md``.

        Parameters
        ----------
        contact
            Contact of the held object, a `DistanceField`, with a shell.
        stiffness
            k [N/m], positive.
        depth
            d [m], positive; None: 2 F / k_c, at least half the largest spacing of the samples.
        force
            Largest force F that the device renders [N], positive.
        dt
            Length of a cycle [s], positive.
        **options
            Settings of `VirtualCoupling` that replace those chosen here.

        Returns
        -------
        VirtualCoupling

        Raises
        ------
        InputError, InputTypeError
            A value is not allowed, or the field has no samples, or none of them inside.
        """
        require_contact(contact)
        field = contact.field
        if not isinstance(field, DistanceField):
            raise InputTypeError(
                f"contact.field must be a DistanceField, got {type(field).__name__}: "
                "sample it with DistanceField.from_field(field), or choose stiffness, max_force "
                "and max_depth of a VirtualCoupling yourself"
            )
        k = positive(stiffness, "stiffness")
        spacing = float(np.max(field.spacing))
        allowed = 0.5 * spacing
        most = 2.0 * positive(force, "force")
        if depth is not None:
            allowed = positive(depth, "depth")
        elif (rendered := most / contact._core.stiffest(k, allowed)) > allowed:
            # the stiffness of a point may depend on its depth: halves the error each time
            for _ in range(_DEPTHS):
                allowed, rendered = rendered, most / contact._core.stiffest(k, rendered)
        lever, reach = _levers(field, contact.options["grasp"])
        chosen: dict[str, Any] = {
            "torsional_stiffness": 2.0 * k * lever**2,
            "max_depth": 2.0 * allowed,
            "reach": reach,
            "max_speed": spacing / positive(dt, "dt"),
            "max_turn_rate": spacing / lever / dt,
        }
        return cls(k, **(chosen | options))

    def wrench(
        self,
        manipulandum: _Hand,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
    ) -> CouplingWrench:
        """Return force and torque of the coupling between two poses.

        Parameters
        ----------
        manipulandum
            Pose of the grasp frame in the hand: a `Pose`, or a pair of position [m] (3,) and
            quaternion (w, x, y, z).
        position, quaternion
            Pose of the simulation object; `position` may be a `Pose`.

        Returns
        -------
        CouplingWrench

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, or a quaternion whose norm is not 1.
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
        """Return the pose of the simulation object after one cycle.

        Parameters
        ----------
        manipulandum, position, quaternion
            Poses before the cycle, as of `wrench`.
        contact
            Contact forces on the object at that pose, about its grasp point; None: no contact.
        share
            `CouplingStep.share` of the last cycle, in (0, 1].
        dt
            Length of the cycle [s], positive; for the limits of speed.

        Returns
        -------
        CouplingStep

        Raises
        ------
        InputError, InputTypeError
            As `wrench`.
        DivergedError
            Forces or gradients are so large that the step is not finite.
        """
        self._warn_of_reach()
        hand = _pose(manipulandum, "manipulandum")
        settings = self._core_settings(positive(dt, "dt"))
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


def _levers(field: DistanceField, grasp: NDArray[np.float64]) -> tuple[float, float]:
    """Return root mean square and maximum of the distance of inside samples from the grasp."""
    inside = np.argwhere(np.asarray(field.values) < 0.0)
    if not len(inside):
        raise InputError("no sample of contact.field is inside: its resolution is too low")
    way = field.origin + field.spacing * inside - grasp
    square = np.sum(way * way, axis=1)
    # the object may extend up to the next sample
    farthest = np.sqrt(square.max()) + np.linalg.norm(field.spacing)
    return float(np.sqrt(np.mean(square))), float(farthest)


def _reach(field: Field, grasp: NDArray[np.float64]) -> float:
    """Return an upper bound of the distance of an object from the grasp point."""
    if isinstance(field, DistanceField):
        return _levers(field, grasp)[1]
    if isinstance(field, UnionField):
        return max(_reach(part, grasp) for part in field.fields)
    corners = field._core.bounds
    far = np.maximum(np.abs(corners[0] - grasp), np.abs(corners[1] - grasp))
    if isinstance(field, SphereField):
        # the corners of its box are farther
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

    The springs of `VirtualCoupling`, with dampers in parallel, pull an object of the given mass
    and inertia; a cycle makes linearly implicit Euler steps under the contact at its beginning
    and its gradient. It is the reference that static coupling is compared with.

    Parameters
    ----------
    stiffness, torsional_stiffness, reach
        As of `VirtualCoupling`.
    max_force, max_torque, max_depth, max_speed, max_turn_rate
        As of `VirtualCoupling`. Neither dampers nor momentum saturate: without `max_depth` a fast
        hand drives the object through any contact.
    mass
        Mass of the simulation object [kg], positive.
    inertia
        Moment of inertia about the grasp point, equal about all axes [kg m^2], positive.
    damping_ratio
        Damping ratio of the springs with this mass and inertia, at least 0; 1: critical. Where a
        spring saturates the damper is reduced to keep this ratio with the remaining stiffness.
    substeps
        Steps per cycle, 1 to 64.

    Raises
    ------
    InputError, InputTypeError
        A value is not allowed or not a number.
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
            positive(getattr(self, name), name)
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
        """Return the pose of the simulation object after one cycle.

        Parameters
        ----------
        manipulandum, position, quaternion, contact, share
            As of `VirtualCoupling.step`.
        velocity
            Velocity of the object's grasp point [m/s] and angular velocity [rad/s], shape (6,);
            None: at rest.
        manipulandum_velocity
            The same of the manipulandum; None: at rest.
        dt
            Length of the cycle [s], positive.

        Returns
        -------
        CouplingStep

        Raises
        ------
        InputError, InputTypeError, DivergedError
            As `VirtualCoupling.step`.
        """
        self._warn_of_reach()
        settings, dynamics = self._core_settings(positive(dt, "dt"))
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
