"""A bar and a fork whose distance fields deform, and such fields by plain NumPy."""

from __future__ import annotations

import numpy as np

import reducedfem as rf

RUBBER = rf.StVK(1e6, 0.4, 1000.0)
BAR = ((0.0, 0.0, 0.0), (0.3, 0.06, 0.04))
# two legs 3 cm apart, 24 cm long, on a base
FORK = [
    ((0.0, 0.0, 0.0), (0.09, 0.03, 0.04)),
    ((0.0, 0.0, 0.0), (0.03, 0.03, 0.28)),
    ((0.06, 0.0, 0.0), (0.09, 0.03, 0.28)),
]


def boxes_field(boxes, spacing, room):
    """Return the distance from a union of boxes, on a grid; exact outside and near the surface."""
    low = np.min([a for a, _ in boxes], axis=0) - room
    n = np.ceil((np.max([b for _, b in boxes], axis=0) + room - low) / spacing).astype(int) + 1
    x = low + spacing * np.stack(np.indices(n), axis=-1)
    return rf.DistanceField(boxes_distance(boxes, x), low, spacing)


def boxes_distance(boxes, x):
    least = np.full(x.shape[:-1], np.inf)
    for a, b in boxes:
        out = np.maximum(np.asarray(a) - x, x - np.asarray(b))
        far = np.linalg.norm(np.maximum(out, 0), axis=-1) + np.minimum(out.max(axis=-1), 0)
        least = np.minimum(least, far)
    return least


def linear_fields(nodes):
    """Return the twelve displacements a + B x: they span every turn and uniform strain."""
    basis = np.zeros((12, len(nodes), 3))
    for i in range(3):
        basis[i, :, i] = 1.0
        for j in range(3):
            basis[3 + 3 * i + j, :, i] = nodes[:, j]
    return basis


def linear_q(b, a=(0.0, 0.0, 0.0)):
    """Return the coordinates of x -> (I + b) x + a."""
    return np.concatenate([a, np.asarray(b).ravel()])


def skin_points(boxes, spacing):
    """Return points of a lattice on the surface of a union of boxes."""
    low, high = np.min([a for a, _ in boxes], axis=0), np.max([b for _, b in boxes], axis=0)
    n = np.round((high - low) / spacing).astype(int) + 1
    x = (low + spacing * np.stack(np.indices(n), axis=-1)).reshape(-1, 3)
    return x[np.abs(boxes_distance(boxes, x)) < 1e-9]


def thinned(points, count):
    """Return some of the points, far from each other."""
    chosen = [0]
    least = np.linalg.norm(points - points[0], axis=1)
    while len(chosen) < count:
        chosen.append(int(least.argmax()))
        least = np.minimum(least, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return points[chosen]


def plain(deformed, x, q):
    """Return the distance and the nearest proxy of one place, by equations 3.16 and 3.17."""
    best, nearest, at = np.inf, None, 0
    for field, proxies in deformed.domains:
        rows = slice(at, at + len(proxies))
        modes = deformed._core.modes[rows]
        place = proxies + np.einsum("mrc,r->mc", modes[..., :3], q)
        grad = np.eye(3) + np.einsum("mrc,r->mc", modes[..., 3:], q).reshape(-1, 3, 3)
        far = np.linalg.norm(x - place, axis=1)
        near = np.argsort(far, kind="stable")[: deformed.k]
        d = far[near]
        if d[0] == d[-1]:
            w = np.ones(len(d))
        elif d[0] == 0:
            w = (d == 0).astype(float)
        else:
            w = (1 / d - 1 / d[-1]) / (1 / d[0] - 1 / d[-1])
        w /= w.sum()
        back = np.array([proxies[i] + np.linalg.solve(grad[i], x - place[i]) for i in near])
        value = w @ field.distance(back)
        if value < best:
            best, nearest = value, at + near[0]
        at += len(proxies)
    return best, nearest


def exact_distance(points, surface):
    """Return distances to the nearest triangle, negative where the surface winds around."""
    a, b, c = (surface.vertices[surface.triangles[:, i]] for i in range(3))
    best, winding = np.empty(len(points)), np.empty(len(points))
    for i, p in enumerate(points):
        best[i] = np.sqrt(_triangle_squares(p, a, b, c).min())
        u, v, w = a - p, b - p, c - p
        lu, lv, lw = (np.linalg.norm(x, axis=1) for x in (u, v, w))
        top = (u * np.cross(v, w)).sum(axis=1)
        low = lu * lv * lw + (u * v).sum(1) * lw + (v * w).sum(1) * lu + (w * u).sum(1) * lv
        winding[i] = np.arctan2(top, low).sum() / (2 * np.pi)
    return np.where(winding > 0.5, -best, best)


def _triangle_squares(p, a, b, c):
    """Return squared distances of a point from triangles: the plane's foot or the edges."""
    normal = np.cross(b - a, c - a)
    square = (normal**2).sum(axis=1)
    height = ((p - a) * normal).sum(axis=1)
    foot = p - (height / square)[:, None] * normal
    inside = np.ones(len(a), bool)
    best = np.full(len(a), np.inf)
    for s, e in ((a, b), (b, c), (c, a)):
        edge = e - s
        inside &= (np.cross(edge, foot - s) * normal).sum(axis=1) >= 0
        t = np.clip(((p - s) * edge).sum(axis=1) / (edge**2).sum(axis=1), 0, 1)
        best = np.minimum(best, ((p - s - t[:, None] * edge) ** 2).sum(axis=1))
    return np.where(inside, height**2 / square, best)
