"""Kernels of the reduced polynomial, called as a time step calls them.

All three widths, on memory that is full of NaN and fenced in; see `ckernels`.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest

import plain_polynomial
from ckernels import SIMD, Block, library, require
from plain_polynomial import deviation

# as in test_polynomial: both sides of every switch, vector and strip boundary
RANKS = [*range(1, 35), 39, 40, 47, 48, 63, 64]


@functools.cache
def problem(r: int) -> tuple[np.ndarray, np.ndarray, tuple]:
    rng = np.random.default_rng(r)
    t = rng.standard_normal(len(plain_polynomial.quadruples(r)))
    q = rng.standard_normal(r)
    return t, q, plain_polynomial.evaluate(r, t, q)


class Model:
    """A polynomial of the C library, freed at the end."""

    def __init__(self, simd: int, t: np.ndarray, r: int) -> None:
        require(simd)
        self.lib, self.r = library(), r
        self.pointer = ctypes.c_void_p()
        t = np.ascontiguousarray(t)
        status = self.lib.rf_polynomial_create(
            r, t.ctypes.data, simd, ctypes.byref(self.pointer), None
        )
        assert status == 0
        bytes_needed = self.lib.rf_polynomial_work_bytes(r)
        assert bytes_needed % 64 == 0
        self.work = Block(bytes_needed // 8)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *unused: object) -> None:
        self.lib.rf_polynomial_free(self.pointer)

    def evaluate(self, q: np.ndarray, want: str, ld: int | None = None) -> dict[str, np.ndarray]:
        """`want` of the letters e, f, k; all memory is poisoned before."""
        r, ld = self.r, ld or self.r
        inputs = Block(r)
        inputs.x[:] = q
        self.work.x[:] = np.nan
        out = {"e": Block(1), "f": Block(r), "k": Block((r - 1) * ld + r)}
        self.lib.rf_polynomial_evaluate_rt(
            self.pointer,
            inputs.address,
            self.work.address,
            *[out[x].address if x in want else None for x in "efk"],
            ld,
        )
        for block in (*out.values(), inputs, self.work):
            block.check()
        np.testing.assert_array_equal(inputs.x, q)
        return {x: out[x].x for x in "efk"}


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", RANKS)
def test_all_outputs_at_once(r, simd):
    t, q, (energy, force, stiffness) = problem(r)
    with Model(simd, t, r) as model:
        found = model.evaluate(q, "efk")
    # sums of C(r + 4, 4) <= 8e5 products of random sign, in another order
    assert deviation(found["e"][0], energy) < 2e-12
    assert deviation(found["f"], force) < 2e-12
    assert deviation(found["k"].reshape(r, r), stiffness) < 2e-12


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [28, 29, 30, 33, 34, 40, 41])
def test_pairs_serve_more_coordinates_where_the_cache_is_large(r, simd):
    t, q, (energy, force, stiffness) = problem(r)
    cache = ctypes.c_int64.in_dll(library(), "rf_test_cache_bytes")
    try:
        with Model(simd, t, r) as model:
            small = model.evaluate(q, "efk")
        cache.value = 1 << 40
        with Model(simd, t, r) as model:
            found = model.evaluate(q, "efk")
    finally:
        cache.value = 0
    assert deviation(found["e"][0], energy) < 2e-12
    assert deviation(found["f"], force) < 2e-12
    assert deviation(found["k"].reshape(r, r), stiffness) < 2e-12
    # the other kernel sums in another order
    assert np.array_equal(small["k"], found["k"]) == (r <= 28 or r > 40)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [1, 2, 3, 4, 7, 8, 9, 15, 20, 21, 24, 25, 30, 31, 32, 33, 47])
def test_outputs_alone(r, simd):
    """Each output alone and in pairs; other outputs are not written."""
    t, q, expected = problem(r)
    by_name = dict(zip("efk", expected, strict=True))
    with Model(simd, t, r) as model:
        for want in ("", "e", "f", "k", "ef", "ek", "fk"):
            found = model.evaluate(q, want)
            for name, value in found.items():
                if name in want:
                    assert deviation(value, np.ravel(by_name[name])) < 2e-12, (want, name)
                else:
                    assert np.isnan(value).all(), (want, name)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 20, 21, 23, 30, 31, 33])
def test_rows_of_a_padded_stiffness(r, simd):
    """A time step has rows of 8, 16, ...; beyond column r they may become zero, no more."""
    t, q, (_, _, stiffness) = problem(r)
    ld = (r + 7) // 8 * 8
    with Model(simd, t, r) as model:
        rows = np.full((r, ld), np.nan)
        rows.ravel()[: (r - 1) * ld + r] = model.evaluate(q, "fk", ld)["k"]
    assert deviation(rows[:, :r], stiffness) < 2e-12
    np.testing.assert_array_equal(rows[:, :r], rows[:, :r].T)
    padding = rows[:, r:]
    assert (np.isnan(padding) | (padding == 0.0)).all()


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [6, 20, 21, 30, 31, 33])
def test_work_memory_carries_nothing_over(r, simd):
    t, q, _ = problem(r)
    with Model(simd, t, r) as model:
        first = model.evaluate(q, "efk")
        model.evaluate(1e300 * q, "efk")
        again = model.evaluate(q, "efk")
    for name in "efk":
        np.testing.assert_array_equal(first[name], again[name])


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [3, 8, 20, 21, 30, 31, 33])
def test_one_coefficient_at_a_time(r, simd):
    """A single monomial: the right place in the stream, the right multiplicities."""
    at = plain_polynomial.quadruples(r)
    q = 1.0 + np.random.default_rng(r).uniform(size=r)
    chosen = np.random.default_rng(1).permutation(len(at))[:40]
    for place in chosen:
        t = np.zeros(len(at))
        t[place] = 2.0
        expected = plain_polynomial.evaluate(r, t, q)
        with Model(simd, t, r) as model:
            found = model.evaluate(q, "efk")
        # products of five numbers, at most 12 equal ones added: a few roundings
        for name, value in zip("efk", expected, strict=True):
            np.testing.assert_allclose(found[name], np.ravel(value), rtol=5e-15, atol=0)


@pytest.mark.parametrize("r", [0, -1, 257])
def test_rank_out_of_range(r):
    pointer = ctypes.c_void_p()
    t = np.zeros(10)
    status = library().rf_polynomial_create(r, t.ctypes.data, 1, ctypes.byref(pointer), None)
    assert status == -1  # RF_ERR_ARG
    assert pointer.value is None
