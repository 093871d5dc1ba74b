"""Materials of reduced models changed without the mesh (Barbic 2007, section 2.11)."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core
from shapes import box_hexes, box_tets

SOFT = rf.StVK(1e5, 0.3, 1000.0)
HARD = rf.StVK(4e6, 0.4, 1300.0)
# negative lambda: a part with a negative weight
AUXETIC = rf.StVK(8e5, -0.4, 700.0)
MUSCLE = rf.LinearElastic.fibres((1, 1, 0), 9e5, 1e5, 0.4, 0.45, 6e4, 1060.0)
R = 7
# regions as numbers are ordered otherwise than as texts
MATERIALS = {2: SOFT, 10: HARD, 100: AUXETIC}


def make_solid(materials, make=box_hexes, fixed=True):
    nodes, elements = make(6, 2, 2, (0.6, 0.2, 0.2))
    third = np.digitize(nodes[elements].mean(axis=1)[:, 0], [0.2, 0.4])
    regions = np.array(list(materials))[third]
    held = nodes[:, 0] == 0 if fixed else None
    return rf.Solid(rf.Mesh(nodes, elements, regions), materials, held)


def basis_of(solid):
    return rf.modal_derivative_basis(solid, k=4, r=R).vectors


def same(a, b, tolerance=1e-13):
    """Equal models, to the rounding of sums."""
    for name in ("coefficients", "mass"):
        one, other = getattr(a, name), getattr(b, name)
        assert np.abs(one - other).max() <= tolerance * np.abs(other).max()


@pytest.fixture(scope="module", params=[box_hexes, box_tets], ids=["hex", "tet"])
def case(request):
    solid = make_solid(MATERIALS, request.param)
    return solid, basis_of(solid), request.param


def test_an_editable_model_is_the_same_model(case):
    solid, basis, _ = case
    model, editable = rf.reduce(solid, basis), rf.reduce(solid, basis, editable=True)
    assert editable.editable
    assert not model.editable
    same(editable, model)
    assert editable.materials == MATERIALS


@pytest.mark.parametrize(
    "change",
    [
        {2: HARD},
        {10: AUXETIC, 100: SOFT},
        {2: rf.StVK(3e3, 0.45, 2000.0), 10: SOFT, 100: rf.StVK(1e9, 0.0, 1.0)},
        {},
    ],
)
def test_an_edit_is_a_fresh_reduction(case, change):
    solid, basis, make = case
    edited = rf.reduce(solid, basis, editable=True).edit(change)
    other = make_solid({**MATERIALS, **change}, make)
    fresh = rf.reduce(other, basis)
    same(edited, fresh)
    assert edited.materials == other.materials
    assert edited.provenance["solid"]["total_mass"] == pytest.approx(other.total_mass, rel=1e-13)
    q = np.linspace(-0.1, 0.1, R)
    force = basis.reshape(R, -1) @ other.internal_force(np.tensordot(q, basis, 1)).ravel()
    np.testing.assert_allclose(edited.internal_force(q), force, atol=1e-11 * np.abs(force).max())


def test_edits_follow_each_other_without_a_trace(case):
    solid, basis, _ = case
    model = rf.reduce(solid, basis, editable=True)
    wandering = model.edit({2: HARD}).edit({10: SOFT, 100: HARD}).edit({2: AUXETIC})
    np.testing.assert_array_equal(wandering.edit(MATERIALS).coefficients, model.coefficients)
    # an edited model and models that share its basis do not depend on the original
    del model
    assert np.isfinite(wandering.displacement(np.ones(R))).all()
    assert wandering.truncate(2).basis.shape[0] == 2


def test_truncated_models_can_be_edited(case):
    solid, basis, _ = case
    model = rf.reduce(solid, basis, editable=True)
    small = model.truncate(3).edit({10: SOFT})
    same(small, model.edit({10: SOFT}).truncate(3))
    assert small.materials[10] == SOFT


def test_files_and_pickles_keep_the_parts(case, tmp_path):
    solid, basis, _ = case
    model = rf.reduce(solid, basis, editable=True).edit({2: HARD})
    path = tmp_path / "model.safetensors"
    model.save(path)
    change = {10: SOFT, 100: HARD}
    for other in (rf.load(path), pickle.loads(pickle.dumps(model))):
        assert other.materials == model.materials
        np.testing.assert_array_equal(
            other.edit(change).coefficients, model.edit(change).coefficients
        )
        np.testing.assert_array_equal(other.edit(change).mass, model.edit(change).mass)


def test_general_materials_keep_their_form():
    materials = {2: SOFT, 10: MUSCLE, 100: HARD}
    solid = make_solid(materials)
    basis = basis_of(solid)
    model = rf.reduce(solid, basis, editable=True)
    same(model, rf.reduce(solid, basis))
    stronger = rf.LinearElastic(2.5 * MUSCLE.stiffness, 1200.0)
    change = {2: AUXETIC, 10: stronger}
    fresh = rf.reduce(make_solid({**materials, **change}), basis)
    same(model.edit(change), fresh)
    # relative to what the parts were made with, not to the last edit
    again = rf.LinearElastic(0.5 * MUSCLE.stiffness, 1200.0)
    same(
        model.edit(change).edit({10: again}),
        rf.reduce(make_solid({**materials, 2: AUXETIC, 10: again}), basis),
    )
    with pytest.raises(rf.InputError, match=r"materials\[10\] must have a multiple"):
        model.edit({10: MUSCLE.rotated([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])})
    with pytest.raises(rf.InputTypeError, match=r"materials\[10\] must be a LinearElastic"):
        model.edit({10: SOFT})
    with pytest.raises(rf.InputTypeError, match=r"materials\[2\] must be a StVK"):
        model.edit({2: MUSCLE})


def test_free_solids_keep_apart_from_their_rigid_motion():
    solid = make_solid(MATERIALS, fixed=False)
    model = rf.reduce(solid, basis_of(solid), editable=True)
    heavier = {k: rf.StVK(m.young, m.poisson, 3.0 * m.density) for k, m in MATERIALS.items()}
    body = model.edit(heavier).rigid_body
    expected = make_solid(heavier, fixed=False).rigid_body
    assert body.mass == pytest.approx(expected.mass, rel=1e-13)
    np.testing.assert_allclose(
        body.inertia, expected.inertia, atol=1e-13 * np.abs(expected.inertia).max()
    )
    model.edit({2: rf.StVK(5e5, 0.1, SOFT.density)})
    with pytest.raises(rf.InputError, match="densities of a free solid by different factors"):
        model.edit({2: rf.StVK(1e5, 0.3, 1500.0)})


def test_results_do_not_depend_on_threads(set_threads):
    solid = make_solid(MATERIALS)
    basis = basis_of(solid)
    models = []
    for threads in (1, 3):
        set_threads(threads)
        models.append(rf.reduce(solid, basis, editable=True).edit({2: HARD}))
    np.testing.assert_array_equal(models[0].coefficients, models[1].coefficients)


def test_bad_edits():
    solid = make_solid(MATERIALS)
    basis = basis_of(solid)
    with pytest.raises(rf.InputError, match=r"editable=True"):
        rf.reduce(solid, basis).edit({2: SOFT})
    with pytest.raises(rf.InputTypeError, match="editable must be True or False"):
        rf.reduce(solid, basis, editable=1)
    model = rf.reduce(solid, basis, editable=True)
    with pytest.raises(rf.InputError, match="region 3; the model has 2, 10, 100"):
        model.edit({3: SOFT})
    with pytest.raises(rf.InputTypeError, match="materials must be a dict"):
        model.edit([SOFT])
    with pytest.raises(rf.InputTypeError, match=r"materials\[2\] must be a StVK.*got float"):
        model.edit({2: 1.0})


def test_the_core_checks_for_itself():
    solid = make_solid(MATERIALS)
    whole, parts = _core.take_apart(solid._core, basis_of(solid), None, 1)
    good = [[1.0, 1.0, 1.0]] * 3
    for row, message in (
        ((1.0, 0.0, 1.0), "mu and 3 lambda . 2 mu must be positive"),
        ((-1.0, 1.0, 1.0), "mu and 3 lambda . 2 mu must be positive"),
        ((1.0, 1.0, 0.0), "density must be finite and positive"),
    ):
        with pytest.raises(rf.InputError, match=f"material 1: .*{message}"):
            parts.combine(whole, [good[0], row, good[2]])
    with pytest.raises(rf.InputError, match="overflow"):
        parts.combine(whole, [[1e308, 1e308, 1.0]] * 3)
    with pytest.raises(rf.InputError, match="constants must have shape"):
        parts.combine(whole, good[:2])
    with pytest.raises(
        rf.InputError, match="the parts have 7 reduced coordinates, the model has 3"
    ):
        parts.combine(whole.truncate(3), good)
    coefficients, general, volumes, masses = parts.arrays()
    with pytest.raises(rf.InputError, match="volume of material 2 is -1"):
        _core.ReducedParts(coefficients, general, [1.0, 1.0, -1.0], masses)
    with pytest.raises(rf.InputError, match="coefficients must have shape"):
        _core.ReducedParts(coefficients[:, :1], general, volumes, masses)


def test_allocation_failures_are_reported_one_by_one():
    solid = make_solid(MATERIALS)
    basis = basis_of(solid)
    model = rf.reduce(solid, basis, editable=True)
    for work in (
        lambda: rf.reduce(solid, basis, editable=True),
        lambda: model.edit({2: HARD}),
        lambda: model.truncate(3),
    ):
        fail_each_allocation(work)
