"""Snapshots of a session by several readers: bodies, contact points, numbers."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import UPRIGHT, at_rest, ball_of, session
from moments import LONG
from turns import rotate


def read_pair(made, reader):
    """Run a cycle after a cycle; return the snapshots of both."""
    made.run(1)
    first = reader.read()
    made.run(1)
    return first, reader.read()


def test_bodies_have_poses_loads_and_coordinates(beam):
    reduced, tree = beam
    field = rf.SphereField((0.0, 0.0, 0.01), 0.02)
    contact = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None, grasp=(0.0, 0.0, 0.05))
    simulation = rf.ImplicitNewmark(reduced, 1e-3)
    hand = rf.ReplayDevice([0.0, 10.0], [[0.1, 0.015, 0.085]] * 2)
    made = session(contact, hand, simulation=simulation)
    made.run(29)
    begun = made.snapshot()
    made.run(1)
    seen = made.snapshot()
    shell, held = seen.bodies
    assert (shell.name, held.name) == ("shell 0", "object")
    assert np.array_equal(shell.position, np.zeros(3))
    assert np.array_equal(shell.quaternion, UPRIGHT)
    assert np.array_equal(shell.q, seen.q[0])
    assert np.abs(shell.q).max() > 0.0
    assert held.q is None
    arm = rotate(seen.quaternion, [0.0, 0.0, 0.05])
    assert np.allclose(held.position, seen.position - arm, rtol=0, atol=1e-15)
    assert np.array_equal(held.quaternion, seen.quaternion)
    assert np.linalg.norm(held.force) > 0.0
    assert np.array_equal(held.force, seen.record["contact_force"])
    assert np.array_equal(held.torque, seen.record["contact_torque"])
    assert np.allclose(shell.force, -held.force, rtol=1e-12)
    # that of a shell is about the origin
    moment = held.torque + np.cross(begun.position, held.force)
    assert np.allclose(shell.torque, -moment, rtol=1e-9, atol=1e-12)
    made.close()


def test_contact_points_are_those_of_an_evaluation(beam):
    """A reader gets them from the cycle after it was made, at the pose where the cycle began."""
    _, tree = beam
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    contact = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None)
    other = rf.PenaltyContact(tree, field, 300.0, warm_nodes=None)
    with pytest.warns(rf.PlausibilityWarning, match="stays at rest"):
        made = session(contact, rf.ReplayDevice([0.0, 10.0], [[0.1, 0.015, 0.045]] * 2))
    made.run(1)
    assert made.snapshot().contacts is None
    first, second = read_pair(made, made.reader(points=True))
    begun = first.bodies[1]
    rest = np.zeros(6)
    expected = other.evaluate(begun.position, begun.quaternion, rest, contacts=True).contacts
    (found,) = second.contacts
    assert len(found.indices) == second.record["touching"] > 10
    for name in ("indices", "positions", "distances", "normals", "forces"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert np.allclose(found.forces.sum(axis=0), second.record["contact_force"], rtol=1e-12)
    made.close()


def test_contacts_without_touching_points_are_empty():
    made = session(ball_of(200.0), rf.ReplayDevice([0.0, 10.0], [[0.0, 0.0, 0.05]] * 2))
    made.run(1)
    (found,) = made.snapshot().contacts
    assert found.positions.shape == (0, 3)
    made.close()


def test_of_many_points_blocks_are_chosen_evenly():
    contact = ball_of(200.0, 301)
    made = session(contact, at_rest())
    made.run(1)
    first, second = read_pair(made, made.reader(points=True))
    begun = first.bodies[1]
    whole = ball_of(200.0, 301).evaluate(begun.position, begun.quaternion, contacts=True).contacts
    (some,) = second.contacts
    blocks = -(-len(whole.indices) // 16)
    assert blocks > 16
    chosen = [16 * (k * blocks // 16) + j for k in range(16) for j in range(16)]
    chosen = [at for at in chosen if at < len(whole.indices)]
    assert np.array_equal(some.indices, whole.indices[chosen])
    assert np.array_equal(some.forces, whole.forces[chosen])
    made.close()


def test_several_contacts_have_their_own_points():
    # one field for both, as one object is held
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    trees = [ball_of(1.0, n).tree for n in (5, 61)]
    contacts = [rf.PenaltyContact(tree, field, 200.0, warm_nodes=None) for tree in trees]
    made = session(contacts, at_rest())
    made.run(1)
    _, second = read_pair(made, made.reader(points=True))
    few, many = second.contacts
    assert [body.name for body in second.bodies] == ["shell 0", "shell 1", "object"]
    assert 0 < len(few.indices) < len(many.indices) <= 128
    for found, body in zip(second.contacts, second.bodies, strict=False):
        assert np.all(found.distances < 0.0)
        assert body.force[2] < 0.0
    made.close()


def test_readers_are_independent_and_outlive_the_session():
    made = session(ball_of(200.0), at_rest())
    early, late = made.reader(), made.reader()
    assert early.read() is None
    made.run(3)
    assert early.read().number == 3
    assert early.read() is None
    made.run(2)
    seen = early.read()
    assert (seen.number, seen.record["tick"]) == (5, 4)
    made.close()
    assert late.read().record == seen.record
    assert late.read() is None
    assert made.snapshot().record == seen.record
    assert repr(late) == "<HapticReader: snapshot 5>"
    with pytest.raises(rf.InputTypeError, match="points"):
        made.reader(points=1)


def test_points_end_when_no_reader_asks():
    made = session(ball_of(200.0), at_rest())
    reader = made.reader(points=True)
    reader.read()
    made.run(1)
    assert reader.read().contacts is not None
    made.run(2001)
    assert made.snapshot().contacts is None
    made.close()


def test_threads_follow_a_running_session():
    """They read while the loop runs, and while another thread waits in a method of the session."""
    made = session(ball_of(200.0), at_rest())
    seen = [[], [], []]
    until = time.monotonic() + LONG

    def follow(numbers, points):
        reader = made.reader(points=points)
        while len(numbers) < 20 and time.monotonic() < until:
            newest = reader.read()
            if newest is None:
                time.sleep(1e-4)
                continue
            assert newest.record["tick"] == newest.number - 1
            numbers.append(newest.number)

    threads = [
        threading.Thread(target=follow, args=(numbers, k == 0)) for k, numbers in enumerate(seen)
    ]
    waiting = threading.Thread(target=made.wait, args=(LONG,))
    with made:
        for thread in [waiting, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
    waiting.join()
    for numbers in seen:
        assert len(numbers) == 20
        assert np.all(np.diff(numbers) > 0)
