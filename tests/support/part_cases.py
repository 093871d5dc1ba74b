"""Solids of several parts and their simulations, for contact of parts."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from shapes import box_tets

GRAVITY = 9.81
SIZE, DENSITY = 0.1, 1000.0
DISTANCE = 1e-3


def turn(axis: int, angle: float) -> np.ndarray:
    """Return the rotation about an axis."""
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.eye(3)
    i, j = (k for k in range(3) if k != axis)
    matrix[np.ix_([i, j], [i, j])] = [[c, -s], [s, c]]
    return matrix


def block(shift=(0.0, 0.0, 0.0), cells=2, size=(SIZE,) * 3, rotation=None, make=box_tets):
    nodes, elements = make(cells, cells, cells, size)
    if rotation is not None:
        middle = np.array(size) / 2
        nodes = (nodes - middle) @ rotation.T + middle
    return rf.Mesh(nodes + shift, elements)


def solid_of(*meshes, young=1e5, law=rf.StableNeoHookean, **kwargs) -> rf.Solid:
    return rf.Solid(rf.join_meshes(meshes), law(young, 0.3, DENSITY), **kwargs)


def stack(gap=0.7e-3, shift=(0.013, 0.007), **kwargs) -> rf.Solid:
    """Return two blocks, one upon the other, the lower one fixed at its base."""
    meshes = block(), block((*shift, SIZE + gap), **kwargs)
    low = np.flatnonzero(meshes[0].nodes[:, 2] < 1e-9)
    return solid_of(*meshes, fixed=low)


def simulated(
    solid, dt=5e-3, integrator=rf.BackwardEuler, velocities=None, contact=None, tol=1e-10, **kwargs
):
    """Return a simulation; velocities: of each part."""
    contact = contact or rf.BarrierContact(parts=True, distance=DISTANCE, friction=0.0)
    sim = integrator(solid, dt, newton_max=100, tol=tol, contact=contact, **kwargs)
    if velocities is not None:
        part = parts_of(solid)
        sim.reset(qdot=np.array(velocities, float)[part])
    return sim


def parts_of(solid) -> np.ndarray:
    part = np.empty(solid.mesh.n_nodes, dtype=int)
    part[solid.mesh.elements] = solid.mesh.components()[:, None]
    return part


def masses(solid) -> np.ndarray:
    return solid.mass().to_scipy().tocsr()


def momenta(sim) -> tuple[np.ndarray, np.ndarray]:
    """Return momentum and angular momentum."""
    solid = sim.system
    p = (masses(solid) @ sim.state.qdot.ravel()).reshape(-1, 3)
    return p.sum(0), np.cross(solid.mesh.nodes + sim.displacement, p).sum(0)


def crossing(solid, u) -> list[tuple[int, int]]:
    """Return pairs of triangles of different parts that meet at u."""
    surface = solid.mesh.surface()
    nodes = solid.mesh.boundary_nodes
    moved = rf.Surface(surface.vertices + np.reshape(u, (-1, 3))[nodes], surface.triangles)
    part = parts_of(solid)[nodes][surface.triangles[:, 0]]
    return [(a, b) for a, b in moved.self_intersections() if part[a] != part[b]]


def near(friction=0.0, slip=1e-3):
    """Return a contact, its solid, and displacements with all kinds of pairs."""
    rng = np.random.default_rng(1)
    rotation = turn(0, 0.02) @ turn(1, 0.01)
    solid = solid_of(block(), block((0.03, 0.02, SIZE + 3.5e-3), rotation=rotation))
    contact = rf.BarrierContact(parts=True, distance=2e-3, friction=friction, slip=slip)
    rf.BackwardEuler(solid, 1e-3, newton_max=50, contact=contact)
    u = 1e-4 * rng.normal(size=(solid.mesh.n_nodes, 3))
    u[parts_of(solid) == 1, 2] -= 8e-4
    return contact, solid, u, rng


def slope(mu: float, angle: float, slip=1e-3, lagged=True):
    """Return a simulation of a block on a wide fixed one, under gravity turned by the angle."""
    base = rf.Mesh(*box_tets(4, 2, 1, (0.8, 0.2, 0.05)))
    upper = block((0.05, 0.05, 0.05 + 0.5e-3))
    fixed = np.arange(base.n_nodes)
    solid = solid_of(base, upper, fixed=fixed)
    contact = rf.BarrierContact(
        parts=True, distance=DISTANCE, friction=mu, slip=slip, lagged=lagged
    )
    gravity = GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    return simulated(solid, contact=contact, gravity=gravity, damping=(0.0, 1e-3))
