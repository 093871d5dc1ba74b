"""An organ whose ligaments are cut one by one under the hand, felt in full detail.

A body like a liver, 180 mm long and soft, hangs on four ligaments: groups of fixed nodes. The tip
presses its large lobe and strokes it. After 2.5, 5 and 7 seconds a ligament is cut,
`PointProxyContact.release`: first that on top, then those at both ends. The one at the back stays.
Each time the body gives way, and the force falls within 50 ms; the hand is never pushed.

The surface has 1,600 nodes by default; the Green's functions are made in seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import reducedfem as rf
from reducedfem.scenes import shapes
from reducedfem.scenes._scene import scene

__all__ = ["CUTS", "session"]

CUTS = {"falciform": 2.5, "left": 5.0, "right": 7.0}
"""Times [s] at which ligaments are cut."""


@scene
def session(
    device: rf.Device | None = None,
    *,
    resolution: int = 28,
    friction: float = 0.3,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of an organ on ligaments and a tip."""
    mesh, ligaments = shapes.organ(resolution)
    solid = rf.Solid(mesh, rf.StVK(2e4, 0.4, 1060.0), fixed=np.concatenate([*ligaments.values()]))
    cut = np.concatenate([ligaments[name] for name in CUTS])
    green = rf.GreensFunctions(solid, releasable=cut, dtype="float32")
    contact = rf.PointProxyContact(green, mesh.surface(), radius=1e-2, friction=friction)
    for name, at in CUTS.items():
        contact.release(ligaments[name], at=at)
    vertices = mesh.surface().vertices

    def above(x: float, y: float, height: float) -> tuple[float, ...]:
        near = np.hypot(*(vertices[:, :2] - (x, y)).T) < 0.01
        return x, y, float(vertices[near, 2].max()) + height, 0.0, 0.0, 0.0

    ways = [(-0.03, 0.0, h) for h in (0.02, -0.008, -0.008)]
    ways += [(-0.015, 0.01, -0.008), *[(-0.03, 0.0, -0.01)] * 3, (-0.045, -0.01, -0.01)]
    keys = [above(*way) for way in [*ways, (-0.045, -0.01, 0.02)]]
    hand, options = shapes.hand(device, keys, options)
    return rf.HapticSession(contact, hand, **options)
