"""Damaged files of every format: refused in words, in bounded time and memory."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.io import meshio_child as child
from reducedfem.io import meshio_files, reading
from reducedfem.io.record_file import RECORD, record_dtype
from shapes import box_hexes, box_tets

MESHIO = (".vtu", ".vtk", ".msh", ".mesh", ".meshb", ".inp", ".avs", ".bdf", ".su2", ".dat", ".ele")
SURFACES = (".obj", ".ply", ".stl", ".off")
TABLE = b"time,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1,0,1,0,1,0,0,0\n"
ODD = (
    b"-1", b"0", b"1e999", b"nan", b"x", b"(", b"'", b"\xff\xfe", b"",
    b"4294967296", b"999999999999", b"9" * 30, b"9" * 5000,
)  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return the data cut, with other bytes, with a part left out, or with an odd word."""
    changed, kind = bytearray(data), rng.randrange(4)
    first, last = sorted(rng.randrange(len(data)) for _ in range(2))
    if kind == 0:
        return data[:first]
    if kind == 1:
        return data[:first] + data[last:]
    if kind == 2:
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(changed)
    lines = data.split(b"\n")
    line = rng.randrange(len(lines))
    words = lines[line].split()
    if words:
        words[rng.randrange(len(words))] = rng.choice(ODD)
    lines[line] = b" ".join(words)
    return b"\n".join(lines)


class Endless(Exception):
    pass


@contextlib.contextmanager
def stopped():
    """Raise `Endless` in what computes for long, which a child process would not survive."""

    def stop(*_):
        raise Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    # and again: where the garbage collector calls back, the first is lost
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.3, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", MESHIO)
def test_meshio_refuses_or_is_stopped(tmp_path, suffix):
    """The program that runs meshio ends with arrays or with words on any damage."""
    nodes, elements = box_tets(2, 1, 1)
    rf.Mesh(nodes, elements).write(tmp_path / f"m{suffix}")
    data = (tmp_path / f"m{suffix}").read_bytes()
    rng = random.Random(suffix)
    refused = 0
    for _ in range(20):
        (tmp_path / f"m{suffix}").write_bytes(damaged(data, rng))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                with stopped():
                    found = child.arrays(tmp_path / f"m{suffix}")
            except (child.Refused, Endless):
                refused += 1
                continue
        with contextlib.suppress(rf.InputError):
            rf.Mesh(found["nodes"], found["elements"], found["regions"], drop_unreferenced=True)
    assert refused > 5


def cases(folder):
    """Return whole files of the formats that are read in this process, and their readers."""
    hexes = rf.Mesh(*box_hexes(2, 1, 1))
    surface = hexes.surface()
    for suffix in SURFACES[:3]:
        surface.write(folder / f"m{suffix}")
    rows = [f"{x} {y} {z}" for x, y, z in surface.vertices]
    rows += [f"3 {a} {b} {c}" for a, b, c in surface.triangles]
    head = f"OFF\n{surface.n_vertices} {surface.n_triangles} 0\n"
    (folder / "m.off").write_text(head + "\n".join(rows) + "\n")
    hexes.write(folder / "m.veg")
    (folder / "m.bou").write_bytes(b"1,2, 3\n4 5\n" * 3)
    (folder / "m.csv").write_bytes(TABLE)
    rf.HapticRecords(np.zeros(1, record_dtype(2, 3))).save(folder / "m.npy")
    rf.DistanceField(np.ones((3, 3, 3)), [0, 0, 0], [1, 1, 1]).save(folder / "m.safetensors")
    yield from ((suffix, rf.read_surface) for suffix in SURFACES)
    yield ".veg", rf.read_mesh
    yield ".bou", rf.read_fixed
    yield ".csv", rf.ReplayDevice.from_csv
    yield ".npy", rf.HapticRecords.load
    yield ".safetensors", rf.load


def test_own_readers_refuse_any_damage(tmp_path):
    rng = random.Random(1)
    for suffix, read in cases(tmp_path):
        data = (tmp_path / f"m{suffix}").read_bytes()
        read(tmp_path / f"m{suffix}")
        refused = 0
        for _ in range(150):
            (tmp_path / f"m{suffix}").write_bytes(damaged(data, rng))
            try:
                read(tmp_path / f"m{suffix}")
            except (rf.FileFormatError, rf.MeshError):
                refused += 1
            except rf.InputError:
                assert suffix == ".csv"  # its numbers are those of an argument
                refused += 1
        assert refused > 20, suffix


