"""Devices that a haptic session reads poses from and writes forces to."""

from __future__ import annotations

import csv
import io
import math
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._atomic import as_path
from reducedfem._check import array_like, flag, integer, limit, number, reals, rotations
from reducedfem._reading import regular_file
from reducedfem.errors import DeviceError, FileFormatError, InputError, InputTypeError

if TYPE_CHECKING:
    from reducedfem.haptic_records import HapticRecords

__all__ = [
    "Device",
    "DeviceProbe",
    "ForceDimension",
    "OpenHaptics",
    "ReplayDevice",
    "SimulatedHand",
    "SpaceMouse",
    "UdpCounts",
    "UdpDevice",
    "probe_devices",
]

_QUATERNION = ("qw", "qx", "qy", "qz")
# digits are cut off where numbers are written
_NORM_TOLERANCE = 1e-3
_UDP_PORT = 47815
_SPNAV_SOCKET = "/var/run/spnav.sock"
# what the makers' packages install; the first one that is there counts
_DHD = ("libdhd.so.3", "libdrd.so.3", "libdhd.so")
_HD = ("libHD.so",)


class Device:
    """Base of all devices; made by its subclasses.

    A device belongs to one session at a time, from the making of that until it is closed.

    Attributes
    ----------
    alignment
        Rotation (w, x, y, z) of its axes in a world where x is to the right of the user and z is
        up: the `Workspace` that has it moves things the way the hand goes.
    duration
        Time after which nothing new comes [s]; infinity for devices that go on, or stay at one
        place.
    """

    __slots__ = ("__weakref__", "_core", "_duration", "_looked_for", "_travel")

    _alignment: ClassVar[tuple[float, ...]] = (1.0, 0.0, 0.0, 0.0)
    # s without a sample after which a session gives no force, unless told otherwise
    _silence: ClassVar[float] = 0.05
    _core: _core.Device
    _duration: float
    _looked_for: tuple[str, ...]
    _travel: float  # longest side of the box around its path, if that is known [m]

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

    @property
    def alignment(self) -> tuple[float, ...]:
        """Rotation of its axes in a world where x is to the right and z is up."""
        return self._alignment

    @property
    def duration(self) -> float:
        """Time after which nothing new comes [s]."""
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
    """Return when a trajectory ends; what stays where it is does not."""
    return float(times[-1]) if times[-1] > 0.0 else math.inf


# sockets are shared with the children of a fork, where a port would stay taken
_with_sockets: weakref.WeakSet[Device] = weakref.WeakSet()


def _leave_all() -> None:
    for device in list(_with_sockets):
        _core.leave_device(device._core)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


