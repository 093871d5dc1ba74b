"""``reducedfem simulate``: simulate a reduced model under a load and gravity."""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.console import Console, count_text
from reducedfem.cli.at_rest import compare_at_rest
from reducedfem.cli.export import check_export, export
from reducedfem.cli.motion import Balance, Motion, energy_balance, record
from reducedfem.cli.options import (
    Commands,
    UsageError,
    add_common,
    counted,
    not_negative,
    number,
    positive,
)
from reducedfem.cli.paths import check_writable, open_model, refuse_same
from reducedfem.cli.texts import AXES, point_text, viscosity_text
from reducedfem.dynamics.explicit import spectrum
from reducedfem.dynamics.free_body import FreeBody
from reducedfem.dynamics.implicit_report import steps_too_long
from reducedfem.dynamics.integrator import Simulation
from reducedfem.dynamics.newmark import ImplicitNewmark
from reducedfem.errors import DivergedError, FileFormatError, PlausibilityWarning
from reducedfem.geometry.built import first_in_body
from reducedfem.geometry.mesh import Mesh
from reducedfem.io.atomic import replacing
from reducedfem.pictures import plot
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.reduction.skin import Skin
from reducedfem.samples import demo as demonstration
from reducedfem.solid.plausible import warn_of_far, warn_of_strain

__all__ = ["add_to"]

# distance of a point from the body, relative to its size, that is taken for a mistake
_FAR = 0.2
_USUAL_PUSH = 0.02  # s
_MAX_STEPS = 10_000_000  # states are kept in memory
_MAX_NEWTON = 1000  # as in csrc/dynamics/motion.c
_MOST_GAIN = 1.0  # energy added by the steps, relative to work, above which they are too long
_MOST_LOSS = 0.1  # energy removed by the steps, relative to work, that is reported
_MOST_FAILED = 0.01  # fraction of steps above the tolerance that is reported at the end


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "simulate",
        help="push a reduced model, release it and record its motion",
        description="Push a node of a reduced model for a while, then release it; with "
        "--gravity under its weight,\nwith its sag at rest, also without reduction.",
        epilog="examples:\n"
        "  reducedfem simulate spoon.safetensors --force 0 0 -0.02 --duration 1\n"
        "  reducedfem simulate spoon.safetensors --at 0.17 0 0 --force 0 0 -1 --steps 300 \\\n"
        "      --damping 4 5e-5 --output tip.csv --plot tip.png --picture shapes.png\n"
        "  reducedfem simulate spoon.safetensors --gravity 0 0 -9.81 --damping 4 1e-3",
    )
    parser.add_argument("model", metavar="MODEL", help="made by 'reducedfem reduce'")
    push = parser.add_argument_group("the push")
    push.add_argument(
        "--force",
        type=number,
        nargs=3,
        metavar=("FX", "FY", "FZ"),
        help="[N], on one node; needed without --gravity",
    )
    push.add_argument(
        "--gravity",
        type=number,
        nargs=3,
        metavar=("GX", "GY", "GZ"),
        help="acceleration of free fall [m/s^2], all the time, such as 0 0 -9.81",
    )
    push.add_argument(
        "--at",
        type=number,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="the node nearest to this point [m] (default: the one that yields most to the force)",
    )
    push.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help=f"[s] (default: {_USUAL_PUSH:g}); at most the whole simulation",
    )
    motion = parser.add_argument_group("the motion")
    motion.add_argument(
        "--steps",
        type=counted(_MAX_STEPS),
        default=1000,
        metavar="N",
        help="(default: %(default)s)",
    )
    motion.add_argument(
        "--dt", type=positive, default=1e-3, metavar="S", help="time step [s] (default: 0.001)"
    )
    motion.add_argument(
        "--damping",
        type=not_negative,
        nargs=2,
        default=(0.0, 0.0),
        metavar=("ALPHA", "BETA"),
        help="local Rayleigh damping: alpha [1/s] of the mass, beta [s] of the present stiffness "
        "(default: 0 0); strain-rate damping is that of the model, if it has any",
    )
    motion.add_argument(
        "--newton-max",
        type=counted(_MAX_NEWTON),
        default=10,
        metavar="N",
        help="Newton iterations per step at most (default: %(default)s); 1, usual at haptic rates, "
        "damps large motions",
    )
    motion.add_argument(
        "--tolerance",
        type=positive,
        default=1e-6,
        metavar="T",
        help="relative residual at which they end (default: %(default)s)",
    )
    results = parser.add_argument_group("results")
    results.add_argument(
        "--watch",
        type=number,
        nargs=3,
        action="append",
        metavar=("X", "Y", "Z"),
        help="report the node nearest to this point; may be repeated (default: the pushed one, or "
        "the one that sags most)",
    )
    results.add_argument(
        "--output",
        metavar="FILE",
        help="trajectory: .csv (times and displacements of the watched nodes) or .npz (and q)",
    )
    results.add_argument("--plot", metavar="FILE", help="picture of the trajectory (.png, .pdf)")
    results.add_argument("--picture", metavar="FILE", help="picture of the extreme shapes")
    results.add_argument(
        "--export",
        action="append",
        metavar="FILE",
        help="the motion as .glb or .gltf (Blender, browsers), .gif, .mp4 (by ffmpeg) or .pvd "
        "(ParaView); may be repeated",
    )
    results.add_argument(
        "--speed",
        type=positive,
        default=1.0,
        metavar="X",
        help="speed of exported animations and films: 0.1 is slow motion (default: %(default)g)",
    )
    results.add_argument(
        "--up",
        choices=tuple(AXES),
        help="axis that is up in the picture, y in most models made for computer graphics "
        "(default: against --gravity, or z)",
    )
    add_common(parser)
    parser.set_defaults(run=_run, parser=parser)


