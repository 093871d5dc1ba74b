"""A soft keypad under the tip of a pen, felt in full detail, with friction.

Twelve keys of silicone on a sheet of 90 by 120 mm, which is free to sink under each key. The tip
touches the surface directly, without a virtual coupling: `PointProxyContact`, by the Green's
functions of all nodes of the surface. The hand presses a key, slides to its rim and over to the
next one, and presses that one.

The default has 5,309 nodes of the surface, which take 509 MB; ``resolution=40`` has 1,999 and is
made in a second.
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
    resolution: int = 64,
    friction: float = 0.4,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a soft keypad and a tip."""
    mesh, held = shapes.keypad(resolution)
    solid = rf.Solid(mesh, rf.StVK(1.2e5, 0.4, 1100.0), fixed=held)
    green = rf.GreensFunctions(solid, dtype="float32")
    contact = rf.PointProxyContact(green, mesh.surface(), radius=3e-3, friction=friction)
    x, y, top = 0.045, 0.045, float(mesh.bounds[1][2])
    key = [(x, y, top + 0.006), (x, y, top - 0.004), (x, y, top - 0.011), (x, y, top - 0.004)]
    over = [(x, y + s, top - d) for s, d in ((0.008, 0.004), (0.014, 0.006), (0.022, 0.004))]
    other = [(x, y + 0.03, top - d) for d in (0.004, 0.011, -0.006)]
    keys = [(*place, 0, 0, 0) for place in [*key, *over, *other]]
    hand, options = shapes.hand(device, keys, options)
    return rf.HapticSession(contact, hand, **options)
