"""Readers and writers of volume mesh files, as plain arrays."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import FileFormatError

__all__ = ["ElasticData", "VolumeData", "read_indices", "read_volume", "write_volume"]

_INCLUDE_DEPTH = 10
_VEG_TYPES = {"TET": 4, "TETS": 4, "CUBIC": 8}
_MESHIO_TYPES = {"tetra": 4, "hexahedron": 8, "tetra10": 10, "hexahedron20": 20}
# cells that carry no volume are passed over
_FLAT_TYPES = ("vertex", "line", "triangle", "quad", "polygon")
# formats that meshio writes and reads again as they were
_WRITABLE = (
    *(".veg", ".vtu", ".vtk", ".msh", ".mesh", ".meshb", ".inp", ".avs", ".bdf", ".nas"),
    *(".su2", ".dat", ".tec", ".xdmf", ".xmf", ".med", ".exo"),
)
_WRITABLE_TETS = (".ele", ".node")
# those that hold hexahedra of 20 nodes in an order that meshio converts as their manuals say
_WRITABLE_HEX20 = (".vtu", ".vtk", ".msh", ".inp")
# names under which formats keep an integer per cell, most telling first
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


class ElasticData(NamedTuple):
    """What a ``.veg`` file says about a material."""

    name: str
    density: float
    young: float
    poisson: float


@dataclass
class VolumeData:
    """A volume mesh file's contents, indices 0-based."""

    nodes: NDArray[np.float64]
    elements: NDArray[np.int64]
    regions: NDArray[np.int64]
    region_names: dict[int, str] = field(default_factory=dict)
    materials: dict[int, ElasticData] = field(default_factory=dict)
    fractions: NDArray[np.float64] | None = None


def read_volume(path: Path) -> VolumeData:
    """Read a ``.veg`` file, or what meshio reads."""
    if os.path.isdir(path):
        raise FileFormatError(f"cannot read {str(path)!r}: it is a folder")
    try:
        with path.open("rb") as file:
            if not file.read(4096).strip():
                raise FileFormatError(f"{str(path)!r} is empty")
    except OSError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    return _read_veg(path) if path.suffix.lower() == ".veg" else _read_meshio(path)


def write_volume(path: Path, data: VolumeData, suffix: str) -> None:
    """Write a ``.veg`` file, or what meshio writes; the caller sees to it that it is whole."""
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
    """A line of a .veg file or of one that it includes."""

    file: Path
    number: int
    words: list[str]

    def fail(self, why: str) -> FileFormatError:
        return FileFormatError(f"{str(self.file)!r}, line {self.number}: {why}")


def _lines(path: Path, depth: int = 0, included_by: _Line | None = None) -> Iterator[_Line]:
    """Yield lines that say something, included files in place."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        why = f"cannot read {str(path)!r}: {error.strerror or error}"
        if included_by is not None:
            raise included_by.fail(f"*INCLUDE: {why}") from error
        raise FileFormatError(why) from error
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
        elif depth == _INCLUDE_DEPTH:
            raise line.fail(f"files include each other more than {_INCLUDE_DEPTH} deep")
        else:
            # a file name may hold blanks and commas
            name = content.strip().split(None, 1)[1].strip()
            yield from _lines(path.parent / name, depth + 1, line)


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
    """Return the leading columns of lines, which must be numbers."""
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
    """Return the lines that the header announces."""
    try:
        count = int(header.words[0])
    except ValueError:
        raise header.fail(f"expected a count, got {header.words[0]!r}") from None
    if count < 1 or count > len(rest):
        raise header.fail(
            f"{section.head.words[0]} announces {count} lines and is followed by {len(rest)}"
        )
    return rest[:count]


def _base(lines: list[_Line]) -> int:
    """Return 0 or 1: the number with which the first column starts to count."""
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
    """Give each region the number of its statement; later ones override earlier ones."""
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
        # what no region names belongs to the first material
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
        # allElements means all of them; names must differ
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
    """Keep meshio from printing, and from leaving the program."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield


