"""Signed distance fields: interpolation, shapes, unions, what is refused, copies."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from plain_grid import lipschitz_grid, plain_trilinear
from reducedfem import _core

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
    """Blocks of any length, places inside, outside and on the sides of the box, or far away."""
    grid = rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1)
    union = rf.UnionField([grid.offset(0.01), rf.BoxField([0, 0, 0], [0.1, 0.2, 0.3]), grid])
    points = rng.uniform(-0.2, 0.8, (300, 3))
    points[::7, 0] = 0.0
    points[1::7, 1] = grid.bounds[1, 1]
    points[2::7] = np.round(points[2::7], 1)
    points[5::50, 1] = 1e149  # as far as a point may be
    others = [
        rf.UnionField([grid, grid.offset(-0.01), grid.offset(0.02)]),
        grid - grid.offset(-0.02),
    ]
    others += [
        ~grid,
        (union & ~rf.SphereField([0.2, 0.2, 0.2], 0.2)) | rf.PlaneField([0] * 3, [1] * 3),
    ]
    for field in (grid, union, *others):
        all_at_once = field.distance(points)
        np.testing.assert_array_equal(all_at_once, [field.distance(p) for p in points])
        d, slopes = field.distance_and_gradient(points)
        np.testing.assert_array_equal(all_at_once, d)
        for p, value, slope in zip(points, d, slopes, strict=True):
            one, alone = field.distance_and_gradient(p)
            assert one == value
            np.testing.assert_array_equal(alone, slope)
        for n in (1, 2, 3, 5, 31, 32, 33, 64, 67):
            np.testing.assert_array_equal(field.distance(points[:n]), all_at_once[:n])
            some, few = field.distance_and_gradient(points[:n])
            np.testing.assert_array_equal(some, all_at_once[:n])
            np.testing.assert_array_equal(few, slopes[:n])


def test_the_first_of_equally_near_parts_has_the_gradient():
    """Alone and in blocks: between two balls, and between slopes that fall to both sides."""
    x = np.broadcast_to(np.array([-1.0, 0.0, 1.0])[:, None, None], (3, 3, 3))
    rise, fall = (rf.DistanceField(sign * x, [-1, -1, -1], 1) for sign in (1.0, -1.0))
    left, right = (rf.SphereField([at, 0, 0], 0.5) for at in (-1, 1))
    points = np.zeros((7, 3))
    points[:, 1] = np.linspace(-0.9, 0.9, 7)
    for parts in ((rise, fall), (fall, rise), (left, right), (right, left), (rise, left, fall)):
        first = parts[0].gradient(points)
        assert (first[:, 0] != parts[-1].gradient(points)[:, 0]).all()
        np.testing.assert_array_equal(rf.UnionField(parts).gradient(points), first)
        for p, slope in zip(points, first, strict=True):
            np.testing.assert_array_equal(rf.UnionField(parts).gradient(p), slope)


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
    carved = [_core.Field(parts[:1], 0.02, which, "complement") for which in (1, simd)]
    carved = [
        _core.Field((one, *parts[1:]), 0.0, which, "intersection")
        for one, which in zip(carved, (1, simd), strict=True)
    ]
    for a, b in zip(*(one.gradient(points, 1) for one in carved), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(*(one.distance(points, 1) for one in carved))
    plain, vectors = fields
    expected = plain.distance(points, 1)
    assert 100 < (expected < 0).sum() < 900
    np.testing.assert_array_equal(vectors.distance(points, 1), expected)
    for of_plain, other in zip(plain.gradient(points, 1), vectors.gradient(points, 1), strict=True):
        np.testing.assert_array_equal(other, of_plain)
    lone = [_core.Field((grid._core,), 0.0, which).distance(points, 1) for which in (1, simd)]
    np.testing.assert_array_equal(*lone)
    with pytest.raises(rf.InputError, match="simd must be between 0 and 3, got 9"):
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
    shapes += [~shapes[0], shapes[0] & shapes[2], shapes[2] - shapes[0], ~(shapes[0] & shapes[1])]
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


def test_gradients_at_points_without_a_unique_nearest_one():
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


def test_intersection_and_difference(rng):
    """Any nesting of unions, intersections, complements and offsets against the formula."""
    leaves = [
        rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1),
        rf.SphereField([0.1, 0.2, 0.3], 0.2),
        rf.BoxField([0, 0, 0], [0.2, 0.3, 0.4]),
        rf.PlaneField([0, 0, 0.1], [1, 2, 3]),
    ]
    points = rng.uniform(-0.3, 0.9, (200, 3))
    plain = {leaf: leaf.distance(points) for leaf in leaves}

    def some(depth):
        kind = rng.integers(0, 5) if depth else 5
        if kind == 5:
            leaf = leaves[rng.integers(0, 4)]
            return leaf, plain[leaf]
        (a, x), (b, y) = some(depth - 1), some(depth - 1)
        by = rng.uniform(-0.1, 0.1)
        if kind < 3:
            field = (a | b, a & b, a - b)[kind]
            return field, (np.minimum(x, y), np.maximum(x, y), np.maximum(x, -y))[kind]
        return (~a, -x) if kind == 3 else (a.offset(by), x - by)

    for _ in range(60):
        field, expected = some(4)
        np.testing.assert_allclose(field.distance(points), expected, rtol=0, atol=1e-15)
    a, b, c, d = leaves
    parts = [(a | b).intersection(c | d, a)._core.parts, (~(a | b | c))._core.parts]
    assert parts == [2 * 2 * 3, 3]
    assert (~((a | b) & (c | d)))._core.parts == 4
    assert (~~((a | b) & (c | d)))._core.parts == 8
    assert a.difference(b, c)._core.parts == 3
    # exact inside, a lower bound outside
    both = rf.BoxField([0, 0, 0], [1, 2, 1]) & rf.BoxField([0, 1, 0], [3, 3, 1])
    exact = rf.BoxField([0, 1, 0], [1, 2, 1])
    p = rng.uniform(-1, 4, (500, 3))
    inside = exact.distance(p) < 0
    assert inside.any()
    np.testing.assert_allclose(both.distance(p)[inside], exact.distance(p)[inside], atol=1e-15)
    assert (both.distance(p)[~inside] >= 0).all()
    assert (both.distance(p) <= exact.distance(p) + 1e-15).all()


def test_samples_of_fields(rng):
    """Of any field: its values at the samples, and a claim of distances only where they are."""
    grid = rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1)
    ball, box = rf.SphereField([0.1, 0.2, 0.3], 0.4), rf.BoxField([0, 0, 0], [0.5, 0.6, 0.7])
    corners = np.array([[-0.6, -0.5, -0.4], [0.9, 1.0, 1.1]])
    cases = [
        (ball, True), (ball | box.offset(0.1), True), (ball.offset(-0.1), False),
        (ball & box, False), (ball - box, False), (~ball, False), (grid, False),
        (grid.offset(0.1) | ball, False),
    ]  # fmt: skip
    for field, known in cases:
        made = rf.DistanceField.from_field(field, (5, 7, 66), box=corners)
        assert made.values.shape == (6, 8, 67)
        axes = [np.linspace(a, b, n) for a, b, n in zip(*corners, (6, 8, 67), strict=True)]
        p = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        np.testing.assert_allclose(made.values.ravel(), field.distance(p), rtol=1e-7, atol=1e-12)
        assert (made._core.error == 0) == known
        assert known or made._core.error == np.inf
        again = pickle.loads(pickle.dumps(made))
        np.testing.assert_array_equal(again.values, made.values)
        assert (again.boundary, again._core.error) == (made.boundary, made._core.error)
    # between samples no further off than a place is from them
    made = rf.DistanceField.from_field(ball - box, 20)
    np.testing.assert_allclose(made.bounds, [ball._center - 0.6, ball._center + 0.6])
    p = rng.uniform(*made.bounds, (500, 3))
    half = 0.5 * np.linalg.norm(made.spacing)
    assert np.abs(made.distance(p) - (ball - box).distance(p)).max() < half
    # sides and places outside: lower bounds, of what is known to be distances
    made = rf.DistanceField.from_field(ball | box, 7, 1.6)
    p = rng.uniform(-2, 3, (2000, 3))
    out = ((p < made.bounds[0]) | (p > made.bounds[1])).any(axis=1)
    assert (made.distance(p)[out] <= (ball | box).distance(p)[out]).all()
    assert made.provenance["method"] == "samples of a field"
    assert "SphereField" in made.provenance["field"]
    reported = []
    rf.DistanceField.from_field(ball, 9, progress=lambda a, b: reported.append((a, b)))
    assert reported[-1] == (10, 10)


def test_complements_of_unions_made_by_the_core(rng):
    """Groups and offsets, which the public kinds simplify before."""
    grid = rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1)
    ball, box = rf.SphereField([0.1, 0.2, 0.3], 0.4), rf.BoxField([0, 0, 0], [0.5, 0.6, 0.7])
    p = rng.uniform(-0.5, 1, (500, 3))
    for field in (grid.offset(0.1), (ball & grid.offset(-0.05)) | box.offset(0.02), ~grid | ball):
        core = _core.Field((field._core,), 0.0, 0, "complement")
        np.testing.assert_allclose(core.distance(p, 1), -field.distance(p), atol=1e-15)
        larger = _core.Field((core,), 0.07, 0, "complement")
        np.testing.assert_allclose(larger.distance(p, 1), field.distance(p) - 0.07, atol=1e-15)


def test_fields_of_others_keep_their_grids(rng):
    """The core's own, not only the public objects: each owner once, however deep."""
    grid = rf.DistanceField(lipschitz_grid(rng), np.zeros(3), 0.1)._core
    ball = rf.SphereField([0, 0, 0], 1)._core
    field = _core.Field((grid, ball, grid), 0.0)
    for how in ("union", "complement", "intersection"):
        field = _core.Field((field,), 0.1, 0, how)
    (kept,) = (found for found in gc.get_referents(field) if isinstance(found, tuple))
    assert kept == (grid,)


