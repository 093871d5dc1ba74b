"""Views of control elements, by a slider for each parameter, and of composite bodies."""

from __future__ import annotations

import numpy as np

from reducedfem.errors import InputError
from reducedfem.green.composite import CompositeBody
from reducedfem.green.control import ControlElements
from reducedfem.viewer.parts import Body, Marks, Scene, fixed_nodes, split_surface, surface_tilts
from reducedfem.viewer.shown import Shown, unit_scales
from reducedfem.viewer.shown_geometry import mesh_body

__all__ = ["ShownBlocks", "ShownHandles"]

_NAMES = tuple(f"shift {x}" for x in "xyz") + tuple(f"{x} by {y}" for x in "xyz" for y in "xyz")
_NONE = 1e-9  # least displacement over the largest one
_HANDLE = (0.16, 0.60, 0.66)


class ShownHandles(Shown):
    """Control elements: the linear solution for the parameters of their handles."""

    def __init__(self, control: ControlElements, up: str) -> None:
        solid = control.solid
        if solid is None:
            raise InputError(
                "x are ControlElements from a file, which have no surface: show a solution on its "
                "mesh, as view(mesh, motion=Motion([0.0], [u]))"
            )
        missing = np.setdiff1d(solid.mesh.boundary_nodes, control.nodes)
        if len(missing):
            raise InputError(
                f"x has no displacements of {len(missing)} nodes of the boundary: make the "
                "ControlElements with surface_nodes=None"
            )
        self._control, self._solid, self._up = control, solid, up

    def _body(self) -> Body:
        control, mesh = self._control, self._solid.mesh
        surface, source, normals = split_surface(mesh, mesh.surface())
        places = np.searchsorted(control.nodes, mesh.boundary_nodes[source])
        n = len(_NAMES) * len(control.handles)
        shapes = np.array([control.displacement(c, rotation=None)[places] for c in np.eye(n)])
        scales = unit_scales(shapes)
        # stretching a plane handle along its normal moves nothing
        kept = scales > _NONE * scales.max()
        labels = [f"handle {k}: {name}" for k in range(len(control.handles)) for name in _NAMES]
        return Body(
            "handles",
            surface.vertices,
            surface.triangles,
            normals,
            shapes=shapes[kept],
            tilts=surface_tilts(surface.vertices, surface.triangles, shapes[kept]),
            colour=None,
            scales=scales[kept],
            labels=tuple(np.array(labels)[kept].tolist()),
        )

    def scene(self) -> Scene:
        """Return the scene."""
        control, mesh = self._control, self._solid.mesh
        handles = tuple(
            Marks(f"handle {k}: {len(nodes):,} nodes", mesh.nodes[nodes], _HANDLE)
            for k, nodes in enumerate(control.handles)
        )
        texts = [f"{len(control.handles)} handles, {mesh.n_nodes:,} nodes"]
        texts.append("linear solution, without a frame")
        fixed = fixed_nodes(mesh, self._solid.fixed)
        return Scene(
            "Control elements", (self._body(),), (*fixed, *handles), up=self._up, texts=tuple(texts)
        )


class ShownBlocks(Shown):
    """A composite body at rest, by the blocks of its elements."""

    def __init__(self, body: CompositeBody, up: str) -> None:
        self._body, self._up = body, up

    def scene(self) -> Scene:
        """Return the scene."""
        body, solid = self._body, self._body.solid
        texts = (
            f"{body.n_blocks} blocks, {len(body.nodes):,} of {solid.mesh.n_nodes:,} nodes outside",
            "a solution: view(body.solid, motion=Motion([0.0], [solution.u]))",
        )
        return Scene(
            "Composite body",
            (mesh_body(solid.mesh, regions=body.blocks),),
            fixed_nodes(solid.mesh, solid.fixed),
            up=self._up,
            texts=texts,
        )
