"""Warnings of loads on nodes outside of the body that give way much farther than the body."""

from __future__ import annotations

import warnings
from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.run import threads
from reducedfem.errors import MeshError, PlausibilityWarning, SingularMatrixError
from reducedfem.geometry.built import cell_size, nearly_empty
from reducedfem.geometry.embedding import Embedding
from reducedfem.geometry.mesh import Mesh
from reducedfem.material.laws import Material
from reducedfem.solid.plausible import young_modulus

__all__ = ["softest", "warn_of_loads"]

_PART = 0.25  # of the sizes of all loads, on such nodes, from which on they are examined
# compliance over that of the same load on the surface from which on nodes count as soft: at points
# of a smooth surface one cell apart it differs by less than a factor of two
_SOFT = 5.0
_STRAIN = 1e-10  # load that is examined, over modulus and area of a cell: one iteration suffices
_TOLERANCE = 0.1  # of these equilibria: the order of magnitude suffices
_ITERATIONS = 20


def warn_of_loads(
    mesh: Mesh,
    core: _core.Solid,
    materials: Collection[Material],
    force: ArrayLike | None,
    stacklevel: int,
    u: NDArray[np.float64] | None = None,
) -> bool:
    """Warn of loads on soft nodes outside of the body, in cut cells; True if it does.

    Softness is measured: by the work of small loads on the solid, and on its surface beside.
    u: displacements due to these loads, if known, which may save this measurement.
    """
    if mesh.source is None or force is None or len(core.fixed) == 0:
        return False
    values = np.asarray(force)
    if values.size != 3 * mesh.n_nodes or values.dtype.kind not in "iuf":
        return False  # refused later
    load = np.array(values.reshape(-1, 3), float)
    load[core.fixed] = 0.0
    found = softest(mesh, core, materials, load, u)
    if found is None:
        return False
    node, distance, held, times = found
    x, y, z = mesh.nodes[node]
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


def softest(
    mesh: Mesh,
    core: _core.Solid,
    materials: Collection[Material],
    load: NDArray[np.float64],
    u: NDArray[np.float64] | None = None,
) -> tuple[int, float, float, float] | None:
    """Return the soft node that moves most under its load; None unless soft nodes bear the load.

    It comes with its distance from the body [m], the amount of the body around it [cells] and the
    ratio of the compliances. Loads (n, 3) act on free nodes; u: see `warn_of_loads`.
    """
    assert mesh.source is not None
    small = _STRAIN * min(map(young_modulus, materials)) * cell_size(mesh) ** 2
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
    own = _response(core, load, small)
    if own is None or _firm(load, moved, own):
        return None
    other = _response(core, moved, small)
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


def _response(
    core: _core.Solid, load: NDArray[np.float64], small: float
) -> NDArray[np.float64] | None:
    """Return displacements under a load, scaled to a small one; None without equilibrium."""
    scale = small / np.abs(load).sum()
    try:
        u, _, failure = core.solve_static(
            scale * load, None, None, _TOLERANCE, 1, _ITERATIONS, None, threads()
        )
    except (MeshError, SingularMatrixError):  # of mechanisms; the caller reports them
        return None
    return None if failure is not None else u / scale
