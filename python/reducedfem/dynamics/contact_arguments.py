"""Arguments of steps in contact with a moved object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import reals, rotations
from reducedfem.contact.barrier import BarrierContact
from reducedfem.contact.combined_field import Field
from reducedfem.contact.contact import Contact, require_contact
from reducedfem.contact.rigid_proxy import RigidProxy
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.constraints import standing
from reducedfem.geometry.pose import Pose, pose_arguments, poses_arguments
from reducedfem.reduction.projected import ProjectedSolid
from reducedfem.reduction.reduced import ReducedSolid, same_motion
from reducedfem.solid.solid import Solid

__all__ = ["barrier_of", "model_in_contact", "proxies", "proxies_of", "repeated", "trajectory"]


_FOLLOWS = "use BackwardEuler or BDF2, with newton_max=50"


def barrier_of(
    contact: object, kind: str, reason: str | None, system: object, newton_max: int
) -> _core.Barrier | None:
    """Return the argument `contact` of an integrator in the core; refuse what may cross it.

    reason: why the integrator `kind` takes no barrier; None: it does.
    """
    if contact is None:
        return None
    if not isinstance(contact, BarrierContact):
        hint = "; a PenaltyContact goes to `step`" if isinstance(contact, Contact) else ""
        if isinstance(contact, RigidProxy):
            hint = "; a RigidProxy is for CentralDifferences"
        raise InputTypeError(
            f"contact must be a BarrierContact or None, got {type(contact).__name__}{hint}"
        )
    if reason is not None:
        raise InputError(f"contact: {kind} takes no BarrierContact, as {reason}; {_FOLLOWS}")
    if not isinstance(system, Solid | ReducedSolid | ProjectedSolid):
        raise InputTypeError(
            "contact: a BarrierContact acts on the nodes of a Solid or of a model of it, got a "
            f"system of type {type(system).__name__}, which has none"
        )
    if newton_max == 1:
        raise InputError(
            "newton_max is 1: a step by one linearization may cross a barrier, and one that is cut "
            "short of it is far from balance; with contact take newton_max=50"
        )
    if isinstance(system, Solid):
        return contact._bind(system.mesh, system.fixed, system.total_mass, None)
    if isinstance(system, ProjectedSolid):
        solid = system.solid
        return contact._bind(solid.mesh, solid.fixed, solid.total_mass, system.basis)
    mass = system.provenance["solid"]["total_mass"]
    return contact._bind(system.mesh, system.fixed, mass, system.basis)


def proxies_of(
    contact: object, system: object
) -> tuple[tuple[_core.Proxy, ...], NDArray[np.int32]] | None:
    """Return the argument `contact` of explicit steps in the core: bodies, and nodes to touch them.

    None: there is none, or a BarrierContact, which `barrier_of` refuses.
    """
    if contact is None or isinstance(contact, BarrierContact):
        return None
    bodies = proxies(contact)
    if not isinstance(system, Solid):
        raise InputTypeError(
            "contact: a RigidProxy touches the nodes of a Solid, got a system of type "
            f"{type(system).__name__}; reduced models take a PenaltyContact in the `step` of "
            "implicit integrators"
        )
    mesh = system.mesh
    nodes = np.setdiff1d(mesh.boundary_nodes, standing(mesh.constraints, system.fixed))
    return tuple(body._core for body in bodies), nodes.astype(np.int32)


def proxies(contact: object) -> tuple[RigidProxy, ...]:
    """Return the bodies of an argument `contact`: a RigidProxy, or several."""
    several = isinstance(contact, list | tuple)
    bodies = tuple(contact) if isinstance(contact, list | tuple) else (contact,)
    for k, body in enumerate(bodies):
        if not isinstance(body, RigidProxy):
            name = f"contact[{k}]" if several else "contact"
            hint = ": make one, RigidProxy(field)" if isinstance(body, Field) else ""
            also = "" if several else ", a list of them or None"
            raise InputTypeError(
                f"{name} must be a RigidProxy{also}, got {type(body).__name__}{hint}"
            )
        if body in bodies[:k]:
            raise InputError(
                f"contact[{k}] is contact[{bodies.index(body)}] again: make a RigidProxy for each "
                "body; they may share a field"
            )
    if not bodies:
        raise InputError("contact is empty: pass at least one RigidProxy, or None")
    return tuple(body for body in bodies if isinstance(body, RigidProxy))


def model_in_contact(system: object, contact: Contact) -> ReducedSolid:
    """Return the reduced model of a step in contact; refuse arguments that do not match."""
    require_contact(contact)
    if not contact._in_steps:
        raise InputTypeError(
            f"contact is a {type(contact).__name__}, which acts in haptic sessions only: steps in "
            "contact take a PenaltyContact"
        )
    if not isinstance(system, ReducedSolid):
        raise InputTypeError(
            "contact is for an implicit integrator of a ReducedSolid, got one of "
            f"{type(system).__name__}"
        )
    model = contact.tree.reduced
    if model is None:
        raise InputError("contact.tree is rigid: make it with the model, PointTree(shell, reduced)")
    if not same_motion(model, system):
        raise InputError(
            "contact.tree.reduced is another model than that of the simulation: their coordinates "
            "are other displacements"
        )
    return system


def repeated(value: ArrayLike, name: str, n: int) -> NDArray[np.float64]:
    """Return an array with one row per step."""
    array = reals(value, name)
    if array.ndim == 1:
        array = np.broadcast_to(array, (n, len(array)))
    if array.ndim != 2 or len(array) != n:
        raise InputError(f"{name} has shape {array.shape}; there are {n} steps")
    return array


def trajectory(
    position: ArrayLike | Pose | Sequence[Pose] | None, quaternion: ArrayLike | None, steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one position and quaternion per step, (n, 3) and (n, 4)."""
    if position is None:
        raise InputTypeError("position is missing: contact needs the pose of the object")
    one = isinstance(position, Pose) or quaternion is not None
    given = pose_arguments if one else poses_arguments
    places, turns = given(position, quaternion)
    at = reals(places, "position")
    n = steps
    if at.ndim == 2:
        n = len(at)
        if steps not in (1, n):
            raise InputError(f"n is {steps}, but position has {n} poses: leave n out")
    return repeated(at, "position", n), repeated(rotations(turns, "quaternion"), "quaternion", n)
