"""Shells of voxels and of depth cubes, and that repulsion is more even than these."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core


def cube(low=(0.0, 0.0, 0.0), size=1.0):
    corners = np.array(list(itertools.product((0, 1), repeat=3)), float) * size + low
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return rf.Surface(corners, [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])])


def ball(radius=1.0, resolution=48):
    field = rf.SphereField([0.0, 0.0, 0.0], radius)
    return rf.Surface(*_core.level_set(field._core, 0.0, resolution, None, 2))


SPECK = 0.01 * np.eye(3)
TWO_SPECKS = rf.Surface(np.concatenate([SPECK, SPECK + 1]), [[0, 1, 2], [3, 4, 5]])


def test_voxels_of_a_cube():
    surface = cube()
    assert surface.volume > 0
    shell = rf.Pointshell.from_voxels(surface, 11, 1.1)
    # 1.1 m in 11 voxels: those of the faces, whose planes lie in the middle of voxels
    np.testing.assert_allclose(np.ptp(shell.points, axis=0), 1.0, atol=1e-12)
    assert shell.n_points == 11**3 - 9**3
    on_faces = (np.abs(shell.points - 0.5) > 0.499).sum(axis=1)
    assert (on_faces > 0).all()
    # inwards; centres on edges and corners are nearest to one feature there or another
    expected = -np.where(np.abs(shell.points - 0.5) > 0.499, np.sign(shell.points - 0.5), 0)
    one = on_faces == 1
    np.testing.assert_allclose(shell.normals[one], expected[one], atol=1e-6)
    assert (np.einsum("ij,ij->i", shell.normals, expected) > 0.99).all()
    # 8, 64, 512, the rest
    np.testing.assert_array_equal(shell.level_counts, [8, 64, 512, 18])


def test_normals_point_inwards_for_both_orientations_of_the_surface():
    surface = cube()
    turned = rf.Surface(surface.vertices, surface.triangles[:, ::-1])
    assert turned.volume < 0
    for make in (
        lambda s: rf.Pointshell.from_voxels(s, 11, 1.1),
        lambda s: rf.Pointshell.from_depth_cube(s, 8),
    ):
        a, b = make(surface), make(turned)
        np.testing.assert_allclose(a.points, b.points, atol=1e-12)
        one = (np.abs(a.points - 0.5) > 0.499).sum(axis=1) == 1
        assert one.mean() > 0.5
        np.testing.assert_allclose(a.normals[one], b.normals[one], atol=1e-6)
        assert (np.einsum("ij,ij->i", a.normals, 0.5 - a.points) > 0).all()


def test_depth_cube_of_a_cube():
    """Rays meet the diagonals of the faces, and these count once."""
    for resolution in (1, 2, 7, 8):
        shell = rf.Pointshell.from_depth_cube(cube(), resolution)
        assert shell.n_points == 6 * resolution**2
        assert len(np.unique(shell.points.round(9), axis=0)) == shell.n_points
        on_faces = np.abs(np.abs(shell.points - 0.5) - 0.5) < 1e-12
        assert (on_faces.sum(axis=1) == 1).all()
        np.testing.assert_allclose(
            shell.normals, np.where(on_faces, -np.sign(shell.points - 0.5), 0), atol=1e-12
        )


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.1])
def test_rays_enter_and_leave_closed_surfaces_equally_often(shift):
    """Vertices and edges that lie exactly on rays: integer coordinates, many ties."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        # a closed surface of cubes that touch: the sides of some voxels
        marked = rng.random((4, 4, 4)) < 0.4
        parts = [cube(np.array(p, float) + shift) for p in np.argwhere(marked)]
        vertices = np.concatenate([part.vertices for part in parts])
        triangles = np.concatenate([p.triangles + 8 * i for i, p in enumerate(parts)])
        surface = rf.Surface(vertices, triangles)
        resolution = round(2 * np.ptp(vertices, axis=0).max())
        points, normals = _core.shell_from_depth_cube(vertices, triangles, resolution, None, 1)
        # 4 rays a face
        assert len(points) == 4 * 6 * marked.sum()
        assert surface.is_closed
        for axis in range(3):
            along = np.abs(normals[:, axis]) > 0.5
            assert np.round(normals[along, axis]).sum() == 0


@pytest.mark.parametrize("power", [-290, -200, 200, 290])
def test_depth_cube_at_any_scale(power):
    """Down to scales at which squares of areas underflow; smaller surfaces are refused."""
    surface = ball(resolution=16)
    arrays = (np.ldexp(surface.vertices, power), surface.triangles)
    points, normals = _core.shell_from_depth_cube(*arrays, 9, None, 1)
    expected = _core.shell_from_depth_cube(surface.vertices, surface.triangles, 9, None, 1)
    np.testing.assert_array_equal(np.ldexp(points, -power), expected[0])
    np.testing.assert_array_equal(normals, expected[1])
    arrays = (np.ldexp(surface.vertices, 2 * power), surface.triangles)
    if abs(power) > 200:
        with pytest.raises(rf.MeshError, match="rays .* m apart are beyond the range of numbers"):
            _core.shell_from_depth_cube(*arrays, 9, None, 1)


