"""One mesh of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reducedfem import _core
from reducedfem.errors import InputError, InputTypeError
from reducedfem.geometry.constraints import constrained, shifted
from reducedfem.geometry.cut_cells import Rule, joined_rules
from reducedfem.geometry.elements import NAMES
from reducedfem.geometry.mesh import Mesh
from reducedfem.io.volume_data import ElasticData

__all__ = ["join_meshes"]


def join_meshes(meshes: Sequence[Mesh] | Mesh, *more: Mesh) -> Mesh:
    """Return one mesh of several, which become parts that share no node.

    A `Solid` of it has one material for each region, and a `BarrierContact` with ``parts=True``
    lets its parts touch each other.

    Parameters
    ----------
    meshes, *more
        Meshes with elements of one kind, each in its place: a list of them, or each an argument.

    Returns
    -------
    Mesh
        Nodes and elements in the order of the meshes. Regions of the first mesh are kept; those of
        each other one are shifted to follow the regions before, so that no two meshes share one:
        meshes of a single region become the regions 0, 1, 2 and so on. Names and materials move
        with them.

    Raises
    ------
    InputError, InputTypeError
        `meshes` is empty, one mesh only without a list, or contains another type; or the elements
        differ in kind.
    MeshError
        Cut cells are of different sizes.

    Examples
    --------
    >>> import reducedfem as rf
    >>> tet = rf.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    >>> both = rf.join_meshes([tet, rf.Mesh(tet.nodes + [0, 0, 2], tet.elements)])
    >>> both, both.regions
    (<Mesh: 8 nodes, 2 tet4>, array([0, 1], dtype=int32))
    """
    if more:
        meshes = [meshes, *more]  # type: ignore[list-item]
    if isinstance(meshes, Mesh) or not isinstance(meshes, Sequence):
        raise InputTypeError(
            f"meshes must be a list of Mesh or several of them, got {type(meshes).__name__}"
        )
    if len(meshes) == 0:
        raise InputError("meshes must hold at least one Mesh")
    for i, mesh in enumerate(meshes):
        if not isinstance(mesh, Mesh):
            raise InputTypeError(f"meshes[{i}] must be a Mesh, got {type(mesh).__name__}")
        if mesh.nodes_per_element != meshes[0].nodes_per_element:
            kinds = NAMES[meshes[0].nodes_per_element], NAMES[mesh.nodes_per_element]
            raise InputError(
                f"meshes[{i}] has elements {kinds[1]}, meshes[0] has {kinds[0]}: they must agree"
            )
    elements: list[NDArray[np.int32]] = []
    regions: list[NDArray[np.int32]] = []
    names: dict[int, str] = {}
    materials: dict[int, ElasticData] = {}
    nodes = after = 0
    for mesh in meshes:
        shift = after - int(mesh.regions.min()) if regions else 0
        elements.append(mesh.elements + nodes)
        regions.append(mesh.regions + shift)
        names.update({region + shift: name for region, name in mesh._region_names.items()})
        materials.update({region + shift: data for region, data in mesh._materials.items()})
        nodes += mesh.n_nodes
        after = int(regions[-1].max()) + 1
    core = _core.Mesh(
        np.concatenate([mesh.nodes for mesh in meshes]),
        np.concatenate(elements),
        np.concatenate(regions),
    )
    ties = shifted([(_core.mesh_constraints(mesh._core), mesh.n_nodes) for mesh in meshes])
    joined = Mesh.__new__(Mesh)._adopt(constrained(core, ties), None, names, materials)
    rules: list[tuple[Rule | None, int]] = [(mesh._rule(), mesh.n_elements) for mesh in meshes]
    joined._cut_as(joined_rules(rules))
    return joined
