"""A page of a view open for minutes: growth of memory of Python and of the page.

The page follows a haptic session whose simulated hand moves forwards and backwards, or a mouse
pulls a model in it again and again. Every ten seconds garbage is collected on both sides, and the
memory is read. The exit status is 1 if something grows: by a slope of more than three times its
error, and in five minutes by more than is no drift.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import child
import numpy as np
from haptics_soak import to_and_fro

import reducedfem as rf
from reducedfem import samples, scenes

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser import Browser, missing_browser, open_browser

EVERY = 10.0  # s, between two readings
# s, at most half of the time, until all has the memory that it needs: the browser keeps records of
# the first hundreds of frames
WARM = 90.0
SIZE = {"width": 480, "height": 360}  # of the window: small, for as many frames as possible
SPAN = 300.0  # s, over which growth is judged

# objects of WebGL that were created and not deleted
COUNTED = """
window.live = 0;
const made = new WeakSet(), gl = WebGL2RenderingContext.prototype;
for (const kind of ["Buffer", "Texture", "VertexArray", "TransformFeedback", "Program", "Shader"]) {
  const create = gl[`create${kind}`], remove = gl[`delete${kind}`];
  gl[`create${kind}`] = function (...given) {
    const one = create.apply(this, given);
    made.add(one);
    window.live += 1;
    return one;
  };
  gl[`delete${kind}`] = function (one) {
    if (made.delete(one)) window.live -= 1;
    return remove.call(this, one);
  };
}
"""


@dataclass(frozen=True)
class Quantity:
    """Something that must not grow: its unit, the size of that, and growth that is no drift."""

    name: str
    unit: str
    size: float
    allowed: float


QUANTITIES = (
    Quantity("resident memory of Python", "kB", 1e3, 1e3),
    Quantity("JavaScript heap", "kB", 1e3, 300.0),
    Quantity("resident memory of the page's process", "kB", 1e3, 5e3),
    Quantity("resident memory of the GPU process", "kB", 1e3, 5e3),
    Quantity("objects of WebGL", "", 1.0, 0.5),
    Quantity("nodes of the document", "", 1.0, 5.0),
    Quantity("listeners of events", "", 1.0, 5.0),
)


@dataclass
class Growth:
    """Readings at times [s], a column for each of `QUANTITIES`."""

    seconds: list[float] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    frames: int = 0

    def slope(self, k: int) -> tuple[float, float]:
        """Return the slope of a quantity after the warm-up and its standard error, per second."""
        t, y = np.array(self.seconds), np.array([row[k] for row in self.values])
        kept = t >= min(WARM, 0.5 * t[-1])
        t, y = t[kept], y[kept]
        if len(t) < 3:
            raise ValueError(f"{len(t)} readings after the warm-up are too few for a slope")
        a = np.stack([t - t.mean(), np.ones(len(t))], axis=1)
        (rate, level), *_ = np.linalg.lstsq(a, y, rcond=None)
        left = y - a @ [rate, level]
        error = np.sqrt((left @ left) / (len(t) - 2) / (a[:, 0] @ a[:, 0]))
        return float(rate), float(error)

    def lines(self) -> Iterator[str]:
        """Return the table, line by line."""
        yield f"{self.frames} frames drawn in {self.seconds[-1]:.0f} s"
        yield f"{'':<42}{'first':>10}{'last':>10}{'per minute':>12}{'+-':>8}"
        for k, one in enumerate(QUANTITIES):
            rate, error = (60.0 * value / one.size for value in self.slope(k))
            first, last = (self.values[at][k] / one.size for at in (0, -1))
            name = f"{one.name} [{one.unit}]" if one.unit else one.name
            yield f"{name:<42}{first:>10.0f}{last:>10.0f}{rate:>12.2f}{error:>8.2f}"

    def faults(self) -> list[str]:
        """Return all growth beyond the error of its slope and beyond what is no drift."""
        found = []
        for k, one in enumerate(QUANTITIES):
            rate, error = self.slope(k)
            grown = SPAN * rate / one.size
            if rate > 3.0 * error and grown > one.allowed:
                found.append(f"{one.name} grows by {grown:.1f} {one.unit} in {SPAN:.0f} s")
        return found


def family(process: int) -> Iterator[int]:
    """Return a process and all that it has started."""
    yield process
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for one in (task / "children").read_text().split():
                yield from family(int(one))


def resident(processes: Iterator[int], kind: str) -> int:
    """Return the resident memory of the browser's processes of a kind [bytes]."""
    total = 0
    for one in processes:
        with contextlib.suppress(OSError):  # it has ended
            # renamed processes have blanks between their arguments
            words = Path(f"/proc/{one}/cmdline").read_bytes().replace(b"\0", b" ").split()
            if f"--type={kind}".encode() in words:
                total += int(Path(f"/proc/{one}/statm").read_text().split()[1])
    return total * os.sysconf("SC_PAGE_SIZE")


