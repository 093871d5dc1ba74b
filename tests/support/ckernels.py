"""The real-time kernels as a library of their own, 8-wide ones included.

Vector kernels are written once for any width. Few machines that run tests have
AVX-512, so here the files of that variant are compiled without their target pragma:
the compiler splits each 8-wide vector, the algorithm, the packing and the dispatch stay
what they are. Tests call the C functions through ctypes.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from places import ROOT
from reducedfem import _core, threads

SIMD = {1: "plain", 2: "avx2", 3: "8 wide"}
PAD = 8  # RF_DENSE_PAD

_SOURCES = [
    "base/alloc.c",
    "base/clock_rt.c",
    "base/status.c",
    "constraint/friction.c",
    "constraint/friction_law_rt.c",
    "constraint/friction_rt.c",
    "constraint/friction_step_rt.c",
    "constraint/friction_plain_rt.c",
    "constraint/friction_avx2_rt.c",
    "polynomial/polynomial.c",
    "polynomial/evaluate_rt.c",
    "polynomial/quartic_plain_rt.c",
    "polynomial/quartic_avx2_rt.c",
    "linalg/dense_rt.c",
    "linalg/dense_plain_rt.c",
    "linalg/dense_avx2_rt.c",
    "linalg/panel_plain_rt.c",
    "linalg/tridiagonal_rt.c",
    "linalg/tridiagonal_plain_rt.c",
    "linalg/tridiagonal_avx2_rt.c",
    "linalg/panel_avx2_rt.c",
]
_WIDE = [
    "constraint/friction_avx512_rt.c",
    "polynomial/quartic_avx512_rt.c",
    "linalg/dense_avx512_rt.c",
    "linalg/panel_avx512_rt.c",
    "linalg/tridiagonal_avx512_rt.c",
]
# in place of linalg/simd.c: every variant runs, the caller knows which
_SIMD = """
#include "linalg/simd.h"
rf_status rf_simd_check(rf_simd simd, rf_error *err) { (void)simd, (void)err; return RF_OK; }
rf_simd rf_simd_resolve(rf_simd simd) { return simd; }
int64_t rf_test_cache_bytes;
int64_t rf_simd_cache_bytes(void) { return rf_test_cache_bytes; }
"""


# folder of the objects that all processes of a run share, by their contents; see conftest.py
_shared: list[Path] = []


def share_objects(folder: Path) -> None:
    """Keep objects in a folder, so that each source is compiled once in a run."""
    folder.mkdir(exist_ok=True)
    _shared[:] = [folder]


def build(name: str, sources: Sequence[Path], folder: Path) -> ctypes.CDLL:
    """Compile C sources to a library of their own; skip where that cannot be done."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler on this machine ({compiler[0]})")
    flags = ["-std=c11", "-O1", "-fPIC", "-Wno-psabi", f"-I{ROOT / 'csrc'}"]
    if sanitizers := os.environ.get("RF_SANITIZED"):
        flags += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
        flags += ["-fno-omit-frame-pointer"]
    # a sanitizer is for this program, and makes a compiler slow
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}

    def compiled(*words: str | Path) -> str:
        command = [*compiler, *flags, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def compiled_object(source: Path) -> Path:
        if not _shared:
            obj = folder / f"{source.stem}.o"
            compiled("-c", source, "-o", obj)
            return obj
        # copies of a source in the folders of two tests are the same source
        text = compiled("-E", source).replace(str(source.parent), "")
        key = hashlib.sha256("\0".join([*compiler, *flags, text]).encode()).hexdigest()
        obj = _shared[0] / f"{key}.o"
        with obj.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until another process has compiled it
            if not obj.exists():
                compiled("-c", source, "-o", obj.with_suffix(".part.o"))
                obj.with_suffix(".part.o").replace(obj)
        return obj

    with ThreadPoolExecutor(threads()) as pool:
        objects = list(pool.map(compiled_object, sources))
    target = folder / f"{name}.so"
    compiled("-shared", *objects, "-lm", "-o", target)
    return ctypes.CDLL(str(target))


@functools.cache
def library() -> ctypes.CDLL:
    """Compile once per run."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the 8-wide kernels are dispatched to on x86-64 only")
    folder = Path(tempfile.mkdtemp(prefix="reducedfem-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

    (folder / "simd.c").write_text(_SIMD)
    sources = [ROOT / "csrc" / name for name in _SOURCES] + [folder / "simd.c"]
    for name in _WIDE:
        text, pragmas = re.subn(
            r"^#pragma GCC target.*$", "", (ROOT / "csrc" / name).read_text(), flags=re.M
        )
        assert pragmas == 1, f"{name}: expected one target pragma"
        sources.append(folder / Path(name).name)
        sources[-1].write_text(text)

    # the vector kernels first: they take longest
    sources.sort(key=lambda source: "quartic" not in source.stem)
    lib = build("kernels", sources, folder)
    status, yes, real = ctypes.c_int, ctypes.c_bool, ctypes.c_double
    n, long, ptr = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
    for name, result, *arguments in (
        ("rf_polynomial_create", status, n, ptr, ctypes.c_int, ptr, ptr),
        ("rf_polynomial_free", None, ptr),
        ("rf_polynomial_work_bytes", ctypes.c_size_t, n),
        ("rf_polynomial_evaluate_rt", None, ptr, ptr, ptr, ptr, ptr, ptr, n),
        ("rf_dense_cholesky_rt", yes, ctypes.c_int, n, ptr, n),
        ("rf_dense_cholesky_solve_rt", None, ctypes.c_int, n, ptr, n, ptr, ptr),
        ("rf_dense_half_solve_rt", None, ctypes.c_int, n, ptr, n, n, ptr),
        ("rf_friction_create", status, ptr, ptr, ptr),
        ("rf_friction_free", None, ptr),
        ("rf_friction_set_matrix_rt", status, ptr, n, ptr),
        ("rf_friction_set_factor_rt", status, ptr, n, n, ptr, real),
        ("rf_friction_solve_rt", status, *[ptr] * 9),
        ("rf_dense_eliminate_rt", yes, ctypes.c_int, n, ptr, n, ptr, ptr),
        ("rf_dense_multiply_rt", None, ctypes.c_int, n, ptr, n, ptr, ptr),
        ("rf_dense_add_products_rt", None, ctypes.c_int, n, n, n, ptr, n, ptr, n, ptr),
        ("rf_tridiagonal_reduce_rt", None, ctypes.c_int, n, ptr, n, ptr, ptr, ptr),
        ("rf_tridiagonal_into_rt", None, ctypes.c_int, n, ptr, n, ptr),
        ("rf_tridiagonal_back_rt", None, ctypes.c_int, n, ptr, n, ptr),
        ("rf_dense_combine_rt", None, ctypes.c_int, n, real, ptr, real, ptr, n, ptr),
        *(
            (f"rf_panel_{kind}_{variant}_rt", None, *arguments)
            for kind, arguments in (
                ("solve", (n, ptr, long, n, long, ptr)),
                ("solve_transposed", (n, ptr, long, n, long, ptr)),
                ("subtract", (n, n, ptr, long, n, long, ptr, ptr)),
                ("subtract_transposed", (n, n, ptr, long, n, long, ptr, ptr)),
            )
            for variant in ("plain", "avx2", "avx512")
        ),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def require(simd: int) -> None:
    """Skip a variant that this processor cannot run."""
    if simd == 2 and not _core.simd_available(2):
        pytest.skip("this processor has no avx2")


class Block:
    """Numbers at a 64-byte boundary, between guards that kernels must not touch."""

    GUARD = 16

    def __init__(self, count: int, fill: float = np.nan) -> None:
        self._all = np.full(count + 2 * self.GUARD + 8, -7.25)
        shift = (-(self._all.ctypes.data // 8) - self.GUARD) % 8
        first = shift + self.GUARD
        self.x = self._all[first : first + count]
        self.x[:] = fill
        assert self.x.ctypes.data % 64 == 0
        self._first, self._last = first, first + count

    @property
    def address(self) -> int:
        return self.x.ctypes.data

    def check(self) -> None:
        assert (self._all[: self._first] == -7.25).all(), "written before the block"
        assert (self._all[self._last :] == -7.25).all(), "written behind the block"


def structure(name: str, **fields: type) -> type[ctypes.Structure]:
    """Return the type of a C struct of that name."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})