class ReplayDevice(Device):
    """A device that plays a trajectory, and feels nothing.

    Positions go straight between the given ones, rotations the shorter way round; after the
    last it stays.

    Parameters
    ----------
    times
        When it is where, ascending [s], shape (n,).
    positions
        Of the handle, in the frame of the device [m], shape (n, 3).
    quaternions
        Its rotations (w, x, y, z), shape (n, 4); None: it is not turned.
    buttons
        Which are down from then on, a bit each, shape (n,); None: none.

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
        """Return a device that plays what another one did in a session.

        Cycles in which that one failed are left out.

        Parameters
        ----------
        records
            Of that session.
        hand
            True: play the poses of the hand in the world, instead of those of the device in
            its own frame: the motion without the session's `Workspace`.

        Returns
        -------
        ReplayDevice

        Raises
        ------
        InputError
            There are none.
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

        Its first line names the columns: ``time`` [s], ascending, ``x``, ``y``, ``z`` [m], and,
        where they are there, ``qw``, ``qx``, ``qy``, ``qz``, a rotation, and ``buttons``, a bit
        each, in any order; others are passed over, and so are empty lines. Numbers have decimal
        points, whatever the language of the system. Rotations are made of length 1 where they
        are to within 0.001, as numbers of some digits are.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        ReplayDevice

        Raises
        ------
        FileFormatError
            The file is missing, lacks a column, or has a line that is none of such a table; the
            message says which, and why.
        InputError
            A number is far out of range.
        """
        place = as_path(path)
        table = _Table(str(place))
        try:
            with (
                regular_file(place) as (file, _),
                io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text,
            ):
                table.read(csv.reader(text))
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileFormatError(f"cannot read {str(place)!r}: {error}") from None
        return cls(*table.trajectory())


class _Table:
    """Poses of a table of comma-separated values, and the lines that they come from."""

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
        if any(name in names for name in _QUATERNION):
            wanted += _QUATERNION
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
            # a decimal comma makes two cells of a number
            if any(cell.strip() for cell in row[len(names) :]):
                self._refuse(
                    rows.line_num, f"has {len(row)} cells, the first line names {len(names)}"
                )
            self._lines.append(rows.line_num)
            for name, index in indices.items():
                self._columns[name].append(self._number(row, index, name))
        if not self._lines:
            raise FileFormatError(f"{self._place!r} has no line of numbers")

    def _number(self, row: list[str], index: int, name: str) -> float:
        text = row[index].strip() if index < len(row) else ""
        try:
            # Python reads 1_000, too
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            why = "no finite number" if text else "nothing"
            self._refuse(self._lines[-1], f"has {text!r} in the column {name!r}: {why}")
        return value

    def trajectory(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], ArrayLike | None, ArrayLike | None]:
        """Return it as a `ReplayDevice` takes it."""
        columns = {name: np.array(values) for name, values in self._columns.items()}
        times = columns["time"]
        for k in np.flatnonzero(np.diff(times) <= 0.0)[:1]:
            self._refuse(
                self._lines[k + 1],
                f"has the time {times[k + 1]:g}, line {self._lines[k]} has {times[k]:g}: times "
                "must ascend",
            )
        rotations = None
        if "qw" in columns:
            rotations = np.stack([columns[name] for name in _QUATERNION], axis=1)
            norms = np.linalg.norm(rotations, axis=1)
            for k in np.flatnonzero(~(np.abs(norms - 1.0) <= _NORM_TOLERANCE))[:1]:
                self._refuse(
                    self._lines[k],
                    f"has a rotation of norm {norms[k]:g}, which must be 1 (qw, qx, qy, qz)",
                )
            rotations /= norms[:, None]
        buttons = columns.get("buttons")
        if buttons is not None:
            whole = (buttons == np.floor(buttons)) & (buttons >= 0.0) & (buttons < 2.0**32)
            for k in np.flatnonzero(~whole)[:1]:
                self._refuse(
                    self._lines[k],
                    f"has {buttons[k]:g} in the column 'buttons', no integer from 0 to {2**32 - 1}",
                )
            buttons = buttons.astype(np.uint32)
        return times, np.stack([columns[name] for name in "xyz"], axis=1), rotations, buttons


class SimulatedHand(Device):
    """A hand that means to follow a trajectory and feels the forces of the device.

    A mass on a spring and a damper, in translation and in rotation; between two cycles, in
    which a real device would hold its force, the motion is exact. It is the bench on which the
    stability of a session is tested: what oscillates is the loop.

    Parameters
    ----------
    times, positions, quaternions, buttons
        Intended motion of the hand, as of `ReplayDevice`.
    mass, damping, stiffness
        Of hand and handle [kg], [N s/m], [N/m]: a relaxed grip has some 0.1 kg, 5 N s/m and
        300 N/m.
    inertia, torsional_damping, torsional_stiffness
        About all axes [kg m^2], [N m s], [N m].
    max_force, max_torque
        That the device renders [N], [N m]; None: any.

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


class UdpDevice(Device):
    """A device that another program reads, and that speaks to the session by UDP.

    The program sends samples to the address and is sent forces there; `reducedfem.udp_client`
    is such a client, and its documentation the layout of the packets. Opening the device waits
    for the first sample. Samples that are older than the newest one or damaged are counted and
    skipped; where none comes for 0.01 s, or the session's `silence`, there are no forces: a client
    that sends less often than a few hundred times a second takes more of it.

    The first client keeps the device: the system drops the packets of all others. Another one, as
    is a client that was started again at another port, takes its place only when nothing good has
    come from the first for a second, and only with `takeover`, or once after `accept`. Until then
    forces go to the first one. The new hand takes the object up wherever it is, as after a clutch,
    and its forces fade in from zero.

    There is no authentication, and addresses can be forged: keep to loopback, or to a network of
    your own. The limits of the session are no substitute for the device's own.

    Parameters
    ----------
    address
        Local address for samples: (IPv4 address in numbers, port); port 0: any that is free.
    client
        Address of the client; None: who sends the first good sample.
    wait
        Longest wait for the first sample when it is opened [s].
    max_force, max_torque
        The most that is sent [N], [N m]: what the client's device renders, which only the client
        knows; None: any. Beyond the default ones `UdpClient` does not render either, unless it is
        told to.
    takeover
        True: any client may take the place of one that has been silent for a second.

    Raises
    ------
    InputError, InputTypeError
        An address is none; `wait` is negative; a limit is not positive; `takeover` is given
        together with `client`, or is no bool.
    """

    __slots__ = ("_host",)

    _silence = 0.010

    def __init__(
        self,
        address: tuple[str, int] = ("127.0.0.1", _UDP_PORT),
        *,
        client: tuple[str, int] | None = None,
        wait: float = 5.0,
        max_force: float | None = 5.0,
        max_torque: float | None = 0.1,
        takeover: bool = False,
    ) -> None:
        here = _address(address, "address")
        there = None if client is None else _address(client, "client")
        self._core = _core.udp_device(
            here,
            there,
            number(wait, "wait"),
            limit(max_force, "max_force"),
            limit(max_torque, "max_torque"),
            flag(takeover, "takeover"),
        )
        self._duration = math.inf
        self._host = here[0]
        self._looked_for = (f"packets at {here[0]}:{here[1]} (UDP)",)
        _with_sockets.add(self)

    @property
    def address(self) -> tuple[str, int]:
        """Local address for samples; port 0: it is not open."""
        return self._host, _core.udp_counts(self._core)[0]

    @property
    def counts(self) -> UdpCounts:
        """Packets since it was opened."""
        return UdpCounts(*_core.udp_counts(self._core)[1:])

    def accept(self) -> None:
        """Let another client take the place of the present one, once that is silent.

        The next client that sends after a second without a good sample has the device then; so has
        the present one if it is the first to send again. This holds once, and until the device is
        closed. Any thread may call it while the session runs.

        Raises
        ------
        InputError
            The device is not open, or `client` was given when it was made.
        """
        _core.udp_accept(self._core)


