"""Integrators whose lowest modes are solved exactly: closed forms, orders, copies, messages.

Trajectories of an independent prototype are in test_schemes.py.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import reducedfem as rf
from bars import UPRIGHT, bar, top_of
from motions import COMMON, check_copies
from reducedfem import _core
from shapes import box_hexes, solid_box

KINDS = [rf.BackwardEuler, rf.BDF2, rf.TRBDF2]
MODES = ["follow", "exact", "rest"]
LARGE = pytest.mark.filterwarnings("ignore:the body is displaced by .* modes of rest")


def oscillators(k, c, x, v, load, t):
    """Return places and velocities of masses of 1 after the time t."""
    w = np.sqrt(k - 0.25 * c * c + 0j)
    a, decay = x - load / k, np.exp(-0.5 * c * t)
    b = (v + 0.5 * c * a) / w
    place = a * np.cos(w * t) + b * np.sin(w * t)
    rate = w * (b * np.cos(w * t) - a * np.sin(w * t)) - 0.5 * c * place
    return (load / k + decay * place).real, (decay * rate).real


@pytest.fixture(scope="module")
def beam():
    return solid_box((6, 1, 1), (0.6, 0.1, 0.1))


def tip(solid, size):
    load = np.zeros((solid.mesh.n_nodes, 3))
    load[-1] = [0.0, 0.3 * size, -size]
    return load


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_modes_of_a_linear_system_have_no_error(kind, modes):
    """Slow, oscillating and overdamped modes, at a step longer than their periods."""
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.standard_normal((9, 9)))[0]
    k = np.array([0.4, 3.0, 60.0, 700.0, 2e4, 9e4, 4e5, 1e6, 2e6])
    alpha, beta = 0.3, 0.02  # the third and higher are overdamped
    system = rf.SecondOrderSystem(np.eye(9), turn @ np.diag(k) @ turn.T)
    x, v, load = rng.standard_normal((3, 9)) * [[1.0], [2.0], [5.0]]
    load, v[4:], x[4:] = load * np.sqrt(k), 0.0, load[4:] / np.sqrt(k[4:])
    sim = kind(system, 1.3, (alpha, beta), exact=4, modes=modes)
    sim.reset(turn @ x, turn @ v)
    for n in range(1, 7):
        sim.step(turn @ load)
        q, qdot = turn.T @ sim.state.q, turn.T @ sim.state.qdot
        place, rate = oscillators(*(a[:4] for a in (k, alpha + beta * k, x, v, load)), 1.3 * n)
        np.testing.assert_allclose(q[:4], place, rtol=0, atol=1e-9 * np.abs(x).max())
        np.testing.assert_allclose(qdot[:4], rate, rtol=0, atol=1e-8 * np.abs(v).max())
        # the others begin at rest in equilibrium
        np.testing.assert_allclose(q[4:], x[4:], rtol=0, atol=1e-9)
        a = load - (alpha + beta * k) * qdot - k * q
        size = np.abs(load[:4]).max()
        np.testing.assert_allclose((turn.T @ sim.state.qddot)[:4], a[:4], rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_modes_are_those_of_the_scheme(kind):
    k = np.array([1.0, 9.0, 400.0, 3600.0])
    system = rf.SecondOrderSystem(np.eye(4), np.diag(k))
    x, v = np.array([1.0, 0.2, -0.3, 0.4]), np.array([0.0, 1.0, 2.0, -3.0])
    sims = [kind(system, 0.02, (0.1, 1e-4), exact=n) for n in (0, 2)]
    for sim in sims:
        sim.reset(x, v)
        sim.step(np.ones(4), 20)
    plain, exact = (sim.state for sim in sims)
    np.testing.assert_allclose(exact.q[2:], plain.q[2:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(exact.qdot[2:], plain.qdot[2:], rtol=0, atol=1e-10)
    assert np.abs(exact.q[:2] - plain.q[:2]).max() > 1e-6


@pytest.mark.parametrize("newton_max", [1, 20])
@pytest.mark.parametrize(
    ("kind", "order", "first"), [(rf.BackwardEuler, 1, 160), (rf.BDF2, 2, 320), (rf.TRBDF2, 2, 160)]
)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_orders_of_a_large_motion(beam, kind, order, first, newton_max):
    """Against finer steps of the same method; A21's own equations would be of order 1."""
    shape = beam.linear_modes(1).shapes[0]
    start = 2.0 * shape / np.abs(shape).max()

    def last(n):
        sim = kind(beam, 0.08 / n, (0.5, 0.0), newton_max, 1e-12, exact=5)
        sim.reset(qdot=start)
        sim.step(None, n)
        return sim.state.q

    ends = [last(n) for n in (first, 2 * first, 4 * first)]
    assert np.abs(ends[-1]).max() > 0.1
    one, half = (np.abs(a - b).max() for a, b in itertools.pairwise(ends))
    assert np.log2(one / half) > order - 0.3


