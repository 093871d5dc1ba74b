"""The README tells the truth: its script runs, its commands and places exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

import reducedfem as rf
from places import ROOT

README = (ROOT / "README.md").read_text()


def test_the_script_runs_and_moves_the_spoon(tmp_path):
    script, _, _ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    script += "\nnp.savez('out.npz', rest=surface.vertices, moved=moved)\n"
    # the package under test, also when its folder was given relative to another place
    package = str(Path(rf.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:the thinnest parts are", "-c", script],
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
    """The second script goes on where the first ends."""
    scripts = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert scripts[1].count("\n") <= 10
    first = scripts[0].replace('reduced.save("spoon.safetensors")', "")
    names: dict[str, object] = {}
    exec(first + scripts[1], names)
    touch, skin, sim = names["touch"], names["skin"], names["sim"]
    surface = names["surface"].vertices
    down = surface[:, 2] - skin.positions(sim.state.q)[:, 2]
    # the hose touches 5 mm below where it starts and goes on for 9; the bowl gives way by about
    # that, as it swings, and the hose is pushed up
    assert touch.touching[-1] > 0
    assert touch.force[-1, 2] > 0.01
    # and comes to rest
    assert np.std(touch.force[-300:, 2]) < 0.01 * touch.force[-1, 2]
    assert 0.005 < down[np.abs(surface[:, 0] - 0.15).argmin()] < 0.015
    assert touch.depth[-1] < 0.002


def test_the_hand_feels_the_spoon(tmp_path, monkeypatch, capsys):
    """The third goes on from there: three seconds at 1 kHz."""
    scripts = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert scripts[2].count("\n") <= 11
    first = scripts[0].replace('reduced.save("spoon.safetensors")', "")
    second = scripts[1].replace("np.linspace(0.044, 0.030, 1000)", "[0.05]")
    monkeypatch.chdir(tmp_path)
    exec(first + second + scripts[2], {})
    text = capsys.readouterr().out
    assert "finished" in text
    assert "simulated hand" in text
    assert rf.HapticRecords.load("touch.npy")["touching"].max() > 0
    # the same cycles without the time that a machine may leave out
    waits = re.search(r"with session:.*\n    session\.wait\(\).*\n", scripts[2])
    assert waits
    again = scripts[2].replace(waits[0], "session.run(seconds=3)\nsession.close()\n")
    exec(first + second + again, {})
    records = rf.HapticRecords.load("touch.npy").array
    assert records["touching"].max() > 2
    assert 0.2 < records["force"][:, 2].max() < 3.0
    # it gives way, swings, and gives back no more than it got
    assert records["energy_j"].max() < 1e-6
    assert records["energy_j"].min() < -1e-3
    assert records["depth_m"].max() < 0.002
    assert np.abs(records["force"][-1]).max() < 0.01


def test_commands_are_targets():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*)", README))
    assert {"demo", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"


def test_places_exist():
    places = re.findall(r"^\| `([^`]+)` \|", README, re.MULTILINE)
    assert len(places) >= 5
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_documents_named_in_the_package_exist():
    sources = (ROOT / "python").rglob("*.py")
    named = {page for path in sources for page in re.findall(r"docs/\w+\.md", path.read_text())}
    assert len(named) >= 2
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == []


def test_shell_lines_run(tmp_path):
    section = README.partition("## From a shell\n")[2].partition("\n## ")[0]
    lines = [line.strip() for line in section.replace("\\\n", " ").splitlines()]
    commands = [line for line in lines if line.startswith("reducedfem ")]
    assert len(commands) == 4
    package = str(Path(rf.__file__).resolve().parents[1])
    for command in commands:
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-W", "error", "-W", "ignore:the thinnest parts are",
             "-m", "reducedfem", *words],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": package},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = [line for line in done.stderr.splitlines() if "the thinnest parts" not in line]
        assert (done.returncode, said) == (0, []), command
        assert "energy grew" not in done.stdout, command
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"plastic.safetensors", "tip.csv", "tip.png", "shapes.png"}
    # nothing that a script of the page made is replaced
    assert [name for name in made if f'save("{name}")' in README] == []
