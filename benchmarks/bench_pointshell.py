"""Pointshells: how long they take, and how evenly their points lie."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from table import Row

import reducedfem as rf
from reducedfem import samples

MESHES = Path(
    os.environ.get("REDUCEDFEM_SHARED", Path(__file__).resolve().parents[2] / "shared")
).joinpath("meshes")


def torus(resolution: int) -> rf.DistanceField:
    """Return a torus of 0.6 and 0.2 m, sampled."""
    axis = np.linspace(-1.0, 1.0, resolution + 1)
    ring = np.hypot(axis[:, None, None], axis[None, :, None]) - 0.6
    values = (np.hypot(ring, axis[None, None, :]) - 0.2).astype(np.float32)
    return rf.DistanceField(values, (-1.0,) * 3, (2.0 / resolution,) * 3)


def random_s(field: rf.DistanceField, points: int) -> float:
    """Return the seconds of drawing points from the triangles at random, in NumPy."""
    surface = field.isosurface()
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    a, b, c = surface.vertices[surface.triangles].transpose(1, 0, 2)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    t = rng.choice(len(area), points, p=area / area.sum())
    u, v = np.sqrt(rng.random(points))[:, None], rng.random(points)[:, None]
    (1 - u) * a[t] + u * (1 - v) * b[t] + u * v * c[t]
    return time.perf_counter() - start


def tree_s(shell: rf.Pointshell) -> float:
    """Return the seconds of finding 15 neighbours of each point, about those within reach."""
    start = time.perf_counter()
    cKDTree(shell.points).query(shell.points, k=15)
    return time.perf_counter() - start


def evenness(measured: rf.Uniformity) -> str:
    """Return what is measured of the last level, and of all."""
    return (
        f"spread of nearest distances {measured.spread[-1]:.3f}, largest gap "
        f"{measured.gap[-1]:.2f} (hexagons: 0.58), of coarser levels {measured.gap[:-1].max():.2f}"
    )


def repulsion_rows() -> list[Row]:
    """Take the time of 256,000 points in 5 levels on a field of 256^3."""
    field = torus(256)
    start = time.perf_counter()
    shell = rf.Pointshell.from_field(field)
    seconds = time.perf_counter() - start
    return [
        Row(
            f"pointshell of {shell.n_points} points, {shell.n_levels} levels, on 256^3 samples",
            seconds,
            "s",
            60.0,
            f"{evenness(shell.uniformity(field))}; {rf.threads()} cores",
            ratio=seconds / random_s(field, shell.n_points),
            over="random points of the triangles, in NumPy",
        ),
        one_core_row(torus(128)),
    ]


def one_core_row(field: rf.DistanceField, points: int = 32_000) -> Row:
    """Take the time of a point on one core, all rounds, beside that of finding its neighbours."""
    threads = rf.threads()
    rf.set_threads(1)
    begin = time.process_time()
    shell = rf.Pointshell.from_field(field, points)
    seconds = time.process_time() - begin
    rf.set_threads(threads)
    return Row(
        f"one point of {points}, all rounds, one core",
        1e6 * seconds / points,
        "us",
        None,
        "",
        ratio=seconds / tree_s(shell),
        over="its 15 neighbours once, in SciPy's k-d tree",
    )


def surface_rows() -> list[Row]:
    """Take the time from a triangle surface on, its field included."""
    surface = samples.load("spoon")
    start = time.perf_counter()
    shell = rf.Pointshell.from_surface(surface)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    rf.DistanceField.from_surface(surface, 256, 1.05, mode="fast")
    field_s = time.perf_counter() - start
    return [
        Row(
            f"pointshell of a surface, {shell.n_points} points, its field of 256^3 included",
            seconds,
            "s",
            60.0,
            f"the spoon; {evenness(shell.uniformity(surface))}; {rf.threads()} cores",
            ratio=seconds / field_s,
            over="the field alone",
        )
    ]


def plain_order_s(points: np.ndarray, steps: int) -> float:
    """Return the seconds of the first steps of the order, by the definition."""
    start = time.perf_counter()
    square, at = np.full(len(points), np.inf), 0
    for _ in range(steps):
        square = np.minimum(square, ((points - points[at]) ** 2).sum(axis=1))
        at = int(np.argmax(square))
    return time.perf_counter() - start


def order_rows() -> list[Row]:
    """Farthest-point order of voxels' centres."""
    surface = torus(128).isosurface()
    shell = rf.Pointshell.from_depth_cube(surface, 160)
    start = time.perf_counter()
    rf.Pointshell.farthest_point_order(shell.points)
    seconds = time.perf_counter() - start
    return [
        Row(
            f"farthest-point order of {shell.n_points} points",
            seconds,
            "s",
            None,
            "exact; one core",
            ratio=seconds / plain_order_s(shell.points, 100),
            over="its first 100 points in NumPy",
        )
    ]


