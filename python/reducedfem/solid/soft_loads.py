"""Warnings of loads on nodes outside of the body that give way much farther than the body."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.errors import MeshError, PlausibilityWarning, SingularMatrixError
from reducedfem.geometry.built import cell_size, nearly_empty
from reducedfem.geometry.embedding import Embedding
from reducedfem.solid.plausible import young_modulus

if TYPE_CHECKING:
    from reducedfem.solid.solid import Solid

__all__ = ["warn_of_loads"]

_PART = 0.25  # of the sizes of all loads, on such nodes, from which on they are examined
# compliance over that of the same load on the surface from which on nodes count as soft: at points
# of a smooth surface one cell apart it differs by less than a factor of two
_SOFT = 5.0
_STRAIN = 1e-10  # load that is examined, over modulus and area of a cell: one iteration suffices
_TOLERANCE = 0.1  # of equilibria, of which only the order of magnitude counts
_ITERATIONS = 20


def warn_of_loads(
    solid: Solid,
    force: ArrayLike | None,
    stacklevel: int,
    u: NDArray[np.float64] | None = None,
) -> bool:
    """Warn of loads on soft nodes outside of the body, in cut cells; True if it does.

    Softness is measured: by the work of small loads on the solid, and on its surface beside.
    u: displacements due to these loads, if known, which may save this measurement.
    """
    if solid.mesh.source is None or force is None or len(solid.fixed) == 0:
        return False
    values = np.asarray(force)
    if values.size != solid.n_dofs or values.dtype.kind not in "iuf":
        return False  # refused later
    load = np.array(values.reshape(-1, 3), float)
    load[solid.fixed] = 0.0
    found = _softest(solid, load, u)
    if found is None:
        return False
    node, distance, held, times = found
    x, y, z = solid.mesh.nodes[node]
    outside = f"{distance:.2g} m outside of the body, " if distance > 0.0 else ""
    warnings.warn(
        f"force loads node {node} at ({x:.3g}, {y:.3g}, {z:.3g}), {outside}in cut cells that "
        f"contain {held:.2g} cells of the body together: this load moves {times:.2g} times as far "
        "as on the surface beside. Load nodes inside the body; or points of its surface, by "
        "Embedding(mesh, points).distribute(forces)",
        PlausibilityWarning,
        stacklevel=stacklevel,
    )
    return True


def _softest(
    solid: Solid, load: NDArray[np.float64], u: NDArray[np.float64] | None
) -> tuple[int, float, float, float] | None:
    """Return the soft node that moves most under its load; None unless soft nodes bear the load.

    It comes with its distance from the body [m], the amount of the body around it [cells] and the
    ratio of the compliances.
    """
    mesh = solid.mesh
    assert mesh.source is not None
    nodes, held = nearly_empty(mesh)
    sizes = np.linalg.norm(load, axis=1)
    total = sizes.sum()
    if not (0.0 < total < np.inf and sizes[nodes].sum() >= _PART * total):
        return None
    loaded = sizes[nodes] > 0.0
    nodes, held = nodes[loaded], held[loaded]
    source = mesh.source
    far, beside, *_ = _core.surface_closest(
        source.vertices, source.triangles, mesh.nodes[nodes], np.inf
    )
    moved = load.copy()
    moved[nodes] = 0.0
    moved += Embedding(mesh, beside).distribute(load[nodes])
    if u is not None and _firm(load, moved, u):
        return None
    own = _response(solid, load)
    if own is None or _firm(load, moved, own):
        return None
    other = _response(solid, moved)
    if other is None:
        return None
    work, firm = np.vdot(load, own), np.vdot(moved, other)
    if not work > _SOFT * firm > 0.0:
        return None
    k = int(np.sum(load[nodes] * own[nodes], axis=1).argmax())
    return int(nodes[k]), float(far[k]), float(held[k]), float(work / firm)


def _firm(load: NDArray[np.float64], moved: NDArray[np.float64], own: NDArray[np.float64]) -> bool:
    """Return True if the response to a load shows that it is not soft, compared with the moved one.

    With a symmetric K, (moved K^-1 load)^2 <= (load K^-1 load) (moved K^-1 moved).
    """
    return bool(np.vdot(load, own) <= np.sqrt(_SOFT) * np.vdot(moved, own))


def _response(solid: Solid, load: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return displacements under a load at small strains, per load; None without equilibrium."""
    modulus = min(map(young_modulus, solid.materials.values()))
    scale = _STRAIN * modulus * cell_size(solid.mesh) ** 2 / np.abs(load).sum()
    try:
        u, _, failure = solid._core.solve_static(
            scale * load, None, None, _TOLERANCE, 1, _ITERATIONS, None, threads()
        )
    except (MeshError, SingularMatrixError):  # of mechanisms; the caller reports them
        return None
    return None if failure is not None else u / scale
