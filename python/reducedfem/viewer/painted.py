"""Values that colour bodies of views."""

from __future__ import annotations

import textwrap
import threading
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem.drawing.values import Scale, scale_of
from reducedfem.errors import MeshError, PlausibilityWarning
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.pictures.subject import Subject
from reducedfem.pictures.values import GivenValues, SurfaceValues
from reducedfem.viewer.parts import GREY, Body

__all__ = ["Painter", "at_rest", "legend", "levels", "painted"]

Reals = NDArray[np.float64]

_LAST, _NONE = 254, 255  # levels of the last colour, and of vertices without a value
_LONGEST = 300  # letters of the text of an error


def levels(scale: Scale, values: Reals) -> NDArray[np.uint8]:
    """Return colours as numbers of a byte: 0 to 254 along the scale, 255 without a value."""
    place = scale.place(values)
    return np.where(np.isnan(place), _NONE, np.rint(_LAST * np.nan_to_num(place))).astype(np.uint8)


def legend(scale: Scale) -> dict[str, Any]:
    """Return the texts of a scale for a message."""
    title, ticks = scale.ticks()
    return {"title": title, "ticks": ticks}


def at_rest(values: GivenValues | None, model: Surface | Mesh) -> SurfaceValues | None:
    """Return the argument `values` of an object without a motion, or None."""
    if values is None:
        return None
    shown = SurfaceValues(values, Subject(model, None, None))
    shown.rest()  # refuses values that change
    return shown


def painted(body: Body, shown: SurfaceValues, source: NDArray[np.int32]) -> Body:
    """Return a body at rest with values; `source` has the vertex of each vertex of the body."""
    scale = scale_of(shown.values, [shown.rest()])
    colours = levels(scale, shown.rest()[source])
    return replace(body, colour=GREY, colours=None, levels=colours, legend=legend(scale))


class Paint(NamedTuple):
    """Colours of a body in one state."""

    levels: NDArray[np.uint8]
    legend: dict[str, Any]
    failure: str  # of the user's function, which leaves the body grey; empty: none


class Painter:
    """Values of a body that moves; their scale grows with them, unless it has limits.

    A function that fails at construction is refused; in later states it leaves the body grey, and
    the first failure is a `PlausibilityWarning`. Methods may be called from several threads.
    """

    def __init__(self, values: GivenValues, subject: Subject, n_nodes: int) -> None:
        self._shown = SurfaceValues(values, subject)
        self._scale: Scale | None = None
        self._lock = threading.Lock()
        self._last: tuple[Reals, Paint] | None = None
        self._warned = False
        self._shown.of(np.zeros((n_nodes, 3)))  # refuses functions of other results, early

    @property
    def changes(self) -> bool:
        """True if the values follow the displacements."""
        return self._shown.single is None

    def coloured(self, body: Body) -> Body:
        """Return the body of the scene: with its values, or grey if these change."""
        grey = replace(body, colour=GREY)
        if self._shown.single is None:
            return grey
        scale = self._shown.scale()
        return replace(grey, levels=levels(scale, self._shown.single), legend=legend(scale))

    def reset(self) -> None:
        """Forget the least and the largest value so far."""
        with self._lock:
            self._scale = self._last = None

    def painted(self, u: Reals) -> Paint:
        """Return the colours at displacements of the nodes (n, 3)."""
        # a paused simulation has many frames of one state
        with self._lock:
            if self._last is None or not np.array_equal(self._last[0], u):
                self._last = u.copy(), self._evaluated(u)
            return self._last[1]

    def _evaluated(self, u: Reals) -> Paint:
        values, failure = np.full(self._shown.n_vertices, np.nan), ""
        try:
            values = self._shown.of(u)
        except MeshError:  # elements are inside out
            pass
        except Exception as error:  # the function is the user's
            failure = self._failed(error)
        before = self._scale
        if before is not None and np.isnan(values).all():
            return Paint(levels(before, values), legend(before), failure)
        now = scale_of(self._shown.values, [values])
        if before is not None:
            now = now._replace(missing=now.missing or before.missing)
            if self._shown.values.limits is None:
                now = now._replace(low=min(now.low, before.low), high=max(now.high, before.high))
        if not np.isnan(values).all():
            self._scale = now
        return Paint(levels(now, values), legend(now), failure)

    def _failed(self, error: Exception) -> str:
        """Return the text of a failure; warn of the first one."""
        data = self._shown.values.data
        name = getattr(data, "__name__", type(data).__name__)
        said = textwrap.shorten(f"{type(error).__name__}: {error}", _LONGEST, placeholder=" …")
        text = f"{name} failed, {said.removesuffix(':')}"
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"values: {text}; the page is grey in states without values, and the simulation "
                "continues",
                PlausibilityWarning,
                stacklevel=1,
            )
        return text