def comparison_rows() -> list[Row]:
    """Repulsion against voxels and depth cubes with as many points (B07 3.8.2)."""
    field = torus(128)
    surface, rows = field.isosurface(), []
    for name, make in (
        ("voxels", rf.Pointshell.from_voxels),
        ("depth cube", rf.Pointshell.from_depth_cube),
    ):
        start = time.perf_counter()
        other = make(surface, 64)
        other_s = time.perf_counter() - start
        start = time.perf_counter()
        even = rf.Pointshell.from_field(field, other.n_points).uniformity(field)
        seconds = time.perf_counter() - start
        measured = other.uniformity(field)
        rows.append(
            Row(
                f"repulsion of as many points as the {name} give, {other.n_points}",
                seconds,
                "s",
                None,
                f"largest gap {even.gap[-1]:.2f} against {measured.gap[-1]:.2f}, closest pair "
                f"{even.least[-1]:.2f} against {measured.least[-1]:.2f}, of coarsest levels' gaps "
                f"{even.gap[0]:.2f} against {measured.gap[0]:.2f}",
                ratio=seconds / other_s,
                over="those, farthest-point order included",
            )
        )
    return rows


ENTRIES = {
    "repulsion": repulsion_rows,
    "of a surface": surface_rows,
    "order": order_rows,
    "comparison": comparison_rows,
}


def meshes_table(points: int = 16_000, resolution: int = 256, levels: int = 5) -> None:
    """Print how even the defaults are on every surface there is."""
    loaders = {name: lambda name=name: samples.load(name) for name in samples.names()}
    for path in sorted(MESHES.rglob("*.obj")):
        loaders[path.stem] = lambda path=path: rf.read_surface(path)
    print(
        f"{points} points, {levels} levels, {resolution} voxels; by level, in spacings of hexagons"
    )
    for name, load in loaders.items():
        surface = load()
        start, start_cpu = time.perf_counter(), time.process_time()
        shell = rf.Pointshell.from_surface(surface, points, levels, resolution=resolution)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        how = shell.provenance
        ground: rf.Surface | rf.DistanceField = surface
        if how["method"] != "repulsion on a surface":
            ground = rf.DistanceField.from_surface(
                surface, resolution, 1 + 12 / resolution, how["offset_m"] or None, mode="fast"
            )
        found = shell.uniformity(ground)
        where = f"{how['offset_m']:.3g} m off" if how["offset_m"] else how["method"].split()[-1]
        columns = (
            " ".join(f"{x:5.2f}" for x in row) for row in (found.spread, found.least, found.gap)
        )
        spread, least, gap = columns
        print(
            f"{name[:36]:36} {where:11} {seconds:5.1f} s ({cpu:5.1f} s of CPU)  "
            f"spread {spread}  least {least}  gap {gap}"
        )


if __name__ == "__main__":
    # python benchmarks/bench_pointshell.py [points [voxels]]
    meshes_table(*map(int, sys.argv[1:3]))
