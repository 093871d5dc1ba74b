"""Devices that play: tables and records, and hands that are pushed back."""

from __future__ import annotations

import math

import numpy as np
import pytest

import reducedfem as rf
from bridges import FORCE, LOW, UPRIGHT, session
from drivers import DHD_FUNCTIONS


def test_tables_are_played(ball, tmp_path):
    path = tmp_path / "way.csv"
    path.write_text(
        "qw,qx,qy,qz,x,y,z,note,time,buttons\n"
        "1,0,0,0,0.1,0.2,0.3,a,0,0\n\n0,1,0,0,0.3,0.2,-1e-1,b,0.01,6\n"
    )
    device = rf.ReplayDevice.from_csv(path)
    assert device.duration == 0.01
    made = session(ball, device)
    records = made.run(12).array
    assert records["device_position"][5] == pytest.approx([0.2, 0.2, 0.1], abs=1e-12)
    assert records["device_quaternion"][5] == pytest.approx([0.5**0.5, 0.5**0.5, 0, 0], abs=1e-12)
    assert records["device_position"][-1] == pytest.approx([0.3, 0.2, -0.1])
    assert list(records["buttons"][[0, -1]]) == [0, 6]
    made.close()
    # as a spreadsheet writes it; without rotations
    path.write_bytes(b"\xef\xbb\xbftime, x, y, z\r\n0,1,2,3\r\n")
    made = session(ball, rf.ReplayDevice.from_csv(path))
    assert made.run(1).array["device_position"][0] == pytest.approx([1.0, 2.0, 3.0])
    made.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read .*No such file"),
        ("", "the first line of .* must name one column 'time', comma-separated; it is ''"),
        ("time,x,y\n0,1,2\n", "must name one column 'z'"),
        ("time,x,y,z,x\n", "must name one column 'x', .* it is 'time,x,y,z,x'"),
        ("time,x,y,z,qw\n", "must name one column 'qx'"),
        ("time,x,y,z,buttons,buttons\n", "must name one column 'buttons'"),
        ("time;x;y;z\n0;0;0;0\n", "it is 'time;x;y;z'"),
        ("# time,x,y,z\n0,0,0,0\n", "it is '# time,x,y,z'"),
        ("time,x,y,z\n0,0,0,0\n1,0,zero,0\n", "^line 3 of .* has 'zero' in the column 'y', whi"),
        ("time,x,y,z\n0,0,0\n", "line 2 of .* has an empty cell in the column 'z'"),
        ("time,x,y,z\n\n ,\n0,0,0,inf\n", "line 4 of .* has 'inf' in the column 'z', which is not"),
        ("time,x,y,z\n0,nan,0,0\n", "line 2 of .* has 'nan' in the column 'x', which is not a fin"),
        ("time,x,y,z\n0,1_0,0,0\n", "line 2 of .* has '1_0' in the column 'x', which is not a fin"),
        ("time,x,y,z\n0,0,0,1,0,2,0,3\n", "line 2 of .* has 8 cells, the first line names 4"),
        ("time,x,y,z,buttons\n0,0,0,0,1.5\n", "line 2 of .* has 1.5 in the column 'buttons'"),
        ("time,x,y,z,buttons\n0,0,0,0,-1\n", "has -1 in the column 'buttons', which must be an"),
        ("time,x,y,z,buttons\n0,0,0,0,4294967296\n", r"has 4.29497e\+09 in the column 'buttons'"),
        ("time,x,y,z\n", "has no line of numbers"),
        ('"time",x,y,z,"two\nlines"\n\n1,0,0,0\n\n1,0,0,0\n',
         "line 6 of .* has the time 1 s, line 4 has 1 s: times must increase"),
        ("time,x,y,z\n0,0,0,0\n1,0,0,0\n0.5,0,0,0\n", "line 4 of .* time 0.5 s, line 3 has 1 s"),
        ("time,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1,0,0,0,1,1,0,0\n",
         "line 3 of .* has a quaternion .* of norm 1.41421, which must be 1"),
        ("time,x,y,z,qw,qx,qy,qz\n0,0,0,0,0,0,0,0\n", "line 2 of .* has a quaternion .* of norm 0"),
    ],
)  # fmt: skip
def test_files_without_a_table_are_refused(tmp_path, text, message):
    path = tmp_path / "way.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(rf.FileFormatError, match=message):
        rf.ReplayDevice.from_csv(path)


def test_tables_of_other_programs_are_read(ball, tmp_path):
    """Few digits, integers as reals, commas at the ends, lines of nothing but commas."""
    path = tmp_path / "way.csv"
    path.write_text(
        "time,x,y,z,qw,qx,qy,qz,buttons,\n"
        "0e0, 0.1,0,0,0.707,0.707,0,0,4.294967295e9,\n,,,,,,,,,\n\n1,0,0,0,1,0,0,0,0.0,\n"
    )
    made = session(ball, rf.ReplayDevice.from_csv(path))
    first = made.run(1).array[0]
    assert first["device_position"] == pytest.approx([0.1, 0.0, 0.0], abs=0)
    assert first["device_quaternion"] == pytest.approx([0.5**0.5, 0.5**0.5, 0, 0], abs=1e-15)
    assert first["buttons"] == 2**32 - 1
    made.close()


