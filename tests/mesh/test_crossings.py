"""Triangles that meet, against all pairs in rational numbers, and surfaces known to cross."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core
from shapes import sphere


def together(*parts):
    starts = np.cumsum([0] + [len(v) for v, _ in parts])
    return (
        np.concatenate([v for v, _ in parts]),
        np.concatenate([t + s for (_, t), s in zip(parts, starts, strict=False)]),
    )


def pairs(vertices, triangles):
    return _core.surface_crossings(vertices, triangles, True, None, 1)


def decision(vertices, triangles, threads=2):
    return _core.surface_crossings(vertices, triangles, False, None, threads)


# ---- in rational numbers ----------------------------------------------------------------


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def cross(a, b):
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]


def clipped(polygon, inside):
    """Cut a convex polygon, a segment or a point by a half-space of values >= 0."""
    out = []
    for k, p in enumerate(polygon):
        q = polygon[(k + 1) % len(polygon)]
        a, b = inside(p), inside(q)
        if a >= 0:
            out.append(p)
        if (a > 0 > b) or (a < 0 < b):
            out.append([x + (y - x) * a / (a - b) for x, y in zip(p, q, strict=True)])
    return [p for k, p in enumerate(out) if p not in out[:k]]


def plain_common(s, t):
    """Return corners of two triangles' intersection: clip one by the other's plane and sides."""
    normal = cross(minus(t[1], t[0]), minus(t[2], t[0]))
    polygon = clipped(s, lambda p: dot(normal, minus(p, t[0])))
    polygon = clipped(polygon, lambda p: -dot(normal, minus(p, t[0])))
    for k in range(3):
        out = cross(minus(t[(k + 1) % 3], t[k]), normal)
        polygon = clipped(polygon, lambda p, out=out, k=k: -dot(out, minus(p, t[k])))
    return polygon


def is_inside(p, t):
    normal = cross(minus(t[1], t[0]), minus(t[2], t[0]))
    return all(
        dot(cross(normal, minus(t[(k + 1) % 3], t[k])), minus(p, t[k])) > 0 for k in range(3)
    )


def plain_meeting(s, t):
    """Return 0: nothing but common vertices; 1: more; 2: insides cross."""
    shared = [p for p in s if p in t]
    places = plain_common(s, t)
    more = any(p not in shared for p in places)
    if len(shared) == 2:
        # beyond the common side
        way = minus(shared[1], shared[0])
        more = any(any(cross(minus(p, shared[0]), way)) for p in places)
    elif len(shared) == 3:
        more = True
    through = False
    if len(places) == 2:
        middle = [(x + y) / 2 for x, y in zip(*places, strict=True)]
        flat = not any(dot(cross(minus(t[1], t[0]), minus(t[2], t[0])), minus(p, t[0])) for p in s)
        through = not flat and is_inside(middle, s) and is_inside(middle, t)
    return 2 if through else int(more)


def plain_pairs(vertices, triangles):
    exact = [[[Fraction(float(x)) for x in vertices[v]] for v in t] for t in triangles]
    # others are lines but for rounding
    real = []
    for a, b, c in exact:
        area, sides = cross(minus(b, a), minus(c, a)), (minus(b, a), minus(c, a), minus(c, b))
        real.append(dot(area, area) > Fraction(1e-28) * max(dot(w, w) for w in sides) ** 2)
    low = np.array([vertices[t].min(axis=0) for t in triangles])
    high = np.array([vertices[t].max(axis=0) for t in triangles])
    meet, through = [], False
    for i, j in itertools.combinations(range(len(triangles)), 2):
        if not (real[i] and real[j]) or (low[i] > high[j]).any() or (low[j] > high[i]).any():
            continue
        how = plain_meeting(exact[i], exact[j])
        if how:
            meet.append((i, j))
        through |= how == 2
    return meet, through


@pytest.mark.parametrize("kind", ["soup", "grid", "flat", "tilted", "fans", "near", "far"])
@pytest.mark.parametrize("seed", range(2))
def test_against_all_pairs(kind, seed):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(40, 3))
    triangles = np.array([rng.choice(40, 3, replace=False) for _ in range(45)])
    if kind == "grid":  # all kinds of touching
        vertices = rng.integers(0, 4, (40, 3)).astype(float)
    elif kind == "flat":
        vertices = rng.integers(0, 6, (40, 3)) * [1.0, 1, 0]
    elif kind == "tilted":  # in one plane but for rounding
        flat = rng.integers(0, 6, (40, 2)).astype(float)
        vertices = flat @ [[0.1, 0.2, 0.3], [-0.3, 0.1, 0.7]]
    elif kind == "fans":  # corners and sides in common
        triangles[:, 0] = rng.integers(0, 2, 45)
        triangles = triangles[[len(set(t)) == 3 for t in triangles.tolist()]]
    elif kind == "near":  # planes at angles of the last digits
        vertices[:, 2] = rng.integers(-3, 4, 40) * 2.0**-52
    elif kind == "far":
        vertices = 1e-3 * vertices + [1e12, -3e-11, 2.0]
    expected, through = plain_pairs(vertices, triangles)
    assert len(expected) > (5 if kind != "far" else 0)
    np.testing.assert_array_equal(pairs(vertices, triangles), expected)
    assert decision(vertices, triangles) == (len(expected) > 0, through)
    # neither scale nor the order of corners counts
    for scale in (2.0**-200, 2.0**200):
        np.testing.assert_array_equal(pairs(vertices * scale, triangles), expected)
    np.testing.assert_array_equal(pairs(vertices, triangles[:, [1, 0, 2]]), expected)


# ---- surfaces -----------------------------------------------------------------------------


def tube(n, m, radius, pinch=1.0):
    """A closed tube around a circle; around a figure of eight that crosses itself: pinch -1."""
    s = np.linspace(0, 2 * np.pi, n, endpoint=False)[:, None]
    t = np.linspace(0, 2 * np.pi, m, endpoint=False)
    path = np.stack([np.cos(s), np.sin(s) * (1 if pinch > 0 else np.cos(s)), 0 * s], -1)
    along = np.roll(path, -1, 0) - np.roll(path, 1, 0)
    side = np.cross(along, [0, 0, 1])
    side /= np.linalg.norm(side, axis=-1, keepdims=True)
    vertices = path + radius * (np.cos(t)[:, None] * side + np.sin(t)[:, None] * [0, 0, 1])
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    a, b = i * m + j, i * m + (j + 1) % m
    c, d = (i + 1) % n * m + j, (i + 1) % n * m + (j + 1) % m
    faces = [np.stack([a, c, b], -1), np.stack([b, c, d], -1)]
    return vertices.reshape(-1, 3), np.concatenate([f.reshape(-1, 3) for f in faces])


def box(low, high):
    vertices = np.array(list(np.ndindex(2, 2, 2)), float) * np.subtract(high, low) + low
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


def test_known_surfaces():
    ball = sphere(12)
    assert len(pairs(*ball)) == 0
    # nested ones do not meet
    assert decision(*together(ball, sphere(12, radius=0.9))) == (False, False)
    # by a hair, at two poles
    near = together(ball, sphere(12, (0, 0, 2 - 1e-12)))
    assert decision(*near) == (True, True)
    found = pairs(*near)
    poles = [ball[1].min(axis=1) == 0, (ball[1] == ball[1].max()).any(axis=1)]
    first, second = np.flatnonzero(poles[0]), len(ball[1]) + np.flatnonzero(poles[1])
    assert set(found[:, 0]) <= set(first)
    assert set(found[:, 1]) <= set(second)
    assert decision(*together(ball, sphere(12, (0, 0, 2 + 1e-12)))) == (False, False)
    # a tube around a circle does not cross itself, one around a figure of eight does
    assert decision(*tube(60, 12, 0.2)) == (False, False)
    eight = tube(60, 12, 0.2, -1.0)
    assert decision(*eight) == (True, True)
    x = eight[0][eight[1]].mean(axis=1)
    assert np.linalg.norm(x[np.unique(pairs(*eight))], axis=1).max() < 0.6
    # faces on each other touch; so do a corner and a face
    cubes = together(box([0, 0, 0], [1, 1, 1]), box([1, 0.25, 0.25], [2, 0.75, 0.75]))
    assert decision(*cubes) == (True, False)
    assert len(pairs(*cubes)) > 0
    # side by side with the same corners: neighbours twice
    twins = together(box([0, 0, 0], [1, 1, 1]), box([1, 0, 0], [2, 1, 1]))
    assert decision(*twins) == (True, False)
    apart = together(box([0, 0, 0], [1, 1, 1]), box([1 + 2**-52, 0, 0], [2, 1, 1]))
    assert decision(*apart) == (False, False)
    # triangles twice
    v, t = ball
    np.testing.assert_array_equal(
        pairs(v, np.concatenate([t, t[:2]])), [[0, len(t)], [1, len(t) + 1]]
    )
    # triangles without area are left out
    assert len(pairs(v, np.concatenate([t, [[0, 0, 5], [1, 1, 1]]]))) == 0


def test_surfaces_of_the_library():
    surface = rf.Surface(*together(sphere(12), sphere(12, (0.5, 0.1, 0.2))))
    found = surface.self_intersections()
    assert found.dtype == np.int32
    assert (found[:, 0] < found[:, 1]).all()
    np.testing.assert_array_equal(found, np.unique(found, axis=0))
    reported = []
    again = surface.self_intersections(progress=lambda done, total: reported.append((done, total)))
    np.testing.assert_array_equal(found, again)
    assert reported[-1][0] == reported[-1][1]
    for threads in (1, 3):
        np.testing.assert_array_equal(
            _core.surface_crossings(surface.vertices, surface.triangles, True, None, threads),
            found,
        )


def test_surfaces_whose_areas_overflow():
    """At 1e80 m squares of areas overflow: triangles side by side in a plane would seem to meet."""
    vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.75, 0.75, 0], [1, 0.75, 0], [0.75, 1, 0]]
    triangles = np.array([[0, 1, 2], [3, 4, 5]])
    for size in (2e-70, 1.0, 5e69):
        assert len(pairs(size * np.array(vertices), triangles)) == 0
        assert decision(size * np.array(vertices), triangles) == (False, False)
    for size in (1e-80, 1e80, 1.5e308):
        surface = rf.Surface(size * np.array(vertices), triangles)
        with pytest.raises(
            rf.MeshError, match=r"is 1\.?5?e.* m long, .* beyond the range of numbers"
        ):
            surface.self_intersections()
    # all at one place
    assert len(pairs(np.ones((3, 3)), [[0, 1, 2]])) == 0


@pytest.mark.parametrize("offset", [None, 0.3])
def test_fields_know_at_any_resolution(offset):
    """Crossings below the samples' spacing: balls that overlap by 1e-9, a tube through itself."""
    hair = rf.Surface(*together(sphere(12), sphere(12, (0, 0, 2 - 1e-9))))
    thin = rf.Surface(*tube(100, 8, 0.02, -1.0))
    for surface in (hair, thin):
        for mode in ("exact", "fast"):
            field = rf.DistanceField.from_surface(surface, 6, 3.0, offset, mode=mode)
            assert field.provenance["crossing"]
    # signs are those of windings: the tube is inside where it crosses itself
    if offset is None:
        v, t = tube(60, 12, 0.2, -1.0)
        assert rf.DistanceField.from_surface(rf.Surface(v, t), 40).distance([0, 0, 0]) < -0.1
    # those that do not cross
    for v, t in (sphere(12), together(sphere(9), sphere(9, (0, 0, 2 + 1e-9)))):
        made = rf.DistanceField.from_surface(rf.Surface(v, t), 6, 3.0, offset).provenance
        assert not made["crossing"]


