"""Arrays of Green's functions, for files and copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core

__all__ = ["arrays_of", "parts_of"]

_TILE = 16  # RF_GREEN_TILE of csrc/green/green.h


def arrays_of(
    core: _core.Green, positions: NDArray[np.float64], held: NDArray[np.float64] | None
) -> dict[str, NDArray[Any]]:
    """Return all arrays; `held`: rest positions of releasable nodes."""
    rigid = core.rigid
    more: dict[str, NDArray[Any]] = {}
    if core.packed is not None:
        error, tiles, slots, ranks = core.packed
        more = {"tolerance": np.array([error]), "tiles": tiles, "slots": slots, "ranks": ranks}
    if core.added is not None and core.firm is not None:
        more |= {"added": core.added, "firm": core.firm}
    if held is not None and len(held):
        more["held_positions"] = held
    return {
        "entries": core.entries,
        "positions": positions,
        "static_modes": core.static_modes,
        "support": core.support,
        "rigid": np.zeros((0, *core.static_modes.shape[1:])) if rigid is None else rigid,
        "nodes": core.nodes,
        "releasable": core.releasable,
        **more,
    }


def parts_of(
    n_nodes: int, arrays: Mapping[str, NDArray[Any]]
) -> tuple[_core.Green, NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the core object, positions and those of releasable nodes; None: not in the arrays."""
    nodes, releasable = arrays["nodes"], arrays["releasable"]
    modes, support, added = arrays["static_modes"], arrays["support"], arrays.get("added")
    rigid = arrays["rigid"] if len(arrays["rigid"]) else None
    packed = None
    if "ranks" in arrays:
        error = float(arrays["tolerance"][0])
        packed = (error, arrays["tiles"], arrays["slots"], arrays["ranks"])
    if added is None:
        core = _core.green_of_entries(
            n_nodes, nodes, releasable, arrays["entries"], modes, support, rigid, packed
        )
    else:
        # those with the entries, some of whose supports were released
        whole = nodes[: len(nodes) - added.shape[1] // 3]
        none = np.zeros((0, _TILE * -(-len(whole) // _TILE), 3))
        entries = _core.green_of_entries(
            n_nodes, whole, [], arrays["entries"], none, np.zeros((0, 0)), rigid, packed
        )
        core = _core.green_released_of_entries(
            entries, nodes, releasable, modes, support, arrays["firm"], added
        )
    positions = np.array(arrays["positions"], dtype=np.float64)
    positions.flags.writeable = False
    held = arrays.get("held_positions")
    return core, positions, np.zeros((0, 3)) if held is None and not len(releasable) else held
