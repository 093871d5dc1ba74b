"""The demonstration, coarse and short, and the pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest

import reducedfem as rf
from commands import assert_png
from reducedfem import cli, plot
from reducedfem.drawing.render import corner_normals, upright
from reducedfem.drawing.style import SCALE
from reducedfem.pictures.shapes import drawn_shapes
from reducedfem.samples import demo
from shapes import box_hexes

pytest.importorskip("matplotlib")


@pytest.mark.no_asan(reason="public functions only, which the tests of their rooms run")
@pytest.mark.parametrize("surface", ["spoon", "bridge", "hose"])
def test_quick_demo(surface, capsys, tmp_path):
    out = tmp_path / "a" / "b"
    assert cli.main(["demo", "--quick", "--surface", surface, "--out", str(out)]) == 0
    text, err = capsys.readouterr()
    assert err == ""
    assert sorted(p.name for p in out.iterdir()) == [
        "model.safetensors",
        "shapes.png",
        "trajectory.png",
    ]
    assert_png(out / "shapes.png")
    assert_png(out / "trajectory.png")
    assert rf.load(out / "model.safetensors").r == 12
    for word in ("voxelize", "modes and derivatives", "reduce", "per step", "faster than 1 kHz",
                 "amplitude", "frequency", "rms difference", str(out)):  # fmt: skip
        assert word in text
    # a basis of 12 on these coarse meshes follows the motion to a few percent
    (amplitude,) = re.findall(r"amplitude +\S+ mm against \S+ mm: ([+-]\d+\.\d+) %", text)
    assert abs(float(amplitude)) < 10
    # two periods of the lowest mode, and no soft support: the frequency is near that of the mode
    (lowest,) = re.findall(r"modes from (\S+) Hz", text)
    (pair,) = re.findall(r"frequency +(\S+) Hz against (\S+) Hz: [+-]", text)
    for found in pair:
        assert float(found) == pytest.approx(float(lowest), rel=0.25)
    (rms,) = re.findall(r"rms difference +\S+ mm, (\S+) % of", text)
    assert float(rms) < 10


def test_demo_into_an_impossible_folder(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "--quick", "--out", str(tmp_path / "file" / "x")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("reducedfem: error: cannot make the folder")
    assert err.count("\n") == 1


# --- comparing ------------------------------------------------------------------------------


def test_frequency_of_sines():
    t = np.linspace(0.0, 3.0, 3001)
    for f, phase in ((1.7, 0.0), (2.3, 1.0), (0.9, 4.0)):
        # interpolating a passage through zero linearly errs by less than 1e-6 of the step
        measured = demo.dominant_frequency(t, np.sin(2 * np.pi * f * t + phase))
        assert measured == pytest.approx(f, rel=1e-6)
    assert demo.dominant_frequency(t, np.sin(2 * np.pi * 0.2 * t)) is None
    assert demo.dominant_frequency(t, np.zeros_like(t)) is None


def test_comparison_of_known_motions():
    t = np.linspace(0.0, 2.0, 2001)
    unreduced = np.stack([0 * t, 0 * t, 0.1 * np.sin(2 * np.pi * 2.0 * t)], axis=1)
    reduced = np.stack([0 * t, 0 * t, 0.09 * np.sin(2 * np.pi * 2.0 * t)], axis=1)
    result = demo.compare(t, reduced, unreduced)
    assert result.amplitude == pytest.approx((0.09, 0.1), rel=1e-6)
    assert result.frequency == pytest.approx((2.0, 2.0), rel=1e-6)
    # 0.01 sin has the mean square 0.01^2 / 2 over whole periods; the end point counts twice
    assert result.rms == pytest.approx(0.01 / np.sqrt(2), rel=1e-3)
    assert result.relative_rms == pytest.approx(0.1 / np.sqrt(2), rel=1e-3)


def test_instants_are_the_extremes_and_half_way():
    t = np.linspace(0.0, 1.0, 401)
    d = -np.sin(2 * np.pi * t)
    chosen = demo.instants(d, 4)
    # extremes at 1/4 and 3/4; half-way to them at 1/12 and 7/12
    np.testing.assert_allclose(t[chosen], [1 / 12, 1 / 4, 7 / 12, 3 / 4], atol=0.003)
    assert demo.instants(np.zeros(5), 4) == [0]


# --- surfaces that bend --------------------------------------------------------------------


def test_few_large_triangles_are_refined_without_gaps():
    box = rf.Mesh(*box_hexes(1, 1, 1, (0.3, 0.03, 0.01))).surface()
    assert box.n_triangles == 12
    fine = plot.refined(box)
    np.testing.assert_array_equal(fine.vertices[:8], box.vertices)
    corners = fine.vertices[fine.triangles]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    assert edges.max() <= 0.02 * np.linalg.norm([0.3, 0.03, 0.01])
    assert fine.is_closed
    assert fine.is_manifold
    assert fine.area == pytest.approx(box.area, rel=1e-12)
    assert fine.volume == pytest.approx(box.volume, rel=1e-12)
    assert fine.n_triangles <= 12 + 20_000
    # triangles that share no vertices, as those of STL files, are cut at the same places
    soup = rf.Surface(box.vertices[box.triangles].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert plot.refined(soup).is_closed
    assert plot.refined(soup).n_triangles == fine.n_triangles
    assert plot.refined(fine) is fine


def test_refining_is_bounded():
    nodes, elements = box_hexes(30, 30, 1, (1.0, 1.0, 1e-3))
    plate = rf.Mesh(nodes, elements).surface()
    far = rf.Surface(np.concatenate([nodes, [[0, 0, 0], [0, 9, 0], [9, 0, 0]]]),
                     np.concatenate([plate.triangles, [np.arange(3) + len(nodes)]]))  # fmt: skip
    for surface in (plate, far):
        assert surface.n_triangles < plot.refined(surface).n_triangles
        assert plot.refined(surface).n_triangles <= surface.n_triangles + 20_000


def test_colours_between_vertices_are_on_the_scale():
    places = square(0.0)[:, :1]
    image = plot.render([plot.Shape(square(0.0), places)], TWO, (100, 100), -90, 90, margin=0.0)
    for column in (5, 30, 50, 80):
        there = plot.colours([[(column + 0.5) / 100, 0, 0]], 1.0)[0]
        even = plot.render([plot.Shape(square(0.0), there)], TWO, (100, 100), -90, 90, margin=0.0)
        # a pixel is the mean of four places around it
        np.testing.assert_allclose(image[:, column], even[:, column], atol=0.01)
    # a mixture of the ends, grey and red, is nowhere green
    x = square(0.0)
    figure = plot.shapes_figure(x, TWO, [np.outer(x[:, 0], [0.0, 0.0, 1.0])], size=SMALL)
    drawn = figure.axes[0].images[0].get_array()
    assert (drawn[..., 1] > 1.2 * drawn[..., 0]).mean() > 0.01


# --- the rasteriser ----------------------------------------------------------------------------


def square(z: float, side: float = 1.0) -> np.ndarray:
    return np.array([[0, 0, z], [side, 0, z], [side, side, z], [0, side, z]], dtype=float)


TWO = np.array([[0, 1, 2], [0, 2, 3]])
RED, GREEN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
SMALL = (450, 330)  # pixels: a third of the usual side


def test_a_square_seen_from_above_fills_its_pixels():
    image = plot.render([plot.Shape(square(0.0), RED)], TWO, (100, 100), -90, 90, margin=0.1)
    assert image.shape == (100, 100, 4)
    covered = image[..., 3]
    # 80 x 80 pixels between borders of 10; every one once, none outside
    assert np.array_equal(np.flatnonzero(covered.max(axis=0)), np.arange(10, 90))
    assert np.array_equal(np.flatnonzero(covered.max(axis=1)), np.arange(10, 90))
    assert (covered[10:90, 10:90] == 1.0).all()
    # lit evenly: the square is flat
    assert np.ptp(image[10:90, 10:90, 0]) < 1e-12
    assert image[50, 50, 0] > image[50, 50, 1]


@pytest.mark.parametrize("order", [1, -1])
def test_the_nearer_hides_the_farther(order):
    shapes = [plot.Shape(square(0.0), RED), plot.Shape(square(1.0, 0.5), GREEN)][::order]
    image = plot.render(shapes, TWO, (60, 60), -90, 90, margin=0.0)
    assert image[45, 15, 1] > image[45, 15, 0]  # low left: the small one above
    assert image[15, 45, 0] > image[15, 45, 1]
    # from below it is hidden
    image = plot.render(shapes, TWO, (60, 60), -90, -90, margin=0.0)
    assert (image[..., 0] > image[..., 1]).all()


def test_intersecting_shapes_meet_where_they_are_equally_near():
    tilted = square(0.0)
    tilted[:, 2] = tilted[:, 0] - 0.3  # above the flat one for x > 0.3
    shapes = [plot.Shape(square(0.0), RED), plot.Shape(tilted, GREEN)]
    image = plot.render(shapes, TWO, (100, 100), -90, 90, margin=0.0, smoothing=1)
    green = image[50, :, 1] > image[50, :, 0]
    assert np.array_equal(green, (np.arange(100) + 0.5) / 100 > 0.3)


def test_a_translucent_shape_lets_through():
    shapes = [plot.Shape(square(1.0), GREEN, 0.25), plot.Shape(square(0.0), RED)]
    image = plot.render(shapes, TWO, (40, 40), -90, 90, margin=0.0)
    front, back = (
        plot.render([plot.Shape(square(0.0), c)], TWO, (40, 40), -90, 90, margin=0.0)[20, 20, :3]
        for c in (GREEN, RED)
    )
    np.testing.assert_allclose(image[20, 20, :3], 0.25 * front + 0.75 * back, atol=1e-12)
    alone = plot.render([plot.Shape(square(1.0), GREEN, 0.25)], TWO, (40, 40), -90, 90)
    assert alone[20, 20, 3] == pytest.approx(0.25)


def test_normals_are_smooth_on_a_cylinder_and_sharp_at_its_rim():
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    x = np.vstack([ring, ring + np.array([0, 0, 1]), [[0, 0, 1]]])
    i, j = np.arange(48), (np.arange(48) + 1) % 48
    sides = np.vstack([np.stack([i, j, j + 48], 1), np.stack([i, j + 48, i + 48], 1)])
    lid = np.stack([i + 48, j + 48, 0 * i + 96], 1)
    normals = corner_normals(x, np.vstack([sides, lid]).astype(np.int32))
    radial = x[sides] * [1, 1, 0]
    # the mean over neighbouring facets is radial to half a facet's angle
    assert (normals[:96] * radial).sum(axis=2).min() > np.cos(2 * np.pi / 96)
    np.testing.assert_allclose(normals[96:], np.broadcast_to([0, 0, 1.0], (48, 3, 3)), atol=1e-12)


def test_odd_shapes_are_drawn():
    with pytest.raises(rf.InputError, match="empty"):
        plot.render([], TWO)
    with pytest.raises(rf.InputError, match="too large"):
        plot.render([plot.Shape(square(0.0))], TWO, (40_000, 40_000), -90, 90, smoothing=1)
    # a triangle without area, a vertex that nothing uses, a surface seen edge-on
    x = np.vstack([square(0.0), [[100.0, 0, 0]]])
    image = plot.render([plot.Shape(x)], np.vstack([TWO, [[0, 0, 1]]]), (50, 50), -90, 90)
    assert image[25, 25, 3] == 1.0
    image = plot.render([plot.Shape(square(0.0))], TWO, (50, 50), -90, 0)
    assert np.isfinite(image).all()


def test_differences_of_several_curves():
    t = np.linspace(0, 1, 5)
    traces = [plot.Trace("a", t, t), plot.Trace("b", t, 3 * t), plot.Trace("c", t, -t)]
    above, below = plot.traces_figure(traces, quantity="height [m]", difference=True).axes
    assert below.get_ylabel() == "difference [m]"
    np.testing.assert_array_equal([line.get_ydata() for line in below.lines[:2]], [2 * t, -2 * t])
    colours = [line.get_color() for line in above.lines[1:3]]
    assert [line.get_color() for line in below.lines[:2]] == colours
    assert len(set(colours)) == 2


def test_figures_reach_files_whole_or_not_at_all(tmp_path):
    t = np.linspace(0, 1, 50)
    figure = plot.traces_figure([plot.Trace("a", t, t), plot.Trace("b", t, t**2)], difference=True)
    plot.save_figure(figure, tmp_path / "a.png")
    assert_png(tmp_path / "a.png")
    plot.save_figure(figure, tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(rf.FileFormatError, match=r"\.png"):
        plot.save_figure(figure, tmp_path / "a.docx")
    with pytest.raises(rf.FileFormatError, match="No such file"):
        plot.save_figure(figure, tmp_path / "no" / "a.png")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pdf", "a.png"]


def test_texts_beside_shapes_have_room():
    """They end before the scale and begin within the figure, on either side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    x, up = square(0.0), np.zeros((4, 3))
    for side in (0, 1, 2, 3):
        up[:] = 0.0
        up[side, 2] = 0.3
        figure = plot.shapes_figure(x, TWO, [up], ["0.0837 s"], size=SMALL)
        renderer = FigureCanvasAgg(figure).get_renderer()
        (text,) = figure.axes[0].texts
        box, scale = text.get_window_extent(renderer), figure.axes[1].get_window_extent(renderer)
        assert box.x0 >= 0.0
        assert box.x1 < scale.x0
    nothing = plot.shapes_figure(x, TWO, [0 * up], size=SMALL)
    assert nothing.axes[1].get_ylim() == (0.0, 1.0), "no displacement is negative"


