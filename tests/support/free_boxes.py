"""Free boxes in worlds, and the step of a world by plain NumPy."""

from __future__ import annotations

from functools import cache

import numpy as np

import reducedfem as rf
from shapes import box_hexes
from turns import rotation

EDGE = 0.2
R = 6
BOX = rf.BoxField((-EDGE / 2,) * 3, (EDGE / 2,) * 3)


def cube(density: float = 1000.0) -> rf.ReducedSolid:
    """Return the model of a soft cube about the origin, the same for the same density."""
    return _cube(density)


@cache
def _cube(density: float) -> rf.ReducedSolid:
    nodes, elements = box_hexes(3, 3, 3, (EDGE,) * 3)
    solid = rf.Solid(rf.Mesh(nodes - EDGE / 2, elements), rf.StVK(2e5, 0.4, density))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=R))


def shell(points: int = 1500) -> rf.Pointshell:
    """Return points of the cube's surface."""
    return _shell(points)


@cache
def _shell(points: int) -> rf.Pointshell:
    return rf.Pointshell.from_field(BOX, points)


def soft(density: float = 1000.0, points: int = 1500) -> rf.PointTree:
    """Return a tree of them that deforms."""
    return _soft(density, points)


@cache
def _soft(density: float, points: int) -> rf.PointTree:
    return rf.PointTree(shell(points), cube(density))


def feet(below: float = EDGE / 2) -> rf.PointTree:
    """Return a rigid tree of four points below the centre."""
    points = [(x, y, -below) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    return rf.PointTree(rf.Pointshell(points, [(0.0, 0.0, 1.0)] * 4))


def spin(vector):
    """Return the rotation of a small vector, to second order."""
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle > 0.0 else vector
    return rotation([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def momenta(world, bodies):
    """Return momentum and angular momentum about the origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    states = zip(
        bodies,
        world.positions,
        world.quaternions,
        world.velocities,
        world.angular_velocities,
        strict=True,
    )
    for body, x, quaternion, v, omega in states:
        turn, p = rotation(quaternion), body.rigid_body.mass * v
        linear += p
        angular += np.cross(x, p) + turn @ body.rigid_body.inertia @ turn.T @ omega
    return linear, angular


class Plain:
    """One side of a pair by plain NumPy: where its points are, as functions of its motion."""

    def __init__(self, body, tree):
        state = body.state
        self.body, self.tree, self.state = body, tree, state
        self.turn, self.centre = rotation(state.quaternion), body.rigid_body.centre
        self.r = len(state.q)

    def points(self, way):
        """Return the points of the shell after a motion (6 + r,) of the body."""
        if self.tree.reduced is None:
            local = self.tree.shell.points
        else:
            local = self.tree.positions(self.state.q + way[6:])
        turn = spin(way[3:6]) @ self.turn
        return (local - self.centre) @ turn.T + self.state.position + way[:3]

    def normals(self):
        """Return the inward normals of the points at rest, turned with the body."""
        return self.tree.shell.normals @ self.turn.T

    def pull_back(self, points, way):
        """Return places of the world in the frame of the body after a motion of it."""
        turn = spin(way[3:6]) @ self.turn
        return (points - self.state.position - way[:3]) @ turn + self.centre

    def matrix(self, dt):
        """Return H: mass over dt^2 of the rigid motion, Newton's matrix of the deformation."""
        h = np.zeros((6 + self.r, 6 + self.r))
        h[:3, :3] = np.eye(3) * self.body.rigid_body.mass / dt**2
        h[3:6, 3:6] = self.turn @ self.body.rigid_body.inertia @ self.turn.T / dt**2
        h[6:, 6:] = np.eye(self.r) / dt**2 + self.body.reduced.stiffness(self.state.q)
        return h

    def free(self, dt, gravity):
        """Return where the rest of the step is, as h v without contact, and the load of q."""
        velocity = self.state.velocity + dt * np.asarray(gravity)
        way = np.concatenate([dt * velocity, dt * self.state.angular_velocity, np.zeros(self.r)])
        load = np.zeros(6 + self.r)
        load[6:] = self.state.qdot / dt - self.body.reduced.internal_force(self.state.q)
        return way, load


def step_pair(one, other, field, k, dt, damping, gravity=(0.0, 0.0, 0.0), eps=1e-6):
    """Return the wrench on the first body in a step: its points in the field of the other.

    other: None: the field is that of the ground.
    """
    sizes = [6 + one.r, 0 if other is None else 6 + other.r]
    n = sum(sizes)

    def distances(points, way):
        return field.distance(points if other is None else other.pull_back(points, way))

    def gaps(way):
        return distances(one.points(way[: sizes[0]]), way[sizes[0] :])

    rest = gaps(np.zeros(n))
    # points that have passed the middle of the other body are left out
    places, still = one.points(np.zeros(sizes[0])), np.zeros(sizes[1])
    gradients = [
        (distances(places + e, still) - distances(places - e, still)) / (2 * eps)
        for e in eps * np.eye(3)
    ]
    touching = (rest < 0.0) & ((np.transpose(gradients) * one.normals()).sum(1) > -0.3)
    slopes = np.stack([(gaps(e) - gaps(-e))[touching] / (2 * eps) for e in eps * np.eye(n)], axis=1)
    matrix, way, load = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for side, start, size in ((one, 0, sizes[0]), (other, sizes[0], sizes[1])):
        if side is None:
            continue
        end = start + size
        matrix[start:end, start:end] = side.matrix(dt)
        way[start:end], load[start:end] = side.free(dt, gravity)
    # Newton's method on points that only push; the objective is convex, halving finds its minimum
    change = np.zeros(n)

    def forces(change):
        return k * np.minimum(rest[touching] + damping * slopes @ (way + change), 0.0)

    def residual(change):
        return matrix @ change - load + slopes.T @ forces(change)

    for _ in range(100):
        left, pushed = residual(change), slopes[forces(change) < 0.0]
        step = -np.linalg.solve(matrix + damping * k * pushed.T @ pushed, left)
        while residual(change + step) @ step > 0.1 * abs(left @ step):
            step *= 0.5
        change += step
    assert np.linalg.norm(residual(change)) < 1e-9 * np.linalg.norm(forces(change))
    return -(slopes.T @ forces(change))[:6], touching.sum()
