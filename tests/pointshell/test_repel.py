"""Forces between points of a shell: every variant against sums over all pairs."""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest

import ckernels
from places import ROOT
from reducedfem import _core

# calls the variants as the rounds of the repulsion do
DRIVER = """
#include <string.h>
#include "base/alloc.h"
#include "pointshell/repel.h"

int forces(int avx2, int32_t n, const double *points, const double *normals, double reach,
           double *force, double *stiffness) {
  rf_cells c;
  rf_error err = {0};
  if (rf_cells_allocate(n, &c, &err) < 0) return -1;
  double *at = rf_alloc(3 * (size_t)(n + 4), 8), *point = rf_alloc(8 * (size_t)n, 8);
  if (!at || !point) return -1;
  rf_cells_fill(&c, n, points, reach);
  rf_repel_points p = {.reach = reach, .at = {at, at + n + 4, at + 2 * (n + 4)}, .point = point,
                       .item = c.item};
  for (int32_t k = 0; k < n; ++k) {
    memcpy(point + 8 * k, c.x + 3 * k, 24);
    memcpy(point + 8 * k + 4, normals + 3 * c.item[k], 24);
    for (int a = 0; a < 3; ++a) at[a * (n + 4) + k] = point[8 * k + a];
  }
  for (int32_t k = 0; k < n; ++k) {
    const int32_t i = c.item[k];
    p.n_runs = rf_cells_around(&c, c.of[i], p.run);
#if RF_SIMD_X86
    rf_repel_fn *const repel = avx2 ? rf_repel_avx2 : rf_repel_plain;
#else
    rf_repel_fn *const repel = rf_repel_plain;
#endif
    stiffness[i] = repel(&p, k, force + 3 * i);
  }
  rf_free(at);
  rf_free(point);
  rf_cells_free(&c);
  return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("repel")
    (folder / "driver.c").write_text(DRIVER)
    names = ("base/alloc.c", "base/status.c", "pointshell/cells.c", "pointshell/repel_plain.c",
             "pointshell/repel_avx2.c")  # fmt: skip
    sources = [folder / "driver.c", *(ROOT / "csrc" / name for name in names)]
    return ckernels.build("repel", sources, folder)


def forces(
    driver: ctypes.CDLL, simd: int, points: np.ndarray, normals: np.ndarray, reach: float
) -> np.ndarray:
    """Force and stiffness (n, 4)."""
    points, normals = np.ascontiguousarray(points), np.ascontiguousarray(normals)
    force, stiffness = np.full(points.shape, np.nan), np.full(len(points), np.nan)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (points, normals, force, stiffness)]
    status = driver.forces(
        int(simd == 2), len(points), *pointers[:2], ctypes.c_double(reach), *pointers[2:]
    )
    assert status == 0
    return np.concatenate([force, stiffness[:, None]], axis=1)


def all_pairs(points: np.ndarray, normals: np.ndarray, reach: float) -> np.ndarray:
    """The definition (pointshell/repulsion.h)."""
    way = points[:, None] - points
    distance = np.sqrt((way**2).sum(axis=-1))
    turn = normals @ normals.T
    t = distance / reach
    side = np.where(turn < 0, 1 + 2 * turn, 1.0) * (turn > -0.5) * (distance < reach)
    np.fill_diagonal(side, 0.0)
    push = side * (2 * t**3 - 3 * t**2 + 1)
    force = ((push / np.where(distance > 0, distance, 1.0))[:, :, None] * way).sum(axis=1)
    for i, j in zip(*np.nonzero((distance == 0) & (side > 0)), strict=True):
        if i > j:
            force[i, i % 3] += push[i, j]
    stiffness = (side * 3 * t * (1 - t) / reach).sum(axis=1)
    return np.concatenate([force, stiffness[:, None]], axis=1)


def sphere(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    normals = rng.standard_normal((n, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return normals * [1.0, 0.7, 0.05], normals  # the flat sides are nearer than the reach


@pytest.mark.parametrize("reach", [0.02, 0.15, 0.6, 5.0])
@pytest.mark.parametrize("n", [1, 2, 5, 700])
def test_variants_are_sums_over_all_pairs(driver, n, reach, rng):
    points, normals = sphere(n, rng)
    points[n // 2] = points[0]  # two at one place
    expected = all_pairs(points, normals, reach)
    plain = forces(driver, 1, points, normals, reach)
    # up to 700 terms, not above 6 / reach
    scale = max(np.abs(expected).max(), 1.0 / reach)
    assert np.abs(plain - expected).max() < 1e-12 * scale
    if n > 5:
        assert np.abs(expected).max() > 0.1
    if platform.machine() in ("x86_64", "AMD64") and _core.simd_available(2):
        np.testing.assert_array_equal(forces(driver, 2, points, normals, reach), plain)


def test_points_far_apart_share_folded_cells(driver, rng):
    """So many cells would be needed that the grid is folded."""
    points, normals = sphere(300, rng)
    points *= [0.1, 0.1, 0.5]
    points[::2] += [1000.0, 0.0, 300.0]
    reach = 0.03
    expected = all_pairs(points, normals, reach)
    assert np.abs(expected).max() > 0.1
    # coordinates of 1000 m are rounded to 1e-13 m
    assert np.abs(forces(driver, 1, points, normals, reach) - expected).max() < 1e-10 / reach
