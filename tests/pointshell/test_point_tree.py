"""Nested point-trees: parents, children, and spheres that contain their points for any q."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reducedfem as rf
from failures import check_live_blocks, fail_each_allocation, live_blocks
from reducedfem import _core, samples, threads
from shapes import box_hexes, solid_box
from shells import fibonacci, sphere_shell

SIMD = [s for s in (1, 2, 3) if _core.simd_available(s)]


def random_core(n, counts, r, seed=0, simd=0):
    """Return (points, motion, tilt, core tree) of random points that move anyhow."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    normals = rng.normal(size=(n, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    motion, tilt = rng.normal(size=(2, n, 3, r))
    levels = np.repeat(np.arange(len(counts)), counts)
    core = _core.PointTree(points, normals, levels, motion, tilt, None, threads(), simd)
    return points, normals, motion, tilt, core


def plain_parents(shell: rf.Pointshell) -> np.ndarray:
    parents = np.full(shell.n_points, -1)
    for i in np.flatnonzero(shell.levels > 0):
        above = shell.points[shell.levels < shell.levels[i]]
        parents[i] = np.argmin(((above - shell.points[i]) ** 2).sum(axis=1))
    return parents


def subtrees(parents: np.ndarray, levels: np.ndarray, level: int) -> np.ndarray:
    """Return the node of a level in whose subtree each point is."""
    above = np.arange(len(parents))
    while (levels[above] > level).any():
        above = np.where(levels[above] > level, parents[above], above)
    return above


def plain_radii(parents, levels, level, points):
    above = subtrees(parents, levels, level)
    radii = np.zeros((levels <= level).sum())
    np.maximum.at(radii, above, np.linalg.norm(points - points[above], axis=1))
    return radii


@pytest.fixture(scope="module")
def bar() -> rf.ReducedSolid:
    solid = solid_box((6, 1, 1), (1.5, 0.25, 0.25))
    return rf.reduce(solid, rf.modal_derivative_basis(solid, 3, 6))


@pytest.fixture(scope="module")
def bar_shell(bar) -> rf.Pointshell:
    """Points around the bar, some of them outside of its mesh."""
    rng = np.random.default_rng(3)
    low, high = bar.mesh.nodes.min(axis=0), bar.mesh.nodes.max(axis=0)
    points = low - 0.02 + rng.random((400, 3)) * (high - low + 0.04)
    normals = rng.normal(size=points.shape)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return rf.Pointshell(points, normals, np.repeat([0, 1, 2], [20, 80, 300]))


# ---- structure


def test_parents_are_the_nearest_points_above():
    shell = sphere_shell()
    tree = rf.PointTree(shell)
    np.testing.assert_array_equal(tree.parents, plain_parents(shell))
    np.testing.assert_array_equal(tree.node_counts, [20, 80, 320])
    assert (tree.n_levels, tree.r, tree.shell, tree.reduced) == (3, 0, shell, None)
    assert repr(tree) == "<PointTree: 320 points, 3 levels, rigid>"


def test_of_two_nearest_points_the_first_is_the_parent():
    """A cubic lattice has ties everywhere, and points that lie in one place."""
    lattice = np.stack(np.meshgrid(*3 * [np.arange(4.0)], indexing="ij"), axis=-1).reshape(-1, 3)
    points = np.concatenate([lattice, lattice[::-1], lattice + 0.5])
    shell = rf.Pointshell(points, np.tile([1.0, 0, 0], (192, 1)), np.repeat([0, 1], [128, 64]))
    parents = rf.PointTree(shell).parents
    np.testing.assert_array_equal(parents, plain_parents(shell))
    assert parents[128:].max() < 64  # never the twin further behind


