"""Strain-rate damping of solids, and its reduction to a basis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, fields, finite_result, number
from reducedfem.base.run import Progress, callback, threads
from reducedfem.base.sparse import CSC
from reducedfem.errors import InputError, InputTypeError
from reducedfem.material.laws import LinearElastic
from reducedfem.reduction.basis import Basis
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping, require_dissipative
from reducedfem.solid.held import require_held
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["StrainRateDamping"]


def _by_region(
    value: float | Mapping[int, float], name: str, regions: list[int]
) -> NDArray[np.float64]:
    """Return one number per region, given as one for all regions or as a dict."""
    if not isinstance(value, Mapping):
        return np.full(len(regions), number(value, name))
    for region in value:
        if region not in regions:
            raise InputError(
                f"{name} has an entry for region {region}, to which no element belongs"
            )
    for region in regions:
        if region not in value:
            raise InputError(f"{name} has no entry for region {region}")
    return np.array([number(value[region], f"{name}[{region}]") for region in regions])


class StrainRateDamping:
    """Viscous damping of a solid by its strain rate; immutable, may be shared by threads.

    The stress S_D = phi tr(E') I + 2 psi E' is added to the elastic stress, where E' is the rate of
    Green's strain (Barbic 2007, equations 2.34 to 2.38). The force f = D(u) v is linear in the
    velocity v; D is symmetric, positive semidefinite and a quadratic polynomial of u. It does not
    resist rigid motion, unlike mass damping, and dissipates in every deformed state, unlike
    Rayleigh stiffness damping.

    Parameters
    ----------
    solid
        The solid.
    phi, psi
        Viscosities [Pa s]: one number, or a dict from region to number. ``psi >= 0`` and
        ``3 phi + 2 psi >= 0``; see also `proportional`.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value; regions do not match.

    Examples
    --------
    >>> damping = rf.StrainRateDamping(solid, phi=20.0, psi=10.0)  # doctest: +SKIP
    >>> sim = rf.ImplicitNewmark(solid, 1e-3, strain_rate=damping)  # doctest: +SKIP
    >>> reduced = rf.reduce(solid, basis, strain_rate=damping)  # doctest: +SKIP
    >>> fast = rf.ImplicitNewmark(reduced, 1e-3)  # doctest: +SKIP
    """

    __slots__ = ("__weakref__", "_solid", "_viscosity")

    def __init__(
        self, solid: Solid, phi: float | Mapping[int, float], psi: float | Mapping[int, float]
    ) -> None:
        require_solid(solid)
        regions = list(solid.materials)
        table = np.stack([_by_region(phi, "phi", regions), _by_region(psi, "psi", regions)], axis=1)
        for region, (bulk, shear) in zip(regions, table.tolist(), strict=True):
            require_dissipative(bulk, shear, region)
        table.flags.writeable = False
        self._solid = solid
        self._viscosity = table

    @classmethod
    def proportional(cls, solid: Solid, beta: float) -> StrainRateDamping:
        """Return the damping with phi = beta lambda and psi = beta mu in each region.

        At rest its matrix is beta times the stiffness, so small motions are damped as by Rayleigh
        damping (0, beta): a mode of frequency f [Hz] has the damping ratio pi f beta. The penalty
        stiffness between cut cells is not damped.

        Parameters
        ----------
        solid
            The solid, of materials with Lame's constants: any but `LinearElastic`.
        beta
            Ratio of viscosity to elastic modulus [s], at least 0.

        Returns
        -------
        StrainRateDamping

        Raises
        ------
        InputError, InputTypeError
            `beta` is negative, not finite or not a number; a material is a `LinearElastic`, which
            has no lambda and mu.
        """
        require_solid(solid)
        factor = number(beta, "beta")
        if not factor >= 0.0:
            raise InputError(f"beta must be >= 0, got {factor:g}: it would add energy")
        phi, psi = {}, {}
        for region, material in solid.materials.items():
            if isinstance(material, LinearElastic):
                raise InputTypeError(
                    f"the material of region {region} is a {type(material).__name__}, which has "
                    "no Lame constants lambda and mu: give phi and psi instead"
                )
            lam, mu = material.lame
            phi[region], psi[region] = factor * lam, factor * mu
        return cls(solid, phi, psi)

    @property
    def solid(self) -> Solid:
        """The solid."""
        return self._solid

    @property
    def phi(self) -> dict[int, float]:
        """Viscosity phi of each region [Pa s]."""
        return dict(zip(self._solid.materials, self._viscosity[:, 0].tolist(), strict=True))

    @property
    def psi(self) -> dict[int, float]:
        """Viscosity psi of each region [Pa s]."""
        return dict(zip(self._solid.materials, self._viscosity[:, 1].tolist(), strict=True))

    def force(self, u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """Return the damping force f = D(u) v [N], (n, 3), with the sign of R(u).

        Parameters
        ----------
        u, v
            Displacements [m] and velocities [m/s], (n, 3).

        Returns
        -------
        (n, 3) float64 array
            Forces [N], also at fixed nodes.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a value that is not finite, or is so large that the
            result is not finite.
        """
        return finite_result(self._evaluate(u, v)[1], "force", "u or v")

    def power(self, u: ArrayLike, v: ArrayLike) -> float:
        """Return the dissipated power v.f [W], at least 0.

        Parameters
        ----------
        u, v
            Displacements [m] and velocities [m/s], (n, 3).

        Returns
        -------
        float
            Power [W].

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a value that is not finite, or is so large that the
            result is not finite.
        """
        return finite_result(self._evaluate(u, v)[0], "power", "u or v")

    def _evaluate(self, u: ArrayLike, v: ArrayLike) -> tuple[float, NDArray[np.float64]]:
        return _core.solid_damping(
            self._solid._core, self._viscosity, array_like(u, "u"), array_like(v, "v"), threads()
        )

    def matrix(self, u: ArrayLike | None = None) -> CSC:
        """Return the damping matrix D(u) [N s/m], (3n, 3n), both triangles.

        Parameters
        ----------
        u
            Displacements [m], (n, 3); None: at rest.

        Returns
        -------
        CSC
            Symmetric positive semidefinite; the derivative of `force` by the velocity.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite.
        """
        data, rows, columns = _core.solid_damping_matrix(
            self._solid._core, self._viscosity, array_like(u, "u"), threads()
        )
        finite_result(data, "matrix", "u")
        size = self._solid.n_dofs
        return CSC(data, rows, columns, (size, size))

    def reduce(
        self, basis: ReducedSolid | Basis | ArrayLike, *, progress: Progress = None
    ) -> ReducedStrainRateDamping:
        """Return this damping in the span of a basis: D~(q) = U^T D(U q) U for every q.

        D~ is a quadratic polynomial of q; its coefficients follow from a Gram matrix of strains
        over the quadrature points (Barbic 2007, section 2.7). Use the result in
        `ReducedSolid.with_strain_rate` or in a single simulation; `reducedfem.reduce` with
        ``strain_rate`` creates a model that includes it.

        Parameters
        ----------
        basis
            A reduced model of the same solid, or a basis as in `reducedfem.reduce`; r at most
            128.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        ReducedStrainRateDamping

        Raises
        ------
        InputError, InputTypeError
            The basis has a wrong shape, values that are not finite, too many vectors, or
            moves a fixed node.
        """
        if isinstance(basis, ReducedSolid):
            given: ArrayLike = basis.basis
        else:
            given = basis.vectors if isinstance(basis, Basis) else basis
        vectors = fields(given, "basis", self._solid.mesh.n_nodes)
        require_held(self._solid._core, vectors, "basis")
        with callback(progress, "damping") as tell:
            core = _core.reduce_damping(
                self._solid._core, vectors, self._viscosity, tell, threads()
            )
        return ReducedStrainRateDamping(core, self.phi, self.psi)

    def __repr__(self) -> str:
        return f"<StrainRateDamping: phi = {self.phi}, psi = {self.psi}>"


@overload
def damping_argument(
    strain_rate: StrainRateDamping | ReducedStrainRateDamping | None, system: ReducedSolid
) -> _core.Damping | None: ...


@overload
def damping_argument(
    strain_rate: StrainRateDamping | ReducedStrainRateDamping | None,
    system: ReducedSolid | ProjectedSolid | Solid | SecondOrderSystem,
) -> _core.Damping | NDArray[np.float64] | None: ...


def damping_argument(
    strain_rate: StrainRateDamping | ReducedStrainRateDamping | None,
    system: ReducedSolid | ProjectedSolid | Solid | SecondOrderSystem,
) -> _core.Damping | NDArray[np.float64] | None:
    """Return the argument `strain_rate` in the form of the core; refuse other systems' damping.

    None selects the damping of a reduced model, if it has any.
    """
    if strain_rate is None:
        own = system.strain_rate if isinstance(system, ReducedSolid) else None
        return None if own is None else own._core
    if isinstance(system, SecondOrderSystem):
        raise InputError(
            "strain_rate must be None: a SecondOrderSystem has no strain; its damping is "
            "damping_matrix"
        )
    if isinstance(system, ReducedSolid):
        if isinstance(strain_rate, StrainRateDamping):
            raise InputTypeError(
                "strain_rate is the damping of a solid, but system is a reduced model: pass "
                "strain_rate.reduce(system)"
            )
        if not isinstance(strain_rate, ReducedStrainRateDamping):
            raise InputTypeError(
                "strain_rate must be a ReducedStrainRateDamping, got "
                f"{type(strain_rate).__name__}"
            )
        return strain_rate._core
    if not isinstance(strain_rate, StrainRateDamping):
        raise InputTypeError(
            f"strain_rate must be a StrainRateDamping, got {type(strain_rate).__name__}"
        )
    if strain_rate.solid is not (system if isinstance(system, Solid) else system.solid):
        raise InputError("strain_rate belongs to another solid: make a StrainRateDamping of system")
    return strain_rate._viscosity
