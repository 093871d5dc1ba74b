"""Precomputation: the whole chain on a hollow voxel solid, and the reduction alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import yardsticks
from table import Row

import reducedfem as rf

MODES, SIZE = 20, 30


def bumpy_sphere(subdivisions: int = 5) -> rf.Surface:
    """Return a closed surface without symmetry, about 0.2 m across."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=subdivisions, radius=0.1)
    x = np.asarray(ball.vertices)
    bumps = 1 + 0.15 * np.sin(37 * x[:, 0] + 1) + 0.1 * np.cos(29 * x[:, 1] + 53 * x[:, 2])
    return rf.Surface(x * bumps[:, None] * [1.0, 0.9, 1.2], np.asarray(ball.faces))


def hollow_solid() -> rf.Solid:
    """Return a hollow voxel solid of about 14,000 hexahedra and 28,000 nodes, bottom held."""
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
    modes = solid.linear_modes(MODES)
    t = stage("linear modes", t)
    derivatives = solid.modal_derivatives(modes)
    t = stage("modal derivatives", t)
    weights = modes.eigenvalues[0] / modes.eigenvalues
    pairs = np.triu_indices(MODES)
    norms = np.sqrt(np.maximum(_mass_norms2(solid, derivatives), 1e-300))
    both = np.concatenate([modes.shapes, derivatives])
    scales = np.concatenate([weights, weights[pairs[0]] * weights[pairs[1]] / norms])
    basis = rf.mass_pca(solid, both, SIZE, weights=scales)
    t = stage("mass-PCA", t)
    rf.reduce(solid, basis)
    t = stage("reduce", t)
    return {
        **stages,
        "total": t - begin,
        "hexes": len(solid.mesh.elements),
        "nodes": len(solid.mesh.nodes),
    }


def _mass_norms2(solid: rf.Solid, vectors: np.ndarray) -> np.ndarray:
    mass = solid.mass().to_scipy()
    flat = vectors.reshape(len(vectors), -1)
    return np.einsum("ij,ij->i", flat, (mass @ flat.T).T)


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
            30.0,
            f"{rf.threads()} cores; {', '.join(stages)}",
            ratio=chain["total"] / blas,
            over="the dsyrk in it",
        )
    ]


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
        times = []
        for _ in range(2):
            start = time.perf_counter()
            rf.reduce(solid, vectors)
            times.append(time.perf_counter() - start)
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
        times = []
        for _ in range(2):
            start = time.perf_counter()
            rf.reduce(solid, vectors)
            times.append(time.perf_counter() - start)
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
    "reduce": reduce_rows,
    "bridge": bridge_rows,
    "BLAS kernels": kernel_rows,
}
