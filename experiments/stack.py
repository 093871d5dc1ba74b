"""Towers of soft bricks on a slope, with and without friction.

Bricks of rubber, each turned about the vertical and shifted a little, stand on each other on a
ground that is tilted by some degrees. The forces of all contacts of a `World` are computed together
in each step. With friction the tower leans a little under its weight and stands; without it the
bricks slide down with the acceleration g sin(angle), until the lowest one meets a kerb and the
others slide off it.

Printed at equal times, for each coefficient: largest way of a brick since the beginning, its speed,
energy of motion, deformation and height, pairs in contact and their points, iterations of the solve
and time of a step.

Run it for the table and the picture:  python experiments/stack.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures
from reducedfem.pictures.plot import Shape, render

Array = NDArray[np.float64]

SIZE = np.array([0.24, 0.12, 0.08])  # m, of a brick
RUBBER = (5e5, 0.45, 1000.0)
DT = 1.0 / 480.0
GRAVITY = 9.81
KERB = np.array([(0.25, -0.6, -0.1), (0.31, 0.6, 0.03)])  # m, two corners
ROWS = 6  # of a table
PICTURES = 3


def brick(cells: int) -> rf.ReducedSolid:
    """Return the model of a brick about the origin, with some cells along its longest edge."""
    counts = np.maximum(1, np.round(cells * SIZE / SIZE.max()).astype(int))
    mesh = box(*(s * (np.arange(n + 1) / n - 0.5) for s, n in zip(SIZE, counts, strict=True)))
    solid = rf.Solid(mesh, rf.StVK(*RUBBER))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=6, r=14))


def tower(
    bricks: int, friction: float, degrees: float = 8.0, cells: int = 9, points: int = 600
) -> rf.World:
    """Return a world of bricks on each other; the ground falls along x."""
    model, slope = brick(cells), np.radians(degrees)
    gravity = GRAVITY * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    ground = rf.UnionField([rf.PlaneField((0, 0, 0), (0, 0, 1)), rf.BoxField(*KERB)])
    world = rf.World(DT, gravity, ground, friction=friction)
    field = rf.BoxField(-SIZE / 2, SIZE / 2)
    tree = rf.PointTree(rf.Pointshell.from_field(field, points), model)
    rng = np.random.default_rng(4)
    for k in range(bricks):
        body = rf.FreeBody(model, DT, (0.0, 1e-3))
        turn = 0.5 * np.pi * (k % 2) + rng.uniform(-0.2, 0.2)
        shift = rng.uniform(-0.01, 0.01, 2)
        place = (*shift, (k + 0.5) * SIZE[2] - 1e-5 * (2 * k + 1))
        body.reset(place, (np.cos(turn / 2), 0, 0, np.sin(turn / 2)))
        world.add(body, tree, field)
    return world


def total(world: rf.World, degrees: float) -> float:
    """Return the energy of all bodies, with that of their height [J]."""
    slope = np.radians(degrees)
    height = world.positions @ (-np.sin(slope), 0.0, np.cos(slope))
    return float(world.energy.sum() + GRAVITY * (world.masses * height).sum())


def picture(world: rf.World, degrees: float) -> Array:
    """Return the bricks and the slope, seen from the side."""
    mesh = world.bodies[0].reduced.mesh
    quads = mesh.boundary_faces
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    n, count = mesh.n_nodes, len(world)
    x = np.concatenate([world.nodes(k) for k in range(count)])
    tints = np.random.default_rng(1).uniform(0.35, 0.9, (count, 3))
    # a strip of the ground, and the kerb
    floor = np.array([(-0.3, -0.3, 0), (1.1, -0.3, 0), (1.1, 0.3, 0), (-0.3, 0.3, 0)])
    (low, _, _), (high, _, top) = KERB
    for left, right, foot in ((low, low, 0.0), (low, high, top)):
        edge = [(left, -0.3, foot), (right, -0.3, top), (right, 0.3, top), (left, 0.3, foot)]
        floor = np.concatenate([floor, edge])
    corners = n * count + 4 * np.arange(3)[:, None, None] + [(0, 1, 2), (0, 2, 3)]
    faces = np.concatenate([faces + n * k for k in range(count)] + list(corners))
    colours = np.concatenate([np.repeat(tints, n, axis=0), np.full((4, 3), 0.85)])
    colours = np.concatenate([colours, np.full((8, 3), 0.6)])
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    upright = np.array([(c, 0, s), (0, 1, 0), (-s, 0, c)])
    shape = Shape(np.concatenate([x, floor]) @ upright.T, colours)
    return render([shape], faces.astype(np.int32), (700, 520), -80.0, 12.0)


def run(bricks: int, friction: float, steps: int, degrees: float, cells: int) -> list[Array]:
    """Print the table of a tower, and return its pictures."""
    world = tower(bricks, friction, degrees, cells)
    first, shots = world.positions, []
    drawn = np.linspace(0, ROWS, PICTURES).round()
    print(f"\nfriction {friction:g}")
    print("  time      way    speed   energy   pairs  points  iterations    step")
    print("     s       mm     mm/s        J                                 ms")
    for row in range(ROWS + 1):
        count = row * steps // ROWS - world.report.steps
        start = time.perf_counter()
        world.step(count)
        took = 1e3 * (time.perf_counter() - start) / max(1, count)
        if row in drawn:
            shots.append(picture(world, degrees))
        if row == 0:
            continue
        report = world.report
        way = np.linalg.norm(world.positions - first, axis=1).max()
        speed = np.linalg.norm(world.velocities, axis=1).max()
        print(
            f"{report.steps * DT:6.3f} {1e3 * way:8.3f} {1e3 * speed:8.3f} "
            f"{total(world, degrees):8.3f} {report.pairs:7d} {report.points:7d} "
            f"{report.iterations:11d} {took:7.2f}",
            flush=True,
        )
    print(f"steps that did not converge: {world.report.unconverged}")
    return shots


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    steps = round(arguments.seconds / DT)
    print(f"{arguments.bricks} bricks on a slope of {arguments.degrees:g} degrees")
    figure = Figure(figsize=(4.2 * PICTURES, 6.6), layout="constrained")
    axes = figure.subplots(2, PICTURES)
    for line, mu in zip(axes, (arguments.friction, 0.0), strict=True):
        shots = run(arguments.bricks, mu, steps, arguments.degrees, arguments.cells)
        for ax, shot, when in zip(line, shots, (0.0, 0.5, 1.0), strict=True):
            ax.imshow(shot)
            ax.set_title(f"friction {mu:g}, {when * steps * DT:.2g} s")
            ax.set_axis_off()
    pictures.save_figure(figure, arguments.plot, dpi=110)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "half a minute")
    parser.add_argument("--bricks", type=int, default=6, help="number of bricks (6)")
    parser.add_argument("--friction", type=float, default=0.5, help="coefficient (0.5)")
    parser.add_argument("--degrees", type=float, default=8.0, help="tilt of the ground (8)")
    parser.add_argument("--seconds", type=float, default=1.0, help="simulated time (1)")
    parser.add_argument("--cells", type=int, default=9, help="hexahedra along a brick (9)")
    arguments = parser.parse_args()
    for name, low, high in (("bricks", 1, 50), ("degrees", 0, 60), ("cells", 3, 30)):
        value = getattr(arguments, name)
        if not low <= value <= high:
            parser.error(f"--{name} must be {low} to {high}, got {value:g}")
    if not ROWS * DT <= arguments.seconds <= 1e3:
        parser.error(f"--seconds must be {ROWS * DT:g} to 1000, got {arguments.seconds:g}")
    return command.run(perform, arguments)


if __name__ == "__main__":
    sys.exit(main())
