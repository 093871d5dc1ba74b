"""Times of LU factorizations on the boxes of Zhuang 2000, table 4.2, and fill of a random order.

All orderings are factored by one program, SuperLU without pivoting, so that times differ by the
ordering alone; matrices have the published pattern and random values. They are compared by their
ratios to nested dissection, which the published times (HP 9000/715) are divided by, too. The
random order shuffles nodes, with their three unknowns together: the published fill is that of
nodes, single unknowns have a quarter more. The table has it for the first twelve boxes. The text on
the tables is compared with the published numbers themselves.

Marks: the fill of SuperLU is the one that `ordering` predicts; from the fifth box on the fill of
the random order is within 15 % of the published one.

Run it for the tables and the plot:  python experiments/z00_table_4_2.py [--quick] [--help]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import command
import numpy as np
import scipy.sparse as sparse
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse.linalg import splu
from z00_table_4_1 import BOXES, FIRST, solid_of

import reducedfem as rf
from reducedfem import plot as pictures

METHODS = ("random", "minimum-degree", "simple", "nested", "dissection")
NAMES = ("random", "min. degree", "simple", "nested", "cover")
PUBLISHED = NAMES[:4]
RUNS, NEAR = 5, 0.15
# seconds of the published methods; table 4.2
SECONDS = np.array(
    [
        (0.07, 0.05, 0.04, 0.04),
        (0.55, 0.18, 0.17, 0.17),
        (3.38, 0.70, 0.58, 0.53),
        (10.66, 1.07, 1.11, 0.87),
        (15.31, 1.98, 1.77, 1.23),
        (22.75, 2.67, 2.15, 1.54),
        (40.08, 3.54, 2.93, 2.02),
        (61.19, 4.65, 4.44, 2.80),
        (86.39, 8.86, 5.39, 3.56),
        (123.27, 9.88, 7.00, 4.52),
        (192.59, 11.31, 9.99, 6.05),
        (274.96, 14.15, 11.87, 7.45),
        (np.nan, 21.49, 14.91, 9.39),
        (np.nan, 28.49, 21.20, 12.51),
        (np.nan, 35.26, 24.78, 15.20),
        (np.nan, 46.60, 31.96, 19.76),
        (np.nan, 87.84, 41.00, 23.56),
        (np.nan, 94.44, 47.41, 27.31),
    ]
)
# fill of the random order, table 4.1
RANDOM = (3636, 25722, 89199, 196641, 254718, 332766, 487701, 657612, 813186, 1036521, 1361250,
          1687527)  # fmt: skip


def factor(matrix: sparse.csc_matrix, order: NDArray[np.int32]) -> tuple[int, float]:
    """Return the fill of the factor L in an order, and the median processor time of it."""
    turned = matrix[order][:, order].tocsc()
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        lu = splu(turned, permc_spec="NATURAL", diag_pivot_thresh=0.0,
                  options={"SymmetricMode": True})  # fmt: skip
        times.append(time.process_time() - start)
    below = (matrix.nnz - matrix.shape[0]) // 2
    return int(lu.L.nnz) - matrix.shape[0] - below, float(np.median(times))


def without_cancellation(matrix: sparse.csc_matrix) -> sparse.csc_matrix:
    """Return a definite matrix of the same pattern, whose factor has no zeros by symmetry."""
    out = matrix.copy()
    out.data = np.random.default_rng(2).uniform(0.5, 1.0, len(out.data))
    out = 0.5 * (out + out.T)
    out.setdiag(0.0)
    out.setdiag(1.0 + np.asarray(out.sum(axis=0)).ravel())
    return out.tocsc()


def label(shape: tuple[int, int, int]) -> str:
    """Return the name of a box."""
    return " x ".join(map(str, shape))


def measured(
    shape: tuple[int, int, int], random: bool
) -> tuple[dict[str, tuple[int, float]], list[str]]:
    """Return fill and time of the orderings of a box, and the fills that differ from `ordering`."""
    solid = solid_of(shape)
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    matrix = without_cancellation(solid.stiffness().to_scipy().tocsc()[free][:, free])
    found, wrong = {}, []
    if random:
        nodes = np.random.default_rng(1).permutation(len(free) // 3)
        order = (3 * nodes[:, None] + np.arange(3)).ravel().astype(np.int32)
        found["random"] = factor(matrix, order)
    for method, name in zip(METHODS[1:], NAMES[1:], strict=True):
        ordered = rf.ordering(solid, method)
        found[name] = factor(matrix, ordered.permutation)
        if found[name][0] != ordered.fill:
            wrong.append(f"{label(shape)}, {name}: fill {found[name][0]}, predicted {ordered.fill}")
    return found, wrong


def sayings() -> list[str]:
    """Return the sentences of the thesis about its tables, beside its numbers."""
    fill = np.array(list(BOXES.values()))[:, 2:]
    less_fill, less_time = (fill[:, 1] < fill[:, 0]).sum(), (SECONDS[:, 2] < SECONDS[:, 1]).sum()
    more = 100.0 * (SECONDS[FIRST:, 2] / SECONDS[FIRST:, 3] - 1.0)
    n, nnz = BOXES[(11, 11, 11)][:2]
    return [
        f"simple has less fill than minimum degree in 17 of 18 boxes: {less_fill} in table 4.1",
        f"simple has less time than minimum degree in all boxes: in {less_time} in table 4.2",
        f"simple takes 30 to 50 % more time than nested: {more.min():.0f} to {more.max():.0f} % "
        "from the fifth box on",
        f"a box of 10 x 10 x 10 has 242435 entries, 1.5 %: {nnz} in table 4.1 and here, "
        f"{100.0 * nnz / n**2:.2f} %",
    ]


def draw(rows: list[dict[str, tuple[int, float]]], path: Path) -> None:
    """Draw times over those of nested dissection, as figure 4.4 (b), and fill."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    boxes = list(BOXES.values())[: len(rows)]
    unknowns = np.array([box[0] for box in boxes])
    for i, name in enumerate(NAMES):
        here = [row.get(name, (np.nan, np.nan)) for row in rows]
        ratio = [time / row["nested"][1] for (_, time), row in zip(here, rows, strict=True)]
        right.semilogy(unknowns, ratio, color=f"C{i}", lw=1.2)
        left.semilogy(unknowns, [fill for fill, _ in here], color=f"C{i}", lw=1.2, label=name)
        if name in PUBLISHED:
            theirs = SECONDS[: len(rows)]
            right.semilogy(unknowns, theirs[:, i] / theirs[:, 3], ".", color=f"C{i}", ms=5)
            published = [box[1 + i] for box in boxes] if i else RANDOM[: len(rows)]
            left.semilogy(unknowns[: len(published)], published, ".", color=f"C{i}", ms=5)
    left.semilogy([], [], ".", color="0.4", ms=5, label="published")
    left.set(xlabel="unknowns", ylabel="fill")
    right.set(xlabel="unknowns", ylabel="time of LU over that of nested")
    left.legend(frameon=False, fontsize=8)
    pictures.save_figure(figure, path, dpi=130)


