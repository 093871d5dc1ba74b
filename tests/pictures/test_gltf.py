"""Files in the glTF format, read back by pygltflib and trimesh."""

from __future__ import annotations

import json

import numpy as np
import pytest
import trimesh

import reducedfem as rf
from gltf import contents, keys, shape_at, verify
from shapes import solid_box

EPSILON = np.finfo(np.float32).eps


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("up", ["z", "y", "-x"])
def test_a_motion_in_a_file_is_that_of_the_skin(reduced, motion, tmp_path, suffix, up):
    """u = U q and the normals, evaluated from the file as viewers do."""
    path = tmp_path / f"beam{suffix}"
    rf.export_gltf(path, reduced, motion=motion, up=up)
    document, arrays = verify(path)
    times, weights = keys(document, arrays, "weights")
    np.testing.assert_allclose(times, motion.times, rtol=EPSILON)
    # importers that clamp weights change nothing
    assert 0.0 <= weights.min() <= weights.max() <= 1.0
    skin = rf.Skin(reduced, reduced.mesh.surface())
    rest = skin.surface.vertices
    assert np.abs(skin.positions(motion.q[10]) - rest).max() > 0.02
    for k in range(len(motion)):
        x, normals = shape_at(document, arrays, k)
        np.testing.assert_allclose(x, skin.positions(motion.q[k]), atol=4 * EPSILON * 0.3)
        np.testing.assert_allclose(normals, skin.normals(motion.q[k]), atol=1e-5)
    # the axis that is up is y of the file
    axis = (-1.0 if up[0] == "-" else 1.0) * np.eye(3)["xyz".index(up[-1])]
    turn = np.reshape(document["nodes"][0]["matrix"], (4, 4)).T
    np.testing.assert_array_equal(turn @ [*axis, 1.0], [0.0, 1.0, 0.0, 1.0])


def test_the_file_has_q(reduced, motion, tmp_path):
    rf.export_gltf(tmp_path / "beam.glb", reduced, motion=motion)
    document, arrays = verify(tmp_path / "beam.glb")
    numbers = document["meshes"][0]["extras"]["reducedfem"]
    least, spread = np.array(numbers["q_least"]), np.array(numbers["q_range"])
    _, weights = keys(document, arrays, "weights")
    size = np.abs(motion.q).max(axis=0)
    q = least + spread * weights[:, : reduced.r]
    np.testing.assert_allclose(q / size, motion.q / size, atol=4 * EPSILON)


def test_pygltflib_reads_shapes_and_weights(reduced, motion, tmp_path):
    pygltflib = pytest.importorskip("pygltflib")
    path = tmp_path / "beam.glb"
    rf.export_gltf(path, reduced, motion=motion)
    read = pygltflib.GLTF2().load(str(path))
    _, arrays = verify(path)
    for index, accessor in enumerate(read.accessors):
        view = read.bufferViews[accessor.bufferView]
        part = read.binary_blob()[view.byteOffset : view.byteOffset + view.byteLength]
        assert part == arrays[index].tobytes()
    primitive = read.meshes[0].primitives[0]
    assert len(primitive.targets) == len(read.meshes[0].weights) == reduced.r + 1
    assert read.animations[0].channels[0].target.path == "weights"
    assert read.meshes[0].extras["targetNames"][0] == "shape 1"


def test_trimesh_reads_the_surface(reduced, tmp_path):
    """In its scene y is up."""
    surface = reduced.mesh.surface()
    for model in (reduced, surface, reduced.mesh):
        for suffix in (".glb", ".gltf"):
            path = tmp_path / f"body{suffix}"
            rf.export_gltf(path, model)
            verify(path)
            scene = trimesh.load(path, process=False)
            mesh = scene.to_mesh() if hasattr(scene, "to_mesh") else scene.dump(concatenate=True)
            x, y, z = surface.vertices.T
            np.testing.assert_allclose(mesh.vertices, np.stack([x, z, -y], 1), atol=1e-7)
            np.testing.assert_array_equal(mesh.faces, surface.triangles)


def test_shapes_without_a_motion_have_a_visible_amplitude(reduced, tmp_path):
    rf.export_gltf(tmp_path / "shapes.glb", reduced, normals=False)
    document, arrays = verify(tmp_path / "shapes.glb")
    assert "animations" not in document
    primitive = document["meshes"][0]["primitives"][0]
    assert list(primitive["attributes"]) == ["POSITION"]
    assert len(primitive["targets"]) == reduced.r
    scale = document["meshes"][0]["extras"]["reducedfem"]["q_range"]
    surface, nodes = reduced.mesh.surface(), reduced.mesh.boundary_nodes
    for target, one, shape in zip(primitive["targets"], scale, reduced.basis, strict=True):
        moved = arrays[target["POSITION"]]
        np.testing.assert_allclose(moved, one * shape[nodes], atol=1e-8)
        size = np.linalg.norm(np.ptp(surface.bounds, axis=0))
        assert np.linalg.norm(moved, axis=1).max() == pytest.approx(0.1 * size)


