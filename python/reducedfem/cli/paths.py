"""Paths that commands read and write: files, or samples by name."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from reducedfem import samples
from reducedfem.base.check import did_you_mean
from reducedfem.cli.options import UsageError
from reducedfem.errors import FileFormatError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.mesh_files import read_mesh
from reducedfem.geometry.surface import Surface, read_surface
from reducedfem.io.saved import MESHES
from reducedfem.io.surface_files import SURFACE_SUFFIXES
from reducedfem.reduction.reduced import ReducedSolid

__all__ = [
    "check_writable",
    "is_sample",
    "is_surface",
    "open_mesh",
    "open_model",
    "open_surface",
    "refuse_same",
]


def check_writable(path: Path, option: str) -> None:
    """Refuse an output path that is not writable, before the work."""
    if path.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r} ({option}): it is a folder")
    folder = path.parent
    if not folder.is_dir():
        raise FileFormatError(
            f"cannot write {str(path)!r} ({option}): there is no folder {str(folder)!r}"
        )
    if not os.access(folder, os.W_OK):
        raise FileFormatError(f"cannot write {str(path)!r} ({option}): the folder is not writable")
    try:
        # a test file, because permissions do not restrict the superuser but file systems do
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FileFormatError(
            f"cannot write {str(path)!r} ({option}): {error.strerror or error}"
        ) from None


def refuse_same(read: Sequence[str], written: Mapping[str, str | None]) -> None:
    """Refuse a file that is both read and written, or written twice."""
    seen = {Path(name).resolve(): "the input" for name in read}
    for name, given in written.items():
        if given is None:
            continue
        place = Path(given).resolve()
        if place in seen:
            raise UsageError(f"{seen[place]} and {name} are the same file, {given!r}")
        seen[place] = name


def is_sample(name: str) -> bool:
    """Return True if a name is that of a sample and no file has that name."""
    return name in samples.names() and not os.path.lexists(name)


def is_surface(name: str) -> bool:
    """Return True if a name is that of a surface file or of a sample."""
    if is_sample(name):
        return True
    if not Path(name).suffix and not os.path.lexists(name):
        raise FileFormatError(
            f"there is no file and no sample named {name!r}; the samples are "
            + ", ".join(samples.names())
            + did_you_mean(name, samples.names())
        )
    return Path(name).suffix.lower() in SURFACE_SUFFIXES


def open_surface(name: str, scale: float = 1.0) -> Surface:
    """Read a surface from a file or sample, and multiply its coordinates by `scale`."""
    return read_surface(samples.path(name) if is_sample(name) else name, scale)


def open_mesh(name: str, *others: str) -> Mesh:
    """Read a volume mesh; refuse other formats with a list of all that the command reads.

    `others` are kinds of files that only this command reads, with their suffixes.
    """
    try:
        return read_mesh(name)
    except FileFormatError as error:
        text, found, meshes = str(error).partition("; known are ")
        if not found:
            raise
        kinds = (
            f"surfaces ({' '.join(SURFACE_SUFFIXES)})",
            "models, distance fields and pointshells (.safetensors)",
            "records of haptic sessions (.npy)",
            *others,
        )
        raise FileFormatError(
            f"{text}; known are {', '.join(kinds)} and volume meshes ({meshes})"
        ) from None


def open_model(name: str) -> ReducedSolid:
    """Read a reduced model; refuse a surface or mesh with a hint at ``reducedfem reduce``."""
    try:
        return ReducedSolid.load(name)
    except FileFormatError as error:
        path = Path(name)
        known = any(path.suffix.lower() in suffixes for suffixes, _ in MESHES)
        if not (is_sample(name) or (known and "not a safetensors" in str(error))):
            raise
        command = ["reducedfem", "reduce", name, "--output", f"{path.with_suffix('')}.safetensors"]
        raise FileFormatError(
            f"{name!r} is a surface or a mesh, not a reduced model; make a model of it first: "
            f"{shlex.join(command)}, with --fix options for its supports"
        ) from None
