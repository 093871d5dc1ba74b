"""Unreduced elastic solids: mass, stiffness, forces, statics, modes, modal derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, count, field, finite_result, flag, number, require
from reducedfem.base.executors import Executors
from reducedfem.base.frozen import owned
from reducedfem.base.run import Progress, callback, threads
from reducedfem.base.sparse import CSC
from reducedfem.base.static_report import StaticReport, static_report
from reducedfem.errors import InputError, InputTypeError, StaticConvergenceError
from reducedfem.geometry.built import SolidSummary, summarize
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import Material
from reducedfem.solid.composition import compose, fixed_nodes, materials_of
from reducedfem.solid.derivatives import derivatives_of, require_blocks
from reducedfem.solid.held import held_fields, mode_count, require_movable
from reducedfem.solid.modes import Modes
from reducedfem.solid.plausible import (
    warn_of_equilibrium,
    warn_of_fit,
    warn_of_gravity,
    warn_of_locking,
    warn_of_supports,
    warn_of_units,
)
from reducedfem.solid.rigid import RigidBody
from reducedfem.solid.soft_loads import warn_of_loads
from reducedfem.solid.stress import SolidStress

__all__ = ["Solid", "SolidSummary", "StaticReport"]

HALVINGS = 10  # maximum number of times a load step is halved


class Solid(SolidStress):
    """An elastic solid on a mesh; immutable, may be shared by threads.

    The law of every material is exact under large rotations; ``docs/accuracy.md`` compares them.

    Displacements and forces are arrays (n, 3); a flat (3n,) is accepted. Rows and columns of
    matrices are numbered 3 node + axis. Energies, forces and tangents are those of the whole
    solid; fixed nodes affect `solve_static`, modes and time integration only. Displacements must
    satisfy the constraints of the mesh (`Mesh.constraints`); forces and masses of constrained nodes
    are added to their masters and are zero at the nodes. Results are bitwise equal for any number
    of threads.

    Parameters
    ----------
    mesh
        Tetrahedra or hexahedra.
    material
        One material, such as a `StVK` or a `StableNeoHookean`, or a dict with one material per
        region of the mesh; laws may differ.
    fixed
        Nodes that do not move: a mask of shape (n,) or node indices, at least one. None: a free
        solid (Barbic 2007, section 2.8.7).
    quadrature
        Gauss points per axis of a hexahedron, 2 to 4; None: the default of the element.
        Eight-node hexahedra: 2 (default), as in most finite element programs, also for the
        mass; 3 is exact on parallelepipeds. 20-node hexahedra: 3 (default), exact for mass and
        stiffness at rest on parallelepipeds, or 4; 2 is refused because it leaves motions without
        stiffness. Ten-node tetrahedra: 2 (default) selects 4 points, as in most programs, 3
        selects 14 points, exact for straight edges; their mass is always integrated exactly
        (Walkington 2000). Four-node tetrahedra are always integrated exactly.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; `fixed` selects no node; regions and
        materials do not match.
    MeshError
        The Jacobian of an element is not positive at a quadrature point.

    Warns
    -----
    PlausibilityWarning, GeometryWarning
        Nodes hang (`Mesh.hanging_nodes`); lengths, moduli or densities suggest other units; more
        than a third of the nodes is fixed; all fixed nodes of a support lie outside the body; the
        volume differs by more than 5 % from that enclosed by the surface from which the mesh was
        made; or the thinnest parts of that surface are less than two cells across (0.7 cells of
        second order).
    """

    __slots__ = ("__weakref__", "_core", "_materials", "_mesh")

    def __init__(
        self,
        mesh: Mesh,
        material: Material | Mapping[int, Material],
        fixed: ArrayLike | None = None,
        quadrature: int | None = None,
    ) -> None:
        if not isinstance(mesh, Mesh):
            raise InputTypeError(
                f"mesh must be a Mesh, got {type(mesh).__name__}; make one with "
                "Mesh(nodes, elements), read_mesh(path) or voxelize(surface)"
            )
        if quadrature is None:
            quadrature = 3 if mesh.nodes_per_element == 20 else 2
        if isinstance(quadrature, bool) or not (
            isinstance(quadrature, int | np.integer) and quadrature in (2, 3, 4)
        ):
            raise InputError(f"quadrature must be 2, 3, 4 or None, got {quadrature!r}")
        self._mesh = mesh
        self._materials, element_material = materials_of(mesh, material)
        nodes = fixed_nodes(fixed, mesh)
        warn_of_units(mesh.bounds, mesh.n_nodes, self._materials.values(), 3)
        warn_of_locking(mesh, self._materials, 3)
        warn_of_supports(mesh, nodes, 3)
        warn_of_fit(mesh, 3)
        self._core = compose(mesh, self._materials, element_material, nodes, int(quadrature))

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def materials(self) -> dict[int, Material]:
        """Material of each region."""
        return dict(self._materials)

    @property
    def material(self) -> Material:
        """Material of a solid with a single material.

        Raises
        ------
        InputError
            Regions have different materials; see `materials`.
        """
        different = set(self._materials.values())
        if len(different) > 1:
            raise InputError(f"the solid has {len(different)} materials; see Solid.materials")
        return next(iter(different))

    @property
    def fixed(self) -> NDArray[np.int32]:
        """Fixed nodes, ascending, read-only int32."""
        return self._core.fixed

    @property
    def free(self) -> NDArray[np.int32]:
        """Nodes that are neither fixed nor constrained, ascending, read-only int32."""
        return self._core.free

    @property
    def n_dofs(self) -> int:
        """Number of degrees of freedom, fixed ones included: 3n."""
        return 3 * self._mesh.n_nodes

    @property
    def quadrature(self) -> int:
        """Quadrature order in use: 2, 3 or 4; 1 for four-node tetrahedra."""
        return {1: 1, 4: 2, 8: 2, 14: 3, 27: 3, 64: 4}[self._core.n_gauss]

    @property
    def total_mass(self) -> float:
        """Mass [kg]."""
        return float(self._core.lumped.sum())

    @property
    def rigid_body(self) -> RigidBody:
        """Mass, centre of mass and inertia at rest."""
        return RigidBody(*self._core.rigid_body(threads()))

    @property
    def volume(self) -> float:
        """Volume at rest [m^3]."""
        return self._core.volume

    @property
    def summary(self) -> SolidSummary:
        """Volume and mass, compared with the surface from which the mesh was made."""
        return summarize(self._mesh, self.volume, self.total_mass, len(self.fixed))

    def mass(self, lumped: bool = False) -> CSC:
        """Return the mass matrix [kg], (3n, 3n).

        Parameters
        ----------
        lumped
            True: the diagonal matrix of row sums; for second-order elements, whose row sums are
            negative at corners, diagonal masses in proportion to the diagonal of the consistent
            matrix of each element (Hinton, Rock and Zienkiewicz 1976). It gives spurious modes of
            low frequency for cut cells. False: the consistent mass matrix.

        Returns
        -------
        CSC
            Symmetric, both triangles; equal blocks for x, y and z, without coupling of axes.

        Raises
        ------
        InputTypeError
            `lumped` is neither True nor False.
        """
        return CSC(*self._core.mass(flag(lumped, "lumped")), (self.n_dofs, self.n_dofs))

    def gravity(
        self, acceleration: ArrayLike = (0.0, 0.0, -9.81), lumped: bool = False
    ) -> NDArray[np.float64]:
        """Return the weight of the solid as forces on its nodes [N], (n, 3).

        The forces do not rotate with the solid: a dead load for `solve_static` and for the `step`
        of simulations. Simulations also accept the acceleration itself as ``gravity``.

        Parameters
        ----------
        acceleration
            Acceleration of free fall [m/s^2], shape (3,).
        lumped
            Use the lumped mass instead of the consistent one, as `CentralDifferences` does except
            for cut cells.

        Returns
        -------
        (n, 3) float64 array
            Forces [N]; their sum is `total_mass` times the acceleration.

        Raises
        ------
        InputError, InputTypeError
            `acceleration` has a wrong shape or a value that is not finite, or `lumped` is not a
            bool.

        Warns
        -----
        PlausibilityWarning
            The acceleration looks like one in mm/s^2.
        """
        force = self._weight(acceleration, lumped)
        warn_of_gravity(np.asarray(acceleration), self._mesh.n_nodes, stacklevel=3)
        return force

    def _weight(self, acceleration: ArrayLike, lumped: bool = False) -> NDArray[np.float64]:
        given = array_like(acceleration, "acceleration")
        force = self._core.gravity(given, flag(lumped, "lumped"), threads())
        return finite_result(force, "weight", "acceleration")

    def stiffness(self, u: ArrayLike | None = None, *, definite: bool = False) -> CSC:
        """Return the tangent stiffness dR/du [N/m], (3n, 3n), both triangles.

        Parameters
        ----------
        u
            Displacements [m], (n, 3); None: at rest.
        definite
            True: positive semidefinite for any `u`, see Materials in ``docs/accuracy.md``.

        Returns
        -------
        CSC
            Symmetric; at rest and with `definite` positive semidefinite, up to rounding.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or it inverts an element where its law is not defined (`NeoHookean`).
        """
        data, rows, columns = self._core.stiffness(
            array_like(u, "u"), threads(), flag(definite, "definite")
        )
        finite_result(data, "stiffness", "u")
        return CSC(data, rows, columns, (self.n_dofs, self.n_dofs))

    def internal_force(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return the internal forces R(u) = dW/du [N], (n, 3).

        The sign is that of the left-hand side of M u'' + R(u) = f, opposite to the forces that
        the solid exerts on its nodes (Barbic 2007, equation 2.5).

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Returns
        -------
        (n, 3) float64 array
            Forces [N], also at fixed nodes.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or it inverts an element where its law is not defined (`NeoHookean`).
        """
        force = self._core.internal_force(array_like(u, "u"), threads())
        return finite_result(force, "internal force", "u")

    def strain_energy(self, u: ArrayLike) -> float:
        """Return the strain energy W(u) [J].

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Returns
        -------
        float
            Strain energy [J].

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite; or it inverts an element where its law is not defined (`NeoHookean`).
        """
        energy = self._core.strain_energy(array_like(u, "u"), threads())
        return finite_result(energy, "strain energy", "u")

    def hessian_product(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return (H:a) b, the second derivative of R at rest along a and b, (n, 3).

        It is d2/ds dt R(s a + t b) at s = t = 0, symmetric in `a` and `b`, and the right-hand
        side of modal derivatives (Barbic 2007, section 2.8).

        Parameters
        ----------
        a, b
            Displacements [m], (n, 3).

        Returns
        -------
        (n, 3) float64 array
            Forces [N].

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a value that is not finite, or is so large that the
            result is not finite.
        """
        n = self._mesh.n_nodes
        pair = [field(x, name, n).reshape(1, n, 3) for x, name in ((a, "a"), (b, "b"))]
        products = self._core.hessian_product(pair[0], pair[1], None, threads())
        return finite_result(products.reshape(n, 3), "product", "a or b")

    @overload
    def solve_static(
        self,
        force: ArrayLike | None = None,
        tol: float = 1e-10,
        steps: int = 1,
        *,
        prescribed: ArrayLike | None = None,
        u0: ArrayLike | None = None,
        max_iterations: int = 200,
        adaptive: bool = False,
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
        prescribed: ArrayLike | None = None,
        u0: ArrayLike | None = None,
        max_iterations: int = 200,
        adaptive: bool = False,
        report: Literal[True],
        progress: Progress = None,
    ) -> tuple[NDArray[np.float64], StaticReport]: ...

    def solve_static(
        self,
        force: ArrayLike | None = None,
        tol: float = 1e-10,
        steps: int = 1,
        *,
        prescribed: ArrayLike | None = None,
        u0: ArrayLike | None = None,
        max_iterations: int = 200,
        adaptive: bool = False,
        report: bool = False,
        progress: Progress = None,
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], StaticReport]:
        """Return the displacements in static equilibrium under dead loads, by Newton-Raphson.

        Increments are shortened until the potential energy decreases; an indefinite tangent is made
        definite. If several equilibria exist, more load steps follow the branch from rest more
        closely. Symmetry is not perturbed: beyond a critical load the result may be unstable.

        With `adaptive` a failed load step is halved, at most ten times, and later steps grow again.
        A step also fails if it inverts an element (a determinant of the deformation gradient that
        is not positive at a quadrature point). The result is then the equilibrium on the branch
        from rest, or an error that contains the part reached. Without `adaptive` inverted elements
        are a `PlausibilityWarning`.

        Parameters
        ----------
        force
            Loads [N], (n, 3), of constant direction; loads on fixed nodes have no effect. None: no
            loads.
        tol
            Positive bound on residual over load and reactions; stagnation at rounding also counts.
        steps
            Number of equal steps of the load and of the prescribed displacements, at least 1.
        prescribed
            Displacements [m], (n, 3), of which those of the fixed nodes are used. None: zero.
        u0
            Initial displacements [m], (n, 3); None: rest.
        max_iterations
            Maximum number of Newton iterations in each load step, at least 1.
        adaptive
            Halve load steps that fail.
        report
            Also return a `StaticReport`.
        progress
            True for a progress bar, or a callable ``f(done, total)``. Progress is the fraction of
            the load, and within a load step the reduction of the residual.

        Returns
        -------
        (n, 3) float64 array
            Displacements [m]; with ``report=True`` a tuple of them and a `StaticReport`.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape or value; `u0` inverts an element where its law is not
            defined.
        MeshError
            Some part of the solid can move rigidly; the message names it.
        SingularMatrixError
            The stiffness at rest is singular.
        StaticConvergenceError
            No equilibrium was found under the whole load; the message gives the fraction reached.
            The attribute ``displacement`` is the equilibrium of the last load step that converged,
            and ``report`` contains its fraction of the load.

        Warns
        -----
        PlausibilityWarning
            A load acts outside of the body, on nodes of nearly empty cut cells, and the load
            moves more than five times as far as on the surface beside; or the result inverts
            elements or is unstable (`StaticReport.stable`).
        """
        wanted = flag(report, "report")
        halvings = HALVINGS if flag(adaptive, "adaptive") else 0
        with callback(progress, "statics") as call:
            u, took, failure = self._core.solve_static(
                array_like(force, "force"),
                array_like(prescribed, "prescribed"),
                array_like(u0, "u0"),
                number(tol, "tol"),
                count(steps, "steps"),
                count(max_iterations, "max_iterations"),
                call,
                threads(),
                halvings,
                True,
            )
        outcome = static_report(took)
        due = None if failure is not None or prescribed is not None else u
        warn_of_loads(self._mesh, self._core, self._materials.values(), force, 3, due)
        if failure is not None:
            raise StaticConvergenceError(failure, u, outcome)
        warn_of_equilibrium(outcome, self.mesh, self.materials.values(), adaptive, tol, 3)
        return (u, outcome) if wanted else u

    def linear_modes(self, k: int, *, rigid: bool = False, progress: Progress = None) -> Modes:
        """Return the k lowest vibration modes of the solid about rest.

        The modes solve K psi = lambda M psi with the stiffness K at rest and the consistent mass
        M (Barbic 2007, equation 2.43), by block Lanczos with shift-invert on a sparse Cholesky
        factor of K. The modes of a free solid (without fixed nodes) are elastic modes,
        mass-orthogonal to the six rigid motions (Barbic 2007, section 2.8.7).

        The sign of a shape makes its entry of largest magnitude positive (the first of entries
        that agree to 1e-6). Modes whose eigenvalues agree to 1e-6 are defined up to a rotation
        among them; the choice is that of `mass_pca`. See ``docs/accuracy.md``.

        Parameters
        ----------
        k
            Number of elastic modes, at least 1 and less than the number of free degrees of
            freedom (minus six for a free solid).
        rigid
            True: the modes of a free solid begin with its rigid motions: translations along x, y
            and z, then rotations about the principal axes through the centre of mass, by ascending
            moment of inertia. No effect for a solid with fixed nodes.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        Modes
            Frequencies (k,) [Hz] and mass-orthonormal shapes (k, n, 3) [kg^-1/2]; k + 6 of each
            with the rigid motions of a free solid.

        Raises
        ------
        InputError, InputTypeError
            `k` is out of range or not an int.
        MeshError
            A part of the solid can move rigidly, every node is fixed, or a free solid is not
            connected.
        SingularMatrixError
            The stiffness matrix is not positive definite.
        ConvergenceError
            The iteration did not converge.
        """
        size = mode_count(self._core, k)
        with_rigid = flag(rigid, "rigid")
        with callback(progress, "linear modes") as tell:
            arrays = _core.linear_modes(self._core, size, with_rigid, tell, threads())
        return Modes(*map(owned, arrays))

    def modal_derivatives(
        self, modes: Modes | ArrayLike, *, executor: Executors = None, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Return the modal derivatives of the solid.

        For a solid with fixed nodes Phi_ij solves K Phi_ij = -(H : Psi_j) Psi_i, where H is the
        derivative of the stiffness at rest (Barbic 2007, equation 2.47). It is the second
        derivative of the static response to loads along the modes (equation 2.55); inertia is
        neglected, so Phi_ij = Phi_ji.

        K of a free solid is singular, and inertia is included (equation 2.60): Phi_ij solves
        (K - lambda_i M) Phi_ij = (M Psi_i Psi_i^T - 1) (H : Psi_j) Psi_i with
        Psi_i^T M Phi_ij = 0, and differs from Phi_ji. Its rigid part is included. If lambda_i is
        repeated, Phi_ij is mass-orthogonal to all modes of lambda_i, and the parts of the
        right-hand side along them, which have no solution, are removed.

        The sign of Phi_ij changes with the sign of either mode.

        Parameters
        ----------
        modes
            Modes, or k arbitrary directions, shape (k, n, 3), zero at fixed nodes. For a free
            solid, its lowest k elastic modes.
        executor
            Workers for blocks of pairs, as in `study`; fixed nodes only, same bits. None: here.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (k (k + 1) / 2, n, 3) float64 array
            Derivatives [kg^-1 m^-1], one for each pair i <= j in the order 00 01 .. 0(k-1) 11 12
            .. of ``numpy.triu_indices(k)``. For a free solid (k k, n, 3): all pairs i, j, with j
            running fastest. Not normalised.

        Raises
        ------
        InputError, InputTypeError
            `modes` has a wrong shape, values that are not finite, or moves a fixed node; or
            they are not the lowest elastic modes of the free solid.
        MeshError
            A part of the solid can move rigidly, every node is fixed, or a free solid is not
            connected.
        SingularMatrixError
            The stiffness matrix is not positive definite.
        ConvergenceError
            The derivatives of a free solid did not converge.
        """
        shapes = modes.shapes if isinstance(modes, Modes) else modes
        directions = held_fields(self._core, shapes, "modes")
        most = 3 * self._mesh.n_nodes
        if not 1 <= len(directions) <= most:
            raise InputError(f"modes must hold 1 to {most} directions, got {len(directions)}")
        require_movable(self._core)
        require_blocks(self, executor)
        with callback(progress, "modal derivatives") as tell:
            derivatives = derivatives_of(self, directions, executor, tell)
        return finite_result(derivatives, "derivative", "modes")

    def __reduce__(self) -> tuple[type[Solid], tuple[Any, ...]]:
        gauss = None if self._mesh.nodes_per_element == 4 else self.quadrature
        fixed = self.fixed if len(self.fixed) else None
        return Solid, (self._mesh, self._materials, fixed, gauss)

    def __repr__(self) -> str:
        return f"<Solid on {self._mesh!r}, {len(self.fixed)} nodes fixed>"

    def __str__(self) -> str:
        return str(self.summary)


def require_solid(solid: object) -> Solid:
    """Return the argument `solid` of a public function; refuse other types."""
    return require(solid, Solid, "solid")
