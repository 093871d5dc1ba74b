"""A bar and a fork with their distance fields and proxies."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from deformed_objects import (
    BAR,
    FORK,
    RUBBER,
    boxes_distance,
    boxes_field,
    linear_fields,
    skin_points,
    thinned,
)
from shapes import box_hexes, solid_box


@pytest.fixture(scope="module")
def bar_field():
    return boxes_field([BAR], 0.005, 0.06)


@pytest.fixture(scope="module")
def free_bar():
    nodes, elements = box_hexes(15, 3, 2, BAR[1])
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    return rf.reduce(solid, linear_fields(nodes))


@pytest.fixture(scope="module")
def bar_proxies():
    return thinned(skin_points([BAR], 0.02), 40)


@pytest.fixture(scope="module")
def held_bar():
    """A bar that bends and twists."""
    solid = solid_box((15, 3, 2), BAR[1], RUBBER)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 10))


@pytest.fixture(scope="module")
def fork():
    nodes, elements = box_hexes(9, 3, 28, (0.09, 0.03, 0.28))
    middle = nodes[elements].mean(axis=1)
    mesh = rf.Mesh(nodes, elements[boxes_distance(FORK, middle) < 0], drop_unreferenced=True)
    x = mesh.nodes
    # legs go apart, one to each side: bent about y, with the turn of their sections
    basis = np.zeros((2, len(x), 3))
    t = np.maximum(x[:, 2] - 0.04, 0) / 0.24
    side = np.sign(x[:, 0] - 0.045)
    basis[0, :, 0] = side * t**2
    middle_of_leg = 0.045 + 0.03 * side
    basis[0, :, 2] = -side * 2 * t / 0.24 * (x[:, 0] - middle_of_leg)
    basis[1, :, 1] = x[:, 2]
    return rf.reduce(rf.Solid(mesh, RUBBER), basis)


@pytest.fixture(scope="module")
def fork_field():
    return boxes_field(FORK, 0.005, 0.08)


@pytest.fixture(scope="module")
def fork_proxies():
    return thinned(skin_points(FORK, 0.01), 40)
