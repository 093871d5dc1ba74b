"""Readers and writers of volume mesh files, as plain arrays."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.memory import available
from reducedfem.errors import FileFormatError
from reducedfem.io.reading import in_memory, read_regular, regular_file

__all__ = ["ElasticData", "VolumeData", "read_indices", "read_volume", "write_volume"]

_INCLUDE_DEPTH = 10
# limits of all included files together; Vega's examples include a few lists of numbers
_INCLUDED_FILES = 1000
_INCLUDED_BYTES = 2**28
_VEG_TYPES = {"TET": 4, "TETS": 4, "CUBIC": 8}
_MESHIO_TYPES = {"tetra": 4, "hexahedron": 8, "tetra10": 10, "hexahedron20": 20}
# formats that meshio writes and reads back unchanged
_WRITABLE = (
    *(".veg", ".vtu", ".vtk", ".msh", ".mesh", ".meshb", ".inp", ".avs", ".bdf", ".nas"),
    *(".su2", ".dat", ".tec", ".xdmf", ".xmf", ".med", ".exo"),
)
_WRITABLE_TETS = (".ele", ".node")
_PAIR = b"# reducedfem: files of one save"
# processor time allowed for meshio, plus an amount per byte at a tenth of its usual speed
_SECONDS = 10
_SECONDS_A_BYTE = 2e-5
_MOST_SECONDS = 86400
# additional wall-clock time allowed for meshio
_WAIT = 10
# formats for which meshio converts the order of 20-node hexahedra according to their manuals
_WRITABLE_HEX20 = (".vtu", ".vtk", ".msh", ".inp")


class ElasticData(NamedTuple):
    """Isotropic elastic material of a ``.veg`` file."""

    name: str
    density: float
    young: float
    poisson: float


@dataclass
class VolumeData:
    """Contents of a volume mesh file with 0-based indices."""

    nodes: NDArray[np.float64]
    elements: NDArray[np.int64]
    regions: NDArray[np.int64]
    region_names: dict[int, str] = field(default_factory=dict)
    materials: dict[int, ElasticData] = field(default_factory=dict)
    fractions: NDArray[np.float64] | None = None


def read_volume(path: Path) -> VolumeData:
    """Read a ``.veg`` file, or a format of meshio."""
    with regular_file(path) as (file, _):
        if not file.read(4096).strip():
            raise FileFormatError(f"{str(path)!r} is empty")
    with in_memory(path):
        return _read_veg(path) if path.suffix.lower() == ".veg" else _read_meshio(path)


def write_volume(path: Path, data: VolumeData, suffix: str) -> None:
    """Write a ``.veg`` file, or a format of meshio; the caller replaces the target afterwards."""
    if suffix == ".veg":
        if data.elements.shape[1] not in _VEG_TYPES.values():
            raise FileFormatError(
                f"a .veg file cannot hold elements of {data.elements.shape[1]} nodes; write .vtu "
                "or .msh instead"
            )
        path.write_bytes(_veg_text(data).encode("ascii"))
    else:
        _write_meshio(path, data, suffix)


# ---- .veg -------------------------------------------------------------------------


class _Line(NamedTuple):
    """A line of a .veg file or of an included file."""

    file: Path
    number: int
    words: list[str]

    def fail(self, why: str) -> FileFormatError:
        return FileFormatError(f"{str(self.file)!r}, line {self.number}: {why}")


class _Included:
    """Budget of included files: number, bytes, and the folder that must contain them."""

    def __init__(self, first: Path) -> None:
        self._folder = os.path.realpath(first.parent)
        self._files, self._bytes = _INCLUDED_FILES, _INCLUDED_BYTES

    def read(self, name: str, line: _Line, depth: int) -> tuple[Path, bytes]:
        """Return the path and the contents of the file included by a line at a nesting depth."""
        if depth == _INCLUDE_DEPTH:
            raise line.fail(f"files include each other more than {_INCLUDE_DEPTH} deep")
        path = line.file.parent / name
        try:
            real = os.path.realpath(path)
            inside = os.path.commonpath([self._folder, real]) == self._folder
        except ValueError as error:  # null character in the name, or another drive
            raise line.fail(f"*INCLUDE: no file can be called {name!r}: {error}") from None
        if os.path.isabs(name) or not inside:
            raise line.fail(
                f"*INCLUDE: {name!r} is not in {self._folder!r}, the folder of the first file; "
                "copy it there and include it by its name"
            )
        if self._files == 0:
            raise line.fail(f"*INCLUDE: more than {_INCLUDED_FILES} files are included")
        self._files -= 1
        try:
            data = read_regular(path, self._bytes)
        except FileFormatError as error:
            raise line.fail(f"*INCLUDE: {error}") from error
        self._bytes -= len(data)
        return path, data


def _lines(path: Path) -> Iterator[_Line]:
    """Yield the lines with content, with included files in place."""
    yield from _lines_of(path, read_regular(path), _Included(path), 0)


def _lines_of(path: Path, data: bytes, included: _Included, depth: int) -> Iterator[_Line]:
    text = data.decode("utf-8-sig", errors="replace")  # some editors write a byte order mark
    for number, raw in enumerate(text.splitlines(), 1):
        content = raw.partition("#")[0]
        words = content.replace(",", " ").split()
        if not words:
            continue
        line = _Line(path, number, words)
        if words[0].upper() != "*INCLUDE":
            yield line
        elif len(words) < 2:
            raise line.fail("*INCLUDE needs a file name")
        else:
            # file names may contain blanks and commas
            name = content.strip().split(None, 1)[1].strip()
            yield from _lines_of(*included.read(name, line, depth), included, depth + 1)


class _Section(NamedTuple):
    head: _Line
    body: list[_Line]


def _sections(lines: Iterable[_Line]) -> Iterator[_Section]:
    section: _Section | None = None
    for line in lines:
        if line.words[0].startswith("*"):
            if section is not None:
                yield section
            section = _Section(line, [])
        elif section is None:
            raise line.fail("expected a section such as *VERTICES")
        else:
            section.body.append(line)
    if section is not None:
        yield section


def _first(section: _Section) -> _Line:
    if not section.body:
        raise section.head.fail(f"{section.head.words[0]} is empty")
    return section.body[0]


def _table(lines: list[_Line], columns: int, kind: type) -> NDArray[Any]:
    """Return the leading columns of lines; refuse text that is not a number."""
    short = next((line for line in lines if len(line.words) < columns), None)
    if short is not None:
        raise short.fail(f"expected {columns} numbers, got {len(short.words)}")
    words = [line.words[:columns] for line in lines]
    try:
        return np.array(words, dtype=object).astype(kind).reshape(-1, columns)
    except (ValueError, OverflowError):
        for line in lines:
            try:
                np.array(line.words[:columns], dtype=object).astype(kind)
            except (ValueError, OverflowError):
                what = "a whole number" if kind is np.int64 else "a number"
                raise line.fail(f"not {what} in {' '.join(line.words)!r}") from None
        raise


def _counted(section: _Section, header: _Line, rest: list[_Line]) -> list[_Line]:
    """Return the lines counted by the header; refuse fewer lines."""
    try:
        count = int(header.words[0])
    except ValueError:
        raise header.fail(f"expected a count, got {header.words[0]!r}") from None
    if count < 1 or count > len(rest):
        cut = " (is the file cut off?)" if count > len(rest) else ""
        raise header.fail(
            f"{section.head.words[0]} announces {count} lines and is followed by {len(rest)}{cut}"
        )
    return rest[:count]


def _base(lines: list[_Line]) -> int:
    """Return 0 or 1, the first index in the first column."""
    index = _table(lines, 1, np.int64)[:, 0]
    base = int(index[0])
    if base not in (0, 1):
        raise lines[0].fail(f"numbering must start at 0 or 1, not at {base}")
    wrong = np.flatnonzero(index != np.arange(base, base + len(index)))
    if wrong.size:
        at = int(wrong[0])
        raise lines[at].fail(f"expected number {base + at}, got {index[at]}")
    return base


def _read_veg(path: Path) -> VolumeData:
    nodes: NDArray[np.float64] | None = None
    elements: NDArray[np.int64] | None = None
    node_base = element_base = 1
    sets: dict[str, NDArray[np.int64]] = {}
    set_heads: dict[str, _Line] = {}
    materials: dict[str, ElasticData | None] = {}
    assignments: list[tuple[_Line, str, str]] = []

    for section in _sections(_lines(path)):
        head, body = section
        keyword = head.words[0].upper()
        if keyword == "*VERTICES":
            lines = _counted(section, _first(section), body[1:])
            node_base = _base(lines)
            nodes = _table(lines, 4, np.float64)[:, 1:]
        elif keyword == "*ELEMENTS":
            corners = _VEG_TYPES.get(_first(section).words[0].upper())
            if corners is None:
                raise body[0].fail(f"elements are {body[0].words[0]!r}; known are TET and CUBIC")
            if len(body) < 2:
                raise head.fail("*ELEMENTS has no count")
            lines = _counted(section, body[1], body[2:])
            element_base = _base(lines)
            elements = _table(lines, corners + 1, np.int64)[:, 1:]
        elif keyword == "*MATERIAL":
            name = _name(section)
            values = _first(section)
            materials[name] = None
            if values.words[0].upper() == "ENU":
                enu = _table([values._replace(words=values.words[1:])], 3, np.float64)[0]
                materials[name] = ElasticData(name, *(float(value) for value in enu))
        elif keyword == "*SET":
            name = _name(section)
            flat = [line._replace(words=[word]) for line in body for word in line.words]
            sets[name] = _table(flat, 1, np.int64)[:, 0] if flat else np.zeros(0, np.int64)
            set_heads[name] = head
        elif keyword == "*REGION":
            line = _first(section)
            if len(line.words) < 2:
                raise line.fail("a region needs a set and a material")
            assignments.append((line, line.words[0], line.words[1]))
        else:
            raise head.fail(f"{head.words[0]} is no known section")

    if nodes is None or elements is None:
        missing = "*VERTICES" if nodes is None else "*ELEMENTS"
        raise FileFormatError(f"{str(path)!r} has no {missing}")
    elements = elements - node_base
    count = len(elements)
    for name, members in sets.items():
        members -= element_base
        if members.size and not (members.min() >= 0 and members.max() < count):
            raise set_heads[name].fail(
                f"set {name!r} refers to elements that are not there; the file has {count}"
            )
    return _with_regions(nodes, elements, sets, materials, assignments)


def _name(section: _Section) -> str:
    if len(section.head.words) < 2:
        raise section.head.fail(f"{section.head.words[0]} needs a name")
    return section.head.words[1]


def _with_regions(
    nodes: NDArray[np.float64],
    elements: NDArray[np.int64],
    sets: dict[str, NDArray[np.int64]],
    materials: dict[str, ElasticData | None],
    assignments: list[tuple[_Line, str, str]],
) -> VolumeData:
    """Assign to each region the number of its statement; later statements override earlier ones."""
    count = len(elements)
    everything = {"allElements": np.arange(count), **sets}
    regions = np.full(count, -1, dtype=np.int64)
    data = VolumeData(nodes, elements, regions)
    for number, (line, set_name, material_name) in enumerate(assignments):
        if set_name not in everything:
            raise line.fail(f"there is no set {set_name!r}")
        if material_name not in materials:
            raise line.fail(f"there is no material {material_name!r}")
        regions[everything[set_name]] = number
        data.region_names[number] = set_name
        material = materials[material_name]
        if material is not None:
            data.materials[number] = material
    if not assignments and sets and _disjoint(list(sets.values()), count):
        for number, (set_name, members) in enumerate(sets.items()):
            regions[members] = number
            data.region_names[number] = set_name
    if (regions < 0).any():
        # elements outside all regions have the first material
        rest = len(data.region_names)
        regions[regions < 0] = rest
        data.region_names[rest] = "rest" if data.region_names else "allElements"
        first = next(iter(materials.values()), None)
        if first is not None:
            data.materials[rest] = first
    return data


def _disjoint(sets: list[NDArray[Any]], count: int) -> bool:
    times = np.zeros(count, dtype=np.int64)
    for members in sets:
        times[np.unique(members)] += 1
    return bool((times <= 1).all())


def _veg_text(data: VolumeData) -> str:
    corners = data.elements.shape[1]
    kind = "TET" if corners == 4 else "CUBIC"
    lines = ["# lengths in m, Young's modulus in Pa, density in kg/m^3"]
    lines += ["", "*VERTICES", f"{len(data.nodes)} 3 0 0"]
    lines += [f"{i} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(data.nodes.tolist(), 1)]
    lines += ["", "*ELEMENTS", kind, f"{len(data.elements)} {corners} 0"]
    lines += [
        f"{i} {' '.join(map(str, nodes))}"
        for i, nodes in enumerate((data.elements + 1).tolist(), 1)
    ]
    names: dict[int, str] = {}
    for region in np.unique(data.regions).tolist():
        name = re.sub(r"[^0-9A-Za-z_.:-]+", "_", data.region_names.get(region, f"region{region}"))
        # the name allElements is reserved, and names must be unique
        while name in names.values() or name == "allElements":
            name = f"{name}_{region}"
        names[region] = name
        members = (np.flatnonzero(data.regions == region) + 1).tolist()
        lines += ["", f"*SET {name}"]
        lines += [", ".join(map(str, members[i : i + 10])) for i in range(0, len(members), 10)]
    known = [region for region in names if region in data.materials]
    for region in known:
        m = data.materials[region]
        lines += ["", f"*MATERIAL material_{names[region]}"]
        lines += [f"ENU, {m.density!r}, {m.young!r}, {m.poisson!r}"]
    for region in known:
        lines += ["", "*REGION", f"{names[region]}, material_{names[region]}"]
    return "\n".join(lines) + "\n"


# ---- meshio -----------------------------------------------------------------------


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the output of meshio."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield


def _read_meshio(path: Path) -> VolumeData:
    if path.suffix.lower() == ".safetensors":
        raise FileFormatError(
            f"cannot read {str(path)!r}: a .safetensors file of this package (a model, "
            "field or pointshell) is not a mesh or surface; load() reads it, and `reducedfem info` "
            "describes it"
        )
    if path.suffix.lower() in _WRITABLE_TETS:
        _check_tetgen_pair(path)
    if path.suffix.lower() == ".inp":
        _check_includes(path, read_regular(path), _Included(path), 0)
    return read_apart(path, _SECONDS + int(_SECONDS_A_BYTE * path.stat().st_size))


def _check_includes(path: Path, data: bytes, included: _Included, depth: int) -> None:
    """Apply the limits of includes to an Abaqus file, because meshio opens any file."""
    # lines, encoding and names as in meshio
    text = io.TextIOWrapper(io.BytesIO(data), encoding="locale", errors="surrogateescape")
    for number, raw in enumerate(text, 1):
        keyword = raw.partition(",")[0].strip().replace("*", "").upper()
        if raw.startswith("**") or keyword != "INCLUDE":
            continue
        line, name = _Line(path, number, raw.split()), raw.rpartition("=")[2].strip()
        place, contents = included.read(name, line, depth)
        if os.path.exists(name) and os.path.realpath(name) != os.path.realpath(place):
            raise line.fail(
                f"*INCLUDE: meshio would read {os.path.abspath(name)!r} of the current folder "
                f"instead of {str(place)!r}; rename one of them or change the current folder"
            )
        _check_includes(place, contents, included, depth + 1)


def read_apart(path: Path, seconds: int, wait: int = _WAIT) -> VolumeData:
    """Read a file by meshio in a child process with a limit on processor time [s].

    `wait` is the additional wall-clock time [s].
    """
    seconds = min(seconds, _MOST_SECONDS)
    patience = seconds + wait
    request = {
        "path": os.fsencode(path).hex(),
        "sys_path": sys.path,
        "seconds": seconds,
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
    return VolumeData(result["nodes"], result["elements"], result["regions"], names)


def _endless(path: Path, time: str) -> FileFormatError:
    return FileFormatError(
        f"{str(path)!r} is damaged, or too large for its format: meshio did not get through it "
        f"in {time}; write it as .veg, .vtu or .msh"
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
            f"{str(nodes)!r} and {str(elements)!r} are not of the same save: write the mesh again, "
            f"or delete the line that begins with {_PAIR.decode()!r} to read them nevertheless"
        )


def _stamp_tetgen_pair(path: Path, data: VolumeData) -> None:
    """Write the same first line, unique for the mesh, to both files."""
    digest = hashlib.sha256()
    for array in (data.nodes, data.elements, data.regions):
        digest.update(np.ascontiguousarray(array).tobytes())
    stamp = _PAIR + b" " + digest.hexdigest()[:32].encode("ascii") + b"\n"
    for suffix in _WRITABLE_TETS:
        file = path.with_suffix(suffix)
        file.write_bytes(stamp + file.read_bytes())


def _missing(error: ImportError, suffix: str) -> FileFormatError:
    return FileFormatError(
        f"{suffix} files need the Python package {error.name}: pip install {error.name}"
    )


def _write_meshio(path: Path, data: VolumeData, suffix: str) -> None:
    import meshio

    kind = {corners: name for name, corners in _MESHIO_TYPES.items()}[data.elements.shape[1]]
    known = _WRITABLE_HEX20 if kind == "hexahedron20" else _WRITABLE
    known += _WRITABLE_TETS if kind == "tetra" else ()
    if suffix not in known:
        raise FileFormatError(
            f"cannot write a mesh of {kind} elements as "
            f"{suffix or 'a file without suffix'}; known are {' '.join(known)}"
        )
    regions = data.regions.astype(np.int32)
    cell_data: dict[str, list[NDArray[Any]]] = {"region": [regions]}
    if data.fractions is not None and suffix in (".vtu", ".vtk", ".xdmf", ".xmf"):
        cell_data["fraction"] = [data.fractions]
    field_data: dict[str, Any] = {}
    options: dict[str, Any] = {}
    if suffix == ".msh":
        # the older Gmsh format, which stores one tag per element without further tables
        options["file_format"] = "gmsh22"
        cell_data = {"gmsh:physical": [regions], "gmsh:geometrical": [regions]}
        field_data = {name: np.array([tag, 3]) for tag, name in data.region_names.items()}
    elif suffix in (".mesh", ".meshb"):
        cell_data = {"medit:ref": [regions]}
    elif suffix in _WRITABLE_TETS:
        cell_data = {"tetgen:ref": [regions]}
    elif suffix in (".xdmf", ".xmf"):
        options["data_format"] = "XML"  # a single file
    mesh = meshio.Mesh(data.nodes, [(kind, data.elements)], cell_data=cell_data)
    mesh.field_data = field_data
    try:
        with _quiet():
            mesh.write(path, **options)
        if suffix in _WRITABLE_TETS:
            _stamp_tetgen_pair(path, data)
    except (MemoryError, FileFormatError):
        raise
    except ImportError as error:
        raise _missing(error, suffix) from error
    except OSError as error:
        raise FileFormatError(f"cannot write: {error.strerror or error}") from error
    except (Exception, SystemExit) as error:
        raise FileFormatError(f"{suffix} files cannot hold this mesh: {error}") from error


# ---- lists of nodes ---------------------------------------------------------------


def read_indices(path: Path) -> NDArray[np.int64]:
    """Read the integers of a text file, separated by blanks, commas or line ends."""
    numbers: list[int] = []
    with in_memory(path):
        for line in _lines(path):
            for word in line.words:
                try:
                    numbers.append(int(word))
                except ValueError:
                    raise line.fail(f"{word!r} is not a whole number") from None
                if abs(numbers[-1]) >= 2**62:
                    raise line.fail(f"{word} is far out of range")
        return np.array(numbers, dtype=np.int64)
