"""Energy that scenes with friction give to the hand.

Every haptic scene, with coefficients of friction 0, 0.4 and 1, run offline with its simulated hand
for ten seconds. Forces are solved without a limit of time, so that the table is the same on any
machine. A hand that holds an object in passive surroundings receives no more energy than it has
given: the largest sum over time is 0. Columns are that sum, the sum at the end (negative: given by
the hand), the deepest penetration, the cycles with contact and those whose forces were not solved.
The exit code is 1 if a sum is above 0, but for rounding.

Run it for the table:  python experiments/friction_energy.py [--help]
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import reducedfem as rf
from reducedfem import scenes

COEFFICIENTS = (0.0, 0.4, 1.0)
NO_LIMIT = 1e6  # us
ROUNDING = 1e-12  # J


@dataclass(frozen=True)
class Run:
    """Result of a run.

    Attributes
    ----------
    most, end
        Energy given to the hand, its maximum over time and at the end [J].
    depth
        Deepest penetration [m].
    touching, unsolved, cycles
        Numbers of cycles with contact, of those with unsolved forces, and of all.
    """

    most: float
    end: float
    depth: float
    touching: int
    unsolved: int
    cycles: int


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """Make contacts with friction without a limit of time."""
    made = rf.FrictionContact

    def contact(*of: Any, **options: Any) -> rf.FrictionContact:
        return made(*of, **{**options, "budget_us": NO_LIMIT})

    rf.FrictionContact = contact  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        rf.FrictionContact = made  # type: ignore[misc]


def energy(name: str, mu: float, cycles: int = 10_000, **options: Any) -> Run:
    """Return the result of a scene; options are those of the scene."""
    with unhurried():
        session = scenes.session(name, friction=mu, budget_us=0.0, **options)
    with contextlib.closing(session):
        session.run(cycles)
        report = session.report()

    return Run(
        report.most_energy,
        report.energy,
        report.depth,
        report.touching,
        report.unsolved,
        report.ticks,
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scene", nargs="*", help="scenes (all): " + ", ".join(scenes.STORIES))
    parser.add_argument("--points", type=int, help="points of each shell (those of the scene)")
    parser.add_argument("--resolution", type=int, help="voxels of each field (those of the scene)")
    parser.add_argument("--cycles", type=int, default=10_000, help="cycles of 1 ms (10000)")
    arguments = parser.parse_args()
    if arguments.cycles < 1:
        parser.error(f"--cycles must be 1 or more, got {arguments.cycles}")
    options = {
        name: value
        for name in ("points", "resolution")
        if (value := getattr(arguments, name)) is not None
    }
    print("scene            mu   largest sum [J]    at the end [J]  depth [mm]  contact  unsolved")
    passive = True
    try:
        for name in arguments.scene or scenes.STORIES:
            for mu in COEFFICIENTS:
                run = energy(name, mu, arguments.cycles, **options)
                passive &= run.most <= ROUNDING
                print(
                    f"{name:14}{mu:5.1f}{run.most:18.2e}{run.end:18.2e}{1e3 * run.depth:12.3f}"
                    f"{run.touching / run.cycles:9.0%}{run.unsolved:10}",
                    flush=True,
                )
    except rf.ReducedFEMError as error:
        print(f"friction_energy.py: {error}", file=sys.stderr)
        return 1
    return 0 if passive else 1


if __name__ == "__main__":
    sys.exit(main())
