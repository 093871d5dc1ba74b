"""Figures of single surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import reals
from reducedfem.drawing.render import Shape, render
from reducedfem.drawing.style import PAPER, require_matplotlib
from reducedfem.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["surface_figure"]

_DPI = 150


def surface_figure(
    vertices: NDArray[np.float64],
    triangles: NDArray[np.int32],
    colours: ArrayLike,
    size: tuple[int, int],
    azimuth: float,
    elevation: float,
    up: str,
) -> Figure:
    """Return a figure of a surface; arguments as of `Surface.plot`."""
    require_matplotlib()
    from matplotlib.figure import Figure

    rgb = reals(colours, "colours")
    n = len(vertices)
    if rgb.shape not in ((3,), (n, 3), (n, 1)):
        raise InputError(
            f"colours must have shape (3,), ({n}, 3) or ({n}, 1) on the scale of displacements, "
            f"got {rgb.shape}"
        )
    if not ((rgb >= 0.0) & (rgb <= 1.0)).all():
        raise InputError("colours must be from 0 to 1")
    shape = Shape(vertices, rgb)
    image = render([shape], triangles, size, azimuth, elevation, margin=0.04, up=up)
    high, wide = image.shape[:2]
    figure = Figure(figsize=(wide / _DPI, high / _DPI), dpi=_DPI, facecolor=PAPER)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.imshow(image, interpolation="antialiased")
    axes.set_axis_off()
    return figure
