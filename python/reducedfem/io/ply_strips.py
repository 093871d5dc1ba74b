"""Parts of PLY reading that trimesh lacks: triangle strips, and checks of the item counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_counts", "has_strips", "read_strips"]

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1",
    "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "int64": "i8", "uint64": "u8", "float16": "f2",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_INDICES = ("vertex_indices", "vertex_index")


@dataclass
class _Element:
    """A kind of item: its count and properties (name, type of a list's length or None, type)."""

    name: str
    count: int
    properties: list[tuple[str, str | None, str]] = field(default_factory=list)


def has_strips(data: bytes) -> bool:
    """Return True for a PLY file whose header announces triangle strips."""
    header = data.partition(b"end_header")[0]
    return header.startswith(b"ply") and b"element tristrips" in header


def _header(data: bytes) -> tuple[str, list[_Element], bytes]:
    header, mark, body = data.partition(b"end_header")
    if not mark:
        raise ValueError("the header has no end_header")
    # the last line of the header has the same line end as the others
    body = body[2:] if body.startswith(b"\r\n") else body[1:]
    kind, elements = "", []
    for line in header.decode("ascii", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["format"] and len(words) > 1:
            kind = words[1]
        elif words[:1] == ["element"] and len(words) == 3:
            elements.append(_Element(words[1], int(words[2])))
        elif words[:1] == ["property"] and elements:
            if len(words) == 5 and words[1] == "list":
                elements[-1].properties.append((words[4], _TYPES[words[2]], _TYPES[words[3]]))
            elif len(words) == 3:
                elements[-1].properties.append((words[2], None, _TYPES[words[1]]))
            else:
                raise ValueError(f"{line.strip()!r} is not a property")
    if kind not in ("ascii", "binary_little_endian", "binary_big_endian"):
        raise ValueError(f"{kind!r} is not a known format")
    for element in elements:
        if element.count < 0:
            raise ValueError(f"the header has {element.count} as the number of {element.name}")
    return kind, elements, body


def check_counts(data: bytes) -> None:
    """Check that an ASCII PLY file has a line for each item that its header announces.

    Raises
    ------
    ValueError, KeyError
        Lines are missing, the last item is truncated, or the header is damaged.
    """
    kind, elements, body = _header(data)
    if kind != "ascii":
        return
    lines = [line for line in body.splitlines() if line.strip()]
    left = len(lines)
    for element in elements:
        if element.count > left:
            raise ValueError(
                f"its header announces {element.count} lines of {element.name}, but {left} follow"
            )
        left -= element.count
    last = next((element for element in reversed(elements) if element.count), None)
    if last is None:
        return
    words, need = lines[len(lines) - left - 1].split(), 0
    for _, length, _ in last.properties:
        listed = length is not None and need < len(words)
        need += 1 + (int(float(words[need])) if listed else 0)
    if need > len(words):
        raise ValueError(f"its last {last.name} has {len(words)} numbers of {need}")


class _Binary:
    """Sequential reader of the numbers of a binary body."""

    def __init__(self, body: bytes, order: str) -> None:
        self._body, self._order, self._at = body, order, 0

    def take(self, kind: str | list[tuple[str, str]], count: int) -> NDArray[Any]:
        if isinstance(kind, str):
            dtype: np.dtype[Any] = np.dtype(self._order + kind)
        else:
            dtype = np.dtype([(name, self._order + one) for name, one in kind])
        if count < 0 or self._at + count * dtype.itemsize > len(self._body):
            raise ValueError("the file ends too early")
        start, self._at = self._at, self._at + count * dtype.itemsize
        return np.frombuffer(self._body, dtype, count, start)

    def rows(self, element: _Element) -> dict[str, Any]:
        table = self.take([(name, kind) for name, _, kind in element.properties], element.count)
        return {name: table[name] for name, _, _ in element.properties}


class _Text:
    """Sequential reader of the numbers of an ASCII body."""

    def __init__(self, body: bytes) -> None:
        self._words, self._at = body.split(), 0

    def take(self, kind: str, count: int) -> NDArray[Any]:
        if count < 0 or self._at + count > len(self._words):
            raise ValueError("the file ends too early")
        start, self._at = self._at, self._at + count
        return np.array(self._words[start : self._at], dtype=bytes).astype(
            np.float64 if kind.startswith("f") else np.int64
        )

    def rows(self, element: _Element) -> dict[str, Any]:
        width = len(element.properties)
        table = self.take("f8", element.count * width).reshape(element.count, width)
        return {name: table[:, i] for i, (name, _, _) in enumerate(element.properties)}


def _lists(source: _Binary | _Text, element: _Element) -> dict[str, list[NDArray[Any]]]:
    """Read items with list properties."""
    out: dict[str, list[NDArray[Any]]] = {name: [] for name, _, _ in element.properties}
    for _ in range(element.count):
        for name, length, kind in element.properties:
            n = 1 if length is None else int(source.take(length, 1)[0])
            out[name].append(source.take(kind, n))
    return out


def _of_strip(strip: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the triangles of an uninterrupted strip; every second one is reversed."""
    triangles = np.column_stack([strip[:-2], strip[1:-1], strip[2:]])
    triangles[1::2] = triangles[1::2, [1, 0, 2]]
    a, b, c = triangles.T
    # triangles with a repeated vertex join strips
    proper: NDArray[np.int64] = triangles[(a != b) & (b != c) & (c != a)]
    return proper


def _of_strips(indices: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the triangles of strips with -1 between them."""
    ends = np.flatnonzero(indices < 0)
    pieces = np.split(indices, ends)
    pieces = [pieces[0], *(piece[1:] for piece in pieces[1:])]
    return [_of_strip(piece) for piece in pieces if len(piece) > 2]


def _fan(face: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(face) < 3:
        raise ValueError("a face needs three vertices")
    return np.column_stack([np.full(len(face) - 2, face[0]), face[1:-1], face[2:]])


def read_strips(data: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices (v, 3) and triangles (t, 3) of the strips and faces of a PLY file.

    Raises
    ------
    ValueError, KeyError
        The file is damaged.
    """
    kind, elements, body = _header(data)
    source: _Text | _Binary
    source = _Text(body) if kind == "ascii" else _Binary(body, "<" if "little" in kind else ">")
    vertices: NDArray[np.float64] | None = None
    triangles: list[NDArray[np.int64]] = [np.zeros((0, 3), np.int64)]
    for element in elements:
        if all(length is None for _, length, _ in element.properties):
            table: dict[str, Any] = source.rows(element)
        else:
            table = _lists(source, element)
        if element.name == "vertex":
            vertices = np.column_stack([np.asarray(table[axis], np.float64) for axis in "xyz"])
            continue
        if element.name not in ("tristrips", "face"):
            continue
        indices = [table[name] for name in _INDICES if name in table]
        if not indices:
            raise ValueError(f"element {element.name} has no list {_INDICES[0]}")
        for one in indices[0]:
            whole = np.asarray(one, np.int64)
            triangles += _of_strips(whole) if element.name == "tristrips" else [_fan(whole)]
    if vertices is None:
        raise ValueError("there is no element vertex")
    return vertices, np.concatenate(triangles)
