"""Haptic sessions at 1 kHz: what a cycle computes, the coupling alone, looks from Python."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from bench_contact import bumpy_ball, soft_ball, sphere
from numpy.typing import NDArray
from table import Row

import reducedfem as rf
from reducedfem import scenes

SECONDS = 10.0
SCENE_SECONDS = 5.0  # of the ten that a scene's hand moves: all touch in the first half
STIFFNESS = 1000.0  # N/m, of the coupling


def rolling(distance: float) -> rf.SimulatedHand:
    """Return a hand that means to roll a ball over a shell, some mm deep in it."""
    t = np.linspace(0.0, SECONDS, 1001)
    # from outside
    way = distance * (1 - 0.02 * np.cos(7 * t) + 0.1 * np.exp(-3 * t))
    positions = np.stack([np.cos(t), np.sin(t), 0.3 * np.sin(0.7 * t)], axis=1)
    positions *= (way / np.linalg.norm(positions, axis=1))[:, None]
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    half = 0.65 * t
    quaternions = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis], axis=1)
    return rf.SimulatedHand(t, positions, quaternions, stiffness=2000.0, damping=20.0)


def spread(us: np.ndarray) -> str:
    """Return percentiles."""
    names = (50, 99, 99.9, 100)
    values = np.percentile(us, names)
    return ", ".join(
        f"{'max' if name == 100 else f'p{name:g}'} {value:.1f}"
        for name, value in zip(names, values, strict=True)
    )


def on_a_processor(records: NDArray[np.void]) -> str:
    """Say how long the cycles were on a processor: what is longer, the machine took."""
    return f"on a processor {spread(records['processor_us'])} us"


def session_rows(
    what: str, tree: rf.PointTree, distance: float, simulation: rf.ImplicitNewmark | None
) -> list[Row]:
    """Return the rows of one scene, run in the thread for some seconds."""
    contact = rf.PenaltyContact(tree, bumpy_ball(), 1000.0, warm_nodes=None, direction="normal")
    coupling = rf.VirtualCoupling.for_contact(contact, STIFFNESS)
    session = rf.HapticSession(
        contact, rolling(distance), coupling=coupling, simulation=simulation, keep_records=1 << 14
    )
    with session:
        session.wait()
    records, report = session.records().array, session.report()
    compute = records["compute_us"]
    touching = np.median(records["touching"][records["touching"] > 0])
    rank6 = records["rank"] == 6
    solve = plain_solve_us()
    return [
        Row(
            f"cycle, {what}, p99.9",
            float(np.percentile(compute, 99.9)),
            "us",
            500.0,
            f"{spread(compute)} us over {len(records)} cycles, {report.over} longer than a "
            f"period, {report.skipped} left out; {touching:.0f} points in contact, levels "
            f"{records['level'].min()} to {records['level'].max()}; begun late by "
            f"{spread(records['late_us'])} us; penetration {1e3 * records['depth_m'].max():.2f} "
            f"mm of {1e3 * float(coupling.max_depth or 0):.2f}; real-time priority "
            f"{'yes' if report.priority else 'no'}",
            ratio=float(np.percentile(compute, 99.9) / np.median(compute)),
            over="its median",
        ),
        Row(
            f"longest cycle, {what}",
            float(compute.max()),
            "us",
            1000.0,
            on_a_processor(records),
            ratio=float(compute.max() / np.median(compute)),
            over="the median",
        ),
        Row(
            f"coupling, {what}, p99",
            float(np.percentile(records["coupling_us"], 99)),
            "us",
            5.0,
            f"{spread(records['coupling_us'])} us with limits and passivity; "
            f"{(~rank6).mean():.0%} of the cycles degenerate",
            ratio=float(np.median(records["coupling_us"]) / solve),
            over="the decomposition in NumPy",
        ),
    ]


def plain_solve_us() -> float:
    """Return the time of a singular value decomposition in NumPy."""
    a, times = np.random.default_rng(0).normal(size=(6, 6)), []
    for _ in range(200):
        start = time.perf_counter()
        np.linalg.svd(a)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e6


def played(session: rf.HapticSession) -> tuple[NDArray[np.void], rf.HapticReport]:
    """Run a session in its thread to its end; return its records and report."""
    try:
        session.start()
        session.wait()
    finally:
        session.close()
    return session.records().array, session.report()


def scene_rows(name: str) -> list[Row]:
    """Return the rows of a scene of `rf.scenes` in its full size, run in the thread."""
    start = time.perf_counter()
    session = scenes.session(name, duration=SCENE_SECONDS)
    built = time.perf_counter() - start
    records, report = played(session)
    compute = records["compute_us"]
    median = float(np.median(compute))
    if session.coupling is None:  # a point on a surface: nothing lies between it and the hand
        points = "one point"
    else:
        count = sum(len(contact.tree.shell.points) for contact in session.contacts)
        points = f"{count} points, levels {records['level'].min()} to {records['level'].max()}"
    return [
        Row(
            f"scene {name}, p99.9",
            float(np.percentile(compute, 99.9)),
            "us",
            500.0,
            f"{spread(compute)} us over {len(records)} cycles, {report.skipped} left out, "
            f"{(records['touching'] > 0).mean():.0%} with contact; {points}; begun late by "
            f"{spread(records['late_us'])} us; built in {built:.1f} s; real-time priority "
            f"{'yes' if report.priority else 'no'}",
            ratio=float(np.percentile(compute, 99.9)) / median,
            over="its median",
        ),
        Row(
            f"longest cycle, scene {name}",
            float(compute.max()),
            "us",
            1000.0,
            on_a_processor(records),
            ratio=float(compute.max()) / median,
            over="the median",
        ),
        Row(
            f"cycles longer than a period, scene {name}",
            float(report.over),
            "",
            0.0,
            f"{report.interrupted} of them paused by the machine",
        ),
        *penetration_rows(f"penetration, scene {name}", session, records),
    ]


def penetration_rows(
    what: str, session: rf.HapticSession, records: NDArray[np.void], notes: str = ""
) -> list[Row]:
    """Return the row of the depth against the one that the coupling allows, if there is one."""
    if session.coupling is None:
        return []
    allowed, depth = float(session.coupling.max_depth or np.inf), float(records["depth_m"].max())
    return [
        Row(
            what,
            1e3 * depth,
            "mm",
            1e3 * allowed,
            notes,
            ratio=depth / allowed,
            over="what is allowed",
        )
    ]


def degenerate_rows(seconds: float = 3.0) -> list[Row]:
    """Return the row of couplings by singular values: a ball on a plane of points, pushed hard.

    Both springs are so far beyond saturation that of what they are at rest less than a thousandth
    is left: beside the plane no direction resists.
    """
    at = np.linspace(-0.02, 0.02, 21)
    points = np.stack([*np.meshgrid(at, at), np.zeros((21, 21))], axis=-1).reshape(-1, 3)
    tree = rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1))))
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.01), 1e4, direction="normal")
    t = np.linspace(0.0, seconds, 301)
    positions = np.stack(
        [0.01 * np.cos(7 * t), 0.01 * np.sin(7 * t), 0.011 - 0.5 * np.minimum(t, 1.0)], axis=1
    )
    half = 0.4 * np.sin(3 * t)
    quaternions = np.stack([np.cos(half), np.sin(half), 0 * t, 0 * t], axis=1)
    coupling = rf.VirtualCoupling(500.0, 1.0, max_force=0.05, max_torque=1e-4, max_depth=1e-3)
    session = rf.HapticSession(
        contact, rf.ReplayDevice(t, positions, quaternions), coupling=coupling
    )
    with session:
        session.wait()
    records = session.records().array
    rank, us = records["rank"], records["coupling_us"]
    degenerate = us[rank < 6]
    whole = us[rank == 6]
    ranks = ", ".join(f"{r} in {(rank == r).mean():.0%}" for r in np.unique(rank))
    return [
        Row(
            "coupling where directions resist nothing, p99",
            float(np.percentile(degenerate, 99)),
            "us",
            5.0,
            f"{spread(degenerate)} us with limits and passivity; p50 {np.median(whole):.1f} us "
            f"where all six resist; rank {ranks} of the cycles",
            ratio=float(np.median(degenerate)) / plain_solve_us(),
            over="the decomposition in NumPy",
        )
    ]


def buried_rows(
    tree: rf.PointTree, simulation: rf.ImplicitNewmark | None, seconds: float
) -> list[Row]:
    """Return the row of a shell all of whose points are deep in the object for 0.7 s of each."""
    ball = rf.SphereField((0, 0, 0), 0.3)
    # so soft that the object stays where the hand is
    contact = rf.PenaltyContact(tree, ball, 0.1, None, direction="normal")
    t = np.linspace(0.0, seconds, round(100 * seconds) + 1)
    way = np.stack([np.where(t % 1.0 < 0.3, 1.0, 0.0), 0 * t, 1e-3 * np.sin(9 * t)], axis=1)
    session = rf.HapticSession(
        contact,
        rf.ReplayDevice(t, way),
        coupling=rf.VirtualCoupling(1000.0, 10.0),
        simulation=simulation,
    )
    with session:
        session.wait()
    records = session.records().array
    # all points of the levels rendered touch
    counts = np.cumsum(np.bincount(np.asarray(tree.shell.levels)))
    buried = records[records["touching"] == counts[records["level"]]]
    us = buried["processor_us"]
    return [
        Row(
            "cycle, all points deep in contact, p99.9",
            float(np.percentile(buried["compute_us"], 99.9)),
            "us",
            500.0,
            f"{spread(buried['compute_us'])} us over {len(buried)} of {len(records)} cycles, "
            f"{on_a_processor(buried)}, {(us > 500.0).mean():.2%} longer than the budget; "
            f"levels {buried['level'].min()} to {buried['level'].max()}",
            ratio=float(np.percentile(buried["compute_us"], 99.9) / np.median(us)),
            over="the median on a processor",
        )
    ]


def snapshot_rows(tree: rf.PointTree, seconds: float = 2.5) -> list[Row]:
    """Return the rows of looks from Python: alone, while threads spin, while garbage goes."""
    contact = rf.PenaltyContact(tree, bumpy_ball(64), 1000.0, direction="normal")
    coupling = rf.VirtualCoupling.for_contact(contact, STIFFNESS)

    def run(look: bool = True, spin: bool = False, collect: bool = False) -> list[np.ndarray]:
        session = rf.HapticSession(contact, rolling(0.1488), coupling=coupling, duration=seconds)
        done, looks, reads = threading.Event(), [], []

        def spinning() -> None:
            while not done.is_set():
                sum(range(1000))

        spinner = threading.Thread(target=spinning)
        try:
            with session:
                if spin:
                    spinner.start()
                # there is nothing to see before the first cycle
                while not session.report().ticks and not session.wait(1e-3):
                    pass
                while look and not session.wait(0.0):
                    start = time.perf_counter()
                    newest = session.snapshot()
                    looks.append(time.perf_counter() - start)
                    start = time.perf_counter()
                    newest.position, newest.force  # noqa: B018
                    reads.append(time.perf_counter() - start)
                    if collect:
                        gc.collect()
                session.wait()
        finally:
            done.set()
        times = [np.array(us) * 1e6 for us in (looks, reads)]
        return [*times, session.records().array["compute_us"]]

    _, _, alone = run(look=False)
    copy, cold = min(timed_copy() for _ in range(20)), []
    for _ in range(20):
        gc.collect()
        cold.append(timed_copy())
    rows = []
    for beside, mark, why, disturbed in (
        ("", 20.0, "", {}),
        (
            " while Python spins",
            None,
            f"; Python gives its lock from thread to thread every "
            f"{1e6 * sys.getswitchinterval():.0f} us, which is what the slowest ones wait for",
            {"spin": True},
        ),
        (
            " while it collects garbage",
            None,
            f"; a collection walks through all objects and leaves caches cold: a copy in NumPy "
            f"takes {np.median(cold):.1f} us then, and {copy:.2f} us else",
            {"collect": True},
        ),
    ):
        looks, reads, cycles = run(**disturbed)
        slower = np.percentile(cycles, 99) / np.percentile(alone, 99)
        rows += [
            Row(
                f"a snapshot from Python{beside}",
                float(np.median(looks)),
                "us",
                mark,
                f"p99 {np.percentile(looks, 99):.1f} us, of {len(looks)}; to read place and force "
                f"from it p50 {np.median(reads):.1f}, p99 {np.percentile(reads, 99):.1f} us{why}",
                ratio=float(np.median(looks) / copy),
                over="a copy of as many numbers in NumPy",
            ),
            Row(
                f"cycles beside snapshots{beside}, p99",
                float(np.percentile(cycles, 99)),
                "us",
                500.0,
                f"{spread(cycles)} us; alone {spread(alone)} us",
                ratio=float(slower),
                over="cycles alone",
            ),
        ]
    return rows


def timed_copy() -> float:
    """Return the time of a copy of 64 numbers [us]."""
    numbers = np.zeros(64)
    start = time.perf_counter()
    numbers.copy()
    return (time.perf_counter() - start) * 1e6


def rigid() -> list[Row]:
    """Return the rows of a rigid shell of a million points."""
    tree = rf.PointTree(sphere([400, 1600, 6400, 25600, 102400, 863600]))
    return session_rows("1 M points on 256^3, rigid", tree, 0.147, None)


def deformable() -> list[Row]:
    """Return the rows of a deformable shell of 256,000 points, r = 15."""
    model = soft_ball()
    tree = rf.PointTree(sphere([320, 1280, 5120, 20480, 228800]), model)
    simulation = rf.ImplicitNewmark(model, 1e-3, damping=(1.0, 1e-3))
    return session_rows("256,000 points, r = 15, on 256^3", tree, 0.147, simulation)


def buried() -> list[Row]:
    """Return the row of a shell, r = 15, that is all in contact."""
    model = soft_ball()
    tree = rf.PointTree(sphere([320, 1280, 5120, 20480, 228800]), model)
    simulation = rf.ImplicitNewmark(model, 1e-3, damping=(1.0, 1e-3))
    return buried_rows(tree, simulation, SCENE_SECONDS)


def snapshot() -> list[Row]:
    """Return the rows of snapshots."""
    return snapshot_rows(rf.PointTree(sphere([320, 1280, 5120])))


ENTRIES: dict[str, Callable[[], list[Row]]] = {
    "rigid shell": rigid,
    "deformable shell": deformable,
    "degenerate coupling": degenerate_rows,
    "all points deep": buried,
    "snapshots": snapshot,
    **{f"scene {name}": partial(scene_rows, name) for name in scenes.STORIES},
}
