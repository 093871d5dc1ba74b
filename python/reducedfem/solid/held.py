"""Checks of fields and numbers of modes against the fixed nodes of a solid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import count, fields
from reducedfem.errors import InputError, MeshError

__all__ = ["held_fields", "mode_count", "require_held", "require_movable"]


def mode_count(solid: _core.Solid, k: int) -> int:
    """Return the argument `k`, a number of modes; refuse more than the solid has."""
    require_movable(solid)
    most = 3 * len(solid.free) - (6 if len(solid.fixed) == 0 else 0) - 1
    return count(k, "k", most, "free degrees of freedom less one")


def require_movable(solid: _core.Solid) -> None:
    """Refuse a solid without free degrees of freedom."""
    if len(solid.free) == 0:
        raise MeshError("every node of the solid is fixed, so nothing can move: fix fewer nodes")


def held_fields(solid: _core.Solid, value: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return fields (any, n, 3); refuse those that move a fixed node."""
    array = fields(value, name, len(solid.mesh.nodes))
    require_held(solid, array, name)
    return array


def require_held(solid: _core.Solid, array: NDArray[np.float64], name: str) -> None:
    """Refuse fields (any, n, 3) if one of them moves a fixed node."""
    moved = array[:, solid.fixed].any(axis=2)
    if moved.any():
        which, place = np.argwhere(moved)[0].tolist()
        node = solid.fixed[place]
        x, y, z = array[which, node]
        raise InputError(
            f"{name}[{which}] moves node {node}, which is fixed, by ({x:g}, {y:g}, {z:g}); "
            "it must be zero there"
        )
