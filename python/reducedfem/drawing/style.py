"""Colours, and files of pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.errors import FileFormatError, MissingMatplotlibError
from reducedfem.io.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "MISSING",
    "PAPER",
    "SCALE",
    "VALUE_SCALE",
    "check_picture",
    "colours",
    "length_unit",
    "on_paper",
    "on_scale",
    "place_on_scale",
    "require_matplotlib",
    "save_figure",
]

Array = NDArray[np.float64]

INK = "#2b2f36"
PAPER = "#f7f8fa"
# colours from no displacement to the largest
SCALE = np.array(
    [
        [0.87, 0.88, 0.90],
        [0.56, 0.79, 0.87],
        [0.16, 0.60, 0.66],
        [0.60, 0.74, 0.36],
        [0.97, 0.72, 0.24],
        [0.86, 0.27, 0.22],
    ]
)
# colours of values, from the least to the largest: the upper four fifths of viridis (CC0), at equal
# distances in CIELAB; lightness rises all the way, so that they differ for the colour-blind too
VALUE_SCALE = np.array(
    [
        [0.25, 0.27, 0.53],
        [0.17, 0.45, 0.56],
        [0.12, 0.62, 0.54],
        [0.30, 0.76, 0.42],
        [0.63, 0.85, 0.22],
        [0.99, 0.91, 0.14],
    ]
)
MISSING = (0.62, 0.62, 0.62)  # colour of places without a value


def require_matplotlib() -> None:
    """Raise `MissingMatplotlibError` if pictures cannot be drawn."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError as error:
        raise MissingMatplotlibError(
            "pictures need matplotlib, which is not installed: pip install 'reducedfem[plot]'"
        ) from error


def colours(displacement: ArrayLike, largest: float) -> Array:
    """Return a colour for each vertex by the length of its displacement.

    Parameters
    ----------
    displacement
        Displacements of the vertices [m], shape (v, 3).
    largest
        Length [m] of the last colour of the scale.

    Returns
    -------
    (v, 3) array
        Red, green and blue from 0 to 1; the colour of rest for zero displacement.
    """
    return on_scale(place_on_scale(displacement, largest)[:, 0])


def place_on_scale(displacement: ArrayLike, largest: float) -> Array:
    """Return the position of each vertex on the colour scale, (v, 1)."""
    far = np.linalg.norm(np.asarray(displacement, dtype=np.float64), axis=1, keepdims=True)
    return np.asarray(far / max(largest, 1e-300))


def on_scale(place: Array, scale: Array = SCALE) -> Array:
    """Return the colours at positions from 0 to 1 on a scale, (n, 3)."""
    stops = np.linspace(0.0, 1.0, len(scale))
    return np.stack([np.interp(place, stops, scale[:, axis]) for axis in range(3)], axis=1)


def on_paper(image: Array) -> NDArray[np.uint8]:
    """Return a picture of `render` on the colour of paper, (h, w, 3)."""
    paper = np.array([int(PAPER[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    alpha = image[..., 3:]
    mixed: NDArray[np.uint8] = np.round(
        255.0 * (image[..., :3] * alpha + paper * (1.0 - alpha))
    ).astype(np.uint8)
    return mixed


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a picture with an unknown suffix, before long work.

    Parameters
    ----------
    path
        Name of the file of the picture.

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    FileFormatError
        The suffix is not that of a picture format.
    """
    require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    if Path(path).suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise FileFormatError(
            f"cannot write {str(path)!r}: a picture goes to .png, .pdf, .svg or .jpg"
        )


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a figure to a file; replace an existing one only when the new one is complete.

    Parameters
    ----------
    figure
        A figure, for example from `shapes_figure` or `traces_figure`.
    path
        Name of the file; its suffix selects the format.
    dpi
        Resolution [pixels per inch].

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    FileFormatError
        The suffix is not that of a picture format, or the file cannot be written.
    """
    check_picture(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=dpi, facecolor=figure.get_facecolor())


def length_unit(largest: float) -> tuple[str, float]:
    """Return a suitable unit for lengths up to `largest`, and the number of units per metre.

    Parameters
    ----------
    largest
        Largest length [m].

    Returns
    -------
    (str, float)
        Name and number, such as ``("mm", 1e3)``.
    """
    for unit, factor in (("m", 1.0), ("mm", 1e3), ("µm", 1e6)):
        if largest * factor >= 1.0:
            return unit, factor
    return ("nm", 1e9) if largest > 0.0 else ("mm", 1e3)
