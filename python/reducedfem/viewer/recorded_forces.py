"""Recorded forces that bend shells with a local compliance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.run import Progress, callback
from reducedfem.contact.local import LocalCompliance
from reducedfem.viewer.shown import compressed

__all__ = ["RecordedForces", "unit_shapes"]

_SAMPLES = 200  # cycles from which shapes are made
_MOST_SHAPES = 64
_LOST = 5e-3  # of the dimples of these cycles, over their norm

Reals = NDArray[np.float64]


def unit_shapes(dimples: Reals) -> Reals:
    """Return unit vectors, (r, n, 3), whose sums are dimples (m, n, 3) with a small error."""
    shapes = compressed(dimples, _LOST)[1][:_MOST_SHAPES]
    lengths = np.maximum(np.linalg.norm(shapes, axis=(1, 2)), 1e-300)
    return np.asarray(shapes / lengths[:, None, None])


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

    def _chosen(self) -> NDArray[np.intp]:
        """Return the cycles from which shapes are made."""
        loaded = np.unique(self.cycle)
        return loaded[:: -(-len(loaded) // _SAMPLES)]

    def thinned_text(self, name: str) -> list[str]:
        """Return the line of text about cycles whose dimples shapes may lack, if there are any."""
        every = -(-len(np.unique(self.cycle)) // _SAMPLES)
        if every < 2:
            return []
        return [f"{name}: shapes of the dimples of 1 of {every} cycles; others may be incomplete"]

    def dimple(self, local: LocalCompliance, cycle: int) -> Reals:
        """Return the dimple S f at all points in a cycle [m], (n, 3)."""
        own = slice(*np.searchsorted(self.cycle, (cycle, cycle + 1)))
        return local.displacement(self.force[own], self.point[own])

    def dimples(
        self, local: LocalCompliance, m: int, progress: Progress = None
    ) -> tuple[Reals, Reals, float]:
        """Return the dimples of m cycles by shapes at the points.

        The shapes are those of some cycles, compressed, and their coordinates in all cycles the
        orthogonal projections: a shape p has the coordinate p . S f = S p . f.

        Returns
        -------
        coordinates
            (m, r)
        shapes
            Unit vectors, (r, n, 3).
        lost
            Part of the dimples of the chosen cycles that the shapes leave out.
        """
        chosen = self._chosen()
        with callback(progress, "dimples") as tell:
            total = len(chosen) + _MOST_SHAPES
            some = np.empty((len(chosen), local.tree.shell.n_points, 3))
            for j, k in enumerate(chosen):
                some[j] = self.dimple(local, k)
                if tell is not None:
                    tell(j + 1, total)
            shapes = unit_shapes(some)
            every = np.arange(some.shape[1], dtype=np.int32)
            q = np.zeros((m, len(shapes)))
            for j, shape in enumerate(shapes):
                work = local.displacement(shape, every)[self.point]
                q[:, j] = np.bincount(self.cycle, (work * self.force).sum(axis=1), m)
                if tell is not None:
                    tell(len(chosen) + j + 1, total)
            if tell is not None:
                tell(total, total)
        lost = some - np.tensordot(q[chosen], shapes, 1)
        size = max(float(np.linalg.norm(some)), 1e-300)
        return q, shapes, float(np.linalg.norm(lost)) / size