def perform(arguments: argparse.Namespace) -> list[str]:
    """Print the numbers, draw the plot, and return the marks that are missed."""
    boxes = list(BOXES)[: 6 if arguments.quick else None]
    wrong = []
    print("time of LU over that of nested dissection, published / here; fill of a random order")
    print(f"{'nodes of box':14}" + "".join(f"{name:>16}" for name in NAMES if name != "nested")
          + f"{'fill of random':>20}")  # fmt: skip
    rows = []
    for i, shape in enumerate(boxes):
        known = i < len(RANDOM)
        row, differing = measured(shape, known)
        rows.append(row)
        wrong += differing
        ratios = {name: seconds / row["nested"][1] for name, (_, seconds) in row.items()}
        theirs = dict(zip(PUBLISHED, SECONDS[i] / SECONDS[i, 3], strict=True)) | {"cover": None}
        cells = [
            f"{'-' if theirs[name] is None else format(theirs[name], '.2f')} / "
            f"{ratios[name]:.2f}" if name in ratios else "-"
            for name in NAMES if name != "nested"
        ]  # fmt: skip
        fill = f"{RANDOM[i]} / {row['random'][0]}" if known else "-"
        size = label(shape)
        print(f"{size:14}" + "".join(f"{cell:>16}" for cell in cells) + f"{fill:>20}")
        if i >= FIRST and known and not abs(row["random"][0] / RANDOM[i] - 1.0) <= NEAR:
            wrong.append(f"{size}: the random order has fill {row['random'][0]}")
    print("\nthe text of the thesis: its tables")
    for line in sayings():
        print(f"  {line}")
    draw(rows, arguments.plot)
    return wrong


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument("--quick", action="store_true", help="the first six boxes only")
    return command.run(perform, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