@LARGE
@pytest.mark.parametrize("kind", KINDS)
def test_modes_that_follow_are_nearly_exact(beam, kind):
    load = tip(beam, 6.0)
    ends = {}
    for modes in MODES:
        sim = kind(beam, 4e-3, exact=6, modes=modes)
        sim.step(load, 60)
        ends[modes] = sim.displacement
        assert sim.report.refreshes == (0 if modes == "rest" else 60)
        sim.reset()
        sim.step(load, 3)
        assert sim.report.refreshes == (0 if modes == "rest" else 3)
    size = np.abs(ends["exact"]).max()
    assert size > 0.1
    near, far = (np.abs(ends[m] - ends["exact"]).max() / size for m in ("follow", "rest"))
    assert near < 1e-4
    assert near < far


def test_sweeps_end_at_the_exact_modes(beam):
    """At rest each sweep comes nearer: the space no longer turns."""
    sim = rf.BackwardEuler(beam, 4e-3, exact=6)
    sim.step(tip(beam, 1.5), 5)
    turning = sim.report.drift
    sim.reset()
    sim.step(None, 12)
    assert turning > 1e-6
    assert sim.report.drift < 1e-9


def test_slow_motion_keeps_its_energy(beam):
    """Backward Euler alone loses more than half of it in the same time."""
    shape = beam.linear_modes(1).shapes[0]
    start = 1e-3 * shape / np.abs(shape).max()
    mass, stiffness = beam.mass().to_scipy(), beam.stiffness().to_scipy()

    def energy(state):
        q, v = state.q.ravel(), state.qdot.ravel()
        return 0.5 * v @ (mass @ v) + 0.5 * q @ (stiffness @ q)

    left = []
    for exact in (0, 3):
        sim = rf.BackwardEuler(beam, 0.02, exact=exact)
        sim.reset(start)
        first = energy(sim.state)
        sim.step(None, 200)
        left.append(energy(sim.state) / first)
    assert left[0] < 0.5
    assert left[1] == pytest.approx(1.0, abs=0.02)


@LARGE
@pytest.mark.parametrize("modes", MODES)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_old_modes_do_not_blow_up(beam, modes):
    """A21's matrices with eigenvectors of another moment do, in 60 steps."""
    sim = rf.TRBDF2(beam, 8e-3, exact=10, modes=modes)
    load = tip(beam, 2.0)
    sim.step(load, 20)
    for _ in range(100):
        sim.step(None, 10)
        assert np.abs(sim.displacement).max() < 1.0


@pytest.mark.parametrize("law", [rf.StVK, rf.StableNeoHookean])
def test_a_free_body_flies_as_it_should(law):
    """The rigid motions are modes with the eigenvalue zero."""
    nodes, elements = box_hexes(2, 2, 1, (0.2, 0.2, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), law(1e5, 0.3, 1000.0))
    gravity = np.array([0.0, 0.0, -9.81])
    velocity = np.array([1.0, -2.0, 3.0])
    sim = rf.BDF2(solid, 0.01, newton_max=20, tol=1e-12, exact=8, gravity=gravity)
    sim.reset(None, np.tile(velocity, (len(nodes), 1)))
    sim.step(None, 30)
    fall = velocity * 0.3 + 0.5 * gravity * 0.09
    np.testing.assert_allclose(sim.state.q, np.tile(fall, (len(nodes), 1)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.state.qdot[0], velocity + 0.3 * gravity, rtol=0, atol=1e-8)


def test_reduced_and_projected_solids_have_exact_modes_too(beam):
    """Of a basis of all their modes' space, both step as each other."""
    basis = rf.modal_derivative_basis(beam, 4, 8)
    load = tip(beam, 1.0)
    ends = []
    for system in (rf.reduce(beam, basis), rf.ProjectedSolid(beam, basis)):
        sim = rf.TRBDF2(system, 4e-3, (0.1, 1e-4), exact=3)
        sim.step(load, 20)
        ends.append(sim.displacement)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9 * np.abs(ends[0]).max())


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_continue_as_the_original(beam, kind, modes):
    sim = kind(beam, 5e-3, (0.1, 1e-4), newton_max=2, exact=4, modes=modes)
    load = tip(beam, 1.0)
    sim.step(load, 5)
    check_copies(sim, lambda one: one.step(-load, 4))


