"""Views of reduced models and simulations, which pages can pull."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.dynamics.bdf2 import BDF2
from reducedfem.dynamics.explicit import spectrum
from reducedfem.dynamics.free_body import FreeBody, FreeBodyState
from reducedfem.dynamics.integrator import Simulation
from reducedfem.errors import (
    InputError,
    PlausibilityWarning,
    ReducedFEMError,
    SingularMatrixError,
)
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.surface import Surface
from reducedfem.pictures.subject import Subject, nodal
from reducedfem.pictures.values import GivenValues
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.skin import Skin
from reducedfem.solid.solid import Solid
from reducedfem.viewer.painted import Painter
from reducedfem.viewer.parts import (
    Body,
    Scene,
    fixed_nodes,
    origins,
    split_surface,
    surface_tilts,
)
from reducedfem.viewer.shown import Frame, Shown, unit_scales
from reducedfem.viewer.shown_driven import (
    FreePull,
    MotionPull,
    Pull,
    ShownDriven,
    first_hit,
    free_spring,
)
from reducedfem.viewer.shown_geometry import MovedSurface

__all__ = [
    "ShownFreeBody",
    "ShownModel",
    "ShownSimulation",
    "ShownSkin",
    "skin_body",
    "skin_hit",
    "skin_of",
]

_STEP = 1e-3  # s, of the simulation of a model
_DAMPING = 0.05  # critical damping of its lowest frequency
_STIFFER = 3.0  # stiffness of the spring of a pull over that of the body at the point

Reals = NDArray[np.float64]


def skin_of(reduced: ReducedSolid, surface: Surface | None = None) -> Skin:
    """Return the surface of a model, with vertices split at creases."""
    seen, _, normals = split_surface(reduced.mesh, surface)
    return Skin(reduced, seen, normals)


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


def _mass(system: ReducedSolid | ProjectedSolid | Solid) -> float:
    if isinstance(system, ReducedSolid):
        return float(system.provenance["solid"]["total_mass"])
    return (system.solid if isinstance(system, ProjectedSolid) else system).total_mass


class ShownSimulation(ShownDriven):
    """A simulation of a model, or of a solid, that pages can run in real time."""

    _owned = False  # the simulation was made for the view

    def __init__(
        self,
        simulation: Simulation,
        up: str,
        stiffness: float | None,
        values: GivenValues | None = None,
        *,
        playing: bool = False,
    ) -> None:
        system = simulation.system
        self._sim, self._system, self._up, self._given = simulation, system, up, stiffness
        self._skin: Skin | None = None
        self._surface: MovedSurface | None = None
        if isinstance(system, ReducedSolid):
            self._skin = skin_of(system)
        elif isinstance(system, Solid | ProjectedSolid):
            self._surface = MovedSurface(system.mesh)
        else:
            raise InputError(
                "x is a simulation of a "
                f"{type(system).__name__}, which has no surface to show: views show those of a "
                "ReducedSolid, a ProjectedSolid or a Solid"
            )
        self._painter: Painter | None = None
        if values is not None:
            if self._skin is not None:
                subject = Subject(self._skin, None, None)
            else:
                seen = self._surface
                assert seen is not None
                subject = Subject(system, seen.surface, None)
            self._painter = Painter(values, subject, system.mesh.n_nodes)
        self._pulls = self._takes_pulls()
        if stiffness is not None and not self._pulls:
            raise InputError(
                f"stiffness is given, but a {type(simulation).__name__} of a "
                f"{type(system).__name__} cannot be pulled: leave it out"
            )
        super().__init__(simulation.dt, playing=playing)

    def _takes_pulls(self) -> bool:
        """Return True if the integrator takes the spring of a pull."""
        zero = np.zeros(3)
        where: Any = [0], [1.0]
        if not isinstance(self._system, Solid):
            where = np.zeros((3, len(self._sim.state.q)))
        try:
            _core.pull(self._sim._core, zero, where, 0.0, zero, None, 0, threads())
        except ReducedFEMError:
            return False
        return True

    def scene(self) -> Scene:
        """Return the scene."""
        sim, system = self._sim, self._system
        if self._skin is not None:
            body = skin_body(self._skin, sliders=self._owned)
        else:
            assert self._surface is not None
            body = self._surface.body("solid")
        if self._painter is not None:
            body = self._painter.coloured(body)
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
            fixed_nodes(system.mesh, fixed, carried=True),
            up=self._up,
            controls=True,
            resets=self._owned,
            pulls=self._pulls,
            texts=texts,
        )

    def saved(self) -> Scene:
        """Return the scene of a file; refuse values that follow the state."""
        if self._painter is not None and self._painter.changes:
            x = self._system if self._owned else self._sim
            model = "" if self._owned else f"its {type(self._system).__name__} and "
            raise InputError(
                f"values change with the displacements, and a file of a {type(x).__name__} has "
                f"none: pass {model}motion=Motion([0.0], [q])"
            )
        return self.scene()

    def frame(self) -> Frame | None:
        """Return the state."""
        state = self._sim.state
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
            assert self._surface is not None
            body = self._surface.frame(self._field(state.q))
        more: dict[str, Any] = {}
        if self._painter is not None and self._painter.changes:
            paint = self._painter.painted(nodal(self._system, state.q))
            body["levels"] = paint.levels
            more = {"legend": paint.legend, "unpainted": paint.failure}
        return {**self._frame([body], numbers), **more}

    def _field(self, q: Reals) -> Reals:
        """Return displacements of the nodes of a system without a skin."""
        if isinstance(self._system, ProjectedSolid):
            return np.tensordot(q, self._system.basis, 1)
        return q

    def _plain(self, n: int) -> None:
        self._sim.step(None, n)

    def _point(self, origin: Reals, way: Reals) -> tuple[Reals, Reals, Any] | None:
        """Return the first point on a ray now and at rest, and its place in the system."""
        q = self._sim.state.q
        if self._skin is not None:
            pick = self._skin.pick(origin, way, q)
            if pick is None:
                return None
            rows = np.einsum("i,ijk->jk", pick.weights, self._skin.motion[pick.vertices])
            return pick.point, pick.weights @ self._skin.surface.vertices[pick.vertices], rows
        surface = self._surface
        assert surface is not None
        moved = surface.moved(self._field(q))
        hit = first_hit(surface.vertices + moved, surface.triangles, origin, way)
        if hit is None:
            return None
        rest = hit[1] @ surface.vertices[surface.triangles[hit[0]]]
        assert isinstance(self._system, ProjectedSolid | Solid)
        at = Embedding(self._system.mesh, rest[None])
        nodes, weights = at.nodes[0], at.weights[0]
        if isinstance(self._system, Solid):
            return hit[2], rest, (nodes, weights)
        return hit[2], rest, np.einsum("i,kij->jk", weights, self._system.basis[:, nodes])

    def _grip(self, origin: Reals, direction: Reals) -> Pull | None:
        found = self._point(origin, direction) if self._pulls else None
        if found is None:
            return None
        point, rest, where = found
        k = self._stiffness(where) if self._given is None else self._given
        return None if k is None else MotionPull(self._sim._core, point, rest, where, k)

    def _stiffness(self, where: Any) -> float | None:
        """Return the stiffness of the spring at a point; None: it is fixed."""
        system = self._system
        assert isinstance(system, ReducedSolid | ProjectedSolid | Solid)
        try:
            return _STIFFER * _core.pull_body_stiffness(system._core, where, threads())
        except InputError:
            return None
        except SingularMatrixError:  # a body that moves freely, or is unstable at rest
            return free_spring(_mass(system), system.mesh.nodes, None)[0]

    def command(self, message: Mapping[str, Any]) -> None:
        """Handle the buttons and the sliders of a page."""
        super().command(message)
        if not (self._owned and isinstance(self._system, ReducedSolid)):
            return  # the user sets the state of his own simulation
        if message["kind"] == "reset":
            self.release()
            self._sim.reset()
            if self._painter is not None:
                self._painter.reset()
            self._drive.failure = ""
        elif message["kind"] == "shape" and message["shape"] < self._system.r:
            self._drive.play(False)
            q = self._sim.state.q
            q[message["shape"]] = message["value"]
            self._sim.reset(q)


class ShownModel(ShownSimulation):
    """A model, with a simulation of its own."""

    _owned = True

    def __init__(
        self,
        reduced: ReducedSolid,
        up: str,
        stiffness: float | None,
        values: GivenValues | None = None,
    ) -> None:
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
        super().__init__(simulation, up, stiffness, values, playing=True)


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
            fixed_nodes(reduced.mesh, reduced.fixed, carried=True),
            up=self._up,
            texts=(
                f"{surface.n_vertices:,} vertices, {surface.n_triangles:,} triangles",
                f"{reduced.r} coordinates",
            ),
        )


class ShownFreeBody(ShownDriven):
    """A free body, which a page can run in real time under its gravity."""

    def __init__(self, body: FreeBody, up: str, stiffness: float | None) -> None:
        super().__init__(body.dt, playing=False)
        self._body, self._up, self._given = body, up, stiffness
        self._skin = skin_of(body.reduced)

    def scene(self) -> Scene:
        """Return the scene."""
        body, reduced = self._body, self._body.reduced
        fall = float(np.linalg.norm(body.gravity))
        texts = (
            f"{reduced.r} coordinates, {reduced.mesh.n_nodes:,} nodes, mass "
            f"{body.rigid_body.mass:.4g} kg",
            f"dt = {body.dt:g} s, " + (f"gravity {fall:.4g} m/s²" if fall else "no gravity"),
        )
        # it may be far from where it was at rest
        seen = self._place()[1].apply(self._skin.surface.vertices)
        return Scene(
            "Free body",
            (skin_body(self._skin, "body"),),
            up=self._up,
            controls=True,
            pulls=True,
            texts=texts,
            box=np.array([seen.min(axis=0), seen.max(axis=0)]),
        )

    def _place(self) -> tuple[FreeBodyState, Pose]:
        state = self._body.state
        rest = self._body.rigid_body.centre
        begin = origins(state.position[None], state.quaternion[None], rest)[0]
        return state, Pose(begin, state.quaternion)

    def frame(self) -> Frame:
        """Return the state."""
        state, place = self._place()
        numbers: list[tuple[str, float, str]] = [
            ("time", state.time, "s"),
            ("speed", float(np.linalg.norm(state.velocity)), "m/s"),
            ("turns", float(np.linalg.norm(state.angular_velocity)), "rad/s"),
        ]
        body = {"q": state.q, "position": place.position, "quaternion": place.quaternion}
        return self._frame([body], numbers)

    def _plain(self, n: int) -> None:
        self._body.step(None, n)

    def _grip(self, origin: Reals, direction: Reals) -> Pull | None:
        state, place = self._place()
        hit = skin_hit(self._skin, place, state.q, origin, direction)
        if hit is None:
            return None
        _, point, rest, rows = hit
        body = self._body
        spring = free_spring(body.rigid_body.mass, body.reduced.mesh.nodes, self._given)
        return FreePull(body._core, -1, point, rest, rows, spring)


def skin_hit(
    skin: Skin, place: Pose, q: Reals, origin: Reals, direction: Reals
) -> tuple[float, Reals, Reals, Reals] | None:
    """Return distance, point, rest position and rows of the first point of a body on a ray."""
    back = place.inverse()
    way = back.apply(origin + direction) - back.apply(origin)
    pick = skin.pick(back.apply(origin), way, q)
    if pick is None:
        return None
    rows = np.einsum("i,ijk->jk", pick.weights, skin.motion[pick.vertices])
    rest = pick.weights @ skin.surface.vertices[pick.vertices]
    return pick.distance, place.apply(pick.point), rest, rows
