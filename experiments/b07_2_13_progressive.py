"""Modal derivative bases of growing size: a dragon pushed at head and tail (B07 2.13.2).

After Barbic 2007, section 2.13.2. Two short force loads, each the same for all methods, act on
a standing creature whose feet are held: one on the tip of its mouth, upwards, for 10 steps of
90, one on its tail, sideways, for 30 steps of 180. Compared are

unreduced       all coordinates of the mesh
linear          M u'' + D u' + K u = f with K at rest, all coordinates: the unreduced solid under
                a millionth of the load, times a million
k = 20, r = .   reduced to linear modes and their derivatives, r = 15, 30, 60 and all 230; and
                k = 10, r = 15
linear modes    reduced to the k = 20 modes alone: the thesis has this one in words only

Up to r = 60 the reduced forces are polynomials; those of r = 230 would take 1 GB to store, and 6 GB
to make them. There they are evaluated directly, by way of the mesh, as in the thesis.

A subspace makes the solid too stiff. The table quantifies that in motion (peaks too low,
frequencies too high) and at rest: under a weight in the direction of the load, which deforms
no single spot as a force on few nodes does, the deflection is too small, and the potential energy
W(u) - f.u too high, which the larger of two nested bases cannot worsen.

From the thesis are the methods, r and k, the steps, and 129 of them in a period of the head. It
gives curves (figures 2.19 and 2.21) and no table of errors; it finds r = 60 and r = 230 nearly
alike and doing "reasonably well", r = 15 stiff under both loads, r = 30 under the sideways one.
All numbers printed are ours. Its dragon, 27,314 voxels, is not available: in its place stands
the surface of the tetrahedral asian dragon of Vega FEM (959 vertices), hollow voxels again. The
sideways load of the thesis is on top of the back; the back of this dragon stands on four legs
and hardly moves, its tail does. Loads act on all nodes within 12 % of the dragon's length instead
of on one: under a force on one node the jaw, a single layer of voxels, crumples. The default of
64 voxels a side, 4,601 in all, keeps the unreduced reference, a factorization in every Newton
iteration, at minutes; --resolution 156 has about as many voxels as the thesis. Without that
surface the sample spoon serves; being symmetric, it has no 230 independent directions but 153.

Run it for the tables and plots:  python experiments/b07_2_13_progressive.py [--help]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import command
import numpy as np
from numpy.typing import NDArray
from spoon_experiment import Motion
from spoon_experiment import spoon as sample_spoon

import reducedfem as rf
from reducedfem import plot as pictures

Array = NDArray[np.float64]

SURFACE = Path("meshes") / "vega" / "asianDragon" / "asianDragon.veg.obj"
MATERIAL = rf.StVK(young=1e6, poisson=0.4, density=1000.0)  # Young's modulus scales time only
STEPS_PER_PERIOD = 129  # of the linear mode that answers the head's load most
PATCH = 0.12  # radius of a load over the size of the mesh
SMALL = 1e-6  # part of the load at which the solid is linear
POLYNOMIALS_TO = 60  # largest r whose polynomials are made
STATIC_PARTS = (0.25, 0.5, 0.75, 1.0)
STATIC_REACH = 0.5  # of the linear modes under the static load, over that in motion

UNREDUCED = "unreduced"
LINEAR = "linear"
MODES_ONLY = "linear modes only"

System = rf.Solid | rf.ReducedSolid | rf.ProjectedSolid


@dataclass(frozen=True)
class Load:
    """A force on a small patch for some steps.

    Attributes
    ----------
    name
        "head" or "tail".
    where
        Position of the patch's centre, the node that is watched [m].
    direction
        Unit vector.
    pushed, steps
        Steps under the load, and in all.
    """

    name: str
    where: Array
    direction: Array
    pushed: int
    steps: int

    def nodes(self, mesh: rf.Mesh) -> NDArray[np.int64]:
        """Return the watched node and those around it, within  of its size."""
        far = np.linalg.norm(mesh.nodes - self.where, axis=1)
        near = np.argsort(far)
        return near[: max(1, int((far < PATCH * size(mesh)).sum()))]

    def field(self, mesh: rf.Mesh) -> Array:
        """Return the load of 1 N in all."""
        force = np.zeros_like(mesh.nodes)
        patch = self.nodes(mesh)
        force[patch] = self.direction / len(patch)
        return force


@dataclass(frozen=True)
class Scene:
    """Simulated solid and its loads."""

    title: str
    surface: rf.Surface
    solid: rf.Solid
    up: int  # axis
    loads: tuple[Load, Load]


@dataclass(frozen=True)
class Static:
    """Equilibria under growing parts of a load.

    Attributes
    ----------
    deflection
        Of the watched node along the load [m], at `STATIC_PARTS`.
    potential
        W(u) - f.u under the whole load [J].
    """

    deflection: Array
    potential: float


@dataclass(frozen=True)
class Run:
    """One method under one load.

    Attributes
    ----------
    motion
        Displacement of the watched node along the load.
    body_error
        Difference of all displacements from the unreduced ones, over time, in the norm of mass
        and relative to those.
    static
        None for the linear solid.
    poses
        Displacements of the nodes at some steps.
    """

    motion: Motion
    body_error: float
    static: Static | None
    poses: dict[int, Array]

    @property
    def peak(self) -> float:
        """Largest displacement along the load [m]."""
        return float(self.motion.height.max())

    @property
    def frequency(self) -> float:
        """From the passages through rest; one only: half a period after the load's start [Hz].

        NaN without any.
        """
        passages = self.motion.passages
        if len(passages) < 2:
            return 0.5 / passages[0] if passages else float("nan")
        return self.motion.frequency


@dataclass
class Method:
    """A system, its cost, and its motion under each load."""

    name: str
    r: int
    system: System
    seconds: float = 0.0  # to reduce, basis not included
    stored: float = 0.0  # bytes of coefficients, or of the basis where evaluation is direct
    scale: float = 1.0
    runs: dict[str, Run] = field(default_factory=dict)


def size(mesh: rf.Mesh) -> float:
    """Return the largest extent of a mesh [m]."""
    return float(np.ptp(mesh.nodes, axis=0).max())


def creature(surface: rf.Surface, resolution: int, title: str) -> Scene:
    """Return a hollow creature that stands with y up, held at its feet; its head is at high x."""
    mesh = rf.voxelize(surface, resolution, fill=False)
    x = mesh.nodes
    low, extent = x.min(axis=0), np.ptp(x, axis=0)
    along = 0 if extent[0] >= extent[2] else 2
    solid = rf.Solid(mesh, MATERIAL, fixed=x[:, 1] < low[1] + 0.04 * extent[1])
    head = x[np.argmax(x[:, along])]
    behind = x[x[:, along] < low[along] + 0.1 * extent[along]]
    tail = behind[np.argmax(behind[:, 1])]
    aside = np.zeros(3)
    aside[2 - along] = 1.0
    loads = (
        Load("head", head, np.array([0.0, 1.0, 0.0]), 10, 90),
        Load("tail", tail, aside, 30, 180),
    )
    return Scene(title, surface, solid, 1, loads)


def spoon(resolution: int) -> Scene:
    """Return the sample spoon, held at its handle; its bowl is head, its middle is tail."""
    solid, tip = sample_spoon(resolution)
    x = solid.mesh.nodes
    place = [x[:, 0].min() + 0.6 * np.ptp(x[:, 0]), x[tip, 1], x[tip, 2]]
    middle = x[np.argmin(np.linalg.norm(x - place, axis=1))]
    loads = (
        Load("head", x[tip], np.array([0.0, 0.0, 1.0]), 10, 90),
        Load("tail", middle, np.array([0.0, 1.0, 0.0]), 30, 180),
    )
    from reducedfem import samples

    return Scene("sample spoon", samples.load("spoon"), solid, 2, loads)


def impulse(load: Load, scene: Scene, modes: rf.Modes, reach: float) -> tuple[float, float]:
    """Return the frequency of the answer [Hz] and an impulse [N s].

    With that the linear modes move the watched node by `reach` [m] along the load.
    """
    patch = load.nodes(scene.solid.mesh)
    omega = 2.0 * np.pi * modes.frequencies
    pushed = modes.shapes[:, patch].mean(axis=1) @ load.direction
    seen = modes.shapes[:, patch[0]] @ load.direction
    answer = seen * pushed / omega
    main = int(np.argmax(np.abs(answer)))
    times = np.linspace(0.0, 1.0 / modes.frequencies[main], 400)
    peak = float((np.sin(np.outer(times, omega)) @ answer).max())
    return float(modes.frequencies[main]), reach / peak


def weight_of(load: Load, scene: Scene, modes: rf.Modes, reach: float) -> Array:
    """Return a weight along the load [N], at all nodes.

    Under it the linear modes move the watched node by `reach` [m] along the load.
    """
    mass = scene.solid.mass(lumped=True).data.reshape(-1, 3)
    pushed = (modes.shapes * (mass * load.direction)).sum(axis=(1, 2)) / modes.eigenvalues
    seen = modes.shapes[:, load.nodes(scene.solid.mesh)[0]] @ load.direction
    return mass * load.direction * (reach / abs(float(seen @ pushed)))


def statics(system: System, force: Array, load: Load, node: int) -> Static:
    """Return the equilibria under parts of a load."""
    found = []
    q = np.zeros(0 if isinstance(system, rf.Solid) else system.r)
    for part in STATIC_PARTS:
        if isinstance(system, rf.Solid):
            u = system.solve_static(part * force, tol=1e-8, adaptive=True)
            energy = system.strain_energy(u)
        else:
            reduced = part * system.project(force)
            q = system.solve_static(reduced, tol=1e-8, q0=q, adaptive=True)
            u = system.displacement(q)
            energy = system.strain_energy(q)
        found.append(float(u[node] @ load.direction))
    return Static(np.array(found), energy - float((force * u).sum()))


def simulate(
    method: Method,
    load: Load,
    force: Array,
    dt: float,
    node: int,
    shown: tuple[int, ...],
    see: Callable[[int, Array], None],
) -> tuple[Motion, dict[int, Array]]:
    """Push and release; call `see` with the displacements after each step.

    The stiffness-proportional damping is that of spoon_experiment.py; Newton's iterations end
    at a residual of 1e-4.
    """
    damping = (0.0, 1e-4 * STEPS_PER_PERIOD * dt)
    sim = rf.ImplicitNewmark(method.system, dt, damping, newton_max=10, tol=1e-4)
    reduced = force if isinstance(method.system, rf.Solid) else method.system.project(force)
    heights, seconds, poses = [0.0], [], {}
    for step in range(1, load.steps + 1):
        start = time.perf_counter()
        sim.step(method.scale * reduced if step <= load.pushed else None)
        seconds.append(time.perf_counter() - start)
        u = sim.displacement / method.scale
        heights.append(float(u[node] @ load.direction))
        if step in shown:
            poses[step] = u
        see(step, u)
    return Motion(np.array(heights), dt, sum(seconds), float(np.median(seconds))), poses


@dataclass
class Experiment:
    """All methods under all loads; `basis_seconds` is the time for modes and derivatives."""

    scene: Scene
    dt: float
    methods: list[Method]
    basis_seconds: float
    chosen: tuple[Load, ...]

    def error(self, method: Method, load: str, what: str) -> float:
        """Return a number of a method relative to the unreduced solid's, minus 1."""
        mine, full = method.runs[load], self.methods[0].runs[load]
        if what in ("peak", "frequency"):
            return float(getattr(mine, what) / getattr(full, what) - 1.0)
        if mine.static is None or full.static is None:
            return float("nan")
        if what == "deflection":
            return float(mine.static.deflection[-1] / full.static.deflection[-1] - 1.0)
        return mine.static.potential / full.static.potential - 1.0

    def path_error(self, method: Method, load: str) -> float:
        """Return the root mean square of the watched node's error, relative."""
        mine, full = method.runs[load].motion.height, self.methods[0].runs[load].motion.height
        return float(np.linalg.norm(mine - full) / np.linalg.norm(full))

    def table(self) -> str:
        """Return the numbers as text."""
        solid = self.scene.solid
        mesh = solid.mesh
        lines = [
            f"{self.scene.title}: {mesh.n_elements} voxels, {mesh.n_nodes} nodes, "
            f"{3 * len(solid.free)} coordinates, steps of {1e3 * self.dt:.2f} ms",
            f"modes, derivatives and mass-PCA: {self.basis_seconds:.1f} s",
        ]
        for load in self.chosen:
            full = self.methods[0].runs[load.name]
            lines += [
                "",
                f"{load.name}: pushed for {load.pushed} steps of {load.steps}; unreduced peak "
                f"{full.peak:.3g} m ({full.peak / size(mesh):.0%} of the length), "
                f"{full.frequency:.3g} Hz, static {full.static.deflection[-1]:.3g} m",
                f"{'':<23}{'------------ error in motion ------------':^41}"
                f"{'--- static error ---':^22}{'made in':>9}{'step':>9}{'stored':>9}",
                f"{'method':<19}{'r':>4}{'peak':>10}{'frequency':>11}{'path':>10}{'body':>10}"
                f"{'deflection':>12}{'energy':>10}{'[s]':>9}{'[ms]':>9}{'[MB]':>9}",
            ]
            for method in self.methods:
                run = method.runs[load.name]
                errors = [self.error(method, load.name, w) for w in ("peak", "frequency")]
                own = method is self.methods[0]
                static = [
                    _percent(self.error(method, load.name, w), own or run.static is None)
                    for w in ("deflection", "energy")
                ]
                lines.append(
                    f"{method.name:<19}{method.r:>4}"
                    f"{_percent(errors[0], own):>10}{_percent(errors[1], own):>11}"
                    f"{_percent(self.path_error(method, load.name), own, False):>10}"
                    f"{_percent(run.body_error, own, False):>10}{static[0]:>12}{static[1]:>10}"
                    f"{method.seconds:>9.2f}{_milliseconds(run.motion.step_seconds):>9}"
                    f"{method.stored / 1e6:>9.3g}"
                )
        # of the whole process, in KiB on Linux
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        lines.append(f"\npeak memory {peak:.0f} MiB, {rf.threads()} cores")
        return "\n".join(lines)


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.0f}" if seconds >= 0.1 else f"{1e3 * seconds:.3g}"


