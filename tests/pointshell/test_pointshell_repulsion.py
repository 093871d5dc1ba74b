"""Points spread over level sets by repulsion: where they lie, how evenly, how reproducibly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

import reducedfem as rf
from failures import check_live_blocks, fail_each_allocation, live_blocks
from reducedfem import _core


def sampled(distance, n=49, low=-1.0, high=1.0):
    axis = np.linspace(low, high, n)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    return rf.DistanceField(distance(x, y, z), [low] * 3, [(high - low) / (n - 1)] * 3)


def of_field(field, n=49, low=-1.0, high=1.0):
    return sampled(
        lambda *x: field.distance(np.stack(x, -1).reshape(-1, 3)).reshape(x[0].shape), n, low, high
    )


def corner():
    return rf.BoxField([-0.6, -0.5, -0.3], [0.6, 0.5, 0.2]).union(
        rf.BoxField([-0.2, -0.2, -0.3], [0.2, 0.2, 0.8])
    )


def ball(radius=1.0):
    """Return a ball in samples, which is triangulated faster than one by formula."""
    return sampled(
        lambda x, y, z: np.sqrt(x**2 + y**2 + z**2) - radius, 33, -1.25 * radius, 1.25 * radius
    )


# name: field
FIELDS = {
    "sphere": lambda: rf.SphereField([0.3, -0.2, 5.0], 0.7),
    "capsule": lambda: rf.CapsuleField([0, 0, 0], [1, 0, 0], 0.05),
    "sampled sphere": lambda: sampled(lambda x, y, z: np.sqrt(x**2 + y**2 + z**2) - 0.7),
    "torus": lambda: sampled(lambda x, y, z: np.hypot(np.hypot(x, y) - 0.6, z) - 0.2),
    "box": lambda: of_field(rf.BoxField([-0.6, -0.5, -0.4], [0.6, 0.5, 0.4])),
    "thin plate": lambda: of_field(rf.BoxField([-0.6, -0.5, -0.04], [0.6, 0.5, 0.04])),
    "inward edges": lambda: of_field(corner()),
    "box by formula": lambda: rf.BoxField([-0.6, -0.5, -0.4], [0.6, 0.5, 0.4]),
    "two parts": lambda: rf.SphereField([0, 0, 0], 0.3).union(rf.SphereField([1, 0, 0], 0.6)),
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_defaults_converge(name):
    """Points of each level are even, for any shape; only the number of points is given."""
    field = FIELDS[name]()
    shell = rf.Pointshell.from_field(field, 4000, 4)
    size = np.ptp(shell.points, axis=0).max()
    # on the level set, to what doubles and float32 samples in metres give
    assert np.abs(field.distance(shell.points)).max() < 1e-8 * size
    np.testing.assert_allclose(np.linalg.norm(shell.normals, axis=1), 1.0, atol=1e-12)
    gradient = field.gradient(shell.points)
    assert (np.einsum("ij,ij->i", gradient, shell.normals) < 0).all()
    measured = shell.uniformity(field)
    np.testing.assert_array_equal(measured.counts, np.cumsum(shell.level_counts))
    # hexagons have gaps of 0.58, squares of 0.66, random points of about 2 and more; edges
    # and small numbers of points leave less choice
    assert (measured.gap < 1.0).all()
    assert measured.gap[-1] < 0.9
    # random points have a spread of 0.52
    assert (measured.spread[1:] < 0.2).all()
    assert measured.spread[-1] < 0.1
    assert measured.least[-1] > 0.25
    assert (measured.nearest[1:] > 0.7).all()


def test_levels_are_four_times_as_many_and_add_up():
    field = ball()
    for points, levels in ((85, 4), (1000, 3), (999, 3), (7, 1), (5, 2)):
        shell = rf.Pointshell.from_field(field, points, levels)
        assert shell.n_points == points
        assert shell.n_levels == levels
        ratio = shell.level_counts[1:] / shell.level_counts[:-1]
        assert (np.abs(ratio - 4) * shell.level_counts[:-1] <= 4).all()
    np.testing.assert_array_equal(shell.level_counts, [1, 4])


def test_finer_levels_do_not_move_coarser_ones():
    """Levels are nested: those of a shell with a level less are the same where seeds agree."""
    field = FIELDS["torus"]()
    few = _core.shell_create(field._core, None, 32, 5, 2, 7, 0.0, 30, 0.0, 0, None, 1)[0]
    many = _core.shell_create(field._core, None, 32, 21, 3, 7, 0.0, 30, 0.0, 0, None, 1)[0]
    np.testing.assert_array_equal(many[:5], few)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_uniformity_against_plain_search():
    field = rf.SphereField([0, 0, 0], 1.0)
    shell = rf.Pointshell.from_field(field, 1500, 3)
    rng = np.random.default_rng(0)
    places = rng.normal(size=(200_000, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    measured = shell.uniformity(field)
    for level, n in enumerate(measured.counts):
        tree = cKDTree(shell.points[:n])
        nearest = tree.query(shell.points[:n], k=2)[0][:, 1]
        spacing = np.sqrt(2 * 4 * np.pi / (np.sqrt(3) * n))
        # the area is that of a triangulation with some hundred edges around
        assert measured.spacing[level] == pytest.approx(spacing, rel=1e-3)
        assert measured.nearest[level] == pytest.approx(nearest.mean() / spacing, rel=1e-3)
        assert measured.spread[level] == pytest.approx(nearest.std() / nearest.mean(), rel=1e-6)
        assert measured.least[level] == pytest.approx(nearest.min() / spacing, rel=1e-3)
        # both find almost the largest gap; what is found is never larger
        gap = tree.query(places)[0].max() / spacing
        assert measured.gap[level] == pytest.approx(gap, rel=0.05)


def test_uniformity_distinguishes_bad_from_good():
    """Random points, a hole and coincident points are distinguished from an even shell."""
    field = ball()
    good = rf.Pointshell.from_field(field, 2000, 1)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    random = rf.Pointshell(x, -x).uniformity(field)
    assert random.spread[0] > 5 * good.uniformity(field).spread[0]
    assert random.gap[0] > 1.5
    kept = good.points[:, 2] < 0.95
    hole = rf.Pointshell(good.points[kept], good.normals[kept])
    # a cap of half angle acos(0.95) less half a spacing
    expected = 2 * np.sin(np.arccos(0.95) / 2) / hole.uniformity(field).spacing[0]
    assert hole.uniformity(field).gap[0] == pytest.approx(expected, abs=0.8)
    # the orientation of a closed surface does not matter
    surface = rf.Surface(*balls([0, 0, 0]))
    turned = rf.Surface(surface.vertices, surface.triangles[:, ::-1])
    assert good.uniformity(turned).gap[0] == pytest.approx(good.uniformity(surface).gap[0], abs=0.1)
    twice = rf.Pointshell(np.repeat(x[:50], 2, axis=0), -np.repeat(x[:50], 2, axis=0))
    assert twice.uniformity(field).least[0] == 0.0
    # a point that no other one faces the same way as is left out
    three = np.array([[0, 0, 1.0], [0.1, 0, 1.0], [0, 0.3, 1.0], [0, 0, -1]])
    facing = rf.Pointshell(three, [[0, 0, -1.0]] * 3 + [[0, 0, 1.0]]).uniformity(field)
    assert facing.nearest[0] * facing.spacing[0] == pytest.approx((0.1 + 0.1 + 0.3) / 3)
    assert facing.spread[0] == pytest.approx(np.std([0.1, 0.1, 0.3]) / np.mean([0.1, 0.1, 0.3]))
    alone = rf.Pointshell(x[:1], -x[:1]).uniformity(field)
    assert np.isnan(alone.nearest[0])
    assert alone.gap[0] * alone.spacing[0] == pytest.approx(2.0, rel=1e-2)


def test_sides_of_thin_parts_do_not_interact():
    plate = of_field(rf.BoxField([-0.6, -0.5, -0.04], [0.6, 0.5, 0.04]))
    # spacing larger than the thickness
    shell = rf.Pointshell.from_field(plate, 300, 1)
    measured = shell.uniformity(plate)
    assert measured.spacing[0] > 0.08
    assert measured.gap[0] < 1.0
    for side in (-1, 1):
        face = shell.points[np.abs(shell.normals[:, 2] + side) < 0.1]
        nearest = cKDTree(face).query(face, k=2)[0][:, 1]
        assert nearest.min() > 0.4 * measured.spacing[0]


def test_parts_get_their_share():
    radii, centers = (0.1, 0.2, 0.4), ([0, 0, 0], [1, 0, 0], [0, 1, 0])
    field = rf.UnionField([rf.SphereField(c, r) for c, r in zip(centers, radii, strict=True)])
    for n in (210, 2100):
        shell = rf.Pointshell.from_field(field, n, 1)
        for center, radius in zip(centers, radii, strict=True):
            share = radius**2 / sum(r**2 for r in radii)
            got = (np.linalg.norm(shell.points - center, axis=1) < 0.5).sum()
            # a point at each end, and the triangulation lacks area where it is coarse
            assert abs(got - share * n) < 2 + 0.02 * n


def test_level_sets_off_the_surface():
    field = FIELDS["torus"]()
    for level in (-0.05, 0.08):
        shell = rf.Pointshell.from_field(field, 500, 2, level_set=level)
        np.testing.assert_allclose(field.distance(shell.points), level, atol=1e-8)
        ring = np.hypot(np.hypot(*shell.points[:, :2].T) - 0.6, shell.points[:, 2])
        # interpolation between samples 0.04 m apart
        np.testing.assert_allclose(ring, 0.2 + level, atol=2e-3)
        assert shell.uniformity(field, level).gap[-1] < 0.9
    thick = field.offset(0.05)
    shell = rf.Pointshell.from_field(thick, 500, 2)
    np.testing.assert_allclose(field.distance(shell.points), 0.05, atol=1e-8)


def balls(*centers):
    """Return unit balls as one surface."""
    field = rf.SphereField([0.0, 0.0, 0.0], 1.0)
    vertices, triangles = _core.level_set(field._core, 0.0, 24, None, 1)
    return (
        np.concatenate([vertices + at for at in centers]),
        np.concatenate([triangles + k * len(vertices) for k in range(len(centers))]),
    )


@pytest.mark.parametrize("gap", [10.0, 1e3, 1e7])
def test_parts_may_be_far_apart(gap):
    """As evenly as one alone: most cells of the box are empty."""
    surface = balls([0, 0, 0], [gap, 0.7 * gap, 0.3 * gap], [0.4 * gap, -gap, gap])
    x, normals, *_ = _core.shell_create(None, surface, 32, 9000, 3, 0, 0.0, 40, 0.0, 0, None, 2)
    counts = []
    for at in ([0, 0, 0], [gap, 0.7 * gap, 0.3 * gap], [0.4 * gap, -gap, gap]):
        part = x[np.linalg.norm(x - at, axis=1) < 2]
        nearest = cKDTree(part).query(part, k=2)[0][:, 1]
        assert nearest.std() / nearest.mean() < 0.1
        counts.append(len(part))
    np.testing.assert_allclose(counts, 3000, atol=2)
    # the measures look into the same cells
    measured = _core.shell_uniformity(*surface, None, 0.0, x, normals, 0, None, 2)
    nearest = cKDTree(x).query(x, k=2)[0][:, 1]
    np.testing.assert_allclose(measured[1] * measured[0], nearest.mean(), rtol=1e-12)
    np.testing.assert_allclose(measured[3] * measured[0], nearest.min(), rtol=1e-12)


def test_measures_of_points_beyond_squares():
    far = rf.Pointshell([[1e308, 0, 0], [-1e308, 0, 0]], np.eye(3)[:2])
    with pytest.raises(rf.InputError, match=r"points\[0\] is \(1e\+308, 0, 0\), too far from"):
        far.uniformity(rf.SphereField([0, 0, 0], 1.0))
    with pytest.raises(rf.InputError, match="too far from the origin"):
        _core.shell_areas(*balls([0, 0, 0]), far.points, far.normals, 4, 0, None, 1)


def test_far_from_the_origin():
    """Coordinates are rounded by more than the usual tolerance."""
    field = rf.SphereField([1e8, -2e8, 3e7], 1.0)
    shell = rf.Pointshell.from_field(field, 100, 2)
    assert np.abs(field.distance(shell.points)).max() < 1e-6
    assert shell.uniformity(field).spread[-1] < 0.2


@pytest.mark.parametrize("by", [-0.15, 0.4])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_offsets_of_formulas(by):
    """Their boxes grow and shrink with them; with a level set on top too."""
    shapes = [
        rf.SphereField([0, 0, 0], 0.5),
        rf.BoxField([0, 0, 0], [1, 0.8, 0.6]),
        rf.CapsuleField([0, 0, 0], [1, 0, 0], 0.3),
    ]
    for field in (*shapes, rf.UnionField(shapes)):
        shell = rf.Pointshell.from_field(field.offset(by), 100, 1, level_set=0.1)
        np.testing.assert_allclose(field.distance(shell.points), by + 0.1, atol=1e-9)


def test_a_sheet_without_thickness_has_normals_on_its_rim():
    """Two faces back to back: their pseudonormals cancel each other on the rim."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3], [2, 1, 0], [3, 2, 0]], dtype=np.int32)
    x, normals, *_ = _core.shell_create(
        None, (corners, triangles), 32, 400, 2, 0, 0.0, 60, 0.0, 0, None, 2
    )
    np.testing.assert_allclose(np.abs(normals), np.tile([0, 0, 1.0], (400, 1)), atol=1e-12)
    rim = (np.abs(x[:, :2] - 0.5) > 0.5 - 1e-9).any(axis=1)
    assert rim.sum() > 20
    assert abs((normals[:, 2] > 0).mean() - 0.5) < 0.1


