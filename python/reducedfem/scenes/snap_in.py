"""A pipe that is pushed into a clip and pulled out again (Duriez et al. 2006, sections 5 and 6).

The clip has two elastic branches, 30 mm long, with lips at their tips that are closer than the pipe
is wide. The held pipe spreads them until it passes; then they close behind it. With friction (0.2
by default) more force is needed to push it in, and it stays in the clip.

The pipe is rigid or, with ``soft_pipe=True``, a hose of rubber, held at its ends, which gives way
about three quarters as much as the branches.
"""

from __future__ import annotations

from typing import Any

import reducedfem as rf
from reducedfem.scenes import pipe, shapes
from reducedfem.scenes._scene import scene

__all__ = ["session"]

_PLASTIC = rf.StVK(700e6, 0.35, 1200.0)


@scene
def session(
    device: rf.Device | None = None,
    *,
    soft_pipe: bool = False,
    points: int = 16_000,
    resolution: int = 128,
    r: int = 12,
    friction: float | None = 0.2,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a pipe and a clip."""
    capsule = rf.CapsuleField((0, -0.015, 0), (0, 0.015, 0), pipe.RADIUS)
    rest = rf.DistanceField.from_field(capsule, resolution, expand=1.2)
    hose = pipe.model(r) if soft_pipe else None
    field: rf.Field | rf.DeformedField = rest if hose is None else pipe.field(rest, hose)
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
    at_rest = shapes.touch(friction, contacts[0].tree, rest)
    return rf.HapticSession(
        contacts,
        hand,
        coupling=rf.VirtualCoupling.for_contact(at_rest, stiffness=1500.0),
        simulation=simulations,
        field_simulation=None if hose is None else rf.BackwardEuler(hose, 1e-3),
        **options,
    )
