"""File of the records of a session."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.errors import FileFormatError
from reducedfem.haptics.settings import HapticSettings, timeouts
from reducedfem.io.atomic import as_path
from reducedfem.io.record_file import RECORD, RecordFile

__all__ = ["SessionFile", "is_active"]


class SessionFile:
    """Record file that the C thread of a session writes, from `begin` to `finish`."""

    def __init__(self, settings: HapticSettings, dtype: np.dtype[Any] = RECORD) -> None:
        self._settings, self._patience = settings, timeouts().patience
        assert settings.record is not None
        self._path = as_path(settings.record, "record")
        self._file = RecordFile(self._path, dtype)
        self._written = self._lost = 0

    def name(self, scene: str) -> None:
        """Name the scene in the file."""
        self._file.scene = scene

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file; negative: it is closed."""
        return self._file.descriptor

    def begin(self, status: dict[str, Any]) -> None:
        """Open the file for the records after a status of the session."""
        self._file.begin()
        self._written, self._lost = status["written"], status["unrecorded"]

    def drop(self) -> None:
        """Close the file; remove it if nothing was finished."""
        self._file.drop()

    def try_out(self) -> None:
        """Raise FileFormatError if the file cannot be written."""
        self._file.begin()
        self._file.drop()

    def store(self, records: NDArray[np.void]) -> None:
        """Append records that this thread has."""
        self._file.begin()
        self._file.append(records)

    def finish(self, core: _core.Session) -> None:
        """Complete the file of a stopped session; report records that are missing."""
        if self._file.descriptor < 0:
            return
        status = core.status()
        n = status["written"] - self._written
        if not core.wait(0.0):
            # the thread is stuck in a cycle and may still write
            self._file.announce(n)
            return
        if status["writing"]:
            raise FileFormatError(
                f"no record could be written to {str(self._path)!r} for {self._patience:g} s: "
                f"{n} records are in {str(self._file.part or self._path)!r}; call stop or close "
                "of the session again to wait for the others"
            )
        try:
            self._file.finish(n)
        except FileFormatError as error:
            kept = f"; {n} records are in {str(self._file.part)!r}" if self._file.part else ""
            raise FileFormatError(f"{error}{kept}") from None
        if status["file_error"]:
            raise FileFormatError(
                f"only {n} records could be written to {str(self._path)!r}: "
                f"{os.strerror(status['file_error'])}"
            )
        lost = status["unrecorded"] - self._lost
        if lost:
            raise FileFormatError(
                f"the records of {lost} cycles are missing from {str(self._path)!r}: the disk was "
                f"so slow that the buffer of keep_records={self._settings.keep_records} was full; "
                "raise keep_records"
            )


def is_active(status: dict[str, Any]) -> bool:
    """Return True while a session with this status makes cycles or writes records."""
    return status["phase"] == "running" or bool(status["writing"])
