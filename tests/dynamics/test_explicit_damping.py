"""Damping inside of explicit steps, and steps of several lengths: a plain scheme, bounds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import reducedfem as rf
from integrated import (
    check_solid_steps,
    forces_and_start,
    linear_model,
    small_model,
    small_solid,
    states_equal,
    systems,
)
from plain_polynomial import deviation
from shapes import box


def free_dofs(solid):
    return (3 * solid.free[:, None] + np.arange(3)).ravel()


def matrices(system, damping, strain_rate):
    """Return mass and damping at rest of explicit steps, and the force, over the unknowns."""
    alpha, beta = damping
    if isinstance(system, rf.Solid):
        free, n = free_dofs(system), system.mesh.n_nodes
        at = np.ix_(free, free)
        lumped = system.mesh.source is None
        mass = system.mass(lumped=lumped).to_scipy().toarray()[at]
        damp = beta * system.stiffness().to_scipy().toarray()[at]
        if strain_rate is not None:
            damp += strain_rate.matrix().to_scipy().toarray()[at]

        def force(q):
            u = np.zeros(3 * n)
            u[free] = q
            return system.internal_force(u).ravel()[free]
    else:
        mass, force = system.mass, system.internal_force
        damp = beta * system.stiffness(np.zeros(system.r))
        if isinstance(system, rf.ReducedSolid) and system.strain_rate is not None:
            damp = damp + system.strain_rate.matrix(np.zeros(system.r))
    return mass, damp + alpha * mass, force


def plain_steps(mass, damp, force, lengths, speed, forces):
    """(M + h/2 D) a' = f - R(x') - D (v + h/2 a); states after each step."""
    q, v = np.zeros(len(speed)), speed
    a = np.linalg.solve(mass, -force(q) - damp @ v)
    states = []
    for h, f in zip(lengths, forces, strict=True):
        middle = v + h / 2 * a
        q = q + h * middle
        a = np.linalg.solve(mass + h / 2 * damp, f - force(q) - damp @ middle)
        v = middle + h / 2 * a
        states.append((q, v, a))
    return states


@pytest.mark.parametrize("viscous", [False, True])
@pytest.mark.parametrize("kind", ["hexes", "tets"])
def test_solid_steps_are_those_of_the_plain_scheme(kind, viscous):
    solid = small_solid(kind)
    damping, rate = (0.5, 5e-3), rf.StrainRateDamping(solid, 20.0, 30.0) if viscous else None
    mass, damp, force = matrices(solid, damping, rate)
    forces, speed = forces_and_start(len(mass), 1, 3.0, 0.5)
    dt = 0.3 * rf.stable_step(solid)
    sim = rf.CentralDifferences(solid, dt, damping, rate, implicit_damping=True)
    expected = plain_steps(mass, damp, force, np.full(25, dt), speed, forces)
    check_solid_steps(sim, solid, speed, forces, expected, 1e-10)  # rounding
    assert sim.report.iterations == 0


def test_steps_of_cut_cells_are_those_of_the_plain_scheme():
    """They have the consistent mass."""
    mesh = rf.voxelize(box([0, 0, 0], [0.2, 0.1, 0.1]), 3, expand=1.25, order=1)
    solid = rf.Solid(mesh, rf.StVK(5e4, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 0.07)
    damping = 0.5, 5e-3
    mass, damp, force = matrices(solid, damping, None)
    speed = 0.05 * np.random.default_rng(1).standard_normal(len(mass))
    sim = rf.CentralDifferences(solid, None, damping, implicit_damping=True)
    start = np.zeros(3 * mesh.n_nodes)
    start[free_dofs(solid)] = speed
    sim.reset(qdot=start)
    none = np.zeros((5, len(mass)))
    for q, v, a in plain_steps(mass, damp, force, np.full(5, sim.dt), speed, none):
        sim.step()
        # rounding, amplified by the condition of the mass matrix
        for got, expected in zip(
            (sim.state.q, sim.state.qdot, sim.state.qddot), (q, v, a), strict=True
        ):
            assert deviation(got.ravel()[free_dofs(solid)], expected) < 1e-9


@pytest.mark.parametrize("kind", ["reduced", "strain_rate", "projected"])
def test_steps_of_models_are_those_of_the_plain_scheme(kind):
    """Also where their length changes: the small matrix is then factored again."""
    model, solid = small_model(6), small_solid()
    rate = rf.StrainRateDamping(solid, 20.0, 30.0)
    if kind == "strain_rate":
        model = rf.reduce(solid, model.basis, strain_rate=rate)
    elif kind == "projected":
        model = rf.ProjectedSolid(solid, model.basis)
    damping = 0.5, 5e-3
    mass, damp, force = matrices(model, damping, None)
    if kind == "projected":
        flat = model.basis.reshape(6, -1)
        damp = damp + flat @ (rate.matrix().to_scipy() @ flat.T)
    forces, speed = forces_and_start(6, 1, 3.0, 0.5)
    lengths = 0.2 * rf.stable_step(model) * (1.0 + np.arange(25) // 5 % 2)
    sim = rf.CentralDifferences(
        model,
        lengths[0],
        damping,
        rate if kind == "projected" else None,
        implicit_damping=True,
    )
    sim.reset(qdot=speed)
    expected = plain_steps(mass, damp, force, lengths, speed, forces)
    for h, f, (q, v, a) in zip(lengths, forces, expected, strict=True):
        sim.step(f, dt=h)
        # rounding, amplified by the condition of the mass matrix of random vectors
        assert deviation(sim.state.q, q) < 1e-10
        assert deviation(sim.state.qdot, v) < 1e-9
        assert deviation(sim.state.qddot, a) < 1e-9
    assert sim.state.time == pytest.approx(lengths.sum(), rel=1e-14)


@pytest.mark.parametrize("damping", [(0.0, 3e-3), (5.0, 0.1), (0.0, 1.0)])
@pytest.mark.no_asan(reason="steps of reduced models run above")
def test_the_limit_is_that_without_damping(damping):
    """Motions stay bounded just below 2 / omega and grow just above, for 0.15 to 50 of critical.

    With damping half a step earlier, the limit is 2 (sqrt(1 + xi^2) - xi) / omega.
    """
    rng = np.random.default_rng(5)
    mix = np.eye(5) + 0.2 * rng.standard_normal((5, 5))
    stiffness, mass = (mix.T * np.geomspace(10.0, 1e4, 5)) @ mix, mix.T @ mix
    model = linear_model(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T))
    limit = rf.stable_step(model, None, damping, implicit_damping=True)
    assert limit == rf.stable_step(model) == pytest.approx(0.02, rel=1e-9)
    assert rf.stable_step(model, None, damping) < 0.9 * limit
    start = rng.standard_normal(5)
    largest = []
    for factor in (0.99, 1.01):
        sim = rf.CentralDifferences(
            model, factor * limit, damping, implicit_damping=True, unstable=factor > 1.0
        )
        sim.reset(q=start)
        size = []
        while len(size) < 100 and not (size and size[-1] > 1e4):
            sim.step(n=1000)
            size.append(np.abs(sim.state.q).max())
        largest.append(max(size))
    assert largest[0] < 100.0
    assert largest[1] > 1e4


def test_a_damped_step_is_of_second_order():
    solid = small_solid()
    model = rf.reduce(solid, solid.linear_modes(3).shapes)
    end, damping, qdot = 0.12, (0.0, 2e-3), np.array([2e-5, 1e-5, 1e-5])  # K is that of rest

    def run(sim, steps):
        sim.reset(qdot=qdot)
        sim.step(n=steps)
        return sim.state.q

    exact = run(rf.ImplicitNewmark(model, end / 20_000, damping, newton_max=4, tol=1e-12), 20_000)
    errors = [
        np.abs(
            run(rf.CentralDifferences(model, end / n, damping, implicit_damping=True), n) - exact
        ).max()
        for n in (200, 400)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


# --- steps of several lengths --------------------------------------------------------


def interpolated(mass, damp, a, b, h):
    """Return A(h) and the inverse between A(a)^-1 and A(b)^-1."""
    t = (b - h) / (b - a)
    ahead, behind = (np.linalg.inv(mass + x / 2 * damp) for x in (a, b))
    return mass + h / 2 * damp, t * ahead + (1 - t) * behind


@pytest.mark.no_asan(reason="no C but matrices at rest")
def test_condition_between_two_factors():
    """(a + b)^2 / (4 a b) = 9/8 for b = 2 a, reached for h = 1.5 a by the stiffest damping."""
    solid = small_solid("tets")
    largest = 0.0
    for beta in (1e-4, 1e-2, 1.0, 1e3):
        mass, damp, _ = matrices(solid, (0.0, beta), None)
        for h in (1.1, 1.5, 1.9):
            matrix, inverse = interpolated(mass, damp, 1e-3, 2e-3, h * 1e-3)
            # eigenvalues of the product, by those of a symmetric matrix like it
            half = np.linalg.cholesky(inverse)
            values = scipy.linalg.eigvalsh(half.T @ matrix @ half)
            assert values[0] > 1.0 - 1e-9
            assert values[-1] < 9.0 / 8.0 + 1e-9
            largest = max(largest, values[-1])
    assert largest > 9.0 / 8.0 - 1e-3


@pytest.mark.parametrize("beta", [1e-3, 10.0])
def test_solid_steps_of_any_length(beta):
    """Conjugate gradients take as many iterations as their bound says, and are exact."""
    solid = small_solid("tets")
    mass, damp, force = matrices(solid, (0.5, beta), None)
    usual = 0.09 * rf.stable_step(solid)
    ratios = np.array([1.0, 1.5, 2.0, 3.7, 1.02, 0.5, 0.3, 0.25, 7.5, 1.5, 1.0])
    forces, speed = forces_and_start(len(mass), 1, 3.0, 0.5, steps=len(ratios))
    sim = rf.CentralDifferences(solid, usual, (0.5, beta), implicit_damping=True)
    sim.reset(qdot=np.zeros((solid.mesh.n_nodes, 3)))
    start = np.zeros(3 * solid.mesh.n_nodes)
    free = free_dofs(solid)
    start[free] = speed
    sim.reset(qdot=start)
    expected = plain_steps(mass, damp, force, ratios * usual, speed, forces)
    # 2 ((sqrt(k) - 1) / (sqrt(k) + 1))^n = 1e-12 for the condition k = 9/8; one for the norms
    root = np.sqrt(9.0 / 8.0)
    most = 1 + np.ceil(np.log(0.5e-12) / np.log((root - 1.0) / (root + 1.0)))
    assert most == 10
    for ratio, f, (q, v, a) in zip(ratios, forces, expected, strict=True):
        load = np.zeros(3 * solid.mesh.n_nodes)
        load[free] = f
        before = sim.report.iterations
        sim.step(load, dt=ratio * usual)
        taken = sim.report.iterations - before
        assert (taken == 0) == (np.log2(ratio) % 1.0 == 0.0)
        assert taken <= most
        state = sim.state
        assert deviation(state.q.ravel()[free], q) < 1e-9
        assert deviation(state.qdot.ravel()[free], v) < 1e-9
        assert deviation(state.qddot.ravel()[free], a) < 1e-8
    assert sim.report.steps == len(ratios)
    assert sim.dt == usual
    sim.reset()
    assert sim.report.iterations == 0


@pytest.mark.parametrize("system", systems(), ids=["reduced", "solid"])
def test_a_length_is_that_of_one_call(system):
    """Also without damping; a copy continues with the same bits and the same time."""
    sim = rf.CentralDifferences(system, 0.2 * rf.stable_step(system), (0.5, 0.0))
    v = np.random.default_rng(0).standard_normal(sim.state.q.shape)
    if isinstance(system, rf.Solid):
        v[system.fixed] = 0.0
    sim.reset(qdot=0.01 * v)
    sim.step(n=3, dt=0.7 * sim.dt)
    sim.step(n=2)
    sim.step(dt=0.1 * sim.dt)
    copy = sim.clone()
    for one in (sim, copy):
        one.step(n=2)
        one.step(n=3, dt=1.3 * sim.dt)
    assert states_equal(sim.state, copy.state)
    assert copy.report.steps == sim.report.steps == 11
    assert sim.state.time == pytest.approx((2.1 + 2.0 + 0.1 + 2.0 + 3.9) * sim.dt, rel=1e-14)


@pytest.mark.no_asan(reason="steps run above")
def test_the_order_with_changing_lengths_is_two():
    model = small_model(3)
    qdot = np.array([0.2, -0.1, 0.3])
    end = 20 * rf.stable_step(model)

    def run(n):
        sim = rf.CentralDifferences(model, end / (1.5 * n))
        sim.reset(qdot=qdot)
        for _ in range(n // 2):
            sim.step(dt=end / (1.5 * n))
            sim.step(n=1, dt=2 * end / (1.5 * n) / 1.0)
        return sim.state.q

    exact, coarse, fine = run(12800), run(400), run(800)
    ratio = np.abs(coarse - exact).max() / np.abs(fine - exact).max()
    assert np.log2(ratio) == pytest.approx(2.0, abs=0.15)


@pytest.mark.no_asan(reason="steps run above")
@pytest.mark.parametrize("ratio", [0.97, 0.5, 0.1])
def test_two_lengths_in_turn_are_stable_up_to_the_limit(ratio):
    """(a + b)^2 (1 - a b / 4) <= 4 for all frequencies; from a = 1.42, ratio 0.97, on it is not."""
    omega = np.linspace(0.05, 1.0, 20)
    model = linear_model(np.diag(omega**2), np.eye(20))
    stable = rf.stable_step(model)
    sim = rf.CentralDifferences(model, 0.699 * stable)
    sim.reset(qdot=omega)
    for _ in range(2000):
        sim.step()
        sim.step(dt=ratio * sim.dt)
    # amplitudes of a step near the limit; a product that grows has 1e12 after so many
    assert np.abs(sim.state.q).max() < 30.0


@pytest.mark.no_asan(reason="steps run above")
@pytest.mark.parametrize("xi", [1.0, 5.0, 50.0])
def test_two_lengths_in_turn_with_damping_inside(xi):
    """The damping ratio of the highest mode.  Modes swing far, but none grows for good."""
    omega = np.linspace(0.05, 1.0, 20)
    model = linear_model(np.diag(omega**2), np.eye(20))
    dt = 0.699 * rf.stable_step(model)
    sim = rf.CentralDifferences(model, dt, (0.0, 2.0 * xi), implicit_damping=True)
    sim.reset(qdot=omega)
    sizes = []
    for _ in range(3):
        for _ in range(500):
            sim.step()
            sim.step(dt=0.5 * dt)
        sizes.append(np.abs(sim.state.qdot).max())
    assert sizes[0] > 5.0 * sizes[1] > 25.0 * sizes[2]


# --- refusals ------------------------------------------------------------------------


@pytest.mark.no_asan(reason="no steps")
def test_refused_lengths():
    model = small_model()
    stable = rf.stable_step(model)
    sim = rf.CentralDifferences(model)
    for dt, why in [
        (0.701 * stable, "dt is .* longer than 0.7 stable steps at rest.*make shorter steps"),
        (0.0, "dt must be positive, got 0"),
        (-1.0, "dt must be positive, got -1"),
        (np.nan, "dt must be finite"),
    ]:
        with pytest.raises(rf.InputError, match=why):
            sim.step(dt=dt)
    with pytest.raises(rf.InputTypeError, match="dt must be a number"):
        sim.step(dt="1")
    sim.step(dt=0.699 * stable)
    long = rf.CentralDifferences(model, 0.8 * stable)
    long.step(dt=0.8 * stable)
    with pytest.raises(rf.InputError, match="than that of the simulation.*leave dt out, or"):
        long.step(dt=0.1 * stable)
    unknown = rf.CentralDifferences(
        rf.SecondOrderSystem(np.eye(2), np.eye(2), damping_matrix=np.eye(2)), 0.1
    )
    unknown.step(dt=0.05)
    with pytest.raises(rf.InputError, match="as the stable step is not known"):
        unknown.step(dt=0.2)


@pytest.mark.no_asan(reason="no steps")
def test_refused_damping_inside():
    system = rf.SecondOrderSystem(np.eye(2), np.eye(2))
    with pytest.raises(rf.InputError, match="implicit_damping must be False for a SecondOrderSys"):
        rf.CentralDifferences(system, 0.1, implicit_damping=True)
    with pytest.raises(rf.InputError, match="implicit_damping must be False for a SecondOrderSys"):
        rf.stable_step(system, implicit_damping=True)
    with pytest.raises(rf.InputTypeError, match="implicit_damping must be"):
        rf.CentralDifferences(small_model(), implicit_damping=1)
