"""Backward Euler against closed forms, NumPy and the equilibria of other integrators."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from plain_solid import isotropic, plain
from shapes import box_hexes

BALL = rf.SphereField((0.0, 0.0, 0.0), 0.02)


@pytest.mark.parametrize("h", [0.01, 0.3, 20.0])
def test_damped_oscillators_are_amplified_as_in_closed_form(h):
    """exp(l h) becomes 1 / (1 - h l) for each root of l^2 + c l + k = 0."""
    k, c = np.array([1.0, 4.0, 25.0, 2500.0]), np.array([0.0, 0.4, 14.0, 1.0])
    alpha, beta = 0.3, 0.02
    system = rf.SecondOrderSystem(np.eye(4), np.diag(k), damping_matrix=np.diag(c))
    sim = rf.BackwardEuler(system, h, (alpha, beta))
    x, v = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.2, 1.0, -4.0, 7.0])
    sim.reset(x, v)
    full = (c + alpha + beta * k).astype(complex)
    root = np.sqrt(full**2 - 4.0 * k)
    roots = np.array([-full + root, -full - root]) / 2.0
    first = (v - roots[1] * x) / (roots[0] - roots[1])
    parts = np.array([first, x - first])
    for n in range(1, 31):
        sim.step()
        now = parts * (1.0 - h * roots) ** -n
        for found, wanted in ((sim.state.q, now), (sim.state.qdot, roots * now)):
            np.testing.assert_allclose(found, wanted.sum(0).real, rtol=1e-9, atol=1e-13)
    assert sim.report.indefinite == 0


@pytest.mark.parametrize("reduced", [False, True])
def test_a_hexahedron_under_a_large_load_against_numpy(reduced):
    nodes, elements = box_hexes(1, 1, 1, (0.1, 0.1, 0.1))
    young, poisson, density, h = 1e5, 0.3, 1000.0, 4e-3
    fixed = nodes[:, 0] == 0.0
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(young, poisson, density), fixed=fixed)
    ways = np.eye(24)[np.repeat(~fixed, 3)]
    law = isotropic(
        young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 * young / (1.0 + poisson)
    )
    force = np.zeros((8, 3))
    force[-1] = [20.0, 5.0, -60.0]
    system = rf.reduce(solid, ways.reshape(-1, 8, 3)) if reduced else solid
    sim = rf.BackwardEuler(system, h, (2.0, 0.0), newton_max=40, tol=1e-13)
    q, v = np.zeros((2, 12))
    for _ in range(12):
        x = q.copy()
        for _ in range(40):
            _, inner, tangent, mass = plain(solid, (ways.T @ x).reshape(8, 3), law, density)
            of_mass, k = ways @ mass @ ways.T, ways @ tangent @ ways.T
            velocity = (x - q) / h
            acceleration = (velocity - v) / h
            residual = of_mass @ (acceleration + 2.0 * velocity)
            residual += ways @ (inner.ravel() - force.ravel())
            x -= np.linalg.solve((1.0 / h**2 + 2.0 / h) * of_mass + k, residual)
            if np.linalg.norm(residual) < 1e-11 * np.linalg.norm(force):
                break
        q, v = x, (x - q) / h
        sim.step(force)
        state = sim.state
        found = (
            [state.q, state.qdot] if reduced else [ways @ a.ravel() for a in (state.q, state.qdot)]
        )
        np.testing.assert_allclose(found[0], q, rtol=0, atol=1e-8 * np.abs(q).max())
        np.testing.assert_allclose(found[1], v, rtol=0, atol=1e-7 * np.abs(v).max())
    assert np.abs(q).max() > 0.02  # the nonlinear regime
