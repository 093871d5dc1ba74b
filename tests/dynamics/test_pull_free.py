"""A spring that pulls a point of a free body, alone or in a world."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import solid_box

H = 1e-3


@pytest.fixture(scope="module")
def reduced():
    solid = solid_box((3, 2, 2), (0.3, 0.2, 0.15), rf.StVK(1e6, 0.3, 1000.0), held=None)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))


def body_of(reduced, gravity=(0.0, 0.0, 0.0)):
    return rf.FreeBody(reduced, H, gravity=gravity, damping=(20.0, 0.0))


def corner(reduced):
    tip = int(np.argmax(reduced.mesh.nodes @ [1.0, 1.0, 1.0]))
    return reduced.mesh.nodes[tip], np.ascontiguousarray(reduced.basis[:, tip].T)


def pull(body, at, spring, place, n=1, index=-1):
    felt, point = _core.pull_free(body._core, index, *at, spring, place, n, 2)
    return np.array(felt), np.array(point)


def momenta(state, rigid):
    turn = np.column_stack([rf.Pose((0, 0, 0), state.quaternion).apply(axis) for axis in np.eye(3)])
    return rigid.mass * state.velocity, turn @ rigid.inertia @ turn.T @ state.angular_velocity, turn


@pytest.mark.parametrize("spring", [(40.0, 3.0), (1e12, 0.0), (1e12, 1e9)])
def test_the_force_is_that_of_the_end_of_the_step(reduced, rng, spring):
    rest, rows = corner(reduced)
    body, rigid = body_of(reduced), reduced.rigid_body
    q, qdot = 1e-3 * rng.standard_normal((2, reduced.r))
    body.reset([0.1, 0.2, 0.3], [0.8, 0.6, 0, 0], [0.5, 0.0, 0.2], [3.0, 2.0, 1.0], q, qdot)
    before = body.state
    linear, angular, turn = momenta(before, rigid)
    place = np.array([0.5, 0.3, 0.6])
    felt, _ = pull(body, (rest, rows), spring, place)
    arm = turn @ (rest - rigid.centre + rows @ before.q)
    x = before.position + arm
    impulse = H * felt
    inertia = turn @ rigid.inertia @ turn.T
    rigid_end = (linear + impulse) / rigid.mass + np.cross(
        np.linalg.solve(inertia, angular + np.cross(arm, impulse)), arm
    )
    deforming = turn @ rows @ (before.qdot + rows.T @ turn.T @ impulse)
    k, c = spring
    # f = k (p - x - h (v' + w')) - c v'
    exact = k * (place - x - H * (rigid_end + deforming)) - c * rigid_end
    scale = k * np.linalg.norm(place - x) + c
    np.testing.assert_allclose(felt, exact, rtol=0, atol=1e-13 * scale)
    # all of its impulse is in the momenta
    after, turned, _ = momenta(body.state, rigid)
    np.testing.assert_allclose(after, linear + impulse, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(turned, angular + np.cross(arm, impulse), rtol=1e-9, atol=1e-12)


def test_a_body_hangs_at_a_soft_spring(reduced):
    at, weight, k = corner(reduced), 9.81 * reduced.rigid_body.mass, 300.0
    place = np.array([0.4, 0.3, 0.3])
    body = body_of(reduced, (0.0, 0.0, -9.81))
    world = rf.World(H, (0.0, 0.0, -9.81))
    world.add(body)
    damping = 2.0 * np.sqrt(k * reduced.rigid_body.mass)
    for one, index in ((body, -1), (world, 0)):
        felt, point = pull(one, at, (k, damping), place, n=12000, index=index)
        # it still swings a little
        np.testing.assert_allclose(felt, [0.0, 0.0, weight], rtol=0, atol=0.1 * weight)
        np.testing.assert_allclose(point, place - felt / k, rtol=0, atol=5e-3)


@pytest.mark.parametrize("k", [1e6, 1e12])
@pytest.mark.parametrize("damped", [False, True])
def test_a_body_swings_at_a_stiff_spring_without_gaining_energy(reduced, k, damped):
    at, rigid = corner(reduced), reduced.rigid_body
    body = body_of(reduced, (0.0, 0.0, -9.81))
    world = rf.World(H, (0.0, 0.0, -9.81))
    world.add(body)
    start, place = body.state, at[0]
    spring = (k, 2.0 * np.sqrt(k * rigid.mass) if damped else 0.0)
    for one, index in ((body, -1), (world, 0)):
        for _ in range(20):
            _, point = pull(one, at, spring, place, n=100, index=index)
            state = body.state if index < 0 else world.state(0)
            assert np.linalg.norm(point - place) < 5e-3
            _, angular, _ = momenta(state, rigid)
            kinetic = 0.5 * rigid.mass * state.velocity @ state.velocity
            kinetic += 0.5 * angular @ state.angular_velocity
            fallen = 9.81 * rigid.mass * (start.position[2] - state.position[2])
            # its swing has about 9 J
            assert kinetic < fallen + 0.3


def test_no_steps_change_nothing(reduced):
    rest, rows = corner(reduced)
    body = body_of(reduced)
    body.reset([0.1, 0.2, 0.3], [0.8, 0.6, 0, 0])
    _, point = pull(body, (rest, rows), (10.0, 0.0), [0.0, 0.0, 0.0], n=0)
    exact = rf.Pose([0.1, 0.2, 0.3], [0.8, 0.6, 0, 0]).apply(rest - reduced.rigid_body.centre)
    np.testing.assert_allclose(point, exact, atol=1e-14)
    assert body.state.time == 0.0


def test_refusals(reduced):
    rest, rows = corner(reduced)
    body, world = body_of(reduced), rf.World(H)
    for spring in ((-1.0, 0.0), (np.nan, 0.0), (1.0, -1.0), (1.0, np.inf)):
        with pytest.raises(rf.InputError, match="must be finite and at least 0"):
            pull(body, (rest, rows), spring, rest)
    with pytest.raises(rf.InputError, match="index must be between 0 and -1, got 0"):
        pull(world, (rest, rows), (1.0, 0.0), rest, index=0)
    with pytest.raises(rf.InputError, match="rows"):
        pull(body, (rest, rows[:, :-1]), (1.0, 0.0), rest)
    with pytest.raises(rf.InputError, match="n must be at least 0"):
        pull(body, (rest, rows), (1.0, 0.0), rest, n=-1)


@pytest.mark.parametrize("spring", [(1e4, 0.0), (1e300, 1e300)])
@pytest.mark.parametrize("index", [-1, 0])
def test_a_pull_that_fails_keeps_the_state(reduced, spring, index):
    one = body_of(reduced)
    one.reset(velocity=[0.5, 0.0, 0.0])
    if index == 0:
        world = rf.World(H)
        world.add(one)
        one = world

    def state():
        found = one.state if index < 0 else one.state(index)
        return np.concatenate([np.ravel(value) for value in dataclasses.astuple(found)])

    one.step(n=2)
    before = state()
    with pytest.raises(rf.DivergedError):
        pull(one, corner(reduced), spring, (1e300, 1e5, 0.0), index=index)
    np.testing.assert_array_equal(state(), before)
    one.step(n=1)
