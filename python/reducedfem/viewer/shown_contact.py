"""Views of distance fields, pointshells, contacts and haptic sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import silenced
from reducedfem.base.run import threads
from reducedfem.contact.contact import Contact
from reducedfem.contact.deformed_field import DeformedField
from reducedfem.contact.dimple import Dimple, fine_surface
from reducedfem.contact.field import DistanceField, Field
from reducedfem.contact.point_tree import PointTree
from reducedfem.contact.pointshell import Pointshell
from reducedfem.contact.shape_field import PlaneField
from reducedfem.errors import InputError
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.surface import Surface
from reducedfem.haptics.session import HapticSession
from reducedfem.haptics.snapshot import BodySnapshot, HapticSnapshot
from reducedfem.viewer.parts import Body, Marks, Scene, level_colours, split
from reducedfem.viewer.shown import Frame, Shown, unit_scales
from reducedfem.viewer.shown_motion import skin_body, skin_of

__all__ = [
    "FORCE",
    "HELD",
    "LONGEST",
    "TOUCH",
    "ShownContact",
    "ShownField",
    "ShownPoints",
    "ShownSession",
    "field_body",
    "field_surface",
    "shell_body",
]

_FIELD = (0.62, 0.72, 0.80)
_SHELLS = ((0.90, 0.74, 0.55), (0.70, 0.80, 0.62), (0.80, 0.66, 0.76), (0.78, 0.75, 0.66))
TOUCH = (0.86, 0.27, 0.22)
FORCE = (0.95, 0.62, 0.15)
HELD = "tool (held object)"
LEAD = (0.08, 0.44, 0.54)
_MOST_POINTS = 50_000  # of a shell that are drawn
_VOXELS = 96  # across a field that is sampled for its surface
LONGEST = 0.5  # of the radius of the scene, of an arrow


def plane_surface(field: PlaneField, centre: NDArray[Any], size: float) -> Surface:
    """Return a square of a plane, below a point."""
    normal = field._normal
    middle = centre - normal * float((centre - field._point) @ normal)
    side = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    side *= size / np.linalg.norm(side)
    other = np.cross(normal, side)
    corners = [middle - side - other, middle + side - other, middle + side + other]
    return Surface([*corners, middle - side + other], [(0, 1, 2), (0, 2, 3)])


def field_surface(field: Field | DeformedField) -> Surface:
    """Return the surface of the object of a field, at rest."""
    one = field.field if isinstance(field, DeformedField) else field
    if isinstance(one, DistanceField):
        return one.isosurface()
    if isinstance(one, PlaneField):
        return plane_surface(one, one._point, 1.0)
    if not np.isfinite(one._core.bounds).all():
        raise InputError(
            f"the field {one!r} has no bounds: sample it by "
            "DistanceField.from_field(field, box=...)"
        )
    return DistanceField.from_field(one, _VOXELS, expand=1.1).isosurface()


def field_body(field: Field | DeformedField, name: str = "field", *, sliders: bool = False) -> Body:
    """Return the surface of the object of a field, which may deform."""
    surface = field_surface(field)
    if isinstance(field, DeformedField):
        # the field may fill hollows of the mesh, as that of a hose does
        with silenced():
            return skin_body(skin_of(field.reduced, surface), name, _FIELD, sliders=sliders)
    source, triangles, normals = split(surface)
    return Body(name, surface.vertices[source], triangles, normals, colour=_FIELD)


def shell_body(tree: PointTree, name: str, k: int = 0, surface: Surface | None = None) -> Body:
    """Return the surface of the model of a shell, or the points of a rigid one."""
    colour = _SHELLS[k % len(_SHELLS)]
    if tree.reduced is not None:
        return skin_body(skin_of(tree.reduced, surface), name, colour)
    return points_body(tree.shell, name, colour)


def points_body(shell: Pointshell, name: str, colour: Any, **options: Any) -> Body:
    """Return the points of a shell, of its levels that pages can draw, as squares."""
    level = max(
        [k for k in range(shell.n_levels) if shell.level_counts[: k + 1].sum() <= _MOST_POINTS],
        default=0,
    )
    part = shell.up_to(level)
    x, y, z = np.ptp(part.points, axis=0)
    area = 2.0 * float(x * y + y * z + z * x) if shell.areas is None else float(shell.areas.sum())
    return Body(
        name,
        part.points,
        np.zeros((0, 3), dtype=np.int32),
        -part.normals,
        colour=colour,
        size=1.5 * float(np.sqrt(area / len(part.points))),
        **options,
    )


class ShownPoints(Shown):
    """A pointshell, or the tree of one, with a colour for each level.

    Those of a deforming tree have a slider for each coordinate.
    """

    def __init__(self, points: Pointshell | PointTree, up: str) -> None:
        self._up, self._tree = up, points if isinstance(points, PointTree) else None
        self._shell = points.shell if isinstance(points, PointTree) else points

    def scene(self) -> Scene:
        """Return the scene."""
        shell, tree = self._shell, self._tree
        colours = level_colours(shell.n_levels)
        body = points_body(shell, "points", None)
        n = len(body.vertices)
        options: dict[str, Any] = {"colours": colours[shell.levels[:n]]}
        if tree is not None and tree.reduced is not None:
            reduced = tree.reduced
            place = Embedding(reduced.mesh, body.vertices)
            skin = _core.Skin(
                reduced._core, reduced.mesh._core, place._core,
                body.vertices, body.normals, None, threads(),
            )  # fmt: skip
            assert skin.tilt is not None
            moved, tilts = (
                np.ascontiguousarray(one.transpose(2, 0, 1)) for one in (skin.motion, skin.tilt)
            )
            options |= {
                "shapes": moved,
                "tilts": tilts,
                "scales": unit_scales(moved),
                "labels": tuple(f"q{k + 1}" for k in range(tree.r)),
            }
        marks = tuple(
            Marks(f"level {k}: {count:,} points", np.zeros((0, 3)), tuple(colours[k]))
            for k, count in enumerate(shell.level_counts)
        )
        texts = [f"{shell.n_points:,} points, {shell.n_levels} levels"]
        if n < shell.n_points:
            texts.append(f"{n:,} of them are shown")
        if shell.areas is not None:
            texts.append(f"area {shell.areas.sum():.4g} m²")
        title = "Pointshell" if tree is None else "Point tree"
        body = replace(body, **options)
        return Scene(title, (body,), marks, up=self._up, texts=tuple(texts))


class ShownField(Shown):
    """A distance field, by the surface of its object; sliders move one that deforms."""

    def __init__(self, field: Field | DeformedField, up: str) -> None:
        self._body, self._up = field_body(field, sliders=True), up
        self._text = repr(field).strip("<>")

    def scene(self) -> Scene:
        """Return the scene."""
        return Scene("Distance field", (self._body,), up=self._up, texts=(self._text,))


class ShownContact(Shown):
    """A contact at rest: the field at the origin, and the shell."""

    def __init__(self, contact: Contact, up: str) -> None:
        self._contact, self._up = contact, up
        # here, as a field may have no surface
        self._bodies = shell_body(contact.tree, "shell"), field_body(contact.field, "object")

    def scene(self) -> Scene:
        """Return the scene."""
        one = self._contact
        texts = (f"{one.tree.shell.n_points:,} points, {one.tree.n_levels} levels",)
        return Scene(type(one).__name__, self._bodies, up=self._up, texts=texts)


class ShownSession(Shown):
    """A haptic session, which the view follows and never steps."""

    def __init__(self, session: HapticSession, up: str) -> None:
        self._session, self._up = session, up
        self._held = self._tool()
        # dimples, and those of the last snapshot at the points, by the number of the contact
        self._dimples: dict[int, Dimple] = {}
        self._bent: dict[int, NDArray[np.float64]] = {}
        self._reader = session.reader(points=True)
        self._last: HapticSnapshot | None = None
        self._longest = 0.1
        self._usual = 1e-12  # N: force of the longest arrow
        device = session.device
        self._pointer = device._pointer if device._pointed else None
        place = session._settings.place
        self._aligned = Pose((0.0, 0.0, 0.0), place.alignment)  # from the device to the world
        self._scale = place.scale

    def _tool(self) -> Body:
        """Return the held object."""
        return field_body(self._session.contacts[0].field, HELD)

    def end(self) -> None:
        """Release the tool."""
        self.release()

    def hold(self) -> bool:
        """Take the tool where it is."""
        return self._pointer is not None and self._pointer.hold(self)

    @property
    def idle(self) -> bool:
        """True if the page that holds the tool has become silent."""
        return self._pointer is not None and self._pointer.idle

    def hand(self, moved: Sequence[float], turned: Sequence[float], buttons: int) -> bool:
        """Move the tool."""
        if self._pointer is None:
            return False
        back = self._aligned.inverse()
        turn = back @ Pose((0.0, 0.0, 0.0), turned) @ self._aligned
        way = self._scale * back.apply(moved)
        return self._pointer.move(self, way.tolist(), turn.quaternion.tolist(), buttons)

    def release(self) -> None:
        """Release the tool."""
        if self._pointer is not None:
            self._pointer.release(self)

    def _lead(self, shot: HapticSnapshot) -> NDArray[Any] | None:
        """Return the place to which a page leads the tool; None: no page holds it."""
        state = None if self._pointer is None else self._pointer.state()
        if state is None or not state[0]:
            return None
        way = self._aligned.apply(np.subtract(state[1], state[2])) / self._scale
        return np.asarray(shot.record["hand_position"] + way)

    def _others(self) -> tuple[list[Body], str]:
        """Return the bodies that are not held, and their size as text."""
        contacts = self._session.contacts
        shells = []
        for k, contact in enumerate(contacts):
            local = contact.options.get("local")
            surface = None if local is None else fine_surface(local)
            shells.append(shell_body(contact.tree, f"shell {k}", k, surface))
            if local is not None:
                self._dimples[k] = Dimple(local, shells[k])
        points = sum({c.tree: c.tree.shell.n_points for c in contacts}.values())
        return shells, f"{points:,} points"

    def scene(self) -> Scene:
        """Return the scene."""
        shells, size = self._others()
        texts = (f"{size}, {self._session.rate:g} Hz", repr(self._session.device).strip("<>"))
        box = np.array(
            [
                np.min([one.vertices.min(axis=0) for one in shells], axis=0),
                np.max([one.vertices.max(axis=0) for one in shells], axis=0),
            ]
        )
        self._longest = LONGEST * 0.5 * float(np.linalg.norm(box[1] - box[0]))
        return Scene(
            "Haptic session",
            (*shells, self._held),
            up=self._up,
            tool=None if self._pointer is None else len(shells),
            held=len(shells),
            listed=True,
            texts=texts,
            box=box,
        )

    def frame(self) -> Frame:
        """Return the newest snapshot."""
        self._last = self._reader.read() or self._last
        if self._last is None:
            begun = [("the session has not begun", "", "")]
            return {"bodies": [], "arrows": [], "numbers": begun, "taken": self._taken}
        shot, record = self._last, self._last.record
        self._bent = self._dents(shot)
        bodies = self._states(shot)
        force = np.array(record["contact_force"])
        size = float(np.linalg.norm(force))
        self._usual = max(self._usual, size)
        arrows = []
        if size > 0.01 * self._usual:
            begin = self._pressed(shot)
            way = force * (self._longest / self._usual)
            arrows.append({"from": begin, "to": begin + way, "colour": FORCE})
        lead = self._lead(shot)
        if lead is not None:
            arrows.append({"from": shot.position, "to": lead, "colour": LEAD, "thick": 0.25})
        points = self._touched_at(shot)
        dots = [{"points": np.concatenate(points), "colour": TOUCH}] if points else []
        numbers: list[tuple[str, float | str, str]] = [
            ("time", shot.time, "s"),
            ("tool", self._moved_by, ""),
            ("cycle", 1e-6 * float(record["compute_us"]), "s"),
            ("force on the hand", float(np.linalg.norm(shot.force)), "N"),
            ("contact force", size, "N"),
            ("touching points", float(record["touching"]), ""),
            *self._detail(record),
            ("energy given to the hand", float(record["energy_j"]), "J"),
        ]
        return {
            "bodies": bodies,
            "arrows": arrows,
            "dots": dots,
            "numbers": numbers,
            "grip": shot.position,
            "taken": self._taken,
        }

    def _detail(self, record: np.void) -> list[tuple[str, float, str]]:
        """Return the level of detail of the pointshell."""
        return [("level", float(record["level"]), "")]

    @property
    def _moved_by(self) -> str:
        """Text about who moves the tool."""
        if self._pointer is None:
            return f"moved by a {type(self._session.device).__name__}"
        return "held by a page" if self._pointer.held else "not held"

    @property
    def _taken(self) -> bool:
        """True if a page of another view holds the tool."""
        return self._pointer is not None and self._pointer.belongs_to_another(self)

    def _states(self, shot: HapticSnapshot) -> list[dict[str, Any]]:
        """Return the shell of each contact, then the held object."""
        bodies = []
        for one in [*_shells(shot), shot.bodies[-1]]:
            body = {"position": one.position, "quaternion": one.quaternion}
            if one.q is not None:
                body["q"] = one.q
            bodies.append(body)
        for k, u in self._bent.items():
            bodies[k].update(self._dimples[k].frame(u))
        return bodies

    def _dents(self, shot: HapticSnapshot) -> dict[int, NDArray[np.float64]]:
        """Return the dimples at the points of shells, by the number of the contact."""
        found: dict[int, NDArray[np.float64]] = {}
        names, contacts = shot._layout.shells, shot.contacts
        if contacts is None:
            return found
        for k, dimple in self._dimples.items():
            own = [contacts[j] for j in self._dimples if names[j] == names[k]]
            shell = _shells(shot)[k]
            u = dimple.at_points(own, Pose(shell.position, shell.quaternion))
            if u is not None:
                found[k] = u
        return found

    def _touched_at(self, shot: HapticSnapshot) -> list[NDArray[np.float64]]:
        """Return the touching points, moved by dimples."""
        contacts = shot.contacts or ()
        parts = [part.positions for part in contacts]
        for k, u in self._bent.items():
            turn = Pose((0.0, 0.0, 0.0), _shells(shot)[k].quaternion)
            parts[k] = parts[k] + turn.apply(u[contacts[k].indices])
        return parts

    def _pressed(self, shot: HapticSnapshot) -> NDArray[np.float64]:
        """Return the mean of the touching points by their forces; else the grasp point."""
        parts = shot.contacts or ()
        sizes = (np.linalg.norm(one.forces, axis=1) for one in parts)
        weights = np.concatenate([np.zeros(0), *sizes])
        if not weights.sum() > 0.0:
            return shot.position
        points = np.concatenate(self._touched_at(shot))
        return np.asarray(weights @ points / weights.sum())


def _shells(shot: HapticSnapshot) -> list[BodySnapshot]:
    """Return the body of the shell of each contact."""
    by_name = {one.name: one for one in shot.bodies}
    return [by_name[name] for name in shot._layout.shells]
