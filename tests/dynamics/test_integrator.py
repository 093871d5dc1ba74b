"""Implicit Newmark: closed forms, a plain version of the scheme, reduced against unreduced."""

from __future__ import annotations

import numpy as np
import pytest

import plain_polynomial
import reducedfem as rf
from integrated import (
    SCHEMES,
    SIMD,
    check_solid_steps,
    forces_and_start,
    full_basis,
    linear_model,
    newmark_roots,
    small_solid,
    step_matrix,
    wrapped,
)
from plain_polynomial import deviation
from reducedfem import _core

# --- linear oscillators: the scheme's own eigenvalues --------------------------------


def sorted_roots(x: np.ndarray) -> np.ndarray:
    return np.sort_complex(np.round(x, 9))


OMEGA_H = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0])


@pytest.mark.parametrize(("beta", "gamma"), SCHEMES)
@pytest.mark.parametrize("simd", SIMD)
def test_eigenvalues_of_a_step(beta, gamma, simd):
    """Spectral radius and phase of each oscillator, hidden behind a full mass matrix."""
    if not _core.simd_available(simd):
        pytest.skip("this processor has no such vectors")
    r, dt = len(OMEGA_H), 0.02
    rng = np.random.default_rng(1)
    mix = np.eye(r) + 0.2 * rng.standard_normal((r, r))
    omega = OMEGA_H / dt
    stiffness = (mix.T * omega**2) @ mix
    stiffness = 0.5 * (stiffness + stiffness.T)
    mass = mix.T @ mix
    model = linear_model(stiffness, 0.5 * (mass + mass.T), simd)
    sim = rf.ImplicitNewmark(model, dt, beta=beta, gamma=gamma)
    both = np.kron(np.eye(2), mix)
    a = both @ step_matrix(sim, r) @ np.linalg.inv(both)
    for i, expected in enumerate(newmark_roots(OMEGA_H, beta, gamma)):
        one = a[np.ix_([i, r + i], [i, r + i])]
        # stiffnesses span eight decades: rounding of the largest, 1e4 relative to the
        # smallest, reaches the small ones; trace and determinant are smooth in it
        assert np.trace(one) == pytest.approx(expected.sum().real, abs=1e-8)
        assert np.linalg.det(one) == pytest.approx(expected.prod().real, abs=1e-8)
    off = a.copy()
    for i in range(r):
        off[np.ix_([i, r + i], [i, r + i])] = 0.0
    # displacements and velocities are of different size: |v| about w |q|
    scale = np.concatenate([np.ones(r), omega])
    assert np.abs(off * scale[None, :] / scale[:, None]).max() < 1e-8


# formulas for any step
@pytest.mark.filterwarnings("ignore:dt = .* steps per period:reducedfem.PlausibilityWarning")
@pytest.mark.parametrize(("beta", "gamma"), SCHEMES)
def test_eigenvalues_one_by_one(beta, gamma, shared_table):
    for omega_h, row in zip(OMEGA_H, range(len(OMEGA_H)), strict=True):
        sim = rf.ImplicitNewmark(
            linear_model(np.array([[omega_h**2]])), 1.0, beta=beta, gamma=gamma
        )
        roots = np.linalg.eigvals(step_matrix(sim, 1))
        expected = newmark_roots(np.array(omega_h), beta, gamma)
        # coefficients of the step carry 1 / (beta h^2): about 1e4 roundings at worst; a
        # double root (at h w = 2 for some) turns 1e-14 into its square root
        np.testing.assert_allclose(sorted_roots(roots), sorted_roots(expected), rtol=0, atol=2e-6)
        polynomial = [-roots.sum(), roots.prod()]
        np.testing.assert_allclose(
            polynomial, [-expected.sum(), expected.prod()], rtol=0, atol=1e-11
        )
        if shared_table is not None:
            radius, phase = shared_table(beta, gamma, row)
            assert np.abs(roots).max() == pytest.approx(radius, rel=1e-6)
            if np.abs(roots.imag).max() > 1e-3:
                assert np.abs(np.angle(roots)).max() == pytest.approx(phase, rel=1e-6)


