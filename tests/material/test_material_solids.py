"""Solids of every law, also mixed, on every element: plain sums over points, differences."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import reducedfem as rf
from material_laws import gradients, inside, rubber
from plain_solid import jittered, shape_points
from reducedfem import _core, samples
from reducedfem.cli.texts import materials_text
from reducedfem.material.laws import Material, from_plain, to_plain
from shapes import BOXES, box_hexes

KINDS = [("tet", None), ("hex", 2), ("hex", 3), ("tet10", 2), ("tet10", 3), ("hex20", 3)]
LAWS = list(Material.kinds)
VARIANTS = [simd for simd in (1, 2, 3) if _core.simd_available(simd)]


def material_of(law, density=1000.0):
    if law == "LinearElastic":
        return rf.LinearElastic.orthotropic(
            (3e5, 2e5, 1e5), (0.3, 0.2, 0.1), (8e4, 7e4, 6e4), density
        )
    return rubber(law, 2e5, 0.35, density)


def bar(kind, material, quadrature=None, n=(3, 2, 2), regions=False, **given):
    rng = np.random.default_rng(3)
    nodes, elements, _ = jittered(BOXES[kind], n, 0.15, rng)
    which = rng.integers(0, len(LAWS), len(elements)) if regions else None
    return rf.Solid(rf.Mesh(nodes, elements, which), material, quadrature=quadrature, **given)


def mixed(kind, quadrature=None, **given):
    return bar(kind, dict(enumerate(map(material_of, LAWS))), quadrature, regions=True, **given)


def plain(solid, u):
    """Return energy, force and tangent by the formulas, one point after another."""
    n, energy = solid.mesh.n_nodes, 0.0
    force, tangent = np.zeros((n, 3)), np.zeros((n, 3, n, 3))
    for element, region in zip(solid.mesh.elements, solid.mesh.regions, strict=True):
        one = solid.materials[int(region)]
        for _, g, w in shape_points(solid.mesh.nodes[element], solid.quadrature):
            G = (u[element].T @ g).reshape(1, 9)
            W, P, A = _core.law_point(one.law, one.parameters, G)
            energy += w * W[0]
            force[element] += w * g @ P.reshape(3, 3).T
            K = w * np.einsum("aj,ijkl,bl->aibk", g, A.reshape(3, 3, 3, 3), g)
            for p, a in enumerate(element):
                tangent[a][:, element] += K[p]
    return energy, force, tangent.reshape(3 * n, 3 * n)


def close(a, b, tolerance=1e-13):
    assert np.abs(np.asarray(a) - b).max() <= tolerance * np.abs(b).max()


def require_plain(solid, u):
    energy, force, tangent = plain(solid, u)
    close(solid.strain_energy(u), energy)
    close(solid.internal_force(u), force)
    close(solid.stiffness(u).to_dense(), tangent)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_against_sums_over_points(kind, quadrature, law):
    solid = bar(kind, material_of(law), quadrature)
    rng = np.random.default_rng(4)
    require_plain(solid, inside(solid, 0.2 * rng.standard_normal((solid.mesh.n_nodes, 3))))


@pytest.mark.parametrize(("kind", "quadrature"), KINDS)
def test_mixed_laws_against_sums_over_points(kind, quadrature):
    solid = mixed(kind, quadrature)
    rng = np.random.default_rng(4)
    u, v = 0.1 * rng.standard_normal((2, solid.mesh.n_nodes, 3))
    u = inside(solid, u)
    require_plain(solid, u)
    one, place = solid.materials, solid.mesh.regions
    table = [(m.law, m.parameters, m.density) for m in one.values()]
    for simd in VARIANTS:
        core = _core.Solid(solid.mesh._core, table, place, [], quadrature or 2, simd)
        close(core.internal_force(u, 1), solid.internal_force(u))
        close(core.stiffness(u, 1)[0], solid.stiffness(u).data)
        close(core.hessian_product(u[None], v[None], None, 1)[0], solid.hessian_product(u, v))


@pytest.mark.parametrize("law", [*LAWS, "mixed"])
def test_second_derivative_at_rest(law):
    solid = mixed("hex") if law == "mixed" else bar("tet10", material_of(law))
    a, b = np.random.default_rng(6).standard_normal((2, solid.mesh.n_nodes, 3))

    def second(h):
        signs = [(s, t) for s in (1, -1) for t in (1, -1)]
        corners = [s * t * solid.internal_force(h * (s * a + t * b)) for s, t in signs]
        return sum(corners) / (4 * h * h)

    h = 1e-4
    close((4 * second(h) - second(2 * h)) / 3, solid.hessian_product(a, b), 1e-6)


def test_sums_have_the_same_bits_for_any_number_of_threads():
    """Several slabs, and batches that reach across them."""
    nodes, elements = box_hexes(32, 12, 12)
    which = np.random.default_rng(1).integers(0, len(LAWS), len(elements))
    which[: len(elements) // 2] = 0
    mesh = rf.Mesh(nodes, elements, which)
    solid = rf.Solid(mesh, dict(enumerate(map(material_of, LAWS))))
    core = solid._core
    u = inside(solid, 0.1 * np.random.default_rng(2).standard_normal(nodes.shape))

    def results(threads):
        product = core.hessian_product(u[None], u[None, ::-1], None, threads)
        parts = core.internal_force(u, threads), core.stiffness(u, threads)[0], product
        return [np.array(core.strain_energy(u, threads)), *parts]

    first = results(1)
    for threads in (2, 3, 5):
        for one, other in zip(results(threads), first, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_cut_cells(law, order):
    """A homogeneous deformation gives the exact energy; forces are its slope everywhere."""
    mesh = rf.voxelize(samples.load("spoon"), resolution=12, order=order)
    assert (mesh.fractions < 1).any()
    one = material_of(law)
    solid, rng = rf.Solid(mesh, one), np.random.default_rng(8)
    G = gradients(law, rng, 1, 0.3).reshape(3, 3)
    expected = solid.volume * _core.law_point(law, one.parameters, G.reshape(1, 9))[0][0]
    assert solid.strain_energy(mesh.nodes @ G.T) == pytest.approx(expected, rel=1e-10)
    size = 0.002
    u, way = size * rng.standard_normal((2, mesh.n_nodes, 3))
    u = inside(solid, u)
    h = 1e-4

    def slope(f):
        return (f(u + h * way) - f(u - h * way)) / (2 * h)

    force, tangent = solid.internal_force(u), solid.stiffness(u)
    assert slope(solid.strain_energy) == pytest.approx(np.sum(force * way), rel=1e-5)
    close(tangent @ way.ravel(), slope(solid.internal_force).ravel(), 1e-5)


@pytest.mark.parametrize("law", LAWS)
def test_reduced_models_are_of_laws_with_polynomials_only(law):
    one = material_of(law)
    for solid in (
        bar("hex", one),
        bar(
            "hex",
            {k: one if k == 1 else material_of("StVK") for k in range(len(LAWS))},
            regions=True,
        ),
    ):
        vectors = np.random.default_rng(1).standard_normal((2, solid.mesh.n_nodes, 3))
        region = 1 if len(solid.materials) > 1 else 0
        for editable in (False, True):
            if one.quadratic:
                model = rf.reduce(solid, vectors, editable=editable)
                q = np.array([0.01, -0.02])
                close(
                    model.internal_force(q),
                    vectors.reshape(2, -1)
                    @ solid.internal_force(np.tensordot(q, vectors, 1)).ravel(),
                    1e-10,
                )
                continue
            message = f"needs materials .* region {region} is a {law}: use reduce"
            with pytest.raises(rf.InputError, match=message):
                rf.reduce(solid, vectors, editable=editable)
        # this has no polynomial
        projected = rf.ProjectedSolid(solid, vectors)
        q = np.array([0.02, -0.04])
        expected = (
            vectors.reshape(2, -1) @ solid.internal_force(np.tensordot(q, vectors, 1)).ravel()
        )
        close(projected.internal_force(q), expected, 1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_materials_as_plain_data_and_copies(law):
    one = material_of(law)
    for again in (from_plain(to_plain(one)), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert type(again) is type(one)
        assert to_plain(again) == to_plain(one)
    solid = pickle.loads(pickle.dumps(bar("hex", one)))
    u = 0.1 * np.random.default_rng(1).standard_normal((solid.mesh.n_nodes, 3))
    np.testing.assert_array_equal(solid.internal_force(u), bar("hex", one).internal_force(u))
    with pytest.raises(rf.InputError, match="a material has young"):
        from_plain({**to_plain(one), "law": "Rubber"})


def test_every_law_has_a_class():
    assert set(Material.kinds) == set(_core.laws())
    for name, kind in Material.kinds.items():
        assert getattr(rf, name) is kind


def test_density_must_be_positive():
    mesh = rf.Mesh(*box_hexes(1, 1, 1))
    for density in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(rf.InputError, match="density must be"):
            _core.Solid(mesh._core, [("StableNeoHookean", [1.0, 1.0], density)], [0], [])
    for materials in ([("StVK", [1.0, 1.0])], ["StVK"], [1.0]):
        with pytest.raises(TypeError):
            _core.Solid(mesh._core, materials, [0], [])


@pytest.mark.parametrize("law", LAWS)
def test_texts_of_materials(law):
    """Equal materials are described by their constants."""
    constants = {
        "LinearElastic": "a matrix of 21 constants",
        "MooneyRivlin": r"c1 = \S+ Pa, c2 = \S+ Pa, bulk = \S+ Pa",
    }.get(law, f"{'' if law == 'StVK' else law + ', '}E = 2e\\+05 Pa, nu = 0.35")
    one = material_of(law)
    assert re.fullmatch(f"{constants}, 1000 kg/m\\^3", materials_text([one, one]))
