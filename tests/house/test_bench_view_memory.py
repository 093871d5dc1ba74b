"""Growth of memory of pages: benchmarks/view_memory.py, on readings made up."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import view_memory as watched

NAMES = [one.name for one in watched.QUANTITIES]


def growth(name="", per_second=0.0, noise=0.0):
    """Return readings over five minutes; the named one has a slope."""
    found = watched.Growth(frames=100)
    rng = np.random.default_rng(1)
    for t in np.arange(0.0, 300.0, 10.0):
        # the first readings grow: a warm-up
        values = [1e8 + 1e7 * min(t, watched.WARM) for _ in NAMES]
        if name:
            values[NAMES.index(name)] += per_second * t + noise * rng.standard_normal()
        found.seconds.append(t)
        found.values.append(values)
    return found


def test_slopes_have_errors():
    k = NAMES.index("JavaScript heap")
    rate, error = growth("JavaScript heap", 50.0).slope(k)
    assert rate == pytest.approx(50.0, rel=1e-6)
    assert error < 1e-3
    rates = growth("JavaScript heap", 50.0, noise=1000.0).slope(k)
    assert abs(rates[0] - 50.0) < 4.0 * rates[1]
    # of a straight line through m points with a spread s: s / sqrt(sum (t - mean)^2)
    t = np.arange(watched.WARM, 300.0, 10.0)
    assert rates[1] == pytest.approx(1000.0 / np.sqrt(((t - t.mean()) ** 2).sum()), rel=0.4)
    with pytest.raises(ValueError, match="2 readings after the warm-up are too few"):
        watched.Growth([0.0, 1.0, 2.0], [[0.0] * len(NAMES)] * 3).slope(k)


@pytest.mark.parametrize("one", watched.QUANTITIES, ids=NAMES)
def test_growth_is_found(one):
    allowed = one.allowed * one.size / watched.SPAN
    assert growth().faults() == []
    assert growth(one.name, 0.9 * allowed).faults() == []
    assert growth(one.name, -2.0 * allowed).faults() == []
    (fault,) = growth(one.name, 1.5 * allowed).faults()
    assert fault.startswith(f"{one.name} grows by")
    # a slope that the noise explains
    assert growth(one.name, 1.5 * allowed, noise=1e3 * watched.SPAN * allowed).faults() == []


def test_the_table():
    lines = list(growth("objects of WebGL", 0.5).lines())
    assert lines[0] == "100 frames drawn in 290 s"
    (line,) = (line for line in lines if line.startswith("objects of WebGL"))
    assert line.split()[-2:] == ["30.00", "0.00"]


def test_wrong_times_are_refused(monkeypatch, capsys):
    for option, value in (("--minutes", "0"), ("--minutes", "nan"), ("--every", "1000")):
        monkeypatch.setattr(sys, "argv", ["view_memory.py", option, value])
        with pytest.raises(SystemExit):
            watched.main()
        assert f"{option} must be between" in capsys.readouterr().err
