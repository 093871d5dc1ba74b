"""Reduced equations of a solid evaluated on the mesh, without precomputed polynomials."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, finite_result, flag
from reducedfem.base.frozen import frozen_array
from reducedfem.base.run import Progress, threads
from reducedfem.errors import InputError
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.basis import Basis
from reducedfem.reduction.identity import require_of
from reducedfem.reduction.reduced import static_coordinates
from reducedfem.solid.solid import Solid, StaticReport, require_held, require_solid

__all__ = ["MAX_PROJECTED_R", "ProjectedSolid"]

MAX_PROJECTED_R = 1024  # RF_PROJECTED_MAX_R in csrc/model/projected.h


class ProjectedSolid:
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

    __slots__ = ("__weakref__", "_basis", "_core", "_solid")

    def __init__(self, solid: Solid, basis: Basis | ArrayLike) -> None:
        core = require_solid(solid)._core
        vectors = frozen_array(basis.vectors if isinstance(basis, Basis) else basis, "basis")
        n = solid.mesh.n_nodes
        if vectors.ndim != 3 or vectors.shape[1:] != (n, 3):
            raise InputError(f"basis must have shape (any, {n}, 3), got {vectors.shape}")
        if not 1 <= len(vectors) <= MAX_PROJECTED_R:
            raise InputError(f"basis must have 1 to {MAX_PROJECTED_R} vectors, got {len(vectors)}")
        require_held(solid, vectors, "basis")
        if isinstance(basis, Basis):
            require_of(solid, basis.provenance, "basis", 2)
        self._core = _core.Projected(core, vectors, threads())
        self._solid = solid
        self._basis = vectors

    @property
    def r(self) -> int:
        """Number of reduced coordinates."""
        return self._core.r

    @property
    def solid(self) -> Solid:
        """The unreduced solid."""
        return self._solid

    @property
    def _fixed(self) -> NDArray[np.int32]:
        return self._solid.fixed

    @property
    def mesh(self) -> Mesh:
        """Mesh of the basis."""
        return self._solid.mesh

    @property
    def basis(self) -> NDArray[np.float64]:
        """U as fields over the nodes, read-only, shape (r, n, 3)."""
        return self._basis

    @property
    def matrix(self) -> NDArray[np.float64]:
        """U as a matrix, shape (3n, r): a view of `basis`, not a copy."""
        view: NDArray[np.float64] = self._basis.reshape(self.r, -1).T
        return view

    @property
    def mass(self) -> NDArray[np.float64]:
        """Reduced mass U^T M U, read-only, shape (r, r); the identity for most bases."""
        return self._core.mass

    def internal_force(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the reduced internal force R~(q) = U^T R(U q), shape (r,).

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).

        Returns
        -------
        (r,) float64 array
            Reduced force, in N kg^(-1/2) for a mass-orthonormal basis.

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or it inverts an element where its law is not defined.
        """
        force = self._core.internal_force(array_like(q, "q"), threads())
        return finite_result(force, "internal force", "q")

    def stiffness(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the reduced tangent stiffness K~(q) = U^T K(U q) U, shape (r, r).

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).

        Returns
        -------
        (r, r) float64 array
            Exactly symmetric; in s^-2 for a mass-orthonormal basis.

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or it inverts an element where its law is not defined.
        """
        stiffness = self._core.stiffness(array_like(q, "q"), threads())
        return finite_result(stiffness, "stiffness", "q")

    def strain_energy(self, q: ArrayLike) -> float:
        """Return the strain energy W(U q) [J].

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).

        Returns
        -------
        float
            Strain energy [J].

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or it inverts an element where its law is not defined.
        """
        energy = self._core.strain_energy(array_like(q, "q"), threads())
        return finite_result(energy, "strain energy", "q")

    def displacement(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the displacements u = U q [m], shape (n, 3).

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).

        Returns
        -------
        (n, 3) float64 array
            Displacements [m].

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite.
        """
        u = self._core.displacement(array_like(q, "q"), threads())
        return finite_result(u, "displacement", "q")

    def project(self, force: ArrayLike) -> NDArray[np.float64]:
        """Return the reduced force U^T f, shape (r,).

        Parameters
        ----------
        force
            Nodal forces [N], shape (n, 3) or (3n,).

        Returns
        -------
        (r,) float64 array
            Reduced force, in N kg^(-1/2) for a mass-orthonormal basis.

        Raises
        ------
        InputError, InputTypeError
            `force` has a wrong shape, a value that is not finite, or is so large that the
            result is not finite.
        """
        reduced = self._core.project(array_like(force, "force"), threads())
        return finite_result(reduced, "reduced force", "force")

    def gravity(self, acceleration: ArrayLike = (0.0, 0.0, -9.81)) -> NDArray[np.float64]:
        """Return the weight of the solid as a reduced force U^T M a, shape (r,).

        Parameters
        ----------
        acceleration
            Acceleration of free fall [m/s^2], shape (3,).

        Returns
        -------
        (r,) float64 array
            Reduced force, in N kg^(-1/2) for a mass-orthonormal basis.

        Raises
        ------
        InputError, InputTypeError
            `acceleration` has a wrong shape or a value that is not finite.
        """
        reduced = self._core.project(self._solid.gravity(acceleration), threads())
        return finite_result(reduced, "weight", "acceleration")

    @overload
    def solve_static(
        self,
        force: ArrayLike | None = None,
        tol: float = 1e-10,
        steps: int = 1,
        *,
        q0: ArrayLike | None = None,
        max_iterations: int = 200,
        adaptive: bool = False,
        deformation_only: bool = False,
        report: Literal[False] = False,
        progress: Progress = None,
    ) -> NDArray[np.float64]: ...

    @overload
    def solve_static(
        self,
        force: ArrayLike | None = None,
        tol: float = 1e-10,
        steps: int = 1,
        *,
        q0: ArrayLike | None = None,
        max_iterations: int = 200,
        adaptive: bool = False,
        deformation_only: bool = False,
        report: Literal[True],
        progress: Progress = None,
    ) -> tuple[NDArray[np.float64], StaticReport]: ...

    def solve_static(
        self,
        force: ArrayLike | None = None,
        tol: float = 1e-10,
        steps: int = 1,
        *,
        q0: ArrayLike | None = None,
        max_iterations: int = 200,
        adaptive: bool = False,
        deformation_only: bool = False,
        report: bool = False,
        progress: Progress = None,
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], StaticReport]:
        """Return the reduced coordinates in static equilibrium under dead loads.

        Solves R~(q) = f~ (Barbic 2007, section 2.1.10) by the method of
        `ReducedSolid.solve_static`, with forces and tangents evaluated on the mesh.

        Parameters
        ----------
        force
            Loads, reduced (r,) or nodal [N] (n, 3) or (3n,). None: no loads.
        tol
            Bound on the residual, relative to load and internal force; positive.
        steps
            Number of equal load steps, at least 1.
        q0
            Initial reduced coordinates (r,); None: rest.
        max_iterations
            Maximum number of Newton iterations in each load step, at least 1.
        adaptive
            Halve load steps that fail, at most ten times.
        deformation_only
            Accept a model of a free body, whose basis has no rigid motion.
        report
            Also return a `StaticReport`.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (r,) float64 array
            Reduced coordinates; with ``report=True`` a tuple of these and a `StaticReport`.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape or value, or the model is that of a free body and
            `deformation_only` is False.
        StaticConvergenceError
            No equilibrium was found under the whole load; the message gives the fraction reached.
            The attribute ``displacement`` contains the displacements [m] (n, 3) of the last load
            step that converged, and ``report`` its fraction of the load.
        """
        wanted = flag(report, "report")
        q, outcome = static_coordinates(
            self, deformation_only, force, tol, steps, q0, max_iterations, adaptive, progress
        )
        return (q, outcome) if wanted else q

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return ProjectedSolid, (self._solid, self._basis)

    def __repr__(self) -> str:
        return f"<ProjectedSolid: r = {self.r}, {self.mesh.n_nodes} nodes>"
