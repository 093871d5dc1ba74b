"""Recorded motions of worlds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, BinaryIO, overload

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import count, integer
from reducedfem.base.frozen import frozen_array
from reducedfem.base.run import Progress, callback
from reducedfem.dynamics.free_body import FreeBody, FreeBodyState
from reducedfem.dynamics.integrator import Simulation
from reducedfem.dynamics.recorded import Force, Motion, of_states, recorded
from reducedfem.errors import InputError, InputTypeError
from reducedfem.io import world_files
from reducedfem.io.saved import Saved
from reducedfem.world.world import World

__all__ = ["WorldMotion", "record_motion"]

Array = NDArray[np.float64]

_LEAST_INDEX = -1_000_000  # of fixed bodies; files that have less are damaged


@dataclass(frozen=True, eq=False, repr=False)
class WorldMotion(Saved):
    """A recorded motion of a world: of each body, and the dimples; the arrays are read-only.

    `record_motion` records one. ``view(world, motion=motion)`` and `export_html` play it,
    `export_vtk` writes it to files; `save` stores it, `load` reads it. A slice is a motion too:
    ``motion[::10]`` has every tenth state.

    Attributes
    ----------
    times
        Times since the first step of the world [s], ascending, shape (s,).
    bodies
        `Motion` of each body at these times, with poses and rates.
    dimples
        By the index of a body with a local compliance, or of a fixed one (-2, -3, ...): the
        displacements of the points of its shell in the frame of its mesh [m], shape (s, n, 3), see
        `World.dimple`.

    Raises
    ------
    InputError, InputTypeError
        A motion has other times, or no poses or rates; an array has a wrong shape, or a value that
        is not finite; there is neither a body nor a dimple.
    """

    times: Array
    bodies: Sequence[Motion]
    dimples: Mapping[int, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = frozen_array(self.times, "times")
        if times.ndim != 1 or not len(times):
            raise InputError(f"times must have shape (s,), s at least 1, got {times.shape}")
        if not isinstance(self.bodies, Sequence) or isinstance(self.bodies, str):
            raise InputTypeError(
                f"bodies must be a list of Motion, got {type(self.bodies).__name__}"
            )
        if not isinstance(self.dimples, Mapping):
            raise InputTypeError(
                "dimples must be a mapping of indices of bodies to arrays, got "
                f"{type(self.dimples).__name__}"
            )
        bodies = tuple(self.bodies)
        for k, one in enumerate(bodies):
            if not isinstance(one, Motion):
                raise InputTypeError(f"bodies[{k}] must be a Motion, got {type(one).__name__}")
            if not np.array_equal(one.times, times):
                raise InputError(
                    f"bodies[{k}] has other times than the world: record them together"
                )
            if one.poses is None or one.rates is None or one.qdot is None:
                raise InputError(f"bodies[{k}] must have poses and rates, those of a free body")
        dimples = {}
        for name, given in self.dimples.items():
            number = integer(name, "dimples: an index")
            if not (0 <= number < len(bodies) or _LEAST_INDEX <= number <= -2):
                raise InputError(
                    f"dimples has the index {number}; those of bodies are 0 to {len(bodies) - 1}, "
                    "those of fixed ones -2, -3, ..."
                    if bodies
                    else f"dimples has the index {number}; those of fixed bodies are -2, -3, ..."
                )
            u = frozen_array(given, f"dimples[{number}]")
            if u.ndim != 3 or u.shape != (len(times), u.shape[1], 3) or not u.size:
                raise InputError(
                    f"dimples[{number}] must have shape ({len(times)}, n, 3), got {u.shape}"
                )
            dimples[number] = u
        if not (bodies or dimples):
            raise InputError("bodies is empty, and so is dimples: there is no motion")
        if not bodies:
            Motion(times, next(iter(dimples.values())))  # to check the times
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "bodies", bodies)
        object.__setattr__(self, "dimples", MappingProxyType(dimples))

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return float(self.times[-1] - self.times[0])

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, part: slice) -> WorldMotion:
        if not isinstance(part, slice):
            raise InputTypeError(
                "a WorldMotion has slices only, such as motion[::10], got "
                f"{type(part).__name__}; motion.bodies[0].q has the coordinates of a body"
            )
        return self._at(np.arange(len(self))[part])

    def _at(self, index: NDArray[np.int64]) -> WorldMotion:
        """Return the states at ascending indices."""
        bodies = [one._at(index) for one in self.bodies]
        dimples = {number: u[index] for number, u in self.dimples.items()}
        return WorldMotion(self.times[index], bodies, dimples)

    def __repr__(self) -> str:
        dimples = f", {len(self.dimples)} with dimples" if self.dimples else ""
        return (
            f"<WorldMotion: {len(self)} states in {self.duration:g} s, {len(self.bodies)} bodies"
            f"{dimples}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return WorldMotion, (self.times, self.bodies, dict(self.dimples))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file in the safetensors format, completely or not at all; see `load`.

        The file has the motion, but neither the models of the bodies nor the ground.

        Parameters
        ----------
        path
            File name; ``.safetensors`` is added if there is no suffix, others are refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        world_files.save(path, _arrays(self))

    @classmethod
    def _read(cls, stream: BinaryIO, size: int, name: str) -> WorldMotion:
        return world_files.read(stream, size, name, _of_arrays)


def _arrays(motion: WorldMotion) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file."""
    s, bodies, dimples = len(motion), motion.bodies, motion.dimples

    def joined(parts: Iterable[Array | None]) -> Array:
        flat = [one.reshape(s, -1) for one in parts if one is not None]
        return np.concatenate([np.zeros((s, 0)), *flat], axis=1)

    return {
        "times": motion.times,
        "coordinates": np.array([one.q.shape[1] for one in bodies], dtype=np.int32),
        "q": joined(one.q for one in bodies),
        "qdot": joined(one.qdot for one in bodies),
        "poses": joined(one.poses for one in bodies).reshape(s, -1, 7),
        "rates": joined(one.rates for one in bodies).reshape(s, -1, 6),
        "dimpled": np.array(list(dimples), dtype=np.int32),
        "points": np.array([u.shape[1] for u in dimples.values()], dtype=np.int32),
        "dimples": joined(dimples.values()).reshape(s, -1, 3),
    }


