"""Modes, derivatives and bases of solids without fixed nodes (Barbic 2007, section 2.8.7).

The oracle is the whole spectrum by LAPACK: in eigenvectors, the singular systems of the
derivatives are diagonal.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import reducedfem as rf
from failures import fail_each_allocation
from shapes import ball, box_hexes, box_tets, cylinder, solid_box, torus

RUBBER = rf.StVK(2e6, 0.4, 1100.0)

# mesh, modes (cutting no repeated eigenvalue), sizes of its first repeated eigenvalues
SHAPES = {
    "brick": (box_hexes(5, 3, 2, (0.5, 0.33, 0.2)), 7, {1}),
    "tets": (box_tets(3, 2, 2, (0.5, 0.3, 0.2)), 6, {1}),
    "cube": (box_hexes(4, 4, 4, 0.3), 8, {2, 3}),
    "cylinder": (cylinder(4, 4, 0.1, 0.35), 9, {1, 2}),
    "sphere": (ball(4, 0.2), 14, {2, 3}),
    "torus": (torus(2, 12, 0.3, 0.12), 10, {2}),
}
GAP = 1e-6


def spectrum(solid):
    """Dense M, eigenvalues and eigenvectors (columns) of K x = lambda M x."""
    mass = solid.mass().to_scipy().toarray()
    values, vectors = scipy.linalg.eigh(solid.stiffness().to_scipy().toarray(), mass)
    values[:6] = 0.0
    return mass, values, vectors


@pytest.fixture(scope="module", params=list(SHAPES))
def case(request):
    (nodes, elements), k, clusters = SHAPES[request.param]
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    return solid, k, clusters, spectrum(solid)


def flat(fields):
    return fields.reshape(len(fields), -1)


def test_elastic_modes_are_those_of_a_dense_solver(case):
    solid, k, clusters, (mass, values, vectors) = case
    modes = solid.linear_modes(k)
    # LAPACK's error: eps times the largest eigenvalue
    np.testing.assert_allclose(
        modes.eigenvalues, values[6 : 6 + k], atol=1e-14 * values[-1], rtol=1e-10
    )
    shapes = flat(modes.shapes)
    np.testing.assert_allclose(shapes @ mass @ shapes.T, np.eye(k), atol=1e-12)
    # each lies in the space of its eigenvalue
    for value, shape in zip(modes.eigenvalues, shapes, strict=True):
        space = vectors[:, np.abs(values - value) < GAP * value]
        assert np.linalg.norm(space.T @ mass @ shape) == pytest.approx(1.0, abs=1e-7)
    # the shape has repeated eigenvalues
    sizes = {int((np.abs(values - v) < GAP * v).sum()) for v in modes.eigenvalues}
    assert clusters <= sizes


def test_rigid_modes_come_first_on_request(case):
    solid, k, _, (mass, _, _) = case
    modes = solid.linear_modes(k, rigid=True)
    assert len(modes) == 6 + k
    np.testing.assert_array_equal(modes.frequencies[:6], 0.0)
    np.testing.assert_array_equal(modes.shapes[6:], solid.linear_modes(k).shapes)
    shapes = flat(modes.shapes)
    np.testing.assert_allclose(shapes @ mass @ shapes.T, np.eye(6 + k), atol=1e-12)
    # translations along the axes, then turns without any strain
    n = solid.mesh.n_nodes
    for axis in range(3):
        np.testing.assert_allclose(
            modes.shapes[axis], np.eye(3)[axis] * np.ones((n, 1)) / np.sqrt(solid.total_mass)
        )
    stiffness = solid.stiffness().to_scipy()
    force = np.abs(stiffness @ shapes[:6].T).max()
    assert force < 1e-12 * np.abs(stiffness.data).max() * np.abs(shapes[:6]).max()
    # of a held solid there are none
    held = rf.Solid(solid.mesh, RUBBER, fixed=solid.mesh.elements[0])
    assert len(held.linear_modes(2, rigid=True)) == 2


def expected_derivatives(solid, modes, whole):
    """Phi_ij = sum over s of psi_s (psi_s^T b_ij) / (lambda_s - lambda_i), b = -(H:psi_j)psi_i."""
    _, values, vectors = whole
    k = len(modes)
    out = np.empty((k, k, len(vectors)))
    for i, value in enumerate(modes.eigenvalues):
        other = np.abs(values - value) > GAP * value
        for j in range(k):
            load = -solid.hessian_product(modes.shapes[j], modes.shapes[i]).ravel()
            part = vectors[:, other].T @ load / (values[other] - value)
            out[i, j] = vectors[:, other] @ part
    return out


def test_derivatives_are_those_of_the_whole_spectrum(case):
    solid, k, _, whole = case
    modes = solid.linear_modes(k)
    found = solid.modal_derivatives(modes)
    assert found.shape == (k * k, solid.mesh.n_nodes, 3)
    expected = expected_derivatives(solid, modes, whole)
    scale = np.abs(expected).max()
    # the dense eigenvectors are good to eps times lambda_max over the gaps; 1e-9 measured
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=3e-8 * scale)


def test_derivatives_solve_their_equation_and_are_orthogonal(case):
    solid, k, _, (mass, values, _) = case
    modes = solid.linear_modes(k)
    found = solid.modal_derivatives(modes).reshape(k, k, -1)
    stiffness = solid.stiffness().to_scipy()
    shapes = flat(modes.shapes)
    asymmetric = 0.0
    for i, value in enumerate(modes.eigenvalues):
        same = np.abs(modes.eigenvalues - value) < GAP * value
        assert same.sum() == (np.abs(values - value) < GAP * value).sum()  # the space is whole
        for j in range(k):
            load = solid.hessian_product(modes.shapes[j], modes.shapes[i]).ravel()
            right = mass @ shapes[same].T @ (shapes[same] @ load) - load
            left = stiffness @ found[i, j] - value * (mass @ found[i, j])
            # found is good to 1e-12 of itself; the stiffness matrix magnifies its rounding
            np.testing.assert_allclose(left, right, atol=1e-8 * np.abs(load).max())
            size = np.sqrt(found[i, j] @ mass @ found[i, j])
            assert np.abs(shapes[same] @ mass @ found[i, j]).max() <= 1e-11 * max(size, 1e-30)
            asymmetric = max(asymmetric, np.abs(found[i, j] - found[j, i]).max())
    assert asymmetric > 1e-3 * np.abs(found).max()  # kept inertia makes phi_ij differ from phi_ji


def test_a_repeated_eigenvalue_cut_by_k_is_found_whole():
    """The first eigenvalue of a cube is double: one mode alone gives the same derivative."""
    solid = solid_box((4, 4, 4), 0.3, RUBBER, held=None)
    both, one = solid.linear_modes(2), solid.linear_modes(1)
    np.testing.assert_allclose(one.shapes[0], both.shapes[0], atol=1e-9)
    alone = solid.modal_derivatives(one)[0]
    together = solid.modal_derivatives(both)[0]
    np.testing.assert_allclose(alone, together, atol=1e-8 * np.abs(together).max())


def test_derivatives_of_nearly_all_modes():
    """So few unknowns that no extra modes are left, or nothing beyond the known ones."""
    solid = solid_box((1, 1, 1), (0.2, 0.3, 0.5), RUBBER, held=None)
    whole = spectrum(solid)
    most = 3 * 8 - 6 - 1
    modes = solid.linear_modes(most)
    found = solid.modal_derivatives(modes).reshape(most, most, -1)
    expected = expected_derivatives(solid, modes, whole)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
    with pytest.raises(rf.InputError, match=f"between 1 and {most}"):
        solid.linear_modes(most + 1)


def test_bits_do_not_depend_on_threads(set_threads):
    solid = solid_box((7, 5, 4), (0.7, 0.45, 0.3), RUBBER, held=None)
    found = []
    for threads in (1, 3):
        set_threads(threads)
        modes = solid.linear_modes(9)
        found.append((modes.shapes, solid.modal_derivatives(modes)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_basis_deforms_without_moving_the_whole():
    solid = solid_box((8, 3, 2), (0.8, 0.27, 0.2), RUBBER, held=None)
    basis = rf.modal_derivative_basis(solid, k=6, r=15)
    mass = solid.mass().to_scipy()
    u = basis.matrix
    np.testing.assert_allclose(u.T @ (mass @ u), np.eye(15), atol=1e-12)
    rigid = flat(solid.linear_modes(1, rigid=True).shapes[:6])
    np.testing.assert_allclose(rigid @ (mass @ u), 0.0, atol=1e-12)
    # the candidates span it: modes and derivatives without their rigid parts
    modes = solid.linear_modes(6)
    derivatives = flat(solid.modal_derivatives(modes))
    derivatives = derivatives - (derivatives @ (mass @ rigid.T)) @ rigid
    everything = np.vstack([flat(modes.shapes), derivatives])
    loss = u - everything.T @ np.linalg.lstsq(everything.T, u, rcond=None)[0]
    assert np.abs(loss).max() < 1e-8 * np.abs(u).max()
    # and there are k k of them
    with pytest.raises(rf.InputError, match="rank|between 1 and 42"):
        rf.modal_derivative_basis(solid, k=6, r=43)
    reduced = rf.reduce(solid, basis)
    assert np.linalg.eigvalsh(reduced.stiffness(np.zeros(15)))[0] > 0


def brick():
    nodes, elements = box_hexes(3, 2, 2, (0.3, 0.2, 0.21))
    return nodes, elements


def test_meshes_of_several_pieces_are_refused():
    nodes, elements = brick()
    two = rf.Mesh(np.vstack([nodes, nodes + 1.0]), np.vstack([elements, elements + len(nodes)]))
    with pytest.raises(rf.MeshError, match="one piece; this mesh has 2 .*elements 0 and 12"):
        rf.Solid(two, RUBBER).linear_modes(2)
    # two cubes that share an edge swing about it
    cells, cubes = box_hexes(2, 2, 1, (2.0, 2.0, 1.0))
    hinged = rf.Mesh(cells, cubes[[0, 3]], drop_unreferenced=True)
    with pytest.raises(rf.MeshError, match="by an edge or by single nodes"):
        rf.Solid(hinged, RUBBER).linear_modes(2)
    # held at a point it is neither free nor held
    with pytest.raises(rf.MeshError, match="1 fixed node"):
        rf.Solid(rf.Mesh(nodes, elements), RUBBER, fixed=[0]).linear_modes(2)


def test_modes_other_than_the_lowest_are_refused(rng):
    solid = rf.Solid(rf.Mesh(*brick()), RUBBER)
    modes = solid.linear_modes(4, rigid=True)
    with pytest.raises(rf.InputError, match="mode 0 moves the solid rigidly"):
        solid.modal_derivatives(modes)
    with pytest.raises(rf.InputError, match="leave out a lower one"):
        solid.modal_derivatives(modes.shapes[7:])
    mixed = (modes.shapes[6:7] + modes.shapes[7:8]) / np.sqrt(2.0)
    with pytest.raises(rf.InputError, match="mode 0 is not an elastic mode"):
        solid.modal_derivatives(mixed)
    with pytest.raises(rf.InputError, match="modes 0 and 0 have the mass product 4"):
        solid.modal_derivatives(2.0 * modes.shapes[6:])
    noise = rng.standard_normal((2, solid.mesh.n_nodes, 3))
    with pytest.raises(rf.InputError, match="mass product"):
        solid.modal_derivatives(noise)


def test_statics_need_supports():
    solid = rf.Solid(rf.Mesh(*brick()), RUBBER)
    with pytest.raises(rf.MeshError, match="no fixed nodes"):
        solid.solve_static(np.zeros((solid.mesh.n_nodes, 3)))


def test_a_stop_leaves_the_solid_usable():
    solid = solid_box((9, 6, 5), (0.9, 0.6, 0.5), RUBBER, held=None)
    modes = solid.linear_modes(8)

    def stop(done, total):
        assert 0 <= done <= total
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solid.modal_derivatives(modes, progress=stop)
    assert np.isfinite(solid.modal_derivatives(modes)).all()


def test_rigid_body_of_a_brick():
    """Mass, centre and moments of a box in closed form, off the origin."""
    a, b, c = 0.3, 0.2, 0.5
    nodes, elements = box_hexes(3, 2, 4, (a, b, c))
    solid = rf.Solid(rf.Mesh(nodes + np.array([1.0, -2.0, 3.0]), elements), RUBBER)
    body = solid.rigid_body
    m = RUBBER.density * a * b * c
    assert body.mass == pytest.approx(m, rel=1e-13)
    np.testing.assert_allclose(body.centre, [1.15, -1.9, 3.25], rtol=1e-13)
    moments = m / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    np.testing.assert_allclose(body.inertia, np.diag(moments), atol=1e-13 * moments.max())


def test_allocation_failures_are_reported_one_by_one():
    solid = rf.Solid(rf.Mesh(*brick()), RUBBER)
    modes = solid.linear_modes(3)
    fail_each_allocation(lambda: solid.modal_derivatives(modes), more_than=20)
