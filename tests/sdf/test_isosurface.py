"""Iso-surfaces of grids: what no samples may break, and closed forms."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core

MARGIN = 1e-5  # RF_CUT_MARGIN in csrc/sdf/isosurface.h


def extract(values, value=0.0, origin=(0, 0, 0), spacing=(1, 1, 1), threads=2, progress=None):
    return _core.isosurface(
        np.asarray(values, np.float32), origin, spacing, value, progress, threads
    )


def grid(n, low=-1.0, high=1.0):
    """Return coordinates x, y, z of n samples along each side of a cube, and their spacing."""
    axis = np.linspace(low, high, n)
    return *np.meshgrid(axis, axis, axis, indexing="ij"), (high - low) / (n - 1)


def assert_closed_manifold(vertices, triangles):
    """Check each edge and each vertex, by plain counting."""
    assert np.isfinite(vertices).all()
    assert len(np.unique(vertices, axis=0)) == len(vertices)
    np.testing.assert_array_equal(np.unique(triangles), np.arange(len(vertices)))
    directed = Counter()
    around = defaultdict(dict)
    for a, b, c in triangles.tolist():
        assert len({a, b, c}) == 3
        for p, q, r in ((a, b, c), (b, c, a), (c, a, b)):
            directed[p, q] += 1
            assert q not in around[p]
            around[p][q] = r
    # every edge once in each direction
    assert set(directed.values()) == {1}
    assert all((q, p) in directed for p, q in directed)
    # the triangles around a vertex make one ring
    for ring in around.values():
        first = at = next(iter(ring))
        for _ in ring:
            at, before = ring[at], at
            assert before in ring
        assert at == first
        at, steps = ring[first], 1
        while at != first:
            at, steps = ring[at], steps + 1
        assert steps == len(ring)


def euler_characteristic(vertices, triangles):
    return len(vertices) - len(triangles) * 3 // 2 + len(triangles)


def volume(vertices, triangles):
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


def area(vertices, triangles):
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["floats", "integers", "signs"])
def test_noise_gives_closed_oriented_manifolds(kind, seed):
    """Every configuration of cubes occurs; integers: also values that are met, and symmetry."""
    rng = np.random.default_rng(seed)
    shape = (12, 11, 13)
    values = {
        "floats": lambda: rng.normal(size=shape),
        "integers": lambda: rng.integers(-2, 3, size=shape),
        "signs": lambda: rng.choice([-1.0, 1.0], size=shape),
    }[kind]()
    vertices, triangles, closing = extract(values)
    assert_closed_manifold(vertices, triangles)
    assert closing > 0
    # inwards of the sides nothing lies further out than the margin
    assert vertices.min() >= -MARGIN * 1.001
    assert (vertices <= np.array(shape) - 1 + MARGIN * 1.001).all()
    assert volume(vertices, triangles) > 0


def test_every_pattern_of_one_cube():
    """All 2^8 patterns of signs with random values: closed, and on the right side."""
    rng = np.random.default_rng(0)
    for pattern in range(1, 256):
        signs = np.where(pattern >> np.arange(8) & 1, -1.0, 1.0).reshape(2, 2, 2)
        values = np.full((4, 4, 4), 1.0)
        values[1:3, 1:3, 1:3] = signs * rng.uniform(0.1, 1, size=(2, 2, 2))
        vertices, triangles, closing = extract(values)
        assert closing == 0
        assert_closed_manifold(vertices, triangles)


def parts(vertices, triangles):
    """Return how many pieces a surface has."""
    i, j = triangles[:, [0, 1, 2]].ravel(), triangles[:, [1, 2, 0]].ravel()
    links = csr_array((np.ones(len(i)), (i, j)), shape=(len(vertices),) * 2)
    return connected_components(links, directed=False)[0]


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize(
    ("below", "above", "pieces"),
    [
        ((2.0, 2.0), (1.0, 1.0), 1),
        ((1.0, 1.0), (2.0, 2.0), 2),
        ((8.0, 1.0), (2.0, 3.0), 1),  # 8 > 6, though the sums have the reverse order
        ((5.0, 1.0), (2.0, 3.0), 2),
        ((3.0, 2.0), (2.0, 3.0), 2),  # the saddle has the value, which counts as above
    ],
)
def test_ambiguous_faces_are_those_of_the_saddle(axis, across, below, above, pieces):
    """Two columns that meet at an edge are one where the bilinear saddle is below the value.

    On a face with -a, -c at opposite corners and b, d at the others it is (b d - a c) / (...).
    """
    layer = np.full((4, 4), 4.0)
    layer[1:3, 1:3] = [[-below[0], above[0]], [above[1], -below[1]]]
    values = np.full((4, 4, 5), 4.0)
    values[:, :, 1:4] = (layer[::-1] if across else layer)[:, :, None]
    vertices, triangles, _ = extract(np.moveaxis(values, 2, axis) + 0.5, 0.5)
    assert_closed_manifold(vertices, triangles)
    assert parts(vertices, triangles) == pieces


def winding(vertices, triangles, points):
    """Return the winding number of a surface around points, by solid angles."""
    a, b, c = (vertices[triangles[:, k]][None] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
    det = np.einsum("ijk,ijk->ij", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ijk,ijk->ij", x, y) for x, y in ((a, b), (b, c), (c, a)))
    return np.arctan2(det, la * lb * lc + ab * lc + bc * la + ca * lb).sum(1) / (2 * np.pi)


def test_samples_lie_on_their_sides():
    """The surface winds once around each sample below the value and not around the others."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(6, 7, 5))
    points = np.stack(np.meshgrid(*map(np.arange, values.shape), indexing="ij"), -1)
    vertices, triangles, _ = extract(values, 0.3)
    found = winding(vertices, triangles, points.reshape(-1, 3).astype(float))
    expected = (values.astype(np.float32) < 0.3).ravel()
    # cuts are 1e-5 or more away from samples: solid angles in doubles are good to 1e-9 there
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_spheres_converge():
    """Area and volume with the square of the spacing; normals outwards."""
    errors = []
    for n in (17, 33, 65):
        x, y, z, h = grid(n)
        d = np.sqrt(x**2 + y**2 + z**2) - 0.7
        vertices, triangles, closing = extract(d, origin=(-1, -1, -1), spacing=(h, h, h))
        assert closing == 0
        assert_closed_manifold(vertices, triangles) if n == 17 else None
        assert euler_characteristic(vertices, triangles) == 2
        errors.append([
            abs(area(vertices, triangles) / (4 * np.pi * 0.7**2) - 1),
            abs(volume(vertices, triangles) / (4 / 3 * np.pi * 0.7**3) - 1),
        ])  # fmt: skip
        # the chord of a linear interpolation: h^2 / 8 times the curvature, twice for the middle
        radius = np.linalg.norm(vertices, axis=1)
        assert np.abs(radius - 0.7).max() < h**2 / 4 / 0.7 * 2
    errors = np.array(errors)
    assert (errors[0] < 0.02).all()
    assert (errors[:-1] / errors[1:] > 3).all()  # 4 for second order