def test_pointshells_of_what_crosses_by_less_than_a_voxel():
    v, t = sphere(24)
    surface = rf.Surface(*together((v, t), sphere(24, (0, 0, 1.99))))
    shell = rf.Pointshell.from_surface(surface, 500, 2, resolution=24)
    assert shell.provenance["crossing"]
    r = np.linalg.norm(shell.points, axis=1), np.linalg.norm(shell.points - [0, 0, 1.99], axis=1)
    # no deeper inside the other than facets are below their spheres
    assert np.minimum(*r).min() > 0.98


def test_boundaries_of_parts_on_any_number_of_threads(set_threads):
    surface = rf.Surface(*together(sphere(20), sphere(20, (0.5, 0.1, 0.2))))
    made = []
    for n in (1, 3):
        set_threads(n)
        made.append(rf.DistanceField.from_surface(surface, 20))
    assert made[0].provenance["hidden_triangles"] > 100
    assert made[0].provenance == made[1].provenance
    np.testing.assert_array_equal(made[0].values, made[1].values)


def test_memory_of_boundaries():
    """Memory of known size is refused beforehand, that of pieces of the boundary as they come."""
    surface = rf.Surface(*together(sphere(20), sphere(20, (0.5, 0.1, 0.2))))
    n = 20
    known = 4.1 * (n + 1) ** 3 + 6000.0 * (n + 1) ** 2 + 500.0 * surface.n_triangles

    def build(memory):
        return _core.field_from_surface(
            surface.vertices,
            surface.triangles,
            (n, n, n),
            1.5,
            None,
            None,
            True,
            memory,
            None,
            None,
            1,
        )

    with pytest.raises(MemoryError, match="samples needs"):
        build(0.99 * known)
    with pytest.raises(MemoryError, match="boundary, in pieces of .* choose a lower resolution"):
        build(known + 600.0 * 1000)
    _core.alloc_reset_peak()
    before = _core.alloc_counters()["live_bytes"]
    build(known + 600.0 * 2 * surface.n_triangles)
    assert _core.alloc_counters()["peak_bytes"] - before < known + 600.0 * 2 * surface.n_triangles


