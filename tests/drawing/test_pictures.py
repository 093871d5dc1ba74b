"""Pictures of surfaces: frames, figures, tables of objects."""

from __future__ import annotations

import base64
import io
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import reducedfem as rf
from calls import make_world
from reducedfem import plot
from shapes import box_hexes

BOX = rf.Mesh(*box_hexes(1, 1, 1, (2.0, 1.0, 0.5))).surface()


def covered(image):
    """Return the first and last row and column with a shape."""
    rows, columns = np.nonzero(image[..., 3] > 0.5)
    return rows.min(), rows.max(), columns.min(), columns.max()


def test_pictures_without_crop_have_their_size():
    for size in ((200, 100), (100, 200)):
        image = plot.render([plot.Shape(BOX.vertices)], BOX.triangles, size, crop=False)
        assert image.shape == (size[1], size[0], 4)
        top, bottom, left, right = covered(image)
        # in the middle, and one side fills the picture but for the margin
        assert abs(top - (size[1] - 1 - bottom)) <= 1
        assert abs(left - (size[0] - 1 - right)) <= 1
        assert min(top, left) == pytest.approx(0.03 * max(size), abs=1.5)
        cropped = plot.render([plot.Shape(BOX.vertices)], BOX.triangles, size)
        assert cropped.shape[0] < size[1] or cropped.shape[1] < size[0]
        wide, high = right - left, bottom - top
        there = covered(cropped)
        assert abs(there[1] - there[0] - high) <= 1
        assert abs(there[3] - there[2] - wide) <= 1


def test_one_camera_shows_shapes_at_the_same_scale():
    there = BOX.vertices + np.array([3.0, 0.0, 0.0])
    shapes = [plot.Shape(BOX.vertices), plot.Shape(there)]
    view = {"azimuth": -90.0, "elevation": 0.0}
    camera = plot.frame_of(shapes, BOX.triangles, (400, 300), crop=False, **view)
    first, second = (plot.render([one], BOX.triangles, camera=camera) for one in shapes)
    assert first.shape == second.shape == (300, 400, 4)
    a, b = covered(first), covered(second)
    # 2 m wide, 3 m to the right: x is right, z is up
    width = a[3] - a[2] + 1
    assert b[2] - a[2] == pytest.approx(1.5 * width, abs=1)
    assert (b[0], b[1], b[3] - b[2]) == (a[0], a[1], a[3] - a[2])
    both = plot.render(shapes, BOX.triangles, camera=camera)
    np.testing.assert_array_equal(both, np.where(first[..., 3:] > 0.0, first, second))


def test_a_camera_is_a_frame():
    with pytest.raises(rf.InputTypeError, match=r"plot\.frame_of\(shapes, triangles\), got tuple"):
        plot.render([plot.Shape(BOX.vertices)], BOX.triangles, camera=(1, 2))


def test_surfaces_draw_themselves(tmp_path):
    figure = BOX.plot(size=(300, 200), up="y")
    width, height = figure.get_size_inches() * figure.dpi
    assert (round(width), round(height)) <= (300, 200)
    plot.save_figure(figure, tmp_path / "box.png")
    assert (tmp_path / "box.png").read_bytes().startswith(b"\x89PNG")
    colours = np.tile([1.0, 0.0, 0.0], (BOX.n_vertices, 1))
    image = BOX.plot(colours, size=(60, 40)).axes[0].images[0].get_array()
    inside = np.asarray(image)[np.asarray(image)[..., 3] > 0.99]
    assert (inside[:, 0] > 2.0 * inside[:, 1]).mean() > 0.9
    for wrong in (np.zeros((BOX.n_vertices + 1, 3)), np.zeros(4)):
        with pytest.raises(rf.InputError, match=r"colours must have shape \(3,\), \(8, 3\) or"):
            BOX.plot(wrong)
    with pytest.raises(rf.InputError, match="colours must be from 0 to 1"):
        BOX.plot([0.0, 1.0, 2.0])
    with pytest.raises(rf.InputError, match=r"size\[1\] must be between 16 and 4096, got 3"):
        BOX.plot(size=(100, 3))


def test_objects_are_tables_with_pictures():
    world = make_world()
    shown = {
        "Surface": (world.surface, {"triangles": "28", "volume": "0.003 m³"}),
        "Mesh": (world.tets, {"elements": "6 tet4", "regions": "1"}),
        "Solid": (world.solid, {"material": "StVK", "mass": "3 kg", "fixed": "4 nodes"}),
        "Basis": (world.basis, {"vectors": "3", "method": "modal derivatives"}),
        "ReducedSolid": (world.reduced, {"coordinates": "3", "basis": "modal derivatives"}),
    }
    for title, (thing, rows) in shown.items():
        text = thing._repr_html_()
        root = ElementTree.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", text))
        assert root[0][0].text == title
        table = {row[0].text: row[1].text for row in root.iter("tr")}
        assert rows.items() <= table.items(), table
        pictures = [one.get("src") for one in root.iter("img")]
        assert len(pictures) == (title != "Basis")
        for source in pictures:
            picture = pytest.importorskip("PIL.Image").open(
                io.BytesIO(base64.b64decode(source.removeprefix("data:image/png;base64,")))
            )
            assert max(picture.size) in (150, 200)
    # fixed nodes are red
    red = np.asarray(world.solid._card().picture[2])
    assert (red[world.solid.mesh.nodes[world.solid.mesh.boundary_nodes, 0] < 1e-9, 0] > 0.8).all()
    system = rf.SystemBasis(np.eye(2), [1.0, 1.0], [1.0, 1.0])
    assert "unknowns" in system._repr_html_()


def test_texts_in_tables_are_escaped():
    basis = rf.Basis(np.ones((1, 4, 3)), [1.0], [1.0], {"method": "<script>"})
    assert "<script>" not in basis._repr_html_()


def test_tables_without_pillow_or_of_large_surfaces_have_no_picture(monkeypatch):
    many = rf.Surface(BOX.vertices, np.tile(BOX.triangles, (1300, 1)))
    assert "<img" not in many._repr_html_()
    assert "<img" in BOX._repr_html_()
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "<img" not in BOX._repr_html_()
