"""Second-order systems given by matrices: modes, modal derivatives, bases, time integration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import count, finite_result, reals
from reducedfem.base.frozen import owned
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.solid.modes import Modes, SystemModes
from reducedfem.solid.sparse import CSC

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["SecondOrderSystem"]

Matrix = Union[CSC, ArrayLike, "scipy.sparse.spmatrix"]
HessianProduct = Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike]

_SYMMETRIC = 1e-10  # of the largest entry
# Hessian products by finite differences are symmetric to a few digits only.
_SYMMETRIC_PRODUCT = 1e-4


class SecondOrderSystem:
    """A system A x'' + B x' + C(x) = f about rest, C(0) = 0 (Barbic 2007, section 2.8.5).

    It is given by the mass A, the stiffness K = dC/dx at x = 0, the Hessian H of C at x = 0, and
    the damping B. `linear_modes` and `modal_derivatives` correspond to those of a `Solid`, and
    `modal_derivative_basis`, `mass_pca` and `pod_basis` accept the system in place of a solid;
    they ignore B. `ImplicitNewmark` and `CentralDifferences` integrate the linear system,
    C(x) = K x, and ignore H. Vectors have shape (n,), bases (r, n); units are the user's.
    Immutable, may be shared by threads.

    Parameters
    ----------
    mass, stiffness
        A and K, symmetric and positive definite, (n, n): a `CSC`, a SciPy sparse matrix or a dense
        array.
    hessian_product
        Function ``hessian_product(a, b)`` of two arrays (n,) that returns (H : a) b, that is
        d2/ds dt C(s a + t b) at s = t = 0, shape (n,). It must be symmetric in `a` and `b` and
        linear in each. It is called in the thread that requests derivatives; its exceptions are
        raised there. None: modal derivatives are not available.
    damping_matrix
        B, symmetric and positive semidefinite, in one of the forms above; None: zero.

    Raises
    ------
    InputError, InputTypeError
        A matrix is not square, not symmetric, or of another size than the others; a value is
        not finite; `hessian_product` is not symmetric or does not return shape (n,).
    SingularMatrixError
        The stiffness is not positive definite.
    """

    def __init__(
        self,
        mass: Matrix,
        stiffness: Matrix,
        hessian_product: HessianProduct | None = None,
        *,
        damping_matrix: Matrix | None = None,
    ) -> None:
        self._mass, mass_lower = _symmetric(mass, "mass")
        self._stiffness, stiffness_lower = _symmetric(stiffness, "stiffness")
        self._damping, damping_lower = None, None
        if damping_matrix is not None:
            self._damping, damping_lower = _symmetric(
                damping_matrix, "damping_matrix", definite=False
            )
        for name, matrix in (("stiffness", self._stiffness), ("damping_matrix", self._damping)):
            if matrix is not None and self._mass.shape != matrix.shape:
                raise InputError(
                    f"mass is {self._mass.shape}, but {name} is {matrix.shape}; they must be alike"
                )
        if self.n < 2:
            raise InputError("a system must have at least 2 unknowns, got 1")
        if hessian_product is not None and not callable(hessian_product):
            raise InputTypeError(
                f"hessian_product must be callable, got {type(hessian_product).__name__}"
            )
        self._hessian = hessian_product
        self._core = _core.SecondOrder(mass_lower, stiffness_lower, damping_lower, threads())
        if hessian_product is not None:
            _check_product(hessian_product, self.n)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self._mass.shape[0]

    @property
    def mass(self) -> CSC:
        """Mass matrix A with both triangles; arrays are read-only."""
        return self._mass

    @property
    def stiffness(self) -> CSC:
        """Stiffness matrix K with both triangles; arrays are read-only."""
        return self._stiffness

    @property
    def damping_matrix(self) -> CSC | None:
        """Damping matrix B with both triangles; arrays are read-only. None: zero."""
        return self._damping

    @property
    def hessian_product(self) -> HessianProduct | None:
        """Function given as `hessian_product`, or None."""
        return self._hessian

    def linear_modes(self, k: int, *, progress: Progress = None) -> SystemModes:
        """Return the k lowest modes about rest: K psi = lambda A psi (equation 2.59).

        Parameters
        ----------
        k
            Number of modes, at least 1 and less than the number of unknowns.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        SystemModes
            Frequencies (k,), in Hz if the unit of time is s, and shapes (k, n) with
            psi_i^T A psi_j = delta_ij.

        Raises
        ------
        InputError, InputTypeError
            `k` is out of range or not an int.
        SingularMatrixError
            The mass is not positive definite.
        ConvergenceError
            The iteration did not converge.
        """
        size = self._mode_count(k)
        with callback(progress, "linear modes") as tell:
            arrays = self._core.modes(size, tell, threads())
        return SystemModes(*map(owned, arrays))

    def modal_derivatives(
        self, modes: Modes | ArrayLike, *, progress: Progress = None
    ) -> NDArray[np.float64]:
        """Return the modal derivatives: K phi_ij = -(H : psi_j) psi_i = K phi_ji.

        As for solids (Barbic 2007, equations 2.47 and 2.55), they are the second derivatives of
        the static response to the loads sum_i A psi_i lambda_i p_i.

        Parameters
        ----------
        modes
            Modes, or k arbitrary directions, shape (k, n).
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        (k (k + 1) / 2, n) float64 array
            One row for each pair i <= j, in the order of ``numpy.triu_indices(k)``. Not
            normalised.

        Raises
        ------
        InputError, InputTypeError
            `modes` has a wrong shape or a value that is not finite; the system has no
            `hessian_product`, or its result is not an array (n,) of finite values.
        """
        hessian = self._require_hessian()
        directions = reals(modes.shapes if isinstance(modes, Modes) else modes, "modes")
        if directions.ndim != 2 or directions.shape[1] != self.n or len(directions) == 0:
            raise InputError(f"modes must have shape (k, {self.n}), got {directions.shape}")
        with callback(progress, "modal derivatives") as tell:
            found = self._core.derivatives(hessian, directions, tell, threads())
        return finite_result(found, "derivative", "modes")

    def _mode_count(self, k: int) -> int:
        return count(k, "k", self.n - 1, "unknowns less one")

    def _require_hessian(self) -> HessianProduct:
        if self._hessian is None:
            raise InputError("the system has no hessian_product, which modal derivatives need")
        return self._hessian

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._mass, self._stiffness, self._hessian, self._damping)

    def __repr__(self) -> str:
        without = "" if self._hessian is not None else ", no hessian_product"
        return f"<SecondOrderSystem: {self.n} unknowns{without}>"


def _restored(
    mass: CSC, stiffness: CSC, hessian: HessianProduct | None, damping: CSC | None
) -> SecondOrderSystem:
    return SecondOrderSystem(mass, stiffness, hessian, damping_matrix=damping)


def _triplets(
    matrix: Matrix, name: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], tuple[int, ...]]:
    """Return entries, rows, columns and shape of a matrix in one of the accepted forms."""
    if not isinstance(matrix, CSC) and hasattr(matrix, "tocsc"):
        sparse = matrix.tocsc().copy()  # tocsc may return the same object
        sparse.sum_duplicates()
        matrix = CSC(sparse.data, sparse.indices, sparse.indptr, tuple(sparse.shape))
    if isinstance(matrix, CSC):
        data = reals(matrix.data, f"{name}.data")
        rows = np.asarray(matrix.indices, dtype=np.int64)
        pointer = np.asarray(matrix.indptr, dtype=np.int64)
        shape = matrix.shape
        good = (
            len(shape) == 2
            and pointer.shape == (shape[1] + 1,)
            and pointer[0] == 0
            and (np.diff(pointer) >= 0).all()
            and data.shape == rows.shape == (pointer[-1],)
            and ((rows >= 0) & (rows < shape[0])).all()
        )
        if not good:
            raise InputError(f"{name} is no valid sparse matrix of shape {shape}")
        return data, rows, np.repeat(np.arange(shape[1]), np.diff(pointer)), shape
    dense = reals(matrix, name)
    if dense.ndim != 2:
        raise InputError(f"{name} must have shape (n, n), got {dense.shape}")
    rows, columns = np.nonzero(dense)
    return dense[rows, columns], rows, columns, dense.shape


def _symmetric(
    matrix: Matrix, name: str, *, definite: bool = True
) -> tuple[CSC, tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]]:
    """Return a symmetric matrix and its lower triangle in the form that the core requires."""
    data, rows, columns, shape = _triplets(matrix, name)
    n = shape[0]
    if shape != (n, n) or n == 0:
        raise InputError(f"{name} must have shape (n, n), got {shape}")
    by_column, by_row = np.lexsort((rows, columns)), np.lexsort((columns, rows))
    twice = (np.diff(rows[by_column]) == 0) & (np.diff(columns[by_column]) == 0)
    if twice.any():
        at = by_column[int(np.flatnonzero(twice)[0])]
        raise InputError(f"{name} has the entry ({rows[at]}, {columns[at]}) twice")
    # entries of the transposed matrix, sorted like those of the matrix
    alike = np.array_equal(rows[by_column], columns[by_row]) and np.array_equal(
        columns[by_column], rows[by_row]
    )
    size = float(np.abs(data).max(initial=0.0))
    if not alike:
        raise InputError(f"{name} is not symmetric: entries without a partner across the diagonal")
    apart = np.abs(data[by_column] - data[by_row])
    if not (apart <= _SYMMETRIC * size).all():
        at = by_column[int(apart.argmax())]
        raise InputError(
            f"{name} is not symmetric: its entries at ({rows[at]}, {columns[at]}) and across the "
            f"diagonal differ by {apart.max():.3g}"
        )
    missing = np.setdiff1d(np.arange(n), rows[rows == columns])
    if missing.size and definite:
        raise InputError(
            f"{name} has no entry on the diagonal at {missing[0]}; it must be positive definite"
        )
    data, rows, columns = data[by_column], rows[by_column], columns[by_column]
    if missing.size:  # the core requires stored diagonal entries
        data = np.append(data, np.zeros(len(missing)))
        rows, columns = np.append(rows, missing), np.append(columns, missing)
        order = np.lexsort((rows, columns))
        data, rows, columns = data[order], rows[order], columns[order]
    whole = CSC(*_compressed(data, rows, columns, n), (n, n))
    lower = rows >= columns
    return whole, _compressed(data[lower], rows[lower], columns[lower], n)


def _compressed(
    data: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    pointer = np.searchsorted(columns, np.arange(n + 1)).astype(np.int32)
    arrays = (data.copy(), rows.astype(np.int32), pointer)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _check_product(product: HessianProduct, n: int) -> None:
    """Refuse a Hessian product that has a wrong shape or is not symmetric in its arguments."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1.0, 1.0, (2, n))
    results = []
    for first, second in ((a, b), (b, a)):
        result = reals(product(first.copy(), second.copy()), "hessian_product(a, b)")
        if result.shape != (n,):
            raise InputError(f"hessian_product(a, b) must have shape ({n},), got {result.shape}")
        results.append(result)
    size = max(float(np.abs(result).max()) for result in results)
    apart = float(np.abs(results[0] - results[1]).max())
    if not apart <= _SYMMETRIC_PRODUCT * size:
        raise InputError(
            "hessian_product is not symmetric: with its two vectors exchanged it differs by "
            f"{apart:.3g} of {size:.3g}"
        )
