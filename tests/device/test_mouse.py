"""A handle moved by a pointer: closed forms, bounded speed, silence, forces, refusals."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import reducedfem as rf
from bridges import session
from moments import wait_until
from reducedfem import _core
from turns import turned

FOLLOW = 80.0  # 1/s, of csrc/device/mouse.h
SILENT = 300  # cycles without a target
PAGE, OTHER = "a page", "another one"
AHEAD = (1.0, 0.0, 0.0, 0.0)
STIFF = {"stiffness": 1e9, "torsional_stiffness": 1e6}
FAR = rf.Workspace(start=((0.0, 0.0, 1.0), AHEAD))  # from the floor


def play(made, mouse, cycles, way=(0.0, 0.0, 0.0), turn=AHEAD, buttons=0):
    """Make cycles, and send a target before each; return the records."""
    records = []
    for _ in range(cycles):
        mouse._pointer.move(PAGE, way, turn, buttons)
        records.append(made.run(1).array)
    return np.concatenate(records)


def opened(contact, mouse, **options):
    """Return a session whose handle the page has held for one cycle."""
    made = session(contact, mouse, **options)
    made.run(1)
    assert mouse._pointer.hold(PAGE)
    made.run(1)
    return made


def test_a_target_is_followed_as_by_formula(ball):
    mouse = rf.MouseDevice(speed=100.0, turn=1000.0, **STIFF)
    made = opened(ball, mouse, workspace=FAR)
    axis = np.array([0.6, 0.0, 0.8])
    found = play(made, mouse, 200, (0.03, 0.0, -0.01), turned(1.5 * axis), buttons=5)
    made.close()
    t = 1e-3 * np.arange(1, 201)
    share = 1.0 - np.exp(-FOLLOW * t) * (1.0 + FOLLOW * t)
    # the spring to the intended pose stretches by m x'' / k < 1e-10 * 200 m
    expected = share[:, None] * [0.03, 0.0, -0.01]
    np.testing.assert_allclose(found["device_position"], expected, rtol=0, atol=3e-8)
    q = found["device_quaternion"]
    angle = 2.0 * np.arctan2(q[:, 1:] @ axis, q[:, 0])
    np.testing.assert_allclose(angle, 1.5 * share, rtol=0, atol=1e-6)
    assert (found["buttons"] == 5).all()


def test_a_target_that_jumps_is_followed_at_bounded_speed(ball):
    """It arrives without passing the target; a turn by half a revolution likewise."""
    mouse = rf.MouseDevice(speed=0.2, turn=3.0, **STIFF)
    made = opened(ball, mouse, workspace=FAR)
    found = play(made, mouse, 1500, (0.06, 0.08, 0.0), turned(np.array([0.0, 0.0, 3.1])))
    made.close()
    way = np.linalg.norm(found["device_position"], axis=1)
    speed = 1e3 * np.diff(way)
    assert speed.max() <= 0.2 * (1.0 + 1e-6)
    assert speed.min() >= -1e-6
    # 0.1 m at 0.2 m/s, but where it slows down: speeds differ from 0.2 for some 1 / FOLLOW
    assert np.abs(speed[60:400] - 0.2).max() < 1e-6
    assert way[-1] == pytest.approx(0.1, abs=1e-9)
    angle = 2.0 * np.arctan2(found["device_quaternion"][:, 3], found["device_quaternion"][:, 0])
    turning = 1e3 * np.diff(angle)
    assert turning.max() <= 3.0 * (1.0 + 1e-5)
    assert np.abs(turning[60:700] - 3.0).max() < 1e-4
    assert angle[-1] == pytest.approx(3.1, abs=1e-6)


def test_forces_push_the_handle_away_from_the_pointer(ball):
    """At rest three springs are in series: pointer, coupling, contact."""
    mouse = rf.MouseDevice(stiffness=300.0)
    made = opened(ball, mouse, workspace=rf.Workspace(start=((0.0, 0.0, 0.03), AHEAD)))
    found = play(made, mouse, 1500, (0.0, 0.0, -0.02))
    held, target, handle = mouse._pointer.state()
    made.close()
    force = 0.01 / (1.0 / 300.0 + 1.0 / 500.0 + 1.0 / 200.0)
    assert found["force"][-1] == pytest.approx([0.0, 0.0, force], abs=1e-6)
    assert found["hand_position"][-1, 2] == pytest.approx(0.01 + force / 300.0, abs=1e-8)
    assert held
    assert target == (0.0, 0.0, -0.02)
    assert handle == pytest.approx((0.0, 0.0, -0.02 + force / 300.0), abs=1e-8)


def test_a_page_that_hangs_is_a_silent_device(ball):
    """Zero force, a handle at rest; it fades in, without a jump, when the page continues."""
    mouse = rf.MouseDevice()
    made = opened(ball, mouse, workspace=rf.Workspace(start=((0.0, 0.0, 0.03), AHEAD)))
    before = play(made, mouse, 1000, (0.0, 0.0, -0.02), buttons=1)
    quiet = made.run(2 * SILENT)
    silent = quiet.flagged("silent")
    # the session counts from the last target, and so does the handle
    assert np.flatnonzero(silent)[0] in (SILENT, SILENT + 1)
    assert silent[SILENT + 1 :].all()
    assert (quiet.array["force"][:SILENT, 2] > 0.5).all()
    assert not quiet.array["force"][SILENT + 1 :].any()
    assert (quiet.array["buttons"][SILENT + 1 :] == 0).all()
    rest = quiet.array["device_position"][SILENT + 1 :]
    assert np.ptp(rest, axis=0).max() == 0.0
    assert rest[0] == pytest.approx(quiet.array["device_position"][SILENT - 1], abs=1e-9)
    assert not mouse._pointer.state()[0]
    after = play(made, mouse, 1000, (0.0, 0.0, -0.02))
    steps = np.abs(np.diff(after["device_position"][:, 2], prepend=rest[-1, 2]))
    assert steps.max() < 1e-3 * 0.5
    force = after["force"][:, 2]
    # over 0.05 s, while the handle returns to the pointer
    assert np.abs(np.diff(force, prepend=0.0)).max() < 2.0 * force[-1] * 1e-3 / 0.05
    assert force[-1] == pytest.approx(before["force"][-1, 2], rel=1e-3)
    made.close()


def test_a_hold_begins_where_the_handle_is(ball):
    """A release and a hold with other numbers move nothing, nor does another page."""
    mouse = rf.MouseDevice(**STIFF)
    made = opened(ball, mouse, workspace=FAR)
    assert mouse.held
    place = play(made, mouse, 500, (0.03, 0.0, 0.0))["device_position"][-1]
    # another page cannot have it meanwhile, nor move or release it
    assert not mouse._pointer.hold(OTHER)
    mouse._pointer.move(OTHER, (9.0, 0.0, 0.0), AHEAD, 0)
    mouse._pointer.release(OTHER)
    assert mouse.held
    mouse._pointer.release(PAGE)
    assert not mouse.held
    mouse._pointer.move(PAGE, (9.0, 0.0, 0.0), AHEAD, 0)
    free = made.run(5).array["device_position"]
    assert np.ptp(free, axis=0).max() == 0.0
    assert mouse._pointer.hold(OTHER)
    assert mouse._pointer.hold(OTHER)  # again, as after a new press
    made.run(1)
    mouse._pointer.move(OTHER, (0.0, 0.01, 0.0), AHEAD, 0)
    moved = made.run(250).array["device_position"]
    assert np.abs(np.diff(moved, axis=0)).max() < 1e-3
    np.testing.assert_allclose(moved[-1], np.add(place, [0.0, 0.01, 0.0]), rtol=0, atol=1e-8)
    made.close()
    # in another session it begins at the origin: earlier targets do not count
    other = session(ball, mouse, workspace=FAR)
    assert not other.run(3).array["device_position"].any()
    other.close()


def test_a_device_without_a_page_is_silent_from_the_beginning(ball):
    mouse = rf.MouseDevice()
    assert mouse._pointer.state() is None
    made = session(ball, mouse, workspace=rf.Workspace(start=((0.0, 0.0, 0.014), AHEAD)))
    found = made.run(2 * SILENT)
    assert found.flagged("silent")[SILENT + 1 :].all()
    assert not found.array["force"][SILENT + 1 :].any()
    assert made.report().device == "mouse"
    made.close()
    assert repr(mouse) == "<MouseDevice>"


def test_clutch_and_scale_of_the_workspace_hold(ball):
    """Half a metre of the device is one of the world; the clutch moves the device alone."""
    mouse = rf.MouseDevice(**STIFF)
    place = rf.Workspace(start=((0.0, 0.0, 1.0), AHEAD), scale=0.5, clutch=0)
    made = opened(ball, mouse, workspace=place)
    first = play(made, mouse, 400, (0.01, 0.0, 0.0))["hand_position"][-1]
    assert first == pytest.approx((0.02, 0.0, 1.0), abs=1e-7)
    apart = play(made, mouse, 400, (0.0, 0.01, 0.0), buttons=1)["hand_position"]
    assert np.ptp(apart[1:], axis=0).max() < 1e-12
    last = play(made, mouse, 400, (0.0, 0.02, 0.0))["hand_position"][-1]
    # the clutch takes the first cycle after its release, too
    assert last == pytest.approx((0.02, 0.02, 1.0), abs=1e-4)
    made.close()


def test_targets_of_another_thread_reach_a_running_session(ball):
    mouse = rf.MouseDevice()
    ended = threading.Event()
    mouse._pointer.hold(PAGE)

    def send():
        k = 0
        while not ended.is_set():
            k += 1
            mouse._pointer.move(PAGE, (1e-4 * (k % 50), 0.0, 0.0), AHEAD, k % 8)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        with session(ball, mouse, workspace=FAR, priority=0) as made:
            wait_until(lambda: made.report().ticks > 200)
            wait_until(lambda: mouse._pointer.state()[0])
            records = made.records().array
    finally:
        ended.set()
        thread.join()
    # no value is torn: all are between the smallest and the largest target
    assert np.abs(records["device_position"][:, 0]).max() < 0.01
    assert not records["device_position"][:, 1:].any()


@pytest.mark.parametrize(
    "name", ["stiffness", "torsional_stiffness", "speed", "turn", "mass", "inertia"]
)
def test_settings_are_positive(name):
    for value in (-1.0, 0.0, math.inf, math.nan):
        with pytest.raises(rf.InputError, match=rf"^{name} must be (finite|a finite)"):
            rf.MouseDevice(**{name: value})
    with pytest.raises(rf.InputTypeError, match=name):
        rf.MouseDevice(**{name: "much"})


def test_limits_are_positive():
    with pytest.raises(rf.InputError, match="max_force"):
        rf.MouseDevice(max_force=-1.0)
    with pytest.raises(rf.InputError, match="max_torque"):
        rf.MouseDevice(max_torque=0.0)


def test_targets_that_are_no_poses_are_refused():
    mouse = rf.MouseDevice()
    mouse._pointer.hold(PAGE)
    with pytest.raises(rf.InputError, match="position"):
        mouse._pointer.move(PAGE, (math.nan, 0.0, 0.0), AHEAD, 0)
    with pytest.raises(rf.InputError, match="quaternion"):
        mouse._pointer.move(PAGE, (0.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0), 0)
    with pytest.raises(rf.InputError, match="buttons must be at least 0, got 1 and -1"):
        mouse._pointer.move(PAGE, (0.0, 0.0, 0.0), AHEAD, -1)
    other = rf.ReplayDevice([0.0], [[0.0, 0.0, 0.0]])
    for device in (other, rf.SimulatedHand([0.0], [[0.0, 0.0, 0.0]])):
        with pytest.raises(rf.InputError, match="the device is not a MouseDevice"):
            _core.mouse_send(device._core, 1, (0.0, 0.0, 0.0), AHEAD, 0)
        assert _core.mouse_state(device._core) is None


@pytest.mark.no_asan(reason="refused before C")
def test_arguments_that_do_not_fit():
    said = "^MouseDevice: too many positional arguments; its arguments are stiffness, .*, all of th"
    with pytest.raises(rf.InputTypeError, match=said):
        rf.MouseDevice("x")
    with pytest.raises(rf.InputTypeError, match="no argument 'stifness'; .* mean 'stiffness'[?]"):
        rf.MouseDevice(stifness=3.0)
    with pytest.raises(rf.InputTypeError, match="^ReplayDevice: missing .*'positions'"):
        rf.ReplayDevice([0.0])
