"""Precomputation: the whole chain on a hollow voxel solid, and the reduction alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse
import yardsticks
from table import Row
from ticks import durations

import reducedfem as rf
from reducedfem import _core

MODES, SIZE = 20, 30


def bumpy_sphere(subdivisions: int = 5) -> rf.Surface:
    """Return a closed surface without symmetry, about 0.2 m across."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=subdivisions, radius=0.1)
    x = np.asarray(ball.vertices)
    bumps = 1 + 0.15 * np.sin(37 * x[:, 0] + 1) + 0.1 * np.cos(29 * x[:, 1] + 53 * x[:, 2])
    return rf.Surface(x * bumps[:, None] * [1.0, 0.9, 1.2], np.asarray(ball.faces))


def hollow_solid() -> rf.Solid:
    """Return a hollow solid of about 14,000 cells of 20 nodes, bottom held."""
    mesh = rf.voxelize(bumpy_sphere(), resolution=88, fill=False)
    low = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 0.03 * np.ptp(mesh.nodes[:, 2])
    return rf.Solid(mesh, rf.StVK(1e6, 0.45, 1000.0), fixed=low)


def dsyrk_seconds(m: int, columns: int, threads: int) -> float:
    """Seconds of a dsyrk with `columns` columns, from median panels of 4800."""
    yardsticks.blas_threads(threads)
    panel = 4800
    return float(np.median(yardsticks.dsyrk(m, panel, 9))) * columns / panel


def whole_chain() -> dict[str, float]:
    """Run the chain once; return seconds of each stage and sizes."""
    stages: dict[str, float] = {}

    def stage(name: str, start: float) -> float:
        now = time.perf_counter()
        stages[name] = now - start
        return now

    begin = t = time.perf_counter()
    solid = hollow_solid()
    t = stage("voxels and solid", t)
    basis = rf.modal_derivative_basis(solid, MODES, SIZE)
    t = stage("basis", t)
    rf.reduce(solid, basis)
    t = stage("reduce", t)
    return {
        **stages,
        "total": t - begin,
        "hexes": len(solid.mesh.elements),
        "nodes": len(solid.mesh.nodes),
    }


def chain_rows() -> list[Row]:
    """From the surface to the reduced model, on all cores."""
    chain = whole_chain()
    stages = [
        f"{name} {seconds:.2g}"
        for name, seconds in chain.items()
        if name not in ("total", "hexes", "nodes")
    ]
    m = SIZE + SIZE * (SIZE + 1) // 2
    blas = dsyrk_seconds(m, 48 * int(chain["hexes"]), rf.threads())
    return [
        Row(
            f"whole precomputation, {chain['hexes']} hexes, {chain['nodes']} nodes, k = 20, r = 30",
            chain["total"],
            "s",
            40.0,
            f"{rf.threads()} cores; {', '.join(stages)}",
            ratio=chain["total"] / blas,
            over="the dsyrk in it",
        )
    ]


