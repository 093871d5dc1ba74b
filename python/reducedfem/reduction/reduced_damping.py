"""Strain-rate damping of reduced models, without reference to the mesh."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, count, finite_result
from reducedfem.errors import InputError

__all__ = ["MAX_DAMPING_R", "ReducedStrainRateDamping", "require_dissipative"]

MAX_DAMPING_R = 128  # RF_DAMPING_MAX_R in csrc/polynomial/damping.h


def require_dissipative(phi: float, psi: float, region: int) -> None:
    """Refuse viscosities with which damping would add energy."""
    if not (psi >= 0.0 and 3.0 * phi + 2.0 * psi >= 0.0):
        raise InputError(
            f"phi = {phi:g}, psi = {psi:g} of region {region} would add energy: psi and 3 phi + "
            "2 psi must be >= 0"
        )


class ReducedStrainRateDamping:
    """Strain-rate damping f~ = D~(q) q' of a reduced model; created by `StrainRateDamping.reduce`.

    As part of a model (`ReducedSolid.strain_rate`) it is saved in its files and applied in all its
    simulations. D~ is exact for every q (Barbic 2007, section 2.7). Its cost is of the order of
    that of the reduced stiffness, see ``docs/time_integration.md``. Immutable, may be shared by
    threads.

    Attributes
    ----------
    r
        Number of reduced coordinates.
    phi, psi
        Viscosities of each region [Pa s].
    coefficients
        Coefficients of the polynomial D~(q), shape (m (m + 1) / 2,), m = r + r (r + 1) / 2.
    """

    __slots__ = ("__weakref__", "_core", "_phi", "_psi")

    def __init__(
        self, core: _core.Damping, phi: Mapping[int, float], psi: Mapping[int, float]
    ) -> None:
        self._core = core
        self._phi = MappingProxyType(dict(phi))
        self._psi = MappingProxyType(dict(psi))

    @property
    def r(self) -> int:
        """Number of reduced coordinates."""
        return self._core.r

    @property
    def phi(self) -> Mapping[int, float]:
        """Viscosity phi of each region [Pa s], read-only."""
        return self._phi

    @property
    def psi(self) -> Mapping[int, float]:
        """Viscosity psi of each region [Pa s], read-only."""
        return self._psi

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """Coefficients of the polynomial, read-only, shape (m (m + 1) / 2,).

        They are the lower triangle, row by row, of the Gram matrix of the strains
        dE/dq_i = sum_a p_a E_ia, p = (1, q), over the m = r + r (r + 1) / 2 pairs (0, b), then
        (a, b), 1 <= a <= b.
        """
        return self._core.coefficients

    def matrix(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the reduced damping matrix D~(q), (r, r).

        Parameters
        ----------
        q
            Reduced coordinates (r,).

        Returns
        -------
        (r, r) float64 array
            Symmetric positive semidefinite; in s^-1 for a mass-orthonormal basis.

        Raises
        ------
        InputError, InputTypeError
            `q` has a wrong shape, a value that is not finite, or is so large that the result
            is not finite.
        """
        return finite_result(self._core.matrix(array_like(q, "q")), "matrix", "q")

    def truncate(self, r: int) -> ReducedStrainRateDamping:
        """Return the damping of the first `r` coordinates, without recomputation.

        Parameters
        ----------
        r
            Number of coordinates, from 1 to that of this damping.

        Returns
        -------
        ReducedStrainRateDamping

        Raises
        ------
        InputError, InputTypeError
            `r` is out of range or not an int.
        """
        core = self._core.truncate(count(r, "r", self.r))
        return ReducedStrainRateDamping(core, self._phi, self._psi)

    def __reduce__(
        self,
    ) -> tuple[object, tuple[int, NDArray[np.float64], dict[int, float], dict[int, float]]]:
        return _restored, (self.r, np.array(self.coefficients), dict(self._phi), dict(self._psi))

    def __repr__(self) -> str:
        return f"<ReducedStrainRateDamping: r = {self.r}>"


def _restored(
    r: int,
    coefficients: NDArray[np.float64],
    phi: Mapping[int, float],
    psi: Mapping[int, float],
) -> ReducedStrainRateDamping:
    """Recreate a pickled damping from its coefficients."""
    return ReducedStrainRateDamping(_core.Damping(r, coefficients), phi, psi)
