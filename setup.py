"""Build of the extension module reducedfem._core.

Libraries are looked for in this order: environment variables (RF_INCLUDE_DIRS,
RF_LIBRARY_DIRS, colon separated), pkg-config, the usual include folders. What
is missing is named in one error together with the packages that provide it.

Built against NumPy 2, the extension runs with NumPy 1.24 and newer. It uses the
C interface of NumPy, which rules out Python's limited interface: one build per
Python version.

RF_BLAS_PREFIX=scipy_  builds with the library scipy_openblas, all of whose names
begin so: another OpenBLAS in the process cannot stand in for it (see .ci/wheel)
RF_SANITIZE=address,undefined (or thread)  builds with the sanitizers
RF_WERROR=1                                makes warnings errors
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SANITIZE = os.environ.get("RF_SANITIZE", "")
BLAS_PREFIX = os.environ.get("RF_BLAS_PREFIX", "")

# header, pkg-config name, library name
LIBRARIES = [
    ("cholmod.h", "CHOLMOD", "cholmod"),
    ("cblas.h", "openblas", f"{BLAS_PREFIX}openblas"),
]
USUAL_INCLUDES = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"]

HELP = """
reducedfem needs the headers and libraries of SuiteSparse (CHOLMOD) and OpenBLAS.
Missing: {missing}.

  Debian, Ubuntu:  apt-get install libsuitesparse-dev libopenblas-dev
  Fedora:          dnf install suitesparse-devel openblas-devel
  macOS:           brew install suite-sparse openblas

Elsewhere set RF_INCLUDE_DIRS and RF_LIBRARY_DIRS (colon separated folders).
"""


def processors():
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def folders(variable):
    """Return the folders that an environment variable lists."""
    return [p for p in os.environ.get(variable, "").split(":") if p]


def pkg_config(name, option):
    """Return what pkg-config answers, without the leading -I or -L; empty when it is silent."""
    if not shutil.which("pkg-config"):
        return []
    done = subprocess.run(["pkg-config", option, name], capture_output=True, text=True, check=False)
    return [word[2:] for word in done.stdout.split()] if done.returncode == 0 else []


def search(header, package):
    """Return (include folders, library folders), or None when the header is nowhere."""
    candidates = folders("RF_INCLUDE_DIRS") + pkg_config(package, "--cflags-only-I")
    for base in USUAL_INCLUDES:
        candidates += [base, f"{base}/suitesparse"]
        candidates += [str(p) for p in Path(base).glob("*-linux-gnu*/openblas*")]
        candidates += [str(p) for p in Path(base).glob("*-linux-gnu*")] + [f"{base}/openblas"]
    for folder in candidates:
        if (Path(folder) / header).is_file():
            return [folder], folders("RF_LIBRARY_DIRS") + pkg_config(package, "--libs-only-L")
    return None


def find_libraries():
    """Return include and library folders of all LIBRARIES, or exit and name what is missing."""
    includes, library_dirs, missing = [], [], []
    for header, package, _ in LIBRARIES:
        found = search(header, package)
        if found is None:
            missing.append(header)
            continue
        includes += found[0]
        library_dirs += found[1]
    if missing:
        sys.exit(HELP.format(missing=", ".join(missing)))
    return includes, library_dirs


def is_clang(command):
    """Return True if a compiler command runs clang."""
    macros = [*command, "-dM", "-E", "-x", "c", os.devnull]
    return "__clang__" in subprocess.run(macros, capture_output=True, text=True, check=False).stdout


def target_flags(source):
    """Return the target pragma of a source as options: clang passes over the pragma."""
    pragma = re.search(r'^#pragma GCC target\("(.*)"\)$', Path(source).read_text(), re.MULTILINE)
    if not pragma or platform.machine() not in ("x86_64", "AMD64"):
        return []
    return ["-Wno-unknown-pragmas", *(f"-m{feature}" for feature in pragma[1].split(","))]


def blas_macros():
    """Return macros that give the routines of linalg/blas.h the names in the library."""
    if not BLAS_PREFIX:
        return []
    header = (ROOT / "csrc" / "linalg" / "blas.h").read_text()
    routines = re.findall(r"^void (\w+_)\(", header, re.MULTILINE)
    return [
        ("RF_BLAS_PREFIX", f'"{BLAS_PREFIX}"'),
        *((routine, BLAS_PREFIX + routine) for routine in routines),
    ]


def prerequisites(rule):
    """Return the files that the compiler's rule of make names: the source and its headers."""
    words = Path(rule).read_text().replace("\\\n", " ").partition(":")[2]
    return [Path(word.replace("\\ ", " ")) for word in re.findall(r"(?:\\ |\S)+", words)]


