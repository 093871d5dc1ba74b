"""Warnings of constructors, which a thread silences for itself.

`warnings.catch_warnings` changes the filters of the whole process, so that threads restore each
other's.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from contextvars import ContextVar

__all__ = ["silenced", "warn"]

_silenced = ContextVar("silenced", default=False)


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Silence `warn` in this thread: of copies and of data sent by others, the original warned."""
    token = _silenced.set(True)
    try:
        yield
    finally:
        _silenced.reset(token)


def warn(text: str, category: type[Warning], stacklevel: int) -> None:
    """Warn like `warnings.warn`, unless silenced; `stacklevel` 1 is the caller."""
    if not _silenced.get():
        warnings.warn(text, category, stacklevel=stacklevel + 1)
