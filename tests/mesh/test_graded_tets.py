"""Graded meshes of tetrahedra by bisection."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest

import reducedfem as rf
from graded import voxel_mesh
from reducedfem import _core
from shapes import box_hexes, box_tets, sphere

PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def tets_of(cubes, layers=1):
    """Return the tetrahedra of a mesh of cubes."""
    core, original = _core.grade_tets(cubes._core, layers, None)
    np.testing.assert_array_equal(core.nodes, cubes.nodes[original])
    return rf.Mesh(core.nodes, core.elements, core.regions)  # checks the orientation


def is_conforming(mesh):
    """Return True if each face has two elements or lies on the surface, and no node hangs."""
    faces = np.sort(mesh.elements[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]].reshape(-1, 3))
    _, times = np.unique(faces, axis=0, return_counts=True)
    return times.max() == 2 and mesh.surface().is_closed and len(mesh.hanging_nodes) == 0


def angles(mesh):
    """Return the dihedral angles of all elements in degrees."""
    x = mesh.nodes[mesh.elements]
    found = []
    for a, b in PAIRS:
        c, d = (k for k in range(4) if k not in (a, b))
        edge = x[:, b] - x[:, a]
        n, m = np.cross(edge, x[:, c] - x[:, a]), np.cross(edge, x[:, d] - x[:, a])
        cos = np.sum(n * m, axis=1) / np.linalg.norm(n, axis=1) / np.linalg.norm(m, axis=1)
        found.append(np.degrees(np.arccos(np.clip(cos, -1, 1))))
    return np.array(found)


def lattice_of(mesh, h=0.01):
    return np.rint(mesh.nodes / h).astype(int)


def plain_refinement(n):
    """Return the tetrahedra of a box of n^3 cubes, by sets of places: bisection one by one."""

    def halves(t):
        x, d = t
        z = tuple((a + b) // 2 for a, b in zip(x[0], x[d], strict=True))
        tag = d - 1 if d > 1 else 3
        return ((*x[:d], z, *x[d + 1 :]), tag), ((*x[1 : d + 1], z, *x[d + 1 :]), tag)

    def volume(t):
        return abs(np.linalg.det(np.array(t[0][1:]) - t[0][0]))

    def middles(t):
        sums = [np.add(t[0][a], t[0][b]) for a, b in PAIRS]
        return [tuple((s // 2).tolist()) for s in sums if not (s % 2).any()]

    todo = []
    for path in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0)):
        x = [np.zeros(3, int)]
        for axis in path:
            x.append(x[-1] + n * np.eye(3, dtype=int)[axis])
        todo.append((tuple(tuple(p.tolist()) for p in x), 3))

    def touches(t):
        # a face, an edge or a corner on a face of the box: vertices decide for a convex box
        return any(c in (0, n) for p in t[0] for c in p)

    done = []
    while todo:
        t = todo.pop()
        if touches(t) and volume(t) > 1.5:
            todo += halves(t)
        else:
            done.append(t)
    while True:
        used = {p for t in done for p in t[0]}
        hanging = [t for t in done if any(m in used for m in middles(t))]
        if not hanging:
            return {tuple(sorted(t[0])) for t in done}
        keep = set(done) - set(hanging)
        done = list(keep) + [half for t in hanging for half in halves(t)]


def test_tetrahedra_are_those_of_plain_bisection():
    mesh = tets_of(voxel_mesh(np.ones((8, 8, 8), dtype=bool)))
    found = {tuple(sorted(map(tuple, t))) for t in lattice_of(mesh)[mesh.elements].tolist()}
    assert found == plain_refinement(8)


@pytest.mark.parametrize(("n", "tets", "nodes"), [(8, 2448, None), (16, 12_576, 2961)])
def test_cubes_have_the_known_number_of_tetrahedra(n, tets, nodes):
    mesh = tets_of(voxel_mesh(np.ones((n, n, n), dtype=bool)))
    assert mesh.n_elements == tets
    assert nodes is None or mesh.n_nodes == nodes
    assert mesh.volume == pytest.approx((n * 0.01) ** 3, rel=1e-12)
    assert is_conforming(mesh)
    assert angles(mesh).min() == pytest.approx(45.0)
    assert angles(mesh).max() == pytest.approx(120.0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_odd_bodies_are_filled_exactly(layers):
    solid = np.ones((19, 21, 14), dtype=bool)
    solid[:3, :4] = solid[9:11, 5:9, 2:] = solid[8:10, 12:15, 5:9] = False
    cubes = voxel_mesh(solid)
    mesh = tets_of(cubes, layers)
    assert mesh.volume == pytest.approx(cubes.volume, rel=1e-12)
    assert is_conforming(mesh)
    assert mesh.surface().area == pytest.approx(cubes.surface().area, rel=1e-12)
    # the smallest ones fill the layers
    size = np.round(mesh.element_volumes / 1e-6 * 6).astype(int)
    wide, deep = np.pad(solid, layers), solid.copy()
    for axis in range(3):
        for step in range(1, layers + 1):
            for side in (-step, step):
                inner = (slice(layers, -layers),) * 3
                deep &= np.roll(wide, side, axis)[inner]
    at = np.floor(mesh.nodes[mesh.elements].mean(axis=1) / 0.01 + 1e-9).astype(int)
    assert (size[~deep[tuple(at.T)]] == 1).all()
    assert size.max() > 1


def test_regions_stay_apart():
    regions = np.zeros((8, 8, 8), dtype=int)
    regions[4:] = 3
    cubes = voxel_mesh(np.ones((8, 8, 8), dtype=bool), regions=regions)
    mesh = tets_of(cubes)
    right = mesh.nodes[mesh.elements].min(axis=1)[:, 0] > 0.04 - 1e-9
    np.testing.assert_array_equal(mesh.regions, np.where(right, 3, 0))
    assert is_conforming(mesh)


def test_patch_test():
    """Homogeneous strain is exact, as on any conforming mesh."""
    mesh = tets_of(voxel_mesh(np.ones((6, 6, 6), dtype=bool)))
    solid = rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))
    u = mesh.nodes @ (1e-3 * np.random.default_rng(3).normal(size=(3, 3)))
    inner = np.setdiff1d(np.arange(mesh.n_nodes), mesh.boundary_nodes)
    force = solid.stiffness().to_scipy() @ u.ravel()
    assert np.abs(force.reshape(-1, 3)[inner]).max() < 1e-12 * np.abs(force).max()


def test_lost_volume_comes_with_advice_for_whole_cells():
    ball = rf.Surface(*sphere(6))
    lost = r"times the volume.*taken whole. About (\d+) cells along the .* may keep it within 5"
    with pytest.warns(rf.PlausibilityWarning, match=lost) as caught:
        mesh = rf.graded_tets(ball, 6)
    off = abs(mesh.volume / ball.volume - 1.0)
    needed = int(re.search(lost, str(caught[0].message))[1])
    assert needed == math.ceil(6 * off / 0.05)
    assert abs(rf.graded_tets(ball, needed).volume / ball.volume - 1.0) < 0.05
    with pytest.warns(rf.PlausibilityWarning, match="times the volume.*raise the resolution"):
        rf.Solid(mesh, rf.StVK(1e5, 0.3, 1000.0))


def test_bodies_of_surfaces():
    block = rf.Mesh(*box_hexes(2, 1, 1, (0.3, 0.11, 0.07))).surface()
    mesh = rf.graded_tets(block, 12)
    assert mesh.volume == pytest.approx(block.volume, rel=1e-9)  # voxels end at its faces
    assert mesh.source is block
    assert is_conforming(mesh)
    ball = rf.Surface(*sphere(6))
    whole = rf.graded_tets(ball, 16, layers=2, expand=1.2, cut=False)
    assert whole.volume == pytest.approx(rf.voxelize(ball, 16, cut=False, order=1).volume)
    assert rf.graded_tets(ball, 16, fill=False, expand=1.2).volume < whole.volume
    half = rf.graded_tets(ball, 24)
    assert half.volume == pytest.approx(ball.volume, rel=0.02)
    assert is_conforming(half)


def blocks(*sizes_and_places):
    """Return the surfaces of blocks as one."""
    nodes, elements = box_hexes(1, 1, 1, (1, 1, 1))
    parts = [rf.Mesh(nodes * size + at, elements).surface() for size, at in sizes_and_places]
    start = np.cumsum([0] + [p.n_vertices for p in parts])
    return rf.Surface(
        np.concatenate([p.vertices for p in parts]),
        np.concatenate([p.triangles + k for p, k in zip(parts, start, strict=False)]),
    )


BLOCK, STALK, KNOB = (
    (np.array([0.6, 0.6, 0.6]), [0, 0, 0]),
    (np.array([0.3, 0.02, 0.02]), [0.55, 0.29, 0.29]),
    (np.array([0.2, 0.2, 0.2]), [0.8, 0.2, 0.2]),
)


def test_pieces_of_a_body_that_comes_apart():
    """A block with a knob on a stalk that is thinner than a voxel, and not at a centre."""
    surface = blocks(BLOCK, STALK, KNOB)
    knob = 0.2**3 / (0.6**3 + 0.2**3)
    with pytest.warns(rf.GeometryWarning, match="1 smaller piece, .* pieces='largest', which l"):
        mesh = rf.graded_tets(surface, 20)
    assert mesh.n_components("face") == 2
    assert mesh.bounds[1, 0] > 0.95
    with pytest.warns(rf.GeometryWarning, match="1 smaller piece, .* are left out: .* keeps them"):
        largest = rf.graded_tets(surface, 20, pieces="largest")
    assert largest.n_components("face") == 1
    assert largest.bounds[1, 0] < 0.7
    assert 1 - largest.volume / mesh.volume == pytest.approx(knob, rel=1e-9)
    assert rf.graded_tets(surface, 20, cut=False).bounds[1, 0] > 0.95


@pytest.mark.parametrize("pieces", ["all", "largest"])
def test_separate_bodies_are_kept(pieces):
    mesh = rf.graded_tets(blocks(BLOCK, KNOB), 20, pieces=pieces)
    assert mesh.n_components("face") == 2
    assert mesh.volume == pytest.approx(0.6**3 + 0.2**3)


def test_equal_pieces_leave_one():
    surface = blocks(KNOB, (STALK[0], [0.9, 0.29, 0.29]), (KNOB[0], [1.15, 0.2, 0.2]))
    with pytest.warns(rf.GeometryWarning, match="1 smaller piece, 50 % of the volume"):
        mesh = rf.graded_tets(surface, 22, pieces="largest")
    assert mesh.n_components("face") == 1


def test_bodies_with_thin_parts_stay_in_one_piece(shared):
    """Horns are thinner than a voxel."""
    path, up = shared / "meshes" / "cow.obj", 1
    if not path.is_file():
        pytest.skip(f"no {path}")
    surface = rf.read_surface(path)
    surface = rf.Surface(0.1 * surface.vertices / np.ptp(surface.bounds), surface.triangles)
    with pytest.warns(rf.GeometryWarning, match="2 smaller pieces, .* are left out. .* a voxel"):
        mesh = rf.graded_tets(surface, 16, pieces="largest")
    assert mesh.n_components("face") == 1
    assert mesh.surface().is_closed
    assert len(mesh.hanging_nodes) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.PlausibilityWarning)  # a coarse mesh
        low, high = mesh.bounds[:, up]
        solid = rf.Solid(
            mesh, rf.StVK(1e6, 0.3, 1000.0), mesh.nodes[:, up] < low + (high - low) / 5
        )
    assert (solid.linear_modes(3).frequencies > 0).all()


def test_progress_covers_all_of_the_work():
    calls = []
    rf.graded_tets(rf.Surface(*sphere(6)), 16, progress=lambda *at: calls.append(at))
    assert calls == sorted(calls)
    assert {total for _, total in calls} == {100}
    assert {60, 90, 100} <= {done for done, _ in calls}


def test_refused_arguments():
    ball = rf.Surface(*sphere(6))
    with pytest.raises(rf.InputError, match="layers must be 1 to"):
        rf.graded_tets(ball, 8, 0)
    with pytest.raises(rf.InputError, match="resolution"):
        rf.graded_tets(ball, 0)
    with pytest.raises(rf.InputError, match="cut=True needs fill=True"):
        rf.graded_tets(ball, 8, fill=False, cut=True)
    sheet = rf.Mesh(*box_hexes(1, 1, 1, (1.0, 1.0, 0.02))).surface()
    with pytest.raises(rf.MeshError, match="no voxel has its centre inside"):
        rf.graded_tets(sheet, 4)
    for mesh in (rf.Mesh(*box_tets(1, 1, 1)), rf.voxelize(ball, 6, order=1)):
        with pytest.raises(rf.MeshError, match="cut=False, order=1"):
            _core.grade_tets(mesh._core, 1, None)
    with pytest.raises(rf.InputError, match="layers must be at least 1"):
        _core.grade_tets(voxel_mesh(np.ones((2, 2, 2), dtype=bool))._core, 0, None)


def test_pieces_of_bodies_that_are_not_cut_are_all_kept():
    with pytest.raises(rf.InputError, match="pieces='largest' needs cut=True"):
        rf.graded_tets(blocks(BLOCK), 8, cut=False, pieces="largest")
