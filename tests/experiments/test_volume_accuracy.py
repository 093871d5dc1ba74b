"""Cut cells against what is known of balls, rods, real bodies: experiments/volume_accuracy.py."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import volume_accuracy
from volume_accuracy import WAYS, ball, measure, rod

CUT = "cut, 20 nodes"


def test_a_ball_of_eight_cells():
    found = measure(ball(), CUT, 8)
    # the surface has corners of 65 x 128 on the sphere: 0.1 % less
    assert abs(found.mass) < 2e-3
    assert np.abs(found.frequencies).max() < 3e-3


def test_a_rod_of_few_cells_across():
    # 1.6 and 3.2 cells
    found = [measure(rod(), CUT, n) for n in (16, 32)]
    assert max(abs(one.mass) for one in found) < 1e-3
    assert abs(found[0].worst) < 0.01
    assert abs(found[1].worst) < 0.003
    whole = measure(rod(), "whole, 8 nodes", 16)
    assert whole.mass > 0.4
    assert whole.frequencies[0] > 0.2


@pytest.mark.slow
def test_a_ball_of_twelve_cells():
    found = measure(ball(), CUT, 12)
    assert abs(found.mass) < 2e-3
    assert np.abs(found.frequencies).max() < 3e-3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "worst"), [("rocker", 0.015), ("cow", 0.08)])
def test_bodies_against_tetrahedra(shared, name, worst):
    bodies = volume_accuracy.bodies_of(
        shared / "meshes", shared / "reference" / "volumes" / "public.npz"
    )
    (body,) = (one for one in bodies if one.name == name)
    found = measure(body, CUT, 32)
    assert abs(found.mass) < 2e-3
    assert np.abs(found.frequencies).max() < worst


def test_the_table_and_the_plot(tmp_path, monkeypatch, capsys):
    results = volume_accuracy.study([rod()], [6, 8], list(WAYS))
    volume_accuracy.plot(results, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000
    monkeypatch.setattr(volume_accuracy, "ball", rod)
    monkeypatch.setattr(sys, "argv", ["volume_accuracy.py", "--finest", "8"])
    volume_accuracy.main()
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * len(WAYS)
