"""A soft ball that two rigid fingers take out of a cup, carry and put back, with friction.

The fingers are 36 mm apart, the ball is 40 mm wide and free: friction alone holds its weight of
0.3 N.  With a coefficient of friction of 0.1 it slips.  Where the ball lies in the cup again, the
fingers move down past the stem and release it.
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
    points: int = 4_000,
    resolution: int = 64,
    r: int = 12,
    friction: float = 0.3,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of two fingers and a soft ball."""
    ball = rf.SphereField((0, 0, 0), 0.02)
    surface = rf.DistanceField.from_field(ball, 32).isosurface()
    model = shapes.soften(surface, None, r, young=5e4, resolution=8)
    tree = rf.PointTree(rf.Pointshell.from_field(ball, points), model)
    body = rf.FreeBody(model, 1e-3, damping=(1.0, 0.002), gravity=(0, 0, -9.81))
    body.reset((0, 0, 0.08))
    fingers = rf.DistanceField.from_field(shapes.fingers(0.0192), resolution, expand=1.2)
    contacts = [rf.FrictionContact(tree, f, friction) for f in (fingers, shapes.cup(0.06, 0.021))]
    ways = [(0.0, 0.125), (0.0, 0.08), (0.0, 0.12), (0.04, 0.12), (0.0, 0.12), (0.0, 0.08)]
    keys = [(x, 0.0, z, 0.0, 0.0, 0.0) for x, z in [*ways, (0.0, 0.02)]]
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contacts[0], stiffness=1000.0)
    return rf.HapticSession(contacts, hand, coupling=coupling, simulation=[body, body], **options)