@dataclass(frozen=True)
class UdpCounts:
    """Packets of a `UdpDevice`.

    Attributes
    ----------
    accepted
        Samples that were new.
    old
        Repeated, or overtaken by newer ones.
    foreign
        From another sender, before the system dropped them.
    malformed
        That are no samples of this version, or hold what is not finite or no rotation.
    sent, unsent
        Wrenches that went out, and that the system did not take.
    refused
        Notes of the network that a packet did not arrive, as when the client has ended.
    """

    accepted: int
    old: int
    foreign: int
    malformed: int
    sent: int
    unsent: int
    refused: int


class SpaceMouse(Device):
    """A SpaceMouse, by the daemon of the Spacenav project (spacenavd): an input only.

    It speaks to the daemon's socket as libspnav does, without that library.

    A cap that is pushed and turned tells a speed; the pose of the device is the integral of it,
    in the axes of the daemon, and begins at the origin. It stays between sessions.

    Parameters
    ----------
    speed
        Of the handle when the cap is at its stops [m/s]; negative: the other way.
    turn
        Likewise [rad/s].
    deadband
        Share of the way to the stops that counts as none, along each axis: what is beyond
        begins at zero.
    full
        Value that the daemon reports at the stops.
    socket
        Path of the daemon's socket; None: that in the environment variable ``SPNAV_SOCKET``, or
        ``/var/run/spnav.sock``.

    Raises
    ------
    InputError, InputTypeError
        A value that is not allowed.
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        speed: float = 0.1,
        turn: float = 1.0,
        deadband: float = 0.05,
        full: float = 350.0,
        socket: str | os.PathLike[str] | None = None,
    ) -> None:
        told = os.environ.get("SPNAV_SOCKET")
        path = str(as_path(socket, "socket")) if socket is not None else told or _SPNAV_SOCKET
        self._core = _core.spacemouse_device(
            path,
            number(speed, "speed"),
            number(turn, "turn"),
            number(full, "full"),
            number(deadband, "deadband"),
        )
        self._duration = math.inf
        told_by = _told_by("SPNAV_SOCKET", socket)
        self._looked_for = (f"socket {_shown(path)} of spacenavd ({told_by})",)
        _with_sockets.add(self)


class ForceDimension(Device):
    """A device of Force Dimension (omega, sigma, delta), by the maker's library DHD.

    Not yet run on hardware: written to the library's documentation and exercised against a
    stand-in. The library (Force Dimension SDK 3) must be installed, the device calibrated
    with the maker's programs. Torques are rendered by those with an active wrist. Its axes are
    those of the library: x towards the user, y to the right, z up.

    Parameters
    ----------
    max_force, max_torque
        The most that is rendered [N], [N m]; the library limits to them, too.
    library
        Path of the library; None: that in the environment variable ``REDUCEDFEM_DHD``, or
        ``libdhd.so.3``, ``libdrd.so.3``, ``libdhd.so`` where the system looks for libraries.

    Raises
    ------
    InputError, InputTypeError
        A value that is not allowed.
    """

    __slots__ = ()

    _alignment = (math.sqrt(0.5), 0.0, 0.0, -math.sqrt(0.5))

    def __init__(
        self,
        *,
        max_force: float = 5.0,
        max_torque: float = 0.05,
        library: str | os.PathLike[str] | None = None,
    ) -> None:
        names, self._looked_for = _libraries(library, "REDUCEDFEM_DHD", _DHD)
        self._core = _core.force_dimension_device(
            names, number(max_force, "max_force"), number(max_torque, "max_torque")
        )
        self._duration = math.inf


class OpenHaptics(Device):
    """A device of 3D Systems (Touch, Phantom), by the maker's library OpenHaptics HD.

    Not yet run on hardware: written to the library's documentation and exercised against a
    stand-in. The library and the driver of the device must be installed, the device calibrated
    with the maker's programs. Its axes are those of the library: x to the right, y up, z towards
    the user.

    Torques are rendered when `max_torque` asks for them, by devices with six actuated degrees of
    freedom: by a parameter that the library calls deprecated, with a unit that is told
    differently. Try with small ones which it is.

    The library's own thread makes the cycles, at its rate: a session with it is started, not
    run cycle by cycle, and one such device is open at a time.

    Parameters
    ----------
    name
        As the maker's setup program calls it; None: the default device.
    max_torque
        The most that is rendered [N m]; 0: forces only.
    torque_unit
        In which the library takes torques [N m]: its reference is said to have 1, programs that
        ran on devices 0.001, which sends numbers a thousand times as large.
    library
        Path of the library; None: that in the environment variable ``REDUCEDFEM_HD``, or
        ``libHD.so`` where the system looks for libraries.

    Raises
    ------
    InputError, InputTypeError
        A value that is not allowed.
    """

    __slots__ = ()

    _alignment = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)

    def __init__(
        self,
        name: str | None = None,
        *,
        max_torque: float = 0.0,
        torque_unit: float = 1.0,
        library: str | os.PathLike[str] | None = None,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise InputTypeError(f"name must be a str or None, got {type(name).__name__}")
        names, self._looked_for = _libraries(library, "REDUCEDFEM_HD", _HD)
        self._core = _core.openhaptics_device(
            names, name or "", number(max_torque, "max_torque"), number(torque_unit, "torque_unit")
        )
        self._duration = math.inf


def _address(value: tuple[str, int], name: str) -> tuple[str, int]:
    try:
        if isinstance(value, str | bytes):  # two characters are a pair, too
            raise TypeError
        host, port = value
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be a pair (host, port), got {value!r}") from None
    if not isinstance(host, str):
        raise InputTypeError(f"{name} must begin with a str, got {type(host).__name__}")
    return host, integer(port, f"port of {name}")


def _shown(path: str) -> str:
    """Return it as it can be printed: systems have names that are no text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _told_by(variable: str, argument: object) -> str:
    if argument is not None:
        return "as asked for"
    return f"by {variable}" if os.environ.get(variable) else f"{variable} is not set"


