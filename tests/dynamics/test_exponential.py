"""The exponential Rosenbrock-Euler method against a dense one in NumPy and closed forms.

Trajectories of an independent prototype are in test_schemes.py.
"""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy.linalg import expm

import reducedfem as rf
from shapes import box_hexes, solid_box


@pytest.fixture(scope="module")
def beam():
    return solid_box((4, 1, 1), (0.4, 0.1, 0.1))


def plain_step(model, mass, q, v, force, h, alpha, beta):
    """Return the step by the exponential of one large matrix."""
    r = len(q)
    stiff = model.stiffness(q)
    damping = alpha * mass + beta * stiff
    solve = np.linalg.solve
    jacobian = np.block(
        [[np.zeros((r, r)), np.eye(r)], [-solve(mass, stiff), -solve(mass, damping)]]
    )
    slope = np.concatenate([v, solve(mass, force - model.internal_force(q) - damping @ v)])
    whole = np.zeros((2 * r + 1, 2 * r + 1))
    whole[:-1, :-1], whole[:-1, -1] = h * jacobian, h * slope
    change = expm(whole)[:-1, -1]
    return q + change[:r], v + change[r:]


@pytest.mark.parametrize("scale", [1.0, 3.0])
@pytest.mark.parametrize("damping", [(0.0, 0.0), (2.0, 0.0), (0.5, 2e-3)])
@pytest.mark.parametrize("r", [1, 2, 7, 8, 15])
def test_steps_of_reduced_models(beam, r, damping, scale):
    """Also with a mass that is not the unit matrix."""
    rng = np.random.default_rng(r)
    shapes = rf.modal_derivative_basis(beam, 6, 16).vectors[:r] * scale
    model = rf.reduce(beam, shapes)
    mass = np.eye(r) * scale**2
    sim = rf.ExponentialEuler(model, 0.02, damping)
    q, v = 0.02 / scale * rng.standard_normal((2, r)) * [[1.0], [20.0]]
    force = rng.standard_normal(r)
    sim.reset(q, v)
    for _ in range(3):
        q, v = plain_step(model, mass, q, v, force, 0.02, *damping)
        sim.step(force)
        np.testing.assert_allclose(sim.state.q, q, rtol=0, atol=1e-9 * np.abs(q).max())
        np.testing.assert_allclose(sim.state.qdot, v, rtol=0, atol=1e-8 * np.abs(v).max())
    acceleration = (
        np.linalg.solve(mass, force - model.internal_force(q))
        - damping[0] * v
        - damping[1] * np.linalg.solve(mass, model.stiffness(q) @ v)
    )
    size = np.abs(acceleration).max()
    np.testing.assert_allclose(sim.state.qddot, acceleration, rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("beta", [0.0, 1e-4, 0.05])
def test_long_steps_of_stiff_systems(beta):
    """Modes that turn a thousand times a step, made of equal parts, beside slow ones."""
    k = np.array([1e-3, 0.5, 40.0, 1e3, 1e4, 6e7 if beta == 0.0 else 1e5])
    system = rf.SecondOrderSystem(np.eye(6), np.diag(k))
    sim = rf.ExponentialEuler(system, 1.0, (0.1, beta))
    x, v, f = np.ones(6), np.arange(6.0), np.array([1.0, 2.0, 0, 0, 5.0, 0])
    sim.reset(x, v)
    sim.step(f)
    c = 0.1 + beta * k
    root = np.sqrt(0.25 * c * c - k + 0j)
    slow, fast = -k / (0.5 * c + root), -0.5 * c - root
    slow = np.where(k > 0.25 * c * c, -0.5 * c + root, slow)
    a = x - f / k
    first = (v - fast * a) / (slow - fast)
    place = f / k + first * np.exp(slow) + (a - first) * np.exp(fast)
    np.testing.assert_allclose(sim.state.q, place.real, rtol=0, atol=2e-7)


@pytest.mark.parametrize("law", [rf.StVK, rf.StableNeoHookean])
def test_lanczos_and_householder_make_the_same_steps(law):
    """Of a solid, and of its projection to all its unknowns."""
    nodes, elements = box_hexes(2, 1, 1, (0.2, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), law(1e5, 0.3, 1000.0), fixed=nodes[:, 0] == 0.0)
    free = np.flatnonzero(nodes[:, 0] > 0.0)
    shapes = np.zeros((3 * len(free), len(nodes), 3))
    for i, (node, axis) in enumerate(itertools.product(free, range(3))):
        shapes[i, node, axis] = 1.0
    load = np.zeros((len(nodes), 3))
    load[-1] = [1.0, 0.5, -3.0]
    ends = []
    for system in (solid, rf.ProjectedSolid(solid, shapes)):
        sim = rf.ExponentialEuler(system, 5e-3, (0.2, 1e-3))
        sim.step(load, 20)
        ends.append(sim.displacement)
    assert np.abs(ends[0]).max() > 0.01
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9 * np.abs(ends[0]).max())


