"""Files of triangle surfaces: OBJ, PLY, STL and OFF."""

from __future__ import annotations

import codecs
import io
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.errors import FileFormatError
from reducedfem.io.atomic import as_path, replacing
from reducedfem.io.ply_strips import check_counts, has_strips, read_strips
from reducedfem.io.reading import in_memory, read_regular

__all__ = ["SURFACE_SUFFIXES", "read", "save"]

SURFACE_SUFFIXES = (".obj", ".ply", ".stl", ".off")
_LONGEST_WORD = 64
_WRITABLE = (".obj", ".ply", ".stl")


def save(
    vertices: NDArray[np.float64], triangles: NDArray[np.int32], path: str | os.PathLike[str]
) -> None:
    """Write a surface to a file, whole or not at all."""
    suffix = as_path(path).suffix.lower()
    if suffix not in _WRITABLE:
        raise FileFormatError(
            f"cannot write {str(path)!r}: a surface goes to {', '.join(_WRITABLE)}"
        )
    encode = {".obj": _to_obj, ".ply": _to_ply, ".stl": _to_stl}[suffix]
    with replacing(path) as temporary:
        temporary.write_bytes(encode(vertices, triangles))


def read(file: Path) -> tuple[ArrayLike, NDArray[np.int64]]:
    """Return vertices and triangles of a file, at least one triangle."""
    suffix = file.suffix.lower()
    if os.path.isdir(file):
        raise FileFormatError(f"cannot read {str(file)!r}: it is a folder")
    if suffix not in SURFACE_SUFFIXES:
        raise FileFormatError(
            f"cannot read {str(file)!r} as a surface: known are {', '.join(SURFACE_SUFFIXES)}"
            " (volume meshes are read by read_mesh; .safetensors files, which this package saved,"
            " by load)"
        )
    data = read_regular(file)
    if not data or data.isspace():
        raise FileFormatError(f"{str(file)!r} is empty")
    with in_memory(file):
        vertices, triangles = (_from_obj if suffix == ".obj" else _by_trimesh)(data, file)
    if len(triangles) == 0:
        raise FileFormatError(f"{str(file)!r}, read as {suffix[1:].upper()}, has no triangles")
    return vertices, triangles


_ASCII = bytes(range(128)) + b"?" * 128


def _in_ascii(data: bytes, kind: str) -> bytes:
    """Replace non-ASCII bytes, which occur in names and comments only."""
    if kind == "ply":
        header, mark, body = data.partition(b"end_header")
        return data if header.isascii() else header.translate(_ASCII) + mark + body
    return data if kind == "stl" and _binary_stl(data) else data.translate(_ASCII)


def _check_off(data: bytes) -> None:
    """Refuse an OFF file with fewer lines than it announces."""
    text = b"\n".join(line.partition(b"#")[0] for line in data.splitlines())
    lines = [line for line in text.partition(b"OFF")[2].splitlines() if line.strip()]
    counts = lines.pop(0).split()[:2] if lines else []
    if len(counts) < 2:
        raise ValueError("it does not begin with OFF and the numbers of vertices and faces")
    vertices, faces = map(int, counts)
    for count, there, name in (
        (vertices, len(lines), "vertices"),
        (faces, len(lines) - vertices, "faces"),
    ):
        if not 0 <= count <= there:
            raise ValueError(f"it announces {count} {name}, but has {there}")
    for at, line in enumerate(lines[vertices : vertices + faces], 1):
        words = line.split()
        if int(words[0]) >= len(words):
            raise ValueError(
                f"face {at} announces {int(words[0])} vertices, but has {len(words) - 1}"
            )


def _announced(data: bytes) -> int:
    """Return the number of triangles in the header of a binary STL file."""
    return int.from_bytes(data[80:84], "little")


def _binary_stl(data: bytes) -> bool:
    """Return True for a binary STL file, complete or not: its count contains zero bytes."""
    return 0 in data[:84] or len(data) == 84 + 50 * _announced(data)


def _check_stl(data: bytes) -> None:
    """Refuse a binary STL file of a wrong length, or an ASCII one without an ``endsolid``."""
    if _binary_stl(data):
        count, there = _announced(data), (len(data) - 84) // 50
        if there < 0:
            raise ValueError(
                f"it has {len(data)} bytes, but its header has 84 (is the file cut off?)"
            )
        if count > there:
            raise ValueError(
                f"it announces {count} triangles and holds {there} (is the file cut off?)"
            )
        if len(data) > 84 + 50 * count:
            raise ValueError(
                f"it announces {count} triangles, but {len(data) - 84 - 50 * count} bytes "
                "follow them"
            )
        return
    begun = len(re.findall(rb"(?:^|[\r\n])[ \t]*solid\b", data, re.IGNORECASE))
    ended = data.lower().count(b"endsolid")
    if begun > ended:
        raise ValueError(f"{begun} solids begin and {ended} end (is the file cut off?)")


