"""Files of a motion: animations for other programs, films, time series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reducedfem.cli.options import UsageError
from reducedfem.cli.paths import check_writable
from reducedfem.drawing.films import check_film
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import FileFormatError
from reducedfem.pictures.animation import animate
from reducedfem.pictures.gltf import export_gltf
from reducedfem.pictures.vtk import export_vtk
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["SUFFIXES", "check_export", "export"]

_MOST_FILES = 250  # of a time series

Tell = Callable[[int, int], object]
Export = Callable[[str, ReducedSolid, Motion, float, str, Tell], None]


def _gltf(
    path: str, model: ReducedSolid, motion: Motion, speed: float, up: str, tell: Tell
) -> None:
    del tell  # it is quick
    export_gltf(path, model, motion=motion, speed=speed, up=up)


def _film(
    path: str, model: ReducedSolid, motion: Motion, speed: float, up: str, tell: Tell
) -> None:
    animate(path, model, motion, speed=speed, up=up, progress=tell)


def _series(
    path: str, model: ReducedSolid, motion: Motion, speed: float, up: str, tell: Tell
) -> None:
    del speed, up  # ParaView has its own
    every = -(-len(motion) // _MOST_FILES)
    export_vtk(path, model, motion[::every], progress=tell)


_EXPORTS: Mapping[str, Export] = {
    ".glb": _gltf,
    ".gltf": _gltf,
    ".gif": _film,
    ".mp4": _film,
    ".pvd": _series,
}
SUFFIXES = tuple(_EXPORTS)


def check_export(path: str) -> None:
    """Refuse an unknown suffix, a missing program and a path that is not writable."""
    suffix = Path(path).suffix.lower()
    if suffix not in _EXPORTS:
        raise UsageError(f"--export: a motion goes to {', '.join(SUFFIXES)}, got {path!r}")
    check_writable(Path(path), "--export")
    if _EXPORTS[suffix] is _film:
        try:
            check_film(path)
        except FileFormatError as error:
            raise UsageError(f"--export: {error}") from None


def export(
    path: str, model: ReducedSolid, motion: Motion, speed: float, up: str, tell: Tell
) -> None:
    """Write a motion in the format of the suffix."""
    _EXPORTS[Path(path).suffix.lower()](path, model, motion, speed, up, tell)
