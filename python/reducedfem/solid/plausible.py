"""Warnings about solids with improbable units, supports or meshes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.base.quiet import warn
from reducedfem.base.static_report import StaticReport
from reducedfem.errors import GeometryWarning, PlausibilityWarning
from reducedfem.geometry.built import ON_SURFACE, cell_size, cells_along, fit, in_body
from reducedfem.geometry.elements import EDGES, some_of
from reducedfem.geometry.inside import KEPT, MANY_TRIANGLES, VOLUME_OFF, finer, volume_text
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import Isotropic, Material

__all__ = [
    "FAR",
    "RETRAIN",
    "STUDY",
    "softening",
    "warn_of_equilibrium",
    "warn_of_far",
    "warn_of_fit",
    "warn_of_gravity",
    "warn_of_instability",
    "warn_of_inversion",
    "warn_of_long_steps",
    "warn_of_locking",
    "warn_of_loose_supports",
    "warn_of_motion",
    "warn_of_reach",
    "warn_of_rounding",
    "warn_of_strain",
    "warn_of_supports",
    "warn_of_units",
    "young_modulus",
]

_LONG = 30.0  # m; most parts in millimetres have larger values
_HAND = 10.0  # m; beyond the reach of hands and devices and the size of held objects
_SOFT = 100.0  # Pa; below the softest tissues
_DENSE, _METAL = 2500.0, 1e6  # kg/m^3 and Pa; solids as dense as stone are stiffer
_LIGHT = 10.0  # kg/m^3; below the density of foams
_BEYOND = 1.2  # strain over that of the poses of a cubature
# advice where a cubature is strained beyond its poses; the shell replaces it by its own
RETRAIN = (
    "a larger Cubature(strain=...), or with poses= of such motions, or compare with a "
    "ProjectedSolid"
)
STUDY = 100  # nodes; smaller meshes are element studies in arbitrary units
_MOST_FIXED = 1.0 / 3.0
# cells across the thinnest part, of first and of second order (docs/accuracy.md)
_LEAST_ACROSS = {1: 2.0, 2: 0.7}
_ROUNDED = 0.05  # cells; 1.95 is shown as 2
# relative residuals at which statics are not as good as they seem; larger ones have no load
_ROUGH, _COARSE = 1e-5, 1e-3
_OVERDAMPED = 1.0  # s; this beta damps all motion above 1 / (pi beta) = 0.3 Hz critically
# m/s^2; gravity in mm/s^2 is 1620 on the moon and 9810 on the earth, shocks and crashes are below
_WEAKEST, _STRONGEST = 1e3, 2e4
# displacement, over the diagonal of the box, that no held body reaches without stretch: turned
# about an end by half a turn, its other end moves by twice its length
FAR = 2.0
# ratio of Poisson above which elements of four and eight nodes lock (docs/accuracy.md)
_LOCKED, _ROUNDING = {4: 0.45, 8: 0.48}, 1e-9
_HELD = 0.2  # fraction of the fixed nodes inside the body above which a support is firm


def young_modulus(material: Material) -> float:
    """Return Young's modulus, for general materials the largest along an axis."""
    if isinstance(material, Isotropic):
        return material.young
    return float(1.0 / np.diag(np.linalg.inv(material.stiffness))[:3].min())


def _odd_material(young: float, density: float) -> str | None:
    """Return a sentence about a modulus or density that suggests units other than Pa and kg/m^3."""
    if young < _SOFT or (density >= _DENSE and young < _METAL):
        return (
            f"Young's modulus is {young:g} Pa at a density of {density:g} kg/m^3: if it was meant "
            "in MPa, multiply it by 1e6; if in GPa, by 1e9"
        )
    if density < _LIGHT:
        return (
            f"the density is {density:g} kg/m^3: if it was meant in g/cm^3, multiply it by 1e3, "
            "and t/mm^3 by 1e12"
        )
    return None


def warn_of_units(
    bounds: NDArray[np.float64], n_nodes: int, materials: Collection[Material], stacklevel: int
) -> None:
    """Warn of lengths that suggest millimetres, moduli that suggest MPa, densities in g/cm^3."""
    if n_nodes < STUDY:
        return
    longest = float(np.ptp(bounds, axis=0).max())
    said = [_odd_material(young_modulus(one), one.density) for one in dict.fromkeys(materials)]
    if longest > _LONG:
        said.insert(
            0,
            f"the solid is {longest:g} m long: if its lengths were meant in millimetres, read them "
            'with read_mesh(path, scale="mm") or read_surface(path, scale="mm") (commands: --scale '
            "mm), or scale them by 0.001",
        )
    for sentence in filter(None, said):
        warn(sentence, PlausibilityWarning, stacklevel=stacklevel)


