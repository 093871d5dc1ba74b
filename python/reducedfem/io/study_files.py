"""Files of parameter studies: JSON, with the values of the points that are complete."""

from __future__ import annotations

import functools
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from reducedfem.errors import FileFormatError, InputError
from reducedfem.io.atomic import as_path, replacing, with_suffix
from reducedfem.io.reading import read_regular

__all__ = ["StudyFile"]

_FORMAT, _VERSION = "reducedfem study", 1
PAUSE = 1.0  # s between writes, at least
PAUSE_RATIO = 10.0  # of the pause to the time that the last write took
_ARRAY, _TUPLE = "__array__", "__tuple__"  # keys of objects that stand for other types


def _kind(value: object) -> str:
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        kind = f"array of {value.dtype}"
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _shown(bound: Any) -> str:
    text = json.dumps(bound)
    return "nothing" if text == "[]" else text if len(text) <= 80 else f"{text[:77]}..."


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
    raise InputError(
        f"path: {name} contains {_kind(value)}; files of studies store numbers, texts, arrays of "
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


def _refuse(described: str, advice: str) -> NoReturn:
    raise InputError(
        f"path: the function {described}, which the file cannot compare: {advice}, or leave out "
        "path"
    )


def _identity(function: Callable[..., Any]) -> tuple[str, list[Any]]:
    """Return a function as files store it: its name, and the data that it is bound to."""
    bound: list[Any] = []
    called: Any = function
    data: Any
    inner: Any
    advice = "put numbers, texts or arrays that describe it into grid"
    while True:
        owner = getattr(called, "__self__", None)
        if isinstance(called, functools.partial):
            data, inner = [list(called.args), called.keywords], called.func
        elif owner is not None and not isinstance(owner, type | ModuleType):
            data, inner = owner, getattr(called, "__func__", None)  # of a method
        else:
            break
        try:
            bound.append(_plain(data, "function"))
        except InputError:
            _refuse(f"is bound to {_kind(_odd(data))}", advice)
        if inner is None:
            break
        called = inner
    name = getattr(called, "__qualname__", getattr(called, "__name__", None))
    if not isinstance(name, str):
        _refuse(f"is {_kind(called)}", advice)
    if "<lambda>" in name:
        _refuse("is a lambda", "define it by def")
    if "<locals>" in name and getattr(called, "__closure__", None):
        names = ", ".join(called.__code__.co_freevars)
        _refuse(f"{name!r} uses variables of the function around it ({names})", advice)
    if isinstance(owner, type) and inspect.ismethod(called):
        # the class may have inherited it
        name = f"{owner.__qualname__}.{called.__name__}"
    return f"{getattr(called, '__module__', None) or 'builtins'}.{name}", bound


def _odd(data: Any) -> Any:
    """Return the first part of the data that files do not store."""
    parts: list[Any] = []
    if isinstance(data, list | tuple):
        parts = list(data)
    elif isinstance(data, Mapping) and all(isinstance(key, str) for key in data):
        parts = list(data.values())
    for part in parts:
        try:
            _plain(part, "function")
        except InputError:
            return _odd(part)
    return data


class StudyFile:
    """The file of one study: read at first, written anew when results were added.

    Parameters
    ----------
    path
        Name of the file.
    function
        Function of the study. The file stores its module, its name, and data that it is bound to.
    clock
        Time [s], for the pauses between writes.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        function: Callable[..., Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        as_path(path)
        self.path = with_suffix(path, ".json", "a study")
        self._function, self._bound = _identity(function)
        self._clock, self._due = clock, clock() + PAUSE
        self._added = False  # since the file was written
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
            function, bound = str(found["function"]), found.get("bound", [])
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
        if self._key(bound) != self._key(self._bound):
            raise InputError(
                f"path is {shown}, a study of {function!r} bound to {_shown(bound)}, not to "
                f"{_shown(self._bound)}; name another file"
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
        self._added = True

    def write_if_due(self) -> None:
        """Replace the file unless it was written a short time ago."""
        begin = self._clock()
        if begin < self._due:
            return
        self.write()
        end = self._clock()
        self._due = end + max(PAUSE, PAUSE_RATIO * (end - begin))

    def write(self) -> None:
        """Replace the file if results were added since the last time."""
        if not self._added:
            return
        contents = {
            "format": _FORMAT,
            "version": _VERSION,
            "function": self._function,
            "bound": self._bound,
            "results": [[json.loads(key), value] for key, value in self._values.items()],
        }
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(contents))
        self._added = False
