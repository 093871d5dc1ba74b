"""A pipe that is pushed into a clip and pulled out again (Duriez et al. 2006, sections 5 and 6).

The clip has two elastic branches, 30 mm long, with lips at their tips that are closer than the pipe
is wide. The held pipe spreads them until it passes; then they close behind it. With friction (0.2
by default) more force is needed to push it in, and it stays in the clip.
"""

from __future__ import annotations

from typing import Any

import reducedfem as rf
from reducedfem.scenes import shapes
from reducedfem.scenes._scene import scene

__all__ = ["session"]

_PLASTIC = rf.StVK(700e6, 0.35, 1200.0)


@scene
def session(
    device: rf.Device | None = None,
    *,
    points: int = 16_000,
    resolution: int = 128,
    r: int = 12,
    friction: float | None = 0.2,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a pipe and a clip."""
    pipe = rf.CapsuleField((0, -0.015, 0), (0, 0.015, 0), 0.008)
    field = rf.DistanceField.from_field(pipe, resolution, expand=1.2)
    contacts, simulations = [], []
    for side in (1, -1):
        branch = shapes.branch(side)
        model = shapes.soften_mesh(branch, branch.nodes[:, 0] < 1e-9, r, _PLASTIC)
        tree = rf.PointTree(rf.Pointshell.from_surface(branch.surface(), points), model)
        contacts.append(shapes.touch(friction, tree, field))
        simulations.append(rf.BackwardEuler(model, 1e-3))
    # in, out, and in again at an angle
    ways = (0.045, 0.045, 0.015, 0.015, 0.048)
    keys = [(x, 0.0, 0.0, 0.0, 0.0, 0.0) for x in ways]
    keys += [(0.045, 0.0, 0.002, 0.0, 0.0, 0.2), (0.015, 0.0, -0.001, 0.0, 0.0, 0.2), keys[0]]
    hand, options = shapes.hand(device, keys, options)
    coupling = rf.VirtualCoupling.for_contact(contacts[0], stiffness=1500.0)
    return rf.HapticSession(contacts, hand, coupling=coupling, simulation=simulations, **options)
