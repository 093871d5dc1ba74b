"""Pointshells of surfaces: samples of the package, meshes from elsewhere, soups; their files."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
from conftest import ROOT
from reducedfem import _core, samples

SHARED = Path(os.environ.get("REDUCEDFEM_SHARED", ROOT.parent / "shared")) / "meshes"


def cube(size=1.0):
    corners = np.array(list(itertools.product((0, 1), repeat=3)), float) * size
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return rf.Surface(corners, [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])])


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
    # within the cells that hold the edges the level set cuts them
    voxel = (1 + 12 / 48) / 48
    off = distances(surface, shell.points)
    assert off.max() < voxel
    assert np.quantile(off, 0.7) < 1e-6
    # pseudonormals: those of a face exactly, also where the level set is rounded
    assert (np.abs(shell.normals).max(axis=1) > 1 - 1e-9).mean() > 0.98
    assert (np.einsum("ij,ij->i", shell.normals, 0.5 - shell.points) > 0).all()
    turned = rf.Surface(surface.vertices, surface.triangles[:, ::-1])
    same = rf.Pointshell.from_surface(turned, 2000, 3, resolution=48)
    np.testing.assert_allclose(same.normals, shell.normals, atol=1e-6)


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


@pytest.mark.parametrize("name", ["spoon", "hose", "bridge"])
def test_samples_of_the_package(name):
    surface = samples.load(name)
    field = rf.DistanceField.from_surface(surface, 96, 1.15, mode="fast")
    measured = rf.Pointshell.from_field(field, 4000, 4).uniformity(field)
    # parts of less than a voxel or two have level sets with cracks and necks
    assert measured.spread[-1] < 0.25
    assert measured.nearest[-1] > 0.7
    assert (measured.gap < (2.0 if name != "bridge" else 4.0)).all()


# surfaces whose parts a field of 64 voxels resolves; the others are in benchmarks
RESOLVED = [
    "fandisk", "rocker-arm", "spot", "suzanne", "teapot", "vega/beam3/beam3",
    "vega/beam3/beam3_tet", "vega/reduced_example_A/A", "vega/turtle/turtle-volumetric",
]  # fmt: skip
THIN = [
    "cow", "stanford-bunny", "vega/asianDragon/asianDragon.veg", "vega/turtle/turtle",
    "vega/simpleBridge/simpleBridge", "vega/simpleBridge/simpleBridge-ic_128_0.15_.1",
    "vega/simpleBridge/simpleBridge_resol92-b1.155_enlarged",
]  # fmt: skip


@pytest.mark.parametrize("name", RESOLVED + THIN)
def test_defaults_converge_on_real_meshes(name):
    path = SHARED / f"{name}.obj"
    if not path.exists():
        pytest.skip(f"no {path}: set REDUCEDFEM_SHARED to the folder of reference data")
    surface = rf.read_surface(path)
    field = rf.DistanceField.from_surface(surface, 48, 1.25, mode="fast")
    shell = rf.Pointshell.from_field(field, 2500, 3)
    measured = shell.uniformity(field)
    size = np.ptp(surface.bounds, axis=0).max()
    assert np.abs(field.distance(shell.points)).max() < 1e-8 * size
    assert measured.nearest[-1] > 0.7
    if name in RESOLVED:
        assert measured.spread[-1] < 0.13
        assert (measured.gap < 1.3).all()
        assert measured.gap[-1] < 1.0
    else:
        # what is thinner than a voxel has a rough level set at this resolution
        assert measured.spread[-1] < 0.5


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"surface": "x"}, rf.InputTypeError, "surface must be a Surface, got str"),
        ({"points": -3}, rf.InputError, "points must be between 1"),
        ({"points": 20, "levels": 4}, rf.InputError, "20 points are too few for 4 levels"),
        ({"resolution": 0}, rf.InputError, "resolution must be between 1"),
        ({"resolution": 1 << 19}, MemoryError, "needs .* GB"),
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
