"""Figures of deformed surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.drawing.render import Frame, Shape, draw, frame_of
from reducedfem.drawing.style import (
    INK,
    PAPER,
    SCALE,
    length_unit,
    place_on_scale,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawn_shapes", "shapes_figure"]

Array = NDArray[np.float64]

_WITHIN = 0.5  # displacement over the shortest side below which shapes mostly overlap
_THROUGH = 0.25  # opacity of a transparent shape at rest
_INDISTINGUISHABLE = 2.0  # pixels between shapes that are not drawn separately


def _distinct(
    frame: Frame, rest: Array, moved: Sequence[Array], labels: Sequence[str]
) -> tuple[bool, list[tuple[Array, str]]]:
    """Return True to draw the shape at rest, and the deformed shapes to draw.

    Shapes within a pixel or two of each other would be drawn in patches; only the one with the
    larger displacement is drawn.
    """
    texts = [*labels, *[""] * len(moved)]
    order = sorted(range(len(moved)), key=lambda i: -float(np.linalg.norm(moved[i], axis=1).max()))
    seen: list[Array] = []
    kept: list[int] = []

    def new(x: Array) -> bool:
        at = frame.pixels(x)
        if any(np.abs(at - other).max() <= _INDISTINGUISHABLE for other in seen):
            return False
        seen.append(at)
        return True

    for i in order:
        if new(rest + moved[i]):
            kept.append(i)
    return new(rest), [(moved[i], texts[i]) for i in sorted(kept)]


def drawn_shapes(
    x: Array,
    faces: NDArray[np.int32],
    moved: Sequence[Array],
    labels: Sequence[str],
    largest: float,
    rest_opacity: float,
    view: tuple[tuple[int, int], float, float, float, str],
) -> tuple[Frame, list[Shape], list[tuple[Array, str]]]:
    """Return the frame, the shapes to draw and the deformed ones among them with their texts.

    `largest` is the largest displacement, `view` the other arguments of `frame_of`.
    """
    if moved and largest < _WITHIN * float(np.ptp(x, axis=0).min()):
        # opaque shapes that mostly overlap would be drawn in patches
        far = max(range(len(moved)), key=lambda i: float(np.linalg.norm(moved[i], axis=1).max()))
        moved, labels, rest_opacity = [moved[far]], [labels[far]], min(rest_opacity, _THROUGH)
    at_rest = Shape(x, SCALE[0], rest_opacity)
    every = [at_rest, *(Shape(x + u, place_on_scale(u, largest)) for u in moved)]
    frame = frame_of(every, faces, *view)
    with_rest, distinct = _distinct(frame, x, moved, labels)
    shapes = [Shape(x + u, place_on_scale(u, largest)) for u, _ in distinct]
    return frame, [at_rest, *shapes] if with_rest else shapes, distinct


def shapes_figure(
    rest: ArrayLike,
    triangles: ArrayLike,
    displacements: Sequence[ArrayLike],
    labels: Sequence[str] = (),
    title: str = "",
    azimuth: float = -62.0,
    elevation: float = 20.0,
    rest_opacity: float = 1.0,
    size: tuple[int, int] = (1500, 1100),
    up: str = "z",
) -> Figure:
    """Draw a surface at rest and deformed, in one frame, coloured by displacement.

    Parameters
    ----------
    rest
        Vertices at rest [m], shape (v, 3).
    triangles
        Vertex indices, shape (t, 3).
    displacements
        One or more displacements of the vertices [m], each (v, 3). If shapes differ by less than a
        pixel or two, only the one with the largest displacement is drawn. If all displacements are
        below half of the shortest side of the bounding box, only the largest one is drawn, with a
        transparent shape at rest.
    labels
        Text beside each deformed shape.
    title
        Text above the picture.
    azimuth, elevation
        Direction to the viewer [degrees].
    rest_opacity
        Opacity of the shape at rest, 0 to 1.
    size
        Largest width and height of the shapes [pixels].
    up
        Axis that is up in the picture; see `render`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    x = np.asarray(rest, dtype=np.float64)
    faces = np.asarray(triangles, dtype=np.int32)
    moved = [np.asarray(u, dtype=np.float64) for u in displacements]
    largest = max((float(np.linalg.norm(u, axis=1).max()) for u in moved), default=0.0)
    view = (size, azimuth, elevation, 0.05, up)
    frame, shapes, distinct = drawn_shapes(x, faces, moved, labels, largest, rest_opacity, view)
    image = draw(frame, shapes, faces, 2)

    width, height = frame.size
    # room for texts at both sides [inch]: a letter of 9 points is about 0.07 wide, the gap 0.17
    longest = max((len(label) for _, label in distinct), default=0)
    aside = 0.07 * longest + 0.17 if longest else 0.0
    figure = Figure(figsize=(width / 150 + 1.1 + 2 * aside, height / 150 + 0.55), facecolor=PAPER)
    total = figure.get_size_inches()
    part = (width / 150 / total[0], height / 150 / total[1])
    axes = figure.add_axes((aside / total[0], 0.0, *part))
    axes.imshow(image, interpolation="antialiased")
    axes.set_axis_off()
    # labels beside the part with the largest displacement, outside the shape
    for u, label in distinct:
        seen = frame.pixels(x + u)[:, :2]
        tip = seen[np.linalg.norm(u, axis=1).argmax()]
        way = tip - (seen.min(axis=0) + seen.max(axis=0)) / 2
        across, down = way / max(float(np.linalg.norm(way)), 1e-300)
        axes.annotate(
            label,
            (tip[0], tip[1]),
            xytext=(12 * across, -12 * down),
            textcoords="offset points",
            color=INK,
            fontsize=9,
            ha="left" if across > 0.3 else "right" if across < -0.3 else "center",
            va="top" if down > 0.3 else "bottom" if down < -0.3 else "center",
        )
    # a bold letter of 12 points is about 0.1 inch wide
    letters = 12 * min(1.0, (total[0] - 0.5) / (0.1 * max(len(title), 1)))
    figure.text(
        0.03, 1 - 0.16 / total[1], title, color=INK, fontsize=letters, va="top", weight="bold"
    )
    unit, factor = length_unit(largest)
    scale = ScalarMappable(
        Normalize(0.0, largest * factor or 1.0),
        LinearSegmentedColormap.from_list("moved", list(SCALE)),
    )
    bar_axes = figure.add_axes((1 - 0.85 / total[0], 0.25, 0.14 / total[0], 0.5))
    bar = figure.colorbar(scale, cax=bar_axes)
    bar.set_label(f"displacement [{unit}]", color=INK)
    bar.outline.set_visible(False)
    bar_axes.tick_params(colors=INK, length=0)
    return figure
