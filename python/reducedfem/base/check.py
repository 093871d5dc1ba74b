"""Checks of plain arguments of public functions."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.quiet import warn
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning

__all__ = [
    "MOST_FRICTION",
    "array_like",
    "as_array",
    "choice",
    "coefficient",
    "count",
    "did_you_mean",
    "doubt_coefficient",
    "field",
    "fields",
    "finite_result",
    "flag",
    "integer",
    "iterations",
    "limit",
    "node_indices",
    "number",
    "places",
    "positive",
    "precision",
    "reals",
    "refuse_names",
    "require",
    "rotations",
]

_Value = TypeVar("_Value")

# arrays to suggest for objects of this package that are passed as arrays
_ARRAYS = {
    "Basis": "vectors",
    "CSC": "to_dense()",
    "ContactForce": "force or .reduced_force",
    "ContactTrajectory": "force or .reduced_force",
    "DeformedField": "proxies",
    "DistanceField": "values",
    "Embedding": "points",
    "GreensFunctions": "nodes",
    "Mesh": "nodes",
    "Modes": "shapes",
    "PointTree": "shell.points",
    "Pointshell": "points",
    "ProjectedSolid": "basis",
    "ReducedSolid": "basis",
    "State": "q",
    "Surface": "vertices",
    "Voxmap": "values",
}

MOST_ITERATIONS = 1000  # of Newton in a step, MOST_ITERATIONS in csrc/dynamics/motion.c
# largest coefficient of friction, RF_FRICTION_MOST_MU: of bodies that always stick
MOST_FRICTION = 1e9
_PLAUSIBLE_FRICTION = 5.0  # of rubber at most
_MOST_PER_CENT = 100.0  # as of degrees and per cent

# constructors to suggest for missing objects
_MAKERS = {
    "Field": "DistanceField.from_surface(surface)",
    "FreeBody": "FreeBody(reduced, dt)",
    "Grading": "Grading(layers=1)",
    "LocalCompliance": "LocalCompliance(tree, solid)",
    "PointTree": "PointTree(shell)",
    "Pointshell": "Pointshell.from_surface(surface)",
    "ReducedSolid": "reduce(solid, basis)",
    "Solid": "Solid(mesh, material)",
    "Surface": "Surface(vertices, triangles), read_surface(path) or mesh.surface()",
    "Voxmap": "Voxmap.from_surface(surface)",
}


def require(value: object, kind: type[_Value], name: str, more: str = "") -> _Value:
    """Return an object of a class of this package; refuse others and suggest a constructor.

    `more` names further types that the caller accepts and has already handled.
    """
    if not isinstance(value, kind):
        raise InputTypeError(
            f"{name} must be a {kind.__name__}{more}, got {type(value).__name__}; make one with "
            f"{_MAKERS[kind.__name__]}"
        )
    return value


def number(value: object, name: str) -> float:
    """Return the argument as a finite float; refuse other values."""
    try:
        if isinstance(value, bool | np.bool_ | str | bytes):
            raise TypeError
        result = float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise InputError(f"{name} must be finite, got more than a float can hold") from None
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be a number, got {type(value).__name__}") from None
    if not math.isfinite(result):
        raise InputError(f"{name} must be finite, got {result}")
    return result


def positive(value: object, name: str) -> float:
    """Return the argument as a positive float; refuse other values."""
    result = number(value, name)
    if not result > 0.0:
        raise InputError(f"{name} must be positive, got {result:g}")
    return result


def coefficient(
    value: object,
    name: str,
    more: str = "",
    most: float = MOST_FRICTION,
    *,
    doubt: str = "",
    stacklevel: int = 3,
) -> float:
    """Return a coefficient of friction; refuse other values, warn of improbable ones.

    `more` names further values that the caller accepts and has already handled; `doubt` and
    `stacklevel` are as of `doubt_coefficient`.
    """
    mu = number(value, name)
    if not 0.0 <= mu <= most:
        raise InputError(f"{name} must be a coefficient between 0 and {most:g}{more}, got {mu:g}")
    doubt_coefficient(mu, name, doubt, stacklevel=stacklevel + 1)
    return mu


def doubt_coefficient(mu: float, name: str, doubt: str = "", *, stacklevel: int = 3) -> None:
    """Warn of a coefficient of friction above 5.

    `doubt` is a likely cause of values above those of degrees and per cent; `stacklevel` 2 is the
    caller, 3 its caller.
    """
    if mu <= _PLAUSIBLE_FRICTION:
        return
    cause = doubt if mu > _MOST_PER_CENT and doubt else "is it in degrees or per cent?"
    warn(
        f"{name} is {mu:g}: {cause} A coefficient is force over force, mostly 0.1 to 1",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def limit(value: object, name: str) -> float:
    """Return the argument as a finite float, or infinity for None; refuse other values."""
    if value is None:
        return math.inf
    if isinstance(value, float) and value == math.inf:
        raise InputError(f"{name} must be finite, got inf: None is for no limit")
    return number(value, name)


def _index(value: object, name: str) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputTypeError(f"{name} must be an int, got {type(value).__name__}") from None


def integer(value: object, name: str) -> int:
    """Return the argument as an int in the range of C, which checks it further."""
    result = _index(value, name)
    if not -(2**31) <= result < 2**31:
        raise InputError(f"{name} is {result}, which is far out of range")
    return result


def count(value: object, name: str, most: int = 2**31 - 1, why: str = "", *, least: int = 1) -> int:
    """Return the argument as an int from `least` to `most`; `why` explains the upper limit."""
    result = _index(value, name)
    if not least <= result <= most:
        reason = f" ({why})" if why else ""
        raise InputError(f"{name} must be between {least} and {most}{reason}, got {result}")
    return result


def iterations(newton_max: object) -> int:
    """Return the argument `newton_max`."""
    return count(newton_max, "newton_max", MOST_ITERATIONS)


def flag(value: object, name: str) -> bool:
    """Return the argument as a bool; refuse texts and numbers in spite of their truth values."""
    if not isinstance(value, bool | np.bool_):
        raise InputTypeError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(value)


def array_like(value: _Value, name: str, wanted: str = "real numbers") -> _Value:
    """Return the argument unchanged; refuse an object of this package that contains an array."""
    kind = type(value)
    if kind.__module__.startswith("reducedfem.") and not isinstance(value, np.ndarray):
        instead = _ARRAYS.get(kind.__name__)
        hint = f"; pass its attribute .{instead}, if that is meant" if instead else ""
        raise InputTypeError(f"{name} must be an array of {wanted}, got {kind.__name__}{hint}")
    return value


def rotations(value: ArrayLike, name: str) -> ArrayLike:
    """Return the argument unchanged; refuse a SciPy rotation, whose quaternion order differs."""
    if hasattr(value, "as_quat"):
        raise InputTypeError(
            f"{name} must be an array of real numbers (order w, x, y, z), got "
            f"{type(value).__name__}, whose as_quat() has x, y, z, w: pass "
            "np.roll(rotation.as_quat(), 1, axis=-1)"
        )
    array_like(value, name)
    _warn_of_identity(value, name)
    return value


def _warn_of_identity(value: ArrayLike, name: str) -> None:
    """Warn of (0, 0, 0, 1), the identity in order x, y, z, w but here half a turn."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return  # refused later
    if array.size and array.shape[-1:] == (4,) and (array == (0.0, 0.0, 0.0, 1.0)).all():
        warn(
            f"{name} is (0, 0, 0, 1), in the order w, x, y, z half a turn about z; the identity is "
            "(1, 0, 0, 0). If half a turn is meant, (0, 0, 0, -1) is the same",
            PlausibilityWarning,
            stacklevel=4,
        )


