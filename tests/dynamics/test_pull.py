"""A spring that pulls a point of a reduced body: its force, its stability, its stiffness."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import box_hexes

H = 1e-3


@pytest.fixture(scope="module")
def bar():
    nodes, elements = box_hexes(6, 2, 2, (0.3, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(2e5, 0.3, 1000.0), fixed=nodes[:, 0] < 1e-9)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 9))
    tip = int(np.argmax(nodes @ [1.0, 0.1, 0.1]))
    rows = np.ascontiguousarray(reduced.basis[:, tip].T)
    return reduced, nodes[tip], rows


def pull(sim, rest, rows, k, place, force=None, n=1):
    felt, point = _core.pull(sim._core, rest, rows, k, place, force, n, 2)
    return np.array(felt), np.array(point)


def test_one_step_is_that_of_the_matrix_with_the_spring(bar, rng):
    reduced, rest, rows = bar
    k, place, more = 40.0, rest + np.array([0.0, 0.01, 0.02]), rng.standard_normal(reduced.r)
    q, v = 1e-4 * rng.standard_normal((2, reduced.r))
    sim = rf.BackwardEuler(reduced, H, damping=(3.0, 1e-4))
    sim.reset(q, v)
    felt, point = pull(sim, rest, rows, k, place, more)
    # (M/h^2 + C/h + K + k U^T U) dq = f + k U^T (p - x) - R + M v/h, C = a M + b K
    stiffness = reduced.stiffness(q)
    matrix = (1 / H**2 + 3.0 / H) * reduced.mass + (1 + 1e-4 / H) * stiffness + k * rows.T @ rows
    load = (
        more
        + k * rows.T @ (place - rest - rows @ q)
        - reduced.internal_force(q)
        + v @ reduced.mass / H
    )
    dq = np.linalg.solve(matrix, load)
    np.testing.assert_allclose(sim.state.q, q + dq, rtol=0, atol=1e-11 * abs(q + dq).max())
    np.testing.assert_allclose(point, rest + rows @ sim.state.q, rtol=1e-14)
    np.testing.assert_allclose(felt, k * (place - point), rtol=1e-12)


def test_at_rest_the_spring_balances_the_body(bar):
    reduced, rest, rows = bar
    place = rest + np.array([0.0, 0.0, 0.05])
    sim = rf.BDF2(reduced, H, damping=(60.0, 0.0), newton_max=20)
    felt, point = pull(sim, rest, rows, 30.0, place, n=3000)
    q = reduced.solve_static(rows.T @ felt)
    np.testing.assert_allclose(rest + rows @ q, point, rtol=0, atol=1e-6)
    assert felt[2] > 0.1


@pytest.mark.parametrize("k", [1e6, 1e12])
def test_any_stiffness_is_stable(bar, k):
    reduced, rest, rows = bar
    for kind in (rf.ImplicitNewmark, rf.BackwardEuler, rf.BDF2, rf.GeneralizedAlpha):
        sim = kind(reduced, H, damping=(20.0, 0.0), newton_max=20)
        place = rest + np.array([0.0, 0.0, 0.01])
        for part in np.linspace(0.02, 1.0, 50):
            pull(sim, rest, rows, k, rest + part * (place - rest), n=4)
        _, point = pull(sim, rest, rows, k, place, n=200)
        assert np.linalg.norm(point - place) < 1e-3


def test_steps_in_one_call_are_those_of_many(bar):
    reduced, rest, rows = bar
    place = rest + np.array([0.01, 0.0, 0.02])
    one, many = (rf.ImplicitNewmark(reduced, H) for _ in range(2))
    felt, point = pull(one, rest, rows, 25.0, place, n=150)
    for _ in range(150):
        found = pull(many, rest, rows, 25.0, place)
    np.testing.assert_array_equal(one.state.q, many.state.q)
    np.testing.assert_array_equal([felt, point], found)


def test_without_stiffness_it_is_a_plain_step(bar, rng):
    reduced, rest, rows = bar
    force = rng.standard_normal(reduced.r)
    plain, pulled = (rf.ImplicitNewmark(reduced, H, newton_max=5) for _ in range(2))
    plain.step(force, 20)
    felt, _ = pull(pulled, rest, rows, 0.0, rest + 1.0, force, n=20)
    np.testing.assert_array_equal(plain.state.q, pulled.state.q)
    np.testing.assert_array_equal(felt, 0.0)


def test_no_steps_tell_the_force_and_change_nothing(bar):
    reduced, rest, rows = bar
    sim = rf.ImplicitNewmark(reduced, H)
    felt, point = pull(sim, rest, rows, 10.0, rest + np.array([0.0, 0.0, 0.1]), n=0)
    np.testing.assert_allclose(felt, [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_array_equal(point, rest)
    assert sim.state.time == 0.0


def test_the_stiffness_of_the_body_is_that_of_its_compliance(bar):
    reduced, _, rows = bar
    compliance = rows @ np.linalg.solve(reduced.stiffness(np.zeros(reduced.r)), rows.T)
    found = _core.pull_body_stiffness(reduced._core, rows, 2)
    assert found == pytest.approx(1.0 / np.trace(compliance), rel=1e-10)


def test_refusals(bar):
    reduced, rest, rows = bar
    sim = rf.ImplicitNewmark(reduced, H)
    with pytest.raises(rf.InputError, match="n must be at least 0, got -1"):
        pull(sim, rest, rows, 1.0, rest, n=-1)
    for k in (-1.0, np.nan, np.inf):
        with pytest.raises(rf.InputError, match="stiffness must be finite and at least 0"):
            pull(sim, rest, rows, k, rest)
    with pytest.raises(rf.InputError, match="rows"):
        pull(sim, rest, rows[:, :-1], 1.0, rest)
    with pytest.raises(rf.InputError, match="place"):
        pull(sim, rest, rows, 1.0, [0.0, np.nan, 0.0])
    with pytest.raises(rf.InputTypeError, match="one stage a step"):
        pull(rf.TRBDF2(reduced, H), rest, rows, 1.0, rest)
    with pytest.raises(rf.InputError, match="the point cannot move"):
        _core.pull_body_stiffness(reduced._core, np.zeros_like(rows), 2)
    with pytest.raises(rf.DivergedError, match="a softer pull"):
        pull(sim, rest, rows, 1e6, rest + np.array([0.0, 0.0, 1e4]), n=100)
    assert np.isfinite(sim.state.q).all()
