"""A clip that snaps onto a pipe, with friction (Duriez et al. 2006, sections 5 and 6).

Two branches of a clip, 30 mm long, 10 mm wide and 2 mm thick, of E = 700 MPa and nu = 0.35, are
pushed over a pipe of 8 mm radius; their tips are 6.5 mm from the axis. With k = 3 EI / L^3 the
stiffness of a branch, s the way of the tips to the centre of the pipe and t = s / y,
y = sqrt(R^2 - s^2), the force of both on the hand is in closed form

    F = 2 k (y - a) (t + mu) / (1 - mu t)   while pushing in,   with -mu for mu while pulling out.

It rises to a maximum and falls: beyond it the clip closes by itself. Three clips are compared with
it in steps without inertia, by `solve_friction`: two beams, beams with a pipe that gives way, and
branches of 20-node hexahedra, which bend, shear and stretch.

Run it for the table and the plot:  python experiments/d06_snap_in.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

LENGTH, WIDTH, THICK = 0.030, 0.010, 0.002  # m, of a branch
YOUNG, POISSON = 700e6, 0.35
RADIUS, HALF = 0.008, 0.0065  # m: pipe, and tips from the axis
BEGIN = np.sqrt(RADIUS**2 - HALF**2)  # s at which the tips touch
COEFFICIENTS = (0.0, 0.2, 0.4)
STEPS = 400
PIPE = 2e-5  # m/N, compliance of the pipe that gives way
BEND = 3.0 * YOUNG * WIDTH * THICK**3 / 12.0 / LENGTH**3  # N/m, k


def closed_form(s: Array, mu: float) -> Array:
    """Return the force of both branches [N]; mu < 0 while pulling out."""
    y = np.sqrt(RADIUS**2 - s**2)
    t = s / y
    force: Array = 2.0 * BEND * (y - HALF) * (t + mu) / (1.0 - mu * t)
    return force


def beam() -> tuple[Array, Array]:
    """Return compliance (2, 2) [m/N] of a tip along the push and across, and its place (1, 2)."""
    return np.diag([1e-6 / BEND, 1.0 / BEND]), np.array([[0.0, HALF]])


def hexahedra(cells: int = 12, layers: int = 4) -> tuple[Array, Array]:
    """Return compliance (2n, 2n) and places (n, 2) of the inner nodes at the tip of a branch."""
    sizes = ((cells, LENGTH), (layers, WIDTH), (2, THICK))
    mesh = box(*(np.arange(n + 1) * size / n for n, size in sizes)).quadratic()
    x, y, z = mesh.nodes.T
    solid = rf.Solid(mesh, rf.StVK(YOUNG, POISSON, 1200.0), fixed=x < 1e-9)
    tip = np.flatnonzero((x > LENGTH - 1e-9) & (z < 1e-9))
    tip = tip[np.argsort(y[tip])]
    compliance = np.zeros((2 * len(tip), 2 * len(tip)))
    for k, node in enumerate(tip):
        for axis in range(2):  # along the branch, and away from the axis of the clip
            force = np.zeros_like(mesh.nodes)
            force[node, 2 * axis] = 1e-6
            moved = solid.solve_static(force)[tip][:, [0, 2]] / 1e-6
            compliance[:, 2 * k + axis] = moved.ravel()
    compliance = 0.5 * (compliance + compliance.T)
    return compliance, np.tile([0.0, HALF], (len(tip), 1))


def snap(branch: Callable[[], tuple[Array, Array]], mu: float, way: Array, soft: float) -> Array:
    """Return the force of both branches [N] along a way s of their base, a step for each."""
    compliance, rest = branch()
    m = len(rest)
    before, force = None, np.zeros((m, 3))
    result = np.zeros(len(way))
    for k, s in enumerate(way):
        free = rest - np.array([s, 0.0])  # from the centre of the pipe, along the push and across
        before = free if before is None else before
        at = before
        for _ in range(4):  # places where the law is linearized
            normal = at / np.linalg.norm(at, axis=1, keepdims=True)
            along = np.stack([normal[:, 1], -normal[:, 0]], axis=1)
            H = np.zeros((3 * m, 2 * m))
            for i in range(m):
                H[3 * i, 2 * i : 2 * i + 2] = normal[i]
                H[3 * i + 1, 2 * i : 2 * i + 2] = along[i]
            W = rf.delassus([(H, compliance)], soft)
            gap = np.zeros((m, 3))
            gap[:, 0] = (free * normal).sum(axis=1) - RADIUS
            gap[:, 1] = ((free - before) * along).sum(axis=1)
            out = rf.solve_friction(W, gap, mu, start=force, tol=1e-10)
            force = out.force
            at = free + (compliance @ (H.T @ force.ravel())).reshape(m, 2)
        before = at
        # the hand pushes against the pipe's force on the branches
        result[k] = -2.0 * (H.T @ force.ravel()).reshape(m, 2)[:, 0].sum()
    return result


def ways() -> tuple[Array, Array]:
    """Return the ways of the tips while they are pushed in and pulled out [m]."""
    inward = np.linspace(BEGIN, -0.9 * BEGIN, STEPS)
    return inward, inward[::-1].copy()


def row(mu: float) -> tuple[float, float, float]:
    """Return largest forces of closed form, beam and hexahedra while pushing in [N]."""
    inward, _ = ways()
    return (
        float(closed_form(inward, mu).max()),
        float(snap(beam, mu, inward, 0.0).max()),
        float(snap(hexahedra, mu, inward, 0.0).max()),
    )


def draw(path: Path) -> None:
    """Draw the force along the way in and out."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    inward, outward = ways()
    for mu, color in zip(COEFFICIENTS, ("C0", "C1", "C2"), strict=True):
        depth = 1e3 * (BEGIN - inward)
        left.plot(depth, closed_form(inward, mu), color=color, label=f"mu = {mu}")
        left.plot(depth, closed_form(inward, -mu), "--", color=color)
        both = np.concatenate([inward, outward])
        found = snap(beam, mu, both, 0.0)
        some = slice(STEPS // 40, None, STEPS // 20)
        left.plot(depth[some], found[:STEPS][some], "o", ms=3, color=color)
        left.plot(depth[some], found[STEPS:][::-1][some], "s", ms=3, color=color)
        right.plot(depth, closed_form(inward, mu), color=color, lw=0.8)
        right.plot(depth, snap(hexahedra, mu, inward, 0.0), color=color, ls="--")
        right.plot(depth, snap(beam, mu, inward, PIPE), color=color, ls=":")
    left.legend()
    left.set(title="closed form; beams in (o) and out (s)")
    right.set(title="hexahedra (dashes), soft pipe (dots)")
    for ax in (left, right):
        ax.set(xlabel="way of the tips [mm]", ylabel="force [N]")
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    print("largest force while pushing in [N]")
    print("  mu   closed form    beams   hexahedra")
    for mu in COEFFICIENTS:
        exact, beams, solid = row(mu)
        print(f"{mu:5.1f}{exact:12.4f}{beams:11.4f}{solid:11.4f}")
    inward, _ = ways()
    print("\nlargest force while pulling out [N]: the closed form")
    for mu in COEFFICIENTS:
        print(f"{mu:5.1f}{-closed_form(inward, -mu).min():12.4f}")
    draw(arguments.plot)


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
