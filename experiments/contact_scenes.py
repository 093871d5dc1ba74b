"""Shapes, motions and pictures that the experiments on contact share.

Everything is made by formulas, so that the experiments need no data: bumpy bodies, a lizard
with bumps on its back, a curved shelf, motions as of a hand, and the limit of the contact
force by quadrature over a surface (B07, equation 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

import reducedfem as rf
from reducedfem.pictures.plot import Shape, render

Array = NDArray[np.float64]

SCALED = 10  # points in contact above which the force is scaled by L/l: L of B07 3.5


# --- shapes ---------------------------------------------------------------------------


def icosphere(subdivisions: int) -> tuple[Array, NDArray[np.int64]]:
    """Return the vertices, unit vectors, and triangles of a subdivided icosahedron."""
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    corners = [(0.0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    x = np.array([np.roll(corner, turn) for turn in range(3) for corner in corners])
    # the triangles are the triples of corners at the distance of an edge, 2
    near = np.linalg.norm(x[:, None] - x[None], axis=2) < 2.1
    triples = [
        (i, j, k)
        for i in range(12)
        for j in range(i + 1, 12)
        for k in range(j + 1, 12)
        if near[i, j] and near[j, k] and near[i, k]
    ]
    faces = np.array(triples)
    outward = np.einsum(
        "ti,ti->t",
        np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]),
        x[faces].sum(axis=1),
    )
    faces[outward < 0] = faces[outward < 0][:, ::-1]
    for _ in range(subdivisions):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, which = np.unique(edges, axis=0, return_inverse=True)
        middle = which.reshape(-1, 3) + len(x)
        x = np.concatenate([x, x[edges].mean(axis=1)])
        a, b, c = faces.T
        ab, bc, ca = middle.T
        faces = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
    return x / np.linalg.norm(x, axis=1)[:, None], faces


def directions(n: int) -> Array:
    """Return n unit vectors, evenly spread (Fibonacci's spiral), shape (n, 3)."""
    z = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(n)
    r = np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)


def bumpy_radius(unit: Array, radius: float, bumps: int, height: float) -> Array:
    """Return the distance of a bumpy ball's surface from its centre [m] in directions (n, 3)."""
    r = np.full(len(unit), radius)
    # about a third of the distance between neighbours
    sharpness = 0.7 * bumps
    for centre in directions(bumps):
        r += height * np.exp(sharpness * (unit @ centre - 1.0))
    return r


def bumpy(radius: float, bumps: int, height: float, subdivisions: int) -> rf.Surface:
    """Return a ball with so many smooth bumps of a height [m], evenly spread."""
    unit, faces = icosphere(subdivisions)
    return rf.Surface(unit * bumpy_radius(unit, radius, bumps, height)[:, None], faces)


def tube(
    spine: Array,
    radius: Callable[[Array, Array], Array],
    sides: int,
    lift: Callable[[Array, Array], Array] | None = None,
) -> rf.Surface:
    """Return a closed tube around a curve in the plane y = 0.

    Parameters
    ----------
    spine
        Points of the curve [m], shape (n, 3), the two ends among them.
    radius
        Of the section as a function of the parameter along the curve, 0 to 1, and of the
        angle from up, both (n - 2, sides) [m].
    sides
        Vertices around.
    lift
        Another number of the same kind that is added outwards, along the normal of the curve.
    """
    n = len(spine)
    along = np.gradient(spine, axis=0)
    along /= np.linalg.norm(along, axis=1)[:, None]
    across = np.array([0.0, 1.0, 0.0])
    up = np.cross(along, across)
    inner = slice(1, n - 1)
    s, angle = np.meshgrid(
        np.linspace(0.0, 1.0, n)[inner], 2.0 * np.pi * np.arange(sides) / sides, indexing="ij"
    )
    r = radius(s, angle)
    x = (
        spine[inner, None]
        + (r * np.cos(angle))[..., None] * up[inner, None]
        + (r * np.sin(angle))[..., None] * across
    )
    if lift is not None:
        x = x + lift(s, angle)[..., None] * up[inner, None]
    vertices = np.concatenate([x.reshape(-1, 3), spine[[0, -1]]])
    ring = np.arange(sides)
    following = (ring + 1) % sides
    a = (np.arange(n - 3) * sides)[:, None]
    body = np.stack(
        [
            a + ring,
            a + following,
            a + sides + following,
            a + ring,
            a + sides + following,
            a + sides + ring,
        ],
        axis=-1,
    ).reshape(-1, 3)
    first, last = (n - 2) * sides, (n - 2) * sides + 1
    end = (n - 3) * sides
    caps = [
        np.stack([np.full(sides, first), following, ring], axis=1),
        np.stack([np.full(sides, last), end + ring, end + following], axis=1),
    ]
    faces = np.concatenate([body, *caps])
    surface = rf.Surface(vertices, faces)
    return surface if surface.volume > 0 else rf.Surface(vertices, faces[:, ::-1])


