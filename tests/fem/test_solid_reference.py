"""The solid against two independent programs: Vega FEM and CalculiX.

Data and conventions: README.md in the folders reference/vega and reference/calculix.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import reducedfem as rf

# --- Vega FEM 4.0: exact quadrature, so hexahedra with 3 points per axis ----------------

VEGA = ["hex_4x3x2", "tet_beam3_2mat"]


def relative(a, b):
    """Largest deviation over largest entry."""
    return np.abs(np.asarray(a) - np.asarray(b)).max() / np.abs(np.asarray(b)).max()


def relative_sparse(a, b):
    return abs(a - b).max() / abs(b).max()


@pytest.fixture(scope="module", params=VEGA)
def vega(request, shared):
    data = dict(np.load(shared / "reference" / "vega" / f"{request.param}.npz"))
    columns = (data["element_E"], data["element_nu"], data["element_density"])
    kinds, regions = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    materials = {i: rf.StVK(*row) for i, row in enumerate(kinds)}
    mesh = rf.Mesh(data["vertices"], data["elements"], regions.ravel())
    return rf.Solid(mesh, materials, quadrature=3), data, request.param


def vega_matrix(data, values):
    n = 3 * len(data["vertices"])
    return sp.coo_matrix((values, (data["K_row"], data["K_col"])), shape=(n, n)).tocsc()


# the data agree with a third program to 1e-12; 1e-9 is what is promised
VEGA_TOLERANCE = 1e-11


def test_vega_mass(vega):
    solid, data, name = vega
    n = solid.mesh.n_nodes
    scalar = sp.coo_matrix((data["M_val"], (data["M_row"], data["M_col"])), shape=(n, n))
    # the program's table of cube masses is off from the 8th digit on (its README)
    tolerance = 2e-7 if name.startswith("hex") else VEGA_TOLERANCE
    assert relative_sparse(solid.mass().to_scipy(), sp.kron(scalar, sp.eye(3))) < tolerance
    assert relative(solid.mass(lumped=True).data[::3], data["vertex_mass_rowsum"]) < tolerance
    assert solid.volume == pytest.approx(data["element_volume"].sum(), rel=1e-12)


def test_vega_stiffness_at_rest(vega):
    solid, data, _ = vega
    K0 = vega_matrix(data, data["K0_val"])
    assert relative_sparse(solid.stiffness().to_scipy(), K0) < VEGA_TOLERANCE


@pytest.mark.parametrize("k", range(3))
def test_vega_force_energy_tangent(vega, k):
    solid, data, _ = vega
    u = data["u"][k]
    assert relative(solid.internal_force(u).ravel(), data["R"][k]) < VEGA_TOLERANCE
    assert solid.strain_energy(u) == pytest.approx(data["energy"][k], rel=VEGA_TOLERANCE)
    K = vega_matrix(data, data["Ku_val"][k])
    assert relative_sparse(solid.stiffness(u).to_scipy(), K) < VEGA_TOLERANCE


def test_vega_hessian_products(vega):
    solid, data, _ = vega
    for a, b, expected in zip(data["hess_a"], data["hess_b"], data["hess_ab"], strict=True):
        assert relative(solid.hessian_product(a, b).ravel(), expected) < VEGA_TOLERANCE


def test_vega_needs_three_points(vega):
    """Two points per axis are another discretization: the choice is a real one."""
    solid, data, name = vega
    if name.startswith("tet"):
        pytest.skip("tetrahedra have no choice")
    two = rf.Solid(solid.mesh, solid.materials, quadrature=2)
    deviation = relative(two.internal_force(data["u"][1]).ravel(), data["R"][1])
    assert 1e-3 < deviation < 1e-1  # README: 1e-2


# --- CalculiX 2.20: two points per axis ----------------------------------------------------


@pytest.fixture(scope="module")
def elements(shared):
    return dict(np.load(shared / "reference" / "calculix" / "elements.npz"))


def element_solid(data, kind, case, quadrature=None):
    x = data[f"{kind}_X"][case]
    material = rf.StVK(*(data[f"{kind}_{name}"][case] for name in ("E", "nu", "rho")))
    return rf.Solid(rf.Mesh(x, np.arange(len(x))[None]), material, quadrature=quadrature)


@pytest.mark.parametrize("kind", ["hex", "tet"])
@pytest.mark.parametrize("case", range(6))
def test_calculix_elements(elements, kind, case):
    solid = element_solid(elements, kind, case)
    u = elements[f"{kind}_u"][case]
    # 13 digits printed
    assert relative(solid.stiffness().to_dense(), elements[f"{kind}_K_0"][case]) < 1e-12
    assert relative(solid.stiffness(u).to_dense(), elements[f"{kind}_K_u"][case]) < 1e-12
    # hexes by two points per axis; tets exact (the program's own C3D4 mass is not)
    assert relative(solid.mass().to_dense(), elements[f"{kind}_M"][case]) < 1e-12
    force = elements[f"{kind}_f"][case]
    if case == 1:  # a rigid motion: both forces are rounding, against E L^2
        scale = elements[f"{kind}_E"][case] * np.ptp(solid.mesh.nodes, axis=0).max() ** 2
        assert np.abs(solid.internal_force(u)).max() < 1e-13 * scale
    else:
        assert relative(solid.internal_force(u), force) < 1e-6  # 7 digits printed


def test_calculix_c3d4_mass_is_not_the_consistent_one(elements):
    solid = element_solid(elements, "tet", 0)
    one_point = elements["tet_M_raw_c3d4_1pt_NOT_consistent"][0]
    assert relative(solid.mass().to_dense(), one_point) > 0.1


def test_calculix_unit_cube_laws(elements):
    """Confined stretch and simple shear of one hexahedron."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    x = np.vstack([corners, np.add(corners, [0, 0, 1])])
    material = rf.StVK(elements["cf_E"], elements["cf_nu"], 1.0)
    solid = rf.Solid(rf.Mesh(x, np.arange(8)[None]), material)
    far = x[:, 0] > 0.5
    modulus = material.lame[0] + 2 * material.lame[1]
    for s, exact, printed in zip(
        elements["cf_stretch"],
        elements["cf_confined_force_exact"],
        elements["cf_confined_force_ccx"],
        strict=True,
    ):
        force = solid.internal_force((s - 1) * x * [1, 0, 0])[far, 0].sum()
        assert force == pytest.approx(exact, abs=1e-12 * modulus)
        assert force == pytest.approx(printed, rel=1e-6, abs=1e-6)
    for gamma, exact in zip(
        elements["cf_shear_gamma"], elements["cf_shear_force_exact"], strict=True
    ):
        u = np.zeros((8, 3))
        u[:, 1] = gamma * x[:, 0]
        np.testing.assert_allclose(
            solid.internal_force(u)[far].sum(0), exact, rtol=1e-12, atol=1e-12 * modulus
        )


