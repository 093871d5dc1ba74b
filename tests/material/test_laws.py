"""All laws of the list at a point: each function against differences of the one below it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import reducedfem as rf
from material_laws import LAWS, determinants, gradients, lame, published
from plain_solid import rotation
from reducedfem import _core
from reducedfem.material.laws import Material

COUNTS = {name: sum(facts["parameters"].values()) for name, facts in LAWS.items()}
VARIANTS = [simd for simd in (1, 2, 3) if _core.simd_available(simd)]
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))


def parameters(law, rng):
    """Return parameters of order one: Lame's constants, or a stiffness without any symmetry."""
    if COUNTS[law] == 36:
        root = rng.standard_normal((6, 6))
        return (np.eye(6) + 0.3 * root @ root.T).ravel()
    assert COUNTS[law] < 4, "parameters of the new law, of order one"
    return rng.uniform(0.5, 2.0, COUNTS[law])


@pytest.fixture(params=LAWS)
def law(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def slopes(f, G, h):
    """Return differences of f of fourth order along the nine components, last axis."""

    def central(h):
        steps = h * np.eye(9)
        return np.stack([(f(G + step) - f(G - step)) / (2 * h) for step in steps], axis=-1)

    return (4 * central(h) - central(2 * h)) / 3


def close(a, b, tolerance):
    assert np.abs(a - b).max() <= tolerance * np.abs(b).max()


def test_stress_is_the_slope_of_the_energy(law, rng):
    p, G = parameters(law, rng), gradients(law, rng)
    close(
        slopes(lambda x: _core.law_point(law, p, x)[0], G, 1e-4),
        _core.law_point(law, p, G)[1],
        1e-10,
    )


def test_tangent_is_the_slope_of_the_stress(law, rng):
    p, G = parameters(law, rng), gradients(law, rng)
    tangent = _core.law_point(law, p, G)[2]
    close(slopes(lambda x: _core.law_point(law, p, x)[1], G, 1e-4), tangent, 1e-10)
    close(tangent, tangent.transpose(0, 2, 1), 1e-14)


def test_second_derivative_at_rest(law, rng):
    p, h = parameters(law, rng), 1e-3
    a, b = rng.standard_normal((2, 30, 9))

    def mixed(h):
        corner = [
            s * t * _core.law_point(law, p, h * (s * a + t * b))[1]
            for s in (1, -1)
            for t in (1, -1)
        ]
        return sum(corner) / (4 * h * h)

    close((4 * mixed(h) - mixed(2 * h)) / 3, _core.law_second(law, p, a, b), 1e-8)
    np.testing.assert_allclose(
        _core.law_second(law, p, a, b), _core.law_second(law, p, b, a), rtol=0, atol=1e-13
    )


def test_rest(law, rng):
    """No stress at rest, and the tangent there is the stiffness of small strains."""
    p = parameters(law, rng)
    energy, stress, tangent = _core.law_point(law, p, np.zeros((1, 9)))
    assert energy[0] == 0.0
    np.testing.assert_array_equal(stress, 0.0)
    C = _core.law_rest(law, p)
    assert np.linalg.eigvalsh(C)[0] > 0
    for row, (i, j) in enumerate(VOIGT):
        for column, (k, m) in enumerate(VOIGT):
            for entry in (3 * i + j, 3 * j + i):
                for other in (3 * k + m, 3 * m + k):
                    assert tangent[0, entry, other] == pytest.approx(C[row, column], abs=1e-14)
    if (constants := lame(law, p)) is not None:
        lam, mu = constants
        isotropic = np.diag([2 * mu] * 3 + [mu] * 3)
        isotropic[:3, :3] += lam
        np.testing.assert_allclose(C, isotropic, rtol=1e-14, atol=1e-14)
    else:
        np.testing.assert_allclose(C.ravel(), p)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9, 1e-12])
def test_small_strains_lose_no_digits(law, size, rng):
    """The energy is that of small strains up to terms of the third order, not up to eps."""
    p, G = parameters(law, rng), gradients(law, rng, size=size)
    H = G.reshape(-1, 3, 3)
    strain = 0.5 * (H + H.transpose(0, 2, 1) + H.transpose(0, 2, 1) @ H)
    e = np.stack([strain[:, i, j] * (1 if i == j else 2) for i, j in VOIGT], axis=1)
    expected = 0.5 * np.einsum("ni,ij,nj->n", e, _core.law_rest(law, p), e)
    np.testing.assert_allclose(
        _core.law_point(law, p, G)[0],
        expected,
        rtol=1e-13 if LAWS[law]["quadratic"] else 1e-13 + 30 * size,
    )


