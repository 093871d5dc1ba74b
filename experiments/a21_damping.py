"""Numerical damping of implicit schemes (Ascher et al. 2021, figure 3, examples 1 and 2).

- Decay rate of an undamped mode over its frequency, by the step (figure 3), and the largest one.
  BDF2 damps less than TR-BDF2 and SDIRK where steps are very coarse only.
- A stiff decay, v' = -1000 v at steps of 0.1 s (example 2): the solution stays positive, backward
  Euler too; the others change the sign of v. A decay of first order is the velocity of a mass with
  a damper and no spring. The first stages of TR-BDF2 and SDIRK are steps of the trapezoidal rule of
  h/2 and 2 g h, g = 1 - 1/sqrt(2), and are made as such.

Marks: decay rates at w h = 1 and values of the example, in six digits; only BE stays positive.

Run it for the numbers and the plot:  python experiments/a21_damping.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

SCHEMES = ("BE", "BDF2", "TR-BDF2", "SDIRK")
THETA = np.geomspace(0.05, 200.0, 8001)  # angular frequency times step
RATE, STEP = 1000.0, 0.1  # 1/s, s
G = 1.0 - 1.0 / np.sqrt(2.0)  # of SDIRK
# decay rates over frequency at w h = 1
AT_ONE = {"BE": 0.693147, "BDF2": 0.138012, "TR-BDF2": 0.005900, "SDIRK": 0.006262}


def damping() -> dict[str, Array]:
    """Return decay rates over frequency at the steps THETA."""
    return {name: rf.amplification(name, THETA).damping for name in SCHEMES}


def crossing(curves: dict[str, Array], other: str) -> float:
    """Return the step above which BDF2 damps less than another scheme."""
    less = curves["BDF2"] < curves[other]
    return float(THETA[less.argmax()])


def decay(name: str, steps: int, dt: float = STEP) -> Array:
    """Return v after each step of v' = -RATE v from v = 1, (steps,)."""
    almost_none = 1e-12 * np.eye(2)  # a system has a stiffness, and two unknowns at least
    system = rf.SecondOrderSystem(np.eye(2), almost_none, damping_matrix=RATE * np.eye(2))
    sim = rf.integrator(name, system, dt, tol=0.0, newton_max=2)
    sim.reset([0.0, 0.0], [1.0, 1.0])
    found = []
    for _ in range(steps):
        sim.step()
        found.append(sim.state.qdot[0])
    return np.array(found)


def example() -> dict[str, tuple[float, float]]:
    """Return values of example 2 and their closed forms."""
    first, second = decay("BDF2", 2)
    return {
        "trapezoidal step of h / 2": (decay("TR", 1, 0.5 * STEP)[0], -0.923077),
        "trapezoidal step of 2 g h": (decay("TR", 1, 2.0 * G * STEP)[0], -0.933970),
        "BDF2, begun with BE": (first, 1.0 / 101.0),
        "BDF2, next step": (second, (4.0 / 101.0 - 1.0) / 203.0),
    }


def misses() -> list[str]:
    """Return the marks that are missed."""
    missed = []
    for name, wanted in AT_ONE.items():
        found = float(rf.amplification(name, 1.0).damping)
        if not abs(found - wanted) <= 1e-6:
            missed.append(f"{name} damps {found:.6f} at w h = 1, not {wanted:.6f}")
    for name, (found, wanted) in example().items():
        if not abs(found - wanted) <= 1e-6:
            missed.append(f"{name}: {found:.6f}, not {wanted:.6f}")
    for name in SCHEMES:
        positive = bool((decay(name, 4) > 0.0).all())
        if positive is not (name == "BE"):
            missed.append(f"{name} {'keeps' if positive else 'changes'} the sign of the decay")
    return missed


def draw(curves: dict[str, Array], path: Path) -> None:
    """Draw figure 3."""
    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in curves.items():
        axes.semilogx(THETA, curve, label=name)
    axes.set(xlabel="angular frequency times step", ylabel="decay rate / angular frequency")
    axes.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    curves = damping()
    print("decay rate over frequency: at w h = 1, the largest, and where that is")
    for name, curve in curves.items():
        one = rf.amplification(name, 1.0).damping
        print(f"  {name:8} {one:9.6f} {curve.max():9.6f} {THETA[curve.argmax()]:8.3f}")
    print("BDF2 damps less than")
    for name in ("TR-BDF2", "SDIRK"):
        print(f"  {name:8} above w h = {crossing(curves, name):.2f}")
    print(f"\nv' = -{RATE:g} v, v = 1, steps of {STEP:g} s: v after each")
    for name in SCHEMES:
        print(f"  {name:8}" + "".join(f" {v:11.3e}" for v in decay(name, 4)))
    print("example 2                     here closed form")
    for name, (found, wanted) in example().items():
        print(f"  {name:21} {found:10.6f} {wanted:10.6f}")
    missed = misses()
    draw(curves, arguments.plot)
    return missed


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
