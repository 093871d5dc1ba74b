"""Forces of a slower simulation, shown with a delay: the damping they ask for (Zhuang 2000, 5.4.2).

A simulation with the period T_s takes the place of the hand, and its force is known a period later;
the display then goes there linearly for another period. A hand of mass m that feels a spring K so
sees the force -K x(t - 2 T_s), with x linear between the samples. A swing of angular frequency w
gets the energy K sin(2 w T_s) / w times its squared speed, so that the hand needs a damping

    b >= 2 K T_s,

less where w T_s is not small. Compared are this bound, the exact least damping of a hand on such a
spring (spectral radius of the map over a period), and the least damping measured in sessions, in
which a ball in a simulated hand rests on a block in explicit steps and is pushed.

Marks: the exact least damping is at most 2 K T_s, and at least 0.95 of it for the shortest period;
the measured one is 0.55 to 1.1 times the exact one (the block damps a little itself).

Run it for the numbers and the plot:  python experiments/z00_delay.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import command
import numpy as np
import scipy.linalg
import z00_haptics
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reducedfem import plot as pictures

Array = NDArray[np.float64]

YOUNG = (1e4, 3e4)  # of the blocks, Pa
PERIODS = (4e-3, 5e-3, 8e-3, 10e-3, 20e-3)  # T_s of the sessions
FINEST = 1e-3  # shortest one of the exact curve, s
MASS, SPRING = 0.1, 20.0  # of the hand: kg, N/m to its target


@dataclass(frozen=True)
class Block:
    """Least damping by the period for one block."""

    stiffness: float  # N/m
    periods: Array  # of the exact curve, s
    exact: Array  # N s/m
    measured: Array  # at PERIODS, N s/m


def period_map(stiffness: float, period: float, damping: float) -> Array:
    """Return the map of (x, v, x one period before, x two before) over a period."""
    # m x'' = -k x - b x' + f with f from f_0 to f_1: the exponential of (x, v, f, its slope)
    flow = np.zeros((4, 4))
    flow[0, 1] = flow[2, 3] = 1.0
    flow[1] = [-SPRING / MASS, -damping / MASS, 1.0 / MASS, 0.0]
    step = scipy.linalg.expm(period * flow)[:2]
    before, after = -stiffness * np.array([0, 0, 0, 1.0]), -stiffness * np.array([0, 0, 1.0, 0])
    begin = np.zeros((4, 4))
    begin[0, 0] = begin[1, 1] = 1.0
    begin[2], begin[3] = before, (after - before) / period
    out = np.zeros((4, 4))
    out[:2] = step @ begin
    out[2, 0] = out[3, 2] = 1.0
    return out


def exact_damping(stiffness: float, period: float) -> float:
    """Return the least damping of the hand for which no swing on the spring grows."""
    low, high = 0.0, 4.0 * stiffness * period
    for _ in range(60):
        middle = 0.5 * (low + high)
        grows = np.abs(np.linalg.eigvals(period_map(stiffness, period, middle))).max() > 1.0
        low, high = (middle, high) if grows else (low, middle)
    return high


def study(young: float, periods: tuple[float, ...]) -> Block:
    """Return the least dampings for a block."""
    stiffness = z00_haptics.stiffness_of(young)
    curve = np.unique([*np.geomspace(FINEST, max(periods), 13), *periods])
    exact = np.array([exact_damping(stiffness, period) for period in curve])
    measured = [z00_haptics.least_damping(young, "delay", period) for period in periods]
    return Block(stiffness, curve, exact, np.array(measured))


def misses(block: Block, periods: tuple[float, ...]) -> list[str]:
    """Return the marks that are missed."""
    missed, bound = [], 2.0 * block.stiffness * block.periods
    ratio = block.exact / bound
    if not (ratio <= 1.0 + 1e-9).all():
        missed.append(f"the exact least damping is {ratio.max():.3f} of 2 K T_s")
    if not ratio[0] >= 0.95:
        missed.append(f"at {1e3 * block.periods[0]:g} ms it is {ratio[0]:.3f} of 2 K T_s")
    for period, found in zip(periods, block.measured, strict=True):
        part = found / block.exact[np.argmin(np.abs(block.periods - period))]
        if not 0.55 <= part <= 1.1:
            missed.append(f"T_s = {1e3 * period:g} ms: measured {part:.2f} of the exact one")
    return missed


def draw(blocks: list[Block], periods: tuple[float, ...], path: Path) -> None:
    """Draw least dampings over the period."""
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for k, block in enumerate(blocks):
        ms, color = 1e3 * block.periods, f"C{k}"
        text = f"K = {block.stiffness:.0f} N/m"
        axes.loglog(ms, 2e-3 * block.stiffness * ms, "--", color=color, lw=0.8,
                    label=f"2 K T_s, {text}")  # fmt: skip
        axes.loglog(ms, block.exact, color=color, lw=1.2, label="exact, of a spring")
        axes.loglog(1e3 * np.array(periods), block.measured, "o", color=color, label="sessions")
    axes.set(xlabel="T_s [ms]", ylabel="least damping of the hand [N s/m]")
    axes.legend(frameon=False, fontsize="small")
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    missed = []
    blocks = []
    for young in YOUNG:
        block = study(young, PERIODS)
        blocks.append(block)
        print(f"E = {1e-3 * young:g} kPa, K = {block.stiffness:.0f} N/m; least damping [N s/m]")
        print("T_s [ms]   2 K T_s    exact  measured")
        for period, found in zip(PERIODS, block.measured, strict=True):
            exact = block.exact[np.argmin(np.abs(block.periods - period))]
            print(f"{1e3 * period:8g}  {2 * block.stiffness * period:8.3f}  {exact:7.3f}  "
                  f"{found:8.3f}")  # fmt: skip
        missed += [f"E = {young:g} Pa: {text}" for text in misses(block, PERIODS)]
    draw(blocks, PERIODS, arguments.plot)
    return missed


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
