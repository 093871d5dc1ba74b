"""Time series and pictures of worlds."""

from __future__ import annotations

from xml.etree import ElementTree

import meshio
import numpy as np
import pytest

import reducedfem as rf
from dimpled_worlds import AT, BOX, DEEP, falling, make_pad, pressed
from reducedfem import plot
from reducedfem.pictures.animation import FILMERS
from reducedfem.viewer.shown_world_motion import world_shapes
from shapes import box_tets


def series(path):
    """Return the parts of a collection: time and contents."""
    sets = ElementTree.parse(path).getroot().findall("./Collection/DataSet")
    return [
        (float(one.get("timestep")), meshio.read(path.with_name(one.get("file")))) for one in sets
    ]


def test_meshes_are_where_the_bodies_are(tmp_path):
    world, told = falling(), []
    states = [[world.nodes(k) for k in range(3)]]
    motion = rf.record_motion(world, 60, every=30)
    other = falling()
    for _ in range(2):
        other.step(30)
        states.append([other.nodes(k) for k in range(3)])
    tell = lambda a, b: told.append((a, b))  # noqa: E731
    rf.export_vtk(tmp_path / "fall.pvd", world, motion, progress=tell)
    assert told == [(1, 3), (2, 3), (3, 3)]
    found = series(tmp_path / "fall.pvd")
    np.testing.assert_allclose([time for time, _ in found], motion.times)
    for (_, mesh), places in zip(found, states, strict=True):
        moved = mesh.points + mesh.point_data["displacement"]
        np.testing.assert_allclose(moved, np.concatenate(places), atol=1e-7)
        np.testing.assert_array_equal(mesh.cell_data["body"][0], np.repeat([0, 1, 2], 8))
    # momentum of equal nodes of a rigid box is that of its centre
    v = found[0][1].point_data["velocity"].reshape(3, -1, 3)
    np.testing.assert_allclose(v.mean(axis=1)[:, 0], [0.0, 0.5, 1.0], atol=1e-6)
    arm = states[0][1] - motion.bodies[1].poses[0, :3]
    exact = np.array([0.5, 0, 0]) + np.cross(motion.bodies[1].rates[0, 3:], arm)
    np.testing.assert_allclose(v[1], exact, atol=1e-6)


def test_surfaces_have_their_dimples(tmp_path):
    pad = make_pad()
    world = pressed(pad, 40)
    motion = rf.record_motion(world, 10, every=10)
    rf.export_vtk(tmp_path / "pad.pvd", world, motion)
    mesh = series(tmp_path / "pad.pvd")[-1][1]
    own = np.split(np.arange(len(mesh.points)), np.cumsum([27, 405]))[1]
    back = AT.inverse().apply((mesh.points + mesh.point_data["displacement"])[own])
    u = back - pad.solid.mesh.nodes
    exact = world.dimple(-2)
    # nodes of the top at points of the shell
    away = np.linalg.norm(pad.solid.mesh.nodes[:, None] - pad.tree.shell.points[None], axis=2)
    node, point = np.nonzero(away < 1e-9)
    assert len(node) == 81
    np.testing.assert_allclose(u[node], exact[point], atol=2e-3 * np.abs(exact).max() + 1e-7)
    assert not np.abs(u[pad.solid.mesh.nodes[:, 2] < 1e-9 - DEEP]).max() > 1e-7


def test_elements_of_several_kinds_are_parts(tmp_path):
    world = rf.World(1e-3)
    world.add(falling(1).bodies[0], field=BOX)
    solid = rf.Solid(rf.Mesh(*box_tets(1, 1, 1)), rf.StVK(1e5, 0.3, 1000.0))
    body = rf.FreeBody(rf.reduce(solid, rf.modal_derivative_basis(solid, 1, 1)), 1e-3)
    body.reset((0.0, 0.0, 3.0))
    world.add(body, field=rf.SphereField((0, 0, 0), 0.3))
    motion = rf.record_motion(world, 2)
    rf.export_vtk(tmp_path / "both.pvd", world, motion)
    found = series(tmp_path / "both.pvd")
    assert [time for time, _ in found] == pytest.approx(np.repeat(motion.times, 2))
    moved = [mesh.points + mesh.point_data["displacement"] for _, mesh in found[-2:]]
    for k in range(2):
        np.testing.assert_allclose(moved[k], world.nodes(k), atol=1e-6)


def test_motions_of_other_worlds_are_refused(tmp_path):
    world = falling(2)
    motion = rf.record_motion(world, 1)
    path = tmp_path / "m.pvd"
    with pytest.raises(rf.InputError, match="motion has 2 bodies, but the world has 1"):
        rf.export_vtk(path, falling(1), motion)
    with pytest.raises(rf.InputTypeError, match="motion must be a WorldMotion, got Motion"):
        rf.export_vtk(path, world, motion.bodies[0])
    short = [rf.Motion(one.times, one.q[:, :1], one.qdot[:, :1], one.poses, one.rates)
             for one in motion.bodies]  # fmt: skip
    with pytest.raises(rf.InputError, match=r"motion.bodies\[0\] is not of body 0 .* 1 reduced"):
        rf.export_vtk(path, world, rf.WorldMotion(motion.times, short))
    odd = rf.WorldMotion(motion.times, motion.bodies, {0: np.zeros((2, 5, 3))})
    with pytest.raises(rf.InputError, match="dimple of 5 points of body 0, which has no local"):
        rf.export_vtk(path, world, odd)
    with pytest.raises(rf.InputError, match="stress is of a single body"):
        rf.export_vtk(path, world, motion, stress=1)
    with pytest.raises(rf.InputTypeError, match=r"got World; write .* world\.bodies\[0\]\.reduced"):
        rf.export_gltf(tmp_path / "m.glb", world, motion=motion)
    with pytest.raises(rf.InputTypeError, match="motion must be a Motion, got WorldMotion"):
        rf.export_vtk(path, world.bodies[0].reduced, motion)
    assert not path.exists()


