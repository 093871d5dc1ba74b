"""Hanging nodes: found, named, and constrained on demand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from commands import run
from graded import CORNERS, graded_box, voxel_mesh, without_constraints
from shapes import box_hexes, box_tets, solid_box

LAW = rf.StVK(1e5, 0.3, 1000.0)
LIFT = np.array([0.0, 0.0, 1.0])


def as_table(mesh):
    c = mesh.constraints
    rows = [c.masters[c.ptr[k] : c.ptr[k + 1]].tolist() for k in range(len(c))]
    return {int(s): sorted(row) for s, row in zip(c.slaves, rows, strict=True)}


def test_hanging_nodes_of_graded_meshes_are_those_of_grading():
    solid = np.ones((13, 12, 11), dtype=bool)
    solid[:3, :4] = solid[9:, 5:9, 2:] = False
    mesh = voxel_mesh(solid).graded()
    assert len(mesh.hanging_nodes) == 0
    apart = without_constraints(mesh)
    np.testing.assert_array_equal(apart.hanging_nodes, mesh.constraints.slaves)
    mended = apart.with_constraints()
    assert as_table(mended) == as_table(mesh)
    np.testing.assert_allclose(mended.nodes, mesh.nodes, atol=1e-16)
    assert mended.with_constraints() is mended


@pytest.mark.parametrize(
    "nodes", [lambda m: m.nodes.astype(np.float32), lambda m: m.nodes.round(7)]
)
def test_rounded_places_are_found_and_mended(nodes):
    mesh = graded_box((8, 8, 8))
    apart = rf.Mesh(nodes(mesh) + 0.3, mesh.elements)
    np.testing.assert_array_equal(apart.hanging_nodes, mesh.constraints.slaves)
    assert as_table(apart.with_constraints()) == as_table(mesh)


@pytest.mark.parametrize(
    "mesh",
    [
        rf.Mesh(*box_hexes(3, 2, 2)),
        rf.Mesh(*box_tets(2, 3, 2)),
        rf.Mesh(*box_tets(2, 2, 2)).quadratic(),
        rf.Mesh(*box_hexes(2, 2, 2)).quadratic(),
    ],
)
def test_conforming_meshes_have_none(mesh):
    assert len(mesh.hanging_nodes) == 0
    assert mesh.with_constraints() is mesh


def test_parts_that_touch_without_common_nodes_have_none():
    """A large cube on four small ones, as for contact."""
    small, elements = box_hexes(2, 2, 1, (1.0, 1.0, 0.5))
    pair = rf.join_meshes([rf.Mesh(small, elements), rf.Mesh(CORNERS + LIFT / 2, [range(8)])])
    assert len(pair.hanging_nodes) == 0


def fine_and_coarse(quadratic=False):
    """Return a large cube on four small ones that share its corners; one part."""
    small, elements = box_hexes(2, 2, 1, (1.0, 1.0, 0.5))
    top = CORNERS[4:] + LIFT / 2
    place = {tuple(x): i for i, x in enumerate(small.tolist())}
    low = [place[tuple(x)] for x in (CORNERS[:4] + LIFT / 2).tolist()]
    nodes = np.concatenate([small, top])
    cells = [*elements.tolist(), [*low, *range(len(small), len(small) + 4)]]
    mesh = rf.Mesh(nodes, cells)
    return mesh.quadratic() if quadratic else mesh


def of_two_sizes(box, ratio):
    """Return a bar along x whose right half has elements smaller by this ratio."""
    (x, left), (y, right) = (box(4 * k, 2 * k, 2 * k, (0.4, 0.2, 0.2)) for k in (1, ratio))
    nodes = np.concatenate([x, y + np.array([0.4, 0, 0])]).round(9)
    places, new = np.unique(nodes, axis=0, return_inverse=True)
    return rf.Mesh(places, new.ravel()[np.concatenate([left, right + len(x)])])


@pytest.mark.parametrize("box", [box_hexes, box_tets])
@pytest.mark.parametrize("ratio", [2, 3, 4, 5])
def test_sizes_of_any_ratio(box, ratio):
    """Also nodes inside of faces, that share no element with a corner."""
    mesh = of_two_sizes(box, ratio)
    at = mesh.nodes[mesh.hanging_nodes]
    assert len(at) == (2 * ratio + 1) ** 2 - 9
    assert (at[:, 0] == 0.4).all()
    mended = mesh.with_constraints()
    c = mended.constraints
    np.testing.assert_allclose(mended.nodes, mesh.nodes, rtol=0, atol=1e-9)
    np.testing.assert_allclose(c.fill(mended.nodes), mended.nodes, rtol=0, atol=1e-15)
    one = mended.nodes[c.masters[c.ptr[:-1]]]
    assert (np.abs(one - mended.nodes[c.slaves]).max(axis=1) < 0.1 + 1e-9).all()  # one coarse face
    held = mended.nodes[:, 0] == 0.0
    solid = rf.Solid(mended, LAW, fixed=held)
    tip = np.abs(solid.solve_static(1e-3 * solid.gravity())).max()
    coarse = solid_box((8, 2, 2), (0.8, 0.2, 0.2), LAW, make=box)
    assert 1.0 < tip / np.abs(coarse.solve_static(1e-3 * coarse.gravity())).max() < 1.1


def test_linear_fields_are_exact_at_any_ratio():
    mesh = of_two_sizes(box_hexes, 3).with_constraints()
    u = mesh.nodes @ (1e-3 * np.random.default_rng(2).normal(size=(3, 3)))
    force = (rf.Solid(mesh, LAW).stiffness().to_scipy() @ u.ravel()).reshape(-1, 3)
    low, high = mesh.bounds
    inner = ((mesh.nodes > low + 1e-9) & (mesh.nodes < high - 1e-9)).all(axis=1)
    assert np.abs(force[inner]).max() < 1e-12 * np.abs(force).max()


def test_second_order_is_found_but_not_mended():
    """Also the quarters of edges, where the middles of small ones are."""
    mesh = fine_and_coarse(quadratic=True)
    x = mesh.nodes[mesh.hanging_nodes]
    assert (x[:, 2] == 0.5).all()
    assert {tuple(p) for p in x[:, :2].tolist()} == {
        (i / 4, j / 4) for i in range(5) for j in range(5) if i % 2 == 0 or j % 2 == 0
    } - {(0, 0), (0, 1), (1, 0), (1, 1)}
    with pytest.raises(rf.MeshError, match="mid-edge"):
        mesh.with_constraints()
    with pytest.warns(rf.GeometryWarning, match="second order cannot be constrained"):
        rf.Solid(mesh, LAW)


def test_hanging_nodes_of_tetrahedra():
    """One tetrahedron of a box is split at the middles of its edges, its neighbours are not."""
    nodes, elements = box_tets(4, 4, 4)
    quad = rf.Mesh(nodes, elements).quadratic()
    inside = ~np.isin(elements, rf.Mesh(nodes, elements).boundary_nodes).any(axis=1)
    chosen = int(inside.argmax())
    own = quad.elements[chosen]
    a, b, c, d, ab, bc, ac, ad, bd, cd = own.tolist()
    parts = [[a, ab, ac, ad], [ab, b, bc, bd], [ac, bc, c, cd], [ad, bd, cd, d],
             [ab, bc, ac, bd], [ab, ac, ad, bd], [ac, bc, cd, bd], [ac, cd, ad, bd]]  # fmt: skip
    cells = np.concatenate([np.delete(quad.elements[:, :4], chosen, axis=0), parts])
    volume = np.linalg.det(quad.nodes[cells[:, 1:]] - quad.nodes[cells[:, :1]])
    cells[volume < 0] = cells[volume < 0][:, [0, 1, 3, 2]]
    mesh = rf.Mesh(quad.nodes, cells, drop_unreferenced=True)
    places = mesh.nodes[mesh.hanging_nodes]
    assert {tuple(x) for x in places.tolist()} == {tuple(x) for x in quad.nodes[own[4:]].tolist()}
    mended = mesh.with_constraints()
    assert mended.volume == pytest.approx(rf.Mesh(nodes, elements).volume)
    c = mended.constraints
    np.testing.assert_allclose(c.fill(mended.nodes), mended.nodes, atol=1e-15)
    assert (np.diff(c.ptr) == 2).all()
    assert mended.surface().is_closed


def test_chains_follow_independent_nodes():
    """Three sizes at one edge: the middle of a half follows the ends of the half."""
    fine, elements = box_hexes(2, 1, 1, (1.0, 1.0, 1.0))
    medium = np.array([[0, 1, 0], [1, 1, 0], [1, 2, 0], [0, 2, 0]], dtype=float)
    # two fine cells, y 0 to 1; a medium one, y 1 to 2, both x 0 to 1; a large one below, x 0 to 2
    nodes = [tuple(x) for x in fine.tolist()]
    cells = [list(e) for e in elements.tolist()]

    def add(points):
        own = []
        for point in points:
            if point not in nodes:
                nodes.append(point)
            own.append(nodes.index(point))
        cells.append(own)

    add([tuple(x) for x in (medium.tolist())] + [tuple(x) for x in (medium + LIFT).tolist()])
    large = [
        (0, 0, -2),
        (2, 0, -2),
        (2, 2, -2),
        (0, 2, -2),
        (0, 0, 0),
        (2, 0, 0),
        (2, 2, 0),
        (0, 2, 0),
    ]
    add([tuple(map(float, x)) for x in large])
    mesh = rf.Mesh(nodes, cells).with_constraints()
    c = mesh.constraints
    T = c.matrix.to_dense()
    np.testing.assert_allclose(T @ mesh.nodes[c.independent], mesh.nodes, atol=1e-15)
    place = {x: i for i, x in enumerate(map(tuple, mesh.nodes.tolist()))}
    row = zip(c.independent, T[place[0.5, 1, 0]], strict=True)
    at = {tuple(mesh.nodes[n].tolist()): w for n, w in row if w}
    assert at == {(0, 0, 0): 0.375, (0, 2, 0): 0.375, (2, 0, 0): 0.125, (2, 2, 0): 0.125}


def test_statics_of_a_mesh_from_a_file(tmp_path):
    """The file has no constraints: a warning says so, and what mends it gives the same statics."""
    mesh = graded_box((6, 6, 6))
    with pytest.warns(rf.GeometryWarning, match=r"with_constraints\(\)"):
        mesh.write(tmp_path / "graded.msh")
    read = rf.read_mesh(tmp_path / "graded.msh")
    held = mesh.nodes[:, 2] < 1e-9
    want = rf.Solid(mesh, LAW, fixed=held)
    load = want.gravity()
    with pytest.warns(
        rf.GeometryWarning, match=r"hanging nodes: .* pass mesh.with_constraints\(\)"
    ):
        torn = rf.Solid(read, LAW, fixed=held)
    assert np.abs(torn.solve_static(load)).max() > 1.02 * np.abs(want.solve_static(load)).max()
    found = rf.Solid(read.with_constraints(), LAW, fixed=held)
    np.testing.assert_allclose(found.solve_static(load), want.solve_static(load), rtol=1e-8)


def test_tables_in_place_of_others():
    mesh = graded_box((5, 5, 5))
    apart = without_constraints(mesh)
    again = apart.with_constraints(mesh.constraints)
    assert as_table(again) == as_table(mesh)
    assert as_table(pickle.loads(pickle.dumps(again))) == as_table(mesh)
    with pytest.raises(rf.InputError, match="no masters"):
        apart.with_constraints(([0], [0, 0], [], []))
    with pytest.raises(rf.InputError, match="constraints must be"):
        apart.with_constraints([1, 2])


def test_parts_of_ties_keep_them_or_say_so():
    """A node of one block follows nodes of several elements of another."""
    nodes, elements = box_hexes(2, 1, 1, (2.0, 1.0, 1.0))
    pair = rf.join_meshes([rf.Mesh(nodes, elements), rf.Mesh(nodes + 2 * LIFT, elements)])
    ends = np.flatnonzero(np.isin(pair.nodes[:, 0], (0, 2)) & (pair.nodes[:, 2] == 2.0))
    slave = int(np.flatnonzero((pair.nodes == [1, 0, 1]).all(axis=1))[0])
    moved = pair.nodes.copy()
    moved[slave] = pair.nodes[ends].mean(axis=0) - [0, 0.5, 0]
    ends = ends[pair.nodes[ends, 1] == 0]
    moved[slave] = moved[ends].mean(axis=0)
    mesh = pair.with_constraints(None)
    assert mesh is pair
    tied = rf.Mesh(moved, pair.elements, constraints=([slave], [0, 2], ends, [0.5, 0.5]))
    whole = tied.submesh(range(4))
    assert as_table(whole) == {slave: sorted(ends.tolist())}
    with pytest.warns(rf.GeometryWarning, match=f"nodes of the selection follow .* there: {slave}"):
        part = tied.submesh([0, 1, 2])
    assert part.constraints is None


def test_command_line_constrains_hanging_nodes(tmp_path, capsys):
    mesh = graded_box((6, 6, 10))
    path = tmp_path / "graded.msh"
    with pytest.warns(rf.GeometryWarning, match="lacks the constraints"):
        mesh.write(path)
    status, out, _ = run(capsys, "info", path)
    assert status == 0
    assert "hanging nodes" in out
    model = tmp_path / "model"
    fix, young = ("--fix", "z<0.021"), ("--young", 1e5, "--poisson", 0.3, "--density", 1000)
    status, out, err = run(capsys, "reduce", path, "-o", model, *fix, *young, "-k", 2, "-r", 3)
    assert (status, err) == (0, ""), err
    assert f"{len(mesh.constraints)}, which follow the elements that do not have them" in out
    assert as_table(rf.load(model).mesh) == as_table(mesh)


def test_command_line_names_hanging_nodes_that_it_cannot_fix(tmp_path, capsys):
    mesh = of_two_sizes(box_hexes, 2)
    mesh.write(tmp_path / "bar.veg")
    hanging = mesh.hanging_nodes
    end = np.flatnonzero(mesh.nodes[:, 0] == 0.0)
    joint = np.flatnonzero(mesh.nodes[:, 0] == 0.4)

    def reduced(*options):
        young = ("--young", 1e5, "--poisson", 0.3, "--density", 1000)
        command = ("reduce", tmp_path / "bar.veg", "-o", tmp_path / "model", "-k", 2, "-r", 3)
        return run(capsys, *command, *young, *options)

    def listed(name, nodes):
        (tmp_path / name).write_text("\n".join(str(i + 1) for i in nodes) + "\n")
        return "--fix-file", tmp_path / name

    row = mesh.with_constraints().constraints.masters[:2]
    for nodes in (hanging, [*end, *hanging]):
        status, _, err = reduced(*listed("hanging.bou", nodes))
        assert status != 0
        assert f"fixes node {hanging[0] + 1}, which hangs" in err
        assert f"the nodes {row[0] + 1}, {row[1] + 1} of it" in err
    status, _, err = reduced("--fix", "0.39<x<0.41,0.04<y<0.06")
    assert status != 0
    assert "select only nodes that hang" in err
    assert reduced(*listed("joint.bou", joint))[0] == 0
    status, out, err = reduced("--fix", "0.39<x<0.41,0.04<y<0.06", "--fix", "x<0.01")
    assert (status, err) == (0, "")
    assert "not fixed" in out
    assert "5 hanging nodes in the regions of --fix" in out
