"""Motions of the core by implicit Newmark, for tests that go past the classes of the package."""

from __future__ import annotations

from reducedfem import _core

# settings of all implicit schemes of the core, and of implicit Newmark
COMMON = {"dt": 1e-3, "newton_max": 1, "tol": 1e-6, "line_search": True}
NEWMARK = {"beta": 0.25, "gamma": 0.5, **COMMON}


def newmark(
    system: object,
    dt: float,
    damping: tuple[float, float] = (0.0, 0.0),
    *,
    threads: int = 1,
    strain_rate: object = None,
    **settings: float,
) -> _core.Motion:
    every = {**NEWMARK, "dt": dt, **settings}
    return _core.Motion("newmark", system, damping, every, threads, strain_rate)
