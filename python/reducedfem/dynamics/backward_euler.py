"""Backward Euler integration."""

from __future__ import annotations

from reducedfem.dynamics.modal import ModalSimulation

__all__ = ["BackwardEuler"]


class BackwardEuler(ModalSimulation):
    """Backward Euler integration: first order, with numerical damping.

    Velocity and acceleration at the end of a step of h from (q, v) to x are v' = (x - q) / h and
    a' = (v' - v) / h. In a step an undamped linear mode of angular frequency w shrinks by the
    factor 1 / sqrt(1 + (w h)^2), for all steps: motion that is coarse for the step dies out at
    once, and slower motion loses energy too. Suits motion that is to come to rest and contact of
    stiff bodies; `ImplicitNewmark` suits vibrations. A step costs the same as of that.

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
    exact
        Number of the lowest modes of the tangent stiffness that steps solve exactly, the others by
        this scheme (Ascher et al. 2021, section 4); 0: none. Slow motion keeps its energy
        then, at steps that are coarse for the rest. At most one less than the free unknowns; 5 to
        20 suit a `Solid`, and a reduced model hardly gains. Of modes with the same frequency, such
        as both bending modes of a square bar, all or none should be among them. With Rayleigh
        damping only: not with `strain_rate` or a damping matrix.
    modes
        Those modes: ``"follow"``, one sweep of Rayleigh's and Ritz's method each step, from those
        of the step before; ``"exact"``, computed anew for each step; ``"rest"``, those of the body
        at rest, for small motion only, and not of a free solid. A free solid that turns loses
        momentum by exact modes unless a turn takes hundreds of steps. Of reduced models,
        ``"exact"`` allocates memory in each step and ``"follow"`` in the first.
    contact
        A `BarrierContact`, which no node then penetrates; with ``newton_max=50`` or so. None: no
        contact.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, is out of range, or the model is that of a free body.
    MeshError
        All nodes of the solid are fixed.

    Warns
    -----
    PlausibilityWarning
        As `ImplicitNewmark`; exact modes of rest, in motion that is not small; exact modes of a
        free solid that turns in less than 300 steps.
    """

    _scheme = "backward_euler"
    _no_barrier = None

    def _warn_of_iterations(self, far: float, stacklevel: int = 4) -> None:
        if self._settings["exact"]:  # else the scheme takes the energy of all motion
            super()._warn_of_iterations(far, stacklevel + 1)
