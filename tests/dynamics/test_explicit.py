"""Central differences, stable steps, spectra: closed forms, dense eigenvalues, a plain scheme."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

import reducedfem as rf
from integrated import (
    SIMD,
    check_solid_steps,
    forces_and_start,
    full_basis,
    linear_model,
    newmark_roots,
    polynomial_model,
    small_model,
    small_solid,
    some_state,
    states_equal,
    step_matrix,
    systems,
)
from plain_polynomial import deviation
from reducedfem import _core
from shapes import box_hexes


def dense(solid: rf.Solid, lumped: bool, u=None) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass over the free degrees of freedom."""
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    at = np.ix_(free, free)
    k, m = solid.stiffness(u).to_scipy().toarray(), solid.mass(lumped).to_scipy().toarray()
    return k[at], m[at]


def plain_central(mass, evaluate, dt, damping, start, forces):
    """Plain central differences with the damping of the documentation; states after each step."""
    alpha, beta = damping
    q, v = start
    force, stiffness = evaluate(q)
    a = np.linalg.solve(mass, -force - beta * stiffness @ v) - alpha * v
    states = []
    for f in forces:
        middle = v + dt / 2 * a
        q = q + dt * middle
        force, stiffness = evaluate(q)
        # M a = f - R - beta K w - alpha M (w + dt/2 a)
        right = f - force - beta * stiffness @ middle - alpha * mass @ middle
        a = np.linalg.solve((1 + alpha * dt / 2) * mass, right)
        v = middle + dt / 2 * a
        states.append((q, v, a))
    return states


# --- the scheme ----------------------------------------------------------------------


@pytest.mark.parametrize("simd", SIMD)
def test_eigenvalues_of_a_step(simd):
    """Those of Newmark's scheme with beta = 0, gamma = 1/2, up to the limit h w = 2."""
    if not _core.simd_available(simd):
        pytest.skip("this processor has no such vectors")
    omega_h = np.array([0.01, 0.1, 0.5, 1.0, 1.5, 1.9])
    r, dt = len(omega_h), 0.02
    mix = np.eye(r) + 0.2 * np.random.default_rng(1).standard_normal((r, r))
    stiffness, mass = (mix.T * (omega_h / dt) ** 2) @ mix, mix.T @ mix
    model = linear_model(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T), simd)
    sim = rf.CentralDifferences(model, dt)
    both = np.kron(np.eye(2), mix)
    a = both @ step_matrix(sim, r) @ np.linalg.inv(both)
    for i, expected in enumerate(newmark_roots(omega_h, 0.0, 0.5)):
        one = a[np.ix_([i, r + i], [i, r + i])]
        # rounding of the largest stiffness, 4e4 times the smallest
        assert np.trace(one) == pytest.approx(expected.sum().real, abs=1e-10)
        assert np.linalg.det(one) == pytest.approx(expected.prod().real, abs=1e-10)


@pytest.mark.parametrize("damping", [(0.0, 0.0), (3.0, 0.0), (0.5, 2e-3)])
@pytest.mark.parametrize("r", [1, 6, 13, 24])
def test_reduced_steps_are_those_of_the_plain_scheme(r, damping):
    model = small_model(r)
    forces, speed = forces_and_start(r, 1, 3.0, 0.5)
    dt = 0.2 * rf.stable_step(model, None, damping)
    expected = plain_central(
        model.mass,
        lambda q: (model.internal_force(q), model.stiffness(q)),
        dt,
        damping,
        (np.zeros(r), speed),
        forces,
    )
    sim = rf.CentralDifferences(model, dt, damping)
    sim.reset(qdot=speed)
    for force, (q, v, a) in zip(forces, expected, strict=True):
        sim.step(force)
        # rounding, amplified by the condition of the mass matrix of random vectors
        assert deviation(sim.state.q, q) < 1e-10
        assert deviation(sim.state.qdot, v) < 1e-10
        assert deviation(sim.state.qddot, a) < 1e-9
    assert sim.report.steps == len(forces)
    assert sim.state.time == pytest.approx(len(forces) * dt, rel=1e-14)


