"""Queue of the records of a session, and cycles in the calling thread."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import count, positive
from reducedfem.errors import InputError
from reducedfem.haptics.records import HapticRecords
from reducedfem.io.record_file import record_dtype

__all__ = ["RecordQueue", "count_cycles", "make_cycles"]

_BYTES = 1 << 21  # of records that are moved by a call


class RecordQueue:
    """The last `most` records of a session, oldest first; any thread may call it."""

    def __init__(self, core: _core.Session, most: int) -> None:
        self._core, self._most = core, most
        self.scene: str | None = None  # that the session is of
        self.dtype = record_dtype(*core.record_sizes())
        self._batch = max(64, _BYTES // self.dtype.itemsize)
        self._kept: list[bytes] = []
        self._reading = threading.RLock()  # keeps records in order

    def _alone(self) -> contextlib.ExitStack:
        # in a fork the thread that holds the lock does not exist
        alone = contextlib.ExitStack()
        if self._core.status()["here"]:
            alone.enter_context(self._reading)
        return alone

    def move(self, into: list[bytes]) -> None:
        """Move the records of the C thread to a list."""
        # one call: no signal handler can run between taking and storing a record
        into.extend(iter(functools.partial(self._core.records, self._batch), b""))

    def fetch(self) -> None:
        """Move the records of the C thread to the queue."""
        with self._alone():
            self.move(self._kept)

    def put(self, records: list[bytes]) -> None:
        """Append records."""
        with self._alone():
            self._kept.extend(records)

    def take(self, *, fetch: bool, drain: bool) -> NDArray[np.void]:
        """Return the records, with those of the C thread if `fetch`; `drain` removes them."""
        with self._alone():
            if fetch:
                self.move(self._kept)
            # signal handlers run at calls: none can run between these two
            kept, self._kept = self._kept, [] if drain else self._kept
            if not drain:
                kept = [b"".join(kept)[-self._most * self.dtype.itemsize :]]
                self._kept = kept.copy()
        return np.frombuffer(bytearray().join(kept), self.dtype)


def count_cycles(cycles: int | None, seconds: float | None, rate: float) -> int:
    """Return the number of cycles, given by itself or by the time that they take."""
    if (cycles is None) == (seconds is None):
        given = "neither" if cycles is None else "both"
        raise InputError(f"run needs either cycles or seconds, got {given}")
    if seconds is None:
        return count(cycles, "cycles")
    wanted = positive(seconds, "seconds")
    return count(max(1, math.ceil(wanted * rate - 1e-9)), "seconds * rate")


def make_cycles(
    core: _core.Session,
    queue: RecordQueue,
    total: int,
    tell: Callable[[int, int], object] | None,
    stopping: Callable[[], bool],
    store: Callable[[NDArray[np.void]], None],
) -> HapticRecords:
    """Make cycles until `stopping`; store their records, or queue them after a failure."""
    made: list[bytes] = []
    whole = False
    try:
        done, reported = 0, time.monotonic()
        while done < total:
            # the ring holds at least 64 records; signals are handled between batches
            n = min(total - done, 64)
            try:
                core.advance(n)
            finally:
                queue.move(made)
            done += n
            if stopping():
                core.stop()  # the device may have been opened again
                raise InputError(f"the session was stopped after {done} of {total} cycles")
            now = time.monotonic()
            if tell is not None and (now >= reported + 0.05 or done == total):
                reported = now
                tell(done, total)
        whole = True
    finally:
        array = np.frombuffer(bytearray().join(made), queue.dtype)
        try:
            store(array)
        except BaseException:
            whole = False
            raise
        finally:
            if not whole:
                queue.put(made)
    return HapticRecords(array, queue.scene)
