"""Semidefinite stiffnesses of reduced models: eigenvalues, the mesh, plain sums, kernels."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import reducedfem as rf
from material_laws import LAWS, rubber
from reducedfem import _core
from sampled import basis_of, beam, poses_of, sampled
from shapes import solid_box
from test_cubature import VARIANTS, all_points, relative

ORTHOTROPIC = rf.LinearElastic.orthotropic(
    (3e5, 2e5, 1e5), (0.3, 0.2, 0.1), (8e4, 7e4, 6e4), 1000.0
)


@functools.cache
def solid_of(law: str) -> rf.Solid:
    material = ORTHOTROPIC if law == "LinearElastic" else rubber(law, 2e5, 0.35, 1000.0)
    return solid_box((4, 1, 1), (1.0, 0.2, 0.2), material)


def far(model: rf.ReducedSolid, law: str) -> list[np.ndarray]:
    """Return poses far from rest: inverted at points, or compressed if the law is not defined."""
    found = []
    for q in stiff_poses(model, 8, 1.0):
        while not LAWS[law]["defined_inverted"] and volumes(model, q).min() < 0.2:
            q *= 0.8
        found.append(q)
    return found


def stiff_poses(model: rf.ReducedSolid | rf.ProjectedSolid, n: int, largest: float) -> np.ndarray:
    """Return random poses (n, r) whose largest displacement is `largest`, m: stiff modes too."""
    poses = np.random.default_rng(3).standard_normal((n, model.r))
    return np.array([largest / np.abs(model.displacement(q)).max() * q for q in poses])


def volumes(model: rf.ReducedSolid, q: np.ndarray) -> np.ndarray:
    return np.linalg.det(np.eye(3) + (model.cubature.gradients @ q).reshape(-1, 3, 3))


def hessians(model: rf.ReducedSolid, q: np.ndarray) -> np.ndarray:
    (one,) = model.materials.values()
    return _core.law_point(one.law, one.parameters, model.cubature.gradients @ q)[2]


@pytest.mark.parametrize("law", LAWS)
def test_no_eigenvalue_is_negative_and_all_points_give_the_projected_solid(law):
    solid = solid_of(law)
    basis = basis_of(solid, 8)
    model, exact = all_points(solid, basis), rf.ProjectedSolid(solid, basis)
    rule, indefinite = model.cubature, 0
    for q in far(model, law):
        true, definite = model.stiffness(q), model.stiffness(q, definite=True)
        size = np.linalg.norm(definite)
        np.testing.assert_array_equal(definite, definite.T)
        assert np.linalg.eigvalsh(definite)[0] >= -1e-12 * size
        assert relative(definite, exact.stiffness(q, definite=True)) < 1e-12
        values, vectors = np.linalg.eigh(hessians(model, q))
        A = np.einsum("pik,pk,pjk->pij", vectors, np.maximum(values, 0.0), vectors)
        plain = np.einsum("p,pir,pij,pjs->rs", rule.weights, rule.gradients, A, rule.gradients)
        assert relative(definite, plain) < 1e-10
        # no more is added than has to be
        assert np.linalg.eigvalsh(definite - true)[0] >= -1e-12 * size
        indefinite += values.min() < -1e-6 * np.abs(values).max()
    assert indefinite >= 3
    if LAWS[law]["defined_inverted"]:
        assert min(volumes(model, q).min() for q in far(model, law)) < 0.0


def test_a_stiffness_that_is_indefinite_becomes_semidefinite():
    model = sampled()
    found = [model.stiffness(q) for q in poses_of(model, 40, 0.8)]
    assert min(np.linalg.eigvalsh(K)[0] / np.linalg.norm(K) for K in found) < -1e-3
    for q in poses_of(model, 40, 0.8):
        K = model.stiffness(q, definite=True)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.norm(K)


def test_the_stiffness_of_definite_points_keeps_its_bits():
    model = all_points(solid_of("StableNeoHookean"), basis_of(solid_of("StableNeoHookean"), 8))
    axis = np.eye(3)[0] * np.maximum(model.mesh.nodes[:, :1], 0.0)
    pulled = np.linalg.lstsq(model.matrix, 0.1 * axis.ravel(), rcond=None)[0]
    tried = 0
    for q in (np.zeros(8), 0.1 * pulled, pulled):
        if np.linalg.eigvalsh(hessians(model, q)).min() > -1e-9:
            tried += 1
            assert model.stiffness(q).tobytes() == model.stiffness(q, definite=True).tobytes()
    assert tried >= 1


@pytest.mark.parametrize("simd", VARIANTS)
@pytest.mark.parametrize("law", ["StableNeoHookean", "LinearElastic"])
def test_kernels_agree(law, simd):
    model = all_points(solid_of(law), basis_of(solid_of(law), 6))
    gradients, weights, points, linear = model._core.cubature
    table = [(one.law, one.parameters, one.density) for one in model.materials.values()]
    again = _core.sampled(
        model.basis, model.mass, gradients, weights, points, table, linear, None, simd
    )
    for q in far(model, law):
        expected = model.stiffness(q, definite=True)
        assert relative(again.stiffness(q, True), expected) < 1e-12


def test_a_polynomial_gives_the_nearest_matrix_without_negative_eigenvalues():
    """Axial compression softens a bar, and it buckles."""
    solid = beam(cells=(3, 1, 1), law="stvk")
    x = solid.mesh.nodes[:, :1]
    model = rf.reduce(solid, np.array([x * np.eye(3)[0], x**2 * np.eye(3)[1]]))
    rest = np.zeros(2)
    np.testing.assert_array_equal(model.stiffness(rest, definite=True), model.stiffness(rest))
    indefinite = 0
    for q in np.random.default_rng(3).uniform((-0.6, -0.2), (0.0, 0.2), (20, 2)):
        values, vectors = np.linalg.eigh(model.stiffness(q))
        found = model.stiffness(q, definite=True)
        expected = vectors * np.maximum(values, 0.0) @ vectors.T
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(values).max())
        np.testing.assert_array_equal(found, found.T)
        indefinite += values[0] < 0.0
    assert indefinite >= 3


@pytest.mark.parametrize("cubature", [False, True])
def test_wrong_arguments(cubature):
    solid = beam(cells=(3, 1, 1), law="stvk")
    model = sampled(4) if cubature else rf.reduce(solid, basis_of(solid, 4))
    with pytest.raises(rf.InputTypeError, match="definite"):
        model.stiffness(np.zeros(4), definite=1)
    with pytest.raises(rf.InputError, match="finite"):
        model.stiffness(np.full(4, 1e200), definite=True)
