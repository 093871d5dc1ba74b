"""The sample client: what it sends, what it limits, and as a program."""

from __future__ import annotations

import math
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reducedfem as rf
from bridges import FORCE, session
from moments import LONG, free_port
from reducedfem import udp_client


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


def test_the_client_sends_the_documented_packets(host):
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
        # packets that are old, not finite or of another kind change nothing
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
def test_forces_fade_in_after_a_silence_for_any_ramp(host, ramp):
    """At first forces fade in over the ramp, later over 0.05 s at least."""
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


def test_the_client_needs_only_python():
    """The file alone can be copied to the computer of the device."""
    path = Path(udp_client.__file__)
    code = f"import runpy, sys; runpy.run_path({str(path)!r}); print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize("arguments", [["--port", "99999999"], ["--host", "x" * 70]])
def test_a_client_without_bridge_reports_in_one_line(capsys, arguments):
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


@pytest.mark.parametrize(("option", "value"), [("seconds", "nan"), ("high", "inf"), ("low", "nan")])
def test_numbers_that_are_not_finite(capsys, option, value):
    with pytest.raises(SystemExit) as left:
        udp_client.main([f"--{option}", value])
    assert left.value.code == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.endswith(f"error: argument --{option}: {value} is not finite")
