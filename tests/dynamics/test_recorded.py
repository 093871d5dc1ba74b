"""Recorded motions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from calls import make_world


@pytest.fixture(scope="module")
def world():
    return make_world()


def test_a_motion_is_the_states_of_the_simulation(world):
    for system in (world.reduced, world.projected, world.solid):
        sim, other = (rf.ImplicitNewmark(system, 1e-3, newton_max=5) for _ in range(2))
        one = rf.record_motion(sim, 7, lambda i: world.force if i < 3 else None, every=2)
        assert len(one) == 4
        states = [other.state]
        for i in range(6):
            other.step(world.force if i < 3 else None)
            states.append(other.state)
        for k, state in enumerate(states[::2]):
            assert one.times[k] == state.time
            np.testing.assert_array_equal(one.q[k], state.q)
            np.testing.assert_array_equal(one.qdot[k], state.qdot)
        assert sim.state.time == pytest.approx(7e-3)
        more = rf.record_motion(sim, 1)
        assert more.times[0] == sim.state.time - 1e-3


def test_snapshots_are_those_of_the_motion(world):
    done = []
    sim, other = (rf.ImplicitNewmark(world.reduced, 1e-3) for _ in range(2))
    motion = rf.record_motion(sim, 6, world.force, 2, progress=lambda a, b: done.append((a, b)))
    taken = rf.record_snapshots(other, 6, world.force, 2)
    assert done == [(k, 6) for k in range(1, 7)]
    for u, q in zip(taken, motion.q[1:], strict=True):
        np.testing.assert_array_equal(u, world.reduced.displacement(q))


def test_a_free_body_has_poses_and_rates(world):
    body = rf.FreeBody(world.free_reduced, 1e-3, gravity=(0.0, 0.0, -9.81))
    body.reset(angular_velocity=(1.0, 2.0, 3.0))
    motion = rf.record_motion(body, 5)
    state = body.state
    np.testing.assert_array_equal(motion.poses[-1], [*state.position, *state.quaternion])
    np.testing.assert_array_equal(motion.rates[-1], [*state.velocity, *state.angular_velocity])
    assert repr(motion) == "<Motion: 6 states in 0.005 s, r = 3, free body>"


def test_slices_copies_and_arrays(world):
    motion = rf.Motion([0, 1, 3], np.ones((3, 2)), poses=[[0, 0, 0, 1, 0, 0, 0]] * 3)
    part = motion[1:]
    assert part.duration == 2.0
    np.testing.assert_array_equal(part.times, [1.0, 3.0])
    assert part.qdot is None
    assert part.poses.shape == (2, 7)
    for one in (copy.copy(motion), copy.deepcopy(motion), pickle.loads(pickle.dumps(motion))):
        np.testing.assert_array_equal(one.q, motion.q)
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0] = 1.0
    with pytest.raises(rf.InputTypeError, match="has slices only"):
        motion[0]
    with pytest.raises(rf.InputError, match="times must have shape"):
        motion[3:]
    assert repr(rf.Motion([1.0], np.ones((1, 4, 3)))) == "<Motion: 1 states in 0 s, 4 nodes>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(times=[0.0, 1.0, 1.0]), r"times\[2\] is 1 after 1: times must ascend"),
        (dict(times=[[0.0]]), r"times must have shape \(s,\), s at least 1, got \(1, 1\)"),
        (dict(times=[0.0, np.nan, 1.0]), r"times\[1\] is nan"),
        (dict(q=np.zeros((2, 4))), r"q must have shape \(3, r\).* got \(2, 4\)"),
        (dict(q=np.zeros((3, 4, 2))), r"q must have shape \(3, r\).* got \(3, 4, 2\)"),
        (dict(qdot=np.zeros((3, 3))), r"qdot must have shape \(3, 4\), got \(3, 3\)"),
        (dict(poses=np.zeros((3, 7))), r"poses\[0, 3:\] must be a unit quaternion, .* is 0"),
        (dict(rates=np.zeros((3, 6))), "rates must be None without poses"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(rf.InputError, match=message):
        rf.Motion(**dict(times=[0.0, 1.0, 2.0], q=np.zeros((3, 4))) | arguments)
    with pytest.raises(rf.InputTypeError, match="sim must be a time integrator.* or a World"):
        rf.record_motion(3, 1)
