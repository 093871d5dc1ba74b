"""Files are written whole or not at all, even if the process that writes them is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from places import ROOT
from reducedfem.io.atomic import replacing
from shapes import box_tets

# ends without clean-up after the k-th call of the system that changes a name or a disk
KILLED = """
import os, sys
import reducedfem as rf
sys.path.insert(0, {tests!r})
from shapes import box_tets

k = int(sys.argv[2])
calls = 0


def dying(call):
    def wrapped(*args, **more):
        global calls
        calls += 1
        result = call(*args, **more)
        if calls == k:
            os._exit(9)
        return result

    return wrapped


for name in ("mkdir", "replace", "rename", "fsync", "chmod", "rmdir", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
nodes, elements = box_tets(3, 1, 1, (3, 1, 1))
rf.Mesh(nodes, elements).write(sys.argv[1])
"""


def killed_after(path: Path, k: int) -> bool:
    """Write a mesh of 3 x 1 x 1 boxes in a process that ends after k steps; True if it did."""
    package = str(Path(rf.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(tests=str(ROOT / "tests/support")), str(path), str(k)],
        env=os.environ | {"PYTHONPATH": package},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode in (0, 9), done.stderr
    return done.returncode == 9


def test_a_killed_save_leaves_no_mixture(tmp_path):
    """Two files cannot change at once: a pair of two saves is noticed."""
    old = rf.Mesh(*box_tets(2, 1, 1))
    path = tmp_path / "m.ele"
    outcomes = []
    for k in range(1, 100):
        old.write(path)
        left = {entry.name for entry in tmp_path.iterdir()} - {"m.ele", "m.node"}
        assert left == set()  # the save before this line has removed what a kill left
        died = killed_after(path, k)
        try:
            outcomes.append(len(rf.read_mesh(path).elements))
        except rf.FileFormatError as refused:
            outcomes.append(0)
            why = str(refused)
        if not died:
            break
    new = len(box_tets(3, 1, 1)[1])
    assert outcomes[0] == len(old.elements)
    assert outcomes[-1] == new
    assert set(outcomes) == {len(old.elements), 0, new}
    assert "were not written together" in why


def test_a_pair_of_two_programs_is_refused(tmp_path):
    path = tmp_path / "m.ele"
    rf.Mesh(*box_tets(1, 1, 1)).write(path)
    lines = (tmp_path / "m.node").read_bytes().splitlines(keepends=True)
    assert lines[0].startswith(b"# reducedfem: files of one save")
    (tmp_path / "m.node").write_bytes(b"".join(lines[1:]))
    with pytest.raises(rf.FileFormatError, match="were not written together.*delete the line"):
        rf.read_mesh(path)
    first, _, rest = path.read_bytes().partition(b"\n")
    assert first == lines[0].strip()
    path.write_bytes(rest)
    assert rf.read_mesh(path).n_elements == len(box_tets(1, 1, 1)[1])


def test_stale_folders_are_those_of_dead_savers(tmp_path):
    surface = rf.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    (tmp_path / ".s.obj.abcdefgh.part").mkdir()
    (tmp_path / ".s.obj.abcdefgh.part" / "s.obj").write_text("half")
    kept = [
        ".s.obj.abcdefgh.part.mine",
        ".s.obj-backup",
        ".other.obj.abcdefgh.part",
        ".s.obj.x.part",
    ]
    for name in kept:
        (tmp_path / name).mkdir()
    (tmp_path / ".s.obj.ijklmnop.part").write_text("a file is not a folder")
    with replacing(tmp_path / "s.obj") as alive:
        # another saver at work: its folder stays
        surface.write(tmp_path / "s.obj")
        assert alive.parent.is_dir()
        alive.write_text("of the other")
    assert (tmp_path / "s.obj").read_text() == "of the other"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [*kept, ".s.obj.ijklmnop.part", "s.obj"]
    )


def test_links_stay_links(tmp_path):
    surface = rf.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    (tmp_path / "store").mkdir()
    (tmp_path / "link.obj").symlink_to("middle.obj")
    (tmp_path / "middle.obj").symlink_to("store/real.obj")
    surface.write(tmp_path / "link.obj")  # what it names is made
    surface.write(tmp_path / "link.obj")  # and replaced
    assert os.readlink(tmp_path / "link.obj") == "middle.obj"
    assert [p.name for p in (tmp_path / "store").iterdir()] == ["real.obj"]
    np.testing.assert_array_equal(
        rf.read_surface(tmp_path / "store/real.obj").vertices, surface.vertices
    )
    (tmp_path / "a.obj").symlink_to("b.obj")
    (tmp_path / "b.obj").symlink_to("a.obj")
    with pytest.raises(rf.FileFormatError, match="form a circle"):
        surface.write(tmp_path / "a.obj")
    assert os.readlink(tmp_path / "a.obj") == "b.obj"


def test_the_folder_is_written_to_the_disk(tmp_path, monkeypatch):
    synced = []

    def fsync(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", fsync)
    surface = rf.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files have no names here")
    surface.write(tmp_path / "s.obj")
    # the file before its name appears, the name after it
    assert [Path(name).name for name in synced] == ["s.obj", tmp_path.name]
