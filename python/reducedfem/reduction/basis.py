"""Motion bases from modal derivatives, or from arbitrary deformations by mass-PCA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import integer, reals
from reducedfem.base.executors import Executors, require_executor
from reducedfem.base.frozen import freeze, frozen_array, owned, thaw
from reducedfem.base.run import Progress, callback, threads
from reducedfem.drawing.card import Card, CardContents
from reducedfem.errors import InputError, InputTypeError
from reducedfem.reduction.identity import made_for
from reducedfem.solid.derivatives import derivatives_of, require_blocks
from reducedfem.solid.held import held_fields, mode_count, require_movable
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["Basis", "SystemBasis", "mass_pca", "modal_derivative_basis"]


GIVEN_VECTORS = "given vectors"  # default method in the provenance
_USUAL_R = 30


@dataclass(frozen=True, eq=False)
class Basis(Card):
    """A mass-orthonormal motion basis u = U q; arrays and provenance are read-only.

    Attributes
    ----------
    vectors
        The columns of U as fields over the nodes [kg^-1/2], read-only, shape (r, n, 3); zero
        at fixed nodes.
    singular_values
        Singular value of each vector, descending, shape (r,): the root of the sum of squares of
        the components of the deformations along it, in the mass metric.
    spectrum
        All singular values of the deformations; those after the first r measure the deformation
        that the basis does not represent.
    provenance
        Record of the origin of the basis: texts, numbers, and sequences and mappings of them. Its
        ``"method"`` is a text; default "given vectors".

    Raises
    ------
    InputError, InputTypeError
        An array has a wrong shape or dtype, or a value that is not finite; `provenance` is not a
        mapping, or contains values that files cannot store. Mass-orthonormality is not checked.
    """

    _axes: ClassVar[int] = 3

    vectors: NDArray[np.float64]
    singular_values: NDArray[np.float64]
    spectrum: NDArray[np.float64]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("vectors", "singular_values", "spectrum"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name))
        shape = self.vectors.shape
        r = shape[0] if shape else 0
        if len(shape) != self._axes or shape[2:] not in ((), (3,)) or r == 0:
            wanted = "(r, n, 3)" if self._axes == 3 else "(r, n)"
            raise InputError(f"vectors must have shape {wanted}, r at least 1, got {shape}")
        if self.singular_values.shape != (r,):
            raise InputError(
                f"singular_values must have shape ({r},), one for each of the vectors, "
                f"got {self.singular_values.shape}"
            )
        if self.spectrum.ndim != 1 or len(self.spectrum) < r:
            raise InputError(
                f"spectrum must have one axis with at least {r} values, got {self.spectrum.shape}"
            )
        if not isinstance(self.provenance, Mapping):
            raise InputTypeError(
                f"provenance must be a mapping, got {type(self.provenance).__name__}"
            )
        made = freeze({"method": GIVEN_VECTORS, **self.provenance})
        if not isinstance(made["method"], str):
            raise InputTypeError(
                f"provenance['method'] must be a text, got {type(made['method']).__name__}"
            )
        object.__setattr__(self, "provenance", made)

    @property
    def r(self) -> int:
        """Number of vectors."""
        return len(self.vectors)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """U as a matrix, shape (3n, r) or (n, r): a view of `vectors`, not a copy."""
        matrix: NDArray[np.float64] = self.vectors.reshape(self.r, -1).T
        return matrix

    def __len__(self) -> int:
        return self.r

    def __reduce__(self) -> tuple[type[Basis], tuple[Any, ...]]:
        provenance = thaw(self.provenance)
        return type(self), (self.vectors, self.singular_values, self.spectrum, provenance)

    def _card(self) -> CardContents:
        first, last = self.singular_values[0], self.singular_values[-1]
        over = "nodes" if self._axes == 3 else "unknowns"
        rows = [
            ("vectors", f"{self.r}"),
            (over, f"{self.vectors.shape[1]}"),
            ("method", self.provenance["method"]),
            ("singular values", f"{first:.3g} to {last:.3g}"),
        ]
        return CardContents(type(self).__name__, rows)

    def __repr__(self) -> str:
        method = self.provenance["method"]
        what = "nodes" if self._axes == 3 else "unknowns"
        kind = type(self).__name__
        # a force sketch with loads that were too large shows this in its repr
        failed = method == "force sketch" and self.provenance.get("failed")
        note = f", {failed} of {self.provenance.get('loads')} loads failed" if failed else ""
        return f"<{kind}: {self.r} vectors over {self.vectors.shape[1]} {what}, {method}{note}>"


@dataclass(frozen=True, eq=False, repr=False)
class SystemBasis(Basis):
    """A basis x = U q of a `SecondOrderSystem`: a `Basis` with `vectors` of shape (r, n).

    Attributes
    ----------
    vectors
        The columns of U, read-only, shape (r, n), U^T A U = 1.
    singular_values
        Singular value of each vector, descending, shape (r,).
    spectrum
        All singular values.
    provenance
        Record of the origin of the basis.

    Raises
    ------
    InputError, InputTypeError
        As for `Basis`.
    """

    _axes: ClassVar[int] = 2


def modal_derivative_basis(
    solid: Solid | SecondOrderSystem,
    k: int = 20,
    r: int | None = None,
    *,
    executor: Executors = None,
    progress: Progress = None,
) -> Basis:
    """Return a basis for large deformations made of linear modes and modal derivatives.

    Mass-PCA of the k lowest linear modes Psi_j, weighted by lambda_1 / lambda_j, and of all
    their modal derivatives Phi_ij (i <= j), scaled to unit mass norm and weighted by
    lambda_1^2 / (lambda_i lambda_j) (Barbic 2007, section 2.8.3, equation 2.52). Signs, and the
    choice among vectors of equal singular values, are those of `mass_pca`.

    For a free solid the modes are elastic, and the derivatives are Phi_ij for all i and j
    (section 2.8.7) without their rigid parts. U is then mass-orthogonal to the rigid motions,
    which `FreeBody` adds.

    Parameters
    ----------
    solid
        A solid that is free or has enough fixed nodes that no part of it can move rigidly; or a
        `SecondOrderSystem` with a Hessian (section 2.8.5), whose basis is (r, n).
    k
        Number of linear modes, at least 1 and less than the number of free degrees of freedom
        (minus six for a free solid).
    r
        Size of the basis, at most the rank of the k + k (k + 1) / 2 vectors (k + k k for a
        free solid). None: 30, or the rank if that is less.
    executor
        Workers that compute the derivatives of a solid with fixed nodes, as in `study`, with the
        same bits; each needs memory for a factor of the stiffness. None: this process.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Basis
        `vectors` U (r, n, 3) [kg^-1/2] with U^T M U = 1, M the consistent mass. `provenance`
        contains k, r and the frequencies [Hz].

    Raises
    ------
    InputError, InputTypeError
        `k` or `r` is out of range or not an int; if `r` is too large, the message gives the rank.
    MeshError
        A part of the solid can move rigidly, every node is fixed, or a free solid is not
        connected.
    SingularMatrixError
        The stiffness matrix is not positive definite.
    ConvergenceError
        The modes, or the derivatives of a free solid, did not converge.

    See Also
    --------
    Solid.linear_modes, Solid.modal_derivatives, mass_pca
    """
    size = _size(r)
    require_executor(executor)
    if isinstance(solid, SecondOrderSystem):
        if executor is not None:
            raise InputError("executor computes derivatives of a Solid only: leave executor out")
        modes, hessian = solid._mode_count(k), solid._require_hessian()
        with callback(progress, "basis") as tell:
            vectors, spectrum, frequencies = solid._core.derivative_basis(
                hessian, modes, size, r is None, tell, threads()
            )
    else:
        core = require_solid(solid)._core
        modes = mode_count(core, k)
        require_blocks(solid, executor)
        with callback(progress, "basis") as tell:
            if executor is not None:
                values, frequencies, shapes = _core.linear_modes(
                    core, modes, False, None, threads()
                )
                derivatives = derivatives_of(solid, shapes, executor, tell)
                vectors, spectrum = _core.basis_of_derivatives(
                    core, values, shapes, derivatives, size, None, threads(), r is None
                )
            else:
                vectors, spectrum, _, frequencies = _core.modal_derivative_basis(
                    core, modes, size, tell, threads(), r is None
                )
    provenance = {
        "method": "modal derivatives",
        "k": modes,
        "r": len(vectors),
        "frequencies_hz": frequencies,
        **made_for(solid),
    }
    return _basis(vectors, spectrum, provenance)


def mass_pca(
    solid: Solid | SecondOrderSystem,
    vectors: ArrayLike,
    r: int | None = None,
    weights: ArrayLike | None = None,
    *,
    progress: Progress = None,
) -> Basis:
    """Return the r mass-orthonormal vectors that best represent given deformations.

    Principal component analysis about the origin in the metric of the consistent mass
    (Barbic 2007, section 2.8.1): the r-dimensional space with the least sum of
    ``|d - U U^T M d|^2`` over the deformations d, where ``|x|^2 = x^T M x``.

    The entry of largest magnitude of each vector is positive (the first of entries that agree to
    1e-6). Vectors whose singular values agree to 1e-6 are defined up to a rotation among them;
    the chosen ones move the mass along a coordinate axis as much or as little as possible, along
    x first, then y, then z, as in `Solid.linear_modes`.

    Parameters
    ----------
    solid
        The solid, for its mass and fixed nodes; or a `SecondOrderSystem`, for its mass.
    vectors
        Deformations, such as modes or snapshots of a motion, shape (m, n, 3), in any common unit,
        zero at fixed nodes; for a `SecondOrderSystem` (m, n).
    r
        Size of the basis, at most the numerical rank of the deformations. None: 30, or the
        rank if that is less.
    weights
        Factor of each deformation, shape (m,); None: 1.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Basis
        `vectors` U (r, n, 3) [kg^-1/2] with U^T M U = 1.

    Raises
    ------
    InputError, InputTypeError
        An array has a wrong shape or a value that is not finite, a deformation moves a fixed node
        (the message names it), or `r` is out of range (the message gives the rank).
    MeshError
        Every node of the solid is fixed.
    """
    size = _size(r)
    factors = None if weights is None else reals(weights, "weights")
    if isinstance(solid, SecondOrderSystem):
        deformations = reals(vectors, "vectors")
        with callback(progress, "mass-PCA") as tell:
            found, spectrum = solid._core.mass_pca(
                deformations, factors, size, r is None, tell, threads()
            )
    else:
        core = require_solid(solid)._core
        deformations = held_fields(core, vectors, "vectors")
        require_movable(core)
        with callback(progress, "mass-PCA") as tell:
            found, spectrum = _core.mass_pca(
                core, deformations, factors, size, tell, threads(), r is None
            )
    provenance = {
        "method": "mass-PCA",
        "deformations": len(deformations),
        "weighted": weights is not None,
        "r": len(found),
        **made_for(solid),
    }
    return _basis(found, spectrum, provenance)


def _size(r: int | None) -> int:
    """Return the size in the form of the core, in which None selects the default."""
    return _USUAL_R if r is None else integer(r, "r")


def _basis(
    vectors: NDArray[np.float64], spectrum: NDArray[np.float64], provenance: dict[str, Any]
) -> Basis:
    singular_values = owned(spectrum[: len(vectors)].copy())
    kind = Basis if vectors.ndim == 3 else SystemBasis
    return kind(owned(vectors), singular_values, owned(spectrum), provenance)
