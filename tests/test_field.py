"""Signed distance fields: interpolation, shapes, unions, offsets, and how far balls are clear."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core


def lipschitz_grid(rng, n=7, spacing=0.1, cones=6, spread=1.0):
    """Samples of the distance from random points, less something: creases everywhere."""
    size = spacing * (n - 1)
    axis = spacing * np.arange(n)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    sites = size * (0.5 + spread * rng.uniform(-0.5, 0.5, (cones, 3)))
    values = np.linalg.norm(grid[..., None, :] - sites, axis=-1)
    return values.min(axis=-1) - rng.uniform(0.05, 0.3) * size


def plain_trilinear(values, origin, spacing, points):
    """Interpolant and its gradient by the formula, one axis after the other."""
    t = (points - origin) / spacing
    at = np.minimum(t.astype(int), np.array(values.shape) - 2)
    f = t - at
    d, g = np.zeros(len(points)), np.zeros((len(points), 3))
    for corner in np.ndindex(2, 2, 2):
        c = np.array(corner)
        w = np.where(c == 1, f, 1 - f)
        s = np.where(c == 1, 1.0, -1.0) / spacing
        v = values[tuple((at + c).T)].astype(float)
        d += v * w.prod(axis=1)
        for k in range(3):
            g[:, k] += v * s[k] * np.delete(w, k, axis=1).prod(axis=1)
    return d, g


# --- grids -------------------------------------------------------------------------


def test_interpolation_is_trilinear(rng):
    values = rng.normal(size=(5, 7, 4)).astype(np.float32)
    origin, spacing = np.array([0.3, -1.0, 2.0]), np.array([0.1, 0.25, 0.07])
    field = rf.DistanceField(values, origin, spacing)
    np.testing.assert_array_equal(field.values, values)
    np.testing.assert_array_equal(field.origin, origin)
    np.testing.assert_array_equal(field.spacing, spacing)
    points = origin + rng.uniform(0, 1, (500, 3)) * spacing * (np.array(values.shape) - 1)
    d, g = plain_trilinear(values, origin, spacing, points)
    # float64 throughout: a few roundings of numbers of order 1 (gradients: of order 50)
    np.testing.assert_allclose(field.distance(points), d, rtol=0, atol=2e-14)
    np.testing.assert_allclose(field.gradient(points), g, rtol=0, atol=2e-12)
    # samples themselves
    places = origin + np.argwhere(np.ones_like(values)) * spacing
    inside = (places <= field.bounds[1]).all(axis=1)  # the last ones may be rounded to beyond
    np.testing.assert_allclose(field.distance(places[inside]), values.ravel()[inside], atol=1e-13)


def test_one_by_one_the_bits_are_the_same(rng):
    """Blocks of any length, places inside, outside and on the sides of the box."""
    grid = rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1)
    union = rf.UnionField([grid.offset(0.01), rf.BoxField([0, 0, 0], [0.1, 0.2, 0.3]), grid])
    points = rng.uniform(-0.2, 0.8, (300, 3))
    points[::7, 0] = 0.0
    points[1::7, 1] = grid.bounds[1, 1]
    points[2::7] = np.round(points[2::7], 1)
    for field in (grid, union):
        all_at_once = field.distance(points)
        np.testing.assert_array_equal(all_at_once, [field.distance(p) for p in points])
        np.testing.assert_array_equal(all_at_once, field.distance_and_gradient(points)[0])
        for n in (1, 2, 3, 5, 31, 32, 33, 64, 67):
            np.testing.assert_array_equal(field.distance(points[:n]), all_at_once[:n])


@pytest.mark.parametrize("simd", [2, 3])
def test_all_variants_give_the_same_bits(rng, simd):
    """Plain code against vectors: distances in blocks, gradients; places of all kinds."""
    grid = rf.DistanceField(lipschitz_grid(rng), [0.01, 0.02, 0.03], [0.1, 0.11, 0.13])
    parts = (grid.offset(0.01)._core, rf.BoxField([0, 0, 0], [0.1, 0.2, 0.3])._core, grid._core)
    points = rng.uniform(-0.2, 1.0, (1003, 3))
    points[::7, 0] = 0.01
    points[1::7] = grid.bounds[1]
    points[2::7] = grid.origin + rng.integers(0, 7, (len(points[2::7]), 3)) * grid.spacing
    try:
        fields = [_core.Field(parts, 0.125, which) for which in (1, simd)]
    except rf.InputError:
        pytest.skip("this processor has no such vectors")
    plain, vectors = fields
    expected = plain.distance(points, 1)
    assert 100 < (expected < 0).sum() < 900
    np.testing.assert_array_equal(vectors.distance(points, 1), expected)
    for of_plain, other in zip(plain.gradient(points, 1), vectors.gradient(points, 1), strict=True):
        np.testing.assert_array_equal(other, of_plain)
    lone = [_core.Field((grid._core,), 0.0, which).distance(points, 1) for which in (1, simd)]
    np.testing.assert_array_equal(*lone)
    with pytest.raises(rf.InputError, match="simd must be one this processor has, got 9"):
        _core.Field(parts, 0.0, 9)


def test_gradients_are_derivatives(rng):
    values = lipschitz_grid(rng)
    field = rf.DistanceField(values, np.zeros(3), 0.1)
    shapes = [
        field,
        rf.SphereField([0.1, 0.2, 0.3], 0.2),
        rf.BoxField([0, 0, 0], [0.2, 0.3, 0.4]),
        rf.PlaneField([0, 0, 0.1], [1, 2, 3]),
        rf.CapsuleField([0, 0, 0], [0.3, 0.2, 0.1], 0.1),
        rf.CapsuleField([0.1, 0.1, 0.1], [0.1, 0.1, 0.1], 0.1),
    ]
    shapes += [rf.UnionField(shapes[:3]), rf.OffsetField(shapes[0], 0.05)]
    points = rng.uniform(-0.3, 0.9, (400, 3))
    step = 1e-7
    for shape in shapes:
        d, g = shape.distance_and_gradient(points)
        np.testing.assert_array_equal(d, shape.distance(points))
        np.testing.assert_array_equal(g, shape.gradient(points))
        sides = [
            (shape.distance(points + step * e) - shape.distance(points - step * e)) / (2 * step)
            for e in np.eye(3)
        ]
        error = np.abs(np.stack(sides, axis=1) - g).max(axis=1)
        # rounding 1e-9; the few points within a step of a kink are others
        assert np.quantile(error, 0.99) < 1e-6


def test_outside_of_the_box_distances_are_lower_bounds(rng):
    """Inequality 3.14 of B07, here with the distance from a ball, which is known."""
    centre, radius, n = np.array([0.5, 0.45, 0.55]), 0.25, 33
    axis = np.linspace(0, 1, n)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    values = np.linalg.norm(grid - centre, axis=-1) - radius
    field = rf.DistanceField(values, np.zeros(3), 1 / (n - 1))
    sides = np.ones_like(values, bool)
    sides[1:-1, 1:-1, 1:-1] = False
    assert field.boundary == np.float32(values[sides].min())
    points = rng.uniform(-2, 3, (3000, 3))
    outside = ((points < 0) | (points > 1)).any(axis=1)
    points = points[outside]
    to_box = np.linalg.norm(points - np.clip(points, 0, 1), axis=1)
    d = field.distance(points)
    np.testing.assert_allclose(d, to_box + field.boundary, rtol=1e-14)
    true = np.linalg.norm(points - centre, axis=1) - radius
    # the lowest place of a side is not a sample: between samples distances are curved by 1 / d
    assert (d <= true + 2 * (0.5 / (n - 1)) ** 2 / (2 * field.boundary)).all()
    np.testing.assert_allclose(np.linalg.norm(field.gradient(points), axis=1), 1, rtol=1e-14)


def test_a_box_that_cuts_the_object_has_no_inside_outside():
    field = rf.DistanceField(np.full((2, 2, 2), -1.0), np.zeros(3), 1.0)
    assert field.distance([0.5, 0.5, 0.5]) == -1
    assert field.distance([2.0, 0.5, 0.5]) == 1
    assert field.distance([1.0, 0.5, 0.5]) == -1


# --- shapes ------------------------------------------------------------------------


def test_shapes_by_their_formulas(rng):
    p = rng.uniform(-2, 2, (1000, 3))
    sphere = rf.SphereField([0.1, 0.2, 0.3], 0.7)
    np.testing.assert_allclose(
        sphere.distance(p), np.linalg.norm(p - [0.1, 0.2, 0.3], axis=1) - 0.7, atol=1e-15
    )
    plane = rf.PlaneField([0, 0, 0.5], [0, 3, 4])
    np.testing.assert_allclose(plane.distance(p), 0.6 * p[:, 1] + 0.8 * (p[:, 2] - 0.5), atol=1e-15)
    low, high = np.array([-0.5, -0.2, 0.1]), np.array([0.4, 0.9, 1.3])
    q = np.maximum(low - p, p - high)
    box = np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)
    np.testing.assert_allclose(rf.BoxField(low, high).distance(p), box, atol=1e-15)
    a, b = np.array([0.0, 0.5, -0.5]), np.array([1.0, -0.5, 0.5])
    t = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    rod = np.linalg.norm(p - a - t[:, None] * (b - a), axis=1) - 0.2
    capsule = rf.CapsuleField(a, b, 0.2)
    np.testing.assert_allclose(capsule.distance(p), rod, atol=1e-15)
    both = sphere.union(capsule)
    np.testing.assert_array_equal(
        both.distance(p), np.minimum(sphere.distance(p), capsule.distance(p))
    )
    nested = rf.UnionField([both.offset(0.1), plane]).offset(-0.05)
    expected = np.minimum(both.distance(p) - 0.1, plane.distance(p)) + 0.05
    np.testing.assert_allclose(nested.distance(p), expected, atol=1e-15)
    assert nested._core.parts == 3


def test_gradients_where_no_way_is_the_shortest():
    for field, point in (
        (rf.SphereField([1, 2, 3], 1), [1, 2, 3]),
        (rf.CapsuleField([0, 0, 0], [0, 0, 1], 1), [0, 0, 0.5]),
        (rf.BoxField([0, 0, 0], [2, 2, 2]), [1, 1, 1]),
        (rf.BoxField([0, 0, 0], [2, 2, 2]), [2, 1, 1]),
    ):
        d, g = field.distance_and_gradient(point)
        assert d <= 0
        assert g.shape == (3,)
        assert np.linalg.norm(g) == 1


def test_one_point_gives_one_number():
    field = rf.SphereField([0, 0, 0], 1)
    assert field.distance([2, 0, 0]).shape == ()
    assert field.distance([2, 0, 0]) == 1
    assert field.distance(np.zeros((0, 3))).shape == (0,)
    assert field.gradient(np.zeros((0, 3))).shape == (0, 3)


# --- how far balls are clear ---------------------------------------------------------


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
    field = rf.DistanceField.__new__(rf.DistanceField)
    field._core = exact
    yield field, True
    yield field.offset(0.1), True
    yield field.offset(-0.1), True
    yield rf.UnionField([field, rf.SphereField([0.7, 0.3, 0.3], 0.2)]), True
    # of uneven spacing
    values = lipschitz_grid(rng)
    yield rf.DistanceField(values, np.zeros(3), [0.05, 0.1, 0.2]), False


def test_clear_balls_hold_nothing_inside(rng):
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


def test_slack_lasts_as_long_as_it_says(rng):
    """After moving and growing by less, the same test says clear again."""
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
    """What is known to be Lipschitz has a test that does not need the steepest cell."""
    values = lipschitz_grid(rng, 33, 0.1, 40, spread=0.3)
    values += 1.6 - values[0].min()
    known = _core.field_from_values(values, np.zeros(3), np.full(3, 0.1), 0.0, 1)
    other = _core.field_from_values(values, np.zeros(3), np.full(3, 0.1), np.inf, 1)
    assert known.error == 0
    assert other.error == np.inf
    d = np.linspace(0.3, 0.9 * known.boundary, 50)
    assert d[-1] > 1
    most = d - 0.1 * np.sqrt(3) * 1.001  # less the diagonal of a cell
    assert (known.slack(d, most - 1e-6) > 0).all()
    assert not (other.slack(d, most - 1e-6) > 0).all()
    # what is not is found out
    values[3, 4, 5] += 0.3
    assert _core.field_from_values(values, np.zeros(3), np.full(3, 0.1), 0.0, 1).error == np.inf


def test_places_that_are_no_numbers_are_never_clear():
    field = rf.SphereField([0, 0, 0], 1)._core
    big = 1e308
    assert (field.slack([-1, 0, 0.5, big], [0.0, 0.0, 0.5, big]) <= 0).all()


# --- what is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: rf.DistanceField(np.zeros((1, 2, 2)), [0, 0, 0], 1), "2 samples or more along x"),
        (lambda: rf.DistanceField(np.zeros((2, 2)), [0, 0, 0], 1), "values must have shape"),
        (lambda: rf.DistanceField(np.zeros((2, 2, 2)), [0, 0, 0], 0), r"spacing\[0\] must be"),
        (lambda: rf.DistanceField(np.zeros((2, 2, 2)), [0, 0], 1), "origin must have shape"),
        (lambda: rf.DistanceField(np.zeros((2, 2, 2)), [0, 0, 0], [1, 1]), "spacing must have sh"),
        (lambda: rf.DistanceField(np.full((2, 2, 2), np.nan), [0, 0, 0], 1), r"values\[0, 0, 0\]"),
        (lambda: rf.DistanceField(np.full((2, 2, 2), 1e300), [0, 0, 0], 1), r"values\[0, 0, 0\]"),
        (lambda: rf.DistanceField(np.zeros((2, 2, 2)), [0, np.inf, 0], 1), r"origin\[1\] is inf"),
        (lambda: rf.SphereField([0, 0, 0], 0), "radius must be finite and positive, got 0"),
        (lambda: rf.SphereField([0, 0, 0], np.nan), "radius must be finite, got nan"),
        (lambda: rf.SphereField([0, 0], 1), r"center must have shape \(3,\)"),
        (lambda: rf.BoxField([0, 0, 0], [1, 0, 1]), r"low\[1\] is 0, high\[1\] is 0"),
        (lambda: rf.PlaneField([0, 0, 0], [0, 0, 0]), "normal must not be zero"),
        (lambda: rf.CapsuleField([0, 0, 0], [1, 1, 1], -1), "radius must be finite and positive"),
        (lambda: rf.UnionField([]), "fields must hold one field or more"),
        (lambda: rf.SphereField([0, 0, 0], 1).offset(np.inf), "by must be finite"),
        (lambda: rf.SphereField([0, 0, 0], 1).distance([[0, 0]]), "points must have shape"),
        (lambda: rf.SphereField([0, 0, 0], 1).distance([[0, 0, np.nan]]), r"points\[0, 2\] is nan"),
    ],
)
def test_wrong_values_are_named(work, message):
    with pytest.raises(rf.InputError, match=message):
        work()


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: rf.Field(), "a Field is made as one of its kinds"),
        (lambda: rf.UnionField([3]), r"fields\[0\] must be a Field, got int"),
        (lambda: rf.UnionField(3), "fields must be a sequence of Field, got int"),
        (lambda: rf.OffsetField(None, 1), "field must be a Field, got NoneType"),
        (lambda: rf.SphereField([0, 0, 0], "1"), "radius must be a number, got str"),
        (lambda: _core.Field((3,), 0.0), "field must be a reducedfem.Field, got int"),
    ],
)
def test_wrong_types_are_named(work, message):
    with pytest.raises(rf.InputTypeError, match=message):
        work()


def test_the_core_checks_for_itself():
    zero, one = np.zeros(3), np.ones(3)
    with pytest.raises(rf.InputError, match="shape must be sphere, box, plane or capsule"):
        _core.field_from_shape("cone", zero, one, 1.0)
    with pytest.raises(rf.InputError, match="normal must be a unit vector"):
        _core.field_from_shape("plane", zero, one, 1.0)
    with pytest.raises(rf.InputError, match="1 to 65536 parts, got 0"):
        _core.Field((), 0.0)
    with pytest.raises(rf.InputError, match="offset must be finite"):
        _core.Field((_core.field_from_shape("sphere", zero, zero, 1.0),), np.inf)


# --- life --------------------------------------------------------------------------------


def test_copies(rng):
    grid = rf.DistanceField(lipschitz_grid(rng), [1, 2, 3], [0.1, 0.2, 0.3])
    fields = [
        grid,
        rf.SphereField([0, 0, 0], 1),
        rf.BoxField([0, 0, 0], [1, 1, 1]),
        rf.PlaneField([0, 0, 0], [1, 2, 3]),
        rf.CapsuleField([0, 0, 0], [1, 1, 1], 0.1),
    ]
    fields += [rf.UnionField(fields), rf.OffsetField(grid, 0.1)]
    points = rng.uniform(-1, 4, (100, 3))
    for field in fields:
        same = pickle.loads(pickle.dumps(field))
        np.testing.assert_array_equal(same.distance(points), field.distance(points))
        assert repr(same) == repr(field)


def test_what_others_use_stays(rng):
    """A union keeps the grids of its fields, which may go."""
    values = lipschitz_grid(rng)
    points = rng.uniform(0, 0.6, (50, 3))
    union = (
        rf.DistanceField(values, np.zeros(3), 0.1).offset(0.1).union(rf.SphereField([0] * 3, 0.1))
    )
    expected = union.distance(points)
    view = rf.DistanceField(values, np.zeros(3), 0.1).values
    np.testing.assert_array_equal(union.distance(points), expected)
    np.testing.assert_array_equal(view, values.astype(np.float32))
    with pytest.raises(ValueError, match="read-only"):
        view[0, 0, 0] = 1


def test_threads_change_nothing(rng):
    values = lipschitz_grid(rng, 20, 0.05, 30)
    points = rng.uniform(-0.1, 1.1, (50_000, 3))
    fields = [
        _core.field_from_values(values, np.zeros(3), np.full(3, 0.05), 0.0, t) for t in (1, 2, 5)
    ]
    expected = fields[0].gradient(points, 1)
    for field in fields:
        for threads in (1, 3):
            np.testing.assert_array_equal(field.distance(points, threads), expected[0])
            np.testing.assert_array_equal(field.gradient(points, threads)[1], expected[1])
    d = np.linspace(0, 1, 100)
    for field in fields[1:]:
        np.testing.assert_array_equal(field.slack(d, 0.8 * d), fields[0].slack(d, 0.8 * d))


def test_running_out_of_memory(rng):
    values = lipschitz_grid(rng)

    def work():
        field = rf.DistanceField(values, np.zeros(3), 0.1)
        return field.union(rf.SphereField([0, 0, 0], 1)).offset(0.1)

    fail_each_allocation(work)


def test_timings():
    field = rf.SphereField([0, 0, 0], 1)._core
    for one_by_one in (True, False):
        seconds = field.time_distances(np.zeros((100, 3)), 4, one_by_one)
        assert seconds.shape == (4,)
        assert (seconds >= 0).all()
    with pytest.raises(rf.InputError, match="too many points or repeats"):
        field.time_distances(np.zeros((1, 3)), 0, False)