@pytest.mark.parametrize("damping", [(0.0, 0.0), (0.5, 2e-3)])
@pytest.mark.parametrize("kind", ["hexes", "tets"])
def test_unreduced_steps_are_those_of_the_plain_scheme(kind, damping):
    solid = small_solid(kind)
    n = solid.mesh.n_nodes
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    _, mass = dense(solid, lumped=True)

    def evaluate(q):
        u = np.zeros(3 * n)
        u[free] = q
        return solid.internal_force(u).ravel()[free], dense(solid, True, u)[0]

    forces, speed = forces_and_start(len(free), 1, 3.0, 0.5)
    dt = 0.3 * rf.stable_step(solid, None, damping)
    expected = plain_central(mass, evaluate, dt, damping, (0 * speed, speed), forces)
    sim = rf.CentralDifferences(solid, dt, damping)
    # rounding of sums of other order
    check_solid_steps(sim, solid, speed, forces, expected, 1e-11)
    assert np.array_equal(sim.displacement, sim.state.q)


@pytest.mark.parametrize(("damping", "order"), [((2.0, 0.0), 2), ((0.0, 2e-3), 1)])
def test_order_in_the_step(damping, order):
    """Against implicit Newmark with very small steps, at a large amplitude."""
    solid = small_solid()
    model = rf.reduce(solid, solid.linear_modes(3).shapes)
    qdot = np.array([0.8, 0.3, 0.2])
    end = 0.12

    def run(sim: rf.CentralDifferences | rf.ImplicitNewmark, steps: int) -> np.ndarray:
        sim.reset(qdot=qdot)
        sim.step(n=steps)
        return sim.state.q

    exact = run(rf.ImplicitNewmark(model, end / 40_000, damping, newton_max=4, tol=1e-12), 40_000)
    assert deviation(exact, run(rf.ImplicitNewmark(model, end / 100, damping), 100)) > 1e-5
    errors = [
        np.abs(run(rf.CentralDifferences(model, end / steps, damping), steps) - exact).max()
        for steps in (400, 800, 1600)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    # the next term of the expansion
    assert orders[-1] == pytest.approx(order, abs=0.1)


def test_full_basis_gives_the_unreduced_motion():
    """A basis of all free displacements, with the lumped mass put into the model."""
    solid = small_solid()
    basis = full_basis(solid)
    whole = rf.reduce(solid, basis)
    _, mass = dense(solid, lumped=True)
    model = rf.ReducedSolid(
        _core.Reduced(whole.basis, mass, whole.coefficients), solid.mesh, solid.fixed, {}
    )
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[solid.mesh.nodes[:, 0] > 0.19] = [0.0, 1.0, -3.0]
    damping = (0.3, 1e-4)
    one, other = (rf.CentralDifferences(x, 1e-3, damping) for x in (solid, model))
    for sim in (one, other):
        sim.step(force, n=200)
        sim.step(n=200)
    assert np.abs(one.displacement).max() > 0.01
    # rounding
    assert deviation(other.displacement, one.displacement) < 1e-9


def test_energy_of_a_large_motion_is_bounded():
    """Undamped and well within the stable step: the energy oscillates, it does not drift."""
    solid = small_solid()
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 8))
    sim = rf.CentralDifferences(model, 0.1 * rf.stable_step(model))
    qdot = np.zeros(8)
    qdot[:2] = 0.5
    sim.reset(qdot=qdot)
    energies = []
    for _ in range(2000):
        state = sim.state
        energies.append(0.5 * state.qdot @ model.mass @ state.qdot + model.strain_energy(state.q))
        sim.step(n=10)
    # the energy that the scheme keeps differs by O(h^2) from this one
    assert np.ptp(energies) < 0.02 * energies[0]
    assert abs(np.mean(energies[1000:]) - np.mean(energies[:1000])) < 1e-3 * energies[0]


# --- stability -----------------------------------------------------------------------


