"""Costs of precomputation on cubes of hexahedra and of distance fields, and their extrapolation.

usage: python benchmarks/cluster_costs.py [CELLS ...]
       python benchmarks/cluster_costs.py --fields [VOXELS ...]

Each cube, with CELLS cells along its edge, is measured in a process of its own on one thread:
seconds of the processor, peak of memory, and bytes that travel to workers. Powers of the number of
cells are fitted to the two largest cubes. Fields of a ball with bumps are measured likewise, with
VOXELS along their side. ``docs/cluster.md`` quotes the results.
"""

from __future__ import annotations

import importlib
import json
import math
import multiprocessing
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

import numpy as np
from child import peak
from grids import box

import reducedfem as rf
from reducedfem import _core

MODES, SIZE = 20, 30
PAIRS = MODES * (MODES + 1) // 2
MILLION = 1_000_000
USUAL = (16, 24, 32, 40)
FINE = 1024  # voxels of the extrapolated field
USUAL_VOXELS = (96, 128, 192, 256)


def cube(cells: int) -> rf.Solid:
    """Return a cube of hexahedra, held on one side."""
    mesh = box((cells, cells, cells), high=(1.0, 1.0, 1.0))
    return rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0), fixed=mesh.nodes[:, 0] == 0.0)


def measure(cells: int) -> dict[str, float]:
    """Return the costs of one cube on one thread."""
    rf.set_threads(1)
    out: dict[str, float] = {}
    start = time.process_time()

    def stage(name: str) -> None:
        nonlocal start
        out[f"{name} [s]"] = time.process_time() - start
        start = time.process_time()

    solid = cube(cells)
    stage("solid")
    size = _core.DERIVATIVES_BLOCK
    factored = _core.Derivatives(solid._core, 1)
    stage("factor")
    out["factor, peak [B]"] = peak()
    shapes = np.random.default_rng(0).normal(size=(MODES, solid.mesh.n_nodes, 3))
    shapes[:, solid.fixed] = 0.0
    start = time.process_time()
    factored.pairs(shapes, 0, size, 1)
    stage("derivatives")
    out["derivatives [s]"] *= PAIRS / size
    del factored
    start = time.process_time()
    solid.linear_modes(MODES)
    stage("modes")
    out["modes [s]"] -= out["factor [s]"]
    vectors = np.concatenate([shapes, shapes[: SIZE - MODES] ** 2])
    vectors.flags.writeable = False
    start = time.process_time()
    blocks = _core.polynomial_blocks(solid._core)
    data = _core.polynomial_block(solid._core, vectors, 0)
    stage("gather")
    part = _core.block_coefficients(data, 0, 1)
    stage("reduce")
    # blocks are equal, except for the last one
    share = solid.mesh.n_elements / len(data[2])
    out["gather [s]"] *= share
    out["reduce [s]"] *= share
    out["solid, pickled [B]"] = len(pickle.dumps(solid))
    out["blocks, pickled [B]"] = len(pickle.dumps(data)) * share
    out["coefficients [B]"] = part.nbytes * blocks
    out["blocks"] = blocks
    out["peak [B]"] = peak()
    return out


def _memory_of_worker(solid: rf.Solid, shapes: np.ndarray) -> tuple[float, float]:
    """Return the peak of a worker before and after its derivatives."""
    before = peak()
    solid.modal_derivatives(shapes)
    return before, peak()


def worker_memory(cells: int) -> str:
    """Return the peak of memory of a worker process."""
    solid = cube(cells)
    shapes = solid.linear_modes(8).shapes
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        before, after = pool.submit(_memory_of_worker, solid, shapes).result()
    return f"{before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after derivatives of 8 modes"


# ---- distance fields ------------------------------------------------------------------


def ball() -> rf.Surface:
    """Return a ball with bumps, of 81,920 triangles."""
    # here: workers import this module, and their memory is measured
    made = importlib.import_module("trimesh").creation.icosphere(6)
    v = np.asarray(made.vertices)
    bumps = 1.0 + 0.2 * np.sin(5.0 * v[:, :1]) * np.sin(4.0 * v[:, 1:2] + 1.0)
    return rf.Surface(bumps * v, np.asarray(made.faces))


