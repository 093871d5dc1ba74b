"""Times of short calls, as distributions."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

ROUNDS = 2000


def durations(call: Callable[[], object], rounds: int) -> NDArray[np.float64]:
    """Return the times of calls [s]."""
    out = np.empty(rounds)
    for k in range(rounds):
        start = time.perf_counter()
        call()
        out[k] = time.perf_counter() - start
    return out


def ticks(call: Callable[[], object], rounds: int = ROUNDS) -> NDArray[np.float64]:
    """Return the times of calls [us], after some to warm up."""
    for _ in range(rounds // 10 + 1):
        call()
    return 1e6 * durations(call, rounds)


def spread(us: NDArray[np.float64], parts: float = 1.0) -> str:
    """Return the tail of times of calls that do `parts` things each, beside their median."""
    p99, p999, worst = np.percentile(us, [99, 99.9, 100]) / parts
    return f"p50; p99 {p99:.3g}, p99.9 {p999:.3g}, max {worst:.3g}"