@pytest.mark.parametrize("damping", [(0.0, 0.0), (5.0, 0.0), (0.0, 0.003), (5.0, 0.1)])
def test_the_stable_step_is_the_limit(damping):
    """Linear motions stay bounded just below the stable step, and grow just above it."""
    rng = np.random.default_rng(5)
    mix = np.eye(5) + 0.2 * rng.standard_normal((5, 5))
    stiffness, mass = (mix.T * np.geomspace(10.0, 1e4, 5)) @ mix, mix.T @ mix
    model = linear_model(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T))
    limit = rf.stable_step(model, None, damping)
    xi = damping[1] * 100.0 / 2.0
    assert limit == pytest.approx(2.0 * (np.sqrt(1.0 + xi**2) - xi) / 100.0, rel=1e-9)
    start = rng.standard_normal(5)
    largest = []
    for factor in (0.999, 1.001):
        sim = rf.CentralDifferences(model, factor * limit, damping, unstable=factor > 1.0)
        sim.reset(q=start)
        size = []
        while len(size) < 40 and not (size and size[-1] > 1e4):
            sim.step(n=1000)
            size.append(np.abs(sim.state.q).max())
        largest.append(max(size))
    # an eigenvalue near -1: undamped it stays on the circle, at an amplitude of up to
    # 1 / sqrt(1 - 0.999^2); beyond, it is mostly some 1e-3 to
    # 4e-2 outside, in each of 40 000 steps
    assert largest[0] < 100.0
    assert largest[1] > 1e4


def test_a_whole_period_is_no_stable_step():
    """The bound of Barbic 2007, section 2.9.1, 2 pi / omega, is a factor pi too large."""
    model = linear_model(np.diag([4.0]))
    with pytest.raises(rf.InputError, match=r"dt is 3.14159 s, but steps .* to 1 s.*unstable=True"):
        rf.CentralDifferences(model, 2.0 * np.pi / 2.0)
    sim = rf.CentralDifferences(model, 2.0 * np.pi / 2.0, unstable=True)
    radius = np.abs(np.linalg.eigvals(step_matrix(sim, 1))).max()
    # x^2 + (W - 2) x + 1 with W = (2 pi)^2
    w = (2.0 * np.pi) ** 2 - 2.0
    assert radius == pytest.approx(w / 2.0 + np.sqrt(w * w / 4.0 - 1.0), rel=1e-9)
    assert 37.0 < radius < 38.0
    assert rf.stable_step(model) == pytest.approx(1.0, rel=1e-12)


def test_stable_step_of_a_deformed_model():
    model = small_model(6)
    for q in (None, np.full(6, 0.02), np.linspace(-0.05, 0.05, 6)):
        top = scipy.linalg.eigvalsh(model.stiffness(np.zeros(6) if q is None else q), model.mass)
        assert rf.stable_step(model, q) == pytest.approx(2.0 / np.sqrt(top[-1]), rel=1e-10)


@pytest.mark.parametrize("kind", ["hexes", "tets"])
@pytest.mark.parametrize("deformed", [False, True])
def test_stable_step_of_a_solid_is_safe(kind, deformed):
    solid = small_solid(kind, 4)
    u = None
    if deformed:
        u = np.random.default_rng(1).uniform(-0.01, 0.01, (solid.mesh.n_nodes, 3))
        u[solid.fixed] = 0.0
    k, m = dense(solid, True, u)
    exact = 2.0 / np.sqrt(scipy.linalg.eigvalsh(k, m)[-1])
    step = rf.stable_step(solid, u)
    assert step <= exact * (1 + 1e-12)
    assert step > 0.8 * exact, "safe, but far too small"


@pytest.mark.parametrize("kind", ["hexes", "tets"])
@pytest.mark.parametrize("inside", [False, True])
def test_steps_beyond_the_limit_of_a_solid_are_refused(kind, inside):
    """The limit is that of the eigenvalues, above the stable step: a safe bound."""
    solid = small_solid(kind, 4)
    for beta in (0.0, 2e-3):
        damping, given = (0.1, beta), {"implicit_damping": inside}
        omega = np.sqrt(scipy.linalg.eigvalsh(*dense(solid, True))[-1])
        xi = 0.0 if inside else beta * omega / 2.0
        limit = 2.0 * (np.sqrt(1.0 + xi**2) - xi) / omega
        assert rf.stable_step(solid, None, damping, **given) < 0.999 * limit
        rf.CentralDifferences(solid, 0.9999 * limit, damping, **given)
        beyond = 1.003 * limit
        with pytest.raises(rf.InputError, match=r"stable up to [0-9.e-]+ s at rest.*Leave dt out"):
            rf.CentralDifferences(solid, beyond, damping, **given)
        rf.CentralDifferences(solid, beyond, damping, unstable=True, **given)


