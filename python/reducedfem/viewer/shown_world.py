"""Views of worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.contact.shape_field import PlaneField
from reducedfem.errors import InputError, ReducedFEMError
from reducedfem.geometry.pose import Pose
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.viewer.parts import Body, Scene, origins, split
from reducedfem.viewer.shown import Frame
from reducedfem.viewer.shown_contact import field_surface, plane_surface
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
        # one of each model
        self._skins = {one.reduced: skin_of(one.reduced) for one in world.bodies}
        self._rest = np.array([body.rigid_body.centre for body in world.bodies])

    def _places(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of the frames of the meshes: origins (n, 3), rotations (n, 4)."""
        positions, turns, *_ = self._world._core.motion()
        n = self._count
        return origins(positions[:n], turns[:n], self._rest), turns[:n]

    def scene(self) -> Scene:
        """Return the scene."""
        world = self._world
        first: dict[ReducedSolid, int] = {}
        bodies: list[Body] = []
        for k, one in enumerate(world.bodies[: self._count]):
            colour = _COLOURS[k % len(_COLOURS)]
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
            bodies.append(skin_body(self._skins[one.reduced], f"body {k}", colour))
        nodes = np.concatenate([world.nodes(k) for k in range(self._count)])
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
        texts = (f"{bodies_shown}, dt = {world.dt:g} s",)
        return Scene(
            "World", tuple(bodies), up=self._up, controls=True, pulls=True, texts=texts, box=box
        )

    def frame(self) -> Frame:
        """Return the state."""
        world = self._world
        places, turns = self._places()
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
        }

    def _plain(self, n: int) -> None:
        self._world.step(n)

    def _grip(self, origin: NDArray[Any], direction: NDArray[Any]) -> Pull | None:
        world = self._world
        places, turns = self._places()
        found = []
        for k, one in enumerate(world.bodies[: self._count]):
            q = world._core.state(k)[4]
            hit = skin_hit(
                self._skins[one.reduced], Pose(places[k], turns[k]), q, origin, direction
            )
            if hit is not None:
                found.append((*hit, k))
        if not found:
            return None
        _, point, rest, rows, k = min(found, key=lambda hit: hit[0])
        body = world.bodies[k]
        spring = free_spring(body.rigid_body.mass, body.reduced.mesh.nodes, self._given)
        return FreePull(world._core, k, point, rest, rows, spring)