def test_a_free_body_moves_as_a_whole(body, free, tmp_path):
    places = [body.positions]
    turned = rf.record_motion(body, 1)
    places.append(body.positions)
    for _ in range(40):
        more = rf.record_motion(body, 10)
        places.append(body.positions)
        arrays = (
            np.concatenate([getattr(turned, name), getattr(more, name)[-1:]])
            for name in ("times", "q", "qdot", "poses", "rates")
        )
        turned = rf.Motion(*arrays)
    # half turns change the sign of quaternions
    flipped = turned.poses.copy()
    flipped[::3, 3:] *= -1.0
    motion = rf.Motion(turned.times, turned.q, turned.qdot, flipped)
    rf.export_gltf(tmp_path / "box.glb", free, motion=motion)
    document, read = verify(tmp_path / "box.glb")
    _, quaternions = keys(document, read, "rotation")
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-6)
    assert ((quaternions[1:] * quaternions[:-1]).sum(axis=1) > 0.0).all()
    for k, wanted in enumerate(places):
        x, _ = shape_at(document, read, k)
        np.testing.assert_allclose(x, wanted[free.mesh.boundary_nodes], atol=2e-6)


def test_displacements_of_nodes_are_states(solid, reduced, motion, tmp_path):
    u = np.array([reduced.displacement(q) for q in motion.q])
    nodal = rf.Motion(motion.times, u)
    for model in (solid, solid.mesh):
        rf.export_gltf(tmp_path / "solid.glb", model, motion=nodal)
        document, arrays = verify(tmp_path / "solid.glb")
        for k in range(len(motion)):
            x, normals = shape_at(document, arrays, k)
            wanted = (solid.mesh.nodes + u[k])[solid.mesh.boundary_nodes]
            np.testing.assert_allclose(x, wanted, atol=1e-7)
            assert normals is None


def test_a_projected_solid_has_the_same_shapes(solid, reduced, motion, tmp_path):
    projected = rf.ProjectedSolid(solid, reduced.basis)
    rf.export_gltf(tmp_path / "p.glb", projected, motion=motion)
    document, arrays = verify(tmp_path / "p.glb")
    x, _ = shape_at(document, arrays, 9)
    wanted = solid.mesh.nodes + reduced.displacement(motion.q[9])
    np.testing.assert_allclose(x, wanted[solid.mesh.boundary_nodes], atol=1e-7)


def test_skins_have_normals_of_their_own(reduced, motion, tmp_path):
    surface = reduced.mesh.surface()
    normals = np.tile([0.6, 0.0, 0.8], (surface.n_vertices, 1))
    normals[0] = 0.0  # a vertex without area around it
    rf.export_gltf(tmp_path / "s.glb", rf.Skin(reduced, surface, normals), motion=motion)
    document, arrays = verify(tmp_path / "s.glb")
    read = arrays[document["meshes"][0]["primitives"][0]["attributes"]["NORMAL"]]
    np.testing.assert_allclose(read[1:], normals[1:], atol=1e-7)


def test_slow_motion_begins_at_zero(reduced, motion, tmp_path):
    rf.export_gltf(tmp_path / "s.glb", reduced, motion=motion[5:9], speed=0.1)
    times, _ = keys(*verify(tmp_path / "s.glb"), "weights")
    np.testing.assert_allclose(times, 10.0 * (motion.times[5:9] - motion.times[5]), rtol=1e-6)
    assert times[0] == 0.0


def test_one_state_and_coordinates_at_rest(reduced, tmp_path):
    """A range of zero divides nothing."""
    for q in (np.zeros((3, reduced.r)), np.tile(np.arange(1.0, reduced.r + 1) * 1e-3, (3, 1))):
        moved = rf.Motion([0.0, 0.1, 0.2], q)
        for motion in (moved, moved[:1]):
            rf.export_gltf(tmp_path / "one.glb", reduced, motion=motion)
            x, _ = shape_at(*verify(tmp_path / "one.glb"), len(motion) - 1)
            wanted = reduced.mesh.nodes + reduced.displacement(q[0])
            np.testing.assert_allclose(x, wanted[reduced.mesh.boundary_nodes], atol=1e-7)


def test_large_coordinates_keep_their_digits(reduced, motion, tmp_path):
    """The scale of a basis, hence of q, does not matter."""
    other = rf.Motion(motion.times, 1e12 * motion.q)
    solid = rf.Solid(reduced.mesh, rf.StVK(2e5, 0.3, 1000.0), fixed=reduced.fixed)
    scaled = rf.ProjectedSolid(solid, 1e-12 * reduced.basis)
    rf.export_gltf(tmp_path / "scaled.glb", scaled, motion=other)
    document, arrays = verify(tmp_path / "scaled.glb")
    wanted = reduced.mesh.nodes + reduced.displacement(motion.q[9])
    x, _ = shape_at(document, arrays, 9)
    np.testing.assert_allclose(x, wanted[reduced.mesh.boundary_nodes], atol=1e-7)


