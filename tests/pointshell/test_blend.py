"""Interpolation of values at the points of a shell at other places of its surface."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core

K = 7


def plain(points, outward, places, place_outward):
    """Return weights (places, points) by the formula."""
    out = np.zeros((len(places), len(points)))
    for p, (x, n) in enumerate(zip(places, place_outward, strict=True)):
        distance = np.linalg.norm(points - x, axis=1)
        same = np.flatnonzero(outward @ n > 0.0)
        if len(same) == 0:
            out[p, np.argmin(distance)] = 1.0
            continue
        near = same[np.argsort(distance[same])][:K]
        farthest = distance[near[-1]]
        share = (1.0 / np.maximum(distance[near], 1e-9 * farthest) - 1.0 / farthest) ** 2
        out[p, near] = share / share.sum() if share.sum() > 0.0 else 0.0
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
    assert np.abs(values - ball.vertices[:, 2] ** 2).max() < 0.15


def test_both_sides_of_a_sheet_stay_apart():
    x, y = np.meshgrid(np.linspace(0.0, 1.0, 6), np.linspace(0.0, 1.0, 6))
    flat = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], 1)
    up = np.tile([0.0, 0.0, 1.0], (36, 1))
    points, outward = np.concatenate([flat, flat - [0, 0, 0.01]]), np.concatenate([up, -up])
    places = flat[:5] + [0.07, 0.05, 0.0]
    number, weight = _core.shell_blend(points, outward, places, up[:5], 1)
    assert (number[weight > 0.0] < 36).all()
    # with points of one side alone the other takes the nearest
    number, weight = _core.shell_blend(flat, up, places, -up[:5], 1)
    distance = np.linalg.norm(places[:, None] - flat, axis=2)
    np.testing.assert_array_equal(number[:, 0], distance.argmin(axis=1))
    np.testing.assert_array_equal(weight, np.eye(K)[np.zeros(5, int)])


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
