"""Reduction of a solid to the span of a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import fields, flag
from reducedfem.base.executors import Executors, in_order, outcomes, require_executor
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.material.laws import LINEAR_LAW, STVK_LAW, StVK
from reducedfem.material.laws import to_plain as material_to_plain
from reducedfem.reduction.basis import GIVEN_VECTORS, Basis
from reducedfem.reduction.cubature import (
    Cubature,
    reduce_by_cubature,
    require_cubature,
)
from reducedfem.reduction.damping import StrainRateDamping
from reducedfem.reduction.identity import require_of
from reducedfem.reduction.model_contents import CUBATURE_LAW, MAX_R
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.reduced_damping import MAX_DAMPING_R
from reducedfem.solid.held import require_held
from reducedfem.solid.rigid import to_plain
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["reduce"]


def reduce(
    solid: Solid,
    basis: Basis | ArrayLike,
    *,
    editable: bool = False,
    strain_rate: StrainRateDamping | None = None,
    cubature: Cubature | int | None = None,
    executor: Executors = None,
    progress: Progress = None,
) -> ReducedSolid:
    """Return the reduced model of a solid in the span of a basis.

    The coefficients of the energy polynomial (Barbic 2007, section 2.6) follow from one Gram
    matrix of strains over the quadrature points of the mesh, without sampling or fitting. They do
    not depend on the number of threads. Other materials have no such polynomial: their energy is
    approximated by a weighted sum over a few points of the mesh, a `Cubature`.

    Parameters
    ----------
    solid
        The solid. Its materials are `StVK` or `LinearElastic`, with `cubature` any. The model has
        its quadrature.
    basis
        A `Basis`, or linearly independent deformations (r, n, 3), mass-orthonormal or not, zero
        at fixed nodes; r at most 256.
    editable
        True: store the parts that `ReducedSolid.edit` requires, two sets of coefficients for
        every region.
    strain_rate
        Strain-rate damping of this solid that becomes part of the model, its simulations and its
        files. It limits the basis to 128 vectors. None: no strain-rate damping.
    cubature
        A `Cubature`, or its number of points: the energy is a sum over points of the mesh, for any
        material; not together with `editable`. None: the exact polynomial.
    executor
        Workers for blocks of elements, as in `study`: the coefficients have the same bits. Not
        together with `editable` or `cubature`. None: this process.
    progress
        Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
        ``f(done, total)``. With `strain_rate` progress runs from zero twice; with `cubature` once
        for the poses, once for the points.

    Returns
    -------
    ReducedSolid

    Raises
    ------
    InputError, InputTypeError
        The basis has a wrong shape, values that are not finite, more than 256 vectors, or
        moves a fixed node (the message names it); a `Basis` or `strain_rate` belongs to another
        solid; the energy of a material is not quadratic in Green's strain (the
        neo-Hookean ones), and so no polynomial: use `cubature`, or `ProjectedSolid`; the poses of
        `cubature` do not fit the basis, have no force, or are too far from rest.
    SingularMatrixError
        The vectors of the basis are linearly dependent.

    Warns
    -----
    PlausibilityWarning
        A `Basis` was made for other fixed nodes, or for materials with other ratios of stiffness
        or density; or the forces of a `cubature` differ from those of the mesh by more than 2 % at
        poses held out, its frequencies at rest by more than 5 %; or the poses exercise less than
        half of the coordinates, or strain the solid by less than 1e-6.
    """
    require_solid(solid)
    given, origin = (
        (basis.vectors, basis.provenance)
        if isinstance(basis, Basis)
        else (basis, {"method": GIVEN_VECTORS})
    )
    vectors = fields(given, "basis", solid.mesh.n_nodes)
    if not 1 <= len(vectors) <= MAX_R:
        raise InputError(f"basis must have 1 to {MAX_R} vectors, got {len(vectors)}")
    require_held(solid._core, vectors, "basis")
    if isinstance(basis, Basis):
        require_of(solid, basis.provenance, "basis", 2)
    if strain_rate is not None:
        _require_damping_of(strain_rate, solid, len(vectors))
    description = _describe_solid(solid)
    provenance: dict[str, Any] = {"solid": description, "basis": origin}
    parts = None
    if require_executor(executor) is not None and (
        flag(editable, "editable") or cubature is not None
    ):
        raise InputError(
            "executor computes exact polynomials that are not editable: leave out executor, or "
            f"{'editable' if editable else 'cubature'}"
        )
    if cubature is not None:
        settings = require_cubature(cubature)
        if flag(editable, "editable"):
            raise InputError(
                "a model with a cubature cannot be edited: leave out editable or cubature"
            )
        core, errors = reduce_by_cubature(solid, vectors, settings, progress)
        description["law"] = CUBATURE_LAW
        provenance["cubature"] = errors
        rate = None if strain_rate is None else strain_rate.reduce(vectors, progress=progress)
        return ReducedSolid(core, solid.mesh, solid.fixed, provenance, None, rate)
    with callback(progress, "polynomials") as tell:
        if flag(editable, "editable"):
            core, parts = _core.take_apart(solid._core, vectors, tell, threads())
            provenance["parts_of"] = description["materials"]
        else:
            core = _reduced(solid._core, vectors, executor, tell)
    rate = None if strain_rate is None else strain_rate.reduce(vectors, progress=progress)
    return ReducedSolid(core, solid.mesh, solid.fixed, provenance, parts, rate)


class _Blocks(Sequence[Any]):
    """Data of all blocks of elements, gathered when a block is sent."""

    def __init__(self, core: _core.Solid, vectors: NDArray[np.float64]) -> None:
        self._core, self._vectors = core, vectors.copy()
        self._vectors.flags.writeable = False  # otherwise the core copies it for each block

    def __len__(self) -> int:
        return _core.polynomial_blocks(self._core)

    def __getitem__(self, index: Any) -> Any:
        return _core.polynomial_block(self._core, self._vectors, index)


def _coefficients(simd: int, block: Any) -> NDArray[np.float64]:
    return _core.block_coefficients(block, simd, threads())


def _reduced(
    core: _core.Solid,
    vectors: NDArray[np.float64],
    executor: Executors,
    tell: Callable[[int, int], object] | None,
) -> _core.Reduced:
    """Return the model of the core; workers compute the coefficients of blocks."""
    if executor is None:
        return _core.reduce(core, vectors, tell, threads())
    # refuses dependent vectors before the long work, and selects the kernels for all workers
    blank = np.zeros(_core.polynomial_count(len(vectors)))
    simd = _core.reduce(core, vectors, None, threads(), 0, blank).simd
    total, blocks = blank, _Blocks(core, vectors)
    for done, part in enumerate(in_order(outcomes(executor, _coefficients, blocks, simd)), 1):
        _core.add_coefficients(total, part)
        if tell is not None:
            tell(done, len(blocks))
    return _core.reduce(core, vectors, None, threads(), simd, total)


def _require_damping_of(strain_rate: StrainRateDamping, solid: Solid, r: int) -> None:
    """Refuse a damping that cannot become part of a model, before the long computation."""
    if not isinstance(strain_rate, StrainRateDamping):
        raise InputTypeError(
            f"strain_rate must be a StrainRateDamping, got {type(strain_rate).__name__}"
        )
    if strain_rate.solid is not solid:
        raise InputError(
            "strain_rate belongs to another solid: make a StrainRateDamping of this one"
        )
    if r > MAX_DAMPING_R:
        raise InputError(f"basis must have 1 to {MAX_DAMPING_R} vectors with strain_rate, got {r}")


def _describe_solid(solid: Solid) -> dict[str, Any]:
    """Return the description of a solid that its models record, as plain data."""
    return {
        "materials": {
            str(region): material_to_plain(one) for region, one in solid.materials.items()
        },
        "law": STVK_LAW
        if all(isinstance(one, StVK) for one in solid.materials.values())
        else LINEAR_LAW,
        "quadrature": solid.quadrature,
        "total_mass": solid.total_mass,
        # required by the rigid motion of a free body
        "rigid_body": None if len(solid.fixed) else to_plain(solid.rigid_body),
    }
