"""Composition of a solid: the materials of its elements, and its fixed nodes."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import node_indices
from reducedfem.base.run import threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.elements import some_of
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import Material, require_material

__all__ = ["compose", "fixed_nodes", "materials_of", "unit_weights"]


def materials_of(
    mesh: Mesh, material: Material | Mapping[int, Material]
) -> tuple[dict[int, Material], NDArray[np.int64]]:
    """Return the material of each region and, for each element, the index of its material."""
    regions = np.unique(mesh.regions)
    if isinstance(material, Material):
        materials = {int(region): material for region in regions}
    elif isinstance(material, Mapping):
        materials = {}
        for region, one in material.items():
            require_material(one, f"material[{region!r}]")
            try:
                materials[operator.index(region)] = one
            except TypeError:
                raise InputTypeError(
                    f"material has the key {region!r}; regions are integers"
                ) from None
        names = ", ".join(map(str, regions[:10])) + (", ..." if len(regions) > 10 else "")
        for region in regions:
            if int(region) not in materials:
                raise InputError(
                    f"material has no entry for region {region}; the mesh has regions {names}"
                )
        extra = sorted(set(materials) - set(regions.tolist()))
        if extra:
            raise InputError(
                f"material has an entry for region {extra[0]}, to which no element belongs; the "
                f"mesh has regions {names}"
            )
        materials = dict(sorted(materials.items()))
    else:
        raise InputTypeError(
            f"material must be a material ({' or '.join(Material.kinds)}) or a dict from region to "
            f"these, got {type(material).__name__}"
        )
    return materials, np.searchsorted(regions, mesh.regions)


def fixed_nodes(fixed: ArrayLike | None, mesh: Mesh) -> NDArray[np.int64]:
    """Return the argument `fixed` as indices; refuse an empty selection."""
    nodes = node_indices(fixed, "fixed", mesh.n_nodes)
    if fixed is not None and len(nodes) == 0:
        low, high = mesh.bounds
        box = ", ".join(f"{low[i]:.6g} <= {'xyz'[i]} <= {high[i]:.6g}" for i in range(3))
        raise InputError(
            f"fixed selects no node; the nodes lie in {box} (in metres). For a free solid leave it "
            "out or pass None"
        )
    _require_masters(nodes, mesh)
    return nodes


def _require_masters(fixed: NDArray[np.int64], mesh: Mesh) -> None:
    """Refuse fixed nodes that follow others which are not fixed; name all of these."""
    if mesh.constraints is None or len(fixed) == 0:
        return
    slaves, ptr, masters, _ = mesh.constraints._table()
    missing = np.repeat(np.isin(slaves, fixed), np.diff(ptr)) & ~np.isin(masters, fixed)
    if not missing.any():
        return
    k = int(np.searchsorted(ptr, np.flatnonzero(missing)[0], side="right")) - 1
    own = masters[ptr[k] : ptr[k + 1]]
    raise InputError(
        f"fixed names node {slaves[k]}, which is constrained to follow the nodes "
        f"{', '.join(map(str, own[:8].tolist()))}{', ...' if len(own) > 8 else ''}, without all of "
        f"these: add to fixed {some_of(np.unique(masters[missing]))}, or leave out the nodes of "
        "mesh.constrained_nodes"
    )


def compose(
    mesh: Mesh,
    materials: Mapping[int, Material],
    element_material: NDArray[np.int64],
    fixed: NDArray[np.int64],
    quadrature: int,
) -> _core.Solid:
    """Return the solid of the core."""
    table = [(one.law, one.parameters, one.density) for one in materials.values()]
    return _core.Solid(mesh._core, table, element_material, fixed, quadrature, 0)


def unit_weights(
    mesh: Mesh, material: Mapping[int, Material], quadrature: int
) -> list[NDArray[np.float64]]:
    """Return the nodal forces [N] of accelerations of 1 m/s^2 along x, y and z, three (n, 3)."""
    materials, element_material = materials_of(mesh, material)
    free = np.zeros(0, dtype=np.int64)
    # four-node elements ignore the quadrature
    core = compose(mesh, materials, element_material, free, max(quadrature, 2))
    return [core.gravity(axis, False, threads()) for axis in np.eye(3)]
