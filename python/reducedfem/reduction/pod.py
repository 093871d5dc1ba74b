"""Motion bases from simulated motions (POD)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import count, reals
from reducedfem.base.run import Progress, callback
from reducedfem.dynamics.integrator import Simulation
from reducedfem.errors import InputTypeError
from reducedfem.reduction.basis import Basis, mass_pca
from reducedfem.reduction.identity import made_for
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["pod_basis", "record_snapshots"]


def record_snapshots(
    sim: Simulation,
    n: int,
    force: ArrayLike | Callable[[int], ArrayLike | None] | None = None,
    every: int = 1,
    *,
    progress: Progress = False,
) -> NDArray[np.float64]:
    """Advance a simulation and return displacements at regular intervals.

    Parameters
    ----------
    sim
        An `ImplicitNewmark` or `CentralDifferences` of a solid or of a model; it advances from its
        current state.
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
            "sim must be an ImplicitNewmark or a CentralDifferences, got " f"{type(sim).__name__}"
        )
    steps = count(n, "n")
    stride = count(every, "every", steps, "the number of steps")
    taken = np.empty((steps // stride, *sim.displacement.shape))
    with callback(progress, "steps") as tell:
        for i in range(steps):
            sim.step(force(i) if callable(force) else force)
            if (i + 1) % stride == 0:
                taken[i // stride] = sim.displacement
            if tell is not None:
                tell(i + 1, steps)
    return taken


def pod_basis(
    solid: Solid | SecondOrderSystem,
    snapshots: ArrayLike,
    r: int | None = None,
    *,
    progress: Progress = None,
) -> Basis:
    """Return the basis of a simulated motion by proper orthogonal decomposition.

    Mass-PCA of displacements about rest (Barbic 2007, sections 2.8 and 2.13.1, "re-simulation").
    The basis is optimal for the recorded motion and useful for similar motions only.

    Parameters
    ----------
    solid
        The solid, for its mass and fixed nodes; or a `SecondOrderSystem`, for its mass.
    snapshots
        Displacements [m], shape (m, n, 3), as from `record_snapshots`; for a `SecondOrderSystem`
        its states x, (m, n).
    r
        Size of the basis, at most the rank of the snapshots. None: 30, or the rank if that is
        less.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Basis
        As from `mass_pca`.

    Raises
    ------
    InputError, InputTypeError
        An array has a wrong shape or a value that is not finite, a snapshot moves a fixed node, or
        `r` is out of range.
    MeshError
        Every node of the solid is fixed.
    """
    reals(snapshots, "snapshots")
    basis = mass_pca(solid, snapshots, r, progress=progress)
    provenance = {
        "method": "POD",
        "snapshots": basis.provenance["deformations"],
        "r": basis.r,
        **made_for(solid),
    }
    return type(basis)(basis.vectors, basis.singular_values, basis.spectrum, provenance)