@dataclass(frozen=True)
class Lizard:
    """A body with bumps on its arched back: what the dinosaur is in the thesis.

    Attributes
    ----------
    surface
        Closed triangle surface [m]; x forward, z up.
    back
        Line along the back as if there were no bumps [m], shape (n, 3).
    tips
        Indices of the points of that line at the bumps.
    height
        Of the bumps [m].
    """

    surface: rf.Surface
    back: Array
    tips: NDArray[np.int64]
    height: float


def lizard(
    bumps: int = 6, length: float = 0.30, height: float = 0.004, rings: int = 320, sides: int = 96
) -> Lizard:
    """Return a body of a length [m] with a row of bumps on its back."""
    s = np.linspace(0.0, 1.0, rings)
    arc = 0.7 * length  # radius of the arch
    turn = (s - 0.5) * length / arc
    spine = np.stack([arc * np.sin(turn), np.zeros(rings), arc * (np.cos(turn) - 1.0)], axis=1)
    places = 0.25 + 0.5 * np.arange(bumps) / max(bumps - 1, 1)
    width = 0.016 * length

    def body(s: Array, angle: Array) -> Array:
        # thick in the middle, a head in front and a tail behind
        thick = 0.10 * np.sqrt(np.maximum(np.sin(np.pi * s), 0.0)) * (0.45 + 0.55 * s)
        thick = thick + 0.035 * np.exp(-(((s - 0.93) / 0.05) ** 2))
        return length * thick * (1.0 - 0.15 * np.cos(angle) ** 2)

    def radius(s: Array, angle: Array) -> Array:
        r = body(s, angle)
        aside = np.where(angle > np.pi, angle - 2.0 * np.pi, angle) * r
        for place in places:
            along = (s - place) * length
            r = r + height * np.exp(-0.5 * (along**2 + aside**2) / width**2)
        return r

    surface = tube(spine, radius, sides)
    smooth = tube(spine, body, sides)
    back = smooth.vertices[: (rings - 2) * sides : sides]
    tips = np.rint(places * (rings - 1)).astype(np.int64) - 1
    return Lizard(surface, np.array(back), tips, height)


def shelf(
    length: float, width: float, thickness: float, bend: float, sides: int = 64
) -> rf.Surface:
    """Return a plate with rounded sides, bent about y by a radius [m]; its lowest point is 0."""
    rings = 160
    s = np.linspace(0.0, 1.0, rings)
    turn = (s - 0.5) * length / bend
    spine = np.stack(
        [bend * np.sin(turn), np.zeros(rings), bend * (1.0 - np.cos(turn)) + 0.5 * thickness],
        axis=1,
    )

    def radius(s: Array, angle: Array) -> Array:
        # a superellipse, closed over a tenth of the length at the ends
        ends = np.minimum(1.0, 10.0 * np.minimum(s, 1.0 - s))
        closing = (1.0 - (1.0 - ends) ** 4) ** 0.25
        a, b = 0.5 * width, 0.5 * thickness
        up, aside = np.abs(np.cos(angle) / b), np.abs(np.sin(angle) / a)
        return closing * (up**8 + aside**8) ** (-0.125)

    return tube(spine, radius, sides)


