"""Surfaces with Green's functions that a tip touches, and sessions of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from shapes import box_hexes, box_tets

Array = NDArray[np.float64]
LAW = rf.StVK(1e5, 0.3, 1000.0)
RADIUS = 0.05  # of balls [m]


def slab(
    n: tuple[int, int, int] = (6, 6, 2), size=(0.12, 0.12, 0.04), *, tets: bool = False, law=LAW
) -> tuple[rf.GreensFunctions, rf.Surface]:
    """Return Green's functions and surface of a slab that is held below."""
    mesh = rf.Mesh(*(box_tets if tets else box_hexes)(*n, size))
    solid = rf.Solid(mesh, law, fixed=mesh.nodes[:, 2] < 1e-9)
    return rf.GreensFunctions(solid), mesh.surface()


def tip(pad, radius=0.015, friction=0.4, **options) -> rf.PointProxyContact:
    return rf.PointProxyContact(*pad, radius, friction, **options)


def replay(positions: Array) -> rf.ReplayDevice:
    """Return a device that is at one of the positions in each cycle."""
    return rf.ReplayDevice(1e-3 * np.arange(len(positions)), positions)


def session(contact, positions, **options) -> rf.HapticSession:
    return rf.HapticSession(contact, replay(positions), ramp=0.0, **options)


def circles(n: int, radius=0.02, depth=2e-3) -> Array:
    """Return a path that comes down, goes round twice, and leaves."""
    begin = 0.06 + radius
    down = np.linspace([begin, 0.06, 0.045], [begin, 0.06, 0.04 - depth], n // 4)
    angle = np.linspace(0.0, 4.0 * np.pi, n)
    round_ = np.stack(
        [0.06 + radius * np.cos(angle), 0.06 + radius * np.sin(angle), 0 * angle + 0.04 - depth], 1
    )
    return np.concatenate([down, round_, down[::-1]])


def stairs() -> rf.Mesh:
    """Return a ball of cubes."""
    nodes, elements = box_hexes(8, 8, 8, 2.0 * RADIUS)
    nodes -= RADIUS
    kept = elements[np.linalg.norm(nodes[elements].mean(axis=1), axis=1) < RADIUS]
    used, new = np.unique(kept, return_inverse=True)
    return rf.Mesh(nodes[used], new.reshape(-1, 8))


def tip_on(mesh: rf.Mesh, friction=0.0) -> rf.PointProxyContact:
    """Return a tip on a ball that is held below."""
    solid = rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 2] < -0.03)
    return rf.PointProxyContact(rf.GreensFunctions(solid), mesh.surface(), 0.014, friction)
