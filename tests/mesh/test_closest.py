"""Nearest places of triangle surfaces against all triangles, and what sign they tell."""

from __future__ import annotations

import signal
import time
from fractions import Fraction

import numpy as np
import pytest

import reducedfem as rf
from failures import check_live_blocks, fail_each_allocation, live_blocks
from plain_surface import cube, plain_closest, plain_triangle, winding
from reducedfem import _core


@pytest.mark.parametrize("kind", ["soup", "flat", "needles", "line", "one"])
def test_against_all_triangles(rng, kind):
    vertices = rng.normal(size=(60, 3))
    triangles = rng.integers(0, 60, (80, 3))  # some of them use a vertex twice
    if kind == "flat":
        vertices[:, 2] = 0
    elif kind == "needles":
        vertices *= [1, 1e-9, 1]
    elif kind == "line":
        vertices *= [1, 0, 0]
    elif kind == "one":
        triangles = triangles[:1] = np.array([[0, 1, 2]])
    points = np.concatenate([2 * rng.normal(size=(300, 3)), vertices[:5], vertices[:5] + 1e-9])
    distance, place, _, triangle, _ = _core.surface_closest(vertices, triangles, points, np.inf)
    expected, _ = plain_closest(vertices, triangles, points)
    # a few roundings of numbers of order 1; needles have no better plane
    np.testing.assert_allclose(distance, expected, atol=1e-8 if kind == "needles" else 1e-14)
    np.testing.assert_allclose(np.linalg.norm(points - place, axis=1), distance, atol=1e-14)
    for i in range(0, len(points), 17):
        q = plain_triangle(*vertices[triangles[triangle[i]]], place[i : i + 1])
        assert np.linalg.norm(q - place[i]) < 1e-8


def exact_distance(corners, point):
    """Distance of a place from a triangle by fractions."""
    a, b, c = (np.array([Fraction(x) for x in corner]) - [Fraction(x) for x in point]
               for corner in corners)  # fmt: skip
    squares = []
    for p, q in ((a, b), (b, c), (c, a)):
        t = min(max(-(p @ (q - p)) / ((q - p) @ (q - p)), 0), 1)
        squares.append((p + t * (q - p)) @ (p + t * (q - p)))
    n = np.cross(b - a, c - a)
    if all(np.cross(p, q) @ n >= 0 for p, q in ((a, b), (b, c), (c, a))):
        squares.append((a @ n) ** 2 / (n @ n))
    return float(min(squares)) ** 0.5


@pytest.mark.parametrize("height", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-13])
def test_thin_triangles(rng, height):
    """Right above the plane that they lie in, and above the one that rounding makes of it."""
    for _ in range(6):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        flat = np.array([[0, 0, 0], [1, 0, 0], [rng.uniform(0.2, 0.8), height, 0]])
        corners = flat @ turn.T + rng.normal(size=3)
        exact = [[Fraction(x) for x in corner] for corner in corners]
        normal = np.cross(np.subtract(*exact[1::-1]), np.subtract(*exact[2::-2]))
        normal = (normal / max(abs(normal))).astype(float)
        rounded = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        normal, rounded = (n / np.linalg.norm(n) for n in (normal, rounded))
        feet = rng.dirichlet([1, 1, 1], 16) @ corners
        points = feet + rng.uniform(-0.5, 0.5, (16, 1)) * np.repeat([normal, rounded], 8, axis=0)
        distance, place, found, _, feature = _core.surface_closest(
            corners, np.array([[0, 1, 2]]), points, np.inf
        )
        expected = [exact_distance(corners, p) for p in points]
        # roundings of places of order 1
        np.testing.assert_allclose(distance, expected, atol=4e-15, rtol=0)
        np.testing.assert_allclose(np.linalg.norm(points - place, axis=1), expected, atol=4e-15)
        for n in found[feature == 0]:
            np.testing.assert_allclose(n, normal, atol=2e-13 if height > 1e-3 else 1e-15)


def test_bounds(rng):
    vertices, triangles = cube()
    points = rng.uniform(-2, 3, (200, 3))
    distance, *_ = _core.surface_closest(vertices, triangles, points, np.inf)
    near, _, _, triangle, _ = _core.surface_closest(vertices, triangles, points, 0.7)
    np.testing.assert_array_equal(triangle >= 0, distance < 0.7)
    np.testing.assert_array_equal(near, np.minimum(distance, 0.7))


