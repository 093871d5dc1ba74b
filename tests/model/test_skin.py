"""Surfaces carried by reduced models (Barbic 2007, sections 2.10, 2.12 and 3.6.2)."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from plain_solid import jittered, rotation
from shapes import BOXES, ball

RUBBER = rf.StVK(1e6, 0.4, 1000.0)
SIZE = (0.6, 0.2, 0.2)
R = 6


def bumpy_surface(rng, n=60):
    """Triangles around and a little outside of the box, in no order."""
    centre = rng.uniform([0.0, 0.0, 0.0], SIZE, (n, 3))
    corners = centre[:, None, :] + rng.normal(0.0, 0.02, (n, 3, 3))
    return rf.Surface(corners.reshape(-1, 3), np.arange(3 * n).reshape(n, 3))


@pytest.fixture(scope="module", params=BOXES)
def case(request):
    rng = np.random.default_rng(5)
    nodes, elements, _ = jittered(BOXES[request.param], (6, 2, 2), 0.1, rng, SIZE)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER, nodes[:, 0] == 0)
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=R))
    surface = bumpy_surface(rng)
    return model, surface, rf.Skin(model, surface)


def test_positions_are_those_of_the_embedding(case, rng):
    model, surface, skin = case
    q = 0.05 * rng.standard_normal(R)
    expected = surface.vertices + skin.embedding.interpolate(model.displacement(q))
    np.testing.assert_allclose(skin.positions(q), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        skin.motion, np.moveaxis(skin.embedding.transfer(model.basis), 0, 2), atol=1e-14
    )
    some = rng.integers(0, surface.n_vertices, 17)
    np.testing.assert_array_equal(skin.positions(q, some), skin.positions(q)[some])
    np.testing.assert_array_equal(skin.normals(q, some), skin.normals(q)[some])
    assert skin.positions(q, []).shape == (0, 3)
    np.testing.assert_array_equal(skin.positions(np.zeros(R)), surface.vertices)


def test_normals_are_pushed_forward_by_the_deformation_gradient(case, rng):
    """grad U_j N by differences of the embedding: points moved a little along the normal."""
    model, surface, skin = case
    np.testing.assert_allclose(skin.normals(np.zeros(R)), skin.rest_normals, atol=1e-15)
    inside = ~skin.embedding.outside
    h = 1e-6
    normal = skin.rest_normals
    ends = [rf.Embedding(model.mesh, surface.vertices + side * h * normal) for side in (1.0, -1.0)]
    # both ends in the element of the point: the field has kinks between elements
    same = inside.copy()
    for end in ends:
        same &= ~end.outside & (end.elements == skin.embedding.elements)
    assert same.sum() > 40
    slopes = (ends[0].transfer(model.basis) - ends[1].transfer(model.basis)) / (2 * h)
    expected = np.moveaxis(slopes, 0, 2)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(skin.tilt[same], expected[same], atol=1e-8 * scale)
    q = 0.05 * rng.standard_normal(R)
    turned = normal + skin.tilt @ q
    turned /= np.linalg.norm(turned, axis=1)[:, None]
    np.testing.assert_allclose(skin.normals(q), turned, atol=1e-14)


@pytest.mark.parametrize("make", BOXES.values())
def test_rotations_turn_normals_exactly(make, rng):
    """A basis of linear fields: rotations are in its span, points outside turn along."""
    nodes, elements = make(2, 2, 2, 0.3)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    fields = np.zeros((9, len(nodes), 3))
    for k in range(9):
        fields[k, :, k // 3] = nodes[:, k % 3]
    model = rf.reduce(solid, fields)
    vertices = rng.uniform(-0.1, 0.4, (30, 3))
    surface = rf.Surface(vertices, rng.permutation(30).reshape(10, 3))
    skin = rf.Skin(model, surface)
    turn = rotation([1.0, 2.0, -1.0], 2.0)
    q = (turn - np.eye(3)).ravel()
    np.testing.assert_allclose(skin.positions(q), vertices @ turn.T, atol=1e-13)
    np.testing.assert_allclose(skin.normals(q), skin.rest_normals @ turn.T, atol=1e-12)


def test_vertex_normals_by_angles():
    # by the definition, in NumPy
    nodes, elements = ball(4)
    quads = rf.Mesh(nodes, elements).boundary_faces
    faces = np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    surface = rf.Surface(nodes, faces)
    expected = np.zeros_like(nodes)
    for face in faces:
        for c in range(3):
            here, u, v = nodes[face[c]], nodes[face[(c + 1) % 3]], nodes[face[(c + 2) % 3]]
            normal = np.cross(u - here, v - here)
            cosine = (u - here) @ (v - here) / np.linalg.norm(u - here) / np.linalg.norm(v - here)
            expected[face[c]] += np.arccos(cosine) * normal / np.linalg.norm(normal)
    used = np.unique(faces)
    expected[used] /= np.linalg.norm(expected[used], axis=1)[:, None]
    np.testing.assert_allclose(surface.normals, expected, atol=1e-12)
    # outwards
    assert (np.einsum("ij,ij->i", surface.normals[used], nodes[used]) > 0).all()
    # the corner of a cube: however its faces are cut, three right angles count alike
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], dtype=float)
    cut = rf.Surface(corner, [[0, 2, 4], [0, 4, 1], [0, 1, 3], [0, 3, 2]])
    expected = -np.array([0.0, 0.0, 1.0]) + [0, -1, 0] + np.array([-1.0, 0, 0])
    np.testing.assert_allclose(cut.normals[0], expected / np.sqrt(3), atol=1e-12)
    # a vertex of triangles without area has none
    flat = rf.Surface([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 3]])
    assert not flat.normals[2].any()
    np.testing.assert_allclose(flat.normals[0], [0, 0, 1])


def test_picks(case, rng):
    model, surface, skin = case
    q = 0.03 * rng.standard_normal(R)
    places = skin.positions(q)
    # against every triangle, in NumPy
    for _ in range(20):
        origin = rng.uniform([-0.2, -0.5, -0.5], [0.8, 0.7, 0.7])
        target = places[surface.triangles[rng.integers(surface.n_triangles)]].mean(axis=0)
        direction = 3.0 * (target - origin)
        best = (np.inf, -1)
        for t, (a, b, c) in enumerate(places[surface.triangles]):
            columns = np.column_stack([b - a, c - a, -direction / np.linalg.norm(direction)])
            u, v, s = np.linalg.solve(columns, origin - a)
            if u >= 0 and v >= 0 and u + v <= 1 and s >= 0:
                best = min(best, (s, t))
        pick = skin.pick(origin, direction, q)
        assert pick is not None
        assert pick.triangle == best[1]
        assert pick.distance == pytest.approx(best[0], rel=1e-9)
        np.testing.assert_array_equal(pick.vertices, surface.triangles[pick.triangle])
        assert pick.weights.sum() == pytest.approx(1.0)
        along = origin + pick.distance * direction / np.linalg.norm(direction)
        np.testing.assert_allclose(pick.point, along, atol=1e-12)
    assert skin.pick([10, 10, 10], [1, 0, 0]) is None


def test_forces_on_the_surface_do_the_same_work(case, rng):
    model, surface, skin = case
    some = rng.integers(0, surface.n_vertices, 9)
    forces = rng.standard_normal((9, 3))
    nodal = np.zeros((surface.n_vertices, 3))
    np.add.at(nodal, some, forces)
    expected = model.project(skin.embedding.distribute(nodal))
    np.testing.assert_allclose(skin.project(some, forces), expected, atol=1e-13)
    over = surface.vertices[:3].mean(axis=0) + np.array([0.0, 0.0, 1e-3])
    pick = skin.pick(over, [0, 0, -1])
    assert pick is not None
    force = np.array([0.3, -0.2, 0.5])
    reduced = skin.project(pick, force)
    # virtual work: the place moves by q
    dq = rng.standard_normal(R)
    moved = pick.weights @ (skin.motion[pick.vertices] @ dq)
    assert reduced @ dq == pytest.approx(force @ moved, rel=1e-12)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_results_do_not_depend_on_threads(case, rng, set_threads):
    model, surface, _ = case
    q = 0.05 * rng.standard_normal(R)
    many = rf.Surface(np.tile(surface.vertices, (40, 1)), surface.triangles)
    found = []
    for threads in (1, 3):
        set_threads(threads)
        skin = rf.Skin(model, many)
        found.append((skin.positions(q), skin.normals(q), skin.tilt))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bad_arguments(case):
    model, surface, skin = case
    q = np.zeros(R)
    with pytest.raises(rf.InputTypeError, match="reduced must be a ReducedSolid"):
        rf.Skin(surface, surface)
    with pytest.raises(rf.InputTypeError, match="surface must be a Surface"):
        rf.Skin(model, surface.vertices)
    with pytest.raises(rf.InputError, match=r"normals\[0\] is .* must be a unit vector"):
        rf.Skin(model, surface, 2.0 * surface.normals)
    with pytest.raises(rf.InputError, match="normals must have shape"):
        rf.Skin(model, surface, surface.normals[1:])
    with pytest.raises(rf.InputError, match="q must have shape"):
        skin.positions(np.zeros(R + 1))
    with pytest.raises(rf.InputError, match=r"q\[1\] is nan"):
        skin.normals([0, np.nan, 0, 0, 0, 0])
    with pytest.raises(rf.InputError, match=r"vertices\[1\] is 180"):
        skin.positions(q, [0, surface.n_vertices])
    with pytest.raises(rf.InputError, match="direction must not be zero"):
        skin.pick([0, 0, 0], [0, 0, 0])
    with pytest.raises(rf.InputError, match="direction.1. is nan"):
        skin.pick([0, 0, 0], [0, np.nan, 0])
    with pytest.raises(rf.InputError, match="origin must have shape"):
        skin.pick([0, 0], [1, 0, 0])
    with pytest.raises(rf.InputError, match=r"where\[0\] is -1"):
        skin.project([-1], [[0, 0, 1]])
    with pytest.raises(rf.InputError, match=r"force must have shape \(2, 3\), .* np.tile\(force"):
        skin.project([1, 5], [0, 0, 1])
    with pytest.raises(rf.InputError, match=r"list of vertices, got the number 5: pass \[5\]"):
        skin.project(5, [0, 0, 1])
    with pytest.raises(rf.InputTypeError, match="where must hold integers, got .*bool"):
        skin.project(np.ones(surface.n_vertices, bool), [0, 0, 1])
    assert f"({skin.embedding.outside.sum()} outside)" in repr(skin)
    missed = skin.pick([0, 0, 1e3], [0, 0, 1])
    assert missed is None
    with pytest.raises(rf.InputTypeError, match="where must be a Pick .* met no triangle"):
        skin.project(missed, [0, 0, 1])
    with pytest.raises(rf.InputError, match="so large that the normal"):
        skin.normals(np.full(R, 1e308))


def test_allocation_failures_are_reported_one_by_one(case):
    model, surface, _ = case
    fail_each_allocation(lambda: rf.Skin(model, surface), more_than=5)
