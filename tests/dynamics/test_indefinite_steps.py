"""Tangents that are indefinite, in steps and statics, and increments that are not guarded."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from integrated import small_solid
from shapes import box_hexes

LAWS = {
    "StVK": rf.StVK(1e5, 0.4, 1000.0),
    "StableNeoHookean": rf.StableNeoHookean(1e5, 0.4, 1000.0),
    "NeoHookean": rf.NeoHookean(1e5, 0.4, 1000.0),
    "MooneyRivlin": rf.MooneyRivlin(1.2e4, 3e3, 1e5, 1000.0),
    "Corotated": rf.Corotated(1e5, 0.4, 1000.0),
}


def column(law: rf.StVK, cells: int = 8) -> tuple[rf.Solid, np.ndarray]:
    """A slender bar, clamped at x = 0, and its nodes at the other end."""
    nodes, elements = box_hexes(cells, 2, 2, (0.3, 0.075, 0.075))
    solid = rf.Solid(rf.Mesh(nodes, elements), law, fixed=np.flatnonzero(nodes[:, 0] == 0.0))
    return solid, np.flatnonzero(nodes[:, 0] > 0.299)


def crushed(solid: rf.Solid) -> np.ndarray:
    """Displacements that shorten it by 60 % and bend it: tangents have negative eigenvalues."""
    x = solid.mesh.nodes[:, :1]
    return np.hstack([-0.6 * x, 0.1 * x * np.sin(20.0 * x), 0.0 * x])


def free_rows(solid: rf.Solid) -> np.ndarray:
    return np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)


@pytest.mark.filterwarnings("ignore:.* elements are inside out")  # StVK does not prevent it
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_statics_from_a_crushed_shape_come_to_an_equilibrium(law):
    solid, tip = column(law)
    force = np.zeros_like(solid.mesh.nodes)
    force[tip, 2] = 0.05
    rest, _ = solid.solve_static(force, report=True)
    u, report = solid.solve_static(force, u0=crushed(solid), report=True)
    assert report.shifted > 0
    free = free_rows(solid)
    assert np.abs((solid.internal_force(u) - force)[free]).max() <= 1e-8
    if not isinstance(law, rf.StVK):  # which has other equilibria: it pushes back ever less
        assert np.abs(u - rest).max() <= 1e-7


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_long_steps_from_a_crushed_shape_converge(law, projected):
    """The mass hardly counts, so the law is made definite; the end solves the true equations."""
    solid, _ = column(law)
    start, system = crushed(solid), solid
    if projected:  # a basis with the shape in it, and the lowest modes of its tangent
        tangent = solid.stiffness(start).to_scipy().toarray()
        at = (3 * free_rows(solid)[:, None] + np.arange(3)).ravel()
        vectors = np.zeros((6, *start.shape))
        vectors[0] = start
        vectors.reshape(6, -1)[1:, at] = np.linalg.eigh(tangent[np.ix_(at, at)])[1][:, :5].T
        system = rf.ProjectedSolid(solid, vectors)
        start = np.eye(6)[0]
    dt = 1.0
    sim = rf.BackwardEuler(system, dt, newton_max=300, tol=1e-9)
    sim.reset(start)
    scale = np.abs(system.internal_force(start)).max()
    for _ in range(3):
        before = sim.state
        sim.step()
        now = sim.state
        mass = system.mass if projected else solid.mass().to_scipy()
        change = (now.qdot - before.qdot).ravel() / dt
        balance = (mass @ change).reshape(start.shape) + system.internal_force(now.q)
        if not projected:
            balance = balance[free_rows(solid)]
        assert np.abs(balance).max() <= 1e-7 * scale
    assert sim.report.indefinite >= sim.report.projected > 0
    assert sim.report.unconverged == 0


def test_polynomial_models_have_no_points_to_project():
    solid, _ = column(LAWS["StVK"])
    model = rf.reduce(solid, [crushed(solid)])
    sim = rf.BackwardEuler(model, 1.0, newton_max=100)
    sim.reset([1.0])
    sim.step(n=3)
    assert sim.report.indefinite > 0
    assert sim.report.projected == 0


# --- whole increments -------------------------------------------------------------------


@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_without_a_line_search_steps_are_those_of_the_textbook(iterations):
    """Newton's method by dense matrices, from the same start."""
    solid, dt = small_solid(), 0.02
    free = np.setdiff1d(np.arange(solid.mesh.n_nodes), solid.fixed)
    at = (3 * free[:, None] + np.arange(3)).ravel()
    mass = solid.mass().to_scipy().toarray()[np.ix_(at, at)]
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[free] = [0.0, 0.0, 60.0]  # far beyond what one linearization describes
    x = np.zeros(len(at))
    for _ in range(iterations):
        u = np.zeros_like(force)
        u[free] = x.reshape(-1, 3)
        tangent = solid.stiffness(u).to_scipy().toarray()[np.ix_(at, at)]
        residual = mass @ x / dt**2 + (solid.internal_force(u) - force)[free].ravel()
        x = x - np.linalg.solve(mass / dt**2 + tangent, residual)
    ends = []
    for search in (False, True):
        sim = rf.BackwardEuler(solid, dt, newton_max=iterations, tol=0.0, line_search=search)
        sim.step(force)
        ends.append(sim.state.q[free].ravel())
        assert (sim.report.shortened > 0) == search
    assert np.abs(ends[0] - x).max() <= 1e-11 * np.abs(x).max()
    assert np.abs(ends[1] - x).max() > 1e-3 * np.abs(x).max()


def test_contact_needs_the_line_search():
    solid, _ = column(LAWS["StVK"])
    floor = rf.PlaneField((0.0, 0.0, -0.2), (0.0, 0.0, 1.0))
    contact = rf.BarrierContact(floor, distance=1e-3)
    with pytest.raises(rf.InputError, match="line_search is False, but whole increments cross"):
        rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact, line_search=False)
    with pytest.raises(rf.InputTypeError, match="line_search must be"):
        rf.BackwardEuler(solid, 1e-3, line_search=1)


def test_copies_keep_the_choice():
    solid = small_solid()
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[:, 2] = 60.0
    force[solid.fixed] = 0.0
    sim = rf.BDF2(solid, 0.02, line_search=False)
    other = sim.clone()
    for one in (sim, other):
        one.step(force)
    np.testing.assert_array_equal(sim.state.q, other.state.q)
    assert other.report.shortened == 0