def test_boxes_around_samples_below_a_value(rng):
    """Of all kinds and what joins them: nothing inside is beside the box, which has no slack."""
    axis = np.linspace(-0.5, 0.5, 21)
    r = np.linalg.norm(np.stack(np.meshgrid(axis, axis, axis), axis=-1), axis=-1)
    grid = rf.DistanceField(r - 0.3, (-0.5,) * 3, 0.05)  # 0.2 m at its sides
    ball, box = rf.SphereField([0.1, 0, 0], 0.2), rf.BoxField([-0.2, -0.1, 0], [0.3, 0.1, 0.2])
    capsule = rf.CapsuleField([0, 0, -0.4], [0.1, 0, 0.3], 0.1)
    cases = [
        (grid, 0.5), (grid.offset(0.1), 0.5), (grid.offset(0.5), 0.8), (ball, 0.3),
        (ball.offset(0.3), 0.6), (box.offset(0.1), 0.4), (capsule.offset(0.2), 0.7),
        (capsule.offset(-0.05), 0.45), (grid.offset(0.5) & box, 0.3), (grid - ball, 0.5),
        (grid.offset(0.3) | ball, 0.6), ((box & capsule) | ball, 0.3),
    ]  # fmt: skip
    p = rng.uniform(-1, 1, (20_000, 3))
    for field, farthest in cases:
        low, high = field._core.bounds
        inside = p[field.distance(p) < 0]
        assert len(inside) > 0
        assert (inside >= low).all()
        assert (inside <= high).all()
        np.testing.assert_allclose(max(*-low, *high), farthest, atol=1e-6)
    # the object is in the box of the samples: all of it, and not more
    made = rf.DistanceField.from_field(grid.offset(0.5), 16, 1.0)
    np.testing.assert_allclose(made.bounds, [[-0.8] * 3, [0.8] * 3], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((rf.PlaneField([0, 0, 0], [0, 0, 1]), 4), "is unbounded"),
        ((rf.SphereField([0, 0, 0], 1).offset(-2), 4), "nowhere negative"),
        ((rf.SphereField([0, 0, 0], 1), 0), "resolution"),
        ((rf.SphereField([0, 0, 0], 1), 4, 0.5), "expand must be at least 1, got 0.5"),
    ],
)
def test_fields_that_cannot_be_sampled(arguments, message):
    with pytest.raises(rf.InputError, match=message):
        rf.DistanceField.from_field(*arguments)


