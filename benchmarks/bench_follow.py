"""Haptic sessions that a page follows: times of their cycles with and without the page."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from bench_contact import bumpy_ball, soft_ball, sphere
from bench_haptics import STIFFNESS, rolling
from table import Row

import reducedfem as rf

ROUNDS = 9
SECONDS = 5.0  # of a run: five cycles are above p99.9
CLIENT = Path(__file__).with_name("page_client.py")


@contextlib.contextmanager
def followed(session: rf.HapticSession, seen: list[int]) -> Iterator[None]:
    """Follow a session by a page in a process of its own; add its frames and bytes to a list."""
    with contextlib.redirect_stdout(None):
        shown = rf.view(session, browser=False)
    with shown:
        page = subprocess.Popen(
            [sys.executable, str(CLIENT), shown.address], stdout=subprocess.PIPE, text=True
        )
        try:
            while not shown.wait_open(1.0):
                if page.poll() is not None:
                    raise RuntimeError(f"the page ended with exit status {page.returncode}")
            yield
        finally:
            shown.close()
            seen += [int(word) for word in page.communicate(timeout=60.0)[0].split()]


def times(contact: rf.PenaltyContact, seconds: float, seen: list[int] | None) -> np.ndarray:
    """Return percentiles of the cycles of a session [us]; follow it if a list is given.

    They are the 50th, 99th and 99.9th, and the 99.9th of the times on a processor, in which pauses
    by the machine are missing.
    """
    simulation = rf.ImplicitNewmark(contact.tree.reduced, 1e-3, damping=(1.0, 1e-3))
    session = rf.HapticSession(
        contact,
        rolling(0.147),
        coupling=rf.VirtualCoupling.for_contact(contact, STIFFNESS),
        simulation=simulation,
        duration=seconds,
        keep_records=1 << 14,
    )
    page = contextlib.nullcontext() if seen is None else followed(session, seen)
    try:
        with page, session:
            session.wait()
    finally:
        session.close()
    records = session.records().array
    compute = np.percentile(records["compute_us"], [50.0, 99.0, 99.9])
    return np.append(compute, np.percentile(records["processor_us"], 99.9))


def following(rounds: int = ROUNDS, seconds: float = SECONDS) -> list[Row]:
    """Return the rows of a session with and without a page, in rounds of three runs."""
    tree = rf.PointTree(sphere([320, 1280, 5120, 20480]), soft_ball())
    contact = rf.PenaltyContact(tree, bumpy_ball(128), 1000.0, warm_nodes=None, direction="normal")
    times(contact, 0.5, None)  # warm
    seen: list[int] = []
    runs = []
    for k in range(rounds):
        found: dict[int, np.ndarray] = {}
        # each of the three is first, second and last as often as the others
        for which in np.roll([0, 1, 2], k):
            found[int(which)] = times(contact, seconds, seen if which == 2 else None)
        runs.append([found[which] for which in range(3)])
    p50, p99, p999, processor = np.moveaxis(np.array(runs), 2, 0)

    def pairs(values: np.ndarray, which: int) -> np.ndarray:
        return np.asarray(values[:, which] / values[:, 0])

    def ratios(which: int) -> str:
        low, high = np.percentile(pairs(p999, which), [25, 75])
        return (
            f"ratios of {rounds} pairs: quartiles {low:.3f} to {high:.3f}, all "
            f"{pairs(p999, which).min():.3f} to {pairs(p999, which).max():.3f}; median ratio of "
            f"p99.9 on a processor {np.median(pairs(processor, which)):.3f}, of p99 "
            f"{np.median(pairs(p99, which)):.3f}, of p50 {np.median(pairs(p50, which)):.3f}"
        )

    frames, size = sum(seen[::2]), sum(seen[1::2])
    rate = frames / (rounds * seconds)
    return [
        Row(
            "cycles of a session that a page follows, p99.9",
            float(np.median(p999[:, 2])),
            "us",
            None,
            f"{ratios(2)}; {rate:.0f} frames/s of {size / max(frames, 1):.0f} bytes; "
            f"{os.cpu_count()} processors",
            ratio=float(np.median(pairs(p999, 2))),
            over="one that none follows",
            ratio_mark=1.02,
        ),
        Row(
            "the same without a page, twice, p99.9",
            float(np.median(p999[:, 1])),
            "us",
            None,
            f"noise of the ratio above: {ratios(1)}",
            ratio=float(np.median(pairs(p999, 1))),
            over="one that none follows",
        ),
    ]


ENTRIES: dict[str, Callable[[], list[Row]]] = {"following": following}