def read(path: Path) -> rf.Surface:
    """Return the surface of a file, its box about the origin: motions turn about that."""
    surface = rf.read_surface(path)
    return rf.Surface(surface.vertices - surface.bounds.mean(axis=0), surface.triangles)


# --- rotations and motions ------------------------------------------------------------


def quaternion(axis: ArrayLike, angle: float) -> Array:
    """Return the unit quaternion (w, x, y, z) of a turn about an axis [rad]."""
    unit = np.asarray(axis, dtype=np.float64)
    unit = unit / np.linalg.norm(unit)
    return np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * unit])


def product(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the quaternion of the turn b followed by the turn a, over leading axes."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    w = a[..., 0] * b[..., 0] - np.einsum("...i,...i->...", a[..., 1:], b[..., 1:])
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w[..., None], v], axis=-1)


def inverse(q: ArrayLike) -> Array:
    """Return the quaternion of the turn back."""
    return np.asarray(q, dtype=np.float64) * [1.0, -1.0, -1.0, -1.0]


def of_rotation_vector(vector: ArrayLike) -> Array:
    """Return quaternions of rotation vectors [rad], shape (..., 3) to (..., 4)."""
    v = np.asarray(vector, dtype=np.float64)
    half = 0.5 * np.linalg.norm(v, axis=-1, keepdims=True)
    # sin(h) / (2 h) by numpy's sinc, which knows zero
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * v], axis=-1)


def rotation_vector(q: ArrayLike) -> Array:
    """Return the rotation vector [rad] of a unit quaternion, the short way."""
    q = np.asarray(q, dtype=np.float64)
    q = q if q[0] >= 0.0 else -q
    sine = float(np.linalg.norm(q[1:]))
    angle = 2.0 * np.arctan2(sine, q[0])
    return q[1:] * (angle / sine if sine > 1e-12 else 2.0)


def rotation(q: ArrayLike) -> Array:
    """Return the rotation matrix, body to world, of a unit quaternion."""
    w, x, y, z = np.asarray(q, dtype=np.float64)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def to_world(x: Array, position: ArrayLike, q: ArrayLike) -> Array:
    """Return body points [m] in the world, shape (n, 3)."""
    return x @ rotation(q).T + np.asarray(position)


def to_body(x: Array, position: ArrayLike, q: ArrayLike) -> Array:
    """Return world points [m] in the frame of the body, shape (n, 3)."""
    return (x - np.asarray(position)) @ rotation(q)


@dataclass(frozen=True)
class Motion:
    """Poses of the object with the distance field, one a cycle.

    Attributes
    ----------
    positions
        [m], shape (n, 3).
    quaternions
        Unit, (w, x, y, z), body to world, shape (n, 4).
    """

    positions: Array
    quaternions: Array

    def __len__(self) -> int:
        return len(self.positions)

    def speed(self) -> tuple[float, float]:
        """Return the largest step [m] and turn [rad] from one cycle to the next."""
        step = np.linalg.norm(np.diff(self.positions, axis=0), axis=1).max()
        dot = np.abs(np.einsum("ni,ni->n", self.quaternions[1:], self.quaternions[:-1]))
        return float(step), float(2.0 * np.arccos(np.minimum(dot, 1.0)).max())


def hand(
    keys: ArrayLike,
    frames: int,
    tremor: float = 0.0,
    tilt_tremor: float = 0.0,
    rate: float = 1000.0,
) -> Motion:
    """Return a motion as of a hand: from key to key without jerk, with a tremor.

    Parameters
    ----------
    keys
        Places [m] and rotation vectors [rad] that are passed, shape (k, 6), evenly in time.
        Between two of them the path is the one of least jerk that rests at both.
    frames
        Cycles.
    tremor, tilt_tremor
        Amplitudes [m] and [rad]; at 8 to 11 Hz as in a healthy hand, three sines an axis.
    rate
        Cycles a second.
    """
    keys = np.asarray(keys, dtype=np.float64)
    at = np.linspace(0.0, len(keys) - 1.0, frames)
    i = np.minimum(at.astype(int), len(keys) - 2)
    s = (at - i)[:, None]
    blend = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    x = keys[i] + blend * (keys[i + 1] - keys[i])
    t = np.arange(frames) / rate
    for axis in range(6):
        size = tremor if axis < 3 else tilt_tremor
        for part in range(3):
            frequency = 8.1 + 0.47 * axis + 1.13 * part
            x[:, axis] += size / 3.0 * np.sin(2 * np.pi * (frequency * t + 0.37 * axis * part))
    return Motion(np.ascontiguousarray(x[:, :3]), of_rotation_vector(x[:, 3:]))


