"""Three haptic displays of explicit steps after Zhuang 2000: experiments/z00_haptics.py."""

from __future__ import annotations

import pytest
import z00_haptics

import experiments

pytestmark = pytest.mark.no_asan(reason="such sessions run in tests/touch")


def test_the_script_meets_its_marks_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(z00_haptics, "PERIODS", (1e-2,))
    monkeypatch.setattr(z00_haptics, "HALVINGS", 6)
    monkeypatch.setattr(z00_haptics, "FINE", (6, 6, 4))
    experiments.check_plot("z00_haptics", monkeypatch, capsys, tmp_path / "new")


def test_each_mark_can_be_missed():
    good = {
        "K": 100.0,
        "least": {"delay": [1.0], "stiffness": [0.1]},
        "stiffest": {None: 9e5, "delay": 1e5, "stiffness": 3e5},
        "errors": {"delay": 0.04, "stiffness": 0.02},
        "changes": {None: 0.06, "delay": 0.04, "stiffness": 0.04},
        "rubs": {"delay": 0.1, "stiffness": 0.09},
    }
    assert z00_haptics.misses(good, (5e-3,)) == []
    for change in (
        {"K": 300.0},
        {"least": {"delay": [1.0], "stiffness": [0.5]}},
        {"stiffest": {None: 2e5, "delay": 1e5, "stiffness": 3e5}},
        {"errors": {"delay": 0.01, "stiffness": 0.02}},
        {"changes": {None: 0.06, "delay": 0.04, "stiffness": 0.09}},
        {"rubs": {"delay": 0.08, "stiffness": 0.09}},
    ):
        assert len(z00_haptics.misses(good | change, (5e-3,))) == 1