@LARGE
@pytest.mark.parametrize("modes", MODES)
def test_results_have_the_same_bits_for_any_number_of_threads(modes, set_threads):
    solid = solid_box((16, 12, 8), (0.4, 0.3, 0.2))
    load = tip(solid, 20.0)
    ends = []
    for n in (1, 2, 3):
        set_threads(1 if n == 3 else n)
        sim = rf.BDF2(solid, 5e-3, exact=4, modes=modes)
        set_threads(n)  # more than there were when it was made
        sim.step(load, 2)
        ends.append(sim.state.q)
    np.testing.assert_array_equal(ends[1], ends[0])
    np.testing.assert_array_equal(ends[2], ends[0])


def test_a_failing_step_keeps_the_state(beam):
    sim, same = (rf.BDF2(beam, 5e-3, newton_max=3, exact=4) for _ in range(2))
    load = tip(beam, 1.0)
    sim.step(load, 4)
    before = sim.state
    for _ in range(2):
        with pytest.raises(rf.DivergedError):
            sim.step(1e200 * load)
    np.testing.assert_array_equal(sim.state.q, before.q)
    same.step(load, 4)
    for one in (sim, same):
        one.step(-load, 4)
    np.testing.assert_array_equal(sim.state.q, same.state.q)
    assert np.isfinite(sim.state.q).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: rf.BDF2(m, 1e-3, exact=-1), r"exact must be between 0 and .*, got -1"),
        (lambda m: rf.BDF2(m, 1e-3, exact=8), r"exact must be at most 7, .* got 8"),
        (lambda m: rf.BDF2(m, 1e-3, exact=2, modes="fallow"), r"modes .* 'fallow'; did you mean"),
        (lambda m: rf.integrator("SBDF2", m, 1e-3, exact=3), r"exact is 3, but SBDF2 has no"),
        (lambda m: rf.integrator("SIERE", m, 1e-3, exact=0), r"exact must be between 1"),
        (lambda m: rf.amplification("SIERE", 1.0), r"name is 'SIERE': exact modes have no"),
    ],
)
def test_wrong_arguments(beam, make, message):
    model = rf.reduce(beam, rf.modal_derivative_basis(beam, 4, 8))
    with pytest.raises(rf.InputError, match=message):
        make(model)


def test_dampers_free_solids_and_absurd_numbers_are_refused(beam):
    system = rf.SecondOrderSystem(np.eye(3), np.diag([1.0, 2, 3]), damping_matrix=np.eye(3))
    with pytest.raises(rf.InputError, match="exact is 2, but system has a damping_matrix"):
        rf.BDF2(system, 0.1, exact=2)
    settings = {**COMMON, "exact": 2, "modes": 0}
    with pytest.raises(rf.InputError, match="take Rayleigh damping only"):
        _core.Motion("bdf2", system._core, (0.0, 0.0), settings, 1)
    with pytest.raises(rf.InputError, match=f"exact must be at most .* got {2**30}"):
        rf.BDF2(beam, 1e-3, exact=2**30)
    free = rf.Solid(beam.mesh, rf.StVK(1e5, 0.3, 1000.0))
    with pytest.raises(rf.InputError, match="modes is 'rest', but the system is a free solid"):
        rf.BDF2(free, 1e-3, exact=8, modes="rest")