def test_many_points_are_answered_as_one_by_one(rng):
    """The order of the search and its first candidate do not matter."""
    vertices, triangles = cube()
    points = rng.uniform(-2, 3, (300, 3))
    points[::3] = np.round(points[::3])  # equally near to several triangles
    for bound in (np.inf, 0.7):
        found = _core.surface_closest(vertices, triangles, points, bound)
        for i, point in enumerate(points):
            one = _core.surface_closest(vertices, triangles, point[None], bound)
            for many, single in zip(found, one, strict=True):
                np.testing.assert_array_equal(many[i], single[0])


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_nearest_triangle_is_found_in_any_order(rng, scale):
    """Searches that leave out too much find other distances when the tree is another."""
    vertices = scale * rng.standard_normal((300, 3)) * [1.0, 1e-3, 1.0]
    triangles = rng.integers(0, 300, (900, 3)).astype(np.int32)
    triangles = triangles[np.diff(np.sort(triangles), axis=1).all(axis=1)]
    points = scale * np.concatenate(
        [
            rng.uniform(-4.0, 4.0, (400, 3)),
            rng.uniform(-4.0, 4.0, (400, 3)) * [1.0, 1e-3, 1.0],
            1e6 * rng.standard_normal((50, 3)),
            vertices[:100] / scale,
        ]
    )
    expected = _core.surface_closest(vertices, triangles, points, np.inf)
    for _ in range(3):
        order = rng.permutation(len(triangles))
        found = _core.surface_closest(vertices, triangles[order], points, np.inf)
        np.testing.assert_array_equal(found[0], expected[0])
    bounded = _core.surface_closest(vertices, triangles, points, scale)
    near = expected[0] < scale
    assert 0 < near.sum() < len(near)
    np.testing.assert_array_equal(bounded[3] >= 0, near)
    np.testing.assert_array_equal(bounded[0][near], expected[0][near])


def test_of_equally_near_triangles_the_lowest_counts():
    """A fan around a vertex that is nearest of all of it."""
    angle = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    rim = np.stack([np.cos(angle), np.sin(angle), np.full(12, -1.0)], axis=1)
    vertices = np.concatenate([[[0.0, 0.0, 0.0]], rim])
    fan = np.stack([np.zeros(12, int), np.arange(12) + 1, (np.arange(12) + 1) % 12 + 1], axis=1)
    for turn in range(12):
        triangles = np.roll(fan, turn, axis=0).astype(np.int32)
        found = _core.surface_closest(vertices, triangles, np.array([[0.0, 0.0, 2.0]]), np.inf)
        assert (found[0][0], found[3][0], found[4][0]) == (2.0, 0, 2)


def test_features_and_pseudonormals_of_a_cube():
    vertices, triangles = cube()
    # each corner apart: places that are the same count as one
    apart = vertices[triangles].reshape(-1, 3)
    for v, t in ((vertices, triangles), (apart, np.arange(36).reshape(-1, 3))):
        points = [[0.3, 0.4, 2], [0.5, 0.5, 2], [1.5, 0.5, 1.5], [2, 2, 2], [0.5, -0.1, -0.2]]
        distance, place, normal, _, feature = _core.surface_closest(v, t, points, np.inf)
        np.testing.assert_allclose(distance, [1, 1, 0.5**0.5, 3**0.5, 0.05**0.5], rtol=1e-15)
        assert feature.tolist()[2:] == [1, 2, 1]
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        expected = np.array([[0, 0, 1], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, -1, -1]], float)
        expected /= np.linalg.norm(expected, axis=1)[:, None]
        # independent of how the squares are cut: weights are angles
        np.testing.assert_allclose(normal, expected, atol=1e-15)


