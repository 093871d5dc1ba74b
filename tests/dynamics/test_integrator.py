"""Implicit Newmark: closed forms, a plain version of the scheme, reduced against unreduced."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import plain_polynomial
import reducedfem as rf
from plain_polynomial import deviation
from reducedfem import _core
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

EPS = np.finfo(float).eps
SIMD = [1, 2, 3]
# (beta, gamma), those of the shared table
SCHEMES = [(0.25, 0.5), (0.3025, 0.6), (0.5625, 1.0), (0.5, 1.0)]


# --- systems -------------------------------------------------------------------------


@functools.cache
def small_solid(kind: str = "hexes", cells: int = 2) -> rf.Solid:
    """A short bar, clamped at x = 0, of distorted elements and two materials."""
    make = {"hexes": box_hexes, "tets": box_tets, "tet10s": box_tet10s, "hex20s": box_hex20s}[kind]
    nodes, elements = make(cells, 1, 1, (0.2, 0.1, 0.1))
    fixed = np.flatnonzero(nodes[:, 0] == 0.0)
    nodes = nodes + np.random.default_rng(3).uniform(-0.004, 0.004, nodes.shape)
    regions = np.arange(len(elements)) % 2
    materials = [rf.StVK(5e4, 0.3, 1000.0), rf.StVK(8e4, 0.4, 1200.0)]
    mesh = rf.Mesh(nodes, elements, regions)
    return rf.Solid(mesh, dict(enumerate(materials[: regions.max() + 1])), fixed=fixed)


def full_basis(solid: rf.Solid) -> np.ndarray:
    """One vector for each degree of freedom that is free."""
    n = solid.mesh.n_nodes
    identity = np.eye(3 * n).reshape(3 * n, n, 3)
    return identity[(3 * solid.free[:, None] + np.arange(3)).ravel()]


@functools.cache
def small_model(r: int = 6) -> rf.ReducedSolid:
    """Random directions of the small bar: a full mass matrix, all coefficients at work."""
    solid = small_solid()
    fields = np.random.default_rng(r).standard_normal((r, solid.mesh.n_nodes, 3))
    fields[:, solid.fixed] = 0.0
    return rf.reduce(solid, fields)


def wrapped(core: _core.Reduced) -> rf.ReducedSolid:
    solid = small_solid()
    return rf.ReducedSolid(core, solid.mesh, solid.fixed, {})


def polynomial_model(r: int, terms: dict[tuple[int, ...], float], mass=None, simd=0):
    """Model with the given monomials of energy; key (0, 0) is q_0 q_0."""
    table = plain_polynomial.quadruples(r)
    place = {tuple(int(x) - 1 for x in index if x): i for i, index in enumerate(table)}
    t = np.zeros(len(table))
    for monomial, value in terms.items():
        t[place[monomial]] += value
    basis = np.random.default_rng(0).standard_normal((r, small_solid().mesh.n_nodes, 3))
    return wrapped(_core.Reduced(basis, np.eye(r) if mass is None else mass, t, simd))


def linear_model(stiffness: np.ndarray, mass: np.ndarray | None = None, simd: int = 0):
    r = len(stiffness)
    terms = {(i, j): stiffness[i, j] for i in range(r) for j in range(i + 1, r)}
    terms |= {(i, i): 0.5 * stiffness[i, i] for i in range(r)}
    return polynomial_model(r, terms, mass, simd)


def states_equal(one: rf.State, other: rf.State) -> bool:
    return (
        np.array_equal(one.q, other.q)
        and np.array_equal(one.qdot, other.qdot)
        and np.array_equal(one.qddot, other.qddot)
        and one.time == other.time
    )


# --- linear oscillators: the scheme's own eigenvalues --------------------------------


def newmark_roots(omega_h: np.ndarray, beta: float, gamma: float) -> np.ndarray:
    """Eigenvalues of one step of q'' + w^2 q = 0 (Hughes 1987, chapter 9): (..., 2).

    x^2 - trace x + det, det = 1 - (gamma - 1/2) W / D, trace = 2 - (gamma + 1/2) W / D,
    W = (h w)^2, D = 1 + beta W.
    """
    w = omega_h**2 / (1.0 + beta * omega_h**2)
    trace, det = 2.0 - (gamma + 0.5) * w, 1.0 - (gamma - 0.5) * w
    root = np.sqrt((trace**2 / 4.0 - det).astype(complex))
    return np.stack([trace / 2.0 + root, trace / 2.0 - root], axis=-1)


def step_matrix(sim: rf.ImplicitNewmark, r: int) -> np.ndarray:
    """Map of (q, qdot) over one step of a linear system, column by column."""
    columns = []
    for unit in np.eye(2 * r):
        sim.reset(q=unit[:r], qdot=unit[r:])
        sim.step()
        columns.append(np.concatenate([sim.state.q, sim.state.qdot]))
    return np.array(columns).T


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


def forces_and_start(size: int, seed: int, force: float, speed: float, steps: int = 25):
    rng = np.random.default_rng(seed)
    # a different force in every step: one taken from the wrong end of a step would show
    return force * rng.standard_normal((steps, size)), speed * rng.standard_normal(size)


@pytest.mark.parametrize("newton", [1, 2, 6])
@pytest.mark.parametrize(("beta", "gamma"), SCHEMES[:3])
@pytest.mark.parametrize("r", [1, 5, 9, 24, 31])
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


def check_solid_steps(sim, solid, speed, forces, expected, tolerance):
    """Step a solid from rest with a speed; expected are (q, v, a) of what is free.

    Accelerations may differ ten times as much.
    """
    n = solid.mesh.n_nodes
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    start = np.zeros(3 * n)
    start[free] = speed
    sim.reset(qdot=start)
    for force, (q, v, a) in zip(forces, expected, strict=True):
        load = np.full(3 * n, 1e3)  # forces on fixed nodes have no effect
        load[free] = force
        sim.step(load.reshape(n, 3))
        state = sim.state
        assert deviation(state.q.ravel()[free], q) < tolerance
        assert deviation(state.qdot.ravel()[free], v) < tolerance
        assert deviation(state.qddot.ravel()[free], a) < 10 * tolerance
        for x in (state.q, state.qdot, state.qddot):
            assert not x[solid.fixed].any()


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


# --- accuracy ------------------------------------------------------------------------


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
    with contextlib.suppress(rf.DivergedError):
        for energy in energies((0.0, 0.0)):
            free.append(energy)
    assert max(free) > 100 * free[0]
    damped = list(energies((0.0, dt / 20)))
    assert max(damped) <= 1.01 * damped[0]
    assert damped[-1] > 0.2 * damped[0]


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
        assert sim.report.residual == pytest.approx(0.5, rel=1e-9)
        assert (sim.report.solves, sim.report.unconverged) == (solves, solves)


def test_rest_without_force_takes_no_solve():
    for system in (small_model(), small_solid()):
        sim = rf.ImplicitNewmark(system, 0.01, newton_max=3)
        sim.step(n=5)
        assert not sim.state.q.any()
        assert not sim.state.qddot.any()
        assert (sim.report.solves, sim.report.unconverged, sim.report.steps) == (0, 0, 5)


# --- state ---------------------------------------------------------------------------


def systems() -> list[rf.Solid | rf.ReducedSolid]:
    return [small_model(), small_solid()]


def shape_of(system) -> tuple[int, ...]:
    return (system.r,) if isinstance(system, rf.ReducedSolid) else (system.mesh.n_nodes, 3)


def some_state(system, seed: int = 0, scale: float = 0.01) -> np.ndarray:
    x = scale * np.random.default_rng(seed).standard_normal(shape_of(system))
    if isinstance(system, rf.Solid):
        x[system.fixed] = 0.0
    return x


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_report_of_the_last_step(system):
    """Residuals fall quadratically; the report agrees with the counts."""
    sim = rf.ImplicitNewmark(system, 0.02, newton_max=40, tol=1e-9)
    sim.reset(some_state(system))
    solves, most = 0, 0
    for step in range(5):
        sim.step()
        report = sim.report
        assert report.iterations == report.solves - solves
        solves, most = report.solves, max(most, report.iterations)
        assert report.most_iterations == most
        assert report.steps == step + 1
        assert report.unconverged == 0
        # before each iteration, and the one that met the tolerance
        assert len(report.residuals) == report.iterations + 1
        assert report.residuals[-1] == report.residual <= 1e-9 < min(report.residuals[:-1])
        assert report.residuals[0] <= 1.0
    assert most >= 3, "the motion is too small to be nonlinear"
    quick = rf.ImplicitNewmark(system, 0.02)
    quick.reset(some_state(system))
    quick.step()
    assert (quick.report.iterations, quick.report.unconverged) == (1, 1)
    assert quick.report.residuals == (quick.report.residual,)


def test_report_keeps_the_first_residuals():
    """The report keeps at most 32, and the last one beside them."""
    # Newton's method on 4 q^3 = 0 takes a third of q in each iteration; there is no inertia
    long = rf.ImplicitNewmark(
        polynomial_model(1, {(0, 0, 0, 0): 1.0}), 1e12, newton_max=50, tol=0.0
    )
    long.reset(q=[1.0], qddot=[0.0])
    long.step()
    assert (long.report.iterations, len(long.report.residuals)) == (50, 32)
    expected = (2.0 / 3.0) ** (3.0 * np.arange(50))
    assert long.report.residuals == pytest.approx(expected[:32], rel=1e-6)
    assert long.report.residual == pytest.approx(expected[49], rel=1e-3)
    long.reset()
    assert long.report == rf.NewmarkReport(0, 0, 0, 0, 0.0)


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_reset(system):
    sim = rf.ImplicitNewmark(system, 0.01, damping=(0.7, 0.003))
    q, v, a = (some_state(system, i) for i in range(3))
    kept = q.copy(), v.copy(), a.copy()
    start = sim.state
    assert start.time == 0.0
    assert not any(x.any() for x in (start.q, start.qdot, start.qddot))
    assert start.q.shape == shape_of(system)
    sim.step(n=3)
    sim.reset(q, v, a)
    np.testing.assert_array_equal(sim.state.q, q)
    np.testing.assert_array_equal(sim.state.qdot, v)
    np.testing.assert_array_equal(sim.state.qddot, a)
    assert sim.state.time == 0.0
    assert sim.report == rf.NewmarkReport(0, 0, 0, 0, 0.0)
    for given, copy in zip((q, v, a), kept, strict=True):
        np.testing.assert_array_equal(given, copy)
    # states that were read do not change
    before = sim.state
    copies = before.q.copy(), before.qdot.copy()
    sim.step(n=2)
    np.testing.assert_array_equal(before.q, copies[0])
    np.testing.assert_array_equal(before.qdot, copies[1])
    assert sim.state.time == pytest.approx(0.02)
    # and the simulation keeps nothing of the arrays it was given
    expected = sim.state
    sim.reset(q, v, a)
    q[...], v[...], a[...] = 9.0, 9.0, 9.0
    sim.step(n=2)
    assert states_equal(sim.state, expected)
    sim.reset()
    assert not any(x.any() for x in (sim.state.q, sim.state.qdot, sim.state.qddot))


def test_initial_acceleration_balances_the_forces():
    alpha, stiff = 70.0, 0.003
    for system in systems():
        reduced = isinstance(system, rf.ReducedSolid)
        sim = rf.ImplicitNewmark(system, 0.01, damping=(alpha, stiff))
        q, v = some_state(system, 0), some_state(system, 1, 0.1)
        sim.reset(q, v)
        a = sim.state.qddot
        if reduced:
            mass, k = system.mass, system.stiffness(q)
        else:
            mass, k = system.mass().to_scipy(), system.stiffness(q).to_scipy()
        x, y, z = q.ravel(), v.ravel(), a.ravel()
        terms = [mass @ z, alpha * (mass @ y), stiff * (k @ y), system.internal_force(q).ravel()]
        assert x.size == z.size
        residual = sum(terms).reshape(shape_of(system))
        if not reduced:
            residual = residual[system.free]
            assert not a[system.fixed].any()
        largest = max(np.abs(t).max() for t in terms)
        # one linear solve with a mass matrix of condition below 1e4
        assert np.abs(residual).max() < 1e-11 * largest
        # the parts matter, each of them
        assert min(np.abs(t).max() for t in terms) > 1e-3 * largest


def test_free_solid_moves_without_any_fixed_node():
    """Under gravity it falls as a point does, exactly, and does not deform."""
    nodes, elements = box_tets(2, 1, 1, (0.2, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0))
    g = np.array([0.0, 1.0, -9.81])
    weight = np.outer(solid.mass(lumped=True).to_scipy().diagonal()[::3], g)
    sim = rf.ImplicitNewmark(solid, 0.01, newton_max=2)
    sim.reset(qddot=np.tile(g, (len(nodes), 1)))
    sim.step(weight, n=50)
    # constant acceleration is integrated without error; 0.5 s
    np.testing.assert_allclose(sim.state.q, np.tile(0.125 * g, (len(nodes), 1)), atol=1e-10)
    np.testing.assert_allclose(sim.state.qdot, np.tile(0.5 * g, (len(nodes), 1)), atol=1e-9)


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_no_steps(system):
    sim = rf.ImplicitNewmark(system, 0.01)
    sim.reset(some_state(system), some_state(system, 1))
    before = sim.state
    sim.step(some_state(system, 2), n=0)
    assert states_equal(sim.state, before)
    assert sim.report.steps == 0


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_n_steps_are_n_times_one(system):
    force = some_state(system, 5, 0.1)
    results = []
    for pieces in ([7], [1] * 7, [3, 4]):
        sim = rf.ImplicitNewmark(system, 0.01, newton_max=2)
        sim.reset(some_state(system))
        for n in pieces:
            sim.step(force, n=n)
        results.append(sim.state)
    assert all(states_equal(results[0], x) for x in results[1:])


def test_nodal_and_reduced_forces_are_the_same():
    model = small_model()
    nodal = np.random.default_rng(0).standard_normal((model.mesh.n_nodes, 3))
    results = []
    for force in (nodal, nodal.ravel(), model.project(nodal), list(model.project(nodal))):
        sim = rf.ImplicitNewmark(model, 0.001)
        sim.step(force, n=10)
        results.append(sim.state)
    assert np.abs(results[0].q).max() > 0
    assert all(states_equal(results[0], x) for x in results[1:])


def test_displacement():
    for system in systems():
        sim = rf.ImplicitNewmark(system, 0.01)
        q = some_state(system)
        sim.reset(q)
        u = system.displacement(q) if isinstance(system, rf.ReducedSolid) else q
        np.testing.assert_array_equal(sim.displacement, u)
        assert sim.system is system
        assert sim.dt == 0.01
        assert "dt = 0.01" in repr(sim)


# --- when it goes wrong --------------------------------------------------------------


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
@pytest.mark.parametrize("size", [1e120, 1e250])
def test_divergence_keeps_the_last_state(system, size):
    sim = rf.ImplicitNewmark(system, 0.01, newton_max=3)
    sim.reset(some_state(system), some_state(system, 1))
    sim.step(n=2)
    before, steps = sim.state, sim.report.steps
    with pytest.raises(rf.DivergedError, match=r"diverged at t = 0\.02 s.*smaller dt"):
        # one huge step may still be finite, its cube is not
        sim.step(np.full(shape_of(system), size), n=50)
    if sim.report.steps == steps:
        assert states_equal(sim.state, before)
    assert np.isfinite(sim.state.q).all()
    assert np.isfinite(sim.state.qddot).all()
    # and it continues from there, or from the beginning
    sim.reset(before.q, before.qdot, before.qddot)
    sim.step(n=2)
    fresh = rf.ImplicitNewmark(system, 0.01, newton_max=3)
    fresh.reset(before.q, before.qdot, before.qddot)
    fresh.step(n=2)
    assert states_equal(sim.state, fresh.state)
    assert isinstance(rf.DivergedError("x"), RuntimeError)


def test_a_state_too_large_is_refused_and_the_old_one_kept():
    for system in systems():
        sim = rf.ImplicitNewmark(system, 0.01)
        sim.reset(some_state(system))
        sim.step(n=3)
        before = sim.state
        with pytest.raises(rf.DivergedError, match="acceleration is not finite"):
            sim.reset(some_state(system, scale=1e150))
        assert states_equal(sim.state, before)


@pytest.mark.parametrize("r", [1, 3])
def test_indefinite_tangent_reduced(r):
    """Double wells: at rest the tangent is negative, no step of 1 s can hide that."""
    terms = {(i, i): -2.0 - i for i in range(r)} | {(i, i, i, i): 1.0 for i in range(r)}
    if r > 1:
        terms[(0, 1)] = 0.3
    model = polynomial_model(r, terms)
    sim = rf.ImplicitNewmark(model, 3.0, newton_max=60, tol=1e-12)
    start = np.full(r, 0.05)
    sim.reset(q=start)
    a0 = sim.state.qddot
    sim.step()
    report, state = sim.report, sim.state
    assert report.indefinite > 0
    assert report.unconverged == 0
    # the result solves the equations of the step
    dt, beta = 3.0, 0.25
    acc = (state.q - start) / (beta * dt**2) - (1 - 2 * beta) / (2 * beta) * a0
    np.testing.assert_allclose(acc, state.qddot, rtol=1e-12)
    np.testing.assert_allclose(acc + model.internal_force(state.q), 0.0, atol=1e-10)


def test_indefinite_tangent_of_a_solid():
    """Crushed to a third of its length, where St.Venant-Kirchhoff pushes back ever less."""
    solid = small_solid()
    crushed = np.zeros((solid.mesh.n_nodes, 3))
    crushed[:, 0] = -0.65 * solid.mesh.nodes[:, 0]
    crushed[solid.fixed] = 0.0
    eigenvalues = np.linalg.eigvalsh(solid.stiffness(crushed).to_scipy().toarray())
    assert eigenvalues[0] < -1e-3 * eigenvalues[-1]
    sim = rf.ImplicitNewmark(solid, 1.0, damping=(1.0, 0.0), newton_max=30)
    sim.reset(q=crushed)
    sim.step()
    assert sim.report.indefinite > 0
    assert np.isfinite(sim.state.q).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dt": 0.0}, rf.InputError, "dt must be finite and positive, got 0"),
        ({"dt": -0.1}, rf.InputError, "dt must be finite and positive, got -0.1"),
        ({"dt": np.nan}, rf.InputError, "dt must be finite, got nan"),
        ({"dt": np.inf}, rf.InputError, "dt must be finite, got inf"),
        ({"dt": "fast"}, rf.InputTypeError, "dt must be a number, got str"),
        ({"dt": True}, rf.InputTypeError, "dt must be a number, got bool"),
        ({"damping": (-1.0, 0.0)}, rf.InputError, r"damping must be .*>= 0, got \(-1, 0\)"),
        ({"damping": (0.0, -1e-9)}, rf.InputError, r"damping must be .*>= 0"),
        ({"damping": (np.nan, 0.0)}, rf.InputError, r"damping\[0\] must be finite"),
        ({"damping": 0.1}, rf.InputTypeError, r"damping must be two numbers \(alpha, beta\)"),
        ({"damping": (1, 2, 3)}, rf.InputTypeError, "damping must be two numbers"),
        ({"damping": ("a", 0)}, rf.InputTypeError, r"damping\[0\] must be a number"),
        ({"newton_max": 0}, rf.InputError, "newton_max must be between 1 and"),
        ({"newton_max": 1001}, rf.InputError, "newton_max must be between 1 and 1000, got 1001"),
        ({"newton_max": 1.5}, rf.InputTypeError, "newton_max must be an int, got float"),
        ({"newton_max": 2**40}, rf.InputError, "newton_max must be between 1 and"),
        ({"tol": -1e-3}, rf.InputError, "tol must be finite and >= 0, got -0.001"),
        ({"tol": np.nan}, rf.InputError, "tol must be finite"),
        ({"beta": 0.0}, rf.InputError, r"beta must be in \(0, 1\] for an implicit scheme, got 0"),
        ({"beta": 1.5}, rf.InputError, r"beta must be in \(0, 1\]"),
        ({"gamma": -0.1}, rf.InputError, r"gamma must be in \[0, 1\], got -0.1"),
        ({"gamma": 1.1}, rf.InputError, r"gamma must be in \[0, 1\]"),
    ],
)
@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_wrong_settings(system, arguments, error, message):
    with pytest.raises(error, match=message):
        rf.ImplicitNewmark(system, **({"dt": 0.01} | arguments))


def test_wrong_system():
    wanted = "system must be a ReducedSolid, a ProjectedSolid, a Solid or a SecondOrderSystem"
    with pytest.raises(rf.InputTypeError, match=wanted):
        rf.ImplicitNewmark(small_solid().mesh, 0.01)
    nodes, elements = box_hexes(1, 1, 1)
    held = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1e3), fixed=np.arange(8))
    with pytest.raises(rf.MeshError, match="all 8 nodes are fixed"):
        rf.ImplicitNewmark(held, 0.01)


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_wrong_steps(system):
    sim = rf.ImplicitNewmark(system, 0.01)
    sim.reset(some_state(system))
    before = sim.state
    shape = shape_of(system)
    bad = np.zeros(shape)
    bad.flat[-1] = np.nan
    for call, error, message in (
        (lambda: sim.step(n=-1), rf.InputError, "n must be at least 0, got -1"),
        (lambda: sim.step(n=1.0), rf.InputTypeError, "n must be an int, got float"),
        (lambda: sim.step(n=True), rf.InputTypeError, "n must be an int, got bool"),
        (lambda: sim.step(n=2**70), rf.InputError, "n must be"),
        (lambda: sim.step(np.zeros(7)), rf.InputError, r"force must have shape .*got \(7,\)"),
        (lambda: sim.step(0.0), rf.InputError, r"force must have shape .*got \(\)"),
        (lambda: sim.step(bad), rf.InputError, r"force\[.*\] is nan"),
        (lambda: sim.step(np.full(shape, "x")), rf.InputTypeError, "force must be"),
        (lambda: sim.step(np.zeros(shape, complex)), rf.InputTypeError, "force must be"),
        (lambda: sim.step(progress=3), rf.InputTypeError, "progress must be"),
        (lambda: sim.reset(q=np.zeros(7)), rf.InputError, r"q must have shape .*got \(7,\)"),
        (lambda: sim.reset(qdot=bad), rf.InputError, r"qdot\[.*\] is nan"),
        (lambda: sim.reset(qddot=np.zeros((2, 2))), rf.InputError, "qddot must have shape"),
    ):
        with pytest.raises(error, match=message):
            call()
        assert states_equal(sim.state, before)
    assert sim.report.steps == 0


def test_fixed_nodes_of_a_solid_must_not_move():
    solid = small_solid()
    sim = rf.ImplicitNewmark(solid, 0.01)
    node = int(solid.fixed[1])
    field = np.zeros((solid.mesh.n_nodes, 3))
    field[node, 2] = 0.5
    for name in ("q", "qdot", "qddot"):
        with pytest.raises(
            rf.InputError, match=rf"{name}\[{node}, 2\] is 0.5, but node {node} is fixed"
        ):
            sim.reset(**{name: field})


# --- running -------------------------------------------------------------------------


def test_a_reduced_step_allocates_nothing():
    for r in (1, 6, 20, 24):
        model = small_model(r)
        sim = rf.ImplicitNewmark(model, 0.001, damping=(0.1, 0.001), newton_max=3)
        force = np.ones(r)
        before = _core.alloc_counters()
        sim.step(force)
        sim.step(force, n=500)
        sim.step()
        after = _core.alloc_counters()
        assert after["calls"] == before["calls"]
    # also where the tangent is indefinite
    model = polynomial_model(2, {(0, 0): -2.0, (1, 1): -2.0, (0, 0, 0, 0): 1.0, (1, 1, 1, 1): 1.0})
    sim = rf.ImplicitNewmark(model, 3.0, newton_max=5)
    sim.reset(q=[0.05, 0.02])
    calls = _core.alloc_counters()["calls"]
    sim.step(n=3)
    assert sim.report.indefinite > 0
    assert _core.alloc_counters()["calls"] == calls
    # the instrument works: a new simulation does allocate
    rf.ImplicitNewmark(model, 3.0)
    assert _core.alloc_counters()["calls"] > calls


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_the_same_bits_every_time(system):
    force = some_state(system, 5, 0.5)
    results = []
    threads_before = rf.threads()
    try:
        for threads in (1, 2, 5):
            rf.set_threads(threads)
            sim = rf.ImplicitNewmark(system, 0.01, damping=(0.1, 0.001), newton_max=2)
            sim.step(force, n=10)
            sim.step(n=10)
            results.append(sim.state)
    finally:
        rf.set_threads(threads_before)
    assert all(states_equal(results[0], x) for x in results[1:])


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_threads_share_a_simulation(system):
    """They wait for each other; every state that is read is one after a whole step."""
    # calls long enough that they overlap
    steps, batches, workers = (1000 if isinstance(system, rf.ReducedSolid) else 20), 10, 2
    alone = rf.ImplicitNewmark(system, 0.01, damping=(0.02, 0.001))
    alone.reset(some_state(system))
    sequence = {0.0: alone.state}
    for _ in range(steps * batches * workers):
        alone.step()
        sequence[alone.state.time] = alone.state
    shared = rf.ImplicitNewmark(system, 0.01, damping=(0.02, 0.001))
    shared.reset(some_state(system))
    wrong = []
    go, done = threading.Barrier(workers + 1), threading.Event()

    def work() -> None:
        go.wait()
        for _ in range(batches):
            shared.step(n=steps)

    def watch() -> None:
        go.wait()
        while not done.is_set():
            state = shared.state
            if state.time not in sequence or not states_equal(state, sequence[state.time]):
                wrong.append(state)

    with ThreadPoolExecutor(workers + 1) as pool:
        jobs = [pool.submit(work) for _ in range(workers)]
        watcher = pool.submit(watch)
        try:
            for job in jobs:
                job.result()
        finally:
            done.set()
        watcher.result()
    assert not wrong
    assert states_equal(shared.state, alone.state)
    assert shared.report.steps == batches * steps * workers


def test_simulations_share_a_model():
    model = small_model(9)

    def run(seed: int) -> rf.State:
        sim = rf.ImplicitNewmark(model, 0.001)
        sim.reset(some_state(model, seed))
        sim.step(n=2000)
        return sim.state

    alone = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(4)))
    assert all(states_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_a_simulation_keeps_its_model():
    sim = rf.ImplicitNewmark(rf.reduce(small_solid(), small_model(3).basis), 0.01)
    solid = rf.ImplicitNewmark(
        rf.Solid(rf.Mesh(*box_hexes(1, 1, 1)), rf.StVK(1e5, 0.3, 1e3), fixed=[0, 1, 2, 3]), 0.01
    )
    sim.step(np.ones(3), n=10)
    solid.step(np.ones((8, 3)), n=2)
    assert np.isfinite(sim.state.q).all()
    assert np.isfinite(solid.state.q).all()


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_interruption_leaves_a_whole_number_of_steps(system):
    """A progress callable that raises: the state is one of the sequence, steps can continue."""
    # far more than can be done in the 50 ms before the first call
    reduced = isinstance(system, rf.ReducedSolid)
    n = 4_000_000 if reduced else 100_000
    sim = rf.ImplicitNewmark(system, 1e-3)
    sim.reset(some_state(system))

    def interrupt(done: int, total: int) -> None:
        assert 0 < done <= total == n
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.step(n=n, progress=interrupt)
    done = sim.report.steps
    assert 0 < done < n
    assert sim.state.time == pytest.approx(done * 1e-3, rel=1e-9)
    sim.step(n=10)
    alone = rf.ImplicitNewmark(system, 1e-3)
    alone.reset(some_state(system))
    alone.step(n=done + 10)
    assert states_equal(sim.state, alone.state)


def test_progress_is_reported():
    sim = rf.ImplicitNewmark(small_model(), 1e-3)
    seen: list[tuple[int, int]] = []
    sim.step(n=2500, progress=lambda *x: seen.append(x))
    assert seen[-1] == (2500, 2500)
    assert seen == sorted(seen)


@pytest.mark.parametrize("reduced", [True, False])
def test_progress_callable_may_read_the_simulation(reduced):
    nodes, elements = box_hexes(2, 1, 1, (0.2, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] == 0)
    system = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3)) if reduced else solid
    sim = rf.ImplicitNewmark(system, 1e-3)
    n = 5000 if reduced else 20
    seen = []
    sim.step(n=n, progress=lambda done, total: seen.append((done, sim.state.time)))
    assert seen[-1] == (n, n * 1e-3)
    assert all(time == pytest.approx(done * 1e-3) for done, time in seen)
