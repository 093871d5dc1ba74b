"""A session with a `UdpDevice`, and a client of it that can send anything."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import numpy as np

import reducedfem as rf
from moments import LONG, free_port
from shells import level

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
# force of the ball on the floor when the hand is at 14 mm: 200 N/m and 500 N/m in series
LOW = 0.014
FORCE = 0.006 / (1 / 200.0 + 1 / 500.0)


def ball_on_a_floor():
    """Return the contact of a ball of 2 cm with a floor."""
    tree = rf.PointTree(level(np.linspace(-0.1, 0.1, 5)))
    return rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 0.02), 200.0)


def session(contact, device, **options):
    options = {"ramp": 0.0, "budget_us": 0.0, "priority": 0, "lock_memory": False} | options
    return rf.HapticSession(contact, device, coupling=rf.VirtualCoupling(500.0, 1.0), **options)


class RawClient:
    """A client of a bridge that can send anything."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(LONG)
        self.to = None

    def packet(self, number, position=(0.0, 0.0, LOW), quaternion=UPRIGHT, buttons=0):
        """Return a sample as the documentation of the packets has it."""
        found = bytearray(136)
        found[0:4] = b"RFDS"
        struct.pack_into("<HHQ", found, 4, 1, 136, number)
        struct.pack_into("<d", found, 16, 0.25)
        struct.pack_into("<3d", found, 24, *position)
        struct.pack_into("<4d", found, 48, *quaternion)
        struct.pack_into("<I", found, 128, buttons)
        return bytes(found)

    def send(self, packet):
        self.socket.sendto(packet, self.to)

    def newest(self):
        """Return (number, time, echo, force, torque) of the newest wrench."""
        packet = self.socket.recv(1000)
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = self.socket.recv(1000)
        self.socket.settimeout(LONG)
        assert len(packet) == 80
        assert packet[:4] == b"RFDW"
        assert struct.unpack_from("<HH", packet, 4) == (1, 80)
        number, when, echo = struct.unpack_from("<QdQ", packet, 8)
        return number, when, echo, struct.unpack_from("<3d", packet, 32), struct.unpack_from(
            "<3d", packet, 56
        )  # fmt: skip


@contextlib.contextmanager
def raw_clients() -> Iterator[Callable[[], RawClient]]:
    """Make clients, and close them at the end."""
    with contextlib.ExitStack() as opened:

        def make() -> RawClient:
            client = RawClient()
            opened.callback(lambda: client.socket.close())
            return client

        yield make


@contextlib.contextmanager
def bridged(ball, client, number=1, **options):
    """Return a session with a bridge whose first cycle used the first sample of a client."""
    only, limits = options.pop("only", None), options.pop("limits", {})
    at = ("127.0.0.1", free_port())
    device = options.pop("device", None) or rf.UdpDevice(at, client=only, wait=LONG, **limits)
    made = session(ball, device, **options)
    opened = threading.Event()

    def knock():
        while not opened.is_set():
            client.to = device.address
            if client.to[1]:  # it is open
                client.send(client.packet(number))
            opened.wait(0.005)

    knocking = threading.Thread(target=knock)
    knocking.start()
    try:
        made.run(1)
    finally:
        opened.set()
        knocking.join()
    # a cycle reads a limited number of packets: wait until the others of the first sample are read
    seen = None
    while seen != (seen := device.counts.old):
        made.run(1)
    try:
        yield made, device
    finally:
        made.close()
