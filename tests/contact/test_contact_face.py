"""The face of contact: what is easily got wrong is refused by name, copies work, files tell."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import signal
import threading

import numpy as np
import pytest

import reducedfem as rf
from core_contacts import SETTINGS
from reducedfem import _core
from reducedfem.contact import voxmap
from shapes import solid_box

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
    solid = solid_box((2, 2, 4), (0.1, 0.1, 0.1), rf.StVK(1e6, 0.3, 1000.0), held=2)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))


# --- what is refused -----------------------------------------------------------------------


def test_wrong_points_are_refused(field, model):
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


def test_wrong_proxies_and_labels_are_refused(field, model):
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
    # values out of range are reported as such
    monkeypatch.setattr(voxmap, "available", lambda: 1.0)
    with pytest.raises(rf.InputError, match="at most 2048, got 2049"):
        rf.Voxmap.from_surface(cube(), 2049)


def test_files_of_others_name_their_readers(tmp_path):
    for name, reader in (("a.obj", "read_surface"), ("b.STL", "read_surface"), ("c.veg", "read_m")):
        (tmp_path / name).write_text("# something\n")
        with pytest.raises(rf.FileFormatError, match=f"not a safetensors file; {reader}"):
            rf.load(tmp_path / name)
        with pytest.raises(rf.FileFormatError, match="No such file or directory$"):
            rf.load(tmp_path / ("no" + name))


def test_load_returns_the_requested_class(field, shell, model, tmp_path):
    """The requested class is returned, and no other."""
    saved = {"model": model, "distance field": field, "pointshell": shell}
    for name, thing in saved.items():
        thing.save(tmp_path / name)
        assert type(rf.load(tmp_path / name)) is type(thing)
        assert type(rf.load(tmp_path / name, type(thing))) is type(thing)
    for name in saved:
        for what, other in saved.items():
            if what != name:
                with pytest.raises(rf.FileFormatError, match=f"no reducedfem {what}; its format"):
                    rf.load(tmp_path / name, type(other))
    for wrong, named in ((rf.Mesh, "Mesh"), ("Pointshell", "'Pointshell'"), ([], r"\[\]")):
        with pytest.raises(rf.InputTypeError, match=f"kind must be .* or None, got {named}"):
            rf.load(tmp_path / "model", wrong)
    for suffix, reader in (
        (".obj", "read_surface"), (".vtk", "read_mesh"), (".inp", "read_mesh"),
        (".npy", "HapticRecords.load"), (".csv", "ReplayDevice.from_csv"),
    ):  # fmt: skip
        (tmp_path / f"a{suffix}").write_text("v 0 0 0\n")
        with pytest.raises(rf.FileFormatError, match=rf"; {reader}.* reads files \{suffix}$"):
            rf.load(tmp_path / f"a{suffix}", rf.ReducedSolid)


def test_arguments_of_a_similar_type_are_refused(field, shell, model):
    """The message shows how to make the missing object."""
    tree, surface = rf.PointTree(shell), cube()
    bare = rf.PointTree(rf.Pointshell(shell.points, shell.normals))
    for work, message in (
        (lambda: rf.PenaltyContact(shell, field, 1.0), r"tree .* got Pointshell; .*PointTree\(she"),
        (lambda: rf.PenaltyContact(field, tree, 1.0), "tree must be a PointTree, got Dist"),
        (
            lambda: rf.PenaltyContact(tree, surface, 1.0),
            "field .* got Surface; .* DistanceF",
        ),
        (
            lambda: rf.PenaltyContact(tree, field, 1.0, np.inf),
            "must be an int, got float; None: all lev",
        ),
        (lambda: rf.PenaltyContact(tree, field, 1.0, -1), "None: all levels., got -1"),
        (lambda: rf.PenaltyContact(bare, field, 1.0, area_weights=True), "make it with areas=True"),
        (lambda: rf.PointTree(surface), "shell .* got Surface; make one with Pointshell.from_su"),
        (lambda: rf.PointTree(shell, model.mesh), r"reduced .* or None, got Mesh; .* reduce\(sol"),
        (lambda: rf.VoxmapContact(shell, surface, 1.0), "voxmap .* Voxmap.from_surface"),
        (lambda: rf.Pointshell.from_surface("a.obj"), r"got str; make one .* read_surface\(path\)"),
        (
            lambda: shell.uniformity(model.mesh),
            r"surface must be a Surface or a Field, got Mesh; .* mesh\.surface\(\)",
        ),
    ):
        with pytest.raises(rf.ReducedFEMError, match=message):
            work()


def test_rotations_of_scipy(field, shell, model):
    """SciPy's rotations are recognised by their type; their quaternions have another order."""
    turned = pytest.importorskip("scipy.spatial.transform").Rotation.from_rotvec([0.3, 0.2, -0.4])
    contact = rf.PenaltyContact(rf.PointTree(shell), field, 50.0)
    for ask in (
        lambda: contact.evaluate((0, 0, 0), turned),
        lambda: contact.evaluate_many([(0, 0, 0)], turned),
        lambda: rf.VoxmapContact(shell, rf.Voxmap.from_surface(cube(), 8), 1.0).evaluate(
            (0, 0, 0), turned
        ),
    ):
        with pytest.raises(rf.InputTypeError, match=r"order w, x, y, z.*Rotation.*np\.roll\("):
            ask()
    quaternion = np.roll(turned.as_quat(), 1, axis=-1)
    out = contact.evaluate((0.02, 0.01, 0.03), quaternion, contacts=True)
    assert out.touching > 10
    local = turned.inv().apply(out.contacts.positions - (0.02, 0.01, 0.03))
    np.testing.assert_allclose(field.distance(local), out.contacts.distances, atol=1e-12)


