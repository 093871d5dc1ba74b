"""Materials."""

from __future__ import annotations

from dataclasses import dataclass

from reducedfem._check import number
from reducedfem.errors import InputError

__all__ = ["StVK"]


@dataclass(frozen=True)
class StVK:
    """St.Venant-Kirchhoff material: S = lambda tr(E) I + 2 mu E.

    S is the second Piola-Kirchhoff stress and E the Green strain: a linear law that is
    exact under any rotation (Barbic 2007, section 2.1). It resists compression ever
    less below 58 % (1/sqrt(3)) of the rest length.

    Parameters
    ----------
    young
        Young's modulus [Pa], positive.
    poisson
        Poisson's ratio, above -1 and below 0.5.
    density
        Mass density [kg/m^3], positive.

    Raises
    ------
    InputError, InputTypeError
        A value is out of its range or no number.
    """

    young: float
    poisson: float
    density: float

    def __post_init__(self) -> None:
        for name in ("young", "poisson", "density"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        if not self.young > 0:
            raise InputError(f"young must be positive [Pa], got {self.young:g}")
        if self.poisson >= 0.5:
            raise InputError(
                f"poisson must be below 0.5, got {self.poisson:g}: an incompressible material "
                "has an infinite bulk modulus, and these elements lock close to it; 0.45 or "
                "less is usual"
            )
        if not self.poisson > -1:
            raise InputError(f"poisson must be above -1, got {self.poisson:g}")
        if not self.density > 0:
            raise InputError(f"density must be positive [kg/m^3], got {self.density:g}")

    @property
    def lame(self) -> tuple[float, float]:
        """The Lame constants lambda and mu [Pa]."""
        e, nu = self.young, self.poisson
        return e * nu / ((1 + nu) * (1 - 2 * nu)), e / (2 * (1 + nu))
