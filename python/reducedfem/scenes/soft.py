"""A soft paddle and a soft post: deformable against deformable.

The paddle is held at its handle; its distance field follows its reduced model by 40 proxies
(Barbic 2007, section 3.12). The post stands on the ground; its shell deforms by another reduced
model. The paddle presses on the head of the post, slides off and hits it.

While the edge of the blade slides off, the set of touching points changes, which is felt as a
slight roughness; more points are smoother.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import reducedfem as rf
from reducedfem.scenes import shapes
from reducedfem.scenes._scene import scene

__all__ = ["session"]


@scene
def session(
    device: rf.Device | None = None,
    *,
    points: int = 32_000,
    resolution: int = 128,
    r: int = 12,
    friction: float | None = None,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a soft paddle and a soft post."""
    paddle = shapes.paddle()
    post = shapes.post()
    bends = shapes.soften(paddle, lambda x: x[:, 0] < -0.1, r)
    sways = shapes.soften(post, lambda x: x[:, 2] < 0.02, r)
    rest = rf.DistanceField.from_surface(paddle, resolution, mode="fast")
    tree = rf.PointTree(rf.Pointshell.from_surface(post, points, resolution=resolution), sways)
    grip = partial(shapes.touch, friction, grasp=(-0.13, 0, 0))
    contact = grip(tree, rf.DeformedField(rest, bends))
    flat = [(-0.15, 0, 0.16), (-0.1, 0, 0.13), (-0.1, 0, 0.115), (-0.09, 0.03, 0.11)]
    upright = [(-0.1, 0.07, 0.09), (-0.1, 0, 0.09), (-0.1, 0.07, 0.09), (-0.1, -0.01, 0.1)]
    keys = [(*p, 0, 0.1, 0) for p in flat] + [(*p, 1.6, 0, 0) for p in upright]
    hand, options = shapes.hand(device, [*keys, keys[4], keys[0]], options)
    at_rest = grip(tree, rest)
    return rf.HapticSession(
        contact,
        hand,
        coupling=rf.VirtualCoupling.for_contact(at_rest, stiffness=600.0),
        simulation=rf.ImplicitNewmark(sways, 1e-3, damping=(2.0, 0.003)),
        field_simulation=rf.ImplicitNewmark(bends, 1e-3, damping=(2.0, 0.003)),
        **options,
    )