def test_the_order_is_two(beam):
    model = rf.reduce(beam, rf.modal_derivative_basis(beam, 4, 8))
    shape = np.zeros(model.r)
    shape[0] = 1.0

    def last(n):
        sim = rf.ExponentialEuler(model, 0.08 / n, (1.0, 0.0))
        sim.reset(qdot=shape)
        sim.step(None, n)
        return sim.state.q

    ends = [last(n) for n in (50, 100, 200, 400)]
    changes = [np.abs(a - b).max() for a, b in itertools.pairwise(ends)]
    for one, half in itertools.pairwise(changes):
        assert np.log2(one / half) > 1.8


def test_copies_and_threads(beam, set_threads):
    load = np.zeros((beam.mesh.n_nodes, 3))
    load[-1] = [0.0, 0.0, -2.0]
    sim = rf.ExponentialEuler(beam, 5e-3)
    sim.step(load, 3)
    others = [sim.clone(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    for n, one in enumerate((sim, *others), start=1):
        set_threads(n)
        one.step(-load, 3)
    for other in others:
        for name in ("q", "qdot", "qddot", "time"):
            np.testing.assert_array_equal(getattr(other.state, name), getattr(sim.state, name))
    assert sim.report.steps == 6
    assert sim.report.vectors > 0


def test_failing_steps_keep_the_state(beam):
    load = np.zeros((beam.mesh.n_nodes, 3))
    load[-1] = [0.0, 0.0, -2.0]
    for system in (beam, rf.reduce(beam, rf.modal_derivative_basis(beam, 4, 8))):
        sim = rf.ExponentialEuler(system, 5e-3)
        sim.step(load, 2)
        before = sim.state
        with pytest.raises(rf.DivergedError):
            sim.step(1e200 * load)
        np.testing.assert_array_equal(sim.state.q, before.q)
        sim.step(load)
        assert np.isfinite(sim.state.q).all()
    few = rf.SecondOrderSystem(np.eye(5), np.diag(np.arange(1.0, 6.0)))
    whole = rf.ExponentialEuler(few, 1.0, krylov=5)
    whole.reset(np.ones(5), np.ones(5))
    whole.step()  # all vectors there are
    sim = rf.ExponentialEuler(beam, 0.05, krylov=4)
    with pytest.raises(rf.DivergedError, match="more vectors by krylov"):
        sim.step(load)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: rf.ExponentialEuler(m, 1e-3, accuracy=0.0), r"accuracy must be positive"),
        (lambda m: rf.ExponentialEuler(m, 1e-3, accuracy=0.5), r"accuracy must be .*, got 0.5"),
        (lambda m: rf.ExponentialEuler(m, 1e-3, krylov=1), r"krylov must be between 2"),
        (lambda m: rf.ExponentialEuler(m, -1e-3), r"dt must be finite and positive, got -0.001"),
        (lambda m: rf.integrator("ERE", m, 1e-3, newton_max=3), r"newton_max is given, but ERE"),
        (lambda m: rf.integrator("ERE", m, 1e-3, exact=3), r"exact is given, but all modes"),
        (lambda m: rf.amplification("ERE", 1.0), r"name is 'ERE': exact modes have no error"),
        (
            lambda m: rf.ExponentialEuler(
                rf.SecondOrderSystem(np.eye(2), np.eye(2), damping_matrix=np.eye(2)), 1e-3
            ),
            r"system has a damping_matrix",
        ),
        (
            lambda m: rf.ExponentialEuler(
                rf.reduce(m, rf.modal_derivative_basis(m, 2, 3),
                          strain_rate=rf.StrainRateDamping(m, 1.0, 1.0)), 1e-3
            ),
            r"system has strain-rate damping",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments(beam, make, message):
    with pytest.raises(rf.InputError, match=message):
        make(beam)


def test_the_name_finds_it(beam):
    sim = rf.integrator("ere", beam, 1e-3, damping=(0.1, 0.0), krylov=40)
    assert type(sim) is rf.ExponentialEuler
