"""A thread that steps a simulation in real time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from reducedfem.viewer.workers import Worker

__all__ = ["Drive"]

_TURN = 1.0 / 120.0  # s, between two turns
_BUSY = 0.05  # s, the longest turn asked for
_MEASURED = 0.5  # s, over which the ratio is an average


class Drive:
    """Calls ``advance(n)`` so that n steps of `dt` take their time, times the speed.

    A simulation that is slower runs as fast as it can, and `ratio` says how fast. A failure of
    `advance` pauses it; `failure` is its text.

    Parameters
    ----------
    advance
        Function of the number of steps.
    dt
        Time step [s].
    playing
        True: begins at once.
    """

    def __init__(self, advance: Callable[[int], None], dt: float, *, playing: bool) -> None:
        self._advance, self._dt = advance, dt
        self._turn = threading.Condition()
        self._playing, self._ended, self._single = playing, False, 0
        self._watched = False
        self.speed = 1.0
        self.ratio = 0.0  # simulated over elapsed time
        self.cost = 0.0  # s, of a step
        self.failure = ""
        self._thread = Worker("reducedfem view", self._run, self._stop)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def play(self, on: bool = True) -> None:
        """Run, or pause."""
        with self._turn:
            self._playing = on
            if on:
                self.failure = ""
            self._turn.notify_all()

    def once(self) -> None:
        """Pause and make one step."""
        with self._turn:
            self._playing = False
            self._single = 1
            self._turn.notify_all()

    def watch(self, on: bool) -> None:
        """Run only while there are pages."""
        with self._turn:
            self._watched = on
            self._turn.notify_all()

    @property
    def playing(self) -> bool:
        """True if the simulation runs while there are pages."""
        return self._playing

    def status(self) -> dict[str, Any]:
        """Return what pages show of it."""
        return {
            "playing": self._playing,
            "speed": self.speed,
            "ratio": self.ratio,
            "failure": self.failure,
        }

    def command(self, message: Mapping[str, Any]) -> bool:
        """Handle a button of a page; return False for other messages."""
        kind = message["kind"]
        if kind in ("play", "pause"):
            self.play(kind == "play")
        elif kind == "step":
            self.once()
        elif kind == "speed":
            self.speed = float(message["value"])
        else:
            return False
        return True

    def _stop(self) -> None:
        with self._turn:
            self._ended = True
            self._turn.notify_all()

    def end(self) -> None:
        """End the thread."""
        self._stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _steps(self, n: int) -> bool:
        begun = time.perf_counter()
        try:
            self._advance(n)
        except Exception as error:
            with self._turn:
                self._playing = False
                self.failure = str(error)
            return False
        each = (time.perf_counter() - begun) / n
        self.cost = each if self.cost == 0.0 else 0.9 * self.cost + 0.1 * each
        return True

    def _run(self) -> None:
        last = owed = spent = simulated = 0.0
        while True:
            with self._turn:
                while not (self._playing and self._watched or self._single or self._ended):
                    self.ratio = last = owed = spent = simulated = 0.0
                    self._turn.wait()
                if self._ended:
                    return
                single, self._single = self._single, 0
            if single:
                self._steps(single)
                continue
            now = time.perf_counter()
            elapsed = now - last if last else _TURN
            last = now
            # time that could not be simulated is not made up for
            owed = min(owed + elapsed * self.speed, max(2.0 * _BUSY * self.speed, self._dt))
            most = max(1, int(_BUSY / self.cost)) if self.cost else 1
            n = min(int(owed / self._dt), most)
            if n and self._steps(n):
                owed -= n * self._dt
            spent, simulated = spent + elapsed, simulated + n * self._dt
            if spent > max(_MEASURED, 5.0 * self._dt / self.speed):
                self.ratio, spent, simulated = simulated / spent, 0.0, 0.0
            with self._turn:
                if not (self._ended or self._single):
                    self._turn.wait(max(0.0, _TURN - (time.perf_counter() - now)))
