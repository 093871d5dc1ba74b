"""The inside of surfaces of any kind: voxels, fields, holes, and how thick the body is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from reducedfem import _core, set_threads, threads
from reducedfem.geometry.sample import DRAWN, sample
from shapes import sphere

SHARED_CODE = pytest.mark.no_asan(reason="other tests run the same C code")
OPEN = pytest.mark.filterwarnings("ignore::reducedfem.GeometryWarning")


def joined(*surfaces):
    starts = np.cumsum([0, *(len(v) for v, _ in surfaces)])
    return rf.Surface(
        np.vstack([v for v, _ in surfaces]),
        np.vstack([np.asarray(t) + s for (_, t), s in zip(surfaces, starts, strict=False)]),
    )


def without(surface, axis, above):
    """Return a surface without the triangles whose middles are above a height."""
    vertices, triangles = surface
    return vertices, triangles[vertices[triangles].mean(axis=1)[:, axis] <= above]


def damaged(rng, missing=0.0, flipped=0.0, n=24):
    """Return a unit ball with some triangles missing or reversed."""
    vertices, triangles = sphere(n)
    triangles = triangles[rng.random(len(triangles)) >= missing].copy()
    which = rng.random(len(triangles)) < flipped
    triangles[which] = triangles[which][:, ::-1]
    return rf.Surface(vertices, triangles)


def sub_volume(surface, resolution, parts=4):
    """Volume of the voxels of a surface, by winding numbers of sub-cells where it passes."""
    low, high = surface.bounds
    h = 1.2 * (high - low).max() / resolution
    filled, shell = (
        rf.voxelize(surface, resolution, fill=fill, cut=False, order=1) for fill in (True, False)
    )
    at = shell.nodes[shell.elements].min(axis=1)
    steps = (np.stack(np.meshgrid(*3 * [np.arange(parts)], indexing="ij"), -1).reshape(-1, 3)
             + 0.5) / parts  # fmt: skip
    inside = surface.winding((at[:, None] + h * steps).reshape(-1, 3)) > 0.5
    return (filled.n_elements - shell.n_elements + inside.mean() * shell.n_elements) * h**3


# ---- voxels ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["closed", "cut", "flipped", "missing", "inward", "crossing"])
@OPEN
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_every_voxel_off_the_surface_is_decided_as_a_single_point(rng, kind):
    """Blocks of voxels are decided by few queries, and as one query for each would."""
    surface = {
        "closed": lambda: rf.Surface(*sphere(12)),
        "cut": lambda: rf.Surface(*without(sphere(12), 2, 0.4)),
        "flipped": lambda: damaged(rng, flipped=0.1),
        "missing": lambda: damaged(rng, missing=0.2),
        "inward": lambda: rf.Surface(sphere(12)[0], sphere(12)[1][:, ::-1]),
        "crossing": lambda: joined(
            without(sphere(12), 0, 0.7), sphere(9, (0.8, 0.1, 0), 0.7), sphere(5, (3, 0, 0), 0.2)
        ),
    }[kind]()
    n = 43
    low, high = surface.bounds
    h = 1.2 * (high - low).max() / n
    origin = 0.5 * (low + high) - 0.5 * n * h
    grids = []
    for fill in (False, True):
        mesh = rf.voxelize(surface, n, fill=fill, cut=False, order=1)
        at = np.rint((mesh.nodes[mesh.elements].min(axis=1) - origin) / h).astype(int)
        grids.append(np.zeros((n, n, n), bool))
        grids[-1][tuple(at.T)] = True
    shell, filled = grids
    off = np.argwhere(~shell)
    w = surface.winding(origin + h * (off + 0.5))
    sure = np.abs(w - 0.5) > 5e-3
    np.testing.assert_array_equal(filled[tuple(off[sure].T)], w[sure] > 0.5)
    assert filled[shell].all()
    assert sure.mean() > 0.99


@pytest.mark.parametrize(("missing", "flipped"), [(0.0, 0.1), (0.2, 0.0), (0.1, 0.1)])
def test_damaged_balls_weigh_as_much_as_whole_ones(rng, missing, flipped):
    surface = damaged(rng, missing, flipped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.GeometryWarning)
        found = sub_volume(surface, 24)
    # the sampling of sub-cells: 1 %
    assert found == pytest.approx(4 / 3 * np.pi, rel=0.03 if missing else 0.015)


def test_small_holes_give_no_warning():
    for above in (0.97, 0.9):
        rf.voxelize(rf.Surface(*without(sphere(24), 2, above)), 24, cut=False, order=1)


def test_large_holes_are_named():
    bowl = rf.Surface(*without(sphere(24), 2, 0.0))
    # the disc that closes a hemisphere is where it is seen under half of all directions
    with pytest.warns(rf.GeometryWarning, match=r"1 hole, 2 m across \(100% of") as caught:
        mesh = rf.voxelize(bowl, 24, cut=False, order=1)
    assert "Surface.filled()" in str(caught[0].message)
    assert caught[0].filename == __file__
    middle = mesh.nodes[mesh.elements].mean(axis=1)
    assert np.abs(middle[:, 2].max()) < 0.2
    vertices, triangles = sphere(24)
    middle = vertices[triangles].mean(axis=1)[:, 2]
    belt = rf.Surface(vertices, triangles[np.abs(middle) < 0.4])
    with pytest.warns(rf.GeometryWarning, match=r"2 holes, 1\.8. m across .*; 1\.8. m across"):
        rf.voxelize(belt, 24, cut=False, order=1)


def test_surfaces_without_area_are_sheets():
    line = rf.Surface([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    with pytest.warns(rf.GeometryWarning, match="is a single sheet"):
        rf.voxelize(line, 8)


def test_single_sheets_keep_their_voxels_and_give_a_warning():
    x = np.stack(np.meshgrid([0, 1.0], [0, 1.0], indexing="ij"), -1).reshape(-1, 2)
    sheet = rf.Surface(np.column_stack([x, 0.1 * x[:, 0]]), [[0, 1, 2], [1, 3, 2]])
    with pytest.warns(rf.GeometryWarning, match=r"100% of the surface's area is a single sheet"):
        mesh = rf.voxelize(sheet, 20, cut=False, order=1)
    shell = rf.voxelize(sheet, 20, fill=False)
    np.testing.assert_array_equal(mesh.elements, shell.elements)
    # beside a body
    both = joined(sphere(16), (sheet.vertices + np.array([2, 0, 0]), sheet.triangles))
    rf.voxelize(both, 20, cut=False, order=1)
    large = joined(sphere(16, radius=0.4), (sheet.vertices + np.array([2, 0, 0]), sheet.triangles))
    with pytest.warns(rf.GeometryWarning, match=r"3.% of the surface's area"):
        rf.voxelize(large, 20, cut=False, order=1)


def patch(f, n=24, closed=False):
    """Return the surface of f over the unit square, joined along u = 0 and u = 1 if closed."""
    u, v = np.meshgrid(np.arange(n if closed else n + 1), np.arange(n + 1), indexing="ij")
    at = np.arange(u.size).reshape(u.shape)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    a, b = at[i, j], at[(i + 1) % len(at), j]
    c, d = at[(i + 1) % len(at), j + 1], at[i, j + 1]
    vertices = np.stack(np.broadcast_arrays(*f(u / n, v / n)), axis=-1).reshape(-1, 3)
    return rf.Surface(vertices, np.vstack([np.column_stack([a, b, c]), np.column_stack([a, c, d])]))


def around(u, radius):
    return radius * np.cos(2 * np.pi * u), radius * np.sin(2 * np.pi * u)


SHEETS = {
    "flat": patch(lambda u, v: (u, v, 0.3 * u)),
    "wavy": patch(lambda u, v: (u, v, 0.02 * np.sin(6 * np.pi * u) * np.sin(6 * np.pi * v))),
    "cap": patch(lambda u, v: (*around(u, np.sin(v * 0.3)), np.cos(v * 0.3)), closed=True),
    "ring": patch(lambda u, v: (*around(u, 1.0), 0.2 * v), closed=True),
}


@pytest.mark.parametrize("name", SHEETS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_bodies_of_sheets_are_reported_as_a_guess(name):
    """The solid reports no volume that does not exist, and no resolutions without effect."""
    surface = SHEETS[name]
    with pytest.warns(rf.GeometryWarning) as caught:
        mesh = rf.voxelize(surface, 16)
    (text,) = (str(one.message) for one in caught)
    assert text.startswith("100% of the surface's area is a single sheet without thickness")
    assert ("2 borders" if name == "ring" else "1 border,") in text
    assert "is a guess, as if a lid closed the border" in text
    assert "give the sheet a second side" in text
    assert text.endswith("or pass fill=False for a skin of voxels along it")
    for one in (mesh, rf.voxelize(surface, 16, fill=False)):
        solid = rf.Solid(one, rf.StVK(1e6, 0.4, 1000.0))  # warnings are errors
        assert solid.summary.enclosed == 0.0
        assert solid.summary.cells_across is None
        assert "its surface is a sheet, which encloses no volume" in str(solid.summary)


def shape_of_cloth():
    """Return a body and two sleeves of boxes, each open where a shirt is."""
    box = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)], float)
    sides = {
        "x-": (0, 4, 6, 2), "x+": (1, 3, 7, 5), "y-": (0, 1, 5, 4), "y+": (2, 6, 7, 3),
        "z-": (0, 2, 3, 1), "z+": (4, 5, 7, 6),
    }  # fmt: skip
    parts = []
    for low, high, left_out in (
        ((-0.25, -0.1, 0.0), (0.25, 0.1, 0.7), ("z-",)),
        ((0.25, -0.08, 0.5), (0.5, 0.08, 0.68), ("x-", "x+")),
        ((-0.5, -0.08, 0.5), (-0.25, 0.08, 0.68), ("x-", "x+")),
    ):
        quads = [q for side, q in sides.items() if side not in left_out]
        triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
        parts.append((np.array(low) + box * (np.array(high) - low), np.array(triangles)))
    return joined(*parts)


@pytest.mark.parametrize("tilt", [0.0, 0.6])
@pytest.mark.parametrize(
    "name", ["long tube", "cloth", *(pytest.param(n, marks=SHARED_CODE) for n in ("tube", "cup"))]
)
def test_walls_without_thickness_are_reported_as_massive(name, tilt):
    """However far apart the ends of a tube are."""
    side = patch(lambda u, v: (*around(u, 0.1), 2 * v), 32, closed=True)
    cup = patch(
        lambda u, v: (*around(u, 0.1 * np.minimum(1, 4 * v)), np.maximum(0, v - 0.25) / 2),
        32,
        closed=True,
    )
    surface = {
        "long tube": lambda: side,
        "tube": lambda: side.transformed((1, 1, 0.2)),
        "cup": lambda: cup,
        "cloth": shape_of_cloth,
    }[name]()
    turn = [np.cos(tilt / 2), 0.6 * np.sin(tilt / 2), 0.8 * np.sin(tilt / 2), 0.0]
    with pytest.warns(rf.GeometryWarning, match="A lid over each hole is assumed") as caught:
        # a sleeve is as wide as a few cells
        cells = 32 if name == "cloth" else 20
        rf.voxelize(surface.transformed(rotation=turn), cells, order=1)
    (text,) = (str(one.message) for one in caught)
    holes = {"cup": "1 hole,", "cloth": "5 holes,"}.get(name, "2 holes,")
    assert holes in text
    assert "if thin walls are meant" in text
    assert text.endswith("or pass fill=False for a skin of voxels along it")


def test_fields_of_open_surfaces_are_advised_as_fields():
    bowl = rf.Surface(*without(sphere(12), 2, 0.0))
    with pytest.warns(rf.GeometryWarning, match=r"or pass an offset \[m\]"):
        rf.DistanceField.from_surface(bowl, 8)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_the_bunny_weighs_the_same_at_every_resolution(shared):
    surface = rf.read_surface(shared / "meshes" / "stanford-bunny.obj")
    closed = surface.filled().volume
    assert closed == pytest.approx(0.74e-3, rel=0.03)
    for resolution in (20, 40):
        assert sub_volume(surface, resolution, 3) == pytest.approx(closed, rel=0.01)


# ---- distance fields ----------------------------------------------------------------------


@OPEN
def test_field_of_an_open_ball(rng):
    """Distances from the surface and its lid, and the sign of the winding number."""
    surface = rf.Surface(*without(sphere(40), 2, 0.8))
    field = rf.DistanceField.from_surface(surface, 48)
    facts = field.provenance
    assert not facts["closed"]
    assert facts["offset_m"] == 0
    assert facts["cap_triangles"] > 50
    h = field.spacing[0]
    points = rng.uniform(-1.4, 1.4, (4000, 3))
    radius = np.linalg.norm(points, axis=1)
    height = points[:, 2]
    rim = 0.8
    # away from the cap: those of the ball
    below = height < 0.3
    d = field.distance(points)
    far = (radius > 1.05) & below
    np.testing.assert_allclose(d[far], radius[far] - 1, atol=0.25 * h)
    near = (radius < 0.95) & (radius > 0.6) & below
    np.testing.assert_allclose(d[near], radius[near] - 1, atol=0.25 * h)
    # on the axis the lid is where the hole is seen under half of all directions, or near its rim
    z = np.linspace(0.2, 1.2, 400)
    on_axis = field.distance(np.column_stack([0 * z, 0 * z, z]))
    lid = z[np.argmax(on_axis > 0)]
    w = surface.winding([0, 0, lid])
    assert abs(w - 0.5) < 0.02
    # lengths of gradients are 1 across the lid, too
    assert on_axis[np.searchsorted(z, lid + 0.1)] == pytest.approx(0.1, abs=0.5 * h)
    assert on_axis[np.searchsorted(z, lid - 0.1)] == pytest.approx(-0.1, abs=0.5 * h)
    assert (rim - 0.3 < lid) & (lid < rim + 0.3)
    # neighbours differ by no more than the way, but for a voxel at the rim
    for axis in range(3):
        assert np.abs(np.diff(field.values, axis=axis)).max() < 2.0 * h
    assert field.isosurface().volume == pytest.approx(surface.filled().volume, rel=0.03)


def test_flipped_triangles_make_no_difference_to_a_field(rng):
    whole = rf.DistanceField.from_surface(rf.Surface(*sphere(24)), 20)
    field = rf.DistanceField.from_surface(damaged(rng, flipped=0.3), 20)
    assert field.provenance["closed"]
    np.testing.assert_array_equal(field.values, whole.values)


def test_walls_within_open_parts_do_not_count():
    surface = joined(without(sphere(24), 2, 0.97), sphere(12, radius=0.5))
    field = rf.DistanceField.from_surface(surface, 32)
    assert field.provenance["hidden_triangles"] == len(sphere(12)[1])
    assert field.distance([0, 0, -0.5]) == pytest.approx(-0.5, abs=0.02)
    assert field.distance([0, 0.45, 0]) == pytest.approx(-0.55, abs=0.02)


@OPEN
def test_open_fields_do_not_depend_on_threads_and_lose_no_memory():
    surface = rf.Surface(*without(sphere(9), 2, 0.5))
    before = threads()
    try:
        fields = []
        for count in (1, 3):
            set_threads(count)
            fields.append(rf.DistanceField.from_surface(surface, 21, mode="fast").values)
    finally:
        set_threads(before)
    np.testing.assert_array_equal(*fields)
    small = rf.Surface(*without(sphere(5), 2, 0.5))
    fail_each_allocation(lambda: rf.DistanceField.from_surface(small, 9), 40)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_fields_of_the_bunny_and_other_open_surfaces(shared, rng):
    for name in ("stanford-bunny", "teapot", "suzanne"):
        surface = rf.read_surface(shared / "meshes" / f"{name}.obj")
        field = rf.DistanceField.from_surface(surface, 48, mode="fast")
        assert field.provenance["offset_m"] == 0
        assert field.distance(surface.bounds.mean(axis=0)) < 0
        # the interpolant rounds what is thinner than a voxel
        low, high = surface.bounds
        points = rng.uniform(low, high, (20_000, 3))
        inside = surface.winding(points) > 0.5
        assert np.mean((field.distance(points) < 0) != inside) < 0.03
        if name == "stanford-bunny":
            assert field.isosurface().volume == pytest.approx(0.74e-3, rel=0.03)


def test_pointshell_of_an_open_surface_lies_on_it_and_its_lid():
    surface = rf.Surface(*without(sphere(24), 2, 0.9))
    shell = rf.Pointshell.from_surface(surface, 500, 2, resolution=64)
    assert shell.provenance["offset_m"] == 0
    radius = np.linalg.norm(shell.points, axis=1)
    on = shell.points[:, 2] < 0.8
    np.testing.assert_allclose(radius[on], 1, atol=0.02)
    assert on.mean() < 1
    # normals point inwards on the lid, too
    assert (np.sum(shell.normals * shell.points, axis=1) < -0.5).all()


# ---- holes and orientation ------------------------------------------------------------------


def test_holes_of_a_ball():
    vertices, triangles = sphere(12)
    surface = rf.Surface(*without((vertices, triangles), 2, 0.8))
    assert rf.Surface(vertices, triangles).boundary_loops() == []
    (loop,) = surface.boundary_loops()
    heights = vertices[loop][:, 2]
    assert heights.min() > 0.6
    # as the triangles run: seen from above clockwise around the hole, the body below
    x, y = vertices[loop][:, :2].T
    inside_rim = -0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
    assert inside_rim > 0
    filled = surface.filled()
    assert filled.is_closed
    assert filled.n_triangles == surface.n_triangles + len(loop) - 2
    top = filled.triangles[surface.n_triangles :]
    corners = vertices[top]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert 0.5 * area[:, 2].sum() == pytest.approx(inside_rim)


@pytest.mark.parametrize("n", [5, 30, 333, 1200])
def test_hole_with_a_winding_rim(n):
    """A prism over a star without its top: the area over the hole is that of the star."""
    t = np.linspace(0, 2 * np.pi, 2 * n, endpoint=False)
    radius = np.where(np.arange(2 * n) % 2, 0.4, 1.0) if n < 100 else 1 + 0.3 * np.cos(5 * t)
    rim = np.column_stack([radius * np.cos(t), radius * np.sin(t), 0 * t])
    k = np.arange(2 * n)
    next_ = np.roll(k, -1)
    vertices = np.vstack([rim, rim - [0, 0, 1], [[0, 0, -1]]])
    triangles = np.vstack([
        np.column_stack([k + 2 * n, next_ + 2 * n, k]), np.column_stack([next_ + 2 * n, next_, k]),
        np.column_stack([next_ + 2 * n, k + 2 * n, 0 * k + 4 * n]),
    ])  # fmt: skip
    surface = rf.Surface(vertices, triangles)
    (loop,) = surface.boundary_loops()
    assert sorted(loop) == list(k)
    filled = surface.filled()
    area = 0.5 * np.sum(rim[:, 0] * rim[next_, 1] - rim[:, 1] * rim[next_, 0])
    assert filled.is_closed
    assert filled.volume == pytest.approx(area, rel=1e-12)
    corners = vertices[filled.triangles[surface.n_triangles :]]
    up = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    if n < 100:
        assert up.min() > -1e-12  # no triangle is folded over


def test_loops_that_share_a_vertex_or_an_edge():
    # two triangles of an octahedron are missing that have one corner in common
    x = np.vstack([np.eye(3), -np.eye(3)])
    faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]]
    loops = rf.Surface(x, np.delete(faces, [0, 2], axis=0)).boundary_loops()
    assert sorted(len(loop) for loop in loops) == [3, 3]
    # neighbours leave one loop of four
    loops = rf.Surface(x, np.delete(faces, [0, 1], axis=0)).boundary_loops()
    assert [len(loop) for loop in loops] == [4]
    # a fin on an edge: its border runs along the edge of the closed surface
    fin = rf.Surface(np.vstack([x, [[2, 2, 0]]]), [*faces, [0, 6, 1]])
    assert [sorted(loop) for loop in fin.boundary_loops()] == [[0, 1, 6]]
    assert fin.filled().is_closed


def test_holes_lose_no_memory():
    surface = rf.Surface(*without(sphere(8), 2, 0.5))
    vertices, triangles = surface.vertices, surface.triangles
    fail_each_allocation(lambda: _core.surface_holes(vertices, triangles, True, None, 1), 10)


def test_oriented_keeps_vertices_and_order(rng):
    surface = damaged(rng, flipped=0.3)
    turned = surface.oriented()
    assert turned.is_closed
    assert turned.volume > 0
    assert turned.oriented() is turned
    np.testing.assert_array_equal(turned.triangles[:, 0], surface.triangles[:, 0])
    np.testing.assert_array_equal(np.sort(turned.triangles), np.sort(surface.triangles))


def test_winding_of_points():
    ball = rf.Surface(*sphere(12))
    assert ball.winding([0, 0, 0]).shape == ()
    np.testing.assert_allclose(ball.winding([[0, 0, 0], [2, 0, 0]]), [1, 0], atol=3e-3)
    with pytest.raises(rf.InputError, match=r"points must have shape"):
        ball.winding([[0, 0]])


# ---- thickness ----------------------------------------------------------------------------


def box(low, high):
    corners = np.array(list(np.ndindex(2, 2, 2)), float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])
    return np.asarray(low) + corners * (np.asarray(high) - low), triangles


@pytest.mark.parametrize("inward", [False, True])
def test_thickness_of_plates_balls_and_rods(inward):
    vertices, triangles = box([0, 0, 0], [1, 2, 0.1])
    plate = rf.Surface(vertices + 100, triangles[:, ::-1] if inward else triangles)
    np.testing.assert_allclose(plate.thickness(), np.repeat([1, 1, 2, 2, 0.1, 0.1], 2), rtol=1e-9)
    assert plate.thinnest() == pytest.approx(0.1)
    ball = rf.Surface(*sphere(24))
    np.testing.assert_allclose(ball.thickness(), 2, rtol=0.01)
    t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.column_stack([0.1 * np.cos(t), 0.1 * np.sin(t), 0 * t])
    k, m = np.arange(40), np.roll(np.arange(40), -1)
    rod = rf.Surface(
        np.vstack([ring, ring + np.array([0, 0, 3])]),
        np.vstack([np.column_stack([k, m, m + 40]), np.column_stack([k, m + 40, k + 40])]),
    ).filled()
    assert rod.thinnest() == pytest.approx(0.2, rel=0.01)


def test_thickness_of_a_tapered_plate_and_its_share():
    """From 0.1 to 0.3 thick: a tenth of its sides is thinner than 0.12."""
    n = 60
    x = np.linspace(0, 1, n + 1)
    rows = np.stack([np.column_stack([x, 0 * x + y, s * (0.05 + 0.1 * x)]) for y in (0, 4)
                     for s in (-1, 1)])  # fmt: skip
    k = np.arange(n)
    a, b, c, d = (i * (n + 1) + k for i in range(4))  # low and high at y = 0, then at y = 4
    quads = [(a, c, c + 1, a + 1), (b, b + 1, d + 1, d), (a, a + 1, b + 1, b), (c, d, d + 1, c + 1)]
    triangles = np.vstack([np.column_stack([p, q, r]) for w in quads for p, q, r in
                           ((w[0], w[1], w[2]), (w[0], w[2], w[3]))])  # fmt: skip
    plate = rf.Surface(rows.reshape(-1, 3), triangles).filled()
    thickness = plate.thickness()
    middle = plate.vertices[plate.triangles[: 4 * n]].mean(axis=1)[:, 0]
    # straight in from a slanted side is not straight across, and near the end ends there
    sides = np.flatnonzero(middle < 0.9)
    np.testing.assert_allclose(thickness[sides], 0.1 + 0.2 * middle[sides], rtol=0.03)
    assert plate.thinnest(0.0) < plate.thinnest(0.1) < plate.thinnest(0.5)
    assert plate.thinnest(0.1) == pytest.approx(0.125, rel=0.1)
    with pytest.raises(rf.InputError, match="share must be from 0 to 1, got 2"):
        plate.thinnest(2)


def test_thickness_does_not_end_at_hidden_walls():
    long = joined(box([0, 0, 0], [2, 1, 1]), box([1.5, 0.1, 0.1], [3, 0.9, 0.9]))
    thickness = long.thickness()
    # from the end at x = 0 through the wall of the other one at x = 1.5 to its end at x = 3
    np.testing.assert_allclose(thickness[:2], 3, rtol=1e-6)
    assert np.isinf(thickness[12:14]).all()  # that wall
    sheet = rf.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    np.testing.assert_array_equal(sheet.thickness(), [0])
    degenerate = rf.Surface([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    np.testing.assert_array_equal(degenerate.thickness(), [0])


def test_a_sample_of_thousands_of_triangles_keeps_the_few_large_ones_of_a_thin_plate():
    """A plate of 12 triangles with a ball of 40,000 on it: they are a vanishing share of all."""
    of_ball, ball = sphere(100)
    assert len(ball) > 4 * DRAWN
    of_plate, plate = box([0, 0, 0], [0.2, 0.2, 0.004])
    of_ball = 0.02 * of_ball + [0.1, 0.1, 0.02]
    vertices = np.vstack([of_ball, of_plate])
    both = rf.Surface(vertices, np.vstack([ball, plate + len(of_ball)]))
    assert both._about_thinnest(0.05) == pytest.approx(0.004)


@pytest.mark.parametrize("rings", [2048, 4095, 4096, 8192])
def test_a_sample_by_area_is_not_in_step_with_rings_of_triangles(rings):
    """A fin has 2 of 20 triangles of each ring, and a twentieth of its area."""
    of_ring = np.full(20, 1.0)
    of_ring[6:8] = 18.0 / 38.0
    fin = np.tile(np.arange(20), rings) // 2 == 3
    area = np.tile(of_ring, rings)
    of, weights = sample(area, DRAWN)
    assert len(np.unique(of)) == len(of) <= DRAWN + 1
    assert weights.sum() == pytest.approx(area.sum())
    assert weights[fin[of]].sum() == pytest.approx(0.05 * area.sum(), rel=0.05)


def test_a_sample_has_all_large_triangles_and_none_without_area():
    area = np.concatenate([[3.0, 0.0, 0.5], np.full(1000, 1e-3), [2.0]])
    of, weights = sample(area, 100)
    assert np.isin([0, 2, 1003], of).all()
    assert not np.isin(1, of)
    np.testing.assert_array_equal(weights[np.isin(of, [0, 2, 1003])], [3.0, 0.5, 2.0])
    assert weights.sum() == pytest.approx(area.sum())
    assert len(of) <= 3 + 100
    assert len(sample(np.zeros(5), 2)[0]) == 5


def test_thickness_does_not_depend_on_threads_and_loses_no_memory():
    vertices, triangles = sphere(12)
    one, three = (_core.surface_thickness(vertices, triangles, None, n) for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    of = np.array([7, 3, 100], np.int32)
    np.testing.assert_array_equal(
        _core.surface_thickness(vertices, triangles, None, 1, of), one[of]
    )
    with pytest.raises(rf.InputError, match=rf"of.*{len(triangles)}"):
        _core.surface_thickness(vertices, triangles, None, 1, [0, len(triangles)])
    small = sphere(4)
    fail_each_allocation(lambda: _core.surface_thickness(*small, None, 1), 20)
    fail_each_allocation(lambda: _core.surface_sheets(*small, 1), 15)
