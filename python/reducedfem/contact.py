"""Penalty contact of pointshells with distance fields, in bounded time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem._check import array_like, count, flag, integer, number, reals
from reducedfem._run import Progress, callback
from reducedfem.deformed_field import DeformedField
from reducedfem.errors import InputError, InputTypeError
from reducedfem.field import Field
from reducedfem.point_tree import PointTree

__all__ = ["ContactForce", "ContactPoints", "ContactTrajectory", "PenaltyContact"]

_DIRECTIONS = ("field", "normal")


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """The points that touch, in the order in which their forces were added up.

    Attributes
    ----------
    indices
        Which points of the shell, shape (k,).
    positions
        Where they are in the world [m], shape (k, 3).
    distances
        Signed distances, all negative [m], shape (k,).
    normals
        Inward unit normals in the world, shape (k, 3).
    forces
        On the distance-field object, in the world, scaled [N], shape (k, 3).
    """

    indices: NDArray[np.int32]
    positions: NDArray[np.float64]
    distances: NDArray[np.float64]
    normals: NDArray[np.float64]
    forces: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContactForce:
    """What `PenaltyContact.evaluate` found.

    Attributes
    ----------
    force
        On the distance-field object, in the world [N], shape (3,). On the shell it is the
        opposite.
    torque
        On the distance-field object about its grasp point, in the world [N m], shape (3,).
    gradient
        Of (force, torque) by a displacement [m] of the distance-field object and a rotation of
        it [rad] about its grasp point, shape (6, 6): rows are force and torque, columns
        displacement and rotation, so that the quarters are in [N/m], [N/rad], [N m/m] and
        [N m/rad]. It is that of the mirrored motion (see `PenaltyContact`).
    reduced_force
        On the shell, U^T f [N kg^-1/2], shape (r,); None for a rigid shell.
    visited
        Number of tree nodes that were looked at.
    skipped
        Number of nodes that needed no look, by temporal coherence.
    touching
        Number of points that touch.
    level
        Deepest level of the shell that was rendered, 0 to ``n_levels - 1``.
    depth
        Deepest penetration [m], 0 without contact.
    microseconds
        What it took.
    contacts
        The points that touch, where they were asked for.
    field_reduced_force
        On a field that deforms, with the modes of the proxies nearest to the points
        [N kg^-1/2], shape (its r,); None for others.
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    gradient: NDArray[np.float64]
    reduced_force: NDArray[np.float64] | None
    visited: int
    skipped: int
    touching: int
    level: int
    depth: float
    microseconds: float
    contacts: ContactPoints | None = None
    field_reduced_force: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class ContactTrajectory:
    """What `PenaltyContact.evaluate_many` found: `ContactForce` as arrays over n cycles.

    Attributes
    ----------
    force, torque
        On the distance-field object, in the world [N], [N m], shape (n, 3).
    gradient
        As of `ContactForce`, shape (n, 6, 6).
    reduced_force
        On the shell [N kg^-1/2], shape (n, r); None for a rigid shell.
    visited, skipped, touching, level
        Numbers of nodes and points, and deepest level rendered, shape (n,).
    depth
        Deepest penetration [m], shape (n,).
    microseconds
        What each cycle took, shape (n,).
    field_reduced_force
        On a field that deforms [N kg^-1/2], shape (n, its r); None for others.
    """

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    gradient: NDArray[np.float64]
    reduced_force: NDArray[np.float64] | None
    visited: NDArray[np.int32]
    skipped: NDArray[np.int32]
    touching: NDArray[np.int32]
    level: NDArray[np.int32]
    depth: NDArray[np.float64]
    microseconds: NDArray[np.float64]
    field_reduced_force: NDArray[np.float64] | None