def _read_meshio(path: Path) -> VolumeData:
    import meshio

    if path.suffix.lower() == ".safetensors":
        raise FileFormatError(
            f"cannot read {str(path)!r}: a .safetensors file is what this package saved (a model, "
            "field or pointshell), no mesh or surface; load() reads it, and `reducedfem info` "
            "tells what it is"
        )
    suffixes = meshio.extension_to_filetypes
    if not any("".join(path.suffixes[-n:]).lower() in suffixes for n in (1, 2)):
        raise FileFormatError(
            f"cannot read {str(path)!r}: {path.suffix or 'a name without suffix'} tells no known "
            f"format; known are .veg {' '.join(sorted(suffixes))}"
        )
    if path.suffix.lower() in _WRITABLE_TETS:
        _require_header(path.with_suffix(".node"))
        _require_header(path.with_suffix(".ele"))
    try:
        with _quiet():
            mesh: Any = meshio.read(path)
    except MemoryError:
        raise
    except ImportError as error:
        raise _missing(error, path.suffix) from error
    except (Exception, SystemExit) as error:
        detail = f": {error}" if str(error) not in ("", "1") else ""
        raise FileFormatError(f"{str(path)!r} is damaged or of another format{detail}") from error

    kinds = {block.type for block in mesh.cells if not block.type.startswith(_FLAT_TYPES)}
    if not kinds:
        found = ", ".join(sorted({block.type for block in mesh.cells})) or "none"
        raise FileFormatError(
            f"{str(path)!r} has no volume elements (its cells: {found}); "
            "surfaces are read by read_surface"
        )
    strange = sorted(kinds - set(_MESHIO_TYPES))
    if strange or len(kinds) > 1:
        raise FileFormatError(
            f"{str(path)!r} has volume elements {', '.join(sorted(kinds))}; a mesh is either all "
            "tetra (4 nodes), tetra10 (10), hexahedron (8) or hexahedron20 (20 nodes): export it "
            "with one of these kinds"
        )

    kind = kinds.pop()
    blocks = [i for i, block in enumerate(mesh.cells) if block.type == kind]
    elements = np.concatenate([np.asarray(mesh.cells[i].data) for i in blocks]).astype(np.int64)
    data = VolumeData(
        np.asarray(mesh.points, dtype=np.float64),
        elements.reshape(-1, _MESHIO_TYPES[kind]),
        np.zeros(len(elements), dtype=np.int64),
    )
    _take_regions(mesh, blocks, data)
    return data


def _require_header(path: Path) -> None:
    """Refuse a TetGen file without contents, for whose first line meshio looks forever."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            if any(line.partition("#")[0].strip() for line in file):
                return
    except OSError as error:
        raise FileFormatError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    raise FileFormatError(f"{str(path)!r} is empty")


def _missing(error: ImportError, suffix: str) -> FileFormatError:
    return FileFormatError(
        f"{suffix} files need the Python package {error.name}: pip install {error.name}"
    )


def _take_regions(mesh: Any, blocks: list[int], data: VolumeData) -> None:
    """Find the integers or sets with which the file marks its elements."""
    for key in _REGION_KEYS:
        if key not in mesh.cell_data:
            continue
        values = np.concatenate([np.asarray(mesh.cell_data[key][i]).ravel() for i in blocks])
        if values.dtype.kind not in "iu" and not (
            values.dtype.kind == "f" and np.array_equal(values, np.rint(values))
        ):
            continue
        if len(values) == len(data.regions) and np.abs(values).max() < 2**31:
            data.regions[:] = values
            for name, (tag, dimension) in _physical_names(mesh):
                if dimension == 3:
                    data.region_names[tag] = name
            return

    # sets that do not overlap are regions too; what is in none is region 0
    starts = np.cumsum([0, *(len(mesh.cells[i].data) for i in blocks)])
    sets: dict[str, NDArray[Any]] = {}
    for name, members in mesh.cell_sets.items():
        found = [
            np.asarray(members[i], dtype=np.int64).ravel() + start
            for i, start in zip(blocks, starts, strict=False)
            if i < len(members) and members[i] is not None and len(members[i])
        ]
        if found:
            sets[name] = np.concatenate(found)
    if len(sets) > 0 and _disjoint(list(sets.values()), len(data.regions)):
        for number, (name, members) in enumerate(sets.items(), 1):
            data.regions[members] = number
            data.region_names[number] = name


def _physical_names(mesh: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    for name, value in mesh.field_data.items():
        with contextlib.suppress(TypeError, ValueError):
            tag, dimension = (int(v) for v in value)
            yield name, (tag, dimension)


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
        # the older of Gmsh's formats: it keeps one tag per element without further tables
        options["file_format"] = "gmsh22"
        cell_data = {"gmsh:physical": [regions], "gmsh:geometrical": [regions]}
        field_data = {name: np.array([tag, 3]) for tag, name in data.region_names.items()}
    elif suffix in (".mesh", ".meshb"):
        cell_data = {"medit:ref": [regions]}
    elif suffix in _WRITABLE_TETS:
        cell_data = {"tetgen:ref": [regions]}
    elif suffix in (".xdmf", ".xmf"):
        options["data_format"] = "XML"  # all in one file
    mesh = meshio.Mesh(data.nodes, [(kind, data.elements)], cell_data=cell_data)
    mesh.field_data = field_data
    try:
        with _quiet():
            mesh.write(path, **options)
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
    """Read the whole numbers of a text file, separated by blanks, commas or line ends."""
    numbers: list[int] = []
    for line in _lines(path):
        for word in line.words:
            try:
                numbers.append(int(word))
            except ValueError:
                raise line.fail(f"{word!r} is not a whole number") from None
    return np.array(numbers, dtype=np.int64)