def warn_of_locking(mesh: Mesh, materials: Mapping[int, Material], stacklevel: int) -> None:
    """Warn of a nearly incompressible material in elements of first order."""
    most = _LOCKED.get(mesh.nodes_per_element)
    if most is None or mesh.n_nodes < STUDY:
        return
    voxels = (mesh.fractions < 1.0).any() or mesh.constraints is not None
    finer = "voxelize(order=2)" if voxels else "mesh.quadratic()"
    for region, material in materials.items():
        lame = getattr(material, "lame", None)  # isotropic ones have them
        poisson = 0.0 if lame is None else 0.5 * lame[0] / (lame[0] + lame[1])
        if poisson <= most + _ROUNDING:
            continue
        warn(
            f"the material of region {region} has a Poisson's ratio of {poisson:g}: elements of "
            f"{mesh.nodes_per_element} nodes lock above {most:g} and may be several times too "
            f"stiff; take {finer}, or a smaller ratio",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )
        return


def _warn_of_hanging(mesh: Mesh, stacklevel: int) -> None:
    """Warn of nodes on edges and faces of elements that do not have them, and of loose faces."""
    if mesh.source is not None:  # meshes of surfaces conform
        return
    nodes = mesh.hanging_nodes
    if len(nodes) == 0:
        _warn_of_touching(mesh, stacklevel + 1)
        return
    remedy = "pass mesh.with_constraints(), in which they follow these elements"
    if mesh.nodes_per_element in EDGES:
        remedy = (
            "elements of second order cannot be constrained: take a conforming mesh, or one of "
            "first order and its with_constraints()"
        )
    warn(
        f"the mesh has hanging nodes: {some_of(nodes)}. They lie on an edge or a face "
        "of an element that does not have them, so that elements come apart there and the "
        f"solid is far too soft; {remedy}",
        GeometryWarning,
        stacklevel=stacklevel,
    )


def _warn_of_touching(mesh: Mesh, stacklevel: int) -> None:
    """Warn of faces that lie on each other without common nodes or constraints."""
    pairs = _core.touching_elements(mesh._core)
    if len(pairs) == 0:
        return
    one, other = pairs[0].tolist()
    part = mesh._components("node")[1]
    inside = int((part[pairs[:, 0]] == part[pairs[:, 1]]).sum())
    crack = (
        f" {inside} of them lie inside one part: if that is a crack, or a notch narrower than "
        "0.1 degrees, ignore them."
        if inside
        else ""
    )
    warn(
        f"{len(pairs)} faces of the mesh lie on others without common nodes, such as those of the "
        f"elements {one} and {other}: the parts on both sides are not joined and move "
        f"independently.{crack} To join them, merge nodes at equal places, take a mesh whose "
        "elements fit, or tie nodes by Mesh(..., constraints=...), see "
        "docs/howto/graded_meshes.md; for contact leave a gap and take BarrierContact(parts=True)",
        GeometryWarning,
        stacklevel=stacklevel,
    )


def warn_of_supports(mesh: Mesh, fixed: NDArray[np.int64], stacklevel: int) -> None:
    """Warn if more than a third of the nodes is fixed, or only those outside of a cut body."""
    part = len(fixed) / mesh.n_nodes
    if mesh.n_nodes >= STUDY and part > _MOST_FIXED:
        warn(
            f"fixed holds {len(fixed)} of {mesh.n_nodes} nodes ({100 * part:.0f} %): was a "
            "smaller region meant?",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )
    warn_of_loose_supports(mesh, fixed, stacklevel + 1)


