"""Strain-rate damping: strains by NumPy, finite differences, rigid motions, energy balances."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.linalg

import reducedfem as rf
from integrated import full_basis, small_model, small_solid, some_state, states_equal
from plain_polynomial import deviation
from reducedfem import _core
from shapes import solid_box

PHI, PSI = {0: 30.0, 1: -5.0}, {0: 12.0, 1: 20.0}


def viscous(kind: str = "hexes", cells: int = 2) -> tuple[rf.Solid, rf.StrainRateDamping]:
    """Damping with other constants in each of two regions, one phi negative."""
    solid = small_solid(kind, cells)
    regions = solid.materials
    return solid, rf.StrainRateDamping(
        solid, {k: PHI[k] for k in regions}, {k: PSI[k] for k in regions}
    )


def fields(solid: rf.Solid, seed: int = 0, size: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (solid.mesh.n_nodes, 3)
    return rng.uniform(-size, size, shape), rng.uniform(-1.0, 1.0, shape)


def tet_strains(mesh: rf.Mesh, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Green's strain of each tetrahedron, from its edges, and volumes."""
    x = mesh.nodes[mesh.elements]
    rest = np.stack([x[:, i] - x[:, 0] for i in (1, 2, 3)], axis=2)
    y = x + u[mesh.elements]
    now = np.stack([y[:, i] - y[:, 0] for i in (1, 2, 3)], axis=2)
    f = now @ np.linalg.inv(rest)
    return 0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(3)), np.linalg.det(rest) / 6.0


# --- the solid -----------------------------------------------------------------------


def test_power_is_that_of_the_rate_of_strain():
    """int phi (tr E')^2 + 2 psi E':E' with E(u(t)) differentiated by finite differences."""
    solid, damping = viscous("tets", 3)
    u, v = fields(solid)
    # E is quadratic in t: a central difference is exact, rounding 1e-16 / 1e-4
    h = 1e-4
    (plus, volume), (minus, _) = (tet_strains(solid.mesh, u + s * h * v) for s in (1, -1))
    rate = (plus - minus) / (2 * h)
    phi = np.array([PHI[k] for k in solid.mesh.regions])
    psi = np.array([PSI[k] for k in solid.mesh.regions])
    trace = np.trace(rate, axis1=1, axis2=2)
    expected = (volume * (phi * trace**2 + 2 * psi * (rate**2).sum(axis=(1, 2)))).sum()
    assert damping.power(u, v) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["hexes", "tets", "tet10s", "hex20s"])
@pytest.mark.parametrize("quadrature", [2, 3])
def test_force_matrix_and_power_agree(kind, quadrature):
    base = small_solid(kind, 3)
    quadrature += kind == "hex20s"
    solid = rf.Solid(base.mesh, base.materials, base.fixed, quadrature)
    regions = list(solid.materials)
    damping = rf.StrainRateDamping(
        solid, {k: PHI[k] for k in regions}, {k: PSI[k] for k in regions}
    )
    for seed in range(3):
        u, v = fields(solid, seed)
        matrix = damping.matrix(u).to_scipy().toarray()
        force = damping.force(u, v)
        # rounding of sums of other order
        assert deviation(matrix @ v.ravel(), force.ravel()) < 1e-13
        assert damping.power(u, v) == pytest.approx((v * force).sum(), rel=1e-12)
        np.testing.assert_array_equal(matrix, matrix.T)
        values = np.linalg.eigvalsh(matrix)
        assert values[0] > -1e-13 * values[-1], "adds energy"
        # the derivative of the power by the velocity is twice the force: exact differences
        _, w = fields(solid, seed + 10)
        slope = (damping.power(u, v + w) - damping.power(u, v - w)) / 2.0
        assert slope == pytest.approx(2.0 * (force * w).sum(), rel=1e-9)
    rest = damping.matrix().to_scipy().toarray()
    np.testing.assert_array_equal(rest, damping.matrix(np.zeros_like(u)).to_scipy().toarray())


@pytest.mark.parametrize("kind", ["hexes", "tets", "tet10s", "hex20s"])
def test_at_rest_it_is_rayleigh_damping(kind):
    """phi = beta lambda, psi = beta mu: D(0) = beta K(0)."""
    solid = small_solid(kind, 3)
    beta = 0.01
    lame = {k: m.lame for k, m in solid.materials.items()}
    damping = rf.StrainRateDamping(
        solid, {k: beta * x[0] for k, x in lame.items()}, {k: beta * x[1] for k, x in lame.items()}
    )
    expected = beta * solid.stiffness().to_scipy().toarray()
    assert deviation(damping.matrix().to_scipy().toarray(), expected) < 1e-13


