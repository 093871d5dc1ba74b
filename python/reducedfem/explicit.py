"""Explicit time integration, and what it needs to know: frequencies and stable steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from reducedfem import _core
from reducedfem._check import array_like, flag, number
from reducedfem._run import threads
from reducedfem.damping import StrainRateDamping, damping_argument
from reducedfem.errors import InputError
from reducedfem.integrator import (
    SYSTEMS,
    Simulation,
    System,
    acceleration,
    check_rigid_motion,
    rayleigh,
    weight,
    wrong_system,
)
from reducedfem.projected import ProjectedSolid
from reducedfem.reduced import ReducedSolid
from reducedfem.reduced_damping import ReducedStrainRateDamping
from reducedfem.second_order import SecondOrderSystem
from reducedfem.solid import Solid

__all__ = ["CentralDifferences", "CentralReport", "Spectrum", "spectrum", "stable_step"]

# of the stable step at rest, when no dt is given: most solids stiffen as they deform
_FRACTION = 0.5


@dataclass(frozen=True)
class Spectrum:
    """Range of natural frequencies, as `spectrum` returns it.

    Attributes
    ----------
    lowest, highest
        Frequencies [Hz]. A negative one stands for an imaginary frequency: the tangent has a
        negative eigenvalue there, and the equilibrium is not stable.
    """

    lowest: float
    highest: float


@dataclass(frozen=True)
class CentralReport:
    """Statistics since the last reset.

    Attributes
    ----------
    steps
        Steps taken.
    stable_step
        The stable step at rest [s], found when the simulation was made; NaN where `stable_step`
        does not know it.
    """

    steps: int
    stable_step: float


def _frequency(eigenvalue: float) -> float:
    return math.copysign(math.sqrt(abs(eigenvalue)), eigenvalue) / (2.0 * math.pi)


def spectrum(
    system: ReducedSolid | Solid, q: ArrayLike | None = None, *, lumped: bool = False
) -> Spectrum:
    """Return the lowest and the highest natural frequency of a system.

    Those of K x = omega^2 M x. A reduced model in a basis with modal derivatives has far
    higher ones than the linear modes it is made of, and an unreduced solid higher ones
    still (Barbic 2007, table 2.1): that is what explicit integration suffers from.

    Parameters
    ----------
    system
        A reduced model, or a solid held at its fixed nodes.
    q
        Reduced coordinates (r,) at which the tangent is taken; None: rest. Of an unreduced
        solid the spectrum at rest is available only.
    lumped
        For an unreduced solid: its highest frequency with the lumped mass instead of the
        consistent one. It is lower where no cells are cut. `CentralDifferences` uses the lumped
        mass, except of cut cells.

    Returns
    -------
    Spectrum
        In Hz. Of a reduced model from all eigenvalues; of a solid the lowest as by
        `Solid.linear_modes`, the highest by Lanczos' method, mostly to 4 digits and never
        above the true one but for rounding.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; `q` for an unreduced solid.
    MeshError
        Some part of the solid is not held.
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
    """Return the largest time step with which `CentralDifferences` is stable near a state.

    That is 2 / omega for the highest natural frequency omega [rad/s] of the tangent, less
    with stiffness damping: 2 (sqrt(1 + xi^2) - xi) / omega, xi = beta omega / 2 being the
    damping ratio of that mode. (Barbic 2007, section 2.9.1, names a whole period of it,
    2 pi / omega: at that step the scheme multiplies the mode by about -37 in each step.)
    Solids mostly stiffen as they deform, so motions of large amplitude need smaller steps
    than the stable one at rest.

    Parameters
    ----------
    system
        The system. An unreduced solid has the same mass as in `CentralDifferences`. Of a
        `SecondOrderSystem` with a damping matrix the step is not known.
    q
        Reduced coordinates (r,) or displacements [m] (n, 3) at which the tangent is taken;
        None: rest. A `SecondOrderSystem` has one tangent.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), with the stiffness at `q`. Mass damping
        does not shorten the stable step.
    strain_rate
        Strain-rate damping as well; its highest rate is taken as that of the highest mode,
        which is on the safe side. None: that of the model, if it has any.

    Returns
    -------
    float
        In s. Exact for a reduced model and a projected solid, an eigenvalue to solver accuracy
        for a `SecondOrderSystem`. For an unreduced solid with lumped mass it is safe,
        mostly 0 to 15 % below the true limit: it follows from an upper bound of the highest
        frequency (Collatz and Wielandt's for the matrix of absolute values). For cut cells,
        which have the consistent mass, it follows from an estimate of that frequency by
        Lanczos' method, minus 1 %. Infinite if the tangent has no positive eigenvalue.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value.
    MeshError
        All nodes of the solid are fixed.
    """
    _, stiff = rayleigh(damping)
    array_like(q, "q")
    if not isinstance(system, System):
        raise wrong_system(system, SYSTEMS)
    rate = damping_argument(strain_rate, system)
    if isinstance(system, ReducedSolid):
        return _core.reduced_stable_step(system._core, q, stiff, rate)  # type: ignore[arg-type]
    if isinstance(system, ProjectedSolid):
        return _core.projected_stable_step(system._core, q, stiff, threads(), rate)  # type: ignore[arg-type]
    if isinstance(system, SecondOrderSystem):
        if q is not None:
            raise InputError("q must be None: the tangent of a SecondOrderSystem is constant")
        if system.damping_matrix is not None:
            raise InputError(
                "the stable step of a system with a damping_matrix is not known: choose dt by "
                "trial, below the stable step without it"
            )
        return _core.matrices_stable_step(system._core, stiff, threads())
    return _core.solid_stable_step(system._core, q, stiff, threads(), rate)  # type: ignore[arg-type]


