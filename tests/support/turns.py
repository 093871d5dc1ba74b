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


def turned(rotation):
    """Return the quaternion of a rotation vector."""
    angle = np.linalg.norm(rotation)
    axis = rotation / angle if angle else np.zeros(3)
    return np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis])


def turn_between(start, end):
    """Return the rotation vector from one quaternion to another."""
    q = product(end, back(start))
    q = q if q[0] >= 0.0 else -q
    size = np.linalg.norm(q[1:])
    return 2.0 * np.arctan2(size, q[0]) * q[1:] / size if size else np.zeros(3)
