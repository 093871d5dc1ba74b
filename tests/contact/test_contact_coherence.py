"""Temporal coherence skips nodes that cannot have come into contact, and changes no force."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from contact_cases import (
    EVERYTHING,
    FIELDS,
    GRID,
    HERE,
    LEVEL,
    STIFFNESS,
    same_contacts,
    trajectory,
    turn,
)
from core_contacts import core_contact
from reducedfem import _core
from turns import rotation


@pytest.mark.parametrize("warm", [EVERYTHING, 400, 150])
@pytest.mark.parametrize("deformable", [False, True])
@pytest.mark.parametrize("name", ["grid", "several"])
def test_coherence_changes_no_bit(rigid, soft, warm, deformable, name):
    """Over slow motion with jumps, with and without degradation."""
    tree = soft if deformable else rigid
    rng = np.random.default_rng(warm)
    path = trajectory(400, rng, tree.r, jumps=(50, 51, 52, 133, 300))
    found = [
        rf.PenaltyContact(
            tree, FIELDS[name], STIFFNESS, warm, temporal_coherence=coherent
        ).evaluate_many(*path)
        for coherent in (False, True)
    ]
    for key in ("force", "torque", "gradient", "level", "touching", "depth", "reduced_force"):
        np.testing.assert_array_equal(getattr(found[1], key), getattr(found[0], key), err_msg=key)
    np.testing.assert_array_equal(found[1].visited + found[1].skipped, found[0].visited)
    assert not found[0].skipped.any()
    assert found[1].skipped.sum() > 0.02 * found[0].visited.sum()
    assert found[0].touching.max() > 10


def test_coherence_skips_nodes_that_do_not_move(rigid):
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, EVERYTHING)
    first = contact.evaluate((1.5, 0, 0), LEVEL)
    again = contact.evaluate((1.5, 0, 0), LEVEL)
    assert first.skipped == 0
    assert again.visited + again.skipped == first.visited
    assert again.skipped > 0.5 * first.visited
    # a turn about the far side moves more than one about the near side, and all is due after
    assert contact.evaluate((1.5, 0, 0), turn((0, 0, 1), 3.0)).skipped == 0
    contact.reset()
    assert contact.evaluate((1.5, 0, 0), turn((0, 0, 1), 3.0)).skipped == 0


def test_coherence_sees_the_shell_itself_move(soft):
    """The pose is constant; the shell bends into the field, slowly, then at once."""
    contact = rf.PenaltyContact(soft, GRID, STIFFNESS, EVERYTHING)
    pose = (2.0, 1.4, 0.25), LEVEL
    push = np.zeros((soft.reduced.mesh.n_nodes, 3))
    push[:, 1] = soft.reduced.mesh.nodes[:, 0] > 1.9
    q = soft.reduced.project(push)
    q *= 1.0 / np.abs(soft.reduced.displacement(q)).max()
    touched = []
    for s in [*np.linspace(0, 1, 40), 0.0, 0.0, 1.0, 0.0]:
        out = contact.evaluate(*pose, s * q, contacts=True)
        same_contacts(out, contact.evaluate(*pose, s * q, contacts=True, treeless=True))
        touched.append(out.touching)
    assert touched[0] == touched[-3] == 0
    assert touched[39] == touched[-2] > 5


@pytest.mark.parametrize("stretched", [False, True])
def test_coherence_sees_the_ends_of_a_turning_shell(stretched):
    """A turn lowers one end by little more than it was clear, however the ends came out there."""
    at_rest = 0.1 if stretched else 1.0
    outwards = 1.0 - at_rest
    # the last one, on the axis, hardly moves
    tree = _core.PointTree(
        [[at_rest, 0, 0], [-at_rest, 0, 0], [0, 0, 0.05]],
        [[0, 1.0, 0]] * 3,
        [0, 0, 0],
        [[[outwards], [0], [0]], [[-outwards], [0], [0]], [[0], [0], [0]]],
        np.zeros((3, 3, 1)),
        None,
        1,
    )
    plane = rf.PlaneField((0, -0.5, 0), (0, 1, 0))._core
    contact = core_contact(tree, plane)
    # visited, skipped, touching
    assert contact.evaluate(HERE, LEVEL, [1.0], -1, False)[4:7] == (3, 0, 0)
    assert contact.evaluate(HERE, LEVEL, [1.0], -1, False)[4:7] == (0, 3, 0)
    # sin(0.525) is 0.501; the way of the ends is 0.519
    assert contact.evaluate(HERE, turn((0, 0, 1), 0.525), [1.0], -1, False)[4:7] == (3, 0, 1)


def test_rounding_far_from_the_origin():
    """The lower of two points is at a plane, but for rounding 10^8 m beside the plane's origin."""
    quaternion = turn((1, 2, -1), 0.7)
    across, along, normal = rotation(quaternion).T
    shell = rf.Pointshell([np.zeros(3), -1e-3 * normal], [normal] * 2, [0, 1])
    tree = rf.PointTree(shell)
    contact = rf.PenaltyContact(tree, rf.PlaneField((0, 0, 0), (0, 0, 1)), 1.0)
    found = []
    for angle in np.linspace(0, 6, 300):
        beside = np.cos(angle) * across + np.sin(angle) * along
        pose = 1e8 * beside - 1e-3 * normal, quaternion
        out = contact.evaluate(*pose, contacts=True)
        same_contacts(out, contact.evaluate(*pose, contacts=True, treeless=True))
        found.append(out.touching)
    assert 0.2 < np.mean(found) < 0.8


@pytest.mark.parametrize("steps", [30, 600])
def test_coherence_sees_spheres_grow(steps):
    """A point sinks towards a plane, its child rises: the sphere grows faster than it sinks."""
    tree = _core.PointTree(
        [[0, 0, 0.5], [0.01, 0, 0.5]],
        [[0, 0, 1.0], [0, 0, 1.0]],
        [0, 1],
        [[[0], [0], [-1.0]], [[0], [0], [1.0]]],
        np.zeros((2, 3, 1)),
        None,
        1,
    )
    plane = rf.PlaneField((0, 0, 0), (0, 0, 1))._core
    way = np.linspace(0, 0.3, steps + 1)
    counts = []
    for coherent in (False, True):
        contact = core_contact(tree, plane, coherence=coherent)
        found = [contact.evaluate(HERE, LEVEL, [q], -1, False) for q in way]
        counts.append([one[4] + one[5] for one in found])
    # clear while 0.5 - q > 0.01 + 2 q
    assert counts[0] == [1 if 0.5 - q > 0.01 + 2 * q else 2 for q in way]
    assert counts[1] == counts[0]


def test_treeless_changes_no_later_result(rigid):
    path = trajectory(30, np.random.default_rng(1))
    disturbed = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300)
    alone = rf.PenaltyContact(rigid, GRID, STIFFNESS, 300)
    for position, quaternion in zip(*path[:2], strict=True):
        disturbed.evaluate((9.0, 0, 0), LEVEL, treeless=True)
        a, b = disturbed.evaluate(position, quaternion), alone.evaluate(position, quaternion)
        np.testing.assert_array_equal(a.force, b.force)
        assert (a.level, a.visited, a.skipped) == (b.level, b.visited, b.skipped)


def test_treeless_warms_no_level(rigid):
    """Between the thresholds of cold and warm levels the last rendered level decides."""
    pose = (1.2, 0, 0), LEVEL
    contact = rf.PenaltyContact(rigid, GRID, STIFFNESS, 45, cold_ratio=0.8)
    for _ in range(3):
        assert contact.evaluate(*pose).level == 0
        assert contact.evaluate(*pose, treeless=True).level == 3
