"""Static compliance that a basis lacks, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf
from graded import graded_box, plain_matrix
from shapes import box_hexes

STVK = rf.StVK(young=1e6, poisson=0.3, density=1000.0)


def bar(fixed=True, cells=(4, 1, 1)):
    mesh = rf.Mesh(*box_hexes(*cells, (0.4, 0.1, 0.1)))
    return rf.Solid(mesh, STVK, fixed=mesh.nodes[:, 0] < 1e-9 if fixed else None)


def dense(solid, vectors, loads, T=None):
    """Return the shares by full inverses over the free DOFs, of free solids by inertia relief."""
    n = solid.mesh.n_nodes
    T = np.eye(3 * n) if T is None else T
    K, M = (T.T @ a.to_scipy().toarray() @ T for a in (solid.stiffness(), solid.mass()))
    held = np.zeros(3 * n, dtype=bool)
    held[(3 * solid.fixed[:, None] + np.arange(3)).ravel()] = True
    # of independent nodes, which have a row of T with a one
    own = [int(np.flatnonzero(column == 1.0)[0]) for column in T.T]
    free = ~held[own]
    K, M = K[free][:, free], M[free][:, free]
    f = (loads.reshape(len(loads), -1) @ T)[:, free]
    U = vectors.reshape(len(vectors), -1)[:, own][:, free].T
    if len(solid.fixed):
        whole = np.linalg.inv(K)
    else:
        values, R = np.linalg.eigh(K)
        R = R[:, np.argsort(np.abs(values))[:6]]
        # M-orthogonal projector that takes rigid motions out
        P = np.eye(len(K)) - R @ np.linalg.solve(R.T @ M @ R, R.T @ M)
        whole = P @ np.linalg.pinv(K, rcond=1e-10) @ P.T
        U = P @ U
    part = U @ np.linalg.solve(U.T @ K @ U, U.T)
    works = [np.einsum("mi,ij,mj->m", f, G, f) for G in (whole, part)]
    return 1.0 - works[1] / works[0]


def loads_of(solid, count=5, seed=1):
    return np.random.default_rng(seed).normal(size=(count, solid.mesh.n_nodes, 3))


@pytest.mark.parametrize("fixed", [True, False])
def test_shares_are_those_of_dense_statics(fixed):
    solid = bar(fixed)
    basis = rf.modal_derivative_basis(solid, k=2, r=4)
    loads = loads_of(solid, 40)  # more than are solved together
    found = rf.lacking_compliance(solid, basis, loads)
    assert found.shape == (40,)
    assert found == pytest.approx(dense(solid, basis.vectors, loads), abs=1e-9)
    assert found.min() > 0.01
    assert found.max() < 1.0
    # neither the length of vectors and loads matters, nor their number
    scaled = basis.vectors * np.array([1e-3, 1.0, 1e3, -2.0])[:, None, None]
    assert rf.lacking_compliance(solid, scaled, 1e200 * loads[3]) == pytest.approx(
        found[3:4], rel=1e-9
    )
    model = rf.reduce(solid, basis)
    assert rf.lacking_compliance(solid, model, loads[0].ravel())[0] == pytest.approx(found[0])
    assert rf.lacking_compliance(solid, basis, loads[:0]).shape == (0,)


def test_rigid_parts_of_vectors_of_a_free_solid_do_not_count():
    solid = bar(fixed=False)
    vectors, loads = rf.modal_derivative_basis(solid, k=2, r=3).vectors, loads_of(solid)
    moved = vectors + np.array([0.5, -0.2, 0.1])
    expected = rf.lacking_compliance(solid, vectors, loads)
    assert rf.lacking_compliance(solid, moved, loads) == pytest.approx(expected, abs=1e-8)


def test_a_full_basis_lacks_nothing_and_a_static_solution_lacks_nothing_of_its_load():
    solid = bar()
    n_free = 3 * len(solid.free)
    every = np.zeros((n_free, solid.mesh.n_nodes, 3))
    every[:, solid.free] = np.eye(n_free).reshape(n_free, -1, 3)
    loads = loads_of(solid)
    assert np.abs(rf.lacking_compliance(solid, every, loads)).max() < 1e-10
    small = solid.solve_static(1e-6 * loads[0], tol=1e-12)
    found = rf.lacking_compliance(solid, small[None], loads[:2])
    assert found[0] < 1e-6
    assert found[1] > 0.1


def test_nested_bases_lack_less_and_less():
    solid = bar(cells=(8, 2, 2))
    basis = rf.modal_derivative_basis(solid, k=4, r=14)
    weight = solid.gravity()
    shares = [float(rf.lacking_compliance(solid, basis.vectors[:r], weight)[0]) for r in (1, 5, 14)]
    assert shares[0] > shares[1] > shares[2]
    assert shares[2] < 0.05


def test_forces_of_constrained_nodes_go_to_their_masters():
    mesh = graded_box()
    solid = rf.Solid(mesh, STVK, fixed=np.flatnonzero(mesh.nodes[:, 2] < 1e-9))
    basis = rf.modal_derivative_basis(solid, k=2, r=4)
    loads = loads_of(solid)
    expected = dense(solid, basis.vectors, loads, plain_matrix(mesh))
    assert rf.lacking_compliance(solid, basis, loads) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("fixed", [True, False])
def test_bending_of_soft_and_stiff_materials_has_little_energy(fixed):
    """A bar of gel with a tip of bone bends with 1e-14 of the largest stiffness."""
    nodes, elements = box_hexes(100, 1, 1, (1.0, 0.01, 0.01))
    mesh = rf.Mesh(nodes, elements, (np.arange(100) >= 95).astype(int))
    laws = {region: rf.StVK(young, 0.3, 1000.0) for region, young in enumerate((1e4, 1e10))}
    solid = rf.Solid(mesh, laws, fixed=nodes[:, 0] < 1e-9 if fixed else None)
    x, height = nodes[:, 0], nodes[:, 2] - 0.005
    gel = np.minimum(x, 0.95)  # the bone moves rigidly
    shape, load = np.zeros((1, len(nodes), 3)), np.zeros((len(nodes), 3))
    slope = gel * (2.0 - gel)
    shape[0, :, 2] = gel**2 * (1.0 - gel / 3.0) + slope * (x - gel)
    shape[0, :, 0] = -height * slope
    load[:, 2] = np.where(x > 0.999, 1.0, 0.0)
    found = rf.lacking_compliance(solid, shape, load)
    assert 0.0 < found[0] < 0.9


def test_rigid_parts_of_vectors_do_not_count():
    solid = bar(fixed=False)
    basis = rf.modal_derivative_basis(solid, k=2, r=3)
    loads = loads_of(solid)
    size = np.abs(basis.vectors).max()
    moved = basis.vectors + 1e5 * size * np.array([1.0, 2.0, 3.0])
    wanted = rf.lacking_compliance(solid, basis, loads)
    assert rf.lacking_compliance(solid, moved, loads) == pytest.approx(wanted, abs=1e-7)


def test_models_of_other_materials_are_refused():
    solid = bar()
    model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=2, r=3))
    regions = (np.arange(4) > 1).astype(int)
    mesh = rf.Mesh(solid.mesh.nodes, solid.mesh.elements, regions)
    harder = rf.StVK(young=1e9, poisson=0.3, density=1000.0)
    other = rf.Solid(mesh, {0: STVK, 1: harder}, fixed=solid.fixed)
    with pytest.raises(rf.InputError, match="another stiffness than basis"):
        rf.lacking_compliance(other, model, other.gravity())
    assert rf.lacking_compliance(solid, model, solid.gravity()).shape == (1,)


def test_wrong_arguments_are_refused():
    solid, free = bar(), bar(fixed=False)
    basis, n = rf.modal_derivative_basis(solid, k=2, r=3), solid.mesh.n_nodes
    weight = solid.gravity()
    still = np.zeros((n, 3))
    still[solid.fixed] = 1.0
    for load in (still, 0.0 * still):
        with pytest.raises(rf.InputError, match=r"force\[1\] does no work: it is zero"):
            rf.lacking_compliance(solid, basis, [weight, load])
    with pytest.raises(
        rf.InputError, match=r"force\[0\] does no work.*only accelerates a free solid"
    ):
        rf.lacking_compliance(free, rf.modal_derivative_basis(free, k=2, r=3), free.gravity())
    twice = np.concatenate([basis.vectors, basis.vectors[:1]])
    with pytest.raises(rf.SingularMatrixError, match="linearly dependent"):
        rf.lacking_compliance(solid, twice, weight)
    with pytest.raises(rf.SingularMatrixError, match="vector 0 of the basis has no stiffness"):
        rf.lacking_compliance(free, np.ones((1, n, 3)), loads_of(free)[0])
    with pytest.raises(rf.InputError, match=r"force must have shape"):
        rf.lacking_compliance(solid, basis, weight[:-1])
    with pytest.raises(rf.InputError, match=r"basis\[0\] moves node 0, which is fixed"):
        rf.lacking_compliance(solid, np.ones((1, n, 3)), weight)
    with pytest.raises(rf.InputError, match="solid has other fixed nodes"):
        rf.lacking_compliance(free, rf.reduce(solid, basis), weight)
    with pytest.raises(rf.InputError, match="1 to 256 vectors, got 0"):
        rf.lacking_compliance(solid, np.zeros((0, n, 3)), weight)
    with pytest.warns(rf.PlausibilityWarning, match="basis was made for a solid with other fixed"):
        other = rf.Solid(solid.mesh, STVK, fixed=solid.fixed[:-1])
        rf.lacking_compliance(other, basis, weight)
