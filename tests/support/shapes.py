"""Small meshes for the tests: boxes of hexahedra or tetrahedra as plain arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import reducedfem as rf
from reducedfem.material.laws import Material

# corners of a cell in VTK order (VTK_HEXAHEDRON)
_HEX_CORNERS = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)


def _kuhn_tets() -> NDArray[np.int64]:
    """Six tets around the diagonal 0-6, one per order of walking along the axes.

    Cells side by side match, because opposite faces are cut by parallel diagonals.
    """
    corner = {tuple(c): i for i, c in enumerate(_HEX_CORNERS.tolist())}
    tets = []
    for order in itertools.permutations(range(3)):
        at = [0, 0, 0]
        path = [corner[tuple(at)]]
        for axis in order:
            at[axis] = 1
            path.append(corner[tuple(at)])
        edges = _HEX_CORNERS[path[1:]] - _HEX_CORNERS[path[0]]
        if np.linalg.det(edges) < 0:
            path[1], path[2] = path[2], path[1]
        tets.append(path)
    return np.array(tets)


def box_hexes(
    nx: int, ny: int, nz: int, size: tuple[float, float, float] | float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Cut a box with one corner at the origin into nx * ny * nz hexahedra.

    Parameters
    ----------
    nx, ny, nz
        Number of cells along each axis.
    size
        Edge lengths of the whole box in m; one number makes a cube.

    Returns
    -------
    nodes : (n, 3) float64 array
        x runs fastest, then y, then z.
    elements : (nx * ny * nz, 8) int32 array
        VTK node order.
    """
    lengths = np.broadcast_to(np.asarray(size, dtype=float), (3,))
    axes = [
        np.linspace(0.0, length, n + 1) for length, n in zip(lengths, (nx, ny, nz), strict=True)
    ]
    z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    nodes = np.column_stack([x.ravel(), y.ravel(), z.ravel()])

    stride = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    k, j, i = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
    first = np.column_stack([i.ravel(), j.ravel(), k.ravel()]) @ stride
    elements = first[:, None] + (_HEX_CORNERS @ stride)[None, :]
    return nodes, elements.astype(np.int32)