def reading(browser: Browser) -> list[float]:
    """Collect garbage and return the value of each of `QUANTITIES`."""
    cdp = browser.driver.execute_cdp_cmd
    cdp("HeapProfiler.collectGarbage", {})
    gc.collect()
    process = browser.driver.service.process.pid
    metrics = {one["name"]: one["value"] for one in cdp("Performance.getMetrics", {})["metrics"]}
    return [
        float(child.resident()),
        metrics["JSHeapUsedSize"],
        *(float(resident(family(process), kind)) for kind in ("renderer", "gpu-process")),
        float(browser.run("return window.live")),
        metrics["Nodes"],
        metrics["JSEventListeners"],
    ]


def watch(
    view: rf.View, seconds: float, every: float, act: Callable[[Browser, float], None]
) -> Growth:
    """Open a page for some seconds, read memory regularly; `act` is called with the time passed."""
    found = Growth()
    with open_browser(**SIZE) as browser:
        cdp = browser.driver.execute_cdp_cmd
        cdp("Performance.enable", {})
        cdp("Page.addScriptToEvaluateOnNewDocument", {"source": COUNTED})
        browser.open(view.address)
        browser.wait("(window.reducedfem?.frames ?? 0) > 0")
        begun = time.perf_counter()
        while (now := time.perf_counter() - begun) < seconds:
            if now >= every * len(found.seconds):
                found.seconds.append(now)
                found.values.append(reading(browser))
            act(browser, now)
        found.frames = browser.run("return window.reducedfem.frames")
        errors = browser.errors()
        if errors:
            raise RuntimeError(f"the page has errors: {errors[0]}")
    return found


def mouse(browser: Browser, kind: str, x: float, y: float) -> None:
    """Send an event of the mouse at a point of the page [pixels]."""
    pressed = {"button": "left", "buttons": 1, "clickCount": 1}
    browser.driver.execute_cdp_cmd(
        "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **pressed}
    )


class Puller:
    """A mouse that pulls at the middle of the picture, around a circle in 4 s, anew every 5 s.

    It runs no scripts in the page, which would leave traces in its heap.
    """

    def __init__(self) -> None:
        self._pressed = False
        self._x = self._y = 0.0

    def __call__(self, browser: Browser, now: float) -> None:
        """Send the next event."""
        if not self._x:
            self._x, self._y = browser.run("return [0.5 * innerWidth, 0.5 * innerHeight]")
        part = now % 5.0
        if part >= 4.0 and self._pressed:
            mouse(browser, "mouseReleased", self._x, self._y)
            self._pressed = False
        if part < 4.0:
            if not self._pressed:
                mouse(browser, "mousePressed", self._x, self._y)
                self._pressed = True
            turn, size = 0.5 * np.pi * part, 0.2 * self._y
            x, y = self._x + size * np.sin(turn), self._y + size * (np.cos(turn) - 1.0)
            mouse(browser, "mouseMoved", x, y)
        time.sleep(0.02)


def of_session(seconds: float, every: float, scene: str) -> Growth:
    """Watch the page of a haptic session."""
    with to_and_fro(seconds + 60.0):
        session = scenes.session(scene, duration=seconds + 60.0)
    with rf.view(session, browser=False) as view, session:
        return watch(view, seconds, every, lambda browser, now: time.sleep(0.02))


def of_model(seconds: float, every: float) -> Growth:
    """Watch the page of a model that is pulled."""
    mesh = rf.voxelize(samples.load("spoon"), resolution=40)
    solid = rf.Solid(mesh, rf.StVK(8e8, 0.4, 950.0), fixed=mesh.nodes[:, 0] < 0.01)
    reduced = rf.reduce(solid, rf.modal_derivative_basis(solid, k=5, r=12))
    with rf.view(reduced, browser=False) as view:
        return watch(view, seconds, every, Puller())


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="of each page (5)")
    parser.add_argument("--every", type=float, default=EVERY, help="s between readings (10)")
    parser.add_argument("--page", choices=("session", "model"), help="only this one")
    parser.add_argument("--all", action="store_true", help="print all readings")
    parser.add_argument("--scene", default="soft", choices=scenes.STORIES, help="(soft)")
    arguments = parser.parse_args()
    if not 0.1 <= arguments.minutes <= 1000.0:
        parser.error(f"--minutes must be between 0.1 and 1000, got {arguments.minutes:g}")
    length = 60.0 * arguments.minutes
    if not 0.1 <= arguments.every <= length / 8.0:
        parser.error(
            f"--every must be between 0.1 and an eighth of the time, {length / 8.0:g}, "
            f"got {arguments.every:g}"
        )
    if missing_browser():
        parser.error(missing_browser())
    pages: dict[str, Callable[..., Any]] = {
        "session": lambda: of_session(length, arguments.every, arguments.scene),
        "model": lambda: of_model(length, arguments.every),
    }
    faults = []
    for name in [arguments.page] if arguments.page else pages:
        found = pages[name]()
        print(f"-- {name}", *found.lines(), sep="\n", flush=True)
        for seconds, values in zip(found.seconds, found.values, strict=True):
            if arguments.all:
                print(f"{seconds:.0f} s", *(f"{value:.0f}" for value in values))
        for fault in found.faults():
            faults.append(fault)
            print(f"NOT RIGHT: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
