"""Choose the OpenBLAS kernels before the library is loaded.

OpenBLAS selects its kernels when it is loaded, and a release older than the
processor selects slow ones: 0.3.21 (Debian 12) runs SSE3 kernels on recent
Xeons. The environment variable ``OPENBLAS_CORETYPE`` overrides the selection.
Importing this module before the extension sets it during loading, unless the
user has set it. If another package has loaded the same library before, the
extension repeats the selection (see ``csrc/linalg/blas.c``). Wheels contain a
release that is right by itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_VARIABLE = "OPENBLAS_CORETYPE"
# folder in which wheels keep their libraries, beside the package
_BUNDLED = Path(__file__).parents[2] / "reducedfem.libs"


def cpu_description() -> tuple[str, frozenset[str]]:
    """Return name and instruction sets of the first processor (empty except on Linux)."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="ignore").splitlines():
            key, _, value = line.partition(":")
            found.setdefault(key.strip(), value.strip())
    return found.get("model name", ""), frozenset(found.get("flags", "").split())


def _wanted_core() -> str | None:
    """Return the OpenBLAS kernel family to force, or None to let OpenBLAS decide.

    Only AVX-512 processors require it: releases of distributions recognise all
    AVX2 processors, but not all AVX-512 ones.
    """
    if _BUNDLED.is_dir():
        return None
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= cpu_description()[1]:
        return "SkylakeX"
    return None


@contextlib.contextmanager
def right_kernels() -> Iterator[None]:
    """Set ``OPENBLAS_CORETYPE`` for the duration, unless the user has set it."""
    wanted = None if _VARIABLE in os.environ else _wanted_core()
    if wanted is None:
        yield
        return
    os.environ[_VARIABLE] = wanted
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
