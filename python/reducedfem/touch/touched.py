"""Base class of bodies that a hand touches directly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core as core
from reducedfem.contact.combined_field import Field
from reducedfem.geometry.pose import Pose
from reducedfem.geometry.surface import Surface

__all__ = ["Touched"]


class Touched:
    """Base of bodies that answer the pose of a hand by a force, in place of contact and coupling.

    `HapticSession` takes one as its first argument, and copies it.

    Attributes
    ----------
    max_depth
        Depth up to which the body has a force [m]; None: any.
    """

    __slots__ = ()

    _core: core._Touched

    @property
    def max_depth(self) -> float | None:
        """Depth up to which the body has a force [m]; None: any."""
        return None

    @property
    def _size(self) -> str:
        """Size of the body as text, "5,400 nodes"."""
        raise NotImplementedError

    @property
    def pose(self) -> Pose:
        """Pose of the body in the world."""
        raise NotImplementedError

    @property
    def _shape(self) -> Field | None:
        """Shape of the tool in the frame of the hand; None: a point."""
        return None

    @property
    def _drawn(self) -> Surface:
        """Surface that views draw, at rest in the frame of the body."""
        raise NotImplementedError

    def _moved(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the displacements [m] of its vertices, (v, 3), by the published coordinates."""
        raise NotImplementedError

    def _recorded(
        self,
        times: NDArray[np.float64],
        anchors: NDArray[np.float64],
        forces: NDArray[np.float64],
    ) -> NDArray[np.float64] | None:
        """Return the displacements of the vertices in recorded cycles, (m, v, 3).

        By their times in the session (m,), and the anchors and the forces on the hand, in the
        world, (m, 3) each. None: records do not have the state of the body.
        """
        return None

    def _is_as_at(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the times of a session, (m,), at which the body yielded as it does now."""
        return np.ones(len(times), dtype=bool)

    def _held(self) -> int:
        """Return the number of supports that could be released, and are not."""
        return 0

    def _recorded_at_tip(
        self, anchors: NDArray[np.float64], forces: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the displacements of the surface at the tip, (m, 3), where `_recorded` has some.

        By the same, in the world.
        """
        raise NotImplementedError

    def _box(self) -> NDArray[np.float64]:
        """Return the lowest and the highest corner of the body [m], for checks of its size."""
        raise NotImplementedError

    @property
    def given(self) -> Any:
        """The object that the session was given for it."""
        return self

    def _begin(self, dt: float) -> None:
        """Prepare for the cycles of a session, of a length [s]."""

    def _require_real_time(self) -> None:
        """Refuse to run in time what takes too long on this machine; `run` takes its time."""

    def _damped_time(self, dt: float, delay: float) -> float:
        """Return the time by which a stiffness asks for damping [s]."""
        return max(0.5 * dt, delay)

    def _restore(self, session: core.Session) -> None:
        """Take the state of the session's copy, after the session."""
        session.restore_touch(self._core)

    def _advice(self, status: dict[str, Any]) -> list[str]:
        """Return sentences for the report of a session."""
        return []