class Metered(Executor):
    """Executes tasks here; measures their time, and the bytes that would travel."""

    def __init__(self) -> None:
        self.seconds, self.there, self.back = 0.0, 0, 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Execute a task."""
        future: Future[Any] = Future()
        start = time.process_time()
        future.set_result(function(*given, **named))
        self.seconds += time.process_time() - start
        answer = future.result()
        if not answer.missing:  # the surface, over 64 kB, travels once to each worker
            self.there += sum(len(one) for one in given[2:] if isinstance(one, bytes))
            self.back += len(answer.value)
        return future


def measure_field(voxels: int) -> dict[str, float]:
    """Return the costs of the fields of one resolution, on one thread."""
    rf.set_threads(1)
    surface, out = ball(), {}
    # an open surface: signs by winding numbers, and a cap
    whole = surface.vertices[surface.triangles].mean(axis=1)[:, 2] < 0.9
    for name, one, mode in (
        ("exact", surface, "exact"),
        ("exact, open", rf.Surface(surface.vertices, surface.triangles[whole]), "exact"),
        ("fast", surface, "fast"),
    ):
        workers, start = Metered(), time.process_time()
        rf.DistanceField.from_surface(one, voxels, mode=mode, executor=workers)
        out[f"{name}: workers [s]"] = workers.seconds
        out[f"{name}: caller [s]"] = time.process_time() - start - workers.seconds
        out[f"{name}: to workers [B]"] = workers.there
        out[f"{name}: back [B]"] = workers.back
    out["peak [B]"] = peak()
    return out


def _peak_of_worker() -> float:
    return peak()


def worker_memory_of_field(voxels: int) -> str:
    """Return the peak of memory of a worker process of a field."""
    surface = ball()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        before = pool.submit(_peak_of_worker).result()
        rf.DistanceField.from_surface(surface, voxels, executor=pool)
        after = pool.submit(_peak_of_worker).result()
    return (
        f"{before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after a field, "
        f"{(after - before) / surface.n_triangles:.0f} B for each triangle"
    )


# ---- tables -----------------------------------------------------------------------------


def table(what: str, option: str, sizes: list[int], most: int) -> None:
    """Measure all sizes, each in a process; print costs, exponents and the extrapolation."""
    found = []
    for size in sizes:
        command = [sys.executable, __file__, option, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    numbers = [size**3 for size in sizes]
    head = "".join(f"{number:>12}" for number in numbers)
    print(f"{what:<26}{head}   exponent{most:>12}")
    for name in found[0]:
        values = [row[name] for row in found]
        line = f"{name:<26}" + "".join(f"{value:>12.3g}" for value in values)
        if len(values) > 1 and min(values[-2:]) > 0.0:
            power = math.log(values[-1] / values[-2]) / math.log(numbers[-1] / numbers[-2])
            line += f"{power:>11.2f}{values[-1] * (most / numbers[-1]) ** power:>12.3g}"
        print(line)


def main() -> None:
    """Measure all cubes, or all fields, and print the table."""
    options = {"--one": measure, "--one-field": measure_field}
    if sys.argv[1:2] and sys.argv[1] in options:
        print(json.dumps(options[sys.argv[1]](int(sys.argv[2]))))
    elif sys.argv[1:2] == ["--fields"]:
        sizes = [int(one) for one in sys.argv[2:]] or list(USUAL_VOXELS)
        table("voxels", "--one-field", sizes, FINE**3)
        print(f"worker, {sizes[0]} voxels: {worker_memory_of_field(sizes[0])}")
    else:
        sizes = [int(one) for one in sys.argv[1:]] or list(USUAL)
        table("hexahedra", "--one", sizes, MILLION)
        print(f"worker, {sizes[0] ** 3} hexahedra: {worker_memory(sizes[0])}")


if __name__ == "__main__":
    main()
