"""Sparse matrices as results: plain arrays, independent of SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import reals
from reducedfem.base.run import threads
from reducedfem.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["CSC"]


@dataclass(frozen=True, eq=False)
class CSC:
    """A sparse matrix in compressed column form; ``matrix @ x`` multiplies.

    Parameters
    ----------
    data
        Stored entries, column by column, float64 (nnz,).
    indices
        Row of each entry, ascending within a column, int32 (nnz,).
    indptr
        First index of each column in `data` and `indices`, int32 (columns + 1,).
    shape
        Number of rows and columns.
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
        """Return the matrix as a SciPy matrix; SciPy must be installed.

        Returns
        -------
        scipy.sparse.csc_matrix
            Matrix that shares the arrays.
        """
        from scipy.sparse import csc_matrix

        matrix = csc_matrix((self.data, self.indices, self.indptr), shape=self.shape)
        matrix.has_sorted_indices = True
        return matrix

    def to_dense(self) -> NDArray[np.float64]:
        """Return the matrix as a dense array.

        Returns
        -------
        float64 array
            Dense matrix of shape `shape`.
        """
        dense = np.zeros(self.shape)
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.indptr))
        dense[self.indices, columns] = self.data
        return dense

    # makes ``array @ matrix`` an error instead of an elementwise product in NumPy
    __array_ufunc__ = None

    def __matmul__(self, other: ArrayLike) -> NDArray[np.float64]:
        """Return the product with a vector or a matrix.

        Parameters
        ----------
        other
            A vector (columns,) or a matrix (columns, k). A field at nodes, (n, 3), is the
            vector ``field.ravel()``.

        Returns
        -------
        float64 array
            Product, shape (rows,) or (rows, k).

        Raises
        ------
        InputError, InputTypeError
            `other` has a wrong shape or a value that is not finite, or the arrays of the matrix
            do not match.
        """
        x = reals(other, "other")
        rows, columns = self.shape
        if x.ndim not in (1, 2) or x.shape[0] != columns:
            hint = ""
            if x.ndim == 2 and x.size == columns:
                hint = ": pass its ravel(), a field as one vector"
            raise InputError(
                f"other must have shape ({columns},) or ({columns}, k), got {x.shape}{hint}"
            )
        table = x.reshape(columns, -1) if x.size else x.reshape(columns, x.shape[-1])
        y = _core.csc_product(self.data, self.indices, self.indptr, rows, table, threads())
        return y.reshape(rows, *x.shape[1:])

    def __repr__(self) -> str:
        return f"<CSC: {self.shape[0]} x {self.shape[1]}, {self.nnz} entries>"
