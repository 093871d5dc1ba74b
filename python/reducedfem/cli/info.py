"""``reducedfem info``: describe a file, or the system."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reducedfem import _core
from reducedfem._load import load
from reducedfem.base.console import Console, bytes_text, count_text, size_text
from reducedfem.base.system import system_report
from reducedfem.cli.info_tables import SUFFIXES, info_table
from reducedfem.cli.options import Commands, UsageError, fail
from reducedfem.cli.paths import is_surface, open_mesh, open_surface
from reducedfem.cli.texts import (
    box_text,
    cubature_text,
    materials_text,
    mesh_text,
    quadrature_text,
    viscosity_text,
)
from reducedfem.contact.field import DistanceField
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import FileFormatError, MeshError, ReducedFEMError
from reducedfem.geometry.mesh import Mesh
from reducedfem.green.control import ControlElements
from reducedfem.green.functions import GreensFunctions
from reducedfem.haptics.records import HapticRecords
from reducedfem.io.reading import regular_file
from reducedfem.io.tensors import saved_place
from reducedfem.material.laws import from_plain
from reducedfem.reduction.reduced import ReducedSolid
from reducedfem.world.recorded import WorldMotion

__all__ = ["add_to"]

_LEVELS_SHOWN = 8
_FAILURES = {
    "broken": "a force was not finite",
    "device_failed": "the device failed",
    "diverged": "a simulation diverged",
}


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "info",
        help="describe a file, or the system the package runs on",
        description="Describe files: reduced models, distance fields, pointshells, Green's "
        "functions,\ncontrol elements, meshes, surfaces, records of haptic sessions, trajectories "
        "of\n'reducedfem simulate' and tables of poses. Or describe the processor and the "
        "libraries\nthat the package uses (--system).",
        epilog="examples:\n"
        "  reducedfem info spoon.safetensors\n"
        "  reducedfem info bunny.ply bunny_field.safetensors bunny_shell.safetensors\n"
        "  reducedfem info cheat.npy tip.csv\n"
        "  reducedfem info --system",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="*",
        help="file to describe; several may be given",
    )
    parser.add_argument(
        "--system",
        action="store_true",
        help="describe versions, processor, kernel variants, and the BLAS and its kernels",
    )
    parser.set_defaults(run=_run, parser=parser, threads=None)


def _run(args: argparse.Namespace) -> int:
    console = Console()
    if args.system:
        console.say(system_report())
    elif not args.file:
        raise UsageError("name a file to describe, or give --system")
    status = 0
    for name in args.file:
        try:
            _info_file(name, console)
        except BrokenPipeError:
            raise
        except (ReducedFEMError, OSError) as error:
            sys.stdout.flush()
            status = fail(error)  # continue with the other files
    return status


def _info_file(name: str, console: Console) -> None:
    path = saved_place(Path(name))
    if path == Path(name) and is_surface(name):
        _info_surface(name, console)
        return
    if path.suffix.lower() == ".safetensors" or _seems_saved(path):
        _info_saved(path, console)
        return
    if path.suffix.lower() == ".npy":
        _info_records(path, console)
        return
    if path.suffix.lower() in SUFFIXES:
        info_table(path, console)
        return
    mesh = open_mesh(name, f"tables ({' '.join(SUFFIXES)})")
    console.say(f"{name}: volume mesh")
    console.fact("elements", mesh_text(mesh))
    console.fact("size", size_text(mesh.bounds))
    console.fact("bounding box", box_text(mesh.bounds))
    console.fact("volume", f"{mesh.volume:.6g} m^3")
    console.fact("parts", f"{mesh.n_components('face')}, each connected through faces of elements")
    _tell_constraints(mesh, console)
    if len(mesh.hanging_nodes):
        console.fact(
            "hanging nodes",
            f"{len(mesh.hanging_nodes)}, on edges or faces of elements that do not have "
            "them: Mesh.with_constraints",
        )
    loose = len(_core.touching_elements(mesh._core))
    if loose:
        console.fact("loose faces", f"{loose}, which lie on others without common nodes")
    names = mesh.region_names
    for region in np.unique(mesh.regions):
        count = int((mesh.regions == region).sum())
        text = count_text(count, "element")
        if region in names:
            text += f", {names[region]!r}"
        if region in mesh.materials:
            text += ", " + materials_text([mesh.materials[region]])
        console.fact(f"region {region}", text)


def _tell_constraints(mesh: Mesh, console: Console) -> None:
    if mesh.constraints is not None:
        console.fact("constrained nodes", f"{len(mesh.constraints):,}, which follow others")


def _seems_saved(path: Path) -> bool:
    try:
        with regular_file(path) as (file, _):
            return file.read(9)[8:] == b"{"
    except FileFormatError:
        return False


def _info_surface(name: str, console: Console) -> None:
    surface = open_surface(name)
    console.say(f"{name}: triangle surface")
    console.fact(
        "triangles",
        f"{surface.n_triangles:,}, of which {surface.n_degenerate:,} have no area",
    )
    console.fact("vertices", f"{surface.n_vertices:,}")
    console.fact("size", size_text(surface.bounds))
    console.fact("bounding box", box_text(surface.bounds))
    console.fact("area", f"{surface.area:.6g} m^2")
    try:
        console.fact("volume", f"{surface.volume:.6g} m^3")
    except MeshError:
        console.fact("volume", "none: the surface is not closed")
    console.fact("manifold", "yes" if surface.is_manifold else "no")
    met = len(surface.self_intersections())
    console.fact("self-intersections", f"{count_text(met, 'pair')} of triangles" if met else "none")


def _info_saved(path: Path, console: Console) -> None:
    saved = load(path)
    if isinstance(saved, DistanceField):
        _info_field(saved, path, console)
    elif isinstance(saved, Pointshell):
        _info_shell(saved, path, console)
    elif isinstance(saved, GreensFunctions):
        _info_green(saved, path, console)
    elif isinstance(saved, ControlElements):
        _info_handles(saved, path, console)
    elif isinstance(saved, WorldMotion):
        _info_world_motion(saved, path, console)
    else:
        _info_model(saved, path, console)
    console.fact("file size", bytes_text(path.stat().st_size))


def _info_world_motion(motion: WorldMotion, path: Path, console: Console) -> None:
    console.say(f"{path}: motion of a world")
    console.fact("states", f"{len(motion):,}, {motion.times[0]:g} to {motion.times[-1]:g} s")
    console.fact("bodies", f"{len(motion.bodies):,}")
    console.fact("with dimples", f"{len(motion.dimples):,}")


def _info_field(field: DistanceField, path: Path, console: Console) -> None:
    values, made = field.values, field.provenance
    console.say(f"{path}: distance field")
    console.fact("samples", f"{_product(values.shape)} ({bytes_text(values.nbytes)})")
    console.fact("size", size_text(field.bounds))
    console.fact("bounding box", box_text(field.bounds))
    console.fact("spacing", f"{_product([f'{x:.4g}' for x in field.spacing])} m")
    console.fact("distances", f"{values.min():.4g} to {values.max():.4g} m, negative inside")
    inside = int((values < 0).sum())
    console.fact("samples inside", f"{inside:,}, {100 * inside / values.size:.3g} %")
    text = str(made["method"])
    if isinstance(made.get("triangles"), int):
        text += f" of {count_text(made['triangles'], 'triangle')}"
    if isinstance(made.get("mode"), str):
        text += f", {made['mode']}"
    console.fact("origin", text)
    if isinstance(made.get("closed"), bool):
        notes = [
            "closed"
            if made["closed"]
            else "open: points within the offset of the surface are inside"
            if made["offset_m"] > 0.0
            else "open: points of a winding number above 1/2 are inside"
        ]
        if made.get("turned") is True:
            notes.append("its triangles faced inwards")
        if made.get("crossing") is True:
            notes.append("it intersects itself")
        console.fact("surface", ", ".join(notes))
    if isinstance(made.get("offset_m"), int | float):
        console.fact("offset", f"{made['offset_m']:.4g} m")


def _info_shell(shell: Pointshell, path: Path, console: Console) -> None:
    bounds = np.array([shell.points.min(axis=0), shell.points.max(axis=0)])
    console.say(f"{path}: pointshell")
    console.fact("points", f"{shell.n_points:,}")
    shown = ", ".join(f"{n:,}" for n in shell.level_counts[:_LEVELS_SHOWN].tolist())
    more = ", ..." if shell.n_levels > _LEVELS_SHOWN else ""
    console.fact("levels of detail", f"{shell.n_levels}, with {shown}{more} points")
    console.fact("size", size_text(bounds))
    console.fact("bounding box", box_text(bounds))
    areas = shell.areas
    console.fact("areas of points", "none" if areas is None else f"{areas.sum():.6g} m^2 in total")


def _info_green(green: GreensFunctions, path: Path, console: Console) -> None:
    bounds = np.array([green.positions.min(axis=0), green.positions.max(axis=0)])
    console.say(f"{path}: Green's functions{' of a free solid' if green.is_free else ''}")
    console.fact("nodes", f"{len(green.nodes):,}")
    console.fact("releasable nodes", f"{len(green.releasable):,}")
    console.fact("entries", f"{green.dtype} ({bytes_text(green.bytes)})")
    console.fact("size", size_text(bounds))
    console.fact("bounding box", box_text(bounds))


def _info_handles(handles: ControlElements, path: Path, console: Console) -> None:
    places = handles.positions
    bounds = np.array([places.min(axis=0), places.max(axis=0)])
    console.say(f"{path}: control elements")
    counts = ", ".join(f"{len(nodes):,}" for nodes in handles.handles[:_LEVELS_SHOWN])
    more = ", ..." if len(handles.handles) > _LEVELS_SHOWN else ""
    console.fact("handles", f"{len(handles.handles)}, with {counts}{more} nodes")
    console.fact("nodes of the surface", f"{len(handles.nodes):,}")
    console.fact("order", f"{handles.order}, rank {handles.rank} of {12 * len(handles.handles)}")
    console.fact("fields", f"{handles.dtype} ({bytes_text(handles.bytes)})")
    console.fact("size", size_text(bounds))
    console.fact("bounding box", box_text(bounds))


def _info_records(path: Path, console: Console) -> None:
    records = HapticRecords.load(path)
    console.say(f"{path}: records of a haptic session")
    if records.scene is not None:
        console.fact("scene", records.scene)
    console.fact("cycles", f"{len(records):,}")
    if len(records):
        time, touching = records["time_s"], records["touching"]
        console.fact("time", f"{time[0]:.6g} to {time[-1]:.6g} s")
        console.fact(
            "contact",
            f"{100 * (touching > 0).mean():.0f} % of the cycles, at most "
            f"{count_text(int(touching.max()), 'point')}",
        )
        console.fact("maximum penetration", f"{1e3 * records['depth_m'].max():.3g} mm")
        most = np.linalg.norm(records["force"], axis=1).max()
        console.fact("force on the hand", f"at most {most:.4g} N")
        computed = records["compute_us"]
        console.fact(
            "computing time", f"p50 {np.median(computed):.1f}, max {computed.max():.1f} us"
        )
        failed = [why for name, why in _FAILURES.items() if records.flagged(name).any()]
        console.fact("failure", ", ".join(failed) if failed else "none")
    console.fact("file size", bytes_text(path.stat().st_size))


def _product(numbers: Iterable[object]) -> str:
    return " x ".join(map(str, numbers))


def _info_model(model: ReducedSolid, path: Path, console: Console) -> None:
    mesh = model.mesh
    console.say(f"{path}: reduced model")
    console.fact("reduced coordinates", str(model.r))
    rule = model.cubature
    if rule is not None:
        console.fact("energy by cubature", cubature_text(rule))
    else:
        console.fact(
            "energy polynomial",
            f"{count_text(len(model.coefficients), 'coefficient')}, "
            f"{bytes_text(model.coefficients.nbytes)}",
        )
    console.fact("mesh", f"{mesh_text(mesh)}, {size_text(mesh.bounds)}")
    console.fact("bounding box", box_text(mesh.bounds))
    _tell_constraints(mesh, console)
    console.fact("fixed nodes", f"{len(model.fixed):,}")
    solid, basis = model.provenance["solid"], model.provenance["basis"]
    console.fact("material law", str(solid["law"]))
    console.fact("quadrature", f"{quadrature_text(mesh, solid['quadrature'])} per element")
    rate = model.strain_rate
    for region, material in solid["materials"].items():
        text = materials_text([from_plain(material)])
        if rate is not None:
            text += ", " + viscosity_text(rate, int(region))
        console.fact(f"region {region}", text)
    console.fact("strain-rate damping", "no" if rate is None else "yes")
    console.fact("mass", f"{solid['total_mass']:.6g} kg")
    console.fact("basis", _basis_text(basis))
    identity = np.abs(model.mass - np.eye(model.r)).max() < 1e-8
    console.fact("reduced mass matrix", "identity" if identity else "not the identity")


def _basis_text(basis: Mapping[str, Any]) -> str:
    text = str(basis["method"])
    f = basis.get("frequencies_hz")
    if isinstance(f, tuple) and f and all(isinstance(x, float) for x in f):
        text += f", {count_text(len(f), 'mode')} from {f[0]:.4g} to {f[-1]:.4g} Hz"
    return text
