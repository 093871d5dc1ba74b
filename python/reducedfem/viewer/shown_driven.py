"""Base class of views of simulations, which pages run and pull."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.viewer.drive import Drive
from reducedfem.viewer.shown import Frame, Shown

__all__ = ["FreePull", "Hit", "MotionPull", "Pull", "ShownDriven", "first_hit", "free_spring"]

Reals = NDArray[np.float64]
Hit = tuple[int, Reals, Reals, float]  # triangle, weights of its corners, point, distance

_PULL = (0.86, 0.27, 0.22)
_SAG = 0.05  # of its length, by which a free body sags under its weight
_GRAVITY = 9.81  # m/s^2


class Pull:
    """A point that is pulled: its spring, and the place to which that pulls."""

    def __init__(self, point: Reals, stiffness: float) -> None:
        self.stiffness = stiffness
        self.place, self.point = point.copy(), point.copy()
        self.force: Reals = np.zeros(3)

    def _step(self, n: int) -> Any:
        raise NotImplementedError

    def step(self, n: int) -> None:
        """Make n steps of the simulation with the spring."""
        force, point = self._step(n)
        self.force, self.point = np.array(force), np.array(point)


class MotionPull(Pull):
    """A pull at a point of a time integrator, with the arguments of `_core.pull`."""

    def __init__(self, core: Any, point: Reals, rest: Reals, where: Any, stiffness: float) -> None:
        super().__init__(point, stiffness)
        self._core, self._rest, self._where = core, rest, where

    def _step(self, n: int) -> Any:
        return _core.pull(
            self._core, self._rest, self._where, self.stiffness, self.place, None, n, threads()
        )


class FreePull(Pull):
    """A pull at a point of a free body (index -1) or of a body of a world."""

    def __init__(
        self, core: Any, index: int, point: Reals, rest: Reals, rows: Reals,
        spring: tuple[float, float],
    ) -> None:  # fmt: skip
        super().__init__(point, spring[0])
        self._arguments = core, index, rest, rows, spring

    def _step(self, n: int) -> Any:
        return _core.pull_free(*self._arguments, self.place, n, threads())


def free_spring(mass: float, nodes: Reals, stiffness: float | None) -> tuple[float, float]:
    """Return stiffness [N/m] and damping [N s/m] of the spring that pulls a free body."""
    length = float(np.linalg.norm(np.ptp(nodes, axis=0)))
    k = stiffness if stiffness is not None else mass * _GRAVITY / (_SAG * length)
    return k, 2.0 * float(np.sqrt(k * mass))


def first_hit(vertices: Reals, triangles: NDArray[Any], origin: Reals, way: Reals) -> Hit | None:
    """Return where a ray first meets a triangle; None: nowhere."""
    # scenes may have single precision
    exact = vertices.astype(np.float64)
    k, distance, *weights = _core.surface_cast(exact, triangles, origin, way)
    if k < 0:
        return None
    at = np.array(weights)
    return k, at, at @ exact[triangles[k]], distance


class ShownDriven(Shown):
    """A simulation in a thread of its own; derived classes define `_plain` and `_grip`."""

    def __init__(self, dt: float, *, playing: bool) -> None:
        self._hand: Pull | None = None
        self._resumes = True  # runs on after a pull
        self._lock = threading.Lock()
        self._drive = Drive(self._advance, dt, playing=playing)

    def _plain(self, n: int) -> None:
        """Make n steps without a pull."""
        raise NotImplementedError

    def _grip(self, origin: Reals, direction: Reals) -> Pull | None:
        """Return a pull at the first point on a ray that can be pulled."""
        return None

    def begin(self) -> None:
        """Start the thread of the simulation."""
        self._drive.start()

    def end(self) -> None:
        """End it."""
        self._drive.end()

    def watch(self, on: bool) -> None:
        """Run only while there are pages."""
        self._drive.watch(on)

    def _advance(self, n: int) -> None:
        with self._lock:
            hand = self._hand
        if hand is None:
            self._plain(n)
        else:
            hand.step(n)

    def _frame(self, bodies: list[dict[str, Any]], numbers: list[tuple[str, float, str]]) -> Frame:
        """Return a frame with the numbers and the arrow that all simulations have."""
        with self._lock:
            hand = self._hand
        arrows = []
        if self._drive.cost:
            numbers.append(("step", self._drive.cost, "s"))
        if hand is not None:
            numbers.append(("force of the pull", float(np.linalg.norm(hand.force)), "N"))
            numbers.append(("stiffness of the pull", hand.stiffness, "N/m"))
            arrows.append({"from": hand.point, "to": hand.place, "colour": _PULL})
        return {"bodies": bodies, "arrows": arrows, "numbers": numbers, **self._drive.status()}

    def pull(self, body: int, origin: NDArray[Any], direction: NDArray[Any]) -> Any:
        """Start to pull at the first point of a surface on a ray; the simulation runs."""
        hand = self._grip(origin, direction)
        if hand is None:
            return None
        with self._lock:
            self._hand = hand
            self._resumes = self._drive.playing
        self._drive.play()
        return hand.point

    def move(self, place: NDArray[Any]) -> None:
        """Move the place to which the spring pulls."""
        with self._lock:
            if self._hand is not None:
                self._hand.place = place

    def release(self) -> None:
        """Release the point; the simulation runs on if it ran before."""
        with self._lock:
            held, self._hand = self._hand, None
        if held is not None and not self._resumes:
            self._drive.play(False)

    def command(self, message: Mapping[str, Any]) -> None:
        """Handle the buttons of a page."""
        if self._drive.command(message):
            self._resumes = self._drive.playing
