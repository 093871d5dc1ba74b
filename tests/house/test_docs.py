"""Pages of docs: their scripts run, names on them exist, and the site has each public name once."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import reducedfem as rf
from places import ROOT

sys.path.insert(0, str(ROOT / "docs" / "site"))

import check
import reference

pytestmark = pytest.mark.no_asan(reason="examples of functions that have tests of their own")

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NAMES = [str(path.relative_to(DOCS)) for path in PAGES]

# scripts that other tests run, or the site
ELSEWHERE = {
    "devices.md",
    "tutorial.md",
    "friction.md",
    "world.md",
    "site/live.md",
    "site/gallery.md",
}
# models that pages continue with
BEAM = """
import numpy as np
import reducedfem as rf

box = rf.DistanceField.from_field(rf.BoxField((0, 0, 0.01), (0.2, 0.04, 0.03)), 32)
mesh = rf.voxelize(box.isosurface(), 12)
solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=mesh.nodes[:, 0] < 0.04)
reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=4))
force = rf.Skin(reduced).project([0], [[0.0, 0.0, 0.01]])
"""
FALL = """
loose = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0))
free = rf.reduce(loose, rf.modal_derivative_basis(loose, k=2, r=4))
world = rf.World(1e-3, (0, 0, -9.81), rf.PlaneField((0, 0, 0), (0, 0, 1)))
world.add(rf.FreeBody(free, 1e-3), rf.PointTree(rf.Pointshell.from_surface(box.isosurface()), free))
"""
CUBES = """
cube = 0.05 * np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])
lower = rf.Mesh(cube, [range(8)])
upper = rf.Mesh(cube + [0.0, 0.0, 0.0505], [range(8)])
rubber, foam = rf.StVK(1e6, 0.4, 1000.0), rf.StVK(1e5, 0.3, 100.0)
"""
COARSE = """
import warnings
import reducedfem as rf

warnings.simplefilter("ignore", rf.PlausibilityWarning)
"""
BEFORE = {
    "howto/basis_size.md": COARSE,
    "howto/stress.md": COARSE,
    "export.md": BEAM + FALL,
    "time_integration.md": BEAM + CUBES,
}
SCRIPT = re.compile(r"```python\n(.*?)```", re.DOTALL)
WITH_SCRIPTS = [name for name, path in zip(NAMES, PAGES, strict=True)
                if name not in ELSEWHERE and SCRIPT.search(path.read_text())]  # fmt: skip


@pytest.mark.parametrize("name", WITH_SCRIPTS)
def test_scripts_of_a_page_run(name, tmp_path, monkeypatch, capsys):
    """They continue each other; warnings are errors."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for script in [BEFORE.get(name, ""), *SCRIPT.findall((DOCS / name).read_text())]:
        exec(compile(script, name, "exec"), names)


def test_scripts_that_run_elsewhere_exist():
    assert set(NAMES) >= ELSEWHERE | set(BEFORE)
    assert len(WITH_SCRIPTS) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_names_on_a_page_exist(name):
    """`Solid.stiffness` in backticks is an attribute of a public class."""
    text = re.sub(r"^```.*?^```", "", (DOCS / name).read_text(), flags=re.MULTILINE | re.DOTALL)
    missing = []
    for words in re.findall(r"`(?:rf\.)?([A-Z]\w+)\.(\w+)(?:\([^`]*\))?`", text):
        owner = getattr(rf, words[0], None)
        fields = getattr(owner, "__annotations__", {})
        if owner is not None and not hasattr(owner, words[1]) and words[1] not in fields:
            missing.append(".".join(words))
    assert missing == []


def test_the_site_has_each_public_name_once(tmp_path):
    reference.write_names(tmp_path / "api")
    pages = {path.stem: path.read_text() for path in (tmp_path / "api").glob("*.rst")}
    entry = re.compile(r"^\.\. auto(?:class|function):: (\w+)$", re.MULTILINE)
    documented = [name for text in pages.values() for name in entry.findall(text)]
    documented = [name for name in documented if name in rf.__all__]
    assert sorted(documented) == rf.__all__
    rooms = reference.rooms(inspect.cleandoc(rf.__doc__))
    assert len(rooms) >= 10
    assert sorted(name for text in rooms.values() for name in reference.named(text)) == rf.__all__
    listed = re.findall(r"^   (\w+)$", pages["index"], re.MULTILINE)
    assert len(listed) == len(set(listed)) == len(rooms) + len(reference.MODULES) + 1


def test_the_site_has_each_command(tmp_path):
    reference.write_commands(tmp_path / "commands.md")
    headings = re.findall(r"^## reducedfem (\w+)$", (tmp_path / "commands.md").read_text(), re.M)
    assert headings == ["demo", "reduce", "info", "simulate", "view", "haptics"]


@pytest.mark.parametrize("folder", ["howto", "theory"])
def test_each_page_is_listed(folder):
    listed = set(re.findall(r"\]\((\w+\.md)[)#]", (DOCS / folder / "index.md").read_text()))
    assert listed == {path.name for path in (DOCS / folder).glob("*.md")} - {"index.md"}


def test_faults_of_pages_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">Here</h1>')
    good = (
        '<a href="other.html#here">x</a><a href="https://example.org">x</a>'
        '<p id="a"></p><a href="#a">x</a>'
    )
    (tmp_path / "index.html").write_text(good)
    assert check.faults(tmp_path) == []
    bad = (
        '<script src="https://example.org/x.js"></script><a href="no.html">x</a>'
        '<a href="other.html#there">x</a><img src="no.png"><code class="py-obj">X</code>'
    )
    (tmp_path / "index.html").write_text(bad)
    assert len(check.faults(tmp_path)) == 5
    assert "1 names" in check.faults(tmp_path)[0]
    assert "from elsewhere" in check.faults(tmp_path)[1]


@pytest.mark.parametrize(
    "text",
    [
        '<img srcset="other.html 1x, https://example.org/x.png 2x">',
        '<video poster="//example.org/x.png"></video>',
        '<object data="https://example.org/x.svg"></object>',
        "<style>@import 'https://example.org/x.css';</style>",
        '<p style="background: url(https://example.org/x.png)">x</p>',
        "x.css",
    ],
)
def test_things_from_elsewhere_are_found(tmp_path, text):
    (tmp_path / "other.html").write_text("<style>p { background: url(x.png) }</style>")
    (tmp_path / "index.html").write_text("<p>@import 'https://example.org/x.css'</p>")
    assert check.faults(tmp_path) == []
    if text == "x.css":
        (tmp_path / text).write_text('a { src: URL( "http://example.org/x.woff2") }')
    else:
        (tmp_path / "index.html").write_text(text)
    (found,) = check.faults(tmp_path)
    assert "from elsewhere" in found


@pytest.mark.skipif(
    not list((ROOT / "python" / "reducedfem").glob("_core.*.so")),
    reason="the site is made of the sources, which are not built here",
)
def test_a_site_replaces_only_a_site(tmp_path):
    build = ROOT / "docs" / "site" / "build.py"
    (tmp_path / "thesis.txt").write_text("x")
    command = [sys.executable, str(build), "--out", str(tmp_path), "--work", str(tmp_path / "work")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "neither empty nor an earlier site" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.txt"]
