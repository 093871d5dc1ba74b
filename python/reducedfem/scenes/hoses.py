"""A rigid part between two hoses: several contacts, several simulations.

The hoses cross each other and are fixed at both ends; each has its own reduced model and shell.
The held part, a valve with a pipe through it, is pushed in between them, pressed down on the lower
one and lifted against the upper one.
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
    points: int = 64_000,
    resolution: int = 128,
    r: int = 12,
    friction: float | None = None,
    **options: Any,
) -> rf.HapticSession:
    """Return a session of a rigid part between two hoses."""
    valve = rf.BoxField((-0.02, -0.02, -0.008), (0.02, 0.02, 0.008)).offset(0.003)
    pipe = rf.CapsuleField((-0.05, 0, 0), (0.05, 0, 0), 0.009)
    part = rf.DistanceField.from_field(valve | pipe, resolution, expand=1.2)
    contacts, simulations = [], []
    for axis, height in ((0, -0.02), (1, 0.04)):
        hose = shapes.hose(axis, height)
        model = shapes.soften(hose, lambda x: np.abs(x[:, :2]).max(axis=1) > 0.14, r, resolution=48)
        tree = rf.PointTree(rf.Pointshell.from_surface(hose, points, resolution=resolution), model)
        contacts.append(shapes.touch(friction, tree, part))
        simulations.append(rf.ImplicitNewmark(model, 1e-3, damping=(2.0, 0.003)))
    keys = [
        (0.16, 0.16, 0, 0, 0, 0.8),
        (0.03, 0.03, 0, 0, 0, 0.4),
        (0, 0, 0, 0, 0, 0),
        (0, 0, -0.03, 0.2, 0.1, 0),
        (0, 0.01, 0.03, 0, -0.2, 0),
    ]
    hand, options = shapes.hand(device, keys + keys[1::-1], options)
    coupling = rf.VirtualCoupling.for_contact(contacts[0], stiffness=600.0)
    return rf.HapticSession(contacts, hand, coupling=coupling, simulation=simulations, **options)