def _of_arrays(arrays: Mapping[str, NDArray[Any]]) -> WorldMotion:
    """Return the motion in the arrays of a file."""
    times = arrays["times"]

    def parts(name: str, counts: NDArray[Any]) -> list[Array]:
        return np.split(arrays[name], np.cumsum(counts)[:-1], axis=1) if len(counts) else []

    q, qdot = (parts(name, arrays["coordinates"]) for name in ("q", "qdot"))
    bodies = [
        Motion(times, q[k], qdot[k], arrays["poses"][:, k], arrays["rates"][:, k])
        for k in range(len(q))
    ]
    dimples = parts("dimples", arrays["points"])
    return WorldMotion(times, bodies, dict(zip(arrays["dimpled"].tolist(), dimples, strict=True)))


def _record(world: World, n: int, every: int, progress: Progress) -> WorldMotion:
    bodies = range(len(world))
    sites = [*world._locals, *(-2 - j for j in range(len(world.fixed)))]
    times: list[float] = []
    states: list[list[FreeBodyState]] = [[] for _ in bodies]
    dimples: dict[int, list[Array]] = {number: [] for number in sites}

    def take() -> None:
        times.append(world.report.steps * world.dt)
        for k in bodies:
            states[k].append(world.state(k))
        for number, found in dimples.items():
            found.append(world.dimple(number))

    take()
    with callback(progress, "steps") as tell:
        for done in _counts(n, every):
            world.step(done % every or every)
            if done % every == 0:
                take()
            if tell is not None:
                tell(done, n)
    return WorldMotion(
        np.array(times),
        [of_states(np.array(times), one) for one in states],
        {number: np.array(found) for number, found in dimples.items()},
    )


def _counts(n: int, every: int) -> Iterator[int]:
    """Yield the numbers of steps after which states are recorded, and n."""
    yield from range(every, n + 1, every)
    if n % every:
        yield n


@overload
def record_motion(
    sim: Simulation | FreeBody,
    n: int,
    force: Force = None,
    every: int = 1,
    *,
    progress: Progress = False,
) -> Motion: ...


@overload
def record_motion(
    sim: World, n: int, force: None = None, every: int = 1, *, progress: Progress = False
) -> WorldMotion: ...


def record_motion(
    sim: Simulation | FreeBody | World,
    n: int,
    force: Force = None,
    every: int = 1,
    *,
    progress: Progress = False,
) -> Motion | WorldMotion:
    """Advance a simulation and return its motion, which begins with the current state.

    Parameters
    ----------
    sim
        A time integrator, a `FreeBody` or a `World`.
    n
        Number of steps.
    force
        Force as in the method `step`, constant or a callable that returns the force of step i,
        i from 0 to n - 1. None: zero. A `World` takes none.
    every
        Number of steps between recorded states, at least 1.
    progress
        True for a progress bar, or a callable ``f(done, total)``.

    Returns
    -------
    Motion or WorldMotion
        n // every + 1 states, with `qdot`; of a `FreeBody` also with `poses` and `rates`; of a
        `World` a motion of each body, and the dimples of local compliances.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range; a force is given for a `World`, or it has no bodies.
    DivergedError
        The motion became infinite or NaN.
    """
    if not isinstance(sim, Simulation | FreeBody | World):
        raise InputTypeError(
            "sim must be a time integrator, such as ImplicitNewmark, a FreeBody or a World, got "
            f"{type(sim).__name__}"
        )
    steps = count(n, "n")
    stride = count(every, "every", steps, "the number of steps")
    if isinstance(sim, World):
        if force is not None:
            raise InputError(
                "force is given, but a World takes no forces in its steps: leave it out"
            )
        if not (len(sim) or sim.fixed):
            raise InputError("sim is a World without bodies: add some first")
        return _record(sim, steps, stride, progress)
    return recorded(sim, steps, force, stride, progress)
