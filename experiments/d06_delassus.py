"""The Delassus operator of a table, and forces that are not unique (Duriez et al. 2006, 9-11, 13).

- Couplings: sizes of the 3x3 blocks of W between the contacts of a table on four legs, held at its
  top (figures 9 and 11). Contacts of one leg are coupled much more than those of different legs;
  braces between the legs (figure 10) couple these, too.
- A rigid body at rest on a floor with friction (figure 13): forces from random starts and orders of
  the contacts. The motion is always the same, the forces are not; with a compliance of the sites
  they are.

Run it for the numbers and the plot:  python experiments/d06_delassus.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

import command
from friction_problems import frames, rigid, table

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

CONTACTS = 28
STEP = 1e-3  # s
STARTS = 20
DRAWN = (0.0, 1e-3)  # compliances of sites over the mean diagonal entry of W


def couplings(W: Array) -> Array:
    """Return the largest singular values of the blocks of W, (m, m) [m/N]."""
    m = len(W) // 3
    return np.linalg.norm(W.reshape(m, 3, m, 3).swapaxes(1, 2), ord=2, axis=(2, 3))


def between_legs(sizes: Array) -> tuple[float, float]:
    """Return the mean couplings in a leg, and between two, over that of a contact with itself."""
    leg = np.arange(len(sizes)) * 4 // len(sizes)
    same = leg[:, None] == leg
    own = np.eye(len(sizes), dtype=bool)
    scale = sizes[own].mean()
    return float(sizes[same & ~own].mean() / scale), float(sizes[~same].mean() / scale)


def resting(compliance: float) -> tuple[Array, Array]:
    """Return W and free motion in a step of a rigid block of 1 kg on 16 points of a floor."""
    x, y = np.meshgrid(np.linspace(-0.1, 0.1, 4), np.linspace(-0.1, 0.1, 4))
    places = np.stack([x.ravel(), y.ravel(), np.full(16, -0.05)], axis=1)
    axes = frames(np.tile([0.0, 0.0, 1.0], (16, 1)))
    H = rigid(places, axes)
    inertia = np.array([1.0, 1.0, 1.0, 5e-3, 5e-3, 7e-3])
    W = rf.delassus([(H, STEP**2 * np.diag(1 / inertia))])
    W += compliance * W.trace() / len(W) * np.eye(len(W))
    fall = np.array([2.0, 0.0, -9.81, 0.0, 0.0, 0.0])  # it is pushed, too
    return W, (H @ (STEP**2 * fall)).reshape(-1, 3)


def solutions(compliance: float) -> tuple[Array, Array, float]:
    """Return forces and displacements (STARTS, 16, 3) of starts and orders, and the free motion.

    The latter is its largest component [m].
    """
    rng = np.random.default_rng(0)
    W, free = resting(compliance)
    forces, moved = [], []
    for _ in range(STARTS):
        order = rng.permutation(len(free))
        rows = (3 * order[:, None] + np.arange(3)).ravel()
        start = rng.normal(size=(len(free), 3)) * 9.81
        out = rf.solve_friction(W[np.ix_(rows, rows)], free[order], 0.5, start, tol=1e-11)
        force = np.empty((len(free), 3))
        force[order] = out.force
        forces.append(force)
        moved.append(free + (W @ force.ravel()).reshape(-1, 3))
    return np.array(forces), np.array(moved), float(np.abs(free).max())


def spread(compliance: float) -> tuple[float, float]:
    """Return the spreads of forces and of displacements over starts and orders, relative."""
    forces, moved, size = solutions(compliance)
    return (
        float(np.ptp(forces, axis=0).max() / np.abs(forces).max()),
        float(np.ptp(moved, axis=0).max() / size),
    )


def draw(sizes: list[Array], path: Path) -> None:
    """Draw the couplings of both tables, and the forces of the block at rest."""
    figure = Figure(figsize=(8, 6.6), layout="constrained")
    upper, lower = figure.subplots(2, 2, height_ratios=(1.3, 1.0))
    top = max(one.max() for one in sizes)
    for ax, one, title in zip(
        upper, sizes, ("table without braces (9)", "with braces (10, 11)"), strict=True
    ):
        shown = ax.imshow(np.log10(one / top), vmin=-3, vmax=0, cmap="magma")
        ax.set(title=title, xlabel="contact", ylabel="contact")
    figure.colorbar(shown, ax=upper, label="log10 of the coupling, relative")
    for ax, compliance in zip(lower, DRAWN, strict=True):
        forces = solutions(compliance)[0][:, :, 0]
        ax.plot(forces.T, ".-", lw=0.6, alpha=0.6)
        ax.set(
            title=f"block at rest, {STARTS} starts (13)\n"
            + (f"sites yield by {compliance:g} mean W" if compliance else "rigid sites"),
            xticks=range(0, forces.shape[1], 5),
            xlabel="contact",
            ylabel="normal force [N]",
        )
    lower[1].sharey(lower[0])
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    print("mean coupling of two contacts, over that of a contact with itself")
    sizes = []
    for braces in (False, True):
        sizes.append(couplings(table(CONTACTS, "held", braces=braces).W))
        own, other = between_legs(sizes[-1])
        name = "with braces" if braces else "without braces"
        print(f"  {name:15} {own:.3f} in a leg, {other:.3f} between legs")

    print(f"\nblock at rest on 16 points, {STARTS} starts and orders: spread of")
    print("  compliance of sites     forces   motion")
    for compliance in (0.0, 1e-3, 1e-1):
        forces, moved = spread(compliance)
        print(f"  {compliance:8.0e} mean diag W {forces:9.1e}{moved:9.1e}")
    draw(sizes, arguments.plot)


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
