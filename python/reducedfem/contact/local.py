"""Local compliance of shells: the dimple at a contact that a reduced model leaves out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import finite_result, integer, number, reals, require
from reducedfem.base.memory import available
from reducedfem.base.quiet import warn
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.local_reach import (
    MOST_ENTRIES,
    require_reach,
    second_memory,
    warn_of_reach,
    warn_of_second,
)
from reducedfem.contact.point_tree import PointTree
from reducedfem.errors import GeometryWarning, InputError, PlausibilityWarning
from reducedfem.geometry.built import ON_SURFACE, nearly_empty
from reducedfem.geometry.constraints import standing
from reducedfem.geometry.embedding import Embedding, beside_mesh
from reducedfem.reduction.identity import require_reduced, stiffness_at_rest
from reducedfem.solid.solid import Solid

__all__ = ["LocalCompliance"]

_LARGE = 2e8  # bytes up to which pairs of points are stored, which is quicker than pairs of nodes
_SHARE = 1e-9  # weight of a node that is rounding
_SOFT = 10.0  # times the compliance of usual points
_SAMPLES = 200  # of those
_SAME = 1e-6  # relative difference of stiffnesses and masses that is rounding


class LocalCompliance:
    """Dimples of a deformable shell that its reduced model leaves out.

    A few shapes cannot represent the dimple under a small tool, so a reduced model is too stiff
    there. The exact linear statics of the solid, u = G f with its Green's functions G, are those of
    the model, U (U^T K U)^-1 U^T f with its basis U and the stiffness K at rest, plus S f,
    ``S = G - U (U^T K U)^-1 U^T``. S, the local compliance, is positive semidefinite, and S f = 0
    for forces f whose displacement the model represents. A `FrictionContact` with ``local=`` adds
    S f to the motion of the points, with f the forces of the present cycle.

    With a rigid tree S = G: the shell has the linear statics of the solid, and needs neither a
    model nor a simulation.

    With a `reach`, displacements have the second order of the material, too,
    ``S f + 1/2 sum T_pqr g_q g_r``, g the forces along the normals of the points and T from the
    second derivative of the stress at rest, less that of the model. It is for `StVK`, which
    softens under a tool. Its energy is bounded, by one factor for all contacts of the body. A
    `World` takes S alone.

    S is in the frame of the body at rest, without inertia and damping of its own. Forces
    are inaccurate where more points carry forces than a `FrictionContact` has sites
    (`HapticReport.crowded`): use a shell about as coarse as the elements. See
    ``docs/friction.md``. Immutable; contacts of one body share one, and act on each other.

    Parameters
    ----------
    tree
        Tree of the points. They move with `tree.reduced`, a model of `solid`; or the tree is rigid
        and `solid` has fixed nodes.
    solid
        The unreduced solid, as a mesh with fixed nodes and materials.
    reach
        Distance of points that soften each other [m]: at least about the diameter of the largest
        contact, and the size of the elements there. Points must be 0.6 of their edges apart, or
        0.2 if the reach is the largest distance of points. 0: S alone.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, or `solid` is not that of the model: another mesh, other
        fixed nodes, stiffness at rest (with a cubature: materials), or mass, if free. With a
        `reach`: a material is not `StVK`, or not that of the model; points are too dense, or too
        many.
    MeshError
        A part of the solid can move rigidly.
    MemoryError
        Memory is too small: while S is made, 36 s^2 bytes for the s nodes of the elements that
        contain points; S itself takes 18 n^2 for n points if that is at most 200 MB, else
        18 min(n, s)^2. A `reach` takes at most 200 MB, and while T is made 12 n s bytes, 24 n s
        with a model, for the s nodes of elements within 1.5 times the reach of a point.

    Warns
    -----
    GeometryWarning
        Points of a rigid tree lie beside the mesh.
    PlausibilityWarning
        Points lie in nearly empty cut cells, whose compliance is ten times that of the others. A
        `reach` is shorter than edges of elements that contain points; or elements far from them,
        which bend, change T by more than 20 %.
    """

    __slots__ = ("__weakref__", "_core", "_reach", "_solid", "_tree")

    def __init__(
        self, tree: PointTree, solid: Solid, *, reach: float = 0.0, progress: Progress = None
    ) -> None:
        require(tree, PointTree, "tree")
        require(solid, Solid, "solid")
        self._tree, self._solid = tree, solid
        self._reach = number(reach, "reach")
        if not self._reach >= 0.0:
            raise InputError(f"reach must not be negative, got {reach}: 0 is without second order")
        model, embedding = tree.reduced, tree.embedding
        if embedding is None or model is None:
            if len(solid.fixed) == 0:
                raise InputError(
                    "tree is rigid, and solid has no fixed nodes that hold it: make the Solid with "
                    "fixed=, or the PointTree with a model that is free"
                )
            embedding = Embedding(solid.mesh, tree.shell.points)
            beside = beside_mesh(embedding, "tree", "points")
            if beside:
                warn(beside, GeometryWarning, stacklevel=2)
        else:
            require_reduced(model, solid, "tree.reduced")
        held = standing(solid.mesh.constraints, solid.fixed)
        still = np.isin(embedding.nodes, held) | (np.abs(embedding.weights) < _SHARE)
        weights = np.where(still, 0.0, embedding.weights)
        nodes = np.unique(embedding.nodes[weights != 0.0]).astype(np.int32)
        if len(nodes) == 0:
            raise InputError("tree has no points that move: all nodes beside them are fixed")
        points, s = tree.shell.n_points, len(nodes)
        by_points = 18.0 * points**2 <= max(_LARGE, 18.0 * s**2)
        needed = 36.0 * s**2 + 18.0 * (points if by_points else s) ** 2
        moves = (weights != 0.0).any(axis=1)
        if self._reach > 0.0:
            require_reach(self._reach, solid, model, embedding, moves)
            warn_of_reach(self._reach, embedding, moves, 2)
            second = second_memory(self._reach, embedding, moves, model is not None)
            needed = max(needed, second + 18.0 * (points if by_points else s) ** 2)
        _require_memory(needed, points, s)
        places = np.where(weights != 0.0, np.searchsorted(nodes, embedding.nodes), 0)
        basis, stiffness = np.zeros((0, solid.mesh.n_nodes, 3)), np.zeros((0, 0))
        if model is not None:
            basis, stiffness = model.basis, stiffness_at_rest(model, solid, "tree.reduced")
        none = np.zeros(0, dtype=np.int32)
        with callback(progress, "local compliance") as tell:
            green = _core.Green(solid._core, nodes, none, False, 0.0, tell, threads())
            self._core = _core.LocalCompliance(
                green,
                places.astype(np.int32),
                weights,
                np.ascontiguousarray(basis[:, nodes].transpose(1, 2, 0)),
                stiffness,
                bool(by_points),
                tell,
                threads(),
            )
            if self._reach > 0.0:
                off = self._core.add_second(
                    solid._core,
                    embedding.nodes,
                    weights,
                    tree.shell.normals,
                    tree.shell.points,
                    basis,
                    stiffness,
                    self._reach,
                    MOST_ENTRIES,
                    tell,
                    threads(),
                )
                warn_of_second(off, 2)
        self._warn_of_soft_points(embedding, weights)

    def _warn_of_soft_points(self, embedding: Embedding, weights: NDArray[np.float64]) -> None:
        if embedding.mesh.source is None:
            return
        empty = np.isin(embedding.nodes, nearly_empty(embedding.mesh)[0]) & (weights != 0.0)
        soft, usual = np.flatnonzero(empty.any(axis=1)), np.flatnonzero(~empty.any(axis=1))
        if len(soft) == 0 or len(usual) == 0:
            return
        sizes = [np.trace(self._core.between(int(p), int(p))) for p in soft]
        some = usual[:: max(1, len(usual) // _SAMPLES)]
        ratio = max(sizes) / np.median([np.trace(self._core.between(int(p), int(p))) for p in some])
        if ratio > _SOFT:
            warn(
                f"{len(soft)} of {len(weights)} points of the shell lie in nearly empty cut cells, "
                f"which give way up to {ratio:.2g} times as far as others: contact there is as "
                f"soft. In place of cut cells {ON_SURFACE}",
                PlausibilityWarning,
                stacklevel=3,
            )

    @property
    def tree(self) -> PointTree:
        """Tree of the points."""
        return self._tree

    @property
    def solid(self) -> Solid:
        """The unreduced solid."""
        return self._solid

    @property
    def lacking(self) -> NDArray[np.float64]:
        """Share of the compliance of each point that the model leaves out, read-only, (n,).

        The trace of S over that of G: near 0 where the basis has all of it, 1 for a rigid tree.
        """
        return self._core.lacking

    @property
    def reach(self) -> float:
        """Distance of points that soften each other [m]; 0: S alone."""
        return self._reach

    @property
    def bytes(self) -> int:
        """Memory [bytes]."""
        return self._core.bytes

    def between(self, point: int, other: int) -> NDArray[np.float64]:
        """Return the displacement of a point by a unit force at another one, S_po.

        Parameters
        ----------
        point, other
            Indices in the shell.

        Returns
        -------
        (3, 3) array
            Compliance [m/N], in the frame of the body at rest.

        Raises
        ------
        InputError, InputTypeError
            An index is out of range or not an int.
        """
        n = self._tree.shell.n_points
        first, second = integer(point, "point"), integer(other, "other")
        for name, index in (("point", first), ("other", second)):
            if not 0 <= index < n:
                raise InputError(f"{name} must be between 0 and {n - 1}, got {index}")
        return self._core.between(first, second)

    def displacement(self, force: ArrayLike, points: ArrayLike) -> NDArray[np.float64]:
        """Return the displacements of all points by forces on some, S f.

        Parameters
        ----------
        force
            Forces [N], (m, 3), in the frame of the body at rest.
        points
            Indices in the shell of the points on which they act, (m,).

        Returns
        -------
        (n, 3) array
            Displacements [m] in the order of the shell, in addition to those of the model.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, or a value that is not finite or out of range.
        """
        given = reals(force, "force")
        return finite_result(self._core.displacement(points, given), "displacement", "force")

    def __repr__(self) -> str:
        n, size = self._tree.shell.n_points, self.bytes / 1e6
        part = "all of the compliance, no model"
        if self._tree.reduced is not None:
            part = f"{np.mean(self.lacking):.0%} of the compliance is not in the model (mean)"
        second = f", second order within {self._reach:g} m" if self._reach > 0.0 else ""
        return f"<LocalCompliance: {n} points, {part}{second}, {size:.3g} MB>"

    def __reduce__(self) -> tuple[Callable[..., LocalCompliance], tuple[Any, ...]]:
        # computed again: S is large, and equal in every bit
        return partial(LocalCompliance, reach=self._reach), (self._tree, self._solid)


def _require_memory(needed: float, points: int, nodes: int) -> None:
    there = available()
    if needed > there > 0.0:
        raise MemoryError(
            f"the local compliance of {points} points at {nodes} nodes would take "
            f"{needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are available: take a shell "
            "of the part that is touched, or a coarser mesh"
        )
