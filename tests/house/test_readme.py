"""Scripts and commands of the README and the tutorial run; the places that they name exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from places import ROOT

README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
FRICTION = (ROOT / "docs" / "friction.md").read_text()
WORLD = (ROOT / "docs" / "world.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
# the quick start, and the two scripts that continue it
SCRIPTS = re.findall(r"```python\n(.*?)```", README + TUTORIAL, re.DOTALL)
# no page is opened here, and so none closed
SCRIPTS[0] = SCRIPTS[0].replace("rf.view(reduced).wait()", "rf.view(reduced).close()")


def test_the_script_runs_and_moves_the_spoon(tmp_path):
    script = SCRIPTS[0] + "\nnp.savez('out.npz', rest=surface.vertices, moved=moved)\n"
    # the package under test, also when its folder was given relative to another place
    package = str(Path(rf.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": package},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^mass +0\.0079\d* kg$", done.stdout, re.MULTILINE)
    assert re.search(r"^lifted by \d+\.\d mm$", done.stdout, re.MULTILINE)
    out = np.load(tmp_path / "out.npz")
    lift = (out["moved"] - out["rest"])[:, 2]
    # it bends upwards at the tip, visibly, without leaving the scene (it is 0.2 m long)
    assert 0.001 < lift[out["rest"][:, 0].argmax()] < 0.2
    assert (tmp_path / "spoon.safetensors").is_file()


def test_the_hose_pushes_the_spoon():
    """The second script continues the first."""
    assert SCRIPTS[1].count("\n") <= 10
    first = SCRIPTS[0].replace('reduced.save("spoon.safetensors")', "")
    names: dict[str, object] = {}
    exec(first + SCRIPTS[1], names)
    touch, skin, sim = names["touch"], names["skin"], names["sim"]
    surface = names["surface"].vertices
    down = surface[:, 2] - skin.positions(sim.state.q)[:, 2]
    # contact begins 5 mm below the start and the hose moves on by 9 mm; the bowl yields by about as
    # much, while it oscillates, and pushes the hose up
    assert touch.touching[-1] > 0
    assert touch.force[-1, 2] > 0.01
    # and comes to rest
    assert np.std(touch.force[-300:, 2]) < 0.01 * touch.force[-1, 2]
    assert 0.005 < down[np.abs(surface[:, 0] - 0.15).argmin()] < 0.015
    assert touch.depth[-1] < 0.002


def test_the_hand_feels_the_spoon(tmp_path, monkeypatch, capsys):
    """The third script continues the second: three seconds at 1 kHz."""
    assert SCRIPTS[2].count("\n") <= 11
    first = SCRIPTS[0].replace('reduced.save("spoon.safetensors")', "")
    second = SCRIPTS[1].replace("np.linspace(0.044, 0.030, 1000)", "[0.05]")
    monkeypatch.chdir(tmp_path)
    exec(first + second + SCRIPTS[2], {})
    text = capsys.readouterr().out
    assert "finished" in text
    assert "simulated hand" in text
    assert rf.HapticRecords.load("touch.npy")["touching"].max() > 0
    # the same cycles without real time, which a busy machine may not keep
    waits = re.search(r"with session:.*\n    session\.wait\(\).*\n", SCRIPTS[2])
    assert waits
    again = SCRIPTS[2].replace(waits[0], "session.run(seconds=3)\nsession.close()\n")
    exec(first + second + again, {})
    records = rf.HapticRecords.load("touch.npy").array
    assert records["touching"].max() > 2
    assert 0.2 < records["force"][:, 2].max() < 3.0
    # the spoon yields, oscillates, and returns at most the energy that it received
    assert records["energy_j"].max() < 1e-6
    assert records["energy_j"].min() < -1e-3
    assert records["depth_m"].max() < 0.002
    assert np.abs(records["force"][-1]).max() < 0.01


def test_the_balls_come_down_to_the_ground(capsys):
    """The example of docs/world.md is complete."""
    script, on_a_pad = re.findall(r"```python\n(.*?)```", WORLD, re.DOTALL)
    assert script.count("\n") <= 16
    names: dict[str, object] = {}
    exec(script, names)
    world = names["world"]
    assert len(world) == 5
    np.testing.assert_allclose(world.positions[:, 2], 0.05, atol=5e-4)
    # the balls weigh 5 N each
    assert 20.0 < world.contacts.forces[:, 2].sum() < 40.0
    assert capsys.readouterr().out.startswith("[[")
    exec(on_a_pad, names)
    world = names["world"]
    assert world.positions[0, 2] > 0.04  # the pad, 50 mm high, bears the ball
    assert -1e-2 < world.dimple(-2)[:, 2].min() < -1e-5


def test_the_block_is_pushed_over_the_floor(capsys):
    """The first example of docs/friction.md is complete, and gives the same bits each time."""
    script = re.findall(r"```python\n(import .*?)```", FRICTION, re.DOTALL)[0]
    assert script.count("\n") <= 32
    runs: list[dict[str, object]] = [{}, {}]
    for names in runs:
        exec(script, names)
    first, second = (names["records"]["contact_force"] for names in runs)
    np.testing.assert_array_equal(first, second)
    said = capsys.readouterr().out.splitlines()
    push, bound = re.fullmatch(r"push (.*) N, mu m g (.*) N", said[0]).groups()
    assert f"mu m g {bound} N`" in FRICTION
    assert float(push) == pytest.approx(float(bound), rel=0.005)
    assert not runs[0]["session"].report().unsolved


def test_commands_are_targets():
    makefile = (ROOT / "Makefile").read_text()
    assert "\n    make demo " in README
    assert "\n    make test " in README
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*)", README + CONTRIBUTING))
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"


def test_places_exist():
    for name, text, least in (
        ("CONTRIBUTING.md", CONTRIBUTING, 5),
        ("docs/experiments.md", (ROOT / "docs" / "experiments.md").read_text(), 15),
    ):
        places = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
        assert len(places) >= least, name
        assert [place for place in places if not (ROOT / place).exists()] == [], name


def test_readme_is_short_and_has_standard_headings():
    headings = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert headings == [
        "Install", "Quick start", "Examples", "Documentation", "Tests", "Citing", "License",
    ]  # fmt: skip
    assert README.count("\n") <= 120
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 2
    pictures += re.findall(r'<img src="([^"]+)" alt="[^"]+"', README)
    assert len(pictures) == 4
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < (4e5 if picture.endswith(".gif") else 2e5)


def test_links_lead_to_files():
    """Each page of docs can be reached from the README; docs/site is for Sphinx."""
    docs = ROOT / "docs"
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        links = re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", page.read_text())
        assert [link for link in links if not (page.parent / link).is_file()] == [], page.name
        for link in links:
            target = (page.parent / link).resolve()
            if target.suffix == ".md" and target not in reached:
                reached.add(target)
                todo.append(target)
    pages = {path for path in docs.rglob("*.md") if path.parent != docs / "site"}
    assert pages <= reached


def test_documents_named_in_the_package_exist():
    sources = (ROOT / "python").rglob("*.py")
    named = {page for path in sources for page in re.findall(r"docs/\w+\.md", path.read_text())}
    assert len(named) >= 2
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == []


def test_shell_lines_run(tmp_path):
    section = README.partition("### From a shell\n")[2].partition("\n## ")[0]
    lines = [line.strip() for line in section.replace("\\\n", " ").splitlines()]
    commands = [line for line in lines if line.startswith("reducedfem ")]
    assert len(commands) == 4
    package = str(Path(rf.__file__).resolve().parents[1])
    for command in commands:
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "reducedfem", *words],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": package},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), command
        assert "not the motion" not in done.stdout, command
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"plastic.safetensors", "plastic.html", "tip.csv", "tip.png", "shapes.png"}
    # no file of the quick start is overwritten
    assert [name for name in made if f'save("{name}")' in README] == []
