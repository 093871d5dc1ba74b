"""Fill of orderings after Zhuang 2000, table 4.1: experiments/z00_table_4_1.py."""

from __future__ import annotations

import pytest
import z00_table_4_1

import experiments


@pytest.mark.parametrize("shape", [(4, 4, 4), (6, 7, 7), (8, 8, 9)])
def test_matrices_are_the_published_ones(shape):
    solid = z00_table_4_1.solid_of(shape)
    assert (solid.n_dofs, z00_table_4_1.entries(solid)) == z00_table_4_1.BOXES[shape][:2]


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    experiments.check_plot("z00_table_4_1", monkeypatch, capsys, tmp_path / "new", "--quick")
    monkeypatch.setattr(z00_table_4_1, "NEAR", -0.9)
    assert experiments.start("z00_table_4_1", monkeypatch, "--quick", "--out", tmp_path) == 1
    assert "mark missed: 7 x 7 x 7: nested dissection has fill" in capsys.readouterr().err
