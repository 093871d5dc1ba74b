"""Bases from simulated motions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem._check import count, reals
from reducedfem._identity import made_for
from reducedfem._run import Progress, callback
from reducedfem.basis import Basis, mass_pca
from reducedfem.errors import InputTypeError
from reducedfem.integrator import Simulation
from reducedfem.second_order import SecondOrderSystem
from reducedfem.solid import Solid

__all__ = ["pod_basis", "record_snapshots"]


def record_snapshots(
    sim: Simulation,
    n: int,
    force: ArrayLike | Callable[[int], ArrayLike | None] | None = None,
    every: int = 1,
    *,
    progress: Progress = False,
) -> NDArray[np.float64]:
    """Advance a simulation and return displacements on the way.

    Parameters
    ----------
    sim
        An `ImplicitNewmark` or a `CentralDifferences`, of a solid or of a model; it is advanced
        from where it is.
    n
        Number of steps.
    force
        As in their method `step`: constant, or a callable that returns the force of step i,
        i from 0 to n - 1. None: none.
    every
        A snapshot is taken after each `every` steps.
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
        The motion left the finite numbers.
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
    """Return the basis of a simulated motion: proper orthogonal decomposition.

    Mass-PCA of displacements on the way, about rest (Barbic 2007, sections 2.8 and 2.13.1,
    "re-simulation"): as good as a basis of r directions gets for that motion, and for motions
    like it only.

    Parameters
    ----------
    solid
        Gives mass and fixed nodes; of a `SecondOrderSystem` the mass.
    snapshots
        Displacements [m], shape (m, n, 3): see `record_snapshots`. Of a `SecondOrderSystem`
        its states x, (m, n).
    r
        Size of the basis, at most the rank of the snapshots. None: 30, or that rank where it is
        less.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Basis
        As `mass_pca`.

    Raises
    ------
    InputError, InputTypeError
        A wrong shape, a value that is not finite, a snapshot that moves a fixed node, or `r` out
        of range.
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
