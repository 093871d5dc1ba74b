"""Time integration of reduced models and of unreduced solids, by one scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, count, flag, number, reals, rotations
from reducedfem._run import Progress, callback, threads
from reducedfem.contact import ContactTrajectory, PenaltyContact
from reducedfem.damping import StrainRateDamping, damping_argument
from reducedfem.errors import InputError, InputTypeError
from reducedfem.pose import Pose, pose_arguments, poses_arguments
from reducedfem.projected import ProjectedSolid
from reducedfem.reduced import (
    ReducedSolid,
    leaves_out_rigid_motion,
    reduced_force,
    same_motion,
)
from reducedfem.reduced_damping import ReducedStrainRateDamping
from reducedfem.second_order import SecondOrderSystem
from reducedfem.solid import Solid

__all__ = ["ImplicitNewmark", "NewmarkReport", "State"]


@dataclass(frozen=True, eq=False)
class State:
    """State of a simulation at one time.

    Attributes
    ----------
    q
        Reduced coordinates, shape (r,), or displacements [m], shape (n, 3).
    qdot
        Their rate, per s.
    qddot
        Their second rate, per s^2.
    time
        Time since the last reset [s].
    """

    q: NDArray[np.float64]
    qdot: NDArray[np.float64]
    qddot: NDArray[np.float64]
    time: float


@dataclass(frozen=True)
class NewmarkReport:
    """Statistics since the last reset.

    Attributes
    ----------
    steps
        Steps taken.
    solves
        Linear systems solved (Newton iterations).
    indefinite
        Those whose matrix was not positive definite.
    unconverged
        Steps not known to have met the tolerance. The residual after the last iteration is
        not evaluated, so with ``newton_max=1`` these are all steps that moved.
    residual
        Last residual evaluated, relative to the larger of the step's first residual, the
        internal and the external force.
    iterations
        Linear systems solved in the last step.
    most_iterations
        Most linear systems solved in one step.
    residuals
        Residuals of the last step before each iteration, and after the last where that met
        the tolerance; relative like `residual`, the first 32 of them.
    shortened
        Increments that would have ended where the energy rises more
        steeply than it fell at their beginning: only the part to its minimum was made. If this
        number keeps growing, steps are too long for the motion, which is then not that of the
        body.
    """

    steps: int
    solves: int
    indefinite: int
    unconverged: int
    residual: float
    iterations: int = 0
    most_iterations: int = 0
    residuals: tuple[float, ...] = ()
    shortened: int = 0


def rayleigh(damping: Sequence[float]) -> tuple[float, float]:
    """Return the argument `damping`, (alpha, beta), or refuse it."""
    try:
        alpha, beta = damping
    except (TypeError, ValueError):
        raise InputTypeError(
            f"damping must be two numbers (alpha, beta), got {damping!r}"
        ) from None
    return number(alpha, "damping[0]"), number(beta, "damping[1]")


def acceleration(gravity: ArrayLike | None) -> NDArray[np.float64] | None:
    """Return the argument `gravity` as an array of its own, or refuse it."""
    if gravity is None:
        return None
    value: NDArray[np.float64] = reals(gravity, "gravity").copy()
    if value.shape != (3,):
        raise InputError(f"gravity must have shape (3,), an acceleration, got {value.shape}")
    return value


def step_count(n: int) -> int:
    """Return the argument `n`, a number of steps, or refuse it."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise InputTypeError(f"n must be an int, got {type(n).__name__}")
    steps = int(n)
    if not 0 <= steps < 2**62:
        most = " and less than 2**62" if steps > 0 else ""
        raise InputError(f"n must be at least 0{most}, got {steps}")
    return steps


System = ReducedSolid | ProjectedSolid | Solid | SecondOrderSystem
SYSTEMS = "a ReducedSolid, a ProjectedSolid, a Solid or a SecondOrderSystem"


def weight(
    system: System, gravity: NDArray[np.float64] | None, **kwargs: bool
) -> NDArray[np.float64] | None:
    """Return the forces of gravity on a system, or refuse a system that has none."""
    if gravity is None:
        return None
    if isinstance(system, SecondOrderSystem):
        raise InputError("gravity must be None: a SecondOrderSystem has no weight; pass a force")
    return system.gravity(gravity, **kwargs)


def wrong_system(system: object, wanted: str = "a ReducedSolid or a Solid") -> InputTypeError:
    """Return the error that tells what `system` must be."""
    return InputTypeError(f"system must be {wanted}, got {type(system).__name__}")


_Scheme = TypeVar("_Scheme", bound="Simulation")


