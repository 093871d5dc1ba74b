"""Files of parameter studies: JSON, with the values of the points that are complete."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reducedfem.errors import FileFormatError, InputError
from reducedfem.io.atomic import as_path, replacing, with_suffix
from reducedfem.io.reading import read_regular

__all__ = ["StudyFile"]

_FORMAT, _VERSION = "reducedfem study", 1
_ARRAY, _TUPLE = "__array__", "__tuple__"  # keys of objects that stand for other types


def _plain(value: object, name: str) -> Any:
    """Return a value as JSON stores it; floats keep all bits."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        return {_ARRAY: value.tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, tuple):
        return {_TUPLE: [_plain(one, name) for one in value]}
    if isinstance(value, list):
        return [_plain(one, name) for one in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        for key in (_ARRAY, _TUPLE):
            if key in value:
                raise InputError(
                    f"path: {name} has the key {key!r}, which files of studies use for other "
                    "types: choose another name"
                )
        return {key: _plain(one, name) for key, one in value.items()}
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        kind = f"array of {value.dtype}"
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    raise InputError(
        f"path: {name} contains {article} {kind}; files of studies store numbers, texts, arrays of "
        "numbers of at most 64 bits, and lists, tuples and dicts of these"
    )


def _restored(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_restored(one) for one in plain]
    if isinstance(plain, dict):
        if _ARRAY in plain:
            return np.array(plain[_ARRAY], np.dtype(str(plain["dtype"]))).reshape(plain["shape"])
        if _TUPLE in plain:
            return tuple(_restored(plain[_TUPLE]))
        return {key: _restored(one) for key, one in plain.items()}
    return plain


class StudyFile:
    """The file of one study: read at first, written anew with every change."""

    def __init__(self, path: str | os.PathLike[str], function: str) -> None:
        as_path(path)
        self.path = with_suffix(path, ".json", "a study")
        self._function = function
        self._values: dict[str, Any] = {}  # by point, both in the form of the file
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        shown = repr(str(self.path))
        try:
            found = json.loads(read_regular(self.path))
            if found["format"] != _FORMAT:
                raise ValueError(f"its format is {found['format']!r}")
            if found["version"] != _VERSION:
                raise ValueError(f"its version is {found['version']!r}, not {_VERSION}")
            function = str(found["function"])
            self._values = {self._key(point): value for point, value in found["results"]}
            for value in self._values.values():
                _restored(value)
        except (ValueError, KeyError, TypeError, RecursionError, MemoryError) as error:
            raise FileFormatError(
                f"cannot read {shown}: it is not a file of a study ({error})"
            ) from None
        if function != self._function:
            raise InputError(
                f"path is {shown}, a study of the function {function!r}, not {self._function!r}; "
                "name another file"
            )

    @staticmethod
    def _key(point: object) -> str:
        return json.dumps(point, sort_keys=True)

    def known(self, points: Sequence[Mapping[str, Any]]) -> dict[int, Any]:
        """Return the values of those points that the file contains, by place."""
        keys = (self._key(_plain(point, f"point {i}")) for i, point in enumerate(points))
        return {
            place: _restored(self._values[key])
            for place, key in enumerate(keys)
            if key in self._values
        }

    def add(self, place: int, point: Mapping[str, Any], value: object) -> None:
        """Add the value of a point; `write` stores it."""
        key = self._key(_plain(point, f"point {place}"))
        self._values[key] = _plain(value, f"the value of point {place}")

    def write(self) -> None:
        """Replace the file."""
        contents = {
            "format": _FORMAT,
            "version": _VERSION,
            "function": self._function,
            "results": [[json.loads(key), value] for key, value in self._values.items()],
        }
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(contents))
