"""Linear vibration modes as a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem._frozen import frozen_array
from reducedfem.errors import InputError

__all__ = ["Modes"]


@dataclass(frozen=True, eq=False)
class Modes:
    """Linear vibration modes, ascending in frequency; what `Solid.linear_modes` returns.

    Attributes
    ----------
    eigenvalues
        lambda = (2 pi frequency)^2 [1/s^2], read-only, shape (k,).
    frequencies
        [Hz], read-only, shape (k,).
    shapes
        Mass-orthonormal mode shapes [kg^-1/2], read-only, shape (k, n, 3); zero at fixed
        nodes.

    Raises
    ------
    InputError, InputTypeError
        An array has a wrong shape or dtype, or a value that is not finite.
    """

    eigenvalues: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    shapes: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "frequencies", "shapes"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), name))
        if self.shapes.ndim != 3 or self.shapes.shape[2] != 3 or len(self.shapes) == 0:
            raise InputError(
                f"shapes must have shape (k, n, 3), k at least 1, got {self.shapes.shape}"
            )
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
        return f"<Modes: {len(self)} from {low:.6g} to {high:.6g} Hz>"

    def __reduce__(self) -> tuple[type[Modes], tuple[Any, ...]]:
        return Modes, (self.eigenvalues, self.frequencies, self.shapes)
