"""Replays of one motion under several settings of the contact: numbers and pictures.

Shared parts of the experiments on graceful degradation (B07 3.13, figures 3.27 and 3.28).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import contact_scenes as scenes
import numpy as np
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

CONTACT = (0.82, 0.16, 0.14)  # of points that touch
BODIES = ((0.86, 0.70, 0.38), (0.52, 0.66, 0.50), (0.62, 0.66, 0.74))
NOTES = """\
cycles rendered to: L3 is the share of cycles whose deepest level was the third. Warm n: a level
begins while fewer than n nodes have been counted (0.8 n where it was not rendered in the last
cycle), and is finished: the last one may go beyond. Times of cycles: the least of some replays, of
budgets one. Error of force: over the largest force."""


@dataclass(frozen=True)
class Rendering:
    """A replay of a motion under one setting of the contact.

    Attributes
    ----------
    name
        Of the setting.
    out
        Results of the contact.
    microseconds
        Time of each cycle (n,): the least of several replays that do the same, so that what
        else the machine does hardly shows.
    """

    name: str
    out: rf.ContactTrajectory
    microseconds: Array

    @property
    def size(self) -> Array:
        """Magnitude of the force [N], (n,)."""
        size: Array = np.linalg.norm(self.out.force, axis=1)
        return size

    def changes(self, rate: float = 1000.0) -> float:
        """Return how often a second the level changes."""
        return float((np.diff(self.out.level) != 0).sum()) * rate / len(self.out.level)

    def error(self, reference: Rendering) -> Array:
        """Return the distance of the forces over the largest force of the reference, (n,)."""
        apart = np.linalg.norm(self.out.force - reference.out.force, axis=1)
        return np.asarray(apart / reference.size.max())


@dataclass(frozen=True)
class Replays:
    """Replays of a motion; the first one with all levels."""

    renderings: list[Rendering]

    @property
    def full(self) -> Rendering:
        """The one with all levels."""
        return self.renderings[0]

    def rendering(self, name: str) -> Rendering:
        """Return one of the replays."""
        return next(r for r in self.renderings if r.name == name)


def thresholds(warm: Sequence[int], budgets: Sequence[float]) -> list[tuple[str, dict[str, Any]]]:
    """Return names and options of contacts with warm thresholds [nodes] and budgets [us]."""
    return [
        *((f"warm {nodes}", {"warm_nodes": nodes}) for nodes in warm),
        *((f"budget {budget:g} us", {"budget_us": budget}) for budget in budgets),
    ]


def render(
    contact: Callable[..., rf.PenaltyContact],
    settings: Sequence[tuple[str, dict[str, Any]]],
    motion: scenes.Motion,
    qs: Array | None = None,
    repeats: int = 1,
) -> list[Rendering]:
    """Replay a motion with each of the settings.

    Parameters
    ----------
    contact
        Makes a contact with the options of a setting.
    settings
        Names and options.
    motion, qs
        Of the field, and reduced coordinates of the shell.
    repeats
        Each cycle is timed by the fastest of so many replays; what is rendered in a budget
        differs from time to time, and is replayed once.
    """
    found = []
    for name, options in settings:
        one = contact(**options)
        outs = [
            scenes.replay(one, motion, qs) for _ in range(1 if "budget_us" in options else repeats)
        ]
        times = np.min([out.microseconds for out in outs], axis=0)
        found.append(Rendering(name, outs[-1], times))
    return found


def table(renderings: Sequence[Rendering], n_levels: int) -> str:
    """Return numbers of several settings over one motion, the first without degradation."""
    head = "".join(f"{f'L{level + 1}':>6}" for level in range(n_levels))
    lines = [
        f"{'':<26}{'nodes visited':^16}{'cycles rendered to [%]':^{6 * n_levels}}{'level':>10}"
        f"{'time of a cycle [us]':^32}{'error of force':^16}".rstrip(),
        f"{'':<26}{'median':>8}{'most':>8}{head}{'changes/s':>10}{'p50':>8}{'p99':>8}{'p99.9':>8}"
        f"{'max':>8}{'rms':>8}{'most':>8}",
    ]
    for r in renderings:
        out = r.out
        share = np.bincount(out.level, minlength=n_levels) / len(out.level)
        times = np.percentile(r.microseconds, [50, 99, 99.9, 100])
        error = r.error(renderings[0])
        lines.append(
            f"{r.name:<26}{np.median(out.visited):>8.0f}{out.visited.max():>8}"
            + "".join(f"{100 * part:>6.0f}" for part in share)
            + f"{r.changes():>10.1f}"
            + "".join(f"{t:>8.1f}" for t in times)
            + f"{np.sqrt((error**2).mean()):>8.2%}{error.max():>8.2%}"
        )
    return "\n".join([*lines, NOTES])


# --- pictures -------------------------------------------------------------------------


@dataclass(frozen=True)
class Views:
    """Pictures of moments beside the curves.

    Attributes
    ----------
    cycles
        Which.
    bodies
        Gives surfaces for a cycle, as vertices and triangles.
    dot
        Radius of the points that touch [m].
    through
        True: draw them through objects that hide them.
    size, elevation
        Of the pictures [pixels], and of the viewer [degrees].
    """

    cycles: Sequence[int]
    bodies: Callable[[int], Sequence[tuple[Array, NDArray[np.int64]]]]
    dot: float
    through: bool = False
    size: tuple[int, int] = (1100, 620)
    elevation: float = 15.0


def moments(touching: NDArray[np.int32], n: int) -> list[int]:
    """Return n cycles in order: one on the way to contact, then those of most contact in time."""
    contact = np.flatnonzero(touching)
    if len(contact) < n:
        return [int(i) for i in np.linspace(0, len(touching) - 1, n)]
    parts = np.array_split(contact, n - 1)
    return [int(contact[0]) // 2, *(int(part[touching[part].argmax()]) for part in parts)]


def draw(
    path: Path,
    title: str,
    full: Rendering,
    other: Rendering,
    contact: rf.PenaltyContact,
    motion: scenes.Motion,
    qs: Array | None,
    views: Views,
    area: Array | None = None,
) -> None:
    """Draw the curves of two settings beside moments of the motion, as in figure 3.27.

    Parameters
    ----------
    path, title
        File and title of the picture.
    full, other
        With all levels, in black, and another setting, in red.
    contact
        Renders all levels, for the points that touch.
    motion, qs
        Of the field, and reduced coordinates of the shell.
    views
        The moments.
    area
        In contact over the cycles [m^2].
    """
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    n = len(views.cycles)
    figure = Figure(figsize=(13, 9.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 0.8))
    _curves(left, full, other, area)
    _mark(left, views.cycles)
    panels = right.subplots(n, 1, squeeze=False)[:, 0]
    for letter, ax, i in zip("abcdefgh", panels, views.cycles, strict=False):
        out = contact.evaluate(
            motion.positions[i], motion.quaternions[i], None if qs is None else qs[i], contacts=True
        )
        parts: list[tuple[Array, NDArray[np.int64], ArrayLike]] = [
            (*body, colour) for body, colour in zip(views.bodies(i), BODIES, strict=False)
        ]
        assert out.contacts is not None
        points = out.contacts.positions[:: max(1, out.touching // 12_000)]
        red = [(*scenes.dots(points, views.dot), CONTACT)] if len(points) else []
        image = scenes.picture(
            parts if views.through else parts + red,
            views.size,
            azimuth=-75,
            elevation=views.elevation,
            over=red if views.through else (),
        )
        ax.imshow(scenes.trimmed(image))
        ax.set_axis_off()
        ax.set_title(
            f"{letter}: cycle {i}; all {full.out.level[i] + 1} levels: {out.touching} points touch "
            f"(red), {full.size[i]:.2f} N\n{other.name}: {other.out.level[i] + 1} levels, "
            f"{other.out.touching[i]} points, {other.size[i]:.2f} N",
            fontsize=8,
        )
    figure.suptitle(title, fontsize=11)
    pictures.save_figure(figure, path, dpi=120)


def _curves(figure: Any, black: Rendering, red: Rendering, area: Array | None) -> None:
    """Draw nodes, level, time and force of two settings over the cycles."""
    rows = figure.subplots(5 if area is not None else 4, 1, sharex=True)
    frames = np.arange(len(black.out.level))
    # the slower one first: it is the larger one
    for r, colour in ((black, "k"), (red, "C3")):
        rows[0].plot(frames, r.out.visited, colour, lw=1.0, label=r.name)
        rows[1].plot(frames, r.out.level + 1, colour, lw=1.0)
        rows[2].plot(frames, r.microseconds, colour, lw=1.0)
        rows[3].plot(frames, r.size, colour, lw=1.0)
    rows[0].set_ylabel("nodes visited")
    # above: below the letters of the moments there is no room that is always free
    rows[0].legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    rows[1].set_ylabel("levels rendered")
    rows[1].set_ylim(0.5, black.out.level.max() + 1.5)
    rows[2].set_ylabel("time [us]")
    # single cycles that something else interrupted would hide the rest
    rows[2].set_ylim(0.0, 1.4 * np.percentile(black.microseconds, 99.5))
    rows[3].set_ylabel("force [N]")
    if area is not None:
        rows[4].plot(frames, 1e4 * area, "k", lw=1.0)
        rows[4].set_ylabel("contact [cm$^2$]")
    for ax in rows:
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=8)
    rows[-1].set_xlabel("haptic cycle, 1 ms each")
    rows[-1].set_xlim(0, len(frames) - 1)


def _mark(figure: Any, cycles: Sequence[int]) -> None:
    """Mark cycles in all curves: a, b, c, ... are the pictures beside."""
    for number, ax in enumerate(figure.axes):
        for letter, cycle in zip("abcdefgh", cycles, strict=False):
            ax.axvline(cycle, color="C2", lw=0.8, ls="--")
            if number == 0:
                ax.annotate(
                    letter, (cycle, 1.0), xycoords=("data", "axes fraction"), xytext=(2, -10),
                    textcoords="offset points", color="C2", fontsize=9,
                )  # fmt: skip


# --- command lines --------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser, frames: int, warm: Sequence[int]) -> None:
    """Add the options of a motion and of the settings it is replayed with, with their defaults."""
    parser.add_argument("--frames", type=int, default=frames, help=f"cycles of 1 ms ({frames})")
    shown = " ".join(map(str, warm))
    parser.add_argument(
        "--warm", type=int, nargs="+", default=list(warm), help=f"thresholds [nodes] ({shown})"
    )
    parser.add_argument("--budget", type=float, nargs="*", default=[100.0], help="[us] (100)")
