"""Reduced forces and time stepping against Vega FEM 4.0, an independent program.

Numbers and conventions: README of the folder reference/vega. Vega integrates hexahedra
exactly, which takes 3 x 3 x 3 points. Its polynomial has one coefficient per monomial
and force component, ordered as the combinations of indices, last index fastest.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import plain_polynomial
import reducedfem as rf
from motions import newmark
from plain_polynomial import deviation
from reducedfem import _core

MESHES = ["hex_4x3x2", "tet_beam3_2mat"]


@pytest.fixture(scope="module", params=MESHES)
def case(request, shared):
    """Data of one mesh, the solid made of them and its reduction in Vega's basis."""
    file = shared / "reference" / "vega" / f"{request.param}.npz"
    if not file.is_file():
        pytest.skip(f"no {file}")
    data = dict(np.load(file))
    table = np.column_stack([data[f"element_{x}"] for x in ("E", "nu", "density")])
    kinds, regions = np.unique(table, axis=0, return_inverse=True)
    materials = {i: rf.StVK(*kind) for i, kind in enumerate(kinds)}
    mesh = rf.Mesh(data["vertices"], data["elements"], regions.ravel())
    solid = rf.Solid(mesh, materials, quadrature=3)
    basis = np.ascontiguousarray(data["U"].T).reshape(6, -1, 3)
    return data, basis, rf.reduce(solid, basis)


def test_the_data_agree_with_their_readme(case):
    data, basis, _ = case
    assert basis.shape[0] == 6
    np.testing.assert_allclose(np.linalg.norm(data["U"], axis=0), 1.0, rtol=1e-12)
    assert data["fq"].shape == (5, 6)


def test_force_and_stiffness(case):
    """Displacements of 0.1 to 20 % of the largest extent."""
    data, _, model = case
    for q, force, stiffness in zip(data["q"], data["fq"], data["Kq"], strict=True):
        # both programs sum some 1e4 rounded products; README: 7e-15 against a third code
        assert deviation(model.internal_force(q), force) < 1e-12
        assert deviation(model.stiffness(q), stiffness) < 1e-12


def test_every_coefficient(case):
    """Theirs are per force component, ours belong to the energy: derivatives of it."""
    data, _, model = case
    r = 6
    energy = plain_polynomial.by_degree(r, model.coefficients)
    for degree, name in ((1, "red_linear"), (2, "red_quadratic"), (3, "red_cubic")):
        monomials = list(itertools.combinations_with_replacement(range(r), degree))
        assert data[name].shape == (r, len(monomials))
        found = np.empty_like(data[name])
        for place, monomial in enumerate(monomials):
            for component in range(r):
                # d/dq_c of t q_c^m ... is m t q_c^(m-1) ...
                raised = tuple(sorted((*monomial, component)))
                found[component, place] = raised.count(component) * energy[raised]
        assert deviation(found, data[name]) < 1e-12


@pytest.mark.parametrize("simd", [1, 2, 3])
@pytest.mark.parametrize("newton", ["it1", "it8"])
def test_newmark_trajectories(case, newton, simd):
    """100 steps, a force during the first 50, Rayleigh damping with the current stiffness."""
    if not _core.simd_available(simd):
        pytest.skip("this processor has no such vectors")
    data, basis, model = case
    dt, alpha, beta_damping, beta, gamma = data["newmark_params"]
    # their reduced mass is the identity, though U is not mass-orthonormal
    system = _core.Reduced(basis, np.eye(6), model.coefficients, simd)
    newton_max = int(newton[2:])
    # it8 stops at 1e-12 of the first residual; ours relates to the forces too, so that
    # 1e-13 is at least as strict, and rounding ends the iteration by its limit at worst
    sim = newmark(
        system, dt, (alpha, beta_damping), beta=beta, gamma=gamma, newton_max=newton_max, tol=1e-13
    )
    states = []
    for step in range(100):
        sim.step(data["newmark_fext"] if step < 50 else None, 1, None, 1)
        states.append(sim.state())
    assert states[-1][3] == pytest.approx(100 * dt, rel=1e-13)
    for place, name in enumerate(("q", "qvel", "qaccel")):
        found = np.array([state[place] for state in states])
        expected = data[f"newmark_{newton}_{name}"]
        # README: 8e-15 against a re-implementation. For it8 an iteration more or less
        # near convergence shows: accelerations are 1 / (beta dt^2) times coordinates
        # that are converged to 1e-12 or better.
        assert deviation(found, expected) < (1e-12 if newton == "it1" else 1e-9), name
    report = sim.report()
    assert report["steps"] == 100
    assert report["indefinite"] == 0
    assert report["solves"] == 100 if newton == "it1" else 200 < report["solves"] <= 800


def test_one_iteration_differs_from_eight(case):
    """The two trajectories differ by far more than the tolerance: neither test is idle."""
    data, _, _ = case
    assert deviation(data["newmark_it1_q"], data["newmark_it8_q"]) > 1e-5
