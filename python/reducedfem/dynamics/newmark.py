"""Implicit Newmark integration."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from reducedfem.contact.barrier import BarrierContact
from reducedfem.dynamics.integrator import ImplicitSimulation, System
from reducedfem.reduction.damping import StrainRateDamping
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping

__all__ = ["ImplicitNewmark"]


class ImplicitNewmark(ImplicitSimulation):
    """Implicit Newmark integration (Barbic 2007, section 2.9).

    Integrates M q'' + C q' + R(q) = f for four kinds of system. A step of a `ReducedSolid`
    allocates nothing and suits haptic rates; a `ProjectedSolid` takes a pass over the mesh and a
    dense factorization per iteration, a `Solid` a sparse one, and a `SecondOrderSystem` a sparse
    solve. With the default `beta` and `gamma` the scheme is the trapezoidal rule: second order,
    without numerical damping. Methods may be called from several threads. A call waits for a few
    steps of another call, not for its end.

    The trapezoidal rule conserves the energy of linear systems only: large undamped motions may
    gain energy without bound if steps are coarse for the highest frequencies. A smaller `dt` or
    damping, ``(0, dt / 20)`` at 100 steps a period, prevents that (``docs/time_integration.md``).

    Parameters
    ----------
    system
        The simulated system: `ReducedSolid`, `ProjectedSolid`, `Solid` or `SecondOrderSystem`.
    dt
        Time step [s], positive.
    damping
        Local Rayleigh damping (alpha [1/s], beta [s]), both at least 0: C = alpha M + beta K(q)
        (Barbic 2007, equation 2.33), added to a damping matrix of the system. alpha damps all
        motion, also rigid motion of a free solid; beta mostly high frequencies, and may add energy
        if K(q) is indefinite, unlike `StrainRateDamping`.
    newton_max
        Maximum number of Newton iterations per step, 1 to 1000. One, usual at haptic rates, damps
        large motions unless steps are very short; 10 suit motions that have to be right.
    tol
        Bound on the residual, relative to the largest of the step's first one, the internal and
        the external force; at least 0.
    beta, gamma
        Newmark's parameters, 0 < beta <= 1, 0 <= gamma <= 1; for beta = 0 use
        `CentralDifferences`. Steps in which contact adds stiffness use gamma >= 0.6.
    strain_rate
        Additional damping by the rate of strain: a `StrainRateDamping` of the solid, or a
        `ReducedStrainRateDamping` of a `ReducedSolid`. None: the damping of the model, if it has
        any. Not for a `SecondOrderSystem`.
    deformation_only
        Accept a model of a free body, without rigid motion (see `FreeBody`): its deformation in a
        frame that is moved from outside.
    gravity
        Gravitational acceleration [m/s^2], shape (3,), such as ``(0, 0, -9.81)``. None: no weight,
        as for any `SecondOrderSystem`.
    contact
        None: a `BarrierContact` is refused; take `BackwardEuler` or `BDF2`.
    line_search
        Shorten increments of Newton's method along which the energy of the step would rise. False:
        take them whole, as in textbooks, so that large loads may diverge.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, is out of range, or the model is that of a free body.
    MeshError
        All nodes of the solid are fixed.

    Warns
    -----
    PlausibilityWarning
        `dt` exceeds a fifth of the lowest natural period; gravity or damping suggest other units.
    """

    _scheme = "newmark"

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
        contact: BarrierContact | None = None,
        line_search: bool = True,
    ) -> None:
        own = {"beta": beta, "gamma": gamma}
        more = strain_rate, deformation_only, gravity, contact, line_search
        self._create(own, system, dt, damping, newton_max, tol, *more)
