"""Devices connected to the machine: pointer, other programs, manufacturers' libraries."""

from __future__ import annotations

import math
import os
import weakref
from dataclasses import dataclass

from reducedfem import _core
from reducedfem.base.check import flag, integer, limit, number
from reducedfem.errors import InputTypeError
from reducedfem.haptics.devices import Device
from reducedfem.haptics.libraries import libraries, shown, source_of
from reducedfem.haptics.pointer import Pointer
from reducedfem.io.atomic import as_path

__all__ = ["ForceDimension", "MouseDevice", "OpenHaptics", "SpaceMouse", "UdpCounts", "UdpDevice"]

_UDP_PORT = 47815
_SPNAV_SOCKET = "/var/run/spnav.sock"
# library names of the manufacturers' packages; the first one found is used
_DHD = ("libdhd.so.3", "libdrd.so.3", "libdhd.so")
_HD = ("libHD.so",)


# a fork inherits sockets, and would keep their ports in use
_with_sockets: weakref.WeakSet[Device] = weakref.WeakSet()


def _leave_all() -> None:
    for device in list(_with_sockets):
        _core.leave_device(device._core)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


class UdpDevice(Device):
    """Device of another program that exchanges samples and forces by UDP.

    The client sends samples to the address and receives forces; `reducedfem.udp_client` is such a
    client and documents the packets. Opening the device waits for the first sample. Damaged or
    outdated samples are counted and skipped. Without a sample for 0.01 s, or the session's
    `silence`, forces are zero: a client slower than a few hundred samples per second needs a
    longer `silence`.

    The first client keeps the device. Another one replaces it only after one second without a
    valid sample, with `takeover` or once after `accept`; its forces fade in from zero, and it
    takes up the object as after a clutch. There is no authentication, and addresses can be
    forged: use loopback or a private network. The limits of the session do not replace those of
    the device.

    Parameters
    ----------
    address
        Local address for samples: (numeric IPv4 address, port); port 0: any free port.
    client
        Address of the client; None: the sender of the first valid sample.
    wait
        Longest wait for the first sample on opening [s], at least 0.
    max_force, max_torque
        Largest force [N] and torque [N m] to send, those that the client's device can render;
        None: no limits. `UdpClient` has the same defaults of its own.
    takeover
        True: any client may replace one that has been silent for a second.

    Raises
    ------
    InputError, InputTypeError
        An address is invalid; `wait` is negative; a limit is not positive; `takeover` is given
        together with `client`, or is not a bool.
    """

    __slots__ = ("_host",)

    _silence = 0.010
    _option = "udp"
    _option_form = "[PORT]"
    _option_help = "udp or udp:PORT: a program that sends poses to this machine"
    _waits = 30.0

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

    @classmethod
    def _from_option(cls, text: str) -> UdpDevice:
        return cls(("127.0.0.1", int(text or _UDP_PORT)), wait=cls._waits)

    @classmethod
    def _to_probe(cls) -> UdpDevice:
        return cls(wait=0.1)

    @property
    def address(self) -> tuple[str, int]:
        """Local address for samples; port 0 while the device is closed."""
        return self._host, _core.udp_counts(self._core)[0]

    @property
    def counts(self) -> UdpCounts:
        """Numbers of packets since the device was opened."""
        return UdpCounts(*_core.udp_counts(self._core)[1:])

    def accept(self) -> None:
        """Permit another client to replace the present one, once that is silent.

        After one second without a valid sample the next client that sends has the device, also if
        it is the present one. The permission holds once, until the device is closed. Any thread
        may call it while the session runs.

        Raises
        ------
        InputError
            The device is not open, or `client` was given when it was made.
        """
        _core.udp_accept(self._core)


@dataclass(frozen=True)
class UdpCounts:
    """Numbers of packets of a `UdpDevice`.

    Attributes
    ----------
    accepted
        New valid samples.
    old
        Repeated or outdated samples.
    foreign
        Samples of other senders, before the system dropped them.
    malformed
        Packets that are not samples of this version, or have values that are not finite or a
        quaternion that is not a rotation.
    sent, unsent
        Wrenches sent, and wrenches that the system refused to send.
    refused
        Network reports of packets that were not delivered, as when the client has ended.
    """

    accepted: int
    old: int
    foreign: int
    malformed: int
    sent: int
    unsent: int
    refused: int


class MouseDevice(Device):
    """Handle that a page of a view moves: pointer, wheel, touch, gamepad.

    `view` of the session shows the page; one page at a time holds the tool. The handle hangs on
    the place to which the pointer leads it by a critically damped spring, so that contact holds it
    back. It follows smoothly and at bounded speed. The session never waits for the page: without a
    message for 0.3 s the handle rests where it is, the device is silent, and forces are zero.
    Its axes are those of the world. See ``docs/devices.md``.

    Parameters
    ----------
    stiffness
        Stiffness of the spring [N/m], positive: force on the tool per metre to the pointer.
    torsional_stiffness
        Likewise in rotation [N m], positive.
    speed
        Largest speed of the place to which the pointer leads [m/s], positive.
    turn
        Largest angular speed [rad/s], positive.
    mass, inertia
        Mass [kg] and moment of inertia [kg m^2] of hand and handle, positive.
    max_force, max_torque
        Largest force [N] and torque [N m] on the handle; None: no limits.

    Raises
    ------
    InputError, InputTypeError
        A value is not positive, or not a number.
    """

    __slots__ = ()

    _silence = _core.MOUSE_SILENT
    _option = "mouse"
    _option_help = "mouse: the pointer in the page of --view, which it opens"
    _pointed = True

    def __init__(
        self,
        *,
        stiffness: float = 300.0,
        torsional_stiffness: float = 0.3,
        speed: float = 0.5,
        turn: float = 6.0,
        mass: float = 0.1,
        inertia: float = 1e-4,
        max_force: float | None = None,
        max_torque: float | None = None,
    ) -> None:
        self._core = _core.mouse_device(
            (number(mass, "mass"), number(stiffness, "stiffness")),
            (number(inertia, "inertia"), number(torsional_stiffness, "torsional_stiffness")),
            number(speed, "speed"),
            number(turn, "turn"),
            limit(max_force, "max_force"),
            limit(max_torque, "max_torque"),
        )
        self._pointer = Pointer(self._core)
        self._duration = math.inf
        self._looked_for = ()

    @property
    def held(self) -> bool:
        """True while a page holds the tool."""
        return self._pointer.held


