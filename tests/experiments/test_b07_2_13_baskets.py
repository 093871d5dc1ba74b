"""Baskets that fall (B07 2.13): energy, bad options, the table with its picture."""

from __future__ import annotations

import b07_2_13_baskets as script
import pytest

from experiments import check_mistakes, check_plot, start
from reducedfem.scenes import baskets


def test_falling_baskets_gain_no_energy():
    world = baskets.world(8, r=12, resolution=16)
    before, met = script.potential(world), 0
    for _ in range(12):
        world.step(25)
        after = script.potential(world)
        assert after <= before + 1e-6 * abs(before)
        before, met = after, met + world.report.pairs
    assert met > 0
    assert world.report.unconverged == 0


def test_the_table_and_the_picture(monkeypatch, capsys, tmp_path):
    options = ("--bodies", "2", "--seconds", "0.02", "--resolution", "16")
    check_plot("b07_2_13_baskets", monkeypatch, capsys, tmp_path, *options)


def test_mistakes_are_reported_without_a_traceback(monkeypatch, capsys, tmp_path):
    few = (("--bodies", "0"), "bodies must be")
    coarse = (("--resolution", "5"), "resolution must be 16 or more, got 5")
    check_mistakes("b07_2_13_baskets", monkeypatch, capsys, tmp_path, few, coarse)
    with pytest.raises(SystemExit):
        start("b07_2_13_baskets", monkeypatch, "--seconds", "0")
    assert "--seconds must be" in capsys.readouterr().err
