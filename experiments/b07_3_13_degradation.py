"""Graceful degradation over a recorded trajectory (B07 3.13, figure 3.27).

The thesis replays the recorded trajectory of a rigid dinosaur against a deformable bridge, a
pointshell of four levels with 85,018 points and r = 15, in two ways: with all levels, and with
graceful degradation at a warm threshold of 600 nodes. It plots nodes visited, levels, times and
forces; on the machine of its table 3.1 full cycles take up to 800 us. Levels were seen to change
"at most 2 to 3 times per second".

Dinosaur and trajectory are not available. Here a slab, bent a little, a field of 256 voxels a side,
is led over the sample bridge by a hand: formulas for its places, least jerk between them, a tremor
at 8 to 11 Hz. It is pressed flat on the deck, twice, and then on its edge. It hangs on the hand by
a spring (static virtual coupling) and bends the bridge, whose motion is simulated with all levels;
poses and reduced coordinates are recorded, and replayed with each setting, so that all of them see
the same contact. The bridge consists of several closed parts that overlap.

Errors are distances to the force with all levels, relative to the largest one. Where the contact is
large, as on the face of the slab, coarse levels give nearly the same force; they lose more where it
is narrower than their points are apart, as on its edge.

Nodes that temporal coherence passes over count for the thresholds here, so that levels do not
depend on it; those of the thesis count visited nodes only.

Run it for the numbers and plots:  python experiments/b07_3_13_degradation.py [--help]
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
from reducedfem import samples

Array = NDArray[np.float64]

RATE = 1000.0  # cycles a second
STIFFNESS = 80.0  # N/m of a point; scaled, 10 of them count
SPRING, TORSION = 200.0, 0.5  # of the virtual coupling [N/m], [N m/rad]
LARGEST = 1.2  # N of that spring: penetrations of two or three voxels
SLAB = 0.24, 0.09, 0.024  # length, width, thickness [m]; it passes between the rods
BEND = 1.5  # m, radius of the slab: its middle touches first
MATERIAL = rf.StVK(young=1.5e5, poisson=0.4, density=30.0)  # soft and light, 1 cm under 3 N


@dataclass(frozen=True)
class Scene:
    """A deformable shell, a rigid field, and how the one moves against the other.

    Attributes
    ----------
    surface, other
        Of the shell and of the field.
    tree, field
        The two sides of contact.
    motion, qs
        Of the field, and reduced coordinates of the shell.
    seconds
        Time of making it.
    """

    surface: rf.Surface
    other: rf.Surface
    tree: rf.PointTree
    field: rf.Field
    motion: scenes.Motion
    qs: Array
    seconds: dict[str, float]


@dataclass(frozen=True)
class Experiment(replays.Replays):
    """Replays of a scene; the first one with all levels."""

    scene: Scene

    def table(self) -> str:
        """Return the numbers as text."""
        tree, first = self.scene.tree, self.full.out
        counts = ", ".join(f"{n:,}" for n in tree.node_counts)
        step, turn = self.scene.motion.speed()
        lines = [
            f"deformable shell of {tree.shell.n_points} points, r = {tree.r}, nodes of levels: "
            f"{counts}; {len(first.level)} cycles, up to {step * RATE:.2f} m/s and "
            f"{turn * RATE:.1f} rad/s",
            f"most points in contact {first.touching.max()}, deepest "
            f"{1e3 * first.depth.max():.2f} mm, largest force "
            f"{self.full.size.max():.2f} N, in contact "
            f"{(first.touching > 0).mean():.0%} of the time",
            ", ".join(f"{name} {s:.1f} s" for name, s in self.scene.seconds.items()),
            "",
            replays.table(self.renderings, tree.n_levels),
        ]
        return "\n".join(lines)


def bridge(resolution: int, r: int) -> tuple[rf.Surface, rf.ReducedSolid]:
    """Return the sample bridge, held at the feet of its piers, and its reduced model."""
    surface = samples.load("bridge")
    mesh = rf.voxelize(surface, resolution, fill=False)
    z = mesh.nodes[:, 2]
    solid = rf.Solid(mesh, MATERIAL, fixed=z < z.min() + 0.04)
    return surface, rf.reduce(solid, rf.modal_derivative_basis(solid, k=8, r=r))


def slab() -> rf.Surface:
    """Return what is led over the bridge, its box about the origin."""
    surface = scenes.shelf(*SLAB, BEND)
    return rf.Surface(surface.vertices - surface.bounds.mean(axis=0), surface.triangles)


def hand_over_bridge(points: Array, lowest: float, frames: int) -> scenes.Motion:
    """Return the motion of the hand: from afar, pressed on the deck, flat and on edge, and away.

    Parameters
    ----------
    points
        Of the bridge [m], shape (n, 3).
    lowest
        Height of the slab's lowest point in its own frame [m].
    frames
        Cycles.
    """
    # the slab as it lies on the deck, in the middle of the bridge
    x, y, z = np.abs(points - [0.5, 0.0, 0.0]).T
    deck = z[(x < 0.5 * SLAB[0]) & (y < 0.3 * SLAB[1]) & (z < 0.2)]
    z = float(deck.max()) - lowest
    edge = z + 0.5 * (SLAB[1] - SLAB[2])
    keys = [
        (-0.45, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (-0.10, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (0.25, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (0.50, 0.00, z - 0.004, 0.0, 0.0, 0.0),
        (0.45, 0.01, z - 0.008, 0.0, 0.02, 0.05),
        (0.55, 0.00, z + 0.010, 0.0, -0.05, 0.05),
        (0.52, 0.01, z - 0.004, 0.05, 0.0, 0.05),
        (0.50, 0.00, z + 0.020, 0.8, 0.0, 0.0),
        (0.46, 0.00, edge - 0.004, 1.57, 0.0, 0.0),
        (0.54, -0.01, edge - 0.008, 1.6, 0.03, 0.05),
        (0.40, 0.00, z + 0.020, 0.8, 0.0, 0.0),
        (0.00, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (-0.45, 0.00, z + 0.010, 0.0, 0.0, 0.0),
    ]
    return scenes.hand(keys, frames, 0.0004, 0.004, RATE)


def scene(
    points: int = 85_000,
    levels: int = 5,
    resolution: int = 256,
    voxels: int = 64,
    r: int = 15,
    frames: int = 5000,
) -> Scene:
    """Make the scene and record the trajectory.

    Parameters
    ----------
    points, levels
        Of the shell of the bridge.
    resolution
        Of the field of the slab.
    voxels, r
        Of the bridge's mesh along the grid, and its reduced coordinates.
    frames
        Cycles, 1,000 a second.
    """
    seconds: dict[str, float] = {}

    def took(name: str, start: float) -> None:
        seconds[name] = time.perf_counter() - start

    start = time.perf_counter()
    surface, reduced = bridge(voxels, r)
    took("reduction", start)
    start = time.perf_counter()
    body = slab()
    field = rf.DistanceField.from_surface(body, resolution=resolution, expand=1.2, mode="fast")
    took("field", start)
    start = time.perf_counter()
    shell = rf.Pointshell.from_surface(surface, points, levels, 0, resolution)
    took("shell", start)
    start = time.perf_counter()
    tree = rf.PointTree(shell, reduced)
    took("tree", start)
    start = time.perf_counter()
    simulation = rf.ImplicitNewmark(reduced, 1.0 / RATE, damping=(1.0, 0.002))
    motion, qs = scenes.record(
        rf.PenaltyContact(tree, field, STIFFNESS, None, direction="normal"),
        hand_over_bridge(shell.points, float(body.bounds[0, 2]), frames),
        SPRING,
        TORSION,
        simulation,
        LARGEST,
    )
    took("recording", start)
    assert qs is not None
    return Scene(surface, body, tree, field, motion, qs, seconds)


def run(
    made: Scene,
    warm: tuple[int, ...] = (800, 2500, 4000),
    budgets: tuple[float, ...] = (100.0,),
    repeats: int = 3,
) -> Experiment:
    """Replay the trajectory of a scene.

    Parameters
    ----------
    made
        The scene.
    warm
        Warm thresholds [nodes].
    budgets
        Times of a cycle in place of a threshold [us].
    repeats
        The time of a cycle is the least of so many replays.
    """
    settings = [
        ("all levels", {"warm_nodes": None}),
        ("all, no coherence", {"warm_nodes": None, "temporal_coherence": False}),
        *replays.thresholds(warm, ()),
        (f"warm {warm[0]}, cold the same", {"warm_nodes": warm[0], "cold_ratio": 1.0}),
        (f"warm {warm[0]}, no coherence", {"warm_nodes": warm[0], "temporal_coherence": False}),
        *replays.thresholds((), budgets),
    ]
    contact = partial(rf.PenaltyContact, made.tree, made.field, STIFFNESS)
    return Experiment(replays.render(contact, settings, made.motion, made.qs, repeats), made)


def plot(experiment: Experiment, path: Path, red: str = "warm 2500") -> None:
    """Draw the curves of figure 3.27 beside four moments of the scene."""
    made, full = experiment.scene, experiment.full
    reduced = made.tree.reduced
    assert reduced is not None
    skin = rf.Skin(reduced, made.surface)

    def bodies(i: int) -> list[tuple[Array, NDArray[np.int64]]]:
        x = scenes.to_world(
            made.other.vertices, made.motion.positions[i], made.motion.quaternions[i]
        )
        return [(skin.positions(made.qs[i]), made.surface.triangles), (x, made.other.triangles)]

    replays.draw(
        path,
        f"A slab (field) led over a deformable bridge (shell): all levels (black) and graceful "
        f"degradation, {red} nodes (red)",
        full,
        experiment.rendering(red),
        rf.PenaltyContact(made.tree, made.field, STIFFNESS, None, direction="normal"),
        made.motion,
        made.qs,
        replays.Views(
            replays.moments(full.out.touching, 4), bodies, 0.0025, through=True, size=(2200, 1240)
        ),
    )


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    made = scene(
        arguments.points,
        arguments.levels,
        arguments.resolution,
        arguments.voxels,
        arguments.r,
        arguments.frames,
    )
    experiment = run(made, tuple(arguments.warm), tuple(arguments.budget))
    print(experiment.table())
    plot(experiment, arguments.plot, f"warm {arguments.warm[len(arguments.warm) // 2]}")


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 20 s")
    parser.add_argument("--points", type=int, default=85_000, help="of the shell (85000)")
    parser.add_argument("--levels", type=int, default=5, help="of the shell (5)")
    parser.add_argument("--resolution", type=int, default=256, help="voxels of the field (256)")
    parser.add_argument("--voxels", type=int, default=64, help="of the bridge's mesh (64)")
    parser.add_argument("--r", type=int, default=15, help="reduced coordinates (15)")
    replays.add_options(parser, 5000, [800, 2500, 4000])
    return command.run(perform, command.parse(parser, frames=2))


if __name__ == "__main__":
    sys.exit(main())
