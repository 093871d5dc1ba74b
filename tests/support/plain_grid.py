"""Grids of samples, and their interpolation by plain NumPy."""

from __future__ import annotations

import numpy as np


def lipschitz_grid(rng, n=7, spacing=0.1, cones=6, spread=1.0):
    """Samples of the distance from random points, less something: creases everywhere."""
    size = spacing * (n - 1)
    axis = spacing * np.arange(n)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    sites = size * (0.5 + spread * rng.uniform(-0.5, 0.5, (cones, 3)))
    values = np.linalg.norm(grid[..., None, :] - sites, axis=-1)
    return values.min(axis=-1) - rng.uniform(0.05, 0.3) * size


def plain_trilinear(values, origin, spacing, points):
    """Interpolant and its gradient by the formula, one axis after the other."""
    t = (points - origin) / spacing
    at = np.minimum(t.astype(int), np.array(values.shape) - 2)
    f = t - at
    d, g = np.zeros(len(points)), np.zeros((len(points), 3))
    for corner in np.ndindex(2, 2, 2):
        c = np.array(corner)
        w = np.where(c == 1, f, 1 - f)
        s = np.where(c == 1, 1.0, -1.0) / spacing
        v = values[tuple((at + c).T)].astype(float)
        d += v * w.prod(axis=1)
        for k in range(3):
            g[:, k] += v * s[k] * np.delete(w, k, axis=1).prod(axis=1)
    return d, g
