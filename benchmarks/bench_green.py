"""Green's functions of the surface of a plate of 10,404 nodes, 5,398 of them on the surface.

Times are medians, with their tails; those of a contact are of calls from Python, which add less
than a microsecond.
"""

from __future__ import annotations

import functools
import time

import numpy as np
import yardsticks
from grids import box
from table import Row
from ticks import spread, ticks

import reducedfem as rf
from reducedfem import _core

CONTACTS = 32
MARK_MAKE_S, MARK_GREEN_MB, MARK_PACKED_MB = 40.0, 525.0, 150.0
TOLERANCE = 1e-3
MARK_UPDATE_US, MARK_SOLVE_US, MARK_CHANGE_US, MARK_POINT_US = 8.0, 40.0, 3.0, 1.0


@functools.cache
def plate() -> rf.Solid:
    """Return a plate of tetrahedra, held at one side."""
    mesh = box((50, 50, 3), high=(1.0, 1.0, 0.06), tets=True)
    return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)


@functools.cache
def made() -> tuple[rf.GreensFunctions, float]:
    """Return the Green's functions in single precision, and the time of making them [s]."""
    solid = plate()
    begin = time.perf_counter()
    green = rf.GreensFunctions(solid, dtype="float32", progress=False)
    return green, time.perf_counter() - begin


def random_places(count: int, some: int) -> np.ndarray:
    """Return random places."""
    chosen = np.random.default_rng(0).choice(count, some, replace=False)
    return chosen.astype(np.int32)


def rows() -> list[Row]:
    """Measure all with one set of Green's functions."""
    return making() + packing() + contact() + touching()


