"""Internal forces of a system that are functions of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import array_like
from reducedfem.errors import InputError, InputTypeError
from reducedfem.solid.sparse import CSC
from reducedfem.solid.symmetric import Matrix, symmetric

__all__ = ["Energy", "Force", "Tangent", "force_law"]

Vector = NDArray[np.float64]
Force = Callable[[Vector], ArrayLike]
Tangent = Callable[[Vector], Matrix]
Energy = Callable[[Vector], float]

# differences at x = 0 from what the matrices say, of the largest entry of the stiffness
_ZERO, _ALIKE = 1e-12, 1e-6


class _Force:
    """The function `internal_force` for the core."""

    def __init__(self, function: Force, n: int) -> None:
        self._function, self._n = function, n

    def __call__(self, x: Vector) -> Vector:
        return _doubles(self._function(x), "internal_force(x)", (self._n,))


class _Tangent:
    """The function `tangent` for the core: values of the lower triangle of the stiffness."""

    def __init__(self, function: Tangent, stiffness: CSC) -> None:
        self._function, self._shape = function, stiffness.shape
        columns = np.repeat(np.arange(stiffness.shape[1]), np.diff(stiffness.indptr))
        lower = stiffness.indices >= columns
        self._places = _places(stiffness.indices[lower], columns[lower], stiffness.shape[0])

    def __call__(self, x: Vector) -> Vector:
        matrix, (data, rows, pointer) = symmetric(self._function(x), "tangent(x)", definite=False)
        if matrix.shape != self._shape:
            raise InputError(f"tangent(x) must have shape {self._shape}, got {matrix.shape}")
        columns = np.repeat(np.arange(self._shape[1]), np.diff(pointer))
        places = _places(rows, columns, self._shape[0])
        at = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
        new = (self._places[at] != places) & (data != 0.0)
        if new.any():
            k = int(np.flatnonzero(new)[0])
            raise InputError(
                f"tangent(x) has an entry at ({rows[k]}, {columns[k]}), where the stiffness has "
                "none: give it a zero there, or a dense stiffness"
            )
        values = np.zeros(len(self._places))
        known = self._places[at] == places
        values[at[known]] = data[known]
        return values


class _Energy:
    """The function `energy` for the core."""

    def __init__(self, function: Energy) -> None:
        self._function = function

    def __call__(self, x: Vector) -> Vector:
        return _doubles(self._function(x), "energy(x)", ()).reshape(1)


def _places(rows: NDArray[Any], columns: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return the places of entries, ascending column by column."""
    places: NDArray[np.int64] = columns.astype(np.int64) * n + rows
    return places


def _doubles(value: object, name: str, shape: tuple[int, ...]) -> Vector:
    """Return the result of a function as an array; refuse another shape or type."""
    array_like(value, name)
    try:
        result: Vector = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be numbers, got {type(value).__name__}") from None
    if result.shape != shape:
        wanted = f"have shape {shape}" if shape else "be one number"
        raise InputError(f"{name} must {wanted}, got shape {result.shape}")
    return result


def force_law(
    internal_force: Force | None, tangent: Tangent | None, energy: Energy | None, stiffness: CSC
) -> tuple[Any, Any, Any]:
    """Return the functions of a system for the core; refuse what its matrices contradict."""
    if internal_force is None:
        for value, name in ((tangent, "tangent"), (energy, "energy")):
            if value is not None:
                raise InputError(f"{name} is given without internal_force, of which it is part")
        return None, None, None
    n, size = stiffness.shape[0], float(np.abs(stiffness.data).max())
    force = _Force(internal_force, n)
    at_rest = np.abs(force(np.zeros(n)))
    if not at_rest.max() <= _ZERO * size:
        k = int(at_rest.argmax())
        raise InputError(
            f"internal_force(0)[{k}] is {at_rest[k]:g}, but x = 0 is rest: take x from an "
            "equilibrium, and constant forces to step(force)"
        )
    slope = None if tangent is None else _Tangent(tangent, stiffness)
    if slope is not None:
        columns = np.repeat(np.arange(n), np.diff(stiffness.indptr))
        apart = np.abs(slope(np.zeros(n)) - stiffness.data[stiffness.indices >= columns]).max()
        if not apart <= _ALIKE * size:
            raise InputError(
                f"tangent(0) differs from the stiffness by {apart:.3g} of {size:.3g}; they must be "
                "alike"
            )
    potential = None if energy is None else _Energy(energy)
    if potential is not None and not np.isfinite(potential(np.zeros(n))[0]):
        raise InputError("energy(0) must be finite")
    return force, slope, potential
