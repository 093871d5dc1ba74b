"""Cases in which balls near a distance field are all but clear, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem import _core

Array = NDArray[np.float64]


def slack(field: rf.Field, distance: float, radius: float) -> float:
    return float(field._core.slack(np.array([distance]), np.array([radius]))[0])


def octahedron() -> rf.Surface:
    """Return one with corners at 0.5 m on the axes."""
    corners = 0.5 * np.concatenate([np.eye(3), -np.eye(3)])
    faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    return rf.Surface(corners, faces)


def cones(shape: tuple[int, int, int], tips: list[tuple[tuple[int, int, int], float]]) -> Array:
    """Return distances from places, in samples, each with a value of its own added."""
    at = np.moveaxis(np.indices(shape), 0, -1)
    return np.min([np.linalg.norm(at - tip, axis=-1) + value for tip, value in tips], axis=0)


def known(values: Array, error: float) -> Any:
    """Return the core's field of samples of distances that are off by so much, one voxel 1 m."""
    core = _core.field_from_values(values.astype(np.float32), np.zeros(3), np.ones(3), error, 1)
    assert core.error == error
    return core


@pytest.mark.parametrize("error", [0.0, 0.4])
def test_far_balls_that_reach_the_tip_of_a_cone(error):
    """Between samples the distance from a tip is larger than the way to it: no ball is clear."""
    tip = (8, 8, 8)
    values = cones((17, 17, 17), [(tip, -1e-4)]) + error
    values[:, :, 10:] += error
    values[tip] = -1e-4
    core = known(values, error)
    assert core.distance(np.array([tip], float), 1)[0] < 0
    found = []
    for depth in range(3, 7):
        for aside in ((0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0), (0.5, 0.5, 0.5), (1.5, 0.5, 0)):
            way = np.add(aside, (0, 0, depth))
            distance = core.distance(np.array([tip + way]), 1)
            radius = np.array([np.linalg.norm(way)]) * (1 + 1e-6)
            found.append(distance[0] - radius[0] - 2 * error)
            assert core.slack(distance, radius)[0] <= 0
            # and a little farther away it is
            assert core.slack(distance, radius - 2 * error - 0.75 / radius)[0] > 0
    assert max(found) > 0.07  # of at most sqrt(R^2 + 0.75) - R, 0.12 for R = 3


@pytest.mark.parametrize("error", [0.0, 0.4])
def test_distances_that_fall_faster_than_the_way(error):
    """From the middle of a cell to the tip of a cone far above zero, with others down there."""
    tip = np.array((9, 9, 20))
    values = cones((19, 19, 27), [((9, 9, 8), -1.0), (tuple(tip), 5.0)]) + error
    values[tuple(tip)] = 5 - error
    core = known(values, error)
    way = np.full(3, -0.5)
    start, end = core.distance(np.array([tip + way, tip]), 1)
    assert start - end > 1.1 + 1.7 * error > np.linalg.norm(way)
    lasted = []
    for radius in np.linspace(2, 5, 400):
        slack = core.slack(np.array([start]), np.array([radius]))[0]
        if slack > np.linalg.norm(way):
            lasted.append(radius)
            assert core.slack(np.array([end]), np.array([radius]))[0] > 0
    assert len(lasted) > 20


@pytest.mark.parametrize("outside", [False, True])
def test_slopes_that_grow_with_the_distance(outside):
    """Balls that move, grow or do both, where each band of values has a slope of its own."""
    values = np.array([-1.0, 0.0, 1.0, 5.0, 21.0])
    far = abs(np.indices((9, 9, 9)) - 4).max(axis=0)
    core = rf.DistanceField(values[far], (-4, -4, -4), 1)._core
    if outside:
        core = (~rf.DistanceField(-values[4 - far], (-4, -4, -4), 1))._core
    x, radius, share = (
        a.ravel()
        for a in np.meshgrid(np.linspace(1, 4, 101), np.linspace(0, 1, 61), [0.0, 0.5, 1.0])
    )
    slack = core.slack(np.interp(x, range(5), values), radius)
    move = 0.999 * slack * share
    kept = (slack > 0) & (x - move > 0)
    there = np.interp((x - move)[kept], range(5), values)
    assert kept.sum() > 500
    assert (core.slack(there, (radius + 0.999 * slack - move)[kept]) > 0).all()


