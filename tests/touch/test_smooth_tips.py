"""Tips without friction: forces are the gradient of an energy that the anchor only lowers."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import ball
from touched import RADIUS, slab, stairs, tip, tip_on


def loop(rng: np.random.Generator, steps: int):
    """Return a closed way: down into a ball, round in it, and up where it came down."""
    down = rng.normal(size=3)
    down[2] = abs(down[2]) + 0.3
    down /= np.linalg.norm(down)
    aside = np.cross(down, rng.normal(size=3))
    aside /= np.linalg.norm(aside)
    across = np.cross(down, aside)
    size, depth = rng.uniform(0.1, 0.5), rng.uniform(1e-3, 6e-3)
    angle = np.linspace(0.0, 2.0 * np.pi, steps)
    ways = down + size * (np.sin(angle)[:, None] * aside + (1.0 - np.cos(angle))[:, None] * across)
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    height = np.linspace(1.35 * RADIUS, RADIUS - depth, steps // 2)[:, None]
    return np.concatenate([height * down, (RADIUS - depth) * ways, height[::-1] * down])


@pytest.mark.parametrize("mesh", [stairs(), rf.Mesh(*ball(6, RADIUS))], ids=["stairs", "ball"])
def test_closed_loops_give_no_energy_to_the_hand(mesh):
    """With forces along the normal, as for slips with friction, a third of them gave some."""
    contact, rng = tip_on(mesh), np.random.default_rng(5)
    for _ in range(12):
        path = loop(rng, 600)
        contact.reset()
        force = np.array([contact.touch(x)[0] for x in path])
        work = (0.5 * (force[1:] + force[:-1]) * np.diff(path, axis=0)).sum(axis=1)
        assert np.abs(work).sum() > 1e-4
        # errors of the trapezoidal rule are below this
        assert work.sum() < 1e-3 * np.abs(work).sum()


def energies(contact, x, triangle, weights):
    """Return d C^-1 d / 2 of anchors on a triangle."""
    corners = contact.surface.vertices[contact.surface.triangles[triangle]]
    ways = x - weights @ corners
    c = [contact.compliance(triangle, one) for one in weights]
    return 0.5 * np.einsum("ki,ki->k", ways, np.linalg.solve(c, ways[..., None])[..., 0])


def test_anchors_are_where_the_energy_is_least():
    """On a slab, over all triangles of its top, whose compliance differs from place to place."""
    contact = tip(slab(), friction=0.0, radius=0.018)
    surface = contact.surface
    top = np.flatnonzero((surface.vertices[surface.triangles][..., 2] > 0.039).all(axis=1))
    grid = np.array([(i, j, 24 - i - j) for i in range(25) for j in range(25 - i)]) / 24.0
    for x in np.random.default_rng(2).uniform((0.02, 0.02, 0.034), (0.1, 0.1, 0.039), (6, 3)):
        contact.reset()
        contact.touch([x[0], x[1], 0.05])
        for _ in range(3):
            force, anchor, state = contact.touch(x)
        assert state == "slip"
        assert not contact.slip.any()
        felt = 0.5 * -force @ (x - anchor)
        least = min(energies(contact, x, t, grid).min() for t in top)
        assert felt <= least * (1.0 + 1e-6)
        assert felt > 0.98 * least  # places of the grid are 0.8 mm apart
        # it is along the normal, but for the change of the compliance with the place
        assert np.linalg.norm(force[:2]) < 0.05 * force[2]


@pytest.mark.parametrize("depth", [2e-3, 8e-3])
def test_forces_are_the_gradient_of_the_energy(depth):
    """By central differences of the work, also beyond the largest depth."""
    contact = tip(slab(), friction=0.0, radius=0.018, max_depth=5e-3)
    x = np.array([0.053, 0.061, 0.04 - depth])

    def work(end):
        """Integrate the work of the hand from outside."""
        contact.reset()
        way = np.linspace((x[0], x[1], 0.0405), end, 400)
        force = np.array([contact.touch(one)[0] for one in way])
        return -(0.5 * (force[1:] + force[:-1]) * np.diff(way, axis=0)).sum()

    gradient = [(work(x + h) - work(x - h)) / 1e-3 for h in 5e-4 * np.eye(3)]
    work(x)
    np.testing.assert_allclose(
        contact.force, -np.array(gradient), atol=0.01 * abs(contact.force[2])
    )


def test_forces_beyond_the_largest_depth_stay():
    contact = tip(slab(), friction=0.0, radius=0.018, max_depth=5e-3)
    ways = np.linspace(0.041, 0.03, 100)
    forces = [contact.touch([0.06, 0.06, z])[0][2] for z in ways]
    at_most = contact.force[2]
    np.testing.assert_allclose(np.array(forces)[ways < 0.0345], at_most, rtol=1e-2)
    assert at_most == pytest.approx(5e-3 / contact.compliance(*nearest(contact))[2, 2], rel=5e-3)


def nearest(contact):
    """Return the triangle of the anchor and its weights."""
    corners = contact.surface.vertices[contact.surface.triangles]
    for t, corner in enumerate(corners):
        weights, *_ = np.linalg.lstsq(
            np.vstack([corner.T, np.ones(3)]), [*contact.anchor, 1.0], rcond=None
        )
        if weights.min() > -1e-9 and np.allclose(weights @ corner, contact.anchor, atol=1e-9):
            return t, np.clip(weights, 0.0, 1.0) / np.clip(weights, 0.0, 1.0).sum()
    raise AssertionError


@pytest.fixture(scope="module")
def flat_pad():
    return slab((12, 12, 3))


@pytest.mark.parametrize("depth", [2e-3, 8e-3])
@pytest.mark.parametrize("radius", [0.01, 0.015])
def test_forces_have_no_steps_on_a_flat_pad(flat_pad, radius, depth):
    """Anchors that jump from one minimum of the energy to the next would step by 5 %."""
    contact = tip(flat_pad, friction=0.0, radius=radius)
    down = np.linspace((0.03, 0.051, 0.042), (0.03, 0.051, 0.04 - depth), 200)
    along = np.linspace(down[-1], (0.09, 0.063, 0.04 - depth), 3000)  # 0.02 mm in a cycle
    for x in down:
        contact.touch(x)
    force = np.array([contact.touch(x)[0] for x in along])
    step = np.linalg.norm(np.diff(force[10:], axis=0), axis=1).max()
    assert step < 0.01 * force[:, 2].min()
    assert np.linalg.norm(force[10:, :2], axis=1).max() < 0.045 * force[:, 2].min()
