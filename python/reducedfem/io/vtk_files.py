"""Time series for ParaView: a collection (``.pvd``) of VTK files (``.vtu``), one for each time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from reducedfem.errors import FileFormatError
from reducedfem.io import meshio_files
from reducedfem.io.atomic import replacing
from reducedfem.io.volume_data import VolumeData

__all__ = ["check_suffix", "write"]

FieldsOfState = tuple[float, Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]]


def check_suffix(path: Path) -> None:
    """Refuse a name whose suffix is not ``.pvd``."""
    if path.suffix.lower() != ".pvd":
        raise FileFormatError(
            f"cannot write {str(path)!r}: a motion goes to .pvd, which lists a .vtu file for each "
            "time; Mesh.write writes a single .vtu file"
        )


def write(
    path: Path, parts: Sequence[tuple[VolumeData, Iterable[FieldsOfState]]], count: int
) -> None:
    """Write the collection and its files: time [s], fields of the nodes and of the elements.

    Several parts, of elements of different kinds, have a file each at each time.
    """
    digits = max(4, len(str(count - 1)))
    lines = []
    with replacing(path) as temporary:
        for k, states in enumerate(zip(*(fields for _, fields in parts), strict=True)):
            for j, ((data, _), (time, nodal, cells)) in enumerate(zip(parts, states, strict=True)):
                part = f"_part{j}" if len(parts) > 1 else ""
                name = f"{path.stem}{part}_{k:0{digits}d}.vtu"
                data.point_data, data.cell_data = dict(nodal), dict(cells)
                meshio_files.write(temporary.with_name(name), data, ".vtu", ())
                lines.append(
                    f'    <DataSet timestep="{time!r}" group="" part="{j}" '
                    f'file="{escape(name)}"/>\n'
                )
        temporary.write_text(
            '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1" '
            'byte_order="LittleEndian">\n  <Collection>\n'
            + "".join(lines)
            + "  </Collection>\n</VTKFile>\n",
            encoding="utf-8",
        )
