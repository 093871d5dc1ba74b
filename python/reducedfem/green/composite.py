"""Composite bodies: solids cut into blocks, each linear in a frame that turns with it."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import as_array, count, field, finite_result, positive
from reducedfem.base.quiet import warn
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import (
    ConvergenceError,
    InputError,
    InputTypeError,
    PlausibilityWarning,
    SingularMatrixError,
)
from reducedfem.geometry.built import ON_SURFACE, nearly_empty
from reducedfem.geometry.mesh import Mesh
from reducedfem.green.arguments import distinct, held_directions
from reducedfem.green.plausible import doubt_ways
from reducedfem.green.results import CompositeSolution
from reducedfem.solid.plausible import STUDY, warn_of_instability
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["CompositeBody"]

_SMALL = 0.1  # of the largest piece of a slab: smaller ones join another block
_FARTHEST, _STRAINED = 20.0, 0.1  # degrees between neighbours, and |d| by |A|, before warnings
_ITERATIONS = 100  # of Newton's method
_SOFTER = 3.0  # |d| with soft nodes over |d| without them, before these are named as the cause


class CompositeBody:
    """A solid cut into blocks, each with linear statics in a frame that turns with it; immutable.

    The inner nodes of each block are eliminated in advance. Its energy is that of linear elasticity
    in the frame of the best rigid fit of its outer nodes: those that it shares with other blocks,
    fixed ones, and those that may be held. `solve` minimises the sum of the energies over the outer
    nodes, by Newton's method (Nikitin et al. 2002, appendix; equations are in
    ``docs/howto/handles.md``). Rotations may be large, also from block to block up to some ten
    degrees, but strains are small: the errors of bending and twist fall with the number of blocks.

    Parameters
    ----------
    solid
        The solid, with fixed nodes; materials count by their stiffness at rest.
    blocks
        The block of each element, integers from 0 on without gaps, shape (e,), each block in one
        piece; or a number of slabs of equal length along the longest side of the bounding box:
        pieces of a slab that do not touch are blocks of their own, and small ones, below a tenth of
        the largest of the slab, belong to the block next to them.
    holdable
        Nodes that `solve` may hold besides those that blocks share: a mask over the mesh or
        distinct node indices, none of them constrained. None: no nodes.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; a block is empty, in several pieces, shares no
        node with another, or has outer nodes on one line only; there is a single block.
    MeshError
        The solid has no fixed nodes, or a part of it can move rigidly.
    SingularMatrixError
        The stiffness of a block is not positive definite.
    """

    __slots__ = ("__weakref__", "_blocks", "_core", "_holdable", "_solid")

    def __init__(
        self,
        solid: Solid,
        blocks: ArrayLike,
        holdable: ArrayLike | None = None,
        progress: Progress = None,
    ) -> None:
        mesh = require_solid(solid).mesh
        self._solid = solid
        self._blocks = _labels(mesh, blocks)
        self._blocks.flags.writeable = False
        self._holdable = distinct(holdable, "holdable", mesh.n_nodes)
        with callback(progress, "composite body") as tell:
            self._core = _core.CompositeBody(
                solid._core,
                self._blocks,
                int(self._blocks.max()) + 1,
                self._holdable,
                tell,
                threads(),
            )

    @property
    def solid(self) -> Solid:
        """The solid."""
        return self._solid

    @property
    def blocks(self) -> NDArray[np.int32]:
        """Block of each element, read-only, shape (e,)."""
        return self._blocks

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self._core.n_blocks

    @property
    def nodes(self) -> NDArray[np.int32]:
        """Outer nodes: shared by blocks, fixed, or holdable; ascending, read-only, shape (o,)."""
        return self._core.outer

    @property
    def bytes(self) -> int:
        """Memory of the condensed stiffness of all blocks [bytes]."""
        return self._core.bytes

    def solve(
        self,
        force: ArrayLike | None = None,
        held: Mapping[int, ArrayLike] | None = None,
        *,
        u0: ArrayLike | None = None,
        tol: float = 1e-8,
        max_iterations: int = _ITERATIONS,
    ) -> CompositeSolution:
        """Return the equilibrium under dead loads and prescribed displacements of some nodes.

        Poses do not count revolutions: move held nodes far in steps, each from the solution before.

        Parameters
        ----------
        force
            Loads [N], (n, 3) or (3n,), of constant direction, also on inner nodes; those on fixed
            nodes have no effect. None: none.
        held
            Displacements [m] by outer node, (3,) each; nan: the node is free along that axis, one
            of three at least is held. None: no nodes.
        u0
            Displacements to start from [m], (n, 3) or (3n,); only outer nodes count. None: rest.
        tol
            Bound on the residual over the sum of the loads and the forces on blocks, positive; a
            residual within the rounding of the latter is accepted too, after one iteration.
        max_iterations
            Maximum number of Newton iterations, at least 1.

        Returns
        -------
        CompositeSolution

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type, shape or value, names a node that is not an outer one or
            that is fixed, or leaves a block without a rotation.
        ConvergenceError
            No equilibrium was found.
        SingularMatrixError
            The tangent is singular: blocks are folded, or swing about nodes on one line.

        Warns
        -----
        PlausibilityWarning
            The equilibrium is unstable; blocks turn or deform beyond the range of the method, or
            outer nodes in nearly empty cut cells do; or `held` is more than twice the size of the
            body.
        """
        nodes, fixed = self.nodes, set(self._solid.fixed.tolist())
        n, ties = self._solid.mesh.n_nodes, self._solid.mesh.constraints
        followers = self._solid.mesh.constrained_nodes

        def place(node: int, name: str) -> int:
            if node in fixed:
                raise InputError(f"{name} is {node}, which is fixed in the solid: leave it out")
            if node in followers:
                raise InputError(
                    f"{name} is {node}, which follows others (mesh.constraints) and cannot be "
                    "held: leave it out, or hold its masters"
                )
            at = int(nodes.searchsorted(np.int32(node))) if 0 <= node < 2**31 else len(nodes)
            if at == len(nodes) or nodes[at] != node:
                raise InputError(
                    f"{name} is {node}, which is not among the {len(nodes)} outer nodes of the "
                    "body (attribute nodes): name it in holdable when the body is made"
                )
            return at

        load = None if force is None else field(force, "force", n)
        order, rows, axes, targets = held_directions(place, held)
        doubt_ways(np.abs(targets), self._solid.mesh.nodes, "held", 2)
        at = np.array(order, dtype=np.int32)
        mask, target = np.zeros((len(nodes), 3), np.uint8), np.zeros((len(nodes), 3))
        mask[at[rows], axes], target[at[rows], axes] = 1, targets
        bound = positive(tol, "tol")
        start = None if u0 is None else field(u0, "u0", n)
        most = count(max_iterations, "max_iterations")
        whole = load if load is None or ties is None else ties.fold(load)
        soft = np.isin(nodes, nearly_empty(self._solid.mesh)[0])
        mark = soft.astype(np.uint8)
        try:
            found = self._core.solve(whole, mask, target, start, mark, bound, most, threads())
        except (ConvergenceError, SingularMatrixError) as error:
            # a bound of the caller's is the cause itself
            ended = most < _ITERATIONS and f"after {most} iterations" in str(error)
            if ended or not soft.any():
                raise
            raise type(error)(
                f"{error}. {soft.sum()} of the {len(nodes)} outer nodes lie in nearly empty cut "
                f"cells, which may be the cause: in place of cut cells {ON_SURFACE}"
            ) from error
        u, frames, forces, energy, iterations, stable, residual, *range_ = found
        finite_result(u, "displacement", "force or held")
        u = u if ties is None else ties.fill(u)
        warn_of_instability(stable, 3)
        self._warn_of_range(int(soft.sum()), *range_)
        return CompositeSolution(u, frames, forces[at], energy, iterations, residual, stable)

    def _warn_of_range(self, soft: int, angle: float, strain: float, firm: float) -> None:
        """Warn of blocks that turn from their neighbours, or deform, too far for linear ones.

        strain: |d| by |A| of all outer nodes; firm: without the soft ones, in cut cells.
        """
        degrees = float(np.degrees(angle))
        if self._solid.mesh.n_nodes < STUDY:
            return
        if strain > _STRAINED and strain > _SOFTER * firm:
            warn(
                f"{soft} of the {len(self.nodes)} outer nodes lie in nearly empty cut cells, "
                f"mostly outside of the body, and move by up to {100 * strain:.0f} % of the size "
                f"of a block, the others by up to {100 * firm:.0f} %. In place of cut cells "
                f"{ON_SURFACE}",
                PlausibilityWarning,
                stacklevel=3,
            )
            strain = firm
        if degrees <= _FARTHEST and strain <= _STRAINED:
            return
        warn(
            f"blocks are turned by up to {degrees:.0f} degrees from their neighbours, and deformed "
            f"by up to {100 * strain:.0f} % of their size: above {_FARTHEST:g} degrees or "
            f"{100 * _STRAINED:g} % linear blocks may be several per cent off. Take more blocks, "
            "or smaller loads",
            PlausibilityWarning,
            stacklevel=3,
        )

    def __repr__(self) -> str:
        return (
            f"<CompositeBody: {self.n_blocks} blocks, {len(self.nodes)} of "
            f"{self._solid.mesh.n_nodes} nodes outside, {self.bytes / 1e6:.3g} MB>"
        )

    def __reduce__(self) -> tuple[type[CompositeBody], tuple[Any, ...]]:
        return type(self), (self._solid, self._blocks, self._holdable, False)


def _labels(mesh: Mesh, blocks: ArrayLike) -> NDArray[np.int32]:
    """Return the block of each element."""
    try:
        number = None if isinstance(blocks, bool) else operator.index(blocks)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is not None:
        number = count(number, "blocks", mesh.n_elements, "elements", least=2)
        return mesh._core.slabs(number, _SMALL)
    given = as_array(blocks, "blocks", "integers")
    if given.dtype.kind not in "iu":
        raise InputTypeError(
            "blocks must be the number of blocks or the block of each element, integers; got "
            f"dtype {given.dtype}"
        )
    if given.shape != (mesh.n_elements,):
        raise InputError(
            f"blocks must have shape ({mesh.n_elements},), one integer for each element, got "
            f"{given.shape}"
        )
    if given.min() < 0 or given.max() >= mesh.n_elements:
        e = int(np.argmax((given < 0) | (given >= mesh.n_elements)))
        raise InputError(f"blocks[{e}] is {given[e]}; blocks are numbered from 0 on without gaps")
    labels = given.astype(np.int32)
    missing = np.flatnonzero(np.bincount(labels) == 0)
    if len(missing):
        raise InputError(
            f"blocks has no element with the label {missing[0]}, but up to {labels.max()}; number "
            "the blocks from 0 on without gaps"
        )
    n_labels = int(labels.max()) + 1
    n_pieces, piece = mesh._core.pieces(labels, n_labels, False)
    label_of = np.empty(n_pieces, np.int32)
    label_of[piece] = labels
    pieces = np.bincount(label_of)
    if len(pieces) > 1 and pieces.max() > 1:
        k = int(np.argmax(pieces > 1))
        raise InputError(
            f"block {k} is in {pieces[k]} pieces that do not touch, and would turn as one; give "
            "each piece a label of its own"
        )
    return labels
