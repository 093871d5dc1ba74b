"""Numerical damping after Ascher et al. 2021: experiments/a21_damping.py."""

from __future__ import annotations

import a21_damping
import numpy as np
import pytest

import experiments


def test_the_curves_cross_where_the_closed_forms_do():
    curves = a21_damping.damping()
    assert a21_damping.crossing(curves, "TR-BDF2") == pytest.approx(35.35, abs=0.05)
    assert a21_damping.crossing(curves, "SDIRK") == pytest.approx(32.47, abs=0.05)
    for name, one in (("SDIRK", 0.162219), ("TR-BDF2", 0.156942), ("BE", 0.804742)):
        assert curves[name].max() == pytest.approx(one, abs=1e-6)


def test_only_backward_euler_keeps_a_stiff_decay_positive():
    z = -a21_damping.RATE * a21_damping.STEP
    g = 1.0 - 1.0 / np.sqrt(2.0)
    np.testing.assert_allclose(a21_damping.decay("BE", 3), (1.0 - z) ** -np.arange(1.0, 4.0))
    for name, factor in (
        ("TR-BDF2", (12.0 + 5.0 * z) / ((4.0 - z) * (3.0 - z))),
        ("SDIRK", (1.0 + (1.0 - 2.0 * g) * z) / (1.0 - g * z) ** 2),
    ):
        np.testing.assert_allclose(a21_damping.decay(name, 3), factor ** np.arange(1.0, 4.0))
    # the first step is one of backward Euler
    np.testing.assert_allclose(a21_damping.decay("BDF2", 2), [0.00990, -0.00473], atol=5e-6)
    for name in ("TR-BDF2", "SDIRK", "BDF2"):
        assert a21_damping.decay(name, 4).min() < 0.0


def test_stages_of_the_example_have_the_values_of_closed_forms():
    z, g = -a21_damping.RATE * a21_damping.STEP, a21_damping.G
    found = [here for here, _ in a21_damping.example().values()]
    stages = [(1.0 + c * z) / (1.0 - c * z) for c in (0.25, g)]
    np.testing.assert_allclose(found[:2], stages, rtol=1e-10)
    np.testing.assert_allclose(found[:2], [-0.923077, -0.933970], atol=5e-7)
    assert a21_damping.misses() == []


def test_missed_marks_end_with_1(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(a21_damping, "AT_ONE", {"BE": 0.7})
    monkeypatch.setattr(a21_damping, "example", lambda: {"a stage": (0.5, 0.6)})
    signs = {"BE": -1.0, "BDF2": 1.0}  # of decays that should be positive, and not
    monkeypatch.setattr(a21_damping, "decay", lambda name, n: signs.get(name, -1.0) * np.ones(n))
    assert experiments.start("a21_damping", monkeypatch, "--out", tmp_path) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert all(line.startswith("a21_damping.py: mark missed: ") for line in errors)


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    experiments.check_plot("a21_damping", monkeypatch, capsys, tmp_path / "new")
