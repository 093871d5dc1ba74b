"""Common options of the sessions of all scenes: documentation and checks."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from reducedfem.base.check import coefficient, count, did_you_mean, flag
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.haptics.devices import Device
from reducedfem.haptics.session import HapticSession
from reducedfem.haptics.session_file import SessionFile
from reducedfem.haptics.settings import HapticSettings
from reducedfem.scenes import shapes

__all__ = ["scene"]

# arguments of a session that the scene makes itself
_MADE = ("coupling", "simulation", "field_simulation")
_OPTIONS = {
    "friction": "Coefficient of a `FrictionContact`; None: a `PenaltyContact`, without friction.",
    "cheat": "True: the hand pulls and levers.",
    "soft_pipe": "True: the pipe is a hose, which deforms, too.",
    "points": "Number of points of the shell of each body that is not held.",
    "resolution": "Voxels of the field of the held object, along its longest side.",
    "r": f"Number of reduced coordinates of each deformable body, 1 to {shapes.MOST_R}.",
}
# scenes with free bodies, for which penalty forces do not suffice
_FREE = ("grasp", "stack")
_FREE_FRICTION = "Coefficient of each `FrictionContact`; 0: without friction."
# the scenes without a pointshell and a field
_TOUCHED = {
    "button": "Cells along the longer side; 64: 5,300 nodes of the surface, made in some 10 s.",
    "organ": "Cells along the longest side; 48: 4,600 nodes of the surface.",
}
# levels of pointshells, if not the default
_LEVELS = {"statue": 7}
_MOST_CELLS = 128  # of the scenes without a pointshell
_DOC = """{summary}

    Parameters
    ----------
    device
        Device that the hand holds; None: a simulated hand, with a motion of ten seconds.
{own}
    **options
        Options of `HapticSession`, except those that the scene makes: {made}.

    Returns
    -------
    HapticSession

    Raises
    ------
    InputError, InputTypeError
        An option is unknown or has a value that is not allowed; raised before anything is
        built.
    FileFormatError
        The file for the records cannot be written; likewise.

    Warns
    -----
    PlausibilityWarning
        `friction` is above 5, as an angle would be.
    """


def scene(make: Callable[..., HapticSession]) -> Callable[..., HapticSession]:
    """Wrap the function of a scene: check options before building, complete the docstring.

    Parameters
    ----------
    make
        Function ``session(device=None, *, points=..., **options)`` that builds the session, with
        a one-line docstring; the common sections are added to it.

    Returns
    -------
    callable
        Function with the same arguments.
    """
    name, own = make.__module__.rpartition(".")[2], _names(make)

    @functools.wraps(make)
    def session(device: Device | None = None, **options: Any) -> HapticSession:
        if device is not None:
            shapes.refuse_no_device(device)
        _refuse(name, own, device, options)
        with warnings.catch_warnings():
            # given above, once and before anything is built
            again = "(mu|friction) is .* A coefficient is"
            warnings.filterwarnings("ignore", again, PlausibilityWarning)
            return make(device, **options)

    texts = {**_OPTIONS, "friction": _FREE_FRICTION} if name in _FREE else _OPTIONS
    if name in _TOUCHED:
        texts = {**texts, "resolution": _TOUCHED[name], "friction": "Coefficient of friction."}
    described = "\n".join(f"    {option}\n        {texts[option]}" for option in own)
    # python -OO removes docstrings
    if make.__doc__ is not None:
        session.__doc__ = _DOC.format(summary=make.__doc__, own=described, made=", ".join(_MADE))
    return session


def _names(function: Callable[..., Any]) -> list[str]:
    """Return the names of the keyword-only arguments."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def _refuse(name: str, own: list[str], device: Device | None, options: dict[str, Any]) -> None:
    theirs = [n for n in _names(HapticSession) if n not in _MADE]
    for option in options:
        if option not in (*own, *theirs):
            raise InputTypeError(
                f"the scene {name} has no option {option!r}; its options are {', '.join(own)}, "
                "and those of HapticSession: "
                f"{', '.join(theirs)}{did_you_mean(option, (*own, *theirs))}"
            )
    levels = _LEVELS.get(name, 5)
    fewest = (4**levels + 4) // 6  # one point on the first level, rounded
    points = count(options.get("points", fewest), "points")
    if points < fewest:
        raise InputError(
            f"points must be {fewest} or more, got {points}: the pointshell of the scene {name} "
            f"has {levels} levels, each with four times as many points as the one before"
        )
    resolution = count(options.get("resolution", 16), "resolution")
    if name in _TOUCHED and not 8 <= resolution <= _MOST_CELLS:
        raise InputError(
            f"resolution must be between 8 and {_MOST_CELLS} in the scene {name}, got "
            f"{resolution}: the Green's functions of its surface take memory and time as its "
            "fourth power"
        )
    if "r" in own:
        count(options.get("r", 1), "r", shapes.MOST_R)
    for option in ("cheat", "soft_pipe"):
        flag(options.get(option, False), option)
    if "friction" in options:
        _refuse_friction(name, options["friction"])
    settings = HapticSettings(**{n: value for n, value in options.items() if n in theirs})
    settings.check(device)
    cycle = 1e3 * settings.dt
    if "r" in own and not abs(cycle - round(cycle)) < 1e-6 * cycle:
        raise InputError(
            f"rate is {options['rate']:g} Hz, so a cycle lasts {cycle:g} ms; in the scene {name} "
            "it must be a whole number of milliseconds, the time steps of the simulations: use "
            "1000, 500, 250, ..."
        )
    if settings.record is not None:
        SessionFile(settings).try_out()


def _refuse_friction(name: str, friction: object) -> None:
    if friction is None:
        if name in _FREE or name in _TOUCHED:
            why = "penalty forces do not move its free bodies; " if name in _FREE else ""
            raise InputError(
                f"friction must be a coefficient in the scene {name}, got None: {why}0 is without "
                "friction"
            )
        return
    # of the caller of scenes.session
    more = "" if name in (*_FREE, *_TOUCHED) else ", or None"
    coefficient(friction, "friction", more, stacklevel=6)
