"""Loads on a surface that know their nodes, and the supports of the solid they were made for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import field, reals
from reducedfem.errors import InputError

__all__ = ["SurfaceLoad", "load_of", "rows_of"]


class _Made(NamedTuple):
    """The supports for which a load was made."""

    held: NDArray[np.int64]  # fixed nodes that carry a part of the whole load, ascending
    freed: NDArray[np.int64]  # released nodes without a row, whose load went to the rows, ascending


class SurfaceLoad(np.ndarray[Any, np.dtype[np.float64]]):
    """Load on the nodes of a surface, made by `surface_load`: an array with nodes and supports.

    Views, copies, rows, multiples and sums keep them. Other results are plain arrays, and an array
    that is written to knows nothing.

    Attributes
    ----------
    made
        The supports for which it was made; None: not known.
    """

    made: _Made | None = None
    _rows: NDArray[np.int64] | None = None  # may belong to another shape, as after `transpose`

    @classmethod
    def of(
        cls,
        load: NDArray[np.float64],
        nodes: NDArray[np.integer],
        fixed: NDArray[np.integer],
        released: NDArray[np.integer],
    ) -> SurfaceLoad:
        """Return a load (s, 3) on nodes of a solid with fixed nodes, some of them released."""
        made = _Made(
            np.setdiff1d(fixed, released).astype(np.int64),
            np.setdiff1d(released, nodes).astype(np.int64),
        )
        return _again(load, nodes.astype(np.int64), made)

    @property
    def nodes(self) -> NDArray[np.int64] | None:
        """The node of each row; None: not known."""
        rows = self._rows
        return rows if rows is not None and self._has_rows(len(rows)) else None

    def __array_finalize__(self, of: Any) -> None:
        self._rows = getattr(of, "nodes", None)
        self.made = getattr(of, "made", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        out = options.get("out", ())
        known = [x for x in given if isinstance(x, SurfaceLoad) and x.made is not None]
        if ufunc in (np.add, np.subtract):
            for one in known[1:]:
                _require_same(known[0], one)
        if out:
            options["out"] = tuple(_plain(x) for x in out)
        made = getattr(ufunc, method)(*(_plain(x) for x in given), **options)
        keeps = bool(known) and ufunc in _KEEP
        for one in out:
            if isinstance(one, SurfaceLoad):
                one._know(known if keeps else [])
        if out:
            return out[0] if len(out) == 1 else out
        if method != "__call__" or not keeps or not isinstance(made, np.ndarray):
            return made
        load = made.view(SurfaceLoad)
        load._know(known)
        return load

    def __array_function__(self, func: Any, types: Any, given: Any, options: Any) -> Any:
        made = super().__array_function__(func, types, given, options)
        return _plain(made) if func in _NEW else made

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, SurfaceLoad) and self.nodes is not None:
            # indexed alike, the numbers of the values show the rows that are left
            number = np.arange(self.size).reshape(self.shape)[key]
            part._rows = None
            if number.size % 3 == 0 and part._has_rows(number.size // 3):
                rows = number.reshape(-1, 3)
                if (rows == rows[:, :1] + np.arange(3)).all() and (rows[:, 0] % 3 == 0).all():
                    part._rows = self.nodes[rows[:, 0] // 3]
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        self._know([])
        super().__setitem__(key, value)

    def __reduce__(self) -> Any:
        return _again, (np.array(self), self.nodes, self.made)

    def _has_rows(self, count: int) -> bool:
        return self.shape in ((count, 3), (3 * count,))

    def _know(self, loads: list[SurfaceLoad]) -> None:
        """Take nodes and supports of the first load, of which this one is a multiple or a sum."""
        self._rows = next((x.nodes for x in loads if x.shape == self.shape), None)
        self.made = loads[0].made if loads else None


_KEEP = (np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive)
_NEW = (np.empty_like, np.zeros_like, np.ones_like, np.full_like, np.take)


def _again(
    load: NDArray[np.float64], nodes: NDArray[np.int64] | None, made: _Made | None
) -> SurfaceLoad:
    again = load.view(SurfaceLoad)
    again._rows, again.made = nodes, made
    return again


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, SurfaceLoad) else x


def load_of(
    core: _core.Green, force: ArrayLike, released: NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    """Return a load on the surface as (s, 3); refuse one that was made for other nodes or supports.

    released: indices among the releasable nodes; None: the caller has no such argument.
    """
    s = len(core.nodes)
    if isinstance(force, SurfaceLoad):
        _require_made_for(core, force, released)
        if force.size != 3 * s:
            # nodes that were released later are moved by their own load, too
            raise InputError(
                f"force is a surface_load on {force.size // 3} nodes, and these Green's functions "
                f"have {s}: make it with their nodes, {_CALL}"
            )
        _require_rows(force, core.nodes, "green.nodes")
    load = reals(force, "force")
    if load.shape in ((core.n_nodes, 3), (3 * core.n_nodes,)) and core.n_nodes != s:
        rows = "force" if load.ndim == 2 else "force.reshape(-1, 3)"
        raise InputError(
            f"force has a row for each of the {core.n_nodes} nodes of the mesh; pass those of the "
            f"{s} nodes of the surface, {rows}[green.nodes], or surface_load, which also has the "
            "loads inside"
        )
    return field(load, "force", s)


def rows_of(core: _core.Green, force: ArrayLike, places: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return a load (m, 3) on nodes at some places of the surface; refuse others as `load_of`."""
    if isinstance(force, SurfaceLoad):
        _require_made_for(core, force, None)
    load = reals(force, "force")
    if load.shape != (len(places), 3):
        raise InputError(
            f"force must have shape ({len(places)}, 3), one row for each of the nodes, got "
            f"{load.shape}"
        )
    if isinstance(force, SurfaceLoad):
        _require_rows(force, core.nodes[places], "nodes")
    return load


