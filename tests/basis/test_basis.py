"""Mass-PCA and the basis from modal derivatives against dense references and identities."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.linalg

import reducedfem as rf
from failures import check_live_blocks, live_blocks
from reducedfem import _core
from shapes import box_hexes, box_tets, solid_box

MATERIAL = rf.StVK(2e6, 0.3, 1200.0)


def flat(fields):
    return fields.reshape(len(fields), -1)


def make(nodes, elements, material=MATERIAL):
    return rf.Solid(rf.Mesh(nodes, elements), material, fixed=np.flatnonzero(nodes[:, 0] < 1e-12))


@pytest.fixture(scope="module")
def beam():
    return make(*box_hexes(10, 3, 3, (0.3, 0.07, 0.05)))


@pytest.fixture(scope="module")
def tet_beam():
    return make(*box_tets(5, 2, 2, (0.3, 0.07, 0.05)))


def deformations(solid, count, rng, decay=0.0):
    fields = rng.standard_normal((count, len(solid.mesh.nodes), 3))
    fields[:, solid.fixed] = 0
    return fields * 10.0 ** (-decay * np.arange(count))[:, None, None]


def dense_pca(solid, vectors, r):
    """Textbook version: dense Cholesky M = L L^T, SVD of L^T D, U = L^-T V."""
    dofs = (3 * np.asarray(solid.free)[:, None] + np.arange(3)).ravel()
    mass = solid.mass().to_dense()[np.ix_(dofs, dofs)]
    factor = scipy.linalg.cholesky(mass, lower=True)
    left, singular, _ = np.linalg.svd(factor.T @ flat(vectors)[:, dofs].T, full_matrices=False)
    basis = np.zeros((r, solid.mesh.nodes.size))
    basis[:, dofs] = scipy.linalg.solve_triangular(factor, left[:, :r], lower=True, trans=1).T
    return basis, singular


@pytest.mark.parametrize("which", ["beam", "tet_beam"])
@pytest.mark.parametrize(("count", "r"), [(1, 1), (7, 7), (40, 12)])
def test_mass_pca_is_the_textbook_one(which, count, r, rng, request):
    solid = request.getfixturevalue(which)
    vectors = deformations(solid, count, rng, decay=0.05)
    basis = rf.mass_pca(solid, vectors, r)
    expected, singular = dense_pca(solid, vectors, r)
    np.testing.assert_allclose(basis.spectrum, singular, rtol=1e-11)
    np.testing.assert_array_equal(basis.singular_values, basis.spectrum[:r])
    # singular values are 1e-2 apart and more, so each vector stands alone up to its sign
    mass = solid.mass().to_scipy()
    found = flat(basis.vectors)
    expected *= np.sign(np.sum(found * (mass @ expected.T).T, axis=1))[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    largest = np.argmax(np.abs(found), axis=1)
    assert np.all(np.take_along_axis(found, largest[:, None], axis=1) > 0)


def test_orthonormal_at_full_length(beam, rng):
    """r = 30 of vectors that get ever smaller, to 1e-9: a Gram matrix would lose them."""
    vectors = deformations(beam, 40, rng, decay=0.3)
    basis = rf.mass_pca(beam, vectors, 30)
    u = basis.matrix
    assert u.shape == (beam.mesh.nodes.size, 30)
    np.testing.assert_allclose(u.T @ (beam.mass().to_scipy() @ u), np.eye(30), atol=1e-10)
    assert np.all(basis.vectors[:, beam.fixed] == 0)
    np.testing.assert_allclose(basis.spectrum, dense_pca(beam, vectors, 30)[1], rtol=1e-5)


def test_it_is_the_best_space(beam, rng):
    """The squared errors that are left are the squares of the singular values left out."""
    vectors = deformations(beam, 20, rng, decay=0.1)
    mass = beam.mass().to_scipy()
    basis = rf.mass_pca(beam, vectors, 8)
    d, u = flat(vectors).T, basis.matrix
    rest = d - u @ (u.T @ (mass @ d))
    left = np.sum(rest * (mass @ rest))
    assert left == pytest.approx(np.sum(basis.spectrum[8:] ** 2), rel=1e-10)


def test_order_signs_mixtures_do_not_matter(beam, rng):
    vectors = deformations(beam, 12, rng, decay=0.1)
    reference = rf.mass_pca(beam, vectors, 6)
    rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    for same in (-vectors[::-1], np.einsum("ij,jna->ina", rotation, vectors)):
        basis = rf.mass_pca(beam, same, 6)
        np.testing.assert_allclose(basis.spectrum, reference.spectrum, rtol=1e-11)
        np.testing.assert_allclose(
            basis.vectors, reference.vectors, atol=1e-9 * np.abs(reference.vectors).max()
        )


def test_weights_multiply(beam, rng):
    vectors = deformations(beam, 6, rng)
    weights = [3.0, 0.1, -1.0, 0.0, 0.5, 2.0]
    weighted = rf.mass_pca(beam, vectors, 4, weights=weights)
    scaled = rf.mass_pca(beam, vectors * np.array(weights)[:, None, None], 4)
    np.testing.assert_array_equal(weighted.vectors, scaled.vectors)
    np.testing.assert_array_equal(weighted.spectrum, scaled.spectrum)


def test_free_solids_have_bases_too(rng):
    solid = solid_box((2, 2, 2), law=MATERIAL, held=None)
    vectors = rng.standard_normal((5, 27, 3))
    basis = rf.mass_pca(solid, vectors, 5)
    np.testing.assert_allclose(basis.spectrum, dense_pca(solid, vectors, 5)[1], rtol=1e-12)


def test_equal_singular_values_follow_the_axes(beam):
    """Three deformations alike along x, y, z, mixed: the vectors come out unmixed."""
    nodes = beam.mesh.nodes
    vectors = np.zeros((3, len(nodes), 3))
    for axis in range(3):
        vectors[axis, :, axis] = nodes[:, 0] * (1 + nodes[:, 1])
    rotation = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0]
    basis = rf.mass_pca(beam, np.einsum("ij,jna->ina", rotation, vectors), 3)
    np.testing.assert_allclose(basis.singular_values / basis.singular_values[0], 1, rtol=1e-12)
    parallel = np.einsum("ina,ina->i", basis.vectors, vectors)
    parallel /= np.linalg.norm(flat(basis.vectors), axis=1) * np.linalg.norm(flat(vectors), axis=1)
    np.testing.assert_allclose(parallel, 1.0, atol=1e-12)


def test_rank_deficiency_is_reported(beam, rng):
    three = deformations(beam, 3, rng)
    vectors = np.concatenate([three, three[:1] + three[1:2], -2 * three])
    assert rf.mass_pca(beam, vectors, 3).r == 3
    with pytest.raises(rf.InputError, match=r"r is 4.*numerical rank 3; r must be 1 to 3"):
        rf.mass_pca(beam, vectors, 4)
    with pytest.raises(rf.InputError, match=r"r must be between 1 and 7"):
        rf.mass_pca(beam, vectors, 8)
    with pytest.raises(rf.InputError, match="all deformations are zero"):
        rf.mass_pca(beam, np.zeros_like(three), 1)


def expected_basis(solid, k, r):
    """B07 eq. 2.52 by public functions: modes, derivatives, weights, then a dense PCA."""
    modes = solid.linear_modes(k)
    derivatives = solid.modal_derivatives(modes)
    mass = solid.mass().to_scipy()
    norms = np.sqrt(np.sum(flat(derivatives).T * (mass @ flat(derivatives).T), axis=0))
    i, j = np.triu_indices(k)
    value = modes.eigenvalues
    candidates = np.concatenate(
        [
            modes.shapes * (value[0] / value)[:, None, None],
            derivatives * (value[0] ** 2 / (value[i] * value[j]) / norms)[:, None, None],
        ]
    )
    return dense_pca(solid, candidates, r)


@pytest.mark.parametrize(
    ("which", "k", "r"), [("beam", 6, 12), ("tet_beam", 5, 20), ("beam", 1, 2)]
)
def test_modal_derivative_basis(which, k, r, request):
    solid = request.getfixturevalue(which)
    basis = rf.modal_derivative_basis(solid, k=k, r=r)
    expected, singular = expected_basis(solid, k, r)
    np.testing.assert_allclose(basis.spectrum, singular, rtol=1e-8, atol=1e-11 * singular[0])
    mass = solid.mass().to_scipy()
    u = basis.matrix
    np.testing.assert_allclose(u.T @ (mass @ u), np.eye(r), atol=1e-10)
    # the same space: all cosines 1, to rounding over the distance to the next singular value
    cosines = np.linalg.svd(expected @ (mass @ u), compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-9)

    made = basis.provenance
    assert (made["method"], made["k"], made["r"]) == ("modal derivatives", k, r)
    np.testing.assert_array_equal(made["frequencies_hz"], solid.linear_modes(k).frequencies)


def test_linear_modes_alone_come_back(beam):
    """B07 below 2.52: the scaling applied to linear modes only recreates them."""
    modes = beam.linear_modes(8)
    weights = modes.eigenvalues[0] / modes.eigenvalues
    basis = rf.mass_pca(beam, modes.shapes, 8, weights=weights)
    np.testing.assert_allclose(basis.singular_values, weights, rtol=1e-10)
    np.testing.assert_allclose(basis.vectors, modes.shapes, atol=1e-8 * np.abs(modes.shapes).max())


def test_unit_of_length_does_not_matter():
    """The beam in millimetres (kg, mm, s: moduli in kg/(mm s^2)) has the same basis."""
    nodes, elements = box_hexes(6, 2, 3, (0.3, 0.07, 0.05))
    metres = rf.modal_derivative_basis(make(nodes, elements), k=5, r=10)
    other = rf.StVK(2e6 / 1e3, 0.3, 1200.0 / 1e9)
    millimetres = rf.modal_derivative_basis(make(nodes * 1e3, elements, other), k=5, r=10)
    np.testing.assert_allclose(millimetres.spectrum, metres.spectrum, atol=1e-9)
    np.testing.assert_allclose(
        millimetres.vectors, metres.vectors, atol=1e-7 * np.abs(metres.vectors).max()
    )


def test_derivatives_that_vanish_by_symmetry():
    """A brick of one element: some derivatives are zero but for rounding, which stays out."""
    nodes, elements = box_hexes(1, 1, 1)
    solid = make(nodes, elements)
    basis = rf.modal_derivative_basis(solid, k=4, r=6)
    u = basis.matrix
    np.testing.assert_allclose(u.T @ (solid.mass().to_scipy() @ u), np.eye(6), atol=1e-10)
    with pytest.raises(rf.InputError, match=r"numerical rank \d+; r must be|r must be between"):
        rf.modal_derivative_basis(solid, k=4, r=13)


def test_derivatives_of_modes_apart_vanish():
    """Derivatives of modes of parts that do not touch are zero but for rounding."""
    first, elements = box_hexes(12, 4, 4, (0.30, 0.05, 0.03))
    second = first * [1.1, 1.0, 1.0] + [0.0, 1.0, 0.0]
    mesh = np.concatenate([first, second]), np.concatenate([elements, elements + len(first)])
    solid = make(*mesh)
    # both bend about y first: two modes, their own derivatives, and nothing for the pair
    assert {int(np.abs(one).max(axis=1).argmax() < len(first)) for one in
            solid.linear_modes(2).shapes} == {0, 1}  # fmt: skip
    basis = rf.modal_derivative_basis(solid, k=2)
    assert basis.r == 4
    assert basis.spectrum[4] < 1e-12 * basis.spectrum[0]
    # each vector stays in its part
    reach = np.abs(basis.vectors).max(axis=2)
    parts = np.array([reach[:, : len(first)].max(axis=1), reach[:, len(first) :].max(axis=1)])
    assert (parts.min(axis=0) < 1e-9 * parts.max(axis=0)).all()


@pytest.mark.parametrize("threads", [2, 5])
def test_results_do_not_depend_on_threads(beam, rng, threads):
    for a, b in zip(
        _core.modal_derivative_basis(beam._core, 8, 12, None, 1),
        _core.modal_derivative_basis(beam._core, 8, 12, None, threads),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    vectors = deformations(beam, 33, rng)
    for a, b in zip(
        _core.mass_pca(beam._core, vectors, None, 9, None, 1),
        _core.mass_pca(beam._core, vectors, None, 9, None, threads),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_a_large_solid_does_not_depend_on_threads():
    """Products with the mass are shared by threads from some size on, bit for bit the same."""
    solid = make(*box_hexes(12, 10, 8, (0.3, 0.07, 0.05)))
    one = _core.modal_derivative_basis(solid._core, 7, 9, None, 1)
    for a, b in zip(one, _core.modal_derivative_basis(solid._core, 7, 9, None, 3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_arrays_of_a_basis(beam, rng):
    basis = rf.mass_pca(beam, deformations(beam, 4, rng), 3)
    assert (basis.r, len(basis)) == (3, 3)
    assert basis.matrix.shape == (beam.mesh.nodes.size, 3)
    assert np.shares_memory(basis.matrix, basis.vectors)
    np.testing.assert_array_equal(basis.matrix[:, 1], basis.vectors[1].ravel())
    for array in (basis.vectors, basis.matrix, basis.singular_values, basis.spectrum):
        assert not array.flags.writeable
    with pytest.raises(TypeError):
        basis.provenance["method"] = "another"
    assert repr(basis) == f"<Basis: 3 vectors over {len(beam.mesh.nodes)} nodes, mass-PCA>"


@pytest.mark.parametrize(
    ("k", "r", "error", "text"),
    [
        (0, 5, rf.InputError, "k must be"),
        (5, 0, rf.InputError, "r must be"),
        (-3, 5, rf.InputError, "k must be"),
        (5, 21, rf.InputError, r"r must be between 1 and 20 \(5 modes and their 15 derivatives\)"),
        (480, 5, rf.InputError, "k must be between 1 and 479"),
        (2**31, 5, rf.InputError, "k must be"),
        (5, 1e1, rf.InputTypeError, "r must be an int, got float"),
        ("5", 5, rf.InputTypeError, "k must be an int, got str"),
        (True, 5, rf.InputTypeError, "k must be an int"),
    ],
)
def test_bad_numbers(beam, k, r, error, text):
    assert 3 * len(beam.free) == 480
    with pytest.raises(error, match=text):
        rf.modal_derivative_basis(beam, k=k, r=r)


@pytest.mark.parametrize(("k", "r"), [(1, 2), (3, 9), (6, 27), (7, 30), (9, 30)])
def test_default_size_is_that_of_the_modes(tet_beam, k, r):
    """30, or all k + k (k + 1) / 2 columns where they are fewer."""
    basis = rf.modal_derivative_basis(tet_beam, k)
    assert (basis.r, basis.provenance["r"]) == (r, r)
    np.testing.assert_array_equal(basis.vectors, rf.modal_derivative_basis(tet_beam, k, r).vectors)


def test_default_size_is_at_most_the_rank(rng):
    # 14 columns over 12 freedoms, of which symmetry leaves one out
    solid = make(*box_hexes(1, 1, 1))
    basis = rf.modal_derivative_basis(solid, k=4)
    with pytest.raises(rf.InputError, match=f"r must be 1 to {basis.r}"):
        rf.modal_derivative_basis(solid, k=4, r=basis.r + 1)
    assert basis.r == len(basis.singular_values) == 11
    assert len(basis.spectrum) == 12
    np.testing.assert_array_equal(
        basis.vectors, rf.modal_derivative_basis(solid, k=4, r=basis.r).vectors
    )
    assert rf.modal_derivative_basis(solid, k=5).r == 12
    solid = make(*box_hexes(4, 2, 2))
    vectors = deformations(solid, 3, rng)
    repeated = np.concatenate([vectors, 2 * vectors])
    assert rf.mass_pca(solid, repeated).r == 3
    assert rf.mass_pca(solid, deformations(solid, 50, rng)).r == 30
    with pytest.raises(rf.InputError, match="all deformations are zero"):
        rf.mass_pca(solid, np.zeros_like(vectors))


def test_bad_deformations(beam, rng):
    n = len(beam.mesh.nodes)
    good = deformations(beam, 4, rng)
    with pytest.raises(rf.InputError, match="vectors must have shape"):
        rf.mass_pca(beam, good[0], 1)
    with pytest.raises(rf.InputError, match="vectors must have shape"):
        rf.mass_pca(beam, good[:, :-1], 1)
    with pytest.raises(rf.InputError, match="at least one"):
        rf.mass_pca(beam, np.zeros((0, n, 3)), 1)
    bad = good.copy()
    bad[2, 9, 1] = np.inf
    with pytest.raises(rf.InputError, match=r"vectors\[2, 9, 1\] is inf"):
        rf.mass_pca(beam, bad, 1)
    bad = good.copy()
    held = int(beam.fixed[-1])
    bad[3, held, 2] = 1e-3
    with pytest.raises(rf.InputError, match=rf"vectors\[3\] moves node {held}, which is fixed"):
        rf.mass_pca(beam, bad, 1)
    with pytest.raises(rf.InputError, match="weights must have shape"):
        rf.mass_pca(beam, good, 1, weights=[1.0, 2.0])
    with pytest.raises(rf.InputError, match=r"weights\[1\] is nan"):
        rf.mass_pca(beam, good, 1, weights=[1.0, np.nan, 1.0, 1.0])
    with pytest.raises(rf.InputError, match="not finite"):
        rf.mass_pca(beam, good * 1e200, 1, weights=[1e200] * 4)
    with pytest.raises(rf.InputTypeError, match="r must be an int"):
        rf.mass_pca(beam, good, 1.0)
    with pytest.raises(rf.InputTypeError, match="solid must be a Solid, got Mesh"):
        rf.mass_pca(beam.mesh, good, 1)
    with pytest.raises(rf.InputTypeError, match="solid must be a Solid, got str"):
        rf.modal_derivative_basis("beam")


class StopError(Exception):
    pass


def test_stopping_leaves_the_solid_usable(beam, rng):
    vectors = deformations(beam, 10, rng)
    live = live_blocks()
    for work in (
        lambda p: rf.modal_derivative_basis(beam, k=6, r=8, progress=p),
        lambda p: rf.mass_pca(beam, vectors, 5, progress=p),
    ):
        calls = []
        reference = work(lambda done, total, calls=calls: calls.append((done, total)))
        assert calls[-1][0] == calls[-1][1]
        assert all(a[0] <= b[0] for a, b in itertools.pairwise(calls))

        def stop(done, total):
            raise StopError

        with pytest.raises(StopError):
            work(stop)
        check_live_blocks(live)
        np.testing.assert_array_equal(work(False).vectors, reference.vectors)


@pytest.fixture(scope="module")
def square_beam():
    """A beam that looks the same from y and z: bending comes in pairs."""
    return make(*box_hexes(8, 3, 3, (0.3, 0.05, 0.05)))


def quarter_turned(nodes, fields):
    """Fields of the solid turned by 90 degrees about its axis."""
    centred = nodes - nodes.mean(axis=0)
    turned = np.stack([centred[:, 0], -centred[:, 2], centred[:, 1]], axis=1)
    place = np.argmin(np.linalg.norm(centred[None, :] - turned[:, None], axis=2), axis=1)
    out = np.empty_like(fields)
    out[:, place] = np.stack([fields[..., 0], -fields[..., 2], fields[..., 1]], axis=2)
    return out


@pytest.mark.parametrize("r", [1, 2, 3, 4, 5, 6, 7, 8])
def test_a_cut_pair_does_not_depend_on_rounding(square_beam, rng, r):
    """Turned copies pair all singular values; odd r take the first of a pair, always the same."""
    nodes = square_beam.mesh.nodes
    half = deformations(square_beam, 6, rng, decay=0.2)
    # half a turn changes the sign, as it does for bending: a quarter makes an equal partner
    half -= quarter_turned(nodes, quarter_turned(nodes, half))
    vectors = np.concatenate([half, quarter_turned(nodes, half)])
    reference = rf.mass_pca(square_beam, vectors, r)
    pairs = reference.spectrum.reshape(-1, 2)
    np.testing.assert_allclose(pairs[:, 0], pairs[:, 1], rtol=1e-12)
    rotation = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    # relative changes of 1e-13 move the vectors by that over the gaps of 1e-2, and by the
    # gaps between weightings inside a pair
    for other in (
        vectors[rng.permutation(12)],
        vectors * (1 + 1e-13 * rng.standard_normal(vectors.shape)),
        np.einsum("ij,jna->ina", rotation, vectors),
    ):
        basis = rf.mass_pca(square_beam, other, r)
        np.testing.assert_allclose(
            basis.vectors, reference.vectors, atol=1e-8 * np.abs(reference.vectors).max()
        )


@pytest.mark.parametrize("r", [2, 3, 5, 9])
def test_a_basis_is_the_beginning_of_a_longer_one(square_beam, r):
    """Vectors left out do not change those kept, even if r cuts a pair."""
    long = rf.modal_derivative_basis(square_beam, k=4, r=12)
    basis = rf.modal_derivative_basis(square_beam, k=4, r=r)
    np.testing.assert_allclose(
        basis.vectors, long.vectors[:r], atol=1e-8 * np.abs(long.vectors).max()
    )


@pytest.mark.parametrize("threads", [2, 5])
def test_a_cut_pair_does_not_depend_on_threads(square_beam, threads):
    one = _core.modal_derivative_basis(square_beam._core, 4, 3, None, 1)
    many = _core.modal_derivative_basis(square_beam._core, 4, 3, None, threads)
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- a basis of another solid --------------------------------------------------------------------


def of(length: float = 0.3, fixed: float = 1e-9, **materials) -> rf.Solid:
    """Return a bar of two regions."""
    nodes, elements = box_hexes(6, 2, 3, (length, 0.07, 0.05))
    pair = {0: rf.StVK(2e6, 0.3, 1200.0), 1: rf.StVK(1e6, 0.3, 1000.0)} | materials.get("of", {})
    mesh = rf.Mesh(nodes, elements, np.arange(len(elements)) % 2)
    return rf.Solid(mesh, pair, fixed=nodes[:, 0] < fixed)


BASES = {
    "modal derivatives": lambda solid: rf.modal_derivative_basis(solid, 3, 5),
    "mass-PCA": lambda solid: rf.mass_pca(solid, solid.linear_modes(3).shapes),
    "POD": lambda solid: rf.pod_basis(solid, solid.linear_modes(3).shapes),
    "merged": lambda solid: rf.merge_bases(solid, [rf.modal_derivative_basis(solid, 3, 5)]),
}
TAKERS = {
    "reduce": rf.reduce,
    "ProjectedSolid": rf.ProjectedSolid,
    "merge_bases": lambda solid, basis: rf.merge_bases(solid, [basis]),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("made", BASES)
def test_a_basis_of_another_mesh_with_as_many_nodes_is_refused(made, taker):
    basis = BASES[made](of())
    TAKERS[taker](of(), basis)  # as good a solid as that
    message = r"^(basis|bases\[0\]) was made for a solid on another mesh with .* mass_pca\(solid, "
    with pytest.raises(rf.InputError, match=message):
        TAKERS[taker](of(0.31), basis)
    # the advice of the message works
    TAKERS[taker](of(0.31), rf.mass_pca(of(0.31), basis.vectors))
    if taker != "merge_bases":
        TAKERS[taker](of(0.31), basis.vectors)


@pytest.mark.parametrize("taker", ["reduce", "ProjectedSolid"])
def test_a_basis_for_other_supports_or_materials_gives_a_warning(taker):
    basis = rf.modal_derivative_basis(of(fixed=0.06), 3, 5)
    with pytest.warns(
        rf.PlausibilityWarning, match="a solid with other fixed nodes, so its"
    ) as one:
        TAKERS[taker](of(), basis)
    assert one[0].filename == __file__
    stiffer = of(of={1: rf.StVK(9e6, 0.3, 1000.0)})
    with pytest.warns(rf.PlausibilityWarning, match="other fixed nodes and materials, so its"):
        TAKERS[taker](stiffer, basis)


def test_a_basis_serves_materials_in_the_same_proportions(tmp_path):
    """A common factor of stiffness and density does not change modes; rounding of it is ignored."""
    basis = rf.modal_derivative_basis(of(), 3, 5)
    other = of(of={0: rf.StVK(6e6 * (1 + 1e-14), 0.3, 600.0), 1: rf.StVK(3e6, 0.3, 500.0)})
    rf.reduce(other, basis).save(tmp_path / "m.safetensors")
    kept = rf.load(tmp_path / "m.safetensors").provenance["basis"]["made_for"]
    assert dict(kept) == dict(basis.provenance["made_for"])
    rf.reduce(other, pickle.loads(pickle.dumps(basis)))
    # nor that a material is given by its constants
    general = {k: rf.LinearElastic(m.stiffness, m.density) for k, m in of().materials.items()}
    rf.reduce(of(of=general), basis)