@pytest.mark.parametrize("kind", ["hexes", "tets", "tet10s", "hex20s"])
def test_proportional_damping(kind):
    """beta K at rest, so that a mode has the damping ratio pi f beta, as with Rayleigh's."""
    solid = small_solid(kind, 3)
    beta = 0.003
    damping = rf.StrainRateDamping.proportional(solid, beta)
    expected = beta * solid.stiffness().to_scipy().toarray()
    assert deviation(damping.matrix().to_scipy().toarray(), expected) < 1e-13
    for region, material in solid.materials.items():
        assert damping.phi[region] == beta * material.lame[0]
        assert damping.psi[region] == beta * material.lame[1]
    modes = solid.linear_modes(2)
    model = rf.reduce(solid, modes.shapes, strain_rate=damping)
    ratio = np.pi * modes.frequencies * beta
    rates = np.diag(model.strain_rate.matrix(np.zeros(2)))
    assert rates == pytest.approx(2.0 * ratio * 2.0 * np.pi * modes.frequencies, rel=1e-9)
    # the motion itself: small, so that the energy is quadratic
    start, dt = [1e-7, -3e-7], 1e-4
    one = rf.ImplicitNewmark(model, dt)
    other = rf.ImplicitNewmark(model.with_strain_rate(None), dt, (0.0, beta))
    for sim in (one, other):
        sim.reset(q=start)
        sim.step(n=300)
    # the rest is nonlinear
    assert deviation(one.state.q, other.state.q) < 1e-4
    decay = np.exp(-ratio * 2.0 * np.pi * modes.frequencies * 300 * dt)
    assert (np.abs(one.state.q) <= 1.01 * decay * np.abs(start)).all()


def test_proportional_damping_of_other_materials():
    solid = small_solid()
    general = rf.Solid(
        solid.mesh,
        {0: solid.materials[0], 1: rf.LinearElastic(solid.materials[1].stiffness, 1200.0)},
        solid.fixed,
    )
    with pytest.raises(
        rf.InputTypeError,
        match="the material of region 1 is a LinearElastic, which has no Lame constants",
    ):
        rf.StrainRateDamping.proportional(general, 1e-3)
    rf.StrainRateDamping(general, 1.0, 1.0)
    for beta, error in ((-1e-9, rf.InputError), (np.nan, rf.InputError), ("x", rf.InputTypeError)):
        with pytest.raises(error, match="beta must be"):
            rf.StrainRateDamping.proportional(solid, beta)
    with pytest.raises(rf.InputTypeError, match="solid must be"):
        rf.StrainRateDamping.proportional(3.0, 1e-3)
    # as soft in volume as a material can be: lambda is negative
    auxetic = rf.Solid(solid.mesh, rf.StVK(1e5, -0.9, 1000.0), solid.fixed)
    assert rf.StrainRateDamping.proportional(auxetic, 1e-3).phi[0] < 0.0


@pytest.mark.parametrize("kind", ["hexes", "tets", "tet10s", "hex20s"])
def test_rigid_motions_dissipate_nothing(kind):
    """Solids at rest, and deformed and turned by any angle."""
    solid, damping = viscous(kind, 3)
    x = solid.mesh.nodes
    turn = scipy.linalg.expm(np.array([[0.0, -1.0, 0.3], [1.0, 0.0, -0.7], [-0.3, 0.7, 0.0]]))
    omega, velocity = np.array([3.0, -1.0, 2.0]), np.array([1.0, 2.0, -5.0])
    deformed, v = fields(solid)
    largest = damping.power(deformed, np.cross(omega, x) * 1.0 + v)
    for u in (np.zeros_like(x), (x + deformed) @ turn.T - x):
        motion = velocity + np.cross(omega, x + u)
        # rounding of velocities of 5 m/s over elements of 0.05 m
        assert damping.power(u, motion) < 1e-24 * largest * 1e3
        assert np.abs(damping.force(u, motion)).max() < 1e-11 * np.abs(damping.force(u, v)).max()
    # objective: turning both changes nothing
    u = (x + deformed) @ turn.T - x
    assert damping.power(u, v @ turn.T) == pytest.approx(damping.power(deformed, v), rel=1e-11)


