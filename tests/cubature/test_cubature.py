"""Cubatures: against the mesh, finite differences, plain sums, other poses and other kernels."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from material_laws import published
from reducedfem import _core
from sampled import MATERIALS, basis_of, beam, poses_of, sampled
from shapes import BOXES, solid_box

VARIANTS = [simd for simd in (1, 2, 3) if _core.simd_available(simd)]


def all_points(solid: rf.Solid, basis: rf.Basis) -> rf.ReducedSolid:
    return rf.reduce(solid, basis, cubature=rf.Cubature(points=4096, n_poses=5, strain=0.01))


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("law", MATERIALS)
@pytest.mark.parametrize("kind", BOXES)
def test_all_points_of_the_mesh_give_the_projected_solid(kind, law):
    solid = beam(kind, (3, 1, 1), law)
    basis = basis_of(solid, 5)
    model, exact = all_points(solid, basis), rf.ProjectedSolid(solid, basis)
    assert model.cubature.error < 1e-13
    assert model.cubature.weights.sum() == pytest.approx(solid.volume, rel=1e-12)
    np.testing.assert_array_equal(model.mass, exact.mass)
    for q in poses_of(exact, 3, 0.05):
        assert model.strain_energy(q) == pytest.approx(exact.strain_energy(q), rel=1e-11)
        assert relative(model.internal_force(q), exact.internal_force(q)) < 1e-12
        assert relative(model.stiffness(q), exact.stiffness(q)) < 1e-12


def test_all_points_of_two_laws_and_cut_cells_give_the_projected_solid():
    surface = rf.DistanceField.from_field(rf.SphereField((0.0, 0.0, 0.0), 0.5), 32).isosurface()
    mesh = rf.voxelize(surface, 4, order=1)
    middle = mesh.nodes[mesh.elements].mean(axis=1)
    mesh = mesh.with_regions((middle[:, 0] > 0.0).astype(int))
    materials = {0: MATERIALS["neo"], 1: MATERIALS["stvk"]}
    solid = rf.Solid(mesh, materials)
    basis = rf.modal_derivative_basis(solid, k=3, r=5)
    model, exact = all_points(solid, basis), rf.ProjectedSolid(solid, basis)
    assert model._core.cubature[3] is not None, "the penalty of cut cells is missing"
    assert sorted(set(model.cubature.regions.tolist())) == [0, 1]
    for q in poses_of(exact, 3, 0.02):
        assert model.strain_energy(q) == pytest.approx(exact.strain_energy(q), rel=1e-11)
        assert relative(model.internal_force(q), exact.internal_force(q)) < 1e-11
        assert relative(model.stiffness(q), exact.stiffness(q)) < 1e-11


def test_the_energy_is_the_weighted_sum_of_the_published_one():
    model = sampled()
    weights, gradients = model.cubature.weights, model.cubature.gradients
    for q in poses_of(model, 3):
        F = np.eye(3) + (gradients @ q).reshape(-1, 3, 3)
        densities = published("StableNeoHookean", F, *MATERIALS["stable"].lame)
        assert model.strain_energy(q) == pytest.approx(weights @ densities, rel=1e-10)


def test_force_and_stiffness_are_derivatives_of_the_energy():
    model, h = sampled(), 1e-5
    units = h * np.eye(model.r)
    for q in poses_of(model, 3):
        force, K = model.internal_force(q), model.stiffness(q)
        slopes = [
            (model.strain_energy(q + d) - model.strain_energy(q - d)) / (2 * h) for d in units
        ]
        rows = [
            (model.internal_force(q + d) - model.internal_force(q - d)) / (2 * h) for d in units
        ]
        np.testing.assert_allclose(slopes, force, atol=1e-7 * np.abs(force).max())
        np.testing.assert_allclose(rows, K, atol=1e-7 * np.abs(K).max())
        np.testing.assert_array_equal(K, K.T)


def test_the_stiffness_at_rest_is_positive_definite_and_near_that_of_the_mesh():
    model = sampled()
    exact = rf.ProjectedSolid(beam(cells=(6, 2, 2)), basis_of(beam(cells=(6, 2, 2)), 8))
    rest = np.zeros(model.r)
    found = np.linalg.eigvalsh(model.stiffness(rest))
    assert found[0] > 0.0
    np.testing.assert_allclose(found, np.linalg.eigvalsh(exact.stiffness(rest)), rtol=0.04)
    np.testing.assert_array_equal(model.internal_force(rest), 0.0)


@pytest.fixture(scope="module")
def twenty() -> tuple[rf.ReducedSolid, rf.ProjectedSolid]:
    """A beam of neo-Hookean tetrahedra in twenty coordinates, at 200 points."""
    solid = beam(cells=(10, 4, 4))
    return rf.reduce(solid, basis_of(solid), cubature=200), rf.ProjectedSolid(
        solid, basis_of(solid)
    )


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_200_points_of_a_beam_in_20_coordinates_err_by_less_than_2_per_cent(twenty):
    model, exact = twenty
    rule = model.cubature
    assert len(rule.weights) == 200
    assert (rule.weights > 0.0).all()
    assert rule.held_out_poses == 20
    assert rule.error < 0.02
    # other poses than those held out: equilibria of another seed, and thermal ones, not balanced
    drawn = _core.draw_poses(exact._core, 40, 0.3, 12345, None, 1)
    for poses in (drawn, poses_of(exact, 40, 0.02), poses_of(exact, 40, 0.2)):
        errors = [relative(model.internal_force(q), exact.internal_force(q)) for q in poses]
        assert np.sqrt(np.mean(np.square(errors))) < 0.02


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_the_reported_error_is_that_of_the_poses_held_out(twenty):
    model, exact = twenty
    poses = _core.draw_poses(exact._core, 100, 0.3, 0, None, 1)
    errors = [relative(model.internal_force(q), exact.internal_force(q)) for q in poses[4::5]]
    assert model.cubature.error == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-9)
    assert model.cubature.largest_error == pytest.approx(max(errors), rel=1e-9)


def test_statics_are_near_those_of_the_projected_solid(twenty):
    model, exact = twenty
    load = model.gravity((0.0, 0.0, -9.81))
    found, expected = model.solve_static(load), exact.solve_static(load)
    assert relative(model.displacement(found), exact.displacement(expected)) < 0.01


def test_stvk_by_cubature_is_near_its_polynomial():
    solid = beam(cells=(6, 2, 2), law="stvk")
    basis = basis_of(solid, 8)
    exact = rf.reduce(solid, basis)
    model = rf.reduce(solid, basis, cubature=rf.Cubature(points=80, strain=0.1, n_poses=40))
    assert model.cubature.error < 0.02
    errors = [
        relative(model.internal_force(q), exact.internal_force(q)) for q in poses_of(exact, 20)
    ]
    assert np.sqrt(np.mean(np.square(errors))) < 0.02
    whole = all_points(solid, basis)
    for q in poses_of(exact, 3):
        assert relative(whole.internal_force(q), exact.internal_force(q)) < 1e-11


def test_weights_are_the_least_squares_of_their_points_and_no_point_improves_them():
    """Conditions of Karush, Kuhn and Tucker, from plain forces of each point."""
    solid = beam(cells=(3, 1, 1))
    basis = basis_of(solid, 4)
    exact = rf.ProjectedSolid(solid, basis)
    poses = poses_of(exact, 5, 0.05)
    # a loose tolerance is met by few points; then there is no more to choose from than needed
    model, _ = _core.reduce_sampled(solid._core, basis.vectors, poses, 17, 0.0, None, 1)
    whole = all_points(solid, basis).cubature
    rates, shapes = np.linalg.eigh(exact.stiffness(np.zeros(4)))
    rows = []
    for q in poses[:4]:
        each = point_forces(whole.gradients, q) * whole.weights[:, None]
        rows.append(
            each
            @ (shapes / np.sqrt(rates))
            / np.linalg.norm((exact.internal_force(q) @ shapes) / np.sqrt(rates))
        )
    A = np.concatenate(rows, axis=1).T
    gradients, weights, *_ = model.cubature
    at = [int(np.abs(whole.gradients - one).max(axis=(1, 2)).argmin()) for one in gradients]
    w = np.zeros(len(whole.weights))
    w[at] = weights / whole.weights[at]
    residual = A.sum(axis=1) - A @ w
    slopes = A.T @ residual / np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(slopes[at], 0.0, atol=1e-9)
    assert len(at) < 17
    assert slopes.max() < 1e-9
    assert (w[at] > 0.0).all()


def point_forces(gradients: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return P : grad U_k of every point (p, r), of stable neo-Hookean material."""
    steps = 1e-20j * np.eye(9)
    G = gradients @ q
    F = np.eye(3) + (G[:, None, :] + steps).reshape(-1, 9, 3, 3)
    P = published("StableNeoHookean", F, *MATERIALS["stable"].lame).imag / 1e-20
    return np.einsum("pc,pcr->pr", P, gradients)


