"""Force and stiffness polynomials, and one implicit Newmark step, of reduced models."""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
import yardsticks
from table import Row, spread

from reducedfem import _core

ROUNDS = 300
SIZES = (12, 15, 30, 40, 60)
MARKS_EVALUATE = {12: 0.7, 15: 1.2, 30: 11.0}
MARKS_STEP = {15: 2.5, 30: 16.0, 40: 60.0, 60: 250.0}
# of implicit Newmark
SETTINGS = {
    "dt": 1e-3, "beta": 0.25, "gamma": 0.5, "newton_max": 1, "tol": 1e-6, "line_search": True
}  # fmt: skip


def stable_model(r: int) -> _core.Reduced:
    """Random model of r coordinates with a definite quadratic energy."""
    rng = np.random.default_rng(r)
    coefficients = 1e-3 * rng.normal(size=comb(r + 4, 4))
    place = 0
    for i in range(r + 1):
        for j in range(i, r + 1):
            for k in range(j, r + 1):
                count = r + 1 - k
                if i == 0 and j == 0:
                    coefficients[place : place + count] = 0.0
                    if k > 0:  # t_00kk: the diagonal of the stiffness
                        coefficients[place] = 100.0
                place += count
    return _core.Reduced(rng.normal(size=(r, 4, 3)), np.eye(r), coefficients)


def operations(r: int) -> float:
    """Floating-point operations that the method needs: 6 a coefficient."""
    return 6.0 * comb(r + 4, 4)


def evaluation_rows(r: int) -> list[Row]:
    """Measure ours and dsymv in turns, so that both see the same machine."""
    yardsticks.blas_threads(1)
    model = stable_model(r)
    q = 0.1 * np.random.default_rng(0).normal(size=r)
    inner = max(1, int(200 / r))
    m = r * (r + 1) // 2
    ours, theirs, force = [], [], []
    for _ in range(ROUNDS if r <= 30 else ROUNDS // 5):
        # the second of two batches: the first finds the other's numbers in the caches
        ours.append(model.time_evaluate(q, True, 2, inner)[1])
        theirs.append(yardsticks.dsymv(m, 2, inner)[1])
        force.append(model.time_evaluate(q, False, 2, inner)[1])
    t, y, f = np.array(ours), np.array(theirs), np.array(force)
    unique = 8 * comb(r + 4, 4)
    bound = yardsticks.limit(unique, operations(r))
    return [
        Row(
            f"stiffness and force, r = {r}",
            float(np.median(t)) * 1e6,
            "us",
            MARKS_EVALUATE.get(r),
            f"{spread(t)}; limit {bound * 1e6:.2g} us "
            f"({unique / 1e3:.0f} kB unique, {operations(r) / 1e3:.0f} kflop), "
            f"reads {model.stream_bytes / 1e3:.0f} kB, {bound / np.median(t):.0%} of the "
            f"limit; force alone {np.median(f) * 1e6:.3g}",
            ratio=float(np.median(t / y)),
            over=f"dsymv of {m}",
            ratio_mark=1.0 if r <= 30 else None,
        )
    ]


def step_rows(r: int) -> list[Row]:
    """One implicit Newmark step, beside the dsymv of its size."""
    yardsticks.blas_threads(1)
    model = stable_model(r)
    simulation = _core.Motion("newmark", model, (0.0, 0.0), SETTINGS, 1)
    push = np.random.default_rng(1).normal(size=r)
    inner = max(1, int(200 / r))
    calls = _core.alloc_counters()["calls"]
    t = simulation.time_steps(push, ROUNDS, inner)
    allocated = _core.alloc_counters()["calls"] - calls
    m = r * (r + 1) // 2
    y = yardsticks.dsymv(m, ROUNDS // 5, inner)
    return [
        Row(
            f"implicit Newmark step, r = {r}",
            float(np.median(t)) * 1e6,
            "us",
            MARKS_STEP.get(r),
            f"{spread(t)}; {allocated} allocations",
            ratio=float(np.median(t) / np.median(y)),
            over=f"dsymv of {m}",
        )
    ]


# a process each: the peak of memory is then that of one size
ENTRIES = {
    f"{what}, r = {r}": partial(rows, r)
    for what, rows in (("stiffness and force", evaluation_rows), ("implicit step", step_rows))
    for r in SIZES
}
