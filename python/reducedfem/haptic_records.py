"""Records of haptic sessions: what happened in each cycle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reducedfem._atomic import as_path, with_suffix
from reducedfem._check import choice
from reducedfem._reading import regular_file
from reducedfem._record_file import RECORD, RecordFile, read_records
from reducedfem.errors import FileFormatError, InputError, InputTypeError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HapticRecords"]

_FLAGS = {
    "clamped": 1,
    "slewed": 2,
    "silent": 4,
    "broken": 8,
    "fading": 16,
    "paused": 32,
    "limited": 1 << 8,
    "clutched": 1 << 9,
    "device_failed": 1 << 10,
    "diverged": 1 << 11,
    "split": 1 << 12,
    "too_deep": 1 << 13,
    "saturated": 1 << 14,
    "shortened": 1 << 15,
}


class HapticRecords:
    """Records of the cycles of a session.

    ``records["force"]`` is one of the names below for all cycles; ``records[1000:2000]``, and a
    mask such as ``records[records["touching"] > 0]``, are the records of some of them.

    Attributes
    ----------
    array
        A structured array, one element a cycle. Its names are ``tick``, ``time_s``, times in
        microseconds (``late_us``, ``compute_us`` and what of it was on a processor,
        ``processor_us``, ``device_us``, ``contact_us``, ``coupling_us``, ``deform_us``), poses
        (``device_position``, ``device_quaternion``, ``hand_position`` and ``hand_quaternion`` of
        the manipulandum, ``object_position`` and ``object_quaternion`` of the simulation object),
        ``contact_force`` and
        ``contact_torque`` on the simulation object, ``force`` and ``torque`` on the hand,
        ``depth_m``, ``share``, ``energy_j``, ``visited``, ``touching``, ``level``, ``rank``,
        ``buttons`` and ``flags``.
    """

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[np.void]) -> None:
        if getattr(array, "dtype", None) != RECORD:
            raise InputTypeError(
                f"array must hold the records of a session, got {type(array).__name__}; "
                "HapticRecords.load reads a file of them"
            )
        if array.ndim != 1:
            raise InputError(f"array must have the shape (n,), got {array.shape}")
        self._array = array

    @property
    def array(self) -> NDArray[np.void]:
        """The records, one element a cycle."""
        return self._array

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        if not len(self):
            return "<HapticRecords: 0 cycles>"
        cycles = "1 cycle" if len(self) == 1 else f"{len(self)} cycles"
        first, last = self._array["time_s"][[0, -1]]
        touched = int((self._array["touching"] > 0).sum())
        return (
            f"<HapticRecords: {cycles} from {first:.6g} to {last:.6g} s, {touched} with contact, "
            f"up to {self._array['depth_m'].max():.3g} m deep>"
        )

    def __getitem__(self, key: Any) -> Any:
        """Return a name for all cycles, or some of the records."""
        if isinstance(key, str):
            choice(key, "name", RECORD.names or ())
        found = self._array[key]
        some = isinstance(found, np.ndarray) and found.dtype == RECORD and found.ndim == 1
        return HapticRecords(found) if some else found

    def flagged(self, name: str) -> NDArray[np.bool_]:
        """Return of which cycles something is noted.

        Parameters
        ----------
        name
            "clamped", "slewed" or "fading": forces were limited; "silent": the device told
            nothing new; "paused": the force before it went out too long ago, so this one is zero;
            "limited": a largest speed or depth cut the motion; "clutched"; "split":
            a coupled session made the cycle as one that is not; "too_deep": contact was deeper
            than `max_depth` of the coupling; "saturated": less than its whole spring acted on the
            object; "shortened": a Newton increment of a body was shortened, as in
            `NewmarkReport`; "broken", "device_failed" or "diverged": the session
            failed, the last as numbers are not finite or a body would be displaced by more than 30
            times its length (`ImplicitNewmark.step`).

        Returns
        -------
        ndarray
            A bool a cycle.

        Raises
        ------
        InputError
            Another name.
        """
        choice(name, "name", tuple(_FLAGS))
        result: NDArray[np.bool_] = (self.array["flags"] & _FLAGS[name]) != 0
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to a file of NumPy's format.

        Parameters
        ----------
        path
            ``.npy`` is added to a name without suffix; that of another format is refused.

        Raises
        ------
        FileFormatError
            The file cannot be written; one that was there stays.
        """
        file = RecordFile(with_suffix(path, ".npy", "records"))
        file.begin()
        file.append(self.array)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "",
        max_depth: float | None = None,
    ) -> Figure:
        """Draw forces, times, level of detail, penetration and paths over time.

        The force on the hand may be much larger than that of contact: with ``render="linear"``
        it is that of the coupling's spring, which saturates for the object only.

        Parameters
        ----------
        path
            File of the picture (.png, .pdf, .svg); None: not saved.
        title
            Text above.
        max_depth
            Penetration that the coupling allows [m], that of `HapticReport.max_depth`: a line.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError, InputTypeError
            There are no records; `max_depth` is not positive, or no number.
        FileFormatError
            The picture cannot be written, or has another suffix.
        MissingMatplotlibError
            Matplotlib is not installed.
        """
        from reducedfem import plot  # which knows this module

        if path is not None:
            plot.check_picture(path)
        figure = plot.session_figure(self, title, max_depth)
        if path is not None:
            plot.save_figure(figure, path)
        return figure

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HapticRecords:
        """Read them from a file that `save` or a session wrote.

        Parameters
        ----------
        path
            The file. Of a process that was killed it may be ``.NAME.PROCESS-0.part``, in the folder
            of the file NAME that the session was to write: all its whole records are read.

        Returns
        -------
        HapticRecords

        Raises
        ------
        FileFormatError
            The file is missing or holds something else.
        """
        place = as_path(path)
        try:
            with regular_file(place) as (file, size):
                array = read_records(file, size, place.suffix == RecordFile.PART)
        except ValueError as error:
            raise FileFormatError(f"cannot read {str(place)!r}: {error}") from None
        if array is None:
            raise FileFormatError(f"{str(place)!r} holds no records of a session")
        return cls(array)
