"""Functions that tests send to workers; these import this module."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

import reducedfem as rf


def together(a, b):
    return {"sum": a + b, "third": a / 3.0}


def fails_at_two(a):
    if a == 2:
        raise ValueError("two is too many")
    return float(a)


def breaks_at_two(a):
    """Fail as if a pool of the function broke."""
    if a == 2:
        raise BrokenProcessPool("the pool of a task")
    return a


def exits_at_two(a):
    if a == 2:
        sys.exit(3)
    return a


class Odd(Exception):
    """An error that pickles, and cannot be unpickled."""

    def __init__(self, first, second):
        super().__init__(first + second)


def fails_oddly(a):
    raise Odd("no ", str(a))


def kills_once(a, marker):
    """Kill the worker at a = 3, the first time."""
    if a == 3 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return a


def kills_always(a):
    if a == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return a


class Model:
    """Data that a function may be bound to."""

    def frequency(self, a):
        return a


def scaled(a, model, factors=()):
    return model * a


CALLS = []  # of `recorded`


def recorded(a):
    """Fail at the third call."""
    CALLS.append(a)
    if len(CALLS) == 3:
        raise ValueError("out of luck")
    return {"x": a / 3.0, "y": np.array([a, np.nan]), "z": (a, None, "t")}


def returns_a_lock(a):
    return threading.Lock()


ODD_VALUES = {
    "long array": np.ones(2, np.longdouble),
    "long number": np.longdouble(1.0),
    "complex array": np.ones(2, complex),
    "array key": {"__array__": 1.0},
    "tuple key": [{"__tuple__": [1, 2]}],
    "number as key": {1: 2},
}


def odd_value(a, name):
    return ODD_VALUES[name] if a == 1 else 0.5


def setting_of_threads(a):
    return rf.threads()


def length(common, task):
    """Return the process and the length of the common data, for `outcomes`."""
    return os.getpid(), len(common) + task


def returned(common, task):
    return task


def first(common, task):
    return common


def nodes_of(common, task):
    return common.mesh.n_nodes + task.mesh.n_nodes


def _filters():
    return list(warnings.filters)


class FiltersWhenUnpickled:
    """An object that arrives as the list of the filters of warnings."""

    def __reduce__(self):
        return _filters, ()


def fails_with(common, task):
    return fails_at_two(task)


def kills_with(common, task):
    """Kill the worker at task 2, the first time, for `outcomes`."""
    marker, data = common
    return kills_once(task + 1, marker) + len(data)
