"""Pointshells of surfaces: samples of the package, meshes from elsewhere, soups; their files."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

import reducedfem as rf
from places import ROOT
from reducedfem import _core, samples

SHARED = Path(os.environ.get("REDUCEDFEM_SHARED", ROOT.parent / "shared")) / "meshes"


def cube(size=1.0):
    corners = np.array(list(itertools.product((0, 1), repeat=3)), float) * size
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return rf.Surface(corners, [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])])


def open_cube():
    return rf.Surface(cube().vertices, cube().triangles[:-1])


def distances(surface, points):
    """Return distances to the nearest triangle, by the definition."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    best = np.full(len(points), np.inf)
    for p, q, r in zip(a, b, c, strict=True):
        x = points - p
        u, v = q - p, r - p
        gram = np.array([[u @ u, u @ v], [u @ v, v @ v]])
        s = np.linalg.solve(gram, np.stack([x @ u, x @ v])) if np.linalg.det(gram) else None
        if s is not None:
            inside = (s >= 0).all(axis=0) & (s.sum(axis=0) <= 1)
            flat = np.linalg.norm(x - s[0][:, None] * u - s[1][:, None] * v, axis=1)
            best = np.where(inside, np.minimum(best, flat), best)
        for e, f in ((p, q), (q, r), (r, p)):
            t = np.clip((points - e) @ (f - e) / max((f - e) @ (f - e), 1e-300), 0, 1)
            best = np.minimum(best, np.linalg.norm(points - e - t[:, None] * (f - e), axis=1))
    return best


def test_closed_surfaces_are_met():
    surface = cube()
    shell = rf.Pointshell.from_surface(surface, 2000, 3, resolution=48)
    assert shell.n_points == 2000
    assert distances(surface, shell.points).max() < 1e-15
    # pseudonormals: those of faces, edges and corners exactly
    faces = (np.abs(shell.points - 0.5) > 0.5 - 1e-12).sum(axis=1)
    np.testing.assert_allclose((np.abs(shell.normals) > 1e-12).sum(axis=1), faces)
    expected = np.where(np.abs(shell.points - 0.5) > 0.5 - 1e-12, 1 / np.sqrt(faces)[:, None], 0)
    np.testing.assert_allclose(np.abs(shell.normals), expected, atol=1e-12)
    assert (faces == 1).mean() > 0.9
    assert (np.einsum("ij,ij->i", shell.normals, 0.5 - shell.points) > 0).all()
    turned = rf.Surface(surface.vertices, surface.triangles[:, ::-1])
    same = rf.Pointshell.from_surface(turned, 2000, 3, resolution=48)
    np.testing.assert_allclose(same.normals, shell.normals, atol=1e-6)


def test_closed_surfaces_need_no_field(monkeypatch):
    """The points are the same, and the memory of a field is not allocated."""
    for faces in (slice(None), slice(None, None, -1)):
        surface = rf.Surface(cube().vertices, cube().triangles[:, faces])
        shell = rf.Pointshell.from_surface(surface, 500, 2, resolution=1 << 19, areas=True)
        with monkeypatch.context() as patch:
            patch.setattr(_core, "surface_bounds_solid", lambda *_: False)
            by_field = rf.Pointshell.from_surface(surface, 500, 2, resolution=24, areas=True)
        for name in ("points", "normals", "areas", "levels"):
            np.testing.assert_array_equal(getattr(shell, name), getattr(by_field, name))
        assert dict(shell.provenance) == dict(by_field.provenance)


