"""States of the bodies in the records of sessions."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import session as rubbing
from haptic_sessions import at_rest, ball_of, session
from moments import LONG
from reducedfem.io.record_file import RECORD, record_dtype
from shapes import box_hexes

TOUCHING = rf.ReplayDevice([0.0, 10.0], [[0.18, 0.015, 0.045]] * 2)


def rounded(*parts):
    """Return coordinates of bodies as records have them."""
    return np.concatenate(parts).astype(np.float32)


@pytest.fixture
def soft(beam, bodies):
    """Return a session of a deforming tool, a beam, a shell at rest and another beam."""
    reduced, tree = beam
    model, _, _ = bodies
    tool = rf.DeformedField(rf.SphereField((0.0, 0.0, 0.0), 0.02), model, 8)
    contacts = [rf.PenaltyContact(tree, tool, 300.0, warm_nodes=None) for _ in range(3)]
    damped = rf.ImplicitNewmark(reduced, 1e-3), rf.ImplicitNewmark(reduced, 1e-3, (5.0, 1e-3))
    made = session(
        contacts, TOUCHING, simulation=[damped[0], None, damped[1]],
        field_simulation=rf.ImplicitNewmark(model, 1e-3),
    )  # fmt: skip
    yield made
    made.close()


def test_coordinates_are_those_after_each_cycle(soft):
    for _ in range(30):
        records = soft.run(1)
        seen = soft.snapshot()
        first, none, second = seen.q
        assert none is None
        np.testing.assert_array_equal(records["q"][0], rounded(first, second, seen.field_q))
    assert min(np.abs(one).max() for one in (first, second, seen.field_q)) > 0.0
    assert not np.array_equal(first, second)
    assert records.array.dtype == record_dtype(0, 17)
    assert records.array.dtype.itemsize == RECORD.itemsize + 4 * 17


def test_free_bodies_have_poses(bodies):
    """One that has two contacts is one body."""
    nodes, elements = box_hexes(2, 2, 2, (0.04, 0.04, 0.02))
    mesh = rf.Mesh(nodes - [0.02, 0.02, 0.01], elements)
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=4))
    points = np.array([[-0.02, 0.0, -0.01], [0.02, 0.0, -0.01]])
    tree = rf.PointTree(rf.Pointshell(points, [[0.0, 0.0, 1.0]] * 2), model)
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    blocks = [rf.FreeBody(model, 1e-3, (0.0, 1e-3), gravity=(0, 0, -9.81)) for _ in range(2)]
    blocks[0].reset((0.0, 0.0, 0.012), angular_velocity=(0.0, 3.0, 0.0))
    blocks[1].reset((0.1, 0.0, 0.01))
    fields = [rf.SphereField((0, 0, 0), 0.01), ground, ground]
    made = rubbing(
        [rf.FrictionContact(tree, field, 0.5) for field in fields], np.full((60, 3), 0.5),
        simulation=[blocks[0], blocks[0], blocks[1]],
    )  # fmt: skip
    records = made.run(60)
    seen = made.snapshot()
    made.close()
    shells = seen.bodies[:2]
    assert [one.name for one in shells] == ["shell 0", "shell 2"]
    for k, one in enumerate(shells):
        np.testing.assert_array_equal(records["body_position"][-1, k], one.position)
        np.testing.assert_array_equal(records["body_quaternion"][-1, k], one.quaternion)
    np.testing.assert_array_equal(records["q"][-1], rounded(*(one.q for one in shells)))
    assert np.abs(records["q"][-1]).min() > 0.0
    assert np.ptp(records["body_position"][:, 0, 2]) > 1e-3
    assert records.array.dtype == record_dtype(2, 8)


def test_files_and_queues_carry_them(soft, tmp_path):
    path = tmp_path / "soft.npy"
    made = soft.run(100)
    made.save(path)
    again = rf.HapticRecords.load(path)
    assert again.array.dtype == made.array.dtype
    np.testing.assert_array_equal(again.array, made.array)
    # it is a plain file of NumPy
    np.testing.assert_array_equal(np.load(path)["q"], made["q"])
    whole = np.concatenate([made[:30].array, made[30:].array])
    np.testing.assert_array_equal(rf.HapticRecords(whole)["q"], made["q"])
    assert made.plot().axes
    with soft:
        assert not soft.wait(0.05)
        soft.stop()
        queued = soft.records()
    np.testing.assert_array_equal(queued["q"][-1], rounded(*soft_q(soft)))
    assert np.array_equal(np.diff(queued["tick"]), np.ones(len(queued) - 1))


def soft_q(made):
    seen = made.snapshot()
    return [one for one in (*seen.q, seen.field_q) if one is not None]


def test_a_session_appends_them_to_its_file(beam, tmp_path):
    reduced, tree = beam
    contact = rf.PenaltyContact(tree, rf.SphereField((0.0, 0.0, 0.0), 0.02), 300.0)
    path = tmp_path / "beam.npy"
    made = session(
        contact, TOUCHING, simulation=rf.ImplicitNewmark(reduced, 1e-3), record=path, duration=0.05
    )
    first = made.run(20)
    with made:
        assert made.wait(LONG)
    records = rf.HapticRecords.load(path)
    assert len(records) == made.report().ticks >= 60
    np.testing.assert_array_equal(records[:20].array, first.array)
    np.testing.assert_array_equal(records["q"][-1], rounded(made.snapshot().q[0]))


def test_rigid_sessions_have_none():
    made = session(ball_of(200.0), at_rest())
    records = made.run(3)
    made.close()
    assert records.array.dtype == RECORD
    for name in ("q", "body_position", "body_quaternion"):
        with pytest.raises(rf.InputError, match=f"the records have no '{name}': the session"):
            records[name]


def fields_of(*last):
    return [(name, RECORD[name]) for name in RECORD.names] + list(last)


@pytest.mark.parametrize(
    "last",
    [
        [("q", "<f4", (0,))],
        [("q", "<f4")],
        [("q", "<f8", (3,))],
        [("q", "<f4", (2, 3))],
        [("q", "<f4", (1 << 25,))],
        [("body_position", "<f8", (2, 3))],
        [("body_position", "<f8", (2, 3)), ("body_quaternion", "<f8", (1, 4))],
        [("q", "<f4", (3,)), ("body_position", "<f8", (2, 3)), ("body_quaternion", "<f8", (2, 4))],
        [("other", "<f4", (3,))],
    ],
)
@pytest.mark.no_asan(reason="no C code but that of other tests")
def test_other_fields_are_no_records(tmp_path, last):
    array = np.zeros(0, fields_of(*last))
    with pytest.raises(rf.InputTypeError, match="array must hold the records of a session"):
        rf.HapticRecords(array)
    np.save(tmp_path / "other.npy", array)
    with pytest.raises(rf.FileFormatError, match="does not hold records"):
        rf.HapticRecords.load(tmp_path / "other.npy")


@pytest.mark.no_asan(reason="no C code but that of other tests")
def test_files_without_optional_fields_are_completed(tmp_path):
    array = np.zeros(2, record_dtype(1, 3))
    array["q"] = np.arange(6).reshape(2, 3)
    names = [name for name in array.dtype.names if name != "publish_us"]
    older = np.zeros(2, [(name, array.dtype[name]) for name in names])
    for name in names:
        older[name] = array[name]
    np.save(tmp_path / "older.npy", older)
    found = rf.HapticRecords.load(tmp_path / "older.npy")
    np.testing.assert_array_equal(found["q"], array["q"])
    assert np.isnan(found["publish_us"]).all()
