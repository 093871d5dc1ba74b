"""Views of recorded motions, which pages play."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.drawing.values import scale_of
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import InputError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.pose import Pose
from reducedfem.pictures.subject import Subject, check_motion
from reducedfem.pictures.values import GivenValues, SurfaceValues
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid
from reducedfem.viewer.painted import legend, levels
from reducedfem.viewer.parts import (
    GREY,
    Body,
    Clip,
    Marks,
    Scene,
    Track,
    fixed_nodes,
    origins,
    split_surface,
    surface_tilts,
)
from reducedfem.viewer.shown import Shown
from reducedfem.viewer.shown_motion import skin_body, skin_of

__all__ = ["Moving", "ShownMotion"]

Moving = ReducedSolid | ProjectedSolid | Solid | Mesh
_MOST_STATES = 2048  # layers of a texture in common browsers
_MOST_COLOURS = 100_000_000  # bytes, of a state and vertex each; their values take eight times that


class ShownMotion(Shown):
    """A recorded motion of a model, a solid or a mesh, which pages play."""

    def __init__(
        self, model: Moving, motion: Motion, up: str, values: GivenValues | None = None
    ) -> None:
        self._motion, self._model, self._up = check_motion(motion, model), model, up
        if motion.q.ndim == 3 and len(motion) > _MOST_STATES:
            raise InputError(
                f"motion has {len(motion)} states of displacements, and pages play {_MOST_STATES} "
                f"at most: pass motion[::{-(-len(motion) // _MOST_STATES)}]"
            )
        if isinstance(model, ReducedSolid):
            self._subject = Subject(skin_of(model), None, motion)
        elif isinstance(model, Mesh):
            self._subject = Subject(model, split_surface(model, model.surface())[0], motion)
        else:
            self._subject = Subject(model, split_surface(model.mesh)[0], motion)
        self._levels: NDArray[np.uint8] | None = None
        if values is not None:
            self._paint(SurfaceValues(values, self._subject))

    def _paint(self, values: SurfaceValues) -> None:
        """Evaluate the colours of all states."""
        if values.single is not None:
            scale = values.scale()
            self._levels = levels(scale, values.single)
        else:
            m, v = len(self._motion), values.n_vertices
            if m * v > _MOST_COLOURS:
                part = f"[::{-(-m * v // _MOST_COLOURS)}]"
                also = "" if callable(values.values.data) else f" and values{part}"
                raise InputError(
                    f"motion has {m:,} states of {v:,} vertices, whose colours take "
                    f"{1e-6 * m * v:.0f} MB, and pages take {1e-6 * _MOST_COLOURS:.0f} MB at most: "
                    f"pass motion{part}{also}"
                )
            states = [values.state(k) for k in range(m)]
            scale = scale_of(values.values, states)
            self._levels = np.stack([levels(scale, one) for one in states])
        self._legend = legend(scale)

    def _body(self) -> Body:
        subject, motion = self._subject, self._motion
        if motion.q.ndim == 2 and subject.skin is not None:
            return skin_body(subject.skin)
        rest, triangles = subject.surface.vertices, subject.surface.triangles
        if motion.q.ndim == 2:
            assert isinstance(subject.model, ProjectedSolid)
            shapes = np.array([subject.at_vertices(one) for one in subject.model.basis])
            tilts = surface_tilts(rest, triangles, shapes)
        else:
            # the states are the shapes, and their normals exact
            shapes = np.array([subject.deformation(k) for k in range(len(motion))])
            tilts = np.array([_core.surface_normals(rest + u, triangles) for u in shapes])
            tilts -= _core.surface_normals(rest, triangles)
        normals = _core.surface_normals(rest, triangles)
        return Body("model", rest, triangles, normals, shapes=shapes, tilts=tilts, colour=None)

    def _marks(self) -> tuple[Marks, ...]:
        model = self._model
        if isinstance(model, Mesh):
            return ()
        fixed = model._fixed_nodes if isinstance(model, ProjectedSolid) else model.fixed
        return fixed_nodes(model.mesh, fixed, carried=True)

    def scene(self) -> Scene:
        """Return the scene."""
        motion, body = self._motion, self._body()
        places = over_time = box = None
        if motion.poses is not None and self._subject.centre is not None:
            turns = motion.poses[:, 3:]
            begins = origins(motion.poses[:, :3], turns, self._subject.centre)
            places = np.column_stack([begins, turns])
            seen = Pose(begins[0], turns[0]).apply(self._subject.surface.vertices)
            box = np.array([seen.min(axis=0), seen.max(axis=0)])
        if self._levels is not None:
            still = self._levels.ndim == 1
            over_time = None if still else self._levels
            first = self._levels if still else self._levels[0]
            body = replace(body, colour=GREY, levels=first, legend=self._legend)
        reduced = f"{motion.q.shape[1]} coordinates, " if motion.q.ndim == 2 else ""
        q = motion.q if motion.q.ndim == 2 else np.eye(len(motion))
        return Scene(
            "Motion",
            (body,),
            self._marks(),
            up=self._up,
            clip=Clip(motion.times, (Track(0, q, places),), levels=over_time),
            texts=(f"{reduced}{len(motion):,} state{'s' * (len(motion) > 1)}",),
            box=box,
        )
