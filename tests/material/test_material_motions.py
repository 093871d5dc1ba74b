"""Statics and steps of solids whose energy is no polynomial: closed forms, balances, energies."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from material_laws import LAWS, principal_stresses, rubber
from plain_solid import jittered
from shapes import BOXES, solid_box

RUBBERS = [rubber(law, 2e5, 0.4) for law, facts in LAWS.items() if not facts["quadratic"]]


@pytest.fixture(name="rubber", params=RUBBERS, ids=lambda one: one.law)
def one_of_rubbers(request):
    return request.param


def contraction(one, along):
    """Return the stretch across a bar without stress across."""
    low, high = 0.2, 3.0
    for _ in range(80):
        across = 0.5 * (low + high)
        if principal_stresses(one, [along, across, across])[1] > 0:
            high = across
        else:
            low = across
    return across


@pytest.mark.parametrize("along", [0.5, 0.9, 1.2, 2.0])
@pytest.mark.parametrize("kind", ["tet", "hex", "tet10", "hex20"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_bar_in_tension(kind, along, rubber):
    """The force and the contraction of a bar, also where St.Venant-Kirchhoff has none."""
    nodes, elements, _ = jittered(BOXES[kind], (6, 2, 2), 0.1, np.random.default_rng(1), bend=0.0)
    size = np.ptp(nodes, axis=0)
    ends = (nodes[:, 0] < nodes[:, 0].min() + 1e-9) | (nodes[:, 0] > nodes[:, 0].max() - 1e-9)
    solid = rf.Solid(rf.Mesh(nodes, elements), rubber, fixed=ends)
    across = contraction(rubber, along)
    assert (across < 1) == (along > 1)
    exact = nodes * (np.array([along, across, across]) - 1)
    u = solid.solve_static(prescribed=exact, steps=4)
    assert np.abs(u - exact).max() < 1e-9 * np.abs(exact).max()
    force = solid.internal_force(u)
    pull = principal_stresses(rubber, [along, across, across])[0] * size[1] * size[2]
    right = nodes[:, 0] > nodes[:, 0].max() - 1e-9
    assert force[right].sum(axis=0) == pytest.approx([pull, 0, 0], abs=1e-7 * abs(pull))
    assert np.abs(force[~ends]).max() < 1e-7 * abs(pull)


@pytest.fixture
def beam(rubber):
    return solid_box((8, 2, 2), (0.4, 0.1, 0.1), rubber)


def potential(solid, dt, x, force):
    """Return the energy of one Newmark step from rest at x."""
    way = x.ravel()
    return solid.strain_energy(x) - np.sum(force * x) + 2 / dt**2 * way @ (solid.mass() @ way)


@pytest.mark.parametrize("system", ["solid", "projected"])
def test_steps_balance(beam, system):
    """The state after a step fulfils M a + R(x) = f."""
    force = beam.gravity((0, 0, -30.0))
    if system == "solid":
        sim = rf.ImplicitNewmark(beam, dt=2e-3, newton_max=20, tol=1e-11)
        load, mass, internal = force.ravel(), beam.mass(), beam.internal_force
    else:
        vectors = beam.linear_modes(6).shapes
        model = rf.ProjectedSolid(beam, vectors)
        sim = rf.ImplicitNewmark(model, dt=2e-3, newton_max=20, tol=1e-11)
        load, mass, internal = (
            vectors.reshape(6, -1) @ force.ravel(),
            np.eye(6),
            model.internal_force,
        )
    for _ in range(5):
        sim.step(force if system == "solid" else load, n=5)
        q = sim.state.q
        left = (mass @ sim.state.qddot.ravel()) + internal(q).ravel() - load
        if system == "solid":
            left = left.reshape(-1, 3)[beam.free].ravel()
        assert np.abs(left).max() < 1e-8 * np.abs(load).max()
    assert sim.report.unconverged == 0


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_trapezoidal_steps_keep_the_energy(beam):
    """Free vibration at large bends: second order in the step."""
    drift = []
    for dt in (1e-3, 5e-4):
        sim = rf.ImplicitNewmark(beam, dt=dt, newton_max=20, tol=1e-11)
        start = 0.02 * beam.linear_modes(1).shapes[0] / np.abs(beam.linear_modes(1).shapes[0]).max()
        sim.reset(q=3 * start)
        energy = beam.strain_energy(3 * start)
        worst = 0.0
        for _ in range(20):
            sim.step(n=round(5e-3 / dt))
            v = sim.state.qdot.ravel()
            total = beam.strain_energy(sim.state.q) + 0.5 * v @ (beam.mass() @ v)
            worst = max(worst, abs(total / energy - 1))
        drift.append(worst)
    assert drift[0] < 0.02
    assert drift[1] < 0.4 * drift[0]


@pytest.mark.parametrize("strength", [1.0, 30.0, 1000.0])
def test_increments_never_raise_the_energy(beam, strength):
    """A light body under a sudden force, where whole Newton increments go far too far."""
    force = np.zeros((beam.mesh.n_nodes, 3))
    force[beam.mesh.nodes[:, 0] > 0.4 - 1e-9, 2] = strength
    dt, before, shortened = 1.0, 0.0, 0
    for solves in range(1, 12):
        sim = rf.ImplicitNewmark(beam, dt=dt, newton_max=solves, tol=1e-12)
        sim.step(force)
        now = potential(beam, dt, sim.state.q, force)
        assert now <= before + 1e-12 * abs(before)
        before, shortened = now, sim.report.shortened
    assert before < 0
    assert shortened > 0 or strength < 100


def test_steps_of_mixed_laws(beam, rubber):
    """A bar of half rubber: the motion of a finer step is near, so forces and tangent agree."""
    nodes = beam.mesh.nodes
    which = (nodes[beam.mesh.elements].mean(axis=1)[:, 0] > 0.2).astype(int)
    mesh = rf.Mesh(nodes, beam.mesh.elements, which)
    materials = {0: rf.StVK(2e5, 0.4, 1000.0), 1: rubber}
    solid = rf.Solid(mesh, materials, fixed=beam.fixed)
    force = solid.gravity((0, 0, -10.0))
    sim = rf.ImplicitNewmark(solid, dt=1e-3, newton_max=10, tol=1e-12)
    sim.step(force, n=20)
    assert sim.report.unconverged == 0
    # explicit steps need no tangent; their mass is lumped
    step = 0.5 * rf.stable_step(solid)
    other = rf.CentralDifferences(solid, dt=0.02 / np.ceil(0.02 / step))
    other.step(force, n=int(np.ceil(0.02 / step)))
    np.testing.assert_allclose(
        sim.state.q, other.state.q, rtol=0, atol=0.08 * np.abs(other.state.q).max()
    )


def test_modal_derivatives_are_those_of_the_static_response(beam):
    """Second derivatives of the displacement under loads along the modes."""
    modes = beam.linear_modes(2)
    loads = [(beam.mass() @ shape.ravel()).reshape(-1, 3) for shape in modes.shapes]
    values = (2 * np.pi * modes.frequencies) ** 2
    derivatives = beam.modal_derivatives(modes)

    def response(p):
        force = sum(a * w * f for a, w, f in zip(p, values, loads, strict=True))
        return beam.solve_static(force, tol=1e-13)

    h = 2e-4
    signs = [(s, t) for s in (1, -1) for t in (1, -1)]
    mixed = sum(s * t * response((s * h, t * h)) for s, t in signs) / (4 * h * h)
    assert np.abs(mixed - derivatives[1]).max() < 1e-3 * np.abs(derivatives[1]).max()


def test_derivatives_of_a_free_solid_exist(beam, rubber):
    free = rf.Solid(beam.mesh, rubber)
    basis = rf.modal_derivative_basis(free, k=3, r=6)
    assert basis.vectors.shape == (6, free.mesh.n_nodes, 3)


def test_damping_in_proportion(beam):
    rate = rf.StrainRateDamping.proportional(beam, 1e-3)
    zero, v = np.zeros((2, beam.mesh.n_nodes, 3)), np.ones((beam.mesh.n_nodes, 3))
    v = np.random.default_rng(1).standard_normal(v.shape)
    expected = 1e-3 * (beam.stiffness() @ v.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(rate.force(zero[0], v), expected, atol=1e-9)
