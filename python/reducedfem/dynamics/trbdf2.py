"""The trapezoidal rule followed by backward differentiation."""

from __future__ import annotations

from reducedfem.dynamics.modal import ModalSimulation

__all__ = ["TRBDF2"]


class TRBDF2(ModalSimulation):
    """The trapezoidal rule for half a step, then backward differentiation of second order.

    Second order; high frequencies are damped, slow motion hardly (Ascher et al. 2021,
    equation 9): an undamped mode of angular frequency w loses the part (w h)^4 / 288 of its
    amplitude a step of h if w h is small. A step has two stages, each with a matrix of its own,
    and costs twice one of `ImplicitNewmark`. `SDIRK2` has the same merits for less.

    With ``newton_max=1`` this is STR-SBDF2 of the same authors. Contact and haptic sessions take
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
    exact, modes
        Number of the lowest modes that steps solve exactly, and which modes; see `BackwardEuler`.
    contact
        None; see `ImplicitNewmark`.

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

    _scheme = "trbdf2"
    _lively = True
    _force_part = 0.5
