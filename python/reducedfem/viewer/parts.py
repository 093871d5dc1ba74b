"""Bodies and marks of a view: geometry that its pages draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.drawing.render import corner_normals
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface

__all__ = [
    "GREY",
    "Body",
    "Clip",
    "Marks",
    "Scene",
    "Track",
    "boundary_edges",
    "fixed_nodes",
    "moved",
    "level_colours",
    "origins",
    "region_colours",
    "split",
    "split_surface",
    "surface_tilts",
]

GREY = (0.72, 0.74, 0.77)
# regions of a mesh in turn: blue, orange, green, red, violet, brown, pink, grey
_REGIONS = (
    (0.42, 0.63, 0.80), (0.95, 0.68, 0.38), (0.53, 0.75, 0.50), (0.85, 0.47, 0.45),
    (0.68, 0.60, 0.82), (0.70, 0.57, 0.50), (0.90, 0.66, 0.80), (0.70, 0.71, 0.73),
)  # fmt: skip

Reals = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Body:
    """A triangle surface that may deform by shapes, or by positions in the frames.

    Attributes
    ----------
    name
        Text of the legend.
    vertices, triangles
        Rest positions [m], (v, 3), and vertex indices, (t, 3).
    normals
        Unit normals at rest, (v, 3); None: each triangle has its own.
    shapes, tilts
        Displacements and changes of normals per unit of each coordinate, (r, v, 3); None: the body
        does not deform by shapes.
    colour, colours
        Red, green, blue from 0 to 1, (3,), or one per vertex, (v, 3); None: by displacement.
    edges
        Pairs of vertices drawn as lines in the wireframe, (e, 2); None: those of the triangles.
    lined
        True: the edges are drawn from the beginning.
    scales
        Largest displacement by a unit of each coordinate [m], (r,); for sliders.
    labels
        Text of each slider; empty: no sliders.
    ends, units
        Coordinate at the end of each slider, and its unit; None: by `scales`.
    size
        Side [m] of the squares by which the vertices are drawn, of a body without triangles.
    backdrop
        True: pages that show all bodies need not show this one.
    like
        Number of a body of the scene whose geometry this one shares; it has none of its own, and
        neither values nor displacements of vertices in frames.
    levels
        Colour of each vertex on the scale of values, see `painted.levels`, (v,); None: no values.
    legend
        Texts of that scale, see `painted.legend`.
    """

    name: str
    vertices: Reals
    triangles: Indices
    normals: Reals | None = None
    shapes: Reals | None = None
    tilts: Reals | None = None
    colour: tuple[float, float, float] | None = GREY
    colours: Reals | None = None
    edges: Indices | None = None
    lined: bool = False
    scales: Reals | None = None
    labels: tuple[str, ...] = ()
    ends: Reals | None = None
    units: tuple[str, ...] = ()
    size: float = 0.0
    backdrop: bool = False
    like: int | None = None
    levels: NDArray[np.uint8] | None = None
    legend: dict[str, Any] | None = None

    @cached_property
    def middle(self) -> Reals:
        """Point at rest from which pages measure its vertices [m]."""
        ends = self.vertices.min(axis=0), self.vertices.max(axis=0)
        return np.asarray(np.mean(ends, axis=0))

    def described(self, centre: Reals) -> dict[str, Any]:
        """Return the body for a message, with its place from the centre of the scene."""
        look = {
            "name": self.name,
            "colour": self.colour,
            "backdrop": self.backdrop,
            "like": self.like,
            "place": self.middle - centre,
        }
        if self.like is not None:
            return look
        return {
            **look,
            "vertices": self.vertices - self.middle,
            "triangles": self.triangles,
            "normals": self.normals,
            "shapes": self.shapes,
            "tilts": self.tilts,
            "colours": None if self.colours is None else np.uint8(np.round(255 * self.colours)),
            "edges": self.edges,
            "lined": self.lined,
            "scales": self.scales,
            "labels": self.labels,
            "ends": self.ends,
            "units": self.units,
            "size": self.size,
            "levels": self.levels,
            "legend": self.legend,
        }


@dataclass(frozen=True)
class Marks:
    """Points that are drawn as discs, such as fixed nodes.

    Attributes
    ----------
    name
        Text of the legend.
    points
        Positions [m], (n, 3).
    colour
        Red, green, blue from 0 to 1.
    vertices
        Vertices of the first body that the points are and follow, (n,); None: they stay.
    """

    name: str
    points: Reals
    colour: tuple[float, float, float] = (0.80, 0.25, 0.22)
    vertices: Indices | None = None

    def described(self, centre: Reals) -> dict[str, Any]:
        """Return the marks for a message."""
        points = self.points - centre
        look = {"name": self.name, "points": points, "colour": self.colour}
        return {**look, "vertices": self.vertices}


@dataclass(frozen=True)
class Track:
    """A recorded motion of one body.

    Attributes
    ----------
    body
        Number of the body in the scene.
    q
        Coordinates, (m, r); None: it does not deform.
    places
        Origin of the frame of the body [m] and its rotation (w, x, y, z), (m, 7); None: at rest.
    """

    body: int = 0
    q: Reals | None = None
    places: Reals | None = None

    def described(self, centre: Reals, middle: Reals) -> dict[str, Any]:
        """Return the motion for a message, with rotations that do not jump.

        middle: that of the body.
        """
        places = None
        if self.places is not None:
            places = moved(centre, middle, self.places)
            # both signs are the same rotation; between opposite ones pages would find none
            turns = places[:, 3:]
            jumps = (turns[1:] * turns[:-1]).sum(axis=1) < 0.0
            turns[1:] *= np.cumprod(np.where(jumps, -1.0, 1.0))[:, None]
        return {"body": self.body, "q": self.q, "places": places}


@dataclass(frozen=True)
class Clip:
    """A recorded motion of bodies.

    Attributes
    ----------
    times
        Times [s], (m,).
    tracks
        Motions of the bodies that move.
    arrows
        Begin and vector [m] of an arrow, (m, 6); None: there is none.
    colour
        Red, green, blue of the arrow.
    numbers
        Name, values (m,) and unit of numbers that are shown.
    levels
        Colours of the vertices of the first body over time, as `Body.levels`, (m, v); None: they
        do not change.
    """

    times: Reals
    tracks: tuple[Track, ...]
    arrows: Reals | None = None
    colour: tuple[float, float, float] = GREY
    numbers: tuple[tuple[str, Reals, str], ...] = ()
    levels: NDArray[np.uint8] | None = None

    def described(self, centre: Reals, middles: Reals) -> dict[str, Any]:
        """Return the motion for a message, from time 0 on; middles: those of the bodies."""
        arrows = None
        if self.arrows is not None:
            arrows = self.arrows - np.append(centre, np.zeros(3))
        begin = float(self.times[0])
        return {
            "begin": begin,
            "times": self.times - begin,
            "tracks": [one.described(centre, middles[one.body]) for one in self.tracks],
            "arrows": arrows,
            "colour": self.colour,
            "numbers": self.numbers,
            "levels": self.levels,
        }


@dataclass(frozen=True)
class Scene:
    """All that a view shows before anything moves.

    Attributes
    ----------
    title
        Text above the picture.
    bodies, marks
        Geometry.
    up
        Axis that is up, as of `plot.render`.
    controls
        True: the view simulates, so its pages have buttons.
    resets
        True: the simulation belongs to the view, so pages can reset it and set coordinates.
    poses
        True: sliders of pages move what the view computes.
    pulls
        True: pages can pull its bodies.
    tool
        Number of the body that pages can hold and move; None: none.
    held
        Number of the body that a hand moves: pages look across its way to the others at first;
        None: none.
    listed
        True: the legend has the names and colours of the bodies.
    clip
        Recorded motion that pages play; None: none.
    oscillates
        True: shapes may swing, as modes do.
    frequencies
        Those of the shapes that swing [Hz], (r,); None: not known.
    texts
        Lines of text about the objects.
    box
        Corners [m] of what is seen at first, (2, 3); None: of all bodies at rest.
    whole
        True: pages show the whole box at first, not only the bodies as they are then.
    """

    title: str
    bodies: tuple[Body, ...]
    marks: tuple[Marks, ...] = ()
    up: str = "z"
    controls: bool = False
    resets: bool = False
    poses: bool = False
    pulls: bool = False
    tool: int | None = None
    held: int | None = None
    listed: bool = False
    clip: Clip | None = None
    oscillates: bool = False
    frequencies: Reals | None = None
    texts: tuple[str, ...] = ()
    box: Reals | None = None
    whole: bool = False

    @property
    def centre(self) -> Reals:
        """Centre of the bounding box [m], from which pages measure positions."""
        corners = self._corners()
        return np.asarray(corners.mean(axis=0))

    @property
    def middles(self) -> Reals:
        """Those of the bodies [m], (n, 3)."""
        return np.array([one.middle for one in self.bodies])

    def _corners(self) -> Reals:
        if self.box is not None:
            return self.box
        every = [one.vertices for one in self.bodies if one.like is None] + [
            one.points for one in self.marks if len(one.points)
        ]
        low = np.min([x.min(axis=0) for x in every], axis=0)
        high = np.max([x.max(axis=0) for x in every], axis=0)
        return np.array([low, high])

    def described(self) -> dict[str, Any]:
        """Return the scene for a message."""
        centre, clip = self.centre, self.clip
        if clip is not None:
            motion = clip.described(centre, self.middles)
        return {
            "kind": "scene",
            "title": self.title,
            "centre": [float(x) for x in centre],
            "box": self._corners() - centre,
            "up": self.up,
            "controls": self.controls,
            "resets": self.resets,
            "poses": self.poses,
            "pulls": self.pulls,
            "tool": self.tool,
            "held": self.held,
            "listed": self.listed,
            "whole": self.whole,
            "oscillates": self.oscillates,
            "frequencies": self.frequencies,
            "texts": self.texts,
            "clip": None if clip is None else motion,
            "bodies": [one.described(centre) for one in self.bodies],
            "marks": [one.described(centre) for one in self.marks],
        }


def split(surface: Surface, groups: NDArray[Any] | None = None) -> tuple[Indices, Indices, Reals]:
    """Return a surface with vertices split where it has creases.

    Parameters
    ----------
    surface
        The surface.
    groups
        Number of a group for each triangle, (t,): vertices are split between groups, too.

    Returns
    -------
    source
        Vertex of the surface of each new vertex, (w,).
    triangles
        New vertex indices, (t, 3), of the same triangles.
    normals
        Unit normals of the new vertices, (w, 3); zero where all triangles have no area.
    """
    x, faces = surface.vertices, surface.triangles
    corners = corner_normals(x, faces).reshape(-1, 3)
    # equal normals differ by rounding only; a ten-thousandth separates others
    steps = np.rint(1e4 * corners).astype(np.int64) + 10_000
    keys = [faces.reshape(-1), steps @ np.array([20_001**2, 20_001, 1])]
    if groups is not None:
        keys.append(np.repeat(groups, 3))
    # faster than `unique` of rows
    order = np.lexsort(keys[::-1])
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    first = order[begins]
    which = np.empty(len(order), dtype=np.int32)
    which[order] = np.cumsum(begins) - 1
    return faces.reshape(-1)[first], which.reshape(-1, 3), corners[first]


def split_surface(mesh: Mesh, surface: Surface | None = None) -> tuple[Surface, Indices, Reals]:
    """Return the surface of a model, with vertices split at creases, and the results of `split`.

    Parameters
    ----------
    mesh
        Mesh of the model.
    surface
        Its surface; None: the one from which the mesh was made, or else its boundary.

    Returns
    -------
    surface
        The surface with new vertices.
    source, normals
        As of `split`.
    """
    whole = surface or mesh.source or mesh.surface()
    source, triangles, normals = split(whole)
    return Surface(whole.vertices[source], triangles), source, normals


def surface_tilts(vertices: Reals, triangles: Indices, shapes: Reals) -> Reals:
    """Return changes of the vertex normals by shapes of a surface, to first order.

    The normal of a vertex is along the sum of the area vectors a x b of its triangles, whose
    change is da x b + a x db.

    Parameters
    ----------
    vertices, triangles
        Rest positions [m], (v, 3), and vertex indices, (t, 3).
    shapes
        Displacements of the vertices, (r, v, 3).

    Returns
    -------
    (r, v, 3) array
        Changes of unit normals, per unit of each shape.
    """

    def total(values: Reals) -> Reals:
        out = np.empty_like(vertices)
        for axis in range(3):
            weights = np.repeat(values[:, axis], 3)
            out[:, axis] = np.bincount(triangles.reshape(-1), weights, minlength=len(vertices))
        return out

    p, q, r = triangles.T
    a, b = vertices[q] - vertices[p], vertices[r] - vertices[p]
    area = np.linalg.norm(total(np.cross(a, b)), axis=1)[:, None]
    changes = [total(np.cross(u[q] - u[p], b) + np.cross(a, u[r] - u[p])) for u in shapes]
    tilts: Reals = np.stack(changes) / np.maximum(area, 1e-300)
    return tilts


def boundary_edges(mesh: Mesh) -> tuple[Surface, Indices]:
    """Return the boundary of a mesh, and the edges of its elements there."""
    boundary = mesh.surface()
    nodes = mesh.boundary_nodes
    faces = mesh.boundary_faces
    # corners come first, around the face; mid-edge nodes follow, one after each corner
    corners = 3 if faces.shape[1] in (3, 6) else 4
    ring = faces[:, :corners]
    pairs = [np.stack([ring, np.roll(ring, -1, axis=1)], axis=2).reshape(-1, 2)]
    if faces.shape[1] > corners:
        middle = faces[:, corners : 2 * corners]
        pairs = [
            np.stack([ring, middle], axis=2).reshape(-1, 2),
            np.stack([middle, np.roll(ring, -1, axis=1)], axis=2).reshape(-1, 2),
        ]
    edges = np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)
    place = np.full(mesh.n_nodes, -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    return boundary, place[edges]


def origins(centres: Reals, turns: Reals, rest: Reals) -> Reals:
    """Return the origins of frames of bodies, (n, 3), from a point of each, now and at rest.

    The rotations (w, x, y, z) are of length 1; `rest` is one point, (3,), or one per body.
    """
    w, axis = turns[:, :1], turns[:, 1:]
    twice = 2.0 * np.cross(axis, rest)
    turned = rest + w * twice + np.cross(axis, twice)
    return np.asarray(centres - turned)


def moved(centre: Reals, middles: Reals, places: Reals) -> Reals:
    """Return places of bodies with those of their middles from the centre of the scene, (n, 7).

    places: origins of their frames [m] and rotations. Pages have single precision, in which bodies
    far from the origin of the world, or of their frames, would shake.
    """
    turns = places[:, 3:]
    return np.column_stack([-origins(centre - places[:, :3], turns, middles), turns])


def fixed_nodes(mesh: Mesh, fixed: NDArray[Any], *, carried: bool = False) -> tuple[Marks, ...]:
    """Return the fixed nodes on the boundary of a mesh, if any.

    carried: they are drawn on the surface that the mesh was made of, at the places nearest to
    them, because nodes of cut cells lie beside it.
    """
    seen = np.intersect1d(fixed, mesh.boundary_nodes)
    if not len(seen):
        return ()
    points = mesh.nodes[seen]
    if carried and mesh.source is not None:
        source = mesh.source
        points = _core.surface_closest(source.vertices, source.triangles, points, np.inf)[1]
    return (Marks(f"{len(fixed):,} fixed nodes", points),)


def level_colours(n: int) -> Reals:
    """Return a colour for each level of points, from warm to cold, (n, 3)."""
    stops = np.array(
        [(0.86, 0.27, 0.22), (0.97, 0.72, 0.24), (0.36, 0.66, 0.55), (0.25, 0.45, 0.70)]
    )
    place = np.linspace(0.0, 1.0, max(n, 2))[:n]
    at = np.linspace(0.0, 1.0, len(stops))
    return np.stack([np.interp(place, at, column) for column in stops.T], axis=1)


def region_colours(regions: NDArray[Any]) -> Reals:
    """Return a colour for each region number, (n, 3)."""
    palette = np.array(_REGIONS)
    _, which = np.unique(regions, return_inverse=True)
    return np.asarray(palette[which.reshape(-1) % len(palette)])
