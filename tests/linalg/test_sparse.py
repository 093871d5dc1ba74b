"""Products of sparse matrices, against SciPy and against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes


def some(rng, rows=50, columns=40):
    """Return a matrix with some empty columns, and the same of SciPy."""
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.where(rng.random((rows, columns)) < 0.1, rng.normal(size=(rows, columns)), 0.0)
    dense[:, [0, 7, columns - 1]] = 0.0
    theirs = sparse.csc_matrix(dense)
    return rf.CSC(theirs.data, theirs.indices, theirs.indptr, dense.shape), dense


@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 7), (40, 8), (40, 21), (40, 0)])
def test_products_are_those_of_dense_matrices(rng, shape):
    matrix, dense = some(rng)
    x = rng.normal(size=shape)
    y = matrix @ x
    assert y.shape == (50, *shape[1:])
    np.testing.assert_allclose(y, dense @ x, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(matrix @ x.tolist() if x.size else y, y)
    np.testing.assert_array_equal(matrix @ np.asfortranarray(x), y)


def test_products_do_not_depend_on_threads(rng, set_threads):
    matrix, _ = some(rng, 3000, 2000)
    x = rng.normal(size=(2000, 30))
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        results.append(matrix @ x)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[0][:, 4], matrix @ x[:, 4])


def test_mass_times_a_translation_is_the_mass():
    nodes, elements = box_hexes(2, 1, 1)
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1000.0))
    along = np.zeros((len(nodes), 3))
    along[:, 1] = 1.0
    assert along.ravel() @ (solid.mass() @ along.ravel()) == pytest.approx(solid.total_mass)
    assert np.abs(solid.stiffness() @ along.ravel()).max() < 1e-6
    with pytest.raises(rf.InputError, match=r"shape \(36,\) or \(36, k\), got .*ravel"):
        solid.mass() @ along


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"indices": [0, 5]}, rf.InputError, r"indices\[1\] is 5"),
        ({"indices": [0, -1]}, rf.InputError, r"indices\[1\] is -1"),
        ({"indices": [0]}, rf.InputError, "indices must have shape"),
        ({"indptr": [0, 1, 1, 2, 2]}, rf.InputError, "indptr must have shape"),
        ({"indptr": [0, 2, 1, 2]}, rf.InputError, "indptr must go from 0 to 2"),
        ({"indptr": [0, 1, 1, 1]}, rf.InputError, "indptr must go from 0 to 2"),
        ({"indptr": [0, 1, 1, 9]}, rf.InputError, r"indptr\[3\] is 9"),
        ({"data": [1.0, np.nan]}, rf.InputError, r"data\[1\] is nan"),
        ({"shape": (0, 3)}, rf.InputError, "shape must be at least"),
    ],
)
def test_broken_matrices_are_refused(change, error, message):
    parts = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 1, 2], "shape": (2, 3)}
    np.testing.assert_array_equal(rf.CSC(**parts) @ [1.0, 1.0, 1.0], [1.0, 2.0])
    with pytest.raises(error, match=message):
        rf.CSC(**parts | change) @ [1.0, 1.0, 1.0]


def test_arguments_that_are_not_vectors_are_refused(rng):
    matrix, _ = some(rng)
    for wrong, message in (
        (np.zeros(50), r"other must have shape \(40,\)"),
        (np.zeros((2, 40, 3)), "other must have shape"),
        (3.0, "other must have shape"),
        ([np.inf] * 40, r"other\[0\] is inf"),
        (matrix, "other must be an array of real numbers, got CSC"),
        ("x", "other must be an array"),
    ):
        with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
            matrix @ wrong
    with pytest.raises(TypeError):
        np.zeros(50) @ matrix
