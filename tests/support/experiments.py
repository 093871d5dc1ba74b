"""Command lines of the scripts in experiments/."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import contact_scenes as scenes
import numpy as np
import pytest

from reducedfem import plot as pictures


def start(name: str, monkeypatch: pytest.MonkeyPatch, *options: str | Path) -> int:
    """Run a script with options, and return its exit code."""
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, options)])
    code: int = importlib.import_module(name).main()
    return code


def light_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the slowest part out of plots."""
    # pictures of surfaces
    monkeypatch.setattr(scenes, "picture", lambda parts, *views, **named: np.ones((12, 16, 4)))
    # no search for a layout, and no ticks: curves only
    saved = pictures.save_figure

    def save(figure, path, dpi):
        figure.set_layout_engine("none")
        for ax in figure.axes:
            ax.set_axis_off()
        saved(figure, path, 40)

    monkeypatch.setattr(pictures, "save_figure", save)


def check_plot(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    *options: str | Path,
) -> None:
    """A script prints a table, makes the folder and a plot of its name, and prints the path."""
    assert start(name, monkeypatch, "--out", folder, *options) == 0
    path = folder / f"{name}.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    text = capsys.readouterr().out
    assert f"plot: {path}" in text
    assert len(text.splitlines()) > 6


def check_mistakes(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    *cases: tuple[tuple[str, ...], str],
) -> None:
    """Options with messages, and a file in place of the folder: errors of one line."""
    taken = folder / "file"
    taken.write_text("")
    for options, message in (*cases, (("--out", str(taken)), str(taken))):
        assert start(name, monkeypatch, "--out", folder, *options) == 1
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith(f"{name}.py: ")
        assert message in lines[0]


FEW_POINTS = ("--levels", "2", "--points", "2", "--resolution", "16")
TOO_FEW = "points are too few for 2 levels"
