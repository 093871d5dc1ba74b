"""General linear materials (Barbic 2007, equation 2.14) against plain references."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import reducedfem as rf
from plain_solid import close, jittered, plain, rotation
from reducedfem import _core
from shapes import BOXES, box_hexes

VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
SIMD = {"plain": 1, "avx2": 2, "avx512": 3}
KINDS = [("tet", None), ("hex", 2), ("hex", 3), ("tet10", 2), ("tet10", 3)]
KINDS += [("hex20", 3), ("hex20", 4)]
RUBBER = rf.StVK(1e5, 0.35, 1100.0)
MUSCLE = rf.LinearElastic.fibres((1.0, 2.0, -0.5), 9e5, 1e5, 0.4, 0.45, 6e4, 1060.0)
WOOD = rf.LinearElastic.orthotropic((1.1e9, 8e8, 1.2e10), (0.03, 0.4, 0.35), (7e8, 6e8, 8e7), 500.0)


def tensor(matrix):
    """C_ijkl from Voigt's matrix, entry by entry."""
    law = np.empty((3, 3, 3, 3))
    for row, (i, j) in enumerate(VOIGT):
        for column, (k, m) in enumerate(VOIGT):
            for a, b in ((i, j), (j, i)):
                law[a, b, k, m] = law[a, b, m, k] = matrix[row, column]
    return law


def any_material(rng, density=900.0):
    """21 constants without any symmetry, about 1e5 Pa."""
    root = rng.standard_normal((6, 6))
    return rf.LinearElastic(1e5 * (np.eye(6) + 0.1 * root @ root.T), density)


def make_solid(kind, material, rng, quadrature=None, n=(3, 2, 2)):
    nodes, elements, _ = jittered(BOXES[kind], n, 0.15, rng)
    return rf.Solid(rf.Mesh(nodes, elements), material, quadrature=quadrature)


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_against_the_plain_reference(kind, quadrature, rng):
    material = any_material(rng)
    solid = make_solid(kind, material, rng, quadrature)
    law = tensor(material.stiffness)
    u = 0.2 * rng.standard_normal((solid.mesh.n_nodes, 3))
    energy, force, tangent, mass = plain(solid, u, law, material.density)
    close(solid.strain_energy(u), energy)
    close(solid.internal_force(u), force)
    close(solid.stiffness(u).to_dense(), tangent)
    close(solid.mass().to_dense(), mass)


@pytest.mark.parametrize("name", SIMD)
@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_kernels_for_all_instruction_sets(name, kind, quadrature, rng):
    if not _core.simd_available(SIMD[name]):
        pytest.skip(f"this processor has no {name}")
    materials = [any_material(rng), any_material(rng)]
    nodes, elements, _ = jittered(BOXES[kind], (3, 2, 2), 0.15, rng)
    mesh = rf.Mesh(nodes, elements)
    place = rng.integers(0, 2, mesh.n_elements)
    both = rf.Solid(
        rf.Mesh(nodes, elements, place), dict(enumerate(materials)), quadrature=quadrature
    )
    table = [("LinearElastic", m.stiffness.ravel(), m.density) for m in materials]
    core = _core.Solid(mesh._core, table, place, [], quadrature or 2, SIMD[name])
    u = 0.1 * rng.standard_normal((mesh.n_nodes, 3))
    close(core.strain_energy(u, 1), both.strain_energy(u))
    close(core.internal_force(u, 1), both.internal_force(u))
    close(core.stiffness(u, 1)[0], both.stiffness(u).data)
    products = core.hessian_product(u[None], u[None, ::-1], None, 1)[0]
    close(products, both.hessian_product(u, u[::-1]))


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_stvk_is_a_special_case(kind, quadrature, rng):
    general = rf.LinearElastic(RUBBER.stiffness, RUBBER.density)
    a = make_solid(kind, RUBBER, np.random.default_rng(1), quadrature)
    b = make_solid(kind, general, np.random.default_rng(1), quadrature)
    u = 0.1 * rng.standard_normal((a.mesh.n_nodes, 3))
    v = rng.standard_normal(u.shape)
    assert b.strain_energy(u) == pytest.approx(a.strain_energy(u), rel=1e-13)
    close(b.internal_force(u), a.internal_force(u))
    close(b.stiffness(u).data, a.stiffness(u).data)
    close(b.hessian_product(u, v), a.hessian_product(u, v))
    # isotropic: no rotation of the material shows
    turned = general.rotated(rotation([1, 2, 3], 0.7))
    close(turned.stiffness, general.stiffness)
    # and the two kinds may stand side by side
    regions = np.arange(a.mesh.n_elements) % 2
    mesh = rf.Mesh(a.mesh.nodes, a.mesh.elements, regions)
    mixed = rf.Solid(mesh, {0: RUBBER, 1: general}, quadrature=quadrature)
    close(mixed.internal_force(u), a.internal_force(u))


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_hessian_product_is_the_second_derivative(kind, quadrature, rng):
    solid = make_solid(kind, any_material(rng), rng, quadrature)
    a, b = rng.standard_normal((2, solid.mesh.n_nodes, 3))
    # the tangent is quadratic in u: a central difference has no error but rounding
    h = 1e-3
    up, down = solid.stiffness(h * a).to_scipy(), solid.stiffness(-h * a).to_scipy()
    expected = ((up - down) @ b.ravel() / (2 * h)).reshape(b.shape)
    close(solid.hessian_product(a, b), expected, 1e-10)


