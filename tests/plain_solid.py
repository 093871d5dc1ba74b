"""The solid by its formulas in NumPy: what the C kernels are compared with."""

from __future__ import annotations

import itertools

import numpy as np


def rotation(axis, angle):
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def jittered(make, n, amount, rng, size=1.0):
    """A box whose inner nodes are moved by a part of the cell."""
    nodes, elements = make(*n, size)
    lo, hi = nodes.min(0), nodes.max(0)
    inner = np.all((nodes > lo + 1e-9) & (nodes < hi - 1e-9), axis=1)
    cell = (hi - lo) / np.array(n)
    nodes = nodes.copy()
    nodes[inner] += amount * cell * rng.uniform(-1, 1, (inner.sum(), 3))
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


def shape_points(x, per_axis):
    """Yield (N, grad N, weight) at the quadrature points of one element."""
    if len(x) == 4:
        local = np.array([[-1.0, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        jacobian = local.T @ x  # dx_k/dxi_i
        yield np.full(4, 0.25), local @ np.linalg.inv(jacobian).T, np.linalg.det(jacobian) / 6
        return
    for xi, weight in gauss(per_axis):
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
            if len(element) == 8:
                mass[np.ix_(element, element)] += density * w * np.outer(shape, shape)
            else:
                exact = density * w / 20 * (np.ones((4, 4)) + np.eye(4))
                mass[np.ix_(element, element)] += exact
    return energy, force, tangent.reshape(3 * n, 3 * n), np.kron(mass, one)
