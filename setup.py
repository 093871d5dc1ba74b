"""Build of the extension module reducedfem._core.

Libraries are looked for in this order: environment variables (RF_INCLUDE_DIRS,
RF_LIBRARY_DIRS, colon separated), pkg-config, the usual include folders. What
is missing is named in one error together with the packages that provide it.

RF_SANITIZE=address,undefined (or thread) builds with the sanitizers.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SANITIZE = os.environ.get("RF_SANITIZE", "")

# header, pkg-config name, library name
LIBRARIES = [
    ("cholmod.h", "CHOLMOD", "cholmod"),
    ("arpack/arpack.h", "arpack", "arpack"),
    ("cblas.h", "openblas", "openblas"),
]
USUAL_INCLUDES = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"]

HELP = """
reducedfem needs the headers and libraries of SuiteSparse (CHOLMOD), ARPACK-NG and OpenBLAS.
Missing: {missing}.

  Debian, Ubuntu:  apt-get install libsuitesparse-dev libarpack2-dev libopenblas-dev
  Fedora:          dnf install suitesparse-devel arpack-devel openblas-devel
  macOS:           brew install suite-sparse arpack openblas

Elsewhere set RF_INCLUDE_DIRS and RF_LIBRARY_DIRS (colon separated folders).
"""


def folders(variable):
    return [p for p in os.environ.get(variable, "").split(":") if p]


def pkg_config(name, option):
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


class BuildExt(build_ext):
    """Compile in parallel, and look for the libraries only when something is built."""

    def build_extension(self, ext):
        includes, library_dirs = find_libraries()
        ext.include_dirs += includes
        ext.library_dirs += library_dirs
        self.parallel_objects(ext)
        super().build_extension(ext)

    def parallel_objects(self, ext):
        """Replace the compiler's one-by-one loop by a pool of processes."""
        from concurrent.futures import ThreadPoolExecutor

        compiler = self.compiler

        def compile(sources, output_dir=None, macros=None, include_dirs=None, debug=0,
                    extra_preargs=None, extra_postargs=None, depends=None):
            macros, objects, extra, pp_opts, build = compiler._setup_compile(
                output_dir, macros, include_dirs, sources, depends, extra_postargs)
            cc_args = compiler._get_cc_args(pp_opts, debug, extra_preargs)

            def one(obj):
                source, suffix = build[obj]
                compiler._compile(obj, source, suffix, cc_args, extra, pp_opts)

            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(one, [obj for obj in objects if obj in build]))
            return objects

        compiler.compile = compile


flags = [
    "-std=c11", "-O3", "-g", "-fvisibility=hidden", "-ffp-contract=fast", "-fno-math-errno",
    "-Wall", "-Wextra", "-Wshadow", "-Wvla", "-Wno-unused-parameter",
]
link_flags = []
if os.environ.get("RF_WERROR"):
    flags.append("-Werror")
if SANITIZE:
    flags += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-O1"]
    link_flags += [f"-fsanitize={SANITIZE}"]

sources = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.c"))
headers = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "csrc").rglob("*.[h]"))

setup(
    ext_modules=[
        Extension(
            "reducedfem._core",
            sources=sources,
            depends=headers,
            include_dirs=["csrc", numpy.get_include()],
            libraries=[library for _, _, library in LIBRARIES] + ["m"],
            extra_compile_args=flags,
            extra_link_args=["-pthread", *link_flags],
        )
    ],
    cmdclass={"build_ext": BuildExt},
)
