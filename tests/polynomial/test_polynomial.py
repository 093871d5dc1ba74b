"""Reduced polynomials against the unreduced solid, finite differences and a plain version.

Random bases on purpose: every coefficient matters, nothing is mass-orthonormal, and
for the core the vectors may even move fixed nodes.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import plain_polynomial
import reducedfem as rf
from failures import check_live_blocks, live_blocks
from plain_polynomial import deviation
from reducedfem import _core
from shapes import box_hexes, box_tets

SIZE = (0.3, 0.2, 0.2)
# both sides of every switch between kernels (28 to 40) and of every boundary of
# vectors (4, 8) and strips of vectors (32, 64 wide); n = r + 1 is what the kernels see
RANKS = [*range(1, 10), 12, 15, 16, *range(19, 26), *range(28, 35), 39, 40, 48, 63, 64]
SIMD = {1: "plain", 2: "avx2", 3: "avx512"}
SOLIDS = ["distorted hexes", "distorted hexes, 3 points", "voxels", "voxels, 3 points", "tets"]


@functools.cache
def make_solid(kind: str) -> rf.Solid:
    """Two materials, one node plane fixed; `voxels` are congruent, the others all differ."""
    nodes, elements = (box_tets if kind == "tets" else box_hexes)(3, 2, 2, SIZE)
    if not kind.startswith("voxels"):
        nodes = nodes + np.random.default_rng(7).uniform(-0.012, 0.012, nodes.shape)
    regions = (np.arange(len(elements)) % 3 == 0).astype(int)
    materials = {0: rf.StVK(2e5, 0.3, 1000.0), 1: rf.StVK(3e6, 0.45, 1400.0)}
    return rf.Solid(
        rf.Mesh(nodes, elements, regions),
        materials,
        fixed=np.flatnonzero(nodes[:, 0] < 0.02),
        quadrature=3 if kind.endswith("3 points") else None,
    )


@functools.cache
def make_basis(r: int) -> np.ndarray:
    n = make_solid("voxels").mesh.n_nodes
    basis = np.random.default_rng(r).standard_normal((r, n, 3))
    return basis / np.linalg.norm(basis.reshape(r, -1), axis=1)[:, None, None]


def held_basis(r: int) -> np.ndarray:
    """Return what the public function takes: the fixed nodes do not move."""
    basis = make_basis(r).copy()
    basis[:, make_solid("voxels").fixed] = 0.0
    return basis


def reduce(solid: rf.Solid, basis: np.ndarray, simd: int = 0, threads: int = 2) -> _core.Reduced:
    return _core.reduce(solid._core, basis, None, threads, simd)


@functools.cache
def make_model(kind: str, r: int) -> _core.Reduced:
    return reduce(make_solid(kind), make_basis(r))


def with_kernels(model: _core.Reduced, simd: int) -> _core.Reduced:
    """Return the same model evaluated by given kernels, or skip."""
    if not _core.simd_available(simd):
        pytest.skip(f"this processor has no {SIMD[simd]}")
    return _core.Reduced(model.basis, model.mass, model.coefficients, simd)


def everything(model: _core.Reduced, q: np.ndarray) -> list[np.ndarray]:
    return [np.array(model.strain_energy(q)), model.internal_force(q), model.stiffness(q)]


def amplitudes(r: int) -> dict[str, np.ndarray]:
    """Coordinates from far below rounding of the geometry to far beyond sense."""
    q = np.random.default_rng(100 + r).standard_normal(r)
    # columns have unit norm: the displacement is about |q| / sqrt(dofs), so 1e-9 m, 2 cm, 2 km
    return {"tiny": 1e-8 * q, "like the solid": 0.2 * q, "huge": 2e4 * q}


# --- reduced = projected -------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLIDS)
@pytest.mark.parametrize("r", [1, 2, 7, 20, 21, 30, 31, 33])
def test_reduced_is_projected(kind, r):
    solid, basis, model = make_solid(kind), make_basis(r), make_model(kind, r)
    u_matrix = basis.reshape(r, -1).T
    for q in amplitudes(r).values():
        u = (u_matrix @ q).reshape(-1, 3)
        # Both sides are sums of the order of 1e4 products of numbers of either sign, each
        # rounded at 1e-16; 1e-12 of the largest result leaves a hundredfold margin, and a
        # wrong weight, sign or missing coefficient shows at 1e-3 or more.
        expected = u_matrix.T @ solid.internal_force(u).ravel()
        assert deviation(model.internal_force(q), expected) < 1e-12
        tangent = u_matrix.T @ (solid.stiffness(u).to_scipy() @ u_matrix)
        assert deviation(model.stiffness(q), tangent) < 1e-12
        assert model.strain_energy(q) == pytest.approx(solid.strain_energy(u), rel=1e-12)


@pytest.mark.parametrize("kind", SOLIDS)
def test_reduced_mass_is_projected(kind):
    solid, basis, model = make_solid(kind), make_basis(21), make_model(kind, 21)
    u_matrix = basis.reshape(21, -1).T
    expected = u_matrix.T @ (solid.mass().to_scipy() @ u_matrix)
    # a basis that is not mass-orthonormal keeps its mass; rounding as above
    assert deviation(model.mass, expected) < 1e-13
    assert deviation(expected, np.eye(21)) > 0.1
    np.testing.assert_array_equal(model.mass, model.mass.T)
    np.testing.assert_array_equal(model.basis, basis)


def test_rigid_motion_costs_nothing():
    """Translations and a finite rotation about z lie in the span of these five fields."""
    solid = make_solid("distorted hexes")
    x = solid.mesh.nodes
    zero, one = np.zeros(len(x)), np.ones(len(x))
    basis = np.stack(
        [
            np.column_stack([one, zero, zero]),
            np.column_stack([zero, one, zero]),
            np.column_stack([zero, zero, one]),
            np.column_stack([x[:, 0], x[:, 1], zero]),  # times cos - 1
            np.column_stack([-x[:, 1], x[:, 0], zero]),  # times sin
        ]
    )
    model = reduce(solid, basis)
    stretched = model.internal_force([0, 0, 0, 0.5, 0])
    for angle in (0.3, 2.0, np.pi):
        q = [5.0, -2.0, 1.0, np.cos(angle) - 1.0, np.sin(angle)]
        # terms of the size of a 50 % stretch cancel to rounding
        assert np.max(np.abs(model.internal_force(q))) < 1e-13 * np.max(np.abs(stretched))
        assert abs(model.strain_energy(q)) < 1e-13 * model.strain_energy([0, 0, 0, 0.5, 0])


def test_constant_and_linear_coefficients_are_zero():
    """The rest shape is free of stress: W(0) = 0 and R(0) = 0, exactly."""
    model = make_model("tets", 7)
    monomials = plain_polynomial.by_degree(7, model.coefficients)
    assert len(monomials) == len(model.coefficients) == 330  # C(7 + 4, 4)
    for monomial, t in monomials.items():
        if len(monomial) < 2:
            assert t == 0.0
    assert not model.internal_force(np.zeros(7)).any()
    assert model.strain_energy(np.zeros(7)) == 0.0


# --- derivatives ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLIDS)
@pytest.mark.parametrize("r", [1, 6, 20, 25, 34])
def test_force_and_stiffness_are_derivatives(kind, r):
    model = make_model(kind, r)
    q = 0.3 * np.random.default_rng(r).standard_normal(r)
    direction = np.random.default_rng(r + 1).standard_normal(r)
    # Differences with steps h and 2h, combined, are exact for polynomials of degree up to
    # four (error terms start with the fifth derivative), so h can be large and rounding
    # is all that is left.
    h = 0.5

    def slope(f):
        near, far = (f(q + s * h * direction) - f(q - s * h * direction) for s in (1, 2))
        return (8.0 * near - far) / (12.0 * h)

    force, stiffness = model.internal_force(q), model.stiffness(q)
    assert slope(model.strain_energy) == pytest.approx(force @ direction, rel=1e-11)
    assert deviation(slope(model.internal_force), stiffness @ direction) < 1e-11
    # and the plain central difference of the cubic is off by its third derivative only
    central = (
        model.internal_force(q + h * direction) - model.internal_force(q - h * direction)
    ) / (2 * h)
    cubic = model.internal_force(direction) - model.stiffness(0 * q) @ direction
    cubic = (cubic - (model.internal_force(-direction) + model.stiffness(0 * q) @ direction)) / 2
    assert deviation(central, stiffness @ direction + h**2 * cubic) < 1e-11


@pytest.mark.parametrize("r", [5, 20, 21, 30, 31, 48])
def test_stiffness_is_symmetric_bit_for_bit(r):
    for simd in SIMD:
        if not _core.simd_available(simd):
            continue
        k = with_kernels(make_model("tets", r), simd).stiffness(0.1 * np.arange(r))
        np.testing.assert_array_equal(k, k.T)


def test_energy_is_never_negative():
    """W is a sum of squares of strains; rounding must not make it negative near rest."""
    model = make_model("distorted hexes", 21)
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1e-3, 1.0, 1e3):
        for _ in range(50):
            assert model.strain_energy(scale * rng.standard_normal(21)) > 0


# --- kernels -------------------------------------------------------------------------


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", RANKS)
def test_kernels_agree_with_the_plain_version(r, simd):
    kind = "distorted hexes"
    if r <= 34:
        model = make_model(kind, r)
        t = model.coefficients
    else:
        # kernels only: any coefficients will do
        t = np.random.default_rng(r).standard_normal(_count(r))
        model = _core.Reduced(make_basis(r), np.eye(r), t)
    model = with_kernels(model, simd)
    assert model.simd == simd
    for q in amplitudes(r).values():
        expected = plain_polynomial.evaluate(r, t, q)
        # sums of C(r + 4, 4) <= 8e5 products in another order: random rounding grows with
        # the root of their number, 1e-13
        for found, plain in zip(everything(model, q), expected, strict=True):
            assert deviation(found, plain) < 2e-12


def _count(r: int) -> int:
    return (r + 4) * (r + 3) * (r + 2) * (r + 1) // 24


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [4, 20, 21, 30, 31, 33])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_every_coefficient_is_read_by_the_kernels(r, simd):
    """One coefficient at a time, the result is a monomial and its derivatives."""
    q = 1.0 + np.random.default_rng(r).uniform(size=r)
    at = plain_polynomial.quadruples(r)
    basis = np.eye(r).repeat(3, axis=1).reshape(r, r, 3)
    chosen = np.random.default_rng(1).permutation(len(at))[:60]
    for place in chosen:
        t = np.zeros(len(at))
        t[place] = 3.0
        if not _core.simd_available(simd):
            pytest.skip(f"this processor has no {SIMD[simd]}")
        model = _core.Reduced(basis, np.eye(r), t, simd)
        p = np.concatenate([[1.0], q])
        # one product of at most five numbers, divided at most once: a few roundings
        assert model.strain_energy(q) == pytest.approx(3.0 * p[at[place]].prod(), rel=1e-14)
        expected = np.zeros(r)
        for a in range(4):
            if at[place, a] > 0:
                expected[at[place, a] - 1] += 3.0 * np.delete(p[at[place]], a).prod()
        np.testing.assert_allclose(model.internal_force(q), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("simd", SIMD, ids=SIMD.get)
@pytest.mark.parametrize("r", [1, 3, 8, 20, 21, 25, 30, 31, 33, 48])
def test_force_alone_equals_force_with_stiffness(r, simd):
    """`internal_force` asks for the force only; kernels of large r then do less."""
    t = np.random.default_rng(r).standard_normal(_count(r))
    t[: 1 + r] = 0.0  # no constant, no linear term: at rest without force
    model = _core.Reduced(make_basis(r), np.eye(r), t)
    model = with_kernels(model, simd)
    q = np.random.default_rng(r + 9).standard_normal(r)
    # one step from q at rest solves (a1 M + K) dq = -(M a + R); with the mass dominant,
    # a1 dq = -R to O(h^2): too coarse. Euler's theorem on the stiffness is exact instead:
    # split K by parity and scale to get R from it.
    k0, plus, minus = (model.stiffness(s * q) for s in (0.0, 1.0, -1.0))
    linear, odd, even = k0 @ q, 0.5 * (plus - minus) @ q, (0.5 * (plus + minus) - k0) @ q
    expected = linear + odd / 2.0 + even / 3.0
    # rounding of sums of up to 2.7e5 products, twice
    assert deviation(model.internal_force(q), expected) < 5e-12


@pytest.mark.parametrize("r", [3, 20, 21, 40])
def test_not_finite_never_hides(r):
    """Coordinates whose products overflow give no finite force."""
    model = _core.Reduced(make_basis(r), np.eye(r), np.ones(_count(r)))
    q = np.zeros(r)
    q[-1] = 1e150
    assert not np.isfinite(model.internal_force(q)).all()
    assert not np.isfinite(model.strain_energy(q))
    assert np.isfinite(model.stiffness(q / 1e100)).all()


# --- truncation ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["voxels", "tets"])
def test_truncation_is_the_model_of_fewer_vectors(kind):
    model = make_model(kind, 25)
    for r in (1, 4, 19, 20, 21, 24, 25):
        short = model.truncate(r)
        assert short.r == r
        fresh = reduce(make_solid(kind), make_basis(25)[:r])
        np.testing.assert_array_equal(short.basis, fresh.basis)
        # same sums, cut into other blocks by the BLAS: rounding only
        assert deviation(short.mass, fresh.mass) < 1e-14
        assert deviation(short.coefficients, fresh.coefficients) < 1e-13
        # and exactly the terms without the coordinates left out
        q = np.zeros(25)
        q[:r] = np.random.default_rng(r).standard_normal(r)
        assert deviation(short.internal_force(q[:r]), model.internal_force(q)[:r]) < 1e-13
        assert deviation(short.stiffness(q[:r]), model.stiffness(q)[:r, :r]) < 1e-13


def test_truncation_keeps_coefficients_bit_for_bit():
    model = make_model("tets", 12)
    long = plain_polynomial.by_degree(12, model.coefficients)
    for monomial, t in plain_polynomial.by_degree(5, model.truncate(5).coefficients).items():
        assert t == long[monomial]


@pytest.mark.parametrize("r", [0, -1, 13])
def test_truncation_out_of_range(r):
    with pytest.raises(rf.InputError, match=f"r must be between 1 and 12, got {r}"):
        make_model("tets", 12).truncate(r)


# --- reproducibility and threads -----------------------------------------------------


@pytest.mark.parametrize("kind", SOLIDS)
@pytest.mark.parametrize("r", [5, 33])
def test_any_number_of_threads_gives_the_same_bits(kind, r):
    solid, basis = make_solid(kind), make_basis(r)
    first = reduce(solid, basis, threads=1)
    for threads in (2, 3, 8):
        again = reduce(solid, basis, threads=threads)
        np.testing.assert_array_equal(again.coefficients, first.coefficients)
        np.testing.assert_array_equal(again.mass, first.mass)


def test_several_panels_give_the_sum_over_elements():
    """A mesh too large for one block of strains: the sum over its halves, made apart."""
    r, cells = 33, (8, 6, 6)
    nodes, elements = box_hexes(*cells, SIZE)
    basis = np.random.default_rng(3).standard_normal((r, len(nodes), 3))
    material = rf.StVK(1e5, 0.3, 1000.0)
    whole = reduce(rf.Solid(rf.Mesh(nodes, elements), material), basis)
    parts = np.zeros_like(whole.coefficients)
    for half in (elements[::2], elements[1::2]):
        used = np.unique(half)
        place = np.full(len(nodes), -1)
        place[used] = np.arange(len(used))
        solid = rf.Solid(rf.Mesh(nodes[used], place[half]), material)
        parts += reduce(solid, basis[:, used]).coefficients
    # 16 MB per panel: 594 pairs * 6 strains * 8 points * 288 elements are 66 MB, 5 panels
    assert deviation(parts, whole.coefficients) < 1e-13


@pytest.mark.parametrize("r", [12, 33])
def test_threads_share_a_model(r):
    model = make_model("tets", r)
    qs = np.random.default_rng(5).standard_normal((40, r))
    alone = [everything(model, q) for q in qs]

    def work(turn: int) -> list[list[np.ndarray]]:
        order = np.roll(np.arange(len(qs)), turn)
        results = {i: everything(model, qs[i]) for _ in range(5) for i in order}
        return [results[i] for i in range(len(qs))]

    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(work, range(4)):
            for one, other in zip(results, alone, strict=True):
                for x, y in zip(one, other, strict=True):
                    np.testing.assert_array_equal(x, y)


def test_views_are_read_only_and_outlive_the_model():
    model = reduce(make_solid("tets"), make_basis(3))
    t, u = model.coefficients, model.basis
    copies = t.copy(), u.copy()
    for view in (t, u, model.mass):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
    del model
    junk = [np.full(len(t), np.nan) for _ in range(50)]  # would land in freed memory
    np.testing.assert_array_equal(t, copies[0])
    np.testing.assert_array_equal(u, copies[1])
    del junk


# --- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [[0], [4], [4, 5]])
def test_zero_vectors_are_refused(zero):
    basis = make_basis(6).copy()
    basis[zero] = 0.0
    message = rf"not positive definite: basis\[{zero[0]}\] is zero; leave this vector out"
    with pytest.raises(rf.SingularMatrixError, match=message):
        reduce(make_solid("tets"), basis)


@pytest.mark.parametrize("kind", ["twice", "sum"])
def test_dependent_vectors_are_refused(kind):
    basis = make_basis(6).copy()
    basis[4] = {"twice": basis[1], "sum": basis[0] - 2 * basis[3]}[kind]
    with pytest.raises(rf.SingularMatrixError, match=r"linearly dependent .*basis\[4\]"):
        reduce(make_solid("tets"), basis)


def test_nearly_dependent_vectors_pass_or_fail_by_their_angle():
    basis = make_basis(3).copy()
    apart = basis[2].copy()
    basis[2] = basis[0] + 1e-3 * apart
    assert reduce(make_solid("tets"), basis).r == 3
    basis[2] = basis[0] + 1e-9 * apart
    with pytest.raises(rf.SingularMatrixError, match="linearly dependent"):
        reduce(make_solid("tets"), basis)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 36, 3), "basis must have 1 to 256 vectors, got 0"),
        ((257, 36, 3), "basis must have 1 to 256 vectors, got 257"),
        ((4, 35, 3), r"basis must have shape \(any, 36, 3\), got \(4, 35, 3\)"),
        ((36, 3), r"\(any, 36, 3\), got \(36, 3\); pass basis\[None\] for a single field"),
        ((108, 4), r"\(any, 36, 3\), got \(108, 4\); pass basis.T.reshape\(-1, 36, 3\) if its"),
        ((4, 36, 2), r"basis must have shape \(any, 36, 3\), got \(4, 36, 2\)"),
        ((4, 108), r"basis must have shape \(any, 36, 3\), got \(4, 108\)"),
    ],
)
def test_wrong_bases_are_refused(shape, message):
    with pytest.raises(rf.InputError, match=message):
        rf.reduce(make_solid("voxels"), np.ones(shape))


def test_more_vectors_than_freedoms_are_refused():
    solid = rf.Solid(rf.Mesh(*box_hexes(1, 1, 1)), rf.StVK(1e5, 0.3, 1000.0))
    basis = np.random.default_rng(0).standard_normal((25, 8, 3))
    with pytest.raises(rf.SingularMatrixError, match=r"linearly dependent .*basis\[24\]"):
        rf.reduce(solid, basis)
    assert rf.reduce(solid, basis[:24]).r == 24


def test_bases_that_move_fixed_nodes_are_refused():
    solid, basis = make_solid("voxels"), held_basis(4)
    node = int(solid.fixed[-1])
    basis[2, node, 1] = 1e-9
    message = rf"basis\[2\] moves node {node}, which is fixed, by \(0, 1e-09, 0\); it must be zero"
    with pytest.raises(rf.InputError, match=message):
        rf.reduce(solid, basis)
    with pytest.raises(rf.InputError, match=message):
        rf.reduce(solid, rf.Basis(basis, np.ones(4), np.ones(4)))
    # the same words as for deformations
    with pytest.raises(rf.InputError, match=message.replace("basis", "vectors")):
        rf.mass_pca(solid, basis, 2)
    basis[2, node, 1] = -0.0
    assert rf.reduce(solid, basis).r == 4


def test_results_that_overflow_are_refused():
    solid = make_solid("voxels")
    model = rf.reduce(solid, held_basis(4))
    u = model.displacement(np.ones(4))
    for size, works in ((1e50, True), (1e120, False), (1e300, False)):
        for system, x, name in ((model, np.full(4, size), "q"), (solid, u * size, "u")):
            for method in (system.strain_energy, system.internal_force):
                if works:
                    assert np.isfinite(method(x)).all()
                else:
                    with pytest.raises(rf.InputError, match=rf"{name} is so large that the"):
                        method(x)
    for system, x in ((model, np.full(4, 1e200)), (solid, u * 1e200)):
        with pytest.raises(rf.InputError, match="so large that the stiffness is not finite"):
            system.stiffness(x)
    with pytest.raises(rf.InputError, match="force is so large that the reduced force"):
        model.project(1.7e308 * np.sign(model.basis[0]))
    with pytest.raises(rf.InputError, match="a or b is so large that the product"):
        solid.hessian_product(1e200 * u, 1e200 * u)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite_bases_are_refused(value):
    basis = make_basis(4).copy()
    basis[2, 17, 1] = value
    with pytest.raises(rf.InputError, match=r"basis\[2, 17, 1\] is -?(nan|inf)"):
        rf.reduce(make_solid("voxels"), basis)


def test_wrong_kinds_are_refused():
    with pytest.raises(rf.InputTypeError, match="solid must be a Solid, got Mesh"):
        rf.reduce(make_solid("voxels").mesh, make_basis(2))
    with pytest.raises(rf.InputTypeError, match="basis must be an array"):
        rf.reduce(make_solid("voxels"), "basis")
    with pytest.raises(rf.InputTypeError, match="basis must be an array of real numbers"):
        rf.reduce(make_solid("voxels"), 1j * make_basis(2))


def test_wrong_coordinates_are_refused():
    model = rf.reduce(make_solid("voxels"), held_basis(4))
    for f in (model.internal_force, model.stiffness, model.strain_energy, model.displacement):
        with pytest.raises(rf.InputError, match=r"q must have shape \(4,\), got \(5,\)"):
            f(np.zeros(5))
        with pytest.raises(rf.InputError, match=r"q must have shape \(4,\), got \(\)"):
            f(0.0)
        with pytest.raises(rf.InputError, match=r"q\[3\] is nan"):
            f([0.0, 0.0, 0.0, np.nan])
        with pytest.raises(rf.InputTypeError, match="q must be"):
            f(["a", "b", "c", "d"])
    with pytest.raises(rf.InputError, match=r"force must have shape \(36, 3\) or \(108,\)"):
        model.project(np.zeros((35, 3)))


@pytest.mark.parametrize(
    ("part", "value", "error", "message"),
    [
        ("mass", np.ones((3, 3)), rf.SingularMatrixError, "not positive definite"),
        ("mass", -np.eye(3), rf.SingularMatrixError, "not positive definite"),
        ("mass", np.triu(np.ones((3, 3))) + 2 * np.eye(3), rf.InputError, "not symmetric"),
        ("mass", np.eye(4), rf.InputError, "mass must have shape"),
        ("mass", np.full((3, 3), np.nan), rf.InputError, "mass"),
        ("coefficients", np.ones(34), rf.InputError, r"coefficients must have shape \(35,\)"),
        ("coefficients", np.full(35, np.inf), rf.InputError, "coefficients"),
        ("basis", np.ones((3, 0, 3)), rf.InputError, "node"),
    ],
)
def test_wrong_parts_of_a_model_are_refused(part, value, error, message):
    """Contents of files pass the same checks as all models."""
    parts = {"basis": make_basis(3), "mass": np.eye(3), "coefficients": np.ones(35)}
    assert _core.Reduced(*parts.values()).r == 3
    parts[part] = value
    with pytest.raises(error, match=message):
        _core.Reduced(*parts.values())


@pytest.mark.parametrize("simd", [-1, 4, 99])
def test_unknown_kernels_are_refused(simd):
    assert not _core.simd_available(simd)
    with pytest.raises(rf.InputError, match=f"simd must be between 0 and 3, got {simd}"):
        _core.Reduced(make_basis(3), np.eye(3), np.ones(35), simd)


def test_interruption_leaves_everything_usable():
    # several times the 50 ms between two calls of a progress callable
    nodes, elements = box_hexes(10, 10, 10, SIZE)
    solid = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(1e5, 0.3, 1000.0))
    basis = np.random.default_rng(3).standard_normal((30, len(nodes), 3))
    calls: list[tuple[int, int]] = []
    expected = rf.reduce(solid, basis, progress=lambda *x: calls.append(x)).coefficients
    assert calls == sorted(calls)
    assert {total for _, total in calls} == {1000}
    assert calls[-1][0] == 1000
    live = live_blocks()
    for at_the_end in (False, True):
        seen = []

        def interrupt(done: int, total: int, seen=seen, at_the_end=at_the_end) -> None:
            seen.append(done)
            if not at_the_end or done == total:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            rf.reduce(solid, basis, progress=interrupt)
        assert (seen[-1] == 1000) == at_the_end
        assert at_the_end or len(seen) == 1, "work went on after the interruption"
        check_live_blocks(live)
    np.testing.assert_array_equal(rf.reduce(solid, basis).coefficients, expected)


# --- the public face -----------------------------------------------------------------


def test_public_model():
    solid, basis = make_solid("voxels"), held_basis(5)
    model = rf.reduce(solid, basis)
    assert (model.r, model.mesh, len(model.fixed)) == (5, solid.mesh, len(solid.fixed))
    assert model.basis.shape == (5, 36, 3)
    assert model.matrix.shape == (108, 5)
    assert np.shares_memory(model.matrix, model.basis)
    q = np.arange(1.0, 6.0)
    u = model.displacement(q)
    # five terms per entry
    np.testing.assert_allclose(u.ravel(), model.matrix @ q, rtol=1e-14, atol=1e-15)
    force = np.random.default_rng(0).standard_normal((36, 3))
    expected = model.matrix.T @ force.ravel()
    np.testing.assert_allclose(model.project(force), expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.project(force.ravel()), model.project(force))
    # power is the same in both descriptions
    assert model.project(force) @ q == pytest.approx(np.sum(force * u), rel=1e-13)
    assert model.truncate(2).r == 2
    assert "r = 5" in repr(model)
    # lists and other dtypes are converted
    np.testing.assert_array_equal(model.internal_force([1, 2, 3, 4, 5]), model.internal_force(q))


@pytest.mark.parametrize("kind", SOLIDS)
@pytest.mark.parametrize("r", [1, 7, 21])
def test_kernels_of_the_reduction_agree(kind, r):
    """The same model by each instruction set; a sum rounds once less where it is fused."""
    plain = reduce(make_solid(kind), make_basis(r), simd=1)
    for simd in (2, 3):
        if not _core.simd_available(simd):
            continue
        other = reduce(make_solid(kind), make_basis(r), simd=simd)
        assert other.simd == simd
        assert deviation(other.coefficients, plain.coefficients) < 1e-14
