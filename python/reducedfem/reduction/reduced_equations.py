"""Equations of a solid in the coordinates of a basis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import array_like, count, finite_result, flag, number, reals
from reducedfem.base.run import Progress, callback, threads
from reducedfem.base.static_report import StaticReport, static_report
from reducedfem.errors import InputError, StaticConvergenceError
from reducedfem.geometry.mesh import Mesh
from reducedfem.solid.plausible import (
    FAR,
    warn_of_far,
    warn_of_gravity,
    warn_of_instability,
    warn_of_inversion,
    warn_of_rounding,
)
from reducedfem.solid.solid import HALVINGS

__all__ = ["ReducedEquations", "leaves_out_rigid_motion", "reduced_force"]

_IN_SPAN = 1e-6  # largest part of a translation outside the span of the basis


class ReducedEquations:
    """Base class of solids restricted to the span of a basis, u = U q.

    A subclass states its mesh, its basis and the fixed nodes, and how the core evaluates it.
    """

    __slots__ = ()

    _core: Any

    def _threads(self) -> tuple[int, ...]:
        """Return the last arguments of evaluations by the core: the number of threads, or none."""
        return ()

    @property
    def _fixed_nodes(self) -> NDArray[np.int32]:
        raise NotImplementedError

    def _farthest(self, q: NDArray[np.float64]) -> float:
        """Return an upper bound of the largest displacement at q, over the diagonal of the body."""
        raise NotImplementedError

    @property
    def _softens(self) -> str | None:
        """Law that keeps elements inside out, or None."""
        raise NotImplementedError

    def _inverted(self, u: NDArray[np.float64]) -> int:
        """Return the number of elements that are inside out."""
        raise NotImplementedError

    def _warn_of_strain(self, q: NDArray[np.float64], stacklevel: int, seen: float = 0.0) -> bool:
        """Warn if q, or a strain seen before, is beyond the poses of a cubature; True if it is."""
        return False

    def _weight(self, acceleration: ArrayLike) -> NDArray[np.float64]:
        """Return U^T M a."""
        raise NotImplementedError

    @property
    def mesh(self) -> Mesh:
        """Mesh of the basis."""
        raise NotImplementedError

    @property
    def basis(self) -> NDArray[np.float64]:
        """U as fields over the nodes, read-only, shape (r, n, 3)."""
        raise NotImplementedError

    @property
    def r(self) -> int:
        """Number of reduced coordinates."""
        size: int = self._core.r
        return size

    @property
    def matrix(self) -> NDArray[np.float64]:
        """U as a matrix, shape (3n, r): a view of `basis`, not a copy."""
        view: NDArray[np.float64] = self.basis.reshape(self.r, -1).T
        return view

    @property
    def mass(self) -> NDArray[np.float64]:
        """Reduced mass U^T M U, read-only, shape (r, r); the identity for most bases."""
        mass: NDArray[np.float64] = self._core.mass
        return mass

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
            is not finite; or, for a `ProjectedSolid`, it inverts an element where its law is
            not defined.
        """
        force = self._core.internal_force(array_like(q, "q"), *self._threads())
        return finite_result(force, "internal force", "q")

    def stiffness(self, q: ArrayLike, *, definite: bool = False) -> NDArray[np.float64]:
        """Return the reduced tangent stiffness K~(q) = U^T K(U q) U, shape (r, r).

        Parameters
        ----------
        q
            Reduced coordinates, shape (r,).

        definite
            True: positive semidefinite, up to rounding. Of a `ProjectedSolid` and of a model with
            a cubature the Hessian of the energy density is projected at each point, as in
            ``Solid.stiffness(u, definite=True)``; of an energy polynomial the negative eigenvalues
            of the matrix become zero. Where nothing is negative it is the plain stiffness.

        Returns
        -------
        (r, r) float64 array
            Symmetric; in s^-2 for a mass-orthonormal basis.

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or, for a `ProjectedSolid`, it inverts an element where its law is
            not defined; or `definite` is not a bool.
        """
        wanted = flag(definite, "definite")
        stiffness = self._core.stiffness(array_like(q, "q"), *self._threads(), wanted)
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
            is not finite; or, for a `ProjectedSolid`, it inverts an element where its law is
            not defined.
        """
        energy: float = self._core.strain_energy(array_like(q, "q"), *self._threads())
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
        return finite_result(
            self._core.displacement(array_like(q, "q"), *self._threads()), "displacement", "q"
        )

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
        reduced = self._core.project(array_like(force, "force"), *self._threads())
        return finite_result(reduced, "reduced force", "force")

    def gravity(self, acceleration: ArrayLike = (0.0, 0.0, -9.81)) -> NDArray[np.float64]:
        """Return the weight of the solid as a reduced force U^T M a, shape (r,).

        It is a load for `solve_static` and for the `step` of simulations, which also accept the
        acceleration itself as ``gravity``. The first call for a `ReducedSolid` evaluates the mesh.

        Parameters
        ----------
        acceleration
            Acceleration of free fall [m/s^2], shape (3,).

        Returns
        -------
        (r,) float64 array
            Reduced force, in N kg^(-1/2) for a mass-orthonormal basis; zero for a free solid whose
            basis has no rigid motion.

        Raises
        ------
        InputError, InputTypeError
            `acceleration` has a wrong shape or a value that is not finite.

        Warns
        -----
        PlausibilityWarning
            The acceleration looks like one in mm/s^2.
        """
        force = self._weight(acceleration)
        warn_of_gravity(np.asarray(acceleration), self.mesh.n_nodes, stacklevel=3)
        return force

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

        Solves R~(q) = f~, the reduced equations of motion without mass and damping (Barbic 2007,
        section 2.1.10), by the method of `Solid.solve_static`: Newton-Raphson with increments
        shortened until the potential energy decreases, and an indefinite tangent shifted.

        Parameters
        ----------
        force
            Loads, reduced (r,) or nodal [N] (n, 3) or (3n,). None: no loads.
        tol
            Bound on the residual, relative to load and internal force; positive. A residual that
            stagnates at the rounding of the internal force is accepted too.
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

        Warns
        -----
        PlausibilityWarning
            Displacements exceed twice the diagonal of the body's box, which no basis describes; a
            cubature is strained beyond the poses that trained it; or the equilibrium is unstable,
            see `StaticReport.stable`.
        """
        wanted = flag(report, "report")
        deforms_only = leaves_out_rigid_motion(self)
        if not flag(deformation_only, "deformation_only") and deforms_only:
            raise InputError(
                "this is the model of a free body: loads that are not in balance accelerate it, "
                "and statics would leave out this rigid motion. Fix some nodes of the Solid; or "
                "use FreeBody(reduced, dt), which moves as a whole; or pass "
                "deformation_only=True for the deformation alone"
            )
        halvings = HALVINGS if flag(adaptive, "adaptive") else 0
        with callback(progress, "statics") as call:
            q, took, failure = self._core.solve_static(
                reduced_force(self, force),
                array_like(q0, "q0"),
                number(tol, "tol"),
                count(steps, "steps"),
                count(max_iterations, "max_iterations"),
                call,
                threads(),
                halvings,
                deforms_only or len(self._fixed_nodes) > 0,
            )
        outcome = static_report(took)
        if failure is not None:
            raise StaticConvergenceError(failure, self.displacement(q), outcome)
        u = self.displacement(q)
        outcome = replace(outcome, inverted=self._inverted(u))
        far = self._farthest(q) > FAR and warn_of_far(u, self.mesh, stacklevel=3)
        if not far and self._softens is not None:
            warn_of_inversion(outcome.inverted, self.mesh, self._softens, stacklevel=3)
        self._warn_of_strain(q, stacklevel=3)
        warn_of_instability(outcome.stable, stacklevel=3)
        warn_of_rounding(outcome.residual, tol, stacklevel=3)
        return (q, outcome) if wanted else q


def leaves_out_rigid_motion(system: ReducedEquations) -> bool:
    """Return True for a model of a free solid whose basis lacks the three translations."""
    if len(system._fixed_nodes):
        return False
    columns = system.matrix
    wanted = np.tile(np.eye(3), (system.mesh.n_nodes, 1))
    found = columns @ np.linalg.lstsq(columns, wanted, rcond=None)[0]
    return not np.abs(found - wanted).max() < _IN_SPAN


def reduced_force(system: ReducedEquations, force: ArrayLike | None) -> NDArray[np.float64] | None:
    """Return a force as (r,), given as (r,) or nodal as (n, 3) or (3n,)."""
    if force is None:
        return None
    values = reals(force, "force")
    if values.shape == (system.r,):
        return values
    nodes = system.mesh.n_nodes
    if values.shape not in ((nodes, 3), (3 * nodes,)):
        raise InputError(
            f"force must have shape ({system.r},) (reduced) or ({nodes}, 3) (nodal), "
            f"got {values.shape}"
        )
    return system.project(values)
