"""A deformable dragon and a rigid club: 256,000 points, 15 reduced coordinates.

The dragon, fixed at its tail, is the shell. The club, a ball on a stick, is held: it strokes the
comb on the back, pushes the neck, passes over the head and hits the cheek.
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
    points: int = 256_000,
    resolution: int = 128,
    r: int = 15,
    friction: float | None = None,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a deformable dragon and a club."""
    dragon = shapes.dragon()
    model = shapes.soften(dragon, lambda x: x[:, 0] < -0.05, r, young=2e5)
    tree = rf.PointTree(rf.Pointshell.from_surface(dragon, points, resolution=resolution), model)
    ball = rf.SphereField((0, 0, 0), 0.02)
    club = ball | rf.CapsuleField((0, 0, 0), (0, -0.1, 0), 0.008)
    field = rf.DistanceField.from_field(club, resolution, expand=1.2)
    contact = shapes.touch(friction, tree, field)
    places = [  # centre of the ball
        *((-0.1, 0, 0.1), (-0.07, 0, 0.066), (0.0, 0, 0.072), (0.03, 0, 0.11), (-0.02, 0, 0.17)),
        *((0.07, 0, 0.24), (0.09, 0, 0.2), (0.13, 0, 0.2), (0.08, 0, 0.17), (0.1, -0.07, 0.18)),
        *((0.1, -0.02, 0.18), (0.1, -0.01, 0.16), (-0.1, -0.05, 0.1)),
    ]
    keys = [(*place, 0.1 * k, 0, 0.05 * k) for k, place in enumerate(places)]
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contact, stiffness=600.0)
    moves = rf.ImplicitNewmark(model, 1e-3, damping=(2.0, 0.003))
    return rf.HapticSession(contact, hand, coupling=coupling, simulation=moves, **options)
