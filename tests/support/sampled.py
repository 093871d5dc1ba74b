"""Beams and their reduced models by cubature."""

from __future__ import annotations

import functools

import numpy as np

import reducedfem as rf
from shapes import BOXES

SOFT = rf.StableNeoHookean(1e6, 0.4, 1000.0)
MATERIALS = {
    "stable": SOFT,
    "neo": rf.NeoHookean(1e6, 0.4, 1000.0),
    "stvk": rf.StVK(1e6, 0.4, 1000.0),
}


@functools.cache
def beam(
    kind: str = "tet", cells: tuple[int, int, int] = (8, 3, 3), law: str = "stable"
) -> rf.Solid:
    """Return a beam that is clamped at x = 0."""
    nodes, elements = BOXES[kind](*cells, (1.0, 0.2, 0.2))
    fixed = np.flatnonzero(nodes[:, 0] == 0.0)
    return rf.Solid(rf.Mesh(nodes, elements), MATERIALS[law], fixed=fixed)


@functools.cache
def basis_of(solid: rf.Solid, r: int = 20) -> rf.Basis:
    return rf.modal_derivative_basis(solid, r=r)


@functools.cache
def sampled(r: int = 8, points: int = 60) -> rf.ReducedSolid:
    """Return a small model of the beam."""
    settings = rf.Cubature(points=points, n_poses=40, strain=0.1)
    return rf.reduce(beam(cells=(6, 2, 2)), basis_of(beam(cells=(6, 2, 2)), r), cubature=settings)


def poses_of(model: rf.ReducedSolid | rf.ProjectedSolid, n: int, bend: float = 0.1) -> np.ndarray:
    """Return random poses (n, r) whose largest displacement is `bend`, m."""
    rng = np.random.default_rng(7)
    rates, shapes = np.linalg.eigh(model.stiffness(np.zeros(model.r)))
    # eigenvectors have signs by chance
    looks = np.random.default_rng(8).standard_normal(model.displacement(shapes[:, 0]).size)
    shapes *= [np.sign(looks @ model.displacement(shape).ravel()) for shape in shapes.T]
    poses = rng.standard_normal((n, model.r)) / np.sqrt(rates) @ shapes.T
    return np.array([bend / np.abs(model.displacement(q)).max() * q for q in poses])
