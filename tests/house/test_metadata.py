"""Metadata of the project: extras, citation, changelog; messages about missing libraries."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reducedfem as rf
from places import ROOT

PROJECT = (ROOT / "pyproject.toml").read_text()


def names(text: str) -> set[str]:
    """Return the names of packages in a list of requirements."""
    return {re.match(r"[A-Za-z0-9_.-]+", one)[0].lower() for one in re.findall(r'"([^"]+)"', text)}


def requirements(key: str) -> set[str]:
    return names(re.search(rf"^{key} = \[(.*?)\]$", PROJECT, re.MULTILINE | re.DOTALL)[1])


def imported(code: str) -> set[str]:
    """Return the packages that code imports, SciPy also where a method does."""
    found = {"scipy"} if ".to_scipy(" in code else set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"reducedfem"}


def test_the_notebook_extra_has_all_imports_of_notebooks():
    given = requirements("dependencies") | requirements("notebook")
    needed = set()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        needed |= imported(re.sub(r"^%.*$", "", code, flags=re.MULTILINE))
    assert needed <= given
    assert {"numpy", "matplotlib", "scipy"} <= needed


@pytest.mark.slow
def test_the_package_imports_all_its_dependencies():
    """Modules imported inside of functions belong to an extra, or to a format of meshio."""
    given = requirements("dependencies") | requirements("plot") | requirements("pyvista")
    given |= requirements("view")
    # Pillow is imported as PIL, imageio-ffmpeg with an underscore
    given |= {"scipy", "ipywidgets", "PIL", "imageio_ffmpeg"}
    for path in (ROOT / "python" / "reducedfem").rglob("*.py"):
        assert imported(path.read_text()) <= given, path


def test_version_is_the_same_everywhere():
    version = rf.__version__
    citation = (ROOT / "CITATION.cff").read_text()
    assert f'version: "{version}"' in citation
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    assert importlib.metadata.version("reducedfem") == version
    for key in ("authors", "keywords", "classifiers"):
        assert re.search(rf"^{key} = \[", PROJECT, re.MULTILINE)


# an extension that fails to load, as the system says it
FAILING = """
import importlib.abc, importlib.machinery, sys

class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name == "reducedfem._core":
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        raise ImportError({text!r}, name=spec.name)

    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Broken())
import reducedfem
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "libcholmod.so.5: cannot open shared object file: No such file or directory",
            ["needs CHOLMOD", "apt-get install libsuitesparse-dev", "dnf install", "brew install"],
        ),
        (
            "libopenblas.so.0: cannot open shared object file: No such file or directory",
            ["needs OpenBLAS", "apt-get install libsuitesparse-dev libopenblas-dev"],
        ),
        ("No module named 'reducedfem._core'", ["compiled part of reducedfem", "pip install ."]),
        ("undefined symbol: Py_Something", ["ImportError: undefined symbol: Py_Something"]),
    ],
)
def test_missing_libraries_are_named(text, expected):
    package = str(Path(rf.__file__).resolve().parents[1])
    code = f"import sys; sys.path.insert(0, {package!r})" + FAILING.format(text=text)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr[done.stderr.rindex("ImportError: ") :]
    assert text in last
    for part in expected:
        assert part in last


def test_help_begins_with_the_overview():
    """As the README says, the overview comes before the list of classes."""
    readme = (ROOT / "README.md").read_text()
    assert "`print(rf.__doc__)` lists the public names by task" in readme
    shown = pydoc.plain(pydoc.render_doc(rf))
    first = rf.__doc__.splitlines()[0]
    begin = shown.index(first.rstrip("."))
    assert begin < 200
    for name in ("read_surface", "HapticSession", "ReducedFEMError"):
        assert shown.index(f"`{name}`") < shown.index("PACKAGE CONTENTS")
