"""Warnings about motions that are wrong without an error."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import samples
from shapes import box_hexes, solid_box

EARTH = (0.0, 0.0, -9.81)


def beam(held=True):
    nodes, elements = box_hexes(12, 2, 2, (0.6, 0.1, 0.1))
    fixed = nodes[:, 0] < 1e-9 if held else None
    return rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1000.0), fixed)


@pytest.fixture(scope="module")
def reduced():
    solid = beam()
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 8))


@pytest.fixture(scope="module")
def free():
    solid = beam(held=False)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))


def makers(reduced, free):
    return [
        lambda **settings: rf.ImplicitNewmark(reduced, 1e-3, **settings),
        lambda **settings: rf.BackwardEuler(beam(), 1e-3, **settings),
        lambda **settings: rf.CentralDifferences(reduced, 1e-9, **settings),
        lambda **settings: rf.FreeBody(free, 1e-3, **settings),
    ]


@pytest.mark.parametrize("kind", range(4))
def test_exchanged_damping_and_gravity_in_millimetres_warn(reduced, free, kind):
    make = makers(reduced, free)[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(damping=(4.0, 1e-3), gravity=EARTH)
        make(damping=(100.0, 0.1))
    said = r"beta = 4 s damps all motion above 0\.08 Hz more than critically; damping is \(alpha"
    with pytest.warns(rf.PlausibilityWarning, match=said) as found:
        make(damping=(1e-3, 4.0))
    assert found[0].filename == __file__
    said = r"gravity is 9810 m/s\^2: if it was meant in mm/s\^2, multiply it by 0\.001"
    with pytest.warns(rf.PlausibilityWarning, match=said) as found:
        make(gravity=1e3 * np.array(EARTH))
    assert found[0].filename == __file__


def test_weights_and_worlds_of_gravity_in_millimetres_warn(reduced):
    solid, heavy = beam(), 1e3 * np.array(EARTH)
    models = (solid, reduced, rf.ProjectedSolid(solid, reduced.basis))
    said = r"gravity is 9810 m/s\^2: if it was meant in mm/s\^2, multiply it by 0\.001"
    for call in (*(one.gravity for one in models), lambda a: rf.World(1e-3, a)):
        call(EARTH)  # warnings are errors
        with pytest.warns(rf.PlausibilityWarning, match=said) as found:
            call(heavy)
        assert [one.filename for one in found] == [__file__]
    # once, though it asks for the weight
    for model in models:
        with pytest.warns(rf.PlausibilityWarning, match=said) as found:
            rf.BackwardEuler(model, 1e-3, gravity=heavy)
        assert [one.filename for one in found] == [__file__]


def test_small_meshes_in_arbitrary_units_do_not_warn():
    solid = solid_box((1, 1, 1), (1.0, 1.0, 1.0), rf.StVK(1.0, 0.3, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rf.ImplicitNewmark(solid, 1.0, damping=(0.0, 4.0), gravity=(0.0, 0.0, -9810.0))
        solid.gravity((0.0, 0.0, -9810.0))


@pytest.mark.parametrize("at_once", [True, False])
def test_steps_too_long_for_the_motion_warn_once(reduced, at_once):
    """Counted over calls: a loop over single steps warns as a call of many does."""
    force = np.zeros((reduced.mesh.n_nodes, 3))
    force[-1] = (0.0, 0.0, -5e3)

    def run(load, steps=300):
        sim = rf.ImplicitNewmark(reduced, 2e-2, newton_max=10)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            sim.step(load)
            for _ in range(1 if at_once else steps):
                sim.step(n=steps if at_once else 1)
        return sim.report, found

    report, found = run(force)
    assert 15 <= report.shortened_steps <= report.shortened
    assert len(found) == 1
    assert issubclass(found[0].category, rf.PlausibilityWarning)
    assert "dt = 0.02 s is too long for this motion" in str(found[0].message)
    assert "newton_max" not in str(found[0].message)
    assert found[0].filename == __file__
    report, found = run(1e-4 * force)
    assert (report.shortened, found) == (0, [])


def test_shortened_steps_that_converge_warn(reduced):
    """They gain energy, too."""
    force = np.zeros((reduced.mesh.n_nodes, 3))
    force[-1] = (0.0, 0.0, -1500.0)
    sim = rf.ImplicitNewmark(reduced, 5e-3, newton_max=10)
    energy = []
    with pytest.warns(rf.PlausibilityWarning, match=r"in \d+ of \d+ steps .* gain energy"):
        sim.step(force, 4)
        # longer motions depend on rounding
        for _ in range(200):
            state = sim.state
            energy.append(0.5 * state.qdot @ state.qdot + reduced.strain_energy(state.q))
            sim.step()
    assert max(energy) > 2.0 * energy[0]
    assert sim.report.unconverged < 10


def test_warnings_of_long_steps_count_since_the_reset(reduced):
    force = np.zeros((reduced.mesh.n_nodes, 3))
    force[-1] = (0.0, 0.0, -5e3)
    sim = rf.ImplicitNewmark(reduced, 2e-2)
    for _ in range(2):
        with pytest.warns(rf.PlausibilityWarning, match="newton_max=10") as found:
            sim.step(force, 5)
            sim.step(n=50)
            sim.step(n=50)
        assert len(found) == 1
        sim.reset()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sim.step(1e-4 * force, 100)
        assert sim.report.shortened_steps == 0
        sim.reset()


@pytest.mark.no_asan(reason="test_reduced_steps has indefinite tangents of reduced models")
def test_damping_by_an_indefinite_tangent_is_named():
    surface = samples.load("spoon")
    mesh = rf.voxelize(surface, resolution=40)
    solid = rf.Solid(mesh, rf.StVK(8e8, 0.4, 950), fixed=mesh.nodes[:, 0] < 0.01)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=5, r=12))
    tip = [surface.vertices[:, 0].argmax()]
    load = rf.Skin(model).project(tip, [[0.0, 0.0, 0.2]])

    def step(beta):
        sim = rf.BackwardEuler(model, 1e-3, damping=(4, beta), newton_max=10)
        sim.step(load, 300)
        return sim.report

    with pytest.warns(rf.PlausibilityWarning, match=r"damping\[1\] = 0.001 s .* gains energy"):
        assert step(1e-3).indefinite > 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(0.0).indefinite == 0


FAR = r"the model is deformed by [\d.]+ m, but the body is 0\.616 m large: .* so large a load meant"


def test_gravity_of_shocks_is_right_and_in_millimetres_warns(reduced, free):
    for strength, said in (
        (490.0, False),
        (900.0, False),
        (1620.0, True),
        (9810.0, True),
        (3e4, False),
    ):
        for make in (*makers(reduced, free), lambda gravity: beam().gravity(gravity)):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always", rf.PlausibilityWarning)
                make(gravity=(0.0, 0.0, -strength))
            assert ["meant in mm/s^2" in str(one.message) for one in found] == said * [True]


def test_clones_do_not_repeat_warnings(reduced, free):
    for make in makers(reduced, free):
        with pytest.warns(rf.PlausibilityWarning, match=r"mm/s\^2"):
            sim = make(gravity=(0.0, 0.0, -9810.0))
        for twin in (sim.clone(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
            twin.step()  # warnings are errors


def test_clones_know_of_far_displacements(reduced, free):
    for sim, model in (
        (rf.ImplicitNewmark(reduced, 1e-5), reduced),
        (rf.FreeBody(free, 1e-5), free),
    ):
        q = np.eye(model.r)[0]
        q *= 2.1 * 0.616 / np.linalg.norm(model.displacement(q), axis=1).max()
        sim.reset(q=q)
        untold = sim.clone()
        with pytest.warns(rf.PlausibilityWarning, match=FAR):
            sim.step()
        sim.clone().step()  # warnings are errors
        with pytest.warns(rf.PlausibilityWarning, match=FAR):
            untold.step()


def test_of_many_bodies_those_that_are_far_warn(free):
    bodies = [rf.FreeBody(free, 1e-5) for _ in range(3)]
    q = np.eye(free.r)[0]
    q *= 2.1 * 0.616 / np.linalg.norm(free.displacement(q), axis=1).max()
    for body in bodies[::2]:
        body.reset(q=q)
    with pytest.warns(rf.PlausibilityWarning, match=FAR) as found:
        rf.step_free_bodies(bodies)
    assert len(found) == 2


def at_tip(system, size):
    force = np.zeros((system.mesh.n_nodes, 3))
    force[system.mesh.nodes[:, 0] > 0.59, 2] = size / 9
    return force


def test_displacements_that_no_basis_describes_warn(reduced):
    projected = rf.ProjectedSolid(beam(), reduced.basis)
    for model in (reduced, projected):
        model.solve_static(at_tip(model, 300.0), adaptive=True)  # warnings are errors
        with pytest.warns(rf.PlausibilityWarning, match=FAR) as found:
            q = model.solve_static(at_tip(model, 2e5), adaptive=True)
        assert [one.filename for one in found] == [__file__]
        assert np.linalg.norm(model.displacement(q), axis=1).max() > 2 * 0.616
        sims = [
            rf.ImplicitNewmark(model, 1e-3, (50.0, 0.0), newton_max=10),
            rf.BackwardEuler(model, 1e-3, newton_max=10),
            rf.CentralDifferences(model),
        ]
        for sim in sims:
            for _ in range(2):
                sim.reset(0.01 * q)
                sim.step(n=3)
                with pytest.warns(rf.PlausibilityWarning, match=FAR) as found:
                    sim.reset(q)
                    sim.step(at_tip(model, 2e5))
                    sim.step(at_tip(model, 2e5))
                assert [one.filename for one in found] == [__file__]  # once a reset


def test_free_bodies_deformed_beyond_their_basis_warn(free):
    body = rf.FreeBody(free, 1e-5)
    u = free.displacement(np.eye(free.r)[0])
    q = np.eye(free.r)[0] * 2.1 * 0.616 / np.linalg.norm(u, axis=1).max()
    body.reset(q=0.9 * q)
    body.step()  # warnings are errors
    for bodies in ([body], [rf.FreeBody(free, 1e-5), body]):
        body.reset(q=q)
        with pytest.warns(rf.PlausibilityWarning, match=FAR) as found:
            rf.step_free_bodies(bodies)
            rf.step_free_bodies(bodies)
        assert [one.filename for one in found] == [__file__]


def test_steps_that_do_not_resolve_the_lowest_mode_warn(reduced, free):
    period = 1.0 / rf.spectrum(reduced).lowest
    omega = 2.0 * np.pi / period
    coarse, fine = period / 4.9, period / 5.1
    viscous = rf.StrainRateDamping(beam(), 1e6, 1e6).reduce(reduced)
    # warnings are errors
    rf.ImplicitNewmark(reduced, fine)
    rf.ImplicitNewmark(reduced, coarse, (2.01 * omega, 0.0))  # more than critical
    rf.ImplicitNewmark(reduced, coarse, (omega, 1.01 / omega))
    rf.ImplicitNewmark(reduced, coarse, strain_rate=viscous)
    rf.ImplicitNewmark(reduced, coarse, beta=0.3025, gamma=0.6)  # damps numerically, as this does
    rf.BackwardEuler(reduced, coarse)
    rf.FreeBody(free, 10.0 * coarse)  # moves as a whole
    faint = rf.StrainRateDamping(beam(), 1e-3, 1e-3).reduce(reduced)
    for settings in (
        {},
        {"damping": (1.99 * omega, 0.0)},
        {"damping": (omega, 0.99 / omega)},
        {"strain_rate": faint},
    ):
        with pytest.warns(rf.PlausibilityWarning, match=r"4\.9 steps per period") as found:
            rf.ImplicitNewmark(reduced, coarse, **settings)
        assert [one.filename for one in found] == [__file__]
    assert f"Take a dt below {period / 20:.2g} s" in str(found[0].message)


def test_five_steps_per_period_make_it_12_per_cent_longer(reduced):
    """The limit of the warning, and the dt that it advises, in small motions of the lowest mode."""
    period = 1.0 / rf.spectrum(reduced).lowest
    values, shapes = np.linalg.eigh(reduced.stiffness(np.zeros(reduced.r)))
    assert values[0] == pytest.approx((2.0 * np.pi / period) ** 2, rel=1e-6)
    for steps, longer in ((5.001, 0.12), (20.0, 0.008)):
        sim = rf.ImplicitNewmark(reduced, period / steps)
        sim.reset(1e-6 * shapes[:, 0])
        angle, last = 0.0, 0.0
        for _ in range(200):
            sim.step()
            place = shapes[:, 0] @ sim.state.q, shapes[:, 0] @ sim.state.qdot * period / 6.2832
            turned = np.arctan2(-place[1], place[0])
            angle, last = angle + (turned - last) % (2.0 * np.pi), turned
        assert 200 / steps * 2.0 * np.pi / angle - 1.0 == pytest.approx(longer, rel=0.1)


SWINGS = [
    (rf.BDF2, {}, True),
    (rf.BDF2, {"newton_max": 2}, False),
    (rf.ImplicitNewmark, {}, True),
    (rf.SDIRK2, {}, False),
    (rf.BackwardEuler, {}, False),  # takes all energy anyway
    (rf.BackwardEuler, {"exact": 4}, True),
]


@pytest.mark.parametrize(("kind", "settings", "warns"), SWINGS)
@pytest.mark.parametrize("system", ["solid", "reduced"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_large_motion_with_one_iteration_warns_once(reduced, system, kind, settings, warns):
    """The beam is released under gravity and falls by a fifth of its length."""
    simulated = reduced if system == "reduced" else beam()
    sim = kind(simulated, 2e-2, gravity=EARTH, **settings)
    for once in (sim, copy.copy(sim)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(60):
                once.step()
        assert once.report.examined == (0 if settings.get("newton_max") else 8)
        assert (once.report.missed > 0.02) is (warns or kind is rf.BackwardEuler)
        assert len(found) == warns
        if warns:
            assert re.match(
                r"one Newton iteration a step misses [\d.]+ % .* newton_max=2",
                str(found[0].message),
            )
            assert found[0].filename == __file__
    copy.copy(sim).step(n=60)  # it has warned
    small = kind(simulated, 2e-2, gravity=np.multiply(1e-3, EARTH), **settings)
    small.step(n=60)


def crushed(law, kind):
    """Return a simulation of a block whose top has been pushed through its bottom."""
    nodes, elements = box_hexes(5, 5, 5, 0.1)
    solid = rf.Solid(rf.Mesh(nodes, elements), law(3e4, 0.3, 1000.0), nodes[:, 2] == 0.0)
    u = np.zeros_like(nodes)
    u[:, 2] = -2.0 * nodes[:, 2]
    if kind:
        system = rf.reduce(solid, [u]) if kind is rf.ReducedSolid else kind(solid, [u])
        u = np.linalg.lstsq(system.displacement([1.0]).reshape(-1, 1), u.ravel(), rcond=None)[0]
    else:
        system = solid
    sim = rf.BackwardEuler(system, 1e-4, newton_max=20)
    sim.reset(u)
    return sim


@pytest.mark.parametrize("kind", [None, rf.ReducedSolid, rf.ProjectedSolid])
def test_elements_that_are_inside_out_warn_once(kind):
    sim = crushed(rf.StVK, kind)
    with pytest.warns(
        rf.PlausibilityWarning, match="125 of 125 elements are inside out.*Stable"
    ) as w:
        for _ in range(4):
            sim.step()
    assert len(w) == 1
    assert w[0].filename == __file__
    copy.copy(sim).step()  # it has warned
    sim.reset()
    sim.step()  # at rest
    if kind is None:
        crushed(rf.StableNeoHookean, kind).step()  # elements recover


def test_large_motion_of_a_fine_solid_warns():
    """The nodes of an element move by less than 2 % of the body against each other."""
    nodes, elements = box_hexes(48, 1, 1, (0.6, 0.03, 0.03))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e7, 0.3, 1000.0), nodes[:, 0] < 1e-9)
    sim = rf.BDF2(solid, 2e-2, gravity=EARTH)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sim.step(n=40)
    u = sim.displacement
    assert np.linalg.norm(u[elements] - u[elements][:, :1], axis=2).max() < 0.02 * 0.6
    assert np.linalg.norm(u, axis=1).max() > 0.02 * 0.6
    assert any("one Newton iteration a step" in str(one.message) for one in found)