def test_a_tolerance_takes_fewer_points():
    solid = beam(cells=(6, 2, 2))
    loose = rf.Cubature(points=60, tolerance=0.2, n_poses=40, strain=0.1)
    with pytest.warns(rf.PlausibilityWarning, match="poses held out"):
        few = rf.reduce(solid, basis_of(solid, 8), cubature=loose).cubature
    assert len(few.weights) < len(sampled().cubature.weights)
    assert 0.1 < few.training_error <= 0.2


@pytest.mark.parametrize("simd", VARIANTS)
def test_kernels_agree(simd):
    model = sampled()
    gradients, weights, points, linear = model._core.cubature
    table = [(one.law, one.parameters, one.density) for one in model.materials.values()]
    again = _core.sampled(
        model.basis, model.mass, gradients, weights, points, table, linear, None, simd
    )
    assert again.simd == simd
    for q in poses_of(model, 2):
        assert relative(again.internal_force(q), model.internal_force(q)) < 1e-13
        assert relative(again.stiffness(q), model.stiffness(q)) < 1e-13
        assert again.strain_energy(q) == pytest.approx(model.strain_energy(q), rel=1e-12)


def test_results_do_not_depend_on_the_number_of_threads():
    solid = beam(cells=(6, 2, 2))
    vectors, models = basis_of(solid, 8).vectors, []
    for threads in (1, 3):
        projected = _core.Projected(solid._core, vectors, threads)
        poses = _core.draw_poses(projected, 20, 0.1, 0, None, threads)
        core, report = _core.reduce_sampled(solid._core, vectors, poses, 40, 0.0, None, threads)
        gradients, weights, *_ = core.cubature
        models.append((poses.tobytes(), weights.tobytes(), gradients.tobytes(), report))
    assert models[0] == models[1]