class PenaltyContact:
    """Contact forces between a pointshell and a distance field, in bounded time.

    The shell is anchored in the world and may deform; the distance-field object moves, its
    pose maps its frame to the world. A point x of the shell with inward normal N at signed
    distance d < 0 puts on that object the force k d N and the torque r x F, r = x - x_g about
    the grasp point, and the opposite force on the shell (Barbic 2007, section 3.5). Where more
    than L = `max_points` points touch, l of them, all forces are scaled by L / l, so that they
    converge under refinement of the shell (equation 3.2) and the contact does not get ever
    stiffer.

    The tree is traversed level by level, and a level is finished or not begun (3.10.3): what
    comes out is what all points up to that level give, one by one. A level that was rendered
    in the last cycle begins while fewer than `warm_nodes` nodes have been counted, a deeper one
    while fewer than `cold_ratio` times that; level 0 is always rendered. With `budget_us` it is
    time that counts: a level begins if what it is expected to take, by the measured cost of a
    node, fits into what is left; levels, and so forces, then depend on the speed of the moment.

    Nodes whose sphere is outside of the field are culled with a margin that holds for the
    interpolated field, rounding included, so that without degradation the points that touch
    and their distances are those of a search through all points, bit for bit. Temporal coherence
    does without looking at nodes that cannot have come into contact since, after all that may
    have moved: the field object, the shell's own deformation, the growth of the spheres. Jumps
    are covered; forces, levels and counts are the same bits with it and without.

    The gradient is that of the mirrored motion: in place of the distance-field object by
    (dx, dw) the shell is moved, by -dx - dw x r, and its normals turned by -dw (4.4); with
    g = grad d,

    - dF/dx = -k N g^T, dF/dw = k N (g x r)^T + k d [N]x,
    - dT/dx = [F]x - k (r x N) g^T, dT/dw = k (r x N) (g x r)^T + [T]x.

    It describes the force in axes that turn with the object; in fixed axes dF/dw is smaller by
    [F]x and dT/dw by [T]x.

    With a `DeformedField` both objects deform. Its distances are no bounds: nodes are culled
    where they exceed `DeformedField.safety` times the radius of the sphere, which a search
    through all points may contradict, and no node is skipped for what it was in an earlier
    cycle.

    A contact keeps what it knows of the last cycle, and may be shared by threads, which wait
    for each other. Contacts of different threads may share trees and fields. Copies and pickles
    begin anew, as after `reset`.

    Parameters
    ----------
    tree
        The points, rigid or deformable.
    field
        Signed distances of the other object, in its own frame: a `Field` or a `DeformedField`.
    stiffness
        Of one point, k [N/m].
    warm_nodes
        Number of nodes below which levels rendered in the last cycle begin.
    budget_us
        Time of a cycle [us], in place of `warm_nodes`; None: nodes are counted.
    cold_ratio
        Above 0 and at most 1: which part of either deeper levels may use.
    max_points
        L, the number of touching points above which forces are scaled; None: never.
    area_weights
        Whether the force of each point is in proportion to its area, `Pointshell.areas`, over
        the mean of the areas; l is then the sum of these weights.
    temporal_coherence
        Whether nodes that cannot have come into contact are skipped; not with a
        `DeformedField`.
    grasp
        The point about which torques are, in the frame of the field, shape (3,) [m]; None: its
        origin.
    gradient_direction
        "field": g is the exact gradient of the field; "normal": g = N, as Barbic has it.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or a value that is not allowed, or areas are to be used
        and the shell has none.
    """

    __slots__ = ("__weakref__", "_core", "_field", "_options", "_tree")

    def __init__(
        self,
        tree: PointTree,
        field: Field | DeformedField,
        stiffness: float,
        warm_nodes: int = 2500,
        *,
        budget_us: float | None = None,
        cold_ratio: float = 0.8,
        max_points: int | None = 10,
        area_weights: bool = False,
        temporal_coherence: bool = True,
        grasp: ArrayLike | None = None,
        gradient_direction: str = "field",
    ) -> None:
        if not isinstance(tree, PointTree):
            raise InputTypeError(f"tree must be a PointTree, got {type(tree).__name__}")
        if not isinstance(field, Field | DeformedField):
            raise InputTypeError(
                f"field must be a Field, got {type(field).__name__}; a DeformedField may be "
                "given too"
            )
        if gradient_direction not in _DIRECTIONS:
            raise InputError(
                f'gradient_direction must be "field" or "normal", got {gradient_direction!r}'
            )
        weights = None
        if flag(area_weights, "area_weights"):
            weights = tree.shell.areas
            if weights is None:
                raise InputError("area_weights is set, but the pointshell has no areas")
        budget = 0.0
        if budget_us is not None:
            budget = number(budget_us, "budget_us")
            if not budget > 0.0:
                raise InputError(f"budget_us must be positive or None, got {budget:g}")
        place = _frozen((0.0, 0.0, 0.0) if grasp is None else grasp)
        options: dict[str, Any] = {
            "stiffness": number(stiffness, "stiffness"),
            "warm_nodes": count(warm_nodes, "warm_nodes"),
            "budget_us": None if budget_us is None else budget,
            "cold_ratio": number(cold_ratio, "cold_ratio"),
            "max_points": None if max_points is None else count(max_points, "max_points"),
            "area_weights": weights is not None,
            "temporal_coherence": flag(temporal_coherence, "temporal_coherence"),
            "grasp": place,
            "gradient_direction": gradient_direction,
        }
        self._core = _core.Contact(
            tree._core,
            field._core,
            weights,
            options["stiffness"],
            options["warm_nodes"],
            options["cold_ratio"],
            budget,
            options["max_points"] or 0,
            options["temporal_coherence"],
            gradient_direction == "normal",
            place,
        )
        self._tree, self._field, self._options = tree, field, MappingProxyType(options)

    @property
    def tree(self) -> PointTree:
        """The points."""
        return self._tree

    @property
    def field(self) -> Field | DeformedField:
        """The signed distances of the other object."""
        return self._field

    @property
    def stiffness(self) -> float:
        """Stiffness of one point, k [N/m]."""
        return float(self._options["stiffness"])

    @property
    def options(self) -> Mapping[str, Any]:
        """Everything it was made with but tree and field, by name; it cannot be changed.

        ``PenaltyContact(tree, field, **contact.options)`` is another one of its kind.
        """
        return self._options

    def evaluate(
        self,
        position: ArrayLike,
        quaternion: ArrayLike,
        q: ArrayLike | None = None,
        *,
        field_q: ArrayLike | None = None,
        contacts: bool = False,
        treeless: bool = False,
        level: int | None = None,
    ) -> ContactForce:
        """Return forces and their gradient for one cycle.

        Parameters
        ----------
        position
            Of the origin of the field's frame in the world [m], shape (3,).
        quaternion
            Its rotation, (w, x, y, z), body to world. Its norm must be 1 to within 1e-6, and is
            made exactly 1.
        q
            Reduced coordinates of the shell [kg^1/2 m], shape (r,); None: at rest.
        field_q
            Reduced coordinates of a field that deforms [kg^1/2 m]; None: at rest.
        contacts
            Whether the touching points are returned too.
        treeless
            Look at all points one by one, without the tree: slow, to compare with. Nothing is
            remembered of it.
        level
            Without the tree: points of levels up to this one only; None: all.

        Returns
        -------
        ContactForce

        Raises
        ------
        InputError, InputTypeError
            A wrong shape, a value that is not finite, a quaternion of another norm; `q` for a
            rigid shell; `field_q` for a rigid field, or too large; `level` out of range, or
            given with a tree.
        """
        all_of = -1
        if flag(treeless, "treeless"):
            all_of = self._tree.n_levels - 1 if level is None else integer(level, "level")
            if all_of < 0:
                raise InputError(
                    f"level must be between 0 and {self._tree.n_levels - 1}, got {all_of}"
                )
        elif level is not None:
            raise InputError("level is for treeless=True only; the tree chooses its own")
        found = self._core.evaluate(
            array_like(position, "position"),
            array_like(quaternion, "quaternion"),
            None if q is None else array_like(q, "q"),
            all_of,
            flag(contacts, "contacts"),
            None if field_q is None else array_like(field_q, "field_q"),
        )
        points = None if found[-1] is None else ContactPoints(*found[-1])
        return ContactForce(*(*found[:-2], points, found[-2]))

    def evaluate_many(
        self,
        positions: ArrayLike,
        quaternions: ArrayLike,
        qs: ArrayLike | None = None,
        field_qs: ArrayLike | None = None,
        *,
        progress: Progress = False,
    ) -> ContactTrajectory:
        """Return what `evaluate` gives for a whole trajectory, cycle after cycle.

        All poses are checked before the first cycle.

        Parameters
        ----------
        positions
            Shape (n, 3) [m].
        quaternions
            (w, x, y, z), each of norm 1, shape (n, 4).
        qs
            Shape (n, r) [kg^1/2 m]; None: at rest.
        field_qs
            Of a field that deforms, shape (n, its r); None: at rest.
        progress
            True for a bar, or a callable ``f(done, total)``.

        Returns
        -------
        ContactTrajectory

        Raises
        ------
        InputError, InputTypeError
            As `evaluate`; the message says of which cycle.
        """
        with callback(progress, "contact") as tell:
            return ContactTrajectory(
                *self._core.evaluate_many(
                    array_like(positions, "positions"),
                    array_like(quaternions, "quaternions"),
                    None if qs is None else array_like(qs, "qs"),
                    tell,
                    None if field_qs is None else array_like(field_qs, "field_qs"),
                )
            )

    def reset(self) -> None:
        """Forget all earlier cycles: levels rendered, clear nodes, measured costs."""
        self._core.reset()

    def __repr__(self) -> str:
        return f"<PenaltyContact: {self._tree!r} on {self._field!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy begins anew: two that share the memory of one would disturb each other
        return _again, (self._tree, self._field, dict(self._options))


def _again(
    tree: PointTree, field: Field | DeformedField, options: dict[str, Any]
) -> PenaltyContact:
    return PenaltyContact(tree, field, **options)


def _frozen(grasp: ArrayLike) -> NDArray[np.float64]:
    array: NDArray[np.float64] = reals(grasp, "grasp").copy()
    if array.shape != (3,):
        raise InputError(f"grasp must have shape (3,), got {array.shape}")
    array.flags.writeable = False
    return array