def c_shape():
    """Return an extruded C, closed to a ring: its ends touch, the right one larger all round."""
    outline = [(0, 0), (4, 0), (4, 4.1), (2, 4.1), (2, 2.9), (3, 2.9)]
    outline += [(3, 1), (1, 1), (1, 3), (2, 3), (2, 4), (0, 4)]
    quads = [(0, 1, 6, 7), (1, 2, 5, 6), (2, 3, 4, 5), (0, 7, 8, 11), (8, 9, 10, 11)]
    top = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    sides = [(k, (k + 1) % 12) for k in range(12)]
    walls = [t for a, b in sides for t in ((a, b, 12 + b), (a, 12 + b, 12 + a))]
    bottom = [(c, b, a) for a, b, c in top]
    vertices = [(*xy, z) for z in (0.0, 3.0) for xy in outline]
    return np.array(vertices), np.array([*bottom, *walls, *np.add(top, 12).tolist()])


def bounds_solid(vertices, triangles):
    return _core.surface_bounds_solid(vertices, triangles, None, 2)


def test_boundary_of_a_solid():
    vertices, triangles = sphere(6)
    assert bounds_solid(vertices, triangles)
    assert bounds_solid(vertices, triangles[:, ::-1])
    # corners apart, at the same places
    assert bounds_solid(
        vertices[triangles].reshape(-1, 3), np.arange(triangles.size).reshape(-1, 3)
    )
    assert not bounds_solid(vertices, triangles[:-1])
    assert not bounds_solid(vertices, [*triangles[:-1].tolist(), triangles[-1, ::-1].tolist()])
    assert not bounds_solid(vertices, [*triangles.tolist(), [0, 1, 1]])
    # two, apart, in one another, crossing, and with a place or a side in common
    for parts in (
        (sphere(6), sphere(6, (5, 0, 0))),
        (sphere(6), sphere(6, (0, 0, 0), 0.5)),
        (sphere(6), sphere(6, (0.5, 0.1, 0.2))),
    ):
        assert not bounds_solid(*together(*parts))
    tet = (
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
        np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]),
    )
    assert bounds_solid(*tet)
    assert not bounds_solid(*together(tet, (-tet[0], tet[1][:, ::-1])))
    assert not bounds_solid(*together(tet, (tet[0] * [1, -1, -1], tet[1])))
    # one that touches itself
    ring = c_shape()
    assert decision(*ring) == (True, False)
    assert not bounds_solid(*ring)


