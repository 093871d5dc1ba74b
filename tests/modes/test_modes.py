"""Linear modes and modal derivatives against closed forms, dense solvers, finite differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core
from shapes import box_hexes, box_tets

STEEL_LIKE = rf.StVK(2e6, 0.3, 1200.0)


def clamped(nodes, elements, material=STEEL_LIKE, axis=0):
    """Hold all nodes of the low end along an axis."""
    low = nodes[:, axis].min()
    return rf.Solid(
        rf.Mesh(nodes, elements), material, fixed=np.flatnonzero(nodes[:, axis] < low + 1e-12)
    )


def free_dofs(solid):
    return (3 * np.asarray(solid.free)[:, None] + np.arange(3)).ravel()


def matrices(solid):
    """Stiffness and mass over the free degrees of freedom."""
    dofs = free_dofs(solid)
    stiffness = solid.stiffness().to_scipy()[dofs][:, dofs]
    mass = solid.mass().to_scipy()[dofs][:, dofs]
    return stiffness.tocsc(), mass.tocsc()


def flat(fields):
    return fields.reshape(len(fields), -1)


SMALL = {
    "hexes, dense solver": (box_hexes(3, 2, 2, (0.3, 0.11, 0.08)), 8),
    "hexes, iteration": (box_hexes(10, 3, 4, (0.3, 0.11, 0.08)), 12),
    "tets, iteration": (box_tets(9, 3, 3, (0.3, 0.11, 0.08)), 20),
    "tets, nearly all": (box_tets(2, 1, 1, (0.3, 0.11, 0.08)), 23),
}


@pytest.mark.parametrize("case", SMALL)
def test_modes_are_those_of_a_dense_solver(case):
    (nodes, elements), k = SMALL[case]
    solid = clamped(nodes, elements)
    stiffness, mass = matrices(solid)
    modes = solid.linear_modes(k)
    values, vectors = scipy.linalg.eigh(stiffness.toarray(), mass.toarray())

    # LAPACK's own error: eps times the largest eigenvalue, which is 1e3 to 1e5 times the first
    tolerance = max(1e-10, 5e-16 * values[-1] / values[0])
    np.testing.assert_allclose(modes.eigenvalues, values[:k], rtol=tolerance)
    np.testing.assert_allclose(
        modes.frequencies, np.sqrt(modes.eigenvalues) / (2 * np.pi), rtol=1e-15
    )
    assert np.all(np.diff(modes.frequencies) >= 0)

    # if k does not cut a repeated eigenvalue the spaces agree: cosines of all angles are 1
    shapes = flat(modes.shapes)[:, free_dofs(solid)]
    cosines = np.linalg.svd(shapes @ mass @ vectors[:, :k], compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-9)
    np.testing.assert_allclose(shapes @ mass @ shapes.T, np.eye(k), atol=1e-12)

    # residuals in the metric of the equation, relative to lambda M psi
    residual = stiffness @ shapes.T - (mass @ shapes.T) * modes.eigenvalues
    assert np.all(
        np.linalg.norm(residual, axis=0)
        <= 1e-6 * np.linalg.norm((mass @ shapes.T) * modes.eigenvalues, axis=0)
    )
    assert np.all(modes.shapes[:, solid.fixed] == 0)
    assert not modes.shapes.flags.writeable


def test_rod_has_the_frequencies_of_its_equation():
    """With nu = 0 the axial motion of hexes is that of linear elements on a line.

    Their dispersion with consistent mass is known in closed form:
    omega^2 = 6 (c/h)^2 (1 - cos kh) / (2 + cos kh), k = (2 m - 1) pi / (2 L), c^2 = E/rho.
    It tends to the rod's own frequencies (2 m - 1) c / (4 L), with an error (kh)^2 / 24.
    """
    young, density, length, cells = 3e5, 800.0, 0.5, 12
    nodes, elements = box_hexes(cells, 2, 2, (length, 0.4, 0.3))
    solid = clamped(nodes, elements, rf.StVK(young, 0.0, density))
    modes = solid.linear_modes(60)
    mass = solid.mass().to_scipy()
    for m in (1, 2):
        wave = (2 * m - 1) * np.pi / (2 * length)
        field = np.zeros_like(nodes)
        field[:, 0] = np.sin(wave * nodes[:, 0])
        x = field.ravel() / np.sqrt(field.ravel() @ mass @ field.ravel())
        # one mode, or a few of equal frequency, make up the axial motion
        share = (flat(modes.shapes) @ (mass @ x)) ** 2
        j = int(np.argmax(share))
        assert share[j] == pytest.approx(1.0, abs=1e-9)
        phase = wave * length / cells
        discrete = (
            6 * young / density * (cells / length) ** 2
            * (1 - np.cos(phase)) / (2 + np.cos(phase))
        )  # fmt: skip
        assert modes.eigenvalues[j] == pytest.approx(discrete, rel=1e-11)
        rod = (2 * m - 1) / (4 * length) * np.sqrt(young / density)
        assert modes.frequencies[j] / rod - 1 == pytest.approx(phase**2 / 24, rel=0.02)


def test_slender_beam_has_the_frequencies_of_euler_and_bernoulli():
    """First bending frequency of a clamped beam, 1.8751^2 sqrt(EI / (rho A L^4)) / (2 pi).

    A hexahedron of length h in a beam one element of thickness t deep is too stiff in
    bending by the factor 1 + (h/t)^2 / 2 (nu = 0: its shear strain cannot vanish), known in
    closed form. What remains, 0.2 %, is shear, rotary inertia and the clamp at L/t = 40.
    """
    young, density, length, thick, cells = 1e7, 1000.0, 1.0, 0.025, 160
    nodes, elements = box_hexes(cells, 1, 1, (length, 0.02, thick))
    solid = clamped(nodes, elements, rf.StVK(young, 0.0, density))
    frequency = solid.linear_modes(2).frequencies
    for f, t in zip(frequency, (0.02, thick), strict=True):
        beam = 1.8751040687**2 / (2 * np.pi) * np.sqrt(young * t**2 / 12 / density) / length**2
        stiffer = np.sqrt(1 + 0.5 * (length / cells / t) ** 2)
        assert f == pytest.approx(beam * stiffer, rel=2e-3)


def test_repeated_modes_of_a_square_beam_follow_the_axes():
    nodes, elements = box_hexes(3, 3, 12, (0.1, 0.1, 0.5))
    solid = clamped(nodes, elements, axis=2)
    modes = solid.linear_modes(8)
    mass = solid.mass(lumped=True).to_scipy().diagonal().reshape(-1, 3)
    pair = [0, 1]
    assert modes.eigenvalues[0] == pytest.approx(modes.eigenvalues[1], rel=1e-10)
    share = np.einsum("kna,na->ka", modes.shapes[pair] ** 2, mass)
    share /= share.sum(axis=1, keepdims=True)
    # bending in the x z plane first, then in the y z plane; of the other direction there is
    # only the lateral contraction, of the order (nu t / L)^2
    assert share[0, 0] > 0.9
    assert share[0, 1] < 1e-3
    assert share[1, 1] > 0.9
    assert share[1, 0] < 1e-3

    # exchanging x and y maps the first to the second
    order = np.lexsort((nodes[:, 0], nodes[:, 1], nodes[:, 2]))
    swapped = np.lexsort((nodes[:, 1], nodes[:, 0], nodes[:, 2]))
    image = np.empty_like(modes.shapes[0])
    image[swapped] = modes.shapes[0][order][:, [1, 0, 2]]
    if np.sum(image * modes.shapes[1]) < 0:
        image = -image
    np.testing.assert_allclose(image, modes.shapes[1], atol=1e-8 * abs(image).max())

    # a pair that k cuts in two gives the same first vector
    one = solid.linear_modes(1)
    np.testing.assert_allclose(one.shapes[0], modes.shapes[0], atol=1e-8 * abs(image).max())


@pytest.mark.parametrize("cells", [(6, 2, 1), (12, 3, 2)])  # dense solver, iteration
def test_repeated_modes_of_identical_parts_stay_in_one_part(cells):
    """The axes do not distinguish the parts, their places do: the first lies lower."""
    first, elements = box_hexes(*cells, (0.3, 0.05, 0.03))
    second = first + np.array([0.0, 0.2, 0.0])
    solid = clamped(
        np.concatenate([first, second]), np.concatenate([elements, elements + len(first)])
    )
    modes = solid.linear_modes(6)
    # bending about y and z, and again about y
    np.testing.assert_allclose(modes.eigenvalues[::2], modes.eigenvalues[1::2], rtol=1e-9)
    assert (modes.eigenvalues[2::2] > 1.1 * modes.eigenvalues[:-2:2]).all()
    reach = np.abs(modes.shapes).max(axis=2)
    parts = np.array([reach[:, : len(first)].max(axis=1), reach[:, len(first) :].max(axis=1)])
    # the other part has rounding only
    assert parts.min(axis=0).max() < 1e-6 * parts.max()
    np.testing.assert_array_equal(parts.argmax(axis=0), [0, 1] * 3)


def test_sign_convention():
    nodes, elements = box_hexes(6, 3, 2, (0.3, 0.2, 0.1))
    for shape in flat(clamped(nodes, elements).linear_modes(10).shapes):
        largest = np.abs(shape).max()
        assert shape[np.argmax(np.abs(shape) > (1 - 1e-6) * largest)] > 0


def grid_laplacian(*shape):
    def line(n):
        return scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))

    total = scipy.sparse.csc_array((int(np.prod(shape)),) * 2)
    for axis in range(len(shape)):
        term = scipy.sparse.eye_array(1)
        for other, n in enumerate(shape):
            term = scipy.sparse.kron(term, line(n) if other == axis else scipy.sparse.eye_array(n))
        total = total + term
    return scipy.sparse.csc_array(total)


def lower(matrix):
    part = scipy.sparse.csc_array(scipy.sparse.tril(matrix))
    part.sort_indices()
    return part.data, part.indices, part.indptr


def matrix_modes(stiffness, mass, k, settings=(0, 0, 0), progress=None, threads=1):
    return _core.matrix_modes(lower(stiffness), lower(mass), k, settings, progress, threads)


@pytest.mark.parametrize("k", [1, 3, 10, 20])
def test_repeated_eigenvalues_are_complete_and_do_not_depend_on_the_start(k):
    """A cube of the Laplacian: eigenvalues of multiplicity 1, 3 and 6, in closed form."""
    shape = (11, 11, 11)
    stiffness = grid_laplacian(*shape)
    mass = 2.0 * scipy.sparse.eye_array(stiffness.shape[0]) + 0.1 * stiffness
    line = 2 - 2 * np.cos(np.pi * np.arange(1, 12) / 12)
    exact = np.sort(sum(np.meshgrid(line, line, line)).ravel())
    exact = exact / (2 + 0.1 * exact)

    results = [matrix_modes(stiffness, mass, k, (0, 0, seed)) for seed in (0, 1, 2)]
    for values, vectors, _ in results:
        np.testing.assert_allclose(values, exact[:k], rtol=1e-12)
        np.testing.assert_allclose(vectors @ mass @ vectors.T, np.eye(k), atol=1e-12)
    scale = np.abs(results[0][1]).max()
    for _, vectors, _ in results[1:]:
        # 1e-12 of the spaces, divided by the gaps of the weighting inside each (1e-3 and more)
        np.testing.assert_allclose(vectors, results[0][1], atol=1e-7 * scale)


@pytest.mark.parametrize("k", [5, 20, 40])
def test_many_identical_parts(k):
    """Thirty unconnected copies: every eigenvalue thirty times, more than one block sees."""
    part = grid_laplacian(4, 5, 6)
    copies = 30
    stiffness = scipy.sparse.csc_array(scipy.sparse.block_diag([part] * copies))
    mass = scipy.sparse.eye_array(stiffness.shape[0])
    values, vectors, _ = matrix_modes(stiffness, mass, k)
    exact = np.repeat(np.linalg.eigvalsh(part.toarray()), copies)[:k]
    np.testing.assert_allclose(values, exact, rtol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-24, 1.0, 1e24])
def test_units_of_the_mass_do_not_matter(unit):
    """A forty-fold eigenvalue takes several blocks, for any length of vectors."""
    spectrum = np.concatenate([np.ones(40), 2.0 + 0.1 * np.arange(360)])
    mass = scipy.sparse.diags_array(np.full(400, unit))
    values, vectors, _ = matrix_modes(mass * spectrum, mass, 36)
    np.testing.assert_allclose(values, np.ones(36), rtol=1e-12)
    np.testing.assert_allclose(unit * (vectors @ vectors.T), np.eye(36), atol=1e-12)


def test_scattered_spectrum(rng):
    """Random sparse matrices against scipy, with the mass far from the identity."""
    n = 900
    place = rng.integers(n, size=(2, n * n // 250))
    random = scipy.sparse.csc_array((rng.random(place.shape[1]), place), shape=(n, n))
    stiffness = scipy.sparse.csc_array(random @ random.T + scipy.sparse.eye_array(n))
    mass = scipy.sparse.diags_array(rng.uniform(0.1, 10.0, n))
    values, vectors, _ = matrix_modes(stiffness, mass, 15)
    exact, _ = scipy.linalg.eigh(stiffness.toarray(), mass.toarray())
    np.testing.assert_allclose(values, exact[:15], rtol=1e-11)
    np.testing.assert_allclose(vectors @ mass @ vectors.T, np.eye(15), atol=1e-12)


@pytest.mark.parametrize("k", [20, 60])
@pytest.mark.parametrize("gap", [1e-5, 1e-7, 1e-12])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_more_close_eigenvalues_than_the_space_holds(gap, k, rng):
    """Two hundred almost equal ones, above ten others: the space grows until it holds them."""
    band = 30.0 * (1.0 + gap * np.arange(200))
    spectrum = rng.permutation(
        np.concatenate([np.arange(1.0, 11.0), band, np.linspace(36, 3e3, 1290)])
    )
    mass = scipy.sparse.eye_array(1500)
    stiffness = scipy.sparse.diags_array(spectrum)
    values, vectors, (solves, _) = matrix_modes(stiffness, mass, k)
    np.testing.assert_allclose(values, np.sort(spectrum)[:k], rtol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-12)
    # values closer than 1e-6 count as one, whose vectors are rotated by a convention
    residual = vectors * spectrum - values[:, None] * vectors
    width = np.ptp(band) if gap <= 1e-6 else 0.0
    assert np.linalg.norm(residual, axis=1).max() < 1e-9 * values[-1] + width
    assert solves < 2 * 1500


@pytest.mark.no_asan(reason="other tests run the same C code")
def test_close_eigenvalues_beyond_any_space_are_found_densely(rng):
    spectrum = rng.permutation(
        np.concatenate([1.0 + 1e-9 * np.arange(1400), np.linspace(2, 90, 400)])
    )
    values, vectors, _ = matrix_modes(
        scipy.sparse.diags_array(spectrum), scipy.sparse.eye_array(1800), 20
    )
    np.testing.assert_allclose(values, np.sort(spectrum)[:20], rtol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(20), atol=1e-12)


def test_factors_beyond_32_bits_are_refused_with_their_size(rng):
    """A random graph has more fill than any solid: its factor would take 23 GB."""
    n = 100_000
    place = rng.integers(n, size=(2, 8 * n))
    graph = scipy.sparse.csc_array((np.ones(8 * n), place), shape=(n, n))
    graph = graph + graph.T
    stiffness = scipy.sparse.diags_array(1.0 + graph.sum(axis=0)) - graph
    expected = r"100000 unknowns has about 2\.\de\+09 entries .* of \d\d,000 unknowns; .*coarser"
    with pytest.raises(MemoryError, match=expected):
        matrix_modes(stiffness, scipy.sparse.eye_array(n), 1)


def test_no_convergence_is_reported():
    stiffness = grid_laplacian(14, 14, 14)
    mass = scipy.sparse.eye_array(stiffness.shape[0])
    with pytest.raises(
        rf.ConvergenceError, match=r"\d+ of 60 eigenvalues converged in 1 restarts.* fewer"
    ):
        matrix_modes(stiffness, mass, 60, (90, 1, 0))


def test_half_the_spectrum_of_a_large_problem_is_refused():
    line = scipy.sparse.diags_array(np.arange(1.0, 8002.0))
    with pytest.raises(rf.InputError, match=r"3 GB .* up to 3902\)"):
        matrix_modes(line, scipy.sparse.eye_array(8001), 3903)


def test_arguments_that_are_not_sparse_matrices_are_refused():
    stiffness = grid_laplacian(5, 5, 5)
    mass = scipy.sparse.eye_array(125)
    with pytest.raises(rf.SingularMatrixError):
        matrix_modes(stiffness - 100 * mass, mass, 3)
    with pytest.raises(rf.SingularMatrixError, match="mass"):
        matrix_modes(stiffness, -mass, 3)
    with pytest.raises(rf.InputError, match="square alike"):
        matrix_modes(stiffness, scipy.sparse.eye_array(124), 3)
    with pytest.raises(rf.InputError, match="k must be between 1 and 124"):
        matrix_modes(stiffness, mass, 125)
    data, indices, indptr = lower(stiffness)
    with pytest.raises(rf.InputError, match="rows ascending"):
        _core.matrix_modes((data, indices[::-1], indptr), lower(mass), 3, (0, 0, 0), None, 1)
    with pytest.raises(rf.InputError, match="indices"):
        _core.matrix_modes((data, indices + 1, indptr), lower(mass), 3, (0, 0, 0), None, 1)
    for wrong in ((data, indices), (data, indices, indptr, 0), [data, indices, indptr]):
        with pytest.raises(rf.InputTypeError, match="stiffness must be a tuple"):
            _core.matrix_modes(wrong, lower(mass), 3, (0, 0, 0), None, 1)
    with pytest.raises(rf.InputError, match="Krylov"):
        matrix_modes(stiffness, mass, 3, (4, 0, 0))


@pytest.fixture(scope="module")
def beam():
    return clamped(*box_hexes(8, 3, 2, (0.3, 0.1, 0.06)))


@pytest.fixture(scope="module")
def tet_beam():
    return clamped(*box_tets(6, 2, 2, (0.3, 0.1, 0.06)))


def quadratic_force(solid, u):
    """Return (H : u) u / 2: the part of the cubic polynomial R that does not change sign."""
    return (solid.internal_force(u) + solid.internal_force(-u)) / 2


@pytest.mark.parametrize("which", ["beam", "tet_beam"])
def test_derivatives_solve_their_equation(which, request):
    """K Phi_ij = -(H : Psi_j) Psi_i, with H from internal forces and K from scipy's solver."""
    solid = request.getfixturevalue(which)
    k = 5
    modes = solid.linear_modes(k)
    derivatives = solid.modal_derivatives(modes)
    assert derivatives.shape == (15, len(solid.mesh.nodes), 3)
    assert np.all(derivatives[:, solid.fixed] == 0)
    stiffness, _ = matrices(solid)
    solve = scipy.sparse.linalg.splu(stiffness)
    # amplitudes at which R(u) has linear and quadratic parts of like size lose few digits
    scale = 0.1 / np.abs(modes.shapes).max()
    quadratic = [quadratic_force(solid, scale * s) for s in modes.shapes]
    for p, (i, j) in enumerate(itertools.combinations_with_replacement(range(k), 2)):
        both = quadratic_force(solid, scale * (modes.shapes[i] + modes.shapes[j]))
        product = (both - quadratic[i] - quadratic[j]) / scale**2
        expected = solve.solve(-product.ravel()[free_dofs(solid)])
        found = derivatives[p].ravel()[free_dofs(solid)]
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_derivatives_are_second_derivatives_of_the_static_response(beam):
    """B07 2.55: loads K (Psi_i p_i + Psi_j p_j) give u with d2u / dp_i dp_j = Phi_ij.

    Central differences with two steps, extrapolated: the error is of fourth order in the
    step, 1e-3 of a deformation of the beam's own size, and the solver's 1e-13 is divided by
    the square of the step: both are below 1e-6.
    """
    modes = beam.linear_modes(3)
    derivatives = beam.modal_derivatives(modes)
    stiffness = beam.stiffness().to_scipy()
    for p, (i, j) in enumerate(itertools.combinations_with_replacement(range(3), 2)):
        hi, hj = (1e-3 * 0.3 / np.abs(modes.shapes[m]).max() for m in (i, j))

        def response(pi, pj, i=i, j=j):
            load = stiffness @ (pi * modes.shapes[i] + pj * modes.shapes[j]).ravel()
            load = load.reshape(-1, 3)
            load[beam.fixed] = 0
            return beam.solve_static(load, tol=1e-13)

        def mixed(a, b, response=response):
            corners = response(a, b) - response(a, -b) - response(-a, b) + response(-a, -b)
            return corners / (4 * a * b)

        second = (4 * mixed(hi, hj) - mixed(2 * hi, 2 * hj)) / 3
        size = np.abs(derivatives[p]).max()
        np.testing.assert_allclose(second, derivatives[p], atol=1e-6 * size)


