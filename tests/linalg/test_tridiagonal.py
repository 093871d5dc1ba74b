"""Reduction of symmetric matrices to tridiagonal form against NumPy, all widths."""

from __future__ import annotations

import numpy as np
import pytest

from ckernels import PAD, SIMD, Block, library, require

EPS = np.finfo(float).eps


def square(matrix: np.ndarray) -> Block:
    n, ld = len(matrix), (len(matrix) + PAD - 1) // PAD * PAD
    block = Block(ld * ld, 0.0)
    block.x.reshape(ld, ld)[:n, :n] = matrix
    return block


def reduced(simd: int, matrix: np.ndarray):
    """Return T, the block with the reflectors, and Q by its action on unit vectors."""
    lib, n = library(), len(matrix)
    ld = (n + PAD - 1) // PAD * PAD
    a, work = square(matrix), Block(2 * ld, 0.0)
    diagonal, beside = Block(ld, 0.0), Block(ld, 0.0)
    lib.rf_tridiagonal_reduce_rt(
        simd, n, a.address, ld, diagonal.address, beside.address, work.address
    )
    turns = []
    for name in ("rf_tridiagonal_back_rt", "rf_tridiagonal_into_rt"):
        columns = []
        for unit in np.eye(n):
            x = Block(ld, 0.0)
            x.x[:n] = unit
            getattr(lib, name)(simd, n, a.address, ld, x.address)
            x.check()
            assert not x.x[n:].any()
            columns.append(x.x[:n].copy())
        turns.append(np.array(columns).T)
    for block in (a, work, diagonal, beside):
        block.check()
    d, e = diagonal.x[:n], beside.x[: n - 1]
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1), *turns


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", [*range(1, 20), 30, 31, 32, 33, 60, 64, 71])
def test_forms_are_similar_to_the_matrix(rng, simd, n):
    require(simd)
    matrix = rng.normal(size=(n, n)) * np.geomspace(1.0, 1e3, n)
    matrix += matrix.T
    form, q, into = reduced(simd, matrix)
    size = np.abs(matrix).max()
    np.testing.assert_allclose(into, q.T, rtol=0, atol=4 * n * EPS)
    np.testing.assert_allclose(q @ q.T, np.eye(n), rtol=0, atol=8 * n * EPS)
    np.testing.assert_allclose(q @ form @ q.T, matrix, rtol=0, atol=30 * n * EPS * size)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
def test_diagonal_tridiagonal_and_zero_matrices(simd):
    require(simd)
    for matrix in (
        np.zeros((9, 9)),
        np.diag(np.arange(9.0)),
        np.diag(np.ones(9)) + np.diag(np.ones(8), 1) + np.diag(np.ones(8), -1),
        np.ones((9, 9)),
        1e-140 * np.ones((9, 9)),
    ):
        form, q, _ = reduced(simd, matrix)
        np.testing.assert_allclose(q @ form @ q.T, matrix, rtol=0, atol=1e-14 * matrix.max())
