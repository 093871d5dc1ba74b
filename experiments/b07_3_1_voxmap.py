"""Forces on voxels of two bits and on distance fields along the same ways.

After Barbic 2007, section 3.1: the force of the Voxmap-PointShell method jumps where points go
from voxel to voxel, and vanishes where they have crossed the layer of surface voxels. Here the
plate moves below a ball: along its face, against its face, and against a single point of the ball.
Printed is the largest difference between successive samples, in units of stiffness times the edge
of a voxel, as the step goes to zero: differences of a continuous force go to zero too.

Run it for the numbers and a plot:  python experiments/b07_3_1_voxmap.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np

import reducedfem as rf
from reducedfem import plot as pictures

RADIUS = 0.03  # m, of the ball
HALF = np.array([0.1, 0.08, 0.03])  # m, of the plate
STIFFNESS = 100.0
STEPS = (100, 1000, 10_000)
LEVEL = (1.0, 0.0, 0.0, 0.0)


def plate() -> tuple[rf.Surface, np.ndarray]:
    """Return a plate that is turned against the voxels, and its axes as columns."""
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) * HALF
    quads = np.array(
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    )
    a, b = 0.3, 0.2
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    turn = about_y @ about_x
    return rf.Surface(corners @ turn.T, np.vstack([quads[:, :3], quads[:, [0, 2, 3]]])), turn


@dataclass(frozen=True)
class Way:
    """Motion of the plate, and the object that it meets.

    Attributes
    ----------
    title
        For people.
    start, whole
        First position of the ball in the frame of the plate, and the whole way [m], (3,).
    shell
        The ball, or one point of it.
    """

    title: str
    start: np.ndarray
    whole: np.ndarray
    shell: rf.Pointshell


@dataclass(frozen=True)
class Curve:
    """Forces along a way.

    Attributes
    ----------
    jumps
        Largest difference of successive samples for each of STEPS, over k h.
    across
        Part of the force across the face, at the last of STEPS [N].
    """

    jumps: list[float]
    across: np.ndarray


@dataclass(frozen=True)
class Experiment:
    """Forces of both methods along all ways.

    Attributes
    ----------
    ways
        By name.
    curves
        For a way and a method.
    points, voxel
        Of the ball; edge [m].
    """

    ways: dict[str, Way]
    curves: dict[tuple[str, str], Curve]
    points: int
    voxel: float

    def table(self) -> str:
        """Return the numbers as text."""
        lines = [
            f"{self.points} points, k = {STIFFNESS:g} N/m, voxels of h = {1e3 * self.voxel:.2f} mm",
            "largest difference of the force between successive samples, over k h:",
            "",
            f"{'way':<12}{'method':<16}" + "".join(f"{n:>8}" for n in STEPS) + " samples",
        ]
        for (way, method), curve in self.curves.items():
            kept = curve.jumps[-1] / max(curve.jumps[0], 1e-300)
            lines.append(
                f"{way:<12}{method:<16}"
                + "".join(f"{jump:>8.4f}" for jump in curve.jumps)
                + f"{kept:>9.1%} of it left"
            )
        return "\n".join(lines)


def ways(turn: np.ndarray, points: int) -> dict[str, Way]:
    """Return the ways by name."""
    along, up = turn[:, 0], turn[:, 2]
    top = (HALF[2] + RADIUS) * up
    ball = rf.Pointshell.from_field(rf.SphereField((0, 0, 0), RADIUS), points=points, levels=1)
    lowest = rf.Pointshell(-RADIUS * up[None], up[None])
    above, down = top + 0.002 * up, -0.015 * up
    return {
        # not quite parallel to the face
        "slide": Way(
            "along the face, 2 to 3 mm deep",
            top - 0.002 * up - 0.05 * along, 0.1 * along - 0.001 * up, ball,
        ),
        "approach": Way("against the face, from 2 mm above", above, down, ball),
        "one point": Way("the same, one point only", above, down, lowest),
    }  # fmt: skip


def forces(contact: rf.VoxmapContact | rf.PenaltyContact, way: Way, steps: int) -> np.ndarray:
    """Return the forces as the plate moves below the ball, which stays where it is."""
    return np.array(
        [
            contact.evaluate(-(way.start + s * way.whole), LEVEL).force
            for s in np.linspace(0, 1, steps + 1)
        ]
    )


def run(resolution: int = 64, points: int = 500) -> Experiment:
    """Run the experiment with so many voxels along the plate, and points on the ball."""
    surface, turn = plate()
    voxmap = rf.Voxmap.from_surface(surface, resolution)
    field = rf.DistanceField.from_surface(surface, resolution)
    unit = STIFFNESS * voxmap.edge
    curves = {}
    made = ways(turn, points)
    for name, way in made.items():
        contacts = {
            "voxmap": rf.VoxmapContact(way.shell, voxmap, STIFFNESS),
            # as there, forces are not scaled
            "distance field": rf.PenaltyContact(
                rf.PointTree(way.shell), field, STIFFNESS, max_points=None, direction="normal"
            ),
        }
        for method, contact in contacts.items():
            jumps = []
            for steps in STEPS:
                found = forces(contact, way, steps)
                jumps.append(float(np.linalg.norm(np.diff(found, axis=0), axis=1).max() / unit))
            curves[name, method] = Curve(jumps, -found @ turn[:, 2])
    return Experiment(made, curves, points, voxmap.edge)


def plot(experiment: Experiment, path: Path) -> None:
    """Draw the forces along the ways, a part of the slide once more at a larger scale."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    e = experiment
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    slide, zoom, approach, point = figure.subplots(2, 2).ravel()
    for ax, name, part in (
        (slide, "slide", 1.0), (zoom, "slide", 0.03), (approach, "approach", 1.0),
        (point, "one point", 1.0),
    ):  # fmt: skip
        way = e.ways[name]
        for method, colour in (("voxmap", "C0"), ("distance field", "C1")):
            curve = e.curves[name, method]
            length = 1e3 * np.linalg.norm(way.whole)
            x = np.linspace(0, length, len(curve.across))
            shown = x <= part * length
            ax.plot(x[shown], curve.across[shown], color=colour, lw=0.9,
                    label=f"{method}: largest jump {curve.jumps[-1]:.2g} k h")  # fmt: skip
        ax.set_title(way.title if part == 1.0 else "the same, the first 3 mm", fontsize=9)
        ax.set_xlabel("way [mm]")
        ax.set_ylabel("force across the face [N]")
        ax.grid(alpha=0.3)
    # room for what the curves must not cover
    for ax in (slide, approach, point):
        ax.margins(y=0.3)
        ax.legend(fontsize=8, loc="upper left")
    figure.suptitle(
        "Voxels of two bits and a distance field on the same ways: the force jumps from voxel to "
        f"voxel, and ends behind the layer of surface voxels ({STEPS[-1]:,} samples)",
        fontsize=10,
    )
    pictures.save_figure(figure, path, dpi=120)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    experiment = run(arguments.resolution, arguments.points)
    print(experiment.table())
    plot(experiment, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 2 s")
    parser.add_argument("--resolution", type=int, default=64, help="voxels along the plate (64)")
    parser.add_argument("--points", type=int, default=500, help="of the ball (500)")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
