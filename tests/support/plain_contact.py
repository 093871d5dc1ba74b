"""The law of contact in NumPy: directions of forces, as the fields' formulas have them."""

from __future__ import annotations

import numpy as np

import reducedfem as rf


def grid_slopes(field, points):
    """Return central differences over a spacing: those of the samples, interpolated."""
    values = np.asarray(field.values, dtype=float)
    last = np.array(values.shape) - 1
    at = (points - field.origin) / field.spacing
    inside = np.all((at >= 0) & (at <= last), axis=1)
    slopes = field.gradient(points)
    cell = np.clip(at[inside].astype(int), 0, last - 1)
    into = at[inside] - cell
    for axis in range(3):
        nodal = np.gradient(values, field.spacing[axis], axis=axis)
        slopes[inside, axis] = 0.0
        for corner in np.ndindex(2, 2, 2):
            weight = np.prod(np.where(corner, into, 1.0 - into), axis=1)
            slopes[inside, axis] += weight * nodal[tuple((cell + corner).T)]
    return slopes


def slopes(field, points):
    """Return (distance, slope) of any field: of grids by differences, exact of shapes."""
    if isinstance(field, rf.DistanceField):
        return field.distance(points), grid_slopes(field, points)
    if isinstance(field, rf.OffsetField):
        distance, slope = slopes(field.field, points)
        return field.distance(points), slope
    if isinstance(field, rf.ComplementField):
        distance, slope = slopes(field.field, points)
        return -distance, -slope
    if isinstance(field, rf.UnionField | rf.IntersectionField):
        parts = [slopes(part, points) for part in field.fields]
        distance = np.stack([part[0] for part in parts])
        union = isinstance(field, rf.UnionField)
        chosen = distance.argmin(axis=0) if union else distance.argmax(axis=0)
        every = np.arange(len(points))
        return distance[chosen, every], np.stack([part[1] for part in parts])[chosen, every]
    return field.distance(points), field.gradient(points)


def settle(slope, normals):
    """Return unit directions: along the slopes, turned to the normals where they disagree."""
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    e = np.where(length > 0.0, slope / np.where(length > 0.0, length, 1.0), normals)
    along = np.sum(e * normals, axis=1, keepdims=True)
    part = np.clip(0.5 * (along / 0.3 + 1.0), 0.0, 1.0)
    mixed = part * e + (1.0 - part) * normals
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def directions(field, points, normals, rotation):
    """Return those of the forces at points in the frame of the field, in the world."""
    return settle(slopes(field, points)[1] @ rotation.T, normals)
