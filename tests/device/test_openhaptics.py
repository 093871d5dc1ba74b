"""OpenHaptics, whose scheduler makes the cycles, by a stand-in of the library."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import reducedfem as rf
from bridges import LOW, session
from drivers import place
from moments import LONG, wait_until
from reducedfem import _core
from turns import rotation


def test_openhaptics_makes_the_cycles(ball, hd):
    hd.ints(buttons=3)
    quaternion = np.array([0.1, 0.7, -0.5, 0.5])
    quaternion /= np.linalg.norm(quaternion)
    place(hd, (0.001, -0.002, LOW), rotation(quaternion))
    with session(ball, rf.OpenHaptics("Left", library=hd.path), ramp=0.02) as made:
        wait_until(lambda: made.report().ticks >= 100)
        assert hd.int("enabled")
        assert np.linalg.norm(hd.reals("force", 3)) > 0.5
    assert hd.text("name") == "Left"
    assert not hd.reals("force", 3).any()
    records = made.records(drain=True).array
    assert np.array_equal(records["tick"], np.arange(len(records)))
    assert records["device_position"][-1] == pytest.approx([0.001, -0.002, LOW], abs=1e-15)
    assert np.allclose(records["device_quaternion"][-1], quaternion, rtol=0, atol=1e-14)
    assert records["buttons"][-1] == 3
    assert made.report().device == "OpenHaptics Left"
    assert made.report().phase == "stopped"


def test_openhaptics_ends_with_its_session(ball, hd):
    made = session(ball, rf.OpenHaptics(library=hd.path), duration=0.05)
    for _ in range(2):
        made.start()
        assert made.wait(LONG)
        assert made.report().phase == "finished"
    assert hd.text("name") == "(default)"
    made.close()
    assert made.report().ticks >= 100


def test_openhaptics_limits_forces_to_what_it_renders(ball, hd):
    place(hd, (0.0, 0.0, 0.001))
    stiff = rf.PenaltyContact(ball.tree, ball.field, 2000.0)
    with session(stiff, rf.OpenHaptics(library=hd.path), ramp=0.02) as made:
        wait_until(lambda: made.report().ticks >= 100)
    force = np.linalg.norm(made.records(drain=True).array["force"], axis=1)
    assert force.max() == pytest.approx(3.3, rel=1e-12)


@pytest.mark.parametrize(
    ("actuated", "unit", "most"), [(6, 1.0, 0.02), (6, 1e-3, 1e-3), (6, 1.0, 0.0), (3, 1.0, 0.02)]
)
def test_openhaptics_renders_torques_on_request(ball, hd, actuated, unit, most):
    hd.ints(actuated=actuated)
    place(hd, (0.01, 0.0, LOW))
    grasped = rf.PenaltyContact(ball.tree, ball.field, 200.0, grasp=(0.01, 0.0, 0.0))
    device = rf.OpenHaptics(library=hd.path, max_torque=most, torque_unit=unit)
    renders = actuated == 6 and most > 0.0
    assert _core.probe_device(device._core)[2:6:3] == (most * renders, 6 if renders else 3)
    with session(grasped, device, ramp=0.02) as made:
        wait_until(lambda: made.report().ticks >= 100)
        felt = hd.reals("torque", 3) * unit
        reported = made.snapshot().torque
    if not renders:
        assert (hd.reals("torque", 3) == 9.0).all()
        assert not made.records(drain=True).array["torque"].any()
        return
    # the hand stands still: so does the object, but for what is too small to be felt
    assert felt == pytest.approx(reported, rel=1e-6)
    assert 1e-4 < np.linalg.norm(felt) <= most * (1.0 + 1e-12)
    assert not hd.reals("torque", 3).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_torque": -1.0}, "max_torque must be finite and not negative, got -1"),
        ({"torque_unit": 0.0}, "torque_unit must be finite and positive, got 0"),
        ({"torque_unit": "N m"}, "torque_unit must be a number, got str"),
    ],
)
def test_wrong_torques_of_openhaptics_are_refused(options, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.OpenHaptics(**options)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("init_error", r"OpenHaptics cannot open the device: Device fault: the cable \(error 0x03"),
        ("info_error", "OpenHaptics cannot report the limits of the device: Device fault"),
        ("start_error", "OpenHaptics cannot start its scheduler: Device fault: the cable"),
    ],
)
def test_openhaptics_that_does_not_open_is_reported(ball, hd, error, message):
    hd.ints(**{error: 0x0302})
    made = session(ball, rf.OpenHaptics(library=hd.path), duration=0.02)
    with pytest.raises(rf.DeviceError, match=message):
        made.start()
    assert not hd.int("enabled")
    hd.ints(**{error: 0})
    made.start()
    assert made.wait(LONG)
    made.close()


@pytest.mark.parametrize("force", [0.0, -1.0, math.nan, math.inf, None])
def test_openhaptics_with_implausible_properties_is_refused(ball, hd, force, set_timeouts):
    set_timeouts(stall=5.0)
    if force is None:
        hd.ints(invalid=1)
    else:
        hd.reals("max_force")[0] = force
    what = "open the device" if force is None else "report the limits of the device"
    made = session(ball, rf.OpenHaptics(library=hd.path), duration=0.02)
    with pytest.raises(rf.DeviceError, match=f"^OpenHaptics cannot {what}: it gives no reason"):
        made.start()
    # as it should be, but for a stiffness that it does not tell
    hd.ints(invalid=0)
    hd.reals("max_force")[0], hd.reals("stiffness")[0] = 3.3, 0.0
    made.start()
    assert made.wait(LONG)
    assert made.report().phase == "finished"
    made.close()
    assert _core.probe_device(made.device._core)[3] == math.inf


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("schedule_error", "OpenHaptics cannot schedule cycles: Device fault: the cable"),
        ("read_error", r"cycle \d+: the device OpenHaptics default device failed: Device fault"),
        ("write_error", r"cycle \d+: the device OpenHaptics default device failed: Device fault"),
        ("", r"failed: its pose is not a finite position and a rotation"),
    ],
)
def test_openhaptics_that_fails_while_running_stops_the_session(ball, hd, error, message):
    made = session(ball, rf.OpenHaptics(library=hd.path))
    if error == "schedule_error":
        hd.ints(schedule_error=0x0302)
    made.start()
    if error != "schedule_error":
        wait_until(lambda: abs(hd.reals("force", 3)[2]) > 0.5)
    if error:
        hd.ints(**{error: 0x0302})
    else:
        place(hd, (0.0, 0.0, LOW), 1.1 * np.eye(3))
    assert made.wait(LONG)
    assert made.report().phase == "failed"
    assert re.search(message, made.report().failure)
    made.close()
    if error != "schedule_error":
        assert not hd.reals("force", 3).any()
        assert made.records(drain=True).flagged("device_failed")[-1]


@pytest.mark.usefixtures("_half_a_second")
def test_openhaptics_that_makes_no_more_cycles_is_abandoned(ball, hd):
    """As when the cable is pulled and the scheduler waits for ever."""
    made = session(ball, rf.OpenHaptics(library=hd.path))
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    hd.ints(deaf=1)
    assert made.wait(LONG)
    assert "the scheduler of OpenHaptics has stopped" in made.report().failure
    assert not hd.int("enabled")
    made.close()


@pytest.mark.usefixtures("_half_a_second")
def test_openhaptics_that_hangs_is_halted(ball, hd):
    made = session(ball, rf.OpenHaptics(library=hd.path))
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    hd.ints(hang=1)
    wait_until(lambda: not hd.int("enabled"))
    hd.reals("most")[0] = 0.0
    hd.ints(hang=0)
    assert made.wait(LONG)
    assert "default device was halted" in made.report().failure
    assert made.records(drain=True).array["force"][-2:].any()
    assert hd.reals("most")[0] == 0.0
    made.close()


def test_openhaptics_has_one_scheduler_and_its_own_rate(ball, hd):
    first = session(ball, rf.OpenHaptics(library=hd.path))
    second = session(ball, rf.OpenHaptics(library=hd.path))
    first.start()
    with pytest.raises(rf.DeviceError, match="^another OpenHaptics device of this process is open"):
        second.start()
    first.close()
    with pytest.raises(rf.InputError, match="cycles of this device come from its own thread"):
        second.run(1)
    second.close()
    slow = session(ball, rf.OpenHaptics(library=hd.path), rate=500.0)
    with pytest.raises(rf.InputError, match=r"runs at 1000 Hz and the session at 500 Hz: .*=1000"):
        slow.start()
    slow.close()
    assert hd.int("was_enabled")
    # the rate it reports is an average: a busy machine does not change the scheduler's rate
    hd.ints(rate=931)
    with session(ball, rf.OpenHaptics(library=hd.path), duration=0.02) as made:
        assert made.wait(LONG)
