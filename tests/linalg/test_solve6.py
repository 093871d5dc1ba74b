"""The solve of a cycle, 6 by 6, of any rank: against the pseudo-inverse of NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core

K, K_T, DEGENERATE = 500.0, 0.3, 1e-3
# the unit of length of the solve, which makes turns comparable with ways
LENGTH = math.sqrt(0.5 * K_T / K)
SCALE = np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])
POSE = (np.array([0.02, -0.01, 0.03]), np.array([0.5, 0.5, -0.5, 0.5]))
TURN = np.array([0.3, -0.2, 0.4])


def hand():
    """Return a manipulandum that is away from the object by 7 cm and the rotation TURN."""
    angle = np.linalg.norm(TURN)
    w, v = math.cos(0.5 * angle), math.sin(0.5 * angle) / angle * TURN
    a, b = POSE[1][0], POSE[1][1:]
    quaternion = np.array([w * a - v @ b, *(w * b + a * v + np.cross(v, b))])
    return POSE[0] + [0.03, 0.06, -0.02], quaternion


def contact_with(matrix, coupling):
    """Return a contact by which the matrix of the solve, in the unit LENGTH, is a given one."""
    own = coupling.wrench(hand(), *POSE).gradient  # no saturation: the one that is solved with
    gradient = matrix * np.outer(SCALE, SCALE) - own
    return rf.ContactForce(np.zeros(3), np.zeros(3), gradient, None, 0, 0, 1, 0, 0.0, 0.0)


def stepped(matrix):
    """Return motion and rank of a cycle, the motion in the unit LENGTH."""
    coupling = rf.VirtualCoupling(K, K_T, damping=0.0, degenerate=DEGENERATE)
    step = coupling.step(hand(), *POSE, contact_with(matrix, coupling))
    return step.move * SCALE, step.rank


def expected(matrix):
    """Return the same: by the pseudo-inverse, and where nothing resists straight to the hand."""
    coupling = rf.VirtualCoupling(K, K_T)
    wrench = coupling.wrench(hand(), *POSE)
    net = np.concatenate([wrench.force, wrench.torque]) / SCALE
    way = np.concatenate([hand()[0] - POSE[0], TURN]) * SCALE
    inverse = np.linalg.pinv(matrix, rcond=DEGENERATE)
    return way - inverse @ (net + matrix @ way)


def random_matrix(rng, values):
    """Return a matrix with some singular values."""
    u, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    v, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    return (u * values) @ v.T


@pytest.mark.parametrize("size", [1e-2, 1e3, 1e8])
@pytest.mark.parametrize("rank", range(1, 7))
def test_any_rank_is_solved_as_by_the_pseudo_inverse(rng, rank, size):
    """Directions that are left out resist by 1e-7 of the largest value, or not at all."""
    for left in (0.0, 1e-7):
        for _ in range(20):
            values = size * np.where(np.arange(6) < rank, 10.0 ** -rng.uniform(0, 2, 6), left)
            values[0] = size
            matrix = random_matrix(rng, values)
            move, found = stepped(matrix)
            assert found == rank
            # the coupling's own gradient, 500 N/m, is taken off and added again
            rounding = 1e-11 * max(1.0, K / (1e-2 * size))
            error = np.abs(move - expected(matrix)).max()
            assert error < (1e-9 + rounding) * np.abs(expected(matrix)).max()


def test_equal_values_and_equal_columns(rng):
    """Degenerate cases of Jacobi's rotations: no angle, or one of 45 degrees."""
    for rank in range(1, 7):
        matrix = random_matrix(rng, np.where(np.arange(6) < rank, 1e3, 0.0))
        move, found = stepped(matrix)
        assert found == rank
        assert np.allclose(move, expected(matrix), rtol=1e-9, atol=1e-12)
    column = rng.normal(size=6)
    for matrix in (np.outer(column, np.ones(6)), np.outer(np.ones(6), column), np.ones((6, 6))):
        move, found = stepped(1e3 * matrix)
        assert found == 1
        assert np.allclose(move, expected(1e3 * matrix), rtol=1e-9, atol=1e-12)


