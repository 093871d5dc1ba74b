"""Checks of the contacts and simulations of a haptic session, before anything is copied."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from reducedfem import _core
from reducedfem.base.console import count_text
from reducedfem.contact.contact import Contact, any_contact, barrier_hint
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import DistanceField
from reducedfem.dynamics.free_body import FreeBody
from reducedfem.dynamics.integrator import ImplicitSimulation
from reducedfem.errors import InputError, InputTypeError, PlausibilityWarning
from reducedfem.haptics.coupling import DynamicCoupling, VirtualCoupling
from reducedfem.haptics.devices import Device
from reducedfem.reduction.reduced import ReducedSolid, same_motion
from reducedfem.touch.explicit import is_touched

__all__ = [
    "Simulation",
    "check_coupling",
    "check_device",
    "check_kinds",
    "check_parts",
    "field_bodies",
    "lengths",
    "restore",
    "sequences",
    "split",
    "travel",
    "warn_of_copies",
    "warn_of_equal_fields",
    "warn_of_rest",
]


_Shell = ImplicitSimulation | FreeBody
Simulation = _Shell | tuple[_Shell | None, FreeBody]


def _a(kind: Any) -> str:
    if kind is _Shell:
        return "an implicit integrator, a FreeBody, or a pair (simulation of the shell, FreeBody)"
    if kind is Contact:
        return any_contact()
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def _touched_hint(item: object) -> str:
    """Return the bodies that are touched directly, and advice for one in a sequence."""
    if is_touched(item):
        return ", which the hand touches alone: pass it by itself, not in a sequence"
    return (
        "; a hand may also touch one body directly: a PointProxyContact, or a CentralDifferences "
        "with contact=RigidProxy(field)"
    )


def _sequence(value: Any, name: str, kind: Any, none: bool) -> tuple[Any, ...]:
    """Return one object or several of a class, or None if `none`, as a tuple; refuse others."""
    items = (value,) if isinstance(value, kind) else value
    try:
        result = tuple(items)
    except TypeError:
        result = (value,)
    for k, item in enumerate(result):
        if not (isinstance(item, kind) or (none and item is None)):
            place = name if len(result) == 1 else f"{name}[{k}]"
            touched = _touched_hint(item) if kind is Contact else ""
            raise InputTypeError(
                f"{place} must be {_a(kind)}, got {type(item).__name__}{barrier_hint(item)}"
                f"{touched}"
            )
    if not result:
        raise InputError(f"{name} is empty")
    return result


def _parts_of(given: Any) -> tuple[tuple[Any, ...], tuple[FreeBody | None, ...]]:
    """Return simulations of the shells and bodies of the fields, of pairs and single ones."""
    pairs = [
        isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[1], FreeBody)
        for one in given
    ]
    shells = tuple(one[0] if pair else one for one, pair in zip(given, pairs, strict=True))
    others = tuple(one[1] if pair else None for one, pair in zip(given, pairs, strict=True))
    return shells, others


def sequences(
    contact: Any, simulation: Any
) -> tuple[tuple[Contact, ...], tuple[_Shell | None, ...], tuple[FreeBody | None, ...]]:
    """Return contacts, simulations of their shells, and free bodies with their fields.

    One for each contact; other types and lengths are rejected.
    """
    contacts = _sequence(contact, "contact", Contact, none=False)
    n = len(contacts)
    given = [None] * n if simulation is None else simulation
    if isinstance(given, _Shell) or not isinstance(given, Iterable):
        given = (given,)
    shells, others = _parts_of(tuple(given))
    shells = _sequence(shells, "simulation", _Shell, none=True)
    if len(shells) != n:
        raise InputError(
            f"simulation has {count_text(len(shells), 'element')}, contact has {n}: give one "
            "simulation for each contact, None for a shell at rest, or a pair (simulation of the "
            "shell, FreeBody of the field)"
        )
    return contacts, shells, others


def check_coupling(coupling: object) -> None:
    """Reject all but couplings."""
    if not isinstance(coupling, VirtualCoupling | DynamicCoupling):
        raise InputTypeError(
            "coupling must be a VirtualCoupling or a DynamicCoupling, got "
            f"{type(coupling).__name__}"
        )


def check_device(device: object) -> None:
    """Reject all but devices."""
    if not isinstance(device, Device):
        raise InputTypeError(
            f"device must be a Device, such as SimulatedHand, got {type(device).__name__}"
        )


def check_kinds(device: object, coupling: object, field_simulation: object) -> None:
    """Reject parts of other classes."""
    if field_simulation is not None and not isinstance(field_simulation, ImplicitSimulation):
        raise InputTypeError(
            "field_simulation must be an implicit integrator, got "
            f"{type(field_simulation).__name__}"
        )
    check_device(device)
    check_coupling(coupling)


def split(
    coupling: VirtualCoupling | DynamicCoupling, dt: float
) -> tuple[dict[str, float], dict[str, float] | None]:
    """Return the settings of a coupling and of its dynamics, if any, for the core."""
    if isinstance(coupling, DynamicCoupling):
        return coupling._core_settings(dt)
    return coupling._core_settings(dt), None


def _check_simulation(
    simulation: ImplicitSimulation, name: str, moved: ReducedSolid | None, what: str, dt: float
) -> None:
    model = simulation.system
    if not isinstance(model, ReducedSolid):
        raise InputTypeError(
            f"{name} must be an implicit integrator of a ReducedSolid, got one of {_a(type(model))}"
        )
    # rigid bodies and other numbers of coordinates are rejected in C, with better messages
    if moved is not None and moved.r == model.r and not same_motion(model, moved):
        raise InputError(
            f"{name} simulates another model than {what}, so their reduced coordinates differ in "
            "meaning: make both of the same ReducedSolid"
        )
    ratio = dt / simulation.dt
    if not (ratio > 0.5 and abs(ratio - round(ratio)) < 1e-6 * ratio):
        near = dt / max(1, round(ratio))
        raise InputError(
            f"{name} has steps of {simulation.dt:g} s, which must divide a cycle of "
            f"{dt:g} s into whole steps (rate {1.0 / dt:g}): make it with dt={near:g}"
        )


def _check_free(body: FreeBody, name: str, contact: Contact, shell: str) -> None:
    model = contact.tree.reduced
    if model is not None and model.r == body.reduced.r and not same_motion(body.reduced, model):
        raise InputError(
            f"{name} is a body of another model than {shell}: make both of the same ReducedSolid"
        )


def field_bodies(
    contacts: tuple[Contact, ...], others: tuple[FreeBody | None, ...]
) -> tuple[FreeBody | bool | None, ...]:
    """Return the bodies with the fields: free ones; True: at rest; None: the held object."""
    held = contacts[0].field
    return tuple(
        other if other is not None else (True if contact.field is not held else None)
        for contact, other in zip(contacts, others, strict=True)
    )


def _check_fields(
    contacts: tuple[Contact, ...],
    simulations: tuple[_Shell | None, ...],
    others: tuple[FreeBody | None, ...],
) -> None:
    for k, body in enumerate(field_bodies(contacts, others)):
        if body is True and not isinstance(simulations[k], FreeBody):
            raise InputError(
                f"contact[{k}] and contact[0] have different fields: make all contacts with the "
                "field of the one object that is held; only a FreeBody may have contact with "
                "another field, which is at rest in the world"
            )
        if body is True and isinstance(contacts[k].field, DeformedField):
            raise InputError(
                f"contact[{k}].field is a DeformedField at rest in the world: give its "
                f"DistanceField, or a pair (simulation of the shell, FreeBody of the field) as "
                f"simulation[{k}]"
            )
        if not isinstance(body, FreeBody):
            continue
        if k == 0 or contacts[k].field is contacts[0].field:
            raise InputError(
                f"simulation[{k}] has a body for the field of contact[{k}], which is that of the "
                "held object: give the body of the shell alone"
            )
        if simulations[k] is body:
            raise InputError(f"simulation[{k}] has the same FreeBody twice")
        if not any(simulation is body for simulation in simulations):
            raise InputError(
                f"the second FreeBody of simulation[{k}] has no shell: make a contact of its own "
                "PointTree, too, with the held object or the ground"
            )
        field = contacts[k].field
        if isinstance(field, DeformedField) and not same_motion(body.reduced, field.reduced):
            raise InputError(
                f"the second FreeBody of simulation[{k}] is a body of another model than "
                f"contact[{k}].field.reduced: make both of the same ReducedSolid"
            )


def _check_compliances(contacts: tuple[Contact, ...]) -> None:
    """Reject a compliance and None; the core compares those that are given."""
    given = [c.options["compliance"] for c in contacts if "compliance" in c.options]
    if len(given) < len(contacts):
        return  # rejected in C: they have no friction
    for k, one in enumerate(given):
        if (one is None) != (given[0] is None):
            texts = [f"{x:g} m/N" if x is not None else "None" for x in (one, given[0])]
            raise InputError(
                f"contact {k} has the compliance {texts[0]}, contact 0 {texts[1]}: give both the "
                "same one; None is a thousandth of that of the bodies at the sites"
            )


def check_parts(
    contacts: tuple[Contact, ...],
    simulations: tuple[_Shell | None, ...],
    others: tuple[FreeBody | None, ...],
    field_simulation: ImplicitSimulation | None,
    dt: float,
) -> None:
    """Reject contacts and simulations that do not belong together."""
    n = len(contacts)
    which = [""] if n == 1 else [f"[{k}]" for k in range(n)]
    names = [f"simulation{k}" for k in which]
    _check_fields(contacts, simulations, others)
    _check_compliances(contacts)
    for k, (contact, simulation) in enumerate(zip(contacts, simulations, strict=True)):
        if simulation is None:
            continue
        shell = f"contact{which[k]}.tree.reduced"
        if isinstance(simulation, FreeBody):
            _check_free(simulation, names[k], contact, shell)
            continue
        _check_simulation(simulation, names[k], contact.tree.reduced, shell, dt)
        for before in range(k):
            if simulation is simulations[before]:
                raise InputError(
                    f"{names[k]} and {names[before]} are the same simulation: give each shell its "
                    "own, such as a clone()"
                )
    if field_simulation is not None:
        field = contacts[0].field
        moved = field.reduced if isinstance(field, DeformedField) else None
        _check_simulation(field_simulation, "field_simulation", moved, "contact.field.reduced", dt)
        for k, simulation in enumerate(simulations):
            if simulation is field_simulation:
                raise InputError(
                    f"field_simulation and {names[k]} are the same simulation: give each body its "
                    "own, such as a clone()"
                )


def restore(
    core: _core.Session,
    simulations: tuple[_Shell | None, ...],
    field_simulation: ImplicitSimulation | None,
) -> None:
    """Copy the states of a session that has ended to the simulations."""
    for k, simulation in enumerate((*simulations, field_simulation)):
        if simulation is not None:
            core.restore(-1 if k == len(simulations) else k, simulation._core)


def warn_of_strains(
    restored: bool,
    simulations: tuple[_Shell | None, ...],
    field_simulation: ImplicitSimulation | None,
) -> None:
    """Warn of strained cubatures, at the caller of the method of a session that calls this."""
    for simulation in (*simulations, field_simulation):
        if restored and simulation is not None:
            simulation._warn_of_strain(stacklevel=4)


def warn_of_rest(contacts: tuple[Contact, ...], stacklevel: int) -> None:
    """Warn if shells can deform and no simulation was passed."""
    soft = [k for k, contact in enumerate(contacts) if contact.tree.reduced is not None]
    if not soft:
        return
    which = "contact" if len(contacts) == 1 else f"contact[{soft[0]}]"
    nothing = ", ".join(["None"] * len(contacts))
    model = contacts[soft[0]].tree.reduced
    advised = "pass simulation=ImplicitNewmark(reduced, dt)"
    if model is not None and model.rigid_body is not None:
        advised = "pass simulation=FreeBody(reduced, dt)"
        if "mu" not in contacts[soft[0]].options:
            advised = f"make it a FrictionContact and {advised}"
    warnings.warn(
        f"simulation is None, so the shell of {which} stays at rest although it can deform "
        f"(r = {contacts[soft[0]].tree.r}): {advised} with the model "
        f"of its PointTree, or simulation=[{nothing}] if a rigid shell is meant",
        PlausibilityWarning,
        stacklevel=stacklevel + 1,
    )


def warn_of_equal_fields(
    contacts: tuple[Contact, ...], others: tuple[FreeBody | None, ...], stacklevel: int
) -> None:
    """Warn if a field that rests in the world is the same region as that of the held object."""
    held = contacts[0].field
    for k, body in enumerate(field_bodies(contacts, others)):
        field, points = contacts[k].field, contacts[k].tree.shell.points
        if body is not True or type(field) is not type(held):
            continue
        if isinstance(field, DeformedField) or isinstance(held, DeformedField):
            continue
        values = (each.distance_and_gradient(points) for each in (field, held))
        if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*values, strict=True)):
            warnings.warn(
                f"contact[{k}].field equals contact[0].field, but is another object, so it is at "
                "rest in the world: if the held object is meant, give both contacts one field",
                PlausibilityWarning,
                stacklevel=stacklevel + 1,
            )


def warn_of_copies(
    contacts: tuple[Contact, ...], simulations: tuple[_Shell | None, ...], stacklevel: int
) -> None:
    """Warn if two free bodies at one place have one tree, as if they were meant to be one body."""
    seen: dict[tuple[object, ...], tuple[int, FreeBody]] = {}
    for k, (contact, body) in enumerate(zip(contacts, simulations, strict=True)):
        if not isinstance(body, FreeBody):
            continue
        pose = body.state
        key = (contact.tree, *map(float, pose.position), *map(float, pose.quaternion))
        first, other = seen.setdefault(key, (k, body))
        if other is not body:
            warnings.warn(
                f"simulation[{first}] and simulation[{k}] are two FreeBody objects with one tree "
                "and one pose, and each is a body of its own: if one body with both contacts is "
                "meant, give the same object twice",
                PlausibilityWarning,
                stacklevel=stacklevel + 1,
            )
            return


def lengths(contacts: tuple[Contact, ...], device: Device, scale: float) -> dict[str, float]:
    """Return the longest sides of the boxes of the device's path, shells and field [m].

    Lengths are in the frame of the device: `scale` is its metres per metre in the world.
    """
    field = contacts[0].field
    if isinstance(field, DeformedField):
        field = field.field
    box = field.bounds if isinstance(field, DistanceField) else field._core.bounds
    boxes = {"the field of contact": box}
    for k, contact in enumerate(contacts):
        name = "contact" if len(contacts) == 1 else f"contact[{k}]"
        boxes[f"the shell of {name}"] = contact.tree.shell.points
    found = {name: scale * float(np.ptp(box, axis=0).max()) for name, box in boxes.items()}
    return found | travel(device)


def travel(device: Device) -> dict[str, float]:
    """Return the longest side of the box of the device's path [m], with a name for it."""
    return {"the path of the device": getattr(device, "_travel", 0.0)}