def test_the_same_bits_on_any_number_of_threads(set_threads):
    solid = solid_box((24, 10, 10), (0.24, 0.1, 0.1))
    damping = rf.StrainRateDamping(solid, 3.0, 2.0)
    u, v = fields(solid, size=1e-3)
    results = []
    for count in (1, 2, 5):
        set_threads(count)
        results.append((damping.force(u, v), damping.matrix(u).data, damping.power(u, v)))
    for one in results[1:]:
        for a, b in zip(one, results[0], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("simd", [1, 2, 3])
@pytest.mark.parametrize("kind", ["hexes", "tets", "tet10s", "hex20s"])
def test_kernels_agree(kind, simd):
    if not _core.simd_available(simd):
        pytest.skip("this processor has no such vectors")
    solid, damping = viscous(kind, 3)
    u, v = fields(solid)
    mesh = solid.mesh
    table = [("StVK", m.lame, m.density) for m in solid.materials.values()]
    regions = np.searchsorted(list(solid.materials), mesh.regions)
    core = _core.Solid(mesh._core, table, regions, solid.fixed, solid.quadrature, simd)
    power, force = _core.solid_damping(core, damping._viscosity, u, v, 1)
    assert deviation(force, damping.force(u, v)) < 1e-13
    assert power == pytest.approx(damping.power(u, v), rel=1e-12)


# --- reduced -------------------------------------------------------------------------


@pytest.mark.parametrize("simd", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "r"), [("hexes", 1), ("hexes", 4), ("tets", 9), ("tet10s", 5), ("hexes", 24)]
)
def test_reduced_is_the_projection(kind, r, simd):
    """U^T D(U q) U for any q, of any size."""
    if not _core.simd_available(simd):
        pytest.skip("this processor has no such vectors")
    solid, damping = viscous(kind, 3)
    basis = np.random.default_rng(r).standard_normal((r, solid.mesh.n_nodes, 3))
    basis[:, solid.fixed] = 0.0
    reduced = damping.reduce(basis)
    core = _core.Damping(r, reduced.coefficients, simd)
    flat = basis.reshape(r, -1)
    for size in (0.0, 0.01, 1.0):
        q = size * np.random.default_rng(1).standard_normal(r)
        u = (q @ flat).reshape(-1, 3)
        expected = flat @ (damping.matrix(u).to_scipy() @ flat.T)
        # cancellation between the powers of q
        assert deviation(core.matrix(q), expected) < 1e-11
        np.testing.assert_array_equal(core.matrix(q), core.matrix(q).T)
        values = np.linalg.eigvalsh(reduced.matrix(q))
        assert values[0] > -1e-11 * values[-1]
        qdot = np.random.default_rng(2).standard_normal(r)
        force = flat @ damping.force(u, (qdot @ flat).reshape(-1, 3)).ravel()
        assert deviation(reduced.matrix(q) @ qdot, force) < 1e-11


def test_bases_of_every_kind():
    solid, damping = viscous()
    basis = rf.modal_derivative_basis(solid, 3, 6)
    model = rf.reduce(solid, basis)
    q = np.linspace(-0.01, 0.01, 6)
    results = [damping.reduce(x).matrix(q) for x in (model, basis, basis.vectors)]
    for one in results[1:]:
        np.testing.assert_array_equal(one, results[0])


@pytest.mark.parametrize(("phi", "psi"), [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0), (-2.0, 3.0)])
def test_semidefinite_viscosities(phi, psi):
    """Nothing at all, volume only, shear only, and shape changes only (3 phi + 2 psi = 0)."""
    solid = small_solid()
    damping = rf.StrainRateDamping(solid, phi, psi)
    basis = some_basis(solid, 5)
    reduced = damping.reduce(basis)
    q = np.linspace(-0.05, 0.05, 5)
    flat = basis.reshape(5, -1)
    matrix = damping.matrix((q @ flat).reshape(-1, 3)).to_scipy()
    expected = flat @ (matrix @ flat.T)
    if phi == psi == 0.0:
        assert not expected.any()
        assert not reduced.matrix(q).any()
    else:
        assert deviation(reduced.matrix(q), expected) < 1e-11


