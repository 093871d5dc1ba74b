import gc
import itertools
import re

import numpy as np
import pytest
from scipy import ndimage

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core
from reducedfem.base.run import set_threads, threads
from shapes import box_hexes

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
CUBE_TRIANGLES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip


def cube(lo, hi):
    lo, hi = np.broadcast_to(lo, 3), np.broadcast_to(hi, 3)
    return rf.Surface(lo + CORNERS * (hi - lo), CUBE_TRIANGLES)


def joined(*surfaces):
    offsets = np.cumsum([0, *(s.n_vertices for s in surfaces)])
    return rf.Surface(
        np.vstack([s.vertices for s in surfaces]),
        np.vstack([s.triangles + o for s, o in zip(surfaces, offsets, strict=False)]),
    )


def sphere(radius, centre=(0, 0, 0), steps=40):
    """Latitudes and longitudes; degenerate triangles at the poles are left in."""
    theta, phi = np.meshgrid(
        np.linspace(0, np.pi, steps + 1), np.linspace(0, 2 * np.pi, 2 * steps + 1), indexing="ij"
    )
    x = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
    i, j = np.meshgrid(np.arange(steps), np.arange(2 * steps), indexing="ij")
    a = (i * (2 * steps + 1) + j).ravel()
    b = a + 2 * steps + 1
    triangles = np.vstack([np.c_[a, b, b + 1], np.c_[a, b + 1, a + 1]])
    return rf.Surface(radius * x.reshape(-1, 3) + centre, triangles)


def grid_of(surface, resolution, expand):
    lo, hi = surface.bounds
    h = expand * (hi - lo).max() / resolution
    return (lo + hi) / 2 - h * resolution / 2, h


def occupied(mesh, surface, resolution, expand=1.2):
    """Voxel indices (z, y, x) of a mesh as a boolean grid, checking it on the way."""
    origin, h = grid_of(surface, resolution, expand)
    x = mesh.nodes[mesh.elements]
    # congruent cubes in VTK order
    reference = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    )
    # node coordinates are rounded: 1e-15 of their size, which is near one here
    np.testing.assert_allclose(x - x[:, :1], np.broadcast_to(reference * h, x.shape), atol=1e-14)
    index = np.rint((x[:, 0] - origin) / h).astype(int)
    grid = np.zeros((resolution,) * 3, dtype=bool)
    grid[index[:, 2], index[:, 1], index[:, 0]] = True
    assert grid.sum() == mesh.n_elements  # no voxel twice
    flat = (index[:, 2] * resolution + index[:, 1]) * resolution + index[:, 0]
    assert (np.diff(flat) > 0).all()  # ordered by z, y, x
    # nodes are shared: as many as there are different places, ordered likewise
    at = np.rint((mesh.nodes - origin) / h).astype(int)
    flat = (at[:, 2] * (resolution + 1) + at[:, 1]) * (resolution + 1) + at[:, 0]
    assert (np.diff(flat) > 0).all()
    return grid


def overlaps(triangle, centres, half, widen):
    """Separating axes of one triangle and many cubes, written down plainly."""
    v = triangle - centres[:, None, :]  # (m, 3, 3)
    edges = triangle[[1, 2, 0]] - triangle
    axes = [*np.eye(3), np.cross(edges[0], edges[1])]
    axes += [np.cross(e, n) for e in edges for n in np.eye(3)]
    meets = np.ones(len(centres), dtype=bool)
    for a in axes:
        p = v @ a
        reach = (half + widen) * np.abs(a).sum()
        meets &= (p.min(axis=1) <= reach) & (p.max(axis=1) >= -reach)
    return meets


def reference_grid(surface, resolution, expand, widen=0.0):
    origin, h = grid_of(surface, resolution, expand)
    k, j, i = np.meshgrid(*[np.arange(resolution)] * 3, indexing="ij")
    centres = origin + h * (np.stack([i, j, k], -1).reshape(-1, 3) + 0.5)
    grid = np.zeros(len(centres), dtype=bool)
    for triangle in surface.vertices[surface.triangles]:
        grid |= overlaps(triangle, centres, h / 2, widen * h)
    return grid.reshape((resolution,) * 3)