class BuildExt(build_ext):
    """Compile in parallel, reuse what is up to date, look for libraries only to build."""

    def build_extension(self, ext):
        """Build with the folders of the libraries found."""
        includes, library_dirs = find_libraries()
        ext.library_dirs += library_dirs
        # as system headers: warnings in the headers of others are not ours
        self.compiler.set_include_dirs([])
        others = [sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
        others += [numpy.get_include(), *includes]
        others = [folder for folder in dict.fromkeys(others) if folder != "/usr/include"]
        ext.extra_compile_args += [f"-isystem{folder}" for folder in others]
        self.compiler.compile = self.compile_parallel
        # pip builds editable installs in a temporary folder: reuse what is there already
        if self.editable_mode:
            self.build_temp = f"build/temp.{self.plat_name}-{sys.implementation.cache_tag}"
        super().build_extension(ext)

    def compile_parallel(
        self,
        sources,
        output_dir=None,
        macros=None,
        include_dirs=None,
        debug=0,
        extra_preargs=None,
        extra_postargs=None,
        depends=None,
    ):
        """Stand in for the compiler's one-by-one loop, which recompiles everything."""
        compiler = self.compiler
        macros, objects, extra, pp_opts, build = compiler._setup_compile(
            output_dir, macros, include_dirs, sources, depends, extra_postargs
        )
        cc_args = compiler._get_cc_args(pp_opts, debug, extra_preargs)
        lax = [flag for flag in extra if flag != "-Werror"]
        command = repr((compiler.compiler_so, cc_args, lax, pp_opts))
        strict = f"{command} -Werror"
        # objects that compiled without a warning also serve where warnings are allowed
        accepted = (strict,) if "-Werror" in extra else (command, strict)
        clang = is_clang(compiler.compiler_so)

        def up_to_date(obj, note, rule):
            if self.force or not all(path.is_file() for path in (obj, note, rule)):
                return False
            made = obj.stat().st_mtime
            return note.read_text() in accepted and all(
                path.is_file() and path.stat().st_mtime < made for path in prerequisites(rule)
            )

        def one(obj):
            source, suffix = build[obj]
            note, rule = Path(obj).with_suffix(".command"), Path(obj).with_suffix(".d")
            if not up_to_date(Path(obj), note, rule):
                note.unlink(missing_ok=True)
                own = [*extra, "-MMD", "-MF", str(rule)]
                if clang:  # whose mere "fast" passes over pragmas that turn contraction off
                    own += [*target_flags(source), "-ffp-contract=fast-honor-pragmas"]
                compiler._compile(obj, source, suffix, cc_args, own, pp_opts)
                note.write_text(accepted[0])

        with ThreadPoolExecutor(processors()) as pool:
            list(pool.map(one, [obj for obj in objects if obj in build]))
        return objects


flags = [
    "-std=c11",
    "-O3",
    "-g",
    "-fvisibility=hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-wrapv",  # Python builds with -fwrapv, which hides overflow and costs speed
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Wvla",
    "-Wmissing-prototypes",
    "-Wstrict-prototypes",
    "-Werror=implicit-function-declaration",
    "-Wno-psabi",  # vectors are passed between inlined functions only
]
link_flags = []
if os.environ.get("RF_WERROR"):
    flags.append("-Werror")
if SANITIZE:
    flags += [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"]
    # lines are enough for findings, and take half the time of compilation
    flags += ["-fno-omit-frame-pointer", "-O1", "-g1"]
    link_flags += [f"-fsanitize={SANITIZE}"]

sources = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.c"))
headers = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.h"))

setup(
    ext_modules=[
        Extension(
            "reducedfem._core",
            sources=sources,
            depends=[*headers, "setup.py"],
            include_dirs=["csrc"],
            define_macros=blas_macros(),
            libraries=[library for _, _, library in LIBRARIES] + ["m", "dl"],
            extra_compile_args=flags,
            extra_link_args=["-pthread", *link_flags],
        )
    ],
    cmdclass={"build_ext": BuildExt},
)
