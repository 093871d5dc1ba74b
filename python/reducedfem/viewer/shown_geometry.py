"""Views of surfaces, meshes and solids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.console import size_text
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.pictures.values import GivenValues, SurfaceValues
from reducedfem.solid.solid import Solid
from reducedfem.viewer.painted import at_rest, painted
from reducedfem.viewer.parts import (
    Body,
    Scene,
    boundary_edges,
    fixed_nodes,
    region_colours,
    split,
    split_surface,
)
from reducedfem.viewer.shown import Shown

__all__ = ["MovedSurface", "ShownMesh", "ShownSolid", "ShownSurface"]


class ShownSurface(Shown):
    """A surface."""

    def __init__(self, surface: Surface, up: str, values: GivenValues | None = None) -> None:
        self._surface, self._up = surface, up
        self._values = at_rest(values, surface)

    def scene(self) -> Scene:
        """Return the scene."""
        one = self._surface
        source, triangles, normals = split(one)
        defects = [
            text
            for wrong, text in (
                (not one.is_closed, "not closed"),
                (not one.is_manifold, "not manifold"),
                (one.n_degenerate > 0, f"{one.n_degenerate} triangles without area"),
            )
            if wrong
        ]
        size = size_text(one.bounds)
        texts = (f"{one.n_vertices:,} vertices, {one.n_triangles:,} triangles", size, *defects)
        body = Body("surface", one.vertices[source], triangles, normals)
        if self._values is not None:
            body = painted(body, self._values, source)
        return Scene("Surface", (body,), up=self._up, texts=texts)


def mesh_body(mesh: Mesh, values: SurfaceValues | None = None) -> Body:
    """Return the boundary of a mesh, coloured by values or regions, with edges of the elements."""
    body, source = _boundary(mesh, mesh.regions)
    return body if values is None else painted(body, values, source)


def blocks_body(mesh: Mesh, blocks: NDArray[np.int32]) -> tuple[Body, NDArray[np.int32]]:
    """Return the same with a colour for each block of elements, and the nodes of its vertices."""
    body, source = _boundary(mesh, blocks)
    return body, mesh.boundary_nodes[source]


def _boundary(mesh: Mesh, whole: NDArray[np.int32]) -> tuple[Body, NDArray[np.int32]]:
    """Return the boundary by regions of elements, and the vertex of it of each vertex."""
    boundary, edges = boundary_edges(mesh)
    owners = mesh._core.boundary()[1]
    per_face = boundary.n_triangles // len(owners)
    of_faces = np.repeat(whole[owners], per_face)
    source, triangles, normals = split(boundary, of_faces)
    copy = np.zeros(boundary.n_vertices, dtype=np.int32)
    copy[source] = np.arange(len(source), dtype=np.int32)
    several = len(np.unique(whole)) > 1
    colours = None
    if several:
        colours = np.empty((len(source), 3))
        colours[triangles.reshape(-1)] = np.repeat(region_colours(of_faces), 3, axis=0)
    body = Body(
        "mesh",
        boundary.vertices[source],
        triangles,
        normals,
        colours=colours,
        edges=copy[edges],
        lined=True,
    )
    return body, source


class MovedSurface:
    """The surface of a mesh, whose vertices follow displacements of the nodes."""

    def __init__(self, mesh: Mesh) -> None:
        self.surface = split_surface(mesh)[0]
        self.vertices, self.triangles = self.surface.vertices, self.surface.triangles
        self._embedding = Embedding(mesh, self.vertices)

    def body(self, name: str) -> Body:
        """Return the body, coloured by displacement."""
        return Body(name, self.vertices, self.triangles, None, colour=None)

    def moved(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return displacements of the vertices (v, 3)."""
        return self._embedding.interpolate(u)

    def frame(self, u: NDArray[np.float64]) -> dict[str, Any]:
        """Return what a frame has of the body."""
        moved = self.moved(u)
        normals = _core.surface_normals(self.vertices + moved, self.triangles)
        return {"moved": moved, "normals": normals}


class ShownMesh(Shown):
    """A volume mesh."""

    def __init__(self, mesh: Mesh, up: str, values: GivenValues | None = None) -> None:
        self._mesh, self._up = mesh, up
        self._values = at_rest(values, mesh)

    def _texts(self) -> tuple[str, ...]:
        mesh = self._mesh
        kind = {
            4: "tetrahedra",
            10: "tetrahedra of order 2",
            8: "hexahedra",
            20: "hexahedra of order 2",
        }
        names = [f"region {k}: {name}" for k, name in mesh.region_names.items()]
        elements = f"{mesh.n_elements:,} {kind[mesh.nodes_per_element]}, {mesh.n_nodes:,} nodes"
        return (elements, size_text(mesh.bounds), *names[:12])

    def scene(self) -> Scene:
        """Return the scene."""
        return Scene(
            "Mesh", (mesh_body(self._mesh, self._values),), up=self._up, texts=self._texts()
        )


class ShownSolid(ShownMesh):
    """A solid: its mesh and its fixed nodes."""

    def __init__(self, solid: Solid, up: str, values: GivenValues | None = None) -> None:
        super().__init__(solid.mesh, up, values)
        self._solid = solid

    def scene(self) -> Scene:
        """Return the scene."""
        solid = self._solid
        mass = f"mass {solid.total_mass:.4g} kg, volume {solid.volume:.4g} m³"
        texts = (*self._texts(), mass, *(() if len(solid.fixed) else ("no fixed nodes",)))
        return Scene(
            "Solid",
            (mesh_body(self._mesh, self._values),),
            fixed_nodes(solid.mesh, solid.fixed),
            up=self._up,
            texts=texts,
        )