def _libraries(
    library: str | os.PathLike[str] | None, variable: str, usual: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    told = os.environ.get(variable)
    names = usual if not told else (told,)
    if library is not None:
        names = (str(as_path(library, "library")),)
    source = _told_by(variable, library)
    return names, tuple(f"library {_shown(name)} ({source})" for name in names)


@dataclass(frozen=True)
class DeviceProbe:
    """Result of looking for a device.

    Attributes
    ----------
    kind
        The class that makes it.
    found
        True if it answered.
    looked_for
        Places that were tried: libraries, sockets, addresses, and which environment
        variable told them.
    detail
        Name and abilities of what was found, or why nothing was.
    """

    kind: str
    found: bool
    looked_for: tuple[str, ...]
    detail: str

    def __str__(self) -> str:
        """Return it in some lines."""
        lines = [f"{self.kind}: {'found' if self.found else 'not found'}", f"  {self.detail}"]
        return "\n".join([*lines, *(f"  looked for {what}" for what in self.looked_for)])


def probe_devices() -> list[DeviceProbe]:
    """Look for devices of every kind, with the settings that their classes have by default.

    Nothing is moved and no force is switched on. A client of `UdpDevice` is listened for,
    for a tenth of a second.

    Returns
    -------
    list of DeviceProbe
    """
    found = []
    for kind, make in (
        ("UdpDevice", lambda: UdpDevice(wait=0.1)),
        ("SpaceMouse", SpaceMouse),
        ("ForceDimension", ForceDimension),
        ("OpenHaptics", OpenHaptics),
    ):
        looked_for: tuple[str, ...] = ()
        try:
            device: Device = make()
            looked_for = device._looked_for
            detail, there = _abilities(*_core.probe_device(device._core)), True
        except (DeviceError, InputError) as error:  # a variable of the environment may be absurd
            detail, there = str(error), False
        found.append(DeviceProbe(kind, there, looked_for, detail))
    return found


def _abilities(
    name: str,
    max_force: float,
    max_torque: float,
    max_stiffness: float,
    sensed: int,
    actuated: int,
    rate: float,
) -> str:
    text = f"{name}: senses {sensed} degrees of freedom, renders {actuated or 'none'}"
    for value, what in (
        (max_force, "N"),
        (max_torque, "N m"),
        (max_stiffness, "N/m"),
        (rate, "cycles a second"),
    ):
        if 0.0 < value < math.inf:
            text += f", {value:g} {what}"
    return text