def test_levels_end_at_equilibrium():
    ball = rf.SphereField([0, 0, 0], 1.0)
    for still, most in ((0.05, 100), (0.0, 7), (1e-9, 3)):
        *_, rounds, motion, _ = _core.shell_create(
            ball._core, None, 32, 1000, 3, 0, 0.0, most, still, 0, None, 1
        )
        early = rounds < most
        assert (motion[early] <= still).all()
        assert (motion[~early] > still).all()
        assert early.all() == (most == 100)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_areas_add_up():
    field = rf.BoxField([0, 0, 0], [1, 1, 1])
    shell = rf.Pointshell.from_field(field, 600, 2, areas=True)
    # the triangulation, of cubes of 1/128, cuts the edges
    assert shell.areas.sum() == pytest.approx(6 - 12 * (2 - 2**0.5) / 128, abs=0.01)
    # cells of an even shell are alike: of hexagons all are the same
    assert shell.areas.std() / shell.areas.mean() < 0.2
    random = np.random.default_rng(0).normal(size=(400, 3))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    ball = rf.SphereField([0, 0, 0], 1.0)
    vertices, triangles = _core.level_set(ball._core, 0.0, 64, None, 1)
    areas = _core.shell_areas(vertices, triangles, random, -random, 64, 0, None, 2)
    places = np.random.default_rng(1).normal(size=(200_000, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    plain = np.bincount(cKDTree(random).query(places)[1], minlength=400) / 200_000 * 4 * np.pi
    # about 64 and 500 samples a point
    assert np.abs(areas - plain).max() < 0.5 * plain.mean()
    assert np.corrcoef(areas, plain)[0, 1] > 0.98
    # more than a million samples are taken in two turns, which are not the same
    areas = _core.shell_areas(vertices, triangles, random, -random, 3000, 0, None, 2)
    counts = areas / areas.sum() * 400 * 3000
    np.testing.assert_allclose(counts, counts.round(), atol=1e-5)
    assert (counts.round() % 2 == 1).mean() > 0.3
    assert np.abs(areas - plain).max() < 0.2 * plain.mean()


def test_any_number_of_threads_gives_the_same_bits():
    field, before = FIELDS["inward edges"](), rf.threads()
    made = []
    try:
        for threads in (1, 2, 5):
            rf.set_threads(threads)
            made.append(rf.Pointshell.from_field(field, 1500, 3, areas=True))
    finally:
        rf.set_threads(before)
    for other in made[1:]:
        for name in ("points", "normals", "levels", "areas"):
            np.testing.assert_array_equal(getattr(other, name), getattr(made[0], name))


def test_random_choices_follow_rng():
    field = ball()

    def points(rng):
        return rf.Pointshell.from_field(field, 100, 2, rng).points

    np.testing.assert_array_equal(points(3), points(3))
    assert np.abs(points(3) - points(4)).max() > 1e-3
    np.testing.assert_array_equal(
        points(np.random.default_rng(5)), points(np.random.default_rng(5))
    )
    one = np.random.default_rng(5)
    assert np.abs(points(one) - points(one)).max() > 1e-3


def test_memory_runs_out():
    field = rf.SphereField([0, 0, 0], 1.0)
    vertices, triangles = _core.level_set(field._core, 0.0, 12, None, 1)
    fail_each_allocation(lambda: _core.level_set(field._core, 0.0, 12, None, 1))
    fail_each_allocation(
        lambda: _core.shell_create(field._core, None, 12, 30, 2, 0, 0.0, 5, 0.0, 4, None, 1)
    )
    surface = (vertices, triangles)
    for on in (None, field._core):
        fail_each_allocation(
            lambda on=on: _core.shell_create(on, surface, 12, 30, 2, 0, 0.0, 5, 0.0, 4, None, 1)
        )
    fail_each_allocation(lambda: _core.shell_thinness(field._core, *surface, 0.0, 0.1, 9, None, 1))
    x = np.eye(3)
    fail_each_allocation(
        lambda: _core.shell_uniformity(vertices, triangles, None, 0.0, x, -x, 100, None, 1)
    )
    fail_each_allocation(lambda: _core.shell_areas(vertices, triangles, x, -x, 10, 0, None, 1))
    fail_each_allocation(lambda: _core.farthest_order(x, None, 1))


def test_progress_and_stop():
    """One count for all of the work; a callable that raises ends it, and nothing stays behind."""
    field = rf.SphereField([0, 0, 0], 1.0)
    surface = rf.Surface(*_core.level_set(field._core, 0.0, 40, None, 1))
    twice = rf.Surface(
        np.concatenate([surface.vertices, surface.vertices + 0.5]),
        np.concatenate([surface.triangles, surface.triangles + len(surface.vertices)]),
    )

    class Enough(Exception):
        pass

    def stop_from(share, done, total):
        if done >= share * total:
            raise Enough

    for make in (
        lambda tell: rf.Pointshell.from_field(field, 3000, 3, areas=True, progress=tell),
        lambda tell: rf.Pointshell.from_surface(surface, 2000, 3, 0, 32, progress=tell),
        lambda tell: rf.Pointshell.from_surface(twice, 2000, 3, 0, 32, areas=True, progress=tell),
    ):
        seen = []
        make(lambda *count, seen=seen: seen.append(count))
        done, total = np.array(seen).T
        assert (np.diff(done) >= 0).all()
        assert len(set(total)) == 1
        assert done[-1] == total[-1]
        # calls are some time apart: the work continues beyond the share for a while
        live = live_blocks()
        for share in (0.0, 0.5, 1.0):
            with pytest.raises(Enough):
                make(lambda *count, share=share: stop_from(share, *count))
            check_live_blocks(live)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"level_set": 5.0},
            rf.InputError,
            "level_set is 5, but the field goes from -0.7 to 1.03.*: there is no",
        ),
        ({"level_set": 0.8}, rf.InputError, "level set 0.8 of the field leaves its box"),
        (
            {
                "field": FIELDS["sampled sphere"]() | rf.SphereField([0, 0, 0], 0.1),
                "level_set": 0.31,
            },
            rf.InputError,
            "level set 0.31 of the field leaves its box",
        ),
        ({"level_set": np.nan}, rf.InputError, "level_set must be finite"),
        ({"points": 0}, rf.InputError, "points must be between 1 and .*, got 0"),
        ({"points": 340, "levels": 6}, rf.InputError, "340 points are too few for 6 levels.*1365"),
        ({"levels": 16}, rf.InputError, "levels must be between 1 and 15, got 16"),
        ({"points": 2**31 - 1}, rf.InputError, "points is 2147483647, which would need .* GiB"),
        ({"points": 2.0}, rf.InputTypeError, "points must be an int"),
        ({"rng": -1}, rf.InputError, "rng must be between 0 and"),
        ({"rng": "x"}, rf.InputTypeError, "rng must be an int or a numpy.random.Generator"),
        ({"areas": 1}, rf.InputTypeError, "areas must be True or False"),
        ({"field": rf.PlaneField([0, 0, 0], [0, 0, 1])}, rf.InputError, "is unbounded"),
        ({"field": rf.SphereField([0, 0, 0], 1.0), "level_set": -2.0}, rf.InputError, "no surface"),
        ({"field": "x"}, rf.InputTypeError, "field must be a Field, got str"),
        (
            {"field": rf.BoxField([0, 0, 0], [1, 1, 1e-3])},
            rf.InputError,
            "too thin to be found by samples 0.00781 m apart",
        ),
    ],
)
def test_bad_input(arguments, error, message):
    settings = {"field": FIELDS["sampled sphere"](), "points": 1000, "levels": 3}
    with pytest.raises(error, match=message):
        rf.Pointshell.from_field(**{**settings, **arguments})