def check_rigid_motion(system: System, deformation_only: bool, scheme: str) -> None:
    """Refuse a free model whose basis leaves out its rigid motion, unless that was asked for."""
    asked = flag(deformation_only, "deformation_only")
    if isinstance(system, Solid | SecondOrderSystem):
        if asked:
            raise InputError(
                "deformation_only is for reduced models, but system is a "
                f"{type(system).__name__}"
            )
        return
    if not asked and leaves_out_rigid_motion(system):
        raise InputError(
            f"system is a model of a free body, and {scheme} would leave out its rigid motion: it "
            "would neither fall nor turn. Use FreeBody(reduced, dt), which moves as a whole; or "
            "fix some nodes of the Solid; or pass deformation_only=True for its deformation in a "
            "frame that something else moves, such as a hand"
        )


class Simulation:
    """Base of all schemes: state, steps, reset; not made by users.

    Methods may be called from several threads; each waits for some steps of another, not for
    its whole call.
    """

    _core: _core.Motion
    _system: System
    _dt: float
    _settings: dict[str, Any]  # arguments with which it was made

    @property
    def system(self) -> System:
        """The simulated system."""
        return self._system

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self._dt

    @property
    def state(self) -> State:
        """The present state: copies."""
        return State(*self._core.state())

    @property
    def displacement(self) -> NDArray[np.float64]:
        """Present displacements of the nodes [m], shape (n, 3); x (n,) of a `SecondOrderSystem`."""
        q = self._core.state()[0]
        if isinstance(self._system, Solid | SecondOrderSystem):
            return q
        return self._system.displacement(q)

    def step(
        self, force: ArrayLike | None = None, n: int = 1, *, progress: Progress = False
    ) -> None:
        """Advance by `n` steps under a constant force, and gravity if the simulation has it.

        Parameters
        ----------
        force
            External force at the end of each step: nodal [N], (n_nodes, 3) or
            (3 n_nodes,); for a reduced system also reduced, (r,); for a `SecondOrderSystem`
            (n,). None: zero.
        n
            Number of steps, at least 0.
        progress
            True for a bar, or a callable ``f(done, total)``.

        Raises
        ------
        DivergedError
            The motion left the finite numbers, a tangent could not be solved, or the last step
            displaced the body by more than 30 times the diagonal of its box; the state is that
            before the failing step.
        InputError, InputTypeError
            `force` or `n` is not of the form above.
        """
        steps = step_count(n)
        if isinstance(self._system, Solid | SecondOrderSystem):
            array_like(force, "force")
        else:
            force = reduced_force(self._system, force)
        with callback(progress, "steps") as tell:
            self._core.step(force, steps, tell, threads())

    def reset(
        self,
        q: ArrayLike | None = None,
        qdot: ArrayLike | None = None,
        qddot: ArrayLike | None = None,
    ) -> None:
        """Set the state at time 0.

        Parameters
        ----------
        q, qdot
            Reduced coordinates (r,) or displacements (n, 3), and their rate; None: zero.
            Fixed nodes of a solid must not move.
        qddot
            The second rate; None: the one consistent with no external force but gravity.

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, or a fixed node that moves.
        DivergedError
            The state is so large that the forces are not finite.
        """
        for value, name in ((q, "q"), (qdot, "qdot"), (qddot, "qddot")):
            array_like(value, name)
        self._core.reset(q, qdot, qddot, threads())

    def clone(self: _Scheme) -> _Scheme:
        """Return another simulation of the same system, in the same state.

        It moves on by itself, to the same bits under the same forces. Of the report only the
        number of steps is kept. Copies and pickles are the same.

        Returns
        -------
        ImplicitNewmark or CentralDifferences
            Of the kind of this one.
        """
        return _restored(type(self), self._settings, self._now())

    def _now(self) -> tuple[Any, ...]:
        q, qdot, qddot, time = self._core.state()
        return q, qdot, qddot, round(time / self._dt)

    def __copy__(self: _Scheme) -> _Scheme:
        return self.clone()

    def __deepcopy__(self: _Scheme, memo: object) -> _Scheme:
        return self.clone()  # systems cannot be changed: they are shared

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._settings, self._now())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: dt = {self._dt:g} s, {self._system!r}>"


def _restored(kind: type[_Scheme], settings: dict[str, Any], state: tuple[Any, ...]) -> _Scheme:
    """Make a simulation that is in a state."""
    made = kind(**settings)
    q, qdot, qddot, steps = state
    made._core.reset(q, qdot, qddot, threads(), steps)
    return made


