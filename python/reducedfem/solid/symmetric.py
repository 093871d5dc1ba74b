"""Symmetric matrices as arguments, in each of the forms that users have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import reals
from reducedfem.base.sparse import CSC
from reducedfem.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["SYMMETRIC", "Matrix", "symmetric"]

Matrix = Union[CSC, ArrayLike, "scipy.sparse.spmatrix"]

SYMMETRIC = 1e-10  # of the largest entry


def _triplets(
    matrix: Matrix, name: str, whole: bool
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
    rows, columns = np.nonzero(np.ones_like(dense) if whole else dense)
    return dense[rows, columns], rows, columns, dense.shape


def symmetric(
    matrix: Matrix, name: str, *, definite: bool = True, whole: bool = False
) -> tuple[CSC, tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]]:
    """Return a symmetric matrix and its lower triangle in the form that the core requires.

    definite: its diagonal has no gaps. whole: a dense matrix has entries where it is zero, too.
    """
    data, rows, columns, shape = _triplets(matrix, name, whole)
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
    if not (apart <= SYMMETRIC * size).all():
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
    both = CSC(*_compressed(data, rows, columns, n), (n, n))
    lower = rows >= columns
    return both, _compressed(data[lower], rows[lower], columns[lower], n)


def _compressed(
    data: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    pointer = np.searchsorted(columns, np.arange(n + 1)).astype(np.int32)
    arrays = (data.copy(), rows.astype(np.int32), pointer)
    for array in arrays:
        array.flags.writeable = False
    return arrays
