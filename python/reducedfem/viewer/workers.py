"""Threads that compute, for which the end of Python waits."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable

__all__ = ["Worker"]

_PATIENCE = 60.0  # s, for all of them


class Worker(threading.Thread):
    """Thread for which Python waits at its end, a minute at most.

    A library that is unloaded while it computes crashes.

    Parameters
    ----------
    name
        Name of the thread.
    work
        Function that it calls.
    stop
        Function that asks the work to end, and waits for nothing.
    """

    def __init__(self, name: str, work: Callable[[], None], stop: Callable[[], None]) -> None:
        super().__init__(name=name, target=work, daemon=True)
        self._ask = stop

    def start(self) -> None:
        """Start the thread."""
        _running.add(self)
        super().start()

    def run(self) -> None:
        """Do the work."""
        try:
            super().run()
        finally:
            _running.discard(self)


_running: set[Worker] = set()
# their locks may be held for ever in a forked process
os.register_at_fork(after_in_child=_running.clear)


@atexit.register
def _finish() -> None:
    latest = time.monotonic() + _PATIENCE
    left = tuple(_running)
    for one in left:
        one._ask()
    for one in left:
        one.join(max(0.0, latest - time.monotonic()))
