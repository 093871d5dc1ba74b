"""Sketch files: recorded loads in the safetensors format, like model files (see `model_files`).

Arrays, with m samples, n nodes, f forces and k patterns:

===============  ===  ================================================
``times``        F64  (m,): time of each sample, s
``forces``       F64  (f, 3): N
``patterns``     F64  (k, n, 3): load patterns, multiplied by coordinates
``coordinates``  F64  (m, k)
``offsets``      I32  (m + 1,): first index of the forces of each sample
``nodes``        I32  (f,): nodes on which the forces act
===============  ===  ================================================

Metadata: ``format`` (always ``reducedfem-sketch``), ``format_version``, ``package_version``,
``units``, ``counts`` and ``sha256``, as in model files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeVar

from numpy.typing import NDArray

from reducedfem.errors import ReducedFEMError
from reducedfem.io import tensors
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.io.tensors import Refused

__all__ = ["ARRAYS", "load", "save"]

_Sketch = TypeVar("_Sketch")

ARRAYS = {
    "times": "F64",
    "forces": "F64",
    "patterns": "F64",
    "coordinates": "F64",
    "offsets": "I32",
    "nodes": "I32",
}
_LAYOUT = tensors.Layout(
    "reducedfem-sketch",
    1,
    "sketch",
    lambda names: ARRAYS,
    ("package_version", "units", "counts", "sha256"),
)


def save(arrays: Mapping[str, NDArray[Any]], path: str | os.PathLike[str]) -> None:
    """Write a sketch to a file; replace an existing one only when the new one is complete."""
    counts = _counts(arrays)
    texts = {"units": "SI", "counts": tensors.json_text(_LAYOUT, counts)}
    data = tensors.write(_LAYOUT, arrays, texts)
    with replacing(with_suffix(path, ".safetensors", "a sketch")) as temporary:
        temporary.write_bytes(data)


def _counts(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    return {"samples": len(arrays["times"]), "nodes": arrays["patterns"].shape[1]}


def load(path: str | os.PathLike[str], make: Callable[..., _Sketch]) -> _Sketch:
    """Return ``make(nodes, times, ...)`` of a file after checking all its contents."""

    def assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Sketch:
        counts = _counts(arrays)
        if tensors.parse(metadata["counts"], "its entry 'counts'") != counts:
            raise Refused("its entry 'counts' does not match its arrays")
        try:
            return make(
                counts["nodes"],
                arrays["times"],
                arrays["offsets"],
                arrays["nodes"],
                arrays["forces"],
                arrays["patterns"],
                arrays["coordinates"],
            )
        except ReducedFEMError as error:
            raise Refused(f"it is damaged: {error}") from None

    def read(stream: BinaryIO, size: int, name: str) -> _Sketch:
        return tensors.read(_LAYOUT, stream, size, name, _check_shapes, assemble)

    return tensors.load(path, read)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays whose shapes do not match."""
    for name, axes in (("times", 1), ("nodes", 1), ("patterns", 3)):
        if len(shapes[name]) != axes:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must have {axes} axes")
    m, f, k = shapes["times"][0], shapes["nodes"][0], shapes["patterns"][0]
    for name, shape in (
        ("forces", (f, 3)),
        ("coordinates", (m, k)),
        ("offsets", (m + 1,)),
        ("patterns", (*shapes["patterns"][:2], 3)),
    ):
        if shapes[name] != shape:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must be {shape} here")