def test_signs_of_a_spiky_solid(rng):
    """Signs by pseudonormals are those of the solid angle, sharp edges and corners included."""
    vertices = np.array([[0, 0, 1], [3, 0, 0], [0, 0.2, 0], [0, -0.2, 0], [-0.1, 0, 0.3]], float)
    tets = [(0, 2, 3, 1), (0, 3, 2, 4)]
    faces: dict[tuple[int, ...], tuple[int, int, int]] = {}
    for a, b, c, d in tets:
        volume = np.linalg.det(vertices[[b, c, d]] - vertices[a])
        if volume < 0:
            b, c = c, b
        for face in ((a, c, b), (a, b, d), (b, c, d), (c, a, d)):
            key = tuple(sorted(face))
            faces.pop(key) if key in faces else faces.update({key: face})
    triangles = np.array(list(faces.values()))
    points = rng.uniform(-1, 1, (4000, 3)) * [3.2, 0.5, 0.8] + [1.2, 0, 0.4]
    _, place, normal, _, feature = _core.surface_closest(vertices, triangles, points, np.inf)
    assert set(feature) == {0, 1, 2}
    inside = np.einsum("ij,ij->i", points - place, normal) < 0
    np.testing.assert_array_equal(inside, winding(vertices, triangles, points) > 0.5)
    assert inside.any()


def test_triangles_without_area_take_normals_of_neighbours():
    """A seam closed by a triangle that is a line: signs near it are right."""
    vertices, triangles = cube()
    middle = len(vertices)
    vertices = np.vstack([vertices, [0.5, 1, 1]])
    # the edge from (0, 1, 1) to (1, 1, 1), vertices 3 and 7, gets a vertex on one side only
    refined = []
    for t in triangles.tolist():
        if 3 in t and 7 in t and all(vertices[v][1] == 1 for v in t):
            (other,) = set(t) - {3, 7}
            i = t.index(3)
            forward = t[(i + 1) % 3] == 7
            refined += [(3, middle, other), (middle, 7, other)]
            if not forward:
                refined[-2:] = [(middle, 3, other), (7, middle, other)]
            refined.append((7, middle, 3) if forward else (3, middle, 7))
        else:
            refined.append(tuple(t))
    surface = rf.Surface(vertices, refined)
    assert surface.is_closed
    assert surface.n_degenerate == 1
    turn = np.linspace(-np.pi / 2 + 0.05, np.pi - 0.05, 101)
    for x in (0.2, 0.5, 0.7):
        for radius in (0.1, 1e-3):
            points = np.stack(
                [np.full(101, x), 1 + radius * np.cos(turn), 1 + radius * np.sin(turn)], axis=1
            )
            _, place, normal, _, _ = _core.surface_closest(
                surface.vertices, surface.triangles, points, np.inf
            )
            assert (np.einsum("ij,ij->i", points - place, normal) > 0).all()


def test_running_out_of_memory():
    vertices, triangles = cube()
    fail_each_allocation(lambda: _core.surface_closest(vertices, triangles, vertices, np.inf))


def test_bounds_are_checked():
    for bound in (-1.0, np.nan):
        with pytest.raises(rf.InputError, match=f"bound must be 0 or more, got {bound:g}"):
            _core.surface_closest(*cube(), np.zeros((1, 3)), bound)


def test_indices_are_checked():
    with pytest.raises(rf.ReducedFEMError, match="triangle"):
        _core.surface_closest(np.zeros((2, 3)), [[0, 1, 2]], np.zeros((1, 3)), 1.0)


@pytest.mark.parametrize("use", ["closest", "sampler"])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_signals_are_handled_while_large_surfaces_are_prepared(use):
    """Preparing the surface takes nearly all of these calls, for one place or sample."""
    at = np.full((1, 3), 0.5)

    def prepare(n):
        vertices = np.random.default_rng(0).random((n, 3))
        triangles = np.arange(3 * n, dtype=np.int32).reshape(n, 3) % n
        if use == "closest":
            return lambda: _core.surface_closest(vertices, triangles, at, np.inf)
        return lambda: _core.shell_areas(vertices, triangles, at, at, 1, 0, None, 1)

    ticks = []

    def tick(*_):
        ticks.append(None)
        if len(ticks) == stop_at:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, tick)
    try:
        # long for the processor, and so by any clock
        n, took, stop_at = 1 << 17, 0.0, 0
        while took < 0.4:
            n *= 2
            call = prepare(n)
            ticks.clear()
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            start = time.thread_time()
            call()
            took = time.thread_time() - start
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        # without polling they would arrive once before and once afterwards
        assert len(ticks) >= 4
        live = live_blocks()
        ticks.clear()
        stop_at = 2

        def interrupted():
            signal.setitimer(signal.ITIMER_REAL, 0.06, 0.01)
            call()

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        check_live_blocks(live)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
