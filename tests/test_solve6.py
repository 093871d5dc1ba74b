"""The solve of a cycle, 6 by 6, of any rank: against the pseudo-inverse of NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf

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
    """What Jacobi's rotations have no angle for, or one of 45 degrees."""
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
    """What is 1 % more than 1/1000 of the largest is kept, what is 1 % less is left out."""
    for rank in range(1, 6):
        for factor, kept in ((1.01, 6), (0.99, rank)):
            values = 1e3 * np.where(np.arange(6) < rank, 1.0, factor * DEGENERATE)
            matrix = random_matrix(rng, values)
            move, found = stepped(matrix)
            assert found == kept
            assert np.allclose(move, expected(matrix), rtol=1e-8, atol=1e-11)
