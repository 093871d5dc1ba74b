"""Contact of the tip of a tool with a surface in full detail, with friction."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import coefficient, integer, number, reals
from reducedfem.base.console import count_text
from reducedfem.base.quiet import silenced, warn
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.surface import Surface
from reducedfem.green.arguments import shares_of
from reducedfem.green.functions import GreensFunctions
from reducedfem.solid.plausible import STUDY
from reducedfem.touch.touched import Touched

__all__ = ["PointProxyContact"]

_STATES = ("open", "stick", "slip", "inside")
_REST = {"open": "no contact", "inside": "inside without force"}
_RELEASE = _core.TIP_RELEASE  # time of a release [s]
_LEAST = 0.9  # radius over the length of edges; measured in docs/howto/greens_functions.md


class _Turn:
    """Order of releases: each begins with the Green's functions of the last one."""

    def __init__(self) -> None:
        self.lock, self.busy = threading.RLock(), False


class PointProxyContact(Touched):
    """Contact of the tip of a tool with a surface that has Green's functions, with friction.

    The tip acts on the anchor, a point of a triangle. Its force f is spread over a disc of a fixed
    radius about the anchor, by areas: a point force has no limit as the mesh is refined
    (``docs/howto/greens_functions.md``). With the compliance C of the disc, (3, 3), the way d from
    the anchor at rest to the tip, and the outward normal n: no contact for n . d >= 0; the anchor
    sticks with C f = d where that force on the body is in the friction cone; else it slips with
    n . C f = n . d, and the anchor moves to where no slip is left, over the triangles. Without
    friction C f = d at a local minimum of d . C^-1 d / 2, so that no path gives energy to the hand.

    `HapticSession` takes it as its first argument, without a coupling. In scripts `touch` makes a
    cycle. Both give the force on the hand, `force` = -f. The body is linear and at rest in the
    world: depths beyond `max_depth` count as that one. `release` frees supports, also under the
    hand.

    A tip that comes in is held by the side that it passed. One that begins inside, in the first
    cycle, after `reset`, or where the hand is moved or opened anew, has a side only if it is within
    `max_depth` / 4 of the surface and of a quarter of the thickness there, and the surface next to
    it is not held. Else its state is "inside": there is no force until it has been outside. The
    same holds after jumps: ways in one cycle beyond `max_depth` and a tenth of the longest side
    that end inside, and those that crossed no side.

    Parameters
    ----------
    green
        Green's functions of a solid with fixed nodes; ``dtype="float32"`` suffices.
    surface
        Surface of its mesh, `Mesh.surface`. Vertices at the positions of the nodes of `green` move
        with them, others are held, as fixed nodes are: a hundred times as stiff as the mean of the
        others; more than half must be such nodes.
    radius
        Radius of the disc [m]; of the tip, or of the patch that it presses. 0: a point force, whose
        compliance depends on the mesh.
    friction
        Coefficient of friction. Above about 1 a slipping tip may be many times as stiff as one that
        sticks; contacts that jam are held at four times.
    max_depth
        Depth up to which forces grow [m]; None: a tenth of the longest side of the surface's box.
    pose
        Pose of the body in the world; None: its own frame.
    progress
        A bar: True, False, or None (after two seconds, in a terminal); or ``f(done, total)``.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value; the solid is free; too few vertices are nodes of
        `green`; a triangle has no area, or the surface faces inward.

    Warns
    -----
    PlausibilityWarning
        `friction` is above 5; `radius` is below 0.9 edges of `surface` (0 is not).
    """

    __slots__ = (
        "__weakref__",
        "_core",
        "_first",
        "_friction",
        "_green",
        "_places",
        "_pose",
        "_radius",
        "_released_at",
        "_releases",
        "_surface",
        "_turns",
    )

    _core: _core.Tip

    def __init__(
        self,
        green: GreensFunctions,
        surface: Surface,
        radius: float = 2e-3,
        friction: float = 0.4,
        *,
        max_depth: float | None = None,
        pose: Pose | None = None,
        progress: Progress = None,
    ) -> None:
        for name, given, kind in (("green", green, GreensFunctions), ("surface", surface, Surface)):
            if not isinstance(given, kind):
                raise InputTypeError(
                    f"{name} must be a {kind.__name__}, got {type(given).__name__}"
                    + ("; mesh.surface() is that of a mesh" if name == "surface" else "")
                )
        if pose is not None and not isinstance(pose, Pose):
            raise InputTypeError(f"pose must be a Pose or None, got {type(pose).__name__}")
        self._radius, self._friction = number(radius, "radius"), coefficient(friction, "friction")
        deepest = 0.0 if max_depth is None else number(max_depth, "max_depth")
        if self._radius < 0.0:
            raise InputError(f"radius must not be negative, got {self._radius:g} m")
        if max_depth is not None and not deepest > 0.0:
            raise InputError(f"max_depth must be positive or None, got {deepest:g} m")
        if surface.is_closed and surface.volume < 0.0:
            raise InputError(
                "surface faces inward, so contact would be inside out: take surface.oriented()"
            )
        self._green, self._surface = green, surface
        self._pose = Pose() if pose is None else pose
        with callback(progress, "discs of contact") as tell:
            self._core = _core.Tip(
                green._core, green.positions, surface.vertices, surface.triangles,
                self._radius, self._friction, deepest,
                self._pose.position, self._pose.quaternion, tell, threads(),
            )  # fmt: skip
        self._places = self._core.places()
        self._first, self._released_at = green, 0.0
        self._releases: tuple[tuple[NDArray[np.int32], float | None], ...] = ()
        # of each process: in a fork the thread that holds the lock does not exist
        self._turns: dict[int, _Turn] = {}
        _warn_of_edges(self._radius, surface, 2)

    def __repr__(self) -> str:
        anchored = self.state in ("stick", "slip")
        state = f"anchored, {self.state}" if anchored else _REST[self.state]
        return (
            f"<PointProxyContact: {len(self._green.nodes):,} nodes, "
            f"{self._surface.n_triangles:,} triangles, radius {1e3 * self._radius:g} mm, "
            f"friction {self._friction:g}, {state}>"
        )

    def __reduce__(self) -> Any:
        """Copy or pickle the parts and releases with their times, without the contact."""
        make = functools.partial(
            _again, releases=self._releases, max_depth=self.max_depth, pose=self._pose
        )
        return make, (self._first, self._surface, self._radius, self._friction)

    @contextlib.contextmanager
    def _releasing(self) -> Iterator[None]:
        turn = self._turns.setdefault(os.getpid(), _Turn())
        with turn.lock:
            if turn.busy:
                raise InputError("progress must not release more nodes: wait until release returns")
            turn.busy = True
            try:
                yield
            finally:
                turn.busy = False

    def release(
        self, nodes: ArrayLike, *, at: float | None = None, progress: Progress = None
    ) -> None:
        """Free supports of the body for good, before a session, while it runs, or in scripts.

        Sessions with this contact take the release up between two cycles, without a lock. A pressed
        tip feels the stiffness (1 - b) C^-1 + b C'^-1, with the new compliance C' and b from 0 to
        1 in 50 ms: its force has no jump, the energy in store falls, and the hand gets none of it.
        No place becomes stiffer. A tip in the air feels C' at once; `touch` does, too, but leaves
        out a release with a time `at` > 0, and later ones, until a session that took it up is
        closed. `green` is without the supports in any case; they are nodes of the surface from now
        on. `reset` does not undo it. Other threads may call it at any time. Each release keeps its
        compliances until the contact is freed.

        Parameters
        ----------
        nodes
            Nodes among `green.releasable`, at least one, (k,), or a mask over the mesh. Supports
            that are left must hold the solid.
        at
            Time of a session [s], counted by its cycles, from which on the release begins; at least
            that of the last one. None: at once, or as soon as those before it.
        progress
            As of `PointProxyContact`.

        Raises
        ------
        InputError, InputTypeError
            An argument has a wrong type or value; a node is not releasable; a release is scheduled
            for later than `at`; `progress` calls it.
        SingularMatrixError
            The solid could move as a rigid body: too few fixed nodes are left.
        MemoryError
            The new compliance needs more memory than is available.
        """
        when = 0.0 if at is None else number(at, "at")
        if when < 0.0:
            raise InputError(f"at must not be negative, got {when:g} s")
        with self._releasing(), callback(progress, "discs of contact") as tell:
            if at is not None and when < self._released_at:
                raise InputError(
                    f"at is {when:g} s, but a release is scheduled at {self._released_at:g} s, and "
                    "they come one after the other: pass a time that is not before that one"
                )
            green, count = self._green.released(nodes), len(self._green.nodes)
            self._core.release(green._core, green.positions, when, tell, threads())
            self._green, self._places = green, self._core.places()
            self._released_at = max(when, self._released_at)
            self._releases = (*self._releases, (green.nodes[count:], None if at is None else when))

    # --- parts -------------------------------------------------------------------------

    @property
    def green(self) -> GreensFunctions:
        """Green's functions of the solid, without supports that `release` freed or will free."""
        return self._green

    @property
    def surface(self) -> Surface:
        """Surface that the tip touches, in the frame of the body."""
        return self._surface

    @property
    def radius(self) -> float:
        """Radius of the disc [m]."""
        return self._radius

    @property
    def friction(self) -> float:
        """Coefficient of friction."""
        return self._friction

    @property
    def max_depth(self) -> float:
        """Depth up to which forces grow [m]."""
        return self._core.max_depth

    @property
    def pose(self) -> Pose:
        """Pose of the body in the world."""
        return self._pose

    @property
    def nodes_per_disc(self) -> float:
        """Mean number of nodes with a share of a disc about a vertex.

        Nodes of the triangles that the disc overlaps have shares, also of a tiny disc.
        """
        return self._core.nodes_per_disc

    # --- contact -----------------------------------------------------------------------

    def touch(self, position: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
        """Make a cycle with the tip at a position, as a session does.

        The force is that of the anchor before it slips.

        Parameters
        ----------
        position
            Position of the tip in the world [m], shape (3,).

        Returns
        -------
        force
            Force on the hand in the world [N], shape (3,), as `force`.
        anchor
            Anchor on the surface at rest, in the world [m], shape (3,), as `anchor`.
        state
            ``"open"``, ``"stick"``, ``"slip"`` or ``"inside"``.

        Raises
        ------
        InputError, InputTypeError
            `position` has a wrong shape or a value that is not finite.
        """
        given = reals(position, "position")
        if given.shape != (3,):
            raise InputError(f"position must have shape (3,), got {given.shape}")
        force, anchor, _, _, state, *_ = self._core.touch(given)
        return force, anchor, _STATES[state]

    def reset(self) -> None:
        """Forget the contact."""
        self._core.reset()

    @property
    def force(self) -> NDArray[np.float64]:
        """Force on the hand in the world, -f [N], shape (3,)."""
        return self._core.felt()[0]

    @property
    def anchor(self) -> NDArray[np.float64]:
        """Anchor on the surface at rest, in the world [m], shape (3,).

        Without contact the position of the tip; NaN before the first one.
        """
        return self._core.felt()[1]

    @property
    def slip(self) -> NDArray[np.float64]:
        """Slip of the last cycle, d - C f, in the world [m], shape (3,); 0 without friction."""
        return self._core.felt()[2]

    @property
    def depth(self) -> float:
        """Depth of the tip below the surface at rest [m]; 0 without contact."""
        return self._core.felt()[3]

    @property
    def state(self) -> str:
        """``"open"``, ``"stick"``, ``"slip"`` or ``"inside"``."""
        return _STATES[self._core.felt()[4]]

    def displacement(self) -> NDArray[np.float64]:
        """Return the displacements of the surface at the present contact.

        Returns
        -------
        (s, 3) float64 array
            Displacements [m] of the nodes of `green`, in the frame of the body.
        """
        *_, triangle, weights, force, released = self._core.felt()
        count = len(self._green.nodes)  # before: another thread may release more
        return self._displaced(released, triangle, weights, force)[:count]

    def _displaced(
        self, released: float, triangle: int, weights: ArrayLike, force: ArrayLike
    ) -> NDArray[np.float64]:
        if triangle < 0 or not np.any(force):
            return np.zeros((len(self._green.nodes), 3))
        return self._core.displacement(triangle, weights, force, released)

    def compliance(self, triangle: int, weights: ArrayLike) -> NDArray[np.float64]:
        """Return the displacement of the disc about a point by a force over it.

        Parameters
        ----------
        triangle
            Triangle of `surface`.
        weights
            Barycentric coordinates of the point, three numbers with the sum 1.

        Returns
        -------
        (3, 3) float64 array
            Compliance [m/N] in the frame of the body, symmetric.

        Raises
        ------
        InputError, InputTypeError
            There is no such triangle, or `weights` has a wrong shape or sum.
        """
        return self._core.compliance(integer(triangle, "triangle"), shares_of(weights, (3,)))

    # --- in sessions -------------------------------------------------------------------

    @property
    def _size(self) -> str:
        return f"{len(self._green.nodes):,} nodes of the surface"

    @property
    def _drawn(self) -> Surface:
        return self._surface

    def _moved(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        triangle, weights, force, released = np.split(coordinates[1:], (1, 4, 7))
        places = self._places  # before the displacements: another thread may release more
        u = self._displaced(released[0], int(triangle[0]), weights, force)
        return _at_vertices(u, places)

    def _recorded(
        self,
        times: NDArray[np.float64],
        anchors: NDArray[np.float64],
        forces: NDArray[np.float64],
    ) -> NDArray[np.float64] | None:
        released, places = self._released(times), self._places
        moved = np.zeros((len(anchors), self._surface.n_vertices, 3))
        for k, triangle, weights, load in self._loads(anchors, forces):
            u = self._displaced(float(released[k]), triangle, weights, load)
            moved[k] = _at_vertices(u, places)
        return moved

    def _is_as_at(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.equal(self._released(times), self._core.felt()[-1])

    def _held(self) -> int:
        return len(self.green.releasable)

    def _released(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of releases made at times of a session; fractions: under way.

        Records do not say when those without a time were made: at the beginning.
        """
        begins = [at for _, at in self._releases if at]
        made = np.full(len(times), float(len(self._releases) - len(begins)))
        for at in begins:
            made += np.clip((times - at) / _RELEASE, 0.0, 1.0)
        return made

    def _recorded_at_tip(
        self, anchors: NDArray[np.float64], forces: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        moved = np.zeros((len(anchors), 3))
        for k, triangle, weights, load in self._loads(anchors, forces):
            moved[k] = self.compliance(triangle, weights) @ load
        return Pose((0.0, 0.0, 0.0), self._pose.quaternion).apply(moved)

    def _loads(
        self, anchors: NDArray[np.float64], forces: NDArray[np.float64]
    ) -> Iterator[tuple[int, int, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield number, triangle, weights and load of the recorded cycles with a force."""
        back = self._pose.inverse()
        turn = Pose((0.0, 0.0, 0.0), back.quaternion)
        x, faces = self._surface.vertices, self._surface.triangles
        _, places, _, triangles, _ = _core.surface_closest(x, faces, back.apply(anchors), np.inf)
        loads = -turn.apply(forces)
        for k in np.flatnonzero(forces.any(axis=1)):
            corners = x[faces[triangles[k]]]
            sides = (corners[1:] - corners[0]).T
            part = np.linalg.lstsq(sides, places[k] - corners[0], rcond=None)[0]
            shares = np.clip([1.0 - part.sum(), *part], 0.0, 1.0)
            yield int(k), int(triangles[k]), shares / shares.sum(), loads[k]

    def _box(self) -> NDArray[np.float64]:
        return self._surface.bounds

    def _advice(self, status: dict[str, Any]) -> list[str]:
        return self._of_begin(status["inside"]) + self._of_depth(status)

    def _of_begin(self, inside: int) -> list[str]:
        if not inside:
            return []
        return [
            f"in {count_text(inside, 'cycle')} the tip was inside of the body without a force, as "
            "it began there, or jumped far in one cycle: it could be pushed out through the "
            "wrong side; move it out of the body once, or begin outside (Workspace, start)"
        ]

    def _of_depth(self, status: dict[str, Any]) -> list[str]:
        if not status["too_deep"]:
            return []
        share = 100.0 * status["too_deep"] / max(status["touching"], 1)
        if self._friction > 0.0 and status["depth"] <= self.max_depth:
            return [
                f"friction {self._friction:g} jammed the tip in {share:.3g} % of the cycles with "
                "contact: pressing would pull it in without bound, so its force is held back; "
                "take a friction below 1"
            ]
        return [
            f"the tip was deeper than max_depth, {1e3 * self.max_depth:.3g} mm, in {share:.3g} % "
            "of the cycles with contact: forces grow no more there, as linear theory does not "
            "reach so deep; take a stiffer solid, or raise max_depth"
        ]


def _again(*parts: Any, releases: tuple[Any, ...] = (), **options: Any) -> PointProxyContact:
    with silenced():
        made = PointProxyContact(*parts, **options, progress=False)
        for nodes, at in releases:
            made.release(nodes, at=at, progress=False)
    return made


def _warn_of_edges(radius: float, surface: Surface, stacklevel: int) -> None:
    """Warn of a disc that is small beside the triangles, unless a point is meant."""
    if radius == 0.0 or surface.n_vertices < STUDY:
        return
    corners = surface.vertices[surface.triangles]
    edge = float(np.median(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)))
    if radius >= 0.999 * _LEAST * edge:  # as rounded in the text
        return
    warn(
        f"radius is {1e3 * radius:.3g} mm, but half of the edges of surface are longer than "
        f"{1e3 * edge:.3g} mm: forces would depend on where the nodes are; take a radius of at "
        f"least {_LEAST:g} edges, {1e3 * _LEAST * edge:.3g} mm, or a finer mesh",
        PlausibilityWarning,
        stacklevel=stacklevel + 1,
    )


def _at_vertices(u: NDArray[np.float64], places: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return displacements of nodes at the vertices; those without a node are held."""
    return np.concatenate([u, np.zeros((1, 3))])[places]
