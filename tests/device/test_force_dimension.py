"""Devices of Force Dimension, by a stand-in of the maker's library."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf
from bridges import FORCE, LOW, session
from drivers import DHD_FUNCTIONS, let_go
from moments import LONG, wait_until
from turns import rotation, unit


def test_force_dimension_is_read_and_written(ball, dhd):
    made = session(ball, rf.ForceDimension(library=dhd.path, max_force=4.0, max_torque=0.2))
    dhd.ints(buttons=5)
    last = made.run(50).array[-1]
    assert last["device_position"] == pytest.approx([0.0, 0.0, LOW], abs=0)
    assert last["buttons"] == 5
    assert last["force"][2] == pytest.approx(FORCE, rel=1e-6)
    assert np.array_equal(dhd.reals("wrench", 6), [*last["force"], *last["torque"]])
    assert dhd.int("enabled")
    assert (dhd.reals("max_force")[0], dhd.reals("max_torque")[0]) == (4.0, 0.2)
    assert made.report().device == "Force Dimension omega.7"
    # any rotation, those of half a turn too, where the scalar part is zero
    rng = np.random.default_rng(5)
    turns = [*rng.normal(size=(20, 4)), *np.eye(4), *np.roll(np.eye(4), 1, axis=0) + np.eye(4)]
    for quaternion in turns:
        expected = rotation(unit(quaternion))
        dhd.reals("rotation", 9)[:] = expected.ravel()
        found = made.run(1).array["device_quaternion"][0]
        assert np.allclose(rotation(found), expected, rtol=0, atol=1e-14)
    made.close()
    assert let_go(dhd)
    assert dhd.int("id") == 3


@pytest.mark.parametrize(
    "matrix", [np.diag([1.0, 1.0, -1.0]), 1.01 * np.eye(3), np.zeros((3, 3)), np.nan * np.eye(3)]
)
def test_matrices_that_are_no_rotations_stop_the_session(ball, dhd, matrix):
    made = session(ball, rf.ForceDimension(library=dhd.path))
    made.run(5)
    dhd.reals("rotation", 9)[:] = matrix.ravel()
    with pytest.raises(rf.DeviceError, match="omega.7 failed: its pose is not a finite position"):
        made.run(1)
    assert let_go(dhd)
    made.close()


def test_torque_goes_to_active_wrists_only(ball, dhd):
    grasped = rf.PenaltyContact(ball.tree, ball.field, 200.0, grasp=(0.01, 0.0, 0.0))
    for wrist in (1, 0):
        dhd.ints(wrist=wrist, turns=wrist)
        made = session(grasped, rf.ForceDimension(library=dhd.path, max_torque=1.0))
        dhd.reals("position", 3)[:] = [0.01, 0.0, LOW]
        made.run(50)
        assert dhd.reals("wrench", 6)[:3].any()
        assert dhd.reals("wrench", 6)[3:].any() == bool(wrist)
        made.close()


def test_repeated_samples_of_the_library_are_not_counted_as_new(ball, dhd):
    made = session(ball, rf.ForceDimension(library=dhd.path), silence=0.005)
    assert not made.run(10).flagged("silent").any()
    dhd.ints(guard=1)
    quiet = made.run(10)
    assert quiet.flagged("silent")[-1]
    assert not quiet.array["force"][-1].any()
    made.close()


def test_a_device_of_a_session_is_not_opened_again(ball, dhd, monkeypatch):
    """The library may open it twice; closing the second would take it from the session."""
    first = session(ball, rf.ForceDimension(library=dhd.path))
    second = session(ball, rf.ForceDimension(library=dhd.path))
    first.run(1)
    monkeypatch.setenv("REDUCEDFEM_DHD", str(dhd.path))
    for _ in range(2):
        with pytest.raises(rf.DeviceError, match="offers the device 3, which another session of"):
            second.start()
        assert "which another session" in rf.probe_devices()[2].detail
    assert dhd.int("closed") == 0
    assert dhd.int("enabled")
    first.run(1)
    first.close()
    assert dhd.int("closed") == 1
    second.run(1)
    second.close()
    dhd.ints(opened=2)  # those that were refused were not opened anew
    assert let_go(dhd)


@pytest.mark.parametrize(
    ("failing", "message"),
    [
        ("dhdGetDeviceCount", "DHD cannot look for devices: the mock says no"),
        ("dhdOpen", "DHD cannot open the device: the mock says no"),
        ("dhdSetMaxForce", r"opened the device Force Dimension omega\.7, but cannot limit its fo"),
        ("dhdSetMaxTorque", "but cannot limit its torque: the mock says no"),
        ("dhdEnableForce", "but cannot switch its forces on: the mock says no"),
    ],
)
def test_force_dimension_that_does_not_open_is_reported(ball, dhd, failing, message):
    dhd.ints(failing=DHD_FUNCTIONS.index(failing))
    dhd.reals("wrench", 6)[:] = 0.0
    made = session(ball, rf.ForceDimension(library=dhd.path))
    with pytest.raises(rf.DeviceError, match=message):
        made.start()
    assert let_go(dhd)
    # the same device opens once that is mended
    dhd.ints(failing=0)
    made.run(1)
    made.close()
    assert let_go(dhd)


def test_missing_force_dimension_is_reported(ball, dhd):
    dhd.ints(devices=0)
    made = session(ball, rf.ForceDimension(library=dhd.path))
    with pytest.raises(rf.DeviceError, match="DHD finds no device of Force Dimension"):
        made.start()
    made.close()
    assert dhd.int("opened") == 0


@pytest.mark.parametrize(
    "failing",
    [
        "dhdGetPositionAndOrientationFrame",
        "dhdGetLinearVelocity",
        "dhdGetAngularVelocityRad",
        "dhdSetForceAndTorqueAndGripperForce",
        "",
    ],
)
def test_force_dimension_that_fails_while_running_stops_the_session(ball, dhd, failing):
    made = session(ball, rf.ForceDimension(library=dhd.path))
    dhd.reals("wrench", 6)[:] = 0.0
    made.start()
    wait_until(lambda: abs(dhd.reals("wrench", 6)[2]) > 0.5)
    dhd.ints(failing=DHD_FUNCTIONS.index(failing))
    if not failing:
        dhd.reals("rotation", 9)[:3] = [1.1, 0.0, 0.0]
    assert made.wait(LONG)
    wanted = "the mock says no" if failing else "its pose is not a finite position and a rotation"
    assert f"the device Force Dimension omega.7 failed: {wanted}" in made.report().failure
    assert made.records(drain=True).flagged("device_failed")[-1]
    assert let_go(dhd)


@pytest.mark.usefixtures("_half_a_second")
def test_force_dimension_that_hangs_is_halted(ball, dhd):
    """The watchdog switches its forces off while a call of the library does not return."""
    made = session(ball, rf.ForceDimension(library=dhd.path))
    made.start()
    wait_until(lambda: dhd.int("enabled") and made.report().ticks)
    dhd.ints(hang=1)
    wait_until(lambda: not dhd.int("enabled"))
    dhd.reals("most")[0] = 0.0
    dhd.ints(hang=0)
    assert made.wait(LONG)
    assert "no cycle ended within" in made.report().failure
    assert "omega.7 was halted" in made.report().failure
    # the cycle that was under way is written without force
    assert made.records(drain=True).array["force"][-2:].any()
    assert dhd.reals("most")[0] == 0.0
    made.close()
    assert let_go(dhd)


@pytest.mark.usefixtures("_half_a_second")
def test_a_cycle_that_never_ends_is_abandoned(ball, dhd, tmp_path):
    """The caller continues; the device stays in use until the cycle ends after all."""
    device = rf.ForceDimension(library=dhd.path)
    made = session(ball, device, record=tmp_path / "session.npy")
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    dhd.ints(hang=1)
    made.stop()
    failure = made.report().failure
    assert made.report().phase == "failed"
    assert "a cycle did not end within 2 s and was abandoned; the device" in failure
    assert not dhd.int("enabled")
    made.close()
    with pytest.raises(rf.InputError, match="belongs to another session"):
        session(ball, device)
    # its threads write to no other file now
    other = (tmp_path / "other").open("wb")
    dhd.ints(hang=0)
    assert made.wait(LONG)
    made.close()
    other.close()
    assert (tmp_path / "other").stat().st_size == 0
    assert made.report().failure == failure
    ticks = rf.HapticRecords.load(tmp_path / "session.npy").array["tick"]
    assert np.array_equal(ticks, np.arange(len(ticks)))
    assert let_go(dhd)
    session(ball, device).close()


@pytest.mark.usefixtures("_half_a_second")
def test_force_dimension_may_close_slowly(ball, dhd):
    """Closing may take longer than cycles may: the session does not report a hang."""
    made = session(ball, rf.ForceDimension(library=dhd.path))
    dhd.ints(slow=1)
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    made.stop()
    assert (made.report().phase, made.report().failure) == ("stopped", "")
    made.close()
    assert let_go(dhd)


def test_a_device_that_does_not_close_is_abandoned(ball, dhd, set_timeouts):
    """The caller continues; the device stays in use until it has closed after all."""
    set_timeouts(stall=1.0, hang=0.2)
    device = rf.ForceDimension(library=dhd.path)
    made = session(ball, device)
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    dhd.ints(stuck=1)
    try:
        made.stop()
        assert made.report().phase == "failed"
        assert made.report().failure == (
            "the device Force Dimension omega.7 did not close within 0.2 s and was abandoned"
        )
        made.close()
        with pytest.raises(rf.InputError, match="belongs to another session"):
            session(ball, device)
    finally:
        dhd.ints(stuck=0)
    assert made.wait(LONG)
    made.close()
    assert let_go(dhd)
    session(ball, device).close()


def test_library_without_error_text_still_reports(ball, dhd, hd, set_timeouts):
    set_timeouts(stall=5.0)
    dhd.ints(mute=1, failing=DHD_FUNCTIONS.index("dhdOpen"))
    made = session(ball, rf.ForceDimension(library=dhd.path))
    with pytest.raises(rf.DeviceError, match="^DHD cannot open the device: no error$"):
        made.start()
    dhd.ints(failing=0)
    made.run(1)
    assert made.report().device == "Force Dimension device"
    dhd.ints(failing=DHD_FUNCTIONS.index("dhdGetLinearVelocity"))
    with pytest.raises(rf.DeviceError, match="^cycle 1: the device Force Dimension device failed$"):
        made.run(1)
    assert let_go(dhd)
    made.close()

    hd.ints(mute=1, init_error=0x0302)
    made = session(ball, rf.OpenHaptics(library=hd.path))
    with pytest.raises(
        rf.DeviceError, match=r"^OpenHaptics cannot open .*: it gives no reason \(e"
    ):
        made.start()
    hd.ints(init_error=0)
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    hd.ints(read_error=0x0302)
    assert made.wait(LONG)
    assert made.report().failure.endswith("default device failed: OpenHaptics (error 0x0302)")
    made.close()


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
@pytest.mark.parametrize("of", ["position", "velocity"])
def test_poses_that_are_not_finite_give_no_force(ball, dhd, of, value):
    """A pose that is not finite stops the session; the velocity does not enter the forces."""
    made = session(ball, rf.ForceDimension(library=dhd.path))
    made.run(20)
    dhd.reals(of, 6 if of == "velocity" else 3)[0] = value
    try:
        if of == "velocity":
            found = made.run(20).array["force"]
            assert found[-1] == pytest.approx([0.0, 0.0, FORCE], rel=1e-3)
        else:
            with pytest.raises(rf.DeviceError, match=r"omega\.7 failed: its pose is not a"):
                made.run(1)
            assert not made.records(drain=True).array["force"][-1].any()
            assert let_go(dhd)
    finally:
        dhd.reals("velocity", 6)[:] = 0.0
        made.close()
    assert let_go(dhd)