def some_basis(solid: rf.Solid, r: int) -> np.ndarray:
    basis = np.random.default_rng(r).standard_normal((r, solid.mesh.n_nodes, 3))
    basis[:, solid.fixed] = 0.0
    return basis


def test_reduced_copies():
    _, damping = viscous()
    reduced = damping.reduce(small_model(6))
    q = np.linspace(-1, 1, 6)
    for other in (pickle.loads(pickle.dumps(reduced)), copy.deepcopy(reduced)):
        assert other.r == 6
        np.testing.assert_array_equal(other.matrix(q), reduced.matrix(q))
    assert not reduced.coefficients.flags.writeable
    assert repr(reduced) == "<ReducedStrainRateDamping: r = 6>"


# --- in time -------------------------------------------------------------------------


def pairs(r: int = 0) -> list[tuple[object, object]]:
    """A solid with damping, and the models of all its free displacements with the same."""
    solid, damping = viscous()
    model = rf.reduce(solid, full_basis(solid))
    projected = rf.ProjectedSolid(solid, full_basis(solid))
    return [(solid, damping), (model, damping.reduce(model)), (projected, damping)]


def energy(system, state: rf.State) -> float:
    v = state.qdot.ravel()
    mass = system.mass().to_scipy() if isinstance(system, rf.Solid) else system.mass
    return 0.5 * v @ (mass @ v) + system.strain_energy(state.q)


@pytest.mark.parametrize("place", [0, 1, 2], ids=["solid", "reduced", "projected"])
@pytest.mark.parametrize("newton", [1, 8])
def test_newmark_steps_are_those_of_the_plain_scheme(place, newton):
    solid, damping = viscous()
    system, strain_rate = pairs()[place]
    n = solid.mesh.n_nodes
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    at = np.ix_(free, free)
    mass = solid.mass().to_scipy().toarray()[at]
    dt, (alpha, beta) = 0.01, (0.3, 0.001)

    def matrices(q):
        u = np.zeros(3 * n)
        u[free] = q
        k = solid.stiffness(u).to_scipy().toarray()[at]
        d = damping.matrix(u).to_scipy().toarray()[at]
        return solid.internal_force(u).ravel()[free], k, alpha * mass + beta * k + d

    rng = np.random.default_rng(4)
    q, v = np.zeros(len(free)), rng.standard_normal(len(free))
    force, _, c = matrices(q)
    a = np.linalg.solve(mass, -force - c @ v)
    sim = rf.ImplicitNewmark(
        system, dt, (alpha, beta), newton_max=newton, tol=0.0, strain_rate=strain_rate
    )
    start = np.zeros(3 * n)
    start[free] = v
    sim.reset(qdot=start.reshape(n, 3) if place == 0 else v)
    for _ in range(10):
        q0, v0, a0 = q, v, a
        for _ in range(newton):
            a = 4 / dt**2 * (q - q0) - 4 / dt * v0 - a0
            v = 2 / dt * (q - q0) - v0
            force, k, c = matrices(q)
            system_matrix = 4 / dt**2 * mass + 2 / dt * c + k
            q = q - np.linalg.solve(system_matrix, mass @ a + c @ v + force)
        a = 4 / dt**2 * (q - q0) - 4 / dt * v0 - a0
        v = 2 / dt * (q - q0) - v0
        sim.step()
        state = sim.state
        got = [x.ravel()[free] if place == 0 else x for x in (state.q, state.qdot, state.qddot)]
        # rounding, and solves by other factorizations
        assert deviation(got[0], q) < 1e-9
        assert deviation(got[1], v) < 1e-9
        assert deviation(got[2], a) < 1e-8
    assert np.abs(q).max() > 0.005


