"""Shaded surfaces: a small rasteriser with a depth buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import choice, count
from reducedfem.drawing.style import on_scale
from reducedfem.drawing.values import Values, scale_of, value_colours, vertex_values
from reducedfem.errors import InputError, InputTypeError

__all__ = [
    "DRAWERS",
    "UP",
    "Frame",
    "Shape",
    "axes_of",
    "checked_size",
    "corner_normals",
    "draw",
    "frame_around",
    "frame_of",
    "render",
    "upright",
]

Array = NDArray[np.float64]

# directions of the lights in the frame of the camera: right, up, towards the viewer
_KEY_LIGHT = np.array([-0.45, 0.75, 0.60])
_FILL_LIGHT = np.array([0.80, 0.10, 0.45])
_CREASE = np.cos(np.radians(40.0))
UP = ("z", "y", "x", "-z", "-y", "-x")
_MAX_PIXELS = 25_000_000
_MAX_FRAGMENTS = 60_000_000


class Shape(NamedTuple):
    """One shape of a picture.

    Attributes
    ----------
    vertices
        Positions [m], shape (v, 3).
    colours
        Red, green and blue from 0 to 1: one colour, (3,), or one per vertex, (v, 3). Or a position
        per vertex, (v, 1), on the scale of `colours`, from 0 at rest to 1. Or `Values` of the
        vertices.
    opacity
        Opacity from 0 to 1; shapes behind an opaque shape are hidden.
    """

    vertices: ArrayLike
    colours: ArrayLike | Values = (0.72, 0.74, 0.77)
    opacity: float = 1.0


def corner_normals(x: Array, triangles: NDArray[np.int32]) -> Array:
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
    normal = np.einsum("ki,kic->kc", weights, corner_normals(x, triangles)[source[owner]])
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


class Frame(NamedTuple):
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


def upright(up: str) -> Array:
    """Return the rotation that turns the axis `up` to z."""
    choice(up, "up", UP)
    z = np.eye(3)["xyz".index(up[-1])] * (-1.0 if up[0] == "-" else 1.0)
    x = np.eye(3)[1 if up[-1] == "x" else 0]
    return np.array([x, np.cross(z, x), z])


def checked_size(size: Any) -> tuple[int, int]:
    """Return the argument `size`, width and height of a picture; refuse other values."""
    try:
        wide, high = size
    except (TypeError, ValueError):
        raise InputTypeError(f"size must be two numbers of pixels, got {size!r}") from None
    return count(wide, "size[0]", 4096, least=16), count(high, "size[1]", 4096, least=16)


# by type of an object, a function that returns its shapes, triangles, and the points (n, 3) that
# the camera shows; see `render`
DRAWERS: dict[type, Callable[[Any], tuple[list[Shape], NDArray[np.int32], Array]]] = {}


def axes_of(azimuth: float, elevation: float, up: str) -> Array:
    """Return the axes of the camera as rows: right, up, towards the viewer; as of `render`."""
    a, e = np.radians(azimuth), np.radians(elevation)
    toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.array([right, np.cross(toward, right), toward]) @ upright(up)


def frame_around(
    bounds: Array, axes: Array, size: tuple[int, int], margin: float, crop: bool = True
) -> Frame:
    """Return the projection that shows a box, its corners (2, 3) given along the axes."""
    low, high = bounds
    extent = np.maximum((high - low)[:2], 1e-12 * max(1.0, float(np.abs(bounds).max())))
    border = margin * max(size)
    scale = float(np.min((np.array(size) - 2 * border) / extent))
    origin = np.array([low[0], high[1], 0.0])
    if not crop:
        # the box in the middle
        more = (np.array(size) - 2 * border) / scale - extent
        origin[:2] += np.array([-0.5, 0.5]) * more
        return Frame(axes, origin, scale, border, (int(size[0]), int(size[1])))
    width, height = (int(n) for n in np.ceil(extent * scale + 2 * border - 1e-6))
    return Frame(axes, origin, scale, border, (width, height))


def frame_of(
    shapes: Any,
    triangles: ArrayLike | None = None,
    size: tuple[int, int] = (1200, 800),
    azimuth: float = -60.0,
    elevation: float = 20.0,
    margin: float = 0.03,
    up: str = "z",
    crop: bool = True,
) -> Frame:
    """Return the parallel projection that shows all shapes, the `camera` of `render`.

    Arguments are those of `render`. With the frame of all shapes, each of several pictures shows
    its shapes at the same place and scale. Of a `World` it shows the bodies, and the ground near
    them.
    """
    _, _, points = _drawn(shapes, triangles)
    return _frame_of(points, size, azimuth, elevation, margin, up, crop)


def _frame_of(
    points: Array,
    size: tuple[int, int],
    azimuth: float,
    elevation: float,
    margin: float,
    up: str,
    crop: bool,
) -> Frame:
    axes = axes_of(azimuth, elevation, up)
    seen = points @ axes.T
    bounds = np.array([seen.min(axis=0), seen.max(axis=0)])
    return frame_around(bounds, axes, size, margin, crop)


def _drawn(shapes: Any, triangles: ArrayLike | None) -> tuple[Any, NDArray[np.int32], Array]:
    """Return arguments of `render`, or those of an object, and the points that a camera shows."""
    for kind, drawer in DRAWERS.items():
        if isinstance(shapes, kind):
            if triangles is not None:
                raise InputError(f"triangles is given, but a {kind.__name__} has its own")
            return drawer(shapes)
    if triangles is None:
        kinds = " or a ".join(["shapes with triangles", *(kind.__name__ for kind in DRAWERS)])
        raise InputTypeError(f"shapes must be {kinds}, got {type(shapes).__name__} alone")
    if not shapes:
        raise InputError("shapes is empty; there is nothing to draw")
    faces = np.asarray(triangles, dtype=np.int32)
    used = np.unique(faces)
    points = np.concatenate([np.asarray(one.vertices, dtype=float)[used] for one in shapes])
    return shapes, faces, points


def render(
    shapes: Any,
    triangles: ArrayLike | None = None,
    size: tuple[int, int] = (1200, 800),
    azimuth: float = -60.0,
    elevation: float = 20.0,
    margin: float = 0.03,
    smoothing: int = 2,
    up: str = "z",
    *,
    camera: Frame | None = None,
    crop: bool = True,
) -> Array:
    """Draw shapes of one triangulation, all in the same frame, by parallel projection.

    Parameters
    ----------
    shapes
        Shapes; opaque ones hide each other by depth, transparent ones are blended over those
        behind them. Or a `World`, whose bodies are drawn in their present state; the picture ends
        near them, the ground may not.
    triangles
        Vertex indices, shape (t, 3); None of a `World`.
    size
        Largest width and height [pixels].
    azimuth, elevation
        Direction to the viewer [degrees]: with z up, angle about z from x, and above the xy plane.
    margin
        Width of the border, relative to the larger side.
    smoothing
        Number of samples per pixel along each axis.
    up
        Axis that is up in the picture: "z", "y" as in most models made for computer graphics, "x",
        "-x", "-y" or "-z". With "y" the default view is from z, with "z" from -y.
    camera
        Frame of the picture, made by `frame_of`, instead of `size`, `azimuth`, `elevation`,
        `margin`, `up` and `crop`. Pictures in one frame have the same size and scale.
    crop
        True: the picture is cropped to the shapes. False: it has exactly the given `size`.

    Returns
    -------
    (h, w, 4) array
        Red, green, blue and opacity from 0 to 1; the first row is the top one.

    Raises
    ------
    InputError
        `shapes` is empty, or the picture is too large.
    InputTypeError
        `camera` is not a frame.
    """
    shapes, faces, points = _drawn(shapes, triangles)
    if camera is None:
        camera = _frame_of(points, size, azimuth, elevation, margin, up, crop)
    elif not isinstance(camera, Frame):
        raise InputTypeError(
            f"camera must be a frame of plot.frame_of(shapes, triangles), got "
            f"{type(camera).__name__}"
        )
    return draw(camera, shapes, faces, smoothing)


def _paint(shape: Shape, n: int) -> tuple[Array, Callable[[Array], Array]]:
    """Return the colours of a shape, or positions (n, 1) on a scale and the colours of that."""
    given = shape.colours
    if not isinstance(given, Values):
        return np.asarray(given, dtype=np.float64), on_scale
    data = vertex_values(given, n)
    return scale_of(given, [data]).place(data)[:, None], value_colours


def draw(
    frame: Frame, shapes: Sequence[Shape], triangles: NDArray[np.int32], smoothing: int
) -> Array:
    """Return the picture of shapes in a frame; see `render`."""
    width, height = frame.size
    wide, high = width * smoothing, height * smoothing
    if wide * high > _MAX_PIXELS:
        raise InputError(f"a picture of {wide} x {high} pixels is too large; choose a smaller size")
    depth = np.full(wide * high, -np.inf)
    image = np.zeros((wide * high, 4))
    # opaque shapes first, then transparent ones over the shapes behind them
    for shape in sorted(shapes, key=lambda shape: shape.opacity < 1.0):
        x = frame.pixels(shape.vertices) * smoothing
        colour, paint = _paint(shape, len(x))
        scaled = colour.shape == (len(x), 1)
        colour = colour if scaled else np.broadcast_to(colour, x.shape)
        seen = _rasterize(x, triangles, colour, wide, high)
        near = seen.depth > depth[seen.pixel]
        pixel, alpha = seen.pixel[near], shape.opacity
        colour = paint(seen.colour[near, 0]) if scaled else seen.colour[near]
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
