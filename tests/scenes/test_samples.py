"""The shipped sample surfaces: soundness, dimensions and reproducibility.

Needs NumPy only. The modules are loaded from their files so that these tests
also run where the compiled part of the package has not been built.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "python" / "reducedfem" / "samples"
NAMES = ("spoon", "bridge", "hose")


def module_from(file: Path, name: str) -> ModuleType:
    """Import a module from its path."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make() -> ModuleType:
    """Return the script that makes the samples, as a module."""
    return module_from(FOLDER / "make.py", "samples_make")


@pytest.fixture(scope="module")
def samples() -> ModuleType:
    """Return the package of the samples."""
    return module_from(FOLDER / "__init__.py", "samples_package")


def read_obj(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read vertices and triangles of a plain OBJ file."""
    rows: dict[str, list[list[str]]] = {"v": [], "f": []}
    for line in file.read_text(encoding="ascii").splitlines():
        key, *values = line.split()
        if key in rows:
            assert len(values) == 3
            rows[key].append(values)
    return np.array(rows["v"], dtype=float), np.array(rows["f"], dtype=int) - 1


@pytest.fixture(scope="module")
def surfaces() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the shipped surfaces by name."""
    return {name: read_obj(FOLDER / f"{name}.obj") for name in NAMES}


def directed_edges(triangles: np.ndarray) -> np.ndarray:
    """Return the three directed edges of every triangle."""
    return triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)


