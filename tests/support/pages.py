"""Pages of views in a browser: their first picture, and what they draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from browser import Browser

if TYPE_CHECKING:
    from reducedfem import View

DRAWN = "(window.reducedfem?.frames ?? 0) > 0"


def shown(browser: Browser, view: View, query: str = "") -> None:
    """Open the page of a view and wait for its first picture."""
    browser.open(view.address + query)
    browser.wait(DRAWN)


def read(browser: Browser, body: int = 0) -> Iterator[Any]:
    """Return positions and normals of a body as the shaders move them."""
    found = browser.run(
        f"const one = window.reducedfem.drawing.read({body});"
        "return [Array.from(one.positions), Array.from(one.normals)];"
    )
    return (np.reshape(one, (-1, 3)) for one in found)


def on_screen(browser: Browser, point: Any) -> tuple[int, int]:
    """Return a place [m] as an offset from the middle of the picture [pixels], for selenium."""
    x, y = browser.run(
        "const page = window.reducedfem, { canvas } = page.drawing, c = page.scene.centre;"
        "const m = page.camera.matrices(canvas.width / canvas.height);"
        "const point = [...arguments[0].map((x, k) => x - c[k]), 1];"
        "const times = (a, v) => [0, 1, 2, 3].map((r) =>"
        "  a[r] * v[0] + a[4 + r] * v[1] + a[8 + r] * v[2] + a[12 + r] * v[3]);"
        "const at = times(m.projection, times(m.camera, point));"
        "return [0.5 * canvas.clientWidth * at[0] / at[3],"
        "        -0.5 * canvas.clientHeight * at[1] / at[3]];",
        [float(value) for value in point],
    )
    return round(x), round(y)
