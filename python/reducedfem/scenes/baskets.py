"""Hundreds of deformable baskets that fall on the ground and on each other (Barbic 2007, 2.13).

A `World` instead of a session: no device, no real time. The baskets hang in layers, close to each
other and each turned at random, are dropped from rest, deform and pile up. All share one model,
one pointshell and one distance field.
"""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from reducedfem.base.check import count, number
from reducedfem.errors import InputError
from reducedfem.scenes import shapes

__all__ = ["world"]

_RUBBER = (1e6, 0.45, 1000.0)
_MODES = 20
_SPACING, _GAP = 0.23, 0.02  # m, between baskets of a layer, and of the lowest above the ground


def world(
    bodies: int = 512,
    *,
    r: int = 40,
    points: int = 2000,
    resolution: int = 26,
    dt: float = 1.0 / 960.0,
    seed: int = 0,
    friction: float = 0.0,
) -> rf.World:
    """Return the world of the baskets, at rest in the air.

    Parameters
    ----------
    bodies
        Number of baskets.
    r
        Number of reduced coordinates of each, 1 to 40.
    points
        Number of points of the shell, at least 171.
    resolution
        Voxels across a basket, at least 16.
    dt
        Time step [s]. The walls are 15 mm thick: baskets that meet at 6 m/s need 1 ms.
    seed
        Seed of the rotations.
    friction
        Coefficient of friction, 0 to 10.

    Returns
    -------
    World

    Raises
    ------
    InputError, InputTypeError
        An option has a value that is not allowed.
    """
    bodies, r = count(bodies, "bodies"), count(r, "r", 40)
    points, resolution = count(points, "points"), count(resolution, "resolution")
    if points < 171:
        raise InputError(f"points must be 171 or more, got {points}: the pointshell has 5 levels")
    if resolution < 16:
        raise InputError(
            f"resolution must be 16 or more, got {resolution}: at a lower resolution the walls of "
            "the baskets have holes"
        )
    dt = number(dt, "dt")
    made = rf.World(dt, (0.0, 0.0, -9.81), rf.PlaneField((0, 0, 0), (0, 0, 1)), friction=friction)
    mesh = shapes.basket(resolution)
    solid = rf.Solid(mesh, rf.StVK(*_RUBBER))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, _MODES, r))
    field = rf.DistanceField.from_surface(mesh.surface(), 2 * resolution, expand=1.2)
    tree = rf.PointTree(rf.Pointshell.from_field(field, points), model)
    # a block of layers, as wide as high
    side = max(1, int(np.ceil(bodies ** (1.0 / 3.0))))
    rng = np.random.default_rng(seed)
    for k in range(bodies):
        layer, row, column = k // side**2, k // side % side, k % side
        place = _SPACING * np.array([column, row, layer]) + (0.0, 0.0, 0.1 + _GAP)
        place[:2] -= 0.5 * _SPACING * (side - 1)
        body = rf.FreeBody(model, dt, (0.0, 1e-3))
        turn = rng.normal(size=4)
        # upright up to 30 degrees, and turned about the vertical by any angle
        turn[1:3] *= 0.25 * np.hypot(turn[0], turn[3]) / np.hypot(turn[1], turn[2])
        body.reset(position=place, quaternion=turn)
        made.add(body, tree, field)
    return made
