"""Warnings that are silenced: of constructors by each thread for itself, of others by all threads.

`warnings.catch_warnings` changes the filters of the whole process, so that threads restore each
other's.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar

__all__ = ["Shared", "parsing", "silenced", "warn"]

_silenced: ContextVar[list[str] | None] = ContextVar("silenced", default=None)


@contextlib.contextmanager
def silenced() -> Iterator[list[str]]:
    """Silence `warn` in this thread: of copies and of data sent by others, the original warned.

    The list that it gives takes the texts.
    """
    texts: list[str] = []
    token = _silenced.set(texts)
    try:
        yield texts
    finally:
        _silenced.reset(token)


def warn(text: str, category: type[Warning], stacklevel: int) -> None:
    """Warn like `warnings.warn`, unless silenced; `stacklevel` 1 is the caller."""
    silent = _silenced.get()
    if silent is None:
        warnings.warn(text, category, stacklevel=stacklevel + 1)
    else:
        silent.append(text)


class Shared:
    """A context of the process that threads share: the first enters it, the last leaves it."""

    def __init__(self, make: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._users = 0
        self._open = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._open.enter_context(self._make())
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._open.close()


@contextlib.contextmanager
def _without_syntax_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        # of escape sequences; a DeprecationWarning before Python 3.12
        for kind in (SyntaxWarning, DeprecationWarning):
            warnings.simplefilter("ignore", kind)
        yield


parsing = Shared(_without_syntax_warnings)
"""Silences the warnings that Python's parser gives for damaged headers of array files."""
