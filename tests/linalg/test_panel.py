"""Kernels of triangular solves against LAPACK (through NumPy), all widths."""

from __future__ import annotations

import numpy as np
import pytest

from ckernels import SIMD, Block, library, require

WIDTH, MOST = 8, 64
NAMES = {1: "plain", 2: "avx2", 3: "avx512"}
EPS = np.finfo(float).eps


def kernel(simd: int, name: str):
    require(simd)
    return getattr(library(), f"rf_panel_{name}_{NAMES[simd]}_rt")


def block(values: np.ndarray) -> Block:
    out = Block(values.size)
    out.x[:] = values.ravel()
    return out


def panel(rng, rows: int, columns: int) -> np.ndarray:
    """Return a lower trapezoid with a good diagonal; what lies above it may not be read."""
    full = rng.uniform(-1.0, 1.0, (rows, columns)) / max(columns, 1)
    diagonal = min(rows, columns)
    full[np.arange(diagonal), np.arange(diagonal)] = rng.uniform(1.0, 2.0, diagonal)
    return full


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("transposed", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 31, 63, MOST])
@pytest.mark.parametrize("blocks", [1, 3])
def test_triangles_are_solved(rng, simd, transposed, n, blocks):
    solve = kernel(simd, "solve_transposed" if transposed else "solve")
    rows = n + 5
    lower = panel(rng, rows, n)
    lower[np.triu_indices(n, 1)] = np.nan
    left, b = block(lower.T), rng.normal(size=(blocks, n + 2, WIDTH))
    x = block(b)
    solve(n, left.address, rows, blocks, (n + 2) * WIDTH, x.address)
    got = x.x.reshape(b.shape)
    triangle = np.tril(np.nan_to_num(lower[:n]))
    for i in range(blocks):
        exact = np.linalg.solve(triangle.T if transposed else triangle, b[i, :n])
        assert np.abs(got[i, :n] - exact).max() <= 20 * n * EPS * np.abs(exact).max()
        np.testing.assert_array_equal(got[i, n:], b[i, n:])
    for part in (left, x):
        part.check()


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("transposed", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("n", [1, 5, 8, 17, MOST])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 130])
@pytest.mark.parametrize("blocks", [1, 2])
def test_products_are_subtracted(rng, simd, transposed, n, rows, blocks):
    subtract = kernel(simd, "subtract_transposed" if transposed else "subtract")
    ld, stride = rows + 3, 250 * WIDTH
    full = rng.normal(size=(ld, n))
    left = block(full.T)
    source = rng.normal(size=(blocks, 250, WIDTH))
    target = rng.normal(size=(blocks, 250, WIDTH))
    x, y = block(source), block(target)
    subtract(rows, n, left.address, ld, blocks, stride, x.address, y.address)
    expected = target.copy()
    factor = full[:rows].T if transposed else full[:rows]
    for i in range(blocks):
        expected[i, : len(factor)] -= factor @ source[i, : factor.shape[1]]
    np.testing.assert_allclose(y.x.reshape(target.shape), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(x.x, source.ravel())
    for part in (left, x, y):
        part.check()
