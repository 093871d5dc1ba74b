"""Tetrahedra by an optional package, in a process that ends in time."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from shapes import sphere

needs_tetwild = pytest.mark.skipif(
    importlib.util.find_spec("pytetwild") is None,
    reason="pytetwild is not installed: pip install 'reducedfem[tets]'",
)
BALL = rf.Surface(*sphere(8, (5.0, -3.0, 2.0), 0.01))


def stand_in(folder: Path, program: str) -> None:
    """Write a package pytetwild that runs a program, and then ends the process."""
    (folder / "pytetwild.py").write_text(f"{program}\nraise SystemExit\n")


@pytest.fixture
def present(monkeypatch, tmp_path_factory):
    """Have something installed as pytetwild: a program of the test."""
    folder = tmp_path_factory.mktemp("package")

    def run(program):
        stand_in(folder, program)
        monkeypatch.syspath_prepend(folder)

    return run


def test_absence_names_the_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(rf.MissingPackageError, match=r"pip install 'reducedfem\[tets\]'"):
        rf.tetrahedralize(BALL)
    with pytest.raises(ImportError):
        rf.tetrahedralize(BALL)


def test_a_broken_package_names_the_command(present):
    present("import no_such_module_at_all")
    with pytest.raises(rf.MissingPackageError, match=r"no_such_module_at_all.*pip install"):
        rf.tetrahedralize(BALL)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"surface": 3}, rf.InputTypeError, "surface must be a Surface"),
        ({"size": 0}, rf.InputError, "size must be positive, got 0"),
        ({"size": 1.0}, rf.InputError, "size must be at most the diagonal of the surface, 0.03"),
        ({"size": "fine"}, rf.InputTypeError, "size must be a number"),
        ({"tolerance": -1}, rf.InputError, "tolerance must be positive"),
        ({"tolerance": 0.02}, rf.InputError, "tolerance must be at most a tenth"),
        ({"timeout": 0}, rf.InputError, "timeout must be positive"),
        ({"quadratic": 2}, rf.InputTypeError, "quadratic must be"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        rf.tetrahedralize(**({"surface": BALL} | arguments))
    point = rf.Surface(np.ones((3, 3)), [[0, 1, 2]])
    with pytest.raises(rf.MeshError, match="it has no size"):
        rf.tetrahedralize(point)


WAITS = """
import os, sys, time
with open({note!r} + ".part", "w") as file:
    file.write(str(os.getpid()))
os.replace({note!r} + ".part", {note!r})
while True:
    time.sleep(0.01)
"""


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_process_is_killed_at_the_time_limit(present, tmp_path):
    note = tmp_path / "process"
    present(WAITS.format(note=str(note)))
    # on a crowded machine the child may take long to begin
    for limit in (2.0, 20.0, 200.0):
        with pytest.raises(rf.ConvergenceError, match=f"no mesh after {limit:g} s and was stopped"):
            rf.tetrahedralize(BALL, timeout=limit)
        if note.is_file():
            break
    assert not is_alive(int(note.read_text()))


def test_interruption_ends_the_process(present, tmp_path):
    note = tmp_path / "process"
    present(WAITS.format(note=str(note)))

    def interrupt():
        while not note.is_file():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        rf.tetrahedralize(BALL, timeout=None)
    thread.join()
    assert not is_alive(int(note.read_text()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux ends orphans")
def test_the_process_does_not_outlive_this_one(tmp_path):
    note = tmp_path / "process"
    stand_in(tmp_path, WAITS.format(note=str(note)))
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import reducedfem as rf
rf.tetrahedralize(rf.Surface({BALL.vertices.tolist()}, {BALL.triangles.tolist()}))
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    try:
        while not note.is_file():
            assert parent.poll() is None
            time.sleep(0.01)
    finally:
        parent.kill()
        parent.wait()
    child = int(note.read_text())
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(child, 0)
            # a process that ended may stay as a zombie
            with open(f"/proc/{child}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    break
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        ("raise ValueError('too thin')", rf.MeshError, "failed with code 1 .*: ValueError: too"),
        ("raise MemoryError", MemoryError, "ran out of memory: choose a larger size"),
        ("import os; os.abort()", rf.MeshError, "was ended by signal 6 and made no mesh"),
        ("pass", rf.MeshError, "failed with code 0"),
        (
            "import sys, numpy as np\n"
            "np.savez(sys.argv[2], points=np.zeros((0, 3)), tets=np.zeros((0, 4), int))",
            rf.MeshError,
            "it encloses nothing",
        ),
    ],
)
def test_failures_of_the_process(present, program, error, message):
    present(program)
    with pytest.raises(error, match=message):
        rf.tetrahedralize(BALL)


@needs_tetwild
def test_a_ball():
    mesh = rf.tetrahedralize(BALL, size=0.006)
    assert mesh.nodes_per_element == 10
    assert rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0)).volume == pytest.approx(BALL.volume, rel=0.02)
    np.testing.assert_allclose(mesh.bounds, BALL.bounds, atol=0.001)
    assert mesh.n_components("face") == 1


@needs_tetwild
def test_an_open_surface_is_closed_first_and_four_nodes_are_four():
    vertices, triangles = sphere(8)
    inward = triangles[vertices[triangles][:, :, 2].mean(axis=1) < 0.6][:, ::-1]
    mesh = rf.tetrahedralize(rf.Surface(vertices, inward), size=0.8, quadratic=False)
    assert mesh.nodes_per_element == 4
    whole = rf.Surface(vertices, inward).filled().volume
    assert rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0)).volume == pytest.approx(whole, rel=0.03)


def test_the_process_leaves_nothing_behind(present, tmp_path, monkeypatch):
    """FTetWild writes a file of its own into the folder where it runs."""
    monkeypatch.chdir(tmp_path)
    present("open('left.stl', 'w').close(); raise ValueError('x')")
    with pytest.raises(rf.MeshError):
        rf.tetrahedralize(BALL)
    assert list(tmp_path.iterdir()) == []
