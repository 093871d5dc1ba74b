"""Views of reduced models and simulations, which pages can pull."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.dynamics.bdf2 import BDF2
from reducedfem.dynamics.explicit import spectrum
from reducedfem.dynamics.free_body import FreeBody
from reducedfem.dynamics.integrator import Simulation
from reducedfem.dynamics.recorded import Motion
from reducedfem.errors import InputError, PlausibilityWarning, ReducedFEMError
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.surface import Surface
from reducedfem.pictures.subject import check_motion
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.skin import Pick, Skin
from reducedfem.solid.solid import Solid
from reducedfem.viewer.drive import Drive
from reducedfem.viewer.parts import Body, Clip, Scene, fixed_nodes, origins, split, surface_tilts
from reducedfem.viewer.shown import Frame, Shown, unit_scales

__all__ = [
    "ShownFreeBody",
    "ShownModel",
    "ShownMotion",
    "ShownSimulation",
    "ShownSkin",
    "skin_body",
    "skin_of",
]

_STEP = 1e-3  # s, of the simulation of a model
_DAMPING = 0.05  # critical damping of its lowest frequency
_STIFFER = 3.0  # stiffness of the spring of a pull over that of the body at the point
_PULL = (0.86, 0.27, 0.22)


def skin_of(reduced: ReducedSolid, surface: Surface | None = None) -> Skin:
    """Return the surface of a model, with vertices split at creases."""
    whole = surface or reduced.mesh.source or reduced.mesh.surface()
    source, triangles, normals = split(whole)
    return Skin(reduced, Surface(whole.vertices[source], triangles), normals)


def skin_body(
    skin: Skin, name: str = "model", colour: Any = None, *, sliders: bool = False
) -> Body:
    """Return the body of a model, with a slider for each coordinate if asked for."""
    shapes = np.ascontiguousarray(skin.motion.transpose(2, 0, 1))
    vertices, triangles = skin.surface.vertices, skin.surface.triangles
    return Body(
        name,
        vertices,
        triangles,
        skin.rest_normals,
        shapes=shapes,
        # those of `Skin.tilt` are inaccurate under shear
        tilts=surface_tilts(vertices, triangles, shapes),
        colour=colour,
        scales=unit_scales(shapes),
        labels=tuple(f"q{k + 1}" for k in range(len(shapes))) if sliders else (),
    )


class _Pull:
    """A point that is pulled: the spring and its place."""

    def __init__(self, pick: Pick, rows: NDArray[np.float64], rest: NDArray[Any], k: float) -> None:
        self.rows, self.rest, self.stiffness = rows, rest, k
        self.place = pick.point.copy()
        self.point = pick.point.copy()
        self.force = np.zeros(3)


class ShownSimulation(Shown):
    """A simulation of a model, or of a solid, that pages can run in real time."""

    _owned = False  # the simulation was made for the view

    def __init__(
        self, simulation: Simulation, up: str, stiffness: float | None, *, playing: bool = False
    ) -> None:
        system = simulation.system
        self._sim, self._system, self._up, self._given = simulation, system, up, stiffness
        self._skin: Skin | None = None
        self._embedding: Embedding | None = None
        if isinstance(system, ReducedSolid):
            self._skin = skin_of(system)
        elif isinstance(system, Solid | ProjectedSolid):
            surface = system.mesh.source or system.mesh.surface()
            source, triangles, _ = split(surface)
            self._surface = Surface(surface.vertices[source], triangles)
            self._embedding = Embedding(system.mesh, self._surface.vertices)
        else:
            raise InputError(
                "x is a simulation of a "
                f"{type(system).__name__}, which has no surface to show: views show those of a "
                "ReducedSolid, a ProjectedSolid or a Solid"
            )
        self._pulls = self._skin is not None and self._takes_pulls()
        if stiffness is not None and not self._pulls:
            raise InputError(
                f"stiffness is given, but a {type(simulation).__name__} of a "
                f"{type(system).__name__} cannot be pulled: leave it out"
            )
        self._hand: _Pull | None = None
        self._resumes = True  # runs on after a pull
        self._lock = threading.Lock()
        self._drive = Drive(self._advance, simulation.dt, playing=playing)

    def _takes_pulls(self) -> bool:
        """Return True if the integrator takes the spring of a pull."""
        zero = np.zeros((3, self._skin.reduced.r if self._skin is not None else 0))
        try:
            _core.pull(self._sim._core, zero[:, 0], zero, 0.0, zero[:, 0], None, 0)
        except ReducedFEMError:
            return False
        return True

    def scene(self) -> Scene:
        """Return the scene."""
        sim, system = self._sim, self._system
        if self._skin is not None:
            body = skin_body(self._skin, sliders=self._owned)
        else:
            body = Body("solid", self._surface.vertices, self._surface.triangles, None, colour=None)
        assert isinstance(system, ReducedSolid | ProjectedSolid | Solid)
        coordinates = "" if isinstance(system, Solid) else f"{system.r} coordinates, "
        fixed = system._fixed_nodes if isinstance(system, ProjectedSolid) else system.fixed
        texts: tuple[str, ...] = (
            f"{coordinates}{system.mesh.n_nodes:,} nodes",
            f"{type(sim).__name__}, dt = {sim.dt:g} s",
        )
        if self._given is not None:
            texts += (f"pulled by a spring of {self._given:g} N/m",)
        return Scene(
            type(system).__name__,
            (body,),
            fixed_nodes(system.mesh, fixed),
            up=self._up,
            controls=True,
            resets=self._owned,
            pulls=self._pulls,
            texts=texts,
        )

    def begin(self) -> None:
        """Start the thread of the simulation."""
        self._drive.start()

    def end(self) -> None:
        """End it."""
        self._drive.end()

    def watch(self, on: bool) -> None:
        """Run only while there are pages."""
        self._drive.watch(on)

    def frame(self) -> Frame | None:
        """Return the state."""
        state = self._sim.state
        with self._lock:
            hand = self._hand
        numbers: list[tuple[str, float, str]] = [("time", state.time, "s")]
        body: dict[str, Any]
        if self._skin is not None:
            body = {"q": state.q}
            assert isinstance(self._system, ReducedSolid)
            try:
                elastic = self._system.strain_energy(state.q)
                kinetic = 0.5 * float(state.qdot @ self._system.mass @ state.qdot)
                numbers += [("elastic energy", elastic, "J"), ("kinetic energy", kinetic, "J")]
            except ReducedFEMError:
                pass  # too large for numbers
        else:
            assert self._embedding is not None
            field = state.q
            if isinstance(self._system, ProjectedSolid):
                field = np.tensordot(state.q, self._system.basis, 1)
            moved = self._embedding.interpolate(field)
            place = self._surface.vertices + moved
            body = {
                "moved": moved,
                "normals": _core.surface_normals(place, self._surface.triangles),
            }
        if self._drive.cost:
            numbers.append(("step", self._drive.cost, "s"))
        arrows = []
        if hand is not None:
            numbers.append(("force of the pull", float(np.linalg.norm(hand.force)), "N"))
            numbers.append(("stiffness of the pull", hand.stiffness, "N/m"))
            arrows.append({"from": hand.point, "to": hand.place, "colour": _PULL})
        return {
            "bodies": [body],
            "arrows": arrows,
            "numbers": numbers,
            **self._drive.status(),
        }

    def _advance(self, n: int) -> None:
        with self._lock:
            hand = self._hand
        if hand is None:
            self._sim.step(None, n)
            return
        force, point = _core.pull(
            self._sim._core, hand.rest, hand.rows, hand.stiffness, hand.place, None, n
        )
        hand.force, hand.point = np.array(force), np.array(point)

    def pull(self, body: int, origin: NDArray[Any], direction: NDArray[Any]) -> Any:
        """Start to pull at the first point of the surface on a ray; the simulation runs."""
        if self._skin is None or not self._pulls:
            return None
        q = self._sim.state.q
        pick = self._skin.pick(origin, direction, q)
        if pick is None:
            return None
        rows = np.einsum("i,ijk->jk", pick.weights, self._skin.motion[pick.vertices])
        rest = pick.weights @ self._skin.surface.vertices[pick.vertices]
        assert isinstance(self._system, ReducedSolid)
        try:
            k = self._given
            if k is None:
                k = _STIFFER * _core.pull_body_stiffness(self._system._core, rows)
        except ReducedFEMError:
            return None  # a point that is fixed
        with self._lock:
            self._hand = _Pull(pick, rows, rest, k)
            self._resumes = self._drive.playing
        self._drive.play()
        return pick.point

    def move(self, place: NDArray[Any]) -> None:
        """Move the place to which the spring pulls."""
        with self._lock:
            if self._hand is not None:
                self._hand.place = place

    def release(self) -> None:
        """Release the point; the simulation runs on if it ran before."""
        with self._lock:
            held, self._hand = self._hand, None
        if held is not None and not self._resumes:
            self._drive.play(False)

    def command(self, message: Mapping[str, Any]) -> None:
        """Handle the buttons and the sliders of a page."""
        if self._drive.command(message):
            self._resumes = self._drive.playing
            return
        if not (self._owned and isinstance(self._system, ReducedSolid)):
            return  # the user sets the state of his own simulation
        if message["kind"] == "reset":
            self.release()
            self._sim.reset()
            self._drive.failure = ""
        elif message["kind"] == "shape" and message["shape"] < self._system.r:
            self._drive.play(False)
            q = self._sim.state.q
            q[message["shape"]] = message["value"]
            self._sim.reset(q)


class ShownModel(ShownSimulation):
    """A model, with a simulation of its own."""

    _owned = True

    def __init__(self, reduced: ReducedSolid, up: str, stiffness: float | None) -> None:
        # negative at an unstable state
        lowest = float(2.0 * np.pi * max(spectrum(reduced).lowest, 0.0))
        with warnings.catch_warnings():
            # motion that is faster than a picture need not be resolved
            warnings.simplefilter("ignore", PlausibilityWarning)
            simulation = BDF2(
                reduced,
                _STEP,
                damping=(2.0 * _DAMPING * lowest, 0.0),
                newton_max=10,
                deformation_only=reduced.rigid_body is not None,
            )
        super().__init__(simulation, up, stiffness, playing=True)


class ShownMotion(Shown):
    """A recorded motion of a model, which pages play."""

    def __init__(self, reduced: ReducedSolid, motion: Motion, up: str) -> None:
        self._motion, self._reduced, self._up = check_motion(motion, reduced), reduced, up

    def scene(self) -> Scene:
        """Return the scene."""
        motion, reduced = self._motion, self._reduced
        skin = skin_of(reduced)
        places = None
        if motion.poses is not None and reduced.rigid_body is not None:
            turns = motion.poses[:, 3:]
            begins = origins(motion.poses[:, :3], turns, reduced.rigid_body.centre)
            places = np.column_stack([begins, turns])
        return Scene(
            "Motion",
            (skin_body(skin),),
            fixed_nodes(reduced.mesh, reduced.fixed),
            up=self._up,
            clip=Clip(motion.times, motion.q, places),
            texts=(f"{reduced.r} coordinates, {len(motion):,} states",),
        )


class ShownSkin(Shown):
    """The surface of a model with a slider for each coordinate."""

    def __init__(self, skin: Skin, up: str) -> None:
        self._skin, self._up = skin, up

    def scene(self) -> Scene:
        """Return the scene."""
        skin, reduced = self._skin, self._skin.reduced
        surface = skin.surface
        return Scene(
            "Skin",
            (skin_body(skin, "skin", sliders=True),),
            fixed_nodes(reduced.mesh, reduced.fixed),
            up=self._up,
            texts=(
                f"{surface.n_vertices:,} vertices, {surface.n_triangles:,} triangles",
                f"{reduced.r} coordinates",
            ),
        )


class ShownFreeBody(Shown):
    """A free body, which a page can run in real time under its gravity."""

    def __init__(self, body: FreeBody, up: str) -> None:
        self._body, self._up = body, up
        self._drive = Drive(lambda n: body.step(None, n), body.dt, playing=False)

    def scene(self) -> Scene:
        """Return the scene."""
        body, reduced = self._body, self._body.reduced
        fall = float(np.linalg.norm(body.gravity))
        texts = (
            f"{reduced.r} coordinates, {reduced.mesh.n_nodes:,} nodes, mass "
            f"{body.rigid_body.mass:.4g} kg",
            f"dt = {body.dt:g} s, " + (f"gravity {fall:.4g} m/s²" if fall else "no gravity"),
        )
        return Scene(
            "Free body",
            (skin_body(skin_of(reduced), "body"),),
            up=self._up,
            controls=True,
            texts=texts,
        )

    def begin(self) -> None:
        """Start the thread."""
        self._drive.start()

    def end(self) -> None:
        """End it."""
        self._drive.end()

    def watch(self, on: bool) -> None:
        """Run only while there are pages."""
        self._drive.watch(on)

    def frame(self) -> Frame:
        """Return the state."""
        state, rigid = self._body.state, self._body.rigid_body
        begin = origins(state.position[None], state.quaternion[None], rigid.centre)[0]
        numbers: list[tuple[str, float, str]] = [
            ("time", state.time, "s"),
            ("speed", float(np.linalg.norm(state.velocity)), "m/s"),
            ("turns", float(np.linalg.norm(state.angular_velocity)), "rad/s"),
        ]
        if self._drive.cost:
            numbers.append(("step", self._drive.cost, "s"))
        bodies = [{"q": state.q, "position": begin, "quaternion": state.quaternion}]
        return {"bodies": bodies, "arrows": [], "numbers": numbers, **self._drive.status()}

    def command(self, message: Mapping[str, Any]) -> None:
        """Handle the buttons of a page."""
        self._drive.command(message)
