"""The face of contact: what is easily got wrong is refused by name, copies work, files tell."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import voxmap
from shapes import box_hexes

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def cube(side: float = 0.1) -> rf.Surface:
    corners = side * np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
    quads = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    return rf.Surface(corners, np.vstack([quads[:, :3], quads[:, [0, 2, 3]]]))


@pytest.fixture(scope="module")
def field():
    return rf.DistanceField.from_surface(cube(), 16)


@pytest.fixture(scope="module")
def shell(field):
    return rf.Pointshell.from_field(field, 300, 3, areas=True)


@pytest.fixture(scope="module")
def model():
    nodes, elements = box_hexes(2, 2, 4, (0.1, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1000.0), nodes[:, 2] < 1e-9)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))


# --- what is refused -----------------------------------------------------------------------


def test_points_that_are_none(field, model):
    """A ragged list, a text, an object: the argument is named everywhere."""
    deformed = rf.DeformedField(field, model, 8)
    voxels = rf.Voxmap.from_surface(cube(), 8)
    ragged = [[0.0, 0.0, 0.0], [0.0, 0.0]]
    for ask in (field.distance, field.gradient, deformed.distance, deformed.nearest, voxels.at):
        with pytest.raises(rf.InputTypeError, match="points must be an array .* got list"):
            ask(ragged)
        with pytest.raises(rf.InputTypeError, match="points must be an array .* got str"):
            ask("here")
        with pytest.raises(rf.InputTypeError, match="points must be an array .* got NoneType"):
            ask(None)
        with pytest.raises(rf.InputTypeError, match="DistanceField; pass its attribute .values"):
            ask(field)
        with pytest.raises(rf.InputError, match=r"points must have shape \(any, 3\), got \(2,\)"):
            ask([0.0, 0.0])
        with pytest.raises(rf.InputError, match=r"points\[1, 2\] is nan"):
            ask([[0.0] * 3, [0.0, 0.0, np.nan]])
    with pytest.raises(rf.InputTypeError, match="values must be integers, got a list of uneven"):
        rf.Voxmap([[[1]], [[1, 2]]], [0, 0, 0], 1.0)


def test_one_point_gives_one_answer(field, model):
    deformed = rf.DeformedField(field, model, 8)
    voxels = rf.Voxmap.from_surface(cube(), 8)
    place = [0.05, 0.04, 0.03]
    for ask in (field.distance, deformed.distance, deformed.nearest, voxels.at):
        assert ask(place).shape == ()
        assert ask(place) == ask([place])[0]
    assert voxels.at(place) == 1


def test_proxies_and_labels_that_are_none(field, model):
    for proxies in (None, "40", cube(), 40.0):
        with pytest.raises(
            rf.InputTypeError, match=r"proxies must be a number of .*array of points"
        ):
            rf.DeformedField(field, model, proxies)
    labels = np.zeros(8, dtype=int)
    labels[5] = 8
    with pytest.raises(rf.InputError, match=r"must be 0 to 7, got domains\[5\] = 8"):
        rf.DeformedField(field, model, 8, domains=labels)
    labels[3] = -1
    with pytest.raises(rf.InputError, match=r"got domains\[3\] = -1"):
        rf.DeformedField(field, model, 8, domains=labels)


def test_a_field_too_coarse_for_a_shell():
    # of no meaning for points on the triangles themselves
    shell = rf.Pointshell.from_surface(cube(), 40, 1, resolution=1)
    outside = np.linalg.norm(np.maximum(0, np.abs(shell.points - 0.05) - 0.05), axis=1)
    assert outside.max() < 1e-15
    with pytest.raises(rf.InputError, match="no surface of the value 1e-09"):
        rf.Pointshell.from_surface(cube(), 40, 1, resolution=3, offset=1e-9)


def test_a_shell_far_around_its_surface():
    """An offset of ten times the size: the field is made with the room that it needs."""
    shell = rf.Pointshell.from_surface(cube(), 100, 1, resolution=32, offset=1.0)
    # from the cube, the rest is the field's resolution: a voxel is 0.09 m
    outside = np.linalg.norm(np.maximum(0, np.abs(shell.points - 0.05) - 0.05), axis=1)
    assert np.abs(outside - 1.0).max() < 0.045


def test_a_voxmap_that_does_not_fit(monkeypatch):
    # 64^3 / 2 bytes is more than this
    monkeypatch.setattr(voxmap, "available", lambda: 131_000.0)
    with pytest.raises(MemoryError, match=r"64 x 64 x 64 voxels needs 0\.0 GB .* lower resolution"):
        rf.Voxmap.from_surface(cube(), 64)
    monkeypatch.setattr(voxmap, "available", lambda: 132_000.0)
    assert rf.Voxmap.from_surface(cube(), 64).shape == (64, 64, 64)
    monkeypatch.setattr(voxmap, "available", lambda: 0.0)
    assert rf.Voxmap.from_surface(cube(), 64).shape == (64, 64, 64)
    # what is out of range is said to be that
    monkeypatch.setattr(voxmap, "available", lambda: 1.0)
    with pytest.raises(rf.InputError, match="at most 2048, got 2049"):
        rf.Voxmap.from_surface(cube(), 2049)


def test_files_of_others_name_their_readers(tmp_path):
    for name, reader in (("a.obj", "read_surface"), ("b.STL", "read_surface"), ("c.veg", "read_m")):
        (tmp_path / name).write_text("# something\n")
        with pytest.raises(rf.FileFormatError, match=f"no safetensors file; {reader}"):
            rf.load(tmp_path / name)
        with pytest.raises(rf.FileFormatError, match="No such file or directory$"):
            rf.load(tmp_path / ("no" + name))


# --- copies --------------------------------------------------------------------------------


CLONES = (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))


@pytest.mark.parametrize("clone", CLONES)
def test_copies(field, shell, model, clone):
    """Copies give the same bits."""
    rng = np.random.default_rng(0)
    places, q = rng.uniform(-0.05, 0.15, (50, 3)), np.array([0.01, -0.02, 0.005])
    for tree in (rf.PointTree(shell), rf.PointTree(shell, model)):
        again = clone(tree)
        own = None if tree.r == 0 else q
        np.testing.assert_array_equal(again.positions(own), tree.positions(own))
        np.testing.assert_array_equal(again.radii(1, own), tree.radii(1, own))
        assert repr(again) == repr(tree)
    labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    for deformed in (
        rf.DeformedField(field, model, 10, 3, safety=2.0),
        rf.DeformedField(field, model, 10, domains=labels, overlap=0.02),
        rf.DeformedField(field, model, domains=[(field, shell.points[:9])]),
    ):
        again = clone(deformed)
        np.testing.assert_array_equal(again.distance(places, q), deformed.distance(places, q))
        np.testing.assert_array_equal(again.proxies, deformed.proxies)
        assert (again.k, again.safety, again.overlap) == (
            deformed.k, deformed.safety, deformed.overlap,
        )  # fmt: skip
        assert (again.labels is None) == (deformed.labels is None)
        if deformed.labels is not None:
            np.testing.assert_array_equal(again.labels, labels)
            assert not again.labels.flags.writeable
        # at rest without coordinates
        np.testing.assert_array_equal(deformed.distance(places), deformed.distance(places, [0] * 3))
        np.testing.assert_array_equal(deformed.positions(), deformed.positions([0] * 3))
        assert deformed.flat() == 0
    on_voxels = rf.VoxmapContact(shell, rf.Voxmap.from_surface(cube(), 8), 100.0)
    again = clone(on_voxels)
    pose = (0.05, 0.0, 0.0), IDENTITY
    assert on_voxels.evaluate(*pose).touching > 0
    np.testing.assert_array_equal(again.evaluate(*pose).force, on_voxels.evaluate(*pose).force)
    assert again.stiffness == on_voxels.stiffness == 100.0


@pytest.mark.parametrize("clone", CLONES)
def test_a_copied_contact_begins_anew(field, shell, clone):
    """It has all options and nothing of the memory: what one does the other does not see."""
    options = {
        "stiffness": 50.0, "warm_nodes": 200, "budget_us": None, "cold_ratio": 0.5,
        "max_points": 7, "area_weights": True, "temporal_coherence": True,
        "grasp": (0.01, 0.02, 0.03), "gradient_direction": "normal",
    }  # fmt: skip
    tree = rf.PointTree(shell)
    contact = rf.PenaltyContact(tree, field, **options)
    assert options == {**contact.options, "grasp": tuple(contact.options["grasp"])}
    with pytest.raises(TypeError):
        contact.options["stiffness"] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        contact.options["grasp"][0] = 1.0
    near, far = ((0.05, 0.05, 0.02), IDENTITY), ((1.0, 1.0, 1.0), IDENTITY)
    contact.evaluate(*far)
    contact.evaluate(*far)
    again = clone(contact)
    fresh = rf.PenaltyContact(tree, field, **contact.options)
    for one in (fresh, again):
        assert options == {**one.options, "grasp": tuple(one.options["grasp"])}
    first, same = fresh.evaluate(*near), again.evaluate(*near)
    np.testing.assert_array_equal(same.force, first.force)
    np.testing.assert_array_equal(same.gradient, first.gradient)
    assert (same.level, same.visited, same.skipped) == (first.level, first.visited, first.skipped)
    assert first.touching > 0
    defaults = rf.PenaltyContact(tree, field, 1.0).options
    assert defaults["max_points"] == 10
    assert rf.PenaltyContact(tree, field, 1.0, max_points=None).options["max_points"] is None
    assert rf.PenaltyContact(tree, field, 1.0, budget_us=20).options["budget_us"] == 20.0


def test_uniformities_are_compared_as_objects(field, shell):
    one, other = shell.uniformity(field), shell.uniformity(field)
    assert one == one
    assert one != other
    assert len({one, other}) == 2


def test_one_of_each():
    """Words agree with numbers."""
    shell = rf.Pointshell([[0, 0, 0]], [[0, 0, 1]])
    assert repr(shell) == "<Pointshell: 1 point, 1 level (1)>"
    assert repr(rf.PointTree(shell)) == "<PointTree: 1 point, 1 level, rigid>"