def test_very_many_points_at_one_place():
    """All boxes are equally near: those without a lower index are passed over."""
    n = 100_000
    points = np.zeros((n, 3))
    points[1] = 1.0
    shell = rf.Pointshell(points, np.tile([1.0, 0, 0], (n, 1)), np.repeat([0, 1], [n // 2] * 2))
    parents = rf.PointTree(shell).parents
    assert (parents[n // 2 :] == 0).all()


def test_children_of_a_node_are_visited_side_by_side():
    shell = sphere_shell((10, 40, 160))
    tree = rf.PointTree(shell)
    order = tree._core.order
    np.testing.assert_array_equal(np.sort(order), np.arange(210))
    np.testing.assert_array_equal(shell.levels[order], shell.levels)
    place = np.argsort(order)
    for first, last in ((10, 50), (50, 210)):
        of_parent = place[tree.parents[order[first:last]]]
        assert (np.diff(of_parent) >= 0).all()


def test_one_level_and_one_point():
    one = rf.PointTree(rf.Pointshell([[1.0, 2, 3]], [[0.0, 0, 1]]))
    assert (one.n_levels, one.parents.tolist(), one.radii(0).tolist()) == (1, [-1], [0.0])
    flat = rf.PointTree(rf.Pointshell(fibonacci(50), -fibonacci(50)))
    assert not flat.radii(0).any()
    assert not flat.tight_radii(0).any()


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_structure_of_random_shells(seed, counts):
    rng = np.random.default_rng(seed)
    # few places: many ties
    points = rng.integers(0, 4, (sum(counts), 3)).astype(float)
    shell = rf.Pointshell(
        points, np.tile([0, 1.0, 0], (len(points), 1)), np.repeat(np.arange(len(counts)), counts)
    )
    tree = rf.PointTree(shell)
    parents = plain_parents(shell)
    np.testing.assert_array_equal(tree.parents, parents)
    for level in range(len(counts)):
        plain = plain_radii(parents, shell.levels, level, points)
        # rounded up to float32
        np.testing.assert_allclose(tree.radii(level), plain, rtol=2e-7)
        np.testing.assert_allclose(tree.tight_radii(level), plain, rtol=1e-14)


# ---- spheres


@pytest.mark.parametrize("r", [1, 7, 8, 15, 16, 21])
@pytest.mark.parametrize("simd", SIMD)
def test_kernels_against_numpy(r, simd):
    points, normals, motion, tilt, core = random_core(130, [10, 30, 90], r, simd=simd)
    q = np.random.default_rng(1).normal(size=r)
    # rows are rounded to float32, sums of r products of order one
    np.testing.assert_allclose(core.positions(q), points + motion @ q, atol=2e-6)
    u, t = motion.astype(np.float32).astype(float), tilt.astype(np.float32).astype(float)
    np.testing.assert_allclose(core.positions(q), points + u @ q, rtol=1e-13, atol=1e-13)
    turned = normals + t @ q
    turned /= np.linalg.norm(turned, axis=1)[:, None]
    np.testing.assert_allclose(core.normals(q), turned, atol=1e-12)
    np.testing.assert_array_equal(core.positions(None), points)
    np.testing.assert_allclose(core.normals(None), normals, atol=1e-15)

    levels = np.repeat([0, 1, 2], [10, 30, 90])
    for level in (0, 1):
        above = subtrees(core.parents, levels, level)
        grow = np.zeros((len(core.radii(level, None, False, 1)), r))
        np.maximum.at(grow, above, np.linalg.norm(u - u[above], axis=1))
        rest = plain_radii(core.parents, levels, level, points)
        np.testing.assert_allclose(
            core.radii(level, q, False, 1), rest + grow @ np.abs(q), rtol=2e-7
        )
        moved = plain_radii(core.parents, levels, level, points + u @ q)
        np.testing.assert_allclose(core.radii(level, q, True, 1), moved, rtol=1e-12)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(-6, 6))
def test_spheres_hold_their_points(seed, magnitude):
    """For any q, small or absurdly large, and as tight as (3.12) is."""
    points, _, _, _, core = _MOVING
    rng = np.random.default_rng(seed)
    q = rng.normal(size=7) * rng.integers(0, 2, 7) * 10**magnitude
    x = core.positions(q)
    levels = np.repeat([0, 1, 2, 3], [5, 15, 50, 130])
    for level in range(4):
        above = subtrees(core.parents, levels, level)
        away = np.linalg.norm(x - x[above], axis=1)
        radii = core.radii(level, q, False, 1)
        # positions round relative to themselves, more than distances between them
        assert (away <= radii[above] + 1e-14 * np.abs(x).max()).all()
        tight = core.radii(level, q, True, 1)
        assert (tight <= radii + 1e-14 * np.abs(x).max()).all()


@pytest.mark.parametrize("power", [-1000, -600, -500, -140, -120, 120, 140, 330])
def test_spheres_hold_their_points_at_any_scale(power):
    """Squares and float32 may overflow or vanish at these scales: spheres are then larger."""
    shell = sphere_shell((5, 20, 80), seed=1)
    scaled = rf.Pointshell(np.ldexp(shell.points, power), shell.normals, shell.levels)
    tree = rf.PointTree(scaled)
    for level in (0, 1):
        plain = plain_radii(tree.parents, shell.levels, level, shell.points)
        radii = tree.radii(level)
        assert (radii >= np.ldexp(plain, power)).all()
        assert ((radii == 0) == (plain == 0)).all()
        assert (radii[plain > 0] >= np.finfo(np.float32).tiny).all()
        if abs(power) < 125:
            np.testing.assert_allclose(np.ldexp(radii, -power), plain, rtol=2e-7)
        elif power > 125:
            assert np.isinf(radii[plain > 0]).all()


_MOVING = random_core(200, [5, 15, 50, 130], 7, seed=5)


def test_bounds_loosen_under_large_deformation(bar, bar_shell):
    """As in figure 3.12: the bound is tight at rest, and grows faster than the radius."""
    tree = rf.PointTree(bar_shell, bar)
    tip = bar.mesh.nodes[:, 0].argmax()
    push = np.zeros((bar.mesh.n_nodes, 3))
    push[tip, 1] = 1.0
    q = bar.project(push)
    q *= 0.3 / np.abs(bar.displacement(q)).max()
    slack = [
        np.mean(tree.radii(0, s * q)) / np.mean(tree.tight_radii(0, s * q)) for s in (0, 0.1, 1)
    ]
    assert slack[0] == pytest.approx(1.0, abs=1e-6)
    assert slack[0] < slack[1] < slack[2]


# ---- deformable solids


def test_points_move_as_the_mesh_does(bar, bar_shell, rng):
    tree = rf.PointTree(bar_shell, bar)
    assert tree.r == bar.r
    q = 1e-3 * rng.normal(size=bar.r)
    carried = tree.embedding.interpolate(bar.displacement(q))
    np.testing.assert_allclose(
        tree.positions(q), bar_shell.points + carried, atol=1e-7 * np.abs(carried).max()
    )
    again = rf.PointTree(bar_shell, bar, rf.Embedding(bar.mesh, bar_shell.points))
    np.testing.assert_array_equal(again.positions(q), tree.positions(q))
    np.testing.assert_array_equal(again.radii(1, q), tree.radii(1, q))
    assert repr(again) == "<PointTree: 400 points, 3 levels, r = 6>"


def test_normals_turn_as_those_of_a_skin(bar, rng):
    surface = bar.mesh.surface()
    skin = rf.Skin(bar, surface)
    shell = rf.Pointshell(surface.vertices, skin.rest_normals)
    tree = rf.PointTree(shell, bar)
    q = 1e-2 * rng.normal(size=bar.r)
    np.testing.assert_allclose(tree.normals(q), skin.normals(q), atol=1e-6)
    np.testing.assert_allclose(tree.positions(q), skin.positions(q), atol=1e-7)


def test_threads_change_nothing(bar, bar_shell, rng):
    q = 1e-2 * rng.normal(size=bar.r)
    before = threads()
    found = []
    try:
        for count in (1, 2, 5):
            rf.set_threads(count)
            tree = rf.PointTree(bar_shell, bar)
            found.append((tree.parents, tree.radii(0, q), tree.radii(1, q), tree.tight_radii(0, q)))
    finally:
        rf.set_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


# ---- bad input


def moved(shell: rf.Pointshell, scale=1.0, by=(0.0, 0.0, 0.0)) -> rf.Pointshell:
    return rf.Pointshell(scale * shell.points + by, shell.normals, shell.levels)


@pytest.mark.parametrize(
    ("scale", "by", "said"),
    [
        (
            1000.0,
            (0, 0, 0),
            r"\d+ of 400 points .* reaches from \(.*, the mesh .*: check that both are in m",
        ),
        (100.0, (0, 0, 0), "points of the shell lie farther outside"),
        (1.0, (0, 0, 3.0), r"400 of 400 points .* by 3\.\d* m, the element .* is 0\.433 m large"),
        (
            1e-3,
            (0, 0, 0),
            r"the shell is 0\.0015\d m large, the mesh of the solid 1\.54 m\. .*: check",
        ),
        (1.0, (1.0, 0, 0), "points of the shell lie farther outside"),
        (1.0, (0, 0.7, 0), "points of the shell lie farther outside"),
    ],
)
def test_shells_beside_their_mesh(bar, bar_shell, scale, by, said):
    """Other units or another place give one warning, when the tree is made; copies give none."""
    with pytest.warns(rf.GeometryWarning, match=said) as reported:
        tree = rf.PointTree(moved(bar_shell, scale, by), bar)
    assert len(reported) == 1
    assert reported[0].filename == __file__
    with pytest.warns(rf.GeometryWarning, match=said):
        rf.PointTree(tree.shell, bar, tree.embedding)
    again = pickle.loads(pickle.dumps(tree))  # warnings are errors here
    np.testing.assert_array_equal(again.positions(), tree.positions())
    # one that does not deform may be anywhere
    rf.PointTree(tree.shell)


def test_shells_near_their_mesh(bar, bar_shell):
    """As far beside it as coats, coarse meshes and other surfaces make them."""
    rf.PointTree(moved(bar_shell, by=(0, 0, 0.2)), bar)
    rf.PointTree(moved(bar_shell, 1.05), bar)
    # a patch, and a single point
    rf.PointTree(moved(bar_shell, 0.01), bar)
    rf.PointTree(rf.Pointshell(bar_shell.points[:1], bar_shell.normals[:1]), bar)
    surface = samples.load("spoon")
    for voxels, resolution in ((16, 64), (64, 32)):
        mesh = rf.voxelize(surface, voxels, cut=False, order=1)
        held = mesh.nodes[:, 0] < np.quantile(mesh.nodes[:, 0], 0.1)
        solid = rf.Solid(mesh, rf.StVK(1e6, 0.3, 1e3), held)
        model = rf.reduce(solid, rf.modal_derivative_basis(solid, 1, 1))
        offset = 1.4 / resolution * np.ptp(surface.bounds, axis=0).max()
        for away in (None, offset):
            shell = rf.Pointshell.from_surface(surface, 200, 2, 0, resolution, away)
            rf.PointTree(shell, model)
        rf.PointTree(rf.Pointshell.from_voxels(surface, 16), model)


def test_refusals(bar, bar_shell):
    tree, rigid = rf.PointTree(bar_shell, bar), rf.PointTree(bar_shell)
    other = rf.Embedding(bar.mesh, bar_shell.points[::-1])
    elsewhere = rf.Embedding(rf.Mesh(*box_hexes(1, 1, 1)), bar_shell.points)
    for work, error, message in [
        (lambda: rf.PointTree(bar_shell.points), rf.InputTypeError, "shell must be a Pointshell"),
        (lambda: rf.PointTree(bar_shell, 3), rf.InputTypeError, "reduced must be a ReducedSolid"),
        (lambda: rf.PointTree(bar_shell, bar, 3), rf.InputTypeError, "embedding must be an Emb"),
        (lambda: rf.PointTree(bar_shell, None, other), rf.InputError, "without reduced"),
        (lambda: rf.PointTree(bar_shell, bar, other), rf.InputError, "belongs to other points"),
        (
            lambda: rf.PointTree(bar_shell, bar, elsewhere),
            rf.InputError,
            "embedding belongs to another mesh",
        ),
        (lambda: tree.radii(3), rf.InputError, "level must be between 0 and 2, got 3"),
        (lambda: tree.tight_radii(-1), rf.InputError, "level must be between 0 and 2, got -1"),
        (lambda: tree.radii(1.0), rf.InputTypeError, "level must be an int"),
        (lambda: tree.radii(0, np.zeros(5)), rf.InputError, "q"),
        (lambda: tree.radii(0, np.full(6, np.nan)), rf.InputError, r"q\[0\] is nan"),
        (lambda: tree.positions(np.zeros((6, 1))), rf.InputError, "q"),
        (
            lambda: tree.positions(np.full(6, 1e308)),
            rf.InputError,
            "q is so large that points",
        ),
        (
            lambda: tree.normals(np.full(6, 1e200)),
            rf.InputError,
            "q is so large that points",
        ),
        (lambda: rigid.radii(0, [1.0]), rf.InputError, "q is given, but the tree is rigid"),
        (lambda: rigid.normals([1.0]), rf.InputError, "q is given, but the tree is rigid"),
    ]:
        with pytest.raises(error, match=message):
            work()


@pytest.mark.parametrize(
    ("points", "normals", "levels", "motion", "message"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3)), [], None, "needs at least one point"),
        (
            [[1e200, 0, 0]],
            [[1.0, 0, 0]],
            [0],
            None,
            r"points\[0\] is \(1e\+200, .* too far from the origin",
        ),
        ([[1.0, 0, 0]], [[2.0, 0, 0]], [0], None, r"normals\[0\] .* must be a unit vector"),
        ([[1.0, 0, 0]], [[1.0, 0, 0]], [1], None, r"levels\[0\] is 1 after 0"),
        (np.zeros((2, 3)), np.eye(3)[:2], [0, 2], None, r"levels\[1\] is 2 after 0"),
        (np.zeros((3, 3)), np.eye(3), [0, 1, 0], None, r"levels\[2\] is 0 after 1"),
        (np.zeros((40, 3)), np.tile(np.eye(3)[0], (40, 1)), np.arange(40), None, "32 levels"),
        (
            np.zeros((1, 3)),
            np.eye(3)[:1],
            [0],
            np.full((1, 3, 2), 1e40),
            r"motion of point 0, .*below 1e30",
        ),
        (np.zeros((1, 3)), np.eye(3)[:1], [0], np.zeros((1, 3, 0)), "0 coordinates"),
    ],
)
def test_the_core_checks_for_itself(points, normals, levels, motion, message):
    with pytest.raises(rf.InputError, match=message):
        _core.PointTree(points, normals, np.int32(levels), motion, motion, None, 1)


def test_every_allocation_may_fail(bar):
    shell = sphere_shell((5, 20))
    fail_each_allocation(lambda: rf.PointTree(shell))
    small = rf.Pointshell(shell.points * 0.1, shell.normals, shell.levels)
    fail_each_allocation(lambda: rf.PointTree(small, bar))
    tree = rf.PointTree(small, bar)
    fail_each_allocation(lambda: tree.tight_radii(0, np.ones(6)))


def test_making_one_can_be_stopped():
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    live = live_blocks()
    with pytest.raises(Stop):
        rf.PointTree(sphere_shell((20, 80, 320, 2000)), progress=stop)
    check_live_blocks(live)
    reported = []
    rf.PointTree(sphere_shell(), progress=lambda done, total: reported.append((done, total)))
    assert reported[-1] == (640, 640)
