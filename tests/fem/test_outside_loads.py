"""Warnings of loads on nodes of cut cells that lie outside of the body."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import reducedfem as rf
from shapes import sphere

RUBBER = rf.StVK(1e6, 0.45, 1000.0)
SAID = r"force loads node \d+ at \(.*\), 0\.0\d+ m outside of the body, in cut cells that contain"
BALL = rf.Surface(*sphere(12, radius=0.05))


@pytest.fixture(scope="module", params=[1, 2])
def solid(request):
    mesh = rf.voxelize(BALL, 6, order=request.param)
    return rf.Solid(mesh, RUBBER, mesh.nodes[:, 2] < -0.03)


@pytest.fixture(scope="module")
def node(solid):
    """Node farthest from the body, at an upper corner of the grid."""
    return int((solid.mesh.nodes @ (1.0, 1.0, 1.0)).argmax())


def load_on(solid, nodes, force=(0.0, 0.0, -1e-3)):
    load = np.zeros((solid.mesh.n_nodes, 3))
    load[nodes] = force
    return load


def beside(solid, node):
    """Return the same load at the point of the surface next to a node."""
    x = solid.mesh.nodes[node]
    near = BALL.vertices[np.linalg.norm(BALL.vertices - x, axis=1).argmin()]
    return near, rf.Embedding(solid.mesh, near[None]).distribute([[0.0, 0.0, -1e-3]])


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_the_load_of_a_point_keeps_force_and_moment_and_is_answered_by_the_body(solid, node):
    """Unlike a load on a node outside, which is answered by its nearly empty cell alone."""
    place, load = beside(solid, node)
    np.testing.assert_allclose(load.sum(axis=0), (0, 0, -1e-3), atol=1e-15)
    moment = np.cross(solid.mesh.nodes, load).sum(axis=0)
    np.testing.assert_allclose(moment, np.cross(place, (0, 0, -1e-3)), atol=1e-15)
    u = solid.solve_static(load)  # warnings are errors
    right = rf.Embedding(solid.mesh, place[None]).interpolate(u)
    with pytest.warns(rf.PlausibilityWarning, match=SAID) as found:
        wrong = solid.solve_static(load_on(solid, node))
    assert np.linalg.norm(wrong[node]) > 20.0 * np.linalg.norm(right)
    assert [one.filename for one in found] == [__file__]
    assert "Embedding(mesh, points).distribute(forces)" in str(found[0].message)
    distance = np.linalg.norm(solid.mesh.nodes[node]) - 0.05
    # of a polyhedron inside the sphere
    said = float(str(found[0].message).split("), ")[1].split(" m")[0])
    assert distance < said < distance + 0.002


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_simulations_of_solids_warn_once(solid, node):
    load = load_on(solid, node)
    for sim in (rf.BackwardEuler(solid, 1e-4), rf.CentralDifferences(solid, 1e-7)):
        sim.step(beside(solid, node)[1])
        with pytest.warns(rf.PlausibilityWarning, match=SAID) as found:
            sim.step(load.ravel())
            sim.step(load, 2)
        assert [one.filename for one in found] == [__file__]
        for twin in (sim.clone(), pickle.loads(pickle.dumps(sim))):
            twin.step(-load)  # warnings are errors


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_warnings_are_independent_of_earlier_simulations(solid, node):
    good, load = beside(solid, node)[1], load_on(solid, node)
    for k in range(12):
        solid.solve_static((k + 1) * good)
    for sim in (rf.BackwardEuler(solid, 1e-4), rf.BackwardEuler(solid, 1e-4)):
        with pytest.warns(rf.PlausibilityWarning, match=SAID):
            sim.step(load)


def test_of_changing_loads_few_are_examined(solid, node):
    """The first, second, fourth and so on; equal ones do not count."""
    load = load_on(solid, node)
    sim = rf.BackwardEuler(solid, 1e-4)
    for k in (1, 1, 2):
        sim.step(k * solid.gravity())
    sim.step(load)  # the third
    with pytest.warns(rf.PlausibilityWarning, match=SAID):
        sim.step(2.0 * load)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_reduced_models_have_no_soft_nodes(solid, node):
    load = load_on(solid, node)
    basis = rf.modal_derivative_basis(solid, 2, 4)
    model = rf.reduce(solid, basis)
    for one in (model, rf.ProjectedSolid(solid, basis)):
        one.project(load)  # warnings are errors
        one.solve_static(load)
        rf.ImplicitNewmark(one, 1e-4).step(load)
    free = rf.Solid(solid.mesh, RUBBER)
    rf.FreeBody(rf.reduce(free, rf.modal_derivative_basis(free, 1, 2)), 1e-4).step(load)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_thin_bodies_bend_farther_than_their_nodes_yield():
    """Nodes outside of a thin plate move with it, but for those of the emptiest cells."""
    size = np.array([0.1, 0.03, 0.0022])
    corners = size * np.stack(np.meshgrid(*3 * [[0.0, 1.0]], indexing="ij"), -1).reshape(-1, 3)
    block = rf.Mesh(corners, [[0, 4, 6, 2, 1, 5, 7, 3]]).surface()
    tilt = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]) @ np.array(
        [[1, 0, 0], [0, 0.96, -0.28], [0, 0.28, 0.96]]
    )
    plate = rf.Surface(block.vertices @ tilt.T, block.triangles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.PlausibilityWarning)  # thin
        mesh = rf.voxelize(plate, 20)
        along = mesh.nodes @ tilt[:, 0]
        solid = rf.Solid(mesh, RUBBER, along < 0.012)
    end = np.flatnonzero(along > 0.09)
    places = mesh.nodes @ tilt  # in the axes of the plate
    beside = np.clip(places, 0.0, size)
    outside = end[np.linalg.norm(places - beside, axis=1)[end] > size[2]]
    solid.solve_static(load_on(solid, end, (0.0, 0.0, -1e-4 / len(end))))
    soft = 0
    for node in outside[:: len(outside) // 8]:
        near = rf.Embedding(mesh, (tilt @ beside[node])[None])
        load = load_on(solid, node, 1e-7 * tilt[:, 2])
        right = near.distribute(1e-7 * tilt[None, :, 2])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", rf.PlausibilityWarning)
            work = np.vdot(load, solid.solve_static(load))
        ratio = work / np.vdot(right, solid.solve_static(right))
        assert bool(found) == (ratio > 5.0)
        soft += bool(found)
    assert soft < 4


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_loads_on_the_body_and_without_effect_do_not_warn(solid, node):
    mesh = solid.mesh
    embedding = rf.Embedding(mesh, BALL.vertices)
    rng = np.random.default_rng(5)
    whole = np.unique(mesh.elements[mesh.fractions == 1.0])
    up = solid.free[mesh.nodes[solid.free, 2].argmax()]
    top = np.intersect1d(np.flatnonzero(mesh.nodes[:, 2] > mesh.nodes[up, 2] - 1e-9), whole)
    patch = BALL.vertices[:, 2] > 0.04
    loads = [
        solid.gravity(),
        solid.gravity(lumped=True),
        load_on(solid, whole),
        load_on(solid, top),
        load_on(solid, int((mesh.nodes @ (-1.0, -1.0, -1.0)).argmax())),  # fixed
        load_on(solid, node, 0.0),
        embedding.distribute(BALL.normals),
        embedding.distribute(np.where(patch[:, None], BALL.normals, 0.0)),
    ]
    for vertex in rng.choice(BALL.n_vertices, 9, replace=False):
        alone = np.zeros((BALL.n_vertices, 3))
        alone[vertex] = rng.normal(size=3)
        loads.append(embedding.distribute(alone))
    for load in loads:
        solid.solve_static(1e-6 * load)  # warnings are errors


def test_a_layer_of_nodes_outside_warns(solid):
    """The usual selection of an end: most of its nodes are in nearly empty cells."""
    mesh = solid.mesh
    layer = mesh.nodes[:, 0] > mesh.nodes[:, 0].max() - 1e-9
    with pytest.warns(rf.PlausibilityWarning, match=SAID):
        solid.solve_static(load_on(solid, layer, (1e-5, 0.0, 0.0)))


def test_whole_cells_and_refused_loads_do_not_warn(solid, node):
    mesh = rf.voxelize(BALL, 6, cut=False)
    whole = rf.Solid(mesh, RUBBER, mesh.nodes[:, 2] < -0.03)
    corner = int((mesh.nodes @ (1.0, 1.0, 1.0)).argmax())
    whole.solve_static(load_on(whole, corner))
    for wrong in (np.inf, np.nan):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(rf.InputError, match="finite"):
                solid.solve_static(load_on(solid, node, (0.0, wrong, 0.0)))
