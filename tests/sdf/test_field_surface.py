"""Distance fields of surfaces: exact samples, signs, soups, what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial import KDTree

import reducedfem as rf
from failures import check_live_blocks, fail_each_allocation, live_blocks
from plain_surface import cube, plain_closest, winding
from reducedfem import _core
from shapes import ball as ball_of_hexes

SOUPS = ["stanford-bunny", "suzanne", "teapot"]
CLOSED = ["cow", "fandisk", "rocker-arm", "spot"]


def places(field):
    """Return the places of all samples (n, 3)."""
    index = np.argwhere(np.ones(field.values.shape, bool))
    return field.origin + index * field.spacing


def ball(n):
    surface = rf.Mesh(*ball_of_hexes(n)).surface()
    return surface.vertices / np.linalg.norm(surface.vertices, axis=1)[:, None], surface.triangles


def bumpy_ball(n=6):
    vertices, triangles = ball(n)
    bumps = 1 + 0.2 * np.sin(5 * vertices[:, :1]) * np.sin(4 * vertices[:, 1:2] + 1)
    return rf.Surface(bumps * vertices, triangles)


def overlapping(n=2):
    """Two balls."""
    vertices, triangles = ball(n)
    return rf.Surface(
        np.concatenate([vertices, vertices + np.array([0.7, 0, 0])]),
        np.concatenate([triangles, triangles + len(vertices)]),
    )


# --- closed surfaces -----------------------------------------------------------------


def test_signs_far_from_the_origin():
    """Faces across the rows of samples, whose places are rounded by more than 1e-9 of a voxel."""
    vertices, triangles = cube()
    for resolution in (20, 21, 25):
        for shift in (3e6, 1e7, 3.3e7):
            surface = rf.Surface(vertices + shift, triangles)
            field = rf.DistanceField.from_surface(surface, resolution)
            low, high = surface.bounds
            p = places(field)
            inside = ((p > low) & (p < high)).all(axis=1)
            np.testing.assert_array_equal(field.values.ravel() < 0, inside)


@pytest.mark.parametrize("resolution", [7, 10, 13])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_samples_are_the_exact_distances(resolution):
    surface = bumpy_ball()
    field = rf.DistanceField.from_surface(surface, resolution)
    assert field.values.shape == (resolution + 1,) * 3
    size = np.ptp(surface.bounds, axis=0).max()
    np.testing.assert_allclose(field.spacing, 1.5 * size / resolution, rtol=1e-14)
    np.testing.assert_allclose(field.bounds.mean(axis=0), surface.bounds.mean(axis=0), atol=1e-15)
    p = places(field)
    expected, _ = plain_closest(surface.vertices, surface.triangles, p)
    expected *= np.where(winding(surface.vertices, surface.triangles, p) > 0.5, -1, 1)
    # rounding to float32
    np.testing.assert_allclose(field.values.ravel(), expected, rtol=1e-7, atol=1e-14)
    assert field.provenance["closed"]
    assert field.provenance["offset_m"] == 0


def test_against_vega(shared):
    for name in ("beam3", "bridge_ic"):
        data = np.load(shared / "reference" / "vega" / f"sdf_{name}.npz")
        surface = rf.Surface(data["triangle_vertices"], data["triangles"])
        field = rf.DistanceField.from_surface(
            surface, data["resolution"], box=[data["bmin"], data["bmax"]]
        )
        # its samples are within 3e-7 of brute force
        np.testing.assert_allclose(field.values, data["field"], rtol=3e-7, atol=3e-7)
        at = data["query"]
        # float32 arithmetic there
        np.testing.assert_allclose(field.distance(at), data["query_distance"], atol=2e-6)
        d = rf.DistanceField(data["field"], data["bmin"], field.spacing)
        np.testing.assert_allclose(d.distance(at), data["query_distance"], atol=2e-6)


@pytest.mark.parametrize("name", CLOSED)
def test_signs_of_real_closed_meshes(shared, rng, name):
    surface = rf.read_surface(shared / "meshes" / f"{name}.obj")
    field = rf.DistanceField.from_surface(surface, 48)
    d = field.values.ravel()
    h = field.spacing[0]
    # some anywhere, more near the surface
    some = rng.choice(np.flatnonzero(np.abs(d) < 1.5 * h), 100, replace=False)
    some = np.append(some, rng.choice(len(d), 50, replace=False))
    p, d = places(field)[some], d[some]
    inside = np.abs(winding(surface.vertices, surface.triangles, p)) > 0.5
    assert inside.any()
    np.testing.assert_array_equal(d < 0, inside)
    expected, *_ = _core.surface_closest(surface.vertices, surface.triangles, p, np.inf)
    np.testing.assert_allclose(np.abs(d), expected, rtol=1e-7)


def test_inward_facing_surfaces_are_turned():
    surface = bumpy_ball()
    out = rf.DistanceField.from_surface(surface, 20)
    turned = rf.DistanceField.from_surface(
        rf.Surface(surface.vertices, surface.triangles[:, ::-1]), 20
    )
    assert not out.provenance["turned"]
    assert turned.provenance["turned"]
    np.testing.assert_allclose(turned.values, out.values, rtol=1e-7)


def test_components_and_cavities():
    vertices, triangles = ball(6)
    n = len(vertices)
    # a shell with a cavity, a ball in the cavity, and another beside
    surface = rf.Surface(
        np.concatenate([vertices, 0.7 * vertices, 0.3 * vertices, 0.4 * vertices + [2, 0, 0]]),
        np.concatenate([triangles, triangles[:, ::-1] + n, triangles + 2 * n, triangles + 3 * n]),
    )
    field = rf.DistanceField.from_surface(surface, 40)
    p = places(field)
    r, s = np.linalg.norm(p, axis=1), np.linalg.norm(p - [2, 0, 0], axis=1)
    # facets lie below the spheres by up to 0.05 of the radius
    solid = ((r > 0.7) & (r < 0.95)) | (r < 0.28) | (s < 0.38)
    empty = ((r > 1) & (s > 0.4)) | ((r < 0.66) & (r > 0.3))
    assert (field.values.ravel()[solid] < 0).all()
    assert (field.values.ravel()[empty] > 0).all()
    assert field.provenance["closed"]


@pytest.mark.parametrize("outwards", [True, False])
def test_surfaces_that_cross_themselves(rng, outwards):
    """Two balls that overlap, one of them inverted: the inside is that of the winding number."""
    vertices, triangles = ball(6)
    second = triangles if outwards else triangles[:, ::-1]
    surface = rf.Surface(
        np.concatenate([vertices, 0.6 * vertices + [1.05, 0.1, 0]]),
        np.concatenate([triangles, second + len(vertices)]),
    )
    field = rf.DistanceField.from_surface(surface, 40)
    assert field.provenance["crossing"]
    d = field.values.ravel()
    some = np.append(
        rng.choice(np.flatnonzero(np.abs(d) < 0.1), 300), rng.choice(len(d), 300, replace=False)
    )
    p, d = places(field)[some], d[some]
    # the one inside out is turned first
    inside = winding(surface.vertices, surface.oriented().triangles, p) > 0.5
    expected, *_ = _core.surface_closest(surface.vertices, surface.triangles, p, np.inf)
    np.testing.assert_array_equal(d < 0, inside)
    np.testing.assert_allclose(d[~inside], expected[~inside], rtol=1e-7)
    # inside others hidden walls do not count
    assert (-d[inside] >= expected[inside] * (1 - 1e-7)).all()


def spheres_apart(p, apart):
    """Depth below the boundary of two unit spheres together, at places inside."""
    depth = np.hypot(p[:, 0], np.hypot(p[:, 1], p[:, 2]) - np.sqrt(1 - (apart / 2) ** 2))
    for centre in (-apart / 2, apart / 2):
        way = p - [centre, 0, 0]
        r = np.linalg.norm(way, axis=1)
        # the nearest place on this sphere, unless it is in the other; a centre may choose
        foot = centre + way[:, 0] / np.maximum(r, 1e-9)
        visible = foot * centre >= 0
        depth = np.where(visible, np.minimum(depth, 1 - r), depth)
    return depth


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_depth_in_spheres_that_overlap(mode, turned):
    vertices, triangles = ball(24)
    both = np.concatenate([vertices - [0.4, 0, 0], vertices + np.array([0.4, 0, 0])])
    surface = rf.Surface(both, np.concatenate([triangles, triangles + len(vertices)]))
    if turned:
        surface = rf.Surface(both, surface.triangles[:, ::-1])
    field = rf.DistanceField.from_surface(surface, 36, mode=mode)
    made = field.provenance
    assert made["crossing"]
    assert "hidden inside others are left out" in made["inside"]
    assert made["depth_error_m"] == pytest.approx(field.spacing[0] / 4)
    # of each sphere the part with x beyond the plane between is hidden: 0.3 of its area
    assert 0.28 < made["hidden_triangles"] / surface.n_triangles < 0.36
    p, d = places(field), field.values.ravel()
    depth = spheres_apart(p, 0.8)
    facets = 0.004  # their depth below the spheres
    clear = (d < 0) & (depth > 2 * facets)
    off = -d[clear] - depth[clear]
    # never deeper than it is, by more than what is interpolated in the fast mode
    assert off.max() <= (0 if mode == "exact" else 0.02)
    assert off.min() >= -facets - made["depth_error_m"] - made.get("error_m", 0.0)
    # in the middle the depth is that to the circle in which they meet: hidden walls are at 0.6
    assert field.distance([0, 0, 0]) == pytest.approx(-np.sqrt(1 - 0.16), abs=0.06)
    assert field.distance([0.6, 0, 0]) == pytest.approx(-0.8, abs=0.06)
    # samples are those of distances: the bounds of culling stay those of fields
    assert np.isfinite(field._core.error) or mode == "fast"


@pytest.mark.parametrize(
    ("low", "size"),
    [
        ([0.5, 0.25, 0.3], [0.7, 0.7, 0.7]),  # through a side, flush with another
        ([0.47, 0.21, 0.33], [0.9, 0.3, 1.3]),  # out of two
        ([1.0, 0.0, 0.0], [1.0, 1.0, 1.0]),  # side to side: the wall between is no wall
        ([1.0, 0.25, 0.21], [0.6, 0.4, 0.4]),  # on a part of a side
        ([0.2, 0.3, 0.25], [0.5, 0.4, 0.4]),  # wholly inside
        ([-0.3, 0.3, 0.3], [1.6, 0.37, 0.4]),  # through and through
    ],
)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_depth_in_boxes_that_overlap(low, size):
    """Against the nearest of many places on the sides that are not in the other box."""
    vertices, triangles = cube()
    low, size = np.array(low), np.array(size)
    both = np.concatenate([vertices, low + size * vertices])
    surface = rf.Surface(both, np.concatenate([triangles, triangles + len(vertices)]))
    field = rf.DistanceField.from_surface(surface, 26)
    assert field.provenance["hidden_triangles"] >= 2
    n, step = 101, size.max() / 100
    u, v = (x.ravel() for x in np.meshgrid(*2 * [np.linspace(0, 1, n)], indexing="ij"))
    sides = [np.insert(np.stack([u, v], axis=1), c, s, axis=1) for c in range(3) for s in (0, 1)]
    unit = np.concatenate(sides)
    sides = np.concatenate([unit, low + size * unit])
    hidden = np.zeros(len(sides), bool)
    for a, b in ((np.zeros(3), np.ones(3)), (low, low + size)):
        hidden |= ((sides > a + 1e-9) & (sides < b - 1e-9)).all(axis=1)
    if low[0] == 1.0:  # both sides of what touches
        inner = (sides[:, 1:] > low[1:] + 1e-9) & (sides[:, 1:] < (low + size)[1:] - 1e-9)
        hidden |= (sides[:, 0] == 1.0) & inner.all(axis=1)
    p, d = places(field), field.values.ravel()
    inside = ((p > 0) & (p < 1)).all(axis=1) | ((p > low) & (p < low + size)).all(axis=1)
    if low[0] == 1.0:
        inside |= (p[:, 0] == 1.0) & ((p > low) & (p < low + size))[:, 1:].all(axis=1)
    depth = KDTree(sides[~hidden]).query(p[inside])[0]
    off = -d[inside] - depth
    # the nearest of the many is further than the nearest of all by up to half a diagonal of theirs
    assert off.max() <= 1e-6
    assert off.min() >= -field.provenance["depth_error_m"] - np.sqrt(0.5) * step
    # and half of them are right to a tenth of that
    assert np.median(np.abs(off)) <= 0.1 * field.provenance["depth_error_m"]
    outside = KDTree(sides).query(p[~inside])[0]
    assert (d[~inside] >= 0).all()
    np.testing.assert_allclose(d[~inside], outside, atol=np.sqrt(0.5) * step)
    assert np.isfinite(field._core.error)


def test_depth_in_three_parts_and_in_one_that_turns_back():
    """Walls that cross inside a third part are hidden too; a cavity's wall is not."""
    vertices, triangles = ball(6)
    n = len(vertices)
    where = [2.0 * vertices, 0.6 * vertices - [0.4, 0, 0], 0.6 * vertices + [0.4, 0.1, 0]]
    surface = rf.Surface(
        np.concatenate(where), np.concatenate([triangles, triangles + n, triangles + 2 * n])
    )
    field = rf.DistanceField.from_surface(surface, 30)
    alone = rf.DistanceField.from_surface(rf.Surface(where[0], triangles), 30, box=field.bounds)
    assert field.provenance["hidden_triangles"] == 2 * len(triangles)
    np.testing.assert_allclose(field.values, alone.values, atol=1e-6)
    # a ball reaches into the cavity of another
    surface = rf.Surface(
        np.concatenate([2.0 * vertices, 1.4 * vertices, 0.5 * vertices + [1.4, 0, 0]]),
        np.concatenate([triangles, triangles[:, ::-1] + n, triangles + 2 * n]),
    )
    field = rf.DistanceField.from_surface(surface, 40)
    assert field.provenance["hidden_triangles"] > 0
    assert field.distance([-1.7, 0, 0]) == pytest.approx(-0.3, abs=0.1)
    assert field.distance([1.4, 0, 0]) < -0.4
    assert field.distance([0, 0, 0]) > 0.7


