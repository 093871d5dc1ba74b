"""Frames on line and off line after Nikitin et al. 2002: experiments/n02_on_line.py."""

from __future__ import annotations

import n02_on_line
import pytest

import experiments

pytestmark = pytest.mark.no_asan(reason="statics and handles run in tests/green")


def test_the_script_compares_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(n02_on_line, "CELLS", (5, 30))
    monkeypatch.setattr(n02_on_line, "FRAMES", 2)
    monkeypatch.setattr(n02_on_line, "OFF_LINE", 3)
    experiments.check_plot("n02_on_line", monkeypatch, capsys, tmp_path / "new")
    monkeypatch.setattr(n02_on_line, "NEAR", 0.0)
    assert experiments.start("n02_on_line", monkeypatch, "--out", tmp_path) == 1
    assert "mark missed: 216 nodes: ways differ by" in capsys.readouterr().err


def test_both_ways_find_the_same(monkeypatch):
    monkeypatch.setattr(n02_on_line, "FRAMES", 2)
    monkeypatch.setattr(n02_on_line, "OFF_LINE", 1)
    monkeypatch.setattr(n02_on_line, "RESIDUAL", 1e-10)
    assert n02_on_line.measured(5)["difference"] < 1e-7
