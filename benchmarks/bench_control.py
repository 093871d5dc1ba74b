"""Control elements: a tube of 10,000 nodes with two handles, against solving on line."""

from __future__ import annotations

import functools
import time

import numpy as np
import scipy.sparse
import yardsticks
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from table import Row
from ticks import spread, ticks

import reducedfem as rf

LENGTH, INNER, OUTER, END = 0.2, 0.02, 0.03, 0.02  # m
RINGS, AROUND, THROUGH = 42, 60, 4
MARK_MAKE_S = 2.0
MARK_SURFACE_US, MARK_MATRIX_US = 50.0, 1.0


@functools.cache
def tube() -> rf.Solid:
    """Return a free tube of eight-node hexahedra along z."""
    k, j, i = (a.ravel() for a in np.indices((RINGS, AROUND, THROUGH)))
    radius = INNER + (OUTER - INNER) * i / (THROUGH - 1)
    angle = 2 * np.pi * j / AROUND
    nodes = np.c_[radius * np.cos(angle), radius * np.sin(angle), LENGTH * k / (RINGS - 1)]

    def node(k: NDArray, j: NDArray, i: NDArray) -> NDArray:
        return (k * AROUND + j % AROUND) * THROUGH + i

    k, j, i = (a.ravel() for a in np.indices((RINGS - 1, AROUND, THROUGH - 1)))
    face = [(0, 0), (0, 1), (1, 1), (1, 0)]
    corners = [node(k + up, j + a, i + b) for up in (0, 1) for a, b in face]
    return rf.Solid(rf.Mesh(nodes, np.stack(corners, axis=1)), rf.StVK(1e6, 0.3, 1000.0))


def handles() -> list[NDArray]:
    """Return masks of both ends."""
    z = tube().mesh.nodes[:, 2]
    return [z < END, z > LENGTH - END]


def on_line() -> float:
    """Return the seconds of a linear solve by conjugate gradients, diagonal preconditioner."""
    solid, sets = tube(), handles()
    held = np.repeat(sets[0] | sets[1], 3)
    csc = solid.stiffness()
    K = scipy.sparse.csc_matrix((csc.data, csc.indices, csc.indptr), shape=csc.shape).tocsr()
    u = np.zeros_like(solid.mesh.nodes)
    u[sets[1]] = [0.0, 0.0, 0.01]
    A, load = K[~held][:, ~held], -(K @ u.ravel())[~held]
    scale = 1.0 / A.diagonal()
    preconditioner = LinearOperator(A.shape, matvec=lambda x: scale * x)
    start = time.perf_counter()
    _, info = cg(A, load, rtol=1e-5, M=preconditioner)
    assert info == 0
    return time.perf_counter() - start


def rows() -> list[Row]:
    """Return the rows of the table."""
    solid, sets = tube(), handles()
    plain = on_line()
    result = []
    for order, dtype in ((1, "float64"), (1, "float32"), (2, "float32"), (3, "float32")):
        start = time.perf_counter()
        made = rf.ControlElements(solid, sets, order=order, dtype=dtype, progress=False)
        making = time.perf_counter() - start
        c = np.zeros((2, 12))
        turn = [np.cos(0.05), np.sin(0.05), 0.0, 0.0]
        c[1] = made.parameters(1, made.means[1] + [0.0, 0.002, 0.0], turn)
        flat, core = c.ravel(), made._core
        t = ticks(lambda core=core, flat=flat: core.displacement(flat, True))
        linear = ticks(lambda core=core, flat=flat: core.displacement(flat, False))
        whole = ticks(lambda made=made, c=c: made.displacement(c))
        name = f"order {order}, {dtype}, {core.n_fields} fields x {len(made.nodes)} nodes"
        bound = 1e6 * made.bytes / yardsticks.read_rate(made.bytes)
        if order == 1 or dtype == "float32":
            result.append(
                Row(
                    f"making control elements, {name}",
                    making,
                    "s",
                    MARK_MAKE_S if order == 1 else None,
                    f"{solid.mesh.n_nodes} nodes, rank {made.rank}, {made.bytes / 1e6:.3g} MB",
                    ratio=making / plain,
                    over="one solve on line by conjugate gradients",
                )
            )
        result.append(
            Row(
                f"displacements in a frame, {name}",
                float(np.median(t)),
                "us",
                MARK_SURFACE_US if order < 3 else None,
                f"{spread(t)}; without a frame "
                f"{np.median(linear):.3g}; with checks {np.median(whole):.3g}; on line "
                f"{1e6 * plain / np.median(t):.3g} times as long",
                ratio=float(np.median(t)) / bound,
                over="reading the fields",
            )
        )
        if order > 1 or dtype == "float32":
            continue
        D = made.matrix
        product = ticks(lambda D=D, flat=flat: D @ flat)
        for frame, mark in ((False, MARK_MATRIX_US), (True, None)):
            t = ticks(lambda core=core, flat=flat, frame=frame: core.forces(flat, frame, True))
            result.append(
                Row(
                    f"forces of two handles{', in a frame, consistent' if frame else ''}",
                    float(np.median(t)),
                    "us",
                    mark,
                    spread(t),
                    ratio=float(np.median(t) / np.median(product)),
                    over="the product in NumPy",
                )
            )
    return result


ENTRIES = {"rows": rows}