def test_depth_in_tents_that_share_their_apex():
    """All walls that go through each other have a corner in common."""
    quad = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1]])
    triangles = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [1, 3, 2], [1, 4, 3]])
    tents = np.array([[1.0, 0.3, 1.0], [0.35, 1.1, 1.2]])
    corners = [np.vstack([np.zeros(3), quad * size]) for size in tents]
    surface = rf.Surface(np.concatenate(corners), np.concatenate([triangles, triangles + 5]))
    field = rf.DistanceField.from_surface(surface, 40)
    assert field.provenance["hidden_triangles"] > 0

    def is_in(p, size, by):
        down = -p[:, 2:] / size[2]
        return ((down > by) & (down < 1 - by) & (np.abs(p[:, :2] / size[:2]) < down - by)).all(1)

    # the nearest of many places on the walls that are not in the other tent
    n = 150
    u, v = (x.ravel()[:, None] for x in np.meshgrid(*2 * [np.linspace(0, 1, n)], indexing="ij"))
    u, v = u[u + v <= 1, None], v[u + v <= 1, None]
    walls = np.concatenate([x[a] + u * (x[b] - x[a]) + v * (x[c] - x[a])
                            for x in corners for a, b, c in triangles])  # fmt: skip
    hidden = is_in(walls, tents[0], 1e-9) | is_in(walls, tents[1], 1e-9)
    p, d = places(field), field.values.ravel()
    inside = is_in(p, tents[0], 0.0) | is_in(p, tents[1], 0.0)
    np.testing.assert_array_equal(d < 0, inside)
    off = -d[inside] - KDTree(walls[~hidden]).query(p[inside])[0]
    assert off.max() <= 1e-6
    assert off.min() >= -field.provenance["depth_error_m"]
    assert np.median(np.abs(off)) <= 0.1 * field.provenance["depth_error_m"]


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_a_bridge_of_overlapping_beams(shared):
    surface = rf.read_surface(shared / "meshes" / "vega" / "simpleBridge" / "simpleBridge.obj")
    low, high = surface.bounds
    box = [low, low + (high - low) / [8, 1, 1]]  # an end of it
    field = rf.DistanceField.from_surface(surface, (20, 30, 30), box=box)
    assert field.provenance["hidden_triangles"] > 1000
    p, d = places(field), field.values.ravel()
    inside = np.abs(winding(surface.vertices, surface.triangles, p[::503])) > 0.5
    np.testing.assert_array_equal(d[::503] < 0, inside)
    nearest, *_ = _core.surface_closest(surface.vertices, surface.triangles, p[d < 0], np.inf)
    depth = -d[d < 0]
    # not less than to any wall, not more than to what is outside, and somewhere indeed deeper
    assert (depth >= nearest * (1 - 1e-6)).all()
    assert (depth <= KDTree(p[d > 0]).query(p[d < 0])[0] * (1 + 1e-6)).all()
    assert (depth - nearest).max() > field.provenance["depth_error_m"]


