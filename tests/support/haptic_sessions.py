"""Haptic sessions of a ball above a floor, and what tests of them have in common."""

from __future__ import annotations

import contextlib
import pathlib
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
from moments import LONG, free_port
from reducedfem import _core

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
COUPLING = rf.VirtualCoupling(500.0, 1.0)
DYNAMIC = rf.DynamicCoupling(500.0, 1.0, mass=0.05, inertia=1e-5)


def floor_of_points(n=61, size=0.2):
    """Return points of the plane z = 0 whose object lies below it."""
    x = np.linspace(-0.5 * size, 0.5 * size, n)
    grid = np.stack(np.meshgrid(x, x, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    order = np.argsort(np.abs(grid[:, :2]).max(axis=1), kind="stable")
    return rf.Pointshell(grid[order], np.tile([0.0, 0.0, -1.0], (len(grid), 1)))


def ball_of(stiffness, n=5):
    """Return the contact of a ball of 2 cm with a floor of n times n points."""
    field = rf.SphereField((0.0, 0.0, 0.0), 0.02)
    return rf.PenaltyContact(
        rf.PointTree(floor_of_points(n)), field, stiffness, warm_nodes=None, max_points=None
    )


def held(z, duration=10.0):
    """Return times and positions of a hand that stays at a height."""
    return [0.0, duration], [[0.0, 0.0, z], [0.0, 0.0, z]]


def descent(low=0.012, high=0.03, duration=0.4):
    """Return times and positions of a hand that goes down and up again."""
    z = [high, high, low, low, high]
    return np.linspace(0.0, duration, 5), np.array([[0.0, 0.0, value] for value in z])


def session(contact, device, **options):
    """Return a session without waiting, ramp or limits unless they are asked for."""
    options = {"coupling": COUPLING, "ramp": 0.0, "budget_us": 0.0} | options
    return rf.HapticSession(contact, device, **options)


def session_around(wrap, contact, device, **options):
    """Return a session whose core is wrapped by another object, and that object."""
    real, wrapped = _core.Session, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            _core, "Session", lambda *parts: wrapped.append(wrap(real(*parts))) or wrapped[0]
        )
        made = session(contact, device, **options)
    return made, wrapped[0]


def at_rest(**options):
    """Return the device of a hand that stays where the ball touches."""
    return rf.ReplayDevice(*held(0.014, 1e5), **options)


def after(made, ticks):
    """Wait until a running session has made a number of further cycles."""
    wanted, until = made.report().ticks + ticks, time.monotonic() + LONG
    while made.report().ticks < wanted:
        assert made.report().phase == "running", made.report().failure
        assert time.monotonic() < until
        time.sleep(0.002)


def threads_named(*names):
    """Return the numbers of this process's threads with such names."""
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if (task / "comm").read_text().strip() in names:
                found.append(task)
    return found


def ticks_of(path):
    """Return the numbers of the cycles in a file of records."""
    return rf.HapticRecords.load(path)["tick"]


def names(folder):
    """Return the names of the entries of a folder in order."""
    return sorted(entry.name for entry in folder.iterdir())


def blocked(made):
    """Wait until the file of a running session accepts no more data."""
    until = time.monotonic() + LONG
    while (status := made._core.status())["ticks"] < status["written"] + 600:
        assert status["phase"] == "running", status["failure"]
        assert time.monotonic() < until
        time.sleep(0.005)


class Listener:
    """A client of a bridge over UDP that keeps all wrenches sent to the device."""

    def __init__(self):
        self.to = ("127.0.0.1", free_port())
        self.device = rf.UdpDevice(self.to, wait=LONG)

    def ran(self, made, place, cycles):
        """Return why cycles at a place fail, and all wrenches that were written."""
        packet = bytearray(136)
        struct.pack_into("<4sHHQd7d", packet, 0, b"RFDS", 1, 136, 1, 0.0, *place, *UPRIGHT)
        ended, wrenches = threading.Event(), []

        def listen():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
                own.bind(("127.0.0.1", 0))
                own.settimeout(0.01)
                over = False
                while not over:
                    over = ended.is_set()
                    with contextlib.suppress(TimeoutError, ConnectionError):
                        own.sendto(packet, self.to)
                        while True:
                            wrenches.append(struct.unpack_from("<6d", own.recv(1000), 32))

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            with pytest.raises(rf.DivergedError) as failure:
                made.run(cycles)
        finally:
            ended.set()
            thread.join()
        return str(failure.value), wrenches


def run_script(body):
    """Run a program that has a session `made`, not started."""
    program = textwrap.dedent(
        """
        import os, sys, time
        import numpy as np
        import reducedfem
        reducedfem.haptics.settings.set_timeouts(stall=5.0)
        def after(session, ticks):
            wanted = session.report().ticks + ticks
            while session.report().ticks < wanted:
                assert session.report().phase == "running", session.report().failure
                time.sleep(0.002)
        x = np.linspace(-0.1, 0.1, 5)
        points = np.stack(np.meshgrid(x, x, [0.0]), axis=-1).reshape(-1, 3)
        shell = reducedfem.Pointshell(points, np.tile([0.0, 0.0, -1.0], (25, 1)))
        field = reducedfem.SphereField((0, 0, 0), 0.02)
        contact = reducedfem.PenaltyContact(reducedfem.PointTree(shell), field, 200.0)
        device = reducedfem.ReplayDevice([0.0, 60.0], [[0, 0, 0.014]] * 2)
        coupling = reducedfem.VirtualCoupling(500.0, 1.0)
        made = reducedfem.HapticSession(contact, device, coupling=coupling, ramp=0.0)
        """
    ) + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )
