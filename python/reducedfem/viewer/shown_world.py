"""Views of worlds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.contact.dimple import Dimple, fine_surface, surface_of
from reducedfem.contact.field import Field
from reducedfem.contact.local import LocalCompliance
from reducedfem.contact.shape_field import PlaneField
from reducedfem.errors import InputError, ReducedFEMError
from reducedfem.geometry.pose import Pose
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.skin import Skin
from reducedfem.viewer.parts import GREY, Body, Scene, origins, split, split_surface
from reducedfem.viewer.shown import Frame
from reducedfem.viewer.shown_contact import field_surface, plane_surface
from reducedfem.viewer.shown_driven import FreePull, Pull, ShownDriven, free_spring
from reducedfem.viewer.shown_motion import skin_body, skin_hit, skin_of
from reducedfem.world.world import World

__all__ = ["Dent", "ShownWorld", "ground_body"]

_COLOURS = (
    (0.55, 0.70, 0.82), (0.92, 0.72, 0.50), (0.62, 0.79, 0.60), (0.86, 0.60, 0.57),
    (0.74, 0.68, 0.85), (0.80, 0.72, 0.60),
)  # fmt: skip
_GROUND = (0.80, 0.81, 0.83)
_WIDE = 1.5  # half the side of the square of a plane ground, over the diagonal of the bodies
_INSIDE = 0.8  # part of it within which the bodies lie, or another one is drawn
_STILL = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


_Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Dent:
    """A dimple of a body in the scene: numbers there and in the world, and its core, if any."""

    shown: int
    number: int
    dimple: Dimple
    core: Body | None

    def frame(self, u: NDArray[np.float64]) -> dict[str, Any]:
        """Return what moves the vertices of the body."""
        found = {"body": self.shown, **self.dimple.frame(u)}
        if self.core is not None:
            still = np.zeros_like(self.core.vertices)
            found["moved"] = np.concatenate([still, found["moved"]])
            found["normals"] = np.concatenate([_normals(self.core), found["normals"]])
        return found


def ground_body(ground: Field | None, box: NDArray[np.float64], wide: float = _WIDE) -> Body | None:
    """Return the ground under a box; None: there is none, or it is infinite and no plane."""
    if ground is None:
        return None
    try:
        surface = (
            plane_surface(ground, box.mean(axis=0), wide * float(np.linalg.norm(box[1] - box[0])))
            if isinstance(ground, PlaneField)
            else field_surface(ground)
        )
    except ReducedFEMError:
        return None
    source, triangles, normals = split(surface)
    return Body(
        "ground", surface.vertices[source], triangles, normals, colour=_GROUND, backdrop=True
    )


class _Floor:
    """A plane ground, drawn as a square that follows the bodies."""

    def __init__(
        self, number: int, field: PlaneField, body: Body, radii: NDArray[np.float64]
    ) -> None:
        self._number, self._field, self._body, self._radii = number, field, body, radii
        self._square = body.vertices

    def frame(self, centres: NDArray[np.float64]) -> dict[str, Any]:
        """Return what moves the vertices of the square."""
        middle = self._square.mean(axis=0)
        sides = 0.5 * (self._square[[1, 3]] - self._square[0])
        part = (centres - middle) @ sides.T / (sides**2).sum(axis=1)
        if (np.abs(part) > _INSIDE).any():
            radii = self._radii[:, None]
            box = np.array([(centres - radii).min(axis=0), (centres + radii).max(axis=0)])
            ground = ground_body(self._field, box)
            assert ground is not None
            self._square = ground.vertices
        moved = self._square - self._body.vertices
        return {"body": self._number, "moved": moved, "normals": _normals(self._body)}


def _normals(body: Body) -> NDArray[np.float64]:
    assert body.normals is not None
    return body.normals


def _layer(local: LocalCompliance, name: str, colour: _Colour) -> Body:
    """Return the solid of a local compliance."""
    mesh = local.solid.mesh
    surface, _, normals = split_surface(mesh, surface_of(mesh, local))
    return Body(name, surface.vertices, surface.triangles, normals, colour=colour)


def _joined(core: Body, layer: Body) -> Body:
    """Return a core with a layer that its coordinates do not move."""
    assert core.shapes is not None
    assert core.tilts is not None
    still = np.zeros((len(core.shapes), *layer.vertices.shape))
    return replace(
        core,
        vertices=np.concatenate([core.vertices, layer.vertices]),
        triangles=np.concatenate(
            [core.triangles, layer.triangles + np.int32(len(core.vertices))], dtype=np.int32
        ),
        normals=np.concatenate([_normals(core), _normals(layer)]),
        shapes=np.concatenate([core.shapes, still], axis=1),
        tilts=np.concatenate([core.tilts, still], axis=1),
    )


class ShownWorld(ShownDriven):
    """A world, which a page can run in real time."""

    def __init__(self, world: World, up: str, stiffness: float | None) -> None:
        if not (len(world) or world.fixed):
            raise InputError("x is a World without bodies: add some first")
        self._world, self._up = world, up
        self._count = len(world)
        super().__init__(world.dt, playing=False)
        self._given = stiffness
        # one of each model, and of each model with a local compliance
        self._locals = [world._locals.get(k) for k in range(self._count)]
        self._skins: dict[tuple[ReducedSolid, LocalCompliance | None], Skin] = {}
        self._fixed = tuple(world._fixed_at)
        self._rest = np.reshape([body.rigid_body.centre for body in world.bodies], (-1, 3))
        for k, one in enumerate(world.bodies):
            key = one.reduced, self._locals[k]
            if key not in self._skins:
                own = None if key[1] is None else fine_surface(key[1])
                self._skins[key] = skin_of(one.reduced, own)
        self.dents: tuple[Dent, ...] = ()  # of bodies, then of fixed ones, in the last scene
        self._floor: _Floor | None = None
        boxes = [np.ptp(body.reduced.mesh.nodes, axis=0) for body in world.bodies]
        self._radii = np.array([0.5 * np.linalg.norm(box) for box in boxes])

    def _skin(self, k: int) -> Skin:
        return self._skins[self._world.bodies[k].reduced, self._locals[k]]

    def _places(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the poses of the frames of the meshes: origins (n, 3), rotations (n, 4)."""
        positions, turns, *_ = self._world._core.motion()
        n = self._count
        return origins(positions[:n], turns[:n], self._rest), turns[:n]

    def _yielding(self, k: int, local: LocalCompliance, colour: _Colour) -> tuple[Body, Dent]:
        """Return a body with a local compliance: its skin, or its core and the layer on it."""
        skin = skin_body(self._skin(k), f"body {k}", colour)
        if local.tree.reduced is not None:
            return skin, Dent(k, k, Dimple(local, skin), None)
        layer = _layer(local, "layer", colour)
        return _joined(skin, layer), Dent(k, k, Dimple(local, layer), skin)

    def _layer_nodes(self) -> list[NDArray[np.float64]]:
        """Return the nodes of the layers on cores, in the world."""
        places, turns = self._places()
        return [
            Pose(places[k], turns[k]).apply(local.solid.mesh.nodes)
            for k, local in enumerate(self._locals)
            if local is not None and local.tree.reduced is None
        ]

    def _fixed_bodies(self) -> Iterator[tuple[Body, Dent]]:
        """Yield the fixed bodies in the frames of their meshes."""
        known: dict[LocalCompliance, tuple[Body, Dimple]] = {}
        for j, (local, _) in enumerate(self._fixed):
            if local not in known:
                layer = _layer(local, "layer", GREY)
                known[local] = layer, Dimple(local, layer)
            layer, dimple = known[local]
            yield (
                replace(layer, name=f"fixed body {-2 - j}"),
                Dent(self._count + j, -2 - j, dimple, None),
            )

    def scene(self) -> Scene:
        """Return the scene."""
        scene, self.dents, self._floor = self._built()
        return scene

    def _built(self) -> tuple[Scene, tuple[Dent, ...], _Floor | None]:
        """Return a scene, and what yields and follows the bodies in its frames."""
        world = self._world
        first: dict[ReducedSolid, int] = {}
        bodies: list[Body] = []
        dents: list[Dent] = []
        for k, one in enumerate(world.bodies[: self._count]):
            colour, local = _COLOURS[k % len(_COLOURS)], self._locals[k]
            if local is not None:
                body, dent = self._yielding(k, local, colour)
                bodies.append(body)
                dents.append(dent)
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
        for body, dent in self._fixed_bodies():
            bodies.append(body)
            dents.append(dent)
        nodes = np.concatenate(
            [world.nodes(k) for k in range(self._count)]
            + [at.apply(local.solid.mesh.nodes) for local, at in self._fixed]
            + self._layer_nodes()
        )
        box = np.array([nodes.min(axis=0), nodes.max(axis=0)])
        ground = ground_body(world.ground, box)
        floor: _Floor | None = None
        if ground is not None:
            bodies.append(ground)
            if isinstance(world.ground, PlaneField):
                floor = _Floor(len(bodies) - 1, world.ground, ground, self._radii)
        bodies_shown = f"{self._count:,} {'body' if self._count == 1 else 'bodies'}"
        if self._fixed:
            bodies_shown += f", {len(self._fixed):,} fixed"
        texts = (f"{bodies_shown}, dt = {world.dt:g} s",)
        scene = Scene(
            "World", tuple(bodies), up=self._up, controls=True, pulls=True, texts=texts, box=box
        )
        return scene, tuple(dents), floor

    def frame(self) -> Frame:
        """Return the state."""
        return self._state(self.dents, self._floor)

    def _state(self, dents: tuple[Dent, ...], floor: _Floor | None) -> Frame:
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
        moved, every = self._moved(dents), np.column_stack([places, turns])
        if floor is not None:
            moved.append(floor.frame(world.positions[: self._count]))
            every = np.concatenate([every, [_STILL]])
        return {
            **self._frame([], numbers),
            "places": every,
            "coordinates": np.concatenate([np.empty(0), *world.q[: self._count]]),
            "dimples": moved,
        }

    def _moved(self, dents: tuple[Dent, ...]) -> list[dict[str, Any]]:
        """Return what moves the vertices of bodies with a dimple."""
        found = []
        for one in dents:
            u = self._world.dimple(one.number)
            if u.any():
                found.append(one.frame(u))
        return found

    def saved(self) -> Scene:
        """Return the scene of a file: bodies where they are now."""
        # not the scene of the pages, whose ground stays where it is
        scene, own, floor = self._built()
        frame = self._state(own, floor)
        dents = {one["body"]: one["moved"] for one in frame["dimples"]}
        bodies = list(scene.bodies)
        at = 0
        for k, place in enumerate(frame["places"]):
            one = scene.bodies[k]
            source = one if one.like is None else scene.bodies[one.like]
            r = 0 if source.shapes is None else len(source.shapes)
            q = frame["coordinates"][at : at + r]
            at += r
            bent = source.vertices + dents.get(k, 0.0)
            if source.shapes is not None:
                bent = bent + np.tensordot(q, source.shapes, 1)
            vertices = Pose(place[:3], place[3:]).apply(bent)
            normals = _core.surface_normals(vertices, source.triangles)
            bodies[k] = Body(
                one.name,
                vertices,
                source.triangles,
                normals,
                colour=one.colour,
                backdrop=one.backdrop,
            )
        return replace(scene, bodies=tuple(bodies))

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
