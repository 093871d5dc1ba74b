"""The BLAS runs the kernels that fit the processor, without the user's doing.

Each case needs a fresh interpreter, because OpenBLAS chooses when it is loaded.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys

import pytest

import reducedfem as rf
from places import ROOT
from reducedfem import _core
from reducedfem.base import system

DESCRIPTION = _core.blas_description()
DYNAMIC_OPENBLAS = "DYNAMIC_ARCH" in DESCRIPTION["config"]
IN_WHEEL = "reducedfem.libs" in DESCRIPTION["library"]

needs_dynamic = pytest.mark.skipif(
    not (DYNAMIC_OPENBLAS and DESCRIPTION["best"]),
    reason="needs an OpenBLAS that chooses its kernels at run time, on an x86-64 with AVX2",
)
needs_shared = pytest.mark.skipif(IN_WHEEL, reason="no other package loads the OpenBLAS of a wheel")


def run(code: str, **environment: str) -> dict:
    """Run `code`, which fills the dict `out`, in a fresh interpreter."""
    env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | environment
    program = f"import json\nout = {{}}\n{code}\nprint(json.dumps(out))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


IMPORT = "import reducedfem\nout['blas'] = reducedfem._core.blas_description()\n"


@needs_dynamic
def test_plain_import_gets_fitting_kernels():
    blas = run(IMPORT)["blas"]
    assert not blas["fallback"]


# imitates another package that loads the library first, which then misjudges the processor
LOADED_BEFORE = f"""
import ctypes, os
os.environ["OPENBLAS_CORETYPE"] = "Prescott"
library = ctypes.CDLL({DESCRIPTION["library"]!r}, mode=ctypes.RTLD_GLOBAL)
del os.environ["OPENBLAS_CORETYPE"]
library.openblas_get_corename.restype = ctypes.c_char_p
out["before"] = library.openblas_get_corename().decode()
"""


@needs_dynamic
@needs_shared
@pytest.mark.parametrize("old", ["Prescott", "Sandybridge"])
def test_library_loaded_before_with_old_kernels_is_repaired(old):
    out = run(LOADED_BEFORE.replace("Prescott", old) + IMPORT)
    assert out["before"] == old  # the case is what it claims to be
    assert out["blas"]["core"].lower() == DESCRIPTION["best"].lower()
    assert not out["blas"]["fallback"]


@needs_dynamic
@needs_shared
def test_repaired_kernels_compute_correctly():
    # dsyrk through a static solve or the like would need meshes: ask the library itself
    out = run(
        LOADED_BEFORE
        + IMPORT
        + """
import numpy as np
n, k = 37, 53
rng = np.random.default_rng(0)
a = np.asfortranarray(rng.standard_normal((n, k)))
b = np.asfortranarray(rng.standard_normal((k, n)))
c = np.zeros((n, n), order="F")
i = lambda v: ctypes.byref(ctypes.c_int(v))
d = lambda v: ctypes.byref(ctypes.c_double(v))
p = lambda x: x.ctypes.data_as(ctypes.c_void_p)
library.dgemm_(b"N", b"N", i(n), i(n), i(k), d(1), p(a), i(n), p(b), i(k), d(0), p(c), i(n))
out["error"] = float(np.abs(c - (a[:, :, None] * b[None]).sum(axis=1)).max())
"""
    )
    # 53 products of size 1 in double precision, in two orders of summation
    assert out["error"] < 1e-12


@needs_dynamic
def test_the_users_choice_is_kept():
    blas = run(IMPORT, OPENBLAS_CORETYPE="Haswell")["blas"]
    assert blas["core"] == "Haswell"
    # fast kernels of a processor without AVX-512, slow ones of a processor with it
    assert blas["core_vectors"] == "AVX2"
    assert blas["fallback"] == (blas["best_vectors"] == "AVX-512")
    blas = run(IMPORT, OPENBLAS_CORETYPE="Prescott")["blas"]
    # newer releases have one family for all of that time
    assert blas["core_vectors"] == "SSE"
    assert blas["fallback"]


@pytest.mark.parametrize("before", [{}, {"OPENBLAS_CORETYPE": "Haswell"}])
def test_environment_is_the_same_after_the_import(before):
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
seen = lambda: [dict(os.environ), (libc.getenv(b"OPENBLAS_CORETYPE") or b"").decode()]
first = seen()
import reducedfem
out["same"] = seen() == first
"""
    assert run(code, **before)["same"]


