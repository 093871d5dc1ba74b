"""Explicit time integration by central differences, natural frequencies and stable time steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from numpy.typing import ArrayLike

from reducedfem import _core
from reducedfem.base.check import array_like, flag, number
from reducedfem.base.console import count_text
from reducedfem.base.quiet import warn
from reducedfem.base.run import Progress, threads
from reducedfem.contact.rigid_proxy import ProxyForce, RigidProxy
from reducedfem.dynamics.contact_arguments import barrier_of, proxies, proxies_of
from reducedfem.dynamics.integrator import (
    SYSTEMS,
    Simulation,
    System,
    _restored,
    acceleration,
    check_rigid_motion,
    rayleigh,
    weight,
    wrong_system,
)
from reducedfem.errors import InputError, PlausibilityWarning
from reducedfem.geometry.pose import Pose
from reducedfem.reduction.damping import StrainRateDamping, damping_argument
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping
from reducedfem.solid.plausible import warn_of_motion
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["CentralDifferences", "CentralReport", "Spectrum", "spectrum", "stable_step"]

# fraction of the stable step at rest that is the default dt: most solids stiffen as they deform
_FRACTION = 0.5
# fraction up to which steps of two lengths are stable in turn: (a + b)^2 (1 - a b / 4) <= 4 for
# a, b = omega dt
_MIXED = 0.7
_ACCURACY = 1e-3  # of the highest frequency that gives the limit of a solid
_ROUNDING = 1e-6
_LEAST_TOLERANCE, _MOST_TOLERANCE = 1e-12, 0.01  # of the highest frequency
_CROSSES = "an explicit step does not see a barrier ahead and crosses it"


@dataclass(frozen=True)
class Spectrum:
    """Lowest and highest natural frequency; returned by `spectrum`.

    Attributes
    ----------
    lowest, highest
        Frequencies [Hz]. A negative value stands for an imaginary frequency: the tangent has a
        negative eigenvalue, and the equilibrium is unstable.
    """

    lowest: float
    highest: float


@dataclass(frozen=True)
class CentralReport:
    """Statistics of a `CentralDifferences` since the last reset.

    Attributes
    ----------
    steps
        Steps taken.
    stable_step
        Stable step at rest [s], computed when the simulation was created; NaN if it is not known,
        see `stable_step`.
    iterations
        Iterations of conjugate gradients in steps of another length than `CentralDifferences.dt`
        times a power of two, with `implicit_damping` of a solid: up to eight each, in contact
        for each round of its solve.
    unsolved
        Steps in contact with `implicit_damping` whose forces do not obey the laws of contact and
        friction, as those of nodes that bodies pinch.
    """

    steps: int
    stable_step: float
    iterations: int
    unsolved: int


def _frequency(eigenvalue: float) -> float:
    return math.copysign(math.sqrt(abs(eigenvalue)), eigenvalue) / (2.0 * math.pi)


def spectrum(
    system: ReducedSolid | Solid,
    q: ArrayLike | None = None,
    *,
    lumped: bool = False,
    tolerance: float = 1e-8,
) -> Spectrum:
    """Return the lowest and the highest natural frequency of a system, from K x = omega^2 M x.

    Parameters
    ----------
    system
        A reduced model, or a solid with enough fixed nodes that no part of it can move rigidly.
    q
        Reduced coordinates (r,) at which the tangent K is evaluated; None: rest. Must be None
        for a `Solid`, whose spectrum is available at rest only.
    lumped
        Use the lumped mass instead of the consistent mass for the highest frequency of a `Solid`.
        It gives a lower frequency, except for cut cells. `CentralDifferences` uses the lumped
        mass, except for cut cells.
    tolerance
        Estimated relative error of the highest frequency of a `Solid`, 1e-12 to 0.01. Within it
        lies some natural frequency, and successive estimates agree; that no frequency is higher,
        where many are close to each other, is likely but not certain.

    Returns
    -------
    Spectrum
        Frequencies [Hz]. For a reduced model they follow from all eigenvalues. For a solid the
        lowest is that of `Solid.linear_modes`; the highest comes from Lanczos' method and is, but
        for rounding, never above the exact value. (`stable_step` needs less: a bound from above,
        or for cut cells an estimate.)

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; `q` is given for a solid.
    MeshError
        Some part of the solid can move rigidly.
    ConvergenceError
        The estimate of the highest frequency does not reach `tolerance`.
    """
    flag(lumped, "lumped")
    if not _LEAST_TOLERANCE <= number(tolerance, "tolerance") <= _MOST_TOLERANCE:
        raise InputError(f"tolerance must be 1e-12 to 0.01, got {tolerance}")
    if isinstance(system, ReducedSolid):
        values = _core.reduced_eigenvalues(system._core, array_like(q, "q"))
        return Spectrum(_frequency(values[0]), _frequency(values[-1]))
    if not isinstance(system, Solid):
        raise wrong_system(system)
    if q is not None:
        raise InputError(
            "q must be None: the spectrum of an unreduced solid is available at rest only "
            "(stable_step takes displacements)"
        )
    lowest = float(system.linear_modes(1).frequencies[0])
    highest = _core.solid_highest(system._core, lumped, 2.0 * tolerance, threads())
    return Spectrum(lowest, _frequency(highest))


def stable_step(
    system: System,
    q: ArrayLike | None = None,
    damping: Sequence[float] = (0.0, 0.0),
    strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
    *,
    implicit_damping: bool = False,
) -> float:
    """Return the largest time step for which `CentralDifferences` is stable near a state.

    The step is 2 / omega for the highest natural frequency omega [rad/s] of the tangent, and less
    with stiffness damping: 2 (sqrt(1 + xi^2) - xi) / omega, where xi = beta omega / 2 is the
    damping ratio of that mode (compare Barbic 2007, section 2.9.1, and
    ``docs/time_integration.md``). Solids mostly stiffen as they deform, so motions of large
    amplitude need smaller steps than the stable step at rest.

    Parameters
    ----------
    system
        The system. A `Solid` has the same mass as in `CentralDifferences`. A `SecondOrderSystem`
        must not have a damping matrix.
    q
        Reduced coordinates (r,), displacements [m] (n, 3) or unknowns (n,) at which the tangent is
        evaluated; None: rest. Must be None for a `SecondOrderSystem` without a `tangent`.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), both at least 0, with the stiffness at `q`.
        Mass damping does not shorten the stable step.
    strain_rate
        Additional strain-rate damping. Its highest rate is attributed to the highest mode, which
        is conservative. None: the damping of the model, if it has any.
    implicit_damping
        Return the step of `CentralDifferences` with `implicit_damping`: 2 / omega for any damping.

    Returns
    -------
    float
        Time step [s]. Exact for a `ReducedSolid` and a `ProjectedSolid`; of the accuracy of the
        eigenvalue solver for a `SecondOrderSystem`. For a `Solid` with lumped mass it is safe,
        mostly 0 to 15 % below the exact limit: it follows from an upper bound of the highest
        frequency (Collatz and Wielandt's bound for the matrix of absolute values). For cut cells,
        which have the consistent mass, it follows from an estimate of that frequency by Lanczos'
        method, minus 1 %. Infinite if the tangent has no positive eigenvalue.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value.
    SingularMatrixError
        The tangent of a `SecondOrderSystem` at `q` is not positive definite.
    MeshError
        All nodes of the solid are fixed.
    """
    rates = rayleigh(damping)
    array_like(q, "q")
    if not isinstance(system, System):
        raise wrong_system(system, SYSTEMS)
    rate = damping_argument(strain_rate, system)
    if flag(implicit_damping, "implicit_damping"):
        _refuse_inside(system)
        rates, rate = (0.0, 0.0), None
    if isinstance(system, SecondOrderSystem):
        if q is not None and system.tangent is None:
            why = (
                "the system is linear, its tangent constant"
                if system.internal_force is None
                else "the system has no tangent: pass tangent= to SecondOrderSystem"
            )
            raise InputError(f"q must be None: {why}")
        if system.damping_matrix is not None:
            raise InputError(
                "the stable step of a system with a damping_matrix is not known: choose dt by "
                "trial, below the stable step without it"
            )
    return _core.stable_step(system._core, q, rates, threads(), rate)


def _limit(system: System, damping: tuple[float, float]) -> float:
    """Return the step [s] from which central differences grow at rest.

    Strain-rate damping and a damping matrix lower the true limit further.
    """
    if not isinstance(system, Solid):
        return _core.stable_step(system._core, None, damping, threads(), None)
    # Lanczos' estimate is at most the highest eigenvalue: the limit is never too low
    core = system._core
    square = max(_core.solid_highest(core, core.steps_lumped, 2.0 * _ACCURACY, threads()), 0.0)
    late = damping[1] * square
    total = late + math.sqrt(late * late + 4.0 * square)
    return 4.0 / total if total > 0.0 else math.inf


def _refuse_inside(system: System) -> None:
    if isinstance(system, SecondOrderSystem):
        raise InputError(
            "implicit_damping must be False for a SecondOrderSystem: it is for a Solid and its "
            "models"
        )


class _SeveralError(InputError, AttributeError):
    """An AttributeError, so that hasattr is False for several bodies."""


class CentralDifferences(Simulation):
    """Explicit integration by central differences (Barbic 2007, section 2.9.1).

    Newmark's scheme with beta = 0, gamma = 1/2. No stiffness matrix is factored, but steps must be
    shorter than `stable_step`. Suits unreduced solids under impacts and independent checks of
    `ImplicitNewmark`, which is mostly faster for reduced models.

    A step of a `ReducedSolid` evaluates the reduced force once and allocates nothing. A `Solid`
    has its lumped mass, cut cells (`voxelize`) their consistent mass, which is factored once.
    Stiffness damping requires the tangent matrix, which makes a step several times as long, and
    acts on the velocity half a step earlier: the scheme is of first order with it. See
    ``docs/time_integration.md``.

    Methods may be called from several threads. A call waits for a few steps of another call, not
    for its end.

    Parameters
    ----------
    system
        The simulated system: `ReducedSolid`, `ProjectedSolid`, `Solid` or `SecondOrderSystem`.
    dt
        Time step [s], positive; None: half of the stable step at rest.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), both at least 0: C = alpha M + beta K(q),
        K at the current q; see `ImplicitNewmark`.
    strain_rate
        Additional damping by the rate of strain: a `StrainRateDamping` of the solid, or a
        `ReducedStrainRateDamping` for a reduced model. None: the damping of the model, if it has
        any. It acts half a step earlier too, but requires no matrix for a solid.
    implicit_damping
        Take all damping inside of the step, by its matrix D at rest: (M + dt/2 D) a = f - R(x) -
        D (v + dt/2 a0). The matrix on the left is factored once; the scheme is of second order,
        and stable for dt < 2 / omega for any D. As D is constant, it also resists a body that
        turns by a large angle.
    deformation_only
        Accept a model of a free body; see `ImplicitNewmark`.
    gravity
        Gravitational acceleration [m/s^2], shape (3,); see `ImplicitNewmark`.
    contact
        A `RigidProxy` that the surface nodes of a `Solid` touch, or a list of them; None: no
        contact. A node that touches several obeys them in turn, with `implicit_damping` all
        together. Explicit steps refuse a `BarrierContact`; take `BackwardEuler` or `BDF2` for it.
    unstable
        Accept a `dt` beyond the limit of stability, to study the growth.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, is out of range or not for this system; the model is that
        of a free body; `dt` is beyond the limit of stability at rest, or None and there is no
        stiffness at rest or the stable step unknown.
    MeshError
        All nodes of the solid are fixed.
    ConvergenceError
        The limit of a solid, which a `dt` beyond `stable_step` requires, was not found.

    Warns
    -----
    PlausibilityWarning
        With strain-rate damping, `dt` is beyond the stable step at rest.
    """

    _scheme = "central"
    _quick = True
    _checked = MappingProxyType({"unstable": True})

    def __init__(
        self,
        system: System,
        dt: float | None = None,
        damping: Sequence[float] = (0.0, 0.0),
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: RigidProxy | Sequence[RigidProxy] | None = None,
        implicit_damping: bool = False,
        unstable: bool = False,
    ) -> None:
        flag(unstable, "unstable")
        alpha, stiff = rayleigh(damping)
        inside = flag(implicit_damping, "implicit_damping")
        touched = proxies_of(contact, system)
        if touched is None:
            barrier_of(contact, type(self).__name__, _CROSSES, system, 1)
        given = None if dt is None else number(dt, "dt")
        unknown = isinstance(system, SecondOrderSystem) and system.damping_matrix is not None
        self._stable = math.nan
        if not unknown or given is None:
            rates = (alpha, stiff), strain_rate
            self._stable = stable_step(system, None, *rates, implicit_damping=inside)
        check_rigid_motion(system, deformation_only, type(self).__name__)
        if given is None:
            if not math.isfinite(self._stable):
                raise InputError("dt must be given: the system has no stiffness at rest")
            given = _FRACTION * self._stable
        rate = damping_argument(strain_rate, system)
        # the stable step is a lower bound of the limit, which takes longer to find; nan: unknown
        if not given <= (1.0 + _ROUNDING) * self._stable and not unstable:
            limit = _limit(system, (alpha, 0.0 if inside else stiff))
            if given > (1.0 + _ROUNDING) * limit:
                more = ""
                if stiff > 0.0 and not inside and not isinstance(system, SecondOrderSystem):
                    free = _limit(system, (alpha, 0.0))
                    more = f", or take implicit_damping=True, stable up to {free:g} s"
                raise InputError(
                    f"dt is {given:g} s, but steps are stable up to {limit:g} s at rest: "
                    "vibrations would grow without bound. Leave dt out for half of the stable "
                    f"step{more}, or pass unstable=True to study the growth"
                )
            if rate is not None and not inside:
                warn(
                    f"dt is {given:g} s, but with strain_rate steps may be stable only up to "
                    f"{self._stable:g} s at rest: leave dt out for half of that",
                    PlausibilityWarning,
                    2,
                )
        fall = None if gravity is None else acceleration(gravity)
        if not isinstance(system, SecondOrderSystem):
            warn_of_motion(stiff, fall, system.mesh.n_nodes, stacklevel=3)
        lumped = {"lumped": system._core.steps_lumped} if isinstance(system, Solid) else {}
        load = weight(system, fall, **lumped)
        self._core = _core.Motion(
            self._scheme,
            system._core,
            (alpha, stiff),
            {"dt": given},
            threads(),
            rate,
            load,
            None,
            inside,
            None if touched is None else (*touched, self._stable),
        )
        self._system = system
        self._warned, self._dt = set(), given
        self._settings = {
            "system": system,
            "dt": given,
            "damping": (alpha, stiff),
            "strain_rate": strain_rate,
            "deformation_only": deformation_only,
            "gravity": fall,
            "contact": tuple(contact) if isinstance(contact, list) else contact,
            "implicit_damping": inside,
            "unstable": unstable,
        }

    def step(
        self,
        force: ArrayLike | None = None,
        n: int = 1,
        *,
        dt: float | None = None,
        progress: Progress = False,
    ) -> None:
        """Advance by `n` steps under a constant force and the gravity of the simulation.

        A force that starts suddenly makes the scheme first order, unless ``reset(qddot=)`` gives
        the acceleration with it.

        Parameters
        ----------
        force
            External force, constant over each step, at `force_time` if it varies: nodal [N],
            (n_nodes, 3) or (3 n_nodes,); for a reduced system also reduced, (r,); for a
            `SecondOrderSystem` (n,). None: zero.
        n
            Number of steps, at least 0.
        dt
            Length of these steps [s]; None: that of the simulation. Each step may have another
            length, at most 0.7 stable steps at rest, where that of the simulation is at most that,
            too: alternating lengths are unstable from 0.71 of it on. With `implicit_damping` of a
            solid, lengths other than powers of two times that of the simulation take up to eight
            iterations with the factors of the two next to them, in contact several times as many;
            in contact successive lengths differ by a factor of two at most.
        progress
            True for a progress bar, or a callable ``f(done, total)``.

        Raises
        ------
        DivergedError
            The motion became infinite or NaN, or the last step displaced the body by more than 30
            times the diagonal of its bounding box. The state is that before the failing step.
        InputError, InputTypeError
            `force` has a wrong shape or a value that is not finite, `n` is out of range, or `dt`
            is not positive or too long; with `implicit_damping`, more than 1,024 nodes touch, or
            the step before, in contact, was over twice or under half as long.

        Warns
        -----
        PlausibilityWarning
            As `Simulation.step`; the forces of a step in contact with `implicit_damping` do not
            obey the laws of contact.
        """
        length = 0.0 if dt is None else self._length(number(dt, "dt"))
        far = self._advance(force, n, progress, length)
        unsolved = self.report.unsolved
        if unsolved and "unsolved" not in self._warned:
            self._warned.add("unsolved")
            warn(
                f"in {count_text(unsolved, 'step')} forces of contact do not obey its laws, as no "
                "forces can where bodies pinch nodes: move the bodies apart, or take "
                "implicit_damping=False",
                PlausibilityWarning,
                2,
            )
        self._warn_of_modes(far)

    def _length(self, dt: float) -> float:
        """Return a length of steps; refuse those that are not stable."""
        if not dt > 0.0:
            raise InputError(f"dt must be positive, got {dt:g}")
        if dt == self._dt:
            return dt
        if math.isnan(self._stable):
            if dt > self._dt:
                raise InputError(
                    f"dt is {dt:g} s, beyond that of the simulation, {self._dt:g} s, as the stable "
                    "step is not known: make shorter steps, or a simulation with that dt"
                )
            return dt
        limit = _MIXED * self._stable
        text = f"{_MIXED:g} stable steps at rest, {limit:g} s, beyond which mixed lengths may grow"
        if dt > limit:
            raise InputError(
                f"dt is {dt:g} s, longer than {text}: make shorter steps, or a simulation with "
                "that dt"
            )
        if self._dt > limit:
            raise InputError(
                f"dt is another length than that of the simulation, {self._dt:g} s, which is "
                f"longer than {text}: leave dt out, or make the simulation with a shorter dt"
            )
        return dt

    def _free(self) -> CentralDifferences:
        """Return a clone without contact."""
        kind, settings, state, warned = self._data()
        pace = [*state[6][:3], 0.0, 0.0, 0.0, 0.0]  # without those of contact
        made: CentralDifferences = _restored(
            kind, settings | {"contact": None}, (*state[:6], pace), warned
        )
        return made

    @property
    def _damped_inside(self) -> bool:
        return bool(self._settings["implicit_damping"])

    @property
    def _bodies(self) -> tuple[RigidProxy, ...]:
        """Bodies that the solid touches."""
        contact = self._settings["contact"]
        return () if contact is None else proxies(contact)

    @property
    def contact(self) -> ProxyForce | None:
        """Contact with the `RigidProxy` in the last step; None without one.

        With several bodies there is no such attribute: see `contacts`.
        """
        found = self.contacts
        if len(found) > 1:
            raise _SeveralError(
                f"contact is not one: the solid touches {len(found)} bodies; read contacts, a "
                "tuple of theirs"
            )
        return (*found, None)[0]

    @property
    def contacts(self) -> tuple[ProxyForce, ...]:
        """Contact in the last step with each `RigidProxy`, in the order of `contact`."""
        found = self._core.proxy_results() or ()
        # zeros without a sign
        return tuple(
            ProxyForce(
                force=0.0 - force,
                torque=0.0 - torque,
                impulse=0.0 - impulse,
                nodes=nodes,
                node_forces=parts,
                pose=Pose(place, turn),
                normal_force=0.0 - normal,
                sliding=sliding,
            )
            for nodes, parts, force, torque, impulse, place, turn, normal, sliding in found
        )

    @property
    def report(self) -> CentralReport:
        """Statistics since the last reset."""
        return CentralReport(stable_step=self._stable, **self._core.report())
