"""Pointer of a page, which moves the handle of a device."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from reducedfem import _core

__all__ = ["Pointer"]

_Place = tuple[float, float, float]

_PATIENCE = 2.0  # s without a message, after which other users may take the handle


class Pointer:
    """Holds the handle of a device on behalf of one user at a time, such as a view.

    Any thread may call it; no call waits for the session.

    Parameters
    ----------
    core
        Device made by `_core.mouse_device`.
    """

    __slots__ = ("_core", "_heard", "_holds", "_lock", "_user")

    def __init__(self, core: _core.Device) -> None:
        self._core, self._lock = core, threading.Lock()
        self._user: object | None = None
        self._holds = 0
        self._heard = 0.0  # s, time of the last message of the user

    @property
    def held(self) -> bool:
        """True while a user holds the handle."""
        return self._user is not None

    def belongs_to_another(self, user: object) -> bool:
        """Return True if another user holds the handle, and is not idle."""
        return self._user not in (None, user) and not self.idle

    @property
    def idle(self) -> bool:
        """True if there is no user, or it has sent nothing for two seconds: others may take it."""
        if self._user is None:
            return True
        state = self.state()
        quiet = time.monotonic() - self._heard > _PATIENCE
        return quiet and not (state is not None and state[0])

    def hold(self, user: object) -> bool:
        """Take the handle where it is, again if the user has it; False: another user has it.

        An idle user loses it. The base of the motions is the present pose, so nothing jumps.
        """
        with self._lock:
            if self.belongs_to_another(user):
                return False
            self._user = user
            self._holds += 1
            self._send((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), 0)
            return True

    def move(
        self, user: object, displacement: Sequence[float], turn: Sequence[float], buttons: int
    ) -> bool:
        """Send the displacement [m] and the turn (w, x, y, z) since the hold; also if unchanged.

        Other users than that of the handle are ignored: False.
        """
        x, y, z = (float(value) for value in displacement)
        a, b, c, d = (float(value) for value in turn)
        with self._lock:
            if self._user is not user:
                return False
            self._send((x, y, z), (a, b, c, d), buttons)
            return True

    def release(self, user: object) -> None:
        """Release the handle, which rests where it is, if the user has it."""
        with self._lock:
            if self._user is user:
                self._user = None
                _core.mouse_send(self._core, 0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), 0)

    def state(self) -> tuple[bool, _Place, _Place] | None:
        """Return whether targets are heard, target and handle [m]; None before the first cycle."""
        return _core.mouse_state(self._core)

    def _send(
        self, displacement: _Place, turn: tuple[float, float, float, float], buttons: int
    ) -> None:
        self._heard = time.monotonic()
        _core.mouse_send(self._core, self._holds, displacement, turn, buttons)
