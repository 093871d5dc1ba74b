"""Snapshots of haptic sessions, and their readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.contact.contact import ContactPoints
from reducedfem.io.record_file import RECORD

__all__ = ["BodySnapshot", "HapticReader", "HapticSnapshot", "Layout"]


class Layout:
    """Fields of the snapshots of a session, by name, as the core describes them."""

    __slots__ = ("_fields", "bodies", "shells", "touched")

    def __init__(self, core: _core.Session, simulations: Sequence[object]) -> None:
        self._fields: dict[str, tuple[np.dtype[Any], int, int, int]] = {}
        for name, format, offset, stride, count in core.snapshot_layout():
            self._fields[name] = (np.dtype(format), offset, stride, count)
        self.touched = "touch.anchor" in self._fields
        parts = (name.rpartition(".") for name in self._fields)
        self.bodies = tuple(body for body, _, part in parts if part == "wrench")
        # contacts of one free body have one shell, named by the first of them
        first = [
            next(j for j in range(k + 1) if j == k or (one is not None and simulations[j] is one))
            for k, one in enumerate(simulations)
        ]
        self.shells = tuple(f"shell {k}" for k in first)

    def read(self, data: bytes, name: str, n: int | None = None) -> NDArray[Any]:
        """Return a copy of a field; n: of its first values, with a dimension for them."""
        dtype, offset, stride, _ = self._fields[name]
        base, shape = dtype.base, dtype.shape
        if n is None:
            found = np.ndarray(shape, base, data, offset)
        elif n == 0:
            found = np.zeros((0, *shape), base)
        else:
            inner = np.ndarray(shape, base).strides
            found = np.ndarray((n, *shape), base, data, offset, (stride, *inner))
        copied: NDArray[Any] = found.copy()
        return copied


@dataclass(frozen=True, eq=False)
class BodySnapshot:
    """State of a body after a cycle.

    Attributes
    ----------
    name
        "shell 0", "shell 1", ... by contact, the first one of a body; "object": the held one.
    position, quaternion
        Pose of the frame of the body in the world [m], shapes (3,) and (4,).
    force, torque
        Contact force in the world [N], and its torque [N m] about the reference point: the grasp
        point of the held object, the centre of mass of a `FreeBody`, the origin of other bodies;
        shape (3,) each. They are those at the beginning of the cycle.
    q
        Reduced coordinates [kg^1/2 m], shape (r,); None for bodies without a simulation.
    """

    name: str
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    q: NDArray[np.float64] | None


class HapticSnapshot:
    """Copy of the state of a session after a cycle.

    Attributes
    ----------
    number
        Number of the snapshot, from 1 on: one more for each cycle.
    record
        Record of the cycle, by name: see `HapticRecords`.
    bodies
        State of all bodies, a `BodySnapshot` each: shells in the order of the contacts, then the
        held object.
    contacts
        Touching points of each contact, a `ContactPoints` each, with positions at the beginning
        of the cycle. Each contact has an equal part of 256; of more points, blocks of neighbours
        are chosen evenly. None without readers that ask for them: see `HapticSession.reader`.
    q
        Reduced coordinates of each shell [kg^1/2 m]; None for shells without a simulation.
    field_q
        Reduced coordinates of the held object [kg^1/2 m]; None if it does not deform.
    anchor, slip
        Of a touched body: place of contact on it at rest, and way of the contact over it in the
        cycle, in the world [m], (3,) each. None of a session with a coupling.
    fresh
        True if a cycle has ended since the last snapshot.
    """

    __slots__ = ("_data", "_fresh", "_layout", "_number")

    # arrays are made on access: each takes about 10 us with cold caches, and few are used
    def __init__(self, number: int, data: bytes, layout: Layout, fresh: bool) -> None:
        self._number, self._data, self._layout, self._fresh = number, data, layout, fresh

    def __repr__(self) -> str:
        force = ", ".join(f"{x + 0.0:.3g}" for x in self.record["force"])  # no -0
        touching = int(self.record["touching"])
        points = "1 point touches" if touching == 1 else f"{touching} points touch"
        return f"<HapticSnapshot: at {self.time:.6g} s, ({force}) N on the hand, {points}>"

    @property
    def number(self) -> int:
        """Number of the snapshot, from 1 on."""
        return self._number

    @property
    def record(self) -> np.void:
        """Record of the cycle, by name."""
        record: np.void = np.frombuffer(self._data, RECORD, 1)[0]
        return record

    @property
    def bodies(self) -> tuple[BodySnapshot, ...]:
        """State of all bodies: shells in the order of the contacts, then the held object."""
        return tuple(self._body(name) for name in self._layout.bodies)

    @property
    def contacts(self) -> tuple[ContactPoints, ...] | None:
        """Touching points of each contact; None without readers that ask for them."""
        n = int(self._get("n_points"))
        if self._layout.touched:
            return ()
        if n == 0 and int(self._get("record.touching")) > 0:
            return None
        parts = ("point", "position", "gap_m", "normal", "force")
        arrays = [self._layout.read(self._data, f"points.{part}", n) for part in parts]
        pair = self._layout.read(self._data, "points.pair", n)
        return tuple(
            ContactPoints(*(array[pair == k] for array in arrays))
            for k in range(len(self._layout.shells))
        )

    @property
    def q(self) -> tuple[NDArray[np.float64] | None, ...]:
        """Reduced coordinates of each shell [kg^1/2 m]; None without a simulation."""
        return tuple(self._coordinates(name) for name in self._layout.shells)

    @property
    def field_q(self) -> NDArray[np.float64] | None:
        """Reduced coordinates of the held object [kg^1/2 m]; None if it does not deform."""
        return self._coordinates(self._layout.bodies[-1])

    @property
    def anchor(self) -> NDArray[np.float64] | None:
        """Place of contact on a touched body at rest, in the world [m]; None: no such body."""
        return self._get("touch.anchor") if self._layout.touched else None

    @property
    def slip(self) -> NDArray[np.float64] | None:
        """Way of the contact over a touched body in the cycle [m]; None: no such body."""
        return self._get("touch.slip") if self._layout.touched else None

    @property
    def _coordinates_of_touched(self) -> NDArray[np.float64]:
        return self._get("touch.coordinates")

    @property
    def fresh(self) -> bool:
        """True if a cycle has ended since the last snapshot of the same thread or reader."""
        return self._fresh

    def _get(self, name: str) -> NDArray[Any]:
        return self._layout.read(self._data, name)

    def _coordinates(self, body: str) -> NDArray[np.float64] | None:
        found = self._get(f"{body}.q")
        return found if len(found) else None

    def _body(self, name: str) -> BodySnapshot:
        wrench = self._get(f"{name}.wrench")
        pose = self._get(f"{name}.position"), self._get(f"{name}.quaternion")
        return BodySnapshot(name, *pose, wrench[:3], wrench[3:], self._coordinates(name))

    @property
    def time(self) -> float:
        """Scheduled time since the session began [s]."""
        return float(self._get("record.time_s"))

    @property
    def position(self) -> NDArray[np.float64]:
        """Grasp point of the simulation object in the world [m], shape (3,)."""
        return self._get("record.object_position")

    @property
    def quaternion(self) -> NDArray[np.float64]:
        """Rotation of the simulation object (w, x, y, z), shape (4,)."""
        return self._get("record.object_quaternion")

    @property
    def force(self) -> NDArray[np.float64]:
        """Force on the hand, in the frame of the device [N], shape (3,)."""
        return self._get("record.force")

    @property
    def torque(self) -> NDArray[np.float64]:
        """Torque on the hand, in the frame of the device [N m], shape (3,)."""
        return self._get("record.torque")


class HapticReader:
    """Reader of the snapshots of a session, made by `HapticSession.reader`.

    Any number of readers, in any threads, follow a session at their own rates. None of them waits
    for the loop, for the session's methods, or for another reader.

    Attributes
    ----------
    points
        True if this reader asks for contact points.
    """

    __slots__ = ("_core", "_layout", "_points", "_seen")

    def __init__(self, core: _core.Session, layout: Layout, points: bool) -> None:
        self._core, self._layout, self._points, self._seen = core, layout, points, 0
        self._ask()

    def __repr__(self) -> str:
        return f"<HapticReader: snapshot {self._seen}>"

    @property
    def points(self) -> bool:
        """True if this reader asks for contact points."""
        return self._points

    def _ask(self) -> None:
        if self._points:
            self._core.follow()

    def read(self) -> HapticSnapshot | None:
        """Return the newest snapshot; None if this reader has returned it already.

        Contact points, if the reader asks for them, are in the snapshots of the 2000 cycles after
        it was made, and after each call.

        Returns
        -------
        HapticSnapshot or None
        """
        self._ask()
        newest = self._core.snapshot()
        if newest is None or newest[0] == self._seen:
            return None
        self._seen = newest[0]
        return HapticSnapshot(*newest, self._layout, True)