def test_values_beside_the_threshold(rng):
    """Values 1 % above 1/1000 of the largest are kept, those 1 % below are dropped."""
    for rank in range(1, 6):
        for factor, kept in ((1.01, 6), (0.99, rank)):
            values = 1e3 * np.where(np.arange(6) < rank, 1.0, factor * DEGENERATE)
            matrix = random_matrix(rng, values)
            move, found = stepped(matrix)
            assert found == kept
            assert np.allclose(move, expected(matrix), rtol=1e-8, atol=1e-11)


# ---- the solve itself ----------------------------------------------------------------------------


def by_svd(matrix, right, degenerate, otherwise):
    """Return solution and rank by NumPy's decomposition; and what roundings may change, about."""
    u, values, vt = np.linalg.svd(matrix)
    kept = values >= degenerate * values[0]
    kept &= values > 0.0
    x = vt[kept].T @ ((u[:, kept].T @ right) / values[kept])
    x += vt[~kept].T @ (vt[~kept] @ otherwise)
    condition = values[0] / values[kept][-1] if kept.any() else 1.0
    return x, int(kept.sum()), 1e-14 * condition * np.abs(x).max()


def compare(rng, matrix, degenerate, sure=math.inf):
    right, otherwise = rng.normal(size=(2, 6))
    right *= np.linalg.norm(matrix, 2)
    expected, rank, rounding = by_svd(matrix, right, degenerate, otherwise)
    found, found_rank = _core.solve6(matrix, right, degenerate, sure, otherwise)
    assert found_rank == rank
    assert np.abs(found - expected).max() <= rounding
    return rank


def test_values_over_twelve_decades(rng):
    """One by one a hundred times smaller, the threshold between any two of them."""
    for between in np.arange(-11.0, 0.0, 2.0):
        for _ in range(50):
            matrix = random_matrix(rng, 10.0 ** -np.arange(0.0, 12.0, 2.0))
            assert compare(rng, matrix, 10.0**between) == round(0.5 * (1.0 - between))


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-100, 1.0, 1e100, 1e140])
def test_sizes_from_the_smallest_to_the_largest(rng, size):
    for rank in range(1, 7):
        values = np.where(np.arange(6) < rank, rng.uniform(0.1, 1.0, 6), 1e-6)
        matrix = random_matrix(rng, values)
        otherwise = rng.normal(size=6)
        right = matrix @ rng.normal(size=6)
        if size < 1e-150:  # squares vanish: as nothing at all
            found, found_rank = _core.solve6(size * matrix, size * right, 1e-3, 1.0, otherwise)
            assert found_rank == 0
            assert (found == otherwise).all()
            continue
        expected, _, rounding = by_svd(matrix, right, 1e-3, otherwise)
        found, found_rank = _core.solve6(size * matrix, size * right, 1e-3, math.inf, otherwise)
        assert found_rank == rank
        assert np.abs(found - expected).max() <= 10.0 * rounding


def test_rows_and_columns_of_zeros(rng):
    for nothing in range(6):
        for axis in (0, 1):
            matrix = rng.normal(size=(6, 6))
            np.moveaxis(matrix, axis, 0)[:nothing] = 0.0
            assert compare(rng, matrix, 1e-6) == 6 - nothing
    otherwise = rng.normal(size=6)
    for matrix in (np.zeros((6, 6)), np.full((6, 6), 1e-320)):
        found, rank = _core.solve6(matrix, np.ones(6), 1e-3, 0.0, otherwise)
        assert rank == 0
        assert (found == otherwise).all()


