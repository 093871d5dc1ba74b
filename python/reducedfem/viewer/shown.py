"""Base class of what a view shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.run import Progress
from reducedfem.errors import InputError
from reducedfem.viewer.parts import Scene

__all__ = ["Frame", "Shown", "compressed", "unit_scales"]

Frame = Mapping[str, Any]
_MOST_ERROR = 1e-3  # of compressed displacements, over their norm


class Shown:
    """Base of the objects that views show: a scene, and frames if it moves.

    Methods are called from the threads of the view.

    Attributes
    ----------
    version
        Number of the scene: pages get it again when it has changed.
    progress
        Argument `progress` of what takes long.
    """

    version = 0
    progress: Progress = None

    @property
    def period(self) -> float:
        """Shortest time between two frames [s]."""
        return 1.0 / 60.0

    def scene(self) -> Scene:
        """Return the scene."""
        raise NotImplementedError

    def saved(self) -> Scene:
        """Return the scene of a file, which has no frames; `InputError` if that is impossible."""
        return self.scene()

    def frame(self) -> Frame | None:
        """Return what moves: ``bodies``, with ``q``, ``moved``, a pose; ``arrows``, ``numbers``.

        Or no bodies, but ``places`` (n, 7) and ``coordinates``, those of all of them in turn, and
        ``dimples``: bodies with ``moved``, by their numbers, ``body``.
        """
        return None

    def watch(self, on: bool) -> None:
        """Note that there are pages, or no more."""

    def begin(self) -> None:
        """Start threads of its own, if any."""

    def end(self) -> None:
        """End them."""

    def pull(self, body: int, origin: NDArray[Any], direction: NDArray[Any]) -> Any:
        """Start to pull at the first point of a body on a ray; return it (3,), or None."""
        return None

    def move(self, place: NDArray[Any]) -> None:
        """Move the place to which the spring pulls [m]."""

    def release(self) -> None:
        """Release the point or the tool."""

    def hold(self) -> bool:
        """Take the tool where it is; False: another view has it, or there is none."""
        return False

    @property
    def idle(self) -> bool:
        """True if a page may take the tool from one that holds it and has become silent."""
        return False

    def hand(self, moved: Sequence[float], turned: Sequence[float], buttons: int) -> bool:
        """Move the tool: displacement [m] and turn (w, x, y, z) in the world since `hold`.

        False: the view does not have it.
        """
        return False

    def command(self, message: Mapping[str, Any]) -> None:
        """Handle the other messages of a page, see `messages.KINDS`."""


def unit_scales(motion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest displacement by a unit of each coordinate; motion: (r, v, 3)."""
    scales: NDArray[np.float64] = np.sqrt((motion**2).sum(axis=2).max(axis=1))
    if not np.isfinite(scales).all():
        raise InputError("the shapes are not finite")
    return scales


def compressed(
    moved: NDArray[np.float64], error: float = _MOST_ERROR
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coordinates (m, r) and shapes (r, v, 3) of displacements (m, v, 3), nearly equal.

    error: of the displacements, over their norm.
    """
    flat = moved.reshape(len(moved), -1)
    squares, vectors = np.linalg.eigh(flat @ flat.T)
    squares = np.maximum(squares[::-1], 0.0)
    left = squares.sum() - np.cumsum(squares)
    r = 1 + int((left > error**2 * squares.sum()).sum())
    q = np.ascontiguousarray(vectors[:, ::-1][:, :r])
    return q, (q.T @ flat).reshape(r, *moved.shape[1:])