def test_soups_are_enclosed():
    """One square without thickness: points on both sides, normals towards it."""
    square = rf.Surface([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    for offset in (None, 0.05):
        shell = rf.Pointshell.from_surface(square, 1500, 3, resolution=48, offset=offset)
        far = distances(square, shell.points)
        wanted = 1.4 * (1 + 12 / 48) / 48 if offset is None else offset
        # the interpolated distance cuts curved parts, and is a surface of a surface
        np.testing.assert_allclose(far, wanted, atol=0.2 * wanted)
        flat = ((shell.points[:, :2] > 0.1) & (shell.points[:, :2] < 0.9)).all(axis=1)
        np.testing.assert_allclose(
            shell.normals[flat], np.outer(-np.sign(shell.points[flat, 2]), [0, 0, 1]), atol=0.05
        )
        # both sides get their share
        assert abs((shell.points[:, 2] > 0).mean() - 0.5) < 0.02


def test_one_triangle():
    shell = rf.Pointshell.from_surface(rf.Surface(np.eye(3), [[0, 1, 2]]), 300, 2, resolution=32)
    assert shell.n_points == 300
    assert np.abs(shell.points.sum(axis=1) - 1).max() < 0.3


def prism(low, high):
    """Return a block, all of whose faces are alike triangulated."""
    block = cube()
    low, high = np.array(low, float), np.array(high, float)
    return rf.Surface(low + block.vertices * (high - low), block.triangles)


def together(*surfaces):
    ends = np.cumsum([0] + [len(s.vertices) for s in surfaces])
    return rf.Surface(
        np.concatenate([s.vertices for s in surfaces]),
        np.concatenate([s.triangles + n for s, n in zip(surfaces, ends, strict=False)]),
    )


def on_what(surface, shell, resolution):
    """Return what the points of a shell are spread over, to measure their uniformity."""
    how = shell.provenance
    if how["method"] == "repulsion on a surface":
        return surface
    # as from_surface makes it
    return rf.DistanceField.from_surface(
        surface, resolution, 1 + 12 / resolution, how["offset_m"] or None, mode="fast"
    )


@pytest.mark.parametrize("thickness", [0.3, 1e-2, 1e-6, 0.0])
def test_parts_may_be_of_any_thickness(thickness):
    """A sheet thinner than a voxel: both sides have points, with normals outwards."""
    sheet = prism([0, 0, 0], [1, 0.7, thickness])
    shell = rf.Pointshell.from_surface(sheet, 1500, 3, resolution=16)
    assert shell.provenance["method"] == "repulsion on a surface" or thickness == 0.0
    if thickness == 0.0:
        # without volume it is no solid
        assert shell.provenance["offset_m"] > 0.0
        assert "m off the surface" in repr(shell)
        return
    assert repr(shell) == "<Pointshell: 1500 points, 3 levels (71, 286, 1143)>"
    # rounding, of the plain search too: sides are needles
    assert distances(sheet, shell.points).max() < 1e-12
    measured = shell.uniformity(sheet)
    # both edges of a thin rim have points, which are near each other and yet face the same side
    assert (measured.gap < (1.0 if thickness > 0.1 else 1.4)).all()
    assert measured.spread[-1] < (0.12 if thickness > 0.1 else 0.25)
    on_top = shell.normals[:, 2] < -0.99
    np.testing.assert_allclose(shell.points[on_top, 2], thickness, atol=1e-15)
    area = 2 * (0.7 + 1.7 * thickness)
    # edges belong to no face
    assert abs(on_top.mean() - 0.7 / area) < 0.1
    # points of a face are as far from each other as elsewhere, with or without others behind them
    face = cKDTree(shell.points[on_top])
    assert face.query(shell.points[on_top], k=2)[0][:, 1].min() > 0.3 * measured.spacing[-1]


def test_crossing_parts():
    """Of blocks that cross only the outside has points, with normals of the triangles."""
    a, b = prism([0, 0, 0], [1, 0.4, 0.4]), prism([0.3, -0.3, 0.1], [0.7, 0.7, 0.3])
    cross = together(a, b)
    shell = rf.Pointshell.from_surface(cross, 1000, 2, resolution=48)
    how = dict(shell.provenance)
    assert how.pop("voxel_m") == pytest.approx((1 + 12 / 48) / 48)
    assert how == {
        "method": "repulsion on a level set",
        "closed": True, "crossing": True, "thin": False, "offset_m": 0.0,
    }  # fmt: skip
    voxel = shell.provenance["voxel_m"]
    for block in (a, b):
        low, high = block.bounds
        inside = ((shell.points > low + voxel) & (shell.points < high - voxel)).all(axis=1)
        assert not inside.any()
    assert (np.abs(shell.normals).max(axis=1) > 1 - 1e-9).mean() > 0.95
    assert (shell.uniformity(on_what(cross, shell, 48)).gap < 1.2).all()
    # the same with a sheet of a hundredth of a voxel
    sheet = together(a, prism([0.3, -0.3, 0.2], [0.7, 0.7, 0.2002]))
    shell = rf.Pointshell.from_surface(sheet, 1000, 2, resolution=48)
    assert shell.provenance["crossing"]
    assert shell.provenance["thin"]
    assert shell.provenance["offset_m"] == pytest.approx(1.4 * voxel)
    far = distances(sheet, shell.points)
    # in concave corners, which the sampled level set rounds, both parts are further
    np.testing.assert_allclose(far, 1.4 * voxel, atol=0.5 * voxel)
    assert (shell.uniformity(on_what(sheet, shell, 48)).gap < 1.2).all()
    # a given offset is used
    shell = rf.Pointshell.from_surface(sheet, 100, 2, resolution=48, offset=0.05)
    assert shell.provenance["offset_m"] == 0.05
    assert not shell.provenance["thin"]


def test_surfaces_that_face_inwards():
    block = prism([0, 0, 0], [1, 0.5, 0.2])
    turned = rf.Surface(block.vertices, block.triangles[:, ::-1])
    for surface in (block, turned):
        shell = rf.Pointshell.from_surface(surface, 300, 2, resolution=16)
        middle = [0.5, 0.25, 0.1]
        assert (np.einsum("ij,ij->i", shell.normals, middle - shell.points) > 0).all()


def test_thinness():
    """Of a plate of 1 x 1 x t the share of the large faces, as soon as the depth exceeds t."""
    plate, field = prism([0, 0, 0], [1, 1, 0.1]), rf.BoxField([0, 0, 0], [1, 1, 0.1])
    arrays = (plate.vertices, plate.triangles)
    turned = (plate.vertices, plate.triangles[:, ::-1])
    for depth, level, expected in (
        (0.09, 0.0, 0.0),
        (0.11, 0.0, 2 / 2.4),
        (0.11, 0.02, 0.0),
        (1.01, 0.0, 1.0),
    ):
        for faces in (arrays, turned):
            share = _core.shell_thinness(field._core, *faces, level, depth, 20_000, None, 2)
            # stratified: to within some samples
            assert share == pytest.approx(expected, abs=1e-3)


MESHES = [
    "cow", "fandisk", "rocker-arm", "spot", "stanford-bunny", "suzanne", "teapot",
    "vega/asianDragon/asianDragon.veg", "vega/beam3/beam3", "vega/beam3/beam3_tet",
    "vega/reduced_example_A/A", "vega/simpleBridge/simpleBridge",
    "vega/simpleBridge/simpleBridge-ic_128_0.15_.1",
    "vega/simpleBridge/simpleBridge_resol92-b1.155_enlarged", "vega/turtle/turtle",
    "vega/turtle/turtle-volumetric",
]  # fmt: skip


@pytest.mark.no_asan(reason="the relaxation of test_pointshell_repulsion.py, on more surfaces")
@pytest.mark.parametrize("name", [*samples.names(), *MESHES])
def test_defaults_converge_on_every_mesh(name):
    """For any surface; only the numbers of points and voxels are given."""
    if name in MESHES:
        path = SHARED / f"{name}.obj"
        if not path.exists():
            pytest.skip(f"no {path}: set REDUCEDFEM_SHARED to the folder of reference data")
        surface = rf.read_surface(path)
    else:
        surface = samples.load(name)
    shell = rf.Pointshell.from_surface(surface, 2000, 3, resolution=64)
    measured = shell.uniformity(on_what(surface, shell, 64))
    # see test_pointshell_repulsion.py for what is possible
    assert measured.gap[-1] < 1.75
    assert measured.spread[-1] < 0.3
    assert measured.nearest[-1] > 0.7
    # details smaller than the distance of coarse points have sides that no point faces
    assert (measured.gap < 2.5).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"surface": "x"}, rf.InputTypeError, "surface must be a Surface, got str"),
        ({"points": -3}, rf.InputError, "points must be between 1"),
        ({"points": 20, "levels": 4}, rf.InputError, "20 points are too few for 4 levels"),
        ({"resolution": 0}, rf.InputError, "resolution must be between 1"),
        ({"surface": open_cube(), "resolution": 1 << 19}, MemoryError, "needs .* GB"),
        ({"offset": -1.0}, rf.InputError, "offset"),
        ({"offset": np.nan}, rf.InputError, "offset"),
    ],
)
def test_bad_input(arguments, error, message):
    settings = {"surface": cube(), "points": 100, "levels": 2, "resolution": 16}
    with pytest.raises(error, match=message):
        rf.Pointshell.from_surface(**{**settings, **arguments})


def test_isosurfaces_of_fields():
    field = rf.DistanceField.from_surface(cube(), 32, 1.6)
    for value in (-0.2, 0.0, 0.15):
        surface = field.isosurface(value)
        assert surface.is_closed
        assert surface.is_manifold
        # a cube, with rounded edges outside: Steiner's formula
        d = max(value, 0.0)
        expected = (
            1 + 6 * d + 3 * np.pi * d**2 + 4 / 3 * np.pi * d**3 if d else (1 + 2 * value) ** 3
        )
        assert surface.volume == pytest.approx(expected, rel=0.02)
    with pytest.raises(rf.InputError, match="no surface of the value 9: the samples go from"):
        field.isosurface(9.0)
    vertices, triangles, _ = _core.isosurface(
        field.values, field.origin, field.spacing, 0.0, None, 1
    )
    np.testing.assert_array_equal(field.isosurface().vertices, vertices)
    np.testing.assert_array_equal(field.isosurface().triangles, triangles)
