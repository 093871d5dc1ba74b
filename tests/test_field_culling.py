"""Cases in which balls near a distance field are all but clear, made by hand."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf


def slack(field: rf.Field, distance: float, radius: float) -> float:
    return float(field._core.slack(np.array([distance]), np.array([radius]))[0])


def octahedron() -> rf.Surface:
    """Return one with corners at 0.5 m on the axes."""
    corners = 0.5 * np.concatenate([np.eye(3), -np.eye(3)])
    faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    return rf.Surface(corners, faces)


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


def test_outside_of_a_box_that_cuts_what_was_shrunk():
    """Beside a side with contents as deep as 0.3 m a distance of 0.15 m is no promise."""
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
    """A corner that looks at the middle of a cell, between the samples of the side of the box."""
    surface = octahedron()
    for n in (9, 33):
        field = rf.DistanceField.from_surface(surface, n, expand, mode=mode)
        side = field.values[-1].min()
        assert side > 0.5 * (expand - 1) + 1e-3  # what it is in the middle of the side
        away = np.array([1.0, 5.0, 100.0])
        distance = field.distance(np.stack([away, 0 * away, 0 * away], axis=1))
        assert (distance <= away - 0.5).all()
        # nearer by no more than the box is larger
        assert (distance >= away - 0.5 * expand).all()
        assert field._core.boundary >= 0.0


def test_far_balls_of_the_fast_mode():
    """Samples that are interpolated are off by so much: large balls are clear for all that."""
    surface = octahedron()
    for mode in ("exact", "fast"):
        field = rf.DistanceField.from_surface(surface, 64, 6.0, mode=mode)
        assert np.isfinite(field._core.error)
        distance = field.distance([2.6, 0.3, 0.2])
        assert distance > 2.0
        # two diagonals of a voxel for the interpolant, eight for samples of the fast mode
        room = 2.0 if mode == "exact" else 10.0
        assert slack(field, distance, distance - room * np.linalg.norm(field.spacing)) > 0
