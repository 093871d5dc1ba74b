"""Distance fields of analytic shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import number, reals
from reducedfem.contact.combined_field import Field
from reducedfem.errors import InputError

__all__ = ["BoxField", "CapsuleField", "PlaneField", "SphereField", "plain", "triple"]

_FARTHEST = 1e150  # squares stay finite; csrc/sdf/field.c


def triple(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a point or vector of three coordinates; refuse other shapes and values too large."""
    array = reals(value, name)
    if array.shape != (3,):
        raise InputError(f"{name} must have shape (3,), got {array.shape}")
    if not (np.abs(array) < _FARTHEST).all():
        raise InputError(f"{name} must be below {_FARTHEST:g} m, got {plain(array)}")
    return array


def plain(array: NDArray[np.float64]) -> str:
    """Return the text of coordinates."""
    return "(" + ", ".join(f"{x:g}" for x in array) + ")"


class SphereField(Field):
    """Exact signed distance from a sphere.

    Parameters
    ----------
    center
        Centre [m], shape (3,).
    radius
        Radius [m], positive.

    Raises
    ------
    InputError, InputTypeError
        `center` has a wrong shape or a value that is not finite; `radius` is not positive.
    """

    __slots__ = ("_center", "_radius")

    def __init__(self, center: ArrayLike, radius: float) -> None:
        self._center, self._radius = triple(center, "center"), number(radius, "radius")
        self._core = _core.field_from_shape("sphere", self._center, np.zeros(3), self._radius)

    def __repr__(self) -> str:
        return f"<SphereField: center {plain(self._center)} m, radius {self._radius:g} m>"

    def __reduce__(self) -> tuple[Any, ...]:
        return SphereField, (self._center, self._radius)


class BoxField(Field):
    """Exact signed distance from a box with sides along the axes.

    Parameters
    ----------
    low, high
        Corners [m], shape (3,), `low` below `high` along every axis.

    Raises
    ------
    InputError, InputTypeError
        A corner has a wrong shape or a value that is not finite, or low is not below high.
    """

    __slots__ = ("_high", "_low")

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self._low, self._high = triple(low, "low"), triple(high, "high")
        self._core = _core.field_from_shape("box", self._low, self._high, 0.0)

    def __repr__(self) -> str:
        return f"<BoxField: {plain(self._low)} to {plain(self._high)} m>"

    def __reduce__(self) -> tuple[Any, ...]:
        return BoxField, (self._low, self._high)


class PlaneField(Field):
    """Signed distance from a half-space, which lies behind the plane.

    Parameters
    ----------
    point
        Point of the plane [m], shape (3,).
    normal
        Outward normal, shape (3,), of any length but zero.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong shape or a value that is not finite, or the normal is zero.
    """

    __slots__ = ("_normal", "_point")

    def __init__(self, point: ArrayLike, normal: ArrayLike) -> None:
        self._point, given = triple(point, "point"), triple(normal, "normal")
        largest = np.abs(given).max()
        if not largest > 0:
            raise InputError("normal must not be zero")
        scaled = given / largest
        self._normal = scaled / np.linalg.norm(scaled)
        self._core = _core.field_from_shape("plane", self._point, self._normal, 0.0)

    def __repr__(self) -> str:
        return f"<PlaneField: through {plain(self._point)} m, normal {plain(self._normal)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return PlaneField, (self._point, self._normal)


class CapsuleField(Field):
    """Exact signed distance from a capsule, the region within a radius of a line segment.

    Parameters
    ----------
    start, end
        Ends of the segment [m], shape (3,).
    radius
        Radius [m], positive.

    Raises
    ------
    InputError, InputTypeError
        An end has a wrong shape or a value that is not finite; `radius` is not positive.
    """

    __slots__ = ("_end", "_radius", "_start")

    def __init__(self, start: ArrayLike, end: ArrayLike, radius: float) -> None:
        self._start, self._end = triple(start, "start"), triple(end, "end")
        self._radius = number(radius, "radius")
        self._core = _core.field_from_shape("capsule", self._start, self._end, self._radius)

    def __repr__(self) -> str:
        return (
            f"<CapsuleField: {plain(self._start)} to {plain(self._end)} m, radius "
            f"{self._radius:g} m>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return CapsuleField, (self._start, self._end, self._radius)