def test_frame_invariance(law, rng):
    p, G = parameters(law, rng), gradients(law, rng)
    R = rotation([1.0, -2.0, 0.5], 1.1)
    F = G.reshape(-1, 3, 3) + np.eye(3)
    energy, stress, _ = _core.law_point(law, p, G)
    turned, turned_stress, _ = _core.law_point(law, p, (R @ F - np.eye(3)).reshape(-1, 9))
    close(turned, energy, 1e-14)
    close(turned_stress.reshape(-1, 3, 3), R @ stress.reshape(-1, 3, 3), 1e-13)
    still, none, _ = _core.law_point(law, p, (R - np.eye(3)).reshape(1, 9))
    # that of Green's strain is quadratic in the rounding errors of R
    assert abs(still[0]) < (1e-30 if LAWS[law]["quadratic"] else 1e-15) * np.abs(p).max()
    assert np.abs(none).max() < 1e-14 * np.abs(p).max()


def test_a_law_is_finite_where_its_facts_say_so(law, rng):
    """Values everywhere, or at positive determinants only, for every variant."""
    p, G = parameters(law, rng), rng.standard_normal((200, 9))
    defined = LAWS[law]["defined_inverted"] | (determinants(G) > 0)
    assert 20 < (determinants(G) > 0).sum() < 180
    for simd in (0, *VARIANTS):
        for values in _core.law_point(law, p, G, simd):
            finite = np.isfinite(values).reshape(200, -1)
            np.testing.assert_array_equal(finite.all(axis=1), defined)
            np.testing.assert_array_equal(finite.any(axis=1), defined)


def root(C):
    """Return the positive square root of a matrix."""
    values, vectors = np.linalg.eigh(C)
    return (vectors * np.sqrt(values)) @ vectors.T


def test_the_flag_is_true_exactly_for_laws_quadratic_in_strain(law, rng):
    """Fourth differences of W along segments of Green's strain vanish for quadratic laws only."""
    p, largest = parameters(law, rng), 0.0
    for _ in range(20):
        start, way = 0.1 * rng.standard_normal((2, 3, 3))
        energies = []
        for step in range(7):
            E = start + start.T + step / 6 * (way + way.T)
            stretch = root(
                np.eye(3) + 2 * E - 2 * min(np.linalg.eigvalsh(start + start.T)[0], 0) * np.eye(3)
            )
            energies.append(_core.law_point(law, p, (stretch - np.eye(3)).reshape(1, 9))[0][0])
        largest = max(largest, np.abs(np.diff(energies, 4)).max() / np.abs(energies).max())
    assert (largest < 1e-13) == LAWS[law]["quadratic"]
    assert largest < 1e-13 or largest > 1e-8


