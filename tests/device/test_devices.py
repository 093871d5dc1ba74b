"""Devices outside of the process: packets, daemons and drivers against stand-ins of them."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ckernels
import reducedfem as rf
from bridges import FORCE, LOW, UPRIGHT, ball_on_a_floor, bridged, raw_clients, session
from conftest import ROOT
from moments import LONG, free_port, interrupted, wait_until
from reducedfem import _core, cli, udp_client


@pytest.fixture(scope="module")
def ball():
    return ball_on_a_floor()


@pytest.fixture
def _half_a_second(monkeypatch):
    """Calls hang for half a second; pauses of the machine alone are shorter."""
    monkeypatch.setattr(rf.haptics, "_STALL", 0.5)


# ---- tables --------------------------------------------------------------------------------------


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
        ("time,x,y,z\n0,0,0,0\n1,0,zero,0\n", "^line 3 of .* has 'zero' in the column 'y': no f"),
        ("time,x,y,z\n0,0,0\n", "line 2 of .* has '' in the column 'z': nothing"),
        ("time,x,y,z\n\n ,\n0,0,0,inf\n", "line 4 of .* has 'inf' in the column 'z': no finite"),
        ("time,x,y,z\n0,nan,0,0\n", "line 2 of .* has 'nan' in the column 'x': no finite number"),
        ("time,x,y,z\n0,1_0,0,0\n", "line 2 of .* has '1_0' in the column 'x': no finite number"),
        ("time,x,y,z\n0,0,0,1,0,2,0,3\n", "line 2 of .* has 8 cells, the first line names 4"),
        ("time,x,y,z,buttons\n0,0,0,0,1.5\n", "line 2 of .* has 1.5 in the column 'buttons'"),
        ("time,x,y,z,buttons\n0,0,0,0,-1\n", "has -1 in the column 'buttons', no integer from 0"),
        ("time,x,y,z,buttons\n0,0,0,0,4294967296\n", r"has 4.29497e\+09 in the column 'buttons'"),
        ("time,x,y,z\n", "has no line of numbers"),
        ('"time",x,y,z,"two\nlines"\n\n1,0,0,0\n\n1,0,0,0\n',
         "line 6 of .* has the time 1, line 4 has 1: times must ascend"),
        ("time,x,y,z\n0,0,0,0\n1,0,0,0\n0.5,0,0,0\n", "line 4 of .* time 0.5, line 3 has 1"),
        ("time,x,y,z,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1,0,0,0,1,1,0,0\n",
         "line 3 of .* has a rotation of norm 1.41421, which must be 1"),
        ("time,x,y,z,qw,qx,qy,qz\n0,0,0,0,0,0,0,0\n", "line 2 of .* has a rotation of norm 0"),
    ],
)  # fmt: skip
def test_files_that_are_no_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "way.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(rf.FileFormatError, match=message):
        rf.ReplayDevice.from_csv(path)


def test_tables_as_programs_write_them(ball, tmp_path):
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


def test_a_hand_whose_motion_is_not_finite_says_so(ball):
    made = session(ball, rf.SimulatedHand([0.0], [[0.0] * 3], stiffness=1e300, mass=1e-300))
    with pytest.raises(rf.DeviceError, match="hand failed: its motion left the finite numbers"):
        made.run(10)
    made.close()


@pytest.mark.parametrize(
    ("device", "x", "y", "z"),
    [
        (rf.SpaceMouse, (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        # towards the user, to the right, up
        (rf.ForceDimension, (0, -1, 0), (1, 0, 0), (0, 0, 1)),
        # to the right, up, towards the user
        (rf.OpenHaptics, (1, 0, 0), (0, 0, 1), (0, -1, 0)),
    ],
)
def test_devices_tell_how_their_axes_lie(device, x, y, z):
    found = rotation_of(device().alignment)
    assert np.allclose(found, np.transpose([x, y, z]), rtol=0, atol=1e-15)


# ---- UDP -----------------------------------------------------------------------------------------


@pytest.fixture
def raw():
    with raw_clients() as make:
        yield make


def test_a_bridge_without_client_or_address_is_told(ball, raw):
    made = session(ball, rf.UdpDevice(("127.0.0.1", 0), wait=0.02))
    with pytest.raises(rf.DeviceError, match=r"no sample came to 127\.0\.0\.1:\d+ within 0\.02 s"):
        made.run(1)
    with pytest.raises(rf.DeviceError, match="is the client running"):
        made.start()
    assert made.report().phase == "ready"
    made.close()
    client = raw()
    port = client.socket.getsockname()[1]
    made = session(ball, rf.UdpDevice(("127.0.0.1", port)))
    with pytest.raises(rf.DeviceError, match=f"cannot listen at 127.0.0.1:{port}: Address already"):
        made.run(1)
    made.close()


def test_a_cycle_that_takes_too_long_is_halted(raw, monkeypatch):
    """The watchdog sends no force, while the cycle is still under way."""
    monkeypatch.setattr(rf.haptics, "_STALL", 0.05)
    x = np.linspace(-0.1, 0.1, 500)
    points = np.stack(np.meshgrid(x, x, [0.0]), axis=-1).reshape(-1, 3)
    tree = rf.PointTree(rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1))))
    field = rf.SphereField((0.0, 0.0, 0.0), 0.5)
    slow = rf.PenaltyContact(tree, field, 1e-3, max_points=None, warm_nodes=None)
    client = raw()
    client.to = ("127.0.0.1", free_port())
    # the thread sanitizer makes it a hundred times as slow
    number = 1 if "thread" in os.environ.get("RF_SANITIZED", "") else 16
    made = session([slow] * number, rf.UdpDevice(client.to), duration=60.0)
    starting = threading.Thread(target=made.start)
    starting.start()
    while starting.is_alive():
        client.send(client.packet(1))
        time.sleep(0.002)
    assert made.wait(LONG)
    assert re.search(r"no cycle ended for 0\.05 s; the device UDP client .* was halted",
                     made.report().failure)  # fmt: skip
    # one from the watchdog, one a cycle, one at the end
    forces = []
    for number in range(1, made.report().ticks + 3):
        packet = client.socket.recv(1000)
        assert struct.unpack_from("<Q", packet, 8) == (number,)
        forces.append(struct.unpack_from("<3d", packet, 32))
    # cycles may have ended before the watchdog had its turn; what the next one wrote was held back,
    # or zero if that came too long after one that had ended in time
    some = np.any(forces, axis=1)
    sent = np.count_nonzero(some)
    assert some[:sent].all()
    records = made.records(drain=True)
    assert records["force"][sent].any() or records.flagged("paused")[sent]
    made.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_the_child_of_a_fork_does_not_keep_the_port(tmp_path):
    """Nor the connection to the daemon; and it tells the client nothing."""
    program = f"""
        import os, socket, struct, threading
        import numpy as np
        import reducedfem as rf
        shell = rf.Pointshell([[0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
        contact = rf.PenaltyContact(rf.PointTree(shell), rf.SphereField((0, 0, 0), 0.01), 1.0)
        def session(device):
            return rf.HapticSession(contact, device, coupling=rf.VirtualCoupling(1.0, 1.0))
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind({str(tmp_path / "spnav.sock")!r})
        server.listen(1)
        mouse = rf.SpaceMouse(socket={str(tmp_path / "spnav.sock")!r})
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind(("127.0.0.1", 0))
        client.settimeout(100.0)
        port = {free_port()}
        def opened():
            made = session(rf.UdpDevice(("127.0.0.1", port), wait=100.0))
            packet = struct.pack("<4sHHQd3d4d6dII", b"RFDS", 1, 136, 1, 0, 0, 0, 1, 1, *[0] * 11)
            done = threading.Event()
            def knock():
                while not done.wait(0.005):
                    client.sendto(packet, ("127.0.0.1", port))
            knocking = threading.Thread(target=knock)
            knocking.start()
            try:
                made.run(1)
            finally:
                done.set()
                knocking.join()
            return made
        made, other = opened(), session(mouse)
        other.run(1)
        daemon, _ = server.accept()
        child_reads, parent_writes = os.pipe()
        parent_reads, child_writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(parent_writes)
            made.close(); other.close()
            os.write(child_writes, b"here")
            os.read(child_reads, 1)
            os._exit(0)
        os.close(child_reads)
        os.read(parent_reads, 4)
        made.run(1)
        made.close(); other.close()
        numbers = []
        for _ in range(3):
            numbers.append(struct.unpack_from("<Q", client.recv(1000), 8)[0])
        again = opened()
        daemon.settimeout(100.0)
        daemon.recv(100)
        print(numbers, daemon.recv(100))
        again.close()
        os.close(parent_writes)
        os.waitpid(child, 0)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "[1, 2, 3] b''\n"), done.stderr


def test_ctrl_c_ends_waiting_for_a_client(ball):
    device = rf.UdpDevice(("127.0.0.1", 0), wait=1000.0)
    made, heard, main = session(ball, device), [], threading.get_ident()

    def waits():
        return device.address[1] != 0  # a port that the system chose

    def ask_for_nothing():
        before = len(heard)
        signal.pthread_kill(main, signal.SIGUSR1)
        wait_until(lambda: len(heard) > before)

    old = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    try:
        for begin in (made.start, lambda: made.run(1)):
            with interrupted(waits, first=ask_for_nothing):
                begin()
            assert not waits()
    finally:
        signal.signal(signal.SIGUSR1, old)
    assert len(heard) == 2  # a signal that asks for nothing does not end it
    assert made.report().phase == "ready"
    made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="sockets are shut down in another way")
def test_wrenches_that_cannot_be_sent_are_counted(ball, raw):
    client = raw()
    before = sockets()
    with bridged(ball, client) as (made, device):
        (mine,) = sockets() - before
        with socket.socket(fileno=os.dup(mine)) as again, contextlib.suppress(OSError):
            again.shutdown(socket.SHUT_WR)
        sent = device.counts.sent
        client.send(client.packet(2))
        made.run(5)
        assert (device.counts.sent, device.counts.unsent) == (sent, 5)
        assert device.counts.accepted == 2


def sockets():
    """Return the numbers of the sockets of this process."""
    gc.collect()  # a number that becomes free is given to the next one
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.add(int(name))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc on this system")
def test_a_socket_that_breaks_stops_the_session(ball, raw):
    client = raw()
    before = sockets()
    with bridged(ball, client) as (made, _):
        (mine,) = sockets() - before
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, mine)
        os.close(nowhere)
        with pytest.raises(rf.DeviceError, match=r"UDP client .* failed: the socket: Socket oper"):
            made.run(1)
        records = made.records(drain=True)
        assert records.flagged("device_failed")[-1]
        assert not records.array["force"][-1].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"address": ("localhost", 4000)}, "address: 'localhost' is no IPv4 address in numbers"),
        ({"address": ("127.0.0.1", 70000)}, "address: a port is between 0 and 65535, got 70000"),
        ({"address": "127.0.0.1"}, r"address must be a pair \(host, port\)"),
        ({"client": "me"}, r"client must be a pair \(host, port\), got 'me'"),
        ({"address": (1, 2)}, "address must begin with a str, got int"),
        ({"client": ("127.0.0.1", 0)}, "client: a port is between 1 and 65535, got 0"),
        ({"address": ("127.0.0.1\0", 1)}, "address has a null character"),
        ({"address": ("\ud800", 1)}, "address has a lone surrogate"),
        ({"address": ("9" * 300, 1)}, "address has 300 bytes, at most 255 are possible"),
        ({"wait": -1.0}, "wait must be between 0 and 3600 s, got -1"),
        ({"max_force": 0.0}, "^max_force must be positive, got 0"),
        ({"max_torque": -1.0}, "^max_torque must be positive, got -1"),
        ({"max_force": "5 N"}, "^max_force must be a number, got str"),
        ({"takeover": 1}, "^takeover must be True or False, got int"),
        ({"takeover": True, "client": ("127.0.0.1", 1)}, "takeover is for any client, and here"),
    ],
)
def test_wrong_bridges_are_refused(arguments, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.UdpDevice(**arguments)


# ---- the sample client ---------------------------------------------------------------------------


class Host:
    """The host's side of the packets, and the time of the client."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(udp_client, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(LONG)
        self.number = 0

    def send(self, to, force, torque=(0.0, 0.0, 0.0), echo=1, head=b"RFDW", version=1, number=None):
        self.number += 1
        number = self.number if number is None else number
        packet = struct.pack("<4sHHQdQ", head, version, 80, number, 0.0, echo)
        self.socket.sendto(packet + struct.pack("<6d", *force, *torque), to)


@pytest.fixture
def host(monkeypatch):
    made = Host(monkeypatch)
    yield made
    made.socket.close()


def test_the_client_sends_what_is_documented(host):
    with udp_client.UdpClient(host.socket.getsockname()) as client:
        client.exchange((1.0, 2.0, 3.0), (0.0, 1.0, 0.0, 0.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0), 6)
        packet, _ = host.socket.recvfrom(1000)
    assert len(packet) == 136
    assert packet[:4] == b"RFDS"
    assert struct.unpack_from("<HHQd", packet, 4) == (1, 136, 1, 100.0)
    assert struct.unpack_from("<3d", packet, 24) == (1.0, 2.0, 3.0)
    assert struct.unpack_from("<4d", packet, 48) == (0.0, 1.0, 0.0, 0.0)
    assert struct.unpack_from("<3d", packet, 80) == (4.0, 5.0, 6.0)
    assert struct.unpack_from("<3d", packet, 104) == (7.0, 8.0, 9.0)
    assert struct.unpack_from("<II", packet, 128) == (6, 0)


def test_the_client_limits_forces_by_itself(host):
    with udp_client.UdpClient(
        host.socket.getsockname(), max_force=2.0, max_torque=0.5, ramp=0.1, silence=0.010
    ) as client:
        assert client.exchange((0.0, 0.0, 0.0)) == ([0.0] * 3, [0.0] * 3)
        _, to = host.socket.recvfrom(1000)
        # it fades in
        host.send(to, (0.0, 0.0, 1.0))
        forces = []
        for _ in range(21):
            forces.append(client.exchange((0.0, 0.0, 0.0))[0][2])
            host.now += 0.005
            host.send(to, (0.0, 0.0, 1.0))
        assert np.allclose(forces, np.arange(21) / 20.0, rtol=0, atol=1e-9)
        # it is clamped, force and torque
        host.send(to, (6.0, 0.0, 8.0), (0.0, 3.0, 4.0), echo=12)
        force, torque = client.exchange((0.0, 0.0, 0.0))
        assert force == pytest.approx([1.2, 0.0, 1.6], rel=1e-12)
        assert torque == pytest.approx([0.0, 0.3, 0.4], rel=1e-12)
        assert client.echoed == 12
        # what is old, not finite or no wrench changes nothing
        for change in (
            {"number": 1},
            {"head": b"RFDS"},
            {"version": 2},
            {"force": (math.nan, 0.0, 0.0)},
        ):
            host.send(to, **({"force": (0.0, 0.0, 0.1), "echo": 99} | change))
            assert client.exchange((0.0, 0.0, 0.0)) == (force, torque)
        # 10 ms later it is gone, and comes back from nothing, by a session that begins anew
        host.now += 0.0101
        assert client.exchange((0.0, 0.0, 0.0)) == ([0.0] * 3, [0.0] * 3)
        host.send(to, (0.0, 0.0, 1.0), number=1)
        assert client.exchange((0.0, 0.0, 0.0))[0] == [0.0] * 3
        host.now += 0.005
        assert client.exchange((0.0, 0.0, 0.0))[0][2] == pytest.approx(0.05)


@pytest.mark.parametrize("ramp", [0.0, 0.02, 0.08])
def test_forces_fade_in_after_a_silence_whatever_the_ramp(host, ramp):
    """At first they fade in as the ramp says, and then over 0.05 s at least."""
    with udp_client.UdpClient(host.socket.getsockname(), ramp=ramp) as client:
        client.exchange((0.0, 0.0, 0.0))
        _, to = host.socket.recvfrom(1000)
        for fade in (ramp, max(ramp, 0.05), max(ramp, 0.05)):
            forces = []
            for _ in range(21):
                host.send(to, (0.0, 0.0, 1.0))
                forces.append(client.exchange((0.0, 0.0, 0.0))[0][2])
                host.now += 0.005
            shares = np.minimum(0.005 * np.arange(21) / fade, 1.0) if fade else np.ones(21)
            assert np.allclose(forces, shares, rtol=0, atol=1e-9)
            host.now += 0.02
            assert client.exchange((0.0, 0.0, 0.0)) == ([0.0] * 3, [0.0] * 3)


def test_the_client_as_a_program_feels_the_session(ball):
    port = free_port()
    command = [sys.executable, "-u", "-m", "reducedfem.udp_client", "--port", str(port)]
    program = subprocess.Popen(
        [*command, "--seconds", "1000", "--high", "0.014", "--low", "0.014"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until, felt = time.monotonic() + LONG, False
    try:
        with session(ball, rf.UdpDevice(("127.0.0.1", port), wait=LONG)) as made:
            # a busy machine may be silent for 10 ms now and then, and the force begins anew
            while not felt:
                assert time.monotonic() < until
                force = program.stdout.readline().split("force")[1]
                felt = f"(0.00, 0.00, {FORCE:.2f})" in force
            made.stop()
            assert made.report().phase == "stopped"
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=LONG)
    finally:
        program.kill()
    assert (program.returncode, err) == (0, "")


# ---- SpaceMouse ----------------------------------------------------------------------------------


@contextlib.contextmanager
def daemon(ball, folder, threaded=False, greeted=True, **options):
    """A session with a SpaceMouse, and the daemon's end of the connection."""
    path = folder / "spnav.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen(1)
        made = session(ball, rf.SpaceMouse(socket=path, **options))
        if threaded:
            made.start()
        else:
            made.run(1)
        connection, _ = server.accept()
        with connection:
            if greeted:
                assert connection.recv(100) == struct.pack("=I", 0x7FAA5501)
            yield made, connection
        made.close()


def motion(*values):
    return struct.pack("=8i", 0, *values, 16)


def test_a_spacemouse_is_integrated(ball, tmp_path):
    """By hand: speed times share of the way, the deadband taken off, in the daemon's axes."""
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
        (struct.pack("=8i", 3, 1, 0, 0, 0, 0, 0, 0), "it was unplugged, says the Spacenav daemon"),
    ],
    ids=["closed", "unplugged"],
)
def test_a_spacemouse_that_goes_stops_the_session(ball, tmp_path, event, message):
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


