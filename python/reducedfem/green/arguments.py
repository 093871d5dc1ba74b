"""Arguments of Green's functions: nodes, points, held and released nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import (
    MOST_FRICTION,
    as_array,
    doubt_coefficient,
    integer,
    node_indices,
    number,
    reals,
)
from reducedfem.base.memory import available
from reducedfem.errors import InputError, InputTypeError, SingularMatrixError
from reducedfem.geometry.constraints import Constraints
from reducedfem.geometry.mesh import Mesh

__all__ = [
    "NO_TRIANGLES",
    "Ties",
    "boundary_of",
    "coefficients",
    "distinct",
    "error_of_blocks",
    "held_directions",
    "place_of",
    "places_of",
    "points_of",
    "refuse_followers",
    "refuse_repeated",
    "released_of",
    "require_memory",
    "shares_of",
]

NO_TRIANGLES = np.zeros((0, 3), dtype=np.int32)

_SUM = 1e-6  # tolerance of the sum of barycentric coordinates
_LEAST_ERROR = {"float64": 1e-12, "float32": 1e-6}

Ties = tuple[Constraints, frozenset[int]]
"""Constraints of a solid, and its fixed nodes."""


def place_of(green: _core.Green, node: int, name: str) -> int:
    """Return the place of a node in the list of nodes."""
    if not 0 <= node < green.n_nodes:
        raise InputError(f"{name} is {node}; nodes are numbered 0 to {green.n_nodes - 1}")
    # in any order: nodes that were released are the last ones
    found = np.flatnonzero(green.nodes == node)
    if not len(found):
        raise InputError(
            f"{name} is {node}, which is not among the {len(green.nodes)} nodes of these "
            "Green's functions (attribute nodes): it is fixed, or not on the surface"
        )
    return int(found[0])


def places_of(
    green: _core.Green, nodes: ArrayLike, name: str, shape: str = "(m,)"
) -> NDArray[np.int32]:
    """Return the places of an array of nodes of shape (m,) or "(m, 3)", in its shape."""
    array = as_array(nodes, name, "integers")
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype == np.bool_:
        array = _nodes_of_mask(green, array, name)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.ndim != (1 if shape == "(m,)" else 2):
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    found = [
        place_of(green, int(node), name + "".join(f"[{k}]" for k in index))
        for index, node in np.ndenumerate(array)
    ]
    return np.array(found, dtype=np.int32).reshape(array.shape)


def _nodes_of_mask(
    green: _core.Green, mask: NDArray[np.bool_], name: str
) -> NDArray[np.signedinteger[Any]]:
    n, s = green.n_nodes, len(green.nodes)
    if mask.shape != (n,):
        hint = f"; for one of the surface pass nodes[numpy.flatnonzero({name})]"
        raise InputError(
            f"{name} is a mask of shape {mask.shape}; one for this mesh has shape ({n},)"
            f"{hint if mask.shape == (s,) else ''}"
        )
    return np.flatnonzero(mask)


def refuse_repeated(
    green: _core.Green, places: NDArray[np.int32], shares: NDArray[np.float64], name: str
) -> None:
    """Refuse triangles (m, 3) that have a node twice with weights that are not zero."""
    for a, b in ((0, 1), (1, 2), (2, 0)):
        twice = (places[:, a] == places[:, b]) & (shares[:, [a, b]] != 0.0).all(axis=1)
        if twice.any():
            k = int(twice.argmax())
            raise InputError(
                f"{name} has a triangle with node {green.nodes[places[k, a]]} twice: "
                f"{green.nodes[places[k]].tolist()}; for a node alone, the weights are (1, 0, 0)"
            )


def points_of(
    green: _core.Green, points: ArrayLike | tuple[ArrayLike, ArrayLike]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return places and weights (m, 3) of points."""
    if isinstance(points, tuple) and len(points) == 2:
        first = as_array(points[0], "points[0]", "integers")
        if first.ndim == 2:
            places = places_of(green, first, "points[0]", "(m, 3)")
            if places.shape[1] != 3 or not len(places):
                raise InputError(f"points[0] must have shape (m, 3), got {places.shape}")
            shares = shares_of(points[1], places.shape, "points[1]")
            refuse_repeated(green, places, shares, "points[0]")
            return places, shares
    given = as_array(points, "points", "integers")
    if given.ndim != 1 or not len(given):
        raise InputError(
            f"points must be nodes (m,), or a tuple of nodes (m, 3) and weights (m, 3); got "
            f"shape {given.shape}"
        )
    nodes = places_of(green, given, "points")
    weights = np.zeros((len(nodes), 3))
    weights[:, 0] = 1.0
    return np.repeat(nodes[:, None], 3, axis=1), weights


