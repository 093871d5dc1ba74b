"""Interpolation of values at the points of a shell at other places of its surface."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core

K = 7


def nearest(points, outward, x, n):
    """Return the numbers of up to 8 points on the side of a normal, and their distances."""
    distance = np.linalg.norm(points - x, axis=1)
    same = np.flatnonzero(outward @ n > 0.0)
    near = same[np.argsort(distance[same], kind="stable")][: K + 1]
    return near, distance[near]


def plain(points, outward, places, place_outward):
    """Return weights (places, points) by least squares."""
    out = np.zeros((len(places), len(points)))
    for p, (x, n) in enumerate(zip(places, place_outward, strict=True)):
        near, distance = nearest(points, outward, x, n)
        if len(near) == 0:
            continue
        reach = nearest(points, outward, points[near[0]], outward[near[0]])[1][-1]
        left = np.clip(2.0 - distance[0] / reach, 0.0, 1.0)
        farthest = distance[-1] if len(near) > K else 2.0 * distance[-1]
        near, distance = near[:K], distance[:K]
        share = 1.0 / np.maximum(distance, 1e-9 * farthest) - 1.0 / farthest
        tangents = np.linalg.svd(n[None])[2][1:]
        A = np.column_stack([np.ones(len(near)), (points[near] - x) @ tangents.T])
        mean = share**2 / (share**2).sum()
        if len(near) > 2:
            slope = np.linalg.pinv(share[:, None] * A)[0] * share - mean
            mean = mean + slope * min(1.0, 2.0 / np.abs(slope).sum())
        out[p, near] = left * mean
    return out


def dense(number, weight, n):
    out = np.zeros((len(number), n))
    np.add.at(out, (np.arange(len(number))[:, None], number), weight)
    return out


def unit(rng, n):
    v = rng.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1)[:, None]


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_are_those_of_the_formula(rng, threads):
    points, places = rng.normal(size=(40, 3)), rng.normal(size=(150, 3))
    outward, place_outward = unit(rng, 40), unit(rng, 150)
    found = _core.shell_blend(points, outward, places, place_outward, threads)
    expected = plain(points, outward, places, place_outward)
    np.testing.assert_allclose(dense(*found, 40), expected, atol=1e-12)


def test_a_place_at_a_point_has_its_value_and_sums_are_one(rng):
    ball = rf.DistanceField.from_field(rf.SphereField([0, 0, 0], 1.0), 16).isosurface()
    shell = rf.Pointshell.from_surface(ball, 200)
    out = -shell.normals
    found = dense(*_core.shell_blend(shell.points, out, shell.points, out, 1), shell.n_points)
    np.testing.assert_allclose(found, np.eye(shell.n_points), atol=1e-12)
    normals = ball.vertices / np.linalg.norm(ball.vertices, axis=1)[:, None]
    number, weight = _core.shell_blend(shell.points, out, ball.vertices, normals, 1)
    np.testing.assert_allclose(weight.sum(axis=1), 1.0, atol=1e-12)
    # a smooth field is met to the square of the spacing, a tenth of the radius
    values = np.einsum("vk,vk->v", weight, shell.points[number][..., 2] ** 2)
    assert np.abs(values - ball.vertices[:, 2] ** 2).max() < 0.05


def sheet(n=6):
    """Return points on a square with normals up."""
    x, y = np.meshgrid(np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, n))
    return np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], 1), np.tile([0.0, 0.0, 1.0], (n * n, 1))


@pytest.mark.parametrize("random", [False, True])
def test_linear_fields_are_exact_and_others_do_not_jump(random, rng):
    flat, up = sheet(9)
    if random:
        flat = flat + rng.uniform(-0.04, 0.04, flat.shape) * [1.0, 1.0, 0.0]
    places = np.column_stack([rng.uniform(0.1, 0.9, (300, 2)), np.zeros(300)])
    found = dense(*_core.shell_blend(flat, up, places, np.tile(up[0], (300, 1)), 1), 81)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found @ flat, places, atol=1e-12)
    line = np.linspace([0.13, 0.21, 0.0], [0.88, 0.67, 0.0], 20001)
    found = dense(*_core.shell_blend(flat, up, line, np.tile(up[0], (20001, 1)), 1), 81)
    values = found @ np.sin(9.0 * flat[:, 0])
    assert np.abs(np.diff(values)).max() < 20.0 * np.linalg.norm(line[1] - line[0])


def test_both_sides_of_a_sheet_stay_apart():
    flat, up = sheet()
    points, outward = np.concatenate([flat, flat - [0, 0, 0.01]]), np.concatenate([up, -up])
    places = flat[:5] + [0.07, 0.05, 0.0]
    number, weight = _core.shell_blend(points, outward, places, up[:5], 1)
    assert (number[weight != 0.0] < 36).all()
    # with points of one side alone the other has no value
    _, weight = _core.shell_blend(flat, up, places, -up[:5], 1)
    assert not weight.any()


def test_values_fade_beyond_the_points():
    flat, up = sheet()
    aside = np.array([0.0, 0.2, 0.4, 0.7, 0.9, 5.0])  # the points are 0.2 apart
    places = np.array([1.0, 0.4, 0.0]) + aside[:, None] * [1.0, 0.0, 0.0]
    _, weight = _core.shell_blend(flat, up, places, np.tile(up[0], (6, 1)), 1)
    total = weight.sum(axis=1)
    np.testing.assert_allclose(total[:3], 1.0)
    assert 0.0 < total[3] < 1.0
    np.testing.assert_array_equal(weight[4:], 0.0)
    assert np.abs(weight).sum(axis=1).max() < 3.0


def test_few_points_and_equal_distances():
    ring = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0]])
    up = np.tile([0.0, 0.0, 1.0], (3, 1))
    _, weight = _core.shell_blend(ring, up, np.zeros((1, 3)), up[:1], 1)
    np.testing.assert_allclose(weight.sum(), 1.0)
    _, weight = _core.shell_blend(ring[:1], up[:1], ring[:1], up[:1], 1)
    np.testing.assert_array_equal(weight[0], np.eye(K)[0])


def test_wrong_arguments_and_failed_allocations(rng):
    points, up = rng.normal(size=(4, 3)), np.tile([0.0, 0.0, 1.0], (4, 1))
    with pytest.raises(rf.InputError, match="points is empty"):
        _core.shell_blend(points[:0], up[:0], points, up, 1)
    with pytest.raises(rf.InputError, match="outward must have shape"):
        _core.shell_blend(points, up[:3], points, up, 1)
    fail_each_allocation(lambda: _core.shell_blend(points, up, points, up, 2), 0)
