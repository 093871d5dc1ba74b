"""Views of recorded motions of worlds."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from dimpled_worlds import AT, falling, make_pad, pressed
from pages import DRAWN, read

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")


def scene_of(world, motion):
    with rf.view(world, motion=motion, browser=False) as view:
        return view._shown.scene()


def moved(scene, k, s):
    """Return the vertices of body k in state s."""
    body, (track,) = scene.bodies[k], [one for one in scene.clip.tracks if one.body == k]
    rest = body if body.like is None else scene.bodies[body.like]
    bent = rest.vertices
    if track.q is not None:
        bent = bent + np.tensordot(track.q[s], rest.shapes, 1)
    return rf.Pose(track.places[s, :3], track.places[s, 3:]).apply(bent)


def test_bodies_move_as_they_did(browser, tmp_path):
    world = falling()
    motion = rf.record_motion(world, 120, every=20)
    scene = scene_of(world, motion)
    assert [one.name for one in scene.bodies] == ["body 0", "body 1", "body 2", "ground"]
    assert scene.texts == ("3 bodies, dt = 0.001 s", "7 states")
    for k in range(3):
        nodes = world.nodes(k)
        away = np.linalg.norm(moved(scene, k, 6)[:, None] - nodes[None], axis=2).min(axis=1)
        assert away.max() < 1e-9
        low, high = moved(scene, k, 0).min(axis=0), moved(scene, k, 6).max(axis=0)
        assert (scene.box[0] <= low).all()
        assert (high <= scene.box[1]).all()
    # the ground is below the whole way
    ground = scene.bodies[-1].vertices
    assert ground[:, 0].min() < scene.box[0, 0]
    assert ground[:, 0].max() > scene.box[1, 0]
    rf.export_html(tmp_path / "fall.html", world, motion=motion)
    browser.open((tmp_path / "fall.html").as_uri())
    browser.wait(DRAWN)
    browser.run(
        "const { player } = window.reducedfem; player.playing = false;"
        "player.now = player.times[6]; window.reducedfem.showPlayer();"
    )
    # all of the motion is seen at first
    radius = browser.run("return window.reducedfem.camera.radius;")
    assert radius == pytest.approx(0.5 * np.linalg.norm(scene.box[1] - scene.box[0]), rel=1e-5)
    for k in range(3):
        positions, _ = read(browser, k)
        np.testing.assert_allclose(positions, moved(scene, k, 6) - scene.centre, atol=1e-6)


def test_dimples_are_played():
    pad = make_pad()
    world = pressed(pad, 0)
    motion = rf.record_motion(world, 60, every=3)
    scene = scene_of(world, motion)
    still, frame = rf.view(world, browser=False), None
    with still:
        live = still._shown
        rest = live.scene().bodies[1]
        frame = live.frame()["dimples"][0]["moved"]
    exact = AT.apply(rest.vertices + frame)
    size = np.abs(frame).max()
    assert size > 1e-4
    np.testing.assert_allclose(moved(scene, 1, len(motion) - 1), exact, atol=5e-3 * size)
    # the pad that nothing touches has no shapes, and stays
    assert scene.bodies[2].shapes is None
    np.testing.assert_array_equal(scene.clip.tracks[2].places[:, 0], 5.0)


def test_other_objects_are_refused():
    world = falling(1)
    motion = rf.record_motion(world, 1)
    with pytest.raises(rf.InputTypeError, match="pass its world, as view\\(world, motion=motion"):
        rf.view(motion, browser=False)
    with pytest.raises(rf.InputTypeError, match="motion must be a WorldMotion, got Motion"):
        rf.view(world, motion=motion.bodies[0], browser=False)
    with pytest.raises(rf.InputTypeError, match="motion must be a Motion, got WorldMotion"):
        rf.view(world.bodies[0].reduced, motion=motion, browser=False)


def test_progress_is_reported_or_refused(tmp_path):
    world, counts = pressed(make_pad(), 0), []
    motion = rf.record_motion(world, 9, every=3)
    path = tmp_path / "pressed.html"
    rf.export_html(path, world, motion=motion, progress=lambda a, b: counts.append((a, b)))
    assert counts == [(1, 2), (2, 2)]
    for wrong in ("yes", 5):
        for x, options in ((world, {}), (world, {"motion": motion}), (world.bodies[0], {})):
            with pytest.raises(rf.InputTypeError, match="progress must be True, False, None or a"):
                rf.export_html(path, x, progress=wrong, **options)
