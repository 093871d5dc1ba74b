"""Eigenvalues after Ascher et al. 2021, figure 5: experiments/a21_spectrum.py."""

from __future__ import annotations

import a21_spectrum
import numpy as np

import experiments


def test_the_spectrum_has_no_gap():
    values = a21_spectrum.eigenvalues(16, 60)
    assert len(values) == 60
    assert (np.diff(values) >= 0.0).all()
    assert a21_spectrum.largest_gap(values)[1] < a21_spectrum.GAP


def test_a_gap_is_found_beyond_the_slow_modes():
    values = 1.01 ** np.arange(40.0)
    values[5:] *= 100.0
    values[25:] *= 2.0
    below, ratio = a21_spectrum.largest_gap(values)
    assert below == 25
    np.testing.assert_allclose(ratio, 2.02)


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(a21_spectrum, "QUICK", (16, 60))
    experiments.check_plot("a21_spectrum", monkeypatch, capsys, tmp_path / "new", "--quick")
    monkeypatch.setattr(a21_spectrum, "GAP", 1.0)
    assert experiments.start("a21_spectrum", monkeypatch, "--quick", "--out", tmp_path) == 1
    assert "mark missed: a gap" in capsys.readouterr().err
