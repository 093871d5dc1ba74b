"""Base classes of time integrators.

The systems are `ReducedSolid`, `ProjectedSolid`, `Solid` and `SecondOrderSystem`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, flag, iterations, number, reals
from reducedfem.base.named_arguments import NamedArguments
from reducedfem.base.quiet import silenced
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.barrier import RINGS, BarrierContact, BarrierState
from reducedfem.contact.contact import Contact, ContactTrajectory
from reducedfem.dynamics.contact_arguments import barrier_of, model_in_contact, repeated, trajectory
from reducedfem.dynamics.contradiction import explained
from reducedfem.dynamics.implicit_report import ImplicitReport
from reducedfem.dynamics.plausible import warn_of_coarse_steps
from reducedfem.dynamics.warns_once import WarnsOnce
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.pose import Pose
from reducedfem.reduction.damping import StrainRateDamping, damping_argument
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping
from reducedfem.reduction.reduced_equations import leaves_out_rigid_motion, reduced_force
from reducedfem.solid.plausible import (
    FAR,
    warn_of_motion,
)
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["ImplicitSimulation", "Simulation", "State"]


@dataclass(frozen=True, eq=False)
class State:
    """State of a simulated system at one time.

    Attributes
    ----------
    q
        Reduced coordinates (r,) of a `ReducedSolid` or `ProjectedSolid`, displacements [m] (n, 3)
        of a `Solid`, or unknowns (n,) of a `SecondOrderSystem`.
    qdot
        First time derivative of `q`, per s.
    qddot
        Second time derivative of `q`, per s^2.
    time
        Time since the last reset [s].
    """

    q: NDArray[np.float64]
    qdot: NDArray[np.float64]
    qddot: NDArray[np.float64]
    time: float


def rayleigh(damping: Sequence[float]) -> tuple[float, float]:
    """Return the argument `damping` as (alpha, beta); refuse other values."""
    try:
        alpha, beta = damping
    except (TypeError, ValueError):
        raise InputTypeError(
            f"damping must be two numbers (alpha, beta), got {damping!r}"
        ) from None
    return number(alpha, "damping[0]"), number(beta, "damping[1]")


def acceleration(gravity: ArrayLike) -> NDArray[np.float64]:
    """Return a copy of the argument `gravity`, shape (3,); refuse other values."""
    value: NDArray[np.float64] = reals(gravity, "gravity").copy()
    if value.shape != (3,):
        raise InputError(f"gravity must have shape (3,), an acceleration, got {value.shape}")
    return value


def step_count(n: int) -> int:
    """Return the argument `n`, a number of steps; refuse other values."""
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
    """Return the forces of gravity on a system; refuse a system without weight."""
    if gravity is None:
        return None
    if isinstance(system, SecondOrderSystem):
        raise InputError("gravity must be None: a SecondOrderSystem has no weight; pass a force")
    return system._weight(gravity, **kwargs)


def wrong_system(system: object, wanted: str = "a ReducedSolid or a Solid") -> InputTypeError:
    """Return the error for a `system` of the wrong type."""
    return InputTypeError(f"system must be {wanted}, got {type(system).__name__}")


_Scheme = TypeVar("_Scheme", bound="Simulation")


def check_rigid_motion(system: System, deformation_only: bool, scheme: str) -> None:
    """Refuse a free model whose basis has no rigid motion, unless `deformation_only` is True."""
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


class Simulation(NamedArguments, WarnsOnce):
    """Base class of all time integrators: state, steps, reset. Users create its subclasses.

    Methods may be called from several threads. A call waits for a few steps of another call, not
    for its end.
    """

    _scheme: ClassVar[str]  # its name in the C core
    _core: _core.Motion
    _system: System
    _dt: float
    _settings: dict[str, Any]  # arguments of the constructor
    # arguments by which a copy leaves out checks that its original has passed
    _checked: ClassVar[Mapping[str, bool]] = MappingProxyType({})

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
        """Current state, as copies."""
        return State(*self._core.state())

    @property
    def displacement(self) -> NDArray[np.float64]:
        """Current displacements of the nodes [m], (n, 3), or x (n,) of a `SecondOrderSystem`."""
        q = self._core.state()[0]
        if isinstance(self._system, Solid | SecondOrderSystem):
            return q
        return self._system.displacement(q)

    @property
    def force_time(self) -> float:
        """Time at which to evaluate a varying force for the next step [s].

        A step holds its force constant. With the force of this time the method keeps its order;
        with that of another it is of first order. The time is the end of the step; for `TRBDF2`,
        `SDIRK2`, `ExponentialEuler` and exact modes its middle; for `GeneralizedAlpha`
        dt / (1 + rho) after its beginning. For ``CentralDifferences.step(dt=...)`` take
        ``state.time + dt`` with that dt instead.
        """
        time: float = self._core.state()[3]
        return time + self._force_part * self._dt

    @property
    def _force_part(self) -> float:
        """Return the part of a step at whose end a varying force is evaluated."""
        return 0.5 if self._settings.get("exact") else 1.0

    def step(
        self, force: ArrayLike | None = None, n: int = 1, *, progress: Progress = False
    ) -> None:
        """Advance by `n` steps under a constant force and the gravity of the simulation.

        Parameters
        ----------
        force
            External force, constant over each step, at `force_time` if it varies: nodal [N],
            (n_nodes, 3) or (3 n_nodes,); for a reduced system also reduced, (r,); for a
            `SecondOrderSystem` (n,). None: zero.
        n
            Number of steps, at least 0.
        progress
            True for a progress bar, or a callable ``f(done, total)``.

        Raises
        ------
        DivergedError
            The motion became infinite or NaN, a tangent matrix could not be factored, or the last
            step displaced the body by more than 30 times the diagonal of its bounding box. The
            state is that before the failing step.
        InputError, InputTypeError
            `force` has a wrong shape or a value that is not finite, or `n` is out of range.

        Warns
        -----
        PlausibilityWarning
            The system is a `Solid` with fixed nodes and a force acts outside of the body, on a
            soft node of nearly empty cut cells (once a simulation); or a reduced model is
            displaced by more than twice the diagonal of its box at the end of the call, or its
            cubature strained beyond the poses that trained it (once a reset).
        """
        self._warn_of_modes(self._advance(force, n, progress))

    def _advance(
        self, force: ArrayLike | None, n: int, progress: Progress, dt: float = 0.0
    ) -> float:
        """Make the steps of a caller `step`; return the bound of `_warn_of_modes`.

        dt: length of these steps; 0: the usual one.
        """
        steps = step_count(n)
        if isinstance(self._system, Solid | SecondOrderSystem):
            array_like(force, "force")
            if force is not None and "load" not in self._warned:
                self._warn_of_load(force)
        else:
            force = reduced_force(self._system, force)
        explain = explained(self._system, self._core, self._dt)
        with callback(progress, "steps") as tell, explain:
            shortened, far = self._core.step(force, steps, tell, threads(), dt)
        if shortened and "steps" not in self._warned:
            self._warn_of_steps()
        bound: float = far
        self._warn_of_strain(stacklevel=5)
        if isinstance(self._system, ProjectedSolid):  # the core bounds its stretch only
            far = self._system._farthest(self._core.state()[0])
        if far > FAR and "far" not in self._warned:
            self._warn_of_far()
        self._warn_of_inversion()
        return bound

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
            Coordinates and their first time derivative, with shape and units of `State`; None:
            zero. Values at fixed nodes of a solid must be zero.
        qddot
            Second time derivative; None: the one that satisfies the equation of motion without
            external forces except gravity.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a value that is not finite, or moves a fixed node; `q`
            inverts an element where its law is not defined (`NeoHookean`).
        DivergedError
            The state is so large that forces overflow.
        """
        for value, name in ((q, "q"), (qdot, "qdot"), (qddot, "qddot")):
            array_like(value, name)
        self._core.reset(q, qdot, qddot, threads())
        self._warned &= {"load"}

    def clone(self: _Scheme) -> _Scheme:
        """Return an independent simulation of the same system, in the same state.

        Under the same forces both give bitwise equal results. The report of the clone starts with
        the number of steps and is otherwise empty. `copy` and `pickle` do the same.

        Returns
        -------
        Simulation
            One of the same class.
        """
        return self._clone()

    def _clone(self: _Scheme, **changes: Any) -> _Scheme:
        """Return a clone with other arguments of the constructor."""
        kind, settings, state, warned = self._data()
        made: _Scheme = _restored(kind, settings | changes, state, warned)
        return made

    def _resume(self, state: tuple[Any, ...]) -> None:
        """Set the state to the third of `_data`, of any simulation of the system."""
        q, qdot, qddot, steps = state[:4]
        # pickles of earlier versions end before them
        last, modes, pace = (*state[4:], None, None, None)[:3]
        held = self._core.whole_state()[6]
        if pace is not None and held is not None and len(pace) != len(held):
            raise InputError(
                f"this state has {len(pace)} numbers of contact in place of {len(held)}: another "
                "version of reducedfem made it; make the simulation again, and reset it to q and "
                "qdot of that one"
            )
        self._core.reset(q, qdot, qddot, threads(), steps, last or (None, None), modes, pace)

    def _data(self) -> tuple[Any, ...]:
        """Return the arguments of `_restored`."""
        q, qdot, qddot, time, last, modes, pace = self._core.whole_state()
        state = (q, qdot, qddot, round(time / self._dt), last, modes, pace)
        return type(self), self._settings, state, tuple(sorted(self._warned))

    def __copy__(self: _Scheme) -> _Scheme:
        return self.clone()

    def __deepcopy__(self: _Scheme, memo: object) -> _Scheme:
        return self.clone()  # systems are immutable and therefore shared

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._data()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: dt = {self._dt:g} s, {self._system!r}>"


