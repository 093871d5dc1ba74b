"""The friction solver with kernels of every width, on any machine; its memory and its arguments."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ckernels import SIMD, library, require, structure
from friction import factor, free_motion, residual

RF_ERR_ARG = -1


Settings = structure(
    "rf_friction_settings", most=ctypes.c_int32, most_rank=ctypes.c_int32, simd=ctypes.c_int,
)  # fmt: skip
Limits = structure(
    "rf_friction_limits", tolerance=ctypes.c_double, budget_us=ctypes.c_double,
    sweeps=ctypes.c_bool, stop=ctypes.c_void_p, context=ctypes.c_void_p,
)  # fmt: skip
Report = structure(
    "rf_friction_report", end=ctypes.c_int, residual=ctypes.c_double, sweeps=ctypes.c_int32,
    steps=ctypes.c_int32, centres=ctypes.c_int32, elapsed_us=ctypes.c_double,
)  # fmt: skip


class Solver:
    """One solver for many problems, as a haptic cycle uses it."""

    def __init__(self, most: int, most_rank: int, simd: int) -> None:
        self.handle = ctypes.c_void_p()
        set_ = Settings(most, most_rank, simd)
        made = library().rf_friction_create(
            ctypes.byref(set_), ctypes.byref(self.handle), ctypes.create_string_buffer(1024)
        )
        assert made == 0

    def __del__(self) -> None:
        library().rf_friction_free(self.handle)

    def set_matrix(self, W: np.ndarray) -> int:
        self.m = len(W) // 3
        W = np.ascontiguousarray(W)
        return library().rf_friction_set_matrix_rt(self.handle, self.m, W.ctypes.data)

    def set_factor(self, V: np.ndarray, compliance: float = 0.0) -> int:
        self.m = len(V) // 3
        V = np.ascontiguousarray(V)
        return library().rf_friction_set_factor_rt(
            self.handle, self.m, V.shape[1], V.ctypes.data, compliance
        )

    def solve(self, free, mu, start=None, budget=np.inf):
        """Return status, forces and report."""
        free, mus = np.ascontiguousarray(free), np.full(self.m, float(mu))
        force, gap = np.full((2, self.m, 3), np.nan)
        report, limits = Report(), Limits(1e-10, budget, False, None, None)
        status = library().rf_friction_solve_rt(
            self.handle,
            free.ctypes.data,
            mus.ctypes.data,
            None if start is None else start.ctypes.data,
            ctypes.addressof(limits),
            force.ctypes.data,
            gap.ctypes.data,
            None,
            ctypes.addressof(report),
        )
        return status, force, report


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
def test_one_solver_for_problems_of_many_sizes(simd):
    require(simd)
    rng = np.random.default_rng(simd)
    solver = Solver(24, 20, simd)
    for m in (24, 1, 7, 8, 9, 24, 2, 16, 17):
        V = factor(m, int(rng.integers(0, 15)), rng)
        W, free = V @ V.T, free_motion(V, rng)
        for made in (solver.set_factor(V), solver.set_matrix(W)):
            assert made == 0
            status, force, report = solver.solve(free, 0.4)
            assert status == 0
            assert report.end == 0, (m, report.residual)
            assert residual(W, free, 0.4, force) < 1.01e-10


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("m", [1, 7, 8, 16])
def test_all_contacts_stick_in_a_full_solver(m, simd):
    require(simd)
    rng = np.random.default_rng(m)
    root = rng.normal(size=(3 * m, 3 * m))
    W = root @ root.T + 0.1 * np.eye(3 * m)
    free = -(W @ np.tile([1.0, 0.1, -0.1], m)).reshape(m, 3)  # all stick under these forces
    solver = Solver(m, 0, simd)
    assert solver.set_matrix(W) == 0
    status, force, report = solver.solve(free, 10.0)
    assert (status, report.end) == (0, 0)
    assert report.steps > 0 or m == 1
    np.testing.assert_allclose(force, np.tile([1.0, 0.1, -0.1], (m, 1)), rtol=1e-5)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
def test_a_factor_of_more_columns_than_rows(simd):
    require(simd)
    rng = np.random.default_rng(7)
    solver = Solver(3, 40, simd)
    V = factor(2, 30, rng)
    assert solver.set_factor(V) == 0
    free = free_motion(V, rng)
    status, force, report = solver.solve(free, 0.4)
    assert (status, report.end) == (0, 0)
    assert residual(V @ V.T, free, 0.4, force) < 1.01e-10


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
def test_numbers_that_are_not_finite_give_no_force(simd):
    require(simd)
    rng = np.random.default_rng(9)
    V = factor(5, 12, rng)
    W, free = V @ V.T, free_motion(V, rng)
    for bad in (np.nan, np.inf, -np.inf):
        solver = Solver(5, 18, simd)
        wrong = W.copy()
        wrong[3, 7] = wrong[7, 3] = bad
        assert solver.set_matrix(wrong) == RF_ERR_ARG
        columns = V.copy()
        columns[4, 2] = bad
        assert solver.set_factor(columns) == RF_ERR_ARG
        assert solver.set_factor(V, bad) == RF_ERR_ARG
        assert solver.set_matrix(W) == 0
        moved = free.copy()
        moved[2, 1] = bad
        wrong_ones = [(moved, 0.4), (free, bad), (free, -0.1), (free, 0.4, moved)]
        for arguments in [*wrong_ones, (free, 0.4, None, np.nan), (free, 0.4, None, 0.0)]:
            status, force, _ = solver.solve(*arguments)
            assert status == RF_ERR_ARG
            np.testing.assert_array_equal(force, 0.0)
        status, force, report = solver.solve(free, 0.4)
        assert (status, report.end) == (0, 0)


def test_sizes_beyond_those_of_the_solver_are_refused():
    solver = Solver(4, 6, 1)
    assert solver.set_matrix(np.eye(15)) == RF_ERR_ARG
    assert solver.set_factor(np.ones((12, 7))) == RF_ERR_ARG
    assert solver.set_factor(np.ones((15, 6))) == RF_ERR_ARG
    assert solver.set_matrix(-np.eye(3)) == RF_ERR_ARG
    assert solver.set_matrix(np.eye(12)) == 0
