"""System libraries required by the core, and advice if they are missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["explained"]

_INSTALL = """
  Debian, Ubuntu:  apt-get install libsuitesparse-dev libopenblas-dev
  Fedora:          dnf install suitesparse openblas
  macOS:           brew install suite-sparse openblas"""
# part of the name of the library file, and name of the library
_LIBRARIES = {"cholmod": "CHOLMOD (of SuiteSparse)", "openblas": "OpenBLAS"}


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Extend the error of importing the core by the packages to install.

    Raises
    ------
    ImportError
        The original error with the names of the missing packages.
    """
    try:
        yield
    except ImportError as error:
        text = str(error)
        missing = [name for part, name in _LIBRARIES.items() if part in text.lower()]
        if missing:
            raise ImportError(
                f"reducedfem needs {missing[0]}, which cannot be loaded: {text}\n"
                f"Install it, or reinstall reducedfem if its version has changed:{_INSTALL}",
                name=error.name,
                path=error.path,
            ) from error
        if "_core" in text and ("No module" in text or "cannot import name" in text):
            raise ImportError(
                f"the compiled part of reducedfem is missing: {text}; build it with "
                "`pip install .` or `make build` in the folder of the sources",
                name=error.name,
                path=error.path,
            ) from error
        raise