def _restored(
    kind: type[_Scheme],
    settings: dict[str, Any],
    state: tuple[Any, ...],
    warned: tuple[str | bool, ...] = (),
) -> _Scheme:
    """Create a simulation in a given state; warned: names of the warnings of the original."""
    with silenced():
        made = kind(**{**settings, **kind._checked})
        made._settings |= {name: settings.get(name, False) for name in kind._checked}
    made._resume(state)
    made._warned = {one for one in warned if isinstance(one, str)}  # flags in earlier pickles
    return made


class ImplicitSimulation(Simulation):
    """Base class of implicit integrators, which solve for the end of a step by Newton's method.

    A subclass states the name of its scheme in the C core and its docstring; one whose scheme has
    settings of its own also has a constructor, which passes them to `_create`.
    """

    _lively: ClassVar[bool] = False  # slow motion is hardly damped
    # reason why steps do not take a BarrierContact; None: they do
    _no_barrier: ClassVar[str | None] = RINGS

    def __init__(
        self,
        system: System,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        newton_max: int = 1,
        tol: float = 1e-6,
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: BarrierContact | None = None,
        line_search: bool = True,
    ) -> None:
        more = strain_rate, deformation_only, gravity, contact, line_search
        self._create({}, system, dt, damping, newton_max, tol, *more)

    def _create(
        self,
        own: dict[str, float],
        system: System,
        dt: float,
        damping: Sequence[float],
        newton_max: int,
        tol: float,
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None,
        deformation_only: bool,
        gravity: ArrayLike | None,
        contact: BarrierContact | None,
        line_search: bool,
    ) -> None:
        """Check the arguments and create the motion; own: settings of the scheme, by name."""
        settings = {
            "dt": number(dt, "dt"),
            **{n: x if type(x) is int else number(x, n) for n, x in own.items()},
            "newton_max": iterations(newton_max),
            "tol": number(tol, "tol"),
            "line_search": flag(line_search, "line_search"),
        }
        rates = rayleigh(damping)
        if not isinstance(system, System):
            raise wrong_system(system, SYSTEMS)
        check_rigid_motion(system, deformation_only, type(self).__name__)
        fall = None if gravity is None else acceleration(gravity)
        if not isinstance(system, SecondOrderSystem):
            warn_of_motion(rates[1], fall, system.mesh.n_nodes, stacklevel=4)
        viscous = damping_argument(strain_rate, system)
        barrier = barrier_of(contact, type(self).__name__, self._no_barrier, system, newton_max)
        more = threads(), viscous, weight(system, fall), barrier
        self._core = _core.Motion(self._scheme, system._core, rates, settings, *more)
        # schemes that damp the motion are taken for the way to rest
        lively = own["gamma"] <= 0.5 if "gamma" in own else self._lively and not own.get("exact")
        if lively and isinstance(system, ReducedSolid):
            warn_of_coarse_steps(system, settings["dt"], rates, viscous, stacklevel=4)  # type: ignore[arg-type]
        self._system = system
        self._warned, self._dt = set(), float(dt)
        self._settings = {
            "system": system,
            "damping": rates,
            "strain_rate": strain_rate,
            "deformation_only": deformation_only,
            "gravity": fall,
            "contact": contact,
            **settings,
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
        contact: Contact,
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
        contact: Contact | None = None,
        position: ArrayLike | Pose | Sequence[Pose] | None = None,
        quaternion: ArrayLike | None = None,
        field_q: ArrayLike | None = None,
        progress: Progress = False,
    ) -> ContactTrajectory | None:
        """Advance by `n` steps under a constant force, optionally in contact with a moved object.

        With `contact`, each step moves the object with the distance field to its next pose and
        evaluates the contact forces on the reduced model there. The forces enter the step with
        their derivative, that is implicitly, so a stiffness of "auto" is stable for any mass.

        Parameters
        ----------
        force
            External force, constant over each step, at `force_time` if it varies: nodal [N],
            (n_nodes, 3) or (3 n_nodes,); for a reduced system also reduced, (r,); for a
            `SecondOrderSystem` (n,). None: zero.
        n
            Number of steps, at least 0; with a trajectory 1 or its length.
        contact
            Contact whose pointshell deforms with the system, which must be a `ReducedSolid`; None:
            no contact. Steps count as cycles of `Contact.evaluate` and update its warm
            start.
        position, quaternion
            Pose of the object with the field, as in `Contact.evaluate`: one pose for all
            steps, (3,) and (4,) or a `Pose`; or one pose per step, (n, 3) and (n, 4) or (4,), or a
            sequence of `Pose`. Required with `contact`.
        field_q
            Reduced coordinates of a deformable field, (r_field,), or one row per step; None: at
            rest.
        progress
            True for a progress bar, or a callable ``f(done, total)``.

        Returns
        -------
        ContactTrajectory or None
            With `contact`: forces on the object with the field at the beginning of each step, and
            the other results of the contact. None without `contact`.

        Raises
        ------
        DivergedError
            The motion became infinite or NaN, a tangent matrix could not be factored, or the
            displacement of a reduced model, bounded by the largest displacements of the basis
            vectors, exceeds 30 times the diagonal of its bounding box. The bound is checked in
            every step with contact, and without contact in the last step of a call (in long calls
            also in some others). The state is that before the failing step.
        InputError, InputTypeError
            An argument has a wrong type, shape or value; `contact` belongs to another model; or a
            pose is given without `contact`.

        Warns
        -----
        PlausibilityWarning
            The system is a `Solid` with fixed nodes and a force acts outside of the body, on a
            soft node of nearly empty cut cells (once a simulation); Newton increments were
            shortened in many steps, see `ImplicitReport` (once a reset); or a reduced model is
            displaced by more than twice the diagonal of its box at the end of a call without
            contact, its cubature strained beyond the poses that trained it, a body displaced by
            more than 2 % of it with exact modes of rest, or steps with a `BarrierContact` did not
            converge (once a reset).
        """
        if contact is None:
            for value, name in (
                (position, "position"),
                (quaternion, "quaternion"),
                (field_q, "field_q"),
            ):
                if value is not None:
                    raise InputError(f"{name} is given without contact")
            far = self._advance(force, n, progress)
            self._warn_of_modes(far)
            self._warn_of_iterations(far)
            self._warn_of_contact()
            return None
        steps = step_count(n)
        system = model_in_contact(self._system, contact)
        places, turns = trajectory(position, quaternion, steps)
        bent = None if field_q is None else repeated(field_q, "field_q", len(places))
        with callback(progress, "steps") as tell:
            found = self._core.step_contact(
                reduced_force(system, force), contact._core, places, turns, bent, tell
            )
        self._warn_of_strain(stacklevel=4)
        return ContactTrajectory(*(*found[:-1], None))

    @property
    def contact_state(self) -> BarrierState | None:
        """Contact by a barrier after the last step; None without a `BarrierContact`."""
        found = self._core.barrier_state()
        return None if found is None else BarrierState(*found)

    @property
    def report(self) -> ImplicitReport:
        """Statistics since the last reset, including the convergence of the last step."""
        return ImplicitReport(**self._core.report())
