"""The reduced energy, force and stiffness from their coefficients, written plainly.

W(q) = sum of t_ijkl p_i p_j p_k p_l over 0 <= i <= j <= k <= l <= r in lexicographic
order, p = (1, q). Derivatives are taken factor by factor; nothing is shared with the
kernels under test but that formula.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@functools.cache
def quadruples(r: int) -> NDArray[np.int64]:
    """Return the indices i <= j <= k <= l of every coefficient, (count, 4)."""
    flat = itertools.chain.from_iterable(itertools.combinations_with_replacement(range(r + 1), 4))
    table = np.fromiter(flat, dtype=np.int64).reshape(-1, 4)
    table.flags.writeable = False
    return table


def evaluate(r: int, coefficients: Array, q: Array) -> tuple[float, Array, Array]:
    """Return energy, force (r,) and stiffness (r, r)."""
    at = quadruples(r)
    assert coefficients.shape == (len(at),)
    p = np.concatenate([[1.0], q])
    factors = p[at]
    n = r + 1
    energy = float(np.sum(coefficients * factors.prod(axis=1)))
    gradient = np.zeros(n)
    hessian = np.zeros(n * n)
    for a in range(4):
        others = [x for x in range(4) if x != a]
        terms = coefficients * factors[:, others].prod(axis=1)
        gradient += np.bincount(at[:, a], terms, minlength=n)
        for b in others:
            rest = [x for x in others if x != b]
            terms = coefficients * factors[:, rest].prod(axis=1)
            hessian += np.bincount(at[:, a] * n + at[:, b], terms, minlength=n * n)
    return energy, gradient[1:], hessian.reshape(n, n)[1:, 1:]


def by_degree(r: int, coefficients: Array) -> dict[tuple[int, ...], float]:
    """Return the coefficient of each monomial: key (), (i,), (i, j), ... of 0-based i <= j."""
    return {
        tuple(int(x) - 1 for x in index if x > 0): float(t)
        for index, t in zip(quadruples(r), coefficients, strict=True)
    }


def deviation(found: Array | float, expected: Array | float) -> float:
    """Return the largest difference relative to the largest expected entry."""
    scale = np.max(np.abs(expected))
    assert scale > 0
    return float(np.max(np.abs(np.asarray(found) - expected)) / scale)