def test_offset_surfaces_by_value():
    x, y, z, h = grid(33)
    d = np.sqrt(x**2 + y**2 + z**2)
    for value in (0.3, 0.8):
        vertices, triangles, _ = extract(d, value, (-1, -1, -1), (h, h, h))
        # an inscribed surface lacks about (h / radius)^2
        expected = 4 / 3 * np.pi * value**3
        assert volume(vertices, triangles) == pytest.approx(expected, rel=(h / value) ** 2)


def test_tori_have_a_hole():
    x, y, z, h = grid(33)
    ring = np.hypot(np.hypot(x, y) - 0.6, z) - 0.2
    two = np.minimum(
        np.hypot(np.hypot(x - 0.45, y) - 0.3, z) - 0.15,
        np.hypot(np.hypot(x + 0.45, y) - 0.3, z) - 0.15,
    )
    ball = np.sqrt((x - 0.6) ** 2 + (y - 0.6) ** 2 + (z - 0.6) ** 2) - 0.2
    for d, expected in ((ring, 0), (two, 0), (np.minimum(ring, ball), 2), (np.abs(ring) - 0.1, 0)):
        vertices, triangles, _ = extract(d, spacing=(h, h, h))
        assert euler_characteristic(vertices, triangles) == expected
        assert_closed_manifold(vertices, triangles)


