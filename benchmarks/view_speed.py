"""Pages of views by the number of vertices: frames a second, bytes, times of Python and loading.

A ball of rubber with r coordinates is simulated, and drawn by a headless Chromium without a
graphics card: its renderer runs on the processor, the slowest case. A surface at rest follows. The
processor time of a frame (CPU ms) is that of the browser's processes on all cores, the one to make
a scene (made s) that of Python; unlike frames a second they hardly depend on other programs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from view_memory import family

import reducedfem as rf
from reducedfem.viewer import messages

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from browser import Browser, missing_browser, open_browser

RADIUS = 0.05  # m
SECONDS = 8.0  # in which frames are counted
DRAWN = "(window.reducedfem?.frames ?? 0) > 0"


def ball(vertices: int) -> rf.Surface:
    """Return a sphere of triangles between circles of latitude, of about so many vertices."""
    rings = max(2, round(np.sqrt(vertices / 2.0)))
    around = 2 * rings
    polar, turn = np.linspace(0.0, np.pi, rings + 2)[1:-1], np.arange(around) * (np.pi / rings)
    z = np.outer(np.cos(polar), np.ones(around))
    x, y = np.outer(np.sin(polar), np.cos(turn)), np.outer(np.sin(polar), np.sin(turn))
    points = [*np.stack([x, y, z], axis=-1).reshape(-1, 3), [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
    k = np.arange(around)
    ring, following = k + around * np.arange(rings)[:, None], np.roll(k, -1)
    a, b = ring[:-1], ring[:-1, following]
    c, d = ring[1:], ring[1:, following]
    top, bottom = np.full(around, rings * around), np.full(around, rings * around + 1)
    triangles = [
        np.stack([a, c, b], axis=-1).reshape(-1, 3),
        np.stack([b, c, d], axis=-1).reshape(-1, 3),
        np.stack([top, ring[0], ring[0, following]], axis=1),
        np.stack([bottom, ring[-1, following], ring[-1]], axis=1),
    ]
    return rf.Surface(RADIUS * np.array(points), np.concatenate(triangles))


def model(surface: rf.Surface, r: int) -> rf.ReducedSolid:
    """Return a model of the ball, held at its bottom."""
    mesh = rf.voxelize(surface, 10)
    solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=mesh.nodes[:, 2] < -0.8 * RADIUS)
    return rf.reduce(solid, rf.modal_derivative_basis(solid, k=10, r=r))


def loaded(browser: Browser, address: str) -> float:
    """Open a page; return the time until its first picture [s]."""
    begun = time.perf_counter()
    browser.open(address)
    browser.wait(DRAWN)
    # the renderer may still be at work
    browser.run("window.reducedfem.draw(); window.reducedfem.drawing.gl.finish();")
    return time.perf_counter() - begun


def processor_time(browser: Browser) -> float:
    """Return the processor time of all processes of the browser so far [s]."""
    total = 0
    for one in family(browser.driver.service.process.pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def rate(browser: Browser) -> tuple[float, float]:
    """Return the frames a second of a simulation that runs, and the processor time of one [s]."""
    browser.wait("window.reducedfem.frame?.playing")
    spent = processor_time(browser)
    # each picture is waited for, because commands for the renderer are queued
    frames, seconds = browser.run(
        "const page = window.reducedfem, draw = page.draw.bind(page);"
        "const pixel = new Uint8Array(4);"
        "page.draw = () => {"
        "  draw();"
        "  const { gl } = page.drawing;"
        "  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);"
        "};"
        "const first = page.frames, begun = performance.now();"
        "const turning = setInterval(() => { page.dirty = true; }, 4);"
        f"await new Promise((done) => setTimeout(done, {1000.0 * SECONDS}));"
        "clearInterval(turning);"
        "page.draw = draw;"
        "return [page.frames - first, 1e-3 * (performance.now() - begun)];"
    )
    return frames / seconds, (processor_time(browser) - spent) / max(frames, 1)


def of_model(browser: Browser, vertices: int, r: int) -> str:
    """Return the line of a model."""
    surface = ball(vertices)
    reduced = model(surface, r)
    begun = time.process_time()
    with contextlib.redirect_stdout(None):
        view = rf.view(reduced, browser=False)
    with view:
        scene = view._shown.scene()
        made = time.process_time() - begun
        size = len(messages.encode(scene.described()))
        frames, bytes_ = [], 0
        for _ in range(200):
            begun = time.thread_time()
            bytes_ = len(messages.encode({**(view._shown.frame() or {}), "kind": "frame"}))
            frames.append(time.thread_time() - begun)
        origin, down = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -1.0])
        begun = time.perf_counter()
        if view._shown.pull(0, origin, down) is None:
            raise RuntimeError("the ray meets nothing")
        picked = time.perf_counter() - begun
        view._shown.release()
        opened = loaded(browser, view.address)
        drawn, each = rate(browser)
    browser.open("about:blank")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ball.html"
        rf.export_html(file, reduced)
        single = loaded(browser, file.as_uri())
        bulk = file.stat().st_size
        browser.open("about:blank")
    return (
        f"{surface.n_vertices:>9,}{r:>4}{drawn:>10.1f}{1e3 * each:>9.0f}"
        f"{1e6 * np.median(frames):>12.0f}{bytes_:>8}{size / 1e6:>10.1f}{made:>9.2f}{opened:>9.2f}"
        f"{1e3 * picked:>9.1f}{bulk / 1e6:>10.1f}{single:>9.2f}"
    )


def of_surface(browser: Browser, vertices: int) -> str:
    """Return the line of a surface at rest, which is drawn while it turns."""
    surface = ball(vertices)
    begun = time.process_time()
    with contextlib.redirect_stdout(None):
        view = rf.view(surface, browser=False)
    with view:
        scene = view._shown.scene()
        made = time.process_time() - begun
        size = len(messages.encode(scene.described()))
        opened = loaded(browser, view.address)
        browser.run("window.reducedfem.frame = { playing: true, numbers: [] };")
        drawn, each = rate(browser)
        begun = time.perf_counter()
        browser.run(
            "const page = window.reducedfem; page.setWire(true); page.draw();"
            "page.drawing.gl.finish();"
        )
        wired = time.perf_counter() - begun
    browser.open("about:blank")
    return (
        f"{surface.n_vertices:>9,}{'-':>4}{drawn:>10.1f}{1e3 * each:>9.0f}{'-':>12}{'-':>8}"
        f"{size / 1e6:>10.1f}{made:>9.2f}{opened:>9.2f}   edges after {wired:.2f} s"
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--vertices", type=int, nargs="+", default=[20_000, 50_000, 100_000], help="of models"
    )
    parser.add_argument("--surface", type=int, default=300_000, help="vertices of the surface")
    parser.add_argument("--coordinates", type=int, default=30, help="r (30)")
    arguments = parser.parse_args()
    if min([*arguments.vertices, arguments.surface]) < 100:
        parser.error("the numbers of vertices must be at least 100")
    if missing_browser():
        parser.error(missing_browser())
    with open_browser() as browser:
        browser.open("about:blank")
        print("canvas of 800 x 600 pixels at most; rendered by the processor")
        print(
            f"{'vertices':>9}{'r':>4}{'frames/s':>10}{'CPU ms':>9}{'Python us':>12}{'bytes':>8}"
            f"{'scene MB':>10}{'made s':>9}{'page s':>9}{'pick ms':>9}{'file MB':>10}{'file s':>9}"
        )
        for n in arguments.vertices:
            print(of_model(browser, n, arguments.coordinates), flush=True)
        print(of_surface(browser, arguments.surface), flush=True)
        for error in browser.errors():
            print(f"error of a page: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
