"""Force, tangent and Hessian products of unreduced solids, one thread unless said."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import yardsticks
from grids import box
from table import Row, spread

import reducedfem as rf

ROUNDS = 200
MARK_BRIDGE_MS = 15.0
MARK_LAW = 2.0  # time of a stable neo-Hookean tangent over that of StVK
ELEMENTS = {4: "tet4", 8: "hex8", 10: "tet10", 20: "hex20"}
FOLDER = Path(
    os.environ.get("REDUCEDFEM_SHARED", Path(__file__).resolve().parent.parent.parent / "shared")
)
BRIDGES = FOLDER / "meshes" / "vega" / "simpleBridge"


def meshes() -> list[tuple[str, rf.Mesh, float | None]]:
    """Return the bridges of the reference data if present, else boxes of their size."""
    tets, hexes = (
        BRIDGES / "simpleBridge-ic_128_0.15_.1.veg",
        BRIDGES / "simpleBridge_resol92-b1.155_enlarged.veg",
    )
    out: list[tuple[str, rf.Mesh, float | None]] = []
    if tets.is_file() and hexes.is_file():
        out += [("tet bridge", rf.read_mesh(tets), MARK_BRIDGE_MS)]
        out += [("voxel bridge", rf.read_mesh(hexes), None)]
    else:
        out += [("tet box of the bridge's size", box((24, 10, 9), tets=True), MARK_BRIDGE_MS)]
        out += [("voxel box of the bridge's size", box((24, 9, 8)), None)]
    # as many nodes as the first has, about
    out += [("box", box((12, 5, 5), tets=True).quadratic(), None)]
    out += [("box", box((12, 5, 5)).quadratic(), None)]
    return out


def operations(mesh: rf.Mesh, n_gauss: int, tangent: bool) -> float:
    """Floating-point operations of the formulas as csrc/fem/kernels_body.h does them."""
    n = mesh.nodes_per_element
    pairs = n * (n + 1) // 2
    # grad u; strain, stress, energy; S g, F S g, F g of each node; F F^T
    point = 18 * (n - 1) + 110 + 54 * n + 36
    count = n_gauss * point
    if tangent:
        count += n_gauss * 47 * pairs + 30 * pairs
    return float(count * mesh.n_elements)


def traffic(solid: rf.Solid, tangent: bool) -> int:
    """Bytes that must move once: tables and u in, force and tangent out."""
    core, mesh = solid._core, solid.mesh
    n = mesh.nodes_per_element
    per_element = 4 * n + 8
    if not core.congruent:
        per_element += core.n_gauss * (24 * n + 8)
    size = per_element * mesh.n_elements + 2 * 24 * mesh.n_nodes
    if tangent:
        size += 2 * n * (n + 1) * mesh.n_elements + 72 * core.entries
    return int(size)


def evaluation(
    label: str, solid: rf.Solid, tangent: bool, mark: float | None, threads: int = 1
) -> Row:
    """One row: force, or force and tangent."""
    mesh = solid.mesh
    u = 1e-3 * np.random.default_rng(0).standard_normal(mesh.nodes.shape)
    solid._core.time_evaluate(u, tangent, 5, threads)
    seconds = solid._core.time_evaluate(u, tangent, ROUNDS, threads)
    size, flops = traffic(solid, tangent), operations(mesh, solid._core.n_gauss, tangent)
    bound = yardsticks.limit(size, flops)
    p50 = float(np.median(seconds))
    what = "force and tangent" if tangent else "force"
    return Row(
        f"{what}, {label}",
        p50 * 1e3,
        "ms",
        mark,
        f"{spread(seconds, 1e3)}, best {seconds.min() * 1e3:.3g}; limit {bound * 1e3:.2g} ms "
        f"({size / 1e6:.1f} MB, {flops / 1e6:.0f} Mflop), {bound / threads / p50:.0%} of the limit "
        f"(best {bound / threads / seconds.min():.0%})",
        ratio=p50 * threads / bound,
        over="bandwidth and arithmetic",
    )


def upper_entries(mesh: rf.Mesh) -> np.ndarray:
    """Return the entry of the upper triangle, row by row, of each pair of an element's nodes."""
    a, b = np.triu_indices(mesh.nodes_per_element)
    pairs = np.sort(np.stack([mesh.elements[:, a], mesh.elements[:, b]], axis=-1), axis=-1)
    row, column = pairs.reshape(-1, 2).astype(np.int64).T
    return np.unique(row * mesh.n_nodes + column, return_inverse=True)[1]


def upper(label: str, solid: rf.Solid) -> Row:
    """Force and the half of the tangent that factorizations read, in turns with adding it up."""
    u = 1e-3 * np.random.default_rng(0).standard_normal(solid.mesh.nodes.shape)
    entries = upper_entries(solid.mesh)
    half, plain = [], []
    for _ in range(40):
        # the second of two: the first finds the other's numbers in the caches
        half.append(solid._core.time_evaluate(u, True, 2, 1, True)[1])
        plain.append(yardsticks.blocks(entries, 2)[1])
    size = traffic(solid, True) - 36 * (solid._core.entries - solid.mesh.n_nodes)
    bound = yardsticks.limit(size, operations(solid.mesh, solid._core.n_gauss, True))
    p50 = float(np.median(half))
    return Row(
        f"force and upper tangent, {label}",
        p50 * 1e3,
        "ms",
        None,
        f"{spread(np.array(half), 1e3)}; limit {bound * 1e3:.2g} ms, {bound / p50:.0%} of it",
        ratio=float(np.median(np.array(half) / np.array(plain))),
        over="adding blocks that are there, one by one",
    )


