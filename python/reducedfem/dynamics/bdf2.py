"""Backward differentiation of second order."""

from __future__ import annotations

from reducedfem.dynamics.modal import ModalSimulation

__all__ = ["BDF2"]


class BDF2(ModalSimulation):
    """Backward differentiation of second order, which damps high frequencies.

    With u = (q, v) a step of h satisfies u' = u + (u - u_before) / 3 + 2h/3 (v', a') (Ascher
    et al. 2021, equation 7); the first one is a step of `BackwardEuler`. An undamped mode
    of angular frequency w loses the part (w h)^4 / 4 of its amplitude a step if w h is small, and
    dies out at once if it is large. Suits haptic sessions and contact: it costs as much as
    `ImplicitNewmark`, and coarse steps damp rather than excite, but for hard impacts, which may
    gain some energy: take `BackwardEuler` for these. `SDIRK2` and `TRBDF2` damp slow motion less.

    With ``newton_max=1`` this is SBDF2 of the same authors. Methods may be called from several
    threads. A call waits for a few steps of another call, not for its end.

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
    exact, modes
        Number of the lowest modes that steps solve exactly, and which modes; see `BackwardEuler`.
    contact
        A `BarrierContact`; see `BackwardEuler`.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, is out of range, or the model is that of a free body.
    MeshError
        All nodes of the solid are fixed.

    Warns
    -----
    PlausibilityWarning
        As `BackwardEuler` and `ImplicitNewmark`.
    """

    _scheme = "bdf2"
    _lively = True
    _no_barrier = None
