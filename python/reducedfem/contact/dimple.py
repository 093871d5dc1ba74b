"""Dimples of local compliance on surfaces that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.contact.contact import ContactPoints
from reducedfem.contact.local import LocalCompliance
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.refine import refined
from reducedfem.geometry.surface import Surface

__all__ = ["Dimple", "Drawn", "fine_surface", "surface_of"]

Reals = NDArray[np.float64]
_AT_REST = 1e-9  # motion of a vertex at fixed nodes, over the largest


class Drawn(Protocol):
    """A surface that may deform by shapes."""

    @property
    def vertices(self) -> Reals:
        """Rest positions [m], (v, 3)."""

    @property
    def triangles(self) -> NDArray[np.int32]:
        """Vertex indices, (t, 3)."""

    @property
    def normals(self) -> Reals | None:
        """Unit normals at rest, (v, 3)."""

    @property
    def shapes(self) -> Reals | None:
        """Displacements by each coordinate, (r, v, 3); None: there are none."""


def surface_of(mesh: Mesh, local: LocalCompliance) -> Surface:
    """Return the surface of a body with edges that show its dimples."""
    whole = mesh.source or mesh.surface()
    return refined(whole, float(np.sqrt(whole.area / local.tree.shell.n_points)))


def fine_surface(local: LocalCompliance) -> Surface | None:
    """Return the surface of a model with edges that show dimples; None: its tree is rigid."""
    reduced = local.tree.reduced
    return None if reduced is None else surface_of(reduced.mesh, local)


class Dimple:
    """Dimple of a shell, S f, at the vertices of the surface of its body.

    Between the points of the shell it is interpolated; beyond them it fades. Vertices that no
    coordinate moves, those of fixed nodes, and sides of the body without points have none.
    """

    def __init__(self, local: LocalCompliance, body: Drawn) -> None:
        shell = local.tree.shell
        self._local, self._body = local, body
        self._number: NDArray[np.int32] | None = None  # None: vertices are points of the shell
        if len(body.triangles):
            assert body.normals is not None
            self._number, self._weight = _core.shell_blend(
                shell.points, -shell.normals, body.vertices, body.normals, threads()
            )
            if body.shapes is not None:
                size = np.abs(body.shapes).max(axis=(0, 2))
                self._weight[size <= _AT_REST * size.max()] = 0.0

    def at_points(self, touching: Sequence[ContactPoints], place: Pose) -> Reals | None:
        """Return the dimple at all points of the shell, in its frame [m]; None: there is none.

        touching: points of the contacts of the body, at its place.
        """
        # those of a snapshot act on the other object
        forces = -np.concatenate([one.forces for one in touching])
        points = np.concatenate([one.indices for one in touching])
        if not forces.any():
            return None
        turn = Pose((0.0, 0.0, 0.0), place.quaternion).inverse()
        return self._local.displacement(turn.apply(forces), points)

    def frame(self, u: Reals) -> dict[str, Any]:
        """Return what moves the vertices of the body, of a dimple at the points."""
        body = self._body
        if self._number is None:
            return {"moved": u[: len(body.vertices)], "normals": body.normals}
        moved = np.einsum("vk,vkc->vc", self._weight, u[self._number])
        normals = _core.surface_normals(body.vertices + moved, body.triangles)
        return {"moved": moved, "normals": normals}