def calculix_solid(shared, name):
    data = dict(np.load(shared / "reference" / "calculix" / f"{name}.npz"))
    nodes = np.concatenate([data["fixed_nodes"], data.get("rotated_nodes", np.zeros(0, int))])
    material = rf.StVK(data["E"], data["nu"], data["rho"])
    solid = rf.Solid(rf.Mesh(data["X"], data["conn"]), material, fixed=nodes)
    loads = np.zeros((len(data["U"]), *data["X"].shape))
    if "nodal_force" in data:
        loads[:, data["load_nodes"]] = data["nodal_force"]
    moves = np.zeros_like(loads)
    if "prescribed_u" in data:
        moves[:, data["rotated_nodes"]] = data["prescribed_u"]
    return solid, data, loads, moves


CALCULIX = ["cantilever_hex", "cantilever_tet", "twist_hex", "twist_tet", "block_hex"]


@pytest.mark.parametrize("name", CALCULIX)
def test_calculix_equilibria_without_a_solver(shared, name):
    solid, data, loads, _ = calculix_solid(shared, name)
    for k, u in enumerate(data["U"]):
        force = solid.internal_force(u)
        residual = (force - loads[k])[solid.free]
        assert np.linalg.norm(residual) < 1e-10 * np.linalg.norm(force)
        expected = data["strain_energy_check"][k]
        assert solid.strain_energy(u) == pytest.approx(expected, rel=1e-9)
        # reactions have 7 digits
        for nodes, key in (
            ("fixed_nodes", "reaction"),
            ("fixed_nodes", "reaction_fixed"),
            ("rotated_nodes", "reaction_rotated"),
        ):
            if key in data:
                assert relative(force[data[nodes]], data[key][k]) < 1e-6


@pytest.mark.parametrize("name", CALCULIX)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_calculix_static_solutions(shared, name):
    """From rest: end loads at once, rotations in steps of at most 23 degrees."""
    solid, data, loads, moves = calculix_solid(shared, name)
    for k in (0, len(data["U"]) // 2, len(data["U"]) - 1):
        steps = 1 if "cantilever" in name else 4
        u, report = solid.solve_static(loads[k], steps=steps, prescribed=moves[k], report=True)
        assert relative(u, data["U"][k]) < 1e-8
        assert report.load_steps == steps
        force = solid.internal_force(u)
        if "torque" in data:
            nodes = data["rotated_nodes"]
            arm = data["X"][nodes] + u[nodes] - data["centre"] - data["translation"][k]
            torque = np.cross(arm, force[nodes]).sum(0)
            assert relative(torque, data["torque"][k]) < 1e-6
            assert relative(force[nodes], data["reaction_rotated"][k]) < 1e-6


def test_analytic_uniaxial_table(shared):
    data = np.load(shared / "reference" / "analytic.npz")
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    material = rf.StVK(1e3, 0.3, 1.0)
    solid = rf.Solid(rf.Mesh(x, [[0, 1, 2, 3]]), material)
    modulus = material.lame[0] + 2 * material.lame[1]
    for s, g, dg in zip(
        data["uniaxial_stretch"], data["uniaxial_g"], data["uniaxial_dg"], strict=True
    ):
        u = (s - 1) * x * [1, 0, 0]
        # one tet of volume 1/6: P11 = modulus g, force on node 1 is V P11
        assert solid.internal_force(u)[1, 0] == pytest.approx(modulus * g / 6, abs=1e-12 * modulus)
        slope = solid.stiffness(u).to_dense()[3, 3]
        assert slope == pytest.approx(modulus * dg / 6, abs=1e-12 * modulus)
