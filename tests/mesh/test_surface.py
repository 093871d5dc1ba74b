import gc
import struct

import numpy as np
import pytest

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core

# the unit tetrahedron, triangles outwards: area 3/2 + sqrt(3)/2, volume 1/6
TET_VERTICES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TET_TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])

OBJ_QUADS = """# a cube of edge 2 in one object, a triangle in another
mtllib missing.mtl
o cube
v -1 -1 -1
v 1 -1 -1 0.5 0.5 0.5
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
vt 0 0
vn 0 0 1
usemtl nothing
s off
f 1/1/1 4/1/1 3/1/1 2/1/1
f 5 6 7 8
f 1//1 2//1 6//1 5//1
f 2/1 3/1 7/1 6/1
f 3 4 \\
  8 7
f -8 -4 -1 -5  # counted from the last vertex
o triangle
g part
v 3 0 0
v 4 0 0
v 3 1 0
l 9 10
f 9 10 11
"""


def tetrahedron():
    return rf.Surface(TET_VERTICES, TET_TRIANGLES)


def soup(surface):
    """The same triangles, every one with three vertices of its own."""
    vertices = surface.vertices[surface.triangles].reshape(-1, 3)
    return rf.Surface(vertices, np.arange(len(vertices)).reshape(-1, 3))


@pytest.mark.parametrize("make", [tetrahedron, lambda: soup(tetrahedron())])
def test_measures_of_a_tetrahedron(make):
    s = make()
    assert s.n_triangles == 4
    # a few additions and roots of numbers near one
    assert s.area == pytest.approx(1.5 + np.sqrt(3) / 2, rel=1e-14)
    assert s.volume == pytest.approx(1 / 6, rel=1e-14)
    assert s.is_closed
    assert s.is_manifold
    assert s.n_degenerate == 0
    np.testing.assert_array_equal(s.bounds, [[0, 0, 0], [1, 1, 1]])


def test_volume_is_negative_inside_out_and_exact_far_away():
    s = rf.Surface(TET_VERTICES + np.array([1000, -2000, 3000]), TET_TRIANGLES[:, ::-1])
    # coordinates differ exactly here: no digits are lost far from the origin
    assert s.volume == pytest.approx(-1 / 6, rel=1e-14)


def test_open_surface_has_no_volume():
    s = rf.Surface(TET_VERTICES, TET_TRIANGLES[:3])
    assert not s.is_closed
    with pytest.raises(rf.MeshError, match="not closed"):
        _ = s.volume


def test_one_flipped_triangle_opens_the_surface():
    triangles = TET_TRIANGLES.copy()
    triangles[2] = triangles[2, ::-1]
    assert not rf.Surface(TET_VERTICES, triangles).is_closed


def test_two_solids_that_share_an_edge_are_closed_but_not_manifold():
    mirrored = rf.Surface(TET_VERTICES * [-1, -1, 1], TET_TRIANGLES)
    both = rf.Surface(
        np.vstack([TET_VERTICES, mirrored.vertices]), np.vstack([TET_TRIANGLES, TET_TRIANGLES + 4])
    )
    # the z axis from 0 to 1 belongs to four triangles; the half turn keeps orientation
    assert both.is_closed
    assert not both.is_manifold
    assert both.volume == pytest.approx(2 / 6, rel=1e-14)


def test_degenerate_triangles_are_counted_not_refused():
    triangles = np.vstack([TET_TRIANGLES, [[0, 0, 1], [2, 2, 2], [0, 1, 4]]])
    s = rf.Surface(np.vstack([TET_VERTICES, [[0.5, 0, 0]]]), triangles)
    assert s.n_degenerate == 3
    assert s.area == pytest.approx(1.5 + np.sqrt(3) / 2, rel=1e-14)


def test_bounds_ignore_vertices_that_no_triangle_uses():
    s = rf.Surface(np.vstack([TET_VERTICES, [[9, 9, 9]]]), TET_TRIANGLES)
    np.testing.assert_array_equal(s.bounds, [[0, 0, 0], [1, 1, 1]])


