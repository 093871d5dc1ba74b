"""Scenes of penalty contact, and its forces by plain NumPy."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
import turns
from plain_contact import directions

STIFFNESS = 700.0
HERE, LEVEL = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
EVERYTHING = 10**8  # warm_nodes that are never reached


def turn(axis, angle) -> np.ndarray:
    """Return the quaternion of a rotation."""
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])


def bumpy_grid(n: int = 32) -> rf.DistanceField:
    """Return samples of a bumpy ball of radius about 0.7: an interpolant with kinks everywhere."""
    axis = np.linspace(-1, 1, n + 1)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    values = np.sqrt(x * x + y * y + z * z) - 0.7
    values += 0.05 * np.sin(9 * x) * np.sin(8 * y) * np.cos(7 * z)
    return rf.DistanceField(values.astype(np.float32), (-1.0, -1, -1), (2 / n, 2 / n, 2 / n))


GRID = bumpy_grid()
FIELDS = {
    "grid": GRID,
    "ball": rf.SphereField((0.1, 0, 0), 0.6),
    "box": rf.BoxField((-0.5, -0.3, -0.4), (0.6, 0.5, 0.4)),
    "several": rf.UnionField([rf.CapsuleField((-1, 0, 0), (1, 0, 0), 0.2), GRID.offset(-0.1)]),
    "common": GRID & rf.BoxField((-0.5, -0.3, -0.4), (0.6, 0.5, 0.4)),
    "hollow": (GRID - rf.SphereField((0.2, 0, 0), 0.5)) | rf.PlaneField((0, 0, -0.6), (0, 0, 1)),
    "hole": ~GRID.offset(0.1),
}


def plain(
    tree, field, position, quaternion, q=None, level=None, limit=10, weights=None, grasp=0,
    normal=False,
):  # fmt: skip
    """Return forces, their sums and the gradient by the formulas, over all points."""
    rotation, position = turns.rotation(quaternion), np.asarray(position, dtype=float)
    use = slice(None) if level is None else slice(0, int(tree.node_counts[level]))
    x, normals = tree.positions(q)[use], tree.normals(q)[use]
    local = (x - position) @ rotation
    d = field.distance(local)
    hit = d < 0
    w = np.ones(len(x)) if weights is None else (weights / weights.mean())[use]
    x, normals, d, w = x[hit], normals[hit], d[hit], w[hit]
    e = normals if normal else directions(field, local[hit], normals, rotation)
    arm = x - position - rotation @ np.broadcast_to(grasp, 3)
    scale = limit / w.sum() if limit and w.sum() > limit else 1.0
    forces = scale * STIFFNESS * (w * d)[:, None] * e
    rigid = np.concatenate([e, np.cross(arm, e)], axis=1)
    gradient = -scale * STIFFNESS * (rigid.T * w) @ rigid
    return {
        "indices": np.flatnonzero(hit),
        "distances": d,
        "forces": forces,
        "force": forces.sum(axis=0),
        "torque": np.cross(arm, forces).sum(axis=0),
        "gradient": gradient,
    }


def same_contacts(a, b) -> None:
    """Assert the same points at the same distances, bit for bit; sums in another order."""
    order, other = np.argsort(a.contacts.indices), np.argsort(b.contacts.indices)
    for name in ("indices", "distances", "positions", "normals", "forces"):
        mine, its = getattr(a.contacts, name)[order], getattr(b.contacts, name)[other]
        if name == "forces":  # scaled by a sum of weights
            np.testing.assert_allclose(mine, its, rtol=1e-12)
        else:
            np.testing.assert_array_equal(mine, its)
    assert a.touching == b.touching == len(order)
    assert a.depth == b.depth
    size = np.abs(a.contacts.forces).sum() + 1e-300
    np.testing.assert_allclose(a.force, b.force, atol=1e-12 * size)
    np.testing.assert_allclose(a.torque, b.torque, atol=1e-11 * size)
    np.testing.assert_allclose(
        a.gradient, b.gradient, atol=1e-12 * np.abs(b.gradient).max() + 1e-300
    )
    if a.reduced_force is not None:
        most = np.abs(b.reduced_force).max() + size
        np.testing.assert_allclose(a.reduced_force, b.reduced_force, atol=1e-11 * most)


def random_pose(rng, reach=1.6):
    position = rng.normal(size=3)
    position *= rng.uniform(0, reach) / np.linalg.norm(position)
    quaternion = rng.normal(size=4)
    return position, quaternion / np.linalg.norm(quaternion)


def trajectory(n, rng, r=0, jumps=()):
    """Return poses around the shell, and q; at some cycles all of them jump."""
    t = np.linspace(0, 3, n)
    phase = np.zeros(n)
    for at in jumps:
        phase[at:] += rng.uniform(0, 6)
    positions = np.stack(
        [
            1.35 * np.cos(t + phase),
            1.35 * np.sin(t + phase),
            0.3 * np.sin(3 * t) + 0.1 * np.cos(phase),
        ],
        axis=1,
    )
    quaternions = np.stack([turn((1, 2, 3), a) for a in 2 * t + phase])
    qs = None
    if r:
        shapes = rng.normal(size=(2, r))
        qs = np.sin(2 * t + phase)[:, None] * shapes[0] + np.cos(t)[:, None] * shapes[1]
        positions += (1.0, 0.25, 0.25)
    return positions, quaternions, qs
