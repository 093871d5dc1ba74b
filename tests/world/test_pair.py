"""Pairs of bodies: a frame that moves changes nothing but the axes; both sides are alike."""

from __future__ import annotations

import numpy as np
import pytest

import turns
from world_core import FIELD, HERE, JOINT, OWN, TREE, Scene, WorldError

RADIUS, STIFFNESS, R = 0.02, 300.0, 2
GRASP = np.array([0.004, -0.002, 0.01])
ARM = np.array([-0.01, 0.006, 0.003])  # reference point of the shell's body
Q = np.array([0.3, -0.2])


def random_pose(rng, distance):
    quaternion = rng.standard_normal(4)
    return np.array(
        [*(distance * rng.standard_normal(3)), *(quaternion / np.linalg.norm(quaternion))]
    )


def moved(by, pose):
    """Return a pose moved by a rigid motion."""
    return np.array(
        [*(turns.rotation(by[3:]) @ pose[:3] + by[:3]), *turns.product(by[3:], pose[3:])]
    )


def blockwise(rotation, matrix):
    """Turn the rows and columns of two triples."""
    both = np.kron(np.eye(2), rotation)
    return both @ matrix @ both.T


@pytest.fixture
def cloud(rng):
    """Return points with normals, and two motions of them."""
    points = 0.03 * rng.uniform(-1.0, 1.0, (60, 3))
    normals = rng.standard_normal((60, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return points, normals, 0.01 * rng.standard_normal((60, 3, R)).astype(np.float32).astype(float)


@pytest.fixture
def place(rng):
    """Return a pose of the sphere among the points."""
    return np.array([0.006, -0.004, 0.003, *random_pose(rng, 0.0)[3:]])


def of(cloud, kind, tree, field, motion=False):
    """Return a scene of a deformed shell and the sphere, at two poses."""
    scene = Scene(*cloud[:2], RADIUS, STIFFNESS, cloud[2], GRASP)
    springs = np.array([50.0, 70.0]) if motion else None
    shell = scene.body(kind, tree, ARM, springs, q=Q if motion else None, implicit=motion)
    held = scene.body("held", field, GRASP)
    pair = scene.pair(shell, held)
    if not motion:
        scene.shape(shell, Q)
    return scene, shell, held, pair


def test_a_rigid_motion_of_both_bodies_turns_the_results(rng, cloud, place):
    scene, shell, held, pair = of(cloud, "held", HERE, place)
    scene.search()
    at_rest = [scene.side(pair, role) for role in (TREE, FIELD)]
    points = scene.touching(pair)
    depth = scene.lib.scene_depth()
    assert 5 < at_rest[0][3] < 60
    for _ in range(5):
        by = random_pose(rng, 0.5)
        rotation = turns.rotation(by[3:])
        scene.place(shell, by)
        scene.place(held, moved(by, place))
        scene.search()
        for role, (wrench, gradient, reduced, touching) in zip((TREE, FIELD), at_rest, strict=True):
            now = scene.side(pair, role)
            # the ball's pose is rounded: 1e-16 m of gaps of 1e-3 m, and arms of up to 0.5 m
            np.testing.assert_allclose(now[0][:3], rotation @ wrench[:3], rtol=0, atol=1e-10)
            np.testing.assert_allclose(now[0][3:], rotation @ wrench[3:], rtol=0, atol=1e-11)
            turned = blockwise(rotation, gradient)
            np.testing.assert_allclose(now[1], turned, rtol=0, atol=1e-10 * abs(turned).max())
            np.testing.assert_allclose(now[2], reduced, rtol=0, atol=1e-11)
            assert now[3] == touching
        again = scene.touching(pair)
        np.testing.assert_array_equal(again[0], points[0])
        np.testing.assert_allclose(again[1], points[1] @ rotation.T + by[:3], atol=1e-13)
        np.testing.assert_allclose(again[2], points[2], atol=1e-13)
        np.testing.assert_allclose(again[3], points[3] @ rotation.T, atol=1e-13)
        np.testing.assert_allclose(again[4], points[4] @ rotation.T, atol=1e-10)
        assert scene.lib.scene_depth() == pytest.approx(depth, abs=1e-13)
    scene.lib.scene_end()


def test_both_sides_are_sums_over_the_same_points(rng, cloud, place):
    """Wrenches about each body's own reference point, and their derivatives, point by point."""
    by = random_pose(rng, 0.5)
    scene, _, _, pair = of(cloud, "held", by, moved(by, place))
    scene.search()
    _, positions, _, normals, forces = scene.touching(pair)
    references = (by[:3] + turns.rotation(by[3:]) @ ARM, moved(by, place)[:3])
    references = (
        references[0], references[1] + turns.rotation(moved(by, place)[3:]) @ GRASP,
    )  # fmt: skip
    for role, reference, sign in zip((TREE, FIELD), references, (-1.0, 1.0), strict=True):
        wrench, gradient, _, _ = scene.side(pair, role)
        arms = positions - reference
        expected = sign * np.concatenate([forces.sum(axis=0), np.cross(arms, forces).sum(axis=0)])
        np.testing.assert_allclose(wrench, expected, rtol=0, atol=1e-12)
        rows = np.concatenate([normals, np.cross(arms, normals)], axis=1)
        derivative = -STIFFNESS * rows.T @ rows
        np.testing.assert_allclose(gradient, derivative, rtol=0, atol=1e-10 * abs(derivative).max())
        assert np.linalg.eigvalsh(gradient)[-1] < 1e-10 * abs(derivative).max()
    scene.lib.scene_end()


def test_wrenches_are_opposite(rng, cloud, place):
    by = random_pose(rng, 0.3)
    scene, shell, held, pair = of(cloud, "held", by, moved(by, place))
    scene.search()
    scene.lib.scene_load()
    tree, field = scene.load(shell)[0], scene.load(held)[0]
    np.testing.assert_array_equal(tree[:3], -field[:3])
    # about one point: the origin
    at = by[:3] + turns.rotation(by[3:]) @ ARM
    ball = moved(by, place)
    grasp = ball[:3] + turns.rotation(ball[3:]) @ GRASP
    total = tree[3:] + np.cross(at, tree[:3]) + field[3:] + np.cross(grasp, field[:3])
    np.testing.assert_allclose(total, 0.0, atol=1e-15 + 1e-13 * np.linalg.norm(field))
    np.testing.assert_array_equal(scene.load(held)[1], scene.side(pair, FIELD)[1])
    np.testing.assert_array_equal(scene.load(shell)[1], scene.side(pair, TREE)[1])
    scene.lib.scene_end()


def test_blocks_turn_with_the_shell(rng, cloud, place):
    scene, shell, held, pair = of(cloud, "held", HERE, place, motion=True)
    scene.call("ask", pair, JOINT)
    scene.search()
    _, mixed, block = scene.blocks(pair)
    assert abs(block[:R, :R]).max() > 0.0
    by = random_pose(rng, 0.4)
    scene.place(shell, by)
    scene.place(held, moved(by, place))
    scene.search()
    both = np.kron(np.eye(2), turns.rotation(by[3:]))
    _, turned, same = scene.blocks(pair)
    np.testing.assert_allclose(same, block, rtol=0, atol=1e-10 * abs(block).max())
    expected = both @ mixed[:6]
    np.testing.assert_allclose(turned[:6], expected, rtol=0, atol=1e-10 * abs(expected).max())
    scene.lib.scene_end()


def test_own_blocks_are_the_stiffness_of_an_implicit_body(cloud, place):
    scene, shell, _, pair = of(cloud, "reduced", HERE, place, motion=True)
    scene.call("ask", pair, OWN)
    scene.search()
    scene.lib.scene_load()
    wrench, gradient, reduced, added = scene.load(shell, R)
    np.testing.assert_array_equal(added, -scene.blocks(pair)[2][:R, :R])
    np.testing.assert_array_equal(reduced, scene.side(pair, TREE)[2])
    np.testing.assert_array_equal(wrench, scene.side(pair, TREE)[0])
    np.testing.assert_array_equal(gradient, 0.0)  # anchored
    point, _, _, normals, _ = scene.touching(pair)
    rows = np.einsum("ki,kir->kr", normals, cloud[2][point])
    np.testing.assert_allclose(added, STIFFNESS * rows.T @ rows, rtol=1e-5)
    scene.lib.scene_end()


def test_loads_are_sums_over_pairs_in_any_role(cloud, place):
    """The middle body carries the sphere in one pair and the shell in another."""
    scene = Scene(*cloud[:2], RADIUS, STIFFNESS, cloud[2], GRASP)
    first = scene.body("fixed", HERE, GRASP)
    middle = scene.body("held", place, GRASP)
    last = scene.body("held", moved(place, place), GRASP)
    pairs = [scene.pair(first, middle), scene.pair(middle, last), scene.pair(last, first)]
    scene.search()
    scene.lib.scene_load()
    for body, as_field, as_tree in ((middle, 0, 1), (last, 1, 2), (first, 2, 0)):
        expected = [
            scene.side(pairs[as_tree], TREE)[k] + scene.side(pairs[as_field], FIELD)[k]
            for k in (0, 1)
        ]  # fmt: skip
        wrench, gradient, _, _ = scene.load(body)
        np.testing.assert_allclose(wrench, expected[0], rtol=1e-14, atol=1e-18)
        if body != first:
            np.testing.assert_allclose(gradient, expected[1], rtol=1e-14, atol=1e-18)
    scene.lib.scene_end()


def test_mistakes(cloud):
    scene = Scene(*cloud[:2], RADIUS, STIFFNESS, cloud[2], GRASP)
    ball = scene.body("held", HERE, GRASP)
    with pytest.raises(WorldError, match="a body cannot be paired with itself"):
        scene.pair(ball, ball)
    other = scene.body("held", HERE, (0, 0, 0))
    with pytest.raises(WorldError, match=r"grasp point \(0.004, .* reference point \(0, 0, 0\)"):
        scene.pair(ball, other)
    stiff = scene.body("reduced", springs=[1.0, 2.0, 3.0])
    with pytest.raises(WorldError, match="shell of a contact has 2 reduced .* its body 3"):
        scene.pair(stiff, ball)
    soft = scene.body("held", HERE, GRASP, springs=[1.0])
    with pytest.raises(WorldError, match="field of a contact has 0 reduced .* its body 1"):
        scene.pair(other, soft)
    scene.lib.scene_end()
