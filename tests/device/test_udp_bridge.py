"""The bridge over UDP in a session: ports, halts, forks, signals, sockets that break."""

from __future__ import annotations

import contextlib
import gc
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

import numpy as np
import pytest

import reducedfem as rf
from bridges import bridged, session
from moments import LONG, free_port, interrupted, wait_until
from shells import level


def test_a_bridge_without_client_or_address_is_reported(ball, raw):
    made = session(ball, rf.UdpDevice(("127.0.0.1", 0), wait=0.02))
    with pytest.raises(rf.DeviceError, match=r"no valid packet .* 127\.0\.0\.1:\d+ within 0\.02 s"):
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


def test_a_cycle_that_takes_too_long_is_halted(raw, set_timeouts):
    """The watchdog sends no force, while the cycle is still under way."""
    set_timeouts(stall=0.05)
    tree = rf.PointTree(level(np.linspace(-0.1, 0.1, 500)))
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
    assert re.search(r"no cycle ended within 0\.05 s; the device UDP client .* was halted",
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
    """The child has no connection to the daemon either, and sends nothing to the client."""
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
        ({"address": ("localhost", 4000)}, "address: 'localhost' is not a numeric IPv4 address"),
        ({"address": ("127.0.0.1", 70000)}, "address: a port is between 0 and 65535, got 70000"),
        ({"address": "127.0.0.1"}, r"address must be a pair \(host, port\)"),
        ({"client": "me"}, r"client must be a pair \(host, port\), got 'me'"),
        ({"address": (1, 2)}, "address must begin with a str, got int"),
        ({"client": ("127.0.0.1", 0)}, "client: a port is between 1 and 65535, got 0"),
        ({"address": ("127.0.0.1\0", 1)}, "address has a null character"),
        ({"address": ("\ud800", 1)}, "address has a lone surrogate"),
        ({"address": ("9" * 300, 1)}, "address has 300 bytes, at most 255 are allowed"),
        ({"wait": -1.0}, "wait must be between 0 and 3600 s, got -1"),
        ({"max_force": 0.0}, "^max_force must be positive, got 0"),
        ({"max_torque": -1.0}, "^max_torque must be positive, got -1"),
        ({"max_force": "5 N"}, "^max_force must be a number, got str"),
        ({"takeover": 1}, "^takeover must be True or False, got int"),
        ({"takeover": True, "client": ("127.0.0.1", 1)}, "takeover permits any client, but client"),
    ],
)
def test_wrong_bridges_are_refused(arguments, message):
    with pytest.raises(rf.ReducedFEMError, match=message):
        rf.UdpDevice(**arguments)
