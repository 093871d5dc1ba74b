"""The sparse factor and its solves: elimination trees of all shapes, on several threads."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core
from shapes import box_hexes

sparse = pytest.importorskip("scipy.sparse")


def grid(side: int, depth: int, seed: int = 0):
    """Return springs of random stiffness between neighbours of a grid, some of them to ground."""
    rng = np.random.default_rng(seed)
    index = np.arange(side * side * depth).reshape(side, side, depth)
    pairs = np.concatenate(
        [
            np.column_stack([index[:-1].ravel(), index[1:].ravel()]),
            np.column_stack([index[:, :-1].ravel(), index[:, 1:].ravel()]),
            np.column_stack([index[:, :, :-1].ravel(), index[:, :, 1:].ravel()]),
        ]
    )
    springs = rng.uniform(1.0, 2.0, len(pairs))
    ends = sparse.coo_array(
        (
            np.tile([1.0, -1.0], len(pairs)),
            (np.repeat(np.arange(len(pairs)), 2), pairs.ravel()),
        ),
        shape=(len(pairs), index.size),
    ).tocsr()
    ground = sparse.diags_array(rng.uniform(0.0, 0.01, index.size))
    return (ends.T @ sparse.diags_array(springs) @ ends + ground).tocsc()


def shuffled(matrix, seed: int = 1):
    order = np.random.default_rng(seed).permutation(matrix.shape[0])
    return matrix.tocsr()[order][:, order].tocsc()


def arrow(n: int):
    """Return a matrix with one dense row: all fronts hang under one."""
    full = sparse.lil_array(sparse.diags_array(np.linspace(2.0, 3.0, n)))
    full[n - 1, :] = 0.01
    full[:, n - 1] = 0.01
    full[n - 1, n - 1] = 3.0
    return full.tocsc()


def chain(n: int):
    return sparse.diags_array(
        [np.full(n - 1, -1.0), np.linspace(2.0, 3.0, n), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
    ).tocsc()


MATRICES = {
    # the first two are large enough to be cut into subtrees, and tiles at the top
    "block": lambda: shuffled(grid(26, 26)),
    "plate": lambda: shuffled(grid(110, 3)),
    "forest": lambda: shuffled(
        sparse.block_diag([grid(20, 20), chain(400), grid(17, 17, 3), sparse.eye_array(50) * 2.0])
    ),
    "chain": lambda: chain(3000),
    "arrow": lambda: arrow(1500),
    "diagonal": lambda: sparse.diags_array(np.linspace(1.0, 2.0, 2000)).tocsc(),
}


def lower(matrix):
    half = sparse.csc_array(sparse.tril(matrix))
    half.sort_indices()
    return half.data, half.indices.astype(np.int32), half.indptr.astype(np.int32)


def modes(stiffness, k: int = 5, threads: int = 1, progress=None):
    mass = sparse.diags_array(np.linspace(1.0, 2.0, stiffness.shape[0]))
    values, vectors, _ = _core.matrix_modes(
        lower(stiffness), lower(mass), k, (0, 0, 0), progress, threads
    )
    return values, vectors, mass


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("columns", [0, 1, 8, 13, 33])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_equations_are_solved(rng, name, columns):
    matrix = MATRICES[name]()
    exact = rng.normal(size=(columns, matrix.shape[0]))
    b = (matrix @ exact.T).T
    x, seconds = _core.factor_solve(lower(matrix), b, 1, 2)
    assert np.abs((matrix @ x.T).T - b).max(initial=0.0) <= 1e-12 * np.abs(b).max(initial=1.0)
    assert np.abs(x - exact).max(initial=0.0) <= 1e-8
    assert seconds.shape == (1, 2)
    for threads in (1, 5):
        np.testing.assert_array_equal(_core.factor_solve(lower(matrix), b, 1, threads)[0], x)


@pytest.mark.parametrize("name", MATRICES)
def test_modes_are_those_of_the_matrix(name):
    stiffness = MATRICES[name]()
    values, vectors, mass = modes(stiffness, threads=2)
    size = abs(stiffness).sum(axis=0).max()
    for value, vector in zip(values, vectors, strict=True):
        residual = stiffness @ vector - value * (mass @ vector)
        assert np.linalg.norm(residual) <= 1e-10 * size * np.linalg.norm(vector)
    np.testing.assert_allclose(vectors @ (mass @ vectors.T), np.eye(len(values)), atol=1e-12)


@pytest.mark.parametrize("name", ["block", "forest"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_bits_do_not_depend_on_threads(name):
    stiffness = MATRICES[name]()
    values, vectors, _ = modes(stiffness, k=12)
    for threads in (2, 5):
        other_values, other_vectors, _ = modes(stiffness, k=12, threads=threads)
        np.testing.assert_array_equal(other_values, values)
        np.testing.assert_array_equal(other_vectors, vectors)


def test_halves_of_the_factor(rng, set_threads):
    """A basis by mass-PCA is M-orthonormal and spans what it is of, on any number of threads."""
    solid = rf.Solid(rf.Mesh(*box_hexes(22, 22, 22, (1.0, 1.1, 1.2))), rf.StVK(1e6, 0.3, 1000.0))
    fields = rng.normal(size=(11, solid.mesh.n_nodes, 3))
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append(rf.mass_pca(solid, fields, 11).vectors)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    basis, wanted = results[0].reshape(11, -1), fields.reshape(11, -1)
    products = solid.mass() @ basis.T
    np.testing.assert_allclose(basis @ products, np.eye(11), atol=1e-12)
    np.testing.assert_allclose((wanted @ products) @ basis, wanted, atol=1e-10)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("place", [0, 4321, -1])
def test_pivots_that_are_not_positive_are_named(threads, place):
    parts = sparse.block_diag([grid(22, 22), sparse.eye_array(30)]).tolil()
    alone = parts.shape[0] - 30
    parts[alone, alone] = -1.0
    stiffness = parts.tocsc()
    order = np.arange(stiffness.shape[0])
    place = place % len(order)
    order[place], order[alone] = order[alone], order[place]
    stiffness = stiffness.tocsr()[order][:, order].tocsc()
    with pytest.raises(rf.SingularMatrixError, match=rf"not positive definite \(column {place}\)"):
        modes(stiffness, threads=threads)


def test_a_stop_ends_the_factorization():
    def stop(done, total):
        raise KeyboardInterrupt

    stiffness, before = MATRICES["block"](), live_blocks()
    with pytest.raises(KeyboardInterrupt):
        modes(stiffness, threads=2, progress=stop)
    check_live_blocks(before)


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_that_runs_out_is_reported(threads):
    stiffness, before = MATRICES["block"](), live_blocks()
    b, errors, done = np.ones((9, stiffness.shape[0])), [], None
    while done is None:
        _core.alloc_fail_from(17 * len(errors))
        try:
            done = _core.factor_solve(lower(stiffness), b, 1, threads)
        except MemoryError as error:
            errors.append(str(error))
        finally:
            _core.alloc_fail_from(-1)
    assert len(errors) > 4
    assert all("out of memory" in error for error in errors)
    done = None
    check_live_blocks(before)
