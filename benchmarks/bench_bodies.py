"""Free solids: derivatives, and many bodies that share one model; edits of materials."""

from __future__ import annotations

import os
import time

import numpy as np
from bench_precompute import bumpy_sphere
from table import Row, spread

import reducedfem as rf
from reducedfem import _core

MODES = 20
BODIES, SIZE = 512, 40
RUBBER = rf.StVK(1e6, 0.45, 1000.0)
HEX = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)


def voxels(inside: np.ndarray, edge: float) -> rf.Mesh:
    """Return the hexahedra of a boolean grid."""
    cells = np.argwhere(inside)
    corners = (cells[:, None, :] + HEX).reshape(-1, 3)
    nodes, place = np.unique(corners, axis=0, return_inverse=True)
    return rf.Mesh(edge * nodes, place.reshape(-1, 8))


def basket(n: int = 26) -> rf.Mesh:
    """Return a bowl of 0.2 m with holes in its wall and a handle across."""
    x, y, z = (np.indices((n, n, n)) + 0.5) * (2.0 / n) - 1.0
    radius = np.sqrt(x * x + y * y + z * z)
    wall = (radius < 0.95) & (radius > 0.8)
    turn = np.arctan2(y, x)
    holes = (np.sin(8 * turn) > 0.6) & (np.abs(np.sin(7 * z)) > 0.5) & (z > -0.7)
    bowl = wall & (z < 0.0) & ~holes
    handle = wall & (z >= 0.0) & (np.abs(x) < 0.16)
    return voxels(bowl | handle, 0.2 / n)


def timed(work):
    """Return the result, seconds and the peak of the core's memory in bytes."""
    _core.alloc_reset_peak()
    before = _core.alloc_counters()["live_bytes"]
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    return result, seconds, _core.alloc_counters()["peak_bytes"] - before


def derivative_rows() -> list[Row]:
    """One shape of about 20,000 nodes, held and free, on all cores."""
    mesh = rf.voxelize(bumpy_sphere(), resolution=74)
    low = mesh.nodes[:, 2] < mesh.nodes[:, 2].min() + 0.03 * np.ptp(mesh.nodes[:, 2])
    held, free = rf.Solid(mesh, RUBBER, low), rf.Solid(mesh, RUBBER)
    took = {}
    notes = {}
    for name, solid in (("held", held), ("free", free)):
        modes, of_modes, _ = timed(lambda s=solid: s.linear_modes(MODES))
        derivatives, seconds, peak = timed(lambda s=solid, m=modes: s.modal_derivatives(m))
        took[name] = seconds
        notes[name] = (
            f"{len(derivatives)} derivatives, {rf.threads()} cores; the modes before took "
            f"{of_modes:.2g} s; peak {peak / 1e9:.2f} GB and {derivatives.nbytes / 1e9:.2f} GB of "
            "results"
        )
    nodes = mesh.n_nodes
    return [
        Row(
            f"modal derivatives, held, {nodes} nodes, k = {MODES}, with factorization",
            took["held"],
            "s",
            15.0,
            notes["held"],
        ),
        Row(
            f"the same solid free, {MODES * MODES} derivatives",
            took["free"],
            "s",
            60.0,
            notes["free"],
        ),
        Row("  over the held one, which has half as many", took["free"] / took["held"], ""),
    ]


def body_rows() -> list[Row]:
    """One implicit step of many deforming bodies, each at another place of its motion."""
    solid = rf.Solid(basket(), RUBBER)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, MODES, SIZE))
    rng = np.random.default_rng(0)
    # a bend of some centimetres
    scale = 0.02 / np.abs(model.basis).max(axis=(1, 2)) / np.arange(1, SIZE + 1)
    bodies = [rf.FreeBody(model, 1.0 / 30.0, (0.0, 1e-3)) for _ in range(BODIES)]
    for body in bodies:
        body.reset(
            position=rng.uniform(-3, 3, 3),
            quaternion=rng.normal(size=4),
            angular_velocity=rng.normal(size=3),
            q=scale * rng.normal(size=SIZE),
        )
    rf.step_free_bodies(bodies)
    seconds = []
    for _ in range(30):
        start = time.perf_counter()
        rf.step_free_bodies(bodies)
        seconds.append(time.perf_counter() - start)
    times = np.array(seconds)
    rf.set_threads(1)
    start = time.perf_counter()
    rf.step_free_bodies(bodies)
    alone = time.perf_counter() - start
    rf.set_threads(len(os.sched_getaffinity(0)))
    return [
        Row(
            f"{BODIES} free baskets, r = {SIZE}, one implicit step each",
            float(np.median(times)) * 1e3,
            "ms",
            60.0,
            f"{spread(times, 1e3)}; {rf.threads()} cores, one core {alone * 1e3:.3g} ms; "
            f"{np.median(times) / BODIES * rf.threads() * 1e6:.3g} us a body and core; one model "
            f"of {model.coefficients.nbytes / 1e6:.1f} MB, {solid.mesh.n_elements} hexes",
        )
    ]


def edit_rows() -> list[Row]:
    """Change the materials of a model of three regions."""
    mesh = basket()
    height = mesh.nodes[mesh.elements].mean(axis=1)[:, 2]
    regions = np.digitize(height, np.quantile(height, [0.3, 0.7]))
    mesh = rf.Mesh(mesh.nodes, mesh.elements, regions)
    solid = rf.Solid(mesh, {k: RUBBER for k in range(3)}, mesh.nodes[:, 2] < 0.03)
    basis = rf.modal_derivative_basis(solid, MODES, 30)
    model = rf.reduce(solid, basis, editable=True)
    change = {0: rf.StVK(2e6, 0.3, 1100.0), 1: rf.StVK(3e5, 0.4, 900.0), 2: RUBBER}
    seconds = []
    for _ in range(200):
        start = time.perf_counter()
        model.edit(change)
        seconds.append(time.perf_counter() - start)
    times = np.array(seconds)
    return [
        Row(
            "material edit, 3 groups, r = 30",
            float(np.median(times)) * 1e3,
            "ms",
            1.0,
            f"{spread(times, 1e3)}; adds {6 * model.coefficients.nbytes / 1e6:.1f} MB of "
            "coefficients and as much in the order of the kernel",
        )
    ]


def rows() -> list[Row]:
    """Measure everything, on all cores but for edits."""
    rf.set_threads(len(os.sched_getaffinity(0)))
    return [*derivative_rows(), *body_rows(), *edit_rows()]
