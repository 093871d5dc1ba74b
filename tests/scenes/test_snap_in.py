"""Force of a clip that snaps onto a pipe, in a session, against the closed form of two beams."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.scenes import snap_in

RADIUS, HALF = 0.008, 0.0065  # m: pipe, and tips from the axis
BEND = 3.0 * 700e6 * 0.01 * 0.002**3 / 12.0  # N m^2, 3 E I


def closed_form(mu, length):
    """Return the extremes of the force on the hand while the pipe goes in and out [N]."""
    s = np.linspace(0.0, np.sqrt(RADIUS**2 - HALF**2), 2000)
    y = np.sqrt(RADIUS**2 - s**2)
    sides = [2 * BEND / length**3 * (y - HALF) * (s / y + m) / (1 - m * s / y) for m in (mu, -mu)]
    return sides[0].max(), sides[1].max()


FRICTION = pytest.mark.no_asan(reason="test_rough_scenes.py runs the scene with friction")


@pytest.mark.parametrize(
    "mu", [0.0, pytest.param(0.2, marks=FRICTION), pytest.param(0.4, marks=FRICTION)]
)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_forces_are_those_of_two_beams(mu, monkeypatch):
    # solves end by themselves, on any machine
    monkeypatch.setattr(
        snap_in.shapes, "touch", lambda mu, *of: rf.FrictionContact(*of, mu, budget_us=1e6)
    )
    n = 4000
    times = 1e-3 * np.arange(n)
    positions = np.zeros((n, 3))
    positions[:, 0] = np.interp(times, [0.0, 0.1, 1.9, 2.1, 3.9], [0.045, 0.045, 0.02, 0.02, 0.045])
    device = rf.ReplayDevice(times, positions, np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)))
    session = snap_in.session(
        device, friction=mu, points=4000, resolution=64, budget_us=0, max_force=100, max_torque=10
    )
    session.coupling = rf.VirtualCoupling(3000.0, torsional_stiffness=2.0)
    records = session.run(n).array
    force, x = records["contact_force"][:, 0], records["object_position"][:, 0]
    entering = np.arange(n) < n // 2
    # the outer edge of a lip is at 30 mm, the inner one, which holds the pipe, at 28 mm; shear
    # makes the branches softer than beams, lips and modes make them stiffer
    most, least = closed_form(mu, 0.03)
    outside = x > 0.031
    assert 0.9 * most < force[entering & outside].max() < 1.2 * most
    assert 0.9 * least < force[~entering & outside].max() < 1.2 * least
    most, least = closed_form(mu, 0.028)
    inside = x < 0.027
    assert 0.9 * most < -force[~entering & inside].min() < 1.2 * most
    assert 0.9 * least < -force[entering & inside].min() < 1.2 * least
    assert records["depth_m"].max() < 1e-4


def test_beyond_the_largest_force_a_soft_hand_cannot_hold_the_pipe_back(monkeypatch):
    """A soft spring of the hand is stretched by that force over its stiffness, and jumps."""
    monkeypatch.setattr(
        snap_in.shapes, "touch", lambda mu, *of: rf.FrictionContact(*of, mu, budget_us=1e6)
    )
    n, stiffness = 3000, 60.0
    times = 1e-3 * np.arange(n)
    positions = np.zeros((n, 3))
    positions[:, 0] = np.linspace(0.045, 0.012, n)
    device = rf.ReplayDevice(times, positions, np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)))
    session = snap_in.session(
        device, points=4000, resolution=64, budget_us=0, max_force=100, max_torque=10
    )
    session.coupling = rf.VirtualCoupling(stiffness, torsional_stiffness=2.0)
    records = session.run(n).array
    x = records["object_position"][:, 0]
    behind = x - records["hand_position"][:, 0]
    most, _ = closed_form(0.2, 0.03)
    np.testing.assert_allclose(behind.max(), most / stiffness, rtol=0.15)
    # it falls over the edges onto the lips, and is soon where the hand is, inside of the clip
    last = behind.argmax()
    assert x[last] > 0.031
    assert x[last + 100] < 0.031
    assert x[-1] < 0.0235
    assert abs(behind[-1]) < 0.02 * behind.max()
    speed = -np.diff(x)
    assert speed.max() > 20.0 * (positions[0, 0] - positions[1, 0])
    assert records["energy_j"].max() <= 0.0
