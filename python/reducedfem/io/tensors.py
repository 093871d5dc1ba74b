"""Files of arrays in the safetensors format: atomic writing, strict checks when reading."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from reducedfem._version import __version__
from reducedfem.base.frozen import is_plain_number, thaw
from reducedfem.errors import FileFormatError, InputError
from reducedfem.io.atomic import as_path
from reducedfem.io.reading import regular_file

__all__ = [
    "Layout",
    "Refused",
    "format_of",
    "json_text",
    "load",
    "parse",
    "read",
    "require_finite",
    "write",
]

_Contents = TypeVar("_Contents")

# headers take a few kilobytes; parsing takes a multiple of their size in memory
_MAX_HEADER = 1 << 20
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I32": np.dtype("<i4"),
}


class Refused(Exception):
    """Reason why a file is not usable; converted to a FileFormatError with the file's name."""


class _NoTensors(Refused):
    """Not a safetensors file at all, as opposed to a damaged one."""


@dataclass(frozen=True)
class Layout:
    """Contents of a kind of file.

    Parameters
    ----------
    format, version
        Entry ``format`` of the metadata, and the highest known ``format_version``.
    what
        Name of the contents in messages, such as "model".
    schema
        Function from the names of the arrays in a file to names and types ("F64", "F32", "I32") of
        the required arrays, with wider types first to align all arrays.
    texts
        Other required metadata, including ``sha256``.
    """

    format: str
    version: int
    what: str
    schema: Callable[[Collection[str]], dict[str, str]]
    texts: tuple[str, ...]


def json_text(layout: Layout, value: object) -> str:
    """Return plain data as JSON text, identical for equal data."""
    try:
        # the json module rejects frozen mappings
        return json.dumps(thaw(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the provenance of the {layout.what} cannot be written: {error}"
        ) from None


def _names(header: Mapping[str, Any]) -> set[str]:
    return set(header) - {"__metadata__"}


def _digest(layout: Layout, header: Mapping[str, Any], body: bytes) -> str:
    """Return the checksum of the contents, independent of their arrangement in the file."""
    contents = {
        "arrays": {
            name: [header[name]["dtype"], header[name]["shape"]]
            for name in layout.schema(_names(header))
        },
        "metadata": {k: v for k, v in header["__metadata__"].items() if k != "sha256"},
    }
    digest = hashlib.sha256(json_text(layout, contents).encode("ascii"))
    for name in layout.schema(_names(header)):
        begin, end = header[name]["data_offsets"]
        digest.update(memoryview(body)[begin:end])
    return digest.hexdigest()


def write(
    layout: Layout,
    arrays: Mapping[str, NDArray[Any]],
    texts: Mapping[str, str],
    version: int | None = None,
) -> bytes:
    """Return the contents of a file; equal arrays and texts give equal bytes.

    The version may be older than that of the layout if it supports the contents.
    """
    metadata = {
        "format": layout.format,
        "format_version": str(layout.version if version is None else version),
        "package_version": __version__,
        **texts,
    }
    header: dict[str, Any] = {"__metadata__": metadata}
    parts = []
    at = 0
    for name, dtype in layout.schema(arrays).items():
        part = arrays[name].astype(_DTYPES[dtype]).tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(arrays[name].shape),
            "data_offsets": [at, at + len(part)],
        }
        at += len(part)
        parts.append(part)
    body = b"".join(parts)
    metadata["sha256"] = _digest(layout, header, body)
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER:
        raise InputError(
            f"the provenance of the {layout.what} is too long for a file: {len(text)} bytes of "
            f"{_MAX_HEADER}"
        )
    return len(text).to_bytes(8, "little") + text + body


def saved_place(file: Path) -> Path:
    """Return the path of a saved file, with the suffix that saving adds to a name without one."""
    if file.suffix or os.path.lexists(file):
        return file
    saved = file.with_name(f"{file.name}.safetensors")
    return saved if os.path.isfile(saved) else file


def load(
    path: str | os.PathLike[str], read_one: Callable[[BinaryIO, int, str], _Contents]
) -> _Contents:
    """Return the result of `read_one` for a file, called with stream, size and name."""
    file = as_path(path)
    with regular_file(saved_place(file)) as (stream, size):
        return read_one(stream, size, repr(str(file)))


def read(
    layout: Layout,
    stream: BinaryIO,
    size: int,
    name: str,
    check_shapes: Callable[[Mapping[str, tuple[int, ...]]], None],
    assemble: Callable[[Mapping[str, str], Mapping[str, NDArray[Any]]], _Contents],
) -> _Contents:
    """Return the result of `assemble` for the metadata and arrays; refuse damaged files."""
    try:
        header, length = _read_header(layout, stream, size)
        shapes = _check_arrays(layout, header, size - length)
        check_shapes(shapes)
        # memory is allocated only after the header has matched the size of the file
        body = stream.read(size - length)
        if len(body) != size - length:
            raise Refused("it is truncated, or being written to")
        if _digest(layout, header, body) != header["__metadata__"]["sha256"]:
            raise Refused("it is damaged: its contents do not match its checksum")
        arrays = {}
        for array, shape in shapes.items():
            begin, end = header[array]["data_offsets"]
            flat = np.frombuffer(memoryview(body)[begin:end], dtype=_DTYPES[header[array]["dtype"]])
            arrays[array] = flat.astype(flat.dtype.newbyteorder("=")).reshape(shape)
        return assemble(header["__metadata__"], arrays)
    except _NoTensors as why:
        raise FileFormatError(f"{name} is not a safetensors file{why}") from None
    except Refused as why:
        raise FileFormatError(f"{name} is not a usable {layout.what} file: {why}") from None


