"""A statue and an axe: rigid against rigid, a million points.

The statue, a figure with folds on a base, is the shell. The held axe has a blade, the intersection
of two spheres, and a capsule as a handle. It chops, moves around the statue under pressure, and
down its side, similar to the knight and the axe of Barbic 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import reducedfem as rf
from reducedfem.scenes import shapes
from reducedfem.scenes._scene import scene

__all__ = ["session"]


@scene
def session(
    device: rf.Device | None = None,
    *,
    points: int = 1_000_000,
    resolution: int = 256,
    friction: float | None = None,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a statue and an axe."""
    tree = rf.PointTree(
        rf.Pointshell.from_surface(shapes.statue(), points, levels=7, resolution=resolution)
    )
    blade = rf.SphereField((0, 0.0875, 0), 0.0925) & rf.SphereField((0, -0.0875, 0), 0.0925)
    handle = rf.CapsuleField((0, 0, 0), (-0.12, 0, 0), 0.006)
    axe = rf.DistanceField.from_field(blade.offset(0.003) | handle, resolution, expand=1.2)
    contact = shapes.touch(friction, tree, axe, grasp=(-0.08, 0, 0))
    chop = [(-0.2, 0, 0.16), (-0.135, 0, 0.155), (-0.16, 0, 0.18), (-0.12, 0, 0.195)]
    turns = np.linspace(0.0, 1.5 * np.pi, 7)
    around = [(-0.13 * np.cos(t), -0.13 * np.sin(t), 0.17 - 0.02 * t, 0, 0, t) for t in turns]
    away = [(0, 0.12, 0.03, 0, 0, turns[-1]), (0, 0.22, 0.05, 0, 0, turns[-1])]
    keys = [(*place, 0, 0, 0) for place in chop] + around + away
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=600.0)
    return rf.HapticSession(contact, hand, coupling=coupling, **options)
