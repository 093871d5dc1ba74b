"""Wheels (`make wheel`): their scripts fit together; in a wheel, its libraries keep to themselves.

The second half runs where the package is installed from a wheel, by `make test-wheel`.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import reducedfem as rf
from places import ROOT

SCRIPTS = ROOT / ".ci" / "wheel"
BLAS = rf.system_info()["blas"]
in_wheel = pytest.mark.skipif(
    "reducedfem.libs" not in BLAS["library"], reason="the package is not installed from a wheel"
)


# --- the scripts ---------------------------------------------------------------------


def settings(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], list[str]]:
    """Return macros and libraries of the extension as setup.py has them."""
    seen: dict = {}
    monkeypatch.setattr("setuptools.setup", lambda **kwargs: seen.update(kwargs))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    (extension,) = seen["ext_modules"]
    return dict(extension.define_macros), extension.libraries


def test_the_prefix_applies_to_all_routines_of_the_blas(monkeypatch):
    monkeypatch.setenv("RF_BLAS_PREFIX", "some_")
    macros, libraries = settings(monkeypatch)
    assert {"some_openblas", "cholmod"} <= set(libraries)
    assert macros.pop("RF_BLAS_PREFIX") == '"some_"'
    assert all(new == f"some_{old}" for old, new in macros.items())
    code = "\n".join(path.read_text() for path in (ROOT / "csrc").rglob("*.c"))
    called = set(re.findall(r"\b(d[a-z]+_)\(", code))
    assert {"dgemm_", "dsyevd_"} <= called <= set(macros)


def test_without_a_prefix_the_names_stay(monkeypatch):
    monkeypatch.delenv("RF_BLAS_PREFIX", raising=False)
    macros, libraries = settings(monkeypatch)
    assert macros == {}
    assert "openblas" in libraries


@pytest.mark.parametrize("name", ["tools.txt", "interpreter.txt"])
def test_packages_that_make_wheels_are_pinned(name):
    entries = re.findall(r"^([\w-]+)(.*)((?:\n    --hash.*)*)", (SCRIPTS / name).read_text(), re.M)
    assert len(entries) >= 2
    for package, version, hashes in entries:
        assert re.fullmatch(r"==[\d.]+ \\", version), package
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", hashes), package


def test_licences_are_listed_with_their_texts():
    """The table names the texts that the scripts collect, and no others."""
    listed = set(re.findall(r"`([\w.-]+\.txt)`", (SCRIPTS / "BUNDLED.md").read_text()))
    scripts = (SCRIPTS / "build").read_text() + (SCRIPTS / "cholmod").read_text()
    collected = set(re.findall(r'(?:LICENSES|licenses)/([\w.-]+\.txt)"', scripts))
    for part in re.search(r"^ORDERINGS=\((.*)\)$", scripts, re.MULTILINE)[1].split():
        collected.add(f"{part}.txt")
    assert listed == collected | {"CHOLMOD.txt"}
    assert len(listed) > 10


def test_the_source_keeps_its_licence_and_wheels_name_theirs():
    assert 'license = "BSD-3-Clause"' in (ROOT / "pyproject.toml").read_text()
    for path in (SCRIPTS / "build", SCRIPTS / "BUNDLED.md", ROOT / "README.md"):
        assert "GPL-3.0-or-later" in path.read_text(), path


# --- in a wheel ----------------------------------------------------------------------


def fresh(code: str, **environment: str) -> str:
    """Return the output of a fresh interpreter, outside of the source tree."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env=environment or None, cwd=Path(sys.prefix), timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


# solves, eigenvectors and products: prints a digest of a model
COMPUTE = """
import hashlib
def digest():
    mesh = rf.voxelize(rf.samples.load("spoon"), resolution=12)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=mesh.nodes[:, 0] < 0.02)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=8))
    return hashlib.sha256(reduced.stiffness([0.01] * 8).tobytes()).hexdigest()
"""
IMPORT = "import reducedfem as rf; import reducedfem.samples\n" + COMPUTE


@in_wheel
def test_metadata_name_the_licence_of_the_whole_and_all_texts():
    about = importlib.metadata.metadata("reducedfem")
    assert about["License-Expression"] == "GPL-3.0-or-later"
    texts = {Path(name).name for name in about.get_all("License-File")}
    table = next(
        file for file in importlib.metadata.files("reducedfem") if file.name == "BUNDLED.md"
    )
    assert set(re.findall(r"`([\w.-]+\.txt)`", table.read_text())) <= texts
    for text in texts - {"LICENSE", "BUNDLED.md"}:
        content = Path(table.locate()).with_name(text).read_text()
        assert len(content.split()) > 10, text
        if "-" in text and text != "METIS-GKlib.txt":  # a licence with its version
            assert "TERMS AND CONDITIONS" in content, text


@in_wheel
def test_no_library_of_the_system_is_loaded():
    code = IMPORT + "digest()\nprint({line.split()[-1] for line in open('/proc/self/maps')})"
    loaded = [name for name in eval(fresh(code)) if re.search("blas|lapack|cholmod|metis", name)]
    assert any("reducedfem.libs" in name for name in loaded)
    assert [name for name in loaded if not re.search(r"(reducedfem|numpy)\.libs", name)] == []


@in_wheel
def test_results_are_the_same_in_any_company():
    """Other packages bring a BLAS, which may be loaded first, and for the whole process."""
    pytest.importorskip("scipy")
    packages = ("numpy", "scipy.linalg", "reducedfem")
    found = set()
    for order, everywhere in itertools.product(itertools.permutations(packages), (False, True)):
        code = "import sys, os\n"
        if everywhere:
            code += "sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)\n"
        code += "".join(f"import {name}\n" for name in order) + IMPORT
        code += "print(digest(), rf.system_info()['blas']['library'])"
        found.add(fresh(code))
    assert len(found) == 1
    assert "reducedfem.libs" in found.pop()


@in_wheel
def test_a_forked_process_computes_the_same():
    code = (
        IMPORT
        + """
import os, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
a = np.ones((500, 500)); a @ a
print(digest(), flush=True)
child = os.fork()
if child == 0:
    print(digest(), flush=True)
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""
    )
    first, second = fresh(code).split()
    assert first == second


@in_wheel
def test_variables_of_openblas_apply():
    show = "import json, reducedfem as rf; print(json.dumps(rf.system_info()['blas']))"
    assert json.loads(fresh(show, OPENBLAS_NUM_THREADS="1"))["threads"] == 1
    if BLAS["core_vectors"] in ("AVX2", "AVX-512"):
        assert json.loads(fresh(show, OPENBLAS_CORETYPE="Sandybridge"))["core_vectors"] == "AVX"
    # without variables of the user, which may name older kernels
    assert not json.loads(fresh(show, OPENBLAS_NUM_THREADS="2"))["fallback"]
