"""Balls near distance fields: their clearance, and the motion for which it lasts."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from plain_grid import lipschitz_grid
from reducedfem import _core


def balls(rng, field, low, high, count=300):
    """Centres, their distances, radii of all sizes."""
    centres = rng.uniform(low, high, (count, 3))
    d = field.distance(centres)
    radii = np.abs(d) * rng.uniform(0.2, 1.05, count)
    return centres, d, radii


def some_fields(rng):
    yield rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1), False
    rough = lipschitz_grid(rng) + rng.uniform(-0.02, 0.02, (7, 7, 7))
    yield rf.DistanceField(rough, np.zeros(3), 0.1), False
    # a crease along a diagonal, the worst of trilinear interpolation
    axis = 0.1 * np.arange(7)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    crease = np.minimum(np.minimum(x, y), z) - 0.15
    yield rf.DistanceField(crease, np.zeros(3), 0.1), False
    yield rf.DistanceField(-crease, np.zeros(3), 0.1), False
    exact = _core.field_from_values(lipschitz_grid(rng), np.zeros(3), np.full(3, 0.1), 0.0, 1)
    assert exact.error == 0
    field = rf.DistanceField._made(exact, {})
    yield field, True
    yield field.offset(0.1), True
    yield field.offset(-0.1), True
    yield rf.UnionField([field, rf.SphereField([0.7, 0.3, 0.3], 0.2)]), True
    # outside of grids: whole fields, fields cut by their boxes, with all kinds of offsets
    ball = np.linalg.norm(np.stack([x, y, z], -1) - 0.3, axis=-1) - 0.2
    for core in (
        _core.field_from_values(ball, np.zeros(3), np.full(3, 0.1), 0.0, 1),
        _core.field_from_values(ball - 0.15, np.zeros(3), np.full(3, 0.1), 0.0, 1),
    ):
        whole = rf.DistanceField._made(core, {})
        for by in (0.0, 0.05, -0.05, -0.3):
            yield (~whole).offset(by), True
        yield rf.BoxField([0.1, 0.1, 0.1], [0.6, 0.6, 0.6]) - whole, True
        yield whole & field, True
        yield (whole & rf.SphereField([0.5, 0.3, 0.3], 0.2)) | field.offset(-0.1), True
        yield rf.SphereField([0.3, 0.3, 0.3], 0.6) - whole.offset(0.1) - field, True
    sampled = rf.SphereField([0.3, 0.3, 0.3], 0.2) | rf.BoxField([0.1, 0.1, 0.1], [0.3, 0.2, 0.4])
    corners = [[0, 0, 0], [0.6, 0.6, 0.6]]
    yield rf.DistanceField.from_field(sampled, 6, box=corners), True
    yield rf.DistanceField.from_field(~sampled, 6, box=corners), False
    # of uneven spacing
    values = lipschitz_grid(rng)
    yield rf.DistanceField(values, np.zeros(3), [0.05, 0.1, 0.2]), False


def test_clear_balls_contain_no_inside_points(rng):
    """Brute force: of balls that are called clear no point may be inside."""
    clear = 0
    for field, _ in some_fields(rng):
        centres, d, radii = balls(rng, field, -0.4, 1.2)
        slack = field._core.slack(d, radii)
        for c, r in zip(centres[slack > 0], radii[slack > 0], strict=True):
            way = rng.normal(size=(400, 3))
            way /= np.linalg.norm(way, axis=1)[:, None]
            # most of them near the surface of the ball
            length = r * rng.uniform(0, 1, 400) ** 0.2
            assert field.distance(c + way * length[:, None]).min() >= 0
            clear += 1
    assert clear > 300


def test_slack_is_valid_for_its_whole_motion(rng):
    """After a smaller motion and growth the same test gives the same answer."""
    moved = 0
    for field, _ in some_fields(rng):
        centres, d, radii = balls(rng, field, -0.4, 1.2, 1500)
        slack = field._core.slack(d, radii)
        c, r, s = (x[slack > 0] for x in (centres, radii, slack))
        s = np.minimum(s, 10.0)
        for share in (1e-9, 0.3, 0.999):
            move = share * rng.uniform(0, 1, len(s)) * s
            grow = share * s - move
            way = rng.normal(size=(len(s), 3))
            way /= np.linalg.norm(way, axis=1)[:, None]
            there = field.distance(c + way * move[:, None])
            assert (field._core.slack(there, r + grow) > 0).all()
            moved += len(s)
    assert moved > 3000


def test_clear_is_clear_by_more_than_rounding(rng):
    """Far from the origin distances are off by more than the last bits of theirs."""
    for far in (1e3, 1e6):
        ball = rf.SphereField([far, -0.7 * far, 0.3 * far], 0.5)
        way = rng.normal(size=(500, 3))
        way /= np.linalg.norm(way, axis=1)[:, None]
        centre = np.array([far, -0.7 * far, 0.3 * far])
        c = centre + way * rng.uniform(0.6, 2.0, (500, 1))
        d = ball.distance(c)
        low, high = 0.0 * d, d
        for _ in range(60):  # the largest balls that are clear
            radius = 0.5 * (low + high)
            clear = ball._core.slack(d, radius) > 0
            low, high = np.where(clear, radius, low), np.where(clear, high, radius)
        assert (low > d - 1e-10 * far).all()
        assert (ball.distance(c - way * low[:, None]) >= 0).all()


def test_slack_of_shapes_is_exact(rng):
    for field in (
        rf.SphereField([0, 0, 0], 0.5),
        rf.BoxField([0, 0, 0], [1, 1, 1]).union(rf.PlaneField([0, 0, -1], [0, 0, 1])).offset(0.1),
    ):
        points = rng.uniform(-3, 3, (200, 3))
        d = field.distance(points)
        slack = field._core.slack(d, np.full(200, 0.3))
        clear = d > 0.3
        np.testing.assert_allclose(slack[clear], d[clear] - 0.3, rtol=0, atol=1e-12)
        assert (slack[~clear] <= 0).all()


def test_distances_are_clear_sooner_than_any_samples(rng):
    """Fields known to be Lipschitz are culled without the slope of the steepest cell."""
    values = lipschitz_grid(rng, 33, 0.1, 40, spread=0.3)
    values += 1.6 - values[0].min()
    known = _core.field_from_values(values, np.zeros(3), np.full(3, 0.1), 0.0, 1)
    other = _core.field_from_values(values, np.zeros(3), np.full(3, 0.1), np.inf, 1)
    assert known.error == 0
    assert other.error == np.inf
    d = np.linspace(0.3, 0.9 * known.boundary, 50)
    assert d[-1] > 1
    # by half the diagonal of a cell, which counts less the larger the ball is
    half = 0.05 * np.sqrt(3) * 1.001
    most = np.sqrt(d * d - half * half) - 1e-6
    assert (known.slack(d, most) > 0).all()
    assert not (other.slack(d, most) > 0).all()
    # samples that are no distances are detected
    values[3, 4, 5] += 0.3
    assert _core.field_from_values(values, np.zeros(3), np.full(3, 0.1), 0.0, 1).error == np.inf


def test_places_that_are_not_finite_are_never_clear():
    field = rf.SphereField([0, 0, 0], 1)._core
    big = 1e308
    assert (field.slack([-1, 0, 0.5, big], [0.0, 0.0, 0.5, big]) <= 0).all()