def test_a_closed_ring_has_no_wall_at_its_seam():
    """Ends that touch, with no vertex in common: 0.5 m from the outside, none from the joint."""
    field = rf.DistanceField.from_surface(rf.Surface(*c_shape()), 48)
    assert field.provenance["crossing"]
    p = np.array([[2.0, 3.5, 1.5], [1.9, 3.5, 1.5], [0.5, 2.0, 1.5]])
    np.testing.assert_allclose(field.distance(p), -0.5, atol=0.1)  # a voxel of 0.13 m


def test_all_of_many_pairs_are_found():
    """More triangles than a task takes: each meets one other."""
    n = 700
    one = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.2, 0.2, 1], [3, 3, 0.0]])
    vertices = (one + 10.0 * np.arange(n)[:, None, None] * [1, 0, 0]).reshape(-1, 3)
    triangles = np.arange(6 * n).reshape(-1, 3)
    expected = np.arange(2 * n).reshape(-1, 2)
    np.testing.assert_array_equal(pairs(vertices, triangles), expected)
    # the last of each task, too, in any order
    for k in range(0, n, 97):
        few = np.concatenate([triangles[: 2 * k : 2], triangles[2 * k :]])
        assert len(pairs(vertices, few)) == n - k


@pytest.mark.parametrize("scale", [1.0, 1e-3, 3e5])
def test_degenerate_triangles_are_decided_exactly(scale):
    """Needles folded on each other; sides on one line, the rest mirrored; the smallest numbers."""
    needles = np.array([[0, 0, 0], [1, 0, 0], [0.5, 1e-8, 0], [0.4, 1e-8, 0]]) * scale
    assert len(pairs(needles, [[0, 1, 2], [1, 0, 3]])) == 1
    needles[3, 1] *= -1
    assert len(pairs(needles, [[0, 1, 2], [1, 0, 3]])) == 0
    mirrored = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0], [1, -1, 0.0]]) * scale
    assert len(pairs(mirrored, [[0, 1, 2], [0, 3, 4]])) == 1
    mirrored[3] = scale * np.array([2, -1e-12, 0])
    assert len(pairs(mirrored, [[0, 1, 2], [0, 3, 4]])) == 0
    tips = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1e-300], [0, 0, 1], [1, 1, 1]])
    assert len(pairs(tips * scale, [[0, 1, 2], [3, 4, 5]])) == 1  # as if 0
    tips[3, 2] = 1e-70
    assert len(pairs(tips * scale, [[0, 1, 2], [3, 4, 5]])) == 0


def test_stops():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.Surface(*sphere(20)).self_intersections(progress=stop)


def test_allocation_failures():
    surface = rf.Surface(*together(sphere(5), sphere(5, (0.5, 0.1, 0.2))))
    fail_each_allocation(surface.self_intersections)
    fail_each_allocation(lambda: decision(surface.vertices, surface.triangles))
    fail_each_allocation(lambda: bounds_solid(*sphere(5)))
