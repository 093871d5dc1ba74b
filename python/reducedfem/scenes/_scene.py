"""Options that the sessions of all scenes share, documented and checked in one place."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from reducedfem._atomic import as_path
from reducedfem._check import count, did_you_mean, flag, number
from reducedfem._record_file import RecordFile
from reducedfem.contact import PenaltyContact
from reducedfem.coupling import VirtualCoupling
from reducedfem.devices import Device, ReplayDevice
from reducedfem.errors import InputError, InputTypeError
from reducedfem.field import SphereField
from reducedfem.haptics import HapticSession
from reducedfem.point_tree import PointTree
from reducedfem.pointshell import Pointshell
from reducedfem.scenes import shapes

__all__ = ["scene"]

# what a scene makes itself, and gives to its session
_MADE = ("coupling", "simulation", "field_simulation")
_OPTIONS = {
    "cheat": "Whether the hand pulls and levers.",
    "points": "Of the shell of what is not held, or of each of them.",
    "resolution": "Voxels of the field of what is held, along its longest side.",
    "r": f"Reduced coordinates of each body that deforms, 1 to {shapes.MOST_R}.",
}
# of their pointshells, where those are not as many as by default
_LEVELS = {"statue": 7}
_DOC = """{summary}

    Parameters
    ----------
    device
        Device that the hand holds; None: a simulated hand, which does all this in ten seconds.
{own}
    **options
        Of `HapticSession`, but for those that the scene makes: {made}.

    Returns
    -------
    HapticSession

    Raises
    ------
    InputError, InputTypeError
        An option that there is not, or with a value that is not allowed: before anything is
        built.
    FileFormatError
        The file for the records cannot be written: likewise.
    """


def scene(make: Callable[..., HapticSession]) -> Callable[..., HapticSession]:
    """Return the session of a scene that refuses wrong options before it takes time to build.

    Parameters
    ----------
    make
        Builds it: a function ``session(device=None, *, points=..., **options)``, whose
        documentation is one line; the rest of it, the same for all, is added.

    Returns
    -------
    callable
    """
    name, own = make.__module__.rpartition(".")[2], _names(make)

    @functools.wraps(make)
    def session(device: Device | None = None, **options: Any) -> HapticSession:
        if device is not None:
            shapes.refuse_no_device(device)
        _refuse(name, own, device, options)
        return make(device, **options)

    told = "\n".join(f"    {option}\n        {_OPTIONS[option]}" for option in own)
    # without documentation, as under python -OO, there is none to add to
    if make.__doc__ is not None:
        session.__doc__ = _DOC.format(summary=make.__doc__, own=told, made=", ".join(_MADE))
    return session


def _names(function: Callable[..., Any]) -> list[str]:
    """Return what is given by name."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def _refuse(name: str, own: list[str], device: Device | None, options: dict[str, Any]) -> None:
    theirs = [n for n in _names(HapticSession) if n not in _MADE]
    for option in options:
        if option not in (*own, *theirs):
            raise InputTypeError(
                f"{name} has no option {option!r}: it has {', '.join(own)} and, of a session, "
                f"{', '.join(theirs)}{did_you_mean(option, (*own, *theirs))}"
            )
    levels = _LEVELS.get(name, 5)
    fewest = (4**levels + 4) // 6  # with one on the first level, rounded
    points = count(options.get("points", fewest), "points")
    if points < fewest:
        raise InputError(
            f"points must be {fewest} or more, got {points}: the shell of {name} has {levels} "
            "levels, each with four times as many as the one before"
        )
    count(options.get("resolution", 1), "resolution")
    if "r" in own:
        count(options.get("r", 1), "r", shapes.MOST_R)
    for option in ("cheat", "coupled"):
        flag(options.get(option, False), option)
    # a session of nothing at all refuses what theirs would
    tree = PointTree(Pointshell([[0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]))
    contact = PenaltyContact(tree, SphereField((0.0, 0.0, 0.0), 1.0), 1.0)
    tried = {n: value for n, value in options.items() if n in theirs and n != "coupled"}
    hand = ReplayDevice([0.0], [[0.0, 0.0, 0.0]]) if device is None else device
    HapticSession(contact, hand, coupling=VirtualCoupling(1.0, 1.0), **tried).close()
    cycle = 1e3 / number(options.get("rate", 1e3), "rate")
    if "r" in own and not abs(cycle - round(cycle)) < 1e-6 * cycle:
        raise InputError(
            f"rate is {options['rate']:g} Hz, a cycle of {cycle:g} ms; that of {name} must be a "
            "whole number of its simulations' steps, 1 ms"
        )
    if options.get("record") is not None:
        file = RecordFile(as_path(options["record"], "record"))
        file.begin()
        file.drop()
