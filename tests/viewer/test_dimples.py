"""Dimples of local compliance on the page of a session."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from friction_sessions import session
from pages import DRAWN, read, shown
from reducedfem import _core
from reducedfem.contact.contact import ContactPoints
from reducedfem.contact.dimple import Dimple, fine_surface
from reducedfem.io.record_file import record_dtype
from reducedfem.viewer.shown_contact import shell_body
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

SIDE, DEEP = 0.08, 0.04  # m, of the block
BALL = 0.012  # m
INTO = 0.002  # m, of the ball below the surface, at most


@pytest.fixture(scope="module")
def block():
    """Return a block, fixed below, whose top is at z = 0; its model is coarse."""
    nodes, cells = box_hexes(16, 16, 6, (SIDE, SIDE, DEEP))
    mesh = rf.Mesh(nodes - [0.5 * SIDE, 0.5 * SIDE, DEEP], cells)
    solid = rf.Solid(mesh, rf.StVK(5e4, 0.3, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9 - DEEP)
    return solid, rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 6))


def pressed(tree, solid, simulation=None):
    """Return a session in which a ball is pressed on the block, off its middle."""
    local = rf.LocalCompliance(tree, solid)
    ball = rf.SphereField((0.0, 0.0, 0.0), BALL)
    contact = rf.FrictionContact(tree, ball, 0.2, budget_us=1e6, local=local)
    path = np.tile([0.006, 0.003, BALL - INTO], (60, 1))
    path[:, 2] += np.linspace(INTO, 0.0, 60)
    coupling = rf.VirtualCoupling(20_000.0, torsional_stiffness=5.0)
    return session(contact, path, coupling=coupling, simulation=simulation)


def depth_of(points, shot):
    """Return how deep points are inside of the ball [m]."""
    return BALL - np.linalg.norm(points - shot.bodies[-1].position, axis=1)


def frame_of(view):
    """Return the vertices of the shell, without and with its dimple, and the frame."""
    body, frame = view._shown.scene().bodies[0], view._shown.frame()
    state = frame["bodies"][0]
    whole = body.vertices
    if body.shapes is not None:
        whole = whole + np.tensordot(state["q"], body.shapes, 1)
    return whole, whole + state["moved"], frame


@pytest.fixture(scope="module")
def upper(block):
    """Return points of the upper side of the block, between its nodes."""
    s = np.linspace(-0.037, 0.037, 30)
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    points = np.stack([x, y, 0.0 * x], 1)
    return rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))


def test_the_shown_surface_lies_at_the_tool(block, upper, browser):
    solid, reduced = block
    moves = rf.BackwardEuler(reduced, 1e-3, damping=(5.0, 1e-3))
    one = pressed(rf.PointTree(upper, reduced), solid, moves)
    with rf.view(one, browser=False) as view:
        shown(browser, view)
        one.run(60)
        without, vertices, frame = frame_of(view)
        shot = view._shown._last
        # without the dimple the ball is far inside of the surface
        assert depth_of(without, shot).max() > 0.3 * INTO
        assert abs(depth_of(vertices, shot).max()) < 0.1 * INTO
        # sides without points stay where the model has them, and so do fixed nodes
        moved = np.abs(vertices - without).max(axis=1)
        below = view._shown.scene().bodies[0].vertices[:, 2] < 1e-9 - DEEP
        assert below.any()
        assert not moved[below].any()
        # touching points are at the bottom of it
        points = frame["dots"][0]["points"]
        assert len(points) >= 4
        assert np.abs(depth_of(points, shot)).max() < 0.05 * INTO
        browser.wait("window.reducedfem.drawing.bodies[0].moved")
        positions, normals = read(browser)
        scene = view._shown.scene()
        np.testing.assert_allclose(positions, vertices - scene.centre, atol=1e-6)
        expected = _core.surface_normals(vertices, scene.bodies[0].triangles)
        turned = 1.0 - (expected * scene.bodies[0].normals).sum(axis=1).min()
        length = np.linalg.norm(normals, axis=1)
        left = 1.0 - ((expected * normals).sum(axis=1) / length).min()
        # they follow the dimple, and the model to first order
        assert left < 0.05 * turned
    one.close()


def test_points_of_a_rigid_tree_move(block, upper):
    solid, _ = block
    one = pressed(rf.PointTree(upper), solid)
    with rf.view(one, browser=False) as view:
        assert view._shown.frame()["bodies"] == []
        one.run(60)
        without, points, _ = frame_of(view)
        shot = view._shown._last
        assert len(points) == upper.n_points
        assert depth_of(without, shot).max() > 0.3 * INTO
        depth = depth_of(points, shot)
        assert depth.max() < 0.05 * INTO
        np.testing.assert_allclose(depth[shot.contacts[0].indices], 0.0, atol=0.05 * INTO)
    one.close()


def test_a_coarse_surface_is_refined_for_the_dimple(block, upper):
    solid, reduced = block
    local = rf.LocalCompliance(rf.PointTree(upper, reduced), solid)
    surface = fine_surface(local)
    coarse = solid.mesh.surface()
    assert surface.n_vertices > 1.5 * coarse.n_vertices
    np.testing.assert_array_equal(surface.vertices[: coarse.n_vertices], coarse.vertices)
    assert fine_surface(rf.LocalCompliance(rf.PointTree(upper), solid)) is None


def test_a_turned_body_takes_the_forces_in_its_own_frame(block, upper):
    """Dimple of a force in the world: that of the force turned back."""
    solid, reduced = block
    tree = rf.PointTree(upper, reduced)
    local = rf.LocalCompliance(tree, solid)
    dimple = Dimple(local, shell_body(tree, "shell", 0, fine_surface(local)))
    turn = rf.Pose((0.1, 0.2, 0.3), (0.8, 0.0, 0.6, 0.0))
    force = np.array([[0.1, 0.2, -0.7], [0.0, 0.1, -0.2]])
    points, none = np.array([3, 40], np.int32), np.zeros((2, 3))
    way = rf.Pose((0.0, 0.0, 0.0), turn.quaternion)
    touching = [ContactPoints(points, none, np.zeros(2), none, -way.apply(force))]
    u = dimple.at_points(touching, turn)
    np.testing.assert_allclose(u, local.displacement(force, points), atol=1e-15)
    assert dimple.at_points([ContactPoints(points, none, np.zeros(2), none, none)], turn) is None


def test_fixed_nodes_beside_points_rest(block):
    """The shell has points on the fixed side, too, which do not move in linear statics."""
    solid, reduced = block
    s = np.linspace(-0.03, 0.03, 13)
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    points = np.concatenate([np.stack([x, y, 0.0 * x - z], 1) for z in (0.0, DEEP)])
    normals = np.repeat([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]], len(x), axis=0)
    tree = rf.PointTree(rf.Pointshell(points, normals), reduced)
    local = rf.LocalCompliance(tree, solid)
    body = shell_body(tree, "shell", 0, fine_surface(local))
    u = np.ones((len(points), 3))
    moved = Dimple(local, body).frame(u)["moved"]
    below = body.vertices[:, 2] < 1e-9 - DEEP
    assert below.any()
    assert not moved[below].any()
    middle = (body.vertices[:, 2] > -1e-9) & (np.abs(body.vertices[:, :2]) < 0.03).all(axis=1)
    np.testing.assert_allclose(moved[middle], 1.0)


# ---- records


def played(made, records):
    """Return the scene of records, and the surface of a shell in a cycle."""
    with rf.view(made, records=records, browser=False) as view:
        scene = view._shown.scene()

    def vertices(k):
        (track,) = (one for one in scene.clip.tracks if one.body == 0)
        return scene.bodies[0].vertices + np.tensordot(track.q[k], scene.bodies[0].shapes, 1)

    return scene, vertices


@pytest.mark.parametrize("rigid", [False, True])
def test_recorded_dimples_are_those_of_the_session(block, upper, rigid):
    solid, reduced = block
    moves = None if rigid else rf.BackwardEuler(reduced, 1e-3, damping=(5.0, 1e-3))
    made = pressed(rf.PointTree(upper, None if rigid else reduced), solid, moves)
    with rf.view(made, browser=False) as view:
        records = made.run(60)
        without, expected, _ = frame_of(view)
        moved = np.abs(expected - without).max()
    made.close()
    assert moved > 0.3 * INTO
    scene, vertices = played(made, records)
    assert not any("dimple" in text for text in scene.texts)
    assert len(scene.clip.tracks) == 2
    np.testing.assert_allclose(vertices(59), expected, rtol=0, atol=0.03 * moved)
    # before the contact
    first = int(np.flatnonzero(records["touching"] > 0)[0])
    body, r = scene.bodies[0], 0 if rigid else reduced.r
    assert first > 0
    assert not scene.clip.tracks[0].q[:first, r:].any()
    assert len(body.tilts) == len(body.shapes) == scene.clip.tracks[0].q.shape[1] > r
    assert rigid == (len(body.triangles) == 0)


def test_pages_play_recorded_dimples(block, upper, browser, tmp_path):
    solid, reduced = block
    moves = rf.BackwardEuler(reduced, 1e-3, damping=(5.0, 1e-3))
    made = pressed(rf.PointTree(upper, reduced), solid, moves)
    records = made.run(60)
    made.close()
    records.save(tmp_path / "dimples.npy")
    again = rf.HapticRecords.load(tmp_path / "dimples.npy")
    np.testing.assert_array_equal(again.array, records.array)
    rf.export_html(tmp_path / "played.html", made, records=again)
    browser.open((tmp_path / "played.html").as_uri())
    browser.wait(DRAWN)
    browser.run(
        "const { player } = window.reducedfem; player.playing = false;"
        "player.now = player.times[59]; window.reducedfem.showPlayer();"
    )
    scene, vertices = played(made, again)
    positions, _ = read(browser)
    np.testing.assert_allclose(positions, vertices(59) - scene.centre, atol=1e-6)


def test_records_of_earlier_versions_have_none(block, upper):
    solid, reduced = block
    moves = rf.BackwardEuler(reduced, 1e-3, damping=(5.0, 1e-3))
    made = pressed(rf.PointTree(upper, reduced), solid, moves)
    records = made.run(60)
    made.close()
    old = np.zeros(60, record_dtype(0, reduced.r))
    for name in old.dtype.names:
        old[name] = records[name]
    scene, _ = played(made, rf.HapticRecords(old))
    assert "the records have no dimples of a local compliance" in scene.texts
    assert len(scene.bodies[0].shapes) == reduced.r


def test_damaged_forces_are_left_out(block, upper):
    """Contacts and points out of range, as of a damaged file."""
    solid, _ = block
    made = pressed(rf.PointTree(upper), solid)
    records = made.run(60)
    made.close()
    wrong = records.array.copy()
    wrong["site_point"] = upper.n_points
    wrong["site_contact"][:30] = 7
    with pytest.warns(rf.PlausibilityWarning, match="probably those of other objects"):
        scene, _ = played(made, rf.HapticRecords(wrong))
    assert scene.bodies[0].shapes is None
