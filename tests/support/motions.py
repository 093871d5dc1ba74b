"""Motions of the core by implicit Newmark, for tests that go past the classes of the package."""

from __future__ import annotations

from reducedfem import _core


def newmark(
    system: object,
    dt: float,
    damping: tuple[float, float] = (0.0, 0.0),
    *,
    beta: float = 0.25,
    gamma: float = 0.5,
    newton_max: int = 1,
    tol: float = 1e-6,
    threads: int = 1,
    strain_rate: object = None,
) -> _core.Motion:
    settings = {
        "dt": dt,
        "beta": beta,
        "gamma": gamma,
        "newton_max": newton_max,
        "tol": tol,
        "line_search": True,
    }
    return _core.Motion("newmark", system, damping, settings, threads, strain_rate)
