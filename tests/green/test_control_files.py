"""Files of control elements: copies, what info prints, damaged and hostile files."""

from __future__ import annotations

import io
import pickle
import re
import shutil

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.cli import main
from reducedfem.io import handle_files
from shapes import box_hexes


def make(order=1, dtype="float64", fixed=False):
    nodes, elements = box_hexes(4, 1, 1, (0.4, 0.1, 0.1))
    left, right = nodes[:, 0] < 1e-9, nodes[:, 0] > 0.4 - 1e-9
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0), left if fixed else None)
    sets = [right] if fixed else [left, right]
    return rf.ControlElements(solid, sets, order=order, dtype=dtype)


@pytest.mark.parametrize(
    ("order", "dtype", "fixed"), [(1, "float64", True), (2, "float32", False), (3, "float64", True)]
)
def test_files_give_the_same_control_elements(tmp_path, order, dtype, fixed):
    made = make(order, dtype, fixed)
    made.save(tmp_path / "handles")
    same = rf.load(tmp_path / "handles", rf.ControlElements)
    assert same.solid is None
    assert repr(same) == repr(made)
    turn = [np.cos(0.05), 0.0, np.sin(0.05), 0.0]
    c = np.zeros((len(made.handles), 12))
    c[-1] = made.parameters(len(c) - 1, made.means[-1] + [0.0, 0.01, 0.0], turn)
    np.testing.assert_array_equal(same.parameters(0), made.parameters(0))
    for rotation in ("extract", None):
        np.testing.assert_array_equal(
            same.displacement(c, rotation), made.displacement(c, rotation)
        )
        np.testing.assert_array_equal(same.forces(c, rotation), made.forces(c, rotation))
    for name in ("matrix", "means", "nodes", "positions"):
        np.testing.assert_array_equal(getattr(same, name), getattr(made, name))
    np.testing.assert_allclose(made.positions, made.solid.mesh.nodes[made.nodes], atol=1e-16)
    for one, other in zip(same.handles, made.handles, strict=True):
        np.testing.assert_array_equal(one, other)
    if order > 1:
        assert same.radius(c) == made.radius(c)
    with pytest.raises(rf.InputError, match="terms needs the solid"):
        same.terms(c)
    again = pickle.loads(pickle.dumps(same))
    np.testing.assert_array_equal(again.displacement(c), made.displacement(c))
    same.save(tmp_path / "again")
    one, other = (tmp_path / f"{name}.safetensors" for name in ("handles", "again"))
    assert one.read_bytes() == other.read_bytes()
    with pytest.raises(rf.FileFormatError, match="holds no reducedfem model; its format is"):
        rf.ReducedSolid.load(one)


def test_info_describes_them(tmp_path, capsys):
    make(2, "float32").save(tmp_path / "h")
    assert main(["info", str(tmp_path / "h")]) == 0
    out = capsys.readouterr().out
    for text in (
        "h.safetensors: control elements",
        "handles +2, with 4, 4 nodes",
        "nodes of the surface +20",
        "order +2, rank 12 of 24",
        r"fields +float32 \(17.3 kB\)",
        r"bounding box +\(0, 0, 0\) to \(0.4, 0.1, 0.1\) m",
    ):
        assert re.search(text, out), text
    shutil.copy(tmp_path / "h.safetensors", tmp_path / "bad")
    with open(tmp_path / "bad", "r+b") as file:
        file.truncate(5000)
    assert main(["info", str(tmp_path / "bad")]) == 1
    assert "not a usable control elements file: it is truncated" in capsys.readouterr().err


def read(tmp_path, made, numbers=None, **arrays):
    """Read a file with changed contents."""
    path = tmp_path / "changed.safetensors"
    handle_files.save(path, made._parts() | arrays, made._numbers() | (numbers or {}))
    data = path.read_bytes()
    return rf.ControlElements._read(io.BytesIO(data), len(data), "changed")


def test_contents_that_do_not_belong_together_are_refused(tmp_path):
    made = make(2)
    parts = made._parts()
    assert read(tmp_path, made).order == 2

    def refused(text, numbers=None, **arrays):
        with pytest.raises(rf.FileFormatError, match=text):
            read(tmp_path, made, numbers, **arrays)

    refused("'nodes' does not ascend", nodes=parts["nodes"][::-1].copy())
    refused("nodes that are not between 0 and 3", {"mesh_nodes": 4})
    refused("not an integer from 0 on", {"order": -1})
    refused("n_surface or order is out of range", {"order": 4})
    refused("rank 99 of 24", {"rank": 99})
    refused(r"fields must have shape|fields", {"order": 3})
    refused("must have shape|has shape", {"order": 1})
    refused("'handle_ptr' does not ascend", handle_ptr=np.array([0, 9, 8]))
    refused("'counts' does not agree", counts=np.array([4, 5]))
    refused(r"'matrix' has shape \(24, 23\)", matrix=parts["matrix"][:, 1:])
    refused(r"'counts' has shape \(1, 2\); it must have one axis", counts=parts["counts"][None])
    refused("3 handles, 2 groups", handle_ptr=np.array([0, 2, 4, 8]))
    refused("not finite", means=np.full((2, 3), np.inf))
    refused("'gauge'", gauge=parts["gauge"][1:, 1:])
    # values of any size are read, and refused or used without harm
    for scale in (0.0, -1.0, 1e300):
        for name in (
            "moments",
            "means",
            "matrix",
            "to_relative",
            "gauge",
            "product_forces",
            "arms",
        ):
            wild = read(tmp_path, made, **{name: scale * parts[name]})
            try:
                wild.displacement(np.full(24, 0.01), None)
                wild.forces(wild.parameters(0).repeat(2), None)
            except rf.ReducedFEMError:
                pass


def test_any_byte_of_a_file_may_change(tmp_path, rng):
    made = make()
    made.save(tmp_path / "h")
    data = bytearray((tmp_path / "h.safetensors").read_bytes())
    for at in rng.integers(0, len(data), 60):
        changed = data.copy()
        changed[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(rf.FileFormatError):
            rf.ControlElements._read(io.BytesIO(bytes(changed)), len(changed), "changed")
    for size in rng.integers(0, len(data), 20):
        with pytest.raises(rf.FileFormatError):
            rf.ControlElements._read(io.BytesIO(bytes(data[:size])), int(size), "cut")
