"""Distance fields: making them of surfaces, asking them for distances.

Random places in 256^3 samples read four lines of 64 bytes each of a field that is larger than most
last caches: what memory can deliver at random, and huge pages, decide.
"""

from __future__ import annotations

import time

import numpy as np
import yardsticks
from child import measured
from scipy.spatial import cKDTree
from table import Row, spread

import reducedfem as rf
from reducedfem import _core

RESOLUTION = 256
SAMPLES = (RESOLUTION + 1) ** 3


def bumpy_torus(around: int = 400, section: int = 200) -> rf.Surface:
    """Return a closed surface of 160,000 triangles with bumps and fine ripples."""
    u = np.linspace(0, 2 * np.pi, around, endpoint=False)[:, None]
    v = np.linspace(0, 2 * np.pi, section, endpoint=False)
    r = 0.35 + 0.04 * np.sin(7 * u) * np.sin(5 * v) + 0.01 * np.sin(31 * u + 17 * v)
    out = 1 + r * np.cos(v)
    vertices = np.stack([out * np.cos(u), out * np.sin(u), r * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = np.indices((around, section))
    here, next_u = i * section + j, (i + 1) % around * section + j
    here_v, next_uv = (
        i * section + (j + 1) % section,
        (i + 1) % around * section + (j + 1) % section,
    )
    quads = np.stack([here, next_u, next_uv, here_v], axis=-1).reshape(-1, 4)
    return rf.Surface(0.1 * vertices, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))


def plain_seconds(surface: rf.Surface, field: rf.DistanceField) -> float:
    """Seconds of all samples one after the other, from some of them."""
    some = np.random.default_rng(0).choice(SAMPLES, 4000, replace=False)
    index = np.stack(np.unravel_index(np.sort(some), field.values.shape), axis=-1)
    places = field.origin + index * field.spacing
    arrays = surface.vertices, surface.triangles
    start = time.perf_counter()
    _core.surface_closest(*arrays, places[:1], np.inf)
    tree = time.perf_counter() - start
    start = time.perf_counter()
    _core.surface_closest(*arrays, places, np.inf)
    return (time.perf_counter() - start - tree) * SAMPLES / len(some)


def build_rows() -> list[Row]:
    """Fields of a closed surface in both modes, and of a soup, on all cores."""
    closed = bumpy_torus()
    # the rest of it is open
    soup = rf.Surface(closed.vertices, closed.triangles[:-2000])
    rows = []
    plain = 0.0
    for name, surface, mode, mark in (
        ("fast", closed, "fast", 15.0),
        ("exact", closed, "exact", 90.0),
        ("fast, by offset", soup, "fast", None),
    ):
        busy = time.process_time()
        field, seconds, memory = measured(
            lambda s=surface, m=mode: rf.DistanceField.from_surface(s, RESOLUTION, mode=m)
        )
        busy = time.process_time() - busy
        plain = plain or plain_seconds(surface, field)
        rows.append(
            Row(
                f"distance field, {RESOLUTION}^3, {surface.n_triangles} triangles, {name}",
                seconds,
                "s",
                mark,
                f"{busy:.1f} s of processors; {field.values.nbytes / 1e6:.0f} MB of samples",
                ratio=seconds / plain,
                over="a search for each sample, on one core",
                memory=memory,
            )
        )
        del field
    return rows


def walk(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return places each of which is less than a voxel from the one before."""
    at = np.cumsum(rng.uniform(-0.5, 0.5, (n, 3)) / RESOLUTION, axis=0)
    return np.abs((at + 0.5) % 2.0 - 1.0) * 0.98 + 0.01


def query_rows() -> list[Row]:
    """Trilinear distances in blocks of points, on one core."""
    n, rng = 1 << 16, np.random.default_rng(1)
    axis = np.linspace(-0.5, 0.5, RESOLUTION + 1, dtype=np.float32)
    square = axis * axis
    values = np.sqrt(square[:, None, None] + square[:, None] + square) - np.float32(0.3)
    field = rf.DistanceField(values, np.zeros(3), 1 / RESOLUTION)
    rows = []
    for name, points, mark in (
        ("coherent", walk(n, rng), 8.0),
        ("random", rng.uniform(0, 1, (n, 3)), 20.0),
    ):
        times = []
        for _ in range(20):  # in turns, so that all see the same machine
            times.append(
                [
                    field._core.time_distances(points, 2, False)[1],
                    field._core.time_distances(points, 2, True)[1],
                    yardsticks.trilinear(field.values, points, 2)[1],
                ]
            )
        blocks, single, plain = np.array(times).T / n
        rows.append(
            Row(
                f"distance in {RESOLUTION}^3, {name}",
                1e9 * float(np.median(blocks)),
                "ns",
                mark,
                f"of {n} points; {spread(blocks, 1e9)}",
                ratio=float(np.median(blocks / single)),
                over="one by one",
            )
        )
        rows.append(
            Row(
                f"the same one by one, {name}",
                1e9 * float(np.median(single)),
                "ns",
                None,
                spread(single, 1e9),
                ratio=float(np.median(single / plain)),
                over="plain trilinear code",
            )
        )
    return rows


def closest_rows() -> list[Row]:
    """Nearest places of a surface for scattered points, on one core."""
    rf.set_threads(1)
    surface, n, rng = bumpy_torus(), 100_000, np.random.default_rng(2)
    low, high = surface.bounds
    near = surface.vertices[rng.integers(0, surface.n_vertices, n)]
    rows = []
    for name, points in (
        ("anywhere in the box", rng.uniform(low, high, (n, 3))),
        ("near the surface", near + 0.002 * rng.standard_normal((n, 3))),
    ):
        seconds, plain = [], []
        tree = cKDTree(surface.vertices)
        for _ in range(3):
            start = time.process_time()
            _core.surface_closest(surface.vertices, surface.triangles, points[:1], np.inf)
            build = time.process_time() - start
            start = time.process_time()
            _core.surface_closest(surface.vertices, surface.triangles, points, np.inf)
            seconds.append((time.process_time() - start - build) / n)
            start = time.process_time()
            tree.query(points)
            plain.append((time.process_time() - start) / n)
        rows.append(
            Row(
                f"nearest place of {surface.n_triangles} triangles, {name}",
                1e6 * float(np.median(seconds)),
                "us",
                None,
                f"of {n} scattered points; {spread(np.array(seconds))}",
                ratio=float(np.median(seconds) / np.median(plain)),
                over="nearest vertex in SciPy's k-d tree",
            )
        )
    return rows


ENTRIES = {"closest": closest_rows, "build": build_rows, "query": query_rows}
