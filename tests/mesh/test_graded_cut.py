"""Graded meshes whose cells at the surface are cut."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sparse

import reducedfem as rf
from graded import CORNERS
from shapes import box_hexes, sphere

LAW = rf.StVK(1e5, 0.3, 1000.0)


@pytest.fixture(scope="module")
def ball():
    return rf.Surface(*sphere(8))


@pytest.fixture(scope="module")
def pair(ball):
    """Return the uniform and the graded mesh of a ball."""
    return rf.voxelize(ball, 14, order=1), rf.voxelize(ball, 14, graded=rf.Grading())


def test_cut_cells_and_their_neighbours_stay_fine(pair):
    uniform, graded = pair
    assert graded.levels.max() >= 1
    assert graded.volume == pytest.approx(uniform.volume, rel=1e-12)
    cut = graded.fractions < 1.0
    assert cut.sum() == (uniform.fractions < 1.0).sum()
    np.testing.assert_allclose(
        graded.fractions[cut], uniform.fractions[uniform.fractions < 1.0], rtol=1e-14
    )
    assert (graded.levels[cut] == 0).all()
    near = np.isin(graded.elements, np.unique(graded.elements[cut])).any(axis=1)
    assert (graded.levels[near] == 0).all()
    assert not np.isin(graded.constraints.slaves, graded.elements[cut]).any()
    assert len(graded.hanging_nodes) == 0


def test_grading_of_cut_cells_is_that_of_their_mesh(pair):
    uniform, graded = pair
    again = uniform.graded()
    np.testing.assert_array_equal(again.elements, graded.elements)
    np.testing.assert_array_equal(again.fractions, graded.fractions)
    assert uniform.graded(rf.Grading(layers=20)).constraints is None


def test_matrices_are_those_of_the_uniform_cells(ball):
    """Fields that are linear in the merged cells have the forces and masses of the uniform mesh."""
    uniform, graded = (rf.voxelize(ball, 10, order=1), rf.voxelize(ball, 10, graded=rf.Grading()))
    assert graded.levels.max() == 1
    place = {tuple(x): i for i, x in enumerate(np.rint(uniform.nodes * 1e9).astype(int).tolist())}
    # the uniform mesh is a refinement: each of its nodes follows the corners of a graded cell
    P = sparse.lil_matrix((uniform.n_nodes, graded.n_nodes))
    for element, level in zip(graded.elements, graded.levels, strict=True):
        low, high = graded.nodes[element[0]], graded.nodes[element[6]]
        for corner in np.ndindex(*(3 * [2**level + 1])):
            t = np.array(corner) / 2**level
            node = place[tuple(np.rint((low + t * (high - low)) * 1e9).astype(int).tolist())]
            P[node] = 0.0
            P[node, element] = np.where(CORNERS == 1, t, 1.0 - t).prod(axis=1)
    vectors = sparse.identity(3)
    own = sparse.kron(graded.constraints.matrix.to_scipy(), vectors)
    T = (sparse.kron(P, vectors) @ own).tocsr()
    at = (3 * graded.constraints.independent[:, None] + np.arange(3)).ravel()
    fine, coarse = rf.Solid(uniform, LAW), rf.Solid(graded, LAW)
    for name in ("mass", "stiffness"):
        want = (T.T @ getattr(fine, name)().to_scipy() @ T).toarray()
        found = getattr(coarse, name)().to_scipy()[at][:, at].toarray()
        scale = np.abs(want).max()
        rigid = np.tile(np.eye(3), (len(at) // 3, 1))
        assert np.abs((found - want) @ rigid).max() < 1e-12 * scale
        outer = np.abs(found - want).reshape(len(at) // 3, 3, -1, 3).max(axis=(1, 3))
        # nodes away from merged cells have the same rows
        big = np.unique(graded.elements[graded.levels > 0])
        same = ~np.isin(graded.constraints.independent, big)
        assert outer[same][:, same].max() < 1e-12 * scale
    x = 1e-4 * np.random.default_rng(3).normal(size=T.shape[1])
    u = T @ x
    v = own @ x
    energies = fine.strain_energy(u.reshape(-1, 3)), coarse.strain_energy(v.reshape(-1, 3))
    assert energies[1] == pytest.approx(energies[0], rel=0.1)


def test_forces_and_energies_are_derivatives(pair):
    """The ghost penalty of cut cells counts in all of them."""
    solid = rf.Solid(pair[1], LAW)
    fill = pair[1].constraints.fill
    rng = np.random.default_rng(8)
    u, d = (fill(1e-3 * rng.normal(size=(pair[1].n_nodes, 3))) for _ in range(2))
    h = 1e-4
    slope = (solid.strain_energy(u + h * d) - solid.strain_energy(u - h * d)) / (2 * h)
    assert np.sum(solid.internal_force(u) * d) == pytest.approx(slope, rel=1e-6)
    change = (solid.internal_force(u + h * d) - solid.internal_force(u - h * d)) / (2 * h)
    K = solid.stiffness(u).to_scipy()
    np.testing.assert_allclose(
        (K @ d.ravel()).reshape(-1, 3), change, atol=1e-5 * np.abs(change).max()
    )
    basis = rf.modal_derivative_basis(solid, 2, 5)
    q = 1e-2 * rng.normal(size=5)
    moved = np.tensordot(q, basis.vectors, 1)
    want = basis.vectors.reshape(5, -1) @ solid.internal_force(moved).ravel()
    for model in (rf.reduce(solid, basis), rf.ProjectedSolid(solid, basis)):
        found = model.internal_force(q)
        assert np.abs(found - want).max() < 1e-10 * np.abs(want).max()


def test_statics_and_modes_are_near_the_uniform_ones(ball):
    """Also where cells are boxes, flattened along shorter sides."""
    surface = rf.Surface(ball.vertices * [1.0, 0.83, 0.7], ball.triangles)
    results = []
    for graded in (None, rf.Grading()):
        mesh = rf.voxelize(surface, 14, order=1, graded=graded)
        low = mesh.bounds[0, 2]
        held = mesh.nodes[:, 2] < low + 0.15 * np.ptp(mesh.bounds[:, 2])
        solid = rf.Solid(mesh, LAW, fixed=held)
        u = solid.solve_static(0.01 * solid.gravity())
        results.append((np.sum(u * solid.gravity()), solid.linear_modes(3).frequencies))
    assert results[1][0] == pytest.approx(results[0][0], rel=0.02)
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=0.02)


def test_copies_parts_and_files(pair, tmp_path):
    mesh = pair[1]
    for other in (
        pickle.loads(pickle.dumps(mesh)),
        mesh.with_regions(np.zeros(mesh.n_elements, int)),
        rf.join_meshes([mesh]),
        mesh.submesh(np.arange(mesh.n_elements)),
        rf.Mesh.with_constraints(mesh, mesh.constraints),
    ):
        np.testing.assert_array_equal(other.constraints.masters, mesh.constraints.masters)
        np.testing.assert_array_equal(other.fractions, mesh.fractions)
        assert other.volume == pytest.approx(mesh.volume, rel=1e-14)
    solid = rf.Solid(
        mesh, LAW, fixed=mesh.nodes[:, 2] < mesh.bounds[0, 2] + 0.2 * np.ptp(mesh.bounds[:, 2])
    )
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))
    model.save(tmp_path / "model.safetensors")
    again = rf.load(tmp_path / "model.safetensors").mesh
    np.testing.assert_array_equal(again.fractions, mesh.fractions)
    np.testing.assert_array_equal(again.constraints.slaves, mesh.constraints.slaves)


def test_parts_of_two_sizes_without_constraints(pair):
    """Cut cells and the large ones beneath them, which the layer between is missing from."""
    graded = pair[1]
    chosen = (graded.fractions < 1.0) | (graded.levels > 0)
    part = graded.submesh(chosen)
    assert part.constraints is None
    np.testing.assert_array_equal(part.fractions, graded.fractions[chosen])
    solid = rf.Solid(part, rf.StVK(1e5, 0.3, 1000.0))
    assert solid.mass().to_scipy().sum() == pytest.approx(3000 * part.volume, rel=1e-12)
    rotated = part.nodes[:, [1, 2, 0]] - part.nodes
    force = solid.internal_force(rotated)
    stretched = solid.internal_force(0.1 * part.nodes)
    assert np.abs(force).max() < 1e-11 * np.abs(stretched).max()


def test_cut_cells_with_constrained_nodes_are_refused(pair):
    uniform = pair[0]
    cut = int((uniform.fractions < 1.0).argmax())
    a, b = uniform.elements[cut, :2]
    beyond = 2 * uniform.nodes[b] - uniform.nodes[a]
    other = np.flatnonzero(np.abs(uniform.nodes - beyond).max(axis=1) < 1e-9)
    if len(other):
        table = ([int(b)], [0, 2], [int(a), int(other[0])], [0.5, 0.5])
        with pytest.raises(rf.MeshError, match=f"node {b} of the cut element .* is constrained"):
            uniform.with_constraints(table)
    assert len(other)


def test_orders_and_fill(ball):
    with pytest.raises(rf.InputError, match="order must be 1 or None, got 2"):
        rf.voxelize(ball, 12, order=2, graded=rf.Grading())
    skin = rf.voxelize(ball, 12, fill=False, graded=rf.Grading())
    assert (skin.fractions == 1.0).all()
    block = rf.Mesh(*box_hexes(1, 1, 1, (0.1, 0.1, 0.07))).surface()
    mesh = rf.voxelize(block, 10, graded=rf.Grading())
    assert mesh.volume == pytest.approx(7e-4, rel=1e-9)
