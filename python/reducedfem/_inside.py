"""Warnings about surfaces whose inside is uncertain."""

from __future__ import annotations

import warnings

import numpy as np

from reducedfem.errors import GeometryWarning
from reducedfem.surface import Surface

__all__ = ["warn_of_doubts"]

# of what is inside: as much in doubt
_MOST_DOUBTS = 0.25
# of the area: as much without inside
_MOST_SHEETS = 0.1
_SHOWN = 3


def _holes(surface: Surface) -> str:
    """Return the number of holes, and the widest of them with place and size."""
    loops = surface.boundary_loops()
    corners = [surface.vertices[loop] for loop in loops]
    across = np.array([np.ptp(x, axis=0).max() for x in corners])
    widest = np.argsort(-across, kind="stable")[:_SHOWN]
    longest = np.ptp(surface.bounds, axis=0).max()
    # 0 is not 1e-18
    places = [0.5 * (x.min(axis=0) + x.max(axis=0)) for x in corners]
    digits = 3 - int(np.floor(np.log10(longest)))
    named = [
        f"{across[i]:.3g} m across ({across[i] / longest:.0%} of the surface's longest side) at "
        f"({', '.join(f'{round(x, digits) + 0.0:g}' for x in places[i].tolist())})"
        for i in widest
    ]
    count = "1 hole" if len(loops) == 1 else f"{len(loops)} holes"
    shown = "the widest " if len(loops) > _SHOWN else ""
    return f"{count}, {shown}{'; '.join(named)}" if named else "no hole"


def warn_of_doubts(
    surface: Surface, inside: int, doubtful: int, sheets: float, stacklevel: int
) -> None:
    """Warn where it is uncertain what of a surface is solid.

    Parameters
    ----------
    surface
        The surface.
    inside
        Number of places, of a regular lattice, that count as solid.
    doubtful
        Number of places off the surface whose winding numbers are from 0.1 to 0.9.
    sheets
        Share of the surface's area with nothing behind it.
    stacklevel
        As of `warnings.warn`, from the function that calls this one.
    """
    if sheets > _MOST_SHEETS:
        warnings.warn(
            f"{sheets:.0%} of the surface's area bounds no volume: these parts are single sheets "
            "without thickness (in a mesh it is that of a voxel); give the part two sides, or "
            "voxelize it with fill=False where a skin is meant",
            GeometryWarning,
            stacklevel=stacklevel + 1,
        )
    elif doubtful > _MOST_DOUBTS * inside:
        warnings.warn(
            f"the surface is so open that its inside is uncertain; it has {_holes(surface)}. A "
            "lid over each hole is assumed: close the surface if it is another one, or use "
            "Surface.filled()",
            GeometryWarning,
            stacklevel=stacklevel + 1,
        )
