"""Program that reads a mesh file by meshio.

Some of meshio's readers never end on damaged files, and others take all memory, so this file runs
in a child process with limits of both. It imports nothing of this package. Its argument is JSON:
``path``, ``sys_path``, ``seconds`` of processor time, ``bytes`` of memory and ``others``, suffixes
that are known besides those of meshio. Its output is a file
of NumPy (.npz): ``nodes``, ``elements``, ``regions``, ``names`` (JSON) and, if the file has them,
``constraint_nodes`` and ``constraint_weights``; or ``refused``, a text.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import re
import sys
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["Refused", "arrays"]

_TYPES = {"tetra": 4, "hexahedron": 8, "tetra10": 10, "hexahedron20": 20}
# cells without volume are ignored
_FLAT_TYPES = ("vertex", "line", "triangle", "quad", "polygon")
# formats of surfaces, and one that meshio only writes
_FLAT_FORMATS = {"obj", "off", "ply", "stl", "svg", "wkt"}
# point data of constraints
_TIES = ("constraint_nodes", "constraint_weights")
_COLOURS = re.compile(rb"^COLOR_SCALARS[ \t]+(\S+)", re.MULTILINE)  # of legacy VTK files
# names of integer cell data in the formats, most specific first
_REGION_KEYS = (
    "region",
    "gmsh:physical",
    "medit:ref",
    "tetgen:ref",
    "avsucd:material",
    "nastran:ref",
    "cell_tags",
    "gmsh:geometrical",
)


class Refused(Exception):
    """A file is not usable; the text gives the reason."""


def _limit(seconds: int, more_bytes: int) -> None:
    """Limit processor time and memory of this process."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime) + seconds
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (end, end))
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _mesh_of(path: Path, others: Sequence[str]) -> Any:
    import meshio

    suffixes = {
        suffix
        for suffix, formats in meshio.extension_to_filetypes.items()
        if not _FLAT_FORMATS.issuperset(formats)
    }
    if not any("".join(path.suffixes[-n:]).lower() in suffixes for n in (1, 2)):
        raise Refused(
            f"cannot read {str(path)!r}: {path.suffix or 'a name without suffix'} is no known "
            f"format; known are {' '.join([*others, *sorted(suffixes)])}"
        )
    _name_types()
    try:
        _refuse_lost_regions(path)
        return meshio.read(path)
    except Refused:
        raise
    except MemoryError:
        raise Refused(f"{str(path)!r} is damaged, or does not fit into memory") from None
    except ImportError as error:
        raise Refused(
            f"{path.suffix} files need the Python package {error.name}: pip install {error.name}"
        ) from None
    except (Exception, SystemExit) as error:
        detail = f": {error}" if str(error) not in ("", "1") else ""
        raise Refused(_blamed(path, detail)) from None


def _name_types() -> None:
    """Give the reader of legacy VTK files 5.1 the types that VTK, and so PyVista, writes."""
    from meshio.vtk import _vtk_42, _vtk_51

    # its own "int" is one of 64 bits
    _vtk_51.vtk_to_numpy_dtype_name.update(_vtk_42.vtk_to_numpy_dtype_name)


def _legacy_head(path: Path) -> list[bytes]:
    """Return the first four lines of a legacy VTK file, in capitals; empty: another file."""
    with path.open("rb") as file:
        head = [file.readline(300).strip().upper() for _ in range(4)]
    legacy = head[0].startswith(b"# VTK DATAFILE") and head[2] in (b"BINARY", b"ASCII")
    return head if legacy else []


def _refuse_lost_regions(path: Path) -> None:
    """Refuse legacy VTK files with regions of bytes, which meshio passes over without a word."""
    if not _legacy_head(path):
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = [one[1].decode("latin1") for one in _COLOURS.finditer(data)]
    for name in map(urllib.parse.unquote, found):
        if name in _REGION_KEYS:
            raise Refused(
                f"{str(path)!r} is a legacy VTK file with {name!r} as bytes (COLOR_SCALARS), which "
                "meshio does not read: write it as .vtu, as grid.save('mesh.vtu') in PyVista, or "
                "with regions of another type of integers"
            )


def _blamed(path: Path, detail: str) -> str:
    head = _legacy_head(path)
    if not head:
        return f"{str(path)!r} is damaged or of another format{detail}"
    if head[3].split() == [b"DATASET", b"POLYDATA"]:
        return (
            f"{str(path)!r} is a surface (POLYDATA), which has no volume elements: fill it, as by "
            "voxelize, or write it as .stl or .ply for read_surface"
        )
    kind = "a binary" if head[2] == b"BINARY" else "an ASCII"
    return (
        f"{str(path)!r} is {kind} legacy VTK file that meshio does not read{detail}; it is "
        "damaged, or has arrays of texts, flags, bytes, or more than four components: write it as "
        ".vtu, as grid.save('mesh.vtu') in PyVista, or without these arrays"
    )


