"""The alpha puzzle: two bent tubes that separate by one motion only.

The tubes are helices of one and a half turns, one between the turns of the other. A screw motion
about their axis maps each helix to itself and separates them without contact, so that the solution
is known in closed form. The hand follows it with errors larger than the gap. With ``cheat=True`` it
pulls to the side and levers instead; the tubes stay linked, because the depth limiter of the
coupling bounds the penetration.
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
    cheat: bool = False,
    points: int = 32_000,
    resolution: int = 160,
    friction: float | None = None,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of the alpha puzzle."""
    pitch, turns = 0.026, 1.5
    bent = shapes.tube(shapes.helix(0.03, pitch, turns), 0.004)
    tree = rf.PointTree(rf.Pointshell.from_surface(bent, points, resolution=resolution))
    field = rf.DistanceField.from_surface(bent, resolution, mode="fast")
    contact = shapes.touch(friction, tree, field)
    start = np.array([0, 0, 0, 0, 0, np.pi])  # half a turn from the other tube
    if cheat:
        ways = [(0.1, 0, 0.7, 0), (0, 0.1, 0, -0.7), (-0.1, 0.05, -0.7, 0.7)]
        pulls = [np.add(start, [x, y, 0, a, b, 0]) for x, y, a, b in ways]
        keys = np.stack([start, *pulls, start])
    else:
        steps = np.arange(10)[:, None]
        screw = start + steps / 4 * [0, 0, pitch, 0, 0, 2 * np.pi]
        errors = [0.004, 0.003, 0.006, 0, 0, 0] * np.cos([1.7, 2.3, np.pi, 0, 0, 0] * steps)
        away = screw[-1:] + [0.06, 0, 0.06, 0, 0, 0]
        keys = np.concatenate([[start], (screw + errors)[1:], away])
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=600.0, depth=1e-3)
    return rf.HapticSession(contact, hand, coupling=coupling, **options)
