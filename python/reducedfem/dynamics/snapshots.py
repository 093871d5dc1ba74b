"""Snapshots of simulated motions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import count
from reducedfem.base.run import Progress
from reducedfem.dynamics.integrator import Simulation
from reducedfem.dynamics.recorded import Force, advance
from reducedfem.errors import InputTypeError

__all__ = ["record_snapshots"]


def record_snapshots(
    sim: Simulation,
    n: int,
    force: Force = None,
    every: int = 1,
    *,
    progress: Progress = False,
) -> NDArray[np.float64]:
    """Advance a simulation and return displacements at regular intervals.

    Parameters
    ----------
    sim
        A time integrator of a solid or of a model; it advances from its current state.
    n
        Number of steps.
    force
        Force as in the method `step`, constant or a callable that returns the force of step i,
        i from 0 to n - 1. None: zero.
    every
        Number of steps between snapshots, at least 1.
    progress
        True for a progress bar, or a callable ``f(done, total)``.

    Returns
    -------
    (n // every, n_nodes, 3) float64 array
        Displacements [m].

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range.
    DivergedError
        The motion became infinite or NaN.
    """
    if not isinstance(sim, Simulation):
        raise InputTypeError(
            "sim must be a time integrator, such as ImplicitNewmark, got " f"{type(sim).__name__}"
        )
    steps = count(n, "n")
    stride = count(every, "every", steps, "the number of steps")
    taken = np.empty((steps // stride, *sim.displacement.shape))
    for done in advance(sim, steps, force, stride, progress):
        taken[done // stride - 1] = sim.displacement
    return taken
