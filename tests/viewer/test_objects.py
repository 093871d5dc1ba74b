"""Views of skins, points, fields of models, free bodies and projected solids."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from pages import read, shown
from shapes import solid_box

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")


@pytest.fixture(scope="module")
def bar():
    return solid_box((4, 2, 2), (0.4, 0.1, 0.1))


@pytest.fixture(scope="module")
def reduced(bar):
    return rf.reduce(bar, rf.modal_derivative_basis(bar, 3, 5))


@pytest.fixture(scope="module")
def shell():
    field = rf.BoxField([0.01, 0.01, 0.01], [0.39, 0.09, 0.09])
    return rf.Pointshell.from_field(field, 600, areas=True)


def scene_of(x):
    with rf.view(x, browser=False) as view:
        return view._shown.scene()


def test_a_skin_has_sliders(reduced, rng):
    skin = rf.Skin(reduced, reduced.mesh.surface())
    (body,) = scene_of(skin).bodies
    assert body.labels == ("q1", "q2", "q3", "q4", "q5")
    q = 1e-3 * rng.standard_normal(5)
    moved = body.vertices + np.tensordot(q, body.shapes, 1)
    np.testing.assert_allclose(moved, skin.positions(q), atol=1e-15)


def test_points_have_the_colours_of_their_levels(shell):
    for one in (shell, rf.PointTree(shell)):
        scene = scene_of(one)
        (body,) = scene.bodies
        np.testing.assert_array_equal(body.vertices, shell.points)
        colours = np.array([mark.colour for mark in scene.marks])
        assert len(np.unique(colours, axis=0)) == shell.n_levels > 1
        np.testing.assert_array_equal(body.colours, colours[shell.levels])
        assert scene.marks[0].name == f"level 0: {shell.level_counts[0]} points"
        assert body.labels == ()


def test_points_of_a_model_move_with_it(browser, reduced, shell, rng):
    tree = rf.PointTree(shell, reduced)
    with rf.view(tree, browser=False) as view:
        shown(browser, view)
        browser.run(
            "const inputs = document.querySelectorAll('#sliders input');"
            "inputs[1].value = 400; inputs[1].dispatchEvent(new Event('input'));"
        )
        q = browser.run("return Array.from(window.reducedfem.drawing.bodies[0].q)")
        positions, normals = read(browser)
        centre = view._shown.scene().centre
    assert q[1] > 0.0
    np.testing.assert_allclose(positions + centre, tree.positions(q), atol=1e-7)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    np.testing.assert_allclose(normals, -tree.normals(q), atol=1e-5)


def test_the_field_of_a_model_has_sliders(reduced):
    nodes = reduced.mesh.nodes
    field = rf.DeformedField(rf.BoxField([0, 0, 0], [0.4, 0.1, 0.1]), reduced, nodes)
    (body,) = scene_of(field).bodies
    assert len(body.labels) == reduced.r


def test_the_surface_of_a_field_follows_the_session(reduced):
    nodes = reduced.mesh.nodes
    field = rf.DeformedField(rf.BoxField([0, 0, 0], [0.4, 0.1, 0.1]), reduced, nodes)
    floor = rf.Pointshell([[0.38, 0.05, -0.01]], [[0.0, 0.0, -1.0]])
    contact = rf.PenaltyContact(rf.PointTree(floor), field, 50.0)
    device = rf.ReplayDevice([0.0, 0.05], [[0, 0, 0.0], [0, 0, -0.02]])
    coupling = rf.VirtualCoupling(500.0, 1.0, max_force=20.0, max_depth=0.05)
    moving = rf.ImplicitNewmark(reduced, 1e-3)
    session = rf.HapticSession(
        contact, device, coupling=coupling, field_simulation=moving, budget_us=0
    )
    with rf.view(session, browser=False) as view:
        session.run(80)
        held = view._shown.scene().bodies[-1]
        frame = view._shown.frame()
    q = frame["bodies"][-1]["q"]
    moved = np.abs(np.tensordot(q, held.shapes, 1)).max()
    assert moved > 1e-5
    np.testing.assert_array_equal(q, session.snapshot().field_q)
    session.close()


def test_a_free_body_runs_and_is_where_it_is(bar):
    free = rf.Solid(bar.mesh, rf.StVK(1e5, 0.3, 1000.0))
    reduced = rf.reduce(free, rf.modal_derivative_basis(free, 2, 3))
    body = rf.FreeBody(reduced, 1e-3, gravity=(0.0, 0.0, -9.81))
    body.reset([0.1, 0.2, 0.3], [0.8, 0.6, 0, 0], [0.5, 0.0, 0.2], [3.0, 2.0, 1.0])
    with rf.view(body, browser=False) as view:
        one = view._shown.scene().bodies[0]
        view._shown.watch(True)
        view._shown.command({"kind": "step"})
        while body.state.time == 0.0:
            pass
        place = view._shown.frame()["bodies"][0]
    assert body.state.time == pytest.approx(1e-3)
    local = one.vertices + np.tensordot(place["q"], one.shapes, 1)
    moved = rf.Pose(place["position"], place["quaternion"]).apply(local)
    distance = np.linalg.norm(moved[:, None] - body.positions[None], axis=2).min(axis=1)
    assert distance.max() < 1e-12


def test_a_projected_solid_is_in_its_state(bar):
    basis = rf.modal_derivative_basis(bar, 3, 5)
    sim = rf.ImplicitNewmark(rf.ProjectedSolid(bar, basis), 1e-3)
    force = np.zeros_like(bar.mesh.nodes)
    force[-1, 2] = 1.0
    sim.step(sim.system.project(force), 20)
    with rf.view(sim, browser=False) as view:
        scene = view._shown.scene()
        moved = scene.bodies[0].vertices + view._shown.frame()["bodies"][0]["moved"]
        exact = bar.mesh.nodes + np.tensordot(sim.state.q, basis.vectors, 1)
    distance = np.linalg.norm(moved[:, None] - exact[None], axis=2).min(axis=1)
    assert distance.max() < 1e-12
    assert scene.texts[0].startswith("5 coordinates")