def held_stiffness(solid: rf.Solid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lower triangle of the stiffness over the free nodes."""
    stiffness = solid.stiffness().to_scipy().tocsr()
    free = np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)
    dofs = (3 * free[:, None] + np.arange(3)).ravel()
    half = scipy.sparse.tril(stiffness[dofs][:, dofs]).tocsc()
    half.sort_indices()
    return half.data, half.indices.astype(np.int32), half.indptr.astype(np.int32)


def factor_rows() -> list[Row]:
    """Factorizations and solves for 8 columns beside CHOLMOD's, of a hollow and of a full solid."""
    out = []
    columns, cores = 8, rf.threads()
    for name, resolution, fill in (("hollow", 56, False), ("full", 24, True)):
        mesh = rf.voxelize(bumpy_sphere(), resolution, fill=fill)
        low = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 0.03 * np.ptp(mesh.nodes[:, 2])
        lower = held_stiffness(rf.Solid(mesh, rf.StVK(1e6, 0.45, 1000.0), fixed=low))
        n = len(lower[2]) - 1
        ours: dict[int, np.ndarray] = {}
        theirs: dict[int, np.ndarray] = {}
        for threads in sorted({1, cores}):
            seconds = _core.factor_solve(lower, np.ones((columns, n)), 3, threads)[1]
            ours[threads] = np.median(seconds, axis=0)
            yardsticks.blas_threads(threads)
            theirs[threads] = np.median([yardsticks.cholmod(lower, columns) for _ in range(3)], 0)
        for i, what in enumerate(("factorization", f"solve for {columns} columns")):
            out.append(
                Row(
                    f"{what}, {name}, {n} unknowns",
                    float(ours[cores][i]),
                    "s",
                    None,
                    f"{cores} cores; on one {ours[1][i]:.2f} s, CHOLMOD {theirs[1][i]:.2f} s",
                    ratio=float(ours[cores][i] / theirs[cores][i]),
                    over=f"CHOLMOD's on {cores} cores",
                )
            )
    return out


def reduce_rows() -> list[Row]:
    """Measure the reduction alone, on one core and on two."""
    out = []
    solid = hollow_solid()
    m = SIZE + SIZE * (SIZE + 1) // 2
    columns = 48 * len(solid.mesh.elements)
    vectors = np.random.default_rng(0).normal(size=(SIZE, solid.mesh.n_nodes, 3))
    vectors[:, solid.fixed] = 0.0
    for threads in (1, 2):
        rf.set_threads(threads)
        times = durations(partial(rf.reduce, solid, vectors), 2)
        blas = dsyrk_seconds(m, columns, threads)
        seconds = float(np.median(times))
        flops = float(m) * m * columns
        out.append(
            Row(
                f"reduce alone, {threads} core{'s' * (threads > 1)}",
                seconds,
                "s",
                None,
                f"dsyrk {blas:.2f} s ({flops / blas / 1e9:.0f} Gflop/s); "
                f"{flops / 1e9:.0f} Gflop, {flops / seconds / yardsticks.peak_rate() / threads:.0%}"
                " of the peak",
                ratio=seconds / blas,
                over="dsyrk",
                ratio_mark=2.0,
            )
        )
    return out


def bridge_rows() -> list[Row]:
    """Measure the reduction of a bridge of the reference data, where they are."""
    out: list[Row] = []
    path = Path(os.environ.get("REDUCEDFEM_SHARED", Path(__file__).parents[2] / "shared"))
    bridge = path / "meshes/vega/simpleBridge/simpleBridge_resol92-b1.155_enlarged.veg"
    if not bridge.is_file():
        return out
    mesh, material = rf.read_mesh(bridge), rf.StVK(1e7, 0.45, 1000.0)
    solid = rf.Solid(mesh, material, fixed=rf.read_fixed(bridge.with_suffix(".bou")))
    vectors = rf.modal_derivative_basis(solid, 20, 30).vectors
    m = SIZE + SIZE * (SIZE + 1) // 2
    rf.set_threads(1)
    for quadrature in (2, 3):
        solid = rf.Solid(mesh, material, fixed=solid.fixed, quadrature=quadrature)
        times = durations(partial(rf.reduce, solid, vectors), 2)
        columns = 6 * quadrature**3 * mesh.n_elements
        out.append(
            Row(
                f"reduce the {mesh.n_elements}-hex bridge, r = 30, {quadrature}^3 points, 1 core",
                float(np.median(times)),
                "s",
                1.5 if quadrature == 2 else None,
                f"{m * m * columns / 1e9:.0f} Gflop",
                ratio=float(np.median(times)) / dsyrk_seconds(m, columns, 1),
                over="dsyrk",
            )
        )
    return out


_DSYRK = """
import yardsticks
from reducedfem import _core
yardsticks.blas_threads(1)
print(_core.blas_description()["core"], yardsticks.dsyrk(600, 600, 25).min())
"""


def kernel_rows() -> list[Row]:
    """Compare the kernels that the BLAS runs with those of the other families of OpenBLAS."""
    yardsticks.blas_threads(1)
    yardsticks.dsyrk(600, 600, 2)  # builds the yardsticks for the processes below
    ours = float(yardsticks.dsyrk(600, 600, 25).min())
    blas = rf.system_info()["blas"]
    others, fastest = [], ours
    for family in ("Prescott", "Sandybridge", "Haswell", "SkylakeX", "Cooperlake"):
        paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        environment = {**os.environ, "OPENBLAS_CORETYPE": family, "PYTHONPATH": paths}
        done = subprocess.run(
            [sys.executable, "-c", _DSYRK], capture_output=True, text=True, env=environment
        )
        if done.returncode != 0 or done.stdout.split()[0] != family:
            continue  # a processor, or a library, without them
        seconds = float(done.stdout.split()[1])
        others.append(f"{family} {1e3 * seconds:.3g}")
        fastest = min(fastest, seconds)
    return [
        Row(
            f"dsyrk of 600 by {blas['core']} kernels",
            1e3 * ours,
            "ms",
            None,
            f"ms of others: {', '.join(others) or 'none run here'}; {blas['verdict']}",
            ratio=ours / fastest,
            over="the fastest family",
        )
    ]


ENTRIES = {
    "whole chain": chain_rows,
    "factorization": factor_rows,
    "reduce": reduce_rows,
    "bridge": bridge_rows,
    "BLAS kernels": kernel_rows,
}
