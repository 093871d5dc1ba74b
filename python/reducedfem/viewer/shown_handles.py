"""Views of control elements, by sliders for the poses of their handles, and of composite bodies."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import silenced
from reducedfem.errors import ConvergenceError, InputError, SingularMatrixError
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.surface import Surface
from reducedfem.green.composite import CompositeBody
from reducedfem.green.control import ControlElements
from reducedfem.green.plausible import FAR_TURN, LEAST_RADIUS, MOST_TURN
from reducedfem.viewer.parts import Body, Marks, Scene, fixed_nodes, split, surface_tilts
from reducedfem.viewer.shown import Frame, Shown, unit_scales
from reducedfem.viewer.shown_geometry import blocks_body
from reducedfem.viewer.workers import Worker

__all__ = ["HandledView", "ShownBlocks", "ShownHandles"]

_NAMES = tuple(f"{kind} {x}" for kind in ("shift", "turn") for x in "xyz")
_SHIFT = 0.2  # at the end of a slider, of the diagonal of the body
_TURN = 150.0  # degrees
_MOST = 180.0  # of a rotation vector: beyond, it is that of another turn
_IDLE = 0.1  # s between frames while nothing moves
_STIR = 1.0  # s after a motion with frames at the usual rate
_MOST_HANDLES = 32  # with sliders
SOLVING = "solving"  # note of frames that are older than the sliders
# of handles in turn, apart for colour-blind eyes too (Okabe and Ito, 2008); fixed nodes are red
_COLOURS = (
    (0.00, 0.45, 0.70), (0.90, 0.62, 0.00), (0.80, 0.47, 0.65), (0.00, 0.62, 0.45),
    (0.94, 0.89, 0.26), (0.34, 0.71, 0.91),
)  # fmt: skip

Reals = NDArray[np.float64]
Numbers = list[tuple[str, float | str, str]]  # name, value and unit


def _outwards(x: Reals) -> Reals:
    """Return the directions of points from their middle, (n, 3)."""
    arms = x - x.mean(axis=0)
    return np.asarray(arms / np.maximum(np.linalg.norm(arms, axis=1), 1e-300)[:, None])


def _quaternion(vector: Reals) -> Reals:
    """Return the quaternion (w, x, y, z) of a rotation vector [rad]."""
    half = 0.5 * float(np.linalg.norm(vector))
    return np.append(np.cos(half), 0.5 * np.sinc(half / np.pi) * vector)


class HandledView(Shown):
    """A body whose handles, sets of nodes, pages shift and turn.

    Coordinates are shifts [m] and rotation vectors [degrees] of the handles. A thread solves for
    the newest ones, and leaves out those that came before; frames do not wait for it.
    """

    _drawn: Body

    def __init__(self, handles: Sequence[NDArray[Any]], means: Reals, size: float) -> None:
        self._handles, self._means = handles, means
        self._lock = threading.Lock()
        self._stirred = -np.inf  # time of the last motion [s]
        self._ends = np.tile([_SHIFT * size] * 3 + [_TURN] * 3, len(handles))
        # coordinates of the last frame, and wanted ones
        self._q: Reals = np.zeros((len(handles), len(_NAMES)))
        self._wanted = self._q
        self._state: dict[str, Any] | None = None
        self._worker: Worker | None = None
        self._ended = False

    def _solution(self, q: Reals) -> tuple[Reals, Numbers, str]:
        """Return displacements of the vertices, (v, 3), numbers, a note; InputError: none."""
        raise NotImplementedError

    @property
    def period(self) -> float:
        """Time between two frames [s]."""
        return super().period if time.monotonic() < self._stirred + _STIR else _IDLE

    def _moved(self, q: Reals) -> dict[str, Any]:
        """Return the frame of coordinates; InputError: there is no solution."""
        turns = np.linalg.norm(q[:, 3:], axis=1)
        k = int(turns.argmax())
        if turns[k] > _MOST:
            raise InputError(
                f"the sliders turn handle {k} by {turns[k]:.0f}°, allowed are {_MOST:.0f}° about "
                "the axis of all three: move another one back first"
            )
        body, (moved, numbers, note) = self._drawn, self._solution(q)
        normals = body.normals
        if len(body.triangles):
            normals = _core.surface_normals(body.vertices + moved, body.triangles)
        bodies = [{"moved": moved, "normals": normals}]
        return {
            "bodies": bodies, "arrows": [], "numbers": numbers, "note": note, "amounts": q.ravel()
        }  # fmt: skip

    def frame(self) -> Frame:
        """Return the last solution."""
        with self._lock:
            if self._worker is None:
                return self._last()
            # sliders stay where they are meanwhile
            return {**self._last(), "note": SOLVING, "amounts": self._wanted.ravel()}

    def _last(self) -> dict[str, Any]:
        if self._state is None:
            self._state = self._moved(self._q)
        return self._state

    def end(self) -> None:
        """Leave out what is not solved yet."""
        self._ended = True

    def command(self, message: Mapping[str, Any]) -> None:
        """Move a handle, or all of them back."""
        with self._lock:
            q = self._wanted.copy()
            if message["kind"] == "reset":
                q[:] = 0.0
            elif message["kind"] == "shape" and message["shape"] < q.size:
                most = self._ends[message["shape"]]
                q.reshape(-1)[message["shape"]] = np.clip(message["value"], -most, most)
            else:
                return
            self._wanted, self._stirred = q, time.monotonic()
            if self._worker is None and not self._ended:
                self._last()
                self._worker = Worker("reducedfem handles", self._solve, self.end)
                self._worker.start()

    def _solve(self) -> None:
        """Solve for the wanted coordinates, until they are those of the last frame."""
        while True:
            q = self._wanted
            try:
                found, note = self._moved(q), ""
            except InputError as error:
                found, note = None, str(error)
            except BaseException:
                with self._lock:
                    self._worker = None
                raise
            with self._lock:
                self._stirred = time.monotonic()
                if found is not None:
                    self._q, self._state = q, found
                else:
                    self._state = {**self._last(), "note": note}
                if self._wanted is q or self._ended:
                    self._wanted, self._worker = self._q, None
                    return

    def _with_sliders(self, body: Body) -> Body:
        h = len(self._handles)
        return replace(
            body,
            labels=tuple(f"handle {k}: {name}" for k in range(h) for name in _NAMES),
            ends=self._ends,
            units=("m", "m", "m", "°", "°", "°") * h,
        )

    def _marks(self, owners: NDArray[Any]) -> tuple[Marks, ...]:
        """Return the nodes of the handles; owners: nodes of the vertices."""
        seen, vertices = np.unique(owners, return_index=True)
        found = []
        for k, nodes in enumerate(self._handles):
            own = vertices[np.isin(seen, nodes)].astype(np.int32)
            name, colour = f"handle {k}: {len(nodes):,} nodes", _COLOURS[k % len(_COLOURS)]
            found.append(Marks(name, self._drawn.vertices[own], colour, own))
        return tuple(found)


def _loads(wrenches: Reals) -> Numbers:
    """Return the sizes of forces [N] and torques [N m] on handles, (h, 6), as numbers."""
    sizes = np.linalg.norm(wrenches.reshape(-1, 2, 3), axis=2).tolist()
    return [
        one
        for k, (force, torque) in enumerate(sizes)
        for one in ((f"force on handle {k}", force, "N"), (f"torque on handle {k}", torque, "N m"))
    ]


class ShownHandles(HandledView):
    """Control elements. Files have the linear solution of the coordinates."""

    def __init__(self, control: ControlElements, up: str) -> None:
        self._control, self._up = control, up
        solid = control.solid
        # exact, where there is a mesh
        x = control.positions if solid is None else solid.mesh.nodes[control.nodes]
        size = float(np.linalg.norm(np.ptp(x, axis=0)))
        if len(control._triangles):
            used, corners = np.unique(control._triangles, return_inverse=True)
            source, triangles, normals = split(Surface(x[used], corners.reshape(-1, 3)))
            self._places, side = used[source], 0.0
        else:
            triangles, normals = np.zeros((0, 3), dtype=np.int32), _outwards(x)
            self._places = np.arange(len(x), dtype=np.int32)
            side = size / float(np.sqrt(len(x)))
        super().__init__(control.handles, control.means, size)
        self._drawn = self._with_sliders(
            Body("handles", x[self._places], triangles, normals, colour=None, size=side)
        )

    def _solution(self, q: Reals) -> tuple[Reals, Numbers, str]:
        control = self._control
        c = np.concatenate([
            control.parameters(k, control.means[k] + one[:3], _quaternion(np.radians(one[3:])))
            for k, one in enumerate(q)
        ])  # fmt: skip
        u, (turn, degrees, *_) = control._core.displacement(c, True)
        numbers: Numbers = []
        if turn > FAR_TURN:
            numbers = [("turned from each other", degrees, "°"), ("order 1", "wrong by tenths", "")]
        if turn > MOST_TURN:
            numbers.append(("forces", "none: turned too far", ""))
        else:
            _, wrench, _, radius = control._core.forces(c, True, True)
            if radius >= LEAST_RADIUS:
                numbers += _loads(wrench)
            else:
                numbers.append(("forces", "none: the series is too inexact", ""))
        return u[self._places], numbers, ""

    def scene(self) -> Scene:
        """Return the scene."""
        control, solid = self._control, self._control.solid
        texts = [
            f"{len(control.handles)} handles, {control._mesh_nodes:,} nodes",
            f"solution of order {control.order}",
        ]
        if not len(self._drawn.triangles):
            texts.append(
                "points only: the file was saved by an earlier version, or with surface_nodes="
            )
        fixed = () if solid is None else fixed_nodes(solid.mesh, solid.fixed)
        marks = (*fixed, *self._marks(control.nodes[self._places]))
        return Scene("Control elements", (self._drawn,), marks, up=self._up, resets=True,
                     poses=True, texts=tuple(texts))  # fmt: skip

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
        tilts = np.zeros_like(shapes)
        if len(body.triangles):
            tilts = surface_tilts(body.vertices, body.triangles, shapes)
        body = replace(body, shapes=shapes, tilts=tilts, scales=unit_scales(shapes))
        texts = (*scene.texts[:1], "linear solution, for small turns", *scene.texts[2:])
        return replace(scene, bodies=(body,), texts=texts)


class ShownBlocks(HandledView):
    """A composite body, by the blocks of its elements.

    Its holdable nodes are handles: those in elements that touch are one. Files have it at rest.
    """

    def __init__(self, body: CompositeBody, up: str) -> None:
        self._body, self._up = body, up
        mesh = body.solid.mesh
        found = _connected(mesh, np.setdiff1d(body._holdable, body.solid.fixed))
        self._groups = len(found)
        handles = found if len(found) <= _MOST_HANDLES else []
        means = np.array([mesh.nodes[one].mean(axis=0) for one in handles]).reshape(-1, 3)
        super().__init__(handles, means, float(np.linalg.norm(np.ptp(mesh.bounds, axis=0))))
        drawn, self._owners = blocks_body(mesh, body.blocks)
        self._drawn = self._with_sliders(drawn) if handles else drawn
        self._u: Reals | None = None  # last solution

    def _solution(self, q: Reals) -> tuple[Reals, Numbers, str]:
        body, x = self._body, self._body.solid.mesh.nodes
        if not q.any():
            self._u = None
            return np.zeros_like(self._drawn.vertices), [], ""
        held: dict[int, Reals] = {}
        for nodes, mean, one in zip(self._handles, self._means, q, strict=True):
            pose = Pose(mean + one[:3], _quaternion(np.radians(one[3:])))
            held |= dict(zip(nodes.tolist(), pose.apply(x[nodes] - mean) - x[nodes], strict=True))
        try:
            with silenced() as doubts:
                found = body.solve(held=held, u0=self._u)
        except (ConvergenceError, SingularMatrixError) as error:
            raise InputError(f"no equilibrium from the last one: {error}") from None
        self._u = found.u
        wrenches, begin = [], 0
        for nodes, mean, one in zip(self._handles, self._means, q, strict=True):
            force = found.force[begin : begin + len(nodes)]
            arms = x[nodes] + found.u[nodes] - mean - one[:3]
            wrenches.append([force.sum(axis=0), np.cross(arms, force).sum(axis=0)])
            begin += len(nodes)
        numbers = [*_loads(np.array(wrenches)), ("energy", found.energy, "J")]
        return found.u[self._owners], numbers, ". ".join(doubts)

    def scene(self) -> Scene:
        """Return the scene."""
        body, solid, moves = self._body, self._body.solid, bool(self._handles)
        how = "holdable nodes are handles" if moves else "handles: nodes in holdable="
        if self._groups > _MOST_HANDLES:
            how = f"{self._groups} handles, too many for sliders: {_MOST_HANDLES} at most"
        texts = (
            f"{body.n_blocks} blocks, {len(body.nodes):,} of {solid.mesh.n_nodes:,} nodes outside",
            f"{how}; a solution: view(body, motion=Motion([0.0], [solution.u]))",
        )
        marks = (*fixed_nodes(solid.mesh, solid.fixed), *self._marks(self._owners))
        return Scene("Composite body", (self._drawn,), marks, up=self._up, resets=moves,
                     poses=moves, texts=texts)  # fmt: skip

    def saved(self) -> Scene:
        """Return the scene of a file: at rest."""
        scene = self.scene()
        still = replace(self._drawn, labels=(), ends=None, units=())
        return replace(scene, bodies=(still,), resets=False, poses=False)


def _connected(mesh: Mesh, nodes: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return sets of nodes, those of elements that touch."""
    chosen = np.zeros(mesh.n_nodes, dtype=bool)
    chosen[nodes] = True
    label = chosen[mesh.elements].any(axis=1).astype(np.int32)
    if not label.any():
        return []
    n, piece = mesh._core.pieces(label, 2, False)
    name = np.full(mesh.n_nodes, n)
    name[mesh.elements[label == 1]] = piece[label == 1, None]
    every = np.flatnonzero(chosen)
    order = every[np.argsort(name[every], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(name[order])) + 1)
