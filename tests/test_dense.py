"""Small dense solves of a time step against LAPACK (through NumPy), all widths."""

from __future__ import annotations

import numpy as np
import pytest

from ckernels import PAD, SIMD, Block, library, require

SIZES = [*range(1, 71)]
EPS = np.finfo(float).eps


def padded(matrix: np.ndarray, poison: bool = False) -> Block:
    """Rows of a multiple of 8 numbers; numbers beyond column n are zero by contract."""
    n = len(matrix)
    ld = (n + PAD - 1) // PAD * PAD
    block = Block(n * ld, 0.0)
    rows = block.x.reshape(n, ld)
    rows[:, :n] = matrix
    if poison:
        rows[:, :n][np.tril_indices(n, -1)] = np.nan  # only the upper triangle may be read
    return block


def vector(values: np.ndarray, fill: float = 0.0) -> Block:
    n = len(values)
    block = Block((n + PAD - 1) // PAD * PAD, fill)
    block.x[:n] = values
    return block


def definite(n: int, condition: float = 1e3) -> np.ndarray:
    rng = np.random.default_rng(n)
    rotation = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (rotation * np.geomspace(1.0, condition, n)) @ rotation.T


def symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_solves(n, simd):
    require(simd)
    lib, a = library(), symmetric(definite(n))
    b = np.random.default_rng(n + 1).standard_normal(n)
    matrix = padded(a, poison=True)
    ld = len(matrix.x) // n
    assert lib.rf_dense_cholesky_rt(simd, n, matrix.address, ld)
    matrix.check()
    u = matrix.x.reshape(n, ld)
    # the factor itself, reciprocals on its diagonal
    expected = np.linalg.cholesky(a).T
    factor = np.triu(u[:, :n])
    factor[np.diag_indices(n)] = 1.0 / factor[np.diag_indices(n)]
    # backward stable: |U^T U - A| <= n eps |A|; the factors differ by that times the condition
    assert np.max(np.abs(factor.T @ factor - a)) <= 4 * n * EPS * np.max(np.abs(a))
    assert np.max(np.abs(factor - expected)) <= 1e3 * 4 * n * EPS * np.max(np.abs(expected))
    assert (u[:, n:] == 0.0).all()

    exact = np.linalg.solve(a, b)
    right, x = vector(b), vector(np.full(n, np.nan), np.nan)
    lib.rf_dense_cholesky_solve_rt(simd, n, matrix.address, ld, right.address, x.address)
    for block in (matrix, right, x):
        block.check()
    np.testing.assert_array_equal(right.x[:n], b)
    # |dx| / |x| <= n eps condition
    assert np.linalg.norm(x.x[:n] - exact) <= 4 * n * EPS * 1e3 * np.linalg.norm(exact)
    # in place, with the same bits
    lib.rf_dense_cholesky_solve_rt(simd, n, matrix.address, ld, right.address, right.address)
    np.testing.assert_array_equal(right.x[:n], x.x[:n])


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
def test_cholesky_refuses_what_is_not_definite(n, simd):
    require(simd)
    lib = library()
    for row in {0, n // 2, n - 1}:
        eigenvalues = np.geomspace(1.0, 10.0, n)
        eigenvalues[row] = -0.5
        rotation = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
        for a in (np.diag(eigenvalues), symmetric((rotation * eigenvalues) @ rotation.T)):
            matrix = padded(a)
            assert not lib.rf_dense_cholesky_rt(simd, n, matrix.address, len(matrix.x) // n)
            matrix.check()
        for pivot in (0.0, np.nan):
            a = np.eye(n)
            a[row, row] = pivot
            matrix = padded(a)
            assert not lib.rf_dense_cholesky_rt(simd, n, matrix.address, len(matrix.x) // n)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
def test_cholesky_of_extreme_scales(simd):
    """Steps of microseconds and soft solids: the matrix may be of any size."""
    require(simd)
    lib = library()
    for scale in (1e-200, 1e200):
        a = symmetric(definite(13)) * scale
        matrix, b = padded(a), vector(np.ones(13))
        assert lib.rf_dense_cholesky_rt(simd, 13, matrix.address, 16)
        lib.rf_dense_cholesky_solve_rt(simd, 13, matrix.address, 16, b.address, b.address)
        exact = np.linalg.solve(a / scale, np.ones(13))
        # condition 1e3 and rounding
        assert np.linalg.norm(b.x[:13] * scale - exact) <= 1e-12 * np.linalg.norm(exact)


@pytest.mark.parametrize("n", SIZES)
def test_lu_solves_what_cholesky_refuses(n):
    lib = library()
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n)) + 0.1 * np.eye(n)
    a[0, 0] = 0.0 if n > 1 else -3.0  # needs a row exchange at once
    b = rng.standard_normal(n)
    matrix, x = padded(a), vector(b)
    assert lib.rf_dense_lu_solve_rt(n, matrix.address, len(matrix.x) // n, x.address)
    matrix.check()
    x.check()
    exact = np.linalg.solve(a, b)
    # elimination with row exchanges; growth of random matrices is below n
    bound = 10 * n * EPS * np.linalg.cond(a)
    assert np.linalg.norm(x.x[:n] - exact) <= bound * np.linalg.norm(exact)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_lu_refuses_singular_matrices(n):
    lib = library()
    for a in (np.zeros((n, n)), np.diag([*np.ones(n - 1), 0.0]), np.full((n, n), np.nan)):
        matrix, x = padded(a), vector(np.ones(n))
        assert not lib.rf_dense_lu_solve_rt(n, matrix.address, len(matrix.x) // n, x.address)
    if n > 1:
        matrix, x = padded(np.ones((n, n))), vector(np.ones(n))
        assert not lib.rf_dense_lu_solve_rt(n, matrix.address, len(matrix.x) // n, x.address)


@pytest.mark.parametrize("n", SIZES)
def test_product(n):
    lib = library()
    rng = np.random.default_rng(n)
    a, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    matrix, vec, out = padded(a), vector(x), Block(n)
    lib.rf_dense_multiply_rt(n, matrix.address, len(matrix.x) // n, vec.address, out.address)
    out.check()
    # sums of n products
    np.testing.assert_allclose(out.x, a @ x, rtol=0, atol=4 * n * EPS)
