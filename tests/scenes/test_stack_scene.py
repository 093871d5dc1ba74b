"""The scene of a tower: it stays standing, and friction is what holds it."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.scenes import stack

pytestmark = pytest.mark.no_asan(
    reason="the cycles of tests/haptics/test_haptics_free_bodies.py, for fifteen seconds"
)


@pytest.fixture
def _unhurried(monkeypatch):
    """Solves end by themselves, on any machine."""
    made = rf.FrictionContact
    monkeypatch.setattr(
        stack.rf, "FrictionContact", lambda *of, **options: made(*of, **options, budget_us=1e6)
    )


def heights(session):
    return [body.position[2] for body in session.snapshot().bodies[:-1]]


@pytest.mark.usefixtures("_unhurried")
def test_the_tower_stays_standing():
    session = stack.session(points=800, resolution=32, budget_us=0.0)
    rest = [0.015, 0.045, 0.075]
    records = session.run(5000)
    np.testing.assert_allclose(heights(session), rest, atol=2e-5)
    lower, middle, upper = (b.position for b in session.snapshot().bodies[:-1])
    # the upper one was pushed, the others were not
    assert upper[0] > 0.005
    assert np.abs([*lower[:2], *middle[:2]]).max() < 1e-4
    # by the force of sliding friction
    pushed = -records["contact_force"][:, 0]
    slides = pushed > 0.1
    assert slides.sum() > 200
    np.testing.assert_allclose(np.median(pushed[slides]), 0.5 * 0.048 * 9.81, rtol=0.05)
    late = session.run(5000)
    np.testing.assert_allclose(heights(session), rest, atol=2e-5)
    session.close()
    assert max(records["energy_j"].max(), late["energy_j"].max()) <= 1e-9


@pytest.mark.usefixtures("_unhurried")
def test_without_friction_it_falls_apart():
    session = stack.session(friction=0.0, points=800, resolution=32, budget_us=0.0)
    session.run(5000)
    upper = session.snapshot().bodies[2].position
    session.close()
    assert upper[2] < 0.05