def test_samples_on_the_surface():
    """A cube whose faces are on samples, and the box at its sides."""
    surface = rf.Surface(*cube())
    for expand, n in ((1.0, 8), (2.0, 8)):
        field = rf.DistanceField.from_surface(surface, n, expand=expand)
        box = rf.BoxField([0, 0, 0], [1, 1, 1])
        np.testing.assert_allclose(field.values.ravel(), box.distance(places(field)), atol=1e-7)


# --- the fast mode ---------------------------------------------------------------------


def test_fast_is_exact_near_and_bounded_far(rng):
    surface = bumpy_ball()
    for n in (48, 53):
        exact = rf.DistanceField.from_surface(surface, n, 2.5)
        fast = rf.DistanceField.from_surface(surface, n, 2.5, mode="fast")
        band, error = fast.provenance["exact_up_to_m"], fast.provenance["error_m"]
        h = np.linalg.norm(fast.spacing)
        assert error == pytest.approx(2 * h, rel=1e-5)
        near = np.abs(exact.values) <= band
        np.testing.assert_allclose(fast.values[near], exact.values[near], rtol=1e-7)
        difference = np.abs(fast.values).astype(float) - np.abs(exact.values)
        assert (difference >= -error).all()
        far = ~near
        assert (difference[far] <= (4 * h) ** 2 / (8 * np.abs(exact.values[far])) + 1e-6).all()
        assert np.abs(difference[far]).max() > 1e-4 * h  # some are interpolated indeed
        np.testing.assert_array_equal(fast.values < 0, exact.values < 0)
        # still a bound for balls
        c = rng.uniform(-2, 2, (200, 3))
        d = fast.distance(c)
        r = np.abs(d) * rng.uniform(0.3, 1, 200)
        clear = fast._core.slack(d, r) > 0
        assert clear.sum() > 20
        for centre, radius in zip(c[clear], r[clear], strict=True):
            way = rng.normal(size=(100, 3))
            way *= radius / np.linalg.norm(way, axis=1)[:, None]
            assert (fast.distance(centre + way) >= 0).all()


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_outside_of_the_box_distances_are_never_too_large(rng, mode):
    surface = bumpy_ball()
    field = rf.DistanceField.from_surface(surface, 24, mode=mode)
    p = rng.uniform(-4, 4, (3000, 3))
    outside = ((p < field.bounds[0]) | (p > field.bounds[1])).any(axis=1)
    p = p[outside]
    distance, *_ = _core.surface_closest(surface.vertices, surface.triangles, p, np.inf)
    d = field.distance(p)
    assert (d <= distance).all()
    assert (d >= distance - 2).all()


