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
from collections.abc import Callable, Collection, Mapping
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import ReducedFEMError
from reducedfem.io import tensors
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.io.tensors import Refused

__all__ = ["FORMAT", "read", "save"]

_Shell = TypeVar("_Shell")

FORMAT = "reducedfem-pointshell"
_SCHEMA = {"points": "F64", "normals": "F64", "areas": "F64", "levels": "I32"}


def _schema(names: Collection[str]) -> dict[str, str]:
    """Return names and types of the arrays; areas are optional."""
    return {name: dtype for name, dtype in _SCHEMA.items() if name != "areas" or name in names}


_LAYOUT = tensors.Layout(
    FORMAT, 1, "pointshell", _schema, ("package_version", "units", "counts", "sha256")
)


def _counts(levels: NDArray[np.int32]) -> dict[str, int]:
    return {"points": len(levels), "levels": int(levels[-1]) + 1}


def save(
    path: str | os.PathLike[str],
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    levels: NDArray[np.int32],
    areas: NDArray[np.float64] | None,
) -> None:
    """Write a pointshell to a file, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {"points": points, "normals": normals, "levels": levels}
    if areas is not None:
        arrays["areas"] = areas
    counts = _counts(levels)
    texts = {"units": "SI", "counts": tensors.json_text(_LAYOUT, counts)}
    data = tensors.write(_LAYOUT, arrays, texts)
    with replacing(with_suffix(path, ".safetensors", "a pointshell")) as temporary:
        temporary.write_bytes(data)


def read(stream: BinaryIO, size: int, name: str, make: Callable[..., _Shell]) -> _Shell:
    """Return ``make(points, normals, levels, areas)`` of an open file after checks of all of it."""

    def assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Shell:
        levels = arrays["levels"]
        if (levels[1:] < levels[:-1]).any():
            raise Refused("its levels do not ascend")
        try:
            shell = make(arrays["points"], arrays["normals"], levels, arrays.get("areas"))
        except ReducedFEMError as error:
            raise Refused(f"it is damaged: {error}") from None
        if tensors.parse(metadata["counts"], "its entry 'counts'") != _counts(levels):
            raise Refused("its entry 'counts' does not match its arrays")
        return shell

    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, assemble)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Reject arrays whose shapes do not match."""
    if len(shapes["points"]) != 2:
        raise Refused(f"'points' has shape {shapes['points']}; it must have two axes")
    n = shapes["points"][0]
    for name, shape in shapes.items():
        wanted = (n, 3) if name in ("points", "normals") else (n,)
        if shape != wanted:
            raise Refused(f"{name!r} has shape {shape}; it must be {wanted} here")
