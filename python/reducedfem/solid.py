"""St.Venant-Kirchhoff solids: material, mass, stiffness, forces, statics."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import count, number
from reducedfem._run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.mesh import Mesh

if TYPE_CHECKING:
    import scipy.sparse

    from reducedfem.modes import Modes

__all__ = ["CSC", "Solid", "StVK", "StaticReport"]


@dataclass(frozen=True)
class StVK:
    """St.Venant-Kirchhoff material: S = lambda tr(E) I + 2 mu E.

    S is the second Piola-Kirchhoff stress and E the Green strain: a linear law that is
    exact under any rotation (Barbic 2007, section 2.1). It resists compression ever
    less below 58 % (1/sqrt(3)) of the rest length.

    Parameters
    ----------
    young
        Young's modulus [Pa], positive.
    poisson
        Poisson's ratio, above -1 and below 0.5.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or no number.
    """

    young: float
    poisson: float
    density: float

    def __post_init__(self) -> None:
        for name in ("young", "poisson", "density"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        if not self.young > 0:
            raise InputError(f"young must be positive [Pa], got {self.young:g}")
        if self.poisson >= 0.5:
            raise InputError(
                f"poisson must be below 0.5, got {self.poisson:g}: an incompressible material "
                "has an infinite bulk modulus, and these elements lock close to it; 0.45 or "
                "less is usual"
            )
        if not self.poisson > -1:
            raise InputError(f"poisson must be above -1, got {self.poisson:g}")
        if not self.density > 0:
            raise InputError(f"density must be positive [kg/m^3], got {self.density:g}")

    @property
    def lame(self) -> tuple[float, float]:
        """The Lame constants lambda and mu [Pa]."""
        e, nu = self.young, self.poisson
        return e * nu / ((1 + nu) * (1 - 2 * nu)), e / (2 * (1 + nu))


@dataclass(frozen=True, eq=False)
class CSC:
    """A sparse matrix in compressed column form.

    Parameters
    ----------
    data
        The stored entries, column by column, float64 (nnz,).
    indices
        Row of each entry, ascending within a column, int32 (nnz,).
    indptr
        Where each column begins in the two others, int32 (columns + 1,).
    shape
        Rows and columns.
    """

    data: NDArray[np.float64]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]
    shape: tuple[int, int]

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return len(self.data)

    def to_scipy(self) -> scipy.sparse.csc_matrix:
        """Return the matrix as a `scipy.sparse.csc_matrix` that shares the arrays."""
        from scipy.sparse import csc_matrix

        matrix = csc_matrix((self.data, self.indices, self.indptr), shape=self.shape)
        matrix.has_sorted_indices = True
        return matrix

    def to_dense(self) -> NDArray[np.float64]:
        """Return the matrix as a dense array."""
        dense = np.zeros(self.shape)
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.indptr))
        dense[self.indices, columns] = self.data
        return dense

    def __repr__(self) -> str:
        return f"<CSC: {self.shape[0]} x {self.shape[1]}, {self.nnz} entries>"


@dataclass(frozen=True)
class StaticReport:
    """What a static solution took.

    Parameters
    ----------
    iterations
        Newton iterations, over all load steps.
    load_steps
        Load steps.
    factorizations
        Factorizations of the tangent.
    shifted
        Iterations in which the tangent was not positive definite and had to be shifted:
        a sign of buckling or of a load beyond what the solid bears.
    residual
        Norm of the last residual, relative to that of load and reactions.
    """

    iterations: int
    load_steps: int
    factorizations: int
    shifted: int
    residual: float


def _fixed_nodes(fixed: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """Return ascending node indices from a mask (n,) or indices; C checks them again."""
    if fixed is None:
        return np.zeros(0, dtype=np.int64)
    array = np.asarray(fixed)
    if array.ndim != 1:
        raise InputError(
            f"fixed must be a mask of shape ({n},) or a list of node indices, got shape "
            f"{array.shape}"
        )
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise InputError(
                f"fixed is a mask of shape {array.shape}; one for this mesh has shape ({n},)"
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"fixed must be bools or integers, got dtype {array.dtype}")
    bad = np.flatnonzero((array < 0) | (array >= n))
    if bad.size:
        k = bad[0]
        raise InputError(f"fixed[{k}] is {array[k]}; nodes are numbered 0 to {n - 1}")
    return np.unique(array).astype(np.int64)


def _materials(
    mesh: Mesh, material: StVK | Mapping[int, StVK]
) -> tuple[dict[int, StVK], NDArray[np.int64]]:
    """Return the material of each region and, for each element, its place among them."""
    regions = np.unique(mesh.regions)
    if isinstance(material, StVK):
        materials = {int(region): material for region in regions}
    elif isinstance(material, Mapping):
        materials = {}
        for region, one in material.items():
            if not isinstance(one, StVK):
                raise InputTypeError(
                    f"material[{region!r}] must be an StVK, got {type(one).__name__}"
                )
            try:
                materials[operator.index(region)] = one
            except TypeError:
                raise InputTypeError(
                    f"material has the key {region!r}; regions are integers"
                ) from None
        names = ", ".join(map(str, regions[:10])) + (", ..." if len(regions) > 10 else "")
        for region in regions:
            if int(region) not in materials:
                raise InputError(
                    f"material has no entry for region {region}; the mesh has regions {names}"
                )
        extra = sorted(set(materials) - set(regions.tolist()))
        if extra:
            raise InputError(
                f"material has an entry for region {extra[0]}, which no element is of; the mesh "
                f"has regions {names}"
            )
        materials = dict(sorted(materials.items()))
    else:
        raise InputTypeError(
            f"material must be an StVK or a dict from region to StVK, got "
            f"{type(material).__name__}"
        )
    return materials, np.searchsorted(regions, mesh.regions)


class Solid:
    """A St.Venant-Kirchhoff solid on a mesh; immutable, to be shared by threads.

    Displacements and forces are arrays (n, 3); a flat (3n,) is accepted. Degrees of
    freedom of matrices are numbered 3 node + axis. Energies, forces and tangents are
    those of the whole solid: fixed nodes matter to `solve_static`, modes and time
    integration only. Results have the same bits for any number of threads.

    Parameters
    ----------
    mesh
        Tetrahedra or hexahedra.
    material
        One material, or a dict with one for each region of the mesh.
    fixed
        Nodes that do not move: a mask of shape (n,) or node indices.
    quadrature
        Gauss points per axis of a hexahedron. 2 (default) is what most finite element
        programs use, for the mass as well; 3 is exact on parallelepipeds. Tetrahedra
        are integrated exactly in any case.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; regions and materials do not
        match.
    MeshError
        The Jacobian of an element is not positive at a quadrature point.
    """

    __slots__ = ("__weakref__", "_core", "_last_static_report", "_materials", "_mesh")

    def __init__(
        self,
        mesh: Mesh,
        material: StVK | Mapping[int, StVK],
        fixed: ArrayLike | None = None,
        quadrature: int | None = None,
    ) -> None:
        if not isinstance(mesh, Mesh):
            raise InputTypeError(
                f"mesh must be a Mesh, got {type(mesh).__name__}; make one with "
                "Mesh(nodes, elements), read_mesh(path) or voxelize(surface)"
            )
        if quadrature is None:
            quadrature = 2
        if isinstance(quadrature, bool) or quadrature not in (2, 3):
            raise InputError(f"quadrature must be 2, 3 or None, got {quadrature!r}")
        self._mesh = mesh
        self._materials, element_material = _materials(mesh, material)
        table = [(*one.lame, one.density) for one in self._materials.values()]
        nodes = _fixed_nodes(fixed, mesh.n_nodes)
        self._core = _core.Solid(mesh._core, table, element_material, nodes, int(quadrature))
        self._last_static_report: StaticReport | None = None

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self._mesh

    @property
    def materials(self) -> dict[int, StVK]:
        """The material of each region."""
        return dict(self._materials)

    @property
    def material(self) -> StVK:
        """The material of a solid that has only one.

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
        """Nodes that are not fixed, ascending, read-only int32."""
        return self._core.free

    @property
    def n_dofs(self) -> int:
        """Number of degrees of freedom, fixed ones included: 3n."""
        return 3 * self._mesh.n_nodes

    @property
    def quadrature(self) -> int:
        """Gauss points per axis of an element (1 for tetrahedra)."""
        return {1: 1, 8: 2, 27: 3}[self._core.n_gauss]

    @property
    def total_mass(self) -> float:
        """Mass [kg]."""
        return float(self._core.lumped.sum())

    @property
    def volume(self) -> float:
        """Volume at rest [m^3]."""
        return self._core.volume

    def mass(self, lumped: bool = False) -> CSC:
        """Return the mass matrix [kg], (3n, 3n).

        Parameters
        ----------
        lumped
            The diagonal matrix of the row sums, instead of the consistent one.
        """
        return CSC(*self._core.mass(bool(lumped)), (self.n_dofs, self.n_dofs))

    def stiffness(self, u: ArrayLike | None = None) -> CSC:
        """Return the tangent stiffness dR/du [N/m], (3n, 3n), both triangles.

        Parameters
        ----------
        u
            Displacements [m], (n, 3); None: at rest.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape or a value that is not finite.
        """
        return CSC(*self._core.stiffness(u, threads()), (self.n_dofs, self.n_dofs))

    def internal_force(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return the internal forces R(u) = dW/du [N], (n, 3).

        They stand on the left of M u'' + R(u) = f: opposite to the forces with which the
        solid pulls its nodes back (Barbic 2007, equation 2.5).

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape or a value that is not finite.
        """
        return self._core.internal_force(u, threads())

    def strain_energy(self, u: ArrayLike) -> float:
        """Return the strain energy W(u) [J].

        Parameters
        ----------
        u
            Displacements [m], (n, 3).

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape or a value that is not finite.
        """
        return self._core.strain_energy(u, threads())

    def hessian_product(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return (H:a) b, the second derivative of R at rest along a and b, (n, 3).

        That is d2/ds dt R(s a + t b) at s = t = 0, symmetric in `a` and `b`: what modal
        derivatives are made of (Barbic 2007, section 2.8).

        Parameters
        ----------
        a, b
            Displacements [m], (n, 3).

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape or a value that is not finite.
        """
        pair = [_field(x, name, self._mesh.n_nodes) for x, name in ((a, "a"), (b, "b"))]
        products = self._core.hessian_product(pair[0], pair[1], None, threads())
        return products.reshape(-1, 3)

    def solve_static(
        self,
        force: ArrayLike | None = None,
        tol: float = 1e-10,
        steps: int = 1,
        *,
        prescribed: ArrayLike | None = None,
        u0: ArrayLike | None = None,
        max_iterations: int = 200,
        progress: Progress = False,
    ) -> NDArray[np.float64]:
        """Return the displacements at which internal forces balance dead loads.

        Newton-Raphson; steps are shortened until the potential energy falls, and the
        tangent is shifted where it is not positive definite. `static_report` tells what
        it took. Where several equilibria exist, loads applied in more steps follow the
        branch that starts at rest more closely. Nothing breaks the symmetry of a solid
        and its loads: beyond a critical load the result may be an equilibrium that is
        not stable.

        Parameters
        ----------
        force
            Loads [N], (n, 3), constant in direction; those on fixed nodes have no
            effect. None: no loads.
        tol
            Bound on the residual at the free nodes, relative to load and reactions.
        steps
            The load and the prescribed displacements are applied in so many equal parts.
        prescribed
            Displacements [m], (n, 3), of which those of the fixed nodes count. None: 0.
        u0
            Displacements [m] to start from, (n, 3); default: rest.
        max_iterations
            Newton iterations allowed in each step.
        progress
            True for a progress bar, or a callable ``f(done, total)`` in load steps.

        Returns
        -------
        (n, 3) float64 array
            Displacements [m].

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong shape or value.
        MeshError
            Some part of the solid is not held; the message names it.
        SingularMatrixError
            The stiffness at rest is singular.
        ConvergenceError
            No equilibrium was found; the message tells the iterations and the residual.
        """
        with callback(progress, "statics") as call:
            u, report = self._core.solve_static(
                force,
                prescribed,
                u0,
                number(tol, "tol"),
                count(steps, "steps"),
                count(max_iterations, "max_iterations"),
                call,
                threads(),
            )
        self._last_static_report = StaticReport(**report)  # type: ignore[arg-type]
        return u

    @property
    def static_report(self) -> StaticReport | None:
        """What the last successful `solve_static` took; None before the first."""
        return self._last_static_report

    def linear_modes(self, k: int, progress: Progress = False) -> Modes:
        """Return the k lowest vibration modes; see `reducedfem.modes.linear_modes`."""
        from reducedfem import modes  # that module needs this one

        return modes.linear_modes(self, k, progress)

    def modal_derivatives(
        self, modes: Modes | ArrayLike, progress: Progress = False
    ) -> NDArray[np.float64]:
        """Return the derivatives of modes; see `reducedfem.modes.modal_derivatives`."""
        from reducedfem import modes as room  # that module needs this one

        return room.modal_derivatives(self, modes, progress)

    def __repr__(self) -> str:
        return f"<Solid on {self._mesh!r}, {len(self.fixed)} nodes fixed>"


def _field(x: ArrayLike, name: str, n: int) -> NDArray[Any]:
    """Return an array of shape (1, n, 3); other shapes than (n, 3) and (3n,) are refused."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise InputTypeError(f"{name} must be an array of numbers") from None
    if array.shape not in ((n, 3), (3 * n,)):
        raise InputError(f"{name} must have shape ({n}, 3) or ({3 * n},), got {array.shape}")
    return array.reshape(1, n, 3)