def test_records_are_played_with_all_buttons(ball):
    way = [0.0, 0.01], [[0.0, 0.0, 0.03], [0.0, 0.0, LOW]]
    made = session(ball, rf.SimulatedHand(*way, buttons=np.array([0x80000001, 6], np.uint32)))
    first = made.run(30)
    made.close()
    made = session(ball, rf.ReplayDevice.from_records(first))
    again = made.run(30).array
    made.close()
    for name in ("device_position", "device_quaternion", "buttons", "force"):
        assert np.array_equal(again[name], first[name]), name
    assert again["buttons"][0] == 0x80000001
    with pytest.raises(rf.InputError, match=r"buttons\[1\] is -1; allowed are 0 to 4294967295"):
        rf.ReplayDevice(*way, buttons=[0, -1])


def test_records_are_played_in_either_frame(ball):
    """Those of the hand are without scale, axes and clutch of the session."""
    times = np.linspace(0.0, 0.05, 51)
    way = np.outer(times, [0.1, 0.4, -0.2])
    turn = 4.0 * times
    about_z = np.stack([np.cos(turn), 0 * turn, 0 * turn, np.sin(turn)], axis=1)
    buttons = ((times > 0.02) & (times < 0.03)).astype(int)
    start = (0.0, 0.0, LOW), UPRIGHT
    tilted = rf.Workspace(scale=2.0, alignment=rf.OpenHaptics().alignment, start=start, clutch=0)
    made = session(ball, rf.ReplayDevice(times, way, about_z, buttons), workspace=tilted)
    first = made.run(51)
    made.close()
    assert first.flagged("clutched").any()
    again = rf.ReplayDevice.from_records(first, hand=True)
    made = session(ball, again)
    records = made.run(51).array
    made.close()
    for name in ("hand_position", "hand_quaternion", "object_position"):
        assert np.allclose(records[name], first[name], rtol=0, atol=1e-12), name
    assert np.array_equal(rf.ReplayDevice.from_records(first).duration, times[-1])
    with pytest.raises(rf.InputTypeError, match="hand must be True or False, got int"):
        rf.ReplayDevice.from_records(first, hand=1)


def test_records_of_a_device_that_failed_are_played_up_to_there(ball, dhd):
    made = session(ball, rf.ForceDimension(library=dhd.path))
    first = made.run(5).array
    dhd.ints(failing=DHD_FUNCTIONS.index("dhdGetPositionAndOrientationFrame"))
    with pytest.raises(rf.DeviceError):
        made.run(5)
    records = rf.HapticRecords(np.concatenate([first, made.records(drain=True).array]))
    made.close()
    assert records.flagged("device_failed")[-1]
    for hand in (False, True):
        device = rf.ReplayDevice.from_records(records, hand=hand)
        assert device.duration == pytest.approx(0.004)


def test_a_trajectory_that_stays_does_not_end(ball):
    for times in ([0.0], [-2.0, -1.0]):
        device = rf.ReplayDevice(times, np.zeros((len(times), 3)))
        assert device.duration == math.inf
        session(ball, device).close()
    with pytest.raises(rf.InputTypeError, match="positions must be an array of real numbers, got"):
        rf.ReplayDevice([0.0, 1.0], [[0.0, 0.0, 0.0], [0.0]])


@pytest.mark.parametrize("mass", [1e-2, 1e-8])
def test_a_hand_that_hardly_weighs_anything_is_pushed_back(ball, mass):
    """Three springs in a row; the damper takes what is no float if it is not written with care."""
    damping, stiffness = 5.0, 30.0
    hand = rf.SimulatedHand(
        [0.0], [[0.0, 0.0, LOW]], mass=mass, damping=damping, stiffness=stiffness,
        inertia=1e-12, torsional_damping=1.0, torsional_stiffness=1.0,
    )  # fmt: skip
    made = session(ball, hand)
    records = made.run(1000).array
    made.close()
    force = 0.006 / (1 / 200.0 + 1 / 500.0 + 1 / stiffness)
    assert records["force"][-1] == pytest.approx([0.0, 0.0, force], rel=1e-6)
    back = records["device_position"][:, 2] - LOW
    assert back[-1] == pytest.approx(force / stiffness, rel=1e-6)
    # without overshoot, as slowly as the damper lets it, but for the first cycles of the coupling
    assert (np.diff(back) > -1e-12).all()
    rate = (stiffness + FORCE / 0.006) / damping
    slower = back[-1] * -np.expm1(-rate * records["time_s"])
    assert np.abs(back - slower).max() < 0.1 * back[-1]


def test_a_hand_whose_motion_is_not_finite_is_reported(ball):
    made = session(ball, rf.SimulatedHand([0.0], [[0.0] * 3], stiffness=1e300, mass=1e-300))
    with pytest.raises(rf.DeviceError, match="hand failed: its motion is not finite"):
        made.run(10)
    made.close()
