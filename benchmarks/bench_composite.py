"""Composite bodies: a bar of blocks, against Newton's method on the whole mesh."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np
from grids import box
from numpy.typing import NDArray
from table import Row
from ticks import durations

import reducedfem as rf

LENGTH, SIDE = 1.0, 0.1  # m
ALONG, ACROSS = 64, 6  # elements
LOAD = 5.0  # N, across the end: it moves by a sixth of the length
BLOCKS = (2, 4, 8, 16)
REPEATS = 5


@functools.cache
def bar() -> rf.Solid:
    """Return a bar of hexahedra that is fixed at one end."""
    mesh = box((ALONG, ACROSS, ACROSS), 0.0, (LENGTH, SIDE, SIDE))
    return rf.Solid(mesh, rf.StVK(1e6, 0.0, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)


def load() -> NDArray[np.float64]:
    """Return a force across the end, spread over its nodes."""
    nodes = bar().mesh.nodes
    end = nodes[:, 0] > LENGTH - 1e-9
    return np.where(end[:, None], [0.0, -LOAD / end.sum(), 0.0], 0.0)


def median_of(work: Callable[[], object]) -> float:
    """Return the median time of some calls [s]."""
    taken = durations(work, REPEATS)
    return float(np.median(taken))


def rows() -> list[Row]:
    """Return the rows of the table."""
    solid, force = bar(), load()
    end = solid.mesh.nodes[:, 0] > LENGTH - 1e-9
    true = solid.solve_static(force)[end].mean(axis=0)
    whole = median_of(lambda: solid.solve_static(force))
    result = []
    for blocks in BLOCKS:
        begun = time.perf_counter()
        body = rf.CompositeBody(solid, blocks, progress=False)
        making = time.perf_counter() - begun
        out = body.solve(force)
        error = float(np.linalg.norm(out.u[end].mean(axis=0) - true) / np.linalg.norm(true))
        took = median_of(lambda body=body: body.solve(force))
        result.append(
            Row(
                f"solve of a composite body, {blocks} blocks",
                1e3 * took,
                "ms",
                None,
                f"{solid.mesh.n_nodes} nodes, {len(body.nodes)} outer, {out.iterations} "
                f"iterations, tip off by {error:.1e}; made in {1e3 * making:.0f} ms, "
                f"{body.bytes / 1e6:.3g} MB",
                ratio=took / whole,
                over="Newton's method on the whole mesh",
            )
        )
    return result


ENTRIES = {"rows": rows}
