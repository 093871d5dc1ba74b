"""Sparse matrices as results: arrays only, so that SciPy is not needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["CSC"]


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
        """Return the matrix for SciPy.

        Returns
        -------
        scipy.sparse.csc_matrix
            It shares the arrays.
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
            Of shape `shape`.
        """
        dense = np.zeros(self.shape)
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.indptr))
        dense[self.indices, columns] = self.data
        return dense

    def __repr__(self) -> str:
        return f"<CSC: {self.shape[0]} x {self.shape[1]}, {self.nnz} entries>"
