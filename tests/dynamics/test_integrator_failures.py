"""Implicit Newmark: divergence, indefinite tangents, arguments that are rejected."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from calls import IMPLICIT
from integrated import polynomial_model, shape_of, small_solid, some_state, states_equal, systems
from shapes import box_hexes


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


@pytest.mark.parametrize("kind", IMPLICIT.values())
@pytest.mark.parametrize("newton", [1, 10])
@pytest.mark.parametrize("material", [rf.StVK, rf.StableNeoHookean, rf.NeoHookean])
def test_a_step_shortened_to_nothing_fails(material, newton, kind):
    """The minimum along the increment lies below what rounding resolves."""
    mesh = rf.Mesh(*box_hexes(6, 1, 1, (0.2, 0.03, 0.03)))
    solid = rf.Solid(mesh, material(1e6, 0.4, 1000.0), fixed=mesh.nodes[:, 0] == 0.0)
    failed = 0
    for size in 10.0 ** np.array([14, 17, 20, 40, 50, 60]):
        sim = kind(solid, 1e-3, newton_max=newton)
        sim.reset(qdot=mesh.nodes[:, :1] * np.array([0.0, 0.0, 1e-3]))
        before = sim.state
        force = np.zeros_like(mesh.nodes)
        force[-1, 2] = size
        try:
            sim.step(force)
        except rf.DivergedError:
            failed += 1
            assert states_equal(sim.state, before)
        else:
            assert np.abs(sim.state.q).max() > 0.01
    assert failed > 2  # 1e40 N and more fail with any rounding


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
