"""Contact of a solid with fixed obstacles and of its parts by a barrier, for implicit steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import coefficient, field, flag, positive
from reducedfem.base.quiet import warn
from reducedfem.contact.combined_field import Field
from reducedfem.contact.touching import Touching, indices, touching
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.geometry.constraints import standing
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface

__all__ = ["RINGS", "BarrierContact", "BarrierState"]

# reason of most integrators against a barrier
RINGS = (
    "its steps carry forces of their beginning over to their end, so that a body vibrates at a "
    "barrier"
)

_GRAVITY = 9.81  # m/s^2
_SIDES = 6  # of a box: a body rests on about one of them
_THICK = 0.2  # distance over the smallest extent of a part
_MANY = 100  # parts that are measured
_AT_HALF = math.log(2.0) + 0.5  # -b'(delta / 2) / delta


@dataclass(frozen=True, eq=False, repr=False)
class BarrierState:
    """Contact after the last step of a simulation with a `BarrierContact`.

    Pairs are those of a node and an obstacle nearer than the distance of the barrier; on a mesh
    with cut cells vertices of `BarrierContact.surface` are in the place of nodes. Pairs of parts
    (``parts=True``) are a node and a triangle of another part, or two edges, nearer than it; with
    ``self_contact=True`` also of the same part.

    Attributes
    ----------
    nodes
        Node of each pair, or its vertex of `BarrierContact.surface`, shape (k,).
    obstacles
        Index of its obstacle, shape (k,).
    distances
        Distances [m], all positive, shape (k,).
    normals
        Unit normals, away from the obstacle, shape (k, 3).
    normal_forces
        Forces along the normals on the nodes or vertices [N], shape (k,).
    friction_forces
        Friction on the nodes or vertices [N], shape (k, 3). After a reset, in a copy and after a
        step that failed: that of these normal forces.
    smallest_distance
        Smallest distance of any node or vertex that may touch [m], or of two parts where these are
        nearer than about twice the distance of the barrier; inf without obstacles and such parts.
    part_nodes
        Nodes of each pair of parts, shape (p, 4): a node and the corners of a triangle, or the ends
        of two edges.
    part_weights
        Weights of these nodes, shape (p, 4): the sum of those above zero is 1 and gives the nearest
        point of the node or the first edge, that of those below is -1 and gives that of the other.
    part_distances
        Distances of pairs of parts [m], all positive, shape (p,).
    part_normals
        Unit normals from the triangle or second edge to the node or first edge, shape (p, 3).
    part_normal_forces
        Forces along these normals on the node or first edge [N], shape (p,); those on single nodes
        are these times the weights. Less for edges that are nearly parallel.
    part_friction_forces
        Friction on the node or first edge [N], shape (p, 3), as `friction_forces`. Lagged friction
        is that of pairs that touched when the step began, with their weights of then; zero for
        others.
    """

    nodes: NDArray[np.int32]
    obstacles: NDArray[np.int32]
    distances: NDArray[np.float64]
    normals: NDArray[np.float64]
    normal_forces: NDArray[np.float64]
    friction_forces: NDArray[np.float64]
    smallest_distance: float
    part_nodes: NDArray[np.int32]
    part_weights: NDArray[np.float64]
    part_distances: NDArray[np.float64]
    part_normals: NDArray[np.float64]
    part_normal_forces: NDArray[np.float64]
    part_friction_forces: NDArray[np.float64]

    def __repr__(self) -> str:
        near = f"smallest distance {self.smallest_distance:.3g} m"
        found = [
            f"{_pairs(len(forces))}{of}, {forces.sum():.4g} N"
            for forces, of in ((self.normal_forces, ""), (self.part_normal_forces, " of parts"))
            if len(forces)
        ]
        return f"<BarrierState: {', '.join(found) or 'no contact'}, {near}>"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _obstacles(value: object, parts: bool) -> tuple[Field, ...]:
    """Return the argument `obstacle` as fields; refuse others."""
    if value is None:
        if parts:
            return ()
        raise InputError(
            "obstacle is None and parts is False: nothing can touch; pass a Field, or parts=True "
            "for contact of the parts of a solid with each other, self_contact=True also of each "
            "with itself"
        )
    if isinstance(value, Field):
        return (value,)
    wanted = "a Field that does not deform, such as PlaneField, or a list of such fields"
    if not isinstance(value, list | tuple):
        raise InputTypeError(f"obstacle must be {wanted}, got {type(value).__name__}")
    for i, one in enumerate(value):
        if not isinstance(one, Field):
            raise InputTypeError(f"obstacle[{i}] must be {wanted}, got {type(one).__name__}")
    if not value:
        raise InputError("obstacle is empty: it needs one field or more")
    return tuple(value)


# mesh, stiffness, fixed nodes, contact in the core, basis of a model, mass, points
_Bound = tuple[
    Mesh,
    float,
    "NDArray[np.int32]",
    "_core.Barrier",
    "NDArray[np.float64] | None",
    float,
    Touching,
]


class BarrierContact:
    """Contact of a `Solid` with obstacles, or of its parts, by a barrier, with smoothed friction.

    Passed to `BackwardEuler` or `BDF2` with ``newton_max=50``: the equations of a step then contain
    the energy kappa b(d) of each node at a distance d < delta of an obstacle,
    b = -(d - delta)^2 ln(d / delta), which grows without bound towards d = 0, and friction (Ascher
    et al. 2021, section 5). Every Newton increment ends before a node touches, so nothing
    penetrates, however fast. Other integrators refuse it.

    Friction on a node with the normal force N is mu N s(v), opposite to its velocity v along the
    obstacle; s rises from 0 to 1 at `slip`. A body that should stick on a slope of angle t creeps
    at slip (1 - sqrt(1 - tan(t) / mu)).

    Only nodes touch obstacles; with cut cells (`voxelize`), whose nodes lie outside of the body,
    the vertices of `surface` do. Between these points a small or sharp obstacle may enter the body.
    A `PlaneField` is treated exactly; fields on grids have kinks, at which steps may end
    unconverged. Pass several obstacles as a list, not as a `UnionField`.

    With ``parts=True`` the parts of a `Solid` (`Mesh.components`; `join_meshes` makes one mesh of
    several) touch each other: nodes and triangles of `Mesh.surface`, and edges (Li et al. 2020),
    each pair with the energy of a node above; that of edges fades out where they become parallel.
    With ``self_contact=True`` so do those of one part that share no node, from half of their
    distance at rest where that is less than `distance`.

    A contact belongs to the first system that uses it. Its simulations may share it across threads.

    Parameters
    ----------
    obstacle
        A `Field`, or a list of them, at rest in the frame of the solid; None: none, with `parts`.
    distance
        delta [m], positive: the distance at which the barrier begins. Gaps at rest are smaller.
    stiffness
        kappa [N/m], positive. None: a sixth of the nodes of the boundary (or vertices) carry the
        weight of the solid, at 9.81 m/s^2, at half of `distance`. Gaps depend on it, forces do not.
    friction
        Coefficient of friction mu, 0 to 1e9.
    slip
        Velocity of full friction [m/s], positive.
    lagged
        True: friction uses normal forces and directions of the beginning of a step, with an error
        of the order of the step. False: those of its end, in up to five runs of `newton_max`.
    nodes
        Nodes that touch obstacles: a mask (n,) or indices, none fixed; of cut cells the vertices
        that have most weight on them. None: all of the boundary.
    parts
        True: the parts of the solid, two or more, touch each other. They must be `distance` apart
        at the start; a part may lie in a cavity of another. Reduced models refuse it.
    self_contact
        True: the parts, one or more, touch each other and themselves.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of range; at the first use: cells are cut, and `parts` is True or their
        surface is not known (`Mesh.source`).

    Warns
    -----
    PlausibilityWarning
        Friction is above 5, or `distance` above a fifth of a part's extent.
    """

    def __init__(
        self,
        obstacle: Field | Sequence[Field] | None = None,
        distance: float = 1e-3,
        stiffness: float | None = None,
        friction: float = 0.2,
        slip: float = 1e-3,
        lagged: bool = True,
        nodes: ArrayLike | None = None,
        parts: bool = False,
        self_contact: bool = False,
    ) -> None:
        self._self_contact = flag(self_contact, "self_contact")
        self._parts = flag(parts, "parts") or self._self_contact
        self._obstacles = _obstacles(obstacle, self._parts)
        self._distance = positive(distance, "distance")
        self._stiffness = None if stiffness is None else positive(stiffness, "stiffness")
        self._friction = coefficient(friction, "friction")
        self._slip = positive(slip, "slip")
        self._lagged = flag(lagged, "lagged")
        self._nodes = None if nodes is None else np.array(indices(nodes))
        self._bound: _Bound | None = None

    @property
    def obstacles(self) -> tuple[Field, ...]:
        """Fields of the obstacles."""
        return self._obstacles

    @property
    def parts(self) -> bool:
        """True: the parts of the solid touch each other."""
        return self._parts

    @property
    def self_contact(self) -> bool:
        """True: the parts of the solid touch themselves too."""
        return self._self_contact

    @property
    def distance(self) -> float:
        """Distance at which the barrier begins [m]."""
        return self._distance

    @property
    def friction(self) -> float:
        """Coefficient of friction."""
        return self._friction

    @property
    def barrier_stiffness(self) -> float | None:
        """Stiffness kappa [N/m]; None before the first use if it follows from the solid."""
        return self._stiffness if self._bound is None else self._bound[1]

    @property
    def surface(self) -> Surface | None:
        """Surface whose vertices touch, of a mesh with cut cells; None: nodes do, or not used yet.

        It is `Mesh.source` with edges longer than the distance of nodes halved. The vertices of
        `Mesh.source` come first.
        """
        return None if self._bound is None else self._bound[6].surface

    def energy(self, u: ArrayLike) -> float:
        """Return the energy of the barrier.

        Parameters
        ----------
        u
            Displacements [m], shape (n, 3) or (3n,).

        Returns
        -------
        float
            Energy [J], without friction.

        Raises
        ------
        InputError, InputTypeError
            `u` has a wrong shape or type, or a node touches; the contact belongs to no solid yet.
        """
        return self._evaluate(u, None)[0]

    def force(self, u: ArrayLike, v: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the forces on the nodes, with friction by the normal forces at `u`.

        Parameters
        ----------
        u
            Displacements [m], shape (n, 3) or (3n,).
        v
            Velocities [m/s], of the same shapes; None: zero, without friction.

        Returns
        -------
        (n, 3) array
            Forces [N].

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape or type, or a node touches; the contact belongs to no solid
            yet.
        """
        return self._evaluate(u, v)[1]

    def stiffness(self, u: ArrayLike, v: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the derivatives of minus the forces by the displacements.

        Of obstacles, directions of friction and lengths of gradients count as constant, and second
        derivatives of distances contribute their positive part only; on planes the result is exact,
        and so is that of parts. These also couple nodes, which is left out here.

        Parameters
        ----------
        u
            Displacements [m], shape (n, 3) or (3n,).
        v
            Velocities [m/s], of the same shapes; None: zero, without friction.

        Returns
        -------
        (n, 3, 3) array
            Derivative of each node's force by its own displacement [N/m]; unsymmetric with
            friction. Cut cells couple their nodes too, which is left out here.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape or type, or a node touches; the contact belongs to no solid
            yet.
        """
        return self._evaluate(u, v)[2]

    def damping(self, u: ArrayLike, v: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the derivatives of minus the forces by the velocities.

        Parameters
        ----------
        u
            Displacements [m], shape (n, 3) or (3n,).
        v
            Velocities [m/s], of the same shapes; None: zero.

        Returns
        -------
        (n, 3, 3) array
            Derivative of each node's friction by its own velocity [N s/m], symmetric; of cut cells
            without coupling.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape or type, or a node touches; the contact belongs to no solid
            yet.
        """
        return self._evaluate(u, v)[3]

    def _evaluate(
        self, u: ArrayLike, v: ArrayLike | None
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        if self._bound is None:
            raise InputError(
                "the contact belongs to no solid yet: pass it to an integrator first, such as "
                "BackwardEuler(solid, dt, newton_max=50, contact=contact)"
            )
        n = self._bound[0].n_nodes
        places = field(u, "u", n)
        return self._bound[3].evaluate(places, np.zeros((n, 3)) if v is None else field(v, "v", n))

    def _bind(
        self,
        mesh: Mesh,
        fixed: NDArray[np.int32],
        mass: float,
        basis: NDArray[np.float64] | None,
    ) -> _core.Barrier:
        """Return the contact of a body in the core; refuse another body than that before.

        basis: fields of a reduced model (r, n, 3); None: a solid.
        """
        fixed = standing(mesh.constraints, fixed)
        if self._bound is not None:
            known, _, held, core, fields, weighed, _ = self._bound
            same = (fields is None) == (basis is None) and np.array_equal(held, fixed)
            if same and basis is not None and fields is not None:
                same = np.array_equal(fields, basis)
            if known is mesh and same and (self._stiffness is not None or weighed == mass):
                return core
            raise InputError(
                "contact belongs to another solid or model, whose nodes it knows: make a "
                "BarrierContact for each"
            )
        points = touching(mesh, fixed, self._nodes, self._parts)
        stiffness = self._stiffness
        if stiffness is None:
            resting = max(points.n_all / _SIDES, 1.0)
            stiffness = mass * _GRAVITY / resting / (_AT_HALF * self._distance)
        settings: dict[str, Any] = {
            "distance": self._distance,
            "stiffness": stiffness,
            "friction": self._friction,
            "slip": self._slip,
            "lagged": self._lagged,
        }
        _warn_of_distance(self._distance, mesh, stacklevel=6)
        obstacles = tuple(one._core for one in self._obstacles)
        surfaces = (*_surfaces(mesh, fixed), self._self_contact) if self._parts else None
        core = _core.Barrier(obstacles, mesh.nodes, points.points, settings, basis, surfaces)
        self._bound = mesh, stiffness, fixed, core, basis, mass, points
        return core

    def __repr__(self) -> str:
        with_what = [repr(one) for one in self._obstacles] + ["other parts"] * self._parts
        with_what += ["itself"] * self._self_contact
        return (
            f"<BarrierContact: with {', '.join(with_what)} from {self._distance:g} m, friction "
            f"{self._friction:g}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy belongs to no solid
        given = (
            self._obstacles or None,
            self._distance,
            self._stiffness,
            self._friction,
            self._slip,
        )
        return BarrierContact, (
            *given, self._lagged, self._nodes, self._parts, self._self_contact
        )  # fmt: skip


def _warn_of_distance(distance: float, mesh: Mesh, stacklevel: int) -> None:
    """Warn of a barrier that is thick for the thinnest part."""
    thinnest = np.inf
    part = mesh.components()
    for k in range(min(int(part.max()) + 1, _MANY)):
        thinnest = min(thinnest, float(np.ptp(mesh.nodes[mesh.elements[part == k]], (0, 1)).min()))
    if distance > _THICK * thinnest:
        warn(
            f"distance is {distance:g} m, but the thinnest part of the solid is {thinnest:.3g} m "
            f"thick: bodies at rest keep about half of distance; try {0.02 * thinnest:.1g} m",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )


def _surfaces(
    mesh: Mesh, fixed: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return nodes of the boundary, their parts, 1 for fixed ones, and its triangles."""
    nodes = mesh.boundary_nodes
    part = np.empty(mesh.n_nodes, dtype=np.int32)
    part[mesh.elements] = mesh.components()[:, None]
    held = np.isin(nodes, fixed).astype(np.int32)
    return nodes, part[nodes], held, mesh.surface().triangles
