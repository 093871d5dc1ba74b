"""``reducedfem reduce``: create a reduced model of a surface or a volume mesh."""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np

from reducedfem import samples
from reducedfem.base.console import Console, bytes_text, count_text, size_text, time_text
from reducedfem.cli.fixed_nodes import add_fix_options, fixed_nodes
from reducedfem.cli.options import (
    Commands,
    UsageError,
    add_common,
    checked,
    count,
    counted,
    not_negative,
    number,
    positive,
    scale,
)
from reducedfem.cli.paths import check_writable, is_sample, is_surface, open_surface, refuse_same
from reducedfem.cli.texts import cubature_text, materials_text, mesh_text, viscosity_text
from reducedfem.errors import InputError, MeshError, ReducedFEMError
from reducedfem.geometry.elements import EDGES
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.mesh_files import read_fixed, read_mesh
from reducedfem.geometry.surface import Surface
from reducedfem.geometry.voxels import voxelize
from reducedfem.io.atomic import replacing, with_suffix
from reducedfem.material.laws import Material
from reducedfem.reduction.basis import Basis, modal_derivative_basis
from reducedfem.reduction.cubature import (
    FEWEST_POSES,
    MOST_NUMBERS,
    MOST_POINTS,
    MOST_SEED,
    Cubature,
)
from reducedfem.reduction.damping import StrainRateDamping
from reducedfem.reduction.lacking import lacking_and_work
from reducedfem.reduction.model_contents import MAX_R
from reducedfem.reduction.reduce import reduce
from reducedfem.reduction.reduced import to_bytes
from reducedfem.reduction.reduced_damping import MAX_DAMPING_R
from reducedfem.solid.solid import Solid

__all__ = ["add_to"]

_ELASTIC = {"young": 1e6, "poisson": 0.4}  # constants of most laws, and their defaults
_OWN = ("c1", "c2", "bulk")  # those of the others
_LEAST_SAG = 90.0  # share of the sag under weight below which a larger basis is advised, per cent


def _constants(law: type[Material]) -> tuple[str, ...]:
    return tuple(one.name for one in dataclasses.fields(law) if one.name != "density")  # type: ignore[arg-type]


_LAWS: dict[str, Any] = {
    name: one for name, one in Material.kinds.items() if _constants(one) in (tuple(_ELASTIC), _OWN)
}
_OTHERS = " or ".join(name for name, one in _LAWS.items() if _constants(one) == _OWN)
_USUAL_MODES, _USUAL_RESOLUTION = 20, 64
_MANY_NODES = 40_000  # larger meshes take a minute or more for modes and derivatives
_FEWER_NODES = 20_000
_FEWER_CELLS = 4_500  # 20-node cells with about that number of nodes
_MANY_CELLS = 100_000  # whose modes and derivatives take hours and tens of gigabytes
_OF_SURFACES = ("resolution", "fill", "expand", "cut", "order")
_MAX_RESOLUTION = 2048  # RF_VOXEL_MAX_RESOLUTION in csrc/mesh/voxelize.h

_EXPAND = checked(lambda x: x >= 1, "1 or more")
_POISSON = checked(lambda x: -1 < x < 0.5, "above -1 and below 0.5")