def test_rows_of_any_size(rng):
    """Matrices graded by rows, by columns and by both, which need pivots."""
    for _ in range(50):
        left, right = 10.0 ** rng.uniform(-4.0, 0.0, (2, 6))
        matrix = rng.normal(size=(6, 6))
        for graded in (left[:, None] * matrix, matrix * right, left[:, None] * matrix * right):
            values = np.linalg.svd(graded, compute_uv=False) / np.linalg.norm(graded, 2)
            degenerate = 10.0 ** rng.uniform(-6.0, -1.0)
            if np.abs(values / degenerate - 1.0).min() > 1e-3:
                compare(rng, graded, degenerate)


def test_matrices_of_full_rank_are_solved_at_any_stiffness(rng):
    """A stiff contact beside a soft spring: no direction is dropped; where one pulls, by 4.10."""
    for stiff in 10.0 ** np.arange(0.0, 8.0):
        for rank in range(1, 6):
            u, _ = np.linalg.qr(rng.normal(size=(6, 6)))
            skewed = rng.normal(size=(6, 6))
            values = np.where(np.arange(6) < rank, stiff, 0.0)
            matrix = -np.eye(6) - (u * values) @ u.T + 0.3 * (skewed - skewed.T)
            right, otherwise = rng.normal(size=(2, 6))
            found, found_rank = _core.solve6(matrix, right, 1e-3, 0.999, otherwise)
            assert found_rank == 6
            assert np.allclose(matrix @ found, right, rtol=0, atol=1e-13 * stiff)
            # as much as that is not known of it, or it pulls
            for other, sure in ((matrix, 1.001), (-matrix, 0.5)):
                expected, kept, rounding = by_svd(other, right, 1e-3, otherwise)
                found, found_rank = _core.solve6(other, right, 1e-3, sure, otherwise)
                assert found_rank == kept
                assert np.abs(found - expected).max() <= rounding + 1e-14 * stiff
            assert kept < 6 or stiff < 1e4


@pytest.mark.parametrize("degenerate", [1e-100, 1e-165, 1e-300])
def test_zero_matrices_do_not_divide_by_zero(rng, degenerate):
    """A direction without any resistance is dropped even with the smallest threshold."""
    matrix = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    right, otherwise = rng.normal(size=(2, 6))
    found, rank = _core.solve6(matrix, right, degenerate, math.inf, otherwise)
    assert rank == 5
    assert found == pytest.approx([*right[:5] / np.arange(1.0, 6.0), otherwise[5]], rel=1e-14)


@pytest.mark.parametrize("k_t", [0.01, 0.3, 5.0])
def test_a_force_on_one_point_twists_less_than_the_springs_resist_up_to_a_limit(rng, k_t):
    """Of F = sqrt(2 k k_T): a stiff point at the grasp point, pushed in any direction."""
    coupling = rf.VirtualCoupling(K, k_t, damping=0.0, degenerate=DEGENERATE)
    still = (POSE[0], POSE[1])
    for _ in range(20):
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        for share, kept in ((0.5, True), (0.998, True), (1.002, False), (3.0, False)):
            force = share * math.sqrt(2.0 * K * k_t) * normal
            skew = np.cross(np.eye(3), -force)
            gradient = np.zeros((6, 6))
            gradient[:3, :3] = -1e5 * K * np.outer(normal, normal)
            # in fixed axes: the torque about the grasp point, as that moves aside
            gradient[3:, :3] = skew
            load = rf.ContactForce(force, np.zeros(3), gradient, None, 0, 0, 1, 0, 0.0, 0.0)
            assert (coupling.step(still, *POSE, load).rank == 6) == kept


def test_values_that_are_not_finite_are_refused(rng):
    good, b = rng.normal(size=(6, 6)), rng.normal(size=6)
    large = good.copy()
    large[2, 3] = 1e200  # its square is not finite
    for matrix, right, otherwise in ((large, b, b), (good, 1e200 * b, b), (good, b, 1e200 * b)):
        found, rank = _core.solve6(matrix, right, 1e-3, 0.0, otherwise)
        assert rank == -1
        assert (found == otherwise).all()
