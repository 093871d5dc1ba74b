"""The bodies that several files of tests touch."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from haptic_sessions import ball_of
from shapes import box_hexes


@pytest.fixture(scope="module")
def ball():
    """Return the contact with a coarse floor."""
    return ball_of(200.0)


@pytest.fixture(scope="module")
def beam():
    """Return a reduced beam, a shell of its upper side and the mesh."""
    n = (12, 3, 3)
    axes = [np.linspace(0.0, size, count + 1) for size, count in zip((0.2, 0.03, 0.03), n)]  # noqa: B905
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(nodes)).reshape([count + 1 for count in n])
    corner = index[:-1, :-1, :-1], index[1:, :-1, :-1], index[1:, 1:, :-1], index[:-1, 1:, :-1]
    upper = index[:-1, :-1, 1:], index[1:, :-1, 1:], index[1:, 1:, 1:], index[:-1, 1:, 1:]
    elements = np.stack([c.ravel() for c in (*corner, *upper)], axis=1)
    mesh = rf.Mesh(nodes, elements)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=np.flatnonzero(nodes[:, 0] == 0.0))
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=4, r=6))
    x, y = np.linspace(0.01, 0.2, 30), np.linspace(0.0, 0.03, 7)
    points = np.stack(np.meshgrid(x, y, [0.03], indexing="ij"), axis=-1).reshape(-1, 3)
    shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
    tree = rf.PointTree(shell, reduced, rf.Embedding(mesh, points))
    return reduced, tree


@pytest.fixture(scope="module")
def bodies():
    """Return a model, its distance field and points of its surface that move with it."""
    mesh = rf.Mesh(*box_hexes(3, 2, 2, (0.06, 0.04, 0.04)))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-6)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=5))
    field = rf.DistanceField.from_surface(mesh.surface(), 16)
    shell = rf.Pointshell([[0.05, 0.02, 0.05], [0.04, 0.02, 0.05]], [[0, 0, 1]] * 2)
    return model, rf.DeformedField(field, model, 8), shell
