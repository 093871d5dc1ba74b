"""Comparison of a mesh with the surface from which it was made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reducedfem.geometry.inside import THIN, enclosed_volume
from reducedfem.geometry.mesh import Mesh
from reducedfem.geometry.surface import Surface

__all__ = [
    "ON_SURFACE",
    "SolidSummary",
    "cell_size",
    "cells_along",
    "first_in_body",
    "fit",
    "in_body",
    "nearly_empty",
    "summarize",
]

# advice where nodes outside of the body do harm
ON_SURFACE = (
    "take a mesh of tetrahedra: tetrahedralize(surface), or graded_tets(surface, resolution, "
    "pieces='largest') with the resolution of these cells, which needs no other package and has "
    "steps"
)
_GAP = 0.05  # distance from the body in cells up to which nodes count as inside
_AT_ONCE = 256  # nodes processed at once
# body in the cells around a node, in cells (a node of a flat face has 4), below which these are
# nearly empty
_WEAK = 0.5


def cell_size(mesh: Mesh) -> float:
    """Return the edge [m] of a cube with the mean volume of the elements, cut cells as whole.

    Of graded meshes these are the smallest cells, which are those at the surface.
    """
    return float(np.cbrt((mesh.element_volumes / mesh.fractions)[mesh.levels == 0].mean()))


def cells_along(mesh: Mesh, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors [m] (any, 3) in units of cell edges, for boxes separately along each axis."""
    edges = np.full(3, cell_size(mesh))
    if mesh.nodes_per_element in (8, 20):
        edges[:] = np.ptp(mesh.nodes[mesh.elements[mesh.levels.argmin()]], axis=0)
    inverse: NDArray[np.float64] = 1.0 / edges
    return vectors * inverse


def in_body(mesh: Mesh, nodes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return the mask (k,) of nodes inside the body, for cut cells inside their surface."""
    if mesh.source is None:
        return np.ones(len(nodes), bool)
    place = np.full(mesh.n_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    around = (place[mesh.elements] >= 0).any(axis=1)
    own, filled = mesh.elements[around], mesh.fractions[around]
    cell, corner = np.nonzero(place[own] >= 0)
    node = own[cell, corner]
    result = np.zeros(len(nodes), bool)
    whole = filled[cell] == 1.0
    result[place[node[whole]]] = True
    rest = ~whole & ~result[place[node]]
    cell, node = cell[rest], node[rest]
    inwards = mesh.nodes[own].mean(axis=1)[cell] - mesh.nodes[node]
    inside = mesh.source.winding(mesh.nodes[node] + 2.0 * _GAP * inwards) > 0.5
    result[place[node[inside]]] = True
    return result


def first_in_body(mesh: Mesh, nodes: NDArray[np.integer]) -> int:
    """Return the first of the nodes inside the body, or else the first node."""
    for start in range(0, len(nodes), _AT_ONCE):
        some = nodes[start : start + _AT_ONCE]
        inside = in_body(mesh, some)
        if inside.any():
            return int(some[inside.argmax()])
    return int(nodes[0])


def nearly_empty(mesh: Mesh) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
    """Return nodes in nearly empty cut cells, and the body in the cells around each, in cells."""
    if mesh._weak is None:
        fractions = np.repeat(mesh.fractions, mesh.nodes_per_element)
        amounts = np.bincount(mesh.elements.ravel(), fractions, mesh.n_nodes)
        found = np.flatnonzero(amounts < _WEAK)
        mesh._weak = found, amounts[found].astype(np.float64)
    return mesh._weak


def fit(mesh: Mesh) -> tuple[float, float | None] | None:
    """Return the enclosed volume [m^3] and cells across the thinnest part; None without surface.

    For sheets these are 0 and None. The result is cached with the mesh, because its rays are slow
    for surfaces of many triangles.
    """
    if mesh.source is None:
        return None
    if mesh._fit is None:
        enclosed = enclosed_volume(mesh.source, mesh.volume)
        # holes are closed so that rays end; coordinates in units of cells, which may be boxes
        cells = Surface(cells_along(mesh, mesh.source.vertices), mesh.source.triangles)
        across = cells.filled()._about_thinnest(THIN) if enclosed > 0.0 else None
        if across in (0.0, np.inf):  # below the resolution of rays, or unconnected triangles
            across = 2.0 * abs(cells.volume) / cells.area if cells.is_closed else np.inf
        mesh._fit = enclosed, across
    return mesh._fit


@dataclass(frozen=True)
class SolidSummary:
    """Summary of a solid: mesh, volume, mass; ``print(solid)`` shows it.

    Attributes
    ----------
    mesh
        Kind and number of elements and nodes.
    volume, mass
        Volume [m^3] and mass [kg] of the solid.
    enclosed
        Volume enclosed by the surface from which the mesh was made [m^3], 0 for sheets; None
        without a surface.
    cell
        Edge of an element [m]; for tetrahedra, edge of a cube of their mean volume; for graded
        meshes, of the smallest cells.
    cells_across
        Number of such edges across the thinnest part (5 % of the area) of that surface with its
        holes closed, in graded meshes more than there are cells if larger ones lie inside; None
        without a surface and for sheets, infinity if the surface is too open to have a thickness.
    n_fixed, n_nodes
        Number of fixed nodes, and of all nodes.
    """

    mesh: str
    volume: float
    mass: float
    enclosed: float | None
    cell: float
    cells_across: float | None
    n_fixed: int
    n_nodes: int

    @property
    def ratio(self) -> float | None:
        """Volume of the solid divided by `enclosed`; None without a surface."""
        return None if not self.enclosed else self.volume / self.enclosed

    def rows(self) -> list[tuple[str, str]]:
        """Return label and text of each line of the summary.

        Returns
        -------
        list of (str, str)
        """
        ratio, across = self.ratio, self.cells_across
        enclosed = ""
        if ratio is not None:
            enclosed = f", {100 * ratio:.4g} % of the volume enclosed by its surface"
        if self.enclosed == 0.0:
            enclosed = "; its surface is a sheet, which encloses no volume"
        thin = "" if across is None else f", {across:.2g} cells across the thinnest part"
        if across == float("inf"):
            thin = "; the surface is too open to measure its thickness"
        return [
            ("mesh", self.mesh),
            ("cells", f"{self.cell:.3g} m wide{thin}"),
            ("volume", f"{self.volume:.4g} m^3{enclosed}"),
            ("mass", f"{self.mass:.4g} kg"),
            ("fixed", f"{self.n_fixed} of {self.n_nodes} nodes"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{label:<8}{text}" for label, text in self.rows())


def summarize(mesh: Mesh, volume: float, mass: float, n_fixed: int) -> SolidSummary:
    """Return the summary of a solid of a mesh."""
    enclosed, across = fit(mesh) or (None, None)
    return SolidSummary(
        mesh=repr(mesh)[7:-1],
        volume=volume,
        mass=mass,
        enclosed=enclosed,
        cell=cell_size(mesh),
        cells_across=across,
        n_fixed=n_fixed,
        n_nodes=mesh.n_nodes,
    )
