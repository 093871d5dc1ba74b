"""Keys that are valid once and for a short time."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

__all__ = ["OneTimeKeys"]


class OneTimeKeys:
    """Random keys for texts, each valid once and for a limited time.

    All users of a machine can read the arguments of programs, such as the address given to a
    browser. A key in it is worthless once the browser has used it.

    Parameters
    ----------
    life
        Time for which a key is valid [s].
    clock
        Function that returns the time [s].
    """

    def __init__(self, life: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._life, self._clock = life, clock
        self._lock = threading.Lock()
        self._texts: dict[str, tuple[float, str]] = {}

    def make(self, text: str) -> str:
        """Return a new key for a text."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._forget()
            self._texts[key] = self._clock() + self._life, text
        return key

    def use(self, key: str) -> str | None:
        """Return the text of a key, which is not valid any more; None: it was not valid."""
        with self._lock:
            self._forget()
            _, text = self._texts.pop(key, (0.0, None))
        return text

    def _forget(self) -> None:
        now = self._clock()
        self._texts = {key: one for key, one in self._texts.items() if one[0] > now}
