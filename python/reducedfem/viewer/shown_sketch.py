"""Views of solids, on which pages sketch forces and compute a basis (Barbic 2007, 2.8.2)."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.console import listed, part_text
from reducedfem.base.run import threads
from reducedfem.errors import InputError, ReducedFEMError
from reducedfem.geometry.embedding import Embedding
from reducedfem.reduction.basis import Basis
from reducedfem.reduction.sketch import ForceSketch
from reducedfem.reduction.sketch_basis import SketchReport, sketch_basis
from reducedfem.solid.solid import Solid
from reducedfem.viewer.parts import Scene, fixed_nodes
from reducedfem.viewer.shown import Frame
from reducedfem.viewer.shown_driven import first_hit
from reducedfem.viewer.shown_geometry import MovedSurface, ShownSolid
from reducedfem.viewer.shown_shapes import shapes_body
from reducedfem.viewer.workers import Worker

__all__ = ["ShownSketch"]

Reals = NDArray[np.float64]

_PARTS = (0.5, 1.0)  # of each force, that are samples of the sketch
_PLACED = (0.95, 0.62, 0.15)
_DRAGGED = (0.86, 0.27, 0.22)
_LEAST = 1e-3  # of the size of the solid: shorter drags place no force
_IDLE = 0.1  # s between frames while nothing moves
_ITERATIONS = 25  # of a load step: those that converge take ten, others are halved sooner
_MOST = 200  # forces; each frame has all of them
_PATIENCE = 1.0  # s for which the end of a view waits for a computation
_UNHELD = (
    "a sketch needs a solid with fixed nodes, as its shapes are those of static loads: "
    "make it by Solid(mesh, material, fixed=nodes)"
)
_IMMOVABLE = "a sketch needs a solid that can move: all of its nodes are fixed"


class _Cancelled(Exception):
    """Ends a computation from its callback."""


class _Progress:
    """Follows a computation, and ends it if it is cancelled."""

    def __init__(self, shown: ShownSketch) -> None:
        self._shown = shown

    def begin(self, label: str) -> None:
        """Show the name of a stage."""
        self._shown._follow(label, 0.0)

    def __call__(self, done: int, total: int) -> None:
        """Show the progress of the stage."""
        self._shown._follow(None, done / max(total, 1))


@dataclasses.dataclass
class _Force:
    """A force at a point of the surface, drawn as the drag that placed it."""

    at: Embedding  # the point
    begin: Reals
    place: Reals
    force: Reals

    @property
    def where(self) -> tuple[NDArray[np.int32], Reals]:
        """Nodes of the element that carries the point, and their weights."""
        return self.at.nodes[0], self.at.weights[0]


@dataclasses.dataclass
class _Drag(_Force):
    """A force that is being placed; `u` are the displacements that it causes."""

    unit: Reals  # displacements by unit forces along the axes [m/N]  (3, n, 3)
    u: Reals


class ShownSketch(ShownSolid):
    """A solid; pages place forces on it by dragging, and compute a basis of its deformations.

    While a point is dragged linear statics of the whole solid follow. Computations run in a thread.
    """

    def __init__(self, solid: Solid, up: str) -> None:
        super().__init__(solid, up)
        self._lock = threading.RLock()
        self._stage = "solid"
        self._forces: list[_Force] = []
        self._drag: _Drag | None = None
        self._response: Any = None  # of linear statics
        self._surface: MovedSurface | None = None
        self._basis: Basis | None = None
        self._reached = ""  # forces that the basis has in part
        self._worker: threading.Thread | None = None
        self._task, self._part, self._failure = "", 0.0, ""
        self._begun = 0.0  # time at which the computation did
        self._ends = False  # the computation
        self._closed = False

    # ---- results

    @property
    def sketch(self) -> ForceSketch:
        """The forces that are placed; of each, parts of it are samples."""
        with self._lock:
            forces = tuple(self._forces)
        m = len(_PARTS) * len(forces)
        corners = len(forces[0].where[0]) if forces else 0
        nodes = [one.where[0] for one in forces for _ in _PARTS]
        values = [part * np.outer(x.where[1], x.force) for x in forces for part in _PARTS]
        return ForceSketch(
            self._mesh.n_nodes,
            np.arange(float(m)),
            corners * np.arange(m + 1),
            np.array(nodes, dtype=np.int32).reshape(-1),
            np.reshape(values, (m * corners, 3)),
        )

    @property
    def basis(self) -> Basis | None:
        """The basis computed last; None: there is none yet."""
        return self._basis

    # ---- what pages show

    @property
    def period(self) -> float:
        """Time between two frames [s]."""
        return _IDLE if self._drag is None else super().period

    def scene(self) -> Scene:
        """Return the scene of the present stage."""
        with self._lock:
            stage, surface, basis = self._stage, self._surface, self._basis
            reached = self._reached
        texts: tuple[str, ...]
        solid = self._solid
        marks = fixed_nodes(solid.mesh, solid.fixed, carried=True)
        box = np.array([self._mesh.nodes.min(axis=0), self._mesh.nodes.max(axis=0)])
        if stage == "sketch" and surface is not None:
            texts = ("linear statics follow; the basis is that of large deformations",)
            normals = _core.surface_normals(surface.vertices, surface.triangles)
            body = dataclasses.replace(surface.body("solid"), normals=normals)
            return Scene("Sketch of forces", (body,), marks, self._up, pulls=True,
                         texts=texts, box=box)  # fmt: skip
        if stage == "basis" and basis is not None:
            labels = tuple(f"vector {k + 1}" for k in range(basis.r))
            body = shapes_body(self._mesh, basis.vectors, labels)
            failed = basis.provenance["failed"]
            texts = (f"of {basis.provenance['loads']} loads",)
            if failed:
                texts += (f"{failed} of them reached in part: {reached}",)
            return Scene(f"Basis of {basis.r} vectors", (body,), marks, self._up,
                         oscillates=True, texts=texts, box=box)  # fmt: skip
        return super().scene()

    def frame(self) -> Frame:
        """Return forces and deformation of the sketch, and the state of the computation."""
        with self._lock:
            drag, forces = self._drag, tuple(self._forces)
            state = {
                "stage": self._stage,
                "task": self._task[:1].upper() + self._task[1:],
                "part": self._part,
                "seconds": time.monotonic() - self._begun if self._task else 0.0,
                "hint": self._hint(),
                "cancelled": self._ends,
                "failure": self._failure,
                "forces": [float(np.linalg.norm(one.force)) for one in forces],
            }
            surface = self._surface if self._stage == "sketch" else None
            held = (drag, drag.place, drag.force, drag.u) if drag else None
        body: dict[str, Any] = {}
        arrows = []
        numbers: list[tuple[str, float, str]] = []
        if surface is not None:
            arrows = [{"from": x.begin, "to": x.place, "colour": _PLACED} for x in forces]
            if held is not None:
                point, place, force, u = held
                body = surface.frame(u)
                moved = point.begin + point.at.interpolate(u)[0]
                arrows.append({"from": moved, "to": place, "colour": _DRAGGED})
                numbers.append(("force", float(np.linalg.norm(force)), "N"))
        return {"bodies": [body], "arrows": arrows, "numbers": numbers, "sketch": state}

    # ---- gestures

    def pull(self, body: int, origin: NDArray[Any], direction: NDArray[Any]) -> Any:
        """Begin to drag the first point on a ray, unless it is fixed."""
        with self._lock:
            surface, response = self._surface, self._response
            if self._stage != "sketch" or surface is None or self._task:
                return None
            hit = first_hit(surface.vertices, surface.triangles, origin, direction)
            if hit is None:
                return None
            if len(self._forces) >= _MOST:
                self._failure = f"the sketch has {_MOST} forces, the most allowed: delete some"
                return None
            begin = hit[2]
            at = Embedding(self._mesh, begin[None])
            zero = np.zeros(3)
            try:
                unit = response.unit_forces((at.nodes[0], at.weights[0]), threads())
            except InputError:  # the point is fixed
                return None
            self._drag = _Drag(at, begin, begin.copy(), zero, unit, np.zeros_like(unit[0]))
            return begin

    def move(self, place: NDArray[Any]) -> None:
        """Drag the point; the force is along the drag, and takes the point as far along it."""
        with self._lock:
            drag = self._drag
            if drag is None:
                return
            force, u = _core.drag(drag.unit, drag.where, place - drag.begin)
            if np.isfinite(force).all() and np.isfinite(u).all():
                drag.place, drag.force, drag.u = np.array(place, dtype=np.float64), force, u

    def release(self) -> None:
        """Place the force."""
        with self._lock:
            drag, self._drag = self._drag, None
            if drag is None:
                return
            length = float(np.linalg.norm(np.ptp(self._mesh.nodes, axis=0)))
            if np.linalg.norm(drag.place - drag.begin) > _LEAST * length and drag.force.any():
                self._forces.append(_Force(drag.at, drag.begin, drag.place, drag.force))

    def command(self, message: Mapping[str, Any]) -> None:
        """Handle the buttons of a sketch."""
        kind = message["kind"]
        with self._lock:
            if kind == "cancel":
                self._ends = bool(self._task)
            elif self._task:
                pass  # the computation reads the forces
            elif kind == "erase" and message["number"] < len(self._forces):
                del self._forces[message["number"]]
                self._failure = ""
            elif kind == "stage":
                self._failure = ""
                self._go(message["name"])

    def _go(self, stage: str) -> None:
        if stage == "sketch" and self._response is None:
            self._start("stiffness at rest", self._find_response)
        elif stage == "basis":
            self._start("static shapes", self._find_basis)
        else:
            self._show(stage)

    def _show(self, stage: str) -> None:
        self._stage = stage
        self._drag = None
        self.version += 1

    # ---- computations

    def _start(self, name: str, work: Callable[[], None]) -> None:
        if self._closed:
            return

        def run() -> None:
            failure = ""
            try:
                work()
            except _Cancelled:
                pass
            except ReducedFEMError as error:
                failure = str(error)
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
            with self._lock:
                self._task, self._failure, self._ends = "", failure, False

        self._drag = None  # of another page: the computation reads the forces
        self._task, self._part, self._ends = name, 0.0, False
        self._begun = time.monotonic()
        self._worker = Worker("reducedfem sketch", run, self._stop)
        self._worker.start()

    def _hint(self) -> str:
        """Return the reason why the solid takes no sketch; empty: it does."""
        fixed = len(self._solid.fixed)
        return _UNHELD if not fixed else _IMMOVABLE if fixed == self._mesh.n_nodes else ""

    def _follow(self, label: str | None, part: float) -> None:
        with self._lock:
            self._check()
            self._task, self._part = label or self._task, part

    def _check(self) -> None:
        if self._ends or self._closed:
            raise _Cancelled

    def _find_response(self) -> None:
        solid = self._solid
        if self._hint():
            raise InputError(self._hint())
        response = _core.StaticResponse(solid._core, None, threads())
        surface = MovedSurface(self._mesh)
        with self._lock:
            self._check()
            self._response, self._surface = response, surface
            self._show("sketch")

    def _find_basis(self) -> None:
        sketch = self.sketch
        if not len(sketch):
            raise InputError("the sketch has no forces: drag points of the body first")
        basis, report = sketch_basis(
            self._solid,
            sketch,
            partial=True,
            max_iterations=_ITERATIONS,
            report=True,
            progress=_Progress(self),
        )
        with self._lock:
            self._check()
            self._basis, self._reached = basis, _reached(report)
            self._show("basis")

    def _stop(self) -> None:
        with self._lock:
            self._closed = True

    def end(self) -> None:
        """End the computation; a factorization, which cannot be stopped, ends by itself."""
        self._stop()
        if self._worker is not None and self._worker is not threading.current_thread():
            self._worker.join(_PATIENCE)


def _reached(report: SketchReport) -> str:
    """Name the forces with samples that failed, by their numbers on pages, and parts reached."""
    force, part = np.divmod(report.loads, len(_PARTS))
    reached = np.array(_PARTS)[part] * report.fraction
    failed = np.unique(report.failed // len(_PARTS))
    return listed([f"force {k + 1} to {part_text(reached[force == k].max())}" for k in failed])