def _strict_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; refuse repeated names, which are ambiguous."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice in a JSON object")
    return result


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def parse(text: str | bytes, what: str) -> Any:
    """Return the value of a strict JSON text."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_strict_object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{what} is not valid JSON: {error}") from None


def format_of(stream: BinaryIO) -> str:
    """Return the metadata entry `format`, or an empty text; rewind the stream."""
    start = stream.read(8)
    length = int.from_bytes(start, "little")
    text = stream.read(length) if len(start) == 8 and length <= _MAX_HEADER else b""
    stream.seek(0)
    try:
        header = parse(text, "its header")
    except Refused:
        return ""
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    found = metadata.get("format") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


def _read_header(layout: Layout, stream: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """Return the header and the number of bytes before the arrays."""
    if size == 0:
        raise _NoTensors(": it is empty")
    start = stream.read(9)
    length = int.from_bytes(start[:8], "little")
    if len(start) < 9 or start[8:] != b"{" or length < 2:
        raise _NoTensors
    if length > _MAX_HEADER:
        raise Refused(
            f"its header claims to have {length} bytes; that of a {layout.what} has "
            f"{_MAX_HEADER} at most"
        )
    if length > size - 8:
        raise Refused(f"it is truncated: {size} bytes, of which the header should have {length}")
    header = parse(b"{" + stream.read(length - 1), "its header")
    if not isinstance(header, dict):
        raise Refused("its header is not a JSON object")
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or metadata.get("format") != layout.format:
        other = metadata.get("format") if isinstance(metadata, dict) else None
        held = f"; its format is {other[:40]!r}" if isinstance(other, str) else ""
        raise Refused(f"it is a safetensors file, but holds no reducedfem {layout.what}{held}")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise Refused("its metadata must all be texts")
    version = metadata.get("format_version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 10 and int(version) > 0):
        raise Refused(f"its format_version is {version[:40]!r}, not a positive integer")
    if int(version) > layout.version:
        raise Refused(
            f"it was made by a newer version of reducedfem "
            f"({metadata.get('package_version', 'unknown')[:40]}, format version {version}); this "
            f"is {__version__}, which reads format version {layout.version}: please update"
        )
    missing = [key for key in layout.texts if key not in metadata]
    if missing:
        raise Refused(f"its metadata lack {missing[0]!r}")
    return header, 8 + length


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _check_arrays(layout: Layout, header: dict[str, Any], room: int) -> dict[str, tuple[int, ...]]:
    """Check names, types, shapes and offsets of the arrays; return the shapes."""
    names = _names(header)
    schema = layout.schema(names)
    for name in schema:
        if name not in names:
            raise Refused(f"the array {name!r} is missing")
    extra = sorted(names - set(schema))
    if extra:
        raise Refused(f"it has an array {extra[0][:40]!r}, which no {layout.what} has")

    spans: dict[str, tuple[int, int]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, dtype in schema.items():
        entry = header[name]
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise Refused(f"the header's entry for {name!r} is malformed")
        if entry["dtype"] != dtype:
            raise Refused(f"{name!r} has dtype {str(entry['dtype'])[:40]!r}; it must be {dtype!r}")
        shape, span = entry["shape"], entry["data_offsets"]
        for numbers in (shape, span):
            if not isinstance(numbers, list) or len(numbers) > 8:
                raise Refused(f"the header's entry for {name!r} is malformed")
            if not all(_is_count(number) for number in numbers):
                raise Refused(f"the header's entry for {name!r} has a number out of range")
        if len(span) != 2 or span[1] - span[0] != math.prod(shape) * _DTYPES[dtype].itemsize:
            raise Refused(f"the shape of {name!r} does not fit its number of bytes")
        shapes[name], spans[name] = tuple(shape), (span[0], span[1])

    # each byte belongs to exactly one array
    at = 0
    for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        if begin != at:
            raise Refused(f"{name!r} begins at byte {begin} of the arrays instead of {at}")
        at = end
    if at > room:
        raise Refused(f"it is truncated: its arrays have {room} of {at} bytes")
    if at < room:
        raise Refused(f"{room - at} bytes follow its end")
    return shapes


def require_finite(value: object, what: str) -> None:
    """Refuse numbers outside the range of floats and indices, which JSON allows."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, int | float) and not is_plain_number(one):
            raise Refused(f"{what} has a number that is too large")
