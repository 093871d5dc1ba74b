"""Loads on a whole solid as loads on its surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import field, finite_result
from reducedfem.base.run import threads
from reducedfem.base.sparse import CSC
from reducedfem.errors import InputError, SingularMatrixError
from reducedfem.geometry.constraints import Constraints
from reducedfem.geometry.mesh import Mesh
from reducedfem.green.arguments import distinct
from reducedfem.green.released_load import SurfaceLoad
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["surface_load"]

_LOOSE = (
    "nodes, with the fixed nodes that are not released, do not hold the rest of the solid: name "
    "three or more of each part that are not on a line, such as green.nodes"
)
_LINE = 1e-6  # width beside the length below which nodes are on a line


def surface_load(
    solid: Solid, force: ArrayLike, nodes: ArrayLike, released: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the load on some nodes that moves these as a load on the whole solid does.

    For loads such as weight in `GreensFunctions.solve` and `contact`, which know the nodes of the
    surface only: with the other nodes i eliminated, f_s - K_si K_ii^-1 f_i at rest. If all fixed
    nodes are released, or there are none, it has the same sum and torque as `force`; others carry
    a part of it, also of loads beside them. Free solids, which `GreensFunctions.displacement`
    balances by inertia, move as under `force` up to a rigid motion. Loads of constrained nodes act
    on their masters, T^T f (`Mesh.constraints`). See "Weight" in
    ``docs/howto/greens_functions.md``.

    Parameters
    ----------
    solid
        The solid of the Green's functions.
    force
        Load [N], (n, 3) or (3n,), such as ``solid.gravity()``.
    nodes
        The nodes: ``green.nodes``, a mask over the mesh or distinct indices; fixed ones only if
        they are in `released`; constrained ones, which take no load, with all nodes that they
        follow.
    released
        Fixed nodes that will be released, or were (`GreensFunctions.released`): their load goes to
        `nodes`, too. None: no nodes.

    Returns
    -------
    (s, 3) float64 array
        Load [N] in the order of `nodes`, of a mask ascending. It knows these and `released`, as its
        rows, multiples and sums do: solutions with other nodes or supports refuse it.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; `nodes` is empty, one of them is fixed and
        not released, or follows a node that is neither fixed nor among them; a node of `released`
        is not fixed.
    SingularMatrixError
        Nodes and fixed nodes do not hold a part of the solid.
    """
    mesh = require_solid(solid).mesh
    n = mesh.n_nodes
    load = field(force, "force", n)
    surface = distinct(nodes, "nodes", n, ordered=True)
    freed = distinct(released, "released", n)
    if len(surface) == 0:
        raise InputError("nodes is empty: name those that take the load, such as green.nodes")
    wrong = np.intersect1d(surface, np.setdiff1d(solid.fixed, freed))
    if len(wrong):
        raise InputError(
            f"nodes has {wrong[0]}, which is fixed in the solid: leave it out, or name it in "
            "released as well"
        )
    wrong = np.setdiff1d(freed, solid.fixed)
    if len(wrong):
        raise InputError(f"released has {wrong[0]}, which is not fixed: leave it out")
    inner = np.ones(n, dtype=bool)
    inner[solid.fixed] = False
    inner[freed] = True
    inner[surface] = False
    held = ~inner
    if mesh.constraints is not None:
        _refuse_followers(mesh.constraints, surface, inner)
        load = mesh.constraints.fold(load)
        inner[mesh.constrained_nodes] = held[mesh.constrained_nodes] = False
    moved = np.zeros((n, 3))
    if not (inner.any() and load[inner].any()):
        return SurfaceLoad.of(load[surface], surface, solid.fixed, freed)
    _require_held(mesh, held)
    stiffness = solid.stiffness()
    part = _part(stiffness, np.repeat(inner, 3))
    right = load[inner].reshape(1, -1)
    try:
        found, _ = _core.factor_solve(part, right, 1, threads(), mesh.nodes[inner])
    except SingularMatrixError as error:
        raise SingularMatrixError(_LOOSE) from error
    moved[inner] = found.reshape(-1, 3)
    carried = (stiffness @ moved.ravel()).reshape(-1, 3)
    made = finite_result(load[surface] - carried[surface], "load", "force")
    return SurfaceLoad.of(made, surface, solid.fixed, freed)


def _refuse_followers(
    ties: Constraints, nodes: NDArray[np.int64], inner: NDArray[np.bool_]
) -> None:
    """Refuse nodes that follow an inner one: loads on the others cannot move them."""
    followed = np.repeat(ties.slaves, np.diff(ties.ptr))
    wrong = np.flatnonzero(np.isin(followed, nodes) & inner[ties.masters])
    if len(wrong):
        k = wrong[0]
        raise InputError(
            f"nodes has {followed[k]}, which is constrained to follow node {ties.masters[k]} "
            "(mesh.constraints): add this one, or leave the other out"
        )


def _require_held(mesh: Mesh, held: NDArray[np.bool_]) -> None:
    """Refuse parts that are held on a line at most: rounding may hide it from the factorization."""
    part = np.full(mesh.n_nodes, -1)
    part[mesh.elements] = mesh.components("node")[:, None]
    for k in range(part.max() + 1):
        away = mesh.nodes[held & (part == k)]
        away = away - away.mean(axis=0) if len(away) else away
        extent = np.linalg.svd(away, compute_uv=False)
        if len(extent) < 3 or extent[1] <= _LINE * extent[0]:
            raise SingularMatrixError(_LOOSE)


def _part(
    matrix: CSC, kept: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the lower triangle of the rows and columns of a mask: data, indices, indptr."""
    columns = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    chosen = kept[matrix.indices] & kept[columns] & (matrix.indices >= columns)
    number = np.cumsum(kept) - 1
    counts = np.bincount(number[columns[chosen]], minlength=int(kept.sum()))
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return matrix.data[chosen], number[matrix.indices[chosen]].astype(np.int32), begins
