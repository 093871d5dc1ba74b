"""The package as a whole: documentation, stubs, imports, errors, the wheel."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest

import reducedfem as rf
from places import ROOT
from reducedfem import _core, errors, scenes
from shapes import box_hexes

PACKAGE = ROOT / "python" / "reducedfem"


def fresh(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600
    )


# --- documentation -----------------------------------------------------------


def public_members(cls: type):
    for name, member in vars(cls).items():
        if not name.startswith("_") and (callable(member) or inspect.isdatadescriptor(member)):
            yield name, member
        elif isinstance(member, classmethod | staticmethod) and not name.startswith("_"):
            yield name, member.__func__


@pytest.mark.parametrize("name", rf.__all__)
def test_public_names_are_documented(name):
    thing = getattr(rf, name)
    assert inspect.getdoc(thing), f"rf.{name} has no docstring"
    # a docstring of its own, not the one of the base
    if inspect.isclass(thing):
        assert thing.__doc__, f"rf.{name} only inherits a docstring"
        if thing.__module__.startswith("reducedfem"):
            bare = [n for n, member in public_members(thing) if not inspect.getdoc(member)]
            assert bare == [], f"members of rf.{name} without docstring"


@pytest.mark.parametrize("name", rf.__all__)
def test_documented_parameters_are_those_of_the_signature(name):
    """Numpydoc sections name exactly the parameters that exist."""
    thing = getattr(rf, name)
    things = [(name, thing)]
    if inspect.isclass(thing):
        things += [(f"{name}.{n}", m) for n, m in public_members(thing) if inspect.isfunction(m)]
    for label, one in things:
        try:
            signature = inspect.signature(one)
        except (TypeError, ValueError):
            continue
        doc = inspect.getdoc(one) or ""
        section = doc.partition("Parameters\n----------\n")[2]
        # up to the next underlined title
        lines = []
        for line in section.splitlines():
            if set(line) == {"-"}:
                lines = lines[:-1]
                break
            lines.append(line)
        documented = {
            word.strip().lstrip("*")
            for line in lines
            if line and not line[0].isspace()
            for word in line.partition(" : ")[0].split(",")
        }
        existing = {p for p in signature.parameters if p not in ("self", "cls")}
        assert documented <= existing, f"rf.{label} documents what it does not take"
        if documented:
            assert existing == documented, f"rf.{label} leaves parameters undocumented"


def sections(thing) -> set[str]:
    return set(re.findall(r"^(\w+)\n-{3,}$", inspect.getdoc(thing) or "", re.MULTILINE))


@pytest.mark.parametrize("name", rf.__all__)
def test_public_callables_document_parameters_results_and_errors(name):
    """Functions and methods: Parameters, Returns, Raises; classes: their parameters."""
    thing = getattr(rf, name)
    things = [(name, thing)] if inspect.isfunction(thing) else []
    if inspect.isclass(thing):
        # but for errors, and for what functions make, whose constructor is not for users
        excepted = issubclass(thing, Exception) or thing is rf.ReducedSolid
        assert excepted or sections(thing) & {"Parameters", "Attributes"}, name
        things = [(f"{name}.{n}", m) for n, m in public_members(thing) if inspect.isfunction(m)]
    for label, one in things:
        signature = inspect.signature(one)
        missing = set()
        if set(signature.parameters) - {"self", "cls"}:
            missing |= {"Parameters", "Raises"}
        if signature.return_annotation != "None":
            missing |= {"Returns"}
        assert missing - sections(one) == set(), f"rf.{label} does not document all"


# --- the C core ----------------------------------------------------------------


def core_callables():
    for name, thing in vars(_core).items():
        if name.startswith("__"):
            continue
        if inspect.isclass(thing):
            yield name, thing
            for inner, member in vars(thing).items():
                if not inner.startswith("_") and callable(member):
                    yield f"{name}.{inner}", member
        elif callable(thing):
            yield name, thing


CORE_CALLABLES = dict(core_callables())


@pytest.mark.parametrize("name", CORE_CALLABLES)
def test_core_has_signatures_and_docstrings(name):
    thing = CORE_CALLABLES[name]
    assert thing.__doc__, f"_core.{name} has no docstring"
    assert thing.__text_signature__, f"_core.{name} has no signature line"


@pytest.mark.parametrize("name", [n for n, t in CORE_CALLABLES.items() if inspect.isclass(t)])
def test_core_types_are_closed(name):
    cls = CORE_CALLABLES[name]
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Derived", (cls,), {})
    with pytest.raises(TypeError):
        cls.anything = 1  # immutable
    # complete after __new__, or refused: calling without arguments cannot give a half-made object
    with pytest.raises(TypeError):
        cls()
    # getters are documented
    bare = [
        n
        for n, m in vars(cls).items()
        if inspect.isdatadescriptor(m) and not n.startswith("_") and not m.__doc__
    ]
    assert bare == []


def test_stub_lists_everything_in_the_core():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    stubbed: set[str] = set()
    members: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            stubbed.add(node.name)
        if isinstance(node, ast.ClassDef):
            own = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            inherited = (members.get(base.id, set()) for base in node.bases)
            members[node.name] = own.union(*inherited)
            stubbed |= {f"{node.name}.{n}" for n in members[node.name]}
    assert set(CORE_CALLABLES) - stubbed == set()


# --- imports ---------------------------------------------------------------------


def test_import_is_quick_silent_and_light():
    code = """
