"""Dimples of local compliance in views of recorded sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reducedfem.contact.local import LocalCompliance
from reducedfem.viewer.parts import Body, Track, surface_tilts
from reducedfem.viewer.recorded_objects import RecordedObjects
from reducedfem.viewer.shown import compressed, unit_scales
from reducedfem.viewer.shown_dimple import Dimple

__all__ = ["RecordedForces", "add_dimples", "compliances"]

_SAMPLES = 400  # cycles from which shapes are made
_MOST_SHAPES = 64
_MOST_LOST = 0.02  # of dimples, that no text tells

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class RecordedForces:
    """Forces that bend a shell, of all cycles.

    Attributes
    ----------
    cycle, point
        Cycle and point of the shell of each, (k,), by cycle.
    force
        On the shell, in its frame [N], (k, 3).
    """

    cycle: NDArray[np.intp]
    point: NDArray[np.int32]
    force: Reals

    @classmethod
    def of(cls, records: NDArray[np.void], contacts: Sequence[int], n: int) -> RecordedForces:
        """Take the forces of some contacts on a shell of n points; a damaged file has others."""
        point = records["site_point"]
        there = np.isin(records["site_contact"], contacts) & (point >= 0) & (point < n)
        force = records["site_force"][there].astype(np.float64)
        return cls(np.nonzero(there)[0], point[there], force)

    def dimple(self, local: LocalCompliance, cycle: int) -> tuple[Reals, float]:
        """Return the dimple S f at all points in a cycle [m], (n, 3), and its factor."""
        own = slice(*np.searchsorted(self.cycle, (cycle, cycle + 1)))
        return local._softened(self.force[own], self.point[own])

    def dimples(self, local: LocalCompliance, m: int) -> tuple[Reals, Reals, float]:
        """Return the dimples of m cycles by shapes at the points.

        The shapes are those of some cycles, compressed, and their coordinates in all cycles the
        orthogonal projections: a shape p has the coordinate p . S f = S p . f. Factors are
        interpolated between these cycles.

        Returns
        -------
        coordinates
            (m, r)
        shapes
            Unit vectors, (r, n, 3).
        lost
            Part of the dimples of these cycles that the shapes leave out.
        """
        loaded = np.unique(self.cycle)
        chosen = loaded[:: -(-len(loaded) // _SAMPLES)]
        found = [self.dimple(local, k) for k in chosen]
        some, factors = np.array([u for u, _ in found]), [factor for _, factor in found]
        shapes = compressed(some)[1][:_MOST_SHAPES]
        shapes /= np.maximum(np.linalg.norm(shapes, axis=(1, 2)), 1e-300)[:, None, None]
        every = np.arange(some.shape[1], dtype=np.int32)
        q = np.zeros((m, len(shapes)))
        for j, shape in enumerate(shapes):
            work = local.displacement(shape, every)[self.point]
            q[:, j] = np.bincount(self.cycle, (work * self.force).sum(axis=1), m)
        lost = some - np.tensordot(q[chosen], shapes, 1)
        q *= np.interp(np.arange(m), chosen, factors)[:, None]
        return q, shapes, float(np.linalg.norm(lost) / max(np.linalg.norm(some), 1e-300))


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
        contacts = [i for i, (shell, _) in enumerate(objects._pairs) if shell == k]
        forces = RecordedForces.of(records, contacts, local.tree.shell.n_points)
        if not len(forces.cycle):
            continue
        q, shapes, lost = forces.dimples(local, len(records))
        if lost > _MOST_LOST:
            texts.append(f"{bodies[k].name}: {lost:.0%} of its dimples are not drawn")
        new_bodies[k] = _with_shapes(bodies[k], Dimple(local, bodies[k]), shapes)
        known = bodies[k].shapes
        track = moving.get(k, Track(k))
        own = track.q
        if own is None:
            own = np.zeros((len(records), 0 if known is None else len(known)))
        moving[k] = replace(track, q=np.column_stack([own, q]))
    return tuple(new_bodies), (*(moving[k] for k in sorted(moving)), tracks[-1]), texts


def _with_shapes(body: Body, dimple: Dimple, at_points: Reals) -> Body:
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
