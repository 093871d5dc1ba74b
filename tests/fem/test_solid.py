"""The solid without outside data: closed forms, differences, a plain reference."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from plain_solid import CORNERS, close, isotropic, jittered, plain, rotation
from reducedfem import _core, samples
from shapes import BOXES, box_hexes, box_tets

RUBBER = rf.StVK(1e5, 0.35, 1100.0)
LAMBDA, MU = RUBBER.lame
LAW = isotropic(LAMBDA, MU)
SIMD = {"plain": 1, "avx2": 2, "avx512": 3}


def make_solid(kind, rng, quadrature=None, n=(3, 2, 2), amount=0.15, **kwargs):
    nodes, elements, _ = jittered(BOXES[kind], n, amount, rng)
    return rf.Solid(rf.Mesh(nodes, elements), RUBBER, quadrature=quadrature, **kwargs)


KINDS = [("tet", None), ("hex", 2), ("hex", 3), ("tet10", 2), ("tet10", 3)]
KINDS += [("hex20", 3), ("hex20", 4)]


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_against_the_plain_reference(kind, quadrature, rng):
    solid = make_solid(kind, rng, quadrature)
    u = 0.2 * rng.standard_normal((solid.mesh.n_nodes, 3))  # elements turn inside out: no matter
    energy, force, tangent, mass = plain(solid, u, LAW, RUBBER.density)
    close(solid.strain_energy(u), energy)
    close(solid.internal_force(u), force)
    close(solid.stiffness(u).to_dense(), tangent)
    close(solid.mass().to_dense(), mass)
    close(solid.stiffness().to_dense(), plain(solid, 0 * u, LAW, RUBBER.density)[2])


@pytest.mark.parametrize("name", SIMD)
@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_kernels_for_all_instruction_sets(name, kind, quadrature, rng):
    if not _core.simd_available(SIMD[name]):
        pytest.skip(f"this processor has no {name}")
    solid = make_solid(kind, rng, quadrature)
    table = [("StVK", [LAMBDA, MU], RUBBER.density)]
    place = np.zeros(solid.mesh.n_elements, dtype=int)
    core = _core.Solid(solid.mesh._core, table, place, [], quadrature or 2, SIMD[name])
    assert core.simd == SIMD[name]
    u = 0.1 * rng.standard_normal((solid.mesh.n_nodes, 3))
    energy, force, tangent, _ = plain(solid, u, LAW, RUBBER.density)
    close(core.strain_energy(u, 1), energy)
    close(core.internal_force(u, 1), force)
    close(rf.CSC(*core.stiffness(u, 1), tangent.shape).to_dense(), tangent)
    products = core.hessian_product(u[None], u[None, ::-1], None, 1)[0]
    close(products, solid.hessian_product(u, u[::-1]))


def test_voxels_far_from_the_origin_share_a_table():
    nodes, elements = box_hexes(3, 2, 2, (0.3, 0.2, 0.2))
    # 10000 elements away coordinates are rounded to 1e-12 of an element
    assert rf.Solid(rf.Mesh(nodes + 1000.0, elements), RUBBER)._core.congruent


def test_congruent_elements_share_a_table_without_a_difference(rng):
    nodes, elements = box_hexes(3, 2, 2, (0.3, 0.2, 0.2))
    shared = rf.Solid(rf.Mesh(nodes + 7.0, elements), RUBBER)
    assert shared._core.congruent
    moved = nodes.copy()
    moved[0, 0] -= 1e-9  # beyond rounding: every element for itself again
    alone = rf.Solid(rf.Mesh(moved, elements), RUBBER)
    assert not alone._core.congruent
    u = 0.02 * rng.standard_normal(nodes.shape)
    # the corner moved by 1e-8 of an element
    close(shared.internal_force(u), alone.internal_force(u), 1e-6)
    close(shared.mass().to_dense(), alone.mass().to_dense(), 1e-6)


# --- closed forms -----------------------------------------------------------------------


@pytest.mark.parametrize("make", BOXES.values())
@pytest.mark.parametrize("stretch", [0.1, 0.4, 1 / np.sqrt(3), 0.9, 1.0, 1.3, 2.0])
def test_confined_uniaxial_law(make, stretch):
    """F = (lambda + 2 mu) A s (s^2 - 1)/2, analytic.md C."""
    nodes, elements = make(1, 1, 1, (0.5, 0.2, 0.3))
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    u = np.zeros_like(nodes)
    u[:, 0] = (stretch - 1) * nodes[:, 0]
    pull = solid.internal_force(u)[nodes[:, 0] > 0.4, 0].sum()
    modulus = LAMBDA + 2 * MU
    # absolute, because the law passes through zero
    assert pull == pytest.approx(
        modulus * 0.06 * stretch * (stretch**2 - 1) / 2, abs=1e-13 * modulus * 0.06
    )
    energy = modulus * 0.03 * (stretch**2 - 1) ** 2 / 8
    assert solid.strain_energy(u) == pytest.approx(energy, rel=1e-12, abs=1e-25)


@pytest.mark.parametrize("make", BOXES.values())
def test_compression_peaks_at_one_over_root_three(make):
    nodes, elements = make(1, 1, 1)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    move = nodes * [1.0, 0, 0]

    def slope(stretch):
        u = (stretch - 1) * nodes * [1, 0, 0]
        return (move.ravel() @ solid.stiffness(u).to_scipy() @ move.ravel()) / (LAMBDA + 2 * MU)

    assert slope(1 / np.sqrt(3)) == pytest.approx(0, abs=1e-13)
    assert slope(0.57) < -1e-3
    assert slope(0.59) > 1e-3
    for s in (0.2, 0.8, 1.5):
        assert slope(s) == pytest.approx((3 * s * s - 1) / 2, abs=1e-13)


@pytest.mark.parametrize("make", BOXES.values())
@pytest.mark.parametrize("gamma", [-1.0, -0.2, 0.5, 2.0])
def test_simple_shear(make, gamma):
    """P11 = (lambda/2 + mu) g^2, P21 = g (mu + (lambda/2 + mu) g^2), P31 = 0."""
    nodes, elements = make(2, 1, 2)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER)
    u = np.zeros_like(nodes)
    u[:, 1] = gamma * nodes[:, 0]
    traction = solid.internal_force(u)[nodes[:, 0] > 0.9].sum(0)
    both = LAMBDA / 2 + MU
    expected = [both * gamma**2, gamma * (MU + both * gamma**2), 0]
    np.testing.assert_allclose(traction, expected, rtol=1e-12, atol=1e-12 * both)


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_patch(kind, quadrature, seed):
    """Any linear u gives constant strain: inner forces vanish, the energy is exact.

    Bent edges of ten-node tetrahedra make the integrand cubic, beyond the rule of four points.
    """
    rng = np.random.default_rng(seed)
    bend = 0.03 if (kind, quadrature) != ("tet10", 2) else 0.0
    nodes, elements, inner = jittered(BOXES[kind], (3, 3, 3), 0.2, rng, (0.3, 0.4, 0.5), bend)
    assert inner.sum() == {"tet10": 125, "hex20": 44}.get(kind, 8)
    solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER, quadrature=quadrature)
    gradient = 0.4 * rng.standard_normal((3, 3))
    u = nodes @ gradient.T + rng.standard_normal(3)
    force = solid.internal_force(u)
    assert np.abs(force[inner]).max() < 1e-12 * np.abs(force).max()
    E = 0.5 * (gradient + gradient.T + gradient.T @ gradient)
    density = 0.5 * LAMBDA * np.trace(E) ** 2 + MU * (E * E).sum()
    assert solid.strain_energy(u) == pytest.approx(density * 0.06, rel=1e-12)
    assert solid.volume == pytest.approx(0.06, rel=1e-13)


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
@pytest.mark.parametrize("angle", [0.01, 1.0, np.pi / 2, np.pi, 5.0])
def test_rigid_motion_costs_nothing(kind, quadrature, angle, rng):
    solid = make_solid(kind, rng, quadrature)
    x = solid.mesh.nodes
    u = x @ rotation([1, 2, -1], angle).T - x + [100.0, -20.0, 3.0]
    # forces are of order E L^2 = 1e5 N per unit strain; the strain is rounding of u/L
    strain = 1e-14 * 100
    assert np.abs(solid.internal_force(u)).max() < 1e5 * strain
    assert abs(solid.strain_energy(u)) < 1e5 * strain**2


def test_small_displacements_keep_their_digits(rng):
    """R(e v)/e tends to K0 v without cancellation, down to tiny e."""
    solid = make_solid("hex", rng)
    v = rng.standard_normal((solid.mesh.n_nodes, 3))
    linear = (solid.stiffness().to_scipy() @ v.ravel()).reshape(-1, 3)
    for e in (1e-9, 1e-13, 1e-30, 1e-100):
        # the quadratic part is of relative size e
        close(solid.internal_force(e * v) / e, linear, 1e-13 + 100 * e)


# --- derivatives -------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_force_is_the_gradient_of_the_energy(kind, quadrature, rng):
    """W is quartic along a line: five points give its slope exactly, to rounding."""
    solid = make_solid(kind, rng, quadrature)
    u, v = 0.1 * rng.standard_normal((2, solid.mesh.n_nodes, 3))
    weights = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    slope = sum(w * solid.strain_energy(u + k * v) for k, w in weights.items())
    assert slope == pytest.approx((solid.internal_force(u) * v).sum(), rel=1e-11)


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_tangent_is_the_derivative_of_the_force(kind, quadrature, rng):
    """R is cubic along a line: the same five points are exact."""
    solid = make_solid(kind, rng, quadrature)
    u, v = 0.1 * rng.standard_normal((2, solid.mesh.n_nodes, 3))
    weights = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    slope = sum(w * solid.internal_force(u + k * v) for k, w in weights.items())
    close((solid.stiffness(u).to_scipy() @ v.ravel()).reshape(-1, 3), slope, 1e-11)


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_hessian_product_is_the_second_derivative(kind, quadrature, rng):
    """d2/ds dt R(s a + t b): odd parts cancel in the symmetric difference of a cubic."""
    solid = make_solid(kind, rng, quadrature)
    a, b = 0.1 * rng.standard_normal((2, solid.mesh.n_nodes, 3))
    R = solid.internal_force
    second = (R(a + b) + R(-a - b) - R(a - b) - R(b - a)) / 4
    # the difference of the quadratic parts: (H:(a+b))(a+b) - (H:(a-b))(a-b) = 4 (H:a) b
    close(solid.hessian_product(a, b), second, 1e-11)
    close(solid.hessian_product(a, b), solid.hessian_product(b, a))
    flat = solid.hessian_product(a.ravel(), b.ravel())
    np.testing.assert_array_equal(flat, solid.hessian_product(a, b))


# --- matrices -----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_mass_sums_and_signs(kind, quadrature, rng):
    solid = make_solid(kind, rng, quadrature)
    n = solid.mesh.n_nodes
    mass, lumped = solid.mass().to_dense(), solid.mass(lumped=True).to_dense()
    for axis in range(3):
        e = np.tile(np.eye(3)[axis], n)
        assert e @ mass @ e == pytest.approx(RUBBER.density, rel=1e-13)  # unit volume
        assert e @ lumped @ e == pytest.approx(RUBBER.density, rel=1e-13)
    assert solid.total_mass == pytest.approx(RUBBER.density, rel=1e-13)
    np.testing.assert_array_equal(mass, mass.T)
    assert np.linalg.eigvalsh(mass).min() > 0
    np.testing.assert_array_equal(lumped, np.diag(np.diag(lumped)))
    if kind not in ("tet10", "hex20"):  # whose row sums are not positive
        np.testing.assert_allclose(np.diag(lumped), mass.sum(1), rtol=1e-13)


def test_exact_hex_mass():
    """On a box M = rho V (2/3 1/3; 1/3 2/3)^(x3) / 8, by either quadrature."""
    line = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6
    bits = (CORNERS + 1) // 2
    expected = np.ones((8, 8))
    for axis in range(3):
        expected *= line[np.ix_(bits[:, axis], bits[:, axis])]
    nodes, elements = box_hexes(1, 1, 1, (0.5, 0.2, 0.1))
    order = elements[0]
    for quadrature in (2, 3):
        solid = rf.Solid(rf.Mesh(nodes, elements), RUBBER, quadrature=quadrature)
        mass = solid.mass().to_dense()[::3, ::3][np.ix_(order, order)]
        np.testing.assert_allclose(mass, 0.01 * RUBBER.density * expected, rtol=1e-14)


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_stiffness_is_symmetric_and_knows_rigid_motions(kind, quadrature, rng):
    solid = make_solid(kind, rng, quadrature)
    u = 0.1 * rng.standard_normal((solid.mesh.n_nodes, 3))
    K = solid.stiffness(u).to_dense()
    np.testing.assert_array_equal(K, K.T)
    K0 = solid.stiffness().to_dense()
    x = solid.mesh.nodes
    rigid = [np.tile(e, (len(x), 1)) for e in np.eye(3)] + [np.cross(e, x) for e in np.eye(3)]
    for mode in rigid:
        assert np.abs(K0 @ mode.ravel()).max() < 1e-13 * np.abs(K0).max() * len(x)
    # nothing else costs nothing
    values = np.linalg.eigvalsh(K0)
    assert values[5] < 1e-10 * values[-1] < 1e-4 * values[-1] < values[6] * 10


def test_sparse_matrices_are_well_formed(rng):
    solid = make_solid("hex", rng)
    for matrix in (solid.mass(), solid.mass(lumped=True), solid.stiffness()):
        assert matrix.shape == (solid.n_dofs, solid.n_dofs)
        assert matrix.nnz == len(matrix.indices) == matrix.indptr[-1]
        assert matrix.data.dtype == np.float64
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
        assert str(solid.n_dofs) in repr(matrix)
        scipy = matrix.to_scipy()
        assert scipy.format == "csc"
        scipy.check_format(full_check=True)
        again = scipy.copy()
        again.sort_indices()
        np.testing.assert_array_equal(again.indices, matrix.indices)
        np.testing.assert_array_equal(scipy.toarray(), matrix.to_dense())


# --- threads ----------------------------------------------------------------------------


@pytest.mark.usefixtures("set_threads")
@pytest.mark.parametrize("make", BOXES.values())
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_same_bits_for_any_number_of_threads(make, rng):
    # enough elements for slabs (1000 each), longest along y, nodes in random order
    nodes, elements = make(11, 25, 12)
    shuffle = rng.permutation(len(nodes))
    place = np.argsort(shuffle)
    mesh = rf.Mesh(nodes[shuffle] * [0.4, 1.0, 0.4], place[elements])
    solid = rf.Solid(mesh, RUBBER)
    u, v = 0.01 * rng.standard_normal((2, mesh.n_nodes, 3))
    stack = np.stack([u, v, u + v])

    def everything(count):
        rf.set_threads(count)
        return [
            solid.strain_energy(u),
            solid.internal_force(u),
            solid.stiffness(u).data,
            solid.hessian_product(u, v),
            solid._core.hessian_product(stack, stack[::-1], None, count),
        ]

    one = everything(1)
    for count in (2, 3, 7):
        for a, b in zip(one, everything(count), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("make", "cells"), [(box_tets, (6, 12, 6)), (box_hexes, (9, 25, 10))])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_upper_triangle_of_the_tangent_is_that_of_the_whole(make, cells, rng, set_threads):
    """Steps without damping evaluate and factorize the upper triangle only."""
    nodes, elements = make(*cells)
    shuffle = rng.permutation(len(nodes))
    mesh = rf.Mesh(nodes[shuffle] * [0.4, 1.0, 0.4], np.argsort(shuffle)[elements])
    solid = rf.Solid(mesh, RUBBER, fixed=mesh.nodes[:, 1] < 0.01)
    force = 10.0 * rng.standard_normal((mesh.n_nodes, 3))
    states = []
    for threads in (1, 3):
        set_threads(threads)
        # so little damping changes no bit, but multiplies by the whole
        for damping in (0.0, 1e-290):
            sim = rf.ImplicitNewmark(solid, 1e-3, (0.0, damping), newton_max=3)
            sim.step(force, 2)
            states.append(sim.displacement)
    assert np.abs(states[0]).max() > 1e-6
    for other in states[1:]:
        np.testing.assert_array_equal(states[0], other)


# on every node, the nearly empty cells' included
@pytest.mark.filterwarnings("ignore:force loads node:reducedfem.PlausibilityWarning")
@pytest.mark.filterwarnings("ignore:.*elements are inside out:reducedfem.PlausibilityWarning")
def test_upper_triangle_of_cut_cells_has_their_ghost_terms(rng):
    mesh = rf.voxelize(samples.load("spoon"), resolution=16)
    low = mesh.nodes[:, 0] < np.quantile(mesh.nodes[:, 0], 0.1)
    solid = rf.Solid(mesh, RUBBER, fixed=low)
    force = 1e-3 * rng.standard_normal((mesh.n_nodes, 3))
    states = []
    for damping in (0.0, 1e-290):  # as above
        sim = rf.ImplicitNewmark(solid, 1e-3, (0.0, damping), newton_max=3)
        sim.step(force, 2)
        states.append(sim.displacement)
    np.testing.assert_array_equal(*states)


def test_many_products_equal_one_by_one(rng):
    solid = make_solid("tet", rng)
    a, b = rng.standard_normal((2, 7, solid.mesh.n_nodes, 3))
    calls = []
    many = solid._core.hessian_product(a, b, lambda done, total: calls.append((done, total)), 2)
    for k in range(7):
        np.testing.assert_array_equal(many[k], solid.hessian_product(a[k], b[k]))
    assert calls[-1] == (7, 7)


# --- materials and regions ------------------------------------------------------------------


def test_regions_have_their_own_material(rng):
    nodes, elements = box_hexes(2, 1, 1, (2.0, 1.0, 1.0))
    soft, hard = rf.StVK(1e4, 0.3, 500.0), rf.StVK(1e6, 0.1, 2000.0)
    two = rf.Solid(rf.Mesh(nodes, elements, regions=[7, -2]), {7: soft, -2: hard})
    assert two.total_mass == pytest.approx(2500.0, rel=1e-13)
    assert two.materials == {7: soft, -2: hard}
    with pytest.raises(rf.InputError, match="2 materials"):
        _ = two.material
    u = 0.1 * rng.standard_normal(nodes.shape)
    force = np.zeros_like(nodes)
    energy = 0.0
    for element, material in zip(elements, (soft, hard), strict=True):
        used = np.unique(element)
        one = rf.Solid(rf.Mesh(nodes[used], np.searchsorted(used, element)[None]), material)
        assert one.material is material
        force[used] += one.internal_force(u[used])
        energy += one.strain_energy(u[used])
    close(two.internal_force(u), force)
    close(two.strain_energy(u), energy)


def test_lame_constants():
    material = rf.StVK(young=2.6e5, poisson=0.3, density=1000)
    assert material.lame == pytest.approx((1.5e5, 1e5), rel=1e-14)
    assert material == rf.StVK(2.6e5, 0.3, 1000.0)
    with pytest.raises(AttributeError):
        material.young = 1.0
    # auxetic materials are fine
    assert rf.StVK(1.0, -0.9, 1.0).lame[0] < 0


@pytest.mark.parametrize("young", [0.0, -1e5, np.nan, np.inf])
def test_bad_young(young):
    with pytest.raises(rf.InputError, match="young"):
        rf.StVK(young, 0.3, 1000)


@pytest.mark.parametrize("poisson", [0.5, 0.7, -1.0, -2.0, np.nan])
def test_bad_poisson(poisson):
    with pytest.raises(rf.InputError, match="poisson"):
        rf.StVK(1e5, poisson, 1000)


def test_incompressible_is_explained():
    with pytest.raises(rf.InputError, match=r"below 0.5, got 0.5: an incompressible"):
        rf.StVK(1e5, 0.5, 1000)


@pytest.mark.parametrize("density", [0.0, -1.0, np.nan])
def test_bad_density(density):
    with pytest.raises(rf.InputError, match="density"):
        rf.StVK(1e5, 0.3, density)


@pytest.mark.parametrize("bad", ["1e5", None, [1e5], True, 1j])
def test_material_values_are_numbers(bad):
    with pytest.raises(rf.InputTypeError, match="young must be a number"):
        rf.StVK(bad, 0.3, 1000)


def test_regions_and_materials_must_match():
    nodes, elements = box_hexes(2, 1, 1)
    mesh = rf.Mesh(nodes, elements, regions=[1, 2])
    with pytest.raises(rf.InputError, match="no entry for region 2; the mesh has regions 1, 2"):
        rf.Solid(mesh, {1: RUBBER})
    with pytest.raises(rf.InputError, match="entry for region 5, to which no element belongs"):
        rf.Solid(mesh, {1: RUBBER, 2: RUBBER, 5: RUBBER})
    with pytest.raises(rf.InputTypeError, match=r"material\[2\] must be a material .StVK or"):
        rf.Solid(mesh, {1: RUBBER, 2: 1e5})
    with pytest.raises(rf.InputTypeError, match="regions are integers"):
        rf.Solid(mesh, {1: RUBBER, "left": RUBBER})
    with pytest.raises(rf.InputTypeError, match=r"material must be a material .* or a dict"):
        rf.Solid(mesh, 1e5)


# --- arguments --------------------------------------------------------------------------------


@pytest.fixture
def box():
    return rf.Mesh(*box_hexes(2, 1, 1))


def test_fixed_nodes_as_mask_or_indices(box):
    mask = box.nodes[:, 0] == 0
    by_mask = rf.Solid(box, RUBBER, fixed=mask)
    by_index = rf.Solid(box, RUBBER, fixed=[*np.flatnonzero(mask)[::-1], 0, 0])
    np.testing.assert_array_equal(by_mask.fixed, np.flatnonzero(mask))
    np.testing.assert_array_equal(by_mask.fixed, by_index.fixed)
    np.testing.assert_array_equal(by_mask.free, np.flatnonzero(~mask))
    assert not by_mask.fixed.flags.writeable
    assert len(rf.Solid(box, RUBBER, fixed=None).fixed) == 0


@pytest.mark.parametrize("nothing", [[], np.zeros(12, dtype=bool), np.zeros(0)])
def test_a_selection_of_no_node_is_refused(box, nothing):
    """A threshold in millimetres, for example, selects no node, and the solid would be free."""
    with pytest.raises(rf.InputError, match=r"fixed selects no node; .* <= x <= .*None"):
        rf.Solid(box, RUBBER, fixed=nothing)


def test_bad_fixed_nodes(box):
    with pytest.raises(rf.InputError, match=r"fixed\[1\] is 12; nodes are numbered 0 to 11"):
        rf.Solid(box, RUBBER, fixed=[3, 12])
    with pytest.raises(rf.InputError, match=r"fixed\[0\] is -1"):
        rf.Solid(box, RUBBER, fixed=[-1])
    with pytest.raises(rf.InputError, match=r"mask of shape \(3,\).*\(12,\)"):
        rf.Solid(box, RUBBER, fixed=[True, False, True])
    with pytest.raises(rf.InputTypeError, match="bools or integers"):
        rf.Solid(box, RUBBER, fixed=[0.5])
    with pytest.raises(rf.InputError, match="got shape"):
        rf.Solid(box, RUBBER, fixed=[[1, 2]])


@pytest.mark.parametrize("dtype", [int, np.uint8, list])
def test_masks_of_integers_are_refused(box, dtype):
    """As node numbers they would fix nodes 0 and 1 only."""
    mask = box.nodes[:, 0] == 0
    numbers = mask.astype(int).tolist() if dtype is list else mask.astype(dtype)
    said = r"has an integer 0 or 1 for each of the 12 nodes, .* numpy\.asarray\({}, dtype=bool\)"
    with pytest.raises(rf.InputError, match="fixed " + said.format("fixed")):
        rf.Solid(box, RUBBER, fixed=numbers)
    with pytest.raises(rf.InputError, match="nodes " + said.format("nodes")):
        box.with_mid_edge_nodes(numbers)
    # repeated nodes are not refused, and neither is one more
    assert rf.Solid(box, RUBBER, fixed=[0, 1, 2] * 4).fixed.tolist() == [0, 1, 2]
    assert rf.Solid(box, RUBBER, fixed=[0, 1] * 7).fixed.tolist() == [0, 1]


def test_bad_mesh_and_quadrature(box):
    with pytest.raises(rf.InputTypeError, match="mesh must be a Mesh"):
        rf.Solid(box.nodes, RUBBER)
    for bad in (1, 5, 0, -2, True, "2", 2.5):
        with pytest.raises(rf.InputError, match="quadrature must be 2, 3, 4 or None"):
            rf.Solid(box, RUBBER, quadrature=bad)
    assert rf.Solid(box, RUBBER).quadrature == 2
    assert rf.Solid(box, RUBBER, quadrature=3).quadrature == 3
    assert rf.Solid(box, RUBBER, quadrature=4).quadrature == 4
    assert rf.Solid(rf.Mesh(*box_tets(1, 1, 1)), RUBBER).quadrature == 1


@pytest.mark.parametrize("name", ["internal_force", "strain_energy", "stiffness"])
def test_bad_displacements(box, name):
    call = getattr(rf.Solid(box, RUBBER), name)
    bad = np.zeros((12, 3))
    bad[4, 1] = np.nan
    with pytest.raises(rf.InputError, match=r"u\[4, 1\] is nan"):
        call(bad)
    for shape in [(11, 3), (12, 2), (35,), (0, 3), (1, 12, 3), ()]:
        with pytest.raises(rf.InputError, match=r"u must have shape \(12, 3\) or \(36,\)"):
            call(np.zeros(shape))
    with pytest.raises(rf.InputTypeError):
        call("nothing")
    np.testing.assert_array_equal(
        getattr(call([[0] * 3] * 12), "data", 0), getattr(call(np.zeros(36)), "data", 0)
    )


def test_bad_hessian_arguments(box):
    solid = rf.Solid(box, RUBBER)
    good = np.zeros((12, 3))
    bad = good.copy()
    bad[0, 0] = np.inf
    with pytest.raises(rf.InputError, match="b must have shape"):
        solid.hessian_product(good, np.zeros((3, 3)))
    with pytest.raises(rf.InputError, match="inf"):
        solid.hessian_product(bad, good)


def test_the_core_checks_for_itself(box):
    """C is the last gate: what Python lets through is refused there too."""
    table, place = [("StVK", [LAMBDA, MU], 1.0)], np.zeros(2, dtype=int)
    with pytest.raises(rf.InputError, match=r"element_material\[1\] is 1"):
        _core.Solid(box._core, table, [0, 1], [])
    with pytest.raises(rf.InputError, match="node 3 occurs twice"):
        _core.Solid(box._core, table, place, [3, 3])
    with pytest.raises(rf.InputError, match="at least one material"):
        _core.Solid(box._core, [], place, [])
    with pytest.raises(rf.InputError, match="mu and 3 lambda"):
        _core.Solid(box._core, [("StVK", [1.0, -1.0], 1.0)], place, [])
    with pytest.raises(rf.InputError, match="density"):
        _core.Solid(box._core, [("StVK", [1.0, 1.0], 0.0)], place, [])
    with pytest.raises(rf.InputError, match="quadrature must be 2, 3 or 4 for"):
        _core.Solid(box._core, table, place, [], 5)
    with pytest.raises(rf.InputError, match="simd"):
        _core.Solid(box._core, table, place, [], 2, 9)
    with pytest.raises(rf.InputTypeError, match="Mesh"):
        _core.Solid(3, table, place, [])


def test_the_mesh_lives_as_long_as_the_solid(rng):
    solid = make_solid("hex", rng)
    core = solid._core
    del solid
    n = len(core.lumped)
    assert np.isfinite(core.internal_force(np.ones((n, 3)), 1)).all()
    fixed = core.fixed
    del core
    assert fixed.shape == (0,)


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_modes_of_cut_cells_are_those_of_their_stiffness():
    """Slivers of cells have stiffness from the penalty on their faces only."""
    part = rf.Mesh(*box_hexes(1, 1, 1, (1.0, 0.31, 0.2))).surface()
    solid = rf.Solid(rf.voxelize(part.transformed(rotation=[0.9, 0.1, -0.3, 0.3]), 9), RUBBER)
    modes = solid.linear_modes(3)
    for shape, f in zip(modes.shapes, modes.frequencies, strict=True):
        force = (solid.stiffness() @ shape.reshape(-1)).reshape(-1, 3)
        inertia = (solid.mass() @ shape.reshape(-1)).reshape(-1, 3)
        rest = force - (2 * np.pi * f) ** 2 * inertia
        assert np.abs(rest).max() < 1e-6 * np.abs(force).max()
