"""Print the table of timings: ``make bench``, or ``python benchmarks/run.py [name ...]``.

Every row is held against its mark, every time against a yardstick of the same run; the peak
of memory is that of a process which does this alone. Marks are for one core of a current
server where a row does not say otherwise; the table says what this machine is.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import child
import yardsticks
from table import show

import reducedfem as rf

NAMES = (
    "polynomial",
    "cubature",
    "solid",
    "precompute",
    "orderings",
    "bodies",
    "examples",
    "motion",
    "schemes",
    "field",
    "pointshell",
    "contact",
    "friction",
    "green",
    "control",
    "composite",
    "deformed",
    "haptics",
    "follow",
    "rough",
)


def machine() -> str:
    """Return what this machine is and can do."""
    yardsticks.blas_threads(1)
    clock = yardsticks.clock() / 1e9
    lines = [f"{key}: {value}" for key, value in rf.system_info().items()]
    sizes = (("16 kB", 1 << 14), ("256 kB", 1 << 18), ("4 MB", 1 << 22), ("128 MB", 1 << 27))
    reads = [f"{yardsticks.read_rate(size) / 1e9:.0f} GB/s from {label}" for label, size in sizes]
    lines.append(
        f"clock: {np.median(clock):.2f} GHz (p10 {np.percentile(clock, 10):.2f}, best "
        f"{clock.max():.2f}); peak {yardsticks.peak_rate() / 1e9:.1f} Gflop/s a core; reads "
        + ", ".join(reads)
    )
    return "\n".join(lines)


def main() -> int:
    """Run the benchmarks named, all by default; return 1 when one fails or misses a mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--strict", action="store_true", help="exit 1 also when a mark is not met")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"no benchmark {name!r}; there are {', '.join(NAMES)}")

    begin = time.perf_counter()
    print(machine(), flush=True)
    sections, failed = [], []
    for name in arguments.names or NAMES:
        module = f"bench_{name}"
        rows = []
        for entry in importlib.import_module(module).ENTRIES:
            start = time.perf_counter()
            print(f"  {name}: {entry}", end="", file=sys.stderr, flush=True)
            try:
                rows += child.rows_of(module, entry)
            except RuntimeError as error:
                failed.append(str(error))
            print(f", {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
        sections.append((name, rows))
    print(f"\n{show(sections)}")
    missed = [row.what for _, rows in sections for row in rows if row.verdict == "OVER"]
    print(f"\n{time.perf_counter() - begin:.0f} s in all; ", end="")
    if missed:
        print(f"{len(missed)} of the marks not met on this machine: " + "; ".join(missed), end="")
    else:
        print("all marks met", end="")
    print(f"; {len(failed)} could not be measured" if failed else "")
    for one in failed:
        print(one, file=sys.stderr)
    return 1 if failed or (missed and arguments.strict) else 0


if __name__ == "__main__":
    sys.exit(main())