@pytest.mark.parametrize(
    ("place", "explicit"),
    [(0, False), (0, True), (1, False), (1, True), (2, False)],
    ids=["solid", "solid explicit", "reduced", "reduced explicit", "projected"],
)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_energy_lost_is_the_power_dissipated(place, explicit):
    """Large motions: kinetic and strain energy fall by the time integral of v.D(u) v."""
    solid, damping = viscous()
    system, strain_rate = pairs()[place]
    if explicit:
        sim = rf.CentralDifferences(system, 2e-5, strain_rate=strain_rate)
    else:
        sim = rf.ImplicitNewmark(system, 2e-5, newton_max=4, tol=1e-10, strain_rate=strain_rate)
    state = some_state(solid, 3, 0.4)
    sim.reset(qdot=state if place == 0 else state.ravel()[free_dofs(solid)])

    def mechanical(now: rf.State) -> float:
        if explicit and place == 0:
            lumped = (
                0.5 * now.qdot.ravel() @ (solid.mass(lumped=True).to_scipy() @ now.qdot.ravel())
            )
            return lumped + solid.strain_energy(now.q)
        return energy(system, now)

    def power() -> float:
        now = sim.state
        if place == 0:
            return damping.power(now.q, now.qdot)
        if place == 2:
            return damping.power(system.displacement(now.q), system.displacement(now.qdot))
        return now.qdot @ strain_rate.matrix(now.q) @ now.qdot

    first, powers = mechanical(sim.state), [power()]
    for _ in range(2500):
        sim.step()
        powers.append(power())
    lost = first - mechanical(sim.state)
    assert lost > 0.2 * first, "too little is lost to be a test"
    # trapezoidal sums of second order in the step; explicit damping is of first order
    dissipated = np.trapezoid(powers, dx=sim.dt)
    assert lost == pytest.approx(dissipated, rel=0.02 if explicit else 2e-3)


def free_dofs(solid: rf.Solid) -> np.ndarray:
    return (3 * solid.free[:, None] + np.arange(3)).ravel()


@pytest.mark.parametrize("explicit", [False, True])
def test_full_basis_gives_the_unreduced_motion(explicit):
    solid, damping = viscous()
    basis = full_basis(solid)
    whole = rf.reduce(solid, basis)
    if explicit:
        mass = solid.mass(lumped=True).to_scipy().toarray()
        core = _core.Reduced(
            whole.basis, mass[np.ix_(free_dofs(solid), free_dofs(solid))], whole.coefficients
        )
        whole = rf.ReducedSolid(core, solid.mesh, solid.fixed, {})
    force = np.zeros((solid.mesh.n_nodes, 3))
    force[solid.mesh.nodes[:, 0] > 0.19] = [0.0, 0.7, -2.0]
    sims = []
    for system, rate in ((solid, damping), (whole, damping.reduce(whole))):
        if explicit:
            sims.append(rf.CentralDifferences(system, 2e-4, (0.1, 1e-4), strain_rate=rate))
        else:
            sims.append(rf.ImplicitNewmark(system, 0.01, newton_max=8, tol=1e-12, strain_rate=rate))
    largest = 0.0
    for _ in range(40):
        for sim in sims:
            sim.step(force, n=10 if explicit else 1)
        # rounding, and iterations that end at 1e-12 of the forces
        assert deviation(sims[1].displacement, sims[0].displacement) < 1e-8
        largest = max(largest, np.abs(sims[0].displacement).max())
    assert largest > 0.005


@pytest.mark.parametrize("place", [0, 1], ids=["solid", "reduced"])
def test_stable_step(place):
    """The step is never above that of the dense matrices; steps just below it stay bounded."""
    solid, _ = viscous()
    damping = rf.StrainRateDamping(solid, 300.0, 200.0)
    system = solid if place == 0 else rf.reduce(solid, full_basis(solid))
    rate = damping if place == 0 else damping.reduce(system)
    at = np.ix_(free_dofs(solid), free_dofs(solid))
    k, d = (x.to_scipy().toarray()[at] for x in (solid.stiffness(), damping.matrix()))
    mass = solid.mass(lumped=place == 0).to_scipy().toarray()[at]
    beta = 1e-3
    top = scipy.linalg.eigvalsh(k, mass)[-1]
    c = beta * top + scipy.linalg.eigvalsh(d, mass)[-1]
    step = rf.stable_step(system, None, (0.5, beta), rate)
    exact = 4.0 / (c + np.sqrt(c * c + 4.0 * top))
    assert 0.7 * exact < step <= exact * (1 + 1e-9)
    assert step < 0.7 * rf.stable_step(system)
    sim = rf.CentralDifferences(system, 0.99 * step, (0.5, beta), strain_rate=rate)
    assert sim.report.stable_step == step
    state = 1e-4 * fields(solid)[0]
    state[solid.fixed] = 0.0
    sim.reset(state if place == 0 else state.ravel()[free_dofs(solid)])
    sim.step(n=5000)
    assert np.abs(sim.state.q).max() < 1e-5
    given = {"damping": (0.5, beta), "strain_rate": rate}
    with pytest.warns(rf.PlausibilityWarning, match="with strain_rate steps may be stable only"):
        rf.CentralDifferences(system, 1.3 * step, **given)
    beyond = 1.3 * rf.stable_step(system, None, (0.5, beta))
    with pytest.raises(rf.InputError, match="steps are stable up to"):
        rf.CentralDifferences(system, beyond, **given)


