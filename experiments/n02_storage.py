"""Memory of stiffness, Green's functions and handles (Nikitin et al. 2002, figures 4 to 7).

Cubes of 1,000 to 10,000 nodes: the share of entries of the stiffness that are not zero ("less than
1 %"), the memory of Green's functions of the surface ("6 Mb ... 450 Mb for the number of surface
vertices in the interval 600 ... 5000") and that of the fields of a handle ("100Kb ... 700Kb").
The published memory is that of single precision, a triangle of the symmetric matrix, 12 fields a
handle; for how many nodes a handle takes it is not said. Green's functions here are made up to
--largest surface nodes; with a tolerance blocks of far nodes are stored with low rank.

Marks: memory is that of a triangle of tiles of 8 nodes within 10 %; the published ends are those of
a plain triangle, (3 s)^2 / 2 floats for s nodes of the surface, within 10 %.

Run it for the table and the plot:  python experiments/n02_storage.py [--largest S] [--help]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import command
import numpy as np
from matplotlib.figure import Figure
from n02_capacitance import cube

import reducedfem as rf
from reducedfem import plot as pictures

CELLS = (9, 10, 12, 14, 17, 20)
TOLERANCE = 1e-3
PUBLISHED = ((600, 6.0), (5000, 450.0))  # nodes of the surface, MB of Green's functions
PUBLISHED_HANDLE = (0.1, 0.7)  # MB
NEAR, PUBLISHED_NEAR, TILE = 0.1, 0.1, 8


def formula(surface: float) -> dict[str, float]:
    """Return the memory of a triangle of Green's functions, and of 12 fields, in floats [MB]."""
    return {"functions": 4e-6 * (3 * surface) ** 2 / 2, "handle": 4e-6 * 12 * 3 * surface}


def measured(n: int, largest: int) -> dict[str, Any]:
    """Return counts and memory [MB] of a cube of n^3 cells."""
    solid = cube(n)
    stiffness = solid.stiffness()
    nodes = solid.mesh.n_nodes
    surface = solid.mesh.boundary_nodes
    top = np.flatnonzero(solid.mesh.nodes[:, 2] > solid.mesh.nodes[:, 2].max() - 1e-9)
    free = rf.Solid(solid.mesh, solid.material)
    handles = rf.ControlElements(free, [solid.fixed, top], surface, dtype="float32", progress=False)
    row: dict[str, Any] = {
        "nodes": nodes,
        "surface": len(surface),
        "share": len(stiffness.data) / (3 * nodes) ** 2,
        "handle": handles.bytes / 2e6,
    }
    if len(surface) <= largest:
        places = np.setdiff1d(surface, solid.fixed)
        for name, tolerance in (("functions", None), ("packed", TOLERANCE)):
            green = rf.GreensFunctions(
                solid, places, dtype="float32", tolerance=tolerance, progress=False
            )
            row["free"] = len(green.nodes)
            row[name] = green.bytes / 1e6
    return row


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """Return the marks that are not met."""
    out = []
    for row in rows:
        if "functions" in row:
            tiles = -(-row["free"] // TILE)
            expected = 4e-6 * (3 * TILE) ** 2 * tiles * (tiles + 1) / 2
            if not abs(row["functions"] / expected - 1.0) <= NEAR:
                out.append(
                    f"{row['free']} nodes take {row['functions']:.3g} MB, not {expected:.3g}"
                )
    for surface, published in PUBLISHED:
        expected = formula(surface)["functions"]
        if abs(expected / published - 1.0) > PUBLISHED_NEAR:
            out.append(f"{surface} nodes: published {published} MB, not {expected:.3g}")
    return out


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw memory over nodes of the surface, and the share of entries over all nodes."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    surface = np.geomspace(500, 6000)
    for kind, colour, label in (
        ("functions", "C0", "Green's functions"),
        ("handle", "C1", "handle"),
    ):
        left.loglog(surface, formula(surface)[kind], color=colour, lw=0.8)
        made = [row for row in rows if kind in row]
        at = [row["free" if kind == "functions" else "surface"] for row in made]
        left.loglog(at, [row[kind] for row in made], "o", color=colour, ms=4, label=label)
    left.loglog(*zip(*PUBLISHED, strict=True), "x", color="C0", ms=7, mew=2)
    for memory in PUBLISHED_HANDLE:
        left.axhline(memory, color="C1", lw=0.8, ls="--")
    packed = [row for row in rows if "packed" in row]
    left.loglog([row["free"] for row in packed], [row["packed"] for row in packed], "o", color="C2",
                ms=4, label=f"the same, tolerance {TOLERANCE:g}")  # fmt: skip
    left.loglog([], [], "x", color="0.4", ms=7, mew=2, label="published")
    left.set(xlabel="nodes of the surface", ylabel="memory [MB]", xlim=(300, 7000))
    left.set_xticks([500, 1000, 2000, 5000], ["500", "1000", "2000", "5000"])
    left.minorticks_off()
    left.legend(frameon=False, fontsize=8)
    right.loglog([r["nodes"] for r in rows], [100 * r["share"] for r in rows], "o-", ms=4)
    right.axhline(1.0, color="0.6", lw=0.8)
    right.set(xlabel="nodes", ylabel="nonzero entries of the stiffness [%]")
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    rows = []
    print("  nodes  surface  stiffness  Green's functions  with tolerance  handle")
    for n in CELLS:
        row = measured(n, arguments.largest)
        rows.append(row)
        made = [f"{row[k]:.1f} MB" if k in row else "-" for k in ("functions", "packed")]
        print(
            f"{row['nodes']:7}{row['surface']:9}{100 * row['share']:9.2f} %{made[0]:>18}"
            f"{made[1]:>17}{1e3 * row['handle']:6.0f} kB"
        )
    print("\npublished:")
    for surface, published in PUBLISHED:
        expected = formula(surface)["functions"]
        print(f"  {surface} nodes {published:g} MB, (3 s)^2 / 2 floats: {expected:.3g} MB")
    for published in PUBLISHED_HANDLE:
        print(f"  a handle {1e3 * published:g} kB, 36 s floats of {published / 144e-6:.0f} nodes")
    draw(rows, arguments.plot)
    return missed(rows)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--largest", type=int, default=2000,
                        help="most surface nodes for Green's functions (2000)")  # fmt: skip
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