def test_every_variant_has_the_values_of_the_reference(law, rng):
    p, G = parameters(law, rng), gradients(law, rng, n=13)
    G[::3] *= 1e-4
    a, b = rng.standard_normal((2, 13, 9))
    for simd in VARIANTS:
        for one, reference in zip(
            _core.law_point(law, p, G, simd), _core.law_point(law, p, G), strict=True
        ):
            np.testing.assert_allclose(one, reference, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(
            _core.law_second(law, p, a, b, simd), _core.law_second(law, p, a, b), atol=1e-12
        )


@pytest.mark.parametrize("law", [name for name in LAWS if not LAWS[name]["quadratic"]])
def test_energy_by_its_published_formula(law, rng):
    p = parameters(law, rng)
    G = gradients(law, rng, 200, 1.0)
    F = G.reshape(-1, 3, 3) + np.eye(3)
    assert (np.linalg.det(F) < 0).any() == LAWS[law]["defined_inverted"]
    assert (F**2).sum((1, 2)).max() > 10
    W = published(law, F, *p)
    np.testing.assert_allclose(_core.law_point(law, p, G)[0], W, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("stretch", [1e-2, 0.4, 1.7, 1e3])
def test_neo_hookean_stress_of_a_homogeneous_deformation(stretch):
    """P = mu (F - 1/F) + lambda ln J/F, hydrostatic and with one axis stretched."""
    lam, mu = 1.3, 0.7
    for s in (np.full(3, stretch), np.array([1.0, stretch, 1.0])):
        P = _core.law_point("NeoHookean", [lam, mu], np.diag(s - 1).reshape(1, 9))[1]
        expected = mu * (s - 1 / s) + lam * np.log(s).sum() / s
        # J has the rounding errors of 1 + (J - 1)
        np.testing.assert_allclose(
            P.reshape(3, 3), np.diag(expected), rtol=1e-13 / min(1, s.prod())
        )


@pytest.mark.parametrize("size", [1e150, 1e4, 1.0, 0.999999, 1e-5])
def test_stable_neo_hookean_is_finite_when_crushed(size):
    """All points at one place, mirrored, and far away."""
    for F in (0 * np.eye(3), -size * np.eye(3), np.diag([size, 0, 0])):
        out = _core.law_point("StableNeoHookean", [1.0, 1.0], (F - np.eye(3)).reshape(1, 9))
        if size < 1e100:
            assert all(np.isfinite(one).all() for one in out)


def test_wrong_arguments():
    with pytest.raises(Exception, match='there is no law "Rubber"'):
        _core.law_rest("Rubber", [1.0, 1.0])
    with pytest.raises(Exception, match="mu and 3 lambda"):
        _core.law_rest("StableNeoHookean", [1.0, -1.0])
    with pytest.raises(Exception, match="parameters must have shape"):
        _core.law_rest("StVK", [1.0])
    with pytest.raises(Exception, match="simd"):
        _core.law_point("StVK", [1.0, 1.0], np.zeros((1, 9)), 7)


@pytest.mark.parametrize(
    "stretches", [(1.3, 1.0, 0.8), (0.4, 0.5, 0.3), (1e3, 1.0, 1e-3), (1.2, 0.9, -0.3)]
)
def test_corotated_stress_of_principal_stretches(stretches, rng):
    """P = 2 mu (s - 1) + lambda tr(s - 1) along any principal axes, also mirrored."""
    lam, mu = 1.3, 0.7
    s = np.array(stretches)
    expected = 2 * mu * (s - 1) + lam * (s - 1).sum()
    for angles in rng.standard_normal((10, 2)):
        U, V = rotation([1.0, -2.0, 0.5], angles[0]), rotation([0.3, 1.0, 0.2], angles[1])
        F = U @ np.diag(s) @ V.T
        W, P, _ = _core.law_point("Corotated", [lam, mu], (F - np.eye(3)).reshape(1, 9))
        # F has rounding errors of its largest stretch, R those over s_2 + s_3
        close(P.reshape(3, 3), U @ np.diag(expected) @ V.T, 1e-13)
        assert W[0] == pytest.approx(
            mu * ((s - 1) ** 2).sum() + lam / 2 * (s - 1).sum() ** 2, rel=1e-13
        )


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-20, 1e-8, 1e4, 1e100])
def test_corotated_forces_of_crushed_points(size, rng):
    """Points, lines, planes and mirrors have some nearest rotation, so the exact energy."""
    lam, mu = 1.3, 0.7
    turn = rotation([1.0, -2.0, 0.5], 0.7)
    for s in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, -1), (1, 1, 1), (2, 1, -1)):
        # the smallest stretch has the sign of the determinant
        stretches = size * np.array(s, dtype=float)
        F = turn @ np.diag(stretches) @ turn.T
        W, P, A = _core.law_point("Corotated", [lam, mu], (F - np.eye(3)).reshape(1, 9))
        e = stretches - 1
        assert W[0] == pytest.approx(mu * (e**2).sum() + lam / 2 * e.sum() ** 2, rel=1e-13)
        assert np.isfinite(P).all()
        assert np.isfinite(A).all()
        # |P|^2 is that of the principal stresses
        assert np.linalg.norm(P) == pytest.approx(
            np.linalg.norm(2 * mu * e + lam * e.sum()), rel=1e-7
        )