class CentralDifferences(Simulation):
    """Explicit integration by central differences (Barbic 2007, section 2.9.1).

    Newmark's scheme with beta = 0, gamma = 1/2: the stiffness is never factored, but steps must
    be shorter than the fastest oscillation allows, see `stable_step`. The right choice for
    unreduced solids under impacts, and as an independent check of `ImplicitNewmark`; for
    reduced models `ImplicitNewmark` is mostly faster.

    A step of a `ReducedSolid` evaluates the reduced force once and allocates nothing. A
    `Solid` has its lumped mass, and its elements are visited on all threads; no matrix is
    made, except for stiffness damping, which needs the tangent and makes a step several
    times as long. Cut cells (`voxelize`) have their consistent mass instead, which is
    factored once: with lumped mass, some of their motions would be far too slow.
    Stiffness damping acts on the velocity half a step earlier: the scheme is of first order
    with it, of second order without. Methods may be called from several threads; each waits
    for some steps of another, not for its whole call.

    Parameters
    ----------
    system
        The simulated system.
    dt
        Time step [s]; None: half of the stable step at rest.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]): C = alpha M + beta K(q), K at the present
        q; see `ImplicitNewmark`.
    strain_rate
        Strain-rate damping as well: a `StrainRateDamping` of the solid, or its reduction for
        a reduced model. None: that of the model, if it has any. It acts like stiffness damping
        half a step earlier; for a solid it needs no matrix.
    deformation_only
        Accept a model of a free body; see `ImplicitNewmark`.
    gravity
        Acceleration of free fall [m/s^2], shape (3,); see `ImplicitNewmark`.

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
        dt: float | None = None,
        damping: Sequence[float] = (0.0, 0.0),
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
    ) -> None:
        alpha, stiff = rayleigh(damping)
        given = None if dt is None else number(dt, "dt")
        unknown = isinstance(system, SecondOrderSystem) and system.damping_matrix is not None
        self._stable = math.nan
        if not unknown or given is None:
            self._stable = stable_step(system, None, (alpha, stiff), strain_rate)
        check_rigid_motion(system, deformation_only, "CentralDifferences")
        if given is None:
            if not math.isfinite(self._stable):
                raise InputError("dt must be given: the system has no stiffness at rest")
            given = _FRACTION * self._stable
        rate = damping_argument(strain_rate, system)
        fall = acceleration(gravity)
        lumped = {"lumped": system._core.steps_lumped} if isinstance(system, Solid) else {}
        load = weight(system, fall, **lumped)
        self._core = _core.Motion(
            "central", system._core, (alpha, stiff), {"dt": given}, threads(), rate, load
        )
        self._system = system
        self._dt = given
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
