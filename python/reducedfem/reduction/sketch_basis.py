"""Motion bases from force sketches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.check import count, flag, integer, number
from reducedfem.base.console import listed, part_text
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import ConvergenceError, InputError, InputTypeError
from reducedfem.reduction.basis import Basis, mass_pca
from reducedfem.reduction.identity import made_for
from reducedfem.reduction.sketch import ForceSketch
from reducedfem.reduction.thinning import distance_apart, thin_shapes
from reducedfem.solid.held import require_movable
from reducedfem.solid.solid import Solid, require_solid

__all__ = ["SketchReport", "sketch_basis"]

# default distances relative to the largest load and the largest deformation
_APART = 0.05
_HALVINGS = 10


@dataclass(frozen=True, eq=False)
class SketchReport:
    """Loads that `sketch_basis` used, dropped and failed to solve.

    Attributes
    ----------
    loads
        Samples that remained after thinning of the loads, int32 (l,).
    displacements
        Nonlinear static displacements of each of these samples [m], (l, n, 3), under `fraction` of
        the load.
    fraction
        Fraction of each load that was reached, (l,); 1 unless the solution failed. With steps of
        `max_iterations` at most 1/32 more could be reached.
    failed
        Samples whose solution failed, int32. A larger multiple of a failed load counts as failed
        without being solved.
    shapes
        Samples whose deformations were used in the basis, int32.
    force_distance, shape_distance
        Minimum distances used [N], [kg^1/2 m].
    iterations
        Newton iterations of each solution, int32 (l,); 0 for loads that were not solved.
    """

    loads: NDArray[np.int32]
    displacements: NDArray[np.float64]
    fraction: NDArray[np.float64]
    failed: NDArray[np.int32]
    shapes: NDArray[np.int32]
    force_distance: float
    shape_distance: float
    iterations: NDArray[np.int32]

    def __repr__(self) -> str:
        found = np.isin(self.loads, self.failed)
        reached = [
            f"sample {k} reached to {part_text(part)}"
            for k, part in zip(self.loads[found], self.fraction[found], strict=True)
        ]
        named = f" ({listed(reached)})" if reached else ""
        return (
            f"<SketchReport: {len(self.loads)} loads solved, {len(reached)} of them failed{named}, "
            f"{len(self.shapes)} shapes used>"
        )


@overload
def sketch_basis(
    solid: Solid,
    sketch: ForceSketch,
    r: int | None = None,
    *,
    force_distance: float | None = None,
    shape_distance: float | None = None,
    tol: float = 1e-8,
    max_iterations: int = 60,
    partial: bool = False,
    report: Literal[False] = False,
    progress: Progress = None,
) -> Basis: ...


@overload
def sketch_basis(
    solid: Solid,
    sketch: ForceSketch,
    r: int | None = None,
    *,
    force_distance: float | None = None,
    shape_distance: float | None = None,
    tol: float = 1e-8,
    max_iterations: int = 60,
    partial: bool = False,
    report: Literal[True],
    progress: Progress = None,
) -> tuple[Basis, SketchReport]: ...


def sketch_basis(
    solid: Solid,
    sketch: ForceSketch,
    r: int | None = None,
    *,
    force_distance: float | None = None,
    shape_distance: float | None = None,
    tol: float = 1e-8,
    max_iterations: int = 60,
    partial: bool = False,
    report: bool = False,
    progress: Progress = None,
) -> Basis | tuple[Basis, SketchReport]:
    """Return the basis of the deformations under recorded loads (Barbic 2007, section 2.8.2).

    Loads are thinned by distance. Each remaining load is solved on the unreduced solid with
    adaptive load steps (`Solid.solve_static`). A larger multiple of the previous load starts from
    its solution; beyond buckling this may lead to another equilibrium than a start from rest. The
    deformations are thinned by mass distance, and mass-PCA gives the r vectors that represent them
    best. Loads are solved in parallel, with a matrix factor per thread.

    Parameters
    ----------
    solid
        The unreduced solid, with enough fixed nodes that no part of it can move rigidly.
    sketch
        Recorded loads; see `record`.
    r
        Size of the basis, at most the rank of the deformations. None: 30, or the rank if that
        is less.
    force_distance
        Minimum distance between loads [N]. None: a twentieth of the largest load; 0: all loads.
    shape_distance
        Minimum distance between deformations [kg^1/2 m], the root of equation 2.40. None: a
        twentieth of the largest deformation; 0: all deformations.
    tol
        Tolerance of each static solution, as in `Solid.solve_static`.
    max_iterations
        Maximum number of Newton iterations in each load step.
    partial
        True: use the deformation at the fraction of a load that was reached if the whole load
        failed. False: omit failed loads. The `provenance` and the printed form of the basis give
        their number.
    report
        Also return a `SketchReport`.
    progress
        True for progress bars, or a callable ``f(done, total)``, in each stage, after
        ``f.begin(stage)`` if it has that method. It may raise an exception to stop: statics end
        before their next matrix factor.

    Returns
    -------
    Basis
        Basis whose `provenance` counts the loads used; with ``report=True`` a tuple of it and a
        `SketchReport`.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range; the sketch belongs to another mesh or is empty.
    MeshError
        Some part of the solid can move rigidly.
    SingularMatrixError
        The stiffness at rest is singular.
    ConvergenceError
        All loads failed.
    """
    core = require_solid(solid)._core
    if not isinstance(sketch, ForceSketch):
        raise InputTypeError(f"sketch must be a ForceSketch, got {type(sketch).__name__}")
    if sketch.n_nodes != solid.mesh.n_nodes:
        raise InputError(
            f"the sketch is over {sketch.n_nodes} nodes, but the solid has {solid.mesh.n_nodes}"
        )
    if len(sketch) == 0:
        raise InputError("the sketch has no samples")
    wanted, use_partial = flag(report, "report"), flag(partial, "partial")
    tolerance = number(tol, "tol")
    most = count(max_iterations, "max_iterations")
    require_movable(core)

    if force_distance is None:
        apart = _APART * float(sketch.norms.max())
    else:
        apart = distance_apart(force_distance, "force_distance")
    loads = sketch._keep(apart, progress)
    with callback(progress, f"statics of {len(loads)} loads") as tell:
        u, found, fraction, iterations, _ = core.solve_loads(
            sketch.select(loads)._loads(), tolerance, 1, most, _HALVINGS, tell, threads()
        )
    solved = found.astype(bool)
    usable = np.flatnonzero(solved | (use_partial & (fraction > 0.0)))
    if usable.size == 0:
        raise ConvergenceError(
            f"none of the {len(loads)} loads has a static solution; the largest part of one that "
            f"was reached is {fraction.max():.3g}: record smaller loads"
        )
    shapes = u[usable]
    if shape_distance is None:
        mass = _lengths(solid, shapes)
        between = _APART * float(mass.max())
    else:
        between = distance_apart(shape_distance, "shape_distance")
    kept = thin_shapes(solid, shapes, between, progress=progress)
    if r is not None and integer(r, "r") > len(kept):
        raise InputError(
            f"r must be between 1 and {len(kept)}, got {r}: of the {len(sketch)} samples "
            f"{len(loads)} are at least {apart:.3g} N apart (force_distance), "
            f"{int((~solved).sum())} of these have no static solution, and of {len(usable)} shapes "
            f"{len(kept)} are at least {between:.3g} kg^1/2 m apart (shape_distance)"
        )
    basis = mass_pca(solid, shapes[kept], r, progress=progress)
    outcome = SketchReport(
        loads=loads,
        displacements=u,
        fraction=fraction,
        failed=loads[~solved],
        shapes=loads[usable[kept]],
        force_distance=apart,
        shape_distance=between,
        iterations=iterations,
    )
    provenance = {
        "method": "force sketch",
        "r": basis.r,
        "samples": len(sketch),
        "loads": len(loads),
        "failed": int((~solved).sum()),
        "partial": use_partial,
        "shapes": len(kept),
        "force_distance_n": apart,
        "shape_distance": between,
        **made_for(solid),
    }
    made = Basis(basis.vectors, basis.singular_values, basis.spectrum, provenance)
    return (made, outcome) if wanted else made


def _lengths(solid: Solid, shapes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mass norm of each deformation [kg^1/2 m]."""
    products = _core.mass_product(solid._core, shapes, threads())
    squares: NDArray[np.float64] = np.einsum("sni,sni->s", shapes, products)
    return np.sqrt(np.maximum(squares, 0.0))
