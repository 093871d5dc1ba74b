"""Rows of the benchmark table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

SPEEDS = ("s", "ms", "us")


@dataclass(frozen=True)
class Memory:
    """Resident memory of a process [bytes]: its peak, and what it had before the work."""

    peak: int
    before: int


@dataclass(frozen=True)
class Row:
    """One line: what was measured, and what it is held against.

    A time says nothing on a machine that one does not know, so it comes with a ratio to
    something measured in the same run: a routine of the BLAS, what bandwidth and arithmetic
    allow, or the plain way to do the same.
    """

    what: str
    value: float
    unit: str
    mark: float | None = None  # the value must not exceed it
    note: str = ""
    ratio: float | None = None
    over: str = ""  # what the ratio is to
    ratio_mark: float | None = None  # the ratio must not exceed it
    memory: Memory | None = None

    def __post_init__(self) -> None:
        if self.unit in SPEEDS and self.ratio is None:
            raise ValueError(f"{self.what}: a time needs a ratio to something")
        if (self.ratio is None) != (not self.over):
            raise ValueError(f"{self.what}: a ratio needs the name of what it is to")

    @property
    def verdict(self) -> str:
        """Return "ok", "OVER" or nothing where there is no mark."""
        pairs = ((self.value, self.mark), (self.ratio, self.ratio_mark))
        held = [(value, mark) for value, mark in pairs if value is not None and mark is not None]
        if not held:
            return ""
        return "ok" if all(value <= mark for value, mark in held) else "OVER"

    def with_memory(self, memory: Memory) -> Row:
        """Return the row with the memory of its process, where it has none of its own."""
        return replace(self, memory=memory) if self.memory is None else self


HEAD = ("what", "value", "unit", "mark", "ratio", "mark", "to", "", "peak MB", "more", "notes")
RIGHT = (1, 3, 4, 5, 8, 9)  # columns of numbers


def _cells(row: Row, shown: Memory | None) -> list[str]:
    """Return the texts of a row; memory that the row above showed is not repeated."""

    def number(value: float | None, digits: int = 3) -> str:
        if value is None:
            return ""
        return f"{value:.0f}" if value >= 100 else f"{value:.{digits}g}"

    memory = ("", "")
    if row.memory is not None and row.memory is not shown:
        grown = max(row.memory.peak - row.memory.before, 0)
        memory = (f"{row.memory.peak / 1e6:.0f}", f"+{grown / 1e6:.0f}")
    return [row.what, number(row.value), row.unit, number(row.mark), number(row.ratio),
            number(row.ratio_mark), row.over, row.verdict, *memory, row.note]  # fmt: skip


def show(sections: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """Return all rows as one aligned table, with a line above each section."""
    lines: list[list[str] | str] = []
    for name, rows in sections:
        lines.append(name)
        above = None
        for row in rows:
            lines.append(_cells(row, above))
            above = row.memory
    filled = [line for line in lines if not isinstance(line, str)]
    widths = [max(len(line[i]) for line in [HEAD, *filled]) for i in range(len(HEAD) - 1)]

    def aligned(cells: Sequence[str]) -> str:
        texts = [
            cell.rjust(width) if i in RIGHT else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells[:-1], widths, strict=True))
        ]
        return "  ".join([*texts, cells[-1]]).rstrip()

    text = [aligned(HEAD)]
    for line in lines:
        if isinstance(line, str):
            text.append(f"-- {line} ".ljust(sum(widths) + 2 * len(widths) + 5, "-"))
        else:
            text.append(aligned(line))
    return "\n".join(text)


def spread(seconds: np.ndarray, scale: float = 1e6) -> str:
    """Return "p50 / p99 / max" of a sample."""
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"p50 {p50 * scale:.3g}, p99 {p99 * scale:.3g}, max {seconds.max() * scale:.3g}"