def test_a_daemon_that_ends_before_it_has_read_has_ended(ball, tmp_path):
    with daemon(ball, tmp_path, greeted=False) as (made, connection):
        connection.close()
        with pytest.raises(rf.DeviceError, match="daemon has closed the connection"):
            made.run(1)


def test_a_daemon_that_is_not_there_is_told(ball, tmp_path, monkeypatch):
    made = session(ball, rf.SpaceMouse(socket=tmp_path / "none"))
    with pytest.raises(rf.DeviceError, match=r"daemon at .*none: No such file .* spacenavd run"):
        made.start()
    made.close()
    with pytest.raises(rf.InputError, match="socket has 200 bytes, at most 107 are possible"):
        rf.SpaceMouse(socket="x" * 200)
    # one that is there and takes nobody
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


# ---- libraries of drivers ------------------------------------------------------------------------


class Mock:
    """A library that stands in for a driver's; its variables by name."""

    def __init__(self, path):
        self.path = path
        self._library = ctypes.CDLL(str(path))

    def ints(self, **values):
        for name, value in values.items():
            ctypes.c_int.in_dll(self._library, f"mock_{name}").value = value

    def int(self, name):
        return ctypes.c_int.in_dll(self._library, f"mock_{name}").value

    def reals(self, name, n=1):
        """Return an array on the variable's memory."""
        return np.ctypeslib.as_array((ctypes.c_double * n).in_dll(self._library, f"mock_{name}"))

    def text(self, name):
        return (ctypes.c_char * 64).in_dll(self._library, f"mock_{name}").value.decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that compiles a mock, once for each set of macros."""
    made = {}

    def build(name, macro=None):
        if (name, macro) not in made:
            folder = tmp_path_factory.mktemp("mock")
            text = f"#define {macro}\n" if macro else ""
            source = folder / f"{name}.c"
            source.write_text(f'{text}#include "{ROOT / "tests/support" / name}.c"\n')
            ckernels.build(name, [source], folder)
            made[name, macro] = folder / f"{name}.so"
        return made[name, macro]

    return build


@pytest.fixture
def dhd(built):
    mock = Mock(built("mock_dhd"))
    mock.ints(devices=1, wrist=1, turns=1, guard=0, hang=0, slow=0, buttons=0)
    mock.ints(enabled=0, was_enabled=0, opened=0, closed=0, id=0)
    mock.ints(failing=0, mute=0, stuck=0)
    mock.reals("position", 3)[:] = [0.0, 0.0, LOW]
    mock.reals("rotation", 9)[:] = np.eye(3).ravel()
    mock.reals("wrench", 6)[:] = 9.0
    return mock


DHD_FUNCTIONS = (
    "",
    "dhdGetDeviceCount",
    "dhdOpen",
    "dhdSetMaxForce",
    "dhdSetMaxTorque",
    "dhdEnableForce",
    "dhdGetPositionAndOrientationFrame",
    "dhdGetLinearVelocity",
    "dhdGetAngularVelocityRad",
    "dhdSetForceAndTorqueAndGripperForce",
)


def let_go(dhd):
    """Return True if everything that was opened is closed again, without force."""
    return (
        dhd.int("opened") == dhd.int("closed")
        and not dhd.int("enabled")
        and not dhd.reals("wrench", 6).any()
    )


def rotation_of(quaternion):
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


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
        rotation = rotation_of(quaternion / np.linalg.norm(quaternion))
        dhd.reals("rotation", 9)[:] = rotation.ravel()
        found = made.run(1).array["device_quaternion"][0]
        assert np.allclose(rotation_of(found), rotation, rtol=0, atol=1e-14)
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
    with pytest.raises(rf.DeviceError, match="omega.7 failed: it told a pose that is no rotation"):
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


def test_what_the_library_did_not_ask_again_is_not_new(ball, dhd):
    made = session(ball, rf.ForceDimension(library=dhd.path), silence=0.005)
    assert not made.run(10).flagged("silent").any()
    dhd.ints(guard=1)
    quiet = made.run(10)
    assert quiet.flagged("silent")[-1]
    assert not quiet.array["force"][-1].any()
    made.close()


def test_a_device_of_a_session_is_not_opened_again(ball, dhd, monkeypatch):
    """The library may give it to whoever asks: to close that would take it from the session."""
    first = session(ball, rf.ForceDimension(library=dhd.path))
    second = session(ball, rf.ForceDimension(library=dhd.path))
    first.run(1)
    monkeypatch.setenv("REDUCEDFEM_DHD", str(dhd.path))
    for _ in range(2):
        with pytest.raises(rf.DeviceError, match="opens the device 3, which another session of th"):
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
def test_force_dimension_that_does_not_open_is_told(ball, dhd, failing, message):
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


def test_no_device_of_force_dimension_is_told(ball, dhd):
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
    wanted = "the mock says no" if failing else "it told a pose that is no rotation and position"
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
    assert "no cycle ended for" in made.report().failure
    assert "omega.7 was halted" in made.report().failure
    # the cycle that was under way is written without force
    assert made.records(drain=True).array["force"][-2:].any()
    assert dhd.reals("most")[0] == 0.0
    made.close()
    assert let_go(dhd)


@pytest.mark.usefixtures("_half_a_second")
def test_a_cycle_that_never_ends_is_given_up(ball, dhd, tmp_path):
    """The caller goes on; the device stays taken until the cycle ends after all."""
    device = rf.ForceDimension(library=dhd.path)
    made = session(ball, device, record=tmp_path / "session.npy")
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    dhd.ints(hang=1)
    made.stop()
    failure = made.report().failure
    assert made.report().phase == "failed"
    assert "a cycle has not ended for 2 s and is given up; the device" in failure
    assert not dhd.int("enabled")
    made.close()
    with pytest.raises(rf.InputError, match="belongs to another session"):
        session(ball, device)
    # what its threads write now goes nowhere else
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
def test_force_dimension_may_take_its_time_to_close(ball, dhd):
    """Longer than cycles may take: nothing is stuck."""
    made = session(ball, rf.ForceDimension(library=dhd.path))
    dhd.ints(slow=1)
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    made.stop()
    assert (made.report().phase, made.report().failure) == ("stopped", "")
    made.close()
    assert let_go(dhd)


def test_a_device_that_does_not_close_is_given_up(ball, dhd, monkeypatch):
    """The caller goes on; the device stays taken until it has closed after all."""
    monkeypatch.setattr(rf.haptics, "_HANG", 0.2)
    monkeypatch.setattr(rf.haptics, "_STALL", 1.0)
    device = rf.ForceDimension(library=dhd.path)
    made = session(ball, device)
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    dhd.ints(stuck=1)
    try:
        made.stop()
        assert made.report().phase == "failed"
        assert made.report().failure == (
            "the device Force Dimension omega.7 has not closed for 0.2 s and is given up"
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


def test_libraries_that_have_no_words_are_told_all_the_same(ball, dhd, hd, monkeypatch):
    monkeypatch.setattr(rf.haptics, "_STALL", 5.0)
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
        rf.DeviceError, match=r"^OpenHaptics cannot open .*: it does not say why \(e"
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
def test_numbers_of_the_device_that_are_none_bring_no_force(ball, dhd, of, value):
    """A pose that is none stops the session; the velocity is not what forces come from."""
    made = session(ball, rf.ForceDimension(library=dhd.path))
    made.run(20)
    dhd.reals(of, 6 if of == "velocity" else 3)[0] = value
    try:
        if of == "velocity":
            found = made.run(20).array["force"]
            assert found[-1] == pytest.approx([0.0, 0.0, FORCE], rel=1e-3)
        else:
            with pytest.raises(rf.DeviceError, match=r"omega\.7 failed: it told a pose that is no"):
                made.run(1)
            assert not made.records(drain=True).array["force"][-1].any()
            assert let_go(dhd)
    finally:
        dhd.reals("velocity", 6)[:] = 0.0
        made.close()
    assert let_go(dhd)


# ---- OpenHaptics ---------------------------------------------------------------------------------

_HD_ERRORS = "init_error info_error start_error schedule_error read_error write_error".split()


@pytest.fixture
def hd(built):
    mock = Mock(built("mock_hd"))
    mock.ints(**dict.fromkeys(_HD_ERRORS, 0), rate=1000, deaf=0, hang=0, buttons=0, actuated=3)
    mock.ints(mute=0, invalid=0)
    mock.reals("max_force")[0], mock.reals("stiffness")[0] = 3.3, 0.5
    mock.reals("torque", 3)[:] = 9.0
    mock.ints(enabled=0, was_enabled=0, initialised=0, disabled=0, misused=0)
    place(mock, (0.0, 0.0, LOW))
    yield mock
    mock.ints(deaf=0, hang=0)
    assert mock.int("misused") == 0
    assert mock.int("scheduled") == mock.int("unscheduled")
    assert mock.int("frames") == 0
    assert mock.int("initialised") == mock.int("disabled")
    assert not mock.int("running")
    assert not mock.int("enabled")


def place(hd, position, rotation=None):
    """Put the handle somewhere: by columns, millimetres."""
    matrix = np.eye(4)
    matrix[:3, 3] = 1e3 * np.asarray(position)
    matrix[:3, :3] = np.eye(3) if rotation is None else rotation
    hd.reals("transform", 16)[:] = matrix.T.ravel()


def test_openhaptics_makes_the_cycles(ball, hd):
    hd.ints(buttons=3)
    quaternion = np.array([0.1, 0.7, -0.5, 0.5])
    quaternion /= np.linalg.norm(quaternion)
    place(hd, (0.001, -0.002, LOW), rotation_of(quaternion))
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
def test_openhaptics_renders_torques_when_asked_for(ball, hd, actuated, unit, most):
    hd.ints(actuated=actuated)
    place(hd, (0.01, 0.0, LOW))
    grasped = rf.PenaltyContact(ball.tree, ball.field, 200.0, grasp=(0.01, 0.0, 0.0))
    device = rf.OpenHaptics(library=hd.path, max_torque=most, torque_unit=unit)
    renders = actuated == 6 and most > 0.0
    assert _core.probe_device(device._core)[2:6:3] == (most * renders, 6 if renders else 3)
    with session(grasped, device, ramp=0.02) as made:
        wait_until(lambda: made.report().ticks >= 100)
        felt = hd.reals("torque", 3) * unit
        told = made.snapshot().torque
    if not renders:
        assert (hd.reals("torque", 3) == 9.0).all()
        assert not made.records(drain=True).array["torque"].any()
        return
    # the hand stands still: so does the object, but for what is too small to be felt
    assert felt == pytest.approx(told, rel=1e-6)
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
        ("info_error", "OpenHaptics cannot tell what the device can render: Device fault"),
        ("start_error", "OpenHaptics cannot start its scheduler: Device fault: the cable"),
    ],
)
def test_openhaptics_that_does_not_open_is_told(ball, hd, error, message):
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
def test_openhaptics_that_tells_what_no_device_is_like_is_refused(ball, hd, force, monkeypatch):
    monkeypatch.setattr(rf.haptics, "_STALL", 5.0)
    if force is None:
        hd.ints(invalid=1)
    else:
        hd.reals("max_force")[0] = force
    what = "open the device" if force is None else "tell what the device can render"
    made = session(ball, rf.OpenHaptics(library=hd.path), duration=0.02)
    with pytest.raises(rf.DeviceError, match=f"^OpenHaptics cannot {what}: it does not say why"):
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
        ("", r"failed: it told a pose that is no rotation and position"),
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
def test_openhaptics_that_makes_no_more_cycles_is_left(ball, hd):
    """As when the cable is pulled and the scheduler waits for ever."""
    made = session(ball, rf.OpenHaptics(library=hd.path))
    made.start()
    wait_until(lambda: made.report().ticks >= 10)
    hd.ints(deaf=1)
    assert made.wait(LONG)
    assert "the scheduler of OpenHaptics makes no more cycles" in made.report().failure
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
    with pytest.raises(rf.DeviceError, match="one scheduler in a process, and another device uses"):
        second.start()
    first.close()
    with pytest.raises(rf.InputError, match="cycles of this device come from its own thread"):
        second.run(1)
    second.close()
    slow = session(ball, rf.OpenHaptics(library=hd.path), rate=500.0)
    with pytest.raises(rf.InputError, match=r"makes 1000 cycles .* session is one of 500: .*=1000"):
        slow.start()
    slow.close()
    assert hd.int("was_enabled")
    # what it tells is an average: a machine that was busy does not make it another rate
    hd.ints(rate=931)
    with session(ball, rf.OpenHaptics(library=hd.path), duration=0.02) as made:
        assert made.wait(LONG)


# ---- velocities ----------------------------------------------------------------------------------


class Sample(ctypes.Structure):
    _fields_ = (
        ("position", ctypes.c_double * 3),
        ("quaternion", ctypes.c_double * 4),
        ("velocity", ctypes.c_double * 3),
        ("turn", ctypes.c_double * 3),
        ("buttons", ctypes.c_uint32),
        ("count", ctypes.c_uint64),
        ("other", ctypes.c_bool),
    )


class CoreError(ctypes.Structure):
    _fields_ = (("status", ctypes.c_int), ("text", ctypes.c_char * 512))


def test_samples_have_velocities_in_si_units(dhd, hd, raw, tmp_path):
    sources = ["base/alloc.c", "base/status.c", "base/clock_rt.c", "device/device.c"]
    sources += ["device/udp.c", "device/udp_rt.c", "device/library.c"]
    sources += [f"device/{name}{kind}.c" for name in ("force_dimension", "openhaptics")
                for kind in ("", "_rt")]  # fmt: skip
    places = [ROOT / "csrc" / name for name in sources]
    places.append(ROOT / "tests/support/device_samples.c")
    library = ckernels.build("device_samples", places, tmp_path)

    def sample(name, argument):
        out, err = Sample(), CoreError()
        found = library[f"sample_of_{name}"](argument, ctypes.byref(out), ctypes.byref(err))
        assert found == 0, err.text
        assert out.count == 1
        return [*out.velocity, *out.turn]

    dhd.reals("velocity", 6)[:] = [0.1, 0.2, 0.3, 4.0, 5.0, 6.0]
    assert sample("dhd", str(dhd.path).encode()) == [0.1, 0.2, 0.3, 4.0, 5.0, 6.0]
    dhd.ints(turns=0)  # devices without wrist tell none
    assert sample("dhd", str(dhd.path).encode()) == [0.1, 0.2, 0.3, 0.0, 0.0, 0.0]
    hd.reals("velocity", 6)[:] = [100.0, 200.0, 300.0, 4.0, 5.0, 6.0]
    values = sample("hd", str(hd.path).encode())
    assert values == pytest.approx([0.1, 0.2, 0.3, 4.0, 5.0, 6.0], rel=1e-15)
    hd.ints(misused=hd.int("misused") - 1)  # a frame outside of the scheduler, as is meant here
    client = raw()
    client.to = ("127.0.0.1", free_port())
    packet = bytearray(client.packet(1))
    struct.pack_into("<6d", packet, 80, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    done = threading.Event()

    def knock():
        while not done.is_set():
            client.send(bytes(packet))
            done.wait(0.005)

    knocking = threading.Thread(target=knock)
    knocking.start()
    try:
        assert sample("udp", client.to[1]) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    finally:
        done.set()
        knocking.join()


# ---- missing libraries ---------------------------------------------------------------------------


def test_libraries_that_are_missing_or_others_are_told(ball, built, tmp_path, monkeypatch):
    for kind, variable, name, macro, symbol in (
        (rf.ForceDimension, "REDUCEDFEM_DHD", "mock_dhd", "WITHOUT_ERROR_TEXT",
         "dhdErrorGetLastStr"),
        (rf.OpenHaptics, "REDUCEDFEM_HD", "mock_hd", "WITHOUT_DISABLE", "hdDisable"),
    ):  # fmt: skip
        text = tmp_path / "text.so"
        text.write_text("no library")
        for library, message in (
            (tmp_path / "none.so", "none.so: cannot open shared object file: No such file"),
            (text, "text.so: "),
            (built(name, macro), f"undefined symbol: {symbol}"),
        ):
            made = session(ball, kind(library=library))
            with pytest.raises(rf.DeviceError, match=message):
                made.start()
            assert made.report().phase == "ready"
            made.close()
            monkeypatch.setenv(variable, str(library))
            made = session(ball, kind())
            with pytest.raises(rf.DeviceError, match=message):
                made.start()
            made.close()
        with pytest.raises(rf.InputError, match="library has 600 bytes, at most 511"):
            kind(library="x" * 600)
        with pytest.raises(rf.InputTypeError, match="^library must be a str or a Path, got int"):
            kind(library=3)
    with pytest.raises(rf.InputError, match="^max_force must be finite and positive, got 0$"):
        rf.ForceDimension(max_force=0.0)
    with pytest.raises(rf.InputError, match="^max_torque must be finite and positive, got -1$"):
        rf.ForceDimension(max_torque=-1.0)
    with pytest.raises(rf.InputTypeError, match="^socket must be a str or a Path, got int"):
        rf.SpaceMouse(socket=3)
    with pytest.raises(rf.InputTypeError, match="name must be a str or None, got int"):
        rf.OpenHaptics(3)


# ---- what is there -------------------------------------------------------------------------------


def test_probes_say_what_was_looked_for_and_why_it_is_not_there(monkeypatch):
    monkeypatch.setenv("SPNAV_SOCKET", "/nowhere/spnav.sock")
    monkeypatch.delenv("REDUCEDFEM_DHD", raising=False)
    monkeypatch.setenv("REDUCEDFEM_HD", "/nowhere/libHD.so")
    udp, mouse, force, haptics = rf.probe_devices()
    assert not any(probe.found for probe in (udp, mouse, haptics))
    assert udp.looked_for == ("packets at 127.0.0.1:47815 (UDP)",)
    assert mouse.looked_for == ("socket /nowhere/spnav.sock of spacenavd (by SPNAV_SOCKET)",)
    assert "No such file" in mouse.detail
    assert force.looked_for[0] == "library libdhd.so.3 (REDUCEDFEM_DHD is not set)"
    assert haptics.looked_for == ("library /nowhere/libHD.so (by REDUCEDFEM_HD)",)
    assert "/nowhere/libHD.so: cannot open shared object file" in haptics.detail
    monkeypatch.setenv("SPNAV_SOCKET", "x" * 300)
    assert "socket has 300 bytes" in rf.probe_devices()[1].detail


def test_names_that_are_no_text_are_looked_for(monkeypatch, tmp_path):
    """Systems have such names; what was looked for can be printed."""
    place = os.fsencode(tmp_path) + b"/\xff"
    for variable in ("SPNAV_SOCKET", "REDUCEDFEM_DHD", "REDUCEDFEM_HD"):
        monkeypatch.setenv(variable, os.fsdecode(place))
    for probe in rf.probe_devices()[1:]:
        assert not probe.found
        assert str(tmp_path) + r"/\xff" in probe.looked_for[0]
        assert r"/\xff: " in probe.detail
        str(probe).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(place)
        server.listen(1)
        assert rf.probe_devices()[1].found
    for name, what in (("a\0b", "null character"), ("\ud800", "lone surrogate")):
        with pytest.raises(rf.InputError, match=f"name has a {what}"):
            rf.OpenHaptics(name)


def test_probes_find_what_is_there_and_leave_it_alone(ball, dhd, hd, tmp_path, monkeypatch):
    monkeypatch.setenv("REDUCEDFEM_DHD", str(dhd.path))
    monkeypatch.setenv("REDUCEDFEM_HD", str(hd.path))
    monkeypatch.setenv("SPNAV_SOCKET", str(tmp_path / "spnav.sock"))
    dhd.reals("wrench", 6)[:] = 0.0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "spnav.sock"))
        server.listen(1)
        _, mouse, force, haptics = rf.probe_devices()
    assert mouse.found
    assert mouse.detail == "SpaceMouse: senses 6 degrees of freedom, renders none"
    assert force.found
    assert force.detail == (
        "Force Dimension omega.7: senses 6 degrees of freedom, renders 6, 5 N, 0.05 N m"
    )
    assert haptics.found
    assert haptics.detail == (
        "OpenHaptics default device: senses 6 degrees of freedom, renders 3, 3.3 N, 500 N/m, "
        "1000 cycles a second"
    )
    for mock in (dhd, hd):
        assert not mock.int("was_enabled")
    assert let_go(dhd)
    # a device of a session is not looked at
    device = rf.ForceDimension()
    made = session(ball, device)
    with pytest.raises(rf.InputError, match="the device belongs to a session"):
        _core.probe_device(device._core)
    made.close()
    assert _core.probe_device(device._core)[0] == "Force Dimension omega.7"
    session(ball, device).close()
    with pytest.raises(rf.InputTypeError, match="devices are made by functions"):
        _core.Device()
    with pytest.raises(rf.InputTypeError, match="the device is no bridge over UDP"):
        _core.udp_counts(device._core)
    with pytest.raises(rf.InputError, match="the device is no bridge over UDP"):
        _core.udp_accept(device._core)


def test_the_command_tells(capsys, monkeypatch):
    monkeypatch.setenv("SPNAV_SOCKET", "/nowhere/spnav.sock")
    assert cli.main(["haptics", "--probe"]) == 0
    out = capsys.readouterr().out
    for text in (
        "UdpDevice: not found",
        "SpaceMouse: not found",
        "looked for socket /nowhere/spnav.sock of spacenavd (by SPNAV_SOCKET)",
        "ForceDimension: ",
        "OpenHaptics: ",
    ):
        assert text in out


def test_the_client_needs_nothing_but_python():
    """It can be copied to the computer of the device."""
    path = Path(udp_client.__file__)
    code = f"import runpy, sys; runpy.run_path({str(path)!r}); print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize("arguments", [["--port", "99999999"], ["--host", "x" * 70]])
def test_a_client_of_nowhere_says_so_in_one_line(capsys, arguments):
    with pytest.raises(SystemExit) as left:
        udp_client.main([*arguments, "--seconds", "0"])
    assert left.value.code == 2
    assert "error: no packets can go to" in capsys.readouterr().err.splitlines()[-1]


def test_ctrl_c_ends_the_client(monkeypatch, capsys):
    def interrupted(self, position):
        raise KeyboardInterrupt

    monkeypatch.setattr(udp_client.UdpClient, "exchange", interrupted)
    assert udp_client.main([]) == 0
    assert capsys.readouterr().err == ""
