"""Tips with friction at ridges, at edges of the body, and in corners: the force has no jumps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes
from touched import LAW, stairs, tip, tip_on

FRICTIONS = [0.02, 0.1, 0.3]
STEP = 1e-4  # of the tip in a cycle, m
FOLLOW, EASE = 1.5, 0.01  # as in touch/proxy_turn_rt.c


def surface_of(nodes, elements):
    mesh = rf.Mesh(nodes, elements)
    return rf.GreensFunctions(rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 2] < 1e-9)), mesh.surface()


@pytest.fixture(scope="module")
def roof():
    """Return a block of 160 x 160 mm under a roof of two sides, by 53 degrees, at x = 80 mm."""
    nodes, elements = box_hexes(16, 8, 4, (0.16, 0.16, 0.05))
    high = 0.07 - 0.5 * np.minimum(abs(nodes[:, 0] - 0.08), 0.04)
    return surface_of(np.column_stack([nodes[:, :2], nodes[:, 2] * high / 0.05]), elements)


@pytest.fixture(scope="module")
def pit():
    """Return a cube whose upper part is open for x, y > 60 mm, with a corner of three faces."""
    nodes, elements = box_hexes(8, 8, 6, (0.12, 0.12, 0.08))
    x, y, z = nodes[elements].mean(axis=1).T
    kept = elements[~((x > 0.06) & (y > 0.06) & (z > 0.04))]
    used, new = np.unique(kept, return_inverse=True)
    return surface_of(nodes[used], new.reshape(-1, 8))


@pytest.fixture(scope="module")
def block():
    return surface_of(*box_hexes(8, 8, 4, (0.12, 0.12, 0.06)))


def walk(*corners, step=STEP):
    ways = [
        np.linspace(a, b, int(np.linalg.norm(np.subtract(b, a)) / step) + 2)
        for a, b in pairwise(corners)
    ]
    return np.concatenate(ways)


def compliance_at(contact):
    *_, triangle, weights, _, _ = contact._core.felt()
    return contact.compliance(triangle, weights)


def largest_change(contact, path):
    """Return the largest change of the force in a cycle over the bound of stiffness times ways."""
    last, before, most, stiffness, way = np.zeros(3), path[0], 0.0, 0.0, 0.0
    for x in path:
        force, anchor, state = contact.touch(x)
        now, last_way = 0.0, way
        if state != "open":
            now = 1.0 / np.linalg.eigvalsh(compliance_at(contact))[0]
        way = FOLLOW * np.linalg.norm(x - before) + EASE * np.linalg.norm(x - anchor)
        bound = max(stiffness, now) * max(way, last_way)
        if bound > 0.0:
            most = max(most, np.linalg.norm(force - last) / bound)
        last, before, stiffness = force, x, now
    return most


def jump_of(contact, path):
    """Return the largest change of the force in a cycle over the largest force."""
    forces = np.array([contact.touch(x)[0] for x in path])
    steps = np.linalg.norm(np.diff(forces, axis=0), axis=1)
    return steps.max() / np.linalg.norm(forces, axis=1).max()


@pytest.mark.parametrize("friction", FRICTIONS)
@pytest.mark.parametrize("depth", [2e-3, 5e-3])
def test_an_anchor_that_is_pulled_over_a_ridge_does_not_leap(roof, friction, depth):
    """The normal of the other side would change the force by half in one cycle."""
    contact = tip(roof, 0.02, friction)
    path = walk((0.06, 0.08, 0.062), (0.06, 0.08, 0.06 - depth), (0.109, 0.08, 0.06 - depth))
    assert largest_change(contact, path) < 2.0
    assert contact.anchor[0] > 0.08  # it is over
    contact.reset()
    assert jump_of(contact, path) < 0.08


def test_an_anchor_that_has_turned_has_less_energy_in_store(roof):
    """Below a hand at rest the anchor comes over the ridge, and f.C f / 2 ends lower."""
    contact = tip(roof, 0.02, 0.02)
    for x in walk((0.06, 0.08, 0.062), (0.06, 0.08, 0.055), (0.109, 0.08, 0.055)):
        _, anchor, _ = contact.touch(x)
        if anchor[0] > 0.0799:
            break
    energies, forces = [], []
    for _ in range(300):
        force, anchor, _ = contact.touch(x)
        energies.append(0.5 * force @ compliance_at(contact) @ force)
        forces.append(force)
    assert anchor[0] > 0.08
    assert energies[-1] < 0.9 * energies[0]
    assert np.linalg.norm(np.diff(forces, axis=0), axis=1).max() < 0.03 * np.linalg.norm(forces[0])


def leave_beside_an_edge(contact, depth=4e-3):
    """Go over the outer edge of the top until the contact has ended; return the tip and |f|."""
    for x in walk((0.03, 0.03, 0.082), (0.03, 0.03, 0.08 - depth), (-0.02, 0.03, 0.08 - depth)):
        before = contact.anchor
        force, anchor, state = contact.touch(x)
        if state == "slip" and anchor[0] == before[0] and anchor[0] < 2e-4:
            return x, np.linalg.norm(force)
    raise AssertionError("the contact has not ended")


@pytest.mark.parametrize("friction", FRICTIONS)
def test_the_force_fades_where_a_tip_leaves_beside_an_edge(pit, friction):
    """Over the outer edge of the top, at a depth of 4 mm; a tip that stops there is soon free."""
    contact = tip(pit, 0.015, friction)
    path = walk((0.03, 0.03, 0.082), (0.03, 0.03, 0.076), (-0.02, 0.03, 0.076))
    assert largest_change(contact, path) < 2.0
    assert contact.state == "open"
    contact.reset()
    x, _ = leave_beside_an_edge(contact)
    forces = [np.linalg.norm(contact.touch(x)[0]) for _ in range(101)]
    assert contact.state == "open"
    assert np.diff(forces).max() <= 0.0


@pytest.mark.parametrize("friction", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("step", [1e-4, 5e-4])
def test_a_force_never_grows_once_the_contact_has_ended(pit, friction, step):
    """In all directions away, also along the side of the body; free after the depth at most."""
    contact = tip(pit, 0.015, friction)
    for depth in (2e-3, 8e-3):
        for angle in np.radians([-60.0, 0.0, 30.0, 60.0, 75.0, 90.0]):
            contact.reset()
            x, last = leave_beside_an_edge(contact, depth)
            for _ in range(int(1.2 * depth / step) + 1):
                x = x - step * np.array([np.cos(angle), 0.0, np.sin(angle)])
                force, *_ = contact.touch(x)
                now = np.linalg.norm(force)
                assert now <= last
                last = now
            assert last == 0.0, (depth, angle)


def test_a_force_in_free_air_does_not_grow_with_the_way_of_the_hand(block):
    """On random ways over all edges; a contact may hold a tip outside only while it sticks."""
    contact = tip(block, 0.015, 1.0)
    size, episodes = np.array([0.12, 0.12, 0.06]), 0
    for seed in (9, 15, 33, 35):
        contact.reset()
        goals = size * np.random.default_rng(seed).uniform(-0.1, 1.1, (9, 3))
        goals[[0, -1]] = size * (0.5, 0.5, 1.4)
        fades, kept, last = False, None, 0.0
        for x in walk(*goals):
            force, anchor, state = contact.touch(x)
            now = np.linalg.norm(force)
            outside = np.linalg.norm(np.maximum(np.maximum(-x, x - size), 0.0)) > 0.0
            # the anchor of a contact that slips stays only when the contact has ended
            ended = outside and state == "slip" and kept is not None and (anchor == kept).all()
            if ended and fades:
                assert now < last
            episodes += ended and not fades
            fades, kept, last = ended, anchor, now
    assert episodes > 3


def test_a_force_below_a_hand_at_rest_does_not_rise():
    """On random ways into a ball of cubes, where contacts end inside and begin again."""
    low, high = np.array([-0.05, -0.05, -0.02]), np.array([0.05, 0.05, 0.05])
    for friction in (0.02, 0.3):
        contact = tip_on(stairs(), friction)
        for seed in (9, 21, 26, 31, 33, 57, 58):
            rng, centre = np.random.default_rng(seed), 0.5 * (low + high)
            begin = centre + (high - low) * [*rng.uniform(-0.5, 0.5, 2), 0.9]
            goals = [rng.uniform(low, high) for _ in range(3)]
            contact.reset()
            for x in walk(begin, *goals, step=3e-4):
                force, *_ = contact.touch(x)
            first, energy = np.linalg.norm(force), []
            for _ in range(300):
                force, *_ = contact.touch(x)
                assert np.linalg.norm(force) <= 1.003 * first
                if force.any():
                    energy.append(0.5 * force @ compliance_at(contact) @ force)
            # compliances differ with the direction
            assert not energy or max(energy) < 1.1 * energy[0]


@pytest.mark.filterwarnings("ignore::reducedfem.PlausibilityWarning")
def test_more_faces_at_a_corner_than_are_counted_hold_a_tip():
    """At the bottom of a cone of 80 faces; those that the tip presses most count."""
    n = 80
    angle = 2.0 * np.pi * np.arange(n) / n
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rim = np.column_stack([0.03 * circle, np.full(n, 0.06)])
    base = np.column_stack([0.05 * circle, np.zeros(n)])
    nodes = np.concatenate([[[0.0, 0.0, 0.03], [0.0, 0.0, 0.0]], rim, base])
    i = np.arange(n)
    a, b, c, d = 2 + i, 2 + (i + 1) % n, 2 + n + i, 2 + n + (i + 1) % n
    zero = np.zeros_like(i)
    tets = np.stack(
        [np.stack(t, 1) for t in ((zero, a, b, c), (zero, b, d, c), (zero, c, d, zero + 1))]
    ).reshape(-1, 4)
    wrong = np.linalg.det(nodes[tets[:, 1:]] - nodes[tets[:, :1]]) < 0.0
    tets[wrong] = tets[wrong][:, [1, 0, 2, 3]]
    contact = tip(surface_of(nodes, tets), 0.012, 0.02)
    for x in walk((0.004, 0.003, 0.07), (0.0005, 0.0003, 0.031), (0.0, 0.0, 0.027)):
        force, anchor, _ = contact.touch(x)
    np.testing.assert_allclose(anchor, [0.0, 0.0, 0.03], atol=1e-9)
    assert np.linalg.norm(force[:2]) < 0.02 * force[2]


@pytest.mark.parametrize("friction", FRICTIONS)
def test_three_faces_of_a_corner_hold_a_tip(pit, friction):
    """The anchor is the corner, and none of the friction is used: C f = d."""
    contact = tip(pit, 0.015, friction)
    corner, rng = np.array([0.06, 0.06, 0.04]), np.random.default_rng(3)
    goals = corner - rng.uniform(1.5e-3, 3e-3, (6, 3))
    for begin, goal in pairwise([corner + 0.004, *goals]):
        for x in walk(begin, goal):
            contact.touch(x)
        for _ in range(200):
            force, anchor, state = contact.touch(goal)
        assert state == "stick"
        np.testing.assert_allclose(anchor, corner, atol=1e-9)
        # below a hand at rest the force does not rise: what it lost as it turned is missing
        np.testing.assert_allclose(compliance_at(contact) @ -force, goal - corner, rtol=1e-3)


@pytest.mark.parametrize("friction", FRICTIONS)
def test_slides_around_a_corner_of_three_faces_make_no_clicks(pit, friction):
    """Shares of faces that alternate would change the force by itself in one cycle."""
    contact = tip(pit, 0.015, friction)
    corner, rng = np.array([0.06, 0.06, 0.04]), np.random.default_rng(4)
    for _ in range(6):
        contact.reset()
        goals = corner - rng.uniform(1e-3, 6e-3, (6, 3)) * rng.choice([1.0, 1.0, -1.5], (6, 3))
        path = walk(corner + 0.015, *goals, goals[0], corner + 0.015)
        forces = np.array([contact.touch(x)[0] for x in path])
        steps = np.linalg.norm(np.diff(forces, axis=0), axis=1)
        assert steps.max() < 0.06 * np.linalg.norm(forces, axis=1).max()
        work = (0.5 * (forces[1:] + forces[:-1]) * np.diff(path, axis=0)).sum(axis=1)
        assert work.sum() < 1e-3 * np.abs(work).sum()


@pytest.mark.parametrize("friction", FRICTIONS)
def test_no_force_on_stairs_has_a_jump(friction):
    """On random ways down into a ball of cubes, around in it and out, over edges and corners."""
    contact, rng = tip_on(stairs(), friction), np.random.default_rng(2)
    for _ in range(8):
        contact.reset()
        goals = rng.normal(size=(5, 3))
        goals[:, 2] = abs(goals[:, 2]) + 0.2
        goals *= (rng.uniform(0.042, 0.05, 5) / np.linalg.norm(goals, axis=1))[:, None]
        assert largest_change(contact, walk(1.5 * goals[0], *goals, 1.5 * goals[-1])) < 3.0
