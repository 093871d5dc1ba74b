"""Cost of a step over the stiffness of a solid (Ascher et al. 2021, figure 4).

A bar held at its top swings under a sideways weight, in steps of 10 ms. Young's modulus rises by
four powers of ten, and the angle that the fastest mode turns in a step by two. The exponential of
the whole tangent (ERE) needs more Lanczos vectors the larger that angle is, so its cost grows
without bound. SIERE takes the exponential of ten modes only: a step costs that of semi-implicit
backward Euler (SI) and ten more solutions, for any stiffness.

Marks: the cost of SIERE in steps of SI grows by 10 % at most; every implicit scheme solves the
same number of linear systems for all stiffnesses; the vectors of ERE grow by half or more with
each power of ten, and tenfold in all; at the end ERE costs a hundred steps of SIERE.

Run it for the numbers and the plot:  python experiments/a21_stiffness.py [--quick] [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
from a21_beam import tetrahedra
from matplotlib.figure import Figure

import reducedfem as rf
from reducedfem import plot as pictures

STEP, EXACT = 0.01, 10  # s, modes
SIDEWAYS = (0.0, 3.0, -9.0)  # m/s^2
YOUNG = tuple(10.0 ** np.arange(5.0, 9.1))  # Pa
FINE, COARSE = (24, 4, 4), (12, 2, 2)
STEPS, ROUNDS = 4, 25  # steps of a run from rest, runs
RISES, GROWS, GROWS_IN_ALL, DEARER = 0.10, 1.5, 10.0, 100.0  # marks

SCHEMES: dict[str, Callable[[rf.Solid], rf.Simulation]] = {
    "SI": lambda solid: rf.integrator("SI", solid, STEP, gravity=SIDEWAYS),
    "SIERE": lambda solid: rf.integrator("SIERE", solid, STEP, gravity=SIDEWAYS, exact=EXACT),
    "STR-SBDF2ERE": lambda solid: rf.integrator(
        "STR-SBDF2ERE", solid, STEP, gravity=SIDEWAYS, exact=EXACT
    ),
    "ERE": lambda solid: rf.integrator("ERE", solid, STEP, gravity=SIDEWAYS, krylov=4000),
}
IMPLICIT = [name for name in SCHEMES if name != "ERE"]


@dataclass(frozen=True)
class Cost:
    """Cost of a step of each scheme for a stiffness.

    Attributes
    ----------
    angle
        Highest angular frequency times the step.
    solves
        Linear systems of a step; 0 for ERE.
    vectors
        Lanczos vectors of a step of ERE.
    seconds
        Processor time of a step [s] on one thread, median of the runs.
    over
        That over SI, median of the ratios of the same round.
    """

    angle: float
    solves: dict[str, float]
    vectors: float
    seconds: dict[str, float]
    over: dict[str, float]


def bar(young: float, cells: Sequence[int]) -> rf.Solid:
    """Return the bar, whose end x = 0 is held, of cells of five tetrahedra."""
    mesh = tetrahedra(cells)
    law = rf.StableNeoHookean(young=young, poisson=0.4, density=1000.0)
    upright = mesh.nodes[:, [2, 1, 0]] * [1.0, 1.0, -1.0]
    return rf.Solid(rf.Mesh(upright, mesh.elements), law, fixed=mesh.nodes[:, 0] == 0.0)


def time_of(sim: rf.Simulation) -> float:
    """Return the processor time of a step [s] in a run from rest."""
    sim.reset()
    sim.step()  # memory, and first modes
    begin = time.thread_time()
    sim.step(n=STEPS)
    return (time.thread_time() - begin) / STEPS


def measure(
    cells: Sequence[int], rounds: int = ROUNDS, modulus: Sequence[float] = YOUNG
) -> dict[float, Cost]:
    """Return the costs by Young's modulus; all bars and implicit schemes run in turns."""
    found, sims = {}, {}
    for young in modulus:
        solid = bar(young, cells)
        sims[young] = {name: make(solid) for name, make in SCHEMES.items()}
        found[young] = {name: [] for name in SCHEMES}
        found[young]["ERE"].append(time_of(sims[young]["ERE"]))
    for _ in range(rounds):
        for young, row in sims.items():
            for name in IMPLICIT:
                found[young][name].append(time_of(row[name]))
    costs = {}
    for young, row in sims.items():
        seconds = {name: np.array(times) for name, times in found[young].items()}
        reports = {name: sim.report for name, sim in row.items()}
        costs[young] = Cost(
            2.0 * np.pi * STEP * rf.spectrum(row["SI"].system).highest,
            {name: reports[name].solves / reports[name].steps for name in IMPLICIT},
            reports["ERE"].vectors / reports["ERE"].steps,
            {name: float(np.median(times)) for name, times in seconds.items()},
            {name: float(np.median(times / seconds["SI"])) for name, times in seconds.items()},
        )
    return costs


