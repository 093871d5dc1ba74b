"""Figures of single surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import reals
from reducedfem.drawing.render import Shape, render
from reducedfem.drawing.style import INK, PAPER, VALUE_SCALE, require_matplotlib
from reducedfem.drawing.values import Scale, Values, scale_of, vertex_values
from reducedfem.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["surface_figure"]

_DPI = 150
_ASIDE = 1.25  # width of a colour bar with its texts [inch]
_LEAST_HEIGHT = 1.6  # of a figure with a colour bar [inch]


def _checked_colours(colours: ArrayLike, n: int) -> NDArray[np.float64]:
    rgb = reals(colours, "colours")
    if rgb.shape not in ((3,), (n, 3), (n, 1)):
        raise InputError(
            f"colours must have shape (3,), ({n}, 3) or ({n}, 1) on the scale of displacements, "
            f"got {rgb.shape}"
        )
    if not ((rgb >= 0.0) & (rgb <= 1.0)).all():
        raise InputError("colours must be from 0 to 1")
    return rgb


def surface_figure(
    vertices: NDArray[np.float64],
    triangles: NDArray[np.int32],
    colours: ArrayLike | Values,
    size: tuple[int, int],
    azimuth: float,
    elevation: float,
    up: str,
    title: str = "",
) -> Figure:
    """Return a figure of a surface; arguments as of `Surface.plot`."""
    require_matplotlib()
    from matplotlib.figure import Figure

    scale = None
    if isinstance(colours, Values):
        scale = scale_of(colours, [vertex_values(colours, len(vertices))])
    else:
        colours = _checked_colours(colours, len(vertices))
    image = render([Shape(vertices, colours)], triangles, size, azimuth, elevation, 0.04, up=up)
    high, wide = (one / _DPI for one in image.shape[:2])
    aside = 0.0 if scale is None else _ASIDE
    above = 0.35 if title else 0.0
    below = high if scale is None else max(high, _LEAST_HEIGHT)
    whole = (wide + aside, below + above)
    figure = Figure(figsize=whole, dpi=_DPI, facecolor=PAPER)
    place = (0.0, 0.5 * (below - high) / whole[1], wide / whole[0], high / whole[1])
    axes = figure.add_axes(place)
    axes.imshow(image, interpolation="antialiased")
    axes.set_axis_off()
    if title:
        figure.text(0.12 / whole[0], 1 - 0.12 / whole[1], title, color=INK, va="top", weight="bold")
    if scale is not None:
        _add_bar(figure, scale, (wide + 0.1, 0.18 * below, 0.13, 0.64 * below))
    return figure


def _add_bar(figure: Figure, scale: Scale, box: tuple[float, float, float, float]) -> None:
    """Add a colour bar in a box: left, bottom, width and height [inch]."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    wide, high = figure.get_size_inches()
    axes = figure.add_axes((box[0] / wide, box[1] / high, box[2] / wide, box[3] / high))
    colours = LinearSegmentedColormap.from_list("values", list(VALUE_SCALE))
    bar = figure.colorbar(ScalarMappable(Normalize(0.0, 1.0), colours), cax=axes)
    title, ticks = scale.ticks()
    bar.set_ticks([place for place, _ in ticks], labels=[text for _, text in ticks])
    bar.set_label(title, color=INK, fontsize=9)
    bar.outline.set_visible(False)
    axes.tick_params(colors=INK, length=0, labelsize=9)
