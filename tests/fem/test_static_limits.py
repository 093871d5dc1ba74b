"""Static solutions at the limits: of rounding, of stability, of the iteration."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, solid_box


def column(cells, size, law=rf.StVK):
    """A cantilever along x of 20-node cells, and Euler's load pi^2 E I / (4 L^2) at its end."""
    young = 1e6
    mesh = rf.Mesh(*box_hexes(*cells, size)).quadratic()
    solid = rf.Solid(mesh, law(young, 0.4, 1000.0), mesh.nodes[:, 0] < 1e-9)
    return solid, np.pi**2 * young * size[1] * size[2] ** 3 / 12 / (4 * size[0] ** 2)


def end_load(solid, total):
    end = solid.mesh.nodes[:, 0] > solid.mesh.nodes[:, 0].max() - 1e-9
    load = np.zeros_like(solid.mesh.nodes)
    load[end] = np.asarray(total) / end.sum()
    return load


def kinds(solid):
    basis = rf.modal_derivative_basis(solid, 10, r=30)
    return {
        "solid": solid,
        "projected": rf.ProjectedSolid(solid, basis),
        "reduced": rf.reduce(solid, basis),
    }


@pytest.mark.parametrize("times", [100.0, 200.0])
def test_a_residual_at_the_rounding_of_a_polynomial_is_a_solution(times):
    """Parts of the polynomial cancel to 1e-10 of their sizes: no residual of 1e-10 is there."""
    solid, euler = column((60, 1, 1), (1.0, 0.006, 0.006))
    models = kinds(solid)
    load = end_load(solid, [0.0, 0.0, times * euler])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        q, report = models["reduced"].solve_static(load, report=True)
    assert 1e-10 < report.residual < 1e-3
    said = [one for one in found if "rounding kept the residual" in str(one.message)]
    assert len(said) == (report.residual > 1e-5)
    exact = models["projected"].solve_static(load)
    # residuals are 1e-6 to 1e-4 of the load, and errors alike in most directions
    apart = np.abs(models["reduced"].displacement(q) - models["projected"].displacement(exact))
    assert apart.max() < 1e-2 * np.abs(models["projected"].displacement(exact)).max()


def test_a_residual_above_rounding_is_no_solution():
    solid, euler = column((8, 1, 1), (1.0, 0.1, 0.1))
    load = end_load(solid, [0.0, 0.0, 3.0 * euler])
    needed = solid.solve_static(load, report=True)[1].iterations
    for most in range(1, needed):
        with pytest.raises(rf.StaticConvergenceError) as failure:
            solid.solve_static(load, max_iterations=most)
        text = str(failure.value)
        assert "tol 1e-10" in text
        assert f"relative residual {failure.value.report.residual:.3g}" in text
        assert failure.value.report.stable is None
        assert "more steps or with adaptive=True" in text
        assert "buckling" not in text


def test_beyond_a_limit_point_more_steps_are_no_advice():
    """One tetrahedron on its base, pressed at its apex beyond the peak of the law."""
    nodes = np.array([[0.0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0.07, 0.07, 0.3]])
    solid = rf.Solid(rf.Mesh(nodes, [[0, 1, 2, 3]]), rf.StVK(1e5, 0.0, 1000.0), [0, 1, 2])
    stretch = 1.0 / np.sqrt(3.0)
    load = np.zeros((4, 3))
    load[3, 2] = 1.5 * 0.5 * 1e5 * (stretch**3 - stretch) * solid.volume / 0.3
    with pytest.raises(rf.StaticConvergenceError) as failure:
        solid.solve_static(load, adaptive=True)
    text = str(failure.value)
    assert "more steps may not help: lower the load" in text
    assert "buckling or snap-through" in text


@pytest.mark.parametrize("kind", ["solid", "projected", "reduced"])
def test_a_perfect_column_is_stable_below_eulers_load_and_unstable_above(kind):
    solid, euler = column((20, 1, 1), (1.0, 0.1, 0.1))
    model = kinds(solid)[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # shear and the width, a tenth of the length, change the critical load by one per cent
        below, report = model.solve_static(end_load(solid, [-0.95 * euler, 0, 0]), report=True)
    assert report.stable is True
    with pytest.warns(rf.PlausibilityWarning, match=r"unstable.*side load.*simulate") as found:
        above, report = model.solve_static(end_load(solid, [-1.05 * euler, 0, 0]), report=True)
    assert report.stable is False
    assert found[0].filename == __file__
    for solution in (below, above):  # both are straight
        moved = solution if kind == "solid" else model.displacement(solution)
        middle = np.abs(solid.mesh.nodes[:, 2] - 0.05) < 1e-9
        assert np.abs(moved[middle, 2]).max() < 1e-6
    # the remedy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load = end_load(solid, [-1.05 * euler, 0, 0.005 * euler])
        report = model.solve_static(load, report=True, adaptive=True)[1]
    assert report.stable is True


def test_a_free_body_without_load_is_stable():
    """Its rigid motions have no stiffness, which is no instability."""
    solid = solid_box((3, 2, 2), (0.3, 0.2, 0.2), rf.StVK(1e6, 0.3, 1000.0), held=None)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = model.solve_static(deformation_only=True, report=True)[1]
        assert report.stable is True


def test_all_nodes_fixed_are_stable():
    mesh = rf.Mesh(*box_hexes(1, 1, 1))
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0), range(8))
    assert solid.solve_static(report=True)[1].stable is True