# --- the limit of the contact force ---------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """The limit of the contact force under refinement (B07, equation 3.2).

    Attributes
    ----------
    force, torque
        On the object with the field [N], [N m], the torque about its position; (3,).
    area
        Of the part of the pointshell's surface that is inside the other object [m^2].
    """

    force: Array
    torque: Array
    area: float


def limit(
    surface: rf.Surface,
    field: rf.Field,
    position: ArrayLike,
    q: ArrayLike,
    stiffness: float,
    finest: float,
    scaled: int = SCALED,
) -> Limit:
    """Integrate the contact of a surface with a field: k L int d n dS / int dS.

    Triangles that may be in contact are cut in four until their edges are shorter than
    `finest` [m]. On each of the small ones the distance is taken as linear, and the part of it
    that is inside is integrated in closed form: of second order in `finest`, the area too.

    Parameters
    ----------
    surface
        That of the pointshell; normals are those of its triangles.
    field, position, q
        The other object and its pose.
    stiffness, scaled
        k [N/m], and L.
    finest
        Edges of the triangles of the quadrature [m].
    """
    x = to_body(surface.vertices, position, q)
    corners = x[surface.triangles]
    while len(corners):
        # no point is farther from the middle than the farthest corner
        middle = corners.mean(axis=1)
        reach = np.linalg.norm(corners - middle[:, None], axis=2).max(axis=1)
        # interpolated distances change by at most sqrt(3) m a metre
        corners = corners[field.distance(middle) < 1.7321 * reach]
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        if not len(corners) or edges.max() <= finest:
            break
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        corners = np.concatenate([np.stack(part, axis=1) for part in parts])
    if not len(corners):
        return Limit(np.zeros(3), np.zeros(3), 0.0)
    area_vector = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    d = field.distance(np.ascontiguousarray(corners.reshape(-1, 3))).reshape(-1, 3)
    part, integral, first = _inside(d, corners)
    # inward normals times area
    inward = -area_vector
    force = (integral[:, None] * inward).sum(axis=0)
    torque = np.cross(first, inward).sum(axis=0)
    area = float((part * np.linalg.norm(area_vector, axis=1)).sum())
    if area == 0.0:
        return Limit(np.zeros(3), np.zeros(3), 0.0)
    turn = rotation(q)
    scale = stiffness * scaled / area
    return Limit(scale * turn @ force, scale * turn @ torque, area)


def _inside(d: Array, x: Array) -> tuple[Array, Array, Array]:
    """Integrate over the parts of triangles where a linear d is negative, per unit of area.

    Returns the part, the integral of d and the integral of d x.
    """

    def whole(d: Array, x: Array) -> tuple[Array, Array]:
        total = d.sum(axis=1)
        # the mean of two linear functions over a triangle
        first = np.einsum("ti,tij->tj", d, x) + total[:, None] * x.sum(axis=1)
        return total / 3.0, first / 12.0

    n = len(d)
    part, mean, first = np.zeros(n), np.zeros(n), np.zeros((n, 3))
    negative = (d < 0.0).sum(axis=1)
    full = negative >= 2
    part[full] = 1.0
    mean[full], first[full] = whole(d[full], x[full])
    # the corner that is alone on its side is cut off: taken for one, taken away for two
    for count, sign in ((1, 1.0), (2, -1.0)):
        rows = np.flatnonzero(negative == count)
        lone = np.argmin(sign * d[rows], axis=1)
        order = (lone[:, None] + np.arange(3)) % 3
        dr = np.take_along_axis(d[rows], order, axis=1)
        xr = np.take_along_axis(x[rows], order[..., None], axis=1)
        cut = dr[:, :1] / (dr[:, :1] - dr[:, 1:])
        small_x = np.stack(
            [xr[:, 0]] + [xr[:, 0] + cut[:, i, None] * (xr[:, i + 1] - xr[:, 0]) for i in (0, 1)],
            axis=1,
        )
        small_d = np.stack([dr[:, 0], 0.0 * dr[:, 0], 0.0 * dr[:, 0]], axis=1)
        share = cut[:, 0] * cut[:, 1]
        m, f = whole(small_d, small_x)
        part[rows] += sign * share
        mean[rows] += sign * share * m
        first[rows] += sign * share[:, None] * f
    return part, mean, first


# --- pictures -------------------------------------------------------------------------


def dots(points: ArrayLike, radius: float) -> tuple[Array, NDArray[np.int64]]:
    """Return small octahedra around points, as vertices and triangles, to draw points."""
    points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    corners = radius * np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array(
        [(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)]
    )
    vertices = (points[:, None] + corners).reshape(-1, 3)
    return vertices, (faces + 6 * np.arange(len(points))[:, None, None]).reshape(-1, 3)


def picture(
    parts: Sequence[tuple[Array, NDArray[np.int64], ArrayLike]],
    size: tuple[int, int] = (900, 600),
    azimuth: float = -60.0,
    elevation: float = 20.0,
    over: Sequence[tuple[Array, NDArray[np.int64], ArrayLike]] = (),
) -> Array:
    """Draw surfaces together, each as vertices, triangles and a colour; (h, w, 4).

    Those of `over` are not hidden by the others: they are moved towards the viewer, which parallel
    projection does not show.
    """
    a, e = np.radians(azimuth), np.radians(elevation)
    toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    depth = np.concatenate([x @ toward for x, *_ in (*parts, *over)])
    ahead = (depth.max() - depth.min()) * toward
    vertices, faces, tints, n = [], [], [], 0
    for x, triangles, colour in (*parts, *((x + ahead, *rest) for x, *rest in over)):
        vertices.append(x)
        faces.append(np.asarray(triangles, dtype=np.int64) + n)
        tints.append(np.broadcast_to(np.asarray(colour, dtype=np.float64), x.shape))
        n += len(x)
    shape = Shape(np.concatenate(vertices), np.concatenate(tints))
    return render([shape], np.concatenate(faces), size, azimuth, elevation)


def trimmed(image: Array) -> Array:
    """Return a picture without the empty margins."""
    seen = image[..., 3] > 0.0 if image.shape[2] == 4 else np.ones(image.shape[:2], dtype=bool)
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    if not rows.size:
        return image
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


# --- pointshells ----------------------------------------------------------------------


def flat(shell: rf.Pointshell, areas: Array | None = None) -> rf.Pointshell:
    """Return the shell as one level, with these areas."""
    return rf.Pointshell(shell.points, shell.normals, None, areas)


def random_shell(surface: rf.Surface, n: int, rng: int) -> rf.Pointshell:
    """Return n points, evenly random over the area of a surface; normals of the triangles."""
    draw = np.random.default_rng(rng)
    corners = surface.vertices[surface.triangles]
    vector = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(vector, axis=1)
    which = draw.choice(len(area), n, p=area / area.sum())
    a, b = np.sqrt(draw.random(n))[:, None], draw.random(n)[:, None]
    x = corners[which]
    points = (1.0 - a) * x[:, 0] + a * (1.0 - b) * x[:, 1] + a * b * x[:, 2]
    return rf.Pointshell(points, -vector[which] / area[which, None])


def voronoi_areas(shell: rf.Pointshell, surface: rf.Surface, each: int = 40) -> Array:
    """Return the area of the surface that is nearer to a point than to the others [m^2].

    As B07 3.5 has it: so many random places for each point are counted where they are nearest.
    """
    from scipy.spatial import cKDTree

    places = random_shell(surface, each * shell.n_points, 1).points
    nearest = cKDTree(shell.points).query(places)[1]
    found: Array = np.bincount(nearest, minlength=shell.n_points) * (surface.area / len(places))
    return found


def plain(
    shell: rf.Pointshell,
    field: rf.Field,
    position: ArrayLike,
    q: ArrayLike,
    stiffness: float,
    areas: Array | None = None,
    scaled: int = SCALED,
) -> tuple[Array, Array, int]:
    """Return force, torque and points in contact, by all points one after the other (3.1)."""
    d = field.distance(to_body(shell.points, position, q))
    touching = d < 0.0
    weights = np.ones(shell.n_points) if areas is None else areas / areas.mean()
    w = weights[touching]
    if not touching.any():
        return np.zeros(3), np.zeros(3), 0
    force = (stiffness * w * d[touching])[:, None] * shell.normals[touching]
    arm = shell.points[touching] - np.asarray(position)
    scale = min(1.0, scaled / float(w.sum()))
    return (
        scale * force.sum(axis=0),
        scale * np.cross(arm, force).sum(axis=0),
        int(touching.sum()),
    )


# --- contact over a motion ------------------------------------------------------------


def replay(
    contact: rf.PenaltyContact, motion: Motion, qs: Array | None = None
) -> rf.ContactTrajectory:
    """Return what a contact gives over a motion, from a fresh start."""
    contact.reset()
    return contact.evaluate_many(motion.positions, motion.quaternions, qs)


def record(
    contact: rf.PenaltyContact,
    manipulandum: Motion,
    coupling: float,
    torsional: float,
    simulation: rf.ImplicitNewmark | None = None,
    largest: float = np.inf,
    longest: float = 1e-3,
) -> tuple[Motion, Array | None]:
    """Return how an object moves that is held by a spring and stopped by contact.

    Static virtual coupling (B07 3.1.1): in each cycle the object is moved to where the spring
    to the manipulandum and the contact force, linear in the motion, are in balance. What it
    presses on may deform.

    Parameters
    ----------
    contact
        Of the object with the pointshell.
    manipulandum
        Pose of the hand.
    coupling, torsional
        Stiffness of the spring [N/m] and [N m/rad].
    simulation
        Of the reduced solid that carries the shell; None: it is rigid.
    largest
        Force of the spring, at most [N]: what keeps penetrations shallow.
    longest
        Step of the object in a cycle, at most [m].

    Returns
    -------
    motion, qs
        Of the object, and reduced coordinates of the shell or None.
    """
    n = len(manipulandum)
    position, q = manipulandum.positions[0].copy(), manipulandum.quaternions[0].copy()
    positions, quaternions, qs = np.zeros((n, 3)), np.zeros((n, 4)), []
    springs = np.diag([coupling] * 3 + [torsional] * 3)
    contact.reset()
    for i in range(n):
        deformation = None if simulation is None else simulation.state.q
        positions[i], quaternions[i] = position, q
        if deformation is not None:
            qs.append(deformation.copy())
        out = contact.evaluate(position, q, deformation)
        pull = coupling * (manipulandum.positions[i] - position)
        pull *= min(1.0, largest / max(float(np.linalg.norm(pull)), 1e-300))
        twist = torsional * rotation_vector(product(manipulandum.quaternions[i], inverse(q)))
        net = np.concatenate([out.force + pull, out.torque + twist])
        move = np.linalg.solve(springs - out.gradient, net)
        # the model is linear; far steps are cut
        far = np.linalg.norm(move[:3]) + 0.1 * np.linalg.norm(move[3:])
        move *= min(1.0, longest / far) if far > 0.0 else 1.0
        position = position + move[:3]
        q = product(of_rotation_vector(move[3:]), q)
        q /= np.linalg.norm(q)
        if simulation is not None:
            simulation.step(out.reduced_force)
    return Motion(positions, quaternions), np.array(qs) if qs else None
