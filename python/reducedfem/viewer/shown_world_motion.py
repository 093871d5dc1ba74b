"""Views of recorded motions of worlds, which pages play; pictures of worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.run import callback
from reducedfem.drawing.render import DRAWERS, Shape
from reducedfem.drawing.values import Scale
from reducedfem.geometry.pose import Pose
from reducedfem.pictures.animation import FILMERS
from reducedfem.pictures.worlds import check_world_motion
from reducedfem.viewer.parts import Body, Clip, Scene, Track, origins
from reducedfem.viewer.recorded_dimples import lost_text, with_shapes
from reducedfem.viewer.recorded_forces import unit_shapes
from reducedfem.viewer.shown import Shown
from reducedfem.viewer.shown_world import ShownWorld, ground_body
from reducedfem.world.recorded import WorldMotion
from reducedfem.world.world import World

__all__ = ["ShownWorldMotion", "world_shapes"]

_SAMPLES = 200  # states from which shapes of dimples are made
_UNDER = 0.55  # half the side of the ground in a picture, over the diagonal of the bodies
_AROUND = 0.1  # ground that a picture shows beside them, over the same

Reals = NDArray[np.float64]


class ShownWorldMotion(Shown):
    """A recorded motion of a world, which pages play."""

    def __init__(self, world: World, motion: Any, up: str) -> None:
        self._motion = check_world_motion(motion, world)
        self._world, self._shown = world, ShownWorld(world, up, None)

    def _places(self, k: int) -> Reals:
        """Return the frame of body k in each state, (s, 7)."""
        poses = self._motion.bodies[k].poses
        assert poses is not None
        begins = origins(poses[:, :3], poses[:, 3:], self._world.bodies[k].rigid_body.centre)
        return np.column_stack([begins, poses[:, 3:]])

    def _box(self, scene: Scene, tracks: dict[int, Track]) -> Reals:
        """Return the box of all bodies along the motion."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for k, track in tracks.items():
            body = scene.bodies[k]
            rest = body if body.like is None else scene.bodies[body.like]
            ends = np.array([rest.vertices.min(axis=0), rest.vertices.max(axis=0)])
            middle, radius = ends.mean(axis=0), 0.5 * float(np.linalg.norm(ends[1] - ends[0]))
            assert track.places is not None
            path = -origins(-track.places[:, :3], track.places[:, 3:], middle)
            low = np.minimum(low, path.min(axis=0) - radius)
            high = np.maximum(high, path.max(axis=0) + radius)
        return np.array([low, high])

    def scene(self) -> Scene:
        """Return the scene."""
        world, motion = self._world, self._motion
        scene, n = self._shown.scene(), len(world)
        bodies = list(scene.bodies)
        tracks = {k: Track(k, motion.bodies[k].q, self._places(k)) for k in range(n)}
        for j, (_, at) in enumerate(world._fixed_at):
            place = np.concatenate([at.position, at.quaternion])
            tracks[n + j] = Track(n + j, None, np.tile(place, (len(motion), 1)))
        texts = [scene.texts[0], f"{len(motion):,} state{'s' * (len(motion) > 1)}"]
        with callback(self.progress, "dimples") as tell:
            for done, dent in enumerate(self._shown.dents, 1):
                u = motion.dimples.get(dent.number)
                if u is not None and u.any():
                    q, shapes, lost = _shapes_of(u)
                    texts += lost_text(bodies[dent.shown].name, lost)
                    bodies[dent.shown] = with_shapes(bodies[dent.shown], dent, shapes)
                    own = tracks[dent.shown].q
                    q = q if own is None else np.column_stack([own, q])
                    tracks[dent.shown] = replace(tracks[dent.shown], q=q)
                if tell is not None:
                    tell(done, len(self._shown.dents))
        box = self._box(scene, tracks)
        ground = ground_body(world.ground, box)
        if ground is not None:
            bodies[-1] = ground
        return replace(
            scene,
            title="Motion of a world",
            bodies=tuple(bodies),
            controls=False,
            pulls=False,
            clip=Clip(motion.times, tuple(tracks.values())),
            texts=tuple(texts),
            box=box,
            whole=True,
        )


