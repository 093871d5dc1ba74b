"""A cube on a slope after Ascher et al. 2021: experiments/a21_slope.py."""

from __future__ import annotations

import dataclasses

import a21_slope
import numpy as np
import pytest

import experiments


def test_the_cube_is_whole():
    solid = a21_slope.cube()
    assert solid.total_mass == pytest.approx(1000.0 * a21_slope.SIZE**3)
    assert solid.mesh.n_nodes == 27
    assert len(solid.mesh.boundary_faces) == 48  # two a side of a cell: the cells match


def test_the_script_meets_its_marks_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    experiments.check_plot("a21_slope", monkeypatch, capsys, tmp_path / "new")


def test_missed_marks_end_with_1(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    run = a21_slope.Run(np.zeros(200), 1.0, 5.0, 1e-4)
    monkeypatch.setattr(a21_slope, "slide", lambda mu, lagged: run)
    assert experiments.start("a21_slope", monkeypatch, "--out", tmp_path) == 1
    assert "mark missed: friction 0.2, lagged: acceleration is off" in capsys.readouterr().err


def test_each_mark_can_be_missed():
    """A point that slides as it should, with one number changed at a time."""
    rate = a21_slope.expected(0.2)
    good = a21_slope.Run(rate * a21_slope.STEP * np.arange(200.0), 1.0, 5.0, 1e-4)
    assert a21_slope.misses(0.2, good) == []
    for change in ({"velocity": 1.00002 * good.velocity}, {"load": 1.001}, {"iterations": 11.0},
                   {"smallest": 0.0}):  # fmt: skip
        assert len(a21_slope.misses(0.2, dataclasses.replace(good, **change))) == 1
    assert "creep" in a21_slope.misses(0.5, good)[0]
