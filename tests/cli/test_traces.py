"""Figures of curves over time: curves that cannot be drawn are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import plot

GOOD = plot.Trace("x", np.arange(5), np.arange(5.0) ** 2)


@pytest.mark.parametrize(
    ("traces", "kind", "message"),
    [
        ([], rf.InputError, "^traces is empty: give at least one Trace"),
        (GOOD, rf.InputTypeError, "^traces must be a list of Trace, got Trace"),
        ([GOOD, (range(5), range(5))], rf.InputTypeError, r"^traces\[1\] must be a Trace\(label"),
        ([GOOD, GOOD._replace(value=range(4))], rf.InputError, r"^traces\[1\].* \(5,\) and \(4,\)"),
        ([plot.Trace("y", 1.0, 2.0)], rf.InputError, r"^traces\[0\].*shape \(n,\), got \(\)"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(traces, kind, message):
    with pytest.raises(kind, match=message):
        plot.traces_figure(traces)


def test_differences_need_the_same_times():
    later = GOOD._replace(time=np.arange(5) + 1)
    with pytest.raises(rf.InputError, match=r"^traces\[1\].time differs from that of traces\[0\]"):
        plot.traces_figure([GOOD, later], difference=True)


def test_curves_are_drawn():
    pytest.importorskip("matplotlib")
    figure = plot.traces_figure([GOOD, GOOD._replace(label="y", time=np.arange(5) + 1)])
    lines = [line for line in figure.axes[0].lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in lines] == ["x", "y"]
    np.testing.assert_array_equal(lines[1].get_xdata(), np.arange(5) + 1)
