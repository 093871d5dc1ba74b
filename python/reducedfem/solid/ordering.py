"""Orderings of unknowns for sparse Cholesky factorization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import choice, reals
from reducedfem.base.quiet import warn
from reducedfem.base.sparse import CSC
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import StVK
from reducedfem.solid.composition import compose, fixed_nodes, materials_of
from reducedfem.solid.solid import Solid
from reducedfem.solid.symmetric import Matrix, symmetric

__all__ = ["Ordering", "ordering", "set_ordering"]

METHODS = ("auto", "dissection", "metis", "amd", "minimum-degree", "nested", "simple")
IN_FACTORS = METHODS[:4]


@dataclass(frozen=True, eq=False)
class Ordering:
    """An order of elimination and the size of the Cholesky factor L that it gives.

    Counts are exact; they take it that no entry cancels.

    Attributes
    ----------
    method
        Name of the method taken: that of ``"auto"``, or ``"amd"`` in place of METIS.
    permutation
        Unknowns in the order of elimination, int32 (n,), read-only.
    fill
        Number of entries of L where the matrix has none.
    nonzeros
        Number of entries of L, with the diagonal.
    flops
        Operations of the factorization: sum of d^2 + 2 d over columns with d entries below the
        diagonal.
    seconds
        Time of the ordering, without the counts [s].
    """

    method: str
    permutation: NDArray[np.int32]
    fill: int
    nonzeros: int
    flops: float
    seconds: float

    def __repr__(self) -> str:
        return (
            f"<Ordering: {self.method}, {len(self.permutation)} unknowns, {self.nonzeros:.4g} "
            f"entries of L ({self.fill:.4g} fill), {self.flops:.3g} flops, {self.seconds:.2g} s>"
        )


def ordering(
    system: Solid | Mesh | Matrix, method: str = "dissection", points: ArrayLike | None = None
) -> Ordering:
    """Return an order of elimination for the sparse Cholesky factorization of a matrix.

    Parameters
    ----------
    system
        A solid: its stiffness, with three unknowns for each node of `Solid.free`, numbered
        3 index + axis. A mesh: the same with all nodes free. Or a symmetric matrix: a `CSC`, a
        SciPy matrix, whose values do not matter, or a dense array, whose zeros are no entries.
    method
        ``"dissection"``: nested dissection by planes through the places of nodes, or by distances
        in the graph, with minimum vertex covers as separators (Zhuang 2000, section 4.1.1.2), then
        minimum vertex cuts around them; minimum degree in parts of up to 256 nodes.
        ``"simple"``: the nodes of elements cut by a plane are separators (section 4.1.1.1).
        ``"nested"``: layers of nodes of a regular grid are separators (George 1973).
        ``"minimum-degree"``: exact, for up to 60,000 nodes. ``"amd"``: approximate minimum degree.
        ``"metis"``: nested dissection of the graph by METIS; AMD where METIS is missing or fails.
        ``"auto"``: dissection if the places of the unknowns are known, METIS otherwise, or AMD if
        CHOLMOD was built without METIS.
    points
        Places for a matrix: one for each unknown (n, 3), or for each three consecutive ones
        (n / 3, 3), which then stay together. Without them dissection has distances in the graph
        alone; factors of such systems are ordered by "auto". Not for solids and meshes, which have
        places.

    Returns
    -------
    Ordering
        Permutation, counts and time. ``docs/orderings.md`` compares the methods.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value; the method needs points, elements or a
        regular grid.

    Warns
    -----
    PlausibilityWarning
        AMD was taken in place of ``"metis"``.
    """
    choice(method, "method", METHODS)
    if isinstance(system, Solid | Mesh):
        if points is not None:
            raise InputError(
                f"points must be None for a {type(system).__name__}, which has places of its own"
            )
        core = system._core if isinstance(system, Solid) else _solid_of(system)
        found = _core.ordering_of_solid(core, method)
    else:
        if method == "simple":
            raise InputError(
                'method "simple" needs elements: pass a Solid or a Mesh, or use "dissection"'
            )
        kind = type(system)
        if kind.__module__.startswith("reducedfem.") and not isinstance(system, CSC):
            raise InputTypeError(
                f"system must be a Solid, a Mesh or a symmetric matrix, got {kind.__name__}"
            )
        lower = symmetric(system, "system", definite=False)[1]
        if points is None and method == "nested":
            raise InputError(
                'points are needed by method "nested" for a matrix: an array (n, 3), or '
                '(n / 3, 3) for three unknowns each; "dissection", "metis" and "amd" need none'
            )
        places = None if points is None else reals(points, "points")
        if places is None and method == "dissection":
            places = np.zeros((len(lower[2]) - 1, 3))  # no plane divides equal places
        found = _core.ordering_of_matrix(lower, places, method)
    taken, permutation, nonzeros, fill, flops, seconds = found
    permutation.flags.writeable = False
    if method == "metis" and taken != method:
        warn(
            f'method "metis" is not available, so {taken.upper()} was taken: CHOLMOD was built '
            'without METIS, or METIS failed; take "dissection" with points',
            PlausibilityWarning,
            2,
        )
    return Ordering(taken, permutation, int(fill), int(nonzeros), flops, seconds)


def _solid_of(mesh: Mesh) -> _core.Solid:
    """Return a free solid of any material on a mesh; its pattern depends on the mesh alone."""
    of_mesh = materials_of(mesh, StVK(1e6, 0.3, 1e3))
    quadrature = 3 if mesh.nodes_per_element == 20 else 2
    return compose(mesh, *of_mesh, fixed_nodes(None, mesh), quadrature)


def set_ordering(method: str) -> None:
    """Set the ordering of unknowns in sparse factorizations from now on, for the whole process.

    It affects the time and memory of statics, modes, bases and implicit steps of solids, and their
    results by rounding errors only. ``system_info()["ordering"]`` is the method in use.

    Parameters
    ----------
    method
        ``"auto"``, the default: nested dissection by the places of nodes for solids, METIS for
        other systems. ``"dissection"``: the same. ``"metis"``: METIS for all systems, or AMD if
        CHOLMOD was built without METIS. ``"amd"``: approximate minimum degree. See `ordering`.

    Raises
    ------
    InputError
        `method` is not one of these.
    """
    _core.use_ordering(choice(method, "method", IN_FACTORS))
