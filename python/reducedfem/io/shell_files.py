"""Files of pointshells in the safetensors format, as model files (see `model_files`).

Arrays, with n points:

===========  ===  ==================================
``points``   F64  (n, 3): m
``normals``  F64  (n, 3): unit length, inwards
``areas``    F64  (n,): m^2; only if known
``levels``   I32  (n,): ascending from 0
===========  ===  ==================================

Metadata: ``format`` (always ``reducedfem-pointshell``), ``format_version``,
``package_version``, ``units``, ``counts`` and ``sha256``, as in model files.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from numpy.typing import NDArray

from reducedfem.errors import ReducedFEMError
from reducedfem.io import tensors
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.io.tensors import Refused

if TYPE_CHECKING:
    from reducedfem.contact.pointshell import Pointshell

__all__ = ["FORMAT", "read", "save"]

FORMAT = "reducedfem-pointshell"
_SCHEMA = {"points": "F64", "normals": "F64", "areas": "F64", "levels": "I32"}


def _schema(names: Collection[str]) -> dict[str, str]:
    """Return names and types of the arrays; areas are optional."""
    return {name: dtype for name, dtype in _SCHEMA.items() if name != "areas" or name in names}


_LAYOUT = tensors.Layout(
    FORMAT, 1, "pointshell", _schema, ("package_version", "units", "counts", "sha256")
)


def _counts(points: int, levels: int) -> dict[str, int]:
    return {"points": points, "levels": levels}


def save(shell: Pointshell, path: str | os.PathLike[str]) -> None:
    """Write a pointshell to a file, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {
        "points": shell.points,
        "normals": shell.normals,
        "levels": shell.levels,
    }
    if shell.areas is not None:
        arrays["areas"] = shell.areas
    counts = _counts(shell.n_points, shell.n_levels)
    texts = {"units": "SI", "counts": tensors.json_text(_LAYOUT, counts)}
    data = tensors.write(_LAYOUT, arrays, texts)
    with replacing(with_suffix(path, ".safetensors", "a pointshell")) as temporary:
        temporary.write_bytes(data)


def read(stream: BinaryIO, size: int, name: str) -> Pointshell:
    """Return the pointshell of an open file after checks of all its contents."""
    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, _assemble)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Reject arrays whose shapes do not match."""
    if len(shapes["points"]) != 2:
        raise Refused(f"'points' has shape {shapes['points']}; it must have two axes")
    n = shapes["points"][0]
    for name, shape in shapes.items():
        wanted = (n, 3) if name in ("points", "normals") else (n,)
        if shape != wanted:
            raise Refused(f"{name!r} has shape {shape}; it must be {wanted} here")


def _assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> Pointshell:
    from reducedfem.contact.pointshell import Pointshell

    levels = arrays["levels"]
    if (levels[1:] < levels[:-1]).any():
        raise Refused("its levels do not ascend")
    try:
        shell = Pointshell(arrays["points"], arrays["normals"], levels, arrays.get("areas"))
    except ReducedFEMError as error:
        raise Refused(f"it is damaged: {error}") from None
    counts = tensors.parse(metadata["counts"], "its entry 'counts'")
    if counts != _counts(shell.n_points, shell.n_levels):
        raise Refused("its counts are not those of its arrays")
    return shell