def as_array(value: ArrayLike, name: str, wanted: str = "real numbers") -> NDArray[Any]:
    """Return the argument as an array of any dtype; refuse nested lists of uneven lengths."""
    try:
        return np.asarray(array_like(value, name, wanted))
    except InputTypeError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InputTypeError(
            f"{name} must be an array of {wanted}, got {type(value).__name__} which NumPy "
            "cannot convert"
        ) from None


def choice(value: object, name: str, options: Sequence[str]) -> str:
    """Return a text that is one of the options; refuse others and list the options."""
    if not isinstance(value, str) or value not in options:
        if len(options) == 2:
            listed = f'"{options[0]}" or "{options[1]}"'
        else:
            listed = "one of " + ", ".join(options)
        raise InputError(f"{name} must be {listed}, got {value!r}{did_you_mean(value, options)}")
    return value


def precision(value: object, name: str) -> str:
    """Return "float64" or "float32", given so or as a type of NumPy; refuse others."""
    if isinstance(value, type | np.dtype):
        with contextlib.suppress(TypeError):  # refused below
            value = np.dtype(value).name
    return choice(value, name, ("float64", "float32"))


def did_you_mean(value: object, options: Iterable[str]) -> str:
    """Return the end of a message with the option most similar to a text, or an empty text."""
    if not isinstance(value, str):
        return ""
    known = {option.lower(): option for option in options}
    near = difflib.get_close_matches(value.lower(), known, 1)
    return f"; did you mean {known[near[0]]!r}?" if near else ""


