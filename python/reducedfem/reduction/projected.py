"""Reduced equations of a solid evaluated on the mesh, without precomputed polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import finite_result
from reducedfem.base.frozen import frozen_array
from reducedfem.base.run import threads
from reducedfem.errors import InputError
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.basis import Basis
from reducedfem.reduction.identity import require_of
from reducedfem.reduction.reduced_equations import ReducedEquations
from reducedfem.solid.held import require_held
from reducedfem.solid.plausible import softening
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["MAX_PROJECTED_R", "ProjectedSolid"]

MAX_PROJECTED_R = 1024  # RF_PROJECTED_MAX_R in csrc/model/projected.h


class ProjectedSolid(ReducedEquations):
    """A solid restricted to the span of a basis, u = U q, with forces evaluated on the mesh.

    R~(q) = U^T R(U q) and K~(q) = U^T K(U q) U (Barbic 2007, equations 2.23 and 2.25, after
    Krysl, Lall and Marsden 2001) are the functions of a `ReducedSolid`, without precomputation.
    An evaluation takes time proportional to n r^2 instead of r^4. Suits offline work with bases
    of more than about 60 vectors, whose polynomials are too large, and checks of reduced models.
    `ImplicitNewmark` and `CentralDifferences` integrate it. Immutable, may be shared by threads.

    For a mass-orthonormal basis coordinates are in kg^(1/2) m and forces in N kg^(-1/2).

    Parameters
    ----------
    solid
        The unreduced solid.
    basis
        A `Basis`, or linearly independent deformations (r, n, 3), mass-orthonormal or not, zero
        at fixed nodes; r at most 1024.

    Raises
    ------
    InputError, InputTypeError
        The basis has a wrong shape, values that are not finite, too many vectors, or moves a
        fixed node (the message names it).
    SingularMatrixError
        The vectors of the basis are linearly dependent.
    """

    __slots__ = ("__weakref__", "_basis", "_core", "_reach", "_solid")

    def __init__(self, solid: Solid, basis: Basis | ArrayLike) -> None:
        core = require_solid(solid)._core
        vectors = frozen_array(basis.vectors if isinstance(basis, Basis) else basis, "basis")
        n = solid.mesh.n_nodes
        if vectors.ndim != 3 or vectors.shape[1:] != (n, 3):
            raise InputError(f"basis must have shape (any, {n}, 3), got {vectors.shape}")
        if not 1 <= len(vectors) <= MAX_PROJECTED_R:
            raise InputError(f"basis must have 1 to {MAX_PROJECTED_R} vectors, got {len(vectors)}")
        require_held(core, vectors, "basis")
        if isinstance(basis, Basis):
            require_of(solid, basis.provenance, "basis", 2)
        self._core = _core.Projected(core, vectors, threads())
        self._solid = solid
        self._basis = vectors
        # largest displacement of a node by each vector, over the diagonal of the body
        length = np.linalg.norm(np.ptp(solid.mesh.bounds, axis=0))
        self._reach = np.array([np.linalg.norm(one, axis=1).max() for one in vectors]) / length

    def _farthest(self, q: NDArray[np.float64]) -> float:
        return float(np.abs(q) @ self._reach)

    @property
    def _softens(self) -> str | None:
        return softening(self._solid.materials.values())

    def _inverted(self, u: NDArray[np.float64]) -> int:
        return self._solid._core.inverted(u)

    @property
    def solid(self) -> Solid:
        """The unreduced solid."""
        return self._solid

    def _threads(self) -> tuple[int, ...]:
        return (threads(),)

    @property
    def _fixed_nodes(self) -> NDArray[np.int32]:
        return self._solid.fixed

    @property
    def mesh(self) -> Mesh:
        """Mesh of the basis."""
        return self._solid.mesh

    @property
    def basis(self) -> NDArray[np.float64]:
        """U as fields over the nodes, read-only, shape (r, n, 3)."""
        return self._basis

    def _weight(self, acceleration: ArrayLike) -> NDArray[np.float64]:
        reduced = self._core.project(self._solid._weight(acceleration), threads())
        return finite_result(reduced, "weight", "acceleration")

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return ProjectedSolid, (self._solid, self._basis)

    def __repr__(self) -> str:
        return f"<ProjectedSolid: r = {self.r}, {self.mesh.n_nodes} nodes>"
