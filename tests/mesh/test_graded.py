"""Graded meshes of cubes, and constrained nodes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from graded import CORNERS, graded_box, plain_matrix, voxel_mesh, without_constraints
from shapes import box_hexes, box_tets, sphere

RNG = np.random.default_rng(5)


def plain_levels(solid, layers=1, max_level=99):
    """Return (level, place) of all cells by the rule, cell by cell."""
    cells, level, every = set(map(tuple, np.argwhere(solid))), 0, []
    while True:
        ring = layers if level == 0 else 1
        merged = set()
        for at in {tuple(c // 2 for c in cell) for cell in cells} if level < max_level else ():
            around = np.argwhere(np.ones((2 + 2 * ring,) * 3)) - ring + 2 * np.array(at)
            if all(tuple(a) in cells for a in around):
                merged.add(at)
        inside = {tuple(2 * np.array(at) + c) for at in merged for c in CORNERS}
        every += [(level, cell) for cell in cells - inside]
        if not merged:
            return set(every)
        cells, level = merged, level + 1


def cells_of(mesh, h=0.01):
    low = mesh.nodes[mesh.elements[:, 0]] / (h * 2.0 ** mesh.levels[:, None])
    return {(int(k), tuple(np.rint(x).astype(int))) for k, x in zip(mesh.levels, low, strict=True)}


def odd_body():
    solid = np.ones((13, 12, 11), dtype=bool)
    solid[:3, :4] = solid[9:, 5:9, 2:] = False
    solid[6, 6, :2] = False
    return solid


@pytest.mark.parametrize("grading", [{}, {"layers": 2}, {"max_level": 1}, {"max_level": 0}])
def test_cells_are_those_of_the_rule(grading):
    solid = odd_body()
    mesh = voxel_mesh(solid).graded(rf.Grading(**grading))
    assert cells_of(mesh) == plain_levels(solid, **grading)
    assert mesh.volume == pytest.approx(solid.sum() * 1e-6, rel=1e-12)
    assert (mesh.constraints is None) == (mesh.levels.max() == 0)
    nodes = mesh.constrained_nodes
    # rows of the matrix with more than a single 1
    weights = np.zeros((0, 3)) if mesh.constraints is None else mesh.constraints.matrix.to_dense()
    np.testing.assert_array_equal(nodes, np.flatnonzero((weights == 1.0).sum(axis=1) == 0))
    assert nodes.dtype == np.int32
    assert not nodes.flags.writeable


@pytest.mark.parametrize(("n", "cells"), [(8, 456), (16, 2528), (32, 11992)])
def test_cubes_have_the_published_number_of_cells(n, cells):
    assert graded_box((n, n, n)).n_elements == cells


def test_layers_leave_as_many_cells_at_the_surface():
    mesh = graded_box((16, 16, 16), layers=3)
    assert 3 * (mesh.n_nodes - len(mesh.constraints) - 17**2) == 12_060  # 87 % of 13,872
    coarse = mesh.nodes[mesh.elements[mesh.levels > 0]]
    assert (coarse.min(), coarse.max()) == pytest.approx((0.04, 0.12))


def test_agreement_with_the_reference(shared):
    """Cells, nodes and masters of an independent program."""
    data = np.load(shared / "reference" / "green_graded" / "graded_hex.npz")
    h = float(data["spacing"])
    mesh = voxel_mesh(data["solid"], h).graded()
    assert np.bincount(mesh.levels).tolist() == data["cells_by_level"].tolist()
    places = {tuple(x): i for i, x in enumerate(np.rint(data["nodes"] / h).astype(int).tolist())}
    node = np.array([places[tuple(x)] for x in np.rint(mesh.nodes / h).astype(int).tolist()])
    assert sorted(node.tolist()) == list(range(len(data["nodes"])))
    own, wanted = ({}, {})
    c = mesh.constraints
    for k, s in enumerate(c.slaves):
        own[int(node[s])] = sorted(node[c.masters[c.ptr[k] : c.ptr[k + 1]]].tolist())
    for k, s in enumerate(data["slaves"]):
        wanted[int(s)] = sorted(data["masters"][slice(*data["master_ptr"][k : k + 2])].tolist())
    assert own == wanted
    corners = [sorted(map(tuple, np.sort(e, axis=1).tolist())) for e in (node[mesh.elements],)]
    assert corners[0] == sorted(map(tuple, np.sort(data["elements"], axis=1).tolist()))


def test_matrix_keeps_linear_fields_and_fill_applies_it():
    mesh = graded_box((8, 8, 8))
    c, T = mesh.constraints, mesh.constraints.matrix.to_dense()
    np.testing.assert_array_equal(np.kron(T, np.eye(3)), plain_matrix(mesh))
    assert np.array_equal(np.sort(np.concatenate([c.slaves, c.independent])), np.arange(len(T)))
    np.testing.assert_allclose(T @ mesh.nodes[c.independent], mesh.nodes, atol=1e-15)
    u = RNG.normal(size=(mesh.n_nodes, 3))
    np.testing.assert_allclose(c.fill(u), T @ u[c.independent], atol=1e-15)
    np.testing.assert_array_equal(u[c.independent], c.fill(u)[c.independent])
    assert repr(c) == f"<Constraints: {len(c)} of {mesh.n_nodes} nodes>"


def test_boundary_and_parts_across_levels():
    """The faces between levels are no boundary, and join their cells."""
    solid = odd_body()
    cubes, mesh = voxel_mesh(solid), voxel_mesh(solid).graded()
    assert mesh.levels.max() > 0

    def faces(m):
        return {tuple(sorted(map(tuple, np.rint(m.nodes[f] * 100).astype(int)))) for f in
                m.boundary_faces}  # fmt: skip

    assert faces(mesh) == faces(cubes)
    assert mesh.surface().volume == pytest.approx(cubes.volume)
    assert not np.isin(mesh.constraints.slaves, mesh.boundary_nodes).any()
    assert mesh.n_components("face") == mesh.n_components("node") == 1
    apart = without_constraints(mesh)
    assert apart.n_components("face") > 1
    assert len(apart.boundary_faces) > len(mesh.boundary_faces)


def test_nodes_and_elements_keep_their_order_and_regions_stay_apart():
    regions = np.zeros((10, 10, 10), dtype=int)
    regions[5:] = 7
    cubes = voxel_mesh(np.ones((10, 10, 10), dtype=bool), regions=regions)
    mesh = cubes.graded()
    np.testing.assert_array_equal(mesh.nodes, cubes.nodes[mesh.original_nodes])
    assert (np.diff(mesh.original_nodes) > 0).all()
    assert mesh.levels.max() == 1
    right = mesh.nodes[mesh.elements].min(axis=1)[:, 0] > 0.05 - 1e-9
    np.testing.assert_array_equal(mesh.regions, np.where(right, 7, 0))
    assert mesh.volume == pytest.approx(1e-3)


def test_voxelized_bodies():
    surface = rf.Surface(*sphere(6))
    cubes = rf.voxelize(surface, 14, cut=False, order=1)
    mesh = rf.voxelize(surface, 14, cut=False, graded=rf.Grading())
    assert mesh.levels.max() >= 1
    assert mesh.volume == pytest.approx(cubes.volume)
    assert mesh.source is surface
    with pytest.raises(rf.InputError, match="order must be 1 or None, got 2"):
        rf.voxelize(surface, 12, cut=False, order=2, graded=rf.Grading())
    with pytest.raises(rf.InputTypeError, match="graded must be a Grading"):
        rf.voxelize(surface, 12, cut=False, graded=True)


def test_meshes_that_cannot_be_graded():
    nodes, elements = box_hexes(3, 3, 3)
    with pytest.raises(rf.MeshError, match=r"have 4: voxelize\(surface, cut=False, order=1\)"):
        rf.Mesh(*box_tets(1, 1, 1)).graded()
    with pytest.raises(rf.MeshError, match="element 0 is not a cube"):
        rf.Mesh(nodes * [1.0, 1.0, 1.5], elements).graded()
    moved = nodes.copy()
    moved[-1] += 0.01
    with pytest.raises(rf.MeshError, match="element 26 is not a cube of edge"):
        rf.Mesh(moved, elements).graded()
    mesh = graded_box()
    with pytest.raises(rf.MeshError, match="graded already"):
        mesh.graded()
    with pytest.raises(rf.InputError, match="constrained nodes"):
        mesh.quadratic()
    pair = rf.join_meshes([rf.Mesh(nodes, elements), rf.Mesh(nodes + 1.0, elements)])
    with pytest.raises(rf.MeshError, match="nodes of its own beside those of a neighbour"):
        pair.graded()
    double = rf.Mesh(nodes, np.concatenate([elements, elements[:1]]))
    with pytest.raises(rf.MeshError, match="element 27 occurs twice"):
        double.graded()
    for wrong in ({"layers": 0}, {"max_level": -1}, {"max_level": 21}):
        with pytest.raises(rf.InputError, match=next(iter(wrong))):
            rf.Grading(**wrong)


def hanging():
    """Return two stacked cubes, the upper one cut in two along x: nodes, elements, table."""
    low = CORNERS.astype(float)
    nodes = np.concatenate([low, [[0.5, 0, 1], [0.5, 1, 1]], low[4:] + [0, 0, 1]])
    nodes = np.concatenate([nodes, [[0.5, 0, 2], [0.5, 1, 2]]])
    left = [4, 8, 9, 7, 10, 14, 15, 13]
    right = [8, 5, 6, 9, 14, 11, 12, 15]
    table = [8, 9], [0, 2, 4], [4, 5, 7, 6], [0.5, 0.5, 0.5, 0.5]
    return nodes, [list(range(8)), left, right], table


def test_constraints_of_any_mesh():
    nodes, elements, table = hanging()
    mesh = rf.Mesh(nodes, elements, constraints=table)
    assert [x.tolist() for x in (mesh.constraints.slaves, mesh.constraints.masters)] == [
        [8, 9],
        [4, 5, 7, 6],
    ]
    assert repr(mesh).endswith("3 hex8, 2 nodes constrained>")
    assert rf.Mesh(nodes, elements, constraints=mesh.constraints).constraints is not None
    assert rf.Mesh(nodes, elements).constraints is None
    spare = rf.Mesh(
        np.concatenate([[[9, 9, 9]], nodes]),
        np.array(elements) + 1,
        constraints=([9, 10], table[1], np.array(table[2]) + 1, table[3]),
        drop_unreferenced=True,
    )
    np.testing.assert_array_equal(spare.constraints.slaves, [8, 9])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (dict(slaves=[9, 8]), r"slaves\[1\] is 8, after 9"),
        (dict(slaves=[8, 99]), "slaves"),
        (dict(slaves=[]), "ptr must have shape"),
        (dict(ptr=[0, 2, 3]), "ptr must end with the number of masters, 4, got 3"),
        (dict(ptr=[0, 4, 4]), "node 9 has no masters"),
        (dict(ptr=[1, 2, 4]), "ptr must begin with 0"),
        (dict(masters=[4, 9, 7, 6]), "node 8 follows node 9, which is constrained itself"),
        (dict(masters=[4, 4, 7, 6]), "master 4 twice"),
        (dict(weights=[0.5, 0.4, 0.5, 0.5]), "sum to 0.9"),
        (dict(weights=[0.6, 0.4, 0.5, 0.5]), "node 8 rests 0.1 m from the mean"),
        (dict(weights=[np.nan, 0.4, 0.5, 0.5]), "weights"),
        (dict(weights=[0.5]), "weights"),
    ],
)
def test_refused_constraints(change, match):
    nodes, elements, table = hanging()
    values = dict(zip(("slaves", "ptr", "masters", "weights"), table, strict=True)) | change
    with pytest.raises(rf.ReducedFEMError, match=match):
        rf.Mesh(nodes, elements, constraints=tuple(values.values()))


def test_refused_kinds_of_constraints():
    nodes, elements, table = hanging()
    with pytest.raises(rf.InputError, match="constraints must be"):
        rf.Mesh(nodes, elements, constraints=table[:3])
    tets = rf.Mesh(*box_tets(1, 1, 1)).quadratic()
    with pytest.raises(rf.MeshError, match="mid-edge"):
        rf.Mesh(tets.nodes, tets.elements, constraints=([0], [0, 1], [1], [1.0]))
    with pytest.raises(rf.InputTypeError, match="those of a mesh"):
        rf.Constraints(None)


def test_copies_and_files_keep_constraints(tmp_path):
    mesh = graded_box()
    for other in (pickle.loads(pickle.dumps(mesh)), copy.deepcopy(mesh), mesh.with_regions(
        np.arange(mesh.n_elements)
    )):  # fmt: skip
        np.testing.assert_array_equal(other.constraints.masters, mesh.constraints.masters)
        np.testing.assert_array_equal(other.levels, mesh.levels)
    with pytest.warns(rf.GeometryWarning, match="lacks the constraints of 18 nodes"):
        mesh.write(tmp_path / "mesh.veg")
    both = rf.join_meshes([voxel_mesh(np.ones((2, 2, 2), dtype=bool)), mesh, mesh])
    c = both.constraints
    assert len(c) == 2 * len(mesh.constraints)
    np.testing.assert_allclose(c.fill(both.nodes), both.nodes, atol=1e-15)


def test_parts_of_a_graded_mesh():
    """Nodes stay constrained if the large cell is there, and only then."""
    mesh = graded_box()
    fine = mesh.submesh(mesh.levels == 0)
    assert fine.constraints is None
    large = int(np.flatnonzero(mesh.levels)[0])
    touching = np.isin(mesh.elements, mesh.constraints.slaves).any(axis=1)
    near = np.flatnonzero(touching)
    some = mesh.submesh([*near.tolist(), large])
    kept = some.original_nodes[some.constraints.slaves]
    np.testing.assert_array_equal(
        kept, np.intersect1d(some.original_nodes, mesh.constraints.slaves)
    )
    np.testing.assert_allclose(some.constraints.fill(some.nodes), some.nodes, atol=1e-15)
    assert boundary_area(some) == pytest.approx(boundary_area(plain_voxels(some)), rel=1e-12)
    assert mesh.submesh([0, large]).constraints is None
    with pytest.raises(rf.MeshError, match=f"element {large} is larger .* select all or none"):
        mesh.submesh([*near[:6].tolist(), large])


def boundary_area(mesh):
    faces = mesh.nodes[mesh.boundary_faces]
    return (
        0.5
        * np.linalg.norm(
            np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1]), axis=1
        ).sum()
    )


def plain_voxels(mesh, h=0.01):
    """Return the body as a mesh of equal cubes."""
    low = np.rint(mesh.nodes[mesh.elements[:, 0]] / h).astype(int)
    solid = np.zeros(np.rint(mesh.nodes.max(axis=0) / h).astype(int), dtype=bool)
    for (i, j, k), n in zip(low, 2**mesh.levels, strict=True):
        solid[i : i + n, j : j + n, k : k + n] = True
    return voxel_mesh(solid)


def test_a_face_covered_in_part_is_on_the_boundary():
    """The surface stays closed: it encloses the volume of the elements."""
    mesh = graded_box()
    middle = mesh.nodes[mesh.elements].mean(axis=1)
    large = int(mesh.levels.argmax())
    beside = np.abs(middle - middle[large] - 0.01 * np.array([-1.5, 0.5, 0.5])).max(axis=1) < 1e-9
    assert beside.sum() == 1
    part = rf.Mesh(mesh.nodes, mesh.elements[~beside], constraints=mesh.constraints)
    x = part.nodes[part.boundary_faces]
    area = 0.5 * np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1])
    assert (area * x.mean(axis=1)).sum() / 3 == pytest.approx(part.volume, rel=1e-12)
    # five faces of the hole are of small cells, one is of the large cell, on which three others lie
    whole = boundary_area(mesh) / 1e-4
    assert boundary_area(part) / 1e-4 == pytest.approx(whole + 5 + 4 + 3, rel=1e-12)


def test_boxes_of_few_cubes_need_no_memory():
    far = np.concatenate([CORNERS, CORNERS + 700]) * 0.01
    mesh = rf.Mesh(far, np.arange(16).reshape(2, 8))
    with pytest.raises(rf.MeshError, match=r"3.46e\+08 places for cubes, the mesh 2 cubes"):
        mesh.graded()
