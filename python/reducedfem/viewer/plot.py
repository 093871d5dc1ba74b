"""Pictures of shaded surfaces and trajectories.

A small rasteriser with a depth buffer draws surfaces, so intersecting shapes hide each other
correctly. Matplotlib, required for figures only, is the optional dependency
``reducedfem[plot]``; its global state is not changed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import choice, number
from reducedfem.errors import FileFormatError, InputError, InputTypeError, MissingMatplotlibError
from reducedfem.geometry.surface import Surface
from reducedfem.haptics.records import HapticRecords
from reducedfem.io.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Pose",
    "Trace",
    "check_picture",
    "colours",
    "length_unit",
    "render",
    "save_figure",
    "session_figure",
    "shapes_figure",
    "traces_figure",
]

Array = NDArray[np.float64]

# directions of the lights in the frame of the camera: right, up, towards the viewer
_KEY_LIGHT = np.array([-0.45, 0.75, 0.60])
_FILL_LIGHT = np.array([0.80, 0.10, 0.45])
_CREASE = np.cos(np.radians(40.0))
# ratio of forces above which they get separate axes
_APART = 3.0
UP = ("z", "y", "x", "-z", "-y", "-x")
_INK = "#2b2f36"
_PAPER = "#f7f8fa"
# colours from no displacement to the largest
_SCALE = np.array(
    [
        [0.87, 0.88, 0.90],
        [0.56, 0.79, 0.87],
        [0.16, 0.60, 0.66],
        [0.60, 0.74, 0.36],
        [0.97, 0.72, 0.24],
        [0.86, 0.27, 0.22],
    ]
)
_WITHIN = 0.5  # displacement over the shortest side below which shapes mostly overlap
_THROUGH = 0.25  # opacity of a transparent shape at rest
_INDISTINGUISHABLE = 2.0  # pixels between shapes that are not drawn separately
_MAX_PIXELS = 25_000_000
_MAX_FRAGMENTS = 60_000_000
# longest edge of a refined surface relative to its size, and maximum number of added triangles
_FINE = 0.02
_MAX_ADDED = 20_000


def require_matplotlib() -> None:
    """Raise `MissingMatplotlibError` if pictures cannot be drawn."""
    try:
        import matplotlib as _  # noqa: F401
    except ImportError as error:
        raise MissingMatplotlibError(
            "pictures need matplotlib, which is not installed: pip install 'reducedfem[plot]'"
        ) from error


class Pose(NamedTuple):
    """One shape of a picture.

    Attributes
    ----------
    vertices
        Positions [m], shape (v, 3).
    colours
        Red, green and blue from 0 to 1: one colour, (3,), or one per vertex, (v, 3). Or a position
        per vertex, (v, 1), on the scale of `colours`, from 0 at rest to 1.
    opacity
        Opacity from 0 to 1; shapes behind an opaque shape are hidden.
    """

    vertices: ArrayLike
    colours: ArrayLike = (0.72, 0.74, 0.77)
    opacity: float = 1.0


class Trace(NamedTuple):
    """A curve of a plot: its name and its values over time."""

    label: str
    time: ArrayLike
    value: ArrayLike


# --- refinement of surfaces ---------------------------------------------------------------


def _sides(faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ends of each side of each triangle, the lower vertex first, (t, 3, 2)."""
    return np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2), axis=2)


