"""Static compliance that a basis leaves out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import fields, reals
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError
from reducedfem.reduction.basis import Basis
from reducedfem.reduction.identity import require_of, require_reduced, stiffness_at_rest
from reducedfem.reduction.model_contents import MAX_R
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.held import require_held, require_movable
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["lacking_compliance"]


def lacking_compliance(
    solid: Solid,
    basis: Basis | ReducedSolid | ArrayLike,
    force: ArrayLike,
    *,
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return the share of the static compliance under loads that a basis leaves out.

    A small load f moves the solid by u, K u = f, and a model with the basis U by
    U (U^T K U)^-1 U^T f, with the stiffness K at rest. The model does a part of the work f^T u;
    the rest is the share that it lacks: 0 if u is in the span of the basis, 1 if the model does not
    yield at all. A model that lacks 0.8 gives way a fifth as far, in the direction of the load.

    It costs a factor of the stiffness and one solution for each load, and needs no reduced model:
    use it to choose `k` and `r` of a basis, with the loads of the application
    (``docs/howto/basis_size.md``). For contact at any point of a shell, `LocalCompliance.lacking`
    has the same share for unit forces at points.

    Parameters
    ----------
    solid
        The solid. Without fixed nodes its rigid motion carries the resultant of a load, and u is
        the deformation (inertia relief).
    basis
        A `Basis`, a reduced model of `solid`, or deformations (r, n, 3), r at most 256, zero at
        fixed nodes.
    force
        Loads [N]: one (n, 3) or (3n,), or several (m, n, 3). Their size does not matter.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Returns
    -------
    (m,) array
        Shares from 0 to 1; m is 1 for a single load. Shares below 1e-10 are rounding; of slender
        solids, or of soft and stiff materials, more: 1e-16 of the largest stiffness in K, over that
        of the bending.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value, or belongs to another solid; a load does no
        work, because it is zero, acts on fixed nodes alone, or only accelerates a free solid.
    MeshError
        A part of the solid can move rigidly, except for a free solid as a whole.
    SingularMatrixError
        The vectors of the basis are linearly dependent, or rigid motions.

    Warns
    -----
    PlausibilityWarning
        A `Basis` was made for other fixed nodes, or for materials with other ratios of stiffness
        or density.
    """
    shares: NDArray[np.float64] = lacking_and_work(solid, basis, force, progress, 3)[0].copy()
    return shares


def lacking_and_work(
    solid: Solid,
    basis: Basis | ReducedSolid | ArrayLike,
    force: ArrayLike,
    progress: Progress,
    stacklevel: int = 2,
) -> NDArray[np.float64]:
    """Return the same shares, and the works f^T u of the loads [J], (2, m)."""
    require_solid(solid)
    n = solid.mesh.n_nodes
    if isinstance(basis, ReducedSolid):
        require_reduced(basis, solid, "basis")
        stiffness_at_rest(basis, solid, "basis")
        vectors = basis.basis
    elif isinstance(basis, Basis):
        vectors = fields(basis.vectors, "basis", n)
        require_of(solid, basis.provenance, "basis", stacklevel)
    else:
        vectors = fields(basis, "basis", n)
    if not 1 <= len(vectors) <= MAX_R:
        raise InputError(f"basis must have 1 to {MAX_R} vectors, got {len(vectors)}")
    loads = reals(force, "force")
    if loads.shape in ((n, 3), (3 * n,)):
        loads = loads.reshape(1, n, 3)
    elif loads.ndim != 3 or loads.shape[1:] != (n, 3):
        raise InputError(
            f"force must have shape ({n}, 3), ({3 * n},) or (any, {n}, 3), got {loads.shape}"
        )
    require_movable(solid._core)
    require_held(solid._core, vectors, "basis")
    with callback(progress, "lacking compliance") as tell:
        return _core.lacking_compliance(solid._core, vectors, loads, tell, threads())
