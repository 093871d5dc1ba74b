"""Modes, derivatives and bases of systems that are not solids: a Fermi-Pasta-Ulam chain."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from shapes import box_hexes

N = 40
ALPHA, BETA = 0.7, 0.3
MASSES = 1.0 + 0.3 * np.sin(np.arange(N))


def force(x):
    """Springs d + alpha d^2 + beta d^3 between neighbours, walls at both ends."""
    d = np.diff(x, prepend=0.0, append=0.0)
    pull = d + ALPHA * d**2 + BETA * d**3
    return pull[:-1] - pull[1:]


def tangent(x):
    d = np.diff(x, prepend=0.0, append=0.0)
    k = 1.0 + 2.0 * ALPHA * d + 3.0 * BETA * d**2
    return np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)


class HessianProduct:
    """d2/ds dt force(s a + t b) at rest."""

    def __call__(self, a, b):
        da = np.diff(a, prepend=0.0, append=0.0)
        db = np.diff(b, prepend=0.0, append=0.0)
        pull = 2.0 * ALPHA * da * db
        return pull[:-1] - pull[1:]


def make(hessian=None):
    return rf.SecondOrderSystem(np.diag(MASSES), tangent(np.zeros(N)), hessian or HessianProduct())


@pytest.fixture(scope="module")
def chain():
    return make()


# --- the system ----------------------------------------------------------------------------------


def test_the_oracle_itself(rng):
    x, a, b = rng.standard_normal((3, N))
    h = 1e-5
    difference = (force(x + h * a) - force(x - h * a)) / (2 * h)
    # central differences: h^2 of the third derivative, and rounding over h
    np.testing.assert_allclose(difference, tangent(x) @ a, atol=1e-8)
    second = (tangent(h * a) - tangent(-h * a)) @ b / (2 * h)
    np.testing.assert_allclose(second, HessianProduct()(a, b), atol=1e-8)


def test_every_form_of_a_matrix_is_the_same_system(chain):
    dense = tangent(np.zeros(N))
    sparse = scipy.sparse.csc_matrix(dense)
    own = rf.CSC(sparse.data, sparse.indices, sparse.indptr, sparse.shape)
    twice = scipy.sparse.coo_matrix(
        (np.tile(0.5 * sparse.tocoo().data, 2), np.tile(sparse.tocoo().coords, 2))
        if hasattr(sparse.tocoo(), "coords")
        else (
            np.tile(0.5 * sparse.tocoo().data, 2),
            (np.tile(sparse.tocoo().row, 2), np.tile(sparse.tocoo().col, 2)),
        ),
        shape=(N, N),
    )
    expected = chain.linear_modes(5)
    np.testing.assert_array_equal(chain.stiffness.to_dense(), dense)
    np.testing.assert_array_equal(chain.mass.to_dense(), np.diag(MASSES))
    for form in (sparse, sparse.tocsr(), own, twice, dense.tolist()):
        system = rf.SecondOrderSystem(scipy.sparse.diags(MASSES), form)
        np.testing.assert_array_equal(system.stiffness.to_dense(), dense)
        np.testing.assert_array_equal(system.linear_modes(5).shapes, expected.shapes)
    assert "no hessian_product" in repr(system)


def test_modes_of_a_uniform_chain_in_closed_form():
    n = 60
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    system = rf.SecondOrderSystem(np.eye(n), K)
    modes = system.linear_modes(10)
    j = np.arange(1, 11)
    # omega_j = 2 sin(j pi / (2 (n + 1)))
    omega = 2.0 * np.sin(j * np.pi / (2 * (n + 1)))
    np.testing.assert_allclose(modes.eigenvalues, omega**2, rtol=1e-10)
    np.testing.assert_allclose(modes.frequencies, omega / (2 * np.pi), rtol=1e-10)
    shape = np.sin(np.pi / (n + 1) * np.outer(j, np.arange(1, n + 1)))
    cosines = np.einsum("kn,kn->k", modes.shapes, shape) / np.linalg.norm(shape, axis=1)
    np.testing.assert_allclose(np.abs(cosines), 1.0, rtol=1e-10)


def test_derivatives_solve_their_equation(chain):
    modes = chain.linear_modes(4)
    phi = chain.modal_derivatives(modes)
    K = tangent(np.zeros(N))
    for p, (i, j) in enumerate(zip(*np.triu_indices(4), strict=True)):
        expected = -np.linalg.solve(K, HessianProduct()(modes.shapes[j], modes.shapes[i]))
        np.testing.assert_allclose(phi[p], expected, atol=1e-11 * np.abs(phi).max())


def test_derivatives_are_those_of_the_static_response(chain):
    """Equation 2.55: second differences of x(p), C(x(p)) = A Psi Lambda p."""
    modes = chain.linear_modes(3)
    phi = chain.modal_derivatives(modes)

    def response(p):
        load = MASSES * ((modes.eigenvalues * p) @ modes.shapes)
        x = p @ modes.shapes
        for _ in range(30):
            x = x - np.linalg.solve(tangent(x), force(x) - load)
        return x

    h = 1e-3
    for q, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True)):
        ei, ej = h * np.eye(3)[i], h * np.eye(3)[j]
        difference = (
            response(ei + ej) - response(ei - ej) - response(ej - ei) + response(-ei - ej)
        ) / (4 * h * h)
        # h^2 of the fourth derivative and rounding over h^2: both some 1e-9 of x
        np.testing.assert_allclose(difference, phi[q], atol=1e-5 * np.abs(phi).max())


def test_the_basis_is_that_of_equation_2_52(chain):
    k, r = 4, 9
    modes = chain.linear_modes(k)
    phi = chain.modal_derivatives(modes)
    value = modes.eigenvalues
    candidates = list(modes.shapes * (value[0] / value)[:, None])
    for p, (i, j) in enumerate(zip(*np.triu_indices(k), strict=True)):
        unit = phi[p] / np.sqrt(phi[p] @ (MASSES * phi[p]))
        candidates.append(unit * value[0] ** 2 / (value[i] * value[j]))
    z = np.array(candidates) * np.sqrt(MASSES)
    singular = np.linalg.svd(z, compute_uv=False)
    right = np.linalg.svd(z)[2][:r] / np.sqrt(MASSES)
    basis = rf.modal_derivative_basis(chain, k=k, r=r)
    assert basis.vectors.shape == (r, N)
    assert basis.matrix.shape == (N, r)
    np.testing.assert_allclose(basis.singular_values, singular[:r], atol=1e-12)
    np.testing.assert_allclose(basis.spectrum, singular, atol=1e-12)
    gram = basis.matrix.T @ (MASSES[:, None] * basis.matrix)
    np.testing.assert_allclose(gram, np.eye(r), atol=1e-10)
    cosines = np.abs(np.einsum("rn,n,rn->r", basis.vectors, MASSES, right))
    # directions of singular values 1e-4 apart are known to 1e-12 over that
    np.testing.assert_allclose(cosines, 1.0, atol=1e-7)
    again = rf.mass_pca(chain, candidates, r)
    np.testing.assert_allclose(again.vectors, basis.vectors, atol=1e-7)
    assert "unknowns" in repr(basis)
    assert type(pickle.loads(pickle.dumps(basis))) is rf.SystemBasis
    assert type(pickle.loads(pickle.dumps(modes))) is rf.SystemModes
    np.testing.assert_allclose(basis.provenance["frequencies_hz"], modes.frequencies, rtol=1e-14)


def test_a_mass_matrix_with_off_diagonal_entries(rng):
    """Mass-PCA with a full mass matrix against the Cholesky factor of NumPy."""
    root = rng.standard_normal((12, 12))
    mass = root @ root.T + 12 * np.eye(12)
    mass = 0.5 * (mass + mass.T)
    system = rf.SecondOrderSystem(mass, np.diag(np.arange(1.0, 13.0)))
    vectors, weights = rng.standard_normal((20, 12)), rng.random(20)
    basis = rf.mass_pca(system, vectors, 7, weights)
    L = np.linalg.cholesky(mass)
    left, singular, _ = np.linalg.svd(L.T @ (vectors * weights[:, None]).T)
    np.testing.assert_allclose(basis.spectrum, singular, rtol=1e-12)
    expected = np.linalg.solve(L.T, left[:, :7])
    cosines = np.abs(np.sum(basis.matrix * (mass @ expected), axis=0))
    np.testing.assert_allclose(cosines, 1.0, atol=1e-10)


def test_a_solid_as_a_system_gives_the_modes_of_the_solid():
    nodes, elements = box_hexes(4, 2, 2, (0.4, 0.1, 0.07))
    fixed = np.flatnonzero(nodes[:, 0] == 0)
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1000.0), fixed)
    dofs = (3 * solid.free[:, None] + np.arange(3)).ravel()

    def product(a, b):
        fields = np.zeros((2, solid.n_dofs))
        fields[:, dofs] = a, b
        return solid.hessian_product(*fields.reshape(2, -1, 3)).ravel()[dofs]

    system = rf.SecondOrderSystem(
        solid.mass().to_scipy()[dofs][:, dofs], solid.stiffness().to_scipy()[dofs][:, dofs], product
    )
    modes, own = solid.linear_modes(4), system.linear_modes(4)
    np.testing.assert_allclose(own.eigenvalues, modes.eigenvalues, rtol=1e-9)
    one, other = (rf.modal_derivative_basis(thing, k=4, r=8) for thing in (solid, system))
    # repeated modes are ordered differently, which turns the basis in its space only
    np.testing.assert_allclose(other.singular_values, one.singular_values, rtol=1e-6)
    M = solid.mass().to_dense()[np.ix_(dofs, dofs)]
    cosines = np.linalg.svd(one.matrix[dofs].T @ M @ other.matrix, compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-6)


# --- the reduced motion --------------------------------------------------------------------------


def simulate(project, dt, steps):
    """Central differences of U^T (A U q'' + C(U q)) = 0 from a push along the first modes."""
    U = project
    q = U.T @ (MASSES * START)
    before = q
    states = np.empty((steps, N))
    for i in range(steps):
        after = 2 * q - before - dt * dt * (U.T @ force(U @ q))
        before, q = q, after
        states[i] = U @ q
    return states


# released at rest from a long wave, where springs are 40 % stiffer or softer
START = 3.5 * np.sin(np.pi * np.arange(1, N + 1) / (N + 1))


def test_the_reduced_chain_follows_the_full_one():
    chain = make()
    dt, steps = 0.05, 3000  # two periods of the first mode
    full = simulate(np.diag(1.0 / np.sqrt(MASSES)), dt, steps)
    size = np.sqrt(np.mean(full**2))

    def error(basis):
        return np.sqrt(np.mean((simulate(basis.matrix, dt, steps) - full) ** 2)) / size

    modes = chain.linear_modes(4).shapes
    with_derivatives = error(rf.modal_derivative_basis(chain, k=4, r=8))
    modes_only = error(rf.mass_pca(chain, modes, 4))
    example = rf.pod_basis(chain, full[::10], 8)
    assert isinstance(example, rf.SystemBasis)
    assert example.provenance["method"] == "POD"
    pod = error(example)
    # measured: 5.2e-3, 1.9e-2, and 4.9e-3 of the basis made from the motion itself
    assert with_derivatives < 8e-3
    assert with_derivatives < 0.4 * modes_only
    assert with_derivatives < 2.0 * pod


# --- threads, errors -----------------------------------------------------------------------------


def test_results_do_not_depend_on_threads(chain):
    modes = chain.linear_modes(12)
    for threads in (2, 3):
        np.testing.assert_array_equal(
            chain._core.derivatives(HessianProduct(), modes.shapes, None, threads),
            chain._core.derivatives(HessianProduct(), modes.shapes, None, 1),
        )
        for a, b in zip(
            chain._core.derivative_basis(HessianProduct(), 12, 20, False, None, threads),
            chain._core.derivative_basis(HessianProduct(), 12, 20, False, None, 1),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_the_product_is_called_on_the_thread_that_asks(chain):
    seen = set()

    def product(a, b):
        seen.add(threading.get_ident())
        return HessianProduct()(a, b)

    rf.modal_derivative_basis(make(product), k=9, r=9)
    assert seen == {threading.get_ident()}


class Trouble(Exception):
    pass


def test_errors_of_the_product_arrive():
    calls = []

    def product(a, b):
        calls.append(1)
        if len(calls) > 5:
            raise Trouble("the sixth")
        return HessianProduct()(a, b)

    system = make(product)
    modes = system.linear_modes(4)
    with pytest.raises(Trouble, match="the sixth"):
        system.modal_derivatives(modes)
    # the system is usable afterwards
    calls.clear()
    with pytest.raises(Trouble):
        rf.modal_derivative_basis(system, k=4, r=4)
    assert system.linear_modes(2).shapes.shape == (2, N)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a, b: np.zeros(N + 1), r"hessian_product\(a, b\) must have shape \(40,\)"),
        (lambda a, b: np.full(N, np.nan), r"hessian_product\(a, b\)\[0\] is nan"),
        (lambda a, b: "much", r"hessian_product\(a, b\) must be an array"),
    ],
)
def test_results_of_the_product_are_checked_at_every_call(wrong, message):
    calls = []

    def product(a, b):
        calls.append(1)
        return HessianProduct()(a, b) if len(calls) <= 2 else wrong(a, b)

    system = make(product)
    with pytest.raises(rf.ReducedFEMError, match=message):
        system.modal_derivatives(system.linear_modes(3))
    calls.extend([1, 1])
    with pytest.raises(rf.ReducedFEMError, match=message):
        make(wrong)


def test_an_unsymmetric_product_is_refused():
    with pytest.raises(rf.InputError, match="not symmetric: with its two vectors exchanged"):
        make(lambda a, b: a * np.roll(b, 1))


def changed(matrix, place, value):
    result = np.array(matrix, dtype=float)
    result[place] = value
    return result


@pytest.mark.parametrize(
    ("mass", "stiffness", "error", "message"),
    [
        (np.eye(3), np.eye(4), rf.InputError, r"mass is \(3, 3\), but stiffness is \(4, 4\)"),
        (np.ones((2, 3)), np.eye(2), rf.InputError, r"mass must have shape \(n, n\)"),
        (np.eye(3), np.ones(3), rf.InputError, r"stiffness must have shape \(n, n\), got \(3,\)"),
        (np.eye(3), changed(np.eye(3), (0, 1), 1.0), rf.InputError, "without a partner"),
        (
            np.eye(3),
            changed(changed(np.eye(3), (0, 1), 0.5), (1, 0), 0.4),
            rf.InputError,
            r"not symmetric: its entries at \(\d, \d\) .* differ by 0.1",
        ),
        (np.eye(3), np.diag([1.0, 0.0, 1.0]), rf.InputError, "no entry on the diagonal at 1"),
        (
            np.eye(3),
            np.diag([1.0, -2.0, 1.0]),
            rf.SingularMatrixError,
            "^the stiffness is not positive",
        ),
        (np.diag([1.0, -1.0, 1.0]), np.eye(3), rf.SingularMatrixError, "mass is not positive"),
        (changed(np.eye(3), (1, 1), np.nan), np.eye(3), rf.InputError, r"mass\[1, 1\] is nan"),
        ([["a"]], np.eye(1), rf.InputTypeError, "mass must be an array of real numbers"),
        (np.zeros((0, 0)), np.zeros((0, 0)), rf.InputError, r"mass must have shape \(n, n\)"),
        (
            rf.CSC(np.ones(2), np.array([0, 3]), np.array([0, 1, 2]), (2, 2)),
            np.eye(2),
            rf.InputError,
            "mass is no valid sparse matrix",
        ),
        (
            rf.CSC(np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3]), (2, 2)),
            np.eye(2),
            rf.InputError,
            r"mass has the entry \(0, 0\) twice",
        ),
    ],
)
def test_bad_matrices(mass, stiffness, error, message):
    with pytest.raises(error, match=message):
        rf.SecondOrderSystem(mass, stiffness)


def test_bad_arguments(chain):
    bare = rf.SecondOrderSystem(np.eye(4), np.diag([1.0, 2, 3, 4]))
    with pytest.raises(rf.InputTypeError, match="hessian_product must be callable, got int"):
        rf.SecondOrderSystem(np.eye(4), np.eye(4), 3)
    with pytest.raises(rf.InputError, match="no hessian_product"):
        bare.modal_derivatives(np.eye(4))
    with pytest.raises(rf.InputError, match="no hessian_product"):
        rf.modal_derivative_basis(bare, k=2)
    for call in (bare.linear_modes, lambda k: rf.modal_derivative_basis(chain, k)):
        for k in (0, 40):
            with pytest.raises(rf.InputError, match="k must be between 1 and"):
                call(k)
    with pytest.raises(rf.InputError, match=r"modes must have shape \(k, 40\)"):
        chain.modal_derivatives(np.zeros((2, 39)))
    with pytest.raises(rf.InputError, match=r"vectors must have shape \(any, 4\)"):
        rf.mass_pca(bare, np.zeros((2, 5)))
    with pytest.raises(rf.InputError, match="r must be between 1 and 2"):
        rf.mass_pca(bare, np.eye(4)[:2], 3)
    with pytest.raises(rf.InputError, match="numerical rank 1"):
        rf.mass_pca(bare, np.ones((2, 4)), 2)
    with pytest.raises(rf.InputError, match="not finite"):
        rf.mass_pca(bare, np.full((2, 4), 1e300), 1, [1e300, 1.0])
    assert rf.mass_pca(bare, np.ones((2, 4))).r == 1
    with pytest.raises(rf.InputError, match=r"vectors must have shape \(r, n\), r at least 1"):
        rf.SystemBasis(np.ones((2, 3, 3)), [1, 1], [1, 1])
    with pytest.raises(rf.InputError, match=r"shapes must have shape \(k, n\), k at least 1"):
        rf.SystemModes([1], [1], np.ones((1, 4, 3)))
    # a basis of unknowns does not fit a solid
    nodes, elements = box_hexes(1, 1, 1)
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e6, 0.3, 1.0), fixed=[0, 1, 2, 3])
    with pytest.raises(rf.InputError):
        rf.reduce(solid, rf.mass_pca(bare, np.eye(4)))
    with pytest.raises(rf.InputError):
        rf.merge_bases(solid, [rf.mass_pca(bare, np.eye(4))])


def test_a_stop_is_noticed(chain):
    def stop(done, total):
        raise KeyboardInterrupt

    def slow(a, b):
        threading.Event().wait(0.01)
        return HessianProduct()(a, b)

    system = make(slow)
    with pytest.raises(KeyboardInterrupt):
        system.modal_derivatives(system.linear_modes(10), progress=stop)


def test_a_system_can_be_pickled_and_is_not_changed_from_outside(chain):
    again = pickle.loads(pickle.dumps(chain))
    np.testing.assert_array_equal(again.linear_modes(3).shapes, chain.linear_modes(3).shapes)
    with pytest.raises(ValueError, match="read-only"):
        chain.stiffness.data[0] = 1.0
    mine = np.diag(MASSES)
    system = rf.SecondOrderSystem(mine, tangent(np.zeros(N)))
    mine[:] = 0.0
    np.testing.assert_array_equal(system.linear_modes(3).shapes, chain.linear_modes(3).shapes)


def test_live_blocks_return():
    before = live_blocks()
    system = make()
    rf.modal_derivative_basis(system, k=3, r=5)
    del system
    with pytest.raises(rf.SingularMatrixError):
        rf.SecondOrderSystem(np.eye(3), np.diag([1.0, -2.0, 1.0]))
    check_live_blocks(before)


def test_matrices_of_the_caller_stay_as_they_are():
    """With entries in parts, which the library adds up in a copy."""
    data, rows, columns = [2.0, 1.0, 3.0], [0, 0, 1], [0, 2, 3]
    mass = scipy.sparse.csc_array((np.array(data), np.array(rows), np.array(columns)), shape=(2, 2))
    system = rf.SecondOrderSystem(mass, np.eye(2))
    np.testing.assert_array_equal(system.mass.to_dense(), np.diag([3.0, 3.0]))
    np.testing.assert_array_equal(mass.data, data)
    np.testing.assert_array_equal(mass.indptr, columns)