def enclosed(surface, resolution, expand, of):
    """Return those of some voxels whose centres are inside by the winding number."""
    origin, h = grid_of(surface, resolution, expand)
    z, y, x = np.nonzero(of)
    w = surface.winding(origin + h * (np.column_stack([x, y, z]) + 0.5))
    grid = np.zeros_like(of)
    grid[z[w > 0.5], y[w > 0.5], x[w > 0.5]] = True
    return grid


def face_parts(grid):
    return ndimage.label(grid)[1]


# triangles at random enclose little, and say so
AS_SHEETS = pytest.mark.filterwarnings("ignore::reducedfem.GeometryWarning")


# 63 to 65: the words in which voxels are kept have 64 bits
@pytest.mark.parametrize(
    ("resolution", "count"), [(1, 12), (2, 12), (7, 12), (31, 12), (63, 2), (64, 3), (65, 2)]
)
@AS_SHEETS
def test_random_triangles_against_plain_separating_axes(rng, resolution, count):
    # random places: no voxel is within 1e-9 of touching, so widening does not show
    s = rf.Surface(rng.uniform(-1, 1, (30, 3)), rng.integers(0, 30, (count, 3)))
    expected = reference_grid(s, resolution, 1.3)
    if resolution < 40:
        np.testing.assert_array_equal(reference_grid(s, resolution, 1.3, 1e-8), expected)
    np.testing.assert_array_equal(
        occupied(rf.voxelize(s, resolution, expand=1.3, fill=False), s, resolution, 1.3), expected
    )
    np.testing.assert_array_equal(
        occupied(rf.voxelize(s, resolution, expand=1.3, cut=False, order=1), s, resolution, 1.3),
        expected | enclosed(s, resolution, 1.3, ~expected),
    )


