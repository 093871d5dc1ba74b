"""The order of points along Hilbert's curve."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import ckernels
from places import ROOT

DRIVER = """
#include "linalg/curve.h"

int curve(int64_t n, const double *points, int64_t *order) {
  rf_error err = {0};
  return rf_curve_order(n, points, order, &err) < 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("curve")
    (folder / "driver.c").write_text(DRIVER)
    names = ("base/alloc.c", "base/status.c", "linalg/curve.c")
    return ckernels.build(
        "curve", [folder / "driver.c", *(ROOT / "csrc" / name for name in names)], folder
    )


def order_of(driver: ctypes.CDLL, points: np.ndarray) -> np.ndarray:
    points = np.ascontiguousarray(points, dtype=float)
    order = np.full(len(points), -1, dtype=np.int64)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (points, order)]
    assert driver.curve(ctypes.c_int64(len(points)), *pointers) == 0
    return order


def grid_along_curve(driver, rng, sides, scale):
    """Cells of a grid in the order of the curve; their centre is the origin."""
    grid = np.stack(np.meshgrid(*(np.arange(s) for s in sides), indexing="ij"), axis=-1)
    points = rng.permutation(grid.reshape(-1, 3)).astype(float)
    points -= points.mean(axis=0)
    order = order_of(driver, scale * points)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(points)))
    return points[order]


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e307])
def test_cells_that_follow_each_other_touch(driver, rng, scale):
    cells = grid_along_curve(driver, rng, (8, 8, 8), scale)
    np.testing.assert_array_equal(np.abs(np.diff(cells, axis=0)).sum(axis=1), 1.0)


@pytest.mark.parametrize("sides", [(16, 8, 8), (8, 16, 8), (8, 8, 32)])
def test_the_longest_side_is_halved_first(driver, rng, sides):
    cells = grid_along_curve(driver, rng, sides, 1.0)
    first = cells[: len(cells) // 2, np.argmax(sides)]
    assert np.all(first < 0) or np.all(first > 0)


def test_points_at_one_place_keep_their_order(driver):
    np.testing.assert_array_equal(order_of(driver, np.ones((7, 3))), np.arange(7))
    assert len(order_of(driver, np.empty((0, 3)))) == 0


def test_points_that_are_not_finite_come_last(driver, rng):
    points = rng.standard_normal((40, 3))
    points[5, 1], points[0, 2], points[17, 0] = np.nan, np.inf, -np.inf
    order = order_of(driver, points)
    np.testing.assert_array_equal(order[-3:], [0, 5, 17])
    np.testing.assert_array_equal(np.sort(order), np.arange(40))
