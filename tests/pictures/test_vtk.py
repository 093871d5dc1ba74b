"""Time series for ParaView and meshes for PyVista, read back by meshio and PyVista."""

from __future__ import annotations

import sys
import warnings
from xml.etree import ElementTree

import meshio
import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, box_tets

MATERIAL = rf.StVK(2e5, 0.3, 1000.0)
MESHES = {
    "tet4": rf.Mesh(*box_tets(1, 1, 1)),
    "tet10": rf.Mesh(*box_tets(1, 1, 1)).quadratic(),
    "hex8": rf.Mesh(*box_hexes(2, 1, 1)),
    "hex20": rf.Mesh(*box_hexes(2, 1, 1)).quadratic(),
}


def series(path):
    """Return times and files of a collection."""
    sets = ElementTree.parse(path).getroot().findall("./Collection/DataSet")
    return [float(one.get("timestep")) for one in sets], [
        path.with_name(one.get("file")) for one in sets
    ]


def test_meshio_reads_each_state(reduced, motion, tmp_path):
    temperature = np.arange(len(motion) * 63.0).reshape(len(motion), 63)
    stress = np.arange(len(motion) * 24 * 6.0).reshape(len(motion), 24, 6)
    done_so_far = []
    rf.export_vtk(
        tmp_path / "beam.pvd",
        reduced,
        motion,
        point_data={"temperature": temperature},
        cell_data={"stress": stress},
        progress=lambda done, total: done_so_far.append((done, total)),
    )
    times, files = series(tmp_path / "beam.pvd")
    np.testing.assert_array_equal(times, motion.times)
    assert [one.name for one in files[:2]] == ["beam_0000.vtu", "beam_0001.vtu"]
    assert done_so_far == [(k + 1, len(motion)) for k in range(len(motion))]
    for k, file in enumerate(files):
        read = meshio.read(file)
        np.testing.assert_array_equal(read.points, reduced.mesh.nodes)
        np.testing.assert_array_equal(read.cells_dict["hexahedron"], reduced.mesh.elements)
        u, v = reduced.displacement(motion.q[k]), reduced.displacement(motion.qdot[k])
        np.testing.assert_allclose(read.point_data["displacement"], u, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(read.point_data["velocity"], v, rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal(read.point_data["temperature"], temperature[k])
        np.testing.assert_array_equal(read.cell_data["stress"][0], stress[k])
        np.testing.assert_array_equal(read.cell_data["region"][0], reduced.mesh.regions)


def test_pyvista_reads_the_series(reduced, motion, tmp_path):
    pyvista = pytest.importorskip("pyvista")
    rf.export_vtk(tmp_path / "beam.pvd", reduced, motion)
    reader = pyvista.get_reader(tmp_path / "beam.pvd")
    np.testing.assert_array_equal(reader.time_values, motion.times)
    for k in (0, 7, len(motion) - 1):
        reader.set_active_time_value(motion.times[k])
        grid = reader.read()[0]
        u = reduced.displacement(motion.q[k])
        np.testing.assert_allclose(grid["displacement"], u, atol=1e-8)
        bent = grid.warp_by_vector("displacement")
        np.testing.assert_allclose(bent.points, reduced.mesh.nodes + u, atol=1e-7)


@pytest.mark.parametrize("kind", MESHES)
def test_every_kind_of_element(kind, tmp_path):
    mesh = MESHES[kind]
    u = np.random.default_rng(2).random((2, mesh.n_nodes, 3))
    rf.export_vtk(tmp_path / "m.pvd", mesh, rf.Motion([0.0, 0.5], u))
    _, files = series(tmp_path / "m.pvd")
    read = meshio.read(files[1])
    assert "velocity" not in read.point_data
    np.testing.assert_array_equal(read.cells[0].data, mesh.elements)
    np.testing.assert_allclose(read.point_data["displacement"], u[1], rtol=1e-6)
    again = rf.read_mesh(files[1])
    np.testing.assert_array_equal(again.elements, mesh.elements)


def test_velocities_of_a_free_body_are_rates_of_positions(body, free, tmp_path):
    """Against central differences of the positions in the files."""
    motion = rf.record_motion(body, 4, every=1)
    rf.export_vtk(tmp_path / "f.pvd", free, motion)
    _, files = series(tmp_path / "f.pvd")
    read = [meshio.read(one).point_data for one in files]
    np.testing.assert_allclose(
        read[-1]["displacement"], body.positions - free.mesh.nodes, atol=1e-6
    )
    arrays = (motion.times, motion.q, motion.qdot, motion.poses, motion.rates)
    for k in range(1, 4):
        rate = (read[k + 1]["displacement"] - read[k - 1]["displacement"]) / 2e-3
        error = np.abs(read[k]["velocity"] - rate).max()
        assert error < 2e-3 * np.abs(rate).max()
    # without rates of the rigid motion the velocity is unknown
    rf.export_vtk(tmp_path / "f.pvd", free, rf.Motion(*arrays[:4]))
    assert "velocity" not in meshio.read(files[1]).point_data


def test_cut_cells_have_their_fractions(tmp_path):
    surface = rf.Mesh(*box_hexes(1, 1, 1, 0.1)).surface()
    mesh = rf.voxelize(surface, 3, expand=1.4)
    u = np.zeros((1, mesh.n_nodes, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rf.export_vtk(tmp_path / "c.pvd", mesh, rf.Motion([0.0], u))
    read = meshio.read(series(tmp_path / "c.pvd")[1][0])
    np.testing.assert_array_equal(read.cell_data["fraction"][0], mesh.fractions)


def test_stresses_of_a_motion(solid, reduced, motion, tmp_path):
    rf.export_vtk(tmp_path / "s.pvd", reduced, motion[3:6], stress=solid)
    for k, file in enumerate(series(tmp_path / "s.pvd")[1]):
        read, u = meshio.read(file).cell_data, reduced.displacement(motion.q[3 + k])
        expected = solid.stress(u).reshape(-1, 9)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(read["stress"][0], expected, atol=1e-6 * scale)
        np.testing.assert_allclose(read["von_mises"][0], solid.von_mises(u), rtol=1e-6)


def test_stresses_turn_with_a_free_body(body, free, tmp_path):
    solid = rf.Solid(free.mesh, MATERIAL)
    motion = rf.record_motion(body, 40, every=40)
    rf.export_vtk(tmp_path / "s.pvd", free, motion, stress=solid)
    read = meshio.read(series(tmp_path / "s.pvd")[1][1]).cell_data["stress"][0].reshape(-1, 3, 3)
    own = solid.stress(free.displacement(motion.q[1]))
    pose = rf.Pose((0.0, 0.0, 0.0), motion.poses[1, 3:])
    turn = pose.apply(np.eye(3)).T
    assert np.abs(turn - np.eye(3)).max() > 0.3
    np.testing.assert_allclose(read, turn @ own @ turn.T, atol=1e-5 * np.abs(own).max())


def test_stresses_of_wrong_solids(solid, reduced, motion, free, tmp_path):
    path = tmp_path / "s.pvd"
    for stress, error, text in (
        (reduced, rf.InputTypeError, "stress must be a Solid, got a? ?ReducedSolid"),
        (rf.Solid(free.mesh, MATERIAL), rf.InputError, "stress has another mesh .* pass the Solid"),
    ):
        with pytest.raises(error, match=text):
            rf.export_vtk(path, reduced, motion, stress=stress)
    cells = {"von_mises": np.zeros((len(motion), solid.mesh.n_elements))}
    with pytest.raises(rf.InputError, match="stress writes 'von_mises', which cell_data has too"):
        rf.export_vtk(path, reduced, motion, cell_data=cells, stress=solid)
    inside_out = rf.Motion([0.0], -1.5 * solid.mesh.nodes[None])
    with pytest.raises(rf.InputError, match="stress of state 0 of motion: u turns element 0"):
        rf.export_vtk(path, solid, inside_out, stress=solid)
    assert list(tmp_path.iterdir()) == []


def test_names_with_marks_of_xml(solid, tmp_path):
    u = np.zeros((1, solid.mesh.n_nodes, 3))
    rf.export_vtk(tmp_path / 'a & "b" <c>.pvd', solid, rf.Motion([0.0], u))
    _, files = series(tmp_path / 'a & "b" <c>.pvd')
    assert files[0].is_file()


def test_a_failure_leaves_earlier_files(reduced, motion, tmp_path):
    rf.export_vtk(tmp_path / "b.pvd", reduced, motion[:2])
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.export_vtk(tmp_path / "b.pvd", reduced, motion[5:9], progress=stop)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(path="x.vtu"), rf.FileFormatError, r"goes to \.pvd.*Mesh\.write"),
        (dict(motion=None), rf.InputTypeError, "motion must be a Motion, got NoneType"),
        (dict(model=3), rf.InputTypeError, "model must be a ReducedSolid, .* got int"),
        (dict(point_data=[1]), rf.InputTypeError, "point_data must be a dict .*, got list"),
        (dict(point_data={"velocity": 0}), rf.InputError, "'velocity', which is taken"),
        (dict(point_data={"t": np.zeros((21, 3))}), rf.InputError, r"\['t'\] .* \(21, 63\)"),
        (dict(cell_data={"t": np.zeros((21, 63))}), rf.InputError, r"\['t'\] .* \(21, 24\)"),
        (dict(cell_data={"": 0}), rf.InputTypeError, "names in cell_data must be texts, found ''"),
        (dict(cell_data={"s": np.full((21, 24), np.nan)}), rf.InputError, r"\[0, 0\] is nan"),
        (dict(point_data={"t": ["a"]}), rf.InputTypeError, r"point_data\['t'\] must be an array"),
    ],
)  # fmt: skip
def test_mistakes_are_named(reduced, motion, tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        rf.export_vtk(**dict(path="x.pvd", model=reduced, motion=motion) | arguments)
    assert list(tmp_path.iterdir()) == []


# --- fields in single files ------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".vtu", ".vtk", ".xdmf"])
@pytest.mark.parametrize("kind", MESHES)
def test_meshes_are_written_with_fields(kind, suffix, tmp_path):
    mesh, path = MESHES[kind], tmp_path / f"m{suffix}"
    if kind == "hex20" and suffix == ".xdmf":
        pytest.skip("meshio does not convert the order of these nodes")
    if suffix == ".xdmf":
        pytest.importorskip("h5py", reason="meshio needs it for .xdmf")
    u = np.random.default_rng(3).random((mesh.n_nodes, 3))
    kinds = (np.uint8, np.int16, np.int64, np.uint64, np.float16, np.float32)
    point = {"u": u, "held": u[:, 0] > 0.5, "large": np.full(mesh.n_nodes, 2**40)}
    cell = {"s": np.arange(float(mesh.n_elements))}
    cell |= {kind.__name__: np.arange(mesh.n_elements, dtype=kind) for kind in kinds}
    mesh.write(path, point, cell)
    read = meshio.read(path)
    np.testing.assert_array_equal(read.point_data["u"], u)
    np.testing.assert_array_equal(read.point_data["held"], u[:, 0] > 0.5)
    assert (read.point_data["large"] == 2**40).all()
    for name, values in cell.items():
        np.testing.assert_array_equal(read.cell_data[name][0], values)
    np.testing.assert_array_equal(rf.read_mesh(path).elements, mesh.elements)


def test_other_formats_refuse_fields(tmp_path):
    mesh = MESHES["hex8"]
    for suffix in (".veg", ".msh", ".mesh"):
        with pytest.raises(rf.FileFormatError, match=rf"as {suffix}: only \.vtu \.vtk"):
            mesh.write(tmp_path / f"m{suffix}", {"u": np.zeros(mesh.n_nodes)})
        mesh.write(tmp_path / f"m{suffix}", {}, {})
    with pytest.raises(rf.InputError, match="'region', which is taken"):
        mesh.write(tmp_path / "m.vtu", cell_data={"region": [0.0, 1.0]})


# --- PyVista ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MESHES)
def test_meshes_of_pyvista(kind):
    pytest.importorskip("pyvista")
    mesh = MESHES[kind].with_regions(np.arange(MESHES[kind].n_elements))
    u = np.random.default_rng(3).random((mesh.n_nodes, 3))
    for model in (mesh, rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0), fixed=[0, 1, 2])):
        grid = rf.to_pyvista(model, u)
        np.testing.assert_array_equal(grid.points, mesh.nodes)
        np.testing.assert_array_equal(grid["displacement"], u)
        np.testing.assert_array_equal(grid["region"], mesh.regions)
        volume = grid.compute_cell_sizes()["Volume"]
        np.testing.assert_allclose(np.abs(volume), mesh.element_volumes, rtol=1e-6)
        assert rf.to_pyvista(model).point_data.keys() == []


def test_surfaces_of_pyvista():
    pytest.importorskip("pyvista")
    surface = MESHES["hex8"].surface()
    made = rf.to_pyvista(surface, np.ones((surface.n_vertices, 3)))
    np.testing.assert_array_equal(made.regular_faces, surface.triangles)
    assert made.volume == pytest.approx(surface.volume)
    made.points[0] = 7.0  # a copy
    assert (surface.vertices[0] != 7.0).any()


def test_pyvista_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(rf.MissingPackageError, match=r"pip install 'reducedfem\[pyvista\]'"):
        rf.to_pyvista(MESHES["hex8"])
    with pytest.raises(rf.InputTypeError, match="model must be a Surface, ReducedSolid, .* str"):
        rf.to_pyvista("x")
    with pytest.raises(rf.InputError, match=r"u must have shape \(12, 3\)"):
        rf.to_pyvista(MESHES["hex8"], np.zeros((4, 3)))