def test_shapes_that_cover_each_other_are_drawn_once():
    """Otherwise one shows through the other in patches."""
    x, up = square(0.0), np.zeros((4, 3))
    up[:, 2] = 1.0

    def texts(*heights):
        labels = [f"at {h:g}" for h in heights]
        moved = [h * up for h in heights]
        figure = plot.shapes_figure(x, TWO, moved, labels, azimuth=-90, size=SMALL)
        return [t.get_text() for t in figure.axes[0].texts], figure.axes[1].get_ylabel()

    assert texts(0.1, 0.5) == (["at 0.1", "at 0.5"], "displacement [mm]")
    # thousandths of a pixel from each other, and from rest
    assert texts(0.5, 0.500001, 0.1) == (["at 0.500001", "at 0.1"], "displacement [mm]")
    assert texts(1e-6, 3e-6) == (["at 3e-06"], "displacement [µm]")
    assert texts(0.0) == (["at 0"], "displacement [mm]")


def test_a_shape_inside_the_one_at_rest_is_seen_through_it():
    vertices, quads = box_hexes(1, 1, 1, 1.0)
    body = rf.Mesh(vertices, quads).surface()
    x, view = body.vertices, (SMALL, -62.0, 20.0, 0.05, "z")
    for far, opacities, labels in ((0.4, [0.25, 1.0], ["far"]), (2.0, [1.0] * 3, ["far", "near"])):
        moved = [np.outer(x[:, 2], [0.5 * far, 0.0, 0.0]), np.outer(x[:, 2], [far, 0.0, 0.0])]
        reported = ["near", "far"]
        _, shapes, _ = drawn_shapes(x, body.triangles, moved, reported, far, 1.0, view)
        assert sorted(shape.opacity for shape in shapes) == opacities
        figure = plot.shapes_figure(x, body.triangles, moved, reported, size=SMALL)
        assert sorted(text.get_text() for text in figure.axes[0].texts) == labels