def test_more_points_than_memory_holds(monkeypatch):
    """Of a cube, whose faces have as many as there are cells; refused before anything is done."""
    monkeypatch.setattr("reducedfem.contact.shell_sampling.available", lambda: 1e9)
    for make, points in (
        (lambda: rf.Pointshell.from_depth_cube(cube(), 1000), "6e\\+06"),
        (lambda: rf.Pointshell.from_voxels(cube(), 1200, 1.2), "6e\\+06"),
    ):
        with pytest.raises(MemoryError, match=f"about {points} points and needs 1.6 GB .* 1.0 GB"):
            make()
    assert rf.Pointshell.from_depth_cube(cube(), 100).n_points == 60_000


def test_a_few_triangles_with_very_many_rays_can_be_stopped():
    polls = []

    class Stop(Exception):
        pass

    def tell(done, total):
        polls.append((done, total))
        if len(polls) == 6:
            raise Stop

    surface = cube()
    with pytest.raises(Stop):
        _core.shell_from_depth_cube(surface.vertices, surface.triangles, 8000, tell, 1)
    # a share of a second's work, of a dozen triangles the first two
    assert max(done for done, _ in polls) <= 2


def test_depth_cube_of_a_ball():
    surface = ball()
    shell = rf.Pointshell.from_depth_cube(surface, 30)
    # every ray within a radius is hit twice: two circles a bundle, on the triangulation
    lines = (np.arange(30) - 14.5) / 15
    hit = (np.add.outer(lines**2, lines**2) < 1 - 0.02).sum()
    missed = (np.add.outer(lines**2, lines**2) > 1 + 0.02).sum()
    assert 6 * hit <= shell.n_points <= 6 * (900 - missed)
    assert np.abs(np.linalg.norm(shell.points, axis=1) - 1).max() < 0.01
    assert (np.einsum("ij,ij->i", shell.points, shell.normals) < -0.95).all()


def test_repulsion_is_more_even():
    """Three methods with equally many points (B07 3.8.2)."""
    axis = np.linspace(-1.25, 1.25, 41)
    squares = axis**2
    samples = np.sqrt(squares[:, None, None] + squares[:, None] + squares) - 1.0
    field, surface = rf.DistanceField(samples, [-1.25] * 3, 2.5 / 40), ball()
    arrays = (surface.vertices, surface.triangles)

    def areas(shell):
        found = _core.shell_areas(*arrays, shell.points, shell.normals, 32, 0, None, 2)
        return found.std() / found.mean()

    voxels = rf.Pointshell.from_voxels(surface, 24)
    rays = rf.Pointshell.from_depth_cube(surface, 24)
    for other in (voxels, rays):
        shell = rf.Pointshell.from_field(field, other.n_points, 4)
        even, measured = shell.uniformity(field), other.uniformity(field)
        assert even.gap[-1] < 0.9 * measured.gap[-1]
        # the areas that points stand for; those of 32 samples have a spread of 0.05 by chance
        assert areas(shell) < 0.5 * areas(other)
    # centres of voxels have equal distances, but lie beside the surface
    off = np.abs(field.distance(voxels.points)).max() / measured.spacing[-1]
    assert off > 0.5
    # rays: two points at almost one place, on the diagonals
    assert measured.least[-1] < 0.1
    assert even.least[-1] > 0.5
    assert even.spread[-1] < 0.3 * measured.spread[-1]


@pytest.mark.parametrize("turned", [False, True])
def test_areas(turned):
    """Rays through a cube lie in the middles of squares; areas add up to that of the surface."""
    surface = cube()
    if turned:
        surface = rf.Surface(surface.vertices, surface.triangles[:, ::-1])
    rays = rf.Pointshell.from_depth_cube(surface, 8, areas=True)
    # about 32 random places for each point
    np.testing.assert_allclose(rays.areas, 1 / 64, rtol=1.0)
    assert rays.areas.std() < 1.2 / 64 / np.sqrt(32)
    for axis in range(3):
        for side in (0.0, 1.0):
            on_it = rays.points[:, axis] == side
            assert on_it.sum() == 64
            np.testing.assert_allclose(rays.areas[on_it].sum(), 1.0, rtol=0.01)
    voxels = rf.Pointshell.from_voxels(surface, 11, 1.1, areas=True)
    on_faces = (np.abs(voxels.points - 0.5) > 0.499).sum(axis=1)
    # voxels of 0.1 m about the faces; at edges and corners two or three halves and quarters
    for faces, squares, off in ((1, 1.0, 0.01), (2, 1.0, 0.05), (3, 0.75, 0.2)):
        mean = voxels.areas[on_faces == faces].mean()
        np.testing.assert_allclose(mean, 0.01 * squares, rtol=off)
    for shell in (rays, voxels):
        assert shell.areas.sum() == pytest.approx(6.0, rel=1e-12)
        assert not shell.areas.flags.writeable
    again = rf.Pointshell.from_voxels(surface, 11, 1.1, areas=True)
    np.testing.assert_array_equal(again.areas, voxels.areas)
    assert rf.Pointshell.from_voxels(surface, 11, 1.1).areas is None
    assert dict(voxels.provenance) == {"method": "centres of voxels"}
    assert dict(rays.provenance) == {"method": "layered depth cube"}


