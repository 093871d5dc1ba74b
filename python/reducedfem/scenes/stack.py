"""A tower of three soft, free blocks, pushed by a rigid finger, with friction.

The blocks are 40 mm wide and 30 mm high, of 48 g each, and touch each other and the ground.  The
finger pushes the upper one, then the middle one with what lies on it; the tower stays standing.
Without friction it would fall apart.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import reducedfem as rf
from reducedfem.scenes import shapes
from reducedfem.scenes._scene import scene

__all__ = ["session"]


@scene
def session(
    device: rf.Device | None = None,
    *,
    points: int = 1_000,
    resolution: int = 64,
    r: int = 6,
    friction: float = 0.5,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a finger and a tower of blocks."""
    block = rf.BoxField((-0.02, -0.02, -0.015), (0.02, 0.02, 0.015))
    surface = rf.DistanceField.from_field(block, 32).isosurface()
    model = shapes.soften(surface, None, r, young=1e6, resolution=4)
    tree = rf.PointTree(rf.Pointshell.from_field(block, points), model)
    finger = rf.DistanceField.from_field(rf.SphereField((0, 0, 0), 0.01), resolution)
    ground = rf.PlaneField((0, 0, 0), (0, 0, 1))
    bodies = [rf.FreeBody(model, 1e-3, (1.0, 1e-3), gravity=(0, 0, -9.81)) for _ in range(3)]
    for k, body in enumerate(bodies):
        body.reset((0, 0, 0.015 + 0.03 * k))
    fields = [finger] * 3 + [ground] * 3 + [block] * 2
    contacts = [rf.FrictionContact(tree, field, friction, sites=36) for field in fields]
    keys = [(x, 0.0, z, 0.0, 0.0, 0.0) for x, z in ((-0.06, 0.08), (-0.02, 0.08), (-0.06, 0.08))]
    keys += [(-0.06, 0.0, 0.045, 0.0, 0.0, 0.0), (-0.02, 0.0, 0.045, 0.0, 0.0, 0.0), keys[0]]
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contacts[0], stiffness=500.0)
    # shell and field of bodies that touch each other
    moved: list[Any] = [*bodies, *bodies, *pairwise(bodies[::-1])]
    return rf.HapticSession(contacts, hand, coupling=coupling, simulation=moved, **options)