@pytest.mark.parametrize("stretch", [1e-2, 0.4, 1.7, 1e3])
def test_mooney_rivlin_stress_of_a_homogeneous_deformation(stretch):
    """s_i P_i = 2 c1 s_i^2 + 2 c2 (I - s_i^2) s_i^2 + kappa J (J - 1) - (2 c1 + 4 c2)."""
    c1, c2, kappa = 0.9, 0.4, 1.7
    for s in (np.full(3, stretch), np.array([1.0, stretch, 1.0])):
        J, square = s.prod(), (s**2).sum()
        expected = 2 * c1 * s**2 + 2 * c2 * (square - s**2) * s**2
        expected += kappa * J * (J - 1) - (2 * c1 + 4 * c2)
        P = _core.law_point("MooneyRivlin", [c1, c2, kappa], np.diag(s - 1).reshape(1, 9))[1]
        np.testing.assert_allclose(
            P.reshape(3, 3), np.diag(expected / s), rtol=1e-12 / min(1, J), atol=1e-13
        )


def test_mooney_rivlin_without_second_constant_is_neo_hookean_but_for_its_volume_term(rng):
    """W - mu/2 (I - 3) + mu ln J of both depends on J alone."""
    c1, kappa, lam = 0.35, 1.1, 0.6
    G = gradients("MooneyRivlin", rng, 50)
    J = determinants(G)
    one = _core.law_point("MooneyRivlin", [c1, 0.0, kappa], G)[0] - kappa / 2 * (J - 1) ** 2
    other = _core.law_point("NeoHookean", [lam, 2 * c1], G)[0] - lam / 2 * np.log(J) ** 2
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_constants_of_mooney_rivlin():
    one = rf.MooneyRivlin(2e5, 5e4, 2e6, 1000.0)
    lam, mu = one.lame
    assert mu == pytest.approx(5e5)
    assert lam + 2 / 3 * mu == pytest.approx(2e6)
    isotropic = np.diag([2 * mu] * 3 + [mu] * 3)
    isotropic[:3, :3] += lam
    np.testing.assert_allclose(one.stiffness, isotropic, rtol=1e-14, atol=1e-8)
    least = (4 * 2e5 + 16 * 5e4) / 3
    assert rf.MooneyRivlin(2e5, 5e4, least, 1.0).parameters[2] == 0.0
    for given, message in [
        ((-1.0, 5e4, 2e6, 1.0), "c1 must not be negative"),
        ((2e5, -1.0, 2e6, 1.0), "c2 must not be negative"),
        ((0.0, 0.0, 2e6, 1.0), "c1 or c2 must be positive"),
        ((2e5, 5e4, 0.99 * least, 1.0), "bulk must be at least"),
        ((2e5, 5e4, 2e6, 0.0), "density must be positive"),
        ((2e5, 5e4, np.inf, 1.0), "bulk must be"),
    ]:
        with pytest.raises(rf.InputError, match=message):
            rf.MooneyRivlin(*given)
    with pytest.raises(rf.InputTypeError, match="c1"):
        rf.MooneyRivlin("soft", 5e4, 2e6, 1.0)
    for bad in ([-1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, -1.0]):
        with pytest.raises(Exception, match="c1 = .*none may be negative"):
            _core.law_rest("MooneyRivlin", bad)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: rf.LinearElastic(1e5, 0.3, 1000),
            "LinearElastic: too many positional arguments; its arguments are stiffness, density; "
            "of a Young's modulus: StVK(young, poisson, density)",
        ),
        (
            lambda: rf.LinearElastic(young=1e5, poisson=0.3, density=1000),
            "LinearElastic has no argument 'young'; its arguments are stiffness, density; of a",
        ),
        (
            lambda: rf.StVK(1e5, 0.3),
            "StVK: missing a required argument: 'density'; its arguments are young, poisson, "
            "density",
        ),
    ],
)
def test_wrong_arguments_are_answered_by_the_right_ones(make, words):
    with pytest.raises(rf.InputTypeError, match=re.escape(words)):
        make()


@pytest.mark.parametrize("law", Material.kinds.values())
def test_every_law_names_its_arguments(law):
    names = ", ".join(one.name for one in dataclasses.fields(law))
    for given, what in (
        ({"younger": 3}, f"{law.__name__} has no argument 'younger'"),
        ({}, f"{law.__name__}: missing a required argument: '{names.partition(',')[0]}'"),
    ):
        with pytest.raises(rf.InputTypeError, match=f"^{what}; its arguments are {names}"):
            law(**given)
