"""Integrators by the names of the literature."""

from __future__ import annotations

from typing import Any

from reducedfem.base.check import count, did_you_mean
from reducedfem.dynamics.backward_euler import BackwardEuler
from reducedfem.dynamics.bdf2 import BDF2
from reducedfem.dynamics.generalized_alpha import GeneralizedAlpha
from reducedfem.dynamics.integrator import ImplicitSimulation, System
from reducedfem.dynamics.newmark import ImplicitNewmark
from reducedfem.dynamics.sdirk2 import SDIRK2
from reducedfem.dynamics.trbdf2 import TRBDF2
from reducedfem.errors import InputError, InputTypeError

__all__ = ["integrator"]

_ITERATIONS = 20  # default of schemes that solve their equations

# name: (class, solves its equations rather than making one iteration)
_NAMES: dict[str, tuple[type[ImplicitSimulation], bool]] = {
    "BE": (BackwardEuler, True),
    "SI": (BackwardEuler, False),
    "BDF2": (BDF2, True),
    "SBDF2": (BDF2, False),
    "TR": (ImplicitNewmark, True),
    "TRBDF2": (TRBDF2, True),
    "STRSBDF2": (TRBDF2, False),
    "SDIRK": (SDIRK2, True),
    "SSDIRK": (SDIRK2, False),
    "GA": (GeneralizedAlpha, True),
}
_OTHER = {"STRBDF2": "STRSBDF2", "SDIRK2": "SDIRK", "GENERALIZEDALPHA": "GA", "NEWMARK": "TR"}


def find(name: str) -> tuple[type[ImplicitSimulation], bool]:
    """Return the entry of a name; refuse others."""
    if not isinstance(name, str):
        raise InputTypeError(f"name must be a str, got {type(name).__name__}")
    key = name.upper().replace("-", "").replace("_", "")
    key = _OTHER.get(key, key)
    if key not in _NAMES:
        raise InputError(
            f"name must be one of {', '.join(_NAMES)}, got {name!r}{did_you_mean(key, _NAMES)}"
        )
    return _NAMES[key]


def integrator(name: str, system: System, dt: float, **options: Any) -> ImplicitSimulation:
    """Return the integrator of a name that Chen, Liu and Ascher (2021) use.

    Parameters
    ----------
    name
        ``"BE"``, ``"BDF2"``, ``"TR"``, ``"TR-BDF2"``, ``"SDIRK"`` or ``"GA"`` (generalized-alpha),
        which solve the equations of a step; ``"SI"``, ``"SBDF2"``, ``"STR-SBDF2"`` or
        ``"S-SDIRK"``, which linearize them: the same methods with one Newton iteration. Case and
        hyphens do not matter.
    system, dt
        The simulated system and the time step [s]; see `ImplicitNewmark`.
    **options
        Other arguments of the class. `newton_max` is 20 unless it is given, and 1 for methods that
        linearize.

    Returns
    -------
    ImplicitSimulation
        A `BackwardEuler`, `BDF2`, `ImplicitNewmark`, `TRBDF2`, `SDIRK2` or `GeneralizedAlpha`.

    Raises
    ------
    InputError, InputTypeError
        There is no such name, or `newton_max` contradicts it; errors of the class.
    """
    kind, solves = find(name)
    most = count(options.pop("newton_max", _ITERATIONS if solves else 1), "newton_max")
    if solves is (most == 1):
        raise InputError(
            f"newton_max is {most}, but {name} "
            + ("solves its equations: take 2 at least" if solves else "makes one iteration")
        )
    return kind(system, dt, newton_max=most, **options)
