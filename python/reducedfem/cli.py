"""The command ``reducedfem``: demo, reduce, info, simulate.

Exit status: 0 on success, 1 with one line on standard error on failure, 2 on wrong use, 130
when interrupted.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from reducedfem import demo as demonstration
from reducedfem import plot, samples
from reducedfem._atomic import replacing
from reducedfem._console import Console, bytes_text, count_text, size_text, time_text
from reducedfem._run import MAX_THREADS, set_threads
from reducedfem._version import __version__
from reducedfem.basis import modal_derivative_basis
from reducedfem.errors import (
    DivergedError,
    FileFormatError,
    InputError,
    MeshError,
    ReducedFEMError,
)
from reducedfem.files import load
from reducedfem.integrator import ImplicitNewmark
from reducedfem.material import LinearElastic, StVK, from_plain
from reducedfem.mesh import Mesh, read_fixed, read_mesh, voxelize
from reducedfem.reduced import MAX_R, ReducedSolid, reduce
from reducedfem.solid import Solid
from reducedfem.surface import SURFACE_SUFFIXES, Surface, read_surface
from reducedfem.system import system_report

__all__ = ["main"]

_AXES = "xyz"
_USUAL_MODES = 20
_USUAL_PUSH = 0.02  # s
_MAX_STEPS = 10_000_000  # all are kept in memory
_MAX_RESOLUTION = 2048  # RF_VOXEL_MAX_RESOLUTION in csrc/mesh/voxelize.h
_MAX_NEWTON = 1000  # as in csrc/integrator/newmark.c


class _UsageError(Exception):
    """Options that do not go together: exit status 2."""


# --- values of options ----------------------------------------------------------------


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not finite")
    return value


def _checked(check: Callable[[float], bool], must: str) -> Callable[[str], float]:
    """Return a converter that accepts the numbers that pass a check."""

    def convert(text: str) -> float:
        value = _number(text)
        if not check(value):
            raise argparse.ArgumentTypeError(f"must be {must}, got {text}")
        return value

    return convert


_positive = _checked(lambda x: x > 0, "positive")
_not_negative = _checked(lambda x: x >= 0, "0 or more")
_poisson = _checked(lambda x: -1 < x < 0.5, "above -1 and below 0.5")
_expand = _checked(lambda x: x >= 1, "1 or more")
_part = _checked(lambda x: 0 <= x <= 1, "between 0 and 1")


def _counted(most: int) -> Callable[[str], int]:
    """Return a converter that accepts the whole numbers from 1 to `most`."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < 1:
            raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
        if value > most:
            raise argparse.ArgumentTypeError(f"must be {most:,} or less, got {text}")
        return value

    return convert


_count = _counted(2**31 - 1)


_Condition = tuple[int, str, float]
_LIMIT = re.compile(r"\s*([xyz])\s*(<=|>=|<|>)\s*(\S+?)\s*\Z", re.IGNORECASE)
_RANGE = re.compile(r"\s*(\S+?)\s*(<=|<)\s*([xyz])\s*(<=|<)\s*(\S+?)\s*\Z", re.IGNORECASE)


def _region(text: str) -> tuple[str, list[_Condition]]:
    """Parse ``x<0.01`` or ``0<x<0.1,z>0.2``: all conditions must hold."""
    conditions: list[_Condition] = []
    for part in re.split(r",|&", text):
        limit, between = _LIMIT.match(part), _RANGE.match(part)
        if limit:
            axis, relation, value = limit.groups()
            conditions.append((_AXES.index(axis.lower()), relation, _number(value)))
        elif between:
            low, first, axis, second, high = between.groups()
            index = _AXES.index(axis.lower())
            conditions.append((index, first.replace("<", ">"), _number(low)))
            conditions.append((index, second, _number(high)))
        else:
            raise argparse.ArgumentTypeError(
                f"{part.strip()!r} is not of the form 'x<0.01' or '0<x<0.1' (in metres)"
            )
    return text, conditions


def _chosen(points: NDArray[np.float64], conditions: Sequence[_Condition]) -> NDArray[np.bool_]:
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    mask = np.ones(len(points), dtype=bool)
    for axis, relation, value in conditions:
        mask &= compare[relation](points[:, axis], value)
    return mask


# --- fixing nodes ---------------------------------------------------------------------


