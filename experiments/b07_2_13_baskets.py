"""Hundreds of deformable baskets that fall on the ground and on each other (B07 2.13, figure 2.16).

After Barbic 2007, section 2.13: 512 baskets, r = 40, at rest and close to each other at first. In
the thesis contact is by spheres of BD-trees, and 512 Newmark steps, those of one frame, took 1.2 s
without contact. Here the points of each basket touch the distance field of the others and the
ground, and the forces of all contacts are computed together.

Printed for equal times: energy of motion, deformation and height, which must not grow; pairs in
contact and their points, the deepest of them; iterations of the solve; time of a step. The last
line has the time of a step of the same bodies, in their last states, without contact.

Run it for the table and the picture:  python experiments/b07_2_13_baskets.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

import command
from bench_bodies import apart

import reducedfem as rf
from reducedfem import plot as pictures
from reducedfem.pictures.plot import Shape, render
from reducedfem.scenes import baskets

Array = NDArray[np.float64]

STEPS = 960  # in a second
ROWS = 12  # of the table
PICTURES = 4
GRAVITY = 9.81


def potential(world: rf.World) -> float:
    """Return the energy of all bodies, with that of their height [J]."""
    height = world.positions[:, 2]
    return float(world.energy.sum() + GRAVITY * (world.masses * height).sum())


def flight(world: rf.World, repeats: int = 9) -> float:
    """Return the time of a step of the bodies in their present states without contact [s]."""
    bodies = apart(world)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        rf.step_free_bodies(bodies)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def picture(world: rf.World, faces: NDArray[np.int32]) -> Array:
    """Return the bodies seen from the side and above."""
    n = world.bodies[0].reduced.mesh.n_nodes
    x = np.concatenate([world.nodes(i) for i in range(len(world))])
    tints = np.random.default_rng(1).uniform(0.35, 0.9, (len(world), 3))
    triangles = np.concatenate([faces + n * i for i in range(len(world))])
    return render([Shape(x, np.repeat(tints, n, axis=0))], triangles, (900, 700), -60.0, 25.0)


def run(world: rf.World, steps: int, path: Path) -> None:
    """Print the table, and draw the picture."""
    model = world.bodies[0].reduced
    mesh = model.mesh
    faces = np.concatenate([mesh.boundary_faces[:, [0, 1, 2]], mesh.boundary_faces[:, [0, 2, 3]]])
    print(f"{len(world)} baskets of {mesh.n_elements} hexahedra, r = {model.r}")
    print(f"steps of {1e3 * world.dt:.3g} ms\n")
    print("  time   energy   pairs  points   depth  iterations   step")
    print("     s        J                      mm                  ms")
    shots, drawn = [], np.linspace(0, ROWS - 1, PICTURES).round()
    for row in range(ROWS):
        count = (row + 1) * steps // ROWS - row * steps // ROWS
        start = time.perf_counter()
        world.step(count)
        took = (time.perf_counter() - start) / count
        report = world.report
        print(
            f"{report.steps * world.dt:6.3f} {potential(world):8.2f} {report.pairs:7d} "
            f"{report.points:7d} {1e3 * report.depth:7.2f} {report.iterations:11d} "
            f"{1e3 * took:6.1f}",
            flush=True,
        )
        if row in drawn:
            shots.append(picture(world, faces))
    figure = Figure(figsize=(14.0, 3.6), layout="constrained")
    for ax, shot in zip(figure.subplots(1, PICTURES), shots, strict=True):
        ax.imshow(shot)
        ax.set_axis_off()
    pictures.save_figure(figure, path, dpi=110)
    print(f"\na step of the bodies as they are now, without contact: {1e3 * flight(world):.3g} ms")


def perform(arguments: argparse.Namespace) -> None:
    """Print the table and draw the picture."""
    world = baskets.world(arguments.bodies, resolution=arguments.resolution, dt=1.0 / STEPS)
    run(world, round(arguments.seconds * STEPS), arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 10 minutes")
    parser.add_argument("--bodies", type=int, default=512, help="number of baskets (512)")
    parser.add_argument("--seconds", type=float, default=0.8, help="simulated time (0.8)")
    parser.add_argument("--resolution", type=int, default=26, help="voxels across a basket (26)")
    arguments = parser.parse_args()
    if not ROWS / STEPS <= arguments.seconds <= 1e3:
        parser.error(f"--seconds must be {ROWS / STEPS:g} to 1000, got {arguments.seconds:g}")
    return command.run(perform, arguments)


if __name__ == "__main__":
    sys.exit(main())