def _nearest(mesh: Mesh, point: Sequence[float], option: str) -> int:
    """Return the node of the body nearest to a point; refuse points far outside the body."""
    way = np.linalg.norm(mesh.nodes - np.asarray(point), axis=1)
    node = first_in_body(mesh, way.argsort(kind="stable"))
    size = float(np.linalg.norm(np.ptp(mesh.nodes, axis=0)))
    if way[node] > _FAR * size:
        raise UsageError(
            f"--{option} {point_text(np.asarray(point))} is {way[node]:.3g} m outside of the body, "
            f"which is {size:.3g} m large"
        )
    return node


def _pushed_steps(args: argparse.Namespace) -> int:
    """Return the number of steps during which the force acts."""
    wanted = _USUAL_PUSH if args.duration is None else args.duration
    # min() keeps the ratio in the range of integers
    steps: int = max(1, round(min(wanted / args.dt, 2.0 * _MAX_STEPS)))
    return min(steps, int(args.steps))


def _yields_most(
    model: ReducedSolid, force: Sequence[float] | None, gravity: Sequence[float] | None
) -> int:
    """Return the node with the largest static displacement at rest, in the linear model.

    A force, or every force of unit size if it is zero, acts on the node itself; without a force
    the model sags under gravity.
    """
    basis = np.asarray(model.basis)
    compliance = np.linalg.pinv(model.stiffness(np.zeros(model.r)), hermitian=True)
    if force is None and gravity is not None and any(gravity):
        amount = np.linalg.norm(model.displacement(compliance @ model.gravity(gravity)), axis=1)
    else:
        directions = np.eye(3) if force is None or not any(force) else np.array([force])
        along = np.einsum("rnc,dc->ndr", basis, directions / np.abs(directions).max())
        amount = np.einsum("ndr,rs,nds->n", along, compliance, along, optimize=True)
    # nodes equal by symmetry differ by rounding: the first counts
    most = amount.max()
    amount[amount > (1.0 - 1e-9) * most] = most
    return first_in_body(model.mesh, (-amount).argsort(kind="stable"))


