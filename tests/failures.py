"""Running out of memory at every allocation in turn."""

from __future__ import annotations

from collections.abc import Callable

from reducedfem import _core


def fail_each_allocation(work: Callable[[], object], more_than: int = 4) -> None:
    """Let the first, the second, ... allocation of some work fail, until none is left to fail.

    Each time a MemoryError is all that may come of it; nothing may stay allocated. The work
    allocates more than so many times.
    """
    live = _core.alloc_counters()["live_blocks"]
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
    assert _core.alloc_counters()["live_blocks"] == live
