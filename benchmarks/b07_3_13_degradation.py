"""Graceful degradation over a recorded trajectory (B07 3.13, figure 3.27).

The thesis replays the recorded trajectory of a rigid dinosaur against a deformable bridge, a
pointshell of four levels with 85,018 points and r = 15, in two ways: with all levels, and with
graceful degradation at a warm threshold of 600 nodes. It plots nodes visited, levels, times and
forces; on the machine of its table 3.1 full cycles take up to 800 us. Levels were seen to change
"at most 2 to 3 times per second".

Dinosaur and trajectory are not to be had. Here a lizard with bumps on its back, a field of 256
voxels a side, is led over the sample bridge by a hand: formulas for its places, least jerk
between them, a tremor at 8 to 11 Hz. The lizard hangs on the hand by a spring (static virtual
coupling) and bends the bridge, whose motion is simulated with all levels; poses and reduced
coordinates are recorded, and replayed with each setting, so that all of them see the same contact.
The bridge consists of several closed parts that overlap.

Errors are distances to the force with all levels, relative to the largest one. They are large
here wherever few points touch: the places of contact are smaller than the distance of points on
coarse levels. Large contact loses little (b07_3_13_peg.py).

Nodes that temporal coherence passes over count for the thresholds here, so that levels do not
depend on it; those of the thesis count visited nodes only.

Run it for the numbers and plots:  python benchmarks/b07_3_13_degradation.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import contact_scenes as scenes
import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures
from reducedfem import samples

Array = NDArray[np.float64]

RATE = 1000.0  # cycles a second
STIFFNESS = 80.0  # N/m of a point; scaled, 10 of them count
SPRING, TORSION = 200.0, 0.5  # of the virtual coupling [N/m], [N m/rad]
LARGEST = 0.8  # N of that spring: penetrations of a voxel or two
MATERIAL = rf.StVK(young=1.5e5, poisson=0.4, density=30.0)  # soft and light, 1 cm under 3 N


@dataclass(frozen=True)
class Scene:
    """A deformable shell, a rigid field, and how the one moves against the other.

    Attributes
    ----------
    surface, other
        Of the shell and of the field.
    tree, field
        What touches.
    motion, qs
        Of the field, and reduced coordinates of the shell.
    seconds
        What it took to make.
    """

    surface: rf.Surface
    other: rf.Surface
    tree: rf.PointTree
    field: rf.Field
    motion: scenes.Motion
    qs: Array
    seconds: dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """Replays of a scene; the first one with all levels."""

    scene: Scene
    renderings: list[scenes.Rendering]

    def rendering(self, name: str) -> scenes.Rendering:
        """Return one of the replays."""
        return next(r for r in self.renderings if r.name == name)

    def table(self) -> str:
        """Return the numbers as text."""
        tree, first = self.scene.tree, self.renderings[0].out
        counts = ", ".join(f"{n:,}" for n in tree.node_counts)
        step, turn = self.scene.motion.speed()
        lines = [
            f"deformable shell of {tree.shell.n_points} points, r = {tree.r}, nodes of levels: "
            f"{counts}; {len(first.level)} cycles, up to {step * RATE:.2f} m/s and "
            f"{turn * RATE:.1f} rad/s",
            f"most points in contact {first.touching.max()}, deepest "
            f"{1e3 * first.depth.max():.2f} mm, largest force "
            f"{self.renderings[0].size.max():.2f} N, in contact "
            f"{(first.touching > 0).mean():.0%} of the time",
            ", ".join(f"{name} {s:.1f} s" for name, s in self.scene.seconds.items()),
            "",
            scenes.renderings_table(self.renderings, tree.n_levels),
        ]
        return "\n".join(lines)


def bridge(resolution: int, r: int) -> tuple[rf.Surface, rf.ReducedSolid]:
    """Return the sample bridge, held at the feet of its piers, and its reduced model."""
    surface = samples.load("bridge")
    mesh = rf.voxelize(surface, resolution)
    z = mesh.nodes[:, 2]
    solid = rf.Solid(mesh, MATERIAL, fixed=z < z.min() + 0.04)
    return surface, rf.reduce(solid, rf.modal_derivative_basis(solid, k=8, r=r))


def hand_over_bridge(shell: rf.Pointshell, field: rf.Field, frames: int) -> scenes.Motion:
    """Return the motion of the hand: from afar, pressed on the deck, on its side, and away."""
    # the lizard as it stands on the deck, in the middle of the bridge
    low, high = 0.0, 0.4
    for _ in range(30):
        middle = 0.5 * (low + high)
        d = field.distance(shell.points - [0.5, 0.0, middle])
        # in the opening between deck and arches it is free
        low, high = (middle, high) if d.min() < 0.0 and middle < 0.28 else (low, middle)
    z = high
    keys = [
        (-0.45, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (-0.10, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (0.25, 0.00, z + 0.010, 0.0, 0.0, 0.0),
        (0.50, 0.00, z - 0.010, 0.0, 0.0, 0.0),
        (0.45, 0.01, z - 0.020, 0.0, 0.02, 0.1),
        (0.55, 0.00, z + 0.010, 0.0, -0.05, 0.2),
        (0.52, 0.02, z - 0.010, 0.1, 0.0, 0.40),
        (0.50, 0.00, z + 0.010, 0.8, 0.0, 0.1),
        (0.46, 0.00, z - 0.045, 1.57, 0.0, 0.0),
        (0.54, -0.01, z - 0.050, 1.6, 0.03, 0.1),
        (0.40, 0.00, z + 0.010, 0.8, 0.0, 0.0),
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
        Of the field of the lizard.
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
    lizard = scenes.lizard().surface
    field = rf.DistanceField.from_surface(lizard, resolution=resolution, expand=1.2, mode="fast")
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
        scenes.full(tree, field, STIFFNESS),
        hand_over_bridge(shell, field, frames),
        SPRING,
        TORSION,
        simulation,
        LARGEST,
    )
    took("recording", start)
    assert qs is not None
    return Scene(surface, lizard, tree, field, motion, qs, seconds)


def run(
    made: Scene, warm: tuple[int, ...] = (1200, 2500, 4400), budgets: tuple[float, ...] = (100.0,)
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
    """
    every = int(made.tree.node_counts.sum()) + 1
    settings: list[tuple[str, dict[str, Any]]] = [
        ("all levels", {"warm_nodes": every}),
        ("all, no coherence", {"warm_nodes": every, "temporal_coherence": False}),
        *((f"warm {nodes}", {"warm_nodes": nodes}) for nodes in warm),
        (f"warm {warm[0]}, cold the same", {"warm_nodes": warm[0], "cold_ratio": 1.0}),
        (f"warm {warm[0]}, no coherence", {"warm_nodes": warm[0], "temporal_coherence": False}),
        *((f"budget {budget:g} us", {"budget_us": budget}) for budget in budgets),
    ]
    renderings = []
    for name, options in settings:
        contact = rf.PenaltyContact(made.tree, made.field, STIFFNESS, **options)
        # what is rendered in a budget differs from time to time
        repeats = 1 if "budget_us" in options else 3
        renderings.append(scenes.rendering(name, contact, made.motion, made.qs, repeats))
    return Experiment(made, renderings)


