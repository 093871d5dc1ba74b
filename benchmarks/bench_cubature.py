"""Reduced neo-Hookean models by cubature: their making, evaluations and steps."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import yardsticks
from child import measured
from grids import box
from table import Row, spread

import reducedfem as rf
from reducedfem import _core

R, POINTS, ROUNDS = 20, 200, 2000
MARK_STEP = 100.0  # us
MARK_TAIL = 2.0  # of the median
MARK_ERROR = 2.0  # %
LAW = 1000  # operations of a law and its stiffness at a point, about
SOFT = rf.StableNeoHookean(1e6, 0.4, 1000.0)


@cache
def solid(cells: int = 5) -> rf.Solid:
    """Return a clamped beam of tetrahedra, six to a cube, `cells` cubes across."""
    mesh = box((5 * cells, cells, cells), high=(1.0, 0.2, 0.2), tets=True)
    return rf.Solid(mesh, SOFT, fixed=mesh.nodes[:, 0] == 0.0)


@cache
def basis() -> rf.Basis:
    """Return the basis of the beam."""
    return rf.modal_derivative_basis(solid(), r=R)


def model() -> rf.ReducedSolid:
    """Return the model."""
    return rf.reduce(solid(), basis(), cubature=POINTS)


def operations(points: int, r: int) -> float:
    """Floating-point operations of force and stiffness."""
    return 2.0 * points * (9 * r + 9 * r + 81 * r + 9 * r * (r + 1) / 2) + points * LAW


def making_rows() -> list[Row]:
    """Training and choice of points, and the error at poses held out."""
    basis()
    made, seconds, memory = measured(model)
    start = time.perf_counter()
    projected = rf.ProjectedSolid(solid(), basis())
    projected.stiffness(np.zeros(R))
    plain = time.perf_counter() - start
    rule = made.cubature
    assert rule is not None
    size = f"{solid().mesh.n_elements} tets, r = {R}, {POINTS} points"
    return [
        Row(
            f"reduce by cubature, {size}",
            seconds,
            "s",
            None,
            f"{rule.training_poses} + {rule.held_out_poses} poses",
            ratio=seconds / plain,
            over="a projected solid and its stiffness",
            memory=memory,
        ),
        Row(
            f"error of forces at poses held out, {size}",
            100.0 * rule.error,
            "%",
            MARK_ERROR,
            f"largest {100.0 * rule.largest_error:.2g} %, training {100 * rule.training_error:.2g}",
        ),
    ]


def evaluation_rows() -> list[Row]:
    """Force and stiffness, beside the limit of the machine and the whole mesh."""
    yardsticks.blas_threads(1)
    core = model()._core
    q = 1e-3 * np.random.default_rng(0).normal(size=R)
    projected = _core.Projected(solid()._core, basis().vectors, 1)
    ours, force, mesh = [], [], []
    for _ in range(ROUNDS // 20):
        ours.append(core.time_evaluate(q, True, 2, 5)[1])
        force.append(core.time_evaluate(q, False, 2, 20)[1])
        start = time.perf_counter()
        projected.stiffness(q, 1)
        mesh.append(time.perf_counter() - start)
    t, whole = np.array(ours), np.array(mesh)
    flops = operations(POINTS, R)
    bound = yardsticks.limit(core.stream_bytes, flops)
    return [
        Row(
            f"stiffness and force by cubature, r = {R}, {POINTS} points",
            float(np.median(t)) * 1e6,
            "us",
            None,
            f"{spread(t)}; limit {bound * 1e6:.3g} us ({flops / 1e3:.0f} kflop), "
            f"{bound / np.median(t):.0%} of it; force alone {np.median(force) * 1e6:.3g}; on the "
            f"mesh of {solid().mesh.n_elements} tets {np.median(whole) * 1e6:.4g}",
            ratio=float(np.median(t) / np.median(whole)),
            over="ProjectedSolid, one core",
        )
    ]


def step_rows() -> list[Row]:
    """Implicit Newmark steps with one iteration, under a load that comes and goes."""
    yardsticks.blas_threads(1)
    made = model()
    simulation = rf.ImplicitNewmark(made, 1e-3, damping=(0.0, 1e-4))._core
    push = made.gravity((0.0, 0.0, -9.81))
    calls = _core.alloc_counters()["calls"]
    t = simulation.time_steps(push, ROUNDS, 1)
    allocated = _core.alloc_counters()["calls"] - calls
    median, tail = float(np.median(t)), float(np.percentile(t, 99.9))
    evaluation = float(np.median(made._core.time_evaluate(np.zeros(R), True, ROUNDS // 10, 5)))
    name = f"implicit Newmark step by cubature, r = {R}, {POINTS} points"
    return [
        Row(
            name,
            median * 1e6,
            "us",
            MARK_STEP,
            f"{spread(t)}; {allocated} allocations",
            ratio=median / evaluation,
            over="stiffness and force",
        ),
        Row(
            f"p99.9 of it, {name}",
            tail * 1e6,
            "us",
            None,
            ratio=tail / median,
            over="its median",
            ratio_mark=MARK_TAIL,
        ),
    ]


ENTRIES = {
    "making": making_rows,
    "evaluation": evaluation_rows,
    "step": step_rows,
}
