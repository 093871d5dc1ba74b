"""The solid by its formulas in NumPy: what the C kernels are compared with."""

from __future__ import annotations

import itertools

import numpy as np

from shapes import EDGES, HEX_EDGES, TET_EDGES


def rotation(axis, angle):
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def jittered(make, n, amount, rng, size=1.0, bend=0.05):
    """A box whose inner nodes are moved by a part of the cell.

    Inner edges of second-order elements are bent by another part of it.
    """
    nodes, elements = make(*n, size)
    lo, hi = nodes.min(0), nodes.max(0)
    inner = np.all((nodes > lo + 1e-9) & (nodes < hi - 1e-9), axis=1)
    cell = (hi - lo) / np.array(n)
    nodes = nodes.copy()
    move = cell * rng.uniform(-1, 1, (inner.sum(), 3))
    nodes[inner] += amount * move
    if elements.shape[1] in EDGES:
        ends = np.array(EDGES[elements.shape[1]])
        edges = elements[:, -len(ends) :]
        nodes[edges] = nodes[elements[:, ends]].mean(axis=2)
        middles = inner & np.isin(np.arange(len(nodes)), edges)
        nodes[middles] += bend * cell * rng.uniform(-1, 1, (middles.sum(), 3))
    return nodes, elements, inner


def gauss(per_axis):
    points, weights = np.polynomial.legendre.leggauss(per_axis)
    for (i, x), (j, y), (k, z) in itertools.product(enumerate(points), repeat=3):
        yield np.array([x, y, z]), weights[i] * weights[j] * weights[k]


CORNERS = np.array(
    [
        [-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1],
        [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1],
    ]
)  # fmt: skip


# serendipity: all monomials of superlinear degree two, and the nodes that determine them
POWERS = np.array(
    [p for p in itertools.product(range(3), repeat=3) if sum(k for k in p if k > 1) <= 2]
)
HEX20_NODES = np.vstack([CORNERS, [CORNERS[list(e)].mean(0) for e in HEX_EDGES]])


def monomials(xi):
    """Monomials (20) at a place and their derivatives (20, 3)."""
    xi = np.asarray(xi, dtype=float)
    powers = xi**POWERS
    slopes = np.where(POWERS > 0, POWERS * xi ** np.maximum(POWERS - 1, 0), 0.0)
    derivatives = [slopes[:, k] * np.delete(powers, k, axis=1).prod(1) for k in range(3)]
    return powers.prod(1), np.stack(derivatives, axis=1)


INTERPOLATION = np.linalg.inv(np.array([monomials(xi)[0] for xi in HEX20_NODES]))


def hex20_shape(xi):
    """Shape functions of 20-node hexahedra by interpolation, and their derivatives."""
    value, derivative = monomials(xi)
    return INTERPOLATION.T @ value, INTERPOLATION.T @ derivative


