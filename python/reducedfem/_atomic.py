"""Paths as arguments, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reducedfem.errors import FileFormatError, InputTypeError

__all__ = ["as_path", "replacing"]


def as_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return the argument `name` of a public function as a Path.

    Raises
    ------
    InputTypeError
        It is no path.
    FileFormatError
        No file can have that name.
    """
    try:
        result = Path(path)
    except TypeError:
        raise InputTypeError(f"{name} must be a str or a Path, got {type(path).__name__}") from None
    if not os.fspath(path):  # Path("") is the present folder
        raise FileFormatError("no file can be called '': the path is empty")
    try:
        possible = b"\0" not in os.fsencode(result)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise FileFormatError(
            f"no file can be called {str(result)!r}: it has a null character or a lone surrogate"
        )
    return result


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, whose file takes the place of `path` on success.

    Whatever goes wrong, an existing file stays as it was and nothing else is left. The
    yielded path has the same file name in a temporary folder, so that formats that
    consist of several files, or choose their form by the suffix, work too.

    Raises
    ------
    FileFormatError
        The folder is missing or not writable, or the disk is full.
    """
    target = as_path(path)
    if os.path.isdir(target):
        raise FileFormatError(f"cannot write {str(target)!r}: it is a folder")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise FileFormatError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    try:
        yield folder / target.name
        # the file itself last: what it refers to must be there before
        for made in sorted(folder.iterdir(), key=lambda made: made.name == target.name):
            with made.open("rb+") as file:
                os.fsync(file.fileno())
            final = target.with_name(made.name)
            if final.exists():
                made.chmod(final.stat().st_mode & 0o777)
            made.replace(final)
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
