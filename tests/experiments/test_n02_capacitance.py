"""Green's functions in contact: experiments/n02_capacitance.py."""

from __future__ import annotations

import n02_capacitance
import pytest

import experiments

pytestmark = pytest.mark.no_asan(reason="contacts with Green's functions run in tests/green")


def test_contacts_agree_with_fixed_nodes(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(n02_capacitance, "COUNTS", (1, 5, 16))
    monkeypatch.setattr(n02_capacitance, "ROUNDS", 2)
    monkeypatch.setattr(n02_capacitance, "CELLS", (4, 8))
    experiments.check_plot(
        "n02_capacitance", monkeypatch, capsys, tmp_path / "new", "--finest", "4"
    )
    assert max(n02_capacitance.contacts(4)["difference"]) < 1e-9
    assert "73 nodes of the surface" in capsys.readouterr().out
    # a point force sinks in as deep as the cells are small
    coarse, fine = n02_capacitance.points(8)["compliance"]
    assert 0.95 < fine / coarse < 1.05
    with pytest.raises(SystemExit):
        experiments.start("n02_capacitance", monkeypatch, "else")
    assert "unknown part 'else'" in capsys.readouterr().err
