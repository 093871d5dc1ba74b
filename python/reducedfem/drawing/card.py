"""Objects in notebooks: a small table and a small picture."""

from __future__ import annotations

import base64
import io
from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.drawing.render import Shape, render

__all__ = ["Card", "CardContents", "extent_text"]

_SIZE = (200, 150)  # of the picture [pixels]
_MOST_TRIANGLES = 15_000  # drawn within some 50 ms
_INK = "rgba(128,128,128,0.35)"


class CardContents(NamedTuple):
    """Title, rows of the table, and the picture: vertices, triangles and colours, or None."""

    title: str
    rows: Sequence[tuple[str, str]]
    picture: tuple[NDArray[np.float64], NDArray[np.int32], ArrayLike] | None = None


class Card:
    """Base class of objects that notebooks show as a table and a picture."""

    __slots__ = ()

    @abstractmethod
    def _card(self) -> CardContents:
        """Return what is shown."""

    def _repr_html_(self) -> str:
        title, rows, picture = self._card()
        table = "".join(
            f'<tr><td style="text-align:left;opacity:0.65;padding:1px 12px 1px 0">{escape(name)}'
            f'</td><td style="text-align:left;padding:1px 0">{escape(value)}</td></tr>'
            for name, value in rows
        )
        image = None if picture is None else _thumbnail(*picture)
        drawn = (
            ""
            if image is None
            else f'<img alt="{escape(title)}" src="data:image/png;base64,{image}" '
            'style="margin:0;max-width:200px;align-self:center">'
        )
        return (
            '<div style="display:inline-flex;gap:20px;align-items:flex-start;padding:10px 14px;'
            f'border:1px solid {_INK};border-radius:8px;font-size:90%">'
            f'<div><div style="font-weight:600;margin-bottom:4px">{escape(title)}</div>'
            f'<table style="border:none;margin:0"><tbody>{table}</tbody></table></div>{drawn}</div>'
        )


def _thumbnail(
    vertices: NDArray[np.float64], triangles: NDArray[np.int32], colours: ArrayLike
) -> str | None:
    """Return a PNG picture in base64; None without Pillow, or for many triangles."""
    if len(triangles) > _MOST_TRIANGLES:
        return None
    try:
        from PIL import Image
    except ImportError:
        return None
    picture = render([Shape(vertices, colours)], triangles, _SIZE, smoothing=1)
    file = io.BytesIO()
    Image.fromarray(np.round(255.0 * picture).astype(np.uint8)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode("ascii")


def extent_text(bounds: NDArray[np.float64]) -> str:
    """Return the lengths of a box (2, 3) along the axes as text."""
    return " x ".join(f"{one:.3g}" for one in np.ptp(bounds, axis=0)) + " m"