def test_merged_joins_a_soup_and_drops_unused_vertices():
    merged = soup(tetrahedron()).merged()
    assert merged.n_vertices == 4
    np.testing.assert_array_equal(merged.vertices[merged.triangles], TET_VERTICES[TET_TRIANGLES])
    assert (
        rf.Surface(np.vstack([TET_VERTICES, [[9, 9, 9]]]), TET_TRIANGLES).merged().n_vertices == 4
    )
    # zero and minus zero are the same place
    signed = TET_VERTICES[TET_TRIANGLES].reshape(-1, 3) * np.array([[1.0], [-0.0 + 1]])[[0] * 12]
    signed[3] = -0.0
    assert rf.Surface(signed, np.arange(12).reshape(-1, 3)).merged().n_vertices == 4


def test_arrays_are_read_only_copies():
    source = TET_VERTICES.copy()
    s = rf.Surface(source, TET_TRIANGLES)
    source[:] = 7
    np.testing.assert_array_equal(s.vertices, TET_VERTICES)
    for array in (s.vertices, s.triangles):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("vertices", "triangles", "error", "message"),
    [
        (TET_VERTICES * [1, np.nan, 1], TET_TRIANGLES, rf.InputError, r"vertices\[0, 1\] is nan"),
        (TET_VERTICES, [[0, 1, 4]], rf.InputError, r"triangles\[0, 2\] is 4; allowed are 0 to 3"),
        (TET_VERTICES, TET_TRIANGLES + 1, rf.InputError, "counted from 1: pass triangles - 1"),
        (TET_VERTICES, [[0, 1, -1]], rf.InputError, r"triangles\[0, 2\] is -1"),
        (TET_VERTICES, [[0, 1, 2, 3]], rf.InputError, "triangles must have shape"),
        (TET_VERTICES, np.zeros((0, 3), int), rf.MeshError, "triangles has 0 rows"),
        (np.zeros((0, 3)), [[0, 1, 2]], rf.MeshError, "vertices has 0 rows"),
        (TET_VERTICES[:, 0], TET_TRIANGLES, rf.InputError, "vertices must have shape"),
        (TET_VERTICES, TET_TRIANGLES * 1.0, rf.InputTypeError, "integers"),
        (None, TET_TRIANGLES, rf.InputTypeError, "vertices must be an array"),
    ],
)
def test_wrong_arguments_are_refused(vertices, triangles, error, message):
    with pytest.raises(error, match=message):
        rf.Surface(vertices, triangles)


# ---- files ------------------------------------------------------------------------


def test_obj_with_quads_objects_textures_and_missing_materials(tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text(OBJ_QUADS)
    s = rf.read_surface(path)
    assert s.n_vertices == 11
    assert s.n_triangles == 13
    np.testing.assert_array_equal(s.vertices[1], [1, -1, -1])
    np.testing.assert_array_equal(s.vertices[8], [3, 0, 0])
    np.testing.assert_array_equal(s.triangles[-1], [8, 9, 10])
    cube = rf.Surface(s.vertices, s.triangles[:12])
    assert cube.is_closed
    assert cube.volume == pytest.approx(8, rel=1e-14)


def test_obj_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "mark.obj"
    path.write_text("v 1 0 0\nv 0 1 0\nv 0 0 1\nf 1/1/1 2/1/1 3/1/1\n", encoding="utf-8-sig")
    np.testing.assert_array_equal(rf.read_surface(path).vertices, np.eye(3))


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".OBJ"])
def test_written_surface_reads_back_to_the_last_bit(tmp_path, rng, suffix):
    s = rf.Surface(rng.normal(size=(50, 3)) * 1e-7 + 1 / 3, rng.integers(0, 50, (80, 3)))
    s.write(tmp_path / f"s{suffix}")
    back = rf.read_surface(tmp_path / f"s{suffix}")
    np.testing.assert_array_equal(back.vertices, s.vertices)
    np.testing.assert_array_equal(back.triangles, s.triangles)
    assert [p.name for p in tmp_path.iterdir()] == [f"s{suffix}"]


def test_stl_keeps_triangles_to_single_precision(tmp_path, rng):
    s = rf.Surface(rng.normal(size=(20, 3)), rng.integers(0, 20, (30, 3)))
    s.write(tmp_path / "s.stl")
    back = rf.read_surface(tmp_path / "s.stl")
    # float32 rounds by 6e-8 of the value
    np.testing.assert_allclose(
        back.vertices[back.triangles], s.vertices[s.triangles], rtol=6e-8, atol=0
    )


