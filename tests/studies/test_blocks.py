"""Blocks of polynomials and of modal derivatives: their sum, and wrong data."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from reducedfem import _core
from shapes import solid_box


@pytest.fixture(scope="module")
def solid():
    return solid_box((12, 6, 5), (0.2, 0.1, 0.1), rf.StVK(1e6, 0.3, 1000.0))


@pytest.fixture(scope="module")
def vectors(solid):
    found = np.random.default_rng(4).normal(size=(3, solid.mesh.n_nodes, 3))
    found[:, solid.fixed] = 0.0
    return found


def blocks(solid, vectors):
    return [
        _core.polynomial_block(solid._core, vectors, place)
        for place in range(_core.polynomial_blocks(solid._core))
    ]


def test_blocks_add_up_to_the_energy(solid, vectors):
    """Their sum is the polynomial of the whole, whose energy is that of the mesh."""
    found = blocks(solid, vectors)
    assert len(found) == 2
    total = np.zeros(_core.polynomial_count(3))
    for data in found:
        _core.add_coefficients(total, _core.block_coefficients(data, 0, 2))
    model = _core.reduce(solid._core, vectors, None, 1, 0, total)
    np.testing.assert_array_equal(
        model.coefficients, _core.reduce(solid._core, vectors, None, 1).coefficients
    )
    q = np.array([1e-3, -2e-3, 5e-4])
    u = np.einsum("i,inc->nc", q, vectors)
    assert model.strain_energy(q) == pytest.approx(solid.strain_energy(u), rel=1e-10)


def test_translated_elements_share_tables(solid, vectors):
    data = blocks(solid, vectors)[0]
    assert len(data[7]) == 8  # volumes of the points of one hexahedron
    bent = solid.mesh.nodes + 0.01 * solid.mesh.nodes**2
    other = rf.Solid(rf.Mesh(bent, solid.mesh.elements), solid.material, fixed=solid.fixed)
    whole = blocks(other, vectors)[0]
    assert len(whole[7]) == 8 * len(whole[2])


def test_wrong_blocks_are_refused(solid, vectors):
    data = blocks(solid, vectors)[0]
    for place, value, message in (
        (0, 0, "arrays do not match"),
        (2, data[2] + len(data[8]), r"corner\[0, 0\]"),
        (3, data[3] + 1, "material"),
        (5, data[5] + 1, "arrays do not match"),
        (7, -data[7], "arrays do not match"),
        (8, np.zeros((len(data[8]), 3, 257)), "arrays do not match"),
    ):
        wrong = (*data[:place], value, *data[place + 1 :])
        with pytest.raises(rf.InputError, match=message):
            _core.block_coefficients(wrong, 0, 1)
    with pytest.raises(rf.InputTypeError, match="data must be a tuple"):
        _core.block_coefficients(list(data), 0, 1)
    with pytest.raises(rf.InputError, match="block must be between 0 and 1, got 2"):
        _core.polynomial_block(solid._core, vectors, 2)
    with pytest.raises(rf.InputTypeError, match="total must be a writable array"):
        _core.add_coefficients([0.0], [0.0])
    with pytest.raises(rf.InputError, match="r must be between 1 and 256, got 0"):
        _core.polynomial_count(0)


def test_pairs_have_the_same_bits_in_blocks(solid):
    shapes = solid.linear_modes(8).shapes
    size = _core.DERIVATIVES_BLOCK
    factored = _core.Derivatives(solid._core, 1)
    parts = [factored.pairs(shapes, 0, size, 1), factored.pairs(shapes, size, 36, 2)]
    np.testing.assert_array_equal(np.concatenate(parts), solid.modal_derivatives(shapes))
    for begin, end in ((0, 8), (1, 33), (36, 36), (0, 37)):
        with pytest.raises(rf.InputError, match="pairs"):
            factored.pairs(shapes, begin, end, 1)
    with pytest.raises(rf.InputError, match="moves node"):
        factored.pairs(np.ones_like(shapes), 0, size, 1)
    free = rf.Solid(solid.mesh, solid.material)
    with pytest.raises(rf.InputError, match="the solid is free"):
        _core.Derivatives(free._core, 1).pairs(shapes, 0, size, 1)
    values, _, found = _core.linear_modes(free._core, 2, False, None, 1)
    with pytest.raises(rf.InputError, match="the solid is free"):
        _core.basis_of_derivatives(
            free._core, values, found, np.ones((3, *found.shape[1:])), 2, None, 1
        )
