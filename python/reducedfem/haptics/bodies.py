"""Bodies of a session: contacts of a held object with a coupling, or a body that is touched."""

from __future__ import annotations

from typing import Any

from reducedfem import _core
from reducedfem.contact.contact import Contact
from reducedfem.dynamics.explicit import CentralDifferences
from reducedfem.dynamics.integrator import ImplicitSimulation
from reducedfem.errors import InputError
from reducedfem.haptics import session_parts as parts
from reducedfem.haptics.coupling import DynamicCoupling, VirtualCoupling
from reducedfem.haptics.devices import Device
from reducedfem.haptics.settings import HapticSettings
from reducedfem.solid.plausible import warn_of_reach
from reducedfem.touch.explicit import touched_of
from reducedfem.touch.touched import Touched

__all__ = ["CoupledBodies", "TouchedBody", "bodies_of"]

Coupling = VirtualCoupling | DynamicCoupling


class CoupledBodies:
    """Contacts, simulations and the coupling that moves the held object."""

    touched: Touched | None = None
    given: Touched | CentralDifferences | None = None

    def __init__(
        self,
        contact: Any,
        device: Device,
        coupling: Coupling,
        simulation: Any,
        field_simulation: ImplicitSimulation | None,
    ) -> None:
        self.contacts, self.simulations, self.others = parts.sequences(contact, simulation)
        parts.check_kinds(device, coupling, field_simulation)
        self.field_simulation, self._rests = field_simulation, simulation is None
        self._given = coupling
        self.coupling: Coupling | None = coupling

    def check(self, device: Device, settings: HapticSettings, stacklevel: int) -> None:
        """Reject bodies that do not belong together, and warn of those that are not plausible."""
        contacts, others = self.contacts, self.others
        parts.check_parts(contacts, self.simulations, others, self.field_simulation, settings.dt)
        if self._rests:
            parts.warn_of_rest(contacts, stacklevel)
        parts.warn_of_equal_fields(contacts, others, stacklevel)
        parts.warn_of_copies(contacts, self.simulations, stacklevel)
        warn_of_reach(parts.lengths(contacts, device, settings.place.scale), stacklevel + 1)
        self.coupling = self._given._reaching(contacts[0])

    def session(self, device: Device, settings: HapticSettings) -> _core.Session:
        """Return the session of the core."""
        assert self.coupling is not None
        static, dynamics = parts.split(self.coupling, settings.dt)
        field = self.field_simulation
        return _core.Session(
            device._core,
            tuple(c._core for c in self.contacts),
            tuple(None if s is None else s._core for s in self.simulations),
            tuple(getattr(b, "_core", b) for b in parts.field_bodies(self.contacts, self.others)),
            None if field is None else field._core,
            static,
            dynamics,
            settings.core(device),
        )

    def coupled_by(self, coupling: Coupling, dt: float) -> tuple[Coupling, Any, Any]:
        """Return another coupling with the reach of the object, and its settings."""
        parts.check_coupling(coupling)
        # a given reach, or that of the held object
        known = coupling._reaching(self.contacts[0])
        return (known, *parts.split(known, dt))

    def damped_time(self, dt: float, delay: float) -> float:
        """Return the time by which the stiffness of a touched body asks for damping [s]."""
        return 0.5 * dt

    def require_real_time(self) -> None:
        """Do nothing: cycles have a budget."""

    def restore(self, core: _core.Session) -> None:
        """Copy the states of a session that has ended to the simulations."""
        parts.restore(core, self.simulations, self.field_simulation)

    def warn_of_strains(self, restored: bool) -> None:
        """Warn of strained cubatures, at the caller of the method that calls this."""
        parts.warn_of_strains(restored, self.simulations, self.field_simulation)


class TouchedBody:
    """A body that the hand touches directly."""

    contacts: tuple[Contact, ...] = ()
    simulations: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()
    field_simulation: ImplicitSimulation | None = None
    coupling: Coupling | None = None

    def __init__(self, touched: Touched, device: Device) -> None:
        parts.check_device(device)
        self.touched: Touched = touched
        self.given: Touched | CentralDifferences = touched.given

    def check(self, device: Device, settings: HapticSettings, stacklevel: int) -> None:
        """Warn of bodies that are too large for a hand."""
        self.touched._begin(settings.dt)
        size = settings.place.scale * float((self.touched._box()[1] - self.touched._box()[0]).max())
        found = {"the touched body": size, **parts.travel(device)}
        warn_of_reach(found, stacklevel + 1)

    def session(self, device: Device, settings: HapticSettings) -> _core.Session:
        """Return the session of the core."""
        return _core.Session(device._core, self.touched._core, settings.core(device))

    def coupled_by(self, coupling: Coupling, dt: float) -> tuple[Coupling, Any, Any]:
        """Refuse a coupling."""
        raise InputError(
            f"the session has no coupling: its hand touches the {type(self.touched).__name__} "
            "directly"
        )

    def damped_time(self, dt: float, delay: float) -> float:
        """Return the time by which the stiffness of the body asks for damping [s]."""
        return self.touched._damped_time(dt, delay)

    def require_real_time(self) -> None:
        """Refuse a body whose work does not fit into the time between cycles."""
        self.touched._require_real_time()

    def restore(self, core: _core.Session) -> None:
        """Copy the state of a session that has ended to the body."""
        self.touched._restore(core)

    def warn_of_strains(self, restored: bool) -> None:
        """Do nothing: the body has no cubature."""


def bodies_of(
    contact: Any,
    device: Device,
    coupling: Any,
    simulation: Any,
    field_simulation: Any,
    interpolation: Any,
    simulation_rate: Any,
) -> CoupledBodies | TouchedBody:
    """Return the bodies of a session; reject parts that do not belong to their kind."""
    touched = touched_of(contact, interpolation, simulation_rate)
    if touched is None:
        if coupling is None:
            parts.sequences(contact, simulation)  # a contact of a wrong class comes first
            raise InputError(
                "coupling is None: the held object of a Contact needs a coupling to the hand, such "
                "as VirtualCoupling.for_contact(contact)"
            )
        return CoupledBodies(contact, device, coupling, simulation, field_simulation)
    name = type(contact).__name__
    for what, given in (("coupling", coupling), ("simulation", simulation),
                        ("field_simulation", field_simulation)):  # fmt: skip
        if given is not None:
            why = {
                "coupling": "answers the hand directly, so a coupling has no object to hold",
                "simulation": "has its own state",
                "field_simulation": "has no held object that could deform",
            }[what]
            raise InputError(f"{what} is given, but a {name} {why}: leave it out")
    return TouchedBody(touched, device)
