"""Cost over stiffness after Ascher et al. 2021, figure 4: experiments/a21_stiffness.py."""

from __future__ import annotations

import dataclasses

import a21_stiffness
import numpy as np
import pytest

import experiments

SMALL = (8, 1, 1)


@pytest.fixture(autouse=True)
def _same_threads(set_threads):
    """Restore the number of threads."""


def test_counts_grow_for_the_exponential_only():
    costs = a21_stiffness.measure(SMALL, rounds=1, modulus=(1e5, 1e6, 1e7))
    soft, _, stiff = costs.values()
    assert stiff.angle == pytest.approx(10.0 * soft.angle, rel=1e-3)
    assert soft.solves == stiff.solves
    assert soft.solves == {"SI": 1.0, "SIERE": 1.0, "STR-SBDF2ERE": 2.0}
    # two Krylov spaces; each has about as many vectors as the fastest mode turns radians
    assert 0.5 * soft.angle < soft.vectors / 2 < 2.0 * soft.angle
    assert stiff.vectors > 2.0 * soft.vectors


def test_the_bar_hangs_from_its_held_end():
    solid = a21_stiffness.bar(1e5, SMALL)
    np.testing.assert_allclose(np.ptp(solid.mesh.nodes, axis=0), [0.1, 0.1, 0.6])
    assert solid.mesh.nodes[solid.fixed][:, 2].min() == solid.mesh.nodes[:, 2].max()


def test_each_mark_can_be_missed():
    names = a21_stiffness.SCHEMES
    costs = {
        10.0**k: a21_stiffness.Cost(
            4.0 * 3.0**k, {"SI": 1.0, "SIERE": 1.0, "STR-SBDF2ERE": 2.0}, 10.0 * 3.0**k,
            {name: 1000.0 if name == "ERE" else 1.0 for name in names}, dict.fromkeys(names, 1.5),
        )
        for k in range(4)
    }  # fmt: skip
    assert a21_stiffness.misses(costs, timed=True) == []
    first, last = 1.0, 1000.0
    for young, change, reason in (
        (last, {"solves": {"SI": 1.0, "SIERE": 2.0, "STR-SBDF2ERE": 2.0}}, "SIERE solves"),
        (last, {"vectors": 100.0}, "only above"),
        (first, {"vectors": 60.0}, "in all"),
        (last, {"over": {"SIERE": 1.7}}, "SIERE costs"),
        (last, {"seconds": {"ERE": 90.0, "SIERE": 1.0}}, "ERE costs"),
    ):
        wrong = {**costs, young: dataclasses.replace(costs[young], **change)}
        found = a21_stiffness.misses(wrong, timed=True)
        assert any(reason in text for text in found), (reason, found)
        # times are judged by themselves
        if change.keys() & {"over", "seconds"}:
            assert a21_stiffness.misses(wrong, timed=False) == []


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    monkeypatch.setattr(a21_stiffness, "COARSE", SMALL)
    monkeypatch.setattr(a21_stiffness, "YOUNG", (1e5, 1e7))
    monkeypatch.setattr(a21_stiffness, "GROWS_IN_ALL", 2.0)
    keep = a21_stiffness.measure
    monkeypatch.setattr(a21_stiffness, "measure", lambda *given: keep(*given, (1e5, 1e7)))
    experiments.check_plot("a21_stiffness", monkeypatch, capsys, tmp_path / "new", "--quick")
