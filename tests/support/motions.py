"""Motions of the core by implicit Newmark, past the classes of the package; copies of motions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

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


def check_copies(sim: Any, go: Callable[[Any], object]) -> list[Any]:
    """Check that copies of a simulation continue like it, bit for bit, and return them."""
    copies = [sim.clone(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    for one in (sim, *copies):
        go(one)
    for other in copies:
        for name in ("q", "qdot", "qddot", "time"):
            made, expected = (np.asarray(getattr(one.state, name)) for one in (other, sim))
            np.testing.assert_array_equal(made, expected)
            assert made.tobytes() == expected.tobytes()  # signs of zeros too
    return copies
