"""Rows of the benchmark table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line: what was measured, the mark it is held against, how far the limit is."""

    what: str
    value: float
    unit: str
    mark: float | None = None  # the value must not exceed it
    note: str = ""
    percentiles: tuple[float, float, float] | None = None  # p50, p99, max

    @property
    def verdict(self) -> str:
        """Return "ok", "OVER" or nothing where there is no mark."""
        if self.mark is None:
            return ""
        return "ok" if self.value <= self.mark else "OVER"


def show(rows: list[Row]) -> str:
    """Return the rows as an aligned table."""
    lines = []
    for row in rows:
        mark = "" if row.mark is None else f"{row.mark:g}"
        lines.append((row.what, f"{row.value:.3g}", row.unit, mark, row.verdict, row.note))
    head = ("what", "value", "unit", "mark", "", "limit and yardsticks")
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(5)]
    text = []
    for line in [head, (*tuple("-" * w for w in widths), "-" * 20), *lines]:
        cells = [cell.ljust(w) for cell, w in zip(line[:5], widths, strict=True)]
        text.append("  ".join([*cells, line[5]]).rstrip())
    return "\n".join(text)


def spread(seconds: np.ndarray, scale: float = 1e6) -> str:
    """Return "p50 / p99 / max" of a sample."""
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"p50 {p50 * scale:.3g}, p99 {p99 * scale:.3g}, max {seconds.max() * scale:.3g}"
