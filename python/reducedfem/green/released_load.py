"""Loads on a surface that know for which released nodes they were made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import field, reals
from reducedfem.errors import InputError

__all__ = ["SurfaceLoad", "load_of", "rows_of"]


class SurfaceLoad(np.ndarray[Any, np.dtype[np.float64]]):
    """Load on the nodes of a surface, made by `surface_load`: an array with a set of nodes.

    Views, copies, multiples and sums keep the set. Other results are plain arrays, and an array
    that is written to has no set.

    Attributes
    ----------
    released
        Fixed nodes whose load it contains, ascending; None: not known.
    """

    released: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, load: NDArray[np.float64], released: NDArray[np.int64]) -> SurfaceLoad:
        """Return a load with its set of released nodes."""
        made = load.view(cls)
        made.released = np.sort(released)
        return made

    def __array_finalize__(self, of: Any) -> None:
        self.released = getattr(of, "released", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        out = options.get("out", ())
        loads = [x for x in given if isinstance(x, SurfaceLoad)]
        sets = [x.released for x in loads if x.released is not None]
        if ufunc in (np.add, np.subtract):
            for one in sets[1:]:
                _require_same(sets[0], one, "a load made with", "one made with")
        keeps = bool(sets) and ufunc in _KEEP
        for one in out:
            if isinstance(one, SurfaceLoad):
                one.released = sets[0] if keeps else None
        if out:
            options["out"] = tuple(_plain(x) for x in out)
        made = getattr(ufunc, method)(*(_plain(x) for x in given), **options)
        if out:
            return out[0] if len(out) == 1 else out
        if method != "__call__" or not keeps:
            return made
        return SurfaceLoad.of(made, sets[0]) if isinstance(made, np.ndarray) else made

    def __array_function__(self, func: Any, types: Any, given: Any, options: Any) -> Any:
        made = super().__array_function__(func, types, given, options)
        return _plain(made) if func in _NEW else made

    def __setitem__(self, key: Any, value: Any) -> None:
        self.released = None
        super().__setitem__(key, value)

    def __reduce__(self) -> Any:
        return _again, (np.array(self), self.released)


_KEEP = (np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive)
_NEW = (np.empty_like, np.zeros_like, np.ones_like, np.full_like)


def _again(load: NDArray[np.float64], released: NDArray[np.int64] | None) -> SurfaceLoad:
    made = load.view(SurfaceLoad)
    made.released = released
    return made


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, SurfaceLoad) else x


_NONE = np.zeros(0, np.int32)


def load_of(
    core: _core.Green, force: ArrayLike, released: NDArray[np.int32] = _NONE
) -> NDArray[np.float64]:
    """Return a load on the surface as (s, 3); refuse one that was made for other released nodes.

    released: indices among the releasable nodes.
    """
    _require_made_for(core, force, released)
    s = len(core.nodes)
    if isinstance(force, SurfaceLoad) and force.size != 3 * s:
        # nodes that were released later are moved by their own load, too
        raise InputError(
            f"force is a surface_load on {force.size // 3} nodes, and these Green's functions have "
            f"{s}: make it with their nodes, surface_load(solid, load, green.nodes, released)"
        )
    load = reals(force, "force")
    if load.shape == (core.n_nodes, 3) != (s, 3):
        raise InputError(
            f"force has a row for each of the {core.n_nodes} nodes of the mesh; pass those of the "
            f"{s} nodes of the surface, force[green.nodes], or surface_load, which also has the "
            "loads inside"
        )
    return field(load, "force", s)


def rows_of(core: _core.Green, force: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the part (n, 3) of a load on n of the nodes; refuse one for other released nodes."""
    _require_made_for(core, force, _NONE)
    load = reals(force, "force")
    if load.shape != (n, 3):
        raise InputError(
            f"force must have shape ({n}, 3), one row for each of the nodes, got {load.shape}"
        )
    return load


def _require_made_for(core: _core.Green, force: ArrayLike, released: NDArray[np.int32]) -> None:
    if isinstance(force, SurfaceLoad) and force.released is not None:
        gone = 0 if core.added is None else core.added.shape[1] // 3
        # loads of a solid that was made without these nodes do not name them
        free = np.intersect1d(core.nodes[len(core.nodes) - gone :], force.released)
        here = np.union1d(free, core.releasable[released])
        _require_same(force.released, here, "force is a surface_load made with", "this call has")


def _require_same(made: NDArray[Any], here: NDArray[Any], who: str, other: str) -> None:
    apart = np.setxor1d(made, here)
    if not len(apart):
        return
    has = "released" if apart[0] in made else "not released"
    raise InputError(
        f"{who} {_count(made)}, and {other} {_count(here)}: node {apart[0]} is {has} in the first "
        "only, so a part of the load would be lost or counted twice; pass the same released to "
        "surface_load and to the solution"
    )


def _count(nodes: NDArray[Any]) -> str:
    return f"{len(nodes)} released nodes" if len(nodes) else "no released nodes"
