"""Views of control elements, by sliders for the poses of their handles, and of composite bodies."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.errors import InputError
from reducedfem.green.composite import CompositeBody
from reducedfem.green.control import FAR_TURN, LEAST_RADIUS, MOST_TURN, ControlElements
from reducedfem.viewer.parts import Body, Marks, Scene, fixed_nodes, split_surface, surface_tilts
from reducedfem.viewer.shown import Frame, Shown, unit_scales
from reducedfem.viewer.shown_geometry import mesh_body

__all__ = ["ShownBlocks", "ShownHandles"]

_NAMES = tuple(f"{kind} {x}" for kind in ("shift", "turn") for x in "xyz")
_SHIFT = 0.2  # at the end of a slider, of the diagonal of the body
_TURN = 150.0  # degrees
_MOST = 180.0  # of a rotation vector: beyond, it is that of another turn
_IDLE = 0.1  # s between frames while nothing moves
_STIR = 1.0  # s after a motion with frames at the usual rate
# of handles in turn, apart for colour-blind eyes too (Okabe and Ito, 2008); fixed nodes are red
_COLOURS = (
    (0.00, 0.45, 0.70), (0.90, 0.62, 0.00), (0.80, 0.47, 0.65), (0.00, 0.62, 0.45),
    (0.94, 0.89, 0.26), (0.34, 0.71, 0.91),
)  # fmt: skip

Reals = NDArray[np.float64]


def _quaternion(vector: Reals) -> Reals:
    """Return the quaternion (w, x, y, z) of a rotation vector [rad]."""
    half = 0.5 * float(np.linalg.norm(vector))
    return np.append(np.cos(half), 0.5 * np.sinc(half / np.pi) * vector)


class ShownHandles(Shown):
    """Control elements, whose handles pages shift and turn.

    Coordinates are shifts [m] and rotation vectors [degrees] of the handles. Files have the linear
    solution of both.
    """

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
        mesh = solid.mesh
        self._surface, self._source, self._normals = split_surface(mesh, mesh.surface())
        self._places = np.searchsorted(control.nodes, mesh.boundary_nodes[self._source])
        self._lock = threading.Lock()
        self._stirred = -np.inf  # time of the last motion [s]
        h, size = (
            len(control.handles),
            float(np.linalg.norm(np.ptp(self._surface.vertices, axis=0))),
        )
        self._ends = np.tile([_SHIFT * size] * 3 + [_TURN] * 3, h)
        self._q: Reals = np.zeros((h, len(_NAMES)))
        self._state: dict[str, Any] = self._moved(self._q)

    @property
    def period(self) -> float:
        """Time between two frames [s]."""
        return super().period if time.monotonic() < self._stirred + _STIR else _IDLE

    def _moved(self, q: Reals) -> dict[str, Any]:
        """Return the frame of coordinates.

        `InputError` of those beyond the radius of a series, and of turns by more than 180 degrees.
        """
        control, surface = self._control, self._surface
        turns = np.linalg.norm(q[:, 3:], axis=1)
        k = int(turns.argmax())
        if turns[k] > _MOST:
            raise InputError(
                f"the sliders turn handle {k} by {turns[k]:.0f}°, allowed are {_MOST:.0f}° about "
                "the axis of all three: move another one back first"
            )
        c = np.concatenate([
            control.parameters(k, control.means[k] + one[:3], _quaternion(np.radians(one[3:])))
            for k, one in enumerate(q)
        ])  # fmt: skip
        u, (turn, degrees, *_) = control._core.displacement(c, True)
        moved = u[self._places]
        normals = _core.surface_normals(surface.vertices + moved, surface.triangles)
        numbers: list[tuple[str, float | str, str]] = []
        if turn > FAR_TURN:
            numbers = [("turned from each other", degrees, "°"), ("order 1", "wrong by tenths", "")]
        if turn > MOST_TURN:
            numbers.append(("forces", "none: turned too far", ""))
        else:
            _, wrench, _, radius = control._core.forces(c, True, True)
            good = wrench if radius >= LEAST_RADIUS else np.zeros((0, 6))
            if not len(good):
                numbers.append(("forces", "none: the series is too inexact", ""))
            for k, one in enumerate(good):
                numbers.append((f"force on handle {k}", float(np.linalg.norm(one[:3])), "N"))
                numbers.append((f"torque on handle {k}", float(np.linalg.norm(one[3:])), "N m"))
        body = {"moved": moved, "normals": normals}
        return {
            "bodies": [body], "arrows": [], "numbers": numbers, "note": "", "amounts": q.ravel()
        }  # fmt: skip

    def frame(self) -> Frame:
        """Return the solution for the present poses of the handles."""
        with self._lock:
            return self._state

    def command(self, message: Mapping[str, Any]) -> None:
        """Move a handle, or all of them back."""
        with self._lock:
            q = self._q.copy()
            if message["kind"] == "reset":
                q[:] = 0.0
            elif message["kind"] == "shape" and message["shape"] < q.size:
                most = self._ends[message["shape"]]
                q.reshape(-1)[message["shape"]] = np.clip(message["value"], -most, most)
            else:
                return
            self._stirred = time.monotonic()
            try:
                self._state = self._moved(q)
                self._q = q
            except InputError as error:
                self._state = {**self._state, "note": str(error)}

    def scene(self) -> Scene:
        """Return the scene."""
        control, mesh, surface = self._control, self._solid.mesh, self._surface
        h = len(control.handles)
        body = Body(
            "handles",
            surface.vertices,
            surface.triangles,
            self._normals,
            colour=None,
            labels=tuple(f"handle {k}: {name}" for k in range(h) for name in _NAMES),
            ends=self._ends,
            units=("m", "m", "m", "°", "°", "°") * h,
        )
        texts = (f"{h} handles, {mesh.n_nodes:,} nodes", f"solution of order {control.order}")
        marks = (*fixed_nodes(mesh, self._solid.fixed), *map(self._marks, range(h)))
        return Scene("Control elements", (body,), marks, up=self._up, resets=True, poses=True,
                     texts=texts)  # fmt: skip

    def _marks(self, k: int) -> Marks:
        nodes = self._control.handles[k]
        owners = self._solid.mesh.boundary_nodes[self._source]
        seen, vertices = np.unique(owners, return_index=True)
        own = vertices[np.isin(seen, nodes)].astype(np.int32)
        name = f"handle {k}: {len(nodes):,} nodes"
        return Marks(name, self._surface.vertices[own], _COLOURS[k % len(_COLOURS)], own)

    def saved(self) -> Scene:
        """Return the scene of a file, whose sliders move the linear solution."""
        scene, n = self.scene(), self._q.size
        (body,) = scene.bodies
        c = np.zeros((n, n // len(_NAMES), 12))
        for k in range(n):
            handle, j = divmod(k, len(_NAMES))
            if j < 3:
                c[k, handle, j] = 1.0
            else:
                c[k, handle, 3:] = np.radians(np.cross(np.eye(3)[j - 3], np.eye(3)).T).ravel()
        shapes = np.array([self._control.displacement(one, None)[self._places] for one in c])
        body = dataclasses.replace(
            body,
            shapes=shapes,
            tilts=surface_tilts(body.vertices, body.triangles, shapes),
            scales=unit_scales(shapes),
        )
        texts = (scene.texts[0], "linear solution, for small turns")
        return dataclasses.replace(scene, bodies=(body,), texts=texts)


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
