"""Haptic devices: sources of poses and sinks of forces of a session."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, flag, limit, number, reals, rotations
from reducedfem.base.named_arguments import NamedArguments
from reducedfem.errors import InputError, InputTypeError
from reducedfem.haptics.pointer import Pointer
from reducedfem.haptics.pose_table import read_poses
from reducedfem.io.atomic import as_path

if TYPE_CHECKING:
    from reducedfem.haptics.records import HapticRecords

__all__ = ["Device", "ReplayDevice", "SimulatedHand"]


class Device(NamedArguments):
    """Base class of all devices.

    A device belongs to one session at a time, from the construction of the session until it is
    closed.

    Attributes
    ----------
    alignment
        Rotation (w, x, y, z) of the device's axes in a world with x to the right of the user and
        z up; for `Workspace`, so that objects move in the direction of the hand.
    duration
        Time after which the device sends nothing new [s]; infinity for devices without an end,
        or at rest.
    """

    __slots__ = ("__weakref__", "_core", "_duration", "_looked_for", "_pointer", "_travel")

    _alignment: ClassVar[tuple[float, ...]] = (1.0, 0.0, 0.0, 0.0)
    # default time without a sample after which a session renders no force [s]
    _silence: ClassVar[float] = 0.05
    # name on the command line of a kind that can be connected, and what a colon may add to it
    _option: ClassVar[str | None] = None
    _option_form: ClassVar[str] = ""
    _option_help: ClassVar[str] = ""  # default: the name
    # True: pages of a view of the session move it
    _pointed: ClassVar[bool] = False
    # longest wait for a client when the command line opens it [s]
    _waits: ClassVar[float] = 0.0
    _core: _core.Device
    _duration: float
    _looked_for: tuple[str, ...]
    _travel: float  # longest side of the box around its path, if known [m]
    _pointer: Pointer  # moves the handle; only if `_pointed`

    def __init__(self) -> None:
        raise InputTypeError("a Device is made by one of its subclasses, such as SimulatedHand")

    def __reduce__(self) -> NoReturn:
        raise InputTypeError(
            f"a {type(self).__name__} can be neither copied nor pickled, as it stands for one "
            "device: make another with its arguments"
        )

    def __repr__(self) -> str:
        lasts = "" if math.isinf(self._duration) else f": {self._duration:g} s"
        return f"<{type(self).__name__}{lasts}>"

    @classmethod
    def _connected(cls) -> list[type[Device]]:
        """Return the kinds that can be connected to the machine."""
        return [kind for kind in cls.__subclasses__() if kind._option is not None]

    @classmethod
    def _from_option(cls, text: str) -> Device:
        """Return the device of the command line, with the text after the colon."""
        return cls()

    @classmethod
    def _to_probe(cls) -> Device:
        """Return a device that responds soon, or is not there."""
        return cls()

    @property
    def alignment(self) -> tuple[float, ...]:
        """Rotation (w, x, y, z) of its axes in a world with x to the right and z up."""
        return self._alignment

    @property
    def duration(self) -> float:
        """Time after which the device sends nothing new [s]."""
        return self._duration


def _trajectory(
    times: ArrayLike, positions: ArrayLike, quaternions: ArrayLike | None, buttons: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], ArrayLike, ArrayLike | None]:
    if isinstance(times, str | os.PathLike):
        raise InputTypeError("times must be an array; ReplayDevice.from_csv reads a file")
    when = reals(times, "times")
    if when.ndim != 1:
        raise InputError(f"times must have the shape (n,), got {when.shape}")
    if not len(when):
        raise InputError("times is empty: a trajectory has at least one pose")
    if quaternions is None:
        quaternions = np.tile([1.0, 0.0, 0.0, 0.0], (len(when), 1))
    return (
        when,
        reals(positions, "positions"),
        rotations(quaternions, "quaternions"),
        None if buttons is None else array_like(buttons, "buttons"),
    )


def _lasts(times: NDArray[np.float64]) -> float:
    """Return the end of a trajectory; infinity if it does not extend beyond time 0."""
    return float(times[-1]) if times[-1] > 0.0 else math.inf


class ReplayDevice(Device):
    """Device that plays a trajectory and ignores forces.

    Positions are interpolated linearly, rotations along the shorter way; after the last sample
    the device is at rest.

    Parameters
    ----------
    times
        Times of the samples, ascending [s], shape (n,).
    positions
        Positions of the handle in the frame of the device [m], shape (n, 3).
    quaternions
        Rotations of the handle (w, x, y, z), shape (n, 4); None: no rotation.
    buttons
        Buttons held from each time on, one bit each, shape (n,); None: no buttons.

    Raises
    ------
    InputError, InputTypeError
        Wrong shapes, times that do not ascend, values that are not finite, quaternions whose
        norm is not 1.
    """

    __slots__ = ()

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        quaternions: ArrayLike | None = None,
        buttons: ArrayLike | None = None,
    ) -> None:
        trajectory = _trajectory(times, positions, quaternions, buttons)
        self._core = _core.replay_device(trajectory)
        self._duration = _lasts(trajectory[0])
        self._travel = float(np.ptp(trajectory[1], axis=0).max())

    @classmethod
    def from_records(cls, records: HapticRecords, *, hand: bool = False) -> ReplayDevice:
        """Return a device that repeats the motion of the device in a session.

        Cycles in which the device failed are left out.

        Parameters
        ----------
        records
            Records of the session.
        hand
            True: play the poses of the manipulandum in the world; False: those of the device in
            its own frame, before the session's `Workspace`.

        Returns
        -------
        ReplayDevice

        Raises
        ------
        InputError
            There are no records.
        """
        r = getattr(records, "array", None)
        if r is None:
            raise InputTypeError(
                f"records must be HapticRecords, got {type(records).__name__}; HapticRecords.load "
                "reads a file of them"
            )
        frame = "hand" if flag(hand, "hand") else "device"
        r = r[r[f"{frame}_quaternion"].any(axis=1)]
        return cls(r["time_s"], r[f"{frame}_position"], r[f"{frame}_quaternion"], r["buttons"])

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> ReplayDevice:
        """Return a device that plays a table of comma-separated values.

        The first line names the columns, in any order: ``time`` [s], ascending, ``x``, ``y``,
        ``z`` [m], and optionally ``qw``, ``qx``, ``qy``, ``qz``, a rotation, and ``buttons``, one
        bit each. Other columns and empty lines are ignored. Numbers have decimal points in any
        locale. Quaternions of norm 1 to within 0.001 are normalised.

        Parameters
        ----------
        path
            File name.

        Returns
        -------
        ReplayDevice

        Raises
        ------
        FileFormatError
            The file is missing, lacks a column, or has an invalid line, which the message names.
        InputError
            A number is far out of range.
        """
        return cls(*read_poses(as_path(path)))


class SimulatedHand(Device):
    """Simulated hand that follows a trajectory and yields to the forces of the device.

    A mass with a spring and a damper to the intended pose, in translation and in rotation. The
    motion between two cycles, under a constant force, is exact, so that oscillations show an
    unstable session.

    Parameters
    ----------
    times, positions, quaternions, buttons
        Intended motion of the hand, as of `ReplayDevice`.
    mass, damping, stiffness
        Mass [kg], damping [N s/m] and stiffness [N/m] of hand and handle; the defaults are those
        of a relaxed grip. Mass positive, the others at least 0.
    inertia, torsional_damping, torsional_stiffness
        Moment of inertia [kg m^2], damping [N m s] and stiffness [N m], equal about all axes;
        likewise.
    max_force, max_torque
        Largest force [N] and torque [N m] that the device renders; None: no limits.

    Raises
    ------
    InputError, InputTypeError
        As `ReplayDevice`; a mass that is not positive, a negative stiffness or damping.
    """

    __slots__ = ()

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        quaternions: ArrayLike | None = None,
        buttons: ArrayLike | None = None,
        *,
        mass: float = 0.1,
        damping: float = 5.0,
        stiffness: float = 300.0,
        inertia: float = 1e-4,
        torsional_damping: float = 5e-3,
        torsional_stiffness: float = 0.3,
        max_force: float | None = None,
        max_torque: float | None = None,
    ) -> None:
        trajectory = _trajectory(times, positions, quaternions, buttons)
        self._core = _core.hand_device(
            trajectory,
            (number(mass, "mass"), number(damping, "damping"), number(stiffness, "stiffness")),
            (
                number(inertia, "inertia"),
                number(torsional_damping, "torsional_damping"),
                number(torsional_stiffness, "torsional_stiffness"),
            ),
            limit(max_force, "max_force"),
            limit(max_torque, "max_torque"),
        )
        self._duration = _lasts(trajectory[0])
        self._travel = float(np.ptp(trajectory[1], axis=0).max())
