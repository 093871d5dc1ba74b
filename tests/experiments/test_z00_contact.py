"""A falling bar after Zhuang 2000: experiments/z00_contact.py."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import z00_contact

import experiments

pytestmark = pytest.mark.no_asan(reason="steps in contact run in tests/dynamics")


def test_the_script_misses_one_mark_and_draws(monkeypatch, capsys, tmp_path):
    """Two cells lose more than the mark, as docs/time_integration.md explains; four do not."""
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(z00_contact, "MESHES", (2, 4))
    assert experiments.start("z00_contact", monkeypatch, "--out", tmp_path / "new") == 1
    assert (tmp_path / "new" / "z00_contact.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) > 6
    missed = [line for line in printed.err.splitlines() if "mark missed" in line]
    assert len(missed) == 1
    assert "2 cells: surface loses 5.3% (mark 5%)" in missed[0]


def test_each_mark_can_be_missed(monkeypatch, capsys, tmp_path):
    ones = np.ones(20)
    good = z00_contact.Fall(1e-4, ones, 0.98 * ones, ones[1:], 1e-4, 0.0)
    mirror = dataclasses.replace(good, kept=ones)
    assert z00_contact.misses({"surface": good, "mirror": mirror}) == []
    for change in ({"kept": 1.1 * ones}, {"kept": 0.9 * ones}, {"depth": 2e-4}, {"excess": 1e-9}):
        worse = dataclasses.replace(good, **change)
        assert len(z00_contact.misses({"surface": worse, "mirror": mirror})) == 1
    for change in ({"kept": 1.1 * ones}, {"depth": 2e-4}, {"excess": 1e-9}):
        worse = dataclasses.replace(mirror, **change)
        assert len(z00_contact.misses({"surface": good, "mirror": worse})) == 1
    experiments.light_plots(monkeypatch)
    bad = {"surface": dataclasses.replace(good, depth=2e-4), "mirror": mirror, "penalty": good}
    monkeypatch.setattr(z00_contact, "run", lambda cells: bad)
    assert experiments.start("z00_contact", monkeypatch, "--out", tmp_path) == 1
    assert "mark missed: 2 cells: surface is 2.0 v dt deep" in capsys.readouterr().err
