"""How long calls run: number of threads, progress, interruption."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

from reducedfem.errors import InputError, InputTypeError

__all__ = ["Progress", "callback", "set_threads", "threads"]

Progress = bool | Callable[[int, int], object]
"""True: a progress bar; False: silence; a callable: called as ``f(done, total)``."""

_MAX_THREADS = 256  # RF_MAX_THREADS in csrc/base/run.h


def _available() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_threads = min(_available(), _MAX_THREADS)


def threads() -> int:
    """Return the number of threads that computations use."""
    return _threads


def set_threads(count: int) -> None:
    """Set the number of threads that computations use.

    Results do not depend on it, to the last bit.

    Parameters
    ----------
    count
        At least 1. The default is the number of processors the process may run on.

    Raises
    ------
    InputError
        `count` is out of range.
    """
    global _threads
    if isinstance(count, bool) or not isinstance(count, int):
        raise InputTypeError(f"count must be an int, got {type(count).__name__}")
    if not 1 <= count <= _MAX_THREADS:
        raise InputError(f"count must be between 1 and {_MAX_THREADS}, got {count}")
    _threads = count


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
