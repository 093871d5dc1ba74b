"""Views of recorded sessions whose hand touched a body directly."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import reducedfem as rf
from explicit_touch import above, touched
from explicit_touch import session as explicit_session
from pages import DRAWN, read
from reducedfem.viewer.shown_contact import HELD
from reducedfem.viewer.shown_touch import _reason
from shapes import box_hexes
from touched import LAW, circles, session, slab, tip

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

POSE = rf.Pose((0.3, -0.1, 0.2), (0.8, 0.0, 0.6, 0.0))


@pytest.fixture(scope="module")
def pad():
    return slab()


@pytest.fixture(scope="module")
def played(pad):
    """Return a session of a body that is not in the frame of the world, and its records."""
    made = session(tip(pad, pose=POSE), POSE.apply(circles(200)))
    records = made.run(300)
    yield made, records
    made.close()


def scene_of(x, records):
    with rf.view(x, records=records, browser=False) as view:
        return view._shown.scene()


def states(pad, path):
    """Return displacements of the surface in each cycle, by a script."""
    contact, found = tip(pad), []
    places = contact._core.places()
    for x in path:
        # those of the anchor that the force belongs to, before it slips
        contact.touch(x)
        found.append(np.concatenate([contact.displacement(), np.zeros((1, 3))])[places])
    return np.array(found)


def test_the_body_has_the_dents_of_the_session(pad, played):
    made, records = played
    with warnings.catch_warnings():
        warnings.simplefilter("error", rf.PlausibilityWarning)
        scene = scene_of(made, records)
    assert [one.name for one in scene.bodies] == ["body", HELD]
    body, track = scene.bodies[0], scene.clip.tracks[0]
    assert len(body.shapes) < 60
    moved = np.tensordot(track.q, body.shapes, 1)
    expected = states(pad, circles(200)[: len(records)])
    # its vertices are split at creases
    surface = pad[1]
    source = [int(np.argmin(np.abs(surface.vertices - x).sum(axis=1))) for x in body.vertices]
    size = np.abs(expected).max()
    assert size > 1e-4
    np.testing.assert_allclose(moved, expected[:, source], atol=0.02 * size)
    np.testing.assert_array_equal(track.places[5], [*POSE.position, *POSE.quaternion])
    np.testing.assert_array_equal(scene.clip.tracks[1].places[:, :3], records["hand_position"])


def test_dents_follow_a_release_at_a_time():
    """Records have those of the Green's functions of their time, and give no warning."""
    nodes, elements = box_hexes(12, 6, 2, (0.24, 0.12, 0.04))
    mesh = rf.Mesh(nodes, elements)
    left, right = nodes[:, 0] < 1e-9, nodes[:, 0] > 0.24 - 1e-9
    parts = rf.GreensFunctions(rf.Solid(mesh, LAW, left | right), releasable=right), mesh.surface()
    contact = tip(parts, radius=0.022)
    contact.release(right, at=0.15)
    path = np.linspace([0.12, 0.06, 0.045], [0.12, 0.06, 0.037], 100)
    made = session(contact, np.concatenate([path, np.tile(path[-1], (200, 1))]))
    records = made.run(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", rf.PlausibilityWarning)
        scene = scene_of(made, records)
        # the session's contact has released; one that is new will
        made.close()
        assert len(scene_of(made, records).bodies) == 2
    # one without the release is not taken for another body
    fresh = tip(parts, radius=0.022)
    expected = (
        r"agrees with the records up to 0\.1\d\d s, and from 0\.1\d\d s on .* supports were "
        r"probably released by 0\.1\d\d s, and x holds 21 that .* or it is another body"
    )
    with pytest.warns(rf.PlausibilityWarning, match=expected) as seen:
        scene_of(fresh, records)
    before, first, named = (
        float(text) for text in re.findall(r"(0\.\d\d\d) s", str(seen[0].message))
    )
    assert before < first == named
    assert first > 0.15
    body, track = scene.bodies[0], scene.clip.tracks[0]
    moved = np.tensordot(track.q, body.shapes, 1)
    end = body.vertices[:, 0] > 0.24 - 1e-9
    dent = np.abs(moved[:, :, 2]).max()
    assert np.abs(moved[:150, end]).max() < 1e-2 * dent  # compressed
    assert np.abs(moved[220, end, 2]).max() > 0.05 * dent
    between = np.abs(moved[175, end, 2]).max() / np.abs(moved[220, end, 2]).max()
    assert 0.1 < between < 0.9


def test_a_release_after_the_deepest_cycles_is_noticed():
    """The deepest cycles agree, those that come last do not."""
    nodes, elements = box_hexes(12, 6, 2, (0.24, 0.12, 0.04))
    mesh = rf.Mesh(nodes, elements)
    left, right = nodes[:, 0] < 1e-9, nodes[:, 0] > 0.24 - 1e-9
    parts = rf.GreensFunctions(rf.Solid(mesh, LAW, left | right), releasable=right), mesh.surface()
    contact = tip(parts, radius=0.022)
    contact.release(right, at=0.2)
    deep, light = [0.12, 0.06, 0.035], [0.12, 0.06, 0.038]
    path = np.concatenate([
        np.linspace([0.12, 0.06, 0.045], deep, 100), np.linspace(deep, light, 60),
        np.tile(light, (140, 1)),
    ])  # fmt: skip
    made = session(contact, path)
    records = made.run(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", rf.PlausibilityWarning)
        scene_of(made, records)
        made.close()
    with pytest.warns(rf.PlausibilityWarning, match=r"released by 0\.2\d\d s, and x holds 21"):
        scene_of(tip(parts, radius=0.022), records)


@pytest.mark.parametrize(
    ("agree", "held", "expected"),
    [
        ("1" * 20 + "0" * 20, 4, "up to 100.019 s, and from 100.020 s on D: supports were"),
        ("1" * 20 + "0" * 20, 0, "100.020 s on D: the records are probably those of another body"),
        ("1" * 12 + "01" + "0" * 26, 4, "up to 100.011 s, .* released by 100.012 s, .* or it is"),
        ("1110101" * 5 + "0" * 5, 4, "probably those of a body of another stiffness"),
        (
            "11" + "0" * 38,
            4,
            "probably those of a body of another stiffness .* or x holds supports",
        ),
        ("01" * 20, 4, "probably those of a body of another stiffness"),
        ("0" * 40, 0, "or of a tip of another radius: D"),
    ],
)
def test_causes_of_other_stiffnesses(agree, held, expected):
    times = 100.0 + 1e-3 * np.arange(40)
    text = _reason(times, np.array([one == "1" for one in agree]), held, "D")
    assert re.search(expected, text), text
    assert ("supports" in text) == (held > 0)


def test_a_page_plays_them(played, browser, tmp_path):
    made, records = played
    rf.export_html(tmp_path / "played.html", made, records=records)
    browser.open((tmp_path / "played.html").as_uri())
    browser.wait(DRAWN)
    k = int(np.argmax(records["depth_m"]))
    browser.run(
        "const { player } = window.reducedfem; player.playing = false;"
        f"player.now = player.times[{k}]; window.reducedfem.showPlayer();"
    )
    scene = scene_of(made, records)
    body, track = scene.bodies[0], scene.clip.tracks[0]
    moved = body.vertices + np.tensordot(track.q[k], body.shapes, 1)
    positions, _ = read(browser, 0)
    np.testing.assert_allclose(positions, POSE.apply(moved) - scene.centre, atol=1e-6)


def test_the_contact_of_a_session_is_shown_as_the_session(pad, played, tmp_path):
    made, records = played
    scene, same = (scene_of(x, records) for x in (made, tip(pad, pose=POSE)))
    np.testing.assert_array_equal(same.bodies[0].shapes, scene.bodies[0].shapes)
    np.testing.assert_array_equal(same.clip.tracks[0].q, scene.clip.tracks[0].q)
    rf.export_html(tmp_path / "tip.html", tip(pad, pose=POSE), records=records)
    with pytest.raises(rf.InputTypeError, match="pass its session, or records= of one"):
        rf.export_html(tmp_path / "tip.html", tip(pad))


def test_long_records_are_thinned(played):
    made, records = played
    long = rf.HapticRecords(np.tile(records.array, 5))
    long.array["time_s"] = 1e-3 * np.arange(len(long.array))
    scene = scene_of(made, long)
    assert len(scene.clip.times) <= 600
    assert "one of 3 that were recorded" in scene.texts[0]


def test_records_of_another_body_are_noticed(played, pad):
    made, records = played
    other = session(tip(pad), circles(200))
    with pytest.warns(
        rf.PlausibilityWarning, match=r"of another body .* are up to \d+ mm from its surface"
    ) as seen:
        rf.view(other, records=records, browser=False).close()
    assert seen[0].filename == __file__
    other.close()
    softer = session(tip(slab(law=rf.StVK(8e4, 0.3, 1000.0)), pose=POSE), circles(200))
    with pytest.warns(rf.PlausibilityWarning, match="a body of another stiffness") as seen:
        rf.view(softer, records=records, browser=False).close()
    assert seen[0].filename == __file__
    by, made_by = map(float, re.findall(r"([\d.]+) mm", str(seen[0].message)))
    assert by == pytest.approx(1.25 * made_by, rel=5e-3)
    softer.close()
    shell = rf.PointTree(rf.Pointshell.from_field(rf.SphereField((0, 0, 0), 0.02), 400))
    contact = rf.PenaltyContact(shell, rf.SphereField((0, 0, 0), 0.02), 500.0)
    coupling = rf.VirtualCoupling(100.0, 1.0)
    device = rf.ReplayDevice([0.0, 0.1], [[0, 0, 0.05], [0, 0, 0.05]])
    rigid = rf.HapticSession(contact, device, coupling=coupling)
    with pytest.raises(rf.InputError, match="the records are those of a session with contacts"):
        scene_of(made, rigid.run(10))
    with pytest.raises(rf.InputError, match="the records have anchor and slip of a touched body"):
        scene_of(rigid, records)


def test_a_solid_in_explicit_steps_is_drawn_at_rest():
    way = np.linspace([0.0, 0.0, 1e-3], [0.0, 0.0, -2e-3], 50)
    device = rf.ReplayDevice(1e-3 * np.arange(50), above(*way))
    made = explicit_session(touched()[0], device)
    records = made.run(50)
    scene = scene_of(made, records)
    made.close()
    assert scene.clip.tracks[0].q is None
    assert "the records have no displacements of the solid: it is drawn at rest" in scene.texts


def test_figures_of_records_have_levels_only_with_pointshells(played):
    pytest.importorskip("matplotlib")
    from reducedfem.pictures.sessions import session_figure

    _, records = played
    labels = [one.get_ylabel() for one in session_figure(records).axes]
    assert "penetration [mm]" in labels
    assert "level of detail" not in labels
