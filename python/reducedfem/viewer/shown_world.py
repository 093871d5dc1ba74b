"""Views of worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.contact.local import LocalCompliance
from reducedfem.contact.shape_field import PlaneField
from reducedfem.errors import InputError, ReducedFEMError
from reducedfem.geometry.pose import Pose
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.skin import Skin
from reducedfem.viewer.parts import GREY, Body, Scene, origins, split, split_surface
from reducedfem.viewer.shown import Frame
from reducedfem.viewer.shown_contact import field_surface, plane_surface
from reducedfem.viewer.shown_dimple import Dimple, surface_of
from reducedfem.viewer.shown_driven import FreePull, Pull, ShownDriven, free_spring
from reducedfem.viewer.shown_motion import skin_body, skin_hit, skin_of
from reducedfem.world.world import World

__all__ = ["ShownWorld"]

_COLOURS = (
    (0.55, 0.70, 0.82), (0.92, 0.72, 0.50), (0.62, 0.79, 0.60), (0.86, 0.60, 0.57),
    (0.74, 0.68, 0.85), (0.80, 0.72, 0.60),
)  # fmt: skip
_GROUND = (0.80, 0.81, 0.83)


class ShownWorld(ShownDriven):
    """A world, which a page can run in real time."""

    def __init__(self, world: World, up: str, stiffness: float | None) -> None:
        if not len(world):
            raise InputError("x is a World without bodies: add some first")
        self._world, self._up = world, up
        self._count = len(world)
        super().__init__(world.dt, playing=False)
        self._given = stiffness
        # one of each model, and of each model with a local compliance
        self._locals = [world._locals.get(k) for k in range(self._count)]
        self._skins: dict[tuple[ReducedSolid, LocalCompliance | None], Skin] = {}
        self._fixed = world._fixed_at
        self._rest = np.array([body.rigid_body.centre for body in world.bodies])
        for k, one in enumerate(world.bodies):
            key = one.reduced, self._locals[k]
            if key not in self._skins:
                surface = None if key[1] is None else surface_of(one.reduced.mesh, key[1])
                self._skins[key] = skin_of(one.reduced, surface)
        # of bodies, then of fixed ones, by their numbers in the scene and in the world
        self._dimples: list[tuple[int, int, Dimple]] = []

    def _skin(self, k: int) -> Skin:
        return self._skins[self._world.bodies[k].reduced, self._locals[k]]

    def _places(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of the frames of the meshes: origins (n, 3), rotations (n, 4)."""
        positions, turns, *_ = self._world._core.motion()
        n = self._count
        return origins(positions[:n], turns[:n], self._rest), turns[:n]

    def _fixed_bodies(self) -> list[Body]:
        """Return the fixed bodies in the frames of their meshes."""
        bodies = []
        for k, (local, _) in enumerate(self._fixed):
            mesh = local.solid.mesh
            surface, _, normals = split_surface(mesh, surface_of(mesh, local))
            name = f"fixed body {-2 - k}"
            bodies.append(Body(name, surface.vertices, surface.triangles, normals, colour=GREY))
        return bodies

    def scene(self) -> Scene:
        """Return the scene."""
        world = self._world
        first: dict[ReducedSolid, int] = {}
        bodies: list[Body] = []
        self._dimples = []
        for k, one in enumerate(world.bodies[: self._count]):
            colour, local = _COLOURS[k % len(_COLOURS)], self._locals[k]
            if local is not None:
                bodies.append(skin_body(self._skin(k), f"body {k}", colour))
                self._dimples.append((k, k, Dimple(local, bodies[k])))
                continue
            if one.reduced in first:
                shared = bodies[first[one.reduced]]
                bodies.append(
                    Body(
                        f"body {k}",
                        shared.vertices,
                        shared.triangles,
                        colour=colour,
                        like=first[one.reduced],
                    )
                )
                continue
            first[one.reduced] = k
            bodies.append(skin_body(self._skin(k), f"body {k}", colour))
        fixed = self._fixed_bodies()
        for j, (local, _) in enumerate(self._fixed):
            self._dimples.append((self._count + j, -2 - j, Dimple(local, fixed[j])))
        bodies += fixed
        nodes = np.concatenate(
            [world.nodes(k) for k in range(self._count)]
            + [at.apply(local.solid.mesh.nodes) for local, at in self._fixed]
        )
        box = np.array([nodes.min(axis=0), nodes.max(axis=0)])
        size = float(np.linalg.norm(box[1] - box[0]))
        if world.ground is not None:
            try:
                ground = (
                    plane_surface(world.ground, box.mean(axis=0), 1.5 * size)
                    if isinstance(world.ground, PlaneField)
                    else field_surface(world.ground)
                )
                source, triangles, normals = split(ground)
                bodies.append(
                    Body(
                        "ground",
                        ground.vertices[source],
                        triangles,
                        normals,
                        colour=_GROUND,
                        backdrop=True,
                    )
                )
            except ReducedFEMError:
                pass  # without bounds: not drawn
        bodies_shown = f"{self._count:,} {'body' if self._count == 1 else 'bodies'}"
        if self._fixed:
            bodies_shown += f", {len(self._fixed):,} fixed"
        texts = (f"{bodies_shown}, dt = {world.dt:g} s",)
        return Scene(
            "World", tuple(bodies), up=self._up, controls=True, pulls=True, texts=texts, box=box
        )

    def frame(self) -> Frame:
        """Return the state."""
        world = self._world
        places, turns = self._places()
        if self._fixed:
            places = np.concatenate([places, [at.position for _, at in self._fixed]])
            turns = np.concatenate([turns, [at.quaternion for _, at in self._fixed]])
        report = world.report
        numbers: list[tuple[str, float, str]] = [
            ("time", report.steps * world.dt, "s"),
            ("kinetic and elastic energy", float(world.energy.sum()), "J"),
            ("pairs in contact", float(report.pairs), ""),
        ]
        # few long arrays travel faster than many short ones
        return {
            **self._frame([], numbers),
            "places": np.column_stack([places, turns]),
            "coordinates": np.concatenate(world.q[: self._count]),
            "dimples": self._dents(),
        }

    def _dents(self) -> list[dict[str, Any]]:
        """Return what moves the vertices of bodies with a dimple."""
        found = []
        for shown, number, dimple in self._dimples:
            u = self._world.dimple(number)
            if u.any():
                found.append({"body": shown, **dimple.frame(u)})
        return found

    def _plain(self, n: int) -> None:
        self._world.step(n)

    def _grip(self, origin: NDArray[Any], direction: NDArray[Any]) -> Pull | None:
        world = self._world
        places, turns = self._places()
        found = []
        for k in range(self._count):
            q = world._core.state(k)[4]
            hit = skin_hit(self._skin(k), Pose(places[k], turns[k]), q, origin, direction)
            if hit is not None:
                found.append((*hit, k))
        if not found:
            return None
        _, point, rest, rows, k = min(found, key=lambda hit: hit[0])
        body = world.bodies[k]
        spring = free_spring(body.rigid_body.mass, body.reduced.mesh.nodes, self._given)
        return FreePull(world._core, k, point, rest, rows, spring)
