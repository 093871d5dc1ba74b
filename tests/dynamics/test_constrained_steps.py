"""Steps of solids with constrained nodes, against their matrices and plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from graded import CORNERS, graded_box, plain_matrix, torn_solid, voxel_mesh
from reducedfem import _core

LAW = rf.StVK(1e5, 0.3, 1000.0)


@pytest.fixture(scope="module")
def body():
    mesh = graded_box((5, 5, 5))
    solid = rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 1] < 1e-9)
    cells = torn_solid(mesh, LAW)
    T = plain_matrix(mesh)
    independent = np.setdiff1d(np.arange(mesh.n_nodes), mesh.constraints.slaves)
    free = np.flatnonzero(np.isin(independent, solid.free).repeat(3))
    return solid, cells, T[:, free]


def load_on(mesh, size):
    """Return loads on all nodes, constrained ones included."""
    return size * np.random.default_rng(3).normal(size=(mesh.n_nodes, 3))


def test_explicit_steps(body):
    solid, cells, T = body
    n, dt, load = solid.mesh.n_nodes, 2e-4, load_on(solid.mesh, 1e-2)
    mass = T.T @ (cells.mass(lumped=True).to_dense() @ np.ones(3 * n))
    sim = rf.CentralDifferences(solid, dt)
    sim.step(load, 40)
    x, v, a = np.zeros((3, T.shape[1]))
    for _ in range(40):
        v += 0.5 * dt * a
        x += dt * v
        a = T.T @ (load - cells.internal_force((T @ x).reshape(n, 3))).ravel() / mass
        v += 0.5 * dt * a
    assert np.abs(sim.state.q.ravel() - T @ x).max() < 1e-11 * np.abs(x).max()
    assert np.abs(sim.state.qdot.ravel() - T @ v).max() < 1e-11 * np.abs(v).max()


def test_explicit_steps_with_damping_inside(body):
    """(M + h/2 D) a' = f - R(x') - D (v + h/2 a), with M lumped, D = alpha M + beta K at rest."""
    solid, cells, T = body
    n, dt, load = solid.mesh.n_nodes, 2e-4, load_on(solid.mesh, 1e-2)
    mass = T.T @ (cells.mass(lumped=True).to_dense() @ np.ones(3 * n))
    damping = 0.5 * np.diag(mass) + 1e-3 * T.T @ cells.stiffness().to_dense() @ T
    sim = rf.CentralDifferences(solid, dt, (0.5, 1e-3), implicit_damping=True)
    sim.step(load, 20)
    x, v, a = np.zeros((3, T.shape[1]))
    for _ in range(20):
        v += 0.5 * dt * a
        x += dt * v
        force = T.T @ (load - cells.internal_force((T @ x).reshape(n, 3))).ravel()
        a = np.linalg.solve(np.diag(mass) + 0.5 * dt * damping, force - damping @ v)
        v += 0.5 * dt * a
    assert np.abs(sim.state.q.ravel() - T @ x).max() < 1e-10 * np.abs(x).max()
    assert np.abs(sim.state.qdot.ravel() - T @ v).max() < 1e-10 * np.abs(v).max()


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (rf.BackwardEuler, {}),
        (rf.ImplicitNewmark, {}),
        (rf.SDIRK2, {}),
        (rf.BackwardEuler, {"exact": 4}),
        (rf.ExponentialEuler, {}),
    ],
)
def test_small_steps_are_those_of_the_matrices(body, kind, more):
    solid, cells, T = body
    matrices = []
    for matrix in (cells.mass(), cells.stiffness()):
        folded = T.T @ matrix.to_dense() @ T
        folded = 0.5 * (folded + folded.T)
        folded[np.abs(folded) < 1e-13 * np.abs(folded).max()] = 0.0
        matrices.append(folded)
    system = rf.SecondOrderSystem(*matrices)
    load = load_on(solid.mesh, 1e-9)
    sims = [kind(one, 1e-3, damping=(0.5, 1e-4), **more) for one in (solid, system)]
    sims[0].step(load, 8)
    sims[1].step(T.T @ load.ravel(), 8)
    q, want = sims[0].state.q.ravel(), T @ sims[1].state.q
    assert np.abs(q - want).max() < 1e-8 * np.abs(want).max()
    for one in (sims[0].state.q, sims[0].state.qdot):
        np.testing.assert_allclose(
            one, solid.mesh.constraints.fill(one), atol=1e-12 * np.abs(one).max()
        )


def test_large_steps_balance(body):
    """Backward Euler with Newton: M a + R = f of the independent nodes."""
    solid, cells, T = body
    n, dt, load = solid.mesh.n_nodes, 5e-3, load_on(solid.mesh, 0.05)
    sim = rf.BackwardEuler(solid, dt, newton_max=40, tol=1e-11)
    sim.step(load, 3)
    before = sim.state
    sim.step(load)
    a = (sim.state.qdot - before.qdot) / dt
    rest = cells.mass() @ a.ravel() + (cells.internal_force(sim.state.q) - load).ravel()
    assert np.abs(T.T @ rest).max() < 1e-8 * np.abs(load).max()
    assert sim.state.q.shape == (n, 3)


@pytest.mark.parametrize("kind", [rf.ImplicitNewmark, rf.CentralDifferences])
def test_simulations_accept_their_own_state_after_a_long_decay(body, kind):
    """Rounding of constrained nodes must not exceed motions that have decayed."""
    solid, _, _ = body
    fill = solid.mesh.constraints.fill
    dt, steps, most = (2e-4, 2000, 1e-9) if kind is rf.CentralDifferences else (1e-2, 100, 1e-5)
    sim = kind(solid, dt, damping=(200.0, 0.0))
    sim.step(load_on(solid.mesh, 1e-2), n=10)
    sim.step(n=steps)
    state = sim.state
    assert 0.0 < np.abs(state.q).max() < most
    for one in (state.q, state.qdot, state.qddot):
        np.testing.assert_array_equal(one, fill(one))
    solid.stress(state.q)
    sim.reset(state.q, state.qdot, state.qddot)
    sim.step(n=3)
    again = kind(solid, dt, damping=(200.0, 0.0))
    again.reset(state.q, state.qdot, state.qddot)
    again.step(n=3)
    np.testing.assert_array_equal(again.state.q, sim.state.q)


@pytest.mark.parametrize("rule", ["mirror", "surface"])
def test_constrained_nodes_follow_masters_that_touch(rule):
    """Contact moves nodes of the surface alone, and with them those inside that follow them."""
    box = voxel_mesh(np.ones((3, 3, 3), dtype=bool))
    h = box.nodes[:, 2].max() / 3
    slave, *masters = (
        int(np.abs(box.nodes - h * np.array(at)).max(axis=1).argmin())
        for at in ([1, 1, 1], [1, 1, 0], [1, 1, 2])
    )
    table = ([slave], [0, 2], masters, [0.5, 0.5])
    mesh = rf.Mesh(box.nodes, box.elements, constraints=table)
    floor = rf.RigidProxy(rf.PlaneField([0.0, 0.0, -1e-5], [0.0, 0.0, 1.0]), rule=rule)
    solid = rf.Solid(mesh, LAW)
    sim = rf.CentralDifferences(solid, 1e-4, contact=floor, gravity=(0.0, 0.0, -30.0))
    touched = 0
    for _ in range(100):
        sim.step()
        touched = max(touched, len(sim.contact.nodes))
        state = sim.state
        for one in (state.q, state.qdot, state.qddot):
            np.testing.assert_array_equal(one, mesh.constraints.fill(one))
    assert touched == 16


def test_free_flight_keeps_momentum_and_energy():
    """The rule of virtual work has no drift, unlike means alone."""
    mesh = graded_box((5, 5, 5))
    solid = rf.Solid(mesh, LAW)
    v = np.cross([0.0, 0.0, 3.0], mesh.nodes - 0.025) + np.array([0.1, 0.2, 0.3])
    v[:, 0] += 2.0 * mesh.nodes[:, 1]
    sim = rf.CentralDifferences(solid, 0.8 * rf.stable_step(solid))
    sim.reset(qdot=v)
    m = solid.mass(lumped=True) @ np.ones(3 * mesh.n_nodes)

    def totals():
        u, w = sim.state.q, sim.state.qdot.ravel()
        return (m * w).reshape(-1, 3).sum(axis=0), 0.5 * w @ (m * w) + solid.strain_energy(u)

    momentum, energy = totals()
    sim.step(n=500)
    now = totals()
    np.testing.assert_allclose(now[0], momentum, rtol=1e-10, atol=1e-14)
    assert now[1] == pytest.approx(energy, rel=1e-2)


@pytest.mark.parametrize("k", [40.0, 1e5])
def test_pull_on_a_point_among_constrained_nodes(body, k):
    """The spring at a point in a cell between levels meets the masters of its nodes."""
    solid, cells, T = body
    mesh, dt = solid.mesh, 1e-3
    cell = np.isin(mesh.elements, mesh.constraints.slaves).sum(axis=1).argmax()
    nodes, weights = mesh.elements[cell], np.full(8, 0.125)
    rest = mesh.nodes[nodes].mean(axis=0)
    rows = np.zeros((3, mesh.n_nodes, 3))
    for a in range(3):
        rows[a, nodes, a] = weights
    rows = rows.reshape(3, -1) @ T
    goal = rest + np.array([1e-6, 2e-6, -1e-6])
    sim = rf.BackwardEuler(solid, dt)
    felt, point = _core.pull(sim._core, rest, (nodes, weights), k, goal, None, 1, 2)
    M, K = (T.T @ one.to_dense() @ T for one in (cells.mass(), cells.stiffness()))
    want = np.linalg.solve(M / dt**2 + K + k * rows.T @ rows, k * rows.T @ (goal - rest))
    assert np.abs(sim.state.q.ravel() - T @ want).max() < 1e-9 * np.abs(want).max()
    np.testing.assert_allclose(point, rest + rows @ want, rtol=1e-9)
    np.testing.assert_allclose(felt, k * (goal - point), rtol=1e-6)
    compliance = np.trace(rows @ np.linalg.solve(K, rows.T))
    found = _core.pull_body_stiffness(solid._core, (nodes, weights), 2)
    assert found == pytest.approx(1.0 / compliance, rel=1e-9)


def step_with_slaves():
    """Return a cell with two cells of half its width on it, which have nodes 14 and 15 on it."""
    upper = CORNERS + np.array([0, 0, 1])
    nodes = np.concatenate([CORNERS, upper[4:], [[0.5, 0, 0]]]) * 1.0
    return rf.Mesh(
        np.concatenate([nodes[:12], [[0.5, 0, 2.0], [0.5, 1, 2.0], [0.5, 0, 1], [0.5, 1, 1]]]),
        [list(range(8)), [4, 14, 15, 7, 8, 12, 13, 11], [14, 5, 6, 15, 12, 9, 10, 13]],
        constraints=([14, 15], [0, 2, 4], [4, 5, 7, 6], [0.5] * 4),
    )


def test_contact_by_barriers(body):
    """The surface is independent, so it may touch; constrained nodes there are refused."""
    solid, _, _ = body
    floor = rf.BarrierContact(rf.PlaneField([0.0, 0.0, -1e-4], [0.0, 0.0, 1.0]))
    sim = rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=floor, gravity=(0.0, 0.0, -30.0))
    sim.step(n=20)
    lowest = (solid.mesh.nodes + sim.state.q)[:, 2].min()
    assert lowest > -1e-4
    assert np.abs(sim.state.q).max() > 1e-4
    held = rf.Solid(step_with_slaves(), LAW, fixed=[0, 1, 2, 3])
    with pytest.raises(rf.InputError, match="node 14 touches but is constrained"):
        rf.BackwardEuler(
            held,
            1e-3,
            newton_max=50,
            contact=rf.BarrierContact(rf.PlaneField([0.0, 0.0, -1e-4], [0.0, 0.0, 1.0])),
        )
    with pytest.raises(rf.InputError, match="node 14 touches but is constrained"):
        rf.CentralDifferences(held, contact=rf.RigidProxy(rf.SphereField([0.0, 0.0, 9.0], 1.0)))


def test_constrained_nodes_that_stand_with_their_masters_do_not_touch():
    """Nodes 14 and 15 of the surface follow fixed nodes alone."""
    mesh = step_with_slaves()
    held = rf.Solid(mesh, LAW, fixed=list(range(8)))
    proxy = rf.RigidProxy(rf.PlaneField([0.0, 0.0, -9.0], [0.0, 0.0, 1.0]))
    rf.CentralDifferences(held, contact=proxy).step(n=2)
    floor = rf.BarrierContact(rf.PlaneField([0.0, 0.0, -9.0], [0.0, 0.0, 1.0]))
    rf.BackwardEuler(held, 1e-3, newton_max=50, contact=floor).step(n=2)
    chosen = rf.BarrierContact(rf.PlaneField([0.0, 0.0, -9.0], [0.0, 0.0, 1.0]), nodes=[8, 14])
    with pytest.raises(rf.InputError, match="nodes has node 14, which is fixed"):
        rf.BackwardEuler(held, 1e-3, newton_max=50, contact=chosen)
