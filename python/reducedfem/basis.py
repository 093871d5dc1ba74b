"""Motion bases: from modal derivatives, or from any deformations by mass-PCA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import count
from reducedfem._run import Progress, callback, threads
from reducedfem.modes import _core_of
from reducedfem.solid import Solid

__all__ = ["Basis", "mass_pca", "modal_derivative_basis"]


@dataclass(frozen=True, eq=False)
class Basis:
    """A mass-orthonormal motion basis u = U q.

    Attributes
    ----------
    vectors
        The columns of U as fields over the nodes [kg^-1/2], read-only, shape (r, n, 3); zero
        at fixed nodes.
    singular_values
        Of each vector, descending, shape (r,): the root of the sum of squares that the
        deformations have along it, in the mass metric.
    spectrum
        All singular values of the deformations; what comes after the first r is what the
        basis leaves out.
    provenance
        How the basis was made: texts, numbers and lists of numbers only.
    """

    vectors: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    spectrum: NDArray[np.float64]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.vectors, self.singular_values, self.spectrum):
            array.flags.writeable = False
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    @property
    def r(self) -> int:
        """Number of vectors."""
        return len(self.vectors)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """U as a matrix, shape (3n, r): a view of `vectors`, not a copy."""
        matrix: NDArray[np.float64] = self.vectors.reshape(self.r, -1).T
        return matrix

    def __len__(self) -> int:
        return self.r

    def __repr__(self) -> str:
        method = self.provenance.get("method", "unknown origin")
        return f"<Basis: {self.r} vectors over {self.vectors.shape[1]} nodes, {method}>"


def modal_derivative_basis(
    solid: Solid, k: int = 20, r: int = 30, progress: Progress = False
) -> Basis:
    """Return the basis of large deformations that needs no example: modes and derivatives.

    Mass-PCA of the k lowest linear modes Psi_j, weighted by lambda_1 / lambda_j, and of all
    their modal derivatives Phi_ij (i <= j), scaled to unit mass norm and weighted by
    lambda_1^2 / (lambda_i lambda_j) (B07 section 2.8.3, eq. 2.52).

    Parameters
    ----------
    solid
        With enough fixed nodes that no part of it can move rigidly.
    k
        Number of linear modes, less than the number of free degrees of freedom.
    r
        Size of the basis, at most the rank of the k + k (k + 1) / 2 vectors.
    progress
        True for a bar, or a callable ``f(done, total)``.

    Returns
    -------
    Basis
        U with U^T M U = 1, M the consistent mass. Its `provenance` names k, r and the
        frequencies.

    Raises
    ------
    InputError, InputTypeError
        `k` or `r` is out of range or no int; the message of too large an `r` says the rank.
    MeshError
        A part of the solid is not held.
    SingularMatrixError
        The stiffness matrix is not positive definite.
    ConvergenceError
        The modes did not converge.

    See Also
    --------
    Solid.linear_modes, Solid.modal_derivatives, mass_pca
    """
    modes, size = count(k, "k"), count(r, "r")
    with callback(progress, "basis") as tell:
        vectors, spectrum, _, frequencies = _core.modal_derivative_basis(
            _core_of(solid), modes, size, tell, threads()
        )
    provenance = {
        "method": "modal derivatives",
        "k": modes,
        "r": size,
        "frequencies_hz": frequencies.tolist(),
    }
    return Basis(vectors, spectrum[:size].copy(), spectrum, provenance)


def mass_pca(
    solid: Solid,
    vectors: ArrayLike,
    r: int,
    weights: ArrayLike | None = None,
    progress: Progress = False,
) -> Basis:
    """Return the r mass-orthonormal directions that best hold the given deformations.

    Principal component analysis about the origin in the metric of the consistent mass
    (B07 section 2.8.1): of all r-dimensional spaces, the one with the least sum of
    ``|d - U U^T M d|^2`` with ``|x|^2 = x^T M x``.

    Parameters
    ----------
    solid
        Gives mass and fixed nodes.
    vectors
        Deformations, shape (m, n, 3), zero at fixed nodes: modes, snapshots of a motion, ...
    r
        Size of the basis, at most the numerical rank of the deformations.
    weights
        Factor of each deformation, shape (m,); default 1.
    progress
        True for a bar, or a callable ``f(done, total)``.

    Returns
    -------
    Basis
        U with U^T M U = 1. In each vector the entry of largest magnitude is positive.

    Raises
    ------
    InputError, InputTypeError
        A wrong shape, a value that is not finite, a deformation that moves a fixed node (the
        message names it), or `r` out of range (the message says the rank).
    """
    size = count(r, "r")
    with callback(progress, "mass-PCA") as tell:
        basis, spectrum = _core.mass_pca(_core_of(solid), vectors, weights, size, tell, threads())
    provenance = {
        "method": "mass-PCA",
        "deformations": int(np.shape(vectors)[0]),
        "weighted": weights is not None,
        "r": size,
    }
    return Basis(basis, spectrum[:size].copy(), spectrum, provenance)
