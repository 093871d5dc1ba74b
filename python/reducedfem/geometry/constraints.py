"""Constrained nodes of meshes, which follow other nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import array_like, as_array
from reducedfem.errors import InputError, InputTypeError

if TYPE_CHECKING:
    from reducedfem.base.sparse import CSC

__all__ = [
    "Constraints",
    "Table",
    "constrained",
    "constrained_in_file",
    "of_elements",
    "renumbered",
    "shifted",
    "standing",
    "table_in",
]

# constrained nodes, offsets, masters, weights
Table = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


class Constraints:
    """Constrained nodes of a mesh; each follows the weighted mean of its masters.

    `Mesh.constraints` returns it. Displacements at constrained nodes are u = T u', with u' at the
    independent nodes, and forces there count through the transpose, f' = T^T f. `Solid` applies
    both; see ``docs/howto/graded_meshes.md``.

    Parameters
    ----------
    core
        The mesh of the core, which has the table.

    Raises
    ------
    InputTypeError
        `core` is something else, or has no constrained nodes.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Mesh) -> None:
        if not isinstance(core, _core.Mesh) or _core.mesh_constraints(core) is None:
            raise InputTypeError("Constraints are those of a mesh: Mesh(..., constraints=...)")
        self._core = core

    def _table(self) -> Table:
        table = _core.mesh_constraints(self._core)
        assert table is not None  # the constructor has checked it
        return table

    @property
    def slaves(self) -> NDArray[np.int32]:
        """Constrained nodes, ascending, read-only, shape (k,)."""
        return self._table()[0]

    @property
    def ptr(self) -> NDArray[np.int32]:
        """Offsets: node ``slaves[i]`` follows ``masters[ptr[i]:ptr[i + 1]]``, shape (k + 1,)."""
        return self._table()[1]

    @property
    def masters(self) -> NDArray[np.int32]:
        """Nodes that are followed, read-only, shape (ptr[-1],)."""
        return self._table()[2]

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the masters, read-only, shape (ptr[-1],); those of one node sum to 1."""
        return self._table()[3]

    @property
    def independent(self) -> NDArray[np.int32]:
        """The other nodes, ascending: the columns of `matrix`, shape (n - k,)."""
        free = np.ones(len(self._core.nodes), dtype=bool)
        free[self.slaves] = False
        return np.flatnonzero(free).astype(np.int32)

    @property
    def matrix(self) -> CSC:
        """Matrix T of the nodes by the independent ones, (n, n - k); rows sum to 1."""
        # the sparse matrices are a room above this one, which imports meshes
        from reducedfem.base.sparse import CSC

        n = len(self._core.nodes)
        return CSC(*_core.constraint_matrix(self._core), (n, n - len(self.slaves)))

    def fill(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return a copy of displacements in which constrained nodes follow their masters.

        Parameters
        ----------
        u
            Field at the nodes, (n, 3); values at constrained nodes are replaced.

        Returns
        -------
        (n, 3) float64 array

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape or a value that is not finite.
        """
        return _core.constraints_fill(self._core, array_like(u, "u"))

    def fold(self, force: ArrayLike) -> NDArray[np.float64]:
        """Return T^T f over all nodes: forces at constrained nodes act on their masters.

        Parameters
        ----------
        force
            Field at the nodes, (n, 3).

        Returns
        -------
        (n, 3) float64 array
            Zero at constrained nodes.

        Raises
        ------
        InputError, InputTypeError
            `force` has a wrong shape or a value that is not finite.
        """
        return _core.constraints_fold(self._core, array_like(force, "force"))

    def __len__(self) -> int:
        return len(self.slaves)

    def __repr__(self) -> str:
        return f"<Constraints: {len(self)} of {len(self._core.nodes)} nodes>"