def test_steep_cells_within_one_interval_of_values():
    """Slope 3 near the surface, in less than a hundredth of the range of values."""
    axis = np.linspace(-3.0, 3.0, 61)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    r = np.sqrt(x * x + y * y + z * z) - 0.5
    values = np.where(r < 2.0, np.where(abs(r) < 0.1, 3 * r, r + 0.2 * np.sign(r)), 30 * r - 57.8)
    field = rf.DistanceField(values.astype(np.float32), (-3.0, -3.0, -3.0), 0.1)
    assert field.values.max() - field.values.min() > 60
    assert field.distance([0.499, 0, 0]) < 0
    for at in (0.03, 0.06, 0.1):
        distance = field.distance([0.5 + at, 0, 0])
        assert slack(field, distance, at + 0.002) <= 0  # the place inside is no farther
        assert slack(field, distance, 0.6 * at) > 0


def test_outside_of_a_box_that_cuts_a_shrunk_object():
    """Beside a side with contents as deep as 0.3 m a distance of 0.15 m is no lower bound."""
    values = np.full((5, 5, 5), -0.3, dtype=np.float32)
    field = rf.DistanceField(values, (-0.5, -0.5, -0.5), (0.25, 0.25, 0.25)).offset(-0.05)
    assert field.distance(np.array([[0.4999, 0, 0]]))[0] < 0
    beside = np.array([[0.6, 0, 0]])
    distance = field.distance(beside)[0]
    np.testing.assert_allclose(distance, 0.15)
    assert slack(field, distance, 0.11) <= 0
    assert slack(field, distance, 0.09) > 0


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("expand", [1.05, 1.1, 1.2, 1.5])
def test_places_outside_are_never_called_too_far(expand, mode):
    """A corner that points at the middle of a cell, between the samples of the side of the box."""
    surface = octahedron()
    for n in (9, 33):
        field = rf.DistanceField.from_surface(surface, n, expand, mode=mode)
        side = field.values[-1].min()
        assert side > 0.5 * (expand - 1) + 1e-3  # the distance in the middle of the side
        away = np.array([1.0, 5.0, 100.0])
        distance = field.distance(np.stack([away, 0 * away, 0 * away], axis=1))
        assert (distance <= away - 0.5).all()
        # nearer by no more than the box is larger
        assert (distance >= away - 0.5 * expand).all()
        assert field._core.boundary >= 0.0


def test_far_balls_of_the_fast_mode():
    """Interpolated samples have such errors, and large balls are still clear."""
    surface = octahedron()
    for mode in ("exact", "fast"):
        field = rf.DistanceField.from_surface(surface, 64, 6.0, mode=mode)
        assert np.isfinite(field._core.error)
        distance = field.distance([2.6, 0.3, 0.2])
        assert distance > 2.0
        # two diagonals of a voxel for the interpolant, eight for samples of the fast mode
        room = 2.0 if mode == "exact" else 10.0
        assert slack(field, distance, distance - room * np.linalg.norm(field.spacing)) > 0


def test_balls_that_reach_down_a_slope():
    """Cells long across: a ball is clear up to where the values are zero, and no farther."""
    values = np.array([-2.0, 0.0, 2.0, 10.0, 42.0])
    far = abs(np.indices((9, 9, 9)) - 4).max(axis=0)
    core = rf.DistanceField(values[far], (-4, -4e6, -4e6), (1, 1e6, 1e6))._core
    x = np.linspace(1.01, 1.5, 20)
    distance = core.distance(np.stack([x, 0 * x, 0 * x], axis=1), 1)
    assert (core.slack(distance, (x - 1) * (1 + 1e-3)) <= 0).all()
    assert (core.slack(distance, (x - 1) * (1 - 1e-3))[:5] > 0).all()


