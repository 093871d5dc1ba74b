"""Linear vibration modes and modal derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import count
from reducedfem._run import Progress, callback, threads
from reducedfem.errors import InputTypeError
from reducedfem.solid import Solid

__all__ = ["Modes", "linear_modes", "modal_derivatives"]


def _core_of(solid: Solid) -> _core.Solid:
    if not isinstance(solid, Solid):
        raise InputTypeError(f"solid must be a reducedfem.Solid, got {type(solid).__name__}")
    return solid._core


@dataclass(frozen=True, eq=False)
class Modes:
    """Linear vibration modes, ascending in frequency; what `Solid.linear_modes` returns.

    Attributes
    ----------
    eigenvalues
        lambda = (2 pi frequency)^2 [1/s^2], shape (k,).
    frequencies
        [Hz], shape (k,).
    shapes
        Mass-orthonormal mode shapes [kg^-1/2], read-only, shape (k, n, 3); zero at fixed
        nodes.
    """

    eigenvalues: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    shapes: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (self.eigenvalues, self.frequencies, self.shapes):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        low, high = self.frequencies[0], self.frequencies[-1]
        return f"<Modes: {len(self)} from {low:.6g} to {high:.6g} Hz>"


def linear_modes(solid: Solid, k: int, progress: Progress = False) -> Modes:
    """Return the k lowest vibration modes of a held solid about rest.

    They solve K psi = lambda M psi with the stiffness K at rest and the consistent mass M
    (B07 eq. 2.43). The method is block Lanczos with shift-invert on a sparse Cholesky factor
    of K. Frequencies are good to about 1e-11.

    Shapes are unique where mathematics lets them be: the entry of largest magnitude is
    positive (of entries equal to 1e-6, the first). Modes whose eigenvalues agree to 1e-6 may
    be mixed freely; of them those are chosen that move the mass along a coordinate axis as
    much or as little as possible, the ones along x first, then y, then z.

    Parameters
    ----------
    solid
        With enough fixed nodes that no part of it can move rigidly.
    k
        Number of modes, less than the number of free degrees of freedom.
    progress
        True for a bar, or a callable ``f(done, total)``.

    Returns
    -------
    Modes
        Frequencies (k,) [Hz] and mass-orthonormal shapes (k, n, 3).

    Raises
    ------
    InputError, InputTypeError
        `k` is out of range or no int.
    MeshError
        A part of the solid is not held.
    SingularMatrixError
        The stiffness matrix is not positive definite.
    ConvergenceError
        The iteration did not converge.
    """
    size = count(k, "k")
    with callback(progress, "linear modes") as tell:
        eigenvalues, frequencies, shapes = _core.linear_modes(
            _core_of(solid), size, tell, threads()
        )
    return Modes(eigenvalues, frequencies, shapes)


def modal_derivatives(
    solid: Solid, modes: Modes | ArrayLike, progress: Progress = False
) -> NDArray[np.float64]:
    """Return the modal derivatives of a held solid.

    Phi_ij solves K Phi_ij = -(H : Psi_j) Psi_i with H the derivative of the stiffness at rest
    (B07 eq. 2.47): the second derivative of the static response to loads along the modes
    (eq. 2.55). Inertia is neglected, so Phi_ij = Phi_ji. One factorization serves all.

    Parameters
    ----------
    solid
        With enough fixed nodes that no part of it can move rigidly.
    modes
        Modes, or any k directions, shape (k, n, 3), zero at fixed nodes.
    progress
        True for a bar, or a callable ``f(done, total)``.

    Returns
    -------
    ndarray
        Shape (k (k + 1) / 2, n, 3) in kg^-1 m^-1: the pairs i <= j row by row, that is
        00 01 .. 0(k-1) 11 12 .., as ``numpy.triu_indices(k)`` lists them. Not normalised.

    Raises
    ------
    InputError, InputTypeError
        `modes` has a wrong shape, values that are not finite, or moves a fixed node.
    MeshError
        A part of the solid is not held.
    SingularMatrixError
        The stiffness matrix is not positive definite.
    """
    shapes = modes.shapes if isinstance(modes, Modes) else modes
    with callback(progress, "modal derivatives") as tell:
        return _core.modal_derivatives(_core_of(solid), shapes, tell, threads())