# --- polygon soups ---------------------------------------------------------------------


def test_one_triangle():
    surface = rf.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    field = rf.DistanceField.from_surface(surface, 40)
    offset = field.provenance["offset_m"]
    assert offset == pytest.approx(1.4 * 1.5 / 40)
    assert not field.provenance["closed"]
    p = places(field)
    d, _ = plain_closest(surface.vertices, surface.triangles, p)
    # the iso-surface is made of facets over a voxel: off by its curvature within
    h = field.spacing[0]
    np.testing.assert_allclose(field.values.ravel(), d - offset, atol=0.5 * h)
    np.testing.assert_array_equal(field.values.ravel() < 0, d < offset)


def test_an_open_box_has_an_inside_by_its_offset():
    """With an offset a cube without a lid is thin walls; with the lid apart by a little solid."""
    vertices, triangles = cube()
    open_box = rf.Surface(vertices, triangles[2:])
    offset = 1.4 * 1.5 / 32
    field = rf.DistanceField.from_surface(open_box, 32, offset=offset)
    assert field.provenance["cavities_filled"] == 0
    assert field.distance([0.5, 0.5, 0.5]) > 0.3
    apart = vertices[triangles].reshape(-1, 3).copy()
    apart[:6] -= [0.01, 0, 0]  # the face x = 0
    almost = rf.Surface(apart, np.arange(36).reshape(-1, 3))
    assert not almost.is_closed
    field = rf.DistanceField.from_surface(almost, 32, offset=offset)
    assert field.provenance["cavities_filled"] == 1
    assert field.distance([0.5, 0.5, 0.5]) < -0.5


