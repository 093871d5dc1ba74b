"""Reading of all files that this package saves."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, TypeVar, overload

from reducedfem.contact.field import DistanceField
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import InputTypeError
from reducedfem.green.control import ControlElements
from reducedfem.green.functions import GreensFunctions
from reducedfem.io import (
    field_files,
    green_files,
    handle_files,
    model_files,
    shell_files,
    tensors,
    world_files,
)
from reducedfem.io.saved import load_saved
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.world.recorded import WorldMotion

__all__ = ["load"]

_Saved = TypeVar(
    "_Saved",
    ReducedSolid,
    DistanceField,
    Pointshell,
    GreensFunctions,
    ControlElements,
    WorldMotion,
)


@overload
def load(
    path: str | os.PathLike[str], kind: None = None
) -> (
    ReducedSolid | DistanceField | Pointshell | GreensFunctions | ControlElements | WorldMotion
): ...


@overload
def load(path: str | os.PathLike[str], kind: type[_Saved]) -> _Saved: ...


def load(path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Read an object from a file of this package.

    All contents are checked before use; nothing in the file is executed.

    Parameters
    ----------
    path
        A file written by `ReducedSolid.save`, `DistanceField.save`, `Pointshell.save`,
        `GreensFunctions.save`, `ControlElements.save` or `WorldMotion.save`.
    kind
        Class that the file must contain; None: any of the six. It also gives type checkers the
        class of the result: ``rf.load(path, rf.Pointshell).normals``.

    Returns
    -------
    ReducedSolid, DistanceField, Pointshell, GreensFunctions, ControlElements or WorldMotion
        Object that is bitwise equal to the saved one, including the strain-rate damping of a
        model. Region names and `Mesh.original_nodes` of the mesh of a model are not stored.

    Raises
    ------
    FileFormatError
        The file is missing, unreadable, truncated, damaged, of another kind, or made by a
        newer version of the package; the message says which.
    InputTypeError
        `kind` is not one of the six classes.
    """
    if kind is not None and not (isinstance(kind, type) and kind in _KINDS.values()):
        named = kind.__name__ if isinstance(kind, type) else repr(kind)
        raise InputTypeError(
            "kind must be ReducedSolid, DistanceField, Pointshell, GreensFunctions, "
            f"ControlElements, WorldMotion or None, got {named}"
        )

    def read(stream: BinaryIO, size: int, name: str) -> Any:
        # files of no known format are refused as models
        found = kind or _KINDS.get(tensors.format_of(stream), ReducedSolid)
        return found._read(stream, size, name)

    return load_saved(path, read)


# class by the metadata entry `format`
_KINDS: dict[str, type[Any]] = {
    model_files.FORMAT: ReducedSolid,
    field_files.FORMAT: DistanceField,
    shell_files.FORMAT: Pointshell,
    green_files.FORMAT: GreensFunctions,
    handle_files.FORMAT: ControlElements,
    world_files.FORMAT: WorldMotion,
}
