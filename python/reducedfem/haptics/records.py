"""Records of the cycles of haptic sessions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import choice
from reducedfem.errors import FileFormatError, InputError, InputTypeError
from reducedfem.io.atomic import as_path, with_suffix
from reducedfem.io.reading import regular_file
from reducedfem.io.record_file import STATE, RecordFile, is_scene, read_records, record_sizes
from reducedfem.pictures import plot

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
    "made_up": 1 << 16,
    "unsolved": 1 << 17,
    "slipping": 1 << 18,
    "unanswered": 1 << 19,
    "crowded": 1 << 20,
    "inside": 1 << 21,
}


class HapticRecords:
    """Records of the cycles of a session.

    ``records["force"]`` returns a field for all cycles; ``records[1000:2000]``, or a mask such as
    ``records[records["touching"] > 0]``, returns the records of some cycles.

    Attributes
    ----------
    array
        Structured array, one element per cycle. Fields: ``tick``; ``time_s``; times in
        microseconds, ``late_us``, ``compute_us``, ``processor_us`` (the part of ``compute_us`` on
        a processor), ``device_us``, ``contact_us``, ``coupling_us``, ``deform_us``, ``publish_us``
        (copying the snapshot of the cycle before for readers; not in ``compute_us``, NaN in files
        of versions that did not measure it); poses [m], (w, x, y, z), ``device_position``,
        ``device_quaternion``, ``hand_position`` and ``hand_quaternion`` of the manipulandum,
        ``object_position`` and ``object_quaternion`` of the simulation object; ``contact_force``
        [N] and ``contact_torque`` [N m] on the simulation object; ``force`` [N] and ``torque``
        [N m] on the hand; ``depth_m``, ``share``, ``energy_j``, ``visited``, ``touching``,
        ``level``, ``rank``, ``buttons`` and ``flags``. Of sessions whose bodies move by
        themselves, after the cycle: ``q``, the reduced coordinates of all of them [kg^1/2 m],
        float32; ``body_position`` and ``body_quaternion``, (F, 3) and (F, 4), the frames of the F
        free bodies. Shells come in the order of the contacts, then the held object. Of a touched
        body: ``anchor`` and ``slip`` [m], in the world, of the force of the cycle. Of shells with
        a local compliance, in S places: ``site_contact`` and ``site_point``, (S,), the contact and
        the point of its shell, -1 if there is no force; ``site_force`` [N], (S, 3), float32, on
        the shell in its frame.
    """

    __slots__ = ("_array", "_scene")

    def __init__(self, array: NDArray[np.void], scene: str | None = None) -> None:
        if record_sizes(getattr(array, "dtype", None)) is None:
            raise InputTypeError(
                f"array must hold the records of a session, got {type(array).__name__}; "
                "HapticRecords.load reads a file of them"
            )
        if array.ndim != 1:
            raise InputError(f"array must have the shape (n,), got {array.shape}")
        if scene is not None and not isinstance(scene, str):
            raise InputTypeError(f"scene must be a str or None, got {type(scene).__name__}")
        if scene is not None and not is_scene(scene):
            raise InputError(
                "scene must be a name of at most 64 letters, digits, '-' and '_' that begins with "
                f"a letter or '_', got {scene[:64]!r}"
            )
        self._array, self._scene = array, scene

    @property
    def array(self) -> NDArray[np.void]:
        """Structured array of the records, one element per cycle."""
        return self._array

    @property
    def scene(self) -> str | None:
        """Name of the recorded scene; None: another session, or a file of an earlier version."""
        return self._scene

    @property
    def force(self) -> NDArray[np.float64]:
        """Force on the hand, in the frame of the device [N], shape (n, 3)."""
        return np.asarray(self._array["force"])

    @property
    def depth(self) -> NDArray[np.float64]:
        """Depth of contact [m], shape (n,)."""
        return np.asarray(self._array["depth_m"])

    @property
    def anchor(self) -> NDArray[np.float64]:
        """Place of contact on a touched body at rest, in the world [m], shape (n, 3).

        Without contact the place of the hand. `InputError` if the session touched no body.
        """
        return np.asarray(self["anchor"])

    @property
    def slip(self) -> NDArray[np.float64]:
        """Way of the contact over a touched body in each cycle, in the world [m], shape (n, 3).

        `InputError` if the session touched no body.
        """
        return np.asarray(self["slip"])

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
        """Return a field for all cycles, or some of the records."""
        if isinstance(key, str):
            names = self._array.dtype.names or ()
            if key in STATE and key not in names:
                raise InputError(
                    f"the records have no {key!r}: the session had no such bodies, or its version "
                    "did not record them"
                )
            choice(key, "name", names)
        found = self._array[key]
        same = isinstance(found, np.ndarray) and found.dtype == self._array.dtype
        return HapticRecords(found, self._scene) if same and found.ndim == 1 else found

    def flagged(self, name: str) -> NDArray[np.bool_]:
        """Return a mask of the cycles with a flag.

        Parameters
        ----------
        name
            "clamped", "slewed", "fading": forces were limited by size, rate, fading; "silent":
            no new sample of the device; "paused": zero force after a pause; "limited": a largest
            speed or the depth limiter shortened the motion; "clutched": the clutch was held;
            "split": a cycle of a coupled session was made as an uncoupled one; "too_deep":
            contact was deeper than `max_depth` of the coupling; "saturated": the coupling
            saturated or was relieved; "shortened": a Newton increment of a body was shortened, as
            in `ImplicitReport`; "made_up": skipped cycles were made up for, which adds to
            ``compute_us``; "unsolved": forces with friction had a residual above 1e-3
            (``docs/friction.md``); "crowded": more points of a shell with a local compliance
            touched than there are sites, so forces were inaccurate; "slipping": the contact slid
            over a touched body; "unanswered": a touched body did not answer, so forces faded;
            "inside": the hand was inside of a touched body without a side, so there was no force;
            "broken", "device_failed", "diverged": the session failed, by a force that is not
            finite, by the device, or by a simulation that is not finite or would displace a body by
            more than 30 times its length (`ImplicitNewmark.step`).

        Returns
        -------
        ndarray
            Mask of bools, one per cycle.

        Raises
        ------
        InputError
            `name` is not one of these.
        """
        choice(name, "name", tuple(_FLAGS))
        result: NDArray[np.bool_] = (self.array["flags"] & _FLAGS[name]) != 0
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the records to a file in NumPy's format.

        Parameters
        ----------
        path
            File name; ``.npy`` is added if there is no suffix, other suffixes are refused.

        Raises
        ------
        FileFormatError
            The file cannot be written; an existing one is then unchanged.
        """
        file = RecordFile(with_suffix(path, ".npy", "records"), self.array.dtype, self._scene)
        file.begin()
        file.append(self.array)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str = "",
        max_depth: float | None = None,
    ) -> Figure:
        """Plot forces, times, level of detail, penetration and paths over time.

        The force on the hand may be much larger than that of contact: with ``render="linear"``
        it is that of the linear spring, even where the coupling saturates.

        Parameters
        ----------
        path
            File of the picture (.png, .pdf, .svg); None: not saved.
        title
            Text above the plots.
        max_depth
            Allowed penetration [m], drawn as a line, such as `HapticReport.max_depth`; None: no
            line.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError, InputTypeError
            There are no records; `max_depth` is not a positive number.
        FileFormatError
            The picture cannot be written, or has another suffix.
        MissingMatplotlibError
            Matplotlib is not installed.
        """
        if path is not None:
            plot.check_picture(path)
        figure = plot.session_figure(self, title, max_depth)
        if path is not None:
            plot.save_figure(figure, path)
        return figure

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HapticRecords:
        """Read records from a file that `save` or a session wrote.

        Parameters
        ----------
        path
            File name. A process that was killed leaves ``.NAME.PROCESS-0.part`` in the folder of
            its file NAME; all complete records of it are read.

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
                found = read_records(file, size, place.suffix == RecordFile.PART)
        except ValueError as error:
            raise FileFormatError(f"cannot read {str(place)!r}: {error}") from None
        if found is None:
            raise FileFormatError(
                f"{str(place)!r} is an array file, but does not hold records of a haptic session"
            )
        return cls(*found)
