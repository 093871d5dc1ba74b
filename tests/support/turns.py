"""Rotations by plain formulas of quaternions and rotation vectors."""

from __future__ import annotations

import numpy as np


def product(q, p):
    """Return the product of two quaternions."""
    w = q[0] * p[0] - q[1:] @ p[1:]
    return np.concatenate([[w], q[0] * p[1:] + p[0] * q[1:] + np.cross(q[1:], p[1:])])


def back(q):
    return q * [1, -1, -1, -1]


def rotate(q, x):
    return product(product(q, np.concatenate([[0.0], x])), back(q))[1:]


def turned(vector, start=None):
    """Return the quaternion of a rotation vector, after that of `start`."""
    vector = np.asarray(vector, dtype=float)
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle else np.zeros(3)
    q = np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis])
    return q if start is None else product(q, np.asarray(start, dtype=float))


def skew(v):
    """Return the matrix of the cross product with v."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def unit(q):
    """Return a quaternion of length 1."""
    return np.asarray(q) / np.linalg.norm(q)


def rotation(q):
    """Return the matrix of a quaternion, which must be of length 1, as all of the core are."""
    q = np.asarray(q, dtype=float)
    assert abs(q @ q - 1.0) < 1e-12
    cross = skew(q[1:])
    return np.eye(3) + 2.0 * (q[0] * cross + cross @ cross)


def turn(vector):
    """Return the matrix of a rotation vector."""
    return rotation(turned(vector))


def turn_between(start, end):
    """Return the rotation vector from one quaternion to another."""
    q = product(end, back(start))
    q = q if q[0] >= 0.0 else -q
    size = np.linalg.norm(q[1:])
    return 2.0 * np.arctan2(size, q[0]) * q[1:] / size if size else np.zeros(3)