class ImplicitNewmark(Simulation):
    """Implicit Newmark integration (Barbic 2007, section 2.9).

    The same scheme for a `ReducedSolid`, where a step takes microseconds and allocates
    nothing, for a `Solid`, where it takes a sparse factorization per iteration, and for a
    `ProjectedSolid`, where it takes a pass over the mesh and a dense factorization. With the
    default `beta` and `gamma` it is the trapezoidal rule: second order, no damping of
    its own. Methods may be called from several threads; each waits for some steps of another,
    not for its whole call.

    The trapezoidal rule keeps the energy of linear systems only. Large undamped motions may gain
    energy without bound where steps are coarse for the highest frequencies, as they mostly are
    for a basis with modal derivatives; more Newton iterations do not prevent it. A little
    stiffness damping does, such as ``damping=(0, dt / 20)`` at 100 steps per period of the lowest
    mode, or less of it and smaller steps. Where one Newton iteration per step (the default of
    `newton_max`) stays stable, it takes energy from large motions.

    Parameters
    ----------
    system
        The simulated system.
    dt
        Time step [s].
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]): C = alpha M + beta K(q), K at the present
        q (Barbic 2007, equation 2.33). alpha brakes all motion, of a free solid also that as a
        whole; beta mostly what is fast. Where K(q) is indefinite beta may add energy; see
        `StrainRateDamping` for a damping that never does. Newton's matrix has C, but not the
        derivative of C by q: with beta iterations converge linearly instead of quadratically,
        and may not in steps that are long for a motion; see `NewmarkReport.unconverged`.
    newton_max
        Newton iterations per step at most. One is usual at haptic rates.
    tol
        Iterations end when the residual falls below `tol` times the larger of the step's
        first residual, the internal and the external force.
    beta, gamma
        Newmark's parameters, 0 < beta <= 1, 0 <= gamma <= 1. beta = 0 is another scheme:
        `CentralDifferences`.
    strain_rate
        Strain-rate damping as well: a `StrainRateDamping` of the solid, also of a projected
        one, or its reduction for a reduced model. None: that of the model, if it has any.
        Newton's matrix has D, but not the derivative of D(u) v by u.
    deformation_only
        Accept a model of a free body, whose basis has no rigid motion: its deformation is
        simulated in a frame that something else moves, such as a hand. `FreeBody` moves as a
        whole.
    gravity
        Acceleration of free fall [m/s^2], shape (3,), such as ``(0, 0, -9.81)``: a constant load
        beside the forces of the steps, in contact and haptic sessions too. None: no weight.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of its range, or the model is that of a free body.
    MeshError
        All nodes of the solid are fixed.
    """

    def __init__(
        self,
        system: System,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        newton_max: int = 1,
        tol: float = 1e-6,
        beta: float = 0.25,
        gamma: float = 0.5,
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
    ) -> None:
        settings = {
            "dt": number(dt, "dt"),
            "beta": number(beta, "beta"),
            "gamma": number(gamma, "gamma"),
            "newton_max": count(newton_max, "newton_max"),
            "tol": number(tol, "tol"),
        }
        rates = rayleigh(damping)
        if not isinstance(system, System):
            raise wrong_system(system, SYSTEMS)
        check_rigid_motion(system, deformation_only, "ImplicitNewmark")
        fall = acceleration(gravity)
        viscous = damping_argument(strain_rate, system)
        self._core = _core.Motion(
            "newmark", system._core, rates, settings, threads(), viscous, weight(system, fall)
        )
        self._system = system
        self._dt = float(dt)
        self._settings = {
            "system": system,
            "dt": float(dt),
            "damping": rates,
            "newton_max": newton_max,
            "tol": tol,
            "beta": beta,
            "gamma": gamma,
            "strain_rate": strain_rate,
            "deformation_only": deformation_only,
            "gravity": fall,
        }

    @overload
    def step(
        self,
        force: ArrayLike | None = None,
        n: int = 1,
        *,
        contact: None = None,
        progress: Progress = False,
    ) -> None: ...

    @overload
    def step(
        self,
        force: ArrayLike | None = None,
        n: int = 1,
        *,
        contact: PenaltyContact,
        position: ArrayLike | Pose | Sequence[Pose],
        quaternion: ArrayLike | None = None,
        field_q: ArrayLike | None = None,
        progress: Progress = False,
    ) -> ContactTrajectory: ...

    def step(
        self,
        force: ArrayLike | None = None,
        n: int = 1,
        *,
        contact: PenaltyContact | None = None,
        position: ArrayLike | Pose | Sequence[Pose] | None = None,
        quaternion: ArrayLike | None = None,
        field_q: ArrayLike | None = None,
        progress: Progress = False,
    ) -> ContactTrajectory | None:
        """Advance by `n` steps under a constant force, in contact with an object that is moved.

        With `contact`, of a reduced model under its `PointTree`, each step takes the object with
        the distance field to its next pose and finds the contact forces there. They follow the end
        of the step by their derivative, so that they are implicit: contact as stiff as "auto"
        comes to rest at any mass.

        Parameters
        ----------
        force
            External force at the end of each step: nodal [N], (n_nodes, 3) or
            (3 n_nodes,); for a reduced system also reduced, (r,). None: zero.
        n
            Number of steps, at least 0; with a trajectory 1 or its length.
        contact
            Whose shell deforms by the system; None: no contact. It remembers this as cycles of
            `PenaltyContact.evaluate`.
        position, quaternion
            Of the object with the field, as of `PenaltyContact.evaluate`: one pose for all steps,
            (3,) and (4,) or a `Pose`, or a trajectory, one each step, (n, 3) and (n, 4) or (4,) or
            a sequence of `Pose`.
        field_q
            Of a field that deforms, (its r,) or one a step; None: at rest.
        progress
            True for a bar, or a callable ``f(done, total)``.

        Returns
        -------
        ContactTrajectory or None
            With `contact`: forces on the object with the field, those at the beginning of each
            step, and all else of it.

        Raises
        ------
        DivergedError
            The motion left the finite numbers, a tangent could not be solved, or a reduced
            model would be displaced by more than 30 times the diagonal of its box, as bounded by
            the largest displacements of the basis vectors: in contact by any step, without by
            the last of a call (of long calls others too). The state is that before the failing
            step.
        InputError, InputTypeError
            An argument is not of the form above; `contact` is of another model, or a pose is given
            without it.
        """
        if contact is None:
            for value, name in (
                (position, "position"),
                (quaternion, "quaternion"),
                (field_q, "field_q"),
            ):
                if value is not None:
                    raise InputError(f"{name} is given without contact")
            super().step(force, n, progress=progress)
            return None
        steps = step_count(n)
        system = _in_contact(self._system, contact)
        places, turns = _trajectory(position, quaternion, steps)
        bent = None if field_q is None else _repeated(field_q, "field_q", len(places))
        with callback(progress, "steps") as tell:
            found = self._core.step_contact(
                reduced_force(system, force), contact._core, places, turns, bent, tell
            )
        return ContactTrajectory(*(*found[:-1], None))

    @property
    def report(self) -> NewmarkReport:
        """Statistics since the last reset, with the convergence of the last step."""
        return NewmarkReport(**self._core.report())