def box_tets(
    nx: int, ny: int, nz: int, size: tuple[float, float, float] | float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Cut a box as `box_hexes` does, then each cell into six tetrahedra.

    Returns
    -------
    nodes : (n, 3) float64 array
    elements : (6 * nx * ny * nz, 4) int32 array
        Positive volume: det(x1 - x0, x2 - x0, x3 - x0) > 0.
    """
    nodes, hexes = box_hexes(nx, ny, nz, size)
    elements = hexes[:, _kuhn_tets()].reshape(-1, 4)
    return nodes, np.ascontiguousarray(elements, dtype=np.int32)


# ends of the edges of a tetrahedron on which nodes 4 to 9 lie (VTK_QUADRATIC_TETRA)
TET_EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


# of a hexahedron, nodes 8 to 19 (VTK_QUADRATIC_HEXAHEDRON)
HEX_EDGES = (
    *((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)),
    *((0, 4), (1, 5), (2, 6), (3, 7)),
)
# by nodes of an element
EDGES = {10: TET_EDGES, 20: HEX_EDGES}


def with_middles(
    nodes: NDArray[np.float64], elements: NDArray[np.int32], edges: tuple[tuple[int, int], ...]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Put a node on the middle of every edge, as elements meet them."""
    points, middles, out = nodes.tolist(), {}, []
    for corners in elements.tolist():
        element = list(corners)
        for a, b in edges:
            edge = tuple(sorted((corners[a], corners[b])))
            if edge not in middles:
                middles[edge] = len(points)
                points.append((0.5 * (nodes[edge[0]] + nodes[edge[1]])).tolist())
            element.append(middles[edge])
        out.append(element)
    return np.array(points), np.array(out, dtype=np.int32)


def box_tet10s(
    nx: int, ny: int, nz: int, size: tuple[float, float, float] | float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Cut a box as `box_tets` does and put a node on the middle of every edge.

    Returns
    -------
    nodes : (n, 3) float64 array
        Those of `box_tets`, then the middles as elements meet them.
    elements : (6 * nx * ny * nz, 10) int32 array
    """
    return with_middles(*box_tets(nx, ny, nz, size), TET_EDGES)


def box_hex20s(
    nx: int, ny: int, nz: int, size: tuple[float, float, float] | float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Cut a box as `box_hexes` does and put a node on the middle of every edge.

    Returns
    -------
    nodes : (n, 3) float64 array
        Those of `box_hexes`, then the middles as elements meet them.
    elements : (nx * ny * nz, 20) int32 array
    """
    return with_middles(*box_hexes(nx, ny, nz, size), HEX_EDGES)


BOXES = {"hex": box_hexes, "tet": box_tets, "tet10": box_tet10s, "hex20": box_hex20s}


def solid_box(
    cells: tuple[int, int, int],
    size: tuple[float, float, float] | float = 1.0,
    law: Material | None = None,
    *,
    held: int | None = 0,
    make: Callable[..., tuple[NDArray[np.float64], NDArray[np.int32]]] = box_hexes,
) -> rf.Solid:
    """Return a box as a solid, held where a coordinate is zero; `held` None: free.

    The material is of 0.1 MPa unless another is given.
    """
    nodes, elements = make(*cells, size)
    fixed = None if held is None else nodes[:, held] == 0.0
    return rf.Solid(rf.Mesh(nodes, elements), law or rf.StVK(1e5, 0.3, 1000.0), fixed=fixed)


def ball(n: int, radius: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return a cube of n^3 hexahedra rounded to a ball about the origin.

    It keeps all symmetries of the cube.
    """
    nodes, elements = box_hexes(n, n, n, 2.0)
    x = nodes - 1.0
    # layers of cubes become layers of spheres
    reach, length = np.abs(x).max(axis=1), np.linalg.norm(x, axis=1)
    # half way to the sphere in the middle, so that no corner degenerates
    blend = 1.0 - 0.5 * reach + 0.5 * reach * reach / np.where(length > 0, length, 1.0)
    return radius * x * blend[:, None], elements


def cylinder(n: int, layers: int, radius: float, height: float):
    """Return a square prism of n x n columns, rounded, its axis along z: symmetric as a square."""
    nodes, elements = box_hexes(n, n, layers, (2.0, 2.0, height))
    x = nodes[:, :2] - 1.0
    reach, length = np.abs(x).max(axis=1), np.linalg.norm(x, axis=1)
    blend = 1.0 - 0.5 * reach + 0.5 * reach * reach / np.where(length > 0, length, 1.0)
    return np.column_stack([radius * x * blend[:, None], nodes[:, 2]]), elements


def torus(n: int, around: int, radius: float, thickness: float):
    """Return a ring about z of `around` sections, each a square of n x n cells."""
    nodes, elements = box_hexes(n, n, around, (thickness, thickness, 2.0 * np.pi))
    section = (n + 1) * (n + 1)
    kept = nodes[: section * around]
    elements = elements % (section * around)  # the last section is the first
    angle, out = -kept[:, 2], radius + kept[:, 0] - 0.5 * thickness
    ring = np.column_stack([out * np.cos(angle), out * np.sin(angle), kept[:, 1]])
    return ring, np.ascontiguousarray(elements, dtype=np.int32)


def sphere(n, centre=(0.0, 0.0, 0.0), radius=1.0):
    """Return a closed surface, a sphere by n rows of 2 n columns: 4 n (n - 1) triangles."""
    v = np.linspace(0, np.pi, n + 1)[1:-1]
    u = np.linspace(0, 2 * np.pi, 2 * n, endpoint=False)
    ring = np.stack(np.broadcast_arrays(np.cos(u), np.sin(u), 0), -1)
    rows = np.sin(v)[:, None, None] * ring + np.cos(v)[:, None, None] * [0, 0, 1]
    vertices = np.concatenate([[[0, 0, 1.0]], rows.reshape(-1, 3), [[0, 0, -1.0]]])
    m, last = 2 * n, len(vertices) - 1
    k = np.arange(m)
    faces = [np.stack([0 * k, 1 + k, 1 + (k + 1) % m], -1)]
    for row in range(n - 2):
        a, b = 1 + row * m + k, 1 + row * m + (k + 1) % m
        faces += [np.stack([a, a + m, b], -1), np.stack([b, a + m, b + m], -1)]
    a = 1 + (n - 2) * m
    faces.append(np.stack([a + k, 0 * k + last, a + (k + 1) % m], -1))
    return radius * vertices + np.asarray(centre), np.concatenate(faces)


def box(low, high):
    """Return the surface of a box."""
    nodes, elements = box_hexes(1, 1, 1, 1.0)
    corners = np.asarray(low) + nodes * (np.asarray(high, float) - low)
    return rf.Mesh(corners, elements).surface()
