"""Files of Green's functions, in the safetensors format.

Arrays, with s nodes of the surface, rows = 16 ceil(s / 16), t = rows / 16 (rows / 16 + 1) / 2 tiles
and r releasable nodes:

====================  ===  ==================================================================
``entries_f64``       F64  (2304 t,): tiles (I, J), J <= I, of 16 by 16 nodes, row by row, each
                           with blocks G_ij (3, 3) of the compliance [m/N]; either these
``entries_f32``       F32  or the same in single precision
``positions``         F64  (s, 3): rest positions of the surface [m]
``static_modes``      F64  (3 r, rows, 3): displacements of the surface by those of releasable nodes
``support``           F64  (3 r, 3 r): stiffness of the releasable nodes [N/m]
``rigid``             F64  (6, rows, 3): rigid motions of a free solid, else (0, rows, 3)
``nodes``             I32  (s,): nodes of the surface
``releasable``        I32  (r,): releasable nodes
``held_positions``    F64  (r, 3): their rest positions [m]; not in files of earlier versions
====================  ===  ==================================================================

After the release of k nodes, which are the last ones of ``nodes``, entries are those of the others,
and there are ``added``, F64, (3 s, 3 k): A of ``csrc/green/released.h``, and ``firm``, F64, (3 r,):
stiffness whose rounding errors are in ``support``.

With a tolerance, entries are those of blocks of low rank between n groups of nodes, in the order
of ``csrc/green/packed.h``, and there are

====================  ===  ==================================================================
``tolerance``         F64  (1,): error of a block, relative
``tiles``             I32  (n + 1,): first slot of each group
``slots``             I32  (s,): place of each slot
``ranks``             I32  (n (n + 1) / 2,): ranks of blocks, -1: dense
====================  ===  ==================================================================

Metadata, all texts: ``format`` (always ``reducedfem-green``), ``format_version``,
``package_version``, ``units``, ``mesh_nodes`` (JSON: number of nodes of the mesh) and ``sha256`` as
in files of models.
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

_Green = TypeVar("_Green")

FORMAT = "reducedfem-green"
_TILE = 16  # RF_GREEN_TILE of csrc/green/green.h
_SCHEMA = {
    "entries_f64": "F64",
    "positions": "F64",
    "static_modes": "F64",
    "support": "F64",
    "rigid": "F64",
    "entries_f32": "F32",
    "nodes": "I32",
    "releasable": "I32",
}
_RELEASED = {"added": "F64", "firm": "F64"}
_PACKED = {"tolerance": "F64", "tiles": "I32", "slots": "I32", "ranks": "I32"}
_TEXTS = ("package_version", "units", "mesh_nodes", "sha256")


def _schema(names: Collection[str]) -> dict[str, str]:
    absent = "entries_f64" if "entries_f32" in names else "entries_f32"
    known = _SCHEMA | (_PACKED if "ranks" in names else {})
    known |= {"held_positions": "F64"} if "held_positions" in names else {}
    known |= _RELEASED if "added" in names else {}
    wider_first = sorted(known, key=lambda name: ("F64", "F32", "I32").index(known[name]))
    return {name: known[name] for name in wider_first if name != absent}


_LAYOUT = tensors.Layout(FORMAT, 1, "Green's functions", _schema, _TEXTS)


def save(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], mesh_nodes: int) -> None:
    """Write Green's functions, whole or not at all; equal arrays give equal bytes."""
    entries = arrays["entries"]
    named = {name: array for name, array in arrays.items() if name != "entries"}
    named["entries_f32" if entries.dtype == np.float32 else "entries_f64"] = entries
    texts = {
        "units": "SI: m/N, m, N/m",
        "mesh_nodes": tensors.json_text(_LAYOUT, mesh_nodes),
    }
    data = tensors.write(_LAYOUT, named, texts)
    with replacing(with_suffix(path, ".safetensors", "Green's functions")) as temporary:
        temporary.write_bytes(data)


def read(
    stream: BinaryIO,
    size: int,
    name: str,
    make: Callable[[int, Mapping[str, NDArray[Any]]], _Green],
) -> _Green:
    """Return ``make(mesh_nodes, arrays)`` of an open file after checks of all its contents."""

    def assemble(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> _Green:
        count = tensors.parse(metadata["mesh_nodes"], "its entry 'mesh_nodes'")
        if type(count) is not int or not 0 < count < 2**31:
            raise Refused("its entry 'mesh_nodes' is not a positive integer")
        for array in arrays.values():
            if not np.isfinite(array).all():
                raise Refused("its arrays have values that are not finite")
        named = {key.split("_f")[0]: array for key, array in arrays.items()}
        try:
            return make(count, named)
        except ReducedFEMError as why:
            raise Refused(str(why)) from None

    return tensors.read(_LAYOUT, stream, size, name, _check_shapes, assemble)


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays whose shapes do not match."""
    for name in ("nodes", "releasable"):
        if len(shapes[name]) != 1:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must have one axis")
    s, r = shapes["nodes"][0], shapes["releasable"][0]
    # nodes with entries, without those that were released
    added = shapes.get("added", (3 * s, 0))
    gone = added[1] // 3 if len(added) == 2 else 0
    stored, rows = max(s - gone, 0), _TILE * -(-s // _TILE)
    side = -(-stored // _TILE)
    motions = 6 if shapes["rigid"][:1] == (6,) else 0
    entries = "entries_f32" if "entries_f32" in shapes else "entries_f64"
    expected = {
        "positions": (s, 3),
        "static_modes": (3 * r, rows, 3),
        "support": (3 * r, 3 * r),
        "rigid": (motions, rows, 3),
    }
    if "held_positions" in shapes:
        expected["held_positions"] = (r, 3)
    if "added" in shapes:
        expected |= {"added": (3 * s, 3 * gone), "firm": (3 * r,), "rigid": (0, rows, 3)}
        if not 0 < gone < s:
            raise Refused("'added' has no columns, or as many as its nodes")
    if "ranks" in shapes:
        tiles = max(shapes["tiles"][0] - 1, 0) if shapes["tiles"] else 0
        expected |= {"tolerance": (1,), "tiles": (tiles + 1,), "slots": (stored,)}
        expected |= {"ranks": (tiles * (tiles + 1) // 2,), entries: shapes[entries][:1]}
    else:
        expected[entries] = (side * (side + 1) // 2 * _TILE * _TILE * 9,)
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise Refused(f"{name!r} has shape {shapes[name]}; it must be {shape} here")
