"""Running out of memory at every allocation in turn, and what stays allocated."""

from __future__ import annotations

import gc
from collections.abc import Callable

from reducedfem import _core


def live_blocks() -> int:
    """Return how many blocks of the core are in use, without those that only garbage holds.

    Cycles of Python objects that earlier tests have left hold blocks until they are collected,
    and that may happen between any two lines.
    """
    gc.collect()
    return _core.alloc_counters()["live_blocks"]


def check_live_blocks(expected: int, when: str = "afterwards") -> None:
    """Assert that as many blocks are in use as `live_blocks` returned before.

    A cycle of Python objects is no loss. To collect takes long beside a small piece of work: it
    is done only where the count differs.
    """
    now = _core.alloc_counters()["live_blocks"]
    if now != expected:
        now = live_blocks()
    assert now == expected, f"{expected} blocks of the core were in use before, {now} are {when}"


def fail_each_allocation(work: Callable[[], object], more_than: int = 4) -> None:
    """Let the first, the second, ... allocation of some work fail, until none is left to fail.

    Each time a MemoryError is all that may come of it; nothing may stay allocated. The work
    allocates more than so many times.
    """
    live = live_blocks()
    done, k = None, 0
    while done is None:
        _core.alloc_fail_from(k)
        try:
            done = work()
        except MemoryError:
            pass
        finally:
            _core.alloc_fail_from(-1)
        k += 1
    assert k > more_than
    del done
    check_live_blocks(live, f"after {k - 1} failures and a success")
