"""Surfaces to draw or to export, and their displacements along a motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import require
from reducedfem.dynamics.recorded import Motion, carried
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.skin import Skin
from reducedfem.solid.solid import Solid
from reducedfem.world.world import World

__all__ = [
    "Model",
    "Subject",
    "check_motion",
    "mesh_of",
    "nodal",
    "nodal_state",
    "require_made_of",
]

Array = NDArray[np.float64]

Model = ReducedSolid | ProjectedSolid | Skin | Solid | Mesh | Surface
_KINDS = "a ReducedSolid, ProjectedSolid, Skin, Solid, Mesh or Surface"


def _wrong_model(model: object, kinds: str) -> InputTypeError:
    hint = ""
    if isinstance(model, World):
        hint = "; write bodies one by one: world.bodies[0].reduced, with motion.bodies[0]"
    return InputTypeError(f"model must be {kinds}, got {type(model).__name__}{hint}")


def mesh_of(model: object, kinds: str) -> Mesh:
    """Return the mesh of the argument `model`; refuse objects without one."""
    if isinstance(model, Skin):
        return model.reduced.mesh
    if isinstance(model, ReducedSolid | ProjectedSolid | Solid):
        return model.mesh
    if isinstance(model, Mesh):
        return model
    raise _wrong_model(model, kinds)


def check_motion(motion: Any, model: object) -> Motion:
    """Return the argument `motion`; refuse one that is not a motion of the argument `model`."""
    if not isinstance(motion, Motion):
        raise InputTypeError(
            f"motion must be a Motion, got {type(motion).__name__}; record one with "
            "record_motion(sim, n), or make one of arrays, Motion(times, q)"
        )
    if isinstance(model, Surface):
        raise InputError("motion must be None: a Surface alone has no motion; pass its model")
    model = model.reduced if isinstance(model, Skin) else model
    if motion.q.ndim == 2:
        if not isinstance(model, ReducedSolid | ProjectedSolid):
            raise InputError(
                f"motion has reduced coordinates q {motion.q.shape}, but model is a "
                f"{type(model).__name__}: pass the reduced model"
            )
        if motion.q.shape[1] != model.r:
            raise InputError(
                f"motion has {motion.q.shape[1]} reduced coordinates, but model has {model.r}"
            )
    else:
        n = mesh_of(model, _KINDS).n_nodes
        if motion.q.shape[1] != n:
            raise InputError(
                f"motion has displacements of {motion.q.shape[1]} nodes, but model has {n}"
            )
    free = isinstance(model, ReducedSolid) and model.rigid_body is not None
    if motion.poses is not None and not free:
        raise InputError(
            "motion has the poses of a free body, but model has fixed nodes or is no ReducedSolid"
        )
    return motion


def nodal(model: object, q: Array) -> Array:
    """Return the field of the nodes (n, 3) of one state of a motion, or of its rates."""
    if q.ndim == 2:
        return q
    assert isinstance(model, ReducedSolid | ProjectedSolid)
    return model.displacement(q)


def nodal_state(
    model: Model, motion: Motion, k: int, dimple: Array | None = None
) -> tuple[Array, Array | None]:
    """Return displacements [m] and velocities [m/s] of the nodes in the world in state k, (n, 3).

    dimple: further displacements of the nodes in the frame of a free body, without velocities.
    None in place of velocities: the motion has no rates.
    """
    mesh, u = mesh_of(model, _KINDS), nodal(model, motion.q[k])
    u = u if dimple is None else u + dimple
    v = None if motion.qdot is None else nodal(model, motion.qdot[k])
    if motion.poses is None:
        return u, v
    assert isinstance(model, ReducedSolid)
    assert model.rigid_body is not None
    pose, c = motion.poses[k : k + 1], model.rigid_body.centre
    world = carried(pose, c, mesh.nodes, u[None])[0]
    if v is None or motion.rates is None:
        return world, None
    # v + w x (x - p), and the rates of the deformation in the axes of the world
    arm = mesh.nodes + world - pose[0, :3]
    turned = carried(pose, c, c + 0.0 * u, v[None])[0] - (pose[0, :3] - c)
    return world, motion.rates[k, :3] + np.cross(motion.rates[k, 3:], arm) + turned


def require_made_of(solid: Solid, model: object, subject: str) -> None:
    """Refuse a solid whose stress is not that of the model: of another mesh or material.

    `subject` begins the message, with the name of the argument. Densities and fixed nodes do not
    matter; of a `Mesh` the material is not known.
    """
    mesh, own = mesh_of(model, _KINDS), solid.mesh
    same = np.array_equal(own.elements, mesh.elements) and np.array_equal(own.nodes, mesh.nodes)
    if not (same and np.array_equal(own.fractions, mesh.fractions)):
        raise InputError(
            f"{subject} has another mesh ({own!r}) than model ({mesh!r}): pass the Solid of which "
            "the model was made"
        )
    if isinstance(model, Mesh):
        return
    if isinstance(model, ProjectedSolid):
        model = model.solid
    assert isinstance(model, ReducedSolid | Solid | Skin)
    made_of = (model.reduced if isinstance(model, Skin) else model).materials
    pairs = np.unique(np.stack([own.regions, mesh.regions], axis=1), axis=0)
    for region, other in pairs.tolist():
        one, made = solid.materials[region], made_of[other]
        if (one.law, one.parameters) != (made.law, made.parameters):
            raise InputError(
                f"{subject} has another material in region {region} ({one!r}) than model "
                f"({made!r}): pass the Solid of which the model was made"
            )


class Subject:
    """The surface of an object, and its displacements; arguments as of `export_gltf`.

    Attributes are the surface at rest, the reduced or projected model (or None), the skin of a
    reduced model (or None) and the motion (or None). ``flat`` is True for the boundary of a mesh,
    whose edges are sharp.
    """

    def __init__(self, model: Model, surface: Surface | None, motion: Motion | None) -> None:
        if not isinstance(model, Model):
            raise _wrong_model(model, _KINDS)
        self.motion = None if motion is None else check_motion(motion, model)
        if surface is not None:
            require(surface, Surface, "surface")
            if isinstance(model, Skin | Surface):
                raise InputError(
                    f"surface must be None: model is a {type(model).__name__}, a surface itself"
                )
        self.skin = model if isinstance(model, Skin) else None
        self.model = model.reduced if isinstance(model, Skin) else model
        self.embedding: Embedding | None = None
        self._nodes: NDArray[np.int32] | None = None
        self.flat = False
        if isinstance(model, Surface):
            self.surface = model
            return
        if isinstance(model, Skin):
            self.surface = model.surface
            return
        mesh = mesh_of(model, _KINDS)
        given = surface or (None if isinstance(model, Mesh) else mesh.source)
        self.flat = given is None
        self.surface = mesh.surface() if given is None else given
        if isinstance(model, ReducedSolid):
            self.skin = Skin(model, self.surface)
        elif given is None:
            self._nodes = mesh.boundary_nodes
        else:
            self.embedding = Embedding(mesh, given.vertices)

    @property
    def mesh(self) -> Mesh | None:
        """Mesh of the object; None for a surface."""
        return None if isinstance(self.model, Surface) else mesh_of(self.model, _KINDS)

    def nodal(self, k: int) -> Array:
        """Return the displacements of the nodes in state k, without rigid motion, (n, 3)."""
        assert self.motion is not None
        return nodal(self.model, self.motion.q[k])

    @property
    def centre(self) -> Array | None:
        """Centre of mass at rest of a free body [m], shape (3,); None for other objects."""
        body = self.model.rigid_body if isinstance(self.model, ReducedSolid) else None
        return None if body is None else body.centre

    def at_vertices(self, u: Array) -> Array:
        """Return a field of the nodes (n, 3) at the vertices, (v, 3)."""
        if self._nodes is not None:
            return np.asarray(u[self._nodes])
        if self.skin is not None:
            return self.skin.embedding.interpolate(u)
        assert self.embedding is not None
        return self.embedding.interpolate(u)

    def deformation(self, k: int) -> Array:
        """Return the displacements of the vertices in state k, without rigid motion, (v, 3)."""
        assert self.motion is not None
        q = self.motion.q[k]
        if q.ndim == 2:
            return self.at_vertices(q)
        if self.skin is not None:
            return self.skin.positions(q) - self.surface.vertices
        assert isinstance(self.model, ProjectedSolid)
        return self.at_vertices(self.model.displacement(q))

    def displacements(self) -> Iterator[Array]:
        """Yield the displacements of the vertices in the world in each state [m], (v, 3)."""
        assert self.motion is not None
        rest, poses, centre = self.surface.vertices, self.motion.poses, self.centre
        for k in range(len(self.motion)):
            u = self.deformation(k)
            if poses is not None and centre is not None:
                u = carried(poses[k : k + 1], centre, rest, u[None])[0]
            yield u
