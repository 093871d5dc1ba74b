"""Workspace: scales, axes and clutch between a device and the world (B07 4.5)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import reducedfem as rf
from shells import level
from turns import back, product, rotate, turn_between, turned

COUPLING = rf.VirtualCoupling(500.0, 0.4)
RADIUS, OFF = 0.02, np.array([0.004, -0.006, 0.0])


@pytest.fixture(scope="module")
def contact():
    """Return that of a ball, held beside its middle, with a floor of points."""
    shell = level(np.linspace(-0.05, 0.05, 31))
    ball = rf.SphereField(OFF, RADIUS)
    return rf.PenaltyContact(rf.PointTree(shell), ball, 200.0, None, max_points=None)


START = np.array([0.01, 0.02, 0.016]), turned(np.array([0.2, -0.1, 0.3]))
ALIGNMENT = turned(np.array([0.7, -1.1, 0.4]))


def wandering(n, seed=4):
    """Return times, positions and rotations of a device that moves smoothly and turns."""
    rng = np.random.default_rng(seed)
    phase = np.linspace(0.0, 2.0 * np.pi, n)[:, None] + rng.uniform(0.0, 6.0, (1, 6))
    way = np.sin(phase) * [0.02, 0.02, 0.015, 0.3, 0.4, 0.5]
    return (
        1e-3 * np.arange(n),
        [1.0, -2.0, 0.5] + way[:, :3],
        np.array([turned(turn) for turn in way[:, 3:]]),
    )


def run(contact, workspace, n, device, **options):
    session = rf.HapticSession(
        contact, device, coupling=COUPLING, workspace=workspace, ramp=0.0, budget_us=0.0, **options
    )
    records = session.run(n)
    session.close()
    return records


@pytest.mark.parametrize(("scale", "force_scale"), [(1.0, 1.0), (2.5, 1.0), (0.4, 3.0)])
def test_poses_go_to_the_world_and_forces_to_the_device(contact, scale, force_scale):
    """(4.27) with axes of their own: x = o + W (x_d - c) / scale, F_d = force_scale W^-1 F."""
    n = 200
    place = rf.Workspace(scale, force_scale, tuple(ALIGNMENT), START)
    r = run(contact, place, n, rf.ReplayDevice(*wandering(n))).array
    first = r[0]["device_position"], r[0]["device_quaternion"]
    seen = 0
    for record in r:
        way = rotate(ALIGNMENT, record["device_position"] - first[0]) / scale
        np.testing.assert_allclose(record["hand_position"], START[0] + way, rtol=0, atol=1e-13)
        # turned by as much as the device, about the axis that it has in the world
        turn = rotate(ALIGNMENT, turn_between(first[1], record["device_quaternion"]))
        expected = turn_between(START[1], record["hand_quaternion"])
        np.testing.assert_allclose(turn, expected, rtol=0, atol=1e-13)
        hand = record["hand_position"], record["hand_quaternion"]
        pulls = COUPLING.wrench(hand, record["object_position"], record["object_quaternion"])
        for device, world in (("force", pulls.force), ("torque", pulls.torque)):
            wanted = -force_scale * rotate(back(ALIGNMENT), world)
            np.testing.assert_allclose(record[device], wanted, rtol=1e-9, atol=1e-13)
        seen += record["touching"] > 0
    assert n // 5 < seen < n
    assert np.abs(r["torque"]).max() > 1e-4


@pytest.mark.parametrize(("scale", "force_scale"), [(1.0, 1.0), (2.5, 2.0), (0.4, 2.5)])
def test_work_at_the_device_is_that_in_the_world_scaled(contact, scale, force_scale):
    """F_d dx_d = force_scale scale F dx and T_d dw_d = force_scale T dw: axes do no work."""
    n = 200
    place = rf.Workspace(scale, force_scale, tuple(ALIGNMENT), START)
    r = run(contact, place, n, rf.ReplayDevice(*wandering(n))).array
    by_force = by_torque = 0.0
    work = [0.0]
    for a, b in itertools.pairwise(r):
        hand = a["hand_position"], a["hand_quaternion"]
        pulls = COUPLING.wrench(hand, a["object_position"], a["object_quaternion"])
        by_force -= pulls.force @ (b["hand_position"] - hand[0])
        by_torque -= pulls.torque @ turn_between(hand[1], b["hand_quaternion"])
        work.append(force_scale * (scale * by_force + by_torque))
    np.testing.assert_allclose(r["energy_j"], work, rtol=1e-9, atol=1e-14)
    assert abs(by_torque) > 1e-7 < abs(by_force)


@pytest.mark.parametrize("start", [START, None])
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_a_clutch_keeps_the_manipulandum_while_the_device_moves_and_turns(contact, scale, start):
    """Neither position nor rotation jumps when the clutch is pressed or released."""
    n, pressed, released = 240, 80, 160
    times, positions, quaternions = wandering(n)
    if start is None:
        positions = positions - positions[0] + [0.0, 0.0, 0.02 * scale]
    # a push while it is held, which no smoothness hides
    positions[100:] += [0.03, -0.01, 0.02]
    quaternions[100:] = [product(q, turned(np.array([0.3, 0.5, -0.8]))) for q in quaternions[100:]]
    buttons = np.zeros(n, np.uint32)
    buttons[pressed:released] = 1 << 3
    buttons[20:40] = 1 << 2  # of another use
    place = rf.Workspace(scale, 1.0, tuple(ALIGNMENT), start, clutch=3)
    records = run(contact, place, n, rf.ReplayDevice(times, positions, quaternions, buttons))
    r = records.array
    assert np.array_equal(np.flatnonzero(records.flagged("clutched")), range(pressed, released))
    # the device has moved and turned far, its hand in the world not at all
    stay = r[pressed - 1]
    held = r[pressed:released]
    np.testing.assert_allclose(held["hand_position"] - stay["hand_position"], 0.0, atol=1e-14)
    for record in (*held, r[released]):
        turn = turn_between(stay["hand_quaternion"], record["hand_quaternion"])
        assert np.linalg.norm(turn) < 1e-13
        assert np.linalg.norm(record["hand_position"] - stay["hand_position"]) < 1e-13
    assert np.linalg.norm(np.ptp(held["device_position"], axis=0)) > 0.03
    # the sample of the release is the new zero
    zero = r[released]
    for record in r[released:]:
        way = rotate(ALIGNMENT, record["device_position"] - zero["device_position"]) / scale
        assert record["hand_position"] - stay["hand_position"] == pytest.approx(way, abs=1e-13)
        turn = rotate(
            ALIGNMENT, turn_between(zero["device_quaternion"], record["device_quaternion"])
        )
        found = turn_between(stay["hand_quaternion"], record["hand_quaternion"])
        assert found == pytest.approx(turn, abs=1e-13)
    assert np.linalg.norm(way) > 1e-3 < np.linalg.norm(turn)


def test_a_force_stays_while_the_clutch_is_held(contact):
    """The hand rests on the floor: after a motion by the clutch alone the force is the same."""
    n = 200
    times, positions, quaternions = wandering(n)
    positions[:60], quaternions[:60] = positions[60], quaternions[60]
    buttons = (np.arange(n) >= 60).astype(np.uint32)
    start = np.array([0.0, 0.0, 0.012]), turned(np.zeros(3))
    place = rf.Workspace(2.0, 1.5, tuple(ALIGNMENT), start, clutch=0)
    r = run(contact, place, n, rf.ReplayDevice(times, positions, quaternions, buttons)).array
    assert np.linalg.norm(r["force"][59]) > 0.5
    for name in ("force", "torque"):
        np.testing.assert_allclose(
            r[name][60:], r[name][59] + 0 * r[name][60:], rtol=1e-6, atol=1e-9
        )
