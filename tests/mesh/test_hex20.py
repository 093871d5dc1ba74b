"""Hexahedra of 20 nodes: their meshes, tables, embedding, and what is built on them."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from plain_solid import (
    HEX20_NODES,
    INTERPOLATION,
    POWERS,
    gauss,
    hex20_shape,
    monomials,
    shape_points,
)
from shapes import box_hex20s

RUBBER = rf.StVK(1e5, 0.35, 1100.0)
ONE = [list(range(20))]


def curved(rng: np.random.Generator, n: int = 3, bend: float = 0.05) -> rf.Mesh:
    """A box of curved elements; its surface is curved as well."""
    nodes, elements = box_hex20s(n, n, n)
    return rf.Mesh(nodes + rng.uniform(-bend, bend, nodes.shape) / n, elements)


def jacobians(x: NDArray, places: NDArray) -> NDArray:
    slopes = np.array([hex20_shape(xi)[1] for xi in places])
    return np.linalg.det(np.einsum("lak,ai->lki", slopes, x))


def is_refused(x: NDArray) -> bool:
    try:
        rf.Mesh(x, ONE)
    except rf.MeshError:
        return True
    return False


# --- meshes --------------------------------------------------------------------------


def test_edges_have_one_middle_that_is_no_corner():
    nodes, elements = box_hex20s(2, 1, 1)
    shared = np.intersect1d(elements[0, 8:], elements[1, 8:])
    other = elements.copy()
    other[1][other[1] == shared[0]] = len(nodes)
    with pytest.raises(rf.MeshError, match=r"elements 0 and 1 share the edge .* merge them"):
        rf.Mesh(np.vstack([nodes, nodes[shared[0]]]), other)
    swapped = elements.copy()
    swapped[0, [1, 8]] = swapped[0, [8, 1]]
    with pytest.raises(rf.MeshError, match="01 12 23 30 45 56 67 74 04 15 26 37"):
        rf.Mesh(nodes, swapped)


@pytest.mark.parametrize(
    "order",
    [
        [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11, 16, 17, 18, 19],  # mirrored
        [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],  # vertical edges before the upper ones
        [*range(8), 9, 8, *range(10, 20)],
    ],
)
def test_other_orders_are_refused(order):
    with pytest.raises(rf.MeshError, match="element 0 is inverted .* VTK order"):
        rf.Mesh(HEX20_NODES[order], ONE)


def test_flat_and_overflowing_elements_are_refused():
    with pytest.raises(rf.MeshError, match="element 0 is degenerate"):
        rf.Mesh(HEX20_NODES * [1.0, 1.0, 1e-16], ONE)
    with pytest.raises(rf.MeshError, match="volume overflows"):
        rf.Mesh(HEX20_NODES * 1e200, ONE)


def test_elements_that_fold_over_anywhere_are_refused(rng):
    """Against the Jacobian on a dense lattice, of elements bent more and more."""
    lattice = np.array(list(itertools.product(np.linspace(-1, 1, 15), repeat=3)))
    slopes = np.array([hex20_shape(xi)[1] for xi in lattice])
    sampled = [*HEX20_NODES[:8], *(xi for n in (2, 3) for xi, _ in gauss(n))]
    accepted, hidden = 0, 0
    for _ in range(250):
        x = HEX20_NODES + rng.uniform(-1, 1, (20, 3)) * rng.uniform(0.1, 0.6)
        least = np.linalg.det(np.einsum("lak,ai->lki", slopes, x)).min()
        if is_refused(x):
            # it comes very near to zero somewhere, on the lattice or between its points
            assert least < 0.03
            hidden += jacobians(x, sampled).min() > 0
        else:
            assert least > 0
            accepted += 1
    # both happened, and some folded only where eight nodes would not be checked
    assert 20 < accepted < 230
    assert hidden > 0


def test_volume_of_curved_elements_is_that_of_their_jacobian(rng):
    mesh = curved(rng)
    expected = [
        sum(w * np.linalg.det(hex20_shape(xi)[1].T @ x) for xi, w in gauss(4))
        for x in mesh.nodes[mesh.elements]
    ]
    np.testing.assert_allclose(mesh.element_volumes, expected, rtol=1e-12)
    solid = rf.Solid(mesh, RUBBER)
    assert solid.volume == pytest.approx(sum(expected), rel=1e-12)
    # its faces are curved: the surface of flat triangles comes near
    assert mesh.surface().volume == pytest.approx(mesh.volume, rel=0.05)


def test_boundary_faces_hold_their_middles():
    mesh = rf.Mesh(*box_hex20s(2, 3, 1))
    faces = mesh.boundary_faces
    assert faces.shape == (2 * (6 + 3 + 2), 8)
    for k in range(4):
        ends = mesh.nodes[faces[:, [k, (k + 1) % 4]]]
        np.testing.assert_allclose(mesh.nodes[faces[:, 4 + k]], ends.mean(axis=1), atol=1e-15)


# --- files ---------------------------------------------------------------------------

# nodes of an element in the order of the formats' manuals, by their places in VTK's
GMSH = [*range(8), 8, 11, 16, 9, 17, 10, 18, 19, 12, 15, 13, 14]
NASTRAN = [*range(12), 16, 17, 18, 19, 12, 13, 14, 15]


def test_gmsh_and_abaqus_files_have_the_order_of_their_manuals(tmp_path):
    """Node k of the mesh is node k + 1 of the file, which is searched for the element."""
    mesh = rf.Mesh(HEX20_NODES, ONE)
    mesh.write(tmp_path / "m.msh")
    element = np.array([k + 1 for k in GMSH], dtype=np.int32)
    assert element.tobytes() in (tmp_path / "m.msh").read_bytes()
    mesh.write(tmp_path / "m.inp")
    words = (tmp_path / "m.inp").read_text().replace(",", " ").split()
    expected = [str(k + 1) for k in range(20)]
    assert any(words[i : i + 20] == expected for i in range(len(words) - 19))


def test_nastran_files_are_read_in_their_order(tmp_path):
    grid = [f"GRID,{k},,{x},{y},{z}" for k, (x, y, z) in enumerate(HEX20_NODES, 1)]
    numbers = [str(k + 1) for k in NASTRAN]
    cells = ["CHEXA,1,1," + ",".join(numbers[:6]) + ",+"]
    cells += ["+," + ",".join(numbers[6:14]) + ",+", "+," + ",".join(numbers[14:])]
    (tmp_path / "m.bdf").write_text("\n".join(["BEGIN BULK", *grid, *cells, "ENDDATA", ""]))
    mesh = rf.read_mesh(tmp_path / "m.bdf")
    np.testing.assert_array_equal(mesh.nodes[mesh.elements[0]], HEX20_NODES)


@pytest.mark.parametrize("suffix", [".veg", ".med", ".exo", ".mesh", ".ele"])
def test_formats_without_20_nodes_are_refused(suffix, tmp_path):
    with pytest.raises(rf.FileFormatError, match="cannot (hold|write)"):
        rf.Mesh(HEX20_NODES, ONE).write(tmp_path / f"m{suffix}")
    assert list(tmp_path.iterdir()) == []


# --- mass, stiffness and energy ------------------------------------------------------


@pytest.mark.parametrize("quadrature", [3, 4])
def test_mass_of_a_box_is_exact(quadrature):
    """By the integrals of monomials: int x^p = 2 / (p + 1) for even p, else 0."""
    mesh = rf.Mesh(HEX20_NODES * [0.5, 0.2, 0.1], ONE)
    powers = POWERS[:, None] + POWERS[None, :]
    gram = np.where(powers % 2 == 0, 2.0 / (powers + 1), 0.0).prod(2)
    expected = 0.01 * RUBBER.density * INTERPOLATION.T @ gram @ INTERPOLATION
    solid = rf.Solid(mesh, RUBBER, quadrature=quadrature)
    mass = solid.mass().to_dense()[::3, ::3]
    np.testing.assert_allclose(mass, expected, atol=1e-14 * expected.max())
    lumped = solid.mass(lumped=True).to_dense()[::3, ::3]
    diagonal = np.diag(expected)
    np.testing.assert_allclose(
        np.diag(lumped), expected.sum() * diagonal / diagonal.sum(), rtol=1e-12
    )


def stiffness_modes(points: int) -> int:
    """Number of motions of one cube without stiffness, by the formulas."""
    rows = []
    for _, g, w in shape_points(HEX20_NODES, points):
        for i, j in itertools.product(range(3), repeat=2):
            row = np.zeros((20, 3))
            row[:, i] += g[:, j]
            row[:, j] += g[:, i]
            rows.append(np.sqrt(w) * row.ravel())
    return 60 - int(np.linalg.matrix_rank(np.array(rows), tol=1e-9))


def test_only_rigid_motions_have_no_stiffness():
    assert stiffness_modes(2) == 12
    assert stiffness_modes(3) == 6
    solid = rf.Solid(rf.Mesh(HEX20_NODES, ONE), RUBBER)
    values = np.linalg.eigvalsh(solid.stiffness().to_dense())
    assert (np.abs(values[:6]) < 1e-12 * values[-1]).all()
    assert values[6] > 1e-3 * values[-1]


def test_settings_are_kept():
    mesh = rf.Mesh(*box_hex20s(1, 1, 1))
    solid = rf.Solid(mesh, RUBBER, fixed=[0, 1, 2], quadrature=4)
    assert pickle.loads(pickle.dumps(solid)).quadrature == 4
    assert (solid._core.n_gauss, rf.Solid(mesh, RUBBER)._core.n_gauss) == (64, 27)
    assert rf.Solid(mesh, RUBBER).quadrature == 3
    with pytest.raises(rf.InputError, match="quadrature must be 3 or 4 .* leaves motions"):
        rf.Solid(mesh, RUBBER, quadrature=2)


def test_stiffness_at_rest_of_a_box_is_exact_with_27_points(rng):
    """The energy of large displacements is of degree eight in each coordinate, and is not."""
    nodes, elements = box_hex20s(2, 2, 2, 0.1)
    usual, more = (rf.Solid(rf.Mesh(nodes, elements), RUBBER, quadrature=n) for n in (3, 4))
    K = usual.stiffness().to_dense()
    np.testing.assert_allclose(K, more.stiffness().to_dense(), atol=1e-13 * K.max())
    u = 0.15 * 0.05 * rng.standard_normal(nodes.shape)
    exact = 0.0
    lam, mu = RUBBER.lame
    for element in elements:
        for _, g, w in shape_points(nodes[element], 5):
            F = np.eye(3) + u[element].T @ g
            E = 0.5 * (F.T @ F - np.eye(3))
            exact += w * (0.5 * lam * np.trace(E) ** 2 + mu * (E * E).sum())
    assert usual.strain_energy(u) == pytest.approx(exact, rel=0.1)
    assert abs(more.strain_energy(u) / exact - 1) < 0.3 * abs(usual.strain_energy(u) / exact - 1)


# --- embedding -----------------------------------------------------------------------


@pytest.mark.parametrize("bend", [0.0, 0.2])
def test_weights_are_shape_functions_at_known_places(bend, rng):
    for _ in range(20):
        x = HEX20_NODES + bend * rng.uniform(-1, 1, (20, 3))
        if is_refused(x):
            continue
        xi = rng.uniform(-1, 1, (60, 3))
        xi[:20] = HEX20_NODES
        xi[20:30, 0] = 1.0
        shape = np.array([hex20_shape(p)[0] for p in xi])
        e = rf.Embedding(rf.Mesh(x, ONE), shape @ x)
        assert not e.outside.any()
        np.testing.assert_allclose(e.weights, shape, atol=1e-9)


def test_boxes_of_curved_elements_hold_them(rng):
    """A bulge reaches beyond all nodes of the element; what lies in it is inside."""
    x = HEX20_NODES.copy()
    x[[12, 13, 14, 15], 2] += 0.4  # the middle of the upper face rises by 0.8
    mesh = rf.Mesh(x, ONE)
    xi = np.column_stack([rng.uniform(-0.5, 0.5, (100, 2)), np.full(100, 0.999)])
    points = np.array([hex20_shape(p)[0] for p in xi]) @ x
    assert points[:, 2].max() > x[:, 2].max() + 0.2
    assert not rf.Embedding(mesh, points).outside.any()


def test_distance_to_curved_faces(rng):
    """Against dense samples of the faces of one element."""
    x = HEX20_NODES + 0.15 * rng.uniform(-1, 1, (20, 3))
    side = np.linspace(-1, 1, 41)
    samples = []
    for axis, value in itertools.product(range(3), (-1.0, 1.0)):
        for pair in itertools.product(side, repeat=2):
            samples.append(hex20_shape(np.insert(pair, axis, value))[0] @ x)
    samples = np.array(samples)
    points = rng.uniform(-2, 2, (300, 3))
    e = rf.Embedding(rf.Mesh(x, ONE), points)
    nearest = np.sqrt(((points[:, None] - samples) ** 2).sum(-1).min(1))
    out = e.outside
    assert out.sum() > 100
    assert (e.distance[out] <= nearest[out] + 1e-12).all()
    # some place of the surface is no further than half a diagonal of the lattice from a sample
    assert (e.distance[out] >= np.sqrt(np.maximum(nearest[out] ** 2 - 0.06**2, 0)) - 1e-3).all()


def test_monomials_of_the_reference_are_right(rng):
    """The oracle's own derivatives, by finite differences."""
    xi = rng.uniform(-1, 1, 3)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        slope = (monomials(xi + step)[0] - monomials(xi - step)[0]) / 2e-6
        np.testing.assert_allclose(monomials(xi)[1][:, k], slope, atol=1e-8)