def standing(constraints: Constraints | None, fixed: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the nodes that cannot move, ascending: fixed ones, and followers of these alone."""
    if constraints is None:
        return fixed
    slaves, ptr, masters, _ = constraints._table()
    held = np.logical_and.reduceat(np.isin(masters, fixed), ptr[:-1])
    return np.union1d(fixed, slaves[held]).astype(np.int32)


def table_in(value: object) -> Table | None:
    """Return the argument `constraints` of a mesh as a table; None for None."""
    if value is None:
        return None
    if isinstance(value, Constraints):
        return value._table()
    if not isinstance(value, tuple | list) or len(value) != 4:
        raise InputError(
            "constraints must be (slaves, ptr, masters, weights) or those of another mesh, got "
            f"{type(value).__name__}" + (f" of {len(value)}" if hasattr(value, "__len__") else "")
        )
    slaves, ptr, masters = (
        as_array(one, name, "integers")
        for one, name in zip(value, ("slaves", "ptr", "masters"), strict=False)
    )
    return slaves, ptr, masters, as_array(value[3], "weights")


def renumbered(table: Table, kept: NDArray[np.int32], n_nodes: int) -> Table:
    """Return constraints after nodes were removed; `kept` are the old numbers of the others."""
    slaves, ptr, masters, weights = table
    new = np.full(n_nodes, -1, dtype=np.int32)
    new[kept] = np.arange(len(kept))
    for nodes, name in ((slaves, "slaves"), (masters, "masters")):
        if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
            raise InputTypeError(f"{name} must be a list of integers, got dtype {nodes.dtype}")
        for node in nodes.tolist():
            if not 0 <= node < n_nodes or new[node] < 0:
                raise InputError(f"{name} has {node}, which is a node of no element")
    return new[slaves], ptr, new[masters], weights


def constrained(core: _core.Mesh, table: Table | None) -> _core.Mesh:
    """Return the mesh with constraints; without any, the mesh itself."""
    if table is None:
        return core
    made = _core.mesh_with_constraints(core, *table, False)
    assert made is not None  # tables that do not fit are refused
    return made


def constrained_in_file(core: _core.Mesh, table: Table) -> _core.Mesh | None:
    """Return the mesh with the constraints of a file, whose places may be rounded.

    None if a constrained node is elsewhere than the mean of its masters.
    """
    return _core.mesh_with_constraints(core, *table, True)


def _rows(table: Table, kept: NDArray[np.bool_]) -> Table:
    """Return the constraints of a selection of constrained nodes."""
    slaves, ptr, masters, weights = table
    counts = np.diff(ptr)
    terms = np.repeat(kept, counts)
    offsets = np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int32)
    return slaves[kept], offsets, masters[terms], weights[terms]


def _in_one_element(
    ptr: NDArray[np.int32],
    masters: NDArray[np.int32],
    elements: NDArray[np.int32],
    n_nodes: int,
) -> NDArray[np.bool_]:
    """Return which constraints have all masters in one element; masters of -1 are in none."""
    counts = np.diff(ptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    use = np.logical_and.reduceat(masters >= 0, ptr[:-1])[owner]
    # elements around each node
    order = np.argsort(elements, axis=None, kind="stable") // elements.shape[1]
    first = np.searchsorted(np.sort(elements, axis=None), np.arange(n_nodes + 1))
    around = [order[first[m] : first[m + 1]] for m in masters[use].tolist()]
    pairs = np.repeat(owner[use], [len(one) for one in around]) * len(elements)
    if len(pairs):
        pairs = pairs + np.concatenate(around)
    found, times = np.unique(pairs, return_counts=True)
    result = np.zeros(len(counts), dtype=bool)
    result[found[times == counts[found // len(elements)]] // len(elements)] = True
    return result


def of_elements(
    table: Table | None,
    elements: NDArray[np.int32],
    old_nodes: NDArray[np.int32],
    whole: NDArray[np.int32],
) -> tuple[Table | None, NDArray[np.int32]]:
    """Return the constraints of a part of a mesh, and the nodes that it cannot constrain.

    A hanging node stays constrained if one of the elements has all its masters, so that it lies on
    an edge or a face of that element. Other constraints, whose masters are in no single element of
    the whole mesh, need all their masters; the nodes without these are returned.

    Parameters
    ----------
    table
        Constraints of the whole mesh.
    elements
        Nodes of the elements of the part, in the numbers of the part.
    old_nodes
        Number in the whole mesh of each node of the part.
    whole
        Nodes of the elements of the whole mesh.
    """
    none = np.zeros(0, dtype=np.int32)
    if table is None:
        return None, none
    slaves, ptr, masters, _ = table
    n_nodes = int(whole.max()) + 1
    new = np.full(n_nodes, -1, np.int32)
    new[old_nodes] = np.arange(len(old_nodes))
    present = new[slaves] >= 0
    kept = present & _in_one_element(ptr, new[masters], elements, len(old_nodes))
    lost = none
    if (present & ~kept).any():
        ties = present & ~kept & ~_in_one_element(ptr, masters, whole, n_nodes)
        complete = np.logical_and.reduceat(new[masters] >= 0, ptr[:-1])
        kept |= ties & complete
        lost = slaves[ties & ~complete]
    if not kept.any():
        return None, lost
    chosen, offsets, others, weights = _rows(table, kept)
    return (new[chosen], offsets, new[others], weights), lost


def shifted(tables: list[tuple[Table | None, int]]) -> Table | None:
    """Return the constraints of several meshes in one; given with their numbers of nodes."""
    parts: list[Table] = []
    nodes = terms = 0
    for table, count in tables:
        if table is not None:
            slaves, ptr, masters, weights = table
            parts.append((slaves + nodes, ptr[1:] + terms, masters + nodes, weights))
            terms += int(ptr[-1])
        nodes += count
    if not parts:
        return None
    slaves, ptr, masters, weights = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return slaves, np.concatenate([[0], ptr]).astype(np.int32), masters, weights
