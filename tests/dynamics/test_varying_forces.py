"""Forces that vary in time: methods keep their order with the force of `force_time`."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import reducedfem as rf

OMEGA, DRIVE, FORCE, END = np.array([1.0, 2.3]), 1.3, np.array([1.0, 0.7]), 6.0

SCHEMES = [
    (rf.ImplicitNewmark, {}, 1.0, 2),
    (rf.BackwardEuler, {}, 1.0, 1),
    (rf.BDF2, {}, 1.0, 2),
    (rf.TRBDF2, {}, 0.5, 2),
    (rf.SDIRK2, {}, 0.5, 2),
    (rf.GeneralizedAlpha, {"rho": 0.8}, 1.0 / 1.8, 2),
    (rf.GeneralizedAlpha, {"rho": 0.0}, 1.0, 2),
    (rf.ExponentialEuler, {}, 0.5, 2),
    (rf.TRBDF2, {"exact": 1}, 0.5, 2),
    (rf.CentralDifferences, {}, 1.0, 2),
]


def error_of(make, steps, part=None):
    """Return the error at the end of forced oscillations that begin at rest."""
    h = END / steps
    sim = make(rf.SecondOrderSystem(np.eye(2), np.diag(OMEGA**2)), h)
    sim.reset(np.zeros(2), np.zeros(2), FORCE)
    for k in range(steps):
        at = sim.force_time if part is None else (k + part) * h
        sim.step(FORCE * np.cos(DRIVE * at))
    right = FORCE / (OMEGA**2 - DRIVE**2) * (np.cos(DRIVE * END) - np.cos(OMEGA * END))
    return np.abs(sim.state.q - right).max()


@pytest.mark.parametrize(("kind", "settings", "part", "order"), SCHEMES)
def test_order_with_the_force_of_force_time(kind, settings, part, order):
    make = lambda system, h: kind(system, h, **settings)  # noqa: E731
    coarse, fine = (error_of(make, steps) for steps in (200, 400))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15)
    sim = make(rf.SecondOrderSystem(np.eye(2), np.diag(OMEGA**2)), 0.1)
    assert sim.force_time == pytest.approx(part * 0.1, rel=1e-15)
    sim.step(n=3)
    assert copy.copy(sim).force_time == sim.force_time == pytest.approx((3 + part) * 0.1, rel=1e-15)
    if order == 2:  # any other time costs an order
        for other in {0.0, 0.5, 1.0} - {part}:
            assert error_of(make, 400, other) > 5.0 * fine


@pytest.mark.parametrize("kind", [rf.BackwardEuler, rf.BDF2])
def test_exact_modes_take_the_middle(kind):
    made = kind(rf.SecondOrderSystem(np.eye(2), np.diag(OMEGA**2)), 0.1, exact=1)
    assert made.force_time == 0.05
    steps = 400
    make = lambda system, h: kind(system, h, exact=1)  # noqa: E731
    assert error_of(make, steps) <= min(error_of(make, steps, part) for part in (0.0, 1.0))