def _percent(value: float, empty: bool, signed: bool = True) -> str:
    if empty or not np.isfinite(value):
        return "-"
    return f"{value:+.1%}" if signed else f"{value:.1%}"


def methods_of(
    solid: rf.Solid, k: int, sizes: list[int], polynomials_to: int
) -> tuple[list[Method], float]:
    """Return all methods, the unreduced one first, and the time for the bases [s]."""
    start = time.perf_counter()
    # symmetric solids, as the sample is, have derivatives that depend on each other
    spectrum = rf.modal_derivative_basis(solid, k=k, r=1).spectrum
    rounding = np.finfo(float).eps * max(3 * solid.mesh.n_nodes, len(spectrum))
    rank = int((spectrum > rounding * spectrum[0]).sum())
    sizes = sorted({min(r, rank) for r in sizes})
    # vectors of mass-PCA are ordered: a smaller basis is the beginning of a larger one
    whole = rf.modal_derivative_basis(solid, k=k, r=max(sizes)).vectors
    fewer = max(1, k // 2)
    least = min(min(sizes), fewer + fewer * (fewer + 1) // 2)
    half = rf.modal_derivative_basis(solid, k=fewer, r=least).vectors
    seconds = time.perf_counter() - start
    methods = [
        Method(UNREDUCED, 3 * len(solid.free), solid),
        Method(LINEAR, 3 * len(solid.free), solid, scale=SMALL),
    ]
    bases = {f"k = {k}": [whole[:r] for r in sorted(sizes, reverse=True)]}
    bases[f"k = {fewer}"] = [half]
    bases[MODES_ONLY] = [solid.linear_modes(k).shapes]
    for name, family in bases.items():
        for vectors in family:
            start = time.perf_counter()
            system: System
            if len(vectors) <= polynomials_to:
                system = rf.reduce(solid, vectors)
                stored = system.coefficients.nbytes
            else:
                system = rf.ProjectedSolid(solid, vectors)
                stored = system.basis.nbytes
            took = time.perf_counter() - start
            methods.append(Method(name, len(vectors), system, took, stored))
    return methods, seconds


def run(
    scene: Scene,
    k: int = 20,
    sizes: tuple[int, ...] = (15, 30, 60, 230),
    push: float = 0.2,
    loads: tuple[str, ...] = ("head", "tail"),
    polynomials_to: int = POLYNOMIALS_TO,
    tell: Callable[[str], None] = lambda text: None,
) -> Experiment:
    """Run the whole experiment.

    Parameters
    ----------
    scene
        Simulated solid and its loads.
    k, sizes
        Number of linear modes, and sizes of the bases; those beyond k + k (k + 1) / 2, or the
        rank of the modes and their derivatives, become that.
    push
        Strength of the loads: the linear modes move by this part of the creature's length.
    loads
        Names of the loads to simulate.
    polynomials_to
        Largest r whose polynomials are made; beyond it evaluation is direct.
    tell
        Called with a line of text about what is being done.
    """
    solid = scene.solid
    tell("modes and derivatives")
    modes = solid.linear_modes(k)
    methods, basis_seconds = methods_of(
        solid, k, sorted({min(r, k + k * (k + 1) // 2) for r in sizes}), polynomials_to
    )
    reach = push * size(solid.mesh)
    dt = 1.0 / (STEPS_PER_PERIOD * impulse(scene.loads[0], scene, modes, reach)[0])
    weight = solid.mass(lumped=True).data.reshape(-1, 3)
    chosen = tuple(load for load in scene.loads if load.name in loads)
    for load in chosen:
        node = int(load.nodes(solid.mesh)[0])
        _, momentum = impulse(load, scene, modes, reach)
        steady = weight_of(load, scene, modes, STATIC_REACH * reach)
        unit = load.field(solid.mesh)
        force = momentum / (load.pushed * dt) * unit
        # the sizes shown in the thesis for each load
        shown = (5, 10, 15, 20) if load.pushed == 10 else (20, 40, 60)
        reference = np.zeros((load.steps + 1, *unit.shape))
        whole = 0.0
        for method in methods:
            tell(f"{load.name}: {method.name}, {method.r} coordinates")
            squares = [0.0]
            if method is methods[0]:

                def keep(step: int, u: Array, to: Array = reference) -> None:
                    to[step] = u

                motion, poses = simulate(method, load, force, dt, node, shown, keep)
                whole = float(np.einsum("snc,nc,snc->", reference, weight, reference))
            else:

                def compare(
                    step: int, u: Array, to: Array = reference, sums: list[float] = squares
                ) -> None:
                    sums[0] += float((weight * (u - to[step]) ** 2).sum())

                motion, poses = simulate(method, load, force, dt, node, shown, compare)
            static = None
            if method.name != LINEAR:
                static = statics(method.system, steady, load, node)
            error = float(np.sqrt(squares[0] / whole))
            method.runs[load.name] = Run(motion, error, static, poses)
    return Experiment(scene, dt, methods, basis_seconds, chosen)


# --- plots ---------------------------------------------------------------------------


def _style(experiment: Experiment, method: Method) -> dict[str, object]:
    if method.name == UNREDUCED:
        return {"color": "0.75", "linewidth": 5.0}
    if method.name == LINEAR:
        return {"color": "black", "linestyle": "--", "linewidth": 1.2}
    if method.name == MODES_ONLY:
        return {"color": "0.45", "linestyle": ":", "linewidth": 1.8}
    reduced = [m for m in experiment.methods if m.name == experiment.methods[2].name]
    if method in reduced:
        return {"color": f"C{(3, 0, 2, 1, 4, 5)[reduced.index(method) % 6]}", "linewidth": 1.6}
    return {"color": "C4", "linestyle": "-.", "linewidth": 1.4}


def _label(method: Method) -> str:
    return method.name if method.name in (UNREDUCED, LINEAR) else f"{method.name}, r = {method.r}"


def plot_motion(experiment: Experiment, load: Load, path: Path) -> None:
    """Draw displacements of the watched node in all methods, as figures 2.19 and 2.21."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for method in experiment.methods:
        height = method.runs[load.name].motion.height
        axes.plot(height, label=_label(method), **_style(experiment, method))  # type: ignore[arg-type]
    axes.axvspan(0, load.pushed, color="0.93", zorder=0)
    axes.set_xlim(0, load.steps)
    axes.set_xlabel(f"step of {1e3 * experiment.dt:.2f} ms; the load acts in the shaded ones")
    axes.set_ylabel("displacement along the load [m]")
    axes.set_title(f"{experiment.scene.title}, load on the {load.name}")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small")
    pictures.save_figure(figure, path, dpi=110)


def plot_stiffening(experiment: Experiment, path: Path) -> None:
    """Draw load over static deflection, and errors over r, for every load."""
    pictures.require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter, PercentFormatter

    count = len(experiment.chosen)
    figure = Figure(figsize=(11.0, 4.2 * count), layout="constrained")
    grid = figure.subplots(count, 2, squeeze=False)
    family = [m for m in experiment.methods if m.name == experiment.methods[2].name][::-1]
    for load, (left, right) in zip(experiment.chosen, grid, strict=True):
        for method in experiment.methods:
            static = method.runs[load.name].static
            if static is not None:
                deflection = np.append(0.0, static.deflection)
                style = _style(experiment, method)
                left.plot(deflection, (0.0, *STATIC_PARTS), label=_label(method), **style)
        left.set_xlabel("static deflection [m]")
        left.set_ylabel("part of the load")
        left.set_title(f"{load.name}: the steeper the stiffer")
        left.grid(alpha=0.3)
        left.set_ylim(0.0, 1.05)
        left.legend(fontsize="small")
        r = [method.r for method in family]
        for name, values in (
            ("static energy", [experiment.error(m, load.name, "potential") for m in family]),
            ("static deflection", [experiment.error(m, load.name, "deflection") for m in family]),
            ("peak in motion", [experiment.error(m, load.name, "peak") for m in family]),
            ("frequency", [experiment.error(m, load.name, "frequency") for m in family]),
            ("path", [experiment.path_error(m, load.name) for m in family]),
            ("whole body", [m.runs[load.name].body_error for m in family]),
        ):
            right.plot(r, np.abs(values), "o-", label=name)
        right.set_xscale("log")
        right.set_yscale("log")
        right.set_xticks(r, [str(one) for one in r])
        right.xaxis.set_minor_formatter(NullFormatter())
        right.yaxis.set_major_formatter(PercentFormatter(1.0))
        right.set_xlabel(f"r, {family[0].name}")
        right.set_ylabel("size of the error, relative to unreduced")
        right.set_title(f"{load.name}: errors of bases of modal derivatives")
        right.grid(alpha=0.3)
        right.legend(fontsize="small")
    pictures.save_figure(figure, path, dpi=110)


def plot_poses(experiment: Experiment, load: Load, path: Path, width: int = 1200) -> None:
    """Draw the surface in some methods (rows) at some steps (columns), as figures 2.18, 2.20.

    The shapes take `width` pixels.
    """
    pictures.require_matplotlib()
    from matplotlib.figure import Figure

    scene = experiment.scene
    embedding = rf.Embedding(scene.solid.mesh, scene.surface.vertices)
    turn = [0, 2, 1] if scene.up == 1 else [0, 1, 2]
    sign = np.array([1.0, -1.0, 1.0]) if scene.up == 1 else np.ones(3)
    rest = scene.surface.vertices[:, turn] * sign
    rows = [m for m in experiment.methods if m.name != MODES_ONLY]
    steps = sorted(rows[0].runs[load.name].poses)
    moved = [
        [
            embedding.interpolate(method.runs[load.name].poses[step])[:, turn] * sign
            for step in steps
        ]
        for method in rows
    ]
    largest = max(float(np.linalg.norm(u, axis=1).max()) for row in moved for u in row)
    # all in one picture by parallel projection: steps to the right, methods downwards
    view = {"azimuth": -70.0, "elevation": 12.0}
    a, e = np.radians(view["azimuth"]), np.radians(view["elevation"])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    above = np.array([0.0, 0.0, 1.0 / np.cos(e)])
    spread = np.concatenate([rest, *(rest + u for row in moved for u in row)])
    wide = 1.05 * float(np.ptp(spread @ right))
    toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    high = 1.05 * float(np.ptp(spread @ np.cross(toward, right)))
    poses = [
        pictures.Shape(rest + u + j * wide * right - i * high * above, pictures.colours(u, largest))
        for i, row in enumerate(moved)
        for j, u in enumerate(row)
    ]
    tall = int(1.2 * width * high * len(rows) / (wide * len(steps)))
    image = pictures.render(poses, scene.surface.triangles, (width, tall), margin=0.0, **view)
    figure = Figure(figsize=(10.5, 9.0 * image.shape[0] / image.shape[1] + 0.8))
    ratio = 9.0 * image.shape[0] / image.shape[1] / figure.get_size_inches()[1]
    axes = figure.add_axes((1.5 / 10.5, 0.0, 9.0 / 10.5, ratio))
    axes.imshow(image, aspect="auto")
    axes.set_axis_off()
    for i, method in enumerate(rows):
        y = ratio * (1.0 - (i + 0.5) / len(rows))
        figure.text(0.01, y, _label(method), fontsize=9, va="center")
    for j, step in enumerate(steps):
        x = (1.5 + 9.0 * (j + 0.5) / len(steps)) / 10.5
        figure.text(x, ratio + 0.01, f"step {step}", fontsize=9, ha="center")
    title = f"{scene.title}, load on the {load.name}; colour: displacement, up to {largest:.2g} m"
    figure.text(0.01, 1.0 - 0.25 / figure.get_size_inches()[1], title, fontsize=11)
    pictures.save_figure(figure, path, dpi=110)


def plots(experiment: Experiment, folder: Path, width: int = 1200) -> list[Path]:
    """Write all plots to a folder; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for load in experiment.chosen:
        written.append(folder / f"b07_2_13_{load.name}_motion.png")
        plot_motion(experiment, load, written[-1])
        written.append(folder / f"b07_2_13_{load.name}_poses.png")
        plot_poses(experiment, load, written[-1], width)
    written.append(folder / "b07_2_13_stiffening.png")
    plot_stiffening(experiment, written[-1])
    return written


# --- command line --------------------------------------------------------------------


def scene_of(surface: Path | None, resolution: int) -> Scene:
    """Return the scene on a surface; None: the dragon where it is at hand, else the sample."""
    if surface is None:
        root = Path(__file__).resolve().parent.parent
        surface = Path(os.environ.get("REDUCEDFEM_SHARED", root.parent / "shared")) / SURFACE
        if not surface.is_file():
            print(
                f"no {surface}: the sample spoon instead; --surface or REDUCEDFEM_SHARED names "
                "another",
                file=sys.stderr,
            )
            return spoon(resolution)
        return creature(rf.read_surface(surface), resolution, "asian dragon")
    return creature(rf.read_surface(surface), resolution, surface.stem)


def perform(arguments: argparse.Namespace) -> None:
    """Print the table and draw the plots."""

    def tell(text: str) -> None:
        if not arguments.quiet:
            print(f"... {text}", file=sys.stderr, flush=True)

    experiment = run(
        scene_of(arguments.surface, arguments.resolution),
        arguments.k,
        tuple(arguments.r),
        arguments.push,
        tuple(arguments.load or ("head", "tail")),
        tell=tell,
    )
    print(experiment.table())
    arguments.plots = plots(experiment, arguments.out)


def main() -> int:
    """Run from the command line."""
    parser = command.options(__file__, __doc__)
    parser.add_argument(
        "--surface", type=Path, help="file of another creature: y up, head at high x"
    )
    parser.add_argument("--resolution", type=int, default=64, help="voxels a side (64)")
    parser.add_argument("--k", type=int, default=20, help="linear modes (20)")
    parser.add_argument(
        "--r", type=int, nargs="+", default=[15, 30, 60, 230], help="sizes (15 30 60 230)"
    )
    parser.add_argument("--push", type=float, default=0.2, help="strength of the loads (0.2)")
    parser.add_argument("--load", choices=("head", "tail"), action="append", help="only this load")
    parser.add_argument("--quiet", action="store_true", help="no lines about progress")
    arguments = command.parse(parser, positive=("push",))
    if min(arguments.r) < 1:
        parser.error(f"--r must be at least 1, got {min(arguments.r)}")
    return command.run(perform, arguments)


if __name__ == "__main__":
    sys.exit(main())
