"""Print the table of timings: ``make bench``, or ``python benchmarks/run.py [name ...]``.

Every row is held against its mark, every speed against a yardstick measured in the same
run. Marks are for one core of a current server; the table says what this machine is.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import yardsticks
from table import show

import reducedfem as rf

NAMES = ("polynomial", "solid", "precompute", "bodies")


def main() -> int:
    """Run the benchmarks named, all by default; return 1 when a mark is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a mark is not met")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"no benchmark {name!r}; there are {', '.join(NAMES)}")

    yardsticks.blas_threads(1)
    clock = yardsticks.clock() / 1e9
    for key, value in rf.system_info().items():
        print(f"{key}: {value}")
    print(
        f"clock: {np.median(clock):.2f} GHz (p10 {np.percentile(clock, 10):.2f}, best "
        f"{clock.max():.2f}); peak {yardsticks.peak_rate() / 1e9:.1f} Gflop/s a core; reads "
        + ", ".join(
            f"{yardsticks.read_rate(size) / 1e9:.0f} GB/s from {label}"
            for label, size in (
                ("16 kB", 1 << 14),
                ("256 kB", 1 << 18),
                ("4 MB", 1 << 22),
                ("128 MB", 1 << 27),
            )
        )
    )
    missed = 0
    for name in arguments.names or NAMES:
        rows = importlib.import_module(f"bench_{name}").rows()
        print(f"\n{name}\n{show(rows)}", flush=True)
        missed += sum(row.verdict == "OVER" for row in rows)
    print(f"\n{missed} of the marks not met on this machine" if missed else "\nall marks met")
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    sys.exit(main())
