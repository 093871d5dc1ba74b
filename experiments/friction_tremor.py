"""Creep of a tool that sticks on a rough floor under the tremor of a hand.

A hand presses a rigid tool on a floor of points by 2 N, pulls it by half of the force at which it
slips, and trembles at 10 Hz along a circle of a quarter of that force, so that it never slips. The
table shows how far the mean place of the tool in a period has moved after 0.6 s, or how far it
moves in most of a period if that is farther. Columns are budgets of time for the forces, rows
numbers of sites below the tool; numbers are the median and the worst of several runs. The mark is
1 um for budgets of 20 us and more.

Budgets are times of this machine: programs beside this one take from them. Sessions have real-time
priority; run it likewise, for example by ``chrt --fifo 50 python experiments/friction_tremor.py``.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import reducedfem as rf

SIDES = (2, 3, 5, 7)  # sites along each side of the tool
BUDGETS = (20.0, 40.0, 80.0, 150.0, 300.0, 1e6)  # us; the last one is no limit
WIDTH = 0.03  # m, of the sites
STIFFNESS = 1000.0  # N/m, of the coupling
PRESSED = 0.002  # m
MU = 0.4
MARK = 1e-6  # m
PERIOD = 100  # cycles
DOWN, PULLED, BEGIN, END = 200, 300, 400, 1000  # cycles


@dataclass(frozen=True)
class Creep:
    """Result of a run.

    Attributes
    ----------
    way
        Motion of the mean place from the first to the last period, or between the percentiles 5 and
        95 of the last one, if that is farther [m].
    sites
        Median number of sites that bear a force.
    forces_us
        Median time of sites, forces and motion in a cycle [us].
    """

    way: float
    sites: int
    forces_us: float


def contact(side: int, budget_us: float) -> rf.FrictionContact:
    """Return a floor and a tool that stands on `side` x `side` of its points."""
    spacing = WIDTH / (side - 1)
    # places of the points lie about the middle of the tool
    line = spacing * (np.arange(-2 * side, 2 * side + side % 2) + 0.5 * (1 - side % 2))
    x, y = (a.ravel() for a in np.meshgrid(line, line))
    shell = rf.Pointshell(np.stack([x, y, 0.0 * x], axis=1), np.tile([0.0, 0.0, -1.0], (x.size, 1)))
    half = 0.5 * WIDTH + 0.4 * spacing
    box = rf.BoxField((-half, -half, 0.0), (half, half, 0.02))
    return rf.FrictionContact(rf.PointTree(shell), box, MU, budget_us=budget_us)


def hand() -> NDArray[np.float64]:
    """Return places of the hand in each cycle (END, 3) [m]."""
    t = np.arange(END)
    slips = MU * PRESSED  # way of the hand at which the tool slips
    pulled = np.clip((t - DOWN) / (PULLED - DOWN), 0.0, 1.0)
    turn = 2.0 * np.pi * np.maximum(t - PULLED, 0) / PERIOD
    x = slips * pulled * (0.5 + 0.25 * np.sin(turn))
    y = slips * pulled * 0.25 * np.cos(turn)
    z = 1e-4 - (1e-4 + PRESSED) * np.minimum(t / DOWN, 1.0)
    return np.stack([x, y, z], axis=1)


def creep(side: int, budget_us: float) -> Creep:
    """Return the creep of a tool on `side` x `side` sites."""
    places = hand()
    upright = (1.0, 0.0, 0.0, 0.0)
    device = rf.ReplayDevice(1e-3 * np.arange(END), places, np.tile(upright, (END, 1)))
    session = rf.HapticSession(
        contact(side, budget_us),
        device,
        coupling=rf.VirtualCoupling(STIFFNESS, torsional_stiffness=5.0),
        workspace=rf.Workspace(start=(places[0], upright)),
        budget_us=0,
        max_force=100.0,
        max_torque=10.0,
    )
    late = session.run(END).array[BEGIN:]
    places = late["object_position"][:, :2].reshape(-1, PERIOD, 2)
    means = places.mean(axis=1)
    low, high = np.percentile(places[-1], [5.0, 95.0], axis=0)
    return Creep(
        max(float(np.linalg.norm(each)) for each in (means[-1] - means[0], high - low)),
        int(np.median(late["touching"])),
        float(np.median(late["coupling_us"])),
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=9, help="runs of each case (9)")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error(f"--runs must be 1 or more, got {arguments.runs}")
    print(f"creep in 0.6 s [um], median and worst of {arguments.runs}; * above {1e6 * MARK:g} um")
    budgets = [f"{us:.0f} us" if us < 1e6 else "no limit" for us in BUDGETS]
    print("sites" + "".join(f"{each:>18}" for each in budgets) + "   forces, no limit")
    try:
        for side in SIDES:
            line = ""
            for budget_us in BUDGETS:
                runs = [creep(side, budget_us) for _ in range(arguments.runs)]
                ways = [1e6 * run.way for run in runs]
                missed = "*" if max(ways) > 1e6 * MARK else " "
                line += f"{np.median(ways):9.2f}{max(ways):8.2f}{missed}"
            took = float(np.median([run.forces_us for run in runs]))
            print(f"{runs[0].sites:5}{line}{took:12.0f} us")
    except rf.ReducedFEMError as error:
        print(f"friction_tremor.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
