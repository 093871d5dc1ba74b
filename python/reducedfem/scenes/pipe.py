"""A hose for the clip of the scene `snap_in`: its mesh, its reduced model and its field."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import reducedfem as rf

__all__ = ["LENGTH", "MOST_R", "RADIUS", "RUBBER", "WALL", "field", "loads", "mesh", "model"]

LENGTH, RADIUS, WALL = 0.030, 0.008, 0.002  # m, along y; of the outer wall; its thickness
RUBBER = rf.StVK(1e6, 0.4, 1100.0)

MOST_R = 20
"""Largest number of reduced coordinates: deformations by ten pairs of loads."""

_SECTORS, _RINGS = 24, 12
_LOADED = 0.005  # m, half the width of a branch of the clip
_ANGLES = np.deg2rad([-30.0, -15.0, 0.0, 15.0, 30.0])
_NEAR = 1e-6


def mesh() -> rf.Mesh:
    """Return the hose: hexahedra of second order, one through the wall, nodes on circles."""
    index = np.arange(_SECTORS * (_RINGS + 1) * 2).reshape(_SECTORS, _RINGS + 1, 2)
    turned = np.roll(index, -1, axis=0)
    sides = [index[:, :-1], turned[:, :-1], turned[:, 1:], index[:, 1:]]
    elements = np.stack([side[..., wall].ravel() for wall in range(2) for side in sides], axis=1)
    angle, along, radius = np.meshgrid(
        2.0 * np.pi * np.arange(_SECTORS) / _SECTORS,
        np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, _RINGS + 1),
        [RADIUS - WALL, RADIUS],
        indexing="ij",
    )
    nodes = np.stack([radius * np.sin(angle), along, radius * np.cos(angle)], axis=-1)
    straight = rf.Mesh(nodes.reshape(-1, 3), elements).quadratic()
    # nodes in the middle of edges move out to their circle
    at = np.array(straight.nodes)
    found = np.hypot(at[:, 0], at[:, 2])
    circles = RADIUS - WALL * np.array([1.0, 0.5, 0.0])
    nearest = circles[np.abs(found[:, None] - circles).argmin(axis=1)]
    at[:, [0, 2]] *= (nearest / found)[:, None]
    return rf.Mesh(at, straight.elements)


def _outside(of: rf.Mesh) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return angles of the nodes from z to x, places along the hose, and a mask of the outside."""
    x, y, z = np.asarray(of.nodes).T
    return np.arctan2(x, z), y, np.hypot(x, z) > RADIUS - _NEAR


def loads(of: rf.Mesh, angle: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes on which the branches of a clip press.

    Parameters
    ----------
    of
        The mesh.
    angle
        Angle of both lines from the z axis towards x [rad], one of the nodes'.

    Returns
    -------
    upper, lower
        Nodes of the lines at z > 0 and z < 0, as wide as a branch.
    """
    turn, along, outside = _outside(of)
    pressed = outside & (np.abs(along) < _LOADED + _NEAR)
    # the lower line is the mirror image of the upper one
    below = np.angle(np.exp(1j * (np.pi - turn - angle)))
    upper = np.flatnonzero(pressed & (np.abs(turn - angle) < 1e-3))
    return upper, np.flatnonzero(pressed & (np.abs(below) < 1e-3))


def model(r: int) -> rf.ReducedSolid:
    """Return a reduced model of the hose, whose ends are held.

    Its basis consists of deformations by loads on lines where the clip can press, not of vibration
    modes: twelve modes have a third of the compliance there, twelve of these nine tenths or more.

    Parameters
    ----------
    r
        Number of reduced coordinates; at most `MOST_R` are made.

    Returns
    -------
    ReducedSolid
    """
    of = mesh()
    ends = np.abs(np.asarray(of.nodes)[:, 1]) > 0.5 * LENGTH - _NEAR
    solid = rf.Solid(of, RUBBER, fixed=ends)
    answers = []
    for angle in _ANGLES:
        for line in loads(of, angle):
            for axis in (0, 2):
                force = np.zeros((of.n_nodes, 3))
                force[line, axis] = 1e-3 / len(line)
                answers.append(solid.solve_static(force))
    return rf.reduce(solid, rf.mass_pca(solid, answers, min(r, MOST_R)))


def field(rest: rf.DistanceField, of: rf.ReducedSolid) -> rf.DeformedField:
    """Return the field of a pipe that deforms as the hose.

    Parameters
    ----------
    rest
        Field of the pipe at rest, without a bore.
    of
        The model.

    Returns
    -------
    DeformedField
        With a proxy every 15 degrees and every 3.75 mm. Fewer make it a pipe with facets, since a
        proxy carries its neighbourhood as a rigid piece.
    """
    turn, along, outside = _outside(of.mesh)

    def on(value: NDArray[np.float64], spacing: float) -> NDArray[np.bool_]:
        return np.abs(value / spacing - np.round(value / spacing)) < 1e-3

    proxies = outside & on(turn, 2.0 * np.pi / _SECTORS) & on(along, LENGTH / 8.0)
    return rf.DeformedField(rest, of, np.asarray(of.mesh.nodes)[proxies])