def test_boxes_of_samples_are_checked():
    ball = rf.SphereField([0, 0, 0], 1)
    for box, message in (
        ([[0, 0, 0], [1, 0, 1]], r"^box\[0, 1\] must be below box\[1, 1\], got 0 and 0$"),
        ([0, 0, 0], "box must have shape"),
        ([[0, 0, 0], [1, 1e200, 1]], "within 1e-150 and 1e150"),
    ):
        with pytest.raises(rf.InputError, match=message):
            rf.DistanceField.from_field(ball, 4, box=box)
    with pytest.raises(MemoryError, match="1048577 x 1048577 x 1048577 samples needs"):
        rf.DistanceField.from_field(ball, 1 << 20)
    with pytest.raises(rf.InputTypeError, match="field must be a"):
        rf.DistanceField.from_field(3)


def test_thousands_of_nested_operations():
    ball = rf.SphereField([0, 0, 0], 1.0)
    field, union, mixed = ball, ball, ball
    for k in range(3000):
        field = field.offset(0.001)
        union = union | rf.SphereField([0, 0, 0.001 * k], 1.0)
        mixed = ~(~mixed).offset(-0.001)
    assert field.by == pytest.approx(3.0)
    assert field.field is ball
    assert repr(field) == f"<OffsetField: 3 m around {ball!r}>"
    assert field.distance([5, 0, 0]) == pytest.approx(1.0)
    assert len(union.fields) == 3001
    assert repr(union).endswith(", ... (3001 in all)>")
    assert pickle.loads(pickle.dumps(union)).distance([0, 0, 5.0]) == union.distance([0, 0, 5.0])
    assert mixed.distance([5, 0, 0]) == pytest.approx(1.0)
    assert "..." in repr(mixed)
    del field, union, mixed


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
        (
            lambda: rf.IntersectionField([rf.UnionField([rf.SphereField([0, 0, 0], 1)] * 10)] * 5),
            "a field has 1 to 65536 parts, this one would have 500000: intersections of unions",
        ),
        (lambda: rf.IntersectionField([]), "fields must hold one field or more"),
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
        (
            lambda: rf.SphereField([0] * 3, 1).union([]),
            r"others\[0\] .* got list; give the fields in",
        ),
        (lambda: rf.IntersectionField([3]), r"fields\[0\] must be a Field, got int"),
        (lambda: rf.SphereField([0] * 3, 1).difference(3), r"others\[0\] must be a Field, got int"),
        (lambda: rf.ComplementField(3), "field must be a Field, got int"),
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
    with pytest.raises(rf.InputError, match="shape must be the name of a shape, got cone"):
        _core.field_from_shape("cone", zero, one, 1.0)
    with pytest.raises(rf.InputError, match="normal must be a unit vector"):
        _core.field_from_shape("plane", zero, one, 1.0)
    with pytest.raises(rf.InputError, match="1 to 65536 parts, got 0"):
        _core.Field((), 0.0)
    ball = _core.field_from_shape("sphere", zero, zero, 1.0)
    with pytest.raises(rf.InputError, match="join must be union, intersection or complement"):
        _core.Field((ball,), 0.0, 0, "both")
    with pytest.raises(rf.InputError, match="1 to 65536 parts, got 2"):
        _core.Field((ball, ball), 0.0, 0, "complement")
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


def test_a_union_keeps_its_fields_alive(rng):
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
    with pytest.raises(rf.InputError, match="repeats must be between 1 and 1000000, got 0"):
        field.time_distances(np.zeros((1, 3)), 0, False)