def test_numbers_in_any_form(field, shell):
    """Lists, other precisions, strides and orders: the same numbers give the same bits."""
    contact = rf.PenaltyContact(rf.PointTree(shell), field, 50.0, None)
    rng = np.random.default_rng(1)
    # exact in single precision
    positions = rng.integers(-8, 8, (20, 3)) / 128
    quaternions = rng.choice([-0.5, 0.5], (20, 4))
    out = contact.evaluate_many(positions, quaternions)
    assert (out.touching > 0).sum() > 10
    forms = (
        lambda a: a.tolist(),
        lambda a: tuple(map(tuple, a)),
        lambda a: a.astype(np.float32),
        lambda a: a.astype(">f8"),
        np.asfortranarray,
        lambda a: np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    )
    for form in forms:
        again = contact.evaluate_many(form(positions), form(quaternions))
        np.testing.assert_array_equal(again.force, out.force)
        one = contact.evaluate(form(positions)[7], form(quaternions)[7])
        np.testing.assert_array_equal(one.gradient, out.gradient[7])
    # the same rotation
    np.testing.assert_array_equal(contact.evaluate_many(positions, -quaternions).force, out.force)


def test_properties_can_be_read_during_an_evaluation(field, shell):
    """No lock is held where Python is called."""
    contact = rf.PenaltyContact(rf.PointTree(shell), field, 50.0)
    alone = contact.evaluate((0.0, 0, 0), IDENTITY)
    reported = []

    def ask(done: int, total: int) -> None:
        reported.append(contact.evaluate((0.0, 0, 0), IDENTITY).force)
        contact.reset()

    contact.evaluate_many(np.zeros((200, 3)), np.tile(IDENTITY, (200, 1)), progress=ask)
    np.testing.assert_array_equal(reported[-1], alone.force)


