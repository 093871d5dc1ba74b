"""Figures of curves over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reducedfem.base.check import as_array
from reducedfem.drawing.style import INK, require_matplotlib
from reducedfem.errors import InputError, InputTypeError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Trace", "traces_figure"]


class Trace(NamedTuple):
    """A curve of a plot.

    Parameters
    ----------
    label
        Name of the curve in the legend.
    time
        Times of the values [s], shape (n,).
    value
        Values in the unit that `traces_figure` names, shape (n,).
    """

    label: str
    time: ArrayLike
    value: ArrayLike


def _check(traces: Sequence[Trace], difference: bool) -> None:
    """Refuse curves that cannot be drawn."""
    if isinstance(traces, Trace) or not isinstance(traces, Sequence):
        raise InputTypeError(f"traces must be a list of Trace, got {type(traces).__name__}")
    if not traces:
        raise InputError("traces is empty: give at least one Trace")
    for k, trace in enumerate(traces):
        if not isinstance(trace, Trace):
            raise InputTypeError(
                f"traces[{k}] must be a Trace(label, time, value), got {type(trace).__name__}"
            )
        time = as_array(trace.time, f"traces[{k}].time")
        value = as_array(trace.value, f"traces[{k}].value")
        if time.ndim != 1 or time.shape != value.shape:
            raise InputError(
                f"traces[{k}].time and value must have the same shape (n,), got {time.shape} and "
                f"{value.shape}"
            )
        if difference and not np.array_equal(time, traces[0].time):
            raise InputError(
                f"traces[{k}].time differs from that of traces[0]: difference=True needs the same "
                "times"
            )


def traces_figure(
    traces: Sequence[Trace],
    title: str = "",
    quantity: str = "displacement [mm]",
    note: str = "",
    difference: bool = False,
) -> Figure:
    """Plot curves over time.

    Parameters
    ----------
    traces
        Curves to draw, at least one.
    title, quantity, note
        Texts above the plot, along its axis, and under the title.
    difference
        Draw the first curve broad and the others over it, and their differences from the first in
        a second plot below; all have the same times then.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError, InputTypeError
        There is no curve, an entry is no `Trace`, or the lengths of its times and values differ; or
        those of curves whose difference is drawn.
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    _check(traces, difference)
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.6 if difference else 4.2), layout="constrained")
    grid = figure.add_gridspec(2 if difference else 1, 1, height_ratios=[3, 1][: 1 + difference])
    axes = figure.add_subplot(grid[0])
    colour = ("#c8383f", "#2a8ca0", "#e0a030", "#5b6472", "#7a4fa3", "#4c9a4c")
    for k, trace in enumerate(traces):
        style: dict[str, Any] = {"color": colour[k % len(colour)], "linewidth": 1.5}
        if difference and k == 0:
            style = {"color": "#9ec9d8", "linewidth": 5.0, "solid_capstyle": "round"}
        elif difference:
            style["color"] = colour[(k - 1) % len(colour)]
        axes.plot(trace.time, trace.value, label=trace.label, **style)
    axes.set_ylabel(quantity)
    plots = [axes]
    if difference:
        below = figure.add_subplot(grid[1], sharex=axes)
        axes.tick_params(labelbottom=False)
        for k, trace in enumerate(traces[1:]):
            more = np.asarray(trace.value) - np.asarray(traces[0].value)
            below.plot(trace.time, more, color=colour[k % len(colour)], linewidth=1.2)
        _, bracket, unit = quantity.partition("[")
        below.set_ylabel(f"difference {bracket}{unit}".rstrip())
        plots.append(below)
    for one in plots:
        one.axhline(0.0, color="#c9ccd1", linewidth=0.8, zorder=0)
        one.spines[["top", "right"]].set_visible(False)
        one.margins(x=0.0)
    plots[-1].set_xlabel("time [s]")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold", color=INK)
    axes.set_title(note, loc="left", fontsize=9, color=INK)
    figure.legend(frameon=False, loc="outside upper right", ncols=min(len(traces), 4))
    return figure
