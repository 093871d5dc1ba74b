"""Values that colour surfaces: the map, its limits and the numbers beside it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import reducedfem as rf
from places import ROOT
from reducedfem import plot
from reducedfem.drawing.labels import bar_height, labelled
from reducedfem.drawing.style import MISSING, SCALE, VALUE_SCALE, on_scale
from reducedfem.drawing.values import Scale, scale_of
from shapes import box_hexes

pytestmark = pytest.mark.no_asan(reason="pictures, no C code of its own")

BOX = rf.Mesh(*box_hexes(1, 1, 1, (2.0, 1.0, 0.5))).surface()
END = {"azimuth": 0.0, "elevation": 0.0, "size": (60, 60)}  # where x is 2
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                   [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip


def lab(rgb):
    """Return colours in CIELAB (white D65)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x = linear @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1
    )


def test_equal_steps_of_values_are_equal_steps_of_colour():
    """The colour-blind see the lightness, which rises all the way."""
    seen = lab(on_scale(np.linspace(0.0, 1.0, 51), VALUE_SCALE))
    steps = np.linalg.norm(np.diff(seen, axis=0), axis=1)
    assert steps.std() < 0.06 * steps.mean()
    assert np.diff(seen[:, 0]).min() > 0.4
    assert np.ptp(seen[:, 0]) > 55.0
    # a missing value has a colour of its own
    grey = lab(np.array([MISSING]))
    assert np.linalg.norm(seen - grey, axis=1).min() > 20.0


def test_pages_have_the_same_colours():
    text = (ROOT / "python/reducedfem/viewer/page/bodies.js").read_text()
    for name, scale in (("SCALE", SCALE), ("VALUES", VALUE_SCALE)):
        numbers = re.search(rf"const {name} = \[(.*?)\];", text, re.DOTALL)[1]
        found = [float(one) for one in numbers.replace("\n", "").split(",") if one.strip()]
        np.testing.assert_array_equal(np.reshape(found, (-1, 3)), scale)


@pytest.mark.parametrize(
    ("low", "high", "unit", "title", "texts"),
    [
        (0.0, 3.47e6, "Pa", "s [MPa]", ["0", "1", "2", "3"]),
        (-4.6e3, 4.6e3, "Pa", "s [kPa]", ["-4", "-2", "0", "2", "4"]),
        (0.1, 0.32, "", "s", ["0.10", "0.15", "0.20", "0.25", "0.30"]),
        (273.0, 281.0, "K", "s [K]", ["274", "276", "278", "280"]),
        (0.0, 2.1e-5, "m²", "s [m²]", ["0", "5.0e-06", "1.0e-05", "1.5e-05", "2.0e-05"]),
        (7.0, 7.0, "N", "s [N]", ["7"]),
        (0.0, 0.0, "Pa", "s [Pa]", ["0"]),
    ],
)  # fmt: skip
def test_numbers_beside_the_scale_are_round(low, high, unit, title, texts):
    found, ticks = Scale("s", unit, low, high).ticks()
    assert found == title
    assert [text for _, text in ticks] == texts


def test_numbers_are_at_their_places(rng):
    for low, size in zip(rng.normal(0.0, 1e3, 200), 10.0 ** rng.uniform(-3, 6, 200), strict=True):
        _, ticks = Scale("s", "K", low, low + size).ticks()
        assert 2 <= len(ticks) <= 6
        values = [low + place * size for place, _ in ticks]
        steps = np.diff(values)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
        for value, (_, text) in zip(values, ticks, strict=True):
            assert float(text) == pytest.approx(value, abs=0.051 * steps[0] + 1e-12 * size)


def test_places_on_the_scale():
    scale = Scale("", "", 2.0, 4.0)
    found = scale.place(np.array([1.0, 2.0, 3.5, 9.0, np.nan]))
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.75, 1.0, np.nan])
    # neither a constant nor the largest numbers divide by zero or overflow
    constant = scale_of(plot.Values([0.0]), [np.array([5.0, 5.0 + 1e-9, np.nan])])
    np.testing.assert_array_equal(constant.place(np.array([5.0, 5.0 + 1e-9])), 0.0)
    assert constant.ticks() == ("grey: no value", [(0.0, "5")])
    wide = Scale("", "", -1.7e308, 1.7e308).place(np.array([-1.7e308, 0.0, 1.7e308]))
    np.testing.assert_allclose(wide, [0.0, 0.5, 1.0])