def test_system_info_is_complete_and_plain():
    info = rf.system_info()
    json.dumps(info)  # plain types only: it goes into reports
    assert info["reducedfem"] == rf.__version__
    assert info["threads"] >= 1
    assert info["kernels"] in ("avx512", "avx2", "plain")
    # known flags decide the variant
    if sets := set(info["instruction_sets"]):
        avx512 = {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= sets
        narrow = "avx2" if {"avx2", "fma"} <= sets else "plain"
        assert info["kernels"] == ("avx512" if avx512 else narrow)
    assert 1 <= info["processors"] <= (os.cpu_count() or 1)
    assert info["blas"]["core"] in info["blas"]["verdict"] or info["blas"]["core"] == "unknown"


@pytest.mark.parametrize(
    ("blas", "words"),
    [
        (("Prescott", "SSE", "SkylakeX", "AVX-512", True), "OPENBLAS_CORETYPE=SkylakeX"),
        (("Haswell", "AVX2", "SkylakeX", "AVX-512", True), "this one has AVX-512"),
        (("SkylakeX", "AVX-512", "SkylakeX", "AVX-512", False), "which fit this processor"),
        (("Cooperlake", "AVX-512", "SkylakeX", "AVX-512", False), "as SkylakeX does"),
        (("Haswell", "AVX2", "Zen", "AVX2", False), "as Zen does"),
        (("Nehalem", "SSE", "", "", False), "no judgement"),
        (("Mystery", "", "SkylakeX", "AVX-512", False), "no judgement"),
        (("unknown", "", "SkylakeX", "AVX-512", False), "not OpenBLAS"),
    ],
)
def test_verdict_gives_advice(blas, words):
    keys = ("core", "core_vectors", "best", "best_vectors", "fallback")
    assert words in system._verdict(dict(zip(keys, blas, strict=True)))


def test_report_names_the_kernels():
    report = system.system_report()
    assert rf.__version__ in report
    assert DESCRIPTION["library"] in report
    assert system.system_info()["blas"]["verdict"] in report
    shown = system.system_info()._repr_html_()
    assert shown.startswith("<pre>reducedfem ")
    assert "<" not in shown[5:-6]
    info = system.system_info()
    assert repr(info) == report
    # dicts that were changed are shown as any dict
    del info["blas"]
    assert repr(info) == repr(dict(info))


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_workspace_sizes_that_wrap_around_are_refused(tmp_path):
    """LAPACK counts in 32 bits: past them the answer is negative, or small and wrong."""
    source = tmp_path / "size.c"
    source.write_text("""
#include "linalg/lapack.h"
int size_of(long long k, int info, double best, int *size) {
  return rf_lapack_size("dgesdd", "deformations", rf_lapack_least_dgesdd(k), info, best, size, 0);
}
""")
    command = ["cc", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}", "-o", str(tmp_path / "size.so")]
    subprocess.run([*command, str(source), str(ROOT / "csrc/base/status.c")], check=True)
    size_of = ctypes.CDLL(str(tmp_path / "size.so")).size_of
    size_of.argtypes = [ctypes.c_longlong, ctypes.c_int, ctypes.c_double, ctypes.c_void_p]
    size = ctypes.c_int(0)
    argument, internal = -1, -8  # of rf_status
    assert size_of(100, 0, 50000.0, ctypes.byref(size)) == 0
    assert size.value == 50000
    assert size_of(100, 0, 7.0, ctypes.byref(size)) == 0
    assert size.value == 4 * 100**2 + 7 * 100
    assert size_of(23170, 0, -2147000000.0, ctypes.byref(size)) == argument
    assert size_of(32768, 0, 7.0 * 32768, ctypes.byref(size)) == argument
    assert size_of(20000, 0, 3e9, ctypes.byref(size)) == argument
    assert size_of(100, -3, 50000.0, ctypes.byref(size)) == internal
    assert size_of(100, 0, float("nan"), ctypes.byref(size)) != 0
