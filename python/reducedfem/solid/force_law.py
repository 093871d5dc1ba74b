"""Internal forces of a system that are functions of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import array_like, reals
from reducedfem.base.sparse import CSC
from reducedfem.errors import InputError, InputTypeError
from reducedfem.solid.symmetric import SYMMETRIC, Matrix, symmetric

__all__ = ["Energy", "Force", "Tangent", "force_law"]

Vector = NDArray[np.float64]
Force = Callable[[Vector], ArrayLike]
Tangent = Callable[[Vector], Matrix]
Energy = Callable[[Vector], float]

# differences at x = 0 from what the matrices say, of the largest entry of the stiffness
_ZERO, _ALIKE = 1e-12, 1e-6
# sizes of x in the order of trial, as large ones may be where functions are not defined, and the
# relative difference of derivatives from those by the stiffness
_SIZES, _NEAR = (1e-4, 1e-5, 1e-6, 1e-7, 1e-3, 1e-2, 0.1, 1.0), 0.02
_TANGENT = "tangent(x)"


class _Force:
    """The function `internal_force` for the core."""

    def __init__(self, function: Force, n: int) -> None:
        self._function, self._n = function, n

    def __call__(self, x: Vector) -> Vector:
        return _doubles(self._function(x), "internal_force(x)", (self._n,))


class _Tangent:
    """The function `tangent` for the core: values of the lower triangle of the stiffness.

    A pattern is examined when it first occurs; of sparse matrices with the pattern of the last one
    only the values are.
    """

    def __init__(self, function: Tangent, stiffness: CSC) -> None:
        self._function, self._shape = function, stiffness.shape
        columns = np.repeat(np.arange(stiffness.shape[1]), np.diff(stiffness.indptr))
        lower = stiffness.indices >= columns
        self._places = _places(stiffness.indices[lower], columns[lower], stiffness.shape[0])
        # of the last sparse matrix: pattern, its transposition, its lower triangle and its places
        self._last: tuple[NDArray[Any], ...] | None = None

    def __call__(self, x: Vector) -> Vector:
        answer: Any = self._function(x)
        sparse = answer.tocsc() if hasattr(answer, "tocsc") else answer
        values = self._values_again(sparse)
        return self._values(sparse) if values is None else values

    def _values(self, answer: Any) -> Vector:
        matrix, (data, rows, pointer) = symmetric(answer, _TANGENT, definite=False)
        if matrix.shape != self._shape:
            raise InputError(f"{_TANGENT} must have shape {self._shape}, got {matrix.shape}")
        columns = np.repeat(np.arange(self._shape[1]), np.diff(pointer))
        places = _places(rows, columns, self._shape[0])
        at = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
        known = self._places[at] == places
        new = ~known & (data != 0.0)
        if new.any():
            k = int(np.flatnonzero(new)[0])
            raise InputError(
                f"{_TANGENT} has an entry at ({rows[k]}, {columns[k]}), where the stiffness has "
                "none: give it a zero there, or a dense stiffness"
            )
        if known.all() and _is_canonical(answer) and len(answer.data) == len(matrix.data):
            across = np.repeat(np.arange(self._shape[1]), np.diff(answer.indptr))
            turned = np.lexsort((across, answer.indices))
            pattern = (np.array(answer.indices), np.array(answer.indptr))
            self._last = (*pattern, turned, np.flatnonzero(answer.indices >= across), at)
        values = np.zeros(len(self._places))
        values[at[known]] = data[known]
        return values

    def _values_again(self, answer: Any) -> Vector | None:
        """Return the values of a matrix with the pattern of the last one; None: it has another."""
        last = self._last  # other threads may replace it
        if last is None or not _is_canonical(answer) or answer.shape != self._shape:
            return None
        indices, pointer, turned, lower, at = last
        if not (np.array_equal(answer.indices, indices) and np.array_equal(answer.indptr, pointer)):
            return None
        data = reals(answer.data, f"{_TANGENT}.data")
        if not np.abs(data - data[turned]).max() <= SYMMETRIC * np.abs(data).max():
            return None  # the whole examination says where
        values = np.zeros(len(self._places))
        values[at] = data[lower]
        return values


class _Energy:
    """The function `energy` for the core, less its value at rest, beside which others may drown."""

    def __init__(self, function: Energy, zero: Vector) -> None:
        self._function = function
        self._rest = _doubles(function(zero), "energy(x)", ())
        if not np.isfinite(self._rest):
            raise InputError(f"energy(0) must be finite, got {self._rest:g}")

    def __call__(self, x: Vector) -> Vector:
        return (_doubles(self._function(x), "energy(x)", ()) - self._rest).reshape(1)


def _places(rows: NDArray[Any], columns: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return the places of entries, ascending column by column."""
    places: NDArray[np.int64] = columns.astype(np.int64) * n + rows
    return places


