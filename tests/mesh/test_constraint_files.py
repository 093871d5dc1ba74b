"""Constraints of nodes in files of meshes and motions."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from graded import graded_box
from shapes import box_hexes

LAW = rf.StVK(1e5, 0.3, 1000.0)


def many_masters(count=100):
    """Return a bar and a cube below it; one node of the cube follows `count` nodes of the bar."""
    bar = rf.Mesh(*box_hexes(count, 1, 1, (1.0, 0.1, 0.1)))
    masters = np.flatnonzero(bar.nodes[:, 2] == 0.0)[:count]
    mean = bar.nodes[masters].mean(axis=0)
    nodes, elements = box_hexes(1, 1, 1, (0.1, 0.1, 0.1))
    top = int(np.flatnonzero((nodes == [0.0, 0.0, 0.1]).all(axis=1))[0])
    pair = rf.join_meshes([bar, rf.Mesh(nodes - nodes[top] + mean, elements)])
    shares = np.full(count, 1 / count)
    return pair.with_constraints(([bar.n_nodes + top], [0, count], masters, shares))


def assert_same(found, wanted):
    for name in ("slaves", "ptr", "masters"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    np.testing.assert_array_equal(found.weights, wanted.weights)


@pytest.mark.parametrize("suffix", [".vtu", ".vtk"])
def test_files_keep_constraints(tmp_path, suffix):
    mesh = graded_box((6, 6, 6))
    path = tmp_path / f"graded{suffix}"
    mesh.write(path, {"height": mesh.nodes[:, 2]})
    read = rf.read_mesh(path)
    assert_same(read.constraints, mesh.constraints)
    held = mesh.nodes[:, 2] < 1e-9
    one, other = (rf.Solid(m, LAW, fixed=held) for m in (mesh, read))
    u = one.solve_static(one.gravity())
    np.testing.assert_allclose(other.solve_static(one.gravity()), u, rtol=1e-10)


def test_one_master_a_node(tmp_path):
    nodes, elements = box_hexes(1, 1, 1)
    top = np.flatnonzero(nodes[:, 2] == nodes[:, 2].max())
    low = np.flatnonzero(nodes[:, 2] == 0.0)
    lift = np.array([0, 0, nodes[:, 2].max()])
    pair = rf.join_meshes([rf.Mesh(nodes, elements), rf.Mesh(nodes + lift, elements)])
    mesh = pair.with_constraints((low + len(nodes), range(5), top, np.ones(4)))
    mesh.write(tmp_path / "tied.vtu")
    assert_same(rf.read_mesh(tmp_path / "tied.vtu").constraints, mesh.constraints)
    scaled = rf.read_mesh(tmp_path / "tied.vtu", scale="inch")
    assert_same(scaled.constraints, mesh.constraints)
    np.testing.assert_allclose(scaled.nodes, 0.0254 * mesh.nodes, rtol=1e-15)


def test_other_formats_say_what_they_lose(tmp_path):
    for mesh, suffix in (
        (graded_box((6, 6, 6)), ".msh"),
        (graded_box((6, 6, 6)), ".xdmf"),
        (many_masters(), ".vtu"),
    ):
        with pytest.warns(rf.GeometryWarning, match="lacks the constraints of .* nodes"):
            mesh.write(tmp_path / f"mesh{suffix}")
        assert rf.read_mesh(tmp_path / f"mesh{suffix}").constraints is None


def test_names_are_taken(tmp_path):
    mesh = graded_box((6, 6, 6))
    with pytest.raises(rf.InputError, match="'constraint_nodes', which is taken"):
        mesh.write(tmp_path / "m.vtu", {"constraint_nodes": np.zeros(mesh.n_nodes)})


@pytest.mark.parametrize("keep", ["part", "order"])
def test_constraints_of_other_nodes_are_left_out(tmp_path, keep):
    """Another program has removed elements with their nodes, or reordered nodes."""
    meshio = pytest.importorskip("meshio")
    graded_box((6, 6, 6)).write(tmp_path / "graded.vtu")
    file = meshio.read(tmp_path / "graded.vtu")
    cells, n = file.cells[0].data, len(file.points)
    if keep == "part":
        cells = cells[len(cells) // 2 :]
        kept = np.unique(cells)
    else:
        kept = np.arange(n)[::-1]
    new = np.full(n, -1)
    new[kept] = np.arange(len(kept))
    fields = {name: values[kept] for name, values in file.point_data.items()}
    changed = meshio.Mesh(file.points[kept], [("hexahedron", new[cells])], point_data=fields)
    changed.write(tmp_path / "changed.vtu")
    with pytest.warns(rf.GeometryWarning, match="constraints of nodes that have other numbers"):
        read = rf.read_mesh(tmp_path / "changed.vtu")
    assert read.constraints is None


def test_damaged_tables_are_refused(tmp_path):
    meshio = pytest.importorskip("meshio")
    graded_box((6, 6, 6)).write(tmp_path / "graded.vtu")
    file = meshio.read(tmp_path / "graded.vtu")
    file.point_data["constraint_weights"] *= 2.0
    file.write(tmp_path / "damaged.vtu")
    with pytest.raises((rf.FileFormatError, rf.MeshError), match=r"damaged.vtu.*weights"):
        rf.read_mesh(tmp_path / "damaged.vtu")


def rewritten(tmp_path, change):
    """Return a graded mesh, and the file that a program has changed."""
    meshio = pytest.importorskip("meshio")
    nodes, elements = box_hexes(6, 6, 6, (0.1, 0.1, 0.1))
    mesh = rf.Mesh(nodes + 0.03, elements).graded(rf.Grading(layers=1))
    mesh.write(tmp_path / "graded.vtu")
    file = meshio.read(tmp_path / "graded.vtu")
    change(file)
    file.write(tmp_path / "changed.vtu")
    return mesh, tmp_path / "changed.vtu"


def single(file):
    file.points = file.points.astype(np.float32)
    file.point_data["constraint_weights"] = np.float32(file.point_data["constraint_weights"])


def warped(file):
    """Move the nodes as Warp By Vector does, which keeps single precision."""
    turn = np.array([[1.0, 0.2, 0.0], [0.0, 1.1, 0.3], [-0.1, 0.0, 0.9]])
    file.points = (file.points @ turn).astype(np.float32)


@pytest.mark.parametrize("change", [single, warped])
def test_places_of_single_precision_are_mended(tmp_path, change):
    mesh, path = rewritten(tmp_path, change)
    read = rf.read_mesh(path)
    assert_same(read.constraints, mesh.constraints)
    np.testing.assert_allclose(read.constraints.fill(read.nodes), read.nodes, atol=1e-16)


def test_moved_places_lose_constraints(tmp_path):
    def bent(file):
        file.points = file.points + 0.002 * np.sin(20.0 * file.points[:, [1, 2, 0]])

    with pytest.warns(rf.GeometryWarning, match="rest apart .* has moved them"):
        assert rf.read_mesh(rewritten(tmp_path, bent)[1]).constraints is None


@pytest.mark.parametrize("name", ["constraint_nodes", "constraint_weights"])
def test_one_table_alone_is_reported(tmp_path, name):
    with pytest.warns(rf.GeometryWarning, match="lack a table"):
        path = rewritten(tmp_path, lambda file: file.point_data.pop(name))[1]
        assert rf.read_mesh(path).constraints is None


@pytest.mark.parametrize("wrong", [0.5, np.nan, np.inf, -3.0])
def test_masters_are_integers(tmp_path, wrong):
    def change(file):
        nodes = file.point_data["constraint_nodes"].astype(float)
        nodes[7, 1] = wrong
        file.point_data["constraint_nodes"] = nodes

    with pytest.raises(rf.FileFormatError, match=r"changed.vtu' is damaged"):
        rf.read_mesh(rewritten(tmp_path, change)[1])


def test_motions_keep_constraints(tmp_path):
    mesh = graded_box((6, 6, 6))
    solid = rf.Solid(mesh, LAW, fixed=mesh.nodes[:, 2] < 1e-9)
    sim = rf.ImplicitNewmark(solid, 1e-3)
    rf.export_vtk(tmp_path / "motion.pvd", solid, rf.record_motion(sim, 2))
    assert_same(rf.read_mesh(tmp_path / "motion_0001.vtu").constraints, mesh.constraints)
    tied = many_masters()
    with pytest.warns(rf.GeometryWarning, match="lie on others"):  # one node joins the parts
        solid = rf.Solid(tied, LAW, fixed=[1, 2, 3])
    motion = rf.record_motion(rf.ImplicitNewmark(solid, 1e-3), 1)
    with pytest.warns(rf.GeometryWarning, match="more than 64 masters"):
        rf.export_vtk(tmp_path / "tied.pvd", tied, motion)


def test_pyvista_has_constraints():
    pytest.importorskip("pyvista")
    mesh = graded_box((6, 6, 6))
    grid = rf.to_pyvista(mesh)
    c = mesh.constraints
    node = int(c.slaves[0])
    own = grid["constraint_nodes"][node]
    assert own[0] == node
    np.testing.assert_array_equal(own[1:][own[1:] >= 0], c.masters[: c.ptr[1]])
    np.testing.assert_array_equal(grid["constraint_weights"].sum(axis=1).nonzero()[0], c.slaves)


def test_fixed_nodes_need_their_masters():
    mesh = graded_box((8, 8, 8))
    c = mesh.constraints
    some = c.slaves[:3]
    lacking = np.unique(c.masters[: c.ptr[3]])
    with pytest.raises(
        rf.InputError, match=f"fixed names node {some[0]}, .* add to fixed"
    ) as found:
        rf.Solid(mesh, LAW, fixed=some)
    named = str(found.value).partition("add to fixed ")[2]
    assert all(str(node) in named for node in lacking[:5])
    rf.Solid(mesh, LAW, fixed=np.concatenate([some, lacking]))