def test_steps_beyond_the_limit_of_matrices_are_refused():
    system = rf.SecondOrderSystem(np.diag([1.0, 2.0]), np.diag([4.0, 50.0]))
    rf.CentralDifferences(system, 0.4)
    with pytest.raises(rf.InputError, match=r"dt is 0.401 s, but steps are stable up to 0.4 s"):
        rf.CentralDifferences(system, 0.401)
    # a damping matrix lowers the limit further
    damped = rf.SecondOrderSystem(
        np.diag([1.0, 2.0]), np.diag([4.0, 50.0]), damping_matrix=np.eye(2)
    )
    rf.CentralDifferences(damped, 0.3)
    with pytest.raises(rf.InputError, match="stable up to 0.4 s"):
        rf.CentralDifferences(damped, 0.401)


def test_the_refusal_names_the_damping_that_shortens_the_step():
    solid = small_solid("hexes", 4)
    dt = 0.9 * rf.stable_step(solid)
    with pytest.raises(rf.InputError, match=r"implicit_damping=True, stable up to"):
        rf.CentralDifferences(solid, dt, (0.0, 1.0))
    rf.CentralDifferences(solid, dt, (0.0, 1.0), implicit_damping=True)


def test_copies_pass_no_check_again():
    """Pickles of earlier versions may have a step that is refused now; settings remain."""
    system = rf.SecondOrderSystem(np.eye(1), 4.0 * np.eye(1))
    sim = rf.CentralDifferences(system, 0.5)
    restored, (kind, settings, state, warned) = sim.__reduce__()
    assert not pickle.loads(pickle.dumps(sim))._settings["unstable"]
    earlier = {name: value for name, value in settings.items() if name != "unstable"}
    assert restored(kind, earlier | {"dt": 1.5}, state, warned).dt == 1.5
    beyond = rf.CentralDifferences(system, 1.5, unstable=True)
    assert beyond.clone()._settings["unstable"]


def test_the_default_step_is_half_of_the_stable_one():
    for system in systems():
        sim = rf.CentralDifferences(system, damping=(0.0, 1e-3))
        assert sim.dt == 0.5 * rf.stable_step(system, None, (0.0, 1e-3))
        assert sim.report.stable_step == 2.0 * sim.dt
        sim.reset(some_state(system))
        sim.step(n=2000)
        assert np.isfinite(sim.state.q).all()


def test_soft_systems_have_no_limit():
    model = polynomial_model(1, {(0, 0, 0, 0): 1.0})
    assert rf.stable_step(model) == np.inf
    assert rf.stable_step(model, [1.0]) == pytest.approx(2.0 / np.sqrt(12.0))
    with pytest.raises(rf.InputError, match="dt must be given"):
        rf.CentralDifferences(model)
    rf.CentralDifferences(model, 0.1).step(n=3)


def step_singly(sim, force, n: int) -> None:
    for _ in range(n):
        sim.step(force)


@pytest.mark.parametrize("make", [rf.CentralDifferences, rf.ImplicitNewmark])
@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_blow_up_keeps_the_state_before(system, make):
    """For any scheme the state is that after the last whole step, and further steps can follow."""
    explicit = make is rf.CentralDifferences
    dt = 3.0 * rf.stable_step(system) if explicit else 0.01
    sim, alone = (make(system, dt, **{"unstable": True} if explicit else {}) for _ in range(2))
    force = None
    if make is rf.ImplicitNewmark:
        force = np.full_like(sim.state.q, 1e200)  # the first solution is beyond all forces
    else:
        for one in (sim, alone):
            one.reset(some_state(system))
    with pytest.raises(rf.DivergedError, match="the state before this step is kept"):
        step_singly(sim, force, 1000)
    steps = sim.report.steps
    assert steps < 1000
    step_singly(alone, force, steps)
    assert states_equal(sim.state, alone.state)
    assert np.isfinite(sim.state.q).all()
    with pytest.raises(rf.DivergedError):  # later, for only the last of many steps is bounded
        sim.step(force, n=1000)
    assert np.isfinite(sim.state.q).all()
    sim.reset(some_state(system))
    assert sim.report.steps == 0
    sim.step()


