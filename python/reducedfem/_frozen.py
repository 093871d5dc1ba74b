"""Plain data that cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem._check import reals

__all__ = ["freeze", "frozen_array", "owned", "thaw"]


def freeze(value: Any) -> Any:
    """Return mappings, lists and arrays within plain data as what cannot be changed."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(one) for key, one in value.items()})
    if isinstance(value, np.ndarray | np.generic):
        return freeze(value.tolist())
    if isinstance(value, list | tuple):
        return tuple(freeze(one) for one in value)
    return value


def thaw(value: Any) -> Any:
    """Return frozen plain data as dicts and lists, which pickle and JSON know."""
    if isinstance(value, Mapping):
        return {key: thaw(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [thaw(one) for one in value]
    return value


def frozen_array(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a read-only float64 array; of one that somebody could write to, a copy."""
    array = reals(value, name)
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def owned(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array that nobody else has, made read-only: `frozen_array` need not copy it."""
    array.flags.writeable = False
    return array
