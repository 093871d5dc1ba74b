"""Modal derivatives of solids, here or by the workers of an executor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.executors import Executors, in_order, outcomes, require_executor
from reducedfem.base.run import threads
from reducedfem.errors import InputError

__all__ = ["derivatives_of", "require_blocks"]

_Tell = Callable[[int, int], object] | None


class _HasCore(Protocol):
    _core: _core.Solid


class _Held:
    """A solid with fixed nodes and its modes; a worker factors the stiffness once."""

    def __init__(self, solid: _HasCore, shapes: NDArray[np.float64]) -> None:
        self._solid, self._shapes = solid, shapes
        self._factored: _core.Derivatives | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[_Held], tuple[Any, ...]]:
        return _Held, (self._solid, self._shapes)

    def pairs(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return the derivatives of some pairs."""
        with self._lock:
            if self._factored is None:
                self._factored = _core.Derivatives(self._solid._core, threads())
        return self._factored.pairs(self._shapes, begin, end, threads())


def _pairs(held: _Held, task: tuple[int, int]) -> NDArray[np.float64]:
    return held.pairs(*task)


def require_blocks(solid: _HasCore, executor: Executors) -> Executors:
    """Return the argument `executor`; refuse it for a free solid, whose pairs share modes."""
    if require_executor(executor) is not None and len(solid._core.fixed) == 0:
        raise InputError(
            "executor computes derivatives of solids with fixed nodes only, and this one is free: "
            "leave executor out"
        )
    return executor


def derivatives_of(
    solid: _HasCore, shapes: NDArray[np.float64], executor: Executors, tell: _Tell
) -> NDArray[np.float64]:
    """Return the derivatives of shapes (k, n, 3) of a `Solid`, with the same bits on any executor.

    With an executor the solid must have fixed nodes.
    """
    if executor is None:
        return _core.modal_derivatives(solid._core, shapes, tell, threads())
    k, size = len(shapes), _core.DERIVATIVES_BLOCK
    pairs = k * (k + 1) // 2
    tasks = [(begin, min(begin + size, pairs)) for begin in range(0, pairs, size)]
    result = np.empty((pairs, *shapes.shape[1:]))
    found = outcomes(executor, _pairs, tasks, _Held(solid, shapes))
    for (begin, end), part in zip(tasks, in_order(found), strict=True):
        result[begin:end] = part
        if tell is not None:
            tell(end, pairs)
    return result
