"""Output of the command line: stages with bars and times, sizes, durations."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

__all__ = [
    "Console",
    "bytes_text",
    "count_text",
    "listed",
    "part_text",
    "size_text",
    "time_text",
]

_BAR = 20
_LABEL = 24


def count_text(count: int, one: str, many: str | None = None) -> str:
    """Return ``1 node`` or ``1,234 nodes``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(texts: Sequence[str], most: int = 3) -> str:
    """Return texts joined by commas, of many the first ones and the number of the others."""
    more = [f"{len(texts) - most:,} more"] if len(texts) > most else []
    return ", ".join([*texts[:most], *more])


def part_text(part: float) -> str:
    """Return a part as a percentage, rounded down: nearly all of it is not 100 %."""
    return f"{math.floor(1000.0 * part) / 10.0:g} %"


def bytes_text(count: float) -> str:
    """Return a number of bytes with a suitable unit."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def time_text(seconds: float) -> str:
    """Return a duration with a suitable unit."""
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.1f} s"


def size_text(bounds: object) -> str:
    """Return the sides of a box in metres."""
    import numpy as np

    low, high = np.asarray(bounds)
    return " x ".join(f"{side:.4g}" for side in high - low) + " m"


class Stage:
    """A stage of the work: `tell` is its progress callback, `result` the text at its end."""

    def __init__(self, console: Console, label: str) -> None:
        self._console = console
        self._label = label
        self._start = self._shown = time.monotonic()
        self.result = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self._start

    def line(self, part: float) -> str:
        """Return the line with the bar filled to `part`."""
        filled = round(_BAR * min(max(part, 0.0), 1.0))
        bar = "#" * filled + "." * (_BAR - filled)
        return f"  {self._label:<{_LABEL}}[{bar}] {self.elapsed:6.1f} s  "

    def show(self, done: int, total: int) -> None:
        """Show progress, at most a few times per second."""
        now = time.monotonic()
        if self._console.animated and now - self._shown >= 0.1:
            self._shown = now
            self._console.draw(self.line(done / max(total, 1)))


class Console:
    """Prints stages as lines; in a terminal with moving bars.

    Parameters
    ----------
    quiet
        True: print nothing.
    stream
        Stream to print to; default: standard output.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self.quiet = quiet
        self.animated = not quiet and self._stream.isatty()

    def draw(self, text: str) -> None:
        """Overwrite the current line."""
        self._stream.write("\r" + text)
        self._stream.flush()

    def say(self, text: str = "") -> None:
        """Print a line."""
        if not self.quiet:
            self._stream.write(text + "\n")
            self._stream.flush()

    def fact(self, label: str, text: str) -> None:
        """Print a line with a label and a text."""
        self.say(f"  {label:<{_LABEL}}{text}")

    @contextlib.contextmanager
    def stage(self, label: str) -> Iterator[Stage]:
        """Time a stage of the work; print its result at the end."""
        stage = Stage(self, label)
        if self.animated:
            self.draw(stage.line(0.0))
        try:
            yield stage
        except BaseException:
            if self.animated:
                self._stream.write("\n")
                self._stream.flush()
            raise
        if self.animated:
            self.draw("")
        self.say(stage.line(1.0) + stage.result)
