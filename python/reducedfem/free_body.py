"""Free bodies: reduced deformation carried by a rigid motion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, count, number, require, rotations
from reducedfem._run import Progress, callback, threads
from reducedfem.damping import damping_argument
from reducedfem.errors import InputError, InputTypeError
from reducedfem.integrator import rayleigh, step_count
from reducedfem.pose import Pose, pose_arguments
from reducedfem.reduced import ReducedSolid
from reducedfem.reduced_damping import ReducedStrainRateDamping
from reducedfem.rigid import RigidBody

__all__ = ["FreeBody", "FreeBodyState", "step_free_bodies"]


@dataclass(frozen=True, eq=False)
class FreeBodyState:
    """State of a free body at one time.

    Attributes
    ----------
    position
        Of the centre of mass in the world [m], shape (3,).
    quaternion
        Rotation from body to world as a unit quaternion w, x, y, z, shape (4,).
    velocity
        Of the centre of mass [m/s], shape (3,).
    angular_velocity
        In the world [rad/s], shape (3,).
    q, qdot, qddot
        Reduced coordinates of the deformation and their rates, shape (r,).
    time
        Since the last reset [s].
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
    """A reduced solid without fixed nodes, free to fly, turn and deform.

    Rigid motion and deformation are integrated side by side (Barbic 2007, sections 2.8.7 and
    2.15): both take the external forces, the deformation by implicit Newmark in the frame of
    the body, the pose by a midpoint rule that keeps momentum and angular momentum to rounding.
    The forces by which fast turning deforms a body, and the change of its inertia by
    deformation, are left out. Node X is at p + R (X - c + U q) with p the centre of mass, R
    the rotation and c the centre at rest.

    Bodies of one shape share its `ReducedSolid`. Methods may be called from several threads;
    each waits for some steps of another, not for its whole call.

    Parameters
    ----------
    reduced
        Model of a free solid, in a basis as `modal_derivative_basis` makes it.
    dt
        Time step [s].
    damping
        Of the deformation: local Rayleigh damping (alpha [1/s], beta [s]), see `ImplicitNewmark`.
        The rigid motion is not damped, not even by alpha.
    newton_max, tol, beta, gamma
        Of the deformation; see `ImplicitNewmark`.
    gravity
        Acceleration in the world [m/s^2], shape (3,).
    strain_rate
        Strain-rate damping of the deformation as well. None: that of the model, if it has any.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of its range, or the model has fixed nodes.
    """

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
        self._core = _core.FreeBody(
            reduced._core,
            reduced.mesh.nodes,
            (number(dt, "dt"), *rayleigh(damping), number(beta, "beta"), number(gamma, "gamma")),
            count(newton_max, "newton_max"),
            number(tol, "tol"),
            (body.mass, body.centre, body.inertia),
            array_like(gravity, "gravity"),
            damping_argument(strain_rate, reduced),
        )
        self._reduced, self._body, self._dt = reduced, body, float(dt)
        self._settings: dict[str, Any] = {
            "reduced": reduced,
            "dt": float(dt),
            "damping": rayleigh(damping),
            "newton_max": newton_max,
            "tol": tol,
            "beta": beta,
            "gamma": gamma,
            "gravity": np.array(gravity, dtype=np.float64),
            "strain_rate": strain_rate,
        }

    @property
    def reduced(self) -> ReducedSolid:
        """The model of the deformation."""
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
    def state(self) -> FreeBodyState:
        """The present state: copies."""
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
            On the nodes, in the axes of the world [N], shape (n_nodes, 3). None: gravity only.
        n
            Number of steps, at least 0.
        progress
            True for a bar, or a callable ``f(done, total)``.

        Raises
        ------
        DivergedError
            The motion left the finite numbers, or the last of the steps would deform the body by
            more than 30 times the diagonal of its box; the state is that before the failing step.
        InputError, InputTypeError
            `force` or `n` is not of the form above.
        """
        step_free_bodies([self], None if force is None else [force], n, progress=progress)

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
            Of the centre of mass [m]; None: where it is at rest. Or a `Pose`, that of the centre.
        quaternion
            Rotation from body to world, w, x, y, z, of any length but zero; None: not turned.
        velocity, angular_velocity
            In the world [m/s], [rad/s].
        q, qdot
            Deformation and its rate, shape (r,); None: zero.

        Raises
        ------
        InputError, InputTypeError
            A wrong shape or a value that is not finite; nothing is changed then.
        DivergedError
            q or qdot is so large that the acceleration is not finite; nothing is changed then.
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

    def clone(self) -> FreeBody:
        """Return another body of the same model, in the same state.

        It moves on by itself, to the same bits under the same forces. Copies and pickles are the
        same.

        Returns
        -------
        FreeBody
        """
        return _restored(self._settings, self._core.snapshot())

    def __copy__(self) -> FreeBody:
        return self.clone()

    def __deepcopy__(self, memo: object) -> FreeBody:
        return self.clone()  # models cannot be changed: they are shared

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._settings, self._core.snapshot())

    def __repr__(self) -> str:
        return f"<FreeBody: dt = {self._dt:g} s, {self._body.mass:.6g} kg, {self._reduced!r}>"


def _restored(settings: dict[str, Any], snapshot: tuple[Any, ...]) -> FreeBody:
    """Make a body that is in a state."""
    made = FreeBody(**settings)
    made._core.restore(*snapshot)
    return made


def step_free_bodies(
    bodies: Sequence[FreeBody],
    forces: Sequence[ArrayLike | None] | None = None,
    n: int = 1,
    *,
    progress: Progress = False,
) -> None:
    """Advance many bodies by `n` steps each, on all threads.

    The results are those of `FreeBody.step` on each, bit for bit.

    Parameters
    ----------
    bodies
        Distinct bodies.
    forces
        For each body None or a force as `FreeBody.step` takes it. None: no forces.
    n
        Number of steps, at least 0.
    progress
        True for a bar, or a callable ``f(done, total)``.

    Raises
    ------
    DivergedError
        A body, named by its index, left the finite numbers, or would be deformed by more than 30
        times the diagonal of its box; it keeps the state before the failing step, the others may
        have moved on.
    InputError, InputTypeError
        A body appears twice, or `forces` or `n` is not of the form above.
    """
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
        _core.step_free_bodies([b._core for b in members], loads, steps, tell, threads())
