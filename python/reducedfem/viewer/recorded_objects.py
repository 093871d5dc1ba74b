"""Objects of recorded sessions: their states in the records, and a check that they are theirs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.console import count_text
from reducedfem.contact.contact import Contact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.field import DistanceField
from reducedfem.contact.point_tree import PointTree
from reducedfem.dynamics.free_body import FreeBody
from reducedfem.errors import InputError, PlausibilityWarning
from reducedfem.geometry.pose import Pose
from reducedfem.haptics.session import HapticSession
from reducedfem.haptics.session_parts import field_bodies
from reducedfem.io.record_file import STATE, record_sizes
from reducedfem.viewer.parts import Track, origins
from reducedfem.viewer.recorded_forces import RecordedForces

__all__ = ["RecordedObjects", "disagreement", "sizes_text", "sound_cycles", "warn_of_others"]

_CYCLES = 10  # cycles with contact that are compared, and as many without
_POINTS = 20_000  # points of a shell that are compared; those of coarse levels are first
_TOLERANCE = 0.01  # of the size of the smaller object
_BLAMED = 0.5  # part of the compared cycles that disagree

Reals = NDArray[np.float64]
_HELD, _REST = -1, -2  # in place of the number of a shell: the held object, the world


@dataclass(frozen=True)
class Comparison:
    """A recorded cycle beside the objects at their recorded places.

    Attributes
    ----------
    cycle
        Number of the record.
    depth, touching
        Recorded penetration [m] and number of touching points.
    gap, coarse
        Least distance of the points [m], negative inside; that of the points of the levels that
        were rendered.
    moved
        Way of the bodies since the record before [m]: contact is that of the time between.
    """

    cycle: int
    depth: float
    touching: int
    gap: float
    coarse: float
    moved: float

    @property
    def error(self) -> float:
        """Distance by which the objects are farther apart, or deeper, than recorded [m]."""
        # of several contacts only the coarsest level is known, so others may have found more
        apart = self.gap + self.depth if self.touching > 0 or self.depth > 0.0 else 0.0
        deeper = -(self.coarse + self.depth)
        return max(apart - self.moved, deeper - self.moved, 0.0)


@dataclass(frozen=True)
class RecordedShell:
    """A shell of a session.

    Attributes
    ----------
    name
        "shell 0", by the first contact with it.
    tree
        Its points.
    free
        Number of its free body in the records; None: its frame is that of the world.
    q
        Its coordinates in the records; None: it does not deform.
    """

    name: str
    tree: PointTree
    free: int | None
    q: slice | None


class RecordedObjects:
    """Shells and held object of a session, and where the records have their states.

    Attributes
    ----------
    contacts
        Contacts of the session.
    shells
        Shells of different bodies.
    held_q
        Coordinates of the held object in the records; None: it does not deform.
    known
        False if the records have no states of bodies that move.
    size
        Diagonal of the smallest object [m].

    Raises
    ------
    InputError
        The records have other numbers of free bodies and coordinates.
    """

    def __init__(self, x: HapticSession | Contact, records: NDArray[np.void]) -> None:
        found = record_sizes(records.dtype)
        assert found is not None
        self.shells: list[RecordedShell] = []
        self._count = [0, 0]  # free bodies and coordinates so far
        # of each contact, the number of its shell, and that of the shell of the body of its field
        self._pairs: list[tuple[int, int]] = []
        if isinstance(x, HapticSession):
            self.contacts = x.contacts
            self._of_session(x)
            held = x._bodies.field_simulation is not None
        else:
            self.contacts = (x,)
            self._of_contact(x, *found[:2])
            held = True
        self.held_q: slice | None = None
        field = self.contacts[0].field
        if held and isinstance(field, DeformedField):
            self.held_q = self._take(field.r)
        sizes = self._sizes()
        self.size, self._reach = min(sizes), max(sizes)
        own = (self._count[0], self._count[1], 0)
        self.known = found == own
        if not self.known and found != (0, 0, 0):
            raise InputError(
                f"the records have {sizes_text(*found)} in a cycle, the objects shown have "
                f"{sizes_text(*own)}: view them with the session or scene that was recorded"
            )

    def _take(self, r: int) -> slice:
        self._count[1] += r
        return slice(self._count[1] - r, self._count[1])

    def _add(self, k: int, tree: PointTree, free: bool, r: int) -> None:
        """Add the shell of contact k; r: coordinates of its body, 0: at rest."""
        place = self._count[0] if free else None
        self._count[0] += free
        self.shells.append(RecordedShell(f"shell {k}", tree, place, self._take(r) if r else None))

    def _of_session(self, session: HapticSession) -> None:
        of_body: dict[int, int] = {}
        own = []
        for k, (contact, body) in enumerate(
            zip(self.contacts, session._bodies.simulations, strict=True)
        ):
            if id(body) not in of_body or not isinstance(body, FreeBody):
                of_body[id(body)] = len(self.shells)
                free = isinstance(body, FreeBody)
                r = body.reduced.r if isinstance(body, FreeBody) else contact.tree.r
                self._add(k, contact.tree, free, 0 if body is None else r)
            own.append(of_body[id(body)])
        for shell, field in zip(
            own, field_bodies(self.contacts, session._bodies.others), strict=True
        ):
            on = _HELD if field is None else _REST if field is True else of_body[id(field)]
            self._pairs.append((shell, on))

    def _of_contact(self, contact: Contact, free: int, coordinates: int) -> None:
        """Add the shell of a contact, which moves if the records have coordinates for it."""
        field = contact.field.r if isinstance(contact.field, DeformedField) else 0
        r = contact.tree.r
        if free:
            r = max(coordinates - field, r)
        elif coordinates == field and field:
            r = 0
        self._add(0, contact.tree, free > 0, r)
        self._pairs.append((0, _HELD))

    def places(self, records: NDArray[np.void], shell: RecordedShell) -> Reals | None:
        """Return the frame of a shell in each cycle, as of `Clip`; None: that of the world."""
        if shell.free is None or not self.known:
            return None
        at = records["body_position"][:, shell.free], records["body_quaternion"][:, shell.free]
        return np.column_stack(at)

    def held_places(self, records: NDArray[np.void]) -> Reals:
        """Return the frame of the held object in each cycle."""
        turns = records["object_quaternion"]
        grasp = self.contacts[0].options["grasp"]
        return np.column_stack([origins(records["object_position"], turns, grasp), turns])

    def coordinates(self, records: NDArray[np.void], part: slice | None) -> Reals | None:
        """Return the coordinates of a body in each cycle, (m, r); None: at rest."""
        if part is None or not self.known:
            return None
        return records["q"][:, part].astype(np.float64)

    def tracks(self, records: NDArray[np.void]) -> tuple[Track, ...]:
        """Return the motions of the shells and of the held object, the bodies of a scene."""
        shells = [
            Track(
                k,
                self.coordinates(records, shell.q) if shell.tree.r else None,
                self.places(records, shell),
            )
            for k, shell in enumerate(self.shells)
        ]
        moving = [one for one in shells if one.q is not None or one.places is not None]
        held = self.coordinates(records, self.held_q), self.held_places(records)
        return (*moving, Track(len(shells), *held))

    def forces(self, records: NDArray[np.void], shell: int) -> RecordedForces:
        """Return the forces that bend a shell with a local compliance."""
        contacts = [i for i, (own, _) in enumerate(self._pairs) if own == shell]
        return RecordedForces.of(records, contacts, self.shells[shell].tree.shell.n_points)

    def gaps(self, record: NDArray[np.void]) -> tuple[float, float]:
        """Return the least distance [m] of the points in an array of one record.

        And that of the points of its level. They are negative inside, and beyond the box of a
        field lower bounds.
        """
        frames = [_pose(self.places(record, shell)) for shell in self.shells]
        held = _pose(self.held_places(record))
        least, coarse, level = np.inf, np.inf, max(int(record["level"][0]), 0)
        for contact, (k, on) in zip(self.contacts, self._pairs, strict=True):
            shell = self.shells[k]
            q = self.coordinates(record, shell.q) if shell.tree.r else None
            points = shell.tree.positions(None if q is None else q[0])
            local = contact.options.get("local")
            if local is not None:
                points = points + self.forces(record, k).dimple(local, 0)
            frame = held if on == _HELD else Pose() if on == _REST else frames[on]
            points = (frame.inverse() @ frames[k]).apply(points[:_POINTS])
            distances = self._distances(contact, on, points, record)
            rendered = int(shell.tree.shell.level_counts[: level + 1].sum())
            least = min(least, float(distances.min()))
            coarse = min(coarse, float(distances[:rendered].min()))
        return least, coarse

    def _distances(
        self, contact: Contact, on: int, points: Reals, record: NDArray[np.void]
    ) -> Reals:
        field = contact.field
        if not isinstance(field, DeformedField):
            return field.distance(points)
        part = self.held_q if on == _HELD else self.shells[on].q
        q = self.coordinates(record, part)
        return field.distance(points, None if q is None else q[0])

    def moved(self, records: NDArray[np.void]) -> float:
        """Return the longest way of a body from the first to the last record [m], nearly."""
        longest = 0.0
        for one in (self.held_places(records), *(self.places(records, s) for s in self.shells)):
            if one is not None:
                angle = 2.0 * float(np.arccos(min(1.0, abs(float(one[0, 3:] @ one[-1, 3:])))))
                way = float(np.linalg.norm(one[-1, :3] - one[0, :3])) + angle * self._reach
                longest = max(longest, way)
        return longest

    def _sizes(self) -> list[float]:
        """Return the diagonals of the objects that end somewhere [m]."""
        boxes = [np.ptp(shell.tree.shell.points, axis=0) for shell in self.shells]
        for contact in self.contacts:
            field = contact.field
            one = field.field if isinstance(field, DeformedField) else field
            box = np.ptp(one.bounds if isinstance(one, DistanceField) else one._core.bounds, axis=0)
            boxes.append(box)
        sizes = [float(np.linalg.norm(box)) for box in boxes]
        return [size for size in sizes if np.isfinite(size)]


def compared(objects: RecordedObjects, records: NDArray[np.void]) -> list[Comparison]:
    """Return some cycles beside the objects: the deepest of parts of the contact, and free ones."""
    touching, sound = records["touching"] > 0, _turned(records["object_quaternion"])
    if "body_quaternion" in (records.dtype.names or ()):
        sound &= _turned(records["body_quaternion"]).all(axis=1)
    deep = [part[np.argmax(records["depth_m"][part])] for part in _parts(touching & sound)]
    free = [part[len(part) // 2] for part in _parts(~touching & sound)]
    found = []
    for k in (*deep, *free):
        one = records[k : k + 1]
        depth, count = float(one["depth_m"][0]), int(one["touching"][0])
        moved = objects.moved(records[max(k - 1, 0) : k + 1])
        found.append(Comparison(int(k), depth, count, *objects.gaps(one), moved))
    return found


def sound_cycles(records: NDArray[np.void]) -> NDArray[np.void]:
    """Return the records with finite times, poses, forces and states."""
    names = {"object_position", "object_quaternion", "contact_force", "contact_torque", *STATE}
    sound = np.isfinite(records["time_s"])
    for name in names & {*(records.dtype.names or ())}:
        sound &= np.isfinite(records[name]).all(axis=tuple(range(1, records[name].ndim)))
    found: NDArray[np.void] = records[sound]
    return found


def warn_of_others(objects: RecordedObjects, records: NDArray[np.void], stacklevel: int) -> None:
    """Warn if the recorded contact is not that of the objects."""
    found = disagreement(objects, records)
    if found:
        warnings.warn(
            f"the records are probably those of other objects than x has: {found}: "
            "view them with the session or scene that was recorded",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )


def disagreement(objects: RecordedObjects, records: NDArray[np.void]) -> str:
    """Describe the difference of recorded contact and that of the objects; empty: there is none."""
    bent = any(one.options.get("local") is not None for one in objects.contacts)
    if not objects.known or (bent and "site_force" not in (records.dtype.names or ())):
        return ""
    every = compared(objects, records)
    # a tool that passes through another object is wrong in free cycles, too
    for found in (
        [one for one in every if one.touching],
        [one for one in every if not one.touching],
    ):
        wrong = [one for one in found if one.error > _TOLERANCE * objects.size]
        if wrong and len(wrong) >= _BLAMED * len(found):
            return _described(wrong, found, records)
    return ""


def _described(wrong: list[Comparison], found: list[Comparison], records: NDArray[np.void]) -> str:
    one = max(wrong, key=lambda one: one.error)
    had = "no contact"
    if one.touching:
        had = f"{count_text(one.touching, 'touching point')} up to {1e3 * one.depth:.3g} mm deep"
    apart = "apart" if one.gap > 0.0 else "deep"
    return (
        f"in cycle {records['tick'][one.cycle]} they have {had}, the objects at the same places "
        f"are {1e3 * abs(one.gap):.3g} mm {apart} ({len(wrong)} of {len(found)} cycles disagree)"
    )


def _parts(mask: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Return the cycles of a mask in parts of equal numbers."""
    every = np.flatnonzero(mask)
    return np.array_split(every, min(_CYCLES, len(every))) if len(every) else []


def _turned(quaternions: Reals) -> NDArray[np.bool_]:
    """Return True for quaternions of length 1: a damaged file may have others."""
    return np.asarray(np.abs(np.linalg.norm(quaternions, axis=-1) - 1.0) < 1e-6)


def _pose(places: Reals | None) -> Pose:
    return Pose() if places is None else Pose(places[0, :3], places[0, 3:])


def sizes_text(free: int, coordinates: int, touched: int = 0) -> str:
    """Return the sizes of the states in a record as text."""
    bodies = f", {count_text(free, 'free body', 'free bodies')}" if free else ""
    if touched:
        return "anchor and slip of a touched body"
    return f"{count_text(coordinates, 'reduced coordinate')}{bodies}"
