"""Reports of haptic sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reducedfem import _core
from reducedfem.base.console import count_text
from reducedfem.contact.contact import Contact
from reducedfem.haptics.bodies import CoupledBodies, TouchedBody
from reducedfem.haptics.settings import HapticSettings

__all__ = ["HapticReport", "report_of"]

# thresholds of the advice: share of the cycles, chatter relative to the force, ratio to the
# stiffness that suits the coupling
_OFTEN, _CROWDS, _SHAKES, _STIFFER = 0.01, 0.1, 0.05, 4.0
_SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


@dataclass(frozen=True)
class HapticReport:
    """Statistics of a session so far.

    Attributes
    ----------
    phase
        "ready", "running", "stopped", "finished" or "failed".
    failure
        Reason of a failure; empty otherwise.
    device
        Name of the device; empty before it is opened for the first time.
    ticks
        Number of cycles.
    rate
        Cycles per second [Hz].
    over
        Number of cycles that computed longer than a period, without those that they made up for.
    interrupted
        Number of those that spent less than a period on a processor: the machine paused them.
    skipped
        Number of cycles skipped because an earlier one ended, or the thread woke, too late.
    unrecorded
        Number of records lost for lack of room.
    compute_us, processor_us, late_us, contact_us
        Computing time, with cycles made up for; the part of it on a processor; delay of the
        beginning of cycles; and time of contact [us]: by name "p50", "p99", "p99.9", "max",
        accurate to 1 %. The difference of the first two went to a hypervisor or other threads.
    depth
        Deepest penetration so far [m]; 0 without contact.
    max_depth
        Limit of the coupling, or of the touched body, for the depth [m]; None: no limit.
    too_deep
        Number of cycles with contact deeper than `max_depth` at that time, or jammed by friction.
    shortened
        Number of cycles in which a Newton increment was shortened (`ImplicitReport`).
    paused
        Number of cycles after a pause of 0.05 s or ten periods; forces fade in after each.
    made_up
        Number of cycles that made up for skipped ones before them (``docs/haptics.md``).
    unsolved, crowded
        Number of cycles whose forces with friction had a residual above 1e-3; and with fewer sites
        than touching points of a shell with a `LocalCompliance`, or a contact wider than its reach.
    stiffness, delay, damping, unanswered
        Of a touched body: largest stiffness felt at the device [N/m]; age of its state [s]; damping
        that it asks for [N s/m], the stiffness times half a period or the delay; number of cycles
        without an answer. 0 with a coupling; None: not known, after too short a contact.
    energy, most_energy
        Energy given to the hand so far, and its maximum over time [J]. A passive session never
        gives more than it has received; exceptions: ``docs/haptics.md``.
    touching, saturated
        Number of cycles with contact, and of those in which the coupling saturated or was
        relieved; the hand then does not feel the softness of the bodies.
    force, chatter
        Mean magnitude of the force on the hand in cycles with contact, and root mean square of
        its part faster than 20 ms [N].
    advice
        Sentences that suggest changes of the settings; empty if none is needed.
    priority, locked
        True if the thread has a real-time priority; True if memory is locked.
    not_allowed
        Reasons why the system refused either of these; empty if it did not.
    """

    phase: str
    failure: str
    device: str
    ticks: int
    rate: float
    over: int
    interrupted: int
    skipped: int
    unrecorded: int
    compute_us: dict[str, float]
    processor_us: dict[str, float]
    late_us: dict[str, float]
    contact_us: dict[str, float]
    depth: float
    max_depth: float | None
    too_deep: int
    shortened: int
    paused: int
    made_up: int
    unsolved: int
    crowded: int
    stiffness: float | None
    delay: float
    damping: float | None
    unanswered: int
    energy: float
    most_energy: float
    touching: int
    saturated: int
    force: float
    chatter: float
    advice: tuple[str, ...]
    priority: bool
    locked: bool
    not_allowed: str

    def __str__(self) -> str:
        """Return a table."""

        def times(all_of: dict[str, float]) -> str:
            return ", ".join(f"{name} {value:.1f}" for name, value in all_of.items()) + " us"

        rows = [
            ("session", self.phase + (f": {self.failure}" if self.failure else "")),
            ("device", self.device or "not opened yet"),
            ("cycles", f"{self.ticks} at {self.rate:g} Hz"),
            ("computing time", times(self.compute_us)),
            ("CPU time", times(self.processor_us)),
            ("contact evaluation", times(self.contact_us)),
            ("start delay of cycles", times(self.late_us)),
            ("overlong cycles", self._overlong()),
            ("skipped cycles", self._skipped()),
            ("maximum penetration", self._deepest()),
            ("energy given to hand", self._energy()),
            ("contact", self._felt()),
            ("real-time priority", "yes" if self.priority else "no"),
            ("locked memory", "yes" if self.locked else "no"),
        ]
        if self.paused:
            rows.append(("pauses of the machine", f"{self.paused}; forces faded in after each"))
        if self.stiffness is None or self.stiffness > 0.0:
            rows.append(("stiffness felt", self._stiff()))
        if self.unanswered:
            rows.append(("body did not answer", f"in {count_text(self.unanswered, 'cycle')}"))
        if self.unsolved:
            rows.append(("friction not solved", f"in {count_text(self.unsolved, 'cycle')}"))
        if self.crowded:
            rows.append(("points left out", f"in {count_text(self.crowded, 'cycle')}"))
        rows += [("advice", sentence) for sentence in self.advice]
        if self.unrecorded:
            rows.append(("lost records", f"those of {count_text(self.unrecorded, 'cycle')}"))
        if self.not_allowed:
            rows.append(("refused by the system", self.not_allowed))
        return "\n".join(f"{name:<24}{value}" for name, value in rows)

    def _overlong(self) -> str:
        period = 1e6 / self.rate
        found = f"{self.over} with a computing time above the period of {period:g} us"
        if self.interrupted:
            found += f"; the machine interrupted {self.interrupted} of them"
        if self.made_up:
            cycles = count_text(self.made_up, "cycle")
            found += f"; not counted: the time in which {cycles} made up for skipped ones"
        return found

    def _skipped(self) -> str:
        if not self.made_up:
            return str(self.skipped)
        return f"{self.skipped}; {count_text(self.made_up, 'later cycle')} made up for them"

    def _energy(self) -> str:
        # without rounding errors
        energy, most = (round(value, 12) for value in (self.energy, self.most_energy))
        found = f"{energy:.3g} J in total, maximum over time {most:.3g} J"
        return found + ("; negative: received from the hand" if energy < 0.0 else "")

    def _stiff(self) -> str:
        if self.stiffness is None:
            return "not known"
        late = f", felt {1e3 * self.delay:.3g} ms late" if self.delay else ""
        return (
            f"at most {self.stiffness:.4g} N/m{late}; hand and device need a damping of "
            f"{self.damping:.3g} N s/m"
        )

    def _felt(self) -> str:
        if not self.touching:
            return "none"
        share = 100.0 * self.saturated / self.touching
        saturated = f"; coupling saturated in {share:.3g} % of these cycles"
        return (
            f"{count_text(self.touching, 'cycle')}; force on the hand {self.force:.3g} N on "
            f"average, chatter {1e3 * self.chatter:.3g} mN rms"
            + (saturated if self.stiffness == 0.0 else "")
        )

    def _deepest(self) -> str:
        found = f"{1e3 * self.depth:.3g} mm"
        if self.max_depth is not None:
            found += f"; limit {1e3 * self.max_depth:.3g} mm"
        jams = self.stiffness != 0.0 and self.max_depth is not None and self.depth <= self.max_depth
        if self.too_deep and not jams:
            found += f"; LIMIT EXCEEDED in {count_text(self.too_deep, 'cycle')}"
        elif self.max_depth is not None:
            found += ", never exceeded"
        return found


def report_of(
    core: _core.Session,
    settings: HapticSettings,
    bodies: CoupledBodies | TouchedBody,
) -> HapticReport:
    """Return the report of a session so far."""
    status = core.status()
    place, holder = settings.place, bodies.touched or bodies.coupling
    stiffness: float | None = status["stiffest"] * place.force_scale / place.scale
    if bodies.touched is not None and status["touching"] and not stiffness:
        stiffness = None
    times = core.times(list(_SHARES.values()))
    named = [dict(zip(_SHARES, row.tolist(), strict=True)) for row in times]
    return HapticReport(
        phase=status["phase"],
        failure=status["failure"],
        device=core.device()[0],
        ticks=status["ticks"],
        rate=float(settings.rate),
        over=status["over"],
        interrupted=status["interrupted"],
        skipped=status["skipped"],
        unrecorded=status["unrecorded"],
        compute_us=named[0],
        processor_us=named[1],
        late_us=named[2],
        contact_us=named[3],
        depth=status["depth"],
        max_depth=None if holder is None else holder.max_depth,
        too_deep=status["too_deep"],
        shortened=status["shortened"],
        paused=status["paused"],
        made_up=status["made_up"],
        unsolved=status["unsolved"],
        crowded=status["crowded"],
        stiffness=stiffness,
        delay=status["delay"],
        damping=None
        if stiffness is None
        else stiffness * bodies.damped_time(settings.dt, status["delay"]),
        unanswered=status["unanswered"],
        energy=status["energy"],
        most_energy=status["most_energy"],
        touching=status["touching"],
        saturated=status["saturated"],
        force=status["force"],
        chatter=status["chatter"],
        advice=_advice(status, settings, bodies),
        priority=status["priority"],
        locked=status["locked"],
        not_allowed=status["not_allowed"],
    )


def _advice(
    status: dict[str, Any], settings: HapticSettings, bodies: CoupledBodies | TouchedBody
) -> tuple[str, ...]:
    """Return sentences that suggest changes of the settings."""
    coupling, contacts = bodies.coupling, bodies.contacts
    if bodies.touched is not None or coupling is None:
        return () if bodies.touched is None else tuple(bodies.touched._advice(status))
    found = []
    suited = _core.suited_stiffness(coupling.stiffness)
    held = coupling.stiffness if settings.suited else 0.0
    given = [c._core.stiffest(held, status["depth"]) for c in contacts]
    ways = {c._follows for c in contacts} if settings.suited else set()
    better = " or ".join(sorted(filter(None, ways))) or "20 times the coupling's stiffness"
    if status["saturated"] > _OFTEN * status["touching"]:
        found.append(
            "the coupling saturates or is relieved: raise its max_force to at least twice the "
            "largest force of the device, and its max_depth [m] to at least 4 F / "
            f"({suited:g} N/m), where F is the largest contact force [N]"
        )
    if max(given) > _STIFFER * suited and status["chatter"] > _SHAKES * status["force"]:
        found.append(
            f"the contact stiffness of {max(given):g} N/m per point is higher than the coupling "
            f"needs, and the force chatters: use {better}, here {suited:g} N/m"
        )
    if status["shortened"] > _OFTEN * status["ticks"]:
        found.append(
            f"in {count_text(status['shortened'], 'cycle')} the period was too long for the "
            "motion of a body, so the force of that body was wrong: use coupled=True, a higher "
            "rate, more damping or a heavier body"
        )
    if status["unsolved"] > _OFTEN * status["ticks"]:
        found.append(
            f"in {count_text(status['unsolved'], 'cycle')} the forces with friction were not "
            "solved for, for lack of time or because a body is pinched: give FrictionContact a "
            "smaller number of sites, a larger compliance, or it and the session a larger budget_us"
        )
    if status["crowded"] > _CROWDS * status["touching"]:
        found.append(
            f"in {count_text(status['crowded'], 'cycle')} more points touched than the "
            f"FrictionContacts have sites, {_sites(contacts)}, or than are in the reach of a "
            "LocalCompliance, so that forces were inaccurate: take a shell about as coarse as the "
            "elements, more sites if there is time, and a reach of the largest contact, or 0"
        )
    if 0.0 < min(given) < suited / _STIFFER:
        found.append(
            f"the contact stiffness of {min(given):g} N/m per point is low for the coupling, so "
            f"bodies feel softer than they are: use {better}, here {suited:g} N/m"
        )
    return tuple(found)


def _sites(contacts: Sequence[Contact]) -> int:
    """Return the number of sites in a cycle."""
    return max(int(one.options["sites"]) for one in contacts)
