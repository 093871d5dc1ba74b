"""Forces of contact with friction, for given compliances (Duriez et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import (
    MOST_FRICTION,
    count,
    doubt_coefficient,
    finite_result,
    limit,
    number,
    positive,
    reals,
    refuse_names,
)
from reducedfem.base.quiet import warn
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning

__all__ = [
    "FrictionSolution",
    "delassus",
    "solve_friction",
    "solve_friction_pyramid",
    "solve_friction_sweeps",
]

_STATES = np.array(["open", "stick", "slip"])
_INDEFINITE = 1e-6  # negative eigenvalue over the largest entry that is not rounding
_ENDS = ("solved", "budget", "stalled", "infeasible")


@dataclass(frozen=True, eq=False, repr=False)
class FrictionSolution:
    """Result of `solve_friction`.

    Attributes
    ----------
    force
        Forces on the first body [N]: normal, first and second tangent, shape (m, 3).
    gap
        Displacements ``W @ force + free`` [m]: gap and slip, shape (m, 3).
    state
        ``"open"``, ``"stick"`` or ``"slip"``, shape (m,).
    status
        ``"solved"``; ``"budget"``: out of time; ``"stalled"``: no method came closer;
        ``"infeasible"``: no such forces exist. Against both a compliance of the sites helps, of a
        thousandth of the mean diagonal entry of W (`delassus`). Forces that do not solve the
        problem still lie in their cones, are bounded, and do no positive work.
    residual
        Largest violation of the law, dimensionless: see `solve_friction`.
    sweeps
        Number of sweeps over the contacts.
    steps
        Number of steps of Newton's method.
    microseconds
        Computing time [us].
    """

    force: NDArray[np.float64]
    gap: NDArray[np.float64]
    state: NDArray[np.str_]
    status: str
    residual: float
    sweeps: int
    steps: int
    microseconds: float

    def __repr__(self) -> str:
        counts = ", ".join(f"{(self.state == one).sum()} {one}" for one in _STATES)
        return (
            f"<FrictionSolution: {self.status}, {counts}, residual {self.residual:.1e}, "
            f"{self.microseconds:,.0f} us>"
        )


def delassus(
    bodies: Sequence[tuple[ArrayLike, ArrayLike]], compliance: float = 0.0, **others: NoReturn
) -> NDArray[np.float64]:
    """Return the displacements at contacts by forces there, W = sum of H C H^T + compliance.

    Parameters
    ----------
    bodies
        For each body a tuple (H, C). H: displacements at the contacts by those of its n
        coordinates, shape (3m, n), three rows a contact: normal, first and second tangent. The
        normal points to the first body; rows of the second have the opposite sign. C:
        displacement of the coordinates by forces [m/N], symmetric positive semidefinite, shape
        (n, n).
    compliance
        Compliance of the sites [m/N], one number >= 0, as of a spring in series with each.
    **others
        None: refused.

    Returns
    -------
    numpy.ndarray
        W [m/N], symmetric, shape (3m, 3m).

    Raises
    ------
    InputError
        Shapes do not agree, a C is not symmetric or has a negative eigenvalue, or a value is not
        finite or out of range.
    InputTypeError
        An argument has the wrong type, or another name.
    """
    refuse_names(others, delassus, {"stiffness": "compliance"})
    soft = number(compliance, "compliance")
    if soft < 0.0:
        raise InputError(f"compliance must be >= 0, got {soft:g}")
    wanted = "bodies must be a sequence of tuples (H, C)"
    if isinstance(bodies, str | bytes) or not isinstance(bodies, Sequence):
        raise InputTypeError(f"{wanted}, got {type(bodies).__name__}")
    pairs = []
    for k, body in enumerate(bodies):
        if not isinstance(body, tuple | list) or len(body) != 2:
            raise InputTypeError(f"{wanted}; bodies[{k}] is not")
        pairs.append((reals(body[0], f"H of bodies[{k}]"), reals(body[1], f"C of bodies[{k}]")))
    result = finite_result(_core.delassus(pairs, soft), "W", "bodies")
    for k, (_, C) in enumerate(pairs):
        least = _negative_eigenvalue(C)
        if least is not None:
            raise InputError(
                f"C of bodies[{k}] must be positive semidefinite, but has the eigenvalue "
                f"{least:g}: give a compliance, the inverse of a stiffness"
            )
    return result


def solve_friction(
    W: ArrayLike,
    free: ArrayLike,
    mu: ArrayLike,
    start: ArrayLike | None = None,
    tol: float = 1e-8,
    budget_us: float | None = None,
    **others: NoReturn,
) -> FrictionSolution:
    """Solve for the forces of m contacts with friction.

    With d = W f + free, each contact obeys 0 <= d_n, f_n >= 0, d_n f_n = 0 (Signorini), and
    abs(f_t) <= mu f_n, f_t = -mu f_n d_t / abs(d_t) where it slips (Coulomb): the law itself, not
    the convex problem that lifts slipping contacts.

    Parameters
    ----------
    W
        Displacements by forces [m/N], as of `delassus`, shape (3m, 3m), symmetric and positive
        semidefinite, with positive normal entries of the diagonal.
    free
        Displacements without contact forces [m]: gap and slip, shape (m, 3) or (3m,).
    mu
        Coefficients of friction, 0 to 1e9, one number or shape (m,).
    start
        Forces to begin with [N], shape (m, 3) or (3m,): those of the last step.
    tol
        Tolerance of the residual, > 0: the largest over contacts of ``abs(min(d_n, f_n))``,
        ``abs(f_t) - mu f_n``, ``abs(mu f_n d_t + abs(d_t) f_t)`` and
        ``min(abs(d_t), abs(mu f_n - abs(f_t)))``, with d over max(abs(free)) and f over
        max(abs(free)) / mean(diag(W)).
    budget_us
        Time limit [us]; None: none. With a limit the result depends on the machine.
    **others
        None: refused.

    Returns
    -------
    FrictionSolution
        A solution need not be unique, nor exist, where W has a low rank (``status``).

    Raises
    ------
    InputError
        Shapes do not agree, W is not symmetric, or a value is not finite or out of range.
    InputTypeError
        An argument has the wrong type, or another name.

    Warns
    -----
    PlausibilityWarning
        The problem is infeasible, or no method came close to a solution; without `budget_us` the
        message names a negative eigenvalue of W. `mu` is above 5, as in degrees or per cent.

    Notes
    -----
    Forces that are not unique need not be symmetric or small where the problem is; the sums over
    bodies, and motions, are those of every solution.

    Sweeps over the contacts (Duriez et al. 2006, algorithm 1), Newton's method on the functions of
    Alart and Curnier (1991), and the proximal point method where that does not converge. Where that
    fails too, friction is increased in up to 16 parts, which may take a hundred times as long as
    most problems do; `budget_us` limits it. Infeasible is a problem that has no solution without
    friction either.
    """
    refuse_names(others, solve_friction, {})
    matrix, m = _matrix(W)
    tolerance, budget = positive(tol, "tol"), limit(budget_us, "budget_us")
    if budget <= 0.0:
        raise InputError(f"budget_us must be positive, got {budget:g}; None is for no limit")
    first = None if start is None else _per_contact(start, "start", m)
    out = _solution(
        _core.friction_solve(
            matrix, _per_contact(free, "free", m), _coefficients(mu, m), first, tolerance, budget
        )
    )
    if out.status in ("infeasible", "stalled"):
        advice = (
            "A compliance of the sites helps, for example a thousandth of the mean diagonal entry "
            "of W (delassus)"
        )
        least = _negative_eigenvalue(matrix) if budget_us is None else None
        if least is not None:
            advice = (
                f"W is not positive semidefinite: it has the eigenvalue {least:g}, so a force can "
                "move its contacts against itself. Make it of compliances (delassus)"
            )
        warn(
            f"no forces were found that solve the problem ({out.status}, residual "
            f"{out.residual:.2g}): those returned are bounded, no more. {advice}",
            PlausibilityWarning,
            stacklevel=2,
        )
    return out


def solve_friction_sweeps(
    W: ArrayLike,
    free: ArrayLike,
    mu: ArrayLike,
    start: ArrayLike | None = None,
    change: float = 1e-2,
    most_sweeps: int = 10_000,
) -> FrictionSolution:
    """Solve as `solve_friction` by sweeps alone, as Duriez et al. (2006, algorithm 1), to compare.

    Parameters
    ----------
    W, free, mu, start
        As of `solve_friction`.
    change
        End when the sum over contacts of the change of the force in a sweep, over its size, is
        below this number, > 0. That is no residual: see ``residual`` of the result.
    most_sweeps
        Largest number of sweeps; after these ``status`` is ``"stalled"``.

    Returns
    -------
    FrictionSolution
        As of `solve_friction`.

    Raises
    ------
    InputError, InputTypeError
        As of `solve_friction`.
    """
    matrix, m = _matrix(W)
    least = positive(change, "change")
    first = None if start is None else _per_contact(start, "start", m)
    sweeps = count(most_sweeps, "most_sweeps")
    return _solution(
        _core.friction_sweeps(
            matrix, _per_contact(free, "free", m), _coefficients(mu, m), first, least, sweeps
        )
    )


def solve_friction_pyramid(
    W: ArrayLike, free: ArrayLike, mu: ArrayLike, sides: int = 8
) -> FrictionSolution:
    """Solve as `solve_friction` with a pyramid in place of Coulomb's cone, to compare.

    Parameters
    ----------
    W, free, mu
        As of `solve_friction`.
    sides
        Number of sides of the pyramid, 3 to 256.

    Returns
    -------
    FrictionSolution
        ``steps`` are the pivots of Lemke's method, ``residual`` is that of the cone; ``status`` is
        ``"stalled"``, with zero forces, where the method ends without a solution.

    Raises
    ------
    InputError, InputTypeError
        As of `solve_friction`; or the problem of m (sides + 2) unknowns is too large.
    """
    matrix, m = _matrix(W)
    return _solution(
        _core.friction_pyramid(
            matrix, _per_contact(free, "free", m), _coefficients(mu, m), count(sides, "sides")
        )
    )


def _matrix(W: ArrayLike) -> tuple[NDArray[np.float64], int]:
    matrix = reals(W, "W")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) % 3 or not len(matrix):
        raise InputError(f"W must have shape (3m, 3m), three rows a contact; got {matrix.shape}")
    return matrix, len(matrix) // 3


def _negative_eigenvalue(matrix: NDArray[np.float64]) -> float | None:
    """Return the smallest eigenvalue of a symmetric matrix if it is negative beyond rounding."""
    most = float(np.abs(matrix).max(initial=0.0))
    if most == 0.0:
        return None
    scaled = matrix / most
    try:  # takes a small part of the time of eigenvalues
        np.linalg.cholesky(scaled + _INDEFINITE * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return most * float(np.linalg.eigvalsh(scaled)[0])
    return None


def _solution(found: tuple[Any, ...]) -> FrictionSolution:
    force, gap, state, (end, residual, sweeps, steps, _, microseconds) = found
    return FrictionSolution(
        force, gap, _STATES[state], _ENDS[end], residual, sweeps, steps, microseconds
    )


def _per_contact(value: ArrayLike, name: str, m: int) -> NDArray[np.float64]:
    array = reals(value, name)
    if array.shape not in ((m, 3), (3 * m,)):
        raise InputError(
            f"{name} must have shape ({m}, 3) or ({3 * m},), normal and two tangents a contact as "
            f"W; got {array.shape}"
        )
    return array.reshape(m, 3)


def _coefficients(value: ArrayLike, m: int) -> NDArray[np.float64]:
    array = reals(value, "mu")
    if array.shape not in ((), (m,)):
        raise InputError(f"mu must be one number or have shape ({m},), got {array.shape}")
    each = np.full(m, array) if array.ndim == 0 else array
    wrong = (each < 0.0) | (each > MOST_FRICTION)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InputError(
            f"mu must be between 0 and {MOST_FRICTION:g}, got {each[index]:g} at {index}"
        )
    doubt_coefficient(float(np.max(each)), "mu", stacklevel=4)
    return each
