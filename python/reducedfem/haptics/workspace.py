"""Workspace: map from the frame of a device to the world."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from reducedfem.base.check import integer, positive, reals, rotations
from reducedfem.errors import InputError, InputTypeError

__all__ = ["Workspace"]


@dataclass(frozen=True)
class Workspace:
    """Map from the frame of a device to the world (Barbic 2007, section 4.5).

    Parameters
    ----------
    scale
        Metres of device motion per metre in the world, positive.
    force_scale
        Newtons at the device per newton in the world, positive.
    alignment
        Rotation (w, x, y, z) of the device's axes in the world, of norm 1 to within 1e-6.
    start
        Pose (position [m], quaternion) of the manipulandum at the first sample of the device;
        None: device and world share their origin, until a clutch or a restart of the session
        shifts it.
    clutch
        Number of the button, 0 to 31, that decouples the device from the manipulandum while it
        is held; None: no clutch.

    Raises
    ------
    InputError, InputTypeError
        A value is not allowed.
    """

    scale: float = 1.0
    force_scale: float = 1.0
    alignment: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    start: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    clutch: int | None = None

    def __post_init__(self) -> None:
        """Check the arguments and convert them to floats and tuples."""
        for name in ("scale", "force_scale"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        object.__setattr__(self, "alignment", _rotation(self.alignment, "alignment"))
        if self.start is not None:
            try:
                position, quaternion = self.start
            except (TypeError, ValueError):
                raise InputTypeError(
                    "start must be a pair (position, quaternion) or None, got "
                    f"{type(self.start).__name__}"
                ) from None
            pose = (
                _numbers(position, "position of start", 3),
                _rotation(quaternion, "quaternion of start"),
            )
            object.__setattr__(self, "start", pose)
        if self.clutch is not None and not 0 <= integer(self.clutch, "clutch") < 32:
            raise InputError(f"clutch must be between 0 and 31, got {self.clutch}")

    def _core_settings(self) -> dict[str, Any]:
        position, quaternion = self.start or ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        return {
            "scale": self.scale,
            "force_scale": self.force_scale,
            "alignment": self.alignment,
            "absolute": self.start is None,
            "start_position": position,
            "start_quaternion": quaternion,
            "clutch_buttons": 0 if self.clutch is None else 1 << self.clutch,
        }


def _numbers(values: ArrayLike, name: str, n: int) -> tuple[float, ...]:
    array = reals(values, name)
    if array.shape != (n,):
        raise InputError(f"{name} must have the shape ({n},), got {array.shape}")
    return tuple(array.tolist())


def _rotation(values: ArrayLike, name: str) -> tuple[float, ...]:
    quaternion = _numbers(rotations(values, name), name, 4)
    norm = math.hypot(*quaternion)
    if not abs(norm - 1.0) <= 1e-6:
        raise InputError(
            f"{name} has norm {norm:.9g}; it must be 1 to within 1e-06 (order w, x, y, z): divide "
            "it by its norm"
        )
    return quaternion
