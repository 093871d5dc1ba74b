"""Sessions with friction of a held tool and a floor, whose forces have closed forms."""

from __future__ import annotations

import numpy as np

import reducedfem as rf

K, TORSION = 1000.0, 5.0  # N/m, N m: of the coupling
HALF = 0.02  # m, height of the tool
PRESSED = 0.002  # m, by the hand, below the floor
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def floor(slope=0.0):
    """Return the tree of a floor turned about y by the slope, the way down, and its normal."""
    s = np.linspace(-0.05, 0.05, 21)
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    along = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    points = x[:, None] * along + y[:, None] * np.array([0.0, 1.0, 0.0])
    return rf.PointTree(rf.Pointshell(points, np.tile(-up, (len(points), 1)))), along, up


def tool():
    """Return the field of a box on 49 points of the floor; its edges lie between points."""
    return rf.BoxField((-0.0175, -0.0175, 0.0), (0.0175, 0.0175, HALF))


def session(contact, positions, turn=UPRIGHT, **options):
    """Return a session in which a hand goes along positions, one a cycle, with one turn or n."""
    times = 1e-3 * np.arange(len(positions))
    turns = np.broadcast_to(turn, (len(positions), 4))
    device = rf.ReplayDevice(times, positions, turns)
    options.setdefault("coupling", rf.VirtualCoupling(K, torsional_stiffness=TORSION))
    workspace = rf.Workspace(start=(positions[0], turns[0]))
    return rf.HapticSession(
        contact, device, budget_us=0, max_force=1e3, max_torque=1e3, workspace=workspace, **options
    )


def run(contact, positions, turn=UPRIGHT, **options):
    """Return the records of that session."""
    return session(contact, positions, turn, **options).run(len(positions)).array


def pressed(n, x=0.0, y=0.0):
    """Return positions of a hand that comes down in 0.2 s and stays, with x and y a cycle."""
    down = np.minimum(np.arange(n) / 200.0, 1.0)
    height = 1e-4 - (1e-4 + PRESSED) * down
    return np.stack([np.broadcast_to(x, n), np.broadcast_to(y, n), height], axis=1)