@pytest.mark.parametrize("material", [MUSCLE, WOOD], ids=["muscle", "wood"])
@pytest.mark.parametrize("quadrature", [2, 3])
def test_a_turned_cube_of_turned_material(material, quadrature, rng):
    """Turning mesh, material and displacement turns the forces; the energy does not notice."""
    nodes, elements, _ = jittered(box_hexes, (2, 3, 2), 0.1, rng)
    turn = rotation([0.3, -1.0, 0.5], 1.1)
    u = 0.05 * rng.standard_normal(nodes.shape)
    still = rf.Solid(rf.Mesh(nodes, elements), material, quadrature=quadrature)
    # rows of `axes`: where x, y and z go
    moved = rf.Solid(
        rf.Mesh(nodes @ turn.T, elements), material.rotated(turn.T), quadrature=quadrature
    )
    assert moved.strain_energy(u @ turn.T) == pytest.approx(still.strain_energy(u), rel=1e-12)
    close(moved.internal_force(u @ turn.T), still.internal_force(u) @ turn.T, 1e-12)
    # without turning the material it does notice
    other = rf.Solid(rf.Mesh(nodes @ turn.T, elements), material, quadrature=quadrature)
    assert abs(other.strain_energy(u @ turn.T) / still.strain_energy(u) - 1) > 1e-2


