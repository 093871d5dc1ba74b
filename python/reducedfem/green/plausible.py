"""Warnings of Green's functions and of handles: motions too large, nodes outside of the body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import silenced, warn
from reducedfem.errors import PlausibilityWarning
from reducedfem.geometry.built import ON_SURFACE, cell_size, nearly_empty
from reducedfem.solid.plausible import FAR, STUDY
from reducedfem.solid.soft_loads import softest
from reducedfem.solid.solid import Solid

__all__ = [
    "FAR_TURN",
    "LEAST_RADIUS",
    "MOST_TURN",
    "doubt_held",
    "doubt_radius",
    "doubt_turns",
    "doubt_ways",
    "warn_of_soft_nodes",
]

# of handles, in the frame of their best fit [rad]
MOST_TURN = 0.15  # of forces of order 1
FAR_TURN = 0.75  # of displacements of order 1
LEAST_RADIUS = 2.0  # of forces of higher orders

_FAR = 3.0  # cells from a node at which a free solid is held to measure the softness of the node


def doubt_ways(
    ways: NDArray[np.float64], places: NDArray[np.float64], name: str, stacklevel: int
) -> None:
    """Warn of prescribed displacements or depths [m] far beyond the size of a body of nodes."""
    size = float(np.linalg.norm(np.ptp(places, axis=0)))
    if len(places) >= STUDY and ways.max(initial=0.0) > FAR * size:
        # without the length: of equal texts, Python shows the first of a loop only
        warn(
            f"{name} has a length of more than {FAR:g} times the size of the body, {size:.3g} m: "
            "lengths are in metres; if millimetres were meant, multiply them by 0.001",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )


def doubt_held(
    targets: NDArray[np.float64],
    axes: NDArray[np.integer],
    places: NDArray[np.float64],
    loose: bool,
    stacklevel: int,
) -> None:
    """Warn of held displacements [m] along axes like `doubt_ways`.

    loose: the body has no other supports, so that it may follow a translation.
    """
    ways = targets.copy()
    for axis in range(3):
        along = axes == axis
        if loose and along.any():
            ways[along] -= ways[along].mean()
    doubt_ways(np.abs(ways), places, "held", stacklevel + 1)


def doubt_turns(
    turns: tuple[float, float, int, int], handles: int, of: str, stacklevel: int
) -> None:
    """Warn of handles that turn too far for displacements, forces or energies of order 1.

    `turns` are those of the core: the largest in the frame [rad], the largest relative one
    [degrees] and its two handles; the number of handles stands for the fixed nodes.
    """
    in_frame, degrees, first, second = turns
    if in_frame <= (FAR_TURN if of == "displacements" else MOST_TURN):
        return
    other = f"handles[{second}]" if second < handles else "the fixed nodes"
    how = f"turns handles[{first}] by {degrees:.0f} degrees relative to {other}"
    if in_frame > 2.0 * np.radians(degrees):  # apart, sideways: both turn from the frame
        how = (
            f"moves handles so far that they turn by {np.degrees(in_frame):.0f} degrees relative "
            "to the frame of their best fit"
        )
    wrong = (
        "tenths, and jump at 180 degrees, where the frame turns over"
        if of == "displacements"
        else "tenths or more: they take turned handles for stretched ones"
    )
    warn(
        f"c {how}, where {of} of order 1 are wrong by {wrong}. Use order 2 or 3, CompositeBody for "
        "large turns, or Solid.solve_static",
        PlausibilityWarning,
        stacklevel=stacklevel + 1,
    )


def doubt_radius(radius: float, order: int, stacklevel: int) -> None:
    """Warn of a radius of convergence that is too small for forces of order 2 or 3."""
    if radius < LEAST_RADIUS:
        warn(
            f"c has a radius below {LEAST_RADIUS:g}, where forces of order {order} may be wrong by "
            "tenths or more; move the handles less, or use CompositeBody or Solid.solve_static",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_soft_nodes(green: _core.Green, solid: Solid, name: str, stacklevel: int) -> None:
    """Warn if a node gives way much farther than the surface beside, as `solve_static` does."""
    mesh = solid.mesh
    if mesh.source is None:
        return
    soft = np.flatnonzero(np.isin(green.nodes, nearly_empty(mesh)[0])).astype(np.int32)
    if len(soft) == 0:
        return
    first = np.array([[1.0, 0.0, 0.0]])
    compliance = [green.compliance(np.full((1, 3), place, np.int32), first) for place in soft]
    worst = int(np.trace(compliance, axis1=1, axis2=2).argmax())
    node = int(green.nodes[soft[worst]])
    load = np.zeros((mesh.n_nodes, 3))
    load[node] = np.linalg.eigh(compliance[worst])[1][:, -1]
    held = solid if len(solid.fixed) else _held(solid, node)
    found = None if held is None else softest(mesh, held._core, solid.materials.values(), load)
    if found is None:
        return
    x, y, z = mesh.nodes[node]
    warn(
        f"{name}: {len(soft)} of the {len(green.nodes)} nodes lie in nearly empty cut cells, "
        f"mostly outside of the body. A force on node {node} at ({x:.3g}, {y:.3g}, {z:.3g}) moves "
        f"it {found[3]:.2g} times as far as the surface beside. In place of cut cells "
        f"{ON_SURFACE}",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def _held(solid: Solid, node: int) -> Solid | None:
    """Return a free solid, held at its whole cells away from a node; None without such cells."""
    mesh = solid.mesh
    away = np.linalg.norm(mesh.nodes[mesh.elements].mean(axis=1) - mesh.nodes[node], axis=1)
    cells = (mesh.fractions == 1.0) & (away > _FAR * cell_size(mesh))
    if not cells.any():
        return None
    with silenced():
        return Solid(mesh, solid.materials, fixed=np.unique(mesh.elements[cells]))
