"""Reduced statics: the unreduced solution, Newton by NumPy, closed forms of one coordinate."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from integrated import full_basis, linear_model, polynomial_model, small_model, small_solid
from plain_polynomial import deviation
from shapes import box_hexes


def load(solid: rf.Solid, force=(1.0, 0.5, -2.0)) -> np.ndarray:
    out = np.zeros((solid.mesh.n_nodes, 3))
    out[solid.mesh.nodes[:, 0] > 0.19] = force
    return out


@pytest.mark.parametrize(("kind", "cells"), [("hexes", 1), ("hexes", 2), ("tets", 2)])
def test_full_basis_gives_the_unreduced_equilibrium(kind, cells):
    solid = small_solid(kind, cells)
    model = rf.reduce(solid, full_basis(solid))
    force = load(solid) * (2.0 if kind == "tets" else 1.0)
    expected = solid.solve_static(force, tol=1e-12, steps=2)
    q, report = model.solve_static(force, tol=1e-12, steps=2, report=True)
    assert np.abs(expected).max() > 0.02, "the load is too small to be nonlinear"
    # both end at 1e-12 of the forces; the condition of the stiffness is some 1e3
    assert deviation(model.displacement(q), expected) < 1e-8
    assert report.load_steps == 2
    assert report.fraction == 1.0
    assert report.residual <= 1e-12
    assert report.factorizations >= report.iterations > 3
    assert deviation(model.solve_static(force.ravel(), tol=1e-12), q) < 1e-8
    assert np.array_equal(model.solve_static(model.project(force)), model.solve_static(force))


@pytest.mark.parametrize("r", [1, 5, 17, 24])
def test_newton_by_numpy_finds_the_same(r):
    model = small_model(r)
    force = 0.3 * np.random.default_rng(r).standard_normal(r)
    expected = np.zeros(r)
    for part in np.linspace(0.1, 1.0, 10):
        for _ in range(30):
            residual = part * force - model.internal_force(expected)
            expected += np.linalg.solve(model.stiffness(expected), residual)
    assert np.abs(model.internal_force(expected) - force).max() < 1e-10 * np.abs(force).max()
    q = model.solve_static(force, tol=1e-12, steps=4)
    # the tolerance times the condition of the stiffness in random directions
    assert deviation(q, expected) < 1e-7
    # the residual is what is promised
    assert np.linalg.norm(model.internal_force(q) - force) <= 1e-12 * np.linalg.norm(force) * 1.01


def test_linear_models_take_one_iteration():
    stiffness = np.array([[4.0, 1.0], [1.0, 3.0]])
    q, report = linear_model(stiffness).solve_static([1.0, 2.0], report=True)
    assert q == pytest.approx(np.linalg.solve(stiffness, [1.0, 2.0]), rel=1e-14)
    assert (report.iterations, report.factorizations, report.shifted) == (1, 1, 0)
    assert not linear_model(stiffness).solve_static().any()


def test_snap_through():
    """W = q^4 / 4 - q^2 / 2 + q^3 / 10: from the unstable top to a minimum, tangents shifted."""
    model = polynomial_model(1, {(0, 0, 0, 0): 0.25, (0, 0): -0.5, (0, 0, 0): 0.1})
    q, report = model.solve_static(q0=[0.05], report=True)
    assert report.shifted >= 1
    # q^2 + 0.3 q - 1 = 0
    assert q[0] == pytest.approx(-0.15 + np.sqrt(0.15**2 + 1.0), rel=1e-9)
    assert model.solve_static(q0=[-0.05])[0] == pytest.approx(-0.15 - np.sqrt(0.15**2 + 1.0))


def test_failure_holds_what_was_reached():
    """W = q - q^2 / 2 ...: a softening spring has no equilibrium beyond its largest force."""
    # R = q - q^3: at most 2 / sqrt(27) at q = 1 / sqrt(3)
    model = polynomial_model(1, {(0, 0): 0.5, (0, 0, 0, 0): -0.25})
    assert model.solve_static([0.3], steps=3)[0] == pytest.approx(
        np.roots([-1.0, 0.0, 1.0, -0.3])[np.argmin(np.abs(np.roots([-1.0, 0.0, 1.0, -0.3])))].real
    )
    for adaptive, least in ((False, 0.7), (True, 0.76)):
        with pytest.raises(rf.StaticConvergenceError, match="of the load only") as caught:
            model.solve_static([0.5], steps=10, adaptive=adaptive)
        report = caught.value.report
        # 2 / sqrt(27) = 0.385 = 0.77 of the load
        assert least - 1e-9 <= report.fraction <= 0.77
        assert (report.cuts > 0) == adaptive
        reached = model.solve_static([0.5 * report.fraction])
        assert deviation(caught.value.displacement, model.displacement(reached)) < 1e-6


def test_interruption_and_progress():
    model = small_model(6)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    seen: list[tuple[int, int]] = []
    model.solve_static(np.ones(6), steps=3, progress=lambda *x: seen.append(x))
    assert seen[-1] == (300, 300)
    with pytest.raises(KeyboardInterrupt):
        model.solve_static(np.ones(6), steps=3, progress=interrupt)


def test_wrong_arguments():
    model = small_model(6)
    for call, error, message in (
        (lambda: model.solve_static(np.ones(5)), rf.InputError, r"force must have shape \(6,\)"),
        (lambda: model.solve_static(np.full(6, np.nan)), rf.InputError, "force.* is nan"),
        (lambda: model.solve_static("x"), rf.InputTypeError, "force must be"),
        (lambda: model.solve_static(q0=np.ones(5)), rf.InputError, "q0 must have shape"),
        (lambda: model.solve_static(tol=0.0), rf.InputError, "tol must be finite and positive"),
        (lambda: model.solve_static(steps=0), rf.InputError, "steps must be between 1 and"),
        (lambda: model.solve_static(max_iterations=0), rf.InputError, "max_iterations must be"),
        (lambda: model.solve_static(report=1), rf.InputTypeError, "report must be True or False"),
        (lambda: model.solve_static(adaptive=1), rf.InputTypeError, "adaptive must be True"),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("kind", ["reduced", "projected"])
def test_a_free_body_has_no_statics_of_its_own(kind):
    """A basis of deformations would leave out the motion of loads that are not in balance."""
    mesh = rf.Mesh(*box_hexes(4, 1, 1, (0.4, 0.1, 0.1)))
    free = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    basis = rf.modal_derivative_basis(free, 3, 5)
    make = rf.reduce if kind == "reduced" else rf.ProjectedSolid
    model = make(free, basis)
    with pytest.raises(
        rf.InputError, match=r"free body.*FreeBody\(reduced, dt\).*deformation_only"
    ):
        model.solve_static(np.ones((mesh.n_nodes, 3)))
    # loads like the inertia of a deformation are in balance
    load = 0.1 * (free.mass() @ basis.vectors[0].ravel())
    q, report = model.solve_static(load, deformation_only=True, report=True)
    assert report.residual < 1e-10
    np.testing.assert_allclose(model.internal_force(q), model.project(load), atol=1e-8)
    assert np.abs(q).max() > 1e-7


def test_elements_inside_out_are_counted_and_warned_of():
    """A bar under an axial load beyond the largest that its law carries."""
    nodes, elements = box_hexes(8, 3, 3, (0.2, 0.06, 0.06))
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.4, 1000.0), nodes[:, 0] == 0.0)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=10, r=25))
    end = nodes[:, 0] > 0.2 - 1e-9
    load = np.zeros_like(nodes)
    load[end, 0] = -60.0 / end.sum()
    for system in (model, rf.ProjectedSolid(solid, model.basis)):
        with pytest.warns(rf.PlausibilityWarning) as found:
            q, report = system.solve_static(model.project(load), steps=5, report=True)
        assert any("elements are inside out" in str(one.message) for one in found)
        place = (nodes + system.displacement(q))[elements]
        edges = place[:, [1, 3, 4]] - place[:, :1]
        mirrored = np.linalg.det(edges) < 0.0
        assert 0 < report.inverted <= 72
        assert report.inverted >= 0.8 * mirrored.sum() > 10
    calm = model.solve_static(0.1 * model.project(load), report=True)[1]
    assert calm.inverted == 0
