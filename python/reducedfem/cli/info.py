"""``reducedfem info``: describe a file, or the system."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reducedfem._load import load
from reducedfem.base.console import Console, bytes_text, count_text, size_text
from reducedfem.base.system import system_report
from reducedfem.cli.options import Commands, UsageError, fail
from reducedfem.cli.paths import is_surface, open_surface
from reducedfem.cli.texts import (
    materials_text,
    mesh_text,
    point_text,
    quadrature_text,
    viscosity_text,
)
from reducedfem.contact.field import DistanceField
from reducedfem.contact.pointshell import Pointshell
from reducedfem.errors import FileFormatError, MeshError, ReducedFEMError
from reducedfem.geometry.mesh_files import read_mesh
from reducedfem.haptics.records import HapticRecords
from reducedfem.io.reading import regular_file
from reducedfem.io.tensors import saved_place
from reducedfem.material.laws import from_plain
from reducedfem.reduction.reduced import ReducedSolid

__all__ = ["add_to"]

_LEVELS_SHOWN = 8
_FAILURES = ("broken", "device_failed", "diverged")


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "info",
        help="describe a file, or the system the package runs on",
        description="Describe a file (a reduced model, distance field, pointshell, mesh,\n"
        "surface or the records of a haptic session), or what the package runs on.",
        epilog="examples:\n"
        "  reducedfem info spoon.safetensors\n"
        "  reducedfem info bunny.ply bunny_field.safetensors bunny_shell.safetensors\n"
        "  reducedfem info cheat.npy\n"
        "  reducedfem info --system",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="*",
        help="reduced model, distance field, pointshell, mesh, surface or records of a haptic "
        "session, of any number",
    )
    parser.add_argument(
        "--system",
        action="store_true",
        help="versions, processor, kernel variants, BLAS and whether its kernels fit",
    )
    parser.set_defaults(run=_run, parser=parser, threads=None)


def _run(args: argparse.Namespace) -> int:
    console = Console()
    if args.system:
        console.say(system_report())
    elif not args.file:
        raise UsageError("name a file, or ask for --system")
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
    mesh = read_mesh(name)
    console.say(f"{name}: volume mesh")
    console.fact("elements", mesh_text(mesh))
    console.fact("size", size_text(mesh.bounds))
    console.fact("from", point_text(mesh.bounds[0]) + " to " + point_text(mesh.bounds[1]))
    console.fact("volume", f"{mesh.volume:.6g} m^3")
    console.fact("parts", f"{mesh.n_components('face')} (elements that share faces)")
    names = mesh.region_names
    for region in np.unique(mesh.regions):
        count = int((mesh.regions == region).sum())
        text = count_text(count, "element")
        if region in names:
            text += f", {names[region]!r}"
        if region in mesh.materials:
            text += ", " + materials_text([mesh.materials[region]])
        console.fact(f"region {region}", text)


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
        f"{surface.n_triangles:,}, of which {surface.n_degenerate:,} without area; "
        f"{count_text(surface.n_vertices, 'vertex', 'vertices')}",
    )
    console.fact("size", size_text(surface.bounds))
    console.fact("from", point_text(surface.bounds[0]) + " to " + point_text(surface.bounds[1]))
    console.fact("area", f"{surface.area:.6g} m^2")
    try:
        console.fact("volume", f"{surface.volume:.6g} m^3")
    except MeshError:
        console.fact("volume", "none: the surface is not closed")
    console.fact("manifold", "yes" if surface.is_manifold else "no")
    met = len(surface.self_intersections())
    console.fact("meets itself", f"in {count_text(met, 'pair')} of triangles" if met else "no")


def _info_saved(path: Path, console: Console) -> None:
    saved = load(path)
    if isinstance(saved, DistanceField):
        _info_field(saved, path, console)
    elif isinstance(saved, Pointshell):
        _info_shell(saved, path, console)
    else:
        _info_model(saved, path, console)
    console.fact("file", bytes_text(path.stat().st_size))


def _info_field(field: DistanceField, path: Path, console: Console) -> None:
    values, made = field.values, field.provenance
    console.say(f"{path}: distance field")
    console.fact("samples", f"{_product(values.shape)} ({bytes_text(values.nbytes)})")
    console.fact("size", size_text(field.bounds))
    console.fact("from", point_text(field.bounds[0]) + " to " + point_text(field.bounds[1]))
    console.fact("spacing", f"{_product([f'{x:.4g}' for x in field.spacing])} m")
    console.fact("distances", f"{values.min():.4g} to {values.max():.4g} m")
    inside = int((values < 0).sum())
    console.fact("inside", f"{count_text(inside, 'sample')}, {100 * inside / values.size:.3g} %")
    text = str(made["method"])
    if isinstance(made.get("triangles"), int):
        text += f" of {count_text(made['triangles'], 'triangle')}"
    if isinstance(made.get("mode"), str):
        text += f", {made['mode']}"
    console.fact("made", text)
    if isinstance(made.get("closed"), bool):
        notes = [
            "closed"
            if made["closed"]
            else "open: the inside is within the offset"
            if made["offset_m"] > 0.0
            else "open: inside where its winding number is above 1/2"
        ]
        if made.get("turned") is True:
            notes.append("faced inwards")
        if made.get("crossing") is True:
            notes.append("crosses itself")
        console.fact("surface", ", ".join(notes))
    if isinstance(made.get("offset_m"), int | float):
        console.fact("offset", f"{made['offset_m']:.4g} m")


def _info_shell(shell: Pointshell, path: Path, console: Console) -> None:
    bounds = np.array([shell.points.min(axis=0), shell.points.max(axis=0)])
    console.say(f"{path}: pointshell")
    console.fact("points", f"{shell.n_points:,}")
    shown = ", ".join(f"{n:,}" for n in shell.level_counts[:_LEVELS_SHOWN].tolist())
    more = ", ..." if shell.n_levels > _LEVELS_SHOWN else ""
    console.fact("levels", f"{shell.n_levels}, of {shown}{more}")
    console.fact("size", size_text(bounds))
    console.fact("from", point_text(bounds[0]) + " to " + point_text(bounds[1]))
    areas = shell.areas
    console.fact("areas", "none" if areas is None else f"{areas.sum():.6g} m^2 in all")


def _info_records(path: Path, console: Console) -> None:
    records = HapticRecords.load(path)
    console.say(f"{path}: records of a haptic session")
    console.fact("cycles", f"{len(records):,}")
    if len(records):
        time, touching = records["time_s"], records["touching"]
        console.fact("time", f"{time[0]:.6g} to {time[-1]:.6g} s")
        console.fact(
            "contact",
            f"{(touching > 0).mean():.0%} of the cycles, up to "
            f"{count_text(int(touching.max()), 'point')}, {1e3 * records['depth_m'].max():.3g} mm "
            "deep",
        )
        most = np.linalg.norm(records["force"], axis=1).max()
        console.fact("force on the hand", f"up to {most:.4g} N")
        computed = records["compute_us"]
        console.fact("computing", f"p50 {np.median(computed):.1f}, max {computed.max():.1f} us")
        failed = [name for name in _FAILURES if records.flagged(name).any()]
        console.fact("failed", ", ".join(failed) if failed else "no")
    console.fact("file", bytes_text(path.stat().st_size))


def _product(numbers: Iterable[object]) -> str:
    return " x ".join(map(str, numbers))


def _info_model(model: ReducedSolid, path: Path, console: Console) -> None:
    mesh = model.mesh
    console.say(f"{path}: reduced model")
    console.fact("coordinates", str(model.r))
    console.fact(
        "coefficients",
        f"{len(model.coefficients):,} ({bytes_text(model.coefficients.nbytes)})",
    )
    console.fact("mesh", f"{mesh_text(mesh)}, {size_text(mesh.bounds)}")
    console.fact("from", point_text(mesh.bounds[0]) + " to " + point_text(mesh.bounds[1]))
    console.fact("fixed", count_text(len(model.fixed), "node"))
    solid, basis = model.provenance["solid"], model.provenance["basis"]
    console.fact("law", f"{solid['law']}, {quadrature_text(mesh, solid['quadrature'])}")
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
    console.fact("reduced mass", "identity" if identity else "not the identity")


def _basis_text(basis: Mapping[str, Any]) -> str:
    text = str(basis["method"])
    f = basis.get("frequencies_hz")
    if isinstance(f, tuple) and f and all(isinstance(x, float) for x in f):
        text += f", {count_text(len(f), 'mode')} from {f[0]:.4g} to {f[-1]:.4g} Hz"
    return text