def test_ascii_stl(tmp_path):
    lines = ["solid part"]
    for triangle in TET_VERTICES[TET_TRIANGLES]:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex " + " ".join(f"{x:e}" for x in corner) for corner in triangle]
        lines += ["endloop", "endfacet"]
    lines += ["endsolid part"]
    (tmp_path / "t.stl").write_text("\n".join(lines))
    s = rf.read_surface(tmp_path / "t.stl")
    np.testing.assert_array_equal(s.vertices[s.triangles], TET_VERTICES[TET_TRIANGLES])
    assert s.is_closed
    assert s.n_vertices == 4


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "cp1251"])
def test_names_and_comments_may_be_in_any_encoding(tmp_path, encoding):
    word = ("деталь" if encoding == "cp1251" else "Bügel").encode(encoding)
    corners = [b"0 0 0", b"2 0 0", b"0 1 0"]
    facet = b"".join(b"vertex " + corner + b"\n" for corner in corners)
    rows = b"\n".join(corners) + b"\n3 0 1 2\n"
    header = b"comment " + word + b"\nelement vertex 3\n"
    header += b"".join(b"property float " + axis + b"\n" for axis in (b"x", b"y", b"z"))
    header += b"element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    binary = np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0]], "<f4").tobytes()
    files = {
        "a.stl": b"solid " + word + b"\nfacet normal 0 0 1\nouter loop\n" + facet
        + b"endloop\nendfacet\nendsolid\n",
        "b.stl": word.ljust(80) + struct.pack("<I12x", 1) + binary + b"\0\0",
        "a.off": b"OFF\n# " + word + b"\n3 1 0\n" + rows,
        "a.ply": b"ply\nformat ascii 1.0\n" + header + rows,
        "b.ply": b"ply\nformat binary_little_endian 1.0\n" + header + binary
        + struct.pack("<B3i", 3, 0, 1, 2),
    }  # fmt: skip
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        s = rf.read_surface(tmp_path / name)
        np.testing.assert_array_equal(
            s.vertices[s.triangles], [[[0, 0, 0], [2, 0, 0], [0, 1, 0]]], err_msg=name
        )
        assert repr(s) == "<Surface: 3 vertices, 1 triangle>"


