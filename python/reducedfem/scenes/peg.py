"""A peg with a cross-shaped section and a block with a matching hole.

The peg is held; the block, with a clearance of 0.4 mm, is the shell. The hand approaches at an
angle, finds the hole, inserts the peg, tries to turn it and pulls it out: large conforming contact
on all sides at once.
"""

from __future__ import annotations

from typing import Any

import reducedfem as rf
from reducedfem.scenes import shapes
from reducedfem.scenes._scene import scene

__all__ = ["session"]


@scene
def session(
    device: rf.Device | None = None,
    *,
    points: int = 128_000,
    resolution: int = 256,
    friction: float | None = None,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a peg and its hole."""
    bars = [rf.BoxField((-a, -b, 0), (a, b, 0.05)) for a, b in ((0.015, 0.006), (0.006, 0.015))]
    cross = rf.UnionField(bars)
    block = rf.BoxField((-0.03, -0.03, -0.02), (0.03, 0.03, 0.03)) - cross.offset(4e-4)
    tree = rf.PointTree(rf.Pointshell.from_field(block, points))
    peg = rf.DistanceField.from_field(cross, resolution, expand=1.2)
    contact = shapes.touch(friction, tree, peg, grasp=(0, 0, 0.04))
    keys = [
        (0.02, -0.01, 0.09, 0.1, 0.2, 0.3),
        (0.004, 0.003, 0.071, 0.05, 0.05, 0.1),  # on the block, beside the hole
        (-0.001, 0, 0.069, 0, 0.01, 0),
        (0, 0, 0.0695, 0, 0, 0),
        (0, 0.0005, 0.036, 0, -0.01, 0),  # fully inserted, under pressure
        (0.002, 0, 0.036, 0.02, 0, 0.2),
        (-0.002, 0.002, 0.036, 0, 0.05, -0.2),
        (0.001, -0.001, 0.06, 0.02, 0, 0.02),
        (0, 0.02, 0.1, 0.1, 0, 0),
    ]
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=600.0, depth=3e-4)
    return rf.HapticSession(contact, hand, coupling=coupling, **options)
