"""System information: versions, processor, BLAS kernels, threads."""

from __future__ import annotations

import platform
from html import escape
from typing import Any

import numpy as np

from reducedfem import _core
from reducedfem._version import __version__
from reducedfem.base.blas import cpu_description
from reducedfem.base.run import processors, threads

__all__ = ["system_info", "system_report"]

# instruction sets that select kernels, oldest first
_SETS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl")


def _verdict(blas: dict[str, Any]) -> str:
    """Return a sentence about how well the BLAS kernels fit the processor."""
    core, best = blas["core"], blas["best"]
    if core == "unknown":
        return "This BLAS does not report its kernels; it is probably not OpenBLAS."
    if blas["fallback"]:
        return (
            f"The BLAS runs its {core} kernels, made for processors with {blas['core_vectors']}; "
            f"this one has {blas['best_vectors']} and deserves {best}, whose products of matrices "
            f"are 1.3 to 4 times as fast: start Python with OPENBLAS_CORETYPE={best}, or install "
            "a newer OpenBLAS."
        )
    if not (best and blas["core_vectors"]):
        return f"The BLAS runs its {core} kernels; no judgement is known for this processor."
    if core.lower() == best.lower():
        return f"The BLAS runs its {core} kernels, which fit this processor."
    return (
        f"The BLAS runs its {core} kernels, which use the {blas['core_vectors']} of this "
        f"processor as {best} does."
    )


class _Info(dict[str, Any]):
    """The dict of `system_info`, which is shown as lines of text."""

    def __repr__(self) -> str:
        try:
            return _lines(self)
        except (KeyError, TypeError):  # changed by the user
            return super().__repr__()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def system_info() -> dict[str, Any]:
    """Return versions, processor, BLAS kernels and threads of this process.

    Returns
    -------
    dict
        It is shown as lines of text; ``dict(...)`` of it as any dict.
        ``reducedfem``, ``python``, ``numpy``: versions.
        ``platform``: operating system and architecture.
        ``processor``: name of the processor.
        ``instruction_sets``: its vector instruction sets (empty if unknown).
        ``processors``: number of processors that this process may use.
        ``threads``: number of threads used by computations (see `set_threads`).
        ``ordering``: ordering of sparse factors (see `set_ordering`).
        ``kernels``: variant of the package's own vector kernels in use, ``"plain"``,
        ``"avx2"`` or ``"avx512"``.
        ``blas``: a dict with the kernel family in use (``core``), the best family for the
        processor (``best``), the widest vectors of both (``core_vectors``,
        ``best_vectors``: ``"SSE"``, ``"AVX"``, ``"AVX2"``, ``"AVX-512"``, empty if
        unknown), the build (``config``), the file (``library``), the default number of
        ``threads`` of the library, ``fallback`` (True if `core` has narrower vectors than
        `best`) and ``verdict``, a sentence.
    """
    blas: dict[str, Any] = dict(_core.blas_description())
    blas["verdict"] = _verdict(blas)
    name, flags = cpu_description()
    variants = ("plain", "avx2", "avx512")  # rf_simd in csrc/linalg/simd.h, from 1
    kernels = [one for i, one in enumerate(variants, 1) if _core.simd_available(i)][-1]
    return _Info(
        {
            "reducedfem": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": platform.platform(terse=True) + " " + platform.machine(),
            "processor": name or platform.processor() or platform.machine(),
            "instruction_sets": [one for one in _SETS if one in flags],
            "processors": processors(),
            "threads": threads(),
            "ordering": _core.ordering_in_use(),
            "kernels": kernels,
            "blas": blas,
        }
    )


def system_report() -> str:
    """Return `system_info` as lines of text, as printed by ``reducedfem info --system``."""
    return _lines(system_info())


def _lines(info: dict[str, Any]) -> str:
    blas = info["blas"]
    return "\n".join(
        [
            f"reducedfem   {info['reducedfem']}",
            f"Python       {info['python']}, NumPy {info['numpy']}, {info['platform']}",
            f"processor    {info['processor']}, {info['processors']} usable",
            f"instructions {' '.join(info['instruction_sets']) or 'not known'}",
            f"threads      {info['threads']}",
            f"ordering     {info['ordering']}",
            f"kernels      {info['kernels']}",
            f"BLAS         {blas['library']}",
            f"             {blas['config']}",
            f"             {blas['verdict']}",
        ]
    )
