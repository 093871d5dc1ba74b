"""Fixed bodies and dimples of local compliance in views of worlds."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from dimpled_worlds import AT, BOX, DEEP, HALF, falling, make_pad, model, pressed
from pages import read, shown

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

UPSIDE_DOWN = (0.0, 1.0, 0.0, 0.0)
SLAB = rf.BoxField((-0.05, -0.05, -DEEP), (0.05, 0.05, 0.0))  # its sides are far from points


@pytest.fixture(scope="module")
def pad():
    return make_pad()


def test_fixed_bodies_are_drawn_with_their_dimples(pad, browser):
    world = pressed(pad)
    u = world.dimple(-2)
    with rf.view(world, browser=False) as view:
        scene, frame = view._shown.scene(), view._shown.frame()
        assert [one.name for one in scene.bodies] == ["body 0", "fixed body -2", "fixed body -3"]
        assert scene.texts[0].startswith("1 body, 2 fixed")
        (dent,) = frame["dimples"]
        assert dent["body"] == 1
        body = scene.bodies[1]
        # a vertex at a point of the shell moves as it does
        away = np.linalg.norm(body.vertices[:, None] - pad.tree.shell.points[None], axis=2)
        vertex, point = np.nonzero(away < 1e-9)
        top = body.normals[vertex, 2] > 0.9
        assert top.sum() >= 81
        size = np.abs(u).max()
        np.testing.assert_allclose(dent["moved"][vertex[top]], u[point[top]], atol=1e-6 * size)
        assert np.ptp(dent["moved"][:, 2]) > 0.9 * np.ptp(u[:, 2])
        below = body.vertices[:, 2] < 1e-9 - DEEP
        assert below.any()
        assert not dent["moved"][below].any()
        shown(browser, view)
        browser.wait("window.reducedfem.drawing.bodies[1].moved")
        positions, _ = read(browser, 1)
        exact = AT.apply(body.vertices + dent["moved"]) - scene.centre
        np.testing.assert_allclose(positions, exact, atol=1e-6)
        far, _ = read(browser, 2)
        exact = scene.bodies[2].vertices + np.array([5.0, 0, 0]) - scene.centre
        np.testing.assert_allclose(far, exact, atol=1e-6)


def test_a_body_with_local_compliance_is_drawn_with_it(pad):
    """A model has the dimple on its skin, beside one that shares no geometry with it."""
    reduced = model(1e5, 1000.0)
    box = rf.BoxField((-HALF,) * 3, (HALF,) * 3)
    solid = rf.Solid(reduced.mesh, rf.StVK(1e5, 0.3, 1000.0))
    tree = rf.PointTree(rf.Pointshell.from_field(box, 200), reduced)
    local = rf.LocalCompliance(tree, solid)
    world = rf.World(1e-3, (0, 0, -9.81), rf.PlaneField((0, 0, 0), (0, 0, 1)))
    for x in (0.0, 0.1):
        body = rf.FreeBody(reduced, 1e-3)
        body.reset((x, 0, HALF - 1e-5))
        world.add(body, tree, local=local if x else None)
    world.step(20)
    assert world.dimple(1).any()
    with rf.view(world, browser=False) as view:
        scene, frame = view._shown.scene(), view._shown.frame()
        assert [one.like for one in scene.bodies] == [None, None, None]
        dent, ground = frame["dimples"]
        assert ground["body"] == 2
        assert dent["body"] == 1
        assert dent["moved"].shape == scene.bodies[1].vertices.shape
        assert np.abs(dent["moved"]).max() == pytest.approx(np.abs(world.dimple(1)).max(), rel=0.5)
        np.testing.assert_allclose(np.linalg.norm(dent["normals"], axis=1), 1.0, atol=1e-9)
        assert scene.bodies[1].shapes.shape[0] == reduced.r


def test_a_layer_on_a_rigid_core_is_drawn_with_it(pad, browser):
    world = rf.World(1e-3, (0, 0, -9.81))
    world.add_fixed(pad, field=SLAB)
    upper = rf.FreeBody(model(density=2000.0), 1e-3)
    upper.reset((0, 0, -1e-5), UPSIDE_DOWN)
    world.add(upper, pad.tree, local=pad)
    world.step(30)
    core = 24  # vertices of a cube with creases, or more
    with rf.view(world, browser=False) as view:
        scene, frame = view._shown.scene(), view._shown.frame()
        lower, body = scene.bodies[1], scene.bodies[0]
        n = len(body.vertices) - len(lower.vertices)
        assert n >= core
        np.testing.assert_array_equal(body.vertices[n:], lower.vertices)
        assert not body.shapes[:, n:].any()
        dents = {one["body"]: one for one in frame["dimples"]}
        assert not dents[0]["moved"][:n].any()
        # both surfaces yield alike
        np.testing.assert_allclose(
            dents[0]["moved"][n:, 2].min(), dents[1]["moved"][:, 2].min(), rtol=0.05
        )
        assert scene.box[1, 2] > 0.9 * DEEP
        shown(browser, view)
        browser.wait("window.reducedfem.drawing.bodies[0].moved")
        positions, _ = read(browser)
        place = rf.Pose(frame["places"][0][:3], frame["places"][0][3:])
        bent = body.vertices[n:] + dents[0]["moved"][n:]
        np.testing.assert_allclose(positions[n:], place.apply(bent) - scene.centre, atol=1e-6)


def test_a_file_has_bodies_where_they_are(pad):
    world = pressed(pad)
    with rf.view(world, browser=False) as view:
        live, frame = view._shown.scene(), view._shown.frame()
        saved = view._shown.saved()
        np.testing.assert_allclose(
            np.linalg.norm(saved.bodies[0].vertices[:, None] - world.nodes(0)[None], axis=2)
            .min(axis=1)
            .max(),
            0.0,
            atol=1e-9,
        )
        exact = AT.apply(live.bodies[1].vertices + frame["dimples"][0]["moved"])
        np.testing.assert_allclose(saved.bodies[1].vertices, exact, atol=1e-12)
        assert [one.colour for one in saved.bodies] == [one.colour for one in live.bodies]
        assert all(one.shapes is None for one in saved.bodies)


def test_a_world_at_rest_has_no_dimples(pad):
    world = rf.World(1e-3)
    world.add_fixed(pad)
    body = rf.FreeBody(model(), 1e-3)
    body.reset((0, 0, 0.1))
    world.add(body, None, rf.BoxField((-HALF,) * 3, (HALF,) * 3))
    with rf.view(world, browser=False) as view:
        assert view._shown.frame()["dimples"] == []
        # both are seen at first
        assert view._shown.scene().box[0, 2] == pytest.approx(-DEEP)


def test_a_world_of_fixed_bodies_alone_is_shown(pad):
    world = rf.World(1e-3)
    world.add_fixed(pad)
    world.add_fixed(pad, (1.0, 0, 0))
    with rf.view(world, browser=False) as view:
        scene, frame = view._shown.scene(), view._shown.frame()
    assert [one.name for one in scene.bodies] == ["fixed body -2", "fixed body -3"]
    assert scene.bodies[0].vertices is scene.bodies[1].vertices
    np.testing.assert_array_equal(frame["places"][:, 0], [0.0, 1.0])
    with pytest.raises(rf.InputError, match="World without bodies"):
        rf.view(rf.World(1e-3), browser=False)


def test_the_ground_follows_the_bodies(browser):
    """Bodies that leave the square of the ground have one below them; the page draws it there."""
    world = rf.World(1e-3, ground=rf.PlaneField((0, 0, 0), (0, 0, 1)))
    like = falling(1).bodies[0]
    tree = rf.PointTree(rf.Pointshell.from_field(BOX, 200), like.reduced)
    for x in (-0.05, 0.05):
        like.reset((x, 0, 0.2), velocity=(100.0 * x, 1.0, 0))
        world.add(like, tree)
    with rf.view(world, browser=False) as view:
        scene, frame = view._shown.scene(), view._shown.frame()
        assert scene.bodies[-1].name == "ground"
        (same,) = frame["dimples"]
        assert same["body"] == 2
        assert not same["moved"].any()
        assert len(frame["places"]) == 3
        shown(browser, view)
        world.step(200)
        (there,) = view._shown.frame()["dimples"]
        corners = scene.bodies[-1].vertices + there["moved"]
        low, high = corners.min(axis=0), corners.max(axis=0)
        for place in world.positions[:, :2]:
            assert (low[:2] < place).all()
            assert (place < high[:2]).all()
        np.testing.assert_allclose(corners[:, 2], 0.0, atol=1e-12)
        browser.wait("window.reducedfem.drawing.bodies[2].moved?.some((x) => x !== 0)")
        positions, _ = read(browser, 2)
        np.testing.assert_allclose(positions, corners - scene.centre, atol=1e-5)


def test_saving_leaves_the_ground_of_pages(tmp_path):
    world = rf.World(1e-3, ground=rf.PlaneField((0, 0, 0), (0, 0, 1)))
    like = falling(1).bodies[0]
    like.reset((0, 0, 0.2), velocity=(5.0, 0, 0))
    world.add(like, rf.PointTree(rf.Pointshell.from_field(BOX, 200), like.reduced))
    with rf.view(world, browser=False) as view:
        scene = view._shown.scene()
        # far from where the scene was made
        world.step(400)
        (before,) = view._shown.frame()["dimples"]
        view.save(tmp_path / "world.html")
        (after,) = view._shown.frame()["dimples"]
        assert np.abs(before["moved"]).max() > 1.0
        np.testing.assert_array_equal(after["moved"], before["moved"])
        exact = scene.bodies[1].vertices + after["moved"]
        low, high = exact.min(axis=0), exact.max(axis=0)
        place = world.positions[0, :2]
        assert ((low[:2] < place) & (place < high[:2])).all()
        # that of the file is below the body, too
        ground = view._shown.saved().bodies[1].vertices
        assert ((ground.min(axis=0)[:2] < place) & (place < ground.max(axis=0)[:2])).all()
