"""Views of recorded sessions."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from pages import DRAWN, read, shown
from reducedfem.viewer.parts import origins
from reducedfem.viewer.shown_contact import HELD

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

GRASP = np.array([0.0, 0.0, 0.02])


@pytest.fixture(scope="module")
def contact():
    shell = rf.Pointshell.from_field(rf.BoxField([-0.1, -0.1, -0.1], [0.1, 0.1, 0.0]), 2000)
    ball = rf.DistanceField.from_field(rf.SphereField([0, 0, 0], 0.05), 24)
    return rf.PenaltyContact(rf.PointTree(shell), ball, 500.0, grasp=GRASP)


@pytest.fixture(scope="module")
def session(contact):
    turn = [1, 0, 0, 0], [0.8, 0.6, 0, 0]
    path = [0, 0, 0.09], [0.02, 0.01, 0.053]
    device = rf.ReplayDevice([0.0, 0.1], path, turn)
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=500.0)
    # without limits of time, which depend on the machine
    return rf.HapticSession(contact, device, coupling=coupling, budget_us=0)


@pytest.fixture(scope="module")
def records(session):
    found = session.run(200)
    assert (found["touching"] > 0).any()
    return found


def test_frames_of_bodies_turn_about_points(rng):
    turns = rng.standard_normal((5, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    centres, rest = rng.standard_normal((2, 5, 3))
    for at in (rest, rest[0]):
        begins = origins(centres, turns, at)
        for k, place in enumerate(np.broadcast_to(at, (5, 3))):
            moved = rf.Pose(begins[k], turns[k]).apply(place)
            np.testing.assert_allclose(moved, centres[k], atol=1e-14)


@pytest.mark.parametrize("given", ["session", "contact"])
def test_the_object_moves_as_recorded(session, contact, records, given):
    x = session if given == "session" else contact
    with rf.view(x, records=records, browser=False) as view:
        scene = view._shown.scene()
    assert [one.name for one in scene.bodies] == ["shell 0", HELD]
    assert scene.listed
    clip = scene.clip
    (track,) = clip.tracks
    assert track.body == 1
    assert track.q is None
    np.testing.assert_array_equal(clip.times, records["time_s"])
    k = int(np.argmax(records["depth_m"]))
    grasped = rf.Pose(track.places[k, :3], track.places[k, 3:]).apply(GRASP)
    np.testing.assert_allclose(grasped, records["object_position"][k], atol=1e-15)
    # the arrow lies on the line of action: its lever makes the torque across the force
    force, torque = records["contact_force"][k], records["contact_torque"][k]
    lever = clip.arrows[k, :3] - records["object_position"][k]
    across = torque - force * (force @ torque) / (force @ force)
    np.testing.assert_allclose(np.cross(lever, force), across, atol=1e-12)
    np.testing.assert_allclose(np.cross(clip.arrows[k, 3:], force), 0.0, atol=1e-12)
    numbers = {name: values[k] for name, values, _ in clip.numbers}
    assert numbers["contact force"] == pytest.approx(np.linalg.norm(force))
    assert numbers["penetration"] == records["depth_m"][k]


def test_without_objects_axes_move_along_the_path(records):
    with rf.view(records, browser=False) as view:
        scene = view._shown.scene()
    (axes,) = scene.bodies
    assert not scene.listed
    path = records["object_position"]
    np.testing.assert_allclose(scene.clip.tracks[0].places[:, :3], path, atol=1e-15)
    assert np.linalg.norm(axes.vertices, axis=1).max() < 0.2 * np.linalg.norm(np.ptp(path, axis=0))
    free, touching = scene.marks
    assert len(free.points) + len(touching.points) == len(records)
    np.testing.assert_array_equal(touching.points, path[records["touching"] > 0])


def test_long_records_are_thinned(records):
    array = np.tile(records.array, 1100)
    array["time_s"] = 1e-3 * np.arange(len(array))
    with rf.view(rf.HapticRecords(array), browser=False) as view:
        scene = view._shown.scene()
    assert len(scene.clip.times) == len(array) // 3 + 1
    assert scene.texts[0] == "73,334 cycles, one of 3 that were recorded"


def unknown(array):
    found = array.copy()
    found["object_position"] = np.nan
    return found


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda a: a[:0], "the records are empty"),
        (unknown, "no cycle with finite poses"),
        (lambda a: a[::-1], "in the order of their times"),
    ],
)
def test_records_that_cannot_be_shown(records, change, match):
    with pytest.raises(rf.InputError, match=match):
        rf.view(rf.HapticRecords(change(records.array).copy()), browser=False)


def test_cycles_that_failed_are_left_out(records):
    array = records.array.copy()
    array["object_position"][-1] = np.nan
    with rf.view(rf.HapticRecords(array), browser=False) as view:
        assert len(view._shown.scene().clip.times) == len(array) - 1


def test_wrong_arguments(contact, records):
    ball = rf.SphereField([0, 0, 0], 0.05)
    for args, options, error, match in (
        ((ball,), {"records": records}, rf.InputTypeError, "HapticSession, or the Contact"),
        ((contact,), {"records": records.array}, rf.InputTypeError, "HapticRecords.load"),
        ((contact, records), {}, rf.InputTypeError, "pass them by name"),
        ((contact, ball), {"records": records}, rf.InputError, "leave out on and motion"),
    ):
        with pytest.raises(error, match=match):
            rf.view(*args, **options, browser=False)


def test_a_page_in_one_file_plays_the_records(browser, session, records, tmp_path):
    path = tmp_path / "played.html"
    rf.export_html(path, session, records=records)
    browser.open(path.as_uri())
    browser.wait(DRAWN)
    k = int(np.argmax(records["depth_m"]))
    browser.run(
        "const { player } = window.reducedfem; player.playing = false;"
        f"player.now = player.times[{k}]; window.reducedfem.showPlayer();"
    )
    positions, _ = read(browser, 1)
    with rf.view(session, records=records, browser=False) as view:
        scene = view._shown.scene()
    (track,) = scene.clip.tracks
    place = rf.Pose(track.places[k, :3], track.places[k, 3:])
    moved = place.apply(scene.bodies[1].vertices)
    np.testing.assert_allclose(positions, moved - scene.centre, atol=1e-7)
    (arrow,) = browser.run("return window.reducedfem.drawing.arrows")
    np.testing.assert_allclose(arrow["from"], scene.clip.arrows[k, :3] - scene.centre, atol=1e-7)
    force = np.linalg.norm(records["contact_force"][k])
    text = browser.run(
        "window.reducedfem.showNumbers();"
        "return [...document.querySelectorAll('#numbers div')].find((one) =>"
        " one.textContent.startsWith('contact force')).lastChild.value"
    )
    assert float(text.removesuffix(" mN")) == pytest.approx(1e3 * force, rel=5e-3)


def test_records_of_one_time_do_not_play(browser, records):
    array = records.array.copy()
    array["time_s"] = 0.25
    with rf.view(rf.HapticRecords(array), browser=False) as view:
        shown(browser, view)
        assert browser.run("return window.reducedfem.player.playing") is False
        # as by its button
        now = browser.run(
            "const { player } = window.reducedfem; player.playing = true;"
            "player.advance(0.1); player.advance(0.1); return player.now;"
        )
    assert now == 0.0


def test_the_slider_of_time_and_slow_motion(browser, records):
    with rf.view(records, browser=False) as view:
        shown(browser, view)
        browser.wait("window.reducedfem.player.now > 0")  # it plays
        browser.run(
            "const slider = document.querySelector('[aria-label=Time]');"
            "window.reducedfem.toggle(); slider.value = 500;"
            "slider.dispatchEvent(new Event('input'));"
        )
        now, end = browser.run(
            "const { player } = window.reducedfem; return [player.now, player.end]"
        )
        assert now == pytest.approx(0.5 * end)
        browser.driver.find_element("css selector", "body").send_keys(".")
        browser.wait(f"Math.abs(window.reducedfem.player.now - {now}) < 2e-3")
        browser.run(
            "const speed = document.querySelector('[aria-label=Speed]');"
            "speed.value = 0.01; speed.dispatchEvent(new Event('change'));"
        )
        assert browser.run("return window.reducedfem.player.speed") == 0.01
