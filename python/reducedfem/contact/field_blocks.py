"""Samples of distance fields, computed in blocks by the workers of an executor."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.executors import Executors, Pool, opened, outcomes, require_executor
from reducedfem.base.run import threads

__all__ = ["distributed"]


class _Measured:
    """A surface from which distances are computed; a worker builds its tree once."""

    def __init__(self, vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> None:
        self._vertices, self._triangles = vertices, triangles
        self._filler: _core.Filler | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[_Measured], tuple[Any, ...]]:
        return _Measured, (self._vertices, self._triangles)

    def is_of(self, vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> bool:
        """Return True if this is the surface."""
        return np.array_equal(self._vertices, vertices) and np.array_equal(
            self._triangles, triangles
        )

    def filled(self, block: tuple[Any, ...]) -> NDArray[np.float32]:
        """Return the samples of a block."""
        with self._lock:
            if self._filler is None:
                self._filler = _core.Filler(self._vertices, self._triangles, threads())
        return self._filler.fill(block, threads())


def _filled(surface: _Measured, block: tuple[Any, ...]) -> NDArray[np.float32]:
    return surface.filled(block)


class _Blocks(Sequence[Any]):
    """Data of all blocks, gathered when a block is sent."""

    def __init__(self, filling: _core.Filling) -> None:
        self._filling = filling

    def __len__(self) -> int:
        return self._filling.count

    def __getitem__(self, index: Any) -> Any:
        return self._filling.block(index)


class _Workers:
    """Fills the samples of each pass of a field by the workers of a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._last: _Measured | None = None

    def __call__(self, filling: _core.Filling) -> None:
        surface = filling.surface()
        # threads share the tree of the pass before
        if self._last is None or not self._last.is_of(*surface):
            self._last = _Measured(*surface)
        found = outcomes(self._pool, _filled, _Blocks(filling), self._last)
        with contextlib.closing(found):
            for index, values, error in found:
                if error is not None:
                    raise error
                filling.put(index, values)


@contextlib.contextmanager
def distributed(executor: Executors) -> Iterator[Callable[[_core.Filling], None] | None]:
    """Yield the function of the core's argument `elsewhere`; None: all is computed here."""
    with opened(require_executor(executor)) as pool:
        yield None if pool is None else _Workers(pool)