@pytest.mark.parametrize("limits", [None, (0.0, 4.0)])
def test_the_title_explains_grey_places_where_there_are_some(limits):
    values = plot.Values([0.0], "s", "Pa", limits)
    parts = [np.array([1.0, 2.0]), np.array([3.0, np.nan])]
    assert scale_of(values, parts[:1]).ticks()[0] == "s [Pa]"
    assert scale_of(values, parts).ticks()[0] == "s [Pa]; grey: no value"


def test_values_of_vertices_are_colours():
    x = BOX.vertices[:, 0]
    shape = plot.Shape(BOX.vertices, plot.Values(x, limits=(0.0, 4.0)))
    # a face of one value has its colour
    found = plot.render([shape], BOX.triangles, **END)
    same = plot.render(
        [plot.Shape(BOX.vertices, on_scale(np.array([0.5]), VALUE_SCALE)[0])], BOX.triangles, **END
    )
    np.testing.assert_allclose(found, same, atol=1e-12)


def test_vertices_without_a_value_are_grey():
    x = np.where(BOX.vertices[:, 0] > 1.0, np.nan, 1.0)
    for values in (x, np.full(len(x), np.nan)):
        shape = plot.Shape(BOX.vertices, plot.Values(values))
        found = plot.render([shape], BOX.triangles, **END)
        grey = plot.render([plot.Shape(BOX.vertices, MISSING)], BOX.triangles, **END)
        np.testing.assert_allclose(found, grey, atol=1e-12)


def test_a_surface_has_a_bar_of_its_values(tmp_path):
    values = plot.Values(1e3 * BOX.vertices[:, 0], "force", "N")
    figure = BOX.plot(values=values, size=(300, 200))
    picture, bar = figure.axes
    assert bar.get_ylabel() == "force [kN]"
    labels = {text.get_text(): place for text, place in
              zip(bar.get_yticklabels(), bar.get_yticks(), strict=True)}  # fmt: skip
    assert labels == pytest.approx({"0.0": 0.0, "0.5": 0.25, "1.0": 0.5, "1.5": 0.75, "2.0": 1.0})
    assert len(BOX.plot(size=(60, 40)).axes) == 1
    plot.save_figure(figure, tmp_path / "bar.png")
    with pytest.raises(rf.InputError, match=r"values must have shape \(8,\).*, got \(3,\)"):
        BOX.plot(values=np.zeros(3))
    with pytest.raises(rf.InputTypeError, match="values is a callable, but a surface alone"):
        BOX.plot(values=np.linalg.norm)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(data="x"), rf.InputTypeError, "data must be an array of real numbers, got dtype"),
        (dict(data=[1.0, np.inf]), rf.InputError, r"data\[1\] is infinite: .* or NaN where"),
        (dict(label=1), rf.InputTypeError, "label must be a text, got int"),
        (dict(unit=None), rf.InputTypeError, "unit must be a text, got NoneType"),
        (dict(limits=3), rf.InputTypeError, "limits must be two numbers or None, got 3"),
        (dict(limits=(1, "x")), rf.InputTypeError, r"limits\[1\] must be a number, got str"),
        (dict(limits=(2, 2)), rf.InputError, r"limits\[0\] must be below limits\[1\], got 2 and 2"),
        (dict(at="node"), rf.InputError, 'at must be "nodes" or "elements", got \'node\''),
    ],
)  # fmt: skip
def test_mistakes_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        plot.Values(**dict(data=np.zeros(8)) | arguments)


@pytest.mark.parametrize("size", [(160, 120), (90, 160), (20, 130), (640, 480)])
@pytest.mark.parametrize("clock", ["", "0.123 s", "10.888 s", "1000.000 s"])
def test_texts_of_films_are_apart(monkeypatch, size, clock):
    draw = pytest.importorskip("PIL.ImageDraw")
    boxes = []
    write = draw.ImageDraw.text

    def text(pen, place, string, **options):
        if string:
            boxes.append(pen.textbbox(place, string, font=options["font"]))
        write(pen, place, string, **options)

    monkeypatch.setattr(draw.ImageDraw, "text", text)
    wide, high = size
    picture = np.zeros((high - bar_height(high), wide, 3), np.uint8)
    for low, most in ((0.0, 3.2e6), (-2e7, 1.1e7), (0.9871, 0.9874)):
        del boxes[:]
        assert labelled(picture, clock, Scale("s", "", low, most), high).shape == (high, wide, 3)
        assert len(boxes) >= 2 + bool(clock)
        for k, one in enumerate(boxes):
            for other in boxes[:k]:
                assert (
                    one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
                )
