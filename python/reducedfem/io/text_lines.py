"""Lines of text files with comments and included files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import FileFormatError
from reducedfem.io.reading import in_memory, read_regular

__all__ = ["Included", "Line", "lines_of_file", "read_indices"]

_INCLUDE_DEPTH = 10
# limits of all included files together; Vega's examples include a few lists of numbers
_INCLUDED_FILES = 1000
_INCLUDED_BYTES = 2**28


class Line(NamedTuple):
    """A line of a file or of an included file."""

    file: Path
    number: int
    words: list[str]

    def fail(self, why: str) -> FileFormatError:
        """Return the error of this line."""
        return FileFormatError(f"{str(self.file)!r}, line {self.number}: {why}")


class Included:
    """Budget of included files: number, bytes, and the folder that must contain them."""

    def __init__(self, first: Path) -> None:
        self._folder = os.path.realpath(first.parent)
        self._files, self._bytes = _INCLUDED_FILES, _INCLUDED_BYTES

    def read(self, name: str, line: Line, depth: int) -> tuple[Path, bytes]:
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


def lines_of_file(path: Path) -> Iterator[Line]:
    """Yield the lines with content, with included files in place."""
    yield from _lines_of(path, read_regular(path), Included(path), 0)


def _lines_of(path: Path, data: bytes, included: Included, depth: int) -> Iterator[Line]:
    text = data.decode("utf-8-sig", errors="replace")  # some editors write a byte order mark
    for number, raw in enumerate(text.splitlines(), 1):
        content = raw.partition("#")[0]
        words = content.replace(",", " ").split()
        if not words:
            continue
        line = Line(path, number, words)
        if words[0].upper() != "*INCLUDE":
            yield line
        elif len(words) < 2:
            raise line.fail("*INCLUDE needs a file name")
        else:
            # file names may contain blanks and commas
            name = content.strip().split(None, 1)[1].strip()
            yield from _lines_of(*included.read(name, line, depth), included, depth + 1)


def read_indices(path: Path) -> NDArray[np.int64]:
    """Read the integers of a text file, separated by blanks, commas or line ends."""
    numbers: list[int] = []
    with in_memory(path):
        for line in lines_of_file(path):
            for word in line.words:
                try:
                    numbers.append(int(word))
                except ValueError:
                    raise line.fail(f"{word!r} is not a whole number") from None
                if abs(numbers[-1]) >= 2**62:
                    raise line.fail(f"{word} is far out of range")
        return np.array(numbers, dtype=np.int64)
