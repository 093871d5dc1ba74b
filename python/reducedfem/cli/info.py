"""``reducedfem info``: tell what a file is, or what the package runs on."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reducedfem._console import Console, bytes_text, count_text, size_text
from reducedfem.cli.options import Commands, UsageError
from reducedfem.cli.paths import is_surface, open_surface
from reducedfem.cli.texts import (
    materials_text,
    mesh_text,
    point_text,
    quadrature_text,
    viscosity_text,
)
from reducedfem.errors import MeshError
from reducedfem.files import load
from reducedfem.material import from_plain
from reducedfem.mesh import read_mesh
from reducedfem.system import system_report

__all__ = ["add_to"]


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "info",
        help="tell what a file is, or what the package runs on",
        description="Tell what a model, mesh or surface is, or what the package runs on.",
        epilog="examples:\n"
        "  reducedfem info spoon.safetensors\n"
        "  reducedfem info bunny.ply\n"
        "  reducedfem info --system",
    )
    parser.add_argument("file", metavar="FILE", nargs="*", help="model, mesh or surface")
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
    for name in args.file:
        _info_file(name, console)
    return 0


def _info_file(name: str, console: Console) -> None:
    path = Path(name)
    if is_surface(name):
        _info_surface(name, console)
        return
    if path.suffix.lower() == ".safetensors" or _looks_like_a_model(path):
        _info_model(path, console)
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


def _looks_like_a_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(9)[8:] == b"{"
    except OSError:
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


def _info_model(path: Path, console: Console) -> None:
    model = load(path)
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
    console.fact("file", bytes_text(path.stat().st_size))


def _basis_text(basis: Mapping[str, Any]) -> str:
    text = str(basis["method"])
    f = basis.get("frequencies_hz")
    if isinstance(f, tuple) and f and all(isinstance(x, float) for x in f):
        text += f", {count_text(len(f), 'mode')} from {f[0]:.4g} to {f[-1]:.4g} Hz"
    return text