def held_directions(
    find: Callable[[int, str], int], held: Mapping[int, ArrayLike] | None
) -> tuple[list[int], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the places of held nodes; index, axis and displacement of each held direction.

    `find` returns the place of a node, or refuses it by the given name.
    """
    if held is not None and not isinstance(held, Mapping):
        raise InputTypeError(
            f"held must be a mapping from nodes to displacements (3,), got "
            f"{type(held).__name__}"
        )
    order: list[int] = []
    values = np.zeros((len(held or {}), 3))
    for k, (node, given) in enumerate((held or {}).items()):
        place = find(integer(node, "a node of held"), "a node of held")
        value = as_array(given, f"held[{node}]")
        if value.dtype.kind not in "biuf" or value.shape != (3,) or np.isinf(value).any():
            raise InputError(
                f"held[{node}] must be a displacement, three finite numbers or nan for a free "
                f"axis; got {given!r}"
            )
        if np.isnan(value.astype(float)).all():
            raise InputError(
                f"held[{node}] is nan along all three axes, which holds nothing: leave the node out"
            )
        order.append(place)
        values[k] = value
    if len(set(order)) != len(order):
        twice = next(k for k, place in enumerate(order) if place in order[:k])
        raise InputError(f"held names node {list(held or ())[twice]} twice")
    rows, axes = np.nonzero(~np.isnan(values))
    return order, rows.astype(np.int32), axes.astype(np.int32), values[rows, axes]


def refuse_followers(
    ties: Ties | None,
    nodes: NDArray[np.int32],
    axes: NDArray[np.int32],
    released: NDArray[np.int32],
) -> None:
    """Refuse held constrained nodes whose masters are all held along the same axis, or fixed.

    Without `ties` there are no constraints, or they are not known.
    """
    if ties is None:
        return
    slaves, ptr, masters, _ = ties[0]._table()
    held = set(zip(nodes.tolist(), axes.tolist(), strict=True))
    still = ties[1].difference(released.tolist())
    for node, axis in sorted(held):
        k = int(np.searchsorted(slaves, node))
        if k == len(slaves) or slaves[k] != node:
            continue
        own = masters[ptr[k] : ptr[k + 1]].tolist()
        if all(m in still or (m, axis) in held for m in own):
            named = ", ".join(map(str, own))
            raise SingularMatrixError(
                f"held names node {node} and all nodes that it follows along {'xyz'[axis]}, "
                f"{named}: it is constrained to move as these (mesh.constraints); leave it out"
            )


def released_of(
    green: _core.Green, released: ArrayLike | None, name: str = "released"
) -> NDArray[np.int32]:
    """Return the indices of released nodes among the releasable ones."""
    nodes = distinct(released, name, green.n_nodes, ordered=True)
    index = np.searchsorted(green.releasable, nodes)
    for k, node in enumerate(nodes):
        if index[k] >= len(green.releasable) or green.releasable[index[k]] != node:
            raise InputError(
                f"{name} names node {node}, which is not among the {len(green.releasable)} "
                "releasable nodes: either it is released already, or it was not named in "
                "releasable when the Green's functions were made"
            )
    return index.astype(np.int32)


def distinct(
    value: ArrayLike | None, name: str, n: int, *, ordered: bool = False
) -> NDArray[np.int64]:
    """Return node indices, ascending unless `ordered`; refuse repeated ones."""
    nodes = node_indices(value, name, n)
    if value is None:
        return nodes
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        return nodes
    if len(nodes) != len(array):
        found, times = np.unique(array, return_counts=True)
        raise InputError(f"{name} has node {found[times > 1][0]} more than once")
    return array.astype(np.int64) if ordered else nodes


def shares_of(
    value: ArrayLike, shape: tuple[int, ...], name: str = "weights"
) -> NDArray[np.float64]:
    """Return barycentric coordinates."""
    shares = reals(value, name)
    if shares.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {shares.shape}")
    off = np.abs(shares.sum(axis=-1) - 1.0)
    wrong = np.maximum(off, -shares.min(axis=-1, initial=0.0))
    if (wrong > _SUM).any():
        k = int(np.argmax(wrong))
        row = f"[{k}]" if shares.ndim > 1 else ""
        raise InputError(
            f"{name}{row} must be barycentric coordinates, three numbers from 0 on with the sum 1; "
            f"got {shares.reshape(-1, 3)[k].tolist()}"
        )
    return shares


def coefficients(value: ArrayLike, m: int) -> NDArray[np.float64]:
    """Return a coefficient of friction for each of m points."""
    array = reals(value, "friction")
    if array.shape not in ((), (m,)):
        raise InputError(f"friction must be one number or have shape ({m},), got {array.shape}")
    if (array < 0.0).any() or (array > MOST_FRICTION).any():
        k = int(np.argmax(np.maximum(-array, array - MOST_FRICTION)))
        one = "friction" if array.ndim == 0 else f"friction[{k}]"
        raise InputError(
            f"{one} must be between 0 and {MOST_FRICTION:g}, got {array.reshape(-1)[k]:g}"
        )
    doubt_coefficient(float(np.max(array)), "friction", stacklevel=4)
    return np.full(m, array) if array.ndim == 0 else array


def require_memory(needed: float, what: str, advice: str) -> None:
    """Refuse what does not fit into memory."""
    there = available()
    if needed > there > 0.0:
        raise MemoryError(
            f"{what} would take {needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are "
            f"available; {advice}"
        )


def error_of_blocks(value: object, kind: str) -> float:
    """Return the tolerance of the blocks of G."""
    error, least = number(value, "tolerance"), _LEAST_ERROR[kind]
    if not least <= error <= 0.5:
        raise InputError(
            f"tolerance must be between {least:g} (of {kind}) and 0.5, or None for exact blocks; "
            f"got {error:g}"
        )
    return error


def boundary_of(mesh: Mesh, nodes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the boundary of a mesh as places in `nodes`, (t, 3); none if others are on it."""
    if len(np.setdiff1d(mesh.boundary_nodes, nodes)):
        return NO_TRIANGLES
    corners = mesh.boundary_nodes[mesh.surface().triangles]
    return np.searchsorted(nodes, corners).astype(np.int32)
