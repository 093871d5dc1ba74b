"""Motions of worlds as meshes that move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.run import Progress, callback
from reducedfem.contact.dimple import Dimple
from reducedfem.contact.local import LocalCompliance
from reducedfem.dynamics.recorded import Motion, carried
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.constraints import shifted
from reducedfem.geometry.mesh import Mesh
from reducedfem.io import vtk_files
from reducedfem.io.volume_data import VolumeData
from reducedfem.io.volume_files import keeps_constraints
from reducedfem.io.vtk_files import FieldsOfState
from reducedfem.pictures.subject import check_motion, nodal_state
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.world.recorded import WorldMotion
from reducedfem.world.world import World

__all__ = ["check_world_motion", "export_world"]

Array = NDArray[np.float64]


def check_world_motion(motion: Any, world: World) -> WorldMotion:
    """Return the argument `motion`; refuse one that is not a motion of the argument `world`."""
    if not isinstance(motion, WorldMotion):
        raise InputTypeError(
            f"motion must be a WorldMotion, got {type(motion).__name__}; record one with "
            "record_motion(world, n)"
        )
    if len(motion.bodies) != len(world):
        raise InputError(f"motion has {len(motion.bodies)} bodies, but the world has {len(world)}")
    for k, (one, body) in enumerate(zip(motion.bodies, world.bodies, strict=True)):
        try:
            check_motion(one, body.reduced)
        except InputError as error:
            raise InputError(
                f"motion.bodies[{k}] is not of body {k} of the world: {error}"
            ) from None
    sites = locals_of(world)
    for number, u in motion.dimples.items():
        n = sites[number].tree.shell.n_points if number in sites else 0
        if n != u.shape[1]:
            raise InputError(
                f"motion has a dimple of {u.shape[1]} points of body {number}, which has "
                + (f"{n}" if n else "no local compliance in the world")
            )
    return motion


def locals_of(world: World) -> dict[int, LocalCompliance]:
    """Return the local compliances by the indices of bodies, and of fixed ones, -2, -3, ..."""
    fixed = {-2 - j: local for j, local in enumerate(world.fixed)}
    return {**world._locals, **fixed}


class _Boundary(NamedTuple):
    """The boundary of a mesh, on which a dimple is."""

    vertices: Array
    triangles: NDArray[np.int32]
    normals: Array
    shapes: Array | None


@dataclass(frozen=True)
class _Piece:
    """A mesh that moves as a part of a world.

    Attributes
    ----------
    number
        Index of its body.
    mesh
        The mesh.
    motion, model
        Motion of the body, and its model; None: fixed.
    moves
        False: the mesh is a layer on a rigid core, which the coordinates do not move.
    place
        Position and quaternion of a fixed one, (1, 7).
    dimple, u
        Dimple on its boundary, and displacements of the points of the shell, (s, n, 3).
    """

    number: int
    mesh: Mesh
    motion: Motion | None = None
    model: ReducedSolid | None = None
    moves: bool = True
    place: Array | None = None
    dimple: Dimple | None = None
    u: Array | None = None

    def _dimple(self, k: int) -> Array | None:
        if self.dimple is None or self.u is None or not self.u[k].any():
            return None
        moved = np.zeros((self.mesh.n_nodes, 3))
        moved[self.mesh.boundary_nodes] = self.dimple.frame(self.u[k])["moved"]
        return moved

    def state(self, k: int) -> tuple[Array, Array]:
        """Return displacements [m] and velocities [m/s] of the nodes, (n, 3)."""
        nodes, dimple = self.mesh.nodes, self._dimple(k)
        if self.motion is None:
            assert self.place is not None
            bent = np.zeros_like(nodes) if dimple is None else dimple
            return carried(self.place, np.zeros(3), nodes, bent[None])[0], np.zeros_like(nodes)
        assert self.model is not None
        if self.moves:
            u, v = nodal_state(self.model, self.motion, k, dimple)
            assert v is not None
            return u, v
        assert self.motion.poses is not None
        assert self.motion.rates is not None
        assert self.model.rigid_body is not None
        pose, rates = self.motion.poses[k : k + 1], self.motion.rates[k]
        bent = np.zeros_like(nodes) if dimple is None else dimple
        u = carried(pose, self.model.rigid_body.centre, nodes, bent[None])[0]
        return u, rates[:3] + np.cross(rates[3:], nodes + u - pose[0, :3])


def _pieces(world: World, motion: WorldMotion) -> Iterator[_Piece]:
    """Yield the meshes of the bodies, of layers on them, and of fixed bodies."""
    dimples: dict[tuple[LocalCompliance, Mesh], Dimple] = {}

    def dimple(local: LocalCompliance | None, mesh: Mesh, model: ReducedSolid | None) -> Any:
        if local is None:
            return None
        if (local, mesh) not in dimples:
            surface = mesh.surface()
            shapes = None if model is None else model.basis[:, mesh.boundary_nodes]
            dimples[local, mesh] = Dimple(
                local, _Boundary(surface.vertices, surface.triangles, surface.normals, shapes)
            )
        return dimples[local, mesh]

    for k, (body, own) in enumerate(zip(world.bodies, motion.bodies, strict=True)):
        local, u = world._locals.get(k), motion.dimples.get(k)
        model = body.reduced
        layered = local is not None and local.tree.reduced is None
        on = None if layered else dimple(local, model.mesh, model)
        yield _Piece(k, model.mesh, own, model, dimple=on, u=u)
        if local is not None and layered:
            mesh = local.solid.mesh
            yield _Piece(k, mesh, own, model, False, dimple=dimple(local, mesh, None), u=u)
    for j, (local, at) in enumerate(world._fixed_at):
        mesh = local.solid.mesh
        place = np.concatenate([at.position, at.quaternion])[None]
        u = motion.dimples.get(-2 - j)
        yield _Piece(-2 - j, mesh, place=place, dimple=dimple(local, mesh, None), u=u)


def _joined(pieces: list[_Piece]) -> VolumeData:
    """Return the meshes of pieces, of elements of one kind, as one that they share no nodes in."""
    meshes = [one.mesh for one in pieces]
    begins = np.cumsum([0, *(one.n_nodes for one in meshes)])
    cut = any(one._rule() is not None for one in meshes)
    ties = shifted([(_core.mesh_constraints(one._core), one.n_nodes) for one in meshes])
    return VolumeData(
        np.concatenate([one.nodes for one in meshes]),
        np.concatenate([one.elements + at for one, at in zip(meshes, begins, strict=False)]),
        np.concatenate([one.regions for one in meshes]).astype(np.int64),
        fractions=np.concatenate([one.fractions for one in meshes]) if cut else None,
        constraints=ties,
    )


def _states(pieces: list[_Piece], times: Array) -> Iterator[FieldsOfState]:
    """Yield the time and the fields of each state of a world."""
    bodies = np.repeat(
        np.array([one.number for one in pieces], dtype=np.int32),
        [one.mesh.n_elements for one in pieces],
    )
    for k, time in enumerate(times):
        states = [one.state(k) for one in pieces]
        u, v = (np.concatenate([one[i] for one in states]).astype(np.float32) for i in range(2))
        yield float(time), {"displacement": u, "velocity": v}, {"body": bodies}


def export_world(path: Path, world: World, motion: WorldMotion, progress: Progress) -> bool:
    """Write a motion of a world as of `export_vtk`; return False if constraints are left out."""
    kinds: dict[int, list[_Piece]] = {}
    for one in _pieces(world, motion):
        kinds.setdefault(one.mesh.nodes_per_element, []).append(one)
    parts = [(_joined(pieces), _states(pieces, motion.times)) for pieces in kinds.values()]
    with callback(progress, "states") as tell:
        first = parts[0][1]

        def counted() -> Iterator[FieldsOfState]:
            for k, state in enumerate(first):
                yield state
                if tell is not None:
                    tell(k + 1, len(motion))

        parts[0] = parts[0][0], counted()
        vtk_files.write(path, parts, len(motion))
    return all(keeps_constraints(data, ".vtu") for data, _ in parts)