def _shapes_of(u: Reals) -> tuple[Reals, Reals, float]:
    """Return coordinates (s, r) and shapes (r, n, 3) of dimples, and the part they leave out."""
    some = u[:: -(-len(u) // _SAMPLES)]
    shapes = unit_shapes(some)
    q = np.einsum("snc,rnc->sr", u, shapes)
    lost = u - np.tensordot(q, shapes, 1)
    return q, shapes, float(np.linalg.norm(lost) / max(float(np.linalg.norm(u)), 1e-300))


def _on_ground(scene: Scene, world: World) -> tuple[tuple[Body, ...], Reals]:
    """Return the bodies of a scene with a small ground, and points of it near them, (n, 3)."""
    assert scene.box is not None
    ground = ground_body(world.ground, scene.box, _UNDER)
    if ground is None:
        return scene.bodies, np.zeros((0, 3))
    low, high = scene.box
    around = _AROUND * float(np.linalg.norm(high - low))
    near = np.clip(ground.vertices, low - around, high + around)
    return (*scene.bodies[:-1], ground), near


class _Joined:
    """Bodies as one surface: those that have their geometry, triangles, colours.

    The first `count` of its vertices are not those of a ground.
    """

    def __init__(self, bodies: Sequence[Body]) -> None:
        self.sources = [one if one.like is None else bodies[one.like] for one in bodies]
        counts = [len(one.vertices) for one in self.sources]
        begins = np.cumsum([0, *counts])
        faces = [one.triangles + at for one, at in zip(self.sources, begins, strict=False)]
        self.triangles = np.concatenate(faces).astype(np.int32)
        self.colours = np.repeat(np.array([one.colour for one in bodies]), counts, axis=0)
        self.count = sum(n for n, one in zip(counts, bodies, strict=True) if not one.backdrop)


def world_shapes(world: World) -> tuple[list[Shape], NDArray[np.int32], Reals]:
    """Return the bodies of a world, in their present state, as of `DRAWERS`."""
    bodies, near = _on_ground(ShownWorld(world, "z", None).saved(), world)
    joined = _Joined(bodies)
    vertices = np.concatenate([one.vertices for one in bodies])
    points = np.concatenate([vertices[: joined.count], near])
    return [Shape(vertices, joined.colours)], joined.triangles, points


class _WorldFilm:
    """Bodies of a world along a motion, in the colours of views."""

    def __init__(self, world: World, motion: WorldMotion) -> None:
        scene = ShownWorldMotion(world, motion, "z").scene()
        assert scene.clip is not None
        bodies, self._near = _on_ground(scene, world)
        self._joined = _Joined(bodies)
        self._tracks = {one.body: one for one in scene.clip.tracks}
        self._count = len(motion)
        self.triangles = self._joined.triangles
        self.scale: Scale | None = None

    def _place(self, k: int, s: int) -> Reals:
        body, track = self._joined.sources[k], self._tracks.get(k)
        if track is None:
            return body.vertices
        bent = body.vertices
        if track.q is not None:
            assert body.shapes is not None
            bent = bent + np.tensordot(track.q[s], body.shapes, 1)
        assert track.places is not None
        return Pose(track.places[s, :3], track.places[s, 3:]).apply(bent)

    def places(self) -> Iterator[Reals]:
        for s in range(self._count):
            yield np.concatenate([self._place(k, s) for k in range(len(self._joined.sources))])

    def framed(self, places: Reals) -> Reals:
        return np.concatenate([places[: self._joined.count], self._near])

    def colours(self, k: int) -> Reals:
        del k  # they stay
        return self._joined.colours


DRAWERS[World] = world_shapes
FILMERS[World] = _WorldFilm
