"""Client of a `UdpDevice`: connects the program of a device to a session by UDP.

This file needs only Python, so that it can be copied to the computer of the device. A program
for a device makes a `UdpClient` and calls `exchange` in its own loop. Run as a program,
``python -m reducedfem.udp_client``, it simulates a hand that moves up and down and prints the
forces.

Packets are little-endian, units SI. A sample, client to host, has 136 bytes: ``RFDS``, version
(uint16, 1), bytes (uint16), sequence number (uint64, ascending from 1), time (float64), position
(3 float64), quaternion w x y z (4), velocity (3), angular velocity (3), buttons (uint32), zero
(uint32). A wrench, host to client, has 80 bytes: ``RFDW``, version, bytes, sequence number, time,
number of the newest sample received by the host (uint64, 0 before the first), force (3 float64),
torque (3).
"""

from __future__ import annotations

import argparse
import contextlib
import math
import socket
import struct
import time
from collections.abc import Sequence

__all__ = ["UdpClient"]

_SAMPLE = struct.Struct("<4sHHQd3d4d3d3dII")
_WRENCH = struct.Struct("<4sHHQdQ3d3d")
_VERSION = 1
_SHORTEST_FADE = 0.05  # s, after a silence: RESUME_S in csrc/haptic/safety_rt.c

_Vector = Sequence[float]
_ZERO = (0.0, 0.0, 0.0)


class UdpClient:
    """UDP client of a device: sends samples and returns the force to render.

    The force is the newest one of the host, clamped, faded in after each silence, and zero after
    `silence` without a packet. The limits of the host thus also hold at the device.

    Parameters
    ----------
    host
        Address of the session: (address, port).
    max_force, max_torque
        Largest force [N] and torque [N m] that the device may render.
    ramp
        Time in which forces fade in [s]; 0: at once. After a silence at least 0.05 s, because
        the hand has moved.
    silence
        Time without a packet of the host after which forces are zero [s].

    Attributes
    ----------
    echoed
        Number of the newest sample that the host has confirmed; 0 before the first.
    """

    def __init__(
        self,
        host: tuple[str, int] = ("127.0.0.1", 47815),
        *,
        max_force: float = 5.0,
        max_torque: float = 0.1,
        ramp: float = 0.2,
        silence: float = 0.010,
    ) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.connect(host)  # the system drops packets of other senders
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self._limits = max_force, max_torque
        self._ramp = self._fade = ramp
        self._silence = silence
        self._sent = self._received = self.echoed = 0
        self._heard = self._faded_in_since = -math.inf
        self._wrench: tuple[_Vector, _Vector] = _ZERO, _ZERO

    def __enter__(self) -> UdpClient:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the socket."""
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def exchange(
        self,
        position: _Vector,
        quaternion: _Vector = (1.0, 0.0, 0.0, 0.0),
        velocity: _Vector = _ZERO,
        turn: _Vector = _ZERO,
        buttons: int = 0,
    ) -> tuple[list[float], list[float]]:
        """Send the state of the handle; return force and torque to render now.

        Parameters
        ----------
        position, quaternion
            Pose of the handle: position [m] and rotation (w, x, y, z).
        velocity, turn
            Velocity [m/s] and angular velocity [rad/s] of the handle.
        buttons
            Buttons held, one bit each.

        Returns
        -------
        tuple
            Force [N] and torque [N m] on the hand.
        """
        now = time.monotonic()
        self._sent += 1
        head = (b"RFDS", _VERSION, _SAMPLE.size, self._sent, now)
        packet = _SAMPLE.pack(*head, *position, *quaternion, *velocity, *turn, buttons, 0)
        # sending fails without a session: the timeout then sets the force to zero
        with contextlib.suppress(OSError):
            self._socket.send(packet)
        self._receive(now)
        return self._rendered(now)

    def _receive(self, now: float) -> None:
        for _ in range(64):
            try:
                packet = self._socket.recv(_WRENCH.size + 1)
            except OSError:
                return
            if len(packet) != _WRENCH.size:
                continue
            magic, version, size, number, _time, echoed, *values = _WRENCH.unpack(packet)
            if (magic, version, size) != (b"RFDW", _VERSION, _WRENCH.size):
                continue
            # a restarted session counts from 1 again
            silent = now - self._heard > self._silence
            if (number <= self._received and not silent) or not all(map(math.isfinite, values)):
                continue
            if silent:
                self._faded_in_since = now
                began = self._heard == -math.inf
                self._fade = self._ramp if began else max(self._ramp, _SHORTEST_FADE)
            self._received, self._heard, self.echoed = number, now, echoed
            self._wrench = values[:3], values[3:]

    def _rendered(self, now: float) -> tuple[list[float], list[float]]:
        if now - self._heard > self._silence:
            return [0.0] * 3, [0.0] * 3
        share = min((now - self._faded_in_since) / self._fade, 1.0) if self._fade > 0.0 else 1.0
        force, torque = (
            [share * x * min(1.0, most / max(math.hypot(*vector), 1e-300)) for x in vector]
            for vector, most in zip(self._wrench, self._limits, strict=True)
        )
        return force, torque


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate a device that moves up and down.

    Parameters
    ----------
    arguments
        Command-line arguments; None: those of the process.

    Returns
    -------
    int
        Exit status.
    """
    parser = argparse.ArgumentParser(
        prog="python -m reducedfem.udp_client",
        description="Play a device for rf.UdpDevice: its handle moves up and down.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="of the session (default: %(default)s)")
    parser.add_argument("--port", type=int, default=47815, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="(default: %(default)s)")
    parser.add_argument("--high", type=float, default=0.03, help="highest z [m]")
    parser.add_argument("--low", type=float, default=0.01, help="lowest z [m]")
    args = parser.parse_args(arguments)
    for name in ("seconds", "high", "low"):
        if not math.isfinite(getattr(args, name)):
            parser.error(f"argument --{name}: {getattr(args, name)} is not finite")
    try:
        client = UdpClient((args.host, args.port))
    except (OSError, OverflowError, ValueError) as error:
        parser.error(f"no packets can go to {args.host}:{args.port}: {error}")
    with client, contextlib.suppress(KeyboardInterrupt):
        _move(client, args.seconds, args.low, args.high)
    return 0


def _move(client: UdpClient, seconds: float, low: float, high: float) -> None:
    start, said = time.monotonic(), -1
    while (t := time.monotonic() - start) < seconds:
        z = 0.5 * (high + low) + 0.5 * (high - low) * math.cos(math.pi * t)
        force, _ = client.exchange((0.0, 0.0, z))
        if int(5.0 * t) > said:
            said = int(5.0 * t)
            text = ", ".join(f"{x:.2f}" for x in force)
            print(f"{t:5.1f} s   z = {1e3 * z:5.1f} mm   force ({text}) N", flush=True)
        time.sleep(1e-3)


if __name__ == "__main__":
    raise SystemExit(main())