def _law(text: str) -> str:
    """Return the name of a law regardless of case and hyphens; other names as they are."""
    key = text.lower().replace("-", "").replace("_", "")
    return {name.lower(): name for name in _LAWS}.get(key, text)


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "reduce",
        help="make a reduced model of a surface or a volume mesh",
        description="Make a reduced model: voxelize (surfaces), find modes and their "
        "derivatives, reduce, save.",
        epilog="examples:\n"
        "  reducedfem reduce spoon -o spoon.safetensors --fix 'x<0.01' "
        "--young 2e8 --density 930\n"
        "  reducedfem reduce bunny.ply -o bunny.safetensors --fix-fraction z- 0.05 "
        "--resolution 40 --keep-largest\n"
        "  reducedfem reduce spoon -o soft.safetensors --fix 'x<0.01' "
        "--law StableNeoHookean --cubature 300\n"
        "  reducedfem reduce bridge.veg -o bridge.safetensors --fix-file bridge.bou -r 15",
    )
    parser.add_argument(
        "input",
        metavar="SURFACE_OR_MESH",
        help="surface (.obj .ply .stl .off), volume mesh (.veg, or what meshio reads), or the "
        "name of a sample: " + ", ".join(samples.names()),
    )
    parser.add_argument(
        "-o", "--output", metavar="MODEL", required=True, help="the model file to write"
    )
    add_fix_options(parser)
    geometry = parser.add_argument_group("geometry")
    geometry.add_argument(
        "--scale",
        type=scale,
        default=1.0,
        metavar="S",
        help="metres per unit of the file, or the unit: 0.001 or mm (default: m)",
    )
    geometry.add_argument(
        "--resolution",
        type=counted(_MAX_RESOLUTION),
        metavar="N",
        help=f"voxels along each side of the grid around a surface (default: {_USUAL_RESOLUTION})",
    )
    geometry.add_argument(
        "--fill",
        action=argparse.BooleanOptionalAction,
        help="--fill: mesh the inside of the surface (default); --no-fill: mesh only the voxels "
        "that the surface touches",
    )
    geometry.add_argument(
        "--expand",
        type=_EXPAND,
        metavar="S",
        help="side of the voxel grid, as a multiple of the longest side of the surface (default: "
        "1; with --no-cut or --no-fill 1.2)",
    )
    geometry.add_argument(
        "--cut",
        action=argparse.BooleanOptionalAction,
        help="--cut: cut the cubes at the surface (default with --fill); --no-cut: keep whole "
        "cubes",
    )
    geometry.add_argument(
        "--order",
        type=int,
        choices=(1, 2),
        help="order of the hexahedra: 1 for 8 nodes, 2 for 20 nodes (default: 2 with --fill and up "
        "to 15,000 cells, otherwise 1)",
    )
    geometry.add_argument(
        "--keep-largest",
        action="store_true",
        help="keep only the largest part of a mesh whose parts share no faces",
    )
    geometry.add_argument(
        "--quadratic",
        action="store_true",
        help="add a node on every edge of four-node tetrahedra or eight-node hexahedra, which are "
        "otherwise too stiff in bending",
    )
    material = parser.add_argument_group(
        "material of all regions (default: that of the file, if it has one)"
    )
    material.add_argument(
        "--young", type=positive, metavar="E", help="Young's modulus [Pa] (default: 1e6)"
    )
    material.add_argument(
        "--poisson", type=_POISSON, metavar="NU", help="Poisson's ratio (default: 0.4)"
    )
    material.add_argument(
        "--density", type=positive, metavar="RHO", help="density [kg/m^3] (default: 1000)"
    )
    material.add_argument(
        "--law",
        type=_law,
        choices=tuple(_LAWS),
        metavar="LAW",
        help=f"{', '.join(_LAWS)} in any case (default: StVK); other laws than StVK need "
        f"--cubature, and {_OTHERS} --c1, --c2 and --bulk for --young and --poisson",
    )
    for name, of in (("c1", "invariant I"), ("c2", "invariant II")):
        material.add_argument(
            f"--{name}",
            type=not_negative,
            metavar=name.upper(),
            help=f"constant of {_OTHERS} [Pa], of the {of}; not both are 0",
        )
    material.add_argument(
        "--bulk",
        type=positive,
        metavar="K",
        help=f"bulk modulus of {_OTHERS} [Pa], at least 4/3 C1 + 16/3 C2",
    )
    reduction = parser.add_argument_group("reduction")
    reduction.add_argument(
        "-k",
        "--modes",
        type=count,
        metavar="K",
        help=f"number of linear modes (default: {_USUAL_MODES}, or all if there are fewer)",
    )
    reduction.add_argument(
        "-r",
        "--coordinates",
        type=counted(MAX_R),
        metavar="R",
        help="number of reduced coordinates, at most K + K (K + 1) / 2 (default: 30, or all if "
        "there are fewer)",
    )
    reduction.add_argument(
        "--quadrature",
        type=int,
        choices=(2, 3, 4),
        help="Gauss points per axis of a hexahedron (default: 2 for 8 nodes, 3 for 20 nodes); for "
        "ten-node tetrahedra 2 selects 4 points (default) and 3 selects 14",
    )
    trained = parser.add_argument_group(
        "energy by a cubature, for any law (default: exact for StVK)"
    )
    trained.add_argument(
        "--cubature",
        type=counted(MOST_POINTS),
        metavar="POINTS",
        help="sum the energy over so many points of the mesh; ten times the number of reduced "
        "coordinates is usual",
    )
    trained.add_argument(
        "--training-poses",
        type=counted(MOST_NUMBERS, FEWEST_POSES),
        metavar="N",
        help=f"poses drawn to choose the points, every fifth to measure the error (default: "
        f"{Cubature.n_poses})",
    )
    trained.add_argument(
        "--training-strain",
        type=positive,
        metavar="STRAIN",
        help="largest strain of the poses, up to which the model is accurate (default: "
        f"{Cubature.strain})",
    )
    trained.add_argument(
        "--seed",
        type=counted(MOST_SEED, 0),
        metavar="SEED",
        help=f"start of the random numbers (default: {Cubature.seed})",
    )
    reduction.add_argument(
        "--check",
        action="store_true",
        help="print the share of the sag under weight that the basis makes, along the axes; this "
        "takes about half as long again as the modes",
    )
    viscous = parser.add_argument_group("strain-rate damping (default: none)")
    viscous.add_argument(
        "--strain-rate",
        type=positive,
        metavar="BETA",
        help="viscosities of BETA [s] times the elastic constants: they damp small motions as BETA "
        "of simulate --damping does, and never add energy to large motions",
    )
    viscous.add_argument(
        "--viscosity",
        type=number,
        nargs=2,
        metavar=("PHI", "PSI"),
        help="viscosities [Pa s] of changes of volume and of shape, in all regions",
    )
    add_common(parser)
    parser.set_defaults(run=_run, parser=parser)


