"""Contact after Ascher et al. 2021, figures 7 to 9: experiments/a21_contact.py."""

from __future__ import annotations

import dataclasses

import a21_contact
import numpy as np
import pytest

import experiments


def expected(step: float, phases: int) -> int:
    """Return the rejected steps of the flights by the distances alone."""
    count = 0
    for phase in range(phases):
        x = -a21_contact.REACH - phase / phases * step
        while x < 0.0:
            r = np.hypot(x, a21_contact.PASSES)
            count += r - a21_contact.RADIUS < step * -x / r
            x += step
    return count


@pytest.mark.parametrize("step", [0.05, 0.2, 1.0])
def test_rejected_steps_are_those_that_cross_the_tangential_plane(step):
    found = a21_contact.fly(step, 2)
    assert found.rejected == expected(step, 2)
    # the path is 2 mm away from the sphere throughout
    assert found.accepted == found.steps
    assert found.off < a21_contact.SAME
    assert (found.turned > 0.0) is (found.rejected > 0)


def test_curves_are_the_equations():
    assert a21_contact.difference() < 1e-12
    # values on paper: b(1/2; 1) = ln(2) / 4, s(1/2; 1) = 3/4
    half = np.array([0.5])
    assert a21_contact.barrier_curve(1.0, half)[0] == pytest.approx(np.log(2.0) / 4.0, rel=1e-14)
    assert a21_contact.smoothing_curve(1.0, half)[0] == pytest.approx(0.75, rel=1e-14)


def test_each_mark_can_be_missed():
    short, long = a21_contact.STEPS[0], a21_contact.STEPS[-1]
    good = {
        short: a21_contact.Flight(100, 0, 0.0, 100, 1e-12),
        long: a21_contact.Flight(10, 8, 20.0, 10, 1e-12),
    }
    assert a21_contact.misses(good, 1e-15) == []
    assert len(a21_contact.misses(good, 1e-9)) == 1
    assert len(a21_contact.misses(good, float("nan"))) == 1
    for step, change in (
        (short, {"rejected": 1}),
        (long, {"rejected": 2}),
        (long, {"accepted": 9}),
    ):
        wrong = {**good, step: dataclasses.replace(good[step], **change)}
        assert len(a21_contact.misses(wrong, 1e-15)) == 1


def test_the_script_prints_and_draws(monkeypatch, capsys, tmp_path):
    experiments.light_plots(monkeypatch)
    experiments.check_plot("a21_contact", monkeypatch, capsys, tmp_path / "new", "--quick")