def test_modes_of_rest_warn_of_large_motion(beam):
    """Once a reset, and not where the motion is small."""
    force = np.zeros_like(beam.mesh.nodes)
    force[-1, 2] = 1.0
    bent = beam.solve_static(force)
    size = np.linalg.norm(np.ptp(beam.mesh.bounds, axis=0))
    bent *= 0.01 * size / np.linalg.norm(bent, axis=1).max()
    for modes in ("rest", "follow"):
        sim = rf.BackwardEuler(beam, 1e-3, newton_max=10, exact=3, modes=modes)
        sim.reset(bent)
        sim.step()
        sim.reset(4.0 * bent)
        if modes == "rest":
            with pytest.warns(rf.PlausibilityWarning, match="% of its size, where modes of rest"):
                sim.step()
        sim.step()
        sim.clone().step()


def test_exact_modes_of_a_free_solid_that_turns_warn(beam):
    free = rf.Solid(beam.mesh, rf.StVK(1e5, 0.3, 1000.0))
    x = free.mesh.nodes - free.mesh.nodes.mean(0)
    for sim in (
        rf.BDF2(free, 1e-3, newton_max=10, exact=8),
        rf.BDF2(free, 1e-3, newton_max=10, exact=8, modes="exact"),
        rf.ExponentialEuler(free, 1e-3),
    ):
        for turn in (330.0, 250.0):
            sim.reset(None, np.cross([0.0, 0.0, 2e3 * np.pi / turn], x))
            if turn == 250.0:
                with pytest.warns(
                    rf.PlausibilityWarning, match=r"turns once in 2[5-9]\d steps, and its modes"
                ):
                    sim.step()
            sim.step()


def test_wrong_types(beam):
    with pytest.raises(rf.InputTypeError, match="modes must be a str, got int"):
        rf.BDF2(beam, 1e-3, exact=2, modes=1)
    damping = rf.StrainRateDamping(beam, 1.0, 1.0)
    with pytest.raises(rf.InputError, match="exact is 2, but there is strain-rate damping"):
        rf.BDF2(beam, 1e-3, strain_rate=damping, exact=2)
    model = rf.reduce(beam, rf.modal_derivative_basis(beam, 4, 8), strain_rate=damping)
    with pytest.raises(rf.InputError, match="exact is 2, but system has strain-rate damping"):
        rf.BDF2(model, 1e-3, exact=2)


def test_names_have_exact_modes(beam):
    for name, kind, once in [
        ("BEERE", rf.BackwardEuler, False), ("siere", rf.BackwardEuler, True),
        ("BDF2-ERE", rf.BDF2, False), ("SBDF2ERE", rf.BDF2, True),
        ("TR-BDF2-ERE", rf.TRBDF2, False), ("STR-SBDF2ERE", rf.TRBDF2, True),
    ]:  # fmt: skip
        sim = rf.integrator(name, beam, 1e-3, exact=3)
        assert type(sim) is kind
        assert (sim._settings["newton_max"] == 1) == once
        assert sim._settings["exact"] == 3


def test_contact_refuses_exact_modes():
    model = bar()
    sim = rf.BDF2(model, 1e-3, exact=2)
    tree = top_of(model)
    contact = rf.PenaltyContact(tree, rf.SphereField((0.0, 0.0, 0.0), 0.02))
    with pytest.raises(rf.InputTypeError, match="got one with exact modes"):
        sim.step(n=1, contact=contact, position=(0.19, 0.015, 0.047), quaternion=UPRIGHT)


@pytest.mark.parametrize("modes", ["exact", "follow"])
def test_buckling_modes_do_not_run_away(modes):
    """A bar that is pushed to buckle, in steps in which its tangent would grow by e^7 and more."""
    nodes, elements = box_hexes(6, 2, 2, (0.3, 0.05, 0.05))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.4, 1000.0), nodes[:, 0] == 0.0)
    push = np.zeros_like(nodes)
    push[nodes[:, 0] > 0.299] = (-3.0, 0.0, 0.5)
    sim = rf.BackwardEuler(solid, 0.05, newton_max=30, exact=8, modes=modes)
    farthest = 0.0
    with warnings.catch_warnings():  # of long steps and inverted elements
        warnings.simplefilter("ignore", rf.PlausibilityWarning)
        for _ in range(20):
            sim.step(push)
            farthest = max(farthest, np.linalg.norm(sim.state.q, axis=1).max())
    assert farthest < 3.0  # without the bound: 6 to 20 m