def _check_outputs(args: argparse.Namespace) -> None:
    """Refuse output paths that are not writable, before any work."""
    written: dict[str, str | None] = {
        f"--{option}": getattr(args, option) for option in ("output", "plot", "picture")
    }
    written |= {f"--export {k}": name for k, name in enumerate(args.export or (), 1)}
    refuse_same([args.model], written)
    for name in args.export or ():
        check_export(name)
    for option in ("output", "plot", "picture"):
        if getattr(args, option) is not None:
            check_writable(Path(getattr(args, option)), f"--{option}")
    if args.output is not None and Path(args.output).suffix.lower() not in (".csv", ".npz"):
        raise UsageError(f"--output: a trajectory goes to .csv or .npz, got {args.output!r}")
    for option in ("plot", "picture"):
        if getattr(args, option) is not None:
            try:
                plot.check_picture(getattr(args, option))
            except FileFormatError as error:
                raise UsageError(f"--{option}: {error}") from None


def _run(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    if args.force is None and args.gravity is None:
        raise UsageError("nothing moves the model: give --force or --gravity")
    if args.force is None and (args.at or args.duration):
        raise UsageError(
            "--at and --duration belong to --force, which is not given; --watch chooses the nodes "
            "that are reported"
        )
    pushed = 0 if args.force is None else _pushed_steps(args)
    _check_outputs(args)
    model = open_model(args.model)
    mesh = model.mesh
    if args.at is None:
        node = _yields_most(model, args.force, args.gravity)
    else:
        node = _nearest(mesh, args.at, "at")
    watched = [node] if not args.watch else [_nearest(mesh, point, "watch") for point in args.watch]
    if args.force is not None:
        whole = " (the whole simulation)" if pushed == args.steps else ""
        console.fact(
            "force",
            f"{point_text(np.asarray(args.force))} N for {pushed * args.dt:g} s{whole} at node "
            f"{node}, {point_text(mesh.nodes[node])} m",
        )
    if args.gravity is not None:
        console.fact("gravity", f"{point_text(np.asarray(args.gravity))} m/s^2")
    if model.strain_rate is not None:
        console.fact("strain-rate damping", viscosity_text(model.strain_rate))
    if args.force is not None and node in model.fixed:
        console.fact("note", "that node is fixed: the force has no effect")
    if not any(args.force or ()) and not any(args.gravity or ()):
        console.fact("note", "the load is zero: nothing moves")
    nodal = np.zeros((mesh.n_nodes, 3))
    nodal[node] = (0.0, 0.0, 0.0) if args.force is None else args.force
    scheme = ImplicitNewmark if model.rigid_body is None else FreeBody
    options = {} if args.gravity is None else {"gravity": args.gravity}
    sim = scheme(
        model, args.dt, args.damping, newton_max=args.newton_max, tol=args.tolerance, **options
    )
    force = model.project(nodal) if isinstance(sim, Simulation) else nodal
    if isinstance(sim, FreeBody):
        falls = "falls" if args.gravity is not None else "there is no gravity"
        console.fact("free body", f"flies and turns as it deforms; {falls}")

    motion = record(args, sim, force, pushed, console)
    times = args.dt * np.arange(len(motion.q))
    u = motion.displacements(model, watched)
    balance = energy_balance(args, model, motion, nodal, pushed)
    _report(args, model, watched, motion, u, balance, console)
    if args.output is not None:
        _write_trajectory(Path(args.output), times, watched, u, motion.q)
        console.fact("trajectory", args.output)
    if args.plot is not None:
        _plot_trajectory(args, times, watched, u)
        console.fact("plot", args.plot)
    if args.picture is not None:
        _picture(args, model, motion, u[:, 0])
        console.fact("picture", args.picture)
    for name in args.export or ():
        up = args.up or _against(args.gravity)
        with console.stage("export") as stage:
            export(name, model, motion.recorded(times), args.speed, up, stage.show)
            stage.result = name
    if motion.failure is not None:
        raise DivergedError(
            f"the simulation diverged in step {len(motion.q)} of {args.steps}, at t = "
            f"{args.dt * len(motion.q):g} s: try a smaller --dt, more --damping, a --newton-max "
            f"above 1 or a smaller {_loads(args)}"
        ) from motion.failure
    held = len(model.fixed) > 0
    if held and args.gravity is not None and any(args.gravity) and not console.quiet:
        compare_at_rest(model, args.gravity, watched, console)
    return 0


def _loads(args: argparse.Namespace) -> str:
    """Return the options of the loads that act, with their units."""
    given = {"--force [N]": args.force, "--gravity [m/s^2]": args.gravity}
    return " or ".join(name for name, load in given.items() if load is not None)


def _calmer(args: argparse.Namespace) -> str:
    """Return options with which steps add less energy; strong damping hinders convergence."""
    damping = f"{args.damping[0]:g} {args.dt / 20:g}"
    return "a smaller --dt" if args.damping[1] > 0.0 else f"--damping {damping} or a smaller --dt"


def _lost_text(args: argparse.Namespace, model: ReducedSolid, lost: float) -> str:
    """Describe the part of the work that is not energy of the solid at the end."""
    if lost < -_MOST_LOSS:
        return (
            f"exceeds the work of the loads by {-100 * lost:.2g} % at the end: the steps add it; "
            f"try {_calmer(args)}"
        )
    text = f"{100 * max(lost, 0.0):.3g} % of the work of the loads is dissipated"
    if lost > _MOST_LOSS and not any(args.damping) and model.strain_rate is None:
        remedy = "a smaller --dt" if args.newton_max > 1 else "--newton-max 10 or a smaller --dt"
        text += f", by the steps alone, as there is no damping: try {remedy}"
    return text


def _report(
    args: argparse.Namespace,
    model: ReducedSolid,
    watched: Sequence[int],
    motion: Motion,
    u: NDArray[np.float64],
    balance: Balance,
    console: Console,
) -> None:
    report, done = motion.report, motion.steps
    console.fact("time", f"{args.dt * done:g} s in steps of {args.dt:g} s")
    if done:
        faster, slower = args.dt / motion.per_step, motion.per_step / args.dt
        pace = f"{faster:.0f} times faster" if faster > 1.0 else f"{slower:.0f} times slower"
        solves = "" if report is None else f", {report.solves / done:.2f} Newton iterations"
        console.fact(
            "per step",
            f"{motion.per_step * 1e6:.1f} us{solves}: {pace} than real time",
        )
    if motion.poses is None:
        lowest = spectrum(model).lowest
        if lowest > 0.0:
            console.fact(
                "lowest frequency",
                f"{lowest:.4g} Hz: {1.0 / (lowest * args.dt):.3g} steps per period",
            )
    doubts = []
    if report is not None:
        console.fact("indefinite tangents", f"{report.indefinite:,}")
        above = count_text(report.unconverged, "step")
        if report.unconverged and args.newton_max == 1:
            above += " (usual with one Newton iteration; --newton-max allows more)"
        elif report.unconverged:
            above += f" (they may gain energy: try {_calmer(args)})"
            if report.unconverged > _MOST_FAILED * done:
                doubts.append("steps end above the tolerance")
        console.fact("above the tolerance", above)
        if report.shortened:
            console.fact(
                "shortened",
                f"{count_text(report.shortened, 'Newton increment')} in "
                f"{count_text(report.shortened_steps, 'step')}: too long for this motion; try a "
                "smaller --dt",
            )
            if steps_too_long(report):
                doubts.append("steps are too long")
    for k, node in enumerate(watched):
        console.fact(f"node {node}", f"moved {np.linalg.norm(u[:, k], axis=1).max():.4g} m at most")
    if motion.failure is None:
        warn_of_far(motion.farthest(model), model.mesh, stacklevel=2, least=0)
        if model.cubature is not None:
            strain = max(map(model._core.strain, motion.q))
            warn_of_strain(strain, model.cubature.strain, stacklevel=2)
    if motion.failure is None and balance.added > _MOST_GAIN:
        console.fact(
            "energy",
            f"grows to {1.0 + balance.added:.3g} times the work of the loads: the steps add it; "
            f"try {_calmer(args)}",
        )
        doubts.append("the energy grows")
    elif motion.failure is None and balance.lost is not None:
        console.fact("energy", _lost_text(args, model, balance.lost))
    ended = "no" if motion.failure is None else f"after {count_text(done, 'step')}"
    if motion.failure is None and doubts:
        said = f"this is not the motion of the solid: {'; '.join(doubts)}"
        ended = f"no, but {said} (see above)"
        warnings.warn(f"{said}; try {_calmer(args)}", PlausibilityWarning, stacklevel=2)
    console.fact("diverged", ended)


def _write_trajectory(
    path: Path,
    times: NDArray[np.float64],
    nodes: Sequence[int],
    u: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    with replacing(path) as temporary:
        if path.suffix.lower() == ".npz":
            with temporary.open("wb") as binary:
                np.savez(binary, time=times, nodes=np.asarray(nodes), displacement=u, q=q)
            return
        with temporary.open("w", newline="", encoding="ascii") as text:
            writer = csv.writer(text, lineterminator="\n")
            names = [f"node{node}_{axis}_m" for node in nodes for axis in AXES]
            writer.writerow(["time_s", *names])
            for t, row in zip(times.tolist(), u.reshape(len(u), -1).tolist(), strict=True):
                writer.writerow([repr(t), *map(repr, row)])


def _plot_trajectory(
    args: argparse.Namespace,
    times: NDArray[np.float64],
    nodes: Sequence[int],
    u: NDArray[np.float64],
) -> None:
    unit, factor = plot.length_unit(float(np.abs(u).max()))
    if len(nodes) == 1:
        traces = [plot.Trace(AXES[c], times, factor * u[:, 0, c]) for c in range(3)]
        title, what = f"Displacement of node {nodes[0]}", f"displacement [{unit}]"
    else:
        axis = int(np.ptp(u, axis=0).max(axis=0).argmax())
        traces = [
            plot.Trace(f"node {node}", times, factor * u[:, k, axis])
            for k, node in enumerate(nodes)
        ]
        title, what = "Displacements", f"displacement along {AXES[axis]} [{unit}]"
    plot.save_figure(plot.traces_figure(traces, title, what), args.plot)


def _against(gravity: Sequence[float] | None) -> str:
    """Return the axis opposite to gravity."""
    fall = np.array(gravity if gravity is not None and any(gravity) else [0.0, 0.0, -1.0])
    axis = int(np.abs(fall).argmax())
    return ("-" if fall[axis] > 0.0 else "") + AXES[axis]


def _picture(
    args: argparse.Namespace,
    model: ReducedSolid,
    motion: Motion,
    u: NDArray[np.float64],
) -> None:
    axis = int(np.ptp(u, axis=0).argmax())
    # the shape at rest is always drawn
    instants = [i for i in demonstration.instants(u[:, axis], 2) if i > 0]
    # refined, because large triangles cannot show the deformation
    skin = Skin(model, plot.refined(model.mesh.source or model.mesh.surface()))
    surface = skin.surface
    moved = [
        motion.carried(
            model,
            surface.vertices,
            skin.positions(motion.q[i])[None] - surface.vertices,
            slice(i, i + 1),
        )[0]
        for i in instants
    ]
    figure = plot.shapes_figure(
        surface.vertices,
        surface.triangles,
        moved,
        [f"{args.dt * i:.3g} s" for i in instants],
        f"{Path(args.model).stem}: rest and extremes",
        size=(1100, 800),
        up=args.up or _against(args.gravity),
    )
    plot.save_figure(figure, args.picture)
