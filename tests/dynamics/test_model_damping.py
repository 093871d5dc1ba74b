"""Reduced models that have strain-rate damping: simulated, truncated, edited, saved."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from integrated import states_equal
from plain_polynomial import deviation
from reducedfem import _core
from shapes import box_hex20s, box_hexes, box_tet10s, box_tets

SOFT, HARD = rf.StVK(5e4, 0.3, 1000.0), rf.StVK(8e5, 0.4, 1200.0)
# one phi negative, as far as it goes in proportion
PHI, PSI = {2: 30.0, 10: -5.0}, {2: 12.0, 10: 20.0}
R = 7


def make_solid(make=box_hexes, materials=None, fixed=True):
    """Return a bar of two regions, whose numbers are ordered otherwise as texts."""
    nodes, elements = make(4, 1, 1, (0.4, 0.1, 0.1))
    regions = np.where(nodes[elements].mean(axis=1)[:, 0] < 0.2, 2, 10)
    held = nodes[:, 0] == 0 if fixed else None
    return rf.Solid(rf.Mesh(nodes, elements, regions), materials or {2: SOFT, 10: HARD}, held)


def basis_of(solid):
    return rf.modal_derivative_basis(solid, k=4, r=R).vectors


@pytest.fixture(
    scope="module",
    params=[box_hexes, box_tets, box_tet10s, box_hex20s],
    ids=["hex", "tet", "tet10", "hex20"],
)
def case(request):
    solid = make_solid(request.param)
    return solid, rf.StrainRateDamping(solid, PHI, PSI), basis_of(solid)


@pytest.fixture(scope="module")
def model(case):
    solid, damping, basis = case
    return rf.reduce(solid, basis, strain_rate=damping)


def test_a_model_with_damping_is_the_model_and_the_damping(case, model):
    solid, damping, basis = case
    plain = rf.reduce(solid, basis)
    assert plain.strain_rate is None
    np.testing.assert_array_equal(model.coefficients, plain.coefficients)
    rate = damping.reduce(plain)
    np.testing.assert_array_equal(model.strain_rate.coefficients, rate.coefficients)
    assert (dict(model.strain_rate.phi), dict(model.strain_rate.psi)) == (PHI, PSI)
    for other in (plain.with_strain_rate(rate), model.with_strain_rate(rate)):
        assert other.strain_rate is rate
        assert other.provenance == plain.provenance
    assert model.with_strain_rate(None).strain_rate is None
    with pytest.raises(TypeError):
        rate.phi[2] = 0.0


# --- simulations have the damping of their model -------------------------------------


def simulations(system, **options):
    return [
        rf.ImplicitNewmark(system, 1e-3, (0.1, 1e-5), **options),
        rf.CentralDifferences(system, None, (0.1, 1e-5), **options),
    ]


def test_simulations_are_damped_as_their_model_is(model):
    plain, rate = model.with_strain_rate(None), model.strain_rate
    stronger = plain.with_strain_rate(model.strain_rate.truncate(R))
    force = np.linspace(0.1, 0.02, R)
    own, asked, other, none = (
        simulations(model),
        simulations(plain, strain_rate=rate),
        simulations(stronger, strain_rate=rate),
        simulations(plain),
    )
    for one, same, again, undamped in zip(own, asked, other, none, strict=True):
        for sim in (one, same, again, undamped):
            sim.step(force, n=20)
        assert states_equal(one.state, same.state)
        assert states_equal(one.state, again.state)
        assert not np.array_equal(one.state.q, undamped.state.q)
    assert rf.stable_step(model) == rf.stable_step(plain, strain_rate=rate)
    assert rf.stable_step(model) < rf.stable_step(plain)


def test_a_given_damping_replaces_that_of_the_model(case, model):
    solid, damping, basis = case
    more = rf.StrainRateDamping(solid, 100.0, 200.0).reduce(basis)
    for one, other in zip(
        simulations(model, strain_rate=more),
        simulations(model.with_strain_rate(more)),
        strict=True,
    ):
        assert one.dt == other.dt
        for sim in (one, other):
            sim.step(np.full(R, 0.1), n=10)
        assert states_equal(one.state, other.state)


# --- fewer coordinates ---------------------------------------------------------------


@pytest.mark.parametrize("r", [1, 2, 5, R])
def test_a_truncated_damping_is_that_of_the_first_vectors(case, model, r):
    solid, damping, basis = case
    small, fresh = model.truncate(r), rf.reduce(solid, basis[:r], strain_rate=damping)
    found, expected = small.strain_rate.coefficients, fresh.strain_rate.coefficients
    assert found.shape == expected.shape
    # the same sums, perhaps in another order
    assert deviation(found, expected) < 1e-13
    assert (dict(small.strain_rate.phi), dict(small.strain_rate.psi)) == (PHI, PSI)
    q = np.zeros(R)
    q[:r] = np.linspace(-0.02, 0.03, r)
    assert deviation(small.strain_rate.matrix(q[:r]), model.strain_rate.matrix(q)[:r, :r]) < 1e-13
    # and so it is what the unreduced damping becomes in these coordinates
    flat = basis[:r].reshape(r, -1)
    whole = damping.matrix((q[:r] @ flat).reshape(-1, 3)).to_scipy()
    assert deviation(small.strain_rate.matrix(q[:r]), flat @ (whole @ flat.T)) < 1e-11
    sim = rf.ImplicitNewmark(small, 1e-3)
    sim.step(np.full(r, 0.1), n=3)
    same = rf.ImplicitNewmark(fresh, 1e-3)
    same.step(np.full(r, 0.1), n=3)
    assert deviation(sim.state.q, same.state.q) < 1e-10


def test_truncations_follow_each_other(model):
    twice = model.truncate(5).truncate(3).strain_rate
    np.testing.assert_array_equal(twice.coefficients, model.strain_rate.truncate(3).coefficients)
    for r in (0, R + 1, -1):
        with pytest.raises(rf.InputError, match=f"r must be between 1 and {R}, got {r}"):
            model.strain_rate.truncate(r)
    with pytest.raises(rf.InputTypeError, match="r must be an int"):
        model.strain_rate.truncate(2.0)


# --- other materials -----------------------------------------------------------------


@pytest.mark.parametrize("change", [{}, {2: HARD}, {2: rf.StVK(3e3, 0.45, 2000.0), 10: SOFT}])
def test_editing_materials_leaves_the_viscosities(case, change):
    """The same as a fresh reduction of the other solid with the same phi and psi."""
    solid, damping, basis = case
    make = {4: box_tets, 8: box_hexes, 10: box_tet10s, 20: box_hex20s}[solid.mesh.nodes_per_element]
    edited = rf.reduce(solid, basis, editable=True, strain_rate=damping).edit(change)
    other = make_solid(make, {2: SOFT, 10: HARD, **change})
    fresh = rf.reduce(other, basis, strain_rate=rf.StrainRateDamping(other, PHI, PSI))
    np.testing.assert_array_equal(edited.strain_rate.coefficients, fresh.strain_rate.coefficients)
    sims = [rf.ImplicitNewmark(x, 1e-3, newton_max=4, tol=1e-12) for x in (edited, fresh)]
    for sim in sims:
        sim.step(np.linspace(0.1, -0.1, R), n=20)
    # models equal to 1e-13, through 20 steps
    assert deviation(sims[0].state.q, sims[1].state.q) < 1e-9
    assert edited.editable
    again = edited.truncate(3).edit({10: HARD})
    np.testing.assert_array_equal(
        again.strain_rate.coefficients, edited.strain_rate.truncate(3).coefficients
    )


# --- copies ---------------------------------------------------------------------------


def test_copies_have_the_damping_too(model):
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        rate = other.strain_rate
        np.testing.assert_array_equal(rate.coefficients, model.strain_rate.coefficients)
        assert (dict(rate.phi), dict(rate.psi)) == (PHI, PSI)
    rate = pickle.loads(pickle.dumps(model.strain_rate))
    assert (dict(rate.phi), dict(rate.psi)) == (PHI, PSI)


def test_a_simulation_keeps_the_damping_of_a_model_that_is_gone(case):
    solid, damping, basis = case
    sims = []
    for _ in range(2):
        sims.append(rf.ImplicitNewmark(rf.reduce(solid, basis, strain_rate=damping), 1e-3))
        gc.collect()
    for sim in sims:
        sim.step(np.ones(R), n=20)
    assert states_equal(sims[0].state, sims[1].state)


# --- wrong use ------------------------------------------------------------------------


def test_wrong_arguments(case, model):
    solid, damping, basis = case
    other = make_solid(fixed=False)
    foreign = rf.StrainRateDamping(other, 1.0, 1.0)
    nodes, elements = box_hexes(4, 1, 1, (0.4, 0.1, 0.1))
    one_region = rf.Solid(rf.Mesh(nodes, elements), SOFT, nodes[:, 0] == 0)
    one = rf.StrainRateDamping(one_region, 1.0, 1.0)
    many = np.zeros((129, *basis.shape[1:]))
    for call, error, message in (
        (
            lambda: rf.reduce(solid, basis, strain_rate=foreign),
            rf.InputError,
            "strain_rate belongs to another solid",
        ),
        (
            lambda: rf.reduce(solid, basis, strain_rate=model.strain_rate),
            rf.InputTypeError,
            "must be a StrainRateDamping, got ReducedStrainRateDamping",
        ),
        (
            lambda: rf.reduce(solid, many, strain_rate=damping),
            rf.InputError,
            "1 to 128 vectors with strain_rate, got 129",
        ),
        (
            lambda: model.with_strain_rate(damping),
            rf.InputTypeError,
            "must be a ReducedStrainRateDamping or None, got StrainRateDamping",
        ),
        (
            lambda: model.with_strain_rate(model.strain_rate.truncate(3)),
            rf.InputError,
            f"damping of 3 reduced coordinates, but the model has {R}",
        ),
        (
            lambda: model.with_strain_rate(one.reduce(np.ones((R, len(nodes), 3))
                                                      * (nodes[:, :1] > 0))),
            rf.InputError,
            r"strain_rate has the regions \[0\], the model \[2, 10\]",
        ),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()


def test_the_core_refuses_damping_that_adds_energy(model):
    good = model.strain_rate.coefficients.copy()
    assert _core.Damping(R, good).r == R
    pairs = np.arange(R + R * (R + 1) // 2)
    for place in (pairs * (pairs + 3) // 2)[[0, R, -1]]:
        bad = good.copy()
        bad[place] = -1e-3
        with pytest.raises(rf.InputError, match=f"coefficient {place} is -0.001; it would add"):
            _core.Damping(R, bad)
    for r in (0, R + 1):
        with pytest.raises(rf.InputError, match=f"r must be between 1 and {R}, got {r}"):
            model.strain_rate._core.truncate(r)


def test_allocation_failures_are_reported_one_by_one(model):
    for work in (lambda: model.strain_rate.truncate(3), lambda: model.truncate(3)):
        fail_each_allocation(work)