@pytest.mark.parametrize("name", SOUPS)
def test_real_soups(shared, rng, name):
    surface = rf.read_surface(shared / "meshes" / f"{name}.obj")
    h = 1.5 * np.ptp(surface.bounds, axis=0).max() / 40
    field = rf.DistanceField.from_surface(surface, 40, offset=1.4 * h)
    offset = field.provenance["offset_m"]
    assert offset == pytest.approx(1.4 * h)
    assert "open surface" in repr(field)
    # the surface itself is inside, about as deep as the offset
    d = field.distance(surface.vertices)
    assert d.max() < -0.5 * offset
    # outside the distance is that from the surface less the offset
    p = places(field)
    values = field.values.ravel()
    outside = rng.choice(np.flatnonzero(values > 2 * h), 300, replace=False)
    distance, *_ = _core.surface_closest(surface.vertices, surface.triangles, p[outside], np.inf)
    np.testing.assert_allclose(values[outside], distance - offset, atol=0.5 * h)
    # neighbours of different sign are less than a voxel from the surface: it is closed
    for axis in range(3):
        a = np.moveaxis(field.values, axis, 0)
        changes = (a[1:] < 0) != (a[:-1] < 0)
        assert (np.abs(a[1:] - a[:-1])[changes] <= h * (1 + 1e-5)).all()
    sides = np.ones(field.values.shape, bool)
    sides[1:-1, 1:-1, 1:-1] = False
    assert (field.values[sides] > 0).all()