def test_another_seed_gives_another_model_and_the_same_the_same():
    solid = beam(cells=(3, 1, 1))
    drawn = [rf.Cubature(points=10, n_poses=10, seed=seed) for seed in (0, 0, 1)]
    with pytest.warns(rf.PlausibilityWarning, match="poses held out"):
        a, b, c = (rf.reduce(solid, basis_of(solid, 4), cubature=one).cubature for one in drawn)
    assert a.weights.tobytes() == b.weights.tobytes()
    assert a.weights.tobytes() != c.weights.tobytes()


def test_given_poses_train():
    solid = beam(cells=(6, 2, 2))
    exact = rf.ProjectedSolid(solid, basis_of(solid, 8))
    poses = poses_of(exact, 40)
    model = rf.reduce(solid, basis_of(solid, 8), cubature=rf.Cubature(points=60, poses=poses))
    assert (model.cubature.training_poses, model.cubature.held_out_poses) == (32, 8)
    assert model.cubature.error < 0.02
    errors = [relative(model.internal_force(q), exact.internal_force(q)) for q in poses[4::5]]
    assert model.cubature.error == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-9)


def test_drawn_poses_have_the_strains_asked_for():
    """Of the linear response; equilibria are of the same size."""
    solid = beam(cells=(6, 2, 2))
    exact = rf.ProjectedSolid(solid, basis_of(solid, 8))
    poses = _core.draw_poses(exact._core, 50, 1e-6, 3, None, 1)
    table = all_points(solid, basis_of(solid, 8)).cubature.gradients
    G = np.einsum("pcr,kr->kpc", table, poses).reshape(50, -1, 3, 3)
    strains = np.linalg.norm(0.5 * (G + G.transpose(0, 1, 3, 2)), axis=(2, 3)).max(axis=1)
    assert strains.max() <= 1e-6 * (1.0 + 1e-4)
    assert strains.max() > 0.9e-6
    assert strains.min() < 0.1e-6
    assert len(np.unique(np.floor(strains / 1e-7))) == 10


def test_truncation_keeps_the_first_coordinates():
    model = sampled()
    less = model.truncate(5)
    q = poses_of(less, 1)[0]
    whole = np.concatenate([q, np.zeros(3)])
    np.testing.assert_allclose(less.internal_force(q), model.internal_force(whole)[:5], rtol=1e-12)
    np.testing.assert_allclose(
        less.stiffness(q),
        model.stiffness(whole)[:5, :5],
        rtol=1e-9,
        atol=1e-9 * np.abs(less.stiffness(q)).max(),
    )
    assert less.strain_energy(q) == pytest.approx(model.strain_energy(whole), rel=1e-12)


