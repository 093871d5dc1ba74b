"""Small dense solves of a time step against LAPACK (through NumPy), all widths."""

from __future__ import annotations

import numpy as np
import pytest

from ckernels import PAD, SIMD, Block, library, require

SIZES = [*range(1, 71)]
EPS = np.finfo(float).eps


def row_length(n: int) -> int:
    return (n + PAD - 1) // PAD * PAD


def padded(matrix: np.ndarray, poison: bool = False) -> Block:
    """A square of a multiple of 8 numbers a side; beyond row and column n zero by contract."""
    n, ld = len(matrix), row_length(len(matrix))
    block = Block(ld * ld, 0.0)
    rows = block.x.reshape(ld, ld)
    rows[:n, :n] = matrix
    if poison:
        rows[:n, :n][np.tril_indices(n, -1)] = np.nan  # only the upper triangle may be read
    return block


def vector(values: np.ndarray) -> Block:
    block = Block(row_length(len(values)), 0.0)
    block.x[: len(values)] = values
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
    ld = row_length(n)
    assert lib.rf_dense_cholesky_rt(simd, n, matrix.address, ld)
    matrix.check()
    rows = matrix.x.reshape(ld, ld)
    # A = V^T D^-1 V, where the diagonal of V is D and 1 / D is stored there
    v = np.triu(rows[:n, :n])
    inverse = v.diagonal().copy()
    v[np.diag_indices(n)] = 1.0 / inverse
    # LAPACK's factor has the roots: V = D^1/2 U; condition times backward error
    expected = np.linalg.cholesky(a).T
    expected *= expected.diagonal()[:, None]
    assert np.max(np.abs(v - expected)) <= 1e3 * 4 * n * EPS * np.max(np.abs(expected))
    # backward stable: n eps |A|
    assert np.max(np.abs((v.T * inverse) @ v - a)) <= 4 * n * EPS * np.max(np.abs(a))
    assert (rows[:n, n:] == 0.0).all()
    assert (rows[n:] == 0.0).all()

    exact = np.linalg.solve(a, b)
    right, x = vector(b), Block(ld)
    lib.rf_dense_cholesky_solve_rt(simd, n, matrix.address, ld, right.address, x.address)
    for block in (matrix, right, x):
        block.check()
    np.testing.assert_array_equal(right.x[:n], b)
    assert (x.x[n:] == 0.0).all()
    # |dx| / |x| <= n eps condition
    assert np.linalg.norm(x.x[:n] - exact) <= 4 * n * EPS * 1e3 * np.linalg.norm(exact)
    # in place, with the same bits
    lib.rf_dense_cholesky_solve_rt(simd, n, matrix.address, ld, right.address, right.address)
    np.testing.assert_array_equal(right.x[:n], x.x[:n])


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])
def test_cholesky_refuses_indefinite_matrices(n, simd):
    require(simd)
    lib = library()
    for row in {0, n // 2, n - 1}:
        eigenvalues = np.geomspace(1.0, 10.0, n)
        eigenvalues[row] = -0.5
        rotation = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
        for a in (np.diag(eigenvalues), symmetric((rotation * eigenvalues) @ rotation.T)):
            matrix = padded(a)
            assert not lib.rf_dense_cholesky_rt(simd, n, matrix.address, row_length(n))
            matrix.check()
        for pivot in (0.0, np.nan):
            a = np.eye(n)
            a[row, row] = pivot
            matrix = padded(a)
            assert not lib.rf_dense_cholesky_rt(simd, n, matrix.address, row_length(n))


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


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", [1, 2, 5, 8, 26])
def test_half_solves(n, simd):
    """Products of the columns of L^-1 B are those of A^-1."""
    require(simd)
    lib, a = library(), symmetric(definite(n))
    b = np.random.default_rng(n).standard_normal((n, 13))
    matrix, ld, wide = padded(a), row_length(n), row_length(13)
    rows = Block(n * wide, 0.0)
    rows.x.reshape(n, wide)[:, :13] = b
    assert lib.rf_dense_cholesky_rt(simd, n, matrix.address, ld)
    lib.rf_dense_half_solve_rt(simd, n, matrix.address, ld, wide, rows.address)
    for block in (matrix, rows):
        block.check()
    half = rows.x.reshape(n, wide)
    assert (half[:, 13:] == 0.0).all()
    expected = np.linalg.solve(np.linalg.cholesky(a), b)
    assert np.max(np.abs(half[:, :13] - expected)) <= 1e3 * 4 * n * EPS * np.max(np.abs(expected))


def eliminated(simd: int, a: np.ndarray, b: np.ndarray) -> tuple[bool, np.ndarray]:
    """Solve by rf_dense_eliminate_rt, with memory checked."""
    n, ld = len(a), row_length(len(a) + 1)
    matrix, scratch, x = Block(n * ld, 0.0), Block(8 * ld), Block(ld)
    rows = matrix.x.reshape(n, ld)
    rows[:, :n], rows[:, n] = a, b
    done = library().rf_dense_eliminate_rt(simd, n, matrix.address, ld, scratch.address, x.address)
    for block in (matrix, scratch, x):
        block.check()
    return done, x.x


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", SIZES)
def test_elimination_with_row_exchanges(n, simd):
    require(simd)
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n))
    a[np.diag_indices(n)] *= 1e-9  # exchanges everywhere
    b = rng.standard_normal(n)
    done, x = eliminated(simd, a, b)
    assert done
    np.testing.assert_array_equal(x[n:], 0.0)
    scale = np.abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.abs(a @ x[:n] - b).max() <= 30 * n * EPS * scale


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_elimination_does_not_hide_what_is_not_finite(wrong, simd):
    require(simd)
    for n in (1, 5, 9, 17):
        for i in {0, n // 2, n - 1}:
            a = np.eye(n) + 0.1
            a[i, i] = wrong
            done, x = eliminated(simd, a, np.ones(n))
            assert not (done and np.isfinite(x).all())


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
def test_elimination_refuses_a_column_of_zeros(simd):
    require(simd)
    for n in (1, 3, 4, 9, 17):
        a = np.eye(n)
        a[:, n - 1] = 0.0
        assert not eliminated(simd, a, np.ones(n))[0]


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", SIZES)
def test_product_and_combination(n, simd):
    require(simd)
    lib, ld = library(), row_length(n)
    rng = np.random.default_rng(n)
    a, b, x = rng.standard_normal((n, n)), rng.standard_normal((n, n)), rng.standard_normal(n)
    first, second, vec, out = padded(a), padded(b), vector(x), Block(ld)
    lib.rf_dense_multiply_rt(simd, n, first.address, ld, vec.address, out.address)
    out.check()
    # sums of n products
    np.testing.assert_allclose(out.x[:n], a @ x, rtol=0, atol=4 * n * EPS)
    assert (out.x[n:] == 0.0).all()

    combined = padded(np.full((n, n), np.nan))
    lib.rf_dense_combine_rt(simd, n, 3.0, first.address, -0.5, second.address, ld, combined.address)
    for block in (first, second, combined):
        block.check()
    rows = combined.x.reshape(ld, ld)
    upper = np.triu_indices(n)
    # two products and a sum; the fused kind rounds once
    np.testing.assert_allclose(
        rows[:n, :n][upper], (3.0 * a - 0.5 * b)[upper], rtol=0, atol=8 * EPS * 4
    )
    assert (rows[:n, n:] == 0.0).all()
    assert (rows[n:] == 0.0).all()


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 20, 33])
def test_products_of_rows_are_added(n, simd):
    """Wide and square results, of one row to sixteen."""
    require(simd)
    lib, ld = library(), row_length(n)
    rng = np.random.default_rng(n)
    for m, count in ((6, 16), (n, 16), (n, 1), (n, 0)):
        lda = row_length(m)
        a, b = Block(max(count, 1) * lda, 0.0), Block(max(count, 1) * ld, 0.0)
        first, second = a.x.reshape(-1, lda)[:count], b.x.reshape(-1, ld)[:count]
        first[:, :m], second[:, :n] = (
            rng.standard_normal((count, m)),
            rng.standard_normal((count, n)),
        )
        before = rng.standard_normal((m, n))
        out = Block(lda * ld, 0.0)
        rows = out.x.reshape(lda, ld)
        rows[:m, :n] = before
        lib.rf_dense_add_products_rt(
            simd, m, n, count, a.address, lda, b.address, ld, out.address
        )  # fmt: skip
        for block in (a, b, out):
            block.check()
        # sums of count products
        np.testing.assert_allclose(
            rows[:m, :n], before + first[:, :m].T @ second[:, :n], rtol=0, atol=100 * EPS
        )
        assert (rows[:, n:] == 0.0).all()
        assert (rows[m:] == 0.0).all()
