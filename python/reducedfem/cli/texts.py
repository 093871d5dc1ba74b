"""Texts of commands about meshes, materials and points."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.console import count_text
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import Isotropic, LinearElastic, Material, StVK
from reducedfem.reduction.cubature import CubatureReport
from reducedfem.reduction.reduced_damping import ReducedStrainRateDamping

__all__ = [
    "AXES",
    "box_text",
    "cubature_text",
    "materials_text",
    "mesh_text",
    "point_text",
    "quadrature_text",
    "viscosity_text",
]

AXES = "xyz"


def mesh_text(mesh: Mesh) -> str:
    """Return ``1,234 hexahedra, 2,000 nodes``."""
    one, many = {
        4: ("tetrahedron", "tetrahedra"),
        8: ("hexahedron", "hexahedra"),
        10: ("ten-node tetrahedron", "ten-node tetrahedra"),
        20: ("20-node hexahedron", "20-node hexahedra"),
    }[mesh.nodes_per_element]
    return f"{count_text(mesh.n_elements, one, many)}, {count_text(mesh.n_nodes, 'node')}"


def quadrature_text(mesh: Mesh, order: int) -> str:
    """Return a text with the number of quadrature points per element."""
    if mesh.nodes_per_element in (8, 20):
        return f"{order} x {order} x {order} quadrature points"
    points = 1 if mesh.nodes_per_element == 4 else {2: 4, 3: 14}[order]
    return count_text(points, "quadrature point")


def materials_text(materials: Collection[Material]) -> str:
    """Return law and constants if all materials are equal, otherwise their number."""
    different = set(materials)
    if len(different) > 1:
        return f"{len(different)} materials"
    one = next(iter(different))
    if isinstance(one, Isotropic):
        law = "" if isinstance(one, StVK) else f"{one.law}, "
        return f"{law}E = {one.young:.4g} Pa, nu = {one.poisson:g}, {one.density:g} kg/m^3"
    if isinstance(one, LinearElastic):
        return f"a matrix of 21 constants, {one.density:g} kg/m^3"
    moduli = [f"{k} = {value:.4g} Pa" for k, value in one.constants.items() if k != "density"]
    return f"{', '.join(moduli)}, {one.density:g} kg/m^3"


def cubature_text(rule: CubatureReport) -> str:
    """Return the number of points and the errors."""
    return (
        f"{count_text(len(rule.weights), 'point')}, error of forces {100 * rule.error:.2g} % (at "
        f"most {100 * rule.largest_error:.2g} %) up to strain {rule.strain_text}, of frequencies "
        f"{100 * rule.frequency_error:.2g} %, {rule.exercised} directions exercised"
    )


def viscosity_text(damping: ReducedStrainRateDamping, region: int | None = None) -> str:
    """Return phi and psi of a region; for None those of all regions, or the number of different."""
    regions = damping.phi if region is None else [region]
    different = {(damping.phi[one], damping.psi[one]) for one in regions}
    if len(different) > 1:
        return f"{len(different)} different pairs of viscosities"
    phi, psi = different.pop()
    return f"phi = {phi:.4g} Pa s, psi = {psi:.4g} Pa s"


def box_text(bounds: NDArray[np.float64]) -> str:
    """Return two opposite corners of a box, ``(0, 0, 0) to (1, 2, 3) m``."""
    return f"{point_text(bounds[0])} to {point_text(bounds[1])} m"


def point_text(point: NDArray[np.float64]) -> str:
    """Return ``(0.1, 0.2, 0.3)``."""
    return "(" + ", ".join(f"{x:.4g}" for x in point) + ")"
