"""Friction against closed forms: rolling, stick-slip of a mass, grip, capstan, Painleve's rod."""

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
        assert speed == pytest.approx(GRAVITY * np.sin(tilt) / (1 + inertia) * time, rel=1e-12)
        assert spin == pytest.approx(speed / ball.radius, rel=1e-12)
    else:
        slope = np.sin(tilt) - mu * np.cos(tilt)
        assert speed == pytest.approx(GRAVITY * slope * time, rel=1e-12)
        turning = mu * GRAVITY * np.cos(tilt) / (inertia * ball.radius)
        assert spin == pytest.approx(turning * time, rel=1e-12)
    assert abs(ball.v[0]) < 1e-12


def test_a_ball_thrown_along_the_floor_ends_rolling():
    ball = Ball(0.4, 0.0, 0.25)
    ball.v[1] = thrown = 1.3
    states = [ball.step() for _ in range(400)]
    rolling = states.index("stick")
    assert set(states[:rolling]) == {"slip"}
    assert set(states[rolling:]) == {"stick"}
    assert rolling * H == pytest.approx(2 * thrown / (7 * 0.25 * GRAVITY), abs=2 * H)
    assert ball.v[1] == pytest.approx(5 / 7 * thrown, rel=1e-12)


def test_a_mass_on_a_spring_swings_after_its_first_slip():
    """It lies on ground that is drawn away at a constant speed."""
    stiffness, mass, drawn, mu, h = 50.0, 0.2, 0.15, 0.4, 1e-4
    half = np.pi / np.sqrt(stiffness / mass)
    inverse = 1.0 / (mass / h**2 + stiffness)
    x, v, began, speeds = 0.0, drawn, None, []
    while began is None or len(speeds) * h < 2 * half:
        free = inverse * (mass * v / h - stiffness * x) - h * drawn
        out = rf.solve_friction(
            inverse * np.eye(3), [-inverse * mass * GRAVITY, free, 0.0], mu, tol=1e-12
        )
        step = out.gap[0, 1] + h * drawn
        x, v = x + step, step / h
        if began is None and out.state[0] == "slip":
            began = x
        if began is not None:
            speeds.append(v)
    # it slips where the spring pulls as hard as friction, with the speed drawn * cos(omega t)
    assert began == pytest.approx(mu * mass * GRAVITY / stiffness, rel=2e-3)
    time = h * np.arange(len(speeds))
    expected = drawn * np.cos(np.pi * time / half)
    assert np.abs(speeds - expected).max() < 0.01 * drawn


def capstan(n: int, turn: float, mu: float, pull: float) -> tuple[rf.FrictionSolution, float]:
    """Return the forces at n sites of a belt over a pulley, and the tension of its pulled end.

    A weight of 1 N hangs on one end; the other end is moved by `pull` [m]. The belt is a chain of
    springs of 1 N/m between the sites, at which it turns by equal angles. Springs of the sites
    along their normals, which bear nothing where the sites press, make its matrix regular.
    """
    angle = turn / n * (np.arange(n) + 0.5)
    normals = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    tangents = np.stack([normals[:, 1], -normals[:, 0]], axis=1)
    after = turn / n * np.arange(1, n + 1)  # slopes of the parts of the belt behind the sites
    along = np.stack([np.cos(after), -np.sin(after)], axis=1)
    K = np.zeros((2 * n, 2 * n))
    for i in range(n):
        part = np.zeros(2 * n)
        part[2 * i : 2 * i + 2] = -along[i]
        part[2 * i + 2 : 2 * i + 4] = along[i] if i + 1 < n else 0.0
        K += np.outer(part, part)
        K[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] += np.outer(normals[i], normals[i])
    load = np.zeros(2 * n)
    load[:2] = [-1.0, 0.0]
    load[-2:] += pull * along[-1]
    rows = np.zeros((n, 3, 2 * n))
    for i in range(n):
        rows[i, :2, 2 * i : 2 * i + 2] = normals[i], tangents[i]
    H, C = rows.reshape(3 * n, 2 * n), np.linalg.inv(K)
    out = rf.solve_friction(rf.delassus([(H, C)]), H @ C @ load, mu, tol=1e-13)
    moved = C @ (load + H.T @ out.force.ravel())
    return out, float(pull - along[-1] @ moved[-2:])


@pytest.mark.parametrize("mu", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("turn", [0.5 * np.pi, np.pi])
@pytest.mark.parametrize("n", [2, 8, 64])
@pytest.mark.parametrize("rises", [True, False])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_belt_slips_over_a_pulley_as_the_capstan_equation_says(rises, n, turn, mu):
    """Each site multiplies the tension; with many sites it grows by exp(mu turn)."""
    out, tension = capstan(n, turn, mu, pull=20.0 * n if rises else 0.0)
    assert out.status == "solved"
    assert set(out.state.tolist()) == {"slip"}
    part = mu * np.tan(0.5 * turn / n)
    ratio = tension if rises else 1.0 / tension
    assert ratio == pytest.approx(((1.0 + part) / (1.0 - part)) ** n, rel=1e-11)
    if n == 64:
        assert ratio == pytest.approx(np.exp(mu * turn), rel=1e-3)


LEAN = np.arctan(2.0)  # at which Painleve's rod needs the least friction to jam, 4 / 3


def rod() -> np.ndarray:
    """Return W of the lower end of a rod that leans towards t1; half its length and mass are 1."""
    turned = np.array([-np.cos(LEAN), np.sin(LEAN), 0.0])  # way of the end by a rotation
    return np.eye(3) + 3.0 * np.outer(turned, turned)  # the moment of inertia is 1 / 3


@pytest.mark.parametrize(("mu", "way"), [(0.5, 1.0), (0.5, -1.0), (1.3, 1.0), (1.3, -1.0), (2, 1)])
def test_painleves_rod_slips_where_friction_does_not_lift_its_end(mu, way):
    """Dragged, or pushed with mu W_nt < W_nn: there is one solution, from any start."""
    W, free = rod(), np.array([-1.0, 100.0 * way, 0.0])
    normal = 1.0 / (W[0, 0] - way * mu * W[0, 1])
    for seed in range(5):
        start = seed * np.random.default_rng(seed).normal(size=(1, 3))
        out = rf.solve_friction(W, free, mu, start, tol=1e-13)
        assert out.status == "solved"
        assert out.state.tolist() == ["slip"]
        np.testing.assert_allclose(
            out.force[0], [normal, -way * mu * normal, 0.0], atol=1e-11 * normal
        )


@pytest.mark.parametrize("mu", [1.34, 2.0])
def test_painleves_rod_jams_where_no_force_lets_it_slip(mu):
    """Pushed with mu W_nt > W_nn: an impulse stops its end, however slowly it comes down."""
    W = rod()
    assert mu * abs(W[0, 1]) > W[0, 0] == pytest.approx(1.6)
    for down in (1.0, 1e-3):
        free = np.array([-down, -100.0, 0.0])
        out = rf.solve_friction(W, free, mu, tol=1e-13)
        assert out.status == "solved"
        assert out.state.tolist() == ["stick"]
        np.testing.assert_allclose(out.force[0], -np.linalg.solve(W, free), atol=1e-9)


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
        np.testing.assert_allclose(out.force[:, 0], press, rtol=1e-12)
        held = out.force[:, 1].sum()
        assert held == pytest.approx(min(2 * mu * press, mass * GRAVITY), rel=1e-12)


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