import sys, time
start = time.process_time()
import numpy
middle = time.process_time()
import reducedfem
end = time.process_time()
heavy = {"scipy", "matplotlib", "pandas", "IPython", "pytest"} & set(sys.modules)
assert not heavy, heavy
print(end - middle, file=sys.stderr)
"""
    took = []
    while not took or (min(took) >= 1.0 and len(took) < 5):  # others may be at work meanwhile
        done = fresh(code)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        took.append(float(done.stderr))
    if "RF_SANITIZED" not in os.environ:
        # of the processor, without NumPy's own: 0.1 to 0.2 s here
        assert min(took) < 1.0


def test_no_module_needs_scipy_or_matplotlib_to_be_imported():
    """Each module is imported by a copy of a process that has imported the package only."""
    modules = sorted(m.name for m in pkgutil.walk_packages([str(PACKAGE)], "reducedfem."))
    modules = [name for name in modules if not name.endswith(".__main__")]  # runs the command line
    code = f"""
import importlib, importlib.abc, os, sys, warnings

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("scipy", "matplotlib"):
            raise ImportError(name + " is not a dependency")

sys.meta_path.insert(0, Refuse())
import reducedfem
warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
for module in {modules}:
    child = os.fork()
    if child == 0:
        importlib.import_module(module)
        assert not {{"scipy", "matplotlib"}} & set(sys.modules), module
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0, module
"""
    assert len(modules) > 50
    done = fresh(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == ""


def test_public_names_exist_once():
    assert len(rf.__all__) == len(set(rf.__all__))
    assert set(rf.__all__) <= set(dir(rf))


def test_the_overview_names_everything_once_and_nothing_else():
    """`help(reducedfem)` is the page from which a newcomer starts."""
    named = re.findall(r"(?<!`)`(\w+)`(?!`)", rf.__doc__)
    assert set(rf.__all__) - set(named) == set(), "name them in python/reducedfem/__init__.py"
    assert sorted(named) == rf.__all__
    assert len(rf.__doc__.splitlines()) <= 60  # a page


def test_the_overview_names_the_modules_that_are_imported_by_themselves():
    named = set(re.findall(r"``(reducedfem\.\w+)``", rf.__doc__))
    assert named == {"reducedfem.scenes"}
    for name in named:
        assert importlib.import_module(name).__all__


# --- errors ------------------------------------------------------------------------


@pytest.mark.parametrize("name", errors.__all__)
def test_errors_derive_from_the_package_error_and_a_built_in(name):
    error = getattr(errors, name)
    assert getattr(rf, name) is error
    if issubclass(error, Warning):
        assert issubclass(error, UserWarning)
        return
    assert issubclass(error, rf.ReducedFEMError)
    if error is not rf.ReducedFEMError:
        built_in = (
            ValueError, TypeError, OSError, RuntimeError, ImportError, np.linalg.LinAlgError
        )  # fmt: skip
        assert issubclass(error, built_in)


# --- distributions -------------------------------------------------------------------


@pytest.mark.slow
def test_source_distribution_has_all_sources_and_nothing_else(tmp_path):
    """`make wheel` builds from it."""
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("reducedfem-*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    sources = {p.relative_to(ROOT).as_posix() for p in (ROOT / "csrc").rglob("*.[ch]")}
    sources |= {p.relative_to(ROOT).as_posix() for p in PACKAGE.rglob("*.py")}
    assert len(sources) > 600
    assert sources | {"setup.py", "pyproject.toml", "README.md", "LICENSE"} <= names
    places = {name.split("/")[0] for name in names - {""}}
    assert places == {"csrc", "python", "setup.py", "setup.cfg", "pyproject.toml", "PKG-INFO",
                      "README.md", "LICENSE"}  # fmt: skip


@pytest.mark.slow
def test_wheel_has_the_required_files(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet",
         "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(tmp_path), "."],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "deprecat" not in done.stderr.lower()
    (wheel,) = tmp_path.glob("reducedfem-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        f"reducedfem/{p.relative_to(PACKAGE)}"
        for p in PACKAGE.rglob("*")
        if p.suffix in {".py", ".pyi", ".typed", ".obj"} or p.name == "py.typed"
    }
    assert {"reducedfem/py.typed", "reducedfem/_core.pyi"} <= sources
    assert sources - names == set()
    assert sum(name.endswith(".so") for name in names) == 1
    assert any(name.endswith("licenses/LICENSE") for name in names)
    # the wheel holds the package only, no tests and no C sources
    assert {name.split("/")[0].split("-")[0] for name in names} == {"reducedfem"}
    assert not any(name.endswith((".c", ".h", ".o")) for name in names)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("voxelise", "voxelize"), ("pointtree", "PointTree"), ("ImplictNewmark", "ImplicitNewmark")],
)
def test_a_misspelt_name_is_reported_once(wrong, right):
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; did you mean '{right}'"):
        getattr(rf, wrong)
    done = fresh(f"import reducedfem as rf; rf.{wrong}")
    assert done.stderr.lower().count("did you mean") == 1
    for name in ("samples", "scenes"):
        done = fresh(f"import reducedfem as rf; rf.{name}")
        assert f"no attribute '{name}': import it by 'from reducedfem import {name}'" in done.stderr
        assert (
            fresh(f"from reducedfem import {name}; import reducedfem as rf; rf.{name}").stderr == ""
        )
    assert not hasattr(rf, "nothing_of_the_kind")
    with pytest.raises(AttributeError, match=r"nothing_of_the_kind'$"):
        rf.nothing_of_the_kind  # noqa: B018


def test_a_misspelt_choice_is_reported():
    """One function reports it for all arguments that choose from a list of texts."""
    mesh = rf.Mesh(*box_hexes(1, 1, 1))
    with pytest.raises(rf.InputError, match=r"by must be .*, got 'Nodes'; did you mean 'node'\?$"):
        mesh.n_components("Nodes")
    with pytest.raises(rf.InputError, match="mode must be .*; did you mean 'exact'"):
        rf.DistanceField.from_surface(mesh.surface(), 8, mode="exakt")
    with pytest.raises(rf.InputError, match=r"mode must be \"exact\" or \"fast\", got 'implicit'$"):
        rf.DistanceField.from_surface(mesh.surface(), 8, mode="implicit")
    with pytest.raises(rf.InputError, match="name must be one of .*; did you mean 'dragon'"):
        scenes.session("dargon")
    with pytest.raises(
        rf.InputTypeError, match="no option 'max_forec'.*; did you mean 'max_force'"
    ):
        scenes.session("dragon", max_forec=1.0)