@pytest.mark.parametrize(
    ("largest", "unit"), [(12.0, "m"), (0.999, "mm"), (2e-6, "µm"), (3e-9, "nm"), (0.0, "mm")]
)
def test_units_of_lengths(largest, unit):
    name, factor = plot.length_unit(largest)
    assert (name, largest == 0 or 1 <= largest * factor < 1000) == (unit, True)


def test_colours_run_from_rest_to_the_largest():
    u = np.array([[0, 0, 0], [0, 0, 0.5], [0, 1.0, 0]])
    colours = plot.colours(u, 1.0)
    np.testing.assert_allclose(colours[0], SCALE[0])
    np.testing.assert_allclose(colours[2], SCALE[-1])
    assert ((colours >= 0) & (colours <= 1)).all()
    np.testing.assert_allclose(plot.colours(np.zeros((3, 3)), 0.0), [SCALE[0]] * 3)


@pytest.mark.parametrize("up", plot.UP)
def test_the_axis_that_is_up(up):
    """A picture with that axis up is that of the surface turned so that z is."""
    x = np.array([[0.0, 0, 0], [1, 0.2, 0.1], [0.3, 2, 0.4], [0.1, 0.5, 3]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    turn = upright(up)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3))
    assert np.linalg.det(turn) == pytest.approx(1.0)
    height = (-1.0 if up[0] == "-" else 1.0) * x[:, "xyz".index(up[-1])]
    np.testing.assert_allclose((x @ turn.T)[:, 2], height)
    image = plot.render([plot.Shape(x)], faces, (60, 60), up=up)
    expected = plot.render([plot.Shape(x @ turn.T)], faces, (60, 60))
    np.testing.assert_allclose(image, expected, atol=1e-9)
    with pytest.raises(rf.InputError, match="up must be one of z, y, x"):
        plot.render([plot.Shape(x)], faces, (60, 60), up="up")
