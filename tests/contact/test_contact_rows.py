"""Sums of contact forces against NumPy, for laws of one to three rows a point."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ckernels import PAD, build
from places import ROOT

SOURCES = (
    "base/alloc.c", "base/status.c", "contact/blocks_rt.c", "contact/wrench.c",
    "contact/wrench_rt.c",
)  # fmt: skip
R = 5


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    sources = [ROOT / "csrc" / name for name in SOURCES]
    sources.append(ROOT / "tests" / "contact_rows.c")
    return build("rows", sources, tmp_path_factory.mktemp("rows"))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("most", [0.0, 3.0])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 5, 16, 37])
def test_sums_of_rows(library, n, rows, most):
    """Wrench, reduced force and -sum c W W^T, in blocks of fewer or more than 16 rows."""
    rng = np.random.default_rng(100 * n + 10 * rows)
    motion, position = rng.normal(size=(n, 3, R)), rng.normal(size=(n, 3))
    gap, weight, grasp = -rng.random(n), rng.random(n) + 0.5, rng.normal(size=3)
    axis = rng.normal(size=(n, rows, 3))
    axis /= np.linalg.norm(axis, axis=2, keepdims=True)
    force, stiffness = rng.normal(size=(n, rows)), rng.random((n, rows))
    out, reduced = np.full(28, np.nan), np.full(R, np.nan)
    object_block, mixed, shell = (np.full((PAD, PAD), np.nan) for _ in range(3))
    assert library.rows_sum(
        n, rows, R, pointer(motion), pointer(position), pointer(gap), pointer(weight),
        pointer(grasp), pointer(axis), pointer(force), pointer(stiffness), ctypes.c_double(most),
        pointer(out), pointer(reduced), pointer(object_block), pointer(mixed), pointer(shell),
    )  # fmt: skip

    total = weight.sum()
    scale = most / total if 0.0 < most < total else 1.0
    arm = np.broadcast_to((position - grasp)[:, None], axis.shape)
    on_object = np.concatenate([axis, np.cross(arm, axis)], axis=2)
    on_shell = -np.einsum("kar,kia->kir", motion, axis)
    both = np.concatenate([on_object, on_shell], axis=2).reshape(-1, 6 + R)
    sums = scale * force.ravel() @ both
    matrix = -scale * (both.T * stiffness.ravel()) @ both

    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(out[:6], sums[:6], **close)
    assert out[6] == max(-gap, default=0.0)
    np.testing.assert_allclose(out[7:], matrix[:6, :6][np.tril_indices(6)], **close)
    np.testing.assert_allclose(reduced, sums[6:], **close)
    for block, expected in (
        (object_block, matrix[:6, :6]), (mixed, matrix[:6, 6:]), (shell, matrix[6:, 6:]),
    ):  # fmt: skip
        rows_used, columns_used = expected.shape
        np.testing.assert_allclose(block[:rows_used, :columns_used], expected, **close)
        padding = block.copy()
        padding[:rows_used, :columns_used] = 0.0
        assert (padding == 0.0).all()