def test_gaps_as_long_as_the_surface():
    """All points in one corner of a square: places at the other are a diagonal away."""
    square = rf.Surface([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    for n in (4, 40, 400):
        points = 1e-3 * np.stack([np.linspace(0, 1, n)] * 2 + [np.zeros(n)], axis=1)
        measured = rf.Pointshell(points, np.tile([0, 0, -1.0], (n, 1))).uniformity(square)
        farthest = measured.gap[0] * measured.spacing[0]
        np.testing.assert_allclose(farthest, 2**0.5, atol=0.03)


def test_each_part_gets_its_share_of_the_points():
    """Two ribbons closer to each other than points: each gets equally many."""
    x = np.linspace(0, 1, 201)
    rows = [np.stack([x, 0 * x + y, 0 * x], axis=1) for y in (0.0, 0.002, 0.004, 0.006)]
    k = np.arange(200)
    strip = np.concatenate([
        np.stack([k, k + 1, k + 201], axis=1), np.stack([k + 1, k + 202, k + 201], axis=1)
    ])  # fmt: skip
    arrays = np.concatenate(rows), np.concatenate([strip, strip + 402])
    for seed in range(3):
        shell = _core.shell_create(None, arrays, 8, 401, 1, seed, 0.0, 1, 0.0, 0, None, 1)
        assert abs(np.count_nonzero(shell[0][:, 1] < 0.003) - 200.5) <= 1.5


def test_uniformity_requires_a_surface():
    shell = rf.Pointshell(np.eye(3), np.eye(3))
    with pytest.raises(rf.InputTypeError, match="surface must be a Surface or a Field, got list"):
        shell.uniformity([1, 2])
    flat = rf.Surface([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    with pytest.raises(rf.MeshError, match="area of 0 m"):
        shell.uniformity(flat)


# --- farthest points ----------------------------------------------------------------


def plain_farthest(points):
    square = np.full(len(points), np.inf)
    order = []
    for _ in points:
        k = int(np.argmax(np.where(np.isin(np.arange(len(points)), order), -1.0, square)))
        order.append(k)
        # products in the order of the core: ties stay ties
        d = points - points[k]
        square = np.minimum(square, d[:, 0] ** 2 + d[:, 1] ** 2 + d[:, 2] ** 2)
    return order


def test_farthest_points_against_the_definition():
    rng = np.random.default_rng(0)
    order, levels = rf.Pointshell.farthest_point_order(rng.normal(size=(300, 3)), 4)
    np.testing.assert_array_equal(np.sort(order), np.arange(300))
    # 4, 16, 64, the rest
    np.testing.assert_array_equal(np.bincount(levels), [4, 16, 64, 216])
    for points in (
        rng.normal(size=(300, 3)),
        rng.integers(0, 4, size=(200, 3)).astype(float),  # many ties, many at one place
        np.outer(np.arange(50.0), [1, 0, 0]),
        np.zeros((5, 3)),
        np.ones((1, 3)),
    ):
        order, levels = rf.Pointshell.farthest_point_order(points)
        np.testing.assert_array_equal(order, plain_farthest(points))
        assert levels[0] == 0


@pytest.mark.parametrize("power", [-1074, -1000, -520, -333, 333, 520, 1018])
def test_farthest_points_at_any_scale(power):
    """Squares of distances may overflow or vanish at these scales; powers of two keep ties."""
    x = np.random.default_rng(2).integers(-9, 10, size=(60, 3)).astype(float)
    order, _ = rf.Pointshell.farthest_point_order(np.ldexp(x, power))
    np.testing.assert_array_equal(order, plain_farthest(x))
    ends = [[1e308, 0, 0], [0, 1, 0], [-1e308, 0, 0], [2e307, 0, 0]]
    np.testing.assert_array_equal(rf.Pointshell.farthest_point_order(ends)[0], [0, 2, 1, 3])


def test_farthest_points_of_parts_far_apart():
    """Small parts in a large box lie in few of its cells, until these are made smaller."""
    rng = np.random.default_rng(3)
    parts = [rng.normal(size=(120, 3)) + at for at in ([0, 0, 0], [1e5, 2e5, 0], [-3e6, 1, 7e6])]
    for x in (np.concatenate(parts), np.concatenate([parts[0], parts[0], [[1e7, 1e7, 1e7]]])):
        np.testing.assert_array_equal(rf.Pointshell.farthest_point_order(x)[0], plain_farthest(x))
    # quadratic ways would take half a minute for each
    ball = rng.normal(size=(120_000, 3))
    ball[-1] = 1e6
    for x in (ball, np.zeros_like(ball)):
        order = rf.Pointshell.farthest_point_order(x)[0]
        np.testing.assert_array_equal(np.sort(order), np.arange(len(x)))
    np.testing.assert_array_equal(order, np.arange(len(x)))


def test_farthest_points_of_many():
    x = np.random.default_rng(0).normal(size=(20_000, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    order, levels = rf.Pointshell.farthest_point_order(x)
    shell = rf.Pointshell(x[order], -x[order], levels)
    # each point is as far from those before as the gap that they leave
    reach = [cKDTree(x[order[:n]]).query(x[order[n]])[0] for n in range(1, 2000, 13)]
    assert (np.diff(reach) <= 1e-12).all()
    assert shell.uniformity(ball()).least[2] > 0.7


@pytest.mark.parametrize("scale", [1e-100, 1e100, 1e200])
def test_areas_that_overflow(scale):
    vertices, triangles = balls([0, 0, 0])
    surface = (vertices * scale, triangles)
    with pytest.raises(rf.MeshError, match="m long, so areas of its triangles are beyond"):
        _core.shell_create(None, surface, 32, 30, 2, 0, 0.0, 5, 0.0, 0, None, 1)


def test_farthest_points_of_other_types_are_refused():
    order = rf.Pointshell.farthest_point_order
    for points, message in (
        (np.zeros((0, 3)), "points has no rows"),
        ([[np.nan, 0, 0]], r"points\[0, 0\] is nan"),
        ([[0, 0]], "points must have shape"),
    ):
        with pytest.raises(rf.InputError, match=message):
            order(points)
    with pytest.raises(rf.InputError, match="branching must be between 1"):
        order(np.eye(3), 0)
    np.testing.assert_array_equal(order(np.eye(3), 1)[1], [0, 1, 2])
    # a level each, of very many
    x = np.arange(90_000.0).reshape(-1, 3)
    np.testing.assert_array_equal(order(x, 1)[1], np.arange(len(x)))
