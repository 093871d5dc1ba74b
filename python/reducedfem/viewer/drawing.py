"""Bodies and marks of a view: geometry that its pages draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.viewer.render import corner_normals

__all__ = ["GREY", "Body", "Marks", "Scene", "boundary_edges", "region_colours", "split"]

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
    opacity
        From 0 to 1.
    edges
        Pairs of vertices drawn as lines in the wireframe, (e, 2); None: those of the triangles.
    lined
        True: the edges are drawn from the beginning.
    scales
        Largest displacement by a unit of each coordinate [m], (r,); for sliders.
    labels
        Text of each slider; empty: no sliders.
    """

    name: str
    vertices: Reals
    triangles: Indices
    normals: Reals | None = None
    shapes: Reals | None = None
    tilts: Reals | None = None
    colour: tuple[float, float, float] | None = GREY
    colours: Reals | None = None
    opacity: float = 1.0
    edges: Indices | None = None
    lined: bool = False
    scales: Reals | None = None
    labels: tuple[str, ...] = ()

    def described(self, centre: Reals) -> dict[str, Any]:
        """Return the body for a message, with positions from the centre of the scene."""
        return {
            "name": self.name,
            "vertices": self.vertices - centre,
            "triangles": self.triangles,
            "normals": self.normals,
            "shapes": self.shapes,
            "tilts": self.tilts,
            "colour": self.colour,
            "colours": None if self.colours is None else np.uint8(np.round(255 * self.colours)),
            "opacity": self.opacity,
            "edges": self.edges,
            "lined": self.lined,
            "scales": self.scales,
            "labels": self.labels,
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
    """

    name: str
    points: Reals
    colour: tuple[float, float, float] = (0.80, 0.25, 0.22)

    def described(self, centre: Reals) -> dict[str, Any]:
        """Return the marks for a message."""
        return {"name": self.name, "points": self.points - centre, "colour": self.colour}


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
        True: the view simulates, so its pages have buttons and can pull its bodies.
    clip
        Recorded motion: times [s], (m,), and coordinates of body 0, (m, r); None: none.
    oscillates
        True: shapes may swing, as modes do.
    notes
        Lines of text about the objects.
    """

    title: str
    bodies: tuple[Body, ...]
    marks: tuple[Marks, ...] = ()
    up: str = "z"
    controls: bool = False
    clip: tuple[Reals, Reals] | None = None
    oscillates: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def centre(self) -> Reals:
        """Centre of the bounding box [m], from which pages measure positions."""
        corners = self._corners()
        return np.asarray(corners.mean(axis=0))

    def _corners(self) -> Reals:
        every = [one.vertices for one in self.bodies] + [
            one.points for one in self.marks if len(one.points)
        ]
        low = np.min([x.min(axis=0) for x in every], axis=0)
        high = np.max([x.max(axis=0) for x in every], axis=0)
        return np.array([low, high])

    def described(self) -> dict[str, Any]:
        """Return the scene for a message."""
        centre = self.centre
        return {
            "kind": "scene",
            "title": self.title,
            "centre": [float(x) for x in centre],
            "box": self._corners() - centre,
            "up": self.up,
            "controls": self.controls,
            "oscillates": self.oscillates,
            "notes": self.notes,
            "clip": None if self.clip is None else {"times": self.clip[0], "q": self.clip[1]},
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
    columns = [faces.reshape(-1), np.rint(1e4 * corners)]
    if groups is not None:
        columns.append(np.repeat(groups, 3))
    key = np.column_stack(columns).astype(np.int64)
    _, first, which = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return (
        faces.reshape(-1)[first],
        which.reshape(-1, 3).astype(np.int32),
        corners[first],
    )


def boundary_edges(mesh: Mesh) -> tuple[Surface, Indices, Indices]:
    """Return the boundary of a mesh, edges of its elements there, and the node of each vertex."""
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
    return boundary, place[edges], nodes


def region_colours(regions: NDArray[Any]) -> Reals:
    """Return a colour for each region number, (n, 3)."""
    palette = np.array(_REGIONS)
    _, which = np.unique(regions, return_inverse=True)
    return np.asarray(palette[which.reshape(-1) % len(palette)])
