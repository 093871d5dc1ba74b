"""Sweeps, pyramids and Newton's method for contact with friction (Duriez et al. 2006, 6-8, 17, 18).

A table of foam stands with four legs on a rough floor, its top held by the hand and moved.

- Coefficients: contacts that slip and force of the table, the same load, with mu from 0 to 0.8
  (figure 6).
- Pyramids: error of the contact forces against the cone, 100 |f_LCP - f| / |f|, for 4 to 16 sides,
  mu = 0.1, mean over 30 random motions in the plane of the floor (figure 7). D06 needs 16 sides for
  errors below 5 %.
- Times: sweeps until the forces change by 1 %, as in D06; the pyramid of 8 sides by Lemke's method;
  and `solve_friction`; medians over random motions and coefficients, for 5 to 35 contacts
  (figure 8; D06 shows means).
- Times of single solves, median and worst: 30 contacts without friction (figure 17: 3 ms), 20 with
  mu = 0.2 and 0.8 (figure 18: 4 ms, on a computer of 2004).

Run it for the tables and the plots of all:  python experiments/d06_methods.py [--help]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

import command
from friction_problems import Problem, table

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

SIDES = (4, 6, 8, 10, 12, 14, 16)
COEFFICIENTS = (0.0, 0.1, 0.2, 0.4, 0.8)
CONTACTS = (5, 10, 15, 20, 25, 30, 35)
SINGLES = ((30, 0.0, 3.0), (20, 0.2, 4.0), (20, 0.8, 4.0))  # contacts, mu, time of D06 [ms]
PRESS = 1.0e-3  # m
MOTION = 1.5e-3  # m


@dataclass(frozen=True)
class Times:
    """Median times [us] for a number of contacts."""

    m: int
    newton: float
    sweeps: float
    pyramid: float
    failed: int  # pyramids without a solution


def motions(problem: Problem, count: int, rng: np.random.Generator) -> Array:
    """Return displacements (count, m, 3) by motions of the top in the plane, pressed down."""
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    move = np.stack([MOTION * np.cos(angle), MOTION * np.sin(angle), np.full(count, -PRESS)], 1)
    free: Array = np.einsum("mij,cj->cmi", problem.axes, move)
    free[:, :, 0] += rng.uniform(0.0, 0.2 * PRESS, (count, problem.m))
    return free


def coefficients(
    problem: Problem, values: Sequence[float] = COEFFICIENTS
) -> list[tuple[float, float, float]]:
    """Return mu, part of the touching contacts that slip, and tangential over normal force."""
    free = motions(problem, 1, np.random.default_rng(0))[0]
    rows = []
    for mu in values:
        out = rf.solve_friction(problem.W, free, mu)
        touch = out.state != "open"
        on_table = np.einsum("mij,mi->j", problem.axes, out.force)
        ratio = float(np.hypot(*on_table[:2]) / on_table[2])
        rows.append((mu, float((out.state[touch] == "slip").mean()), ratio))
    return rows


def pyramid_errors(problem: Problem, count: int) -> tuple[Array, int]:
    """Return the mean errors [%] of pyramids of SIDES, and the number without a solution."""
    errors, failed = np.full((count, len(SIDES)), np.nan), 0
    for k, free in enumerate(motions(problem, count, np.random.default_rng(1))):
        cone = rf.solve_friction(problem.W, free, 0.1).force
        for j, sides in enumerate(SIDES):
            out = rf.solve_friction_pyramid(problem.W, free, 0.1, sides)
            if out.status == "solved":
                errors[k, j] = 100 * np.linalg.norm(out.force - cone) / np.linalg.norm(cone)
            else:
                failed += 1
    return np.nanmean(errors, axis=0), failed


def times(m: int, count: int) -> Times:
    """Return the times of the three methods."""
    rng = np.random.default_rng(m)
    problem = table(m, "held")
    took, failed = np.zeros((count, 3)), 0
    for k, free in enumerate(motions(problem, count, rng)):
        mu = rng.uniform(0.0, 1.0)
        pyramid = rf.solve_friction_pyramid(problem.W, free, mu, 8)
        failed += pyramid.status != "solved"
        took[k] = (
            rf.solve_friction(problem.W, free, mu).microseconds,
            rf.solve_friction_sweeps(problem.W, free, mu).microseconds,
            pyramid.microseconds,
        )
    return Times(m, *np.median(took, axis=0), failed)


def single(m: int, mu: float, count: int) -> Array:
    """Return the times of solves [us], one for each motion."""
    problem = table(m, "held")
    return np.array(
        [
            min(rf.solve_friction(problem.W, free, mu).microseconds for _ in range(3))
            for free in motions(problem, count, np.random.default_rng(2))
        ]
    )


def draw_coefficients(ax: Axes, problem: Problem) -> None:
    """Draw figure 6."""
    mu, slipping, ratio = np.array(coefficients(problem, np.linspace(0.0, 1.0, 41).tolist())).T
    ax.plot(mu, slipping, label="part of the contacts that slip")
    ax.plot(mu, ratio, label="tangential over normal force")
    ax.plot(mu, mu, ":", color="gray", label="mu")
    ax.set(xlabel="mu", ylim=(0.0, 1.45), title="one load, 24 contacts (6)")
    ax.legend(loc="upper right", fontsize=8)


def draw_pyramids(ax: Axes, errors: Array) -> None:
    """Draw figure 7."""
    ax.bar(SIDES, errors, width=1.2)
    ax.axhline(5.0, ls=":", color="gray")
    ax.set(xlabel="sides of the pyramid", ylabel="error of the forces [%]", xticks=SIDES)
    ax.set_title("pyramids, mu = 0.1 (7)")


def draw_times(ax: Axes, rows: list[Times]) -> None:
    """Draw figure 8."""
    m = [one.m for one in rows]
    for name, label in (
        ("pyramid", "pyramid of 8 sides"),
        ("sweeps", "sweeps until 1 % change"),
        ("newton", "solve_friction, residual 1e-8"),
    ):
        ax.semilogy(m, [1e-3 * getattr(one, name) for one in rows], "o-", label=label)
    most = 1e-3 * max(one.pyramid for one in rows)
    ax.set(xlabel="contacts", ylabel="median time [ms]", title="times of three methods (8)")
    ax.set_ylim(top=50.0 * most)  # room for the legend
    ax.legend(loc="upper left", fontsize=8)


def draw_singles(ax: Axes, singles: list[Array]) -> None:
    """Draw figures 17 and 18."""
    for k, ((m, mu, published), took) in enumerate(zip(SINGLES, singles, strict=True)):
        ax.semilogy(np.arange(1, len(took) + 1), 1e-3 * took, "o", ms=3, color=f"C{k}",
                    label=f"{m} contacts, mu = {mu:g}")  # fmt: skip
        ax.axhline(published, ls=":", color=f"C{k}")
    ax.set(xlabel="motion", ylabel="time [ms]", title="single solves; dotted: D06 (17, 18)")
    ax.set_ylim(top=60.0)
    ax.legend(loc="upper left", fontsize=8)


def draw(problem: Problem, errors: Array, rows: list[Times], singles: list[Array],
         path: Path) -> None:  # fmt: skip
    """Draw all figures."""
    figure = Figure(figsize=(9, 6.4), layout="constrained")
    (first, second), (third, last) = figure.subplots(2, 2)
    draw_coefficients(first, problem)
    draw_pyramids(second, errors)
    draw_times(third, rows)
    draw_singles(last, singles)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    problem = table(24, "held")

    print("one load, 24 contacts\n  mu   slipping   tangential / normal force")
    for mu, slipping, ratio in coefficients(problem):
        print(f"{mu:5.2f}{100 * slipping:9.0f} %{ratio:14.3f}")

    errors, failed = pyramid_errors(problem, arguments.count)
    print(f"\nmu = 0.1, {arguments.count} motions; {failed} pyramids without a solution")
    print("sides        " + "".join(f"{sides:8d}" for sides in SIDES))
    print("error [%]    " + "".join(f"{error:8.2f}" for error in errors))

    print(
        "\nmedian times [us]\n"
        "contacts  solve_friction    sweeps   pyramid of 8   without a solution"
    )
    rows = []
    for m in CONTACTS:
        rows.append(times(m, arguments.count))
        one = rows[-1]
        print(f"{m:8d}{one.newton:16.0f}{one.sweeps:10.0f}{one.pyramid:15.0f}{one.failed:21d}")
    print("\ncontacts    mu   median [us]   worst [us]")
    singles = []
    for m, mu, _ in SINGLES:
        singles.append(single(m, mu, arguments.count))
        took = singles[-1]
        print(f"{m:8d}{mu:6.1f}{np.median(took):14.0f}{took.max():13.0f}")
    draw(problem, errors, rows, singles, arguments.plot)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--count", type=int, default=30, help="motions for each mean or median")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
