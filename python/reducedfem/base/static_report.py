"""Report of a static solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["StaticReport", "static_report"]


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
        Factorizations of the tangent, without that of the test of stability.
    shifted
        Iterations in which the tangent was not positive definite and had to be changed:
        a sign of buckling or of a load beyond the capacity of the solid.
    residual
        Norm of the last residual, relative to that of load and reactions. It is larger than `tol`
        where rounding of the internal forces allows no smaller one.
    cuts
        Load steps that failed and were halved (with ``adaptive=True`` only).
    inverted
        Elements that are inside out in the solution, at a quadrature point; real solids have none.
        Of reduced models, elements whose volume is not positive.
    fraction
        Fraction of the load that was reached, 0 to 1; 1 after success.
    stable
        True if the tangent is positive definite in the solution; False for an unstable
        equilibrium, which a real body leaves (buckling). None: not tested, without a solution or
        for the model of a free body with rigid motion.
    """

    iterations: int
    load_steps: int
    factorizations: int
    shifted: int
    residual: float
    cuts: int
    inverted: int
    fraction: float
    stable: bool | None = None


def static_report(values: Mapping[str, Any]) -> StaticReport:
    """Return the report of the core as a `StaticReport`."""
    stable = values["stable"]
    return StaticReport(**{**values, "stable": None if stable < 0 else stable == 1})
