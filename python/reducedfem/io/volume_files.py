"""Formats of volume meshes by the suffix of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from reducedfem.errors import FileFormatError
from reducedfem.io import meshio_files, veg_files
from reducedfem.io.constraint_fields import as_fields
from reducedfem.io.reading import in_memory, regular_file
from reducedfem.io.surface_files import SURFACE_SUFFIXES
from reducedfem.io.volume_data import VolumeData

__all__ = ["FORMATS", "Format", "keeps_constraints", "read_volume", "write_volume"]


class Format(Protocol):
    """A module that reads and writes a format."""

    def read(self, path: Path) -> VolumeData:
        """Return the mesh of a file."""

    def write(self, path: Path, data: VolumeData, suffix: str) -> None:
        """Write a mesh."""


FORMATS: dict[str, Format] = {".veg": veg_files}
"""Formats by suffix; meshio has all others."""


def read_volume(path: Path) -> VolumeData:
    """Read a mesh; its format is that of the suffix."""
    with regular_file(path) as (file, _):
        if not file.read(4096).strip():
            raise FileFormatError(f"{str(path)!r} is empty")
    suffix = path.suffix.lower()
    if suffix in SURFACE_SUFFIXES:
        raise FileFormatError(
            f"cannot read {str(path)!r} as a volume mesh: {suffix} files hold surfaces, which "
            "read_surface reads; voxelize makes a mesh of a surface"
        )
    with in_memory(path):
        own = FORMATS.get(suffix)
        return own.read(path) if own else meshio_files.read(path, tuple(FORMATS))


def keeps_constraints(data: VolumeData, suffix: str) -> bool:
    """Return True if a file has all constraints of the mesh."""
    fields = as_fields(data.constraints, len(data.nodes))
    return data.constraints is None or (suffix in meshio_files.WITH_CONSTRAINTS and bool(fields))


def write_volume(path: Path, data: VolumeData, suffix: str) -> None:
    """Write a mesh in the format of a suffix; the caller replaces the target afterwards."""
    if (data.point_data or data.cell_data) and suffix not in meshio_files.WITH_FIELDS:
        raise FileFormatError(
            f"cannot write point_data and cell_data as {suffix or 'a file without suffix'}: only "
            f"{' '.join(meshio_files.WITH_FIELDS)} files have them"
        )
    if suffix in FORMATS:
        FORMATS[suffix].write(path, data, suffix)
    else:
        meshio_files.write(path, data, suffix, tuple(FORMATS))
