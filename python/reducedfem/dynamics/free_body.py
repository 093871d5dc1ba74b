"""Free bodies: reduced deformation carried by a rigid motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, iterations, number, require, rotations
from reducedfem.base.quiet import silenced
from reducedfem.base.run import Progress, callback, threads
from reducedfem.dynamics.integrator import acceleration, rayleigh, step_count
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.pose import Pose, pose_arguments
from reducedfem.reduction.damping import damping_argument
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping
from reducedfem.solid.plausible import FAR, warn_of_far, warn_of_motion
from reducedfem.solid.rigid import RigidBody

__all__ = ["FreeBody", "FreeBodyState", "step_free_bodies"]


@dataclass(frozen=True, eq=False)
class FreeBodyState:
    """State of a free body at one time.

    Attributes
    ----------
    position
        Centre of mass in the world [m], shape (3,).
    quaternion
        Rotation from body to world, unit quaternion (w, x, y, z), shape (4,).
    velocity
        Velocity of the centre of mass [m/s], shape (3,).
    angular_velocity
        Angular velocity in the world [rad/s], shape (3,).
    q, qdot, qddot
        Reduced coordinates of the deformation [kg^1/2 m], their rates and accelerations, shape
        (r,).
    time
        Time since the last reset [s].
    """

    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    velocity: NDArray[np.float64]
    angular_velocity: NDArray[np.float64]
    q: NDArray[np.float64]
    qdot: NDArray[np.float64]
    qddot: NDArray[np.float64]
    time: float


class FreeBody:
    """Reduced solid without fixed nodes: rigid motion with deformation.

    Both are integrated separately (Barbic 2007, sections 2.8.7 and 2.15) under the external
    forces: the deformation by implicit Newmark in the frame of the body, the pose by a midpoint
    rule that conserves momentum and angular momentum to rounding. Inertial forces of the rotation
    on the deformation, and the change of inertia by deformation, are neglected. Node X is at
    p + R (X - c + U q) with p the centre of mass, R the rotation and c the centre at rest.

    Bodies of one shape may share a `ReducedSolid`. Methods may be called from several threads,
    which alternate between steps.

    Parameters
    ----------
    reduced
        Model of a solid without fixed nodes, in a basis of `modal_derivative_basis`.
    dt
        Time step [s], positive.
    damping
        Local Rayleigh damping of the deformation (alpha [1/s], beta [s]), see `ImplicitNewmark`.
        The rigid motion is undamped.
    newton_max, tol, beta, gamma
        Settings for the deformation, see `ImplicitNewmark`.
    gravity
        Acceleration in the world [m/s^2], shape (3,).
    strain_rate
        Strain-rate damping of the deformation, in addition. None: that of the model, if any.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of its range, or the model has fixed nodes.
    """

    _far_doubted = False  # a warning of far displacements was given since the last reset
    _strain_doubted = False  # a warning of the strain of a cubature was given since the last reset

    def __init__(
        self,
        reduced: ReducedSolid,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        newton_max: int = 1,
        tol: float = 1e-6,
        beta: float = 0.25,
        gamma: float = 0.5,
        *,
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        strain_rate: ReducedStrainRateDamping | None = None,
    ) -> None:
        require(reduced, ReducedSolid, "reduced")
        body = reduced.rigid_body
        if body is None:
            raise InputError(
                f"reduced has {len(reduced.fixed)} fixed nodes; a FreeBody needs the model of a "
                "solid without"
            )
        settings = {
            "dt": number(dt, "dt"),
            "beta": number(beta, "beta"),
            "gamma": number(gamma, "gamma"),
            "newton_max": iterations(newton_max),
            "tol": number(tol, "tol"),
            "line_search": True,
        }
        fall = acceleration(gravity)
        rates = rayleigh(damping)
        warn_of_motion(rates[1], fall, reduced.mesh.n_nodes, stacklevel=3)
        rigid: dict[str, float | tuple[float, ...]] = {
            "mass": body.mass,
            "centre": tuple(body.centre),
            "inertia": tuple(body.inertia.flat),
            "gravity": tuple(fall),
        }
        viscous = damping_argument(strain_rate, reduced)
        self._core = _core.FreeBody(
            "newmark", reduced._core, reduced.mesh.nodes, rates, settings, rigid, viscous
        )
        self._reduced, self._body, self._dt = reduced, body, float(dt)
        self._settings: dict[str, Any] = {
            "reduced": reduced,
            "dt": float(dt),
            "damping": rates,
            "newton_max": newton_max,
            "tol": tol,
            "beta": beta,
            "gamma": gamma,
            "gravity": fall,
            "strain_rate": strain_rate,
        }

    @property
    def reduced(self) -> ReducedSolid:
        """Model of the deformation."""
        return self._reduced

    @property
    def rigid_body(self) -> RigidBody:
        """Mass, centre and inertia of the shape at rest."""
        return self._body

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self._dt

    @property
    def gravity(self) -> NDArray[np.float64]:
        """Acceleration in the world [m/s^2], shape (3,): a copy."""
        gravity: NDArray[np.float64] = self._settings["gravity"].copy()
        return gravity

    @property
    def state(self) -> FreeBodyState:
        """Copy of the present state."""
        return FreeBodyState(*self._core.state())

    @property
    def positions(self) -> NDArray[np.float64]:
        """Present positions of the nodes in the world [m], shape (n, 3)."""
        return self._core.positions()

    def step(
        self, force: ArrayLike | None = None, n: int = 1, *, progress: Progress = False
    ) -> None:
        """Advance by `n` steps under a force that is constant in the world.

        Parameters
        ----------
        force
            Forces on the nodes, in the axes of the world [N], shape (n_nodes, 3). None: gravity
            only.
        n
            Number of steps, at least 0.
        progress
            True: a bar; or a callable, called as ``f(done, total)``.

        Raises
        ------
        DivergedError
            The motion is not finite, or the last step would deform the body by more than 30 times
            the diagonal of its box; the state is that before the failing step.
        InputError, InputTypeError
            `force` or `n` has a wrong shape, type or value.

        Warns
        -----
        PlausibilityWarning
            A force deforms the body by more than twice the diagonal of its box, or strains its
            cubature beyond the poses that trained it (once a reset).
        """
        _step([self], None if force is None else [force], n, progress)

    def reset(
        self,
        position: ArrayLike | Pose | None = None,
        quaternion: ArrayLike | None = None,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        q: ArrayLike | None = None,
        qdot: ArrayLike | None = None,
    ) -> None:
        """Set the state at time 0.

        Parameters
        ----------
        position
            Centre of mass [m], shape (3,); or its `Pose`. None: its position at rest.
        quaternion
            Rotation from body to world (w, x, y, z), of any length but zero; None: no rotation.
        velocity, angular_velocity
            Velocity [m/s] of the centre of mass and angular velocity [rad/s], in the world.
        q, qdot
            Reduced coordinates [kg^1/2 m] and their rates, shape (r,); None: zero.

        Raises
        ------
        InputError, InputTypeError
            A wrong shape or a value that is not finite; the state is unchanged.
        DivergedError
            `q` or `qdot` is so large that the acceleration is not finite; the state is unchanged.
        """
        if isinstance(position, Pose):
            position, quaternion = pose_arguments(position, quaternion)
        place = self._body.centre if position is None else position
        quaternion = (1.0, 0.0, 0.0, 0.0) if quaternion is None else quaternion
        given = {
            "position": place,
            "quaternion": quaternion,
            "velocity": velocity,
            "angular_velocity": angular_velocity,
            "q": q,
            "qdot": qdot,
        }
        rotations(quaternion, "quaternion")
        for name, value in given.items():
            array_like(value, name)
        self._core.reset(place, quaternion, velocity, angular_velocity, q, qdot)
        self._far_doubted = self._strain_doubted = False

    def _warn_of_strain(self, stacklevel: int) -> None:
        """Warn once a reset if the cubature of the model is strained beyond its poses."""
        if self._reduced._sampled and not self._strain_doubted:
            self._strain_doubted = self._reduced._warn_of_strain(
                self.state.q, stacklevel=stacklevel, seen=self._core.strain()
            )

    def clone(self) -> FreeBody:
        """Return an independent body of the same model, in the same state.

        Under equal forces its motion is equal bit for bit. Copies and pickles are clones.

        Returns
        -------
        FreeBody
        """
        return _restored(*self._data())

    def _data(self) -> tuple[Any, ...]:
        """Return the arguments of `_restored`."""
        return self._settings, self._core.snapshot(), self._far_doubted, self._strain_doubted

    def __copy__(self) -> FreeBody:
        return self.clone()

    def __deepcopy__(self, memo: object) -> FreeBody:
        return self.clone()  # models are immutable and shared

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._data()

    def __repr__(self) -> str:
        return f"<FreeBody: dt = {self._dt:g} s, {self._body.mass:.6g} kg, {self._reduced!r}>"


def _restored(
    settings: dict[str, Any],
    snapshot: tuple[Any, ...],
    far_doubted: bool = False,
    strain_doubted: bool = False,
) -> FreeBody:
    """Return a body in the state of a snapshot."""
    with silenced():
        made = FreeBody(**settings)
    made._core.restore(*snapshot)
    made._far_doubted, made._strain_doubted = far_doubted, strain_doubted
    return made


def step_free_bodies(
    bodies: Sequence[FreeBody],
    forces: Sequence[ArrayLike | None] | None = None,
    n: int = 1,
    *,
    progress: Progress = False,
) -> None:
    """Advance many bodies by `n` steps each, on all threads.

    The results equal those of `FreeBody.step` for each body, bit for bit.

    Parameters
    ----------
    bodies
        Distinct bodies.
    forces
        Force on each body, as of `FreeBody.step`, or None for it. None: no forces.
    n
        Number of steps, at least 0.
    progress
        True: a bar; or a callable, called as ``f(done, total)``.

    Raises
    ------
    DivergedError
        The motion of a body, named by its index, is not finite, or would deform it by more than
        30 times the diagonal of its box; it has the state before the failing step, the others
        may have advanced.
    InputError, InputTypeError
        A body appears twice, or `forces` or `n` has a wrong shape, type or value.

    Warns
    -----
    PlausibilityWarning
        As of `FreeBody.step`.
    """
    _step(bodies, forces, n, progress)


def _step(
    bodies: Sequence[FreeBody],
    forces: Sequence[ArrayLike | None] | None,
    n: int,
    progress: Progress,
) -> None:
    """Make the steps of a caller's arguments."""
    steps = step_count(n)
    if not isinstance(bodies, Iterable):
        raise InputTypeError(
            f"bodies must be a sequence of FreeBody, got {type(bodies).__name__}; one body is "
            "advanced by its own step"
        )
    members = list(bodies)
    for i, body in enumerate(members):
        if not isinstance(body, FreeBody):
            raise InputTypeError(f"bodies[{i}] must be a FreeBody, got {type(body).__name__}")
    if not (forces is None or isinstance(forces, Sequence | np.ndarray)) or isinstance(forces, str):
        raise InputTypeError(
            "forces must be a sequence of a force or None for each body, got "
            f"{type(forces).__name__}"
        )
    loads = None if forces is None else tuple(forces)
    if loads is not None and len(loads) != len(members):
        raise InputError(f"forces has {len(loads)} entries for {len(members)} bodies")
    with callback(progress, "steps") as tell:
        cores = [body._core for body in members]
        far = _core.step_free_bodies(cores, loads, steps, tell, threads())
    for body, bound in zip(members, far, strict=True):
        body._warn_of_strain(stacklevel=5)
        if bound > FAR and not body._far_doubted:
            u = body.reduced.displacement(body.state.q)
            body._far_doubted = warn_of_far(u, body.reduced.mesh, stacklevel=4)
