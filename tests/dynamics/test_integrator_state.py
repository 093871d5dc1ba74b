"""Implicit Newmark: state, report, several steps; reproducible, threaded, interrupted."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import reducedfem as rf
from integrated import (
    polynomial_model,
    shape_of,
    small_model,
    small_solid,
    some_state,
    states_equal,
    systems,
)
from shapes import box_hexes, box_tets, solid_box


# a step so long that Newton's method takes several iterations
@pytest.mark.filterwarnings("ignore:dt = .* steps per period:reducedfem.PlausibilityWarning")
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
    first, last = quick.report.residuals
    assert 1e-6 < last == quick.report.residual < first


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
    assert long.report == rf.ImplicitReport(0, 0, 0, 0, 0.0)


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
    assert sim.report == rf.ImplicitReport(0, 0, 0, 0, 0.0)
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


# --- running -------------------------------------------------------------------------


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
    solid = solid_box((2, 1, 1), (0.2, 0.1, 0.1))
    system = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3)) if reduced else solid
    sim = rf.ImplicitNewmark(system, 1e-3)
    n = 5000 if reduced else 20
    seen = []
    sim.step(n=n, progress=lambda done, total: seen.append((done, sim.state.time)))
    assert seen[-1] == (n, n * 1e-3)
    assert all(time == pytest.approx(done * 1e-3) for done, time in seen)
