"""Tangents with projected Hessians: eigenvalues of plain sums, closed forms, independent data."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from material_laws import LAWS, gradients, inside, published_hessian
from plain_solid import shape_points
from reducedfem import _core, samples
from shapes import box_hexes
from test_material_solids import KINDS, VARIANTS, bar, close, material_of, mixed

ISOTROPIC = [name for name in LAWS if name != "LinearElastic"]


def projected(A):
    """Return symmetric matrices (..., 9, 9) with negative eigenvalues raised to zero."""
    values, vectors = np.linalg.eigh(0.5 * (A + np.swapaxes(A, -1, -2)))
    return np.einsum("...ij,...j,...kj->...ik", vectors, np.maximum(values, 0), vectors)


def lowest(A):
    return np.linalg.eigvalsh(A)[..., 0]


def point_hessians(solid, u):
    """Return element, gradients, weight and Hessian of every quadrature point."""
    for e, element in enumerate(solid.mesh.elements):
        one = solid.materials[int(solid.mesh.regions[e])]
        for _, g, w in shape_points(solid.mesh.nodes[element], solid.quadrature):
            G = (u[element].T @ g).reshape(1, 9)
            yield e, g, w, _core.law_point(one.law, one.parameters, G)[2][0]


def plain_definite(solid, u):
    """Return the projected tangent by the formulas, one point after another."""
    n = solid.mesh.n_nodes
    K = np.zeros((n, 3, n, 3))
    for e, g, w, A in point_hessians(solid, u):
        part = w * np.einsum("aj,ijkl,bl->aibk", g, projected(A).reshape(3, 3, 3, 3), g)
        nodes = solid.mesh.elements[e]
        for p, a in enumerate(nodes):
            K[a][:, nodes] += part[p]
    return K.reshape(3 * n, 3 * n)


def closed_form(law, parameters, F):
    """Return the projected Hessian by stretches, twists and flips of principal axes.

    The 3 x 3 block, (psi_i + psi_j)/(s_i + s_j) and (psi_i - psi_j)/(s_i - s_j) of the published
    energy psi(s), with F = U diag(s) V^T for rotations U and V.
    """
    U, s, V = np.linalg.svd(F)
    U[:, 2] *= np.linalg.det(U)
    V[2] *= np.linalg.det(V)
    s[2] *= np.sign(np.linalg.det(F))
    slopes, block = published_hessian(law, s, *parameters)
    out = np.zeros((9, 9))
    axes = np.array([np.outer(U[:, i], V[i]).ravel() for i in range(3)])
    out += axes.T @ projected(block) @ axes
    for i, j in ((0, 1), (1, 2), (2, 0)):
        up, down = np.outer(U[:, i], V[j]).ravel(), np.outer(U[:, j], V[i]).ravel()
        twist = (slopes[i] + slopes[j]) / (s[i] + s[j])
        flip = (slopes[i] - slopes[j]) / (s[i] - s[j])
        out += 0.5 * max(twist, 0) * np.outer(up - down, up - down)
        out += 0.5 * max(flip, 0) * np.outer(up + down, up + down)
    return out


def compressed(solid, size=0.15):
    """Return random displacements of a body that is compressed, so that StVK is indefinite, too."""
    noise = size * np.random.default_rng(4).standard_normal((solid.mesh.n_nodes, 3))
    return inside(solid, noise - 0.4 * solid.mesh.nodes)


@pytest.mark.parametrize("law", [*LAWS, "mixed"])
@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_against_eigenvalues_of_all_points(kind, quadrature, law):
    """In a deformation in which many points are indefinite."""
    one = mixed(kind, quadrature) if law == "mixed" else bar(kind, material_of(law), quadrature)
    u = compressed(one)
    expected, plain = plain_definite(one, u), one.stiffness(u).to_dense()
    definite = one.stiffness(u, definite=True).to_dense()
    close(definite, expected, 1e-13)
    np.testing.assert_array_equal(definite, definite.T)
    assert np.abs(definite - plain).max() > 1e-4 * np.abs(plain).max()
    assert lowest(definite) > -1e-13 * np.abs(plain).max()


@pytest.mark.parametrize("law", ISOTROPIC)
def test_against_closed_forms_of_isotropic_laws(law):
    """One tetrahedron whose gradient is F, so that the tangent is its projected Hessian."""
    nodes = np.concatenate([np.zeros((1, 3)), np.eye(3)])
    one = material_of(law)
    solid = rf.Solid(rf.Mesh(nodes, [[0, 1, 2, 3]]), one)
    different = 0
    for G in gradients(law, np.random.default_rng(7), 30, 0.6).reshape(-1, 3, 3):
        F = 0.7 * (G + np.eye(3))
        u = nodes @ (F - np.eye(3)).T
        K = solid.stiffness(u, definite=True).to_dense()
        # rows of the last three nodes: g_a = e_a, volume 1/6
        A = 6 * K[3:, 3:].reshape(3, 3, 3, 3).transpose(1, 0, 3, 2).reshape(9, 9)
        expected = closed_form(law, one.parameters, F)
        close(A, expected, 1e-8)
        different += np.abs(K - solid.stiffness(u).to_dense()).max() > 1e-3 * np.abs(K).max()
    assert different > 10


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("law", ["StVK", "StableNeoHookean"])
def test_against_an_independent_program(shared, law, size):
    """Energies, forces, tangents and, for one of the laws, projected tangents."""
    name = {"StVK": "tangent_stvk", "StableNeoHookean": "tangent_neohookean"}[law]
    data = np.load(shared / "reference" / "integrators" / f"{name}.npz")
    material = getattr(rf, law)(*(float(data[k]) for k in ("young", "poisson", "density")))
    solid = rf.Solid(rf.Mesh(data["nodes"], data["elements"]), material)
    u = data[f"u_{size}"]
    assert solid.strain_energy(u) == pytest.approx(float(data[f"energy_{size}"]), rel=1e-12)
    close(solid.internal_force(u), data[f"force_{size}"], 1e-12)
    close(solid.stiffness(u).to_dense(), data[f"tangent_{size}"], 1e-12)
    if law == "StableNeoHookean":
        definite = solid.stiffness(u, definite=True).to_dense()
        close(definite, data[f"projected_tangent_{size}"], 1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", ["tet", "hex", "tet10", "hex20"])
def test_definite_elements_keep_their_bits(kind, law):
    """At rest all do, and beside one moved node the blocks of elements without that node."""
    solid = bar(kind, material_of(law), n=(4, 2, 2))
    rest = np.zeros_like(solid.mesh.nodes)
    for u in (None, rest, 1e-16 * np.random.default_rng(1).standard_normal(rest.shape)):
        np.testing.assert_array_equal(
            solid.stiffness(u, definite=True).data, solid.stiffness(u).data
        )
    node = int(solid.mesh.elements[0, 0])
    rest[node] = 0.3
    u = inside(solid, rest)
    around = np.zeros(solid.mesh.n_nodes, dtype=bool)
    around[solid.mesh.elements[(solid.mesh.elements == node).any(axis=1)]] = True
    plain, definite = solid.stiffness(u).to_dense(), solid.stiffness(u, definite=True).to_dense()
    rows = np.repeat(around, 3)
    assert np.abs(plain - definite).max() > 1e-4 * np.abs(plain).max()
    np.testing.assert_array_equal(definite[~rows], plain[~rows])


def test_stretched_bodies_keep_their_bits():
    """Every point is definite under tension on all sides, not only at rest."""
    for law in LAWS:
        solid = bar("hex", material_of(law))
        u = solid.mesh.nodes @ np.array([[0.1, 0.03, 0.0], [0.03, 0.12, 0.01], [0.0, 0.01, 0.11]])
        assert min(lowest(A) for *_, A in point_hessians(solid, u)) > 0
        np.testing.assert_array_equal(
            solid.stiffness(u, definite=True).data, solid.stiffness(u).data
        )


def test_same_bits_for_any_number_of_threads_and_close_for_any_variant():
    """Several slabs, and batches of which some elements are definite."""
    nodes, elements = box_hexes(32, 12, 12)
    which = np.random.default_rng(1).integers(0, len(LAWS), len(elements))
    mesh = rf.Mesh(nodes, elements, which)
    solid = rf.Solid(mesh, dict(enumerate(map(material_of, LAWS))))
    u = 0.1 * np.random.default_rng(2).standard_normal(nodes.shape)
    u[nodes[:, 0] > 16] *= 1e-16
    u = inside(solid, u)
    core = solid._core
    first = core.stiffness(u, 1, True)[0]
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(core.stiffness(u, threads, True)[0], first)
    table = [(m.law, m.parameters, m.density) for m in solid.materials.values()]
    for simd in VARIANTS:
        other = _core.Solid(mesh._core, table, mesh.regions, [], 2, simd)
        close(other.stiffness(u, 1, True)[0], first)


@pytest.mark.parametrize("law", LAWS)
def test_cut_cells_and_their_penalty(law):
    mesh = rf.voxelize(samples.load("spoon"), resolution=10)
    assert (mesh.fractions < 1).any()
    solid = rf.Solid(mesh, material_of(law))
    u = inside(solid, 0.002 * np.random.default_rng(3).standard_normal(mesh.nodes.shape))
    plain, definite = solid.stiffness(u).to_dense(), solid.stiffness(u, definite=True).to_dense()
    size = np.abs(plain).max()
    assert lowest(plain) < -1e-4 * size
    assert lowest(definite) > -1e-12 * size
    # nothing negative is added
    assert lowest(definite - plain) > -1e-12 * size


def test_projected_solids():
    solid = bar("hex", material_of("StableNeoHookean"))
    basis = 0.1 * np.random.default_rng(5).standard_normal((5, solid.mesh.n_nodes, 3))
    model, q = rf.ProjectedSolid(solid, basis), np.array([1.0, -2.0, 0.5, 1.0, 0.0])
    rows = basis.reshape(5, -1)
    for definite in (False, True):
        K = solid.stiffness(np.tensordot(q, basis, 1), definite=definite).to_dense()
        close(model.stiffness(q, definite=definite), rows @ K @ rows.T, 1e-12)
    assert lowest(model.stiffness(q, definite=True)) > 0
    assert np.abs(model.stiffness(q, definite=True) - model.stiffness(q)).max() > 0


def test_displacements_outside_of_the_domain_of_a_law():
    solid = bar("tet", material_of("NeoHookean"))
    u = -2.0 * solid.mesh.nodes * np.array([1.0, 0.0, 0.0])
    with pytest.raises(rf.InputError, match=r"^u turns element \d+ inside out"):
        solid.stiffness(u, definite=True)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("simd", [0, *VARIANTS])
def test_points_of_every_variant(law, simd):
    """Also near rest, where rotations are nearly free, and in mirrored and crushed points."""
    rng = np.random.default_rng(9)
    one = material_of(law)
    G = np.concatenate([gradients(law, rng, 40, size) for size in (0.8, 0.1, 1e-3, 1e-7)])
    if LAWS[law]["defined_inverted"] and law != "Corotated":
        flat = [np.diag(s) for s in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (-1, -1, -1), (1, 1, -1))]
        G = np.concatenate([G, np.reshape(flat, (-1, 9)) - np.eye(3).ravel()])
    *_, A = _core.law_point(law, one.parameters, G, simd)
    *_, definite = _core.law_point(law, one.parameters, G, simd, True)
    size = np.abs(A).max((1, 2))
    assert (np.abs(definite - projected(A)).max((1, 2)) <= 2e-13 * size).all()
    assert (lowest(definite) >= -2e-13 * size).all()
    same = (definite == A).all((1, 2))
    np.testing.assert_array_equal(same, lowest(A) >= -1e-13 * size)
    assert 10 < same.sum() < len(G) - 10
