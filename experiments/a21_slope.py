"""A soft cube on a slope, with a barrier and smoothed friction (Ascher et al. 2021, 5).

On a slope of angle t the cube slides with the acceleration g (sin t - mu cos t) if tan t > mu, and
else creeps at slip (1 - sqrt(1 - tan(t) / mu)), as smoothed friction does. The normal forces add up
to m g cos t. Friction is that of the normal forces at the beginning of a step (lagged), or at its
end. Marks: the acceleration to 1e-5, normal forces and creep to 1e-4, ten iterations a step.

Run it for the numbers and the plot:  python experiments/a21_slope.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

G, ANGLE = 9.81, np.radians(20.0)
SIZE, GAP, SLIP = 0.1, 0.5e-3, 1e-3  # m, m, m/s
STEP = 5e-3  # s
SLIDES, STICKS = 0.2, 0.5  # coefficients of friction
WAIT = {SLIDES: 200, STICKS: 1500}  # steps until the cube no longer rocks
MEASURED = 100  # steps


@dataclass(frozen=True)
class Run:
    """A motion down the slope: mean velocity after each step, and what is compared."""

    velocity: Array
    load: float  # sum of the normal forces over m g cos t
    iterations: float  # a step
    smallest: float  # distance, m

    @property
    def acceleration(self) -> float:
        """Mean acceleration in the measured steps."""
        change = self.velocity[-1] - self.velocity[-1 - MEASURED]
        return float(change / (MEASURED * STEP))


def cube() -> rf.Solid:
    """Return a cube of eight cells, each of five tetrahedra in one of two mirror patterns."""
    ticks = np.arange(3)
    index = np.arange(27).reshape(3, 3, 3)
    nodes = SIZE / 2 * np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), -1).reshape(-1, 3)
    even = [(0, 4, 2, 1), (3, 1, 2, 7), (5, 1, 7, 4), (6, 2, 4, 7), (1, 2, 4, 7)]
    elements = []
    for x, y, z in np.ndindex(2, 2, 2):
        corner = index[x : x + 2, y : y + 2, z : z + 2].ravel()
        mirrored = corner if (x + y + z) % 2 == 0 else corner.reshape(2, 2, 2)[::-1].ravel()
        elements += [mirrored[list(tet)] for tet in even]
    tets = np.array(elements)
    edges = nodes[tets[:, 1:]] - nodes[tets[:, :1]]
    wrong = np.linalg.det(edges) < 0.0
    tets[wrong, :2] = tets[wrong, 1::-1]
    return rf.Solid(rf.Mesh(nodes, tets), rf.StableNeoHookean(1e5, 0.3, 1000.0))


def slide(mu: float, lagged: bool, steps: int | None = None) -> Run:
    """Return the motion of the cube, whose frame lies in the slope: x downwards, z off it."""
    solid = cube()
    plane = rf.PlaneField([0.0, 0.0, -GAP], [0.0, 0.0, 1.0])
    contact = rf.BarrierContact(plane, friction=mu, slip=SLIP, lagged=lagged)
    gravity = G * np.array([np.sin(ANGLE), 0.0, -np.cos(ANGLE)])
    sim = rf.BackwardEuler(
        solid, STEP, (0.0, 1e-2), newton_max=50, tol=1e-10, contact=contact, gravity=gravity
    )
    mass = solid.mass(lumped=True).to_scipy().diagonal()[::3]
    velocity, iterations, smallest = [0.0], 0, np.inf
    for _ in range(steps or WAIT[mu] + MEASURED):
        sim.step()
        state = sim.contact_state
        assert state is not None
        velocity.append(float(mass @ sim.state.qdot[:, 0]) / solid.total_mass)
        iterations += sim.report.iterations
        smallest = min(smallest, state.smallest_distance)
    load = state.normal_forces.sum() / (solid.total_mass * G * np.cos(ANGLE))
    return Run(np.array(velocity), float(load), iterations / (len(velocity) - 1), smallest)


def expected(mu: float) -> float:
    """Return the acceleration of sliding, or the velocity of creep."""
    if np.tan(ANGLE) > mu:
        return float(G * (np.sin(ANGLE) - mu * np.cos(ANGLE)))
    return float(SLIP * (1.0 - np.sqrt(1.0 - np.tan(ANGLE) / mu)))


def misses(mu: float, run: Run) -> list[str]:
    """Return the marks that a run misses."""
    slides = np.tan(ANGLE) > mu
    found = run.acceleration if slides else run.velocity[-1]
    marks = {
        "acceleration" if slides else "creep": (found / expected(mu) - 1, 1e-5 if slides else 1e-4),
        "normal forces": (run.load - 1.0, 1e-4),
    }
    missed = [f"{what} is off by {x:.1e}" for what, (x, most) in marks.items() if abs(x) > most]
    if run.iterations > 10.0:
        missed.append(f"{run.iterations:.1f} iterations a step")
    if not run.smallest > 0.0:
        missed.append("a node touches the slope")
    return missed


def draw(runs: dict[tuple[float, bool], Run], path: Path) -> None:
    """Draw velocities over time."""
    figure = Figure(figsize=(7.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (mu, lagged), run in runs.items():
        axes = left if mu == SLIDES else right
        time = STEP * np.arange(len(run.velocity))
        axes.plot(time, run.velocity, label="lagged" if lagged else "of the end")
    right.axhline(expected(STICKS), color="0.6", lw=0.8)
    right.set(xlim=(0.0, 2.0), ylim=(0.0, 2.0 * SLIP), title=f"sticks, friction {STICKS:g}")
    left.set(title=f"slides, friction {SLIDES:g}", ylabel="velocity [m/s]")
    for axes in (left, right):
        axes.set_xlabel("time [s]")
        axes.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    missed = []
    runs = {(mu, lagged): slide(mu, lagged) for mu in (SLIDES, STICKS) for lagged in (True, False)}
    print("friction  normal forces  measured    closed form  sum of normal forces  iterations")
    for (mu, lagged), run in runs.items():
        found = run.acceleration if mu == SLIDES else run.velocity[-1]
        unit = "m/s^2" if mu == SLIDES else "m/s"
        when = "lagged" if lagged else "of the end"
        print(f"  {mu:5g}   {when:13} {found:10.4e}  {expected(mu):10.4e} {unit:6} "
              f"{run.load:10.6f} m g cos  {run.iterations:8.1f}")  # fmt: skip
        missed += [f"friction {mu:g}, {when}: {text}" for text in misses(mu, run)]
    draw(runs, arguments.plot)
    return missed


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