_CALL = "surface_load(solid, load, green.nodes, released)"


def _require_rows(load: SurfaceLoad, nodes: NDArray[np.integer], name: str) -> None:
    """Refuse a load whose rows belong to other nodes; both have the same number."""
    if load.nodes is None:
        return
    other = np.flatnonzero(load.nodes != nodes)
    if len(other):
        k = other[0]
        raise InputError(
            f"force is a surface_load whose row {k} is the load on node {load.nodes[k]}, but "
            f"{name}[{k}] is {nodes[k]}: its rows have the order of the nodes it was made for, "
            f"those of a mask ascending. Make it with {_CALL}"
        )


def _require_made_for(
    core: _core.Green, load: SurfaceLoad, released: NDArray[np.int32] | None
) -> None:
    if load.made is None:
        return
    once = np.zeros(0, np.int32) if released is None else released
    same = "pass the same released to surface_load and to the solution"
    cut = "use solve(force=..., released=...), or displacement of green.released(...)"
    for apart, has, here, remedy in (
        (np.intersect1d(load.made.held, core.nodes), "held", "released", f"make it with {_CALL}"),
        (np.intersect1d(load.made.held, core.releasable[once]), "held", "released", same),
        (
            np.setdiff1d(np.delete(core.releasable, once), load.made.held),
            "released",
            "held",
            cut if released is None else same,
        ),
    ):
        if len(apart):
            raise InputError(
                f"force is a surface_load made with node {apart[0]} {has}, which is {here} in this "
                f"call{_like_it(apart)}: a part of the load would be lost or counted twice; "
                f"{remedy}"
            )
    lost = np.intersect1d(load.made.freed, core.nodes)
    if len(lost):
        raise InputError(
            f"force is a surface_load made without the load on node {lost[0]}, which was released "
            f"for good{_like_it(lost)} and is moved by its own load: make it with {_CALL}, with "
            "the nodes of these Green's functions"
        )


def _require_same(one: SurfaceLoad, other: SurfaceLoad) -> None:
    """Refuse a sum of loads of different supports or of rows in different orders."""
    for a, b in zip(one.made or (), other.made or (), strict=True):
        apart = np.setxor1d(a, b)
        if len(apart):
            raise InputError(
                f"a load made by surface_load with node {apart[0]} released cannot be added to one "
                f"made with it held{_like_it(apart)}: a part would be lost or counted twice; "
                "pass the same released to both"
            )
    if one.nodes is None or other.nodes is None or len(one.nodes) != len(other.nodes):
        return
    apart = np.flatnonzero(one.nodes != other.nodes)
    if len(apart):
        k = apart[0]
        raise InputError(
            f"row {k} of a load made by surface_load is that of node {one.nodes[k]}, and of the "
            f"other that of node {other.nodes[k]}: make both with the same nodes"
        )


def _like_it(nodes: NDArray[Any]) -> str:
    return "" if len(nodes) == 1 else f" ({len(nodes) - 1} more like it)"
