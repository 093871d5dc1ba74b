"""A peg in a matching hole: very large conforming contact (B07 3.13, figure 3.28).

The thesis inserts a dragon into a block from which the same dragon was cut, "a very difficult
contact configuration", a shell of five levels, and replays the recorded trajectory with all
levels and with graceful degradation at a warm threshold of 2,000 nodes. In the configuration it
shows 43 % of the points of its second level are traversed and 21 % touch.

The dragon is not available. Here a lizard with bumps on its back lies on its back in a block. The
block is made from fields alone, on one grid: the hole is the
lizard and all places above it, which it passes on its way out, made wider by a clearance, and

    d_block = max(d_box, clearance - d_hole).

The lizard is the shell, the block the object that moves: towards it along the hole, wobbling to
all sides and pressing by a little more than the clearance.

Run it for the numbers and plots:  python experiments/b07_3_13_peg.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import command
import contact_replays as replays
import contact_scenes as scenes
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf

Array = NDArray[np.float64]

RATE = 1000.0  # cycles a second
STIFFNESS = 60.0  # N/m of a point: 10 of them, L, make the 0.6 N/mm of the thesis' device


@dataclass(frozen=True)
class Scene:
    """Peg, block and motion.

    Attributes
    ----------
    surface
        Of the peg.
    tree, field
        Shell of the peg, and block.
    low, high
        Corners of the block [m].
    motion
        Of the block; seated it is not moved at all.
    clearance
        Between peg and hole [m].
    seconds
        Time of making it.
    """

    surface: rf.Surface
    tree: rf.PointTree
    field: rf.DistanceField
    low: Array
    high: Array
    motion: scenes.Motion
    clearance: float
    seconds: dict[str, float]

    @property
    def voxel(self) -> float:
        """Spacing of the grid [m]."""
        return float(self.field.spacing.max())


@dataclass(frozen=True)
class Experiment(replays.Replays):
    """Replays of a scene; the first one with all levels."""

    scene: Scene

    def area(self, rendering: replays.Rendering) -> Array:
        """Return the area in contact [m^2] by the points of the levels that were rendered, (n,)."""
        counts = self.scene.tree.node_counts[rendering.out.level]
        return np.asarray(rendering.out.touching / counts * self.scene.surface.area)

    def table(self) -> str:
        """Return the numbers as text."""
        s = self.scene
        counts = ", ".join(f"{n:,}" for n in s.tree.node_counts)
        first = self.full.out
        i = int(first.touching.argmax())
        area = self.area(self.full)[i]
        lines = [
            f"peg of {s.tree.shell.n_points} points, nodes of levels: {counts}; block of "
            f"{' x '.join(str(n) for n in s.field.values.shape)} samples, voxels of "
            f"{1e3 * s.voxel:.2f} mm, clearance {1e3 * s.clearance:.2f} mm",
            f"{len(first.level)} cycles; most points in contact {first.touching[i]} (cycle {i}), "
            f"{1e4 * area:.1f} cm^2, {area / s.surface.area:.0%} of the surface; deepest "
            f"{first.depth.max() / s.voxel:.2f} voxels; largest force "
            f"{self.full.size.max():.2f} N",
            ", ".join(f"{name} {t:.1f} s" for name, t in s.seconds.items()),
            "",
            replays.table(self.renderings, s.tree.n_levels),
            "",
            f"{'in the cycle of most contact':<30}{'level':>6}{'visited':>9}{'touching':>9}"
            f"{'of the level':>14}{'contact':>12}{'force [N]':>11}{'error':>8}{'us':>9}",
        ]
        for r in self.renderings:
            out, n = r.out, s.tree.node_counts[r.out.level[i]]
            lines.append(
                f"{r.name:<30}{out.level[i] + 1:>6}{out.visited[i]:>9}{out.touching[i]:>9}"
                f"{out.touching[i] / n:>14.0%}{1e4 * self.area(r)[i]:>8.1f} cm2"
                f"{r.size[i]:>11.3f}{r.error(self.full)[i]:>8.1%}"
                f"{r.microseconds[i]:>9.1f}"
            )
        return "\n".join(lines)


def block(peg: rf.DistanceField, low: Array, high: Array, clearance: float) -> rf.DistanceField:
    """Return a box with a hole that matches a peg, open along +z.

    Parameters
    ----------
    peg
        Its field; the grid of the block is the same.
    low, high
        Corners of the box [m], inside of that grid.
    clearance
        Between peg and hole [m].
    """
    # the peg and all places above: the smallest sample of those below each one
    below = np.minimum.accumulate(peg.values, axis=2)
    hole = rf.OffsetField(rf.DistanceField(below, peg.origin, peg.spacing), clearance)
    made = rf.IntersectionField([rf.BoxField(low, high), rf.ComplementField(hole)])
    cells = np.array(below.shape) - 1
    corners = [peg.origin, peg.origin + cells * peg.spacing]
    return rf.DistanceField.from_field(made, tuple(int(n) for n in cells), box=corners)


def insertion(frames: int, height: float, press: float, size: float) -> scenes.Motion:
    """Return the motion of the block: below the peg at first, then over it, then pressed about.

    Parameters
    ----------
    frames
        Cycles.
    height
        Distance of the block at first [m].
    press
        Displacement to the sides and beyond the seat by which it is pressed [m].
    size
        Of the peg [m].
    """
    tilt = 6.0 * press / size  # rad, of a press at a sixth of the size
    keys = [
        (4 * press, 3 * press, -height, 4 * tilt, -3 * tilt, 2 * tilt),
        (2 * press, -2 * press, -0.55 * height, -2 * tilt, 2 * tilt, -tilt),
        (-press, press, -0.25 * height, tilt, -tilt, tilt),
        (0.6 * press, 0.4 * press, -0.08 * height, -0.5 * tilt, 0.5 * tilt, 0.0),
        (0.0, 0.0, press, 0.0, 0.0, 0.0),
        (0.8 * press, 0.0, 0.4 * press, 0.0, 0.4 * tilt, 0.0),
        (-0.3 * press, 0.8 * press, 0.5 * press, 0.3 * tilt, 0.0, 0.3 * tilt),
        (0.0, -0.5 * press, 1.2 * press, 0.0, 0.0, -0.3 * tilt),
        (0.0, 0.0, 0.8 * press, 0.0, -0.3 * tilt, 0.0),
        (0.5 * press, 0.0, -0.10 * height, 0.5 * tilt, 0.0, 0.0),
        (0.0, 3 * press, -0.5 * height, 2 * tilt, tilt, 0.0),
    ]
    return scenes.hand(keys, frames, 0.1 * press, 0.1 * tilt, RATE)


def scene(
    surface: rf.Surface,
    points: int = 128_000,
    levels: int = 5,
    resolution: int = 256,
    frames: int = 2000,
    clearance: float = 0.3,
    press: float = 0.8,
) -> Scene:
    """Make peg, block and motion.

    Parameters
    ----------
    surface
        Of the peg, in the pose in which it is seated; it comes out along +z.
    points, levels
        Of its shell.
    resolution
        Voxels along the grid.
    frames
        Cycles, 1,000 a second.
    clearance, press
        Between peg and hole, and how far beyond the seat the block is pressed [voxels].
    """
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    peg = rf.DistanceField.from_surface(surface, resolution=resolution, expand=1.35, mode="fast")
    seconds["field"] = time.perf_counter() - start
    start = time.perf_counter()
    voxel = float(peg.spacing.max())
    (x0, y0, z0), (x1, y1, z1) = surface.bounds
    size = float(np.ptp(surface.bounds, axis=0).max())
    wall = 0.08 * size
    low = np.array([x0 - wall, y0 - wall, z0 - wall])
    high = np.array([x1 + wall, y1 + wall, z0 + 0.62 * (z1 - z0)])
    made = block(peg, low, high, clearance * voxel)
    seconds["block"] = time.perf_counter() - start
    start = time.perf_counter()
    shell = rf.Pointshell.from_surface(surface, points, levels, 0, resolution)
    seconds["shell"] = time.perf_counter() - start
    motion = insertion(frames, 1.2 * (z1 - z0), (clearance + press) * voxel, size)
    return Scene(surface, rf.PointTree(shell), made, low, high, motion, clearance * voxel, seconds)


def run(
    made: Scene, warm: tuple[int, ...] = (2000,), budgets: tuple[float, ...] = (100.0,)
) -> Experiment:
    """Replay the motion with all levels and with degradation."""
    settings = [("all levels", {"warm_nodes": None}), *replays.thresholds(warm, budgets)]
    contact = partial(rf.PenaltyContact, made.tree, made.field, STIFFNESS)
    return Experiment(replays.render(contact, settings, made.motion, repeats=2), made)


def peg(rings: int = 320, sides: int = 96) -> rf.Surface:
    """Return a lizard on its back."""
    surface = scenes.lizard(rings=rings, sides=sides).surface
    return rf.Surface(surface.vertices * [1.0, -1.0, -1.0], surface.triangles)


def cut_block(made: Scene) -> tuple[Array, NDArray[np.int64]]:
    """Return the half of the block at y > 0, to look into the hole, as vertices and triangles.

    The hole is open upwards, so that the block is what lies below a height over x and y.
    """
    field = made.field
    n = field.values.shape
    axes = [field.origin[k] + field.spacing[k] * np.arange(n[k]) for k in range(3)]
    inside = [(axes[k] > made.low[k]) & (axes[k] < made.high[k]) for k in range(2)]
    middle = 0.5 * (made.low[1] + made.high[1])
    rows = np.flatnonzero(inside[0])
    columns = np.flatnonzero(inside[1] & (axes[1] >= middle))
    values = field.values[np.ix_(rows, columns)]
    # the highest sample inside, and where the distance is zero above it
    k = n[2] - 1 - np.argmax(values[..., ::-1] < 0.0, axis=2)
    below = np.take_along_axis(values, k[..., None], axis=2)[..., 0]
    above = np.take_along_axis(values, np.minimum(k + 1, n[2] - 1)[..., None], axis=2)[..., 0]
    top = axes[2][k] + field.spacing[2] * below / (below - above)
    x, y = np.meshgrid(axes[0][rows], axes[1][columns], indexing="ij")
    floor = np.full_like(top, made.low[2])
    # the top, and walls down to the floor all round
    sheets = [(x, y, top)]
    for edge in ((slice(None), 0), (slice(None), -1), (0, slice(None)), (-1, slice(None))):
        sheets.append(
            tuple(np.stack([a[edge], b[edge]]) for a, b in ((x, x), (y, y), (top, floor)))
        )
    vertices, triangles, start = [], [], 0
    for sheet in sheets:
        points = np.stack(sheet, axis=-1)
        a, b = points.shape[:2]
        index = start + np.arange(a * b).reshape(a, b)
        quads = [index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]]
        for three in ((0, 1, 2), (0, 2, 3)):
            triangles.append(np.stack([quads[m].ravel() for m in three], axis=1))
        vertices.append(points.reshape(-1, 3))
        start += a * b
    return np.concatenate(vertices), np.concatenate(triangles)


def plot(experiment: Experiment, path: Path, red: str = "warm 2000") -> None:
    """Draw the curves of figure 3.28 beside moments of the insertion."""
    made, full = experiment.scene, experiment.full
    rear, triangles = cut_block(made)

    def bodies(i: int) -> list[tuple[Array, NDArray[np.int64]]]:
        block = scenes.to_world(rear, made.motion.positions[i], made.motion.quaternions[i])
        peg = made.surface.vertices, made.surface.triangles
        return [(block, triangles), (peg[0], peg[1])]

    most = int(full.out.touching.argmax())
    shown = sorted({0, len(made.motion) // 5, most})
    replays.draw(
        path,
        f"A peg (shell) in a matching hole (field, cut open): all levels (black) and graceful "
        f"degradation, {red} nodes (red)",
        full,
        experiment.rendering(red),
        rf.PenaltyContact(made.tree, made.field, STIFFNESS, None, direction="normal"),
        made.motion,
        None,
        replays.Views(shown, bodies, 0.6 * made.voxel, elevation=12.0),
        experiment.area(full),
    )


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    made = scene(
        scenes.read(arguments.surface) if arguments.surface else peg(),
        arguments.points,
        arguments.levels,
        arguments.resolution,
        arguments.frames,
        arguments.clearance,
        arguments.press,
    )
    experiment = run(made, tuple(arguments.warm), tuple(arguments.budget))
    print(experiment.table())
    plot(experiment, arguments.plot, f"warm {arguments.warm[0]}")


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 15 s")
    parser.add_argument("--surface", type=Path, help="a closed surface in place of the lizard")
    parser.add_argument("--points", type=int, default=128_000, help="of the shell (128000)")
    parser.add_argument("--levels", type=int, default=5, help="of the shell (5)")
    parser.add_argument("--resolution", type=int, default=256, help="voxels of the grid (256)")
    parser.add_argument("--clearance", type=float, default=0.3, help="of the hole [voxels] (0.3)")
    parser.add_argument("--press", type=float, default=0.8, help="beyond the seat [voxels] (0.8)")
    replays.add_options(parser, 2000, [2000])
    return command.run(perform, command.parse(parser, positive=("clearance", "press"), frames=2))


if __name__ == "__main__":
    sys.exit(main())
