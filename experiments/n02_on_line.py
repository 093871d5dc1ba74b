"""Frames a second on line and off line (Nikitin et al. 2002, "On-line vs off-line", figure 7 c).

The published rates: 1,400 nodes at 45 frames a second on line with linear and 8 with nonlinear
elasticity (Picinbono et al. 2000, Pentium III, 500 MHz), 10,000 nodes at 85 off line (Athlon,
1.3 GHz; 20 on an SGI Onyx2). Here the top of a cube turns by a degree a frame; each frame is

linear     conjugate gradients from the solution before, diagonal preconditioner, relative residual
           1e-4;
nonlinear  Newton's method from the solution before (`Solid.solve_static`, StVK);
off line   the sum of 12 fields a handle (`ControlElements`), which took `made` seconds.

Times are medians of one run, of the processor, with one thread. Marks: off line is at least 100
times as fast as linear on line from 1,000 nodes on ("a factor of one thousand"), and agrees with
it to 1e-2 of the displacement.

Run it for the table and the plot:  python experiments/n02_on_line.py [--finest N] [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from n02_capacitance import cube
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

CELLS = (5, 7, 10, 14, 21)
FRAMES = 5
OFF_LINE = 200  # sums for the median
RESIDUAL, NEAR, FASTER, LARGE = 1e-4, 1e-2, 100.0, 1000
PUBLISHED = {"linear": (1400, 45.0), "nonlinear": (1400, 8.0), "off line": (10_000, 85.0)}


def turned(x: Array, degrees: float) -> Array:
    """Return displacements of places that turn about the middle axis."""
    angle = np.radians(degrees)
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    away = x[:, :2] - x[:, :2].mean(axis=0)
    return np.c_[away @ R.T - away, np.zeros(len(x))]


class OnLine:
    """Linear statics by conjugate gradients, each frame from the one before."""

    def __init__(self, solid: rf.Solid, moved: NDArray[np.int64]) -> None:
        held = np.zeros(3 * solid.mesh.n_nodes, dtype=bool)
        for nodes in (moved, solid.fixed):
            held[(3 * nodes[:, None] + np.arange(3)).ravel()] = True
        K = solid.stiffness().to_scipy().tocsr()
        self._free, self._A, self._B = ~held, K[~held][:, ~held], K[~held][:, held]
        scale = 1.0 / self._A.diagonal()
        self._jacobi = LinearOperator(self._A.shape, matvec=lambda x: scale * x)
        self._x = np.zeros(self._A.shape[0])

    def solve(self, u: Array) -> Array:
        """Return the displacements, given those of the held nodes."""
        out = u.ravel().copy()
        load = -self._B @ out[~self._free]
        self._x, info = cg(self._A, load, x0=self._x, rtol=RESIDUAL, M=self._jacobi)
        if info != 0:
            raise rf.ConvergenceError(f"conjugate gradients do not converge: {info}")
        out[self._free] = self._x
        return out.reshape(-1, 3)


def measured(n: int) -> dict[str, float]:
    """Return seconds of a frame of the three ways for a cube of n^3 cells, and the difference."""
    solid = cube(n)
    x = solid.mesh.nodes
    top = np.flatnonzero(x[:, 2] > x[:, 2].max() - 1e-9)
    whole = rf.Solid(solid.mesh, solid.material, np.union1d(solid.fixed, top))
    begun = time.process_time()
    handle = rf.ControlElements(solid, [top], solid.mesh.boundary_nodes, progress=False)
    made = time.process_time() - begun
    on_line, bent = OnLine(solid, top), None
    linear, nonlinear, u = [], [], np.zeros_like(x)
    for frame in range(1, FRAMES + 1):
        u[top] = turned(x[top], frame)
        begun = time.process_time()
        straight = on_line.solve(u)
        linear.append(time.process_time() - begun)
        begun = time.process_time()
        bent = whole.solve_static(prescribed=u, u0=bent, tol=RESIDUAL, progress=False)
        nonlinear.append(time.process_time() - begun)
    half = np.radians(FRAMES) / 2
    c = handle.parameters(0, quaternion=[np.cos(half), 0.0, 0.0, np.sin(half)])
    off_line = []
    for _ in range(OFF_LINE):
        begun = time.process_time()
        summed = handle.displacement(c, rotation=None)
        off_line.append(time.process_time() - begun)
    off = np.abs(summed - straight[handle.nodes]).max() / np.abs(summed).max()
    medians = [float(np.median(times)) for times in (linear, nonlinear, off_line)]
    names = ("linear", "nonlinear", "off line")
    return dict(zip(names, medians, strict=True)) | {
        "nodes": float(len(x)), "made": made, "difference": float(off)
    }  # fmt: skip


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Draw frames a second over nodes."""
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    for i, (name, (nodes, rate)) in enumerate(PUBLISHED.items()):
        axes.loglog([r["nodes"] for r in rows], [1.0 / r[name] for r in rows], "o-", ms=4, lw=1.2,
                    color=f"C{i}", label=name)  # fmt: skip
        axes.loglog([nodes], [rate], "x", color=f"C{i}", ms=8, mew=2)
    axes.loglog([], [], "x", color="0.4", ms=8, mew=2, label="published")
    axes.axhline(20.0, color="0.6", lw=0.8)
    axes.set(xlabel="nodes", ylabel="frames a second")
    axes.legend(frameon=False, fontsize=8)
    pictures.save_figure(figure, path, dpi=130)


@command.one_thread()  # processor times of several threads are not times of frames
def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    rows, wrong = [], []
    print("  nodes   frames a second: linear  nonlinear  off line   off line / linear    made")
    for n in CELLS:
        if n > arguments.finest:
            continue
        row = measured(n)
        rows.append(row)
        gain = row["linear"] / row["off line"]
        print(
            f"{row['nodes']:7.0f}{1 / row['linear']:25.1f}{1 / row['nonlinear']:11.2f}"
            f"{1 / row['off line']:10.0f}{gain:20.0f}{row['made']:6.1f} s"
        )
        if not row["difference"] <= NEAR:
            wrong.append(f"{row['nodes']:.0f} nodes: ways differ by {row['difference']:.1e}")
        if row["nodes"] >= LARGE and not gain >= FASTER:
            wrong.append(f"{row['nodes']:.0f} nodes: off line is {gain:.0f} times as fast")
    print("\npublished:")
    for name, (nodes, rate) in PUBLISHED.items():
        print(f"  {nodes:6} nodes, {name:10}{rate:4.0f} frames a second")
    draw(rows, arguments.plot)
    return wrong


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--finest", type=int, default=21, help="cells along an edge (21)")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
