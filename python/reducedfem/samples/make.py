"""Make the sample surfaces that ship with the package.

Run as a script::

    python make.py                # write the .obj files next to this script
    python make.py --out DIR      # write them to DIR instead
    python make.py --check        # compare the shipped files, write nothing

Every surface is in metres, closed, two-manifold and oriented outwards. The
module needs NumPy only, never the compiled part of the package, so that the
samples can be remade before anything is built.

The files are identical on every machine: coordinates are rounded to a
micrometre before they are printed, which removes last-bit differences between
mathematical libraries. (A test verifies that no coordinate lies near a rounding
boundary.)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vertices = NDArray[np.float64]
Triangles = NDArray[np.int32]
Surface = tuple[Vertices, Triangles]

#: Decimals in the files. A micrometre is a thousandth of the smallest feature
#: of all samples, and six digits suffice.
DECIMALS = 6


# --- building blocks ---------------------------------------------------------


def _smoothstep(x: ArrayLike, start: float, stop: float) -> NDArray[np.float64]:
    """Rise smoothly from 0 at `start` to 1 at `stop`, with zero slope at both."""
    t = np.clip((np.asarray(x, dtype=float) - start) / (stop - start), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _loft(
    rings: NDArray[np.float64],
    ends: tuple[ArrayLike, ArrayLike] | None,
) -> Surface:
    """Join successive rings of points into a closed surface.

    Parameters
    ----------
    rings : (m, n, 3) array
        Rings of `n` points, counter-clockwise for a viewer towards whom the
        rings advance.
    ends : pair of points or None
        The points to which the first and the last ring are fanned. None joins
        the last ring back to the first, which gives a torus.

    Returns
    -------
    vertices : (v, 3) array
        Points of all rings in order, then the two end points if given.
    triangles : (t, 3) array of int32
        Outward-oriented triangles.
    """
    m, n, _ = rings.shape
    vertices = rings.reshape(-1, 3)
    j = np.arange(n)
    right = (j + 1) % n

    # two triangles for each quadrilateral between ring i and its successor
    i = np.arange(m if ends is None else m - 1)[:, None]
    following = (i + 1) % m
    a, b = i * n + j, i * n + right
    c, d = following * n + right, following * n + j
    parts = [np.stack([a, b, c], -1), np.stack([a, c, d], -1)]

    if ends is not None:
        first, last = m * n, m * n + 1
        vertices = np.vstack([vertices, np.asarray(ends, dtype=float)])
        parts.append(np.stack([np.full(n, first), right, j], -1))
        tail = (m - 1) * n
        parts.append(np.stack([np.full(n, last), tail + j, tail + right], -1))

    triangles = np.concatenate([part.reshape(-1, 3) for part in parts])
    return vertices, triangles.astype(np.int32)


def _circles(
    centres: NDArray[np.float64],
    tangents: NDArray[np.float64],
    side: ArrayLike,
    radius: float,
    sides: int,
) -> NDArray[np.float64]:
    """Place regular polygons square to a plane curve.

    Parameters
    ----------
    centres, tangents : (m, 3) array
        Points of the curve and its unit tangents there.
    side : (3,) array_like
        Unit normal of the plane in which the curve lies. One constant
        direction is enough because no curve here leaves its plane.
    radius : float
        Radius of the circle through the corners.
    sides : int
        Number of corners.

    Returns
    -------
    (m, sides, 3) array
        Rings for `_loft`.
    """
    normal = np.asarray(side, dtype=float)
    up = np.cross(tangents, normal)
    angle = 2.0 * np.pi * np.arange(sides)[:, None] / sides
    spokes: NDArray[np.float64] = np.cos(angle) * normal + np.sin(angle) * up[:, None, :]
    return centres[:, None, :] + radius * spokes


def _rod(
    start: ArrayLike,
    stop: ArrayLike,
    radius: float,
    sides: int,
    step: float,
) -> Surface:
    """Make a straight round rod with flat ends.

    Parameters
    ----------
    start, stop : (3,) array_like
        Ends of the axis, which must not be parallel to x.
    radius : float
        Radius of the circle through the corners.
    sides : int
        Number of corners of the cross-section.
    step : float
        Longest distance between cross-sections, which avoids long thin
        triangles.
    """
    start, stop = np.asarray(start, dtype=float), np.asarray(stop, dtype=float)
    length = float(np.linalg.norm(stop - start))
    pieces = int(np.ceil(length / step - 1e-9))
    tangent = (stop - start) / length
    side = np.cross(tangent, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    centres = start + np.linspace(0.0, 1.0, pieces + 1)[:, None] * (stop - start)
    tangents = np.broadcast_to(tangent, centres.shape)
    rings = _circles(centres, tangents, side, radius, sides)
    return _loft(rings, (start, stop))


def _box(low: ArrayLike, high: ArrayLike, cells: tuple[int, int, int]) -> Surface:
    """Make an axis-aligned box whose faces are divided into a grid.

    Parameters
    ----------
    low, high : (3,) array_like
        Opposite corners.
    cells : tuple of int
        Number of grid cells along x, y and z.
    """
    counts = np.asarray(cells)
    quads = []
    for axis in range(3):
        # (axis, first, second) is right-handed, so this order of the corners
        # turns counter-clockwise seen from the high side
        first, second = (axis + 1) % 3, (axis + 2) % 3
        grid = np.indices((counts[first], counts[second])).reshape(2, -1).T
        corners = np.zeros((len(grid), 4, 3), dtype=np.int64)
        corners[..., first] = grid[:, :1] + np.array([0, 1, 1, 0])
        corners[..., second] = grid[:, 1:] + np.array([0, 0, 1, 1])
        quads.append(corners[:, ::-1].copy())
        corners[..., axis] = counts[axis]
        quads.append(corners)
    lattice = np.concatenate(quads)

    # one number per lattice point: faces then share the vertices of their edges
    stride = counts + 1
    x, y, z = np.moveaxis(lattice, -1, 0)
    keys = (x * stride[1] + y) * stride[2] + z
    used, quad = np.unique(keys, return_inverse=True)
    quad = quad.reshape(keys.shape)
    triangles = np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]])
    points = np.stack(np.unravel_index(used, tuple(stride)), -1) / counts
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return low + points * (high - low), triangles.astype(np.int32)


def _gather(parts: Sequence[Surface]) -> Surface:
    """Put several surfaces into one list of vertices and one of triangles."""
    sizes = [len(vertices) for vertices, _ in parts]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    vertices = np.concatenate([vertices for vertices, _ in parts])
    triangles = np.concatenate([tri + start for (_, tri), start in zip(parts, starts, strict=True)])
    return vertices, triangles.astype(np.int32)


# --- the samples -------------------------------------------------------------


def spoon(
    length: float = 0.200,
    bowl_length: float = 0.066,
    bowl_width: float = 0.040,
    bowl_depth: float = 0.011,
    wall: float = 0.0025,
    handle_width: float = 0.008,
    handle_thickness: float = 0.003,
    neck_thickness: float = 0.004,
    arch: float = 0.018,
    around: int = 40,
    along: int = 53,
) -> Surface:
    """Make a table spoon: slender arched handle, oval hollow bowl.

    The spoon lies along +x, its handle end at x = 0 (the end to clamp) and
    the bowl open towards +z. It is a middle surface, thickened along its own
    normals by a profile that closes to zero at the outline, so the handle has
    elliptical sections and the bowl a wall of even thickness with a rounded
    rim.

    Parameters
    ----------
    length : float
        Length along x.
    bowl_length, bowl_width : float
        Axes of the oval of the bowl. The neck takes up the first tenth of
        its length.
    bowl_depth : float
        Depth of the middle of the wall below the rim.
    wall : float
        Thickness of the bowl in its middle.
    handle_width : float
        Mean width of the handle, which narrows towards the neck.
    handle_thickness, neck_thickness : float
        Thickness of the handle at its end and at the neck.
    arch : float
        Height to which the handle rises at the neck.
    around : int
        Points of each cross-section; a multiple of 4.
    along : int
        Cross-sections between the rounded handle end and the bowl's middle.

    Returns
    -------
    vertices : (v, 3) array of float64
        Positions in metres.
    triangles : (t, 3) array of int32
        Outward-oriented triangles.
    """
    half_bowl = 0.5 * bowl_length
    middle = length - half_bowl
    neck = length - bowl_length
    end_radius = 0.55 * handle_width

    def oval(x: NDArray[np.float64]) -> NDArray[np.float64]:
        # one at the bowl's middle, zero at its ends
        return np.clip(1.0 - ((x - middle) / half_bowl) ** 2, 0.0, None)

    def half_width(x: NDArray[np.float64]) -> NDArray[np.float64]:
        # handle: wider at its end, faded out inside the bowl
        handle = 0.5 * handle_width * (1.2 - 0.4 * _smoothstep(x, 0.0, neck))
        handle *= 1.0 - _smoothstep(x, neck - 0.005, middle)
        rounding = np.clip(1.0 - x / end_radius, 0.0, 1.0)
        handle *= np.sqrt(1.0 - rounding**2)
        # egg-shaped: an ellipse towards the tip, tapering into the neck
        power = 0.5 + 0.9 * (1.0 - _smoothstep(x, neck, middle))
        bowl = 0.5 * bowl_width * oval(x) ** power
        return np.hypot(handle, bowl)

    def rim_height(x: ArrayLike) -> NDArray[np.float64]:
        return arch * np.sin(np.pi * np.asarray(x) / (1.35 * length)) ** 2

    def height(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        # paraboloid bowl hung below an arched rim line; the handle has no depth
        depth = bowl_depth * oval(x) * _smoothstep(x, neck - 0.004, middle)
        return rim_height(x) - depth * (1.0 - (y / half_width(x)) ** 2)

    # dense sections at both ends, where the outline is strongly curved
    handle_end = end_radius * (1.0 - np.cos(0.5 * np.pi * np.arange(1, 6) / 6))
    straight = np.linspace(end_radius, middle, along)
    tip = middle + half_bowl * np.sin(0.5 * np.pi * np.arange(1, 16) / 16)
    x = np.concatenate([handle_end, straight, tip])[:, None]

    # equal angles put more points near the rim; one quarter is mirrored so that
    # the two halves of the spoon match to the last bit
    quarter = np.cos(2.0 * np.pi * np.arange(around // 4) / around)
    upper = np.concatenate([quarter, [0.0], -quarter[::-1]])
    across = np.concatenate([upper, upper[-2:0:-1]])
    above = np.concatenate([np.ones(len(upper)), -np.ones(len(upper) - 2)])

    width = half_width(x)
    y = across * width

    # thickness: an ellipse where the section is narrow, a flat wall with a
    # rounded rim where it is wide
    share = _smoothstep(width, 0.5 * handle_width, 0.45 * bowl_width)
    profile = np.sqrt(1.0 - np.abs(across) ** (2.0 + 8.0 * share))
    thick = handle_thickness + (neck_thickness - handle_thickness) * _smoothstep(
        x, 0.3 * neck, neck
    )
    thick += (wall - thick) * _smoothstep(x, neck, middle)
    for distance, radius in ((x, 0.5 * handle_thickness), (length - x, 0.5 * wall)):
        rounding = np.clip(1.0 - distance / radius, 0.0, 1.0)
        thick *= np.sqrt(1.0 - rounding**2)

    # normals of the middle surface, by central differences kept inside it
    step = 1e-6
    inside = np.clip(x, 10 * step, length - 10 * step)
    slope_x = (height(inside + step, y) - height(inside - step, y)) / (2 * step)
    slope_y = (height(inside, y + step) - height(inside, y - step)) / (2 * step)
    lift = 0.5 * thick * profile * above
    lift /= np.sqrt(1.0 + slope_x**2 + slope_y**2)
    rings = np.stack([x - slope_x * lift, y - slope_y * lift, height(x, y) + lift], axis=-1)

    return _loft(rings, ((0.0, 0.0, 0.0), (length, 0.0, float(rim_height(length)))))


def bridge(
    span: float = 1.000,
    width: float = 0.180,
    deck_thickness: float = 0.020,
    deck_height: float = 0.110,
    camber: float = 0.012,
    rise: float = 0.240,
    arch_diameter: float = 0.018,
    hanger_diameter: float = 0.009,
    hangers: int = 9,
    braces: int = 5,
) -> Surface:
    """Make a tied-arch bridge: deck, two arches, hangers, braces, two piers.

    The bridge spans x from 0 to `span`, stands on z = 0 with the feet of its
    two piers and is symmetric about y = 0. Each member is a closed surface of
    its own, and the members run into one another, as in most surfaces drawn
    for display: only their union is one body.

    Parameters
    ----------
    span : float
        Length of the deck.
    width : float
        Width of the deck.
    deck_thickness : float
        Thickness of the deck.
    deck_height : float
        Height of the top of the deck at its ends.
    camber : float
        Rise of the deck at mid-span. A deck that is not quite flat also keeps
        its faces off the planes of a voxel grid.
    rise : float
        Rise of the arches over the level where they spring.
    arch_diameter, hanger_diameter : float
        Diameters of the arches, and of the hangers and braces.
    hangers : int
        Hangers of each arch.
    braces : int
        Cross-pieces between the two arches.

    Returns
    -------
    vertices : (v, 3) array of float64
        Positions in metres.
    triangles : (t, 3) array of int32
        Outward-oriented triangles.
    """
    pier_length = 0.07 * span
    inset = 0.008 * span
    arch_y = 0.5 * width - 0.9 * arch_diameter
    deck_middle = deck_height - 0.5 * deck_thickness
    spring = inset + 0.5 * pier_length

    def deck_z(x: ArrayLike) -> NDArray[np.float64]:
        # middle of the deck
        ratio = 2.0 * np.asarray(x, dtype=float) / span - 1.0
        return deck_middle + camber * (1.0 - ratio**2)

    def arch_z(x: ArrayLike) -> NDArray[np.float64]:
        # axis of the arch
        ratio = (np.asarray(x, dtype=float) - 0.5 * span) / (0.5 * span - spring)
        return deck_middle + rise * (1.0 - ratio**2)

    parts: list[Surface] = []

    half = 0.5 * deck_thickness
    vertices, triangles = _box((0.0, -0.5 * width, -half), (span, 0.5 * width, half), (40, 7, 1))
    vertices[:, 2] += deck_z(vertices[:, 0])
    parts.append((vertices, triangles))

    # piers reach up to the middle of the deck and widen towards their feet
    for start in (inset, span - inset - pier_length):
        vertices, triangles = _box(
            (start, -0.43 * width, 0.0),
            (start + pier_length, 0.43 * width, deck_middle),
            (3, 7, 5),
        )
        centre = np.array([start + 0.5 * pier_length, 0.0])
        flare = 0.12 * (1.0 - vertices[:, 2:] / deck_middle) ** 2
        vertices[:, :2] += flare * (vertices[:, :2] - centre)
        parts.append((vertices, triangles))

    # equal steps along the chord are close to equal steps along so flat an arch
    x = np.linspace(spring, span - spring, 49)
    slope = -2.0 * rise * (x - 0.5 * span) / (0.5 * span - spring) ** 2
    tangents = np.stack([np.ones_like(x), np.zeros_like(x), slope], axis=-1)
    tangents /= np.linalg.norm(tangents, axis=1)[:, None]
    for y in (-arch_y, arch_y):
        centres = np.stack([x, np.full_like(x, y), arch_z(x)], axis=-1)
        rings = _circles(centres, tangents, (0.0, 1.0, 0.0), 0.5 * arch_diameter, 10)
        parts.append(_loft(rings, (centres[0], centres[-1])))

    rod_radius = 0.5 * hanger_diameter
    clear = span - 2.0 * spring
    for x_hanger in (spring + clear * np.arange(1, hangers + 1) / (hangers + 1)).tolist():
        bottom, top = float(deck_z(x_hanger)), float(arch_z(x_hanger))
        for y in (-arch_y, arch_y):
            foot, head = (x_hanger, y, bottom), (x_hanger, y, top)
            parts.append(_rod(foot, head, rod_radius, 8, 0.03))

    # Braces connect the arches only where there is clearance below, slightly
    # below the axes of the arches: a brace and a hanger must not share points,
    # because merging equal points would then give a non-manifold surface.
    reach = 0.2 * clear
    for x_brace in np.linspace(0.5 * span - reach, 0.5 * span + reach, braces).tolist():
        z = float(arch_z(x_brace)) - 0.2 * arch_diameter
        left, right = (x_brace, -arch_y, z), (x_brace, arch_y, z)
        parts.append(_rod(left, right, rod_radius, 8, 0.03))

    return _gather(parts)


def hose(
    length: float = 0.300,
    outer_diameter: float = 0.040,
    inner_diameter: float = 0.030,
    bends: tuple[float, float] = (80.0, -55.0),
    around: int = 32,
    along: int = 30,
) -> Surface:
    """Make a bent hose: an open tube with a wall, a surface of genus 1.

    The axis starts at the origin towards +x, so that one end face lies in the
    plane x = 0 (the end to clamp), and stays in the plane y = 0. It is made of
    two circular arcs of equal length with opposite curvature.

    Parameters
    ----------
    length : float
        Length of the axis.
    outer_diameter, inner_diameter : float
        Diameters of the circles through the corners of the cross-sections.
    bends : tuple of float
        Angles in degrees by which the two halves turn, positive towards +z;
        neither may be zero.
    around : int
        Points of each cross-section.
    along : int
        Pieces along the axis; even, so that a section lies where the arcs
        meet.

    Returns
    -------
    vertices : (v, 3) array of float64
        Positions in metres.
    triangles : (t, 3) array of int32
        Outward-oriented triangles.
    """
    half = 0.5 * length
    heading = np.zeros(1)
    x, z = np.zeros(1), np.zeros(1)
    for bend in np.deg2rad(bends):
        radius = half / bend
        turned = heading[-1] + bend * np.arange(1, along // 2 + 1) / (along // 2)
        # both right-hand sides still use the end of the arc before
        arc_x = x[-1] + radius * (np.sin(turned) - np.sin(heading[-1]))
        arc_z = z[-1] - radius * (np.cos(turned) - np.cos(heading[-1]))
        x, z = np.concatenate([x, arc_x]), np.concatenate([z, arc_z])
        heading = np.concatenate([heading, turned])

    level = np.zeros_like(x)
    centres = np.stack([x, level, z], axis=-1)
    tangents = np.stack([np.cos(heading), level, np.sin(heading)], axis=-1)
    outer, inner = (
        _circles(centres, tangents, (0.0, 1.0, 0.0), 0.5 * diameter, around)
        for diameter in (outer_diameter, inner_diameter)
    )
    # out along the outside, back along the inside: the joins are the end faces
    return _loft(np.concatenate([outer, inner[::-1]]), None)


# --- files -------------------------------------------------------------------

#: The samples by name, in the order in which they are made.
SAMPLES: dict[str, Callable[[], Surface]] = {
    "spoon": spoon,
    "bridge": bridge,
    "hose": hose,
}


def obj_text(name: str, vertices: Vertices, triangles: Triangles) -> str:
    """Format a surface as Wavefront OBJ text.

    Parameters
    ----------
    name : str
        Name written as the object's name.
    vertices : (v, 3) array of float64
        Positions in metres; rounded to `DECIMALS` decimals.
    triangles : (t, 3) array of int32
        Vertex numbers counted from 0 (the file counts from 1).

    Returns
    -------
    str
        The text, its lines ended by single line feeds.
    """
    # adding zero turns -0.0 into 0.0
    rounded = np.round(vertices, DECIMALS) + 0.0
    lines = [
        f"# reducedfem sample surface, metres; made by make.py: {name}",
        f"# {len(vertices)} vertices, {len(triangles)} triangles",
        f"o {name}",
    ]
    lines += ["v {:.6g} {:.6g} {:.6g}".format(*point) for point in rounded.tolist()]
    lines += ["f {} {} {}".format(*corners) for corners in (triangles + 1).tolist()]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the sample files.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments; those of the process if not given.

    Returns
    -------
    int
        Exit status: 1 if a checked file is missing or differs, otherwise 0.
    """
    parser = argparse.ArgumentParser(description="Make the sample surfaces.")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).resolve().parent,
        metavar="DIR",
        help="folder of the .obj files (default: the folder of this script)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; fail if a file differs from what would be written",
    )
    options = parser.parse_args(arguments)

    differing = 0
    for name, build in SAMPLES.items():
        # bytes, because text mode would change the line ends on Windows
        content = obj_text(name, *build()).encode("ascii")
        target: Path = options.out / f"{name}.obj"
        if options.check:
            same = target.is_file() and target.read_bytes() == content
            differing += not same
            print(f"{target}: {'up to date' if same else 'DIFFERS'}")
        else:
            options.out.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            print(f"{target}: {len(content)} bytes")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