def warn_of_loose_supports(
    mesh: Mesh, fixed: NDArray[np.int64], stacklevel: int, name: str = "fixed"
) -> None:
    """Warn of supports whose nodes lie outside the surface at which the cells are cut."""
    if mesh.source is None or not (mesh.fractions < 1.0).any():
        return
    is_fixed = np.zeros(mesh.n_nodes, bool)
    is_fixed[fixed] = True
    cells = np.flatnonzero(is_fixed[mesh.elements].any(axis=1))
    if len(cells) == 0:
        return
    part = Mesh(mesh.nodes, mesh.elements[cells], drop_unreferenced=True)
    count, label = part._components("node")
    # a whole cell, or a cell with all nodes fixed, is a firm support
    firm = (mesh.fractions[cells] == 1.0) | is_fixed[mesh.elements[cells]].all(axis=1)
    loose = []
    for support in np.setdiff1d(np.arange(count), label[firm]):
        nodes = np.unique(mesh.elements[cells[label == support]])
        nodes = nodes[is_fixed[nodes]]
        if in_body(mesh, nodes).mean() < _HELD:
            loose.append(nodes)
    if not loose:
        return
    x, y, z = mesh.nodes[loose[0]].mean(axis=0)
    more = f" (supports like it: {len(loose)})" if len(loose) > 1 else ""
    warn(
        f"{name}: nearly all of the {len(loose[0])} nodes around ({x:.3g}, {y:.3g}, {z:.3g}) lie "
        f"outside of the body, in cut cells: this support is far too soft{more}. Take nodes up "
        f"to one cell ({cell_size(mesh):.3g} m) further in as well",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def warn_of_equilibrium(
    report: StaticReport,
    mesh: Mesh,
    materials: Collection[Material],
    adaptive: bool,
    tol: float,
    stacklevel: int,
) -> None:
    """Warn of an equilibrium of a solid that is unstable or in which elements are inside out."""
    warn_of_instability(report.stable, stacklevel + 1)
    warn_of_rounding(report.residual, tol, stacklevel + 1)
    if report.inverted <= 0:
        return
    advice = "start from rest, u0=None," if adaptive else "pass adaptive=True"
    soft = softening(materials)
    law = f", or try StableNeoHookean instead of {soft}" if soft else ""
    warn(
        f"{report.inverted} of {mesh.n_elements} elements are inside out in this equilibrium, "
        f"which no real solid reaches: {advice} to follow the load from rest and stop before it "
        f"inverts elements{law}",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def softening(materials: Collection[Material]) -> str | None:
    """Return the law of a material that keeps elements inside out, or None."""
    # energies quadratic in Green's strain soften under compression
    return next((one.law for one in dict.fromkeys(materials) if one.quadratic), None)


def warn_of_inversion(inverted: int, mesh: Mesh, law: str, stacklevel: int) -> bool:
    """Warn of elements that are inside out; True if there are some, but for element studies."""
    if inverted <= 0 or mesh.n_nodes < STUDY:
        return False
    warn(
        f"{inverted} of {mesh.n_elements} elements are inside out, as no real solid is: {law} "
        "softens under compression and keeps them so. Take StableNeoHookean (with a cubature where "
        "the model is reduced), or smaller loads and velocities",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
    return True


def warn_of_rounding(residual: float, tol: float, stacklevel: int) -> None:
    """Warn of statics whose residual is above the tolerance by more than rounding mostly is."""
    if max(_ROUGH, tol) < residual <= _COARSE:
        warn(
            f"rounding kept the residual of this equilibrium at {residual:.1e} of the load (tol = "
            f"{tol:g}): displacements of soft directions may be off. Take a coarser mesh, fewer "
            "coordinates, or a ProjectedSolid in place of a ReducedSolid",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )


def warn_of_instability(stable: bool | None, stacklevel: int) -> None:
    """Warn of an equilibrium that is no minimum of the potential energy; None: not tested."""
    if stable is False:
        warn(
            "this equilibrium is unstable: its tangent stiffness has a negative eigenvalue, so a "
            "real body leaves it (buckling, snap-through). Add a small imperfection, such as a "
            "side load of a thousandth of the load, or simulate the motion with damping",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )


def warn_of_motion(
    beta: float, gravity: NDArray[np.float64] | None, n_nodes: int, stacklevel: int
) -> None:
    """Warn of stiffness damping that stops all motion, and of gravity in mm/s^2."""
    if n_nodes < STUDY:
        return
    if beta > _OVERDAMPED:
        warn(
            f"damping: beta = {beta:g} s damps all motion above {1.0 / (np.pi * beta):.2g} Hz more "
            "than critically; damping is (alpha [1/s] of the mass, beta [s] of the stiffness)",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )
    warn_of_gravity(gravity, n_nodes, stacklevel + 1)


def warn_of_gravity(
    gravity: NDArray[np.float64] | None, n_nodes: int | None, stacklevel: int
) -> None:
    """Warn of gravity in mm/s^2, but for element studies; n_nodes: None in worlds."""
    if n_nodes is not None and n_nodes < STUDY:
        return
    strength = 0.0 if gravity is None else float(np.linalg.norm(gravity))
    if _WEAKEST < strength < _STRONGEST:
        warn(
            f"gravity is {strength:g} m/s^2: if it was meant in mm/s^2, multiply it by 0.001",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )


def warn_of_long_steps(
    shortened: int, steps: int, dt: float, why: str | None, *, once: bool, stacklevel: int
) -> None:
    """Warn of many steps with shortened Newton increments.

    why: another reason than long steps; once: of one iteration a step.
    """
    iterate = ", newton_max=10" if once else ""
    reason = (
        f"dt = {dt:g} s is too long for this motion, which may be wrong and gain energy. Take a "
        f"smaller dt{iterate}, more damping or a smaller force"
    )
    warn(
        f"in {shortened} of {steps} steps a Newton increment was shortened, because the energy "
        f"rose along it: {why or reason}; see ImplicitReport.shortened_steps",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def warn_of_unbalanced_contact(
    unconverged: int, steps: int, newton_max: int, residual: float, stacklevel: int
) -> None:
    """Warn of steps in contact by a barrier that did not reach the balance of forces."""
    warn(
        f"in {unconverged} of {steps} steps with a contact {newton_max} iterations did not reach "
        f"the balance of forces (residual up to {residual:.1e}), so forces and speeds may be "
        "wrong, though nothing penetrates. Raise newton_max, take a smaller dt or, at obstacles on "
        "a grid, a larger distance",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )


def warn_of_far(
    displacement: NDArray[np.float64], mesh: Mesh, stacklevel: int, *, least: int = STUDY
) -> bool:
    """Warn of displacements (n, 3) that are too large for a basis; True if they are.

    least: number of nodes below which a mesh is an element study.
    """
    if mesh.n_nodes < least:
        return False
    farthest = float(np.linalg.norm(displacement, axis=1).max())
    diagonal = float(np.linalg.norm(np.ptp(mesh.bounds, axis=0)))
    if farthest <= FAR * diagonal:
        return False
    warn(
        f"the model is deformed by {farthest:.3g} m, but the body is {diagonal:.3g} m large: no "
        "basis describes that, so the result is wrong. Is so large a load meant (force in N, "
        "gravity in m/s^2, Young's modulus in Pa)?",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
    return True


def warn_of_strain(strain: float, trained: float, stacklevel: int) -> bool:
    """Warn of a Green strain beyond that of the poses of a cubature; True if it is."""
    if not strain > _BEYOND * trained:
        return False
    warn(
        f"the model has the Green strain {strain:.2g}, but its cubature was trained up to "
        f"{trained:.2g}: forces may be far off. Reduce with {RETRAIN}",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
    return True


def warn_of_reach(lengths: Mapping[str, float], stacklevel: int) -> None:
    """Warn of paths and bodies whose lengths [m] are too large for a hand."""
    for name, length in lengths.items():
        if np.isfinite(length) and length > _HAND:
            warn(
                f"{name} is {length:.3g} m long for the hand: if lengths were meant in "
                "millimetres, scale them by 0.001; if not, a Workspace with a scale below 1 "
                "makes the world smaller for it",
                PlausibilityWarning,
                stacklevel=stacklevel,
            )


def warn_of_fit(mesh: Mesh, stacklevel: int) -> None:
    """Warn of hanging nodes, of a volume that differs from the enclosed one, and of large cells."""
    _warn_of_hanging(mesh, stacklevel + 1)
    if mesh.source is None or mesh.source.n_triangles > MANY_TRIANGLES:
        return
    found = fit(mesh)
    assert found is not None
    enclosed, across = found
    if across is None:  # `voxelize` warned of the sheet
        return
    if abs(mesh.volume / enclosed - 1.0) > VOLUME_OFF:
        advice = "raise the resolution"
        if not mesh.source.is_closed:
            advice = "close the holes of the surface, or raise the resolution"
        if across < KEPT:
            advice = "its thin parts are left out or taken as thick as a cell"
        elif mesh.nodes_per_element in (4, 10):
            advice = (
                "unless a skin is meant, leave out fill=False and cut=False of graded_tets, or "
                "raise the resolution (of tetrahedralize: a smaller size)"
            )
        elif (mesh.fractions == 1.0).all():
            advice = (
                "unless a skin is meant, voxelize the surface with the defaults fill=True and "
                "cut=True, or raise the resolution; where nodes must lie on the surface, "
                f"{ON_SURFACE}"
            )
        warn(
            f"{volume_text(mesh.volume, enclosed)}: {advice}",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )
        if across < KEPT:
            return
    order = 2 if mesh.nodes_per_element in (10, 20) else 1
    least = _LEAST_ACROSS[order]
    if across < least - _ROUNDED:
        size = np.ptp(mesh.source.bounds, axis=0)
        along = cells_along(mesh, size)[size.argmax()]
        warn(
            f"the thinnest parts are {across:.2g} cells across; with fewer than {least:g} cells of "
            f"order {order} they may bend several per cent too stiffly. "
            f"{finer(across, along, least, f'give {least:g}')}",
            PlausibilityWarning,
            stacklevel=stacklevel,
        )
