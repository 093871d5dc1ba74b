"""Views of haptic sessions whose hand touches a body directly, and of their records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import warn
from reducedfem.contact.contact import Contact
from reducedfem.contact.shape_field import SphereField
from reducedfem.errors import InputError, PlausibilityWarning
from reducedfem.geometry.surface import Surface
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.session import HapticSession
from reducedfem.haptics.snapshot import HapticSnapshot
from reducedfem.io.record_file import record_sizes
from reducedfem.touch.touched import Touched
from reducedfem.viewer.parts import Body, Track, split, surface_tilts
from reducedfem.viewer.shown import compressed, unit_scales
from reducedfem.viewer.shown_contact import HELD, ShownSession, field_body
from reducedfem.viewer.shown_records import ShownRecords

__all__ = ["ShownTouch", "ShownTouchRecords"]

_COLOUR = (0.90, 0.74, 0.55)
_TIP = 0.025  # radius of the tip over the longest side of the body


_ALIKE = 0.01  # largest distance of recorded anchors from the body, over its size
_SAME = 0.05  # largest error of recorded ways of the tip, over these
_DEEPEST = 20  # cycles whose ways are compared
_PARTS = 40  # parts of the time; the deepest cycle of each shows whether the body is the same
_LEAST_PART = 3  # parts before and after a change
_MISTAKEN = 0.1  # of the parts before or after it that may be wrong
_LEAST_WAY = 0.1  # of the tip in a part, over its longest, to tell anything


def _tool_of(touched: Touched) -> Body:
    """Return the tool of a hand that touches a body."""
    shape = touched._shape
    if shape is not None:
        return field_body(shape, HELD)
    box = touched._box()
    radius = _TIP * float((box[1] - box[0]).max())
    return field_body(SphereField((0.0, 0.0, radius), radius), HELD)


def _touched_of(session: HapticSession) -> Touched:
    touched = session._bodies.touched
    assert touched is not None
    return touched


class ShownTouch(ShownSession):
    """A session whose hand touches a body: its dent is drawn from what the loop publishes."""

    def __init__(self, session: HapticSession, up: str) -> None:
        self._touched = _touched_of(session)
        whole = self._touched._drawn
        self._source, triangles, _ = split(whole)
        self._vertices = np.ascontiguousarray(whole.vertices[self._source])
        self._triangles = triangles
        super().__init__(session, up)

    def _tool(self) -> Body:
        return _tool_of(self._touched)

    def _others(self) -> tuple[list[Body], str]:
        body = Body("body", self._vertices, self._triangles, None, colour=_COLOUR)
        return [body], self._touched._size

    def _states(self, shot: HapticSnapshot) -> list[dict[str, Any]]:
        moved = self._touched._moved(shot._coordinates_of_touched)[self._source]
        normals = _core.surface_normals(self._vertices + moved, self._triangles)
        place = self._touched.pose
        body = {
            "position": place.position,
            "quaternion": place.quaternion,
            "moved": moved,
            "normals": normals,
        }
        record = shot.record
        hand = {"position": record["hand_position"], "quaternion": record["hand_quaternion"]}
        return [body, hand]

    def _detail(self, record: np.void) -> list[tuple[str, float, str]]:
        return []

    def _touched_at(self, shot: HapticSnapshot) -> list[NDArray[np.float64]]:
        return [self._pressed(shot)[None]] if shot.record["touching"] > 0 else []

    def _pressed(self, shot: HapticSnapshot) -> NDArray[np.float64]:
        return np.array(shot.record["hand_position"])


class ShownTouchRecords(ShownRecords):
    """Records of a session whose hand touches a body, with the body.

    Its displacements follow from anchors and forces if it is at rest under them in each cycle.
    """

    _most = 600  # the displacements of each record are a field

    def _take(
        self, x: HapticSession | Contact | Touched, array: NDArray[np.void], stacklevel: int
    ) -> None:
        assert isinstance(x, HapticSession | Touched)
        found = record_sizes(array.dtype)
        if found is None or not found[2]:
            raise InputError(
                "x is touched by a hand directly, and the records are those of a session with "
                "contacts: view them with the session or scene that was recorded"
            )
        self._touched = x if isinstance(x, Touched) else _touched_of(x)
        self._held = _tool_of(self._touched)
        surface, touching = self._touched._drawn, self._array["touching"] > 0
        source, triangles, normals = split(surface)
        rest = np.ascontiguousarray(surface.vertices[source])
        self._body = Body("body", rest, triangles, normals, colour=_COLOUR)
        self._q: NDArray[np.float64] | None = None
        anchors = self._array["anchor"]
        forces = np.where(touching[:, None], self._array["contact_force"], 0.0)
        moved = self._touched._recorded(self._array["time_s"], anchors, forces)
        if moved is None:
            return
        if not self._doubt(anchors[touching], surface, stacklevel + 1):
            self._doubt_stiffness(forces, stacklevel + 1)
        self._q, shapes = compressed(moved[:, source])
        tilts = surface_tilts(rest, triangles, shapes)
        self._body = replace(self._body, shapes=shapes, tilts=tilts, scales=unit_scales(shapes))

    def _doubt(self, anchors: NDArray[np.float64], surface: Surface, stacklevel: int) -> bool:
        """Warn of anchors that are not on the body; return True if so."""
        if not len(anchors):
            return False
        x, faces = surface.vertices, surface.triangles
        at = self._touched.pose.inverse().apply(anchors)
        apart = _core.surface_closest(x, faces, at, np.inf)[0]
        size = float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
        if np.median(apart) <= _ALIKE * size:
            return False
        warn(
            "the records are probably those of another body than x has: their places of contact "
            f"are up to {1e3 * apart.max():.3g} mm from its surface: view them with the session or "
            "scene that was recorded",
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )
        return True

    def _doubt_stiffness(self, forces: NDArray[np.float64], stacklevel: int) -> None:
        """Warn if the body does not yield to the recorded forces as the recorded one did.

        The way of the tip from its anchor is the displacement there and the slip, unless its force
        is limited.
        """
        array, records = self._array, HapticRecords(self._array)
        limited = records.flagged("too_deep") | records.flagged("unanswered")
        as_now = self._touched._is_as_at(array["time_s"])
        usable = np.flatnonzero(forces.any(axis=1) & ~limited & as_now)
        deepest = usable[np.argsort(array["depth_m"][usable])[-_DEEPEST:]]
        if not len(deepest):
            return
        off, found, made = self._errors(deepest, forces)
        parts = np.array_split(usable, min(_PARTS, len(usable)))
        over_time = np.array([part[np.argmax(array["depth_m"][part])] for part in parts])
        ways = np.linalg.norm(self._ways(over_time), axis=1)
        over_time = over_time[ways >= _LEAST_WAY * ways.max()]
        part_off, part_found, part_made = self._errors(over_time, forces)
        agree = part_off <= _SAME
        change = _change(agree)
        if np.median(off) <= _SAME:
            if len(agree) - change < _LEAST_PART:
                return
            # the deepest cycles were before
            off, found, made = part_off[change:], part_found[change:], part_made[change:]
        k = int(np.argsort(off)[len(off) // 2])
        differ = (
            f"their forces displace this one by {_millimetres(found[k])} at the tip, where the "
            f"records have {_millimetres(made[k])}"
        )
        warn(
            _reason(array["time_s"][over_time], agree, self._touched._held(), differ),
            PlausibilityWarning,
            stacklevel=stacklevel + 1,
        )

    def _ways(self, cycles: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the recorded displacements at the tip."""
        array = self._array
        moved = array["hand_position"][cycles] - array["anchor"][cycles] - array["slip"][cycles]
        return np.asarray(moved)

    def _errors(
        self, cycles: NDArray[np.intp], forces: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return relative errors of the displacements at the tip, these, and the recorded ones."""
        made = self._ways(cycles)
        found = self._touched._recorded_at_tip(self._array["anchor"][cycles], forces[cycles])
        off = np.linalg.norm(found - made, axis=1) / np.linalg.norm(made, axis=1)
        return off, found, made

    def _moving(self) -> tuple[tuple[Body, ...], tuple[Track, ...], list[str]]:
        array, place = self._array, self._touched.pose
        assert self._held is not None
        rests = np.tile([*place.position, *place.quaternion], (len(array), 1))
        hand = np.column_stack([array["hand_position"], array["hand_quaternion"]])
        texts = [self._touched._size]
        if self._q is None:
            texts.append("the records have no displacements of the solid: it is drawn at rest")
        return (self._body, self._held), (Track(0, self._q, rests), Track(1, None, hand)), texts


def _change(agree: NDArray[np.bool_]) -> int:
    """Return the part of the time from which on nearly none agree; without one their number."""
    left = np.arange(len(agree), 0, -1)
    share = np.cumsum(agree[::-1])[::-1] / left
    after = np.flatnonzero(~agree & (share <= _MISTAKEN))
    return int(after[0]) if len(after) else len(agree)


def _reason(times: NDArray[np.float64], agree: NDArray[np.bool_], held: int, differ: str) -> str:
    """Return the warning of another stiffness; times: of cycles, with and without agreement.

    held: supports of the body that could be released, and are not.
    """
    after = _change(agree)
    before = int(after - np.argmax(agree[:after][::-1])) if agree[:after].any() else 0
    clear = after < len(agree) and before >= _LEAST_PART
    if clear and agree[:after].mean() >= 1.0 - _MISTAKEN:
        since = (
            f"x agrees with the records up to {times[before - 1]:.3f} s, and from "
            f"{times[after]:.3f} s on {differ}: "
        )
        if not held:
            return (
                f"{since}the records are probably those of another body: view them with the "
                "session or scene that was recorded"
            )
        return (
            f"{since}supports were probably released by {times[after]:.3f} s, and x holds {held} "
            "that can be: call its release(nodes, at=) with the time of their release; or it is "
            "another body: view the records with the session or scene that was recorded"
        )
    other = f"; or x holds supports, {held} of them, that were released" if held else ""
    return (
        "the records are probably those of a body of another stiffness than x has, or of a tip of "
        f"another radius{other}: {differ}: view them with the session or scene that was recorded"
    )


def _millimetres(vector: NDArray[np.float64]) -> str:
    return f"{1e3 * np.linalg.norm(vector):.3g} mm"
