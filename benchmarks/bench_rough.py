"""All haptic scenes with friction, at 1 kHz: cycle times, energy given to the hand, penetration."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from bench_haptics import penetration_rows, played
from table import Row

from reducedfem import scenes

MU = 0.4
SECONDS = 10.0  # all of the motion of the hand
ROUNDING = 1e-9  # J


def scene_rows(name: str) -> list[Row]:
    """Return the rows of a scene in its full size, run in the thread."""
    session = scenes.session(name, friction=MU, duration=SECONDS, keep_records=1 << 14)
    records, report = played(session)
    compute, forces = (records[each] for each in ("compute_us", "coupling_us"))
    touching = records["touching"] > 0
    late = float(np.percentile(compute, 99.9))
    percent = np.percentile(forces[touching], [50, 99.9])
    deepest = records[records["depth_m"].argmax()]
    return [
        Row(
            f"{name}, mu = {MU}, cycle, p99.9",
            late,
            "us",
            500.0,
            f"p50 {np.median(compute):.0f}, max {compute.max():.0f} us over {len(records)} cycles, "
            f"on a processor p99.9 {np.percentile(records['processor_us'], 99.9):.0f} us; "
            f"{report.over} longer than a period, {report.skipped} left out; sites, forces and "
            f"motion of the held body in contact p50 {percent[0]:.0f}, p99.9 {percent[1]:.0f} us; "
            f"{touching.mean():.0%} with contact, at most {records['touching'].max()} sites",
            ratio=late / float(np.median(compute)),
            over="its median",
        ),
        Row(
            f"{name}, energy given to the hand",
            report.most_energy,
            "J",
            ROUNDING,
            f"largest sum so far; {report.energy:.3g} J in the end",
        ),
        *penetration_rows(
            f"{name}, penetration",
            session,
            records,
            f"deepest at level {deepest['level']} of the shell",
        ),
    ]


ENTRIES: dict[str, Callable[[], list[Row]]] = {
    name: partial(scene_rows, name) for name in scenes.STORIES
}
