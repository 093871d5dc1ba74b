"""Linear vibration modes, the results of `linear_modes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.frozen import frozen_array
from reducedfem.errors import InputError

__all__ = ["Modes", "SystemModes"]


@dataclass(frozen=True, eq=False)
class Modes:
    """Linear vibration modes in ascending order of frequency; returned by `Solid.linear_modes`.

    Attributes
    ----------
    eigenvalues
        Eigenvalues lambda = (2 pi frequency)^2 [1/s^2], read-only, shape (k,).
    frequencies
        Natural frequencies [Hz], read-only, shape (k,).
    shapes
        Mass-orthonormal mode shapes [kg^-1/2], read-only, shape (k, n, 3); zero at fixed
        nodes.

    Raises
    ------
    InputError, InputTypeError
        An array has a wrong shape or dtype, or a value that is not finite.
    """

    _axes: ClassVar[int] = 3

    eigenvalues: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    shapes: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "frequencies", "shapes"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name))
        shape = self.shapes.shape
        if len(shape) != self._axes or shape[2:] not in ((), (3,)) or shape[0] == 0:
            wanted = "(k, n, 3)" if self._axes == 3 else "(k, n)"
            raise InputError(f"shapes must have shape {wanted}, k at least 1, got {shape}")
        for name in ("eigenvalues", "frequencies"):
            shape = getattr(self, name).shape
            if shape != (len(self.shapes),):
                raise InputError(
                    f"{name} must have shape ({len(self.shapes)},), one for each of the shapes, "
                    f"got {shape}"
                )

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        low, high = self.frequencies[0], self.frequencies[-1]
        return f"<{type(self).__name__}: {len(self)} from {low:.6g} to {high:.6g} Hz>"

    def __reduce__(self) -> tuple[type[Modes], tuple[Any, ...]]:
        return type(self), (self.eigenvalues, self.frequencies, self.shapes)


@dataclass(frozen=True, eq=False, repr=False)
class SystemModes(Modes):
    """Modes of a `SecondOrderSystem`: `Modes` with `shapes` of shape (k, n).

    Attributes
    ----------
    eigenvalues
        Eigenvalues lambda of K psi = lambda A psi, read-only, shape (k,).
    frequencies
        Natural frequencies sqrt(lambda) / (2 pi), read-only, shape (k,).
    shapes
        Mode shapes, psi_i^T A psi_j = delta_ij, read-only, shape (k, n).

    Raises
    ------
    InputError, InputTypeError
        As for `Modes`.
    """

    _axes: ClassVar[int] = 2
