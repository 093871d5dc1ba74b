"""Creep under tremor: experiments/friction_tremor.py."""

from __future__ import annotations

import friction_tremor
import numpy as np
import pytest

import experiments


@pytest.mark.parametrize("side", friction_tremor.SIDES)
def test_a_tool_does_not_creep_if_its_forces_are_solved(side):
    found = friction_tremor.creep(side, 1e6)
    assert found.sites == side**2
    assert found.way < 0.1 * friction_tremor.MARK


def test_a_tool_that_slips_in_each_period_is_seen(monkeypatch):
    monkeypatch.setattr(friction_tremor, "MU", 0.1)
    held = friction_tremor.hand
    monkeypatch.setattr(friction_tremor, "hand", lambda: held() * [6.0, 6.0, 1.0])
    assert friction_tremor.creep(3, 1e6).way > 10.0 * friction_tremor.MARK


def test_the_hand_never_pulls_as_far_as_the_tool_sticks():
    x, y, z = friction_tremor.hand().T
    assert np.hypot(x, y).max() < 0.8 * friction_tremor.MU * friction_tremor.PRESSED
    assert z.min() == pytest.approx(-friction_tremor.PRESSED)


def test_the_script_prints_a_table(monkeypatch, capsys):
    monkeypatch.setattr(friction_tremor, "SIDES", (2, 3))
    monkeypatch.setattr(friction_tremor, "BUDGETS", (1e6,))
    assert experiments.start("friction_tremor", monkeypatch, "--runs", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["4", "9"]
    assert "*" not in lines[-1]
    with pytest.raises(SystemExit):
        experiments.start("friction_tremor", monkeypatch, "--runs", "0")
    assert "--runs must be 1 or more, got 0" in capsys.readouterr().err
