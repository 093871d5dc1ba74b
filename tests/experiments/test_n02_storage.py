"""Memory after Nikitin et al. 2002: experiments/n02_storage.py."""

from __future__ import annotations

import n02_storage
import pytest

import experiments

pytestmark = pytest.mark.no_asan(reason="Green's functions and handles run in tests/green")


def test_the_script_compares_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(n02_storage, "CELLS", (4, 6))
    experiments.check_plot("n02_storage", monkeypatch, capsys, tmp_path / "new", "--largest", "100")
    monkeypatch.setattr(n02_storage, "NEAR", -1.0)
    options = ("--largest", "100", "--out", tmp_path)
    assert experiments.start("n02_storage", monkeypatch, *options) == 1
    assert "nodes take" in capsys.readouterr().err


def test_the_published_ends_are_a_triangle_in_single_precision():
    assert n02_storage.missed([]) == []
    assert n02_storage.formula(600)["functions"] == pytest.approx(6.48)
    assert n02_storage.formula(5000)["functions"] == pytest.approx(450.0)
