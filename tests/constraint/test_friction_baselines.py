"""The methods of 2006, sweeps and the pyramid, against the solver."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction import factor, free_motion, manufactured, residual


def problem(seed: int, m: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    V = factor(m, 3 * m, rng)
    return V @ V.T, free_motion(V, rng)


@pytest.mark.parametrize("seed", range(4))
def test_many_sweeps_end_at_the_solution(seed):
    W, free = problem(seed)
    out = rf.solve_friction(W, free, 0.4, tol=1e-12)
    swept = rf.solve_friction_sweeps(W, free, 0.4, change=1e-12, most_sweeps=1_000_000)
    assert swept.status == "solved"
    assert swept.residual == pytest.approx(residual(W, free, 0.4, swept.force), abs=1e-14)
    np.testing.assert_allclose(swept.gap, out.gap, atol=1e-8 * np.abs(free).max())
    rough = rf.solve_friction_sweeps(W, free, 0.4)
    assert rough.sweeps < swept.sweeps
    assert swept.residual < rough.residual
    few = rf.solve_friction_sweeps(W, free, 0.4, change=1e-12, most_sweeps=3)
    assert (few.status, few.sweeps) == ("stalled", 3)
    again = rf.solve_friction_sweeps(W, free, 0.4, start=swept.force, change=1e-3)
    assert again.sweeps == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_pyramid_of_more_sides_comes_closer_to_the_cone(seed):
    rng = np.random.default_rng(seed)
    V = factor(10, 30, rng)
    W = V @ V.T
    free, _, force = manufactured(W, 0.2, rng)
    errors = []
    for sides in (4, 16, 64):
        out = rf.solve_friction_pyramid(W, free, 0.2, sides)
        assert out.status == "solved"
        across = np.hypot(out.force[:, 1], out.force[:, 2])
        assert (across <= 0.2 * out.force[:, 0] * (1 + 1e-9)).all()
        assert (out.gap[:, 0] >= -1e-9 * np.abs(free).max()).all()
        errors.append(np.abs(out.force - force).max() / np.abs(force).max())
    assert errors[2] < 0.1 * errors[0]
    assert errors[2] < 0.02


def test_pyramid_and_cone_agree_where_slip_is_along_a_side():
    # normal force 0.25, slip along x: the first side of every pyramid
    for sides in (3, 4, 8):
        out = rf.solve_friction_pyramid(np.diag([2.0, 3.0, 3.0]), [-0.5, -0.6, 0.0], 0.5, sides)
        np.testing.assert_allclose(out.force, [[0.25, 0.125, 0.0]], atol=1e-12)
        assert out.state.tolist() == ["slip"]


def test_without_friction_the_pyramid_has_no_effect():
    W, free = problem(9)
    cone, pyramid = rf.solve_friction(W, free, 0.0), rf.solve_friction_pyramid(W, free, 0.0)
    np.testing.assert_allclose(pyramid.force, cone.force, atol=1e-7 * cone.force.max())


def test_a_pinch_ends_without_forces():
    H = np.array([[1.0], [0.0], [0.0], [-1.0], [0.0], [0.0]])
    W = rf.delassus([(H, [[1e-3]])])
    out = rf.solve_friction_pyramid(W, [[-1e-3, 0, 0], [-1e-3, 0, 0]], 0.3)
    assert out.status == "stalled"
    np.testing.assert_array_equal(out.force, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rf.solve_friction_pyramid(np.eye(3), np.zeros(3), 0.5, 2),
            "sides must be between 3",
        ),
        (
            lambda: rf.solve_friction_pyramid(np.eye(300), np.zeros(300), 0.5, 256),
            "100 contacts with 256 sides make 25800 unknowns; at most 20000",
        ),
        (
            lambda: rf.solve_friction_sweeps(np.eye(3), np.zeros(3), 0.5, change=0.0),
            "change must be positive, got 0",
        ),
        (
            lambda: rf.solve_friction_sweeps(np.eye(3), np.zeros(3), 0.5, most_sweeps=0),
            "most_sweeps must be between 1",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(rf.InputError, match=message):
        call()
