"""Settings of haptic sessions, checked without a session."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from reducedfem import _core
from reducedfem.base.check import choice, count, flag, integer, limit, number
from reducedfem.errors import InputError, InputTypeError
from reducedfem.haptics.devices import Device
from reducedfem.haptics.workspace import Workspace
from reducedfem.io.atomic import as_path

__all__ = ["HapticSettings", "Timeouts", "set_timeouts", "timeouts"]

# largest damping of the passivity controller [N s/m], [N m s]: stable at 1 kHz, hand of 0.1 kg
_MOST_DAMPING = 20.0
_MOST_TORSIONAL_DAMPING = 0.02


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Times after which a session stops waiting [s].

    Parameters
    ----------
    stall
        Time without a cycle until the device is halted; at least ten periods.
    patience
        Time without progress until a file is abandoned.
    hang
        Time without a cycle after `stall` until a stopping thread is abandoned.

    Raises
    ------
    InputError, InputTypeError
        A time is not a positive number.
    """

    stall: float = 0.05
    patience: float = 5.0
    hang: float = 2.0

    def __post_init__(self) -> None:
        """Reject wrong values."""
        for name, value in dataclasses.asdict(self).items():
            if not number(value, name) > 0.0:
                raise InputError(f"{name} must be positive, got {value:g} s")


_timeouts = Timeouts()


def timeouts() -> Timeouts:
    """Return the times that sessions made from now on wait."""
    return _timeouts


def set_timeouts(**times: float) -> Timeouts:
    """Change times that sessions made from now on wait, and return all earlier ones.

    Sessions that exist keep theirs.

    Parameters
    ----------
    **times
        Parameters of `Timeouts`; those left out do not change.

    Returns
    -------
    Timeouts

    Raises
    ------
    InputError, InputTypeError
        A time has no such name or is not a positive number; no time is changed then.
    """
    global _timeouts
    known = [one.name for one in dataclasses.fields(Timeouts)]
    for name in times:
        choice(name, "the name of a timeout", known)
    earlier, _timeouts = _timeouts, dataclasses.replace(_timeouts, **times)
    return earlier


@dataclasses.dataclass(frozen=True, kw_only=True)
class HapticSettings:
    """Settings of a session, as the arguments of `HapticSession` of the same names.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value.
    """

    workspace: Workspace | None = None
    rate: float = 1000.0
    budget_us: float | None = None
    coupled: bool = True
    auto_stiffness: str = "coupling"
    max_force: float | None = None
    max_torque: float | None = None
    force_slew: float | None = None
    torque_slew: float | None = None
    ramp: float = 0.2
    silence: float | None = None
    passivity: bool = False
    energy_allowance: float = 1e-4
    render: str = "linear"
    duration: float | None = None
    record: str | os.PathLike[str] | None = None
    keep_records: int = 10_000
    priority: int = 80
    lock_memory: bool = True

    def __post_init__(self) -> None:
        """Reject wrong values."""
        hertz = number(self.rate, "rate")
        if not 10.0 <= hertz <= 20_000.0:
            raise InputError(f"rate must be between 10 and 20000 Hz, got {hertz:g}")
        if not isinstance(self.place, Workspace):
            kind = type(self.workspace).__name__
            raise InputTypeError(f"workspace must be a Workspace, got {kind}")
        if self.duration is not None and not number(self.duration, "duration") > 0.0:
            raise InputError(f"duration must be positive or None, got {self.duration:g}")
        choice(self.render, "render", ("linear", "saturated"))
        choice(self.auto_stiffness, "auto_stiffness", ("coupling", "contact"))
        if self.record is not None:
            as_path(self.record, "record")
        self.check(None)

    @property
    def dt(self) -> float:
        """Length of a cycle [s]."""
        return 1.0 / float(self.rate)

    @property
    def place(self) -> Workspace:
        """Map from the frame of the device to the world."""
        return Workspace() if self.workspace is None else self.workspace

    @property
    def suited(self) -> bool:
        """True if automatic stiffnesses of contacts follow the coupling."""
        return self.auto_stiffness == "coupling"

    def check(self, device: Device | None) -> None:
        """Reject values that no session accepts, and a device that belongs to another session."""
        _core.session_check(self.core(device), None if device is None else device._core)

    def core(self, device: Device | None) -> dict[str, Any]:
        """Return the settings for `_core.Session`; the device has defaults of its own."""
        period = 1e6 * self.dt
        budget = 0.5 * period if self.budget_us is None else number(self.budget_us, "budget_us")
        if budget > period * (1.0 + 1e-9):
            raise InputError(
                f"budget_us must be at most {period:g}, the period in us of a cycle at "
                f"{self.rate:g} Hz, got {budget:g}; 0 means the limits of the contacts"
            )
        lasts, silence = self.duration, self.silence
        if lasts is None:
            lasts = math.inf if device is None else device.duration
        if silence is None:
            silence = Device._silence if device is None else device._silence
        return {
            "dt": self.dt,
            "budget_us": budget,
            "coupled": flag(self.coupled, "coupled"),
            "saturated": self.render == "saturated",
            "suited": self.suited,
            **self.place._core_settings(),
            "max_force": limit(self.max_force, "max_force"),
            "max_torque": limit(self.max_torque, "max_torque"),
            "force_slew": limit(self.force_slew, "force_slew"),
            "torque_slew": limit(self.torque_slew, "torque_slew"),
            "ramp": number(self.ramp, "ramp"),
            "silence": number(silence, "silence"),
            "passivity": flag(self.passivity, "passivity"),
            "energy_allowance": number(self.energy_allowance, "energy_allowance"),
            "most_damping": _MOST_DAMPING,
            "most_torsional_damping": _MOST_TORSIONAL_DAMPING,
            "duration": 0.0 if math.isinf(lasts) else float(lasts),
            "stall": max(_timeouts.stall, 10.0 * self.dt),
            "priority": integer(self.priority, "priority"),
            "lock_memory": flag(self.lock_memory, "lock_memory"),
            "records": count(self.keep_records, "keep_records", 1 << 24),
            "patience": _timeouts.patience,
            "hang": _timeouts.hang,
        }
