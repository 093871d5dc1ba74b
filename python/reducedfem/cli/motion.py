"""Motion of a simulation from the command line, and the energy along it."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.console import Console, count_text
from reducedfem.dynamics.free_body import FreeBody, FreeBodyState
from reducedfem.dynamics.implicit_report import ImplicitReport
from reducedfem.dynamics.newmark import ImplicitNewmark
from reducedfem.dynamics.recorded import Motion as Recorded
from reducedfem.dynamics.recorded import carried
from reducedfem.errors import DivergedError, PlausibilityWarning
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["Balance", "Motion", "energy_balance", "record"]

_ENERGIES = 1000  # number of evaluations along a motion


@dataclass(frozen=True)
class Motion:
    """Coordinates and their rates at the start and after each step, (steps + 1, r).

    ``poses`` contains centre and quaternion of a free body, (steps + 1, 7); otherwise None.
    """

    q: NDArray[np.float64]
    qdot: NDArray[np.float64]
    poses: NDArray[np.float64] | None
    report: ImplicitReport | None
    per_step: float  # s
    failure: DivergedError | None

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.q) - 1

    def recorded(self, times: NDArray[np.float64]) -> Recorded:
        """Return the motion for exports."""
        return Recorded(times, self.q, self.qdot, self.poses)

    def farthest(self, model: ReducedSolid) -> NDArray[np.float64]:
        """Return the displacements (n, 3) at the step of the largest, by an upper bound."""
        reach = np.linalg.norm(model.basis, axis=2).max(axis=1)
        return model.displacement(self.q[(np.abs(self.q) @ reach).argmax()])

    def carried(
        self, model: ReducedSolid, rest: NDArray[np.float64], u: NDArray[np.float64], at: slice
    ) -> NDArray[np.float64]:
        """Return world displacements at some steps of points displaced by u in the body."""
        if self.poses is None or model.rigid_body is None:
            return u
        return carried(self.poses[at], model.rigid_body.centre, rest, u)

    def deformations(self, model: ReducedSolid, nodes: Sequence[int]) -> NDArray[np.float64]:
        """Return the displacements without the motion of a free body, (steps + 1, nodes, 3)."""
        u: NDArray[np.float64] = np.einsum("sr,rnc->snc", self.q, model.basis[:, nodes])
        return u

    def displacements(self, model: ReducedSolid, nodes: Sequence[int]) -> NDArray[np.float64]:
        """Return the displacements of some nodes at every step, (steps + 1, nodes, 3)."""
        u = self.deformations(model, nodes)
        return self.carried(model, model.mesh.nodes[nodes], u, slice(None))


def record(
    args: argparse.Namespace,
    sim: ImplicitNewmark | FreeBody,
    force: NDArray[np.float64],
    pushed: int,
    console: Console,
) -> Motion:
    """Record a run step by step, then time a second run without recording."""
    q = np.zeros((args.steps + 1, len(sim.state.q)))
    qdot = np.zeros_like(q)
    poses = np.zeros((args.steps + 1, 7)) if isinstance(sim, FreeBody) else None
    if poses is not None:
        poses[0] = _pose(sim)
    failure: DivergedError | None = None
    done = 0
    with console.stage("simulate") as stage, warnings.catch_warnings():
        # shown later, for the motion as a whole
        warnings.simplefilter("ignore", PlausibilityWarning)
        try:
            for i in range(args.steps):
                sim.step(force if i < pushed else None)
                done = i + 1
                state = sim.state
                q[done], qdot[done] = state.q, state.qdot
                if poses is not None:
                    poses[done] = _pose(sim)
                stage.show(done, args.steps)
        except DivergedError as error:
            failure = error
        report = None if isinstance(sim, FreeBody) else sim.report
        sim.reset()
        start = time.perf_counter()
        sim.step(force, n=min(pushed, done))
        sim.step(None, n=max(0, done - pushed))
        per_step = (time.perf_counter() - start) / max(done, 1)
        stage.result = count_text(done, "step")
    poses = None if poses is None else poses[: done + 1]
    return Motion(q[: done + 1], qdot[: done + 1], poses, report, per_step, failure)


def _pose(body: ImplicitNewmark | FreeBody) -> NDArray[np.float64]:
    """Return centre and quaternion of a free body, (7,)."""
    state = body.state
    assert isinstance(state, FreeBodyState)
    return np.concatenate([state.position, state.quaternion])


@dataclass(frozen=True)
class Balance:
    """Energy that the steps add and remove, relative to the largest work of the loads.

    ``added`` is the largest excess of energy over work, which is an error of the time integration.
    ``lost`` is the part of the work that is no energy of the solid at the end; without damping it
    is an error as well. It is None for free bodies: only the energy of their deformation is known.
    """

    added: float
    lost: float | None


def energy_balance(
    args: argparse.Namespace,
    model: ReducedSolid,
    motion: Motion,
    nodal: NDArray[np.float64],
    pushed: int,
) -> Balance:
    """Compare the energy of the solid with the work of force and gravity."""
    steps = np.unique(np.linspace(0, motion.steps, _ENERGIES).astype(int))
    q, qdot = motion.q[steps], motion.qdot[steps]
    energy = 0.5 * np.einsum("si,ij,sj->s", qdot, model.mass, qdot)
    energy += [model.strain_energy(one) for one in q]
    # the trapezoidal rule: in the steps that begin and end the push the force does half the work
    acting = np.where(np.arange(motion.steps + 1) < pushed + 1, 1.0, 0.0)
    acting[0] = 0.0
    mean = 0.5 * (acting[1:] + acting[:-1])
    nodes: list[int] = np.flatnonzero(nodal.any(axis=1)).tolist()
    along = np.einsum("snc,nc->s", motion.displacements(model, nodes), nodal[nodes])
    work = np.concatenate([[0.0], (mean * np.diff(along)).cumsum()])[steps]
    if args.gravity is not None:
        work += q @ model.gravity(args.gravity)
    most = float(np.abs(work).max())
    if motion.poses is not None and not nodes:
        return Balance(0.0, None)  # gravity does not deform a free body
    if most == 0.0:
        return Balance(0.0, 0.0)
    if motion.poses is not None:
        return Balance(float(energy.max()) / most - 1.0, None)
    return Balance(float((energy - work).max()) / most, float(work[-1] - energy[-1]) / most)
