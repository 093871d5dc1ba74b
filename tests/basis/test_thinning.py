"""Thinning of samples against brute force, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import solid_box


def brute_force(points, distance):
    """Return the samples kept by the documented rule, with every density summed afresh."""
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) / distance
    kernel = np.where(apart < 2.0, np.rint(2.0**31 * (1.0 - (apart / 2.0) ** 2) ** 2), 0.0)
    np.fill_diagonal(kernel, 0.0)
    close = apart < 1.0
    np.fill_diagonal(close, False)
    left = np.ones(len(points), dtype=bool)
    while (crowded := left & (close & left).any(axis=1)).any():
        density = np.where(crowded, kernel @ left, -1.0)
        left[np.flatnonzero(density == density.max())[-1]] = False
    for i in np.flatnonzero(~left):
        left[i] |= not (close[i] & left).any()
    return np.flatnonzero(left)


def check_promises(points, distance, kept):
    apart = np.linalg.norm(points[:, None] - points[None, kept], axis=2)
    among = apart[kept]
    np.fill_diagonal(among, np.inf)
    assert among.min(initial=np.inf) >= distance
    assert apart.min(axis=1).max() < distance


@pytest.mark.parametrize(("count", "dim"), [(1, 1), (9, 1), (60, 2), (200, 3), (37, 2500)])
def test_against_brute_force(rng, count, dim):
    # clusters of different density, and copies
    centres = rng.standard_normal((5, dim))
    points = centres[rng.integers(5, size=count)] + 0.3 * rng.standard_normal((count, dim))
    points[count // 2] = points[0]
    scale = np.sqrt(dim)
    for distance in (0.05 * scale, 0.4 * scale, 1.1 * scale, 9.0 * scale):
        kept = rf.thin_samples(points, distance)
        np.testing.assert_array_equal(kept, brute_force(points, distance))
        check_promises(points, distance, kept)


def test_the_densest_go_first():
    """Of three points in a row, 0.6 apart, the middle one is dropped: it is close to both."""
    assert rf.thin_samples([[0.0], [0.6], [1.2]], 1.0).tolist() == [0, 2]
    # of a pair the later one goes
    assert rf.thin_samples([[0.6], [0.0]], 1.0).tolist() == [0]
    # a cluster is reduced to its first sample
    assert rf.thin_samples(np.zeros((50, 4)), 1e-3).tolist() == [0]


def test_samples_that_lost_their_neighbour_are_kept():
    # 0.9 is dropped first (two neighbours); then 0.0 and 1.8 have no neighbours
    points = np.array([[0.0], [0.9], [1.8], [1.75], [1.85]])
    kept = rf.thin_samples(points, 1.0)
    check_promises(points, 1.0, kept)
    np.testing.assert_array_equal(kept, brute_force(points, 1.0))


def test_distances_at_the_ends():
    points = np.arange(12.0).reshape(4, 3)
    assert rf.thin_samples(points, 0.0).tolist() == [0, 1, 2, 3]
    assert len(rf.thin_samples(points, 1e300)) == 1
    assert rf.thin_samples(np.zeros((0, 3)), 1.0).shape == (0,)
    # neither squares that vanish nor squares that overflow hide a distance
    assert rf.thin_samples(1e-200 * points, 1e-201).tolist() == [0, 1, 2, 3]
    assert rf.thin_samples(1e200 * points, 1e198).tolist() == [0, 1, 2, 3]
    # samples may have any shape: forces (m, n, 3) as they are
    assert rf.thin_samples(points.reshape(4, 1, 3), 6.0).tolist() == [0, 3]


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_threads(rng, threads):
    points = rng.standard_normal((150, 40))
    one = _core.thin(points, 7.5, None, 1)
    assert 10 < len(one) < 140
    np.testing.assert_array_equal(_core.thin(points, 7.5, None, threads), one)


def test_a_stop_is_noticed(rng):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.thin_samples(rng.standard_normal((3000, 500)), 1.0, progress=stop)


@pytest.mark.parametrize(
    ("vectors", "distance", "error", "message"),
    [
        (3.0, 1.0, rf.InputError, "vectors must have shape"),
        ([[1.0, np.nan]], 1.0, rf.InputError, r"vectors\[0, 1\] is nan"),
        ([["a"]], 1.0, rf.InputTypeError, "vectors must be an array of real numbers"),
        ([[1.0]], -1.0, rf.InputError, "distance must be at least 0, got -1"),
        ([[1.0]], np.nan, rf.InputError, "distance must be finite"),
        ([[1.0]], 1e-310, rf.InputError, "distance must be finite and not negative, got 1e-310"),
        ([[1.0]], "far", rf.InputTypeError, "distance must be a number"),
    ],
)
def test_bad_arguments(vectors, distance, error, message):
    with pytest.raises(error, match=message):
        rf.thin_samples(vectors, distance)


# --- deformations --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solid():
    return solid_box((5, 2, 2), (0.5, 0.1, 0.1), rf.StVK(1e5, 0.3, 800.0))


def held(solid, rng, count):
    fields = rng.standard_normal((count, solid.mesh.n_nodes, 3))
    fields[:, solid.fixed] = 0.0
    return fields


def test_shapes_are_thinned_by_mass_distance(solid, rng):
    shapes = np.concatenate([held(solid, rng, 3)[[0, 0, 1, 2, 2]], np.zeros((2, 54, 3))])
    shapes[:5] += 0.1 * held(solid, rng, 5)
    # the metric as a matrix: |x|_M is the length of R x, M = R^T R
    R = np.linalg.cholesky(solid.mass().to_dense()).T
    points = shapes.reshape(7, -1) @ R.T
    lengths = np.linalg.norm(points[:, None] - points[None], axis=2)
    for distance in np.unique(lengths)[1:] * 1.000001:
        kept = rf.thin_shapes(solid, shapes, distance)
        np.testing.assert_array_equal(kept, brute_force(points, distance))
    np.testing.assert_array_equal(
        _core.thin_shapes(solid._core, shapes, lengths.max() / 3, None, 1),
        _core.thin_shapes(solid._core, shapes, lengths.max() / 3, None, 3),
    )


def test_bad_shapes(solid, rng):
    shapes = held(solid, rng, 2)
    shapes[1, solid.fixed[2]] = 1.0
    with pytest.raises(rf.InputError, match=rf"shapes\[1\] moves node {solid.fixed[2]}"):
        rf.thin_shapes(solid, shapes, 1.0)
    with pytest.raises(rf.InputError, match="shapes must have shape"):
        rf.thin_shapes(solid, shapes[0], 1.0)
    with pytest.raises(rf.InputTypeError, match="solid must be a Solid"):
        rf.thin_shapes(shapes, shapes, 1.0)
    whole = rf.Solid(solid.mesh, rf.StVK(1e5, 0.3, 800.0), np.arange(solid.mesh.n_nodes))
    with pytest.raises(rf.MeshError, match="every node"):
        rf.thin_shapes(whole, np.zeros((2, solid.mesh.n_nodes, 3)), 1.0)