def misses(costs: dict[float, Cost], timed: bool) -> list[str]:
    """Return the marks that are missed; those of times only if `timed`."""
    missed = []
    every = list(costs.values())
    for name in IMPLICIT:
        solves = {cost.solves[name] for cost in every}
        if len(solves) > 1:
            missed.append(f"{name} solves {min(solves):g} to {max(solves):g} systems a step")
    vectors = [cost.vectors for cost in every]
    for young, soft, stiff in zip(costs, vectors, vectors[1:], strict=False):
        if stiff < GROWS * soft:
            missed.append(
                f"vectors of ERE grow from {soft:.0f} to {stiff:.0f} only above E = {young:.0e} Pa"
            )
    if vectors[-1] < GROWS_IN_ALL * vectors[0]:
        missed.append(f"vectors of ERE grow from {vectors[0]:.0f} to {vectors[-1]:.0f} in all")
    ratios = [cost.over["SIERE"] for cost in every]
    if timed and max(ratios) > (1.0 + RISES) * ratios[0]:
        missed.append(f"SIERE costs {ratios[0]:.2f} steps of SI, then {max(ratios):.2f}")
    dearer = every[-1].seconds["ERE"] / every[-1].seconds["SIERE"]
    if timed and dearer < DEARER:
        missed.append(f"ERE costs {dearer:.0f} steps of SIERE only")
    return missed


def draw(costs: dict[float, Cost], path: Path) -> None:
    """Draw times and vectors over stiffness."""
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    young = list(costs)
    for name in SCHEMES:
        left.loglog(young, [1e3 * c.seconds[name] for c in costs.values()], "o-", label=name)
    left.set(xlabel="Young's modulus [Pa]", ylabel="time of a step [ms]")
    left.legend(frameon=False)
    right.loglog(young, [c.vectors for c in costs.values()], "o-", color="C3", label="ERE, vectors")
    right.loglog(young, [c.angle for c in costs.values()], ":", color="0.4", label="highest angle")
    right.set(xlabel="Young's modulus [Pa]", ylabel="of a step")
    right.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


@command.one_thread()
def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    costs = measure(*((COARSE, 1) if arguments.quick else (FINE, ROUNDS)))
    print(f"steps of {STEP:g} s; times of a step on one core, in steps of SI")
    print("E [Pa]   highest angle  vectors of ERE   SI [ms]" + "".join(
        f" {name:>13}" for name in list(SCHEMES)[1:]))  # fmt: skip
    for young, one in costs.items():
        times = "".join(f" {one.over[name]:13.2f}" for name in list(SCHEMES)[1:])
        print(f"{young:6.0e} {one.angle:15.1f} {one.vectors:15.1f} "
              f"{1e3 * one.seconds['SI']:9.2f}{times}")  # fmt: skip
    print("figure 4: the cost of ERE grows with the stiffness, that of SIERE does not")
    missed = misses(costs, timed=not arguments.quick)
    draw(costs, arguments.plot)
    return missed


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument(
        "--quick", action="store_true", help="an eighth of the cells; marks of counts only"
    )
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