def plot(experiment: Experiment, path: Path, red: str = "warm 2500") -> None:
    """Draw the curves of figure 3.27 beside four moments of the scene."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    made = experiment.scene
    full = experiment.renderings[0]
    figure = Figure(figsize=(13, 9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 0.8))
    scenes.renderings_axes(left, full, experiment.rendering(red))
    views = right.subplots(4, 1)
    reduced = made.tree.reduced
    assert reduced is not None
    skin = rf.Embedding(reduced.mesh, made.surface.vertices)
    shown = scenes.moments(full.out.touching, 4)
    scenes.mark(left, shown)
    other = experiment.rendering(red)
    for letter, ax, i in zip("abcd", views, shown, strict=True):
        bent = made.surface.vertices + skin.interpolate(reduced.displacement(made.qs[i]))
        x = scenes.to_world(
            made.other.vertices, made.motion.positions[i], made.motion.quaternions[i]
        )
        contact = scenes.full(made.tree, made.field, STIFFNESS)
        out = contact.evaluate(
            made.motion.positions[i], made.motion.quaternions[i], made.qs[i], contacts=True
        )
        parts = [
            (bent, made.surface.triangles, (0.86, 0.70, 0.38)),
            (x, made.other.triangles, (0.52, 0.66, 0.50)),
        ]
        if out.contacts is not None and len(out.contacts.positions):
            parts.append((*scenes.dots(out.contacts.positions, 0.004), scenes.CONTACT))
        image = scenes.picture(parts, (2200, 1240), azimuth=-75, elevation=15)
        ax.imshow(scenes.trimmed(image))
        ax.set_axis_off()
        ax.set_title(
            f"{letter}: cycle {i}; all {full.out.level[i] + 1} levels: {out.touching} points touch "
            f"(red), {full.size[i]:.2f} N; {red}: {other.out.level[i] + 1} levels, "
            f"{other.out.touching[i]} points, {other.size[i]:.2f} N",
            fontsize=8,
        )
    figure.suptitle(
        f"A lizard (field) led over a deformable bridge (shell): all levels (black) and graceful "
        f"degradation, {red} nodes (red)",
        fontsize=11,
    )
    pictures.save_figure(figure, path, dpi=120)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Graceful degradation over a trajectory.")
    parser.add_argument("--points", type=int, default=85_000, help="of the shell (85000)")
    parser.add_argument("--levels", type=int, default=5, help="of the shell (5)")
    parser.add_argument("--resolution", type=int, default=256, help="voxels of the field (256)")
    parser.add_argument("--voxels", type=int, default=64, help="of the bridge's mesh (64)")
    parser.add_argument("--r", type=int, default=15, help="reduced coordinates (15)")
    parser.add_argument("--frames", type=int, default=5000, help="cycles of 1 ms (5000)")
    parser.add_argument(
        "--warm",
        type=int,
        nargs="+",
        default=[1200, 2500, 4400],
        help="thresholds [nodes] (1200 2500 4400)",
    )
    parser.add_argument("--budget", type=float, nargs="*", default=[100.0], help="[us] (100)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (out)")
    arguments = parser.parse_args()
    if arguments.frames < 2:
        parser.error(f"--frames must be 2 or more, got {arguments.frames}")
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
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
        path = arguments.out / "b07_3_13_degradation.png"
        plot(experiment, path, f"warm {arguments.warm[len(arguments.warm) // 2]}")
        print(f"plot: {path}")
    except (rf.ReducedFEMError, OSError) as error:
        print(f"b07_3_13_degradation.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