def _fixed_nodes(args: argparse.Namespace, mesh: Mesh) -> NDArray[np.bool_]:
    """Return the mask of the nodes that the options fix; each option must find some."""
    mask = np.zeros(mesh.n_nodes, dtype=bool)
    low, high = mesh.bounds
    for text, conditions in args.fix or ():
        found = _chosen(mesh.nodes, conditions)
        if not found.any():
            raise InputError(
                f"--fix {text!r} holds for no node; the nodes lie in "
                + ", ".join(f"{low[i]:.6g} <= {_AXES[i]} <= {high[i]:.6g}" for i in range(3))
            )
        mask |= found
    for side, part in args.fix_fraction or ():
        axis = _AXES.index(side[0])
        reach = part * (high[axis] - low[axis])
        x = mesh.nodes[:, axis]
        mask |= x <= low[axis] + reach if side[1] == "-" else x >= high[axis] - reach
    for file in args.fix_file or ():
        nodes = read_fixed(file)
        # the file numbers the nodes of the mesh file, some of which may have been left out
        place = np.full(int(max(mesh.original_nodes.max(), nodes.max(initial=0))) + 1, -1)
        place[mesh.original_nodes] = np.arange(mesh.n_nodes)
        kept = place[nodes]
        if (kept < 0).any():
            worst = int(nodes[kept < 0][0]) + 1
            raise InputError(f"{str(file)!r} fixes node {worst}, which the mesh does not have")
        mask[kept] = True
    return mask


