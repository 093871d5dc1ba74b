"""Statistics of implicit integrators."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ImplicitReport", "one_is_too_few", "steps_too_long"]

# number and part of shortened steps above which dt is too long for the motion
_FEW, _PART = 10, 0.05
_LEAST, _MISSED = 4, 0.02  # examined steps, and their mean (docs/time_integration.md)


@dataclass(frozen=True)
class ImplicitReport:
    """Statistics of an implicit integrator, such as `ImplicitNewmark`, since the last reset.

    Attributes
    ----------
    steps
        Steps taken.
    solves
        Linear systems solved (Newton iterations).
    indefinite
        Linear systems whose matrix was not positive definite. They are solved with more mass in the
        matrix, or with the nearest semidefinite tangent at each quadrature point.
    unconverged
        Steps that ended above the tolerance, as most do with ``newton_max=1``.
    residual
        Residual at the end of the last step, relative to the largest of three: the step's first
        residual, the internal force and the external force.
    worst_residual
        Largest of these residuals since the last reset.
    iterations
        Linear systems solved in the last step.
    most_iterations
        Largest number of linear systems solved in one step.
    residuals
        Residuals of the last step before each iteration and after the last, relative like
        `residual`; the first 32 of them.
    shortened
        Newton increments that were shortened because the energy of the step would have risen, or,
        with laws quadratic in Green's strain, risen too steeply (``docs/time_integration.md``).
    shortened_steps
        Steps with such increments. If there are more than a few, `dt` is too long and the motion
        may be wrong even if the steps converge; `step` warns.
    missed
        Part of the increments that one Newton iteration a step missed, in the norm of the energy:
        the mean of the steps `examined`. Above 0.02 large motion loses energy; `step` warns.
    examined
        Steps for which `missed` was computed: every eighth with ``newton_max=1``.
    projected
        Linear systems solved with the semidefinite tangents of `indefinite`. Only laws that are
        evaluated on a mesh or at points of a cubature have them: 0 for polynomial models and a
        `SecondOrderSystem`.
    refreshes
        Number of times that exact modes were computed or adapted; see `BackwardEuler`.
    drift
        Sine of the largest angle by which the space of the exact modes turned in the last sweep.
    """

    steps: int
    solves: int
    indefinite: int
    unconverged: int
    residual: float
    worst_residual: float = 0.0
    iterations: int = 0
    most_iterations: int = 0
    residuals: tuple[float, ...] = ()
    shortened: int = 0
    shortened_steps: int = 0
    missed: float = 0.0
    examined: int = 0
    projected: int = 0
    refreshes: int = 0
    drift: float = 0.0


def one_is_too_few(report: ImplicitReport) -> bool:
    """Return True if one iteration a step misses so much that the motion loses energy."""
    return report.examined >= _LEAST and report.missed > _MISSED


def steps_too_long(report: ImplicitReport) -> bool:
    """Return True if increments were shortened in so many steps that the motion may be wrong."""
    return report.shortened_steps >= max(_FEW, _PART * report.steps)
