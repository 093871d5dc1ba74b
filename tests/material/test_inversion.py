"""Solids of laws that are not defined in inverted elements: no solution inverts one."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from calls import IMPLICIT
from material_laws import UNBOUNDED, determinants, rubber
from plain_solid import jittered, shape_points
from shapes import BOXES

LENGTH = 0.2


SHARED_CODE = pytest.mark.no_asan(reason="other tests run the same C code")


@pytest.fixture(params=UNBOUNDED)
def law(request):
    return request.param


def beam(law, kind="hex", poisson=0.3, clamped=False):
    """A beam along x, held at one end or both, and the nodes of the other end."""
    nodes, elements, _ = jittered(BOXES[kind], (6, 3, 3), 0.1, np.random.default_rng(1))
    nodes = LENGTH * nodes / nodes[:, 0].max() * np.array([1.0, 0.5, 0.5])
    right = nodes[:, 0] > LENGTH - 1e-9
    fixed = (nodes[:, 0] < 1e-9) | (right & clamped)
    return rf.Solid(rf.Mesh(nodes, elements), rubber(law, 1e6, poisson), fixed), right


def lowest(solid, u):
    """Return the least determinant of the deformation gradient at a quadrature point."""
    return min(
        determinants(u[element].T @ g)[0]
        for element in solid.mesh.elements
        for _, g, _ in shape_points(solid.mesh.nodes[element], solid.quadrature)
    )


def shortened(solid, right, part):
    prescribed = np.zeros_like(solid.mesh.nodes)
    prescribed[right, 0] = -part * LENGTH
    return prescribed


@pytest.mark.filterwarnings("ignore:this equilibrium is unstable")  # bars may buckle
@pytest.mark.filterwarnings("ignore:the material of region 0 has a Poisson.s ratio of 0.49")
@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.49])
@pytest.mark.parametrize(
    "kind", ["tet", "hex", *(pytest.param(k, marks=SHARED_CODE) for k in ("tet10", "hex20"))]
)
def test_a_beam_compressed_by_60_percent(law, kind, poisson):
    """One load step finds an equilibrium without inverted elements."""
    solid, right = beam(law, kind, poisson, clamped=True)
    u, report = solid.solve_static(
        prescribed=shortened(solid, right, 0.6), adaptive=True, report=True
    )
    assert report.fraction == 1.0
    assert 0 < lowest(solid, u) < 1
    force = solid.internal_force(u)
    assert np.abs(force[solid.free]).max() < 1e-8 * np.abs(force).max()
    assert force[right, 0].sum() < 0


def test_prescribed_places_that_invert_elements(law):
    """Nearly all of the length at once: the message says what to do, and that helps."""
    solid, right = beam(law, clamped=True)
    prescribed = shortened(solid, right, 1.05)
    message = rf"the step turns element \d+ inside out, where {law} is not.*adaptive=True"
    with pytest.raises(rf.StaticConvergenceError, match=message):
        solid.solve_static(prescribed=prescribed)
    u, report = solid.solve_static(prescribed=prescribed, adaptive=True, report=True)
    assert report.fraction == 1.0
    assert report.cuts > 0
    assert lowest(solid, u) > 0


def test_prescribed_places_of_all_nodes(law):
    """No unknown is left: an argument that inverts elements is refused."""
    free, _ = beam(law)
    everywhere = np.arange(free.mesh.n_nodes)
    with pytest.warns(rf.PlausibilityWarning, match="fixed"):
        solid = rf.Solid(free.mesh, free.materials[0], everywhere)
    u = -2.0 * solid.mesh.nodes * np.array([1.0, 0.0, 0.0])
    with pytest.raises(rf.InputError, match=r"^prescribed turns element \d+ inside out"):
        solid.solve_static(prescribed=u)
    np.testing.assert_array_equal(solid.solve_static(prescribed=0.3 * u), 0.3 * u)


@pytest.mark.parametrize("scheme", IMPLICIT)
@pytest.mark.parametrize("force", [-1e3, -1e5, 1e5])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_increments_stop_before_an_element_is_inverted(law, force, scheme):
    """A light body under a sudden force, where whole increments invert elements."""
    solid, right = beam(law)
    load = np.zeros_like(solid.mesh.nodes)
    load[right, 0] = force / right.sum()
    sim, shortest = IMPLICIT[scheme](solid, dt=0.05, newton_max=8), 1.0
    for _ in range(5):
        sim.step(load)
        shortest = min(shortest, lowest(solid, sim.state.q))
    assert shortest > 0
    assert sim.report.shortened > 0


def inverted(solid):
    """Return displacements of one free node that invert the elements behind it, and these."""
    u = np.zeros_like(solid.mesh.nodes)
    node = np.flatnonzero(solid.mesh.nodes[:, 0] > 0.5 * LENGTH)[0]
    u[node, 0] = -0.5 * LENGTH
    return u, np.flatnonzero((solid.mesh.elements == node).any(axis=1))


def test_displacements_that_invert_elements_are_refused(law):
    solid, _ = beam(law)
    u, elements = inverted(solid)
    sim = rf.ImplicitNewmark(solid, dt=1e-3)
    calls = {
        "u": [solid.strain_energy, solid.internal_force, solid.stiffness],
        "u0": [lambda u: solid.solve_static(u0=u)],
        "q": [
            sim.reset,
            lambda u: sim.reset(u, 0 * u, 0 * u),
            lambda u: rf.stable_step(solid, q=u),
        ],
    }
    for name, functions in calls.items():
        for function in functions:
            with pytest.raises(rf.InputError, match=f"^{name} turns element") as error:
                function(u)
            text = str(error.value)
            assert any(f"element {e} inside out, where {law} is not" in text for e in elements)
            assert f"choose another law (see help({law}))" in text
    other = rf.Solid(solid.mesh, rf.StableNeoHookean(1e6, 0.3, 1000.0), solid.fixed)
    assert np.isfinite(other.strain_energy(u))


def test_coordinates_that_invert_elements_are_refused(law):
    solid, _ = beam(law)
    model = rf.ProjectedSolid(solid, solid.linear_modes(6).shapes)
    q = np.full(6, 100.0)
    sim = rf.ImplicitNewmark(model, dt=1e-3)
    for name, function in [
        ("q", model.strain_energy),
        ("q", model.internal_force),
        ("q", model.stiffness),
        ("q", sim.reset),
        ("q", lambda q: rf.stable_step(model, q=q)),
        ("q0", lambda q: model.solve_static(q0=q)),
    ]:
        with pytest.raises(rf.InputError, match=rf"^{name} turns element \d+ inside out"):
            function(q)


def test_other_laws_beside_may_be_inverted(law):
    """Elements of another law may be inverted."""
    solid, _ = beam(law)
    u, elements = inverted(solid)
    which = np.zeros(len(solid.mesh.elements), dtype=int)
    which[elements] = 1
    mesh = rf.Mesh(solid.mesh.nodes, solid.mesh.elements, which)
    materials = {0: solid.materials[0], 1: rf.StableNeoHookean(1e6, 0.3, 1000.0)}
    assert np.isfinite(rf.Solid(mesh, materials).strain_energy(u))


@pytest.mark.parametrize("projected", [False, True])
def test_explicit_steps_that_invert_an_element_fail(law, projected):
    solid, right = beam(law)
    load = np.zeros_like(solid.mesh.nodes)
    load[right, 0] = -1e6
    system = solid
    if projected:
        system = rf.ProjectedSolid(solid, solid.linear_modes(12).shapes)
        load = system.project(load)
    sim = rf.CentralDifferences(system, dt=0.5 * rf.stable_step(system))
    message = (
        rf"diverged at t = .*turns element \d+ inside out, where {law}.*kept; try a smaller dt"
    )
    with pytest.raises(rf.DivergedError, match=message):
        sim.step(load, n=1000)
    q = sim.state.q
    assert np.isfinite(system.strain_energy(q))
    assert sim.report.steps > 0


def test_a_falling_body_keeps_its_shape(law):
    """Without supports and contact: x = g t^2 / 2, exact for the trapezoidal rule."""
    held, _ = beam(law)
    solid = rf.Solid(held.mesh, held.materials[0])
    sim = rf.ImplicitNewmark(solid, dt=1e-2, newton_max=5, gravity=(0, 0, -9.81))
    sim.step(n=20)
    np.testing.assert_allclose(
        sim.state.q, np.tile([0, 0, -0.5 * 9.81 * 0.04], (len(sim.state.q), 1)), atol=1e-9
    )