def test_derivatives_are_bilinear(beam):
    """Any directions are taken: mixing them mixes the derivatives by the same products."""
    a, b = beam.linear_modes(2).shapes
    aa, ab, bb = beam.modal_derivatives(np.stack([a, b]))
    mixed = beam.modal_derivatives([2 * a - 3 * b])
    expected = 4 * aa - 12 * ab + 9 * bb
    np.testing.assert_allclose(mixed[0], expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_results_do_not_depend_on_threads(beam, threads):
    """Bit for bit, with enough pairs for several blocks of right-hand sides."""
    values, frequencies, shapes = _core.linear_modes(beam._core, 12, False, None, 1)
    again = _core.linear_modes(beam._core, 12, False, None, threads)
    np.testing.assert_array_equal(again[0], values)
    np.testing.assert_array_equal(again[1], frequencies)
    np.testing.assert_array_equal(again[2], shapes)
    np.testing.assert_array_equal(
        _core.modal_derivatives(beam._core, shapes, None, threads),
        _core.modal_derivatives(beam._core, shapes, None, 1),
    )


@pytest.fixture(scope="module")
def large_beam():
    """So many unknowns that the rows of the Krylov space are cut into several blocks."""
    return clamped(*box_hexes(18, 9, 8, (0.3, 0.1, 0.06)))


def test_a_space_of_several_blocks(large_beam):
    stiffness, mass = matrices(large_beam)
    assert mass.shape[0] > 4096
    modes = large_beam.linear_modes(6)
    x = flat(modes.shapes)[:, free_dofs(large_beam)].T
    # vectors are exact to about the root of the tolerance on eigenvalues, 1e-11
    np.testing.assert_allclose(x.T @ (mass @ x), np.eye(6), atol=1e-10)
    residual = stiffness @ x - (mass @ x) * modes.eigenvalues
    assert np.all(np.linalg.norm(residual, axis=0) <= 1e-7 * np.linalg.norm(stiffness @ x, axis=0))
    values = scipy.sparse.linalg.eigsh(stiffness, 6, mass, sigma=0, return_eigenvectors=False)
    np.testing.assert_allclose(modes.eigenvalues, np.sort(values), rtol=1e-9)


@pytest.mark.parametrize("threads", [2, 5])
def test_several_blocks_do_not_depend_on_threads(large_beam, threads):
    one = _core.linear_modes(large_beam._core, 6, False, None, 1)
    for a, b in zip(
        one, _core.linear_modes(large_beam._core, 6, False, None, threads), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_units(beam):
    """Ten times the size, four times the modulus, twice the density."""
    big = rf.Solid(
        rf.Mesh(10 * beam.mesh.nodes, beam.mesh.elements),
        rf.StVK(4 * 2e6, 0.3, 2 * 1200.0),
        fixed=beam.fixed,
    )
    small, large = beam.linear_modes(4), big.linear_modes(4)
    np.testing.assert_allclose(
        large.frequencies, small.frequencies * np.sqrt(4 / 2) / 10, rtol=1e-10
    )
    factor = 1 / np.sqrt(2 * 1000)
    size = np.abs(small.shapes).max()
    np.testing.assert_allclose(large.shapes, small.shapes * factor, atol=1e-9 * size * factor)


def test_a_solid_that_can_swing_is_refused():
    nodes, elements = box_hexes(2, 2, 2)
    hinge = rf.Solid(rf.Mesh(nodes, elements), STEEL_LIKE, fixed=[0, 1, 2])  # on one line
    with pytest.raises(rf.MeshError, match="on one line"):
        hinge.linear_modes(3)


def test_everything_fixed():
    nodes, elements = box_hexes(1, 1, 1)
    solid = rf.Solid(rf.Mesh(nodes, elements), STEEL_LIKE, fixed=np.arange(8))
    for work in (
        lambda: solid.linear_modes(1),
        lambda: solid.modal_derivatives(np.zeros((1, 8, 3))),
        lambda: rf.modal_derivative_basis(solid),
        lambda: rf.mass_pca(solid, np.zeros((1, 8, 3))),
    ):
        with pytest.raises(rf.MeshError, match="every node of the solid is fixed"):
            work()
    one = rf.Solid(rf.Mesh(nodes, elements), STEEL_LIKE, fixed=np.arange(7))
    assert len(one.linear_modes(2)) == 2


@pytest.mark.parametrize(
    ("k", "error", "text"),
    [
        (0, rf.InputError, r"k must be between 1 and 287 \(free degrees of freedom less one\)"),
        (-1, rf.InputError, "k must be"),
        (288, rf.InputError, "k must be between 1 and 287"),
        (10**12, rf.InputError, "k must be"),
        (2.0, rf.InputTypeError, "k must be an int, got float"),
        (True, rf.InputTypeError, "k must be an int"),
        ("3", rf.InputTypeError, "k must be an int, got str"),
        (None, rf.InputTypeError, "k must be an int"),
    ],
)
def test_bad_k(beam, k, error, text):
    assert 3 * len(beam.free) == 288
    with pytest.raises(error, match=text):
        beam.linear_modes(k)


def test_bad_directions(beam):
    n = len(beam.mesh.nodes)
    with pytest.raises(rf.InputError, match="modes must have shape"):
        beam.modal_derivatives(np.zeros((n, 3)))
    with pytest.raises(rf.InputError, match="modes must have shape"):
        beam.modal_derivatives(np.zeros((2, n + 1, 3)))
    with pytest.raises(rf.InputError, match="modes must hold 1 to"):
        beam.modal_derivatives(np.zeros((0, n, 3)))
    bad = np.zeros((2, n, 3))
    bad[1, 7, 2] = np.nan
    with pytest.raises(rf.InputError, match=r"modes\[1, 7, 2\] is nan"):
        beam.modal_derivatives(bad)
    held = int(beam.fixed[1])
    bad = np.zeros((2, n, 3))
    bad[1, held, 0] = 0.5
    with pytest.raises(rf.InputError, match=rf"modes\[1\] moves node {held}, which is fixed"):
        beam.modal_derivatives(bad)
    with pytest.raises(rf.InputTypeError, match="progress"):
        beam.linear_modes(2, progress=3)


class StopError(Exception):
    pass


def stop(done, total):
    raise StopError


def test_stopping_leaves_the_solid_usable(beam):
    before = beam.linear_modes(4)
    live = live_blocks()
    with pytest.raises(StopError):
        beam.linear_modes(4, progress=stop)
    with pytest.raises(StopError):
        beam.modal_derivatives(before, progress=stop)
    check_live_blocks(live)
    np.testing.assert_array_equal(beam.linear_modes(4).shapes, before.shapes)


def test_progress_ends_full(beam):
    calls = []
    modes = beam.linear_modes(4, progress=lambda done, total: calls.append((done, total)))
    beam.modal_derivatives(modes, progress=lambda done, total: calls.append((done, total)))
    assert all(0 <= done <= total for done, total in calls)
    assert sum(done == total for done, total in calls) >= 2


def test_modes_are_immutable(beam):
    modes = beam.linear_modes(3)
    assert repr(modes).startswith("<Modes: 3 from ")
    assert len(modes) == 3
    with pytest.raises(AttributeError):
        modes.shapes = None
