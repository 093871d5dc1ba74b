"""Generalized-alpha integration."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from reducedfem.contact.barrier import BarrierContact
from reducedfem.dynamics.integrator import ImplicitSimulation, System
from reducedfem.reduction.damping import StrainRateDamping
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping

__all__ = ["GeneralizedAlpha"]


class GeneralizedAlpha(ImplicitSimulation):
    """Newmark integration with forces averaged over a step (Chung and Hulbert 1993).

    Second order; `rho` chooses how much high frequencies are damped, with little damping of slow
    motion. A step costs as much as one of `ImplicitNewmark`. The equation of motion holds for
    averages, so that accelerations are less accurate than positions and velocities.

    Methods may be called from several threads. A call waits for a few steps of another call, not
    for its end.

    Parameters
    ----------
    system
        The simulated system: `ReducedSolid`, `ProjectedSolid`, `Solid` or `SecondOrderSystem`.
    dt
        Time step [s], positive.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), both at least 0; see `ImplicitNewmark`.
    newton_max, tol, strain_rate, deformation_only, gravity, line_search
        As in `ImplicitNewmark`.
    contact
        None; see `ImplicitNewmark`.
    rho
        Factor by which infinitely high frequencies shrink in a step, 0 to 1; 1 does not damp them.
        Steps of a body in contact take 0.6 at most.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, is out of range, or the model is that of a free body.
    MeshError
        All nodes of the solid are fixed.

    Warns
    -----
    PlausibilityWarning
        As `ImplicitNewmark`.
    """

    _scheme = "generalized_alpha"
    _lively = True

    def __init__(
        self,
        system: System,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        newton_max: int = 1,
        tol: float = 1e-6,
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        rho: float = 0.8,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: BarrierContact | None = None,
        line_search: bool = True,
    ) -> None:
        own = {"rho": rho}
        more = strain_rate, deformation_only, gravity, contact, line_search
        self._create(own, system, dt, damping, newton_max, tol, *more)

    @property
    def _force_part(self) -> float:
        return 1.0 / (1.0 + float(self._settings["rho"]))
