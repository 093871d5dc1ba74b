"""Volume meshes in the formats of meshio."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.memory import available
from reducedfem.errors import FileFormatError
from reducedfem.io import constraint_fields
from reducedfem.io.reading import read_regular, regular_file
from reducedfem.io.text_lines import Included, Line
from reducedfem.io.volume_data import VolumeData

__all__ = [
    "WITH_CONSTRAINTS",
    "WITH_FIELDS",
    "WRITABLE",
    "WRITABLE_TETS",
    "read",
    "read_apart",
    "write",
]

_MESHIO_TYPES = {"tetra": 4, "hexahedron": 8, "tetra10": 10, "hexahedron20": 20}
# formats that meshio writes and reads back unchanged
WRITABLE = (
    *(".vtu", ".vtk", ".msh", ".mesh", ".meshb", ".inp", ".avs", ".bdf", ".nas"),
    *(".su2", ".dat", ".tec", ".xdmf", ".xmf", ".med", ".exo"),
)
WRITABLE_TETS = (".ele", ".node")
_PAIR = b"# reducedfem: files of one save"
# processor time allowed for meshio, plus an amount per byte at a tenth of its usual speed
_SECONDS = 10
_SECONDS_A_BYTE = 2e-5
_MOST_SECONDS = 86400
# additional wall-clock time allowed for meshio
_WAIT = 10
# formats for which meshio converts the order of 20-node hexahedra according to their manuals
_WRITABLE_HEX20 = (".vtu", ".vtk", ".msh", ".inp")
# formats with fields over nodes and elements
WITH_FIELDS = (".vtu", ".vtk", ".xdmf", ".xmf")
# with fields of any number of values a node, which constraints are
WITH_CONSTRAINTS = (".vtu", ".vtk")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the output of meshio."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield


def read(path: Path, others: tuple[str, ...]) -> VolumeData:
    """Return the mesh of a file; messages name the suffixes of `others` as known, too."""
    if path.suffix.lower() == ".safetensors":
        raise FileFormatError(
            f"cannot read {str(path)!r}: a .safetensors file of this package (a model, "
            "field or pointshell) is not a mesh or surface; load() reads it, and `reducedfem info` "
            "describes it"
        )
    if path.suffix.lower() in WRITABLE_TETS:
        _check_tetgen_pair(path)
    if path.suffix.lower() == ".inp":
        _check_includes(path, read_regular(path), Included(path), 0)
    return read_apart(path, _SECONDS + int(_SECONDS_A_BYTE * path.stat().st_size), others=others)


def _check_includes(path: Path, data: bytes, included: Included, depth: int) -> None:
    """Apply the limits of includes to an Abaqus file, because meshio opens any file."""
    # lines, encoding and names as in meshio
    text = io.TextIOWrapper(io.BytesIO(data), encoding="locale", errors="surrogateescape")
    for number, raw in enumerate(text, 1):
        keyword = raw.partition(",")[0].strip().replace("*", "").upper()
        if raw.startswith("**") or keyword != "INCLUDE":
            continue
        line, name = Line(path, number, raw.split()), raw.rpartition("=")[2].strip()
        place, contents = included.read(name, line, depth)
        if os.path.exists(name) and os.path.realpath(name) != os.path.realpath(place):
            raise line.fail(
                f"*INCLUDE: meshio would read {os.path.abspath(name)!r} of the current folder "
                f"instead of {str(place)!r}; rename one of them or change the current folder"
            )
        _check_includes(place, contents, included, depth + 1)


def read_apart(
    path: Path, seconds: int, wait: int = _WAIT, others: tuple[str, ...] = ()
) -> VolumeData:
    """Read a file by meshio in a child process with a limit on processor time [s].

    `wait` is the additional wall-clock time [s].
    """
    seconds = min(seconds, _MOST_SECONDS)
    patience = seconds + wait
    request = {
        "path": os.fsencode(path).hex(),
        "sys_path": sys.path,
        "seconds": seconds,
        "others": others,
        "bytes": int(available()) or 2**40,
    }
    child = Path(__file__).with_name("meshio_child.py")
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(child), json.dumps(request)],
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=patience,  # it may share the processor, or wait for a named pipe
        )
    except subprocess.TimeoutExpired:
        raise _endless(path, f"{patience} s of wall-clock time") from None
    except (OSError, ValueError) as error:
        raise FileFormatError(
            f"cannot read {str(path)!r}: no process could be started for it: {error}"
        ) from error
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise _endless(path, f"{seconds} s of processor time")
    try:
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as found:
            result = dict(found)
    except (ValueError, OSError, EOFError):
        last = done.stderr.decode("utf-8", errors="replace").strip().rpartition("\n")[2]
        raise FileFormatError(
            f"{str(path)!r} could not be read: its reader ended with status {done.returncode}"
            + (f" ({last})" if last else "")
        ) from None
    if "refused" in result:
        raise FileFormatError(str(result["refused"]))
    names = {int(tag): str(name) for tag, name in json.loads(str(result["names"]))}
    data = VolumeData(result["nodes"], result["elements"], result["regions"], names)
    fields = [result[name] for name in constraint_fields.NAMES if name in result]
    if len(fields) == len(constraint_fields.NAMES):
        masters, weights = fields
        try:
            data.constraints = constraint_fields.from_fields(masters, weights, len(data.nodes))
        except ValueError as error:
            raise FileFormatError(f"{str(path)!r} is damaged: {error}") from None
    data.constraints_lost = bool(fields) and data.constraints is None
    return data


def _endless(path: Path, time: str) -> FileFormatError:
    return FileFormatError(
        f"{str(path)!r} is damaged, or too large for its format: meshio did not finish reading it "
        f"within {time}; write it as .veg, .vtu or .msh"
    )


def _tetgen_head(path: Path) -> bytes:
    """Return the first line; refuse an empty file, which meshio would read endlessly."""
    with regular_file(path) as (file, _):
        first = file.readline()
        if first.partition(b"#")[0].strip() or any(
            line.partition(b"#")[0].strip() for line in file
        ):
            return first
    raise FileFormatError(f"{str(path)!r} is empty")


def _check_tetgen_pair(path: Path) -> None:
    """Refuse two files from different saves, which a killed process may leave."""
    nodes, elements = path.with_suffix(".node"), path.with_suffix(".ele")
    heads = [_tetgen_head(file) for file in (nodes, elements)]
    stamps = [head if head.startswith(_PAIR) else b"" for head in heads]
    if stamps[0] != stamps[1]:
        raise FileFormatError(
            f"{str(nodes)!r} and {str(elements)!r} were not written together: write the mesh "
            f"again, or delete the line that begins with {_PAIR.decode()!r} to read them "
            "nevertheless"
        )


def _stamp_tetgen_pair(path: Path, data: VolumeData) -> None:
    """Write the same first line, unique for the mesh, to both files."""
    digest = hashlib.sha256()
    for array in (data.nodes, data.elements, data.regions):
        digest.update(np.ascontiguousarray(array).tobytes())
    stamp = _PAIR + b" " + digest.hexdigest()[:32].encode("ascii") + b"\n"
    for suffix in WRITABLE_TETS:
        file = path.with_suffix(suffix)
        file.write_bytes(stamp + file.read_bytes())


def _missing(error: ImportError, suffix: str) -> FileFormatError:
    return FileFormatError(
        f"{suffix} files need the Python package {error.name}: pip install {error.name}"
    )


def write(path: Path, data: VolumeData, suffix: str, others: tuple[str, ...]) -> None:
    """Write a mesh in the format of a suffix."""
    import meshio

    kind = {corners: name for name, corners in _MESHIO_TYPES.items()}[data.elements.shape[1]]
    known = _WRITABLE_HEX20 if kind == "hexahedron20" else WRITABLE
    known += WRITABLE_TETS if kind == "tetra" else ()
    if suffix not in known:
        raise FileFormatError(
            f"cannot write a mesh of {kind} elements as "
            f"{suffix or 'a file without suffix'}; known are {' '.join((*others, *known))}"
        )
    regions = data.regions.astype(np.int32)
    cell_data: dict[str, list[NDArray[Any]]] = {"region": [regions]}
    point_data = dict(data.point_data)
    if suffix in WITH_FIELDS:
        if data.fractions is not None:
            cell_data["fraction"] = [data.fractions]
        cell_data |= {name: [values] for name, values in data.cell_data.items()}
    if suffix in WITH_CONSTRAINTS:
        point_data |= constraint_fields.as_fields(data.constraints, len(data.nodes))
    field_data: dict[str, Any] = {}
    options: dict[str, Any] = {}
    if suffix == ".msh":
        # the older Gmsh format, which stores one tag per element without further tables
        options["file_format"] = "gmsh22"
        cell_data = {"gmsh:physical": [regions], "gmsh:geometrical": [regions]}
        field_data = {name: np.array([tag, 3]) for tag, name in data.region_names.items()}
    elif suffix in (".mesh", ".meshb"):
        cell_data = {"medit:ref": [regions]}
    elif suffix in WRITABLE_TETS:
        cell_data = {"tetgen:ref": [regions]}
    elif suffix in (".xdmf", ".xmf"):
        options["data_format"] = "XML"  # a single file
    mesh = meshio.Mesh(
        data.nodes, [(kind, data.elements)], point_data=point_data, cell_data=cell_data
    )
    mesh.field_data = field_data
    try:
        with _quiet():
            mesh.write(path, **options)
        if suffix in WRITABLE_TETS:
            _stamp_tetgen_pair(path, data)
    except (MemoryError, FileFormatError):
        raise
    except ImportError as error:
        raise _missing(error, suffix) from error
    except OSError as error:
        raise FileFormatError(f"cannot write: {error.strerror or error}") from error
    except (Exception, SystemExit) as error:
        raise FileFormatError(f"{suffix} files cannot hold this mesh: {error}") from error
