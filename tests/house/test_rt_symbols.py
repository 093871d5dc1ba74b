"""Real-time code is proven harmless by what it calls: `nm -u` on each `_rt` object.

A file whose name ends in ``_rt.c`` (or ``_rt_avx2.c`` and the like) may refer to
other real-time functions, to the arithmetic of libm and to the memory moves
that compilers insert. No allocation, lock, print, BLAS, Python; some files, named here, ask the
system: for the clock, and devices receive and send without waiting.
"""

from __future__ import annotations

import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from places import ROOT

LIBM = {
    stem + suffix
    for stem in (
        "sqrt fabs floor ceil rint nearbyint round trunc lrint llrint fma fmin fmax fmod "
        "hypot cbrt copysign exp exp2 expm1 log log2 log10 log1p pow ldexp frexp modf scalbn "
        "sin cos tan asin acos atan atan2 sinh cosh tanh sincos"
    ).split()
    for suffix in ("", "f")
} | {"__isnan", "__isinf", "__finite", "__fpclassify", "__signbit"}
MEMORY_MOVES = {"memcpy", "memmove", "memset", "memcmp"}
# tables that the compiler and the linker need themselves
TOOLCHAIN = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
SYSTEM = {
    # the one place that reads clocks, and waits: for the time of the next cycle, between two
    "base/clock_rt.c": {"clock_gettime", "clock_nanosleep"},
    # sockets, never waited for (test_calls_of_sockets_do_not_wait; to connect one of UDP is to
    # store an address); which failure it was
    "device/udp_rt.c": {"connect", "recvfrom", "sendto", "__errno_location"},
    "device/spacemouse_rt.c": {"recv", "__errno_location"},
}
# rf_x_rt, and its variants for instruction sets: rf_x_rt_avx2
REAL_TIME = re.compile(r"^rf_\w+_rt(_[a-z0-9]+)?$")

RT_SOURCES = sorted(p for p in (ROOT / "csrc").rglob("*.c") if re.search(r"_rt(_\w+)?$", p.stem))


def compiler() -> list[str]:
    command = shlex.split(sysconfig.get_config_var("CC") or "gcc")
    if not shutil.which(command[0]) or not shutil.which("nm"):
        pytest.skip("no C compiler or no nm on this machine")
    return command


def build_flags(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the compiler flags of setup.py, without running it."""
    seen: dict[str, object] = {}
    monkeypatch.setattr("setuptools.setup", lambda **kwargs: seen.update(kwargs))
    monkeypatch.delenv("RF_SANITIZE", raising=False)
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    (extension,) = seen["ext_modules"]
    return list(extension.extra_compile_args)


def test_clang_gets_the_instruction_sets_as_options(monkeypatch):
    """Clang ignores the pragma that gives them to gcc."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the instruction sets are those of x86-64")
    monkeypatch.setattr("setuptools.setup", lambda **kwargs: None)
    monkeypatch.chdir(ROOT)
    target_flags = runpy.run_path(str(ROOT / "setup.py"))["target_flags"]
    for source in RT_SOURCES:
        flags = target_flags(source)
        assert ("-mavx2" in flags) == ("avx" in source.stem), source
        assert ("-mavx512f" in flags) == ("avx512" in source.stem), source


