"""Small features that are felt: a back with bumps slid along a shelf (B07 3.13, figure 3.26).

The thesis slides the back of a rigid dinosaur, a field of 256 voxels a side, along the upper
shelf of a rigid bridge, a pointshell of five levels with 256,000 points, and plots the magnitude
of the force over time under shells of growing depth: "six bumps total touch the bridge, one
after another; the impact of each individual bump can be clearly seen". Dinosaur and bridge are
not available; here a lizard with six bumps of 4 mm on its back is slid along a shelf that is
bent a little, so that one bump touches at a time. The bumps enter by a part of a voxel to
a few voxels.

A bump touches on a level if there is any force while it passes, and counts as felt if the largest
one is at least a quarter of that under the finest shell; the next columns compare the whole curve
with that of the finest one.

Run it for the numbers and plots:  python experiments/b07_3_13_features.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import command
import contact_scenes as scenes
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

STIFFNESS = 100.0  # N/m of a point
RATE = 1000.0  # cycles a second
LENGTH, WIDTH, THICKNESS, BEND = 0.24, 0.12, 0.02, 0.16  # of the shelf, and its radius [m]
FELT = 0.25  # of the largest force under the finest shell, while a bump passes


@dataclass(frozen=True)
class Level:
    """Contact of a shell of some levels.

    Attributes
    ----------
    points, spacing
        Their number, and the root of the area of the shelf for each [m].
    force
        Magnitude over the cycles [N], (n,).
    peaks
        Largest force while each bump passes [N], (bumps,).
    correlation, error
        With the force under the finest shell; the root mean square of the difference over
        that of the latter.
    visited, touching, microseconds
        Largest of nodes and points; median time of a cycle.
    """

    points: int
    spacing: float
    force: Array
    peaks: Array
    correlation: float
    error: float
    visited: int
    touching: int
    microseconds: float

    @property
    def touched(self) -> int:
        """Number of bumps that meet points at all."""
        return int((self.peaks > 0.0).sum())

    def felt(self, finest: Level) -> int:
        """Return how many bumps are felt."""
        return int((self.peaks >= FELT * finest.peaks).sum())


@dataclass(frozen=True)
class Experiment:
    """The forces under all shells, coarse ones first, with the scene.

    Attributes
    ----------
    levels
        One for each level of the shell.
    voxel, depth
        Of the field [m]; how far tips of bumps enter the shelf [m].
    windows
        First and last cycle of the passage of each bump, (bumps, 2).
    motion, lizard, shelf
        The scene.
    """

    levels: list[Level]
    voxel: float
    depth: float
    windows: NDArray[np.int64]
    motion: scenes.Motion
    lizard: scenes.Lizard
    shelf: rf.Surface
    seconds: dict[str, float]

    @property
    def finest(self) -> Level:
        """The shell with all levels."""
        return self.levels[-1]

    def table(self) -> str:
        """Return the numbers as text."""
        n = len(self.windows)
        speed = self.motion.speed()[0] * RATE
        lines = [
            f"{n} bumps of {1e3 * self.lizard.height:.1f} mm, {1e3 * self.depth:.2f} mm deep; "
            f"voxels of {1e3 * self.voxel:.2f} mm; {len(self.motion)} cycles, "
            f"up to {speed:.2f} m/s; "
            + ", ".join(f"{name} {s:.1f} s" for name, s in self.seconds.items()),
            "",
            f"{'':>26}{'bumps that':^16}{'largest forces':^18}{'whole curve':^18}{'most':>13}\n"
            f"{'levels':>6}{'points':>9}{'spacing':>11}{'touch':>7}{'are felt':>10}"
            f"{'from':>7}{'to':>7}{'corr.':>9}{'error':>9}{'touching':>10}{'visited':>9}{'us':>8}",
        ]
        for j, level in enumerate(self.levels):
            part = level.peaks / self.finest.peaks
            lines.append(
                f"{j + 1:>6}{level.points:>9}{1e3 * level.spacing:>8.2f} mm"
                f"{level.touched:>7}{level.felt(self.finest):>5} of {n}{part.min():>7.0%}"
                f"{part.max():>7.0%}{level.correlation:>9.3f}{level.error:>9.1%}{level.touching:>10}"
                f"{level.visited:>9}{level.microseconds:>8.1f}"
            )
        return "\n".join(lines)


def slide(lizard: scenes.Lizard, depth: float, frames: int) -> tuple[scenes.Motion, Array]:
    """Return the motion that slides the back along the underside of the shelf.

    The point of the back that is nearest to the shelf moves from before the first bump to
    behind the last one, and the place on the shelf moves along with it, also a bit sideways,
    so that each bump meets other points of the shell. There back and shelf are parallel; a bump
    enters by `depth`. Also returned is that point over time, as an index of the line of the
    back.
    """
    back = lizard.back
    gap = np.diff(lizard.tips).mean() if len(lizard.tips) > 1 else 0.1 * len(back)
    first, last = lizard.tips[0] - 0.6 * gap, lizard.tips[-1] + 0.6 * gap
    s = np.linspace(0.0, 1.0, frames)
    # as a hand: slow, faster, slow; and a little uneven
    done = s - 0.04 * np.sin(2 * np.pi * s) + 0.004 * np.sin(17 * s)
    at = first + (last - first) * done
    index = np.arange(len(back))
    x = np.stack([np.interp(at, index, back[:, axis]) for axis in range(3)], axis=1)
    slope = np.gradient(back, axis=0)
    along = np.stack([np.interp(at, index, slope[:, axis]) for axis in range(3)], axis=1)
    # position on the shelf, as an angle about the axis of its bend
    place = 0.3 * (2.0 * done - 1.0)
    down = np.stack([np.sin(place), np.zeros(frames), -np.cos(place)], axis=1)
    lowest = BEND + 0.5 * THICKNESS
    touched = [0.0, 0.0, lowest] + lowest * down
    touched[:, 1] += 0.004 * np.sin(2.6 * np.pi * done)
    # turned about y so that both are parallel, then moved so that a bump would enter
    pitch = np.arctan2(along[:, 2], along[:, 0]) - place
    q = scenes.of_rotation_vector(pitch[:, None] * np.array([0.0, 1.0, 0.0]))
    turned = np.stack([scenes.rotation(q[i]) @ x[i] for i in range(frames)])
    return scenes.Motion(touched + (lizard.height - depth) * down - turned, q), at


def run(
    points: int = 128_000,
    levels: int = 5,
    resolution: int = 256,
    frames: int = 3000,
    depth: float = 0.0007,
    bumps: int = 6,
) -> Experiment:
    """Run the experiment.

    Parameters
    ----------
    points, levels
        Of the shell on the shelf.
    resolution
        Of the field of the lizard.
    frames
        Cycles, 1,000 a second.
    depth
        Depth of the bumps in the shelf [m].
    bumps
        On the back.
    """
    lizard = scenes.lizard(bumps)
    surface = scenes.shelf(LENGTH, WIDTH, THICKNESS, BEND)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    field = rf.DistanceField.from_surface(
        lizard.surface, resolution=resolution, expand=1.2, mode="fast"
    )
    seconds["field"] = time.perf_counter() - start
    start = time.perf_counter()
    shell = rf.Pointshell.from_surface(surface, points, levels, 0, resolution)
    seconds["shell"] = time.perf_counter() - start

    motion, at = slide(lizard, depth, frames)
    gap = np.diff(lizard.tips).mean() if bumps > 1 else 0.1 * len(lizard.back)
    near = np.abs(at[None] - lizard.tips[:, None]) < 0.5 * gap
    windows = np.array([np.flatnonzero(row)[[0, -1]] for row in near])

    start = time.perf_counter()
    replays = []
    for level in range(shell.n_levels):
        part = shell.up_to(level)
        contact = rf.PenaltyContact(rf.PointTree(part), field, STIFFNESS, None, direction="normal")
        replays.append((part, scenes.replay(contact, motion)))
    seconds["contact"] = time.perf_counter() - start
    best = np.linalg.norm(replays[-1][1].force, axis=1)
    found = []
    for part, out in replays:
        force = np.linalg.norm(out.force, axis=1)
        felt = force.std() > 0 and best.std() > 0
        found.append(
            Level(
                part.n_points,
                float(np.sqrt(surface.area / part.n_points)),
                force,
                np.array([force[a : b + 1].max() for a, b in windows]),
                float(np.corrcoef(force, best)[0, 1]) if felt else 0.0,
                float(np.linalg.norm(force - best) / np.linalg.norm(best)),
                int(out.visited.max()),
                int(out.touching.max()),
                float(np.median(out.microseconds)),
            )
        )
    return Experiment(
        found, float(field.spacing.max()), depth, windows, motion, lizard, surface, seconds
    )


def plot(experiment: Experiment, path: Path) -> None:
    """Draw the scene and the magnitude of the force over time for each shell."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    e = experiment
    n = len(e.levels)
    figure = Figure(figsize=(12, 1.6 * n + 0.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(0.7, 1.0))
    views = left.subplots(3, 1)
    shown = (0, len(e.motion) // 2, len(e.motion) - 1)
    for ax, i in zip(views, shown, strict=True):
        moved = scenes.to_world(
            e.lizard.surface.vertices, e.motion.positions[i], e.motion.quaternions[i]
        )
        image = scenes.picture(
            [
                (e.shelf.vertices, e.shelf.triangles, (0.86, 0.70, 0.38)),
                (moved, e.lizard.surface.triangles, (0.52, 0.66, 0.50)),
            ],
            (1000, 620),
            azimuth=-80,
            elevation=4,
        )
        ax.imshow(image)
        ax.set_axis_off()
        ax.set_title(f"{i / RATE:.1f} s", fontsize=9)
    time_s = np.arange(len(e.motion)) / RATE
    rows = right.subplots(n, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for j, (ax, level) in enumerate(zip(rows, e.levels, strict=True)):
        for a, b in e.windows[::2]:
            ax.axvspan(time_s[a], time_s[b], color="0.5", alpha=0.10, lw=0)
        ax.plot(time_s, level.force, color="C3", lw=1.2)
        felt = level.felt(e.finest)
        ax.set_title(
            f"{j + 1} level{'s' if j else ''}, {level.points:,} points, "
            f"{1e3 * level.spacing:.1f} mm apart: {level.touched} of {len(e.windows)} bumps touch, "
            f"{felt} are felt",
            fontsize=9,
        )
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=8)
    rows[-1].set_xlabel("time [s]; grey and white: a bump passes")
    rows[n // 2].set_ylabel("force [N]")
    rows[0].set_xlim(time_s[0], time_s[-1])
    rows[0].set_ylim(0.0, None)
    figure.suptitle(
        "Bumps on a back slid along a shelf, by the levels of its shell; felt: at least "
        f"{FELT:.0%} of the force under the finest shell",
        fontsize=11,
    )
    pictures.save_figure(figure, path, dpi=120)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    experiment = run(
        arguments.points,
        arguments.levels,
        arguments.resolution,
        arguments.frames,
        1e-3 * arguments.depth,
        arguments.bumps,
    )
    print(experiment.table())
    plot(experiment, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 8 s")
    parser.add_argument("--points", type=int, default=128_000, help="of the shell (128000)")
    parser.add_argument("--levels", type=int, default=5, help="of the shell (5)")
    parser.add_argument("--resolution", type=int, default=256, help="voxels of the field (256)")
    parser.add_argument("--frames", type=int, default=3000, help="cycles of 1 ms (3000)")
    parser.add_argument(
        "--depth", type=float, default=0.7, help="of the bumps in the shelf [mm] (0.7)"
    )
    parser.add_argument("--bumps", type=int, default=6, help="on the back (6)")
    return command.run(perform, command.parse(parser, positive=("depth",), frames=2, bumps=2))


if __name__ == "__main__":
    sys.exit(main())
