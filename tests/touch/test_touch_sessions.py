"""Sessions of a hand that touches a surface directly: records, energy, reports, views."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem.viewer.shown_touch import ShownTouch
from touched import circles, replay, session, slab, tip


@pytest.fixture(scope="module")
def pad():
    return slab()


def test_sessions_and_scripts_feel_the_same(pad):
    contact, script, path = tip(pad, friction=0.3), tip(pad, friction=0.3), circles(200)
    records = session(contact, path).run(len(path))
    again = session(contact, path).run(len(path))
    felt = [(*script.touch(x), script.slip, script.depth) for x in path]
    np.testing.assert_array_equal(records.force, [one[0] for one in felt])
    np.testing.assert_array_equal(records.anchor, [one[1] for one in felt])
    np.testing.assert_array_equal(records.slip, [one[3] for one in felt])
    np.testing.assert_array_equal(records.depth, [one[4] for one in felt])
    for name in ("force", "anchor", "slip", "depth_m", "object_position", "flags"):
        np.testing.assert_array_equal(records[name], again[name])
    assert records.flagged("slipping").mean() > 0.5
    touching = records["touching"] > 0
    np.testing.assert_array_equal(records["object_position"][touching], records.anchor[touching])
    np.testing.assert_array_equal(
        records["object_position"][~touching], records["hand_position"][~touching]
    )


def test_friction_takes_energy_from_the_hand_and_nothing_else_does(pad):
    path = circles(400)
    rough = session(tip(pad, friction=0.4), path).run(len(path))["energy_j"]
    smooth = session(tip(pad, friction=0.0), path).run(len(path))["energy_j"]
    assert rough.max() <= 1e-9
    normal = session(tip(pad, friction=0.0), path).run(len(path))["contact_force"][:, 2].max()
    # mu times the normal force times two rounds, less what the stuck anchor has in store
    way = 4.0 * np.pi * 0.02
    assert -rough[-1] == pytest.approx(0.4 * normal * way, rel=0.25)
    assert abs(smooth[-1]) < 0.03 * 0.4 * normal * way


def test_the_body_has_the_state_of_the_session_after_it(pad):
    contact = tip(pad)
    path = circles(100)[:60]
    one = session(contact, path)
    assert one.touched is contact
    assert one.coupling is None
    assert one.contacts == ()
    records = one.run(len(path))
    assert contact.state == "open"
    shot = one.snapshot()
    np.testing.assert_array_equal(shot.anchor, records.anchor[-1])
    np.testing.assert_array_equal(shot.slip, records.slip[-1])
    assert shot.contacts == ()
    assert [body.name for body in shot.bodies] == ["object"]
    one.close()
    assert contact.state != "open"
    np.testing.assert_array_equal(contact.force, records.force[-1])


def test_the_report_has_stiffness_damping_and_depth(pad):
    contact = tip(pad, friction=0.0, max_depth=1e-3)
    one = session(contact, circles(100), workspace=rf.Workspace(force_scale=0.5))
    one.run(100)
    report = one.report()
    c = contact.compliance(0, [1.0, 0.0, 0.0])
    assert report.stiffness > 0.0
    assert report.damping == pytest.approx(0.5e-3 * report.stiffness)
    assert report.delay == 0.0
    assert report.unanswered == 0
    assert report.max_depth == 1e-3
    assert report.too_deep > 0
    assert len(report.advice) == 1
    assert "max_depth, 1 mm" in report.advice[0]
    assert f"{report.damping:.3g} N s/m" in str(report)
    # the largest stiffness is that of the stiffest place that was felt
    stiffest = max(
        np.linalg.eigvalsh(np.linalg.inv(contact.compliance(t, np.full(3, 1 / 3))))[-1]
        for t in range(contact.surface.n_triangles)
    )
    assert 0.0 < report.stiffness < 0.5 * stiffest
    assert c.shape == (3, 3)


def test_the_state_of_another_body_is_refused(pad):
    contact, other = tip(pad), tip(slab((3, 3, 1)))
    one = session(contact, circles(50))
    one.run(10)
    with pytest.raises(rf.InputError, match="touches another body"):
        one._core.restore_touch(other._core)
    one.close()
    assert other.surface.n_triangles < contact.surface.n_triangles
    other.touch([0.06, 0.06, 0.039])


def test_a_tip_that_friction_presses_in_is_reported(pad):
    """Slipping at a large friction is many times as stiff as sticking, and held at four times."""
    path = circles(400, radius=0.055, depth=1e-3)
    rough = session(tip(pad, friction=5.0), path, max_force=1e6)
    records = rough.run(len(path))
    report = rough.report()
    slips = records.flagged("slipping") & (records["depth_m"] > 0.0)
    felt = np.linalg.norm(records["contact_force"][slips], axis=1) / records["depth_m"][slips]
    assert report.stiffness >= felt.max() * (1.0 - 1e-9)
    smooth = session(tip(pad, friction=0.3), path, max_force=1e6)
    smooth.run(len(path))
    assert report.stiffness > 2.0 * smooth.report().stiffness
    assert report.depth < report.max_depth
    assert report.too_deep > 0
    assert ["jammed" in one for one in report.advice] == [True]
    assert "LIMIT" not in str(report)
    assert not smooth.report().advice


def test_records_with_anchors_are_saved_and_loaded(pad, tmp_path):
    records = session(tip(pad), circles(60)).run(90)
    records.save(tmp_path / "touch.npy")
    loaded = rf.HapticRecords.load(tmp_path / "touch.npy")
    assert loaded.array.dtype == records.array.dtype
    np.testing.assert_array_equal(loaded.anchor, records.anchor)
    with pytest.raises(rf.InputError, match="anchor"):
        rf.HapticRecords(np.zeros(1, rf.io.record_file.RECORD)).anchor  # noqa: B018


def test_a_session_runs_in_its_thread_and_again(pad):
    contact = tip(pad)
    path = np.tile([0.06, 0.06, 0.039], (2, 1))
    one = rf.HapticSession(contact, replay(path), duration=0.05, lock_memory=False)
    with one:
        assert one.wait(20.0)
        one.stop()
        one.start()
        assert one.wait(20.0)
    report = one.report()
    assert report.phase == "finished"
    assert report.touching > 0
    assert contact.state == "stick" or contact.state == "open"


def test_views_draw_the_dent_of_the_present_contact(pad):
    """The vertices of the page move as the nodes; the tip is at the hand."""
    turned = rf.Pose((0.1, 0.0, 0.0), (0.6, 0.0, 0.0, 0.8))
    contact = tip(pad, pose=turned)
    path = np.array([turned.apply(x) for x in circles(100)[:70]])
    one = session(contact, path)
    shown = ShownTouch(one, "z")
    scene = shown.scene()
    assert [body.name for body in scene.bodies] == ["body", "tool (held object)"]
    assert shown.frame()["bodies"] == []
    one.run(len(path))
    body, hand = shown.frame()["bodies"]
    np.testing.assert_allclose(hand["position"], path[-1])
    np.testing.assert_array_equal(body["position"], turned.position)
    one.close()
    u = contact.displacement()
    assert np.abs(u).max() > 1e-4
    node = {tuple(x): k for k, x in enumerate(pad[0].positions)}
    seen = scene.bodies[0].vertices
    expected = [u[node[tuple(x)]] if tuple(x) in node else (0, 0, 0) for x in seen]
    np.testing.assert_allclose(body["moved"], expected, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(body["normals"], axis=1), 1.0)
    assert len(shown.frame()["arrows"]) == 1