def test_a_simulation_keeps_its_damping():
    model = small_model(6)
    sims = [
        rf.ImplicitNewmark(model, 1e-3, strain_rate=viscous()[1].reduce(model)) for _ in range(2)
    ]
    for sim in sims:
        sim.step(np.ones(6), n=50)
    assert states_equal(sims[0].state, sims[1].state)


# --- arguments -----------------------------------------------------------------------


def test_properties():
    solid, damping = viscous()
    assert damping.solid is solid
    assert (damping.phi, damping.psi) == (PHI, PSI)
    assert rf.StrainRateDamping(solid, 2, 1).phi == {0: 2.0, 1: 2.0}
    assert "phi = {0: 30.0" in repr(damping)


def test_wrong_arguments():
    solid, damping = viscous()
    model = small_model(6)
    other = rf.Solid(solid.mesh, solid.materials, solid.fixed)
    reduced = damping.reduce(small_model(5))
    u = np.zeros((solid.mesh.n_nodes, 3))
    moved = np.ones((2, solid.mesh.n_nodes, 3))
    for call, error, message in (
        (lambda: rf.StrainRateDamping(model, 1.0, 1.0), rf.InputTypeError, "solid must be"),
        (lambda: rf.StrainRateDamping(solid, "x", 1.0), rf.InputTypeError, "phi must be a number"),
        (lambda: rf.StrainRateDamping(solid, 1.0, np.nan), rf.InputError, "psi must be finite"),
        (lambda: rf.StrainRateDamping(solid, 1.0, -1.0), rf.InputError, "would add energy"),
        (lambda: rf.StrainRateDamping(solid, -1.0, 1.0), rf.InputError, "of region 0 would add"),
        (
            lambda: rf.StrainRateDamping(solid, {0: 1.0}, 1.0),
            rf.InputError,
            "no entry for region 1",
        ),
        (
            lambda: rf.StrainRateDamping(solid, {0: 1, 1: 1, 7: 1}, 1.0),
            rf.InputError,
            "phi has an entry for region 7",
        ),
        (lambda: damping.force(u[1:], u), rf.InputError, "u must have shape"),
        (lambda: damping.power(u, u + np.inf), rf.InputError, "v.* is inf"),
        (lambda: damping.matrix(u[1:]), rf.InputError, "u must have shape"),
        (lambda: damping.force(*(1e200 * x for x in fields(solid))), rf.InputError, "so large"),
        (lambda: damping.reduce(moved), rf.InputError, "basis.*fixed"),
        (lambda: damping.reduce(np.zeros((129, *u.shape))), rf.InputError, "1 to 128 vectors"),
        (lambda: reduced.matrix(np.zeros(6)), rf.InputError, "q must have shape"),
        (
            lambda: rf.ImplicitNewmark(model, 0.1, strain_rate=damping),
            rf.InputTypeError,
            r"pass strain_rate.reduce\(system\)",
        ),
        (
            lambda: rf.ImplicitNewmark(model, 0.1, strain_rate=reduced),
            rf.InputError,
            "damping of 5 reduced coordinates, but the model has 6",
        ),
        (
            lambda: rf.CentralDifferences(model, 0.1, strain_rate=reduced),
            rf.InputError,
            "damping of 5 reduced coordinates",
        ),
        (
            lambda: rf.ImplicitNewmark(solid, 0.1, strain_rate=reduced),
            rf.InputTypeError,
            "strain_rate must be a StrainRateDamping, got ReducedStrainRateDamping",
        ),
        (
            lambda: rf.CentralDifferences(model, 0.1, strain_rate=3.0),
            rf.InputTypeError,
            "strain_rate must be a ReducedStrainRateDamping, got float",
        ),
        (
            lambda: rf.ImplicitNewmark(other, 0.1, strain_rate=damping),
            rf.InputError,
            "strain_rate belongs to another solid: make a StrainRateDamping of system",
        ),
    ):
        with pytest.raises(error, match=message):
            call()
