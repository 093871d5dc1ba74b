"""A scene played back and forth for many minutes: late cycles and growth of memory.

The simulated hand of a scene makes its motion of ten seconds forwards and backwards until the
time is over, in full size and recorded to a file, while once a second Python reads the state
and the memory of the process. The exit status is 1 if a cycle computed longer than a period, a
record found no room, the session failed, or the process has grown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import child
import numpy as np
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf
from reducedfem import _core, scenes
from reducedfem.scenes import shapes

GROWTH = 1 << 20  # bytes of resident memory that are no drift
WARM = 10.0  # s at most until the process has all the memory that it needs


@dataclass
class Soak:
    """Observations of a run.

    Attributes
    ----------
    report, records
        Of the session: all its cycles.
    seconds
        When Python looked, since the session was started [s].
    resident, blocks, files
        Resident memory [bytes], live blocks of the C library, open files.
    snapshots
        Time of each snapshot [us].
    built
        Time to build the scene [s].
    """

    report: rf.HapticReport
    records: NDArray[np.void]
    seconds: list[float] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    snapshots: list[float] = field(default_factory=list)
    built: float = 0.0

    def grown(self, seen: list[int]) -> int:
        """Return by how much something has grown since the session was warm."""
        if not seen:
            return 0
        warm = min(WARM, 0.5 * self.seconds[-1])
        first = next(k for k, at in enumerate(self.seconds) if at >= warm)
        return seen[-1] - seen[first]

    def faults(self, growth: int = GROWTH) -> list[str]:
        """Return what must not be."""
        r, found = self.report, []
        if r.phase != "finished":
            found.append(f"the session {r.phase}: {r.failure}")
        if len(self.records) != r.ticks:
            found.append(f"{len(self.records)} records of {r.ticks} cycles")
        if r.over:
            paused = f", {r.interrupted} of them paused by the machine" if r.interrupted else ""
            found.append(f"{r.over} cycles longer than a period{paused}")
        if r.unrecorded:
            found.append(f"{r.unrecorded} cycles not recorded")
        if self.grown(self.resident) > growth:
            found.append(f"resident memory grew by {self.grown(self.resident) / 1e6:.2f} MB")
        for what, seen in (("blocks of memory", self.blocks), ("open files", self.files)):
            if self.grown(seen) > 0:
                found.append(f"{self.grown(seen)} {what} more")
        return found

    def lines(self) -> Iterator[str]:
        """Return the numbers, line by line."""
        r = self.report
        yield (
            f"{r.ticks} cycles at {r.rate:g} Hz: {r.over} longer than a period ({r.interrupted} "
            f"paused by the machine), {r.skipped} left out, {r.unrecorded} not recorded"
        )
        yield (
            f"built in {self.built:.1f} s; real-time priority {'yes' if r.priority else 'no'}, "
            f"memory locked {'yes' if r.locked else 'no'}"
        )
        yield f"{'us':<14}{'p50':>9}{'p99':>9}{'p99.9':>9}{'max':>9}"
        quarters = np.array_split(self.records, 4)
        for what, us in (
            ("computing", self.records["compute_us"]),
            *((f"  quarter {k + 1}", quarter["compute_us"]) for k, quarter in enumerate(quarters)),
            ("on a processor", self.records["processor_us"]),
            ("begun late by", self.records["late_us"]),
            ("snapshots", np.array(self.snapshots)),
        ):
            if len(us):
                values = np.percentile(us, [50, 99, 99.9, 100])
                yield f"{what:<14}" + "".join(f"{value:>9.1f}" for value in values)
        yield f"touching in {(self.records['touching'] > 0).mean():.0%} of the cycles"
        if self.resident:
            yield (
                f"resident memory {self.resident[-1] / 1e6:.1f} MB, grown by "
                f"{self.grown(self.resident) / 1e3:.0f} kB; blocks {self.blocks[-1]}, grown by "
                f"{self.grown(self.blocks)}; open files {self.files[-1]}, grown by "
                f"{self.grown(self.files)}"
            )


@contextmanager
def to_and_fro(seconds: float) -> Iterator[None]:
    """Make hands of scenes move forwards and backwards for at least some seconds."""
    once = shapes.through

    def again(keys: ArrayLike, *options: Any) -> shapes.Trajectory:
        t, *poses = once(keys, *options)
        way = len(t) - 1
        steps = int(np.ceil(seconds / t[-1] * way)) + 1
        # 0 1 2 .. n n-1 .. 1 0 1 ..
        at = way - np.abs(np.arange(steps + 1) % (2 * way) - way)
        position, quaternion = (x[at] for x in poses)
        return np.arange(steps + 1) * (t[-1] / way), position, quaternion

    with mock.patch.object(shapes, "through", again):
        yield


def soak(
    scene: str,
    seconds: float,
    folder: str | os.PathLike[str],
    every: float = 1.0,
    **options: Any,
) -> Soak:
    """Run a scene, watch it, and return what was seen.

    Parameters
    ----------
    scene
        One of `scenes.STORIES`.
    seconds
        Duration [s].
    folder
        Folder of the records.
    every
        Time between two observations [s].
    **options
        Of `scenes.session`.

    Returns
    -------
    Soak
    """
    file, start = Path(folder) / f"{scene}.npy", time.perf_counter()
    with to_and_fro(seconds):
        session = scenes.session(scene, duration=seconds, record=file, **options)
    seen = Soak(session.report(), np.empty(0), built=time.perf_counter() - start)
    with session:
        begun = time.perf_counter()
        while not session.wait(every):
            if not session.report().ticks:  # nothing to see before the first cycle
                continue
            before = time.perf_counter()
            session.snapshot()
            seen.snapshots.append(1e6 * (time.perf_counter() - before))
            seen.seconds.append(before - begun)
            seen.resident.append(child.resident())
            seen.blocks.append(_core.alloc_counters()["live_blocks"])
            seen.files.append(len(os.listdir("/proc/self/fd")))
        seen.report = session.report()
    seen.records = rf.HapticRecords.load(file).array
    return seen


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scene", default="dragon", choices=scenes.STORIES, help="(dragon)")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (600)")
    arguments = parser.parse_args()
    if not 3.0 <= arguments.seconds <= 1e5:
        parser.error(f"--seconds must be between 3 and 100000, got {arguments.seconds:g}")
    with tempfile.TemporaryDirectory() as folder:
        found = soak(arguments.scene, arguments.seconds, folder)
    for line in found.lines():
        print(line)
    faults = found.faults()
    for fault in faults:
        print(f"NOT RIGHT: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