def _run(args: argparse.Namespace) -> int:
    console = Console(args.quiet)
    output = Path(args.output)
    read = [] if is_sample(args.input) else [args.input]
    refuse_same([*read, *(args.fix_file or [])], {"--output": args.output})
    with_suffix(output, ".safetensors", "a model")  # checks the suffix only
    check_writable(output, "--output")
    held = bool(args.fix or args.fix_fraction or args.fix_file)
    if args.free and held:
        raise UsageError("--free means no fixed nodes: leave it out, or all --fix options")
    if not (args.free or held):
        raise UsageError(
            "choose the fixed nodes, for example by --fix-fraction z- 0.05 (lowest 5 % of the "
            "height) or --fix 'x<0.01' (in metres), or give --free for a free body"
        )
    _check_sizes(args)
    _check_constants(args)
    _check_damping(args)
    cubature = _cubature(args)
    began = time.perf_counter()
    listed = {file: read_fixed(file) for file in args.fix_file or ()}
    mesh = _mesh(args, console)
    parts = mesh.n_components("face")
    if parts > 1:
        if args.keep_largest:
            mesh = mesh.largest_component("face")
            console.fact("largest part", f"{mesh_text(mesh)}; {parts - 1} smaller left out")
        else:
            console.fact(
                "parts",
                f"{parts}, not connected through faces of elements; --keep-largest keeps only the "
                "largest",
            )
    fixed, loose = (None, 0) if args.free else fixed_nodes(args, mesh, listed)
    if loose:
        console.fact(
            "not fixed",
            f"{loose:,} hanging nodes in the regions of --fix, with masters outside of them",
        )
    solid = Solid(mesh, _material(args, mesh), fixed, args.quadrature)
    console.fact("material", materials_text(solid.materials.values()))
    for label, text in solid.summary.rows()[1:]:
        console.fact(label, text)
    modes = _modes(args, solid)
    with console.stage("modes and derivatives") as stage:
        try:
            basis = modal_derivative_basis(solid, modes, args.coordinates, progress=stage.show)
        except MeshError as error:
            hint = "; --keep-largest keeps only the largest part" if parts > 1 else ""
            raise MeshError(f"{error}{hint}") from error
        except InputError as error:  # r exceeds the rank, which is known only now
            raise InputError(f"-r/--coordinates: {error}") from error
        f = basis.provenance["frequencies_hz"]
        stage.result = f"{count_text(len(f), 'mode')} from {f[0]:.3g} to {f[-1]:.3g} Hz"
    if args.check:
        _check_basis(solid, basis, console)
    with console.stage("reduce") as stage:
        model = reduce(solid, basis, cubature=cubature, progress=stage.show)
        rule = model.cubature
        stage.result = f"{count_text(model.r, 'reduced coordinate')}, " + (
            count_text(len(model.coefficients), "coefficient")
            if rule is None
            else count_text(len(rule.weights), "point")
        )
    if rule is not None:
        console.fact("cubature", cubature_text(rule))
    damping = _damping(args, solid)
    if damping is not None:
        with console.stage("damping") as stage:
            rate = damping.reduce(model, progress=stage.show)
            stage.result = viscosity_text(rate)
        model = model.with_strain_rate(rate)
    with replacing(output) as temporary:
        temporary.write_bytes(to_bytes(model))
    console.fact("total time", time_text(time.perf_counter() - began))
    console.fact("model file", f"{output}, {bytes_text(output.stat().st_size)}")
    return 0


