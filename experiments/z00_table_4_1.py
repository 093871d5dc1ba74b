"""Fill of orderings on the boxes of Zhuang 2000, table 4.1, beside the published numbers.

The matrices are those of boxes of eight-node hexahedra with the nodes at x = 0 held, three unknowns
a node; their sizes and numbers of entries agree with the table in all rows. Its orderings are
minimum degree, the simple dissection by cut elements (section 4.1.1.1), and nested dissection of
grids; of the dissection by vertex covers (4.1.1.2) it is said that it has almost the same fill as
the latter. AMD and METIS 5 are those of today; the thesis compared with METIS 3.0.3. Table 4.2 has
times of LU factorizations; operations of Cholesky factorizations stand beside their ratios here.

Marks: unknowns and entries equal the published ones. From the fifth box on, nested dissection is at
most 5 % above the published fill (it may be below, as parts of 40 nodes are ordered by minimum
degree); vertex covers are at most 5 % above nested dissection and not above METIS. Smaller boxes
consist of a few such parts.

Run it for the table and the plot:  python experiments/z00_table_4_1.py [--quick] [--help]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import command
import numpy as np
from boxes import box
from matplotlib.figure import Figure

import reducedfem as rf
from reducedfem import plot as pictures

METHODS = ("minimum-degree", "simple", "nested", "dissection", "amd", "metis")
NAMES = ("min. degree", "simple", "nested", "cover", "AMD", "METIS")
PUBLISHED_METHODS = METHODS[:3]
# nodes of the box: unknowns, entries, and fill of the three published methods
BOXES = {
    (4, 4, 4): (192, 6348, 1836, 2034, 1980),
    (5, 5, 5): (375, 15285, 9342, 10269, 8586),
    (6, 6, 6): (648, 30060, 31041, 28872, 26145),
    (6, 7, 7): (882, 42384, 47286, 50481, 42462),
    (7, 7, 7): (1029, 52131, 74880, 73845, 57537),
    (7, 7, 8): (1176, 60360, 96381, 88785, 71685),
    (7, 8, 8): (1344, 69888, 117900, 112365, 91971),
    (8, 8, 8): (1536, 82956, 149652, 153936, 116514),
    (8, 8, 9): (1728, 94266, 225801, 182817, 141741),
    (8, 9, 9): (1944, 107118, 261072, 224280, 175743),
    (9, 9, 9): (2187, 123993, 300312, 286929, 224973),
    (9, 9, 10): (2430, 138870, 347985, 337383, 264609),
    (9, 10, 10): (2700, 155532, 452574, 410346, 317898),
    (10, 10, 10): (3000, 176700, 550215, 519804, 385200),
    (10, 10, 11): (3300, 195630, 644067, 595296, 442053),
    (10, 11, 11): (3630, 216588, 787410, 706131, 514395),
    (11, 11, 11): (3993, 242535, 1100817, 861705, 610515),
    (11, 11, 12): (4356, 266004, 1262097, 979875, 684378),
}
SECONDS = (94.44, 47.41, 27.31)  # of the last box, table 4.2
FIRST, NEAR = 4, 0.05  # boxes before the first one with marks; how much more fill is allowed


def solid_of(shape: tuple[int, int, int]) -> rf.Solid:
    """Return a box of unit hexahedra by its numbers of nodes, held at x = 0."""
    mesh = box(*(np.arange(n, dtype=float) for n in shape))
    with warnings.catch_warnings():
        # metres do not matter here; a third of the nodes of small boxes is held
        warnings.simplefilter("ignore", rf.PlausibilityWarning)
        return rf.Solid(mesh, rf.StVK(1e5, 0.3, 1e3), fixed=mesh.nodes[:, 0] == 0.0)


def entries(solid: rf.Solid) -> int:
    """Return the entries of the matrix with a row of the identity for each held unknown."""
    stiffness = solid.stiffness()
    held = np.zeros(solid.n_dofs, dtype=bool)
    held[(3 * solid.fixed[:, None] + np.arange(3)).ravel()] = True
    columns = np.repeat(np.arange(solid.n_dofs), np.diff(stiffness.indptr))
    return int(np.sum(~held[columns] & ~held[stiffness.indices])) + int(held.sum())


def missed(boxes: list[tuple[int, int, int]], orders: list[dict[str, rf.Ordering]]) -> list[str]:
    """Return the marks that are not met."""
    out = []
    for shape, found in zip(boxes, orders, strict=True):
        if list(BOXES).index(shape) < FIRST:
            continue
        nested, cover, metis = (found[one].fill for one in ("nested", "dissection", "metis"))
        published = BOXES[shape][-1]
        size = " x ".join(map(str, shape))
        if nested > (1.0 + NEAR) * published:
            out.append(f"{size}: nested dissection has fill {nested}, published {published}")
        if cover > (1.0 + NEAR) * nested or cover > metis:
            out.append(f"{size}: covers have fill {cover}, nested {nested}, METIS {metis}")
    return out


def draw(
    orders: list[dict[str, rf.Ordering]], boxes: list[tuple[int, int, int]], path: Path
) -> None:
    """Draw fill and operations over the number of unknowns, as figure 4.4."""
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    unknowns = [BOXES[shape][0] for shape in boxes]
    for i, (method, name) in enumerate(zip(METHODS, NAMES, strict=True)):
        left.plot(
            unknowns, [o[method].fill / 1e3 for o in orders], color=f"C{i}", lw=1.2, label=name
        )
        right.plot(unknowns, [o[method].flops / 1e6 for o in orders], color=f"C{i}", lw=1.2)
        if method in PUBLISHED_METHODS:
            left.plot(unknowns, [BOXES[s][2 + i] / 1e3 for s in boxes], ".", color=f"C{i}", ms=4)
    left.plot([], [], ".", color="0.4", ms=4, label="published")
    left.set(xlabel="unknowns", ylabel="fill, thousands")
    right.set(xlabel="unknowns", ylabel="operations, millions")
    left.legend(frameon=False, fontsize=8)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    boxes = list(BOXES)[: 7 if arguments.quick else None]
    print("fill, published / ours; order: ms of nested dissection by covers and of METIS")
    print(
        "nodes of box       n     nnz" + "".join(f"{name:>18}" for name in NAMES[:3])
        + "".join(f"{name:>9}" for name in NAMES[3:]) + "    order"
    )  # fmt: skip
    orders, wrong = [], []
    for shape in boxes:
        solid = solid_of(shape)
        found = {method: rf.ordering(solid, method) for method in METHODS}
        orders.append(found)
        n, nnz, *published = BOXES[shape]
        if (solid.n_dofs, entries(solid)) != (n, nnz):
            wrong.append(f"{shape}: unknowns or entries differ from the published ones")
        pairs = [
            f"{theirs:>9}/{found[one].fill:<8}"
            for theirs, one in zip(published, PUBLISHED_METHODS, strict=True)
        ]
        ours = [f"{found[one].fill:9}" for one in METHODS[3:]]
        times = [f"{1e3 * found[one].seconds:5.1f}" for one in ("dissection", "metis")]
        size = " x ".join(f"{k:2d}" for k in shape)
        print(f"{size} {n:7d} {nnz:7d}" + "".join(pairs + ours + times))
    last = orders[-1]
    print("\noperations over those of nested dissection, last box:")
    for i, (method, name) in enumerate(zip(METHODS, NAMES, strict=True)):
        ratio = last[method].flops / last["nested"].flops
        known = i < len(SECONDS) and not arguments.quick
        published_ratio = f"  (published times: {SECONDS[i] / SECONDS[2]:.2f})" if known else ""
        print(f"  {name:12} {ratio:5.2f}{published_ratio}")
    draw(orders, boxes, arguments.plot)
    return wrong + missed(boxes, orders)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--quick", action="store_true", help="the first seven boxes only")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
