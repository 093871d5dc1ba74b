"""Poses against matrices, and everywhere where a position and a quaternion are taken."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from shapes import box_hexes, solid_box

HALF = np.sqrt(0.5)


def some(rng):
    q = rng.normal(size=4)
    return rf.Pose(rng.normal(size=3), q / np.linalg.norm(q))


def test_against_matrices(rng):
    for _ in range(50):
        a, b, x = some(rng), some(rng), rng.normal(size=(4, 3))
        both = np.column_stack([x, np.ones(4)]) @ a.matrix.T
        np.testing.assert_allclose(a.apply(x), both[:, :3], atol=1e-14)
        np.testing.assert_allclose(a.apply(x[0]), both[0, :3], atol=1e-14)
        np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=1e-14)
        np.testing.assert_allclose(a.inverse().matrix, np.linalg.inv(a.matrix), atol=1e-14)
        for given in (a.matrix, a.matrix[:3]):
            again = rf.Pose.from_matrix(given)
            np.testing.assert_allclose(again.matrix, a.matrix, atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(a.rotation), 1.0)
    # all four ways to a quaternion
    for turn in np.eye(4):
        found = rf.Pose.from_matrix(rf.Pose(quaternion=turn * [1, 1, 1, -1]).rotation)
        np.testing.assert_allclose(np.abs(found.quaternion), turn, atol=1e-15)
        assert not found.position.any()


def test_properties_of_a_pose(rng):
    a = some(rng)
    place, turn = a
    assert (place == a.position).all()
    assert (turn == a.quaternion).all()
    for again in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), rf.Pose(*a)):
        assert again == a
        assert hash(again) == hash(a)
    assert a != a.inverse()
    assert a != 3
    assert repr(rf.Pose((1, -0.0, 2))) == "Pose((1, 0, 2), (1, 0, 0, 0))"
    with pytest.raises(ValueError, match="read-only"):
        a.position[0] = 1.0
    with pytest.raises(TypeError):
        a @ 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rf.Pose((1, 2)), r"position must have shape \(3,\), got \(2,\)"),
        (lambda: rf.Pose((0, 0, np.nan)), r"position\[2\] is nan"),
        (lambda: rf.Pose(quaternion=(2, 0, 0, 0)), "has norm 2"),
        (lambda: rf.Pose.from_matrix(np.eye(2)), r"shape \(4, 4\), \(3, 4\) or \(3, 3\)"),
        (lambda: rf.Pose.from_matrix(2 * np.eye(3)), "no rotation: its rows are orthonormal but"),
        (lambda: rf.Pose.from_matrix(-np.eye(3)), "no rotation: it mirrors"),
        (lambda: rf.Pose.from_matrix(np.ones((4, 4))), "the last row of matrix"),
        (lambda: rf.Pose().apply(np.zeros((2, 2))), r"points must have shape \(3,\) or \(n, 3\)"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(rf.InputError, match=message):
        make()


def test_taken_where_positions_and_quaternions_are():
    pose = rf.Pose((0.0, 0.0, 0.9), (HALF, 0.0, 0.0, HALF))
    tree = rf.PointTree(rf.Pointshell([[0.0, 0, 0]], [[0, 0, -1.0]]))
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 1.0), 10.0)
    one = contact.evaluate(*pose)
    assert one.touching == 1
    np.testing.assert_array_equal(contact.evaluate(pose).force, one.force)
    many = contact.evaluate_many([pose, rf.Pose()])
    np.testing.assert_array_equal(many.force[0], one.force)
    coupling = rf.VirtualCoupling(100.0, 1.0)
    hand = rf.Pose((0.0, 0.0, 1.0))
    by_pair = coupling.wrench((hand.position, hand.quaternion), *pose)
    np.testing.assert_array_equal(coupling.wrench(hand, pose).force, by_pair.force)
    step = coupling.step(hand, pose, contact=one)
    np.testing.assert_array_equal(step.position, coupling.step(tuple(hand), *pose, one).position)
    rf.DynamicCoupling(100.0, 1.0, mass=1.0, inertia=1.0).step(hand, pose)
    assert rf.Workspace(start=pose).start[0] == (0.0, 0.0, 0.9)
    for call in (lambda: contact.evaluate(pose, (1, 0, 0, 0)), lambda: contact.evaluate((0, 0, 0))):
        with pytest.raises(rf.InputTypeError, match="quaternion is"):
            call()
    with pytest.raises(rf.InputTypeError, match="a sequence of Poses"):
        contact.evaluate_many([[0.0, 0, 0]])
    solid = solid_box((2, 2, 2), held=None)
    body = rf.FreeBody(rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3)), 1e-3)
    body.reset(pose)
    np.testing.assert_allclose(body.state.position, pose.position)
    np.testing.assert_allclose(body.state.quaternion, pose.quaternion)


# ---- what is likely to be a mistake --------------------------------------------------------------


def test_the_identity_in_another_order_is_reported():
    tree = rf.PointTree(rf.Pointshell([[0.0, 0, 0]], [[0, 0, -1.0]]))
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 1.0), 10.0)
    with pytest.warns(
        rf.PlausibilityWarning, match=r"quaternion is \(0, 0, 0, 1\), .* half a turn about z"
    ):
        contact.evaluate((0, 0, 0.9), (0, 0, 0, 1))
    with pytest.warns(rf.PlausibilityWarning, match="quaternions is"):
        contact.evaluate_many([[0, 0, 0.9]] * 2, [[0, 0, 0, 1]] * 2)
    contact.evaluate((0, 0, 0.9), (0, 0, 0, -1))
    contact.evaluate_many([[0, 0, 0.9]] * 2, [[1, 0, 0, 0], [0, 0, 0, 1]])


def test_a_missing_q_is_reported():
    solid = solid_box((2, 2, 2))
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))
    tree = rf.PointTree(rf.Pointshell([[1.0, 0.5, 0.5]], [[-1.0, 0, 0]]), reduced)
    contact = rf.PenaltyContact(tree, rf.SphereField((0, 0, 0), 1.0), 10.0)
    with pytest.warns(
        rf.PlausibilityWarning,
        match=r"q is None, so .* at rest, although .* \(r = 3\): pass state.q",
    ):
        contact.evaluate(rf.Pose((1.9, 0.5, 0.5)))
    with pytest.warns(rf.PlausibilityWarning, match="qs is None"):
        contact.evaluate_many([rf.Pose((1.9, 0.5, 0.5))])
    contact.evaluate(rf.Pose((1.9, 0.5, 0.5)), q=np.zeros(3))


def test_a_shell_beside_its_body_is_reported():
    mesh = rf.Mesh(*box_hexes(2, 2, 2))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1e3), fixed=mesh.nodes[:, 0] == 0)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, 2, 3))
    own = mesh.surface()
    rf.Skin(reduced, own)
    elsewhere = rf.Surface(np.add(own.vertices, (0, 0, 7.0)), own.triangles)
    with pytest.warns(rf.GeometryWarning, match="vertices of the surface lie farther outside"):
        rf.Skin(reduced, elsewhere)
    embedding = rf.Embedding(mesh, [[0.5, 0.5, 0.5], [0.5, 0.5, 9.0]])
    embedding.distribute([[1.0, 0, 0], [0.0, 0, 0]])
    with pytest.warns(rf.GeometryWarning, match=r"f\[1\] acts 8 m outside of the mesh"):
        embedding.distribute([[1.0, 0, 0], [1.0, 0, 0]])