@pytest.mark.parametrize("normal", [(1, 0, 0), (0, 0, -1), (1, 2, 0), (3, -2, 1)])
def test_planes_are_exact(normal):
    """Linear functions are interpolated without error; the rest of the surface is at the sides."""
    normal = np.array(normal) / np.linalg.norm(normal)
    shape, spacing, origin = (9, 7, 8), np.array([0.5, 0.25, 1.0]), np.array([3.0, -2.0, 10.0])
    index = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1)
    middle = origin + (np.array(shape) - 1) / 2 * spacing + 0.013
    values = ((origin + index * spacing - middle) @ normal).astype(np.float32)
    vertices, triangles, closing = extract(values, 0.0, origin, spacing)
    assert closing > 0
    assert_closed_manifold(vertices, triangles)
    place = (vertices - origin) / spacing
    # centres of fans have a hair of distance from the sides as well
    inside = ((place > 0.01) & (place < np.array(shape) - 1.01)).all(axis=1)
    assert inside.any()
    # samples are rounded to float32; cuts are held back by the margin
    tolerance = 2e-6 * np.abs(values).max() + 2 * MARGIN * spacing.max()
    assert np.abs((vertices[inside] - middle) @ normal).max() < tolerance
    # closed by planes: the part of the box on the negative side
    corner = np.stack(np.meshgrid(*[np.linspace(0, 1, 100)] * 3, indexing="ij"), -1).reshape(-1, 3)
    box = spacing * (np.array(shape) - 1)
    share = ((origin + (corner * 99 + 0.5) / 100 * box - middle) @ normal < 0).mean()
    assert volume(vertices - origin, triangles) == pytest.approx(share * box.prod(), rel=0.02)


def test_any_number_of_threads_gives_the_same_bits():
    values = np.random.default_rng(1).normal(size=(20, 9, 14))
    one = extract(values, 0.1, threads=1)
    for threads in (2, 5):
        for a, b in zip(one, extract(values, 0.1, threads=threads), strict=True):
            np.testing.assert_array_equal(a, b)


def test_memory_runs_out():
    values = np.random.default_rng(1).normal(size=(5, 6, 7))
    fail_each_allocation(lambda: extract(values))


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_it_can_be_stopped():
    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    x, y, z, _ = grid(161)
    values = np.sin(20 * x) + np.sin(20 * y) + np.sin(20 * z)
    with pytest.raises(Enough):
        extract(values, progress=stop, threads=1)
    assert len(extract(values)[0]) > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": 5.0}, "no surface of the value 5: the samples go from -1 to 4"),
        ({"value": -1.0}, "no surface of the value -1: the samples go from -1 to 4"),
        ({"value": np.nan}, "value is nan; it must be finite"),
        ({"values": np.zeros((1, 4, 4))}, "values has 1 samples along axis 0; 2 or more"),
        ({"values": np.full((2, 2, 2), np.nan)}, r"values\[0, 0, 0\] is nan; every sample"),
        ({"spacing": (1, 0, 1)}, r"spacing\[1\] is 0; it must be positive"),
        ({"origin": (1, np.inf, 1)}, r"origin\[1\] is inf"),
    ],
)
def test_bad_input(arguments, message):
    values = np.ones((4, 4, 4))
    values[1, 2, 1], values[2, 1, 3] = -1.0, 4.0
    with pytest.raises(rf.InputError, match=message):
        extract(**{"values": values, **arguments})


def test_samples_are_float32():
    for values in (np.zeros((3, 3, 3)), [[[1.0]]]):
        with pytest.raises(rf.InputTypeError, match="values must be a float32 array"):
            _core.isosurface(values, [0, 0, 0], [1, 1, 1], 0.0, None, 1)
    with pytest.raises(
        rf.InputError, match=r"values must have shape \(any, any, any\), got \(3, 3\)"
    ):
        _core.isosurface(np.zeros((3, 3), np.float32), [0, 0, 0], [1, 1, 1], 0.0, None, 1)
