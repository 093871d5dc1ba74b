"""Deformations in the domains of laws: those that invert no element, for some laws."""

from __future__ import annotations

import numpy as np

from plain_solid import shape_points
from reducedfem import _core

LAWS = _core.laws()
LEAST = 0.2  # determinant of a deformation gradient well inside of the domain


def determinants(G):
    """Return det(1 + G) of displacement gradients (m, 9)."""
    return np.linalg.det(np.reshape(G, (-1, 3, 3)) + np.eye(3))


def gradients(law, rng, n=30, size=0.4):
    """Return random displacement gradients (n, 9) at which a law is defined."""
    drawn = size * rng.standard_normal((n, 9))
    while not LAWS[law]["defined_inverted"] and (low := determinants(drawn) < LEAST).any():
        drawn[low] = size * rng.standard_normal((low.sum(), 9))
    return drawn


def inside(solid, u):
    """Return displacements of a solid, halved until all its laws are defined there."""
    bounded = [not solid.materials[int(one)].defined_inverted for one in solid.mesh.regions]
    points = [
        (element, g)
        for element in solid.mesh.elements[bounded]
        for _, g, _ in shape_points(solid.mesh.nodes[element], solid.quadrature)
    ]
    while any(determinants(u[element].T @ g)[0] < LEAST for element, g in points):
        u = 0.5 * u
    return u
