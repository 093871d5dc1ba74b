"""Energy of a swinging beam by different integrators (Ascher et al. 2021, figure 6).

A soft beam, 0.6 x 0.1 x 0.1 m, stable neo-Hookean, fixed at both ends, is released under gravity.
The total energy, zero at first, falls by what a scheme loses: backward Euler loses most of what
moves, methods of second order little, and exact modes (SIERE) make a method of first order nearly
as good. Steps of 0.01 s, where the fastest modes turn tens of radians a step.

The paper gives neither size, density nor step: the mark is its order of the schemes by energy lost.

With --reference the beam and the schemes are those of a file of an independent program, and so are
the marks: the total energy lost at the end within 5 %.

Run it for the numbers and the plot:  python experiments/a21_beam.py [--coarse] [--help]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import command
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import plot as pictures

# the semi-implicit schemes of the paper make one iteration
warnings.filterwarnings("ignore", "one Newton iteration a step", rf.PlausibilityWarning)

Array = NDArray[np.float64]

SIZE, GRAVITY, STEP, EXACT = (0.6, 0.1, 0.1), (0.0, 0.0, -9.81), 0.01, 10
FINE, COARSE = (24, 4, 4), (12, 2, 2)
AGREES = 0.05  # difference of the energy lost, relative
SCHEMES = ("BE", "BDF2", "SIERE", "STR-SBDF2ERE", "SDIRK", "TR-BDF2", "TR")
# corners of a cell that make a tetrahedron: one inside, and four at the corners it leaves out
_FIVE = ((0, 3, 5, 6), (0, 1, 3, 5), (0, 2, 6, 3), (0, 4, 5, 6), (3, 5, 6, 7))


def tetrahedra(cells: Sequence[int]) -> rf.Mesh:
    """Return the mesh of cells of five tetrahedra, with mirror images in turns."""
    counts = np.array(cells) + 1
    nodes = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1)
    number = np.arange(nodes[..., 0].size).reshape(counts)
    elements = []
    for cell in np.ndindex(*cells):
        odd = sum(cell) % 2
        corners = [
            number[cell[0] + (c & 1 ^ odd), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2 & 1)]
            for c in range(8)
        ]
        for tet in _FIVE:
            a, b, c, d = (corners[i] for i in tet)
            points = nodes.reshape(-1, 3)[[a, b, c, d]]
            volume = np.linalg.det(points[1:] - points[0])
            elements.append((a, b, c, d) if volume > 0 else (a, b, d, c))
    return rf.Mesh(nodes.reshape(-1, 3) * (np.array(SIZE) / cells), np.array(elements))


def beam(cells: Sequence[int]) -> rf.Solid:
    """Return the beam, whose ends are fixed."""
    mesh = tetrahedra(cells)
    x = mesh.nodes[:, 0]
    law = rf.StableNeoHookean(young=1e5, poisson=0.4, density=1000.0)
    return rf.Solid(mesh, law, fixed=(x == x.min()) | (x == x.max()))


def energies(name: str, solid: rf.Solid, steps: int, modes: str = "follow") -> Array:
    """Return strain energy, kinetic energy and potential of gravity after each step, (steps, 3)."""
    options = {"exact": EXACT, "modes": modes} if name.endswith("ERE") else {}
    if not name.startswith("S") or name == "SDIRK":
        options |= {"newton_max": 40, "tol": 1e-10}
    sim = rf.integrator(name, solid, STEP, gravity=GRAVITY, **options)
    mass, weight = solid.mass().to_scipy(), solid.gravity(GRAVITY).ravel()
    found = []
    for _ in range(steps):
        sim.step()
        q, v = sim.state.q, sim.state.qdot.ravel()
        found.append((solid.strain_energy(q), 0.5 * v @ (mass @ v), -weight @ q.ravel()))
    return np.array(found)


def read_reference(path: Path) -> tuple[rf.Solid, dict[str, Array]]:
    """Return the solid of a file and the energies of its schemes (steps, 3)."""
    with np.load(path, allow_pickle=False) as data:
        law = rf.StableNeoHookean(*(float(data[k]) for k in ("young", "poisson", "density")))
        mesh = rf.Mesh(data["nodes"], data["elements"])
        wanted = {str(name): data[f"energies_{name}"] for name in data["schemes"]}
        if float(data["dt"]) != STEP or tuple(data["gravity"]) != GRAVITY:
            raise rf.InputError("another step or gravity")
        return rf.Solid(mesh, law, fixed=data["fixed_nodes"]), wanted


def compare(path: Path, steps: int) -> list[str]:
    """Print losses of energy beside those of a file, and return the marks that are missed."""
    try:
        solid, wanted = read_reference(path)
    except (ValueError, KeyError) as error:
        raise rf.InputError(f"{path}: {error}") from error
    print(f"{solid.mesh.n_elements} tetrahedra; energy lost after {steps} steps [J]")
    print("  scheme        here      reference  difference  largest difference of an energy")
    wrong = []
    for name, reference in wanted.items():
        found = energies(name, solid, steps, "exact")
        if steps > len(reference):
            raise rf.InputError(f"{path} has {len(reference)} steps, but {steps} are asked for")
        here, there = -found[-1].sum(), -reference[steps - 1].sum()
        off = here / there - 1.0
        # in parts of the largest strain energy
        part = np.abs(found - reference[:steps]).max() / np.abs(reference[:, 0]).max()
        print(f"  {name:13} {here:9.6f} {there:9.6f}  {off:9.1e}   {part:9.1e}", flush=True)
        if not abs(off) <= AGREES:
            wrong.append(f"{name} loses {here:.3g} J, {path} has {there:.3g} J")
    return wrong


def draw(times: Array, curves: dict[str, Array], path: Path) -> None:
    """Draw the energy that each scheme has lost."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for name, parts in curves.items():
        axes.plot(times, -parts.sum(axis=1), label=name)
    axes.set(xlabel="time [s]", ylabel="energy lost [J]")
    axes.legend(frameon=False)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    if arguments.reference is not None:
        arguments.plots = []
        return compare(arguments.reference, arguments.steps)
    solid = beam(COARSE if arguments.coarse else FINE)
    curves = {name: energies(name, solid, arguments.steps) for name in SCHEMES}
    print(f"{solid.mesh.n_elements} tetrahedra; energy lost after {arguments.steps} steps [J]")
    lost = {name: -parts[-1].sum() for name, parts in curves.items()}
    for name, value in lost.items():
        print(f"  {name:13} {value:8.4f}")
    draw(STEP * np.arange(1, arguments.steps + 1), curves, arguments.plot)
    ranks = lost["BE"] > lost["BDF2"] > lost["SIERE"] > max(lost["SDIRK"], lost["TR-BDF2"])
    return [] if ranks else ["energy lost: BE > BDF2 > SIERE > SDIRK, TR-BDF2"]


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--coarse", action="store_true", help="an eighth of the cells: seconds")
    parser.add_argument("--steps", type=int, default=150, help="steps of 0.01 s (150)")
    parser.add_argument(
        "--reference", type=Path, metavar="FILE", help=".npz of an independent program"
    )
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