def test_needles_and_points_are_found(rng):
    a, b = rng.uniform(-1, 1, (2, 3))
    vertices = np.array([a, b, (a + b) / 2, [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
    s = rf.Surface(vertices, [[0, 1, 2], [0, 0, 1], [3, 3, 3], [4, 4, 4]])
    # widened as the implementation is: a point or an edge has no area to be generous with
    np.testing.assert_array_equal(
        occupied(rf.voxelize(s, 24, fill=False), s, 24), reference_grid(s, 24, 1.2, 1e-9)
    )


def test_a_connected_surface_gives_face_connected_voxels(rng):
    # a strip of triangles that zigzags through the grid; edges, corners and faces of
    # voxels are hit exactly because all vertices are multiples of half a voxel
    for _ in range(20):
        vertices = rng.integers(-8, 9, (12, 3)) / 8.0
        vertices[0], vertices[1] = -1.0, 1.0
        s = rf.Surface(vertices, [[i, i + 1, i + 2] for i in range(10)])
        grid = occupied(rf.voxelize(s, 16, expand=1.0, fill=False), s, 16, 1.0)
        assert face_parts(grid) == 1


def test_box_on_the_grid_takes_every_voxel_it_touches():
    # cube of edge 1, voxels of 1.5/12 = 1/8: faces lie on voxel faces, and closed boxes on
    # either side of them touch: 10^3 filled, less the 6^3 voxels strictly inside
    s = cube(0, 1)
    assert rf.voxelize(s, 12, expand=1.5, fill=False).n_elements == 10**3 - 6**3
    filled = rf.voxelize(s, 12, fill=True, expand=1.5, cut=False, order=1)
    assert filled.n_elements == 10**3
    assert filled.n_nodes == 11**3


def test_box_off_the_grid_has_the_volume_of_its_voxels():
    # 1.2/9 = 2/15 m voxels from -0.1 to 1.1: the cube's faces lie strictly inside the
    # first and the last voxel, which makes 9^3 when filled and their shell when not
    s = cube(0, 1)
    assert rf.voxelize(s, 9, fill=False).n_elements == 9**3 - 7**3
    assert rf.voxelize(s, 9, cut=False, order=1).n_elements == 9**3


def test_sphere_against_distances():
    n, radius = 40, 1.0
    s = sphere(radius)
    shell = occupied(rf.voxelize(s, n, fill=False), s, n)
    filled = occupied(rf.voxelize(s, n, cut=False, order=1), s, n)
    origin, h = grid_of(s, n, 1.2)
    k, j, i = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
    lo = origin + h * np.stack([i, j, k], -1)
    nearest = np.linalg.norm(np.clip(0, lo, lo + h), axis=-1)
    farthest = np.linalg.norm(np.maximum(np.abs(lo), np.abs(lo + h)), axis=-1)
    # flat triangles sink below the sphere by 1 - cos(half a step of pi/40 and of its
    # diagonal), less than 1.6e-3 of the radius
    sag = 1.6e-3 * radius
    assert shell[(nearest <= radius - sag) & (farthest >= radius)].all()
    assert not shell[(nearest > radius) | (farthest < radius - sag)].any()
    assert filled[nearest <= radius - sag].all()
    assert not filled[nearest > radius].any()


def test_nested_shells_are_solid_and_cavities_are_not():
    # a shell in a shell in a shell: the outermost closes everything
    outer, middle, inner = cube(0, 1), cube(0.2, 0.8), cube(0.4, 0.6)
    s = joined(outer, middle, inner)
    assert (
        rf.voxelize(s, 36, cut=False, order=1).n_elements
        == rf.voxelize(outer, 36, cut=False, order=1).n_elements
    )
    # a hollow block: its inner wall faces inward
    hollow = joined(outer, rf.Surface(middle.vertices, middle.triangles[:, ::-1]))
    grid = occupied(rf.voxelize(hollow, 36, cut=False, order=1), hollow, 36)
    assert not grid[18, 18, 18]
    assert grid[18, 18, 5]


def test_a_box_without_its_lid_is_solid():
    s = cube(0, 1)
    lidless = rf.Surface(s.vertices, s.triangles[2:])
    with pytest.warns(rf.GeometryWarning, match=r"it has 1 hole, 1 m across \(100% of"):
        mesh = rf.voxelize(lidless, 20, cut=False, order=1)
    shell = rf.voxelize(lidless, 20, fill=False)
    # the surface where the winding number is 1/2 sinks below the lid's plane
    assert 0.8 * 17**3 < mesh.n_elements < rf.voxelize(s, 20, cut=False, order=1).n_elements
    assert mesh.n_elements > 2 * shell.n_elements


def test_elements_are_equal_cubes_to_rounding(rng):
    s = rf.Surface(rng.normal(size=(9, 3)) + np.array([5, -3, 2]), rng.integers(0, 9, (9, 3)))
    mesh = rf.voxelize(s, 50, fill=False)
    x = mesh.nodes[mesh.elements]
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [4, 5]])
    lengths = np.linalg.norm(x[:, edges[:, 1]] - x[:, edges[:, 0]], axis=-1)
    _, h = grid_of(s, 50, 1.2)
    # one rounding of coordinates below 16
    np.testing.assert_allclose(lengths, h, atol=16 * 2.3e-16)


@AS_SHEETS
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_same_bits_for_any_number_of_threads(rng):
    s = rf.Surface(rng.normal(size=(300, 3)), rng.integers(0, 300, (500, 3)))
    before = threads()
    try:
        meshes = []
        for count in (1, 2, 3, 8):
            set_threads(count)
            meshes.append(
                [rf.voxelize(s, 40, fill=fill, cut=False, order=1) for fill in (False, True)]
            )
    finally:
        set_threads(before)
    for other in meshes[1:]:
        for a, b in zip(meshes[0], other, strict=True):
            assert a.nodes.tobytes() == b.nodes.tobytes()
            assert a.elements.tobytes() == b.elements.tobytes()


def test_mesh_passes_all_checks_of_a_mesh():
    mesh = rf.voxelize(sphere(1.0), 20, fill=False)
    again = rf.Mesh(mesh.nodes, mesh.elements)
    assert again.n_elements == mesh.n_elements
    assert (mesh.regions == 0).all()
    np.testing.assert_array_equal(mesh.original_nodes, np.arange(mesh.n_nodes))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"resolution": 0}, rf.InputError, "resolution must be 1 or more, got 0"),
        ({"resolution": -5}, rf.InputError, "got -5"),
        ({"resolution": 5000}, rf.InputError, r"at most 2048, got 5000: .* need 14.\d* GiB"),
        ({"resolution": 10**12}, rf.InputError, "resolution is 1000000000000"),
        ({"resolution": 64.0}, rf.InputTypeError, "resolution must be an int, got float"),
        ({"resolution": True}, rf.InputTypeError, "resolution must be an int, got bool"),
        ({"expand": 0.9}, rf.InputError, "expand must be 1 or more, got 0.9"),
        ({"expand": float("nan")}, rf.InputError, "expand must be finite, got nan"),
        ({"expand": "big"}, rf.InputTypeError, "expand must be a number, got str"),
        ({"progress": "yes"}, rf.InputTypeError, "progress must be"),
    ],
)
def test_refuses_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        rf.voxelize(cube(0, 1), **arguments, fill=False)


