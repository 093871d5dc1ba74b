"""Scenes whose soft bodies have few cells under the sanitizers: making them takes long there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reducedfem.scenes import shapes
from repetitions import fewer

FINE = shapes.soften


@contextmanager
def coarse_bodies() -> Iterator[None]:
    """Let `shapes.soften` make meshes of at most 24 voxels a side, under the sanitizers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            shapes,
            "soften",
            lambda surface, held, r, young=4e5, resolution=40: FINE(
                surface, held, r, young, fewer(resolution, min(resolution, 24))
            ),
        )
        yield