def test_offset_of_a_closed_surface():
    surface = bumpy_ball()
    plain = rf.DistanceField.from_surface(surface, 40)
    for by in (0.02, 0.2):
        field = rf.DistanceField.from_surface(surface, 40, offset=by)
        assert field.provenance["offset_m"] == by
        outside = plain.values > by
        h = field.spacing[0]
        # the surface is where an interpolant is, off by half the diagonal of a voxel at most
        np.testing.assert_allclose(field.values[outside], plain.values[outside] - by, atol=0.87 * h)
        assert field.distance([0, 0, 0]) < plain.distance([0, 0, 0])


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"offset": 0}, rf.MeshError, "not closed, so it has no inside; pass offset=None"),
        ({"offset": 1e-3}, rf.InputError, "must be at least half the diagonal of a voxel, 0.08"),
        ({"offset": -1}, rf.InputError, "offset must be finite and not negative, got -1"),
        ({"offset": np.nan}, rf.InputError, "offset must be finite"),
        ({"offset": 0.6}, rf.InputError, "leaves 0.25 m around the surface along x; .* expand lar"),
        ({"expand": 0.9}, rf.InputError, "expand must be finite and at least 1, got 0.9"),
        ({"expand": 1.0}, rf.InputError, "make expand larger"),
        ({"box": [[0, 0, 0], [1, 1, 1]]}, rf.InputError, "make the box larger"),
        ({"box": [[0, 0, 0], [1, 0, 1]]}, rf.InputError, r"box\[0, 1\] must be below box\[1, 1\]"),
        ({"box": [0, 1]}, rf.InputError, "box must have shape"),
        ({"resolution": 0}, rf.InputError, "resolution must be between 1 and"),
        ({"resolution": (4, 4)}, rf.InputError, "resolution must be one number or three, got 2"),
        ({"resolution": 4.5}, rf.InputTypeError, "resolution must be an int, got float"),
        ({"resolution": 20_000}, MemoryError, r"20001 x 20001 x 20001 .* needs 3\d+\.\d GB"),
        ({"mode": "slow"}, rf.InputError, 'mode must be "exact" or "fast", got .slow'),
    ],
)
def test_wrong_arguments(arguments, error, message):
    surface = rf.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    with pytest.raises(error, match=message):
        rf.DistanceField.from_surface(surface, **{"resolution": 16, **arguments})


