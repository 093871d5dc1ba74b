"""Graded meshes of cubes (Z00 3.3): the patch test, errors against unknowns, costs of a factor.

patch    error of the displacements inside a body under homogeneous strain of its surface, the share
         of the mass that is kept, and the growth of free vibrations, for forces that go to the
         masters (T^T, as `Solid` has it) and for the rule of the thesis, in which constrained nodes
         move with the mean of their masters and their forces are dropped;
cells    number of cells of a cube of n^3 voxels, and of graded tetrahedra;
errors   of the compliance of a cube that is held below, uniform and graded: shear of its top face,
         and loads on a sixteenth of it in the middle and at a corner, against hexahedra of 20
         nodes; loads on one voxel of it, and gravity, against the uniform mesh of the same voxels;
factor   nonzeros and operations of the Cholesky factor of the stiffness by nested dissection;
steps    time of an evaluation of the forces, as in an explicit step; whole explicit steps beside
         the published times (chapter 6).

Run it for the tables and the plot of cells and errors:
  python experiments/z00_graded.py [patch cells errors factor steps] [--finest N] [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import command
import numpy as np
import scipy.sparse as sparse
from boxes import box
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import _core
from reducedfem import plot as pictures

LAW = rf.StVK(young=1e5, poisson=0.3, density=1000.0)
PUBLISHED = (110.0, 60.0)  # ms of a step of 1331 elements, and of the graded mesh (chapter 6)
TIMED = 20  # steps at a time
Array = NDArray[np.float64]


def cube(n: int) -> rf.Mesh:
    """Return the unit cube of n^3 cells."""
    return box(*3 * [np.arange(n + 1) / n])


def independent(mesh: rf.Mesh) -> NDArray[np.int64]:
    """Return the nodes that are not constrained."""
    free = np.ones(mesh.n_nodes, dtype=bool)
    if mesh.constraints is not None:
        free[mesh.constraints.slaves] = False
    return np.flatnonzero(free)


# --- the patch test, and the rule of the thesis ---------------------------------------


def patch(n: int = 8) -> dict[str, tuple[float, float, float]]:
    """Return, by rule, the error of the patch test, the mass kept, and the growth [1/s].

    The error is that of the largest displacement; the growth is the largest real part of the
    exponents of free vibrations with the lumped mass.
    """
    mesh = cube(n).graded()
    assert mesh.constraints is not None
    with warnings.catch_warnings():  # its nodes hang: that is what T is for
        warnings.simplefilter("ignore", rf.GeometryWarning)
        cells = rf.Solid(rf.Mesh(mesh.nodes, mesh.elements), LAW)
    T = sparse.kron(mesh.constraints.matrix.to_scipy(), sparse.identity(3)).tocsr()
    nodes = independent(mesh)
    at = (3 * nodes[:, None] + np.arange(3)).ravel()
    pick = sparse.identity(3 * mesh.n_nodes, format="csr")[at]
    K = cells.stiffness().to_scipy()
    m = cells.mass(lumped=True).to_scipy().diagonal()
    G = np.random.default_rng(2).normal(size=(3, 3))
    u = (mesh.nodes @ G.T)[nodes].ravel()
    inside = np.flatnonzero(~np.isin(nodes, mesh.boundary_nodes).repeat(3))
    found = {}
    for name, to in (("T^T", T.T), ("means alone", pick)):
        A = (to @ K @ T).tocsr()
        mass = to @ m
        # x'' = -M^-1 A x: exponents +-sqrt(-lambda)
        scaled = A.toarray() / np.sqrt(mass[:, None] * mass)
        if np.abs(scaled - scaled.T).max() < 1e-12 * np.abs(scaled).max():
            values = np.linalg.eigvalsh(scaled)
        else:
            # rounding splits the values of rigid motions, which are defective
            values = np.linalg.eigvals(scaled)
            values[np.abs(values) < 1e-8 * np.abs(values).max()] = 0.0
        growth = float(np.sqrt(-values.astype(complex)).real.max())
        x = u.copy()
        x[inside] = 0.0
        x[inside] = np.linalg.solve(A[inside][:, inside].toarray(), -(A @ x)[inside])
        error = float(np.abs(x - u).max() / np.abs(u).max())
        found[name] = error, float(mass.sum() / m.sum()), growth
    return found


# --- errors ----------------------------------------------------------------------------


def face_load(mesh: rf.Mesh, low: tuple[float, float], high: tuple[float, float]) -> Array:
    """Return the nodal forces of a unit force along (1, 0, -1), spread over a part of the top."""
    faces = mesh.boundary_faces
    middle = mesh.nodes[faces[:, :4]].mean(axis=1)
    flat = np.abs(mesh.nodes[faces[:, :4]][:, :, 2] - 1.0).max(axis=1) < 1e-9
    chosen = flat & (middle[:, :2] > low).all(axis=1) & (middle[:, :2] < high).all(axis=1)
    area = np.ptp(mesh.nodes[faces[chosen, :4]][:, :, :2], axis=1).prod(axis=1)
    shares = [0.25] * 4 if faces.shape[1] == 4 else [-1 / 12] * 4 + [1 / 3] * 4
    force = np.zeros((mesh.n_nodes, 3))
    for k, share in enumerate(shares):
        np.add.at(force, faces[chosen, k], np.outer(area * share, [1.0, 0.0, -1.0]))
    return force / area.sum()


def loads(solid: rf.Solid, voxels: int) -> dict[str, Array]:
    """Return the loads of the table."""
    at, h = 0.5, 1.0 / voxels
    return {
        "shear": face_load(solid.mesh, (0, 0), (1, 1)),
        "patch": face_load(solid.mesh, (0.5, 0.5), (0.75, 0.75)),
        "corner": face_load(solid.mesh, (0.75, 0.75), (1, 1)),
        "one face": face_load(solid.mesh, (at, at), (at + h, at + h)),
        "gravity": solid.gravity((0.0, 0.0, -1.0)),
    }


def lower_of(solid: rf.Solid) -> Any:
    """Return the lower triangle of the stiffness over the free nodes, as a SciPy matrix."""
    at = (3 * solid.free[:, None] + np.arange(3)).ravel()
    lower = sparse.tril(solid.stiffness().to_scipy()[at][:, at], format="csc")
    lower.sort_indices()
    return lower


def held(mesh: rf.Mesh) -> rf.Solid:
    """Return the solid on a mesh of the cube, held below."""
    return rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 2] < 1e-9)


def compliances(mesh: rf.Mesh, voxels: int) -> tuple[int, dict[str, float], float]:
    """Return the unknowns, the compliance of each load in linear statics, and s of the factor."""
    solid = held(mesh)
    at = (3 * solid.free[:, None] + np.arange(3)).ravel()
    lower = lower_of(solid)
    T = None if mesh.constraints is None else mesh.constraints.matrix.to_scipy()
    every = loads(solid, voxels)
    columns = []
    for force in every.values():
        whole = np.zeros((mesh.n_nodes, 3))
        whole[independent(mesh)] = force if T is None else T.T @ force
        columns.append(whole.ravel()[at])
    right = np.array(columns)
    x, seconds = _core.factor_solve(
        (lower.data, lower.indices, lower.indptr), right, 1, rf.threads()
    )
    work = np.einsum("ij,ij->i", x, right)
    return lower.shape[0], dict(zip(every, work.tolist(), strict=True)), float(seconds[0, 0])


def errors(finest: int) -> list[tuple[str, int, float, dict[str, float]]]:
    """Return name, unknowns, seconds of the factor and errors [%] of each mesh."""
    _, exact, _ = compliances(cube(20 if finest > 16 else 12).quadratic(), 20)
    meshes: list[tuple[str, rf.Mesh, int]] = []
    for n in (12, 16, 32):
        if n <= finest:
            meshes.append((f"uniform {n}", cube(n), n))
            meshes.append((f"graded {n}", cube(n).graded(), n))
    meshes.append(("graded 16, 3 layers", cube(16).graded(rf.Grading(layers=3)), 16))
    rows, uniform = [], {}
    local = ("one face", "gravity")
    for name, mesh, n in meshes:
        unknowns, found, seconds = compliances(mesh, n)
        if mesh.constraints is None:
            uniform[n] = found
        known = {load: (uniform[n] if load in local else exact)[load] for load in found}
        error = {load: 100.0 * (value / known[load] - 1.0) for load, value in found.items()}
        rows.append((name, unknowns, seconds, error))
    return rows


# --- the factor ------------------------------------------------------------------------


def factor_cost(mesh: rf.Mesh) -> tuple[int, float, float]:
    """Return unknowns, nonzeros of the factor, and operations of its computation."""
    found = rf.ordering(held(mesh))
    return len(found.permutation), float(found.nonzeros), found.flops


# --- steps -----------------------------------------------------------------------------


def step_time(mesh: rf.Mesh) -> float:
    """Return the least time of an evaluation of the forces on one thread [s]."""
    solid = rf.Solid(mesh, LAW)
    return float(min(solid._core.time_evaluate(1e-3 * mesh.nodes, False, 20, 1)))


def explicit_steps(meshes: Sequence[rf.Mesh], rounds: int = 12) -> list[float]:
    """Return the least processor time of an explicit step of each mesh on one thread [ms]."""
    times: list[list[float]] = [[] for _ in meshes]
    with command.one_thread():
        sims = [rf.CentralDifferences(rf.Solid(mesh, LAW)) for mesh in meshes]
        for _ in range(rounds):
            for sim, found in zip(sims, times, strict=True):
                start = time.process_time()
                sim.step(n=TIMED)
                found.append(1e3 * (time.process_time() - start) / TIMED)
    return [min(found) for found in times]


# --- the tables ------------------------------------------------------------------------


def print_patch(_: int) -> None:
    print("rule            patch test   mass kept   growth of free vibrations, 1/s")
    for name, (error, mass, growth) in patch().items():
        print(f"{name:14}  {error:10.2g}  {100 * mass:8.1f} %  {growth:10.2g}")


def print_cells(finest: int) -> list[tuple[int, int, int]]:
    rows = []
    print("     n   cubes     graded   constrained nodes   seconds of grading  tetrahedra, graded")
    for n in (8, 16, 32, 64):
        if n > max(finest, 16):
            continue
        mesh = cube(n)
        start = time.perf_counter()
        graded = mesh.graded()
        took = time.perf_counter() - start
        ties = 0 if graded.constraints is None else len(graded.constraints)
        tets = len(_core.grade_tets(mesh._core, 1, None)[0].elements)
        print(
            f"{n:6} {mesh.n_elements:8} {graded.n_elements:9} {ties:12} {took:18.4f} "
            f"{6 * mesh.n_elements:13} {tets:9}"
        )
        rows.append((n, mesh.n_elements, graded.n_elements))
    return rows


def print_errors(finest: int) -> list[tuple[str, int, float, dict[str, float]]]:
    rows = errors(finest)
    names = list(rows[0][3])
    print(
        f"{'mesh':22}{'unknowns':>9}{'factor, s':>11}" + "".join(f"{x + ' %':>12}" for x in names)
    )
    for name, unknowns, seconds, error in rows:
        print(f"{name:22}{unknowns:9}{seconds:11.2f}" + "".join(f"{error[x]:12.2f}" for x in names))
    return rows


def print_factor(finest: int) -> None:
    print("mesh           unknowns   nonzeros, M   operations, G")
    for n in (16, 32):
        if n > max(finest, 16):
            continue
        cost = [factor_cost(one) for one in (cube(n), cube(n).graded())]
        for name, (unknowns, nonzeros, flops) in zip(("uniform", "graded"), cost, strict=True):
            print(f"{name + ' ' + str(n):14}{unknowns:9}{nonzeros / 1e6:14.1f}{flops / 1e9:14.1f}")
        print(f"{'ratio':14}{'':9}{cost[0][1] / cost[1][1]:14.1f}{cost[0][2] / cost[1][2]:14.1f}")


def print_steps(finest: int) -> None:
    print("     n   uniform, ms   graded, ms")
    for n in (10, 16, 32):
        if n <= max(finest, 16):
            times = [1e3 * step_time(one) for one in (cube(n), cube(n).graded())]
            print(f"{n:6}{times[0]:14.3f}{times[1]:13.3f}")
    meshes = (cube(11), cube(11).graded())
    steps = explicit_steps(meshes)
    print("\nan explicit step    elements   here, ms   published, ms   on a Pentium II of 400 MHz")
    for name, mesh, here, there in zip(
        ("uniform", "graded"), meshes, steps, PUBLISHED, strict=True
    ):
        print(f"{name:18}{mesh.n_elements:10}{here:11.3f}{there:16.0f}")
    print(
        f"{'ratio':18}{meshes[1].n_elements / meshes[0].n_elements:10.2f}"
        f"{steps[1] / steps[0]:11.2f}{PUBLISHED[1] / PUBLISHED[0]:16.2f}"
    )


PARTS: dict[str, Callable[[int], Any]] = {
    "patch": print_patch,
    "cells": print_cells,
    "errors": print_errors,
    "factor": print_factor,
    "steps": print_steps,
}


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the numbers of cells, and errors over unknowns."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    if rows := found.get("cells"):
        n, uniform, graded = np.array(rows, dtype=float).T
        left.loglog(n, uniform, "o-", ms=4, lw=1.2, label="uniform")
        left.loglog(n, graded, "o-", ms=4, lw=1.2, label="graded")
        left.loglog(n, graded[-1] * (n / n[-1]) ** 2, color="0.6", lw=0.8, label="square of n")
        left.legend(frameon=False, fontsize=8)
    left.set(xlabel="voxels along an edge, n", ylabel="cells")
    for i, load in enumerate(("shear", "patch", "corner")):
        for kind, mark in (("uniform", "o-"), ("graded", "s--")):
            meshes = [
                row
                for row in found.get("errors", [])
                if row[0].startswith(kind) and "layers" not in row[0]
            ]
            right.loglog([row[1] for row in meshes], [abs(row[3][load]) for row in meshes], mark,
                         color=f"C{i}", ms=4, lw=1.2, label=f"{load}, {kind}")  # fmt: skip
    right.set(xlabel="unknowns", ylabel="error of the compliance [%]")
    right.legend(frameon=False, fontsize=7)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> None:
    """Print the tables and draw the plot."""
    found: dict[str, Any] = {}
    for name in arguments.parts or PARTS:
        if found:
            print()
        found[name] = PARTS[name](arguments.finest)
    if {"cells", "errors"} & found.keys():
        draw(found, arguments.plot)
    else:
        arguments.plots = []


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__, "about 2 minutes")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--finest", type=int, default=32, help="voxels along an edge (32)")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {min(unknown)!r}: parts are {', '.join(PARTS)}")
    return command.run(perform, arguments)


if __name__ == "__main__":
    sys.exit(main())