class SpaceMouse(Device):
    """SpaceMouse, an input device, by the daemon of the Spacenav project (spacenavd).

    It uses the socket of the daemon directly, without libspnav. The deflection of the cap sets a
    velocity; the pose is its integral, in the axes of the daemon, begins at the origin and
    persists between sessions.

    Parameters
    ----------
    speed
        Speed of the handle at full deflection [m/s]; negative: reversed.
    turn
        Angular speed at full deflection [rad/s]; negative: reversed.
    deadband
        Fraction of the full deflection that counts as zero, along each axis; the speed rises
        from zero beyond it.
    full
        Value that the daemon reports at full deflection.
    socket
        Path of the daemon's socket; None: the environment variable ``SPNAV_SOCKET``, or
        ``/var/run/spnav.sock``.

    Raises
    ------
    InputError, InputTypeError
        A value is not allowed.
    """

    __slots__ = ()

    _option = "spacemouse"

    def __init__(
        self,
        *,
        speed: float = 0.1,
        turn: float = 1.0,
        deadband: float = 0.05,
        full: float = 350.0,
        socket: str | os.PathLike[str] | None = None,
    ) -> None:
        given = os.environ.get("SPNAV_SOCKET")
        path = str(as_path(socket, "socket")) if socket is not None else given or _SPNAV_SOCKET
        self._core = _core.spacemouse_device(
            path,
            number(speed, "speed"),
            number(turn, "turn"),
            number(full, "full"),
            number(deadband, "deadband"),
        )
        self._duration = math.inf
        source = source_of("SPNAV_SOCKET", socket)
        self._looked_for = (f"socket {shown(path)} of spacenavd ({source})",)
        _with_sockets.add(self)


class ForceDimension(Device):
    """Device of Force Dimension (omega, sigma, delta), by the manufacturer's library DHD.

    Not yet run on hardware: written to the library's documentation and tested against a stand-in.
    The library (Force Dimension SDK 3) must be installed, the device calibrated with the
    manufacturer's programs. Devices with an active wrist render torques. Axes are those of the
    library: x towards the user, y to the right, z up.

    Parameters
    ----------
    max_force, max_torque
        Largest rendered force [N] and torque [N m], also set in the library.
    library
        Path of the library; None: the environment variable ``REDUCEDFEM_DHD``, or
        ``libdhd.so.3``, ``libdrd.so.3``, ``libdhd.so`` on the system's library path.

    Raises
    ------
    InputError, InputTypeError
        A value is not allowed.
    """

    __slots__ = ()

    _option = "force-dimension"
    _alignment = (math.sqrt(0.5), 0.0, 0.0, -math.sqrt(0.5))

    def __init__(
        self,
        *,
        max_force: float = 5.0,
        max_torque: float = 0.05,
        library: str | os.PathLike[str] | None = None,
    ) -> None:
        names, self._looked_for = libraries(library, "REDUCEDFEM_DHD", _DHD)
        self._core = _core.force_dimension_device(
            names, number(max_force, "max_force"), number(max_torque, "max_torque")
        )
        self._duration = math.inf


class OpenHaptics(Device):
    """Device of 3D Systems (Touch, Phantom), by the manufacturer's library OpenHaptics HD.

    Not yet run on hardware: written to the library's documentation and tested against a stand-in.
    The library and the driver must be installed, the device calibrated with the manufacturer's
    programs. Axes are those of the library: x to the right, y up, z towards the user.

    The library's own thread makes the cycles, at its rate: such a session must be started, `run`
    is not possible, and only one such device can be open.

    Parameters
    ----------
    name
        Name of the device in the manufacturer's setup program; None: the default device.
    max_torque
        Largest rendered torque [N m], by devices with six actuated degrees of freedom, through a
        parameter that the library calls deprecated; 0: forces only.
    torque_unit
        Unit in which the library takes torques [N m]. Sources disagree: 1 by its reference,
        0.001 in programs that ran on devices, which sends values 1000 times as large. Test with
        small torques.
    library
        Path of the library; None: the environment variable ``REDUCEDFEM_HD``, or ``libHD.so`` on
        the system's library path.

    Raises
    ------
    InputError, InputTypeError
        A value is not allowed.
    """

    __slots__ = ()

    _option = "openhaptics"
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
        names, self._looked_for = libraries(library, "REDUCEDFEM_HD", _HD)
        self._core = _core.openhaptics_device(
            names, name or "", number(max_torque, "max_torque"), number(torque_unit, "torque_unit")
        )
        self._duration = math.inf


def _address(value: tuple[str, int], name: str) -> tuple[str, int]:
    try:
        if isinstance(value, str | bytes):  # a text of two characters would unpack
            raise TypeError
        host, port = value
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be a pair (host, port), got {value!r}") from None
    if not isinstance(host, str):
        raise InputTypeError(f"{name} must begin with a str, got {type(host).__name__}")
    return host, integer(port, f"port of {name}")
