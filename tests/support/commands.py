"""Calls of the command line, files for it, and the pictures that it writes."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib

from reducedfem import cli
from shapes import box_hexes


def assert_png(path) -> tuple[int, int]:
    """Check signature, all chunks and their checksums, and the amount of pixels."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, pixels, header = 8, b"", b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert zlib.crc32(kind + body) == checksum
        header = body if kind == b"IHDR" else header
        pixels += body if kind == b"IDAT" else b""
        at += 12 + length
    assert kind == b"IEND"
    width, height = struct.unpack(">II", header[:8])
    raw = zlib.decompress(pixels)
    assert len(raw) == height * (1 + 4 * width)  # a filter byte a row, then RGBA
    # not blank: many different rows
    assert len({raw[k * (1 + 4 * width) :][: 4 * width] for k in range(0, height, 10)}) > 10
    return width, height


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    """Run in this process; return status, standard output and error."""
    try:
        status = cli.main([str(a) for a in arguments])
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return status, out, err


def fails(capsys, *arguments: object, match: str) -> None:
    """Expect status 1 and one line with the reason."""
    status, _, err = run(capsys, *arguments)
    assert status == 1
    assert err.startswith("reducedfem: error: ")
    assert err.count("\n") == 1
    assert re.search(match, err), err


def misused(capsys, *arguments: object, match: str) -> None:
    """Status 2, usage and why."""
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert "usage: reducedfem" in err
    assert re.search(match, err), err


def shell(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "reducedfem", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=1200, **options,
    )  # fmt: skip


def bar(nodes, elements) -> str:
    """Return a mesh of hexahedra as a .veg file."""
    lines = ["*VERTICES", f"{len(nodes)} 3 0 0"]
    lines += [f"{i + 1} {x} {y} {z}" for i, (x, y, z) in enumerate(nodes.tolist())]
    lines += ["*ELEMENTS", "CUBIC", f"{len(elements)} 8 0"]
    lines += [" ".join(map(str, [i + 1, *(one + 1)])) for i, one in enumerate(elements)]
    return "\n".join(
        [*lines, "*MATERIAL soft", "ENU, 1000, 1e5, 0.3", "*REGION", "allElements, soft"]
    )


def veg() -> str:
    """Two cubes on top of each other, z up, the lowest four nodes first."""
    nodes, elements = box_hexes(1, 1, 2, (1.0, 1.0, 2.0))
    lines = ["*VERTICES", f"{len(nodes)} 3 0 0"]
    lines += [f"{i} {x} {y} {z}" for i, (x, y, z) in enumerate(nodes.tolist(), 1)]
    lines += ["*ELEMENTS", "CUBIC", f"{len(elements)} 8 0"]
    lines += [f"{i} " + " ".join(str(n + 1) for n in e) for i, e in enumerate(elements, 1)]
    lines += ["*MATERIAL rubber", "ENU, 900, 123456, 0.25", "*REGION", "allElements, rubber"]
    return "\n".join(lines) + "\n"
