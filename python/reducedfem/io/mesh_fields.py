"""Fields over the nodes or elements of a mesh, for files and other packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import as_array
from reducedfem.errors import InputError, InputTypeError
from reducedfem.io.constraint_fields import NAMES as TIES

__all__ = ["Fields", "checked_fields"]

Fields = Mapping[str, ArrayLike]

# names of arrays that the package itself writes
_OWN = ("region", "fraction", "displacement", "velocity", *TIES)


def checked_fields(
    fields: Fields | None, name: str, lead: tuple[int, ...], own: tuple[str, ...] = _OWN
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the argument `name`, a mapping from names to arrays.

    Each has the shape `lead` or `lead` + (k,), and finite real values. `own` are names that are
    taken.
    """
    if fields is None:
        return {}
    if not isinstance(fields, Mapping):
        raise InputTypeError(
            f"{name} must be a dict from names to arrays, got {type(fields).__name__}"
        )
    found = {}
    for key, value in fields.items():
        if not isinstance(key, str) or not key or not key.isprintable():
            raise InputTypeError(f"the names in {name} must be texts, found {key!r}")
        if key in own:
            raise InputError(f"{name} has the name {key!r}, which is taken; choose another one")
        array = as_array(value, f"{name}[{key!r}]")
        if array.dtype.kind not in "biuf":
            raise InputTypeError(
                f"{name}[{key!r}] must be an array of real numbers, got dtype {array.dtype}"
            )
        if array.shape[: len(lead)] != lead or array.ndim > len(lead) + 1 or not array.size:
            wanted = ", ".join(map(str, lead))
            raise InputError(
                f"{name}[{key!r}] must have shape {lead} or ({wanted}, k), got {array.shape}"
            )
        if not np.isfinite(array).all():
            index = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
            raise InputError(
                f"{name}[{key!r}]{list(index)} is {array[index]}; every value must be finite"
            )
        found[key] = _common(array)
    return found


def _common(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in a dtype that all formats store."""
    if array.dtype.kind == "f":
        return array if array.dtype == np.float32 else array.astype(np.float64)
    # bools are 0 and 1
    for kind in (np.int32, np.int64):
        if array.min() >= np.iinfo(kind).min and array.max() <= np.iinfo(kind).max:
            return array.astype(kind)
    return array.astype(np.float64)
