"""Pointshells: points of a surface with inward normals, ordered by levels of detail."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem._check import array_like, reals
from reducedfem.errors import InputError, InputTypeError

__all__ = ["Pointshell"]

# of a normal's length from 1
_UNIT = 1e-6


class Pointshell:
    """Points of a closed surface with inward unit normals (B07 3.8).

    The points are sorted by level: those of levels up to any one sample the whole surface,
    each level about twice as finely as the one before. Points that are given in another
    order are sorted, those of one level keep their order. The arrays are read-only.

    Parameters
    ----------
    points
        Positions [m], shape (n, 3).
    normals
        Unit normals that point inwards, shape (n, 3).
    levels
        Level of each point, shape (n,): integers from 0 on, none left out. By default all
        points are of level 0.
    areas
        Area of the surface that each point stands for [m^2], shape (n,), or None.

    Raises
    ------
    InputError, InputTypeError
        There is no point; an array has a wrong shape or dtype or a value that is not finite;
        a normal is not of length 1, a level is missing, an area is negative.
    """

    __slots__ = ("__weakref__", "_areas", "_levels", "_normals", "_points")

    def __init__(
        self,
        points: ArrayLike,
        normals: ArrayLike,
        levels: ArrayLike | None = None,
        areas: ArrayLike | None = None,
    ) -> None:
        self._points = _vectors(points, "points")
        n = len(self._points)
        self._normals = _vectors(normals, "normals", n)
        length = np.linalg.norm(self._normals, axis=1)
        bad = np.flatnonzero(~(np.abs(length - 1.0) <= _UNIT))
        if bad.size:
            i = bad[0]
            raise InputError(
                f"normals[{i}] has length {length[i]:g}; normals must have length 1 (divide "
                "them by their lengths)"
            )
        self._levels = np.zeros(n, dtype=np.int32) if levels is None else _levels(levels, n)
        self._areas: NDArray[np.float64] | None = None
        if areas is not None:
            self._areas = reals(areas, "areas").copy()
            if self._areas.shape != (n,):
                raise InputError(f"areas must have shape ({n},), got {self._areas.shape}")
            if not (self._areas >= 0.0).all():
                i = int(np.argmin(self._areas))
                raise InputError(f"areas[{i}] is {self._areas[i]:g}; areas must not be negative")
        if (self._levels[1:] < self._levels[:-1]).any():
            order = np.argsort(self._levels, kind="stable")
            self._points, self._normals = self._points[order], self._normals[order]
            self._levels = self._levels[order]
            if self._areas is not None:
                self._areas = self._areas[order]
        for array in (self._points, self._normals, self._levels, self._areas):
            if array is not None:
                array.flags.writeable = False

    @property
    def points(self) -> NDArray[np.float64]:
        """Positions [m], read-only, shape (n, 3)."""
        return self._points

    @property
    def normals(self) -> NDArray[np.float64]:
        """Unit normals, inwards, read-only, shape (n, 3)."""
        return self._normals

    @property
    def levels(self) -> NDArray[np.int32]:
        """Level of each point, ascending from 0, read-only, shape (n,)."""
        return self._levels

    @property
    def areas(self) -> NDArray[np.float64] | None:
        """Area of the surface that each point stands for [m^2], shape (n,); None if unknown."""
        return self._areas

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self._points)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self._levels[-1]) + 1

    @property
    def level_counts(self) -> NDArray[np.int64]:
        """Number of points of each level, shape (n_levels,)."""
        return np.bincount(self._levels).astype(np.int64)

    def __repr__(self) -> str:
        levels = "1 level" if self.n_levels == 1 else f"{self.n_levels} levels"
        counts = ", ".join(map(str, self.level_counts[:8].tolist()))
        more = ", ..." if self.n_levels > 8 else ""
        return f"<Pointshell: {self.n_points} points, {levels} ({counts}{more})>"

    def __reduce__(self) -> tuple[type[Pointshell], tuple[Any, ...]]:
        return Pointshell, (self._points, self._normals, self._levels, self._areas)


def _vectors(value: ArrayLike, name: str, n: int | None = None) -> NDArray[np.float64]:
    """Return a copy of finite vectors, (n, 3)."""
    array = reals(value, name)
    if array.ndim != 2 or array.shape[1] != 3 or n not in (None, len(array)):
        rows = "any" if n is None else n
        raise InputError(f"{name} must have shape ({rows}, 3), got {array.shape}")
    if len(array) == 0:
        raise InputError(f"{name} has no rows; a pointshell needs one point or more")
    if len(array) > 2**31 - 1:
        raise InputError(f"{name} has {len(array)} rows; at most {2**31 - 1} are allowed")
    result: NDArray[np.float64] = array.copy()
    return result


def _levels(value: ArrayLike, n: int) -> NDArray[np.int32]:
    """Return levels 0, 1, ... of which none is without points."""
    try:
        array = np.asarray(array_like(value, "levels", "integers"))
    except ValueError:
        raise InputTypeError("levels must be integers, got a list of uneven parts") from None
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"levels must be integers, got dtype {array.dtype}")
    if array.shape != (n,):
        raise InputError(f"levels must have shape ({n},), got {array.shape}")
    found = np.unique(array)
    if found[0] < 0:
        i = int(np.argmin(array))
        raise InputError(f"levels[{i}] is {array[i]}; levels are counted from 0")
    missing = np.flatnonzero(found != np.arange(len(found)))
    if missing.size:
        raise InputError(
            f"levels has no point of level {missing[0]}, but some of level "
            f"{found[missing[0]]}; levels are counted from 0, and none may be left out"
        )
    result: NDArray[np.int32] = array.astype(np.int32)
    return result