def test_ascii_ply_with_quads_and_colours(tmp_path):
    (tmp_path / "q.ply").write_text(
        "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\n"
        "property float z\nproperty uchar red\nelement face 2\n"
        "property list uchar int vertex_indices\nend_header\n"
        "0 0 0 9\n1 0 0 9\n1 1 0 9\n0 1 0 9\n0 0 1 9\n4 0 1 2 3\n3 0 1 4\n"
    )
    s = rf.read_surface(tmp_path / "q.ply")
    assert s.n_vertices == 5
    assert s.n_triangles == 3
    assert s.area == pytest.approx(1.5, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.obj", None, "No such file"),
        ("none.step", None, r"known are \.obj, \.ply, \.stl"),
        ("x.safetensors", b"", r"files, which this package saved, by load\)"),
        ("x.veg", b"*VERTICES", "read_mesh"),
        ("empty.obj", b"", "is empty"),
        ("blank.stl", b"  \n", "is empty"),
        ("points.obj", b"v 0 0 0\nv 1 0 0\n", "has no triangles"),
        ("short.obj", b"v 0 0\nv 0 0 1\n", "line 1: a vertex needs three coordinates$"),
        ("end.obj", b"v 0 0 0\nv 0 0", r"line 2: a vertex needs three .*is the file cut off\?"),
        ("last.obj", b"v 0 0 0\nv 0 0 1\nf 1", r"line 3: a face .*is the file cut off\?"),
        ("word.obj", b"v 0 0 zero\nv 0 0 1\nv 0 1 0\nf 1 2 3\n", "is damaged"),
        ("nan.obj", b"v 0 0 nan\nv 0 0 1\nv 0 1 0\nf 1 2 3\n", r"vertices\[0, 2\] is nan"),
        ("comma.obj", b"v 0 0 0,5\nv 0 0 1\nv 0 1 0\nf 1 2 3\n", "is damaged"),
        ("far.obj", b"v 0 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 4\n", r"allowed are 0 to 2"),
        ("zero.obj", b"v 0 0 0\nv 0 0 1\nv 0 1 0\nf 0 1 2\n", "line 4: there is no vertex 0"),
        ("back.obj", b"v 0 0 0\nv 0 0 1\nv 0 1 0\nf -4 1 2\n", "there is no vertex -4"),
        ("edge.obj", b"v 0 0 0\nv 0 0 1\nf 1 2\n", "line 3: a face needs three"),
        ("index.obj", b"v 0 0 0\nf a b c\n", "line 2: 'a' is not a vertex index"),
        (
            "cut.stl",
            b"\xff" * 80 + struct.pack("<I", 200) + b"\0" * 60,
            r"STL.*: it announces 200 triangles and holds 1 \(is the file cut off\?\)$",
        ),
        ("head.stl", b"solid".ljust(70, b"\0"), r"it has 70 bytes, but its header has 84 \(is the"),
        (
            "long.stl",
            b"\0" * 80 + struct.pack("<I", 1) + b"\0" * 60,
            "it announces 1 triangles, but 10 bytes follow them",
        ),
        ("cut.ply", b"ply\nformat ascii 1.0\nelement vertex 3\n", "PLY|no triangles"),
        ("noise.ply", bytes(range(256)), "PLY"),
        ("noise.stl", bytes(range(256)), "STL"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(rf.FileFormatError, match=message):
        rf.read_surface(tmp_path / name)
    with pytest.raises(OSError, match=name):
        rf.read_surface(tmp_path / name)


def test_paths_must_be_paths(tmp_path):
    for wrong in (5, None, ["a.obj"]):
        for function in (rf.read_surface, rf.read_mesh, rf.read_fixed, tetrahedron().write):
            with pytest.raises(rf.InputTypeError, match="path must be a str or a Path"):
                function(wrong)
    with pytest.raises(rf.FileFormatError, match="is a folder"):
        rf.read_surface(tmp_path)


def test_wrong_paths_are_refused(tmp_path):
    with pytest.raises(rf.FileFormatError, match=r"\.obj, \.ply, \.stl"):
        tetrahedron().write(tmp_path / "x.doc")
    with pytest.raises(rf.FileFormatError, match="No such file"):
        tetrahedron().write(tmp_path / "no" / "x.obj")
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(rf.FileFormatError, match="is a folder"):
        tetrahedron().write(tmp_path / "folder.obj")


def test_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "s.ply"
    path.write_bytes(b"precious")

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(rf.FileFormatError, match="No space left"):
        tetrahedron().write(path)
    assert path.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == ["s.ply"]


def test_every_shared_surface_reads(shared):
    files = sorted((shared / "meshes").rglob("*.obj"))
    assert len(files) > 5
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace").splitlines()
        s = rf.read_surface(file)
        assert s.n_vertices == sum(line.startswith("v ") for line in text), file
        corners = [len(line.split()) - 1 for line in text if line.startswith("f ")]
        assert s.n_triangles == sum(corners) - 2 * len(corners), file


def test_shared_surfaces_agree_with_their_readmes(shared):
    assert not rf.read_surface(shared / "meshes/stanford-bunny.obj").is_closed
    assert not rf.read_surface(shared / "meshes/teapot.obj").is_closed
    assert not rf.read_surface(shared / "meshes/vega/turtle/turtle.obj").is_closed
    for name in ("spot", "rocker-arm", "fandisk", "cow"):
        s = rf.read_surface(shared / f"meshes/{name}.obj")
        assert s.is_closed
        assert s.volume > 0


def test_every_failing_allocation_is_reported_and_nothing_leaks():
    gc.collect()
    before = live_blocks()
    s = tetrahedron()
    for k in range(3):  # first vertices, edges, hash table
        _core.alloc_fail_from(k)
        try:
            with pytest.raises(MemoryError):
                _ = s.area
        finally:
            _core.alloc_fail_from(-1)
        check_live_blocks(before)
    assert s.area > 0
    check_live_blocks(before)
