"""Motion bases from simulated motions (POD)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from reducedfem.base.check import reals
from reducedfem.base.run import Progress
from reducedfem.reduction.basis import Basis, mass_pca
from reducedfem.reduction.identity import made_for
from reducedfem.solid.second_order import SecondOrderSystem
from reducedfem.solid.solid import Solid

__all__ = ["pod_basis"]


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
