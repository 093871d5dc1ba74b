"""Combination of several bases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reducedfem import _core
from reducedfem.base.check import number
from reducedfem.base.frozen import thaw
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.reduction.basis import Basis, mass_pca
from reducedfem.reduction.identity import made_for, require_of
from reducedfem.solid.held import held_fields, require_movable
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["merge_bases"]

# smallest weight of a vector relative to the first one of its basis
_LEAST = 1e-6


def merge_bases(
    solid: Solid,
    bases: Sequence[Basis],
    r: int | None = None,
    *,
    tolerance: float = 1e-8,
    progress: Progress = None,
) -> Basis:
    """Return a mass-orthonormal basis of the span of several bases.

    Vectors are processed basis by basis. A vector is dropped if the mass norm of its part
    M-orthogonal to the previous vectors is at most `tolerance`. The others enter mass-PCA (Barbic
    2007, section 2.8.1), weighted by their singular value over the largest of their basis (at
    least 1e-6), so the result is ordered by importance and can be truncated.

    Parameters
    ----------
    solid
        The solid, for its mass and fixed nodes.
    bases
        Bases to combine, at least one.
    r
        Size of the result. None: the number of independent vectors.
    tolerance
        Largest mass norm of the new part of a dropped vector, at least 0 and less than 1.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``.

    Returns
    -------
    Basis
        Basis whose `provenance` lists the combined bases and the dropped vectors as pairs
        (basis, vector).

    Raises
    ------
    InputError, InputTypeError
        `bases` is empty or contains another type, a basis belongs to another mesh or moves a fixed
        node, `tolerance` is out of range, or `r` exceeds the number of independent vectors.
    MeshError
        Every node of the solid is fixed.
    """
    core = require_solid(solid)._core
    if isinstance(bases, Basis) or not isinstance(bases, Sequence):
        raise InputTypeError(f"bases must be a list of Basis, got {type(bases).__name__}")
    if len(bases) == 0:
        raise InputError("bases must hold at least one Basis")
    least = number(tolerance, "tolerance")
    for i, basis in enumerate(bases):
        if not isinstance(basis, Basis):
            raise InputTypeError(
                f"bases[{i}] must be a Basis, got {type(basis).__name__}; make one of any "
                "deformations with mass_pca(solid, vectors)"
            )
        held_fields(core, basis.vectors, f"bases[{i}]")
        require_of(solid, basis.provenance, f"bases[{i}]", 2)
    require_movable(core)
    vectors = np.concatenate([basis.vectors for basis in bases])
    weights = np.concatenate([_weights(basis) for basis in bases])
    places = [[i, j] for i, basis in enumerate(bases) for j in range(basis.r)]
    with callback(progress, "independence") as tell:
        residual = _core.independent(core, vectors, least, tell, threads())
    new = residual > 0.0
    independent = int(new.sum())
    if independent == 0:
        raise InputError("all vectors of the bases are zero")
    if r is not None and isinstance(r, int | np.integer) and r > independent:
        raise InputError(
            f"r is {r}, but {independent} of the {len(vectors)} vectors are independent; r must be "
            f"1 to {independent}"
        )
    size = independent if r is None else r
    merged = mass_pca(solid, vectors[new], size, weights[new], progress=progress)
    provenance = {
        "method": "merged",
        "r": merged.r,
        "of": [thaw(basis.provenance) for basis in bases],
        "dropped": [place for place, kept in zip(places, new, strict=True) if not kept],
        "tolerance": least,
        **made_for(solid),
    }
    return Basis(merged.vectors, merged.singular_values, merged.spectrum, provenance)


def _weights(basis: Basis) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    largest = float(basis.singular_values.max())
    if not largest > 0.0:
        return np.ones(basis.r)
    return np.maximum(basis.singular_values / largest, _LEAST)