def test_a_law_that_is_not_defined_there_is_named():
    solid = beam(cells=(3, 1, 1), law="neo")
    model = all_points(solid, basis_of(solid, 4))
    q = 1e3 * np.ones(4)
    with pytest.raises(rf.InputError, match="finite"):
        model.internal_force(q)
    with pytest.raises(
        rf.InputError, match=r"q turns point \d+ of the cubature inside out, where NeoHookean"
    ):
        rf.ImplicitNewmark(model, 1e-3).reset(q=q)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (dict(points=0), "points must be between 1 and 4096"),
        (dict(points=5000), "points must be between 1 and 4096"),
        (dict(tolerance=1.0), "tolerance must be at least 0 and below 1, got 1"),
        (dict(tolerance=np.nan), "tolerance must be finite"),
        (
            dict(poses=np.zeros((3, 4))),
            r"poses must have shape \(k, r\) with k at least 5, got \(3, 4\)",
        ),
        (dict(poses=np.full((5, 4), np.nan)), "poses"),
        (dict(n_poses=4), "n_poses must be at least 5, got 4"),
        (dict(strain=0.0), "strain must be positive, got 0"),
        (dict(seed=-1), "seed must be between 0 and 2.64 - 1, got -1"),
    ],
)
def test_wrong_settings_are_refused(settings, match):
    with pytest.raises(rf.InputError, match=match):
        rf.Cubature(**settings)


@pytest.mark.parametrize(
    "settings", [dict(points=1.5), dict(seed=0.5), dict(tolerance="x"), dict(seed=True)]
)
def test_settings_of_wrong_types_are_refused(settings):
    with pytest.raises(rf.InputTypeError):
        rf.Cubature(**settings)


@pytest.mark.parametrize(
    ("poses", "match"),
    [
        (np.ones((5, 3)), r"poses must have shape \(any, 4\), got \(5, 3\)"),
        (np.eye(5, 4), r"poses\[4\] has no force: leave it out"),
        (np.full((5, 4), 1e200), r"poses\[0\] has a force that is not finite"),
    ],
)
def test_wrong_poses_are_refused(poses, match):
    solid = beam(cells=(3, 1, 1))
    with pytest.raises(rf.InputError, match=match):
        rf.reduce(solid, basis_of(solid, 4), cubature=rf.Cubature(poses=poses))


def test_wrong_arguments_of_reduce_are_refused():
    solid = beam(cells=(3, 1, 1))
    with pytest.raises(
        rf.InputTypeError, match="cubature must be a Cubature, a number of points or None"
    ):
        rf.reduce(solid, basis_of(solid, 4), cubature="many")
    with pytest.raises(rf.InputTypeError, match="cubature must be"):
        rf.reduce(solid, basis_of(solid, 4), cubature=True)
    with pytest.raises(rf.InputError, match="cannot be edited"):
        rf.reduce(solid, basis_of(solid, 4), cubature=20, editable=True)
    with pytest.raises(rf.InputError, match="cubature=200"):
        rf.reduce(solid, basis_of(solid, 4))
    with pytest.raises(rf.SingularMatrixError, match="linearly dependent"):
        rf.reduce(solid, np.repeat(basis_of(solid, 4).vectors[:1], 2, axis=0), cubature=20)


def test_too_many_poses_are_refused_before_they_are_drawn():
    solid = beam(cells=(3, 1, 1))
    with pytest.raises(rf.InputError, match="n_poses must be at most 32768 for 4 coordinates"):
        rf.reduce(solid, basis_of(solid, 4), cubature=rf.Cubature(n_poses=32769))


def test_a_model_with_a_cubature_has_no_polynomial():
    with pytest.raises(rf.InputError, match="no energy polynomial"):
        sampled().coefficients  # noqa: B018
    assert (
        rf.reduce(
            beam(cells=(3, 1, 1), law="stvk"), basis_of(beam(cells=(3, 1, 1), law="stvk"), 4)
        ).cubature
        is None
    )


def test_too_few_points_are_worth_a_warning():
    solid = beam(cells=(6, 2, 2))
    with pytest.warns(
        rf.PlausibilityWarning,
        match=r"differ from those of the mesh by \d+\.\d % at poses held out",
    ):
        rf.reduce(solid, basis_of(solid, 8), cubature=8)


def test_free_bodies_keep_their_energy_under_no_load():
    """A basis without rigid motions, of a solid without fixed nodes."""
    solid = solid_box((4, 2, 2), (0.4, 0.2, 0.2), MATERIALS["stable"], held=None)
    basis = rf.modal_derivative_basis(solid, k=4, r=8)
    model = rf.reduce(solid, basis, cubature=rf.Cubature(points=60, strain=0.1, n_poses=40))
    assert model.cubature.error < 0.02
    body = rf.FreeBody(model, 1e-3, gravity=(0.0, 0.0, -9.81))
    body.step(n=100)
    assert np.isfinite(body.state.q).all()
