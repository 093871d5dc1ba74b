"""Integrators by the names of the literature."""

from __future__ import annotations

from typing import Any, NamedTuple

from reducedfem.base.check import count, did_you_mean, iterations
from reducedfem.dynamics.backward_euler import BackwardEuler
from reducedfem.dynamics.bdf2 import BDF2
from reducedfem.dynamics.exponential import ExponentialEuler
from reducedfem.dynamics.generalized_alpha import GeneralizedAlpha
from reducedfem.dynamics.integrator import ImplicitSimulation, Simulation, System
from reducedfem.dynamics.newmark import ImplicitNewmark
from reducedfem.dynamics.sdirk2 import SDIRK2
from reducedfem.dynamics.trbdf2 import TRBDF2
from reducedfem.errors import InputError, InputTypeError

__all__ = ["integrator"]

_ITERATIONS = 20  # default of schemes that solve their equations
_EXACT = 10  # default number of modes of schemes with exact modes


class Named(NamedTuple):
    """An integrator with the arguments that its name implies."""

    kind: type[Simulation]
    solves: bool | None  # its equations rather than making one iteration; None: neither
    exact: bool = False  # has exact modes


_NAMES = {
    "BE": Named(BackwardEuler, True),
    "SI": Named(BackwardEuler, False),
    "BDF2": Named(BDF2, True),
    "SBDF2": Named(BDF2, False),
    "TR": Named(ImplicitNewmark, True),
    "TR-BDF2": Named(TRBDF2, True),
    "STR-SBDF2": Named(TRBDF2, False),
    "SDIRK": Named(SDIRK2, True),
    "S-SDIRK": Named(SDIRK2, False),
    "GA": Named(GeneralizedAlpha, True),
    "ERE": Named(ExponentialEuler, None),
    "BEERE": Named(BackwardEuler, True, True),
    "SIERE": Named(BackwardEuler, False, True),
    "BDF2ERE": Named(BDF2, True, True),
    "SBDF2ERE": Named(BDF2, False, True),
    "TR-BDF2ERE": Named(TRBDF2, True, True),
    "STR-SBDF2ERE": Named(TRBDF2, False, True),
}
# by letters and digits in upper case
_OTHER = {
    **{name.replace("-", ""): name for name in _NAMES},
    "STRBDF2": "STR-SBDF2",
    "STRBDF2ERE": "STR-SBDF2ERE",
    "SDIRK2": "SDIRK",
    "GENERALIZEDALPHA": "GA",
    "NEWMARK": "TR",
}


def find(name: str) -> Named:
    """Return the entry of a name; refuse others."""
    if not isinstance(name, str):
        raise InputTypeError(f"name must be a str, got {type(name).__name__}")
    key = name.upper().replace("-", "").replace("_", "")
    if key not in _OTHER:
        near = did_you_mean(name.upper(), _NAMES)
        raise InputError(f"name must be one of {', '.join(_NAMES)}, got {name!r}{near}")
    return _NAMES[_OTHER[key]]


def integrator(name: str, system: System, dt: float, **options: Any) -> Simulation:
    """Return the integrator of a name that Ascher et al. (2021) use.

    Parameters
    ----------
    name
        ``"BE"``, ``"BDF2"``, ``"TR"``, ``"TR-BDF2"``, ``"SDIRK"`` or ``"GA"`` (generalized-alpha),
        which solve the equations of a step; ``"SI"``, ``"SBDF2"``, ``"STR-SBDF2"`` or
        ``"S-SDIRK"``, which linearize them: the same methods with one Newton iteration.
        ``"BEERE"``, ``"SIERE"``, ``"BDF2ERE"``, ``"SBDF2ERE"``, ``"TR-BDF2ERE"`` and
        ``"STR-SBDF2ERE"`` also solve the lowest modes exactly, ``"ERE"`` all of the tangent. Case
        and hyphens do not matter.
    system, dt
        The simulated system and the time step [s]; see `ImplicitNewmark`.
    **options
        Other arguments of the class. `newton_max` is 20 unless it is given, and 1 for methods that
        linearize; `exact` is 10 for methods with exact modes.

    Returns
    -------
    Simulation
        A `BackwardEuler`, `BDF2`, `ImplicitNewmark`, `TRBDF2`, `SDIRK2`, `GeneralizedAlpha` or
        `ExponentialEuler`.

    Raises
    ------
    InputError, InputTypeError
        There is no such name, or `newton_max` contradicts it; errors of the class.
    """
    kind, solves, exact = find(name)
    if not issubclass(kind, ImplicitSimulation):
        if "newton_max" in options:
            raise InputError(f"newton_max is given, but {name} iterates nothing: leave it out")
        if "exact" in options:
            raise InputError(f"exact is given, but all modes of {name} are exact: leave it out")
        made: Any = kind  # with arguments of its own
        return made(system, dt, **options)  # type: ignore[no-any-return]
    most = iterations(options.pop("newton_max", _ITERATIONS if solves else 1))
    if solves and most == 1:
        raise InputError(
            f"newton_max is 1, but {name} solves its equations: take 2 at least, or the class "
            f"{kind.__name__}(system, dt, newton_max=1) for one iteration"
        )
    if not solves and most > 1:
        raise InputError(f"newton_max is {most}, but {name} makes one iteration: leave it out")
    if not solves and options.get("contact") is not None:
        raise InputError(
            f"contact: {name} makes one iteration, which may cross a barrier: take 'BE' or 'BDF2' "
            "with newton_max=50"
        )
    if exact:
        options["exact"] = count(options.get("exact", _EXACT), "exact")
    elif options.get("exact"):
        raise InputError(f"exact is {options['exact']}, but {name} has no exact modes: add ERE")
    return kind(system, dt, newton_max=most, **options)
