"""Graded meshes against uniform ones: experiments/z00_graded.py."""

from __future__ import annotations

import pytest
import z00_graded
from z00_graded import cube, errors, factor_cost, patch

import experiments


def test_forces_must_go_to_the_masters():
    """The rule of the thesis fails the patch test, loses mass, and has growing vibrations."""
    found = patch(5)
    assert found["T^T"][0] < 1e-12
    assert abs(found["T^T"][1] - 1.0) < 1e-12
    assert found["T^T"][2] < 1e-3
    error, mass, growth = found["means alone"]
    assert error > 0.05
    assert mass < 0.99
    assert growth > 0.05


@pytest.mark.no_asan(reason="linear statics, as in the tests of constrained solids")
def test_loads_of_one_voxel_need_layers():
    rows = {name: (unknowns, found) for name, unknowns, _, found in errors(16)}
    assert rows["uniform 16"][0] == 13_872
    assert rows["graded 16"][0] == 8016
    assert rows["graded 16, 3 layers"][0] == 12_060
    for load in ("one face", "gravity"):
        assert -3.0 < rows["graded 16"][1][load] < -0.3
        assert abs(rows["graded 16, 3 layers"][1][load]) < 0.2
    # as good as the uniform mesh of as many unknowns, no better
    for load in ("shear", "patch", "corner"):
        assert abs(rows["graded 16"][1][load]) > 0.8 * abs(rows["uniform 12"][1][load])


def test_the_factor_of_a_graded_mesh_is_smaller():
    uniform, graded = factor_cost(cube(12)), factor_cost(cube(12).graded())
    assert graded[1] < uniform[1]
    assert graded[2] < 0.7 * uniform[2]
    assert set(z00_graded.PARTS) == {"patch", "cells", "errors", "factor", "steps"}


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    rows = [("uniform 8", 100, 0.0, {"shear": -1.0, "patch": -2.0, "corner": -3.0})]
    monkeypatch.setattr(z00_graded, "errors", lambda finest: rows)
    options = ("cells", "errors", "--finest", "8")
    experiments.check_plot("z00_graded", monkeypatch, capsys, tmp_path / "new", *options)
    taken = tmp_path / "file"
    taken.write_text("")
    assert experiments.start("z00_graded", monkeypatch, "cells", "--out", taken) == 1
    assert capsys.readouterr().err.startswith("z00_graded.py: ")
