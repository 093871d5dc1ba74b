"""Checks of plain arguments, the same everywhere."""

from __future__ import annotations

import math
import operator

import numpy as np

from reducedfem.errors import InputError, InputTypeError

__all__ = ["count", "number"]


def number(value: object, name: str) -> float:
    """Return a finite float, or say which argument is not one."""
    try:
        if isinstance(value, bool | np.bool_ | str | bytes):
            raise TypeError
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be a number, got {type(value).__name__}") from None
    if not math.isfinite(result):
        raise InputError(f"{name} must be finite, got {result}")
    return result


def count(value: object, name: str) -> int:
    """Return an int of at least 1, or say which argument is not one."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputTypeError(f"{name} must be an int, got {type(value).__name__}") from None
    if not 1 <= result < 2**31:
        raise InputError(f"{name} must be between 1 and {2**31 - 1}, got {result}")
    return result
