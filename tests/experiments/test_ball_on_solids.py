"""Stiffness of contact with local compliance: experiments/local_compliance.py."""

from __future__ import annotations

import dataclasses

import local_compliance
import pytest

import experiments

pytestmark = pytest.mark.no_asan(reason="sessions with a local compliance run in tests/contact")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Take a coarse block alone, and few coordinates."""
    for name, value in {"CELLS": 5, "EDGE": 1e-3, "R": 9, "PRESSED": (2e-5, 4e-4)}.items():
        monkeypatch.setattr(local_compliance, name, value)


def test_the_force_is_that_of_the_solid():
    """A model alone is many times as stiff; large deformations differ by a few percent."""
    result = local_compliance.measure(local_compliance.block())
    fine = local_compliance.METHODS[1]
    assert (result.error("reduced") > 5.0).all()
    for method in (fine, "linear statics"):
        assert abs(result.error(method)).max() < 0.005
    assert abs(result.large_error(0)[0]) < 0.05
    assert abs(result.large_error(1)).max() < 0.05
    assert abs(result.softened_error()).max() < min(0.05, abs(result.large_error(0)).max() / 2)
    assert result.pressed[fine].touching[-1] > 1
    assert local_compliance.misses("block", result) == []
    worse = dataclasses.replace(result, true={**result.true, fine: 1.1 * result.true[fine]})
    assert len(local_compliance.misses("block", worse)) == 2
    low = [0.9 * one for one in result.large]
    worse = dataclasses.replace(result, large=tuple(low))
    assert len(local_compliance.misses("block", worse)) == 2
    worse = dataclasses.replace(result, softened=0.9 * result.softened)
    assert len(local_compliance.misses("block", worse)) == 2


def test_the_script_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    block = local_compliance.block
    monkeypatch.setattr(local_compliance, "body_of", lambda surface, name: block())
    monkeypatch.setattr(local_compliance, "PRESSED", (1e-4,))
    experiments.check_plot("local_compliance", monkeypatch, capsys, tmp_path / "new")
    missing = tmp_path / "no.obj"
    assert experiments.start("local_compliance", monkeypatch, "--surface", missing) == 1
    assert capsys.readouterr().err.startswith("local_compliance.py: ")