@pytest.mark.parametrize("make", [rf.Pointshell.from_depth_cube, rf.Pointshell.from_voxels])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_forces_with_areas_converge_to_the_integral(make, rng):
    """A ball, D deep in a half-space: F = k L D (3 - D/R) / 6 (B07 3.2); without areas it stops."""
    surface, deep, most = ball(resolution=96), 0.5, 10
    exact = most * deep * (3.0 - deep) / 6.0
    ways = rng.normal(size=(12, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    errors = {False: [], True: []}
    for resolution in (16, 64):
        tree = rf.PointTree(make(surface, resolution, areas=True))
        for weighted, found in errors.items():
            off = []
            for way in ways:
                plane = rf.PlaneField((deep - 1.0) * way, way)
                contact = rf.PenaltyContact(
                    tree, plane, 1.0, None,
                    area_weights=weighted, max_points=most, direction="normal",
                )  # fmt: skip
                force = contact.evaluate((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)).force
                off.append(np.linalg.norm(force + exact * way) / exact)
            found.append(np.sqrt(np.mean(np.square(off))))
    coarse, fine = errors[True]
    assert fine < 0.004
    assert fine < 0.2 * coarse
    # 16 times as many points: no better for it
    assert errors[False][1] > 0.015
    assert fine < 0.15 * errors[False][1]


def test_one_count_of_progress():
    for make in (rf.Pointshell.from_voxels, rf.Pointshell.from_depth_cube):
        for areas in (False, True):
            reported = []
            make(cube(), 8, areas=areas, progress=lambda *a, reported=reported: reported.append(a))
            shares = [done / total for done, total in reported]
            assert shares == sorted(shares)
            assert shares[-1] == 1.0


def test_memory_runs_out():
    surface = cube()
    arrays = (surface.vertices, surface.triangles)
    fail_each_allocation(lambda: _core.shell_from_voxels(*arrays, 4, 1.2, None, 1))
    fail_each_allocation(lambda: _core.shell_from_depth_cube(*arrays, 4, None, 1))
    fail_each_allocation(lambda: _core.shell_normals(*arrays, np.eye(3), None, 1))


def test_normals_of_the_nearest_feature():
    surface = cube()
    points = np.array(
        [[0.3, 0.4, -0.2], [0.3, 0.4, 0.1], [-1, -2, 0.5], [2, 2, 2], [0.5, 1.2, 1.3]]
    )
    expected = -np.array([[0, 0, -1], [0, 0, -1], [-1, -1, 0], [1, 1, 1], [0, 1, 1.0]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    normals = _core.shell_normals(surface.vertices, surface.triangles, points, None, 2)
    np.testing.assert_allclose(normals, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rf.Pointshell.from_voxels("x"), rf.InputTypeError, "surface must be a Surface"),
        (lambda: rf.Pointshell.from_depth_cube(3), rf.InputTypeError, "surface must be a Surface"),
        (lambda: rf.Pointshell.from_voxels(cube(), 0), rf.InputError, "resolution must be between"),
        (lambda: rf.Pointshell.from_voxels(cube(), 9999), rf.InputError, "resolution .*2048.*9999"),
        (lambda: rf.Pointshell.from_voxels(cube(), 8, 0.5), rf.InputError, "expand .*0.5"),
        (lambda: rf.Pointshell.from_voxels(cube(), branching=0), rf.InputError, "branching must"),
        (
            lambda: rf.Pointshell.from_depth_cube(cube(), areas="yes"),
            rf.InputTypeError,
            "areas must be True or False",
        ),
        (lambda: rf.Pointshell.from_depth_cube(cube(), 10**6), rf.InputError, "resolution .*16384"),
        (
            lambda: rf.Pointshell.from_depth_cube(rf.Surface(np.zeros((3, 3)), [[0, 1, 2]])),
            rf.MeshError,
            "no extent",
        ),
        (
            lambda: rf.Pointshell.from_depth_cube(TWO_SPECKS, 1),
            rf.InputError,
            "resolution is 1, with which 0 rays meet",
        ),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
