"""Bodies that a hand touches directly: their place in a cycle, by a wall in place of a body.

The loop, its cycles and its limits are those of the library; clock, device and wall are those of
`loop_world.c`: nothing depends on the machine.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import loop_worlds
import reducedfem as rf
from loop_worlds import DT, VELOCITY, run

WALL, STIFFNESS = 0.01, 400.0


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return loop_worlds.build(tmp_path_factory.mktemp("loop"))


@pytest.fixture
def world(library):
    yield from loop_worlds.beginner(library)


def at_wall(world, **options):
    library = world(contacts=0, **options)
    library.world_wall(WALL, STIFFNESS, math.inf)
    return library


def flagged(records, name):
    return rf.HapticRecords(records).flagged(name)


def test_the_answer_of_the_body_is_sent_and_recorded(world):
    library = at_wall(world)
    records, _ = run(library, 200, [])
    records = records[:200]
    depth = np.maximum(VELOCITY * records["time_s"] - WALL, 0.0)
    np.testing.assert_allclose(records["force"][:, 0], -STIFFNESS * depth, atol=1e-12)
    np.testing.assert_allclose(records["contact_force"][:, 0], -STIFFNESS * depth, atol=1e-12)
    np.testing.assert_allclose(records["depth_m"], depth, atol=1e-15)
    np.testing.assert_allclose(
        records["object_position"][:, 0], np.minimum(VELOCITY * records["time_s"], WALL)
    )
    assert np.array_equal(records["touching"], depth > 0.0)
    for name in ("too_deep", "slipping"):
        assert np.array_equal(flagged(records, name), depth > 1e-3)
    assert (records["share"] == 1.0).all()
    assert not flagged(records, "saturated").any()
    assert library.world_felt() == library.world_stepped()
    assert library.world_stiffest() == STIFFNESS


def test_snapshots_and_records_have_anchor_slip_and_coordinates(world):
    library = at_wall(world)
    run(library, 50, [])
    out, n = np.zeros(14), library.world_felt()
    assert library.world_touch(out.ctypes.data)
    np.testing.assert_allclose(out, [WALL, 0, 0, 0, 1e-3 * (n - 1), 0, n, n, *out[:6]])


def test_missed_cycles_are_felt_and_stepped_without_a_force(world):
    library = at_wall(world)
    late = np.zeros(100)
    late[60] = 5.2e3
    records, skipped = run(library, 100, late)
    made_up = flagged(records, "made_up")
    assert made_up.sum() == 1
    assert skipped == 5
    assert library.world_felt() == library.world_stepped() > len(records)
    np.testing.assert_allclose(
        records["force"][:90, 0],
        -STIFFNESS * np.maximum(VELOCITY * records["time_s"][:90] - WALL, 0.0), atol=1e-12,
    )  # fmt: skip


def test_forces_fade_while_the_body_does_not_answer(world):
    library = at_wall(world, ramp=0.02)
    library.world_unanswered(150, 220, 1 << 40)
    records, _ = run(library, 300, [])
    records = records[:300]
    wanted = -STIFFNESS * np.maximum(VELOCITY * records["time_s"] - WALL, 0.0)
    share = records["force"][101:, 0] / wanted[101:]
    assert share[45] == pytest.approx(1.0)
    # down over the ramp; up again over 0.05 s, the least time after a silence
    steps = np.diff(share)
    assert np.allclose(steps[48:68], -DT / 0.02)
    assert np.allclose(share[69:119], 0.0)
    assert np.allclose(steps[118:168], DT / 0.05)
    assert share[180] == pytest.approx(1.0)
    assert np.array_equal(np.flatnonzero(flagged(records, "unanswered")), np.arange(150, 220))


def test_a_body_that_fails_ends_the_session_with_zero_force(world):
    library = at_wall(world)
    library.world_unanswered(1 << 40, 1 << 40, 150)
    out = np.zeros(400, rf.io.record_file.RECORD)
    assert library.world_run(300, 0, out.ctypes.data, out.ctypes.data) == -1
    assert library.world_last() == 0.0


def test_the_contact_is_forgotten_where_the_hand_is_moved_or_opened_anew(world):
    library = at_wall(world)
    begun = library.world_forgotten()
    run(library, 200, [])
    assert library.world_forgotten() == begun
    library.world_recentre()
    assert library.world_forgotten() == begun + 1
    library.world_reopen()
    assert library.world_forgotten() == begun + 2


def test_a_hand_that_is_opened_again_is_at_the_tool(world):
    """The workspace is shifted by the depth, as after a clutch: there is no force at first."""
    library = at_wall(world)
    run(library, 200, [])
    library.world_reopen()
    out = np.zeros(100, rf.io.record_file.RECORD)
    intervals = np.full(50, 1000.0)
    assert library.world_called(50, intervals.ctypes.data, out.ctypes.data) == 50
    assert out["hand_position"][0, 0] == pytest.approx(WALL)
    np.testing.assert_allclose(np.diff(out["hand_position"][:50, 0]), VELOCITY * DT)
