"""Steps of rigid bodies with friction against closed forms: incline, rolling, grip, belt."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf

GRAVITY = 9.81
H = 1e-3  # s


class Ball:
    """A ball or cylinder on a plane that leans along x; velocities at its centre.

    Coordinates: normal and downhill motion, and the rotation that rolls downhill.
    """

    def __init__(self, inertia: float, tilt: float, mu: float) -> None:
        self.mass, self.radius, self.mu = 0.7, 0.04, mu
        self.inertia = inertia * self.mass * self.radius**2
        self.fall = GRAVITY * np.array([-np.cos(tilt), np.sin(tilt), 0.0])
        self.inverse = H * H / np.array([self.mass, self.mass, self.inertia])
        self.rows = np.array([[1.0, 0, 0], [0, 1.0, -self.radius], [0, 0, 0]])
        self.W = rf.delassus([(self.rows, np.diag(self.inverse))])
        self.v = np.zeros(3)

    def step(self) -> str:
        motion = H * self.v + H * H * self.fall
        out = rf.solve_friction(self.W, self.rows @ motion, self.mu, tol=1e-13)
        assert out.status == "solved"
        self.v = (motion + self.inverse * (self.rows.T @ out.force[0])) / H
        return str(out.state[0])


@pytest.mark.parametrize(("inertia", "limit"), [(0.4, 3.5), (0.5, 3.0)], ids=["ball", "cylinder"])
@pytest.mark.parametrize("tilt", np.radians([10.0, 40.0, 48.0, 60.0]))
def test_a_ball_rolls_or_slides_down_a_slope(inertia, limit, tilt):
    mu = 0.3
    ball = Ball(inertia, tilt, mu)
    rolls = np.tan(tilt) <= limit * mu
    for _ in range(50):
        assert ball.step() == ("stick" if rolls else "slip")
    time = 50 * H
    speed, spin = ball.v[1], ball.v[2]
    if rolls:
        assert speed == pytest.approx(GRAVITY * np.sin(tilt) / (1 + inertia) * time, rel=1e-9)
        assert spin == pytest.approx(speed / ball.radius, rel=1e-9)
    else:
        slope = np.sin(tilt) - mu * np.cos(tilt)
        assert speed == pytest.approx(GRAVITY * slope * time, rel=1e-9)
        turning = mu * GRAVITY * np.cos(tilt) / (inertia * ball.radius)
        assert spin == pytest.approx(turning * time, rel=1e-9)
    assert abs(ball.v[0]) < 1e-12


def test_a_ball_thrown_along_the_floor_ends_rolling():
    ball = Ball(0.4, 0.0, 0.25)
    ball.v[1] = thrown = 1.3
    states = [ball.step() for _ in range(400)]
    rolling = states.index("stick")
    assert set(states[:rolling]) == {"slip"}
    assert set(states[rolling:]) == {"stick"}
    assert rolling * H == pytest.approx(2 * thrown / (7 * 0.25 * GRAVITY), abs=2 * H)
    assert ball.v[1] == pytest.approx(5 / 7 * thrown, rel=1e-9)


def test_a_mass_on_a_belt_swings_after_its_first_slip():
    stiffness, mass, belt, mu, h = 50.0, 0.2, 0.15, 0.4, 1e-4
    half = np.pi / np.sqrt(stiffness / mass)
    inverse = 1.0 / (mass / h**2 + stiffness)
    x, v, began, speeds = 0.0, belt, None, []
    while began is None or len(speeds) * h < 2 * half:
        free = inverse * (mass * v / h - stiffness * x) - h * belt
        out = rf.solve_friction(
            inverse * np.eye(3), [-inverse * mass * GRAVITY, free, 0.0], mu, tol=1e-12
        )
        step = out.gap[0, 1] + h * belt
        x, v = x + step, step / h
        if began is None and out.state[0] == "slip":
            began = x
        if began is not None:
            speeds.append(v)
    # it slips where the spring pulls as hard as friction, with the speed belt * cos(omega t)
    assert began == pytest.approx(mu * mass * GRAVITY / stiffness, rel=2e-3)
    time = h * np.arange(len(speeds))
    expected = belt * np.cos(np.pi * time / half)
    assert np.abs(speeds - expected).max() < 0.01 * belt


def test_a_box_between_two_fingers_is_held_by_twice_the_coefficient():
    mass, press = 0.2, 4.0
    rows = np.array([[1.0, 0], [0, 1], [0, 0], [-1, 0], [0, 1], [0, 0]])
    tips = np.array([[-1.0, 0], [0, 0], [0, 0], [0, -1], [0, 0], [0, 0]])
    spring = 500.0
    W = rf.delassus([(rows, H * H / mass * np.eye(2)), (tips, np.eye(2) / spring)])
    free = np.zeros((2, 3))
    free[:, 0] = -press / spring
    free[:, 1] = -H * H * GRAVITY
    critical = mass * GRAVITY / (2 * press)
    for mu, state in ((0.99 * critical, "slip"), (1.01 * critical, "stick")):
        out = rf.solve_friction(W, free, mu, tol=1e-12)
        assert out.state.tolist() == [state] * 2
        np.testing.assert_allclose(out.force[:, 0], press, rtol=1e-9)
        held = out.force[:, 1].sum()
        assert held == pytest.approx(min(2 * mu * press, mass * GRAVITY), rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_of_two_free_bodies_is_kept(seed):
    rng = np.random.default_rng(seed)
    masses = np.array([0.3, 1.1])
    normals = rng.normal(size=(4, 3))
    first = np.cross(normals, rng.normal(size=(4, 3)))
    axes = np.stack([normals, first, np.cross(normals, first)], axis=1)
    axes /= np.linalg.norm(axes, axis=2, keepdims=True)
    one = axes.reshape(12, 3)
    W = rf.delassus([(one, H * H / masses[0] * np.eye(3)), (-one, H * H / masses[1] * np.eye(3))])
    v = rng.normal(size=(2, 3))
    free = H * one @ (v[0] - v[1])
    out = rf.solve_friction(W, free, 0.5)
    push = np.einsum("mij,mi->j", axes, out.force)
    after = v + H * np.stack([push, -push]) / masses[:, None]
    np.testing.assert_allclose(masses @ after, masses @ v, atol=1e-12)
    assert (masses * (after**2).sum(axis=1)).sum() <= (masses * (v**2).sum(axis=1)).sum() + 1e-12
