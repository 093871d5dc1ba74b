"""Shared by tests of model files: models, and their files as bytes."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from graded import graded_box
from model_files import make_model
from reducedfem.reduction.reduced import to_bytes
from sampled import sampled
from shapes import box_hexes


@pytest.fixture(scope="module")
def model() -> rf.ReducedSolid:
    return make_model("hex8")


@pytest.fixture(scope="module")
def data(model) -> bytes:
    return to_bytes(model)


@pytest.fixture(scope="module")
def editable_data() -> bytes:
    """Return the file of a model with parts."""
    return to_bytes(make_model("hex8", editable=True))


@pytest.fixture(scope="module")
def skinned() -> rf.ReducedSolid:
    """Return a model whose mesh was made from a surface."""
    part = rf.Mesh(*box_hexes(1, 1, 1, 0.1)).surface()
    mesh = rf.voxelize(part, 4, fill=True)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0), mesh.nodes[:, 0] <= 0.0)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))


@pytest.fixture(scope="module")
def skinned_data(skinned) -> bytes:
    return to_bytes(skinned)


@pytest.fixture(scope="module")
def damped() -> rf.ReducedSolid:
    return make_model("tet4", damped=True)


@pytest.fixture(scope="module")
def damped_data(damped) -> bytes:
    return to_bytes(damped)


@pytest.fixture(scope="module")
def sampled_data() -> bytes:
    """Return the file of a model with a cubature."""
    return to_bytes(sampled())


@pytest.fixture(scope="module")
def cut_data() -> bytes:
    """Return the file of a model with two of four elements cut."""
    nodes, elements = box_hexes(4, 1, 1, (4.0, 1.0, 1.0))
    mesh = rf.Mesh(nodes, elements)
    gauss = np.array(np.meshgrid(*3 * [[-(3**-0.5), 3**-0.5]])).reshape(3, -1).T
    half = np.tile(0.25 * gauss * [1, 4, 4] - [0.75, 0, 0], (2, 1))
    signs = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1]])
    signs = np.concatenate([signs, signs * [1, 1, -1]])
    shape = np.prod(0.5 * (1 + signs * half[:8, None]), axis=2)
    products = np.tile(0.25 * (shape.T @ shape)[np.triu_indices(8)], (2, 1))
    mesh._cut_as((np.array([0, 8, 0, 8], np.int32), half, np.full(16, 0.25), products))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=nodes[:, 0] == 0.0)
    bend = np.zeros((1, len(nodes), 3))
    bend[0, :, 2] = nodes[:, 0] ** 2
    return to_bytes(rf.reduce(solid, bend))


@pytest.fixture(scope="session")
def graded_data() -> bytes:
    """Return the file of a model of a mesh with constrained nodes."""
    mesh = graded_box((5, 5, 5))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)
    return to_bytes(rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=3)))
