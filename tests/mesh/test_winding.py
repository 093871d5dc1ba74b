"""Winding numbers of surfaces of any kind against the plain sum, and which way parts face."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core
from shapes import sphere

ERROR = 3e-3  # RF_WINDING_ERROR of csrc/mesh/winding.h
LAYERED = 0.02  # of several surfaces within each other, which boxes of the tree have in common

CUBE = np.array(list(np.ndindex(2, 2, 2)), float)
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE_TRIANGLES = np.array([t for a, b, c, d in FACES for t in ((a, b, c), (a, c, d))])


def plain_winding(vertices, triangles, points):
    """The sum of the solid angles of all triangles (van Oosterom & Strackee 1983) over 4 pi."""
    out = np.empty(len(points))
    for i, p in enumerate(points):
        a, b, c = np.moveaxis(np.asarray(vertices)[triangles] - p, 1, 0)
        la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
        up = np.einsum("ij,ij->i", a, np.cross(b, c))
        dot = np.sum(a * b, 1) * lc + np.sum(b * c, 1) * la + np.sum(c * a, 1) * lb
        out[i] = np.arctan2(up, la * lb * lc + dot).sum() / (2 * np.pi)
    return out


def winding(vertices, triangles, points, outward=True, threads=1):
    return _core.surface_winding(vertices, triangles, points, outward, None, threads)


def reversed_triangles(vertices, triangles):
    return _core.surface_reversed(vertices, triangles, None, 1)


def facing(vertices, triangles):
    """The triangles after the parts were turned to face outward."""
    triangles = np.array(triangles)
    turned = reversed_triangles(vertices, triangles)
    triangles[turned] = triangles[turned][:, ::-1]
    return triangles


def joined(*surfaces):
    """Several surfaces as one."""
    starts = np.cumsum([0, *(len(v) for v, _ in surfaces)])
    return np.vstack([v for v, _ in surfaces]), np.vstack(
        [np.asarray(t) + start for (_, t), start in zip(surfaces, starts, strict=False)]
    )


def inside_out(surface):
    return surface[0], np.asarray(surface[1])[:, ::-1]


# ---- numbers --------------------------------------------------------------------------


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("size", [1.0, 1e-20, 1e20])
def test_closed_forms(rng, far, size):
    cases = [
        (CUBE - 0.5, CUBE_TRIANGLES, lambda p: np.abs(p).max(axis=1), 0.5),
        (*sphere(40), lambda p: np.linalg.norm(p, axis=1), 1.0),
    ]
    points = rng.uniform(-1.5, 1.5, (2000, 3))
    for vertices, triangles, reach, edge in cases:
        near = np.abs(reach(points) - edge) < 0.01
        expected = reach(points) < edge
        w = winding(size * (vertices + far), triangles, size * (points[~near] + far))
        assert expected[~near].any()
        np.testing.assert_allclose(w, expected[~near], atol=ERROR)


@pytest.mark.parametrize("kind", ["soup", "flat", "needles", "repeated", "tiny", "few"])
def test_against_the_plain_sum(rng, kind):
    vertices = rng.normal(size=(900, 3))
    triangles = rng.integers(0, 900, (300, 3))  # some may use a vertex twice
    if kind == "soup":
        vertices[300:] = vertices[rng.integers(0, 300, 600)] + 0.1 * rng.normal(size=(600, 3))
    elif kind == "flat":
        vertices[:, 2] = 0.25
    elif kind == "needles":
        vertices *= [1, 1e-9, 1]
    elif kind == "repeated":
        vertices[300:] = np.repeat(vertices[:300], 2, axis=0)
        triangles[::3, 1] = triangles[::3, 0]
    elif kind == "tiny":
        vertices *= 1e-150
    else:
        triangles = triangles[:3]
    scale = 1e-150 if kind == "tiny" else 1.0
    points = scale * 2 * rng.normal(size=(400, 3))
    points = np.vstack([points, vertices[triangles[:20]].mean(axis=1), vertices[triangles[:20, 0]]])
    w = winding(vertices, triangles, points, outward=False)
    expected = plain_winding(vertices / scale, triangles, points / scale)
    # in the plane of a triangle, and at a corner of one, one side is as good as the other
    unsure = kind in ("flat", "needles", "few", "soup", "repeated", "tiny")
    certain = slice(0, 400) if unsure else slice(None)
    # solid angles of many layers add up: the error is that of a layer times the root of these
    layers = 10 if len(triangles) > 3 else 1
    np.testing.assert_allclose(w[certain], expected[certain], atol=layers * ERROR)
    assert np.isfinite(w).all()


def test_on_the_surface_is_between_both_sides():
    w = winding(CUBE, CUBE_TRIANGLES, [[0.25, 0.5, 0.0], [1.0, 0.25, 0.5]])
    np.testing.assert_allclose(w, 0.5, atol=1e-12)


def test_a_place_that_is_not_finite_is_refused():
    with pytest.raises(rf.InputError, match=r"points\[0, 1\] is nan"):
        winding(CUBE, CUBE_TRIANGLES, [[0, np.nan, 0]])
    assert winding(CUBE, CUBE_TRIANGLES, [[1e300, 0, 0]]) == 0.0


def test_overlaps_count_twice_and_holes_between():
    two = joined((CUBE, CUBE_TRIANGLES), (CUBE + np.array([0.5, 0, 0]), CUBE_TRIANGLES))
    w = winding(*two, [[0.25, 0.5, 0.5], [0.75, 0.5, 0.5], [1.25, 0.5, 0.5], [2, 0.5, 0.5]])
    np.testing.assert_allclose(w, [1, 2, 1, 0], atol=ERROR)
    # without its lid the cube's middle sees five of six faces
    lidless = winding(CUBE, CUBE_TRIANGLES[:10], [[0.5, 0.5, 0.5]])
    np.testing.assert_allclose(lidless, 5 / 6, atol=ERROR)


def test_hemisphere_on_its_axis(rng):
    vertices, triangles = sphere(60)
    upper = triangles[vertices[triangles][:, :, 2].mean(axis=1) > 0]
    z = np.linspace(-2, 0.9, 30)
    # the missing disc is seen under 2 pi (1 - |z| / sqrt(1 + z^2))
    disc = 0.5 * (1 - np.abs(z) / np.sqrt(1 + z * z))
    points = np.column_stack([0 * z, 0 * z, z])
    # rows end half a row from the equator
    np.testing.assert_allclose(
        winding(vertices, upper, points), np.where(z > 0, 1 - disc, disc), atol=0.03
    )


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_real_surfaces_against_the_plain_sum(shared, rng):
    for name in ("cow", "suzanne", "teapot", "fandisk"):
        surface = rf.read_surface(shared / "meshes" / f"{name}.obj")
        low, high = surface.bounds
        points = rng.uniform(low, high, (150, 3))
        near = surface.vertices[surface.triangles[rng.integers(0, surface.n_triangles, 150)]]
        points = np.vstack(
            [points, near.mean(axis=1) + 0.01 * np.ptp(near) * rng.normal(size=(150, 3))]
        )
        arrays = surface.vertices, surface.triangles, points
        np.testing.assert_allclose(winding(*arrays, False), plain_winding(*arrays), atol=ERROR)


def test_threads_and_memory(rng):
    vertices, triangles = joined(sphere(8), inside_out(sphere(6, (0.2, 0, 0), 0.5)))
    triangles = triangles[:-5]
    points = rng.normal(size=(3000, 3))
    once = winding(vertices, triangles, points)
    np.testing.assert_array_equal(once, winding(vertices, triangles, points, threads=4))
    fail_each_allocation(lambda: winding(vertices, triangles, points[:5]), 20)
    fail_each_allocation(lambda: reversed_triangles(vertices, triangles), 10)


# ---- which way parts face ---------------------------------------------------------------


def volume(vertices, triangles):
    return np.linalg.det(vertices[triangles] - vertices.mean(axis=0)).sum() / 6


def test_outward_triangles_are_kept(rng):
    for surface in (sphere(6), (CUBE, CUBE_TRIANGLES), (CUBE, CUBE_TRIANGLES[:-2])):
        assert len(reversed_triangles(*surface)) == 0
    soup = rng.normal(size=(300, 3)), np.arange(300).reshape(-1, 3)
    assert len(reversed_triangles(*soup)) == 0
    # a sheet has no outside
    sheet = CUBE[:4], np.array([[0, 1, 3], [0, 3, 2]])
    assert len(reversed_triangles(*sheet)) == 0
    assert len(reversed_triangles(*inside_out(sheet))) == 0


@pytest.mark.parametrize("missing", [0, 1, 100])
@pytest.mark.parametrize("flipped", [0.1, 0.45, 1.0])
def test_flipped_triangles_are_turned_back(rng, missing, flipped):
    vertices, triangles = sphere(12)
    triangles = triangles[missing:]
    mixed = triangles.copy()
    which = rng.random(len(mixed)) < flipped
    mixed[which] = mixed[which][:, ::-1]
    np.testing.assert_array_equal(reversed_triangles(vertices, mixed), np.flatnonzero(which))


def test_vertices_at_the_same_place_count_as_one(rng):
    vertices, triangles = sphere(10)
    apart = vertices[triangles].reshape(-1, 3)
    each = np.arange(len(apart)).reshape(-1, 3)
    which = rng.random(len(each)) < 0.3
    each[which] = each[which][:, ::-1]
    np.testing.assert_array_equal(reversed_triangles(apart, each), np.flatnonzero(which))


def test_parts_that_cross_are_turned_one_by_one():
    one, two = sphere(10), sphere(10, (1.2, 0, 0), 0.8)
    for surface in (joined(one, inside_out(two)), joined(inside_out(one), two)):
        vertices, triangles = surface
        turned = facing(vertices, triangles)
        np.testing.assert_array_equal(turned, facing(*joined(one, two))[: len(turned)])
        w = winding(vertices, triangles, [[-0.5, 0, 0], [0.8, 0, 0], [1.6, 0, 0], [3, 0, 0]])
        np.testing.assert_allclose(w, [1, 2, 1, 0], atol=ERROR)


def test_cavities_stay_cavities():
    shell = joined(sphere(12), inside_out(sphere(10, radius=0.6)), sphere(8, radius=0.3))
    points = [[0, 0.02, 0.01], [0.45, 0, 0], [0.8, 0, 0], [1.2, 0, 0]]
    for surface in (shell, inside_out(shell)):
        np.testing.assert_allclose(winding(*surface, points), [1, 0, 1, 0], atol=LAYERED)
    # a part inside with the orientation of the outer one is solid
    core = joined(sphere(12), sphere(10, radius=0.6))
    for surface in (core, inside_out(core)):
        np.testing.assert_allclose(winding(*surface, points)[1:], [2, 1, 0], atol=LAYERED)
    # inward within a cavity bounds nothing
    island = joined(
        sphere(12), inside_out(sphere(10, radius=0.6)), inside_out(sphere(8, radius=0.3))
    )
    np.testing.assert_allclose(winding(*island, points), [1, 0, 1, 0], atol=LAYERED)
    # beside it another one that is inside out as a whole
    beside = joined(shell, inside_out((shell[0] + [3, 0, 0], shell[1])))
    more = np.vstack([points[:3], np.add(points[:3], [3, 0, 0])])
    np.testing.assert_allclose(winding(*beside, more), [1, 0, 1, 1, 0, 1], atol=LAYERED)


def test_open_parts_within_others_bound_no_cavity():
    vertices, triangles = sphere(12)
    bowl = triangles[vertices[triangles][:, :, 2].mean(axis=1) < 0.3]
    surface = joined((vertices, triangles), inside_out((0.5 * vertices, bowl)))
    turned = facing(*surface)
    assert volume(surface[0], turned) > volume(vertices, triangles)


def test_one_sided_strips_are_accepted():
    s = np.linspace(0, np.pi, 24, endpoint=False)[:, None]
    across = np.array([-0.2, 0.2])[None, :]
    radius = 1 + across * np.cos(s)
    strip = np.stack(
        np.broadcast_arrays(radius * np.cos(2 * s), radius * np.sin(2 * s), across * np.sin(s)), -1
    )
    n = len(strip)
    i = np.arange(n - 1)
    quads = np.column_stack([2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2])
    quads = np.vstack([quads, [2 * n - 2, 2 * n - 1, 0, 1]])
    triangles = np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    turned = reversed_triangles(strip.reshape(-1, 3), triangles)
    assert len(turned) < len(triangles)
    w = winding(strip.reshape(-1, 3), triangles, [[0, 0, 0], [0, 0, 5]])
    assert (np.abs(w) < 0.5).all()


def test_real_surfaces_face_outward_already(shared):
    for name in ("cow", "spot", "fandisk", "rocker-arm", "stanford-bunny"):
        surface = rf.read_surface(shared / "meshes" / f"{name}.obj")
        assert len(reversed_triangles(surface.vertices, surface.triangles)) == 0
        inward = reversed_triangles(surface.vertices, surface.triangles[:, ::-1])
        assert len(inward) == surface.n_triangles