def products(label: str, solid: rf.Solid, count: int = 60) -> Row:
    """Hessian products by the block, as modal derivatives need them."""
    a, b = np.random.default_rng(1).standard_normal((2, count, solid.mesh.n_nodes, 3))
    seconds = np.empty(7)
    for k in range(len(seconds)):
        start = time.perf_counter()
        solid._core.hessian_product(a, b, None, 1)
        seconds[k] = (time.perf_counter() - start) / count
    tangent = np.median(solid._core.time_evaluate(1e-3 * a[0], True, 21, 1))
    return Row(
        f"one Hessian product of {count}, {label}",
        float(np.median(seconds)) * 1e3,
        "ms",
        None,
        spread(seconds, 1e3),
        ratio=float(np.median(seconds) / tangent),
        over="one tangent",
    )


def timed(solid: rf.Solid, u: np.ndarray, definite: bool = False) -> float:
    """Time force and tangent: the second of two, with the first in the caches."""
    return float(solid._core.time_evaluate(u, True, 2, 1, False, definite)[1])


def laws(label: str, mesh: rf.Mesh, rounds: int = 30) -> list[Row]:
    """Force and tangent by law, and semidefinite ones, in turns with StVK; small random strains."""
    u = 1e-3 * np.random.default_rng(0).standard_normal(mesh.nodes.shape)
    stvk = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0))
    lam, mu = stvk.material.lame
    made = [rf.StableNeoHookean(1e6, 0.4, 1000.0), rf.NeoHookean(1e6, 0.4, 1000.0)]
    made += [rf.MooneyRivlin(0.4 * mu, 0.1 * mu, lam + 2 / 3 * mu, 1000.0)]
    made += [rf.Corotated(1e6, 0.4, 1000.0)]
    out = []
    for one in made:
        solid = rf.Solid(mesh, one)
        pairs = [(timed(solid, u), timed(stvk, u)) for _ in range(rounds)]
        seconds, base = np.array(pairs).T
        out.append(
            Row(
                f"force and tangent of {one.law}, {label}",
                float(np.median(seconds)) * 1e3,
                "ms",
                note=spread(seconds, 1e3),
                ratio=float(np.median(seconds / base)),
                over="the same of StVK",
                ratio_mark=MARK_LAW if one.law == "StableNeoHookean" else None,
            )
        )
    for one in (stvk, rf.Solid(mesh, rf.LinearElastic(stvk.material.stiffness, 1000.0))):
        seconds = np.array([(timed(one, u, True), timed(one, u)) for _ in range(rounds // 3)])
        out.append(
            Row(
                f"force and semidefinite tangent of {one.material.law}, {label}",
                float(np.median(seconds[:, 0])) * 1e3,
                "ms",
                note=spread(seconds[:, 0], 1e3) + "; some strain is negative everywhere",
                ratio=float(np.median(seconds[:, 0] / seconds[:, 1])),
                over="the plain tangent",
            )
        )
    return out


def law_rows() -> list[Row]:
    """Measure the laws on one mesh of each element."""
    yardsticks.blas_threads(1)
    return [
        row
        for label, mesh in (
            ("tet4", box((24, 10, 9), tets=True)),
            ("hex8", box((24, 9, 8))),
            ("tet10", box((12, 5, 5), tets=True).quadratic()),
            ("hex20", box((12, 5, 5)).quadratic()),
        )
        for row in laws(f"{mesh.n_elements} {label}", mesh)
    ]


def rows_of(which: int) -> list[Row]:
    """Measure one of the meshes."""
    name, mesh, mark = meshes()[which]
    yardsticks.blas_threads(1)
    material = rf.StVK(1e6, 0.4, 1000.0)
    out = []
    for quadrature in (2, 3) if mesh.nodes_per_element == 8 else (None,):
        solid = rf.Solid(mesh, material, quadrature=quadrature)
        label = f"{name}, {mesh.n_elements} {ELEMENTS[mesh.nodes_per_element]}"
        if quadrature:
            label += f", {quadrature}^3 points"
        out.append(evaluation(label, solid, True, mark))
        out.append(upper(label, solid))
        out.append(evaluation(label, solid, False, None))
    out.append(evaluation(f"{label}, 2 threads", solid, True, None, threads=2))
    out.append(products(label, solid))
    return out


ENTRIES = {
    "tetrahedra": lambda: rows_of(0),
    "voxels": lambda: rows_of(1),
    "ten-node tetrahedra": lambda: rows_of(2),
    "20-node hexahedra": lambda: rows_of(3),
    "laws": law_rows,
}