@pytest.fixture(scope="module")
def shared_table(request):
    """Spectral radius and phase from the shared table, or None where it is absent."""
    try:
        folder = request.getfixturevalue("shared")
    except pytest.skip.Exception:
        return None
    file = folder / "reference" / "analytic.npz"
    if not file.is_file():
        return None
    data = dict(np.load(file))
    names = [str(x) for x in data["int_names"]]
    np.testing.assert_array_equal(data["int_hw"], OMEGA_H)

    def look_up(beta: float, gamma: float, column: int) -> tuple[float, float]:
        row = names.index(f"newmark_b{beta:g}_g{gamma:g}")
        return data["int_spectral_radius"][row, column], abs(data["int_phase"][row, column])

    return look_up


@pytest.mark.parametrize(("beta", "gamma"), SCHEMES)
def test_final_states_of_an_oscillator(beta, gamma, shared):
    """q'' + q = 0, q = 1, v = 0 up to T = 10 in 100, 200, 400 steps."""
    data = dict(np.load(shared / "reference" / "analytic.npz"))
    row = [str(x) for x in data["final_names"]].index(f"newmark_b{beta:g}_g{gamma:g}")
    for column, steps in enumerate(data["final_N"]):
        sim = rf.ImplicitNewmark(linear_model(np.eye(1)), 10.0 / steps, beta=beta, gamma=gamma)
        sim.reset(q=[1.0])
        sim.step(n=int(steps))
        found = [sim.state.q[0], sim.state.qdot[0]]
        # the table is good to 1e-14; rounding of 400 steps
        np.testing.assert_allclose(found, data["final_qv_T10"][row, column], rtol=0, atol=1e-11)


@pytest.mark.filterwarnings("ignore:dt = .* steps per period:reducedfem.PlausibilityWarning")
@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.7, 0.0), (0.0, 0.03), (0.5, 0.02), (30.0, 0.0)])
def test_rayleigh_damping_of_a_mode(damping):
    """Eigenvalues s of s^2 + (alpha + beta w^2) s + w^2 through the trapezoidal map.

    (1 + h s / 2) / (1 - h s / 2): the continuous decay, by an exactly known distortion.
    """
    alpha, stiff = damping
    for omega in (0.3, 4.0, 50.0):
        dt = 0.05
        sim = rf.ImplicitNewmark(linear_model(np.array([[omega**2]])), dt, damping=damping)
        roots = np.linalg.eigvals(step_matrix(sim, 1))
        s = np.roots([1.0, alpha + stiff * omega**2, omega**2])
        expected = (1.0 + dt * s / 2.0) / (1.0 - dt * s / 2.0)
        np.testing.assert_allclose(sorted_roots(roots), sorted_roots(expected), rtol=0, atol=1e-8)


def test_decay_of_a_mode_of_a_solid():
    """Small amplitude, mass- and stiffness-proportional: exp(-(alpha + beta w^2) t / 2)."""
    solid = small_solid()
    modes = solid.linear_modes(2)
    omega = 2.0 * np.pi * modes.frequencies[0]
    alpha, stiff = 0.05 * omega, 0.05 / omega
    rate = 0.5 * (alpha + stiff * omega**2)
    dt = 2.0 * np.pi / omega / 60
    frequency = np.sqrt(omega**2 - rate**2)
    start = 1e-7 * modes.shapes[0]
    steps = 300  # five periods
    time = dt * steps
    # release from rest at amplitude 1
    expected = np.exp(-rate * time) * (
        np.cos(frequency * time) + rate / frequency * np.sin(frequency * time)
    )
    basis = rf.reduce(solid, modes.shapes)
    for system, q in ((solid, start), (basis, np.array([1e-7, 0.0]))):
        sim = rf.ImplicitNewmark(system, dt, damping=(alpha, stiff))
        sim.reset(q=q)
        sim.step(n=steps)
        amplitude = np.sum(sim.state.q * q) / np.sum(q * q)
        # error of the scheme: phase (w h)^3 / 12 per step = 0.03 in all; nonlinearity: 1e-7
        assert amplitude == pytest.approx(expected, abs=0.04 * np.exp(-rate * time))
        assert abs(expected) > 0.5 * np.exp(-rate * time)


