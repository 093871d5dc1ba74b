"""Explicit time integration by central differences, natural frequencies and stable time steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from reducedfem import _core
from reducedfem.base.check import array_like, flag, number
from reducedfem.base.run import threads
from reducedfem.contact.barrier import BarrierContact
from reducedfem.dynamics.contact_arguments import barrier_of
from reducedfem.dynamics.integrator import (
    SYSTEMS,
    Simulation,
    System,
    acceleration,
    check_rigid_motion,
    rayleigh,
    weight,
    wrong_system,
)
from reducedfem.errors import InputError
from reducedfem.reduction.damping import StrainRateDamping, damping_argument
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping
from reducedfem.solid.plausible import warn_of_motion
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["CentralDifferences", "CentralReport", "Spectrum", "spectrum", "stable_step"]

# fraction of the stable step at rest that is the default dt: most solids stiffen as they deform
_FRACTION = 0.5
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
    """

    steps: int
    stable_step: float


def _frequency(eigenvalue: float) -> float:
    return math.copysign(math.sqrt(abs(eigenvalue)), eigenvalue) / (2.0 * math.pi)


def spectrum(
    system: ReducedSolid | Solid, q: ArrayLike | None = None, *, lumped: bool = False
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

    Returns
    -------
    Spectrum
        Frequencies [Hz]. For a reduced model they follow from all eigenvalues. For a solid the
        lowest is that of `Solid.linear_modes`; the highest comes from Lanczos' method, which
        gives mostly 4 digits and, but for rounding, never more than the exact value.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; `q` is given for a solid.
    MeshError
        Some part of the solid can move rigidly.
    """
    flag(lumped, "lumped")
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
    highest = _core.solid_highest(system._core, lumped, threads())
    return Spectrum(lowest, _frequency(highest))


def stable_step(
    system: System,
    q: ArrayLike | None = None,
    damping: Sequence[float] = (0.0, 0.0),
    strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
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


class CentralDifferences(Simulation):
    """Explicit integration by central differences (Barbic 2007, section 2.9.1).

    Newmark's scheme with beta = 0, gamma = 1/2. No stiffness matrix is factored, but steps must be
    shorter than `stable_step`. Suits unreduced solids under impacts and independent checks of
    `ImplicitNewmark`, which is mostly faster for reduced models.

    A step of a `ReducedSolid` evaluates the reduced force once and allocates nothing. A `Solid`
    has its lumped mass, and its elements are evaluated on all threads; stiffness damping requires
    its tangent matrix and makes a step several times as long. Cut cells (`voxelize`) have their
    consistent mass instead, which is factored once. Stiffness damping acts on the velocity half a
    step earlier: the scheme is of first order with it, of second order without. See
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
        any. It acts half a step earlier, like stiffness damping, but requires no matrix for a
        solid.
    deformation_only
        Accept a model of a free body; see `ImplicitNewmark`.
    gravity
        Gravitational acceleration [m/s^2], shape (3,); see `ImplicitNewmark`.
    contact
        None: explicit steps refuse a `BarrierContact`; take `BackwardEuler` or `BDF2`.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, is out of range, or the model is that of a free body; `dt`
        is None and the system has no stiffness at rest or its stable step is not known.
    MeshError
        All nodes of the solid are fixed.
    """

    _scheme = "central"
    _quick = True

    def __init__(
        self,
        system: System,
        dt: float | None = None,
        damping: Sequence[float] = (0.0, 0.0),
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: BarrierContact | None = None,
    ) -> None:
        alpha, stiff = rayleigh(damping)
        barrier_of(contact, type(self).__name__, _CROSSES, system, 1)
        given = None if dt is None else number(dt, "dt")
        unknown = isinstance(system, SecondOrderSystem) and system.damping_matrix is not None
        self._stable = math.nan
        if not unknown or given is None:
            self._stable = stable_step(system, None, (alpha, stiff), strain_rate)
        check_rigid_motion(system, deformation_only, type(self).__name__)
        if given is None:
            if not math.isfinite(self._stable):
                raise InputError("dt must be given: the system has no stiffness at rest")
            given = _FRACTION * self._stable
        rate = damping_argument(strain_rate, system)
        fall = None if gravity is None else acceleration(gravity)
        if not isinstance(system, SecondOrderSystem):
            warn_of_motion(stiff, fall, system.mesh.n_nodes, stacklevel=3)
        lumped = {"lumped": system._core.steps_lumped} if isinstance(system, Solid) else {}
        load = weight(system, fall, **lumped)
        self._core = _core.Motion(
            self._scheme, system._core, (alpha, stiff), {"dt": given}, threads(), rate, load
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
        }

    @property
    def report(self) -> CentralReport:
        """Statistics since the last reset."""
        return CentralReport(stable_step=self._stable, **self._core.report())
