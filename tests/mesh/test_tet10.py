"""Tetrahedra of ten nodes: their meshes, tables, embedding, and what is built on them."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from plain_solid import quadratic_shape, rotation, tet_rule
from shapes import TET_EDGES, box_tet10s, box_tets

RUBBER = rf.StVK(1e5, 0.35, 1100.0)
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
STRAIGHT = np.vstack([CORNERS, [CORNERS[list(e)].mean(0) for e in TET_EDGES]])
ONE = [list(range(10))]


def curved(rng: np.random.Generator, n: int = 3, bend: float = 0.06) -> rf.Mesh:
    """A box of curved elements; its surface is curved as well."""
    nodes, elements = box_tet10s(n, n, n)
    nodes = nodes + rng.uniform(-bend, bend, nodes.shape) / n
    return rf.Mesh(nodes, elements)


def jacobian(x: NDArray[np.float64], bary: NDArray[np.float64]) -> float:
    return float(np.linalg.det(quadratic_shape(bary)[1].T @ x))


# --- the rule ------------------------------------------------------------------------


@pytest.mark.parametrize(("points", "degree"), [(4, 2), (14, 5)])
def test_rules_are_exact_up_to_their_degree(points, degree):
    rule = list(tet_rule(points))
    for powers in itertools.product(range(degree + 1), repeat=4):
        if sum(powers) > degree:
            continue
        exact = 6 * math.prod(map(math.factorial, powers)) / math.factorial(sum(powers) + 3)
        assert sum(w * np.prod(b**powers) for b, w in rule) == pytest.approx(exact, rel=1e-14)


# --- meshes --------------------------------------------------------------------------


def test_midpoints_lost_by_rounding_are_refused():
    """Numbers at 1e16 are 2 apart: elements of that size have no place for a middle."""
    nodes, elements = box_tets(1, 1, 1)
    mesh = rf.Mesh(2.0 * nodes + 1e16, elements)
    with pytest.raises(rf.MeshError, match="element 0 is"):
        mesh.quadratic()
    rf.Mesh(4.0 * nodes + 1e16, elements).quadratic()


def test_edges_must_have_one_middle():
    nodes, elements = box_tet10s(1, 1, 1)
    shared = elements[0, 4]
    others = np.argwhere(elements == shared)
    assert len(others) > 1
    doubled = elements.copy()
    doubled[tuple(others[-1])] = len(nodes)
    with pytest.raises(
        rf.MeshError, match=rf"share the edge .* is {shared} in one and {len(nodes)}"
    ):
        rf.Mesh(np.vstack([nodes, nodes[shared]]), doubled)


def test_a_middle_belongs_to_one_edge_and_is_no_corner():
    # two tets that share nothing but what is wrong
    nodes = np.vstack([STRAIGHT, STRAIGHT + np.array([0, 0, 1.0])])
    elements = np.array([range(10), range(10, 20)])
    elements[1, 4] = 4  # the middle of another edge of the first
    kept = np.delete(nodes, 14, axis=0)
    elements[elements > 14] -= 1
    with pytest.raises(rf.MeshError, match="node 4 is the mid-edge node of two edges: between"):
        rf.Mesh(kept, elements)
    elements = np.array([range(10), range(10, 20)])
    elements[1, 4] = 3
    elements[elements > 14] -= 1
    with pytest.raises(
        rf.MeshError, match="node 3 is a mid-edge node of element 1 and a corner of"
    ):
        rf.Mesh(kept, elements)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 2, 1, 3, 6, 5, 4, 7, 9, 8], r"element 0 is inverted .* VTK order \(corners, then"),
        ([0, 1, 2, 3, 7, 8, 9, 4, 5, 6], "element 0 is inverted"),
    ],
)
def test_inverted_elements_are_refused(order, message):
    with pytest.raises(rf.MeshError, match=message):
        rf.Mesh(STRAIGHT, [order])


def test_flat_elements_are_refused():
    with pytest.raises(rf.MeshError, match="element 0 is degenerate"):
        rf.Mesh(STRAIGHT * [1.0, 1.0, 1e-16], ONE)
    with pytest.raises(rf.MeshError, match="volume overflows"):
        rf.Mesh(STRAIGHT * 1e200, ONE)


def test_elements_that_fold_over_anywhere_are_refused(rng):
    """Against the Jacobian on a dense lattice, of elements bent more and more."""
    lattice = [
        np.array([i, j, k, 24 - i - j - k]) / 24
        for i in range(25) for j in range(25 - i) for k in range(25 - i - j)
    ]  # fmt: skip
    slopes = np.array([quadratic_shape(b)[1] for b in lattice])
    accepted, inner = 0, 0
    for _ in range(150):
        x = STRAIGHT.copy()
        x[4:] += rng.uniform(-1, 1, (6, 3)) * rng.uniform(0.1, 0.28)
        j = np.linalg.det(np.einsum("lak,ai->lki", slopes, x))
        corners = [jacobian(x, b) for b in np.eye(4)]
        try:
            rf.Mesh(x, ONE)
        except rf.MeshError:
            # it comes very near to zero somewhere, on the lattice or between its points
            assert j.min() < 0.03
            inner += min(corners) > 0
        else:
            assert j.min() > 0
            accepted += 1
    # both happened, and elements that only fold over between their corners were among them
    assert 20 < accepted < 130
    assert inner > 3


def bent_to_the_limit(rng: np.random.Generator, refused) -> tuple[NDArray, NDArray, float]:
    """Return a straight element, a direction for its middles and how far they can be moved."""
    bend = np.zeros((10, 3))
    bend[4:] = rng.standard_normal((6, 3))
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if refused(STRAIGHT + middle * bend) else (middle, high)
    return STRAIGHT, bend, low


def is_refused(x: NDArray) -> bool:
    try:
        rf.Mesh(x, ONE)
    except rf.MeshError:
        return True
    return False


def test_folds_are_found_in_every_part_of_an_element(rng):
    """Elements that fold over in a small part, with their corners in each of the twelve orders."""
    lattice = np.array([
        [i, j, k, 24 - i - j - k]
        for i in range(25) for j in range(25 - i) for k in range(25 - i - j)
    ]) / 24  # fmt: skip
    slopes = np.array([quadratic_shape(b)[1] for b in lattice])

    def least(x):
        return np.linalg.det(np.einsum("lak,ai->lki", slopes, x)).min()

    orders = []
    for order in itertools.permutations(range(4)):
        edges = [TET_EDGES.index(tuple(sorted((order[a], order[b])))) for a, b in TET_EDGES]
        orders.append([*order, *(4 + e for e in edges)])
    turned = [order for order in orders if not is_refused(STRAIGHT[order])]
    assert len(turned) == 12
    inner = 0
    for _ in range(60):
        x, bend, most = bent_to_the_limit(rng, lambda x: least(x) < 0)
        folded, sound = x + 1.02 * most * bend, x + 0.9 * most * bend
        inner += min(jacobian(folded, b) for b in np.eye(4)) > 0
        assert all(is_refused(folded[order]) for order in turned)
        assert not any(is_refused(sound[order]) for order in turned)
    assert inner > 5  # folded between their corners only
    # near the middle of a face only, a hundredth of the lattice or less
    x = STRAIGHT.copy()
    x[4:] += [
        [0.101, -0.086, 0.275], [-0.169, -0.071, -0.147], [-0.016, 0.165, 0.198],
        [0.071, -0.093, -0.085], [-0.092, 0.146, -0.138], [0.132, -0.005, 0.026],
    ]  # fmt: skip
    folds = lattice[np.linalg.det(np.einsum("lak,ai->lki", slopes, x)) < 0]
    assert 0 < len(folds) < 0.01 * len(lattice)
    assert folds.max() < 0.6
    assert all(is_refused(x[order]) for order in turned)


def test_volume_of_curved_elements_is_that_of_their_jacobian(rng):
    mesh = curved(rng)
    expected = [
        sum(w * jacobian(x, b) / 6 for b, w in tet_rule(14)) for x in mesh.nodes[mesh.elements]
    ]
    np.testing.assert_allclose(mesh.element_volumes, expected, rtol=1e-13)
    for quadrature in (2, 3):
        solid = rf.Solid(mesh, RUBBER, quadrature=quadrature)
        assert solid.volume == pytest.approx(mesh.volume, rel=1e-13)
        assert solid.total_mass == pytest.approx(RUBBER.density * mesh.volume, rel=1e-13)


def test_boundary_faces_hold_their_middles():
    mesh = rf.Mesh(*box_tet10s(2, 2, 2))
    faces = mesh.boundary_faces
    assert faces.shape == (2 * 4 * 6, 6)
    for k, (a, b) in enumerate(((0, 1), (1, 2), (2, 0)), 3):
        middle = 0.5 * (mesh.nodes[faces[:, a]] + mesh.nodes[faces[:, b]])
        np.testing.assert_allclose(mesh.nodes[faces[:, k]], middle, atol=1e-15)
    x = mesh.nodes[faces]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    assert (np.einsum("fi,fi->f", normal, x.mean(1) - 0.5) > 0).all()  # outwards


def test_veg_files_cannot_hold_ten_nodes(tmp_path):
    with pytest.raises(rf.FileFormatError, match="cannot hold elements of 10 nodes"):
        rf.Mesh(STRAIGHT, ONE).write(tmp_path / "m.veg")
    assert list(tmp_path.iterdir()) == []


# --- mass and energy -----------------------------------------------------------------


@pytest.mark.parametrize("quadrature", [2, 3])
def test_mass_of_a_straight_element(quadrature):
    """Integrals of products of barycentric polynomials in closed form."""

    def integral(*powers):
        return math.prod(map(math.factorial, powers)) / math.factorial(sum(powers) + 3)

    polynomials = []
    for a in range(4):
        one, two = [0] * 4, [0] * 4
        one[a], two[a] = 1, 2
        polynomials.append([(2.0, two), (-1.0, one)])
    for a, b in TET_EDGES:
        both = [0] * 4
        both[a] = both[b] = 1
        polynomials.append([(4.0, both)])
    exact = np.array(
        [
            [sum(c * d * integral(*np.add(p, q)) for c, p in f for d, q in g) for g in polynomials]
            for f in polynomials
        ]
    )
    solid = rf.Solid(rf.Mesh(STRAIGHT, ONE), RUBBER, quadrature=quadrature)
    mass = solid.mass().to_dense()[::3, ::3]
    np.testing.assert_allclose(mass, RUBBER.density * exact, atol=1e-15 * mass.max())
    # a thirty-sixth of the mass on corners, 4/27 on edges: Hinton, Rock and Zienkiewicz 1976
    lumped = np.diag(solid.mass(lumped=True).to_dense())[::3]
    shares = np.r_[np.full(4, 1 / 36), np.full(6, 4 / 27)]
    np.testing.assert_allclose(lumped, RUBBER.density / 6 * shares, rtol=1e-13)


def test_energy_of_straight_elements_is_exact_with_14_points(rng):
    """W is quartic in place: Gauss points on the cube collapsed to the tetrahedron are exact."""
    x = rotation([1, 2, 3], 0.7) @ (CORNERS * [1.0, 1.3, 0.8]).T
    x = np.vstack([x.T, [x.T[list(e)].mean(0) for e in TET_EDGES]])
    u = 0.2 * rng.standard_normal((10, 3))
    lam, mu = RUBBER.lame
    points, weights = np.polynomial.legendre.leggauss(6)
    points, weights = (points + 1) / 2, weights / 2
    exact = 0.0
    for (r, wr), (s, ws), (t, wt) in itertools.product(zip(points, weights, strict=True), repeat=3):
        l1, l2, l3 = r, s * (1 - r), t * (1 - r) * (1 - s)
        weight = wr * ws * wt * (1 - r) ** 2 * (1 - s)
        local = quadratic_shape(np.array([1 - l1 - l2 - l3, l1, l2, l3]))[1]
        J = local.T @ x
        F = np.eye(3) + u.T @ local @ np.linalg.inv(J).T
        E = 0.5 * (F.T @ F - np.eye(3))
        exact += weight * np.linalg.det(J) * (lam / 2 * np.trace(E) ** 2 + mu * (E * E).sum())
    mesh = rf.Mesh(x, ONE)
    assert rf.Solid(mesh, RUBBER, quadrature=3).strain_energy(u) == pytest.approx(exact, rel=1e-12)
    # four points are not, but for small displacements
    four = rf.Solid(mesh, RUBBER)
    assert four.strain_energy(u) != pytest.approx(exact, rel=1e-3)
    assert 1e12 * four.strain_energy(1e-6 * u) == pytest.approx(
        1e12 * rf.Solid(mesh, RUBBER, quadrature=3).strain_energy(1e-6 * u), rel=1e-4
    )


def test_settings_are_kept():
    mesh = rf.Mesh(*box_tet10s(1, 1, 1))
    assert rf.Solid(mesh, RUBBER).quadrature == 2
    solid = rf.Solid(mesh, RUBBER, fixed=[0, 1, 2], quadrature=3)
    assert pickle.loads(pickle.dumps(solid)).quadrature == 3
    assert (solid._core.n_gauss, rf.Solid(mesh, RUBBER)._core.n_gauss) == (14, 4)


# --- embedding -----------------------------------------------------------------------


def test_weights_are_shape_functions_at_known_places(rng):
    for _ in range(20):
        x = STRAIGHT.copy()
        x[4:] += rng.uniform(-0.08, 0.08, (6, 3))
        bary = rng.dirichlet(np.ones(4), 50)
        bary[:4] = np.eye(4)
        shape = np.array([quadratic_shape(b)[0] for b in bary])
        e = rf.Embedding(rf.Mesh(x, ONE), shape @ x)
        assert not e.outside.any()
        np.testing.assert_allclose(e.weights, shape, atol=1e-11)


def test_places_in_strongly_curved_elements_are_found(rng):
    """Also where the map of the element reaches a point from outside the element as well."""
    for _ in range(60):
        x, bend, most = bent_to_the_limit(rng, is_refused)
        x = x + 0.9 * most * bend
        bary = rng.dirichlet(np.ones(4), 80)
        for k in range(4):
            bary[10 * k : 10 * k + 10, k] = 0.0  # on the faces
        bary /= bary.sum(axis=1, keepdims=True)
        shape = np.array([quadratic_shape(b)[0] for b in bary])
        e = rf.Embedding(rf.Mesh(x, ONE), shape @ x)
        assert not e.outside.any()
        # rounding, magnified where the Jacobian is a tenth of the straight element's
        np.testing.assert_allclose(e.weights, shape, atol=1e-10)


def test_distance_to_curved_faces(rng):
    """Against dense samples of the faces of one element."""
    x = STRAIGHT.copy()
    x[4:] += rng.uniform(-0.08, 0.08, (6, 3))
    mesh = rf.Mesh(x, ONE)
    n = 60
    samples = []
    for a, b, c in itertools.combinations(range(4), 3):
        for i in range(n + 1):
            for k in range(n + 1 - i):
                bary = np.zeros(4)
                bary[[a, b, c]] = i / n, k / n, 1 - (i + k) / n
                samples.append(quadratic_shape(bary)[0] @ x)
    samples = np.array(samples)
    points = rng.uniform(-0.5, 1.5, (300, 3))
    e = rf.Embedding(mesh, points)
    nearest = np.sqrt(((points[:, None] - samples) ** 2).sum(-1).min(1))
    out = e.outside
    assert out.sum() > 100
    assert (e.distance[out] <= nearest[out] + 1e-12).all()
    # some place of the surface is no further than 1/60 of an edge, along it, from a sample
    assert (
        e.distance[out] >= np.sqrt(np.maximum(nearest[out] ** 2 - (1.2 / n) ** 2, 0)) - 1e-3
    ).all()
