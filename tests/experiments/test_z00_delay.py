"""Damping asked for by delayed forces: experiments/z00_delay.py."""

from __future__ import annotations

import numpy as np
import pytest
import z00_delay
import z00_haptics

import experiments

pytestmark = pytest.mark.no_asan(reason="such sessions run in tests/touch")


def test_the_script_meets_its_marks_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(z00_delay, "PERIODS", (8e-3, 1e-2, 2e-2))
    monkeypatch.setattr(z00_delay, "YOUNG", (1e4,))
    monkeypatch.setattr(z00_haptics, "HALVINGS", 6)
    experiments.check_plot("z00_delay", monkeypatch, capsys, tmp_path / "new")


def test_the_map_of_a_period_is_a_simulation():
    """In small steps of a semi-implicit scheme; the bound follows from slow swings."""
    stiffness, period, damping = 60.0, 5e-3, 0.4
    steps = 20_000
    dt, x, v, old, older = period / steps, 1e-3, 0.02, 8e-4, 5e-4
    start = np.array([x, v, old, older])
    for k in range(steps):
        shown = -stiffness * (older + (old - older) * (k + 0.5) / steps)
        force = shown - z00_delay.SPRING * x - damping * v
        v += dt * force / z00_delay.MASS
        x += dt * v
    found = z00_delay.period_map(stiffness, period, damping) @ start
    assert np.allclose(found, [x, v, start[0], old], rtol=1e-4, atol=0)
    slow = z00_delay.exact_damping(50.0, 1e-4) / (2 * 50.0 * 1e-4)
    assert 0.999 < slow <= 1.0


def test_each_mark_can_be_missed():
    periods = np.array([1e-3, 5e-3])
    good = z00_delay.Block(50.0, periods, np.array([0.099, 0.48]), np.array([0.4]))
    assert z00_delay.misses(good, (5e-3,)) == []
    for exact, measured in (([0.099, 0.51], 0.4), ([0.08, 0.48], 0.4), ([0.099, 0.48], 0.2)):
        bad = z00_delay.Block(50.0, periods, np.array(exact), np.array([measured]))
        assert len(z00_delay.misses(bad, (5e-3,))) == 1