# --- a plain version of the scheme ---------------------------------------------------


def plain_newmark(system, dt, damping, newton, beta, gamma, start, forces):
    """B07 section 2.9 in full matrices. `system` gives mass and (force, stiffness)(q)."""
    mass, evaluate = system
    alpha, stiff = damping
    a1, a2, a3 = 1 / (beta * dt**2), 1 / (beta * dt), (1 - 2 * beta) / (2 * beta)
    a4, a5, a6 = gamma / (beta * dt), 1 - gamma / beta, (1 - gamma / (2 * beta)) * dt
    q, v = (np.array(x, dtype=float) for x in start)
    force, k = evaluate(q)
    a = np.linalg.solve(mass, -force - (alpha * mass + stiff * k) @ v)
    history = []
    for f in forces:
        x = q.copy()
        for _ in range(newton):
            force, k = evaluate(x)
            damp = alpha * mass + stiff * k
            acc = a1 * (x - q) - a2 * v - a3 * a
            vel = a4 * (x - q) + a5 * v + a6 * a
            residual = mass @ acc + damp @ vel + force - f
            x = x - np.linalg.solve(a1 * mass + a4 * damp + k, residual)
        q, v, a = (
            x,
            a4 * (x - q) + a5 * v + a6 * a,
            a1 * (x - q) - a2 * v - a3 * a,
        )
        history.append((q, v, a))
    return history


@pytest.mark.parametrize("newton", [1, 2, 6])
@pytest.mark.parametrize(("beta", "gamma"), SCHEMES[:3])
@pytest.mark.parametrize("r", [1, 5, 9, 24, 31])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_reduced_steps_are_those_of_the_plain_scheme(r, beta, gamma, newton):
    rng = np.random.default_rng(r)
    mix = np.eye(r) + 0.1 * rng.standard_normal((r, r))
    mass = mix.T @ mix
    model = linear_model(np.eye(r), 0.5 * (mass + mass.T))
    # stiffening: a positive definite quadratic part, small cubic, positive quartic part
    t = 0.05 * rng.standard_normal(len(model.coefficients)) / r
    at = plain_polynomial.quadruples(r)
    t[(at == 0).sum(axis=1) > 2] = 0.0
    t[(at[:, 0] == at[:, 1]) & (at[:, 2] == at[:, 3])] += 1.0
    t += 4.0 * model.coefficients
    damping, dt = (0.3, 0.02), 0.1
    steps = 25 if r < 20 else 6  # the plain version takes its time
    forces, speed = forces_and_start(r, r, 0.3, 0.5, steps)

    def evaluate(q):
        _, force, stiffness = plain_polynomial.evaluate(r, t, q)
        return force, stiffness

    expected = plain_newmark(
        (model.mass, evaluate), dt, damping, newton, beta, gamma, (0 * speed, speed), forces
    )
    for simd in SIMD:
        if not _core.simd_available(simd):
            continue
        system = wrapped(_core.Reduced(model.basis, model.mass, t, simd))
        # tolerance zero: all iterations are done
        sim = rf.ImplicitNewmark(system, dt, damping, newton, 0.0, beta, gamma)
        sim.reset(qdot=speed)
        for force, (q, v, a) in zip(forces, expected, strict=True):
            sim.step(force)
            # rounding of a few hundred operations a step, over 25 steps of a system whose
            # perturbations grow little; accelerations are differences times 400 / h^2
            assert deviation(sim.state.q, q) < 1e-10
            assert deviation(sim.state.qdot, v) < 1e-10
            assert deviation(sim.state.qddot, a) < 1e-9
        assert sim.report.solves == steps * newton
        assert sim.report.steps == steps
        assert sim.report.indefinite == 0


