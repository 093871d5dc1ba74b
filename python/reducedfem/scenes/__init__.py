"""Scenes for the hand: each a short script, to run, to read and to copy.

``reducedfem haptics SCENE`` runs one from the command line; from Python it is::

    from reducedfem import scenes

    with scenes.session("alpha") as session:
        session.wait()
    print(session.report())

All bodies are made by formulas (`shapes`). What a scene shows is told in its module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from reducedfem._check import count, flag, number
from reducedfem.contact import PenaltyContact
from reducedfem.coupling import VirtualCoupling
from reducedfem.devices import Device, ReplayDevice
from reducedfem.errors import InputError, InputTypeError
from reducedfem.field import SphereField
from reducedfem.haptics import HapticSession
from reducedfem.point_tree import PointTree
from reducedfem.pointshell import Pointshell
from reducedfem.scenes import alpha, dragon, hoses, peg, shapes, soft, statue

__all__ = ["STORIES", "session", "shapes"]

_SCENES: dict[str, tuple[Callable[..., HapticSession], str]] = {
    "statue": (statue.session, "a statue and an axe: rigid against rigid, a million points"),
    "hoses": (hoses.session, "a rigid part between two hoses that deform"),
    "dragon": (dragon.session, "a dragon that deforms, 256,000 points, and a club"),
    "soft": (soft.session, "a soft paddle and a soft post: both deform"),
    "peg": (peg.session, "a peg and the hole that matches it"),
    "alpha": (alpha.session, "the alpha puzzle: two bent tubes are screwed apart"),
    "alpha-cheat": (partial(alpha.session, cheat=True), "the alpha puzzle: pulling does not help"),
}

# what a scene makes itself, and gives to its session
_MADE = ("coupling", "simulation", "field_simulation")

STORIES: Mapping[str, str] = MappingProxyType({name: story for name, (_, story) in _SCENES.items()})
"""What the scenes show, by their names."""


def session(name: str, device: Device | None = None, **options: Any) -> HapticSession:
    """Return a session of a scene; to build it takes seconds, for a million points a minute.

    Parameters
    ----------
    name
        One of `STORIES`.
    device
        What the hand holds; None: a simulated hand, which does what the story tells.
    **options
        ``points``, ``resolution`` and, of what deforms, ``r``: see the module of the scene; and
        those of `HapticSession`.

    Returns
    -------
    HapticSession

    Raises
    ------
    InputError, InputTypeError
        There is no such scene; an option that it does not have, or with a value that is not
        allowed: before anything is built.
    """
    if name not in _SCENES:
        raise InputError(f"name must be one of {', '.join(_SCENES)}, got {name!r}")
    make = _SCENES[name][0]
    if device is not None:
        shapes.refuse_no_device(device)
    _refuse(name, _names(make), device, options)
    return make(device, **options)


def _names(function: Callable[..., Any]) -> list[str]:
    """Return what is given by name."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def _refuse(name: str, own: list[str], device: Device | None, options: dict[str, Any]) -> None:
    """Refuse wrong options of a scene, which takes its time to build, in no time."""
    theirs = [n for n in _names(HapticSession) if n not in _MADE]
    for option in options:
        if option not in (*own, *theirs):
            raise InputTypeError(
                f"{name} has no option {option!r}: it has {', '.join(own)} and, of a session, "
                f"{', '.join(theirs)}"
            )
    for option in ("points", "resolution"):
        count(options.get(option, 1), option)
    if "r" in own:
        count(options.get("r", 1), "r", shapes.MOST_R)
    for option in ("cheat", "coupled"):
        flag(options.get(option, False), option)
    if options.get("coupled") and name != "dragon":
        raise InputError("coupled is for one shell that deforms and a rigid object: dragon")
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
