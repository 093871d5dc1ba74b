"""Green's functions in contact: experiments/n02_capacitance.py."""

from __future__ import annotations

import n02_capacitance
import pytest

import experiments

pytestmark = pytest.mark.no_asan(reason="contacts with Green's functions run in tests/green")


def test_contacts_agree_with_fixed_nodes(monkeypatch, capsys):
    monkeypatch.setattr(n02_capacitance, "COUNTS", (1, 5, 16))
    monkeypatch.setattr(n02_capacitance, "ROUNDS", 2)
    assert experiments.start("n02_capacitance", monkeypatch, "--finest", "4") == 0
    out = capsys.readouterr().out
    assert "73 nodes of the surface" in out
    assert max(n02_capacitance.contacts(4)) < 1e-9
    # a point force sinks in as deep as the cells are small
    coarse, fine = n02_capacitance.points(8)
    assert 0.95 < fine / coarse < 1.05
    with pytest.raises(SystemExit):
        experiments.start("n02_capacitance", monkeypatch, "else")
    assert "unknown part 'else'" in capsys.readouterr().err