def test_places_that_leave_a_box_made_larger():
    """Out at a corner, where values are large inside, to one of the sides, less the offset."""
    axis = np.linspace(-0.5, 0.5, 21)
    r = np.linalg.norm(np.stack(np.meshgrid(axis, axis, axis), axis=-1), axis=-1)
    field = rf.DistanceField(r - 0.05, (-0.5,) * 3, 0.05).offset(0.2)
    inside, beyond = field.distance(np.array([[0.4999], [0.5001]]) * np.ones(3))
    assert inside > 0.6
    assert beyond < 0.26
    lasted = 0
    for radius in np.linspace(0.05, 0.6, 111):
        if slack(field, inside, radius) > 4e-4:
            lasted += 1
            assert slack(field, beyond, radius) > 0
    assert lasted > 10


def test_outside_of_a_box_that_cuts_an_object():
    """In the box 0.3 m from what it holds, which ends at its side: all beyond is inside."""
    values = np.full((5, 5, 5), -0.3, dtype=np.float32)
    field = ~rf.DistanceField(values, (-0.5, -0.5, -0.5), 0.25)
    within, beyond = field.distance(np.array([[0.4999, 0, 0], [0.5001, 0, 0]]))
    np.testing.assert_allclose(within, 0.3, rtol=1e-6)
    assert beyond < 0
    assert slack(field, within, 2e-4) <= 0


def test_outside_of_a_box_smaller_than_its_object():
    """Out at a corner of the box by a hair, with what is outside of the ball just within."""
    axis = np.linspace(-0.5, 0.5, 21)
    r = np.linalg.norm(np.stack(np.meshgrid(axis, axis, axis), axis=-1), axis=-1)
    field = (~rf.DistanceField(r - 0.05, (-0.5,) * 3, 0.05)).offset(-0.5)
    within, beyond = field.distance(np.array([[0.4999], [0.5001]]) * np.ones(3))
    assert within < -0.3
    np.testing.assert_allclose(beyond, 0.05, atol=1e-3)
    assert slack(field, beyond, 4e-4) <= 0


def test_the_smallest_sample_of_all_sides():
    for axis in range(3):
        for side in (0, -1):
            values = np.ones((5, 6, 7))
            values[tuple(side if c == axis else 2 for c in range(3))] = 0.25
            assert rf.DistanceField(values, (0, 0, 0), 1).boundary == 0.25


def test_sides_between_samples_that_are_interpolated():
    """A corner that points at the middle of a cell of the coarse samples of the fast mode."""
    box = np.full((2, 3), 1.75)
    box[0] -= 44 * 3.5 / 36
    field = rf.DistanceField.from_surface(octahedron(), 44, mode="fast", box=box)
    assert field.values[-1].min() > 1.25 + 0.02  # the distance in the middle of the side
    assert field.values[0].min() > 2
    assert 1.2 < field.boundary <= 1.25


def test_samples_that_rise_too_steeply_are_no_distances():
    spacing = np.array([0.5, 1.0, 2.0])
    at = (np.moveaxis(np.indices((5, 5, 5)), 0, -1) - 2) * spacing
    for way in ((1, 0, 0), (0, 0, 1), (0, 1, -1), (1, -1, 1)):
        along = np.multiply(way, spacing)
        slope = at @ along / np.linalg.norm(along)  # 1 along the way, less along others
        for share, expected in ((0.9999, 0.0), (1.001, np.inf)):
            values = (share * slope).astype(np.float32)
            assert _core.field_from_values(values, np.zeros(3), spacing, 0.0, 1).error == expected
