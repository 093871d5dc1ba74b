"""Views of modes and bases: a slider for each shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.mesh import Mesh
from reducedfem.reduction.basis import Basis
from reducedfem.solid.modes import Modes
from reducedfem.viewer.parts import Body, Scene, split_surface, surface_tilts
from reducedfem.viewer.shown import Shown, unit_scales

__all__ = ["ShownShapes", "shapes_body"]


def shapes_body(mesh: Mesh, shapes: NDArray[np.float64], labels: tuple[str, ...]) -> Body:
    """Return the surface of a mesh that deforms by fields at its nodes (r, n, 3)."""
    surface, source, normals = split_surface(mesh)
    if mesh.source is None:
        moved = shapes[:, mesh.boundary_nodes[source]]
    else:
        moved = Embedding(mesh, surface.vertices).transfer(shapes)
    return Body(
        "shapes",
        surface.vertices,
        surface.triangles,
        normals,
        shapes=moved,
        tilts=surface_tilts(surface.vertices, surface.triangles, moved),
        colour=None,
        scales=unit_scales(moved),
        labels=labels,
    )


class ShownShapes(Shown):
    """Modes, or the vectors of a basis."""

    def __init__(self, shapes: Modes | Basis, mesh: Mesh, up: str) -> None:
        self._mesh, self._up = mesh, up
        self._frequencies = None
        if isinstance(shapes, Modes):
            self._frequencies = shapes.frequencies
            self._title = f"{len(shapes)} linear modes"
            self._vectors = shapes.shapes
            self._labels = tuple(
                f"{k + 1}: {hertz:.4g} Hz" for k, hertz in enumerate(shapes.frequencies)
            )
        else:
            self._title = f"Basis of {shapes.r} vectors"
            self._vectors = shapes.vectors
            self._labels = tuple(f"vector {k + 1}" for k in range(shapes.r))

    def scene(self) -> Scene:
        """Return the scene."""
        body = shapes_body(self._mesh, self._vectors, self._labels)
        texts = (f"{self._mesh.n_nodes:,} nodes",)
        return Scene(
            self._title,
            (body,),
            up=self._up,
            oscillates=True,
            frequencies=self._frequencies,
            texts=texts,
        )
