"""Green's functions in contact (Nikitin et al. 2002): costs by contacts, point forces.

contacts  1 to 64 held nodes of a cube: times to add the last one, to remove it, to find the forces,
          and to move the surface by them; and the difference of the surface from a solution of the
          solid with these nodes fixed, relative;
points    compliance of the middle node of a face, times Young's modulus and edge of the cells: a
          point force has no limit, it sinks in by as much as the cells are small.

Run it for the tables and the plot:
  python experiments/n02_capacitance.py [contacts points] [--finest N] [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

EDGE, YOUNG = 0.2, 1e5  # m, Pa
LAW = rf.StVK(young=YOUNG, poisson=0.3, density=1000.0)
COUNTS = (1, 2, 4, 8, 16, 32, 64)
ROUNDS = 50
COSTS = ("add", "remove", "forces", "surface")
CELLS = (4, 8, 16, 24)  # of `points`


def cube(n: int) -> rf.Solid:
    """Return a cube of n^3 cells, held below."""
    mesh = box(*3 * [np.arange(n + 1) * EDGE / n])
    return rf.Solid(mesh, LAW, mesh.nodes[:, 2] == 0.0)


def microseconds(call: Callable[[], object]) -> float:
    """Return the median time of a call [us]."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


def fixed_too(
    solid: rf.Solid, nodes: NDArray[np.int32], u: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the linear response of the solid with more nodes at prescribed displacements."""
    more = rf.Solid(solid.mesh, LAW, np.union1d(solid.fixed, nodes))
    full = np.zeros_like(solid.mesh.nodes)
    small = 1e-7
    full[nodes] = small * u
    # of small displacements the nonlinear solution is the linear one
    plus, minus = (more.solve_static(prescribed=s * full, progress=False) for s in (1, -1))
    return (plus - minus) / (2.0 * small)


def contacts(finest: int) -> dict[str, list[float]]:
    """Print and return the costs [us] and the differences from solutions with fixed nodes."""
    solid = cube(finest)
    green = rf.GreensFunctions(solid, progress=False)
    print(f"{len(green.nodes)} nodes of the surface, {green.bytes / 1e6:.0f} MB")
    print("contacts   add [us]  remove [us]  forces [us]  surface [us]  difference")
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {name: [] for name in (*COSTS, "difference")}
    chosen = rng.choice(green.nodes, max(COUNTS), replace=False)
    for count in COUNTS:
        held, last = chosen[:count], int(chosen[count - 1])
        state = green.contacts(count)
        for node in held:
            state.add(int(node))
        adding = removing = 0.0
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            state.remove(last)
            between = time.perf_counter()
            state.add(last)
            adding += (time.perf_counter() - between) / ROUNDS
            removing += (between - begun) / ROUNDS
        target = 0.01 * EDGE * rng.normal(size=(count, 3))
        order = [held.tolist().index(int(node)) for node in state.nodes]
        force = state.solve(target[order])
        solving = microseconds(lambda state=state, d=target[order]: state.solve(d))
        moving = microseconds(lambda f=force, n=state.nodes: green.displacement(f, n))
        u = green.displacement(force, state.nodes)
        exact = fixed_too(solid, held, target)[green.nodes]
        off = float(np.abs(u - exact).max() / np.abs(exact).max())
        for name, value in zip(
            found, (1e6 * adding, 1e6 * removing, solving, moving, off), strict=True
        ):
            found[name].append(value)
        print(
            f"{count:8}  {1e6 * adding:9.1f}  {1e6 * removing:11.1f}  {solving:11.1f}  "
            f"{moving:12.1f}  {off:10.1e}"
        )
    return found


def points(finest: int) -> dict[str, list[float]]:
    """Print and return edges [m], and compliances of a point times E h."""
    found: dict[str, list[float]] = {"edge": [], "compliance": []}
    print("cells  edge [mm]  compliance times E h")
    for n in CELLS:
        if n > max(finest, 8):
            continue
        solid = cube(n)
        x = solid.mesh.nodes
        middle = int(np.argmin(np.linalg.norm(x - [EDGE / 2, EDGE / 2, EDGE], axis=1)))
        green = rf.GreensFunctions(solid, [middle], progress=False)
        found["edge"].append(EDGE / n)
        found["compliance"].append(float(green.matrix[2, 2] * YOUNG * EDGE / n))
        print(f"{n:5}  {1e3 * EDGE / n:9.1f}  {found['compliance'][-1]:20.3f}")
    return found


PARTS = {"contacts": contacts, "points": points}


def draw(found: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Draw times over contacts, and the compliance of a point over the edge of the cells."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name in COSTS if "contacts" in found else ():
        left.loglog(COUNTS, found["contacts"][name], "o-", ms=4, lw=1.2, label=name)
    left.set(xlabel="contacts", ylabel="time [us]")
    if "points" in found:
        edge, compliance = (np.array(found["points"][one]) for one in ("edge", "compliance"))
        right.loglog(1e3 * edge, compliance / (YOUNG * edge), "o-", ms=4, lw=1.2, label="a node")
        right.loglog(1e3 * edge, np.mean(compliance) / (YOUNG * edge), color="0.6", lw=0.8,
                     label=f"{np.mean(compliance):.2f} / (E h)")  # fmt: skip
    right.set(xlabel="edge h of the cells [mm]", ylabel="compliance [m/N]")
    for axes in (left, right):
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    found = {}
    for part in arguments.parts:
        found[part] = PARTS[part](arguments.finest)
        print()
    draw(found, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART",
                        help=f"{', '.join(PARTS)} (all)")  # fmt: skip
    parser.add_argument("--finest", type=int, default=16, help="cells along an edge (16)")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return command.run(perform, arguments)


if __name__ == "__main__":
    sys.exit(main())
