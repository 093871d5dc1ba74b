"""The tube of Nikitin et al. 2002 (figures 7 and 8): 10,000 nodes moved by two handles.

Times and memory beside the published ones (Athlon 1.3 GHz, SGI Onyx2) and beside conjugate
gradients on line, and the tube twisted: linear, with the mean rotation extracted, as a composite
body, and by nonlinear statics (StVK). "Error" is that of the displacements, largest over largest.
Beyond some 70 degrees the tube buckles. A second plot has the twelve fields of a handle (7 b).

Run it for the table and the plots:  python experiments/n02_tube.py [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

LENGTH, INNER, OUTER, END = 0.2, 0.02, 0.03, 0.02  # m
CELLS = (42, 60, 4)  # nodes along, around and through
ANGLES = (20, 40, 60)  # degrees
BLOCKS = (4, 8, 16)
ROUNDS = 200
LAW = rf.StVK(1e6, 0.3, 1000.0)


def tube() -> rf.Solid:
    """Return a tube of eight-node hexahedra along z, held at z = 0."""
    rings, around, through = CELLS
    k, j, i = (a.ravel() for a in np.indices(CELLS))
    radius = INNER + (OUTER - INNER) * i / (through - 1)
    angle = 2 * np.pi * j / around
    nodes = np.c_[radius * np.cos(angle), radius * np.sin(angle), LENGTH * k / (rings - 1)]
    k, j, i = (a.ravel() for a in np.indices((rings - 1, around, through - 1)))
    face = [(0, 0), (0, 1), (1, 1), (1, 0)]
    corners = [
        ((k + up) * around + (j + a) % around) * through + i + b for up in (0, 1) for a, b in face
    ]
    mesh = rf.Mesh(nodes, np.stack(corners, axis=1))
    return rf.Solid(mesh, LAW, nodes[:, 2] < 1e-9)


def seconds(call: Callable[[], object], rounds: int = 1) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def on_line(solid: rf.Solid, moved: NDArray[np.bool_], u: Array) -> float:
    """Return the seconds of conjugate gradients for one motion, diagonal preconditioner."""
    held = np.repeat(moved, 3)
    held[(3 * solid.fixed[:, None] + np.arange(3)).ravel()] = True
    K = solid.stiffness().to_scipy().tocsr()
    A, load = K[~held][:, ~held], -(K @ u.ravel())[~held]
    scale = 1.0 / A.diagonal()
    preconditioner = LinearOperator(A.shape, matvec=lambda x: scale * x)
    start = time.perf_counter()
    _, info = cg(A, load, rtol=1e-5, M=preconditioner)
    if info != 0:
        raise rf.ConvergenceError(f"conjugate gradients for {A.shape[0]} unknowns: info {info}")
    return time.perf_counter() - start


def places(x: Array, degrees: float) -> Array:
    """Return displacements of nodes that turn about z."""
    turn = np.radians(degrees)
    R = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1.0]])
    return x @ R.T - x


def twists(solid: rf.Solid, handle: NDArray[np.int64]) -> dict[str, dict[int, Array]]:
    """Return the displacements of twists, by method and angle, and print times of composites."""
    x = solid.mesh.nodes
    ends = np.union1d(solid.fixed, handle)
    whole = rf.Solid(solid.mesh, solid.material, ends)
    elements = rf.ControlElements(solid, [handle], np.arange(len(x)), progress=False)
    found: dict[str, dict[int, Array]] = {"nonlinear": {}, "linear": {}, "extracted": {}}
    start = None
    for angle in ANGLES:
        u = np.zeros_like(x)
        u[handle] = places(x[handle], angle)
        start = found["nonlinear"][angle] = whole.solve_static(
            prescribed=u, u0=start, tol=1e-8, progress=False
        )
        half = np.radians(angle) / 2
        c = elements.parameters(0, quaternion=[np.cos(half), 0.0, 0.0, np.sin(half)])
        found["linear"][angle] = elements.displacement(c, rotation=None)
        found["extracted"][angle] = elements.displacement(c)
    for number in BLOCKS:
        begun = time.perf_counter()
        body = rf.CompositeBody(solid, number, holdable=handle, progress=False)
        making, done, spent, iterations = time.perf_counter() - begun, None, [], 0
        found[f"{number} blocks"] = {}
        for angle in ANGLES:
            held = dict(zip(handle.tolist(), places(x[handle], angle), strict=True))
            begun = time.perf_counter()
            done = body.solve(held=held, u0=None if done is None else done.u)
            spent.append(time.perf_counter() - begun)
            iterations = max(iterations, done.iterations)
            found[f"{number} blocks"][angle] = done.u
        print(
            f"composite of {number:2} blocks: made in {making:.2f} s, {body.bytes / 1e6:.0f} MB; a "
            f"step of {ANGLES[0]} degrees in {1e3 * np.median(spent):.0f} ms, at most {iterations} "
            "iterations"
        )
    return found


def errors(found: dict[str, dict[int, Array]]) -> dict[str, list[float]]:
    """Return the errors of the methods at all angles."""
    exact = found["nonlinear"]
    return {
        method: [float(np.abs(us[a] - exact[a]).max() / np.abs(exact[a]).max()) for a in ANGLES]
        for method, us in found.items()
        if method != "nonlinear"
    }


def draw(solid: rf.Solid, found: dict[str, dict[int, Array]], path: Path) -> None:
    """Draw the twisted tube."""
    surface, boundary = solid.mesh.surface(), solid.mesh.boundary_nodes
    angle = np.arctan2(surface.vertices[:, 1], surface.vertices[:, 0])
    stripe = np.where(np.abs(angle) < 0.4, 0.45, 0.8)[:, None] * [0.95, 0.75, 0.6]
    methods = ["linear", "extracted", f"{BLOCKS[-1]} blocks", "nonlinear"]
    figure = Figure(figsize=(9.0, 6.4), layout="constrained")
    grid = figure.subplots(len(ANGLES), len(methods))
    for row, degrees in zip(grid, ANGLES, strict=True):
        for axes, method in zip(row, methods, strict=True):
            axes.axis("off")
            axes.set_title(f"{method}, {degrees}°", fontsize=9)
            shape = pictures.Shape(surface.vertices + found[method][degrees][boundary], stripe)
            image = pictures.render(
                [shape], surface.triangles, size=(260, 240), azimuth=25.0, elevation=15.0
            )
            axes.imshow(image)
    pictures.save_figure(figure, path, dpi=130)


def draw_fields(mesh: rf.Mesh, made: rf.ControlElements, path: Path) -> None:
    """Draw the fields of a handle: its shifts T along the axes, and the entries of M."""
    surface = mesh.surface()
    figure = Figure(figsize=(9.0, 7.2), layout="constrained")
    names = [f"T{a}" for a in "xyz"] + [f"M{a}{b}" for a in "xyz" for b in "xyz"]
    for k, (axes, name) in enumerate(zip(figure.subplots(3, 4).flat, names, strict=True)):
        c = np.zeros((2, 12))
        c[1, k] = OUTER if k < 3 else 1.0
        u = made.displacement(c, rotation=None)
        moved = surface.vertices + u
        colour = pictures.Values(np.linalg.norm(u, axis=1))
        shape = pictures.Shape(moved, colour)
        axes.imshow(pictures.render([shape], surface.triangles, size=(260, 260), azimuth=25.0))
        axes.set_title(name, fontsize=9)
        axes.axis("off")
    pictures.save_figure(figure, path, dpi=110)


def table(mesh: rf.Mesh, folder: Path) -> None:
    """Print times and memory beside the published ones, with ends of 2 cm as handles."""
    x = mesh.nodes
    free = rf.Solid(mesh, LAW)
    sets = [np.flatnonzero(x[:, 2] < END), np.flatnonzero(x[:, 2] > LENGTH - END)]
    handle = sets[1]
    solid = rf.Solid(mesh, LAW, sets[0])
    assembly = seconds(solid.stiffness, 3)
    begun = time.perf_counter()
    made = rf.ControlElements(free, sets, dtype="float32", progress=False)
    making = time.perf_counter() - begun
    u = np.zeros_like(x)
    u[handle] = [0.0, 0.0, 0.01]
    moved = np.zeros(len(x), dtype=bool)
    moved[handle] = True
    column = on_line(solid, moved, u)
    c = np.zeros((2, 12))
    c[1] = made.parameters(1, made.means[1] + [0.0, 0.002, 0.0], [np.cos(0.05), 0, 0, np.sin(0.05)])
    flat, core = c.ravel(), made._core
    frame = seconds(lambda: core.displacement(flat, False), ROUNDS)
    framed = seconds(lambda: core.displacement(flat, True), ROUNDS)
    force = seconds(lambda: core.forces(flat, False, False), ROUNDS)
    draw_fields(mesh, made, folder / "n02_tube_fields.png")
    made.save(folder / "n02_tube.safetensors")
    size = (folder / "n02_tube.safetensors").stat().st_size
    rows = [
        ("assembly of the stiffness", f"{assembly:.3f} s", "3 s"),
        ("one solution by conjugate gradients", f"{column:.2f} s", "1 min"),
        ("factor and 24 fields", f"{making:.2f} s", "20 min"),
        ("displacements of the surface", f"{1e6 * frame:.0f} us", "85 frames/s, 11.8 ms"),
        ("the same with extraction", f"{1e6 * framed:.0f} us", "-"),
        ("forces on the handles", f"{1e6 * force:.1f} us", "-"),
        ("memory of the fields of a handle", f"{made.bytes / 2e3:.0f} kB", "100 to 700 kB"),
        ("file", f"{size / 1e6:.2f} MB", "1 MB, compressed"),
        ("solution on line over a sum of fields", f"{column / frame:.0f}", "1000"),
    ]
    print(f"{len(x)} nodes, {len(made.nodes)} on the surface, {len(handle)} in a handle")
    print(f"{'':40}{'here':>12}    published")
    for name, here, published in rows:
        print(f"{name:40}{here:>12}    {published}")


def perform(arguments: argparse.Namespace) -> None:
    """Print the numbers and draw the plot."""
    solid = tube()
    handle = np.flatnonzero(solid.mesh.nodes[:, 2] > LENGTH - 1e-9)
    table(solid.mesh, arguments.out)
    print()
    found = twists(solid, handle)
    print(f"\n{'error at a twist of':20}" + "".join(f"{angle:>9}°" for angle in ANGLES))
    for method, row in errors(found).items():
        print(f"{method:20}" + "".join(f"{100 * off:9.2g}%" for off in row))
    draw(solid, found, arguments.plot)
    print(f"\nfields: {arguments.out / 'n02_tube_fields.png'}")


def main() -> int:
    """Run from the command line."""
    return command.run(perform, command.options(__file__, __doc__).parse_args())


if __name__ == "__main__":
    sys.exit(main())