# trimesh accepts truncated files
_CHECKS = {"off": _check_off, "ply": check_counts, "stl": _check_stl}


def _by_trimesh(data: bytes, file: Path) -> tuple[ArrayLike, NDArray[np.int64]]:
    """Read with trimesh; convert the various exceptions of its readers to FileFormatError."""
    import trimesh

    kind = file.suffix.lower()[1:]
    try:
        if kind == "ply" and has_strips(data):
            return read_strips(data)
        data = _in_ascii(data, kind)
        _CHECKS[kind](data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh: Any = trimesh.load(
                io.BytesIO(data),
                file_type=kind, process=False, maintain_order=True, force="mesh",
            )  # fmt: skip
        return mesh.vertices, np.asarray(mesh.faces)
    except MemoryError:
        raise
    except Exception as error:
        # a reader's exception may have an empty text
        detail = f": {error}" if str(error) else ""
        raise FileFormatError(
            f"{str(file)!r} is not a readable {kind.upper()} file{detail}"
        ) from error


def _from_obj(data: bytes, file: Path) -> tuple[ArrayLike, NDArray[np.int64]]:
    """Read ``v`` and ``f`` statements in order; general readers reorder vertices for textures."""
    coordinates: list[bytes] = []
    triangles: list[tuple[int, int, int]] = []
    data = data.removeprefix(codecs.BOM_UTF8)  # the first word would be unknown
    lines = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines()
    for at, line in enumerate(lines, 1):
        cut = " (is the file cut off?)" if at == len(lines) else ""
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            if len(words) < 4:
                raise FileFormatError(
                    f"{str(file)!r}, line {at}: a vertex needs three coordinates{cut}"
                )
            for word in words[1:4]:
                _refuse_long(word, file, at)
            coordinates += words[1:4]
        elif words[0] == b"f":
            count = len(coordinates) // 3
            corners = []
            for word in words[1:]:
                if word.startswith(b"#"):
                    break
                _refuse_long(word, file, at)
                try:
                    index = int(word.partition(b"/")[0])
                except ValueError:
                    raise FileFormatError(
                        f"{str(file)!r}, line {at}: {_shown(word)} is not a vertex index"
                    ) from None
                # 1 is the first vertex, -1 the last one so far
                corners.append(index - 1 if index > 0 else count + index)
                if index == 0 or corners[-1] < 0:
                    raise FileFormatError(f"{str(file)!r}, line {at}: there is no vertex {index}")
            if len(corners) < 3:
                raise FileFormatError(f"{str(file)!r}, line {at}: a face needs three vertices{cut}")
            triangles += [
                (corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)
            ]
    try:
        vertices = np.array(coordinates, dtype=bytes).astype(np.float64).reshape(-1, 3)
        return vertices, np.array(triangles, dtype=np.int64).reshape(-1, 3)
    except (ValueError, OverflowError) as error:
        raise FileFormatError(f"{str(file)!r} is damaged: {error}") from error


def _refuse_long(word: bytes, file: Path, line: int) -> None:
    """Refuse overlong words: NumPy stores every word of an array with the longest length."""
    if len(word) > _LONGEST_WORD:
        raise FileFormatError(
            f"{str(file)!r}, line {line}: a word of {len(word)} bytes, numbers have "
            f"{_LONGEST_WORD} at most; it begins with {_shown(word[:16])}"
        )


def _shown(word: bytes) -> str:
    return repr(word.decode("utf-8", errors="replace"))


def _to_obj(vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> bytes:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (triangles + 1).tolist()]
    return ("\n".join(lines) + "\n").encode("ascii")


def _to_ply(vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> bytes:
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(vertices)}\n"
        "property double x\nproperty double y\nproperty double z\n"
        f"element face {len(triangles)}\n"
        "property list uchar int vertex_indices\nend_header\n"
    )
    faces = np.empty(len(triangles), dtype=[("count", "u1"), ("index", "<i4", 3)])
    faces["count"] = 3
    faces["index"] = triangles
    return header.encode("ascii") + vertices.astype("<f8").tobytes() + faces.tobytes()


def _to_stl(vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> bytes:
    facets = np.zeros(
        len(triangles), dtype=[("normal", "<f4", 3), ("x", "<f4", (3, 3)), ("more", "<u2")]
    )
    x = vertices[triangles]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    facets["normal"] = normal / np.where(length > 0, length, 1)
    facets["x"] = x
    count = np.array(len(triangles), dtype="<u4").tobytes()
    return b"binary STL, lengths in metres".ljust(80) + count + facets.tobytes()
