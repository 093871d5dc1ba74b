"""Elements in real time: implicit, explicit and graded (Zhuang 2000, sections 3.1, 3.3 and 3.4).

"Our experiments show that we can only simulate, in real-time, a mesh of fewer than half a dozen
elements, if we apply implicit integration algorithms"; with explicit steps "more than 600"; with a
graded mesh "600 elements gives the same accuracy of a uniform mesh of more than 1000". The thesis
names neither size, nor stiffness, nor load, nor computer. Here a cube of 10 cm, 20 kPa, is held
below; "real time" is simulated time over computing time.

implicit   `ImplicitNewmark` of the solid, one frame of 1/30 s a step, one Newton iteration;
explicit   `CentralDifferences` with half the stable step;
graded     the same on the mesh with one layer of smallest cells;
errors     compliance of graded against uniform meshes of 10^3 cells: a load on one face of a voxel,
           a sixteenth of the top, and gravity.

Times are medians of one run, processor time of one thread. Mark: explicit steps of 600 elements are
real time.

Run it for the table and the plot:  python experiments/z00_real_time.py [--finest N] [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import command
import numpy as np
import z00_graded
from matplotlib.figure import Figure

import reducedfem as rf
from reducedfem import plot as pictures

EDGE, LAW = 0.1, rf.StVK(young=2e4, poisson=0.3, density=1000.0)
CELLS = {"implicit": (2, 4, 6, 8, 10, 12), "explicit": (4, 6, 8, 10, 16, 24, 32),
         "graded": (4, 6, 8, 10, 16, 24, 32)}  # fmt: skip
FRAME, RUNS, STEPS = 1.0 / 30.0, 5, 20
PUBLISHED = {"implicit": 6, "explicit": 600}
COMPARED = 10


def solid_of(n: int, graded: bool) -> rf.Solid:
    """Return the cube of n^3 voxels, held below."""
    mesh = z00_graded.cube(n)
    scaled = rf.Mesh(EDGE * mesh.nodes, mesh.elements)
    if graded:
        scaled = scaled.graded(rf.Grading(layers=1))
    return rf.Solid(scaled, LAW, fixed=scaled.nodes[:, 2] < 1e-9)


def step_seconds(step: Callable[[], object], steps: int) -> float:
    """Return the median processor time of a step."""
    times = []
    step()
    for _ in range(RUNS):
        begun = time.process_time()
        for _ in range(steps):
            step()
        times.append((time.process_time() - begun) / steps)
    return float(np.median(times))


def speed(n: int, kind: str) -> tuple[int, float]:
    """Return the number of elements and simulated over computing time."""
    solid = solid_of(n, kind == "graded")
    load = 0.2 * solid.gravity()
    sim: rf.ImplicitNewmark | rf.CentralDifferences
    if kind == "implicit":
        sim, steps = rf.ImplicitNewmark(solid, FRAME, damping=(0.0, 0.01)), 1
    else:
        sim, steps = rf.CentralDifferences(solid, 0.5 * rf.stable_step(solid)), STEPS
    return solid.mesh.n_elements, sim.dt / step_seconds(lambda: sim.step(load), steps)


def real_time(rows: list[tuple[int, float]]) -> float:
    """Return the number of elements at which simulated time falls to computing time."""
    elements, ratio = np.log(np.array(rows, dtype=float)).T
    if ratio[-1] > 0.0:
        return float("inf")
    last = int(np.flatnonzero(ratio > 0.0)[-1]) if (ratio > 0.0).any() else -1
    if last < 0:
        return 0.0
    share = ratio[last] / (ratio[last] - ratio[last + 1])
    return float(np.exp(elements[last] + share * (elements[last + 1] - elements[last])))


def errors(n: int) -> tuple[int, dict[str, float]]:
    """Return the elements of the graded mesh, and errors of compliances against the uniform one."""
    mesh = z00_graded.cube(n)
    graded = mesh.graded(rf.Grading(layers=1))
    fine, few = (z00_graded.compliances(one, n)[1] for one in (mesh, graded))
    return graded.n_elements, {load: few[load] / fine[load] - 1.0 for load in fine}


def draw(found: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Draw simulated over computing time over the number of elements."""
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    for i, (kind, rows) in enumerate(found.items()):
        axes.loglog(*zip(*rows, strict=True), "o-", ms=4, lw=1.2, color=f"C{i}", label=kind)
        if kind in PUBLISHED:
            axes.loglog([PUBLISHED[kind]], [1.0], "x", color=f"C{i}", ms=8, mew=2)
    axes.loglog([], [], "x", color="0.4", ms=8, mew=2, label="published")
    axes.axhline(1.0, color="0.6", lw=0.8)
    axes.set(xlabel="elements", ylabel="simulated time over computing time")
    axes.legend(frameon=False, fontsize=8)
    pictures.save_figure(figure, path, dpi=130)


@command.one_thread()
def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    wrong = []
    found: dict[str, list[tuple[int, float]]] = {}
    print("steps        elements   simulated over computing time")
    for kind, cells in CELLS.items():
        found[kind] = [speed(n, kind) for n in cells if n <= arguments.finest]
        for elements, ratio in found[kind]:
            print(f"{kind:10}{elements:11}{ratio:12.3g}")
    print("\nelements in real time: published / here")
    for kind, rows in found.items():
        published = PUBLISHED.get(kind, "-")
        most, limit = rows[-1][0], real_time(rows)
        here = f"more than {most}" if limit == float("inf") else f"{limit:.0f}"
        print(f"  {kind:10}{published:>6} / {here}")
    if not any(n >= PUBLISHED["explicit"] and ratio >= 1.0 for n, ratio in found["explicit"]):
        wrong.append(f"explicit steps of {PUBLISHED['explicit']} elements are not real time")
    few, off = errors(COMPARED)
    print(f"\n{few} graded elements against {COMPARED**3} equal ones, compliance:")
    print("  " + ", ".join(f"{load} {100 * value:+.2f} %" for load, value in off.items()))
    draw(found, arguments.plot)
    return wrong


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--finest", type=int, default=32, help="voxels along an edge (32)")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