def quadratic_shape(bary):
    """Shape functions of ten-node tetrahedra and their derivatives by l1, l2, l3."""
    slope = np.array([[-1.0, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    n = [x * (2 * x - 1) for x in bary] + [4 * bary[a] * bary[b] for a, b in TET_EDGES]
    dn = [(4 * x - 1) * d for x, d in zip(bary, slope, strict=True)]
    dn += [4 * (bary[a] * slope[b] + bary[b] * slope[a]) for a, b in TET_EDGES]
    return np.array(n), np.array(dn)


def tet_rule(points):
    """Barycentric points and weights that sum to one: exact for degree 2 (4) or 5 (14).

    The orbits of 14 points are those of Walkington, "Quadrature on simplices of arbitrary
    dimension" (2000); test_tet10.py checks their degree.
    """
    orbits = {4: [((5 - 5**0.5) / 20, 0.25)]}
    orbits[14] = [
        (0.09273525031089123, 0.07349304311636195),
        (0.3108859192633006, 0.1126879257180159),
    ]
    for a, w in orbits[points]:
        for c in range(4):
            yield np.where(np.arange(4) == c, 1 - 3 * a, a), w
    if points == 14:
        e = 0.045503704125649650
        for pair in itertools.combinations(range(4), 2):
            yield np.where(np.isin(np.arange(4), pair), 0.5 - e, e), 0.042546020777081466


def tet10_points(x, points):
    for barycentric, weight in tet_rule(points):
        n, local = quadratic_shape(barycentric)
        jacobian = local.T @ x
        yield n, local @ np.linalg.inv(jacobian).T, weight * np.linalg.det(jacobian) / 6


def shape_points(x, per_axis):
    """Yield (N, grad N, weight) at the quadrature points of one element."""
    if len(x) == 10:
        yield from tet10_points(x, {2: 4, 3: 14}[per_axis])
        return
    if len(x) == 4:
        local = np.array([[-1.0, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        jacobian = local.T @ x  # dx_k/dxi_i
        yield np.full(4, 0.25), local @ np.linalg.inv(jacobian).T, np.linalg.det(jacobian) / 6
        return
    for xi, weight in gauss(per_axis):
        if len(x) == 20:
            n, local = hex20_shape(xi)
            jacobian = local.T @ x
            yield n, local @ np.linalg.inv(jacobian).T, weight * np.linalg.det(jacobian)
            continue
        factors = 1 + CORNERS * xi
        n = factors.prod(1) / 8
        local = np.stack(
            [CORNERS[:, i] * np.delete(factors, i, axis=1).prod(1) / 8 for i in range(3)], axis=1
        )
        jacobian = local.T @ x
        yield n, local @ np.linalg.inv(jacobian).T, weight * np.linalg.det(jacobian)


def isotropic(lam, mu):
    """C_ijkl of St.Venant-Kirchhoff."""
    one = np.eye(3)
    return (
        lam * np.einsum("ij,kl->ijkl", one, one)
        + mu * np.einsum("ik,jl->ijkl", one, one)
        + mu * np.einsum("il,jk->ijkl", one, one)
    )


def plain(solid, u, law, density):
    """Energy, force, tangent and mass by the formulas, one element after another.

    `law` is C_ijkl of S = C : E.
    """
    mesh, n = solid.mesh, solid.mesh.n_nodes
    energy, force = 0.0, np.zeros((n, 3))
    tangent, mass = np.zeros((n, 3, n, 3)), np.zeros((n, n))
    one = np.eye(3)
    for element in mesh.elements:
        x, d = mesh.nodes[element], u[element]
        for shape, g, w in shape_points(x, solid.quadrature):
            F = one + d.T @ g
            E = 0.5 * (F.T @ F - one)
            S = np.einsum("ijkl,kl->ij", law, E)
            energy += w * 0.5 * np.tensordot(E, S)
            force[element] += w * g @ (F @ S).T
            # dP = dF S + F C:(F^T dF)
            A = np.einsum("ik,jl->ijkl", one, S) + np.einsum("ia,ajbl,kb->ijkl", F, law, F)
            K = w * np.einsum("aj,ijkl,bl->aibk", g, A, g)
            for p, a in enumerate(element):
                tangent[a][:, element] += K[p]
            if len(element) in (8, 20):
                mass[np.ix_(element, element)] += density * w * np.outer(shape, shape)
            elif len(element) == 4:
                exact = density * w / 20 * (np.ones((4, 4)) + np.eye(4))
                mass[np.ix_(element, element)] += exact
        if len(element) == 10:
            for shape, _, w in tet10_points(x, 14):
                mass[np.ix_(element, element)] += density * w * np.outer(shape, shape)
    return energy, force, tangent.reshape(3 * n, 3 * n), np.kron(mass, one)


# rounding of sums of a few hundred terms, relative to the largest entry
ROUNDING = 1e-13


def close(a, b, tolerance=ROUNDING):
    """Check that numbers agree relative to the largest of them."""
    scale = np.abs(b).max()
    assert scale > 0
    assert np.abs(np.asarray(a) - b).max() <= tolerance * scale
