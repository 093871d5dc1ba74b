"""Implicit Newmark: order, energy, and convergence of the Newton iterations."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

import reducedfem as rf
from integrated import full_basis, linear_model, small_model, small_solid
from shapes import box_hexes


@pytest.mark.parametrize(
    ("beta", "gamma", "newton", "order"),
    [(0.25, 0.5, 10, 2), (0.25, 0.5, 1, 2), (0.3025, 0.6, 10, 1), (1 / 6, 0.5, 10, 2)],
)
@pytest.mark.parametrize("reduced", [True, False])
def test_order_in_the_step(reduced, beta, gamma, newton, order):
    """Halving dt divides the error by 2^order on a motion of large amplitude."""
    solid = small_solid()
    system = rf.reduce(solid, solid.linear_modes(3).shapes) if reduced else solid
    speed = 1.0 * solid.mesh.nodes[:, :1] * np.array([[0.3, 0.5, 8.0]])
    speed[solid.fixed] = 0.0
    qdot = system.project(solid.mass().to_scipy() @ speed.ravel()) if reduced else speed

    def end(steps: int) -> np.ndarray:
        sim = rf.ImplicitNewmark(
            system, 0.12 / steps, newton_max=newton, tol=1e-11, beta=beta, gamma=gamma
        )
        sim.reset(qdot=qdot)
        sim.step(n=steps)
        return sim.displacement

    # with one iteration a step the next term of the expansion is larger
    coarse = 320 if newton == 1 else 80 if reduced else 160
    results = [end(coarse * 2**i) for i in range(4)]
    differences = [np.linalg.norm(b - a) for a, b in itertools.pairwise(results)]
    orders = np.log2(np.array(differences[:-1]) / differences[1:])
    # the next term of the expansion is smaller by the step over the shortest period
    assert orders[-1] == pytest.approx(order, abs=0.1)
    assert abs(results[-1]).max() > 0.02
    assert differences[-1] < 0.05 * np.linalg.norm(results[-1])


def test_linear_energy_is_conserved():
    """The trapezoidal rule keeps v M v / 2 + q K q / 2 of a linear system, exactly."""
    rng = np.random.default_rng(2)
    mix = np.eye(6) + 0.2 * rng.standard_normal((6, 6))
    stiffness, mass = (mix.T * np.geomspace(1.0, 100.0, 6)) @ mix, mix.T @ mix
    model = linear_model(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T))
    sim = rf.ImplicitNewmark(model, 0.1)
    sim.reset(q=rng.standard_normal(6), qdot=rng.standard_normal(6))
    energies = []
    for _ in range(200):
        state = sim.state
        energies.append(0.5 * state.qdot @ model.mass @ state.qdot + model.strain_energy(state.q))
        sim.step(n=100)
    # 20 000 steps; the rounding of the scheme's coefficients is the same in each, so that
    # its few 1e-16 all have one sign
    assert np.ptp(energies) < 1e-10 * energies[0]


def test_nonlinear_energy_is_bounded():
    """Large vibrations without damping: the energy oscillates, it does not drift."""
    solid = small_solid()
    model = rf.reduce(solid, solid.linear_modes(4).shapes)
    omega = 2.0 * np.pi * solid.linear_modes(4).frequencies
    qdot = omega * np.array([0.01, 0.006, 0.004, 0.003])
    sim = rf.ImplicitNewmark(model, 0.1 / omega[-1], newton_max=10, tol=1e-10)
    sim.reset(qdot=qdot)
    energies = np.empty(40_000)
    largest = 0.0
    for i in range(len(energies)):
        sim.step()
        state = sim.state
        energies[i] = 0.5 * state.qdot @ model.mass @ state.qdot + model.strain_energy(state.q)
        largest = max(largest, float(np.abs(state.q).max()))
    start = 0.5 * qdot @ model.mass @ qdot
    # nonlinear: at the largest excursion the cubic part of the force is no trifle
    far = np.zeros(model.r)
    far[0] = largest
    k = model.stiffness(0 * far)
    assert np.linalg.norm(model.internal_force(far) - k @ far) > 0.1 * np.linalg.norm(k @ far)
    assert abs(energies / start - 1.0).max() < 0.02
    tenth = len(energies) // 10
    first, last = energies[:tenth].mean(), energies[-tenth:].mean()
    assert abs(last / first - 1.0) < 2e-3
    # while a scheme with gamma > 1/2 loses it, and this test would see that
    lossy = rf.ImplicitNewmark(model, sim.dt, newton_max=10, beta=0.3025, gamma=0.6)
    lossy.reset(qdot=qdot)
    lossy.step(n=len(energies))
    state = lossy.state
    left = 0.5 * state.qdot @ model.mass @ state.qdot + model.strain_energy(state.q)
    assert left < 0.9 * start


# by the motion that gains energy
@pytest.mark.filterwarnings("ignore:the model is deformed by:reducedfem.PlausibilityWarning")
def test_a_little_stiffness_damping_keeps_coarse_steps_stable():
    """A slender beam bent by about its length and released, 80 steps per period."""
    nodes, elements = box_hexes(24, 1, 1, (0.4, 0.02, 0.02))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(2e8, 0.4, 930.0), nodes[:, 0] < 1e-9)
    basis = rf.modal_derivative_basis(solid, 12, 24)
    model = rf.reduce(solid, basis)
    force = np.zeros_like(nodes)
    force[nodes[:, 0] > 0.4 - 1e-9, 2] = -1.0
    rest = model.stiffness(np.zeros(24))
    small = model.displacement(np.linalg.solve(rest, model.project(force)))
    push = model.project(force * 0.4 / np.abs(small).max())
    dt = 1.0 / basis.provenance["frequencies_hz"][0] / 80

    def energies(damping):
        sim = rf.ImplicitNewmark(model, dt, damping, newton_max=20)
        sim.step(push, n=20)
        for _ in range(1200):
            sim.step()
            state = sim.state
            yield model.strain_energy(state.q) + 0.5 * state.qdot @ model.mass @ state.qdot

    # the documentation warns of this: gains of many orders, found to be 1e6
    free = []
    too_long = pytest.warns(rf.PlausibilityWarning, match="too long for this motion")
    with too_long, contextlib.suppress(rf.DivergedError):
        for energy in energies((0.0, 0.0)):
            free.append(energy)
    assert max(free) > 100 * free[0]
    damped = list(energies((0.0, dt / 20)))
    assert max(damped) <= 1.01 * damped[0]
    assert damped[-1] > 0.2 * damped[0]


# a step so long that Newton's method takes several iterations
@pytest.mark.filterwarnings("ignore:dt = .* steps per period:reducedfem.PlausibilityWarning")
@pytest.mark.parametrize("reduced", [True, False])
def test_newton_converges_quadratically(reduced):
    solid = small_solid()
    system = rf.reduce(solid, full_basis(solid)) if reduced else solid
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[solid.mesh.nodes[:, 0] > 0.19] = [0.0, 0.5, -1.5]

    def after(iterations: int) -> np.ndarray:
        sim = rf.ImplicitNewmark(system, 0.1, newton_max=iterations, tol=0.0)
        sim.step(force)
        assert sim.report.solves == iterations
        return sim.displacement

    exact = after(14)
    errors = np.array([np.abs(after(i) - exact).max() for i in range(1, 9)])
    seen = errors[(errors < 1e-3) & (errors > 1e-9)]
    assert len(seen) >= 2, errors
    # e' = c e^2 with one c, as long as rounding (1e-16 / 1e-9) is out of sight
    constants = errors[1:] / errors[:-1] ** 2
    used = constants[: np.argmax(errors < 1e-12) - 1] if (errors < 1e-12).any() else constants
    inside = [c for c, e in zip(used, errors, strict=False) if 1e-6 < e < 2e-3]
    assert inside, errors
    assert max(inside) < 1e3
    assert errors.min() < 1e-15
    assert after(1) == pytest.approx(exact, abs=errors[0] * 1.001)


def energy_of_a_step(model, dt, force, q):
    """Minimal at the end of a step of average acceleration from rest without strain."""
    inertia = 4.0 / dt**2 * q @ model.mass @ q
    return 0.5 * inertia + model.strain_energy(q) - force @ q


def strain_rate_of(model, viscosity):
    damping = rf.StrainRateDamping(small_solid(), 0.0, viscosity)
    return damping.reduce(model) if viscosity else None


@pytest.mark.parametrize("newtons", [3e4, 1e6])
@pytest.mark.parametrize(("beta", "viscosity"), [(0.0, 0.0), (1e-3, 0.0), (0.0, 100.0)])
def test_a_step_too_long_for_its_tangent_ends_where_its_slope_is_zero(newtons, beta, viscosity):
    """Strain energies are quartic along a line: the tangent at rest would end far up the side."""
    model, dt = small_model(), 0.01
    viscous = strain_rate_of(model, viscosity)

    def damping_at(q):
        return beta * model.stiffness(q) + (viscous.matrix(q) if viscous else 0.0)

    force = newtons * np.linspace(1.0, 2.0, model.r)
    rest = np.zeros(model.r)
    tangent = 4.0 / dt**2 * model.mass + 2.0 / dt * damping_at(rest) + model.stiffness(rest)
    way = np.linalg.solve(tangent, force)

    def slope(part):
        q = part * way
        resisting = 4.0 / dt**2 * model.mass @ q + 2.0 / dt * damping_at(q) @ q
        return way @ (resisting + model.internal_force(q) - force)

    assert slope(1.0) > -slope(0.0) > 0.0
    sim = rf.ImplicitNewmark(model, dt, damping=(0.0, beta), strain_rate=viscous)
    sim.step(force)
    part = sim.state.q @ way / (way @ way)
    np.testing.assert_allclose(sim.state.q, part * way, rtol=0, atol=1e-12 * np.abs(way).max())
    assert 0.0 < part < 1.0
    assert abs(slope(part)) < 1e-6 * -slope(0.0)
    assert sim.report.shortened == 1


def test_iterations_that_are_shortened_converge():
    model, dt = small_model(), 0.01
    force = 1e6 * np.linspace(1.0, 2.0, model.r)
    once = rf.ImplicitNewmark(model, dt)
    once.step(force)
    more = rf.ImplicitNewmark(model, dt, newton_max=60, tol=1e-9)
    more.step(force)
    assert more.report.unconverged == 0
    ends = [energy_of_a_step(model, dt, force, sim.state.q) for sim in (more, once)]
    assert ends[0] < ends[1] < 0.0


@pytest.mark.parametrize("viscosity", [0.0, 30.0])
def test_the_state_alone_decides_the_next_step(viscosity):
    """Forces kept from the end of a step are those of the state, also after a rest."""
    model = small_model()
    force = np.linspace(1.0, 2.0, model.r)
    viscous = strain_rate_of(model, viscosity)
    sim, fresh = (rf.ImplicitNewmark(model, 0.01, strain_rate=viscous) for _ in range(2))
    sim.step(n=50)
    sim.step(force, n=3)
    fresh.step(force, n=2)
    start = fresh.state
    fresh.reset(start.q, start.qdot, start.qddot)
    fresh.step(force)
    np.testing.assert_array_equal(sim.state.q, fresh.state.q)


def test_steps_that_fit_the_motion_are_not_shortened():
    sim = rf.ImplicitNewmark(small_model(), 0.01)
    sim.step(np.linspace(1.0, 2.0, small_model().r), n=20)
    assert sim.report.shortened == 0
    assert np.abs(sim.state.q).max() > 0.0


def test_rounding_at_rest_does_not_shorten_steps():
    sim = rf.ImplicitNewmark(small_model(), 0.01, damping=(20.0, 1e-3), newton_max=5, tol=0.0)
    sim.step(np.linspace(1.0, 2.0, small_model().r), n=2000)
    assert sim.report.solves == 10_000
    assert sim.report.shortened == 0


def test_iterations_end_at_the_tolerance():
    model = small_model()
    force = np.linspace(1.0, 2.0, model.r)
    solves = []
    for tol in (1e-1, 1e-3, 1e-6, 1e-10):
        sim = rf.ImplicitNewmark(model, 0.01, newton_max=50, tol=tol)
        sim.step(force)
        report = sim.report
        assert report.residual <= tol
        assert report.unconverged == 0
        solves.append(report.solves)
    assert solves == sorted(solves)
    assert solves[0] < solves[-1] < 50
    few = rf.ImplicitNewmark(model, 0.01, newton_max=1, tol=1e-10)
    few.step(force, n=3)
    assert (few.report.unconverged, few.report.solves) == (3, 3)


@pytest.mark.parametrize("system", [small_model(), small_solid()], ids=["reduced", "solid"])
def test_the_residual_is_relative_to_the_internal_force_too(system):
    """With beta = 1 a free step begins with q'' = a / 2: of R = -M a one half is left over."""
    shape = (system.r,) if isinstance(system, rf.ReducedSolid) else system.mesh.nodes.shape
    q = np.random.default_rng(4).normal(0.0, 1e-3, shape)
    if isinstance(system, rf.Solid):
        q[system.fixed] = 0.0
    for tol, solves in ((0.49, 1), (0.51, 0)):
        sim = rf.ImplicitNewmark(system, 1e-3, beta=1.0, tol=tol)
        sim.reset(q)
        sim.step()
        first = sim.report.residuals[0]
        assert first == pytest.approx(0.5, rel=1e-9)
        assert (sim.report.residual < 1e-3) is (solves == 1)
        assert (sim.report.solves, sim.report.unconverged) == (solves, 0)


def test_rest_without_force_takes_no_solve():
    for system in (small_model(), small_solid()):
        sim = rf.ImplicitNewmark(system, 0.01, newton_max=3)
        sim.step(n=5)
        assert not sim.state.q.any()
        assert not sim.state.qddot.any()
        assert (sim.report.solves, sim.report.unconverged, sim.report.steps) == (0, 0, 5)
