"""Numerical damping of implicit schemes (Chen, Liu and Ascher 2021, figure 3, examples 1 and 2).

- Decay rate of an undamped mode over its frequency, by the step (figure 3), and the largest one.
  BDF2 damps less than TR-BDF2 and SDIRK where steps are very coarse only.
- A stiff decay, v' = -1000 v at steps of 0.1 s (example 2): the solution stays positive, backward
  Euler too; the others change the sign of v.

Run it for the numbers and the plot:  python experiments/a21_damping.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

SCHEMES = ("BE", "BDF2", "TR-BDF2", "SDIRK")
THETA = np.geomspace(0.05, 200.0, 8001)  # angular frequency times step
RATE, STEP = 1000.0, 0.1  # 1/s, s


def damping() -> dict[str, Array]:
    """Return decay rates over frequency at the steps THETA."""
    return {name: rf.amplification(name, THETA).damping for name in SCHEMES}


def crossing(curves: dict[str, Array], other: str) -> float:
    """Return the step above which BDF2 damps less than another scheme."""
    less = curves["BDF2"] < curves[other]
    return float(THETA[less.argmax()])


def decay(name: str, steps: int) -> Array:
    """Return v after each step of v' = -RATE v from v = 1, (steps,)."""
    almost_none = 1e-12 * np.eye(2)  # a system has a stiffness, and two unknowns at least
    system = rf.SecondOrderSystem(np.eye(2), almost_none, damping_matrix=RATE * np.eye(2))
    sim = rf.integrator(name, system, STEP, tol=0.0, newton_max=2)
    sim.reset([0.0, 0.0], [1.0, 1.0])
    found = []
    for _ in range(steps):
        sim.step()
        found.append(sim.state.qdot[0])
    return np.array(found)


def draw(curves: dict[str, Array], path: Path) -> None:
    """Draw figure 3."""
    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in curves.items():
        axes.semilogx(THETA, curve, label=name)
    axes.set(xlabel="angular frequency times step", ylabel="decay rate / angular frequency")
    axes.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


def main() -> int:
    """Print the numbers and draw the plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (out)")
    arguments = parser.parse_args()
    path = arguments.out / "a21_damping.png"
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
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
        draw(curves, path)
        print(f"\nplot: {path}")
    except (rf.ReducedFEMError, OSError) as error:
        print(f"a21_damping.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
