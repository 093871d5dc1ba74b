"""A diagonally implicit Runge-Kutta method of second order."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from reducedfem.base.check import count
from reducedfem.contact.barrier import BarrierContact
from reducedfem.dynamics.integrator import ImplicitSimulation, System
from reducedfem.reduction.damping import StrainRateDamping
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping

__all__ = ["SDIRK2"]


class SDIRK2(ImplicitSimulation):
    """Diagonally implicit Runge-Kutta method with two stages of one matrix.

    Second order; high frequencies are damped, slow motion hardly (Ascher et al. 2021,
    equation 10): an undamped mode of angular frequency w loses the part g^4 (w h)^4 / 2, with
    g = 1 - 1/sqrt(2), of its amplitude a step of h if w h is small. Its error of the period is
    half that of `ImplicitNewmark`. Suits vibrations of models with stiff modes.

    With ``newton_max=1`` this is S-SDIRK of the same authors. Contact and haptic sessions take
    integrators with one stage only. Methods may be called from several threads. A call waits for
    a few steps of another call, not for its end.

    Parameters
    ----------
    system
        The simulated system: `ReducedSolid`, `ProjectedSolid`, `Solid` or `SecondOrderSystem`.
    dt
        Time step [s], positive.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), both at least 0; see `ImplicitNewmark`.
    newton_max, tol, strain_rate, deformation_only, gravity, line_search
        As in `ImplicitNewmark`; `newton_max` and `tol` hold for each stage.
    contact
        None; see `ImplicitNewmark`.
    jacobians
        2: each stage begins with a matrix of its own. 1: the second one begins with that of the
        first, which with ``newton_max=1`` saves a factorization and keeps the order.

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

    _scheme = "sdirk2"
    _lively = True
    _force_part = 0.5

    def __init__(
        self,
        system: System,
        dt: float,
        damping: Sequence[float] = (0.0, 0.0),
        newton_max: int = 1,
        tol: float = 1e-6,
        strain_rate: StrainRateDamping | ReducedStrainRateDamping | None = None,
        *,
        jacobians: int = 2,
        deformation_only: bool = False,
        gravity: ArrayLike | None = None,
        contact: BarrierContact | None = None,
        line_search: bool = True,
    ) -> None:
        own: dict[str, float] = {"jacobians": count(jacobians, "jacobians", 2)}
        more = strain_rate, deformation_only, gravity, contact, line_search
        self._create(own, system, dt, damping, newton_max, tol, *more)
