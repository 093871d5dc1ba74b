"""Worlds with bodies that yield by Green's functions."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from shapes import box_hexes

WIDE, DEEP, HALF = 0.04, 0.04, 0.0155  # m
AT = rf.Pose((0.3, -0.2, 0.1), (0.8, 0.0, 0.0, 0.6))
BOX = rf.BoxField((-HALF,) * 3, (HALF,) * 3)


def make_pad():
    """Return the local compliance of a coarse block, fixed below, with points on top."""
    nodes, cells = box_hexes(8, 8, 4, (2 * WIDE, 2 * WIDE, DEEP))
    mesh = rf.Mesh(nodes - [WIDE, WIDE, DEEP], cells)
    solid = rf.Solid(mesh, rf.StVK(3e4, 0.3, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9 - DEEP)
    s = np.linspace(-WIDE, WIDE, 25)
    x, y = (a.ravel() for a in np.meshgrid(s, s))
    points = np.stack([x, y, 0.0 * x], 1)
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
    return rf.LocalCompliance(rf.PointTree(shell), solid)


def model(young=1e8, density=5e4):
    nodes, cells = box_hexes(2, 2, 2, (2 * HALF,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - HALF, cells), rf.StVK(young, 0.3, density))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=2))


def pressed(pad, steps=50):
    """Return a world in which a weight lies on a turned pad, another pad far away."""
    world = rf.World(1e-3, (0, 0, -9.81))
    world.add_fixed(pad, AT.position, AT.quaternion)
    world.add_fixed(pad, (5.0, 0, 0))
    body = rf.FreeBody(model(), 1e-3)
    body.reset(AT.apply([0, 0, HALF]), AT.quaternion)
    world.add(body, None, BOX)
    world.step(steps)
    return world


def falling(n=3, spacing=0.1):
    """Return a world of soft boxes of one model that fall, turn and roll on a plane."""
    reduced = model(1e5, 1000.0)
    world = rf.World(1e-3, (0, 0, -9.81), rf.PlaneField((0, 0, 0), (0, 0, 1)), friction=0.3)
    tree = rf.PointTree(rf.Pointshell.from_field(BOX, 200), reduced)
    for k in range(n):
        body = rf.FreeBody(reduced, 1e-3)
        body.reset(
            (spacing * k, 0.01 * k, 0.03), velocity=(0.5 * k, 0, 0), angular_velocity=(5, k, 3)
        )
        world.add(body, tree, BOX)
    return world