def _is_canonical(matrix: Any) -> bool:
    """Return True for a CSC of ours, or one of SciPy whose entries are sorted and single."""
    return isinstance(matrix, CSC) or bool(getattr(matrix, "has_canonical_format", False))


def _doubles(value: object, name: str, shape: tuple[int, ...]) -> Vector:
    """Return the result of a function, maybe not finite; refuse another shape or type."""
    array = np.asarray(array_like(value, name))
    if array.dtype.kind not in "iuf":
        kind = type(value).__name__ if array.ndim == 0 else f"an array of {array.dtype}"
        raise InputTypeError(f"{name} must be real numbers, got {kind}")
    if array.shape != shape:
        wanted = f"have shape {shape}" if shape else "be one number"
        raise InputError(f"{name} must {wanted}, got shape {array.shape}")
    return np.array(array, dtype=np.float64, order="C")


def _check_slopes(force: _Force, energy: _Energy | None, stiffness: CSC) -> None:
    """Refuse a force or an energy whose derivatives at rest are not those of the stiffness.

    The size of x is in the user's units: one of many sizes must fit, as do all small ones.
    """
    a = np.random.default_rng(0).choice([-1.0, 1.0], stiffness.shape[0])
    slope = stiffness @ a
    size, curvature = float(np.abs(slope).max()), float(a @ slope)

    def change(h: float) -> Vector:
        return (force(_fixed(h * a)) - force(_fixed(-h * a))) / (2.0 * h)

    if not any(np.abs(change(h) - slope).max() <= _NEAR * size for h in _SIZES):
        found = change(_SIZES[0])
        k = int(np.abs(found - slope).argmax())
        raise InputError(
            "internal_force near x = 0 does not belong to the stiffness: along a vector its "
            f"component {k} changes by {found[k]:.3g}, by the stiffness {slope[k]:.3g}"
        )
    if energy is None:
        return
    potential = energy

    def bend(h: float) -> float:
        return float((potential(_fixed(h * a))[0] + potential(_fixed(-h * a))[0]) / h**2)

    if not any(abs(bend(h) - curvature) <= _NEAR * curvature for h in _SIZES):
        raise InputError(
            "energy is not the potential of internal_force: its second derivative at x = 0 along a "
            f"vector is {bend(_SIZES[0]):.3g}, that of the stiffness {curvature:.3g}"
        )


def _fixed(x: Vector) -> Vector:
    """Return an array of this module as functions get it: read-only."""
    x.flags.writeable = False
    return x


def force_law(
    internal_force: Force | None, tangent: Tangent | None, energy: Energy | None, stiffness: CSC
) -> tuple[Any, Any, Any]:
    """Return the functions of a system for the core; refuse what its matrices contradict."""
    if internal_force is None:
        for value, name in ((tangent, "tangent"), (energy, "energy")):
            if value is not None:
                raise InputError(f"{name} is given without internal_force: pass both, or neither")
        return None, None, None
    n, size = stiffness.shape[0], float(np.abs(stiffness.data).max())
    force = _Force(internal_force, n)
    zero = _fixed(np.zeros(n))
    at_rest = np.abs(force(zero))
    if not at_rest.max() <= _ZERO * size:
        k = int(at_rest.argmax())
        raise InputError(
            f"internal_force(0)[{k}] is {at_rest[k]:g}, but x = 0 is rest: take x from an "
            "equilibrium, and constant forces to step(force)"
        )
    slope = None if tangent is None else _Tangent(tangent, stiffness)
    if slope is not None:
        columns = np.repeat(np.arange(n), np.diff(stiffness.indptr))
        apart = np.abs(slope(zero) - stiffness.data[stiffness.indices >= columns]).max()
        if not apart <= _ALIKE * size:
            raise InputError(
                f"tangent(0) differs from the stiffness by {apart:.3g} of {size:.3g}; they must be "
                "alike"
            )
    potential = None if energy is None else _Energy(energy, zero)
    _check_slopes(force, potential, stiffness)
    return force, slope, potential
