"""Graded meshes for tests, and the matrix of their constraints by plain NumPy."""

from __future__ import annotations

import warnings

import numpy as np

import reducedfem as rf

CORNERS = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)


def voxel_mesh(solid, h=0.01, regions=None):
    """Return the mesh of the true places of a boolean array, edge h, lowest corner at 0."""
    at = np.argwhere(solid)
    shape = np.array(solid.shape) + 1
    corners = np.ravel_multi_index((at[:, None] + CORNERS).reshape(-1, 3).T, shape)
    kept, elements = np.unique(corners, return_inverse=True)
    nodes = np.stack(np.unravel_index(kept, shape), axis=1) * h
    return rf.Mesh(nodes, elements.reshape(-1, 8), None if regions is None else regions[solid])


def graded_box(shape=(5, 6, 5), **grading):
    """Return a box of cubes, graded."""
    return voxel_mesh(np.ones(shape, dtype=bool)).graded(rf.Grading(**grading))


def plain_matrix(mesh):
    """Return T of a mesh with constraints for vectors, (3 n, 3 independent), as a dense array."""
    c = mesh.constraints
    free = np.setdiff1d(np.arange(mesh.n_nodes), c.slaves)
    column = dict(zip(free.tolist(), range(len(free)), strict=True))
    T = np.zeros((mesh.n_nodes, len(free)))
    T[free, np.arange(len(free))] = 1.0
    for k, slave in enumerate(c.slaves):
        for p in range(c.ptr[k], c.ptr[k + 1]):
            T[slave, column[int(c.masters[p])]] += c.weights[p]
    return np.kron(T, np.eye(3))


def without_constraints(mesh):
    """Return the same cells without constraints: they come apart between levels."""
    return rf.Mesh(mesh.nodes, mesh.elements, mesh.regions)


def torn_solid(mesh, law, fixed=None):
    """Return the solid of the cells alone, without the warning of hanging nodes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.GeometryWarning)
        return rf.Solid(without_constraints(mesh), law, fixed=fixed)
