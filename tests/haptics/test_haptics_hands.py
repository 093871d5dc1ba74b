"""Simulated hands and replayed trajectories against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import session


@pytest.mark.parametrize("damping", [0.0, 2.0, 2.0 * math.sqrt(0.1 * 300.0), 40.0])
def test_a_hand_is_the_exact_oscillator(ball, damping):
    """Led to a new place, it swings there at any rate in the same way, as by formula."""
    times, positions = [0.0, 0.004, 1.0], [[0, 0, 1.0], [0, 0, 1.01], [0, 0, 1.01]]
    hand = {"mass": 0.1, "stiffness": 300.0, "damping": damping}
    found = {}
    for rate in (500.0, 1000.0):
        made = session(ball, rf.SimulatedHand(times, positions, **hand), rate=rate)
        made.enable(False)
        found[rate] = made.run(int(0.2 * rate)).array["device_position"][:, 2]
        made.close()
    assert np.allclose(found[500.0], found[1000.0][::2], rtol=0, atol=1e-12)
    # afterwards it is a free oscillator: its state 4 ms on is that of the exponential of a matrix
    t = np.array([[0.0, 1.0], [-3000.0, -10.0 * damping]])
    value, vector = np.linalg.eig(t + 1e-9 * np.array([[0.0, 0.0], [1.0, 0.0]]))
    step = (vector @ np.diag(np.exp(0.008 * value)) @ np.linalg.inv(vector)).real
    x = found[1000.0] - 1.01
    # x'' by the equation from three samples would be no exact test: two steps give the same trace
    assert x[50] + np.linalg.det(step) * x[34] == pytest.approx(np.trace(step) * x[42], abs=1e-9)


def test_poses_between_many_others_are_found(ball):
    """Twenty of them in a cycle, and from the last one back to the first."""
    times = np.linspace(0.0, 1.0, 20_001)
    z = 0.03 + 0.01 * np.sin(40.0 * times)
    positions = np.stack([0 * z, 0 * z, z], axis=1)
    device = rf.ReplayDevice(times, positions, buttons=np.arange(20_001) % 7)
    for cycles in (400, 30):
        made = session(ball, device)
        found = made.run(cycles).array
        assert found["device_position"][:, 2] == pytest.approx(
            np.interp(found["time_s"], times, z), abs=1e-14
        )
        # the last that is not later
        last = np.searchsorted(times, found["time_s"], side="right") - 1
        assert np.array_equal(found["buttons"], last % 7)
        made.close()


@pytest.mark.parametrize("damping", [0.0, 1e-9, 5e-3, 5.0])
def test_a_hand_without_spring_drifts_as_by_formula(ball, damping):
    """It is dragged along by its intention, at 0.3 m/s, and pushed by the object it feels."""
    mass, dt, speed = 0.1, 1e-3, 0.3
    times, positions = [0.0, 9.0], [[0.0, 0.0, 0.015], [9 * speed, 0.0, 0.015]]
    hand = rf.SimulatedHand(
        times, positions, mass=mass, damping=damping, stiffness=0.0, torsional_stiffness=0.0
    )
    made = session(ball, hand)
    found = made.run(200).array
    made.close()
    assert found["force"][0, 2] > 0.0
    # m v' = F - b (v - u), of which F is that of the last cycle
    x, v = np.array([0.0, 0.0, 0.015]), np.zeros(3)
    expected, rate = [x], damping / mass
    intended = np.array([speed, 0.0, 0.0])
    for force in found["force"][:-1]:
        if damping > 1e-3:
            ends = intended + force / damping
            faded = -np.expm1(-rate * dt) / rate
            x, v = x + ends * dt + (v - ends) * faded, ends + (v - ends) * math.exp(-rate * dt)
        else:
            pull = force / mass + rate * (intended - v)
            x, v = x + v * dt + 0.5 * pull * dt**2, v + pull * dt
        expected.append(x)
    # next to no damping is computed by a series: its next term is that much smaller
    assert np.abs(found["device_position"] - expected).max() < (1e-12 if damping != 1e-9 else 1e-10)
