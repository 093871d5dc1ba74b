"""Costs of precomputation on cubes of hexahedra, and their extrapolation to a million.

usage: python benchmarks/cluster_costs.py [CELLS ...]

Each cube, with CELLS cells along its edge, is measured in a process of its own on one thread:
seconds of the processor, peak of memory, and bytes that travel to workers. Powers of the number of
cells are fitted to the two largest cubes. ``docs/cluster.md`` quotes the results.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from child import peak

import reducedfem as rf
from reducedfem import _core

MODES, SIZE = 20, 30
PAIRS = MODES * (MODES + 1) // 2
MILLION = 1_000_000
USUAL = (16, 24, 32, 40)


def cube(cells: int) -> rf.Solid:
    """Return a cube of hexahedra, held on one side."""
    at = np.linspace(0.0, 1.0, cells + 1)
    nodes = np.stack(np.meshgrid(at, at, at, indexing="ij"), axis=-1).reshape(-1, 3)
    corner = np.arange((cells + 1) ** 3).reshape(3 * (cells + 1,))
    low = corner[:-1, :-1, :-1].ravel()
    y, x = cells + 1, (cells + 1) ** 2
    hexes = low[:, None] + np.array([0, x, x + y, y, 1, x + 1, x + y + 1, y + 1])
    return rf.Solid(rf.Mesh(nodes, hexes), rf.StVK(1e6, 0.3, 1000.0), fixed=nodes[:, 0] == 0.0)


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


def main() -> None:
    """Measure all cubes, and print costs, exponents and the extrapolation."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    edges = [int(one) for one in sys.argv[1:]] or list(USUAL)
    table = []
    for cells in edges:
        command = [sys.executable, __file__, "--one", str(cells)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        table.append(json.loads(done.stdout))
    numbers = [cells**3 for cells in edges]
    head = "".join(f"{number:>11}" for number in numbers)
    print(f"{'hexahedra':<22}{head}   exponent{MILLION:>11}")
    for name in table[0]:
        values = [row[name] for row in table]
        line = f"{name:<22}" + "".join(f"{value:>11.3g}" for value in values)
        if len(values) > 1 and min(values[-2:]) > 0.0:
            power = math.log(values[-1] / values[-2]) / math.log(numbers[-1] / numbers[-2])
            line += f"{power:>11.2f}{values[-1] * (MILLION / numbers[-1]) ** power:>11.3g}"
        print(line)
    print(f"worker, {numbers[0]} hexahedra: {worker_memory(edges[0])}")


if __name__ == "__main__":
    main()