def test_ctrl_c_stops_a_trajectory(field):
    points = np.random.default_rng(0).uniform(0, 0.1, (20_000, 3))
    shell = rf.Pointshell(points, np.tile([0, 0, 1.0], (20_000, 1)))
    contact = rf.PenaltyContact(rf.PointTree(shell), field, 50.0)
    n = 50_000  # many seconds
    path = np.zeros((n, 3)), np.broadcast_to(IDENTITY, (n, 4))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))

    def follow():
        timer.start()  # here, since the signal may come at once where the machine pauses
        contact.evaluate_many(*path, treeless=True)

    with pytest.raises(KeyboardInterrupt):
        follow()
    timer.join()
    assert contact.evaluate((0.0, 0, 0), IDENTITY).touching > 0


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
    """A copy has all options and no memory of earlier cycles, and shares no state."""
    options = {
        "stiffness": 50.0, "warm_nodes": 200, "budget_us": None, "cold_ratio": 0.5,
        "max_points": 7, "area_weights": True, "temporal_coherence": True,
        "grasp": (0.01, 0.02, 0.03), "direction": "normal",
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
    plane = rf.PlaneField((0, 0, 0.5), (0, 0, 1))
    contact = rf.PenaltyContact(rf.PointTree(shell), plane, 2.0)
    out = contact.evaluate((0, 0, 0), IDENTITY, contacts=True)
    assert repr(out.contacts) == "<ContactPoints: 1 point>"
    said = "<ContactForce: (0, 0, -1) N, (0, 0, 0) N m, 1 point up to 0.5 m deep, levels 0 to 0, "
    assert repr(out).startswith(said)
    assert repr(contact.evaluate((0, 0, -1), IDENTITY)).startswith(
        "<ContactForce: no contact, levels 0 to 0, "
    )
    # large forces and long times keep their units: no powers of ten
    for factor, force in (
        (1e3, "(0, 0, -500) N"),
        (1e4, "(0, 0, -5) kN"),
        (4e7, "(0, 0, -20) MN"),
    ):
        stiff = rf.PenaltyContact(rf.PointTree(shell), plane, factor)
        out = stiff.evaluate((0, 0, 0), IDENTITY)
        assert repr(out).startswith(f"<ContactForce: {force}, (0, 0, 0) N m, 1 point ")
    for took, said in ((8.24, "8.2 us>"), (1234.5, "1,234 us>")):
        assert repr(dataclasses.replace(out, microseconds=took)).endswith(said)
    # however many cycles there are
    path = np.zeros((3, 3)), np.tile(IDENTITY, (3, 1))
    for n, said in (
        (3, "3 cycles, 3 with contact, of at most 1 point, up to 0.5 m deep, finest level 0 to 0"),
        (1, "1 cycle, 1 with contact, of at most 1 point, up to 0.5 m deep, finest level 0 to 0"),
        (0, "0 cycles"),
    ):
        many = contact.evaluate_many(path[0][:n], path[1][:n], contacts=True)
        assert repr(many) == f"<ContactTrajectory: {said}>"


def test_the_stiffest_point_of_the_penalty_law(shell, field):
    """A number stays, "auto" is 20 times the coupling, and of many the largest counts."""
    tree = rf.PointTree(shell)
    assert rf.PenaltyContact(tree, field, 7.0)._core.stiffest(30.0, 0.1) == 7.0
    assert rf.PenaltyContact(tree, field)._core.stiffest(30.0, 0.1) == 600.0
    alone = rf.PenaltyContact(tree, field)
    assert alone._core.stiffest(0.0, 0.1) == alone.stiffnesses.max()
    each = np.linspace(5.0, 3.0, shell.n_points)
    law = {"stiffness": 1.0, "each": each, "automatic": False}
    various = _core.Contact(tree._core, field._core, None, "penalty", law, SETTINGS)
    assert various.stiffest(30.0, 0.1) == 5.0


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_a_contact_force_is_not_an_array(model, shell, field):
    """The message names the arrays of the object that may be meant."""
    sim = rf.ImplicitNewmark(model, 1e-3)
    force = rf.PenaltyContact(rf.PointTree(shell, model), field, 2.0).evaluate((0, 0, 0), IDENTITY)
    with pytest.raises(rf.InputTypeError) as refused:
        sim.step(force)
    assert str(refused.value) == (
        "force must be an array of real numbers, got ContactForce; pass its attribute .force or "
        ".reduced_force, if that is meant"
    )
    sim.step(force.reduced_force)
