"""Libraries of the manufacturers of devices."""

from __future__ import annotations

import os

from reducedfem.io.atomic import as_path

__all__ = ["libraries", "shown", "source_of"]


def shown(path: str) -> str:
    """Return a printable form of a path, which may not be valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def source_of(variable: str, argument: object) -> str:
    """Return where a name comes from: an argument or an environment variable."""
    if argument is not None:
        return "given as an argument"
    if os.environ.get(variable):
        return f"given by the environment variable {variable}"
    return f"default; the environment variable {variable} is not set"


def libraries(
    library: str | os.PathLike[str] | None, variable: str, usual: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a library to try, and texts that tell where each comes from."""
    given = os.environ.get(variable)
    names = usual if not given else (given,)
    if library is not None:
        names = (str(as_path(library, "library")),)
    source = source_of(variable, library)
    return names, tuple(f"library {shown(name)} ({source})" for name in names)
