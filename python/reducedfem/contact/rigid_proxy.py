"""Rigid bodies that solids touch in explicit steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import coefficient, reals
from reducedfem.contact.combined_field import Field
from reducedfem.contact.contact import vector_text
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.pose import Pose, pose_arguments

__all__ = ["ProxyForce", "RigidProxy"]

_ZERO = (0.0, 0.0, 0.0)
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class ProxyForce:
    """Contact of a solid with a `RigidProxy`, `CentralDifferences.contact`.

    Attributes
    ----------
    force, torque
        Force [N] and torque about the position of the body [N m] on the body in the last step,
        shape (3,); those on the solid are opposite.
    impulse
        Impulse on the body [N s] of all steps of the last call of `CentralDifferences.step`,
        shape (3,).
    nodes
        Nodes that touched in the last step, shape (k,).
    node_forces
        Forces on these nodes [N], shape (k, 3), friction included.
    pose
        Pose of the body at the end of the last step.
    normal_force
        Part of `force` along the normals of the surface, without friction [N], shape (3,).
    sliding
        Number of `nodes` whose friction is at its limit.
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    impulse: NDArray[np.float64]
    nodes: NDArray[np.int32]
    node_forces: NDArray[np.float64]
    pose: Pose
    normal_force: NDArray[np.float64]
    sliding: int

    def __repr__(self) -> str:
        n = len(self.nodes)
        if n == 0:
            return "<ProxyForce: no contact>"
        force, torque = vector_text(self.force, "N"), vector_text(self.torque, "N m")
        return f"<ProxyForce: {force}, {torque}, {n} node{'s' * (n > 1)}>"


def _vector(value: ArrayLike | None, name: str) -> NDArray[np.float64]:
    """Return a velocity of three components; None: zero."""
    array = reals(_ZERO if value is None else value, name)
    if array.shape != (3,):
        raise InputError(f"{name} must have shape (3,), got {array.shape}")
    return array


class RigidProxy:
    """A rigid body, such as a tool or a floor, that a `Solid` touches in explicit steps.

    Pass it to `CentralDifferences`. Nodes of the surface of the solid touch it. Methods may be
    called from any thread; the body may be shared by simulations.

    Parameters
    ----------
    field
        Shape: a `Field` in the frame of the body, such as `SphereField` or `DistanceField`.
    friction
        Coefficient of Coulomb's friction mu, at least 0: nodes stick as long as the force along
        the surface is at most mu times that along the normal.
    rule
        "surface": nodes are put onto the surface (Carpenter, Taylor and Katona 1991); an impact
        takes a little energy. "mirror": nodes that entered are stopped, which reflects them
        (Zhuang 2000, section 3.2); an impact adds a little energy, the force chatters, and pulls
        nodes that the step would slow more without it. See ``docs/time_integration.md``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value.

    Examples
    --------
    >>> floor = rf.RigidProxy(rf.PlaneField([0, 0, 0], [0, 0, 1]), friction=0.3)  # doctest: +SKIP
    >>> sim = rf.CentralDifferences(solid, contact=floor, gravity=(0, 0, -9.81))  # doctest: +SKIP
    """

    __slots__ = ("__weakref__", "_core", "_field", "_friction", "_rule")

    def __init__(self, field: Field, friction: float = 0.0, rule: str = "surface") -> None:
        if not isinstance(field, Field):
            raise InputTypeError(
                f"field must be a Field, got {type(field).__name__}; make one with SphereField(), "
                "BoxField(), PlaneField(), CapsuleField() or DistanceField.from_surface()"
            )
        if not isinstance(rule, str):
            raise InputTypeError(f"rule must be a str, got {type(rule).__name__}")
        self._field, self._rule = field, rule
        self._friction = coefficient(friction, "friction")
        self._core = _core.Proxy(field._core, self._rule, self._friction)

    @property
    def field(self) -> Field:
        """The shape, in the frame of the body."""
        return self._field

    @property
    def friction(self) -> float:
        """Coefficient of friction."""
        return self._friction

    @property
    def rule(self) -> str:
        """Rule of contact."""
        return self._rule

    @property
    def pose(self) -> Pose:
        """Pose of the last move, at first the identity."""
        position, quaternion, _, _ = self._core.motion()
        return Pose(position, quaternion)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Velocity since the last move [m/s], shape (3,)."""
        return self._core.motion()[2]

    @property
    def angular_velocity(self) -> NDArray[np.float64]:
        """Angular velocity since the last move [rad/s], in the world, shape (3,)."""
        return self._core.motion()[3]

    def move(
        self,
        position: ArrayLike | Pose,
        quaternion: ArrayLike | None = None,
        *,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
    ) -> None:
        """Set the pose at the beginning of the next step, and the velocities from there on.

        The body continues with its velocities through all steps until the next call. Give them
        where poses follow each other: a body that only jumps has no velocity for friction, and
        nodes inside of it then leave it by 5 % of their depth in each time of a stable step.

        Parameters
        ----------
        position, quaternion
            Pose of the body: a `Pose`; or a position [m], (3,), and a rotation (w, x, y, z);
            None: upright.
        velocity
            Velocity of the position [m/s], shape (3,); None: zero.
        angular_velocity
            Angular velocity about the position [rad/s], in the world, shape (3,); None: zero.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape or a value that is not finite, or the quaternion is not
            of unit length. The body then stays as it was.
        """
        if not isinstance(position, Pose) and quaternion is None:
            quaternion = _UPRIGHT
        place, turn = pose_arguments(position, quaternion)
        pose = Pose(place, turn)
        rates = _vector(velocity, "velocity"), _vector(angular_velocity, "angular_velocity")
        self._core.move(pose.position, pose.quaternion, *rates)

    def __repr__(self) -> str:
        return f"<RigidProxy: {self._field!r}, friction {self._friction:g}, rule {self._rule}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._field, self._friction, self._rule, self._core.motion())


def _restored(
    field: Field, friction: float, rule: str, moved: tuple[NDArray[np.float64], ...]
) -> RigidProxy:
    """Create a body in motion."""
    made = RigidProxy(field, friction, rule)
    made.move(moved[0], moved[1], velocity=moved[2], angular_velocity=moved[3])
    return made
