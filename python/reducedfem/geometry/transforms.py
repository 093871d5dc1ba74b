"""Arguments that scale and rotate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import reals, rotations
from reducedfem.errors import InputError

__all__ = ["rotation_matrix", "scale_factors"]


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
