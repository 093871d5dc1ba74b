"""Solids on elements of second order, ten-node tetrahedra and hexahedra of 20 nodes alike."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import reducedfem as rf
from plain_solid import jittered
from shapes import box_hex20s, box_tet10s

RUBBER = rf.StVK(1e5, 0.35, 1100.0)
BOXES = {"tet10": box_tet10s, "hex20": box_hex20s}


@pytest.fixture(params=BOXES)
def make(request):
    """Boxes of one kind of elements."""
    return BOXES[request.param]


def curved(make, rng: np.random.Generator, n: int = 3, bend: float = 0.05) -> rf.Mesh:
    """Return a box of curved elements; its surface is curved as well."""
    nodes, elements = make(n, n, n)
    return rf.Mesh(nodes + rng.uniform(-bend, bend, nodes.shape) / n, elements)


def bar(make, cells, quadrature=None) -> rf.Solid:
    nodes, elements = make(*cells, (0.4, 0.1, 0.1))
    return rf.Solid(rf.Mesh(nodes, elements), RUBBER, nodes[:, 0] == 0, quadrature)


@pytest.mark.parametrize("suffix", [".vtu", ".vtk", ".msh", ".inp"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_files_keep_the_nodes(make, suffix, tmp_path, rng):
    mesh = curved(make, rng, 2)
    mesh.write(tmp_path / f"m{suffix}")
    again = rf.read_mesh(tmp_path / f"m{suffix}")
    np.testing.assert_array_equal(again.elements, mesh.elements)
    np.testing.assert_allclose(again.nodes, mesh.nodes, atol=1e-15)


def test_linear_fields_and_rigid_motions_everywhere(make, rng):
    mesh = curved(make, rng)
    e = rf.Embedding(mesh, rng.uniform(-1, 2, (1500, 3)))
    assert 0 < e.outside.sum() < 1500
    a, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    precision = 1e-12 if make is box_tet10s else 1e-11  # far outside, by higher powers
    np.testing.assert_allclose(e.weights.sum(axis=1), 1, atol=precision)
    expected = e.points @ a + b
    np.testing.assert_allclose(e.interpolate(mesh.nodes @ a + b), expected, atol=10 * precision)


@pytest.mark.parametrize("order", ["lower", "higher"])
def test_reduced_polynomials_are_the_projected_solid(make, order, rng):
    quadrature = {"lower": 2, "higher": 3}[order] + (make is box_hex20s)
    solid = bar(make, (2, 1, 1), quadrature)
    vectors = rng.standard_normal((7, solid.mesh.n_nodes, 3))
    vectors[:, solid.fixed] = 0
    model = rf.reduce(solid, vectors)
    q = 0.02 * rng.standard_normal(7)
    u, flat = np.einsum("r,rni->ni", q, vectors), vectors.reshape(7, -1)
    assert model.strain_energy(q) == pytest.approx(solid.strain_energy(u), rel=1e-12)
    np.testing.assert_allclose(
        model.internal_force(q), flat @ solid.internal_force(u).ravel(), rtol=1e-11
    )
    projected = flat @ (solid.stiffness(u).to_scipy() @ flat.T)
    np.testing.assert_allclose(model.stiffness(q), projected, atol=1e-12 * np.abs(projected).max())


def test_modes_derivatives_and_basis_of_a_bar(make):
    k = 5
    solid = bar(make, (4, 2, 2) if make is box_tet10s else (3, 1, 1))
    modes = solid.linear_modes(k)
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    K = solid.stiffness().to_dense()[np.ix_(free, free)]
    M = solid.mass().to_dense()[np.ix_(free, free)]
    values, _ = scipy.linalg.eigh(K, M, subset_by_index=[0, k - 1])
    np.testing.assert_allclose((2 * np.pi * modes.frequencies) ** 2, values, rtol=1e-9)
    derivatives = solid.modal_derivatives(modes)
    for p, (a, b) in enumerate(itertools.combinations_with_replacement(range(k), 2)):
        load = -solid.hessian_product(modes.shapes[a], modes.shapes[b]).ravel()[free]
        np.testing.assert_allclose(
            K @ derivatives[p].ravel()[free], load, atol=1e-9 * np.abs(load).max()
        )
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=k, r=8))
    np.testing.assert_allclose(model.mass, np.eye(8), atol=1e-12)
    assert model.truncate(4).r == 4


def test_free_bar_has_six_rigid_motions(make):
    cells = (3, 2, 2) if make is box_tet10s else (3, 1, 1)
    solid = rf.Solid(rf.Mesh(*make(*cells, (0.3, 0.1, 0.1))), RUBBER)
    values = scipy.linalg.eigh(
        solid.stiffness().to_dense(), solid.mass().to_dense(), eigvals_only=True
    )
    assert (np.abs(values[:6]) < 1e-9 * values[6]).all()
    modes = solid.linear_modes(6)
    np.testing.assert_allclose((2 * np.pi * modes.frequencies) ** 2, values[6:12], rtol=1e-8)
    rf.modal_derivative_basis(solid, k=2, r=4)


def test_explicit_steps_have_the_lumped_mass(make):
    """Against central differences in NumPy; M q'' = f - R(q)."""
    solid = bar(make, (3, 1, 1))
    h = rf.stable_step(solid)
    load = np.zeros((solid.mesh.n_nodes, 3))
    load[solid.mesh.nodes[:, 0] > 0.39, 2] = -0.01
    mass = np.diag(solid.mass(lumped=True).to_dense()).reshape(-1, 3)
    assert (mass > 0).all()
    moves = np.ones((solid.mesh.n_nodes, 1))
    moves[solid.fixed] = 0
    before = q = np.zeros_like(load)  # the load begins to act at the end of the first step
    for _ in range(99):
        a = moves * (load - solid.internal_force(q)) / mass
        before, q = q, 2 * q - before + h * h * a
    sim = rf.CentralDifferences(solid, h)
    sim.step(load, n=100)
    np.testing.assert_allclose(sim.state.q, q, atol=1e-10 * np.abs(q).max())
    # the step is below the limit 2 / omega, and not far below
    free = (3 * solid.free[:, None] + np.arange(3)).ravel()
    root = np.sqrt(mass.ravel()[free])
    scaled = solid.stiffness().to_dense()[np.ix_(free, free)] / np.outer(root, root)
    limit = 2 / np.sqrt(np.linalg.eigvalsh(scaled)[-1])
    assert 0.5 * limit < h < limit
    assert rf.spectrum(solid, lumped=True).highest == pytest.approx(1 / (np.pi * limit), rel=1e-3)


def test_strain_rate_damping_is_a_dissipation(make, rng):
    solid = bar(make, (2, 1, 1))
    damping = rf.StrainRateDamping(solid, 3.0, 2.0)
    u, v = 0.02 * rng.standard_normal((2, solid.mesh.n_nodes, 3))
    matrix = damping.matrix(u).to_dense()
    np.testing.assert_allclose(
        matrix @ v.ravel(), damping.force(u, v).ravel(), rtol=1e-10, atol=1e-12
    )
    spectrum = np.linalg.eigvalsh(matrix)
    assert spectrum.min() > -1e-12 * spectrum.max()


def test_models_keep_the_nodes_in_files(make, tmp_path):
    solid = bar(make, (2, 1, 1))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=4))
    model.save(tmp_path / "m.safetensors")
    again = rf.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.mesh.elements, solid.mesh.elements)
    np.testing.assert_array_equal(again.coefficients, model.coefficients)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_results_do_not_depend_on_threads(make, rng):
    cells = (10, 5, 4) if make is box_tet10s else (24, 10, 10)
    nodes, elements, _ = jittered(make, cells, 0.1, rng)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    assert solid.mesh.n_elements >= 1000
    u = 0.001 * rng.standard_normal((solid.mesh.n_nodes, 3))
    one, two = (solid._core.stiffness(u, n)[0] for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(
        solid._core.internal_force(u, 1), solid._core.internal_force(u, 3)
    )