# --- spectra -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hexes", "tets"])
@pytest.mark.parametrize("lumped", [False, True])
def test_spectrum_of_a_solid(kind, lumped):
    solid = small_solid(kind, 3)
    k, m = dense(solid, lumped)
    got = rf.spectrum(solid, lumped=lumped)
    top = np.sqrt(scipy.linalg.eigvalsh(k, m)[-1]) / (2 * np.pi)
    assert got.highest == pytest.approx(top, rel=1e-11)
    rough = rf.spectrum(solid, lumped=lumped, tolerance=1e-2)
    assert rough.highest == pytest.approx(top, rel=1e-2)
    assert got.highest <= top * (1 + 1e-12)
    assert got.lowest == solid.linear_modes(1).frequencies[0]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4, 1e-5])
def test_close_frequencies_are_not_taken_for_the_highest(tolerance):
    """Many of this rod are within 0.1 %, where estimates stay for some iterations."""
    nodes, elements = box_hexes(80, 2, 2, (1.0, 0.02, 0.02))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1000.0), nodes[:, 0] == 0)
    exact = rf.spectrum(solid, tolerance=1e-11).highest
    assert rf.spectrum(solid, tolerance=tolerance).highest == pytest.approx(exact, rel=tolerance)


def test_spectrum_of_a_larger_solid():
    """The reference is SciPy's iteration."""
    nodes, elements = box_hexes(12, 4, 4, (0.3, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.35, 900.0), fixed=nodes[:, 0] == 0)
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    k, m = (x.to_scipy().tocsc()[free][:, free] for x in (solid.stiffness(), solid.mass()))
    top = scipy.sparse.linalg.eigsh(k, 1, m, which="LM", return_eigenvectors=False)[0]
    # eigenvalues are dense at the end of the spectrum
    assert rf.spectrum(solid).highest == pytest.approx(np.sqrt(top) / (2 * np.pi), rel=1e-8)
    for wrong in (0.0, 1e-13, 0.1):
        with pytest.raises(rf.InputError, match="tolerance must be 1e-12 to 0.01"):
            rf.spectrum(solid, tolerance=wrong)


def test_spectrum_of_a_reduced_model():
    model = small_model(6)
    q = np.linspace(-0.05, 0.05, 6)
    for at in (None, q):
        values = scipy.linalg.eigvalsh(
            model.stiffness(np.zeros(6) if at is None else at), model.mass
        )
        expected = np.sign(values) * np.sqrt(np.abs(values)) / (2 * np.pi)
        got = rf.spectrum(model, at)
        assert got.lowest == pytest.approx(expected[0], rel=1e-9)
        assert got.highest == pytest.approx(expected[-1], rel=1e-9)
    unstable = rf.spectrum(linear_model(np.diag([-4.0, 9.0])))
    assert unstable.lowest == pytest.approx(-1.0 / np.pi)
    assert unstable.highest == pytest.approx(1.5 / np.pi)


def test_spectra_are_ordered_as_in_table_2_1():
    """Linear modes within the reduced spectrum within the full one; the lowest agree."""
    nodes, elements = box_hexes(10, 3, 3, (0.5, 0.1, 0.1))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.4, 1000.0), fixed=nodes[:, 0] == 0)
    modes = solid.linear_modes(6)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 6, 20))
    linear = rf.spectrum(rf.reduce(solid, modes.shapes))
    reduced, full = rf.spectrum(model), rf.spectrum(solid)
    assert linear.highest == pytest.approx(modes.frequencies[-1], rel=1e-8)
    assert linear.lowest == pytest.approx(full.lowest, rel=1e-8)
    # Ritz values lie within the range of the whole problem
    assert full.lowest <= reduced.lowest * (1 + 1e-9)
    assert reduced.lowest == pytest.approx(full.lowest, rel=0.01)
    assert 2.0 * linear.highest < reduced.highest < 0.5 * full.highest
    assert rf.spectrum(solid, lumped=True).highest < full.highest
    assert rf.stable_step(model) == pytest.approx(1.0 / (np.pi * reduced.highest), rel=1e-9)


