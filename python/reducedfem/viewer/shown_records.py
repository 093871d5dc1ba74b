"""Views of recorded haptic sessions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reducedfem.contact.contact import Contact
from reducedfem.contact.dimple import fine_surface
from reducedfem.errors import InputError
from reducedfem.geometry.pose import Pose
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.session import HapticSession
from reducedfem.touch.touched import Touched
from reducedfem.viewer.parts import Body, Clip, Marks, Scene, Track
from reducedfem.viewer.recorded_dimples import add_dimples, compliances
from reducedfem.viewer.recorded_objects import RecordedObjects, sound_cycles, warn_of_others
from reducedfem.viewer.shown import Shown
from reducedfem.viewer.shown_contact import FORCE, HELD, LONGEST, TOUCH, field_body, shell_body

__all__ = ["ShownRecords"]

_PATH = 2000  # points of a path that are drawn
_FREE = (0.45, 0.50, 0.57)
_AXES = ((0.80, 0.30, 0.27), (0.36, 0.65, 0.36), (0.30, 0.50, 0.78))
_MARKER = 0.12  # size of the axes over that of the path


class ShownRecords(Shown):
    """Records of a session, which pages play.

    With the objects of a session these move as they did; without, axes move along the path.
    """

    _most = 100_000  # records that a page gets

    def __init__(
        self,
        records: HapticRecords,
        x: HapticSession | Contact | Touched | None,
        up: str,
        stacklevel: int,
    ) -> None:
        array = records.array
        if not len(array):
            raise InputError(
                "the records are empty: HapticSession.run returns its records, records() those "
                "since its last call"
            )
        array = sound_cycles(array)
        if not len(array):
            raise InputError(
                "the records have no cycle with finite poses and forces: there is nothing to show"
            )
        if (np.diff(array["time_s"]) < 0.0).any():
            raise InputError("the records must be in the order of their times")
        # of long sessions every k-th cycle is shown
        self._every = -(-len(array) // self._most)
        self._array = array[:: self._every]
        self._up: str = up
        self._objects: RecordedObjects | None = None
        self._held: Body | None = None
        if x is not None:
            self._take(x, array, stacklevel + 1)

    def _take(
        self, x: HapticSession | Contact | Touched, array: NDArray[np.void], stacklevel: int
    ) -> None:
        """Take the objects that moved."""
        assert isinstance(x, HapticSession | Contact)
        self._objects = RecordedObjects(x, array)
        # here, as a field may have no surface
        self._held = field_body(self._objects.contacts[0].field, HELD)
        warn_of_others(self._objects, array, stacklevel + 1)

    def scene(self) -> Scene:
        """Return the scene."""
        array = self._array
        texts = [f"{len(array):,} cycles"]
        if self._every > 1:
            texts = [f"{len(array):,} cycles, one of {self._every} that were recorded"]
        bodies, tracks, more = self._moving()
        marks: tuple[Marks, ...] = ()
        if self._held is None:
            marks = self._path()
            box = _box([one.points for one in marks])
        else:
            box = _box([_begin(k, one, tracks) for k, one in enumerate(bodies[:-1])])
        size = float(np.linalg.norm(box[1] - box[0]))
        return Scene(
            "Recorded session",
            bodies,
            marks,
            up=self._up,
            listed=self._held is not None,
            clip=Clip(
                array["time_s"],
                tracks,
                arrows=self._arrows(size),
                colour=FORCE,
                numbers=(
                    ("contact force", _lengths(array["contact_force"]), "N"),
                    ("force on the hand", _lengths(array["force"]), "N"),
                    ("penetration", np.maximum(array["depth_m"], 0.0), "m"),
                    ("touching points", array["touching"].astype(np.float64), ""),
                    ("cycle", 1e-6 * array["compute_us"], "s"),
                ),
            ),
            texts=(*texts, *more),
            box=box,
        )

    def _moving(self) -> tuple[tuple[Body, ...], tuple[Track, ...], list[str]]:
        """Return the bodies, the held one last, their motions, and lines of text about them."""
        array, objects = self._array, self._objects
        if objects is None or self._held is None:
            path = np.column_stack([array["object_position"], array["object_quaternion"]])
            text = (
                "without the objects: in Python pass the session, or its contact, and records=; at "
                "the command line --scene"
            )
            return (self._axes(),), (Track(0, None, path),), [text]
        fine = {k: fine_surface(one) for k, one in compliances(objects).items()}
        shells = [
            shell_body(one.tree, one.name, k, fine.get(k)) for k, one in enumerate(objects.shells)
        ]
        bent, tracks, texts = add_dimples(
            objects, array, shells, objects.tracks(array), self.progress
        )
        if not objects.known:
            texts.insert(0, "the records have no deformations: shells are at rest")
        return (*bent, self._held), tracks, texts

    @property
    def _grasp(self) -> NDArray[np.float64]:
        """Grasp point in the frame of the held object."""
        grasp = None if self._objects is None else self._objects.contacts[0].options["grasp"]
        return np.zeros(3) if grasp is None else np.array(grasp, dtype=np.float64)

    def _arrows(self, size: float) -> NDArray[np.float64]:
        """Return begin and vector of the force on the object at each time, (m, 6)."""
        array = self._array
        force, torque = array["contact_force"], array["contact_torque"]
        square = np.maximum((force**2).sum(axis=1), 1e-300)
        # the line of action passes the grasp point at this distance, unless there is a pure torque
        lever = np.cross(force, torque) / square[:, None]
        reach = _MARKER * size
        if self._held is not None:
            reach = float(np.linalg.norm(self._held.vertices - self._grasp, axis=1).max())
        lever *= np.minimum(1.0, reach / np.maximum(_lengths(lever), 1e-300))[:, None]
        largest = float(np.sqrt(square.max()))
        scale = 0.5 * LONGEST * size / largest if largest > 1e-12 else 0.0
        return np.column_stack([array["object_position"] + lever, scale * force])

    def _path(self) -> tuple[Marks, ...]:
        array = self._array[:: -(-len(self._array) // _PATH)]
        touching = array["touching"] > 0
        kinds = (("path", ~touching, _FREE), ("path in contact", touching, TOUCH))
        return tuple(
            Marks(name, array["object_position"][mask], colour)
            for name, mask, colour in kinds
            if mask.any()
        )

    def _axes(self) -> Body:
        """Return three bars along the axes of the object."""
        path = self._array["object_position"]
        length = _MARKER * float(np.linalg.norm(np.ptp(path, axis=0))) or 0.01
        ends = np.array([(x, y, z) for x in (0, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
        faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        bar = np.array([half for a, b, c, d in faces for half in ((a, b, c), (a, c, d))])
        thick = 0.05
        bars = [np.roll(ends * (1.0, thick, thick), k, axis=1) for k in range(3)]
        return Body(
            "object",
            length * np.concatenate(bars),
            np.concatenate([bar + 8 * k for k in range(3)]).astype(np.int32),
            colours=np.repeat(np.array(_AXES), 8, axis=0),
        )


def _begin(number: int, body: Body, tracks: Sequence[Track]) -> NDArray[np.float64]:
    """Return the vertices of a body without deformation, at the beginning."""
    for one in tracks:
        if one.body == number and one.places is not None:
            return Pose(one.places[0, :3], one.places[0, 3:]).apply(body.vertices)
    return body.vertices


def _box(points: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    every = np.concatenate(points)
    return np.array([every.min(axis=0), every.max(axis=0)])


def _lengths(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(vectors, axis=1))
