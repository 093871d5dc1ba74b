"""Worlds of many free bodies that touch each other and the ground."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import coefficient, count, integer, number, refuse_names, require
from reducedfem.base.run import Progress, callback, threads
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import Field
from reducedfem.contact.local import LocalCompliance
from reducedfem.contact.point_tree import PointTree
from reducedfem.dynamics.free_body import FreeBody, FreeBodyState
from reducedfem.dynamics.integrator import acceleration, step_count
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.geometry.pose import Pose
from reducedfem.solid.plausible import warn_of_gravity, warn_of_strain
from reducedfem.world.contacts import WorldContacts, WorldReport
from reducedfem.world.plausible import (
    doubts_of_body,
    doubts_of_fixed,
    doubts_of_places,
    doubts_of_steps,
)
from reducedfem.world.springs import (
    checked_stiffness,
    doubts_of_springs,
    require_linear,
    stiffness_argument,
    stiffnesses,
)

__all__ = ["World"]

# largest automatic stiffness of a point, in units of mass over time step squared
_RIGID = 10.0
_NAMES = {"mu": "friction"}  # of arguments elsewhere, and here
# largest coefficient of friction; beyond it solves often end early
_MOST_FRICTION = 10.0


class World:
    """Free bodies that deform and touch each other and the ground, with friction if it is given.

    All contact forces of a step are solved together and implicitly, so stiff contact and light
    bodies are stable. Pairs keep their momentum to rounding; at rest, penetrations are those of the
    springs alone. Bodies without contact move as `FreeBody.step` moves them. Two bodies separate
    with about 1 / `contact_damping` of the speed with which they met, or less. Method and limits:
    see ``docs/world.md``.

    Contact is found at the beginning of a step. Bodies should move by less than half the thickness
    of each other, and of the ground, in a step; `step` warns otherwise. Methods may be called from
    several threads, which alternate between steps. Ctrl-C ends a call between two steps.

    Parameters
    ----------
    dt
        Time step [s], positive, that of all bodies.
    gravity
        Acceleration of all bodies [m/s^2], shape (3,); replaces that of the bodies.
    ground
        Field of what never moves, in the world; None: nothing. ``PlaneField`` is the usual one.
    friction
        Coefficient of Coulomb friction of bodies for which `add` is given none, 0 to 10. Two bodies
        have the geometric mean of theirs.
    ground_friction
        Coefficient of the ground; None: `friction`.
    contact_damping
        Factor c, at least 1: springs of stiffness k have dampers of (c - 1) dt k beside them. It
        changes no equilibrium. Dampers act on the motion of bodies, not on local compliances.
    tol
        Tolerance of the solve for the forces, relative, at least 1e-13, which rounding allows, and
        below 1. It affects their sizes, not that they are opposite.
    iterations
        Number of iterations after which the solve ends, at least 1.
    **others
        None: refused.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type, shape or value, or another name.

    Warns
    -----
    PlausibilityWarning
        The gravity looks like one in mm/s^2, or a coefficient of friction is above 5.
    """

    # multiplications of a stage of the solve that take as long as threads need to start
    _least_work: ClassVar[float] = 3e5

    def __init__(
        self,
        dt: float,
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        ground: Field | None = None,
        *,
        friction: float = 0.0,
        ground_friction: float | None = None,
        contact_damping: float = 2.0,
        tol: float = 1e-6,
        iterations: int = 10000,
        **others: NoReturn,
    ) -> None:
        refuse_names(others, World.__init__, _NAMES)
        if not (ground is None or isinstance(ground, Field)):
            raise InputTypeError(
                f"ground must be a Field or None, got {type(ground).__name__}; a flat ground is "
                "PlaneField(point, normal), whose normal points up"
            )
        self._friction = coefficient(friction, "friction", most=_MOST_FRICTION)
        settings: dict[str, float | tuple[float, ...]] = {
            "dt": number(dt, "dt"),
            "gravity": tuple(float(x) for x in acceleration(gravity)),
            "ground_friction": self._friction
            if ground_friction is None
            else coefficient(ground_friction, "ground_friction", most=_MOST_FRICTION),
            "contact_damping": number(contact_damping, "contact_damping"),
            "tol": number(tol, "tol"),
            "iterations": count(iterations, "iterations"),
            "least_work": self._least_work,
        }
        self._core = _core.World(settings, None if ground is None else ground._core)
        self._dt, self._ground = float(dt), ground
        self._gravity = acceleration(gravity)
        warn_of_gravity(self._gravity, None, stacklevel=3)
        self._bodies: list[FreeBody] = []
        self._locals: dict[int, LocalCompliance] = {}  # of bodies, by number
        self._fixed_at: list[tuple[LocalCompliance, Pose]] = []
        self._yielding: list[LocalCompliance] = []  # of shapes with a field
        self._stiffest = 0.0  # of the springs that were given [N/m]
        self._untouched: list[int] = []  # numbers of bodies without tree and field
        # by number of body, the strains up to which cubatures are trained
        self._trained: dict[int, float] = {}
        self._shapes: dict[tuple[object, ...], int] = {}
        self._stiffness: list[float | NDArray[np.float64]] = []  # of each shape
        self._warned: set[str] = set()
        self._adding = threading.Lock()

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self._dt

    @property
    def ground(self) -> Field | None:
        """Field of what never moves."""
        return self._ground

    @property
    def bodies(self) -> tuple[FreeBody, ...]:
        """Bodies as they were given to `add`; those of the world are copies."""
        return tuple(self._bodies)

    @property
    def fixed(self) -> tuple[LocalCompliance, ...]:
        """Fixed bodies as they were given to `add_fixed`; their indices are -2, -3, ..."""
        return tuple(local for local, _ in self._fixed_at)

    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses [kg], shape (n,)."""
        return np.array([body.rigid_body.mass for body in self._bodies])

    def __len__(self) -> int:
        return len(self._bodies)

    def add(
        self,
        body: FreeBody,
        tree: PointTree | None = None,
        field: Field | DeformedField | None = None,
        stiffness: float | str = "auto",
        *,
        friction: float | None = None,
        local: LocalCompliance | None = None,
        **others: NoReturn,
    ) -> int:
        """Add a copy of a body in its present state.

        Bodies of one model, tree and field share them. Points of one body touch the field of
        another, and the ground; two bodies with trees and fields touch in both ways.

        Parameters
        ----------
        body
            Body to copy; its time step must be that of the world.
        tree
            Points of its surface in the frame of its mesh, rigid or of its model; None: its points
            touch nothing.
        field
            Signed distances in the frame of its mesh: of the body at rest, or a `DeformedField` of
            its model; None: nothing touches it.
        stiffness
            Stiffness of the springs at the points of the tree [N/m], positive, with `local` at
            most 1e6 times that of the solid at any point; in fields of others that yield it is
            lowered to 1e6 times theirs. "auto": 30 times that of the body at each point, by its
            compliance (see `PenaltyContact.stiffnesses`), at most 10 times mass / dt^2, which is
            that of a rigid tree.
        friction
            Coefficient of Coulomb friction of the body, 0 to 10; None: that of the world.
        local
            Local compliance of the tree's points: they also move by the linear statics that the
            model leaves out (of a rigid tree: by all of those of a solid that the body holds). The
            field yields by the same, a `DeformedField` if the tree has a model. None: they do not.
        **others
            None: refused.

        Returns
        -------
        int
            Index of the body, from 0.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type, value or name; the body has another time step; tree or
            field are of another model; the field is unbounded.

        Warns
        -----
        PlausibilityWarning
            The step is so long that the body, after a fall from its own thickness, moves by more
            than half of it in one; on flat ground it sinks by more than a tenth of it, or without
            a tree gets no force from the ground; the field is four times as large as the body, or
            does not reach it; its gravity differs from that of the world; it has neither tree
            nor field in a world with fixed bodies; or a stiffness is lowered in a field that yields
            (each once a world). The coefficient of friction is above 5.
        """
        refuse_names(others, World.add, _NAMES)
        require(body, FreeBody, "body")
        if tree is not None:
            require(tree, PointTree, "tree", " or None")
            if tree.reduced is not None and tree.reduced is not body.reduced:
                raise InputError("tree is of another model than body; make both of one model")
        if isinstance(field, DeformedField):
            if field.reduced is not body.reduced:
                raise InputError("field is of another model than body; make both of one model")
        elif field is not None:
            require(field, Field, "field", ", a DeformedField or None")
        if local is not None:
            require(local, LocalCompliance, "local", " or None")
            if local.tree is not tree:
                raise InputError("local is of another tree; pass tree=local.tree")
            require_linear(local)
            if isinstance(field, Field) and local.tree.reduced is not None:
                raise InputError(
                    "field is one at rest, but the tree of local has a model, by whose coordinates "
                    "the field would not yield: pass a DeformedField of the model"
                )
        mu = self._coefficient(friction)
        with self._adding:
            shape = self._shape(tree, field, local, stiffness, body.rigid_body.mass)
            index = len(self._bodies)
            spring = self._stiffness[shape] if shape >= 0 else None
            rest = field.field if isinstance(field, DeformedField) else field
            doubts = doubts_of_body(body, tree, rest, spring, self._gravity, self._dt, self._ground)
            # before the body is added: a warning may be an error
            self._warn(doubts_of_springs(self._stiffest, self._yielding))
            self._warn((kind, f"body {index} {text}") for kind, text in doubts)
            if tree is None and field is None:
                self._warn(doubts_of_fixed(index if self._fixed_at else None))
                self._untouched.append(index)
            self._core.add(body._core, shape, mu)
            self._bodies.append(body)
            if local is not None:
                self._locals[index] = local
            if body.reduced.cubature is not None:
                self._trained[index] = body.reduced.cubature.strain
        return index

    def _coefficient(self, friction: float | None) -> float:
        if friction is None:
            return self._friction
        return coefficient(friction, "friction", most=_MOST_FRICTION, stacklevel=4)

    def _warn(self, doubts: Iterable[tuple[str, str]]) -> None:
        """Give the warnings of the caller's caller, each kind once a world."""
        for kind, text in doubts:
            if kind not in self._warned:
                self._warned.add(kind)
                warnings.warn(text, PlausibilityWarning, stacklevel=3)

    def _shape(
        self,
        tree: PointTree | None,
        field: Field | DeformedField | None,
        local: LocalCompliance | None,
        stiffness: float | str,
        mass: float,
    ) -> int:
        """Return the number of a shape, -1 if it touches nothing; adds it if it is new."""
        stiffness = stiffness_argument(stiffness)
        if tree is None and field is None:
            return -1
        key = (tree, field, local, stiffness, mass)
        if key not in self._shapes:
            each, uniform = None, 1.0
            if isinstance(stiffness, float):
                uniform = checked_stiffness(stiffness, local)
                if tree is not None:
                    self._stiffest = max(self._stiffest, uniform)
            elif tree is not None:
                uniform = _RIGID * mass / self._dt**2
                each = stiffnesses(tree, local, uniform)
            if local is not None and field is not None:
                self._yielding.append(local)
            self._core.add_shape(
                None if tree is None else tree._core,
                None if field is None else field._core,
                uniform if np.isfinite(uniform) else 1.0,
                each,
                None if local is None else local._core,
            )
            self._shapes[key] = len(self._shapes)
            self._stiffness.append(uniform if each is None else each)
        return self._shapes[key]

    def add_fixed(
        self,
        local: LocalCompliance,
        position: ArrayLike = (0.0, 0.0, 0.0),
        quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        stiffness: float | str = "auto",
        *,
        field: Field | None = None,
        friction: float | None = None,
        **others: NoReturn,
    ) -> int:
        """Add a solid that is held by its fixed nodes and yields by its Green's functions.

        Its surface deforms by linear statics, u = G f with the forces of the step. Its points touch
        the fields of bodies, and their points its field; it touches neither ground nor fixed ones.

        Parameters
        ----------
        local
            Local compliance of a rigid tree and a solid with fixed nodes.
        position, quaternion
            Pose of the frame of its mesh in the world [m], (3,) and (4,).
        stiffness
            Stiffness of the springs at its points [N/m], positive, at most 1e6 times that of the
            solid at any point; lowered to the same of fields of others that yield. "auto": 30 times
            that at each point, by its compliance.
        field
            Signed distances at rest, in the frame of its mesh; None: only fields touch it.
        friction
            Coefficient of Coulomb friction, 0 to 10; None: that of the world.
        **others
            None: refused.

        Returns
        -------
        int
            Its index in `contacts` and for `dimple`: -2, -3, ...

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type, value or name; the tree of `local` is not rigid.

        Warns
        -----
        PlausibilityWarning
            A body of the world has neither tree nor field, so that this one gives it no force, or a
            stiffness is lowered in a field that yields (each once a world). The coefficient of
            friction is above 5.
        """
        refuse_names(others, World.add_fixed, _NAMES)
        require(local, LocalCompliance, "local")
        require_linear(local)
        if isinstance(field, DeformedField):
            raise InputTypeError(
                "field is a DeformedField, whose coordinates a fixed body does not have: pass the "
                "field at rest, field.field"
            )
        if field is not None:
            require(field, Field, "field", " or None")
        if local.tree.reduced is not None:
            raise InputError(
                "the tree of local has a model, whose coordinates a fixed body does not have: make "
                "LocalCompliance(PointTree(shell), solid) with a rigid tree"
            )
        pose, mu = Pose(position, quaternion), self._coefficient(friction)
        with self._adding:
            self._warn(doubts_of_fixed(*self._untouched[:1]))
            shape = self._shape(local.tree, field, local, stiffness, np.inf)
            self._warn(doubts_of_springs(self._stiffest, self._yielding))
            self._core.add_fixed(pose.position, pose.quaternion, shape, mu)
            self._fixed_at.append((local, pose))
            return -1 - len(self._fixed_at)

    def step(self, n: int = 1, *, progress: Progress = False) -> None:
        """Advance by `n` steps.

        Parameters
        ----------
        n
            Number of steps, at least 0.
        progress
            True: a bar; or a callable, called as ``f(done, total)``.

        Raises
        ------
        DivergedError
            The motion of a body, named by its index, is not finite, or would deform it by more than
            30 times the diagonal of its box. Others may have made the step.
        InputError, InputTypeError
            `n` has a wrong type or value.

        Warns
        -----
        PlausibilityWarning
            Bodies move by more than half the thickness of each other, or of the ground, in a step
            and may pass through; or a body overlaps others, or the ground, deeply in its first step
            (each once a world); or a dimple is deeper than half the thickness of the field in which
            bodies touch, or a body meets a fixed one without having a field (each once a world); or
            the cubature of a body is strained beyond the poses that trained it (once a body).
        """
        with callback(progress, "steps") as tell:
            self._core.step(step_count(n), tell, threads())
        report = self._core.report()
        self._warn(doubts_of_steps(self._dt, report[9:11], report[11:15], report[15:21]))
        self._warn(doubts_of_places(*report[23:26]))
        self._warn(doubts_of_fixed(report[21] if report[22] else None, report[22]))
        if not self._trained:
            return
        strains = self._core.strains()
        for i, trained in tuple(self._trained.items()):
            if warn_of_strain(float(strains[i]), trained, stacklevel=3):
                del self._trained[i]

    @property
    def positions(self) -> NDArray[np.float64]:
        """Centres of mass [m], shape (n, 3): a copy."""
        return self._core.motion()[0]

    @property
    def quaternions(self) -> NDArray[np.float64]:
        """Rotations from body to world (w, x, y, z), shape (n, 4): a copy."""
        return self._core.motion()[1]

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities of the centres of mass [m/s], shape (n, 3): a copy."""
        return self._core.motion()[2]

    @property
    def angular_velocities(self) -> NDArray[np.float64]:
        """Angular velocities in the world [rad/s], shape (n, 3): a copy."""
        return self._core.motion()[3]

    @property
    def q(self) -> list[NDArray[np.float64]]:
        """Reduced coordinates of each body [kg^1/2 m], shapes (r,): copies."""
        return [self._core.state(i)[4] for i in range(len(self))]

    @property
    def energy(self) -> NDArray[np.float64]:
        """Kinetic and elastic energy of each body [J], shape (n,), with that of its `local`.

        Fixed bodies have no entry; energies of springs and gravity are no part of it.
        """
        return self._core.energy()

    @property
    def contacts(self) -> WorldContacts:
        """Pairs in contact in the last step."""
        return WorldContacts(*self._core.contacts())

    @property
    def report(self) -> WorldReport:
        """Counts."""
        return WorldReport(*self._core.report()[:10])

    def state(self, body: int) -> FreeBodyState:
        """Return a copy of the state of a body.

        The springs of friction belong to pairs and are no part of it: a world of bodies in such
        states begins without them, and bodies move a little along the surface until new springs
        carry them. Nor are the forces on local compliances: dimples begin anew, of the points
        inside of a field without them.

        Parameters
        ----------
        body
            Index of the body.

        Returns
        -------
        FreeBodyState

        Raises
        ------
        InputError, InputTypeError
            There is no such body.
        """
        return FreeBodyState(*self._core.state(integer(body, "body")))

    def nodes(self, body: int) -> NDArray[np.float64]:
        """Return the positions of the nodes of a body in the world.

        Parameters
        ----------
        body
            Index of the body.

        Returns
        -------
        (n_nodes, 3) array
            Positions [m].

        Raises
        ------
        InputError, InputTypeError
            There is no such body.
        """
        return self._core.nodes(integer(body, "body"))

    def dimple(self, body: int) -> NDArray[np.float64]:
        """Return the displacements of a shell by its local compliance under the last forces.

        Parameters
        ----------
        body
            Index of a body that was added with `local`, or of a fixed one (-2, -3, ...).

        Returns
        -------
        (n, 3) array
            Displacements of the points of the shell in the frame of its mesh [m].

        Raises
        ------
        InputError, InputTypeError
            There is no such body, or it has no local compliance.
        """
        return self._core.dimple(integer(body, "body"))

    def __reduce__(self) -> tuple[object, ...]:
        """Reject copies and pickles."""
        raise InputTypeError(
            "a World can be neither copied nor pickled: make another and add bodies in the states "
            "of its own, state(i)"
        )

    def __repr__(self) -> str:
        report = self.report
        return (
            f"<World: {len(self)} bodies, dt = {self._dt:g} s, {report.steps} steps, "
            f"{report.pairs} pairs in contact>"
        )
