"""Steps of all integrators: reduced ones allocate nothing; the same bits on all threads."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import reducedfem as rf
from bars import bar
from calls import IMPLICIT
from integrated import polynomial_model, small_model, small_solid, states_equal
from reducedfem import _core
from sampled import sampled
from shapes import solid_box

FLOOR = rf.PlaneField([0.0, 0.0, -0.005], [0.0, 0.0, 1.0])


def implicit(kind, system, **more):
    return kind(system, 2e-3, (0.1, 1e-3), newton_max=3, **more)


KINDS = {name: functools.partial(implicit, kind) for name, kind in IMPLICIT.items()} | {
    "one Jacobian": functools.partial(implicit, rf.SDIRK2, jacobians=1),
    "ExponentialEuler": lambda system: rf.ExponentialEuler(system, 2e-3, (0.1, 1e-3)),
    "CentralDifferences": lambda system: rf.CentralDifferences(system, None, (0.1, 0.0)),
}
MODELS = {f"r = {r}": functools.partial(small_model, r) for r in (1, 6, 20, 24)}
MODELS["cubature"] = sampled


BARRIERS = [(kind, lagged) for kind in (rf.BackwardEuler, rf.BDF2) for lagged in (True, False)]


def with_barrier(kind, lagged):
    """Return the steps of a bar that sinks onto a floor."""
    contact = rf.BarrierContact(FLOOR, friction=0.3, lagged=lagged)
    return kind(bar(1e5), 2e-3, newton_max=50, gravity=(0.0, 0.0, -9.81), contact=contact)


def load_of(system):
    if isinstance(system, rf.ReducedSolid):
        return np.linspace(0.01, 0.02, system.r)
    return np.full(system.mesh.nodes.shape, 1e-3)


def allocations(work):
    before = _core.alloc_counters()["calls"]
    work()
    return _core.alloc_counters()["calls"] - before


# ---- allocations


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_no_step_allocates(model, make):
    sim = make(model())
    load = load_of(sim.system)
    for force, n in ((load, 1), (load, 300), (None, 1)):
        assert allocations(lambda f=force, n=n: sim.step(f, n=n)) == 0
    assert sim.state.q.any()


@pytest.mark.parametrize("kind", [*IMPLICIT.values(), rf.CentralDifferences])
def test_no_step_with_strain_rate_damping_allocates(kind):
    model = small_model(9)
    rate = rf.StrainRateDamping(small_solid(), 30.0, 20.0).reduce(model)
    sim = kind(model, 1e-3, strain_rate=rate)
    assert allocations(lambda: sim.step(np.ones(9), n=300)) == 0


@pytest.mark.parametrize(("kind", "lagged"), BARRIERS)
def test_no_step_with_a_barrier_allocates(kind, lagged):
    sim = with_barrier(kind, lagged)
    assert allocations(lambda: sim.step(n=100)) == 0
    assert len(sim.contact_state.normal_forces) > 0


@pytest.mark.parametrize("kind", IMPLICIT.values())
def test_no_step_with_an_indefinite_tangent_allocates(kind):
    model = polynomial_model(2, {(0, 0): -2.0, (1, 1): -2.0, (0, 0, 0, 0): 1.0, (1, 1, 1, 1): 1.0})
    sim = kind(model, 3.0, newton_max=5)
    sim.reset(q=[0.05, 0.02])
    assert allocations(lambda: sim.step(n=3)) == 0
    assert sim.report.indefinite > 0


@pytest.mark.parametrize("kind", [rf.BackwardEuler, rf.BDF2, rf.TRBDF2])
def test_steps_allocate_where_modes_are_computed_anew(kind):
    """In each step, or in the first; it shows too that the counter counts."""
    for modes, expected in (("rest", [0, 0, 0]), ("follow", [1, 0, 0]), ("exact", [1, 1, 1])):
        sim = implicit(kind, small_model(20), exact=5, modes=modes)
        force = load_of(sim.system)
        assert [allocations(lambda s=sim, f=force: s.step(f)) > 0 for _ in range(3)] == expected


# ---- bits


def ends(make):
    """Return the states after some steps on one, two and five threads."""
    states, before = [], rf.threads()
    try:
        for threads in (1, 2, 5):
            rf.set_threads(threads)
            sim = make()
            n = 20 if isinstance(sim.system, rf.ReducedSolid) else 2
            sim.step(load_of(sim.system), n=n)
            sim.step(n=n)
            states.append(sim.state)
    finally:
        rf.set_threads(before)
    return states


@functools.cache
def wide_solid():
    """Return a solid of more nodes than one task has."""
    return solid_box((16, 10, 8), (0.4, 0.3, 0.2))


SYSTEMS = {"reduced": MODELS["r = 20"], "cubature": sampled, "solid": wide_solid}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_the_same_bits_on_any_number_of_threads(system, make):
    first, *others = ends(lambda: make(system()))
    assert first.q.any()
    assert all(states_equal(first, other) for other in others)


@pytest.mark.parametrize(("kind", "lagged"), BARRIERS)
def test_the_same_bits_with_a_barrier(kind, lagged):
    first, *others = ends(lambda: with_barrier(kind, lagged))
    assert all(states_equal(first, other) for other in others)