def refuse_names(
    others: Iterable[str], function: Callable[..., object], meant: Mapping[str, str]
) -> None:
    """Refuse keyword arguments that a function does not have; suggest those that are meant.

    `others` are their names; `meant` has arguments by the names that other functions give them.
    """
    for name in others:
        parameters = inspect.signature(function).parameters.values()
        known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
        hint = f"; did you mean {meant[name]!r}?" if name in meant else did_you_mean(name, known)
        raise InputTypeError(
            f"{function.__qualname__.removesuffix('.__init__')} has no argument {name!r}; its "
            f"arguments are {', '.join(known)}{hint}"
        )


def reals(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a float64 array in C order, finite throughout."""
    array = as_array(value, name)
    if array.dtype.kind not in "biuf":
        dense = "; pass its toarray()" if hasattr(value, "toarray") else ""
        raise InputTypeError(
            f"{name} must be an array of real numbers, got {type(value).__name__} of dtype "
            f"{array.dtype}{dense}"
        )
    result: NDArray[np.float64] = np.asarray(array, dtype=np.float64, order="C")
    good = np.isfinite(result)
    if not good.all():
        index = tuple(np.argwhere(~good)[0].tolist())
        place = f"[{', '.join(map(str, index))}]" if index else ""
        raise InputError(f"{name}{place} is {result[index]:g}; every value must be finite")
    return result


def places(value: ArrayLike, name: str) -> tuple[ArrayLike, tuple[int, ...]]:
    """Return points as (n, 3), given so or as a single point (3,), and the shape of the result.

    The core refuses wrong shapes and values that are not finite.
    """
    try:
        array = np.asarray(array_like(value, name))
        if array.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError) as error:
        if isinstance(error, InputTypeError):
            raise
        # raises the error
        array = reals(value, name)
    if array.shape == (3,):
        return array.reshape(1, 3), ()
    return array, array.shape[:1]


def field(value: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    """Return a field at n nodes as (n, 3), given as (n, 3) or (3n,)."""
    array = reals(value, name)
    if array.shape not in ((n, 3), (3 * n,)):
        raise InputError(f"{name} must have shape ({n}, 3) or ({3 * n},), got {array.shape}")
    return array.reshape(n, 3)


def fields(value: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    """Return fields at n nodes, shape (any, n, 3)."""
    array = reals(value, name)
    if array.ndim != 3 or array.shape[1:] != (n, 3):
        hint = ""
        if array.shape == (n, 3):
            hint = f"; pass {name}[None] for a single field"
        elif array.ndim == 2 and array.shape[0] == 3 * n:
            hint = f"; pass {name}.T.reshape(-1, {n}, 3) if its columns are the fields"
        raise InputError(f"{name} must have shape (any, {n}, 3), got {array.shape}{hint}")
    return array


def finite_result(result: _Value, what: str, argument: str) -> _Value:
    """Return a result; refuse an argument so large that the result is not finite."""
    if not np.isfinite(result).all():  # type: ignore[call-overload]
        raise InputError(f"{argument} is so large that the {what} is not finite")
    return result


def node_indices(value: ArrayLike | None, name: str, n: int) -> NDArray[np.int64]:
    """Return ascending node indices from a mask (n,), indices or None; the core checks them."""
    if value is None:
        return np.zeros(0, dtype=np.int64)
    what = f"{name} must be a mask of shape ({n},) or a list of node indices"
    try:
        array = np.asarray(array_like(value, name, "integers"))
    except ValueError:
        raise InputTypeError(f"{what}, got a {type(value).__name__} of uneven parts") from None
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"{what}, got {type(value).__name__} of dtype {array.dtype}")
    if array.ndim != 1:
        raise InputError(f"{what}, got shape {array.shape}")
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise InputError(
                f"{name} is a mask of shape {array.shape}; one for this mesh has shape ({n},)"
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must be bools or integers, got dtype {array.dtype}")
    bad = np.flatnonzero((array < 0) | (array >= n))
    if bad.size:
        k = bad[0]
        hint = ""
        if array.min() >= 1 and array.max() == n:
            hint = "; nodes are counted from 0, but these seem to be counted from 1: pass "
            hint += f"{name} - 1"
        raise InputError(f"{name}[{k}] is {array[k]}; nodes are numbered 0 to {n - 1}{hint}")
    if len(array) == n > 2 and array.max() <= 1:  # in a list of nodes most would be duplicates
        raise InputError(
            f"{name} has an integer 0 or 1 for each of the {n} nodes, but integers are node "
            f"numbers; for a mask pass numpy.asarray({name}, dtype=bool)"
        )
    return np.unique(array).astype(np.int64)
