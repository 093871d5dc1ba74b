"""Contact problems with friction of solids, after Duriez et al. 2006: tables, bricks and plugs.

Each problem is a Delassus matrix W (3m, 3m) [m/N] and displacements without contact forces
(k, m, 3) [m], rows normal, first and second tangent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from grids import grid
from numpy.typing import NDArray

import reducedfem as rf

Array = NDArray[np.float64]

CASES = 6
COUPLING = 400.0  # N/m, of a soft coupling
ARM = 0.03  # m: its torsion is that of the coupling at this distance
STEP = 1e-3  # s, of the dynamic brick
FOAM = rf.StVK(2e5, 0.3, 200.0)


@dataclass(frozen=True)
class Problem:
    """A Delassus matrix with some motions."""

    name: str
    W: Array
    free: Array  # (cases, m, 3)
    axes: Array  # (m, 3, 3): normal, first and second tangent of each contact
    rank: int = 0  # 0: full

    @property
    def m(self) -> int:
        """Number of contacts."""
        return len(self.W) // 3


def table_mesh(legs: int = 2, braces: bool = False) -> rf.Mesh:
    """Return a table on four square legs, each `legs` cells wide, with braces between them."""
    cells = np.zeros((4 * legs + 2, 3 * legs + 2, 6), dtype=bool)
    cells[:, :, 4:] = True
    for x in (slice(0, legs), slice(-legs, None)):
        for y in (slice(0, legs), slice(-legs, None)):
            cells[x, y, :4] = True
    if braces:
        cells[:, [0, -1], 1] = True
        cells[[0, -1], :, 1] = True
    return grid(cells, 0.03)


def frames(normals: Array) -> Array:
    """Return axes (m, 3, 3) with the normals as the first rows."""
    normals = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    first = np.cross(normals, [0.0, 1.0, 0.0])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([normals, first, np.cross(normals, first)], axis=1)


def rows(mesh: rf.Mesh, nodes: NDArray[np.int64], axes: Array) -> scipy.sparse.csr_array:
    """Return the displacements at nodes along axes by those of all nodes, (3m, 3n)."""
    m = len(nodes)
    row = np.repeat(np.arange(3 * m), 3)
    column = np.broadcast_to(3 * nodes[:, None, None] + np.arange(3), (m, 3, 3)).ravel()
    return scipy.sparse.csr_array((axes.ravel(), (row, column)), shape=(3 * m, 3 * mesh.n_nodes))


def rigid(places: Array, axes: Array) -> Array:
    """Return the displacements by a motion of the origin and a rotation, (3m, 6)."""
    turned = np.cross(places[:, None, :], axes)
    return np.concatenate([axes, turned], axis=2).reshape(-1, 6)


def compliance(matrix: scipy.sparse.csr_array, directions: scipy.sparse.csr_array) -> Array:
    """Return H A^-1 H^T."""
    solve = scipy.sparse.linalg.splu(matrix.tocsc()).solve
    out = directions @ solve(directions.T.toarray())
    return 0.5 * (out + out.T)


def held(solid: rf.Solid, grip: NDArray[np.bool_], directions: scipy.sparse.csr_array) -> Array:
    """Return the static compliance with nodes held."""
    loose = np.repeat(~grip, 3)
    K = scipy.sparse.csr_array(solid.stiffness().to_scipy())
    return compliance(K[loose][:, loose], directions[:, loose])


def rough_floor(count: int, rng: np.random.Generator) -> Array:
    """Return normals that differ by up to about 15 degrees from the vertical."""
    return np.c_[rng.uniform(-0.25, 0.25, (count, 2)), np.ones(count)]


def soft_coupling() -> Array:
    """Return the compliances of a soft coupling for motions and rotations, (6,)."""
    return 1.0 / COUPLING / np.array([1, 1, 1, ARM**2, ARM**2, ARM**2])


def table(m: int, support: str, modes: int = 0, braces: bool = False) -> Problem:
    """Return a table on a rough floor: its top held by a hand, or by a "soft" coupling.

    With `modes` it has as many coordinates: vibration modes, and rigid motions of a coupling.
    """
    rng = np.random.default_rng(m)
    mesh = table_mesh(2 if m <= 36 else 3, braces)
    solid = rf.Solid(mesh, FOAM)
    low = np.flatnonzero(mesh.nodes[:, 2] < 1e-9)
    legs = [low[(mesh.nodes[low, 0] < mesh.nodes[:, 0].mean()) == left] for left in (True, False)]
    legs = [
        leg[(mesh.nodes[leg, 1] < mesh.nodes[:, 1].mean()) == front]
        for leg in legs
        for front in (True, False)
    ]
    parts = [m // 4 + (k < m % 4) for k in range(4)]
    nodes = np.concatenate([leg[:part] for leg, part in zip(legs, parts, strict=True)])
    axes = frames(rough_floor(m, rng))
    top = mesh.nodes[:, 2] > mesh.nodes[:, 2].max() - 1e-9
    directions = rows(mesh, nodes, axes)
    arms = rigid(mesh.nodes[nodes] - mesh.nodes[top].mean(axis=0), axes)
    soft = support == "soft"
    if modes:
        count = modes - 6 if soft else modes
        shapes = rf.Solid(mesh, FOAM, top).linear_modes(count)
        V = directions @ shapes.shapes.reshape(count, -1).T / np.sqrt(shapes.eigenvalues)
        W = V @ V.T
    else:
        W = held(solid, top, directions)
    if soft:
        W = W + arms * soft_coupling() @ arms.T
    # a soft coupling is pressed farther, so that as many contacts bear
    size = [1e-3, 1e-3, 5e-4, 1e-3, 1e-3, 5e-3] if soft else [2e-3, 2e-3, 5e-4, 1e-3, 1e-3, 5e-3]
    move = rng.normal(size=(CASES, 6)) * size
    move[:, 2] -= 5e-3 if soft else 1.5e-3
    free = np.einsum("ij,cj->ci", arms, move).reshape(CASES, m, 3)
    free[:, :, 0] += rng.uniform(0.0, 1e-4 if soft else 5e-4, (CASES, m))
    if modes and not soft:  # motions that the modes can make
        far = 2.0 * np.abs(free).max() / np.abs(V).max()
        free = (far * rng.normal(size=(CASES, modes)) @ V.T).reshape(CASES, m, 3)
    name = f"table, {support}" + (f", {modes} coordinates" if modes else "")
    return Problem(name, W, free, axes, modes)


def sequence(m: int, mu: float, steps: int) -> Problem:
    """Return steps at rest of a table on a soft coupling: pressed down, then led along a circle.

    Displacements begin with the slip up to the step before.
    """
    problem = table(m, "soft")
    down = np.minimum(np.arange(1, steps + 1) / 20, 1.0)
    angle = 2.0 * np.pi * np.arange(steps) / 180
    move = np.stack([2e-3 * np.sin(angle), 2e-3 * (1.0 - np.cos(angle)), -5e-3 * down], axis=1)
    gap = np.random.default_rng(m).uniform(0.0, 1e-4, m)
    free = np.einsum("mij,cj->cmi", problem.axes, move)
    free[:, :, 0] += gap
    slid, start = np.zeros((m, 2)), None
    for each in free:
        each[:, 1:] -= slid
        out = rf.solve_friction(problem.W, each, mu, start)
        slid += out.gap[:, 1:]
        start = out.force
    return Problem(f"{problem.name}, in sequence", problem.W, free, problem.axes)


def brick(m: int) -> Problem:
    """Return a free brick on the floor, in a step of implicit Euler."""
    rng = np.random.default_rng(m)
    side = int(np.ceil(np.sqrt(m))) - 1
    mesh = grid(np.ones((side, side, 2), dtype=bool), 0.02)
    solid = rf.Solid(mesh, FOAM)
    nodes = np.flatnonzero(mesh.nodes[:, 2] < 1e-9)[:m]
    axes = frames(rough_floor(m, rng))
    mass = scipy.sparse.csr_array(solid.mass().to_scipy())
    stiffness = scipy.sparse.csr_array(solid.stiffness().to_scipy())
    W = compliance(mass / STEP**2 + stiffness, rows(mesh, nodes, axes))
    move = rng.normal(size=(CASES, 6)) * [3e-4, 3e-4, 1e-4, 2e-3, 2e-3, 2e-3]
    move[:, 2] -= 2e-4
    free = np.einsum("ij,cj->ci", rigid(mesh.nodes[nodes] - mesh.nodes.mean(axis=0), axes), move)
    return Problem("brick, dynamic", W, free.reshape(CASES, m, 3), axes)


def plug(m: int) -> Problem:
    """Return a plug wedged into a slot whose walls lean by 10 degrees, both soft."""
    rng = np.random.default_rng(m)
    high = int(np.ceil(m / 6))
    mesh = grid(np.ones((4, 2, high), dtype=bool), 0.01)
    x = mesh.nodes.copy()
    lean = np.tan(np.radians(10.0))
    x[:, 0] += (x[:, 0] - 0.02) / 0.02 * lean * x[:, 2]
    mesh = rf.Mesh(x, mesh.elements)
    sides = [np.flatnonzero(np.abs(grid_x) < 1e-9) for grid_x in _sides(mesh, lean)]
    half = m // 2
    nodes = np.concatenate([sides[0][:half], sides[1][: m - half]])
    out = np.where(np.arange(m) < half, 1.0, -1.0)
    normals = np.c_[out, rng.uniform(-0.05, 0.05, m), np.full(m, lean)]
    axes = frames(normals)
    solid = rf.Solid(mesh, rf.StVK(7e6, 0.35, 1000.0))
    top = mesh.nodes[:, 2] > mesh.nodes[:, 2].max() - 1e-9
    loose = ~top[nodes]
    nodes, axes = nodes[loose], axes[loose]
    m = len(nodes)
    directions = rows(mesh, nodes, axes)
    arms = rigid(mesh.nodes[nodes] - mesh.nodes[top].mean(axis=0), axes)
    W = held(solid, top, directions)
    # the slot: the same block, held on its lower side, seen from the other side
    low = mesh.nodes[:, 2] < 1e-9
    loose = ~low[nodes]
    slot = np.zeros_like(W)
    keep = np.repeat(loose, 3)
    slot[np.ix_(keep, keep)] = held(solid, low, rows(mesh, nodes[loose], axes[loose]))
    W = W + slot + arms * soft_coupling() @ arms.T
    move = rng.normal(size=(CASES, 6)) * [3e-4, 3e-4, 3e-4, 3e-3, 3e-3, 3e-3]
    move[:, 2] -= 2e-3
    free = np.einsum("ij,cj->ci", arms, move).reshape(CASES, m, 3)
    return Problem("plug, wedged", W, free, axes)


def _sides(mesh: rf.Mesh, lean: float) -> tuple[Array, Array]:
    x, _, z = mesh.nodes.T
    return x + lean * z, x - 0.04 - lean * z
