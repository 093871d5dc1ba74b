"""Recorded motions: coordinates over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.frozen import frozen_array
from reducedfem.base.run import Progress, callback
from reducedfem.dynamics.free_body import FreeBody, FreeBodyState
from reducedfem.dynamics.integrator import Simulation
from reducedfem.errors import InputError, InputTypeError

__all__ = ["Force", "Motion", "advance", "carried", "of_states", "recorded"]

Array = NDArray[np.float64]
Force = ArrayLike | Callable[[int], ArrayLike | None] | None


@dataclass(frozen=True, eq=False)
class Motion:
    """A recorded motion: coordinates at several times; the arrays are read-only.

    `record_motion` records one; `export_gltf`, `export_vtk` and ``plot.animate`` write it to files.
    A slice is a motion too: ``motion[::10]`` has every tenth state.

    Attributes
    ----------
    times
        Times [s], ascending, shape (s,).
    q
        Reduced coordinates of a model, shape (s, r), or displacements of the nodes of a solid [m],
        shape (s, n, 3).
    qdot
        Time derivatives of `q` [1/s], of the same shape; or None.
    poses
        Centre of mass [m] and unit quaternion (w, x, y, z) of a free body, shape (s, 7); or None.
        Then vertex X is at p + R (X - c + U q), see `FreeBody`.
    rates
        Velocity of the centre [m/s] and angular velocity in the world [rad/s] of a free body,
        shape (s, 6); or None.

    Raises
    ------
    InputError, InputTypeError
        An array has a wrong shape or dtype, or a value that is not finite; `times` do not ascend;
        a quaternion of `poses` is not of unit length.
    """

    times: Array
    q: Array
    qdot: Array | None = None
    poses: Array | None = None
    rates: Array | None = None

    def __post_init__(self) -> None:
        for name in ("times", "q", "qdot", "poses", "rates"):
            value = getattr(self, name)
            if value is not None or name in ("times", "q"):
                object.__setattr__(self, name, frozen_array(value, name))
        times, n = self.times, len(self.times) if self.times.ndim else 0
        if times.ndim != 1 or n == 0:
            raise InputError(f"times must have shape (s,), s at least 1, got {times.shape}")
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if len(late):
            k = int(late[0]) + 1
            raise InputError(
                f"times[{k}] is {times[k]:g} after {times[k - 1]:g}: times must ascend"
            )
        if not (
            len(self.q.shape) in (2, 3)
            and len(self.q) == n
            and self.q.size
            and (self.q.ndim == 2 or self.q.shape[2] == 3)
        ):
            raise InputError(
                f"q must have shape ({n}, r), reduced coordinates at each of the times, or ({n}, "
                f"n_nodes, 3), displacements, got {self.q.shape}"
            )
        for name, shape in (("qdot", self.q.shape), ("poses", (n, 7)), ("rates", (n, 6))):
            value = getattr(self, name)
            if value is not None and value.shape != shape:
                raise InputError(f"{name} must have shape {shape}, got {value.shape}")
        if self.poses is not None:
            lengths = np.linalg.norm(self.poses[:, 3:], axis=1)
            wrong = np.flatnonzero(np.abs(lengths - 1.0) > 1e-6)
            if len(wrong):
                k = int(wrong[0])
                raise InputError(
                    f"poses[{k}, 3:] must be a unit quaternion, its length is {lengths[k]:g}"
                )
        elif self.rates is not None:
            raise InputError("rates must be None without poses: both are those of a free body")

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return float(self.times[-1] - self.times[0])

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, part: slice) -> Motion:
        if not isinstance(part, slice):
            raise InputTypeError(
                f"a Motion has slices only, such as motion[::10], got {type(part).__name__}; "
                "motion.q has the coordinates of a single state"
            )
        return self._at(np.arange(len(self))[part])

    def _at(self, index: NDArray[np.int64]) -> Motion:
        """Return the states at ascending indices."""
        arrays = (self.times, self.q, self.qdot, self.poses, self.rates)
        return Motion(*(None if one is None else one[index] for one in arrays))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        kind = f"r = {self.q.shape[1]}" if self.q.ndim == 2 else f"{self.q.shape[1]} nodes"
        free = "" if self.poses is None else ", free body"
        return f"<Motion: {len(self)} states in {self.duration:g} s, {kind}{free}>"


def carried(poses: Array, centre: Array, rest: Array, u: Array) -> Array:
    """Return world displacements of points of a free body displaced by u in the body.

    Shapes: poses (s, 7), centre at rest (3,), rest (n, 3), u (s, n, 3).
    """
    w, v = poses[:, None, 3:4], poses[:, None, 4:]
    arm = rest - centre + u
    turned: Array = arm + 2.0 * np.cross(v, np.cross(v, arm) + w * arm)
    return poses[:, None, :3] + turned - rest


def advance(
    sim: Simulation | FreeBody, n: int, force: Force, every: int, progress: Progress
) -> Iterator[int]:
    """Advance a simulation by n steps; yield the number of steps after every `every` of them."""
    with callback(progress, "steps") as tell:
        for i in range(n):
            sim.step(force(i) if callable(force) else force)
            if (i + 1) % every == 0:
                yield i + 1
            if tell is not None:
                tell(i + 1, n)


def recorded(
    sim: Simulation | FreeBody, n: int, force: Force, every: int, progress: Progress
) -> Motion:
    """Return the motion of n steps, which begins with the current state."""
    states: list[Any] = [sim.state]
    states += [sim.state for _ in advance(sim, n, force, every, progress)]
    times = np.array([one.time for one in states])
    if isinstance(sim, FreeBody):
        return of_states(times, states)
    return Motion(
        times, *(np.array([getattr(one, name) for one in states]) for name in ("q", "qdot"))
    )


def of_states(times: Array, states: Sequence[FreeBodyState]) -> Motion:
    """Return the motion of a free body in some states."""
    parts = (("q",), ("qdot",), ("position", "quaternion"), ("velocity", "angular_velocity"))
    columns = [
        np.array([np.concatenate([getattr(one, name) for name in names]) for one in states])
        for names in parts
    ]
    return Motion(times, *columns)