def groups(count: int, pairs: np.ndarray) -> np.ndarray:
    """Label `count` things so that paired ones share a label."""
    label = np.arange(count)
    while True:
        # every pair takes the smaller label; repeat until nothing changes
        smaller = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        relabelled = label.copy()
        np.minimum.at(relabelled, pairs[:, 0], smaller)
        np.minimum.at(relabelled, pairs[:, 1], smaller)
        relabelled = relabelled[relabelled]
        if np.array_equal(relabelled, label):
            return np.unique(label, return_inverse=True)[1]
        label = relabelled


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Return the signed volume, positive for outward orientation."""
    return float(np.linalg.det(vertices[triangles]).sum() / 6.0)


def areas(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the area of every triangle."""
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def winding(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return how often a surface winds round each point: 1 inside, 0 outside."""
    a, b, c = np.moveaxis(corners[None] - points[:, None, None], 2, 0)
    la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
    triple = np.einsum("ptk,ptk->pt", a, np.cross(b, c))
    below = (
        la * lb * lc
        + np.einsum("ptk,ptk->pt", a, b) * lc
        + np.einsum("ptk,ptk->pt", b, c) * la
        + np.einsum("ptk,ptk->pt", c, a) * lb
    )
    return np.arctan2(triple, below).sum(axis=1) / (2.0 * np.pi)


@pytest.mark.parametrize("name", NAMES)
def test_closed_manifold_oriented(name, surfaces):
    """Every edge lies in two triangles that run along it in opposite ways."""
    vertices, triangles = surfaces[name]
    edges = directed_edges(triangles)
    assert (edges[:, 0] != edges[:, 1]).all()
    forward = edges[:, 0] * len(vertices) + edges[:, 1]
    backward = edges[:, 1] * len(vertices) + edges[:, 0]
    assert len(np.unique(forward)) == len(forward)
    assert np.array_equal(np.sort(forward), np.sort(backward))


@pytest.mark.parametrize("name", NAMES)
def test_one_fan_around_each_vertex(name, surfaces):
    """No vertex joins two sheets that share no edge there."""
    vertices, triangles = surfaces[name]
    # the edge opposite a vertex links two neighbours of it: one fan is one
    # cycle, in which corner (vertex, neighbour) leads to (vertex, next)
    corner = np.concatenate([np.roll(triangles, -k, axis=1) for k in range(3)])
    count = len(vertices)
    keys, flat = np.unique(
        np.concatenate([corner[:, 0] * count + corner[:, 1], corner[:, 0] * count + corner[:, 2]]),
        return_inverse=True,
    )
    label = groups(len(keys), flat.reshape(2, -1).T)
    assert label.max() + 1 == count


@pytest.mark.parametrize("name", NAMES)
def test_no_unused_vertices(name, surfaces):
    """No unreferenced or doubled vertices, no doubled or tiny triangles."""
    vertices, triangles = surfaces[name]
    assert np.array_equal(np.unique(triangles), np.arange(len(vertices)))
    assert len(np.unique(np.sort(triangles, axis=1), axis=0)) == len(triangles)
    assert len(np.unique(vertices, axis=0)) == len(vertices)
    # 1e-8 m^2 is a tenth of a millimetre squared, far above the rounding
    assert areas(vertices, triangles).min() > 1e-8


@pytest.mark.parametrize(
    ("name", "components", "euler"),
    # two piers, two arches, 18 hangers, 5 braces and the deck, all spheres
    [("spoon", 1, 2), ("hose", 1, 0), ("bridge", 28, 56)],
)
def test_components_and_genus(name, components, euler, surfaces):
    """The number of parts, and of holes by Euler's formula, is as documented."""
    vertices, triangles = surfaces[name]
    edges = directed_edges(triangles)
    label = groups(len(vertices), edges)
    assert label.max() + 1 == components
    assert len(vertices) - len(edges) // 2 + len(triangles) == euler
    for part in range(components):
        assert volume(vertices, triangles[label[triangles[:, 0]] == part]) > 0.0


@pytest.mark.no_asan(reason="NumPy only")
@pytest.mark.parametrize("name", ["spoon", "hose"])
def test_does_not_cut_itself(name, surfaces):
    """Just under the surface is inside once, just above it is outside."""
    vertices, triangles = surfaces[name]
    corners = vertices[triangles]
    chosen = corners[::11]
    normal = np.cross(chosen[:, 1] - chosen[:, 0], chosen[:, 2] - chosen[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    for offset, expected in ((2e-5, 0.0), (-2e-5, 1.0)):
        for part in np.array_split(chosen.mean(axis=1) + offset * normal, 8):
            np.testing.assert_allclose(winding(part, corners), expected, atol=1e-9)


def test_bridge_parts_overlap(surfaces):
    """The parts of the bridge run into one another and make one body."""
    vertices, triangles = surfaces["bridge"]
    label = groups(len(vertices), directed_edges(triangles))
    owner = label[triangles[:, 0]]
    pairs = []
    for part in range(label.max() + 1):
        corners = vertices[triangles[owner == part]]
        low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
        near = (label != part) & ((vertices > low) & (vertices < high)).all(axis=1)
        near = np.flatnonzero(near)
        inside = near[winding(vertices[near], corners) > 0.5]
        pairs += [(part, other) for other in np.unique(label[inside])]
    assert groups(label.max() + 1, np.array(pairs)).max() == 0


def test_spoon_dimensions(surfaces):
    """The spoon is 0.2 m long, slender in the handle, hollow in the bowl."""
    vertices, triangles = surfaces["spoon"]
    assert 3000 <= len(triangles) <= 6000
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    assert low[0] == 0.0
    assert high[0] == pytest.approx(0.200, abs=5e-4)
    assert high[1] - low[1] == pytest.approx(0.040, abs=5e-4)
    mirrored = vertices * [1.0, -1.0, 1.0]
    assert np.array_equal(np.unique(vertices, axis=0), np.unique(mirrored, axis=0))

    handle = vertices[(vertices[:, 0] > 0.01) & (vertices[:, 0] < 0.12)]
    assert 0.006 < np.ptp(handle[:, 1]) < 0.011

    # on the middle plane, sorted along x, upper and lower points alternate
    spine = vertices[np.abs(vertices[:, 1]) < 1e-9]
    for x, least, most in ((0.05, 0.0025, 0.004), (0.167, 0.0022, 0.0028)):
        near = spine[np.abs(spine[:, 0] - x) < 0.004]
        slope, level = np.polyfit(near[:, 0] - x, near[:, 2], 1)
        residual = near[:, 2] - level - slope * (near[:, 0] - x)
        gap = residual[residual > 0].mean() - residual[residual < 0].mean()
        assert least < gap / np.hypot(1.0, slope) < most

    # hollow: the inner face of the bowl lies well below the rim on either side
    bowl = vertices[np.abs(vertices[:, 0] - 0.167) < 0.003]
    rim = bowl[np.abs(bowl[:, 1]) > 0.0185, 2].mean()
    floor = bowl[np.abs(bowl[:, 1]) < 0.002, 2].max()
    assert rim - floor > 0.007


def test_bridge_dimensions(surfaces):
    """The bridge spans 1 m and stands on both its feet."""
    vertices, triangles = surfaces["bridge"]
    assert 5000 <= len(triangles) <= 7000
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    np.testing.assert_allclose(low, [0.0, -0.09, 0.0], atol=1e-6)
    assert high[0] == pytest.approx(1.0)
    assert 0.3 < high[2] < 0.4
    feet = vertices[vertices[:, 2] < 1e-6, 0]
    assert (feet < 0.1).any()
    assert (feet > 0.9).any()
    assert ((feet < 0.1) | (feet > 0.9)).all()


def test_hose_dimensions(surfaces):
    """The hose has the documented diameters, length and end plane."""
    vertices, triangles = surfaces["hose"]
    assert 3500 <= len(triangles) <= 4500
    end = vertices[np.abs(vertices[:, 0]) < 1e-9]
    radius = np.hypot(end[:, 1], end[:, 2])
    np.testing.assert_allclose(np.unique(radius.round(5)), [0.015, 0.020])
    # Pappus: length times the area between two regular 32-gons
    section = 0.5 * 32 * np.sin(2 * np.pi / 32) * (0.020**2 - 0.015**2)
    assert volume(vertices, triangles) == pytest.approx(0.300 * section, rel=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_file_size(name):
    """The files stay small enough to ship."""
    assert (FOLDER / f"{name}.obj").stat().st_size < 350_000


@pytest.mark.parametrize("name", NAMES)
def test_files_equal_the_result_of_make(name, make, surfaces):
    """Types, shapes and values of the functions agree with the files."""
    vertices, triangles = getattr(make, name)()
    assert vertices.dtype == np.float64
    assert vertices.shape[1:] == (3,)
    assert triangles.dtype == np.int32
    assert triangles.shape[1:] == (3,)
    np.testing.assert_allclose(surfaces[name][0], vertices, rtol=0, atol=5.1e-7)
    np.testing.assert_array_equal(surfaces[name][1], triangles)


@pytest.mark.parametrize("name", NAMES)
def test_rounding_is_portable(name, make):
    """No coordinate is so near a rounding tie that its last bit could decide."""
    vertices, _ = getattr(make, name)()
    fraction = (vertices * 10.0**make.DECIMALS) % 1.0
    assert np.abs(fraction - 0.5).min() > 1e-6


def test_check_accepts_the_shipped_files(make, capsys):
    """The files are those that the script makes, byte for byte."""
    assert make.main(["--check"]) == 0
    assert "DIFFERS" not in capsys.readouterr().out


def test_check_notices_a_change(make, tmp_path, capsys):
    """A changed or missing file makes the check fail."""
    assert make.main(["--out", str(tmp_path), "--check"]) == 1
    assert make.main(["--out", str(tmp_path)]) == 0
    assert make.main(["--out", str(tmp_path), "--check"]) == 0
    changed = tmp_path / "hose.obj"
    changed.write_bytes(changed.read_bytes().replace(b"0.02", b"0.03", 1))
    capsys.readouterr()
    assert make.main(["--out", str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().out.count("DIFFERS") == 1


def test_paths(make, samples):
    """Every name has a file, and the names are those of the script."""
    assert samples.names() == NAMES == tuple(make.SAMPLES)
    for name in samples.names():
        assert samples.path(name).is_file()


@pytest.mark.parametrize("function", ["path", "load"])
def test_unknown_name(function, samples):
    """An unknown name is refused with the list of the known ones."""
    with pytest.raises(Exception, match="spoon, bridge, hose") as caught:
        getattr(samples, function)("teapot")
    assert type(caught.value).__name__ in ("InputError", "ValueError")
    assert "teapot" in str(caught.value)
