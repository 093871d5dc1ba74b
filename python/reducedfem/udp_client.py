"""The other side of `UdpDevice`: a client that has a device and speaks to a session by UDP.

This file needs nothing but Python, so it can be copied to the computer that the device is
plugged into. A program for a device makes a `UdpClient` and calls `exchange` in its own loop;
run as a program, ``python -m reducedfem.udp_client``, it moves up and down in place of a hand
and prints the forces that it would feel.

Packets are little-endian, units SI. A sample, client to host, has 136 bytes: ``RFDS``, version
(uint16, 1), bytes (uint16), sequence number (uint64, ascending from 1), time (float64), position
(3 float64), quaternion w x y z (4), velocity (3), angular velocity (3), buttons (uint32), zero
(uint32). A wrench, host to client, has 80: ``RFDW``, version, bytes, sequence number, time, the
number of the newest sample that the host has (uint64, 0: none), force (3 float64), torque (3).
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
    """A device's side of the bridge: sends samples, and says what force may be rendered.

    The force is the host's newest one, clamped, faded in after each silence, and zero when no
    packet has come for `silence`: what the host limits is limited here again, where the device
    is.

    Parameters
    ----------
    host
        Address of the session: (address, port).
    max_force, max_torque
        That the device may render [N], [N m].
    ramp
        Time in which forces fade in [s]; 0: at once. After a silence they take 0.05 s where it is
        shorter, for the hand has moved meanwhile.
    silence
        Time without a packet of the host after which there is no force [s].

    Attributes
    ----------
    echoed
        Number of the newest sample that the host is known to have.
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
            self._socket.connect(host)  # packets from elsewhere do not come through
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
        """Return itself."""
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
        """Send where the handle is; return force [N] and torque [N m] to render now.

        Parameters
        ----------
        position, quaternion
            Of the handle [m], (w, x, y, z).
        velocity, turn
            [m/s], [rad/s].
        buttons
            A bit each.

        Returns
        -------
        tuple
            Force and torque on the hand.
        """
        now = time.monotonic()
        self._sent += 1
        head = (b"RFDS", _VERSION, _SAMPLE.size, self._sent, now)
        packet = _SAMPLE.pack(*head, *position, *quaternion, *velocity, *turn, buttons, 0)
        # no session may listen, or none any more: silence takes the force away
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
            # a session that began anew counts from 1 again
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
    """Play a device that moves up and down.

    Parameters
    ----------
    arguments
        Of the command line; None: those of the process.

    Returns
    -------
    int
        The exit status.
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