def _in_contact(system: object, contact: object) -> ReducedSolid:
    """Return the system that is stepped in contact, or refuse the two."""
    if not isinstance(contact, PenaltyContact):
        raise InputTypeError(f"contact must be a PenaltyContact, got {type(contact).__name__}")
    if not isinstance(system, ReducedSolid):
        raise InputTypeError(
            "contact is for an ImplicitNewmark of a ReducedSolid, got one of "
            f"{type(system).__name__}"
        )
    model = contact.tree.reduced
    if model is None:
        raise InputError("contact.tree is rigid: make it with the model, PointTree(shell, reduced)")
    if not same_motion(model, system):
        raise InputError(
            "contact.tree.reduced is another model than that of the simulation: their coordinates "
            "are other displacements"
        )
    return system


def _repeated(value: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    """Return an array with a row for each of n steps."""
    array = reals(value, name)
    if array.ndim == 1:
        array = np.broadcast_to(array, (n, len(array)))
    if array.ndim != 2 or len(array) != n:
        raise InputError(f"{name} has shape {array.shape}; there are {n} steps")
    return array


def _trajectory(
    position: ArrayLike | Pose | Sequence[Pose] | None, quaternion: ArrayLike | None, steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return positions (n, 3) and quaternions (n, 4) of the steps."""
    if position is None:
        raise InputTypeError("position is missing: contact needs the pose of the object")
    one = isinstance(position, Pose) or quaternion is not None
    given = pose_arguments if one else poses_arguments
    places, turns = given(position, quaternion)
    at = reals(places, "position")
    n = steps
    if at.ndim == 2:
        n = len(at)
        if steps not in (1, n):
            raise InputError(f"n is {steps}, but position has {n} poses: leave n out")
    return _repeated(at, "position", n), _repeated(rotations(turns, "quaternion"), "quaternion", n)
