"""Dimples of local compliance in views of recorded sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.run import Progress
from reducedfem.contact.dimple import Dimple
from reducedfem.contact.local import LocalCompliance
from reducedfem.viewer.parts import Body, Track, surface_tilts
from reducedfem.viewer.recorded_objects import RecordedObjects
from reducedfem.viewer.shown import unit_scales

__all__ = ["add_dimples", "compliances", "lost_text", "with_shapes"]

_MOST_LOST = 0.02  # part of the dimples that may be left out without a text

Reals = NDArray[np.float64]


def compliances(objects: RecordedObjects) -> dict[int, LocalCompliance]:
    """Return the local compliances by the numbers of their shells."""
    found = {}
    for contact, (shell, _) in zip(objects.contacts, objects._pairs, strict=True):
        local = contact.options.get("local")
        if local is not None:
            found[shell] = local
    return found


def add_dimples(
    objects: RecordedObjects,
    records: NDArray[np.void],
    bodies: Sequence[Body],
    tracks: Sequence[Track],
    progress: Progress = None,
) -> tuple[tuple[Body, ...], tuple[Track, ...], list[str]]:
    """Return the bodies of shells with shapes of dimples, the motions with their coordinates.

    And lines of text about them. The last track is that of the held object, and stays the last.
    """
    locals_ = compliances(objects)
    if not locals_:
        return tuple(bodies), tuple(tracks), []
    if "site_force" not in (records.dtype.names or ()):
        return tuple(bodies), tuple(tracks), ["the records have no dimples of a local compliance"]
    new_bodies, moving, texts = list(bodies), {one.body: one for one in tracks[:-1]}, []
    for k, local in locals_.items():
        forces = objects.forces(records, k)
        if not len(forces.cycle):
            continue
        q, shapes, lost = forces.dimples(local, len(records), progress)
        texts += lost_text(bodies[k].name, lost) + forces.thinned_text(bodies[k].name)
        new_bodies[k] = with_shapes(bodies[k], Dimple(local, bodies[k]), shapes)
        known = bodies[k].shapes
        track = moving.get(k, Track(k))
        own = track.q
        if own is None:
            own = np.zeros((len(records), 0 if known is None else len(known)))
        moving[k] = replace(track, q=np.column_stack([own, q]))
    return tuple(new_bodies), (*(moving[k] for k in sorted(moving)), tracks[-1]), texts


def lost_text(name: str, lost: float) -> list[str]:
    """Return the line of text about dimples of a body that shapes leave out, if it is needed."""
    return [f"{name}: {lost:.0%} of its dimples are not drawn"] if lost > _MOST_LOST else []


class Framed(Protocol):
    """Vertices that follow a dimple at the points of its shell, as `Dimple.frame`."""

    def frame(self, u: Reals) -> dict[str, Any]: ...


def with_shapes(body: Body, dimple: Framed, at_points: Reals) -> Body:
    """Return a body that also deforms by dimples."""
    shapes = np.array([dimple.frame(one)["moved"] for one in at_points])
    if len(body.triangles):
        tilts = surface_tilts(body.vertices, body.triangles, shapes)
    else:
        tilts = np.zeros_like(shapes)
    if body.shapes is not None:
        shapes = np.concatenate([body.shapes, shapes])
        assert body.tilts is not None
        tilts = np.concatenate([body.tilts, tilts])
    return replace(body, shapes=shapes, tilts=tilts, scales=unit_scales(shapes))
