"""Execution of long calls: number of threads, progress, interruption."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from reducedfem.base.check import count as check_count
from reducedfem.errors import InputTypeError

__all__ = [
    "MAX_THREADS",
    "Progress",
    "become_worker",
    "callback",
    "check_progress",
    "processors",
    "set_threads",
    "threads",
]

Progress = bool | Callable[[int, int], object] | None
"""True: progress bar; False: no output; None: bar after two seconds, if standard error is a
terminal; a callable: called as ``f(done, total)``, after ``f.begin(label)`` if it has that method,
with the name of the work."""

PATIENCE = 2.0  # s before a progress bar appears with ``progress=None``
TICK = 1.0  # s between updates of the clock of a bar

MAX_THREADS = 256  # RF_MAX_THREADS in csrc/base/run.h


def processors() -> int:
    """Return the number of processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_threads = min(processors(), MAX_THREADS)
# processes by id: forked ones inherit the variables
_threads_set: int | None = None  # in which the user set the number
_worker: int | None = None  # that executes tasks of another process


def threads() -> int:
    """Return the number of threads that computations use.

    Returns
    -------
    int
        Number set by `set_threads`; by default the number of processors that the process may use.
    """
    return _threads


def set_threads(count: int) -> None:
    """Set the number of threads that computations use.

    Results are bitwise independent of the number.

    Parameters
    ----------
    count
        Number of threads, 1 to 256. The default is the number of processors that the process may
        use.

    Raises
    ------
    InputError, InputTypeError
        `count` is out of range or not an int.
    """
    global _threads, _threads_set
    _threads = check_count(count, "count", MAX_THREADS)
    _threads_set = os.getpid()


def become_worker() -> None:
    """Adapt this process to executing tasks of another one: one thread, unless set; no bars."""
    global _threads, _worker
    process = os.getpid()
    if process not in (_worker, _threads_set):
        _threads = 1
    _worker = process


def _bar_type() -> Any:
    """Return the type of bar for the environment; that of a notebook warns without ipywidgets."""
    if importlib.util.find_spec("ipywidgets") is None:
        from tqdm import tqdm
    else:
        from tqdm.auto import tqdm
    return tqdm


class _Bar:
    """A progress bar that appears if the work takes more than some seconds.

    A thread shows it and updates its clock, because minutes may pass between two counts, for
    example in a factorization.
    """

    def __init__(self, label: str, patience: float) -> None:
        self._label = label
        self._appears = time.monotonic() + patience
        self._patience = patience
        self._bar: Any = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name=f"bar: {label}", daemon=True)
        if patience == 0.0:
            self._bar = self._made()

    def _made(self) -> Any:
        return _bar_type()(desc=self._label, unit="", leave=True)

    def _watch(self) -> None:
        wait = max(self._patience, TICK)
        while not self._closed.wait(wait):
            self.tick()
            wait = TICK

    def tick(self) -> None:
        """Update the clock of the bar."""
        with self._lock:
            if self._closed.is_set():
                return
            if self._bar is None:
                self._bar = self._made()
            else:
                self._bar.refresh()

    def show(self, done: int, total: int) -> None:
        """Show the progress of the work."""
        with self._lock:
            if self._bar is None:
                if time.monotonic() < self._appears or done >= total:
                    return
                self._bar = self._made()
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> _Bar:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._watcher.join()
        with self._lock:
            if self._bar is not None:
                self._bar.close()


def check_progress(progress: object) -> None:
    """Refuse other values of an argument `progress`."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InputTypeError(
            f"progress must be True, False, None or a callable, got {type(progress).__name__}"
        )


@contextlib.contextmanager
def callback(progress: Progress, label: str) -> Iterator[Callable[[int, int], object] | None]:
    """Convert a `progress` argument to the callable for the core, or None.

    Parameters
    ----------
    progress
        Argument of the public function.
    label
        Name of the work, shown by the bar.
    """
    check_progress(progress)
    if progress is False:
        yield None
    elif progress is True:
        with _Bar(label, 0.0) as bar:
            yield bar.show
    elif progress is None:
        if _worker is not None or sys.stderr is None or not sys.stderr.isatty():
            yield None
            return
        with _Bar(label, PATIENCE) as bar:
            yield bar.show
    else:
        begin = getattr(progress, "begin", None)
        if callable(begin):
            begin(label)
        yield progress
