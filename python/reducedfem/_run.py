"""How long calls run: number of threads, progress, interruption."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

from reducedfem._check import count as check_count
from reducedfem.errors import InputTypeError

__all__ = ["MAX_THREADS", "Progress", "callback", "processors", "set_threads", "threads"]

Progress = bool | Callable[[int, int], object]
"""True: a progress bar; False: silence; a callable: called as ``f(done, total)``."""

MAX_THREADS = 256  # RF_MAX_THREADS in csrc/base/run.h


def processors() -> int:
    """Return the number of processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_threads = min(processors(), MAX_THREADS)


def threads() -> int:
    """Return the number of threads that computations use.

    Returns
    -------
    int
        What `set_threads` set; by default the number of processors the process may run on.
    """
    return _threads


def set_threads(count: int) -> None:
    """Set the number of threads that computations use.

    Results do not depend on it, to the last bit.

    Parameters
    ----------
    count
        1 to 256. The default is the number of processors the process may run on.

    Raises
    ------
    InputError, InputTypeError
        `count` is out of range or no int.
    """
    global _threads
    _threads = check_count(count, "count", MAX_THREADS)


def _bar_type() -> Any:
    """Return the kind of bar that fits; one of a notebook warns where it lacks ipywidgets."""
    if importlib.util.find_spec("ipywidgets") is None:
        from tqdm import tqdm
    else:
        from tqdm.auto import tqdm
    return tqdm


@contextlib.contextmanager
def callback(progress: Progress, label: str) -> Iterator[Callable[[int, int], object] | None]:
    """Turn a `progress` argument into the callable that C calls, or None.

    Parameters
    ----------
    progress
        The argument of the public function.
    label
        What the bar says is being done.
    """
    if progress is False:
        yield None
    elif progress is True:
        with _bar_type()(desc=label, unit="", leave=True) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield show
    elif callable(progress):
        yield progress
    else:
        raise InputTypeError(
            f"progress must be True, False or a callable, got {type(progress).__name__}"
        )
