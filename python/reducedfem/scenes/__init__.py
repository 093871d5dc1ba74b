"""Scenes for the hand: each a short script, to run, to read and to copy.

``reducedfem haptics SCENE`` runs one from the command line; from Python it is::

    from reducedfem import scenes

    with scenes.session("alpha") as session:
        session.wait()
    print(session.report())

All bodies are made by formulas (`shapes`). What a scene shows is told in its module, and
``scenes.alpha.session`` is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from reducedfem._check import choice
from reducedfem.devices import Device
from reducedfem.haptics import HapticSession
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

STORIES: Mapping[str, str] = MappingProxyType({name: story for name, (_, story) in _SCENES.items()})
"""Descriptions of the scenes, by their names."""


def session(name: str, device: Device | None = None, **options: Any) -> HapticSession:
    """Return a session of a scene; to build it takes seconds, for a million points a minute.

    Parameters
    ----------
    name
        One of `STORIES`.
    device
        Device that the hand holds; None: a simulated hand on the path of the scene.
    **options
        ``points``, ``resolution`` and, of what deforms, ``r``: see ``help(scenes.soft.session)``
        and its like; and those of `HapticSession`.

    Returns
    -------
    HapticSession

    Raises
    ------
    InputError, InputTypeError
        There is no such scene; an option that it does not have, or with a value that is not
        allowed: before anything is built.
    FileFormatError
        The file for the records cannot be written: likewise.
    """
    choice(name, "name", tuple(_SCENES))
    return _SCENES[name][0](device, **options)
