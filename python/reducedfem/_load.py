"""Reading of whatever this package saves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from reducedfem import _shell_files, _tensors, field_files, files
from reducedfem.errors import FileFormatError
from reducedfem.surface import SURFACE_SUFFIXES

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Any:
    """Read what was saved: a reduced model, a distance field or a pointshell.

    Everything in the file is checked before it is used; nothing in it is executed.

    Parameters
    ----------
    path
        A file written by `ReducedSolid.save`, `DistanceField.save` or `Pointshell.save`.

    Returns
    -------
    ReducedSolid, DistanceField or Pointshell
        Equal, bit for bit, to the one that was saved, strain-rate damping of models included. Of
        the mesh of a model, names of regions and `Mesh.original_nodes` are not kept.

    Raises
    ------
    FileFormatError
        The file is missing, unreadable, truncated, damaged, of another kind, or made by a
        newer version of the package; the message says which.
    """
    try:
        return _tensors.load(path, _read)
    except FileFormatError as error:
        suffix = Path(path).suffix.lower()
        for suffixes, reader in _OTHERS:
            if suffix in suffixes and "no safetensors" in str(error):
                raise FileFormatError(f"{error}; {reader} reads files {suffix}") from None
        raise


# files of others, which other functions read
_OTHERS = ((SURFACE_SUFFIXES, "read_surface"), ((".veg", ".vtu", ".vtk", ".msh"), "read_mesh"))
# by the entry `format` of the metadata; whatever else is refused as no model
_READERS = {field_files.FORMAT: field_files.read, _shell_files.FORMAT: _shell_files.read}


def _read(stream: BinaryIO, size: int, name: str) -> Any:
    return _READERS.get(_tensors.format_of(stream), files.read)(stream, size, name)
