"""Point trees of a rigid ball and of a bar that deforms."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from shapes import solid_box
from shells import sphere_shell


@pytest.fixture(scope="module")
def rigid() -> rf.PointTree:
    return rf.PointTree(sphere_shell((40, 160, 640, 1200)))


@pytest.fixture(scope="module")
def bar() -> rf.ReducedSolid:
    solid = solid_box((8, 2, 2), (2.0, 0.5, 0.5))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 9))


@pytest.fixture(scope="module")
def soft(bar) -> rf.PointTree:
    """Return points on the sides of a bar that bends, some outside of its mesh."""
    rng = np.random.default_rng(8)
    points = rng.random((1500, 3))
    side = rng.integers(0, 3, 1500)
    points[np.arange(1500), side] = np.round(points[np.arange(1500), side])
    normals = np.zeros_like(points)
    normals[np.arange(1500), side] = 1 - 2 * points[np.arange(1500), side]
    points = points * (2.02, 0.52, 0.52) - 0.01
    areas = rng.uniform(0.5, 1.5, 1500)
    shell = rf.Pointshell(points, normals, np.repeat([0, 1, 2, 3], [20, 80, 320, 1080]), areas)
    return rf.PointTree(shell, bar)