def test_many_vertices_have_indices_of_32_bits(tmp_path):
    """The index 65535 restarts a primitive, so 16 bits serve for 65535 vertices."""
    for n, kind in ((65535, 5123), (65536, 5125)):
        points = np.random.default_rng(1).random((n, 3))
        surface = rf.Surface(points, [[n - 3, n - 2, n - 1], [0, 1, 2]])
        rf.export_gltf(tmp_path / "many.glb", surface)
        document, _ = verify(tmp_path / "many.glb")
        index = document["meshes"][0]["primitives"][0]["indices"]
        assert document["accessors"][index]["componentType"] == kind


def test_colours_are_linear(reduced, tmp_path):
    """A grey of 0.5 on the screen is 0.214 in linear light."""
    rf.export_gltf(tmp_path / "grey.gltf", reduced.mesh.surface(), colour=(0.5, 0.0, 1.0))
    document, _ = contents(tmp_path / "grey.gltf")
    material = document["materials"][0]["pbrMetallicRoughness"]
    np.testing.assert_allclose(material["baseColorFactor"], [0.21404, 0.0, 1.0, 1.0], atol=1e-5)


def test_names_are_those_of_the_file(reduced, tmp_path):
    rf.export_gltf(tmp_path / 'Löffel "1".glb', reduced)
    document, _ = verify(tmp_path / 'Löffel "1".glb')
    assert document["nodes"][1]["name"] == 'Löffel "1"'


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(path="x.obj"), rf.FileFormatError, r"x\.obj.*\.glb \(binary\) or \.gltf"),
        (dict(path="none/x.glb"), rf.FileFormatError, "No such file"),
        (dict(model="x"), rf.InputTypeError, "model must be a ReducedSolid, .*, got str"),
        (dict(motion=np.zeros((3, 5))), rf.InputTypeError, r"got ndarray; record .*Motion\(times"),
        (dict(motion=rf.Motion([0.0], np.zeros((1, 4)))), rf.InputError, "has 4 .* has 5"),
        (dict(motion=rf.Motion([0.0], np.zeros((1, 4, 3)))), rf.InputError, "4 nodes.* has 63"),
        (dict(speed=0.0), rf.InputError, "speed must be positive, got 0"),
        (dict(up="up"), rf.InputError, "up must be one of"),
        (dict(colour=(2, 0, 0)), rf.InputError, r"colour must be .*, got \(2, 0, 0\)"),
        (dict(surface=3), rf.InputTypeError, "surface must be a Surface"),
    ],
)  # fmt: skip
def test_mistakes_are_named(reduced, tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        rf.export_gltf(**dict(path="x.glb", model=reduced) | arguments)
    assert list(tmp_path.iterdir()) == []


def test_motions_of_other_objects_are_refused(reduced, solid, motion, free, body, tmp_path):
    path, surface = tmp_path / "x.glb", reduced.mesh.surface()
    flight = rf.record_motion(body, 2)
    for model, one, more, message in (
        (surface, motion, {}, "a Surface alone has no motion"),
        (solid, motion, {}, "model is a Solid: pass the reduced model"),
        (reduced, rf.Motion(flight.times, motion.q[:3], None, flight.poses), {}, "poses of a free"),
        (rf.Skin(reduced, surface), motion, {"surface": surface}, "surface must be None"),
        (surface, None, {"surface": surface}, "surface must be None"),
    ):
        with pytest.raises(rf.InputError, match=message):
            rf.export_gltf(path, model, motion=one, **more)
    rf.export_gltf(path, free, motion=flight)


def test_values_beyond_single_precision_are_refused(reduced, motion, tmp_path):
    path = tmp_path / "x.glb"
    rf.export_gltf(path, reduced)
    before = path.read_bytes()
    close = rf.Motion([100.0, 100.0 + 1e-9, 200.0], motion.q[:3])
    fine = rf.Motion([0.0, 1e5, 1e5 + 1e-4], motion.q[:3])
    rf.export_gltf(tmp_path / "fine.glb", reduced, motion=close)  # times count from the first
    with pytest.raises(rf.InputError, match=r"motion.times\[2\] is too close"):
        rf.export_gltf(path, reduced, motion=fine)
    far = rf.Surface([[0, 0, 0], [1e39, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    with pytest.raises(rf.InputError, match=r"vertices has 1e\+39, .* units metres"):
        rf.export_gltf(path, far)
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} == {"x.glb", "fine.glb"}


def test_text_files_are_plain_json(reduced, tmp_path):
    rf.export_gltf(tmp_path / "x.gltf", reduced)
    text = (tmp_path / "x.gltf").read_text(encoding="utf-8")
    assert json.loads(text)["asset"]["generator"] == f"reducedfem {rf.__version__}"


def test_the_size_is_a_shape_a_coordinate(tmp_path):
    """A motion costs its coordinates, not its vertices."""
    solid = solid_box((12, 4, 4), (0.3, 0.06, 0.05), rf.StVK(2e5, 0.3, 1000.0))
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 4))
    sizes = []
    for n in (2, 1002):
        rf.export_gltf(tmp_path / "x.glb", model, motion=rf.Motion(np.arange(n), np.ones((n, 4))))
        sizes.append((tmp_path / "x.glb").stat().st_size)
    assert sizes[1] - sizes[0] < 1000 * 4 * (4 + 1 + 1) + 500
