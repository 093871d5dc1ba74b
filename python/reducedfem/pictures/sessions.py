"""Figures of haptic sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reducedfem.base.check import number
from reducedfem.drawing.style import INK, require_matplotlib
from reducedfem.errors import InputError, InputTypeError
from reducedfem.io.record_file import record_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["session_figure"]

# ratio of forces above which they get separate axes
_APART = 3.0


def session_figure(records: Any, title: str = "", max_depth: float | None = None) -> Figure:
    """Plot forces, times, level of detail and paths of a haptic session.

    Bodies that the hand touches directly have no level of detail.

    Parameters
    ----------
    records
        Records of the cycles: `HapticRecords`, or their array.
    title
        Text above the plots.
    max_depth
        Penetration limit of the coupling [m], positive, drawn as a red line. None: no line.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError, InputTypeError
        `records` is empty or of another type; `max_depth` is not positive or not a number.
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    records, given = getattr(records, "array", records), type(records).__name__
    if record_sizes(getattr(records, "dtype", None)) is None:
        raise InputTypeError(f"records must be HapticRecords or their array, got {given}")
    if records.ndim != 1:
        raise InputError(f"records must have the shape (n,), got {records.shape}")
    if not len(records):
        raise InputError(
            "records are empty: the session has made no cycle, or wrote its records to a file, "
            "which HapticRecords.load(path) reads"
        )
    if max_depth is not None:
        max_depth = number(max_depth, "max_depth")
        if not max_depth > 0.0:
            raise InputError(f"max_depth must be positive or None, got {max_depth:g}")
    red, blue, yellow, grey = "#c8383f", "#2a8ca0", "#e0a030", "#c9ccd1"
    time = records["time_s"]
    figure = Figure(figsize=(10.0, 9.0), layout="constrained")
    heights = {"force": 3, "time": 3, "level": 2, "depth": 2, "path": 4}
    if "anchor" in records.dtype.names:
        del heights["level"]
    rows = figure.subplots(len(heights), 1, sharex=True, height_ratios=[*heights.values()])
    axes = dict(zip(heights, rows, strict=True))
    thin: dict[str, Any] = {"linewidth": 1.0}
    force = [np.linalg.norm(records[name], axis=1) for name in ("force", "contact_force")]
    axes["force"].plot(time, force[0], color=red, label="force on the hand", **thin)
    # separate axes if one force would be flat on the axis of the other; forces of single cycles of
    # contact would otherwise set the scale
    touched = force[1] > 0.0
    usual = 1.5 * float(np.percentile(force[1][touched], 85)) if touched.any() else 0.0
    felt = float(force[0].max())
    apart = min(usual, felt) > 0.0 and max(usual, felt) > _APART * min(usual, felt)
    beside = axes["force"].twinx() if apart else axes["force"]
    beside.plot(time, force[1], color=blue, label="contact force", **thin)
    if usual > 0.0:
        shown, most = 1.1 * (usual if apart else max(usual, felt)), float(force[1].max())
        beside.set_ylim(0.0, shown)
        if most > shown:
            beside.lines[-1].set_label(f"contact force, up to {most:.3g} N")
    axes["force"].set_ylabel("force on the hand [N]" if apart else "force [N]")
    if apart:
        beside.set_ylabel("contact force [N]", color=blue)
        axes["force"].yaxis.label.set_color(red)
        axes["force"].plot([], [], color=blue, label=beside.lines[-1].get_label(), **thin)
    # a note, because the difference looks like a mistake but is intended (Barbic 2007, section 4.9)
    if felt > 1.5 * force[1].max() > 0.0:
        note = 'with render="linear" the coupling saturates for the object, not for the hand'
        axes["force"].set_title(note, loc="left", fontsize=9, color=INK)
    for name, label, colour in (
        ("compute_us", "whole cycle", grey),
        ("contact_us", "contact evaluation", blue),
    ):
        dots = {"color": colour, "marker": ".", "markersize": 2.0, "linestyle": ""}
        axes["time"].plot(time, records[name], label=label, **dots)
    if len(records) > 1:
        period = 1e6 * float(np.diff(time).min())
        axes["time"].axhline(period, color=red, linewidth=0.8, label="period")
    # failed cycles have no contact time
    if (records["contact_us"] > 0.0).any():
        axes["time"].set_yscale("log")
    axes["time"].set_ylabel("computing time [us]")
    if "level" in axes:
        steps: dict[str, Any] = {"drawstyle": "steps-post", **thin}
        axes["level"].plot(time, records["level"], color=blue, label="level", **steps)
        axes["level"].set_ylabel("level of detail")
        axes["level"].set_ylim(-0.5, records["level"].max() + 0.5)
        axes["level"].yaxis.get_major_locator().set_params(integer=True)
    axes["depth"].plot(time, 1e3 * records["depth_m"], color=yellow, label="penetration", **thin)
    if max_depth is not None:
        axes["depth"].axhline(1e3 * max_depth, color=red, linewidth=0.8, label="limit")
    axes["depth"].set_ylabel("penetration [mm]")
    for k, colour in enumerate((red, yellow, blue)):
        axis = "xyz"[k]
        # relative to the start, so that millimetres are visible
        start = records["hand_position"][0, k]
        path = 1e3 * (records["hand_position"][:, k] - start)
        axes["path"].plot(time, path, "--", color=colour, label=f"hand, {axis}", **thin)
        path = 1e3 * (records["object_position"][:, k] - start)
        axes["path"].plot(time, path, color=colour, label=f"object, {axis}", linewidth=1.6)
    axes["path"].set_ylabel("path from the start [mm]")
    axes["path"].set_xlabel("time [s]")
    for one in rows:
        one.spines[["top", "right"]].set_visible(False)
        one.margins(x=0.0)
    for name, one in axes.items():
        if name == "level":
            continue
        right = 1.06 if apart and name == "force" else 1.0
        one.legend(frameon=False, loc="upper left", bbox_to_anchor=(right, 1.0), fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold", color=INK)
    return figure
