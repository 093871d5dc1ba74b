"""Bodies: kinds, frames, and the steps of a body under its load."""

from __future__ import annotations

import re

import numpy as np
import pytest

from places import ROOT
from world_core import HERE, UPRIGHT, Scene, WorldError

BODY = ROOT / "csrc/body"
POINTS, NORMALS = np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]])
RADIUS, CONTACT = 0.02, 300.0
MOTION = np.array([[[0.1, 0.0], [0.0, 0.2], [1.0, 0.7]]])  # of the point
SPRINGS = np.array([50.0, 90.0])
H = 1e-3


def scene_of(dt=H, **sizes):
    return Scene(POINTS, NORMALS, RADIUS, CONTACT, MOTION, dt=dt, **sizes)


def newmark(q, force, added, h, n):
    """Return q and velocity after n steps from rest; the force follows the change since then."""
    v, a, first = np.zeros(2), -SPRINGS * q, q
    gamma = 0.6 if added.any() else 0.5
    beta = 0.25 * (gamma + 0.5) ** 2
    for _ in range(n):
        acceleration = -v / (beta * h) - (1.0 - 2.0 * beta) / (2.0 * beta) * a
        f = force - added @ (q - first)
        matrix = np.eye(2) / (beta * h**2) + np.diag(SPRINGS) + added
        dq = np.linalg.solve(matrix, f - SPRINGS * q - acceleration)
        velocity = (1.0 - gamma / beta) * v + (1.0 - 0.5 * gamma / beta) * h * a
        q, v = q + dq, gamma / (beta * h) * dq + velocity
        a = dq / (beta * h**2) + acceleration
    return q, v


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("steps", [1, 4])
def test_steps_are_those_of_the_formula(steps, implicit):
    """A period of the world under one load; the stiffness acts on the change in the period."""
    q = np.array([0.004, -0.003])
    scene = scene_of(steps * H)
    shell = scene.body("reduced", springs=SPRINGS, q=q, dt=H, implicit=implicit)
    ball = scene.body("held", [0, 0, 0.012, *UPRIGHT])
    scene.pair(shell, ball)
    scene.solve("split")
    scene.search()
    scene.lib.scene_load()
    _, _, force, added = scene.load(shell, 2)
    assert abs(force).max() > 0.1
    if not implicit:
        added = np.zeros((2, 2))
    else:
        assert abs(added).max() > 10.0
    assert scene.step() == 0
    got, velocity, pose = scene.state(shell, 2)
    expected = newmark(q, force, added, H, steps)
    np.testing.assert_allclose(got, expected[0], rtol=1e-11)
    np.testing.assert_allclose(velocity, expected[1], rtol=1e-10)
    np.testing.assert_array_equal(pose, HERE)
    scene.lib.scene_end()


def test_bodies_that_nothing_moves_stay():
    scene = scene_of()
    bodies = [scene.body("fixed"), scene.body("held", [0.1, 0.2, 0.3, *UPRIGHT])]
    assert scene.step() == 0
    np.testing.assert_array_equal(scene.state(bodies[0])[2], HERE)
    np.testing.assert_array_equal(scene.state(bodies[1])[2], [0.1, 0.2, 0.3, *UPRIGHT])
    scene.lib.scene_end()


def test_a_body_is_held_at_its_reference_point(rng):
    scene = scene_of()
    reference = rng.standard_normal(3)
    body = scene.body("held", HERE, reference)
    # a quarter turn about z takes x to y
    turn = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    scene.lib.scene_hold(body, scene.address([1.0, 2.0, 3.0, *turn]))
    _, _, pose = scene.state(body)
    x, y, z = reference
    np.testing.assert_allclose(pose[:3], [1.0 + y, 2.0 - x, 3.0 - z], rtol=1e-14)
    np.testing.assert_array_equal(pose[3:], turn)
    scene.lib.scene_end()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "floating"}, "there is no kind of body named floating"),
        ({"kind": "fixed", "springs": SPRINGS}, "a fixed body has no motion"),
        ({"kind": "reduced"}, "a reduced body needs a motion"),
        ({"kind": "held", "pose": [0, 0, 0, 1, 1, 0, 0]}, "has norm 1.414"),
        ({"kind": "held", "reference": [0, np.nan, 0]}, r"reference\[1\] is nan, too far fr"),
        ({"kind": "reduced", "springs": SPRINGS, "dt": 0.7e-3}, "steps of 0.0007 s, which must"),
        ({"kind": "reduced", "springs": SPRINGS, "q": [31, 0]}, "the simulation displaces .* 31 m"),
    ],
)  # fmt: skip
def test_mistakes(options, message):
    scene = scene_of()
    with pytest.raises(WorldError, match=message):
        scene.body(**options)
    scene.lib.scene_end()


def test_a_kind_is_a_source_and_a_row():
    """No other source of the room names a kind: a new one costs two sources."""
    rows = re.findall(r"ROW\((\w+)\)", (BODY / "kinds.h").read_text())
    assert rows
    for kind in rows:
        knows = [p.name for p in BODY.iterdir() if f"rf_body_{kind}_kind" in p.read_text()]
        assert knows == [f"{kind}.c"]
