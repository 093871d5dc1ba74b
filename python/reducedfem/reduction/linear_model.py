"""Linear static model of a solid, for interactive recording of forces."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import as_array, count, field, reals
from reducedfem.base.frozen import owned
from reducedfem.base.run import threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.solid.modes import Modes
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["LinearModel", "sparse_force"]


class LinearModel:
    """Geometrically linear static response of a solid, fast enough for interactive use.

    Displacements are u = sum_j Psi_j (Psi_j . f) / lambda_j, those of the linear modal model in
    static equilibrium (Barbic 2007, section 2.8.2). Large displacements are distorted; they only
    indicate the response of the nonlinear solid, which `sketch_basis` computes from the recorded
    forces.

    For a free solid the modes are elastic, and the response is the deformation while loads and
    inertia forces are in balance.

    Parameters
    ----------
    solid
        Solid of the modes.
    modes
        Elastic modes of the solid, or the number of lowest ones to compute.

    Raises
    ------
    InputError, InputTypeError
        `modes` belong to another mesh, or one of them is a rigid motion, which has no stiffness.
    """

    def __init__(self, solid: Solid, modes: Modes | int) -> None:
        require_solid(solid)
        if not isinstance(modes, Modes):
            if not isinstance(modes, int | np.integer) or isinstance(modes, bool):
                raise InputTypeError(f"modes must be Modes or an int, got {type(modes).__name__}")
            modes = solid.linear_modes(count(modes, "modes"))
        nodes = solid.mesh.n_nodes
        if modes.shapes.shape[1:] != (nodes, 3):
            raise InputError(
                f"modes are over {modes.shapes.shape[1]} nodes, but the solid has {nodes}"
            )
        if not (modes.eigenvalues > 0.0).all():
            which = int(np.flatnonzero(~(modes.eigenvalues > 0.0))[0])
            raise InputError(
                f"mode {which} has the eigenvalue {modes.eigenvalues[which]:g}; a static load "
                "needs modes with stiffness: leave out rigid motions"
            )
        self._solid = solid
        self._modes = modes

    @property
    def solid(self) -> Solid:
        """Solid of the modes."""
        return self._solid

    @property
    def modes(self) -> Modes:
        """Linear modes of the model."""
        return self._modes

    @functools.cached_property
    def patterns(self) -> NDArray[np.float64]:
        """Loads M Psi_j, each of which excites one mode [kg^1/2], read-only, shape (k, n, 3)."""
        return owned(_core.mass_product(self._solid._core, self._modes.shapes, threads()))

    def displacement(
        self,
        force: ArrayLike | None = None,
        nodes: ArrayLike | None = None,
        *,
        modal: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the linear static displacements under a load.

        Parameters
        ----------
        force
            Forces [N] at all nodes, (n, 3) or (3n,), or at `nodes`, (m, 3). None: zero.
        nodes
            Indices of the nodes on which `force` acts, (m,); forces on repeated nodes are added.
            None: all nodes.
        modal
            Additional reduced forces [N kg^-1/2] along the modes, (k,): the load
            sum_j modal_j M Psi_j. None: zero.

        Returns
        -------
        (n, 3) float64 array
            Displacements [m]; zero at fixed nodes.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a value that is not finite or a node index out of range.
        """
        at, forces = sparse_force(force, nodes, self._solid.mesh.n_nodes)
        extra = np.zeros(len(self._modes)) if modal is None else reals(modal, "modal")
        if extra.shape != (len(self._modes),):
            raise InputError(f"modal must have shape ({len(self._modes)},), got {extra.shape}")
        u, _ = _core.modal_response(self._modes.eigenvalues, self._modes.shapes, at, forces, extra)
        return u

    def __repr__(self) -> str:
        return f"<LinearModel: {len(self._modes)} modes over {self._solid.mesh.n_nodes} nodes>"


def sparse_force(
    force: ArrayLike | None, nodes: ArrayLike | None, n: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the indices of the loaded nodes (m,), and the forces there (m, 3)."""
    if force is None:
        if nodes is not None:
            raise InputError("nodes are given, but no force at them")
        return np.zeros(0, dtype=np.int32), np.zeros((0, 3))
    if nodes is None:
        whole = field(force, "force", n)
        at = np.flatnonzero(whole.any(axis=1))
        return at.astype(np.int32), whole[at]
    where = as_array(nodes, "nodes", "integers")
    if where.size == 0:
        where = where.astype(np.int32)
    if where.dtype.kind not in "iu":
        raise InputTypeError(f"nodes must hold integers, got dtype {where.dtype}")
    if where.ndim != 1:
        raise InputError(f"nodes must have shape (m,), got {where.shape}")
    bad = np.flatnonzero((where < 0) | (where >= n))
    if bad.size:
        raise InputError(f"nodes[{bad[0]}] is {where[bad[0]]}; nodes are numbered 0 to {n - 1}")
    forces = reals(force, "force")
    if forces.shape != (len(where), 3):
        raise InputError(f"force must have shape ({len(where)}, 3) here, got {forces.shape}")
    return where.astype(np.int32), forces
