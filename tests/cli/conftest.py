"""Shared by tests of the command line: a model and a surface as files."""

from __future__ import annotations

import pytest

import reducedfem as rf
from shapes import box_tets, solid_box


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="module")
def model(folder):
    """A beam along x, 0.4 m long, held at x = 0, as a model file."""
    solid = solid_box((8, 2, 2), (0.4, 0.1, 0.1))
    path = folder / "beam.safetensors"
    rf.reduce(solid, rf.modal_derivative_basis(solid, 4, 8)).save(path)
    return path


@pytest.fixture(scope="module")
def surface(folder):
    """The skin of a box as a surface file."""
    nodes, elements = box_tets(2, 1, 1, (0.2, 0.1, 0.1))
    path = folder / "box.obj"
    rf.Mesh(nodes, elements).surface().write(path)
    return path
