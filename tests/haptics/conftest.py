"""The bodies that several files of tests touch."""

from __future__ import annotations

import pytest

import reducedfem as rf
from bars import bar, top_of
from haptic_sessions import ball_of
from shapes import solid_box


@pytest.fixture(scope="module")
def ball():
    """Return the contact with a coarse floor."""
    return ball_of(200.0)


@pytest.fixture(scope="module")
def beam():
    """Return a reduced beam, and the tree of its upper side."""
    model = bar(r=6, k=4)
    return model, top_of(model, (30, 7), 0.01)


@pytest.fixture(scope="module")
def block():
    """Return a model, its distance field, and points above it."""
    solid = solid_box((3, 2, 2), (0.06, 0.04, 0.04))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=5))
    field = rf.DistanceField.from_surface(model.mesh.surface(), 16)
    shell = rf.Pointshell([[0.05, 0.02, 0.05], [0.04, 0.02, 0.05]], [[0, 0, 1]] * 2)
    return model, field, rf.PointTree(shell)


@pytest.fixture(scope="module")
def bodies(block):
    """Return a model, its field that deforms, and points that move with it."""
    model, field, tree = block
    return model, rf.DeformedField(field, model, 8), tree.shell
