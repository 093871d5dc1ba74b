"""Pointshells as values; how they are made: test_pointshell_repulsion.py and others."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import samples
from reducedfem.io import shell_files, tensors

X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
N = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0]])


def test_a_shell_keeps_what_it_is_given():
    points, normals = X.copy(), N.copy()
    shell = rf.Pointshell(points, normals, [0, 0, 1, 2], [1, 2, 3, 4])
    points[:], normals[:] = 7.0, 7.0
    np.testing.assert_array_equal(shell.points, X)
    np.testing.assert_array_equal(shell.normals, N)
    np.testing.assert_array_equal(shell.levels, [0, 0, 1, 2])
    np.testing.assert_array_equal(shell.areas, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(shell.level_counts, [2, 1, 1])
    assert (shell.n_points, shell.n_levels) == (4, 3)
    assert repr(shell) == "<Pointshell: 4 points, 3 levels (2, 1, 1)>"
    for array in (shell.points, shell.normals, shell.levels, shell.areas):
        assert not array.flags.writeable


def test_defaults():
    shell = rf.Pointshell(X.tolist(), N.tolist())
    np.testing.assert_array_equal(shell.levels, [0, 0, 0, 0])
    assert shell.areas is None
    assert repr(shell) == "<Pointshell: 4 points, 1 level (4)>"


def test_points_are_sorted_by_level_and_keep_their_order_within():
    shell = rf.Pointshell(X, N, [1, 0, 1, 0], [1, 2, 3, 4])
    order = [1, 3, 0, 2]
    np.testing.assert_array_equal(shell.points, X[order])
    np.testing.assert_array_equal(shell.normals, N[order])
    np.testing.assert_array_equal(shell.levels, [0, 0, 1, 1])
    np.testing.assert_array_equal(shell.areas, [2.0, 4.0, 1.0, 3.0])


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies(clone):
    shell = rf.Pointshell(X, N, [1, 0, 1, 0], [1, 2, 3, 4])
    other = clone(shell)
    for name in ("points", "normals", "levels", "areas"):
        np.testing.assert_array_equal(getattr(other, name), getattr(shell, name))
    assert dict(other.provenance) == {"method": "given points"}


def test_levels_up_to_one():
    """A shell of their own, with the upper levels of the whole tree."""
    surface = samples.load("spoon")
    whole = rf.Pointshell.from_surface(surface, 600, 4, areas=True)
    tree = rf.PointTree(whole)
    for level in range(4):
        upper = whole.up_to(level)
        n = int((whole.levels <= level).sum())
        assert (upper.n_points, upper.n_levels) == (n, level + 1)
        for name in ("points", "normals", "levels", "areas"):
            np.testing.assert_array_equal(getattr(upper, name), getattr(whole, name)[:n])
            assert not getattr(upper, name).flags.writeable
        assert upper.provenance == whole.provenance
        of_upper = rf.PointTree(upper)
        np.testing.assert_array_equal(of_upper.node_counts, tree.node_counts[: level + 1])
        np.testing.assert_array_equal(of_upper.parents, tree.parents[:n])
    field = rf.SphereField(whole.points[0], 0.03)
    for weighted in (False, True):
        contact = rf.PenaltyContact(tree, field, 100.0, None, area_weights=weighted)
        own = rf.PenaltyContact(
            rf.PointTree(whole.up_to(2)), field, 100.0, None, area_weights=weighted
        )
        there = (0.001, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        above = contact.evaluate(*there, treeless=True, level=2)
        assert above.touching > 10
        np.testing.assert_allclose(own.evaluate(*there).force, above.force, rtol=1e-12)
    bare = rf.Pointshell(X, N, [0, 0, 1, 2])
    assert bare.up_to(1).areas is None
    assert bare.up_to(np.int64(0)).n_points == 2
    for level, error in ((3, rf.InputError), (-1, rf.InputError), (1.0, rf.InputTypeError)):
        with pytest.raises(error, match="level must be (between 0 and 2, got|an int)"):
            bare.up_to(level)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X[:0], N[:0]), rf.InputError, "points has no rows; a pointshell needs one point"),
        ((X[:, :2], N), rf.InputError, r"points must have shape \(any, 3\), got \(4, 2\)"),
        ((X, N[:3]), rf.InputError, r"normals must have shape \(4, 3\), got \(3, 3\)"),
        ((X * np.nan, N), rf.InputError, r"points\[0, 0\] is nan"),
        ((X, N * [1, 1, np.nan]), rf.InputError, r"normals\[0, 2\] is nan"),
        ((X, N * [[1], [1], [2], [1]]), rf.InputError, r"normals\[2\] has length 2; .*\(divide"),
        ((X, N * 0), rf.InputError, r"normals\[0\] has length 0"),
        (("x", N), rf.InputTypeError, "points must be an array of real numbers, got str"),
        ((X, N, [0, 0, 0]), rf.InputError, r"levels must have shape \(4,\), got \(3,\)"),
        ((X, N, [0.0, 0, 0, 0]), rf.InputTypeError, "levels must be integers, got dtype float64"),
        ((X, N, [[0], [1, 2]]), rf.InputTypeError, "levels must be integers, got a list of uneven"),
        ((X, N, [0, -1, 0, 0]), rf.InputError, r"levels\[1\] is -1; levels are counted from 0"),
        ((X, N, [0, 0, 2, 2]), rf.InputError, "no point of level 1, but some of level 2"),
        ((X, N, [1, 1, 2, 2]), rf.InputError, "no point of level 0, but some of level 1"),
        ((X, N, None, [1, 2, 3]), rf.InputError, r"areas must have shape \(4,\)"),
        ((X, N, None, [1, 2, -3, 4]), rf.InputError, r"areas\[2\] is -3; areas must not"),
        ((X, N, None, [1, 2, np.inf, 4]), rf.InputError, r"areas\[2\] is inf"),
    ],
)  # fmt: skip
def test_wrong_shells_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        rf.Pointshell(*arguments)


# --- files ----------------------------------------------------------------------------


@pytest.mark.parametrize("areas", [None, [1, 2, 3, 4]])
def test_saved_and_loaded(areas, tmp_path):
    shell = rf.Pointshell(X / 3, N, [1, 0, 1, 0], areas)
    path = tmp_path / "shell.safetensors"
    shell.save(path)
    same = rf.load(path)
    assert isinstance(same, rf.Pointshell)
    for name in ("points", "normals", "levels"):
        np.testing.assert_array_equal(getattr(same, name), getattr(shell, name))
    if areas is None:
        assert same.areas is None
    else:
        np.testing.assert_array_equal(same.areas, shell.areas)
    same.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = safetensors.load_file(path)
    np.testing.assert_array_equal(arrays["points"], shell.points)
    assert set(arrays) == {"points", "normals", "levels"} | ({"areas"} if areas else set())


def test_damaged_files_are_refused(tmp_path):
    """Every byte counts; wrong contents are refused even with a checksum that belongs to them."""
    shell, path = rf.Pointshell(X, N, [0, 0, 1, 1], [1, 2, 3, 4]), tmp_path / "shell.safetensors"
    shell.save(path)
    data = path.read_bytes()
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(rf.FileFormatError):
            rf.load(path)
    for length in (0, 8, 100, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(rf.FileFormatError):
            rf.load(path)
    arrays = {"points": X, "normals": N, "levels": np.array([0, 0, 1, 1])}
    texts = {"units": "SI", "counts": '{"levels":2,"points":4}'}
    for changes, message in (
        ({}, None),
        ({"normals": 2 * N}, r"damaged: normals\[0\] has length 2"),
        ({"points": X * np.nan}, r"damaged: points\[0, 0\] is nan"),
        ({"levels": np.array([0, 1, 0, 1])}, "its levels do not ascend"),
        ({"levels": np.array([0, 0, 2, 2])}, "no point of level 1"),
        ({"levels": np.array([0, 0, 0, 0])}, "its entry 'counts' does not match its arrays"),
        ({"normals": N[:3]}, r"'normals' has shape \(3, 3\); it must be \(4, 3\)"),
        ({"points": X[0]}, r"'points' has shape \(3,\); it must have two axes"),
        ({"areas": np.ones((4, 1))}, r"'areas' has shape \(4, 1\)"),
        ({"other": X}, None),
    ):
        path.write_bytes(tensors.write(shell_files._LAYOUT, arrays | changes, texts))
        if message is None:
            assert rf.load(path).n_points == 4
        else:
            with pytest.raises(rf.FileFormatError, match=message):
                rf.load(path)
