"""Files that others made: regular files only, and what a file may include."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.io import meshio_files
from shapes import box_tets

READERS = {
    ".obj": "read_surface",
    ".ply": "read_surface",
    ".stl": "read_surface",
    ".off": "read_surface",
    ".veg": "read_mesh",
    ".vtu": "read_mesh",
    ".msh": "read_mesh",
    ".ele": "read_mesh",
    ".node": "read_mesh",
    ".bou": "read_fixed",
    ".safetensors": "load",
    ".npy": "HapticRecords.load",
    ".csv": "ReplayDevice.from_csv",
    ".sketch": "ForceSketch.load",
}
ALL = f"""
import sys
import reducedfem as rf
for suffix, name in {READERS!r}.items():
    read = rf
    for part in name.split("."):
        read = getattr(read, part)
    try:
        read(sys.argv[1] + suffix)
    except rf.FileFormatError as error:
        assert "not a regular file" in str(error), error
    else:
        raise AssertionError(suffix)
"""


def refuses_all(place: Path) -> None:
    """Run every reader on ``place`` and a suffix; one that waits for ever fails."""
    package = str(Path(rf.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALL, str(place)],
        env=os.environ | {"PYTHONPATH": package},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_no_reader_waits_for_a_pipe(tmp_path):
    for suffix in READERS:
        os.mkfifo(tmp_path / f"pipe{suffix}")
    refuses_all(tmp_path / "pipe")


def test_no_reader_takes_a_device(tmp_path):
    # endless, and reached through a link
    for suffix in READERS:
        (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    refuses_all(tmp_path / "zero")


def test_no_reader_takes_a_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.veg")
        with pytest.raises(rf.FileFormatError, match="not a regular file"):
            rf.read_mesh("s.veg")


@pytest.fixture
def folder(tmp_path):
    """A folder beside files that it must not include."""
    (tmp_path / "secret.txt").write_text("1\n")
    inside = tmp_path / "part"
    (inside / "lists").mkdir(parents=True)
    (inside / "lists" / "two.txt").write_text("2\n*INCLUDE ../three.txt\n")
    (inside / "three.txt").write_text("3\n")
    return inside


def test_a_file_includes_files_of_its_folder(folder):
    (folder / "f.bou").write_text("1\n*INCLUDE lists/two.txt\n*INCLUDE lists/../three.txt\n")
    np.testing.assert_array_equal(rf.read_fixed(folder / "f.bou"), [0, 1, 2])
    # the folder itself may be reached through a link, and without its name
    (folder.parent / "link").symlink_to(folder)
    np.testing.assert_array_equal(rf.read_fixed(folder.parent / "link" / "f.bou"), [0, 1, 2])
    before = Path.cwd()
    try:
        os.chdir(folder)
        np.testing.assert_array_equal(rf.read_fixed("f.bou"), [0, 1, 2])
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../secret.txt", "not in .*folder of the first file"),
        ("lists/../../secret.txt", "not in .*folder of the first file"),
        ("{folder}/three.txt", "not in .*folder of the first file"),
        ("/etc/hostname", "not in .*folder of the first file"),
        ("/dev/zero", "not in .*folder of the first file"),
        ("link.txt", "not in .*folder of the first file"),
        ("pipe.txt", "not a regular file"),
        ("lists", "it is a folder"),
        ("none.txt", "No such file"),
        ("a\0b", "no file can be called"),
    ],
)
@pytest.mark.parametrize("reader", [rf.read_mesh, rf.read_fixed])
def test_a_file_includes_nothing_else(folder, name, message, reader):
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    os.mkfifo(folder / "pipe.txt")
    first = folder / "first.veg"
    first.write_text(f"*INCLUDE {name.format(folder=folder)}\n")
    with pytest.raises(rf.FileFormatError, match=rf"first.veg', line 1: \*INCLUDE: .*{message}"):
        reader(first)


def test_include_bombs_are_defused(folder):
    """Ten levels that each include the next ten times: ten thousand million lines."""
    for level in range(9):
        (folder / f"{level}.txt").write_text(f"*INCLUDE {level + 1}.txt\n" * 10)
    (folder / "9.txt").write_text("1\n")
    with pytest.raises(rf.FileFormatError, match="more than 1000 files are included"):
        rf.read_fixed(folder / "0.txt")


def test_included_bytes_are_counted_together(folder):
    large = folder / "large.txt"
    with large.open("wb") as file:  # with a hole: it takes no room on the disk
        file.truncate(2**28 + 1)
    (folder / "f.bou").write_text("*INCLUDE large.txt\n")
    with pytest.raises(rf.FileFormatError, match=f"it has {2**28 + 1} bytes, {2**28} at most"):
        rf.read_fixed(folder / "f.bou")
    large.write_text("#" + "x" * 1000)
    with large.open("ab") as file:
        file.truncate(2**28)
    (folder / "f.bou").write_text("*INCLUDE three.txt\n*INCLUDE large.txt\n")
    with pytest.raises(rf.FileFormatError, match=f"bytes, {2**28 - 2} at most are read"):
        rf.read_fixed(folder / "f.bou")


def test_a_mesh_of_included_parts(folder):
    nodes, elements = box_tets(1, 1, 1)
    rf.Mesh(nodes, elements).write(folder / "whole.veg")
    vertices, _, rest = (folder / "whole.veg").read_text().partition("*ELEMENTS")
    (folder / "lists" / "vertices.txt").write_text(vertices)
    (folder / "parts.veg").write_text(f"*INCLUDE lists/vertices.txt\n*ELEMENTS{rest}")
    np.testing.assert_array_equal(rf.read_mesh(folder / "parts.veg").nodes, nodes)


def test_lists_and_meshes_that_begin_with_a_byte_order_mark(folder):
    (folder / "f.bou").write_bytes(b"\xef\xbb\xbf1, 2\n*INCLUDE more.txt\n")
    (folder / "more.txt").write_bytes(b"\xef\xbb\xbf3\n")
    np.testing.assert_array_equal(rf.read_fixed(folder / "f.bou"), [0, 1, 2])
    nodes, elements = box_tets(1, 1, 1)
    rf.Mesh(nodes, elements).write(folder / "m.veg")
    text = (folder / "m.veg").read_bytes().partition(b"*VERTICES")[2]
    (folder / "m.veg").write_bytes(b"\xef\xbb\xbf*VERTICES" + text)
    np.testing.assert_array_equal(rf.read_mesh(folder / "m.veg").nodes, nodes)


# ---- what Abaqus files include ----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../secret.txt", "not in .*folder of the first file"),
        ("{folder}/three.txt", "not in .*folder of the first file"),
        ("/dev/zero", "not in .*folder of the first file"),
        ("link.inp", "not in .*folder of the first file"),
        ("pipe.inp", "not a regular file"),
        ("none.inp", "No such file"),
        ("nested.inp", "not a regular file"),
        ("first.inp", "more than 10 deep"),
    ],
)
@pytest.mark.parametrize(
    "line", ["*INCLUDE, INPUT={}\n", " include,input={}\r", "*Include,={} \r\n"]
)
def test_an_abaqus_file_includes_nothing_else(folder, name, message, line):
    (folder / "link.inp").symlink_to(folder.parent / "secret.txt")
    os.mkfifo(folder / "pipe.inp")
    (folder / "nested.inp").write_text("** of a part\n*INCLUDE, INPUT=pipe.inp\n")
    include = line.format(name.format(folder=folder))
    (folder / "first.inp").write_bytes(f"*HEADING\n{include}*NODE\n1, 0, 0, 0\n".encode())
    with pytest.raises(rf.FileFormatError, match=rf"inp', line 2: .*{message}"):
        rf.read_mesh(folder / "first.inp")


def test_an_abaqus_mesh_of_included_parts(folder, monkeypatch):
    nodes, elements = box_tets(1, 1, 1)
    rf.Mesh(nodes, elements).write(folder / "lists" / "whole.inp")
    (folder / "first.inp").write_text("** all of it\n*INCLUDE, INPUT=lists/whole.inp\n")
    np.testing.assert_array_equal(rf.read_mesh(folder / "first.inp").nodes, nodes)
    # meshio looks in the current folder first
    other = folder.parent / "other"
    (other / "lists").mkdir(parents=True)
    (other / "lists" / "whole.inp").write_text("")
    monkeypatch.chdir(other)
    with pytest.raises(rf.FileFormatError, match="line 2: .*other/lists/whole.inp' of the current"):
        rf.read_mesh(folder / "first.inp")


def test_readers_that_wait_are_ended(folder):
    os.mkfifo(folder / "pipe.msh")
    with pytest.raises(rf.FileFormatError, match="in 1 s of wall-clock time"):
        meshio_files.read_apart(folder / "pipe.msh", 1, wait=0)
