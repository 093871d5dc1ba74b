"""Sessions with friction of a held tool and a floor, whose forces have closed forms."""

from __future__ import annotations

import numpy as np

import reducedfem as rf

K = 1000.0  # N/m, of the coupling
HALF = 0.02  # m, of the tool
PRESSED = 0.002  # m, by the hand, below the floor


def floor(slope=0.0):
    """Return the tree of a floor that is turned about y by the slope."""
    s = np.linspace(-0.05, 0.05, 21)
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    along = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    points = x[:, None] * along + y[:, None] * np.array([0.0, 1.0, 0.0])
    return rf.PointTree(rf.Pointshell(points, np.tile(-up, (len(points), 1)))), along, up


def tool():
    # edges lie between the points of the floor
    return rf.BoxField((-0.0175, -0.0175, 0.0), (0.0175, 0.0175, HALF))


def session(contact, positions, turn=(1.0, 0.0, 0.0, 0.0), **options):
    """Return a session in which a hand goes along positions, one a cycle."""
    times = 1e-3 * np.arange(len(positions))
    device = rf.ReplayDevice(times, positions, np.tile(turn, (len(positions), 1)))
    options.setdefault("coupling", rf.VirtualCoupling(K, torsional_stiffness=5.0))
    workspace = rf.Workspace(start=(positions[0], turn))
    return rf.HapticSession(
        contact, device, budget_us=0, max_force=1e3, max_torque=1e3, workspace=workspace, **options
    )


def run(contact, positions, turn=(1.0, 0.0, 0.0, 0.0), **options):
    return session(contact, positions, turn, **options).run(len(positions)).array


def pressed(n, x=0.0):
    """Return positions of a hand that comes down in 0.2 s and stays, with an x for each cycle."""
    down = np.minimum(np.arange(n) / 200.0, 1.0)
    return np.stack([np.broadcast_to(x, n), np.zeros(n), 1e-4 - (1e-4 + PRESSED) * down], axis=1)
