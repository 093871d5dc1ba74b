"""Solids in explicit steps that a hand touches directly."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core as core
from reducedfem.base.check import choice, number
from reducedfem.base.console import count_text
from reducedfem.contact.combined_field import Field
from reducedfem.dynamics.contact_arguments import proxies_of
from reducedfem.dynamics.explicit import CentralDifferences
from reducedfem.errors import InputError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.surface import Surface
from reducedfem.solid.solid import Solid
from reducedfem.touch.touched import Touched

__all__ = ["ExplicitTouch", "is_touched", "touched_of"]

_WAYS = ("delay", "stiffness")
# part of the time that steps may take, in a cycle and in a thread of their own
_IN_CYCLE, _IN_THREAD = 0.5, 0.9
# bound of the time of a step with damping inside in contact of few nodes: its work is a solve, and
# contact has another one
_IN_CONTACT = 2.0
_RATE = 200.0  # Hz
_TRIALS, _PATIENCE = 5, 0.1  # s
_EQUAL = 1e-6  # relative, of times
_OFTEN = 0.01  # part of the periods


class ExplicitTouch(Touched):
    """A `CentralDifferences` whose `RigidProxy`, the first of several, the hand moves.

    A session has a simulation of its own, which begins in the state of the one given and returns
    its state to it.
    """

    __slots__ = ("_core", "_count", "_given", "_inverted", "_period", "_rate", "_twin", "_way")

    _core: core.ExplicitTouch
    _count: int  # steps in a period
    _given: CentralDifferences
    _inverted: int  # elements at the end of the session
    _period: float  # s
    _twin: CentralDifferences
    _way: str | None

    def __init__(
        self, given: CentralDifferences, interpolation: object, rate: float | None
    ) -> None:
        if not given._bodies:
            raise InputError(
                "contact is a CentralDifferences without a tool for the hand: make it with "
                "contact=RigidProxy(field)"
            )
        self._way = None
        if interpolation is not None:
            self._way = choice(interpolation, "interpolation", _WAYS)
        if rate is not None and self._way is None:
            raise InputError(
                f"simulation_rate is {rate:g} Hz, but interpolation is None, with which the steps "
                'are made in each cycle: pass interpolation="stiffness" or "delay" too, or leave '
                "simulation_rate out"
            )
        self._rate = _RATE if rate is None else rate
        self._given, self._inverted = given, 0

    @property
    def given(self) -> CentralDifferences:
        """The simulation as given."""
        return self._given

    @property
    def pose(self) -> Pose:
        """Pose of the frame of the solid: that of the world."""
        return Pose((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))

    @property
    def _mesh(self) -> Mesh:
        system = self._given.system
        assert isinstance(system, Solid)
        return system.mesh

    @property
    def _size(self) -> str:
        return count_text(self._mesh.n_nodes, "node")

    @property
    def _drawn(self) -> Surface:
        return self._mesh.surface()

    @property
    def _shape(self) -> Field:
        return self._given._bodies[0].field

    def _moved(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = np.zeros((self._mesh.n_nodes, 3))
        found = proxies_of(self._given._bodies, self._given.system)
        assert found is not None
        moved[found[1]] = coordinates.reshape(-1, 3)
        return moved[self._mesh.boundary_nodes]

    def _box(self) -> NDArray[np.float64]:
        nodes = self._mesh.nodes
        return np.stack([nodes.min(axis=0), nodes.max(axis=0)])

    def _begin(self, dt: float) -> None:
        """Make the simulation of a session with cycles of a length [s]."""
        cycles = 1 if self._way is None else self._cycles(dt)
        period = cycles * dt
        steps = self._steps(period)
        self._twin = self._given._clone(contact=[copy.copy(one) for one in self._given._bodies])
        tool = self._twin._bodies[0]
        self._period, self._count = period, steps
        self._core = core.ExplicitTouch(
            self._twin._core, tool._core, self._way or "direct", dt, cycles, steps
        )

    def _cycles(self, dt: float) -> int:
        ratio = 1.0 / (dt * self._rate)
        if not (ratio > 0.5 and abs(ratio - round(ratio)) < _EQUAL * ratio):
            fewer = max(1, int(ratio))
            near = [1.0 / (dt * n) for n in ((fewer, fewer + 1) if ratio > 1.0 else (1,))]
            raise InputError(
                f"simulation_rate is {self._rate:g} Hz, which must divide the rate of the session, "
                f"{1.0 / dt:g} Hz: take {' or '.join(f'{one:g}' for one in near)}, or another rate"
            )
        return round(ratio)

    def _steps(self, period: float) -> int:
        step = self._given.dt
        ratio = period / step
        if not (ratio > 0.5 and abs(ratio - round(ratio)) < _EQUAL * ratio):
            where = "a cycle" if self._way is None else "a period of the simulation"
            slower = "" if self._way or ratio > 1.0 else ', or pass interpolation="stiffness"'
            n = max(1, int(np.ceil(ratio)))
            raise InputError(
                f"contact has steps of {step:g} s, which must divide {where} of {period:g} s into "
                f"whole steps: make it with dt={period:g}{f'/{n}' if n > 1 else ''}{slower}"
            )
        return round(ratio)

    def _require_real_time(self) -> None:
        period, steps = self._period, self._count
        # without the tool, which is not at the hand yet
        cost = _cost(self._given._free(), steps)
        if self._given._damped_inside:
            cost *= _IN_CONTACT
        part = _IN_CYCLE if self._way is None else _IN_THREAD
        if cost <= part * period:
            return
        taken = (
            f"{count_text(steps, 'step')} of the simulation took {1e6 * cost:.0f} us here, more "
            f"than {part:.0%} of"
        )
        ways = "a coarser mesh, linear elements, a softer or heavier solid, or a longer stable dt"
        if self._way is None:
            if cost <= _IN_THREAD * period:
                ways = 'interpolation="stiffness" or "delay", which have a thread for it'
            raise InputError(f"interpolation is None, but {taken} a cycle, {1e6 * period:g} us: "
                             f"take {ways}")  # fmt: skip
        raise InputError(
            f"simulation_rate is {self._rate:g} Hz, but {taken} a period, {1e6 * period:g} us: "
            f"take {ways}"
        )

    def _damped_time(self, dt: float, delay: float) -> float:
        """Return the time by which stiffness asks for damping [s]."""
        if self._way != "stiffness":
            return super()._damped_time(dt, delay)
        missed: float = self._core.report()["missed"]
        return 0.5 * dt + min(missed, 1.0) * delay

    def _restore(self, session: core.Session) -> None:
        self._given._bodies[0].move(self._twin.contacts[0].pose)
        self._given._resume(self._twin._data()[2])
        system = self._given.system
        assert isinstance(system, Solid)
        self._inverted = system._core.inverted(self._given.displacement)

    def _advice(self, status: dict[str, Any]) -> list[str]:
        found, happened = [], self._core.report()
        if happened["failure"]:
            ended = (
                "the simulation ended, and with it the session, whose force was zero at once"
                if self._way is None
                else "the simulation ended and the force faded out"
            )
            found.append(f"{ended}: {happened['failure']}")
        elif status["touching"] and not status["stiffest"]:
            found.append(
                "the tool touched for too short a time to measure the stiffness of the contact: "
                "the damping that it asks for is not known"
            )
        if happened["stalls"]:
            found.append(
                f"the force faded out {count_text(happened['stalls'], 'time')}, as the thread of "
                "the simulation did not run: take a lower simulation_rate, or free a processor"
            )
        if happened["late"] > _OFTEN * happened["periods"]:
            found.append(
                f"{count_text(happened['late'], 'period')} of the simulation took longer than "
                "their time, so the solid moved slower than real: take a coarser mesh, a longer "
                "dt, or free a processor"
            )
        if self._inverted:
            found.append(
                f"{self._inverted} of {count_text(self._mesh.n_elements, 'element')} were inside "
                "out at the end, as no real solid is: press less deep, or take StableNeoHookean or "
                "a stiffer solid"
            )
        return found


def _cost(sim: CentralDifferences, steps: int) -> float:
    """Return the time of a period [s], which the simulation makes."""
    trials: list[float] = []
    while len(trials) < _TRIALS and sum(trials) < _PATIENCE:
        begun = time.perf_counter()
        sim._core.step(None, steps, None, 1, 0.0)
        trials.append(time.perf_counter() - begun)
    return min(trials)


# bodies to touch that are made of a simulation
_MADE: dict[type, Callable[[Any, Any, float | None], Touched]] = {CentralDifferences: ExplicitTouch}


def is_touched(item: object) -> bool:
    """Return True if a hand can touch it directly."""
    return isinstance(item, (Touched, *_MADE))


def touched_of(contact: object, interpolation: object, simulation_rate: object) -> Touched | None:
    """Return the body that a hand touches directly; None: `contact` is another kind of argument."""
    rate = None if simulation_rate is None else number(simulation_rate, "simulation_rate")
    if rate is not None and not rate > 0.0:
        raise InputError(f"simulation_rate must be positive, got {rate:g} Hz")
    for kind, make in _MADE.items():
        if isinstance(contact, kind):
            return make(contact, interpolation, rate)
    for name, given in (("interpolation", interpolation), ("simulation_rate", simulation_rate)):
        if given is None:
            continue
        raise InputError(
            f"{name} is {given!r}, but a {type(contact).__name__} has its states in "
            "each cycle: leave it out; it is for a CentralDifferences with contact=RigidProxy(...)"
        )
    return contact if isinstance(contact, Touched) else None
