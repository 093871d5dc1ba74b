"""Immutable plain data and read-only arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import reals
from reducedfem.errors import InputError, InputTypeError

__all__ = ["freeze", "frozen_array", "is_plain_number", "owned", "thaw"]


_MAX_DEPTH = 100


def is_plain_number(value: float) -> bool:
    """Return True for a finite number in the range of a float, which files store exactly."""
    return abs(value) < 1e300


def freeze(value: Any, depth: int = 0) -> Any:
    """Return the plain data of a provenance in immutable form, at any depth."""
    if depth > _MAX_DEPTH:
        raise InputError(f"a provenance may be nested {_MAX_DEPTH} deep; this one goes deeper")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputTypeError(f"the names in a provenance must be texts, found {key!r}")
        return MappingProxyType({key: freeze(one, depth + 1) for key, one in value.items()})
    if isinstance(value, np.ndarray | np.generic):
        plain = value.tolist()
        # a long double has no Python equivalent, so item() keeps it; it is refused below
        if not isinstance(plain, np.generic):
            return freeze(plain, depth)
    if isinstance(value, list | tuple):
        return tuple(freeze(one, depth + 1) for one in value)
    if isinstance(value, int | float) and not is_plain_number(value):
        raise InputError("a number in a provenance is too large, or not finite")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InputTypeError(
        "a provenance may hold texts, numbers, lists and mappings only, "
        f"found {type(value).__name__}"
    )


def thaw(value: Any) -> Any:
    """Return frozen plain data as dicts and lists, for pickle and JSON."""
    if isinstance(value, Mapping):
        return {key: thaw(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [thaw(one) for one in value]
    return value


def frozen_array(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a read-only float64 array, as a copy if the given one can be written to."""
    array = reals(value, name)
    if _can_be_written(array):
        array = array.copy()
        array.flags.writeable = False
    return array


def _can_be_written(array: NDArray[np.float64]) -> bool:
    """Return True if an array, or an array of which it is a view, is writeable."""
    one: object = array
    while isinstance(one, np.ndarray):
        if one.flags.writeable:
            return True
        one = one.base
    return False


def owned(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make an array without other references read-only, so `frozen_array` does not copy it."""
    array.flags.writeable = False
    return array