@pytest.mark.parametrize(
    ("suffix", "part"), [(".dat", 0.7), (".bdf", 0.044)], ids=["Tecplot", "Nastran"]
)
def test_truncated_files_on_which_meshio_never_ends(tmp_path, suffix, part):
    path = tmp_path / f"m{suffix}"
    rf.Mesh(*box_tets(1, 1, 1)).write(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(rf.FileFormatError, match=r"damaged, .* 1 s of processor time"):
        meshio_files.read_apart(path, 1, wait=3600)  # for a second of a busy processor


def test_lengths_beyond_all_memory_are_refused(tmp_path):
    path = tmp_path / "m.ele"
    rf.Mesh(*box_tets(1, 1, 1)).write(path)
    nodes = (tmp_path / "m.node").read_text()
    (tmp_path / "m.node").write_text(nodes.replace("\n8 3", "\n800000000000 3"))
    with pytest.raises(rf.FileFormatError, match="does not fit into memory"):
        rf.read_mesh(path)


@pytest.mark.parametrize("suffix", [".vtu", ".msh", ".avs"])
def test_half_a_file_by_the_public_reader(tmp_path, suffix, capfd):
    path = tmp_path / f"m{suffix}"
    rf.Mesh(*box_hexes(2, 1, 1)).write(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(rf.FileFormatError, match="is damaged or of another format"):
        rf.read_mesh(path)
    assert capfd.readouterr() == ("", "")


def test_a_reader_that_breaks_down(tmp_path, monkeypatch):
    path = tmp_path / "m.vtu"
    rf.Mesh(*box_tets(1, 1, 1)).write(path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(rf.FileFormatError, match="its reader ended with status 1"):
        rf.read_mesh(path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(rf.FileFormatError, match="no process could be started"):
        rf.read_mesh(path)


def test_indices_beyond_all_integers_are_refused(tmp_path):
    (tmp_path / "m.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 {10**30}\n")
    with pytest.raises(rf.FileFormatError, match="is damaged"):
        rf.read_surface(tmp_path / "m.obj")
    (tmp_path / "m.bou").write_text(f"1, {10**30}\n")
    with pytest.raises(rf.FileFormatError, match=r"line 1: 10{30} is far out of range"):
        rf.read_fixed(tmp_path / "m.bou")


@pytest.mark.parametrize("text", ["{'descr': (", "{'a'", "9" * 60, "(" * 60, "{'shape': (10**9,)}"])
def test_malformed_headers_of_records_are_refused(tmp_path, text):
    rf.HapticRecords(np.zeros(2, RECORD)).save(tmp_path / "r.npy")
    data = bytearray((tmp_path / "r.npy").read_bytes())
    data[10 : 10 + len(text)] = text.encode("ascii")
    (tmp_path / "r.npy").write_bytes(data)
    with pytest.raises(rf.FileFormatError, match="does not hold records"):
        rf.HapticRecords.load(tmp_path / "r.npy")


def test_the_parser_of_a_damaged_header_gives_no_warning(tmp_path):
    rf.HapticRecords(np.zeros(2, RECORD)).save(tmp_path / "r.npy")
    data = (tmp_path / "r.npy").read_bytes()
    (tmp_path / "r.npy").write_bytes(data.replace(b"'descr'", rb"'\8scr'", 1))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        with pytest.raises(rf.FileFormatError, match="does not hold records"):
            rf.HapticRecords.load(tmp_path / "r.npy")
        assert not given
        # and others do afterwards
        warnings.warn("later", SyntaxWarning, stacklevel=1)
    assert len(given) == 1


def test_missing_records_are_reported(tmp_path):
    rf.HapticRecords(np.zeros(2, RECORD)).save(tmp_path / "r.npy")
    data = (tmp_path / "r.npy").read_bytes()
    (tmp_path / "r.npy").write_bytes(data.replace(b"(2,)", b"(99999999999,)", 1))
    with pytest.raises(
        rf.FileFormatError, match="truncated: its header announces 99999999999 records"
    ):
        rf.HapticRecords.load(tmp_path / "r.npy")


@pytest.mark.parametrize(
    "suffix", [*SURFACES, ".veg", ".bou", ".vtu", ".msh", ".inp", ".node", ".ele"]
)
def test_files_larger_than_free_memory(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"m{suffix}"
    for name in (path, tmp_path / "m.node", tmp_path / "m.ele"):
        name.write_text("1\n")
        os.truncate(name, 10**6)
    read = {".bou": rf.read_fixed}.get(
        suffix, rf.read_surface if suffix in SURFACES else rf.read_mesh
    )
    monkeypatch.setattr(reading, "available", lambda: 999_999.0)
    with pytest.raises(rf.FileFormatError, match="it has 1000000 bytes, and 999999 bytes of mem"):
        read(path)


@pytest.mark.parametrize(
    ("suffix", "place"),
    [
        (".obj", "io.surface_files._from_obj"), (".ply", "io.surface_files._in_ascii"),
        (".stl", "io.surface_files._in_ascii"), (".veg", "io.veg_files._table"),
        (".bou", "io.text_lines._lines_of"), (".inp", "io.meshio_files.read_apart"),
    ],
)  # fmt: skip
def test_memory_that_runs_out_while_a_file_is_read(tmp_path, monkeypatch, suffix, place):
    path = tmp_path / f"m{suffix}"
    mesh = rf.Mesh(*box_tets(1, 1, 1))
    read = rf.read_mesh
    if suffix in SURFACES:
        mesh.surface().write(path)
        read = rf.read_surface
    elif suffix == ".bou":
        path.write_text("1\n")
        read = rf.read_fixed
    else:
        mesh.write(path)

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(f"reducedfem.{place}", fail)
    with pytest.raises(
        rf.FileFormatError, match=rf"memory: it has {path.stat().st_size} bytes, an"
    ):
        read(path)


@pytest.mark.parametrize(
    ("text", "line"), [("v 0 0 0\nv 1 0 {}\n", 2), ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 {}\n", 4)]
)
def test_text_in_place_of_numbers_is_refused(tmp_path, text, line):
    """An array of words takes as much for each as for the longest."""
    (tmp_path / "m.obj").write_text(text.format("0" * 999 + "3"))
    with pytest.raises(rf.FileFormatError, match=f"line {line}: a word of 1000 bytes, .* 64 at mo"):
        rf.read_surface(tmp_path / "m.obj")


def test_the_time_limit_of_a_reader_is_at_most_a_day(tmp_path, monkeypatch):
    path = tmp_path / "m.vtu"
    given = []

    def run(*_, timeout, **__):
        given.append(timeout)
        raise subprocess.TimeoutExpired("meshio", timeout)

    path.write_text("1\n")
    os.truncate(path, 40 * 10**9)  # a hole
    monkeypatch.setattr(reading, "available", lambda: 0.0)  # unknown
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(rf.FileFormatError, match="86410 s of wall-clock time"):
        rf.read_mesh(path)
    assert given == [86410]


def surface_texts(surface):
    """Return files of a surface in text: suffix, contents."""
    rows = [f"{x!r} {y!r} {z!r}" for x, y, z in surface.vertices.tolist()]
    rows += [f"3 {a} {b} {c}" for a, b, c in surface.triangles.tolist()]
    rows = "\n".join(rows) + "\n"
    v, t = surface.n_vertices, surface.n_triangles
    header = (
        f"ply\nformat ascii 1.0\nelement vertex {v}\nproperty double x\nproperty double y\n"
        f"property double z\nelement face {t}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in corners)
        + "endloop\nendfacet\n"
        for corners in surface.vertices[surface.triangles].tolist()
    )
    one = f"solid a\n{facets}endsolid a\n"
    return {
        ".off": f"OFF\n# of a ball\n{v} {t} 0\n\n{rows}",
        ".ply": header + rows,
        ".stl": 2 * one,
    }


@pytest.mark.parametrize("suffix", [".off", ".ply", ".stl", "binary.ply", "binary.stl"])
def test_truncated_surfaces(tmp_path, suffix):
    """Any cut is noticed, except of blanks at the end."""
    surface = rf.Mesh(*box_tets(3, 3, 3)).surface()
    path = tmp_path / f"m{suffix}"
    if suffix.startswith("binary"):
        surface.write(path)
    else:
        path.write_text(surface_texts(surface)[suffix])
    data = path.read_bytes()
    assert rf.read_surface(path).n_triangles == surface.n_triangles * (1 + (suffix == ".stl"))
    lengths = [int(len(data) * part) for part in np.linspace(0.02, 0.99, 30)]
    lengths += range(len(data) - 30, len(data) - (3 if suffix in (".stl", ".off", ".ply") else 0))
    for length in lengths:
        path.write_bytes(data[:length])
        try:
            found = rf.read_surface(path)
        except (rf.FileFormatError, rf.MeshError):
            continue
        # a number that lost digits is another number
        assert suffix in (".off", ".ply"), length
        assert found.n_triangles == surface.n_triangles, length
        assert data[:length].count(b"\n") == data.count(b"\n") - 1, length


@pytest.mark.parametrize(
    ("suffix", "before", "after", "message"),
    [
        (".off", " 108 0\n", " 100000000000 0\n", "announces 100000000000 faces, but has 108"),
        (".off", "\n56 108", "\n-1 108", "announces -1 vertices, but has 164"),
        (".off", "\n56 108", "\n900 108", "announces 900 vertices, but has 164"),
        (".off", "\n3 ", "\n4 ", "face 1 announces 4 vertices, but has 3"),
        (
            ".ply",
            "face 108",
            "face 100000000000",
            r"announces 10{11} lines of face, but 108 ",
        ),
        (".ply", "vertex 56", "vertex 165", "announces 165 lines of vertex, but 164 follow"),
        (".stl", "endsolid a\nsolid a", "solid a", "2 solids begin and 1 end"),
    ],
)
def test_surfaces_with_too_large_counts_are_refused(tmp_path, suffix, before, after, message):
    text = surface_texts(rf.Mesh(*box_tets(3, 3, 3)).surface())[suffix]
    assert before in text
    path = tmp_path / f"m{suffix}"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(rf.FileFormatError, match=message):
        rf.read_surface(path)
