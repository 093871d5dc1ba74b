"""Surfaces of triangles by plain NumPy: a cube, nearest places, winding numbers."""

from __future__ import annotations

import numpy as np


def plain_closest(vertices, triangles, points):
    """Distance and nearest place over all triangles, by the regions of each."""
    best, place = np.full(len(points), np.inf), np.zeros_like(points)
    for a, b, c in vertices[triangles]:
        q = plain_triangle(a, b, c, points)
        d = np.linalg.norm(points - q, axis=1)
        better = d < best
        best[better], place[better] = d[better], q[better]
    return best, place


def plain_segment(a, b, points):
    way = b - a
    square = way @ way
    t = np.clip((points - a) @ way / square, 0, 1) if square > 0 else np.zeros(len(points))
    return a + t[:, None] * way


def plain_triangle(a, b, c, points):
    candidates = [plain_segment(*ends, points) for ends in ((a, b), (b, c), (c, a))]
    normal = np.cross(b - a, c - a)
    if normal @ normal > 0:
        normal /= np.linalg.norm(normal)
        foot = points - ((points - a) @ normal)[:, None] * normal
        inside = np.ones(len(points), bool)
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= (foot - p) @ np.cross(normal, q - p) >= 0
        candidates.append(np.where(inside[:, None], foot, candidates[0]))
    away = [np.linalg.norm(points - q, axis=1) for q in candidates]
    return np.choose(np.argmin(away, axis=0)[:, None], candidates)


def cube(size=1.0):
    vertices = size * np.array(list(np.ndindex(2, 2, 2)), float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def winding(vertices, triangles, points):
    """Solid angle of a surface over 4 pi (van Oosterom & Strackee 1983)."""
    corners = vertices[triangles]
    total = np.zeros(len(points))
    for i, point in enumerate(points):
        a, b, c = np.moveaxis(corners - point, 1, 0)
        la, lb, lc = (np.sqrt((x * x).sum(axis=1)) for x in (a, b, c))
        up = (a * np.cross(b, c)).sum(axis=1)
        down = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        total[i] = np.arctan2(up, down).sum() / (2 * np.pi)
    return total
