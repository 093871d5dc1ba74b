"""Pulls of all kinds of simulations by their views, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from integrated import linear_model
from reducedfem.viewer.shown_driven import first_hit, free_spring
from shapes import box_hexes, solid_box

pytestmark = pytest.mark.no_asan(reason="pictures; tests/dynamics pulls")

ABOVE, DOWN = np.array([0.37, 0.04, 1.0]), np.array([0.0, 0.0, -1.0])
UP = np.array([0.0, 0.0, 0.03])


@pytest.fixture(scope="module")
def bar():
    return solid_box((4, 2, 2), (0.4, 0.1, 0.1))


@pytest.fixture(scope="module")
def free(bar):
    solid = rf.Solid(bar.mesh, rf.StVK(1e5, 0.3, 1000.0))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 5))


def test_a_ray_meets_the_first_triangle(rng):
    surface = rf.Mesh(*box_hexes(3, 2, 2, (0.3, 0.2, 0.15))).surface()
    for _ in range(50):
        origin = rng.standard_normal(3)
        goal = rng.uniform([0, 0, 0], [0.3, 0.2, 0.15])
        way = goal - origin
        found = first_hit(surface.vertices, surface.triangles, origin, way)
        # the exact place by the planes of the box
        with np.errstate(divide="ignore"):
            at = np.sort(([[0, 0, 0], [0.3, 0.2, 0.15]] - origin) / way, axis=0)
        enters = at[0].max()
        if enters < 0:  # inside
            continue
        np.testing.assert_allclose(found[3], enters, rtol=1e-9)
        np.testing.assert_allclose(found[2], origin + enters * way, atol=1e-12)
        corners = surface.vertices[surface.triangles[found[0]]]
        np.testing.assert_allclose(found[1] @ corners, found[2], atol=1e-12)
    away = first_hit(surface.vertices, surface.triangles, np.array([0, 0, 1.0]), -DOWN)
    assert away is None


def pulled(x, at=ABOVE, **options):
    """Pull up from a point; return it, the place of the spring and the frame when it has moved."""
    with rf.view(x, browser=False, **options) as view:
        shown = view._shown
        assert shown.scene().pulls
        shown.watch(True)
        point = shown.pull(0, at, DOWN)
        shown.move(point + UP)
        while not (hand := shown._hand).point[2] > point[2] + 0.004:
            assert not shown._drive.failure
        frame = shown.frame()
        shown.release()
        assert shown._hand is None
        assert not shown.frame()["playing"]  # it did not run before
    return point, hand, frame


@pytest.mark.parametrize("kind", ["solid", "free solid", "projected", "free body", "world"])
def test_bodies_give_way(bar, free, kind):
    loose = rf.Solid(bar.mesh, rf.StVK(1e5, 0.3, 1000.0))
    basis = rf.modal_derivative_basis(bar, 3, 5)
    world = rf.World(1e-3)
    for k in (0, 1):
        body = rf.FreeBody(free, 1e-3)
        body.reset(free.rigid_body.centre - [0.0, 0.0, 0.5 * k])  # the first one is above
        world.add(body)
    x = {
        "solid": lambda: rf.BDF2(bar, 1e-3),
        "free solid": lambda: rf.BDF2(loose, 1e-3),
        "projected": lambda: rf.BDF2(rf.ProjectedSolid(bar, basis), 1e-3),
        "free body": lambda: rf.FreeBody(free, 1e-3),
        "world": lambda: world,
    }[kind]()
    point, hand, frame = pulled(x)
    np.testing.assert_allclose(point, [0.37, 0.04, 0.1], atol=1e-9)
    (arrow,) = frame["arrows"]
    np.testing.assert_allclose(arrow["to"], point + UP)
    numbers = {name: value for name, value, _ in frame["numbers"]}
    assert numbers["force of the pull"] > 0.0
    assert numbers["stiffness of the pull"] == hand.stiffness
    if kind == "world":
        assert world.velocities[0, 2] > 0.0 == world.velocities[1, 2]


def test_a_turned_body_is_pulled_where_it_is(free):
    body = rf.FreeBody(free, 1e-3)
    body.reset([1.0, 2.0, 3.0], [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])  # x is down
    with rf.view(body, browser=False) as view:
        point = view._shown.pull(0, np.array([1.0, 2.0, 9.0]), DOWN)
        assert view._shown.pull(0, np.array([5.0, 2.0, 9.0]), DOWN) is None
    np.testing.assert_allclose(point, [1.0, 2.0, 3.2], atol=1e-9)


def test_the_stiffness_can_be_given(bar, free):
    for x in (rf.BDF2(bar, 1e-3), rf.FreeBody(free, 1e-3)):
        _, hand, _ = pulled(x, stiffness=123.0)
        assert hand.stiffness == 123.0


def test_a_model_that_is_unstable_at_rest_is_pulled_as_a_free_body():
    made = linear_model(np.diag([-4.0, 9.0]))
    facts = {"solid": {"total_mass": 2.0, "rigid_body": None}}
    model = rf.ReducedSolid(made._core, made.mesh, made.fixed, facts)
    surface = model.mesh.surface()
    box = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    above = 0.6 * box[1] + 0.4 * box[0]
    above[2] = box[1][2] + 1.0
    with rf.view(rf.BDF2(model, 1e-3), browser=False) as view:
        assert view._shown.pull(0, above, DOWN) is not None
        expected = free_spring(2.0, model.mesh.nodes, None)[0]
        assert view._shown._hand.stiffness == pytest.approx(expected)


def test_fixed_points_and_schemes_of_two_stages_are_not_pulled(bar):
    with rf.view(rf.BDF2(bar, 1e-3), browser=False) as view:
        # the fixed side
        assert view._shown.pull(0, np.array([-1.0, 0.05, 0.05]), np.array([1.0, 0, 0])) is None
    with rf.view(rf.TRBDF2(bar, 1e-3), browser=False) as view:
        assert not view._shown.scene().pulls
