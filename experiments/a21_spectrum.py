"""First 1000 eigenvalues of a soft solid (Ascher et al. 2021, figure 5).

Exact modes would be an obvious choice if a gap divided the few slow ones from the others. There is
none: beyond the first ten each eigenvalue of K x = lambda M x follows close on the one before.
The number of exact modes is therefore a choice between cost and liveliness.

The body is the bridge of the samples, of soft material and held at both ends. The mark: beyond the
first ten no eigenvalue is more than 1.5 times the one before.

Run it for the numbers and the plot:  python experiments/a21_spectrum.py [--quick] [--help]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from table_2_1 import solid_of

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

BODY, RESOLUTION, MODES = "bridge", 40, 1000
QUICK = (24, 100)  # resolution, modes
SLOW, GAP = 10, 1.5  # first modes, which may differ; ratio that would be a gap


def eigenvalues(resolution: int, modes: int) -> Array:
    """Return the lowest eigenvalues of the body [1/s^2], ascending."""
    with warnings.catch_warnings():
        # whole cells around thin parts: the spectrum of a coarser, heavier bridge
        warnings.simplefilter("ignore", rf.PlausibilityWarning)
        solid = solid_of(BODY, resolution)
    return np.asarray((2.0 * np.pi * solid.linear_modes(modes).frequencies) ** 2)


def largest_gap(values: Array) -> tuple[int, float]:
    """Return the number of modes below the largest gap beyond the slow ones, and its ratio."""
    ratios = values[SLOW:] / values[SLOW - 1 : -1]
    return SLOW + int(ratios.argmax()), float(ratios.max())


def draw(values: Array, path: Path) -> None:
    """Draw figure 5."""
    figure = Figure(figsize=(7.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    number = np.arange(1, len(values) + 1)
    left.plot(number, values, lw=1.2)
    left.set(xlabel="mode", ylabel="eigenvalue [1/s²]")
    right.semilogy(number[1:], values[1:] / values[:-1] - 1.0, ".", ms=3)
    right.axhline(GAP - 1.0, color="0.5", lw=0.8, ls=":")
    right.set(xlabel="mode", ylabel="above the one before, relative", ylim=(1e-5, None))
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    values = eigenvalues(*(QUICK if arguments.quick else (RESOLUTION, MODES)))
    print(f"{BODY}: {len(values)} eigenvalues [1/s^2]")
    shown = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    for number in (n for n in shown if n <= len(values)):
        print(f"  {number:4d} {values[number - 1]:12.5g}")
    below, ratio = largest_gap(values)
    print(f"largest ratio of an eigenvalue to the one before, beyond the first {SLOW}:")
    print(f"  {ratio:.3f} (of {below + 1} to {below}); a gap would be {GAP:g}")
    print("figure 5: no clear separation")
    draw(values, arguments.plot)
    return [f"a gap of {ratio:.2f}"] if ratio > GAP else []


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--quick", action="store_true", help="100 modes of a coarse mesh")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