# --- running and arguments -----------------------------------------------------------


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_the_same_bits_every_time(system):
    results = []
    threads = rf.threads()
    try:
        for count in (1, 2, 5):
            rf.set_threads(count)
            sim = rf.CentralDifferences(system, damping=(0.1, 1e-4))
            sim.step(some_state(system, 5, 0.5), n=10)
            results.append((sim.state, rf.spectrum(system)))
    finally:
        rf.set_threads(threads)
    assert all(states_equal(results[0][0], x[0]) and x[1] == results[0][1] for x in results)


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_state_and_reset(system):
    sim = rf.CentralDifferences(system, 1e-3)
    q, v, a = (some_state(system, seed) for seed in range(3))
    sim.reset(q, v, a)
    for got, given in zip((sim.state.q, sim.state.qdot, sim.state.qddot), (q, v, a), strict=True):
        np.testing.assert_array_equal(got, given)
    sim.step(n=3)
    sim.reset()
    assert (sim.state.time, sim.report.steps) == (0.0, 0)
    assert not sim.state.q.any()
    assert sim.system is system
    assert "CentralDifferences: dt = 0.001" in repr(sim)
    if isinstance(system, rf.Solid):
        bad = np.zeros((system.mesh.n_nodes, 3))
        bad[system.fixed[0], 1] = 1.0
        with pytest.raises(rf.InputError, match=r"qdot\[\d+, 1\] is 1, but node \d+ is fixed"):
            sim.reset(qdot=bad)


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_wrong_arguments(system):
    for arguments, error, message in (
        ({"dt": 0.0}, rf.InputError, "dt must be finite and positive, got 0"),
        ({"dt": -1.0}, rf.InputError, "dt must be finite and positive"),
        ({"dt": "x"}, rf.InputTypeError, "dt must be a number, got str"),
        ({"damping": 3.0}, rf.InputTypeError, "damping must be two numbers"),
        ({"damping": (-1.0, 0.0)}, rf.InputError, "damping must be two finite numbers >= 0"),
        ({"damping": (0.0, -1.0)}, rf.InputError, "damping.* >= 0, got"),
    ):
        with pytest.raises(error, match=message):
            rf.CentralDifferences(system, **arguments)
    with pytest.raises(rf.InputError, match="q must have shape"):
        rf.stable_step(system, np.zeros(7))
    with pytest.raises(rf.InputError, match="so large that the stiffness"):
        rf.stable_step(system, 1e200 * some_state(system))
    with pytest.raises(rf.InputError, match=r"damping must be .* >= 0, got \(0, -1\)"):
        rf.stable_step(system, None, (0.0, -1.0))
    with pytest.raises(rf.InputTypeError, match="lumped must be True or False"):
        rf.spectrum(system, lumped=1)
    with pytest.raises(rf.InputError, match="beta = 0 is explicit: use CentralDifferences"):
        rf.ImplicitNewmark(system, 0.01, beta=0.0)


def test_wrong_systems():
    mesh = small_solid().mesh
    for call, wanted in (
        (rf.spectrum, "a ReducedSolid or a Solid, got Mesh"),
        (rf.stable_step, "a Solid or a SecondOrderSystem, got Mesh"),
        (rf.CentralDifferences, "a Solid or a SecondOrderSystem, got Mesh"),
    ):
        with pytest.raises(rf.InputTypeError, match=f"system must be .*{wanted}"):
            call(mesh)
    with pytest.raises(rf.InputError, match="at rest only"):
        rf.spectrum(small_solid(), np.zeros((small_solid().mesh.n_nodes, 3)))
    nodes, elements = box_hexes(1, 1, 1)
    held = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1e3), fixed=np.arange(8))
    with pytest.raises(rf.MeshError, match="all 8 nodes are fixed"):
        rf.CentralDifferences(held, 0.01)
