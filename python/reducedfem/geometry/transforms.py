"""Arguments that scale and rotate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import did_you_mean, positive, reals, rotations
from reducedfem.errors import InputError, InputTypeError

__all__ = ["UNITS", "metres_per_unit", "rotation_matrix", "scale_factors"]

UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "inch": 0.0254}
"""Metres per unit of a file, by the name of the unit."""
_MUST = f"scale must be a number or one of {', '.join(UNITS)}"


def metres_per_unit(scale: float | str) -> float:
    """Return the scale of a file: metres per unit, given as a positive number or as a unit."""
    if isinstance(scale, str):
        if scale not in UNITS:
            raise InputError(f"{_MUST}, got {scale!r}{did_you_mean(scale, UNITS)}")
        return UNITS[scale]
    try:
        return positive(scale, "scale")
    except InputTypeError:
        raise InputTypeError(f"{_MUST}, got {type(scale).__name__}") from None


def scale_factors(value: float | ArrayLike) -> NDArray[np.float64]:
    """Return one or three positive factors, shape () or (3,)."""
    factor = reals(value, "scale")
    if factor.shape not in ((), (3,)):
        raise InputError(f"scale must be a number or three, got shape {factor.shape}")
    if not (factor > 0).all():
        raise InputError(f"scale must be positive, got {factor.min():g}")
    return factor


def rotation_matrix(value: ArrayLike) -> NDArray[np.float64]:
    """Return the rotation matrix of a matrix or a quaternion w, x, y, z."""
    given = reals(rotations(value, "rotation"), "rotation")
    if given.shape == (4,):
        length = float(np.linalg.norm(given))
        if not abs(length - 1) < 1e-6:
            raise InputError(f"rotation must be a unit quaternion, its length is {length:g}")
        w, x, y, z = given / length
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
    if given.shape != (3, 3):
        raise InputError(
            "rotation must be a matrix (3, 3) or a quaternion (4,) in order w, x, y, z, got shape "
            f"{given.shape}"
        )
    error = float(np.abs(given @ given.T - np.eye(3)).max())
    if not error < 1e-6:
        raise InputError(
            f"rotation is no rotation matrix: its rows are off unit length and right angles by "
            f"{error:.2g}; scale has an argument of its own"
        )
    if np.linalg.det(given) < 0:
        raise InputError("rotation is a reflection: its determinant is -1, it must be 1")
    return given
