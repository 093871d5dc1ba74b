"""Volume meshes of Vega FEM, ``.veg`` files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import FileFormatError
from reducedfem.io.text_lines import Line, lines_of_file
from reducedfem.io.volume_data import ElasticData, VolumeData

__all__ = ["read", "write"]

_TYPES = {"TET": 4, "TETS": 4, "CUBIC": 8}


class _Section(NamedTuple):
    head: Line
    body: list[Line]


def _sections(lines: Iterable[Line]) -> Iterator[_Section]:
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


def _first(section: _Section) -> Line:
    if not section.body:
        raise section.head.fail(f"{section.head.words[0]} is empty")
    return section.body[0]


def _table(lines: list[Line], columns: int, kind: type) -> NDArray[Any]:
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


def _counted(section: _Section, header: Line, rest: list[Line]) -> list[Line]:
    """Return the lines counted by the header; refuse fewer lines."""
    try:
        count = int(header.words[0])
    except ValueError:
        raise header.fail(f"expected a count, got {header.words[0]!r}") from None
    if count < 1 or count > len(rest):
        cut = " (is the file cut off?)" if count > len(rest) else ""
        raise header.fail(
            f"{section.head.words[0]} announces {count} lines, but {len(rest)} follow{cut}"
        )
    return rest[:count]


def _base(lines: list[Line]) -> int:
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


def read(path: Path) -> VolumeData:
    """Return the mesh of a file."""
    nodes: NDArray[np.float64] | None = None
    elements: NDArray[np.int64] | None = None
    node_base = element_base = 1
    sets: dict[str, NDArray[np.int64]] = {}
    set_heads: dict[str, Line] = {}
    materials: dict[str, ElasticData | None] = {}
    assignments: list[tuple[Line, str, str]] = []

    for section in _sections(lines_of_file(path)):
        head, body = section
        keyword = head.words[0].upper()
        if keyword == "*VERTICES":
            lines = _counted(section, _first(section), body[1:])
            node_base = _base(lines)
            nodes = _table(lines, 4, np.float64)[:, 1:]
        elif keyword == "*ELEMENTS":
            corners = _TYPES.get(_first(section).words[0].upper())
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
            raise head.fail(f"{head.words[0]} is not a known section")

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
    assignments: list[tuple[Line, str, str]],
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


def _text(data: VolumeData) -> str:
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


def write(path: Path, data: VolumeData, suffix: str) -> None:
    """Write a mesh of 4 or 8 nodes an element."""
    if data.elements.shape[1] not in _TYPES.values():
        raise FileFormatError(
            f"a {suffix} file cannot hold elements of {data.elements.shape[1]} nodes; write .vtu "
            "or .msh instead"
        )
    path.write_bytes(_text(data).encode("ascii"))
