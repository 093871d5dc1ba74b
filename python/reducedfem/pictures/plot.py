"""Pictures of shaded surfaces and trajectories.

A small rasteriser with a depth buffer draws surfaces, so intersecting shapes hide each other
correctly. Matplotlib, required for figures only, is the optional dependency
``reducedfem[plot]``; its global state is not changed.
"""

from __future__ import annotations

from reducedfem.drawing.render import UP, Shape, frame_of, render
from reducedfem.drawing.style import (
    check_picture,
    colours,
    length_unit,
    require_matplotlib,
    save_figure,
)
from reducedfem.drawing.values import Values
from reducedfem.geometry.refine import refined
from reducedfem.pictures.animation import animate
from reducedfem.pictures.sessions import session_figure
from reducedfem.pictures.shapes import shapes_figure
from reducedfem.pictures.traces import Trace, traces_figure
from reducedfem.pictures.values import values_figure

__all__ = [
    "UP",
    "Shape",
    "Trace",
    "Values",
    "animate",
    "check_picture",
    "colours",
    "frame_of",
    "length_unit",
    "refined",
    "render",
    "require_matplotlib",
    "save_figure",
    "session_figure",
    "shapes_figure",
    "traces_figure",
    "values_figure",
]
