"""Warnings of loads on nodes of cut cells that lie outside of the body."""

from __future__ import annotations

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


def test_models_and_simulations_warn(solid, node):
    load = load_on(solid, node)
    basis = rf.modal_derivative_basis(solid, 2, 4)
    model = rf.reduce(solid, basis)
    for one in (model, rf.ProjectedSolid(solid, basis)):
        for call in (one.project, one.solve_static):
            with pytest.warns(rf.PlausibilityWarning, match=SAID) as found:
                call(load)
            assert [one.filename for one in found] == [__file__]
    for sim in (
        rf.ImplicitNewmark(model, 1e-4),
        rf.CentralDifferences(model),
        rf.BackwardEuler(solid, 1e-4),
    ):
        sim.step(beside(solid, node)[1])
        with pytest.warns(rf.PlausibilityWarning, match=SAID) as found:
            sim.step(load.ravel())
            sim.step(load, 2)
        assert [one.filename for one in found] == [__file__]  # once a simulation


def test_free_bodies_warn(node):
    solid = rf.Solid(rf.voxelize(BALL, 6, order=1), RUBBER)
    node = int((solid.mesh.nodes @ (1.0, 1.0, 1.0)).argmax())
    load = load_on(solid, node)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, 1, 2))
    bodies = [rf.FreeBody(model, 1e-4) for _ in range(3)]
    with pytest.warns(rf.PlausibilityWarning, match=SAID) as found:
        bodies[0].step(load)
        bodies[0].step(load)
        rf.step_free_bodies(bodies, [load, None, load])
    assert [one.filename for one in found] == 2 * [__file__]


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
    basis = rf.modal_derivative_basis(solid, 1, 1)
    projected = rf.ProjectedSolid(solid, basis)
    for load in loads:
        projected.project(load)  # warnings are errors


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
