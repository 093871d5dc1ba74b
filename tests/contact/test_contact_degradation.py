"""Graceful degradation: levels are left out by a number of nodes or a time."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from contact_cases import EVERYTHING, GRID, LEVEL, STIFFNESS, same_contacts, trajectory


@pytest.mark.parametrize("warm", [1, 60, 150, 300, 500])
def test_degraded_forces_are_those_of_whole_levels(rigid, warm):
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, warm)
    rng = np.random.default_rng(warm)
    levels = set()
    for position, quaternion in zip(*trajectory(25, rng)[:2], strict=True):
        out = contact.evaluate(position, quaternion, contacts=True)
        ref = contact.evaluate(position, quaternion, contacts=True, treeless=True, level=out.level)
        same_contacts(out, ref)
        levels.add(out.level)
    assert min(levels) < 3


def test_thresholds(rigid):
    """Before level 1 the 40 nodes of level 0 are counted; a level begins below its threshold."""
    pose = (1.2, 0, 0), LEVEL
    for warm, ratio, deep in [(40, 1.0, False), (41, 1.0, True), (80, 0.5, False), (82, 0.5, True)]:
        contact = rf.PenaltyContact(rigid, GRID, 1.0, warm, cold_ratio=ratio)
        for _ in range(3):
            assert (contact.evaluate(*pose).level > 0) == deep


def test_a_warm_level_stays_and_a_cold_one_waits(rigid):
    """The same pose, entered from both sides, at a threshold between the two."""
    near, far = ((1.25, 0, 0), LEVEL), ((1.75, 0, 0), LEVEL)
    probe = rf.PenaltyContact(rigid, GRID, 1.0, EVERYTHING)
    counted = probe.evaluate(*near).visited
    # nodes up to and without the deepest level
    warm = None
    for nodes in range(counted, 40, -1):
        contact = rf.PenaltyContact(rigid, GRID, 1.0, nodes, cold_ratio=1.0)
        if contact.evaluate(*near).level < 3:
            warm = nodes + 1
            break
    assert warm is not None
    contact = rf.PenaltyContact(rigid, GRID, 1.0, warm, cold_ratio=0.8)
    assert contact.evaluate(*near).level < 3  # cold: 0.8 of them is too few
    assert contact.evaluate(*far).level == 3  # less to do there
    assert contact.evaluate(*near).level == 3  # warm
    assert contact.evaluate(*near).level == 3
    contact.reset()
    assert contact.evaluate(*near).level < 3


def test_all_levels_always(soft):
    """Without a limit the deepest level is reached in every cycle."""
    path = trajectory(60, np.random.default_rng(9), 9, jumps=(20,))
    found = rf.PenaltyContact(soft, GRID, STIFFNESS, None).evaluate_many(*path)
    same = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING).evaluate_many(*path)
    assert (found.level == 3).all()
    for name in ("force", "gradient", "visited", "skipped"):
        np.testing.assert_array_equal(getattr(found, name), getattr(same, name))
    assert rf.PenaltyContact(soft, GRID, 1.0, 60).evaluate_many(*path).level.min() < 3
    # however little of it colder levels might use
    cold = rf.PenaltyContact(soft, GRID, STIFFNESS, None, cold_ratio=1e-15)
    assert cold.evaluate(*(a[0] for a in path)).level == 3


def test_nodes_or_time(rigid):
    pose = (1.2, 0, 0), LEVEL
    for nodes in ({}, {"warm_nodes": None}):
        timed = rf.PenaltyContact(rigid, GRID, 1.0, budget_us=1e-3, **nodes)
        assert timed.evaluate(*pose).level == 0
        assert timed.options["warm_nodes"] is None
        again = rf.PenaltyContact(rigid, GRID, **timed.options)
        assert again.options["budget_us"] == 1e-3
    with pytest.raises(rf.InputError, match=r"warm_nodes is 300 and budget_us is 20; .* give one"):
        rf.PenaltyContact(rigid, GRID, 1.0, 300, budget_us=20)
    assert rf.PenaltyContact(rigid, GRID, 1.0).options["warm_nodes"] == 2500
    assert rf.PenaltyContact(rigid, GRID, 1.0, None).options["warm_nodes"] is None


def test_time_budget(rigid):
    pose = (1.2, 0, 0), LEVEL
    stingy = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=1e-3)
    generous = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=1e9)
    for _ in range(3):
        assert stingy.evaluate(*pose).level == 0
        assert generous.evaluate(*pose).level == 3
    # deeper levels may use less of it
    cold = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=1e9, cold_ratio=1e-15)
    assert [cold.evaluate(*pose).level for _ in range(3)] == [0, 0, 0]
    between = rf.PenaltyContact(rigid, GRID, STIFFNESS, budget_us=15.0)
    for position, quaternion in zip(*trajectory(60, np.random.default_rng(0))[:2], strict=True):
        out = between.evaluate(position, quaternion, contacts=True)
        ref = between.evaluate(position, quaternion, contacts=True, treeless=True, level=out.level)
        same_contacts(out, ref)


@pytest.mark.parametrize("deformable", [False, True])
def test_forces_in_a_budget_depend_on_the_level_alone(rigid, soft, deformable):
    """Results have the bits of a contact that counts nodes and visits all of them."""
    tree = soft if deformable else rigid
    path = trajectory(300, np.random.default_rng(3), tree.r, jumps=(50, 51, 133))
    counting = [
        rf.PenaltyContact(tree, GRID, STIFFNESS, warm, temporal_coherence=False).evaluate_many(
            *path
        )
        for warm in (1, 50, 100, 150, 200, 300, 400, 500, None)
    ]
    seen = {level: 0 for level in range(4)}
    # most are too short for a level that is begun
    for budget in (1e-3, 3.0, 6.0, 10.0, 15.0, 20.0, 30.0, 1e9):
        out = rf.PenaltyContact(tree, GRID, STIFFNESS, budget_us=budget).evaluate_many(*path)
        for other in counting:
            same = out.level == other.level
            for key in ("force", "torque", "gradient", "reduced_force", "touching", "depth"):
                mine, its = getattr(out, key), getattr(other, key)
                if mine is not None:
                    np.testing.assert_array_equal(mine[same], its[same], err_msg=key)
            for level in out.level[same & (out.touching > 0)]:
                seen[int(level)] += 1
    assert seen[0] > 0
    assert seen[3] > 0
