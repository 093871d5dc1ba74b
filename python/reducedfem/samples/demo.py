"""Demonstration on a sample surface: reduction, real-time simulation, comparison, pictures."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import samples
from reducedfem._version import __version__
from reducedfem.base.console import Console, bytes_text, count_text, size_text, time_text
from reducedfem.dynamics.newmark import ImplicitNewmark
from reducedfem.errors import FileFormatError, InputError, PlausibilityWarning
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.surface import Surface
from reducedfem.geometry.voxels import voxelize
from reducedfem.material.laws import StVK
from reducedfem.pictures import plot
from reducedfem.reduction.basis import modal_derivative_basis
from reducedfem.reduction.reduce import reduce
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.solid.solid import Solid

__all__ = [
    "DEMOS",
    "Comparison",
    "DemoSettings",
    "compare",
    "dominant_frequency",
    "instants",
    "run",
]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DemoSettings:
    """Settings of a demonstration, in SI units.

    Attributes
    ----------
    surface
        Name of the sample surface.
    what
        Description of the object.
    resolution, k, r
        Number of voxels along the grid, of linear modes, and of reduced coordinates.
    young, poisson, density
        Young's modulus [Pa], Poisson's ratio and density [kg/m^3].
    fixed_axis, fixed_part
        Axis, and fraction of the bounding box of the surface at its low end in which nodes are
        fixed.
    point, radius, force, push
        Position of the load on the surface [m], its radius (0: one vertex) [m], the force
        [N] and its duration [s].
    periods, steps, damping
        Simulated time in periods of the lowest mode, number of time steps, Rayleigh damping.
    whole
        Reason for whole cubes of first order; empty: cut cells of second order.
    newton_max, tol
        Maximum number of Newton iterations per step, and their tolerance.
    azimuth, elevation, shapes, rest_opacity, pixels
        View direction [degrees], number of deformed shapes, opacity of the rest shape, size of
        the picture.
    """

    surface: str
    what: str
    resolution: int
    young: float
    poisson: float
    density: float
    fixed_axis: int
    fixed_part: float
    point: tuple[float, float, float]
    force: tuple[float, float, float]
    push: float
    damping: tuple[float, float]
    azimuth: float
    elevation: float
    radius: float = 0.0
    whole: str = ""
    shapes: int = 4
    rest_opacity: float = 1.0
    k: int = 20
    r: int = 30
    periods: float = 1.8
    steps: int = 250
    newton_max: int = 20
    tol: float = 1e-4
    pixels: tuple[int, int] = (1500, 1100)


DEMOS = {
    demo.surface: demo
    for demo in (
        DemoSettings(
            surface="spoon",
            what="polyethylene spoon",
            resolution=32,
            young=2e8,
            poisson=0.4,
            density=930.0,
            fixed_axis=0,
            fixed_part=0.05,
            point=(0.17, 0.0, 0.0),
            force=(0.0, 0.0, -0.5),
            push=0.02,
            damping=(0.0, 5e-5),
            azimuth=-62.0,
            elevation=20.0,
        ),
        DemoSettings(
            surface="bridge",
            what="bridge of soft rubber",
            resolution=48,
            young=1e6,
            poisson=0.4,
            density=1100.0,
            fixed_axis=2,
            fixed_part=0.05,
            point=(0.5, 0.0, 0.33),
            radius=0.25,
            whole="cut to shape, its thin hangers would buckle, which 30 coordinates do not follow",
            force=(0.0, 120.0, -60.0),
            push=0.05,
            damping=(0.0, 1e-4),
            azimuth=-60.0,
            elevation=20.0,
            shapes=1,
            rest_opacity=0.3,
        ),
        DemoSettings(
            surface="hose",
            what="silicone hose",
            resolution=16,
            young=3e6,
            poisson=0.4,
            density=1100.0,
            fixed_axis=0,
            fixed_part=0.05,
            point=(0.2, 0.0, 0.22),
            force=(0.0, 3.0, -3.6),
            push=0.03,
            damping=(0.0, 1e-4),
            azimuth=-60.0,
            elevation=20.0,
        ),
    )
}


def quick(demo: DemoSettings) -> DemoSettings:
    """Return settings with a coarse mesh and a small load, for a quick test."""
    return replace(
        demo,
        resolution=max(8, demo.resolution // 2),
        k=6,
        r=12,
        force=(0.5 * demo.force[0], 0.5 * demo.force[1], 0.5 * demo.force[2]),
        steps=demo.steps // 2,
        pixels=(750, 550),
    )


# --- comparing ------------------------------------------------------------------------


def dominant_frequency(time_s: ArrayLike, values: ArrayLike) -> float | None:
    """Return the frequency [Hz] of an oscillation about zero; None for less than a period.

    Parameters
    ----------
    time_s
        Times [s], ascending, shape (m,).
    values
        Values at these times, shape (m,). Periods are counted between the first and the last zero
        crossing in the same direction.
    """
    t, x = np.asarray(time_s, dtype=np.float64), np.asarray(values, dtype=np.float64)
    best: tuple[float, float] | None = None
    for sign in (1.0, -1.0):
        k = np.flatnonzero((sign * x[:-1] < 0) & (sign * x[1:] >= 0))
        if len(k) < 2:
            continue
        passage = t[k] + (t[k + 1] - t[k]) * x[k] / (x[k] - x[k + 1])
        span = float(passage[-1] - passage[0])
        if best is None or span > best[0]:
            best = span, (len(k) - 1) / span
    return None if best is None else best[1]


@dataclass(frozen=True)
class Comparison:
    """Difference between a reduced motion and the unreduced one.

    Attributes
    ----------
    amplitude
        Largest displacement of the point [m], reduced and unreduced.
    frequency
        Dominant frequency of the point [Hz], reduced and unreduced; None if the motion is
        shorter than a period.
    rms
        Root of the mean square of the difference of the displacements [m].
    """

    amplitude: tuple[float, float]
    frequency: tuple[float, float] | None
    rms: float

    @property
    def relative_rms(self) -> float:
        """`rms` over the unreduced amplitude."""
        return self.rms / self.amplitude[1]


def compare(time_s: ArrayLike, reduced: ArrayLike, unreduced: ArrayLike) -> Comparison:
    """Compare two trajectories of a point.

    Parameters
    ----------
    time_s
        Times [s], shape (m,).
    reduced, unreduced
        Displacements [m], shape (m, 3).

    Returns
    -------
    Comparison
    """
    a, b = np.asarray(reduced, dtype=np.float64), np.asarray(unreduced, dtype=np.float64)
    axis = int(np.ptp(b, axis=0).argmax())
    f, g = dominant_frequency(time_s, a[:, axis]), dominant_frequency(time_s, b[:, axis])
    return Comparison(
        amplitude=(float(np.linalg.norm(a, axis=1).max()), float(np.linalg.norm(b, axis=1).max())),
        frequency=None if f is None or g is None else (f, g),
        rms=float(np.sqrt(((a - b) ** 2).sum(axis=1).mean())),
    )


def instants(d: Array, count: int) -> list[int]:
    """Return the steps to draw: the two extremes, then half of each."""
    chosen = [int(d.argmin()), int(d.argmax())]
    if abs(d[chosen[1]]) > abs(d[chosen[0]]):
        chosen.reverse()
    for extreme in chosen[:2]:
        if extreme > 0:
            before = d[: extreme + 1]
            # the last step before the extreme at half of its value
            sign = np.sign(before[-1])
            below = np.flatnonzero(sign * before < 0.5 * sign * before[-1])
            if len(below):
                chosen.append(int(below[-1]))
    return sorted(dict.fromkeys(chosen[:count]))


# --- the demonstration ----------------------------------------------------------------


@dataclass(frozen=True)
class _Made:
    """Results of the precomputation, before the simulation."""

    surface: Surface
    embedding: Embedding
    solid: Solid
    model: ReducedSolid
    dt: float  # s


@dataclass(frozen=True)
class _Motion:
    """Reduced and unreduced motion, and computing times per step [s].

    `times` are the times after each step, `coordinates` the reduced coordinates (m, r); paths are
    the displacements of the loaded vertex, (m, 3).
    """

    times: Array
    coordinates: list[Array]
    reduced_path: Array
    unreduced_path: Array
    short: float  # at most two Newton iterations
    converged: float  # Newton to convergence
    unreduced: float

    @property
    def axis(self) -> int:
        """Axis of the largest displacement of the vertex."""
        return int(np.ptp(self.unreduced_path, axis=0).argmax())


def _move(
    sim: ImplicitNewmark, force: Array, steps: int, pushed: int, stage: Any
) -> tuple[list[Array], float]:
    """Simulate with and then without the load; return the states of all steps and the seconds."""
    states = []
    spent = 0.0
    for i in range(steps):
        start = time.perf_counter()
        sim.step(force if i < pushed else None)
        spent += time.perf_counter() - start
        states.append(sim.state.q)
        stage.show(i + 1, steps)
    return states, spent


def _step_time(sim: ImplicitNewmark, force: Array, steps: int, pushed: int) -> tuple[float, float]:
    """Return seconds and linear systems per reduced step, as medians of several whole runs."""
    times = []
    for _ in range(7):
        sim.reset()
        start = time.perf_counter()
        sim.step(force, n=pushed)
        sim.step(None, n=steps - pushed)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / steps, sim.report.solves / steps


def _precompute(settings: DemoSettings, file: Path, console: Console) -> _Made:
    console.say("\nprecomputation")
    surface = samples.load(settings.surface)
    console.fact(
        "surface", f"{count_text(surface.n_triangles, 'triangle')}, {size_text(surface.bounds)}"
    )
    began = time.perf_counter()
    with console.stage("voxelize") as stage:
        mesh = voxelize(
            surface,
            settings.resolution,
            cut=not settings.whole,
            order=1 if settings.whole else 2,
            progress=stage.show,
        )
        stage.result = (
            f"{count_text(mesh.n_elements, 'hexahedron', 'hexahedra')}, "
            f"{count_text(mesh.n_nodes, 'node')}"
        )
    with console.stage("embed the surface") as stage:
        embedding = Embedding(mesh, surface.vertices, progress=stage.show)
        stage.result = count_text(embedding.n_points, "vertex", "vertices")
    # at least a cell deep, because a support of cut cells alone would be soft
    low, high = surface.bounds[:, settings.fixed_axis]
    cell = float(np.ptp(mesh.nodes[mesh.elements[0], settings.fixed_axis]))
    deep = max(settings.fixed_part * (high - low), 1.01 * cell)
    fixed = mesh.nodes[:, settings.fixed_axis] <= low + deep
    with warnings.catch_warnings():
        # expected for the thin samples at a coarse resolution; the demo prints the cells across
        warnings.filterwarnings("ignore", "the thinnest parts", PlausibilityWarning)
        if settings.whole:
            warnings.filterwarnings("ignore", "the mesh has", PlausibilityWarning)
        solid = Solid(mesh, StVK(settings.young, settings.poisson, settings.density), fixed)
    with console.stage("modes and derivatives") as stage:
        basis = modal_derivative_basis(solid, settings.k, settings.r, progress=stage.show)
        lowest = basis.provenance["frequencies_hz"]
        stage.result = (
            f"{settings.k} modes from {lowest[0]:.3g} Hz, "
            f"{settings.k * (settings.k + 1) // 2} derivatives, {basis.r} reduced coordinates"
        )
    with console.stage("reduce") as stage:
        model = reduce(solid, basis, progress=stage.show)
        stage.result = (
            f"{count_text(len(model.coefficients), 'coefficient')} "
            f"({bytes_text(model.coefficients.nbytes)})"
        )
    with console.stage("save the model") as stage:
        model.save(file)
        stage.result = bytes_text(file.stat().st_size)
    precomputed = time.perf_counter() - began
    console.fact(
        "solid",
        f"{solid.total_mass:.3g} kg, E = {settings.young:.3g} Pa, nu = {settings.poisson:g}, "
        f"{settings.density:g} kg/m^3, {count_text(len(solid.fixed), 'node')} fixed, "
        f"{3 * len(solid.free):,} degrees of freedom",
    )
    for label, text in solid.summary.rows()[1:3]:
        console.fact(label, text)
    if settings.whole:
        console.fact("reason for whole cubes", settings.whole)
    console.fact("total time", time_text(precomputed))
    # two digits, for readable output
    dt = float(f"{settings.periods / lowest[0] / settings.steps:.2g}")
    return _Made(surface, embedding, solid, model, dt)


def _simulate(settings: DemoSettings, made: _Made, console: Console) -> _Motion:
    # push the surface at a vertex, or around it
    vertices, solid, model = made.surface.vertices, made.solid, made.model
    vertex = int(((vertices - settings.point) ** 2).sum(axis=1).argmin())
    away = np.linalg.norm(vertices - vertices[vertex], axis=1)
    weight = np.maximum(0.0, 1.0 - away / settings.radius) if settings.radius > 0 else away == 0
    force = made.embedding.distribute(np.outer(weight / weight.sum(), settings.force))
    reduced_force = model.project(force)
    steps, dt = settings.steps, made.dt
    pushed = max(1, round(settings.push / dt))
    console.say(
        f"\nmotion: {np.linalg.norm(settings.force):.3g} N for {pushed * dt * 1e3:g} ms, "
        f"then free; {steps} steps of {dt * 1e3:g} ms"
    )
    options: dict[str, Any] = {"newton_max": settings.newton_max, "tol": settings.tol}
    with console.stage("simulate, reduced") as stage:
        sim = ImplicitNewmark(model, dt, settings.damping, **options)
        coordinates, _ = _move(sim, reduced_force, steps, pushed, stage)
        converged, iterations = _step_time(sim, reduced_force, steps, pushed)
        twice = ImplicitNewmark(model, dt, settings.damping, newton_max=2, tol=settings.tol)
        short, _ = _step_time(twice, reduced_force, steps, pushed)
        stage.result = f"{time_text(converged)} per step, {iterations:.1f} Newton iterations"
    with console.stage("simulate, unreduced") as stage:
        full = ImplicitNewmark(solid, dt, settings.damping, **options)
        displacements, spent = _move(full, force, steps, pushed, stage)
        unreduced = spent / steps
        stage.result = (
            f"{time_text(unreduced)} per step, {full.report.solves / steps:.1f} Newton iterations"
        )

    # embeds the vertex only: its weights do not depend on other points
    one = Embedding(solid.mesh, vertices[vertex : vertex + 1])
    return _Motion(
        times=dt * np.arange(1.0, steps + 1),
        coordinates=coordinates,
        reduced_path=np.array([one.interpolate(model.displacement(q))[0] for q in coordinates]),
        unreduced_path=np.array([one.interpolate(u)[0] for u in displacements]),
        short=short,
        converged=converged,
        unreduced=unreduced,
    )


def _report(made: _Made, motion: _Motion, result: Comparison, console: Console) -> None:
    console.say("\nreal time")
    for label, seconds in (
        ("two Newton iterations", motion.short),
        ("Newton to convergence", motion.converged),
    ):
        console.fact(
            label, f"{seconds * 1e6:.1f} us per step: {1e-3 / seconds:.0f} times faster than 1 kHz"
        )
    console.fact(
        "unreduced",
        f"{motion.unreduced * 1e6:,.0f} us per step: the reduced model is "
        f"{motion.unreduced / motion.converged:,.0f} times faster",
    )
    console.say("\nreduced against unreduced, at the pushed vertex")
    a, b = result.amplitude
    size = float(np.ptp(made.surface.vertices, axis=0).max())
    amplitude_text = (
        f"{a * 1e3:.1f} mm against {b * 1e3:.1f} mm: {100 * (a / b - 1):+.2f} % "
        f"(the amplitude is {100 * b / size:.0f} % of the length)"
    )
    console.fact("amplitude", amplitude_text)
    frequency_text = "less than a period was simulated"
    if result.frequency is not None:
        f, g = result.frequency
        frequency_text = f"{f:.3f} Hz against {g:.3f} Hz: {100 * (f / g - 1):+.2f} %"
    console.fact("frequency", frequency_text)
    console.fact("rms difference", _rms_text(result))


def _rms_text(result: Comparison) -> str:
    return f"{result.rms * 1e3:.2f} mm, {100 * result.relative_rms:.1f} % of the amplitude"


def _draw(
    settings: DemoSettings, made: _Made, motion: _Motion, result: Comparison, out: Path
) -> str:
    """Draw the pictures; return the names of their files."""
    chosen = instants(motion.reduced_path[:, motion.axis], settings.shapes)
    surface = plot.refined(made.surface)
    carried = Embedding(made.solid.mesh, surface.vertices)
    moved = [carried.interpolate(made.model.displacement(motion.coordinates[i])) for i in chosen]
    name = settings.what[0].upper() + settings.what[1:]
    figure = plot.shapes_figure(
        surface.vertices,
        surface.triangles,
        moved,
        [f"{motion.times[i] * 1e3:.0f} ms" for i in chosen],
        f"{name} after a blow: {made.model.r} coordinates, {motion.short * 1e6:.0f} us per step",
        settings.azimuth,
        settings.elevation,
        settings.rest_opacity,
        settings.pixels,
    )
    plot.save_figure(figure, out / "shapes.png")
    curves = [
        plot.Trace("unreduced", motion.times, 1e3 * motion.unreduced_path[:, motion.axis]),
        plot.Trace("reduced", motion.times, 1e3 * motion.reduced_path[:, motion.axis]),
    ]
    a, b = result.amplitude
    note = f"amplitude {100 * (a / b - 1):+.2f} %, rms difference {_rms_text(result)}"
    if result.frequency is not None:
        note += f"; frequency {100 * (result.frequency[0] / result.frequency[1] - 1):+.2f} %"
    figure = plot.traces_figure(
        curves,
        f"{name}: motion of the pushed vertex",
        f"displacement along {'xyz'[motion.axis]} [mm]",
        note,
        difference=True,
    )
    plot.save_figure(figure, out / "trajectory.png")
    return f"{out / 'shapes.png'}, {out / 'trajectory.png'}"


def run(settings: DemoSettings, out: Path, console: Console) -> Comparison:
    """Run a demonstration and write its model and pictures to a folder.

    Parameters
    ----------
    settings
        One of `DEMOS`, or a variation.
    out
        Output folder, created if it is missing.
    console
        Console for progress and results.

    Returns
    -------
    Comparison
        Reduced and unreduced motion of the loaded vertex.

    Raises
    ------
    MissingMatplotlibError
        Matplotlib is not installed.
    FileFormatError
        The folder is not writable.
    """
    plot.require_matplotlib()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"cannot make the folder {str(out)!r}: {error.strerror}") from error
    if settings.r < 1 or settings.k < 1:
        raise InputError("k and r must be at least 1")

    console.say(f"reducedfem {__version__}: a {settings.what}, from triangles to real time")
    file = out / "model.safetensors"
    made = _precompute(settings, file, console)
    motion = _simulate(settings, made, console)
    result = compare(motion.times, motion.reduced_path, motion.unreduced_path)
    _report(made, motion, result, console)
    console.say("\npictures")
    with console.stage("draw") as stage:
        stage.result = _draw(settings, made, motion, result, out)
    console.fact("model", str(file))
    return result
