"""Cells that a surface cuts: their filled parts, their quadrature, the meshes they make."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import reducedfem as rf
from plain_solid import rotation
from reducedfem import _core, samples
from shapes import box, sphere

MOMENTS = {1: 27, 2: 72}


def rule_by_element(mesh):
    """Return the points and weights of every cut element."""
    counts, points, weights, _ = mesh._rule()
    ends = np.cumsum(counts)
    return {
        e: (points[ends[e] - counts[e] : ends[e]], weights[ends[e] - counts[e] : ends[e]])
        for e in np.flatnonzero(counts)
    }


def powers(order):
    """Return the exponents of the polynomials that rules of an order integrate."""
    return [
        p for p in itertools.product(range(2 * order + 1), repeat=3) if order == 1 or sum(p) <= 6
    ]


# --- filled parts --------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_boxes_along_sub_cells_are_integrated_exactly(order):
    # h = 0.16: the faces of the box lie an eighth of a cell beyond faces of cells
    mesh = rf.voxelize(box([0, 0, 0], [1, 1, 1]), 8, expand=1.28, order=order)
    assert mesh.n_elements == 8**3
    assert math.isclose(mesh.volume, 1.0, rel_tol=1e-13)
    rules = rule_by_element(mesh)
    assert len(rules) == 8**3 - 6**3
    low, edge = mesh.nodes[mesh.elements[:, 0]], 0.16
    for e, (points, weights) in rules.items():
        assert len(points) <= MOMENTS[order]
        assert (weights > 0).all()
        # the filled part, in local coordinates
        begin = np.clip(2.0 * (0.0 - low[e]) / edge - 1.0, -1.0, 1.0)
        end = np.clip(2.0 * (1.0 - low[e]) / edge - 1.0, -1.0, 1.0)
        for p in powers(order):
            exact = np.prod([(end[i] ** (p[i] + 1) - begin[i] ** (p[i] + 1)) / (p[i] + 1)
                             for i in range(3)])  # fmt: skip
            # two points a sub-cell leave the fourth power to an error of its own
            error = 1e-13 if max(p) < 4 else 3e-4 * weights.sum()
            assert abs(weights @ np.prod(points**p, axis=1) - exact) <= error, p


@pytest.mark.parametrize("seed", [0, 1])
def test_turned_cubes_have_their_volume(seed):
    rng = np.random.default_rng(seed)
    turned = box([-1, -1, -1], [1, 1, 1]).vertices @ rotation(rng.normal(size=3), 1.0).T
    s = rf.Surface(turned, box([-1, -1, -1], [1, 1, 1]).triangles)
    for resolution in (7, 12):
        assert abs(rf.voxelize(s, resolution, order=1).volume / 8.0 - 1.0) < 3e-4


@pytest.mark.parametrize("resolution", [6, 16])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_balls_and_rods_have_their_volume(resolution):
    ball = rf.Surface(*sphere(32, (0.01, 0.02, 0.03), 0.05))
    mesh = rf.voxelize(ball, resolution, order=1)
    assert abs(mesh.volume / ball.volume - 1.0) < (3e-4 if resolution == 6 else 5e-5)
    around = 2 * np.pi * np.arange(48) / 48
    ring = 0.01 * np.column_stack([np.cos(around), np.sin(around)])
    ends = [np.column_stack([ring, np.full(48, z)]) for z in (0.0, 0.2)]
    k, after = np.arange(48), (np.arange(48) + 1) % 48
    sides = [np.column_stack(t) for t in ((k, after, after + 48), (k, after + 48, k + 48))]
    caps = [np.column_stack(t) for t in ((0 * k + 96, after, k), (0 * k + 97, k + 48, after + 48))]
    rod = rf.Surface(np.vstack([*ends, [[0, 0, 0], [0, 0, 0.2]]]), np.vstack(sides + caps))
    # 0.6 cells across, and 1.6
    error = rf.voxelize(rod, resolution, order=1).volume / rod.volume - 1.0
    assert abs(error) < (5e-3 if resolution == 6 else 1e-3)


def test_parts_that_overlap_count_once():
    a, b = box([0, 0, 0], [1, 1, 1]), box([0.45, 0.1, 0.1], [1.55, 0.9, 0.9])
    both = rf.Surface(
        np.vstack([a.vertices, b.vertices]),
        np.vstack([a.triangles, b.triangles + len(a.vertices)]),
    )
    union = 1.0 + 0.55 * 0.64
    assert abs(rf.voxelize(both, 13, order=1).volume / union - 1.0) < 1e-3


def test_fractions_and_volumes_are_those_of_the_rules():
    mesh = rf.voxelize(rf.Surface(*sphere(16)), 7)
    expected = np.ones(mesh.n_elements)
    for e, (_, weights) in rule_by_element(mesh).items():
        expected[e] = weights.sum() / 8.0
    np.testing.assert_allclose(mesh.fractions, expected, rtol=1e-13)
    np.testing.assert_allclose(mesh.element_volumes, expected * (2.0 / 7) ** 3, rtol=1e-12)
    assert (expected < 1).any()
    assert (expected == 1).any()
    assert repr(mesh) == f"<Mesh: {mesh.n_nodes} nodes, {mesh.n_elements} hex20, " + (
        f"{(expected < 1).sum()} cut>"
    )


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_points_are_few_positive_and_inside(order):
    mesh = rf.voxelize(rf.Surface(*sphere(16)), 9, order=order)
    counts, points, weights, products = mesh._rule()
    assert counts.max() <= MOMENTS[order]
    assert (weights > 0).all()
    assert (np.abs(points) <= 1).all()
    nodes = 8 if order == 1 else 20
    assert products.shape == ((counts > 0).sum(), nodes * (nodes + 1) // 2)
    # shape functions sum to one
    row, column = np.triu_indices(nodes)
    sums = products @ np.where(row == column, 1.0, 2.0)
    np.testing.assert_allclose(sums, 8.0 * mesh.fractions[counts > 0], rtol=1e-12)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_same_bits_for_any_number_of_threads():
    s = rf.Surface(*sphere(12))
    cubes = rf.voxelize(s, 8, cut=False, order=1)
    results = [
        _core.cut(cubes._core, s.vertices, s.triangles, 2, None, threads) for threads in (1, 3)
    ]
    for a, b in zip(*(_core.mesh_rule(core) for core, _ in results), strict=True):
        np.testing.assert_array_equal(a, b)
    assert results[0][1] == results[1][1]


# --- what stays ----------------------------------------------------------------------


def report_of(surface, resolution, order=1, expand=1.1):
    cubes = rf.voxelize(surface, resolution, cut=False, order=1, expand=expand)
    core, report = _core.cut(cubes._core, surface.vertices, surface.triangles, order, None, 1)
    return core, dict(zip(("cut", "empty", "islands", "sheets", "dense"), report, strict=True))


def joined(*surfaces):
    first = np.cumsum([0] + [len(s.vertices) for s in surfaces])
    return rf.Surface(
        np.vstack([s.vertices for s in surfaces]),
        np.vstack([s.triangles + k for s, k in zip(surfaces, first, strict=False)]),
    )


def test_islands_are_left_out_and_bodies_are_not():
    body = box([0, 0, 0], [1, 1, 1])
    crumb, other = box([1.3, 0.4, 0.4], [1.36, 0.46, 0.46]), box([1.4, 0, 0], [1.9, 0.5, 0.5])
    core, report = report_of(joined(body, crumb), 10)
    assert report["islands"] >= 1
    assert abs(core.volumes().sum() - 1.0) < 1e-3
    core, report = report_of(joined(body, other), 12)
    assert report["islands"] == 0
    assert abs(core.volumes().sum() - 1.125) < 1e-3


def test_touched_cells_without_inside_are_left_out():
    # the box ends on faces of cells: those beyond are touched and empty
    core, report = report_of(box([0, 0, 0], [1.0, 1.0, 1.0]), 12, expand=1.2)
    assert report["empty"] == 12**3 - 10**3
    assert math.isclose(core.volumes().sum(), 1.0, rel_tol=1e-9)


@pytest.mark.parametrize("resolution", [7, 8])
@pytest.mark.parametrize("size", [(1.0, 0.55, 0.31), (0.26, 1.0, 0.02), (0.5, 0.5, 0.5)])
def test_cells_end_at_the_surface_of_the_body(size, resolution):
    low = np.array([3.0, -2.0, 0.5])
    mesh = rf.voxelize(box(low, low + size), resolution)
    np.testing.assert_allclose(mesh.bounds, [low, low + size], rtol=0, atol=1e-9)
    assert (mesh.fractions == 1.0).all()
    edges = np.ptp(mesh.nodes[mesh.elements[0]], axis=0)
    cube = max(size) / resolution
    assert (edges <= cube * (1 + 1e-9)).all()
    assert math.isclose(edges.max(), cube, rel_tol=1e-9)
    assert math.isclose(mesh.volume, np.prod(size), rel_tol=1e-9)


def test_films_and_given_grids_keep_their_cubes():
    """Sides thinner than an eighth of a cube, and any with `expand`, are cut only."""
    for surface, expand in ((box([0, 0, 0], [1, 1, 0.01]), None), (box([0, 0, 0], [1, 1, 0.3]), 1)):
        mesh = rf.voxelize(surface, 8, expand=expand)
        edges = np.ptp(mesh.nodes[mesh.elements[0]], axis=0)
        np.testing.assert_allclose(edges, 1 / 8, rtol=1e-9)
        assert (mesh.fractions < 1.0).any()


def test_the_sag_of_a_plate_is_right_for_any_thickness():
    """By its weight on its lowest plane, without lateral strain: rho g t^2 / (2 E)."""
    for thickness in (0.21, 0.25, 0.3):
        mesh = rf.voxelize(box([0, 0, 0], [1, 1, thickness]), 8)
        solid = rf.Solid(mesh, rf.StVK(1e7, 0.0, 1000.0), fixed=mesh.nodes[:, 2] < 1e-9)
        u = solid.solve_static(solid.gravity())
        top = u[mesh.nodes[:, 2] > thickness - 1e-9, 2]
        np.testing.assert_allclose(top, -9810.0 * thickness**2 / 2e7, rtol=1e-3)


def test_sheets_stay_whole():
    sheet = rf.Surface([[0, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]], [[0, 1, 2], [0, 2, 3]])
    with pytest.warns(rf.GeometryWarning):
        mesh = rf.voxelize(sheet, 8)
    assert mesh._rule() is None
    assert (mesh.fractions == 1).all()
    with pytest.warns(rf.GeometryWarning):
        assert mesh.n_elements == rf.voxelize(sheet, 8, cut=False, expand=1.0).n_elements


def test_settings():
    s = rf.Surface(*sphere(8))
    plain = rf.voxelize(s, 6, fill=False)
    assert plain.nodes_per_element == 8
    assert plain._rule() is None
    np.testing.assert_allclose(np.ptp(plain.nodes[plain.elements[0]], axis=0), 2.4 / 6)
    assert rf.voxelize(s, 6, cut=False).nodes_per_element == 20
    assert rf.voxelize(s, 6, order=1).nodes_per_element == 8
    with pytest.raises(rf.InputError, match="cut=True needs fill=True"):
        rf.voxelize(s, 6, fill=False, cut=True)
    with pytest.raises(rf.InputError, match="order must be 1 or 2, got 3"):
        rf.voxelize(s, 6, order=3)
    with pytest.raises(rf.InputTypeError, match="cut"):
        rf.voxelize(s, 6, cut="yes")


def test_progress_is_reported_and_stops():
    seen = []
    rf.voxelize(rf.Surface(*sphere(8)), 8, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0


# --- meshes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mesh():
    return rf.voxelize(rf.Surface(*sphere(12)), 6)


def same_rule(a, b):
    for x, y in zip(a._rule(), b._rule(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_copies_keep_everything(mesh):
    for again in (pickle.loads(pickle.dumps(mesh)), copy.copy(mesh), copy.deepcopy(mesh)):
        same_rule(again, mesh)
        np.testing.assert_array_equal(again.element_volumes, mesh.element_volumes)


def test_parts_keep_their_rules(mesh):
    chosen = np.flatnonzero(mesh.nodes[mesh.elements].mean(axis=1)[:, 0] > 0)[::-1]
    part = mesh.submesh(chosen)
    np.testing.assert_allclose(part.element_volumes, mesh.element_volumes[chosen], rtol=1e-15)
    same_rule(part.submesh(np.arange(len(chosen))), part)
    whole = mesh.submesh(mesh.fractions == 1)
    assert whole._rule() is None


def test_regions_leave_cells_cut(mesh):
    regions = np.arange(mesh.n_elements) % 3
    parted = mesh.with_regions(regions)
    same_rule(parted, mesh)
    np.testing.assert_array_equal(parted.regions, regions)
    assert parted.volume == mesh.volume
    assert parted.source is mesh.source


def test_second_order_is_asked_of_voxelize():
    with pytest.raises(rf.InputError, match=r"voxelize\(surface, order=2\)"):
        rf.voxelize(rf.Surface(*sphere(8)), 5, order=1).quadratic()


def test_quadratic_refuses_cut_cells_of_second_order(mesh):
    with pytest.raises(rf.InputError, match="without mid-edge nodes"):
        mesh.quadratic()


def test_two_cells_across_need_no_warning(recwarn):
    mesh = rf.voxelize(box([0, 0, 0], [0.12, 0.03, 0.015]), 12)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1000.0))
    assert abs(solid.summary.cells_across - 2.0) < 1e-6
    assert not [w for w in recwarn if issubclass(w.category, rf.PlausibilityWarning)]


def test_files_hold_whole_cells_and_give_a_warning(mesh, tmp_path):
    meshio = pytest.importorskip("meshio")
    with pytest.warns(rf.GeometryWarning, match="whole cells"):
        mesh.write(tmp_path / "m.vtu")
    written = meshio.read(tmp_path / "m.vtu")
    np.testing.assert_allclose(written.cell_data["fraction"][0], mesh.fractions, rtol=1e-12)
    assert rf.read_mesh(tmp_path / "m.vtu")._rule() is None


@pytest.mark.parametrize("resolution", [16, 24])
@pytest.mark.parametrize("name", ["hose", "spoon"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_no_cell_lies_beyond_the_surface(name, resolution):
    """Edges of flat ends look filled in places to the sub-cells on the other side of the plane."""
    surface = samples.load(name)
    mesh = rf.voxelize(surface, resolution, order=1)
    edge = np.ptp(surface.bounds, axis=0).max() / resolution
    np.testing.assert_allclose(
        [mesh.nodes.min(axis=0), mesh.nodes.max(axis=0)], surface.bounds, atol=1e-6 * edge
    )


def test_only_equal_cubes_are_cut(mesh):
    surface = rf.Surface(*sphere(8))
    cubes = rf.voxelize(surface, 3, cut=False, order=1)
    tets = rf.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    bricks = rf.Mesh(cubes.nodes * [1, 2, 1], cubes.elements)
    turned = rf.Mesh(cubes.nodes @ rotation([0, 0, 1], 1.0).T, cubes.elements)
    for other, message in (
        (tets, "not elements of 4"),
        (mesh, "not elements of 20"),
        (bricks, "is not one of equal cubes"),
        (turned, "is not one of equal cubes"),
    ):
        with pytest.raises(rf.MeshError, match=message):
            _core.cut(other._core, surface.vertices, surface.triangles, 2, None, 1)


def test_bad_rules_are_refused(mesh):
    counts, points, weights, products = mesh._rule()
    plain = _core.Mesh(mesh.nodes, mesh.elements)
    for arrays, message in (
        ((counts[:-1], points, weights, products), "counts must have shape"),
        ((counts, points[:-1], weights[:-1], products), "ptr goes from 0"),
        ((counts, points * 1.5, weights, products), "allowed are -1 to 1"),
        ((counts, points, -weights, products), "allowed is above 0 and up to 8"),
        ((counts, points, weights, products[1:]), "products do not fit"),
        ((counts, points, weights, products * 1e9), "no product is above 8"),
        ((counts, points, weights, -products), "the square of shape function 0"),
        ((counts, points, weights, 0.5 * products), "by products and .* by points"),
        ((counts, points, np.full_like(weights, 8.0), products), "allowed is up to 8"),
    ):
        with pytest.raises(rf.InputError, match=message):
            _core.mesh_with_rule(plain, *arrays)
    nodes = mesh.nodes + 0.01 * np.arange(mesh.n_nodes)[:, None] / mesh.n_nodes
    with pytest.raises(rf.MeshError, match="cut cells need equal boxes"):
        _core.mesh_with_rule(_core.Mesh(nodes, mesh.elements), *mesh._rule())
    tets = _core.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    with pytest.raises(rf.MeshError, match="only hexahedra can be cut"):
        _core.mesh_with_rule(tets, [1], points[:1], weights[:1], products[:1])
