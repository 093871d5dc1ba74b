"""Scenes whose soft bodies have few cells under the sanitizers: making them takes long there."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reducedfem.scenes import shapes
from repetitions import fewer

FINE = shapes.soften


@contextmanager
def coarse_bodies() -> Iterator[None]:
    """Let `shapes.soften` make meshes of at most 24 voxels a side, under the sanitizers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "soften", coarse)
        yield


def coarse(*given: Any, **options: Any) -> Any:
    of = inspect.signature(FINE).bind(*given, **options)
    of.apply_defaults()
    resolution = of.arguments["resolution"]
    of.arguments["resolution"] = fewer(resolution, min(resolution, 24))
    return FINE(*of.args, **of.kwargs)