@pytest.mark.parametrize("newton", [1, 5])
@pytest.mark.parametrize(("beta", "gamma"), SCHEMES[:2])
@pytest.mark.parametrize("kind", ["hexes", "tets"])
def test_unreduced_steps_are_those_of_the_plain_scheme(kind, beta, gamma, newton):
    solid = small_solid(kind)
    n = solid.mesh.n_nodes
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    mass = solid.mass().to_scipy().toarray()[np.ix_(free, free)]

    def evaluate(q):
        u = np.zeros(3 * n)
        u[free] = q
        k = solid.stiffness(u).to_scipy().toarray()
        return solid.internal_force(u).ravel()[free], k[np.ix_(free, free)]

    forces, speed = forces_and_start(len(free), 1, 3.0, 0.5)
    damping, dt = (0.5, 0.002), 0.01
    expected = plain_newmark(
        (mass, evaluate), dt, damping, newton, beta, gamma, (0 * speed, speed), forces
    )
    sim = rf.ImplicitNewmark(solid, dt, damping, newton, 0.0, beta, gamma)
    # as above, the other way of solving
    check_solid_steps(sim, solid, speed, forces, expected, 1e-10)
    largest = max(np.abs(q).max() for q, _, _ in expected)
    assert largest > 0.01, "the motion is too small to be nonlinear"


# --- reduced against unreduced -------------------------------------------------------


@pytest.mark.parametrize("newton", [1, 8])
@pytest.mark.parametrize(("kind", "cells"), [("hexes", 1), ("hexes", 2), ("tets", 2), ("hexes", 3)])
def test_full_basis_gives_the_unreduced_motion(kind, cells, newton):
    """All 12, 24 or 36 degrees of freedom as a basis: either kernel, the same motion."""
    solid = small_solid(kind, cells)
    model = rf.reduce(solid, full_basis(solid))
    assert model.r == 12 * cells
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[solid.mesh.nodes[:, 0] > 0.19] = np.array([0.0, 0.3, -1.0]) * 12.0 / cells**3
    arguments = dict(dt=0.01, damping=(0.2, 0.001), newton_max=newton, tol=1e-12)
    largest = 0.0
    full = rf.ImplicitNewmark(solid, **arguments)
    short = rf.ImplicitNewmark(model, **arguments)
    for step in range(60):
        for sim in (full, short):
            sim.step(force if step < 30 else None)
        # rounding, and iterations that end at 1e-12 of the forces
        assert deviation(short.displacement, full.displacement) < 1e-9
        assert deviation(model.displacement(short.state.qdot), full.state.qdot) < 1e-9
        largest = max(largest, np.abs(full.displacement).max())
    assert largest > 0.01, "the motion is too small to be nonlinear"
    assert (short.state.time, short.report.steps) == (full.state.time, full.report.steps)


def test_static_limit():
    """Damped to rest under a constant force: the static solution."""
    solid = small_solid()
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[solid.mesh.nodes[:, 0] > 0.19] = [1.0, 0.5, -2.0]
    expected = solid.solve_static(force, tol=1e-12)
    assert np.abs(expected).max() > 0.02
    for system in (solid, rf.reduce(solid, full_basis(solid))):
        sim = rf.ImplicitNewmark(system, 0.02, damping=(20.0, 0.02), newton_max=3)
        sim.step(force, n=600)
        # slowest rate about 10 / s over 12 s; Newton's iteration ends at 1e-6 of the forces
        # in each step, but errors do not accumulate at rest
        assert deviation(sim.displacement, expected) < 1e-6
        assert np.abs(sim.state.qdot).max() < 1e-6
