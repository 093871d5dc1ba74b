"""SpaceMouse: motions, packets and ends of its daemon, by a stand-in of it."""

from __future__ import annotations

import math
import socket
import struct

import numpy as np
import pytest

import reducedfem as rf
from bridges import UPRIGHT, session
from moments import LONG, wait_until
from spacemice import daemon, motion


def test_a_spacemouse_is_integrated(ball, tmp_path):
    """The oracle is speed times deflection beyond the deadband, in the daemon's axes."""
    with daemon(ball, tmp_path, speed=0.2, turn=2.0, deadband=0.1) as (made, connection):
        connection.sendall(struct.pack("=I", 0x7FAA5501) + motion(350, -175, 34, 0, 0, 0))
        made.run(1)
        records = made.run(100).array
        share = (0.5 - 0.1) / 0.9
        place = [0.02, -0.02 * share, 0.0]
        assert records["device_position"][-1] == pytest.approx(place, abs=1e-12)
        assert np.array_equal(records["device_quaternion"][-1], UPRIGHT)
        # beyond the stops is at the stops; turned about an axis of the daemon, not of the device
        connection.sendall(motion(0, 0, 0, 0, 0, 9999))
        made.run(1)
        made.run(50)
        connection.sendall(motion(0, 0, 0, 350, 0, 0))
        made.run(1)
        found = made.run(50).array["device_quaternion"][-1]
        a, b = 0.5 * 2.0 * 0.051, 0.5 * 2.0 * 0.050
        about_z, about_x = (math.cos(a), math.sin(a)), (math.cos(b), math.sin(b))
        expected = [
            about_x[0] * about_z[0],
            about_x[1] * about_z[0],
            -about_x[1] * about_z[1],
            about_x[0] * about_z[1],
        ]
        assert found == pytest.approx(expected, abs=1e-12)
        # at rest it rests
        connection.sendall(motion(0, 0, 0, 0, 0, 0))
        made.run(1)
        rest = made.run(10).array
        assert np.ptp(rest["device_position"], axis=0).max() == 0.0
        # it renders nothing, and is not silent for that
        assert not rest["force"].any()
        assert not made.run(100).flagged("silent").any()
        assert made.report().device == "SpaceMouse"


def test_packets_of_the_daemon_come_in_pieces(ball, tmp_path):
    """Old daemons answer nothing; buttons; packets of other kinds; the answer in between."""
    with daemon(ball, tmp_path, deadband=0.0) as (made, connection):
        stream = struct.pack("=8i", 1, 3, 1, 0, 0, 0, 0, 0)
        stream += struct.pack("=I", 0x7FAA5501)
        stream += struct.pack("=8i", 5, 1, 200, 0, 0, 0, 0, 0)
        stream += struct.pack("=8i", 1, 0, 1, 0, 0, 0, 0, 0)
        stream += struct.pack("=8i", 1, 40, 1, 0, 0, 0, 0, 0)
        stream += struct.pack("=8i", 2, 3, 0, 0, 0, 0, 0, 0)
        stream += motion(35, 0, 0, 0, 0, 0)
        seen = []
        for k in range(0, len(stream), 7):
            connection.sendall(stream[k : k + 7])
            seen.append(int(made.run(1).array["buttons"][0]))
        assert sorted(set(seen)) == [0, 1, 8, 9]
        assert seen[-1] == 1
        before = made.run(1).array["device_position"][0, 0]
        assert made.run(10).array["device_position"][-1, 0] - before == pytest.approx(0.1e-3)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (None, "the Spacenav daemon has closed the connection"),
        (
            struct.pack("=8i", 3, 1, 0, 0, 0, 0, 0, 0),
            "the Spacenav daemon reports that it was unplugged",
        ),
    ],
    ids=["closed", "unplugged"],
)
def test_losing_the_spacemouse_stops_the_session(ball, tmp_path, event, message):
    with daemon(ball, tmp_path, threaded=True) as (made, connection):
        wait_until(lambda: made.report().ticks > 20)
        if event is None:
            connection.close()
        else:
            connection.sendall(event)
        assert made.wait(LONG)
        report = made.report()
        assert report.phase == "failed"
        assert f"the device SpaceMouse failed: {message}" in report.failure
        assert made.records(drain=True).flagged("device_failed")[-1]


def test_a_daemon_that_ends_before_reading_is_reported(ball, tmp_path):
    with daemon(ball, tmp_path, greeted=False) as (made, connection):
        connection.close()
        with pytest.raises(rf.DeviceError, match="daemon has closed the connection"):
            made.run(1)


def test_a_missing_daemon_is_reported(ball, tmp_path, monkeypatch):
    made = session(ball, rf.SpaceMouse(socket=tmp_path / "none"))
    with pytest.raises(rf.DeviceError, match=r"daemon at .*none: No such file .* spacenavd run"):
        made.start()
    made.close()
    with pytest.raises(rf.InputError, match="socket has 200 bytes, at most 107 are allowed"):
        rf.SpaceMouse(socket="x" * 200)
    # a daemon that accepts no connection
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "deaf"))
        monkeypatch.setenv("SPNAV_SOCKET", str(tmp_path / "deaf"))
        made = session(ball, rf.SpaceMouse())
        with pytest.raises(rf.DeviceError, match="deaf: Connection refused"):
            made.run(1)
        made.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deadband": 1.0}, r"deadband must be in \[0, 1\), got 1"),
        ({"full": 0.0}, "full must be finite and positive, got 0"),
        ({"speed": math.nan}, "speed must be finite"),
        ({"turn": "fast"}, "turn must be a number, got str"),
    ],
)
def test_wrong_spacemice_are_refused(options, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.SpaceMouse(**options)
