"""Contact with friction: forces of given compliances."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import friction_problems
import numpy as np
from friction_problems import Problem
from numpy.typing import NDArray
from table import Row

import reducedfem as rf
from reducedfem import _core

REPEATS = 9
COEFFICIENTS = (0.2, 0.8)
SKIN = 1e-4  # m/N, compliance of a site: softer than the bodies, so that all sites below press
INTERRUPTED_US = 5.0

# name, problem, marks: median and worst [us], the same over 100 sweeps
CASES: dict[str, tuple[Callable[[], Problem], tuple[float, float, float, float] | None]] = {
    "held": (lambda: friction_problems.table(30, "held"), (50.0, 150.0, 0.4, 1.2)),
    "soft": (lambda: friction_problems.table(30, "soft"), (150.0, 250.0, 1.5, 2.5)),
    "brick": (lambda: friction_problems.brick(30), (30.0, 60.0, 0.4, 0.8)),
    "plug": (lambda: friction_problems.plug(36), (80.0, 150.0, 0.8, 1.5)),
    "modes": (lambda: friction_problems.table(30, "held", 20), (100.0, 200.0, 1.0, 2.0)),
    "small": (lambda: friction_problems.table(10, "soft"), (30.0, 80.0, np.inf, np.inf)),
    "large": (lambda: friction_problems.table(60, "soft"), (500.0, 800.0, np.inf, np.inf)),
}


def runs(problem: Problem) -> Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return displacements and coefficients of all cases."""
    for mu in COEFFICIENTS:
        for free in problem.free:
            yield free, np.full(problem.m, mu)


def timed(matrix: NDArray[np.float64], free: NDArray[np.float64], mu: NDArray[np.float64],
          factor: bool) -> tuple[float, int]:  # fmt: skip
    """Return the median time of a solve [us], and how it ended."""
    took = []
    for _ in range(REPEATS):
        end = _core.friction_solve(matrix, free, mu, None, 1e-8, np.inf, factor)[3]
        took.append(end[5])
    return float(np.median(took)), int(end[0])


def siconos(problem: Problem) -> str:
    """Return the times of Siconos, run by a Python of this machine that has it; "" without one."""
    script = Path(__file__).with_name("siconos_friction.py")
    cases = list(runs(problem))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problems.npz"
        free, mu = (np.array(each) for each in zip(*cases, strict=True))
        np.savez(file, W=problem.W, free=free.reshape(len(free), -1), mu=mu)
        for python in (sys.executable, "/usr/bin/python3"):
            done = subprocess.run(
                [python, "-I", script, file], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                middle, worst, solved = done.stdout.split()
                return (
                    f"; Siconos {float(middle):.0f} us, worst {float(worst):.0f}, "
                    f"{solved} of {len(cases)} solved"
                )
    return ""


def rows_of(name: str) -> list[Row]:
    """Measure one kind of problem."""
    make, marks = CASES[name]
    problem = make()
    took, sweeps, failed = [], [], 0
    matrix, factor = problem.W, False
    if problem.rank:
        values, vectors = np.linalg.eigh(problem.W)
        matrix = vectors[:, -problem.rank :] * np.sqrt(values[-problem.rank :])
        factor = True
    for free, mu in runs(problem):
        one, end = timed(matrix, free, mu, factor)
        took.append(one)
        failed += end != 0
        sweeps.append(
            rf.solve_friction_sweeps(
                problem.W, free, mu, change=1e-300, most_sweeps=100
            ).microseconds
        )
    yardstick = float(np.median(sweeps))
    middle, worst = float(np.median(took)), max(took)
    note = f"{len(took)} problems, {failed} not solved{siconos(problem)}"
    label = f"friction, {problem.name}, m = {problem.m}"
    over = "100 sweeps"
    m0, m1, r0, r1 = marks or (np.inf,) * 4
    return [
        Row(label, middle, "us", m0, note, middle / yardstick, over, None if r0 == np.inf else r0),
        Row(f"{label}, worst", worst, "us", m1, "", worst / yardstick, over,
            None if r1 == np.inf else r1),
    ]  # fmt: skip


def cycle() -> list[Row]:
    """Measure the friction part of cycles: free motions, sites, forces, motions of the bodies."""
    edges = (0.1, 0.1, 0.03)
    shape = np.array([11, 11, 4])
    index = np.arange(shape.prod()).reshape(shape)
    corners = [
        (0, 0, 0),
        (1, 0, 0),
        (1, 1, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 0, 1),
        (1, 1, 1),
        (0, 1, 1),
    ]
    ends = shape - 1
    elements = np.stack(
        [index[i : i + ends[0], j : j + ends[1], k : k + ends[2]].ravel() for i, j, k in corners], 1
    )
    nodes = np.argwhere(np.ones(shape, dtype=bool)) / ends * edges
    mesh = rf.Mesh(nodes, elements).quadratic()
    solid = rf.Solid(mesh, rf.StVK(2e5, 0.4, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=10, r=20))
    side = np.linspace(0.005, 0.095, 19)
    top = np.stack(np.meshgrid(side, side, [edges[2]]), axis=-1).reshape(-1, 3)
    tree = rf.PointTree(rf.Pointshell(top, np.tile([0.0, 0.0, -1.0], (len(top), 1))), model)
    n = 4000
    time = 1e-3 * np.arange(n)
    hand = np.tile([0.05, 0.05, edges[2] + 1e-4], (n, 1))
    hand[:, 2] -= 0.003 * np.minimum(time / 0.3, 1.0)
    hand[:, 0] += 0.003 * np.sin(2.0 * np.pi * np.maximum(time - 0.5, 0.0))
    field = rf.BoxField((-0.0135, -0.0135, 0.0), (0.0135, 0.0135, 0.02))
    session = rf.HapticSession(
        rf.FrictionContact(tree, field, 0.4, compliance=SKIN),
        rf.ReplayDevice(time, hand, np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))),
        coupling=rf.VirtualCoupling(1000.0, torsional_stiffness=2.0),
        simulation=rf.ImplicitNewmark(model, 1e-3, damping=(20.0, 0.002)),
        budget_us=0,
    )
    records = session.run(n).array[500:]
    # without the cycles that other processes interrupted, unless all are
    alone = records["compute_us"] <= records["processor_us"] + INTERRUPTED_US
    took = (records["coupling_us"] + records["deform_us"])[alone if alone.any() else ...]
    problem = friction_problems.table(30, "soft")
    free, mu = next(iter(runs(problem)))
    sweeps = [
        rf.solve_friction_sweeps(problem.W, free, mu, change=1e-300, most_sweeps=100).microseconds
        for _ in range(REPEATS)
    ]
    yardstick = float(np.median(sweeps))
    middle, late = np.percentile(took, [50, 99])
    press = int(np.median(records["touching"]))
    note = f"r = {model.r} + 6, {press} sites press, {np.mean(~alone):.1%} of cycles interrupted"
    over = "100 sweeps"
    return [
        Row("friction in a cycle", middle, "us", 120.0, note, middle / yardstick, over, None),
        Row("friction in a cycle, p99", late, "us", 300.0, "", late / yardstick, over, None),
    ]


ENTRIES = {name: lambda name=name: rows_of(name) for name in CASES} | {"cycle": cycle}
