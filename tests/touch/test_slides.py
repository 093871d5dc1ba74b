"""Tips with friction that slide to stiffer places, or into a wall: anchors stay next to the tip."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes
from touched import LAW

FRICTIONS = [0.02, 0.1, 0.3]


def surface_of(nodes, elements, fixed):
    mesh = rf.Mesh(nodes, elements)
    return rf.GreensFunctions(rf.Solid(mesh, LAW, fixed=fixed(mesh.nodes))), mesh.surface()


@pytest.fixture(scope="module")
def beam():
    """Return a beam of 200 x 60 x 30 mm that is clamped from x = 0 to 40 mm."""
    return surface_of(*box_hexes(20, 6, 3, (0.2, 0.06, 0.03)), lambda x: x[:, 0] < 0.0401)


@pytest.fixture(scope="module")
def step():
    """Return a floor at z = 40 mm with a wall at x = 100 mm, held below."""
    nodes, elements = box_hexes(16, 10, 8, (0.16, 0.1, 0.08))
    middle = nodes[elements].mean(axis=1)
    kept = elements[(middle[:, 2] < 0.04) | (middle[:, 0] > 0.1)]
    used, new = np.unique(kept, return_inverse=True)
    return surface_of(nodes[used], new.reshape(-1, 8), lambda x: x[:, 2] < 1e-9)


def feel(contact, *corners):
    """Move the tip along a path of lines, by 0.1 mm at most in a cycle."""
    ways = [
        np.linspace(a, b, int(np.linalg.norm(np.subtract(b, a)) / 1e-4) + 2)
        for a, b in pairwise(corners)
    ]
    return [contact.touch(x) for x in np.concatenate(ways)]


@pytest.mark.parametrize("friction", FRICTIONS)
@pytest.mark.parametrize("depth", [2e-3, 6e-3])
def test_a_slide_to_a_stiffer_place_ends_like_a_press_there(beam, friction, depth):
    contact = rf.PointProxyContact(*beam, 0.012, friction)
    low = 0.03 - depth
    for x in (0.12, 0.08, 0.05):
        contact.reset()
        path = (0.18, 0.031, 0.032), (0.18, 0.031, low), (x, 0.031, low)
        slid, anchor, _ = feel(contact, *path)[-1]
        assert abs(anchor[0] - x) < 3e-3
        contact.reset()
        pressed, _, _ = feel(contact, (x, 0.031, 0.032), (x, 0.031, low))[-1]
        assert slid[2] == pytest.approx(pressed[2], rel=0.06)


@pytest.mark.parametrize("friction", FRICTIONS)
def test_a_slide_into_a_wall_is_held_by_it(step, friction):
    """The force grows as that of a tip that is pressed into the corner of floor and wall."""
    contact = rf.PointProxyContact(*step, 0.014, friction)
    for beyond in (2e-3, 5e-3, 1e-2):
        contact.reset()
        force, anchor, _ = feel(
            contact, (0.05, 0.05, 0.042), (0.05, 0.05, 0.037), (0.1 + beyond, 0.05, 0.037)
        )[-1]
        np.testing.assert_allclose(anchor, [0.1, 0.05, 0.04], atol=1e-3)
        contact.reset()
        held, _, _ = feel(contact, (0.098, 0.05, 0.042), [0.1 + beyond, 0.05, 0.037])[-1]
        assert force[0] == pytest.approx(held[0], rel=0.03)
        assert force[0] < -3e3 * beyond


@pytest.mark.parametrize("friction", [0.02, 0.1, 0.3, 0.5])
@pytest.mark.parametrize(
    "way",
    [
        [(0.05, 0.05, 0.037), (0.11, 0.053, 0.037)],  # into the wall
        [(0.0985, 0.031, 0.037), (0.106, 0.0685, 0.036)],  # along it
    ],
)
def test_slides_in_a_corner_make_no_clicks(step, way, friction):
    """Floor and wall hold an anchor together: one that goes up the wall returns at once."""
    contact = rf.PointProxyContact(*step, 0.014, friction)
    felt = feel(contact, (*way[0][:2], 0.042), *way)
    forces = np.array([force for force, _, _ in felt])
    steps = np.linalg.norm(np.diff(forces, axis=0), axis=1)
    assert steps.max() < 0.03 * np.linalg.norm(forces, axis=1).max()
