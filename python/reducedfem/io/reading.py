"""Safe opening of untrusted files: regular files only."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from reducedfem.base.memory import available
from reducedfem.errors import FileFormatError

__all__ = ["in_memory", "read_regular", "regular_file"]

# without these, opening a pipe would wait for its writer, and a terminal could become controlling
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


def _refuse_others(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise FileFormatError(f"cannot read {str(path)!r}: it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise FileFormatError(
            f"cannot read {str(path)!r}: it is not a regular file, but a device, a pipe or a socket"
        )


@contextlib.contextmanager
def regular_file(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file; yield it and its size in bytes.

    Raises
    ------
    FileFormatError
        The file is missing, unreadable, not a regular file or larger than free memory; or
        reading it failed.
    """
    try:
        # checked before opening, which has side effects on some devices
        _refuse_others(path, path.stat())
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _refuse_others(path, status)  # the file may have been replaced since
            there = available()
            if 0 < there < status.st_size:
                raise FileFormatError(
                    f"cannot read {str(path)!r}: it has {status.st_size} bytes, and {there:.0f} "
                    "bytes of memory are free"
                )
            yield file, status.st_size
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


@contextlib.contextmanager
def in_memory(path: Path) -> Iterator[None]:
    """Turn a MemoryError of reading a file into a FileFormatError."""
    try:
        yield
    except MemoryError as error:
        raise FileFormatError(
            f"{str(path)!r} is damaged, or does not fit into memory: it has {path.stat().st_size} "
            f"bytes, and {available():.0f} bytes of memory are free"
        ) from error


def read_regular(path: Path, most: int | None = None) -> bytes:
    """Return the contents of a regular file of at most `most` bytes.

    Raises
    ------
    FileFormatError
        The file is missing, unreadable, not a regular file or larger than `most`.
    """
    with regular_file(path) as (file, size), in_memory(path):
        if most is not None and size > most:
            raise FileFormatError(
                f"cannot read {str(path)!r}: it has {size} bytes, {most} at most are read"
            )
        if most is None:
            return file.read()
        # no buffer of `most` bytes for a small file; files that grow, or have no size, are longer
        data = file.read(size + 1)
        if len(data) > size:
            data += file.read(most + 1 - len(data))
        if len(data) > most:
            raise FileFormatError(
                f"cannot read {str(path)!r}: it has more than {most} bytes, the most that are read"
            )
        return data
