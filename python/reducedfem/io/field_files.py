"""Files of distance fields, in the safetensors format.

Arrays:

============  ===  ==================================================
``origin``    F64  (3,): position of the sample (0, 0, 0)
``spacing``   F64  (3,): spacing of the samples along x, y and z
``values``    F32  (nx, ny, nz): samples, negative inside
============  ===  ==================================================

Metadata, all texts: ``format`` (always ``reducedfem-field``), ``format_version``,
``package_version``, ``units``, ``error_m`` (largest error of the samples as distances; null if
unknown), ``provenance`` (JSON) and ``sha256`` as in files of models.
"""

from __future__ import annotations

import math
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

_Field = TypeVar("_Field")

FORMAT = "reducedfem-field"
_SCHEMA = {"origin": "F64", "spacing": "F64", "values": "F32"}
_TEXTS = ("package_version", "units", "error_m", "provenance", "sha256")


def _schema(names: Collection[str]) -> dict[str, str]:
    return dict(_SCHEMA)


_LAYOUT = tensors.Layout(FORMAT, 1, "distance field", _schema, _TEXTS)


def save(
    path: str | os.PathLike[str],
    values: NDArray[np.float32],
    origin: NDArray[np.float64],
    spacing: NDArray[np.float64],
    error: float,
    provenance: Mapping[str, Any],
) -> None:
    """Write a field to a file, whole or not at all; equal fields give equal bytes."""
    arrays: dict[str, NDArray[Any]] = {"origin": origin, "spacing": spacing, "values": values}
    texts = {
        "units": "SI: metres, negative inside",
        "error_m": tensors.json_text(_LAYOUT, error if math.isfinite(error) else None),
        "provenance": tensors.json_text(_LAYOUT, provenance),
    }
    data = tensors.write(_LAYOUT, arrays, texts)
    with replacing(with_suffix(path, ".safetensors", "a field")) as temporary:
        temporary.write_bytes(data)


def read(stream: BinaryIO, size: int, name: str, make: Callable[..., _Field]) -> _Field:
    """Return ``make(values, origin, ...)`` of an open file after checks of all its contents."""

    def assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Field:
        error, provenance = _parsed(metadata)
        try:
            return make(arrays["values"], arrays["origin"], arrays["spacing"], error, provenance)
        except ReducedFEMError as why:
            raise Refused(str(why)) from None

    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, assemble)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name in ("origin", "spacing"):
        if shapes[name] != (3,):
            raise Refused(f"{name!r} has shape {shapes[name]}; it must be (3,)")
    if len(shapes["values"]) != 3:
        raise Refused(f"'values' has shape {shapes['values']}; it must be (nx, ny, nz)")


def _parsed(metadata: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
    """Return error and provenance from untrusted metadata."""
    error = tensors.parse(metadata["error_m"], "its entry 'error_m'")
    provenance = tensors.parse(metadata["provenance"], "its entry 'provenance'")
    tensors.require_finite(provenance, "its entry 'provenance'")
    if not (error is None or (type(error) in (int, float) and 0 <= error < 1e100)):
        raise Refused("its entry 'error_m' is neither null nor a number from 0 on")
    if not isinstance(provenance, dict) or not isinstance(provenance.get("method"), str):
        raise Refused("its provenance lacks the method")
    return np.inf if error is None else float(error), provenance
