"""Files of control elements, in the safetensors format.

Arrays, with h handles, g groups (the handles, then the fixed nodes if there are any), s nodes of
the surface in tiles of w = 16 (F64) or 32 (F32) nodes, and f fields: the first 12 g belong to the
parameters, the others to products of the p = 6 (g - 1) relative coordinates (order 2 and 3; p = 0
in order 1):

====================  ===  ==================================================================
``fields_f64``        F64  (tiles, f, 3, w): displacements of the surface by field; either these
``fields_f32``        F32  or the same in single precision
``arms``              F64  (tiles, 3, w): rest positions less the mean of all control nodes [m]
``means``             F64  (g, 3): mean rest positions of the groups [m]
``moments``           F64  (g, 3, 3): sums of (X - mean)(X - mean)^T [m^2]
``matrix``            F64  (12 g, 12 g): forces on the parameters by the parameters
``to_relative``       F64  (p, p): relative coordinates by poses relative to the first group
``gauge``             F64  (p, p): 1 / radius^2 as a form of the relative coordinates
``product_forces``    F64  (f - 12 g, 12 g): forces on the parameters by products
``counts``            I32  (g,): number of nodes of each group
``handle_ptr``        I32  (h + 1,): range of each handle in
``handle_nodes``      I32  nodes of the handles
``nodes``             I32  (s,): nodes of the surface
``triangles``         I32  (t, 3): boundary of the mesh, as places in ``nodes``; none if others are
                           on it, and in files of version 1
====================  ===  ==================================================================

Metadata, all texts: ``format`` (always ``reducedfem-handles``), ``format_version``,
``package_version``, ``units``, ``mesh_nodes``, ``order`` and ``rank`` (JSON: numbers) and
``sha256`` as in files of models.
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

__all__ = ["FORMAT", "NUMBERS", "read", "save"]

_Handles = TypeVar("_Handles")

FORMAT = "reducedfem-handles"
NUMBERS = ("mesh_nodes", "order", "rank")
_PARAMETERS = 12  # of a group
_MOST_FIELDS = 512  # RF_CONTROL_MOST_FIELDS of csrc/green/control.h
_TILES = {"fields_f64": 16, "fields_f32": 32}
_SCHEMA = {
    "fields_f64": "F64",
    "arms": "F64",
    "means": "F64",
    "moments": "F64",
    "matrix": "F64",
    "to_relative": "F64",
    "gauge": "F64",
    "product_forces": "F64",
    "fields_f32": "F32",
    "counts": "I32",
    "handle_ptr": "I32",
    "handle_nodes": "I32",
    "nodes": "I32",
    "triangles": "I32",
}


def _schema(names: Collection[str]) -> dict[str, str]:
    absent = {"fields_f64" if "fields_f32" in names else "fields_f32"}
    if "triangles" not in names:
        absent.add("triangles")
    return {name: dtype for name, dtype in _SCHEMA.items() if name not in absent}


_LAYOUT = tensors.Layout(
    FORMAT, 2, "control elements", _schema, ("package_version", "units", *NUMBERS, "sha256")
)


def save(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, int]
) -> None:
    """Write control elements, whole or not at all; equal arrays give equal bytes."""
    named = {name: array for name, array in arrays.items() if name != "fields"}
    single = arrays["fields"].dtype == np.float32
    named["fields_f32" if single else "fields_f64"] = arrays["fields"]
    texts = {name: tensors.json_text(_LAYOUT, numbers[name]) for name in NUMBERS}
    version = 2 if "triangles" in named else 1
    data = tensors.write(_LAYOUT, named, {"units": "SI: m, m^2, N, N m", **texts}, version)
    with replacing(with_suffix(path, ".safetensors", "control elements")) as temporary:
        temporary.write_bytes(data)


def read(
    stream: BinaryIO,
    size: int,
    name: str,
    make: Callable[[Mapping[str, int], Mapping[str, NDArray[Any]]], _Handles],
) -> _Handles:
    """Return ``make(numbers, arrays)`` of an open file after checks of all its contents."""

    def assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Handles:
        numbers = {key: _number(metadata[key], key) for key in NUMBERS}
        for array in arrays.values():
            if not np.isfinite(array).all():
                raise Refused("its arrays have values that are not finite")
        _check_nodes(arrays, numbers["mesh_nodes"])
        named = {"fields" if key in _TILES else key: array for key, array in arrays.items()}
        try:
            return make(numbers, named)
        except ReducedFEMError as why:
            raise Refused(str(why)) from None

    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, assemble)


def _number(text: str, name: str) -> int:
    value = tensors.parse(text, f"its entry {name!r}")
    if type(value) is not int or not 0 <= value < 2**31:
        raise Refused(f"its entry {name!r} is not an integer from 0 on")
    return value


def _check_nodes(arrays: Mapping[str, NDArray[Any]], n: int) -> None:
    """Refuse handles and surfaces with other nodes than those of the mesh."""
    ptr, counts = arrays["handle_ptr"].astype(np.int64), arrays["counts"]
    owned = np.diff(ptr)
    if ptr[0] != 0 or ptr[-1] != len(arrays["handle_nodes"]) or (owned < 1).any():
        raise Refused("'handle_ptr' does not ascend from 0 to the number of nodes")
    if (owned != counts[: len(owned)]).any():
        raise Refused("'counts' does not agree with 'handle_ptr'")
    for name in ("handle_nodes", "nodes"):
        if len(arrays[name]) and not (0 <= arrays[name].min() <= arrays[name].max() < n):
            raise Refused(f"{name!r} has nodes that are not between 0 and {n - 1}")
    if (np.diff(arrays["nodes"].astype(np.int64)) < 1).any():
        raise Refused("'nodes' does not ascend")
    corners = arrays.get("triangles", np.zeros((0, 3), dtype=np.int32))
    last = len(arrays["nodes"]) - 1
    if corners.size and not (0 <= corners.min() <= corners.max() <= last):
        raise Refused(f"'triangles' has corners that are not between 0 and {last}")
    if (corners == np.roll(corners, 1, axis=1)).any():
        raise Refused("'triangles' has a triangle with a corner twice")


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays whose shapes do not match."""
    for name in ("counts", "handle_ptr", "handle_nodes", "nodes"):
        if len(shapes[name]) != 1:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must have one axis")
    g, h, s = shapes["counts"][0], shapes["handle_ptr"][0] - 1, shapes["nodes"][0]
    kind = "fields_f32" if "fields_f32" in shapes else "fields_f64"
    if h < 1 or g not in (h, h + 1) or _PARAMETERS * g > _MOST_FIELDS or s < 1:
        raise Refused(f"it has {h} handles, {g} groups of nodes and {s} nodes of the surface")
    tile, tiles = _TILES[kind], -(-s // _TILES[kind])
    p = shapes["gauge"][0] if shapes["gauge"] else -1
    fields = shapes[kind][1] if len(shapes[kind]) == 4 else -1
    if p not in (0, 6 * (g - 1)) or not _PARAMETERS * g <= fields <= _MOST_FIELDS:
        raise Refused(f"{kind!r} has shape {shapes[kind]}, 'gauge' {shapes['gauge']}")
    expected = {
        kind: (tiles, fields, 3, tile),
        "arms": (tiles, 3, tile),
        "means": (g, 3),
        "moments": (g, 3, 3),
        "matrix": (_PARAMETERS * g, _PARAMETERS * g),
        "to_relative": (p, p),
        "gauge": (p, p),
        "product_forces": (fields - _PARAMETERS * g, _PARAMETERS * g),
    }
    if "triangles" in shapes:
        expected["triangles"] = (*shapes["triangles"][:1], 3)
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must be {shape} here")
