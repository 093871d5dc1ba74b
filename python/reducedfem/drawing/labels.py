"""Texts and colour bars in pictures of films, by Pillow."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.drawing.style import INK, PAPER
from reducedfem.drawing.values import Scale, value_colours

__all__ = ["bar_height", "labelled"]

_LEAST = 120  # height of a picture with room for a colour bar [pixels]
_NARROW = 14  # width over the size of letters, below which the text is above the bar
_CLOCK = "00.000 s"


def _letters(height: int) -> int:
    """Return the size of letters in a picture [pixels]."""
    return max(11, round(height / 30))


def bar_height(height: int) -> int:
    """Return the height of the strip of a colour bar at the bottom of a picture [pixels]."""
    return 4 * _letters(height) if height >= _LEAST else 0


def labelled(
    picture: NDArray[np.uint8], label: str, scale: Scale | None, whole: int
) -> NDArray[np.uint8]:
    """Return a picture (h, w, 3) with a text in a corner, and a colour bar if there is a scale.

    The result has the height `whole`; the strip of the bar is below the picture.
    """
    if not label and scale is None:
        return picture
    from PIL import Image, ImageDraw, ImageFont

    high, wide = picture.shape[:2]
    drawn = Image.new("RGB", (wide, whole), PAPER)
    drawn.paste(Image.fromarray(picture))
    letters = _letters(whole)
    try:
        font: Any = ImageFont.load_default(letters)
    except TypeError:  # of Pillow before 10.1 it has one size
        font = ImageFont.load_default()
    pen = ImageDraw.Draw(drawn)
    narrow = wide < _NARROW * letters
    pen.text((letters, (high if narrow else whole) - 2 * letters), label, fill=INK, font=font)
    if scale is not None and whole > high:
        # room for any digits, so that the bar of a film stays in its place
        digits = max(re.sub("[0-9]", "0", label), _CLOCK, key=len)
        room = pen.textlength(digits, font=font) if label and not narrow else 0.0
        _draw_bar(drawn, pen, scale, (round(letters + room), high), letters, font)
    return np.asarray(drawn)


def _draw_bar(
    drawn: Any, pen: Any, scale: Scale, corner: tuple[int, int], letters: int, font: Any
) -> None:
    """Draw the title, the bar and its numbers on the right of a corner."""
    from PIL import Image

    title, ticks = scale.ticks()
    longest, gap = max(pen.textlength(text, font=font) for _, text in ticks), letters // 2
    left, top = max(drawn.width // 3, corner[0] + gap + math.ceil(0.5 * longest)), corner[1]
    width = max(drawn.width - left - 2 * letters, 1)
    # on a short bar every k-th number
    step = width * (ticks[1][0] - ticks[0][0]) if len(ticks) > 1 else width
    ticks = ticks[:: math.ceil((longest + gap) / step)]
    # a long title begins farther to the left
    room = drawn.width - letters - pen.textlength(title, font=font)
    pen.text((min(left, max(room, 0)), top), title, fill=INK, font=font)
    row = np.uint8(np.round(255.0 * value_colours(np.linspace(0.0, 1.0, width))))
    bar = np.broadcast_to(row, (max(letters // 2, 4), width, 3))
    drawn.paste(Image.fromarray(np.ascontiguousarray(bar)), (left, top + round(1.4 * letters)))
    for place, text in ticks:
        half = 0.5 * pen.textlength(text, font=font)
        pen.text((left + place * width - half, top + 2 * letters), text, fill=INK, font=font)