def _check_basis(solid: Solid, basis: Basis, console: Console) -> None:
    """Print the share of the sag under weight that a basis makes, along the axes."""
    if len(solid.fixed) == 0:
        console.fact("sag under weight", "none: weight does not deform a free solid")
        return
    loads = np.array([solid.gravity(9.81 * axis) for axis in np.eye(3)])
    with console.stage("sag under weight") as stage:
        try:
            lacking, work = lacking_and_work(solid, basis, loads, stage.show)
        except (ReducedFEMError, MemoryError) as error:  # advice, without which the model is right
            stage.result = f"not known: {error}"
            return
        made = 100.0 * (1.0 - lacking)
        most = int(work.argmax())  # along a bar there is little sag, and little of it in a basis
        shares = ", ".join(f"{share:.0f} %" for share in made)
        stage.result = (
            f"the basis makes {shares} of it along x, y, z; it is largest along " + ("xyz"[most])
        )
        if not made[most] > _LEAST_SAG:
            stage.result += ", where a larger --modes and -r make more of it"


def _check_sizes(args: argparse.Namespace) -> None:
    """Refuse more coordinates than the modes allow, before any work."""
    k = _USUAL_MODES if args.modes is None else args.modes
    most = k + (k * k if args.free else k * (k + 1) // 2)
    if args.coordinates is not None and args.coordinates > most:
        raise UsageError(
            f"-r/--coordinates {args.coordinates} is more than the {most} that "
            f"{count_text(k, 'mode')} and their derivatives give: raise -k/--modes or lower it"
        )


def _check_constants(args: argparse.Namespace) -> None:
    """Refuse constants of another law than the chosen one, before any work."""
    law = args.law or "StVK"
    own = _constants(_LAWS[law]) == _OWN
    for name in _ELASTIC if own else _OWN:
        if getattr(args, name) is not None:
            advice = f"give --{', --'.join(_OWN)}" if own else f"add --law {_OTHERS}"
            raise UsageError(f"--{name} is no constant of {law}: {advice}, or leave it out")
    if own and any(getattr(args, name) is None for name in _OWN):
        raise UsageError(f"--law {law} needs --{', --'.join(_OWN)} [Pa]")


def _check_damping(args: argparse.Namespace) -> None:
    """Refuse invalid damping, before any work."""
    if args.strain_rate is None and args.viscosity is None:
        return
    if args.strain_rate is not None and args.viscosity is not None:
        raise UsageError("--strain-rate and --viscosity both set the damping: give one of them")
    if args.viscosity is not None:
        phi, psi = args.viscosity
        if not (psi >= 0.0 and 3.0 * phi + 2.0 * psi >= 0.0):
            raise UsageError(
                f"--viscosity {phi:g} {psi:g} would add energy: PSI and 3 PHI + 2 PSI must be 0 "
                "or more"
            )
    if args.coordinates is not None and args.coordinates > MAX_DAMPING_R:
        raise UsageError(
            f"-r/--coordinates must be {MAX_DAMPING_R} or less with strain-rate damping, got "
            f"{args.coordinates}"
        )


def _cubature(args: argparse.Namespace) -> Cubature | None:
    """Return the cubature selected by the options, or None; refuse a law that needs one."""
    given = {
        "n_poses": args.training_poses,
        "strain": args.training_strain,
        "seed": args.seed,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if args.cubature is not None:
        return Cubature(args.cubature, **given)
    if args.law not in (None, "StVK"):
        raise UsageError(f"--law {args.law} has no energy polynomial: add --cubature 200, say")
    if given:
        raise UsageError("--training-poses, --training-strain and --seed need --cubature POINTS")
    return None


def _damping(args: argparse.Namespace, solid: Solid) -> StrainRateDamping | None:
    """Return the damping selected by the options, or None."""
    if args.strain_rate is not None:
        return StrainRateDamping.proportional(solid, args.strain_rate)
    return None if args.viscosity is None else StrainRateDamping(solid, *args.viscosity)


def _mesh(args: argparse.Namespace, console: Console) -> Mesh:
    """Return the voxelized surface or the mesh of the input."""
    if is_surface(args.input):
        if args.quadratic:
            raise UsageError(
                "--quadratic is for volume meshes; surfaces are voxelized to hexahedra of 20 nodes "
                "unless --order is 1"
            )
        surface = open_surface(args.input, args.scale)
        console.fact(
            "surface",
            f"{count_text(surface.n_triangles, 'triangle')}, {size_text(surface.bounds)}",
        )
        holes = 0 if surface.is_closed else len(surface.boundary_loops())
        if holes and args.fill is not False:
            console.fact("holes of the surface", f"{holes:,}, each assumed to be closed by a lid")
        if args.resolution is not None:
            _announce_cells(surface, args.resolution, console)
        with console.stage("voxelize") as stage:
            mesh = voxelize(
                surface,
                args.resolution or _USUAL_RESOLUTION,
                args.fill is not False,
                args.expand,
                cut=args.cut,
                order=args.order,
                progress=stage.show,
            )
            stage.result = mesh_text(mesh)
        if args.resolution is None and mesh.n_nodes > _MANY_NODES:
            console.fact("degrees of freedom", _fewer_text(mesh, args.order))
        return mesh
    given = [option for option in _OF_SURFACES if getattr(args, option) is not None]
    if given:
        raise UsageError(
            f"--{given[0]} applies to surfaces, which are voxelized; {args.input!r} is a volume "
            "mesh: leave it out"
        )
    mesh = read_mesh(args.input, args.scale)
    console.fact("mesh", f"{mesh_text(mesh)}, {size_text(mesh.bounds)}")
    return _quadratic(_constrained(mesh, console), args, console)


def _constrained(mesh: Mesh, console: Console) -> Mesh:
    """Return the mesh with constraints for its hanging nodes, for elements of first order."""
    hanging = len(mesh.hanging_nodes)
    if hanging == 0 or mesh.nodes_per_element in EDGES:
        return mesh
    console.fact("hanging nodes", f"{hanging:,}, which follow the elements that do not have them")
    return mesh.with_constraints()


def _announce_cells(surface: Surface, resolution: int, console: Console) -> None:
    """Print the number of cells to expect before they are made, if there are very many."""
    length = float(np.ptp(surface.bounds, axis=0).max())
    surface = surface if surface.is_closed else surface.filled()
    size = length / resolution
    # a convex body at a random place meets cells as many as its volume and, in each direction of
    # the axes, its projected area contain
    corners = surface.vertices[surface.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sides = 0.5 * np.abs(normals).sum() / length**2
    volume = abs(surface.volume) / length**3 if surface.is_closed else 0.0
    sides *= 0.5 if surface.is_closed else 1.0
    cells = (volume * resolution + sides) * resolution**2
    if cells > _MANY_CELLS:
        few = np.roots([volume, sides, 0.0, -_FEWER_CELLS])
        fewer = round(few.real.max())
        console.fact(
            "cells",
            f"about {1000 * round(cells / 1000):,} of {size:.3g} m: this may take hours and tens "
            f"of gigabytes; --resolution {fewer} gives about {_FEWER_CELLS:,}",
        )


def _fewer_text(mesh: Mesh, order: int | None) -> str:
    """Return a text with the number of unknowns and a resolution that gives fewer."""
    few = _FEWER_NODES / mesh.n_nodes
    why = ""
    if order is None and mesh.nodes_per_element == 8:
        few = _FEWER_CELLS / mesh.n_elements
        why = ", in cells of 20 nodes, which bend better than cells of 8"
    resolution = int(_USUAL_RESOLUTION * few ** (1.0 / 3.0))
    return (
        f"{3 * mesh.n_nodes:,}; the reduction may take minutes and gigabytes. "
        f"--resolution {resolution} leaves about {3 * _FEWER_NODES:,}{why}"
    )


def _quadratic(mesh: Mesh, args: argparse.Namespace, console: Console) -> Mesh:
    """Return the mesh, with mid-edge nodes if the options require them."""
    if not args.quadratic:
        return mesh
    if mesh.nodes_per_element not in (4, 8):
        raise InputError(
            "--quadratic needs a mesh without nodes on its edges; "
            f"{args.input!r} has {mesh_text(mesh)}: leave it out"
        )
    mesh = mesh.quadratic()
    console.fact("quadratic", mesh_text(mesh))
    return mesh


def _material(args: argparse.Namespace, mesh: Mesh) -> Material | dict[int, Material]:
    """Return the material of the options, completed by that of the file if all regions have one."""
    law = _LAWS[args.law or "StVK"]
    elastic = () if _constants(law) == _OWN else tuple(_ELASTIC)
    names = (*elastic, "density")
    wanted = (*_OWN, *names)
    given = {name: getattr(args, name) for name in wanted if getattr(args, name) is not None}
    if set(mesh.materials) >= set(mesh.regions.tolist()):
        return {
            region: law(**{name: getattr(one, name) for name in names} | given)
            for region, one in mesh.materials.items()
        }
    usual = {name: _ELASTIC[name] for name in elastic}
    made: Material = law(**{**usual, "density": 1000.0, **given})
    return made


def _modes(args: argparse.Namespace, solid: Solid) -> int:
    """Return the number of modes; refuse more than the solid has."""
    freedoms = 3 * len(solid.free) - (0 if len(solid.fixed) else 6)
    k: int = args.modes or max(1, min(_USUAL_MODES, freedoms - 1))
    for option, wanted, most in (
        ("-k/--modes", k, freedoms - 1),
        ("-r/--coordinates", args.coordinates or 1, freedoms),
    ):
        if freedoms > 0 and wanted > most:
            raise InputError(
                f"{option} {wanted} is more than the {most} that a solid with "
                f"{count_text(len(solid.free), 'free node')} has"
            )
    return k
