"""Trajectories against single cycles, and contacts in threads, in memory and when stopped."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import reducedfem as rf
from contact_cases import EVERYTHING, GRID, LEVEL, STIFFNESS, trajectory
from failures import fail_each_allocation
from reducedfem import _core
from shells import sphere_shell


@pytest.mark.parametrize("deformable", [False, True])
def test_trajectories_are_cycles_one_by_one(rigid, soft, deformable):
    tree = soft if deformable else rigid
    path = trajectory(60, np.random.default_rng(2), tree.r, jumps=(20,))
    whole = rf.PenaltyContact(tree, GRID, STIFFNESS, 400).evaluate_many(*path)
    single = rf.PenaltyContact(tree, GRID, STIFFNESS, 400)
    for k in range(60):
        out = single.evaluate(path[0][k], path[1][k], None if path[2] is None else path[2][k])
        for key in ("force", "torque", "gradient", "reduced_force"):
            if getattr(out, key) is not None:
                np.testing.assert_array_equal(getattr(whole, key)[k], getattr(out, key))
        for key in ("visited", "skipped", "touching", "level", "depth"):
            assert getattr(whole, key)[k] == getattr(out, key)
    assert (whole.microseconds > 0).all()
    assert (whole.reduced_force is None) == (not deformable)
    again = rf.PenaltyContact(tree, GRID, STIFFNESS, 400).evaluate_many(*path)
    np.testing.assert_array_equal(again.gradient, whole.gradient)


@pytest.mark.parametrize("level", [None, 1])
def test_a_trajectory_beside_the_one_without_tree(soft, level):
    """One call each; the second ignores earlier cycles and changes no later ones."""
    path = trajectory(40, np.random.default_rng(7), 9, jumps=(13,))
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, None)
    plain_ones = contact.evaluate_many(*path, contacts=True, treeless=True, level=level)
    assert plain_ones.touching.max() > 20
    deepest = 3 if level is None else level
    assert (plain_ones.level == deepest).all()
    assert (plain_ones.visited == soft.node_counts[deepest]).all()
    assert len(plain_ones.contacts) == 40
    for k in (0, 12, 13, 39):
        one = contact.evaluate(*(a[k] for a in path), contacts=True, treeless=True, level=level)
        np.testing.assert_array_equal(plain_ones.force[k], one.force)
        for name in ("indices", "positions", "distances", "normals", "forces"):
            of_many = getattr(plain_ones.contacts[k], name)
            np.testing.assert_array_equal(of_many, getattr(one.contacts, name))
    if level is not None:
        return
    found = contact.evaluate_many(*path, contacts=True)
    assert found.skipped[0] == 0
    for mine, its in zip(found.contacts, plain_ones.contacts, strict=True):
        np.testing.assert_array_equal(np.sort(mine.indices), np.sort(its.indices))
    np.testing.assert_allclose(found.force, plain_ones.force, atol=1e-9)
    assert contact.evaluate_many(*path).contacts is None


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_no_cycle_at_all(soft):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS)
    found = contact.evaluate_many(np.zeros((0, 3)), np.zeros((0, 4)), contacts=True)
    assert found.force.shape == (0, 3)
    assert found.reduced_force.shape == (0, 9)
    assert found.contacts == ()


def test_coherence_persists_from_call_to_call(rigid):
    positions, quaternions = (a[:30] for a in trajectory(600, np.random.default_rng(8))[:2])
    whole = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300).evaluate_many(positions, quaternions)
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300)
    parts = [
        contact.evaluate_many(positions[k : k + 10], quaternions[k : k + 10])
        for k in range(0, 30, 10)
    ]
    for name in ("force", "level", "visited", "skipped"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    assert parts[1].skipped[0] > 0
    contact.reset()
    anew = contact.evaluate_many(positions[10:], quaternions[10:])
    assert anew.skipped[0] == 0


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_at_rest_without_q(soft):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS)
    pose = (1.0, 0.9, 0.2), LEVEL
    np.testing.assert_array_equal(
        contact.evaluate(*pose).reduced_force, contact.evaluate(*pose, np.zeros(9)).reduced_force
    )
    many = contact.evaluate_many([pose[0]], [pose[1]])
    assert many.reduced_force.shape == (1, 9)
    assert many.reduced_force.any()


def test_threads_share_trees_and_contacts(soft):
    path = trajectory(200, np.random.default_rng(3), soft.r)
    alone = rf.PenaltyContact(soft, GRID, STIFFNESS, 500).evaluate_many(*path)
    with ThreadPoolExecutor(3) as pool:
        several = list(
            pool.map(
                lambda _: rf.PenaltyContact(soft, GRID, STIFFNESS, 500).evaluate_many(*path),
                range(3),
            )
        )
        one = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING)
        mixed = list(pool.map(lambda k: one.evaluate(*(a[k] for a in path)), range(100)))
    for other in several:
        np.testing.assert_array_equal(other.force, alone.force)
        np.testing.assert_array_equal(other.visited, alone.visited)
    ref = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING).evaluate_many(*path)
    for k, out in enumerate(mixed):
        np.testing.assert_array_equal(out.force, ref.force[k])


def test_nothing_is_allocated_by_a_cycle(soft):
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS)
    before = _core.alloc_counters()["calls"]
    for position, quaternion, q in zip(*trajectory(20, np.random.default_rng(4), 9), strict=True):
        contact.evaluate(position, quaternion, q)
    assert _core.alloc_counters()["calls"] == before


@pytest.mark.filterwarnings("ignore:qs? is None")
def test_every_allocation_may_fail(rigid, soft):
    pose = (1.0, 0.9, 0.2), LEVEL
    for tree in (rigid, soft):
        fail_each_allocation(lambda tree=tree: rf.PenaltyContact(tree, GRID, 1.0))
    fail_each_allocation(
        lambda: rf.PenaltyContact(soft, GRID, 1.0, area_weights=True).evaluate(*pose, contacts=True)
    )
    contact = rf.PenaltyContact(rigid, GRID, 1.0)
    _core.alloc_fail_from(0)
    try:
        with pytest.raises(MemoryError):
            contact.evaluate_many([pose[0]], [pose[1]])
    finally:
        _core.alloc_fail_from(-1)
    poses = [pose[0]] * 3, [pose[1]] * 3
    fail_each_allocation(lambda: contact.evaluate_many(*poses, contacts=True))


def test_a_contact_keeps_its_parts_alive():
    tree = rf.PointTree(sphere_shell())
    field = rf.SphereField((0, 0, 0), 0.5)
    contact = rf.PenaltyContact(tree, field, 1.0)._core
    gone = weakref.ref(tree)
    del tree, field
    gc.collect()
    assert gone() is None
    assert contact.evaluate((1.2, 0, 0), LEVEL, None, -1, False)[6] > 0


def test_long_trajectories_can_be_stopped(rigid):
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS)
    path = trajectory(500, np.random.default_rng(5))
    with pytest.raises(Stop):
        contact.evaluate_many(*path, progress=stop)
    reported = []
    contact.evaluate_many(*path, progress=lambda done, total: reported.append((done, total)))
    assert reported[-1] == (500, 500)
