"""Search for haptic devices."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reducedfem import _core
from reducedfem.errors import DeviceError, InputError
from reducedfem.haptics.devices import Device

__all__ = ["DeviceProbe", "probe_devices"]


@dataclass(frozen=True)
class DeviceProbe:
    """Result of the search for one kind of device.

    Attributes
    ----------
    kind
        Name of the class of the device.
    found
        True if a device responded.
    looked_for
        Libraries, sockets and addresses that were tried, with the environment variable that
        named them.
    detail
        Name and capabilities of the device, or the reason of the failure.
    """

    kind: str
    found: bool
    looked_for: tuple[str, ...]
    detail: str

    def __str__(self) -> str:
        """Return a text of a few lines."""
        lines = [f"{self.kind}: {'found' if self.found else 'not found'}", f"  {self.detail}"]
        return "\n".join([*lines, *(f"  searched for: {what}" for what in self.looked_for)])


def probe_devices() -> list[DeviceProbe]:
    """Search for devices of every kind, with the default settings of their classes.

    A `MouseDevice` needs no search, as each page has a pointer.
    No device is moved and no force is enabled. The search for a client of `UdpDevice` takes 0.1 s.

    Returns
    -------
    list of DeviceProbe
        One result for each kind that can be missing.
    """
    found = []
    for kind in Device._connected():
        if kind._pointed:
            continue
        looked_for: tuple[str, ...] = ()
        try:
            device = kind._to_probe()
            looked_for = device._looked_for
            detail, there = _abilities(*_core.probe_device(device._core)), True
        except (DeviceError, InputError) as error:  # InputError: an environment variable is invalid
            detail, there = str(error), False
        found.append(DeviceProbe(kind.__name__, there, looked_for, detail))
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
    text = f"{name}: measures {sensed} degrees of freedom, "
    text += f"renders forces in {actuated}" if actuated else "renders no forces"
    for value, what in (
        (max_force, "up to {:g} N"),
        (max_torque, "up to {:g} N m"),
        (max_stiffness, "up to {:g} N/m"),
        (rate, "{:g} cycles per second"),
    ):
        if 0.0 < value < math.inf:
            text += ", " + what.format(value)
    return text