def test_a_picture_has_the_bodies_where_they_are():
    """It is that of the surfaces of the bodies, drawn by hand, from the same camera."""
    world = rf.World(1e-3)  # without ground
    bodies = falling(2).bodies
    for one in bodies:
        world.add(one)
    camera = plot.frame_of(world, size=(120, 90))
    image = plot.render(world, camera=camera)
    mesh = bodies[0].reduced.mesh
    boundary, faces = mesh.boundary_nodes, mesh.surface().triangles
    by_hand = [plot.Shape(world.nodes(k)[boundary]) for k in range(2)]
    expected = plot.render(by_hand, faces, camera=camera)
    np.testing.assert_array_equal(image[..., 3] > 0.5, expected[..., 3] > 0.5)
    colours = image[image[..., 3] > 0.99][:, :3]
    assert (colours[:, 2] > colours[:, 0]).any()  # blue and orange
    assert (colours[:, 0] > colours[:, 2]).any()


def test_a_picture_has_ground_and_dimples():
    pad = make_pad()
    world = pressed(pad)
    u = world.dimple(-2)
    assert u[:, 2].min() < -1e-4
    ((shape,), _, points) = world_shapes(world)
    back = AT.inverse().apply(shape.vertices)
    # the vertices of the pad at points of its shell, and those of the other pad
    away = np.linalg.norm(back[:, None] - (pad.tree.shell.points + u)[None], axis=2)
    assert (away < 1e-3 * np.abs(u).max()).any(axis=1).sum() >= 81
    np.testing.assert_array_equal(points, shape.vertices)
    world = falling(1)
    grounded = plot.render(world, size=(90, 90), elevation=40.0)
    low = grounded[grounded.shape[0] * 3 // 4]
    assert (low[:, 3] > 0.5).any()
    with pytest.raises(rf.InputError, match="triangles is given, but a World has its own"):
        plot.render(world, [[0, 1, 2]])
    with pytest.raises(rf.InputTypeError, match="shapes must be shapes with triangles or a World"):
        plot.render([])


@pytest.mark.parametrize("ground", ["plane below", "plane", "ball"])
def test_pictures_frame_the_bodies(ground):
    """However far the ground is, or large."""
    field = {
        "plane below": rf.PlaneField((0, 0, -100.0), (0, 0, 1)),
        "plane": rf.PlaneField((0, 0, 0), (0, 0, 1)),
        "ball": rf.SphereField((0, 0, -0.95), 0.95),
    }[ground]
    world, free = rf.World(1e-3, ground=field), rf.World(1e-3)
    body = falling(1).bodies[0]
    body.reset((0, 0, 0.016))
    for one in (world, free):
        one.add(body)
    camera = plot.frame_of(world, size=(90, 90))
    own = plot.render(free, camera=camera)[..., 3] > 0.5
    wide = own.any(axis=0).sum()
    assert wide > 0.5 * camera.size[0]
    image = plot.render(world, camera=camera)
    covered = (image[..., 3] > 0.5).mean()
    assert covered > own.mean() + 0.1 or ground == "plane below"
    motion = rf.record_motion(world, 1)
    film = FILMERS[rf.World](world, motion)
    points = film.framed(next(film.places()))
    assert np.ptp(points, axis=0).max() < 4 * np.ptp(world.nodes(0), axis=0).max()


def test_films_have_the_bodies_at_their_places(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    world, other = falling(2), falling(2)
    motion = rf.record_motion(world, 80, every=40)
    told = []
    plot.animate(
        tmp_path / "fall.gif",
        world,
        motion,
        size=(64, 48),
        clock=False,
        progress=lambda a, b: told.append((a, b)),
    )
    assert told[-1] == (3, 3)
    with Image.open(tmp_path / "fall.gif") as film:
        assert film.n_frames == 3
        assert film.size == (64, 48)
    film = FILMERS[rf.World](world, motion)
    boundary = other.bodies[0].reduced.mesh.boundary_nodes
    for places in film.places():
        for k in range(2):
            exact = other.nodes(k)[boundary]
            away = np.linalg.norm(places[:, None] - exact[None], axis=2)
            assert away.min(axis=0).max() < 1e-9
        other.step(40)
    assert len(film.colours(0)) == len(places) > film.triangles.max()
    with pytest.raises(rf.InputError, match="values is given, but a World has none"):
        plot.animate(tmp_path / "fall.gif", world, motion, values=np.ones(3))
    with pytest.raises(rf.InputTypeError, match="motion must be a WorldMotion, got Motion"):
        plot.animate(tmp_path / "fall.gif", world, motion.bodies[0])