def _kind(path: Path, mesh: Any) -> str:
    """Return the kind of the volume elements; refuse mixed kinds."""
    kinds = {block.type for block in mesh.cells if not block.type.startswith(_FLAT_TYPES)}
    if not kinds:
        found = ", ".join(sorted({block.type for block in mesh.cells})) or "none"
        raise Refused(
            f"{str(path)!r} has no volume elements (its cells: {found}); "
            "surfaces are read by read_surface"
        )
    if kinds - set(_TYPES) or len(kinds) > 1:
        raise Refused(
            f"{str(path)!r} has volume elements {', '.join(sorted(kinds))}; a mesh is either all "
            "tetra (4 nodes), tetra10 (10), hexahedron (8) or hexahedron20 (20 nodes): export it "
            "with one of these kinds"
        )
    return str(kinds.pop())


def arrays(path: Path, others: Sequence[str] = ()) -> dict[str, Any]:
    """Return nodes, elements, regions and names of regions."""
    import numpy as np

    mesh = _mesh_of(path, others)
    kind = _kind(path, mesh)
    blocks = [i for i, block in enumerate(mesh.cells) if block.type == kind]
    try:
        nodes = np.asarray(mesh.points, dtype=np.float64)
        elements = np.concatenate([np.asarray(mesh.cells[i].data) for i in blocks])
        elements = elements.astype(np.int64).reshape(-1, _TYPES[kind])
        regions, names = _regions(mesh, blocks, len(elements))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise Refused(f"{str(path)!r} is damaged: {error}") from None
    except MemoryError:
        raise Refused(f"{str(path)!r} does not fit into memory") from None
    ties = {name: mesh.point_data[name] for name in _TIES if name in mesh.point_data}
    return {
        "nodes": nodes,
        "elements": elements,
        "regions": regions,
        "names": np.array(json.dumps(list(names.items()))),
    } | {name: np.asarray(values) for name, values in ties.items()}


def _regions(mesh: Any, blocks: list[int], count: int) -> tuple[Any, dict[int, str]]:
    """Return regions of the elements, from integers or sets of the file, and their names."""
    import numpy as np

    regions = np.zeros(count, dtype=np.int64)
    names: dict[int, str] = {}
    for key in _REGION_KEYS:
        if key not in mesh.cell_data:
            continue
        values = np.concatenate([np.asarray(mesh.cell_data[key][i]).ravel() for i in blocks])
        if values.dtype.kind not in "iu" and not (
            values.dtype.kind == "f" and np.array_equal(values, np.rint(values))
        ):
            continue
        if len(values) == count and np.abs(values).max(initial=0) < 2**31:
            regions[:] = values
            for name, (tag, dimension) in _physical_names(mesh):
                if dimension == 3:
                    names[tag] = name
            return regions, names

    # disjoint sets are regions; elements outside all sets are region 0
    starts = np.cumsum([0, *(len(mesh.cells[i].data) for i in blocks)])
    sets: dict[str, Any] = {}
    for name, members in mesh.cell_sets.items():
        found = [
            np.asarray(members[i], dtype=np.int64).ravel() + start
            for i, start in zip(blocks, starts, strict=False)
            if i < len(members) and members[i] is not None and len(members[i])
        ]
        if found:
            sets[name] = np.unique(np.concatenate(found))
    times = np.zeros(count, dtype=np.int64)
    for members in sets.values():
        if members[0] < 0:
            raise ValueError("a set has a negative element")
        times[members] += 1
    if times.max(initial=0) == 1:
        for number, (name, members) in enumerate(sets.items(), 1):
            regions[members] = number
            names[number] = name
    return regions, names


def _physical_names(mesh: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    for name, value in mesh.field_data.items():
        with contextlib.suppress(TypeError, ValueError):
            tag, dimension = (int(v) for v in value)
            yield str(name), (tag, dimension)


def _main(argument: str) -> None:
    request = json.loads(argument)
    sys.path[:] = request["sys_path"]
    # keep text that meshio prints out of the output
    output = os.fdopen(os.dup(1), "wb")
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    import meshio  # noqa: F401 - before memory is limited
    import numpy as np

    _limit(request["seconds"], request["bytes"])
    try:
        path = Path(os.fsdecode(bytes.fromhex(request["path"])))
        result = arrays(path, request["others"])
    except Refused as why:
        result = {"refused": np.array(str(why))}
    data = io.BytesIO()
    np.savez(data, **result)
    with output:
        output.write(data.getbuffer())


if __name__ == "__main__":
    _main(sys.argv[1])