def lower_stiffness() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lower triangle over the free degrees of freedom."""
    free = np.zeros(plate().n_dofs, dtype=bool)
    free.reshape(-1, 3)[plate().free] = True
    stiffness = plate().stiffness()
    columns = np.repeat(np.arange(plate().n_dofs), np.diff(stiffness.indptr))
    keep = free[columns] & free[stiffness.indices] & (stiffness.indices >= columns)
    number = np.cumsum(free) - 1
    counts = np.bincount(number[columns[keep]], minlength=int(free.sum()))
    pointer = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return stiffness.data[keep], number[stiffness.indices[keep]].astype(np.int32), pointer


def making() -> list[Row]:
    """Measure the factorization and all solves, beside solutions of 32 whole columns."""
    green, seconds = made()
    lower, blocks = lower_stiffness(), 3.0 * len(green.nodes) / 32.0
    _, solve = yardsticks.cholmod(lower, 32)
    points, threads = plate().mesh.nodes[plate().free], rf.threads()
    right = np.zeros((32, 3 * len(points)))
    right[np.arange(32), np.arange(32)] = 1.0
    whole = float(np.median(_core.factor_solve(lower, right, 5, threads, points)[1][:, 1]))
    return [
        Row("Green's functions, 5,398 nodes, all threads", seconds, "s", MARK_MAKE_S,
            f"{plate().n_dofs:,} unknowns", seconds / (solve * blocks),
            "columns by CHOLMOD, one thread"),
        Row("Green's functions, by paths of the tree", seconds, "s", None, "",
            seconds / (whole * blocks), "whole columns by the same factor, all threads"),
        Row("Green's functions, float32", green.bytes / 1e6, "MB", MARK_GREEN_MB,
            "tiles on the diagonal are stored whole"),
    ]  # fmt: skip


def packing() -> list[Row]:
    """Measure the same with blocks of low rank."""
    green, seconds = made()
    _core.alloc_reset_peak()
    before = _core.alloc_counters()["live_bytes"]
    begin = time.perf_counter()
    packed = rf.GreensFunctions(plate(), dtype="float32", tolerance=TOLERANCE, progress=False)
    taken = time.perf_counter() - begin
    peak = _core.alloc_counters()["peak_bytes"] - before
    force = np.ones((1, 3))
    one, dense = (float(np.median(ticks(lambda g=g: g._core.add([100], force))))
                  for g in (packed, green))  # fmt: skip
    ranks = packed._core.packed[3]
    return [
        Row(f"Green's functions, tolerance {TOLERANCE:g}", taken, "s", MARK_MAKE_S,
            f"{packed.bytes / green.bytes:.2f} of the memory; mean rank "
            f"{ranks[ranks >= 0].mean():.3g}", taken / seconds, "all entries"),
        Row("Green's functions, float32, packed", packed.bytes / 1e6, "MB", MARK_PACKED_MB),
        Row("memory of the core while they are made", peak / 1e6, "MB", green.bytes / 1e6,
            f"with factors, and columns of {rf.threads()} threads"),
        Row("surface under one force, packed", one, "us", None, "with the call", one / dense,
            "all entries"),
    ]  # fmt: skip


def contact() -> list[Row]:
    """Measure the surface under one force, and contacts that come and go."""
    green, _ = made()
    core, size = green._core, 12.0 * 3 * len(green.nodes)
    places, force = random_places(len(green.nodes), CONTACTS), np.ones((CONTACTS, 3))
    single = ticks(lambda: core.add(places[:1], force[:1]))
    call = float(np.median(ticks(lambda: core.add([], force[:0]))))
    one = float(np.median(single)) - call
    many = ticks(lambda: core.add(places, force))
    each = float(np.median(many)) / CONTACTS
    read = 1e6 * size / yardsticks.read_rate(1 << 18)
    far = 1e6 * size / yardsticks.read_rate(1 << 22)

    chosen = random_places(len(green.nodes), CONTACTS).tolist()
    contacts = green.contacts()._core
    for place in chosen:
        contacts.add(place, None)
    given = np.random.default_rng(0).normal(size=(CONTACTS, 3))
    given.flags.writeable = False
    solved = ticks(lambda: contacts.solve(given))
    solve = float(np.median(solved))
    compliance = np.eye(3 * CONTACTS)
    scratch = float(np.median(ticks(lambda: np.linalg.solve(compliance, given.ravel()))))

    def change() -> None:
        contacts.remove(chosen[0])
        contacts.add(chosen[0], None)
        chosen.append(chosen.pop(0))

    changed = ticks(change)
    both = float(np.median(changed)) / 2.0
    return [
        Row("surface under one force, 5,398 nodes", one, "us", MARK_UPDATE_US,
            f"{size / 1e3:.0f} kB of G; without {call:.3g} of call and result; with them "
            f"{spread(single)}", one / read,
            "reading them, 256 kB cached"),
        Row(f"surface under {CONTACTS} forces, each", each, "us", None, spread(many, CONTACTS),
            each / far,
            "reading them, 4 MB cached"),
        Row(f"{CONTACTS} contacts: forces", solve, "us", MARK_SOLVE_US,
            f"{3 * CONTACTS} directions, refined; {spread(solved)}",
            solve / scratch, "numpy.linalg.solve"),
        Row(f"{CONTACTS} contacts: add or remove one", both, "us", MARK_CHANGE_US,
            f"mean of both, of the oldest; {spread(changed, 2.0)}",
            both / scratch, "numpy.linalg.solve"),
    ]  # fmt: skip


def touching() -> list[Row]:
    """Measure cycles of tips that stick and slide on the plate, with friction and without."""
    green, _ = made()
    surface = plate().mesh.surface()
    begin = time.perf_counter()
    tip = rf.PointProxyContact(green, surface, 0.03, 0.4, progress=False)
    seconds = time.perf_counter() - begin
    smooth = rf.PointProxyContact(green, surface, 0.03, 0.0, progress=False)
    high, n = surface.bounds[1][2], 4000
    times = 1e-3 * np.arange(n)
    rows = []
    for what, way, contact in (
        ("sticks", 0.0, tip), ("slides", 0.2, tip), ("slides without friction", 0.2, smooth),
    ):  # fmt: skip
        path = np.full((n, 3), high - 2e-3)
        path[:, 0], path[:, 1] = 0.4 + way * times / times[-1], 0.5
        session = rf.HapticSession(contact, rf.ReplayDevice(times, path), ramp=0.0)
        # the last cycle ends with the work of making its records
        records = session.run(n)[100:-1]
        session.close()
        spent = records["contact_us"] + records["deform_us"]
        rows.append((what, spent, records.flagged("slipping").mean()))
    one = random_places(len(green.nodes), 1), np.ones((1, 3))
    column = float(np.median(ticks(lambda: green._core.add(*one))))
    dent = float(np.median(ticks(tip.displacement, 300)))
    compliance, force = np.eye(3), np.ones(3)
    small = float(np.median(ticks(lambda: np.linalg.solve(compliance, force))))
    return [
        Row(f"discs of a tip, {surface.n_triangles:,} triangles", seconds, "s", None,
            f"{tip.nodes_per_disc:.0f} nodes in each", seconds / made()[1], "making G"),
        *(
            Row(f"a tip that {what}: a cycle", float(np.median(spent)), "us", MARK_POINT_US,
                f"{100 * share:.0f} % of the cycles slip; {spread(spent)}",
                float(np.median(spent)) / small, "numpy.linalg.solve, 3 unknowns")
            for what, spent, share in rows
        ),
        Row("its dent: the whole surface", dent, "us", None, "not in the loop", dent / column,
            "surface under one force"),
    ]  # fmt: skip


ENTRIES = {"plate": rows}