def test_surfaces_without_extent():
    with pytest.raises(rf.MeshError, match="no extent: all its vertices are at one place"):
        rf.DistanceField.from_surface(rf.Surface(np.ones((3, 3)), [[0, 1, 2]]), 8)
    with pytest.raises(rf.InputTypeError, match="surface must be a Surface, got ndarray"):
        rf.DistanceField.from_surface(np.zeros((3, 3)), 8)
    for size in (1e-31, 1e31, 1e90):
        with pytest.raises(rf.InputError, match="m long; possible are 1e-30 to 1e30 m"):
            rf.DistanceField.from_surface(rf.Surface(*cube(size)), 8)
    for size in (1e-29, 1e28):
        field = rf.DistanceField.from_surface(rf.Surface(*cube(size)), 9)
        expected = rf.DistanceField.from_surface(rf.Surface(*cube()), 9)
        np.testing.assert_allclose(field.values / size, expected.values, atol=1e-6)
    # a wire is a soup like others
    wire = rf.Surface([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5]], [[0, 1, 2]])
    field = rf.DistanceField.from_surface(wire, 32)
    assert (field.distance(wire.vertices) < 0).all()


# --- life --------------------------------------------------------------------------------


def test_threads_change_nothing():
    surface = bumpy_ball(6)
    vertices, triangles = surface.vertices, surface.triangles
    soup = triangles[:-3]
    two = overlapping(4)
    for exact in (True, False):
        for v, t in ((vertices, triangles), (vertices, soup), (two.vertices, two.triangles)):
            one, *_ = _core.field_from_surface(
                v, t, (24, 24, 24), 1.5, None, None, exact, 0.0, None, None, 1
            )
            for threads in (2, 3):
                other, *_ = _core.field_from_surface(
                    v, t, (24, 24, 24), 1.5, None, None, exact, 0.0, None, None, threads
                )
                np.testing.assert_array_equal(other.values, one.values)


def test_progress_and_stop():
    surface, reported = bumpy_ball(), []
    rf.DistanceField.from_surface(
        surface, 30, mode="fast", progress=lambda done, total: reported.append((done, total))
    )
    assert reported
    assert all(0 <= done <= total for done, total in reported)

    def stop(done, total):
        raise KeyboardInterrupt

    live = live_blocks()
    with pytest.raises(KeyboardInterrupt):
        rf.DistanceField.from_surface(surface, 60, progress=stop)
    check_live_blocks(live)


def test_copies():
    field = rf.DistanceField.from_surface(bumpy_ball(3), 12, mode="fast")
    same = pickle.loads(pickle.dumps(field))
    np.testing.assert_array_equal(same.values, field.values)
    assert same.boundary == field.boundary
    assert dict(same.provenance) == dict(field.provenance)
    d = np.linspace(0, 1, 20)
    np.testing.assert_array_equal(same._core.slack(d, d / 2), field._core.slack(d, d / 2))


def test_running_out_of_memory():
    surface = bumpy_ball(2)
    soup = rf.Surface(surface.vertices, surface.triangles[:3])
    fail_each_allocation(lambda: rf.DistanceField.from_surface(surface, 9, mode="fast"))
    fail_each_allocation(lambda: rf.DistanceField.from_surface(soup, 9, 3.0))
    fail_each_allocation(lambda: rf.DistanceField.from_surface(overlapping(), 9))


def test_against_trimesh(rng):
    """Its nearest places on each triangle; its own search would need one more package."""
    trimesh = pytest.importorskip("trimesh")
    surface = bumpy_ball(6)
    field = rf.DistanceField.from_surface(surface, 12)
    some = rng.choice(field.values.size, 100, replace=False)
    corners = surface.vertices[surface.triangles]
    for p, d in zip(places(field)[some], field.values.ravel()[some], strict=True):
        nearest = trimesh.triangles.closest_point(corners, np.tile(p, (len(corners), 1)))
        expected = np.linalg.norm(nearest - p, axis=1).min()
        np.testing.assert_allclose(abs(d), expected, rtol=1e-6, atol=1e-8)
