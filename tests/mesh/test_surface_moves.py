"""Surfaces moved, exchanged with trimesh, read with a scale, and strips of triangles."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import trimesh

import reducedfem as rf
from shapes import sphere

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
TET = rf.Surface(CORNERS, TRIANGLES)
ABOUT_Z = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_transformed_scales_then_rotates_then_moves():
    np.testing.assert_array_equal(TET.transformed().vertices, CORNERS)
    moved = TET.transformed(scale=2, rotation=ABOUT_Z, translation=[1, 2, 3])
    np.testing.assert_allclose(moved.vertices[:3], [[1, 2, 3], [1, 4, 3], [-1, 2, 3]])
    np.testing.assert_array_equal(moved.triangles, TRIANGLES)
    quarter = np.sqrt(0.5)
    same = TET.transformed(2, [quarter, 0, 0, quarter], (1, 2, 3))
    np.testing.assert_allclose(same.vertices, moved.vertices, atol=1e-15)
    stretched = TET.transformed(scale=[1, 2, 3])
    assert stretched.volume == pytest.approx(1.0)


def test_quaternions_turn_as_matrices_do(rng):
    for _ in range(20):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        w, v = q[0], q[1:]
        # v' = v + 2 w (a x v) + 2 a x (a x v)
        cross = np.cross(v, CORNERS)
        expected = CORNERS + 2 * w * cross + 2 * np.cross(v, cross)
        np.testing.assert_allclose(TET.transformed(rotation=q).vertices, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scale": 0}, rf.InputError, "scale must be positive, got 0"),
        ({"scale": [1, -1, 1]}, rf.InputError, "scale must be positive, got -1"),
        ({"scale": [1, 2]}, rf.InputError, r"a number or three, got shape \(2,\)"),
        ({"scale": "mm"}, rf.InputTypeError, "scale must be an array of real numbers"),
        ({"scale": 1e308, "translation": [1e308] * 3}, rf.InputError, "vertices are not finite"),
        ({"rotation": [1, 1, 0, 0]}, rf.InputError, "unit quaternion, its length is 1.41421"),
        ({"rotation": [1, 0, 0]}, rf.InputError, r"matrix \(3, 3\) or a quaternion \(4,\)"),
        ({"rotation": 2 * np.eye(3)}, rf.InputError, "scale has an argument of its own"),
        ({"rotation": np.diag([1, 1, -1])}, rf.InputError, "a reflection: its determinant is -1"),
        ({"rotation": np.full((3, 3), np.nan)}, rf.InputError, r"rotation\[0, 0\] is nan"),
        ({"translation": 1.0}, rf.InputError, r"translation must have shape \(3,\), got \(\)"),
    ],
)
def test_wrong_transformations(arguments, error, message):
    with pytest.raises(error, match=message):
        TET.transformed(**arguments)


def test_rotations_of_scipy_are_refused_with_advice():
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation.identity()
    with pytest.raises(rf.InputTypeError, match="order w, x, y, z"):
        TET.transformed(rotation=rotation)


def test_there_and_back_by_trimesh():
    mesh = TET.to_trimesh()
    assert mesh.volume == pytest.approx(TET.volume)
    mesh.vertices[0] = -1  # a copy
    np.testing.assert_array_equal(TET.vertices, CORNERS)
    again = rf.Surface.from_trimesh(TET.to_trimesh())
    np.testing.assert_array_equal(again.vertices, CORNERS)
    np.testing.assert_array_equal(again.triangles, TRIANGLES)
    scene = trimesh.Scene()
    scene.add_geometry(TET.to_trimesh())
    scene.add_geometry(TET.to_trimesh(), transform=trimesh.transformations.scale_matrix(2))
    both = rf.Surface.from_trimesh(scene)
    assert both.volume == pytest.approx(9 * TET.volume)
    with pytest.raises(rf.InputTypeError, match=r"must be a trimesh.Trimesh or .*, got list"):
        rf.Surface.from_trimesh([])
    with pytest.raises(rf.MeshError, match="has no triangles"):
        rf.Surface.from_trimesh(trimesh.Trimesh(CORNERS))


def test_reading_with_a_scale(tmp_path):
    path = tmp_path / "part.stl"
    TET.write(path)
    assert rf.read_surface(path, scale=0.001).volume == pytest.approx(1e-9 / 6)
    for unit, metres in {"m": 1.0, "cm": 0.01, "mm": 1e-3, "um": 1e-6, "inch": 0.0254}.items():
        bounds = rf.read_surface(path, scale=unit).bounds
        np.testing.assert_array_equal(bounds, rf.read_surface(path).bounds * metres)
    for scale, error, text in (
        (0, rf.InputError, "positive, got 0"), (-1, rf.InputError, "positive, got -1"),
        (None, rf.InputTypeError, "a number"), ("in", rf.InputError, "a number .* mean 'inch'"),
        ("MM", rf.InputError, "a number or one of .* got 'MM'; did you mean 'mm'"),
    ):  # fmt: skip
        with pytest.raises(error, match=f"scale must be {text}"):
            rf.read_surface(path, scale=scale)


# ---- strips -------------------------------------------------------------------------------


def strips_of(vertices, strips, kind, faces=(), count="int", stray=True):
    """A PLY file of strips in any of its three formats."""
    order = {"ascii": None, "binary_little_endian": "<", "binary_big_endian": ">"}[kind]
    flat = [i for strip in strips for i in [*strip, -1]]
    lines = [
        "ply",
        f"format {kind} 1.0",
        "comment made by a test",
        f"element vertex {len(vertices)}",
    ]
    lines += ["property float x", "property float y", "property float z", "property uchar quality"]
    if faces:
        lines += [f"element face {len(faces)}", "property uchar flags"]
        lines += ["property list uchar int vertex_indices"]
    lines += ["element tristrips 1", f"property list {count} int vertex_indices"]
    if stray:
        lines += ["element camera 1", "property double angle"]
    head = "\n".join([*lines, "end_header", ""]).encode()
    if order is None:
        rows = [" ".join(map(repr, map(float, x))) + " 7" for x in vertices]
        rows += [f"1 {len(f)} " + " ".join(map(str, f)) for f in faces]
        rows += [f"{len(flat)} " + " ".join(map(str, flat)), *["0.5"] * stray]
        return head + "\n".join(rows).encode()
    body = b"".join(struct.pack(order + "fffB", *x, 7) for x in vertices)
    body += b"".join(struct.pack(f"{order}BB{len(f)}i", 1, len(f), *f) for f in faces)
    letter = {"int": "i", "uchar": "B", "uint": "I"}[count]
    body += struct.pack(f"{order}{letter}{len(flat)}i", len(flat), *flat)
    return head + body + (struct.pack(order + "d", 0.5) if stray else b"")


KINDS = ["ascii", "binary_little_endian", "binary_big_endian"]


@pytest.mark.parametrize("kind", KINDS)
def test_strips_of_triangles(tmp_path, kind):
    path = tmp_path / "strips.ply"
    # the tetrahedron in one strip, and again in two with a turn by a repeated vertex
    path.write_bytes(strips_of(CORNERS, [[0, 2, 1, 3, 0, 2]], kind))
    surface = rf.read_surface(path)
    assert surface.n_triangles == 4
    assert surface.is_closed
    assert surface.volume == pytest.approx(1 / 6)
    path.write_bytes(
        strips_of(CORNERS, [[0, 2, 1, 3], [3, 0, 2, 2], [3, 2, 1]], kind, count="uint")
    )
    assert rf.read_surface(path, scale=2).n_triangles == 4
    # with faces beside
    path.write_bytes(strips_of(CORNERS, [[0, 2, 1, 3]], kind, [[0, 3, 2], [0, 1, 2, 3]], "uchar"))
    np.testing.assert_array_equal(
        rf.read_surface(path).triangles,
        [[0, 3, 2], [0, 1, 2], [0, 2, 3], [0, 2, 1], [1, 2, 3]],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_ball_in_strips(tmp_path, kind):
    vertices, triangles = sphere(6)
    path = tmp_path / "ball.ply"
    path.write_bytes(strips_of(vertices, triangles.tolist(), kind, stray=False))
    surface = rf.read_surface(path)
    np.testing.assert_array_equal(surface.triangles, triangles)
    np.testing.assert_allclose(surface.vertices, vertices, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_strips(tmp_path, kind):
    path = tmp_path / "strips.ply"
    good = strips_of(CORNERS, [[0, 2, 1, 3, 0, 2]], kind, stray=False)
    head, mark, body = good.partition(b"end_header\n")
    for length in range(0, len(body) - 1, 3):
        path.write_bytes(head + mark + body[:length])
        with pytest.raises(rf.FileFormatError, match="too early|not a readable"):
            rf.read_surface(path)
    for old, new, message in (
        (b"vertex_indices", b"places", "element tristrips has no list vertex_indices"),
        (b"element vertex", b"element points", "there is no element vertex"),
        (b"element vertex 4", b"element vertex -4", "the header has -4 as the number of vertex"),
        (b"property float z", b"property real z", "not a readable PLY"),
        (b"property float z", b"property float", "is not a property"),
        (b"format " + kind.encode(), b"format morse", "'morse' is not a known format"),
    ):
        path.write_bytes(head.replace(old, new) + mark + body)
        with pytest.raises(rf.FileFormatError, match=message):
            rf.read_surface(path)
    path.write_bytes(strips_of(CORNERS, [[0, 2, 9]], kind))
    with pytest.raises(rf.FileFormatError, match=r"triangles\[0, 2\] is 9; allowed are 0 to 3"):
        rf.read_surface(path)
    path.write_bytes(strips_of(CORNERS, [[0, 2]], kind))
    with pytest.raises(rf.FileFormatError, match="has no triangles"):
        rf.read_surface(path)
