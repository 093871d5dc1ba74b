"""Scenes of the experiments on contact, experiments/contact_scenes.py, against closed forms."""

from __future__ import annotations

import contact_replays as replays
import contact_scenes as scenes
import numpy as np
import pytest

import reducedfem as rf

K = 1000.0


def test_quaternions():
    a, b = scenes.quaternion([1, 2, 2], 0.7), scenes.of_rotation_vector([0.3, -0.2, 1.9])
    together = scenes.rotation(scenes.product(a, b))
    np.testing.assert_allclose(together, scenes.rotation(a) @ scenes.rotation(b), atol=1e-14)
    np.testing.assert_allclose(scenes.rotation_vector(b), [0.3, -0.2, 1.9], atol=1e-14)
    np.testing.assert_allclose(scenes.rotation_vector(-a), 0.7 / 3 * np.array([1, 2, 2]))
    np.testing.assert_array_equal(scenes.of_rotation_vector(np.zeros((2, 3)))[1], [1, 0, 0, 0])
    # a turn about z takes x to y
    turned = scenes.to_world(
        np.array([[1.0, 0, 0]]), [0, 0, 5], scenes.quaternion([0, 0, 1], np.pi / 2)
    )
    np.testing.assert_allclose(turned, [[0, 1, 5]], atol=1e-15)
    back = scenes.to_body(turned, [0, 0, 5], scenes.quaternion([0, 0, 1], np.pi / 2))
    np.testing.assert_allclose(back, [[1, 0, 0]], atol=1e-15)


def test_shapes_are_closed():
    lizard = scenes.lizard(sides=32)
    shelf = scenes.shelf(0.24, 0.12, 0.02, 0.16)
    for surface in (lizard.surface, shelf, scenes.bumpy(0.1, 40, 0.01, 3)):
        assert surface.is_closed
        assert surface.is_manifold
        assert surface.volume > 0.0
        assert surface.n_degenerate == 0
    # the lowest point of the shelf, and six bumps of the given height on the back
    assert shelf.bounds[0, 2] == pytest.approx(0.0, abs=1e-4)
    tips = lizard.surface.vertices[: 318 * 32 : 32][lizard.tips]
    high = np.linalg.norm(tips - lizard.back[lizard.tips], axis=1)
    np.testing.assert_allclose(high, lizard.height, rtol=0.01)
    unit, _ = scenes.icosphere(3)
    sphere = rf.Surface(*scenes.icosphere(3))
    assert len(unit) == 642
    assert sphere.volume == pytest.approx(4.0 / 3.0 * np.pi, rel=0.02)


def test_motion_of_a_hand():
    keys = [(0, 0, 0, 0, 0, 0), (0.1, 0, 0, 0, 0, 1.0), (0.1, 0.2, 0, 0, 0, 0)]
    calm = scenes.hand(keys, 2001)
    np.testing.assert_allclose(calm.positions[[0, 1000, 2000]], np.array(keys)[:, :3], atol=1e-12)
    # at rest at the keys; fastest, 15/8 of the mean, between them
    step = np.linalg.norm(np.diff(calm.positions, axis=0), axis=1)
    assert step[[0, 999, 1000, 1999]].max() < 1e-8
    assert calm.speed()[0] == pytest.approx(15 / 8 * 0.2 / 1000, rel=1e-3)
    assert calm.speed()[1] == pytest.approx(15 / 8 * 1.0 / 1000, rel=1e-3)
    np.testing.assert_allclose(np.linalg.norm(calm.quaternions, axis=1), 1.0, atol=1e-14)
    shaking = scenes.hand(keys, 2001, tremor=1e-3)
    apart = np.abs(shaking.positions - calm.positions)
    assert 2e-4 < apart.max() <= 1e-3


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.3, -0.7, 2.0)])
def test_limit_of_a_ball_in_a_half_space(turn):
    radius, deep = 0.1, 0.02
    unit, faces = scenes.icosphere(6)
    q = scenes.of_rotation_vector(turn)
    normal = scenes.rotation(q)[:, 2]
    position = (deep - radius) * normal
    found = scenes.limit(
        rf.Surface(radius * unit, faces), rf.PlaneField([0, 0, 0], [0, 0, 1]), position, q, K, 2e-3
    )
    # the triangles lie inside of the ball: 3e-4 of the area measured
    expected = -K * 10 * deep * (3 - deep / radius) / 6 * normal
    np.testing.assert_allclose(found.force, expected, atol=1e-3 * np.abs(expected).max())
    assert found.area == pytest.approx(2 * np.pi * radius * deep, rel=1e-3)
    about_centre = found.torque + np.cross(position, found.force)
    assert np.abs(about_centre).max() < 1e-5 * radius * np.linalg.norm(found.force)


def test_limit_against_very_many_points():
    """A bumpy ball and a box at a skew pose; force and torque of 400,000 random points."""
    surface = scenes.bumpy(0.1, 30, 0.02, 4)
    field = rf.BoxField([-0.05, -0.06, -0.04], [0.05, 0.06, 0.04])
    position, q = np.array([0.09, 0.05, 0.06]), scenes.of_rotation_vector([0.5, 0.2, -0.4])
    found = scenes.limit(surface, field, position, q, K, 1e-3)
    points = scenes.random_shell(surface, 400_000, 0)
    force, torque, touching = scenes.plain(points, field, position, q, K)
    # the error of a mean over random points: 1 / sqrt(touching), about
    assert touching > 5_000
    size = np.linalg.norm(force)
    assert np.linalg.norm(found.force - force) < 0.03 * size
    assert np.linalg.norm(found.torque - torque) < 0.03 * size * 0.1
    assert found.area == pytest.approx(surface.area * touching / 400_000, rel=0.05)
    finer = scenes.limit(surface, field, position, q, K, 5e-4)
    assert np.linalg.norm(found.force - finer.force) < 1e-3 * size


