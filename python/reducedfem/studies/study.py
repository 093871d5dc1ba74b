"""Parameter studies: one function at many points, on any executor."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import choice
from reducedfem.base.executors import Executors, outcomes, require_executor
from reducedfem.base.run import Progress, callback
from reducedfem.errors import InputError, InputTypeError, StudyError
from reducedfem.io.study_files import StudyFile

__all__ = ["Study", "study"]

_VALUE = "value"  # column of results that are no dicts
_SHOWN = 20  # rows of the table in notebooks


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Results of a parameter study, in the order of its points; immutable.

    ``len`` is the number of points, ``study[name]`` a column, and iteration yields pairs of a
    point and its value. Notebooks show a table.

    Attributes
    ----------
    points
        Arguments of each call, a tuple of read-only dicts.
    values
        Result of each call, a tuple; None for points that failed or were not executed.
    errors
        Error of each point that failed, by its place.
    shape
        Number of values of each parameter of a product, otherwise ``(len(points),)``: columns
        become grids by ``study[name].reshape(study.shape)``.
    """

    points: tuple[Mapping[str, Any], ...]
    values: tuple[Any, ...]
    errors: Mapping[int, Exception]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        points = tuple(MappingProxyType(dict(point)) for point in self.points)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "errors", MappingProxyType(dict(self.errors)))

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the columns, as ``pandas.DataFrame`` accepts them.

        Returns
        -------
        dict of arrays of the length of the study
            First the parameters, then the results: a column for each key of results that are
            dicts, otherwise ``"value"``. Numbers are NaN where a point failed, other entries
            None. A result with the name of a parameter gets the suffix ``"_result"``.
        """
        names = list(dict.fromkeys(name for point in self.points for name in point))
        columns = {
            name: _column([point.get(name) for point in self.points], vectors=False)
            for name in names
        }
        rows = [
            value if isinstance(value, Mapping) else {} if value is None else {_VALUE: value}
            for value in self.values
        ]
        for name in dict.fromkeys(name for row in rows for name in row):
            label = str(name) if name not in columns else f"{name}_result"
            columns[label] = _column([row.get(name) for row in rows], vectors=True)
        return columns

    def to_array(self) -> NDArray[Any]:
        """Return the table as a structured array, with the columns of `to_dict` as fields.

        Returns
        -------
        structured array (len(study),)
        """
        columns = self.to_dict()
        kinds = [(name, one.dtype, one.shape[1:]) for name, one in columns.items()]
        table = np.empty(len(self), dtype=kinds)
        for name, one in columns.items():
            table[name] = one
        return table

    def __getitem__(self, name: str) -> NDArray[Any]:
        columns = self.to_dict()
        if name not in columns:
            raise InputError(f"name must be a column ({', '.join(columns)}), got {name!r}")
        return columns[name]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[tuple[Mapping[str, Any], Any]]:
        return zip(self.points, self.values, strict=True)

    def __reduce__(self) -> tuple[type[Study], tuple[Any, ...]]:
        points = [dict(point) for point in self.points]
        return Study, (points, self.values, dict(self.errors), self.shape)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(name for point in self.points for name in point))
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<Study: {len(self)} points of {names}{failed}>"

    def _repr_html_(self) -> str:
        from html import escape

        columns = self.to_dict()
        rows = len(self)
        shown = list(range(rows))
        if rows > _SHOWN:
            shown = [*range(_SHOWN // 2), *range(rows - _SHOWN // 2, rows)]
        pad = 'style="text-align:right;padding:1px 10px"'
        head = "".join(f"<th {pad}>{escape(name)}</th>" for name in columns)
        body = []
        for place, row in enumerate(shown):
            if place and row != shown[place - 1] + 1:
                dots = f"<td {pad}>…</td>" * len(columns)
                body.append(f"<tr><td {pad}>…</td>{dots}</tr>")
            if row in self.errors:
                names = self.points[row]
                cells = [_text(self.points[row].get(name)) for name in columns if name in names]
                error = escape(f"{type(self.errors[row]).__name__}: {self.errors[row]}")
                left = len(columns) - len(cells)
                made = "".join(f"<td {pad}>{escape(cell)}</td>" for cell in cells)
                if left > 0:
                    made += f'<td colspan="{left}" style="text-align:left">{error}</td>'
            else:
                cells = [_text(one[row]) for one in columns.values()]
                made = "".join(f"<td {pad}>{escape(cell)}</td>" for cell in cells)
            body.append(f"<tr><td {pad}>{row}</td>{made}</tr>")
        title = escape(repr(self)[1:-1])
        return (
            f'<div style="font-weight:600;margin-bottom:4px">{title}</div>'
            f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        )


def study(
    function: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    executor: Executors = None,
    errors: str = "raise",
    path: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Study:
    """Return the results of a function at many points, in the order of the points.

    Points are independent of each other, so results are the same on any executor. Each call in a
    worker process uses one thread, unless `set_threads` was called there. See ``docs/cluster.md``.

    Parameters
    ----------
    function
        Called with the parameters of a point as keyword arguments. For worker processes it must be
        a function of a module, or the package cloudpickle must be installed (Dask brings it).
        Results travel between processes: return numbers or a dict of them rather than models.
    grid
        Values of each parameter by name: all combinations, the last parameter running fastest. Or
        the points themselves, a sequence of dicts.
    executor
        A `concurrent.futures.Executor`, such as a ``ThreadPoolExecutor``, ``ProcessPoolExecutor``
        or Dask's ``client.get_executor()``. Or a callable that makes one, such as
        ``functools.partial(ProcessPoolExecutor, 4)``: it is closed at the end, and made anew if a
        worker process dies. None: this thread.
    errors
        ``"raise"``: the first failure stops the study. ``"keep"``: it continues, and
        `Study.errors` has the failures.
    path
        File (.json) to which results are written as they come: at most once a second, and for at
        most a tenth of the time. If it exists, points whose results it contains are not executed
        again. It must be of the same function: the same name and, for a `functools.partial`, the
        same data; an edited body is not noticed. Lambdas, functions bound to other objects than
        numbers, texts and arrays, and local functions that use variables of the function around
        them are refused. None: no file.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Study

    Raises
    ------
    InputError, InputTypeError
        An argument is not allowed, the function does not accept the parameters, or it, or a
        result, cannot be sent to or from other processes.
    StudyError
        A point failed, and `errors` is ``"raise"``. The message names the point, ``__cause__`` is
        its error, and the attribute ``study`` has the results that were complete. A point whose
        worker died each time has a `WorkerError`.
    FileFormatError
        The file cannot be read or written.
    """
    points, shape = _points(grid)
    _require_function(function, points)
    require_executor(executor)
    keep = choice(errors, "errors", ("raise", "keep")) == "keep"
    file = None if path is None else StudyFile(path, function)
    values: list[Any] = [None] * len(points)
    failed: dict[int, Exception] = {}
    known = {} if file is None else file.known(points)
    for place, value in known.items():
        values[place] = value
    due = [place for place in range(len(points)) if place not in known]
    with callback(progress, "study") as tell, contextlib.ExitStack() as stack:
        if file is not None:
            stack.callback(file.write)
        found = outcomes(executor, _call, [points[place] for place in due], function)
        stack.enter_context(contextlib.closing(found))
        for done, (index, value, error) in enumerate(found, len(known) + 1):
            place = due[index]
            if error is not None:
                failed[place] = error
                if not keep:
                    message = f"point {place} ({_described(points[place])}) failed: "
                    message += f"{type(error).__name__}: {error}"
                    raise StudyError(
                        message, Study(tuple(points), tuple(values), failed, shape)
                    ) from error
            else:
                values[place] = value
                if file is not None:
                    file.add(place, points[place], value)
                    file.write_if_due()
            if tell is not None:
                tell(done, len(points))
    return Study(tuple(points), tuple(values), failed, shape)


def _call(function: Callable[..., Any], point: Mapping[str, Any]) -> Any:
    return function(**point)


def _points(grid: object) -> tuple[list[dict[str, Any]], tuple[int, ...]]:
    """Return the points of the argument `grid`, and the shape of the product."""
    if isinstance(grid, Mapping):
        if not grid:
            raise InputError("grid is empty: give the values of at least one parameter")
        axes = {}
        for name, given in grid.items():
            if not isinstance(name, str):
                raise InputTypeError(f"grid has the key {name!r}; names of parameters are texts")
            if isinstance(given, np.ndarray | range):
                given = list(given) if isinstance(given, range) else given.tolist()
            if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence):
                raise InputTypeError(
                    f"grid[{name!r}] must be a sequence of values, got {type(given).__name__}; "
                    "put a single value in brackets"
                )
            if len(given) == 0:
                raise InputError(f"grid[{name!r}] has no values")
            axes[name] = list(given)
        shape = tuple(map(len, axes.values()))
        made = [
            dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
        ]
        return made, shape
    if isinstance(grid, str | bytes) or not isinstance(grid, Sequence):
        raise InputTypeError(
            "grid must be a dict of the values of each parameter, or a sequence of dicts, got "
            f"{type(grid).__name__}"
        )
    if len(grid) == 0:
        raise InputError("grid is empty: give at least one point")
    points = []
    for place, point in enumerate(grid):
        if not isinstance(point, Mapping) or not all(isinstance(name, str) for name in point):
            raise InputTypeError(
                f"grid[{place}] must be a dict from names of parameters to values, got "
                f"{type(point).__name__}"
            )
        points.append(dict(point))
    return points, (len(points),)


def _require_function(function: object, points: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a function that does not accept the parameters of all points."""
    if not callable(function):
        raise InputTypeError(f"function must be callable, got {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of some functions in C
    for place, point in enumerate(points):
        try:
            signature.bind(**point)
        except TypeError as error:
            raise InputTypeError(
                f"function does not accept the parameters of point {place}, which grid gives "
                f"({', '.join(point) or 'none'}): {error}"
            ) from None


def _text(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = str(value) if isinstance(value, str | int | np.generic) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _described(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_text(value)}" for name, value in point.items())


def _column(values: list[Any], vectors: bool) -> NDArray[Any]:
    """Return a column: numbers and, with `vectors`, arrays of one shape as such; else objects."""
    given = [value for value in values if value is not None]
    arrays = None
    if given and all(isinstance(one, bool | np.bool_) for one in given):
        if len(given) == len(values):
            return np.array(values, dtype=bool)
    elif given and all(_is_number(one) for one in given):
        integral = all(isinstance(one, int | np.integer) for one in given)
        if integral and len(given) == len(values) and max(map(abs, given)) < 2**63:
            return np.array(values, dtype=np.int64)
        return np.array([math.nan if one is None else float(one) for one in values])
    elif given and vectors and all(isinstance(one, np.ndarray | tuple | list) for one in given):
        with contextlib.suppress(ValueError, TypeError):
            arrays = [np.asarray(one, dtype=np.float64) for one in given]
    if arrays and len({one.shape for one in arrays}) == 1:
        rest = iter(arrays)
        empty = np.full(arrays[0].shape, math.nan)
        return np.array([empty if one is None else next(rest) for one in values])
    column = np.empty(len(values), dtype=object)
    for place, one in enumerate(values):
        column[place] = one
    return column


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
