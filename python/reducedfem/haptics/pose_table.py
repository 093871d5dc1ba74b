"""Poses of a hand in a table of comma-separated values."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.errors import FileFormatError
from reducedfem.io.reading import regular_file

__all__ = ["PoseTable", "read_poses"]

QUATERNION = ("qw", "qx", "qy", "qz")
# numbers in text files are rounded
_NORM_TOLERANCE = 1e-3


class PoseTable:
    """Poses of a table of comma-separated values, with their line numbers."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lines: list[int] = []
        self._columns: dict[str, list[float]] = {}

    def _refuse(self, line: int, why: str) -> NoReturn:
        raise FileFormatError(f"line {line} of {self._place!r} {why}")

    def read(self, rows: Any) -> None:
        """Read all rows of a reader."""
        names = [name.strip() for name in next(rows, [])]
        wanted = ["time", *"xyz"]
        if any(name in names for name in QUATERNION):
            wanted += QUATERNION
        if "buttons" in names:
            wanted += ["buttons"]
        for name in wanted:
            if names.count(name) != 1:
                there = ",".join(names)
                raise FileFormatError(
                    f"the first line of {self._place!r} must name one column {name!r}, comma-"
                    f"separated; it is {there[:80]!r}"
                )
        indices = {name: names.index(name) for name in wanted}
        self._columns = {name: [] for name in wanted}
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            # a decimal comma splits a number into two cells
            if any(cell.strip() for cell in row[len(names) :]):
                self._refuse(
                    rows.line_num, f"has {len(row)} cells, the first line names {len(names)}"
                )
            self._lines.append(rows.line_num)
            for name, index in indices.items():
                self._columns[name].append(self._number(row, index, name))
        if not self._lines:
            raise FileFormatError(f"{self._place!r} has no line of numbers below the first line")

    def _number(self, row: list[str], index: int, name: str) -> float:
        text = row[index].strip() if index < len(row) else ""
        try:
            # Python also accepts 1_000
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self._refuse(
                self._lines[-1],
                f"has {text!r} in the column {name!r}, which is not a finite number"
                if text
                else f"has an empty cell in the column {name!r}",
            )
        return value

    def trajectory(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], ArrayLike | None, ArrayLike | None]:
        """Return the arguments of a `ReplayDevice`."""
        columns = {name: np.array(values) for name, values in self._columns.items()}
        times = columns["time"]
        for k in np.flatnonzero(np.diff(times) <= 0.0)[:1]:
            self._refuse(
                self._lines[k + 1],
                f"has the time {times[k + 1]:g} s, line {self._lines[k]} has {times[k]:g} s: times "
                "must increase",
            )
        rotations = None
        if "qw" in columns:
            rotations = np.stack([columns[name] for name in QUATERNION], axis=1)
            norms = np.linalg.norm(rotations, axis=1)
            for k in np.flatnonzero(~(np.abs(norms - 1.0) <= _NORM_TOLERANCE))[:1]:
                self._refuse(
                    self._lines[k],
                    f"has a quaternion (qw, qx, qy, qz) of norm {norms[k]:g}, which must be 1",
                )
            rotations /= norms[:, None]
        buttons = columns.get("buttons")
        if buttons is not None:
            whole = (buttons == np.floor(buttons)) & (buttons >= 0.0) & (buttons < 2.0**32)
            for k in np.flatnonzero(~whole)[:1]:
                self._refuse(
                    self._lines[k],
                    f"has {buttons[k]:g} in the column 'buttons', which must be an integer from 0 "
                    f"to {2**32 - 1}",
                )
            buttons = buttons.astype(np.uint32)
        return times, np.stack([columns[name] for name in "xyz"], axis=1), rotations, buttons


def read_poses(
    place: Path,
) -> tuple[NDArray[np.float64], NDArray[np.float64], ArrayLike | None, ArrayLike | None]:
    """Return times, positions, rotations and buttons of a file, as `PoseTable.trajectory`.

    Raises
    ------
    FileFormatError
        The file is missing, lacks a column, or has an invalid line, which the message names.
    """
    table = PoseTable(str(place))
    try:
        with (
            regular_file(place) as (file, _),
            io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text,
        ):
            table.read(csv.reader(text))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"cannot read {str(place)!r}: {error}") from None
    return table.trajectory()