def test_limit_without_contact():
    surface = scenes.bumpy(0.1, 30, 0.01, 2)
    found = scenes.limit(
        surface, rf.SphereField([0, 0, 0], 0.1), [0.5, 0, 0], [1, 0, 0, 0], K, 0.01
    )
    assert found.area == 0.0
    np.testing.assert_array_equal([found.force, found.torque], np.zeros((2, 3)))


@pytest.mark.parametrize("weighted", [False, True])
def test_contact_against_the_plain_sum(weighted):
    surface = scenes.bumpy(0.1, 30, 0.02, 4)
    shell = scenes.random_shell(surface, 4000, 3)
    shell = scenes.flat(shell, scenes.voronoi_areas(shell, surface))
    assert shell.areas.sum() == pytest.approx(surface.area)
    field = rf.BoxField([-0.05, -0.06, -0.04], [0.05, 0.06, 0.04])
    position, q = np.array([0.09, 0.05, 0.06]), scenes.of_rotation_vector([0.5, 0.2, -0.4])
    contact = rf.PenaltyContact(
        rf.PointTree(shell), field, K, None, area_weights=weighted, direction="normal"
    )
    out = contact.evaluate(position, q)
    areas = shell.areas if weighted else None
    force, torque, touching = scenes.plain(shell, field, position, q, K, areas)
    assert out.touching == touching > 10
    np.testing.assert_allclose(out.force, force, rtol=1e-9)
    np.testing.assert_allclose(out.torque, torque, rtol=1e-9, atol=1e-12)


def test_recording_keeps_the_object_outside():
    """A ball pulled into a plate: the spring and the contact balance (static virtual coupling)."""
    surface = scenes.shelf(0.24, 0.12, 0.02, 10.0)
    shell = rf.Pointshell.from_surface(surface, 4000, 2, 0, 64)
    contact = rf.PenaltyContact(rf.PointTree(shell), rf.SphereField([0, 0, 0], 0.03), K, None)
    way = scenes.hand([(0, 0, -0.06, 0, 0, 0), (0, 0, 0.01, 0, 0, 0)], 400)
    motion, qs = scenes.record(contact, way, 200.0, 0.1)
    assert qs is None
    free = way.positions[:, 2] < -0.032
    lag = motion.positions[1:][free[:-1]] - way.positions[:-1][free[:-1]]
    assert np.abs(lag).max() < 1e-12  # a free object follows the hand exactly
    end = contact.evaluate(motion.positions[-1], motion.quaternions[-1])
    pull = 200.0 * (way.positions[-1] - motion.positions[-1])
    assert 5.0 < pull[2] < 8.0
    np.testing.assert_allclose(end.force, -pull, atol=0.02 * pull[2])
    # saturated: the spring does no more
    motion, _ = scenes.record(contact, way, 200.0, 0.1, largest=1.0)
    end = contact.evaluate(motion.positions[-1], motion.quaternions[-1])
    assert np.linalg.norm(end.force) == pytest.approx(1.0, rel=0.05)


def test_margins_of_pictures_and_moments_shown():
    image = np.zeros((9, 12, 4))
    image[2:5, 3:9] = 0.5
    np.testing.assert_array_equal(scenes.trimmed(image), image[2:5, 3:9])
    assert scenes.trimmed(np.zeros((4, 5, 4))).shape == (4, 5, 4)
    touching = np.zeros(100, dtype=np.int32)
    touching[40:49] = [1, 5, 1, 1, 7, 1, 9, 1, 1]
    # on the way, and the most in each third of the contact
    assert replays.moments(touching, 4) == [20, 41, 44, 46]
    assert replays.moments(np.zeros(31, dtype=np.int32), 4) == [0, 10, 20, 30]


def test_surfaces_of_files_are_put_about_the_origin(tmp_path):
    path = tmp_path / "box.obj"
    path.write_text("v 1 2 3\nv 2 2 3\nv 1 4 3\nv 1 2 6\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    np.testing.assert_allclose(scenes.read(path).bounds, [[-0.5, -1, -1.5], [0.5, 1, 1.5]])


@pytest.mark.parametrize(("place", "over"), [(1.05, False), (-1.05, False), (-1.05, True)])
def test_picture_shows_points_on_a_surface(place, over):
    unit, faces = scenes.icosphere(2)
    toward = np.array([[np.cos(np.pi / 3), -np.sin(np.pi / 3), 0.0]])  # azimuth -60
    ball = (unit, faces, (0.2, 0.8, 0.2))
    red = (*scenes.dots(place * toward, 0.15), replays.CONTACT)
    parts, above = ([ball], [red]) if over else ([ball, red], [])
    image = scenes.picture(parts, (80, 60), azimuth=-60, elevation=0, over=above)
    high, wide = image.shape[:2]
    middle, aside = image[high // 2, wide // 2], image[high // 2, wide // 4]
    # red in front, or seen through the ball; behind it is hidden
    assert (middle[0] > 2 * middle[1]) == (place > 0 or over)
    assert aside[1] > 2 * aside[0]  # green beside it
    assert image[0, 0, 3] == 0.0  # nothing in the corner
