"""Towers of bricks on a slope: they stand with friction; bad options, the table and its picture."""

from __future__ import annotations

import numpy as np
import pytest
import stack as script

from experiments import check_mistakes, check_plot, start


def test_a_tower_stands_with_friction_and_slides_without():
    steps = round(0.2 / script.DT)
    for mu in (0.5, 0.0):
        world = script.tower(3, mu, cells=4, points=300)
        before = world.positions
        world.step(steps)
        way = np.linalg.norm(world.positions - before, axis=1)
        assert world.report.unconverged == 0
        if mu > 0.0:
            assert way.max() < 1e-3
            assert np.abs(world.velocities).max() < 1e-3
        else:
            # none leaves the slope, nor the others, before the kerb
            expected = 0.5 * 9.81 * np.sin(np.radians(8.0)) * (steps * script.DT) ** 2
            np.testing.assert_allclose(way, expected, rtol=0.05)


def test_the_table_and_the_picture(monkeypatch, capsys, tmp_path):
    options = ("--bricks", "2", "--seconds", "0.02", "--cells", "4")
    check_plot("stack", monkeypatch, capsys, tmp_path, *options)


def test_mistakes_are_reported_without_a_traceback(monkeypatch, capsys, tmp_path):
    wrong = (("--friction", "-1"), "friction must be a coefficient between 0 and 10, got -1")
    check_mistakes("stack", monkeypatch, capsys, tmp_path, wrong)
    for option, value in (("--seconds", "0"), ("--bricks", "0"), ("--degrees", "-3")):
        with pytest.raises(SystemExit):
            start("stack", monkeypatch, option, value)
        assert f"{option} must be" in capsys.readouterr().err
