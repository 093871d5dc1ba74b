"""Contact with friction: forces of given compliances.

Problems of the folder of reference data are taken where it is there (REDUCEDFEM_SHARED, else
``shared`` beside the source tree), those of friction_problems.py else: as many contacts and about
as many steps of Newton's method.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import friction_problems
import numpy as np
from friction_problems import Problem
from grids import grid
from numpy.typing import NDArray
from table import Row

import reducedfem as rf
from reducedfem import _core

Array = NDArray[np.float64]

REPEATS = 9
COEFFICIENTS = (0.2, 0.8)
THICK = 0.03  # m, of the pad
SKIN = 1e-4  # m/N, compliance of a site: softer than the bodies, so that all sites below press
INTERRUPTED_US = 5.0
ROOT = Path(__file__).resolve().parents[1]
REFERENCE = Path(os.environ.get("REDUCEDFEM_SHARED", ROOT.parent / "shared")) / "reference/friction"


@dataclass(frozen=True)
class Case:
    """Problems of one matrix.

    Attributes
    ----------
    stored
        Name of the file of the reference data.
    make
        The problems without these data.
    marks
        Median and worst time [us], the same over 100 sweeps; infinite: none.
    """

    stored: str
    make: Callable[[], Problem]
    marks: tuple[float, float, float, float]


NO_RATIO = (np.inf, np.inf)
CASES = {
    "held": Case(
        "tablefix_m030",
        lambda: friction_problems.table(30, "held"),
        (50.0, 150.0, 0.4, 1.2),
    ),
    "soft": Case(
        "table_m030",
        lambda: friction_problems.table(30, "soft"),
        (150.0, 250.0, 1.5, 2.5),
    ),
    "brick": Case("brick_m030", lambda: friction_problems.brick(30), (30.0, 60.0, 0.4, 0.8)),
    "plug": Case("plug_m030", lambda: friction_problems.plug(36), (80.0, 150.0, 0.8, 1.5)),
    "modes": Case(
        "reduced20_m030",
        lambda: friction_problems.table(30, "soft", 20),
        (100.0, 200.0, 1.0, 2.0),
    ),
    "small": Case(
        "table_m010", lambda: friction_problems.table(10, "soft"), (30.0, 80.0, *NO_RATIO)
    ),
    "large": Case(
        "table_m060", lambda: friction_problems.table(60, "soft"), (500.0, 800.0, *NO_RATIO)
    ),
}
SEQUENCE = Case(
    "seq_table_m030",
    lambda: friction_problems.sequence(30, 0.5, 200),
    (50.0, 150.0, *NO_RATIO),
)


@dataclass(frozen=True)
class Task:
    """A matrix, its rank if it has a low one, else 0, and displacements with coefficients."""

    name: str
    W: Array
    rank: int
    free: Array  # (k, m, 3)
    mu: Array  # (k, m)


def task(case: Case, coefficients: tuple[float, ...] = COEFFICIENTS) -> Task:
    """Return the problems of the reference data, or those made here."""
    path = REFERENCE / f"{case.stored}.npz"
    if path.is_file():
        with np.load(path) as data:
            W, mu = data["W"], data["mu"]
            free = data["dfree"].reshape(len(mu), -1, 3)
        rank = int(np.linalg.matrix_rank(W, tol=1e-9 * np.linalg.norm(W, 2), hermitian=True))
        return Task(case.stored, W, rank if rank < len(W) // 2 else 0, free, mu)
    made = case.make()
    mu = np.repeat(coefficients, len(made.free))
    free = np.tile(made.free, (len(coefficients), 1, 1))
    return Task(made.name, made.W, made.rank, free, np.tile(mu[:, None], (1, made.m)))


def timed(matrix: Array, free: Array, mu: Array, start: Array | None, factor: bool) -> float:
    """Return the median time of a solve [us]."""
    took = [
        _core.friction_solve(matrix, free, mu, start, 1e-8, np.inf, factor)[3][5]
        for _ in range(REPEATS)
    ]
    return float(np.median(took))


def sweeps_of(W: Array, free: Array, mu: Array) -> float:
    """Return the time of 100 sweeps [us]."""
    return rf.solve_friction_sweeps(W, free, mu, change=1e-300, most_sweeps=100).microseconds


def siconos(given: Task) -> str:
    """Return the times of Siconos, run by a Python of this machine that has it; "" without one."""
    script = Path(__file__).with_name("siconos_friction.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problems.npz"
        np.savez(file, W=given.W, free=given.free.reshape(len(given.free), -1), mu=given.mu)
        for python in (sys.executable, "/usr/bin/python3"):
            done = subprocess.run(
                [python, "-I", script, file], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                middle, worst, solved = done.stdout.split()
                return (
                    f"; Siconos {float(middle):.0f} us, worst {float(worst):.0f}, "
                    f"{solved} of {len(given.free)} solved"
                )
    return ""


def with_marks(label: str, times: tuple[float, float], late: str, yardstick: float,
               marks: tuple[float, float, float, float], note: str) -> list[Row]:  # fmt: skip
    """Return the rows of a median and a late time [us]; the yardstick is 100 sweeps [us]."""
    labels, notes = (label, f"{label}, {late}"), (note, "")
    return [
        Row(labels[k], times[k], "us", marks[k], notes[k], times[k] / yardstick, "100 sweeps",
            marks[2 + k] if np.isfinite(marks[2 + k]) else None)
        for k in range(2)
    ]  # fmt: skip


def factor_of(given: Task) -> Array:
    """Return V of W = V V^T."""
    values, vectors = np.linalg.eigh(given.W)
    return np.ascontiguousarray(vectors[:, -given.rank :] * np.sqrt(values[-given.rank :]))


def rows_of(name: str) -> list[Row]:
    """Measure one kind of problem."""
    given = task(CASES[name])
    matrix = factor_of(given) if given.rank else given.W
    took, sweeps, steps, failed = [], [], [], 0
    for free, mu in zip(given.free, given.mu, strict=True):
        took.append(timed(matrix, free, mu, None, bool(given.rank)))
        sweeps.append(sweeps_of(given.W, free, mu))
        out = rf.solve_friction(given.W, free, mu)
        failed += out.status != "solved"
        steps.append(out.steps)
    note = (
        f"{len(took)} problems, {min(steps)} to {max(steps)} steps, {failed} not solved"
        f"{siconos(given)}"
    )
    return with_marks(
        f"friction, {given.name}, m = {given.mu.shape[1]}",
        (float(np.median(took)), max(took)),
        "worst",
        float(np.median(sweeps)),
        CASES[name].marks,
        note,
    )


def sequence() -> list[Row]:
    """Measure solves that begin with the forces of the one before."""
    given = task(SEQUENCE, (0.5,))
    took, sweeps, steps, start, failed = [], [], [], None, 0
    for free, mu in zip(given.free, given.mu, strict=True):
        took.append(timed(given.W, free, mu, start, False))
        sweeps.append(sweeps_of(given.W, free, mu))
        out = rf.solve_friction(given.W, free, mu, start)
        failed += out.status != "solved"
        start = out.force
        steps.append(out.steps)
    middle, late = np.percentile(took, [50.0, 99.0])
    return with_marks(
        f"friction, {given.name}, m = {given.mu.shape[1]}",
        (float(middle), float(late)),
        "p99",
        float(np.median(sweeps)),
        SEQUENCE.marks,
        f"{len(took)} warm starts, {np.median(steps):.0f} steps, {failed} not solved",
    )


def pad() -> tuple[rf.Solid, rf.PointTree]:
    """Return a pad that is fixed below, and points on top, 5 mm apart, that its model moves."""
    cells = np.ones((10, 10, 3), dtype=bool)
    mesh = grid(cells, np.array([0.1, 0.1, THICK]) / cells.shape).quadratic()
    solid = rf.Solid(mesh, rf.StVK(2e5, 0.4, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=10, r=20))
    side = np.linspace(0.005, 0.095, 19)
    top = np.stack(np.meshgrid(side, side, [THICK]), axis=-1).reshape(-1, 3)
    shell = rf.Pointshell(top, np.tile([0.0, 0.0, -1.0], (len(top), 1)))
    return solid, rf.PointTree(shell, model)


def stroked(
    tree: rf.PointTree, half: float, place: float, local: rf.LocalCompliance | None = None
) -> tuple[Array, int, float, float]:
    """Return times of the friction part of cycles under a punch [us], sites, and two shares.

    The shares are those of interrupted cycles and of those with more points than sites.

    The punch has twice `half` as its side, and oscillates about a place on the diagonal.
    """
    n = 4000
    time = 1e-3 * np.arange(n)
    hand = np.tile([place, place, THICK + 1e-4], (n, 1))
    hand[:, 2] -= 0.003 * np.minimum(time / 0.3, 1.0)
    hand[:, 0] += 0.003 * np.sin(2.0 * np.pi * np.maximum(time - 0.5, 0.0))
    field = rf.BoxField((-half, -half, 0.0), (half, half, 0.02))
    assert tree.reduced is not None
    session = rf.HapticSession(
        rf.FrictionContact(tree, field, 0.4, compliance=SKIN, local=local),
        rf.ReplayDevice(time, hand, np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))),
        coupling=rf.VirtualCoupling(1000.0, torsional_stiffness=2.0),
        simulation=rf.ImplicitNewmark(tree.reduced, 1e-3, damping=(20.0, 0.002)),
        budget_us=0,
    )
    made = session.run(n)
    records, crowded = made.array[500:], made.flagged("crowded")[500:]
    # without the cycles that other processes interrupted, unless all are
    alone = records["compute_us"] <= records["processor_us"] + INTERRUPTED_US
    took = (records["coupling_us"] + records["deform_us"])[alone if alone.any() else ...]
    shares = float(np.mean(~alone)), float(crowded.mean())
    return took, int(np.median(records["touching"])), *shares


def cycle() -> list[Row]:
    """Measure the friction part of cycles: free motions, sites, forces, motions of the bodies."""
    _, tree = pad()
    took, press, interrupted, _ = stroked(tree, 0.0135, 0.05)
    given = task(CASES["soft"])
    yardstick = float(
        np.median([sweeps_of(given.W, given.free[0], given.mu[0]) for _ in range(REPEATS)])
    )
    note = f"r = {tree.r} + 6, {press} sites press, {interrupted:.1%} of cycles interrupted"
    middle, late = np.percentile(took, [50, 99])
    return with_marks(
        "friction in a cycle",
        (float(middle), float(late)),
        "p99",
        yardstick,
        (120.0, 300.0, *NO_RATIO),
        note,
    )


def local(half: float = 0.0085, name: str = "", line: float = 5.0) -> list[Row]:
    """Measure the same under a punch, with and without a local compliance.

    half: half its side [m]; line: more time for each site [us], 0: no line.
    """
    solid, tree = pad()
    plain, few, *_ = stroked(tree, half, 0.0525)
    compliance = rf.LocalCompliance(tree, solid)
    took, press, interrupted, crowded = stroked(tree, half, 0.0525, compliance)
    middle, late = np.percentile(took, [50, 99])
    without = float(np.median(plain))
    return [
        Row(
            f"friction in a cycle, local compliance{name}",
            float(middle),
            "us",
            without + line * press if line else None,
            f"{press} sites press, {few} without; more time {(middle - without) / press:.2f} us a "
            f"site; p99 {late:.0f} us, {interrupted:.1%} of cycles interrupted, "
            f"{crowded:.0%} crowded",
            ratio=float(middle) / without,
            over="without",
        )
    ]


ENTRIES = {
    **{name: lambda name=name: rows_of(name) for name in CASES},
    "sequence": sequence,
    "cycle": cycle,
    "local": local,
    # 121 points below the punch
    "crowded": lambda: local(0.0285, ", up to 64 sites", 0.0),
}
