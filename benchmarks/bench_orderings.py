"""Orderings of sparse factors: nested dissection by places beside METIS."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from bench_bodies import box
from bench_precompute import bumpy_sphere
from grids import grid
from table import Row

import reducedfem as rf

MESHES = Path(
    os.environ.get("REDUCEDFEM_SHARED", Path(__file__).resolve().parents[2] / "shared")
).joinpath("meshes")
MATERIAL = rf.StVK(1e6, 0.45, 1000.0)


def block(cells: tuple[int, int, int], tets: bool = False, ball: bool = False) -> rf.Solid:
    """Return a box of cells of 0.01 m, or the ball in it, held at its left end."""
    inside = np.ones(cells, dtype=bool)
    if ball:
        cell = np.argwhere(inside)
        far = np.linalg.norm((cell + 0.5) / np.array(cells) - 0.5, axis=1)
        inside = (far < 0.5).reshape(cells)
    mesh = grid(inside, 0.01, tets)
    x = mesh.nodes[:, 0]
    return rf.Solid(mesh, MATERIAL, fixed=x < x.min() + 0.015)


def lump(resolution: int, order: int) -> rf.Solid:
    """Return a body without symmetry of cut cells, held at its bottom."""
    mesh = rf.voxelize(bumpy_sphere(), resolution, order=order)
    z = mesh.nodes[:, 2]
    return rf.Solid(mesh, MATERIAL, fixed=z < z.min() + 0.1 * np.ptp(z))


def tets_of_lump() -> rf.Solid:
    """Return the same body of graded tetrahedra of ten nodes."""
    mesh = rf.graded_tets(bumpy_sphere(), 24).quadratic()
    z = mesh.nodes[:, 2]
    return rf.Solid(mesh, MATERIAL, fixed=z < z.min() + 0.1 * np.ptp(z))


SOLIDS = {
    "cube": lambda: block((23, 23, 23)),
    "cube, tets": lambda: block((23, 23, 23), tets=True),
    "bar": lambda: block((96, 16, 8)),
    "bar, tets": lambda: block((96, 16, 8), tets=True),
    "ball": lambda: block((29, 29, 29), ball=True),
    "ball, tets": lambda: block((29, 29, 29), tets=True, ball=True),
    "cut cells": lambda: lump(28, 1),
    "cut cells of 20 nodes": lambda: lump(16, 2),
    "cut cells of 20 nodes, 40k": lambda: lump(22, 2),
    "graded tets of 10 nodes": tets_of_lump,
}
# meshes of each surface of the public collection
Makers = dict[str, Callable[[rf.Surface], rf.Mesh]]
CELLS: Makers = {
    "voxels": lambda surface: rf.voxelize(surface, 32, cut=False, order=1),
    "cut cells of 8 nodes": lambda surface: rf.voxelize(surface, 28, order=1),
    "cut cells of 20 nodes": lambda surface: rf.voxelize(surface, 16, order=2),
}
TETRAHEDRA: Makers = {
    "tets of 4 nodes": lambda surface: rf.graded_tets(surface, 32),
    "tets of 10 nodes": lambda surface: rf.graded_tets(surface, 24).quadratic(),
}


def fill_row(name: str, ours: rf.Ordering, metis: rf.Ordering, note: str) -> Row:
    """Size of a factor over that of METIS."""
    return Row(
        f"fill, {name}, {len(ours.permutation)} unknowns",
        ours.fill / 1e6,
        "M",
        None,
        note,
        ratio=ours.fill / metis.fill,
        over="METIS",
        ratio_mark=1.02,
    )


def fill_rows() -> list[Row]:
    """Size of factors, and times of orderings."""
    out = []
    for name, make in SOLIDS.items():
        solid = make()
        ours = min((rf.ordering(solid) for _ in range(3)), key=lambda one: one.seconds)
        metis = min((rf.ordering(solid, "metis") for _ in range(3)), key=lambda one: one.seconds)
        amd = rf.ordering(solid, "amd")
        n = len(ours.permutation)
        out.append(
            fill_row(
                name,
                ours,
                metis,
                f"flops {ours.flops / metis.flops:.2f} of METIS; AMD {amd.fill / 1e6:.1f} M",
            )
        )
        out.append(
            Row(
                f"ordering, {name}, {n} unknowns",
                1e3 * ours.seconds,
                "ms",
                # for 8-node hexahedra of 40,000 unknowns on an idle machine
                100.0,
                f"wall time; METIS {1e3 * metis.seconds:.0f} ms, AMD {1e3 * amd.seconds:.0f} ms",
                ratio=ours.seconds / metis.seconds,
                over="METIS",
            )
        )
    return out


def surfaces(makers: Makers) -> Iterator[tuple[str, rf.Mesh]]:
    """Give meshes of all surfaces beside the source tree, where they are."""
    for path in sorted(MESHES.glob("*.obj")):
        surface = rf.read_surface(path)
        for kind, make in makers.items():
            yield f"{path.stem}, {kind}", make(surface)


def volumes() -> Iterator[tuple[str, rf.Mesh]]:
    """Give the meshes of all volumes beside the source tree, where they are."""
    for path in sorted(MESHES.glob("vega/*/*.veg")):
        if "heterogeneous" in path.stem:
            continue  # the same mesh, and it includes a file that is not there
        mesh = rf.read_mesh(path)
        yield path.stem, mesh
        if mesh.nodes_per_element == 4:
            yield f"{path.stem}, 10 nodes", mesh.quadratic()


def held_rows(meshes: Iterable[tuple[str, rf.Mesh]]) -> list[Row]:
    """Fill over that of METIS on meshes held at their bottom."""
    out = []
    for name, mesh in meshes:
        y = mesh.nodes[:, 1]
        solid = rf.Solid(mesh, MATERIAL, fixed=y <= y.min() + 0.03 * np.ptp(y))
        ours, metis = (rf.ordering(solid, method) for method in ("dissection", "metis"))
        times = f"wall time {1e3 * ours.seconds:.0f} ms, METIS {1e3 * metis.seconds:.0f} ms"
        out.append(fill_row(name, ours, metis, times))
    return out


def seconds_of(solid: rf.Solid, method: str) -> tuple[float, float]:
    """Return the least processor time of statics and of 20 modes with an ordering."""
    rf.set_ordering(method)
    force = 1e-3 * solid.gravity()
    statics, modes = [], []
    for _ in range(2):
        start = time.process_time()
        solid.solve_static(force)
        middle = time.process_time()
        solid.linear_modes(20)
        statics.append(middle - start)
        modes.append(time.process_time() - middle)
    rf.set_ordering("auto")
    return min(statics), min(modes)


def cube_of_graded(n: int, graded: bool) -> rf.Solid:
    """Return a cube of n^3 voxels, graded or not, held below."""
    mesh = box((n, n, n), [0.0, 0.0, 0.0], 3 * [0.01 * n])
    mesh = mesh.graded() if graded else mesh
    return rf.Solid(mesh, MATERIAL, fixed=mesh.nodes[:, 2] < 1e-9)


def graded_rows() -> list[Row]:
    """Operations of the factor of a graded cube, and the time of grading."""
    uniform, graded = (rf.ordering(cube_of_graded(32, one)) for one in (False, True))
    cubes = box((128, 128, 128), [0.0, 0.0, 0.0], 3 * [1.28])
    wall, processor = [], []
    for _ in range(5):
        begin, used = time.perf_counter(), time.process_time()
        mesh = cubes.graded()
        processor.append(time.process_time() - used)
        wall.append(time.perf_counter() - begin)
    surface, whole = bumpy_sphere(), []
    for _ in range(3):
        begin = time.perf_counter()
        voxels = rf.voxelize(surface, 128, cut=False, graded=rf.Grading())
        whole.append(time.perf_counter() - begin)
    return [
        Row("flops of the factor, graded cube of 32^3 voxels", graded.flops / 1e9, "G", None,
            f"{uniform.flops / graded.flops:.1f} times fewer than uniform",
            ratio=graded.flops / uniform.flops, over="uniform", ratio_mark=1.0 / 20.0),
        Row("grading a cube of 128^3 voxels", float(np.median(wall)), "s", 0.5,
            f"{mesh.n_elements:,} cells; median of {len(wall)}, processor "
            f"{np.median(processor):.2f} s; voxelizing and grading a body "
            f"{np.median(whole):.2f} s, {voxels.n_elements:,} cells"),
    ]  # fmt: skip


def end_rows() -> list[Row]:
    """Statics and modes on one core with both orderings."""
    out = []
    rf.set_threads(1)
    for name in ("cube", "ball, tets", "cut cells of 20 nodes"):
        solid = SOLIDS[name]()
        ours, metis = (seconds_of(solid, method) for method in ("dissection", "metis"))
        for what, mine, theirs in zip(("statics", "20 modes"), ours, metis, strict=True):
            out.append(
                Row(
                    f"{what}, {name}, {3 * len(solid.free)} unknowns",
                    mine,
                    "s",
                    None,
                    "one core",
                    ratio=mine / theirs,
                    over="METIS",
                    ratio_mark=1.05,
                )
            )
    return out


ENTRIES = {
    "fill": fill_rows,
    "surfaces, cells": lambda: held_rows(surfaces(CELLS)),
    "surfaces, tetrahedra": lambda: held_rows(surfaces(TETRAHEDRA)),
    "volumes": lambda: held_rows(volumes()),
    "graded": graded_rows,
    "end to end": end_rows,
}