def refined(surface: Surface) -> Surface:
    """Return a surface of the same shape with edges short enough to draw its deformation.

    The longest edges are halved first, in all adjacent triangles, until edges are at most a
    fiftieth of the size or 20,000 triangles have been added.
    """
    x, faces = surface.vertices, surface.triangles.astype(np.int64)
    finest = _FINE * float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
    while True:
        sides, n = _sides(faces), len(x)
        length = np.linalg.norm(x[sides[..., 0]] - x[sides[..., 1]], axis=2)
        long = length > max(finest, 0.5 * float(length.max()))
        if not long.any() or len(faces) + long.sum() > surface.n_triangles + _MAX_ADDED:
            return surface if n == surface.n_vertices else Surface(x, faces)
        halved = np.unique(sides[long] @ [n, 1])
        x = np.concatenate([x, 0.5 * (x[halved // n] + x[halved % n])])
        faces = _cut(x, faces, halved, n)


def _cut(x: Array, faces: NDArray[np.int64], halved: NDArray[np.int64], n: int) -> Any:
    """Split triangles at the middles of sides, new vertices n, n + 1, ...; side a, b is a n + b."""
    while True:
        sides = _sides(faces)
        name = np.where(sides[..., 1] < n, sides @ [n, 1], -1)
        place = np.minimum(np.searchsorted(halved, name), len(halved) - 1)
        there = halved[place] == name
        cut = there.any(axis=1)
        if not cut.any():
            return faces
        # triangles with several halved sides are split at the longest first
        length = np.linalg.norm(x[sides[..., 0]] - x[sides[..., 1]], axis=2)
        side = np.where(there, length, -1.0).argmax(axis=1)[cut]
        turn = (side[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(faces[cut], turn, axis=1).T
        middle = n + place[cut, side]
        halves = [np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)]
        faces = np.concatenate([faces[~cut], *halves])


# --- the rasteriser -------------------------------------------------------------------


def _corner_normals(x: Array, triangles: NDArray[np.int32]) -> Array:
    """Return a normal for each corner of each triangle, (t, 3, 3), smooth except at creases."""
    a, b, c = x[triangles[:, 0]], x[triangles[:, 1]], x[triangles[:, 2]]
    area = np.cross(b - a, c - a)
    unit = area / np.maximum(np.linalg.norm(area, axis=1), 1e-300)[:, None]
    # all pairs of a corner and a triangle around the same vertex
    corner_vertex = triangles.reshape(-1)
    order = np.argsort(corner_vertex, kind="stable")
    valence = np.bincount(corner_vertex, minlength=len(x))
    first = np.concatenate([[0], np.cumsum(valence)[:-1]])
    repeat = valence[corner_vertex]
    corner = np.repeat(np.arange(len(corner_vertex)), repeat)
    within = np.arange(len(corner)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    other = order[first[corner_vertex[corner]] + within] // 3
    smooth = (unit[corner // 3] * unit[other]).sum(axis=1) > _CREASE
    total = np.zeros((len(corner_vertex), 3))
    for axis in range(3):
        total[:, axis] = np.bincount(
            corner[smooth], area[other[smooth], axis], minlength=len(corner_vertex)
        )
    total /= np.maximum(np.linalg.norm(total, axis=1), 1e-300)[:, None]
    return total.reshape(-1, 3, 3)


class _Fragments(NamedTuple):
    """Visible fragment of each covered pixel."""

    pixel: NDArray[np.int64]
    depth: Array
    normal: Array
    colour: Array


def _spread(first: NDArray[np.int64], count: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return the concatenated ranges first[k], ..., first[k] + count[k] - 1, and their k."""
    owner = np.repeat(np.arange(len(count)), count)
    return first[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count), owner


def _rasterize(
    x: Array, triangles: NDArray[np.int32], colours: Array, width: int, height: int
) -> _Fragments:
    """Find the nearest surface in each pixel; x in pixels, third axis towards the viewer."""
    corners = x[triangles]
    # line i is a u + b v + c, zero along the edge opposite to corner i
    p, q = np.roll(corners, -1, axis=1), np.roll(corners, -2, axis=1)
    lines = np.stack(
        [p[..., 1] - q[..., 1], q[..., 0] - p[..., 0],
         p[..., 0] * q[..., 1] - q[..., 0] * p[..., 1]], axis=2,
    )  # fmt: skip
    total = lines[..., 2].sum(axis=1)
    shown = np.abs(total) > 1e-12  # not viewed edge-on
    lines = lines[shown] / total[shown, None, None]  # barycentric coordinates now
    corners, faces = corners[shown], triangles[shown]
    source = np.flatnonzero(shown)

    # rows of pixels that meet each triangle, then the span of it in each row
    low = np.clip(np.ceil(corners[..., 1].min(axis=1) - 0.5), 0, height).astype(np.int64)
    high = np.clip(np.floor(corners[..., 1].max(axis=1) - 0.5), -1, height - 1).astype(np.int64)
    row, owner = _spread(low, np.maximum(high - low + 1, 0))
    left, right = np.full(len(row), -0.5), np.full(len(row), width - 0.5)
    for i in range(3):
        a = lines[owner, i, 0]
        rest = lines[owner, i, 1] * (row + 0.5) + lines[owner, i, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = -rest / a - 0.5
        left = np.where(a > 0, np.maximum(left, bound), left)
        right = np.where(a < 0, np.minimum(right, bound), right)
        right[(a == 0) & (rest < 0)] = -1.0
    first = np.ceil(left - 1e-9).astype(np.int64)
    count = np.maximum(np.floor(right + 1e-9).astype(np.int64) - first + 1, 0)
    if count.sum() > _MAX_FRAGMENTS:
        raise InputError("the picture is too large for its shapes; choose a smaller size")
    column, span = _spread(first, count)
    owner, row = owner[span], row[span]
    inside = (column >= 0) & (column < width)
    column, owner, row = column[inside], owner[inside], row[inside]

    # the nearest fragment of each pixel is assigned last and therefore kept
    plane = (lines * corners[..., 2, None]).sum(axis=1)
    depth = plane[owner, 0] * (column + 0.5) + plane[owner, 1] * (row + 0.5) + plane[owner, 2]
    pixel = row * width + column
    order = np.argsort(depth, kind="stable")
    winner = np.full(width * height, -1)
    winner[pixel[order]] = order
    pixel = np.flatnonzero(winner >= 0)
    winner = winner[pixel]
    owner, column, row = owner[winner], column[winner], row[winner]

    place = np.stack([column + 0.5, row + 0.5, np.ones(len(row))], axis=1)
    weights = np.einsum("kij,kj->ki", lines[owner], place)
    normal = np.einsum("ki,kic->kc", weights, _corner_normals(x, triangles)[source[owner]])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    normal *= np.where(normal[:, 2:] < 0, -1.0, 1.0)  # open surfaces have two sides
    colour = np.einsum("ki,kic->kc", weights, colours[faces[owner]])
    return _Fragments(pixel, depth[winner], normal, colour)


def _shade(normal: Array, colour: Array) -> Array:
    """Light a surface: a key light with a highlight, a fill light and the sky."""
    shade = 0.58 + 0.12 * normal[:, 1]
    for light, strength in ((_KEY_LIGHT, 0.36), (_FILL_LIGHT, 0.16)):
        direction = light / np.linalg.norm(light)
        shade += strength * np.maximum(normal @ direction, 0.0)
    half = _KEY_LIGHT / np.linalg.norm(_KEY_LIGHT) + [0.0, 0.0, 1.0]
    shine = np.maximum(normal @ (half / np.linalg.norm(half)), 0.0) ** 40
    lit: Array = colour * shade[:, None] + 0.22 * shine[:, None]
    return np.clip(lit, 0.0, 1.0)


class _Frame(NamedTuple):
    """A parallel projection that shows all shapes."""

    axes: Array
    origin: Array
    scale: float
    border: float
    size: tuple[int, int]

    def pixels(self, points: ArrayLike) -> Array:
        """Return column and row, downwards, and depth towards the viewer, all in pixels."""
        x: Array = np.asarray(points, dtype=np.float64) @ self.axes.T - self.origin
        x *= [self.scale, -self.scale, self.scale]
        x += (self.border, self.border, 0.0)
        return x


def _upright(up: str) -> Array:
    """Return the rotation that turns the axis `up` to z."""
    choice(up, "up", UP)
    z = np.eye(3)["xyz".index(up[-1])] * (-1.0 if up[0] == "-" else 1.0)
    x = np.eye(3)[1 if up[-1] == "x" else 0]
    return np.array([x, np.cross(z, x), z])


def _frame(
    poses: Sequence[Pose],
    triangles: NDArray[np.int32],
    size: tuple[int, int],
    azimuth: float,
    elevation: float,
    margin: float,
    up: str,
) -> _Frame:
    if not poses:
        raise InputError("poses is empty; there is nothing to draw")
    a, e = np.radians(azimuth), np.radians(elevation)
    toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    axes = np.array([right, np.cross(toward, right), toward]) @ _upright(up)
    used = np.unique(triangles)
    seen = np.concatenate([np.asarray(pose.vertices, dtype=float)[used] @ axes.T for pose in poses])
    low, high = seen.min(axis=0), seen.max(axis=0)
    extent = np.maximum((high - low)[:2], 1e-12 * max(1.0, float(np.abs(seen).max())))
    border = margin * max(size)
    scale = float(np.min((np.array(size) - 2 * border) / extent))
    width, height = (int(n) for n in np.ceil(extent * scale + 2 * border - 1e-6))
    return _Frame(axes, np.array([low[0], high[1], 0.0]), scale, border, (width, height))


def render(
    poses: Sequence[Pose],
    triangles: ArrayLike,
    size: tuple[int, int] = (1200, 800),
    azimuth: float = -60.0,
    elevation: float = 20.0,
    margin: float = 0.03,
    smoothing: int = 2,
    up: str = "z",
) -> Array:
    """Draw shapes of one triangulation, all in the same frame, by parallel projection.

    Parameters
    ----------
    poses
        Shapes; opaque ones hide each other by depth, transparent ones are blended over those
        behind them.
    triangles
        Vertex indices, shape (t, 3).
    size
        Largest width and height [pixels]; the picture is cropped to the shapes.
    azimuth, elevation
        Direction to the viewer [degrees]: with z up, angle about z from x, and above the xy plane.
    margin
        Width of the border, relative to the larger side.
    smoothing
        Number of samples per pixel along each axis.
    up
        Axis that is up in the picture: "z", "y" as in most models made for computer graphics, "x",
        "-x", "-y" or "-z". With "y" the default view is from z, with "z" from -y.

    Returns
    -------
    (h, w, 4) array
        Red, green, blue and opacity from 0 to 1; the first row is the top one.

    Raises
    ------
    InputError
        `poses` is empty, or the picture is too large.
    """
    faces = np.asarray(triangles, dtype=np.int32)
    frame = _frame(poses, faces, size, azimuth, elevation, margin, up)
    return _draw(frame, poses, faces, smoothing)


def _draw(
    frame: _Frame, poses: Sequence[Pose], triangles: NDArray[np.int32], smoothing: int
) -> Array:
    width, height = frame.size
    wide, high = width * smoothing, height * smoothing
    if wide * high > _MAX_PIXELS:
        raise InputError(f"a picture of {wide} x {high} pixels is too large; choose a smaller size")
    depth = np.full(wide * high, -np.inf)
    image = np.zeros((wide * high, 4))
    # opaque shapes first, then transparent ones over the shapes behind them
    for pose in sorted(poses, key=lambda pose: pose.opacity < 1.0):
        x = frame.pixels(pose.vertices) * smoothing
        colour = np.asarray(pose.colours, dtype=np.float64)
        scaled = colour.shape == (len(x), 1)
        colour = colour if scaled else np.broadcast_to(colour, x.shape)
        seen = _rasterize(x, triangles, colour, wide, high)
        near = seen.depth > depth[seen.pixel]
        pixel, alpha = seen.pixel[near], pose.opacity
        colour = _on_scale(seen.colour[near, 0]) if scaled else seen.colour[near]
        rgb = _shade(seen.normal[near] * [1.0, -1.0, 1.0], colour)
        under = image[pixel]
        cover = alpha + under[:, 3] * (1.0 - alpha)
        weight = (alpha / cover)[:, None]
        image[pixel, :3] = weight * rgb + (1.0 - weight) * under[:, :3]
        image[pixel, 3] = cover
        if alpha >= 1.0:
            depth[pixel] = seen.depth[near]

    # mean over the blocks, colours weighted by their opacity
    image[:, :3] *= image[:, 3:]
    blocks = image.reshape(height, smoothing, width, smoothing, 4).mean(axis=(1, 3))
    blocks[..., :3] /= np.maximum(blocks[..., 3:], 1e-12)
    result: Array = np.clip(blocks, 0.0, 1.0)
    return result


# --- figures --------------------------------------------------------------------------


def colours(displacement: ArrayLike, largest: float) -> Array:
    """Return a colour for each vertex by the length of its displacement.

    Parameters
    ----------
    displacement
        Displacements of the vertices [m], shape (v, 3).
    largest
        Length [m] of the last colour of the scale.

    Returns
    -------
    (v, 3) array
        Red, green and blue from 0 to 1; the colour of rest for zero displacement.
    """
    return _on_scale(_place(displacement, largest)[:, 0])


def _place(displacement: ArrayLike, largest: float) -> Array:
    """Return the position of each vertex on the colour scale, (v, 1)."""
    far = np.linalg.norm(np.asarray(displacement, dtype=np.float64), axis=1, keepdims=True)
    return np.asarray(far / max(largest, 1e-300))


def _on_scale(place: Array) -> Array:
    """Return the colours at positions from 0 to 1 on the scale, (n, 3)."""
    stops = np.linspace(0.0, 1.0, len(_SCALE))
    return np.stack([np.interp(place, stops, _SCALE[:, axis]) for axis in range(3)], axis=1)


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a picture with an unknown suffix, before long work.

    Parameters
    ----------
    path
        Name of the file of the picture.

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    FileFormatError
        The suffix is not that of a picture format.
    """
    require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    if Path(path).suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise FileFormatError(
            f"cannot write {str(path)!r}: a picture goes to .png, .pdf, .svg or .jpg"
        )


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a figure to a file; replace an existing one only when the new one is complete.

    Parameters
    ----------
    figure
        A figure, for example from `shapes_figure` or `traces_figure`.
    path
        Name of the file; its suffix selects the format.
    dpi
        Resolution [pixels per inch].

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    FileFormatError
        The suffix is not that of a picture format, or the file cannot be written.
    """
    check_picture(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=dpi, facecolor=figure.get_facecolor())


def length_unit(largest: float) -> tuple[str, float]:
    """Return a suitable unit for lengths up to `largest`, and the number of units per metre.

    Parameters
    ----------
    largest
        Largest length [m].

    Returns
    -------
    (str, float)
        Name and number, such as ``("mm", 1e3)``.
    """
    for unit, factor in (("m", 1.0), ("mm", 1e3), ("µm", 1e6)):
        if largest * factor >= 1.0:
            return unit, factor
    return ("nm", 1e9) if largest > 0.0 else ("mm", 1e3)


def _told_apart(
    frame: _Frame, rest: Array, moved: Sequence[Array], labels: Sequence[str]
) -> tuple[bool, list[tuple[Array, str]]]:
    """Return True to draw the shape at rest, and the deformed shapes to draw.

    Shapes within a pixel or two of each other would be drawn in patches; only the one with the
    larger displacement is drawn.
    """
    texts = [*labels, *[""] * len(moved)]
    order = sorted(range(len(moved)), key=lambda i: -float(np.linalg.norm(moved[i], axis=1).max()))
    seen: list[Array] = []
    kept: list[int] = []

    def new(x: Array) -> bool:
        at = frame.pixels(x)
        if any(np.abs(at - other).max() <= _INDISTINGUISHABLE for other in seen):
            return False
        seen.append(at)
        return True

    for i in order:
        if new(rest + moved[i]):
            kept.append(i)
    return new(rest), [(moved[i], texts[i]) for i in sorted(kept)]


def shapes_figure(
    rest: ArrayLike,
    triangles: ArrayLike,
    displacements: Sequence[ArrayLike],
    labels: Sequence[str] = (),
    title: str = "",
    azimuth: float = -62.0,
    elevation: float = 20.0,
    rest_opacity: float = 1.0,
    size: tuple[int, int] = (1500, 1100),
    up: str = "z",
) -> Figure:
    """Draw a surface at rest and deformed, in one frame, coloured by displacement.

    Parameters
    ----------
    rest
        Vertices at rest [m], shape (v, 3).
    triangles
        Vertex indices, shape (t, 3).
    displacements
        One or more displacements of the vertices [m], each (v, 3). If shapes differ by less than a
        pixel or two, only the one with the largest displacement is drawn. If all displacements are
        below half of the shortest side of the bounding box, only the largest one is drawn, with a
        transparent shape at rest.
    labels
        Text beside each deformed shape.
    title
        Text above the picture.
    azimuth, elevation
        Direction to the viewer [degrees].
    rest_opacity
        Opacity of the shape at rest, 0 to 1.
    size
        Largest width and height of the shapes [pixels].
    up
        Axis that is up in the picture; see `render`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    x = np.asarray(rest, dtype=np.float64)
    faces = np.asarray(triangles, dtype=np.int32)
    moved = [np.asarray(u, dtype=np.float64) for u in displacements]
    largest = max((float(np.linalg.norm(u, axis=1).max()) for u in moved), default=0.0)
    if moved and largest < _WITHIN * float(np.ptp(x, axis=0).min()):
        # opaque shapes that mostly overlap would be drawn in patches
        far = max(range(len(moved)), key=lambda i: float(np.linalg.norm(moved[i], axis=1).max()))
        moved, labels, rest_opacity = [moved[far]], [labels[far]], min(rest_opacity, _THROUGH)
    at_rest = Pose(x, _SCALE[0], rest_opacity)
    every = [at_rest, *(Pose(x + u, _place(u, largest)) for u in moved)]
    frame = _frame(every, faces, size, azimuth, elevation, 0.05, up)
    with_rest, told = _told_apart(frame, x, moved, labels)
    poses = [Pose(x + u, _place(u, largest)) for u, _ in told]
    if with_rest:
        poses.insert(0, at_rest)
    image = _draw(frame, poses, faces, 2)

    width, height = frame.size
    # room for texts at both sides [inch]: a letter of 9 points is about 0.07 wide, the gap 0.17
    longest = max((len(label) for _, label in told), default=0)
    aside = 0.07 * longest + 0.17 if longest else 0.0
    figure = Figure(figsize=(width / 150 + 1.1 + 2 * aside, height / 150 + 0.55), facecolor=_PAPER)
    total = figure.get_size_inches()
    part = (width / 150 / total[0], height / 150 / total[1])
    axes = figure.add_axes((aside / total[0], 0.0, *part))
    axes.imshow(image, interpolation="antialiased")
    axes.set_axis_off()
    # labels beside the part with the largest displacement, outside the shape
    for u, label in told:
        seen = frame.pixels(x + u)[:, :2]
        tip = seen[np.linalg.norm(u, axis=1).argmax()]
        way = tip - (seen.min(axis=0) + seen.max(axis=0)) / 2
        across, down = way / max(float(np.linalg.norm(way)), 1e-300)
        axes.annotate(
            label,
            (tip[0], tip[1]),
            xytext=(12 * across, -12 * down),
            textcoords="offset points",
            color=_INK,
            fontsize=9,
            ha="left" if across > 0.3 else "right" if across < -0.3 else "center",
            va="top" if down > 0.3 else "bottom" if down < -0.3 else "center",
        )
    # a bold letter of 12 points is about 0.1 inch wide
    letters = 12 * min(1.0, (total[0] - 0.5) / (0.1 * max(len(title), 1)))
    figure.text(
        0.03, 1 - 0.16 / total[1], title, color=_INK, fontsize=letters, va="top", weight="bold"
    )
    unit, factor = length_unit(largest)
    scale = ScalarMappable(
        Normalize(0.0, largest * factor or 1.0),
        LinearSegmentedColormap.from_list("moved", list(_SCALE)),
    )
    bar_axes = figure.add_axes((1 - 0.85 / total[0], 0.25, 0.14 / total[0], 0.5))
    bar = figure.colorbar(scale, cax=bar_axes)
    bar.set_label(f"displacement [{unit}]", color=_INK)
    bar.outline.set_visible(False)
    bar_axes.tick_params(colors=_INK, length=0)
    return figure


def traces_figure(
    traces: Sequence[Trace],
    title: str = "",
    quantity: str = "displacement [mm]",
    note: str = "",
    difference: bool = False,
) -> Figure:
    """Plot curves over time.

    Parameters
    ----------
    traces
        Curves to draw.
    title, quantity, note
        Texts above the plot, along its axis, and under the title.
    difference
        Draw the first curve broad and the others over it, and their differences from the first in
        a second plot below.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.6 if difference else 4.2), layout="constrained")
    grid = figure.add_gridspec(2 if difference else 1, 1, height_ratios=[3, 1][: 1 + difference])
    axes = figure.add_subplot(grid[0])
    colour = ("#c8383f", "#2a8ca0", "#e0a030", "#5b6472", "#7a4fa3", "#4c9a4c")
    for k, trace in enumerate(traces):
        style: dict[str, Any] = {"color": colour[k % len(colour)], "linewidth": 1.5}
        if difference and k == 0:
            style = {"color": "#9ec9d8", "linewidth": 5.0, "solid_capstyle": "round"}
        elif difference:
            style["color"] = colour[(k - 1) % len(colour)]
        axes.plot(trace.time, trace.value, label=trace.label, **style)
    axes.set_ylabel(quantity)
    plots = [axes]
    if difference:
        below = figure.add_subplot(grid[1], sharex=axes)
        axes.tick_params(labelbottom=False)
        for k, trace in enumerate(traces[1:]):
            more = np.asarray(trace.value) - np.asarray(traces[0].value)
            below.plot(trace.time, more, color=colour[k % len(colour)], linewidth=1.2)
        _, bracket, unit = quantity.partition("[")
        below.set_ylabel(f"difference {bracket}{unit}".rstrip())
        plots.append(below)
    for one in plots:
        one.axhline(0.0, color="#c9ccd1", linewidth=0.8, zorder=0)
        one.spines[["top", "right"]].set_visible(False)
        one.margins(x=0.0)
    plots[-1].set_xlabel("time [s]")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold", color=_INK)
    axes.set_title(note, loc="left", fontsize=9, color=_INK)
    figure.legend(frameon=False, loc="outside upper right", ncols=min(len(traces), 4))
    return figure


def session_figure(
    records: HapticRecords | NDArray[np.void], title: str = "", max_depth: float | None = None
) -> Figure:
    """Plot forces, times, level of detail and paths of a haptic session.

    Parameters
    ----------
    records
        Records of the cycles: `HapticRecords`, or their array.
    title
        Text above the plots.
    max_depth
        Penetration limit of the coupling [m], positive, drawn as a red line. None: no line.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError, InputTypeError
        `records` is empty or of another type; `max_depth` is not positive or not a number.
    MissingMatplotlibError
        Matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    if not isinstance(records, HapticRecords):
        try:
            records = HapticRecords(records)
        except InputTypeError:
            raise InputTypeError(
                f"records must be HapticRecords or their array, got {type(records).__name__}"
            ) from None
    if not len(records):
        raise InputError(
            "records are empty: the session has made no cycle, or wrote its records to a file, "
            "which HapticRecords.load(path) reads"
        )
    if max_depth is not None:
        max_depth = number(max_depth, "max_depth")
        if not max_depth > 0.0:
            raise InputError(f"max_depth must be positive or None, got {max_depth:g}")
    red, blue, yellow, grey = "#c8383f", "#2a8ca0", "#e0a030", "#c9ccd1"
    time = records["time_s"]
    figure = Figure(figsize=(10.0, 9.0), layout="constrained")
    axes = figure.subplots(5, 1, sharex=True, height_ratios=[3, 3, 2, 2, 4])
    thin: dict[str, Any] = {"linewidth": 1.0}
    force = [np.linalg.norm(records[name], axis=1) for name in ("force", "contact_force")]
    axes[0].plot(time, force[0], color=red, label="on the hand", **thin)
    # separate axes if one force would be flat on the axis of the other; forces of single cycles of
    # contact would otherwise set the scale
    touched = force[1] > 0.0
    usual = 1.5 * float(np.percentile(force[1][touched], 85)) if touched.any() else 0.0
    felt = float(force[0].max())
    apart = min(usual, felt) > 0.0 and max(usual, felt) > _APART * min(usual, felt)
    beside = axes[0].twinx() if apart else axes[0]
    beside.plot(time, force[1], color=blue, label="of contact", **thin)
    if usual > 0.0:
        shown, most = 1.1 * (usual if apart else max(usual, felt)), float(force[1].max())
        beside.set_ylim(0.0, shown)
        if most > shown:
            beside.lines[-1].set_label(f"of contact, up to {most:.3g} N")
    axes[0].set_ylabel("on the hand [N]" if apart else "force [N]")
    if apart:
        beside.set_ylabel("of contact [N]", color=blue)
        axes[0].yaxis.label.set_color(red)
        axes[0].plot([], [], color=blue, label=beside.lines[-1].get_label(), **thin)
    # a note, because the difference looks like a mistake but is intended (Barbic 2007, section 4.9)
    if felt > 1.5 * force[1].max() > 0.0:
        note = 'with render="linear" the coupling saturates for the object, not for the hand'
        axes[0].set_title(note, loc="left", fontsize=9, color=_INK)
    for name, label, colour in (
        ("compute_us", "a cycle", grey),
        ("contact_us", "of it contact", blue),
    ):
        dots = {"color": colour, "marker": ".", "markersize": 2.0, "linestyle": ""}
        axes[1].plot(time, records[name], label=label, **dots)
    if len(records) > 1:
        period = 1e6 * float(np.diff(time).min())
        axes[1].axhline(period, color=red, linewidth=0.8, label="the period")
    # failed cycles have no contact time
    if (records["contact_us"] > 0.0).any():
        axes[1].set_yscale("log")
    axes[1].set_ylabel("time [us]")
    axes[2].plot(time, records["level"], color=blue, drawstyle="steps-post", label="level", **thin)
    axes[2].set_ylabel("deepest level")
    axes[2].set_ylim(-0.5, records["level"].max() + 0.5)
    axes[2].yaxis.get_major_locator().set_params(integer=True)
    axes[3].plot(time, 1e3 * records["depth_m"], color=yellow, label="penetration", **thin)
    if max_depth is not None:
        axes[3].axhline(1e3 * max_depth, color=red, linewidth=0.8, label="allowed")
    axes[3].set_ylabel("depth [mm]")
    for k, colour in enumerate((red, yellow, blue)):
        axis = "xyz"[k]
        # relative to the start, so that millimetres are visible
        start = records["hand_position"][0, k]
        path = 1e3 * (records["hand_position"][:, k] - start)
        axes[4].plot(time, path, "--", color=colour, label=f"hand, {axis}", **thin)
        path = 1e3 * (records["object_position"][:, k] - start)
        axes[4].plot(time, path, color=colour, label=f"object, {axis}", linewidth=1.6)
    axes[4].set_ylabel("from the hand's start [mm]")
    axes[4].set_xlabel("time [s]")
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.margins(x=0.0)
    for one in (axes[0], axes[1], axes[3], axes[4]):
        right = 1.06 if apart and one is axes[0] else 1.0
        one.legend(frameon=False, loc="upper left", bbox_to_anchor=(right, 1.0), fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold", color=_INK)
    return figure