def undefined_symbols(source: Path, flags: list[str], to: Path) -> set[str]:
    obj = to / (source.stem + ".o")
    done = subprocess.run(
        [*compiler(), *flags, "-fPIC", f"-I{ROOT / 'csrc'}", "-c", str(source), "-o", str(obj)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return listed(obj)


def built_object(source: Path) -> Path | None:
    """Return the object of the last build if it is up to date: some take long to compile."""
    place = source.relative_to(ROOT).with_suffix(".o")
    newest = max(p.stat().st_mtime for p in [source, *(ROOT / "csrc").rglob("*.h")])
    for obj in (ROOT / "build").glob(f"*/{place}"):
        note = obj.with_suffix(".command")
        if obj.stat().st_mtime > newest and note.is_file() and "sanitize" not in note.read_text():
            return obj
    return None


def listed(obj: Path) -> set[str]:
    listing = subprocess.run(["nm", "-u", str(obj)], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in listing.stdout.splitlines() if line}


def refused(symbols: set[str]) -> set[str]:
    allowed = LIBM | MEMORY_MOVES | TOOLCHAIN
    return {s for s in symbols if s not in allowed and not REAL_TIME.match(s)}


@pytest.mark.skipif(not RT_SOURCES, reason="no real-time sources")
@pytest.mark.parametrize("source", RT_SOURCES, ids=lambda p: str(p.relative_to(ROOT / "csrc")))
def test_real_time_code_calls_real_time_code_only(source, tmp_path, monkeypatch):
    obj = built_object(source)
    symbols = listed(obj) if obj else undefined_symbols(source, build_flags(monkeypatch), tmp_path)
    assert refused(symbols) == SYSTEM.get(str(source.relative_to(ROOT / "csrc")), set())


def test_calls_of_sockets_do_not_wait():
    """Each passes MSG_DONTWAIT itself, for any setting of the socket."""
    calls = []
    for name in ("device/udp_rt.c", "device/spacemouse_rt.c"):
        text = (ROOT / "csrc" / name).read_text()
        calls += re.findall(r"\b(?:recv|recvfrom|send|sendto)\([^;]*;", text)
    assert len(calls) == 3
    assert all("MSG_DONTWAIT" in call for call in calls)


# the initializer of a table, and its members
TABLE = re.compile(r"\b(\w+) (\w+) = \{([^{};]*)\};")
MEMBER = re.compile(r"\.(\w+) = &?(\w+)")


def escaping(text: str) -> list[str]:
    """Return the members of real-time tables that are set to what is not real-time."""
    wrong = []
    for kind, name, body in TABLE.findall(text):
        for member, value in MEMBER.findall(body):
            real_time = member.endswith("_rt") or kind.endswith("_rt") or name.endswith("_rt")
            if real_time and not value.endswith("_rt") and value != "NULL":
                wrong.append(f"{name}.{member} = {value}")
    return wrong


def test_tables_of_real_time_functions_contain_no_others():
    """Calls through pointers do not show in the objects: names ending in _rt stand for the files.

    Functions with such a name in a table are defined in a source that is checked above.
    """
    texts = {path: path.read_text() for path in (ROOT / "csrc").rglob("*.c")}
    assert [one for text in texts.values() for one in escaping(text)] == []
    tables = [
        path for path, text in texts.items() for kind, _, _ in TABLE.findall(text)
        if kind.endswith("_rt")
    ]  # fmt: skip
    assert tables
    assert set(tables) <= set(RT_SOURCES)


def test_forbidden_calls_are_found():
    law = "const rf_law_rt rf_soft_law_rt = {.respond = %s, .suit = suit_rt};"
    assert escaping(law % "respond_rt") == []
    assert escaping(law % "NULL") == []
    assert escaping(law % "respond") == ["rf_soft_law_rt.respond = respond"]
    device = "const rf_device_table t = {.open = open_it, .read_rt = %s};"
    assert escaping(device % "read_rt") == []
    assert escaping(device % "read") == ["t.read_rt = read"]


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ("#include <stdlib.h>\nvoid *f_rt(void) { return malloc(8); }", "malloc"),
        ('#include <stdio.h>\nvoid f_rt(int x) { printf("%d", x); }', "printf"),
        (
            "#include <pthread.h>\nint f_rt(pthread_mutex_t *m) { return pthread_mutex_lock(m); }",
            "pthread_mutex_lock",
        ),
        ("void rf_mesh_free(void *);\nvoid f_rt(void *m) { rf_mesh_free(m); }", "rf_mesh_free"),
        ("void dsymv_(void *);\nvoid f_rt(void *m) { dsymv_(m); }", "dsymv_"),
    ],
)
def test_the_check_can_fail(body, culprit, tmp_path):
    source = tmp_path / "bad_rt.c"
    source.write_text(body)
    assert refused(undefined_symbols(source, ["-std=c11", "-O2"], tmp_path)) == {culprit}


def test_the_check_lets_arithmetic_pass(tmp_path):
    source = tmp_path / "good_rt.c"
    source.write_text(
        "#include <math.h>\n#include <string.h>\n"
        "double rf_other_step_rt(double);\ndouble rf_other_step_rt_avx512(double);\n"
        "double f_rt(double *x, const double *y, unsigned long n) {\n"
        "  memcpy(x, y, n);\n"
        "  return sin(x[0]) + rf_other_step_rt(x[1]) + rf_other_step_rt_avx512(x[2]);\n}\n"
    )
    symbols = undefined_symbols(source, ["-std=c11", "-O2"], tmp_path)
    assert {"sin", "rf_other_step_rt", "rf_other_step_rt_avx512"} <= symbols
    assert refused(symbols) == set()


def test_flags_are_those_of_the_build(monkeypatch):
    flags = build_flags(monkeypatch)
    assert "-std=c11" in flags
    # the shipped library must run on every processor of the architecture
    assert not any(flag.startswith(("-march", "-mtune", "-mavx", "-mfma")) for flag in flags)
    assert "-ffast-math" not in flags  # would remove the checks for NaN
