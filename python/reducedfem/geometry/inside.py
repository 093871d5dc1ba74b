"""Volume inside surfaces, and warnings if the inside is uncertain."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.errors import GeometryWarning, PlausibilityWarning
from reducedfem.geometry.surface import Surface

__all__ = [
    "KEPT",
    "MANY_TRIANGLES",
    "THIN",
    "VOLUME_OFF",
    "enclosed_volume",
    "finer",
    "volume_text",
    "warn_of_doubts",
    "warn_of_first_order",
    "warn_of_lost_volume",
]

MANY_TRIANGLES = 300_000  # larger surfaces take seconds to measure
VOLUME_OFF = 0.05  # relative error of a volume above which it is reported
KEPT = 0.1  # smallest thickness in cells whose volume cut cells preserve
THIN = 0.05  # fraction of the area of the surface that defines its thinnest part
_FIRST_ORDER_ACROSS = 6.0  # 8-node cells across a part for accurate bending
_MOST_CELLS = 2048  # along the longest side, RF_VOXEL_MAX_RESOLUTION in csrc/mesh/voxelize.h

# fraction of the inside that may be doubtful without a warning
_MOST_DOUBTS = 0.25
# fraction of the area that may be sheets without a warning
_MOST_SHEETS = 0.1
# fraction of the area in sheets above which the surface encloses nothing
_MOSTLY = 0.5
# diameter of a hole, as a circle of its area, over the width of the body, above which it is large
_WIDE = 0.8
_SHOWN = 3
_SAMPLES = 64  # sample points along the longest side for the volume of overlapping parts
_CLOSE = 0.01  # relative difference of volumes below which overlaps are not sampled


def enclosed_volume(surface: Surface, expected: float) -> float:
    """Return the enclosed volume [m^3], that of the region with winding numbers above 1/2.

    The integral over the surface with its holes closed is exact unless parts overlap. If it
    differs from the expected volume, random sampling corrects it. The volume is 0 for a surface
    that is mostly a single sheet.
    """
    if not surface.is_closed:
        sheets = _core.surface_sheets(surface.vertices, surface.triangles, threads())
        if sheets > _MOSTLY:
            return 0.0
    volume = float(surface.filled().volume)
    if abs(volume - expected) <= _CLOSE * abs(expected):
        return volume
    low, high = surface.bounds
    counts = np.ceil((high - low) / (high - low).max() * _SAMPLES).clip(min=1.0)
    step = (high - low) / counts
    # one random point per cell, because a lattice may miss members along the axes
    cells = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), -1).reshape(-1, 3)
    winding = surface.winding(low + step * (cells + np.random.default_rng(0).random(cells.shape)))
    inside = winding > 0.5
    if surface.is_closed:
        # few points would hit a thin film: sample only the overlaps, and subtract them
        return volume - float((np.rint(winding) - inside).sum() * step.prod())
    return float(inside.sum() * step.prod())


def volume_text(volume: float, enclosed: float) -> str:
    """Return a clause about a mesh whose volume differs from the enclosed volume [m^3]."""
    return (
        f"the mesh has {volume / enclosed:.3g} times the volume that its surface encloses "
        f"({volume:.3g} against {enclosed:.3g} m^3), and so has its mass"
    )


def finer(cells: float, along: float, wanted: float, what: str) -> str:
    """Return advice on the resolution for parts that are too few cells thick."""
    needed = int(np.ceil(wanted / cells * along))
    if needed <= _MOST_CELLS:
        return f"About {needed} cells along the longest side {what}"
    return (
        f"That would need {needed:,} cells along the longest side, of at most {_MOST_CELLS}: give "
        "the part more thickness and a softer, lighter material"
    )


def warn_of_lost_volume(
    surface: Surface, volume: float, along: float, whole: bool, stacklevel: int
) -> None:
    """Warn if the volume [m^3] of cells differs from that of a closed surface.

    along: number of cells along the longest side. whole: cells are taken or left out, not cut.
    """
    if surface.n_triangles > MANY_TRIANGLES or not surface.is_closed:
        return
    enclosed = enclosed_volume(surface, volume)
    if not enclosed > 0.0 or abs(volume / enclosed - 1.0) <= VOLUME_OFF:
        return
    why, advice = "", "raise the resolution"
    thick = 2.0 * enclosed / surface.area / float(np.ptp(surface.bounds, axis=0).max()) * along
    if whole:
        # steps at the surface err at most as their size
        off = abs(volume / enclosed - 1.0)
        why = "cells at the surface are left out or taken whole. "
        advice = finer(VOLUME_OFF, along, off, f"may keep it within {VOLUME_OFF:.0%}")
    elif thick < KEPT:
        why = (
            f"the body is about {thick:.2g} cells thick, too thin for cells to be cut; those that "
            "meet it are left out or taken whole. "
        )
        advice = finer(thick, along, KEPT, "keep the volume")
    warnings.warn(
        f"{volume_text(volume, enclosed)}: {why}{advice}",
        PlausibilityWarning,
        stacklevel=stacklevel + 1,
    )


def warn_of_first_order(
    surface: Surface, n_cells: int, edge: float, resolution: int, most: int, stacklevel: int
) -> None:
    """Warn if 8-node cells, chosen because there are more than `most`, are too stiff in bending.

    edge: longest edge of a cell [m], which is decisive for flattened cells.
    """
    if surface.n_triangles > MANY_TRIANGLES:
        return
    across = surface.filled()._about_thinnest(THIN) / edge
    if not 0.0 < across < _FIRST_ORDER_ACROSS:
        return
    fewer = int(resolution * np.sqrt(most / n_cells))
    warnings.warn(
        f"{n_cells:,} cells are too many for 20 nodes each, so they have 8, which bend too stiffly "
        f"with fewer than {_FIRST_ORDER_ACROSS:g} of them across: the thinnest parts are "
        f"{across:.2g}. Pass resolution={fewer} or order=2 for cells of 20 nodes",
        PlausibilityWarning,
        stacklevel=stacklevel + 1,
    )


def _ends(surface: Surface, loops: list[NDArray[np.int32]]) -> bool:
    """Return True if a hole is as wide as the body, like the end of a tube; seams have no width.

    The width of the body is the middle side of its box along the principal axes of the vertices.
    """
    x = surface.vertices[np.unique(surface.triangles)]
    middle = np.sort(np.ptp(x @ np.linalg.eigh(np.cov(x.T))[1], axis=0))[1]
    corners = [surface.vertices[loop] - surface.vertices[loop[0]] for loop in loops]
    areas = [0.5 * np.linalg.norm(np.cross(c, np.roll(c, -1, 0)).sum(axis=0)) for c in corners]
    return bool(areas) and float(np.sqrt(4.0 / np.pi * max(areas))) > _WIDE * float(middle)


def _holes(surface: Surface, loops: list[NDArray[np.int32]], one: str) -> str:
    """Return a text with the number of holes, and position and size of the widest."""
    corners = [surface.vertices[loop] for loop in loops]
    across = np.array([np.ptp(x, axis=0).max() for x in corners])
    widest = np.argsort(-across, kind="stable")[:_SHOWN]
    longest = np.ptp(surface.bounds, axis=0).max()
    # rounds values like 1e-18 to 0
    places = [0.5 * (x.min(axis=0) + x.max(axis=0)) for x in corners]
    digits = 3 - int(np.floor(np.log10(longest)))
    named = [
        f"{across[i]:.3g} m across ({across[i] / longest:.0%} of the surface's longest side) at "
        f"({', '.join(f'{round(x, digits) + 0.0:g}' for x in places[i].tolist())})"
        for i in widest
    ]
    count = f"1 {one}" if len(loops) == 1 else f"{len(loops)} {one}s"
    shown = "the widest " if len(loops) > _SHOWN else ""
    return f"{count}, {shown}{'; '.join(named)}"


def warn_of_doubts(
    surface: Surface, inside: int, doubtful: int, sheets: float, skin: str, stacklevel: int
) -> None:
    """Warn if the inside of a surface is uncertain.

    Parameters
    ----------
    surface
        The surface.
    inside
        Number of points of a regular lattice that count as inside.
    doubtful
        Number of points off the surface with winding numbers from 0.1 to 0.9.
    sheets
        Fraction of the area of the surface without a body behind it.
    skin
        Advice for thin walls: an argument that includes everything near the surface.
    stacklevel
        Stack level as in `warnings.warn`, from the function that calls this one.
    """
    loops = [] if surface.is_closed else surface.boundary_loops()
    if sheets > _MOST_SHEETS:
        border = f"; it has {_holes(surface, loops, 'border')}" if loops else ""
        lid = ", as if a lid closed the border" if loops else ""
        warnings.warn(
            f"{sheets:.0%} of the surface's area is a single sheet without thickness, which "
            f"encloses no volume{border}. The body made there is a guess{lid}, and its volume "
            "means nothing: give the sheet a second side, as far behind it as the part is thick, "
            f"or {skin}",
            GeometryWarning,
            stacklevel=stacklevel + 1,
        )
    elif doubtful > _MOST_DOUBTS * inside or _ends(surface, loops):
        warnings.warn(
            "the surface is so open that its inside is uncertain; it has "
            f"{_holes(surface, loops, 'hole')}. A lid over each hole is assumed, which "
            "is right for a massive part (Surface.filled() closes it); if thin walls are "
            f"meant, such as of a bowl, a tube or cloth, give them a second side, or {skin}",
            GeometryWarning,
            stacklevel=stacklevel + 1,
        )