def test_refuses_surfaces_without_size_or_place():
    with pytest.raises(rf.InputTypeError, match="read_surface"):
        rf.voxelize(CORNERS, fill=False)
    with pytest.raises(rf.MeshError, match="no size"):
        rf.voxelize(rf.Surface([[1, 2, 3]], [[0, 0, 0]]), fill=False)
    with pytest.raises(rf.MeshError, match="nearer to the origin"):
        rf.voxelize(cube(1e9, 1e9 + 1), fill=False)
    for size in (1e-100, 1e100, 8e307):
        with pytest.raises(rf.MeshError, match="beyond the range"):
            rf.voxelize(cube(-size, size), fill=False)


def test_progress_is_reported_and_can_stop():
    reported = []
    rf.voxelize(
        cube(0, 1), 40, progress=lambda done, total: reported.append((done, total)), fill=False
    )
    assert reported[-1][0] == reported[-1][1]

    class StopError(Exception):
        pass

    def stop(done, total):
        raise StopError

    with pytest.raises(StopError):
        rf.voxelize(cube(0, 1), 40, progress=stop, fill=False)


def test_every_failing_allocation_is_reported_and_nothing_leaks():
    gc.collect()
    before = live_blocks()
    s = cube(0, 1)
    for k in itertools.count():
        _core.alloc_fail_from(k)
        try:
            mesh = rf.voxelize(s, 9, cut=False, order=1)
        except MemoryError:
            mesh = None
        finally:
            _core.alloc_fail_from(-1)
        if mesh is not None:
            break
        check_live_blocks(before)
    assert k > 20
    del mesh
    check_live_blocks(before)


def test_every_shared_surface_voxelizes(shared):
    for file in sorted((shared / "meshes").rglob("*.obj")):
        s = rf.read_surface(file)
        shell = rf.voxelize(s, 48, fill=False)
        filled = rf.voxelize(s, 48, cut=False, order=1)
        _, h = grid_of(s, 48, 1.2)
        assert filled.n_elements >= shell.n_elements > 0
        if s.is_closed and s.is_manifold:
            # the voxels cover what the surface encloses
            assert filled.n_elements * h**3 >= s.volume, file
        rf.Mesh(filled.nodes, filled.elements)


def test_bodies_of_many_cells_are_of_first_order_unless_asked():
    """A factorization of a compact body of 60,000 nodes is affordable."""
    part = rf.Mesh(*box_hexes(1, 1, 1, 1.0)).surface()
    assert rf.voxelize(part, 24, cut=False, expand=1.0).nodes_per_element == 20
    many = rf.voxelize(part, 25, cut=False, expand=1.0)  # warnings are errors: 25 bend well
    assert (many.n_elements, many.nodes_per_element) == (25**3, 8)
    assert rf.voxelize(part, 25, cut=False, expand=1.0, order=2).nodes_per_element == 20


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_the_number_of_cells_excludes_empty_ones():
    """Of the four layers that a thin plate touches two are empty."""
    plate = rf.Mesh(*box_hexes(1, 1, 1, (0.2, 0.1, 0.0005))).surface()
    mesh = rf.voxelize(plate, 90)
    assert (mesh.n_elements, mesh.nodes_per_element) == (90 * 46 * 2, 20)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_default_first_order_of_thin_parts_is_reported():
    plate = rf.Mesh(*box_hexes(1, 1, 1, (0.2, 0.2, 0.003))).surface()
    with pytest.warns(rf.PlausibilityWarning) as caught:
        mesh = rf.voxelize(plate, 128)
    assert mesh.nodes_per_element == 8
    (text,) = (str(one.message) for one in caught)
    assert caught[0].filename == __file__
    assert text.startswith(f"{mesh.n_elements:,} cells are too many for 20 nodes each")
    assert "the thinnest parts are 1.9" in text
    fewer = int(re.search(r"resolution=(\d+)", text)[1])
    assert rf.voxelize(plate, fewer).nodes_per_element == 20
    rf.voxelize(plate, 128, order=1)  # asked for
