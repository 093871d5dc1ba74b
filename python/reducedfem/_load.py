"""Reading of whatever this package saves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload

from reducedfem import _shell_files, _tensors, field_files, files
from reducedfem.errors import FileFormatError, InputTypeError
from reducedfem.field import DistanceField
from reducedfem.pointshell import Pointshell
from reducedfem.reduced import ReducedSolid
from reducedfem.surface import SURFACE_SUFFIXES

__all__ = ["OTHERS", "load"]

_Saved = TypeVar("_Saved", ReducedSolid, DistanceField, Pointshell)


@overload
def load(
    path: str | os.PathLike[str], kind: None = None
) -> ReducedSolid | DistanceField | Pointshell: ...


@overload
def load(path: str | os.PathLike[str], kind: type[_Saved]) -> _Saved: ...


def load(path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Read what was saved: a reduced model, a distance field or a pointshell.

    Everything in the file is checked before it is used; nothing in it is executed.

    Parameters
    ----------
    path
        A file written by `ReducedSolid.save`, `DistanceField.save` or `Pointshell.save`.
    kind
        Which of these classes the file must hold; None: any. Type checkers, too, then know what
        comes back: ``rf.load(path, rf.Pointshell).normals``.

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
    InputTypeError
        `kind` is none of the three classes.
    """
    if kind is not None and not (isinstance(kind, type) and kind in _READERS):
        named = kind.__name__ if isinstance(kind, type) else repr(kind)
        raise InputTypeError(
            f"kind must be ReducedSolid, DistanceField, Pointshell or None, got {named}"
        )

    def read(stream: BinaryIO, size: int, name: str) -> Any:
        found = _KINDS.get(_tensors.format_of(stream), ReducedSolid) if kind is None else kind
        return _READERS[found](stream, size, name)

    try:
        return _tensors.load(path, read)
    except FileFormatError as error:
        suffix = Path(path).suffix.lower()
        for suffixes, reader in OTHERS:
            if suffix in suffixes and "no safetensors" in str(error):
                raise FileFormatError(f"{error}; {reader} reads files {suffix}") from None
        raise


# files of others, which other functions read
OTHERS = ((SURFACE_SUFFIXES, "read_surface"), ((".veg", ".vtu", ".vtk", ".msh"), "read_mesh"))
_READERS: dict[type, Callable[[BinaryIO, int, str], Any]] = {
    ReducedSolid: files.read,
    DistanceField: field_files.read,
    Pointshell: _shell_files.read,
}
# by the entry `format` of the metadata; whatever else is refused as no model
_KINDS = {field_files.FORMAT: DistanceField, _shell_files.FORMAT: Pointshell}
