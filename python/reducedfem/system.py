"""System information: versions, processor, BLAS kernels, threads."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from reducedfem import _core
from reducedfem._blas import cpu_description
from reducedfem._run import processors, threads
from reducedfem._version import __version__

__all__ = ["system_info", "system_report"]

# those that decide which kernels run, in the order of their age
_SETS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl")


def _verdict(blas: dict[str, Any]) -> str:
    """Say in a sentence whether the kernels of the BLAS fit the processor."""
    core, best = blas["core"], blas["best"]
    if core == "unknown":
        return "This BLAS does not tell which kernels it runs; it is probably not OpenBLAS."
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


def system_info() -> dict[str, Any]:
    """Describe what the package runs on.

    Returns
    -------
    dict
        ``reducedfem``, ``python``, ``numpy``: versions.
        ``platform``: operating system and architecture.
        ``processor``: name of the processor.
        ``instruction_sets``: the vector instruction sets it has (empty where unknown).
        ``processors``: how many of them this process may use.
        ``threads``: how many threads computations use (see `set_threads`).
        ``kernels``: which variant of the package's own vector kernels runs.
        ``blas``: a dict with the kernel family in use (``core``), the family the
        processor deserves (``best``), the widest vectors of both (``core_vectors``,
        ``best_vectors``: ``"SSE"``, ``"AVX"``, ``"AVX2"``, ``"AVX-512"``, empty where
        unknown), the build (``config``), the file (``library``), the number of
        ``threads`` the library would use by itself, ``fallback`` (True where `core` has
        narrower vectors than `best`) and ``verdict``, a sentence.
    """
    blas: dict[str, Any] = dict(_core.blas_description())
    blas["verdict"] = _verdict(blas)
    name, flags = cpu_description()
    variants = ("plain", "avx2", "avx512")  # rf_simd in csrc/linalg/simd.h, from 1
    kernels = [one for i, one in enumerate(variants, 1) if _core.simd_available(i)][-1]
    return {
        "reducedfem": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.platform(terse=True) + " " + platform.machine(),
        "processor": name or platform.processor() or platform.machine(),
        "instruction_sets": [one for one in _SETS if one in flags],
        "processors": processors(),
        "threads": threads(),
        "kernels": kernels,
        "blas": blas,
    }


def system_report() -> str:
    """Return `system_info` as lines of text, as ``reducedfem info --system`` prints it."""
    info = system_info()
    blas = info["blas"]
    return "\n".join(
        [
            f"reducedfem   {info['reducedfem']}",
            f"Python       {info['python']}, NumPy {info['numpy']}, {info['platform']}",
            f"processor    {info['processor']}, {info['processors']} usable",
            f"instructions {' '.join(info['instruction_sets']) or 'not known'}",
            f"threads      {info['threads']}",
            f"kernels      {info['kernels']}",
            f"BLAS         {blas['library']}",
            f"             {blas['config']}",
            f"             {blas['verdict']}",
        ]
    )
