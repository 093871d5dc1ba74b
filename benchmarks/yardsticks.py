"""Capabilities of the machine, measured beside the project's timings."""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from reducedfem import _core

_SOURCE = Path(__file__).with_name("yardsticks.c")


@functools.cache
def _library() -> ctypes.CDLL:
    """Build yardsticks.c against the BLAS that the extension has loaded.

    Processes started by this one find what it built.
    """
    built = os.environ.get("RF_YARDSTICKS")
    if built and Path(built).is_file():
        return ctypes.CDLL(built)
    wide = _core.simd_available(3)
    folder = tempfile.mkdtemp()
    out = Path(folder) / "yardsticks.so"
    command = [
        *shlex.split(os.environ.get("CC") or "cc"),
        "-O3",
        "-march=native",
        "-ffp-contract=fast",
    ]
    command += ["-shared", "-fPIC", f"-DRF_YARDSTICK_WIDTH={8 if wide else 4}", "-o", str(out)]
    command += ["-I/usr/include/suitesparse", str(_SOURCE), "-lcholmod"]
    command += [str(_core.blas_description()["library"])]
    subprocess.run(command, check=True)
    os.environ["RF_YARDSTICKS"] = str(out)
    return ctypes.CDLL(str(out))


def _call(name: str, *arguments: int, runs: int) -> np.ndarray:
    out = np.empty(runs)
    pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    getattr(_library(), name)(*arguments, pointer)
    return out


def dsymv(m: int, runs: int, inner: int) -> np.ndarray:
    """Seconds per OpenBLAS dsymv of m rows, one a batch of `inner`."""
    return _call("yardstick_dsymv", m, runs, inner, runs=runs)


def dsyrk(m: int, k: int, runs: int) -> np.ndarray:
    """Seconds per OpenBLAS dsyrk of m rows and k columns, on its present thread count."""
    return _call("yardstick_dsyrk", m, k, runs, runs=runs)


def cholmod(lower: tuple[np.ndarray, np.ndarray, np.ndarray], columns: int) -> tuple[float, float]:
    """Seconds of a factorization by CHOLMOD, and of a solve for so many columns.

    On the present thread count of the BLAS. `lower`: data, indices and indptr.
    """
    data, indices, indptr = lower
    out = np.empty(2)
    pointers = [part.ctypes.data_as(ctypes.c_void_p) for part in (indptr, indices, data, out)]
    good = _library().yardstick_cholmod(len(indptr) - 1, *pointers[:3], columns, pointers[3])
    if not good:
        raise RuntimeError("CHOLMOD failed")
    return float(out[0]), float(out[1])


def trilinear(values: np.ndarray, places: np.ndarray, runs: int) -> np.ndarray:
    """Seconds of interpolating cubes of float32 samples at (n, 3) places of the unit cube."""
    out = np.empty(runs)
    double = ctypes.POINTER(ctypes.c_double)
    _library().yardstick_trilinear(
        len(values),
        values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
        len(places),
        places.ctypes.data_as(double),
        runs,
        out.ctypes.data_as(double),
    )
    return out


def blocks(entry: np.ndarray, runs: int) -> np.ndarray:
    """Seconds of adding blocks of 3x3 numbers, one by one, to the entries that they belong to."""
    number = np.ascontiguousarray(entry, dtype=np.int32)
    out = np.empty(runs)
    _library().yardstick_blocks(
        len(number),
        number.ctypes.data_as(ctypes.POINTER(ctypes.c_int)),
        int(number.max()) + 1,
        runs,
        out.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
    )
    return out


def blas_threads(count: int) -> None:
    """Set the thread count of the BLAS for the yardsticks."""
    ctypes.CDLL(str(_core.blas_description()["library"])).openblas_set_num_threads(count)


@functools.cache
def read_rate(size: int) -> float:
    """Bytes per second that one core reads from a working set of `size` bytes (best of 30)."""
    out = np.empty(30)
    pointer = out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    _library().yardstick_read(ctypes.c_int64(max(size, 4096)), 30, pointer)
    return float(out.max())


@functools.cache
def peak_rate() -> float:
    """Floating-point operations per second of one core in fused multiply-adds (best of 30)."""
    return float(_call("yardstick_peak", 30, runs=30).max())


def clock() -> np.ndarray:
    """Clock of the core [Hz], 50 samples."""
    return 1.6e5 / _call("yardstick_adds", 20000, 50, runs=50)


def additions(seconds: float, runs: int) -> np.ndarray:
    """Seconds of loops of additions in registers that take about `seconds`, as the machine is."""
    eights = max(int(seconds * float(np.median(clock())) / 8.0), 1)
    return _call("yardstick_adds", eights, runs, runs=runs)


def limit(size: int, flops: float) -> float:
    """Seconds that one core needs at least for `size` bytes read and `flops` done (roofline)."""
    return max(size / read_rate(size), flops / peak_rate())
