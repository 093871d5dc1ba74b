"""Report of a static solution."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["StaticReport"]


@dataclass(frozen=True)
class StaticReport:
    """Statistics of a static solution; returned by `Solid.solve_static` with ``report=True``.

    Parameters
    ----------
    iterations
        Newton iterations, over all load steps.
    load_steps
        Load steps.
    factorizations
        Factorizations of the tangent.
    shifted
        Iterations in which the tangent was not positive definite and had to be changed:
        a sign of buckling or of a load beyond the capacity of the solid.
    residual
        Norm of the last residual, relative to that of load and reactions.
    cuts
        Load steps that failed and were halved (with ``adaptive=True`` only).
    inverted
        Elements that are inside out in the solution, at a quadrature point; real solids have none.
        -1 for reduced models, where they are not counted.
    fraction
        Fraction of the load that was reached, 0 to 1; 1 after success.
    """

    iterations: int
    load_steps: int
    factorizations: int
    shifted: int
    residual: float
    cuts: int
    inverted: int
    fraction: float