class _SideAndPart(argparse.Action):
    """``--fix-fraction x- 0.03``: a side of the bounding box and a part of its length."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        side, text = values
        if not re.fullmatch(r"[xyz][+-]", side):
            parser.error(f"{option_string}: {side!r} is not one of x- x+ y- y+ z- z+")
        try:
            part = _part(text)
        except argparse.ArgumentTypeError as error:
            parser.error(f"{option_string}: the part {error}")
        earlier = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*earlier, (side, part)])


# --- reduce ---------------------------------------------------------------------------


def _writable(path: Path, option: str) -> None:
    """Refuse a place to write to before the work is done, not after it."""
    if path.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r} ({option}): it is a folder")
    folder = path.parent
    if not folder.is_dir():
        raise FileFormatError(
            f"cannot write {str(path)!r} ({option}): there is no folder {str(folder)!r}"
        )
    if not os.access(folder, os.W_OK):
        raise FileFormatError(f"cannot write {str(path)!r} ({option}): the folder is not writable")


def _is_sample(name: str) -> bool:
    """Tell whether a name is that of a sample; a file of that name comes first."""
    return name in samples.names() and not os.path.lexists(name)


def _surface(name: str, scale: float = 1.0) -> Surface:
    if _is_sample(name):
        name = str(samples.path(name))
    surface = read_surface(name)
    return surface if scale == 1.0 else Surface(surface.vertices * scale, surface.triangles)


def _is_surface(name: str) -> bool:
    if _is_sample(name):
        return True
    if not Path(name).suffix and not os.path.lexists(name):
        raise FileFormatError(
            f"there is no file {name!r}, nor a sample of that name; the samples are "
            + ", ".join(samples.names())
        )
    return Path(name).suffix.lower() in SURFACE_SUFFIXES


def _material(args: argparse.Namespace, mesh: Mesh) -> StVK | dict[int, StVK]:
    """Take the material of the options or, without any, that of the file."""
    given = [o for o in ("young", "poisson", "density") if getattr(args, o) is not None]
    if not given and set(mesh.materials) >= set(mesh.regions.tolist()):
        return mesh.materials
    default = {"young": 1e6, "poisson": 0.4, "density": 1000.0}
    return StVK(**{**default, **{option: getattr(args, option) for option in given}})


def _refuse_same(read: Sequence[str], written: Mapping[str, str | None]) -> None:
    """Refuse a file that is read and written, or written twice."""
    seen = {Path(name).resolve(): "the input" for name in read}
    for name, given in written.items():
        if given is None:
            continue
        place = Path(given).resolve()
        if place in seen:
            raise _UsageError(f"{seen[place]} and {name} are the same file, {given!r}")
        seen[place] = name


def _reduce(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    output = Path(args.output)
    read = [] if _is_sample(args.input) else [args.input]
    _refuse_same([*read, *(args.fix_file or [])], {"--output": args.output})
    _writable(output, "--output")
    held = bool(args.fix or args.fix_fraction or args.fix_file)
    if args.free and held:
        raise _UsageError("--free and options that fix nodes exclude each other")
    if not (args.free or held):
        raise _UsageError(
            "say which nodes are fixed, for example --fix-fraction z- 0.05 (lowest 5 % of the "
            "height) or --fix 'x<0.01', or --free for a body that nothing holds"
        )
    _check_sizes(args)
    began = time.perf_counter()
    if _is_surface(args.input):
        surface = _surface(args.input, args.scale)
        console.fact(
            "surface",
            f"{count_text(surface.n_triangles, 'triangle')}, {size_text(surface.bounds)}",
        )
        with console.stage("voxelize") as stage:
            mesh = voxelize(surface, args.resolution, args.fill, args.expand, progress=stage.tell)
            stage.result = _mesh_text(mesh)
    else:
        mesh = read_mesh(args.input)
        if args.scale != 1.0:
            mesh = _scaled(mesh, args.scale)
        console.fact("mesh", f"{_mesh_text(mesh)}, {size_text(mesh.bounds)}")
    parts = mesh.n_components("face")
    if parts > 1:
        if args.keep_largest:
            mesh = mesh.largest_component("face")
            console.fact("largest part", f"of {parts}: {_mesh_text(mesh)}")
        else:
            console.fact(
                "parts", f"{parts} that share no face (--keep-largest drops all but the largest)"
            )
    fixed = _fixed_nodes(args, mesh)
    solid = Solid(mesh, _material(args, mesh), fixed, args.quadrature)
    console.fact(
        "solid",
        f"{solid.total_mass:.3g} kg, {_materials_text(solid.materials.values())}, "
        f"{count_text(int(fixed.sum()), 'node')} fixed",
    )
    modes = _modes(args, solid)
    with console.stage("modes and derivatives") as stage:
        try:
            basis = modal_derivative_basis(solid, modes, args.coordinates, progress=stage.tell)
        except MeshError as error:
            hint = "; --keep-largest leaves out all parts but the largest" if parts > 1 else ""
            raise MeshError(f"{error}{hint}") from error
        except InputError as error:  # the rank, which only the work itself shows
            raise InputError(f"-r/--coordinates: {error}") from error
        f = basis.provenance["frequencies_hz"]
        stage.result = f"{count_text(len(f), 'mode')} from {f[0]:.3g} to {f[-1]:.3g} Hz"
    with console.stage("reduce") as stage:
        model = reduce(solid, basis, progress=stage.tell)
        stage.result = (
            f"{count_text(model.r, 'coordinate')}, "
            f"{count_text(len(model.coefficients), 'coefficient')}"
        )
    model.save(output)
    console.fact("together", time_text(time.perf_counter() - began))
    console.fact("model", f"{output}, {bytes_text(output.stat().st_size)}")
    return 0


def _check_sizes(args: argparse.Namespace) -> None:
    """Refuse more coordinates than the modes can give, before any work."""
    k = _USUAL_MODES if args.modes is None else args.modes
    most = k + (k * k if args.free else k * (k + 1) // 2)
    if args.coordinates is not None and args.coordinates > most:
        raise _UsageError(
            f"-r/--coordinates {args.coordinates} is more than the {most} that "
            f"{count_text(k, 'mode')} and their derivatives give: ask for more -k/--modes"
        )


def _modes(args: argparse.Namespace, solid: Solid) -> int:
    """Return how many modes to find; what was asked for must exist."""
    freedoms = 3 * len(solid.free) - (0 if len(solid.fixed) else 6)
    k: int = args.modes or max(1, min(_USUAL_MODES, freedoms - 1))
    for option, number, most in (
        ("-k/--modes", k, freedoms - 1),
        ("-r/--coordinates", args.coordinates or 1, freedoms),
    ):
        if freedoms > 0 and number > most:
            raise InputError(
                f"{option} {number} is more than the {most} that a solid with "
                f"{count_text(len(solid.free), 'free node')} has"
            )
    return k


def _scaled(mesh: Mesh, scale: float) -> Mesh:
    """Scale the nodes and keep all else, through what pickles go through."""
    make, (nodes, *rest) = mesh.__reduce__()
    scaled: Mesh = make(nodes * scale, *rest)
    return scaled


# --- info -----------------------------------------------------------------------------


def _mesh_text(mesh: Mesh) -> str:
    one, many = {4: ("tetrahedron", "tetrahedra"), 8: ("hexahedron", "hexahedra")}[
        mesh.nodes_per_element
    ]
    return f"{count_text(mesh.n_elements, one, many)}, {count_text(mesh.n_nodes, 'node')}"


def _materials_text(materials: Collection[StVK | LinearElastic]) -> str:
    different = set(materials)
    if len(different) > 1:
        return f"{len(different)} materials"
    one = next(iter(different))
    if isinstance(one, LinearElastic):
        return f"a matrix of 21 constants, {one.density:g} kg/m^3"
    return f"E = {one.young:.4g} Pa, nu = {one.poisson:g}, {one.density:g} kg/m^3"


def _info(args: argparse.Namespace) -> int:
    console = Console()
    if args.system:
        console.say(system_report())
    elif not args.file:
        raise _UsageError("name a file, or ask for --system")
    for name in args.file:
        _info_file(name, console)
    return 0


def _info_file(name: str, console: Console) -> None:
    path = Path(name)
    if _is_surface(name):
        _info_surface(name, console)
        return
    if path.suffix.lower() == ".safetensors" or _looks_like_a_model(path):
        _info_model(path, console)
        return
    mesh = read_mesh(name)
    console.say(f"{name}: volume mesh")
    console.fact("elements", _mesh_text(mesh))
    console.fact("size", size_text(mesh.bounds))
    console.fact("from", _point_text(mesh.bounds[0]) + " to " + _point_text(mesh.bounds[1]))
    console.fact("volume", f"{mesh.volume:.6g} m^3")
    console.fact("parts", f"{mesh.n_components('face')} (elements that share faces)")
    names = mesh.region_names
    for region in np.unique(mesh.regions):
        count = int((mesh.regions == region).sum())
        text = count_text(count, "element")
        if region in names:
            text += f", {names[region]!r}"
        if region in mesh.materials:
            text += ", " + _materials_text([mesh.materials[region]])
        console.fact(f"region {region}", text)


def _looks_like_a_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(9)[8:] == b"{"
    except OSError:
        return False


def _point_text(point: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in point) + ")"


def _info_surface(name: str, console: Console) -> None:
    surface = _surface(name)
    console.say(f"{name}: triangle surface")
    console.fact(
        "triangles",
        f"{surface.n_triangles:,}, of which {surface.n_degenerate:,} without area; "
        f"{count_text(surface.n_vertices, 'vertex', 'vertices')}",
    )
    console.fact("size", size_text(surface.bounds))
    console.fact("from", _point_text(surface.bounds[0]) + " to " + _point_text(surface.bounds[1]))
    console.fact("area", f"{surface.area:.6g} m^2")
    try:
        console.fact("volume", f"{surface.volume:.6g} m^3")
    except MeshError:
        console.fact("volume", "none: the surface is not closed")
    console.fact("manifold", "yes" if surface.is_manifold else "no")


def _info_model(path: Path, console: Console) -> None:
    model = load(path)
    mesh = model.mesh
    console.say(f"{path}: reduced model")
    console.fact("coordinates", str(model.r))
    console.fact(
        "coefficients",
        f"{len(model.coefficients):,} ({bytes_text(model.coefficients.nbytes)})",
    )
    console.fact("mesh", f"{_mesh_text(mesh)}, {size_text(mesh.bounds)}")
    console.fact("from", _point_text(mesh.bounds[0]) + " to " + _point_text(mesh.bounds[1]))
    console.fact("fixed", count_text(len(model.fixed), "node"))
    solid, basis = model.provenance["solid"], model.provenance["basis"]
    console.fact("law", f"{solid['law']}, quadrature {solid['quadrature']} points per axis")
    for region, material in solid["materials"].items():
        console.fact(f"region {region}", _materials_text([from_plain(material)]))
    console.fact("mass", f"{solid['total_mass']:.6g} kg")
    console.fact("basis", _basis_text(basis))
    identity = np.abs(model.mass - np.eye(model.r)).max() < 1e-8
    console.fact("reduced mass", "identity" if identity else "not the identity")
    console.fact("file", bytes_text(path.stat().st_size))


def _basis_text(basis: Mapping[str, Any]) -> str:
    text = str(basis["method"])
    f = basis.get("frequencies_hz")
    if isinstance(f, tuple) and f and all(isinstance(x, float) for x in f):
        text += f", {count_text(len(f), 'mode')} from {f[0]:.4g} to {f[-1]:.4g} Hz"
    return text


# --- simulate -------------------------------------------------------------------------


def _nearest(mesh: Mesh, point: Sequence[float]) -> int:
    return int(((mesh.nodes - np.asarray(point)) ** 2).sum(axis=1).argmin())


def _pushed_steps(args: argparse.Namespace) -> int:
    """Return for how many steps the force acts."""
    wanted = _USUAL_PUSH if args.duration is None else args.duration
    # no whole number where the two are too far apart
    steps: int = max(1, round(min(wanted / args.dt, 2.0 * _MAX_STEPS)))
    if args.duration is not None and steps > args.steps:
        raise _UsageError(
            f"--duration {args.duration:g} is longer than the simulation, --steps {args.steps} of "
            f"--dt {args.dt:g}"
        )
    return min(steps, int(args.steps))


def _simulate(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    pushed = _pushed_steps(args)
    written = {f"--{option}": getattr(args, option) for option in ("output", "plot", "picture")}
    _refuse_same([args.model], written)
    for option in ("output", "plot", "picture"):
        if getattr(args, option) is not None:
            _writable(Path(getattr(args, option)), f"--{option}")
    if args.output is not None and Path(args.output).suffix.lower() not in (".csv", ".npz"):
        raise _UsageError(f"--output: a trajectory goes to .csv or .npz, got {args.output!r}")
    for option in ("plot", "picture"):
        if getattr(args, option) is not None:
            try:
                plot.check_picture(getattr(args, option))
            except FileFormatError as error:
                raise _UsageError(f"--{option}: {error}") from None
    model = load(args.model)
    mesh = model.mesh
    if args.at is None:
        # the node that the basis moves most
        node = int((np.asarray(model.basis) ** 2).sum(axis=(0, 2)).argmax())
    else:
        node = _nearest(mesh, args.at)
    watched = [node] if not args.watch else [_nearest(mesh, point) for point in args.watch]
    console.fact(
        "force",
        f"{_point_text(np.asarray(args.force))} N for {pushed * args.dt:g} s at node {node}, "
        f"{_point_text(mesh.nodes[node])} m",
    )
    if model.rigid_body is not None:
        console.fact("note", "of a free body, its deformation is simulated, not its flight")
    if node in model.fixed:
        console.fact("note", "that node is fixed: the force has no effect")
    nodal = np.zeros((mesh.n_nodes, 3))
    nodal[node] = args.force
    force = model.project(nodal)
    sim = ImplicitNewmark(
        model, args.dt, args.damping, newton_max=args.newton_max, tol=args.tolerance
    )

    # recorded once, step by step; timed a second time, undisturbed
    q = np.zeros((args.steps + 1, model.r))
    failure: DivergedError | None = None
    done = 0
    with console.stage("simulate") as stage:
        try:
            for i in range(args.steps):
                sim.step(force if i < pushed else None)
                done = i + 1
                q[done] = sim.state.q
                stage.tell(done, args.steps)
        except DivergedError as error:
            failure = error
        report = sim.report
        sim.reset()
        start = time.perf_counter()
        sim.step(force, n=min(pushed, done))
        sim.step(None, n=max(0, done - pushed))
        per_step = (time.perf_counter() - start) / max(done, 1)
        stage.result = count_text(done, "step")
    q = q[: done + 1]
    times = args.dt * np.arange(done + 1)
    basis = np.asarray(model.basis)[:, watched]
    u = np.einsum("sr,rnc->snc", q, basis)

    console.fact("time", f"{times[-1]:g} s in steps of {args.dt:g} s")
    if done:
        console.fact(
            "per step",
            f"{per_step * 1e6:.1f} us, {report.solves / done:.2f} Newton iterations: "
            f"{args.dt / per_step:.0f} times faster than real time",
        )
    console.fact("indefinite tangents", f"{report.indefinite:,}")
    above = count_text(report.unconverged, "step")
    if report.unconverged and args.newton_max == 1:
        above += " (usual with one Newton iteration; --newton-max allows more)"
    console.fact("above the tolerance", above)
    for k, one in enumerate(watched):
        console.fact(f"node {one}", f"moved {np.linalg.norm(u[:, k], axis=1).max():.4g} m at most")
    size = float(np.ptp(mesh.nodes, axis=0).max())
    if float(np.linalg.norm(u, axis=2).max()) > 2 * size:
        console.fact("note", f"the solid is {size:.3g} m long: is so large a force meant?")
    console.fact("diverged", "no" if failure is None else f"after {count_text(done, 'step')}")
    if args.output is not None:
        _write_trajectory(Path(args.output), times, watched, u, q)
        console.fact("trajectory", args.output)
    if args.plot is not None:
        _plot_trajectory(args, times, watched, u)
        console.fact("plot", args.plot)
    if args.picture is not None:
        _picture(args, model, q, u[:, 0])
        console.fact("picture", args.picture)
    if failure is not None:
        raise DivergedError(
            f"the simulation diverged in step {done + 1} of {args.steps}, at t = "
            f"{args.dt * (done + 1):g} s: try a smaller --dt, more --damping, a --newton-max above "
            "1 or a smaller --force"
        ) from failure
    return 0


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
            names = [f"node{node}_{axis}_m" for node in nodes for axis in _AXES]
            writer.writerow(["time_s", *names])
            for t, row in zip(times.tolist(), u.reshape(len(u), -1).tolist(), strict=True):
                writer.writerow([repr(t), *map(repr, row)])


def _plot_trajectory(
    args: argparse.Namespace,
    times: NDArray[np.float64],
    nodes: Sequence[int],
    u: NDArray[np.float64],
) -> None:
    if len(nodes) == 1:
        traces = [plot.Trace(_AXES[c], times, 1e3 * u[:, 0, c]) for c in range(3)]
        title, what = f"Displacement of node {nodes[0]}", "displacement [mm]"
    else:
        axis = int(np.ptp(u, axis=0).max(axis=0).argmax())
        traces = [
            plot.Trace(f"node {node}", times, 1e3 * u[:, k, axis]) for k, node in enumerate(nodes)
        ]
        title, what = "Displacements", f"displacement along {_AXES[axis]} [mm]"
    plot.save_figure(plot.traces_figure(traces, title, what), args.plot)


def _picture(
    args: argparse.Namespace,
    model: ReducedSolid,
    q: NDArray[np.float64],
    u: NDArray[np.float64],
) -> None:
    surface, nodes = model.mesh.surface(), model.mesh.boundary_nodes
    axis = int(np.ptp(u, axis=0).argmax())
    instants = demonstration.instants(u[:, axis], 2)
    moved = [model.displacement(q[i])[nodes] for i in instants]
    figure = plot.shapes_figure(
        surface.vertices,
        surface.triangles,
        moved,
        [f"{args.dt * i:.3g} s" for i in instants],
        f"{Path(args.model).stem}: rest and extremes",
        size=(1100, 800),
    )
    plot.save_figure(figure, args.picture)


# --- demo -----------------------------------------------------------------------------


def _demo(args: argparse.Namespace) -> int:
    settings = demonstration.DEMOS[args.surface]
    if args.quick:
        settings = demonstration.quick(settings)
    demonstration.run(settings, Path(args.out), Console(args.quiet))
    return 0


# --- the parser -----------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Takes negative numbers in any notation as values, and leaves help as it is written."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"-(\d|\.\d|inf|nan)")

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {message}\n")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument(
        "--threads",
        type=_counted(MAX_THREADS),
        metavar="N",
        help="threads for the computations (default: as many as there are processors); "
        "results do not depend on it",
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="reducedfem",
        description="Real-time simulation of large-deformation solids by model reduction.",
        epilog="'reducedfem COMMAND --help' tells more and gives examples.",
    )
    parser.add_argument("--version", action="version", version=f"reducedfem {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)

    one = commands.add_parser(
        "demo",
        help="the whole path on a sample surface, with pictures",
        description="Reduce a sample surface, simulate it, compare with the unreduced solid, "
        "draw pictures.\nNeeds matplotlib: pip install 'reducedfem[plot]'.",
        epilog="examples:\n"
        "  reducedfem demo\n"
        "  reducedfem demo --surface hose --out /tmp/hose\n"
        "  reducedfem demo --quick",
    )
    one.add_argument(
        "--out", metavar="FOLDER", default="out/demo", help="where files go (default: %(default)s)"
    )
    one.add_argument(
        "--surface",
        choices=tuple(demonstration.DEMOS),
        default="spoon",
        help="the sample (default: %(default)s)",
    )
    one.add_argument("--quick", action="store_true", help="coarse and short: some seconds")
    _common(one)
    one.set_defaults(run=_demo, parser=one)

    one = commands.add_parser(
        "reduce",
        help="make a reduced model of a surface or a volume mesh",
        description="Make a reduced model: voxelize (surfaces), find modes and their "
        "derivatives, reduce, save.",
        epilog="examples:\n"
        "  reducedfem reduce spoon -o spoon.safetensors --fill --fix 'x<0.01' "
        "--young 2e8 --density 930\n"
        "  reducedfem reduce bunny.ply -o bunny.safetensors --fix-fraction z- 0.05 "
        "--resolution 40 --keep-largest\n"
        "  reducedfem reduce bridge.veg -o bridge.safetensors --fix-file bridge.bou -r 15",
    )
    one.add_argument(
        "input",
        metavar="SURFACE_OR_MESH",
        help="surface (.obj .ply .stl .off), volume mesh (.veg, or what meshio reads), or the "
        "name of a sample: " + ", ".join(samples.names()),
    )
    one.add_argument(
        "-o", "--output", metavar="MODEL", required=True, help="the model file to write"
    )
    fix = one.add_argument_group("fixed nodes (at least one; they add up)")
    fix.add_argument(
        "--fix",
        metavar="REGION",
        type=_region,
        action="append",
        help="nodes in a region, such as 'x<0.01' or '0<=x<0.1,z>0.2' [m]; all conditions hold",
    )
    fix.add_argument(
        "--fix-fraction",
        metavar=("SIDE", "PART"),
        nargs=2,
        action=_SideAndPart,
        help="nodes within a part of the bounding box at one of its sides x- x+ y- y+ z- z+, "
        "such as 'x- 0.03'",
    )
    fix.add_argument(
        "--free",
        action="store_true",
        help="fix nothing: a body that flies and turns (see FreeBody in Python)",
    )
    fix.add_argument(
        "--fix-file", metavar="FILE", action="append", help="nodes listed in a .bou file, 1-based"
    )
    geometry = one.add_argument_group("geometry")
    geometry.add_argument(
        "--scale",
        type=_positive,
        default=1.0,
        metavar="S",
        help="multiply coordinates, such as 0.001 for millimetres (default: 1)",
    )
    geometry.add_argument(
        "--resolution",
        type=_counted(_MAX_RESOLUTION),
        default=64,
        metavar="N",
        help="voxels along each side of the grid around a surface (default: %(default)s)",
    )
    geometry.add_argument(
        "--fill", action="store_true", help="fill what the surface encloses (default: hollow)"
    )
    geometry.add_argument(
        "--expand",
        type=_expand,
        default=1.2,
        metavar="S",
        help="side of the grid over the longest side of the surface (default: %(default)s)",
    )
    geometry.add_argument(
        "--keep-largest",
        action="store_true",
        help="drop all parts but the largest (parts share no face)",
    )
    material = one.add_argument_group("material (default: the file's, where it has any)")
    material.add_argument("--young", type=_positive, metavar="E", help="[Pa] (default: 1e6)")
    material.add_argument("--poisson", type=_poisson, metavar="NU", help="(default: 0.4)")
    material.add_argument(
        "--density", type=_positive, metavar="RHO", help="[kg/m^3] (default: 1000)"
    )
    reduction = one.add_argument_group("reduction")
    reduction.add_argument(
        "-k",
        "--modes",
        type=_count,
        metavar="K",
        help=f"linear modes (default: {_USUAL_MODES}, or all where there are fewer)",
    )
    reduction.add_argument(
        "-r",
        "--coordinates",
        type=_counted(MAX_R),
        metavar="R",
        help="reduced coordinates, at most K + K (K + 1) / 2 (default: 30, or all where there are "
        "fewer)",
    )
    reduction.add_argument(
        "--quadrature",
        type=int,
        choices=(2, 3),
        default=2,
        help="Gauss points per axis of a hexahedron (default: %(default)s)",
    )
    _common(one)
    one.set_defaults(run=_reduce, parser=one)

    one = commands.add_parser(
        "info",
        help="tell what a file is, or what the package runs on",
        description="Tell what a model, mesh or surface is, or what the package runs on.",
        epilog="examples:\n"
        "  reducedfem info spoon.safetensors\n"
        "  reducedfem info bunny.ply\n"
        "  reducedfem info --system",
    )
    one.add_argument("file", metavar="FILE", nargs="*", help="model, mesh or surface")
    one.add_argument(
        "--system",
        action="store_true",
        help="versions, processor, kernel variants, BLAS and whether its kernels fit",
    )
    one.set_defaults(run=_info, parser=one, threads=None)

    one = commands.add_parser(
        "simulate",
        help="push a reduced model and let it swing",
        description="Push a node of a reduced model for a while, then let it swing.",
        epilog="examples:\n"
        "  reducedfem simulate spoon.safetensors --at 0.17 0 0 --force 0 0 -5 --duration 0.02\n"
        "  reducedfem simulate spoon.safetensors --force 0 0 -5 --steps 500 --newton-max 10 \\\n"
        "      --output tip.csv --plot tip.png --picture shapes.png",
    )
    one.add_argument("model", metavar="MODEL", help="made by 'reducedfem reduce'")
    push = one.add_argument_group("the push")
    push.add_argument(
        "--force",
        type=_number,
        nargs=3,
        metavar=("FX", "FY", "FZ"),
        required=True,
        help="[N], on one node",
    )
    push.add_argument(
        "--at",
        type=_number,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="the node nearest to this point [m] (default: the one that moves most easily)",
    )
    push.add_argument(
        "--duration",
        type=_positive,
        metavar="S",
        help=f"[s] (default: {_USUAL_PUSH:g}, or the whole simulation where that is shorter)",
    )
    motion = one.add_argument_group("the motion")
    motion.add_argument(
        "--steps",
        type=_counted(_MAX_STEPS),
        default=1000,
        metavar="N",
        help="(default: %(default)s)",
    )
    motion.add_argument(
        "--dt", type=_positive, default=1e-3, metavar="S", help="time step [s] (default: 0.001)"
    )
    motion.add_argument(
        "--damping",
        type=_not_negative,
        nargs=2,
        default=(0.0, 0.0),
        metavar=("ALPHA", "BETA"),
        help="Rayleigh's: alpha [1/s] of the mass, beta [s] of the stiffness (default: 0 0)",
    )
    motion.add_argument(
        "--newton-max",
        type=_counted(_MAX_NEWTON),
        default=1,
        metavar="N",
        help="Newton iterations per step at most (default: %(default)s)",
    )
    motion.add_argument(
        "--tolerance",
        type=_positive,
        default=1e-6,
        metavar="T",
        help="relative residual at which they end (default: %(default)s)",
    )
    results = one.add_argument_group("results")
    results.add_argument(
        "--watch",
        type=_number,
        nargs=3,
        action="append",
        metavar=("X", "Y", "Z"),
        help="report the node nearest to this point; may be repeated (default: the pushed one)",
    )
    results.add_argument(
        "--output",
        metavar="FILE",
        help="trajectory: .csv (times and displacements of the watched nodes) or .npz (and q)",
    )
    results.add_argument("--plot", metavar="FILE", help="picture of the trajectory (.png, .pdf)")
    results.add_argument("--picture", metavar="FILE", help="picture of the extreme shapes")
    _common(one)
    one.set_defaults(run=_simulate, parser=one)
    return parser


# --- running it -----------------------------------------------------------------------


def _fail(message: str) -> int:
    print("reducedfem: error: " + " ".join(message.split()), file=sys.stderr)
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        What follows the name of the command; default: those of the process.

    Returns
    -------
    int
        The exit status. Wrong use leaves by SystemExit with status 2.
    """
    parser = _parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "run"):
        parser.print_help(sys.stderr)
        return 2
    try:
        if args.threads is not None:
            set_threads(args.threads)
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except _UsageError as error:
        args.parser.error(str(error))
        raise AssertionError from error  # not reached
    except KeyboardInterrupt:
        print("reducedfem: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # who read our output has had enough; what is left must not fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ReducedFEMError as error:
        return _fail(str(error))
    except MemoryError:
        return _fail("out of memory: try a lower resolution, or fewer modes, coordinates and steps")
    except OSError as error:
        return _fail(f"{error.filename or 'operating system'}: {error.strerror or error}")
