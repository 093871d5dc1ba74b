"""Views of haptic sessions whose hand touches a body directly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.contact.shape_field import SphereField
from reducedfem.haptics.session import HapticSession
from reducedfem.haptics.snapshot import HapticSnapshot
from reducedfem.viewer.parts import Body, split
from reducedfem.viewer.shown_contact import HELD, ShownSession, field_body

__all__ = ["ShownTouch"]

_COLOUR = (0.90, 0.74, 0.55)
_TIP = 0.025  # radius of the tip over the longest side of the body


class ShownTouch(ShownSession):
    """A session whose hand touches a body: its dent is drawn from what the loop publishes."""

    def __init__(self, session: HapticSession, up: str) -> None:
        touched = session._bodies.touched
        assert touched is not None
        self._touched = touched
        whole = self._touched._drawn
        self._source, triangles, _ = split(whole)
        self._vertices = np.ascontiguousarray(whole.vertices[self._source])
        self._triangles = triangles
        super().__init__(session, up)

    def _tool(self) -> Body:
        shape = self._touched._shape
        if shape is not None:
            return field_body(shape, HELD)
        radius = _TIP * float((self._touched._box()[1] - self._touched._box()[0]).max())
        return field_body(SphereField((0.0, 0.0, radius), radius), HELD)

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

    def _touched_at(self, shot: HapticSnapshot) -> list[NDArray[np.float64]]:
        return [self._pressed(shot)[None]] if shot.record["touching"] > 0 else []

    def _pressed(self, shot: HapticSnapshot) -> NDArray[np.float64]:
        return np.array(shot.record["hand_position"])