def test_rotation_by_the_definition(rng):
    """C'_ijkl = Q_ia Q_jb Q_kc Q_ld C_abcd."""
    material = any_material(rng)
    q = rotation([1.0, -2.0, 0.4], 0.9)
    expected = np.einsum("ia,jb,kc,ld,abcd->ijkl", q, q, q, q, tensor(material.stiffness))
    close(tensor(material.rotated(q.T).stiffness), expected)
    back = material.rotated(q.T).rotated(q)
    close(back.stiffness, material.stiffness)
    quarter = WOOD.rotated([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    compliance = np.linalg.inv(quarter.stiffness)
    np.testing.assert_allclose(1 / np.diag(compliance)[:3], [8e8, 1.1e9, 1.2e10], rtol=1e-12)


def test_engineering_constants():
    compliance = np.linalg.inv(WOOD.stiffness)
    np.testing.assert_allclose(1 / np.diag(compliance), [1.1e9, 8e8, 1.2e10, 7e8, 6e8, 8e7])
    # contraction along j under tension along i
    assert -compliance[2, 1] / compliance[1, 1] == pytest.approx(0.03)
    assert -compliance[0, 2] / compliance[2, 2] == pytest.approx(0.4)
    assert -compliance[1, 0] / compliance[0, 0] == pytest.approx(0.35)


def pulled(material, direction):
    """Relative elongation and contraction of a block under small tension along x, y or z."""
    nodes, elements = box_hexes(2, 2, 2)
    axis = "xyz".index(direction)
    low, high = nodes[:, axis] == 0, nodes[:, axis] == 1
    # three nodes of the low face are enough; what they hold in the plane is little
    solid = rf.Solid(rf.Mesh(nodes, elements), material)
    stiffness = solid.stiffness().to_scipy().tolil()
    force = np.zeros_like(nodes)
    area = np.ones((3, 3))
    area[[0, 2], :] /= 2
    area[:, [0, 2]] /= 2
    other = [i for i in range(3) if i != axis]
    place = np.rint(2 * nodes[:, other]).astype(int)
    weight = area[place[:, 0], place[:, 1]] / 4
    force[high, axis], force[low, axis] = weight[high], -weight[low]
    # rigid motions by least squares
    u = np.linalg.lstsq(stiffness.toarray(), force.ravel(), rcond=1e-12)[0].reshape(-1, 3)
    strain = [np.polyfit(nodes[:, i], u[:, i], 1)[0] for i in range(3)]
    return strain[axis], [-strain[i] / strain[axis] for i in other]


def test_tension_along_and_across_fibres():
    fibres = rf.LinearElastic.fibres((0, 0, 2.0), 8e5, 1e5, 0.4, 0.3, 6e4, 1000.0)
    along, contraction = pulled(fibres, "z")
    assert along == pytest.approx(1 / 8e5, rel=1e-9)
    assert contraction == pytest.approx([0.4, 0.4], rel=1e-9)
    across, (other, lengthwise) = pulled(fibres, "x")
    assert across == pytest.approx(1 / 1e5, rel=1e-9)
    assert other == pytest.approx(0.3, rel=1e-9)
    assert lengthwise == pytest.approx(0.4 / 8, rel=1e-9)
    # without a preferred direction it is isotropic
    plainly = rf.LinearElastic.fibres((1, 1, 1), 1e5, 1e5, 0.35, 0.35, 1e5 / 2.7, 1100.0)
    close(plainly.stiffness, RUBBER.stiffness, 1e-12)


def test_models_modes_and_files(rng, tmp_path):
    nodes, elements = box_hexes(6, 2, 2, (0.6, 0.2, 0.2))
    regions = (nodes[elements].mean(axis=1)[:, 0] > 0.3).astype(int)
    mesh = rf.Mesh(nodes, elements, regions)
    solid = rf.Solid(mesh, {0: MUSCLE, 1: RUBBER}, fixed=nodes[:, 0] == 0)
    basis = rf.modal_derivative_basis(solid, k=4, r=8)
    model = rf.reduce(solid, basis)
    q = 0.05 * rng.standard_normal(8)
    u = (basis.matrix @ q).reshape(-1, 3)
    close(model.internal_force(q), basis.matrix.T @ solid.internal_force(u).ravel(), 1e-11)
    tangent = basis.matrix.T @ (solid.stiffness(u).to_scipy() @ basis.matrix)
    close(model.stiffness(q), tangent, 1e-11)
    assert model.strain_energy(q) == pytest.approx(solid.strain_energy(u), rel=1e-11)
    path = tmp_path / "muscle.safetensors"
    model.save(path)
    loaded = rf.load(path)
    assert loaded.provenance == model.provenance
    assert loaded.provenance["solid"]["law"] == "linear in Green's strain"
    np.testing.assert_array_equal(
        loaded.provenance["solid"]["materials"]["0"]["stiffness"], MUSCLE.stiffness
    )
    for other in (copy.deepcopy(solid), pickle.loads(pickle.dumps(solid))):
        np.testing.assert_array_equal(other.internal_force(u), solid.internal_force(u))


NAN = float("nan")


@pytest.mark.parametrize(
    ("stiffness", "message"),
    [
        (np.eye(5), r"stiffness must have shape \(6, 6\)"),
        (np.full((6, 6), NAN), "every value must be finite"),
        (np.eye(6) + np.eye(6, k=1), r"symmetric, but \[0, 1\] is 1 and \[1, 0\] is 0"),
        (np.diag([1.0, 1, 1, 1, 1, -1]), "positive definite, but its lowest eigenvalue is -1"),
        (np.zeros((6, 6)), "positive definite"),
    ],
)
def test_bad_stiffness(stiffness, message):
    with pytest.raises(rf.InputError, match=message):
        rf.LinearElastic(stiffness, 1000.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"density": 0.0}, "density must be positive"),
        ({"young": (1.0, -1.0, 1.0)}, r"young\[1\] must be positive"),
        ({"shear": (1.0, 1.0)}, "shear must have shape"),
        ({"poisson": (0.9, 0.9, 0.9)}, "impossible with young"),
        ({"axes": np.ones((3, 3))}, "orthonormal"),
        ({"axes": -np.eye(3)}, "right-handed"),
    ],
)
def test_bad_orthotropic(change, message):
    good = {"young": (1.0, 1, 1), "poisson": (0.3, 0.3, 0.3), "shear": (1.0, 1, 1), "density": 1.0}
    with pytest.raises(rf.InputError, match=message):
        rf.LinearElastic.orthotropic(**{**good, **change})


def test_bad_fibres():
    with pytest.raises(rf.InputError, match="direction must not be zero"):
        rf.LinearElastic.fibres((0, 0, 0), 1, 1, 0.3, 0.3, 1, 1)
    with pytest.raises(rf.InputError, match="poisson_across must be above -1"):
        rf.LinearElastic.fibres((0, 0, 1), 1, 1, 0.3, -1.0, 1, 1)
    with pytest.raises(rf.InputError, match=r"young\[0\] must be positive"):
        rf.LinearElastic.fibres((0, 0, 1), -1.0, 1, 0.3, 0.3, 1, 1)


def test_the_core_checks_for_itself():
    mesh = rf.Mesh(*box_hexes(1, 1, 1))
    for matrix, message in (
        (np.eye(6) + np.eye(6, k=1), "finite and symmetric"),
        (np.diag([1.0, 1, 1, 1, 0, 1]), "not positive definite .seen at row 4"),
    ):
        with pytest.raises(rf.InputError, match=message):
            _core.Solid(mesh._core, [("LinearElastic", matrix.ravel(), 1.0)], [0], [])
